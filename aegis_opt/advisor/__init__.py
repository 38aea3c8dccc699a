"""The advisor: from a summary to a ranking of configurations."""

from aegis_opt.advisor._advice import Advice
from aegis_opt.advisor._advise import Advisor, advise
from aegis_opt.advisor._criterion import Criterion
from aegis_opt.advisor._explain import SingleChanges, Suggestion
from aegis_opt.advisor._several import Advices

__all__ = ["Advice", "Advices", "Advisor", "Criterion", "SingleChanges", "Suggestion", "advise"]

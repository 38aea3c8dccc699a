"""The advisor: from a summary to a ranking of configurations."""

from aegis_opt.advisor._advice import Advice, Criterion
from aegis_opt.advisor._advise import Advisor, advise

__all__ = ["Advice", "Advisor", "Criterion", "advise"]

"""Random draws from counts, for any number of records up to 2^53: nothing is laid out record by record."""

from aegis_opt._draws._deal import deal
from aegis_opt._draws._hypergeometric import draw_hypergeometric
from aegis_opt._draws._log_factorials import log_binomial, log_growth

__all__ = ["deal", "draw_hypergeometric", "log_binomial", "log_growth"]

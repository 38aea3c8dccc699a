"""Analyses of solutions: how much they depend on the seed, and how far apart the optimal ones are."""

from aegis_opt.analysis._optimal_range import optimal_range
from aegis_opt.analysis._seeds import spread_over_seeds

__all__ = ["optimal_range", "spread_over_seeds"]

"""Analyses of reconstructions: how much they depend on the seed, how far apart the optimal tables are."""

from aegis_opt.analysis._optimal_range import optimal_range
from aegis_opt.analysis._seeds import spread_over_seeds

__all__ = ["optimal_range", "spread_over_seeds"]

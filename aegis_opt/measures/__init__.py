"""Measures of how well an attribute predicts the label, from their joint counts or from sums of a number."""

from aegis_opt.measures._base import Measure
from aegis_opt.measures._chance import chance_share, expected_by_chance
from aegis_opt.measures._chi_square import (
    chi_square,
    chi_square_corrected,
    cramers_v,
    cramers_v_corrected,
)
from aegis_opt.measures._correlation_ratio import correlation_ratio
from aegis_opt.measures._functional_dependency import g1_error, g2_error, g3_error, g3_loo_error
from aegis_opt.measures._goodman_kruskal import goodman_kruskal_tau
from aegis_opt.measures._information import (
    mutual_information,
    mutual_information_corrected,
    mutual_information_loo,
    theils_u,
)
from aegis_opt.measures._registry import MeasureName, available_measures, get_measure, register_measure
from aegis_opt.measures._total_variation import tvd

__all__ = [
    "Measure",
    "MeasureName",
    "available_measures",
    "chance_share",
    "chi_square",
    "chi_square_corrected",
    "correlation_ratio",
    "cramers_v",
    "cramers_v_corrected",
    "expected_by_chance",
    "g1_error",
    "g2_error",
    "g3_error",
    "g3_loo_error",
    "get_measure",
    "goodman_kruskal_tau",
    "mutual_information",
    "mutual_information_corrected",
    "mutual_information_loo",
    "register_measure",
    "theils_u",
    "tvd",
]

"""The harness: solvers, norms and roundings compared inside the full advisor, judged by the truth."""

import warnings
from typing import Any

from aegis_opt.harness._compare import compare, compare_reconstructions, run_comparison
from aegis_opt.harness._other_libraries import PEERS
from aegis_opt.harness._results import Results, ResultsError, load_results
from aegis_opt.harness._settings import ComparisonSettings
from aegis_opt.harness._statistics import overview, penalised, performance_profile, shifted_geometric_mean
from aegis_opt.harness._truth import Case, true_deviation
from aegis_opt.harness._variant import Variant

__all__ = [
    "PEERS",
    "Case",
    "ComparisonSettings",
    "Results",
    "ResultsError",
    "Variant",
    "compare",
    "compare_reconstructions",
    "load_results",
    "overview",
    "penalised",
    "performance_profile",
    "run_comparison",
    "shifted_geometric_mean",
    "true_deviation",
]


def __getattr__(name: str) -> Any:
    if name == "charge":
        warnings.warn("charge is now called penalised", DeprecationWarning, stacklevel=2)
        return penalised
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

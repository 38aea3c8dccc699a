"""The harness: solvers, norms and roundings compared inside the full advisor, judged by the truth."""

from aegis_opt.harness.compare import compare, compare_reconstructions
from aegis_opt.harness.peers import PEERS
from aegis_opt.harness.run import run_comparison
from aegis_opt.harness.statistics import charge, overview, performance_profile, shifted_geometric_mean
from aegis_opt.harness.store import Results, ResultsError, load_results
from aegis_opt.harness.truth import Case
from aegis_opt.harness.variant import Variant

__all__ = [
    "PEERS",
    "Case",
    "Results",
    "ResultsError",
    "Variant",
    "charge",
    "compare",
    "compare_reconstructions",
    "load_results",
    "overview",
    "performance_profile",
    "run_comparison",
    "shifted_geometric_mean",
]

"""The harness: solvers, norms and roundings compared inside the full advisor, judged by the truth."""

from aegis_opt.harness._compare import compare, compare_reconstructions
from aegis_opt.harness._peers import PEERS
from aegis_opt.harness._run import run_comparison
from aegis_opt.harness._statistics import charge, overview, performance_profile, shifted_geometric_mean
from aegis_opt.harness._store import Results, ResultsError, load_results
from aegis_opt.harness._truth import Case
from aegis_opt.harness._variant import Variant

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

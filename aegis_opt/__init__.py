"""Choose the data masking that keeps features predictive, from summaries alone.

The data flow is source -> summary -> problem -> reconstruction -> predictive utility deviation -> advice:

>>> import aegis_opt as ao
>>> clinic = ao.datasets.clinic(500)
>>> summary = ao.summarize(clinic.frame, clinic.label, clinic.configurations)    # the provider
>>> advice = ao.advise(summary, measure="mi")                                    # the advisor
>>> advice.certified
True
"""

from typing import TYPE_CHECKING, Any

from aegis_opt import datasets
from aegis_opt.advisor import Advice, advise
from aegis_opt.analysis._optimal_range import optimal_range
from aegis_opt.analysis._seeds import spread_over_seeds
from aegis_opt.domain import Domain
from aegis_opt.errors import (
    AegisError,
    ConfigurationError,
    DatasetUnavailable,
    InfeasibleProblem,
    InvalidInput,
    InvalidOption,
    MaskError,
    MissingDependency,
    RoundingImpossible,
    SourceError,
    SummaryError,
    UnknownColumn,
    UnknownMask,
    UnknownMeasure,
    UnknownName,
    UnknownSolver,
)
from aegis_opt.harness import Results, ResultsError, compare, compare_reconstructions, load_results
from aegis_opt.masks import (
    Blur,
    Bucketize,
    Configuration,
    Configurations,
    EraseDigits,
    Generalize,
    Hierarchy,
    Identity,
    Mask,
    Prefix,
    Suppress,
    TopCode,
    Truncate,
    all_configurations,
    candidate_masks,
    count_configurations,
    generate_configurations,
    load_configurations,
    save_configurations,
)
from aegis_opt.measures import (
    Measure,
    available_measures,
    chi_square,
    chi_square_corrected,
    cramers_v,
    cramers_v_corrected,
    g1_error,
    g2_error,
    g3_error,
    g3_loo_error,
    get_measure,
    goodman_kruskal_tau,
    mutual_information,
    mutual_information_corrected,
    register_measure,
    theils_u,
    tvd,
)
from aegis_opt.problem import LinearConstraint, Problem, View
from aegis_opt.release import OutputError, apply_configuration, source_domains
from aegis_opt.report import plot_ranking, write_report
from aegis_opt.rounding import ROUNDINGS, round_table
from aegis_opt.solvers.base import Capabilities, Reconstructor
from aegis_opt.solvers.reconstruction import Reconstruction, Status
from aegis_opt.solvers.registry import available_solvers, get_reconstructor, reconstruct
from aegis_opt.summary import Summary, summarize

if TYPE_CHECKING:
    from aegis_opt.release._transformer import MaskingTransformer as MaskingTransformer

__all__ = [
    "ROUNDINGS",
    "Advice",
    "AegisError",
    "Blur",
    "Bucketize",
    "Capabilities",
    "Configuration",
    "ConfigurationError",
    "Configurations",
    "DatasetUnavailable",
    "Domain",
    "EraseDigits",
    "Generalize",
    "Hierarchy",
    "Identity",
    "InfeasibleProblem",
    "InvalidInput",
    "InvalidOption",
    "LinearConstraint",
    "Mask",
    "MaskError",
    "Measure",
    "MissingDependency",
    "OutputError",
    "Prefix",
    "Problem",
    "Reconstruction",
    "Reconstructor",
    "Results",
    "ResultsError",
    "RoundingImpossible",
    "SourceError",
    "Status",
    "Summary",
    "SummaryError",
    "Suppress",
    "TopCode",
    "Truncate",
    "UnknownColumn",
    "UnknownMask",
    "UnknownMeasure",
    "UnknownName",
    "UnknownSolver",
    "View",
    "advise",
    "all_configurations",
    "apply_configuration",
    "available_measures",
    "available_solvers",
    "candidate_masks",
    "chi_square",
    "chi_square_corrected",
    "compare",
    "compare_reconstructions",
    "count_configurations",
    "cramers_v",
    "cramers_v_corrected",
    "datasets",
    "g1_error",
    "g2_error",
    "g3_error",
    "g3_loo_error",
    "generate_configurations",
    "get_measure",
    "get_reconstructor",
    "goodman_kruskal_tau",
    "load_configurations",
    "load_results",
    "mutual_information",
    "mutual_information_corrected",
    "optimal_range",
    "plot_ranking",
    "reconstruct",
    "register_measure",
    "round_table",
    "save_configurations",
    "source_domains",
    "spread_over_seeds",
    "summarize",
    "theils_u",
    "tvd",
    "write_report",
]


def __getattr__(name: str) -> Any:
    """Load `MaskingTransformer` when it is asked for: its base classes are scikit-learn's."""
    if name == "MaskingTransformer":
        from aegis_opt.release._transformer import MaskingTransformer

        return MaskingTransformer
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

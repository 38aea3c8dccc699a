"""Choose the data masking that keeps features predictive, from summaries alone.

The data flow is source -> summary -> problem -> reconstruction -> predictive utility deviation -> advice:

>>> import aegis_opt as ao
>>> clinic = ao.datasets.clinic(500)
>>> summary = ao.summarize(clinic.frame, clinic.label, clinic.configurations)    # the provider
>>> advice = ao.advise(summary, measure="mi")                                    # the advisor
>>> advice.certified
True

What people use every day is here, the rest in public modules such as `masks`, `measures` and `errors`.
A name is imported when it is first used.
"""

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

from aegis_opt import _later, _moved

logging.getLogger(__name__).addHandler(logging.NullHandler())  # the application decides what is shown

if TYPE_CHECKING:
    from aegis_opt import advisor as advisor
    from aegis_opt import analysis as analysis
    from aegis_opt import datasets as datasets
    from aegis_opt import disclosure as disclosure
    from aegis_opt import distances as distances
    from aegis_opt import domain as domain
    from aegis_opt import errors as errors
    from aegis_opt import harness as harness
    from aegis_opt import masks as masks
    from aegis_opt import measures as measures
    from aegis_opt import privacy as privacy
    from aegis_opt import problem as problem
    from aegis_opt import release as release
    from aegis_opt import report as report
    from aegis_opt import rounding as rounding
    from aegis_opt import scores as scores
    from aegis_opt import solvers as solvers
    from aegis_opt import sources as sources
    from aegis_opt import summary as summary
    from aegis_opt.advisor import Advice, Advices, Advisor, advise
    from aegis_opt.disclosure import audit
    from aegis_opt.errors import AegisError, InfeasibleProblem, UnknownSolver
    from aegis_opt.harness import compare
    from aegis_opt.masks import (
        AddNoise,
        Blur,
        Bucketize,
        Configuration,
        Configurations,
        EraseDigits,
        Generalize,
        Hierarchy,
        Identity,
        KeepTop,
        Microaggregate,
        PoolRare,
        Pram,
        Prefix,
        RandomizedResponse,
        Suppress,
        TopCode,
        Truncate,
        fit_configuration,
        generate_configurations,
        load_configurations,
        save_configurations,
    )
    from aegis_opt.measures import chi_square, g3_error, get_measure, mutual_information, tvd
    from aegis_opt.privacy import check_privacy, search, search_curve
    from aegis_opt.problem import Problem, View
    from aegis_opt.release import apply_configuration, source_domains
    from aegis_opt.release._transformer import MaskingTransformer as MaskingTransformer
    from aegis_opt.report import plot_ranking
    from aegis_opt.solvers.reconstruction import Reconstruction, Status
    from aegis_opt.solvers.registry import available_solvers, get_reconstructor, reconstruct
    from aegis_opt.summary import Summaries, Summary, summarize

    __version__: str

__all__ = [
    "AddNoise",
    "Advice",
    "Advices",
    "Advisor",
    "AegisError",
    "Blur",
    "Bucketize",
    "Configuration",
    "Configurations",
    "EraseDigits",
    "Generalize",
    "Hierarchy",
    "Identity",
    "InfeasibleProblem",
    "KeepTop",
    "Microaggregate",
    "PoolRare",
    "Pram",
    "Prefix",
    "Problem",
    "RandomizedResponse",
    "Reconstruction",
    "Status",
    "Summaries",
    "Summary",
    "Suppress",
    "TopCode",
    "Truncate",
    "UnknownSolver",
    "View",
    "advise",
    "apply_configuration",
    "audit",
    "available_solvers",
    "check_privacy",
    "chi_square",
    "compare",
    "datasets",
    "fit_configuration",
    "g3_error",
    "generate_configurations",
    "get_measure",
    "get_reconstructor",
    "load_configurations",
    "mutual_information",
    "plot_ranking",
    "reconstruct",
    "save_configurations",
    "search",
    "search_curve",
    "source_domains",
    "summarize",
    "tvd",
]

_NAMES = {  # module: the names taken from it
    "advisor": "Advice Advices Advisor advise",
    "analysis": "",
    "datasets": "",
    "disclosure": "audit",
    "distances": "",
    "domain": "",
    "errors": "AegisError InfeasibleProblem UnknownSolver",
    "harness": "compare",
    "masks": "AddNoise Blur Bucketize Configuration Configurations EraseDigits Generalize Hierarchy Identity "
    "KeepTop Microaggregate PoolRare Pram Prefix RandomizedResponse Suppress TopCode Truncate "
    "fit_configuration generate_configurations load_configurations save_configurations",
    "measures": "chi_square g3_error get_measure mutual_information tvd",
    "privacy": "check_privacy search search_curve",
    "problem": "Problem View",
    "release": "apply_configuration source_domains",
    "release._transformer": "MaskingTransformer",  # not in __all__, because it needs scikit-learn
    "report": "plot_ranking",
    "rounding": "",
    "scores": "",
    "solvers": "",
    "solvers.reconstruction": "Reconstruction Status",
    "solvers.registry": "available_solvers get_reconstructor reconstruct",
    "sources": "",
    "summary": "Summaries Summary summarize",
}
_later.place(
    f"{__name__}.report._plots",
    "plot_ranking plot_attributes plot_reconstruction plot_results plot_search_curve",
)
_later.place(f"{__name__}.report._record", "write_record")
_MODULES = [module for module in _NAMES if "." not in module]
_HOMES = {name: f"{__name__}.{module}" for module, names in _NAMES.items() for name in names.split()}

if not TYPE_CHECKING:  # a type checker would take it as leave to use any name

    def __getattr__(name: str) -> Any:
        if name in _MODULES:
            return import_module(f"{__name__}.{name}")
        if name in _HOMES:
            value = getattr(import_module(_HOMES[name]), name)
        elif name == "__version__":
            from importlib.metadata import version

            value = version("aegis-opt")
        else:
            return _moved.old_name(__name__, name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES, *_HOMES, "__version__"})

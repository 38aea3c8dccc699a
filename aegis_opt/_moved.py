"""Where the names and modules of earlier versions are now."""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from typing import Any

_PAPER = "benchmarks.paper"  # in the repository, not in the package

_NAMES = {  # new module: names that were in `aegis_opt`, and go in the next minor version
    "aegis_opt.analysis": "optimal_range spread_over_seeds",
    "aegis_opt.domain": "Domain",
    "aegis_opt.errors": "ConfigurationError DatasetUnavailable InvalidInput InvalidOption MaskError "
    "MissingDependency OutputError RoundingImpossible SourceError SummaryError UnknownColumn UnknownMask "
    "UnknownMeasure UnknownName",
    "aegis_opt.harness": "Results ResultsError compare_reconstructions load_results",
    "aegis_opt.masks": "Mask all_configurations candidate_masks count_configurations",
    "aegis_opt.measures": "Measure available_measures chi_square_corrected cramers_v cramers_v_corrected "
    "g1_error g2_error g3_loo_error goodman_kruskal_tau mutual_information_corrected register_measure "
    "theils_u",
    "aegis_opt.problem": "LinearConstraint",
    "aegis_opt.report": "write_report",
    "aegis_opt.rounding": "ROUNDINGS round_table",
    "aegis_opt.solvers.base": "Capabilities Reconstructor",
    _PAPER: "EXPERIMENTS datasets.scalability run_experiment run_research",
}
_MODULES = {  # new module: modules that went there
    "aegis_opt.analysis": "solvers.convex_range solvers.spread",
    "aegis_opt.distances": "problem.distance",
    "aegis_opt.masks": "masking",
    "aegis_opt.plot_ranking": "plotting",
    "aegis_opt.release.select_sql": "release.select",
    "aegis_opt.solvers.convex": "solvers.convex_engines solvers.convex_models solvers.convex_polish "
    "solvers.convex_stack",
    "aegis_opt.solvers.integer": "solvers.cp_sat solvers.flow solvers.slopes",
    "aegis_opt.solvers.ipf": "solvers.newton",
    "aegis_opt.solvers.reconstruction": "reconstruction",
    _PAPER: "cli.experiment harness.exhaustive harness.experiments harness.findings harness.mascara "
    "harness.research harness.rowwise",
}
_PRIVATE = {  # package: modules of it that got an underscore
    "advisor": "advice advise bounds disclosure estimate verdict",
    "cli": "advisor arguments compare demo entry mask output parser provider ranking registries report",
    "harness": "child compare jobfile memory peers plan run schema statistics store truth variant work",
    "measures": "base chi_square distance functional_dependency goodman_kruskal information registry",
    "problem": "conflict consistency constraint elimination feasibility margin presolve problem view",
    "release": "apply column engine literals lookup progress rules spark transformer",
    "report": "drawing figures header page palette ranking_figure rankings series tables",
    "rounding": "base controlled hypergeometric independent largest_remainder nearest",
    "sources": "column counting counts csv_files duckdb_engine engine files many_values parquet_files "
    "scan spark_engine sql tables",
    "summary": "file model summarize",
}


def _pairs(table: dict[str, str]) -> list[tuple[str, str]]:
    return [(module, name) for module, names in table.items() for name in names.split()]


_NEW_HOMES = {name: module for module, name in _pairs(_NAMES)}
_TEXTS = {f"aegis_opt.{name}": f"aegis_opt.{name} is now {new}.{name}" for new, name in _pairs(_NAMES)}
_TEXTS |= {f"aegis_opt.{old}": f"aegis_opt.{old} is now {new}" for new, old in _pairs(_MODULES)}
_TEXTS |= {
    f"aegis_opt.{room}.{old}": f"aegis_opt.{room}.{old} is private now; use what aegis_opt.{room} offers"
    for room, old in _pairs(_PRIVATE)
} | {"aegis_opt.files": "aegis_opt.files is private now"}


def old_name(package: str, name: str) -> Any:
    """Return what `package.name` was, with a warning; raise AttributeError where that is not possible."""
    text = _text(f"{package}.{name}")
    if text is None:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    old = f"{package}.{name}".removeprefix("aegis_opt.")
    if old not in _NEW_HOMES:
        raise AttributeError(text)
    module, _, attribute = f"{_NEW_HOMES[old]}.{old}".rpartition(".")
    try:
        value = getattr(import_module(module), attribute)
    except ModuleNotFoundError as error:
        raise AttributeError(text) from error
    warnings.warn(  # at the line that asks the module for the name
        f"{text}; the old name will be removed in version 0.3", DeprecationWarning, stacklevel=3
    )
    return value


def _text(old: str) -> str | None:
    text = _TEXTS.get(old)
    return f"{text}, in the repository and not in the package" if text and _PAPER in text else text


class _OldModules:
    """The last finder that an import asks: it says where a module of an earlier version is now."""

    @staticmethod
    def find_spec(name: str, _path: object = None, _target: object = None) -> None:
        if (text := _text(name)) is not None:
            raise ImportError(text, name=name)


sys.meta_path.append(_OldModules())

"""The command `solvers`: what can be chosen by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, asdict, fields
from typing import TYPE_CHECKING, Any

from aegis_opt.cli._output import make_console, make_table, print_json, show_table
from aegis_opt.distances import available_distances, get_distance
from aegis_opt.errors import AegisError
from aegis_opt.measures import available_measures, get_measure
from aegis_opt.rounding import ROUNDINGS
from aegis_opt.solvers.base import Reconstructor, solvers_for
from aegis_opt.solvers.registry import available_solvers, solver_class

if TYPE_CHECKING:
    import argparse

_FLAGS = ("separable", "smooth", "strictly_convex", "finite_at_zero")
_COMMON = {field.name for field in fields(Reconstructor)}  # options of every solver


def run_solvers(arguments: argparse.Namespace) -> None:
    """List what is registered, built in and installed."""
    document = {
        "solvers": [_described(name, _solver) for name in available_solvers()],
        "roundings": [
            {"name": r.name, "keeps_totals": r.keeps_totals, "random": r.random} for r in ROUNDINGS.values()
        ],
        "distances": [_described(name, _distance) for name in available_distances()],
        "measures": [
            _described(name, _measure) for name in (*available_measures(), *available_measures("number"))
        ],
    }
    if arguments.json:
        print_json(document)
        return
    console = make_console()
    left = ["name", "distance", "options (default)", "title"]
    solvers = make_table(
        *("name", "distance", "whole", "keeps totals", "random", "views", "constraints", "options (default)"),
        title="Solvers",
        left=left,
    )
    for entry in document["solvers"]:
        if "error" in entry:
            solvers.add_row(entry["name"], *[""] * 6, entry["error"])
            continue
        able = entry["capabilities"]
        solvers.add_row(
            entry["name"],
            " ".join(able["norms"]) or "none",
            *(_yes(able[key]) for key in ("integer", "keeps_totals", "random")),
            "any" if able["several_views"] else "one",
            _yes(able["constraints"]),
            " ".join(f"{key}={_word(value)}" for key, value in entry["options"].items()),
        )
    show_table(console, solvers)
    roundings = make_table("name", "keeps totals", "random", title="Roundings", left=left)
    for entry in document["roundings"]:
        roundings.add_row(entry["name"], _yes(entry["keeps_totals"]), _yes(entry["random"]))
    show_table(console, roundings)
    distances = make_table("name", *_FLAGS, "solvers", title="Distances", left=[*left, "solvers"])
    for entry in document["distances"]:
        if "error" in entry:
            distances.add_row(entry["name"], *[""] * len(_FLAGS), entry["error"])
            continue
        flags = (_yes(entry[flag]) for flag in _FLAGS)
        distances.add_row(entry["example"], *flags, " ".join(entry["solvers"]))
    show_table(console, distances)
    measures = make_table("name", "title", "unit", "better", "order proved", title="Measures", left=left)
    for entry in document["measures"]:
        if "error" in entry:
            measures.add_row(entry["name"], entry["error"])
            continue
        better = "higher" if entry["higher_is_better"] else "lower"
        measures.add_row(entry["name"], entry["title"], entry["unit"], better, _yes(entry["monotone"]))
    show_table(console, measures)


def _described(name: str, describe: Callable[[str], dict[str, Any]]) -> dict[str, Any]:
    """Describe a solver or a measure; what a broken plugin offers is listed with what is wrong with it."""
    try:
        return {"name": name} | describe(name)
    except AegisError as error:
        return {"name": name, "error": str(error)}


def _solver(name: str) -> dict[str, Any]:
    kind = solver_class(name)
    options = {
        field.name: None if field.default is MISSING else field.default
        for field in fields(kind)
        if field.init and field.name not in _COMMON
    }
    return {"capabilities": asdict(kind.capabilities), "options": options}


def _distance(name: str) -> dict[str, Any]:
    distance = get_distance(name)
    flags = {flag: getattr(distance, flag) for flag in _FLAGS}
    return {"example": distance.name} | flags | {"solvers": list(solvers_for(distance))}


def _measure(name: str) -> dict[str, Any]:
    measure = get_measure(name)
    return {key: getattr(measure, key) for key in ("title", "unit", "higher_is_better", "monotone")}


def _yes(value: bool) -> str:
    return "yes" if value else "-"


def _word(value: object) -> str:
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)

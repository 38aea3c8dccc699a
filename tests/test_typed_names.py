"""Names as types: each lists what the program knows, and no public function returns just anything."""

import importlib
import inspect
import tomllib
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from types import FunctionType
from typing import get_args, get_type_hints

from aegis_opt.distances import NORMS, NormName
from aegis_opt.masks._sql import DIALECTS, Dialect
from aegis_opt.measures import MeasureName, _registry
from aegis_opt.rounding import ROUNDINGS, RoundingName
from aegis_opt.scores import ScoreName, available_scores
from aegis_opt.solvers.registry import _BUILT_IN, SolverName, SolverOptions, solver_class

TESTS = Path(__file__).parent


def test_types_of_names_list_what_there_is() -> None:
    assert get_args(SolverName) == tuple(_BUILT_IN)
    assert get_args(NormName) == NORMS
    assert get_args(RoundingName) == tuple(ROUNDINGS)
    own = get_args(MeasureName)
    assert own == tuple(_registry._MEASURES)[: len(own)]  # tests may have registered more
    assert all(function.__module__.startswith("aegis_opt") for function in map(_function, own))
    assert get_args(ScoreName) == available_scores()
    assert get_args(Dialect) == tuple(DIALECTS)
    options = {field.name for name in _BUILT_IN for field in fields(solver_class(name)) if field.init}
    assert set(get_type_hints(SolverOptions)) == options


def test_typos_are_looked_for_by_make_types() -> None:
    project = tomllib.loads((TESTS.parent / "pyproject.toml").read_text(encoding="utf-8"))
    assert "tests/typed_calls.py" in project["tool"]["mypy"]["files"]
    assert project["tool"]["mypy"]["strict"]  # an ignored error that is none is an error


def _function(measure: str) -> FunctionType:
    return _registry._MEASURES[measure].function  # type: ignore[return-value]


def public_functions() -> Iterator[tuple[str, FunctionType]]:
    for line in (TESTS / "public_names.txt").read_text(encoding="utf-8").split():
        module, _, name = line.rpartition(".")
        found = getattr(importlib.import_module(module), name)
        if inspect.isfunction(found):
            yield line, found
        if inspect.isclass(found) and found.__module__.startswith("aegis_opt"):
            for member, value in vars(found).items():
                function = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
                if inspect.isfunction(function) and not member.startswith("_"):
                    yield f"{line}.{member}", function


def test_no_public_function_returns_just_anything() -> None:
    found = dict(public_functions())
    assert len(found) > 200
    untyped = [name for name, function in found.items() if "return" not in function.__annotations__]
    assert untyped == []
    # A mapping that JSON can hold, or values of a column, are of many types: there Any stands inside
    anything = [name for name, f in found.items() if "Any" in str(f.__annotations__["return"]).split(" | ")]
    assert anything == []

"""Public functions that are given the wrong kind of object: an error that names it, and the way out."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from decimal import Decimal
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from odd_arguments import ADVICE, CALLS, FRAME, ODD, RIGHT, SCORES

import aegis_opt as ao
from aegis_opt import analysis, harness, release, report, rounding, solvers
from aegis_opt.errors import AegisError, InvalidOption, SourceError

CLINIC = ao.datasets.clinic(200)
SUMMARY = ao.summarize(CLINIC.frame, CLINIC.label, CLINIC.configurations)
PROBLEM = ao.Problem.from_table([[3, 0], [0, 1], [0, 2]], [0, 0, 1])
MASKS = {"c": {"age": ao.Suppress()}}
OBJECTS: dict[str, Any] = {
    "frame": CLINIC.frame,
    "None": None,
    "number": 3,
    "text": "nowhere",
    "list": [1, 2],
    "mapping": {"a": 1},
    "summary": SUMMARY,
    "advice": ao.advise(SUMMARY),
    "problem": PROBLEM,
    "reconstruction": ao.reconstruct(PROBLEM),
    "configurations": CLINIC.configurations,
}


def functions() -> dict[str, Callable[..., object]]:
    """Return the public functions that take arguments, and some methods and options beside them."""
    modules: list[ModuleType] = [ao, analysis, harness, release, report, rounding, solvers]
    found = {
        f"{module.__name__}.{name}": getattr(module, name)
        for module in modules
        for name in module.__all__
        if inspect.isfunction(getattr(module, name))
    }
    found = {name: f for name, f in found.items() if inspect.signature(f).parameters}
    chosen = CLINIC.configurations["coarse-age"]
    return found | {
        "Advisor": ao.Advisor,
        "Summary.load": ao.Summary.load,
        "Problem": lambda given: ao.Problem(views=given),
        "advise, measure": lambda given: ao.advise(SUMMARY, measure=given),
        "advise, solver": lambda given: ao.advise(SUMMARY, solver=given),
        "summarize, label": lambda given: ao.summarize(CLINIC.frame, given, CLINIC.configurations),
        "save_configurations": lambda given: ao.save_configurations(given, "nowhere/masks.txt"),
        "apply_configuration, source": lambda given: ao.apply_configuration(given, chosen),
    }


FUNCTIONS = functions()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_wrong_kind_of_object_is_an_error_of_the_library_if_it_is_one(
    name: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    function = FUNCTIONS[name]
    needed = [
        parameter
        for parameter in inspect.signature(function).parameters.values()
        if parameter.default is parameter.empty and parameter.kind is parameter.POSITIONAL_OR_KEYWORD
    ]
    refused = 0
    for given in OBJECTS.values():
        try:
            function(*[given] * max(len(needed), 1))
        except AegisError:
            refused += 1
    assert refused >= 5


@pytest.mark.parametrize("name", CALLS)
def test_an_odd_argument_is_taken_or_an_error_of_the_library(
    name: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # some odd values are names of files to write
    function, given = CALLS[name]
    try:
        function(**given)  # sound, so that an odd value is reached; but for a file that is not there
    except AegisError as error:
        assert "not there" in str(error)  # noqa: PT017 (most calls raise nothing)
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            continue
        for what, odd in ODD.items():
            if what in RIGHT.get(parameter.name, ()):
                continue
            try:
                function(**{**given, parameter.name: odd})
            except AegisError:
                pass
            except Exception as error:
                pytest.fail(f"{name}({parameter.name}={what}) raises {error!r}")


NAMED: dict[str, tuple[Callable[[], object], str]] = {
    "no list of names": (
        lambda: ao.check_privacy(FRAME, MASKS, ao.privacy.KAnonymity(2), quasi_identifiers=3),  # type: ignore[arg-type]
        "quasi_identifiers must be a list, not int: list names",
    ),
    "no rounding": (
        lambda: ao.advise(SUMMARY, rounding=["nearest"]),  # type: ignore[arg-type]
        r"unknown rounding \['nearest'\]; known: independent",
    ),
    "no path": (
        lambda: SUMMARY.save(None),  # type: ignore[arg-type]
        "path must be a path, not NoneType: give it as text",
    ),
    "no configuration of scores": (
        lambda: SCORES.spec("nope", "age"),
        "unknown configuration 'nope'; known: c1, c2",
    ),
    "no configuration of an advice": (
        lambda: ADVICE.explain(["c1"]),  # type: ignore[arg-type]
        r"unknown configuration \['c1'\]; known: c1, c2",
    ),
    "no constraint": (
        lambda: ao.Problem(PROBLEM.views, constraints=["x"]),  # type: ignore[list-item]
        "each of constraints must be of type LinearConstraint",
    ),
    "no names of rows": (
        lambda: ao.Problem(PROBLEM.views, row_names=3),  # type: ignore[arg-type]
        "the names of the rows must be a list, not int",
    ),
    "no groups": (
        lambda: ao.View([[0, 1], [1]], [[1, 2]]),  # type: ignore[list-item]
        "groups must be an array: its rows must all have the same length",
    ),
    "no table": (
        lambda: ao.View([0], 10**400),
        "the joint table of a view must hold numbers only",
    ),
    "no domains": (
        lambda: CLINIC.configurations["coarse-age"].to_sql(domains=["age"]),  # type: ignore[arg-type]
        "domains must be a mapping, not list: map columns to domains",
    ),
    "no candidates": (
        lambda: ao.search(FRAME, "y", [[1, 2], [3]]),  # type: ignore[list-item]
        r"candidates must be a list of names: \[1, 2\] is none",
    ),
    "no flag": (
        lambda: ao.summarize(FRAME, "y", MASKS, unmasked=FRAME),  # type: ignore[call-overload]
        "unmasked must be True or False",
    ),
    "no share": (
        lambda: ao.summarize(FRAME, "y", MASKS, suppression=FRAME),  # type: ignore[call-overload]
        "suppression must be a number",
    ),
}


@pytest.mark.parametrize("case", NAMED)
def test_an_odd_argument_is_named_with_the_way_out(case: str) -> None:
    call, text = NAMED[case]
    with pytest.raises(AegisError, match=text):
        call()


def test_what_is_given_and_the_way_out_are_named() -> None:
    with pytest.raises(InvalidOption, match=r"summary must be a path, not DataFrame: .*aegis_opt\.summarize"):
        ao.advise(CLINIC.frame)
    with pytest.raises(InvalidOption, match=r"advice must be of type Advice, not Summary: aegis_opt\.advise"):
        report.plot_ranking(SUMMARY)
    with pytest.raises(InvalidOption, match=r"solver must be of type str, not list: one of ipf"):
        ao.reconstruct(PROBLEM, solver=["ipf"])  # type: ignore[arg-type]
    with pytest.raises(AegisError, match="unknown column 'status'"):
        harness.penalised(pd.DataFrame({"a": [1]}), None)


@pytest.mark.parametrize("name", ["\x1b[31mred", "\u202ereversed", "half \ud800"], ids=ascii)
@pytest.mark.parametrize("ending", ["", ".json", ".csv"])
def test_no_error_has_characters_that_a_terminal_obeys(name: str, ending: str) -> None:
    given = f"{name}{ending}"
    frame = pd.DataFrame({"a": [1, 2], "y": ["u", "v"]})
    calls: list[Callable[[], object]] = [
        lambda: ao.advise(given),
        lambda: ao.audit(given),
        lambda: ao.Advice.load(given),
        lambda: ao.load_configurations(given),
        lambda: ao.Hierarchy.from_csv(given),
        lambda: ao.sources.scan(given, "y"),
        lambda: ao.sources.scan(frame, given),
        lambda: ao.advise(SUMMARY, given),
        lambda: ao.apply_configuration(frame, {"a": ao.Suppress()}, output=f"/dev/null/{given}.csv"),
        lambda: harness.load_results(given),
        lambda: report.write_report(given, "page.html"),
    ]
    for call in calls:
        with pytest.raises(AegisError) as raised:
            call()
        assert str(raised.value).isprintable()


def test_what_is_right_in_the_types_of_numpy_is_taken() -> None:
    missing = pd.Series([1, 2]).isna().any()
    assert ao.domain.Domain("integer", [1, 2], missing=missing).missing is False
    assert ao.masks.Grouping(np.array([3, 40]) >= 18, ("young", "old")).groups.tolist() == [0, 1]
    assert ao.distances.distance([[1.0, 3.0]], 2.0, "l1") == 2
    assert ao.privacy.TCloseness(0.2, ordered=np.True_).ordered is True
    assert ao.masks.EraseDigits(1, keep_sign=np.False_).keep_sign is False
    assert ao.measures.chance_share("mi", [[3, 1], [1, 3]], math.nan) == 0


def test_a_decimal_that_signals_is_an_error_of_the_source() -> None:
    frame = pd.DataFrame({"a": [Decimal("sNaN"), Decimal(5)], "y": ["u", "v"]})
    with pytest.raises(SourceError):
        ao.sources.scan(frame, "y")

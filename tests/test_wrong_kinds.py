"""Public functions that are given the wrong kind of object: an error that names it, and the way out."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pandas as pd
import pytest

import aegis_opt as ao
from aegis_opt import analysis, harness, release, report, rounding, solvers
from aegis_opt.errors import AegisError, InvalidOption

CLINIC = ao.datasets.clinic(200)
SUMMARY = ao.summarize(CLINIC.frame, CLINIC.label, CLINIC.configurations)
PROBLEM = ao.Problem.from_table([[3, 0], [0, 1], [0, 2]], [0, 0, 1])
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

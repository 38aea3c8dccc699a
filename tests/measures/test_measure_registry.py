"""Measures by name: built in, registered, and offered by other packages."""

from __future__ import annotations

import sys
from functools import cache
from importlib.metadata import EntryPoint, EntryPoints
from types import ModuleType

import numpy as np
import pytest

from aegis_opt import _plugins, errors
from aegis_opt.measures import Measure, _registry, available_measures, g3_error, get_measure, register_measure

BUILT_IN = (
    "mi", "chi2", "g3", "g1", "g2", "cramers_v", "theils_u", "gk_tau",
    "mi_corrected", "chi2_corrected", "cramers_v_corrected", "g3_loo", "mi_loo",
)  # fmt: skip
MINE = Measure("mine", "my error", g3_error, higher_is_better=False, monotone=True)


@pytest.fixture(autouse=True)
def own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_registry, "_MEASURES", dict(_registry._MEASURES))


@pytest.fixture
def offer(monkeypatch: pytest.MonkeyPatch):
    """Pretend that installed packages offer the given entry points."""

    def install(**values: str) -> None:
        points = EntryPoints(
            EntryPoint(n.rstrip("_"), v, _registry.ENTRY_POINT_GROUP) for n, v in values.items()
        )
        monkeypatch.setattr(_plugins, "entry_points", lambda group: points.select(group=group))
        monkeypatch.setattr(_plugins, "_listed", cache(_plugins._listed.__wrapped__))

    plugin = ModuleType("measure_plugin")
    vars(plugin).update(mine=MINE, number=3)
    monkeypatch.setitem(sys.modules, "measure_plugin", plugin)
    return install


def test_built_in_names() -> None:
    assert available_measures()[: len(BUILT_IN)] == BUILT_IN
    assert all(get_measure(name).name == name for name in BUILT_IN)


def test_directions() -> None:
    lower = {name for name in BUILT_IN if not get_measure(name).higher_is_better}
    assert lower == {"g1", "g2", "g3", "g3_loo"}


def test_a_measure_is_returned_as_it_is() -> None:
    assert get_measure(MINE) is MINE


@pytest.mark.parametrize(
    ("name", "words"), [("chi", "did you mean 'chi2'"), ("xyz", "known: .*mi_corr"), (3, "unknown measure 3")]
)
def test_an_unknown_name_lists_what_exists(name, words: str) -> None:
    with pytest.raises(errors.UnknownMeasure, match=words):
        get_measure(name)


def test_a_registered_measure_is_known_by_name() -> None:
    register_measure(MINE)
    assert get_measure("mine") is MINE
    assert available_measures() == (*BUILT_IN, "mine")


def test_a_name_can_be_registered_once(offer) -> None:
    offer(offered="measure_plugin:mine")
    register_measure(MINE)
    for name in ("mine", "mi", "offered"):
        with pytest.raises(errors.InvalidInput, match=f"'{name}' is taken"):
            register_measure(Measure(name, "again", g3_error, False, True))
    with pytest.raises(errors.InvalidInput, match="only a Measure"):
        register_measure(g3_error)


def test_an_offered_measure_is_loaded_when_asked_for(offer) -> None:
    offer(mine="measure_plugin:mine", broken="no_such_module:x")
    assert available_measures() == (*BUILT_IN, "broken", "mine")
    assert get_measure("mine") is MINE


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("no_such_module:x", "plugin 'no_such_module:x' cannot be loaded .ModuleNotFoundError"),
        ("measure_plugin:absent", "cannot be loaded .AttributeError"),
        ("measure_plugin:number", "is a int, not a Measure"),
        ("measure_plugin:mine", "calls itself 'mine'"),
    ],
)
def test_a_broken_offer_is_told_only_when_asked_for(offer, value: str, words: str) -> None:
    offer(other=value)
    assert get_measure("mi").name == "mi"
    with pytest.raises(errors.AegisError, match=f"measure 'other'.*{words}"):
        get_measure("other")


def test_two_offers_of_one_name_are_told(offer) -> None:
    offer(mine="measure_plugin:mine", mine_="measure_plugin:number")
    with pytest.raises(
        errors.AegisError, match=r"offered more than once \(measure_plugin:mine, measure_plugin:number\)"
    ):
        get_measure("mine")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"name": ""}, "needs a name"),
        ({"name": " mi"}, "needs a name"),
        ({"function": None}, "must be callable"),
        ({"monotone": False, "channel_monotone": True}, "needs monotone=True"),
    ],
)
def test_a_measure_that_contradicts_itself_is_refused(fields: dict, words: str) -> None:
    proper = {"name": "x", "title": "x", "function": g3_error, "higher_is_better": False, "monotone": True}
    with pytest.raises(errors.InvalidInput, match=words):
        Measure(**(proper | fields))


def test_a_function_that_cannot_take_stacks_is_told() -> None:
    flat = Measure("flat", "flat", lambda F: float(np.sum(F)), True, False)
    with pytest.raises(errors.AegisError, match=r"'flat' returned shape \(\) for a stack of 2 tables"):
        flat.many([[[1, 2]], [[3, 4]]])

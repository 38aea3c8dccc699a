"""What other packages offer: read once, and whatever is wrong with it is told."""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint

import pytest

import aegis_opt as ao
from aegis_opt import _plugins
from aegis_opt.solvers.registry import GROUP, available_solvers, solver_class

OFFERS = [
    EntryPoint("missing", "no_such_module:Thing", GROUP),
    EntryPoint("number", "math:pi", GROUP),
    EntryPoint("twice", "math:pi", GROUP),
    EntryPoint("twice", "math:e", GROUP),
]


@pytest.fixture
def times_read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Pretend that installed packages offer these; holds the groups that were read."""
    read: list[str] = []

    def entry_points(group: str) -> list[EntryPoint]:
        read.append(group)
        return OFFERS

    monkeypatch.setattr(_plugins, "entry_points", entry_points)
    monkeypatch.setattr(_plugins, "_listed", cache(_plugins._listed.__wrapped__))
    return read


def test_metadata_of_packages_are_read_once(times_read: list[str]) -> None:
    for _ in range(3):
        assert list(_plugins.offers(GROUP)) == ["missing", "number", "twice"]
    assert times_read == [GROUP]


def test_metadata_are_read_again_where_python_looks_elsewhere(
    times_read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _plugins.offers(GROUP)
    monkeypatch.syspath_prepend("elsewhere")
    _plugins.offers(GROUP)
    assert times_read == [GROUP, GROUP]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("missing", "'no_such_module:Thing' cannot be loaded"),
        ("number", "solver 'number' of the plugin 'math:pi' is no subclass"),
        ("twice", r"offered more than once \(math:pi, math:e\)"),
    ],
)
@pytest.mark.usefixtures("times_read")
def test_a_broken_solver_of_another_package_is_named(name: str, words: str) -> None:
    assert name in available_solvers()
    with pytest.raises(ao.AegisError, match=words):
        solver_class(name)

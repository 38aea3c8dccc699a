"""Peers: other libraries behind the same interface, on the same problems."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import aegis_opt as ao
from aegis_opt.harness._other_libraries import PEERS, Ipfn

FRACTIONAL = [name for name, kind in PEERS.items() if not kind.capabilities.integer]
counts = st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3), min_size=4, max_size=7)


@pytest.mark.parametrize("histogram", [True, False], ids=["with histogram", "without histogram"])
@pytest.mark.parametrize("name", FRACTIONAL)
@settings(max_examples=20, deadline=None)
@given(table=counts.filter(lambda rows: sum(map(sum, rows)) > 0), n_groups=st.integers(1, 3))
def test_a_peer_finds_the_table_of_ipf(name, histogram, table, n_groups) -> None:
    problem = ao.Problem.from_table(table, np.arange(len(table)) % n_groups, histogram=histogram)
    ours, theirs = ao.reconstruct(problem), PEERS[name]().reconstruct(problem)
    np.testing.assert_allclose(theirs.table, ours.table, atol=1e-6)
    assert theirs.status in (ao.Status.OPTIMAL, ao.Status.FEASIBLE)


def test_integerise_gives_whole_numbers_of_the_same_records() -> None:
    example = ao.datasets.worked_example_table()
    problem = ao.Problem.from_table(example, [0, 0, 0, 1, 1, 1, 1, 1])
    table = np.asarray(PEERS["humanleague-integerise"]().reconstruct(problem).table)
    np.testing.assert_array_equal(table, table.round())
    assert table.sum() == 100


@pytest.mark.parametrize("name", PEERS)
def test_a_peer_refuses_what_it_would_ignore(name) -> None:
    table = [[3, 1], [0, 2], [1, 1], [2, 2]]
    prior = ao.Problem.from_table(table, [0, 0, 1, 1], prior=[[1, 2], [1, 1], [1, 1], [1, 1]])
    with pytest.raises(ao.errors.InvalidOption, match="takes no prior"):
        PEERS[name]().reconstruct(prior)
    with pytest.raises(ao.errors.InvalidOption, match="takes one view, not 2"):
        PEERS[name]().reconstruct(ao.Problem.from_table(table, [[0, 0, 1, 1], [0, 1, 0, 1]]))


def test_a_peer_that_is_not_installed_says_how_to_install_it(monkeypatch) -> None:
    monkeypatch.setattr(Ipfn, "module", "no_such_library")
    with pytest.raises(
        ao.errors.MissingDependency, match=r"needs the package ipfn: pip install 'aegis-opt\[bench\]'"
    ):
        Ipfn().reconstruct(ao.Problem.from_table([[3, 1], [0, 2]], [0, 0]))

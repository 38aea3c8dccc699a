"""The audit of tables with masked labels, against all tables that agree with them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest

import aegis_opt as ao


def all_tables(total: int, cells: int) -> Any:
    """Every way to divide records over cells."""
    for cuts in itertools.combinations(range(total + cells - 1), cells - 1):
        yield np.diff([-1, *cuts, total + cells - 1]) - 1


@pytest.mark.parametrize("histograms", [False, ["a"], ["y"], True])
def test_the_ranges_are_those_of_all_whole_tables(histograms: Any) -> None:
    people = pd.DataFrame({"a": [0, 0, 1, 1, 2, 2], "y": list("pqrpqq")})
    configurations = {
        "one": {
            "a": ao.Generalize([["x", [0, 1]], ["z", [2]]]),
            "y": ao.Generalize({"P": ["p"], "Q": ["q", "r"]}),
        },
        "two": {
            "a": ao.Generalize([["x", [0]], ["z", [1, 2]]]),
            "y": ao.Generalize({"P": ["p", "q"], "Q": ["r"]}),
        },
    }
    summary = ao.summarize(people, "y", configurations, histograms)
    problem = summary.problem("a")
    feasible = [
        table for flat in all_tables(len(people), 9) if problem.residual(table := flat.reshape(3, 3)) == 0
    ]
    assert len(feasible) >= 1
    found = ao.audit(summary)
    low = np.minimum.reduce(feasible).ravel()
    high = np.maximum.reduce(feasible).ravel()
    assert (found.cells["low"] <= low).all()
    assert (found.cells["high"] >= high).all()
    exact = found.cells["exact"].to_numpy(bool)
    assert exact.any()
    assert (found.cells["low"] == low)[exact].all()
    assert (found.cells["high"] == high)[exact].all()
    named = histograms in (True, ["y"])
    assert set(found.cells["label"]) == (set("pqr") if named else {0, 1, 2})


def test_differences_of_different_labels_are_taken_by_the_coarser_one() -> None:
    people = pd.DataFrame({"a": [0, 0, 1, 1, 2, 2, 2], "y": list("pqrpqqr")})
    coarse = ao.Generalize({"P": ["p"], "Q": ["q", "r"]})
    other = ao.Generalize({"P": ["p", "q"], "Q": ["r"]})
    configurations = {
        "all": {"a": ao.Generalize([["x", [0, 1, 2]]]), "y": coarse},
        "part": {"a": ao.Generalize([["x", [0]], ["z", [1, 2]]])},
        "apart": {"a": ao.Generalize([["x", [0, 1]], ["z", [2]]]), "y": other},
    }
    found = ao.audit(ao.summarize(people, "y", configurations)).differences
    pairs = {
        (row.table, row.other_table): (row.values_, row.records, row.small_cells)
        for row in found.rename(columns={"values": "values_"}).itertuples()
    }
    assert (0, 2) not in pairs
    assert (2, 0) not in pairs
    assert found.empty or all(records >= 0 for _, records, _ in pairs.values())
    nested = {
        "all": {"a": ao.Generalize([["x", [0, 1]], ["z", [2]]]), "y": coarse},
        "part": {"a": ao.Generalize([["x", [0]], ["z", [1, 2]]])},
        "single": {"a": ao.Generalize([["x", [0]], ["w", [1]], ["z", [2]]])},
    }
    told = ao.audit(ao.summarize(people, "y", nested)).differences
    first = told[(told["table"] == 0) & (told["group"] == 0) & (told["other_table"] == 1)].iloc[0]
    assert (first["values"], first["records"], first["small_cells"]) == (1, 2, 2)  # value 1: one P, one Q

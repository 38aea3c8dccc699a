"""Time limits: what takes too long is stopped and is a row; what dies is a row too."""

from __future__ import annotations

import pandas as pd
import pytest
from stubborn_solvers import Sleeper, Suicidal

import aegis_opt as ao
from aegis_opt.harness import Case, run_comparison
from aegis_opt.harness.memory import PeakMemory

PEOPLE = pd.DataFrame({"sex": ["m", "f"] * 30, "age": range(60), "health": ["good", "good", "poor"] * 20})
MASKS = {"ten": {"sex": ao.Suppress(), "age": ao.Bucketize(width=10)}, "none": {"age": ao.Suppress()}}
CASE = Case.of(PEOPLE, "health", MASKS)


@pytest.mark.parametrize(
    ("solver", "status", "text"),
    [
        (Sleeper(limit=60), "timed out", "stopped after 3 seconds"),
        (Suicidal(limit=60), "failed", r"the process died \(signal 9\)"),
    ],
)
def test_what_does_not_come_back_is_a_row_and_the_rest_goes_on(solver, status, text) -> None:
    results = run_comparison(
        [CASE], [solver, "random"], ["mi"], scopes=["pooled"], histograms=[True], time_limit=3
    )
    found = results.reconstructions
    lost = found["n_values"] >= 60
    assert lost.any()
    assert not lost.all()
    assert set(found.loc[lost, "status"]) == {status}
    assert set(found.loc[~lost, "status"]) == {"optimal"}
    assert found.loc[lost, "error"].str.fullmatch(text).all()
    advice = results.advice.set_index("solver")
    assert advice.loc[solver.name, "status"] == status
    assert pd.isna(advice.loc[solver.name, "seconds_total"])
    assert advice.loc["random", "status"] == "ok"
    assert results.meta["settings"]["time_limit"] == 3


def test_peak_memory_sees_what_was_freed_again() -> None:
    memory = PeakMemory()
    before = memory.megabytes()
    block = bytearray(64 << 20)
    del block
    if before is None:  # a system that cannot reset its mark
        assert memory.megabytes() is None
    else:
        assert before < 16
        assert memory.megabytes() >= 60

"""One advisor asked by many threads, and tables of many classes."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

import aegis_opt as ao
from aegis_opt.advisor._bounds import utility_intervals
from aegis_opt.advisor._estimate import measure_each
from aegis_opt.masks import Bucketize
from aegis_opt.solvers.ipf import IPF
from aegis_opt.summary import AttributeSummary, MaskedTable, Summary


@pytest.fixture(scope="module")
def clinic() -> Summary:
    data = ao.datasets.clinic(500)
    return ao.summarize(data.frame, data.label, data.configurations)


def said(advice: ao.Advice) -> str:
    """Return all that an advice says, but how long it took."""
    return repr({key: value for key, value in advice.to_dict().items() if key != "seconds"})


def test_threads_that_share_an_advisor_solve_each_table_once_and_agree(clinic, monkeypatch) -> None:
    alone = said(ao.advise(clinic, "mi"))
    solved: list[object] = []
    solve = IPF.solve

    def slowly(self, problem):
        solved.append(problem)
        time.sleep(0.02)  # long enough for all threads to ask for the same table
        return solve(self, problem)

    monkeypatch.setattr(IPF, "solve", slowly)
    advisor = ao.Advisor(clinic)
    start = threading.Barrier(8)

    def ask(_: int) -> str:
        start.wait()
        return said(advisor.advise("mi"))

    with ThreadPoolExecutor(8) as pool:
        answers = set(pool.map(ask, range(8)))
    assert answers == {alone}
    assert len(solved) == len(clinic.attributes)


def test_an_advisor_that_was_sent_to_another_process_answers_the_same(clinic) -> None:
    advisor = ao.Advisor(clinic)
    answer = said(advisor.advise("mi"))
    assert said(pickle.loads(pickle.dumps(advisor)).advise("mi")) == answer


def test_after_an_error_the_next_question_is_answered(clinic, monkeypatch) -> None:
    advisor = ao.Advisor(clinic)
    solve = IPF.solve

    def failing(self, problem):
        raise KeyboardInterrupt

    monkeypatch.setattr(IPF, "solve", failing)
    with pytest.raises(KeyboardInterrupt):
        advisor.advise("mi")
    monkeypatch.setattr(IPF, "solve", solve)
    assert advisor.advise("mi").certified


def test_names_are_loaded_by_many_threads_at_the_same_time() -> None:
    program = """
import threading
from concurrent.futures import ThreadPoolExecutor
import aegis_opt as ao
start = threading.Barrier(8)
names = sorted({*ao.__all__} - {"MaskingTransformer"})
def load(first):
    start.wait()
    for name in names[first:] + names[:first]:
        getattr(ao, name)
    return len(ao.available_solvers()), ao.get_measure("mi").name, ao.get_reconstructor("integer").name
with ThreadPoolExecutor(8) as pool:
    assert len(set(pool.map(load, range(0, 40, 5)))) == 1
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


@pytest.mark.parametrize("measure", ["mi", "chi2", "g3", "g2", "theils_u", "gk_tau"])
def test_the_far_bound_is_the_measure_of_groups_split_by_label(measure: str) -> None:
    rng = np.random.default_rng(3)
    joint, groups = rng.integers(0, 9, (4, 3)), np.array([0, 0, 1, 2, 2, 2, 3])
    attribute = AttributeSummary(
        "integer", 7, None, None, (MaskedTable({"function": "x"}, groups, (0, 1, 2, 3), joint),)
    )
    split = np.array(
        [row * np.eye(3)[y] for g, row in enumerate(joint) for y in range(3) if g in (0, 2)]
        + [joint[1], joint[3]]
    )
    chosen = ao.get_measure(measure)
    summary = ao.Summary("y", "integer", (0, 1, 2), joint.sum(axis=0), {"a": attribute}, {"c": {"a": 0}})
    interval = utility_intervals(chosen, summary, {"a": chosen.many([joint])})["a"]
    far = interval.high if chosen.higher_is_better else interval.low
    assert far == pytest.approx(chosen(split), rel=1e-14)


def test_tables_that_are_made_to_be_measured_are_let_go() -> None:
    sizes = {"a": 7, "none": 0, "b": 12}
    measure = ao.get_measure("mi")
    tables = {name: [np.eye(400) + i for i in range(size)] for name, size in sizes.items()}
    expected = {name: [measure(table) for table in found] for name, found in tables.items()}
    del tables
    tracemalloc.start()
    try:
        found = measure_each(
            measure, {name: (np.eye(400) + i for i in range(size)) for name, size in sizes.items()}
        )
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert {name: values.tolist() for name, values in found.items()} == expected
    assert peak < 17 * 400 * 400 * 8


def test_the_memory_of_an_advice_grows_with_its_configurations_not_with_their_square() -> None:
    """What a change of each mask to each other one would give was laid out: 980 MiB of 5,000 masks."""
    n = 1500
    frame = pd.DataFrame({"a": np.arange(4000) % 200, "y": np.arange(4000) % 7 % 2})
    widths = (width for width in range(2, 200) for _ in range(width))
    origins = (origin for width in range(2, 200) for origin in range(width))
    masks = {f"{i}": {"a": Bucketize(width=next(widths), origin=next(origins))} for i in range(n)}
    advisor = ao.Advisor(ao.summarize(frame, "y", masks))
    advisor.advise("g3")  # what all measures share is solved and kept
    tracemalloc.start()
    try:
        advice = advisor.advise("mi")
        explained = advice.explain(), advice.suggest()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert explained[0] is not None
    assert peak < n * n * 8 / 2
    assert advice.changes is not None
    (changed,) = advice.changes.changed.values()
    assert changed.shape == (n, len(advisor.summary.attributes["a"].tables) + 1)


def test_a_label_of_900_classes_fits_into_little_memory() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"a": rng.integers(60, size=20_000), "y": rng.integers(900, size=20_000).astype(str)}
    )
    masks = {f"{width} wide": {"a": Bucketize(width=width)} for width in (2, 5, 20)}
    advisor = ao.Advisor(ao.summarize(frame, "y", masks))
    tracemalloc.start()
    try:
        advice = advisor.advise("mi")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert advice.certified
    assert peak < 100e6

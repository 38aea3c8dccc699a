"""An advisor solves nothing twice, shares nothing with another, and leaves the summary as it is."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest

import aegis_opt as ao
from aegis_opt.advisor import Advisor
from aegis_opt.solvers.base import Capabilities, Solution
from aegis_opt.solvers.ipf import IPF


@dataclass(frozen=True, kw_only=True)
class CountingIPF(IPF):
    """IPF that counts the problems it solves."""

    solved: ClassVar[list[ao.Problem]] = []

    def solve_many(self, problems: Sequence[ao.Problem]) -> list[Solution]:
        self.solved.extend(problems)
        return super().solve_many(problems)


@dataclass(frozen=True, kw_only=True)
class RandomIPF(CountingIPF):
    """The same, as a solver whose tables depend on the seed."""

    capabilities: ClassVar[Capabilities] = Capabilities(norms=("kl",), random=True)


@pytest.fixture
def count() -> list[ao.Problem]:
    CountingIPF.solved.clear()
    return CountingIPF.solved


@pytest.fixture(scope="module")
def summary() -> ao.Summary:
    clinic = ao.datasets.clinic(400, seed=2)
    return ao.summarize(clinic.frame, clinic.label, clinic.configurations, histograms=True)


@pytest.mark.parametrize(
    ("solver", "first", "second", "solved"),
    [
        (CountingIPF(), {}, {"measure": "g3"}, 3),
        (CountingIPF(), {}, {"measure": "chi2", "histograms": True}, 3),
        (CountingIPF(), {"scope": "single"}, {"scope": "single", "measure": "g3"}, None),
        (RandomIPF(), {"replicates": 2}, {"replicates": 2, "measure": "g3"}, 6),
        (RandomIPF(), {"replicates": 4}, {"replicates": 2, "measure": "g3"}, 12),
    ],
    ids=["another measure", "histograms named", "single views", "random", "fewer replicates"],
)
def test_the_second_question_does_not_solve_again(
    summary: ao.Summary,
    count: list[ao.Problem],
    solver: CountingIPF,
    first: dict[str, Any],
    second: dict[str, Any],
    solved: int | None,
) -> None:
    advisor = Advisor(summary)
    advisor.advise(solver=solver, **first)
    once = len(count)
    assert once == solved or (solved is None and once > 3)
    again = advisor.advise(solver=solver, **second)
    assert len(count) == once
    other = Advisor(summary).advise(solver=solver, **second)
    assert len(count) > once  # what one advisor found is not known to another
    pd.testing.assert_frame_equal(again.ranking, other.ranking)


def test_other_roundings_and_seeds_round_the_same_tables(
    summary: ao.Summary, count: list[ao.Problem]
) -> None:
    advisor = Advisor(summary)
    advisor.advise(solver=CountingIPF())
    for rounding in ("independent", "nearest"):
        for seed in (0, 1):
            advisor.advise(solver=CountingIPF(rounding=rounding, seed=seed), replicates=2)
    assert len(count) == 3


def test_what_makes_another_problem_is_solved(summary: ao.Summary, count: list[ao.Problem]) -> None:
    advisor = Advisor(summary)
    advisor.advise(solver=CountingIPF())
    with_histograms = len(count)
    advisor.advise(solver=CountingIPF(), histograms=False)
    assert len(count) == 2 * with_histograms
    advisor.advise(solver=CountingIPF(tolerance=1e-8))
    assert len(count) == 3 * with_histograms


def test_the_disclosed_shares_are_found_once(summary: ao.Summary, monkeypatch: pytest.MonkeyPatch) -> None:
    from aegis_opt.advisor import _solved

    calls = []
    share = _solved.disclosed_share
    monkeypatch.setattr(_solved, "disclosed_share", lambda *a: calls.append(a) or share(*a))
    advisor = Advisor(summary)
    one, two = advisor.advise("mi"), advisor.advise("g3")
    assert len(calls) == len(summary.attributes)
    assert one.attributes["disclosed"].equals(two.attributes["disclosed"])


def test_the_summary_stays_as_it_is(summary: ao.Summary) -> None:
    before = pickle.dumps(summary)
    advisor = Advisor(summary)
    advisor.advise()
    assert advisor.summary is summary
    assert set(vars(summary)) == {field.name for field in fields(summary)}
    assert pickle.dumps(summary) == before


def test_one_question_is_the_short_form_of_many(summary: ao.Summary, tmp_path: Any) -> None:
    path = tmp_path / "summary.json"
    summary.save(path)
    short, long = ao.advise(summary, measure="g1"), Advisor(path).advise(measure="g1")
    pd.testing.assert_frame_equal(short.ranking, long.ranking)
    pd.testing.assert_frame_equal(short.attributes, long.attributes)
    assert (short.warnings, short.reason) == (long.warnings, long.reason)


def test_both_forms_take_the_same_parameters() -> None:
    def parameters(function: Any) -> list[tuple[Any, ...]]:
        found = inspect.signature(function).parameters.values()
        return [(p.name, p.kind, p.default) for p in found][1:]

    assert parameters(ao.advise) == parameters(Advisor.advise)


def test_answers_do_not_depend_on_earlier_questions(summary: ao.Summary) -> None:
    advisor = Advisor(summary)
    for question in ({"rounding": "nearest", "seed": 3, "replicates": 2}, {"scope": "single"}):
        for measure in ("g3", "mi"):
            kept = advisor.advise(measure, **question)
            fresh = ao.advise(summary, measure, **question)
            pd.testing.assert_frame_equal(kept.ranking, fresh.ranking)
            assert np.array_equal(kept.attributes["residual"], fresh.attributes["residual"])

"""`python -m benchmarks.scores`: what it compares with, and every part at its smallest."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

import aegis_opt as ao
from benchmarks import scores
from benchmarks.inputs import Input
from benchmarks.scores_checks import (
    Coverage,
    compare_with_rows,
    coverage_of,
    covered,
    masked_records,
    one_hot_rows,
    random_halves,
)


@pytest.fixture
def data() -> Input:
    clinic = ao.datasets.clinic(400)
    assert clinic.configurations is not None
    masks = ao.Configurations(dict(list(clinic.configurations.items())[:5]), label=clinic.label)
    return Input("clinic", clinic.frame, clinic.label, masks, clinic.frame)


@pytest.fixture
def folder(data: Input, tmp_path: Path) -> Path:
    base = tmp_path / "people"
    base.mkdir()
    data.frame.to_csv(base / "data.csv", index=False)
    ao.save_configurations(data.configurations, base / "configurations.json")
    return base


def test_scores_from_counts_are_those_of_ridge_on_the_rows(data: Input) -> None:
    rows = list(compare_with_rows(data))
    assert len({row["configuration"] for row in rows}) == 3
    assert all(row[off] < 1e-9 for row in rows for off in ("gcv off", "cv off", "folds off"))  # type: ignore[operator]


def test_rare_values_share_a_column() -> None:
    column = np.repeat([0, 1, 2, 3], [1, 5, 2, 4])
    assert one_hot_rows([column], cap=4).sum(axis=0).tolist() == [1, 5, 2, 4]
    assert one_hot_rows([column, column], cap=3).sum(axis=0).tolist() == [5, 4, 3] * 2


def test_halves_hold_every_record_once(data: Input) -> None:
    _, records = masked_records(data)
    marked = dataclasses.replace(records, label=np.arange(len(records)))
    first, second = random_halves(marked, np.random.default_rng(0))
    assert sorted([*first.label, *second.label]) == list(range(len(records)))
    assert abs(len(first) - len(second)) <= 1
    np.testing.assert_array_equal(first.attributes[0], records.attributes[0][first.label])


def test_coverage_of_normal_folds_is_what_theory_says() -> None:
    """Independent folds: the intervals, made for folds that share records, are wider by a known factor."""
    k, many = 10, 40_000
    rng = np.random.default_rng(0)
    one, other = rng.normal(size=(2, 2 * many, k))
    truth = np.zeros((2 * many, k))
    pairs = np.arange(many), many + np.arange(many)
    found = covered(one, other, truth, pairs)
    wide = 2.2622 * np.sqrt(1 + k / (k - 1))  # half width in standard errors, were s known
    about = float(2 * norm.cdf(wide * 0.97) - 1)
    assert found.expected == pytest.approx(found.all_records, abs=0.004)
    assert found.all_records == pytest.approx(about, abs=0.01)
    assert found.other_half < found.expected


def test_coverage_is_of_every_half_and_leaves_equal_configurations_out(data: Input) -> None:
    twice = {**data.configurations, "again": data.configurations[next(iter(data.configurations))]}
    found = coverage_of(
        dataclasses.replace(data, configurations=ao.Configurations(twice)), n_folds=3, halvings=2
    )
    assert [len(each) for each in found.values()] == [4, 4]
    assert all(0 <= share <= 1 for each in found.values() for c in each for share in dataclasses.astuple(c))
    assert isinstance(found["all pairs"][0], Coverage)


def test_every_part_prints_its_figures(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(scores, "ATTRIBUTES", (3, 4))
    monkeypatch.setattr(scores, "CONFIGURATIONS", 3)
    monkeypatch.setattr(scores, "CLASSIFIERS", ("nb",))
    monkeypatch.setattr(scores, "in_a_process", lambda _, work, **given: getattr(scores, work)(**given))
    options = ["--rows", "500", "--small-rows", "500", "--repeats", "1", "--halvings", "2"]
    assert scores.main(["--data", str(folder), *options]) == 0
    out = capsys.readouterr().out
    for figure in (
        r"people +\S+ +\d+ +\S+ +\de[-+]\d\d",
        r"people +10 +all pairs +[01]\.\d+",
        r"people +CSV +[\d.]+ \([\d.]+\) s +[\d.]+ \([\d.]+\) s +[\d.]+ \([\d.]+\)",
        r"nb +\d+ \(\d+\) ms +ratio [\d.]+ \([\d.]+\)",
        r"people +[\d.]+ s +[\d.]+ s +\S+, the same winner",
        r"scores [\d.]+ kB +tables [\d.]+ kB",
        r"people +r2_gcv \d+, r2_cv \d+, r2 \d+, r2_certified \d+",
        r"ratio [\d.]+ \([\d.]+\) \(wanted: at most 3\)",
        r"slope of log processor time over log attributes -?\d",
    ):
        assert re.search(figure, out), figure


def test_an_unknown_part_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as leave:
        scores.main(["rigde"])
    assert leave.value.code == 2
    assert "unknown part 'rigde'; known: ridge, coverage" in capsys.readouterr().err

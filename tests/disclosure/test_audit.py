"""The audit: ranges that contain the truth, and that whole tables attain."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import aegis_opt as ao
from aegis_opt.cli import main
from aegis_opt.disclosure import _cell_bounds
from aegis_opt.disclosure._attribute import attribute_bounds, table_bounds
from aegis_opt.errors import InfeasibleProblem
from aegis_opt.problem import Problem
from aegis_opt.summary import AttributeSummary, MaskedTable, Summary


def random_problem(random: np.random.Generator, largest: int) -> tuple[np.ndarray, Problem]:
    """Return a table of whole numbers, and what is known of it."""
    n, k = int(random.integers(2, largest)), int(random.integers(2, 4))
    table = random.poisson(float(random.choice([0.4, 1.0, 3.0])), (n, k))
    table[0, 0] += 1
    views = []
    for _ in range(int(random.integers(1, 5))):
        groups = random.integers(0, random.integers(1, n + 1), n)
        views.append(np.unique(groups, return_inverse=True)[1])
    return table, Problem.from_table(table, views, histogram=bool(random.integers(0, 2)))


def all_tables(problem: Problem) -> Iterator[np.ndarray]:
    """Go through every table of whole numbers that meets all totals, cell by cell."""
    n, k = problem.shape
    left = [margin.totals.copy() for margin in problem.margins]
    last: list[dict[tuple[int, int], int]] = [
        {} for _ in left
    ]  # the last cell of each total, which has to take what is left of it
    cells = [(a, y) for a in range(n) for y in range(k)]
    for i, (a, y) in enumerate(cells):
        for seen, margin in zip(last, problem.margins, strict=True):
            seen[margin.rows[a], margin.columns[y]] = i
    table = np.zeros((n, k), dtype=int)

    def fill(i: int) -> Iterator[np.ndarray]:
        if i == len(cells):
            yield table
            return
        a, y = cells[i]
        places = [(margin.rows[a], margin.columns[y]) for margin in problem.margins]
        most = int(min(part[place] for part, place in zip(left, places, strict=True)))
        must = {int(part[p]) for part, p, seen in zip(left, places, last, strict=True) if seen[p] == i}
        for value in [v for v in must if v <= most] if must else range(most + 1):
            if len(must) > 1:
                break
            table[a, y] = value
            for part, place in zip(left, places, strict=True):
                part[place] -= value
            yield from fill(i + 1)
            for part, place in zip(left, places, strict=True):
                part[place] += value
        table[a, y] = 0

    return fill(0)


def test_ranges_contain_the_truth_in_500_random_cases() -> None:
    random = np.random.default_rng(0)
    for case in range(500):
        table, problem = random_problem(random, 12)
        found = table_bounds(problem)
        assert (found.low <= table).all(), case
        assert (table <= found.high).all(), case


@pytest.mark.parametrize("way", ["all", "programs"])
def test_ranges_are_attained_by_whole_tables(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Brute force over all tables of small problems; also without networks, as for overlapping views."""
    if way == "programs":
        monkeypatch.setattr(_cell_bounds, "two_sided", lambda *_: None)
    random = np.random.default_rng(1)
    compared = 0
    while compared < 60:
        table, problem = random_problem(random, 6)
        if table.sum() > 10:
            continue
        low, high = np.full(table.shape, 99), np.full(table.shape, -1)
        for other in all_tables(problem):
            np.minimum(low, other, out=low)
            np.maximum(high, other, out=high)
        found = table_bounds(problem)
        np.testing.assert_array_equal(found.low, low)
        np.testing.assert_array_equal(found.high, high)
        assert found.exact.all()
        compared += 1


def test_without_effort_the_ranges_still_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_MOST_ARCS", "_MOST_CELLS", "_LARGEST_CP_SAT", "_LARGEST_DENSE"):
        monkeypatch.setattr(_cell_bounds, name, 1)
    random = np.random.default_rng(2)
    exact = []
    for _ in range(60):
        table, problem = random_problem(random, 10)
        found = table_bounds(problem)
        assert (found.low <= table).all()
        assert (table <= found.high).all()
        exact.append(found.exact.all())
    assert not all(exact)


def test_only_whole_tables_count() -> None:
    """Three views of three values, each two of them together: halves meet odd sums, whole numbers do not."""
    groups = [np.array([0, 0, 1]), np.array([0, 1, 0]), np.array([1, 0, 0])]
    truth = np.array([[2, 1], [1, 0], [1, 3]])
    found = table_bounds(Problem.from_table(truth, groups, histogram=False))
    np.testing.assert_array_equal(found.low, truth)
    assert found.pinned.all()


def test_a_large_column_is_bounded_by_few_classes() -> None:
    random = np.random.default_rng(3)
    frame = pd.DataFrame({"x": random.integers(0, 21_648, 30_000), "y": random.integers(0, 2, 30_000)})
    masks = {f"c{width}": {"x": ao.Bucketize(width=width)} for width in (450, 700, 1000)}
    for histograms in (False, True):
        summary = ao.summarize(frame, "y", masks, histograms=histograms)
        found = ao.audit(summary)
        truth = pd.crosstab(frame["x"], frame["y"]).to_numpy().ravel()
        assert (found.cells["low"] <= truth).all()
        assert (truth <= found.cells["high"]).all()
        assert found.attributes.loc[0, "exact"]


@pytest.fixture(scope="module")
def clinic() -> Any:
    return ao.datasets.clinic(300, seed=0)


@pytest.fixture(scope="module")
def summary(clinic: Any) -> Any:
    return ao.summarize(clinic.frame, clinic.label, clinic.configurations)


def test_the_frames_say_what_is_pinned(clinic: Any, summary: Any) -> None:
    found = ao.audit(summary)
    assert list(found.cells)[:5] == ["attribute", "row", "label", "low", "high"]
    assert list(found.attributes)[:5] == [
        "attribute",
        "pinned_cells",
        "pinned_records",
        "small_cells",
        "values_in_clear",
    ]
    for row in found.attributes.itertuples():
        cells = found.cells[found.cells["attribute"] == row.attribute]
        truth = pd.crosstab(clinic.frame[row.attribute], clinic.frame[clinic.label]).to_numpy().ravel()
        assert (cells["low"] <= truth).all()
        assert (truth <= cells["high"]).all()
        pinned = (cells["low"] == cells["high"]).to_numpy()
        assert row.pinned_cells == pytest.approx(pinned.mean())
        assert row.pinned_records == pytest.approx(truth[pinned].sum() / len(clinic.frame))
        assert row.small_cells == np.count_nonzero(pinned & (truth >= 1) & (truth <= 4))
    assert found.cells["label"].unique().tolist() == list(summary.label_values)
    few = ao.audit(summary, small=2).attributes["small_cells"]
    assert (few <= found.attributes["small_cells"]).all()


def test_values_in_clear(clinic: Any) -> None:
    def clear(masks: dict[str, ao.masks.Mask], **options: Any) -> dict[str, bool]:
        found = ao.audit(ao.summarize(clinic.frame, clinic.label, {"c": masks}, **options)).attributes
        return dict(zip(found["attribute"], found["values_in_clear"].tolist(), strict=True))

    hidden = {"age": ao.Bucketize(width=10), "zip": ao.Prefix(2)}
    assert clear(hidden) == {"age": False, "zip": False}
    assert clear(hidden, values=["age"]) == {"age": True, "zip": False}
    assert clear({"age": ao.TopCode(80), "zip": ao.Identity()}) == {"age": True, "zip": True}
    ages = sorted(set(clinic.frame["age"].tolist()))
    named = ao.Generalize({"young": ages[:20], "old": ages[20:]})
    assert clear({"age": named, "zip": ao.Suppress()}) == {"age": True, "zip": False}


def test_subtraction_of_two_views() -> None:
    frame = pd.DataFrame({"x": [1, 1, 2, 3, 3, 3, 4, 5], "y": list("aababaab")})
    masks = {
        "a": {"x": ao.Bucketize(edges=[1, 4, 6])},  # 1 2 3 | 4 5
        "b": {"x": ao.Bucketize(edges=[1, 3, 5, 6])},  # 1 2 | 3 4 | 5
    }
    found = ao.audit(ao.summarize(frame, "y", masks)).differences
    rows = found[["table", "group", "other_table", "values", "records", "small_cells"]].to_numpy().tolist()
    assert sorted(rows) == [
        [0, 0, 1, 1, 3, 2],  # 1 2 3 without 1 2: the three records of 3
        [0, 1, 1, 1, 1, 1],  # 4 5 without 5
    ]


def test_leaving_tables_out_lowers_what_is_pinned(summary: Any) -> None:
    found = ao.audit(summary)
    for name, steps in found.tables.groupby("attribute"):
        left = steps["pinned_records"].tolist()
        start = found.attributes.set_index("attribute").loc[name, "pinned_records"]
        assert all(b <= a for a, b in zip([start, *left], left, strict=False))
        attribute = summary.attributes[name]
        gone = steps["table"].tolist()
        assert len(set(gone)) == len(gone) < len(attribute.tables)
        kept = set(range(len(attribute.tables))) - set(gone)
        pinned = attribute_bounds(summary, name, kept).pinned_records
        assert left[-1] == pytest.approx(pinned / summary.n_records)
        assert pinned == 0 or len(kept) == 1
        for first in steps.head(1).itertuples():  # no other table lowers it more
            others = [
                attribute_bounds(summary, name, set(range(len(attribute.tables))) - {i}).pinned_records
                for i in range(len(attribute.tables))
            ]
            assert first.pinned_records * summary.n_records == pytest.approx(min(others))
            users = [chosen[name] for chosen in summary.configurations.values()]
            assert first.configurations == users.count(first.table)


def test_scores_disclose_no_counts(clinic: Any) -> None:
    shared = ao.summarize(clinic.frame, clinic.label, clinic.configurations, share="scores")
    found = ao.audit(shared)
    assert (found.attributes[["pinned_cells", "pinned_records", "small_cells"]] == 0).all(axis=None)
    assert found.cells.empty
    assert found.differences.empty
    assert found.tables.empty
    assert "no tables are shared" in repr(found)
    assert json.loads(json.dumps(found.to_dict()))["tables"] == []


def test_an_audit_shows_itself(clinic: Any, summary: Any) -> None:
    found = ao.audit(summary)
    small = int(found.attributes["small_cells"].sum())
    assert f"{small:,} counts of 1 to 4 in raw joint tables follow from what is shared" in str(found)
    assert found._repr_html_().count("<tr") == 1 + len(found.attributes)
    shared = ao.summarize(clinic.frame, clinic.label, clinic.configurations, share="scores")
    assert "No tables are shared, so no count is disclosed by them." in str(ao.audit(shared))
    people = pd.DataFrame({"age": range(40), "health": list("gp") * 20})
    hidden = ao.audit(ao.summarize(people, "health", {"all": {"age": ao.Suppress()}}))
    assert "No count of a raw joint table follows from what is shared." in str(hidden)


def test_contradictory_tables_are_refused() -> None:
    def table(groups: list[int], joint: list[list[int]]) -> MaskedTable:
        return MaskedTable({"function": "suppress"}, groups, tuple(map(str, range(len(joint)))), joint)

    views = [
        table([0, 0, 1, 1], [[3, 1], [1, 3]]),
        table([0, 1, 1, 0], [[2, 2], [2, 2]]),
        table([0, 1, 0, 1], [[0, 0], [4, 4]]),
    ]
    attribute = AttributeSummary("integer", 4, None, None, tuple(views))
    chosen = {f"c{i}": {"x": i} for i in range(3)}
    summary = Summary("y", "integer", (0, 1), [4, 4], {"x": attribute}, chosen)
    with pytest.raises(InfeasibleProblem, match="attribute 'x'"):
        ao.audit(summary)


def test_bad_input_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ao.AegisError, match="summary must be a path, not int"):
        ao.audit(3)  # type: ignore[arg-type]
    with pytest.raises(ao.AegisError, match="file not found"):
        ao.audit(tmp_path / "s.json")


def test_the_command_says_the_same(summary: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "summary.json")
    summary.save(path)
    found = ao.audit(path)
    assert repr(found).startswith("<Audit: 3 attributes")
    assert main(["audit", path, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(found.to_dict()))
    cells = tmp_path / "cells.csv"
    assert main(["audit", path, "--cells", str(cells)]) == 0
    shown = capsys.readouterr().out
    assert "Leave out" in shown
    assert "records in them" in shown
    assert len(pd.read_csv(cells)) == len(found.cells)
    assert main(["audit", path, "--cells", str(tmp_path / "cells.parquet"), "--json"]) == 0
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "cells.parquet"), found.cells, check_dtype=False)


def test_cells_of_a_strangers_summary_are_escaped_on_request(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = pd.DataFrame({"=x": ["+1 a", "b", "b", "-2"] * 5, "y": ["=HYPERLINK(1)", "no", "no", "@n"] * 5})
    ao.summarize(frame, "y", {"c": {"=x": ao.Suppress()}}, histograms=True).save(tmp_path / "s.json")
    command = ["audit", str(tmp_path / "s.json"), "--cells", str(tmp_path / "cells.csv")]
    assert main(command) == 0
    kept = pd.read_csv(tmp_path / "cells.csv", dtype=str)
    assert main([*command, "--escape-formulas"]) == 0
    escaped = pd.read_csv(tmp_path / "cells.csv", dtype=str)
    assert set(kept["attribute"]) == {"=x"}
    assert set(escaped["attribute"]) == {"'=x"}
    assert set(kept["label"]) == {"=HYPERLINK(1)", "no", "@n"}
    assert set(escaped["label"]) == {"'=HYPERLINK(1)", "no", "'@n"}
    others = ["row", "low", "high", "exact"]
    assert escaped[others].equals(kept[others])
    for wrong in (["--cells", "cells.parquet"], []):
        with pytest.raises(SystemExit, match="2"):
            main(["audit", str(tmp_path / "s.json"), *wrong, "--escape-formulas"])
        assert "--escape-formulas: it is for a CSV file of --cells" in capsys.readouterr().err

"""The search of all combinations: equal to brute force, honest when stopped, clear about what blocks."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import aegis_opt as ao
from aegis_opt.privacy import KAnonymity, LDiversity, TCloseness
from aegis_opt.privacy._lattice._bound import bounded
from aegis_opt.privacy._lattice._branch import Branching
from aegis_opt.privacy._lattice._clauses import Clauses
from aegis_opt.privacy._lattice._options import Options
from aegis_opt.privacy._lattice._partitions import Partitions
from aegis_opt.privacy._lattice._rows import Rows
from aegis_opt.privacy._lattice._violations import Violations
from benchmarks.search_lattices import disagreement, random_case

AGES = [ao.Identity(), ao.Bucketize(width=5), ao.Bucketize(width=20), ao.Suppress()]
ZIPS = [ao.Identity(), ao.Prefix(2), ao.Prefix(1), ao.Suppress()]


def people(n: int = 400, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 80, n)
    codes = [f"{a}{b}{c}" for a, b, c in rng.integers(0, 3, (n, 3))]
    ill = (age + rng.integers(0, 60, n) > 90).astype(int)
    return pd.DataFrame({"age": age, "zip": codes, "sex": rng.choice(["f", "m"], n), "ill": ill})


CANDIDATES: dict[str, Any] = {"age": AGES, "zip": ZIPS, "sex": [ao.Identity(), ao.Suppress()]}


@pytest.mark.parametrize("seed", range(20))
def test_search_equals_brute_force(seed: int) -> None:
    assert disagreement(seed) is None


def test_random_cases_are_of_every_kind() -> None:
    cases = [random_case(seed) for seed in range(20)]
    assert {case.nested for case in cases} == {True, False}
    assert {case.suppression for case in cases} == {0.0, 0.05, 0.2}
    assert {len(case.rules) for case in cases} == {1, 2}


def test_every_source_gives_the_same_result(tmp_path: Path) -> None:
    import duckdb

    frame = people()
    frame.to_csv(tmp_path / "people.csv", index=False)
    frame.to_parquet(tmp_path / "people.parquet")
    kinds = {"zip": "VARCHAR"}
    relation = duckdb.connect().read_csv(str(tmp_path / "people.csv"), dtype=kinds)
    expected = ao.search(frame, "ill", CANDIDATES, KAnonymity(4), 0.02)
    assert expected.proved
    for source in (str(tmp_path / "people.parquet"), relation):
        found = ao.search(source, "ill", CANDIDATES, KAnonymity(4), 0.02)
        assert (found.choice, found.cost, found.suppressed, found.checks) == (
            expected.choice,
            expected.cost,
            expected.suppressed,
            expected.checks,
        )


def test_the_result_says_what_check_privacy_says() -> None:
    frame = people()
    found = ao.search(frame, "ill", CANDIDATES, [KAnonymity(6), LDiversity(2)], 0.05)
    assert found.best is not None
    checked = ao.check_privacy(
        frame, {"best": found.best}, [KAnonymity(6), LDiversity(2)], label="ill", suppression=0.05
    )
    assert checked["private"].all()
    assert found.choice is not None
    assert list(found.best.values()) == [CANDIDATES[name][i] for name, i in found.choice.items()]
    assert found.cost == pytest.approx(found.attributes["loss"].mean())
    summary = ao.summarize(frame, "ill", {"best": found.best}, share="scores", scores=["r2_gcv"])
    assert found.r2_gcv == pytest.approx(ao.advise(summary, "r2_gcv").ranking["score"][0])
    losses = found.attributes["unmasked"] - found.attributes["masked"]
    assert np.allclose(losses, found.attributes["loss"])
    assert "proved" in repr(found)
    assert "proved the least" in found._repr_html_()
    assert all(len(line) <= 80 for line in found._card().text(80).splitlines())


def test_kept_is_the_measure_without_the_suppressed_records() -> None:
    frame = people()
    found = ao.search(frame, "ill", CANDIDATES, KAnonymity(5), 0.1)
    assert found.best is not None
    assert found.suppressed > 0
    masked = ao.apply_configuration(frame, found.best)
    sizes = masked.groupby(["age", "zip", "sex"], dropna=False)["ill"].transform("size")
    kept = masked[sizes >= 5]
    assert len(masked) - len(kept) == found.suppressed
    for name, value in zip(found.attributes["attribute"], found.attributes["kept"], strict=True):
        assert value == pytest.approx(ao.mutual_information(pd.crosstab(kept[name], kept["ill"])))


def test_any_measure_can_be_kept() -> None:
    frame = people()
    for measure in ("mi_loo", "g3", "chi2"):
        found = ao.search(frame, "ill", CANDIDATES, KAnonymity(5), measure=measure)
        assert found.proved
        costs = []
        for choice in itertools.product(*(range(len(own)) for own in CANDIDATES.values())):
            masks = {name: own[i] for (name, own), i in zip(CANDIDATES.items(), choice, strict=True)}
            checked = ao.check_privacy(frame, {"c": masks}, KAnonymity(5), label="ill")
            if checked["private"][0]:
                costs.append(_loss(frame, masks, measure))
        assert found.cost == pytest.approx(min(costs))


def _loss(frame: pd.DataFrame, masks: dict[str, ao.masks.Mask], name: str) -> float:
    measure = ao.get_measure(name)
    masked = ao.apply_configuration(frame, masks)
    sign = 1 if measure.higher_is_better else -1
    parts = [
        sign
        * (
            float(measure(pd.crosstab(frame[column], frame["ill"])))
            - float(measure(pd.crosstab(masked[column], frame["ill"])))
        )
        for column in masks
    ]
    return float(np.mean(parts))


def test_rules_that_do_not_prune_are_enumerated() -> None:
    frame = people(120)
    candidates = {"age": AGES, "sex": [ao.Identity(), ao.Suppress()]}
    close = TCloseness(0.3)
    assert not ao.search(frame, "ill", candidates, close).enumerated
    assert ao.search(frame, "ill", candidates, close, 0.1).enumerated
    mixed = ao.search(frame, "ill", candidates, [KAnonymity(3), close], 0.1)
    assert mixed.enumerated
    assert mixed.proved
    assert "one by one" in dict(mixed.facts())["Search"]


def test_attributes_that_are_no_quasi_identifiers_take_their_cheapest_candidate() -> None:
    found = ao.search(people(), "ill", CANDIDATES, KAnonymity(50), quasi_identifiers=["sex"])
    assert found.choice == {"age": 0, "zip": 0, "sex": 0}
    assert found.cost == 0


def test_hierarchies_of_files_and_of_a_folder(tmp_path: Path) -> None:
    frame = people()
    rows = [f"{age};{age // 10 * 10};*" for age in range(18, 80)]
    (tmp_path / "age.csv").write_text("\n".join(rows))
    (tmp_path / "sex.csv").write_text("f,*\nm,*\n")
    by_folder = ao.search(frame, "ill", tmp_path, KAnonymity(5))
    by_file = ao.search(frame, "ill", {"age": tmp_path / "age.csv", "sex": tmp_path / "sex.csv"})
    assert by_folder.choice == by_file.choice
    assert by_folder.n_configurations == 6
    made = ao.search(frame, "ill", ["age", "sex"], KAnonymity(5))
    assert made.proved
    assert made.n_configurations > 6


def test_a_missing_value_can_be_suppressed_under_a_hierarchy() -> None:
    frame = people()
    frame.loc[3, "sex"] = None
    hierarchy = ao.Hierarchy([["f", "*"], ["m", "*"]])
    found = ao.search(frame, "ill", {"sex": hierarchy}, KAnonymity(5))
    assert found.choice == {"sex": 2}
    assert found.best == ao.Configuration({"sex": ao.Suppress()}, name="best")


def test_a_stopped_search_has_a_bound_and_a_gap() -> None:
    frame = people()
    proved = ao.search(frame, "ill", CANDIDATES, KAnonymity(5))
    stopped = ao.search(frame, "ill", CANDIDATES, KAnonymity(5), time_limit=1e-9)
    assert not stopped.proved
    assert stopped.bound <= proved.cost
    if stopped.best is not None:
        assert stopped.bound <= proved.cost <= stopped.cost
        assert 0 <= stopped.gap <= 1
    with pytest.raises(ao.AegisError, match="more time"):
        _ = stopped.certificate
    with pytest.raises(ao.AegisError, match="more time"):
        stopped.alternatives(1)


def test_ctrl_c_returns_the_best_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = itertools.count()
    learn = Branching._learn

    def interrupted(self: Branching, *arguments: Any) -> None:
        if next(calls) == 1:
            raise KeyboardInterrupt
        learn(self, *arguments)

    monkeypatch.setattr(Branching, "_learn", interrupted)
    found = ao.search(people(), "ill", CANDIDATES, KAnonymity(5))
    assert found.interrupted
    assert not found.proved
    assert found.best is not None
    assert found.bound <= found.cost


def test_progress_tells_the_best_the_bound_the_gap_and_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aegis_opt.privacy._lattice._branch._REPORT_SECONDS", -1.0)
    said: list[str] = []
    ao.search(people(), "ill", CANDIDATES, progress=lambda what, done, of: said.append(what))
    last = said[-1]
    assert all(word in last for word in ("best ", "bound ", "gap ", "tests"))


def test_the_seed_changes_no_proved_result() -> None:
    found = [ao.search(people(), "ill", CANDIDATES, KAnonymity(5), seed=seed) for seed in (0, 1, 0)]
    assert found[0].checks == found[2].checks
    assert len({result.cost for result in found}) == 1


def test_merged_classes_never_make_a_configuration_feasible(monkeypatch: pytest.MonkeyPatch) -> None:
    """With numbers of one bit almost all classes collide; only exact tests keep the result right."""
    expected = ao.search(people(), "ill", CANDIDATES, KAnonymity(5))
    draw = Violations._drawn
    monkeypatch.setattr(Violations, "_drawn", lambda *arguments: draw(*arguments) & np.uint32(1))
    found = ao.search(people(), "ill", CANDIDATES, KAnonymity(5))
    assert (found.cost, found.proved) == (expected.cost, True)


def test_joins_are_the_finest_common_coarsening() -> None:
    own = Partitions([np.array([0, 0, 1, 2]), np.array([0, 1, 1, 2]), np.array([0, 1, 2, 2])])
    assert own.groups[own.join(0, 1)].tolist() == [0, 0, 0, 1]
    assert own.groups[own.coarsest].tolist() == [0, 0, 0, 0]
    assert own.finer(own.join(0, 1)).tolist() == [True, True, False]


@pytest.mark.parametrize("seed", range(10))
def test_the_bound_is_below_every_configuration_that_satisfies_the_clauses(seed: int) -> None:
    rng = np.random.default_rng(seed)
    partitions = [Partitions([rng.integers(0, g, 6) for g in (6, 4, 2, 1)]) for _ in range(3)]
    options = Options(partitions, np.round(rng.random(12) * 100))
    clauses = Clauses(options)
    for _ in range(4):
        clauses.add(tuple(int(rng.integers(0, 3)) for _ in range(3)))
    costs = [
        options.cost(point)
        for point in itertools.product(range(4), repeat=3)
        if clauses.rows[:, options.starts + np.array(point)].any(axis=1).all()
    ]
    found = bounded(options, clauses, np.ones(12, dtype=bool), np.inf)
    if found is None:
        assert not costs
    else:
        assert found.bound <= min(costs)
        assert bounded(options, clauses, np.ones(12, dtype=bool), min(costs)) is None or (
            bounded(options, clauses, np.ones(12, dtype=bool), min(costs)).bound < min(costs)  # type: ignore[union-attr]
        )


def test_more_than_k_equal_records_change_nothing() -> None:
    rng = np.random.default_rng(0)
    values, counts = [rng.integers(0, 4, 50), rng.integers(0, 4, 50)], rng.integers(1, 20, 50)
    partitions = [Partitions([np.arange(4), np.array([0, 0, 1, 1]), np.zeros(4, dtype=int)])] * 2
    zeros = np.zeros(50, dtype=np.int64)
    rows = Rows(values, zeros, zeros, 1, counts)
    for limit in (0, 20, 100):
        tested = Violations(rows, partitions, [KAnonymity(30)], limit, 0)
        for point in itertools.product(range(3), repeat=2):
            assert tested.at(point) == tested.exact(point)


BAD: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"require": KAnonymity(1000)}, ao.errors.InfeasibleSearch, "more than the 400 records"),
    ({"candidates": {}}, ao.AegisError, "no quasi-identifier"),
    ({"quasi_identifiers": []}, ao.AegisError, "no quasi-identifier"),
    ({"quasi_identifiers": ["weight"]}, ao.errors.UnknownColumn, "weight"),
    ({"candidates": {"weight": AGES}}, ao.errors.UnknownColumn, "weight"),
    ({"candidates": {"age": []}}, ao.AegisError, "empty"),
    ({"candidates": {"age": [5]}}, ao.AegisError, "no mask"),
    ({"candidates": {"age": ao.Suppress()}}, ao.AegisError, "list of masks"),
    ({"candidates": 5}, ao.AegisError, "candidates must"),
    ({"candidates": {"ill": [ao.Identity()]}}, ao.AegisError, "label"),
    ({"candidates": "no-such-folder"}, ao.AegisError, "no folder"),
    ({"measure": "r2_gcv"}, ao.AegisError, "no sum over attributes"),
    ({"measure": "nothing"}, ao.errors.UnknownMeasure, "nothing"),
    ({"suppression": 1.5}, ao.AegisError, "from 0 to 1"),
    ({"suppression": "no"}, ao.AegisError, "suppression"),
    ({"time_limit": 0}, ao.AegisError, "positive number of seconds"),
    ({"seed": -1}, ao.AegisError, "seed"),
    ({"require": []}, ao.AegisError, "no rule"),
    ({"sensitive": "sex"}, ao.AegisError, "none of the rules"),
    ({"require": LDiversity(2), "sensitive": "sex"}, ao.AegisError, "quasi-identifier, too"),
    ({"order": {"ill": [1, 0]}}, ao.AegisError, "ordered t-closeness"),
    ({"label": "sick"}, ao.errors.UnknownColumn, "sick"),
    (
        {"candidates": {"age": ao.Hierarchy([["18", "a", "x"], ["19", "a", "y"]])}},
        ao.AegisError,
        "not nested",
    ),
    ({"candidates": {"age": ao.Hierarchy([["18", "*"]])}}, ao.AegisError, "does not say what becomes of 19"),
]


@pytest.mark.parametrize(("change", "error", "text"), BAD)
def test_bad_input_is_refused_by_name(change: dict[str, Any], error: type[Exception], text: str) -> None:
    options: dict[str, Any] = {"label": "ill", "candidates": CANDIDATES, **change}
    with pytest.raises(error, match=text) as raised:
        ao.search(people(), **options)
    assert isinstance(raised.value, ao.AegisError)


def test_what_blocks_is_named_with_the_least_suppression() -> None:
    frame = people()
    frame["sex"] = ["f"] * 397 + ["m"] * 3
    candidates = {"age": AGES, "sex": [ao.Identity()]}
    with pytest.raises(ao.errors.InfeasibleSearch, match="'sex'") as raised:
        ao.search(frame, "ill", candidates, KAnonymity(5))
    assert raised.value.blocking == ("sex",)
    assert raised.value.least_suppression == pytest.approx(3 / 400)
    assert "0.0075" in str(raised.value)
    assert ao.search(frame, "ill", candidates, KAnonymity(5), 0.0075).proved


def test_the_place_where_a_hierarchy_is_not_nested_is_told(tmp_path: Path) -> None:
    path = tmp_path / "age.csv"
    path.write_text("\n".join(f"{a};{a // 10};{a // 15};*" for a in range(18, 80)))
    with pytest.raises(
        ao.errors.MaskError, match="rows 23 and 28 have the same masked value at level 1"
    ) as raised:
        ao.search(people(), "ill", {"age": path})
    assert "not nested" in str(raised.value)

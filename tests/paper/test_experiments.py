"""The paper's experiments: each runs, writes its tables and figure, and shows the claims beside them."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NoReturn

import numpy as np
import pandas as pd
import polars
import pytest

from aegis_opt.datasets import clinic
from aegis_opt.errors import InvalidInput, InvalidOption, MissingDependency, UnknownColumn, UnknownName
from aegis_opt.harness import Case
from aegis_opt.masks import Configurations, Identity, Suppress, save_configurations
from aegis_opt.release import apply_configuration
from benchmarks.paper.anonymisation import hierarchy_of
from benchmarks.paper.exhaustive import SplitError
from benchmarks.paper.experiments import (
    EXPERIMENTS,
    ExperimentResult,
    Settings,
    cases_in,
    get_experiment,
    run_experiment,
)
from benchmarks.paper.experiments.base import Claim, Experiment, judge
from benchmarks.paper.experiments.choices import judged_by_training
from benchmarks.paper.experiments.end_to_end import side_by_side
from benchmarks.paper.experiments.k_anonymity import anonymous_configurations

SMALL = Settings(
    cases=(Case.of(clinic(200)),),
    measures=("mi",),
    classifiers=("nb",),
    configurations=3,
    repeats=1,
    small=True,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("experiments")


@pytest.fixture(scope="module")
def run_once(folder: Path) -> Callable[[str], ExperimentResult]:
    """Run an experiment, each at most once for all tests."""
    return cache(lambda name: run_experiment(name, SMALL, folder))


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_each_experiment_writes_its_tables_and_a_figure(
    name: str, folder: Path, run_once: Callable[[str], ExperimentResult]
) -> None:
    outcome = run_once(name)
    assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert outcome.files[-1] == folder / f"{name}.png"
    for title, table in outcome.tables.items():
        assert len(table) > 0
        written = pd.read_csv(folder / f"{name}-{title}.csv")
        assert list(written.columns) == list(table.columns)
    assert len(outcome.claims) == len(get_experiment(name).claims)
    assert len(outcome.claims) > 0 or name == "k-anonymity-search"  # the paper searches nothing
    assert get_experiment(name).title in str(outcome)


def test_the_exhaustive_baseline_picks_the_best_and_nobody_beats_it(
    run_once: Callable[[str], ExperimentResult],
) -> None:
    tables = run_once("end-to-end").tables
    accuracy, wide = tables["accuracy"], tables["picks"].set_index("method")["nb"]
    assert (accuracy["accuracy"] <= accuracy["best"] + 1e-12).all()
    assert (accuracy["best"] >= accuracy["mean"]).all()
    top = accuracy[accuracy["method"] == "exhaustive"]
    assert (top["accuracy"] == top["best"]).all()
    assert wide["best of all"] == top["best"].iloc[0]
    assert wide["mean of all"] == pytest.approx(top["mean"].iloc[0])
    methods = {"advisor", "sampling, row by row", "mascara, row by row", "exhaustive"}
    assert methods <= set(accuracy["method"])


def test_a_method_without_a_winner_stays_in_the_table() -> None:
    scores = pd.DataFrame({"configuration": ["a", "b"], "classifier": "nb", "accuracy": [0.5, 0.75]})
    picks = pd.DataFrame({"method": ["m", "n"], "measure": "mi", "configuration": ["a", None]})
    table = side_by_side(judged_by_training(picks, scores).assign(dataset="d")).set_index("method")
    assert table["configuration"].to_dict()["n"] == "no winner"
    assert table["nb"].fillna(-1).to_dict() == {"m": 0.5, "n": -1, "best of all": 0.75, "mean of all": 0.625}


def test_trained_scores_are_kept_and_used_again(
    folder: Path, run_once: Callable[[str], ExperimentResult]
) -> None:
    first = run_once("end-to-end").tables["runtime"]
    kept = list((folder / "trained").iterdir())
    assert len(kept) == 1  # the other experiments on these data have used it too
    again = run_experiment("end-to-end", SMALL, folder).tables["runtime"]
    trained = first["method"] == "exhaustive, nb"
    assert first[trained]["seconds"].tolist() == pytest.approx(again[trained]["seconds"].tolist())


def test_numbers_other_than_times_repeat(run_once: Callable[[str], ExperimentResult]) -> None:
    again = run_experiment("tvd", SMALL).tables["tvd"]
    pd.testing.assert_frame_equal(run_once("tvd").tables["tvd"], again)


def test_reconstructing_from_the_histogram_is_closer_than_sampling(
    run_once: Callable[[str], ExperimentResult],
) -> None:
    table = run_once("tvd").tables["tvd"].set_index("method")["mean"]
    assert table["pooled +1D"] <= table["single view +1D"] <= table["sampling +1D"]


def test_a_claim_is_judged_by_its_range_and_by_what_was_run() -> None:
    def drawn(_: object) -> NoReturn:
        raise AssertionError("nothing is drawn")

    claims = tuple(
        Claim("x", what, low, high, lambda _, v=value: v)
        for what, low, high, value in [
            ("inside", 0.45, 0.5, 0.47),
            ("rounds to it", 0.81, 0.81, 0.8139),
            ("below", 0.45, 0.5, 0.2),
            ("above", 2, 2, 9.0),
            ("open", 7, float("inf"), 90.0),
            ("absent", 1, 1, None),
            ("tiny", 0, 1e-8, 1e-3),
        ]
    )
    judged = judge(Experiment("x", "x", "x", lambda _: {}, drawn, claims), {})  # type: ignore[arg-type]
    assert judged["verdict"].tolist() == [
        "as the paper says",
        "as the paper says",
        "below the paper",
        "above the paper",
        "as the paper says",
        "not run",
        "above the paper",
    ]
    assert judged["paper"].tolist() == [
        "0.45 to 0.5",
        "0.81",
        "0.45 to 0.5",
        "2",
        "at least 7",
        "1",
        "0 to 1e-08",
    ]


def test_an_unknown_experiment_lists_what_exists() -> None:
    with pytest.raises(UnknownName, match=r"did you mean 'scalability'\? Known: .*end-to-end.*tvd"):
        run_experiment("scalabilty")


def test_an_experiment_on_data_asks_for_it() -> None:
    with pytest.raises(InvalidInput, match="'tvd' needs a data set"):
        run_experiment("tvd")


def test_data_sets_are_found_in_a_folder_or_below_it(tmp_path: Path) -> None:
    data = clinic(50)
    assert data.configurations is not None
    for name in ("b", "a"):
        (tmp_path / name).mkdir()
        data.frame.to_csv(tmp_path / name / "data.csv", index=False)
        save_configurations(
            Configurations(data.configurations, label=data.label), tmp_path / name / "configurations.json"
        )
    assert [case.name for case in cases_in(tmp_path)] == ["a", "b"]
    assert [case.name for case in cases_in(tmp_path / "b")] == ["b"]
    with pytest.raises(InvalidInput, match=r"no data\.csv"):
        cases_in(tmp_path / "c")


def test_a_data_set_too_small_to_train_on_says_so() -> None:
    frame = pd.DataFrame({"x": range(20), "y": ["a"] * 19 + ["rare"]})
    case = Case("lonely", frame, "y", Configurations({"all": {"x": Suppress()}}))
    with pytest.raises(SplitError, match="data set 'lonely': class 'rare'"):
        run_experiment("mlp", Settings(cases=(case,)))


def test_without_anjana_the_way_to_install_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("anjana", "anjana.anonymity"):  # as if it were not installed
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingDependency, match="pip install --no-deps anjana"):
        run_experiment("k-anonymity", SMALL)


def test_configurations_by_anonymity_release_no_combination_fewer_than_k_times() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({name: rng.integers(0, 40, 600) for name in "abcde"})
    frame["y"] = rng.integers(0, 2, 600)
    masks, sizes = anonymous_configurations(frame, "y", 5, 0, None, k=5)
    assert len(masks) == len(sizes) == 5
    for name, chosen in masks.items():
        released = apply_configuration(frame, chosen)
        least = released.groupby(list("abcde")).size().min()
        assert least == sizes.set_index("configuration").loc[name, "k"] >= 5
        assert sum(isinstance(mask, Suppress) for mask in chosen.values()) == 2


def test_a_value_that_its_hierarchy_does_not_list_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1,*\n2,*\n")
    frame = pd.DataFrame({"a": [1, 2, 7], "y": [0, 1, 0]})
    with pytest.raises(InvalidInput, match=r"a\.csv' does not list .*7.* of 'a'"):
        anonymous_configurations(frame, "y", 5, 0, tmp_path)


def test_the_anonymity_experiment_compares_with_the_unmasked_table(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    x = rng.integers(0, 40, 400)
    frame = pd.DataFrame({"x": x, "z": rng.integers(0, 9, 400), "w": 0, "v": 0, "y": (x > 19).astype(int)})
    case = Case("made", frame, "y", Configurations({"all": {"x": Suppress()}}))
    settings = Settings(cases=(case,), measures=("mi",), classifiers=("nb",), configurations=3)
    accuracy = run_experiment("k-anonymity", settings, tmp_path).tables["accuracy"].set_index("method")
    assert accuracy.loc["unmasked", "accuracy"] == 1.0
    assert accuracy.loc["advisor", "accuracy"] <= accuracy.loc["exhaustive", "accuracy"]


def test_no_release_of_anjana_keeps_more_than_that_of_search(
    run_once: Callable[[str], ExperimentResult],
) -> None:
    releases = run_once("k-anonymity-search").tables["releases"]
    by_method = releases.pivot_table(index=["dataset", "kept", "limit"], columns="method", values="deviation")
    both = by_method.dropna()
    assert len(both) == 2
    assert (both["search"] <= both["anjana"] + 1e-12).all()
    assert (both["search"] < both["anjana"] - 1e-6).any()
    found = releases[releases["method"] == "search"]
    assert found["proved"].all()
    records = len(next(iter(SMALL.cases)).source)
    assert (found["suppressed"] <= found["limit"] * records).all()


def test_the_anonymity_experiment_names_what_it_cannot_use(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": [0, 1] * 20, "z": 0, "w": 0, "v": 0, "y": ["a"] * 39 + ["rare"]})
    case = Case("lonely", frame, "y", None)
    with pytest.raises(SplitError, match="data set 'lonely': class 'rare'"):
        run_experiment("k-anonymity", Settings(cases=(case,), classifiers=("nb",)))
    with pytest.raises(UnknownColumn, match="unknown column 'Y'"):
        run_experiment("k-anonymity", Settings(cases=(Case("typo", frame, "Y", None),)))
    with pytest.raises(InvalidInput, match=r"there is no folder .*nowhere of hierarchies"):
        run_experiment("k-anonymity", Settings(cases=(case,), hierarchies=tmp_path / "nowhere"))


def test_hierarchies_come_from_the_folder_or_from_the_values(tmp_path: Path) -> None:
    (tmp_path / "age.csv").write_text("1,young,*\n80,old,*\n")
    assert hierarchy_of(pd.Series([1, 80], name="age"), tmp_path).n_levels == 3
    made = hierarchy_of(pd.Series([-3, 0, 44], name="other"), tmp_path)
    assert [row[-1] for row in made.rows] == ["*"] * 3
    assert made.rows[0][1] == "[-5, 0["
    assert hierarchy_of(pd.Series(["u", "v"], name="word"), None).n_levels == 2


def test_missing_values_stay_missing_in_configurations_by_anonymity(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({name: pd.array(rng.integers(0, 12, 900), dtype="Int64") for name in "abc"})
    frame["b"] = frame["b"].astype(str).where(rng.random(900) > 0.2)
    frame.loc[rng.random(900) > 0.7, "a"] = pd.NA
    frame["y"] = rng.integers(0, 2, 900)
    masks, sizes = anonymous_configurations(frame, "y", 3, 0, None, k=5)
    assert capsys.readouterr().out == ""  # what anjana says would spoil --json
    for name, chosen in masks.items():
        released = apply_configuration(frame, chosen)
        least = released.groupby(list("abc"), dropna=False).size().min()
        assert least == sizes.set_index("configuration").loc[name, "k"] >= 5


def test_trained_scores_of_other_rows_with_the_same_tables_are_not_taken(tmp_path: Path) -> None:
    """The label is a xor b, then b is shuffled within each class: no table of one attribute changes."""
    rng = np.random.default_rng(0)
    first = pd.DataFrame({"a": rng.integers(0, 2, 400), "b": rng.integers(0, 2, 400)})
    first["y"] = first["a"] ^ first["b"]
    other = first.assign(b=first.groupby("y")["b"].transform(lambda b: rng.permutation(b.to_numpy())))
    best = []
    for frame in (first, other):
        case = Case("xor", frame, "y", Configurations({"open": {"a": Identity(), "b": Identity()}}))
        settings = Settings(cases=(case,), measures=("mi",), classifiers=("rf",))
        best.append(run_experiment("end-to-end", settings, tmp_path).tables["accuracy"]["best"].iloc[0])
    assert best[0] == 1.0
    assert best[1] < 0.8


def test_a_missing_label_is_a_class_and_other_kinds_of_tables_are_read() -> None:
    rng = np.random.default_rng(3)
    labels = np.where(rng.random(200) < 0.3, None, np.where(rng.random(200) < 0.5, "yes", "no"))
    frame = pd.DataFrame({"a": rng.integers(0, 9, 200), "y": labels})
    for source in (frame, polars.from_pandas(frame)):
        case = Case("gaps", source, "y", Configurations({"a": {"a": Suppress()}, "b": {"a": Identity()}}))
        settings = Settings(cases=(case,), measures=("mi",), classifiers=("nb",))
        for name in ("end-to-end", "parameters"):
            assert len(next(iter(run_experiment(name, settings).tables.values())))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seed": -1}, "seed must be"),
        ({"seed": True}, "seed must be"),
        ({"configurations": 0}, "configurations must be"),
        ({"configurations": -3}, "configurations must be"),
        ({"measures": ()}, "at least one measure"),
        ({"measures": ("mi", "mi")}, "measure 'mi' is given twice"),
        ({"measures": ("nope",)}, "unknown measure 'nope'"),
        ({"classifiers": ("nb", "nb")}, "classifier 'nb' is given twice"),
        (
            {"cases": (Case("d", None, None, None), Case("d", None, None, None))},
            "data set 'd' is given twice",
        ),
    ],
)
def test_settings_that_make_no_experiment_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises((InvalidInput, InvalidOption, UnknownName), match=message):
        Settings(**changes)  # type: ignore[arg-type]


def test_a_folder_that_cannot_be_written_to_is_told_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for output in (tmp_path / "file", tmp_path / "file" / "below", ""):
        with pytest.raises(InvalidInput, match="name a"):
            run_experiment("mlp", SMALL, output)


@pytest.mark.parametrize(
    ("ours", "low", "high", "verdict"),
    [
        (-4.9, 0, 100, "below the paper"),
        (104, 0, 100, "as the paper says"),
        (0.834, 0.83, 0.83, "as the paper says"),
        (0.84, 0.83, 0.83, "above the paper"),
        (1e-17, 0, 1e-8, "as the paper says"),
        (3, 7, float("inf"), "below the paper"),
        (6.8, 7, float("inf"), "as the paper says"),
    ],
)
def test_a_claim_is_judged_to_the_digits_of_its_own_ends(
    ours: float, low: float, high: float, verdict: str
) -> None:
    claim = Claim("*", "something", low, high, lambda _: ours)
    experiment = dataclasses.replace(get_experiment("tvd"), claims=(claim,))
    assert judge(experiment, {})["verdict"].tolist() == [verdict]

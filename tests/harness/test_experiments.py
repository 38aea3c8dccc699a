"""The paper's experiments: each runs, writes its tables and figure, and shows the claims beside them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from aegis_opt.datasets import clinic
from aegis_opt.errors import InvalidInput, MissingDependency, UnknownColumn, UnknownName
from aegis_opt.harness.exhaustive import SplitError
from aegis_opt.harness.experiments import (
    EXPERIMENTS,
    Outcome,
    Settings,
    cases_in,
    get_experiment,
    run_experiment,
)
from aegis_opt.harness.experiments.base import Claim, Experiment, judge, new_figure
from aegis_opt.harness.experiments.choices import judged_by_training
from aegis_opt.harness.experiments.end_to_end import side_by_side
from aegis_opt.harness.experiments.k_anonymity import anonymous_configurations, hierarchy_of
from aegis_opt.harness.truth import Case
from aegis_opt.masking import Configurations, Suppress, save_configurations
from aegis_opt.release import apply_configuration

SMALL = Settings(
    cases=(Case.of(clinic(200)),), measures=("mi",), classifiers=("nb",), configurations=3, small=True
)
RUN_EVERYWHERE = [name for name in EXPERIMENTS if name != "k-anonymity"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("experiments")


@pytest.fixture(scope="module")
def run_once(folder: Path) -> Callable[[str], Outcome]:
    """Run an experiment, each at most once for all tests."""
    return cache(lambda name: run_experiment(name, SMALL, folder))


@pytest.mark.parametrize("name", RUN_EVERYWHERE)
def test_each_experiment_writes_its_tables_and_a_figure(
    name: str, folder: Path, run_once: Callable[[str], Outcome]
) -> None:
    outcome = run_once(name)
    assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert outcome.files[-1] == folder / f"{name}.png"
    for title, table in outcome.tables.items():
        assert len(table) > 0
        written = pd.read_csv(folder / f"{name}-{title}.csv")
        assert list(written.columns) == list(table.columns)
    assert len(outcome.claims) == len(get_experiment(name).claims) > 0
    assert get_experiment(name).title in str(outcome)


def test_the_exhaustive_baseline_picks_the_best_and_nobody_beats_it(
    run_once: Callable[[str], Outcome],
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


def test_trained_scores_are_kept_and_used_again(folder: Path, run_once: Callable[[str], Outcome]) -> None:
    first = run_once("end-to-end").tables["runtime"]
    kept = list((folder / "trained").iterdir())
    assert len(kept) == 1  # the other experiments on these data have used it too
    again = run_experiment("end-to-end", SMALL, folder).tables["runtime"]
    trained = first["method"] == "exhaustive, nb"
    assert first[trained]["seconds"].tolist() == pytest.approx(again[trained]["seconds"].tolist())


def test_numbers_other_than_times_repeat(run_once: Callable[[str], Outcome]) -> None:
    again = run_experiment("tvd", SMALL).tables["tvd"]
    pd.testing.assert_frame_equal(run_once("tvd").tables["tvd"], again)


def test_reconstructing_from_the_histogram_is_closer_than_sampling(
    run_once: Callable[[str], Outcome],
) -> None:
    table = run_once("tvd").tables["tvd"].set_index("method")["mean"]
    assert table["pooled +1D"] <= table["single view +1D"] <= table["sampling +1D"]


def test_a_claim_is_judged_by_its_range_and_by_what_was_run() -> None:
    def drawn(_: object) -> object:
        return new_figure(1, 1)[0]

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
    monkeypatch.setitem(sys.modules, "anjana", None)  # as if it were not installed
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

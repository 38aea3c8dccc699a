"""Comparisons: every combination is a row, judged by the truth, the same whoever runs it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from same_results import assert_same
from scipy.stats import kendalltau
from stubborn_solvers import Homeless, Stubborn

import aegis_opt as ao
from aegis_opt.harness import (
    Case,
    ComparisonSettings,
    compare,
    compare_reconstructions,
    run_comparison,
)
from aegis_opt.harness._schema import COLUMNS
from aegis_opt.harness._settings import available_cores
from aegis_opt.harness._units import kendall_tau

WHOLE = ao.datasets.clinic(200)
FEW = ao.Configurations(
    {name: WHOLE.configurations[name] for name in list(WHOLE.configurations)[::3]}, WHOLE.label
)
CLINIC = ao.datasets.Dataset(WHOLE.name, WHOLE.frame, WHOLE.label, FEW, WHOLE.description)
EXAMPLE = ao.datasets.worked_example()


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=12))
def test_the_order_is_judged_by_kendalls_tau_with_ties(pairs) -> None:
    estimated, truth = (pd.Series(values, dtype=float) for values in zip(*pairs, strict=True))
    found = kendall_tau(estimated, truth)
    if len(set(estimated)) > 1 and len(set(truth)) > 1:
        assert found == pytest.approx(kendalltau(estimated, truth).statistic)
    else:
        assert found is None


def test_the_worked_example_has_the_numbers_of_the_paper() -> None:
    found = compare_reconstructions(EXAMPLE, solvers=["ipf"], scopes=["single"]).set_index("histogram")
    assert found.loc[True, "tvd"] == pytest.approx(0.173, abs=5e-5)
    assert found.loc[False, "tvd"] == pytest.approx(0.2853, abs=5e-5)
    assert found[["n_values", "n_groups", "n_labels", "n_records"]].drop_duplicates().values.tolist() == [
        [8, 2, 5, 100]
    ]


def test_every_combination_is_one_row_with_every_column() -> None:
    chosen = ComparisonSettings(solvers=["ipf", "ipf+controlled"], measures=["mi", "g3"], seeds=[0, 1])
    results = run_comparison([Case.of(CLINIC), Case.of(EXAMPLE)], chosen)
    runs = {"ipf": 1, "ipf+controlled": 2}  # the seed matters for one of them only
    assert list(results.advice) == list(COLUMNS["advice"])
    assert list(results.reconstructions) == list(COLUMNS["reconstructions"])
    counts = results.advice.groupby(["variant", "dataset"]).size()
    assert all(count == 2 * 2 * 2 * runs[key[0]] for key, count in counts.items())
    single = results.reconstructions.query("dataset == 'clinic' and scope == 'single' and variant == 'ipf'")
    assert len(single) == 2 * len(CLINIC.configurations) * len(CLINIC.attributes)
    shared = single.groupby(["attribute", "histogram", "table"])["tvd"].nunique()
    assert (shared == 1).all()
    solved = results.reconstructions.dropna(subset="seconds_total")
    parts = solved[["seconds_build", "seconds_solve", "seconds_round"]].sum(axis=1)
    np.testing.assert_allclose(parts, solved["seconds_total"])


def test_the_pooled_advisor_finds_the_truth_and_chance_is_the_baseline() -> None:
    found = compare(CLINIC, solvers=["ipf", "random"], measures=["mi", "chi2"], scopes=["pooled"])
    ours, chance = (found[found["variant"] == name] for name in ("ipf", "random"))
    assert (ours["status"] == "ok").all()
    assert ours["regret"].to_numpy() == pytest.approx(0, abs=1e-9)
    assert ours["tau"].to_numpy() == pytest.approx(1)
    assert ours["certified"].all()
    np.testing.assert_allclose(chance["regret"], chance["pud_true_mean"] - chance["pud_true_min"])
    assert (chance["regret"] > 0).all()


def test_an_estimate_that_cannot_tell_is_a_row_without_winner() -> None:
    row = compare(CLINIC, solvers=["ipf"], scopes=["single"], histograms=[True]).iloc[0]
    assert row["status"] == "no winner"
    assert row["error"].startswith("degenerate estimate")
    assert pd.isna(row["best"])
    assert pd.isna(row["regret"])


def test_the_same_seeds_give_the_same_numbers_whatever_the_number_of_workers() -> None:
    solvers = ["ipf+independent", "integer:l2", "sampling"]
    chosen = ComparisonSettings(solvers=solvers, scopes=["single"], histograms=[True], seeds=[0, 3])
    first = run_comparison([Case.of(CLINIC)], chosen)
    assert_same(first, run_comparison([Case.of(CLINIC)], chosen))
    assert_same(first, run_comparison([Case.of(CLINIC)], replace(chosen, n_jobs=2)))
    spread = first.reconstructions.query("variant == 'sampling'").groupby("seed")["tvd"].mean()
    assert spread.nunique() == 2


def test_a_failure_is_a_row_and_the_rest_goes_on() -> None:
    chosen = ComparisonSettings(solvers=[Stubborn(limit=60)], histograms=[True], scopes=["pooled"])
    results = run_comparison([Case.of(CLINIC)], chosen)
    status = results.reconstructions.set_index("attribute")["status"]
    assert set(status) == {"failed", "optimal"}
    assert results.reconstructions["error"].dropna().unique().tolist() == ["ValueError: I will not"]
    failed = results.advice.iloc[0]
    assert failed["status"] == "failed"
    assert pd.isna(failed["regret"])
    assert failed["pud_true_max"] > failed["pud_true_min"]


@pytest.mark.parametrize(
    ("solver", "text"),
    [
        (Homeless(limit=1), "needs the package nowhere"),
        ("sampling", "takes one view"),
        ("ipfn", "takes one view"),
    ],
)
def test_what_is_not_installed_or_not_made_for_it_is_skipped_visibly(solver, text) -> None:
    chosen = ComparisonSettings(solvers=[solver], scopes=["pooled"], histograms=[True])
    results = run_comparison([Case.of(CLINIC)], chosen)
    for frame in (results.advice, results.reconstructions):
        assert set(frame["status"]) == {"skipped"}
        assert frame["error"].str.contains(text).all()


def test_a_class_of_one_record_and_a_tiny_table_are_compared_like_any_other() -> None:
    people = pd.DataFrame({"age": [1, 2, 3, 4], "health": ["good", "good", "good", "poor"]})
    masks = {"all": {"age": ao.Suppress()}, "pairs": {"age": ao.Generalize({"a": [1, 2], "b": [3, 4]})}}
    found = compare(people, "health", masks, solvers=["ipf", "integer:l2"], measures=["mi"])
    assert (found["smallest_class"] == 1).all()
    assert (found["n_records"] == 4).all()
    assert set(found["status"]) <= {"ok", "no winner"}


def test_a_path_names_its_data_set(tmp_path) -> None:
    folder = tmp_path / "income"
    folder.mkdir()
    EXAMPLE.frame.to_csv(folder / "data.csv", index=False)
    ao.save_configurations(EXAMPLE.configurations, folder / "configurations.json")
    found = compare(folder / "data.csv", configurations=folder / "configurations.json", scopes=["single"])
    assert set(found["dataset"]) == {"income"}


def test_progress_counts_up_to_the_end() -> None:
    seen = []
    compare(EXAMPLE, solvers=["ipf"], progress=lambda what, done, total: seen.append((done, total)))
    assert seen[-1] == (4, 4)


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"solvers": ["nothing"]}, ao.UnknownSolver, "known: auto, convex, .*ipf"),
        ({"measures": ["nothing"]}, ao.errors.UnknownMeasure, "known: chi2"),
        ({"solvers": []}, ao.errors.InvalidInput, "at least one solver"),
        ({"measures": []}, ao.errors.InvalidInput, "at least one measure"),
        ({"scopes": ["double"]}, ao.errors.InvalidOption, "'double'"),
        ({"scopes": ["single", "single"]}, ao.errors.InvalidInput, "listed twice"),
        ({"histograms": ["yes"]}, ao.errors.InvalidOption, "'yes'"),
        ({"seeds": [-1]}, ao.errors.InvalidOption, "-1"),
        ({"replicates": 0}, ao.errors.InvalidOption, "replicates"),
        ({"n_jobs": 0}, ao.errors.InvalidOption, "n_jobs"),
        ({"time_limit": 0}, ao.errors.InvalidOption, "time_limit"),
        ({"time_limit": "5"}, ao.errors.InvalidOption, "time_limit must be a positive number .* not '5'"),
        ({"time_limit": True}, ao.errors.InvalidOption, "time_limit must be .* not True"),
        ({"time_limit": float("nan")}, ao.errors.InvalidOption, "time_limit must be .* not nan"),
        ({"time_limit": 1e12}, ao.errors.InvalidOption, r"at most 604800 \(a week\)"),
        ({"time_limit": 10**400}, ao.errors.InvalidOption, "at most 604800"),
        ({"output": ""}, ao.errors.InvalidOption, "output must name a folder, not ''"),
        ({"solvers": "ipf"}, ao.errors.InvalidInput, r"solvers must be a list, such as \['ipf'\], not 'ipf'"),
        ({"solvers": {"solver": "ipf"}}, ao.errors.InvalidInput, "solvers must be a list"),
        ({"measures": "mi"}, ao.errors.InvalidInput, r"measures must be a list, such as \['mi'\]"),
        ({"measures": ao.get_measure("mi")}, ao.errors.InvalidInput, "measures must be a list"),
        (
            {"measures": ["mi", ao.get_measure("mi")]},
            ao.errors.InvalidInput,
            "a measure is listed twice: mi, mi",
        ),
        ({"norms": "l1"}, ao.errors.InvalidInput, "norms must be a list"),
        (
            {"norms": [], "solvers": ["convex"]},
            ao.errors.InvalidInput,
            "norms must be a list of at least one norm",
        ),
        ({"roundings": "none"}, ao.errors.InvalidInput, "roundings must be a list"),
        ({"roundings": []}, ao.errors.InvalidInput, "at least one rounding"),
        ({"scopes": "single"}, ao.errors.InvalidInput, "scopes must be a list"),
        ({"histograms": True}, ao.errors.InvalidInput, "histograms must be a list"),
        ({"histograms": []}, ao.errors.InvalidInput, r"at least one choice \(True, False\)"),
        ({"seeds": 3}, ao.errors.InvalidInput, r"seeds must be a list, such as \[3\]"),
        ({"seeds": [0, np.int64(0)]}, ao.errors.InvalidInput, "a seed is listed twice: 0, 0"),
        ({"seeds": [True]}, ao.errors.InvalidOption, "not True"),
        ({"seeds": [1.0]}, ao.errors.InvalidOption, "not 1.0"),
        ({"seeds": [2**63]}, ao.errors.InvalidOption, "from 0 to 9223372036854775807"),
        ({"name": "x", "source": [EXAMPLE]}, ao.errors.InvalidInput, "several data sets"),
        (
            {"source": [EXAMPLE, EXAMPLE]},
            ao.errors.InvalidInput,
            "listed twice: worked-example, worked-example",
        ),
        (
            {"source": ao.datasets.Dataset("bare", EXAMPLE.frame, "health", None, "")},
            ao.errors.InvalidInput,
            "'bare'",
        ),
    ],
)
def test_wrong_arguments_are_told_before_any_work(options, error, text) -> None:
    with pytest.raises(error, match=text):
        compare(**({"source": EXAMPLE} | options))


def test_minus_one_is_a_process_for_each_core_and_minus_two_leaves_one_free() -> None:
    cores = available_cores()
    found = [ComparisonSettings(n_jobs=n).checked().n_jobs for n in (3, -1, -2, -cores - 5)]
    assert found == [3, cores, max(cores - 1, 1), 1]


def test_any_iterable_of_whole_numbers_is_a_list_of_seeds() -> None:
    options = {"solvers": ["sampling"], "scopes": ["single"], "histograms": np.array([True])}
    largest = 2**63 - 1
    for seeds in (np.array([0, 3]), iter([0, 3]), [np.uint8(0), np.int64(3)], {0: "a", 3: "b"}.keys()):
        assert compare(EXAMPLE, seeds=seeds, **options)["seed"].tolist() == [0, 3]
    assert compare(EXAMPLE, seeds=[largest], **options)["seed"].tolist() == [largest]


def test_a_measure_that_other_processes_cannot_import_is_refused() -> None:
    measure = ao.measures.Measure("mine", "mine", lambda table: ao.g3_error(table), False, True)
    with pytest.raises(
        ao.errors.InvalidInput, match="'mine' is defined where other processes cannot import it"
    ):
        compare(EXAMPLE, measures=[measure], n_jobs=2)
    assert compare(EXAMPLE, measures=[measure])["status"].isin(["ok", "no winner"]).all()

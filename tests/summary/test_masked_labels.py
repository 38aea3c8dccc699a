"""Summaries of configurations that mask the label: what they hold, what they hide, and what they refuse."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import aegis_opt as ao
from aegis_opt.errors import (
    ConfigurationError,
    InvalidOption,
    MaskError,
    RoundingImpossible,
    SummaryError,
    UnknownColumn,
)
from aegis_opt.summary import LabelMask
from aegis_opt.summary._label_masks import check_label_masks

ILL_WELL = ao.Generalize({"ill": ["VP", "P", "M"], "well": ["G", "VG"]})
THREE = ao.Generalize({"bad": ["VP", "P"], "fair": ["M"], "good": ["G", "VG"]})
CONFIGURATIONS = {
    "two": {"age": ao.Bucketize(width=20), "health": ILL_WELL},
    "three": {"age": ao.Bucketize(width=10), "zip": ao.Prefix(1), "health": THREE},
    "label only": {"health": THREE},
}
OPEN = CONFIGURATIONS | {"open label": {"age": ao.Bucketize(width=10)}}


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return ao.datasets.clinic(300, seed=4).frame[["age", "zip", "health"]]


@pytest.fixture
def summary(frame: pd.DataFrame) -> Any:
    return ao.summarize(frame, "health", CONFIGURATIONS)


def as_source(frame: pd.DataFrame, kind: str, folder: Path) -> Any:
    if kind == "frame":
        return frame
    if kind == "polars":
        return pl.from_pandas(frame)
    path = folder / f"data.{kind}"
    if kind == "csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path)
    return path


@pytest.mark.parametrize("kind", ["frame", "polars", "csv", "parquet"])
def test_tables_are_those_of_the_table_that_is_released(
    kind: str, frame: pd.DataFrame, tmp_path: Path
) -> None:
    source = as_source(frame, kind, tmp_path)
    found = ao.summarize(source, "health", OPEN)
    for name, masks in OPEN.items():
        released = ao.apply_configuration(frame, masks)
        index = found.label_mask_of.get(name)
        classes = found.label_values if index is None else found.label_masks[index].labels
        for attribute in ("age", "zip"):
            table = found.masked_table(name, attribute)
            counted = pd.crosstab(released[attribute].astype(str), released["health"])
            by_name = pd.DataFrame(table.joint, index=map(str, table.labels), columns=list(classes or ()))
            pd.testing.assert_frame_equal(
                by_name.sort_index().sort_index(axis=1), counted, check_names=False, check_index_type=False
            )
    assert set(found.label_mask_of) == set(CONFIGURATIONS)


def test_equal_pairs_of_masks_are_stored_once(frame: pd.DataFrame) -> None:
    again = {f"{name} again": masks for name, masks in OPEN.items()}
    found = ao.summarize(frame, "health", OPEN | again)
    once = ao.summarize(frame, "health", OPEN)
    assert found.attributes == once.attributes
    assert found.label_masks == once.label_masks
    # width 10 with the label as it is, with three classes, and width 20 with two; identity with three
    assert [table.label_mask for table in found.attributes["age"].tables] == [0, 1, 1, None]


def test_classes_that_every_configuration_masks_stay_at_home(
    frame: pd.DataFrame, summary: Any, tmp_path: Path
) -> None:
    assert (summary.label_values, summary.label_counts, summary.n_classes) == (None, None, 5)
    assert summary.n_records == len(frame)
    hidden = {name: dict(masks) for name, masks in CONFIGURATIONS.items()}
    hidden["two"]["health"] = ao.Prefix(1)  # names no class by itself: V, P, M, G
    for name in ("three", "label only"):
        hidden[name]["health"] = ao.Prefix(1)
    found = ao.summarize(frame, "health", hidden)
    found.save(tmp_path / "s.json")
    label = json.loads((tmp_path / "s.json").read_text())["label"]
    assert (label["values"], label["counts"]) == (None, None)
    assert not {"VP", "VG"} & set(json.dumps(label).replace('"', " ").split())
    told = summary.facts()
    assert told[told["fact"] == "number of values"]["content"].tolist()[0] == "5"
    assert any("values of the label health" in text for text in told["content"])
    assert ao.Summary.load(tmp_path / "s.json") == found


@pytest.mark.parametrize("histograms", [True, ["health"], ["health", "age"]])
def test_classes_are_shared_where_that_is_asked_for(frame: pd.DataFrame, histograms: Any) -> None:
    found = ao.summarize(frame, "health", CONFIGURATIONS, histograms)
    assert dict(zip(found.label_values or (), found.label_counts, strict=True)) == (  # type: ignore[arg-type]
        frame["health"].value_counts().to_dict()
    )
    assert (found.attributes["age"].histogram is None) == (histograms == ["health"])


def test_classes_are_shared_where_a_configuration_releases_them(frame: pd.DataFrame) -> None:
    assert ao.summarize(frame, "health", OPEN).label_values == ("G", "M", "P", "VG", "VP")
    identity = CONFIGURATIONS | {"same": {"health": ao.Identity(), "age": ao.Blur(5)}}
    found = ao.summarize(frame, "health", identity)
    assert found.label_values is not None
    assert "same" not in found.label_mask_of


def test_the_label_can_be_named_only_where_it_is_masked(frame: pd.DataFrame) -> None:
    with pytest.raises(UnknownColumn, match=r"'health'.*histograms"):
        ao.summarize(frame, "health", {"c": {"age": ao.Blur(5)}}, ["health"])
    with pytest.raises(UnknownColumn, match=r"'health'.*values"):
        ao.summarize(frame, "health", CONFIGURATIONS, values=["health"])


@pytest.mark.parametrize("mask", [ao.Generalize({"all": ["VP", "P", "M", "G", "VG"]}), ao.PoolRare(1000)])
def test_a_mask_that_leaves_one_class_is_refused(frame: pd.DataFrame, mask: Any) -> None:
    configurations = {"c": {"age": ao.Blur(5), "health": mask}}
    with pytest.raises(MaskError, match=r"'c' leaves one class of the label 'health'.*at least two"):
        ao.summarize(frame, "health", configurations)
    with pytest.raises(MaskError, match="one class"):
        ao.compare(frame, "health", configurations, solvers=["ipf"], measures=["mi"])


def test_a_configuration_that_removes_the_label_is_refused(frame: pd.DataFrame) -> None:
    for refused in (
        lambda: ao.Configurations({"c": {"health": ao.Suppress()}}, label="health"),
        lambda: ao.summarize(frame, "health", {"c": {"health": ao.Suppress()}}),
    ):
        with pytest.raises(ConfigurationError, match="'c' suppresses the label 'health'"):
            refused()


def test_an_unfit_mask_of_the_label_names_configuration_and_column(frame: pd.DataFrame) -> None:
    with pytest.raises(MaskError, match="configuration 'c', attribute 'health'"):
        ao.summarize(frame, "health", {"c": {"health": ao.Blur(5), "age": ao.Blur(5)}})
    with pytest.raises(ConfigurationError, match=r"order of 'health'.*is a label"):
        ao.summarize(frame, "health", CONFIGURATIONS, order={"health": ["VP", "P", "M", "G", "VG"]})


def test_each_of_several_labels_has_masks_of_its_own(frame: pd.DataFrame) -> None:
    people = frame.assign(region=(frame["age"] % 4).astype(str))
    regions = sorted(people["region"].unique())
    merged = ao.Generalize({"first": regions[:1], "others": regions[1:]})
    configurations = {
        "one": {"age": ao.Blur(10), "health": ILL_WELL, "region": merged},
        "two": {"age": ao.Blur(20), "region": merged},
    }
    both = ao.summarize(people, ["health", "region"], configurations)
    for label in ("health", "region"):
        others = {"health", "region"} - {label}
        alone = {
            name: {a: mask for a, mask in masks.items() if a not in others}
            for name, masks in configurations.items()
        }
        assert both[label] == ao.summarize(people, label, alone)
    assert both["region"].label_values is None
    assert both["health"].label_values is not None
    named = ao.summarize(people, ["health", "region"], configurations, ["region"])
    assert named["region"].label_values == tuple(regions)


def test_masks_of_a_label_that_is_read_otherwise_are_refused() -> None:
    people = pd.DataFrame({"a": range(60), "y": np.linspace(0.5, 9.25, 60)})
    masked = {"c": {"a": ao.Blur(5), "y": ao.Bucketize(width=3)}}
    for options in ({"label_bins": 4}, {"label_kind": "number"}):
        with pytest.raises(ConfigurationError, match="'c' masks the label 'y', and label_"):
            ao.summarize(people, "y", masked, **options)  # type: ignore[call-overload]


def test_noise_on_the_label_is_refused(frame: pd.DataFrame) -> None:
    noise = {"c": {"age": ao.Blur(5), "health": ao.RandomizedResponse(epsilon=1.0)}}
    with pytest.raises(ConfigurationError, match="'c' adds noise to the label 'health'"):
        ao.summarize(frame, "health", noise)


def test_protected_summaries_refuse_a_masked_label(frame: pd.DataFrame) -> None:
    with pytest.raises(InvalidOption, match=r"'two' masks the label 'health'.*apply_configuration"):
        ao.summarize(frame, "health", CONFIGURATIONS, protect=ao.privacy.ControlledRounding(3))


def test_privacy_rules_count_the_label_as_it_is_released(frame: pd.DataFrame) -> None:
    rules = [ao.privacy.KAnonymity(2), ao.privacy.LDiversity(2)]
    order = {"health": ["VP", "P", "M", "G", "VG"]}
    found = ao.check_privacy(frame, CONFIGURATIONS, rules, label="health", quasi_identifiers=["age"])
    for name, masks in CONFIGURATIONS.items():
        released = ao.apply_configuration(frame, masks)
        alone = ao.check_privacy(released, {"c": {}}, rules, label="health", quasi_identifiers=["age"])
        row = found.set_index("configuration").loc[name]
        assert [row["l_diversity"], row["k_anonymity"]] == alone.loc[
            0, ["l_diversity", "k_anonymity"]
        ].tolist()
    closeness = ao.privacy.TCloseness(0.9, ordered=True)
    shared = ao.summarize(
        frame, "health", CONFIGURATIONS, rules=closeness, quasi_identifiers=["age"], order=order
    )
    assert shared.privacy is not None
    assert set(shared.privacy.private) == set(CONFIGURATIONS)


def test_search_refuses_candidates_of_the_label(frame: pd.DataFrame) -> None:
    with pytest.raises(InvalidOption, match="'health' is the label"):
        ao.search(frame, "health", {"age": [ao.Blur(5)], "health": [ILL_WELL]}, ao.privacy.KAnonymity(2))


def test_problems_have_the_groups_of_the_label(frame: pd.DataFrame) -> None:
    raw = pd.crosstab(frame["age"], frame["health"]).to_numpy()
    for histograms, names in ((False, None), (True, ["G", "M", "P", "VG", "VP"])):
        found = ao.summarize(frame, "health", CONFIGURATIONS, histograms)
        problem = found.problem("age")
        assert problem.shape == raw.shape
        assert problem.residual(raw) == 0
        assert (problem.label_names is None) == (names is None)
        alone = found.problem("age", "two")
        assert len(alone.views) == 1
        assert alone.views[0].label_groups.tolist() == [0, 1, 1, 0, 1]
        # the records of each class are a view of their own, where they are shared
        assert len(problem.views) == 3 + histograms
        assert len(found.problem("age", histograms=False).views) == 3


SOLVERS: list[tuple[str, dict[str, Any]]] = [
    ("ipf", {}),
    ("ipf", {"rounding": "controlled"}),
    ("ipf", {"rounding": "hypergeometric"}),
    ("ipf", {"rounding": "drawn"}),
    ("ipf", {"rounding": "nearest"}),
    *(("convex", {"norm": norm}) for norm in ("l1", "l2", "linf", "kl", "hellinger")),
    *(("integer", {"norm": norm}) for norm in ("l1", "l2", "linf")),
    ("smooth", {}),
    ("auto", {}),
]


@pytest.mark.parametrize(("configuration", "histograms"), [("two", False), (None, True)])
def test_every_solver_takes_a_masked_label_or_says_no(configuration: str | None, histograms: bool) -> None:
    rng = np.random.default_rng(5)
    people = pd.DataFrame({"a": rng.integers(0, 6, 50), "y": rng.choice(list("pqrs"), 50)})
    masks = {
        "two": {"a": ao.Bucketize(width=2), "y": ao.Generalize({"P": ["p", "q"], "R": ["r", "s"]})},
        "other": {"a": ao.Bucketize(width=3), "y": ao.Generalize({"P": ["p"], "R": ["q", "r", "s"]})},
    }
    problem = ao.summarize(people, "y", masks, histograms).problem("a", configuration)
    for solver, options in SOLVERS:
        if configuration is None and options.get("rounding") in ("controlled", "hypergeometric"):
            with pytest.raises(RoundingImpossible, match="'nearest'"):
                ao.reconstruct(problem, solver, seed=0, **options)
            continue
        found = ao.reconstruct(problem, solver, seed=0, **options)
        assert found.residual < 1e-4, (solver, options, found)
        assert problem.residual(found.table) < 1e-4
    exact = ao.reconstruct(problem, "integer", norm="l2")
    assert exact.optimal
    assert exact.objective == pytest.approx(
        ao.reconstruct(problem, "integer", norm="l2", engine="cp-sat").objective
    )
    with pytest.raises(InvalidOption, match=r"masked label|one view"):
        ao.reconstruct(problem, "sampling", seed=0)


def damaged(document: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    broken = copy.deepcopy(document)
    *parents, last = [int(part) if part.isdigit() else part for part in path.split("/")]
    place: Any = broken
    for part in parents:
        place = place[part]
    if value is KeyError:
        del place[last]
    else:
        place[last] = value
    return broken


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("label/masks", [], "neither classes nor masks"),
        ("label/masks", {}, "masks"),
        ("label/masks/0", 3, "mask 0 of the label"),
        ("label/masks/0/mask", KeyError, "'mask'"),
        ("label/masks/0/mask", {"f": 1}, "function"),
        ("label/masks/0/groups", [0, 0, 0, 0, 0], "all of 0 to 1"),
        ("label/masks/0/groups", [0, 1, 1], "groups 3 classes, but the label has 5"),
        ("label/masks/0/groups", {"runs": [[0, 2], [1, 9**20]]}, "runs in mask 0 of the label"),
        ("label/masks/0/groups", [0, 1, -1, 0, 0], "negative"),
        ("label/masks/0/groups", [0, 1, True, 0, 0], "not of bool"),
        ("label/masks/0/labels", ["well"], "masked classes|two"),
        ("label/masks/0/labels", ["well", "well"], "two distinct"),
        ("label/masks/0/labels", [["well"], "ill"], "plain values"),
        ("label/masks/0/counts", [1, 2], "number of records, 3"),
        ("label/masks/1/counts", [1, 2, 3], "totals disagree"),
        ("label/masks/0/counts", [1.5, 2], "fractional"),
        ("label/n_values", 4, "classes"),
        ("label/n_values", 10**12, "classes"),
        ("label/n_values", KeyError, "n_values"),
        ("label/configurations", {"two": 0}, "does not mask the label"),
        ("label/configurations", {"two": 9, "three": 1, "label only": 1}, "label mask 9"),
        ("label/configurations", {"two": True, "three": 1, "label only": 1}, "label mask True"),
        ("label/configurations", {"two": 1, "three": 1, "label only": 1}, "but its table of 'age'"),
        ("label/configurations", {"two": 0, "three": 1, "label only": 1, "x": 0}, "do not exist"),
        ("label/configurations", KeyError, "configurations"),
        ("label/values", ["a", "b"], "counts"),
        ("label/counts", [1, 2], "values"),
        ("attributes/age/tables/0/label_mask", 1, "totals disagree|shape"),
        ("attributes/age/tables/0/label_mask", 7, "label mask 7"),
        ("attributes/age/tables/0/label_mask", None, "no label mask"),
        ("attributes/age/tables/0/label_mask", "0", "label mask '0'"),
        ("attributes/age/tables/0/label_mask", True, "label mask True"),
        ("attributes/age/tables/0/label_mask", KeyError, "no label mask"),
    ],
)
def test_a_damaged_file_is_refused(summary: Any, tmp_path: Path, path: str, value: Any, message: str) -> None:
    file = tmp_path / "s.json"
    summary.save(file)
    document = json.loads(file.read_text())
    assert document["version"] == 6
    file.write_text(json.dumps(damaged(document, path, value)))
    with pytest.raises(SummaryError, match=message):
        ao.Summary.load(file)


def test_label_masks_agree_on_merged_classes_that_they_have_in_common() -> None:
    spec = {"function": "x"}
    pairs = LabelMask(spec, [0, 0, 1, 1, 2], ("a", "b", "c"), [5, 3, 2])
    good = LabelMask(spec, [0, 1, 2, 2, 3], ("a", "b", "c", "d"), [4, 1, 3, 2])
    chain = LabelMask(spec, [0, 1, 1, 2, 2], ("a", "b", "c"), [4, 2, 4])
    check_label_masks("y", [pairs, good, chain], 5, None)
    bad = LabelMask(spec, [0, 1, 2, 2, 3], ("a", "b", "c", "d"), [4, 2, 3, 1])
    with pytest.raises(SummaryError, match="totals disagree: masks 0 and 1 of the label 'y'"):
        check_label_masks("y", [pairs, bad], 5, None)
    fewer = LabelMask(spec, [0, 1, 1, 2, 2], ("a", "b", "c"), [4, 2, 3])
    with pytest.raises(SummaryError, match="totals disagree"):
        check_label_masks("y", [pairs, fewer], 5, None)
    with pytest.raises(SummaryError, match="masked in 101 ways"):
        check_label_masks("y", [pairs] * 101, 5, None)


def chained(n_classes: int) -> list[LabelMask]:
    """Two masks of pairs of classes, which have only all classes together in common."""
    classes = np.arange(n_classes)
    groups = (classes // 2, (classes + 1) // 2)
    return [LabelMask({}, g, range(int(g.max()) + 1), np.bincount(g)) for g in groups]


def test_masks_that_share_classes_in_a_long_chain_are_compared_at_once() -> None:
    one, other = chained(200_000)
    check_label_masks("y", [one, other], 200_000, None)
    more = LabelMask({}, other.groups, other.labels, np.asarray(other.counts) + 1)
    with pytest.raises(SummaryError, match="masks 0 and 1 of the label 'y' have other records"):
        check_label_masks("y", [one, more], 200_000, None)


def test_too_many_classes_and_pairs_of_masks_are_refused_before_they_are_compared() -> None:
    with pytest.raises(SummaryError, match=r"200,000 classes and 100 masks.*share fewer configurations"):
        check_label_masks("y", chained(200_000) * 50, 200_000, None)


def test_files_without_masked_labels_stay_what_they_were(frame: pd.DataFrame, tmp_path: Path) -> None:
    ao.summarize(frame, "health", {"c": {"age": ao.Blur(5)}}).save(tmp_path / "s.json")
    document = json.loads((tmp_path / "s.json").read_text())
    assert document["version"] == 2
    assert set(document["label"]) == {"name", "kind", "values", "counts"}
    assert set(document["attributes"]["age"]["tables"][0]) == {"mask", "groups", "labels", "joint"}


def test_a_label_of_numbers_and_missing_classes(tmp_path: Path) -> None:
    people = pd.DataFrame({"a": [1, 2, 3, 4, 5, 6], "y": [1.0, 2.0, 3.0, np.nan, 1.0, 3.0]})
    found = ao.summarize(people, "y", {"c": {"a": ao.Blur(2), "y": ao.KeepTop(2)}})
    assert set(found.label_masks[0].labels) >= {None}
    assert found.n_classes == 4
    found.save(tmp_path / "s.json.gz")
    assert ao.Summary.load(tmp_path / "s.json.gz") == found

"""Summaries with noise: one draw with its channel, no seed, and files that are checked."""

from __future__ import annotations

import copy
import json
import math
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import aegis_opt as ao
from aegis_opt.errors import InvalidOption, MaskError, SummaryError

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "age": RNG.integers(20, 30, 3000),
        "colour": RNG.choice(np.array(["red", "green", "blue", None], dtype=object), 3000),
    }
).assign(y=lambda f: np.where(RNG.random(3000) < 0.2 + 0.04 * (f.age - 20), "yes", "no"))
NOISE = {
    "strong": {
        "age": ao.AddNoise("geometric", epsilon=3, seed=1),
        "colour": ao.RandomizedResponse(epsilon=0.5, seed=1),
    },
    "weak": {"age": ao.AddNoise("geometric", epsilon=9, seed=1), "colour": ao.Suppress()},
    "none": {"age": ao.Bucketize(width=5), "colour": ao.Suppress()},
}


@pytest.fixture(scope="module")
def summary() -> ao.Summary:
    return ao.summarize(FRAME, "y", NOISE)


def test_noisy_counts_are_a_draw_of_the_channel(summary: ao.Summary) -> None:
    """Label totals are exact, and counts within 5 standard deviations of their mean."""
    exact = ao.summarize(FRAME, "y", {"open": {"age": ao.Identity(), "colour": ao.Identity()}})
    for name in ("age", "colour"):
        raw = exact.masked_table("open", name).joint
        table = summary.masked_table("strong", name)
        assert table.channel.shape == (table.n_groups, len(raw))
        assert np.array_equal(table.joint.sum(axis=0), summary.label_counts)
        mean = table.channel @ raw
        deviation = np.sqrt((table.channel * (1 - table.channel)) @ raw)
        assert (np.abs(table.joint - mean) <= 5 * deviation + 1e-9).all()
        assert not np.array_equal(table.joint, raw)


def test_a_seed_repeats_the_draw_and_none_does_not(summary: ao.Summary) -> None:
    assert ao.summarize(FRAME, "y", NOISE) == summary
    free = {"c": {"colour": ao.RandomizedResponse(epsilon=1)}}
    assert ao.summarize(FRAME, "y", free) != ao.summarize(FRAME, "y", free)


def test_the_file_gives_the_summary_back_and_holds_no_seed(summary: ao.Summary, tmp_path: Path) -> None:
    path = tmp_path / "summary.json"
    summary.save(path)
    assert ao.Summary.load(path) == summary
    document = json.loads(path.read_text())
    assert document["version"] == 6
    assert "seed" not in path.read_text()
    entry = document["attributes"]["colour"]["tables"][0]
    assert entry["groups"] is None
    assert entry["mask"] == {
        "function": "randomized_response",
        "epsilon": 0.5,
        "domain": ["blue", "green", "red", None],
    }


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda t, a: t["mask"].update(epsilon=-1), "positive number"),
        (lambda t, a: t["mask"].update(domain=["blue", "green", "red"]), "what becomes of None"),
        (lambda t, a: t["mask"].update(function="generalize", hierarchy="/etc/passwd"), "adds no noise"),
        (lambda t, a: t["mask"].update(domain=list(range(6000))), "what becomes of|room for|none of kind"),
        (lambda t, a: t.update(labels=["a", "b", "c", "d"]), "other masked values than its mask gives"),
        (lambda t, a: t.update(labels=["a"]), "other masked values"),
        (lambda t, a: t.update(joint=t["joint"][:-1]), "counts of shape"),
        (lambda t, a: t["joint"][0].__setitem__(0, t["joint"][0][0] + 1), "totals disagree"),
        (lambda t, a: t["joint"][0].__setitem__(0, -1), "joint"),
        (lambda t, a: a.update(values=None), "values of its attribute are missing"),
        (lambda t, a: t.update(groups=[0, 0, 1, 1]), "counts of shape|groups"),
    ],
)
def test_a_strangers_file_is_checked(summary: ao.Summary, tmp_path: Path, change, text: str) -> None:
    path = tmp_path / "summary.json"
    summary.save(path)
    document = json.loads(path.read_text())
    attribute = document["attributes"]["colour"]
    change(attribute["tables"][0], attribute)
    path.write_text(json.dumps(document))
    with pytest.raises(SummaryError, match=text):
        ao.Summary.load(path)


def test_a_copy_of_a_noisy_summary_equals_it() -> None:
    """Columns that were scaled to sum to 1 were scaled again in a copy, by the last digit of a float."""
    masks = {"c": {"age": ao.AddNoise("geometric", scale=4.5), "colour": ao.RandomizedResponse(epsilon=2)}}
    summary = ao.summarize(FRAME, "y", masks)
    assert pickle.loads(pickle.dumps(summary)) == copy.deepcopy(summary) == summary


def test_epsilons_are_reported(summary: ao.Summary) -> None:
    found = summary.epsilons()
    assert found["strong"] == pytest.approx(3.5)
    assert found["weak"] == pytest.approx(9)
    assert found["none"] == math.inf
    report = summary.report().set_index("attribute")["epsilon"]
    assert report["age"] == pytest.approx(12)  # two draws of one attribute
    facts = summary.facts()
    assert facts["content"].str.contains("noisy counts: one draw, and the released records are another").any()
    assert facts["content"].str.contains("seeds of noise").any()
    assert (facts["fact"] == "epsilon of mask 0").sum() == 2


def test_equal_masks_are_drawn_once() -> None:
    mask = ao.RandomizedResponse(epsilon=1)
    summary = ao.summarize(FRAME, "y", {"a": {"colour": mask}, "b": {"colour": mask, "age": ao.Suppress()}})
    assert len(summary.attributes["colour"].tables) == 1


def test_an_order_moves_the_columns_of_the_channel() -> None:
    mask = ao.RandomizedResponse(epsilon=1, seed=2)
    order = {"colour": ["red", "green", "blue"]}
    ordered = ao.summarize(FRAME, "y", {"c": {"colour": mask}}, order=order).attributes["colour"]
    plain = ao.summarize(FRAME, "y", {"c": {"colour": mask}}).attributes["colour"]
    assert ordered.values == ("red", "green", "blue", None)
    assert np.array_equal(ordered.tables[0].joint, plain.tables[0].joint)
    places = [plain.values.index(value) for value in ordered.values]
    assert np.array_equal(ordered.tables[0].channel, plain.tables[0].channel[:, places])


def test_what_noise_does_not_go_with_is_refused() -> None:
    noise = {"c": {"colour": ao.RandomizedResponse(epsilon=1)}}
    for options in ({"share": "scores"}, {"share": "both"}):
        with pytest.raises(InvalidOption, match="scores are computed for masks without noise"):
            ao.summarize(FRAME, "y", noise, **options)
    with pytest.raises(InvalidOption, match="adds noise to 'colour'"):
        ao.summarize(FRAME, "y", noise, protect=ao.privacy.ControlledRounding(5))
    with pytest.raises(MaskError, match="adds noise"):
        ao.summarize(FRAME, "y", noise, rules=ao.privacy.KAnonymity(2))
    with pytest.raises(ao.errors.InvalidInput, match="are noisy, so they bound no exact count"):
        ao.audit(ao.summarize(FRAME, "y", noise))
    with pytest.raises(InvalidOption, match="a comparison is about masks without noise"):
        ao.compare(FRAME, label="y", configurations=noise)
    with pytest.raises(InvalidOption, match="several labels are summarised together for masks without noise"):
        ao.summarize(FRAME.assign(z=FRAME["y"]), ["y", "z"], noise)
    with pytest.raises(MaskError, match="configuration 'd' masks the label: summarise configurations with"):
        ao.summarize(
            FRAME.assign(y=np.arange(3000) % 3),
            "y",
            {**noise, "d": {"y": ao.Generalize({"a": [0, 1], "b": [2]})}},
        )
    names = pd.DataFrame({"name": [f"person {i}" for i in range(200)], "y": ["a", "b"] * 100})
    with pytest.raises(MaskError, match=r"configuration 'c', attribute 'name': its texts are nearly unique"):
        ao.summarize(names, "y", {"c": {"name": ao.RandomizedResponse(epsilon=1)}})
    added = {"c": {"age": ao.AddNoise("geometric", scale=1)}}
    with (
        pytest.warns(UserWarning, match="was read as"),
        pytest.raises(MaskError, match="adds noise to single values"),
    ):
        ao.summarize(FRAME.assign(age=np.arange(3000) % 40), "y", added, max_values=10)


def test_values_that_noise_cannot_tell_apart_are_named() -> None:
    """Both are cut off at the upper end of the declared range."""
    mask = ao.AddNoise("geometric", scale=1, low=20, high=28)
    with pytest.raises(MaskError, match=r"attribute 'age': .* is singular.*28, 29 have the same"):
        ao.summarize(FRAME, "y", {"c": {"age": mask}})


def noisy_file(path: Path, mask: ao.masks.Mask, values: int, tables: int = 1) -> Path:
    """Write a summary of an attribute with the values 0.. and equal noisy tables, each with few counts."""
    spec = mask.to_spec()
    labels = list(range(spec["high"] + 1 if "high" in spec else values))
    table = {"mask": spec, "groups": None, "labels": labels, "joint": [[1, 1]] * len(labels)}
    attribute = {"kind": "integer", "n_values": values, "values": list(range(values)), "histogram": None}
    label = {"name": "y", "kind": "integer", "values": [0, 1], "counts": [len(labels)] * 2}
    document = {
        "format": "aegis-opt-summary",
        "version": 6,
        "label": label,
        "attributes": {"x": {**attribute, "tables": [table] * tables}},
        "configurations": {f"c{i}": {"x": i} for i in range(tables)},
    }
    path.write_text(json.dumps(document))
    return path


@pytest.mark.parametrize(
    ("mask", "values"),
    [
        (ao.RandomizedResponse(p=0.9, domain=range(1500)), 1500),
        (ao.AddNoise("geometric", scale=50.0, low=0, high=4000), 2500),
        (ao.AddNoise("discrete_gaussian", epsilon=3e-5, low=0, high=3), 4),
    ],
    ids=["randomised response", "wide", "little privacy"],
)
def test_large_channels_are_read_at_once(mask: ao.masks.Mask, values: int, tmp_path: Path) -> None:
    """These took minutes, or matrices of all pairs of masked values."""
    loaded = ao.Summary.load(noisy_file(tmp_path / "s.json", mask, values))
    assert loaded.attributes["x"].tables[0].channel.shape[1] == values


@pytest.mark.parametrize(("values", "tables"), [(300, 187), (2, 2049)])
def test_the_channels_of_a_file_have_a_ceiling(values: int, tables: int, tmp_path: Path) -> None:
    mask = ao.RandomizedResponse(p=0.9, domain=range(values))
    path = noisy_file(tmp_path / "s.json", mask, values, tables)
    with pytest.raises(SummaryError, match=r"noisy tables count for .* entries together; at most 16,777,216"):
        ao.Summary.load(path)


def test_values_cut_off_alike_are_named_when_a_file_is_read(tmp_path: Path) -> None:
    mask = ao.AddNoise("geometric", scale=1.0, low=0, high=3)
    with pytest.raises(SummaryError, match=r"is singular.*3, 4, 5 have the same"):
        ao.Summary.load(noisy_file(tmp_path / "s.json", mask, 6))

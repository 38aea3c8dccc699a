"""Candidates per domain, random configurations and the whole product."""

import datetime as dt
import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mask_zoo import VALUES

from aegis_opt.domain import Domain
from aegis_opt.errors import ConfigurationError, InvalidInput, MaskError, SourceError, UnknownColumn
from aegis_opt.masks import (
    Blur,
    Grouping,
    Identity,
    Suppress,
    Truncate,
    all_configurations,
    candidate_masks,
    count_configurations,
    domains_of,
    generate_configurations,
    information_loss,
)
from aegis_opt.sources import scan

SCHEMA = {
    "age": Domain.of(range(17, 91)),
    "sex": Domain.of(["female", "male"]),
    "joined": Domain.of([dt.date(2000, 1, 1) + dt.timedelta(days=40 * i) for i in range(60)]),
    "weight": Domain.of(np.linspace(40.5, 120.2, 77)),
    "smoker": Domain.of([True, False, None]),
    "income": Domain.of([0, 1]),
}


def partitions(configuration):
    return tuple(configuration[a].group(SCHEMA[a]).groups.tobytes() for a in configuration)


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(sorted(VALUES)), st.data())
def test_candidates_fit_and_give_distinct_coarser_groups(kind, data):
    values = data.draw(st.lists(VALUES[kind], min_size=1, max_size=30))
    domain = Domain.of([*values, *data.draw(st.sampled_from([[], [None]]))])
    masks = candidate_masks(domain)
    groups = [mask.group(domain) for mask in masks]
    assert len({g.groups.tobytes() for g in groups}) == len(masks) > 0
    if masks != (Identity(),):
        assert all(g.n_groups < len(domain) for g in groups)
    else:
        assert len(domain) == 1


@pytest.mark.parametrize(
    "values",
    [
        [5],
        [None],
        [0.5, float("inf")],
        [1e-300, 1e300],
        [-(2**63), 2**63 - 1],
        [2**62 + i for i in range(20)],
    ],
    ids=str,
)
def test_extreme_domains_have_candidates(values):
    assert candidate_masks(Domain.of(values))


def test_information_loss_runs_from_none_to_all():
    assert information_loss(Grouping([0, 1, 2], ("a", "b", "c"))) == 0
    assert information_loss(Grouping([0, 0, 0], ("a",))) == 1
    assert information_loss(Grouping([0], ("a",))) == 0


def test_strength_sorts_candidates():
    losses = [
        information_loss(m.group(SCHEMA["age"])) for m in candidate_masks(SCHEMA["age"], strength="light")
    ]
    assert [abs(loss - 0.2) for loss in losses] == sorted(abs(loss - 0.2) for loss in losses)
    assert candidate_masks(SCHEMA["age"], strength=1.0)[0] == Suppress()


@pytest.mark.parametrize("strength", ["light", "medium", "strong", 0.0, 1])
def test_configurations_are_distinct_reproducible_and_spare_the_label(strength):
    one = generate_configurations(SCHEMA, label="income", n=40, seed=3, strength=strength)
    assert one == generate_configurations(SCHEMA, label="income", n=40, seed=3, strength=strength)
    assert one != generate_configurations(SCHEMA, label="income", n=40, seed=4, strength=strength)
    assert one.label == "income"
    assert list(one) == [f"config{i:02d}" for i in range(1, 41)]
    assert all(set(c) == set(SCHEMA) - {"income"} for c in one.values())
    assert len({partitions(c) for c in one.values()}) == 40


def test_a_greater_strength_hides_more():
    def mean_loss(strength):
        drawn = generate_configurations(SCHEMA, label="income", n=60, strength=strength)
        return np.mean([information_loss(c["age"].group(SCHEMA["age"])) for c in drawn.values()])

    assert mean_loss("light") + 0.1 < mean_loss("medium") < mean_loss("strong") - 0.1


def test_the_whole_product_can_be_drawn_and_no_more():
    small = {a: SCHEMA[a] for a in ("sex", "smoker", "age", "income")}
    count = count_configurations(small, "income")
    everything = generate_configurations(small, label="income", n=count)
    assert {partitions(c) for c in everything.values()} == {
        partitions(c) for c in all_configurations(small, "income")
    }
    with pytest.raises(ConfigurationError, match=f"only {count} distinct configurations exist"):
        generate_configurations(small, label="income", n=count + 1)


def test_suppression_can_be_excluded():
    drawn = generate_configurations(SCHEMA, label="income", n=30, include_suppress=False)
    groups = {a: {c[a].group(SCHEMA[a]).n_groups for c in drawn.values()} for a in drawn["config01"]}
    assert all(1 not in sizes for sizes in groups.values())
    assert drawn["config01"]["smoker"] == Identity()


def test_some_attributes_and_other_names():
    drawn = generate_configurations(SCHEMA, label="income", n=2, attributes=["age"], name="c{}")
    assert list(drawn) == ["c1", "c2"]
    assert list(drawn["c1"]) == ["age"]


def test_the_product_is_lazy_and_in_order():
    candidates = {"age": [Suppress(), Blur(10)], "joined": [Truncate("year"), Identity()]}
    listed = list(all_configurations(SCHEMA, "income", candidates))
    assert [tuple(c.values()) for c in listed] == list(itertools.product(*candidates.values()))
    assert [c.name for c in listed] == ["config01", "config02", "config03", "config04"]
    assert count_configurations(SCHEMA, "income", candidates) == 4
    many = {f"a{i}": SCHEMA["age"] for i in range(30)} | {"y": SCHEMA["sex"]}
    assert count_configurations(many, "y") > 10**20
    assert len(list(itertools.islice(all_configurations(many, "y"), 3))) == 3


def test_domains_of_a_frame():
    frame = pd.DataFrame(
        {
            "i": [2, 1, 2],
            "r": [0.5, None, 0.5],
            "s": ["b", None, "a"],
            "c": pd.Categorical(["x", "y", "x"]),
            "n": pd.array([1, None, 1], dtype="Int64"),
            "d": pd.to_datetime(["2020-01-01", None, "2020-01-02"]),
            "y": [True, False, True],
        }
    )
    domains = domains_of(frame, "y")
    kinds = {a: (domain.kind, domain.missing) for a, domain in domains.items()}
    assert kinds == {
        "i": ("integer", False),
        "r": ("real", True),
        "s": ("string", True),
        "c": ("string", False),
        "n": ("integer", True),
        "d": ("datetime", True),
        "y": ("boolean", False),
    }
    assert generate_configurations(frame, label="y", n=2).label == "y"


def test_a_frame_has_the_domains_that_a_scan_of_it_finds():
    stamps = pd.to_datetime(["2020-01-01 12:00", "2020-01-02 12:00"]).tz_localize("Europe/Berlin")
    frame = pd.DataFrame({"when": stamps, "y": [0, 1]})
    assert domains_of(frame, "y")["when"] == scan(frame, "y").attributes["when"].domain


def test_a_file_gives_what_its_frame_gives(tmp_path):
    path = tmp_path / "data.csv"
    frame = pd.DataFrame(
        {"age": range(30), "town": list("aaaaabbbbbbcde") * 2 + ["x", "y"], "y": [0, 1] * 15}
    )
    frame.to_csv(path, index=False)
    assert generate_configurations(path, label="y", n=20) == generate_configurations(frame, label="y", n=20)
    with pytest.raises(UnknownColumn, match="'z'"):
        generate_configurations(path, label="z", n=5)


FRAME = pd.DataFrame({"a": [1, 2, 3], "y": [0, 1, 0]})


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: generate_configurations(FRAME, label="z"), UnknownColumn, "unknown label column 'z'"),
        (lambda: generate_configurations(SCHEMA, label="incom"), UnknownColumn, "did you mean 'income'"),
        (lambda: generate_configurations(FRAME, label="y", n=0), InvalidInput, "n must be"),
        (lambda: generate_configurations(FRAME, label="y", seed=-1), InvalidInput, "seed must be"),
        (lambda: generate_configurations(FRAME, label="y", n=1, strength="hard"), InvalidInput, "strength"),
        (lambda: generate_configurations(FRAME, label="y", n=1, strength=1.5), InvalidInput, "strength"),
        (lambda: generate_configurations(FRAME, label="y", n=1, name="c"), InvalidInput, "place for"),
        (lambda: generate_configurations(FRAME, label="y", n=1, name="{x}"), InvalidInput, "format such as"),
        (lambda: generate_configurations(FRAME, label="y", attributes=["b"]), UnknownColumn, "attribute 'b'"),
        (lambda: generate_configurations(FRAME, label="y", attributes="a"), InvalidInput, r"write \['a'\]"),
        (lambda: generate_configurations(FRAME, label="y", attributes=["y"]), ConfigurationError, "'y'"),
        (lambda: generate_configurations(FRAME[["y"]], label="y"), ConfigurationError, "no attribute"),
        (lambda: generate_configurations(FRAME[:0], label="y"), SourceError, "no records"),
        (lambda: generate_configurations(FRAME[["a", "a", "y"]], label="y"), SourceError, "'a': rename"),
        (lambda: domains_of(pd.DataFrame({"a": [1, "x"]}), "a"), SourceError, "'a' holds Python objects"),
        (lambda: domains_of({"a": [1, 2]}, "a"), InvalidInput, r"write Domain\.of"),
        (lambda: all_configurations(FRAME, "y", {"a": []}), ConfigurationError, "'a' has no candidate"),
        (lambda: all_configurations(FRAME, "y", {"y": [Suppress()]}), ConfigurationError, "label 'y'"),
        (lambda: all_configurations(FRAME, "y", {"a": [Truncate("year")]}), MaskError, "attribute 'a'"),
    ],
)  # fmt: skip
def test_bad_input_is_refused_with_the_way_out(call, error, text):
    with pytest.raises(error, match=text):
        call()

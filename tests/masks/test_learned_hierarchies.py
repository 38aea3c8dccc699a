"""Hierarchies learned from counts, and candidates that follow from counts."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import aegis_opt as ao
from aegis_opt.domain import Domain
from aegis_opt.errors import ConfigurationError, InvalidOption, MaskError
from aegis_opt.masks import (
    Bucketize,
    EraseDigits,
    Generalize,
    Identity,
    KeepTop,
    PoolRare,
    candidate_masks,
    learn_hierarchy,
)


def groups_of(hierarchy, level):
    found: dict[str, list[str]] = {}
    for row in hierarchy.rows:
        found.setdefault(row[level], []).append(row[0])
    return sorted(found.values())


def entropy(counts):
    shares = np.array([count for count in counts if count]) / sum(counts)
    return -(shares * np.log2(shares)).sum()


def halvings(n):
    sizes = [n]
    while sizes[-1] > 1:
        sizes.append(-(-sizes[-1] // 2))
    return sizes


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 50), min_size=2, max_size=12), st.booleans())
def test_each_level_halves_the_groups_and_merges_those_below(counts, ordered):
    domain = Domain.of([chr(97 + i) for i in range(len(counts))])
    hierarchy = learn_hierarchy(domain, counts, order="ascending" if ordered else None)
    levels = [groups_of(hierarchy, level) for level in range(hierarchy.n_levels)]
    assert [len(level) for level in levels] == halvings(len(counts))
    for fine, coarse in itertools.pairwise(levels):
        assert all(any(set(one) <= set(group) for group in coarse) for one in fine)
    if ordered:
        assert all("".join(group) in "abcdefghijkl" for level in levels for group in level)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.integers(0, 9), min_size=2, max_size=2), min_size=4, max_size=4), st.booleans())
def test_the_first_merger_loses_least(table, by_label):
    domain = Domain.of(list("abcd"))
    counts = np.array(table) if by_label else np.array(table).sum(axis=1)

    def merged(i, j):
        rows = [row for k, row in enumerate(np.array(table)) if k not in (i, j)]
        return np.array([*rows, np.array(table)[i] + np.array(table)[j]])

    def kept(rows):
        return ao.mutual_information(rows) if by_label else entropy(rows.sum(axis=1))

    if not counts.sum():
        return
    losses = {
        pair: kept(np.array(table)) - kept(merged(*pair)) for pair in itertools.combinations(range(4), 2)
    }
    three = learn_once(domain, counts)
    assert losses[three] <= min(losses.values()) + 1e-9


def learn_once(domain, counts):
    """The pair that is merged first: that of the only level of a hierarchy of one value less than three."""
    from aegis_opt.masks._learn import _merged

    groups = _merged(np.asarray(counts, dtype=float).reshape(4, -1), [3], ordered=False)[0]
    (pair,) = [np.flatnonzero(groups == g) for g in np.unique(groups) if (groups == g).sum() == 2]
    return tuple(pair.tolist())


def test_the_label_is_used_only_where_it_is_given():
    domain = Domain.of(list("abcd"))
    table = np.array([[1, 5], [10, 50], [5, 1], [50, 10]])
    assert groups_of(learn_hierarchy(domain, table), 1) == [["a", "b"], ["c", "d"]]
    assert groups_of(learn_hierarchy(domain, table), 1) != groups_of(
        learn_hierarchy(domain, table.sum(axis=1)), 1
    )
    # two tables that differ in the labels alone
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"c": rng.choice(list("abcdefgh"), 400, p=np.arange(1, 9) / 36), "y": 0})
    one, other = (frame.assign(y=rng.integers(0, 2, 400)) for _ in range(2))
    assert ao.generate_configurations(one, "y", n=5) == ao.generate_configurations(other, "y", n=5)
    learned = [ao.generate_configurations(f, "y", n=5, learn_from_label=True) for f in (one, other)]
    assert learned[0] != learned[1]


def test_names_of_groups_stay_distinct_and_values_match_again():
    domain = Domain.of(["a", "a|b", "b", "c"])
    hierarchy = learn_hierarchy(domain, [1, 100, 1, 100])
    mask = Generalize(hierarchy=hierarchy, level=1)
    assert mask.group(domain).n_groups == 2
    pair = learn_hierarchy(Domain.of(["a", "a|b", "b"]), [1, 100, 1])
    assert sorted({row[1] for row in pair.rows}) == ["a|b", "a|b (2)"]


def test_values_in_a_given_order_merge_with_neighbours_only():
    sizes = Domain.of(["L", "M", "S", "XL", None])
    hierarchy = learn_hierarchy(sizes, [9, 8, 1, 1, 3], order=["S", "M", "L", "XL"])
    assert [row[:2] for row in hierarchy.rows] == [
        ("S", "S..M"),
        ("M", "S..M"),
        ("L", "L..XL"),
        ("XL", "L..XL"),
    ]


def test_categories_have_something_better_than_suppression():
    domain = Domain.of(list("abcdef"))
    masks = candidate_masks(domain, counts=[50, 30, 9, 8, 7, 6])
    assert KeepTop(2, values=["a", "b"]) in masks
    assert any(isinstance(mask, Generalize) for mask in masks)
    assert Identity() in masks
    assert candidate_masks(Domain.of([True, False]), counts=[50, 30])[1:] == (Identity(),)


def test_no_rare_value_is_named():
    names = Domain.of([f"person {i}" for i in range(300)])
    masks = candidate_masks(names, counts=np.ones(300, dtype=int))
    assert not any(isinstance(mask, KeepTop | Identity | Generalize) for mask in masks)
    mixed = candidate_masks(Domain.of(list("abcd")), counts=[100, 50, 4, 1])
    kept = [set(mask.values) for mask in mixed if isinstance(mask, KeepTop | PoolRare)]
    assert kept
    assert all(values <= {"a", "b"} for values in kept)
    assert Identity() not in mixed


def test_quantiles_hold_about_equally_many_records():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"income": rng.lognormal(10, 1, 4000).round(2), "y": rng.integers(0, 2, 4000)})
    found = ao.sources.scan_counts(frame)["income"]
    cuts = [
        m for m in candidate_masks(found.domain, counts=found.counts) if isinstance(m, Bucketize) and m.edges
    ]
    assert cuts
    sizes = ao.apply_configuration(frame, {"income": cuts[0]})["income"].value_counts()
    assert len(sizes) == 4
    assert sizes.min() > 0.6 * sizes.max()
    assert all(float(edge) == float(f"{edge:.2g}") for edge in cuts[0].edges)  # no one's own income


def test_signs_are_kept_where_there_are_both_and_decimals_are_rounded():
    def erasing(values):
        return [m for m in candidate_masks(Domain.of(values)) if isinstance(m, EraseDigits)]

    assert all(mask.keep_sign for mask in erasing(range(-500, 500, 7)))
    assert not any(mask.keep_sign for mask in erasing(range(0, 500, 7)))
    blurs = {
        m.width
        for m in candidate_masks(Domain.of([1.22, 1.23, 1.31, 1.42, 2.37, 9.99]))
        if isinstance(m, ao.Blur)
    }
    assert 0.1 in blurs


def test_what_is_left_out_on_request():
    frame = pd.DataFrame({"sex": ["f", "m"] * 20, "y": [0, 1, 1, 0] * 10})
    assert {c["sex"] for c in ao.generate_configurations(frame, "y", n=2).values()} == {
        ao.Suppress(),
        Identity(),
    }
    only = ao.generate_configurations(frame, "y", n=1, include_identity=False)
    assert only["config01"]["sex"] == ao.Suppress()
    with pytest.raises(InvalidOption, match="no counts to learn from"):
        ao.generate_configurations({"a": Domain.of([1]), "y": Domain.of([1])}, "y", learn_from_label=True)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: learn_hierarchy(Domain.of([]), np.array([], dtype=int)), MaskError, "one row"),
        (lambda: learn_hierarchy(Domain.of(["a"]), [1.5]), MaskError, "whole numbers"),
        (lambda: learn_hierarchy(Domain.of(range(1001)), np.ones(1001, int)), MaskError, "pool rare ones"),
        (lambda: learn_hierarchy(Domain.of(["a"]), [1], order="hierarchy"), ConfigurationError, "list its"),
        (lambda: candidate_masks(Domain.of(["a"]), counts=[1, 2]), MaskError, "whole numbers"),
    ],
)
def test_bad_input_is_refused_with_the_way_out(call, error, text):
    with pytest.raises(error, match=text):
        call()

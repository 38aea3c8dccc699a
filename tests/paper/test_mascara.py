"""Mascara's estimator: the formula, its bounds, and both ways to compute it."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aegis_opt.datasets import clinic
from aegis_opt.errors import InvalidInput, InvalidOption
from aegis_opt.masks import Bucketize, Configurations, Identity, Suppress
from aegis_opt.summary import summarize
from benchmarks.paper.mascara import mascara_scores, relative_entropy
from benchmarks.paper.rowwise import mask_rows, rowwise_mascara, rowwise_sampling

columns = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 3)), min_size=1, max_size=12).filter(
    lambda pairs: sum(count for count, _ in pairs) > 0
)


def test_the_formula_on_a_case_by_hand() -> None:
    # P = (1/2, 1/4, 1/4), all one group: Q = 1/3 each
    expected = 0.5 * math.log2(1.5) + 0.5 * math.log2(0.75)
    assert relative_entropy([2, 1, 1], [0, 0, 0]) == pytest.approx(expected)


@given(columns)
@settings(max_examples=50, deadline=None)
def test_relative_entropy_lies_between_zero_and_the_largest_group(pairs: list[tuple[int, int]]) -> None:
    counts, groups = (np.array(side) for side in zip(*pairs, strict=True))
    lost = relative_entropy(counts, groups)
    assert 0 <= lost <= math.log2(np.bincount(groups).max()) + 1e-9


@given(columns)
@settings(max_examples=50, deadline=None)
def test_merging_groups_never_loses_less(pairs: list[tuple[int, int]]) -> None:
    counts, groups = (np.array(side) for side in zip(*pairs, strict=True))
    assert relative_entropy(counts, groups) <= relative_entropy(counts, np.zeros_like(groups)) + 1e-9


def test_row_by_row_and_from_counts_agree() -> None:
    data = clinic(400)
    fast = mascara_scores(summarize(data.frame, data.label, data.configurations, histograms=True))
    assert data.configurations is not None
    slow = rowwise_mascara(data.frame, data.configurations)
    pd.testing.assert_series_equal(fast, slow)


def test_missing_values_are_a_value_in_both_ways() -> None:
    frame = pd.DataFrame({"x": [1.0, None, 12.0, 1.0, None], "y": [0, 1, 0, 1, 1]})
    masks = Configurations({"all": {"x": Suppress()}, "wide": {"x": Bucketize(width=20)}})
    fast = mascara_scores(summarize(frame, "y", masks, histograms=True))
    pd.testing.assert_series_equal(fast, rowwise_mascara(frame, masks))


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(InvalidInput, match="one group per value"):
        relative_entropy([1, 2], [0])
    with pytest.raises(InvalidInput, match="at least one record"):
        relative_entropy([0, 0], [0, 0])
    frame = pd.DataFrame({"x": [1, 2], "y": [0, 1]})
    bare = summarize(frame, "y", {"a": {"x": Suppress()}}, histograms=False)
    with pytest.raises(InvalidOption, match="histogram of 'x'"):
        mascara_scores(bare)


def test_sampling_draws_only_possible_values_and_keeps_the_masked_measure() -> None:
    frame = pd.DataFrame({"x": [1, 2, 11, 12] * 20, "y": [0, 0, 1, 1] * 20})
    masks = Configurations({"wide": {"x": Bucketize(width=10)}, "open": {"x": Identity()}})
    masked, possible = mask_rows(frame["x"], masks["wide"]["x"])
    assert sorted(map(tuple, possible.values())) == [(1, 2), (11, 12)]
    assert masked[0] == masked[1] != masked[2]
    deviations = rowwise_sampling(frame, "y", masks, ["mi", "g3"])
    # labels are a function of the masked value, so no draw can change what it tells
    assert deviations.loc["wide"].tolist() == pytest.approx([0.0, 0.0])


def test_sampling_repeats_with_its_seed() -> None:
    data = clinic(200)
    assert data.configurations is not None
    few = Configurations({name: data.configurations[name] for name in list(data.configurations)[:2]})
    runs = [rowwise_sampling(data.frame, data.label, few, ["mi"], seed) for seed in (3, 3, 4)]
    pd.testing.assert_frame_equal(runs[0], runs[1])
    assert not runs[0].equals(runs[2])

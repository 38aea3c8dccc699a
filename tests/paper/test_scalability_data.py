"""The paper's scalability data: sizes, seeds, and that the label depends on what it should."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from aegis_opt.errors import InvalidInput
from aegis_opt.measures import mutual_information_corrected
from aegis_opt.summary import summarize
from benchmarks.paper.datasets import scalability


def test_scalability_has_the_sizes_asked_for_and_uniform_attributes() -> None:
    data = scalability(n_rows=20_000, n_attributes=6, n_values=20, n_configurations=9, seed=5)
    assert data.frame.shape == (20_000, 7)
    assert data.label == "label"
    assert set(data.frame["label"]) == {0, 1}
    for attribute in data.attributes:
        observed = data.frame[attribute].value_counts().sort_index()
        assert list(observed.index) == list(range(20))
        chi_square = ((observed - 1000) ** 2 / 1000).sum()
        assert chi_square < 43.8  # the 0.999 quantile for 19 degrees of freedom
    assert len(data.configurations) == 9
    assert len({tuple(c.items()) for c in data.configurations.values()}) == 9
    summary = summarize(data.frame, data.label, data.configurations)
    assert set(summary.attributes) == set(data.attributes)
    assert set(summary.configurations) == set(data.configurations)


def test_scalability_label_depends_on_the_first_five_attributes_only() -> None:
    data = scalability(n_rows=50_000, n_attributes=7, n_values=10, n_configurations=1)
    information = [
        float(mutual_information_corrected(pd.crosstab(data.frame[attribute], data.frame["label"])))
        for attribute in data.attributes
    ]
    assert information[0] > information[1] > information[2] > 0.003
    assert min(information[:5]) > 4 * max(abs(v) for v in information[5:])


def test_scalability_takes_the_smallest_sizes_and_domains_beyond_16_bits() -> None:
    tiny = scalability(n_rows=1, n_attributes=1, n_values=2, n_configurations=1)
    assert tiny.frame.shape == (1, 2)
    wide = scalability(n_rows=50, n_attributes=1, n_values=100_000, n_configurations=2)
    assert wide.frame["a000"].max() > np.iinfo(np.int16).max


def test_scalability_is_reproducible() -> None:
    first, second = (scalability(100, 4, 20, 5, seed=9) for _ in range(2))
    pd.testing.assert_frame_equal(first.frame, second.frame)
    assert first.configurations == second.configurations


def test_more_configurations_than_exist_are_refused() -> None:
    with pytest.raises(InvalidInput, match=r"n_configurations=50.*only 1 distinct"):
        scalability(n_rows=10, n_attributes=3, n_values=2)


@pytest.mark.parametrize("wrong", [0, -1, 2.0, "5", True, None])
@pytest.mark.parametrize("argument", ["n_rows", "n_attributes", "n_values", "n_configurations"])
def test_scalability_names_the_wrong_size(argument: str, wrong: Any) -> None:
    with pytest.raises(InvalidInput, match=argument):
        scalability(**{"n_rows": 10, "n_attributes": 2, "n_values": 5, argument: wrong})


@pytest.mark.parametrize("wrong", [-1, 0.5, "x", None])
def test_a_wrong_seed_is_named(wrong: Any) -> None:
    with pytest.raises(InvalidInput, match="seed must be"):
        scalability(10, seed=wrong)

"""What holds for every registered measure, by what it declares about itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose

from aegis_opt.measures import available_measures, get_measure

MEASURES = [get_measure(name) for name in available_measures()]

counts = st.one_of(st.integers(0, 5).map(float), st.floats(0, 100, width=16, allow_subnormal=False))


def tables(min_labels: int = 1, max_labels: int = 4) -> st.SearchStrategy[np.ndarray]:
    return st.tuples(st.integers(1, 9), st.integers(min_labels, max_labels)).flatmap(
        lambda shape: arrays(np.float64, shape, elements=counts).filter(lambda F: F.sum() > 1e-6)
    )


def fitting(measure, F: np.ndarray) -> np.ndarray:
    """The table, or one of whole counts for a measure that needs them."""
    return np.ceil(F) if measure.whole_counts else F


def gain(measure, before: np.ndarray, after: np.ndarray) -> float:
    """How much better the second table is, on a scale of about 1."""
    scale = max(before.sum(), 1) if measure.name.startswith("chi2") else 1
    change = (measure(after) - measure(before)) / scale
    return change if measure.higher_is_better else -change


@settings(max_examples=50, deadline=None)
@given(F=tables(), seed=st.integers(0, 99))
def test_order_of_rows_and_labels_does_not_matter(F: np.ndarray, seed: int) -> None:
    rng = np.random.default_rng(seed)
    shuffled = rng.permutation(rng.permutation(F, axis=0), axis=1)
    for measure in MEASURES:
        one, other = measure(fitting(measure, shuffled)), measure(fitting(measure, F))
        assert_allclose(one, other, rtol=1e-9, atol=1e-7, err_msg=measure.name)


@settings(max_examples=50, deadline=None)
@given(F=tables(), rows=st.integers(0, 20), labels=st.integers(0, 3))
def test_empty_rows_and_labels_contribute_nothing(F: np.ndarray, rows: int, labels: int) -> None:
    for measure in MEASURES:
        table = fitting(measure, F)
        assert measure(np.pad(table, ((0, rows), (0, labels)))) == measure(table), measure.name


@settings(max_examples=50, deadline=None)
@given(F=tables(), factor=st.floats(1e-3, 1e9))
def test_scaling_the_counts_scales_chi_square_and_leaves_shares_alone(F: np.ndarray, factor: float) -> None:
    chi2 = get_measure("chi2")
    assert_allclose(chi2(F * factor) / factor, chi2(F), rtol=1e-9, atol=1e-9)
    for name in ("mi", "g1", "g2", "g3", "cramers_v", "theils_u", "gk_tau"):
        measure = get_measure(name)
        assert_allclose(measure(F * factor), measure(F), rtol=1e-9, atol=1e-7, err_msg=name)


def test_given_arrays_are_not_modified() -> None:
    F = np.array([[1.0, 2.0], [3.0, 0.0]])
    F.setflags(write=False)  # writing to it would raise
    for measure in MEASURES:
        measure(F)
        measure.many([F, F[:1]])


@settings(max_examples=100, deadline=None)
@given(F=tables(), data=st.data())
def test_merging_rows_is_never_better_for_a_monotone_measure(F: np.ndarray, data: st.DataObject) -> None:
    groups = data.draw(arrays(np.int64, len(F), elements=st.integers(0, 3)))
    merged = np.zeros((4, F.shape[1]))
    np.add.at(merged, groups, F)
    for measure in MEASURES:
        if measure.monotone:
            assert gain(measure, F, merged) <= 1e-9, measure.name


@settings(max_examples=100, deadline=None)
@given(F=tables(), seed=st.integers(0, 999), sharpness=st.sampled_from([0.1, 1.0, 10.0]))
def test_noise_is_never_better_for_a_channel_monotone_measure(
    F: np.ndarray, seed: int, sharpness: float
) -> None:
    channel = np.random.default_rng(seed).dirichlet(np.full(7, sharpness), size=len(F))
    for measure in MEASURES:
        if measure.channel_monotone:
            assert gain(measure, F, channel.T @ F) <= 1e-9, measure.name


def test_merging_labels_is_never_better_where_that_is_promised() -> None:
    """1,000 random merges of columns; every measure without the promise is better after some of them."""
    rng = np.random.default_rng(0)
    before = rng.integers(0, 9, (1000, 6, 6)) * rng.integers(0, 2, (1000, 6, 6))
    before *= rng.random((1000, 6, 1)) < 0.6  # some rows and labels are empty, which counts for nothing
    before *= rng.random((1000, 1, 6)) < 0.7
    before[:, 0, 0] += 1
    merging = np.eye(6)[rng.integers(0, 5, (1000, 6))]
    for measure in MEASURES:
        scale = before.sum(axis=(1, 2)) if measure.name.startswith("chi2") else 1
        gains = (measure(before @ merging) - measure(before)) / scale
        gains *= 1 if measure.higher_is_better else -1
        if measure.monotone_in_labels:
            assert gains.max() <= 1e-9, (measure.name, before[gains.argmax()])
        else:
            assert gains.max() > 1e-3, measure.name
    assert {measure.name for measure in MEASURES if measure.monotone_in_labels} == {"mi", "chi2"}


def test_tables_of_different_widths_are_measured_one_by_one() -> None:
    tables = [np.array([[3, 1], [0, 2]]), np.array([[1, 2, 3]]), np.array([[5, 0], [1, 1]])]
    for measure in MEASURES:
        assert measure.each(tables).tolist() == [float(measure(table)) for table in tables]


BETTER_WHEN_MERGED = {
    "cramers_v": [[10, 0, 0], [0, 5, 5], [0, 5, 5]],
    "mi_corrected": [[1, 9], [9, 1], [9, 1]],
    "chi2_corrected": [[1, 9], [9, 1], [9, 1]],
    "cramers_v_corrected": [[10, 0, 0], [0, 5, 5], [0, 5, 5]],
    "g3_loo": [[9, 1], [1, 2], [1, 2]],
    "mi_loo": [[5, 0], [0, 1], [0, 1]],
}


def test_every_measure_without_the_promise_has_a_counter_example() -> None:
    assert set(BETTER_WHEN_MERGED) == {m.name for m in MEASURES if not m.monotone}


@pytest.mark.parametrize("name", BETTER_WHEN_MERGED)
def test_merging_can_be_better_without_the_promise(name: str) -> None:
    F = np.array(BETTER_WHEN_MERGED[name])
    assert gain(get_measure(name), F, np.array([F[0], F[1] + F[2]])) > 1e-3


def test_splitting_a_row_is_better_for_g1_which_promises_merging_only() -> None:
    g1 = get_measure("g1")
    assert (g1.monotone, g1.channel_monotone) == (True, False)
    assert g1([[1, 1], [1, 1]]) < g1([[2, 2]])


@settings(max_examples=50, deadline=None)
@given(
    stack=st.tuples(*[st.integers(1, 3)] * 2, st.just(5), st.just(3)).flatmap(
        lambda s: arrays(float, s, elements=counts)
    )
)
def test_a_stack_gives_what_its_tables_give(stack: np.ndarray) -> None:
    stack[..., 0, 0] += 1  # no table without records
    for measure in MEASURES:
        given = fitting(measure, stack)
        one_by_one = [[measure(F) for F in tables] for tables in given]
        np.testing.assert_array_equal(measure(given), one_by_one, err_msg=measure.name)


@settings(max_examples=50, deadline=None)
@given(ragged=st.lists(tables(3, 3), max_size=8))
def test_many_gives_what_the_tables_give(ragged: list[np.ndarray]) -> None:
    for measure in MEASURES:
        given = [fitting(measure, F) for F in ragged]
        assert measure.many(given).tolist() == [measure(F) for F in given], measure.name


def test_many_gives_what_the_tables_give_when_sizes_differ_a_lot() -> None:
    rng = np.random.default_rng(1)
    sizes = [*rng.integers(1, 3000, size=30), 40_000]  # the last is larger than a batch may be
    ragged = [rng.integers(0, 9, size=(n, 2)) + rng.random((n, 2)) for n in sizes]
    for measure in MEASURES:
        given = [fitting(measure, F) for F in ragged]
        assert measure.many(given).tolist() == [measure(F) for F in given], measure.name


def test_an_empty_stack_gives_no_values() -> None:
    for measure in MEASURES:
        assert measure(np.zeros((0, 3, 2))).shape == (0,)
        assert measure.many([]).shape == (0,)

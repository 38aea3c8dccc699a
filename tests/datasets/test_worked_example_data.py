import numpy as np
import pandas as pd
import pytest

from aegis_opt import datasets
from aegis_opt.domain import Domain
from aegis_opt.errors import UnknownColumn
from aegis_opt.masks import group_attribute


def mutual_information_bits(table: np.ndarray) -> float:
    p = table / table.sum()
    q = p.sum(axis=1, keepdims=True) * p.sum(axis=0, keepdims=True)
    return float((p[p > 0] * np.log2(p[p > 0] / q[p > 0])).sum())


def g3(table: np.ndarray) -> float:
    return 1 - float(table.max(axis=1).sum() / table.sum())


def test_table_has_the_published_totals() -> None:
    table = datasets.worked_example_table()
    assert table.shape == (8, 5)
    assert table.to_numpy().sum() == 100
    assert table.sum(axis=1).to_dict() == {10: 4, 17: 12, 43: 4, 55: 30, 60: 20, 65: 10, 75: 10, 80: 10}
    assert table.sum().to_dict() == {"VP": 15, "P": 25, "M": 30, "G": 16, "VG": 14}


def test_table_has_the_published_measures() -> None:
    F = datasets.worked_example_table().to_numpy()
    assert mutual_information_bits(F) == pytest.approx(0.6396, abs=5e-5)
    assert g3(F) == pytest.approx(0.53)
    example = datasets.worked_example()
    domain = Domain.of(example.frame["age"])
    grouping = group_attribute(example.configurations["young-old"]["age"], "age", domain)
    assert set(grouping.labels) == {"Young", "Old"}
    masked = np.zeros((2, 5))
    np.add.at(masked, grouping.groups, F)
    assert mutual_information_bits(masked) == pytest.approx(0.4176, abs=5e-5)
    assert g3(masked) == pytest.approx(0.59)


def test_rows_count_back_to_the_table_and_keep_their_order() -> None:
    example = datasets.worked_example()
    table = datasets.worked_example_table()
    counted = pd.crosstab(example.frame["age"], example.frame["health"])[list(table.columns)]
    assert np.array_equal(counted.to_numpy(), table.to_numpy())
    assert list(counted.index) == list(table.index)
    pd.testing.assert_frame_equal(example.frame, datasets.worked_example().frame)
    rank = example.frame["health"].map({name: i for i, name in enumerate(table.columns)})
    ordered = example.frame.assign(rank=rank).sort_values(["age", "rank"], kind="stable")
    assert list(ordered.index) == list(range(100))


def test_changing_what_was_returned_does_not_change_the_next_one() -> None:
    table, example = datasets.worked_example_table(), datasets.worked_example()
    table.loc[:, :] = 0
    example.frame["age"] = 0
    assert datasets.worked_example_table().to_numpy().sum() == 100
    assert datasets.worked_example().frame["age"].nunique() == 8


def test_a_dataset_whose_label_is_no_column_is_refused() -> None:
    frame = pd.DataFrame({"age": [1], "health": ["G"]})
    with pytest.raises(UnknownColumn, match="'helth': did you mean 'health'"):
        datasets.Dataset("tiny", frame, "helth", None, "")
    assert datasets.Dataset("tiny", frame, "health", None, "").attributes == ("age",)

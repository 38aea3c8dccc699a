"""The clinic: shape, seeds, and that health depends on what it should."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from aegis_opt import datasets
from aegis_opt.datasets import Dataset
from aegis_opt.domain import Domain
from aegis_opt.errors import InvalidInput
from aegis_opt.masks import group_attribute


def counts(data: Dataset, attribute: str) -> np.ndarray:
    return pd.crosstab(data.frame[attribute], data.frame[data.label]).to_numpy(dtype=float)


def excess_information(table: np.ndarray) -> float:
    """Mutual information in bits less what independence would show by chance (Miller-Madow)."""
    p = table / table.sum()
    q = p.sum(axis=1, keepdims=True) * p.sum(axis=0, keepdims=True)
    plain = (p[p > 0] * np.log2(p[p > 0] / q[p > 0])).sum()
    chance = (table.shape[0] - 1) * (table.shape[1] - 1) / (2 * table.sum() * np.log(2))
    return float(plain - chance)


def groupings(data: Dataset, name: str) -> dict[str, np.ndarray]:
    return {
        attribute: group_attribute(
            data.configurations[name][attribute], attribute, Domain.of(data.frame[attribute].unique())
        ).groups
        for attribute in data.attributes
    }


@pytest.fixture(scope="module")
def big_clinic() -> Dataset:
    return datasets.clinic(100_000, seed=3)


def test_clinic_columns_are_plausible(big_clinic: Dataset) -> None:
    frame = big_clinic.frame
    assert list(frame.columns) == ["age", "weight", "zip", "health"]
    assert frame["age"].between(0, 95).all()
    assert frame["weight"].between(2, 250).all()
    assert frame["zip"].str.fullmatch(r"\d{5}").all()
    assert (
        frame.groupby("age")["weight"].mean().loc[3] < 25 < 60 < frame.groupby("age")["weight"].mean().loc[40]
    )
    share = frame["health"].value_counts(normalize=True)
    assert set(share.index) == {"VP", "P", "M", "G", "VG"}
    assert share.min() > 0.05


def test_clinic_health_depends_on_age_most_and_on_zip_least_but_really(big_clinic: Dataset) -> None:
    age, weight, zip_code = (excess_information(counts(big_clinic, a)) for a in ("age", "weight", "zip"))
    assert age > 2 * weight > 4 * zip_code
    assert zip_code > 0.005


def test_clinic_is_reproducible_and_seeds_differ() -> None:
    pd.testing.assert_frame_equal(datasets.clinic(50, seed=1).frame, datasets.clinic(50, seed=1).frame)
    assert not datasets.clinic(50, seed=1).frame.equals(datasets.clinic(50, seed=2).frame)


@pytest.mark.parametrize("n", [1, 7, 2000])
def test_clinic_configurations_fit_clinics_of_any_size(n: int) -> None:
    data = datasets.clinic(n)
    assert len(data.frame) == n
    assert len(data.configurations) == 12
    for name in data.configurations:
        assert set(groupings(data, name)) == {"age", "weight", "zip"}


def test_no_clinic_configuration_keeps_everything_and_no_two_are_the_same() -> None:
    data = datasets.clinic(2000)
    seen = set()
    for name in data.configurations:
        groups = groupings(data, name)
        domains = {attribute: data.frame[attribute].nunique() for attribute in data.attributes}
        assert any(groups[a].max() + 1 < domains[a] for a in domains), name
        seen.add(tuple(tuple(groups[a]) for a in data.attributes))
    assert len(seen) == 12


def test_no_clinic_configuration_refines_all_the_others() -> None:
    """Otherwise it would win whatever the data say."""
    data = datasets.clinic(2000)
    all_groups = {name: groupings(data, name) for name in data.configurations}

    def refines(fine: str, coarse: str) -> bool:
        return all(
            len({*zip(all_groups[fine][a], all_groups[coarse][a], strict=True)})
            == all_groups[fine][a].max() + 1
            for a in data.attributes
        )

    for name in all_groups:
        assert not all(refines(name, other) for other in all_groups if other != name), name


@pytest.mark.parametrize("wrong", [0, -1, 2.0, "5", True, None])
def test_clinic_names_the_wrong_size(wrong: Any) -> None:
    with pytest.raises(InvalidInput, match="n must be a whole number"):
        datasets.clinic(wrong)


@pytest.mark.parametrize("wrong", [-1, 0.5, "x", None])
def test_a_wrong_seed_is_named(wrong: Any) -> None:
    with pytest.raises(InvalidInput, match="seed must be"):
        datasets.clinic(10, seed=wrong)

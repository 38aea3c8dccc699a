"""The truth about a data set: its true deviations, and the fingerprint that tells it from others."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from aegis_opt.datasets import clinic
from aegis_opt.domain import Domain
from aegis_opt.harness import true_deviation
from aegis_opt.harness._truth import Case, scan_case
from aegis_opt.masks import Bucketize, Configurations, Identity, Suppress
from aegis_opt.measures import get_measure
from aegis_opt.sources import _scan


def test_the_fingerprint_changes_with_values_counts_masks_and_label() -> None:
    frame = pd.DataFrame({"x": [0, 1, 2, 3, 4, 5], "y": [0, 1, 0, 1, 0, 1]})
    masks = Configurations({"a": {"x": Bucketize(width=2)}, "b": {"x": Suppress()}})
    cases = [
        Case("d", frame, "y", masks),
        Case("d", frame.assign(x=frame["x"] + 1), "y", masks),  # the same counts of other values
        Case("d", frame.assign(y=[1, 1, 0, 1, 0, 1]), "y", masks),
        Case("d", frame, "y", Configurations({"a": {"x": Bucketize(width=3)}, "b": {"x": Suppress()}})),
        Case("d", frame.rename(columns={"y": "z"}), "z", masks),
    ]
    found = [scan_case(case).fingerprint for case in cases]
    assert len(set(found)) == len(cases)
    assert scan_case(cases[0]).fingerprint == found[0]


@pytest.mark.parametrize("measure", ["mi", "chi2", "g3"])
def test_the_true_deviation_is_what_masking_the_rows_one_by_one_gives(measure: str) -> None:
    """An independent computation: mask each row, count with pandas, compare with the raw counts."""
    data = clinic(200)
    frame = data.frame.assign(age=data.frame["age"].astype("Int64"))
    frame.loc[::7, "age"] = pd.NA  # a missing value is a value, with a group of its own
    assert data.configurations is not None
    rho = get_measure(measure)

    def correlation(values: pd.Series) -> float:
        known = values.astype(object).where(values.notna(), "missing")
        return float(rho(pd.crosstab(known, frame[data.label]).to_numpy()))

    expected = {}
    for name, masks in data.configurations.items():
        gaps = []
        for attribute in data.attributes:
            column = frame[attribute]
            domain = Domain.of(column)
            groups = masks.get(attribute, Identity()).group(domain).groups
            group_of = dict(zip(domain.to_list(), groups.tolist(), strict=True))
            masked = pd.Series([group_of[None if pd.isna(value) else value] for value in column])
            gaps.append(abs(correlation(column) - correlation(masked)))
        expected[name] = np.mean(gaps)
    found = true_deviation(frame, measure, data.label, data.configurations)
    pd.testing.assert_series_equal(found, pd.Series(expected), rtol=1e-9)


def test_a_source_is_scanned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = []
    count = _scan.Counter.count
    monkeypatch.setattr(
        _scan.Counter, "count", lambda self, report: (counted.append(self), count(self, report))[1]
    )
    frame = pl.DataFrame({"x": [0, 1, 2, 3], "y": [0, 1, 0, 1]})
    scanned = scan_case(Case("d", frame, "y", Configurations({"all": {"x": Suppress()}})))
    assert len(counted) == 1
    assert scanned.raw["x"].tolist() == [[1, 0], [0, 1], [1, 0], [0, 1]]

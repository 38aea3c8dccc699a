"""Small frames are counted without a database, and give what a database gives."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.pandas import column, data_frames, range_indexes

from aegis_opt.errors import SourceError
from aegis_opt.sources import _small_frames, scan

Y = [0, 1, 1, 0]
COLUMNS = {
    "integers": [3, 1, 1, -5],
    "small": np.array([3, 1, 1, 200], dtype=np.uint8),
    "large": np.array([3, 1, 1, 2**63 - 1], dtype=np.uint64),
    "reals": [0.0, -0.0, np.nan, np.inf],
    "single": np.array([0.1, 0.1, np.nan, 2.5], dtype=np.float32),
    "half": np.array([0.5, 0.25, 2, 2], dtype=np.float16),
    "booleans": [True, False, True, True],
    "texts": ["b", "a", None, "ä\n"],
    "empty text": ["", "a", np.nan, ""],
    "objects": pd.Series(["b", "a", None, "b"], dtype=object),
    "mixed": pd.Series([1, 2, 2, None], dtype=object),
    "categories": pd.Categorical(["x", "y", None, "x"], categories=["y", "z", "x"]),
    "coded": pd.Categorical([3, 1, 1, 3]),
    "nullable": pd.array([1, None, 2, 1], dtype="Int64"),
    "dates": pd.Series([dt.date(2020, 1, i) for i in (1, 2, 3, 3)], dtype=object),
    "moments": pd.to_datetime(["2020-01-01", None, "2020-01-03", "2020-01-03"]),
    "nothing": [None] * 4,
}


@pytest.mark.parametrize("name", COLUMNS)
def test_every_type_of_column_is_counted_as_by_the_database(name: str, monkeypatch) -> None:
    frame = pd.DataFrame({"a": COLUMNS[name], "y": Y})
    here = scan(frame, "y")
    monkeypatch.setattr(_small_frames, "LARGEST", 0)
    there = scan(frame, "y")
    assert here.attributes["a"].domain == there.attributes["a"].domain
    assert here.attributes["a"].table.tolist() == there.attributes["a"].table.tolist()
    assert here.label_counts.tolist() == there.label_counts.tolist()


@settings(max_examples=60, deadline=None)
@given(
    frame=data_frames(
        [
            column("r", elements=st.floats(allow_nan=True, allow_infinity=True)),
            column("i", elements=st.integers(-(2**63), 2**63 - 1), dtype=np.int64),
            column("t", elements=st.text(max_size=3) | st.none(), dtype=object),
            column("y", elements=st.integers(0, 2), dtype=np.int64),
        ],
        index=range_indexes(min_size=1, max_size=12),
    )
)
def test_any_frame_is_counted_as_by_the_database(frame: pd.DataFrame) -> None:
    def counted(largest: int):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_small_frames, "LARGEST", largest)
            try:
                found = scan(frame, "y")
            except SourceError as error:
                return str(error)
            return {
                name: (joint.domain.kind, repr(joint.domain.to_list()), joint.table.tolist())
                for name, joint in found.attributes.items()
            }

    assert counted(100) == counted(0)


def test_the_database_says_what_is_wrong_with_a_frame() -> None:
    for values, words in (
        (["\ud800", "a", "b", "a"], "a"),
        ([[1], [2], [3], [3]], "holds Python objects"),
    ):
        with pytest.raises(SourceError, match=words):
            scan(pd.DataFrame({"a": pd.Series(values, dtype=object), "y": Y}), "y")
    with pytest.raises(SourceError, match="has no records"):
        scan(pd.DataFrame({"a": [], "y": []}), "y")
    with pytest.raises(SourceError, match="one class only"):
        scan(pd.DataFrame({"a": [1, 2], "y": [1, 1]}), "y")
    with pytest.raises(SourceError, match="25 classes in 25 records"):
        scan(pd.DataFrame({"a": range(25), "y": [f"c{i}" for i in range(25)]}), "y")

"""Wide tables are counted in parts of their columns, which changes nothing but the time."""

from __future__ import annotations

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from aegis_opt.sources import _duckdb_engine as engine
from aegis_opt.sources import _small_frames, scan
from aegis_opt.sources._tables import PandasTable

KINDS = ("pandas", "polars", "arrow", "relation", "parquet", "csv")


@pytest.fixture
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    columns = {f"a{i}": rng.integers(6 + i, size=200) for i in range(7)}
    return pd.DataFrame(
        {**columns, "text": [f"t{i % 13}" for i in range(200)], "y": rng.integers(2, size=200)}
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("max_values", [None, 10])
def test_parts_count_as_the_whole_does(frame, kind, max_values, monkeypatch, tmp_path):
    monkeypatch.setattr(engine, "_PART", 10)
    connection = duckdb.connect()
    frame.to_parquet(tmp_path / "wide.parquet")
    frame.to_csv(tmp_path / "wide.csv", index=False)
    source = {
        "pandas": lambda: frame,
        "polars": lambda: pl.from_pandas(frame),
        "arrow": lambda: pa.Table.from_pandas(frame),
        "relation": lambda: connection.from_df(frame),
        "parquet": lambda: tmp_path / "wide.parquet",
        "csv": lambda: tmp_path / "wide.csv",
    }[kind]()
    whole = scan(source, "y", max_values=max_values)
    monkeypatch.setattr(engine, "_PART", 3)
    parts = scan(source, "y", max_values=max_values)
    assert parts.label_counts.tolist() == whole.label_counts.tolist()
    assert list(parts.attributes) == list(whole.attributes) == [*frame.columns[:-1]]
    for name, counted in whole.attributes.items():
        assert parts.attributes[name].domain.to_list() == counted.domain.to_list()
        assert parts.attributes[name].table.tolist() == counted.table.tolist()
        assert parts.attributes[name].coarsening == counted.coarsening
    coarse = [name for name, counted in whole.attributes.items() if counted.coarsening is not None]
    assert coarse == (["a5", "a6", "text"] if max_values else [])


def test_a_query_sees_the_part_with_its_columns_and_the_label(frame, monkeypatch):
    seen: list[list[int]] = []
    select = PandasTable.select

    def spy(self, connection, positions):
        seen.append(list(positions))
        return select(self, connection, positions)

    monkeypatch.setattr(_small_frames, "LARGEST", 0)
    monkeypatch.setattr(PandasTable, "select", spy)
    monkeypatch.setattr(engine, "_PART", 3)
    scan(frame, "y")
    label = len(frame.columns) - 1
    assert seen == [[label, *range(8)], [label, 0, 1], [label, 2, 3, 4], [label, 5, 6, 7]]

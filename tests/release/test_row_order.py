"""Masked values belong to their own records, and the records keep their order, however many there are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from release_zoo import AWKWARD, fitting

import aegis_opt as ao
from aegis_opt.domain import Domain
from aegis_opt.masks import Mask
from aegis_opt.release._duckdb import DuckDBRows, masked_columns
from aegis_opt.sources._column import SQL_TYPES

N_RECORDS = 250_000  # more than one thread of DuckDB takes
VALUES = [f"v{i:02}" for i in range(60)]
X = np.random.default_rng(0).integers(0, 60, N_RECORDS)
FRAME = pd.DataFrame({"x": np.array(VALUES)[X], "place": np.arange(N_RECORDS)})
MASKS: dict[str, tuple[Mask, Any]] = {
    "mapping": (
        ao.Generalize({"low": VALUES[:30], "high": VALUES[30:]}),
        np.where(X < 30, "low", "high"),
    ),
    "top": (ao.KeepTop(7, values=VALUES[:7]), np.where(X < 7, FRAME["x"], "other")),
    "pooled": (ao.PoolRare(9, values=VALUES[:50]), np.where(X < 50, FRAME["x"], "other")),
    "many": (
        ao.Generalize({f"o{i:02}": [v] for i, v in enumerate(VALUES)}),
        np.char.add("o", FRAME["x"].str[1:].to_numpy(str)),
    ),
}


@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "csv", "parquet", "relation", "transformer"])
def test_masked_values_are_those_of_their_records(name: str, kind: str, tmp_path: Path) -> None:
    """DuckDB makes a join of `IN` with five or more constants, which mixed up the rows of large tables."""
    mask, expected = MASKS[name]
    source: Any = {
        "pandas": lambda: FRAME,
        "polars": lambda: pl.from_pandas(FRAME),
        "arrow": lambda: pl.from_pandas(FRAME).to_arrow(),
        "csv": lambda: tmp_path / "t.csv",
        "parquet": lambda: tmp_path / "t.parquet",
        "relation": lambda: duckdb.from_arrow(pl.from_pandas(FRAME).to_arrow()),
        "transformer": lambda: FRAME,
    }[kind]()
    if isinstance(source, Path):
        frame = pl.from_pandas(FRAME)
        frame.write_csv(source) if kind == "csv" else frame.write_parquet(source, row_group_size=20_000)
    for _ in range(2):
        if kind == "transformer":
            masked: Any = ao.MaskingTransformer({"x": mask}).fit(source).transform(source)
        elif isinstance(source, Path):
            masked = pl.read_parquet(
                ao.apply_configuration(source, {"x": mask}, output=tmp_path / "masked.parquet")
            )
        else:
            masked = ao.apply_configuration(source, {"x": mask})
        if isinstance(masked, duckdb.DuckDBPyRelation):
            masked = masked.pl()
        assert int((np.asarray(masked["x"]).astype(str) != expected.astype(str)).sum()) == 0
        assert int((np.asarray(masked["place"]) != FRAME["place"].to_numpy()).sum()) == 0


def test_the_same_seed_gives_the_same_noise_beside_a_list_of_values() -> None:
    masks: dict[str, Mask] = {
        "x": ao.KeepTop(7, values=VALUES[:7]),
        "age": ao.AddNoise("geometric", scale=2.0, low=0, high=99, seed=3),
    }
    frame = FRAME.assign(age=X)
    both = ao.apply_configuration(frame, masks)
    alone = ao.apply_configuration(frame, {"age": masks["age"]})
    assert (both["age"] == alone["age"]).all()


@pytest.mark.parametrize("kind", AWKWARD)
def test_rows_are_sorted_again_wherever_duckdb_joins(kind: str) -> None:
    """Whatever a mask is written as: what DuckDB makes a join of would lose the order of large tables."""
    domain = Domain.of(AWKWARD[kind])
    seen = set()
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE t (c0 {SQL_TYPES[domain.kind]})")
        connection.executemany("INSERT INTO t VALUES (?)", [[value] for value in AWKWARD[kind]])
        for mask in fitting(domain):
            rows = DuckDBRows.of(connection.table("t"), ["x"], {"x": mask}, "the table")
            plan = rows.masked(masked_columns(rows), None).explain().upper().replace("_", " ")
            assert "JOIN" not in plan or "ORDER BY" in plan, (mask, plan)
            seen.add("JOIN" in plan)
    assert seen >= {False, kind in ("integer", "string")}  # the other kinds have few values

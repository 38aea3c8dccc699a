"""NULL, NaN, NaT and None are one missing value, whatever holds the table that is masked."""

import duckdb
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest

import aegis_opt as ao
from aegis_opt._nan import is_nan
from aegis_opt.domain import Domain

VALUES = [10.5, 60.0, float("nan"), None, 20.0]
FRAME = pl.DataFrame({"age": VALUES, "y": list("ababa")})
EXPECTED = {
    ao.TopCode(50): ["10.5", ">=50", None, None, "20.0"],
    ao.Bucketize(edges=[0, 15, 50]): ["[0, 15)", ">=50", None, None, "[15, 50)"],
    ao.Bucketize(width=50): ["[0, 50)", "[50, 100)", None, None, "[0, 50)"],
    ao.Generalize(ranges=1): ["[10.5, 60]", "[10.5, 60]", None, None, "[10.5, 60]"],
    ao.Generalize([["low", [10.5, 20.0]], ["high", [60.0]], ["?", [None]]]): ["low", "high", "?", "?", "low"],
    ao.Suppress(): ["*"] * 5,
}


@pytest.fixture(
    params=[
        "pandas",
        "polars",
        "arrow",
        "csv",
        "parquet",
        "by DuckDB",
        "by Arrow",
        "relation",
        "read",
        "float",
    ]
)
def source(request, tmp_path):
    kind = request.param
    path = tmp_path / f"t.{'csv' if kind == 'csv' else 'parquet'}"
    if kind == "csv":
        FRAME.write_csv(path)
    elif kind in ("by DuckDB", "read"):  # its statistics leave NaN out
        duckdb.from_arrow(FRAME.to_arrow()).write_parquet(str(path))
    elif kind == "by Arrow":
        pq.write_table(FRAME.to_arrow(), path)
    elif kind == "float":
        FRAME.with_columns(pl.col("age").cast(pl.Float32)).write_parquet(path)
    else:
        FRAME.write_parquet(path)
    return {
        "pandas": FRAME.to_pandas,
        "polars": lambda: FRAME,
        "arrow": FRAME.to_arrow,
        "relation": lambda: duckdb.from_arrow(FRAME.to_arrow()),
        "read": lambda: duckdb.read_parquet(str(path)),
    }.get(kind, lambda: path)()


def shown(result):
    if isinstance(result, duckdb.DuckDBPyRelation):
        return [row[0] for row in result.fetchall()]
    column = result["age"]
    values = column.to_pylist() if hasattr(column, "to_pylist") else column.to_list()
    return [None if value != value else value for value in values]


@pytest.mark.parametrize("mask", EXPECTED, ids=repr)
def test_nan_is_masked_as_missing_on_every_path(source, mask, tmp_path):
    assert shown(ao.apply_configuration(source, {"age": mask})) == EXPECTED[mask]
    output = ao.apply_configuration(source, {"age": mask}, output=tmp_path / "out.parquet")
    assert pl.read_parquet(output)["age"].to_list() == EXPECTED[mask]


@pytest.mark.parametrize("mask", EXPECTED, ids=repr)
def test_nan_is_missing_in_the_sql_and_for_the_transformer(mask):
    expected = EXPECTED[mask]
    frame = FRAME.to_pandas()
    fitted = ao.MaskingTransformer({"age": mask}).fit_transform(frame)
    assert shown(fitted) == expected
    known = None if mask != ao.Generalize(ranges=1) else {"age": Domain.of(VALUES)}
    sql = ao.Configuration({"age": mask}).to_sql("duckdb", "t", domains=known)
    with duckdb.connect() as connection:
        connection.register("t", FRAME.to_arrow())
        found = [row[0] for row in connection.execute(sql).fetchall()]
    assert found == expected


def test_nan_is_missing_in_a_summary_too():
    summary = ao.summarize(FRAME, "y", {"c": {"age": ao.TopCode(50)}}, histograms=True)
    assert pd.Series(summary.masked_table("c", "age").joint.sum(axis=1)).sum() == 5
    assert summary.attributes["age"].histogram.tolist() == [1, 1, 1, 2]


@pytest.mark.parametrize("high", [0.0, 1.5])
@pytest.mark.parametrize("kind", [pl.Float64, pl.Float32])
@pytest.mark.parametrize("source", ["file", "relation"])
def test_nan_is_missing_where_a_file_has_no_null_and_its_statistics_leave_nan_out(
    tmp_path, source, kind, high
) -> None:
    """DuckDB concludes from such statistics that a plain isnan() never holds."""
    path = tmp_path / "t.parquet"
    values = pl.Series([high, float("nan"), -2.25, float("nan"), high], dtype=kind)
    pl.DataFrame({"age": values, "y": list("ababa")}).write_parquet(path)
    given = path if source == "file" else duckdb.read_parquet(str(path))
    one = f"[-2.25, {high:g}]"
    assert duckdb.sql(f"SELECT count(*) FROM '{path}' WHERE {is_nan('age')}").fetchall() == [(2,)]
    for mask, expected in (
        (ao.Generalize(ranges=1), [one, None, one, None, one]),
        (ao.TopCode(-1), [">=-1", None, "-2.25", None, ">=-1"]),
    ):
        assert shown(ao.apply_configuration(given, {"age": mask})) == expected
    [row] = ao.check_privacy(given, {"c": {"age": ao.Identity()}}, ao.privacy.KAnonymity(2)).to_dict(
        "records"
    )
    assert (row["classes"], row["smallest_class"]) == (3, 1)
    sql = ao.Configurations({"c": {"age": ao.TopCode(-1)}})["c"].to_sql("duckdb", str(path).join("''"))
    assert "isnan(exp(" in sql.lower()

"""Suppression of small classes: what is left is k-anonymous, the same on every kind of source and in SQL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import aegis_opt as ao
from aegis_opt.cli import main
from aegis_opt.masks import Configuration
from aegis_opt.privacy import KAnonymity

MASKS = Configuration(
    {"age": ao.Bucketize(width=20), "city": ao.Prefix(1), "weight": ao.Identity()}, name="c"
)
K = 6


def people(n: int = 200) -> pd.DataFrame:
    random = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "place": np.arange(n),
            "age": random.integers(18, 70, n),
            "city": random.choice(["Aix", "Albi", "Bonn", "Bari", "Cork"], n, p=[0.3, 0.3, 0.2, 0.15, 0.05]),
            "weight": random.choice([50.0, -0.0, 0.0, 80.5], n, p=[0.6, 0.1, 0.2, 0.1]),
        },
        index=np.arange(n) * 10,
    )
    frame.loc[::190, "weight"] = np.nan
    frame.loc[::40, "city"] = None
    return frame


def rows(frame: pd.DataFrame) -> list[tuple[Any, ...]]:
    plain = frame.astype(object).where(frame.notna(), None)
    return [tuple(row) for row in plain.itertuples(index=False)]


@pytest.mark.parametrize("names", [None, ["age"], ["place", "city"], ["age", "weight"]], ids=str)
@pytest.mark.parametrize("how", ["drop", "blank"])
def test_every_kind_of_source_gives_the_same(names: list[str] | None, how: Any, tmp_path: Path) -> None:
    frame = people()
    if names == ["place", "city"]:
        frame["place"] = frame["place"] % 7 // 2
    asked = ["age", "city", "weight"] if names is None else names
    masked = ao.apply_configuration(frame, MASKS)
    keys = masked.assign(weight=masked["weight"].astype(str))[asked]  # 0.0 and -0.0 look different
    kept = keys.assign(n=1).groupby(asked, dropna=False)["n"].transform("sum") >= K
    assert kept.any()
    counted: list[tuple[int, int]] = []
    options: dict[str, Any] = {
        "suppress_below": K,
        "quasi_identifiers": names,
        "suppressed": how,
        "on_suppressed": lambda gone, n: counted.append((gone, n)),
    }
    wanted = masked[kept] if how == "drop" else masked.assign(**{q: masked[q].where(kept) for q in asked})
    found = ao.apply_configuration(frame, MASKS, **options)
    assert rows(found) == rows(wanted)
    assert found.index.tolist() == wanted.index.tolist()
    frame.to_parquet(tmp_path / "people.parquet", index=False)
    frame.to_csv(tmp_path / "people.csv", index=False)
    others = {
        "polars": ao.apply_configuration(pl.from_pandas(frame), MASKS, **options).to_pandas(),
        "arrow": ao.apply_configuration(
            pa.Table.from_pandas(frame, preserve_index=False), MASKS, **options
        ).to_pandas(),
        "parquet": ao.apply_configuration(tmp_path / "people.parquet", MASKS, **options),
        "csv": ao.apply_configuration(tmp_path / "people.csv", MASKS, **options),
        "relation": ao.apply_configuration(duckdb.connect().from_df(frame), MASKS, **options).df(),
    }
    output = tmp_path / "masked.parquet"
    ao.apply_configuration(tmp_path / "people.csv", MASKS, output=output, **options)
    others["file"] = pd.read_parquet(output)
    for kind, other in others.items():
        assert rows(other) == rows(wanted), kind
    assert set(counted) == {(int((~kept).sum()), len(frame))}
    if how == "drop":
        checked = ao.check_privacy(
            found, {"as it is": dict.fromkeys(asked, ao.Identity())}, KAnonymity(K), quasi_identifiers=asked
        )
        assert checked["private"].all()


def test_sql_leaves_out_the_same_records() -> None:
    frame = people().reset_index(drop=True).fillna({"weight": 0.0})
    with duckdb.connect() as connection:
        connection.register("source", frame)
        domains = ao.source_domains(frame, MASKS)
        for asked in (None, ["age", "weight"], ["city", "age"]):
            sql = MASKS.to_sql(
                columns=["place", *MASKS], domains=domains, suppress_below=K, quasi_identifiers=asked
            )
            found = connection.execute(sql).df().sort_values("place")
            wanted = ao.apply_configuration(frame, MASKS, suppress_below=K, quasi_identifiers=asked)
            assert 0 < len(wanted) < len(frame)
            assert rows(found) == rows(wanted)


def test_a_column_may_be_called_as_the_sizes_are() -> None:
    masks = Configuration({"class_size": ao.Suppress(), "masked": ao.Suppress()})
    sql = masks.to_sql("duckdb", "t", suppress_below=2, columns=["class_size", "masked", "sized"])
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT i AS class_size, i AS masked, i AS sized FROM range(3) r(i)"
        )
        assert sorted(connection.execute(sql).fetchall()) == [("*", "*", 0), ("*", "*", 1), ("*", "*", 2)]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"suppress_below": 0}, "suppress_below must be a whole number from 1 up"),
        ({"suppress_below": 150}, "all 200 records are in classes of fewer than 150"),
        ({"suppress_below": 500}, "all 200 records are in classes of fewer than 500"),
        ({"suppress_below": 2, "quasi_identifiers": []}, "no quasi-identifier"),
        ({"suppress_below": 2, "quasi_identifiers": "age"}, r"write \['age'\]"),
        ({"suppress_below": 2, "quasi_identifiers": ["aeg"]}, "unknown column 'aeg': did you mean 'age'"),
        ({"suppress_below": 2, "suppressed": "hide"}, "suppressed must be 'drop' or 'blank'"),
        ({"quasi_identifiers": ["age"]}, "pass suppress_below=k, too"),
        ({"suppressed": "blank"}, "pass suppress_below=k, too"),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, Any], text: str, tmp_path: Path) -> None:
    with pytest.raises(ao.AegisError, match=text):
        ao.apply_configuration(people(), MASKS, **options)
    with pytest.raises(ao.AegisError, match=text):
        ao.apply_configuration(people(), MASKS, output=tmp_path / "masked.csv", **options)
    assert not list(tmp_path.iterdir())


def test_too_few_blanked_records_are_refused() -> None:
    frame = pd.DataFrame({"a": list("xxxxy"), "b": range(5)})
    masks = {"a": ao.Identity()}
    with pytest.raises(ao.AegisError, match="the 1 blanked records would form a class of fewer than 2"):
        ao.apply_configuration(frame, masks, suppress_below=2, suppressed="blank")
    assert len(ao.apply_configuration(frame, masks, suppress_below=2)) == 4
    with pytest.raises(ao.AegisError, match="quasi_identifiers are about suppression"):
        Configuration(masks).to_sql(quasi_identifiers=["a"])


def test_the_command_suppresses_and_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    people().to_csv(tmp_path / "people.csv", index=False)
    ao.save_configurations(ao.Configurations({"c": MASKS}), tmp_path / "masks.json")
    command = ["mask", str(tmp_path / "people.csv"), "--configurations", str(tmp_path / "masks.json")]
    output = tmp_path / "masked.csv"
    options = ["--suppress-below", str(K), "--quasi-identifier", "age", "--quasi-identifier", "city"]
    assert main([*command, "-o", str(output), *options]) == 0
    wanted = ao.apply_configuration(people(), MASKS, suppress_below=K, quasi_identifiers=["age", "city"])
    assert f"{len(people()) - len(wanted)} of 200 records are suppressed" in capsys.readouterr().out
    assert rows(pd.read_csv(output)) == rows(wanted.reset_index(drop=True))
    assert main([*command, "-o", str(output), *options, "--json"]) == 0
    assert f'"suppressed": {len(people()) - len(wanted)}' in capsys.readouterr().out
    assert main([*command, "--sql", "postgresql", *options]) == 0
    assert "PARTITION BY" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="2"):
        main([*command, "--sql", "postgresql", *options, "--blank"])
    with pytest.raises(SystemExit, match="2"):
        main([*command, "-o", str(output), "--blank"])


@pytest.mark.parametrize("names", [None, ["x", "age"]], ids=["under Identity", "not masked"])
@pytest.mark.parametrize("kind", ["arrow", "polars", "parquet", "relation", "csv"])
def test_records_that_look_different_are_no_class(kind: str, names: list[str] | None, tmp_path: Path) -> None:
    """NaN and NULL, 0.0 and -0.0 were counted as one class, and released as they were: each was unique."""
    values = [1.5, 1.5, float("nan"), None, 0.0, -0.0, 2.0, 2.0]
    table = pa.table({"x": pa.array(values, pa.float64()), "age": [1] * 8})
    source: Any = table
    if kind == "polars":
        source = pl.from_arrow(table)
    elif kind == "parquet":
        source = tmp_path / "t.parquet"
        pq.write_table(table, source)
    elif kind == "relation":
        source = duckdb.from_arrow(table)
    elif kind == "csv":
        source = tmp_path / "t.csv"
        source.write_text("x,age\n" + "".join(f"{'' if x is None else x},1\n" for x in values))
    masks: dict[str, Any] = {"age": ao.Bucketize(width=20)} | ({"x": ao.Identity()} if names is None else {})
    output = tmp_path / "masked.csv"
    if kind in ("csv", "parquet"):
        ao.apply_configuration(source, masks, suppress_below=2, quasi_identifiers=names, output=output)
        seen = [line.split(",")[0] for line in output.read_text().splitlines()[1:]]
    else:
        masked: Any = ao.apply_configuration(source, masks, suppress_below=2, quasi_identifiers=names)
        rows = (
            masked.fetchall()
            if kind == "relation"
            else list(zip(*masked.to_pydict().values(), strict=True))
            if kind == "arrow"
            else masked.rows()
        )
        seen = [str(row[0]) for row in rows]
    assert [float(x) for x in seen] == [1.5, 1.5, 2.0, 2.0]


@pytest.mark.parametrize("names", [None, ["x", "age"]], ids=["under Identity", "not masked"])
def test_sql_keeps_no_records_that_look_different(names: list[str] | None) -> None:
    masks: dict[str, Any] = {"age": ao.Bucketize(width=20)} | ({"x": ao.Identity()} if names is None else {})
    sql = Configuration(masks).to_sql(
        "duckdb",
        "t",
        columns=["x", "age"],
        domains={"age": "integer"},
        suppress_below=2,
        quasi_identifiers=names,
    )
    connection = duckdb.connect()
    values = "('1.5'), ('1.5'), ('nan'), (NULL), ('0.0'), ('-0.0')"
    connection.execute(
        f"CREATE TABLE t AS SELECT CAST(x AS DOUBLE) AS x, 1 AS age FROM (VALUES {values}) AS v(x)"
    )
    assert [row[0] for row in connection.execute(sql).fetchall()] == [1.5, 1.5]

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
    keys = masked.assign(weight=masked["weight"] + 0.0)[asked]
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


REALS = [1.5, 1.5, float("nan"), None, 0.0, -0.0, 7.0]


@pytest.mark.parametrize("precision", ["double", "float"])
@pytest.mark.parametrize("names", [None, ["x", "q"]], ids=["under Identity", "not masked"])
@pytest.mark.parametrize("how", ["drop", "blank"])
def test_equal_reals_are_released_as_one_value(names: Any, how: Any, precision: str, tmp_path: Path) -> None:
    """NaN and NULL are one class, as are 0.0 and -0.0: what is released must not tell them apart."""
    real = pa.float64() if precision == "double" else pa.float32()
    table = pa.table({"x": pa.array([*REALS, 8.0], real, from_pandas=False), "q": list("aabbccde")})
    pq.write_table(table, tmp_path / "t.parquet")
    masks = {"q": ao.Suppress()} if names else {"x": ao.Identity(), "q": ao.Suppress()}
    wanted = ["1.5", "1.5", "None", "None", "0.0", "0.0", *(["None", "None"] if how == "blank" else [])]
    stars = ["*"] * 6 + ([None] * 2 if how == "blank" else [])
    for kind, source in {
        "arrow": table,
        "polars": pl.from_arrow(table),
        "pandas": table.to_pandas(),
        "nullable": table.to_pandas(types_mapper=pd.ArrowDtype),
        "object": table.to_pandas().astype(object),
        "categories": table.to_pandas().astype({"x": "category"}),
        "path": tmp_path / "t.parquet",
        "relation": duckdb.connect().from_arrow(table),
    }.items():
        given: Any = source
        released = ao.apply_configuration(
            given, masks, suppress_below=2, quasi_identifiers=names, suppressed=how
        )
        if isinstance(released, duckdb.DuckDBPyRelation):
            found = released.fetchall()
        elif isinstance(released, pd.DataFrame):
            found = rows(released)
            if isinstance(source, pd.DataFrame) and how == "drop":
                assert released["x"].dtype == source["x"].dtype
        else:
            arrow = released if isinstance(released, pa.Table) else released.to_arrow()
            assert arrow.schema.field("x").type == real
            found = list(zip(*arrow.to_pydict().values(), strict=True))
        assert [(str(x), q) for x, q in found] == list(zip(wanted, stars, strict=True)), kind
        for output in ("o.parquet", "o.csv"):
            written = ao.apply_configuration(
                given,
                masks,
                suppress_below=2,
                quasi_identifiers=names,
                suppressed=how,
                output=tmp_path / output,
            )
            with duckdb.connect() as connection:
                read = connection.execute(f"SELECT CAST(x AS VARCHAR) FROM '{written}'").fetchall()
            assert [str(x) for (x,) in read] == wanted, (kind, output)


def test_a_csv_file_tells_apart_only_what_is_counted_apart(tmp_path: Path) -> None:
    """A number may be written in several ways; the texts of columns that are not counted stay."""
    (tmp_path / "t.csv").write_text(
        "x,q,z\n1,a,1.50\n1.0,a,-0.0\n-0.0,b,nan\n0,b,NaN\nnan,c,2.0\n,c,+1\n2.5,d,1\n"
    )
    for masks, names in (
        ({"q": ao.Suppress()}, ["x", "q"]),
        ({"x": ao.Identity(), "q": ao.Suppress()}, None),
    ):
        output = ao.apply_configuration(
            tmp_path / "t.csv", masks, suppress_below=2, quasi_identifiers=names, output=tmp_path / "o.csv"
        )
        assert output.read_text() == ("x,q,z\n1.0,*,1.50\n1.0,*,-0.0\n0.0,*,nan\n0.0,*,NaN\n,*,2.0\n,*,+1\n")


def test_identity_releases_what_was_checked(tmp_path: Path) -> None:
    """A configuration that keeps a real column is private only if that is released as it is counted."""
    table = pa.table({"x": pa.array(REALS[:-1], pa.float64(), from_pandas=False), "y": REALS[:-1]})
    masks = {"x": ao.Identity()}
    checked = ao.check_privacy(table, {"c": masks}, KAnonymity(2))
    assert checked["private"].all()
    wanted = [1.5, 1.5, None, None, 0.0, 0.0]
    masked = ao.apply_configuration(table, masks)
    assert list(map(str, masked["x"].to_pylist())) == list(map(str, wanted))
    assert list(map(str, masked["y"].to_pylist())) == list(map(str, table["y"].to_pylist()))  # not named
    for frame in (table, pl.from_arrow(table), table.to_pandas(types_mapper=pd.ArrowDtype)):
        column = ao.MaskingTransformer(masks).fit_transform(frame)["x"]
        found = column.to_pylist() if isinstance(frame, pa.Table) else column.to_list()
        assert ["None" if pd.isna(x) else str(x) for x in found] == list(map(str, wanted))
    array = np.array([[0.0, 1.0], [-0.0, np.nan]])
    masking = ao.MaskingTransformer({"x0": ao.Identity(), "x1": ao.Identity()}).fit(array)
    assert np.signbit(masking.transform(array)).sum() == 0
    assert np.signbit(array).sum() == 1  # what was given stays
    lists = pa.table({"x": [[0.0], [-0.0], [1.0], [1.0]]})  # of which the library has no values to write
    with duckdb.connect() as connection:
        left = ao.apply_configuration(
            connection.from_arrow(lists), {}, suppress_below=2, quasi_identifiers=["x"]
        ).fetchall()
    assert left == [([1.0],), ([1.0],)]


def test_sql_does_not_tell_equal_reals_apart() -> None:
    masks = Configuration({"x": ao.Identity(), "q": ao.Suppress()})
    source = pa.table({"x": pa.array(REALS, pa.float64(), from_pandas=False), "q": list("aabbccd")})
    domains = ao.source_domains(source, masks)
    assert domains["x"].kind == "real"
    with duckdb.connect() as connection:
        connection.register("source", source)
        told = connection.execute(masks.to_sql(domains=domains, suppress_below=2)).fetchall()
        assert sorted(str(x) for x, _ in told) == ["0.0", "0.0", "1.5", "1.5", "None", "None"]
        untold = connection.execute(masks.to_sql(suppress_below=2)).fetchall()
        assert [x for x, _ in untold] == [1.5, 1.5]  # of an unknown type: suppressed rather than told apart
        asked = {"suppress_below": 2, "quasi_identifiers": ["x"], "columns": ["x", "q"]}
        only = Configuration({"q": ao.Suppress()})
        named = connection.execute(only.to_sql(domains={"x": "real"}, **asked)).fetchall()  # type: ignore[arg-type]
        assert sorted(named, key=str) == sorted(told, key=str)


def test_categories_of_reals_stay_categories() -> None:
    """Arrow does not cast reals to a dictionary of them."""
    reals = pd.Categorical([1.5, -0.0, 2.0] * 4)
    table = pa.Table.from_pandas(pd.DataFrame({"x": reals, "y": list("ab") * 6}))
    for source in (table, table.to_pandas(), pl.from_arrow(table)):
        for options in ({}, {"suppress_below": 2, "quasi_identifiers": ["x"]}):
            masked: Any = ao.apply_configuration(source, {"x": ao.Identity(), "y": ao.Suppress()}, **options)  # type: ignore[call-overload]
            assert [float(str(x)) for x in list(masked["x"])[:3]] == [1.5, 0.0, 2.0]
    assert masked["x"].dtype == source["x"].dtype  # type: ignore[index]

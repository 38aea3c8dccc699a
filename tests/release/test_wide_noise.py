"""Noise of many masked values: DuckDB looks it up in steps, and draws what the channel says."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

import aegis_opt as ao
from aegis_opt.domain import Domain
from aegis_opt.errors import MaskError, SourceError
from aegis_opt.masks import Mask, NoiseMask
from aegis_opt.masks._noise import uniforms
from aegis_opt.masks._sql import Draw, SqlColumn, _draw, drawn_column
from aegis_opt.release._duckdb import DuckDBRows, masked_columns
from aegis_opt.release._progress import readable

VALUES: dict[str, list[Any]] = {
    "integer": [*range(-40, 39), -(2**62), 2**62],
    "real": [*(i / 7 - 3 for i in range(78)), 1e300, 5e-324, -0.5],
    "string": [*(f"v{i}" for i in range(76)), "", "it's", "a,b", "\x01", "é"],
    "date": [dt.date(1999, 12, 1) + dt.timedelta(days=37 * i) for i in range(81)],
    "datetime": [dt.datetime(1999, 12, 1) + dt.timedelta(hours=37 * i, microseconds=i) for i in range(81)],
}


def channel_of(n: int, m: int | None = None, seed: int = 0) -> Any:
    m = m or n
    matrix = np.random.default_rng(seed).dirichlet(np.full(m, 0.3), size=n).T + 4 * np.eye(m, n)
    return matrix / matrix.sum(axis=0)


def wide_masks(kind: str, missing: bool) -> dict[str, NoiseMask]:
    values = [*VALUES[kind], *([None] if missing else [])]
    shuffled = [values[i] for i in np.random.default_rng(1).permutation(len(values))]
    n = len(values)
    masks: dict[str, NoiseMask] = {
        "pram": ao.Pram(channel_of(n), values=shuffled, seed=2),
        "pram to others": ao.Pram(
            channel_of(n, n + 3), values=shuffled, masked=[None, *(i / 4 for i in range(n + 2))], seed=5
        ),
        "response": ao.RandomizedResponse(p=0.3, domain=[*shuffled, *others(kind)], seed=3),
        "certain": ao.RandomizedResponse(p=1.0, domain=[*shuffled, *others(kind)], seed=3),
    }
    if kind == "integer":
        for distribution in ("geometric", "discrete_gaussian"):
            masks[distribution] = ao.AddNoise(distribution, scale=70.0, low=-30, high=900, seed=4)
    return masks


def others(kind: str) -> list[Any]:
    """Return values that do not occur, as randomised response takes many to be wide."""
    match kind:
        case "integer":
            return list(range(1000, 1300))
        case "real":
            return [i + 1000.25 for i in range(300)]
        case "string":
            return [f"other {i}" for i in range(300)]
        case "date":
            return [dt.date(1900, 1, 1) + dt.timedelta(days=i) for i in range(300)]
    return [dt.datetime(1900, 1, 1) + dt.timedelta(hours=i) for i in range(300)]


def column_of(kind: str, missing: bool) -> pd.Series:
    rng = np.random.default_rng(7)
    values = np.array([*VALUES[kind], *([None] if missing else [])], dtype=object)
    return pd.Series(values[rng.integers(0, len(values), 1500)], dtype=object)


def drawn_values(mask: NoiseMask, values: list[Any]) -> list[str]:
    """Draw by the cumulated probabilities of the channel, record by record, without any engine."""
    domain = Domain.of(values)
    channel = mask.channel(domain)
    places = {value: i for i, value in enumerate(domain.to_list())}
    codes = [places[value] for value in values]
    u = uniforms(mask.key("x"), len(values))
    if isinstance(mask, ao.RandomizedResponse):  # whose values stay where the number is above a share
        n = len(channel.labels)
        share = mask.replaced_share(n)
        other = [min(int(x / share * n), n - 1) if x < share else None for x in u]
        own = [int(channel.matrix[:, a].argmax()) for a in codes]
        found = [b if b is not None else a for a, b in zip(own, other, strict=True)]
    else:
        below = np.cumsum(channel.matrix, axis=0)[:-1]
        found = [int((below[:, a] <= x).sum()) for a, x in zip(codes, u, strict=True)]
    return texts([channel.labels[g] for g in found])


def texts(values: Any) -> list[str]:
    """Write masked values so that two columns of them compare, whatever holds them."""
    return [
        "-" if pd.isna(v) else v if isinstance(v, str) else str(int(v)) if v == v // 1 else repr(float(v))
        for v in values
    ]


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("kind", VALUES)
def test_wide_noise_is_drawn_by_the_channel(kind: str, missing: bool) -> None:
    """In DuckDB, there also for a relation, and in a transformer of few rows, which needs no engine."""
    frame = pd.DataFrame({"x": column_of(kind, missing)})
    relation = duckdb.from_df(frame)
    for name, mask in wide_masks(kind, missing).items():
        assert isinstance(drawn_column(mask, SqlColumn("x", kind)), Draw), name
        want = drawn_values(mask, frame["x"].tolist())
        assert texts(ao.apply_configuration(frame, {"x": mask})["x"]) == want, name
        assert texts(ao.apply_configuration(relation, {"x": mask}).df()["x"]) == want, name
        assert texts(ao.MaskingTransformer({"x": mask}).fit(frame).transform(frame)["x"]) == want, name


def test_wide_noise_stays_with_its_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In tables that more than one thread works through, beside columns that are looked up or left alone."""
    n = 250_000
    x = np.random.default_rng(0).integers(0, 60, n)
    frame = pd.DataFrame(
        {"x": x, "again": x, "name": np.array([f"v{i:02}" for i in range(60)])[x], "row": range(n)}
    )
    masks: dict[str, Mask] = {
        "x": ao.AddNoise("discrete_gaussian", epsilon=0.1, low=0, high=10_000, seed=1),
        "again": ao.Pram(channel_of(200), values=range(200), seed=2),
        "name": ao.Generalize({f"o{i:02}": [f"v{i:02}"] for i in range(60)}),
    }
    expected = {}
    for name in ("x", "again"):
        mask = masks[name]
        assert isinstance(mask, NoiseMask)
        codes, domain = Domain.encode("integer", x, np.zeros(n, dtype=bool))
        drawn = mask.drawn(domain, codes, uniforms(mask.key(name), n))
        expected[name] = np.array(mask.channel(domain).labels)[drawn]
    frame.to_parquet(tmp_path / "t.parquet", row_group_size=20_000)
    written = ao.apply_configuration(tmp_path / "t.parquet", masks, output=tmp_path / "masked.parquet")
    monkeypatch.setattr("aegis_opt.release._transformer.LARGEST", 10)
    for masked in (
        ao.apply_configuration(frame, masks),
        ao.apply_configuration(pl.from_pandas(frame), masks).to_pandas(),
        ao.apply_configuration(duckdb.from_df(frame), masks).df(),
        pd.read_parquet(written),
        ao.MaskingTransformer(masks).fit(frame).transform(frame),
        ao.apply_configuration(frame, {name: masks[name] for name in ("x", "name")}).assign(
            again=expected["again"]
        ),
    ):
        for name, values in expected.items():
            assert (masked[name].to_numpy() == values).all(), name
        assert (masked["name"].to_numpy() == ("o" + frame["name"].str[1:]).to_numpy()).all()
        assert (masked["row"] == frame["row"]).all()


def test_the_order_of_rows_is_restored_where_thresholds_are_joined() -> None:
    """A list of more thresholds than a constant should have is joined to every row."""
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t AS SELECT range AS c0 FROM range(200)")
        plans = []
        for size in (20, 200):
            mask = ao.Pram(channel_of(200, 200)[:, :size], values=range(size), masked=range(200))
            rows = DuckDBRows.of(
                connection.table("t").filter(f"c0 < {size}"), ["x"], {"x": mask}, "the table"
            )
            plans.append(rows.masked(masked_columns(rows), None).explain().upper())
        assert "ORDER" in plans[1]
        assert "CROSS PRODUCT" in plans[1]
        assert "CROSS PRODUCT" not in plans[0]
        rows.masked(masked_columns(rows), connection)  # read once: three of 1000 x 1000 took more than 2 GB
        assert connection.sql("SELECT len(t) FROM listed0").fetchall() == [(199 * 200,)]


def test_noise_at_the_ends_of_64_bits() -> None:
    for low, high in ((2**63 - 1 - 900, 2**63 - 1), (-(2**63), -(2**63) + 900)):
        for scale in (0.5, 500.0):  # as one expression, and in steps
            mask = ao.AddNoise("geometric", scale=scale, low=low, high=high, seed=0)
            assert isinstance(drawn_column(mask, SqlColumn("x", "integer")), Draw) == (scale > 1)
            values = [low, low + 450, high] * 100
            masked = ao.apply_configuration(pd.DataFrame({"x": values}), {"x": mask})["x"].tolist()
            assert texts(masked) == drawn_values(mask, values)
            assert {low, high} <= set(masked)


def test_a_value_that_is_not_declared_is_missing_where_that_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("aegis_opt.release._transformer.LARGEST", 10)
    known = pd.DataFrame({"x": list(range(300))})
    for mask in (
        ao.Pram(channel_of(300), values=range(300), seed=0),
        ao.RandomizedResponse(p=0.3, domain=range(300), seed=0),
    ):
        transformer = ao.MaskingTransformer({"x": mask}, handle_unknown="missing").fit(known)
        assert (
            transformer.transform(pd.DataFrame({"x": [1, 999] * 50}))["x"].isna().tolist()
            == [False, True] * 50
        )


def test_a_channel_of_too_many_thresholds_is_refused() -> None:
    n = 1030
    mask = ao.Pram(np.eye(n) * 0.5 + 0.5 / n, values=range(n))
    with pytest.raises(MaskError, match=r"'x': .*1,059,870 thresholds.*room for 1,048,576: cut the values"):
        ao.apply_configuration(pd.DataFrame({"x": range(n)}), {"x": mask})


def test_the_widest_noise_fits_into_little_memory(tmp_path: Path) -> None:
    """Nested cases took 6.5 s to plan, and more than 2 GB."""
    program = """
import resource
resource.setrlimit(resource.RLIMIT_DATA, (2 * 10**9, 2 * 10**9))
import pandas as pd, aegis_opt as ao
frame = pd.DataFrame({"x": range(1000), "y": range(1000), "z": range(1000)})
noise = ao.AddNoise("discrete_gaussian", epsilon=0.1, low=0, high=10_000)
response = ao.RandomizedResponse(p=0.5, domain=range(4000))
masked = ao.apply_configuration(frame, {"x": noise, "y": noise, "z": response})
print(len(masked), masked["x"].between(0, 10_000).all())
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.stdout.split() == ["1000", "True"], done.stderr


def test_a_lack_of_memory_is_not_blamed_on_the_source() -> None:
    with (
        pytest.raises(SourceError, match=r"t takes more memory to mask than is allowed \(full\): allow the"),
        readable("t"),
    ):
        raise duckdb.OutOfMemoryException("full")


@pytest.mark.parametrize("mask", [ao.RandomizedResponse, ao.Pram])
def test_a_column_of_integers_holds_no_declared_fraction(mask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """2.5 was looked up as 2: an error of DuckDB, or another value's masked value."""
    values = [i / 2 for i in range(80)] + [float("inf")]
    noise: Any = (
        mask(p=0.5, domain=values, seed=1)
        if mask is ao.RandomizedResponse
        else mask(np.full((81, 81), 0.5 / 81) + np.eye(81) * 0.5, values, seed=1)
    )
    frame = pd.DataFrame({"x": [1, 2, 3, 39] * 50})
    wide = ao.apply_configuration(frame, {"x": noise})
    monkeypatch.setattr(_draw, "_MOST_CASES", 10**6)
    short = ao.apply_configuration(frame, {"x": noise})
    assert wide["x"].tolist() == short["x"].tolist()


@pytest.mark.parametrize("twice", [[1, "1"], [1, 1.0], [True, 1]])
@pytest.mark.parametrize("n", [3, 200])
def test_declared_values_that_are_one_and_the_same_are_refused(twice: list[Any], n: int) -> None:
    frame = pd.DataFrame({"x": [1, 2] * 50})
    with pytest.raises(ao.errors.MaskError, match=r"one and the same|more than once"):
        ao.apply_configuration(frame, {"x": ao.RandomizedResponse(p=0.9, domain=[*twice, *range(2, n)])})


def test_true_is_one_in_a_column_of_integers(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was kept was written 1 and what was drawn true, which told them apart."""
    frame = pd.DataFrame({"x": [1, 2, 3] * 50})
    mask = ao.RandomizedResponse(p=0.5, domain=[True, 2, 3, 4], seed=1)
    short = ao.apply_configuration(frame, {"x": mask})["x"].tolist()
    assert {str(x) for x in short} == {"1", "2", "3", "4"}
    monkeypatch.setattr(_draw, "_MOST_CASES", 0)
    assert ao.apply_configuration(frame, {"x": mask})["x"].tolist() == short

"""Noise on records: the same draw on every path, with the distribution of the channel."""

from __future__ import annotations

import duckdb
import numpy as np
import pandas as pd
import pytest

import aegis_opt as ao
from aegis_opt.domain import Domain
from aegis_opt.errors import InvalidOption, MaskError
from aegis_opt.masks._noise import NoiseMask

N = 4_000
MASKS = {
    "age": ao.AddNoise("geometric", epsilon=2, seed=1),
    "colour": ao.RandomizedResponse(epsilon=1, seed=1),
    "flag": ao.Pram([[0.9, 0.3], [0.1, 0.7]], seed=4),
}


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": rng.integers(10, 20, N),
            "colour": rng.choice(np.array(["red", "green", "blue", None], dtype=object), N),
            "flag": rng.random(N) < 0.3,
            "other": np.arange(N),
        }
    )


def texts(frame: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({name: frame[name].astype("string").fillna("-").str.lower() for name in MASKS})


def test_the_draw_is_the_same_on_every_path(frame: pd.DataFrame, tmp_path) -> None:
    import polars as pl

    masked = ao.apply_configuration(frame, MASKS)
    assert masked["other"].equals(frame["other"])
    assert masked["age"].dtype == np.int64
    assert masked["flag"].dtype == bool
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_parquet(tmp_path / "a.parquet")
    fitted = ao.fit_configuration(frame, MASKS)
    sql = fitted.to_sql("duckdb", "frame")
    transformer = ao.MaskingTransformer(MASKS).fit(frame)
    written = ao.apply_configuration(tmp_path / "a.parquet", MASKS, output=tmp_path / "b.csv")
    others = [
        ao.apply_configuration(tmp_path / "a.csv", MASKS),
        ao.apply_configuration(tmp_path / "a.parquet", MASKS),
        ao.apply_configuration(pl.from_pandas(frame), MASKS).to_pandas(),
        ao.apply_configuration(duckdb.from_df(frame), MASKS).df(),
        transformer.transform(frame),
        duckdb.sql(sql).df(),
        pd.read_csv(written),
    ]
    for other in others:
        pd.testing.assert_frame_equal(texts(other), texts(masked))
    assert transformer.transform(frame)["age"].dtype == np.int64
    assert not texts(masked).equals(texts(frame))


def test_a_large_frame_is_transformed_by_the_same_draw(frame: pd.DataFrame, monkeypatch) -> None:
    transformer = ao.MaskingTransformer(MASKS).fit(frame)
    small = transformer.transform(frame)
    monkeypatch.setattr("aegis_opt.release._transformer.LARGEST", 10)
    pd.testing.assert_frame_equal(texts(transformer.transform(frame)), texts(small))


def test_records_have_the_distribution_of_the_channel(frame: pd.DataFrame) -> None:
    """Within 5 standard deviations for every value and masked value."""
    masked = ao.apply_configuration(frame, MASKS)
    for name, mask in ao.fit_configuration(frame, MASKS).items():
        domain = Domain.of(frame[name].tolist())
        assert isinstance(mask, NoiseMask)
        channel = mask.channel(domain)
        for a, value in enumerate(domain.to_list()):
            chosen = frame[name].isna() if value is None else frame[name] == value
            got = masked.loc[chosen, name]
            for label, p in zip(channel.labels, channel.matrix[:, a], strict=True):
                count = int((got.isna() if label is None else got == label).sum())
                assert abs(count - p * len(got)) <= 5 * np.sqrt(p * (1 - p) * len(got)) + 1e-9


def test_without_a_seed_noise_is_new_each_time(frame: pd.DataFrame) -> None:
    masks = {"colour": ao.RandomizedResponse(epsilon=1)}
    one, other = (ao.apply_configuration(frame, masks)["colour"] for _ in range(2))
    assert not one.equals(other)
    transformer = ao.MaskingTransformer(masks).fit(frame)
    assert not transformer.transform(frame)["colour"].equals(transformer.transform(frame)["colour"])


def test_columns_are_drawn_independently_of_each_other() -> None:
    """The same seed on two equal columns: their noise agrees no more often than by chance."""
    frame = pd.DataFrame({"a": ["x", "y"] * 2000, "b": ["x", "y"] * 2000})
    mask = ao.RandomizedResponse(p=0.6, seed=0)
    masked = ao.apply_configuration(frame, {"a": mask, "b": mask})
    kept = (masked == frame).to_numpy()
    assert abs(np.corrcoef(kept[:, 0], kept[:, 1])[0, 1]) < 0.08


def test_values_that_are_not_declared_are_refused_or_missing(frame: pd.DataFrame) -> None:
    masks = {"colour": ao.RandomizedResponse(epsilon=1, domain=["red", "green", "blue"], seed=0)}
    with pytest.raises(MaskError, match=r"attribute 'colour': .*what becomes of None"):
        ao.apply_configuration(frame, masks)
    known = frame.dropna()
    ao.apply_configuration(known, masks)
    transformer = ao.MaskingTransformer(masks).fit(known)
    new = pd.DataFrame(known.assign(colour="pink"))
    with pytest.raises(MaskError, match="what becomes of 'pink'"):
        transformer.transform(new)
    lenient = ao.MaskingTransformer(masks, handle_unknown="missing").fit(known)
    assert lenient.transform(new)["colour"].isna().all()
    text = ao.masks.Configuration(masks).to_sql("duckdb", "new")
    assert duckdb.sql(text).df()["colour"].isna().all()


def test_small_classes_are_suppressed_by_what_is_released(frame: pd.DataFrame) -> None:
    masked = ao.apply_configuration(frame, MASKS, suppress_below=20)
    assert masked.groupby(list(MASKS), dropna=False).size().min() >= 20


def test_sql_has_noise_where_the_dialect_has_a_generator() -> None:
    seeded = ao.masks.Configuration({"x": ao.RandomizedResponse(epsilon=1, domain=["a", "b"], seed=1)})
    free = ao.masks.Configuration({"x": ao.RandomizedResponse(epsilon=1, domain=["a", "b"])})
    assert "RAND(" in seeded.to_sql("spark", "t")
    assert "SHA256" in seeded.to_sql("duckdb", "t")
    assert "RANDOM()" in free.to_sql("postgresql", "t")
    assert free.to_sql("duckdb", "t").count("RANDOM()") == 1
    with pytest.raises(InvalidOption, match=r"SELECT setseed\(...\)"):
        seeded.to_sql("postgresql", "t")
    with pytest.raises(InvalidOption, match="not for snowflake"):
        free.to_sql("snowflake", "t")
    with pytest.raises(MaskError, match="declare them, or fit"):
        ao.masks.Configuration({"x": ao.RandomizedResponse(epsilon=1)}).to_sql("duckdb", "t")


@pytest.mark.parametrize("distribution", ["geometric", "discrete_gaussian"])
def test_sql_of_a_wide_range_is_short_and_draws_the_same(distribution: str) -> None:
    """There are 20,000 thresholds, most of them below 2^-52 or equal to 1."""
    mask = ao.AddNoise(distribution, scale=3.0, low=0, high=10_000, seed=4)  # type: ignore[arg-type]
    frame = pd.DataFrame({"x": [0, 1, 17, 5000, 9999, 10_000] * 500})
    sql = ao.masks.Configuration({"x": mask}).to_sql("duckdb", "frame", domains={"x": "integer"})
    assert len(sql) < 50_000
    assert duckdb.sql(sql).df()["x"].tolist() == ao.apply_configuration(frame, {"x": mask})["x"].tolist()


def test_noise_that_takes_too_many_cases_in_sql_is_refused() -> None:
    wide = ao.AddNoise("geometric", scale=1e4, low=0, high=2000)
    assert ao.masks.Configuration({"x": wide}).epsilon() == pytest.approx(0.2)
    with pytest.raises(MaskError, match=r"'y': .*8,000 cases in SQL.*room for 6,000.*apply_conf"):
        ao.masks.Configuration({"x": wide, "y": wide}).to_sql("duckdb", "t")
    for mask in (
        ao.RandomizedResponse(p=0.9, domain=range(6001)),
        ao.Pram(np.eye(80), values=range(80)),
        ao.AddNoise("discrete_gaussian", scale=1e5, low=0, high=10_000),
    ):
        with pytest.raises(MaskError, match="room for 6,000"):
            ao.masks.Configuration({"x": mask}).to_sql("duckdb", "t")


def test_a_column_called_like_the_noise_is_kept() -> None:
    frame = pd.DataFrame({"noise_0": ["a", "b"] * 50, "x": ["a", "b"] * 50})
    mask = ao.RandomizedResponse(epsilon=1, domain=["a", "b"], seed=1)
    sql = ao.masks.Configuration({"x": mask}).to_sql("duckdb", "people", list(frame))
    with duckdb.connect() as connection:
        connection.register("people", frame)
        assert connection.sql(sql).df()["noise_0"].tolist() == ["a", "b"] * 50

"""Masked records: every kind of source against the groups of the mask, record by record."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
from families import family

import aegis_opt as ao
from aegis_opt.domain import Domain
from aegis_opt.masks import Mask

MANY = 300_000  # more records than one thread of DuckDB takes
ROW = "row"  # the column that tells whether the records keep their order


def column(numbers: random.Random, n: int) -> tuple[list[Any], pl.Series]:
    """Draw the distinct values of a column, and the column."""
    size = numbers.randrange(1, 80)
    values: list[Any] = numbers.choice(
        [
            [f"v{i}" for i in range(size)],
            [f"it's, {i} \\" for i in range(size)],
            list(range(-3, size)),
            [i / 4 for i in range(size)],
        ]
    )
    rng = np.random.default_rng(numbers.randrange(2**32))
    places = rng.integers(0, len(values), n)
    missing = rng.random(n) < numbers.choice([0.0, 0.1])
    drawn = pl.Series(values).gather(places)
    return values, pl.select(pl.when(pl.Series(missing)).then(None).otherwise(drawn)).to_series()


def mask_for(numbers: random.Random, values: list[Any]) -> Mask:
    """Draw a mask whose masked values are texts."""
    some = numbers.sample(values, numbers.randrange(1, len(values) + 1))
    n_groups = numbers.choice([1, 2, 5, 17, 40])
    mapping: dict[str, list[Any]] = {}
    for value in values:
        mapping.setdefault(f"g'{numbers.randrange(n_groups)}", []).append(value)
    choices: list[Callable[[], Mask]] = [
        lambda: ao.Generalize(mapping),
        lambda: ao.KeepTop(len(some), values=some),
        lambda: ao.PoolRare(3, values=some),
    ]
    if isinstance(values[0], str):
        choices.append(lambda: ao.Prefix(numbers.randrange(1, 4)))
    else:
        choices += [
            lambda: ao.Bucketize(width=numbers.choice([1, 7, 10])),
            lambda: ao.Bucketize(edges=[0, 5, 9]),
            lambda: ao.Generalize(ranges=numbers.choice([1, 4, 30])),
            lambda: ao.TopCode(9, bottom=-1),
        ]
    return numbers.choice(choices)()


def expected(mask: Mask, drawn: pl.Series) -> list[Any]:
    """Return what the mask makes of each record, by the groups that it cuts the domain into."""
    domain = Domain.of(drawn.to_list())
    grouping = mask.group(domain)
    labels = {value: grouping.labels[g] for value, g in zip(domain.to_list(), grouping.groups, strict=True)}
    return [labels[value] for value in drawn.to_list()]


def masked_as(kind: str, frame: pl.DataFrame, masks: dict[str, Mask], folder: Path) -> pl.DataFrame:
    """Mask a table as one kind of source."""
    if kind in ("csv", "parquet"):
        path, output = folder / f"in.{kind}", folder / "out.parquet"
        frame.write_csv(path) if kind == "csv" else frame.write_parquet(path, row_group_size=30_000)
        return pl.read_parquet(ao.apply_configuration(path, masks, output=output))
    if kind == "folder":
        (folder / "parts").mkdir()
        middle = len(frame) // 2
        frame[:middle].write_parquet(folder / "parts" / "1.parquet")
        frame[middle:].write_parquet(folder / "parts" / "2.parquet")
        return pl.from_pandas(ao.apply_configuration(folder / "parts", masks))
    if kind == "transformer":
        data = frame.to_pandas()
        return pl.from_pandas(ao.MaskingTransformer(masks).fit(data).transform(data))
    sources: dict[str, Callable[[], Any]] = {
        "pandas": frame.to_pandas,
        "polars": lambda: frame,
        "arrow": frame.to_arrow,
        "relation": lambda: duckdb.from_arrow(frame.to_arrow()),
    }
    found = ao.apply_configuration(sources[kind](), masks)
    if isinstance(found, duckdb.DuckDBPyRelation):
        return found.pl()
    if isinstance(found, pd.DataFrame):
        return pl.from_pandas(found)
    return found if isinstance(found, pl.DataFrame) else pl.DataFrame(pl.from_arrow(found))


KINDS = ["pandas", "polars", "arrow", "csv", "parquet", "folder", "relation", "transformer"]


def plain(value: Any) -> Any:
    """Return what was meant: a number may come back as a real, or as text beside others that are text."""
    if value is None or value != value:
        return None
    try:
        return float(value)
    except ValueError:
        return value


@family(seconds=1.0)
def masked_values_stay_with_their_records(seed: int) -> None:
    """Every record has the masked value of its own value, and the records keep their order."""
    numbers = random.Random(seed)
    n = MANY if numbers.random() < 0.25 else int(10 ** numbers.uniform(0, 3))
    columns = [column(numbers, n) for _ in range(numbers.randrange(1, 3))]
    frame = pl.DataFrame({f"x{i}": drawn for i, (_, drawn) in enumerate(columns)})
    frame = frame.with_columns(pl.Series(ROW, np.arange(n)))
    masks = {f"x{i}": mask_for(numbers, values) for i, (values, _) in enumerate(columns)}
    kind = numbers.choice(KINDS)
    if kind == "csv":  # a column without any value has no type there
        masks = {name: mask for name, mask in masks.items() if frame[name].null_count() < n}
    with tempfile.TemporaryDirectory() as folder:
        found = masked_as(kind, frame, masks, Path(folder))
    assert found[ROW].to_list() == list(range(n)), kind
    for name in masks:
        wanted = [plain(value) for value in expected(masks[name], frame[name])]
        got = [plain(value) for value in found[name].to_list()]
        wrong = [i for i in range(n) if got[i] != wanted[i]]
        assert not wrong, (kind, masks[name], len(wrong), n, frame[name][wrong[0]], got[wrong[0]])

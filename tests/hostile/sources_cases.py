"""Sources: tables of awkward values, written as every kind of source, against counts made in plain Python."""

from __future__ import annotations

import csv
import datetime as dt
import io
import math
import random
import tempfile
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
from families import family

import aegis_opt as ao
from aegis_opt.errors import AegisError
from aegis_opt.sources import columns, scan

TEXTS = [
    "",
    " ",
    "a",
    "A",
    "ä",
    "日本",
    "a,b",
    "a;b",
    'say "hi"',
    "it's",
    "a\tb",
    "a|b",
    "#a",
    "=1+1",
    "@a",
    "\x00x",
]
TEXTS += [
    "a\nb",
    "a\r\nb",
    "a\rb",
    "\ufeff",
    "\u202eabc",
    "NULL",
    "nan",
    "None",
    "01",
    "-",
    "+",
    "1e5x",
    "🤦🏼‍♂️",
]
NUMBERS: list[Any] = [0, -1, 7, 42, 2**53 + 1, 2**63 - 1, -(2**63)]
REALS: list[Any] = [0.0, -0.0, 1.5, -2.25, 1e300, 5e-324, math.inf, -math.inf, math.nan]
DATES: list[Any] = [dt.date(1700, 1, 1), dt.date(1969, 12, 31), dt.date(2020, 2, 29), dt.date(2200, 12, 31)]
KINDS: dict[str, tuple[list[Any], Any]] = {
    "text": (TEXTS, pl.String),
    "whole": (NUMBERS, pl.Int64),
    "real": (REALS, pl.Float64),
    "day": (DATES, pl.Date),
    "flag": ([True, False], pl.Boolean),
}
NAMES = [
    "age",
    "Age\n(years)",
    "Age\r\n(years)",
    "Age\r(years)",
    "a,b",
    'say "hi"',
    "=x",
    " ",
    "c0",
    "日本",
    "records",
]


def table(numbers: random.Random) -> dict[str, tuple[str, list[Any]]]:
    """Draw columns by name: the kind and the values of each; the last one is the label."""
    n = numbers.randrange(2, 30)
    names = numbers.sample(NAMES, numbers.randrange(1, 4))
    found = {}
    for name in names:
        kind = numbers.choice(list(KINDS))
        values = numbers.sample(KINDS[kind][0], min(len(KINDS[kind][0]), numbers.randrange(1, 6)))
        missing = [None] if numbers.random() < 0.5 else []
        found[name] = kind, [numbers.choice(values + missing) for _ in range(n)]
    found["y"] = "text", ["yes", "no", *(numbers.choice(["yes", "no"]) for _ in range(n - 2))]
    return found


def plain(value: Any) -> Any:
    """Return the value that counts: NaN is missing, and -0.0 is 0.0."""
    if isinstance(value, float):
        return None if math.isnan(value) else value + 0.0
    return value


def counted(values: list[Any], labels: list[str]) -> Counter[Any]:
    """Count one by one."""
    return Counter(zip(map(plain, values), labels, strict=True))


def found_in(source: object, name: str) -> Counter[Any]:
    """Return what the library counts, in the same form."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".* was read as ", category=UserWarning)
        result = scan(source, "y", [name])
    counts, labels = result.attributes[name], result.label_domain.to_list()
    return Counter(
        {
            (value, label): int(count)
            for value, row in zip(counts.domain.to_list(), counts.table, strict=True)
            for label, count in zip(labels, row, strict=True)
            if count
        }
    )


def masked(source: object, name: str, n: int) -> list[Any]:
    """Return the column under a mask that tells missing from present, as a list."""
    result = ao.apply_configuration(source, {name: ao.Generalize(ranges=1)})
    if isinstance(result, duckdb.DuckDBPyRelation):
        values = [row[columns(source).index(name)] for row in result.fetchall()]
    else:
        values = result[name].to_pylist() if hasattr(result[name], "to_pylist") else result[name].to_list()
    assert len(values) == n
    return [None if value is None or value != value else value for value in values]


def in_pandas(drawn: dict[str, tuple[str, list[Any]]]) -> pd.DataFrame:
    """Return the table in types of pandas that hold it exactly."""
    types = {"whole": "Int64", "real": "float64", "flag": "boolean"}
    return pd.DataFrame(
        {name: pd.Series(v, dtype=types.get(kind, "object")) for name, (kind, v) in drawn.items()}  # type: ignore[call-overload]
    )


@family(seconds=1.0)
def every_kind_of_source_counts_alike(seed: int) -> None:
    """Frames, Arrow, relations and Parquet: the counts of plain Python, and missing values masked as such."""
    numbers = random.Random(seed)
    drawn = table(numbers)
    labels = drawn["y"][1]
    frame = pl.DataFrame(
        {
            name: pl.Series(values, dtype=KINDS[kind][1], strict=False)
            for name, (kind, values) in drawn.items()
        }
    )
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as connection:
        path = Path(folder) / numbers.choice(
            ["a.parquet", "a[1].parquet", "a*b.PARQUET", "it's.pq", "~.parquet"]
        )
        frame.write_parquet(path)
        written = connection.from_arrow(frame.to_arrow())
        other = Path(folder) / "by duckdb.parquet"
        written.write_parquet(str(other))
        sources = [frame, in_pandas(drawn), frame.to_arrow(), str(path), other, written]
        sources.append(connection.read_parquet(str(other)))
        for source in sources:
            for name, (kind, values) in drawn.items():
                if name == "y":
                    continue
                assert found_in(source, name) == counted(values, labels), (type(source), name)
                if kind in ("real", "whole", "day"):
                    if any(isinstance(v, float) and math.isinf(v) for v in values):
                        continue  # ranges end somewhere
                    shown = masked(source, name, len(labels))
                    assert [v is None for v in shown] == [plain(v) is None for v in values], (
                        type(source),
                        name,
                    )


def write_csv(numbers: random.Random, drawn: dict[str, tuple[str, list[Any]]]) -> tuple[bytes, str]:
    """Write a table as CSV in one of the ways that programs do; a missing value is an empty field."""
    separator = numbers.choice([",", ";", "\t", "|"])
    file = io.StringIO(newline="")
    quoting = numbers.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
    end = numbers.choice(["\n", "\r\n", "\r"])
    writer = csv.writer(file, delimiter=separator, lineterminator=end, quoting=quoting)
    writer.writerow(drawn)
    for row in zip(*(values for _, values in drawn.values()), strict=True):
        writer.writerow(["" if plain(value) is None else value for value in row])
    text = file.getvalue()
    if numbers.random() < 0.2:
        text = text.removesuffix(end)
    return (b"\xef\xbb\xbf" if numbers.random() < 0.2 else b"") + text.encode(), separator


def only_nan(fields: Counter[Any]) -> bool:
    """Whether the only texts are ways to write NaN: such a column is one of numbers, all missing."""
    texts = {value for value, _ in fields if value is not None}
    return bool(texts) and {text.strip().lower() for text in texts} <= {"nan", "-nan", "+nan"}


@family(seconds=0.3)
def a_csv_file_is_counted_as_plain_python_reads_it(seed: int) -> None:
    """CSV in many styles: the counts and rows of Python's csv module, or an error that says why."""
    numbers = random.Random(seed)
    drawn = table(numbers)
    content, separator = write_csv(numbers, drawn)
    text = content.decode("utf-8-sig")
    header, *rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    with tempfile.TemporaryDirectory() as folder:
        ending = "tsv" if separator == "\t" else "csv"
        path = Path(folder) / numbers.choice(
            [f"a.{ending}", f"a[1].{ending}", f"~.{ending}", f"s3:.{ending}"]
        )
        path.write_bytes(content)
        refused = path.name
        try:
            for place, name in enumerate(header[:-1]):
                found = found_in(path, name)
                assert sum(found.values()) == len(rows)
                if drawn[name][0] == "text":
                    fields = Counter((row[place] or None, row[-1]) for row in rows)
                    if all(isinstance(value, str | None) for value, _ in found) and not only_nan(fields):
                        assert found == fields, name
                output = Path(folder) / f"masked.{ending}"
                ao.apply_configuration(path, {name: ao.Suppress()}, output=output)
                shown = list(
                    csv.reader(
                        io.StringIO(output.read_bytes().decode(), newline=""),
                        delimiter="\t" if ending == "tsv" else ",",
                    )
                )
                assert shown[0] == header
                kept = [i for i in range(len(header)) if i != place]
                assert [[row[i] for i in kept] for row in shown[1:]] == [
                    [row[i] for i in kept] for row in rows
                ]
        except AegisError as error:
            refused = str(error)
        assert path.name in refused, refused
        assert "no records" not in refused, refused


@family(seconds=0.05)
def a_damaged_csv_file_never_becomes_an_empty_table(seed: int) -> None:
    """Bytes changed, cut or doubled: an error, or rows; never none from a file with text below its header."""
    numbers = random.Random(seed)
    content = bytearray(write_csv(numbers, table(numbers))[0])
    for _ in range(numbers.randrange(1, 4)):
        place = numbers.randrange(len(content))
        what = numbers.choice([b'"', b"\n", b"\r", b"\r\n", b"\x00", b"\xff", b",", b";", b"\x1a", b"#", b""])
        content[place : place + numbers.randrange(2)] = what
    below = bytes(content).replace(b"\r", b"\n").split(b"\n", 1)[-1].strip()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.csv"
        path.write_bytes(bytes(content))
        refused = path.name
        try:
            names = columns(path)
            result = ao.apply_configuration(path, {names[0]: ao.Suppress()})
            assert len(result) or not below or b'"' in content, content
        except AegisError as error:
            refused = str(error)
        assert path.name in refused, refused

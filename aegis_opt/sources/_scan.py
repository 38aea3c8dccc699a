"""One scan of a source: counts per attribute and label."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Literal

import numpy as np

from aegis_opt.domain import Domain
from aegis_opt.errors import InvalidOption, SourceError, UnknownColumn
from aegis_opt.sources._counting import Counter, check_classes
from aegis_opt.sources._counts import JointCounts, Progress, Scan, ValueCounts
from aegis_opt.sources._duckdb_engine import DuckDBEngine, open_table
from aegis_opt.sources._engine import CountingEngine
from aegis_opt.sources._many_values import Policy
from aegis_opt.sources._pairs import CodedRecords, CountableRecords
from aegis_opt.sources._small_frames import encoded
from aegis_opt.sources._spark_engine import SparkEngine, is_spark
from aegis_opt.sources._tables import PandasTable

OnManyValues = Literal["coarsen", "error"]
_UNITS = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


def open_engine(source: object, memory: str | None = None) -> CountingEngine:
    """Choose what counts a source: Spark its own DataFrames, DuckDB all else; an engine stays what it is."""
    if isinstance(source, CountingEngine):
        return source
    if is_spark(source):
        if memory is not None:
            raise InvalidOption("Spark's memory is set in its session: spark.executor.memory")
        return SparkEngine(source)
    return DuckDBEngine(open_table(source), memory)


def columns(source: object) -> tuple[str, ...]:
    """Return the column names of a source.

    Examples
    --------
    >>> import pandas as pd
    >>> columns(pd.DataFrame({"age": [10, 17], "health": ["good", "poor"]}))
    ('age', 'health')
    """
    return open_engine(source).names()


def scan(
    source: object,
    label: str,
    attributes: Sequence[str] | None = None,
    *,
    max_values: int | None = None,
    on_many_values: OnManyValues | None = None,
    memory: str | None = None,
    progress: Progress | None = None,
) -> Scan:
    """Count the records of a source per attribute value and label.

    Parameters
    ----------
    source : path, DataFrame, Arrow table or DuckDB relation
        CSV or TSV (plain or .gz, UTF-8, with a header) or Parquet, one file or a glob pattern (``**`` goes
        down any number of folders; folders called key=value give a column); a pandas or polars DataFrame; a
        PyArrow table; a DuckDB relation or a Spark DataFrame, which are counted on their own connection or
        cluster. It is never modified.
    label : str
        Column of the class label: at most 1,000 classes, and beyond 20 at most one per two records.
    attributes : sequence of str, optional
        Columns to count; by default all others.
    max_values : int, optional
        The most distinct values, the missing one included, that an attribute may have. By default any number
        is counted exactly. With a limit, columns beyond it are found by an estimate before they are counted.
    on_many_values : {"coarsen", "error"}, optional
        Beyond `max_values`, "coarsen" (the default) rounds numbers down to multiples of 1, 2 or 5 times a
        power of ten and times to whole seconds, minutes, hours, days, months or years, the finest that fits,
        and keeps the most frequent texts, the others as "(other)"; `JointCounts.coarsening` says what
        was done. "error" refuses the column.
    memory : str, optional
        Limit of DuckDB's memory, such as "1GB"; what does not fit goes to a temporary folder meanwhile.
        A table that would take as much again while it is built is refused before it is counted.
    progress : callable, optional
        Called with (what, done, of how many) per column.

    Returns
    -------
    Scan
        Values are typed (see `Domain`): decimals are real, without decimal places integer; categories are
        text; time stamps with a zone are in UTC. NULL and NaN are one missing value, which is a value of its
        own; 0.0 and -0.0 are one value.

    Raises
    ------
    SourceError
        If the source cannot be read or counted.
    UnknownColumn
        If it has no such column.

    Notes
    -----
    Ctrl-C stops the query under way. That of a DuckDB relation runs on a connection of the caller's, which a
    relation does not give away: there Ctrl-C is heard when the count of a column ends.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"age": [10, 17, 10], "health": ["good", "poor", "good"]})
    >>> counts = scan(people, label="health")
    >>> counts.attributes["age"].domain.to_list(), counts.attributes["age"].table.tolist()
    ([10, 17], [[2, 0], [0, 1]])
    """
    policy = Policy.of(max_values, on_many_values)
    with open_scan(source, label, attributes, policy, memory, progress) as (counts, _):
        return counts


@contextmanager
def open_scan(
    source: object,
    label: str,
    attributes: Sequence[str] | None,
    policy: Policy,
    memory: str | None,
    progress: Progress | None,
) -> Iterator[tuple[Scan, CountableRecords]]:
    """Scan a source as `scan` does, and keep its records open for more counts."""
    limit = None if memory is None else _bytes(memory)
    engine = open_engine(source, memory)
    names = engine.names()
    chosen = [label, *_attributes(engine, names, label, attributes)]
    positions = [names.index(name) for name in chosen]
    report = progress or _silent
    report(f"reading {engine.description}", 0, len(chosen))
    if policy == Policy() and memory is None and isinstance(engine, DuckDBEngine):
        small = _small_scan(engine, chosen, positions)
        if small is not None:
            _check_label(engine, small[0])
            report(f"counted {engine.description}", len(chosen), len(chosen))
            yield small
            return
    with engine.open(positions) as records:
        counter = Counter(records, chosen, policy, limit)
        label_domain, label_counts, joint = counter.count(report)
        counts = Scan(label, label_domain, label_counts, joint, int(label_counts.sum()))
        _check_label(engine, counts)
        yield counts, counter.countable(counts)


def _small_scan(
    engine: DuckDBEngine, names: Sequence[str], positions: list[int]
) -> tuple[Scan, CodedRecords] | None:
    """Count a small pandas frame without a database; None where it needs one."""
    if not isinstance(engine.table, PandasTable):
        return None
    found = encoded(engine.table.frame, positions)
    if found is None:
        return None
    (label, label_domain), *columns = found
    k = len(label_domain)
    if k > 1:
        check_classes(engine.description, names[0], k, len(label))
    joint = {
        name: JointCounts(
            domain, np.bincount(places * k + label, minlength=len(domain) * k).reshape(len(domain), k)
        )
        for name, (places, domain) in zip(names[1:], columns, strict=True)
    }
    counts = Scan(names[0], label_domain, np.bincount(label, minlength=k), joint, len(label))
    return counts, CodedRecords([places for places, _ in columns], label, k)


def _check_label(engine: CountingEngine, counts: Scan) -> None:
    """Refuse a label that nothing can predict."""
    if len(counts.label_domain) < 2:
        raise SourceError(
            f"{engine.description}: the label {counts.label!r} has one class only "
            f"({counts.label_domain.to_list()[0]!r}), so nothing can predict it: choose another label"
        )


def scan_domains(
    source: object, label: str | None = None, attributes: Sequence[str] | None = None
) -> dict[str, Domain]:
    """Return the domain of each attribute: its kind and its distinct values.

    Parameters
    ----------
    source : path, DataFrame, Arrow table or DuckDB relation
        As in `scan`.
    label : str, optional
        A column that is no attribute.
    attributes : sequence of str, optional
        Columns to read; by default all but the label.

    Examples
    --------
    >>> import pandas as pd
    >>> scan_domains(pd.DataFrame({"age": [10, 17], "health": [0, 1]}), label="health")["age"].to_list()
    [10, 17]
    """
    return {name: found.domain for name, found in scan_counts(source, label, attributes).items()}


def scan_counts(
    source: object, label: str | None = None, attributes: Sequence[str] | None = None
) -> dict[str, ValueCounts]:
    """Return the domain of each attribute, and how often each value occurs.

    Parameters
    ----------
    source, label, attributes
        As in `scan_domains`.

    Examples
    --------
    >>> import pandas as pd
    >>> scan_counts(pd.DataFrame({"age": [17, 10, 17]}))["age"].counts.tolist()
    [1, 2]
    """
    engine = open_engine(source)
    names = engine.names()
    chosen = _attributes(engine, names, label, attributes)
    if not chosen:
        return {}
    positions = [names.index(name) for name in chosen]
    if isinstance(engine, DuckDBEngine) and isinstance(engine.table, PandasTable):
        small = encoded(engine.table.frame, positions)
        if small is not None:
            return {
                name: ValueCounts(domain, np.bincount(codes, minlength=len(domain)))
                for name, (codes, domain) in zip(chosen, small, strict=True)
            }
    with engine.open(positions) as records:
        return Counter(records, chosen, Policy(), None).value_counts(_silent)


def _attributes(
    engine: CountingEngine, names: tuple[str, ...], label: str | None, attributes: Sequence[str] | None
) -> list[str]:
    """Return the attributes to read, after a check that they and the label are columns."""
    chosen = [name for name in names if name != label] if attributes is None else list(attributes)
    for name in chosen if label is None else (label, *chosen):
        if name not in names:
            raise UnknownColumn("column", name, names, f"Source: {engine.description}.")
    if label in chosen:
        raise SourceError(
            f"{label!r} is the label and cannot be an attribute too: remove it from the attributes"
        )
    return chosen


def _silent(what: str, done: int, of: int) -> None:
    """Report nothing."""


def _bytes(memory: str) -> int:
    match = re.fullmatch(r"(\d+(?:\.\d+)?) ?([KMG]i?B)", memory) if isinstance(memory, str) else None
    if match is None:
        raise InvalidOption(f"memory must be a size such as '500MB' or '2GiB', not {memory!r}")
    return int(float(match[1]) * _UNITS[match[2]])

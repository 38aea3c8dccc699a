"""One scan of a source: counts per attribute and label."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Literal, cast

import numpy as np

from aegis_opt._options import instance, known_name, list_of
from aegis_opt._progress import reporting
from aegis_opt.domain import Domain
from aegis_opt.errors import InvalidOption, SourceError, UnknownColumn
from aegis_opt.sources._column import Column
from aegis_opt.sources._counting import Counter, check_classes
from aegis_opt.sources._counts import (
    JointCounts,
    JointMoments,
    NumberScan,
    Progress,
    Scan,
    ValueCounts,
)
from aegis_opt.sources._duckdb_engine import DuckDBEngine, open_table
from aegis_opt.sources._engine import CountingEngine, Records
from aegis_opt.sources._label_bins import BinnedRecords, LabelBins, in_order
from aegis_opt.sources._label_view import CLASSES, LabelView, check_class_label
from aegis_opt.sources._many_values import Policy
from aegis_opt.sources._number_label import NumberLabel
from aegis_opt.sources._pairs import CodedRecords, CountableRecords, IntArray
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
    progress: Progress | bool | None = None,
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
        Column of the class label: texts, booleans or at most 20 whole numbers; at most 1,000 classes, and
        beyond 20 at most one per two records.
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
    progress : bool or callable, optional
        True shows how far the work is; a function is called with (what, done, of how many) per column.

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
    instance("label", label, str, "give the name of a column")
    with (
        reporting(progress, "reading") as report,
        open_scan(source, label, attributes, policy, memory, report) as (counts, _),
    ):
        return counts


AnyScan = Scan | NumberScan
"""What a scan gives of a label: counts of its classes, or sums of its numbers."""


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
    with open_scans(source, {label: CLASSES}, attributes, policy, memory, progress) as [(counts, records)]:
        yield cast("Scan", counts), records  # what the view asks for


@contextmanager
def open_scans(
    source: object,
    labels: Mapping[str, LabelView],
    attributes: Sequence[str] | None,
    policy: Policy,
    memory: str | None,
    progress: Progress | None,
) -> Iterator[list[tuple[AnyScan, CountableRecords]]]:
    """Scan a source once for several labels, each in the view that is asked for."""
    limit = None if memory is None else _bytes(memory)
    engine = open_engine(source, memory)
    names = engine.names()
    chosen = [*labels, *_attributes(engine, names, labels, attributes)]
    positions = [names.index(name) for name in chosen]
    report = progress or _silent
    report(f"reading {engine.description}", 0, len(chosen))
    if policy == Policy() and memory is None and isinstance(engine, DuckDBEngine):
        small = _small_scan(engine, chosen, positions, labels)
        if small is not None:
            report(f"counted {engine.description}", len(chosen), len(chosen))
            yield small
            return
    with engine.open(positions) as records:
        views = _Views(records, labels)
        counter = Counter(views.records, chosen, policy, limit, views.numbers)
        scans = views.in_order(counter.count(report))
        yield list(zip(scans, counter.countable(scans), strict=True))


class _Views:
    """The labels of open records, which come first, in the views that are asked for."""

    def __init__(self, records: Records, labels: Mapping[str, LabelView]) -> None:
        self.bins: list[LabelBins | None] = []
        self.numbers: list[NumberLabel | None] = []
        read = {}
        for i, (name, view) in enumerate(labels.items()):
            column = Column.of(name, i, records.types[i], records.description)
            bins = None if view.bins is None else LabelBins.of_records(records, column, view)
            if bins is not None:
                read[i] = bins.sql(column)
            self.bins.append(bins)
            self.numbers.append(NumberLabel.of_records(records, column) if view.kind == "number" else None)
        self.records = BinnedRecords(records, read) if read else records

    def in_order(self, scans: Sequence[AnyScan]) -> list[AnyScan]:
        """Put the classes of ranges in their order, and refuse labels of one class."""
        found: list[AnyScan] = []
        for counts, bins in zip(scans, self.bins, strict=True):
            if isinstance(counts, Scan):
                if bins is not None:
                    counts = in_order(self.records.description, counts, bins)
                _check_label(self.records.description, counts)
            found.append(counts)
        return found


def _small_scan(
    engine: DuckDBEngine, names: Sequence[str], positions: list[int], labels: Mapping[str, LabelView]
) -> list[tuple[AnyScan, CountableRecords]] | None:
    """Count a small pandas frame without a database; None where it needs one."""
    if not isinstance(engine.table, PandasTable):
        return None
    found = encoded(engine.table.frame, positions)
    if found is None:
        return None
    columns = dict(zip(names[len(labels) :], found[len(labels) :], strict=True))
    return [
        _of_number(engine.description, name, *own, columns)
        if view.kind == "number"
        else _of_classes(engine.description, name, *own, view, columns)
        for (name, view), own in zip(labels.items(), found, strict=False)
    ]


_Columns = Mapping[str, tuple[IntArray, Domain]]


def _of_classes(
    source: str, label: str, places: IntArray, domain: Domain, view: LabelView, columns: _Columns
) -> tuple[Scan, CodedRecords]:
    """Count encoded records per value of each attribute and class."""
    if view.bins is not None:
        values = np.bincount(places, minlength=len(domain))
        bins = LabelBins.of_values(source, label, domain, values, view)
        places, domain = bins.places(domain)[places], bins.domain(domain.missing)
        bins.check(source, label, np.bincount(places, minlength=len(domain)))
    else:
        check_class_label(source, label, domain)
    k = len(domain)
    if k > 1:
        check_classes(source, label, k, len(places))
    joint = {
        name: JointCounts(values, np.bincount(own * k + places, minlength=len(values) * k).reshape(-1, k))
        for name, (own, values) in columns.items()
    }
    counts = Scan(label, domain, np.bincount(places, minlength=k), joint, len(places))
    _check_label(source, counts)
    return counts, CodedRecords([own for own, _ in columns.values()], places, k)


def _of_number(
    source: str, label: str, places: IntArray, domain: Domain, columns: _Columns
) -> tuple[NumberScan, CodedRecords]:
    """Add up the numbers of encoded records per value of each attribute."""
    number = NumberLabel.of_values(source, label, domain, np.bincount(places, minlength=len(domain)))
    numbers = number.numbers(domain)
    joint = {
        name: JointMoments(values, numbers.moments(own, places, len(values)))
        for name, (own, values) in columns.items()
    }
    attributes = [own for own, _ in columns.values()]
    return NumberScan(label, joint, len(places)), CodedRecords(attributes, places, 0, numbers=numbers)


def _check_label(source: str, counts: Scan) -> None:
    """Refuse a label that nothing can predict."""
    if len(counts.label_domain) < 2:
        raise SourceError(
            f"{source}: the label {counts.label!r} has one class only "
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
    chosen = _attributes(engine, names, [] if label is None else [label], attributes)
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
    engine: CountingEngine, names: tuple[str, ...], labels: Collection[str], attributes: Sequence[str] | None
) -> list[str]:
    """Return the attributes to read, after a check that they and the labels are columns."""
    hint = f"Source: {engine.description}."
    for label in labels:
        known_name("column", label, names, hint, error=UnknownColumn)
    if attributes is None:
        chosen = [name for name in names if name not in labels]
    else:
        chosen = list(list_of("attributes", attributes, str, "name columns"))
    for name in chosen:
        known_name("column", name, names, hint, error=UnknownColumn)
    for label in labels:
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

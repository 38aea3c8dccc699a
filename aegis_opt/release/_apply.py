"""Masking a whole table: a frame for a frame, or a file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

import pandas as pd

from aegis_opt._files import check_outputs, nameless_path, written_by_duckdb
from aegis_opt._interrupts import interruptible
from aegis_opt._options import check_path, expanded, flag
from aegis_opt._progress import reporting
from aegis_opt.domain import Domain
from aegis_opt.errors import ConfigurationError, InvalidOption, OutputError, SourceError, UnknownColumn
from aegis_opt.masks import (
    Configuration,
    Configurations,
    Generalize,
    Hierarchy,
    Identity,
    Mask,
    fit_configuration,
)
from aegis_opt.masks._fit import fitted_columns
from aegis_opt.release._duckdb import DuckDBRows, How, masked_columns
from aegis_opt.release._formulas import without_formulas
from aegis_opt.release._progress import readable, reported
from aegis_opt.release._spark import SparkRows, suppressed_on_spark
from aegis_opt.release._suppress import KEPT, OnSuppressed, Suppressed, Suppression
from aegis_opt.sources._counts import Progress
from aegis_opt.sources._csv_files import CsvTable
from aegis_opt.sources._database import open_database
from aegis_opt.sources._duckdb_engine import connect, open_table, write_in_worker_threads
from aegis_opt.sources._files import CSV, ENDINGS, PARQUET, TSV, paths_of
from aegis_opt.sources._names import quoted, same_but_for_case
from aegis_opt.sources._spark_engine import SparkEngine, is_spark
from aegis_opt.sources._tables import ArrowTable, PandasTable, PolarsTable, RelationTable, SourceTable

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection
    from duckdb import DuckDBPyRelation as Relation


SourceT = TypeVar("SourceT")


@overload
def apply_configuration(
    source: object,
    configuration: Configuration | Mapping[str, Mask],
    *,
    output: str | os.PathLike[str],
    escape_formulas: bool = False,
    suppress_below: int | None = None,
    quasi_identifiers: Iterable[str] | None = None,
    suppressed: Suppressed = "drop",
    on_suppressed: OnSuppressed | None = None,
    progress: Progress | bool | None = None,
) -> Path: ...


@overload
def apply_configuration(
    source: str | os.PathLike[str],
    configuration: Configuration | Mapping[str, Mask],
    *,
    output: None = None,
    escape_formulas: bool = False,
    suppress_below: int | None = None,
    quasi_identifiers: Iterable[str] | None = None,
    suppressed: Suppressed = "drop",
    on_suppressed: OnSuppressed | None = None,
    progress: Progress | bool | None = None,
) -> pd.DataFrame: ...


@overload
def apply_configuration(
    source: SourceT,
    configuration: Configuration | Mapping[str, Mask],
    *,
    output: None = None,
    escape_formulas: bool = False,
    suppress_below: int | None = None,
    quasi_identifiers: Iterable[str] | None = None,
    suppressed: Suppressed = "drop",
    on_suppressed: OnSuppressed | None = None,
    progress: Progress | bool | None = None,
) -> SourceT: ...


def apply_configuration(
    source: object,
    configuration: Configuration | Mapping[str, Mask],
    *,
    output: str | os.PathLike[str] | None = None,
    escape_formulas: bool = False,
    suppress_below: int | None = None,
    quasi_identifiers: Iterable[str] | None = None,
    suppressed: Suppressed = "drop",
    on_suppressed: OnSuppressed | None = None,
    progress: Progress | bool | None = None,
) -> object:
    """Mask a table, in DuckDB, or on the cluster of a Spark DataFrame.

    Parameters
    ----------
    source : path, DataFrame, Arrow table or DuckDB relation
        See `aegis_opt.sources.scan`. It is never modified.
    configuration : Configuration or mapping of str to Mask
        The masks. Columns that it does not name, and the order of the rows (but Spark's have none), stay as
        they are.
    output : path, optional
        File to write: .csv, .tsv (also .gz) or .parquet, whole or not at all. A CSV file masked into a CSV
        file keeps the very text of the columns that are not masked. Not for Spark, which writes by itself.
    escape_formulas : bool
        Of a CSV or TSV file: put ``'`` before texts and column names that a spreadsheet would take for a
        formula, as they begin with = + - @, a tab or a line break. Numbers stay as they are. By default
        every text does: the file says what the source says, and may hold formulas if that does.
    suppress_below : int, optional
        Suppress the records of classes with fewer records than this: records whose quasi-identifiers are all
        equal after masking form a class. What is left is k-anonymous with this k, which is checked again
        before it is returned or written.
    quasi_identifiers : sequence of str, optional
        The columns that an attacker may know; by default the masked attributes.
    suppressed : {"drop", "blank"}
        What becomes of these records: they are dropped, or stay with missing values in place of all their
        quasi-identifiers. Blanked records form a class, too, which must not be too small.
    on_suppressed : callable, optional
        Called with how many records were suppressed, and of how many.
    progress : bool or callable, optional
        True shows how far the work is; a function is called as ``progress(doing, done, total)`` now and then.

    Returns
    -------
    DataFrame, Arrow table or relation
        Of the type of the source: pandas (also for a path), polars, Arrow, or a relation on the connection of
        the one given or a Spark DataFrame of its session, computed when fetched. With an output, its path.

    Notes
    -----
    Masked columns are text, except where all masked values are numbers (`Blur`, some mappings) or booleans;
    `Identity` leaves a column alone. Rules are computed, from the extent of the column where they depend on
    it; a mapping or hierarchy is looked up, value by value. Masks that depend on how often values
    occur (`KeepTop`, `PoolRare`, `Microaggregate`) count the column first, unless they are fitted.

    Raises
    ------
    UnknownColumn, MaskError, SourceError
        If the configuration does not fit the source, or that cannot be read.
    OutputError
        If the output cannot be written, or is a file that is read.

    Examples
    --------
    >>> from aegis_opt.masks import Bucketize
    >>> people = pd.DataFrame({"age": [17, 42], "health": ["good", "poor"]})
    >>> apply_configuration(people, {"age": Bucketize(width=10)})
            age health
    0  [10, 20)   good
    1  [40, 50)   poor
    >>> people = pd.DataFrame({"age": [17, 18, 42], "health": ["good", "poor", "poor"]})
    >>> apply_configuration(people, {"age": Bucketize(width=10)}, suppress_below=2)
            age health
    0  [10, 20)   good
    1  [10, 20)   poor
    """
    path = None if output is None else _output_path(output)
    if flag("escape_formulas", escape_formulas) and not (path and path.name.lower().endswith(CSV + TSV)):
        raise InvalidOption(
            "escape_formulas is for CSV and TSV files: leave it out, or choose such an output"
        )
    if is_spark(source):
        if path is not None:
            raise InvalidOption(
                "Spark writes its DataFrames by itself: mask without output=, then .write.parquet(...)"
            )
        rows = _on_spark(source, configuration)
        names = SparkEngine(source).names()
        wanted = Suppression.of(
            suppress_below, quasi_identifiers, suppressed, on_suppressed, rows.configuration, names
        )
        return rows.masked() if wanted is None else suppressed_on_spark(rows.masked(), wanted)
    with _opened(source, configuration, path) as opened, reporting(progress, "masking") as report:
        wanted = Suppression.of(
            suppress_below, quasi_identifiers, suppressed, on_suppressed, opened.attributes, opened.names
        )
        masking = replace(opened, suppression=wanted)

        def work() -> Any:
            if path is not None:
                return masking.write(path, escape_formulas, report)
            with reported(masking.own, report, f"masking {masking.table.description}"):
                return masking.same_type()

        return (
            work() if masking.own is None else interruptible(work, masking.own.interrupt, stop_seconds=None)
        )


def source_domains(source: object, configuration: Configuration | Mapping[str, Mask]) -> dict[str, Domain]:
    """Return what `Configuration.to_sql` must know of the columns of a source.

    Parameters
    ----------
    source, configuration
        As of `apply_configuration`.

    Returns
    -------
    dict of str to Domain
        By masked column. Of a column that is masked by a rule only the extent is fetched: its least and its
        greatest value, and a real that is not whole if there is one.

    Examples
    --------
    >>> from aegis_opt.masks import Generalize
    >>> source_domains(pd.DataFrame({"age": [17, 42, 30]}), {"age": Generalize(ranges=2)})["age"].to_list()
    [17, 42]
    """
    if is_spark(source):
        return _on_spark(source, configuration).needed_domains()
    with _opened(source, configuration) as masking:
        return masking.rows(masking.masked_names).needed_domains() if masking.masked_names else {}


@contextmanager
def _opened(
    source: object, configuration: Configuration | Mapping[str, Mask], output: Path | None = None
) -> Iterator[_Masking]:
    """Open a source, and a connection to mask it on; an output must be none of the files that are read."""
    table = open_table(source)
    names = table.names()
    known = checked_configuration(configuration, names, table.description)
    if output is not None:
        check_outputs([output], [*paths_of(source), *_hierarchy_files(known)])
    known = fit_configuration(source, known)
    masks = {name: mask for name, mask in known.items() if not isinstance(mask, Identity)}
    with connect() as connection, readable(table.description):
        yield _Masking(table, names, masks, connection, tuple(known))


def _hierarchy_files(configuration: Configuration) -> list[Path]:
    hierarchies = [mask.hierarchy for mask in configuration.values() if isinstance(mask, Generalize)]
    return [h.path for h in hierarchies if isinstance(h, Hierarchy) and h.path is not None]


def _on_spark(frame: Any, configuration: Configuration | Mapping[str, Mask]) -> SparkRows:
    engine = SparkEngine(frame)
    known = checked_configuration(configuration, engine.names(), engine.description)
    return SparkRows(frame, fit_configuration(frame, known))


def checked_configuration(
    configuration: Configuration | Mapping[str, Mask], names: Sequence[str], description: str
) -> Configuration:
    """Return a configuration all of whose attributes are columns."""
    given: object = configuration
    if isinstance(given, Configurations):
        first = next(iter(given), "config01")
        raise ConfigurationError(
            f"these are {len(given)} configurations: choose one, such as configurations[{first!r}]"
        )
    if not isinstance(configuration, Configuration):
        configuration = Configuration(configuration)
    for name in configuration:
        if name not in names:
            which = f"Configuration {configuration.name!r}" if configuration.name else "The configuration"
            raise UnknownColumn("column", name, names, f"{which} masks it in {description}.")
    return configuration


@dataclass(frozen=True)
class _Masking:
    """A table that is masked on a connection."""

    table: SourceTable
    names: tuple[str, ...]
    masks: Mapping[str, Mask]  # those that change a column
    connection: Connection
    attributes: tuple[str, ...]  # those of the configuration, the ones that stay what they are included
    suppression: Suppression | None = None

    @property
    def own(self) -> Connection | None:
        """The connection that the table is masked on if it is ours: a relation has one of its own."""
        return None if isinstance(self.table, RelationTable) else self.connection

    @property
    def masked_names(self) -> list[str]:
        """The columns that a mask changes."""
        return [name for name in self.names if name in self.masks]

    def rows(self, names: Sequence[str], as_text: bool = False) -> DuckDBRows:
        """Read columns of the table; `as_text` leaves those of a CSV file that no mask changes untouched."""
        places = {name: i for i, name in enumerate(self.names)}
        positions = [places[name] for name in names]
        if as_text and isinstance(self.table, CsvTable):
            untouched = {places[name] for name in names if name not in self.masks}
            relation = self.table.select(self.connection, positions, untouched)
        else:
            relation = self.table.select(self.connection, positions)
        return DuckDBRows.of(relation, names, self.masks, self.table.description)

    def masked(self, rows: DuckDBRows) -> Relation:
        """Mask rows, without those that are suppressed; lookups are stored on a connection of ours."""
        masked = rows.masked(masked_columns(rows), self.own)
        if self.suppression is None:
            return masked
        marked = self.suppression.marked(masked, rows.names, self.own)
        self.suppression.check(marked, rows.names)
        return self.suppression.released(marked, rows.names)

    def same_type(self) -> Any:
        """Return the masked table as what the source is."""
        table, chosen = self.table, self.masked_names
        if isinstance(table, RelationTable):
            return _renamed(self.masked(self.rows(self.names)), self.names)
        if not isinstance(table, PandasTable | PolarsTable | ArrowTable):
            return self.masked(self.rows(self.names)).df().set_axis(list(self.names), axis="columns")
        if self.suppression is not None:
            return self._suppressed_frame(table, self.suppression)
        if not chosen:
            if isinstance(table, ArrowTable):
                return table.table
            return table.frame.clone() if isinstance(table, PolarsTable) else table.frame.copy()
        masked = self.masked(self.rows(chosen))  # the other columns need not leave the frame
        if isinstance(table, PandasTable):
            return replaced_in_pandas(table.frame, chosen, masked)
        if isinstance(table, PolarsTable):
            columns = masked.pl()
            return table.frame.with_columns(columns[f"c{i}"].alias(name) for i, name in enumerate(chosen))
        return replaced_in_arrow(table.table, chosen, masked.to_arrow_table())

    def _suppressed_frame(
        self, table: PandasTable | PolarsTable | ArrowTable, suppression: Suppression
    ) -> Any:
        """Return a frame with the masked columns in place of its own, without the suppressed records."""
        blank = suppression.suppressed == "blank"
        read = [name for name in self.names if name in self.masks or name in suppression.quasi_identifiers]
        rows = self.rows(read)
        marked = suppression.marked(rows.masked(masked_columns(rows), self.own), read, self.own)
        suppression.check(marked, read)
        changed = read if blank else self.masked_names
        columns = suppression.blanked(marked, read) if blank else marked
        places = [read.index(name) for name in changed]
        fetched = columns.project(", ".join([*(f"c{p} AS c{i}" for i, p in enumerate(places)), KEPT]))
        if isinstance(table, PandasTable):
            result = replaced_in_pandas(table.frame, changed, fetched)
            return result if blank else result[fetched.project(KEPT).df()[KEPT].to_numpy()]
        if isinstance(table, PolarsTable):
            new = fetched.pl()
            frame = table.frame.with_columns(new[f"c{i}"].alias(name) for i, name in enumerate(changed))
            return frame if blank else frame.filter(new[KEPT])
        arrow = fetched.to_arrow_table()
        result = replaced_in_arrow(table.table, changed, arrow)
        return result if blank else result.filter(arrow.column(KEPT))

    def write(self, path: Path, escape_formulas: bool, progress: Progress | None) -> Path:
        """Write the masked table to a file, whole or not at all."""
        if "" in self.names:
            raise SourceError(f"{self.table.description} has a column without a name: give it one first")
        if alike := same_but_for_case(self.names):
            raise SourceError(
                f"{self.table.description} has columns {alike[0]!r} and {alike[1]!r}, which a file written "
                "by DuckDB cannot have both: rename one, or mask a frame without an output"
            )
        if self.own is not None:
            write_in_worker_threads(self.own)
        with reported(self.own, progress, f"reading {self.table.description}"):
            rows = self.rows(self.names, as_text=path.name.lower().endswith(CSV + TSV))
            masked, names = self.masked(rows), list(self.names)
            if escape_formulas:
                masked, names = without_formulas(masked, names)
            masked = _renamed(masked, names)
        with (
            nameless_path(path) as temporary,
            reported(self.own, progress, f"writing {path}"),
            written_by_duckdb(path, temporary),
        ):
            _copy(masked, temporary, path.name.lower())
        return path


@dataclass(frozen=True)
class OpenedColumns:
    """Columns of a frame that a connection masks."""

    table: SourceTable
    rows: DuckDBRows
    connection: Connection

    def masked(self, how: Mapping[str, How]) -> Any:
        """Return the masked columns, called c0, c1, ..., as what the frame is."""
        relation = self.rows.masked(how, self.connection)
        if isinstance(self.table, PandasTable):
            return relation.df()
        return relation.pl() if isinstance(self.table, PolarsTable) else relation.to_arrow_table()


@contextmanager
def opened_columns(frame: object, masks: Mapping[str, Mask]) -> Iterator[OpenedColumns]:
    """Open a frame with a column for each mask, in their order; masks that need counts are fitted to it."""
    table = open_table(frame)
    named = fitted_columns(frame, masks, dict(zip(masks, table.names(), strict=True)))
    with open_database() as connection, readable("the frame"):
        relation = table.select(connection, range(len(masks)))
        yield OpenedColumns(table, DuckDBRows.of(relation, list(masks), named, "the frame"), connection)


def replaced_in_pandas(frame: pd.DataFrame, names: Sequence[str], masked: Relation) -> pd.DataFrame:
    """Return the frame with the masked columns, which come in the order of `names`, in place of its own."""
    columns = masked.df().set_axis(frame.index)
    result = frame.assign()  # a copy; given as arguments, a column could not be called self
    for i, name in enumerate(names):
        result[name] = columns[f"c{i}"]
    return result


def replaced_in_arrow(table: Any, names: Sequence[str], masked: Any) -> Any:
    """Return an Arrow table with the masked columns, which come in the order of `names`."""
    for i, name in enumerate(names):
        table = table.set_column(table.column_names.index(name), name, masked.column(i))
    return table


def _renamed(relation: Relation, names: Sequence[str]) -> Relation:
    """Call the columns c0, c1, ... of a relation by their names."""
    return relation.project(", ".join(f"c{i} AS {quoted(name)}" for i, name in enumerate(names)))


def _output_path(output: object) -> Path:
    """Return where to write, if its ending says in what format."""
    if not isinstance(output, str | os.PathLike):
        raise InvalidOption(f"output must be the path of a file, not {type(output).__name__}")
    check_path(output, OutputError)
    path = expanded(output)
    if not path.name.lower().endswith(ENDINGS):
        raise InvalidOption(f"cannot tell the format of {str(path)!r}: let it end in {', '.join(ENDINGS)}")
    return path


def _copy(relation: Relation, path: Path, name: str) -> None:
    """Write a file in the format that the final name asks for."""
    if name.endswith(PARQUET):
        relation.write_parquet(str(path.absolute()), compression="zstd", use_tmp_file=False)
        return
    separator = "\t" if name.endswith(TSV) else ","
    compression = "gzip" if name.endswith(".gz") else "none"
    relation.write_csv(
        str(path.absolute()), sep=separator, header=True, compression=compression, use_tmp_file=False
    )

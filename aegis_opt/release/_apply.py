"""Masking a whole table: a frame for a frame, or a file."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from aegis_opt._files import nameless_path
from aegis_opt.domain import Domain
from aegis_opt.errors import ConfigurationError, InvalidOption, OutputError, SourceError, UnknownColumn
from aegis_opt.masks import Configuration, Configurations, Identity, Mask
from aegis_opt.release._duckdb import Rows, masked_columns, needed_domains
from aegis_opt.release._progress import Report, readable, reported
from aegis_opt.release._spark import SparkRows
from aegis_opt.sources._csv_files import CsvTable
from aegis_opt.sources._duckdb_engine import interruptible, open_table
from aegis_opt.sources._engine import first_lines
from aegis_opt.sources._files import CSV, ENDINGS, PARQUET, TSV
from aegis_opt.sources._names import quoted, same_but_for_case
from aegis_opt.sources._spark_engine import SparkEngine, is_spark
from aegis_opt.sources._tables import (
    ArrowTable,
    PandasTable,
    PolarsTable,
    RelationTable,
    SourceTable,
)

if TYPE_CHECKING:
    import duckdb


def apply_configuration(
    source: Any,
    configuration: Configuration | Mapping[str, Mask],
    *,
    output: str | os.PathLike[str] | None = None,
    progress: Report | None = None,
) -> Any:
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
    progress : callable, optional
        Called as ``progress(doing, done, total)`` now and then.

    Returns
    -------
    DataFrame, Arrow table or relation
        Of the type of the source: pandas (also for a path), polars, Arrow, or a relation on the connection of
        the one given or a Spark DataFrame of its session, computed when fetched. With an output, its path.

    Notes
    -----
    Masked columns are text, except where all masked values are numbers (`Blur`, some mappings) or booleans;
    `Identity` leaves a column alone. Rules are computed, from the extent of the column where they depend on
    it; a mapping or hierarchy is looked up, value by value.

    Raises
    ------
    UnknownColumn, MaskError, SourceError
        If the configuration does not fit the source, or that cannot be read.
    OutputError
        If the output cannot be written.

    Examples
    --------
    >>> from aegis_opt.masks import Bucketize
    >>> people = pd.DataFrame({"age": [17, 42], "health": ["good", "poor"]})
    >>> apply_configuration(people, {"age": Bucketize(width=10)})
            age health
    0  [10, 20)   good
    1  [40, 50)   poor
    """
    import duckdb

    path = None if output is None else _output_path(output)
    if is_spark(source):
        if path is not None:
            raise InvalidOption(
                "Spark writes its DataFrames by itself: mask without output=, then .write.parquet(...)"
            )
        return _on_spark(source, configuration).masked()
    table, names, masks = _opened(source, configuration)
    with (
        tempfile.TemporaryDirectory(prefix="aegis-opt-") as folder,
        duckdb.connect(config={"temp_directory": folder}) as connection,
        readable(table.description),
    ):

        def work() -> Any:
            if path is not None:
                return _write(table, names, masks, path, connection, progress)
            with reported(_own(table, connection), progress, f"masking {table.description}"):
                return _same_type(table, names, masks, connection)

        return work() if _own(table, connection) is None else interruptible(work, connection.interrupt)


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
    import duckdb

    if is_spark(source):
        return needed_domains(_on_spark(source, configuration))
    table, names, masks = _opened(source, configuration)
    chosen = tuple(name for name in names if name in masks)
    with duckdb.connect() as connection, readable(table.description):
        if not chosen:
            return {}
        relation = table.select(connection, [names.index(name) for name in chosen])
        return needed_domains(Rows.of(relation, chosen, masks, table.description))


def _opened(
    source: object, configuration: Configuration | Mapping[str, Mask]
) -> tuple[SourceTable, tuple[str, ...], dict[str, Mask]]:
    """Open a source; return its columns and the masks that change any of them."""
    table = open_table(source)
    names = table.names()
    known = _checked(configuration, names, table.description)
    return table, names, {name: mask for name, mask in known.items() if not isinstance(mask, Identity)}


def _on_spark(frame: Any, configuration: Configuration | Mapping[str, Mask]) -> SparkRows:
    engine = SparkEngine(frame)
    return SparkRows(frame, _checked(configuration, engine.names(), engine.description))


def _checked(
    configuration: Configuration | Mapping[str, Mask], names: tuple[str, ...], description: str
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
            where = f"Configuration {configuration.name!r} masks it in {description}."
            raise UnknownColumn("column", name, names, where)
    return configuration


def _own(table: SourceTable, connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection | None:
    """Return the connection that a table is masked on if it is ours: a relation has one of its own."""
    return None if isinstance(table, RelationTable) else connection


def masked_relation(
    relation: duckdb.DuckDBPyRelation,
    names: tuple[str, ...],
    configuration: Mapping[str, Mask],
    description: str,
    connection: duckdb.DuckDBPyConnection | None,
) -> duckdb.DuckDBPyRelation:
    """Mask a relation with columns c0, c1, ...; lookups are stored on the connection, if there is one."""
    rows = Rows.of(relation, names, configuration, description)
    return rows.masked(masked_columns(rows), None if connection is None else table_store(connection))


def table_store(connection: duckdb.DuckDBPyConnection) -> Callable[[str], str]:
    """Return a function that stores the result of a query as a table and returns its name."""
    names: list[str] = []

    def store(query: str) -> str:
        names.append(f"lookup{len(names)}")
        connection.execute(f"CREATE TEMP TABLE {names[-1]} AS {query}")
        return names[-1]

    return store


def _same_type(
    table: SourceTable,
    names: tuple[str, ...],
    masks: Mapping[str, Mask],
    connection: duckdb.DuckDBPyConnection,
) -> Any:
    """Return the masked table as what the source is."""
    everything = range(len(names))
    if isinstance(table, RelationTable):
        relation = table.select(connection, everything)
        masked = masked_relation(relation, names, masks, table.description, None)
        return masked.project(", ".join(f"c{i} AS {quoted(name)}" for i, name in enumerate(names)))
    if not isinstance(table, PandasTable | PolarsTable | ArrowTable):
        relation = table.select(connection, everything)
        frame = masked_relation(relation, names, masks, table.description, connection).df()
        return frame.set_axis(list(names), axis="columns")
    chosen = tuple(name for name in names if name in masks)  # the others need not leave the frame
    if isinstance(table, ArrowTable):
        return _replaced_in_arrow(table, names, chosen, masks, connection)
    if not chosen:
        return table.frame.copy() if isinstance(table, PandasTable) else table.frame.clone()
    relation = table.select(connection, [names.index(name) for name in chosen])
    masked = masked_relation(relation, chosen, masks, table.description, connection)
    if isinstance(table, PandasTable):
        return replaced_in_pandas(table.frame, chosen, masked)
    columns = masked.pl()
    return table.frame.with_columns(columns[f"c{i}"].alias(name) for i, name in enumerate(chosen))


def replaced_in_pandas(
    frame: pd.DataFrame, names: tuple[str, ...], masked: duckdb.DuckDBPyRelation
) -> pd.DataFrame:
    """Return the frame with the masked columns, which come in the order of `names`, in place of its own."""
    columns = masked.df().set_axis(frame.index)
    result = frame.assign()  # a copy; given as arguments, a column could not be called self
    for i, name in enumerate(names):
        result[name] = columns[f"c{i}"]
    return result


def _replaced_in_arrow(
    table: ArrowTable,
    names: tuple[str, ...],
    chosen: tuple[str, ...],
    masks: Mapping[str, Mask],
    connection: duckdb.DuckDBPyConnection,
) -> Any:
    result = table.table
    if chosen:
        relation = table.select(connection, [names.index(name) for name in chosen])
        masked = masked_relation(relation, chosen, masks, table.description, connection).to_arrow_table()
        for i, name in enumerate(chosen):
            result = result.set_column(names.index(name), name, masked.column(i))
    return result


def _output_path(output: object) -> Path:
    """Return where to write, if its ending says in what format."""
    if not isinstance(output, str | os.PathLike):
        raise InvalidOption(f"output must be the path of a file, not {type(output).__name__}")
    path = Path(output)
    if not path.name.lower().endswith(ENDINGS):
        raise InvalidOption(f"cannot tell the format of {str(path)!r}: let it end in {', '.join(ENDINGS)}")
    return path


def _write(
    table: SourceTable,
    names: tuple[str, ...],
    masks: Mapping[str, Mask],
    path: Path,
    connection: duckdb.DuckDBPyConnection,
    progress: Report | None,
) -> Path:
    """Write the masked table beside its place, then move it there."""
    import duckdb

    _check_case(table, names)
    own = _own(table, connection)
    with reported(own, progress, f"reading {table.description}"):
        if isinstance(table, CsvTable) and path.name.lower().endswith(CSV + TSV):
            untouched = {i for i, name in enumerate(names) if name not in masks}
            relation = table.select(connection, range(len(names)), untouched)
        else:
            relation = table.select(connection, range(len(names)))
        masked = masked_relation(relation, names, masks, table.description, own)
    named = masked.project(", ".join(f"c{i} AS {quoted(name)}" for i, name in enumerate(names)))
    with nameless_path(path) as temporary, reported(own, progress, f"writing {path}"):
        try:
            _copy(named, temporary, path.name.lower())
        except duckdb.IOException as error:
            system = re.search(r'"errno":"(\d+)"', str(error))
            if system is not None and str(temporary) in str(error):
                raise OSError(int(system[1]), os.strerror(int(system[1]))) from error
            raise OutputError(f"{path} cannot be written: {first_lines(error)}") from error
    return path


def _copy(relation: duckdb.DuckDBPyRelation, path: Path, name: str) -> None:
    """Write a file in the format that the final name asks for."""
    if name.endswith(PARQUET):
        relation.write_parquet(str(path), compression="zstd", use_tmp_file=False)
        return
    separator = "\t" if name.endswith(TSV) else ","
    compression = "gzip" if name.endswith(".gz") else "none"
    relation.write_csv(str(path), sep=separator, header=True, compression=compression, use_tmp_file=False)


def _check_case(table: SourceTable, names: tuple[str, ...]) -> None:
    """Refuse names that DuckDB would silently change in a file."""
    if alike := same_but_for_case(names):
        raise SourceError(
            f"{table.description} has columns {alike[0]!r} and {alike[1]!r}, which a file written by DuckDB "
            "cannot have both: rename one, or mask a frame without an output"
        )

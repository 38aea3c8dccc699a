"""One scan of a source: counts per attribute and label."""

from __future__ import annotations

from collections.abc import Sequence

from aegis_opt.domain import Domain
from aegis_opt.errors import SourceError, UnknownColumn
from aegis_opt.sources.counts import Scan
from aegis_opt.sources.duckdb_engine import count_columns, open_table


def columns(source: object) -> tuple[str, ...]:
    """Return the column names of a source.

    Examples
    --------
    >>> import pandas as pd
    >>> columns(pd.DataFrame({"age": [10, 17], "health": ["good", "poor"]}))
    ('age', 'health')
    """
    return open_table(source).names()


def scan(source: object, label: str, attributes: Sequence[str] | None = None) -> Scan:
    """Count the records of a source per attribute value and label.

    Parameters
    ----------
    source : path, DataFrame, Arrow table or DuckDB relation
        CSV or TSV (plain or .gz, UTF-8, with a header) or Parquet, one file or a glob pattern; a pandas or
        polars DataFrame; a PyArrow table; a DuckDB relation, which is counted on its own connection.
        It is never modified.
    label : str
        Column of the class label.
    attributes : sequence of str, optional
        Columns to count; by default all others.

    Returns
    -------
    Scan
        Values are typed (see `Domain`): decimals are real, categories are text, time stamps with a zone are
        in UTC. NULL and NaN are one missing value, which is a value of its own; 0.0 and -0.0 are one value.

    Raises
    ------
    SourceError
        If the source cannot be read or counted.
    UnknownColumn
        If it has no such column.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"age": [10, 17, 10], "health": ["good", "poor", "good"]})
    >>> counts = scan(people, label="health")
    >>> counts.attributes["age"].domain.to_list(), counts.attributes["age"].table.tolist()
    ([10, 17], [[2, 0], [0, 1]])
    """
    table = open_table(source)
    names = table.names()
    if attributes is None:
        attributes = [name for name in names if name != label]
    for name in (label, *attributes):
        if name not in names:
            raise UnknownColumn("column", name, names, f"Source: {table.description}.")
    if label in attributes:
        raise SourceError(
            f"{label!r} is the label and cannot be an attribute too: remove it from the attributes"
        )
    label_domain, label_counts, joint = count_columns(table, names, label, list(attributes))
    if len(label_domain) < 2:
        raise SourceError(
            f"{table.description}: the label {label!r} has one class only ({label_domain.to_list()[0]!r}), "
            "so nothing can predict it: choose another label"
        )
    return Scan(label, label_domain, label_counts, joint, int(label_counts.sum()))


def scan_domains(source: object, label: str, attributes: Sequence[str] | None = None) -> dict[str, Domain]:
    """Return the domain of each attribute; arguments as in `scan`.

    Examples
    --------
    >>> import pandas as pd
    >>> scan_domains(pd.DataFrame({"age": [10, 17], "health": [0, 1]}), label="health")["age"].to_list()
    [10, 17]
    """
    return {name: counts.domain for name, counts in scan(source, label, attributes).attributes.items()}

"""The extents of columns, by one scan in the SQL that DuckDB and Spark share.

An extent is a domain of a few values: the least, the greatest and, of reals that are not all whole, one that
is not. That is all a rule, such as ranges of equal width, has to know of a column.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from aegis_opt.domain import Domain
from aegis_opt.sources._column import Column
from aegis_opt.sources._engine import Fetched


def extent_aggregates(columns: Iterable[Column]) -> str:
    """Return the aggregates to select for `extents`."""
    aggregates = []
    for column in columns:
        x, present = column.sql, ""
        if column.kind == "real":
            present = f" FILTER (WHERE NOT isnan({x}))"
            broken = f"NOT isnan({x} - {x}) AND {x} % CAST(1 AS DOUBLE) <> 0"  # inf - inf is NaN
            aggregates.append(f"min({x}) FILTER (WHERE {broken}) AS {x}_broken")
        aggregates += [f"min({x}){present} AS {x}_low", f"max({x}){present} AS {x}_high"]
    return ", ".join(aggregates)


def extents(columns: Mapping[str, Column], fetched: Fetched) -> dict[str, Domain]:
    """Read the extent of each column from the fetched aggregates."""
    found = {}
    for name, column in columns.items():
        ends = [value for key, value in fetched.items() if key.partition("_")[0] == column.sql]
        present = np.concatenate([np.ma.getdata(end)[~np.ma.getmaskarray(end)] for end in ends])
        found[name] = Domain.encode(column.kind, present, np.zeros(len(present), dtype=bool))[1]
    return found

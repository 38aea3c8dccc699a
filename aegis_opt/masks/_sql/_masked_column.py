"""How SQL masks a column: by a rule if there is one, else value by value."""

from __future__ import annotations

from collections.abc import Callable

from aegis_opt.domain import Domain
from aegis_opt.masks._base import Mask
from aegis_opt.masks._sql._column import SqlColumn
from aegis_opt.masks._sql._lookup import Lookup
from aegis_opt.masks._sql._rules import rule_sql


def masked_column(mask: Mask, column: SqlColumn, values: Callable[[], Domain]) -> str | Lookup:
    """Return the SQL of the masked values, or what to look up.

    Parameters
    ----------
    mask : Mask
        The mask.
    column : SqlColumn
        The column, with its extent where that is known.
    values : callable
        Gives the values to look up; called where there is no rule.

    Examples
    --------
    >>> from aegis_opt.masks import Generalize, Suppress
    >>> column = SqlColumn("age", "integer")
    >>> masked_column(Suppress(), column, lambda: Domain.of([10, 17]))
    "'*'"
    >>> masked_column(Generalize({"Young": [10, 17]}), column, lambda: Domain.of([10, 17])).case(column)
    "CASE WHEN age IN (10, 17) THEN 'Young' END"
    """
    if column.domain is not None and not len(column.domain.values):
        return Lookup.of_missing(mask)
    rule = rule_sql(mask, column)
    return Lookup.of(mask, values()) if rule is None else rule

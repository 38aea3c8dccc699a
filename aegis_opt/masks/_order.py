"""The order of an attribute: what a person declares, and in which order its values then stand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from aegis_opt._json import check_text
from aegis_opt._shown import shown
from aegis_opt.domain import Domain
from aegis_opt.errors import ConfigurationError, MaskError
from aegis_opt.masks._base import Mask
from aegis_opt.masks._generalize import Generalize
from aegis_opt.masks._hierarchy import Hierarchy, read_values
from aegis_opt.masks._mapping import normal_value
from aegis_opt.masks._parameters import some

Order = Literal["ascending", "given", "nominal"]
"""Rows by ascending value, rows in an order that the provider gave, or rows in no order that counts."""
ORDERS: tuple[str, ...] = get_args(Order)

Rule = str | tuple[Any, ...]
"""A declared order: one of `WORDS`, or the values from first to last."""
WORDS = ("ascending", "hierarchy", "nominal")

MOST_VALUES = 100_000
"""Values that an order lists; an attribute of more is ascending or nominal."""

MEASURED = ("integer", "real", "date", "datetime")
"""Kinds whose values are ordered unless they are declared nominal, and have distances."""


def default_order(kind: str) -> Order:
    """Return the order of an attribute of which nothing is declared: numbers and dates have one.

    Examples
    --------
    >>> default_order("date"), default_order("string")
    ('ascending', 'nominal')
    """
    return "ascending" if kind in MEASURED else "nominal"


def normal_orders(order: object) -> dict[str, Rule]:
    """Check declared orders, and return them as JSON holds them, lists as tuples.

    Examples
    --------
    >>> normal_orders({"size": ["S", "M", "L"], "zip": "nominal"})
    {'size': ('S', 'M', 'L'), 'zip': 'nominal'}
    """
    if order is None:
        return {}
    if not isinstance(order, Mapping):
        raise ConfigurationError(
            "order must map attributes to lists of values, {'size': ['S', 'M', 'L']}, or to words, not be "
            f"{shown(order)}"
        )
    found = {}
    for attribute, rule in order.items():
        if not isinstance(attribute, str) or not attribute:
            raise ConfigurationError(f"order must name attributes, not {shown(attribute)}")
        check_text(attribute, ConfigurationError)
        found[attribute] = _normal_rule(f"the order of {shown(attribute)}", rule)
    return found


def _normal_rule(what: str, rule: Any) -> Rule:
    if isinstance(rule, str):
        if rule not in WORDS:
            *others, last = map(repr, WORDS)
            raise ConfigurationError(
                f"{what} must be a list of values, {', '.join(others)} or {last}, not {shown(rule)}"
            )
        return rule
    if isinstance(rule, Mapping | bytes | set | frozenset) or not isinstance(rule, Iterable):
        raise ConfigurationError(f"{what} must be a list of values or a word, not {shown(rule)}")
    values: dict[Any, None] = {}
    for place, value in enumerate(rule):
        if place == MOST_VALUES:
            raise ConfigurationError(
                f"{what} lists more than {MOST_VALUES:,} values: declare it 'ascending' or 'nominal'"
            )
        try:
            normal = normal_value(value)
        except MaskError:
            raise ConfigurationError(
                f"{what} must list text, numbers, booleans or dates, not {shown(value)}"
            ) from None
        if normal is None:
            raise ConfigurationError(f"{what} lists the missing value, which has no place in it: remove it")
        if normal in values:
            raise ConfigurationError(f"{what} lists {shown(value)} twice: keep one")
        values[normal] = None
    if not values:
        raise ConfigurationError(f"{what} lists no values: list them from first to last")
    return tuple(values)


def hierarchies(attribute: str, configurations: Iterable[Mapping[str, Mask]]) -> list[Hierarchy]:
    """Return the distinct hierarchies by which configurations mask an attribute."""
    masks = (configuration.get(attribute) for configuration in configurations)
    found = (mask.hierarchy for mask in masks if isinstance(mask, Generalize))
    return list(dict.fromkeys(one for one in found if isinstance(one, Hierarchy)))


def check_orders(
    orders: Mapping[str, Rule], configurations: Sequence[Mapping[str, Mask]], source: str
) -> None:
    """Refuse an order of an attribute that nothing masks, or of a hierarchy that there is not."""
    masked = dict.fromkeys(attribute for configuration in configurations for attribute in configuration)
    for attribute, rule in orders.items():
        if attribute not in masked:
            raise ConfigurationError(
                f"{source} gives an order of {shown(attribute)}, which no configuration masks: remove it, or "
                f"correct the name (masked: {some(masked)})"
            )
        if rule == "hierarchy" and not hierarchies(attribute, configurations):
            raise ConfigurationError(
                f"{source} orders {shown(attribute)} by its hierarchy, but no configuration masks it with "
                "Generalize(hierarchy=...): list its values instead"
            )


@dataclass(frozen=True, eq=False)
class Arrangement:
    """In which order the values of a domain are the rows of tables, and what this order tells.

    Parameters
    ----------
    order : {"ascending", "given", "nominal"}
        What it tells.
    rows : ndarray of int64, optional
        The place in the domain of each row; None where the rows are the domain as it is.
    """

    order: Order
    rows: npt.NDArray[np.int64] | None = None

    def of(self, values: Any) -> Any:
        """Return an array over the domain in the order of the rows."""
        return values if self.rows is None else values[self.rows]

    def undone(self, values: Any) -> Any:
        """Return an array over the rows in the order of the domain."""
        return values if self.rows is None else values[np.argsort(self.rows)]


def arrange(
    attribute: str,
    domain: Domain,
    rule: Rule | None,
    configurations: Iterable[Mapping[str, Mask]],
    other: str | None = None,
) -> Arrangement:
    """Order a domain as declared: by a list, by the hierarchies that mask it, by value, or not at all.

    Parameters
    ----------
    attribute : str
        Name of the attribute.
    domain : Domain
        Its values.
    rule : str, tuple or None
        The declared order; None for none.
    configurations : iterable of mapping
        The masks.
    other : str, optional
        The text that stands for all rare ones, where the attribute was coarsened.

    Examples
    --------
    >>> arrange("size", Domain.of(["L", "M", "S", None]), ("S", "M", "L", "XL"), []).rows.tolist()
    [2, 1, 0, 3]
    """
    if rule is None:
        return Arrangement(default_order(domain.kind))
    if rule == "nominal":
        return Arrangement("nominal")
    if rule == "ascending":
        if other is not None:
            raise ConfigurationError(
                f"{shown(attribute)} was coarsened, and {shown(other)} has no place in its ascending order: "
                "list the order, raise max_values, or declare it 'nominal'"
            )
        return Arrangement("ascending")
    if rule != "hierarchy":
        return Arrangement("given", _rows(f"the order of {shown(attribute)}", domain, rule))
    found = [
        _rows(
            f"the hierarchy of {shown(attribute)}",
            domain,
            [row[0] for row in hierarchy.rows],
            quotes=hierarchy.path is None,
        )
        for hierarchy in hierarchies(attribute, configurations)
    ]
    if any(not np.array_equal(rows, found[0]) for rows in found):
        raise ConfigurationError(
            f"{shown(attribute)} is masked by hierarchies that list its values in different orders: list the "
            "order itself instead of 'hierarchy'"
        )
    return Arrangement("given", found[0])


def arrange_given(attribute: str, domain: Domain, order: str | Iterable[Any] | None) -> Arrangement:
    """Order a domain by a list of its values or a word, where no mask has a hierarchy that could do so.

    Examples
    --------
    >>> arrange_given("size", Domain.of(["L", "M", "S"]), ["S", "M", "L"]).rows.tolist()
    [2, 1, 0]
    """
    rule = None if order is None else _normal_rule(f"the order of {shown(attribute)}", order)
    if rule == "hierarchy":
        raise ConfigurationError(
            f"the order of {shown(attribute)} is that of a hierarchy, but there is none yet: list its values"
        )
    return arrange(attribute, domain, rule, [])


def _rows(what: str, domain: Domain, listed: Sequence[Any], *, quotes: bool = True) -> npt.NDArray[np.int64]:
    """Return the place in the domain of each row; the missing value stays the last."""
    ranks: dict[Any, int] = {}
    for rank, value in enumerate(read_values(domain.kind, listed)):
        if value is None:  # no value of this kind, so none of the domain
            continue
        if value in ranks:
            twice = shown(value) if quotes else f"the value of rows {ranks[value] + 1} and {rank + 1}"
            raise ConfigurationError(f"{what} lists {twice} twice (as {domain.kind}): keep one")
        ranks[value] = rank
    values = domain.values.tolist()
    outside = [value for value in values if value not in ranks]
    if outside:
        raise ConfigurationError(
            f"{what} does not list {some(outside)}: add the values at their places, or declare the attribute "
            "'nominal'"
        )
    rows = np.argsort([ranks[value] for value in values])
    return np.append(rows, len(values)).astype(np.int64)[: len(domain)]

"""Public domains: the values that a column may have, known before anybody looks at the table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from aegis_opt._shown import shown
from aegis_opt.domain import Domain, Kind
from aegis_opt.errors import ConfigurationError, InvalidOption, MaskError, UnknownColumn
from aegis_opt.masks import Generalize, Mask
from aegis_opt.masks._hierarchy import read_values
from aegis_opt.masks._mapping import Pairs, normal_value
from aegis_opt.masks._order import MOST_VALUES, Rule, hierarchies
from aegis_opt.masks._parameters import some
from aegis_opt.sources import Scan

Listed = tuple[Any, ...]


class PublicDomains:
    """The domains that a provider declares, checked before anything is counted.

    Parameters
    ----------
    given : mapping of str to iterable, optional
        Column -> its values, None among them where values may be missing.
    required : bool
        Whether every column needs one: noise is private only where the values tell nothing.
    """

    def __init__(self, given: object, *, required: bool) -> None:
        self.required = required
        if given is not None and not isinstance(given, Mapping):
            raise InvalidOption(
                "domains must map columns to lists of values, {'age': range(0, 120)}, not be "
                f"{shown(given)}"
            )
        self.given = {name: _listed(name, values) for name, values in (given or {}).items()}

    def __bool__(self) -> bool:
        return self.required or bool(self.given)

    def of(
        self, counts: Scan, configurations: Sequence[Mapping[str, Mask]], orders: Mapping[str, Rule]
    ) -> Scan:
        """Return the counts over the public domains: values that do not occur have rows of zeros."""
        columns = [*counts.attributes, counts.label]
        for name in self.given:
            if name not in columns:
                raise UnknownColumn("column", name, columns, "A public domain was declared of it.")
        label_domain, places = self._placed(counts.label, counts.label_domain, self.given.get(counts.label))
        label_counts = np.zeros(len(label_domain), dtype=np.int64)
        label_counts[places] = counts.label_counts
        attributes = {}
        for name, joint in counts.attributes.items():
            listed = self.given.get(name) or _implied(name, orders, configurations)
            domain, rows = self._placed(name, joint.domain, listed)
            table = np.zeros((len(domain), len(label_domain)), dtype=np.int64)
            table[np.ix_(rows, places)] = joint.table
            attributes[name] = replace(joint, domain=domain, table=table)
        return replace(counts, label_domain=label_domain, label_counts=label_counts, attributes=attributes)

    def _placed(
        self, name: str, found: Domain, listed: Listed | None
    ) -> tuple[Domain, npt.NDArray[np.int64]]:
        """Return the public domain of a column, and the place in it of each value that occurs."""
        if listed is None and found.kind == "boolean":
            listed = (False, True)
        if listed is None:
            if self.required:
                raise InvalidOption(
                    f"the domain of {shown(name)} was not declared public, and which values occur would tell "
                    f"about records: pass domains={{{name!r}: [all values that it may have]}}, with None if "
                    "values may be missing (for an attribute a listed order, a mapping or a hierarchy of its "
                    "masks declares them, too)"
                )
            return found, np.arange(len(found))
        public = _domain(name, found.kind, listed)
        place = {value: i for i, value in enumerate(public.to_list())}
        outside = [value for value in found.to_list() if value not in place]
        if outside == [None]:
            raise InvalidOption(
                f"{shown(name)} has missing values, which its public domain does not have: add None to "
                f"domains={{{name!r}: [...]}}, or replace them in the table"
            )
        if outside:
            raise InvalidOption(
                f"the public domain of {shown(name)} does not have {some(outside)}: add them to "
                f"domains={{{name!r}: [...]}} if that is public knowledge, or correct the table"
            )
        return public, np.array([place[value] for value in found.to_list()], dtype=np.int64)


def _listed(name: object, values: object) -> Listed:
    if not isinstance(name, str) or not name:
        raise InvalidOption(f"domains must name columns, not {shown(name)}")
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise InvalidOption(f"the domain of {shown(name)} must be a list of values, not {shown(values)}")
    found: dict[Any, None] = {}
    for place, value in enumerate(values):
        if place == MOST_VALUES:
            raise InvalidOption(f"the domain of {shown(name)} lists more than {MOST_VALUES:,} values")
        try:
            found[normal_value(value)] = None
        except (MaskError, ConfigurationError):
            raise InvalidOption(
                f"the domain of {shown(name)} must list text, numbers, booleans, dates or None, not "
                f"{shown(value)}"
            ) from None
    if not set(found) - {None}:
        raise InvalidOption(f"the domain of {shown(name)} lists no values")
    return tuple(found)


def _implied(
    name: str, orders: Mapping[str, Rule], configurations: Sequence[Mapping[str, Mask]]
) -> Listed | None:
    """Return the values that a listed order, a hierarchy or a mapping of an attribute declares."""
    rule = orders.get(name)
    if rule is not None and not isinstance(rule, str):
        return rule
    for hierarchy in hierarchies(name, configurations):
        return tuple(row[0] for row in hierarchy.rows)
    for configuration in configurations:
        mask = configuration.get(name)
        if isinstance(mask, Generalize) and mask.mapping is not None:
            return tuple(value for _, values in cast("Pairs", mask.mapping) for value in values)
    return None


def _domain(name: str, kind: Kind, listed: Listed) -> Domain:
    """Return declared values as a domain of the kind that the column has."""
    present = [value for value in listed if value is not None]
    values = read_values(kind, present)
    if kind == "integer" and any(isinstance(value, float) and not value.is_integer() for value in values):
        kind = "real"
    odd = [written for written, value in zip(present, values, strict=True) if value is None]
    if odd:
        raise InvalidOption(
            f"the domain of {shown(name)} lists {some(odd)}, but the column is of kind {kind}: correct it"
        )
    try:
        array = np.array(values, dtype=Domain(kind, np.array([], dtype=object)).values.dtype)
    except OverflowError:
        raise InvalidOption(
            f"the domain of {shown(name)} lists integers beyond 64 bits: correct it"
        ) from None
    return Domain(
        kind, Domain.encode(kind, array, np.zeros(len(array), dtype=bool))[1].values, None in listed
    )

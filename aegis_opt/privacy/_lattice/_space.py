"""What is searched: the rows of a table, the candidates of its attributes, and what each candidate costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from aegis_opt.domain import Domain
from aegis_opt.errors import InvalidInput, InvalidOption, UnknownColumn
from aegis_opt.masks import Identity, Mask, group_attribute
from aegis_opt.masks._base import Grouping
from aegis_opt.masks._fit import fitted_attribute
from aegis_opt.masks._order import Rule, arrange
from aegis_opt.measures import Measure
from aegis_opt.privacy._lattice._candidates import Offer, masks_of
from aegis_opt.privacy._lattice._options import FloatArray
from aegis_opt.privacy._lattice._partitions import IntArray, Partitions
from aegis_opt.privacy._lattice._rows import Rows
from aegis_opt.privacy._lattice._violations import Point
from aegis_opt.scores import get_score
from aegis_opt.scores._masked_records import MaskedRecords, Refinement
from aegis_opt.sources import JointCounts, Progress
from aegis_opt.sources._many_values import Policy
from aegis_opt.sources._pairs import CodedRecords
from aegis_opt.sources._scan import open_engine, open_scan

_MOST_DIGITS = 12  # decimals to which costs are compared
_EXACT = 2.0**52  # sums of costs stay below, so that doubles hold them exactly


@dataclass(frozen=True, eq=False)
class Space:
    """The candidates of each attribute, what each loses, and the records.

    Attributes
    ----------
    masks : dict of str to tuple of Mask
        The candidates.
    losses : list of ndarray
        For each attribute, what each candidate loses of the measure.
    digits : int
        Losses are compared as whole numbers, in units of 10^-digits.
    rows : Rows
        The records, as far as some candidate tells them apart.
    groupings : list of list of Grouping
        For each attribute and candidate, the masked values.
    quasi : tuple of int
        The attributes that are quasi-identifiers, by number.
    """

    label: str
    label_domain: Domain
    measure: Measure
    masks: dict[str, tuple[Mask, ...]]
    losses: list[FloatArray]
    digits: int
    rows: Rows
    partitions: list[Partitions]
    groupings: list[list[Grouping]]
    unmasked: list[float]  # the measure of each attribute without a mask
    values: list[IntArray]  # for each attribute, a place in the domain for each place in the rows
    quasi: tuple[int, ...]
    sensitive: str | None
    order: IntArray | None  # the sensitive values from first to last, where they have an order
    description: str

    @property
    def names(self) -> list[str]:
        """The attributes."""
        return list(self.masks)

    @cached_property
    def units(self) -> FloatArray:
        """The losses of all candidates as whole numbers."""
        units: FloatArray = np.round(np.concatenate(self.losses) * 10.0**self.digits)
        return units + 0.0

    def cost(self, point: Point) -> float:
        """Return the mean loss over the attributes."""
        losses = [own[candidate] for own, candidate in zip(self.losses, point, strict=True)]
        return float(np.mean(losses))

    def in_measure(self, units: float) -> float:
        """Return a sum of whole numbers as a mean loss."""
        return units / 10.0**self.digits / len(self.names)

    def r2_gcv(self, point: Point) -> float:
        """Return how well all masked attributes together predict the label."""
        records = CodedRecords(
            [np.repeat(own, self.rows.counts) for own in self.rows.values],
            np.repeat(self.rows.label, self.rows.counts),
            len(self.label_domain),
        )
        chosen = {
            name: [own.groups[candidate]]
            for name, own, candidate in zip(self.names, self.partitions, point, strict=True)
        }
        sizes = {
            name: np.bincount(own, weights=self.rows.counts).astype(np.int64)
            for name, own in zip(self.names, self.rows.values, strict=True)
        }
        masked = MaskedRecords(records, chosen, {"best": dict.fromkeys(chosen, 0)}, sizes)
        return float(get_score("r2_gcv").of(masked).values[0])


def read_space(
    source: object,
    label: str,
    offers: Mapping[str, Offer],
    measure: Measure,
    *,
    quasi_identifiers: Sequence[str] | None,
    sensitive: str | None,
    orders: Mapping[str, Rule],
    ordered: bool,
    memory: str | None,
    progress: Progress | None,
) -> Space:
    """Scan a source once, and compute what every candidate of every attribute costs."""
    engine = open_engine(source, memory)
    known = engine.names()
    for name in offers:
        if name not in known:
            raise UnknownColumn("column", name, known, "It was given as an attribute with candidates.")
    names = [name for name in known if name in offers]
    extra = [] if sensitive in (None, label) else [str(sensitive)]
    with open_scan(engine, label, [*names, *extra], Policy(), memory, progress) as (counts, records):
        values, labels, n = records.combinations(counts.n_records)
    masks = {}
    for name in names:
        joint = counts.attributes[name]
        offered = masks_of(name, offers[name], joint.domain)
        masks[name] = tuple(fitted_attribute(mask, name, joint) for mask in offered)
    groupings = [
        [group_attribute(mask, name, counts.attributes[name].domain) for mask in masks[name]]
        for name in names
    ]
    refined = [Refinement.of([own.groups for own in mine]) for mine in groupings]
    losses, unmasked = _losses(measure, [counts.attributes[name] for name in names], groupings)
    own_sensitive, domain, order = labels, counts.label_domain, None
    if extra:
        own_sensitive, domain = values[-1], counts.attributes[extra[0]].domain
    if ordered:
        order = _order(str(sensitive), domain, {**engine.orders(), **orders})
    places = [own.classes[mine] for own, mine in zip(refined, values, strict=False)]
    rows = Rows(places, labels, own_sensitive, len(domain), n).merged()
    return Space(
        label=label,
        label_domain=counts.label_domain,
        measure=measure,
        masks=masks,
        losses=losses,
        digits=_digits(losses, measure),
        rows=rows,
        partitions=[Partitions(own.groups) for own in refined],
        groupings=groupings,
        unmasked=unmasked,
        values=[_first_places(own.classes) for own in refined],
        quasi=_quasi(names, quasi_identifiers),
        sensitive=sensitive,
        order=order,
        description=engine.description,
    )


def _quasi(names: Sequence[str], chosen: Sequence[str] | None) -> tuple[int, ...]:
    if chosen is None:
        return tuple(range(len(names)))
    for name in chosen:
        if name not in names:
            raise UnknownColumn("quasi-identifier", name, names, "Give candidates for it.")
    return tuple(i for i, name in enumerate(names) if name in chosen)


def _losses(
    measure: Measure, tables: Sequence[JointCounts], groupings: Sequence[Sequence[Grouping]]
) -> tuple[list[FloatArray], list[float]]:
    """Measure each attribute without a mask and under each candidate."""
    sign = 1.0 if measure.higher_is_better else -1.0
    losses, unmasked = [], []
    for joint, mine in zip(tables, groupings, strict=True):
        merged = [joint.table]
        for grouping in mine:
            table = np.zeros((grouping.n_groups, joint.table.shape[1]), dtype=np.int64)
            np.add.at(table, grouping.groups, joint.table)
            merged.append(table)
        whole, *masked = np.asarray(measure.many(merged), dtype=float)
        losses.append(sign * (whole - np.array(masked)) + 0.0)
        unmasked.append(float(whole))
    return losses, unmasked


def _digits(losses: Sequence[FloatArray], measure: Measure) -> int:
    """Return how many decimals of the losses are compared: as many as leave their sums exact."""
    largest = float(sum(np.abs(own).max() for own in losses))
    if not np.isfinite(largest):
        raise InvalidInput(
            f"measure {measure.name!r} is not finite for a candidate: choose another measure, or leave that "
            "candidate out"
        )
    digits = _MOST_DIGITS
    while largest * 10.0**digits >= _EXACT:
        digits -= 1
    return digits


def _order(name: str, domain: Domain, orders: Mapping[str, Rule]) -> IntArray:
    arrangement = arrange(name, domain, orders.get(name), [{name: Identity()}])
    if arrangement.order == "nominal":
        raise InvalidOption(
            f"the sensitive attribute {name!r} has no order, which ordered t-closeness needs: pass "
            f"order={{{name!r}: [...]}} with its values from first to last, or ordered=False"
        )
    return np.asarray(arrangement.of(np.arange(len(domain))), dtype=np.int64)


def _first_places(classes: IntArray) -> IntArray:
    return np.unique(classes, return_index=True)[1]

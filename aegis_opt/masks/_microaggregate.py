"""`Microaggregate`: neighbouring values become their mean or median, in groups of at least k records."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, cast, get_args

import numpy as np
import numpy.typing as npt

from aegis_opt._options import one_of, whole_number
from aegis_opt._shown import shown
from aegis_opt.domain import Domain
from aegis_opt.errors import MaskError
from aegis_opt.masks._base import Keyed, Label, Mask
from aegis_opt.masks._least_squares import FloatArray, IntArray, least_squares_groups
from aegis_opt.masks._parameters import (
    Moment,
    Number,
    checked_counts,
    is_temporal,
    moment_texts,
    number_or_moment,
    rank,
    short_list,
)

ReplaceBy = Literal["mean", "median"]
_EXACT = 2**53  # integers up to here are reals, too


@dataclass(frozen=True, repr=False)
class Microaggregate(Mask):
    """Neighbouring values form groups of at least `k` records, and become the mean or median of their group.

    Of all partitions of the ascending values into groups of at least k records each, the groups are one of
    least sum of squares about the group means [1]_; equal values stay together, so a group has k to
    2k - 2 + m records, where m is how often its most frequent value occurs. Missing values do not count and
    stay missing, a group of their own, however few.

    Parameters
    ----------
    k : int
        The least number of records of a group, >= 1.
    replace_by : {"mean", "median"}
        What the records of a group become. Of dates, and of integers beyond 2**53, it is rounded to a whole
        one, halves upwards.
    edges, centres : sequences of numbers or of dates, optional
        The fitted form, which does the same to every table: group i has the values from edges[i - 1] up to,
        but without, edges[i], and becomes centres[i]; there is one centre more than edges. The first and the
        last group are open-ended. By default they are found in the table that is masked or, for
        `MaskingTransformer`, in the training data. Edges lie halfway between the groups.

    References
    ----------
    .. [1] S. L. Hansen and S. Mukherjee, "A polynomial algorithm for optimal univariate microaggregation",
       IEEE Transactions on Knowledge and Data Engineering 15(4), 2003.

    Examples
    --------
    >>> ages = Domain.of([20, 21, 40, 41, 90, None])
    >>> mask = Microaggregate(2).fitted(ages, [1, 1, 2, 1, 1, 1])
    >>> mask
    Microaggregate(k=2, edges=(31, 41), centres=(20.5, 40, 65.5))
    >>> mask.group(ages).labels
    (20.5, 40, 65.5, None)
    """

    k: int
    replace_by: ReplaceBy = "mean"
    edges: Sequence[Number] | Sequence[Moment] | Sequence[str] | None = None
    centres: Sequence[Number] | Sequence[Moment] | Sequence[str] | None = None

    function: ClassVar[str] = "microaggregate"
    pointwise: ClassVar[bool] = True
    kinds: ClassVar[tuple[str, ...]] = ("integer", "real", "date", "datetime")
    instead: ClassVar[str] = "use PoolRare, KeepTop, or Generalize with a mapping or a hierarchy"

    def _normal(self) -> dict[str, Any]:
        k = whole_number("the k of Microaggregate", self.k, least=1, error=MaskError)
        by = one_of("replace_by of Microaggregate", self.replace_by, get_args(ReplaceBy), error=MaskError)
        if (self.edges is None) != (self.centres is None):
            raise MaskError(
                "Microaggregate needs both edges and centres (the fitted form), or neither: fit it to the "
                "data with fit_configuration(source, configuration)"
            )
        if self.edges is None:
            return {"k": k, "replace_by": by}
        edges, centres = _normal_list("edges", self.edges), _normal_list("centres", self.centres)
        if len(centres) != len(edges) + 1:
            raise MaskError(
                f"Microaggregate has {len(edges)} edges and {len(centres)} centres: give one centre more "
                "than edges, one for each group"
            )
        if len({isinstance(bound, dt.date) for bound in (*edges, *centres)}) > 1:
            raise MaskError("the edges and centres of Microaggregate must be all numbers or all dates")
        for i, edge in enumerate(edges):
            if not rank(centres[i]) < rank(edge) <= rank(centres[i + 1]):
                raise MaskError(
                    f"the edge {edge!r} of Microaggregate must lie above the centre {centres[i]!r} of the "
                    f"group below it, and not above the centre {centres[i + 1]!r} of the next: correct them"
                )
        return {"k": k, "replace_by": by, "edges": edges, "centres": centres}

    @property
    def needs_counts(self) -> bool:
        """Whether the groups are not yet known."""
        return self.edges is None

    def fitted(self, domain: Domain, counts: npt.ArrayLike) -> Mask:
        """Return the mask with its edges and centres, for a column whose values occur `counts` times."""
        totals = checked_counts(domain, counts).sum(axis=1)[: len(domain.values)]
        if not self.needs_counts:
            return self
        records = int(totals.sum())
        if records < self.k:
            way_out = f"choose a k of at most {records:,}" if records else "leave the attribute out"
            raise MaskError(
                f"{self!r} makes groups of at least {self.k:,} records, but only {records:,} have a value "
                f"(missing values do not count): {way_out}"
            )
        self.check_kind(domain)
        values, totals = domain.values[totals > 0], totals[totals > 0]
        if domain.kind == "real":
            edges, centres = self._fitted_reals(values, totals)
        else:
            unit = {"integer": np.int64, "date": "datetime64[D]", "datetime": "datetime64[us]"}[domain.kind]
            edges, centres = self._fitted_steps(values.astype(np.int64), totals, unit)
        return dataclasses.replace(self, edges=edges, centres=centres)

    def _fitted_reals(self, values: FloatArray, counts: IntArray) -> tuple[list[Any], list[Any]]:
        if not np.isfinite(values).all():
            raise MaskError(
                f"{self!r} cannot average infinite values: correct them, or use TopCode, or Bucketize with "
                "edges"
            )
        exponent = int(np.frexp(np.abs(values).max())[1])
        scaled = np.ldexp(values, -exponent)  # squares stay finite; a power of 2 changes no digit
        starts = least_squares_groups(scaled, counts, self.k)
        lasts = np.append(starts[1:], len(values)) - 1
        if self.replace_by == "median":
            below, above = _middles(counts, starts)
            centres = (scaled[below] + scaled[above]) / 2
        else:
            off = scaled - np.repeat(scaled[starts], lasts - starts + 1)
            centres = scaled[starts] + np.add.reduceat(off * counts, starts) / np.add.reduceat(counts, starts)
        centres = np.clip(np.ldexp(centres, exponent), values[starts], values[lasts])
        before, after = values[starts[1:] - 1], values[starts[1:]]
        edges = before / 2 + after / 2
        edges = np.where((before < edges) & (edges <= after), edges, after)
        return edges.tolist(), centres.tolist()

    def _fitted_steps(self, values: IntArray, counts: IntArray, unit: Any) -> tuple[list[Any], list[Any]]:
        """Fit integers, or dates as whole numbers of their unit; sums are exact."""
        off = values.astype(np.uint64) - values[:1].astype(np.uint64)  # may be more than 63 bits
        starts = least_squares_groups(off.astype(np.float64), counts, self.k)
        if self.replace_by == "median":
            below, above = _middles(counts, starts)
            base, sums, sizes = below, off[above] - off[below], np.full(len(starts), 2)
        else:
            base, sizes = starts, np.add.reduceat(counts, starts)
            own = off - np.repeat(off[starts], np.diff(np.append(starts, len(values))))
            small = int(own.max()) * int(sizes.max()) < 2**63
            weighted = own.astype(np.int64) * counts if small else own.astype(object) * counts.astype(object)
            sums = np.add.reduceat(weighted, starts)
        whole = unit is not np.int64 or int(np.abs(values.astype(np.float64)).max()) > _EXACT
        centres = [
            first + (2 * total + size) // (2 * size)
            if whole or total % size == 0
            else (first * size + total) / size
            for first, total, size in zip(values[base].tolist(), sums.tolist(), sizes.tolist(), strict=True)
        ]
        gap = off[starts[1:]] - off[starts[1:] - 1]
        edges = values[starts[1:] - 1] + (gap - gap // np.uint64(2)).astype(np.int64)
        if unit is np.int64:
            return edges.tolist(), centres
        return edges.astype(unit).tolist(), np.array(centres, dtype=np.int64).astype(unit).tolist()

    def groups(self) -> tuple[tuple[Any, ...], list[Label]]:
        """Return the edges and the masked value of each group; it is an error if they are not known yet."""
        if self.edges is None:
            raise MaskError(
                f"the groups of {self!r} depend on how often values occur: fit it to the data with "
                "fit_configuration(source, configuration), or give edges=[...] and centres=[...]"
            )
        edges, centres = cast("tuple[Any, ...]", self.edges), cast("tuple[Any, ...]", self.centres)
        if isinstance(centres[0], dt.date):
            return edges, list(moment_texts(np.array(centres, dtype="datetime64[us]")))
        return edges, list(centres)

    def _keys(self, domain: Domain) -> Keyed:
        edges, labels = self.groups()
        dates = is_temporal(domain.kind)
        if len(domain.values) and dates != isinstance(labels[0], str):
            wanted = "dates" if dates else "numbers"
            raise MaskError(
                f"{self!r} does not fit values of kind {domain.kind}: give {wanted}, or fit it to the data "
                "again"
            )
        thresholds = np.array(edges, dtype="datetime64[us]" if dates else None)
        keys = np.searchsorted(thresholds, domain.values, side="right")
        return keys, lambda distinct: [labels[key] for key in distinct.tolist()]

    def __repr__(self) -> str:
        parameters = {name: repr(value) for name, value in self._set_parameters().items()}
        for name in ("edges", "centres"):
            if name in parameters:
                parameters[name] = short_list(getattr(self, name))
        return f"{type(self).__name__}({', '.join(f'{name}={text}' for name, text in parameters.items())})"


def _middles(counts: IntArray, starts: IntArray) -> tuple[IntArray, IntArray]:
    """Return the places of the values of the two middle records of each group; of an odd one, both alike."""
    reached = np.cumsum(counts)
    ends = np.append(reached[starts[1:] - 1], reached[-1])
    begins = np.append(0, ends[:-1])
    middles = [begins + (ends - begins - 1) // 2, begins + (ends - begins) // 2]
    below, above = (np.searchsorted(reached, middle, side="right") for middle in middles)
    return below, above


def _normal_list(what: str, values: Any) -> tuple[Number | Moment, ...]:
    if isinstance(values, str | bytes | dict) or not hasattr(values, "__iter__"):
        raise MaskError(
            f"the {what} of Microaggregate must be a list of numbers or of dates, not {shown(values)}"
        )
    return tuple(number_or_moment(f"one of the {what} of Microaggregate", value) for value in values)

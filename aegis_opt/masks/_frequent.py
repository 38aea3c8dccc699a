"""Masks that keep frequent values and pool the others: `KeepTop` and `PoolRare`."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np
import numpy.typing as npt

from aegis_opt._options import whole_number
from aegis_opt._shown import shown
from aegis_opt.domain import Domain, Kind
from aegis_opt.errors import MaskError
from aegis_opt.masks._base import Keyed, Mask, value_labels
from aegis_opt.masks._hierarchy import read_values
from aegis_opt.masks._mapping import normal_value, value_order
from aegis_opt.masks._parameters import checked_counts, short_list, some

OTHER = "other"
"""The masked value of all values that are not kept; a value that reads so counts to them."""


@dataclass(frozen=True, repr=False)
class FrequentValues(Mask):
    """Some values stay what they are, all others become ``other``; which ones stay is found by counting."""

    @property
    @abstractmethod
    def _listed(self) -> tuple[Any, ...] | None:
        """The values that are kept; None before the mask is fitted."""

    @abstractmethod
    def _chosen(self, counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the places of the values to keep, given how often each present value occurs."""

    @property
    def needs_counts(self) -> bool:
        """Whether it is not yet known which values are kept."""
        return self._listed is None

    def fitted(self, domain: Domain, counts: npt.ArrayLike) -> Mask:
        """Return the mask with the values that it keeps in a column whose values occur `counts` times.

        A mask that lists its values stays what it is.
        """
        totals = checked_counts(domain, counts).sum(axis=1)
        if not self.needs_counts:
            return self
        values = domain.to_list()
        places = self._chosen(totals[: len(domain.values)])
        return dataclasses.replace(self, values=[values[place] for place in places])  # type: ignore[call-arg]

    def listed(self) -> tuple[Any, ...]:
        """Return the values that are kept, as files list them; it is an error if they are not known yet."""
        if self._listed is None:
            raise MaskError(
                f"which values {self!r} keeps depends on how often they occur: fit it to the data with "
                "fit_configuration(source, configuration), or give values=[...]"
            )
        return self._listed

    def kept(self, kind: Kind) -> list[Any]:
        """Return the values that are kept, as values of a kind; what can be none of it is left out."""
        found = {value for value in read_values(kind, self.listed()) if value is not None}
        if kind == "integer":  # other numbers match no integer
            found = {int(value) for value in found if value == value // 1 and -(2**63) <= value < 2**63}
        return sorted(found)

    def _keys(self, domain: Domain) -> Keyed:
        kept = set(self.kept(domain.kind))
        labels = value_labels(domain)
        stays = np.array([value in kept for value in domain.values.tolist()], dtype=bool)
        stays &= np.array([label != OTHER for label in labels], dtype=bool)
        return np.where(stays, np.arange(len(labels)), -1), lambda places: [
            OTHER if place < 0 else labels[place] for place in places.tolist()
        ]

    def __repr__(self) -> str:
        parameters = {name: repr(value) for name, value in self._set_parameters().items()}
        if self._listed is not None:
            parameters["values"] = short_list(self._listed)
        return f"{type(self).__name__}({', '.join(f'{name}={text}' for name, text in parameters.items())})"


@dataclass(frozen=True, repr=False)
class KeepTop(FrequentValues):
    """The most frequent values stay what they are, all others become ``other``.

    Of values that occur equally often, those that come first in ascending order are kept. The missing value
    does not count and stays a group of its own.

    Parameters
    ----------
    n : int
        How many values to keep, >= 1.
    values : sequence, optional
        The values that are kept, at most `n`, whatever the data. By default they are found by counting, in
        the table that is masked or, for `MaskingTransformer`, in the training data.

    Examples
    --------
    >>> colours = Domain.of(["blue", "green", "red", "teal"])
    >>> mask = KeepTop(2).fitted(colours, [5, 9, 5, 1])
    >>> mask, mask.group(colours).labels
    (KeepTop(n=2, values=('blue', 'green')), ('blue', 'green', 'other'))
    """

    n: int
    values: Iterable[Any] | None = None

    function: ClassVar[str] = "keep_top"
    pointwise: ClassVar[bool] = True

    def _normal(self) -> dict[str, Any]:
        n = whole_number("the n of KeepTop", self.n, least=1, error=MaskError)
        values = _normal_values("KeepTop", self.values)
        if values is not None and len(values) > n:
            raise MaskError(f"KeepTop(n={n}) lists {len(values)} values: raise n, or remove some")
        return {"n": n, "values": values}

    @property
    def _listed(self) -> tuple[Any, ...] | None:
        return cast("tuple[Any, ...] | None", self.values)

    def _chosen(self, counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        most_frequent = np.argsort(-counts, kind="stable")[: self.n]
        return most_frequent[counts[most_frequent] > 0]


@dataclass(frozen=True, repr=False)
class PoolRare(FrequentValues):
    """Values that occur fewer than `min_count` times become ``other``, the others stay what they are.

    The missing value stays a group of its own, however rare. All rare values together may occur fewer than
    `min_count` times, too.

    Parameters
    ----------
    min_count : int
        How often a value occurs that is kept, >= 1.
    values : sequence, optional
        The values that are kept, whatever the data. By default they are found by counting, in the table that
        is masked or, for `MaskingTransformer`, in the training data.

    Examples
    --------
    >>> colours = Domain.of(["blue", "green", "red", "teal"])
    >>> PoolRare(5).fitted(colours, [5, 9, 4, 1]).group(colours).labels
    ('blue', 'green', 'other')
    """

    min_count: int
    values: Iterable[Any] | None = None

    function: ClassVar[str] = "pool_rare"
    pointwise: ClassVar[bool] = True

    def _normal(self) -> dict[str, Any]:
        least = whole_number("the min_count of PoolRare", self.min_count, least=1, error=MaskError)
        return {"min_count": least, "values": _normal_values("PoolRare", self.values)}

    @property
    def _listed(self) -> tuple[Any, ...] | None:
        return cast("tuple[Any, ...] | None", self.values)

    def _chosen(self, counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        return np.flatnonzero(counts >= self.min_count)


def _normal_values(mask: str, values: Any) -> tuple[Any, ...] | None:
    """Return listed values as JSON holds them, sorted, so that equal masks are equal."""
    if values is None:
        return None
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise MaskError(f"the values of {mask} must be a list, not {shown(values)}")
    listed = [normal_value(value) for value in values]
    if None in listed:
        raise MaskError(f"{mask} lists the missing value, which always stays: remove it")
    if twice := [value for value, times in Counter(listed).items() if times > 1]:
        raise MaskError(f"{mask} lists {some(twice)} more than once: keep one each")
    return tuple(sorted(listed, key=value_order))

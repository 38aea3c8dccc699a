"""`Generalize`: coarser values, by equal ranges, by a mapping or by a hierarchy."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, cast

import numpy as np
import numpy.typing as npt

from aegis_opt._options import expanded, whole_number
from aegis_opt.domain import Domain, Kind
from aegis_opt.errors import MaskError
from aegis_opt.masks._base import Keyed, Label, Mask
from aegis_opt.masks._hierarchy import Hierarchy, match_all
from aegis_opt.masks._mapping import Pairs, normal_mapping
from aegis_opt.masks._parameters import DAY, domain_microseconds, is_temporal, moment_texts, some

_MOST_RANGES = 1_000_000
_RANGED = ("integer", "real", "date", "datetime")


@dataclass(frozen=True, repr=False)
class Generalize(Mask):
    """Values become coarser ones; exactly one of the three ways is given.

    *Ranges.* For integers (also whole numbers stored as reals) with least value lo, greatest value hi and
    q, r = divmod(hi - lo, ranges): the first range is [lo, lo + q + (1 if r >= 1)], each next one starts
    one above the end of the one before, and the first r ranges are one longer. Other reals and dates are
    cut into ranges of equal width from lo to hi, half-open but for the last one.

    *Mapping.* {masked value: the values it stands for}. The missing value may be listed as None.

    *Hierarchy.* A level of a `Hierarchy`, where 0 is the value itself.

    Under a mapping or a hierarchy numbers match by value, dates by ISO 8601, strings by text, and every
    value of the domain must be listed.

    Parameters
    ----------
    mapping : mapping, optional
        Masked values (text, numbers or booleans) to lists of values.
    ranges : int, optional
        Number of ranges, from 1 to 1,000,000.
    hierarchy : path, Hierarchy or rows, optional
        A CSV file, which is read at once, or the hierarchy itself.
    level : int, optional
        Level of the hierarchy.

    Examples
    --------
    >>> Generalize(ranges=2).group(Domain.of([10, 11, 19, 20])).labels
    ('[10, 15]', '[16, 21]')
    >>> Generalize({"Young": [10, 17, 43], "Old": [55]}).group(Domain.of([10, 55])).labels
    ('Young', 'Old')
    """

    mapping: Mapping[Any, Iterable[Any]] | Sequence[tuple[Any, Iterable[Any]]] | None = None
    ranges: int | None = None
    hierarchy: str | Path | Hierarchy | Sequence[Sequence[Any]] | None = None
    level: int | None = None

    function: ClassVar[str] = "generalize"

    def _normal(self) -> dict[str, Any]:
        if sum(way is not None for way in (self.mapping, self.ranges, self.hierarchy)) != 1:
            raise MaskError(
                "Generalize needs exactly one of ranges=4, a mapping such as {'Young': [10, 17]}, "
                "or hierarchy='age.csv' with level=1"
            )
        if self.level is not None and self.hierarchy is None:
            raise MaskError("Generalize takes a level with a hierarchy only")
        if self.ranges is not None:
            what = "the ranges of Generalize"
            return {"ranges": whole_number(what, self.ranges, least=1, most=_MOST_RANGES, error=MaskError)}
        if self.mapping is not None:
            return {"mapping": normal_mapping(self.mapping)}
        hierarchy = self.hierarchy
        if isinstance(hierarchy, str | Path):
            hierarchy = Hierarchy.from_csv(hierarchy)
        elif not isinstance(hierarchy, Hierarchy):
            hierarchy = Hierarchy(cast("Sequence[Sequence[Any]]", hierarchy))
        top = hierarchy.n_levels - 1
        if self.level is None:
            raise MaskError(f"Generalize needs the level of the hierarchy {hierarchy!r}: 0 to {top}")
        what = f"the level of the hierarchy {hierarchy!r}"
        level = whole_number(what, self.level, least=0, most=top, error=MaskError)
        return {"hierarchy": hierarchy, "level": level}

    def __repr__(self) -> str:
        if self.ranges is not None:
            return f"Generalize(ranges={self.ranges})"
        if self.mapping is not None:
            masked = [label for label, _ in cast("Pairs", self.mapping)]
            more = ", ..." if len(masked) > 4 else ""
            return f"Generalize({{{', '.join(f'{label!r}: [...]' for label in masked[:4])}{more}}})"
        return f"Generalize(hierarchy={self.hierarchy!r}, level={self.level})"

    def to_spec(self) -> dict[str, Any]:
        """Return the mask as a mapping that JSON can hold; a hierarchy is written out, row by row."""
        if self.mapping is not None:
            pairs = cast("Pairs", self.mapping)
            if all(isinstance(label, str) for label, _ in pairs):
                return {"function": self.function, "mapping": {label: [*values] for label, values in pairs}}
            return {"function": self.function, "mapping": [[label, [*values]] for label, values in pairs]}
        if self.hierarchy is not None:
            rows = [list(row) for row in cast("Hierarchy", self.hierarchy).rows]
            return {"function": self.function, "hierarchy": rows, "level": self.level}
        return super().to_spec()

    @classmethod
    def from_spec(cls, parameters: Mapping[str, Any], base: Path | None = None) -> Mask:
        """Build the mask; the path of a hierarchy is relative to `base`."""
        hierarchy = parameters.get("hierarchy")
        if isinstance(hierarchy, str) and base is not None:
            parameters = {**parameters, "hierarchy": expanded(hierarchy, base)}
        return super().from_spec(parameters, base)

    def check_kind(self, domain: Domain) -> None:
        """Refuse a domain whose kind the mask does not fit; a mapping fits every kind."""
        if self.ranges is not None and domain.kind not in _RANGED:
            raise MaskError(
                f"{self!r} does not fit values of kind {domain.kind}: ranges fit {', '.join(_RANGED)}; "
                f"{self.instead}"
            )

    def _missing_label(self) -> Label:
        for label, values in cast("Pairs", self.mapping or ()):
            if None in values:
                return label
        return None

    def _keys(self, domain: Domain) -> Keyed:
        if self.ranges is not None:
            starts, labels_of = ranges_of(domain, self.ranges)
            return np.searchsorted(starts, domain.values, side="right") - 1, labels_of
        labels, found = self.matched(domain.kind)
        values = domain.values.tolist()
        keys = [found.get(value, -1) for value in values]
        if -1 in keys:
            outside = [value for value, key in zip(values, keys, strict=True) if key == -1]
            way_out = "list them in the mapping" if self.mapping else "add rows for them to the hierarchy"
            raise MaskError(f"{self!r} does not say what becomes of {some(outside)}: {way_out}")
        return np.array(keys, dtype=np.int64), lambda distinct: [labels[key] for key in distinct]

    def matched(self, kind: Kind) -> tuple[list[Label], dict[Any, int]]:
        """Return the masked values, and the place of the masked value of each value of that kind."""
        labels, cells, places = self.written()
        from_file = isinstance(self.hierarchy, Hierarchy) and self.hierarchy.path is not None
        return labels, match_all(kind, cells, places, quotes=not from_file)

    def written(self) -> tuple[list[Label], list[Any], list[int]]:
        """Return the masked values, the written values, and the place of the masked value of each."""
        if self.mapping is not None:
            pairs = cast("Pairs", self.mapping)
            written = [(v, i) for i, (_, values) in enumerate(pairs) for v in values if v is not None]
            return [label for label, _ in pairs], [v for v, _ in written], [i for _, i in written]
        rows, level = cast("Hierarchy", self.hierarchy).rows, cast("int", self.level)
        places: dict[Label, int] = {}
        own = [places.setdefault(row[level], len(places)) for row in rows]
        return list(places), [row[0] for row in rows], own


def ranges_of(domain: Domain, m: int) -> Keyed:
    """Cut the extent of a domain into `m` ranges; return where they start, and what gives their labels.

    A value lies in the last range that starts at or below it. Integer ranges that start above the greatest
    value are left out.
    """
    values = domain.values
    if not len(values):
        return values, lambda _: []
    if is_temporal(domain.kind):
        return _equal_moments(domain, m)
    if domain.kind == "integer" or all_whole(values):
        return _integer_ranges(values, m)
    return _equal_reals(values, m)


def all_whole(values: npt.NDArray[Any]) -> bool:
    """Whether all reals are whole numbers of 64 bits, and are cut into ranges as integers are."""
    return bool(np.all(np.abs(values) < 2.0**63) and np.array_equal(values, np.trunc(values)))


def _integer_ranges(values: npt.NDArray[Any], m: int) -> Keyed:
    lo, hi = int(values[0]), int(values[-1])
    q, r = divmod(hi - lo, m)

    def start(i: int) -> int:
        return lo + i * (q + 1) + min(i, r)

    def labels(distinct: npt.NDArray[np.int64]) -> list[str]:
        return [f"[{start(i)}, {start(i) + q + (i < r)}]" for i in distinct.tolist()]

    # The same for all ranges, unsigned, because hi - lo may need all 64 bits; with a million ranges at most,
    # no product is beyond
    places = np.arange(m, dtype=np.uint64)
    offsets = places * np.uint64((q + 1) % 2**64) + np.minimum(places, np.uint64(r))
    starts = (offsets[offsets <= np.uint64(hi - lo)] + np.uint64(lo % 2**64)).view(np.int64)
    if values.dtype.kind != "f":
        return starts, labels
    reals = starts.astype(np.float64)  # the least real that is not below a start, which may be no real itself
    return np.where(reals.astype(np.int64) < starts, np.nextafter(reals, np.inf), reals), labels


def _equal_reals(values: npt.NDArray[Any], m: int) -> Keyed:
    lo, hi = float(values[0]), float(values[-1])
    if not math.isfinite(hi - lo):
        raise MaskError(
            f"values from {lo!r} to {hi!r} cannot be cut into equal ranges: use Bucketize with edges"
        )
    edges = np.linspace(lo, hi, m + 1)
    short = [f"{edge:.6g}" for edge in edges]
    return _between(edges, short if len(set(short)) == m + 1 else [repr(float(edge)) for edge in edges])


def _equal_moments(domain: Domain, m: int) -> Keyed:
    stamps = domain_microseconds(domain)
    unit = DAY if domain.kind == "date" else 1
    lo, hi = int(stamps[0]), int(stamps[-1])
    span = (hi - lo) // unit
    edges = [lo + unit * -(-i * span // m) for i in range(m + 1)]  # rounded up to a whole day or microsecond
    moments = np.array(edges, dtype="datetime64[us]")
    return _between(moments.astype(domain.values.dtype), moment_texts(moments))


def _between(edges: npt.NDArray[Any], texts: list[str]) -> Keyed:
    """Make ranges [edge, next edge), the last one closed; one between equal edges stays empty."""
    last = len(edges) - 2
    return edges[:-1], lambda distinct: [
        f"[{texts[i]}, {texts[i + 1]}{']' if i == last else ')'}" for i in distinct.tolist()
    ]

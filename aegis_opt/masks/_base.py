"""What a mask is: a rule that sends every value of a domain to a masked value."""

from __future__ import annotations

import dataclasses
import datetime as dt
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from aegis_opt._options import any_array, instance, list_of, path_of
from aegis_opt._shown import shortened, shown
from aegis_opt.domain import KINDS, Domain
from aegis_opt.errors import ConfigurationError, InvalidInput, MaskError, UnknownMask
from aegis_opt.masks._parameters import is_temporal, moment_texts

Label = str | int | float | bool | None
"""A masked value: a JSON scalar; None is the masked value of the missing value."""

Keyed = tuple[npt.NDArray[Any], Callable[[npt.NDArray[Any]], Sequence[Label]]]
"""A key per value, and the function that gives the masked values of an array of distinct keys."""

_REGISTRY: dict[str, type[Mask]] = {}


@dataclass(frozen=True, eq=False)
class Grouping:
    """A partition of a domain.

    Parameters
    ----------
    groups : ndarray of int64
        Group of each value of the domain, the missing value (if any) last; 0..G-1, all used, numbered in
        order of first appearance.
    labels : tuple
        The masked value of each group; distinct.

    Examples
    --------
    >>> Grouping([0, 0, 1], ("low", "high")).n_groups
    2
    """

    groups: npt.NDArray[np.int64]
    labels: tuple[Label, ...]

    def __post_init__(self) -> None:
        given = any_array("groups", self.groups)
        if given.ndim != 1 or not (given.dtype.kind in "iub" or given.size == 0):
            raise InvalidInput("groups must be a list of whole numbers, the group of each value")
        groups = np.array(given, dtype=np.int64)
        groups.setflags(write=False)
        labels = list_of("labels", self.labels, object, "list the masked value of each group")
        vars(self).update(groups=groups, labels=labels)

    @property
    def n_groups(self) -> int:
        """Number of groups, G."""
        return len(self.labels)

    def __len__(self) -> int:
        return len(self.groups)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Grouping):
            return NotImplemented
        return self.labels == other.labels and np.array_equal(self.groups, other.groups)

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, repr=False)
class Mask(ABC):
    """A deterministic masking function; immutable, hashable, equal when its parameters are equal.

    A subclass is a frozen dataclass (``repr=False``) whose fields are its parameters. It states `function`,
    the name it has in configuration files (which registers it), and `kinds`, the kinds of domain it fits,
    and implements `_keys`. It checks its parameters in `_normal`. The missing value is a group of its own
    unless `_missing_label` says otherwise.
    """

    function: ClassVar[str]
    kinds: ClassVar[tuple[str, ...]] = KINDS
    pointwise: ClassVar[bool] = False
    """Whether the masked value of a value follows from that value alone, whatever else the domain holds."""
    instead: ClassVar[str] = "use Generalize with a mapping or a hierarchy, Suppress or Identity"

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "function" in cls.__dict__:
            _REGISTRY[cls.function] = cls

    def __post_init__(self) -> None:
        vars(self).update(self._normal())  # the way into a frozen dataclass

    def _normal(self) -> dict[str, Any]:
        """Check the parameters; return those to keep in another form, so that equal masks are equal."""
        return {}

    def group(self, domain: Domain) -> Grouping:
        """Partition `domain` by masked value.

        Parameters
        ----------
        domain : Domain
            The values; the missing value, if any, is the last.

        Returns
        -------
        Grouping
            Groups in order of first appearance over the ascending domain.

        Raises
        ------
        MaskError
            If the mask does not fit the kind of the domain, or one of its values.
        """
        self.check_kind(domain)
        keys, labels_of = self._keys(domain)
        groups, distinct = pd.factorize(keys)
        labels = list(labels_of(distinct))
        if domain.missing:
            own = self._missing_label()
            if own not in labels:
                labels.append(own)
            groups = np.append(groups, labels.index(own))
        return Grouping(groups, tuple(labels))

    @abstractmethod
    def _keys(self, domain: Domain) -> Keyed:
        """Give each present value a key, equal exactly when the masked values are, and name the keys."""

    def _missing_label(self) -> Label:
        """Return the masked value of the missing value."""
        return None

    def check_kind(self, domain: Domain) -> None:
        """Refuse a domain whose kind the mask does not fit."""
        if domain.kind not in self.kinds:
            raise MaskError(
                f"{self!r} does not fit values of kind {domain.kind}: it fits {', '.join(self.kinds)}; "
                f"{self.instead}"
            )

    @property
    def needs_counts(self) -> bool:
        """Whether the groups depend on how often values occur, so that the mask is to be fitted first."""
        return False

    def fitted(self, domain: Domain, counts: npt.ArrayLike) -> Mask:  # noqa: ARG002
        """Return the mask as it is for a column whose values occur `counts` times; most do not depend on it.

        Parameters
        ----------
        domain : Domain
            The values of the column.
        counts : array-like of int
            How often each value of the domain occurs.

        Returns
        -------
        Mask
            One that does not need counts.
        """
        return self

    def _set_parameters(self) -> dict[str, Any]:
        """Return the parameters that differ from their defaults."""
        values = {field: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {field.name: value for field, value in values.items() if value != field.default}

    def __repr__(self) -> str:
        parameters = ", ".join(f"{name}={value!r}" for name, value in self._set_parameters().items())
        return f"{type(self).__name__}({parameters})"

    def to_spec(self) -> dict[str, Any]:
        """Return the mask as a mapping that JSON can hold: its function and the parameters that are set."""
        parameters = {name: _json(value) for name, value in self._set_parameters().items()}
        return {"function": self.function, **parameters}

    @classmethod
    def from_spec(cls, parameters: Mapping[str, Any], base: Path | None = None) -> Mask:  # noqa: ARG003
        """Build the mask from the parameters of a spec; files are looked for in the folder `base`."""
        return cls(**parameters)

    @classmethod
    def parameters(cls) -> tuple[str, ...]:
        """Return the names of the parameters that a spec may hold."""
        return tuple(field.name for field in dataclasses.fields(cls))

    @classmethod
    def required(cls) -> tuple[str, ...]:
        """Return the names of the parameters that a spec must hold."""
        return tuple(f.name for f in dataclasses.fields(cls) if f.default is dataclasses.MISSING)


@dataclass(frozen=True, repr=False)
class Suppress(Mask):
    """Every value, the missing one included, becomes ``*``.

    Examples
    --------
    >>> Suppress().group(Domain.of([1, 2, None])).labels
    ('*',)
    """

    function: ClassVar[str] = "suppress"
    pointwise: ClassVar[bool] = True

    def _keys(self, domain: Domain) -> Keyed:
        return np.zeros(len(domain.values), dtype=np.int64), lambda keys: ["*"] * len(keys)

    def _missing_label(self) -> Label:
        return "*"


@dataclass(frozen=True, repr=False)
class Identity(Mask):
    """Every value stays what it is; dates are labelled in ISO 8601.

    Examples
    --------
    >>> Identity().group(Domain.of(["b", "a"])).labels
    ('a', 'b')
    """

    function: ClassVar[str] = "identity"
    pointwise: ClassVar[bool] = True

    def _keys(self, domain: Domain) -> Keyed:
        return np.arange(len(domain.values)), lambda _: value_labels(domain)


def mask_from_spec(spec: Mapping[str, Any], base: str | Path | None = None) -> Mask:
    """Build a mask from a mapping as configuration files hold it.

    Parameters
    ----------
    spec : mapping
        ``function`` names the mask, every other key is one of its parameters.
    base : path, optional
        Folder that file names in the spec are relative to; by default the current one.

    Returns
    -------
    Mask
        ``mask_from_spec(mask.to_spec()) == mask``.

    Examples
    --------
    >>> mask_from_spec({"function": "suppress"})
    Suppress()
    """
    if not isinstance(spec, Mapping):
        raise ConfigurationError(
            f'a mask is a mapping such as {{"function": "suppress"}}, not {type(spec).__name__} {shown(spec)}'
        )
    if "function" not in spec:
        raise ConfigurationError(
            f"the mask {shown(dict(spec))} has no 'function'; add one of {', '.join(sorted(_REGISTRY))}"
        )
    function = spec["function"]
    if not isinstance(function, str) or function not in _REGISTRY:
        raise UnknownMask("masking function", function, _REGISTRY)
    cls = _REGISTRY[function]
    parameters = {key: value for key, value in spec.items() if key != "function"}
    accepted = f"accepted: {', '.join(cls.parameters()) or 'none'}"
    if unknown := [shortened(str(key)) for key in parameters if key not in cls.parameters()]:
        raise ConfigurationError(f"unknown parameter {', '.join(unknown[:5])} of {function!r}; {accepted}")
    if missing := [key for key in cls.required() if key not in parameters]:
        raise ConfigurationError(f"{function!r} needs the parameter {', '.join(missing)}; {accepted}")
    return cls.from_spec(parameters, None if base is None else path_of("base", base))


def group_attribute(mask: Mask, name: str, domain: Domain) -> Grouping:
    """Group the domain of the attribute `name`, which an error then names.

    Examples
    --------
    >>> group_attribute(Suppress(), "age", Domain.of([1, 2])).n_groups
    1
    """
    instance("mask", mask, Mask, "write e.g. Suppress()")  # type: ignore[type-abstract]
    instance("domain", domain, Domain, "write Domain.of(values)")
    with naming(name):
        return mask.group(domain)


@contextmanager
def naming(attribute: str) -> Iterator[None]:
    """Let an error about a mask name the attribute that it is for."""
    try:
        yield
    except MaskError as error:
        raise MaskError(f"attribute {shown(attribute)}: {error}") from error


def value_labels(domain: Domain) -> list[Label]:
    """Return the masked values of present values that stay what they are."""
    if is_temporal(domain.kind):
        return list(moment_texts(domain.values))
    return domain.to_list()[: len(domain.values)]


def _json(value: Any) -> Any:
    """Return a parameter or a value as JSON holds it: dates in ISO 8601, durations by their parts."""
    if isinstance(value, dt.timedelta):
        parts = {"days": value.days, "seconds": value.seconds, "microseconds": value.microseconds}
        return {unit: part for unit, part in parts.items() if part}
    if isinstance(value, dt.date):  # a datetime is a date
        return value.isoformat()
    if isinstance(value, tuple):
        return [_json(v) for v in value]
    return value

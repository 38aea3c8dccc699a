"""What a noise mask is: a random masking function, given by a channel.

T[g, a] = P(masked value g | value a). A record's masked value is drawn by one uniform number u in [0, 1). It
is the first 52 bits of SHA-256 of a secret key and the number of the record, so that the same seed gives the
same draw in a frame, a file and a transformer, and whoever does not know the key cannot tell u from chance.
"""

from __future__ import annotations

import hashlib
import secrets
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn, Self

import numpy as np
import numpy.typing as npt

from aegis_opt._channels import MOST_ENTRIES, channel_epsilon
from aegis_opt._options import float_array, list_of, number, seed_number
from aegis_opt._shown import shown
from aegis_opt.domain import Domain, Kind
from aegis_opt.errors import MaskError
from aegis_opt.masks._base import Grouping, Keyed, Label, Mask, value_labels
from aegis_opt.masks._hierarchy import read_values
from aegis_opt.masks._mapping import normal_value
from aegis_opt.masks._parameters import some

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

BITS = 52
"""Of the uniform numbers that noise is drawn by."""


@dataclass(frozen=True, eq=False)
class Channel:
    """The probabilities of masked values, given the values of a domain.

    Parameters
    ----------
    matrix : ndarray of float, shape (m, n)
        matrix[g, a] = P(masked value g | value a); columns sum to 1. The missing value, if any, is the last
        column.
    labels : tuple
        The masked values, distinct; None is the missing one.
    """

    matrix: FloatArray
    labels: tuple[Label, ...]

    def __post_init__(self) -> None:
        matrix = np.array(float_array("the matrix of a channel", self.matrix))
        matrix.setflags(write=False)
        labels = list_of("labels", self.labels, object, "list the masked values")
        vars(self).update(matrix=matrix, labels=labels)

    @property
    def epsilon(self) -> float:
        """Epsilon of local differential privacy for the values of the domain."""
        return channel_epsilon(self.matrix)


@dataclass(frozen=True, repr=False)
class NoiseMask(Mask):
    """A random masking function; it has a channel in place of groups.

    A subclass states its parameters as fields, `seed` among them. Before it is fitted, what depends on the
    values of a column may be left open; `declared` says whether it is.
    """

    pointwise = True

    @property
    @abstractmethod
    def declared(self) -> bool:
        """Whether all parameters that depend on the values of a column are given."""

    @abstractmethod
    def channel(self, domain: Domain) -> Channel:
        """Return the channel for the values of a domain.

        Parameters
        ----------
        domain : Domain
            The values; the missing value, if any, is the last.

        Returns
        -------
        Channel
            With a column for each value of the domain.

        Raises
        ------
        MaskError
            If the mask does not fit the kind of the domain, or one of its values is not declared.
        """

    @abstractmethod
    def epsilon_for(self, domain: Domain | None = None) -> float:
        """Return the epsilon of local differential privacy that the mask gives each record.

        It holds for all values that are declared, in the data or not. A mask that is not fitted needs the
        domain of the column.
        """

    @abstractmethod
    def drawn(self, domain: Domain, codes: IntArray, uniform: FloatArray) -> IntArray:
        """Return the number of the masked value (a row of the channel) of each record.

        `codes` are the places of the records' values in the domain, `uniform` one number in [0, 1) each.
        """

    @property
    def needs_counts(self) -> bool:
        """Whether the values of the column are to be found first."""
        return not self.declared

    def listed(self) -> tuple[Any, ...] | None:
        """Return the values that the mask is declared for, as files list them; None where it takes all."""
        return None

    def knows(self, kind: Kind, value: Any) -> bool:
        """Whether the mask says what becomes of a value."""
        listed = self.listed()
        return listed is None or value in domain_of(kind, listed)[0]

    def _normal_seed(self) -> int | None:
        seed = getattr(self, "seed", None)
        return None if seed is None else seed_number("the seed of noise", seed, error=MaskError)

    def without_seed(self) -> Self:
        """Return the same mask without its seed, as it may be shared."""
        return replace(self, seed=None)  # type: ignore[call-arg]

    def key(self, attribute: str) -> str:
        """Return the secret that noise of an attribute is drawn with; without a seed, a new one each time."""
        seed = getattr(self, "seed", None)
        if seed is None:
            return secrets.token_hex(32)
        return hashlib.sha256(f"{seed}\0{attribute}".encode()).hexdigest()

    def generator(self, attribute: str, salt: str = "") -> np.random.Generator:
        """Return the generator that the noisy counts of a summary are drawn by; random without a seed."""
        return np.random.default_rng(
            int(hashlib.sha256(f"{self.key(attribute)}{salt}".encode()).hexdigest(), 16)
        )

    def group(self, domain: Domain) -> Grouping:
        """Refuse: masked values are random, so that they form no groups."""
        del domain
        self._no_groups()

    def _keys(self, domain: Domain) -> Keyed:
        del domain
        self._no_groups()

    def _no_groups(self) -> NoReturn:
        raise MaskError(
            f"{self!r} adds noise, so that a value has no single masked value. Noise is taken by summarize, "
            "advise, apply_configuration, to_sql and MaskingTransformer; privacy rules, search, scores, "
            "protected summaries and comparisons take masks without noise"
        )

    def _unfitted(self) -> MaskError:
        return MaskError(
            f"{self!r} does not say which values the column has: declare them, or fit the mask with "
            "fit_configuration(source, configuration)"
        )


def uniforms(key: str, count: int) -> FloatArray:
    """Return the uniform numbers of the records 1 to `count`.

    Examples
    --------
    >>> drawn = uniforms("secret", 1000)
    >>> bool(((drawn >= 0) & (drawn < 1)).all()), len(set(drawn))
    (True, 1000)
    """
    digits, sha256 = BITS // 4, hashlib.sha256
    drawn = [int(sha256(f"{key}{i}".encode()).hexdigest()[:digits], 16) for i in range(1, count + 1)]
    return np.array(drawn, dtype=np.float64) / 2.0**BITS


def require_room(mask: Mask, rows: int, columns: int) -> None:
    """Refuse a channel that is too large."""
    if rows * columns > MOST_ENTRIES:
        raise MaskError(
            f"{mask!r} has a channel of {rows:,} x {columns:,} entries here, and there is room for "
            f"{MOST_ENTRIES:,}: cut the values into groups first (Bucketize, Generalize)"
        )


def checked_epsilon(mask: str, epsilon: Any) -> float:
    """Return a finite epsilon above 0."""
    return number(f"the epsilon of {mask}", epsilon, above=0, error=MaskError)


def declared_values(mask: str, values: Any, what: str = "domain") -> tuple[Any, ...] | None:
    """Return declared values as files hold them, in their order; they are distinct."""
    if values is None:
        return None
    if isinstance(values, Domain):
        values = values.to_list()
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise MaskError(f"the {what} of {mask} must be a list of values, not {shown(values)}")
    listed = [normal_value(value) for value in values]
    if not listed:
        raise MaskError(f"the {what} of {mask} is empty: list the values")
    if len(set(map(repr, listed))) < len(listed):
        twice = [value for i, value in enumerate(listed) if value in listed[:i]]
        raise MaskError(f"the {what} of {mask} lists {some(twice)} more than once: keep one each")
    return tuple(listed)


def domain_of(kind: Kind, listed: Sequence[Any]) -> tuple[list[Any], list[Label]]:
    """Return listed values as values of a kind, None for the missing one, and what they are labelled with."""
    read = read_values(kind, [value for value in listed if value is not None])
    present = iter(read)
    values = [None if value is None else next(present) for value in listed]
    if kind == "integer":  # where true is 1
        values = [int(value) if isinstance(value, bool) else value for value in values]
    places: dict[Any, int] = {}
    for place, (value, text) in enumerate(zip(values, listed, strict=True)):
        if value is None and text is not None:
            raise MaskError(f"the declared value {shown(text)} is none of kind {kind}: correct it")
        if (first := places.setdefault(value, place)) != place:
            raise MaskError(
                f"the declared values {shown(listed[first])} and {shown(text)} are one and the same of kind "
                f"{kind}: keep one of them"
            )
    labels: list[Label] = []
    for value in values:
        labels.extend([None] if value is None else value_labels(Domain.of([value])))
    return values, labels


def places_of(mask: Mask, values: Sequence[Any], domain: Domain) -> IntArray:
    """Return where each value of a domain is among declared ones; one that is not is an error."""
    known = {value: i for i, value in enumerate(values)}
    found = [known.get(value, -1) for value in domain.to_list()]
    if -1 in found:
        unknown = [value for value, place in zip(domain.to_list(), found, strict=True) if place < 0]
        raise MaskError(
            f"{mask!r} does not say what becomes of {some(unknown)}: add it to the declared values (None is "
            "the missing value)"
        )
    return np.array(found, dtype=np.int64)

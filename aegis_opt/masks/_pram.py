"""Post-randomisation (PRAM): values are masked by a matrix of probabilities that is given."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np
import numpy.typing as npt
import pandas as pd

from aegis_opt._channels import channel_epsilon, checked_channel
from aegis_opt.domain import Domain
from aegis_opt.errors import MaskError
from aegis_opt.masks._base import Label, Mask
from aegis_opt.masks._noise import (
    Channel,
    FloatArray,
    IntArray,
    NoiseMask,
    declared_values,
    domain_of,
    places_of,
)
from aegis_opt.masks._parameters import short_list


@dataclass(frozen=True, repr=False)
class Pram(NoiseMask):
    """Value a becomes masked value g with probability matrix[g, a] (post-randomisation method [1]_).

    Parameters
    ----------
    matrix : array_like, shape (m, n), or DataFrame
        Columns sum to 1 and are linearly independent. A DataFrame names the values by its columns and the
        masked values by its index. Without names, the columns are the values of the masked table in ascending
        order, the missing value last, and the rows are the same values.
    values : sequence, optional
        The values that the columns are for, None for the missing one.
    masked : sequence, optional
        The masked values that the rows are for; by default the values.
    seed : int, optional
        Makes the noise repeatable. Whoever knows the seed can remove the noise: keep it secret. By default
        the noise is new each time.

    References
    ----------
    .. [1] J. M. Gouweleeuw, P. Kooiman, L. C. R. J. Willenborg and P.-P. de Wolf, "Post randomisation for
       statistical disclosure control: theory and implementation", J. Official Statistics 14 (1998).

    Examples
    --------
    >>> mask = Pram([[0.9, 0.2], [0.1, 0.8]], values=["no", "yes"])
    >>> mask.channel(Domain.of(["no", "yes"])).labels
    ('no', 'yes')
    """

    matrix: Any
    values: Iterable[Any] | None = None
    masked: Iterable[Any] | None = None
    seed: int | None = None

    function: ClassVar[str] = "pram"

    def _normal(self) -> dict[str, Any]:
        given, values, masked = self.matrix, self.values, self.masked
        if isinstance(given, pd.DataFrame):
            if values is not None or masked is not None:
                raise MaskError("the DataFrame of Pram names its values and masked values: leave them out")
            values, masked = given.columns.tolist(), given.index.tolist()
        named = declared_values("Pram", values, "values")
        T = checked_channel(given, "the matrix of Pram", named, error=MaskError)
        outputs = declared_values("Pram", masked, "masked values")
        if outputs == named:
            outputs = None
        for what, listed, size in (("values", named, T.shape[1]), ("masked values", outputs, T.shape[0])):
            if listed is not None and len(listed) != size:
                raise MaskError(
                    f"the matrix of Pram is {T.shape[0]} x {T.shape[1]}, for {len(listed)} {what}"
                )
        if outputs is None and T.shape[0] != T.shape[1]:
            raise MaskError(
                f"the matrix of Pram is {T.shape[0]} x {T.shape[1]}: name the masked values, as masked=[...] "
                "or as the index of a DataFrame"
            )
        matrix = tuple(tuple(row) for row in np.asarray(given, dtype=np.float64).tolist())
        return {"matrix": matrix, "values": named, "masked": outputs, "seed": self._normal_seed()}

    @property
    def declared(self) -> bool:
        """Whether the values are known."""
        return self.values is not None

    @property
    def _matrix(self) -> FloatArray:
        T = np.array(self.matrix, dtype=np.float64)
        return np.asarray(T / T.sum(axis=0))

    def listed(self) -> tuple[Any, ...]:
        """Return the values, as files list them; it is an error if they are not known yet."""
        if self.values is None:
            raise self._unfitted()
        return cast("tuple[Any, ...]", self.values)

    def fitted(self, domain: Domain, counts: npt.ArrayLike) -> Mask:
        """Return the mask with the values of a column, if it names none."""
        del counts
        if self.declared:
            return self
        if len(domain) != self._matrix.shape[1]:
            raise MaskError(
                f"the matrix of Pram is for {self._matrix.shape[1]} values, and the column has "
                f"{len(domain)}: give a DataFrame whose columns name the values"
            )
        return dataclasses.replace(self, values=domain.to_list())

    def channel(self, domain: Domain) -> Channel:
        """Return the channel; see `NoiseMask.channel`."""
        self.check_kind(domain)
        values, labels = domain_of(domain.kind, self.listed())
        places = places_of(self, values, domain)
        outputs = labels if self.masked is None else list(cast("tuple[Label, ...]", self.masked))
        return Channel(self._matrix[:, places], tuple(outputs))

    def epsilon_for(self, domain: Domain | None = None) -> float:
        """Return the largest log-ratio in a row of the matrix; see `NoiseMask.epsilon_for`."""
        del domain
        return channel_epsilon(self._matrix)

    def drawn(self, domain: Domain, codes: IntArray, uniform: FloatArray) -> IntArray:
        """Draw masked values; see `NoiseMask.drawn`."""
        T = self.channel(domain).matrix
        thresholds = np.cumsum(T, axis=0)[:-1]
        drawn = np.zeros(len(codes), dtype=np.int64)
        for row in thresholds:  # as many passes as masked values, none of which is a matrix of all records
            drawn += uniform >= row[codes]
        return drawn

    def __repr__(self) -> str:
        shape = f"{len(self.matrix)} x {len(self.matrix[0])}"
        values = "" if self.values is None else f", values={short_list(self.listed())}"
        masked = "" if self.masked is None else f", masked={short_list(cast('tuple[Any, ...]', self.masked))}"
        seed = "" if self.seed is None else f", seed={self.seed}"
        return f"Pram({shape} matrix{values}{masked}{seed})"

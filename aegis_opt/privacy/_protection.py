"""Protections of counts before they are shared: noise of differential privacy, controlled rounding."""

from __future__ import annotations

import os
import secrets
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from aegis_opt._options import number, one_of, seed_number, whole_number
from aegis_opt.errors import InvalidOption
from aegis_opt.privacy._applied import AppliedProtection

Tables = Sequence[npt.NDArray[np.int64]]
Protected = tuple[list[npt.NDArray[np.int64]], AppliedProtection]

Mechanism = Literal["geometric", "gaussian"]
DELTA = 1e-6
"""Of the discrete Gaussian, unless asked otherwise."""


@dataclass(frozen=True)
class Protection(ABC):
    """What is done to the counts of a summary before they leave the provider."""

    @property
    def needs_public_domains(self) -> bool:
        """Whether the guarantee holds only where the values of every column are public knowledge."""
        return False

    @abstractmethod
    def apply(self, tables: Tables) -> Protected:
        """Protect the tables of all attributes, each once, and say what was done.

        Parameters
        ----------
        tables : sequence of ndarray of int64, shape (classes, labels)
            For each attribute the records of each class of values and label. All have the same label totals.
        """


@dataclass(frozen=True)
class DifferentialPrivacy(Protection):
    """Noise on every count, so that no single record shows in what is shared.

    A summary M is (epsilon, delta)-differentially private when P(M(D) in S) <= exp(epsilon) P(M(D') in S) +
    delta for every set S and all tables D, D' of which one has one record more than the other. One record
    lies in one cell of each of m attributes, so the tables of all attributes together change by m in l1 and
    by sqrt(m) in l2. Geometric noise of scale m / epsilon gives delta = 0. The scale of the discrete Gaussian
    follows from zero-concentrated differential privacy. The package opendp computes the scale, checks the
    loss and draws the noise from a secure generator.

    Parameters
    ----------
    epsilon : float
        The privacy loss of the whole summary, when a record is added or removed.
    mechanism : {"geometric", "gaussian"}
        Two-sided geometric noise (discrete Laplace), or discrete Gaussian noise, which is less for many
        attributes.
    delta : float, optional
        Of the Gaussian, by default 1e-6: it should be well below 1 / N. Geometric noise has none.
    seed : int, optional
        For tests and experiments only: noise from a seed is *not* private, and the summary says so.

    References
    ----------
    Ghosh, Roughgarden and Sundararajan, "Universally utility-maximizing privacy mechanisms", 2012.
    Canonne, Kamath and Steinke, "The discrete Gaussian for differential privacy", 2020.

    Examples
    --------
    >>> DifferentialPrivacy(epsilon=1.0).needs_public_domains
    True
    """

    epsilon: float
    mechanism: Mechanism = "geometric"
    delta: float | None = None
    seed: int | None = None

    def __post_init__(self) -> None:
        number("epsilon", self.epsilon, above=0)
        number("epsilon", self.epsilon, least=1e-6, most=100)
        one_of("mechanism", self.mechanism, get_args(Mechanism))
        if self.seed is not None:
            seed_number("seed", self.seed)
        if self.mechanism == "geometric":
            if self.delta is not None:
                raise InvalidOption("geometric noise has no delta: leave it out, or use mechanism='gaussian'")
        elif self.delta is not None:
            number("delta", self.delta, least=1e-30, most=0.01)

    @property
    def needs_public_domains(self) -> bool:
        """Values that occur would tell about records, were they not public."""
        return True

    def apply(self, tables: Tables) -> Protected:
        """Add noise to every cell of every table."""
        from aegis_opt.privacy._opendp import calibrate, draw

        delta = (DELTA if self.delta is None else self.delta) if self.mechanism == "gaussian" else 0.0
        scale, changed = calibrate(self.mechanism, self.epsilon, delta, len(tables))
        applied = AppliedProtection(
            *(self.mechanism, scale, len(tables), float(self.epsilon), changed, delta),
            seeded=self.seed is not None,
        )
        counts = np.concatenate([table.ravel() for table in tables])
        if self.seed is None:
            noisy = draw(self.mechanism, scale, counts)
        else:
            noisy = counts + applied.errors(np.random.default_rng(self.seed), counts.shape)
        ends = np.cumsum([table.size for table in tables])[:-1]
        parts = np.split(noisy, ends)
        return [part.reshape(table.shape) for part, table in zip(parts, tables, strict=True)], applied


@dataclass(frozen=True)
class ControlledRounding(Protection):
    """Every count moves to a multiple of a base next to it, by chance, and all label totals still agree.

    A cell of c records becomes base * floor(c / base) or the next multiple, so that its expectation is c. The
    total of each label moves to a multiple next to it, too, and is the same in the tables of all attributes.
    The cells of a label are taken in a random order with running totals C_j; cell j becomes
    base * (floor((C_j + u) / base) - floor((C_{j-1} + u) / base)) with one random u from 0 to base - 1 for
    each label, shared by all attributes.

    Rounding hides small counts. Unlike noise with a budget, it proves nothing about what a stranger learns.

    Parameters
    ----------
    base : int
        From 2 up.
    seed : int, optional
        For tests and experiments: with a seed, whoever knows it learns more than the rounded counts.

    References
    ----------
    Cox, "A constructive procedure for unbiased controlled rounding", 1987.

    Examples
    --------
    >>> table = np.array([[3, 11], [4, 0], [8, 4]])
    >>> (rounded,), _ = ControlledRounding(base=5, seed=0).apply([table])
    >>> (rounded % 5).max(), rounded.sum(axis=0).tolist()
    (np.int64(0), [15, 15])
    """

    base: int = 5
    seed: int | None = None

    def __post_init__(self) -> None:
        whole_number("base", self.base, least=2, most=2**31)
        if self.seed is not None:
            seed_number("seed", self.seed)

    def apply(self, tables: Tables) -> Protected:
        """Round every cell of every table."""
        rng = None if self.seed is None else np.random.default_rng(self.seed)
        labels = tables[0].shape[1]
        draw = secrets.randbelow if rng is None else rng.integers
        starts = np.array([draw(self.base) for _ in range(labels)], dtype=np.int64)
        rounded = [self._rounded(table, starts, rng) for table in tables]
        applied = AppliedProtection("rounding", self.base, len(tables), seeded=self.seed is not None)
        return rounded, applied

    def _rounded(
        self, table: npt.NDArray[np.int64], starts: npt.NDArray[np.int64], rng: np.random.Generator | None
    ) -> npt.NDArray[np.int64]:
        random = os.urandom(8 * table.size) if rng is None else rng.bytes(8 * table.size)
        keys = np.frombuffer(random, dtype=np.uint64).reshape(table.shape)
        order = np.argsort(keys, axis=0, kind="stable")
        running = starts + np.cumsum(np.take_along_axis(table, order, axis=0), axis=0)
        steps = np.diff(running // self.base, axis=0, prepend=(starts // self.base)[None])
        rounded = np.empty_like(table)
        np.put_along_axis(rounded, order, self.base * steps, axis=0)
        return rounded

"""What a privacy rule is: a level for each class of records, and the level that is asked for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, fields
from fractions import Fraction
from math import floor
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aegis_opt._options import number
from aegis_opt._shown import shown
from aegis_opt.errors import InvalidInput, InvalidOption

TOLERANCE = 1e-10
"""Relative; levels that are not whole numbers are sums over the sensitive values, which round."""


@dataclass(frozen=True)
class PrivacyRule(ABC):
    """A condition on the equivalence classes of a masked table.

    Rules are frozen dataclasses; the first field of each is the level that is asked for. A class of records
    *violates* the rule where its own level is worse. With suppression limit s, a table of N records satisfies
    a rule when at most floor(s N) records lie in violating classes: those are suppressed.
    """

    needs_sensitive: ClassVar[bool] = False
    """Whether the rule looks at the sensitive attribute, or only at how many records a class has."""
    needs_whole: ClassVar[bool] = False
    """Whether classes are compared with the distribution of the sensitive attribute in the whole table."""
    needs_order: ClassVar[bool] = False
    """Whether the rule can need the order of the sensitive values."""
    higher_is_better: ClassVar[bool] = True
    """Whether a class is more private with a higher level."""
    monotone: ClassVar[bool] = True
    """Whether merging classes that satisfy the rule always gives a class that does."""
    monotone_with_suppression: ClassVar[bool] = False
    """Whether merging classes never adds to the records in violating classes."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The rule as people call it, such as "k-anonymity"."""

    @property
    def column(self) -> str:
        """The name as a column of a table, such as "k_anonymity"."""
        return self.name.replace("-", "_").replace(" ", "_")

    @property
    def level(self) -> float:
        """The level that is asked for: k, l, t, delta or beta."""
        return getattr(self, fields(self)[0].name)  # type: ignore[no-any-return]

    @abstractmethod
    def _levels(
        self, classes: NDArray[np.float64], whole: NDArray[np.float64], order: NDArray[np.intp] | None
    ) -> NDArray[np.float64]:
        """Level of each class; no class is empty, and every value occurs in the whole table."""

    def levels(
        self, classes: ArrayLike, *, whole: ArrayLike | None = None, order: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Level of each equivalence class.

        Parameters
        ----------
        classes : array_like of int, shape (n_classes, n_values) or (n_classes,)
            Counts of each sensitive value in each class; where the rule needs no sensitive attribute, the
            sizes of the classes are enough. Rows of zeros are no classes: their level satisfies every rule.
        whole : array_like, shape (n_values,), optional
            Counts of the sensitive values in the whole table; by default the sum of the classes.
        order : array_like of int, shape (n_values,), optional
            The columns in the order of the sensitive values, for rules that need it; else as they stand.

        Returns
        -------
        ndarray of float, shape (n_classes,)
        """
        counts = np.asarray(classes)
        if self.needs_sensitive and counts.ndim != 2:
            raise InvalidInput(
                f"{self.name} needs a table of counts per class and sensitive value, not an array of shape "
                f"{counts.shape}"
            )
        if counts.ndim not in (1, 2):
            raise InvalidInput(f"{self.name} needs counts per class, not an array of shape {counts.shape}")
        counts = counts.reshape(len(counts), -1).astype(np.float64)
        total = counts.sum(axis=0) if whole is None else np.asarray(whole, dtype=np.float64)
        if total.shape != counts.shape[1:]:
            raise InvalidInput(
                f"whole must hold one count for each of the {counts.shape[1]} sensitive values, not an array "
                f"of shape {total.shape}"
            )
        arranged = None
        if self.needs_order:
            arranged = np.arange(len(total)) if order is None else np.asarray(order, dtype=np.intp)
            if sorted(arranged.tolist()) != list(range(len(total))):
                raise InvalidInput(
                    f"order must hold each of the {len(total)} columns once, not {shown(order)}"
                )
        levels = np.full(len(counts), np.inf if self.higher_is_better else 0.0)
        filled = counts.any(axis=1)
        if filled.any():
            levels[filled] = self._levels(counts[filled], total, arranged)
        return levels

    def violations(
        self, classes: ArrayLike, *, whole: ArrayLike | None = None, order: ArrayLike | None = None
    ) -> NDArray[np.bool_]:
        """Which equivalence classes violate the rule.

        Parameters
        ----------
        classes, whole, order
            As for `levels`.

        Returns
        -------
        ndarray of bool, shape (n_classes,)

        Examples
        --------
        >>> import aegis_opt as ao
        >>> ao.privacy.KAnonymity(5).violations([7, 3, 5])
        array([False,  True, False])
        """
        return ~self.satisfied(self.levels(classes, whole=whole, order=order))

    def figure(
        self, classes: ArrayLike, *, whole: ArrayLike | None = None, order: ArrayLike | None = None
    ) -> float:
        """The level of the table: that of its worst class.

        Parameters
        ----------
        classes, whole, order
            As for `levels`.

        Returns
        -------
        float
            The rule holds for every level that is not stricter than this one. A table without records has the
            best level.

        Examples
        --------
        >>> import aegis_opt as ao
        >>> ao.privacy.LDiversity(2).figure([[4, 1], [2, 0]])
        1.0
        """
        return self.worst(self.levels(classes, whole=whole, order=order))

    def worst(self, levels: NDArray[np.float64]) -> float:
        """Return the worst of some levels; of none, the best that there is."""
        return float(levels.min(initial=np.inf) if self.higher_is_better else levels.max(initial=0.0))

    def holds(
        self,
        classes: ArrayLike,
        *,
        suppression: float = 0.0,
        whole: ArrayLike | None = None,
        order: ArrayLike | None = None,
    ) -> bool:
        """Whether a table satisfies the rule when up to a share of its records may be suppressed.

        Parameters
        ----------
        classes, whole, order
            As for `levels`.
        suppression : float, default 0
            The share of records that may lie in violating classes.

        Returns
        -------
        bool

        Examples
        --------
        >>> import aegis_opt as ao
        >>> rule = ao.privacy.KAnonymity(5)
        >>> rule.holds([17, 3]), rule.holds([17, 3], suppression=0.15)
        (False, True)
        """
        counts = np.asarray(classes)
        sizes = counts.reshape(len(counts), -1).sum(axis=1)
        violating = sizes[self.violations(classes, whole=whole, order=order)].sum()
        return bool(violating <= allowed_records(suppression, int(sizes.sum())))

    def satisfied_by(self, figure: float) -> bool:
        """Whether a table with this figure satisfies the rule, without suppression.

        Parameters
        ----------
        figure : float
            As `figure` gives it, for a rule of the same kind.

        Returns
        -------
        bool

        Examples
        --------
        >>> import aegis_opt as ao
        >>> ao.privacy.KAnonymity(5).satisfied_by(7), ao.privacy.TCloseness(0.2).satisfied_by(0.3)
        (True, False)
        """
        return bool(self.satisfied(np.array([figure]))[0])

    def satisfied(self, levels: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which levels are good enough."""
        if self.higher_is_better:
            return np.asarray(levels >= self.level * (1 - TOLERANCE))
        return np.asarray(levels <= self.level * (1 + TOLERANCE) + TOLERANCE)


def allowed_records(suppression: float, n_records: int) -> int:
    """How many of N records may be suppressed: floor(s N), with s the decimal number that was written.

    Examples
    --------
    >>> allowed_records(0.29, 100)
    29
    """
    share = number("suppression", suppression, least=0, most=1)
    return floor(Fraction(repr(share)) * n_records)


def as_rules(rules: PrivacyRule | Iterable[PrivacyRule]) -> tuple[PrivacyRule, ...]:
    """Return one rule or several as a tuple, each kind once.

    Examples
    --------
    >>> from aegis_opt.privacy import KAnonymity
    >>> as_rules(KAnonymity(5))
    (KAnonymity(k=5),)
    """
    if isinstance(rules, PrivacyRule):
        return (rules,)
    if not isinstance(rules, Iterable):
        raise InvalidOption(f"rules must be rules such as ao.privacy.KAnonymity(5), not {shown(rules)}")
    several = tuple(rules)
    kinds: dict[str, PrivacyRule] = {}
    for rule in several:
        if not isinstance(rule, PrivacyRule):
            raise InvalidOption(
                f"each rule must be a rule such as ao.privacy.KAnonymity(5), not {shown(rule)}"
            )
        if rule.column in kinds:
            raise InvalidOption(
                f"two rules of the kind {rule.name}, {kinds[rule.column]} and {rule}: give the stricter one"
            )
        kinds[rule.column] = rule
    if not several:
        raise InvalidOption("no rule is given: give at least one, such as ao.privacy.KAnonymity(5)")
    return several

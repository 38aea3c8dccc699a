"""Privacy rules: what every class of records that look alike must satisfy.

The records whose masked quasi-identifiers are all equal form an *equivalence class*. A rule gives each class
a *level*, computed from the counts of the sensitive values in it, and asks that the level of every class is
good enough.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from aegis_opt._options import flag, number, one_of, whole_number
from aegis_opt.errors import InvalidOption
from aegis_opt.privacy._base import TOLERANCE, PrivacyRule

_C = 3.0  # what Machanavajjhala et al. use in their experiments


@dataclass(frozen=True)
class KAnonymity(PrivacyRule):
    """k-anonymity: every class has at least k records.

    Parameters
    ----------
    k : int
        At least 1.

    References
    ----------
    L. Sweeney, *k-anonymity: a model for protecting privacy*, IJUFKS 10 (2002).

    Examples
    --------
    >>> import aegis_opt as ao
    >>> rule = ao.privacy.KAnonymity(3)
    >>> rule.figure([4, 3, 9]), rule.holds([4, 3, 9])
    (3.0, True)
    """

    k: int

    monotone_with_suppression: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", whole_number("k", self.k, least=1))

    @property
    def name(self) -> str:
        """The rule as people call it."""
        return "k-anonymity"

    def _levels(
        self,
        classes: NDArray[np.float64],
        whole: NDArray[np.float64],  # noqa: ARG002
        order: NDArray[np.intp] | None,  # noqa: ARG002
    ) -> NDArray[np.float64]:
        return np.asarray(classes.sum(axis=1))


@dataclass(frozen=True)
class LDiversity(PrivacyRule):
    """l-diversity: every class holds at least l well-represented sensitive values.

    A class satisfies it

    * ``distinct``: where it holds at least l different values;
    * ``entropy``: where the entropy of its values is at least log l; its level is exp(entropy);
    * ``recursive``: where r_1 < c (r_l + r_(l+1) + ... + r_m), with r_1 >= r_2 >= ... the counts of its
      values; its level is the largest l for which that is so.

    Parameters
    ----------
    l : float
        At least 1; a whole number unless the kind is "entropy".
    kind : {"distinct", "entropy", "recursive"}
        See above.
    c : float, optional
        For "recursive" only: 3 unless given.

    References
    ----------
    A. Machanavajjhala, D. Kifer, J. Gehrke, M. Venkitasubramaniam, *l-diversity: privacy beyond k-anonymity*,
    ACM TKDD 1 (2007).

    Examples
    --------
    >>> import aegis_opt as ao
    >>> classes = [[3, 3, 0], [1, 2, 1]]
    >>> ao.privacy.LDiversity(2).holds(classes)
    True
    >>> round(ao.privacy.LDiversity(2, kind="entropy").figure(classes), 3)
    2.0
    >>> ao.privacy.LDiversity(2, kind="recursive", c=1).figure(classes)
    1.0
    """

    l: float  # noqa: E741
    kind: str = "distinct"
    c: float | None = None

    needs_sensitive: ClassVar[bool] = True

    def __post_init__(self) -> None:
        one_of("kind", self.kind, ("distinct", "entropy", "recursive"))
        wanted = (
            number("l", self.l, least=1) if self.kind == "entropy" else whole_number("l", self.l, least=1)
        )
        object.__setattr__(self, "l", wanted)
        if self.kind == "recursive":
            object.__setattr__(self, "c", number("c", _C if self.c is None else self.c, above=0))
        elif self.c is not None:
            raise InvalidOption(f"c belongs to kind='recursive', not to kind={self.kind!r}: leave it out")

    @property
    def name(self) -> str:
        """The rule as people call it."""
        return "l-diversity" if self.kind == "distinct" else f"{self.kind} l-diversity"

    @property
    def monotone_with_suppression(self) -> bool:  # type: ignore[override]
        """Whether merging classes never adds to the records in violating classes."""
        return self.kind == "distinct"

    def _levels(
        self,
        classes: NDArray[np.float64],
        whole: NDArray[np.float64],  # noqa: ARG002
        order: NDArray[np.intp] | None,  # noqa: ARG002
    ) -> NDArray[np.float64]:
        if self.kind == "distinct":
            return np.asarray(np.count_nonzero(classes, axis=1), dtype=np.float64)
        if self.kind == "entropy":
            shares = classes / classes.sum(axis=1, keepdims=True)
            logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
            return np.asarray(np.exp(-(shares * logs).sum(axis=1)))
        descending = -np.sort(-classes, axis=1)
        tails = np.cumsum(descending[:, ::-1], axis=1)[:, ::-1]
        held = np.count_nonzero(descending[:, :1] < (self.c or _C) * tails, axis=1)
        return np.asarray(held, dtype=np.float64)


@dataclass(frozen=True)
class TCloseness(PrivacyRule):
    """t-closeness: in every class, the sensitive values are distributed almost as in the whole table.

    With q the shares of the values in the class and p those in the whole table, the level of a class is the
    earth mover's distance of q and p. For equal distances between the values it is sum_i |q_i - p_i| / 2. For
    ordered values it is sum_i |sum_(j <= i) (q_j - p_j)| / (m - 1), where m is the number of values.

    Parameters
    ----------
    t : float
        From 0 to 1.
    ordered : bool, default False
        Whether the order of the values counts. The missing value comes last.

    References
    ----------
    N. Li, T. Li, S. Venkatasubramanian, *t-closeness: privacy beyond k-anonymity and l-diversity*, ICDE 2007.

    Examples
    --------
    >>> import aegis_opt as ao
    >>> classes = [[2, 0, 0], [0, 2, 2]]
    >>> round(ao.privacy.TCloseness(0.5).figure(classes), 4)
    0.6667
    >>> round(ao.privacy.TCloseness(0.5, ordered=True).figure(classes), 4)
    0.5
    """

    t: float
    ordered: bool = False

    needs_sensitive: ClassVar[bool] = True
    needs_whole: ClassVar[bool] = True
    higher_is_better: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "t", number("t", self.t, least=0, most=1))
        object.__setattr__(self, "ordered", flag("ordered", self.ordered))

    @property
    def name(self) -> str:
        """The rule as people call it."""
        return "ordered t-closeness" if self.ordered else "t-closeness"

    @property
    def needs_order(self) -> bool:  # type: ignore[override]
        """Whether the rule can need the order of the sensitive values."""
        return self.ordered

    def _levels(
        self, classes: NDArray[np.float64], whole: NDArray[np.float64], order: NDArray[np.intp] | None
    ) -> NDArray[np.float64]:
        more = _shares(classes) - _shares(whole)
        if order is None:
            return np.asarray(np.abs(more).sum(axis=1) / 2)
        carried = np.cumsum(more[:, order[whole[order] > 0]], axis=1)
        return np.asarray(np.abs(carried).sum(axis=1) / max(carried.shape[1] - 1, 1))


@dataclass(frozen=True)
class DeltaDisclosure(PrivacyRule):
    """delta-disclosure privacy: no class makes a sensitive value much more or much less likely.

    With q the shares of the values in the class and p those in the whole table, the level of a class is
    max |ln(q_i / p_i)|. It is infinite where a class lacks a value.

    Parameters
    ----------
    delta : float
        Above 0. The level may equal it.
    values : {"all", "present"}
        "present" looks only at the values that occur in the class, as some programs do. That rule is not
        monotone: a merged class can violate it although its parts do not.

    References
    ----------
    J. Brickell, V. Shmatikov, *The cost of privacy: destruction of data-mining utility in anonymized data
    publishing*, KDD 2008.

    Examples
    --------
    >>> import aegis_opt as ao
    >>> round(ao.privacy.DeltaDisclosure(1.0).figure([[3, 1], [1, 3]]), 4)
    0.6931
    """

    delta: float
    values: str = "all"

    needs_sensitive: ClassVar[bool] = True
    needs_whole: ClassVar[bool] = True
    higher_is_better: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "delta", number("delta", self.delta, above=0))
        one_of("values", self.values, ("all", "present"))

    @property
    def name(self) -> str:
        """The rule as people call it."""
        return "delta-disclosure" if self.values == "all" else "delta-disclosure of present values"

    @property
    def monotone(self) -> bool:  # type: ignore[override]
        """Whether merging classes that satisfy the rule always gives a class that does."""
        return self.values == "all"

    def _levels(
        self,
        classes: NDArray[np.float64],
        whole: NDArray[np.float64],
        order: NDArray[np.intp] | None,  # noqa: ARG002
    ) -> NDArray[np.float64]:
        occurs = whole > 0
        ratios = _shares(classes)[:, occurs] / _shares(whole)[occurs]
        absent = np.full_like(ratios, -np.inf if self.values == "all" else 0.0)
        return np.asarray(np.abs(np.log(ratios, out=absent, where=ratios > 0)).max(axis=1, initial=0.0))


@dataclass(frozen=True)
class BetaLikeness(PrivacyRule):
    """beta-likeness: no class makes a sensitive value much more likely.

    With q the shares of the values in the class and p those in the whole table, the level of a class is
    max (q_i - p_i) / p_i over the values that it makes more likely.

    Parameters
    ----------
    beta : float
        Above 0.
    enhanced : bool, default False
        Whether the gain of a value is also limited to -ln p_i. The level of a class in which a value
        exceeds that is infinite.

    References
    ----------
    J. Cao, P. Karras, *Publishing microdata with a robust privacy guarantee*, PVLDB 5 (2012).

    Examples
    --------
    >>> import aegis_opt as ao
    >>> ao.privacy.BetaLikeness(1.0).figure([[3, 1], [1, 3]])
    0.5
    """

    beta: float
    enhanced: bool = False

    needs_sensitive: ClassVar[bool] = True
    needs_whole: ClassVar[bool] = True
    higher_is_better: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "beta", number("beta", self.beta, above=0))
        object.__setattr__(self, "enhanced", flag("enhanced", self.enhanced))

    @property
    def name(self) -> str:
        """The rule as people call it."""
        return "enhanced beta-likeness" if self.enhanced else "beta-likeness"

    def _levels(
        self,
        classes: NDArray[np.float64],
        whole: NDArray[np.float64],
        order: NDArray[np.intp] | None,  # noqa: ARG002
    ) -> NDArray[np.float64]:
        occurs = whole > 0
        shares = _shares(whole)[occurs]
        gains = np.maximum(_shares(classes)[:, occurs] / shares - 1, 0.0)
        if self.enhanced:
            gains[gains > -np.log(shares) * (1 + TOLERANCE) + TOLERANCE] = np.inf
        return np.asarray(gains.max(axis=1, initial=0.0))


def _shares(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(counts / counts.sum(axis=-1, keepdims=True))

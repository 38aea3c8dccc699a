"""What a scan of a source gives: counts per attribute value and label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from aegis_opt._progress import Progress as Progress
from aegis_opt.domain import Domain


class ValueCounts(NamedTuple):
    """The values of one column, and how often each occurs."""

    domain: Domain
    counts: npt.NDArray[np.int64]


@dataclass(frozen=True)
class Coarsening:
    """How an attribute with too many values was read instead.

    Parameters
    ----------
    distinct : int
        Number of distinct values in the source, a missing one included.
    rule : str
        What became of them, such as "multiples of 500".
    """

    distinct: int
    rule: str


@dataclass(frozen=True, eq=False)
class JointCounts:
    """Joint table of one attribute and the label.

    Parameters
    ----------
    domain : Domain
        The attribute's values: the rows, the missing value (if any) last.
    table : ndarray of int64, shape (n, k)
        Records per value and label; columns as in the scan's `label_domain`.
    coarsening : Coarsening, optional
        How the values were merged while counting, if they were.
    """

    domain: Domain
    table: npt.NDArray[np.int64]
    coarsening: Coarsening | None = None

    @property
    def records(self) -> npt.NDArray[np.int64]:
        """Records per value."""
        counts: npt.NDArray[np.int64] = self.table.sum(axis=1)
        return counts


@dataclass(frozen=True, eq=False)
class JointMoments:
    """Records, sum and sum of squares of a label that is a number, for each value of one attribute.

    Parameters
    ----------
    domain : Domain
        The attribute's values: the rows, the missing value (if any) last.
    table : ndarray of float64, shape (n, 3)
        Records per value, the sum of their labels and the sum of the squares, centred and scaled as
        `aegis_opt.sources._number_label.NumberLabel` says.
    coarsening : Coarsening, optional
        How the values were merged while counting, if they were.
    """

    domain: Domain
    table: npt.NDArray[np.float64]
    coarsening: Coarsening | None = None

    @property
    def records(self) -> npt.NDArray[np.int64]:
        """Records per value."""
        return self.table[:, 0].astype(np.int64)


@dataclass(frozen=True, eq=False)
class NumberScan:
    """Sums of a label that is a number, of a whole source.

    Parameters
    ----------
    label : str
        Name of the label's column.
    attributes : dict of str to JointMoments
        One table per attribute, in the order asked for.
    n_records : int
        Number of records, N.
    """

    label: str
    attributes: dict[str, JointMoments]
    n_records: int


@dataclass(frozen=True, eq=False)
class Scan:
    """Counts of a whole source.

    Parameters
    ----------
    label : str
        Name of the label's column.
    label_domain : Domain
        The classes; a missing label is a class of its own, the last.
    label_counts : ndarray of int64, shape (k,)
        Records per class.
    attributes : dict of str to JointCounts
        One joint table per attribute, in the order asked for.
    n_records : int
        Number of records, N.
    """

    label: str
    label_domain: Domain
    label_counts: npt.NDArray[np.int64]
    attributes: dict[str, JointCounts]
    n_records: int

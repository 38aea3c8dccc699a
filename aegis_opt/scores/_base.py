"""What a score is: a number for each configuration, computed from the records at the provider."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from aegis_opt.errors import InvalidOption
from aegis_opt.scores._least_squares import FloatArray
from aegis_opt.scores._masked_records import MaskedRecords


@dataclass(frozen=True, eq=False)
class ScoreValues:
    """A score of every configuration; higher is better.

    Parameters
    ----------
    values : ndarray, shape (configurations,)
        The scores; NaN where there is none.
    folds : ndarray, shape (configurations, K), or None
        The score in each fold of the records, from which `equivalent` tells what cannot be told apart.
    stages : ndarray of int, shape (configurations,), or None
        How far each configuration came, where not all are scored alike. Those of a higher stage rank first.
    """

    values: FloatArray
    folds: FloatArray | None = None
    stages: npt.NDArray[np.int64] | None = None


class Score(ABC):
    """A way to score configurations.

    Attributes
    ----------
    name : str
        By which `advise(measure=...)` finds the score in a summary.
    title : str
        What people read.
    monotone : bool
        Whether merging values never raises the score, so that the order of configurations is provably that of
        what they lose.
    compares_labels : bool
        Whether scores of configurations that mask the label in different ways, and so predict different
        things, can stand side by side. They cannot where a score depends on the number of classes, as
        log-loss and accuracy do.
    """

    name: str
    title: str
    monotone: bool = False
    compares_labels: bool = False

    def title_for(self, *, is_number: bool) -> str:  # noqa: ARG002
        """What people read, for a label that is one of some classes or a number."""
        return self.title

    @abstractmethod
    def of(self, masked: MaskedRecords) -> ScoreValues:
        """Score every configuration."""

    def check_label(self, *, is_number: bool) -> None:  # noqa: B027
        """Refuse a label that cannot be scored: one of some classes, or a number; by default none."""

    def changes(self, masked: MaskedRecords) -> Mapping[str, FloatArray] | None:  # noqa: ARG002
        """Score every configuration with one of its masks changed; None where that is not known.

        Returns
        -------
        mapping of str to ndarray, shape (configurations, masks + 1)
            For each attribute, the score under each of its masks, and in the last column without a mask.
        """
        return None


def checked_name(name: object) -> str:
    """Return the name of a score; it must be a word."""
    if not isinstance(name, str) or not name or name != name.strip() or not name.isprintable():
        raise InvalidOption(f"the name of a score must be a text without blanks around it, not {name!r}")
    return name

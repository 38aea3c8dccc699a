"""A race: all configurations by counts, the best of them by a model, on as many records as it takes."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from aegis_opt._options import number, seed_number, whole_number
from aegis_opt.scores._base import Score, ScoreValues, checked_name
from aegis_opt.scores._intervals import indistinguishable
from aegis_opt.scores._least_squares import FloatArray
from aegis_opt.scores._masked_records import MaskedRecords
from aegis_opt.scores._model import Model, check_estimator, check_fits, mean_of_folds
from aegis_opt.scores._r2 import R2_GCV
from aegis_opt.sources._pairs import IntArray

_MORE = 4  # how many times as many records the next round has


@dataclass(frozen=True, eq=False)
class Race(Score):
    """Score all configurations by `r2_gcv`, then train a model on the best ones.

    The model is trained on a sample of records for each finalist. Those that its folds cannot tell apart from
    the leader go on with four times as many records, or with all where that is more than half of them, until
    one is left, or all records are used, or `seconds` have passed. A configuration of a later round ranks
    before one of an earlier round; within a round the score of the model decides, and among those that no
    model was trained for, `r2_gcv`.

    Parameters
    ----------
    estimator : scikit-learn classifier or regressor, optional
        By default logistic regression, or ridge regression where the label is a number.
    rows : int
        Records of the first round.
    folds : int
        How many parts the sample is divided into, each of which is held out once.
    finalists : int
        How many configurations a model is trained for.
    seconds : float, optional
        No round is begun after this time. By default there is no limit, so that the same seed gives the same
        winner on any machine.
    seed : int
        Of the samples and the folds.
    name : str
        By which `advise(measure=...)` finds the score.

    Examples
    --------
    >>> Race(finalists=5).name
    'race'
    """

    estimator: Any = None
    rows: int = 2000
    folds: int = 5
    finalists: int = 10
    seconds: float | None = None
    seed: int = 0
    name: str = "race"

    def __post_init__(self) -> None:
        whole_number("rows", self.rows, least=2)
        whole_number("folds", self.folds, least=2)
        whole_number("finalists", self.finalists, least=1)
        seed_number("seed", self.seed)
        if self.seconds is not None:
            number("seconds", self.seconds, above=0, unit="seconds")
        checked_name(self.name)
        check_estimator(self.estimator)

    @property
    def title(self) -> str:  # type: ignore[override]
        """What the finalists are scored by."""
        return f"a race by {Model(self.estimator).title}"

    def title_for(self, *, is_number: bool) -> str:
        """What the finalists are scored by, for a kind of label."""
        return f"a race by {Model(self.estimator).title_for(is_number=is_number)}"

    def check_label(self, *, is_number: bool) -> None:
        """Refuse a classifier for a number, and a regressor for classes."""
        check_fits(self.estimator, is_number=is_number)

    def of(self, masked: MaskedRecords) -> ScoreValues:
        """Run the race."""
        begin = time.monotonic()
        names = list(masked.configurations)
        by_counts = R2_GCV.of(masked).values
        values = np.full(len(names), np.nan)
        folds = np.full((len(names), self.folds), np.nan)
        stages = np.zeros(len(names), dtype=np.int64)
        order = np.argsort(-np.nan_to_num(by_counts, nan=-np.inf), kind="stable")
        n_records = int(next(iter(masked.sizes.values())).sum())
        running, rows, stage = order[: self.finalists], self.rows, 0
        while True:
            stage += 1
            if 2 * rows > n_records:  # a round with all of them would differ little, and cost twice as much
                rows = n_records
            sample = masked.records.sample(rows, self.seed)
            model = Model(self.estimator, rows, self.folds, seed=self.seed)
            found = model.trained(masked, [names[i] for i in running], sample)
            values[running], folds[running], stages[running] = mean_of_folds(found), found, stage
            running = running[self._in_play(found)]
            late = self.seconds is not None and time.monotonic() - begin > self.seconds
            if len(running) == 1 or rows == n_records or late:
                break
            rows *= _MORE
        trained = stages > 0
        values[~trained] = by_counts[~trained]
        return ScoreValues(values, folds, stages)

    @staticmethod
    def _in_play(found: FloatArray) -> IntArray:
        """Return the places of those that cannot be told apart from the leader, or of all without one."""
        if np.isnan(found).all():  # a rare label that the sample lacks
            return np.arange(len(found))
        leader = int(np.argmax(np.nan_to_num(mean_of_folds(found), nan=-np.inf)))
        return np.flatnonzero(indistinguishable(found, leader))

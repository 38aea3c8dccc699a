"""The score of a model that is trained on a sample of the masked records."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from aegis_opt._options import seed_number, whole_number
from aegis_opt.errors import InvalidOption, MissingDependency
from aegis_opt.scores._base import Score, ScoreValues, checked_name
from aegis_opt.scores._least_squares import FloatArray, most_frequent
from aegis_opt.scores._logistic import LogisticRegression
from aegis_opt.scores._masked_records import MaskedRecords
from aegis_opt.scores._ridge import Ridge
from aegis_opt.sources._pairs import CodedRecords, IntArray

if TYPE_CHECKING:
    from scipy import sparse

MOST_ROWS = 2**31 - 1
"""More records than any sample has."""


@dataclass(frozen=True, eq=False)
class Model(Score):
    """Train a model on a sample of the masked records, and judge it on records that it has not seen.

    The masked attributes are one-hot encoded; of each, the 63 most frequent masked values of the sample stay
    and the others are pooled. Every configuration has the same sample and the same folds. The score is minus
    the log-loss: the mean natural logarithm of the probability that the model gives to the label of a record
    that was held out, where no probability counts as less than one half divided by the number of records that
    the model has seen. A model that gives no probabilities is scored by its accuracy.

    Where the label is a number, the score is R-squared on the records that were held out: 1 minus the squared
    error of the model divided by that of the mean of the records that the model has seen.

    Parameters
    ----------
    estimator : scikit-learn classifier or regressor, optional
        It is copied, never fitted itself. A label of classes needs a classifier, a number a regressor. By
        default logistic regression or ridge regression: scikit-learn's, with its default penalty, found by
        methods of our own that take a fraction of the time.
    rows : int, optional
        Size of the sample; None takes all records.
    folds : int
        How many parts the sample is divided into, each of which is held out once.
    name : str, optional
        By which `advise(measure=...)` finds the score; by default "model".
    seed : int
        Of the sample and the folds.

    Examples
    --------
    >>> from sklearn.naive_bayes import BernoulliNB
    >>> Model(BernoulliNB(), rows=500, name="naive Bayes").name
    'naive Bayes'
    """

    estimator: Any = None
    rows: int | None = 2000
    folds: int = 5
    name: str = "model"
    seed: int = 0

    def __post_init__(self) -> None:
        if self.rows is not None:
            whole_number("rows", self.rows, least=2)
        whole_number("folds", self.folds, least=2)
        seed_number("seed", self.seed)
        checked_name(self.name)
        check_estimator(self.estimator)

    @property
    def title(self) -> str:  # type: ignore[override]
        """Name of the estimator."""
        model = "LogisticRegression" if self.estimator is None else type(self.estimator).__name__
        return f"{model} on held-out records"

    def check_label(self, *, is_number: bool) -> None:
        """Refuse a classifier for a number, and a regressor for classes."""
        check_fits(self.estimator, is_number=is_number)

    def title_for(self, *, is_number: bool) -> str:
        """Name the estimator that a kind of label has."""
        if self.estimator is not None:
            return self.title
        return f"{'Ridge' if is_number else 'LogisticRegression'} on held-out records"

    def of(self, masked: MaskedRecords) -> ScoreValues:
        """Train on every configuration."""
        sample = masked.records.sample(self.rows or MOST_ROWS, self.seed)
        folds = self.trained(masked, list(masked.configurations), sample)
        return ScoreValues(mean_of_folds(folds), folds)

    def trained(
        self, masked: MaskedRecords, configurations: Sequence[str], sample: CodedRecords
    ) -> FloatArray:
        """Return the score of configurations in each fold of a sample; configurations x folds."""
        try:
            from joblib import Parallel, delayed
        except ImportError as error:
            raise MissingDependency("models are trained with joblib: pip install scikit-learn") from error
        fold = sample.folds(self.folds, self.seed)
        numbers = sample.numbers
        check_fits(self.estimator, is_number=numbers is not None)
        default = LogisticRegression() if numbers is None else Ridge()
        estimator = default if self.estimator is None else self.estimator
        encode = one_hot if self.estimator is None or _takes_sparse(estimator) else _dense_one_hot
        judge: Callable[..., FloatArray] = _held_out
        if numbers is not None:
            judge = partial(_held_out_number, scale=numbers.scale)

        def target(configuration: str) -> IntArray | FloatArray:
            own = masked.label(configuration, sample)
            return own if numbers is None else numbers.values[own]

        found = Parallel()(
            delayed(judge)(
                estimator,
                encode(masked.masked(name, sample)),
                target(name),
                fold=fold,
                n_folds=self.folds,
            )
            for name in configurations
        )
        return np.array(found)


def check_estimator(estimator: Any) -> None:
    """Refuse what is no model."""
    if estimator is None:
        return
    for method in ("fit", "predict"):
        if not callable(getattr(estimator, method, None)) or isinstance(estimator, type):
            raise InvalidOption(
                "an estimator must be a scikit-learn classifier such as LogisticRegression(), or for numbers "
                f"a regressor such as Ridge(), which has {method!r}; {estimator!r} has none"
            )


def check_fits(estimator: Any, *, is_number: bool) -> None:
    """Refuse a classifier for a number, and a regressor for classes; what says nothing is taken."""
    tags = None if estimator is None else getattr(estimator, "__sklearn_tags__", None)
    kind = None if tags is None else tags().estimator_type
    if kind == "regressor" and not is_number:
        raise InvalidOption(
            "the label is one of some classes, so an estimator must be a classifier, not the regressor "
            f"{estimator!r}; a regressor is for summarize(..., label_kind='number')"
        )
    if kind == "classifier" and is_number:
        raise InvalidOption(
            f"the label is a number, so an estimator must be a regressor, not the classifier {estimator!r}; "
            "a classifier is for classes, such as summarize(..., label_bins=4) makes of a number"
        )


def mean_of_folds(folds: FloatArray) -> FloatArray:
    """Return the mean score of each configuration over the folds that have one."""
    known = np.isfinite(folds)
    total = np.where(known, folds, 0.0).sum(axis=1)
    means: FloatArray = np.full(len(folds), np.nan)
    np.divide(total, known.sum(axis=1), out=means, where=known.any(axis=1))
    return means


def _takes_sparse(estimator: Any) -> bool:
    """Whether an estimator says that it takes sparse matrices."""
    tags = getattr(estimator, "__sklearn_tags__", None)
    return bool(tags is not None and tags().input_tags.sparse)


def one_hot(columns: Sequence[IntArray]) -> sparse.csr_matrix:
    """Return the one-hot columns of masked attributes, rare values pooled."""
    from scipy import sparse

    places, start = [], 0
    for column in columns:
        own = most_frequent(np.bincount(column))[column]
        places.append(start + own)
        start += int(own.max()) + 1
    n = len(columns[0])
    indices = np.stack(places, axis=1).ravel().astype(np.int32)  # scikit-learn takes no longer ones
    pointers = np.arange(0, n * len(columns) + 1, len(columns), dtype=np.int32)
    return sparse.csr_matrix((np.ones(len(indices)), indices, pointers), shape=(n, start))


def _dense_one_hot(columns: Sequence[IntArray]) -> FloatArray:
    found: FloatArray = one_hot(columns).toarray()
    return found


def _held_out_number(
    estimator: Any,
    X: sparse.csr_matrix | FloatArray,
    y: FloatArray,
    scale: float,
    fold: IntArray,
    n_folds: int,
) -> FloatArray:
    """Return R-squared of a model in each fold; NaN where there is none. Errors are divided by `scale`."""
    scores = np.full(n_folds, np.nan)
    for f in range(n_folds):
        seen, held = np.flatnonzero(fold != f), np.flatnonzero(fold == f)
        if not len(held) or not len(seen):
            continue
        model = copy.deepcopy(estimator).fit(X[seen], y[seen])
        errors = (y[held] - np.asarray(model.predict(X[held]), dtype=np.float64).ravel()) / scale
        variation = float(np.sum(((y[held] - y[seen].mean()) / scale) ** 2))
        if variation > 0:
            scores[f] = 1 - float(np.sum(errors**2)) / variation
    return scores


def _held_out(
    estimator: Any, X: sparse.csr_matrix | FloatArray, label: IntArray, fold: IntArray, n_folds: int
) -> FloatArray:
    """Return the score of a model in each fold; NaN where a fold is empty or the rest has one label."""
    scores = np.full(n_folds, np.nan)
    for f in range(n_folds):
        seen, held = np.flatnonzero(fold != f), np.flatnonzero(fold == f)
        if not len(held) or len(np.unique(label[seen])) < 2:
            continue
        model = copy.deepcopy(estimator).fit(X[seen], label[seen])
        if not hasattr(model, "predict_proba"):
            scores[f] = np.mean(model.predict(X[held]) == label[held])
            continue
        known = np.zeros((len(held), int(label.max()) + 1))
        known[:, model.classes_] = model.predict_proba(X[held])
        given = np.maximum(known[np.arange(len(held)), label[held]], 0.5 / len(seen))
        scores[f] = np.mean(np.log(given))
    return scores

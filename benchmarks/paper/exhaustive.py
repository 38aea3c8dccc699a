"""The exhaustive baseline: mask the rows by every configuration, train a classifier, score it.

It is the gold standard of accuracy and the yardstick of time: an advisor is worth having if it picks nearly
the configuration that this picks, without training anything.

Every attribute is a category: its masked value, one-hot encoded (sparse); the most frequent `max_categories`
of a column get a column each, the others and those not seen in training share one. Gradient boosting, which
takes categories as they are, has their codes instead: at most 255 of an attribute, and one not seen in
training is missing. All classifiers see the same stratified split. Each trains on one thread, so that times
are comparable and results repeat.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from aegis_opt.advisor._estimate import Progress
from aegis_opt.domain import Domain
from aegis_opt.errors import InvalidInput, InvalidOption, MissingDependency, UnknownName
from aegis_opt.harness._settings import number_of_processes
from aegis_opt.masks import Configuration, Configurations, Identity, group_attribute
from benchmarks.paper.rowwise import masked_attributes

CLASSIFIERS: dict[str, str] = {
    "lr": "logistic regression",
    "svm": "linear support vector machine",
    "rf": "random forest, 100 trees",
    "sgd": "linear model by stochastic gradient descent",
    "nb": "naive Bayes (Bernoulli)",
    "hgb": "gradient boosting of trees on histograms, at most 100 trees per class",
    "mlp": "neural network, two hidden layers of 100 ReLU units, Adam, at most 200 epochs",
}
"""What each classifier's short name means."""

MAX_CATEGORIES = 256
"""One-hot columns per attribute, unless asked otherwise."""


class SplitError(InvalidInput):
    """A data set cannot be split into training and test rows that both have every class."""


def train_and_score(
    frame: pd.DataFrame,
    label: str,
    configurations: Configurations,
    classifiers: Sequence[str] = ("lr", "svm", "rf", "sgd", "nb"),
    *,
    test_size: float = 0.3,
    max_categories: int | None = MAX_CATEGORIES,
    seed: int = 0,
    n_jobs: int = 1,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Mask, train and score every configuration with every classifier.

    Parameters
    ----------
    frame : DataFrame
        The raw rows.
    label : str
        Column of the class label.
    configurations : Configurations
        What to choose from. As for the advisor, the features are the attributes that one of them masks.
    classifiers : sequence of str
        Of `CLASSIFIERS`.
    test_size : float
        Share of the rows to score on; the split is stratified by class.
    max_categories : int or None
        One-hot columns per attribute; None gives each category its own.
    seed : int
        Of the split and of the classifiers.
    n_jobs : int
        Processes (joblib); results do not depend on it, times do.
    progress : callable, optional
        Called with (what, done, of how many).

    Returns
    -------
    DataFrame
        One row per configuration and classifier: configuration, classifier, accuracy, log_loss (mean over
        the test rows, in nats; NaN for a classifier that gives no probabilities), converged (False where
        training stopped at its limit of iterations), n_features (columns of the encoded attributes),
        seconds_mask (masking and encoding, paid by each classifier), seconds_train, seconds_score, seconds
        (all, without the log-loss), cpu_seconds (all, of this process; what counts on a busy machine).

    Raises
    ------
    SplitError
        If a class has one row, or the data set is too small for the split.
    MissingDependency
        Without scikit-learn.

    Examples
    --------
    >>> from aegis_opt.datasets import clinic
    >>> data = clinic(300)
    >>> found = train_and_score(data.frame, data.label, data.configurations, ["nb"])
    >>> len(found) == len(data.configurations), bool(found["accuracy"].between(0, 1).all())
    (True, True)
    """
    _check(classifiers, test_size, max_categories, n_jobs)
    _require_sklearn()
    labels = (
        frame[label].astype(object).where(frame[label].notna(), "(missing)")
    )  # a class, as for the advisor
    classes, target = np.unique(labels.astype(str).to_numpy(dtype=str), return_inverse=True)
    train, test = split_rows(target, classes.tolist(), test_size, seed)
    names = masked_attributes(configurations)
    columns = {name: encode(frame[name]) for name in names}
    tasks = [
        (title, masks, columns, target, train, test, tuple(classifiers), max_categories, seed)
        for title, masks in configurations.items()
    ]
    rows: list[dict[str, Any]] = []
    for done, found in enumerate(_run_tasks(tasks, n_jobs), start=1):
        rows += found
        if progress is not None:
            progress(f"training on {found[0]['configuration']}", done, len(tasks))
    return pd.DataFrame(rows)


def split_rows(
    target: npt.NDArray[np.int64], classes: Sequence[Any], test_size: float, seed: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the training and the test rows of a stratified split, or say why there is none.

    Examples
    --------
    >>> train, test = split_rows(np.array([0, 1] * 10), ["no", "yes"], 0.3, seed=0)
    >>> len(train), len(test)
    (14, 6)
    """
    _require_sklearn()
    from sklearn.model_selection import train_test_split

    counts = np.bincount(target, minlength=len(classes))
    if len(classes) < 2:
        raise SplitError(f"the label has one class only ({classes[0]!r}): there is nothing to predict")
    if counts.min() < 2:
        lonely = classes[int(counts.argmin())]
        raise SplitError(
            f"class {lonely!r} of the label has {counts.min()} row: training and test need one each; remove "
            "the class, merge it with another, or bring more rows"
        )
    n_test = int(np.ceil(test_size * len(target)))
    if min(n_test, len(target) - n_test) < len(classes):
        raise SplitError(
            f"{len(target)} rows are too few: a split into {len(target) - n_test} and {n_test} rows cannot "
            f"have all {len(classes)} classes on both sides; bring more rows or change test_size"
        )
    train, test = train_test_split(
        np.arange(len(target)), test_size=test_size, random_state=seed, stratify=target
    )
    return np.sort(train), np.sort(test)


def encode(column: pd.Series) -> tuple[Domain, npt.NDArray[np.int64]]:
    """Return the domain of a column, and for every row the position of its value in it.

    Examples
    --------
    >>> encode(pd.Series([17.0, None, 10.0]))[1].tolist()
    [1, 2, 0]
    """
    domain = Domain.of(column)
    codes = pd.Index(domain.values).get_indexer(pd.Index(column))
    codes[column.isna().to_numpy()] = len(domain.values)
    return domain, codes.astype(np.int64)


def _train_one(
    title: str,
    masks: Configuration,
    columns: dict[str, tuple[Domain, npt.NDArray[np.int64]]],
    target: npt.NDArray[np.int64],
    train: npt.NDArray[np.int64],
    test: npt.NDArray[np.int64],
    classifiers: Sequence[str],
    max_categories: int | None,
    seed: int,
) -> list[dict[str, Any]]:
    """Mask once, encode once for each encoding, train and score each classifier."""
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped,unused-ignore]

    clock = _Lap()
    coded = np.column_stack(
        [
            group_attribute(masks.get(name, Identity()), name, domain).groups[codes]
            for name, (domain, codes) in columns.items()
        ]
    )
    masking, cpu_masking = clock.lap()
    encoded: dict[bool, tuple[Any, Any, float, float]] = {}
    rows = []
    for name in classifiers:
        codes_only = name in _ON_CODES
        if codes_only not in encoded:
            clock = _Lap()
            encoder = _codes(max_categories) if codes_only else _one_hot(max_categories)
            seen, unseen = encoder.fit_transform(coded[train]), encoder.transform(coded[test])
            encoded[codes_only] = seen, unseen, *clock.lap()
        seen, unseen, encoding, cpu_encoding = encoded[codes_only]
        model = _MAKERS[name](seed)
        if codes_only:
            model.set_params(categorical_features=list(range(seen.shape[1])))
        clock = _Lap()
        with threadpool_limits(1), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            if name in _DENSE_IF_NARROW and seen.shape[1] <= _NARROW:
                seen, unseen = (part.toarray().astype(np.float32) for part in (seen, unseen))
            model.fit(seen, target[train])
        training, cpu_training = clock.lap()
        with threadpool_limits(1):
            accuracy = float(np.mean(model.predict(unseen) == target[test]))
            scoring, cpu_scoring = clock.lap()
            loss = _log_loss(model, unseen, target[test], len(train))
        rows.append(
            {
                "configuration": title,
                "classifier": name,
                "accuracy": accuracy,
                "log_loss": loss,
                "converged": not any(issubclass(w.category, ConvergenceWarning) for w in caught),
                "n_features": int(seen.shape[1]),
                "seconds_mask": masking + encoding,
                "seconds_train": training,
                "seconds_score": scoring,
                "seconds": masking + encoding + training + scoring,
                "cpu_seconds": cpu_masking + cpu_encoding + cpu_training + cpu_scoring,
            }
        )
    return rows


class _Lap:
    """Wall and processor time since it was made, or since the last lap."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def lap(self) -> tuple[float, float]:
        """Return both times, and begin the next lap."""
        wall, cpu = time.perf_counter(), time.process_time()
        spent = wall - self._wall, cpu - self._cpu
        self._wall, self._cpu = wall, cpu
        return spent


def _one_hot(max_categories: int | None) -> Any:
    from sklearn.preprocessing import OneHotEncoder

    return OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=max_categories)


def _codes(max_categories: int | None) -> Any:
    from sklearn.preprocessing import OrdinalEncoder

    most = min(max_categories or _MOST_CODES, _MOST_CODES)
    return OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=float("nan"), max_categories=most)


def _log_loss(model: Any, rows: Any, target: npt.NDArray[np.int64], n_seen: int) -> float:
    """Mean negative log of the probability of the true class, at least half a record of the training rows."""
    if not hasattr(model, "predict_proba"):
        return float("nan")
    given = model.predict_proba(rows)[np.arange(len(target)), target]
    return float(-np.mean(np.log(np.maximum(given, 0.5 / n_seen))))


def _run_tasks(tasks: list[tuple[Any, ...]], n_jobs: int) -> Any:
    """Run tasks in order, on `n_jobs` processes; one process needs no joblib."""
    if n_jobs == 1:
        return (_train_one(*task) for task in tasks)
    from joblib import Parallel, delayed  # type: ignore[import-untyped,unused-ignore]

    return Parallel(n_jobs=n_jobs, return_as="generator")(delayed(_train_one)(*task) for task in tasks)


def _logistic(seed: int) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=1000, random_state=seed)


def _svm(seed: int) -> Any:
    from sklearn.svm import LinearSVC

    return LinearSVC(random_state=seed)


def _forest(seed: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(n_estimators=100, random_state=seed)


def _sgd(seed: int) -> Any:
    from sklearn.linear_model import SGDClassifier

    return SGDClassifier(random_state=seed)


def _bayes(seed: int) -> Any:  # noqa: ARG001 (nothing in it is random)
    from sklearn.naive_bayes import BernoulliNB

    return BernoulliNB()


def _network(seed: int) -> Any:
    from sklearn.neural_network import MLPClassifier

    return MLPClassifier(hidden_layer_sizes=(100, 100), activation="relu", max_iter=200, random_state=seed)


def _boosting(seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(random_state=seed)


_MAKERS: dict[str, Callable[[int], Any]] = {
    "lr": _logistic,
    "svm": _svm,
    "rf": _forest,
    "sgd": _sgd,
    "nb": _bayes,
    "mlp": _network,
    "hgb": _boosting,
}

_ON_CODES = ("hgb",)  # take categories as they are
_MOST_CODES = 255  # that gradient boosting takes
_DENSE_IF_NARROW = ("rf",)  # the same trees, sooner by a factor of three
_NARROW = 300  # columns


def _require_sklearn() -> None:
    try:
        import sklearn  # noqa: F401
    except ImportError as error:
        raise MissingDependency(
            "the exhaustive baseline needs scikit-learn: pip install 'aegis-opt[bench]'"
        ) from error


def _check(classifiers: Sequence[str], test_size: float, max_categories: int | None, n_jobs: int) -> None:
    if isinstance(classifiers, str) or not classifiers:
        raise InvalidInput(f"classifiers must be a list of at least one name, not {classifiers!r}")
    for name in classifiers:
        if name not in CLASSIFIERS:
            raise UnknownName("classifier", name, CLASSIFIERS)
    if not 0 < test_size < 1:
        raise InvalidOption(f"test_size must be a share between 0 and 1, not {test_size!r}")
    if max_categories is not None and max_categories < 2:
        raise InvalidOption(f"max_categories must be 2 or more, or None, not {max_categories!r}")
    number_of_processes(n_jobs)

"""Scores against the records: ridge regression on rows, and how often intervals hold what they should."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import aegis_opt as ao
from aegis_opt.scores import MaskedRecords, Score, ScoreValues
from aegis_opt.scores._intervals import half_widths
from aegis_opt.scores._least_squares import CAP, PENALTY, r2_cv, r2_gcv
from aegis_opt.scores._r2 import FOLDS
from aegis_opt.sources._pairs import CodedRecords
from benchmarks.inputs import Input, folders, load

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


class _Caught(Score):
    """No score: it keeps the masked records that a score is given."""

    name, title = "caught", "nothing"
    masked: MaskedRecords

    def of(self, masked: MaskedRecords) -> ScoreValues:
        self.masked = masked
        return ScoreValues(np.zeros(len(masked.configurations)))


def masked_records(data: Input) -> tuple[MaskedRecords, CodedRecords]:
    """Return the records of a data set under its masks as scores see them."""
    caught = _Caught()
    ao.summarize(data.frame, data.label, data.configurations, share="scores", scores=[caught])
    records = caught.masked.records
    assert isinstance(records, CodedRecords)
    return caught.masked, records


# ---------------------------------------------------------------------------------------------------------
# ridge regression on rows


def one_hot_rows(columns: Sequence[IntArray], cap: int = CAP) -> FloatArray:
    """One column of zeros and ones for each masked value; the rarest of an attribute share one."""
    blocks = []
    for column in columns:
        counts = np.bincount(column)
        common = np.lexsort((np.arange(len(counts)), -counts))[
            : len(counts) if len(counts) <= cap else cap - 1
        ]
        blocks.append((column[:, None] == np.sort(common)).astype(float))
        if len(common) < len(counts):
            blocks.append(1 - blocks[-1].sum(axis=1, keepdims=True))
    return np.hstack(blocks)


def gcv_on_rows(X: FloatArray, Y: FloatArray) -> float:
    """Generalised cross-validation of scikit-learn's ridge, its degrees of freedom by eigenvalues."""
    from sklearn.linear_model import Ridge

    n = len(X)
    rss = np.sum((Y - Ridge(PENALTY).fit(X, Y).predict(X)) ** 2)
    centred = X - X.mean(axis=0)
    eigenvalues = np.linalg.eigvalsh(centred.T @ centred).clip(0)
    df = 1 + np.sum(eigenvalues / (eigenvalues + PENALTY))
    tss = np.sum((Y - Y.mean(axis=0)) ** 2)
    return float(1 - (rss / (1 - df / n) ** 2) / (tss / (1 - 1 / n) ** 2))


def cv_on_rows(X: FloatArray, Y: FloatArray, fold: IntArray) -> tuple[float, FloatArray]:
    """Cross-validation of scikit-learn's ridge regression: the score, and that of each fold."""
    from sklearn.linear_model import Ridge

    rss, tss = np.zeros((2, fold.max() + 1))
    for f in range(len(rss)):
        held = fold == f
        fit = Ridge(PENALTY).fit(X[~held], Y[~held])
        rss[f] = np.sum((Y[held] - fit.predict(X[held])) ** 2)
        tss[f] = np.sum((Y[held] - Y[~held].mean(axis=0)) ** 2)
    return float(1 - rss.sum() / tss.sum()), 1 - rss / tss


def compare_with_rows(data: Input, n_configurations: int = 3) -> Iterator[dict[str, object]]:
    """Compare the scores of some configurations with regressions on the rows; the greatest differences."""
    masked, records = masked_records(data)
    Y = np.eye(records.n_labels)[records.label]
    names = list(masked.configurations)
    fold = records.folds(FOLDS, 0)
    for place in np.linspace(0, len(names) - 1, min(n_configurations, len(names))).astype(int):
        name = names[place]
        X = one_hot_rows(masked.masked(name, records))
        by_counts = r2_gcv(masked.design(name, masked.pairs()))
        cv, by_fold = r2_cv(masked.design(name, masked.pairs(FOLDS)))
        cv_rows, by_fold_rows = cv_on_rows(X, Y, fold)
        yield {
            "configuration": name,
            "columns": X.shape[1],
            "r2_gcv": by_counts,
            "gcv off": abs(by_counts - gcv_on_rows(X, Y)),
            "r2_cv": cv,
            "cv off": abs(cv - cv_rows),
            "folds off": float(np.abs(by_fold - by_fold_rows).max()),
        }


def ridge(arguments: argparse.Namespace) -> None:
    """Print how far scores from counts are from scikit-learn's ridge regression on the rows."""
    print(
        "Scores from counts of pairs against scikit-learn's Ridge on the rows (wanted: off by 1e-9 at most)"
    )
    print(
        f"{'':13}{'configuration':<15}{'columns':>8}"
        f"{'r2_gcv':>9}{'off':>9}{'r2_cv':>9}{'off':>9}{'folds off':>11}"
    )
    for folder in folders(arguments.data):
        data = load(folder)
        for row in compare_with_rows(data):
            print(
                f"{data.name:13}{row['configuration']:<15}{row['columns']:8}{row['r2_gcv']:9.5f}"
                f"{row['gcv off']:9.0e}{row['r2_cv']:9.5f}{row['cv off']:9.0e}{row['folds off']:11.0e}",
                flush=True,
            )


# ---------------------------------------------------------------------------------------------------------
# coverage


@dataclass(frozen=True)
class Coverage:
    """Share of the intervals of one half that hold a value, over pairs of configurations and halvings.

    Attributes
    ----------
    expected : float
        The difference that is expected of a half. The value on the other half is as uncertain as that on this
        one and independent of it, so it lies within sqrt(2) half widths as often as the expected one lies
        within one, if the errors are normal. This is what an interval promises.
    other_half : float
        The value on the other half itself, which scatters as much as the estimate: asks for more.
    all_records : float
        The value on all records, of which the half is a part: asks for less.
    """

    expected: float
    other_half: float
    all_records: float


def fold_values(masked: MaskedRecords, records: CodedRecords, n_folds: int) -> FloatArray:
    """The cross-validated score of every configuration in each fold of some of the records."""
    part = dataclasses.replace(masked, records=records)
    pairs = part.pairs(n_folds)
    return np.array([r2_cv(part.design(name, pairs))[1] for name in part.configurations])


def random_halves(records: CodedRecords, rng: np.random.Generator) -> tuple[CodedRecords, CodedRecords]:
    """Divide the records into two halves at random, each in random order."""
    order = rng.permutation(len(records))
    middle = len(records) // 2
    first, second = (
        dataclasses.replace(
            records, attributes=[places[part] for places in records.attributes], label=records.label[part]
        )
        for part in (order[:middle], order[middle:])
    )
    return first, second


def covered(
    one: FloatArray, other: FloatArray, everything: FloatArray, pairs: tuple[IntArray, IntArray]
) -> Coverage:
    """Coverage by the intervals of one half, given the fold values of each half and of all records.

    `pairs` are the places of the configurations that are compared.
    """
    a, b = pairs
    width = half_widths(one[a] - one[b])
    estimate, elsewhere, whole = ((folds[a] - folds[b]).mean(axis=1) for folds in (one, other, everything))
    off = np.abs(estimate - elsewhere)
    return Coverage(
        expected=float(np.mean(off <= np.sqrt(2) * width)),
        other_half=float(np.mean(off <= width)),
        all_records=float(np.mean(np.abs(estimate - whole) <= width)),
    )


def coverage_of(data: Input, n_folds: int, halvings: int, seed: int = 0) -> dict[str, list[Coverage]]:
    """Coverage on each half of random halvings: of all pairs of configurations, and of those with the winner.

    Pairs whose folds do not differ at all on a half are left out, as they have no interval.
    """
    masked, records = masked_records(data)
    rng = np.random.default_rng(seed)
    everything = fold_values(masked, records, n_folds)
    found: dict[str, list[Coverage]] = {"all pairs": [], "pairs with the winner of the half": []}
    for _ in range(halvings):
        halves = [fold_values(masked, half, n_folds) for half in random_halves(records, rng)]
        for one, other in (halves, halves[::-1]):
            winner = int(one.mean(axis=1).argmax())
            a, b = np.triu_indices(len(one), 1)
            differ = (one[a] != one[b]).any(axis=1)
            a, b = a[differ], b[differ]
            found["all pairs"].append(covered(one, other, everything, (a, b)))
            with_winner = (a == winner) | (b == winner)
            found["pairs with the winner of the half"].append(
                covered(one, other, everything, (a[with_winner], b[with_winner]))
            )
    return found


def coverage(arguments: argparse.Namespace) -> None:
    """Print how often the 95% interval of paired fold differences of r2_cv holds what it should."""
    print(f"Coverage of the 95% interval of differences of r2_cv, {arguments.halvings} random halvings")
    print(f"{'':13}{'folds':>6}  {'':35}{'expected':>10}{'(error)':>9}{'other half':>12}{'all records':>13}")
    for folder in folders(arguments.data):
        data = load(folder)
        for n_folds in (5, FOLDS):
            for which, found in coverage_of(data, n_folds, arguments.halvings).items():
                table = np.array([dataclasses.astuple(each) for each in found])
                expected, other, everything = table.mean(axis=0)
                # the two halves of a halving are not independent of each other
                by_halving = table[:, 0].reshape(-1, 2).mean(axis=1)
                error = by_halving.std(ddof=1) / np.sqrt(len(by_halving)) if len(by_halving) > 1 else np.nan
                print(
                    f"{data.name:13}{n_folds:6}  {which:35}"
                    f"{expected:10.3f}{error:9.3f}{other:12.3f}{everything:13.3f}",
                    flush=True,
                )
    print(
        "expected: the difference to be expected of a half, judged by the other half, which is as uncertain:"
    )
    print("within sqrt(2) half widths (wanted: 0.93 to 1). other half: within one half width of its value.")
    print("all records: of the value on all records, of which the half is a part.")

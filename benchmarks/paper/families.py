"""Synthetic tables whose truth is known: ordered and nominal attributes, few and many records per value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from aegis_opt.advisor._estimate import Scope
from aegis_opt.advisor._solved import problems_of
from aegis_opt.harness import Case
from aegis_opt.harness._truth import ScannedCase
from aegis_opt.masks import Configurations, Generalize
from aegis_opt.measures import tvd
from aegis_opt.problem import Problem
from aegis_opt.solvers.registry import reconstruct

KINDS = ("ordered", "nominal")
MANY = 50
"""Records per value, on average, that are called many."""

SCOPES: tuple[Scope, ...] = ("single", "pooled")
TRUTH_KNOWN, ANOTHER_SAMPLE = "truth known", "another sample"


class Facts(NamedTuple):
    """What a family is like: kind of its attributes, their values and Zipf's exponent, labels, records."""

    kind: str
    values: int
    skew: int
    labels: int
    records: int

    def __str__(self) -> str:
        return " ".join([self.kind, *(f"{name}={value}" for name, value in list(self._asdict().items())[1:])])


_BASE = {"values": 24, "skew": 1, "labels": 3, "records": 2_000}
_VARIED = {"values": (8, 24, 72), "skew": (0, 1, 2), "labels": (2, 3, 6), "records": (500, 2_000, 10_000)}
_SMALL_BASE = {"values": 6, "skew": 1, "labels": 2, "records": 250}
_SMALL_VARIED = {"records": (250, 500)}
_WAVES = 3
_DEPTH = 1.5  # log weights then vary about as much as those of a gamma variable


@dataclass(frozen=True, eq=False)
class Family:
    """A table and what it was drawn from."""

    facts: Facts
    case: Case
    truth: dict[str, npt.NDArray[np.float64]]  # P(a, y) of every attribute

    @property
    def name(self) -> str:
        """What the results call it."""
        return self.case.name


def per_value(records: float, values: float) -> str:
    """Tell whether there are few or many records per value."""
    return "many" if records / values >= MANY else "few"


def list_families(small: bool = False, *, base: bool = False) -> list[Facts]:
    """List the families: for each kind the base case, and each with one thing changed unless `base`."""
    usual, varied = (_SMALL_BASE, _SMALL_VARIED) if small else (_BASE, _VARIED)
    found = [usual, *({**usual, name: value} for name, values in varied.items() for value in values)]
    families = [Facts(kind, **one) for kind in KINDS for one in found[: 1 if base else None]]
    return list(dict.fromkeys(families))


def make_family(facts: Facts, *, seed: int = 0, small: bool = False) -> Family:
    r"""Make a table with known truth: attributes that are drawn independently, given the label.

    .. math:: P(y) = \frac1k, \qquad P(a \mid y) \propto \frac{w_{ay}}{\mathrm{rank}(a)^{skew}}

    with ranks in random order. The weights of a nominal attribute are independent, :math:`w_{ay} \sim
    \Gamma(1)`. Those of an ordered one are smooth: with x(a) from 0 to 1 in equal steps and g standard
    normal,

    .. math:: \log w_{ay} = \frac32 \sum_{j=1}^{3} \frac{g_{jy}}{j} \cos(\pi j x(a)),

    so that the label shares P(y | a) are logistic functions of smooth curves. Configurations cut each
    attribute's range at random places.

    Parameters
    ----------
    facts : Facts
        What it is like.
    seed : int
        Of the table and the configurations.
    small : bool
        Fewer attributes and configurations.

    Examples
    --------
    >>> make_family(Facts("ordered", 6, 0, 2, 100), small=True).name
    'ordered values=6 skew=0 labels=2 records=100'
    """
    kind, values, skew, labels, records = facts
    attributes, wanted = (1, 3) if small else (2, 6)
    rng = np.random.default_rng([seed, KINDS.index(kind), values, skew, labels, records])
    label = rng.integers(labels, size=records)
    columns, truth = {}, {}
    for name in (f"x{i}" for i in range(attributes)):
        rank = rng.permutation(np.arange(1.0, values + 1))
        chance = _weights(kind, values, labels, rng) / rank[:, None] ** skew
        chance /= chance.sum(axis=0)
        columns[name] = np.empty(records, dtype=np.int64)
        for y in range(labels):
            of_label = label == y
            columns[name][of_label] = rng.choice(values, size=int(of_label.sum()), p=chance[:, y])
        truth[name] = chance / labels
    masks = {
        f"config{i:02d}": {name: _random_ranges(values, rng) for name in columns}
        for i in range(1, wanted + 1)
    }
    order = dict.fromkeys(columns, "nominal") if kind == "nominal" else None
    frame = pd.DataFrame(columns).assign(label=label)
    case = Case(str(facts), frame, "label", Configurations(masks, label="label", order=order))
    return Family(facts, case, truth)


def _weights(kind: str, n: int, k: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    if kind == "nominal":
        return rng.gamma(1.0, size=(n, k))
    j = np.arange(1, _WAVES + 1)
    waves = np.cos(np.pi * np.linspace(0, 1, n)[:, None] * j) / j
    return np.exp(_DEPTH * waves @ rng.normal(size=(_WAVES, k)))


def _random_ranges(n: int, rng: np.random.Generator) -> Generalize:
    """Cut 0..n-1 into two to a third of n ranges."""
    groups = int(rng.integers(2, max(n // 3, 2) + 1))
    cuts = np.sort(rng.choice(np.arange(1, n), size=groups - 1, replace=False))
    parts = np.split(np.arange(n), cuts)
    return Generalize({f"{part[0]}-{part[-1]}": part.tolist() for part in parts})


def limits(family: Family, data: ScannedCase, *, pairs: int, seed: int = 0) -> pd.DataFrame:
    """Compute how close to the raw tables of N records one can hope to come, from P(a, y).

    * "truth known": TVD of the raw table to the one that is closest to N P(a, y), by Kullback-Leibler
      divergence, among those that meet the totals that the methods know.
    * "another sample": mean TVD of two tables of N records, drawn from P(a, y) independently; the same
      whatever is known.

    Parameters
    ----------
    family, data
        The family, and its table after the scan.
    pairs : int
        Of tables drawn for each attribute.
    seed : int
        Of the pairs.

    Returns
    -------
    DataFrame
        family, limit, scope, tvd: mean over attributes and configurations.
    """
    rng = np.random.default_rng(seed)
    n_records = data.summary.n_records
    found: dict[tuple[str, str], list[float]] = {}
    for name, truth in family.truth.items():
        shared = data.summary.attributes[name]
        assert shared.values is not None  # histograms are shared
        prior = n_records * truth[list(shared.values)]  # of the values that occur
        drawn = rng.multinomial(n_records, truth.ravel(), size=(pairs, 2))
        apart = np.abs(drawn[:, 0] - drawn[:, 1]).sum(axis=1) / (2 * n_records)
        for scope in SCOPES:
            distances = [
                float(tvd(data.raw[name], reconstruct(_with_prior(problem, prior), "ipf").table))
                for problem in problems_of(data.summary, name, scope, histograms=True)
            ]
            if scope == "single":  # configurations may share a table
                distances = [distances[tables[name]] for tables in data.summary.configurations.values()]
            found.setdefault((TRUTH_KNOWN, scope), []).extend(distances)
            found.setdefault((ANOTHER_SAMPLE, scope), []).extend(apart.tolist())
    rows = [(family.name, *key, float(np.mean(distances))) for key, distances in found.items()]
    return pd.DataFrame(rows, columns=["family", "limit", "scope", "tvd"])


def _with_prior(problem: Problem, prior: npt.NDArray[np.float64]) -> Problem:
    return Problem(problem.views, problem.histogram, prior)

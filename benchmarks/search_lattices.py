"""Random tables with candidates, and the cheapest configuration by trying every one."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

import aegis_opt as ao
from aegis_opt.privacy import PrivacyRule

_TIE = 1e-10


@dataclass(frozen=True)
class LatticeCase:
    """A table, the candidates of its attributes, and what is asked."""

    frame: pd.DataFrame
    candidates: dict[str, list[ao.Generalize]]
    rules: tuple[PrivacyRule, ...]
    suppression: float
    measure: str
    nested: bool


def random_case(seed: int) -> LatticeCase:
    """Make a case from a seed: nested or not, with and without suppression, one rule or two."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(20, 120)), int(rng.integers(2, 5))
    nested = bool(rng.random() < 0.5)
    columns, candidates = {}, {}
    for i in range(m):
        size = int(rng.integers(2, 7))
        columns[f"a{i}"] = rng.integers(0, size, n)
        candidates[f"a{i}"] = _candidates(rng, size, nested)
    columns["y"] = rng.integers(0, int(rng.integers(2, 4)), n)
    columns["y"][:2] = 0, 1
    k = ao.privacy.KAnonymity(int(rng.integers(2, 8)))
    diverse = ao.privacy.LDiversity(2)
    entropy = ao.privacy.LDiversity(1.5, kind="entropy")
    close = ao.privacy.TCloseness(float(rng.uniform(0.1, 0.5)))
    rules: Sequence[tuple[PrivacyRule, ...]] = [(k,), (k,), (k, diverse), (entropy,), (k, close), (diverse,)]
    return LatticeCase(
        frame=pd.DataFrame(columns),
        candidates=candidates,
        rules=rules[int(rng.integers(len(rules)))],
        suppression=float(rng.choice([0.0, 0.05, 0.2])),
        measure=str(rng.choice(["mi", "mi", "mi_loo", "g3", "chi2"])),
        nested=nested,
    )


def _candidates(rng: np.random.Generator, size: int, nested: bool) -> list[ao.Generalize]:
    """Return mappings of 0..size-1: a chain that ends in one value, or groupings that need not be nested."""
    groups = np.arange(size)
    levels = [groups]
    while nested and groups.max() > 0:
        groups = rng.integers(0, max(int(groups.max()), 1), int(groups.max()) + 1)[groups]
        groups = np.unique(groups, return_inverse=True)[1]
        levels.append(groups)
    if not nested:
        levels = [rng.integers(0, int(rng.integers(1, size + 1)), size) for _ in range(rng.integers(2, 5))]
        if rng.random() < 0.6:
            levels.append(np.zeros(size, dtype=np.int64))
    found = []
    for own in levels:
        members = defaultdict(list)
        for value, group in enumerate(own.tolist()):
            members[f"g{group}"].append(value)
        found.append(ao.Generalize(dict(members)))
    return found


def satisfies(case: LatticeCase, choice: Sequence[int]) -> bool:
    """Whether a configuration satisfies the rules, by counting classes one record at a time."""
    masked = []
    for (name, own), candidate in zip(case.candidates.items(), choice, strict=True):
        of = {v: label for label, values in own[candidate].mapping for v in values}  # type: ignore[union-attr]
        masked.append([of[value] for value in case.frame[name].tolist()])
    labels = case.frame["y"].tolist()
    values = sorted(set(labels))
    classes: dict[Any, Counter[int]] = defaultdict(Counter)
    for key, label in zip(zip(*masked, strict=True), labels, strict=True):
        classes[key][label] += 1
    table = np.array([[own[value] for value in values] for own in classes.values()])
    bad = np.zeros(len(table), dtype=bool)
    for rule in case.rules:
        bad |= rule.violations(table, whole=table.sum(axis=0))
    return bool(table[bad].sum() <= math.floor(case.suppression * len(labels) + 1e-9))


def losses(case: LatticeCase) -> list[list[float]]:
    """Return what each candidate of each attribute loses, from cross tables."""
    measure = ao.get_measure(case.measure)
    sign = 1 if measure.higher_is_better else -1
    found = []
    for name, own in case.candidates.items():
        raw = pd.crosstab(case.frame[name], case.frame["y"]).to_numpy()
        mine = []
        for mask in own:
            of = {value: label for label, values in mask.mapping for value in values}  # type: ignore[union-attr]
            table = pd.crosstab(case.frame[name].map(of), case.frame["y"]).to_numpy()
            mine.append(sign * (float(measure(raw)) - float(measure(table))))
        found.append(mine)
    return found


def brute_force(case: LatticeCase) -> list[tuple[float, tuple[int, ...]]]:
    """Return the cost of every configuration that satisfies the rules, ascending."""
    costs = losses(case)
    return sorted(
        (float(np.mean([own[c] for own, c in zip(costs, choice, strict=True)])), choice)
        for choice in itertools.product(*(range(len(own)) for own in case.candidates.values()))
        if satisfies(case, choice)
    )


def disagreement(seed: int) -> str | None:
    """Compare a search with brute force; return what differs, None where nothing does."""
    case = random_case(seed)
    expected = brute_force(case)
    options: dict[str, Any] = {
        "require": case.rules,
        "suppression": case.suppression,
        "measure": case.measure,
        "seed": seed,
    }
    try:
        found = ao.search(case.frame, "y", case.candidates, **options)
    except ao.errors.InfeasibleSearch:
        return f"seed {seed}: says that nothing satisfies the rules" if expected else None
    if not expected:
        return f"seed {seed}: found {found.choice} where nothing satisfies the rules"
    assert found.choice is not None
    choice = tuple(found.choice[name] for name in case.candidates)
    if not found.proved or abs(found.cost - expected[0][0]) > _TIE or not satisfies(case, choice):
        return f"seed {seed}: found {found.cost} by {choice}, the least is {expected[0]}"
    others = found.alternatives(3)
    for (cost, _), other in zip(expected[1:], others, strict=False):
        if abs(other.cost - cost) > _TIE or not other.proved:
            return f"seed {seed}: an alternative costs {other.cost}, the next one {cost}"
    if len(others) != min(3, len(expected) - 1):
        return f"seed {seed}: {len(others)} alternatives of {len(expected) - 1}"
    return None

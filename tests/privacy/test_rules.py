"""Privacy rules: the formulas written plainly, what merging classes does, and another library."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import aegis_opt as ao
from aegis_opt.privacy import BetaLikeness, DeltaDisclosure, KAnonymity, LDiversity, PrivacyRule, TCloseness
from aegis_opt.privacy._base import allowed_records, as_rules

RULES: list[PrivacyRule] = [
    KAnonymity(3),
    LDiversity(2),
    LDiversity(1.7, kind="entropy"),
    LDiversity(2, kind="recursive", c=1.5),
    TCloseness(0.3),
    TCloseness(0.25, ordered=True),
    DeltaDisclosure(1.0),
    DeltaDisclosure(1.0, values="present"),
    BetaLikeness(0.8),
    BetaLikeness(0.8, enhanced=True),
]


def plain_level(rule: PrivacyRule, counts: list[int], whole: list[int]) -> float:
    """Return the level of one class, as the papers define it."""
    n, total = sum(counts), sum(whole)
    p, q = [w / total for w in whole], [c / n for c in counts]
    if isinstance(rule, KAnonymity):
        return n
    if isinstance(rule, LDiversity):
        if rule.kind == "distinct":
            return sum(c > 0 for c in counts)
        if rule.kind == "entropy":
            return math.exp(-sum(share * math.log(share) for share in q if share))
        r = sorted(counts, reverse=True)
        return max([0, *(level for level in range(1, len(r) + 1) if r[0] < rule.c * sum(r[level - 1 :]))])
    if isinstance(rule, TCloseness):
        if not rule.ordered:
            return sum(max(a - b, 0) for a, b in zip(q, p, strict=True))
        carried = [abs(sum(q[: i + 1]) - sum(p[: i + 1])) for i in range(len(p))]
        return sum(carried) / (len(p) - 1) if len(p) > 1 else 0.0
    if isinstance(rule, DeltaDisclosure):
        if rule.values == "all" and 0 in counts:
            return math.inf
        return max(abs(math.log(a / b)) for a, b in zip(q, p, strict=True) if a)
    assert isinstance(rule, BetaLikeness)
    gains = [(a - b) / b for a, b in zip(q, p, strict=True)]
    if rule.enhanced and any(gain > -math.log(b) + 1e-9 for gain, b in zip(gains, p, strict=True)):
        return math.inf
    return max(0.0, *gains)


@st.composite
def class_tables(draw: Any) -> np.ndarray:
    n_values = draw(st.integers(1, 4))
    row = st.lists(st.integers(0, 6), min_size=n_values, max_size=n_values).filter(any)
    classes = np.array(draw(st.lists(row, min_size=1, max_size=6)))
    return classes[:, classes.any(axis=0)]


@pytest.mark.parametrize("rule", RULES, ids=str)
@given(classes=class_tables())
@settings(max_examples=40)
def test_levels_are_those_of_the_formulas(rule: PrivacyRule, classes: np.ndarray) -> None:
    whole = classes.sum(axis=0).tolist()
    expected = [plain_level(rule, counts, whole) for counts in classes.tolist()]
    np.testing.assert_allclose(rule.levels(classes), expected, atol=1e-12)
    worst = min(expected) if rule.higher_is_better else max(expected)
    assert rule.figure(classes) == pytest.approx(worst, abs=1e-12)
    assert (
        rule.holds(classes) == rule.satisfied_by(rule.figure(classes)) == (not rule.violations(classes).any())
    )


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_the_monotone_rules_are_those_that_merging_never_breaks(rule: PrivacyRule) -> None:
    """20,000 random merges: none breaks what is called monotone, and some break what is not."""
    random = np.random.default_rng(0)
    broken = broken_with_suppression = 0
    for _ in range(200):
        classes = random.integers(0, random.integers(2, 12), (20, random.integers(1, 5)))
        classes = classes[classes.any(axis=1)]
        first, second = random.integers(0, len(classes), (2, 100))
        first, second = first[first != second], second[first != second]
        levels = rule.levels(classes)
        after = rule.levels(classes[first] + classes[second], whole=classes.sum(axis=0))
        asked = np.quantile(levels, random.random(), method="nearest")
        sign = 1 if rule.higher_is_better else -1
        bad, bad_after = sign * levels < sign * asked - 1e-9, sign * after < sign * asked - 1e-9
        broken += int(np.count_nonzero(bad_after & ~bad[first] & ~bad[second]))
        broken_with_suppression += int(np.count_nonzero(bad_after & ~(bad[first] & bad[second])))
    assert (broken == 0) == rule.monotone
    assert (broken_with_suppression == 0) == rule.monotone_with_suppression


def test_the_figures_agree_with_another_library() -> None:
    anonymity = pytest.importorskip("pycanon.anonymity")
    random = np.random.default_rng(1)
    for _ in range(5):
        frame = pd.DataFrame(
            {
                "a": random.integers(0, 3, 60).astype(str),
                "b": random.integers(0, 2, 60).astype(str),
                "s": random.integers(0, 4, 60),
            }
        )
        classes = frame.pivot_table(index=["a", "b"], columns="s", aggfunc="size", fill_value=0).to_numpy()
        named = {"data": frame, "quasi_ident": ["a", "b"]}
        sensitive: dict[str, Any] = {**named, "sens_att": ["s"]}
        as_text = {**sensitive, "data": frame.astype({"s": str})}
        assert KAnonymity(2).figure(classes) == anonymity.k_anonymity(**named)
        assert LDiversity(2).figure(classes) == anonymity.l_diversity(**sensitive)
        entropy = LDiversity(2, kind="entropy").figure(classes)
        assert int(entropy) == anonymity.entropy_l_diversity(**sensitive)
        ordered = TCloseness(0.5, ordered=True).figure(classes)
        assert ordered == pytest.approx(anonymity.t_closeness(**sensitive))
        assert TCloseness(0.5).figure(classes) == pytest.approx(anonymity.t_closeness(**as_text))
        present = DeltaDisclosure(1, values="present").figure(classes)
        assert present == pytest.approx(anonymity.delta_disclosure(**sensitive))
        if classes.all():
            assert DeltaDisclosure(1).figure(classes) == pytest.approx(present)
        assert BetaLikeness(1).figure(classes) == pytest.approx(anonymity.basic_beta_likeness(**sensitive))


def test_order_is_that_of_the_columns_named() -> None:
    rule = TCloseness(0.5, ordered=True)
    classes = np.array([[2, 0, 1], [0, 3, 2]])
    assert rule.figure(classes[:, [2, 0, 1]], order=[1, 2, 0]) == pytest.approx(rule.figure(classes))
    assert rule.figure(classes, order=[2, 0, 1]) != pytest.approx(rule.figure(classes))


def test_values_that_occur_nowhere_and_empty_classes_change_nothing() -> None:
    classes = np.array([[3, 1, 2], [1, 4, 2]])
    padded = np.zeros((3, 4), dtype=int)
    padded[:2, [0, 1, 3]] = classes
    for rule in RULES:
        assert rule.figure(padded) == pytest.approx(rule.figure(classes)), rule
        assert rule.levels(padded)[2] == (math.inf if rule.higher_is_better else 0.0)


def test_suppression_counts_records_and_not_classes() -> None:
    rule = KAnonymity(5)
    assert not rule.holds([90, 4, 4, 2], suppression=0.09)
    assert rule.holds([90, 4, 4, 2], suppression=0.1)
    assert (
        allowed_records(0.07, 100) == 7
    )  # 0.07 * 100 is 7.000000000000001, 0.29 * 100 is 28.999999999999996
    assert allowed_records(0.29, 100) == 29


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: KAnonymity(0), "k must be a whole number from 1 up, not 0"),
        (lambda: KAnonymity(10**400), "k must be a whole number from 1 to 9007199254740992"),
        (lambda: KAnonymity(2.5), "k must be a whole number"),  # type: ignore[arg-type]
        (lambda: LDiversity(2.5), "l must be a whole number"),
        (lambda: LDiversity(2, kind="entropic"), "kind must be 'distinct', 'entropy' or 'recursive'"),
        (lambda: LDiversity(2, c=3), "c belongs to kind='recursive'"),
        (lambda: LDiversity(2, kind="recursive", c=0), "c must be a positive number"),
        (lambda: TCloseness(1.5), "t must be a number from 0 to 1"),
        (lambda: TCloseness(0.5, ordered=1), "ordered must be True or False"),  # type: ignore[arg-type]
        (lambda: DeltaDisclosure(0), "delta must be a positive number"),
        (lambda: DeltaDisclosure(1, values="some"), "values must be 'all' or 'present'"),
        (lambda: BetaLikeness(float("nan")), "beta must be a positive number"),
        (lambda: BetaLikeness(1, enhanced="no"), "enhanced must be True or False"),  # type: ignore[arg-type]
        (lambda: as_rules([]), "no rule is given"),
        (lambda: as_rules("k=5"), "each rule must be a rule such as"),  # type: ignore[arg-type]
        (lambda: as_rules(5), "rules must be rules such as"),  # type: ignore[arg-type]
        (lambda: as_rules([KAnonymity(2), KAnonymity(5)]), "two rules of the kind k-anonymity"),
        (lambda: LDiversity(2).figure([3, 4]), "l-diversity needs a table of counts"),
        (lambda: KAnonymity(2).figure([[[1]]]), "k-anonymity needs counts per class"),
        (lambda: TCloseness(0.1).figure([[1, 2]], whole=[3]), "whole must hold one count for each of the 2"),
        (
            lambda: TCloseness(0.1, ordered=True).figure([[1, 2]], order=[0, 0]),
            "order must hold each of the 2 columns once",
        ),
        (lambda: KAnonymity(2).holds([1], suppression=1.5), "suppression must be a number from 0 to 1"),
    ],
)
def test_what_makes_no_sense_is_refused(make: Any, text: str) -> None:
    with pytest.raises(ao.AegisError, match=text):
        make()

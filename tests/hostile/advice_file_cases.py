"""Files of an advice that somebody changed: only an `AegisError` may come of them."""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import math
import random
from typing import Any

import numpy as np
from families import family
from mutations import change_leaves, change_structure, written
from people_files import PEOPLE, SPECS, folder, only_library_errors

import aegis_opt as ao
from aegis_opt.report._record_chosen import sql_of, words_of, yaml_of
from aegis_opt.report._record_made import assumptions_of, facts_about


@functools.cache
def base_documents() -> list[str]:
    """Return whole files of an advice: of tables, with draws, and of scores with what masks cost."""
    texts = []
    with folder() as place:
        (place / "c.json").write_text(json.dumps(SPECS))
        rules = [ao.privacy.KAnonymity(1)]
        tables = ao.summarize(PEOPLE, "health", place / "c.json", histograms=True, rules=rules)
        scores = ao.summarize(PEOPLE, "health", place / "c.json", share="scores", explain=True)
        for advice in (
            ao.advise(tables),
            ao.advise(tables, "mi", rounding="drawn", replicates=2, require=ao.privacy.KAnonymity(1)),
            ao.advise(scores),
        ):
            advice.save(place / "a.json")
            texts.append((place / "a.json").read_text(encoding="utf-8"))
    return texts


def information(joint: Any) -> float:
    """Mutual information of a table, by its definition."""
    N = joint.sum()
    rows, columns = joint.sum(axis=1), joint.sum(axis=0)
    return sum(
        float(n) / N * math.log2(float(n) * N / (float(rows[i]) * float(columns[j])))
        for (i, j), n in np.ndenumerate(joint)
        if n
    )


def assert_it_does_not_contradict_itself(advice: ao.Advice) -> None:
    """The winner is first, ranks follow the numbers, intervals hold them, and a proof is one."""
    rows = advice.ranking.to_dict("records")
    rank = {row["configuration"]: row["rank"] for row in rows}
    first = {name for name in rank if rank[name] == 1}
    if advice.best is None:
        assert (advice.tied, advice.equivalent, advice.certified) == ((), (), False)
    else:
        assert advice.best in first == set(advice.tied)
        assert not advice.equivalent or advice.best in advice.equivalent
    sign = -1 if "score" in advice.ranking and advice.criterion.higher_is_better else 1
    keys = {}
    for row in rows:
        value = sign * row["score" if "score" in row else "pud"]
        keys[row["configuration"]] = (-row.get("stage", 0), math.inf if math.isnan(value) else value)
        assert row["rank"] == 1 + sum(other["rank"] < row["rank"] for other in rows)
        for low, high in [("pud_low", "pud_high"), ("difference_low", "difference_high")]:
            if low in row:
                assert not row[low] > row[high] * (1 + 1e-6) + 1e-6
        if advice.scope == "pooled":
            assert not row["pud_low"] > row["pud"] * (1 + 1e-6) + 1e-6
            assert not row["pud"] > row["pud_high"] * (1 + 1e-6) + 1e-6
    for one, other in itertools.permutations(rank, 2):
        assert rank[one] >= rank[other] or keys[one] <= keys[other]
    if advice.certified:
        assert advice.scope != "single"
    if advice.certified and advice.measure == "mi" and isinstance(advice.summary, ao.Summary):
        told = {
            name: sum(information(advice.summary.attributes[a].tables[t].joint) for a, t in tables.items())
            for name, tables in advice.summary.configurations.items()
        }
        for one, other in itertools.permutations(rank, 2):
            assert rank[one] >= rank[other] or told[one] >= told[other] - 1e-6


@family(seconds=0.06, prepare=base_documents)
def mutated_advice(seed: int) -> None:
    """A file of an advice that was changed is refused by the library, or can be shown and saved again."""
    rng = random.Random(seed)
    data = written(rng, rng.choice(base_documents()), [change_leaves, change_leaves, change_structure])
    with folder() as place, only_library_errors():
        (place / "a.json").write_bytes(data)
        advice = ao.Advice.load(place / "a.json")
        assert_it_does_not_contradict_itself(advice)
        for part in [] if advice.by_mi is None else [advice.by_mi]:
            assert_it_does_not_contradict_itself(part)
        assert "\x1b" not in str(advice) + advice._repr_html_() + advice.to_markdown()
        advice.ranking_by_attribute(), advice.to_dict(), repr(advice)
        with contextlib.suppress(ao.AegisError):  # nothing explains it, or there is no winner
            advice.explain(), advice.suggest()
        if advice.summary is not None and advice.best is not None:
            chosen = (advice.summary, advice.best)
            yaml_of(*chosen), sql_of(*chosen), words_of(*chosen)
        assumptions_of(advice)
        advice.save(place / "again.json")
        again = ao.Advice.load(place / "again.json")
        assert again.to_dict() == advice.to_dict()
        facts_about(advice, "advice.html", "today")

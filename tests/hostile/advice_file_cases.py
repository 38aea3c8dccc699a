"""Files of an advice that somebody changed: only an `AegisError` may come of them."""

from __future__ import annotations

import contextlib
import functools
import json
import random

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


@family(seconds=0.06, prepare=base_documents)
def mutated_advice(seed: int) -> None:
    """A file of an advice that was changed is refused by the library, or can be shown and saved again."""
    rng = random.Random(seed)
    data = written(rng, rng.choice(base_documents()), [change_leaves, change_leaves, change_structure])
    with folder() as place, only_library_errors():
        (place / "a.json").write_bytes(data)
        advice = ao.Advice.load(place / "a.json")
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

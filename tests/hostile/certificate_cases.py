"""Certificates that somebody changed: only an `AegisError` may come of them."""

from __future__ import annotations

import contextlib
import copy
import functools
import json
import random
from typing import Any

from families import family
from mutations import change_bytes, change_leaves, change_structure
from people_files import PEOPLE, folder, only_library_errors

import aegis_opt as ao
from aegis_opt.privacy._lattice._certificate import digest_of


@functools.cache
def certificates() -> list[dict[str, Any]]:
    """Return certificates of the table of people, with and without suppression."""
    ages = sorted({int(age) for age in PEOPLE["age"].dropna()})
    hierarchy = ao.Hierarchy([[age, age // 20, "*"] for age in ages])
    found = []
    for offered, limit in (([ao.Identity(), ao.Bucketize(width=20), ao.Suppress()], 0.0), (hierarchy, 0.2)):
        result = ao.search(PEOPLE, "health", {"age": offered}, ao.privacy.KAnonymity(2), limit)
        found.append(result.certificate.document)
    return found


def forge(rng: random.Random, document: dict[str, Any]) -> None:
    """Make costs coarse, or repeat a clause, a candidate of it, or a candidate of the attribute."""
    own, clauses = document["attributes"][0], document["clauses"]
    times = rng.choice((2, 100, 3_000))
    match rng.randrange(4):
        case 0:
            digits = rng.choice((-300, -5, 0, 3, 11))
            own["costs"] = [round(cost * 10.0 ** (digits - 12)) for cost in own["costs"]]
            document.update(digits=digits, winner=[len(own["costs"]) - 1], cost=own["costs"][-1])
            document.update(clauses=[], rejected=[])
        case 1 if clauses:
            document["clauses"] = clauses * times
        case 2 if clauses:
            rng.choice(clauses)["point"][0] *= times
        case _:
            masks = [{"function": "bucketize", "width": 2, "origin": -i} for i in range(times - 1)]
            own["candidates"] = {"masks": [*masks, {"function": "suppress"}]}
            own["costs"] = own["costs"][:1] * (times - 1) + own["costs"][-1:]
            document.update(winner=[times - 1], cost=own["costs"][-1])
            if clauses:
                document["clauses"] = [{**clauses[0], "point": [[i]]} for i in range(times - 1)]


@family(seconds=0.2, prepare=certificates)
def changed_certificates(seed: int) -> None:
    """A changed certificate is verified or refused by an error of the library, with a right digest or not."""
    rng = random.Random(seed)
    document = copy.deepcopy(rng.choice(certificates()))
    if rng.random() < 0.3:
        forge(rng, document)
    else:
        for _ in range(rng.randrange(1, 4)):
            rng.choice((change_leaves, change_structure))(rng, document)
    if not isinstance(document, dict):
        document = {"format": document}
    text = json.dumps(document)
    if rng.random() < 0.8:
        content = {key: value for key, value in json.loads(text).items() if key != "digest"}
        with contextlib.suppress(ValueError):  # NaN has no digest
            text = json.dumps({**content, "digest": digest_of(content)})
    data = text.encode()
    if rng.random() < 0.2:
        data = change_bytes(rng, data)
    with folder() as place:
        (place / "proof.json").write_bytes(data)
        with only_library_errors():
            ao.privacy.verify_certificate(place / "proof.json", PEOPLE)

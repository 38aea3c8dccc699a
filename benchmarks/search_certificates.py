"""Certificates of random lattices, changed at random, and judged by brute force."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import random
from collections import Counter
from typing import Any

import numpy as np

import aegis_opt as ao
from aegis_opt.errors import CertificateError
from aegis_opt.privacy import verify_certificate
from aegis_opt.privacy._lattice._certificate import digest_of
from aegis_opt.privacy._written import rule_from_spec
from benchmarks.search_lattices import LatticeCase, losses, random_case


def certified(seed: int) -> tuple[LatticeCase, dict[str, Any]] | None:
    """Return a random case and the certificate of its search, where something satisfies the rules."""
    case = random_case(seed)
    try:
        found = ao.search(
            case.frame,
            "y",
            case.candidates,
            case.rules,
            case.suppression,
            case.measure,
        )
    except ao.errors.InfeasibleSearch:
        return None
    return case, found.certificate.document


def is_proof(case: LatticeCase, document: dict[str, Any]) -> bool:
    """Decide by trying every configuration whether a document proves what it says; shares no code with it."""
    names = list(case.candidates)
    rules = [rule_from_spec(rule) for rule in document["rules"]]
    lost = losses(dataclasses.replace(case, measure=document["measure"]))
    digits = 12
    while sum(max(map(abs, own)) for own in lost) * 10.0**digits >= 2**52:
        digits -= 1
    if document["digits"] != digits or document["limit"] != int(document["suppression"] * len(case.frame)):
        return False
    if any(len(set(part)) < len(part) for clause in document["clauses"] for part in clause["point"]):
        return False
    points = [[sorted(part) for part in clause["point"]] for clause in document["clauses"]]
    if any(points.count(point) > 1 for point in points):
        return False
    units = [[round(loss * 10.0**digits) for loss in own] for own in lost]
    stated = [own["costs"] for own in document["attributes"]]
    if [own["name"] for own in document["attributes"]] != names or document["records"] != len(case.frame):
        return False
    for mine, theirs in zip(units, stated, strict=True):
        if any(abs(a - b) > 1 for a, b in zip(mine, theirs, strict=True)):
            return False
    labels = case.frame["y"].tolist()
    values = sorted(set(labels))
    columns = []
    for name, own in case.candidates.items():
        of = [{v: label for label, vs in mask.mapping for v in vs} for mask in own]  # type: ignore[union-attr]
        columns.append([[mine[value] for value in case.frame[name].tolist()] for mine in of])
    limit = document["limit"]
    pruning = [rule for rule in rules if (rule.monotone_with_suppression if limit else rule.monotone)]

    def bad_records(keys: list[list[Any]], rules: Any, box: tuple[Any, ...] | None = None) -> int:
        classes: dict[Any, Counter[int]] = {}
        for key, label in zip(zip(*keys, strict=True), labels, strict=True):
            classes.setdefault(key, Counter())[label] += 1
        whole = np.array([labels.count(value) for value in values])
        found = 0
        for key, counts in classes.items():
            row = np.array([[counts[value] for value in values]])
            if (box is None or key == box) and any(rule.violations(row, whole=whole)[0] for rule in rules):
                found += int(row.sum())
        return found

    def joined(i: int, part: list[int]) -> list[int]:
        """Return the group of each record under the join of candidates, by spreading labels."""
        group = list(range(len(labels)))
        changed = True
        while changed:
            changed = False
            for candidate in part:
                least: dict[Any, int] = {}
                for record, label in enumerate(columns[i][candidate]):
                    least[label] = min(least.get(label, group[record]), group[record])
                for record, label in enumerate(columns[i][candidate]):
                    if group[record] != least[label]:
                        group[record], changed = least[label], True
        return group

    winner = document["winner"]
    if bad_records([columns[i][c] for i, c in enumerate(winner)], rules) > limit:
        return False
    if sum(own[c] for own, c in zip(stated, winner, strict=True)) != document["cost"]:
        return False
    escapes = []
    for clause in document["clauses"]:
        keys = [joined(i, part) for i, part in enumerate(clause["point"])]
        if "witness" in clause:
            box = []
            for i, (part, label) in enumerate(zip(clause["point"], clause["witness"], strict=True)):
                if label not in columns[i][part[0]]:
                    return False
                box.append(keys[i][columns[i][part[0]].index(label)])
            if not bad_records(keys, pruning, tuple(box)):
                return False
        elif bad_records(keys, pruning) <= limit:
            return False
        escapes.append(
            [
                {c for c in range(len(own)) if len(set(zip(own[c], keys[i], strict=True))) > len(set(own[c]))}
                for i, own in enumerate(columns)
            ]
        )
    for point in document["rejected"]:
        if bad_records([columns[i][c] for i, c in enumerate(point)], rules) <= limit:
            return False
    for choice in itertools.product(*(range(len(own)) for own in stated)):
        if list(choice) in document["rejected"]:
            continue
        if sum(own[c] for own, c in zip(stated, choice, strict=True)) < document["cost"] and all(
            any(c in ways for c, ways in zip(choice, clause, strict=True)) for clause in escapes
        ):
            return False
    return True


def tampered(rng: random.Random, document: dict[str, Any]) -> dict[str, Any]:
    """Change what is asked, a cost, their unit, the winner or a clause; the digest will be made to match."""
    changed = copy.deepcopy(document)
    sizes = [len(own["costs"]) for own in changed["attributes"]]
    clauses = changed["clauses"]
    i = rng.randrange(len(sizes))
    match rng.randrange(13):
        case 0:
            changed["winner"][i] = rng.randrange(sizes[i])
        case 1:
            changed["winner"][i] = rng.randrange(sizes[i])
            picked = zip(changed["attributes"], changed["winner"], strict=True)
            changed["cost"] = sum(own["costs"][c] for own, c in picked)
        case 2:
            changed["cost"] += rng.choice((-1, 1, 10**6, -(10**6)))
        case 3:
            costs = changed["attributes"][i]["costs"]
            costs[rng.randrange(sizes[i])] += rng.choice((-(10**9), -5, -1, 1, 5, 10**9))
        case 4 if clauses:
            clauses.pop(rng.randrange(len(clauses)))
        case 5 if clauses:
            rng.choice(clauses)["point"][i] = [rng.randrange(sizes[i])]
        case 6 if clauses and "witness" in clauses[0]:
            own = rng.choice(clauses)["witness"]
            own[i] = rng.choice((own[i - 1], "g0", "g1", "g2", None, 0))
        case 7:  # coarse units, in which candidates that lose more cost the same
            coarse(rng, changed)
        case 8 if clauses:
            clauses.insert(rng.randrange(len(clauses)), copy.deepcopy(rng.choice(clauses)))
        case 9 if clauses:
            rng.choice(clauses)["point"][i] *= rng.choice((2, 1000))
        case 10:
            rule = changed["rules"][0]
            if "k" in rule:
                rule["k"] = max(1, rule["k"] + rng.choice((-1, 1)))
            else:
                changed["measure"] = rng.choice(("mi", "g3", "chi2"))
        case 11:
            changed[rng.choice(("limit", "digits"))] += rng.choice((-1, 1, 3))
        case _:
            added: dict[str, Any] = {"point": [[rng.randrange(size)] for size in sizes]}
            if changed["limit"] == 0:
                added["witness"] = [f"g{rng.randrange(3)}" for _ in sizes]
            clauses.insert(0, added)
    return changed


def coarse(rng: random.Random, document: dict[str, Any]) -> None:
    """Write the costs in a unit so coarse that a random winner, or everything, costs as little as any."""
    digits = rng.choice((-300, 0, 1, 3, document["digits"] - 1))
    for own in document["attributes"]:
        scale = 10.0 ** (digits - document["digits"])
        own["costs"] = [round(cost * scale) + (rng.random() < 0.1) for cost in own["costs"]]
    document["digits"] = digits
    if rng.random() < 0.7:
        document["winner"] = [len(own["costs"]) - 1 for own in document["attributes"]]
        document["clauses"], document["rejected"] = [], []
    picked = zip(document["attributes"], document["winner"], strict=True)
    document["cost"] = sum(own["costs"][c] for own, c in picked)


def misjudged(rng: random.Random, case: LatticeCase, document: dict[str, Any]) -> tuple[bool, bool] | None:
    """Tamper with a certificate; return whether it was caught, and whether that is wrong."""
    changed = tampered(rng, document)
    if changed == document:
        return None
    try:
        verify_certificate({**changed, "digest": digest_of(changed)}, case.frame)
        accepted = True
    except CertificateError:
        accepted = False
    return not accepted, accepted != is_proof(case, changed)

"""Certificates: what lets others verify that a configuration is the cheapest, without this search."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from aegis_opt._files import atomic_path
from aegis_opt._options import path_of
from aegis_opt.errors import InvalidOption
from aegis_opt.masks import Generalize, Hierarchy, Mask, Suppress
from aegis_opt.measures import available_measures, get_measure
from aegis_opt.privacy._base import PrivacyRule
from aegis_opt.privacy._lattice._partitions import Partitions
from aegis_opt.privacy._lattice._task import Task
from aegis_opt.privacy._lattice._violations import Point
from aegis_opt.privacy._written import rule_from_spec, rule_to_spec, written_label

FORMAT = "aegis-opt certificate"


@dataclass(frozen=True, eq=False, repr=False)
class Certificate:
    """A proof that a configuration is the cheapest that satisfies privacy rules.

    It holds the winner, what every candidate costs, and clauses: combinations that violate the rules, each
    with a class as a witness where nothing may be suppressed. `aegis-opt verify` and
    `aegis_opt.privacy.verify_certificate` verify it against the table; the page on certificates says how
    anybody can. It names masked values and, with hierarchies, values: it is for those who may see the table.

    Parameters
    ----------
    document : dict
        The content of the file, without its digest.
    """

    document: dict[str, Any]

    @property
    def n_clauses(self) -> int:
        """Number of clauses."""
        return len(self.document["clauses"])

    @property
    def digest(self) -> str:
        """The SHA-256 digest of the content."""
        return digest_of(self.document)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the certificate as JSON, whole or not at all.

        Parameters
        ----------
        path : path
            The file, which ends in .json.
        """
        target = path_of("the path of a certificate", path)
        if target.suffix.lower() != ".json":
            raise InvalidOption(f"a certificate is JSON: {str(target)!r} must end in .json")
        text = json.dumps({**self.document, "digest": self.digest}, allow_nan=False, ensure_ascii=False)
        with atomic_path(target) as temporary:
            Path(temporary).write_text(text + "\n", encoding="utf-8")

    def __repr__(self) -> str:
        return f"<Certificate: {self.n_clauses} clauses, digest {self.digest[:12]}>"


def digest_of(document: dict[str, Any]) -> str:
    """Return the digest of a content: SHA-256 of its JSON with sorted keys and no blanks."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def certificate_of(
    task: Task, winner: Point, clauses: Sequence[Point], rejected: Sequence[Point]
) -> Certificate:
    """Write down what a search learned."""
    space = task.space
    if space.measure.name not in available_measures() or get_measure(space.measure.name) != space.measure:
        raise InvalidOption(
            f"the measure {space.measure.name!r} is not registered, so that others cannot compute it: "
            "register it with aegis_opt.measures.register_measure"
        )
    starts = np.cumsum([0, *(len(own) for own in space.masks.values())])
    units = [space.units[a:b] for a, b in pairwise(starts)]
    attributes = [
        {
            "name": name,
            "quasi_identifier": i in space.quasi,
            "candidates": _written_masks(masks),
            "costs": [int(unit) for unit in units[i]],
        }
        for i, (name, masks) in enumerate(space.masks.items())
    ]
    return Certificate(
        {
            "format": FORMAT,
            "version": 1,
            "records": space.rows.n_records,
            "label": space.label,
            "measure": space.measure.name,
            "rules": [_written_rule(rule) for rule in task.rules],
            "sensitive": space.sensitive,
            "order": None if space.order is None else space.order.tolist(),
            "suppression": task.suppression,
            "limit": task.limit,
            "digits": space.digits,
            "attributes": attributes,
            "winner": list(winner),
            "cost": int(sum(own[candidate] for own, candidate in zip(units, winner, strict=True))),
            "clauses": [_clause(task, point) for point in clauses],
            "rejected": [list(point) for point in rejected],
        }
    )


def _written_rule(rule: PrivacyRule) -> dict[str, Any]:
    written = rule_to_spec(rule)
    if rule_from_spec(written) != rule:
        raise InvalidOption(
            f"{rule} is no rule of aegis_opt.privacy, so that others cannot check it: there is no certificate"
        )
    return written


def _written_masks(masks: Sequence[Mask]) -> dict[str, Any]:
    """Write the candidates of an attribute; a hierarchy of which they are the levels stands there once."""
    first = masks[0]
    if isinstance(first, Generalize) and isinstance(first.hierarchy, Hierarchy):
        hierarchy = first.hierarchy
        levels = [Generalize(hierarchy=hierarchy, level=level) for level in range(hierarchy.n_levels)]
        if list(masks) in (levels, [*levels, Suppress()]):
            return {"hierarchy": [list(row) for row in hierarchy.rows], "suppress": len(masks) > len(levels)}
    return {"masks": [mask.to_spec() for mask in masks]}


def _clause(task: Task, point: Point) -> dict[str, Any]:
    """Write a point that violates: of each attribute the candidates whose join it has, and a witness."""
    parts = [_generators(own, p) for own, p in zip(task.options.partitions, point, strict=True)]
    written: dict[str, Any] = {"point": parts}
    if task.limit == 0:
        violating, _, ids = task.pruning.classes(point)
        row = int(np.argmax(ids == int(np.argmax(violating))))
        written["witness"] = [
            written_label(task.space.groupings[i][part[0]].labels[_group(task, i, part[0], row)])
            for i, part in zip(task.space.quasi, parts, strict=True)
        ]
    return written


def _group(task: Task, attribute: int, candidate: int, row: int) -> int:
    """Return the group, as the mask numbers it, of the value of a row."""
    place = task.space.values[attribute][task.space.rows.values[attribute][row]]
    return int(task.space.groupings[attribute][candidate].groups[place])


def _generators(partitions: Partitions, partition: int) -> list[int]:
    """Return candidates whose join a partition is: itself where it is one."""
    if partition < partitions.n_candidates:
        return [partition]
    finer = np.flatnonzero(partitions.finer(partition))
    found: list[int] = []
    for candidate in finer[::-1]:
        if not any(partitions.finer(other)[candidate] for other in found):
            found.append(int(candidate))
    return found

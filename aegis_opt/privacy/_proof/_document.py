"""Reading a certificate that others made: strictly, within ceilings, and only if its digest is right."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aegis_opt._files import read_text
from aegis_opt._json import parse_json
from aegis_opt._options import is_number, is_whole, path_of
from aegis_opt._shown import shown
from aegis_opt.errors import AegisError, CertificateError
from aegis_opt.masks import Generalize, Hierarchy, Mask, Suppress, mask_from_spec
from aegis_opt.measures import Measure
from aegis_opt.measures._registry import measure_for
from aegis_opt.privacy._base import PrivacyRule
from aegis_opt.privacy._written import rule_from_spec

MOST_BYTES = 256 * 2**20
"""The size of a file that holds a certificate."""
_MOST_ITEMS = 5_000_000
_MOST_CANDIDATES = 10_000  # of an attribute
_MOST_RULES = 100
_LARGEST = 2**53  # of a sum of costs
_KEYS = frozenset(
    [
        "format",
        "version",
        "records",
        "label",
        "measure",
        "rules",
        "sensitive",
        "order",
        "suppression",
        "limit",
        "digits",
        "attributes",
        "winner",
        "cost",
        "clauses",
        "rejected",
        "digest",
    ]
)


@dataclass(frozen=True)
class StatedAttribute:
    """An attribute as a certificate states it."""

    name: str
    is_quasi: bool
    masks: tuple[Mask, ...]
    costs: tuple[int, ...]


@dataclass(frozen=True)
class StatedClause:
    """A combination that is said to violate the rules."""

    point: tuple[tuple[int, ...], ...]  # of each quasi-identifier, the candidates whose join it has
    witness: tuple[Any, ...] | None  # of each quasi-identifier, a masked value under the first of them


@dataclass(frozen=True)
class Statement:
    """What a certificate states; its form is checked, its truth is not."""

    records: int
    label: str
    measure: Measure
    rules: tuple[PrivacyRule, ...]
    sensitive: str | None
    order: tuple[int, ...] | None
    suppression: float
    limit: int
    digits: int
    attributes: tuple[StatedAttribute, ...]
    winner: tuple[int, ...]
    cost: int
    clauses: tuple[StatedClause, ...]
    rejected: tuple[tuple[int, ...], ...]

    @property
    def quasi(self) -> list[int]:
        """The quasi-identifiers, by their numbers among the attributes."""
        return [i for i, attribute in enumerate(self.attributes) if attribute.is_quasi]


def read_statement(given: object) -> Statement:
    """Read a certificate from its file, or from the mapping that the file holds.

    Raises
    ------
    CertificateError
        If it is no certificate, or its digest does not match.
    """
    if isinstance(given, Mapping):
        document: Any = dict(given)
        where = "the certificate"
    else:
        path = path_of("the certificate", given, "give its path, or the Certificate itself")
        where = f"the certificate {str(path)!r}"
        text = read_text(Path(os.fspath(path)), where, CertificateError, most=MOST_BYTES)
        try:
            document = parse_json(text, CertificateError, most_items=_MOST_ITEMS)
        except CertificateError as error:
            raise CertificateError(f"{where}: {error}") from None
    try:
        return _statement(document)
    except CertificateError as error:
        raise CertificateError(f"{where} is no proof: {error}") from None
    except AegisError as error:  # of a mask, a rule or a measure
        raise CertificateError(f"{where} is no proof: {error}") from error


def _statement(document: Any) -> Statement:
    _require(isinstance(document, dict), "it is no JSON object")
    _require(document.get("format") == "aegis-opt certificate", "its format is not 'aegis-opt certificate'")
    _require(_is_one(document.get("version")), "its version is not 1, the only one that is known")
    missing, unknown = sorted(_KEYS - set(document)), sorted(map(str, set(document) - _KEYS))
    _require(not missing, f"it lacks {', '.join(missing)}")
    _require(not unknown, f"it has unknown entries: {shown(unknown)}")
    _check_digest(document)
    attributes = tuple(_attribute(i, own) for i, own in enumerate(_list(document, "attributes")))
    _require(len(attributes) > 0, "it has no attributes")
    names = [attribute.name for attribute in attributes]
    _require(len(set(names)) == len(names), "an attribute is named twice")
    quasi = [attribute for attribute in attributes if attribute.is_quasi]
    _require(len(quasi) > 0, "it has no quasi-identifier")
    few = 0 < len(_list(document, "rules")) <= _MOST_RULES
    _require(few, f"it must have from 1 to {_MOST_RULES} rules")
    rules = tuple(rule_from_spec(_object(rule, "a rule")) for rule in document["rules"])
    limit = _whole(document["limit"], "limit")
    _check_share(document["suppression"])
    label, sensitive, order = document["label"], document["sensitive"], document["order"]
    _require(isinstance(label, str), "its label is no text")
    _require(sensitive is None or isinstance(sensitive, str), "its sensitive attribute is no text")
    _require(label not in names and sensitive not in names, "an attribute is the label or sensitive, too")
    needs = any(rule.needs_sensitive for rule in rules)
    _require(needs == (sensitive is not None), "its sensitive attribute does not fit its rules")
    _require(isinstance(document["measure"], str), "its measure is no name")
    ordered = any(rule.needs_order for rule in rules)
    _require(not ordered or order is not None, "it lacks the order that a rule of it needs")
    everyone = [len(attribute.masks) for attribute in attributes]
    linked = [len(attribute.masks) for attribute in quasi]
    clauses = tuple(_clause(own, linked, limit == 0) for own in _list(document, "clauses"))
    points = {tuple(map(frozenset, clause.point)) for clause in clauses}
    _require(len(points) == len(clauses), "a clause stands there twice")
    rejected = dict.fromkeys(_choice(own, linked, "a rejected choice") for own in _list(document, "rejected"))
    return Statement(
        records=_whole(document["records"], "records", least=1),
        label=label,
        measure=measure_for("class", document["measure"]),
        rules=rules,
        sensitive=sensitive,
        order=None if order is None else tuple(_whole(place, "order") for place in _list(document, "order")),
        suppression=float(document["suppression"]),
        limit=limit,
        digits=_whole(document["digits"], "digits", least=-300, most=12),
        attributes=attributes,
        winner=_choice(document["winner"], everyone, "its winner"),
        cost=_whole(document["cost"], "cost", least=-_LARGEST),
        clauses=clauses,
        rejected=tuple(rejected),
    )


def _check_digest(document: dict[str, Any]) -> None:
    content = {key: value for key, value in document.items() if key != "digest"}
    try:
        text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError):
        raise CertificateError("it holds what JSON cannot") from None
    found = hashlib.sha256(text.encode("ascii")).hexdigest()
    _require(document["digest"] == found, "its digest does not match its content, so that it was changed")


def _attribute(number: int, written: Any) -> StatedAttribute:
    own = _object(written, f"attribute {number}")
    _require(
        set(own) == {"name", "quasi_identifier", "candidates", "costs"}, f"attribute {number} is malformed"
    )
    name = own["name"]
    _require(isinstance(name, str) and bool(name), f"attribute {number} has no name")
    _require(isinstance(own["quasi_identifier"], bool), f"attribute {number}: quasi_identifier is no boolean")
    masks = _masks(_object(own["candidates"], f"the candidates of attribute {number}"))
    costs = own["costs"]
    _require(isinstance(costs, list) and len(costs) == len(masks), f"attribute {number}: costs are malformed")
    return StatedAttribute(
        name, own["quasi_identifier"], masks, tuple(_whole(c, "a cost", least=-_LARGEST) for c in costs)
    )


def _masks(written: dict[str, Any]) -> tuple[Mask, ...]:
    if set(written) == {"hierarchy", "suppress"}:
        _require(isinstance(written["suppress"], bool), "suppress is no boolean")
        _require(isinstance(written["hierarchy"], list), "a hierarchy is no list of rows")
        hierarchy = Hierarchy(written["hierarchy"])
        _require(hierarchy.n_levels <= _MOST_CANDIDATES, f"it has more than {_MOST_CANDIDATES:,} levels")
        levels = tuple(Generalize(hierarchy=hierarchy, level=level) for level in range(hierarchy.n_levels))
        return (*levels, Suppress()) if written["suppress"] else levels
    _require(set(written) == {"masks"} and isinstance(written["masks"], list), "candidates are malformed")
    many = 0 < len(written["masks"]) <= _MOST_CANDIDATES
    _require(many, f"an attribute must have from 1 to {_MOST_CANDIDATES:,} candidates")
    for spec in written["masks"]:
        # a file that a stranger names must not be read
        _require(
            not isinstance(_object(spec, "a mask").get("hierarchy"), str), "a hierarchy must stand in it"
        )
    return tuple(mask_from_spec(spec) for spec in written["masks"])


def _clause(written: Any, sizes: Sequence[int], needs_witness: bool) -> StatedClause:
    own = _object(written, "a clause")
    wanted = {"point", "witness"} if needs_witness else {"point"}
    _require(set(own) == wanted, f"a clause must have {' and '.join(sorted(wanted))} only")
    point = own["point"]
    _require(isinstance(point, list) and len(point) == len(sizes), "a clause has a malformed point")
    parts = []
    for part, size in zip(point, sizes, strict=True):
        _require(isinstance(part, list) and len(part) > 0, "a clause has a malformed point")
        parts.append(tuple(_whole(c, "a candidate", most=size - 1) for c in part))
        _require(len(set(part)) == len(part), "a clause has a candidate twice")
    if not needs_witness:
        return StatedClause(tuple(parts), None)
    witness = own["witness"]
    _require(isinstance(witness, list) and len(witness) == len(sizes), "a clause has a malformed witness")
    for label in witness:
        _require(label is None or isinstance(label, str | int | float), "a witness has a malformed value")
    return StatedClause(tuple(parts), tuple(witness))


def _choice(written: Any, sizes: Sequence[int], what: str) -> tuple[int, ...]:
    _require(isinstance(written, list) and len(written) == len(sizes), f"{what} is malformed")
    return tuple(_whole(c, what, most=size - 1) for c, size in zip(written, sizes, strict=True))


def _check_share(share: Any) -> None:
    _require(is_number(share) and 0 <= share <= 1, "its suppression is no share")


def _is_one(version: Any) -> bool:
    return is_whole(version) and version == 1


def _whole(value: Any, what: str, least: int = 0, most: int = _LARGEST) -> int:
    _require(is_whole(value) and least <= value <= most, f"{what} must be a whole number within bounds")
    return int(value)


def _list(document: dict[str, Any], key: str) -> list[Any]:
    value = document[key]
    _require(isinstance(value, list), f"{key} is no list")
    return value  # type: ignore[no-any-return]


def _object(value: Any, what: str) -> dict[str, Any]:
    _require(isinstance(value, dict), f"{what} is no object")
    return value  # type: ignore[no-any-return]


def _require(condition: bool, otherwise: str) -> None:
    if not condition:
        raise CertificateError(otherwise)

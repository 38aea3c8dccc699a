"""What may be chosen for each attribute: masks from lists, from hierarchies, or made for the values."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from aegis_opt._options import list_of, path_of
from aegis_opt._shown import shown
from aegis_opt.domain import Domain
from aegis_opt.errors import ConfigurationError, MaskError
from aegis_opt.masks import Generalize, Hierarchy, Identity, Mask, Suppress, candidate_masks, group_attribute

Offer = Hierarchy | tuple[Mask, ...] | None
"""The candidates of an attribute as given; None where they are to be made."""
Candidates = (
    Mapping[str, "Hierarchy | str | os.PathLike[str] | Iterable[Mask] | None"]
    | Iterable[str]
    | os.PathLike[str]
    | str
)


def offers_of(candidates: Any) -> dict[str, Offer]:
    """Check what is offered for each attribute, before anything is read.

    Parameters
    ----------
    candidates : mapping, sequence of str, or path
        Attribute to a hierarchy, its file, a list of masks, or None for masks that are made; names of
        attributes, whose masks are all made; or a folder of hierarchies called ATTRIBUTE.csv.
    """
    if isinstance(candidates, str | os.PathLike):
        return {path.stem: Hierarchy.from_csv(path) for path in hierarchy_files(candidates)}
    if not isinstance(candidates, Mapping):
        if not isinstance(candidates, Iterable):
            raise ConfigurationError(
                "candidates must map attributes to masks or hierarchies, or be a list of attributes, not "
                f"{shown(candidates)}"
            )
        names = list_of("candidates", candidates, str, "name attributes, or map them to masks")
        candidates = dict.fromkeys(names)
    found: dict[str, Offer] = {}
    for attribute, offered in candidates.items():
        if not isinstance(attribute, str) or not attribute:
            raise ConfigurationError(f"candidates must name attributes, not {shown(attribute)}")
        found[attribute] = _offer(attribute, offered)
    if not found:
        raise ConfigurationError(
            "no quasi-identifier: candidates name no attribute; give e.g. {'age': [Identity(), Suppress()]}"
        )
    return found


def hierarchy_files(folder: str | os.PathLike[str]) -> list[Path]:
    """Return the CSV files of a folder, by name."""
    place = path_of("folder", folder)
    if not os.path.isdir(place):
        raise ConfigurationError(
            f"{str(place)!r} is no folder: give the folder of the hierarchies, one file ATTRIBUTE.csv each"
        )
    files = sorted(path for path in place.iterdir() if path.suffix.lower() == ".csv")
    if not files:
        raise ConfigurationError(f"the folder {str(place)!r} has no hierarchy: add files ATTRIBUTE.csv")
    return files


def _offer(attribute: str, offered: Any) -> Offer:
    if offered is None or isinstance(offered, Hierarchy):
        return offered
    if isinstance(offered, str | os.PathLike):
        return Hierarchy.from_csv(path_of("the path of a hierarchy", offered))
    if isinstance(offered, Mask) or not isinstance(offered, Iterable):
        raise ConfigurationError(
            f"the candidates of {shown(attribute)} must be a list of masks or a hierarchy, not "
            f"{shown(offered)}"
        )
    masks = tuple(offered)
    if not masks:
        raise ConfigurationError(f"the candidates of {shown(attribute)} are empty: give at least one mask")
    for mask in masks:
        if not isinstance(mask, Mask):
            raise ConfigurationError(
                f"the candidates of {shown(attribute)}: {shown(mask)} is no mask; write e.g. Suppress()"
            )
    return masks


def masks_of(attribute: str, offered: Offer, domain: Domain) -> tuple[Mask, ...]:
    """Return the candidates of an attribute, given its values.

    The levels of a hierarchy must be nested. Where a value is missing, the highest level keeps it apart;
    `Suppress` follows as one candidate more. Candidates that are made begin with `Identity`.
    """
    if offered is None:
        made = candidate_masks(domain)
        return made if Identity() in made else (Identity(), *made)
    if not isinstance(offered, Hierarchy):
        return offered
    check_nested(attribute, offered)
    levels = tuple(Generalize(hierarchy=offered, level=level) for level in range(offered.n_levels))
    top = group_attribute(levels[-1], attribute, domain)
    return (*levels, Suppress()) if domain.missing and top.n_groups == 2 else levels


def check_nested(attribute: str, hierarchy: Hierarchy) -> None:
    """Refuse a hierarchy in which values that share a masked value have different ones at a higher level."""
    for level in range(1, hierarchy.n_levels - 1):
        parents: dict[str, tuple[int, str]] = {}
        for number, row in enumerate(hierarchy.rows, start=1):
            first, parent = parents.setdefault(row[level], (number, row[level + 1]))
            if parent != row[level + 1]:
                where = "" if hierarchy.path is None else f" {str(hierarchy.path)!r}"
                quoted = shown(row[level]) if hierarchy.path is None else "the same masked value"
                raise MaskError(
                    f"attribute {shown(attribute)}: the hierarchy{where} is not nested: rows {first} and "
                    f"{number} have {quoted} at level {level}, but different ones at level {level + 1}: "
                    "correct one of them, or give the levels as a list of masks, which need not be nested"
                )

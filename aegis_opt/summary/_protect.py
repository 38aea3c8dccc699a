"""From counts to a protected summary: one protected table of each attribute, all others by merging it."""

from __future__ import annotations

from collections.abc import Collection

import pandas as pd

from aegis_opt._shown import shown
from aegis_opt.errors import InvalidOption
from aegis_opt.masks import NoiseMask
from aegis_opt.privacy import DifferentialPrivacy, Protection
from aegis_opt.scores._masked_records import Refinement
from aegis_opt.summary._count_arrays import merge_rows
from aegis_opt.summary._masked_counts import MaskedCounts, includes, listed_values, masked_tables
from aegis_opt.summary._protected import ProtectedAttribute, ProtectedSummary, ProtectedTable


def wanted_protection(
    protect: object, epsilon: float | None, domains: object, other_options: dict[str, bool]
) -> Protection | None:
    """Return the protection that was asked for, and refuse what it has no room for.

    `other_options` says which options were given that share what no protection covers.
    """
    if protect is not None and epsilon is not None:
        raise InvalidOption(
            "epsilon is short for protect=DifferentialPrivacy(epsilon): give one of them, not both"
        )
    if epsilon is not None:
        protect = DifferentialPrivacy(epsilon)
    if protect is None:
        if domains is not None:
            raise InvalidOption(
                "domains are about protected counts: pass protect=..., or epsilon=..., or leave domains out"
            )
        return None
    if not isinstance(protect, Protection):
        raise InvalidOption(
            "protect must be a protection such as ao.privacy.DifferentialPrivacy(epsilon=1.0), not "
            f"{shown(protect)}"
        )
    given = [option for option, is_given in other_options.items() if is_given]
    if given:
        raise InvalidOption(
            f"{', '.join(given)} would share what protect= does not protect: leave out one or the other"
        )
    return protect


def protected_summary(
    counted: MaskedCounts, protection: Protection, values: bool | Collection[str]
) -> ProtectedSummary:
    """Protect the table of the common refinement of all masks of each attribute, and merge its rows."""
    for name, masks in counted.masks.items():
        for attribute, mask in masks.items():
            if isinstance(mask, NoiseMask):
                raise InvalidOption(
                    f"configuration {name!r} adds noise to {attribute!r}, and counts are protected once: "
                    "leave out protect and epsilon, or mask it without noise"
                )
    if counted.label_masks:
        raise InvalidOption(
            f"configuration {next(iter(counted.label_masks))!r} masks the label {counted.counts.label!r}, "
            "and protected summaries hold the label as it is: leave the label unmasked, mask it in the table "
            "first (apply_configuration), or share without protection"
        )
    if protection.needs_public_domains:
        for name, masks in counted.masks.items():
            for attribute, mask in masks.items():
                if mask.needs_counts:
                    raise InvalidOption(
                        f"configuration {name!r} masks {attribute!r} with {mask!r}, which depends on how "
                        "often values occur, and no noise covers that: choose its values by public "
                        "knowledge, such as Generalize with a mapping"
                    )
    tables, chosen = masked_tables(counted)
    counts = counted.counts
    classes, raw = {}, []
    for name, masked in tables.items():
        refinement = Refinement.of([table.groups for table in masked])
        classes[name] = pd.factorize(refinement.classes)[0]  # in the order of their first values
        raw.append(merge_rows(counted.arrangements[name].of(counts.attributes[name].table), classes[name]))
    protected, applied = protection.apply(raw)
    attributes = {}
    for (name, masked), cells in zip(tables.items(), protected, strict=True):
        arrangement, joint = counted.arrangements[name], counts.attributes[name]
        derived = []
        for table in masked:
            groups = pd.Series(table.groups).groupby(classes[name]).first().to_numpy()
            derived.append(ProtectedTable(table.spec, table.groups, table.labels, merge_rows(cells, groups)))
        attributes[name] = ProtectedAttribute(
            kind=joint.domain.kind,
            n_values=len(joint.domain),
            values=listed_values(joint, arrangement) if includes(values, name) else None,
            classes=classes[name],
            counts=cells,
            tables=tuple(derived),
            order=arrangement.order,
        )
    return ProtectedSummary(
        label=counts.label,
        label_kind=counts.label_domain.kind,
        label_values=tuple(counts.label_domain.to_list()),
        attributes=attributes,
        configurations=chosen,
        protection=applied,
    )

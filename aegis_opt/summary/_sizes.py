"""What a summary file may take: ceilings, checked before memory is taken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aegis_opt._channels import MOST_ENTRIES
from aegis_opt._shown import shown
from aegis_opt.errors import SummaryError
from aegis_opt.summary._entries import get_entry
from aegis_opt.summary._model import Summary
from aegis_opt.summary._protected import ProtectedSummary
from aegis_opt.summary._scores import ScoreSummary

MOST_BYTES = 256 * 2**20
"""The size of a summary file, unpacked."""
MOST_ITEMS = 20_000_000
"""Commas and opening brackets in a summary file: entries, which take memory by far more than their text."""
MOST_VALUES = 5_000_000
"""Distinct values of an attribute of a summary file."""
MOST_CELLS = 10_000_000
"""Cells of all unmasked tables of a summary file: values times classes, summed over the attributes."""
MOST_GROUPS = 20_000_000
"""Values that all masked tables of a summary file group, together: runs say that in a few bytes."""
MOST_NOISE = MOST_ENTRIES
"""Entries of the channels of all noisy tables of a summary file: masked values times values, 128 MB. An entry
of Pram counts four times, as its columns are compared, and a table for 8,192 entries at least."""
_LEAST_NOISE = 8192

SMALLER = "coarsen attributes of many values with max_values, or leave them out, when it is made"
"""The way out of a summary that is too large."""


@dataclass(frozen=True)
class PartSize:
    """What one summary of a file takes: values and tables of each attribute, classes, and noise."""

    attributes: Mapping[str, tuple[int, int]]
    classes: int
    label_masks: int = 0
    noise: int = 0


def part_size(summary: Summary | ScoreSummary | ProtectedSummary) -> PartSize:
    """Return what a summary takes in a file."""
    if isinstance(summary, ScoreSummary):
        return PartSize({}, 0)
    sizes = {name: (a.n_values, len(a.tables)) for name, a in summary.attributes.items()}
    if isinstance(summary, Summary):
        noise = sum(
            _noise_entries(table.spec, table.n_groups, a.n_values)
            for a in summary.attributes.values()
            for table in a.tables
            if table.channel is not None
        )
        return PartSize(sizes, summary.n_classes, len(summary.label_masks), noise)
    return PartSize(sizes, len(summary.label_values))


def _noise_entries(spec: Mapping[str, Any], rows: int, columns: int) -> int:
    """Return what a noisy table counts for, see `MOST_NOISE`; wrong parts are found when it is read."""
    matrix = spec.get("matrix")
    if isinstance(matrix, list):
        rows, columns = 4 * len(matrix), max((len(row) for row in matrix if isinstance(row, list)), default=0)
    return max(rows * columns, _LEAST_NOISE)


def written_noise(attribute: Any, where: str) -> int:
    """Return the entries of the channels of an attribute as a file has it."""
    n_values = get_entry(attribute, "n_values", int, where)
    noise = 0
    for i, table in enumerate(get_entry(attribute, "tables", list, where)):
        what = f"masked table {i} of {where}"
        if get_entry(table, "groups", (list, dict, type(None)), what) is None:
            labels = get_entry(table, "labels", list, what)
            noise += _noise_entries(get_entry(table, "mask", dict, what), len(labels), n_values)
    return noise


def check_parts(parts: Sequence[PartSize]) -> None:
    """Refuse what takes more memory than a file may ask for, all its labels together."""
    cells = groups = noise = 0
    for part in parts:
        for name, (values, _) in part.attributes.items():
            if values > MOST_VALUES:
                raise SummaryError(
                    f"attribute {shown(name)} has {shown(values)} values; at most {MOST_VALUES:,} are read: "
                    f"{SMALLER}"
                )
        if part.classes > MOST_VALUES:
            raise SummaryError(
                f"the label has {part.classes:,} classes; at most {MOST_VALUES:,} are read: {SMALLER}"
            )
        cells += part.classes * sum(values for values, _ in part.attributes.values())
        groups += sum(values * tables for values, tables in part.attributes.values())
        groups += part.classes * part.label_masks
        noise += part.noise
    if cells > MOST_CELLS:
        raise SummaryError(
            f"the attributes have {cells:,} values times classes; at most {MOST_CELLS:,} are read: {SMALLER}"
        )
    if groups > MOST_GROUPS:
        raise SummaryError(
            f"the masked tables group {groups:,} values together; at most {MOST_GROUPS:,} are read: {SMALLER}"
        )
    if noise > MOST_NOISE:
        raise SummaryError(
            f"the channels of the noisy tables count for {noise:,} entries together; at most {MOST_NOISE:,} "
            "are read: cut values into groups before noise is added (Bucketize, Generalize), or take fewer "
            "masks with noise"
        )

"""What a stranger learns from a protected summary."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pandas as pd

from aegis_opt.summary._facts import Fact, listed, mask_text

if TYPE_CHECKING:
    from aegis_opt.summary._protected import ProtectedSummary


def facts_of_protected(summary: ProtectedSummary) -> pd.DataFrame:
    """List what is in a protected summary, one fact per row, and at the end what is not."""
    facts = [*_protection(summary), *_shared(summary)]
    facts += [("not in the file", "", text) for text in _absent(summary)]
    return pd.DataFrame(facts, columns=["about", "fact", "content"])


def _protection(summary: ProtectedSummary) -> Iterator[Fact]:
    about, applied = "protection", summary.protection
    yield about, "what was done", applied.statement()
    yield about, "budget", applied.budget()
    if applied.method != "rounding":
        yield about, "it presumes", "that the values and kinds of all columns, and the masks, are public"
        yield about, "label totals", "each attribute has its own, which noise makes different"


def _shared(summary: ProtectedSummary) -> Iterator[Fact]:
    yield "label", "name", summary.label
    yield "label", "kind", summary.label_kind
    yield "label", "values", listed(summary.label_values)
    yield "configurations", "names", listed(list(summary.configurations))
    yield "configurations", "masks", "which mask of each attribute each of them has"
    for name, attribute in summary.attributes.items():
        about = f"attribute {name}"
        yield about, "kind", attribute.kind
        yield about, "number of values", f"{attribute.n_values:,}"
        if attribute.values is not None:
            yield about, "values", listed(attribute.values)
        classes = f"{attribute.counts.size:,} protected counts of {len(attribute.counts):,} classes of values"
        yield about, "counts", f"{classes}, from which all tables of the attribute follow"
        for i, table in enumerate(attribute.tables):
            yield about, f"mask {i}", mask_text(table.spec)
            stands = "and which of the values, in their order, each stands for"
            yield about, f"masked values by mask {i}", f"{listed(table.labels)}; {stands}"


def _absent(summary: ProtectedSummary) -> Iterator[str]:
    yield "records, and columns that no configuration masks"
    yield "exact counts, the exact number of records among them"
    yield "which values of two attributes occur together"
    hidden = [name for name, attribute in summary.attributes.items() if attribute.values is None]
    if hidden:
        yield f"the values of {listed(hidden)}, except those that masks and masked values name"

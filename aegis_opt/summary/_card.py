"""What a summary shows of itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aegis_opt._display import FEW, Card
from aegis_opt._shown import listing
from aegis_opt.summary._identifiers import warning_about_identifiers

if TYPE_CHECKING:
    import pandas as pd

    from aegis_opt.summary._model import Summary
    from aegis_opt.summary._protected import ProtectedSummary
    from aegis_opt.summary._scores import ScoreSummary

_COLUMNS = ["attribute", "kind", "values", "masked tables", "histogram", "released unmasked by"]
_CALLS = [
    ("ao.advise(summary)", "ranks the configurations"),
    ("summary.facts()", "lists all that a stranger learns"),
    ('summary.save("summary.json")', "writes the file to share"),
]


def card_of_tables(summary: Summary, most: int | None = FEW) -> Card:
    """Describe a summary of tables; `most` limits the rows of the table."""
    report = summary.report()
    rows = _rows(report, most)
    tables = int(report["tables"].sum())
    scores = f" Scores: {', '.join(summary.scores)}." if summary.scores else ""
    return Card(
        title=f"Summary of {summary.n_records:,} records with the label {summary.label!r}",
        conclusion=f"It holds {tables:,} masked tables of {len(report):,} attributes, for "
        f"{len(summary.configurations):,} configurations{_label_text(summary)}, and no records.{scores}",
        columns=_COLUMNS,
        rows=rows,
        left=["attribute", "kind"],
        more=f"{len(report) - len(rows):,} more in summary.report()." if len(report) > len(rows) else "",
        warnings=disclosure_warnings(summary),
        calls=_CALLS,
    )


def _label_text(summary: Summary) -> str:
    """Say how many configurations mask the label, and whether its classes are shared."""
    if not summary.label_mask_of:
        return ""
    masked = f", {len(summary.label_mask_of):,} of which mask the label"
    return masked if summary.label_values is not None else f"{masked}, without its classes"


def _rows(report: pd.DataFrame, most: int | None) -> list[list[str]]:
    return [
        [
            row["attribute"],
            row["kind"],
            f"{row['values']:,}",
            f"{row['tables']:,}",
            "shared" if row["histogram"] else "values only" if row["values_shared"] else "-",
            f"{row['unmasked_by']:,}" if row["unmasked_by"] else "-",
        ]
        for row in report.head(most or len(report)).to_dict("records")
    ]


def card_of_protected(summary: ProtectedSummary, most: int | None = FEW) -> Card:
    """Describe a summary of protected tables; `most` limits the rows of the table."""
    report = summary.report()
    rows = _rows(report, most)
    applied = summary.protection
    return Card(
        title=f"Protected summary with the label {summary.label!r}",
        conclusion=f"It holds {int(report['tables'].sum()):,} masked tables of {len(report):,} attributes, "
        f"for {len(summary.configurations):,} configurations; {applied.statement()}: {applied.budget()}.",
        columns=_COLUMNS,
        rows=rows,
        left=["attribute", "kind"],
        more=f"{len(report) - len(rows):,} more in summary.report()." if len(report) > len(rows) else "",
        calls=_CALLS,
    )


def card_of_numbers(summary: ScoreSummary, most: int | None = FEW) -> Card:
    """Describe a summary of scores; `most` limits the rows of the table."""
    report = summary.report()
    rows = [
        [str(row.attribute), f"{row.masks:,}", str(row.measures), "shared" if row.unmasked else "-"]
        for row in report.head(most or len(report)).itertuples(index=False)
    ]
    return Card(
        title=f"Summary of scores with the label {summary.label!r}"
        + (", a number" if summary.label_is_number else ""),
        conclusion=f"It holds numbers of {len(summary.configurations):,} configurations, and neither counts "
        f"nor records. Scores: {', '.join(summary.scores) or 'none'}.",
        columns=["attribute", "masks", "measures", "unmasked value"],
        rows=rows,
        left=["attribute", "measures"],
        more=f"{len(report) - len(rows):,} more in summary.report()." if len(report) > len(rows) else "",
        calls=_CALLS,
    )


def disclosure_warnings(summary: Summary) -> list[str]:
    """Say what a provider should know before sharing a summary of tables."""
    found = []
    open_tables = list(dict.fromkeys(name for _, name in summary.unmasked()))
    raw = [name for name in open_tables if any(map(summary.is_raw, summary.attributes[name].tables))]
    if raw:
        found.append(
            f"unmasked: some configuration leaves {listing(raw)} unmasked, so the summary holds the "
            "raw joint table with the label. To share no raw table, mask it there."
        )
    if with_masked_label := [name for name in open_tables if name not in raw]:
        found.append(
            f"unmasked: some configuration that masks the label leaves {listing(with_masked_label)} "
            "unmasked, so the summary holds how often each value occurs with each masked class. To share no "
            "values, mask it there."
        )
    found += [
        f"coarsened: {name!r} was {attribute.coarsening_warning}."
        for name, attribute in list(summary.attributes.items())[:FEW]
        if attribute.coarsening is not None
    ]
    identifiers = warning_about_identifiers(summary)
    return [*found, identifiers] if identifiers else found

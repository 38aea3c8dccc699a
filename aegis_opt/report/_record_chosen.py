"""The chosen configuration of an advice: in words, as a file, and as SQL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from aegis_opt._shown import listing, shortened
from aegis_opt.domain import Domain
from aegis_opt.errors import AegisError
from aegis_opt.masks import Configuration
from aegis_opt.masks._base import mask_from_spec
from aegis_opt.masks._spec_text import spec_text
from aegis_opt.summary import AnySummary, ProtectedSummary, ScoreSummary, Summary

MOST_CHARACTERS = 60_000
"""Of a text that the page shows; longer ones are left out, and the page says how to get them."""

MOST_COLUMNS = 100
"""Of a SELECT that the page shows."""

_EXAMPLES = 3  # masked values that the words name


def specs_of(summary: AnySummary, configuration: str) -> dict[str, Mapping[str, Any]]:
    """Return the mask of each attribute, and of a masked label, as configuration files write it."""
    found = {name: summary.spec(configuration, name) for name in summary.attributes}
    spec = None if isinstance(summary, ProtectedSummary) else summary.label_spec(configuration)
    return found if spec is None else {**found, summary.label: spec}


def words_of(summary: AnySummary, configuration: str) -> list[tuple[str, str]]:
    """Say in words what becomes of each attribute: (attribute, sentence)."""
    found = []
    for name, spec in specs_of(summary, configuration).items():
        text = spec_text(spec)
        if isinstance(summary, Summary) and name == summary.label:
            mask = summary.label_masks[summary.label_mask_of[configuration]]
            classes = listing([shortened(str(label)) for label in mask.labels])
            text += f": {summary.n_classes:,} classes become {mask.n_classes:,}: {classes}."
        elif isinstance(summary, Summary):
            table, values = summary.masked_table(configuration, name), summary.attributes[name].n_values
            examples = listing([shortened(str(label)) for label in table.labels[:_EXAMPLES]])
            if table.keeps_every_value:
                text += f": all {values:,} values stay apart, as they are or under another name."
            elif table.n_groups == 1:
                text += f": all {values:,} values become one, {examples}."
            else:
                text += f": {values:,} values become {table.n_groups:,}, such as {examples}."
        found.append((name, text))
    return found


def yaml_of(summary: AnySummary, configuration: str) -> str:
    """Return a configuration file with the configuration alone; empty where it is too long to show."""
    masks = {name: _plain(spec) for name, spec in specs_of(summary, configuration).items()}
    document = {"label": summary.label, "configurations": {configuration: masks}}
    text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True)
    return text if len(text) <= MOST_CHARACTERS else ""


def sql_of(summary: AnySummary, configuration: str) -> tuple[str, str]:
    """Return the SELECT that masks a table, or why it cannot be written here: (SQL, reason)."""
    specs = specs_of(summary, configuration)
    if len(specs) > MOST_COLUMNS:
        return "", f"it masks {len(specs):,} columns"
    # a file that a summary names is not ours to read: it is the provider's, or nobody's
    by_file = [name for name, spec in specs.items() if isinstance(spec.get("hierarchy"), str)]
    if by_file:
        return "", f"the mask of {by_file[0]!r} names a file, which only the provider has"
    try:
        masks = Configuration({n: mask_from_spec(spec) for n, spec in specs.items()}, configuration)
        text = masks.to_sql("duckdb", "source", domains=_domains(summary))
    except AegisError as error:
        return "", str(error)
    if len(text) > MOST_CHARACTERS:
        return "", f"it has {len(text):,} characters"
    return text, ""


def _domains(summary: AnySummary) -> dict[str, Any]:
    """Return what is known of the columns: their values where they are shared, else their kind."""
    if isinstance(summary, ScoreSummary):
        return {}
    label = {}
    if isinstance(summary, Summary):
        classes = summary.label_values
        label[summary.label] = summary.label_kind if classes is None else Domain.of(list(classes))
    return label | {
        name: attribute.kind if attribute.values is None else Domain.of(list(attribute.values))
        for name, attribute in summary.attributes.items()
    }


def _plain(value: Any) -> Any:
    """Return mappings and sequences as YAML writes them."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value

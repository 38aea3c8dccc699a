"""Summaries of several labels of one table, made in one scan."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from aegis_opt._display import Card, Displayed
from aegis_opt._options import mapping_of
from aegis_opt._shown import shown
from aegis_opt.errors import SummaryError
from aegis_opt.masks._configuration import UnknownKey
from aegis_opt.summary._model import Summary
from aegis_opt.summary._scores import ScoreSummary

if TYPE_CHECKING:
    from typing import Any

OneLabel = Summary | ScoreSummary
"""What is shared about one of several labels."""


class Summaries(Mapping[str, OneLabel], Displayed):
    """One summary for each of several labels, about the same configurations.

    Parameters
    ----------
    summaries : mapping of str to Summary or ScoreSummary
        For each label, what is shared; all of the same configurations.

    Examples
    --------
    >>> import aegis_opt as ao
    >>> clinic = ao.datasets.clinic(500)
    >>> frame = clinic.frame.assign(heavy=clinic.frame["weight"] > 75)
    >>> masks = {"wide": {"age": ao.Bucketize(width=20)}, "narrow": {"age": ao.Bucketize(width=5)}}
    >>> shared = ao.summarize(frame, ["health", "heavy"], masks)
    >>> shared
    Summaries(labels 'health', 'heavy', 2 configurations)
    >>> shared["heavy"].label_values
    (False, True)
    """

    def __init__(self, summaries: Mapping[str, OneLabel]) -> None:
        mapping_of("summaries", summaries, "map each label to its summary")
        self._by_label = MappingProxyType(dict(summaries))
        if not self._by_label:
            raise SummaryError("summaries of several labels need at least one label")
        for label, summary in self._by_label.items():
            if not isinstance(summary, OneLabel):
                raise SummaryError(f"the summary of the label {shown(label)} is none: {shown(summary)}")
        configurations = list(next(iter(self._by_label.values())).configurations)
        for label, summary in self._by_label.items():
            if summary.label != label:
                raise SummaryError(
                    f"the summary of the label {shown(label)} is about {shown(summary.label)}: use that name"
                )
            if list(summary.configurations) != configurations:
                odd = sorted(set(summary.configurations) ^ set(configurations))
                raise SummaryError(
                    f"the summaries must have the same configurations in the same order; that of the label "
                    f"{shown(label)} differs from the first one: {shown(odd)}"
                )
        self._check_one_table()

    def _check_one_table(self) -> None:
        """Refuse tables that cannot be of the same records: the proof of a joint order rests on that."""
        first: Summary | None = None
        for label, summary in self._by_label.items():
            if isinstance(summary, Summary):
                first = first or summary
                labels = f"{shown(first.label)} and {shown(label)}"
                about = f"the summaries of the labels {labels} are not of one table"
                if summary.n_records != first.n_records:
                    raise SummaryError(
                        f"{about}: they have {first.n_records:,} and {summary.n_records:,} records"
                    )
                for name in summary.attributes.keys() & first.attributes.keys():
                    if (what := _difference(first, summary, name)) is not None:
                        raise SummaryError(f"{about}: {what} of attribute {shown(name)} differ")

    def __getitem__(self, label: str) -> OneLabel:
        if label not in self._by_label:
            raise UnknownKey("label", label, self._by_label)
        return self._by_label[label]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_label)

    def __len__(self) -> int:
        return len(self._by_label)

    def __contains__(self, label: object) -> bool:
        return label in self._by_label

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Summaries):
            return NotImplemented
        return list(self.items()) == list(other.items())

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return Summaries, (dict(self._by_label),)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels, in the order in which they were given."""
        return tuple(self._by_label)

    @property
    def configurations(self) -> tuple[str, ...]:
        """The names of the configurations, which are the same for all labels."""
        return tuple(next(iter(self._by_label.values())).configurations)

    def facts(self) -> pd.DataFrame:
        """List all that a stranger learns from the file, label by label.

        Returns
        -------
        DataFrame
            One row per fact: label, about, fact, content, all of them texts.
        """
        parts = [summary.facts().assign(label=label) for label, summary in self.items()]
        return pd.concat(parts, ignore_index=True)[["label", "about", "fact", "content"]]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all summaries to one JSON file, .json or .json.gz, which `Summary.load` reads."""
        from aegis_opt.summary._file import save

        save(self, path)

    def _card(self) -> Card:
        rows = []
        for label, summary in self.items():
            if isinstance(summary, Summary):
                kind, shared = f"{summary.n_classes:,} classes", "tables"
                if summary.scores:
                    shared = f"tables, {', '.join(summary.scores)}"
            else:
                kind = "a number" if summary.label_is_number else "classes"
                shared = ", ".join((*summary.scores, *summary.measures))
            rows.append([label, kind, shared, f"{len(summary.attributes):,}"])
        return Card(
            title=f"Summaries of {len(self):,} labels",
            conclusion=f"They hold what is shared about {len(self.configurations):,} configurations, one "
            "summary for each label, and no records.",
            columns=["label", "kind", "shared", "attributes"],
            rows=rows,
            left=["label", "kind", "shared"],
            calls=[
                ("ao.advise(summaries)", "ranks the configurations for all labels together"),
                (f"summaries[{self.labels[0]!r}]", "is the summary of one label"),
                ('summaries.save("summary.json")', "writes the file to share"),
            ],
        )

    def __repr__(self) -> str:
        names = ", ".join(map(repr, self.labels))
        return f"Summaries(labels {names}, {len(self.configurations)} configurations)"


def _difference(one: Summary, other: Summary, name: str) -> str | None:
    """Say what two summaries tell about the same attribute that cannot be told of the same records."""
    a, b = one.attributes[name], other.attributes[name]
    if (a.coarsening, a.order) != (b.coarsening, b.order):  # made with other options
        return None
    told = a.values is not None and b.values is not None
    if (a.kind, a.n_values) != (b.kind, b.n_values) or (told and a.values != b.values):
        return "kind or values"
    if a.histogram is not None and b.histogram is not None and not np.array_equal(a.histogram, b.histogram):
        return "the histograms"
    seen = {(one.configurations[c][name], other.configurations[c][name]) for c in one.configurations}
    for i, j in sorted(seen):
        mine, theirs = a.tables[i], b.tables[j]
        if (dict(mine.spec), mine.labels) != (dict(theirs.spec), theirs.labels) or not np.array_equal(
            mine.groups, theirs.groups
        ):
            return "masks"
        if mine.channel is None and not np.array_equal(mine.joint.sum(axis=1), theirs.joint.sum(axis=1)):
            return "the records of masked values"
    return None

"""The audit of a summary: what its tables disclose about the raw joint tables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from aegis_opt._display import Card, Displayed
from aegis_opt._options import path_of, whole_number
from aegis_opt._progress import Progress, reporting
from aegis_opt.disclosure._attribute import TableBounds, attribute_bounds, mask_names_values, values_in_clear
from aegis_opt.disclosure._card import card_of
from aegis_opt.disclosure._differences import differences
from aegis_opt.disclosure._leave_out import leave_out
from aegis_opt.errors import InfeasibleProblem, InvalidInput
from aegis_opt.summary import AnySummary, ProtectedSummary, ScoreSummary, Summaries, Summary
from aegis_opt.summary._noisy_tables import noisy_attributes

_CELLS = ["attribute", "row", "label", "low", "high", "exact"]
_DIFFERENCES = ["attribute", "table", "group", "other_table", "values", "records", "small_cells"]
_TABLES = ["attribute", "step", "table", "mask", "configurations", "pinned_records"]


@dataclass(frozen=True, eq=False)
class Audit(Displayed):
    """What a summary discloses about the raw joint tables of its attributes; `aegis_opt.audit` makes it.

    Attributes
    ----------
    summary : Summary or ScoreSummary
        What is shared.
    bounds : mapping of str to TableBounds
        For each attribute, the range of every cell; empty where no tables are shared.
    small : int
        Counts from 1 to small - 1 count as small.
    """

    summary: Summary | ScoreSummary
    bounds: Mapping[str, TableBounds]
    small: int

    @cached_property
    def attributes(self) -> pd.DataFrame:
        """One row per attribute.

        Columns attribute; pinned_cells, the share of the cells of the raw joint table whose count follows
        from what is shared; pinned_records, the share of the records in these cells; small_cells, how many
        of them have a small count, which may point at persons; values_in_clear, whether values of the
        attribute are listed, named by a mask, or released as they are; exact, whether every range is
        attained by whole tables.
        """
        rows = []
        for name, attribute in self.summary.attributes.items():
            if isinstance(self.summary, ScoreSummary):
                clear = any(mask_names_values(spec) for spec in attribute.masks)  # type: ignore[union-attr]
                rows.append((name, 0.0, 0.0, 0, clear, True))
                continue
            found = self.bounds[name]
            rows.append(
                (
                    name,
                    float(found.pinned.mean()),
                    found.pinned_records / self.summary.n_records,
                    int(found.small(self.small).sum()),
                    values_in_clear(attribute),  # type: ignore[arg-type]
                    bool(found.exact.all()),
                )
            )
        columns = ["attribute", "pinned_cells", "pinned_records", "small_cells", "values_in_clear", "exact"]
        return pd.DataFrame(rows, columns=columns)

    @cached_property
    def cells(self) -> pd.DataFrame:
        """One row per cell of every raw joint table.

        Columns attribute; row, the number of the value in the domain; label, or the number of the class where
        classes are not shared because every configuration masks the label; low and high, the proved range of
        its count; exact, whether whole tables that agree with all that is shared have both ends of it.
        """
        frames = []
        for name, found in self.bounds.items():
            n_values, n_labels = found.low.shape
            frames.append(
                pd.DataFrame(
                    {
                        "attribute": np.full(found.low.size, name, dtype=object),
                        "row": np.repeat(np.arange(n_values), n_labels),
                        "label": np.tile(self._labels, n_values),
                        "low": found.low.ravel(),
                        "high": found.high.ravel(),
                        "exact": found.exact.ravel(),
                    }
                )
            )
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=_CELLS)

    @cached_property
    def differences(self) -> pd.DataFrame:
        """What pairs of masked tables tell by subtraction, the smallest first.

        One row for each group of a table of which groups of another one lie inside, without being all of it.
        Columns attribute; table and group; other_table, whose groups are subtracted; values, how many values
        are left; records, how many records these have; small_cells, how many of their counts per label are
        small.
        """
        if isinstance(self.summary, ScoreSummary):
            return pd.DataFrame(columns=_DIFFERENCES)
        rows = [
            {"attribute": name, **row}
            for name, attribute in self.summary.attributes.items()
            for row in differences(self.summary, attribute, self.small)
        ]
        found = pd.DataFrame(rows, columns=_DIFFERENCES)
        return found.sort_values(["records", "values"], kind="stable", ignore_index=True)

    @cached_property
    def tables(self) -> pd.DataFrame:
        """Which masked tables to leave out, to lower what is pinned most at the least loss for the advice.

        For each attribute with pinned records, tables are left out one after the other, until nothing is
        pinned or one is left. Columns attribute; step; table; mask; configurations, how many lose their table
        of the attribute and can no longer be ranked by it; pinned_records, the share of the records that are
        still in pinned cells after this step.
        """
        if isinstance(self.summary, ScoreSummary):
            return pd.DataFrame(columns=_TABLES)
        rows = [
            row
            for name, found in self.bounds.items()
            for row in leave_out(self.summary, name, found.pinned_records)
        ]
        return pd.DataFrame(rows, columns=_TABLES)

    @property
    def _labels(self) -> Any:
        if isinstance(self.summary, ScoreSummary):
            return np.array([], dtype=object)
        values = self.summary.label_values
        if values is None:  # every configuration masks the label, and its classes have numbers only
            return np.arange(self.summary.n_classes).astype(object)
        return pd.Series(values, dtype=object).to_numpy()

    def to_dict(self) -> dict[str, Any]:
        """Return the audit as JSON-ready values, without the single cells."""
        return {
            "small": self.small,
            "attributes": self.attributes.to_dict("records"),
            "differences": self.differences.to_dict("records"),
            "tables": self.tables.to_dict("records"),
        }

    def _card(self) -> Card:
        return card_of(self)

    def __repr__(self) -> str:
        if not self.bounds:
            return f"<Audit: {len(self.summary.attributes)} attributes, no tables are shared>"
        worst = self.attributes.iloc[int(self.attributes["pinned_records"].argmax())]
        return (
            f"<Audit: {len(self.attributes)} attributes, {int(self.attributes['small_cells'].sum())} small "
            f"counts pinned; most of {worst['attribute']!r}: {worst['pinned_records']:.0%} of the records>"
        )


def audit(
    summary: AnySummary | str | os.PathLike[str],
    *,
    small: int = 5,
    progress: Progress | bool | None = None,
) -> Audit:
    """Find out what a summary discloses about the raw joint tables of its attributes.

    For each cell F(a, y) of each raw table, the least and the largest count are computed that some table of
    whole numbers has which agrees with everything that is shared: all masked tables of the attribute, and its
    histogram where that is shared. Where both are equal, the count is *pinned*: everybody who reads the
    summary knows it. Nothing is assumed about the values, not even that each occurs.

    Parameters
    ----------
    summary : Summary, ScoreSummary or path
        What is to be shared.
    small : int, default 5
        Pinned counts from 1 to small - 1 count as small: they may point at persons.
    progress : bool or callable, optional
        True shows how far the work is; a function is called with (what, done, of how many).

    Returns
    -------
    Audit
        With the frames `attributes`, `cells`, `differences` and `tables`.

    Raises
    ------
    InfeasibleProblem
        If the tables of an attribute contradict each other.

    Notes
    -----
    The ranges are exact where the totals form a network (one view, nested views, two views, each with the
    histogram or not) or where few cells are open. Elsewhere linear programs bound them, or single totals: the
    ranges still hold, and the column ``exact`` says where they may be wider than need be.

    Examples
    --------
    >>> import aegis_opt as ao
    >>> people = pd.DataFrame({"age": [10, 17, 17, 43, 55], "health": list("ggppp")})
    >>> edges = {"a": [0, 20, 60], "b": [0, 15, 60]}
    >>> masks = {name: {"age": ao.Bucketize(edges=own)} for name, own in edges.items()}
    >>> found = ao.audit(ao.summarize(people, "health", masks))
    >>> found.attributes[["attribute", "pinned_cells", "pinned_records", "small_cells"]]
      attribute  pinned_cells  pinned_records  small_cells
    0       age          0.75             0.6            3
    """
    given: object = summary
    if not isinstance(given, AnySummary | Summaries):
        given = Summary.load(path_of("summary", given, "it is a Summary or the path of one"))
    if isinstance(given, Summaries):
        raise InvalidInput(
            f"an audit is about one label, and this summary has {len(given)}: audit that of each, such as "
            f"summaries[{given.labels[0]!r}]"
        )
    summary = given
    if isinstance(summary, ProtectedSummary):
        raise InvalidInput(
            f"the counts of this summary are protected ({summary.protection.statement()}), so they bound no "
            "exact count; summary.facts() states the protection and its budget"
        )
    if isinstance(summary, Summary) and (noisy := noisy_attributes(summary)):
        raise InvalidInput(
            f"the masked tables of {noisy[0]!r} are noisy, so they bound no exact count: audit a summary of "
            "the configurations without noise; summary.facts() states the epsilon of each noisy table"
        )
    whole_number("small", small, least=2)
    if isinstance(summary, ScoreSummary):
        return Audit(summary, {}, small)
    bounds = {}
    with reporting(progress, "auditing") as report:
        for done, name in enumerate(summary.attributes):
            if report is not None:
                report(f"auditing {name}", done, len(summary.attributes))
            try:
                bounds[name] = attribute_bounds(summary, name)
            except InfeasibleProblem as error:
                raise InfeasibleProblem(f"attribute {name!r}: {error}") from error
    return Audit(summary, bounds, small)

"""The truth that only the harness may see: raw joint tables, and the deviations computed from them."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd

from aegis_opt._options import instance
from aegis_opt.datasets import Dataset
from aegis_opt.errors import InvalidInput
from aegis_opt.masks import Configurations, Mask
from aegis_opt.measures import Measure
from aegis_opt.measures._registry import measure_for
from aegis_opt.problem._margin import IntArray
from aegis_opt.sources._label_view import LabelBinsOption
from aegis_opt.summary import Summary
from aegis_opt.summary._count_arrays import merge_columns, merge_rows
from aegis_opt.summary._masked_counts import open_masked
from aegis_opt.summary._noisy_tables import refuse_noise
from aegis_opt.summary._summarize import summary_of


@dataclass(frozen=True, eq=False)
class Case:
    """A data set to compare on: the raw source, its label and the configurations to choose from.

    Parameters
    ----------
    name : str
        What the results call it.
    source : path, DataFrame, ...
        As `summarize` takes it.
    label : str, optional
        Column of the class label; by default the one that the configurations name.
    configurations : Configurations, mapping or path
        The masking configurations.
    label_bins : int or sequence of float, optional
        Make classes of a label of numbers, as `summarize` does.
    """

    name: str
    source: Any
    label: str | None
    configurations: Configurations | Mapping[str, Mapping[str, Mask]] | str | os.PathLike[str] | None
    label_bins: LabelBinsOption = None

    @classmethod
    def of(
        cls,
        source: Any,
        label: str | None = None,
        configurations: Any = None,
        name: str | None = None,
        label_bins: LabelBinsOption = None,
    ) -> Case:
        """Return the case that a caller means: a `Dataset`, or a source with label and configurations.

        Examples
        --------
        >>> from aegis_opt.datasets import worked_example
        >>> Case.of(worked_example()).name
        'worked-example'
        """
        if isinstance(source, Case):
            return source
        if name is not None:
            instance("name", name, str, "say what the results call the data")
        if label is not None:
            instance("label", label, str, "give the name of a column")
        if isinstance(source, Dataset):
            if source.configurations is None and configurations is None:
                raise InvalidInput(
                    f"data set {source.name!r} has no configurations of its own: pass configurations=..., "
                    "or draw some with generate_configurations"
                )
            chosen = source.configurations if configurations is None else configurations
            return cls(name or source.name, source.frame, label or source.label, chosen, label_bins)
        return cls(name or _name_of(source), source, label, configurations, label_bins)


@dataclass(frozen=True, eq=False)
class ScannedCase:
    """A case after its one scan: what the advisor may see, and the truth to judge it by."""

    name: str
    summary: Summary  # with histograms; a run without them ignores them
    raw: dict[str, IntArray]  # F(A, Y) of every attribute
    fingerprint: str  # changes with the data and the configurations: results of other data are recognised
    seconds: float  # of the scan and the summary

    @property
    def label_counts(self) -> IntArray:
        """Records per class of the label, which the summary has with its histograms."""
        return cast("IntArray", self.summary.label_counts)

    def true_deviation(self, measure: Measure) -> pd.Series:
        """PUD of every configuration; see `true_deviation`."""
        total = np.zeros(len(self.summary.configurations))
        for name, attribute in self.summary.attributes.items():
            unmasked = float(measure.many([self.raw[name]])[0])
            masked = measure.each(
                [
                    merge_columns(merge_rows(self.raw[name], table.groups), self.summary.label_groups(table))
                    for table in attribute.tables
                ]
            )
            chosen = [tables[name] for tables in self.summary.configurations.values()]
            total += np.abs(unmasked - masked[chosen])
        return pd.Series(total / len(self.summary.attributes), index=list(self.summary.configurations))


def scan_case(case: Case) -> ScannedCase:
    """Scan a data set once, summarise it, and keep the raw tables to judge by."""
    start = time.perf_counter()
    with open_masked(case.source, case.label, case.configurations, case.label_bins) as counted:
        summary = summary_of(counted, histograms=True)
    refuse_noise(summary, "a comparison is about")
    seconds = time.perf_counter() - start
    raw = {  # its rows are those of the summary
        name: counted.arrangements[name].of(joint.table) for name, joint in counted.counts.attributes.items()
    }
    return ScannedCase(case.name, summary, raw, _fingerprint(summary, raw), seconds)


def true_deviation(
    source: Any, measure: str | Measure, label: str | None = None, configurations: Any = None
) -> pd.Series:
    r"""Compute the PUD of every configuration from the raw tables, which no advisor sees.

    .. math:: \mathrm{PUD} = \frac{1}{m} \sum_A |\rho(A; Y) - \rho(\mathrm{mask}(A); \mathrm{mask}(Y))|

    over the m attributes that some configuration masks; Y stays as it is where the label is not masked.

    Parameters
    ----------
    source : path, DataFrame, ..., Dataset or Case
        The raw table.
    measure : str or Measure
        The measure rho.
    label, configurations
        As in `summarize`; a `Dataset` or `Case` brings its own.

    Returns
    -------
    Series
        Indexed by configuration.

    Examples
    --------
    >>> from aegis_opt.datasets import worked_example
    >>> true_deviation(worked_example(), "mi").round(4).to_dict()
    {'young-old': 0.222}
    """
    return scan_case(Case.of(source, label, configurations)).true_deviation(measure_for("class", measure))


def _name_of(source: Any) -> str:
    if not isinstance(source, str | os.PathLike):
        return "data"
    path = Path(os.fsdecode(source))
    stem = path.name.split(".")[0]
    return path.absolute().parent.name if stem == "data" else stem


def _fingerprint(summary: Summary, raw: dict[str, IntArray]) -> str:
    digest = hashlib.sha256()
    masks = {
        name: {a: dict(summary.attributes[a].tables[t].spec) for a, t in chosen.items()}
        for name, chosen in summary.configurations.items()
    }
    labels = {name: dict(summary.label_masks[index].spec) for name, index in summary.label_mask_of.items()}
    named = [summary.label, masks, *([labels] if labels else [])]
    digest.update(json.dumps(named, sort_keys=True, default=str).encode())
    for name, table in raw.items():
        attribute = summary.attributes[name]
        order = [] if attribute.has_default_order else [attribute.order]
        values = json.dumps([name, attribute.values, table.shape, *order], default=str)
        digest.update(values.encode() + np.ascontiguousarray(table).tobytes())
    return digest.hexdigest()[:16]

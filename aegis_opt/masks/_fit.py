"""Fit masks that depend on how often values occur, so that a configuration says what it does by itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import overload

import numpy as np

from aegis_opt.errors import UnknownColumn
from aegis_opt.masks._base import Mask, naming
from aegis_opt.masks._configuration import Configuration, Configurations
from aegis_opt.sources import JointCounts, ValueCounts, columns, scan_counts
from aegis_opt.sources._counts import JointMoments
from aegis_opt.sources._sql import OTHER


@overload
def fit_configuration(source: object, configuration: Configurations) -> Configurations: ...


@overload
def fit_configuration(source: object, configuration: Configuration | Mapping[str, Mask]) -> Configuration: ...


def fit_configuration(
    source: object, configuration: Configurations | Configuration | Mapping[str, Mask]
) -> Configurations | Configuration:
    """Give masks that depend on counts what they are in a source.

    `KeepTop` and `PoolRare` get the values that they keep, `Microaggregate` its edges and centres.

    What comes out does the same to any table, can be written as SQL, and its file says so.

    Parameters
    ----------
    source : path, DataFrame, Arrow table or DuckDB relation
        The table to count; see `aegis_opt.sources.scan`. Only the columns of such masks are read.
    configuration : Configuration, mapping of str to Mask, or Configurations
        The masks. Those that are fitted already, and all other kinds of masks, stay what they are.

    Returns
    -------
    Configuration, or Configurations for Configurations
        No mask of it needs counts.

    Examples
    --------
    >>> import pandas as pd
    >>> from aegis_opt.masks import KeepTop
    >>> people = pd.DataFrame({"city": ["Rome", "Oslo", "Rome", "Bern"]})
    >>> fit_configuration(people, {"city": KeepTop(1)})["city"]
    KeepTop(n=1, values=('Rome',))
    """
    if isinstance(configuration, Configurations):
        counts = _counts(source, configuration.values())
        fitted = {name: _fitted(masks, counts) for name, masks in configuration.items()}
        return Configurations(fitted, configuration.label, configuration.order)
    if not isinstance(configuration, Configuration):
        configuration = Configuration(configuration)
    return Configuration(_fitted(configuration, _counts(source, [configuration])), configuration.name)


def fitted_columns(source: object, masks: Mapping[str, Mask], columns: Mapping[str, str]) -> dict[str, Mask]:
    """Fit masks to columns that the source calls otherwise: attribute -> column; errors name attributes."""
    counts = _counts(source, [{columns[name]: mask for name, mask in masks.items()}])
    return _fitted(masks, {name: counts[column] for name, column in columns.items() if column in counts})


def fitted_attribute(mask: Mask, name: str, joint: JointCounts | JointMoments) -> Mask:
    """Fit a mask to the counted values of the attribute `name`, which an error then names.

    Where rare texts were merged while counting, the text that stands for them does not count.
    """
    if not mask.needs_counts:
        return mask
    counts = joint.records
    if joint.coarsening is not None and joint.domain.kind == "string":
        counts[np.flatnonzero(joint.domain.values == OTHER)] = 0
    with naming(name):
        return mask.fitted(joint.domain, counts)


def _counts(source: object, configurations: Iterable[Mapping[str, Mask]]) -> dict[str, ValueCounts]:
    """Count the columns of masks that need it."""
    named = {a: None for masks in configurations for a, mask in masks.items() if mask.needs_counts}
    if not named:
        return {}
    known = columns(source)
    for name in named:
        if name not in known:
            raise UnknownColumn("column", name, known, "The configuration masks it.")
    return scan_counts(source, attributes=list(named))


def _fitted(masks: Mapping[str, Mask], counts: Mapping[str, ValueCounts]) -> dict[str, Mask]:
    found = {}
    for name, mask in masks.items():
        with naming(name):
            found[name] = mask.fitted(*counts[name]) if mask.needs_counts else mask
    return found

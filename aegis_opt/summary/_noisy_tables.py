"""Noisy tables: what a summary holds of an attribute whose mask adds noise.

The counts are one draw: each record's masked value is drawn by its column of the channel, and the counts of
all records with value a and label y are multinomial. The released records are another draw, so that the
epsilons of both add up, as do those of several noisy tables of one attribute. The seed is not shared.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from aegis_opt._channels import channel_epsilon, require_told_apart
from aegis_opt._shown import shown
from aegis_opt.domain import Domain, Kind
from aegis_opt.errors import AegisError, InvalidOption, MaskError, SummaryError
from aegis_opt.masks import AddNoise, Channel, NoiseMask, Pram, RandomizedResponse, mask_from_spec
from aegis_opt.masks._base import naming
from aegis_opt.masks._order import Arrangement
from aegis_opt.sources import JointCounts
from aegis_opt.summary._identifiers import is_nearly_unique

if TYPE_CHECKING:
    from aegis_opt.summary._model import AttributeSummary, MaskedTable, Summary

_NOISE = tuple(mask.function for mask in (RandomizedResponse, AddNoise, Pram))

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


def draw_noisy_table(
    mask: NoiseMask, attribute: str, joint: JointCounts, arrangement: Arrangement
) -> tuple[dict[str, Any], Channel, IntArray]:
    """Draw the noisy counts of an attribute: the mask without its seed, its channel, and the counts."""
    with naming(attribute):
        if joint.coarsening is not None:
            raise MaskError(
                f"{mask!r} adds noise to single values, and the column was {joint.coarsening.rule}: mask it "
                "without noise, or leave max_values out"
            )
        distinct, records = len(joint.domain.values), int(joint.table.sum())
        if joint.domain.kind == "string" and is_nearly_unique(distinct, records):
            raise MaskError(
                f"its texts are nearly unique ({distinct:,} in {records:,} records), and {mask!r} would list "
                "them: mask it without noise"
            )
        channel = _channel(mask, joint.domain)
    spec = mask.without_seed().to_spec()
    rng = mask.generator(attribute, json.dumps(spec, sort_keys=True))
    counts = [rng.multinomial(column, channel.matrix.T).sum(axis=0) for column in joint.table.T]
    order = arrangement.of(np.arange(len(joint.domain)))
    return spec, Channel(channel.matrix[:, order], channel.labels), np.stack(counts, axis=1)


def read_channel(
    spec: Mapping[str, Any], kind: Kind, values: Sequence[Any] | None, labels: Sequence[Any], what: str
) -> FloatArray:
    """Return the channel of a noisy table in a file: that of its mask, for the values in their order."""
    if values is None:
        raise SummaryError(
            f"{what} has noise in place of groups, but the values of its attribute are missing"
        )
    if spec.get("function") not in _NOISE:  # others may name files, which are not ours to read
        raise SummaryError(f"{what} has no groups, and its mask {shown(spec.get('function'))} adds no noise")
    try:
        domain = _domain(kind, values)
        mask = mask_from_spec(spec)
        assert isinstance(mask, NoiseMask)
        channel = _channel(mask, domain)
    except AegisError as error:
        raise SummaryError(f"{what}: {error}") from error
    if list(channel.labels) != list(labels):
        raise SummaryError(f"{what} lists other masked values than its mask gives")
    places = {value: i for i, value in enumerate(domain.to_list())}
    return np.asarray(channel.matrix[:, [places[value] for value in values]])


def _channel(mask: NoiseMask, domain: Domain) -> Channel:
    """Return the channel of a mask, which must tell all values apart.

    Distinct columns of randomised response are independent: the channel is a multiple of the identity, plus a
    constant. So are those of added noise, whose kernel is totally positive (S. Karlin, Total Positivity,
    Stanford University Press (1968)), and the matrix of Pram is checked when the mask is made.
    """
    channel = mask.channel(domain)
    what, values = f"the channel of {mask!r}", domain.to_list()
    by_design = isinstance(mask, RandomizedResponse | AddNoise | Pram)
    require_told_apart(channel.matrix, what, values, MaskError, by_design=by_design)
    return channel


def _domain(kind: Kind, values: Sequence[Any]) -> Domain:
    missing = np.array([value is None for value in values])
    present = [value for value in values if value is not None]
    types: dict[str, Any] = {"string": object, "date": "datetime64[D]", "datetime": "datetime64[us]"}
    return Domain.encode(kind, np.array(present, dtype=types.get(kind)), missing)[1]


def noisy_attributes(summary: Summary) -> list[str]:
    """Return the attributes some of whose tables are noisy."""
    return [name for name, a in summary.attributes.items() if any(t.channel is not None for t in a.tables)]


def refuse_noise(summary: Summary, what: str) -> None:
    """Raise where a table is noisy, which something does not take."""
    if named := noisy_attributes(summary):
        raise InvalidOption(
            f"{what} masks without noise, and some mask of {named[0]!r} adds noise: leave that out"
        )


def table_epsilon(table: MaskedTable) -> float:
    """Return the epsilon of local differential privacy of a noisy table; infinite without noise."""
    if table.channel is None:
        return math.inf
    if math.isinf(channel_epsilon(table.channel)):  # such as that of a missing value, which stays missing
        return math.inf
    mask = mask_from_spec(table.spec)
    assert isinstance(mask, NoiseMask)
    return mask.epsilon_for()


def shared_epsilon(attribute: AttributeSummary) -> float:
    """Return the epsilon of all noisy tables of an attribute together: their sum; NaN where there is none."""
    found = [table_epsilon(table) for table in attribute.tables if table.channel is not None]
    return sum(found) if found else math.nan


def configuration_epsilons(summary: Summary) -> dict[str, float]:
    """Return, for each configuration, the sum of epsilon over its attributes with noise; infinite without."""
    found = {}
    for name in summary.configurations:
        tables = [summary.masked_table(name, attribute) for attribute in summary.attributes]
        epsilons = [table_epsilon(table) for table in tables if table.channel is not None]
        found[name] = sum(epsilons) if epsilons else math.inf
    return found

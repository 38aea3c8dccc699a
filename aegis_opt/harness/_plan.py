"""The plan of a comparison: units of work that can run anywhere, in any order."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

from aegis_opt.harness._schema import Table
from aegis_opt.harness._truth import Prepared
from aegis_opt.harness._variant import Variant


@dataclass(frozen=True)
class Unit:
    """One unit: an advisor run (it has a measure), or the reconstructions of one attribute.

    Its results are one file. All its randomness comes from `seed`, so they do not depend on who runs it.
    """

    dataset: str
    variant: Variant
    scope: str
    histogram: bool
    seed: int
    measure: str | None = None
    attribute: str | None = None

    @property
    def table(self) -> Table:
        """The table of results that its rows belong to."""
        return "advice" if self.measure is not None else "reconstructions"

    def key(self, fingerprint: str) -> str:
        """Name of its file: a digest of what it is and of the data it is about."""
        parts = [
            *(fingerprint, self.dataset, str(self.variant), self.scope, self.histogram, self.seed),
            *(self.measure, self.attribute),
        ]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]


def plan_units(
    datasets: Sequence[Prepared],
    variants: Sequence[Variant],
    measures: Sequence[str],
    scopes: Sequence[str],
    histograms: Sequence[bool],
    seeds: Sequence[int],
    tables: Sequence[Table],
) -> list[Unit]:
    """List the units of a comparison, in a fixed order.

    A variant whose tables do not depend on the seed runs with the first seed only.
    """
    units = []
    for data in datasets:
        for variant in variants:
            choice = variant.is_random_choice
            used = seeds if not choice and variant.reconstructor().is_random else seeds[:1]
            for scope in scopes:
                for histogram in histograms:
                    for seed in used:
                        base = (data.name, variant, scope, histogram, seed)
                        if "advice" in tables:
                            units += [Unit(*base, measure=measure) for measure in measures]
                        if "reconstructions" in tables and not choice:
                            units += [Unit(*base, attribute=name) for name in data.summary.attributes]
    return units

"""Bucket size and domain size against time and TVD, on a uniform attribute and a binary label."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from aegis_opt.measures import tvd
from aegis_opt.problem import Problem
from aegis_opt.report.charts import _theme as theme
from aegis_opt.solvers.registry import reconstruct
from benchmarks.charts import panels, rows_of
from benchmarks.paper.experiments.base import Claim, Experiment, Settings, Tables

if TYPE_CHECKING:
    import altair as alt

_BUCKETS = (2, 5, 10, 20, 50)  # with 200 values
_DOMAINS = (50, 100, 200, 500, 1200)  # with buckets of 10
_RECORDS = 10_000


def run(settings: Settings) -> dict[str, pd.DataFrame]:
    """Reconstruct with and without the histogram; median time of several repeats."""
    repeats = 3 if settings.small else 15
    cases = [("bucket size", bucket, 200, bucket) for bucket in _BUCKETS]
    cases += [("domain size", domain, domain, 10) for domain in _DOMAINS]
    rows = []
    for varied, value, domain, bucket in cases:
        rng = np.random.default_rng([settings.seed, domain])
        records = rng.integers(domain, size=_RECORDS) * 2 + rng.integers(2, size=_RECORDS)
        truth = np.bincount(records, minlength=2 * domain).reshape(domain, 2)
        row = {"varied": varied, "value": value, "domain": domain, "bucket": bucket}
        for histogram, kind in ((True, "+1D"), (False, "-1D")):
            problem = Problem.from_table(truth, np.arange(domain) // bucket, histogram=histogram)
            reconstruct(problem, "ipf")  # loads what has to be loaded
            times = []
            for _ in range(repeats):
                start = time.perf_counter()
                result = reconstruct(problem, "ipf")
                times.append(time.perf_counter() - start)
            row |= {f"ms {kind}": 1e3 * float(np.median(times)), f"tvd {kind}": tvd(truth, result.table)}
        rows.append(row)
    return {"reconstructions": pd.DataFrame(rows)}


def draw(tables: Tables) -> alt.ConcatChart:
    """Draw time and TVD against either size."""
    import altair as alt

    table = tables["reconstructions"]
    charts = []
    for what, unit in (("ms", "milliseconds"), ("tvd", "TVD")):
        for varied in ("bucket size", "domain size"):
            part = table[table["varied"] == varied]
            long = part.melt(
                id_vars=["value"],
                value_vars=[f"{what} +1D", f"{what} -1D"],
                var_name="known",
                value_name="found",
            )
            long["known"] = long["known"].str.removeprefix(f"{what} ")
            charts.append(
                alt.Chart(rows_of(long), width=260, height=190)
                .mark_line(point=True)
                .encode(
                    x=alt.X("value:Q", title=varied),
                    y=alt.Y("found:Q", title=unit, scale=alt.Scale(zero=True)),
                    color=alt.Color("known:N", title=None, scale=alt.Scale(range=list(theme.HUES[:2]))),
                    strokeDash=alt.StrokeDash("known:N", title=None),
                )
            )
    return panels(charts, columns=2)


def _at(varied: str, value: int, column: str) -> Callable[[Tables], float | None]:
    def find(tables: Tables) -> float | None:
        table = tables["reconstructions"]
        return float(table.loc[(table["varied"] == varied) & (table["value"] == value), column].iloc[0])

    return find


def _rise(varied: str, column: str) -> Callable[[Tables], float | None]:
    def find(tables: Tables) -> float | None:
        table = tables["reconstructions"]
        ends = table.loc[table["varied"] == varied, column]
        return float(ends.iloc[-1] - ends.iloc[0])

    return find


_INF = float("inf")
EXPERIMENT = Experiment(
    name="generalization",
    title="bucket size and domain size against time and TVD",
    section="Impact of Generalization and Domain Size",
    run=run,
    draw=draw,
    takes=("seed", "small"),
    needs_data=False,
    notes=(
        "The label is independent of the attribute. One view and the histogram have a "
        "closed-form maximum-entropy table, so time hardly depends on either size. With a fixed number of "
        "records, more values mean fewer records per value, so the TVD to the sample rises with the domain: "
        "the paper states the opposite."
    ),
    claims=(
        Claim("*", "buckets of 2, domain 200: seconds", 90, 90, lambda t: _seconds(t, "bucket size", 2)),
        Claim("*", "buckets of 10, domain 200: seconds", 25, 25, lambda t: _seconds(t, "bucket size", 10)),
        Claim("*", "domain 500, buckets of 10: seconds", 55, 55, lambda t: _seconds(t, "domain size", 500)),
        Claim(
            "*", "domain 1200, buckets of 10: seconds", 120, _INF, lambda t: _seconds(t, "domain size", 1200)
        ),
        Claim("*", "TVD +1D, buckets of 50 less of 2", 0, _INF, _rise("bucket size", "tvd +1D")),
        Claim("*", "TVD +1D, domain 1200 less 50", -_INF, 0, _rise("domain size", "tvd +1D")),
        Claim("*", "TVD +1D at domain 1200", 0, 0.5, _at("domain size", 1200, "tvd +1D")),
    ),
)


def _seconds(tables: Tables, varied: str, value: int) -> float:
    return (_at(varied, value, "ms +1D")(tables) or 0.0) / 1e3

"""How the estimate changes with the number of attributes, configurations and rows."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING

import pandas as pd

from aegis_opt.advisor import Advisor
from aegis_opt.harness import Case
from aegis_opt.harness._truth import scan_case
from aegis_opt.masks import Configurations
from aegis_opt.measures import get_measure
from aegis_opt.report.charts import _theme as theme
from benchmarks.charts import panels, rows_of
from benchmarks.paper.experiments.base import Claim, Experiment, Settings, Tables
from benchmarks.paper.experiments.choices import read_frame, restricted
from benchmarks.paper.rowwise import masked_attributes

if TYPE_CHECKING:
    import altair as alt

_SHARES = (0.25, 0.5, 0.75, 1.0)


def run(settings: Settings) -> dict[str, pd.DataFrame]:
    """Vary one parameter at a time and compare the mean PUD with that of the whole data set."""
    rows = []
    for given in settings.cases:
        case = restricted(given, settings.configurations)
        frame = read_frame(case)
        for parameter, vary in _VARY.items():
            deviations = {share: _deviations(vary(case, frame, share), settings) for share in _SHARES}
            whole = deviations[1.0]
            for share in _SHARES[:-1]:
                change = (deviations[share] - whole).abs()
                for measure, found in change.to_dict("index").items():
                    rows.append(
                        {"dataset": case.name, "parameter": parameter, "share": share, "measure": measure}
                        | {f"delta {kind}": float(value) for kind, value in found.items()}
                    )
    return {"changes": pd.DataFrame(rows)}


def _deviations(case: Case, settings: Settings) -> pd.DataFrame:
    """Mean PUD over the configurations by measure: estimated (single view, pooled) and true."""
    scanned = scan_case(case)
    advisor = Advisor(scanned.summary)
    found = {}
    for measure in settings.measures:
        found[measure] = {
            "single view": advisor.advise(get_measure(measure), scope="single").ranking["pud"].mean(),
            "pooled": advisor.advise(get_measure(measure)).ranking["pud"].mean(),
            "true": scanned.true_deviation(get_measure(measure)).mean(),
        }
    return pd.DataFrame.from_dict(found, orient="index")


def _fewer_attributes(case: Case, frame: pd.DataFrame, share: float) -> Case:
    given = case.configurations
    assert isinstance(given, Configurations)
    names = masked_attributes(given)
    kept = names[: max(round(share * len(names)), 1)]
    masks = {
        title: {name: mask for name, mask in chosen.items() if name in kept}
        for title, chosen in given.items()
    }
    return dataclasses.replace(case, source=frame, configurations=Configurations(masks))


def _fewer_configurations(case: Case, frame: pd.DataFrame, share: float) -> Case:
    given = case.configurations
    assert isinstance(given, Configurations)
    few = restricted(case, max(round(share * len(given)), 1))
    return dataclasses.replace(few, source=frame)


def _fewer_rows(case: Case, frame: pd.DataFrame, share: float) -> Case:
    n = max(round(share * len(frame)), 1)
    rows = frame if n == len(frame) else frame.sample(n, random_state=0).sort_index()
    return dataclasses.replace(case, source=rows.reset_index(drop=True))


_VARY: dict[str, Callable[[Case, pd.DataFrame, float], Case]] = {
    "attributes": _fewer_attributes,
    "configurations": _fewer_configurations,
    "rows": _fewer_rows,
}


def draw(tables: Tables) -> alt.ConcatChart:
    """Draw the changes (logarithmic), a row per parameter, a column per measure."""
    import altair as alt

    kinds = {f"delta {kind}": kind for kind in ("single view", "pooled", "true")}
    long = tables["changes"].melt(
        id_vars=["parameter", "measure", "dataset", "share"],
        value_vars=list(kinds),
        var_name="kind",
        value_name="delta",
    )
    long = long.assign(kind=long["kind"].map(kinds), delta=long["delta"].clip(lower=1e-18))
    measures = list(dict.fromkeys(long["measure"]))
    return panels(
        [
            alt.Chart(rows_of(part), title=str(measure), width=220, height=180)
            .mark_line(point=True)
            .encode(
                x=alt.X("share:Q", title=f"share of {parameter} kept"),
                y=alt.Y(
                    "delta:Q",
                    scale=alt.Scale(type="log"),
                    title="change of the mean PUD",
                    axis=alt.Axis(format=".0e"),
                ),
                color=alt.Color("dataset:N", sort=None, scale=alt.Scale(range=list(theme.HUES))),
                strokeDash=alt.StrokeDash("kind:N", sort=list(kinds.values())),
            )
            for parameter in _VARY
            for measure in measures
            if len(part := long[(long["parameter"] == parameter) & (long["measure"] == measure)])
        ],
        columns=len(measures),
    )


def _most(parameter: str, measure: str, kind: str) -> Callable[[Tables], float | None]:
    def find(tables: Tables) -> float | None:
        table = tables["changes"]
        part = table[(table["parameter"] == parameter) & (table["measure"] == measure)]
        return None if part.empty else float(part[f"delta {kind}"].max())

    return find


_STATED = {
    ("attributes", "g3"): 1e-8,
    ("attributes", "mi"): 1e-6,
    ("attributes", "chi2"): 1e-6,
    ("configurations", "g3"): 1e-2,
    ("configurations", "mi"): 1e-2,
    ("configurations", "chi2"): 1e-7,
    ("rows", "g3"): 1e-1,
    ("rows", "mi"): 1e-10,
    ("rows", "chi2"): 1e-10,
}

EXPERIMENT = Experiment(
    name="parameters",
    title="change of the mean PUD with the number of attributes, configurations and rows",
    section="Impact of Parameters",
    run=run,
    draw=draw,
    takes=("measures", "configurations"),
    notes=(
        "delta: absolute change of the mean PUD over the configurations, against the whole data set. The "
        "single-view estimate without rounding is 0 for every configuration but for floating-point noise, "
        "whatever the data; tiny changes of it say nothing. The true PUD does change, and the pooled "
        "estimate with it."
    ),
    claims=tuple(
        Claim(
            "*",
            f"{measure}, fewer {parameter}: largest change, {kind}",
            0,
            bound,
            _most(parameter, measure, kind),
        )
        for (parameter, measure), bound in _STATED.items()
        for kind in ("single view", "pooled", "true")
    ),
)

"""Which distance comes closest to the truth, on ordered and nominal attributes, from one view and from all.

Synthetic families with known truth vary one thing at a time. The questions are how close the tables that
each distance reconstructs, and the deviations computed from them, come to the truth, and how close one
can hope to come; how far apart equally good answers are (l1, linf and whole tables have many); and what
each rounding gives up against the best whole table. Data sets are compared on a few views of each
attribute. The page is written from the tables, so it says what they say.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from aegis_opt._files import atomic_path
from aegis_opt.advisor._estimate import Progress, Scope
from aegis_opt.advisor._solved import problems_of
from aegis_opt.analysis._optimal_range import optimal_extreme
from aegis_opt.analysis._seeds import spread_over_seeds
from aegis_opt.harness import Case, ComparisonSettings, penalised, run_comparison
from aegis_opt.harness._schema import FAILED, NO_WINNER, SKIPPED, TIMED_OUT
from aegis_opt.harness._truth import ScannedCase, scan_case
from aegis_opt.measures import get_measure
from aegis_opt.problem import Problem
from aegis_opt.report._plots import require_altair
from aegis_opt.report.charts import _theme as theme
from benchmarks.charts import panels, rows_of, save_png
from benchmarks.paper.attributes import distances_of_views, with_few_views
from benchmarks.paper.families import KINDS, SCOPES, limits, list_families, make_family, per_value
from benchmarks.paper.findings import TITLES, by_kind, write_summary
from benchmarks.rounding_quality import NORMS, approximation_factors

if TYPE_CHECKING:
    import altair as alt

_VARIANTS = (
    *("ipf", "ipf:reverse_kl", "ipf:chi2", "ipf:neyman", "ipf:hellinger", "convex:l1", "ipf:l2"),
    *("convex:linf", "ipf:lp=1.5", "convex:huber=1", "smooth", "smooth[order=2]", "auto"),
)
DISTANCES = {"kl" if variant == "ipf" else variant.rpartition(":")[2]: variant for variant in _VARIANTS}
"""What is compared, and the variant that reconstructs by it."""

_IN_WHOLE_NUMBERS = ("kl", "chi2", "hellinger", "l1", "l2", "linf", "lp=1.5", "huber=1")
WHOLE = {name: f"integer:{name}" for name in _IN_WHOLE_NUMBERS}
"""Not the distances that are infinite where a cell is empty, nor those that look at neighbouring values."""

MEASURE = "mi"
_NAMES = {variant: name for named in (DISTANCES, WHOLE) for name, variant in named.items()}


@dataclass(frozen=True, eq=False)
class Research:
    """What the research into distances found.

    Attributes
    ----------
    tables : dict of DataFrame
        * quality: per family, distance, scope, fractional and (base cases only) whole: tvd (a failure counts
          1), pud_error (share of the mean true PUD) and tau (both of the runs that have them), no_winner and
          failed (shares of the runs), runs, tables, tables_failed (counts; a failure is a run that failed,
          timed out or was skipped);
        * limits: per family, limit and scope: tvd, see `benchmarks.paper.families.limits`;
        * spread: per base case, norm, whole or not, and scope: range of the mutual information over equally
          good tables;
        * factors: per norm and rounding: distance over that of the best whole table, share of tables off
          totals, and counts of tables made and impossible to make;
        * attributes: of the data sets, with the reason where one is left out;
        * views: per attribute of the data sets, distance and scope: tvd (a failure counts 1), tables, failed.
    summary : str
        In words, Markdown.
    files : tuple of Path
        What was written, beside the folder of the runs.
    """

    tables: dict[str, pd.DataFrame]
    summary: str
    files: tuple[Path, ...] = ()


def run_research(
    output: str | os.PathLike[str] | None = None,
    *,
    cases: Sequence[Case] = (),
    small: bool = False,
    seed: int = 0,
    n_jobs: int = 1,
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> Research:
    """Run the research into distances.

    Parameters
    ----------
    output : path, optional
        Folder for norms-TABLE.csv, norms.png and norms.md; the runs themselves go to the folders families,
        whole and data of its folder norms-runs, which `load_results` and the report read.
    cases : sequence of Case
        Data sets with configurations; without them the synthetic families alone.
    small : bool
        Tiny families, for tests.
    seed : int
        Of the families and of everything random.
    n_jobs, time_limit, progress
        As in `compare`.

    Returns
    -------
    Research

    Examples
    --------
    >>> found = run_research(small=True)
    >>> list(found.tables), "| distance |" in found.summary
    (['quality', 'limits', 'spread', 'factors'], True)
    """
    if output is not None:
        require_altair()  # before the work, not after it
    folder = None if output is None else Path(output)
    settings = ComparisonSettings(
        solvers=tuple(DISTANCES.values()),
        measures=[MEASURE],
        histograms=[True],
        seeds=[seed],
        n_jobs=n_jobs,
        time_limit=time_limit,
        progress=progress,
    )

    def in_folder(name: str) -> Path | None:
        return None if folder is None else folder / "norms-runs" / name

    families = [make_family(facts, seed=seed, small=small) for facts in list_families(small)]
    base = [make_family(facts, seed=seed, small=small) for facts in list_families(small, base=True)]
    whole = replace(settings, solvers=tuple(WHOLE.values()), output=in_folder("whole"))
    results = [
        run_comparison([family.case for family in families], replace(settings, output=in_folder("families"))),
        run_comparison([family.case for family in base], whole),
    ]
    quality = pd.concat([_quality(found.reconstructions, found.advice) for found in results])
    facts = pd.DataFrame([family.facts for family in families], index=[family.name for family in families])
    facts["per_value"] = [per_value(family.facts.records, family.facts.values) for family in families]
    facts = facts.rename_axis("family").reset_index()
    scanned = {family.name: scan_case(family.case) for family in families}
    pairs, tries = (20, 2) if small else (200, 8)
    bounds = [limits(family, scanned[family.name], pairs=pairs, seed=seed) for family in families]
    tables = {
        "quality": facts.merge(quality, on="family"),
        "limits": facts.merge(pd.concat(bounds), on="family"),
        "spread": pd.concat([_ranges(scanned[family.name], tries) for family in base]),
        "factors": approximation_factors([_first_problem(one, "single") for one in scanned.values()], tries),
    }
    if cases:
        chosen, attributes = zip(*map(with_few_views, cases), strict=True)
        tables["attributes"] = pd.concat(attributes)
        on_data = replace(settings, tables=["reconstructions"], output=in_folder("data"))
        runs = run_comparison([case for case in chosen if case is not None], on_data).reconstructions
        views = distances_of_views(runs, tables["attributes"])
        tables["views"] = views.assign(distance=views["variant"].map(_NAMES))
    found = Research(tables, write_summary(tables, tuple(DISTANCES), seed))
    return found if folder is None else _write(found, folder)


def _write(found: Research, folder: Path) -> Research:
    """Write the tables, the figure and the page; return the research that knows its files."""
    files = []
    for name, table in found.tables.items():
        files.append(folder / f"norms-{name}.csv")
        with atomic_path(files[-1]) as path:
            table.to_csv(path, index=False)
    files += [folder / "norms.png", folder / "norms.md"]
    save_png(draw(found.tables), files[-2])
    with atomic_path(files[-1]) as path:
        path.write_text(found.summary, encoding="utf-8")
    return replace(found, files=tuple(files))


def _quality(reconstructions: pd.DataFrame, advice: pd.DataFrame) -> pd.DataFrame:
    keys = ["dataset", "variant", "scope"]
    without = [FAILED, TIMED_OUT, SKIPPED]
    tables = reconstructions.assign(
        tvd=penalised(reconstructions, None)["tvd"], lost=reconstructions["status"].isin(without)
    )
    tvd = tables.groupby(keys).agg(
        tvd=("tvd", "mean"), tables=("lost", "size"), tables_failed=("lost", "sum")
    )
    advice = advice.assign(
        share=advice["pud_error"] / advice["pud_true_mean"],
        no_winner=advice["status"] == NO_WINNER,
        failed=advice["status"].isin(without),
    )
    columns = {"share": "pud_error", "tau": "tau", "no_winner": "no_winner", "failed": "failed"}
    grouped = advice.groupby(keys)[list(columns)].mean().rename(columns=columns)
    grouped["runs"] = advice.groupby(keys).size()
    joined = pd.concat([tvd, grouped], axis=1).reset_index().rename(columns={"dataset": "family"})
    distance = joined["variant"].map(_NAMES)
    return joined.assign(distance=distance, whole=joined["variant"].isin(list(WHOLE.values())))


def _ranges(data: ScannedCase, tries: int) -> pd.DataFrame:
    """Range of the mutual information over equally good tables of the first attribute, in bits."""
    measure = get_measure(MEASURE)
    true = float(measure(next(iter(data.raw.values()))))
    rows = []
    for scope in SCOPES:
        problem = _first_problem(data, scope)
        directions = np.random.default_rng(0).normal(size=(tries, *problem.shape))
        for norm in (*NORMS, "kl"):
            count = tries if norm in ("l1", "linf") else 1
            tables = [optimal_extreme(problem, norm, direction) for direction in directions[:count]]
            rows.append(_range_row(data, norm, False, scope, measure.many(tables), true))
        for norm in NORMS:
            found = spread_over_seeds(problem, "integer", [MEASURE], seeds=tries, norm=norm)
            rows.append(_range_row(data, norm, True, scope, found[MEASURE].to_numpy(), true))
    return pd.DataFrame(rows)


def _first_problem(data: ScannedCase, scope: Scope) -> Problem:
    """The first problem of the first attribute."""
    return problems_of(data.summary, next(iter(data.summary.attributes)), scope, histograms=True)[0]


def _range_row(
    data: ScannedCase, norm: str, whole: bool, scope: str, found: Sequence[float] | np.ndarray, true: float
) -> dict[str, object]:
    low, high = float(np.min(found)), float(np.max(found))
    names = {"family": data.name, "distance": norm, "whole": whole, "scope": scope}
    return names | {"mi_low": low, "mi_high": high, "mi_true": true, "spread": (high - low) / true}


def draw(tables: dict[str, pd.DataFrame]) -> alt.ConcatChart:
    """Draw the mean TVD of every distance and limit, per kind of attribute; left one view, right all."""
    import altair as alt

    charts = []
    for scope in SCOPES:
        found = by_kind(tables, scope, tuple(DISTANCES))
        kinds = [str(name) for name in found.columns if name != "distance"]
        long = found.melt(id_vars=["distance"], value_vars=kinds, var_name="kind", value_name="tvd")
        ordered = [kind.startswith("ordered") for kind in kinds]
        colours = [theme.ACCENT if first else theme.SECOND for first in ordered]
        fills = [c if ", many" in kind else "#FFFFFF00" for kind, c in zip(kinds, colours, strict=True)]
        shapes = ["circle" if first else "square" for first in ordered]
        looks = alt.Legend(title=None, columns=2 * len(KINDS))
        scales = [alt.Scale(domain=kinds, range=each) for each in (colours, fills, shapes)]
        charts.append(
            alt.Chart(rows_of(long), title=TITLES[scope], width=340, height=alt.Step(18))
            .mark_point(filled=False, size=60)
            .encode(
                x=alt.X("tvd:Q", title="mean TVD to the raw table", scale=alt.Scale(zero=True)),
                y=alt.Y("distance:N", sort=None, title=None, axis=alt.Axis(grid=True)),
                color=alt.Color("kind:N", scale=scales[0], legend=looks),
                fill=alt.Fill("kind:N", scale=scales[1], legend=looks),
                shape=alt.Shape("kind:N", scale=scales[2], legend=looks),
            )
        )
    return panels(charts, columns=len(SCOPES))

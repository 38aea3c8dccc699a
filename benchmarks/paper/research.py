"""Which norm comes closest to the truth: l1, l2, linf and kl, fractional and whole, one view and all views.

Synthetic families with known truth vary one thing at a time: how many values an attribute has, how skewed
they are, how many labels there are. Three questions are asked of every norm: how close the reconstruction and
the deviations computed from it come to the truth; how far apart equally good answers are (l1, linf and whole
tables have many); and what each rounding gives up against the best whole table. The summary in words is
written from the tables, so it says what they say.
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
from aegis_opt.masks import Configurations, Generalize
from aegis_opt.measures import get_measure
from aegis_opt.problem import Problem
from benchmarks.paper.experiments.base import new_figure
from benchmarks.paper.findings import write_summary
from benchmarks.rounding_quality import NORMS, approximation_factors

if TYPE_CHECKING:
    from matplotlib.figure import Figure

VARIANTS = (
    *("ipf", "convex:l1", "convex:l2", "convex:linf"),
    *("ipf+nearest", "integer:l1", "integer:l2", "integer:linf"),
)
_MEASURES = ("mi", "chi2", "g3")
_BASE = {"values": 24, "skew": 1.0, "labels": 3}
_VARIED: dict[str, tuple[float, ...]] = {"values": (8, 24, 72), "skew": (0, 1, 2), "labels": (2, 3, 6)}
_SMALL: dict[str, tuple[float, ...]] = {"labels": (2, 3)}


@dataclass(frozen=True, eq=False)
class Research:
    """What the norm research found.

    Attributes
    ----------
    quality : DataFrame
        Per family, variant and scope: tvd (a failure counts 1), pud_error (share of the mean true PUD) and
        tau (both of the runs that have them), no_winner and failed (shares of the runs), runs, tables,
        tables_failed (counts; a failure is a run that failed, timed out or was skipped).
    spread : DataFrame
        Per family, norm, kind and scope: range of the mutual information over equally good tables.
    factors : DataFrame
        Per norm and rounding: distance over that of the best whole table, share of tables off totals, and
        counts of tables made and impossible to make.
    summary : str
        In words, Markdown.
    files : tuple of Path
        What was written, beside the folder of the runs.
    """

    quality: pd.DataFrame
    spread: pd.DataFrame
    factors: pd.DataFrame
    summary: str
    files: tuple[Path, ...] = ()


def run_research(
    output: str | os.PathLike[str] | None = None,
    *,
    small: bool = False,
    seed: int = 0,
    n_jobs: int = 1,
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> Research:
    """Run the norm research.

    Parameters
    ----------
    output : path, optional
        Folder for norms-quality.csv, norms-spread.csv, norms-factors.csv, norms.png and norms.md; the runs
        themselves go to its folder norms-runs, which `load_results` and the report read.
    small : bool
        Two tiny families, for tests.
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
    >>> sorted(found.quality["scope"].unique()), "| norm |" in found.summary
    (['pooled', 'single'], True)
    """
    if output is not None:
        new_figure(1, 1)  # before the work: matplotlib may be missing
    measures = _MEASURES[:1] if small else _MEASURES
    families = list_families(small)
    cases = [make_family(seed=seed, small=small, **family) for family in families]
    folder = None if output is None else Path(output)
    settings = ComparisonSettings(
        solvers=VARIANTS,
        measures=measures,
        histograms=[True],
        seeds=[seed],
        n_jobs=n_jobs,
        time_limit=time_limit,
        output=None if folder is None else folder / "norms-runs",
        progress=progress,
    )
    results = run_comparison(cases, settings)
    quality = _quality(results.reconstructions, results.advice)
    facts = pd.DataFrame(families, index=[case.name for case in cases]).rename_axis("family").reset_index()
    quality = facts.merge(quality, on="family")
    scanned = [scan_case(case) for case in cases]
    spread = facts.merge(pd.concat([_ranges(one, 2 if small else 12) for one in scanned]), on="family")
    single = [_first_problems(one, "single")[0] for one in scanned]
    factors = approximation_factors(single, 3 if small else 20)
    found = Research(quality, spread, factors, write_summary(quality, spread, factors, measures, seed))
    return found if folder is None else _write(found, folder)


def _write(found: Research, folder: Path) -> Research:
    """Write the tables, the figure and the summary; return the research that knows its files."""
    files = []
    for name, table in (("quality", found.quality), ("spread", found.spread), ("factors", found.factors)):
        files.append(folder / f"norms-{name}.csv")
        with atomic_path(files[-1]) as path:
            table.to_csv(path, index=False)
    files += [folder / "norms.png", folder / "norms.md"]
    with atomic_path(files[-2]) as path:
        draw(found.quality).savefig(path, dpi=150)
    with atomic_path(files[-1]) as path:
        path.write_text(found.summary, encoding="utf-8")
    return replace(found, files=tuple(files))


def list_families(small: bool = False) -> list[dict[str, float]]:
    """List the families: the base case, and each with one thing changed."""
    varied = _SMALL if small else _VARIED
    base = _BASE | ({"values": 6} if small else {})
    found = [base | {name: value} for name, values in varied.items() for value in values]
    return [dict(pairs) for pairs in dict.fromkeys(tuple(one.items()) for one in found)]


def make_family(values: float, skew: float, labels: float, *, seed: int = 0, small: bool = False) -> Case:
    r"""Make a table with known truth: three attributes, given the label drawn independently.

    .. math:: P(a \mid y) \propto \frac{w_{ay}}{\mathrm{rank}(a)^{skew}}, \qquad w_{ay} \sim \Gamma(1)

    Configurations cut each attribute's range at random places.

    Parameters
    ----------
    values, labels : int
        Values of each attribute; classes.
    skew : float
        Exponent of Zipf's law: 0 is even.
    seed : int
        Of the table and the configurations.
    small : bool
        Fewer records, attributes and configurations.

    Examples
    --------
    >>> make_family(6, 0, 2, small=True).name
    'values=6 skew=0 labels=2'
    """
    n, k = int(values), int(labels)
    records, attributes, wanted = (300, 1, 3) if small else (2_000, 3, 8)
    rng = np.random.default_rng([seed, n, k, round(10 * skew)])
    label = rng.integers(k, size=records)
    columns = {}
    for name in (f"x{i}" for i in range(attributes)):
        chance = rng.gamma(1.0, size=(n, k)) / rng.permutation(np.arange(1.0, n + 1))[:, None] ** skew
        summed = np.cumsum(chance / chance.sum(axis=0), axis=0)
        drawn = rng.random(records)
        columns[name] = np.array(
            [np.searchsorted(summed[:, y], u) for y, u in zip(label, drawn, strict=True)]
        )
    frame = pd.DataFrame(columns).clip(upper=n - 1).assign(label=label)
    masks = {
        f"config{i:02d}": {name: _random_ranges(n, rng) for name in columns} for i in range(1, wanted + 1)
    }
    name = f"values={n} skew={skew:g} labels={k}"
    return Case(name, frame, "label", Configurations(masks, label="label"))


def _random_ranges(n: int, rng: np.random.Generator) -> Generalize:
    """Cut 0..n-1 into two to a third of n ranges."""
    groups = int(rng.integers(2, max(n // 3, 2) + 1))
    cuts = np.sort(rng.choice(np.arange(1, n), size=groups - 1, replace=False))
    parts = np.split(np.arange(n), cuts)
    return Generalize({f"{part[0]}-{part[-1]}": part.tolist() for part in parts})


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
    joined["norm"] = [_norm(variant) for variant in joined["variant"]]
    whole = joined["variant"].str.startswith("integer") | joined["variant"].str.contains("+", regex=False)
    joined["kind"] = np.where(whole, "whole", "fractional")
    first = ["family", "norm", "kind", "scope"]
    return joined[[*first, *(c for c in joined if c not in first)]]


def _norm(variant: str) -> str:
    return variant.partition(":")[2] or "kl"


def _ranges(data: ScannedCase, tries: int) -> pd.DataFrame:
    """Range of the mutual information over equally good tables of the first attribute, in bits."""
    measure = get_measure("mi")
    true = float(measure(next(iter(data.raw.values()))))
    rows = []
    scopes: tuple[Scope, ...] = ("single", "pooled")
    for scope in scopes:
        problem = _first_problems(data, scope)[0]
        rng = np.random.default_rng(0)
        directions = rng.normal(size=(tries, *problem.shape))
        for norm in (*NORMS, "kl"):
            count = tries if norm in ("l1", "linf") else 1
            tables = [optimal_extreme(problem, norm, direction) for direction in directions[:count]]
            rows.append(_range_row(data, norm, "fractional", scope, measure.many(tables), true))
        for norm in NORMS:
            found = spread_over_seeds(problem, "integer", ["mi"], seeds=tries, norm=norm)
            rows.append(_range_row(data, norm, "whole", scope, found["mi"].to_numpy(), true))
    return pd.DataFrame(rows)


def _first_problems(data: ScannedCase, scope: Scope) -> Sequence[Problem]:
    """The problems of the first attribute."""
    return problems_of(data.summary, next(iter(data.summary.attributes)), scope, histograms=True)


def _range_row(
    data: ScannedCase, norm: str, kind: str, scope: str, found: Sequence[float] | np.ndarray, true: float
) -> dict[str, object]:
    low, high = float(np.min(found)), float(np.max(found))
    names = {"family": data.name, "norm": norm, "kind": kind, "scope": scope}
    return names | {"mi_low": low, "mi_high": high, "mi_true": true, "spread": (high - low) / true}


def draw(quality: pd.DataFrame) -> Figure:
    """Draw TVD and PUD error of every norm against what was varied; solid: all views, dotted: one."""
    varied = [name for name in _VARIED if len(quality[name].unique()) > 1]
    figure, axes = new_figure(5.0 * len(varied), 7.0, columns=len(varied), rows=2)
    colours = dict(zip(("kl", "l1", "l2", "linf"), ("k", "tab:red", "tab:blue", "tab:green"), strict=True))
    for j, name in enumerate(varied):
        others = [other for other in _BASE if other != name]
        usual = quality[others].mode().iloc[0]  # the base case is in every series
        part = quality[(quality[others] == usual).all(axis=1)]
        for i, (metric, title) in enumerate((("tvd", "TVD"), ("pud_error", "PUD error / true PUD"))):
            for (norm, kind, scope), lines in part.groupby(["norm", "kind", "scope"]):
                ordered = lines.sort_values(name)
                axes[i, j].plot(
                    ordered[name],
                    ordered[metric],
                    "-" if scope == "pooled" else ":",
                    marker="o" if kind == "fractional" else "x",
                    color=colours[str(norm)],
                    label=f"{norm}, {kind}, {scope}",
                )
            axes[i, j].set(xlabel=name, ylabel=title, ylim=(0, None), xticks=sorted(part[name].unique()))
            axes[i, j].xaxis.set_major_formatter("{x:g}")
            if part[metric].isna().all():
                axes[i, j].set_xlim(axes[0, j].get_xlim())
                axes[i, j].text(0.5, 0.5, "every run failed", ha="center", transform=axes[i, j].transAxes)
    handles, titles = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, titles, loc="outside lower center", ncols=min(4, 2 * len(varied)), fontsize=7)
    return figure

"""The research into distances in words: every sentence and number is computed from the tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.paper.attributes import MOST_VIEWS
from benchmarks.paper.families import ANOTHER_SAMPLE, KINDS, MANY, SCOPES, TRUTH_KNOWN

Tables = Mapping[str, pd.DataFrame]

TITLES = {"single": "One view", "pooled": "All views together"}

_INTRODUCTION = """\
# Which distance comes closest to the truth

```sh
.venv/bin/python -m benchmarks.paper research --data path/to/folders -o out
```

This page is the file `out/norms.md` that the command writes. Tables are reconstructed from masked ones by
each distance to the even prior, histograms known, from one view (*single*) or from all views together
(*pooled*), and compared with the raw table by *total variation distance* (TVD, the share of the records
that would have to change their cell). `smooth` minimises the roughness of first differences,
`smooth[order=2]` that of second differences, and `auto` chooses between these and `kl` by held-out views.
A nominal attribute has no roughness: there all three are `kl`. With an even prior, `chi2` and `l2` have
the same closest table."""

_FAMILIES = """\
{count} synthetic families with known truth (seed {seed}): for ordered and for nominal attributes a base
case, and each with one thing changed ({varied}). The label shares of an ordered attribute are logistic
functions of smooth curves along its values; those of a nominal one are independent from value to value
(`benchmarks/paper/families.py` has the formulas). Values with fewer than {many} records each, on average,
have *few*. Means over families, attributes and configurations; a table that failed counts 1."""

_LIMITS = """\
The last two rows are not distances but limits, computed from the distribution P(a, y) from which the N
records of a family were drawn. *{known}* is the table closest to N P(a, y), by Kullback-Leibler
divergence, among those that meet the same totals: a method that has to guess the distribution can hardly
come closer, but for chance. *{sample}* is the mean TVD between two tables of N records, both drawn from
P(a, y): how far one sample is from another. A table that knows nothing of these records but their
distribution, and has the noise of a sample, is that far off. A table can be closer if it meets totals of
these very records, or if it has no noise."""


def write_summary(tables: Tables, distances: Sequence[str], seed: int) -> str:
    """Write the page of a research into distances as Markdown.

    Parameters
    ----------
    tables : mapping of DataFrame
        As in `benchmarks.paper.research.Research`.
    distances : sequence of str
        In the order of the tables to be shown.
    seed : int
        Of the run, stated.
    """
    quality = tables["quality"]
    fractional = quality[~quality["whole"]]
    parts = [
        _INTRODUCTION,
        "## By kind of attribute",
        _FAMILIES.format(
            count=fractional["family"].nunique(), seed=seed, many=MANY, varied=_varied(fractional)
        ),
        *(_described(by_kind(tables, scope, distances), TITLES[scope]) for scope in SCOPES),
        _LIMITS.format(known=TRUTH_KNOWN, sample=ANOTHER_SAMPLE),
        _on_limits(fractional, tables["limits"]),
        *(_on_data(tables, distances) if "views" in tables else ()),
        "## The deviations",
        "*Off by* is the mean error of the estimated deviation of mutual information, as a share of the true "
        "one; *tau* is Kendall's with the true order of the configurations. Both are of the runs that have "
        "them. Means over all families.",
        as_markdown(_overall(fractional, distances)),
        _on_quality(fractional),
        "## By family",
        *(f"{TITLES[s]}, TVD:\n\n{as_markdown(_by_family(fractional, s, distances))}" for s in SCOPES),
        _on_families(fractional),
        "## Whole tables",
        "The closest whole tables (`integer`) beside the closest fractional ones, mean TVD over the two base "
        "cases. The other distances are infinite where a cell is empty, or compare neighbouring values.",
        as_markdown(_whole(quality)),
        _on_whole(_whole(quality)),
        "## Equally good answers",
        "Range of the mutual information over equally close tables of one attribute, as a share of the true "
        "one (mean and largest over the two base cases). For fractional l1 and linf: at extreme optimal "
        "tables in random directions; for whole tables: over seeds of the solver. Both are lower bounds.",
        as_markdown(_spreads(tables["spread"])),
        _on_spread(tables["spread"]),
        "## Roundings against the best whole table",
        "*factor*: distance from the prior over that of the closest whole table with the same totals (mean, "
        "largest), one view of each family; below 1 totals were broken. `hypergeometric` starts from the "
        "maximum-entropy table, the others from the closest fractional one.",
        as_markdown(tables["factors"].rename(columns={"norm": "distance"})),
        _on_factors(tables["factors"]),
    ]
    return "\n\n".join(parts) + "\n"


def by_kind(tables: Tables, scope: str, distances: Sequence[str]) -> pd.DataFrame:
    """Mean TVD of each distance and limit, one column for each kind of attribute."""
    quality = tables["quality"]
    shown = quality[~quality["whole"]]
    bounds = tables["limits"].rename(columns={"limit": "distance"})
    return _kinds(pd.concat([shown, bounds]), scope, [*distances, TRUTH_KNOWN, ANOTHER_SAMPLE])


def _kinds(rows: pd.DataFrame, scope: str, distances: Sequence[str]) -> pd.DataFrame:
    part = rows[rows["scope"] == scope]
    wide = part.pivot_table(index="distance", columns=["kind", "per_value"], values="tvd")
    known = [(kind, size) for kind in KINDS for size in ("few", "many") if (kind, size) in wide]
    wide = wide[known].reindex(list(distances))
    wide.columns = pd.Index([", ".join(pair) for pair in known])
    return wide.reset_index()


def _described(table: pd.DataFrame, title: str) -> str:
    """Show the mean TVD by kind of attribute, and name the closest and the farthest of each."""
    wide = table.set_index("distance").drop([TRUTH_KNOWN, ANOTHER_SAMPLE], errors="ignore")
    lines = []
    for kind, tvd in wide.items():
        least, most = tvd.min(), tvd.max()
        lines.append(
            f"- {kind} records per value: closest {_all_at(tvd, least)} with {least:.3f}{_of_kl(tvd, least)}"
            f", farthest {_all_at(tvd, most)} with {most:.3f}{_of_kl(tvd, most)}."
        )
    return "\n\n".join([f"{title}, mean TVD:", as_markdown(table), "\n".join(lines)])


def _of_kl(tvd: pd.Series, value: float) -> str:
    return "" if np.isclose(value, tvd["kl"]) else f" ({value / tvd['kl']:.2f} of kl's)"


def _all_at(values: pd.Series, value: float) -> str:
    """Name all that have the value."""
    return _listed([str(name) for name in values.index[np.isclose(values, value, rtol=1e-6, atol=1e-9)]])


def _on_limits(quality: pd.DataFrame, limits: pd.DataFrame) -> str:
    """Count how often a distance came closer than a limit."""
    joined = quality.merge(limits, on=["family", "scope"], suffixes=("", "_limit"))
    joined["closer"] = joined["tvd"] < joined["tvd_limit"]
    lines = []
    for limit in (TRUTH_KNOWN, ANOTHER_SAMPLE):
        for scope in SCOPES:
            rows = joined[(joined["limit"] == limit) & (joined["scope"] == scope)]
            lines.append(
                f"- {TITLES[scope]}: {rows['closer'].sum()} of {len(rows)} means of a distance on a family "
                f"are closer than *{limit}*."
            )
    return "\n".join(lines)


def _on_data(tables: Tables, distances: Sequence[str]) -> list[str]:
    attributes, views = tables["attributes"], tables["views"]
    named, absent = [], []
    for name, rows in attributes.groupby("dataset"):
        used = rows[rows["left_out"] == ""].groupby(["kind", "per_value"]).size().reset_index()
        counts = ", ".join(
            f"{count} {kind} with {size}" for kind, size, count in used.itertuples(index=False)
        )
        named.append(f"{name}: {counts or 'none'}")
        for why, lost in rows[rows["left_out"] != ""].groupby("left_out")["attribute"]:
            absent.append(f"of {name} {', '.join(lost)} ({why})")
    left_out = f"Left out: {'; '.join(absent)}. " if absent else ""
    failed, made = views["failed"].sum(), views["tables"].sum()
    each = views.pivot_table(index=["dataset", "scope"], columns="distance", values="tvd")
    each = each[list(distances)].sort_index(ascending=[True, False]).reset_index()
    return [
        "## On data sets",
        f"Attributes by records per value: {'; '.join(named)}. Of each attribute, the first {MOST_VIEWS} "
        "different views of the configurations are used, or as many as there are, without those that leave "
        f"it unmasked or suppress it. {left_out}Numbers that are codes are nominal. Every attribute counts "
        f"once; {failed} of {made} tables failed. The distribution behind the records is unknown, so there are "
        "no limits here.",
        *(_described(_kinds(views, scope, distances), TITLES[scope]) for scope in SCOPES),
        f"By data set:\n\n{as_markdown(each)}",
    ]


def _varied(quality: pd.DataFrame) -> str:
    """Say what differs between the families."""
    columns = {name: sorted(quality[name].unique()) for name in ("values", "skew", "labels", "records")}
    return "; ".join(
        f"{name} {', '.join(map(str, found))}" for name, found in columns.items() if len(found) > 1
    )


def _overall(quality: pd.DataFrame, distances: Sequence[str]) -> pd.DataFrame:
    """Mean over the families; failures of advisor runs and tables as counts, "3 of 12"."""
    found = pd.DataFrame({"distance": list(distances)})
    for scope in SCOPES:
        part = quality[quality["scope"] == scope].groupby("distance")
        mean = part[["tvd", "pud_error", "tau", "no_winner"]].mean().reindex(list(distances))
        for column, title in (("tvd", "TVD"), ("pud_error", "off by"), ("tau", "tau")):
            found[f"{title}, {scope}"] = mean[column].to_numpy()
        found[f"no winner, {scope}"] = [f"{share:.0%}" for share in mean["no_winner"]]
    lost = quality.assign(lost=(quality["failed"] * quality["runs"]).round() + quality["tables_failed"])
    sums = lost.assign(all=lost["runs"] + lost["tables"]).groupby("distance")[["lost", "all"]].sum()
    sums = sums.reindex(list(distances)).astype(int)
    found["failed"] = [f"{row.lost} of {row.all}" for row in sums.itertuples()]
    return found


def _on_quality(quality: pd.DataFrame) -> str:
    lines = []
    for scope in SCOPES:
        part, title = quality[quality["scope"] == scope], TITLES[scope]
        worked = part.groupby("distance")["failed"].max() == 0
        off = part.groupby("distance")["pud_error"].mean()[worked].dropna()
        if len(off):
            of_all = "" if worked.all() else ", of those whose runs all worked,"
            lines.append(
                f"- {title}: the deviations{of_all} are closest with {_all_at(off, off.min())}, off by "
                f"{off.min():.0%} of the true ones."
            )
        else:
            lines.append(f"- {title}: every distance has failed runs, so their deviations are not compared.")
        tau = part.groupby("distance")["tau"].mean().dropna()
        if len(tau):
            to = "" if np.isclose(tau.min(), tau.max()) else f" to {tau.max():.2f}"
            lines.append(f"- {title}: Kendall's tau is {tau.min():.2f}{to}.")
        silent = part.groupby("distance")["no_winner"].mean()
        if silent.max() > 0:
            named = ", ".join(f"{name} {share:.0%}" for name, share in silent[silent > 0].items())
            lines.append(f"- {title}: no winner is named in this share of the runs: {named}.")
    counts = quality.groupby(["distance", "scope"], sort=False)[["tables_failed", "tables"]].sum()
    for (name, scope), lost, made in counts[counts["tables_failed"] > 0].itertuples():
        never = ": nothing is known of it here" if lost == made else ""
        lines.append(f"- {TITLES[scope]}: {lost} of {made} tables by {name} failed{never}.")
    return "\n".join(lines)


def _by_family(quality: pd.DataFrame, scope: str, distances: Sequence[str]) -> pd.DataFrame:
    part = quality[quality["scope"] == scope]
    wide = part.pivot_table(index="family", columns="distance", values="tvd", sort=False)
    return wide.reindex(columns=list(distances)).rename_axis(columns=None).reset_index()


def _on_families(quality: pd.DataFrame) -> str:
    part = quality[quality["tables_failed"] < quality["tables"]]
    least = part.groupby(["family", "scope"])["tvd"].transform("min")
    wins = part[np.isclose(part["tvd"], least, rtol=1e-6, atol=1e-9)]  # equal ones count each
    lines = []
    for kind in KINDS:
        for scope in SCOPES:
            best = wins[(wins["kind"] == kind) & (wins["scope"] == scope)]["distance"].value_counts()
            counts = ", ".join(f"{name} {count}" for name, count in best.items())
            lines.append(f"- Least TVD, {kind}, {scope}: {counts} (families).")
    return "\n".join(lines)


def _whole(quality: pd.DataFrame) -> pd.DataFrame:
    on_base = quality[quality["family"].isin(quality.loc[quality["whole"], "family"])]
    wide = on_base.pivot_table(
        index="distance", columns=["scope", "whole"], values="tvd", sort=False
    ).dropna()
    found = {
        f"{'whole' if whole else 'fractional'}, {scope}": wide[scope, whole]
        for scope in SCOPES
        for whole in (False, True)
    }
    order = [name for name in quality["distance"].unique() if name in wide.index]
    return pd.DataFrame(found).loc[order].rename_axis("distance").reset_index()


def _on_whole(table: pd.DataFrame) -> str:
    lines = []
    for scope in SCOPES:
        moved = (table[f"whole, {scope}"] - table[f"fractional, {scope}"]).abs().set_axis(table["distance"])
        lines.append(
            f"- {TITLES[scope]}: being whole changes the mean TVD by at most {moved.max():.4f} "
            f"({_all_at(moved, moved.max())})."
        )
    return "\n".join(lines)


def _kind_of(whole: bool) -> str:
    return "whole" if whole else "fractional"


def _spreads(spread: pd.DataFrame) -> pd.DataFrame:
    named = spread.assign(table=spread["whole"].map(_kind_of))
    return named.groupby(["distance", "table", "scope"])["spread"].agg(["mean", "max"]).reset_index()


def _on_spread(spread: pd.DataFrame) -> str:
    most = _first(spread.sort_values("spread", ascending=False))
    widest = spread.groupby(["distance", "whole"])["spread"].max()
    single = [f"{name} ({_kind_of(whole)})" for name, whole in widest[widest < 1e-6].index]
    return (
        f"- Widest: {most['distance']} ({_kind_of(most['whole'])}, {most['scope']}) on {most['family']}: the "
        f"mutual information ranges at least from {most['mi_low']:.3f} to {most['mi_high']:.3f} bits, the "
        f"truth being {most['mi_true']:.3f}.\n"
        f"- No spread found, to 6 digits: {', '.join(single) or 'none'}."
    )


def _on_factors(factors: pd.DataFrame) -> str:
    keeps = factors[(factors["off_totals"] == 0) & factors["factor"].notna()]
    found = []
    for norm, rows in keeps.groupby("norm"):
        best = _first(rows.sort_values("factor"))
        equal = rows[np.isclose(rows["factor"], best["factor"], rtol=1e-9)]
        names = _listed(equal["rounding"].tolist())
        comes = "comes closest" if len(equal) == 1 else "come equally close"
        found.append(
            f"- {norm}: of the roundings that keep all totals, {names} {comes}, "
            f"{best['factor']:.4f} of the optimum on average, {equal['largest'].max():.4f} at worst."
        )
    broken = factors[factors["off_totals"] > 0].groupby("rounding")["off_totals"].mean()
    for name, share in broken.items():
        found.append(f"- {name} breaks totals in {share:.0%} of its tables.")
    counts = factors.groupby("rounding", sort=False)[["impossible", "tables"]].sum()
    for name, lost, made in counts[counts["impossible"] > 0].itertuples(name=None):
        found.append(f"- {name} was impossible for {lost} of {lost + made} tables.")
    return "\n".join(found)


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _first(frame: pd.DataFrame) -> dict[str, Any]:
    return {str(column): frame[column].iloc[0] for column in frame}


def as_markdown(frame: pd.DataFrame) -> str:
    """Write a table as Markdown, numbers with four decimals."""
    head = "| " + " | ".join(map(str, frame.columns)) + " |"
    rule = "|" + " --- |" * len(frame.columns)
    lines = ["| " + " | ".join(_cell(value) for value in row) + " |" for row in frame.itertuples(index=False)]
    return "\n".join([head, rule, *lines])


def _cell(value: object) -> str:
    if isinstance(value, float):
        return "-" if value != value else f"{value:.4f}"
    return str(value)

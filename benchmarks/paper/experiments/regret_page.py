"""The accuracy lost by every criterion as a page: every number on it is computed from the tables."""

from __future__ import annotations

import numpy as np
import pandas as pd

from benchmarks.paper.experiments.base import Tables
from benchmarks.paper.experiments.criteria import (
    AUTO_RACE,
    AUTO_SCORES,
    AUTO_TABLES,
    MEASURES,
    SAMPLED_MODEL,
    SCORES,
    WHOLE_MODEL,
)
from benchmarks.paper.findings import as_markdown

BEST_SINGLE, RANDOM = "best single pick", "random pick"
MEAN = "mean"
"""Of the data sets."""

_INTRODUCTION = """\
# Does the advice hold for models?

```sh
.venv/bin/python -m benchmarks.paper regret --data path/to/folders -o out
```

This page is the file `out/regret.md` that the command writes. The advice is about configurations; people
train models. *Regret* is the accuracy, in points of a hundred, that the pick of a criterion loses to the best
configuration of a classifier, mean over {classifiers}. Accuracies are means over {splits}
of the records into 70% to train on and 30% to test on. The best of many noisy accuracies is too high by
chance, so regrets are rather too large than too small. Configurations: {sizes}."""

_COLUMNS = """\
*needs* is what a criterion is computed from: tables of an attribute and the label, counts of pairs of
attributes, or the rows themselves. *tau* is Kendall's tau-b of the order of all configurations with their
accuracies, and with their held-out log-losses for the classifiers that give probabilities, mean over
classifiers and data sets. *s* is processor seconds, all threads, from the file on disk to the pick, libraries
loaded. Mascara and Sampling mask row by row, as the paper describes them. *{best}* is the configuration
of the highest mean accuracy; no pick for all classifiers loses less, and its time is that of training all of
them on one split. *{random}* is the mean over the configurations."""


def write_page(tables: Tables) -> str:
    """Write the page as Markdown."""
    summary, picks = tables["regret"], tables["picks"]
    classifiers = picks.columns[picks.columns.str.startswith("regret, ")].str.removeprefix("regret, ")
    splits = int(tables["spread"]["splits"].iloc[0])
    sizes = tables["accuracy"].groupby("dataset", sort=False)["configuration"].nunique()
    parts = [
        _INTRODUCTION.format(
            classifiers=", ".join(classifiers),
            splits="one split" if splits == 1 else f"{splits} splits",
            sizes=", ".join(f"{size} of {dataset}" for dataset, size in sizes.items()),
        ),
        "## What each pick loses",
        as_markdown(_shown(summary)),
        _COLUMNS.format(best=BEST_SINGLE, random=RANDOM),
        *_on_advice(summary),
        *_on_criteria(summary),
        *_on_time(summary),
        *_on_noise(tables["spread"]),
        "## What is picked",
        as_markdown(_picked(picks)),
    ]
    return "\n\n".join(parts) + "\n"


def _shown(summary: pd.DataFrame) -> pd.DataFrame:
    """The summary with short headings and few digits."""
    table = summary[["method", "needs"]].copy()
    for column in summary.columns[2:]:
        name = column.removeprefix("regret, ").replace("cpu, ", "s, ")
        table[name] = [_number(value, seconds=column.startswith("cpu")) for value in summary[column]]
    return table


def _picked(picks: pd.DataFrame) -> pd.DataFrame:
    """Each pick, with its regret and standard error."""
    rows = picks[picks["configuration"] != ""]
    text = [
        f"{row['configuration']} ({row['regret']:.2f}"
        + (")" if pd.isna(row["standard error"]) else f" ± {row['standard error']:.2f})")
        for _, row in rows.iterrows()
    ]
    wide = rows.assign(text=text).set_index(["method", "dataset"])["text"].unstack()  # noqa: PD010
    return wide.reindex(index=rows["method"].unique(), columns=rows["dataset"].unique()).reset_index()


def _on_advice(summary: pd.DataFrame) -> list[str]:
    lost = summary.set_index("method")[f"regret, {MEAN}"]
    each = summary.set_index("method").filter(like="regret, ").drop(columns=f"regret, {MEAN}")
    worst = each.loc[AUTO_SCORES]
    unlucky = [
        f"{dataset.removeprefix('regret, ')} ({method.removeprefix('auto, ')}: "
        f"{each.loc[method, dataset]:.2f} against {each.loc[RANDOM, dataset]:.2f})"
        for dataset in each.columns.astype(str)
        for method in (AUTO_SCORES, AUTO_RACE, AUTO_TABLES)
        if each.loc[method, dataset] > each.loc[RANDOM, dataset]
    ]
    return [
        f"**Advice without a named measure** (`auto`) loses {lost[AUTO_SCORES]:.2f} points on average where "
        f"scores are shared (at most {worst.max():.2f}, on {str(worst.idxmax()).removeprefix('regret, ')}), "
        f"{lost[AUTO_RACE]:.2f} where a race is shared, and {lost[AUTO_TABLES]:.2f} from tables alone. A "
        f"random pick loses {lost[RANDOM]:.2f}, the best single pick {lost[BEST_SINGLE]:.2f}."
        + (f" It loses more than a random pick on {', '.join(unlucky)}." if unlucky else "")
    ]


def _on_criteria(summary: pd.DataFrame) -> list[str]:
    lost = summary.set_index("method")[f"regret, {MEAN}"]
    tau = summary.set_index("method")["tau, accuracy"]
    counts = [name for name in SCORES if name != "race"]

    def from_least(names: tuple[str, ...] | list[str]) -> str:
        ordered = lost[list(names)].sort_values(kind="stable")
        return ", ".join(f"`{name}` {value:.2f}" for name, value in ordered.items())

    baselines = [name for name in lost.index if name.startswith(("mascara", "sampling"))]
    others = ", ".join(f"{name.replace(', ', ' by ')} {lost[name]:.2f}" for name in baselines)
    return [
        f"**Criteria**, from the least regret: of single tables {from_least(MEASURES)}; of pairs "
        f"{from_least(counts)}. The race loses {lost['race']:.2f}, logistic regression on 2,000 rows of "
        f"every configuration {lost[SAMPLED_MODEL]:.2f}, on all rows {lost[WHOLE_MODEL]:.2f}; the paper's "
        f"baselines: {others}. Highest tau with the accuracies: {_highest(tau)}."
    ]


def _highest(tau: pd.Series) -> str:
    ordered = tau.drop([BEST_SINGLE, RANDOM]).sort_values(ascending=False, kind="stable").head(3)
    return ", ".join(f"{name} {value:.2f}" for name, value in ordered.items())


def _on_time(summary: pd.DataFrame) -> list[str]:
    seconds = (
        summary.set_index("method")
        .filter(like="cpu, ")
        .rename(columns=lambda name: name.removeprefix("cpu, "))
    )
    sentences = []
    for method, other in ((AUTO_SCORES, SAMPLED_MODEL), ("race", SAMPLED_MODEL), ("race", WHOLE_MODEL)):
        ratios = seconds.loc[other] / seconds.loc[method]
        text = ", ".join(f"{value:.1f} ({name})" for name, value in ratios.items())
        sentences.append(f"{_capital(other)}: {text} times the processor time of {_quoted(method)}")
    return ["**Time.** " + ". ".join(sentences) + "."]


def _on_noise(spread: pd.DataFrame) -> list[str]:
    if spread["largest standard error"].isna().all():
        return ["One split has no standard error: repeat (`--repeats`) to know how exact the regrets are."]
    text = ", ".join(
        f"{row['largest standard error']:.2f} on {row['dataset']}" for _, row in spread.iterrows()
    )
    return [
        f"**Noise.** The largest standard error of a regret over the splits is {text} (splits share records, "
        "so the true errors are larger). Smaller differences between criteria say nothing."
    ]


def _quoted(method: str) -> str:
    return f"`{method}`" if method in (*MEASURES, *SCORES) else f"`auto`{method.removeprefix('auto')}"


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _number(value: float, *, seconds: bool) -> str:
    if np.isnan(value):
        return ""
    return f"{value:.2g}" if seconds and value < 10 else f"{value:.0f}" if seconds else f"{value:.2f}"

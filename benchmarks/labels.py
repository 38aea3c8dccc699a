"""Labels: whether the order of configurations that mask the label is the true one."""

from __future__ import annotations

import argparse
import itertools
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import aegis_opt as ao
from aegis_opt.harness import true_deviation
from aegis_opt.harness._units import kendall_tau
from benchmarks.inputs import folders, load, machine
from benchmarks.label_cases import Masks, random_case, with_masked_labels

MEASURES = ("mi", "chi2", "g3", "theils_u")
SLACK = 1e-9  # of the largest deviation: rounding noise
_LINE = "{:<12} {:<16} {:<8} {:<14} {:<9} {:>5} {:>9} {:>8} {:>8} {:>9} {:>14}"


class Judged(NamedTuple):
    """How an advice compares with the truth."""

    certified: bool
    regret: float  # as a share of the largest true deviation
    tau: float
    bounded: bool  # whether the proved bounds hold
    size: float  # the estimated deviation, as a share of the true one


def judge(frame: pd.DataFrame, label: str, configurations: Masks, measure: str, histograms: bool) -> Judged:
    """Summarise a table, advise, and compare the order with that of the raw table."""
    summary = ao.summarize(frame, label, configurations, histograms=_named(histograms, frame, configurations))
    advice = ao.advise(summary, ao.get_measure(measure))
    truth = true_deviation(frame, measure, label, configurations)
    ranking = advice.ranking.set_index("configuration").reindex(truth.index)
    largest = max(float(truth.max()), 1e-300)
    slack = SLACK * largest
    low, high = ranking["pud_low"].fillna(-np.inf), ranking["pud_high"].fillna(np.inf)
    tau = kendall_tau(ranking["pud"], truth)
    return Judged(
        advice.certified,
        float(truth[advice.best] - truth.min()) / largest if advice.best else float("nan"),
        float("nan") if tau is None else tau,
        bool(((low <= truth + slack) & (high >= truth - slack)).all()),
        float((ranking["pud"] / truth).replace([np.inf, -np.inf], np.nan).mean()),
    )


def _named(histograms: bool, frame: pd.DataFrame, configurations: Masks) -> bool | list[str]:
    """Name the attributes: texts that are nearly unique are not shared otherwise."""
    masked = {name for masks in configurations.values() for name in masks}
    return [name for name in frame.columns if name in masked] if histograms else False


def random_tables(tables: int) -> None:
    """Print how many of many small tables are ranked as the raw table ranks them."""
    for measure in MEASURES:
        found = [judge(*_case(seed), measure=measure, histograms=bool(seed % 2)) for seed in range(tables)]
        certified = [each for each in found if each.certified]
        taus = [each.tau for each in found if not np.isnan(each.tau)]
        print(
            f"{tables} random tables, {measure}: {len(certified)} certified, largest regret "
            f"{max(each.regret for each in found):.1e}, least tau {min(taus):.4f}, bounds hold for "
            f"{sum(each.bounded for each in found)}",
            flush=True,
        )


def _case(seed: int) -> tuple[pd.DataFrame, str, Masks]:
    frame, configurations = random_case(seed)
    return frame, "y", configurations


def data_sets(root: str | None) -> None:
    """Print a line per data set, way to mask its label, and measure."""
    columns: tuple[Any, ...] = ("data", "label", "masked", "configurations", "measure", "1-D", "certified")
    print(_LINE.format(*columns, "regret", "tau", "bounds", "estimate/true"))
    for folder, always in itertools.product(folders(root), (False, True)):
        data = with_masked_labels(load(folder), always=always)
        masks: Masks = {name: dict(own) for name, own in data.configurations.items()}
        masked = sum(data.label in own for own in masks.values())
        for measure, histograms in itertools.product(MEASURES, (False, True)):
            found = judge(data.frame, data.label, masks, measure, histograms)
            print(
                _LINE.format(
                    *(data.name, data.label, masked, len(masks), measure, "yes" if histograms else "no"),
                    *(str(found.certified), f"{found.regret:.1e}", f"{found.tau:.4f}"),
                    *("hold" if found.bounded else "FAIL", f"{found.size:.3f}"),
                ),
                flush=True,
            )


def main() -> None:
    """Print how far the orders agree; mutual information and chi-square must agree with the truth."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="?", choices=["masked"], default="masked", help="default: masked")
    parser.add_argument("--data", help="a data set's folder, or a folder of such; default: synthetic")
    parser.add_argument("--tables", type=int, default=200, help="how many random tables (default: 200)")
    arguments = parser.parse_args()
    print(machine())
    random_tables(arguments.tables)
    data_sets(arguments.data)


if __name__ == "__main__":
    main()

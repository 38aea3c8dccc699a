"""How well noisy tables are undone: `python -m benchmarks.noise --data FOLDER`.

For every data set and epsilon, each attribute of up to 150 values alone is masked by randomised response and
summarised. `naive` is the total variation distance of the noisy joint table from the raw one, `recovered`
that of the most likely table. `deviation` is the true loss of mutual information of the expected masked
table, `plain` that of the most likely table, `estimate` what the advisor says, `covered` the share of its 90%
intervals that hold the true one. `EM - convex` is the largest difference of a cell between the two solvers,
as a share of the records. At the end, 200 random channels: the largest optimality gap, in nats per record.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import pandas as pd

import aegis_opt as ao
from benchmarks.inputs import Input, folders, load, machine

EPSILONS = (0.5, 1.0, 2.0)
MOST_VALUES = 150
_LINE = "{:<12} {:>7} {:>10} {:>6} {:>9} {:>6} {:>9} {:>6} {:>8} {:>7} {:>11} {:>5}"


def attributes(data: Input) -> list[str]:
    """Attributes whose noise is tried: those of more than one value, and not of too many."""
    return [name for name in data.attributes if 1 < data.frame[name].nunique(dropna=False) <= MOST_VALUES]


def figures(data: Input, attribute: str, epsilon: float, seed: int, *, convex: bool) -> dict[str, float]:
    """Mask one attribute, recover its table, and compare with the truth."""
    frame, mi = data.frame[[attribute, data.label]], ao.get_measure("mi")
    mask = ao.RandomizedResponse(epsilon=epsilon, seed=seed)
    summary = ao.summarize(frame, data.label, {"noise": {attribute: mask}})
    raw = ao.summarize(frame, data.label, {"open": {attribute: ao.Identity()}})
    truth = raw.masked_table("open", attribute).joint.astype(float)
    table = summary.masked_table("noise", attribute)
    problem = summary.problem(attribute)
    fitted = ao.reconstruct(problem)
    row = ao.advise(summary, "mi").ranking.iloc[0]
    assert table.channel is not None
    deviation = float(mi(truth) - mi(table.channel @ truth))
    found = {
        "naive": float(ao.tvd(table.joint, truth)),
        "recovered": float(ao.tvd(fitted.table, truth)),
        "deviation": deviation,
        "plain": float(mi(fitted.values) - mi(table.channel @ fitted.values)),
        "estimate": float(row["pud"]),
        "covered": float(row["pud_low"] <= deviation <= row["pud_high"]),
        "gap": float(fitted.gap or 0.0),
    }
    if convex:
        other = ao.reconstruct(problem, solver="convex")
        found["difference"] = float(np.abs(fitted.values - other.values).max() / truth.sum())
    return found


def random_channels(count: int) -> tuple[float, int]:
    """Largest gap of the tables of random channels, and how many were proved."""
    rng = np.random.default_rng(0)
    gaps, proved = [], 0
    for _ in range(count):
        n, k = int(rng.integers(2, 60)), int(rng.integers(1, 6))
        T = rng.dirichlet(np.full(n + int(rng.integers(0, 4)), rng.choice([0.2, 1.0, 3.0])), size=n).T
        table = rng.poisson(rng.gamma(0.5, 40, size=(n, k))) + 1
        joint = np.stack([rng.multinomial(column, T.T).sum(axis=0) for column in table.T], axis=1)
        result = ao.reconstruct(ao.Problem([ao.View(joint=joint, channel=T)]))
        gaps.append(float(result.gap or 0.0))
        proved += result.optimal
    return max(gaps), proved


def main() -> None:
    """Print a line for each data set and epsilon."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", help="folder of data sets; by default synthetic data")
    parser.add_argument("--draws", type=int, default=2, help="of the noise (default 2)")
    arguments = parser.parse_args()
    print(machine())
    head = ("data", "epsilon", "attributes", "naive", "recovered", "ratio", "deviation", "plain")
    print(_LINE.format(*head, "estimate", "covered", "EM - convex", "s"))
    every = []
    for folder in folders(arguments.data):
        data = load(folder)
        names = attributes(data)
        for epsilon in EPSILONS:
            start = time.perf_counter()
            rows = [
                figures(data, name, epsilon, seed, convex=seed == 0)
                for name in names
                for seed in range(arguments.draws)
            ]
            frame = pd.DataFrame(rows)
            every.append(frame)
            _print(data.name, f"{epsilon:g}", len(names), frame, time.perf_counter() - start)
    _print("all", "", 0, pd.concat(every), 0.0)
    largest, proved = random_channels(200)
    print(f"200 random channels: {proved} proved, largest gap {largest:.1e} nats per record")


def _print(name: str, epsilon: str, count: int, frame: pd.DataFrame, seconds: float) -> None:
    mean = frame.mean()
    texts = [f"{mean[column]:.3f}" for column in ("naive", "recovered")]
    texts.append(f"{mean['recovered'] / mean['naive']:.2f}")
    texts += [f"{mean[column]:.3f}" for column in ("deviation", "plain", "estimate")]
    texts += [f"{mean['covered']:.2f}", f"{frame['difference'].max():.0e}", f"{seconds:.0f}"]
    print(_LINE.format(name, epsilon, count or "", *texts), flush=True)


if __name__ == "__main__":
    main()

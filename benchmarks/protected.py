"""How far the order of protected summaries is from the true one: `python -m benchmarks.protected`.

For every data set, epsilon and draw of geometric noise: Kendall's tau between the true order of the
configurations and that of the protected tables, reconciled as `advise` does it, and without reconciliation
(each masked table by itself, negative counts as 0). The same for controlled rounding to base 5. `covered` is
the share of the intervals of differences that hold the true one, `as good` how many configurations cannot be
told from the winner. The values of each column are taken as its public domain, and the draws come from seeds:
an experiment, not a release.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from scipy.stats import kendalltau

import aegis_opt as ao
from aegis_opt.measures import Measure
from aegis_opt.privacy import ControlledRounding, DifferentialPrivacy, Protection
from aegis_opt.summary import ProtectedSummary
from benchmarks.inputs import Input, folders, load, machine

EPSILONS = (0.5, 1.0, 2.0)
MEASURES = ("mi", "g3", "mi_loo")
_LINE = "{:<12} {:<12} {:<7} {:>10} {:>15} {:>15} {:>9} {:>8} {:>9}"


def public_domains(data: Input) -> dict[str, list[object]]:
    """The values of each column, the label's too, with None where some are missing."""
    found: dict[str, list[object]] = {}
    for name in [*data.attributes, data.label]:
        column = data.frame[name]
        found[name] = [*column.dropna().unique().tolist(), *([None] if column.isna().any() else [])]
    return found


def unreconciled_scores(measure: Measure, summary: ProtectedSummary) -> np.ndarray:
    """Mean measure of the masked tables of each configuration, each table by itself."""
    scores = []
    for name in summary.configurations:
        tables = (np.maximum(summary.masked_table(name, a).joint, 0) for a in summary.attributes)
        scores.append(np.mean([float(measure(t)) if t.any() else 0.0 for t in tables]))
    return np.array(scores) if measure.higher_is_better else -np.array(scores)


def lines(data: Input, protections: dict[str, list[Protection]]) -> list[str]:
    """Return a line for each protection and measure: means over the draws."""
    exact = ao.Advisor(ao.summarize(data.frame, data.label, data.configurations))
    truths = {name: exact.advise(ao.get_measure(name)).masked.mean(axis=1) for name in MEASURES}
    domains = public_domains(data)
    found = []
    for what, draws in protections.items():
        taus: dict[str, list[tuple[float, ...]]] = {name: [] for name in MEASURES}
        for protect in draws:
            summary = ao.summarize(
                data.frame, data.label, data.configurations, protect=protect, domains=domains
            )
            advisor = ao.Advisor(summary)
            for name in MEASURES:
                measure = ao.get_measure(name)
                sign = 1 if measure.higher_is_better else -1
                true = sign * truths[name]
                start = time.perf_counter()
                advice = advisor.advise(measure)
                seconds = time.perf_counter() - start
                ranking = advice.ranking.set_index("configuration")
                behind = true[str(advice.best)] - true[ranking.index]
                inside = (ranking["difference_low"] <= behind + 1e-12) & (
                    behind - 1e-12 <= ranking["difference_high"]
                )
                reconciled = sign * advice.masked.mean(axis=1)[true.index]
                taus[name].append(
                    (
                        kendalltau(true, reconciled).statistic,
                        kendalltau(true, unreconciled_scores(measure, summary)).statistic,
                        inside.iloc[1:].mean(),
                        len(advice.equivalent),
                        seconds,
                    )
                )
        scale = summary.protection.scale
        for name, values in taus.items():
            with_it, without, covered, equivalent, seconds = np.mean(values, axis=0)
            cells = f"{scale:.3g}", f"{with_it:.3f}", f"{without:.3f}", f"{covered:.0%}"
            found.append(_LINE.format(data.name, what, name, *cells, f"{equivalent:.1f}", f"{seconds:.2f}"))
    return found


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", help="a data set's folder, or a folder of such; default: synthetic")
    parser.add_argument("--draws", type=int, default=3, help="draws of the noise (default 3)")
    arguments = parser.parse_args()
    print(machine())
    seeds = range(arguments.draws)
    protections: dict[str, list[Protection]] = {
        f"epsilon {epsilon:g}": [DifferentialPrivacy(epsilon, seed=seed) for seed in seeds]
        for epsilon in EPSILONS
    }
    protections["base 5"] = [ControlledRounding(5, seed=seed) for seed in seeds]
    columns = "data", "protection", "by", "scale", "tau reconciled", "tau without", "covered", "as good"
    print(_LINE.format(*columns, "seconds"))
    for folder in folders(arguments.data):
        print("\n".join(lines(load(folder), protections)), flush=True)


if __name__ == "__main__":
    main()

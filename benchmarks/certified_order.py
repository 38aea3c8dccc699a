"""Whether the advisor's order agrees with the true deviation, which only the raw table gives."""

from __future__ import annotations

import argparse

import numpy as np
from scipy.stats import kendalltau

import aegis_opt as ao
from aegis_opt.advisor import Advisor
from benchmarks.inputs import folders, load, machine, true_deviation


def main() -> None:
    """Print regret, Kendall's tau and the share of the true magnitude, per data set, measure, histograms."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", help="a data set's folder, or a folder of such; default: synthetic")
    arguments = parser.parse_args()
    print(machine())
    columns = ("data", "measure", "1-D", "best", "certified", "regret", "tau", "estimate/true")
    header = (*columns, "single view", "fits")
    print(("{:<12} {:<7} {:<4} {:<9} {:<9} {:>8} {:>7} {:>13}  {:<21}  {}").format(*header))
    for folder in folders(arguments.data):
        data = load(folder)
        truth = {measure: true_deviation(data, measure) for measure in ("mi", "chi2", "g3")}
        for histograms in (True, False):
            summary = ao.summarize(data.source, data.label, data.configurations, histograms=histograms)
            advisor = Advisor(summary)
            for measure, true in truth.items():
                advice = advisor.advise(measure)
                estimated = advice.ranking.set_index("configuration")["pud"].reindex(true.index)
                scale = float(true.max())
                tau = kendalltau((true / scale).round(9), (estimated / scale).round(9)).statistic
                single = advisor.advise(measure, scope="single")
                refused = single.best is None and any("degenerate" in w for w in single.warnings)
                fits = advice.attributes["method"].value_counts()
                print(
                    f"{data.name:<12} {measure:<7} {'yes' if histograms else 'no':<4} {advice.best!s:<9} "
                    f"{advice.certified!s:<9} {true[str(advice.best)] - true.min():8.1e} {tau:7.4f} "
                    f"{float(np.mean(estimated / true)):13.3f}  "
                    f"{'no winner: degenerate' if refused else 'names ' + str(single.best):<21}  "
                    f"{', '.join(f'{n} {method}' for method, n in fits.items())}"
                )


if __name__ == "__main__":
    main()

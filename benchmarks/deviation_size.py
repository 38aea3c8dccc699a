"""How close estimates of the deviation come to its true size, with and without drawn tables."""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import kendalltau

from aegis_opt.advisor import Advice, Advisor
from aegis_opt.harness._truth import ScannedCase, scan_case
from aegis_opt.measures import get_measure
from aegis_opt.rounding import RoundingName
from aegis_opt.solvers.registry import SolverName, available_solvers
from benchmarks.inputs import folders, load, machine

VARIANTS: tuple[tuple[SolverName, RoundingName | None], ...] = (
    ("ipf", None),
    ("ipf", "drawn"),
    ("smooth", None),
    ("smooth", "drawn"),
    ("auto", "drawn"),
)
NAMED = {  # ordered attributes whose values are not nearly unique
    "air_quality": ("Temperature", "Humidity", "PM2.5", "PM10", "NO2", "SO2", "Population_Density"),
    "income": ("age", "education_num", "hours_per_week"),
}
MEASURE = get_measure("mi")


@dataclass(frozen=True, eq=False)
class Outcome:
    """What one variant says about one data set, and what is true."""

    advice: Advice
    attributes: pd.DataFrame  # by attribute: true, ratio, covered (of the 5% to 95% interval)
    deviation: pd.DataFrame  # by configuration, likewise
    seconds: float

    @classmethod
    def of(
        cls, advisor: Advisor, case: ScannedCase, solver: SolverName, rounding: RoundingName | None, seed: int
    ) -> Outcome:
        """Ask the advisor, and look at the truth."""
        start = time.perf_counter()
        advice = advisor.advise(MEASURE, solver, "pooled", rounding, seed)
        seconds = time.perf_counter() - start
        true = {name: float(MEASURE.many([table])[0]) for name, table in case.raw.items()}
        attributes = advice.attributes.set_index("attribute")
        ranking = advice.ranking.set_index("configuration")
        return cls(
            advice,
            _compared(attributes, "estimate", pd.Series(true)),
            _compared(ranking, "pud", case.true_deviation(MEASURE)),
            seconds,
        )

    @property
    def tau(self) -> float:
        """Kendall's tau of the ranks and the true deviation."""
        ranks = self.advice.ranking.set_index("configuration")["rank"]
        return float(kendalltau(ranks, self.deviation["true"].reindex(ranks.index)).statistic)

    @property
    def regret(self) -> float:
        """True deviation of the pick minus the least one."""
        true = self.deviation["true"]
        return float(true[self.advice.best or ""] - true.min())


def _compared(estimates: pd.DataFrame, column: str, true: pd.Series) -> pd.DataFrame:
    """Compare estimates with the truth; an attribute that is fully known, or tells nothing, has no ratio."""
    true = true.reindex(estimates.index)
    found = pd.DataFrame({"true": true, "ratio": estimates[column] / true.where(true > 0)})
    if f"{column}_5" in estimates:
        slack = 1e-9 * true.abs()
        found["covered"] = (estimates[f"{column}_5"] <= true + slack) & (
            estimates[f"{column}_95"] >= true - slack
        )
    return found


def print_outcomes(name: str, outcomes: dict[str, Outcome]) -> None:
    """Print estimate / truth per named attribute, then what holds for all attributes and configurations."""
    first = next(iter(outcomes.values()))
    attributes = [a for a in NAMED.get(name, first.attributes.index) if a in first.attributes.index]
    print(f"\n{name}: {len(first.deviation)} configurations, pooled, histograms shared, mi")
    line = "{:<32}" + "{:>14}" * (len(outcomes) + 1)
    print(line.format("estimate / truth", "truth", *outcomes))
    for attribute in attributes:
        ratios = [f"{outcome.attributes['ratio'][attribute]:.3f}" for outcome in outcomes.values()]
        print(line.format(attribute, f"{first.attributes['true'][attribute]:.4f}", *ratios))
    each = [outcome.attributes["ratio"].reindex(attributes) for outcome in outcomes.values()]
    print(line.format("mean of these", "", *(f"{ratios.mean():.3f}" for ratios in each)))
    print(line.format("farthest of these from 1", "", *(f"{abs(ratios - 1).max():.3f}" for ratios in each)))
    rows = {
        "deviation, mean over configs": [f"{o.deviation['ratio'].mean():.3f}" for o in outcomes.values()],
        "5% to 95% covers, configs": [_share(o.deviation) for o in outcomes.values()],
        "5% to 95% covers, attributes": [_share(o.attributes) for o in outcomes.values()],
        "5% to 95% covers, these": [_share(o.attributes.reindex(attributes)) for o in outcomes.values()],
        "certified": ["yes" if o.advice.certified else "no" for o in outcomes.values()],
        "tau": [f"{o.tau:.4f}" for o in outcomes.values()],
        "regret": [f"{o.regret:.1e}" for o in outcomes.values()],
        "seconds": [f"{o.seconds:.2f}" for o in outcomes.values()],
    }
    for title, cells in rows.items():
        print(line.format(title, "", *cells))
    title, last = list(outcomes.items())[-1]
    missing = (last.attributes["true"] * (1.0 - last.attributes["ratio"])).sort_values(ascending=False)
    shown = ", ".join(f"{attribute} {bits:.3f}" for attribute, bits in missing.head(3).items())
    print(f"bits that {title} misses: {missing.sum():.3f} in all attributes; most in {shown}")


def _share(compared: pd.DataFrame) -> str:
    if "covered" not in compared:
        return "-"
    return f"{int(np.sum(compared['covered']))} of {len(compared)}"


def main() -> None:
    """Print a table per data set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", help="a data set's folder, or a folder of such; default: synthetic")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    print(machine())
    for folder in folders(arguments.data):
        data = load(folder)
        case = scan_case(data.case)
        advisor = Advisor(case.summary)
        outcomes = {
            f"{solver}{'' if rounding is None else ' ' + rounding}": Outcome.of(
                advisor, case, solver, rounding, arguments.seed
            )
            for solver, rounding in VARIANTS
            if solver in available_solvers()
        }
        print_outcomes(data.name, outcomes)


if __name__ == "__main__":
    main()

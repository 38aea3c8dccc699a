"""Whether the advisor's order agrees with the true deviation, which only the raw table gives."""

from __future__ import annotations

import argparse

from aegis_opt.harness import ComparisonSettings, Results, run_comparison
from aegis_opt.harness._schema import NO_WINNER
from benchmarks.inputs import folders, load, machine

MEASURES = ("mi", "chi2", "g3")
_LINE = "{:<12} {:<7} {:<4} {:<9} {:<9} {:>8} {:>7} {:>13}  {:<21}  {}"


def lines(results: Results) -> list[str]:
    """Return a line per measure, with and without histograms: the advice, pooled and single, and the fits."""
    found = []
    for histogram in (True, False):
        tables = results.reconstructions.query("scope == 'pooled' and histogram == @histogram")
        fits = tables["method"].value_counts()
        for measure in MEASURES:
            same = "histogram == @histogram and measure == @measure"
            runs = results.advice.query(same).set_index("scope")
            pooled, single = runs.loc["pooled"], runs.loc["single"]
            puds = results.rankings.query(f"scope == 'pooled' and {same}")
            refused = single["status"] == NO_WINNER and str(single["error"]).startswith("degenerate")
            cells = (
                *(pooled["dataset"], measure, "yes" if histogram else "no", pooled["best"]),
                *(str(pooled["certified"]), f"{pooled['regret']:.1e}", f"{pooled['tau']:.4f}"),
                f"{(puds['pud'] / puds['pud_true']).mean():.3f}",
                "no winner: degenerate" if refused else f"names {single['best']}",
                ", ".join(f"{n} {method}" for method, n in fits.items()),
            )
            found.append(_LINE.format(*cells))
    return found


def main() -> None:
    """Print regret, Kendall's tau and the share of the true magnitude, per data set, measure, histograms."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", help="a data set's folder, or a folder of such; default: synthetic")
    arguments = parser.parse_args()
    print(machine())
    columns = ("data", "measure", "1-D", "best", "certified", "regret", "tau", "estimate/true")
    print(_LINE.format(*columns, "single view", "fits"))
    for folder in folders(arguments.data):
        results = run_comparison([load(folder).case], ComparisonSettings(measures=MEASURES))
        print("\n".join(lines(results)), flush=True)


if __name__ == "__main__":
    main()

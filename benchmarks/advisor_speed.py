"""50 configurations x 3 measures through the advisor, against masking rows and fitting with ipfn.

The reference does what one would write from the paper alone: for every configuration and attribute it masks
the rows with pandas, cross-tabulates, fits each group with ipfn and evaluates the measures. Both run in one
process, one after the other; the ratio is what matters.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import resource
import time

import numpy as np
import pandas as pd

import aegis_opt as ao
from benchmarks.inputs import Input, load, machine, masked_rows

MEASURES = ("mi", "chi2", "g3")


def library(data: Input) -> dict[str, ao.Advice]:
    """Summarise once, advise for each measure; the rows are in memory already, as for the reference."""
    summary = ao.summarize(data.frame, data.label, data.configurations)
    return {measure: ao.advise(summary, measure=measure) for measure in MEASURES}


def reference(data: Input, configurations: list[str]) -> dict[str, pd.Series]:
    """Mask, cross-tabulate, fit, measure: every configuration and attribute on its own."""
    from ipfn import ipfn

    rho = {measure: ao.get_measure(measure) for measure in MEASURES}
    found = {measure: pd.Series(0.0, index=configurations) for measure in MEASURES}
    label = data.frame[data.label]
    for configuration in configurations:
        for name in data.attributes:
            column = data.frame[name]
            masked = masked_rows(column, data.configurations[configuration].get(name, ao.Identity()))
            joint = pd.crosstab(masked, label).to_numpy().astype(float)
            rows = column.value_counts().sort_index()
            groups = masked.groupby(column).first().reindex(rows.index).to_numpy()
            fitted = []
            for group in range(len(joint)):
                totals = rows.to_numpy()[groups == group].astype(float)
                start = np.ones((len(totals), joint.shape[1]))
                with contextlib.redirect_stdout(io.StringIO()), np.errstate(all="ignore"):
                    fitted.append(ipfn.ipfn(start, [totals, joint[group]], [[0], [1]]).iteration())
            table = np.concatenate(fitted)
            for measure in MEASURES:
                gap = abs(float(rho[measure](table)) - float(rho[measure](joint)))
                found[measure][configuration] += gap / len(data.attributes)
    return found


def main() -> None:
    """Print both times, their ratio and the memory of the library's run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", help="folder with data.csv and configurations.json; default: synthetic")
    parser.add_argument(
        "--sample",
        type=int,
        default=0,
        help="configurations the reference runs (its time is scaled up); 0: all",
    )
    arguments = parser.parse_args()
    data = load(arguments.data)
    library(data)  # imports and caches of both sides are not what is compared
    start = time.perf_counter()
    advice = library(data)
    ours = time.perf_counter() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    names = list(data.configurations)
    chosen = names[: arguments.sample] if arguments.sample else names
    start = time.perf_counter()
    reference(data, chosen)
    theirs = (time.perf_counter() - start) * len(names) / len(chosen)
    print(machine())
    print(
        f"{data.name}: {len(data.frame)} rows, {len(data.attributes)} attributes, "
        f"{len(names)} configurations, {len(MEASURES)} measures"
    )
    print(f"  library (summarize + advise)      {ours:9.2f} s   peak memory {memory:.0f} MiB")
    scaled = f" (scaled from {len(chosen)} configurations)" if len(chosen) < len(names) else ""
    print(f"  pandas + crosstab + ipfn          {theirs:9.2f} s{scaled}")
    print(f"  ratio                             {theirs / ours:9.0f} x")
    for measure, one in advice.items():
        print(f"  {measure}: best {one.best}, certified {one.certified}")


if __name__ == "__main__":
    main()

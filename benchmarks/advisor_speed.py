"""50 configurations x 3 measures through the advisor, against masking rows and fitting with ipfn.

The reference does what one would write from the paper alone: for every configuration and attribute it masks
the rows with pandas, cross-tabulates, fits the attribute with ipfn and evaluates the measures. All run in
one process, one after the other; the ratios are what matters.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import resource
import time
import warnings
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pandas as pd

import aegis_opt as ao
from aegis_opt.advisor import Advisor
from benchmarks.inputs import Input, load, machine, masked_rows

MEASURES: tuple[ao.measures.MeasureName, ...] = ("mi", "chi2", "g3")
Fit = Callable[[pd.Series, pd.Series, pd.DataFrame], npt.NDArray[np.float64]]


def library(data: Input) -> dict[str, ao.Advice]:
    """Summarise once, advise for each measure; the rows are in memory already, as for the reference."""
    advisor = Advisor(ao.summarize(data.frame, data.label, data.configurations, histograms=True))
    return {measure: advisor.advise(measure) for measure in MEASURES}


def reference(data: Input, configurations: list[str], fit: Fit) -> None:
    """Mask, cross-tabulate, fit, measure: every configuration and attribute on its own."""
    rho = [ao.get_measure(measure) for measure in MEASURES]
    label = data.frame[data.label]
    for configuration in configurations:
        for name in data.attributes:
            column = data.frame[name]
            masked = masked_rows(column, data.configurations[configuration].get(name, ao.Identity()))
            joint = pd.crosstab(masked, label)
            rows = column.value_counts().sort_index()
            with contextlib.redirect_stdout(io.StringIO()), np.errstate(all="ignore"):
                table = fit(rows, masked.groupby(column).first(), joint)
            for measure in rho:
                abs(float(measure(table)) - float(measure(joint.to_numpy())))


def per_attribute(rows: pd.Series, groups: pd.Series, joint: pd.DataFrame) -> npt.NDArray[np.float64]:
    """One ipfn call for the whole attribute, in the form it has for such totals: a frame of cells."""
    from ipfn import ipfn

    k = joint.shape[1]
    cells = pd.DataFrame({"value": np.repeat(rows.index, k), "label": np.tile(joint.columns, len(rows))})
    cells["group"] = cells["value"].map(groups)
    cells["total"] = 1.0
    totals = [
        rows.astype(float).rename_axis("value"),
        joint.stack().astype(float).rename_axis(["group", "label"]),  # noqa: PD013 (a series is wanted)
    ]
    fitted = ipfn.ipfn(cells, totals, [["value"], ["group", "label"]]).iteration()
    table: npt.NDArray[np.float64] = fitted.sort_values(["value", "label"])["total"].to_numpy()
    return table.reshape(-1, k)


def per_group(rows: pd.Series, groups: pd.Series, joint: pd.DataFrame) -> npt.NDArray[np.float64]:
    """One ipfn call per group on a plain array: kinder to ipfn, for who knows that groups are independent."""
    from ipfn import ipfn

    counts, member = rows.to_numpy().astype(float), groups.reindex(rows.index).to_numpy()
    fitted = []
    for group, totals in enumerate(joint.to_numpy().astype(float)):
        inside = counts[member == group]
        start = np.ones((len(inside), len(totals)))
        fitted.append(ipfn.ipfn(start, [inside, totals], [[0], [1]]).iteration())
    return np.concatenate(fitted)


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
    print(machine())
    print(
        f"{data.name}: {len(data.frame)} rows, {len(data.attributes)} attributes, "
        f"{len(names)} configurations, {len(MEASURES)} measures"
    )
    print(f"  library (summarize + advise)          {ours:9.2f} s   peak memory {memory:.0f} MiB")
    warnings.filterwarnings("ignore", module="ipfn")  # ipfn uses pandas in ways that are to go
    for what, fit in [("one call per group", per_group), ("one call per attribute", per_attribute)]:
        chosen = names[: arguments.sample] if arguments.sample else names
        start = time.perf_counter()
        reference(data, chosen, fit)
        theirs = (time.perf_counter() - start) * len(names) / len(chosen)
        scaled = f" (scaled from {len(chosen)} configurations)" if len(chosen) < len(names) else ""
        print(f"  pandas + ipfn, {what:<22} {theirs:9.2f} s   ratio {theirs / ours:.0f} x{scaled}")
    for measure, one in advice.items():
        print(f"  {measure}: best {one.best}, certified {one.certified}")


if __name__ == "__main__":
    main()

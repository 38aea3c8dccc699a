"""What a type checker says of calls: `make types` checks this file, which nothing runs.

A line with ``type: ignore`` holds a typo that must be found: an ignored error that is none is an error.
"""

from pathlib import Path

import numpy as np
import pandas as pd

import aegis_opt as ao


def names_that_exist(problem: ao.Problem, summary: ao.Summary, frame: pd.DataFrame) -> None:
    """Names of this package, and objects for those of other packages, are taken."""
    ao.reconstruct(problem, "convex", norm="hellinger", rounding="controlled", on_conflict="repair")
    ao.reconstruct(problem, ao.get_reconstructor("of-another-package", its_option=3))
    ao.reconstruct(problem, "integer", norm=ao.distances.Lp(1.5), engine="flow")
    ao.advise(summary, "auto", "smooth", "single", "drawn", norm="l1")
    ao.advise(summary, ao.get_measure("of-another-package"))
    ao.Advisor(summary).advise("r2_gcv")
    ao.summarize(frame, "y", {}, share="scores", scores=["race"], measures=["mi_loo"])
    ao.compare(frame, "y", measures=["mi"], norms=["l1", ao.distances.Lp(3)], roundings=[None, "nearest"])
    ao.generate_configurations(frame, "y", strength="light")
    ao.Configuration({}).to_sql("snowflake")
    ao.Truncate("week")


def typos(problem: ao.Problem, summary: ao.Summary, frame: pd.DataFrame) -> None:
    """Every one of these is found."""
    ao.reconstruct(problem, "convx")  # type: ignore[arg-type]
    ao.reconstruct(problem, "convex", norm="l3")  # type: ignore[arg-type]
    ao.reconstruct(problem, rounding="controled")  # type: ignore[arg-type]
    ao.reconstruct(problem, on_conflict="repare")  # type: ignore[arg-type]
    ao.reconstruct(problem, toleranse=1e-3)  # type: ignore[call-arg]
    ao.advise(summary, "mutual")  # type: ignore[call-overload]
    ao.advise(summary, solver="ipff")  # type: ignore[call-overload]
    ao.advise(summary, scope="poled")  # type: ignore[call-overload]
    ao.advise(summary, rounding="draw")  # type: ignore[call-overload]
    ao.advise(summary, norm="kll")  # type: ignore[call-overload]
    ao.Advisor(summary).advise("r2_gvc")  # type: ignore[arg-type]
    ao.summarize(frame, "y", {}, share="score")  # type: ignore[call-overload]
    ao.summarize(frame, "y", {}, share="scores", scores=["rase"])  # type: ignore[call-overload]
    ao.summarize(frame, "y", {}, share="both", measures=["mii"])  # type: ignore[call-overload]
    ao.compare(frame, "y", roundings=["neerest"])  # type: ignore[list-item]
    ao.generate_configurations(frame, "y", strength="lite")  # type: ignore[arg-type]
    ao.Configuration({}).to_sql("oracle")  # type: ignore[arg-type]
    ao.Truncate("weak")  # type: ignore[arg-type]
    ao.MaskingTransformer({}, handle_unknown="ignore")  # type: ignore[arg-type]


def results_have_types(frame: pd.DataFrame, array: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> None:
    """What comes out is known from what goes in."""
    masked: pd.DataFrame = ao.apply_configuration(frame, {})
    read: pd.DataFrame = ao.apply_configuration("people.csv", {})
    written: Path = ao.apply_configuration(frame, {}, output="masked.csv")
    same: np.ndarray[tuple[int, int], np.dtype[np.float64]] = ao.MaskingTransformer({}).transform(array)
    path: str = ao.apply_configuration(frame, {}, output="masked.csv")  # type: ignore[assignment]
    print(masked, read, written, same, path)

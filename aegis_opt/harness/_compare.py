"""Compare solvers, norms and roundings inside the full advisor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aegis_opt.datasets import Dataset
from aegis_opt.errors import InvalidInput
from aegis_opt.harness._run import run_comparison
from aegis_opt.harness._truth import Case

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    import pandas as pd

    from aegis_opt.advisor._estimate import Progress, Scope
    from aegis_opt.harness._run import SolverEntry
    from aegis_opt.measures import Measure


def compare(
    source: object,
    label: str | None = None,
    configurations: Any = None,
    solvers: Sequence[SolverEntry] = ("ipf",),
    measures: Sequence[str | Measure] = ("mi",),
    *,
    norms: Sequence[str] | None = None,
    roundings: Sequence[str | None] | None = None,
    scopes: Sequence[Scope] = ("pooled", "single"),
    histograms: Sequence[bool] = (True, False),
    seeds: Sequence[int] = (0,),
    replicates: int = 1,
    n_jobs: int = 1,
    time_limit: float | None = None,
    output: str | os.PathLike[str] | None = None,
    name: str | None = None,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Run variants of the advisor on raw data and judge each by the truth, which an advisor never sees.

    Every combination of solver (with norm and rounding), scope, histograms, measure and seed is a complete
    run of the advisor. Failures and time-outs are rows too; a solver that is not installed or cannot take
    the problem is a row with status "skipped".

    Parameters
    ----------
    source : path, DataFrame, ..., Dataset or sequence of Dataset
        As `summarize` takes it, with `label` and `configurations`; or data sets that bring their own.
    label, configurations
        As in `summarize`.
    solvers : sequence
        Texts such as "ipf", "integer:l2", "ipf+controlled", "convex:l1+nearest[engine=HIGHS]"; mappings
        with keys solver, norm, rounding and options; configured `Reconstructor` objects. Beside
        `available_solvers()` there are peers to compare with ("ipfn", "humanleague",
        "humanleague-integerise", "sinkhorn") and "random", the floor: a configuration drawn at random.
    measures : sequence of str
        Of `available_measures()`.
    norms, roundings : sequence of str, optional
        Run each solver that leaves its norm (rounding) open with each of these that it can take; "none" is
        no rounding.
    scopes : sequence of {"pooled", "single"}
        As in `advise`.
    histograms : sequence of bool
        With and without the 1-D histograms.
    seeds : sequence of int
        One run each where the tables depend on the seed; the first only where they do not. A solver that
        brings a seed of its own is refused.
    replicates : int
        Of each random estimate, within one run; see `advise`.
    n_jobs : int
        Processes; other than 1 needs joblib, whose `parallel_config` then chooses the backend. Results do
        not depend on it, times do.
    time_limit : float, optional
        Seconds, at most a week, for each advisor run and each reconstruction, which then run in a process of
        their own that is killed when over. A solver that hangs before the work, while it is loaded, is
        stopped a minute later.
    output : path, optional
        Results folder to write as the results come; see `load_results`. A run that was killed is continued
        by the same call. It then also holds each single reconstruction (`compare_reconstructions`).
    name : str, optional
        Of the data set in the results; by default that of the file, its folder, or the `Dataset`.
    progress : callable, optional
        Called with (what, done, of how many).

    Returns
    -------
    DataFrame
        One row per advisor run of this results folder, sorted; among its columns dataset, solver, norm,
        rounding, scope, histogram, measure, seed, best, certified, regret (true PUD of the winner minus the
        least), tau (Kendall's, against the true order), pud_true_mean (what a random choice costs),
        seconds_total and status ("ok", "no winner", "failed", "timed out", "skipped").

    Examples
    --------
    >>> from aegis_opt.datasets import clinic
    >>> found = compare(clinic(500), solvers=["ipf", "random"], scopes=["pooled"], histograms=[True])
    >>> found[["variant", "certified", "status"]].to_dict("list")
    {'variant': ['ipf', 'random'], 'certified': [True, False], 'status': ['ok', 'ok']}
    """
    return run_comparison(
        cases_of(source, label, configurations, name),
        solvers,
        measures,
        norms=norms,
        roundings=roundings,
        scopes=scopes,
        histograms=histograms,
        seeds=seeds,
        replicates=replicates,
        tables=["advice"] if output is None else ["advice", "reconstructions"],
        n_jobs=n_jobs,
        time_limit=time_limit,
        output=output,
        progress=progress,
    ).advice


def compare_reconstructions(
    source: object,
    label: str | None = None,
    configurations: Any = None,
    solvers: Sequence[SolverEntry] = ("ipf",),
    *,
    norms: Sequence[str] | None = None,
    roundings: Sequence[str | None] | None = None,
    scopes: Sequence[Scope] = ("pooled", "single"),
    histograms: Sequence[bool] = (True, False),
    seeds: Sequence[int] = (0,),
    n_jobs: int = 1,
    time_limit: float | None = None,
    output: str | os.PathLike[str] | None = None,
    name: str | None = None,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Reconstruct every masked table with every variant and compare with the raw joint table.

    Parameters
    ----------
    source, label, configurations, solvers, norms, roundings, scopes, histograms, seeds, n_jobs, time_limit, \
output, name, progress
        As in `compare`.

    Returns
    -------
    DataFrame
        One row per configuration ("*" for all together) and attribute; among its columns tvd (to the raw
        table), objective, residual (verified from the problem), status, method, optimal, gap, and seconds to
        build, solve and round. Configurations with the same masked table (column table) share its numbers.

    Examples
    --------
    >>> from aegis_opt.datasets import worked_example
    >>> found = compare_reconstructions(worked_example(), solvers=["ipf", "integer:l2"], histograms=[True])
    >>> found["status"].unique().tolist()
    ['optimal']
    """
    return run_comparison(
        cases_of(source, label, configurations, name),
        solvers,
        ["mi"],
        norms=norms,
        roundings=roundings,
        scopes=scopes,
        histograms=histograms,
        seeds=seeds,
        tables=["reconstructions"],
        n_jobs=n_jobs,
        time_limit=time_limit,
        output=output,
        progress=progress,
    ).reconstructions


def cases_of(source: Any, label: str | None, configurations: Any, name: str | None) -> list[Case]:
    """Return the cases that a caller means: one source, one data set, or several data sets."""
    several = isinstance(source, list | tuple) and all(isinstance(s, Dataset | Case) for s in source)
    if not several:
        return [Case.of(source, label, configurations, name)]
    if label is not None or configurations is not None or name is not None:
        raise InvalidInput(
            "several data sets bring their own label, configurations and name: leave those out"
        )
    return [Case.of(one) for one in source]

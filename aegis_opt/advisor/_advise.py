"""The advisor: rank configurations by predictive utility deviation, from a summary alone."""

from __future__ import annotations

import os
import time
from typing import Any, get_args

import numpy as np

from aegis_opt.advisor._advice import Advice
from aegis_opt.advisor._bounds import Interval, evaluate, utility_intervals
from aegis_opt.advisor._estimate import Estimate, Progress, Scope, estimate
from aegis_opt.advisor._verdict import Verdict
from aegis_opt.errors import InvalidOption
from aegis_opt.measures import Measure, get_measure
from aegis_opt.problem._margin import FloatArray
from aegis_opt.solvers.base import Reconstructor
from aegis_opt.solvers.registry import get_reconstructor
from aegis_opt.summary import Summary

REPLICATES = 20  # of a random estimate, unless asked otherwise


def advise(
    summary: Summary | str | os.PathLike[str],
    measure: str | Measure = "mi",
    solver: str | Reconstructor = "ipf",
    scope: Scope = "pooled",
    rounding: str | None = None,
    seed: int = 0,
    *,
    replicates: int | None = None,
    histograms: bool | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Advice:
    """Rank masking configurations by how much predictive utility they lose.

    The predictive utility deviation of configuration M over attributes A_1..A_m is

        PUD(M) = 1/m sum_i abs(rho(A_i; Y) - rho(M_i(A_i); Y)),

    where rho(M_i(A_i); Y) is computed from the shared masked tables and rho(A_i; Y) from reconstructed ones.

    Parameters
    ----------
    summary : Summary or path
        What the provider shared.
    measure : str
        One of `available_measures()`.
    solver : str
        One of `available_solvers()`.
    scope : {"pooled", "single"}
        "pooled" reconstructs each attribute once from all masked tables together. For a monotone measure its
        order is provably the order of the true deviation. "single" reconstructs each configuration from its
        own view (Algorithm 1 of the Aegis paper); without integrality that estimate is 0 for every
        configuration, and no winner is named.
    rounding : str, optional
        Make fractional tables whole; see `aegis_opt.rounding`.
    seed : int
        Of random roundings and solvers.
    replicates : int, optional
        How often a random estimate is repeated (default 20); 1 for estimates that are not random.
    histograms : bool, optional
        False ignores the 1-D histograms of the summary; True requires them; None uses them where shared.
    progress : callable, optional
        Called with (what, done, of how many).
    **options
        The solver's own options, such as `norm`.

    Returns
    -------
    Advice

    Examples
    --------
    >>> import aegis_opt as ao
    >>> clinic = ao.datasets.clinic(500)
    >>> summary = ao.summarize(clinic.frame, clinic.label, clinic.configurations)
    >>> advice = ao.advise(summary, measure="mi")
    >>> advice.certified, advice.best == advice.ranking["configuration"][0]
    (True, True)

    References
    ----------
    "Aegis: A Correlation-Based Data Masking Advisor for Data-Sharing Ecosystems", SIGMOD 2025.
    """
    if not isinstance(summary, Summary):
        summary = Summary.load(summary)
    if scope not in get_args(Scope):
        raise InvalidOption(f"scope must be 'pooled' or 'single', not {scope!r}")
    chosen = get_measure(measure)
    if isinstance(solver, Reconstructor):
        if rounding is not None or seed != 0:
            raise InvalidOption("the solver is configured already; set rounding and seed there")
        backend = get_reconstructor(solver, **options)
    else:
        backend = get_reconstructor(solver, rounding=rounding, seed=seed, **options)
    repeats = _replicate_count(replicates, backend)
    use_histograms = _use_histograms(summary, histograms)

    start = time.perf_counter()
    tables = {name: [table.joint for table in a.tables] for name, a in summary.attributes.items()}
    masked = evaluate(chosen, tables)
    measured = time.perf_counter()
    estimates = estimate(summary, chosen, backend, scope, repeats, use_histograms, progress)
    solved = time.perf_counter()
    intervals = _intervals(summary, chosen, masked, estimates)
    verdict = Verdict(summary, chosen, scope, backend, masked, estimates, intervals)
    advice = verdict.advice()
    seconds = {"measure": measured - start, "reconstruct": solved - measured}
    advice.seconds.update(seconds | {"rank": time.perf_counter() - solved})
    if progress is not None:
        progress("done", len(summary.attributes), len(summary.attributes))
    return advice


def _replicate_count(replicates: int | None, solver: Reconstructor) -> int:
    if replicates is None:
        return REPLICATES if solver.is_random else 1
    if isinstance(replicates, bool) or not isinstance(replicates, int) or replicates < 1:
        raise InvalidOption(f"replicates must be a whole number from 1 up, not {replicates!r}")
    if replicates > 1 and not solver.is_random:
        raise InvalidOption(
            "this estimate is not random, so replicates would all be equal; ask for a random rounding "
            "(such as rounding='controlled') or leave replicates out"
        )
    return replicates


def _use_histograms(summary: Summary, wanted: bool | None) -> bool:
    if wanted not in (True, False, None):
        raise InvalidOption(f"histograms must be True, False or None (where shared), not {wanted!r}")
    missing = [name for name, attribute in summary.attributes.items() if attribute.histogram is None]
    if wanted and missing:
        raise InvalidOption(
            f"the summary has no histogram of {', '.join(map(repr, missing[:5]))}; make it with "
            "histograms=True, or leave histograms out"
        )
    return wanted is not False


def _intervals(
    summary: Summary, measure: Measure, masked: dict[str, FloatArray], estimates: dict[str, Estimate]
) -> dict[str, Interval]:
    """Proved bounds of the unmasked measure of each attribute; infinite where nothing is proved."""
    if not measure.monotone:
        return {name: Interval(-np.inf, np.inf) for name in summary.attributes}
    intervals = utility_intervals(measure, summary.attributes, masked)
    for name, interval in intervals.items():
        least = _least_information(measure, estimates[name])
        if interval.low < least <= interval.high:
            intervals[name] = Interval(least, interval.high)
    return intervals


def _least_information(measure: Measure, found: Estimate) -> float:
    """Least mutual information of any feasible table, where the estimate proves one.

    With the histogram and the label counts fixed, I(A; Y) = H(A) + H(Y) - H(A, Y), so the table of most
    entropy has the least mutual information; the duality gap bounds what is missing to the exact optimum.
    """
    result, problem = found.reconstructions[0], found.problems[0]
    pooled = len(found.problems) == 1
    uniform = problem.given_prior is None and problem.histogram is not None
    if not (measure.name == "mi" and pooled and uniform and result.norm == "kl" and result.optimal):
        return -np.inf
    slack = (result.gap or 0.0) / np.log(2) + 1e-12
    least: float = measure.many([np.asarray(result.table)])[0] - slack
    return least

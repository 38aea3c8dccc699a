"""Averages over runs: failures are penalised, times have shifted geometric means, profiles are relative."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from aegis_opt._options import float_array, instance, known_name, list_of, number
from aegis_opt.errors import InvalidInput, InvalidOption, UnknownColumn
from aegis_opt.harness._schema import FAILED, NO_WINNER, SKIPPED, TIMED_OUT

RUN = ("dataset", "scope", "histogram", "measure")
"""What identifies the problem of an advisor run, seeds aside."""

RECONSTRUCTION = ("dataset", "scope", "histogram", "attribute", "configuration")
"""What identifies the problem of a reconstruction, seeds aside."""


def penalised(frame: pd.DataFrame, time_limit: float | None, *, longest: float | None = None) -> pd.DataFrame:
    """Fill in the penalty of every run without a result, so that means and profiles can include it.

    ===========  ===============================  ====  =================================================
    status       seconds_total                    tvd   regret
    ===========  ===============================  ====  =================================================
    timed out    the time limit                   1     of the worst configuration
    failed       the time limit; without one      1     of the worst configuration
                 the longest time of the frame,
                 or `longest`; or unknown
    no winner    as measured                            of a random choice, which is what is left
    skipped      left out: nothing was tried
    ===========  ===============================  ====  =================================================

    Parameters
    ----------
    frame : DataFrame
        Rows of `Results.advice` or `Results.reconstructions`; it is not modified.
    time_limit : float or None
        Of the comparison (``meta["settings"]["time_limit"]``).
    longest : float, optional
        Longest time known elsewhere, such as in the other table; for a frame where nothing has a time.

    Returns
    -------
    DataFrame
        Without the skipped rows, and without gaps in tvd and regret; seconds_total is NaN where a run failed
        and no time at all is known.
    """
    for name, seconds in (("time_limit", time_limit), ("longest", longest)):
        if seconds is not None and not (isinstance(seconds, float) and math.isnan(seconds)):
            number(name, seconds, least=0, unit="seconds")
    filled = _of_results(frame, "status")
    filled = filled[filled["status"] != SKIPPED].copy()
    lost = filled["status"].isin([FAILED, TIMED_OUT])
    times = filled["seconds_total"]
    known = (time_limit, times[times > 0].max(), longest)  # 0: a choice at random
    filled.loc[lost, "seconds_total"] = next(filter(pd.notna, known), np.nan)
    if "tvd" in filled:
        filled.loc[lost, "tvd"] = 1.0
    if "regret" in filled:
        least = filled["pud_true_min"]
        undecided = filled["status"] == NO_WINNER
        filled.loc[lost, "regret"] = (filled["pud_true_max"] - least)[lost]
        filled.loc[undecided, "regret"] = (filled["pud_true_mean"] - least)[undecided]
    return filled


def shifted_geometric_mean(values: npt.ArrayLike, shift: float) -> float:
    r"""Mean that neither the largest nor the tiny values dominate.

    .. math:: \exp\left(\frac1n \sum_i \log(t_i + s)\right) - s

    Parameters
    ----------
    values : array_like
        Not negative; failures penalised (`penalised`). NaN is an error: nothing is left out silently.
    shift : float
        s >= 0; values far below it count as equal. Say it next to the mean.

    References
    ----------
    T. Achterberg, *Constraint Integer Programming*, PhD thesis, TU Berlin 2007, appendix A.3.

    Examples
    --------
    >>> round(shifted_geometric_mean([0.0, 3.0], shift=1.0), 6)
    1.0
    """
    array = float_array("values", values)
    number("shift", shift, least=0)
    if array.size == 0 or not (array >= 0).all():
        raise InvalidInput("a shifted geometric mean needs values from 0 up, without gaps")
    if shift == 0:
        return float(np.exp(np.log(array).mean())) if array.all() else 0.0
    return float(shift * np.expm1(np.log1p(array / shift).mean()))  # exact for zeros


def _of_results(frame: object, *columns: str) -> pd.DataFrame:
    """Return a frame that has some columns of a comparison's tables."""
    checked = instance("frame", frame, pd.DataFrame, "give the advice or reconstructions of Results")
    for column in columns:
        known_name("column", column, list(map(str, checked)), "Give a table of Results.", error=UnknownColumn)
    return checked


def mean_time(seconds: pd.Series[float], shift: float) -> float:
    """Shifted geometric mean of times, failures penalised; NaN where there is none or one is unknown."""
    known = len(seconds) > 0 and bool(seconds.notna().all())
    return shifted_geometric_mean(seconds.astype(float), shift) if known else float("nan")


def performance_profile(
    frame: pd.DataFrame,
    metric: str = "seconds_total",
    *,
    by: str = "variant",
    problem: Sequence[str] | None = None,
    shift: float = 0.0,
    taus: npt.ArrayLike | None = None,
) -> pd.DataFrame:
    r"""Share of problems that each solver solves within a factor of the best one.

    .. math::
        \rho_s(\tau) = \frac1{|P|} \left|\left\{p : t_{p,s} + \delta \le \tau
            \left(\min_{s'} t_{p,s'} + \delta\right)\right\}\right|

    A solver that failed on a problem, or has no row for it, solves it at no factor.

    Parameters
    ----------
    frame : DataFrame
        Rows of `Results.advice` or `Results.reconstructions`, as they come; skipped rows are left out.
    metric : str
        Less is better: "seconds_total", "tvd", "regret", ... Averaged over seeds first.
    by : str
        Column of what is compared.
    problem : sequence of str, optional
        Columns that identify a problem; by default `RUN` or `RECONSTRUCTION`, by the frame's columns.
    shift : float
        delta; needed where the best value can be 0.
    taus : array_like, optional
        Factors from 1 up; by default 101 from 1 to the largest ratio, evenly in the logarithm.

    Returns
    -------
    DataFrame
        Index tau, one column per solver.

    References
    ----------
    E. D. Dolan and J. J. Moré, "Benchmarking optimization software with performance profiles", Mathematical
    Programming 91 (2002).

    Examples
    --------
    >>> frame = pd.DataFrame({"variant": ["a", "b", "a", "b"], "dataset": ["p", "p", "q", "q"],
    ...                       "seconds_total": [1.0, 2.0, 4.0, 1.0], "status": ["ok"] * 4})
    >>> performance_profile(frame, problem=["dataset"], taus=[1, 2, 4]).to_dict("list")
    {'a': [0.5, 0.5, 1.0], 'b': [0.5, 1.0, 1.0]}
    """
    frame = _of_results(frame, "status", metric, by)
    if problem is None:
        problem = RECONSTRUCTION if "attribute" in frame else RUN
    problem = list_of("problem", problem, str, "name columns that tell problems apart")
    if not problem:
        raise InvalidOption("problem is empty: name at least one column that tells problems apart")
    _of_results(frame, *problem)
    number("shift", shift)
    tried = frame[frame["status"] != SKIPPED]
    cost = tried[metric].where(~tried["status"].isin([FAILED, TIMED_OUT])).fillna(np.inf)
    keys: list[Any] = [tried[column] for column in problem]
    mean = cost.groupby([*keys, tried[by]]).mean()
    wide = mean.unstack().fillna(np.inf) + shift  # noqa: PD010 (there is nothing to aggregate)
    wide = wide[np.isfinite(wide.min(axis=1))]
    best = wide.min(axis=1)
    if (best <= 0).any():
        raise InvalidInput(
            f"the best {metric} of a problem is 0 or less, so nothing is a multiple: pass shift=..."
        )
    ratios = wide.div(best, axis=0)
    if taus is None:
        largest = np.max(ratios.to_numpy(), where=np.isfinite(ratios.to_numpy()), initial=1.0 + 1e-9)
        taus = np.geomspace(1.0, largest, 101)
    grid = float_array("taus", taus)
    if grid.ndim != 1:
        raise InvalidInput(f"taus must be a list of factors, not an array of shape {grid.shape}")
    n_problems = max(len(tried.groupby(list(problem))), 1)
    within = grid * (1 + 1e-12)
    shares = {
        name: np.searchsorted(np.sort(ratios[name].to_numpy()), within, side="right") / n_problems
        for name in ratios
    }
    return pd.DataFrame(shares, index=pd.Index(grid, name="tau"))


def share_of_random_loss(advice: pd.DataFrame) -> pd.Series[float]:
    """Return the regret in units of what a random choice loses; NaN where all configurations are as good."""
    loss = advice["pud_true_mean"] - advice["pud_true_min"]
    return advice["regret"] / loss.where(loss > 1e-12 * advice["pud_true_max"].abs())


def overview(
    frame: pd.DataFrame, time_limit: float | None, *, shift: float = 0.01, longest: float | None = None
) -> pd.DataFrame:
    """Condense advice rows: one line per variant, scope and histograms, over data sets, measures and seeds.

    Parameters
    ----------
    frame : DataFrame
        `Results.advice`.
    time_limit : float or None
        Of the comparison, the penalty of failures.
    shift : float
        Of the geometric mean of the times, in seconds.
    longest : float, optional
        As in `penalised`.

    Returns
    -------
    DataFrame
        variant, scope, histogram, runs, tau (mean of the runs that have one: a failure has no penalty),
        regret (mean share of what a random choice loses, where there is a choice: 0 is the best
        configuration, 1 as bad as choosing at random), seconds (shifted geometric mean, NaN where unknown),
        certified (share), no_winner, failed, timed_out, skipped (counts).
    """
    rows = []
    groups = ["variant", "scope", "histogram"]
    tried = penalised(frame, time_limit, longest=longest)
    tried["share"] = share_of_random_loss(tried)
    for key, all_rows in frame.groupby(groups, sort=True):
        part = tried.loc[tried.index.intersection(all_rows.index)]
        counts = all_rows["status"].value_counts()
        rows.append(
            dict(zip(groups, key, strict=True))
            | {
                "runs": len(all_rows),
                "tau": part["tau"].astype(float).mean(),
                "regret": part["share"].astype(float).mean(),
                "seconds": mean_time(part["seconds_total"], shift),
                "certified": part["certified"].fillna(False).astype(float).mean(),
            }
            | {
                status.replace(" ", "_"): int(counts.get(status, 0))
                for status in (NO_WINNER, FAILED, TIMED_OUT, SKIPPED)
            }
        )
    return pd.DataFrame(rows)

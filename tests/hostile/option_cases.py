"""The grid of options: solver, norm, rounding, scope and answer to conflicts, checked by plain sums."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
from families import family
from random_problems import ACCURACY, MODELLED, Known
from random_summaries import (
    contradicting,
    information,
    known_of,
    random_frame,
    true_deviations,
    wrong_guesses,
)

import aegis_opt as ao
from aegis_opt.distances import NORMS
from aegis_opt.errors import InfeasibleProblem, InvalidOption, RoundingImpossible
from aegis_opt.rounding import ROUNDINGS
from aegis_opt.solvers.reconstruction import Status

Options = dict[str, Any]
MET = (Status.OPTIMAL, Status.FEASIBLE, Status.TIME_LIMIT)
FEASIBLE = 1e-3  # records, of whole totals: changes below are noise of the linear program


def grid() -> list[Options]:
    """Every solver and norm with every rounding that it takes, in both scopes, with every answer."""
    solvers: list[Options] = [{"solver": "ipf"}]
    solvers += [{"solver": "convex", "norm": norm} for norm in NORMS]
    variants = [solver | {"rounding": name} for solver in solvers for name in (None, *ROUNDINGS)]
    variants += [{"solver": "sampling", "rounding": None}]
    variants += [
        {"solver": "integer", "norm": norm, "time_limit": 5.0, "rounding": None}
        for norm in ("l1", "l2", "linf")
    ]
    answers = itertools.product(variants, ("pooled", "single"), ("raise", "repair", "relax"))
    return [variant | {"scope": scope, "on_conflict": answer} for variant, scope, answer in answers]


GRID = grid()


def is_whole(options: Options) -> bool:
    """Whether tables are whole."""
    return options["rounding"] is not None or options["solver"] in ("sampling", "integer")


def keeps_totals(options: Options) -> bool:
    """Whether tables meet the totals that they were made for."""
    rounding = options["rounding"]
    return options["solver"] != "sampling" and (rounding is None or ROUNDINGS[rounding].keeps_totals)


def is_feasible(known: Known) -> bool:
    """Whether some table meets everything known, by a linear program."""
    return known.least_changes() < FEASIBLE


@family(seconds=0.4)
def every_combination_of_options_is_honest(seed: int) -> None:
    """Solver, norm, rounding, scope and on_conflict: status, residual, bounds and certificate are right."""
    rng = np.random.default_rng(seed)
    options = GRID[rng.integers(len(GRID))]
    frame, configurations = random_frame(rng)
    summary = ao.summarize(frame, "y", configurations, histograms=bool(rng.random() < 0.5))
    changed = bool(rng.random() < 0.5)
    if changed:
        summary, _ = contradicting(rng, summary)
    single = options["scope"] == "single"
    posed = [
        known_of(summary, name, table)
        for name, attribute in summary.attributes.items()
        for table in (range(len(attribute.tables)) if single else [None])
    ]
    measure, formula = (("mi", information), ("g3", wrong_guesses))[rng.integers(2)]
    feasible = all(map(is_feasible, posed))
    refused: ao.AegisError | None = None
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "rounding 'nearest' meets every total", UserWarning)
            for known in posed:
                reconstruct_honestly(known, options, seed)
            advice = ao.advise(summary, measure, seed=seed, **options)
    except (InfeasibleProblem, RoundingImpossible, InvalidOption) as error:
        refused = error
    if refused is not None:
        check_refusal(refused, options, feasible)
        return
    assert feasible or options["on_conflict"] != "raise", options
    rows = advice.attributes
    met = rows["status"].isin([status.name for status in MET])
    assert (rows.loc[met, "residual"] <= 1e-6).all(), rows
    assert met.all() or not (feasible and keeps_totals(options)), rows
    true = None if changed else true_deviations(frame, configurations, formula)
    agree = {name: is_feasible(known_of(summary, name)) for name in summary.attributes}
    check_proofs(advice, agree, true)
    assert advice.certified == (all(agree.values()) and not single), options


def check_refusal(error: ao.AegisError, options: Options, feasible: bool) -> None:
    """Nothing is refused that can be done."""
    if isinstance(error, InfeasibleProblem):
        contradictory = not feasible and options["on_conflict"] == "raise"
        assert contradictory or "no whole one" in str(error), (options, error)
    elif isinstance(error, RoundingImpossible):
        assert options["rounding"] in ("controlled", "hypergeometric", "nearest"), (options, error)
    elif options["rounding"] == "hypergeometric":  # it is for the table of least divergence
        assert options.get("norm", "kl") != "kl" or not feasible, (options, error)
    else:  # it takes one view; a repair can be fractional
        assert options["solver"] == "sampling" or (is_whole(options) and not feasible), (options, error)


def reconstruct_honestly(known: Known, options: Options, seed: int) -> None:
    """Reconstruct one table, and check what is said about it."""
    given = {name: value for name, value in options.items() if name != "scope"}
    result = ao.reconstruct(known.problem(), **given, seed=seed)
    table = np.asarray(result.table)
    missed = known.violation(table)
    assert abs(missed - result.residual) <= 1e-9 * max(missed, 1.0), (missed, result)
    assert not is_whole(options) or (table == np.round(table)).all(), options
    if is_feasible(known):
        assert not result.changes, result.changes
        assert (missed <= known.tolerance) == (result.status in MET), (missed, result)
        assert missed <= known.tolerance or not keeps_totals(options), (options, result)
    else:
        assert result.changes
        assert result.repaired is not None
        assert not result.optimal
        margins = result.repaired.margins
        missed = max(float(np.abs(margin.sums(table) - margin.totals).max()) for margin in margins)
        assert (missed <= known.tolerance) == (result.status is Status.REPAIRED), (missed, result)
        assert missed <= known.tolerance or not keeps_totals(options), (options, result)
    if result.optimal and not is_whole(options) and result.norm in MODELLED:
        best = known.least_distance(result.norm)
        slack = ACCURACY[result.norm] * max(best, known.records)
        assert abs(result.objective - best) <= slack, (best, result)
    if result.optimal and options["solver"] == "integer" and result.norm != "l2":
        whole = known.least_whole_distance(result.norm)
        assert whole is not None
        assert abs(result.objective - whole) <= 1e-6 * max(whole, 1.0), (whole, result)


def check_proofs(advice: ao.Advice, agree: dict[str, bool], true: dict[str, float] | None) -> None:
    """Nothing is proved where no table meets all views; what is proved elsewhere holds the truth."""
    bounds = advice.attributes.set_index("attribute")[["low", "high"]].astype(float)
    for name, common in agree.items():
        assert bounds.loc[name].notna().all() == common, (name, common, bounds)
    told = [warning for warning in advice.warnings if "contradict each other" in warning]
    assert bool(told) != all(agree.values()), advice.warnings
    if not all(agree.values()):
        assert not advice.certified
        assert advice.ranking[["pud_low", "pud_high"]].isna().all().all(), advice.ranking
    if true is not None:
        for name, low, high in advice.ranking[["configuration", "pud_low", "pud_high"]].itertuples(
            index=False
        ):
            assert low - 1e-9 <= true[name] <= high + 1e-9, (name, low, true[name], high)

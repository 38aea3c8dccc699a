"""Advice on summaries of random tables, against what the records say and plain linear programs."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
from families import family
from random_summaries import contradicting, known_of, random_frame, true_deviations

import aegis_opt as ao
from aegis_opt.errors import InvalidOption, RoundingImpossible


def check_lost(error: ao.AegisError, frame: pd.DataFrame, rounding: str | None) -> None:
    """Check that independent rounding lost few records: of n, it loses all with a chance below exp(-n)."""
    assert "left a table without records" in str(error)
    assert rounding == "independent"
    assert len(frame) < 30


@family(seconds=0.6)
def certified_orders_are_true(seed: int) -> None:
    """A certified order is that of the true deviation, and proved bounds hold it."""
    rng = np.random.default_rng(seed)
    frame, configurations = random_frame(rng)
    true = true_deviations(frame, configurations)
    summary = ao.summarize(frame, "y", configurations, histograms=bool(rng.random() < 0.5))
    rounding = [None, "independent", "nearest"][rng.integers(3)]
    scope = ("pooled", "single")[rng.integers(2)]
    solver = ("ipf", "convex", "integer")[rng.integers(3)]
    rounding = None if solver == "integer" else rounding
    try:
        advice = ao.advise(summary, "mi", solver=solver, scope=scope, rounding=rounding, seed=seed)
    except RoundingImpossible as error:
        check_lost(error, frame, rounding)
        return
    ranking = advice.ranking.set_index("configuration")
    for name, row in ranking.iterrows():
        assert not row["pud_low"] > true[str(name)] + 1e-9, (row, true)
        assert not row["pud_high"] < true[str(name)] - 1e-9, (row, true)
    if advice.certified:
        ordered = [true[name] for name in advice.ranking["configuration"]]
        assert all(one <= two + 1e-9 for one, two in pairwise(ordered)), ordered
        assert min(true.values()) >= true[str(advice.best)] - 1e-9


@family(seconds=0.15)
def contradictory_summaries_are_never_certified(seed: int) -> None:
    """Where masked tables contradict each other, repaired advice has no certificate, no bounds, a warning."""
    rng = np.random.default_rng(seed)
    frame, configurations = random_frame(rng)
    summary, name = contradicting(rng, ao.summarize(frame, "y", configurations, histograms=False))
    least = known_of(summary, name).least_changes()
    how = ("repair", "relax")[seed % 2]
    solver = ("ipf", "convex")[rng.integers(2)]
    rounding = [None, "independent", "nearest"][rng.integers(3)]
    try:
        advice = ao.advise(summary, "mi", solver=solver, rounding=rounding, on_conflict=how, seed=seed)
    except (RoundingImpossible, InvalidOption) as error:
        if rounding != "nearest":  # a repair can be fractional, that by least squares mostly is
            check_lost(error, frame, rounding)
        return
    if least > 0.5:
        assert not advice.certified
        row = advice.attributes.set_index("attribute").loc[name]
        assert not np.isfinite(row[["low", "high"]].astype(float)).any(), row
        assert advice.ranking[["pud_low", "pud_high"]].isna().all().all()
        assert any("contradict each other" in warning for warning in advice.warnings), advice.warnings
    else:
        assert all("contradict each other" not in warning for warning in advice.warnings), advice.warnings


@family(seconds=0.15)
def disclosed_shares_are_those_of_determined_cells(seed: int) -> None:
    """The share that pooled views give away is that of the cells which linear programs find fixed."""
    rng = np.random.default_rng(seed)
    frame, configurations = random_frame(rng)
    summary = ao.summarize(frame, "y", configurations, histograms=bool(rng.random() < 0.5))
    advice = ao.advise(summary, "mi")
    for name in summary.attributes:
        known = known_of(summary, name)
        ranges = [known.cell_range(cell) for cell in range(known.shape[0] * known.shape[1])]
        share = sum(low for low, high in ranges if high - low < 1e-6) / known.records
        found = float(advice.attributes.set_index("attribute").loc[name, "disclosed"])
        assert found <= share + 1e-6, (name, found, share)
        assert found >= share - 1e-6 or known.shape[0] * known.shape[1] > 64, (name, found, share)

"""Records of each total dropped into its cells with replacement."""

from __future__ import annotations

import numpy as np

from aegis_opt.problem._margin import FloatArray, Margin


def draw_records(margin: Margin, weights: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw a cell for each record of each total, independently, with chances proportional to `weights`.

    That is one multinomial draw per total. The totals are whole, and some cell of each positive one has a
    positive weight.

    Examples
    --------
    >>> margin = Margin("view 0", np.array([0, 0, 1]), np.array([0]), np.array([[9.0], [2.0]]))
    >>> table = draw_records(margin, np.ones((3, 1)), np.random.default_rng(0))
    >>> margin.sums(table).ravel().tolist()
    [9.0, 2.0]
    """
    index = margin.cells()
    order = np.argsort(index, kind="stable")
    bounds = np.searchsorted(index[order], np.arange(margin.n_groups + 1))
    totals = margin.totals.ravel()
    table = np.zeros(weights.shape)
    for group in np.flatnonzero(totals).tolist():
        cells = order[bounds[group] : bounds[group + 1]]
        chance = weights.flat[cells]
        table.flat[cells] = rng.multinomial(int(totals[group]), chance / chance.sum())
    return table

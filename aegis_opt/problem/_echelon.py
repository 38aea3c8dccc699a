"""Gauss-Jordan elimination of small dense systems of totals."""

from __future__ import annotations

import numpy as np

from aegis_opt._interrupts import look_up
from aegis_opt.problem._margin import FloatArray, IntArray

NOISE = 1e-9
"""Entries of a reduced system below which they count as 0: those of 0/1 matrices are simple fractions."""


def dense_system(members: IntArray) -> FloatArray:
    """0/1 matrix of totals (rows) by cells (columns); `members` (margins x cells) numbers the totals.

    Examples
    --------
    >>> dense_system(np.array([[0, 0, 1], [5, 6, 6]])).tolist()
    [[1.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 1.0]]
    """
    used, row = np.unique(members, return_inverse=True)
    system = np.zeros((len(used), members.shape[1]))
    system[row.reshape(members.shape), np.arange(members.shape[1])] = 1.0
    return system


def reduce_rows(system: FloatArray) -> IntArray:
    """Bring a system to reduced row echelon form, in place; return the columns of its pivots.

    Examples
    --------
    >>> system = np.array([[1.0, 1.0, 1.0], [1.0, 0.0, 2.0]])
    >>> reduce_rows(system).tolist(), system.tolist()
    ([0, 1], [[1.0, 0.0, 2.0], [-0.0, 1.0, -1.0]])
    """
    pivots: list[int] = []
    for column in range(system.shape[1]):
        look_up()
        rank = len(pivots)
        if rank == len(system):
            break
        largest = rank + int(np.abs(system[rank:, column]).argmax())
        if abs(system[largest, column]) < NOISE:
            continue
        system[[rank, largest]] = system[[largest, rank]]
        system[rank] /= system[rank, column]
        others = np.flatnonzero(np.abs(system[:, column]) > NOISE)
        others = others[others != rank]
        system[others] -= np.outer(system[others, column], system[rank])
        pivots.append(column)
    return np.array(pivots, dtype=np.int64)

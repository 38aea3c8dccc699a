"""Linear programs over the same totals, one cost after the other: each begins where the last one ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from aegis_opt._interrupts import interruptible
from aegis_opt.errors import InfeasibleProblem

if TYPE_CHECKING:
    from scipy import sparse

FloatArray = npt.NDArray[np.float64]

MOST_SECONDS = 60.0
"""Seconds after which one program is given up; most take milliseconds."""
_SHORT = 1000  # cells up to which a program takes less than Ctrl-C may wait


class Programs:
    """Tables x with A x = b and low <= x <= high, by HiGHS's simplex method."""

    def __init__(
        self, matrix: sparse.csr_array, totals: FloatArray, low: FloatArray, high: FloatArray
    ) -> None:
        from aegis_opt._native import highspy

        columns = matrix.tocsc()
        program = highspy.HighsLp()
        program.num_row_, program.num_col_ = matrix.shape
        program.col_cost_ = np.zeros(matrix.shape[1])
        program.col_lower_, program.col_upper_ = low, high
        program.row_lower_ = program.row_upper_ = totals
        program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        program.a_matrix_.start_ = columns.indptr
        program.a_matrix_.index_ = columns.indices
        program.a_matrix_.value_ = columns.data
        self._status = highspy.HighsModelStatus
        self._cells = np.arange(matrix.shape[1], dtype=np.int32)
        self._engine = highspy.Highs()
        self._engine.setOptionValue("output_flag", False)
        self._engine.setOptionValue("threads", 1)
        self._engine.passModel(program)

    def cheapest(self, cost: FloatArray) -> FloatArray | None:
        """Return a table of least cost; None where the engine gives up.

        Raises
        ------
        InfeasibleProblem
            If there is no table.
        """
        spent = self._engine.getRunTime()  # its limit counts all runs together
        self._engine.setOptionValue("time_limit", spent + MOST_SECONDS)
        self._engine.changeColsCost(len(self._cells), self._cells, cost)
        if len(self._cells) > _SHORT:
            interruptible(self._engine.run)
        else:
            self._engine.run()
        status = self._engine.getModelStatus()
        if status == self._status.kInfeasible:
            raise InfeasibleProblem("no table meets the totals")
        if status != self._status.kOptimal:
            return None
        return np.array(self._engine.getSolution().col_value)

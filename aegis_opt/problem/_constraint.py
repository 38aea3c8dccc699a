"""A further linear constraint on the table, beyond the totals of views and histogram."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from aegis_opt._options import float_array, is_number, is_whole
from aegis_opt._shown import shown
from aegis_opt.errors import InvalidInput
from aegis_opt.problem._margin import FloatArray


@dataclass(frozen=True, eq=False)
class LinearConstraint:
    """lower <= sum of coefficients * X <= upper.

    Parameters
    ----------
    coefficients : array_like, shape (n, k)
        One coefficient per cell.
    lower, upper : float
        Bounds on the sum; equal for an equation, infinite for a one-sided constraint.
    name : str
        What error messages call it.

    Examples
    --------
    >>> at_most_five = LinearConstraint([[1, 0], [1, 0]], upper=5, name="first label")
    >>> at_most_five.violation(np.array([[4.0, 0.0], [3.0, 0.0]]))
    2.0
    """

    coefficients: FloatArray
    lower: float
    upper: float
    name: str

    def __init__(
        self,
        coefficients: npt.ArrayLike,
        lower: float = -np.inf,
        upper: float = np.inf,
        name: str = "constraint",
    ) -> None:
        matrix = np.array(float_array(f"{name}: coefficients", coefficients))
        if matrix.ndim != 2 or not np.isfinite(matrix).all():
            raise InvalidInput(f"{name}: coefficients must be a finite table, one number per cell")
        for side, bound in (("lower", lower), ("upper", upper)):
            if not is_number(bound) or (is_whole(bound) and abs(bound) > sys.float_info.max):
                raise InvalidInput(f"{name}: {side} must be a number, not {shown(bound)}")
        if np.isnan(lower) or np.isnan(upper) or lower > upper:
            raise InvalidInput(f"{name}: the bounds [{lower}, {upper}] contain no number")
        matrix.setflags(write=False)
        # the way into a frozen dataclass whose arguments are converted
        vars(self).update(coefficients=matrix, lower=float(lower), upper=float(upper), name=name)

    def violation(self, table: FloatArray) -> float:
        """By how much `table` misses the bounds."""
        value = float((self.coefficients * table).sum())
        return max(0.0, self.lower - value, value - self.upper)

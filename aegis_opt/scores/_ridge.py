"""Ridge regression on one-hot columns: the model that scores train for a number where none is given."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from aegis_opt._blas import one_blas_thread
from aegis_opt.scores._least_squares import FloatArray

if TYPE_CHECKING:
    from scipy import sparse


class Ridge:
    """Linear regression with an L2 penalty of 1, the intercept left out.

    It minimises the sum of squared errors plus the sum of squared coefficients. That is scikit-learn's model
    of the same name with its default penalty, and so is its optimum.
    """

    _coefficients: FloatArray
    _intercept: float

    def fit(self, X: sparse.csr_matrix, y: FloatArray) -> Ridge:
        """Train on records."""
        from scipy.linalg import cho_factor, cho_solve

        n, p = X.shape
        means = np.asarray(X.sum(axis=0)).ravel() / n
        centre = float(y.mean())
        products = (X.T @ X).toarray() - n * np.outer(means, means)
        with one_blas_thread(p):
            factor = cho_factor(products + np.eye(p), lower=True, check_finite=False)
            self._coefficients = cho_solve(factor, X.T @ (y - centre), check_finite=False)
        self._intercept = centre - float(means @ self._coefficients)
        return self

    def predict(self, X: sparse.csr_matrix) -> FloatArray:
        """Return the number that is expected, for each record."""
        found: FloatArray = X @ self._coefficients + self._intercept
        return found

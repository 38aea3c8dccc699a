"""Logistic regression on one-hot columns: the model that scores train where none is given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from aegis_opt._blas import one_blas_thread
from aegis_opt.scores._least_squares import FloatArray
from aegis_opt.sources._pairs import IntArray

if TYPE_CHECKING:
    from scipy import sparse

TOLERANCE = 1e-4
"""Of the gradient, in units of its noise: leaves an error of about 1e-5 in the log-loss of a record."""
_LARGEST_FACTORS = 20_000_000  # numbers in all Cholesky factors; beyond, only their diagonals are used


class LogisticRegression:
    r"""Multinomial logistic regression with an L2 penalty, made for few attributes with many records.

    It minimises the negative log-likelihood plus half the sum of squared coefficients, intercepts left out:
    with two classes one coefficient for each column, with more one for each column and class. That is
    scikit-learn's model of the same name with its default penalty, and so is its optimum.

    L-BFGS takes few steps where the curvature is the same in all directions [1]_. The curvature of the model
    without coefficients is known: :math:`(\operatorname{diag}(\pi) - \pi\pi') \otimes X'X + I`, with
    :math:`\pi` the shares of the classes. The coefficients are therefore rotated to the eigenvectors of the
    first factor and scaled by a Cholesky factor of the rest.

    References
    ----------
    .. [1] J. Nocedal, S. Wright, "Numerical Optimization", 2nd edition, 2006, chapters 5 and 7.
    """

    classes_: IntArray
    _coefficients: FloatArray  # columns and then the intercept, x classes; x 1 where there are two classes

    def fit(self, X: sparse.csr_matrix, y: IntArray) -> LogisticRegression:
        """Train on records of at least two classes."""
        from scipy import sparse
        from scipy.optimize import minimize

        self.classes_, codes = np.unique(y, return_inverse=True)
        k, (n, p) = len(self.classes_), X.shape
        Y = np.eye(k)[codes][:, 1:] if k == 2 else np.eye(k)[codes]
        with_ones = sparse.hstack([X, np.ones((n, 1))], format="csr")
        transposed = with_ones.T.tocsr()

        def objective(scaled: FloatArray) -> tuple[float, FloatArray]:
            b = scaling.coefficients(scaled)
            loss, P = _loss(with_ones @ b, Y)
            gradient = transposed @ (P - Y)
            gradient[:p] += b[:p]
            return loss + 0.5 * float(np.sum(b[:p] ** 2)), scaling.gradient(gradient)

        with one_blas_thread(p):
            scaling = _Scaling(transposed @ with_ones, Y.mean(axis=0))
            found = minimize(
                objective,
                np.zeros((p + 1) * Y.shape[1]),
                jac=True,
                method="L-BFGS-B",
                options={"maxiter": 500, "gtol": TOLERANCE * np.sqrt(n), "ftol": 0.0},
            )
            self._coefficients = scaling.coefficients(found.x)
        return self

    def predict_proba(self, X: sparse.csr_matrix) -> FloatArray:
        """Return the probability of each class, for each record."""
        Z = X @ self._coefficients[:-1] + self._coefficients[-1]
        if Z.shape[1] == 1:
            Z = np.hstack([np.zeros_like(Z), Z])
        P = np.exp(Z - Z.max(axis=1, keepdims=True))
        shares: FloatArray = P / P.sum(axis=1, keepdims=True)
        return shares


class _Scaling:
    """Coefficients in which the curvature of the model without coefficients is the same in all directions."""

    def __init__(self, products: sparse.csr_matrix, shares: FloatArray) -> None:
        curvatures, self.rotation = np.linalg.eigh(np.diag(shares) - np.outer(shares, shares))
        # one direction, in which all classes move alike, has none
        curvatures = np.maximum(curvatures, 1e-3 * curvatures.max())
        size = products.shape[0]
        penalty = np.append(np.ones(size - 1), 0.0)
        self.factors: list[Any] = []
        if len(shares) * size**2 > _LARGEST_FACTORS:
            self.factors = [np.sqrt(c * products.diagonal() + penalty) for c in curvatures]
        else:
            dense = products.toarray()
            self.factors = [np.linalg.cholesky(c * dense + np.diag(penalty)) for c in curvatures]

    def coefficients(self, scaled: FloatArray) -> FloatArray:
        """Return the coefficients of scaled ones."""
        columns = scaled.reshape(len(self.factors), -1)
        found: FloatArray = self._solved(columns, transposed=True).T @ self.rotation.T
        return found

    def gradient(self, gradient: FloatArray) -> FloatArray:
        """Return the gradient with respect to the scaled coefficients."""
        return self._solved((gradient @ self.rotation).T, transposed=False).ravel()

    def _solved(self, columns: FloatArray, *, transposed: bool) -> FloatArray:
        from scipy.linalg import solve_triangular

        return np.stack(
            [
                column / factor
                if factor.ndim == 1
                else solve_triangular(factor, column, trans=int(transposed), lower=True, check_finite=False)
                for factor, column in zip(self.factors, columns, strict=True)
            ]
        )


def _loss(Z: FloatArray, Y: FloatArray) -> tuple[float, FloatArray]:
    """Return the negative log-likelihood of one-hot labels, and the probabilities of the classes."""
    if Z.shape[1] == 1:
        tail = np.exp(-np.abs(Z))
        loss = float(np.sum(np.maximum(Z, 0) + np.log1p(tail) - Y * Z))
        return loss, np.where(Z >= 0, 1.0, tail) / (1 + tail)
    Z = Z - Z.max(axis=1, keepdims=True)
    P = np.exp(Z)
    total = P.sum(axis=1, keepdims=True)
    return float(np.sum(np.log(total)) - np.sum(Z * Y)), P / total

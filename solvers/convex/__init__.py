"""Convex distances in cvxpy."""

from aegis_opt.solvers.convex._convex import Convex

__all__ = ["Convex"]

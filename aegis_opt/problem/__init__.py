"""The reconstruction problem: views, histogram, prior; its consistency and its structure."""

from aegis_opt.problem._constraint import LinearConstraint
from aegis_opt.problem._problem import Problem
from aegis_opt.problem._view import View

__all__ = ["LinearConstraint", "Problem", "View"]

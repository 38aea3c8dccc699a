"""The reconstruction problem: views, histogram, prior; its consistency and its structure."""

from aegis_opt.problem.constraint import LinearConstraint
from aegis_opt.problem.problem import Problem
from aegis_opt.problem.view import View

__all__ = ["LinearConstraint", "Problem", "View"]

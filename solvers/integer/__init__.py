"""Exact whole tables in OR-Tools."""

from aegis_opt.solvers.integer._integer import Integer

__all__ = ["Integer"]

"""Iterative proportional fitting."""

from aegis_opt.solvers.ipf._ipf import IPF

__all__ = ["IPF"]

"""Smooth reconstruction along an ordered attribute."""

from aegis_opt.solvers.smooth._smooth import Smooth

__all__ = ["Smooth"]

"""Smooth reconstruction along an ordered attribute, and the choice between it and maximum entropy."""

from aegis_opt.solvers.smooth._auto import Auto
from aegis_opt.solvers.smooth._smooth import Smooth

__all__ = ["Auto", "Smooth"]

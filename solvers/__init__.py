"""Solvers: a problem in, a certified reconstruction out; one interface, `base.Reconstructor`."""

from aegis_opt.solvers import base, reconstruction, registry

__all__ = ["base", "reconstruction", "registry"]

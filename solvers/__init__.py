"""Solvers: each finds a table that meets what is known, behind one interface (`base.Reconstructor`).

==========  ========================================================  ======================================
solver      the table it finds                                        how
==========  ========================================================  ======================================
`ipf`       of least divergence (kl) or another smooth distance       proportional fitting, Newton's method
`convex`    closest to the prior in any distance                      cvxpy, with an engine of your choice
`integer`   of whole numbers, closest to the prior                    network flow or CP-SAT, with a proof
`smooth`    whose label shares change least along an order            band of equations, interior point
`auto`      of maximum entropy, or smooth: what predicts best         views held out
`sampling`  with the records of each group drawn at random            the baseline of the Aegis paper
==========  ========================================================  ======================================

`registry` finds solvers by name, those of other packages included; `reconstruction` is what they return.
"""

from aegis_opt.solvers import base, reconstruction, registry

__all__ = ["base", "reconstruction", "registry"]

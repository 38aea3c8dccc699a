"""Distances between a table and its prior: what every solver minimises, one object each.

===============  =================================================  =======================
Wherever a `norm` is asked for, a name of this table or an object will do: ``norm="hellinger"``,
``norm=Lp(1.5)``, ``norm=Weighted("l2", weights)``. A distance of your own is a subclass of
`SeparableDistance` or `Distance`; `register_distance`, or an entry point in the group "aegis_opt.distances",
gives it a name.

The first five are the distances of calibration in survey statistics [1]_; all five are divergences of
Csiszar's kind.

References
----------
.. [1] J.-C. Deville and C.-E. Sarndal, "Calibration estimators in survey sampling", Journal of the American
   Statistical Association 87 (1992).
"""

from aegis_opt.distances._base import Distance
from aegis_opt.distances._chi_square import Neyman, Pearson
from aegis_opt.distances._divergences import KL, Hellinger, ReverseKL
from aegis_opt.distances._huber import Huber
from aegis_opt.distances._minkowski import L1, L2, Linf, Lp
from aegis_opt.distances._registry import (
    NORMS,
    NormName,
    available_distances,
    distance,
    get_distance,
    register_distance,
)
from aegis_opt.distances._roughness import Roughness
from aegis_opt.distances._separable import SeparableDistance
from aegis_opt.distances._weighted import Weighted

__all__ = [
    "KL",
    "L1",
    "L2",
    "NORMS",
    "Distance",
    "Hellinger",
    "Huber",
    "Linf",
    "Lp",
    "Neyman",
    "NormName",
    "Pearson",
    "ReverseKL",
    "Roughness",
    "SeparableDistance",
    "Weighted",
    "available_distances",
    "distance",
    "get_distance",
    "register_distance",
]

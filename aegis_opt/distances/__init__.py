"""Distances between a table and its prior: what every solver minimises, one object each.

====================  =================================================  ========================================
name                  distance of a table X from its prior U             also known as
====================  =================================================  ========================================
"kl"                  sum of X ln(X / U) - X + U, in nats x records      raking ratio, maximum entropy
"reverse_kl"          sum of U ln(U / X) - U + X                         minimum entropy
"chi2"                sum of (X - U)^2 / U                               Pearson chi-square
"neyman"              sum of (X - U)^2 / X                               modified chi-square
"hellinger"           sum of (sqrt(X) - sqrt(U))^2                       squared Hellinger distance
"l1"                  sum of abs(X - U)                                  absolute deviation
"l2"                  square root of the sum of (X - U)^2                Euclidean
"linf"                largest abs(X - U)                                 Chebyshev
"lp=1.5"              p-th root of the sum of abs(X - U)^p, p > 1        Minkowski
"huber=2"             sum of squares / 2 up to 2, of 2 (abs - 1) beyond  Huber loss
"roughness=2"         sum of squared second differences of X / row sums  Whittaker's graduation; needs positions
`Weighted(...)`       any of them with a weight for each cell
====================  =================================================  ========================================

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

from aegis_opt.distances._base import Distance, Posed, ProgramKind, WeightableDistance
from aegis_opt.distances._cells import CellCosts
from aegis_opt.distances._chi_square import Neyman, Pearson
from aegis_opt.distances._divergences import KL, Hellinger, ReverseKL
from aegis_opt.distances._huber import Huber
from aegis_opt.distances._minkowski import L1, L2, Linf, Lp
from aegis_opt.distances._registry import (
    NORMS,
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
    "CellCosts",
    "Distance",
    "Hellinger",
    "Huber",
    "Linf",
    "Lp",
    "Neyman",
    "Pearson",
    "Posed",
    "ProgramKind",
    "ReverseKL",
    "Roughness",
    "SeparableDistance",
    "WeightableDistance",
    "Weighted",
    "available_distances",
    "distance",
    "get_distance",
    "register_distance",
]

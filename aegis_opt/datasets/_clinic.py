"""A seeded synthetic clinic: age, weight and zip code of patients, and their state of health."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from aegis_opt._options import seed_number, whole_number
from aegis_opt.datasets._dataset import Dataset
from aegis_opt.datasets._worked_example import HEALTH
from aegis_opt.masks import (
    Blur,
    Bucketize,
    Configurations,
    EraseDigits,
    Generalize,
    Identity,
    Prefix,
    Suppress,
    TopCode,
)

_AGES = 96  # 0..95
_REGIONS = ("211", "212", "218", "220", "221", "228")
_OFFICES = (3, 8, 14, 19, 23, 27, 42, 48, 55, 61)  # the last two digits, in every region
_CUTS = np.array([-2.6, -0.9, 0.9, 2.6])  # of the latent score, between the five states of health


def clinic(n: int = 2000, seed: int = 0) -> Dataset:
    """Make the records of a clinic of `n` patients, with twelve configurations of varying strength.

    Health is a latent score cut into five classes. Age matters most (health falls slowly at first and faster
    later), then weight (both under- and overweight harm, relative to what is usual at that age), then the
    zip code (some regions, and some offices within them, are healthier). Logistic noise is added.

    Parameters
    ----------
    n : int
        Number of patients, at least 1. Ten million take about ten seconds.
    seed : int
        Equal seeds and sizes give equal data.

    Returns
    -------
    Dataset
        Columns ``age`` (years), ``weight`` (kg), ``zip`` (five digits, a string) and the label ``health``
        (VP, P, M, G, VG: very poor to very good).

    Examples
    --------
    >>> data = clinic(500)
    >>> list(data.frame.columns), len(data.configurations)
    (['age', 'weight', 'zip', 'health'], 12)
    """
    n = whole_number("n", n, least=1)
    rng = np.random.default_rng(seed_number("seed", seed))
    age = (rng.beta(1.5, 1.6, n) * _AGES).astype(np.int64)
    usual_weight = np.where(age < 18, 4 + 3.6 * age, 70 + 0.25 * np.minimum(age, 60) - 0.1 * age)
    weight = np.maximum(np.rint(usual_weight * np.exp(0.18 * rng.standard_normal(n))), 2).astype(np.int64)
    place = _places(n, rng)
    score = (
        2.6
        - 6.5 * (age / _AGES) ** 1.6
        - 9.0 * (np.log(weight / usual_weight)) ** 2 * np.where(age < 18, 0.5, 1.5)
        - 0.02 * np.maximum(weight - 75, 0)
        + _place_effects()[place]
        + rng.logistic(scale=0.75, size=n)
    )
    frame = pd.DataFrame(
        {
            "age": age,
            "weight": weight,
            "zip": pd.Series(_zip_codes()).array.take(place),
            "health": pd.Series(HEALTH).array.take(np.searchsorted(_CUTS, score)),
        }
    )
    return Dataset(
        name="clinic",
        frame=frame,
        label="health",
        configurations=_configurations(),
        description="Synthetic clinic: health depends on age strongly, on weight less, on zip code weakly.",
    )


def _zip_codes() -> list[str]:
    return [f"{region}{office:02d}" for region in _REGIONS for office in _OFFICES]


def _places(n: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Draw where each patient lives: the later regions and offices are smaller."""
    share = np.outer(1 / np.arange(1, len(_REGIONS) + 1), 1 / np.arange(2, len(_OFFICES) + 2)).ravel()
    bounds = np.cumsum(share / share.sum())[:-1]
    return np.searchsorted(bounds, rng.random(n), side="right")


def _place_effects() -> npt.NDArray[np.float64]:
    """How much healthier each zip code is: mostly its region, a little the office itself."""
    region = np.array([0.5, -0.6, 0.1, 0.8, -0.9, -0.1])
    office: npt.NDArray[np.float64] = 0.35 * np.cos(2.4 * np.arange(len(_OFFICES)))
    return np.repeat(region, len(_OFFICES)) + np.tile(office, len(_REGIONS))


def _configurations() -> Configurations:
    """Twelve ways to mask a patient; what keeps one attribute fine is coarse elsewhere."""
    old = 45
    young_old = Generalize({"Young": list(range(old)), "Old": list(range(old, _AGES))})
    return Configurations(
        {
            "bucket-blur-suppress": {"age": Bucketize(width=10), "weight": Blur(10), "zip": Suppress()},
            "young-old": {"age": young_old, "weight": Bucketize(width=5), "zip": Identity()},
            "fine-age": {"age": Bucketize(width=5), "weight": Generalize(ranges=3), "zip": Suppress()},
            "coarse-age": {"age": Bucketize(width=25), "weight": Blur(5), "zip": Prefix(4)},
            "life-stages": {
                "age": Bucketize(edges=[18, 40, 65]),
                "weight": Bucketize(width=10),
                "zip": Prefix(3),
            },
            "age-only": {"age": TopCode(85), "weight": Suppress(), "zip": Suppress()},
            "no-age": {"age": Suppress(), "weight": Bucketize(width=4), "zip": Prefix(4)},
            "no-weight": {"age": Blur(10), "weight": Suppress(), "zip": Prefix(3)},
            "state-only": {"age": Blur(5), "weight": Generalize(ranges=6), "zip": Prefix(2)},
            "erased-digits": {"age": EraseDigits(1), "weight": EraseDigits(2), "zip": Prefix(3)},
            "quarters": {"age": Generalize(ranges=4), "weight": Generalize(ranges=4), "zip": Prefix(4)},
            "strictest": {"age": Bucketize(width=50), "weight": Generalize(ranges=2), "zip": Suppress()},
        },
        label="health",
    )

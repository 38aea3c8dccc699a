"""How many decimals a column of numbers is worth."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt


def decimals_for(numbers: npt.ArrayLike, usual: int) -> int:
    """Return the decimals for a column of numbers: as usual around 1, fewer if large, more if tiny."""
    known = np.abs(np.append(np.asarray(numbers, dtype=np.float64), 0.0))
    largest = float(np.nanmax(known))
    if largest < 1e-12 or np.isinf(largest):
        return usual
    magnitude = math.floor(math.log10(largest))
    return max(usual - magnitude, 0) if magnitude > 0 else max(usual, 2 - magnitude)

from __future__ import annotations

import numpy as np

from aegis_opt.problem._network import _coloured


def test_odd_cycles_have_no_two_sides_and_even_ones_do():
    assert _coloured(np.array([0, 1, 2]), np.array([1, 2, 0]), 3) is None
    square = _coloured(np.array([0, 1, 2, 3]), np.array([1, 2, 3, 0]), 4)
    assert square is not None
    assert len(set(zip(square.left.tolist(), square.right.tolist(), strict=True))) == 4
    assert np.bincount(square.left).tolist() == np.bincount(square.right).tolist() == [2, 2]

"""Total variation distance between two tables."""

from __future__ import annotations

import numpy as np
import pandas as pd

from aegis_opt.errors import InvalidInput
from aegis_opt.measures._tables import Score, TableLike, add_up, as_counts


def tvd(F: TableLike, G: TableLike) -> Score:
    r"""Total variation distance of two tables, both normalised first.

    .. math:: \mathrm{TVD}(F, G) = \frac12 \sum_{a,y} \left| \frac{f(a,y)}{N_F} - \frac{g(a,y)}{N_G} \right|

    Parameters
    ----------
    F, G : array_like or DataFrame, shape (..., n, k)
        Counts of the same shape. Two DataFrames are matched by their labels, which must be the same sets;
        otherwise cells are matched by position.

    Returns
    -------
    float or ndarray of shape (...)
        Between 0 (the same distribution) and 1 (no cell in common).

    References
    ----------
    D. A. Levin, Y. Peres, *Markov Chains and Mixing Times*, 2nd ed., AMS 2017, section 4.1.

    Examples
    --------
    >>> tvd([[1, 0], [0, 1]], [[2, 2], [0, 0]])
    0.5
    """
    if isinstance(F, pd.DataFrame) and isinstance(G, pd.DataFrame):
        rows = _match(F.index, G.index, "row")
        columns = _match(F.columns, G.columns, "column")
        G = G.iloc[rows, columns]
    first, second = as_counts(F, "F"), as_counts(G, "G")
    if first.cells.shape != second.cells.shape:
        raise InvalidInput(
            f"F has shape {first.cells.shape} and G has shape {second.cells.shape}: "
            "give both the same rows and columns, with 0 where nothing was counted"
        )
    gap = np.abs(first.cells / first.total[..., None, None] - second.cells / second.total[..., None, None])
    return first.score(np.minimum(add_up(add_up(gap)) / 2, 1.0))


def _match(wanted: pd.Index, given: pd.Index, kind: str) -> list[int]:
    """Positions in `given` of the labels in `wanted`."""
    if wanted.equals(given):
        return list(range(len(wanted)))
    for labels, name in ((wanted, "F"), (given, "G")):
        if labels.has_duplicates:
            label = labels[labels.duplicated()].tolist()[0]
            raise InvalidInput(
                f"{name} has the {kind} label {label!r} twice: labels must differ to be matched"
            )
    for labels, others, name, other in ((wanted, given, "F", "G"), (given, wanted, "G", "F")):
        extra = labels[~labels.isin(others)].tolist()
        if extra:
            raise InvalidInput(
                f"{name} has the {kind} {extra[0]!r}, which {other} does not have: reindex both to the same "
                f"{kind}s, with 0 where nothing was counted"
            )
    return [int(i) for i in given.get_indexer(wanted)]

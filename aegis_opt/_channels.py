"""Channels: T[g, a] = P(masked value g | value a), checked; which values a singular one cannot tell apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from aegis_opt._shown import listing, shown
from aegis_opt.errors import AegisError, InvalidInput

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

MOST_ENTRIES = 2**24  # of a channel: 128 MB
_MOST_DECOMPOSED = 2**20  # entries of a channel whose rank is found: half a second
SUM_SLACK = 1e-9  # that the sum of a column may be off 1
_LEAST_JUMP = 1e4  # between the singular values of a matrix whose rank is certain
_EQUAL = 1e-13  # difference of entries that count as equal
_TAKES_PART = 1e-6  # share of the largest coefficient of a dependency


def checked_channel(
    values: Any,
    what: str,
    value_names: Sequence[object] | None = None,
    *,
    told_apart: bool = True,
    error: type[AegisError] = InvalidInput,
) -> FloatArray:
    """Copy a channel as a read-only array whose columns sum to 1 but for rounding; name what is wrong.

    With `told_apart`, columns must be linearly independent: otherwise different tables give the same
    expected counts, and no number of records tells them apart.

    Examples
    --------
    >>> checked_channel([[0.75, 0.25], [0.25, 0.75]], "the channel").tolist()
    [[0.75, 0.25], [0.25, 0.75]]
    """
    try:
        T = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as problem:
        raise error(f"{what} must be a matrix of numbers: {problem}") from problem
    if T.ndim != 2 or T.size == 0:
        raise error(
            f"{what} must be a matrix: T[g, a] = P(masked value g | value a); this has {T.ndim} dimension(s)"
        )
    if T.size > MOST_ENTRIES:
        raise error(
            f"{what} has {T.shape[0]:,} x {T.shape[1]:,} entries, and there is room for {MOST_ENTRIES:,}: "
            "group the values before noise is added, by Bucketize or Generalize"
        )
    names = range(T.shape[1]) if value_names is None else value_names
    bad = ~np.isfinite(T) | (T < 0) | (T > 1 + SUM_SLACK)
    if bad.any():
        g, a = np.argwhere(bad)[0].tolist()
        raise error(
            f"{what} has {T[g, a]:g} in row {g} for value {shown(names[a])}: probabilities are from 0 to 1"
        )
    sums = T.sum(axis=0)
    if (off := np.abs(sums - 1)).max() > SUM_SLACK:
        a = int(off.argmax())
        hint = " (its rows do: transpose it)" if np.abs(T.sum(axis=1) - 1).max() <= SUM_SLACK else ""
        raise error(
            f"the columns of {what} must sum to 1, but that of value {shown(names[a])} sums to "
            f"{sums[a]:.10g}{hint}: T[g, a] = P(masked value g | value a)"
        )
    T /= np.where(off > 4 * len(T) * np.finfo(np.float64).eps, sums, 1.0)  # so that a copy is the same
    T.setflags(write=False)
    if told_apart:
        require_told_apart(T, what, names, error)
    return T


def require_told_apart(
    T: FloatArray,
    what: str,
    names: Sequence[object],
    error: type[AegisError] = InvalidInput,
    *,
    by_design: bool = False,
) -> None:
    """Raise where the columns of a channel are linearly dependent, naming the values.

    `by_design` says that only equal columns can be.
    """
    if text := _equal_values(T, names) if by_design else not_told_apart(T, names):
        raise error(
            f"{what} is singular, so that no number of records tells the values apart: {text}. Give these "
            "values different probabilities, or merge them before noise is added"
        )


def not_told_apart(T: FloatArray, names: Sequence[object]) -> str:
    """Say which values a channel cannot tell apart; "" where its columns are linearly independent.

    Singular values that fall gradually to the noise of floating-point numbers, as those of wide additive
    noise do, belong to a matrix that is ill-conditioned and not singular: its rank is not certain. Only a
    jump shows that columns depend on each other (the distinction is that of [1]_). The rank of a channel of
    more than a million entries is not looked for, as that takes minutes: only that columns are equal, or more
    than the rows, is found there.

    References
    ----------
    .. [1] P. C. Hansen, Rank-Deficient and Discrete Ill-Posed Problems, SIAM (1998), chapter 1.
    """
    if text := _equal_values(T, names):
        return text
    m, n = T.shape
    if n == 1:
        return ""
    if n > m:
        T, n = T[:, : m + 1], m + 1  # these depend on each other already
    if T.size > _MOST_DECOMPOSED:
        return "" if n <= m else f"there are more values than the {m:,} masked values"
    sizes = np.append(np.linalg.svd(T, compute_uv=False), np.zeros(n - min(m, n)))
    noise = max(m, n) * np.finfo(np.float64).eps * sizes[0]
    rank = int((sizes > noise).sum())
    certain = rank < n and (m < n or sizes[rank - 1] > _LEAST_JUMP * max(float(sizes[rank]), noise))
    if not certain:
        return ""
    v = np.linalg.svd(np.linalg.qr(T, mode="r"))[2][-1]
    v = np.where(np.abs(v) > _TAKES_PART * np.abs(v).max(), v, 0.0)
    sides = sorted(
        (np.maximum(v, 0.0), np.maximum(-v, 0.0)), key=lambda s: (np.count_nonzero(s), -s.argmax())
    )
    one, other = (_mixture(side / side.sum(), names) for side in sides)
    return f"{one} gives the same masked values as {other}"


def _mixture(shares: FloatArray, names: Sequence[object]) -> str:
    """Words for a mixture of values."""
    chosen = np.flatnonzero(shares).tolist()
    if len(chosen) == 1:
        return f"value {shown(names[chosen[0]])}"
    return f"a mixture of {listing([f'{shares[a]:.3g} of {shown(names[a])}' for a in chosen])}"


def channel_epsilon(T: FloatArray) -> float:
    """Epsilon of local differential privacy: the largest log-ratio of two probabilities of a masked value.

    Whatever masked value is seen, no value was more than exp(epsilon) times as likely to give it as another
    [1]_. It is infinite where a value is ruled out.

    References
    ----------
    .. [1] J. C. Duchi, M. I. Jordan and M. J. Wainwright, "Local privacy and statistical minimax rates", FOCS
       (2013).

    Examples
    --------
    >>> round(channel_epsilon(np.array([[0.75, 0.25], [0.25, 0.75]])), 6) == round(float(np.log(3)), 6)
    True
    """
    most, least = T.max(axis=1), T.min(axis=1)
    used = most > 0
    if (least[used] <= 0).any():
        return float("inf")
    return float(np.log(most[used] / least[used]).max(initial=0.0))


def condition(T: FloatArray) -> float:
    """Ratio of the largest and the smallest singular value: how much noise in the counts is amplified."""
    return float(np.linalg.cond(T))


def _equal_values(T: FloatArray, names: Sequence[object]) -> str:
    """Say which values have equal columns; "" where all columns differ."""
    if (equal := _equal_columns(T)) is None:
        return ""
    listed = listing([shown(names[a]) for a in equal.tolist()])
    return f"{listed} have the same probability of every masked value"


def _equal_columns(T: FloatArray) -> IntArray | None:
    """The first set of columns that equal each other, in their order."""
    keys = np.random.default_rng(0).random(len(T)) @ T  # they differ unless columns do not
    order = np.argsort(keys)
    places = np.flatnonzero(np.diff(keys[order]) <= 2 * len(T) * _EQUAL)
    near = np.abs(T[:, order[places + 1]] - T[:, order[places]]).max(axis=0) <= _EQUAL
    if not near.any():
        return None
    first = order[places][near].min()
    same: IntArray = np.flatnonzero(np.abs(T - T[:, [first]]).max(axis=0) <= _EQUAL)
    return same

"""Groups of neighbouring numbers with at least k records each and the least sum of squares, by a recursion.

Let v_0 < ... < v_(n-1) be the values, c_i > 0 how many records have each, and SSE(i, j) the sum of squares of
the records of v_i, ..., v_j about their mean. With D(0) = 0, the least sum for the first j + 1 values is

    D(j + 1) = min { D(i) + SSE(i, j) : c_i + ... + c_j >= k }.

Which i are tried follows from two facts.

*Window.* To split a group never raises its sum of squares, so some best partition has no group that can be
split into two of at least k records each. Let a(j) be the greatest i with c_i + ... + c_j >= k. A group i..j
can be split exactly if c_i + ... + c_(a(j) - 1) >= k, since a(j)..j is the smallest part that can be cut off
at its end. So only a(a(j) - 1) < i <= a(j) is tried. Such a group consists of fewer than k records, those of
v_a(j), and fewer than k records again. It has at most 2k - 2 + max c records and at most 2k - 1 values, and
there are at most k such i. Without repeated values these are the groups of k to 2k - 1 records of Hansen and
Mukherjee (2003), A polynomial algorithm for optimal univariate microaggregation.

*Order.* SSE satisfies the quadrangle inequality SSE(i, j) + SSE(i', j') <= SSE(i, j') + SSE(i', j) for
i < i', j < j', and a(j) never falls. So the first best i never falls as j grows. In a block of ends j that
depend on no D of the same block, the best i of some ends bound those of the ends between them: log(k) rounds
of bisection find them all, in n log(k) steps over all blocks.
"""

from __future__ import annotations

from operator import add

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_CHUNK = 1 << 12  # ends whose sums of squares are held at once
_WIDE = (
    24  # values of a group, from which on blocks are faster than trying the starts of one end after the other
)
_AT_ONCE = 1 << 12  # pairs of start and end, up to which bisection does not pay


def least_squares_groups(x: FloatArray, counts: IntArray, k: int) -> IntArray:
    """Return the place of the first value of each group.

    Parameters
    ----------
    x : ndarray of float
        Finite, strictly ascending (or equal where rounding made them so), and such that squares are finite.
    counts : ndarray of int64
        How many records have each; positive, at least `k` in all.
    k : int
        The least number of records of a group.

    Examples
    --------
    >>> x = np.array([1.0, 2.0, 3.0, 10.0, 11.0, 30.0, 31.0])
    >>> least_squares_groups(x, np.ones(7, dtype=np.int64), 2).tolist()
    [0, 3, 5]
    """
    n = len(x)
    reached = np.concatenate([[0], np.cumsum(counts)])
    last = np.searchsorted(reached, reached[1:] - k, side="right") - 1  # a(j); -1 where there are too few
    first = np.where(last > 0, last[np.maximum(last, 1) - 1] + 1, 0)
    least = np.full(n + 1, np.inf)
    least[0] = 0.0
    starts = np.zeros(n, dtype=np.int64)
    wide = np.append(np.flatnonzero(np.arange(n) - first >= _WIDE), n)
    low = int(np.searchsorted(last, 0))  # the first end that has k records
    while low < n:
        high = min(int(wide[np.searchsorted(wide, low)]), low + _CHUNK)
        if high > low:
            _try_every_start(x, counts, first, last, least, starts, slice(low, high))
        else:  # as D(low) is the last that is known, these ends may begin no group after it
            high = int(np.searchsorted(last, low, side="right"))
            block = _BlockOfEnds(x, counts, reached, least, int(first[low]), high)
            starts[low:high], least[low + 1 : high + 1] = block.solve(low, first, last)
        low = high
    found = []
    end = n
    while end > 0:
        end = int(starts[end - 1])
        found.append(end)
    return np.array(found[::-1], dtype=np.int64)


def _try_every_start(
    x: FloatArray,
    counts: IntArray,
    first: IntArray,
    last: IntArray,
    least: FloatArray,
    starts: IntArray,
    ends: slice,
) -> None:
    """Extend the recursion by some ends; sums of squares are updated value by value, without cancellation."""
    places = np.arange(ends.start, ends.stop)
    width = int((places - first[ends]).max()) + 1
    squares = np.empty((len(places), width))  # column width - 1 - s: the group of the last s + 1 values
    weight, mean, total = np.zeros(len(places)), np.zeros(len(places)), np.zeros(len(places))
    for s in range(width):
        own = np.maximum(places - s, 0)
        more = counts[own].astype(np.float64)
        weight += more
        off = x[own] - mean
        step = off * (more / weight)
        total += more * off * (off - step)
        mean += step
        squares[:, width - 1 - s] = total
    offset = int(first[ends.start])
    known = least[offset : ends.start + 1].tolist()
    rows = zip(squares.tolist(), first[ends].tolist(), last[ends].tolist(), places.tolist(), strict=True)
    chosen = []
    for row, low, high, end in rows:
        shift = width - 1 - end
        sums = list(map(add, known[low - offset : high + 1 - offset], row[low + shift : high + 1 + shift]))
        best = min(sums)
        chosen.append(low + sums.index(best))
        known.append(best)
    least[ends.start + 1 : ends.stop + 1] = known[ends.start + 1 - offset :]
    starts[ends] = chosen


class _BlockOfEnds:
    """Ends of groups that depend on no sum of the block itself.

    Sums of squares of groups are differences of cumulated sums about the middle value of the block.
    """

    def __init__(
        self, x: FloatArray, counts: IntArray, reached: IntArray, least: FloatArray, begin: int, end: int
    ) -> None:
        off = x[begin:end] - x[(begin + end) // 2]
        weighted = counts[begin:end] * off
        self.begin, self.end = begin, end
        self.least = least
        self.reached = reached
        self.sums = np.concatenate([[0.0], np.cumsum(weighted)])
        self.squares = np.concatenate([[0.0], np.cumsum(weighted * off)])

    def solve(self, low: int, first: IntArray, last: IntArray) -> tuple[IntArray, FloatArray]:
        """Return the best start of each end from `low` on, and the sums, by bisection while that pays."""
        n = self.end - low
        lowest, highest = np.full(n, first[low]), last[low : self.end]  # what is known of the best starts
        chosen, sums = np.zeros(n, dtype=np.int64), np.zeros(n)
        open_ = np.ones(n, dtype=bool)
        step = n
        while step > 1 and int((highest - lowest + 1)[open_].sum()) > _AT_ONCE:
            step = (step + 1) // 2
            middle = np.flatnonzero(open_[step - 1 :: step]) * step + step - 1
            chosen[middle], sums[middle] = self.best(low + middle, lowest[middle], highest[middle])
            open_[middle] = False
            solved = np.flatnonzero(~open_)
            before = np.searchsorted(solved, np.arange(n), side="right") - 1
            lowest = np.where(before >= 0, chosen[solved[before]], lowest)
            after = np.minimum(np.searchsorted(solved, np.arange(n)), len(solved) - 1)
            bounded = np.arange(n) <= solved[-1]
            highest = np.where(bounded, np.minimum(highest, chosen[solved[after]]), highest)
            highest = np.maximum(highest, lowest)  # rounding may have crossed two of the same round
        rest = np.flatnonzero(open_)
        if len(rest):
            chosen[rest], sums[rest] = self.best(low + rest, lowest[rest], highest[rest])
        return chosen, sums

    def best(self, ends: IntArray, lowest: IntArray, highest: IntArray) -> tuple[IntArray, FloatArray]:
        """Return for each end the first best start between two bounds, and the sum of squares with it."""
        sizes = highest - lowest + 1
        offsets = np.cumsum(sizes) - sizes
        start = np.arange(int(sizes.sum())) + np.repeat(lowest - offsets, sizes)
        i, j = start - self.begin, ends + 1 - self.begin
        weight = np.repeat(self.reached[ends + 1], sizes) - self.reached[start]
        inside = np.repeat(self.squares[j], sizes) - self.squares[i]
        inside -= (np.repeat(self.sums[j], sizes) - self.sums[i]) ** 2 / weight
        total = self.least[start] + np.maximum(inside, 0.0)
        least = np.minimum.reduceat(total, offsets)
        hits = np.flatnonzero(total == np.repeat(least, sizes))
        return start[hits[np.searchsorted(hits, offsets)]], least

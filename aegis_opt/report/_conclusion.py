"""What a comparison says, in a sentence or two: which variant to take, and what that costs or saves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aegis_opt.report._chart_data import Cell, Point, Selection

AS_CLOSE = 0.01
"""Means of TVD, or of regret in units of a random choice's, that differ by less count as equal."""


@dataclass(frozen=True)
class _Candidate:
    name: str
    value: float  # less is better
    seconds: float


def telling_apart(selections: Sequence[Selection]) -> Selection:
    """Return the selection to show first: of the scopes, the one in which the variants differ most.

    Where every variant finds the same table, such as from views that leave no choice, a figure shows nothing.
    """
    overall = [selection for selection in selections if selection.dataset == selections[0].dataset]
    return max(overall, key=_spread)  # the first one, where nothing differs


def _spread(selection: Selection) -> float:
    """Return how far the variants are apart in the mean TVD, else in the regret, under equal conditions."""
    groups: dict[object, list[float]] = {}
    for point in selection.points:
        groups.setdefault(point.histogram, []).append(point.tvd)
    if not groups:
        for cell in selection.cells:
            if cell.share is not None:
                groups.setdefault((cell.histogram, cell.dataset, cell.measure), []).append(cell.share)
    return max((max(values) - min(values) for values in groups.values()), default=0.0)


def conclusion(selection: Selection) -> str:
    """Say which variant to take, from the runs of one selection.

    The variant is the fastest of those whose mean is within `AS_CLOSE` of the best mean. Only variants that
    were tried on every problem are compared, with failures penalised, and with histograms where there are
    both. Where tables decide, a second sentence says what the advice costs.
    """
    histogram, tables = _by_distance(selection.points)
    used, advice = _by_regret(selection.cells)
    if not tables:
        where = f"{selection.scope}, {'with' if used else 'without'} histograms"
        return _choice(advice, "mean regret, in units of a random choice's,", where)[1]
    where = f"{selection.scope}, {'with' if histogram else 'without'} histograms"
    chosen, text = _choice(tables, "mean TVD", where)
    cost = {one.name: one.value for one in advice} if used == histogram else {}
    if chosen is None or chosen.name not in cost:
        return text
    least = min(cost, key=cost.__getitem__)
    text += f" By its advice one loses {cost[chosen.name]:.0%} of what a random choice loses"
    if least == chosen.name or cost[least] > cost[chosen.name] - AS_CLOSE:
        return f"{text}; none loses less."
    return f"{text}; {least} loses least, {cost[least]:.0%}."


def _choice(candidates: Sequence[_Candidate], unit: str, where: str) -> tuple[_Candidate | None, str]:
    """Return the variant to take, and the sentence that says why."""
    if not candidates:
        return None, "Nothing was tried on every problem, so no variant can be named."
    if len(candidates) == 1:
        [only] = candidates
        others = "No other variant was tried on every problem"
        return only, f"{others}: {only.name} has {unit} {only.value:.3g} in {_time(only.seconds)} ({where})."
    best = min(candidates, key=lambda one: (one.value, one.seconds))
    close = [one for one in candidates if one.value <= best.value + AS_CLOSE]
    chosen = min(close, key=lambda one: (one.seconds, one.value))
    if chosen is not best:
        return chosen, (
            f"Take {chosen.name}: as close as {best.name} ({unit} {chosen.value:.3g} against "
            f"{best.value:.3g}), {_faster(chosen, best)} ({where})."
        )
    if len(close) > 1:
        rival = min((one for one in close if one is not best), key=lambda one: one.seconds)
        return best, (
            f"Take {best.name}: none is closer ({unit} {best.value:.3g}), and of those as close none is "
            f"faster: {_time(best.seconds)} against {_time(rival.seconds)} of {rival.name} ({where})."
        )
    rival = min((one for one in candidates if one is not best), key=lambda one: one.value)
    return best, (
        f"Take {best.name}: it is the closest ({unit} {best.value:.3g}). The next, {rival.name}, has "
        f"{rival.value:.3g} and takes {_time(rival.seconds)} against {_time(best.seconds)} ({where})."
    )


def _by_distance(points: Sequence[Point]) -> tuple[bool, list[_Candidate]]:
    whole = [point for point in points if point.n == point.of]
    histogram = any(point.histogram for point in whole)
    used = [point for point in whole if point.histogram == histogram]
    return histogram, [_Candidate(point.variant, point.tvd, point.seconds) for point in used]


def _by_regret(cells: Sequence[Cell]) -> tuple[bool, list[_Candidate]]:
    known = [cell for cell in cells if cell.share is not None and cell.seconds is not None]
    histogram = any(cell.histogram for cell in known)
    groups: dict[str, list[Cell]] = {}
    for cell in known:
        if cell.histogram == histogram:
            groups.setdefault(cell.variant, []).append(cell)
    most = max(map(len, groups.values()), default=0)
    return histogram, [
        _Candidate(
            name,
            float(np.mean([cell.share for cell in part if cell.share is not None])),
            float(np.mean([cell.seconds for cell in part if cell.seconds is not None])),
        )
        for name, part in groups.items()
        if len(part) == most
    ]


def _faster(chosen: _Candidate, other: _Candidate) -> str:
    times = f"{_time(chosen.seconds)} against {_time(other.seconds)}"
    ratio = other.seconds / chosen.seconds if chosen.seconds > 0 else np.inf
    if ratio < 1.1:
        return f"in about the same time ({times})"
    return f"{_times(ratio)} times faster ({times})"


def _times(ratio: float) -> str:
    return f"{ratio:.2g}" if ratio < 100 else f"{float(f'{ratio:.2g}'):,.0f}"


def _time(seconds: float) -> str:
    for size, unit in ((1.0, "s"), (1e-3, "ms")):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"

"""SciPy's linear programs, solved so that Ctrl-C ends them, within bounds of memory and time."""

from __future__ import annotations

from typing import Any

from aegis_opt._interrupts import STOP_SECONDS, interruptible
from aegis_opt.errors import InvalidInput

MOST_ENTRIES = 4_000_000
"""Coefficients up to which a program is solved: HiGHS takes some 1 GB for so many."""


MOST_SECONDS = 60.0
"""Seconds after which a program is given up: most take milliseconds."""
_TIME_LIMIT = 1  # the status that says so


def linprog(*arguments: Any, seconds: float = MOST_SECONDS, **options: Any) -> Any:
    """Call `scipy.optimize.linprog`, whose HiGHS does not look for signals.

    `TimeoutError` is raised where it does not end within some seconds.
    """
    from scipy import optimize

    require_room(options["A_eq"].nnz)
    if seconds <= 0:
        raise TimeoutError
    limit = {"time_limit": seconds}
    outcome = interruptible(
        lambda: optimize.linprog(*arguments, **options, options=limit), seconds=seconds + STOP_SECONDS
    )
    if outcome.status == _TIME_LIMIT:
        raise TimeoutError
    return outcome


def require_room(entries: int) -> None:
    """Raise `InvalidInput` where a program of so many coefficients is too large."""
    if entries > MOST_ENTRIES:
        raise InvalidInput(
            f"this takes a linear program of {entries:,} coefficients, and there is room for "
            f"{MOST_ENTRIES:,}: coarsen the attribute or the label, use fewer views of it, or "
            "scope='single', where each view is taken alone"
        )

"""SciPy's linear programs, solved so that Ctrl-C ends them, and only where there is room for them."""

from __future__ import annotations

from typing import Any

from aegis_opt._interrupts import interruptible
from aegis_opt.errors import InvalidInput

MOST_ENTRIES = 4_000_000
"""Coefficients up to which a program is solved: HiGHS takes some 1 GB for so many."""


def linprog(*arguments: Any, **options: Any) -> Any:
    """Call `scipy.optimize.linprog`, whose HiGHS does not look for signals."""
    from scipy import optimize

    require_room(options["A_eq"].nnz)
    return interruptible(lambda: optimize.linprog(*arguments, **options))


def require_room(entries: int) -> None:
    """Raise `InvalidInput` where a program of so many coefficients is too large."""
    if entries > MOST_ENTRIES:
        raise InvalidInput(
            f"this takes a linear program of {entries:,} coefficients, and there is room for "
            f"{MOST_ENTRIES:,}: coarsen the attribute or the label, use fewer views of it, or "
            "scope='single', where each view is taken alone"
        )

"""SciPy's linear programs, solved so that Ctrl-C ends them."""

from __future__ import annotations

from typing import Any

from aegis_opt._interrupts import interruptible


def linprog(*arguments: Any, **options: Any) -> Any:
    """Call `scipy.optimize.linprog`, whose HiGHS does not look for signals."""
    from scipy import optimize

    return interruptible(lambda: optimize.linprog(*arguments, **options))

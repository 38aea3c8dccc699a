"""Families of hostile cases: each module here called ``..._cases.py`` holds those of one kind of input."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

Check = Callable[[int], None]


@dataclass(frozen=True)
class Family:
    """Cases of one kind, made from seeds. The check raises where the library is wrong."""

    name: str
    about: str
    check: Check
    seconds: float  # about how long a case takes
    prepare: Callable[[], object]  # makes what all cases share, before the first one is timed


_FOUND: dict[str, Family] = {}


def family(*, seconds: float, prepare: Callable[[], object] = tuple) -> Callable[[Check], Check]:
    """Make a family of a function of a seed; its docstring says in a sentence what is checked.

    `prepare` is called before every case, and keeps what it made.
    """

    def register(check: Check) -> Check:
        assert check.__doc__, f"{check.__name__} does not say what it checks"
        assert check.__name__ not in _FOUND, f"two families are called {check.__name__}"
        about = check.__doc__.splitlines()[0]
        _FOUND[check.__name__] = Family(check.__name__, about, check, seconds, prepare)
        return check

    return register


def families(modules: Sequence[str] = ()) -> dict[str, Family]:
    """Return the families of some modules by name; by default of all that are here."""
    here = sorted(path.stem for path in Path(__file__).parent.glob("*_cases.py"))
    for module in modules or here:
        import_module(module)
    return dict(_FOUND)

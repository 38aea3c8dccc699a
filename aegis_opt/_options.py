"""Checks of options and arguments: one way to say what each takes, and one kind of error for all else."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from aegis_opt._shown import shown
from aegis_opt.errors import AegisError, InvalidInput, InvalidOption, UnknownName

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

T = TypeVar("T")

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?=//)|file:(?=/)", re.IGNORECASE)

LARGEST_COUNT = 2**53
"""Above it floating-point numbers do not tell two whole numbers apart."""
LARGEST_NUMBER = 1e100
"""Size that no score, measure or figure in a file has: squares of such numbers can still be added up."""


def whole_number(
    name: str,
    value: Any,
    *,
    least: int | None = None,
    most: int | None = None,
    error: type[AegisError] = InvalidOption,
) -> int:
    """Return a whole number within bounds as an `int`; NumPy integers are taken, `True` and 3.0 are not.

    No number of anything is above `LARGEST_COUNT`, whatever the bounds.

    Examples
    --------
    >>> whole_number("replicates", 7, least=1)
    7
    >>> whole_number("replicates", 0, least=1)
    Traceback (most recent call last):
    ...
    aegis_opt.errors.InvalidOption: replicates must be a whole number from 1 up, not 0
    """
    if most is None and is_whole(value) and value > LARGEST_COUNT:
        most = LARGEST_COUNT
    if not is_whole(value) or _outside(value, least, most):
        raise error(f"{name} must be a whole number{_range(least, most)}, not {shown(value)}")
    return int(value)


def seed_number(name: str, value: Any, *, error: type[AegisError] = InvalidOption) -> int:
    """Return the seed of a random generator: a whole number of any size that is not negative.

    Examples
    --------
    >>> seed_number("seed", 2**100) == 2**100
    True
    >>> seed_number("seed", -1)
    Traceback (most recent call last):
    ...
    aegis_opt.errors.InvalidOption: seed must be a whole number from 0 up, not -1
    """
    if not is_whole(value) or value < 0:
        raise error(f"{name} must be a whole number{_range(0, None)}, not {shown(value)}")
    return int(value)


def number(
    name: str,
    value: Any,
    *,
    above: float | None = None,
    least: float | None = None,
    most: float | None = None,
    unit: str = "",
    error: type[AegisError] = InvalidOption,
) -> float:
    """Return a finite number within bounds as a `float`; `above` excludes the bound, `least` includes it.

    Examples
    --------
    >>> number("tolerance", 1e-6, above=0)
    1e-06
    >>> number("time_limit", 0, above=0, unit="seconds")
    Traceback (most recent call last):
    ...
    aegis_opt.errors.InvalidOption: time_limit must be a positive number of seconds, not 0
    """
    fits = is_number(value) and abs(value) <= sys.float_info.max and (above is None or value > above)
    if not fits or _outside(value, least, most):
        kind = "positive number" if above == 0 else "number"
        limits = f" above {above:g}" if above else _range(least, most)
        raise error(f"{name} must be a {kind}{f' of {unit}' if unit else ''}{limits}, not {shown(value)}")
    return float(value)


def flag(name: str, value: Any, *, error: type[AegisError] = InvalidOption) -> bool:
    """Return True or False, also of NumPy; nothing else counts as either: the text "no" would be true.

    Examples
    --------
    >>> flag("histograms", False)
    False
    """
    if type(value).__module__ == "numpy" and type(value).__name__ in ("bool", "bool_"):  # without loading it
        value = bool(value)
    if not isinstance(value, bool):
        raise error(f"{name} must be True or False, not {shown(value)}")
    return value


def one_of(
    name: str, value: Any, choices: Collection[str], *, error: type[AegisError] = InvalidOption
) -> Any:
    """Return `value` where it is one of the choices.

    Examples
    --------
    >>> one_of("scope", "poled", ("pooled", "single"))
    Traceback (most recent call last):
    ...
    aegis_opt.errors.InvalidOption: scope must be 'pooled' or 'single', not 'poled'
    """
    if not isinstance(value, str) or value not in choices:
        *others, last = map(repr, choices)
        known = f"{', '.join(others)} or {last}" if others else last
        raise error(f"{name} must be {known}, not {shown(value)}")
    return value


def instance(name: str, value: object, kind: type[T], way_out: str) -> T:
    """Return `value` where it is of the class asked for.

    Examples
    --------
    >>> instance("column", 3, str, "give its name")
    Traceback (most recent call last):
    ...
    aegis_opt.errors.InvalidOption: column must be of type str, not int: give its name
    """
    if not isinstance(value, kind):
        raise InvalidOption(f"{name} must be of type {kind.__name__}, not {type(value).__name__}: {way_out}")
    return value


def list_of(name: str, value: Any, kind: type[Any], way_out: str) -> tuple[Any, ...]:
    """Return what a list holds, all of it of the class asked for; a text is no list of texts.

    Examples
    --------
    >>> list_of("attributes", "age", str, "name columns")
    Traceback (most recent call last):
    ...
    aegis_opt.errors.InvalidOption: attributes must be a list of names: write ['age'], not 'age'
    """
    if kind is str and isinstance(value, str):
        raise InvalidOption(f"{name} must be a list of names: write [{shown(value)}], not {shown(value)}")
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InvalidOption(f"{name} must be a list, not {type(value).__name__}: {way_out}")
    held = tuple(value)
    if kind is str and (others := [one for one in held if not isinstance(one, str)]):
        raise InvalidOption(f"{name} must be a list of names: {shown(others[0])} is none")
    return tuple(instance(f"each of {name}", one, kind, way_out) for one in held)


def mapping_of(name: str, value: object, way_out: str) -> Mapping[Any, Any]:
    """Return a mapping.

    Examples
    --------
    >>> mapping_of("domains", ["age"], "write {'age': 'integer'}")
    Traceback (most recent call last):
    ...
    aegis_opt.errors.InvalidOption: domains must be a mapping, not list: write {'age': 'integer'}
    """
    if not isinstance(value, Mapping):
        raise InvalidOption(f"{name} must be a mapping, not {type(value).__name__}: {way_out}")
    return value


def known_name(
    kind: str, name: Any, known: Collection[str], hint: str = "", *, error: type[UnknownName] = UnknownName
) -> str:
    """Return a name that is one of those known.

    Examples
    --------
    >>> known_name("configuration", ["wide"], {"wide": 1})
    Traceback (most recent call last):
    ...
    aegis_opt.errors.UnknownName: unknown configuration ['wide']; known: wide.
    """
    if not isinstance(name, str) or name not in known:
        raise error(kind, name, map(str, known), hint)
    return name


def float_array(
    name: str, values: npt.ArrayLike, *, error: type[AegisError] = InvalidInput
) -> npt.NDArray[np.float64]:
    """Return numbers as an array, without a copy where they are one.

    Examples
    --------
    >>> float_array("table", [[1], ["x"]])
    Traceback (most recent call last):
    ...
    aegis_opt.errors.InvalidInput: table must hold numbers only: could not convert string to float: 'x'
    """
    import numpy as np  # only here: the command line starts faster without it

    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as problem:
        raise error(f"{name} must hold numbers only: {problem}") from problem


def any_array(name: str, values: Any, *, error: type[AegisError] = InvalidInput) -> npt.NDArray[Any]:
    """Return values of any kind as an array, without a copy where they are one.

    Examples
    --------
    >>> any_array("groups", [[0, 1], [1]])
    Traceback (most recent call last):
    ...
    aegis_opt.errors.InvalidInput: groups must be an array: its rows must all have the same length
    """
    import numpy as np

    try:
        return np.asarray(values)
    except ValueError as problem:
        raise error(f"{name} must be an array: its rows must all have the same length") from problem


def check_path(path: str | os.PathLike[str], error: type[AegisError] = InvalidOption) -> None:
    """Refuse what is no path of a file: an address, or a text that no file can be called.

    Examples
    --------
    >>> check_path("s3://bucket/summary.json")
    Traceback (most recent call last):
    ...
    aegis_opt.errors.InvalidOption: 's3://bucket/summary.json' is an address, and only files are read and \
written: give the path of a file, and copy it from or to there yourself (a folder here that is called 's3:' \
is written './s3:')
    """
    text = os.fsdecode(path)
    if scheme := _ADDRESS.match(text):
        raise error(
            f"{shown(text)} is an address, and only files are read and written: give the path of a file, and "
            f"copy it from or to there yourself (a folder here that is called {scheme[0]!r} is written "
            f"'./{scheme[0]}')"
        )
    if "\0" in text:
        raise error(f"{shown(text)} is no path: it holds a NUL character; remove that")
    try:
        os.fsencode(text)
    except UnicodeEncodeError as reason:  # such as half of a surrogate pair
        raise error(f"{shown(text)} is no path: {reason.reason}; write it in other characters") from reason


def expanded(path: str | os.PathLike[str], base: Path | None = None) -> Path:
    """Return a path in which ``~`` and ``~user`` are home folders; one of nobody is a folder of that name.

    What comes back does not begin with ``~``, so that it means the same when it is expanded again. A file
    here that is called ``~`` is written ``./~``. With `base`, a path that is not absolute begins there.

    Examples
    --------
    >>> expanded("~/summary.json") == Path.home() / "summary.json"
    True
    >>> expanded("./~/summary.json") == Path.cwd() / "~" / "summary.json"
    True
    """
    text = os.fsdecode(path)  # that of an os.DirEntry may be bytes
    with suppress(ValueError):  # no user has such a name; what is wrong with it is told where it is opened
        text = os.path.expanduser(text)
    found = Path(text) if base is None else base / text
    return found.absolute() if str(found).startswith("~") else found


def path_of(name: str, value: object, way_out: str = "give it as text or as a pathlib.Path") -> Path:
    """Return the path of a file or folder, in which ``~`` is expanded.

    Examples
    --------
    >>> path_of("output", 3)
    Traceback (most recent call last):
    ...
    aegis_opt.errors.InvalidOption: output must be a path, not int: give it as text or as a pathlib.Path
    """
    if not isinstance(value, str | os.PathLike):
        raise InvalidOption(f"{name} must be a path, not {type(value).__name__}: {way_out}")
    check_path(value)
    return expanded(value)


def is_whole(value: object) -> bool:
    """Whether a value is an integer of Python or NumPy; a bool is none."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_number(value: object) -> bool:
    """Whether a value is a real number of Python or NumPy; a bool is none."""
    return isinstance(value, Real) and not isinstance(value, bool)


def _outside(value: float, least: float | None, most: float | None) -> bool:
    return (least is not None and value < least) or (most is not None and value > most)


def _range(least: float | None, most: float | None) -> str:
    low, high = (f"{bound}" if is_whole(bound) else f"{bound:g}" for bound in (least or 0, most or 0))
    if least is not None and most is not None:
        return f" from {low} to {high}"
    if least is not None:
        return f" from {low} up"
    return "" if most is None else f" of at most {high}"

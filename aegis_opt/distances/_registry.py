"""The distances by name: those of this package, those registered by hand, those other packages offer."""

from __future__ import annotations

from functools import cache
from typing import Literal

import numpy as np
import numpy.typing as npt

from aegis_opt._options import float_array
from aegis_opt._plugins import load, offers
from aegis_opt.distances._base import Distance
from aegis_opt.distances._chi_square import Neyman, Pearson
from aegis_opt.distances._divergences import KL, Hellinger, ReverseKL
from aegis_opt.distances._huber import Huber
from aegis_opt.distances._minkowski import L1, L2, Linf, Lp
from aegis_opt.distances._roughness import Roughness
from aegis_opt.errors import AegisError, InvalidInput, InvalidOption, UnknownDistance

ENTRY_POINT_GROUP = "aegis_opt.distances"
"""Other packages offer a distance here: entry-point name = its name, object = a `Distance` or its class."""

_DISTANCES: dict[str, Distance | type[Distance]] = {
    "kl": KL,
    "reverse_kl": ReverseKL,
    "chi2": Pearson,
    "neyman": Neyman,
    "hellinger": Hellinger,
    "l1": L1,
    "l2": L2,
    "linf": Linf,
    "lp": Lp,
    "huber": Huber,
    "roughness": Roughness,
}
NormName = Literal[
    "kl", "reverse_kl", "chi2", "neyman", "hellinger", "l1", "l2", "linf", "lp", "huber", "roughness"
]
"""The distances of this package. One of another package, or one with a parameter, is given as an object."""
NORMS = tuple(_DISTANCES)
"""Names of the distances of this package; "lp", "huber" and "roughness" take a parameter, as in "lp=1.5"."""

_CHECKED: set[Distance] = set()


def get_distance(norm: str | Distance) -> Distance:
    """Look a distance up by name; a `Distance` is returned as it is.

    A distance is checked on random points when it is first asked for.

    Parameters
    ----------
    norm : str or Distance
        One of `available_distances()`, with its parameter where it has one ("lp=1.5"), or the distance
        itself.

    Raises
    ------
    UnknownDistance
        No distance has that name; the text lists those that exist.
    InvalidInput
        The distance is not convex, or contradicts itself.
    AegisError
        The package that offers it cannot be loaded, or offers something else.

    Examples
    --------
    >>> get_distance("lp=3").name, get_distance("lp").name
    ('lp=3', 'lp=1.5')
    """
    found = norm if isinstance(norm, Distance) else unchecked_distance(norm)
    if found not in _CHECKED:
        found.check()
        _CHECKED.add(found)
    return found


def distance(table: npt.ArrayLike, prior: npt.ArrayLike, norm: str | Distance) -> float:
    """Distance of a table X from a prior U of the same shape; see `aegis_opt.distances` for the formulas.

    Examples
    --------
    >>> distance([[3.0, 1.0]], [[2.0, 2.0]], "l1"), distance([[3.0, 1.0]], [[2.0, 2.0]], "linf")
    (2.0, 1.0)
    """
    chosen = get_distance(norm)
    X, U = float_array("the table", table), float_array("the prior", prior)
    if U.ndim == 0:  # the same prior for every cell
        U = np.full_like(X, U)
    if X.shape != U.shape:
        raise InvalidInput(f"the table is {X.shape}, the prior {U.shape}: a distance is between like tables")
    return chosen.value(X, U)


def available_distances() -> tuple[str, ...]:
    """Names that `get_distance` knows: this package's own first, then the others; nothing is loaded.

    Examples
    --------
    >>> available_distances()[:3]
    ('kl', 'reverse_kl', 'chi2')
    """
    return tuple(dict.fromkeys([*_DISTANCES, *offers(ENTRY_POINT_GROUP)]))


def register_distance(name: str, distance: Distance | type[Distance]) -> None:
    """Make a distance known by a name, for this process.

    Packages do better with an entry point in the group "aegis_opt.distances", which needs no call.

    Parameters
    ----------
    name : str
        A new name, entry points included: letters, digits, "_", "-" and ".".
    distance : Distance or its class
        A class is called with the number after "=" in a name such as "lp=1.5", or without arguments.

    Raises
    ------
    InvalidInput
        Not a distance, not convex, or the name is taken.
    """
    if not isinstance(name, str) or not name.replace("_", "").replace("-", "").replace(".", "").isalnum():
        raise InvalidInput(f"a distance is named by letters, digits, '_', '-' and '.', not by {name!r}")
    _require_distance(distance, f"what is to be registered as {name!r}", InvalidInput)
    if isinstance(distance, Distance):
        get_distance(distance)
    # setdefault is one step: of two threads that register a name at the same time, one is refused
    if name in available_distances() or _DISTANCES.setdefault(name, distance) is not distance:
        raise InvalidInput(f"the distance name {name!r} is taken: choose another")


def unchecked_distance(text: object) -> Distance:
    """Return the distance of a name, its parameter read; what it says about itself is not checked."""
    if not isinstance(text, str):
        raise UnknownDistance("norm", text, available_distances(), "Give a name or a Distance.")
    name, equals, parameter = text.partition("=")
    if name not in _DISTANCES:
        if name not in offers(ENTRY_POINT_GROUP):
            raise UnknownDistance("norm", text, available_distances())
        _DISTANCES[name] = _require_distance(*load("distance", offers(ENTRY_POINT_GROUP)[name]), AegisError)
    return _made(name, text, parameter if equals else None)


@cache
def _made(name: str, text: str, parameter: str | None) -> Distance:
    found = _DISTANCES[name]
    if parameter is None:
        made = found() if isinstance(found, type) else found
    elif isinstance(found, type) and found.parameter is not None:
        try:
            number = float(parameter)
        except ValueError:
            raise InvalidOption(
                f"the parameter {found.parameter} of the norm {name!r} must be a number, as in '{name}=1.5', "
                f"not {text!r}"
            ) from None
        made = found(number)  # type: ignore[call-arg]
    else:
        raise InvalidOption(f"the norm {name!r} has no parameter: write {name!r}, not {text!r}")
    if made.name.partition("=")[0] != name:
        raise AegisError(f"the distance {name!r} calls itself {made.name!r}: both names must be the same")
    return made


def _require_distance(found: object, origin: str, error: type[AegisError]) -> Distance | type[Distance]:
    if isinstance(found, Distance) or (isinstance(found, type) and issubclass(found, Distance)):
        return found
    raise error(f"{origin} is neither a Distance nor a class of them: {found!r}")

"""A variant: one solver with its norm, rounding and options, as a comparison names it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, replace
from typing import Any

from aegis_opt.distances import Distance
from aegis_opt.errors import InvalidOption, UnknownSolver
from aegis_opt.harness._other_libraries import PEERS
from aegis_opt.solvers.base import Reconstructor
from aegis_opt.solvers.registry import available_solvers, get_reconstructor, solver_class

RANDOM = "random"
"""The baseline of every comparison: a configuration drawn at random. It reconstructs nothing."""

_FORM = "solver, solver:norm, solver+rounding, solver[option=value] or all of these, as convex:l1+nearest"
_TEXT = re.compile(
    r"(?P<solver>[^:+\[\]\s]+)(:(?P<norm>[^:+\[\]\s]+))?(\+(?P<rounding>[^:+\[\]\s]+))?"
    r"(\[(?P<options>[^\[\]]*)\])?"
)
_COMMON = {"rounding", "seed", "norm"}


@dataclass(frozen=True)
class Variant:
    """One way to reconstruct that a comparison runs.

    Parameters
    ----------
    solver : str
        One of `available_solvers()`, another library ("ipfn", "humanleague", ...), or "random".
    norm : str or Distance, optional
        The distance, for solvers that have a choice.
    rounding : str, optional
        How tables become whole.
    options : tuple of (str, value)
        The solver's other options, sorted by name.
    configured : Reconstructor, optional
        A configured solver to use as it is, whatever its name; see `Variant.of`.

    Examples
    --------
    >>> Variant.parse("convex:l1+nearest"), Variant.parse("integer:lp=1.5")
    (Variant('convex:l1+nearest'), Variant('integer:lp=1.5'))
    >>> str(Variant.of({"solver": "integer", "norm": "l2", "engine": "cp-sat"}))
    'integer:l2[engine=cp-sat]'
    """

    solver: str
    norm: str | Distance | None = None
    rounding: str | None = None
    options: tuple[tuple[str, Any], ...] = ()
    configured: Reconstructor | None = None

    @staticmethod
    def parse(text: str) -> Variant:
        """Read a variant as `str` writes it: ``solver[:norm][+rounding][[option=value,...]]``."""
        found = _TEXT.fullmatch(text.strip())
        if found is None:
            raise InvalidOption(f"cannot read the variant {text!r}: write {_FORM}")
        options = {}
        for part in filter(None, (found["options"] or "").split(",")):
            key, equals, value = part.partition("=")
            if not equals:
                raise InvalidOption(f"cannot read {part!r} in the variant {text!r}: write [option=value]")
            options[key.strip()] = _value(value.strip())
        return _variant(found["solver"], found["norm"], found["rounding"], options)

    @staticmethod
    def of(entry: SolverEntry) -> Variant:
        """Return the variant that a caller means by a text, a mapping, a configured solver or a variant."""
        if isinstance(entry, Variant):
            return entry
        if isinstance(entry, str):
            return Variant.parse(entry)
        if isinstance(entry, Mapping):
            given = dict(entry)
            if "solver" not in given:
                raise InvalidOption(f"a variant needs a 'solver': {given}")
            named = {key: given.pop(key, None) for key in ("solver", "norm", "rounding")}
            return _variant(**named, options=given.pop("options", {}) | given)
        if isinstance(entry, Reconstructor):
            changed = {
                f.name: getattr(entry, f.name)
                for f in fields(entry)
                if f.init
                and f.name not in _COMMON
                and (f.default is MISSING or getattr(entry, f.name) != f.default)
            }
            return _variant(entry.name, getattr(entry, "norm", None), entry.rounding, changed, entry)
        raise InvalidOption(f"a solver is a name, a mapping or a Reconstructor, not {entry!r}: write {_FORM}")

    @property
    def is_random_choice(self) -> bool:
        """Whether this is the random baseline: a configuration drawn at random, without reconstruction."""
        return self.solver == RANDOM and self.configured is None

    @property
    def kind(self) -> type[Reconstructor]:
        """The solver's class."""
        if self.configured is not None:
            return type(self.configured)
        if self.solver in available_solvers():
            return solver_class(self.solver)
        if self.solver in PEERS:
            return PEERS[self.solver]
        peers = [*PEERS, RANDOM]
        hint = f"For comparison only: {', '.join(sorted(peers))}."
        raise UnknownSolver("solver", self.solver, [*available_solvers(), *peers], hint)

    def reconstructor(self, seed: int = 0) -> Reconstructor:
        """Configure the solver."""
        if self.configured is not None:
            return replace(self.configured, seed=seed)
        kind = self.kind
        options = dict(self.options) | ({} if self.norm is None else {"norm": self.norm})
        if self.solver in available_solvers():
            return get_reconstructor(self.solver, rounding=self.rounding, seed=seed, **options)
        if options:
            raise InvalidOption(f"peer {self.solver!r} has no option {next(iter(options))!r}; it has none")
        return kind(rounding=self.rounding, seed=seed)

    def __str__(self) -> str:
        text = self.solver + (f":{self.norm}" if self.norm else "")
        text += f"+{self.rounding}" if self.rounding else ""
        if self.options:
            text += f"[{','.join(f'{key}={_word(value)}' for key, value in self.options)}]"
        return text

    def __repr__(self) -> str:
        return f"Variant({str(self)!r})"


SolverEntry = str | Mapping[str, Any] | Reconstructor | Variant
"""What a caller may list as a solver."""


def _variant(
    solver: str,
    norm: str | Distance | None,
    rounding: str | None,
    options: Mapping[str, Any],
    configured: Reconstructor | None = None,
) -> Variant:
    """Make a variant of what was read, so that equal ones compare equal."""
    rounding = None if rounding == "none" else rounding
    return Variant(solver, norm, rounding, tuple(sorted(options.items())), configured)


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _word(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)

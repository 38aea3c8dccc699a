"""Errors a caller can provoke: each names the offending thing and the way out."""

from __future__ import annotations

from collections.abc import Iterable

from aegis_opt._shown import shortened, shown, without_controls

_LONGEST_COMPARED = 200  # characters
_MOST_NAMED = 100  # of what exists, in the text of an error

__all__ = [
    "AdviceError",
    "AegisError",
    "CertificateError",
    "ConfigurationError",
    "DatasetUnavailable",
    "InfeasibleProblem",
    "InfeasibleSearch",
    "InvalidInput",
    "InvalidOption",
    "MaskError",
    "MissingDependency",
    "OutputError",
    "RoundingImpossible",
    "SourceError",
    "SummaryError",
    "UnknownColumn",
    "UnknownDistance",
    "UnknownMask",
    "UnknownMeasure",
    "UnknownName",
    "UnknownSolver",
]


class AegisError(Exception):
    """Base class of every error raised on purpose by `aegis_opt`."""

    def __str__(self) -> str:
        """Return the text; a name or path in it cannot command the terminal that shows it."""
        return without_controls(super().__str__())


class InvalidInput(AegisError, ValueError):
    """An argument has the wrong shape, type or range."""


class InvalidOption(InvalidInput):
    """An option that the chosen function or solver does not have, or a value it cannot take."""


class UnknownName(AegisError, LookupError):
    """A name that is in no registry; the text lists what exists."""

    def __init__(self, kind: str, name: object, known: Iterable[str], hint: str = "") -> None:
        import difflib  # only here: the command line starts faster without it

        known = sorted(known)
        # Long names are not compared: that takes time by the product of their lengths
        short = [candidate for candidate in known if len(candidate) <= _LONGEST_COMPARED]
        close = []
        if isinstance(name, str) and len(name) <= _LONGEST_COMPARED:
            close = difflib.get_close_matches(name, short, n=1)
        text = f"unknown {kind} {shown(name)}"
        if close:
            text += f": did you mean {close[0]!r}?"
        more = f" and {len(known) - _MOST_NAMED} more" if len(known) > _MOST_NAMED else ""
        listed = ", ".join(map(shortened, known[:_MOST_NAMED])) + more
        text += f" Known: {listed}." if close else f"; known: {listed}."
        super().__init__(f"{text} {hint}".rstrip())


class UnknownSolver(UnknownName):
    """No solver of that name is registered."""


class UnknownMeasure(UnknownName):
    """No measure of that name is registered."""


class UnknownDistance(UnknownName, InvalidOption):
    """No distance of that name is registered."""


class UnknownColumn(UnknownName):
    """The source has no column of that name."""


class UnknownMask(UnknownName):
    """No masking function of that name is registered."""


class MaskError(InvalidInput):
    """A mask does not fit the column it is applied to."""


class ConfigurationError(InvalidInput):
    """A set of masking configurations is malformed, in memory or in a file."""


class SourceError(InvalidInput):
    """A table cannot be read or cannot be counted."""


class SummaryError(InvalidInput):
    """A summary is malformed, in memory or in a file."""


class AdviceError(InvalidInput):
    """A file of an advice is malformed."""


class InfeasibleProblem(AegisError, ValueError):
    """No table satisfies all the known totals; the text names the ones that disagree.

    Attributes
    ----------
    totals : tuple of (str, int, int)
        Totals that cannot hold together, as (margin, row, column): ("view 0", 2, 1) is ``joint[2, 1]`` of the
        first view, ("histogram", 4, 0) the number of records with the fifth value. Left out any one of them
        (or of `constraints`), the others can hold: they are irreducible, unless the text says otherwise.
        Empty where they were not looked for, because the table is large or only whole tables are missing.
    constraints : tuple of str
        Names of the extra constraints that belong to them.
    """

    totals: tuple[tuple[str, int, int], ...] = ()
    constraints: tuple[str, ...] = ()


class InfeasibleSearch(AegisError, ValueError):
    """No configuration satisfies the privacy rules; the text names what blocks and what would free it.

    Attributes
    ----------
    least_suppression : float
        The share of records that would have to be suppressed, at the least that was found.
    blocking : tuple of str
        Attributes whose coarsest candidate still leaves too many values apart.
    """

    def __init__(self, text: str, *, least_suppression: float = 1.0, blocking: tuple[str, ...] = ()) -> None:
        super().__init__(text)
        self.least_suppression, self.blocking = least_suppression, blocking


class CertificateError(InvalidInput):
    """A certificate is malformed, is no proof, or is not of this table."""


class RoundingImpossible(AegisError, ValueError):
    """The totals admit no whole table of the kind a rounding promises; the text says what to use instead."""


class MissingDependency(AegisError, ImportError):
    """An optional package is needed; the text says how to install it."""


class DatasetUnavailable(AegisError, OSError):
    """A data set is neither on this machine nor reachable."""


class OutputError(AegisError, OSError):
    """A file cannot be written; what was there before is still there."""

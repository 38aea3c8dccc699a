"""The measures by name: those of this package, those registered by hand, those other packages offer."""

from __future__ import annotations

from typing import Literal

from aegis_opt._options import one_of
from aegis_opt._plugins import load, offers
from aegis_opt.errors import AegisError, InvalidInput, InvalidOption, UnknownMeasure
from aegis_opt.measures._base import Measure
from aegis_opt.measures._chi_square import (
    chi_square,
    chi_square_corrected,
    cramers_v,
    cramers_v_corrected,
)
from aegis_opt.measures._correlation_ratio import correlation_ratio
from aegis_opt.measures._functional_dependency import g1_error, g2_error, g3_error, g3_loo_error
from aegis_opt.measures._goodman_kruskal import goodman_kruskal_tau
from aegis_opt.measures._information import (
    mutual_information,
    mutual_information_corrected,
    mutual_information_loo,
    theils_u,
)

ENTRY_POINT_GROUP = "aegis_opt.measures"
"""Other packages offer a measure here: entry-point name = measure name, object = a `Measure`."""

MeasureName = Literal[
    "mi",
    "chi2",
    "g3",
    "g1",
    "g2",
    "cramers_v",
    "theils_u",
    "gk_tau",
    "mi_corrected",
    "chi2_corrected",
    "cramers_v_corrected",
    "g3_loo",
    "mi_loo",
    "eta2",
]
"""The measures of this package. `get_measure` takes any name, also of a measure of another package."""

_MEASURES: dict[str, Measure] = {
    measure.name: measure
    for measure in (  # name, title, function, higher_is_better, monotone, channel_monotone
        Measure(
            "mi",
            "mutual information",
            mutual_information,
            True,
            True,
            True,
            unit="bits",
            monotone_in_labels=True,
        ),
        Measure("chi2", "chi-square", chi_square, True, True, True, digits=3, monotone_in_labels=True),
        # the errors fall where classes of the label are merged, and shares of a smaller whole may rise
        Measure("g3", "g3 error", g3_error, False, True, True),
        Measure("g1", "g1 error", g1_error, False, True),  # halving a row into two lowers it
        Measure("g2", "g2 error", g2_error, False, True, True),
        Measure("cramers_v", "Cramer's V", cramers_v, True, False),
        Measure("theils_u", "Theil's U", theils_u, True, True, True),
        Measure("gk_tau", "Goodman-Kruskal tau", goodman_kruskal_tau, True, True, True),
        Measure(
            "mi_corrected",
            "mutual information (Miller-Madow)",
            mutual_information_corrected,
            True,
            False,
            unit="bits",
        ),
        Measure("chi2_corrected", "chi-square minus df", chi_square_corrected, True, False, digits=3),
        Measure("cramers_v_corrected", "Cramer's V (Bergsma)", cramers_v_corrected, True, False),
        Measure("g3_loo", "leave-one-out g3 error", g3_loo_error, False, False),
        Measure(
            "mi_loo",
            "leave-one-out mutual information",
            mutual_information_loo,
            True,
            False,
            unit="bits",
            whole_counts=True,
        ),
        Measure(
            "eta2",
            "correlation ratio (eta squared)",
            correlation_ratio,
            True,
            True,
            True,
            label_kind="number",
        ),
    )
}


def get_measure(measure: str | Measure) -> Measure:
    """Look a measure up by name; a `Measure` is returned as it is.

    A measure that another package offers is loaded when it is first asked for.

    Parameters
    ----------
    measure : str or Measure
        One of `available_measures()`, or the measure itself.

    Returns
    -------
    Measure

    Raises
    ------
    UnknownMeasure
        No measure has that name; the text lists those that exist.
    AegisError
        The package that offers it cannot be loaded, or offers something else.

    Examples
    --------
    >>> get_measure("g3").higher_is_better
    False
    """
    if isinstance(measure, Measure):
        return measure
    if not isinstance(measure, str):
        raise UnknownMeasure("measure", measure, _known_names(), "Give a name or a Measure.")
    if measure not in _MEASURES:
        if measure not in offers(ENTRY_POINT_GROUP):
            raise UnknownMeasure("measure", measure, _known_names())
        _MEASURES[measure] = _offered(measure)
    return _MEASURES[measure]


def known_measure(name: str) -> Measure | None:
    """Look a measure up by a name that a file gives, and load nothing; None where it is not registered."""
    return _MEASURES.get(name)


def measure_for(label_kind: Literal["class", "number"], measure: str | Measure) -> Measure:
    """Look a measure up, and refuse one that is about another kind of label.

    Examples
    --------
    >>> measure_for("number", "eta2").monotone
    True
    """
    found = get_measure(measure)
    if found.label_kind != label_kind:
        others = ", ".join(available_measures(label_kind))
        if label_kind == "number":
            raise InvalidOption(
                f"measure {found.name!r} is about classes, and the label is a number: take {others}, or make "
                "classes of the number, summarize(..., label_bins=4)"
            )
        raise InvalidOption(
            f"measure {found.name!r} is about a label that is a number, summarize(..., label_kind='number'), "
            f"and this label is one of some classes: take one of {others}"
        )
    return found


def available_measures(label_kind: Literal["class", "number"] = "class") -> tuple[str, ...]:
    """Names that `get_measure` knows: this package's own first, then the others; nothing is loaded.

    Parameters
    ----------
    label_kind : {"class", "number"}
        Measures of tables of counts, for a label that is one of some classes; or those for a label that is a
        number. What another package offers, and was not asked for yet, is among the former.

    Returns
    -------
    tuple of str

    Examples
    --------
    >>> available_measures()[:3]
    ('mi', 'chi2', 'g3')
    >>> available_measures("number")
    ('eta2',)
    """
    one_of("label_kind", label_kind, ("class", "number"))
    own = [name for name, measure in _MEASURES.items() if measure.label_kind == label_kind]
    offered = [name for name in offers(ENTRY_POINT_GROUP) if name not in _MEASURES]
    return (*own, *(offered if label_kind == "class" else ()))


def register_measure(measure: Measure) -> None:
    """Make a measure known by its name, for this process.

    Packages do better with an entry point in the group "aegis_opt.measures", which needs no call.

    Parameters
    ----------
    measure : Measure
        Its name must be new, entry points included.

    Raises
    ------
    InvalidInput
        Not a `Measure`, or the name is taken.
    """
    if not isinstance(measure, Measure):
        raise InvalidInput(f"only a Measure can be registered, not {measure!r}")
    # setdefault is one step: of two threads that register a name at the same time, one is refused
    if measure.name in _known_names() or _MEASURES.setdefault(measure.name, measure) is not measure:
        raise InvalidInput(f"the measure name {measure.name!r} is taken: choose another")


def _known_names() -> tuple[str, ...]:
    """Names of measures, whatever the label."""
    return tuple(dict.fromkeys([*_MEASURES, *offers(ENTRY_POINT_GROUP)]))


def _offered(name: str) -> Measure:
    """Load the measure offered under a name; whatever is wrong with it is told with its origin."""
    loaded, origin = load("measure", offers(ENTRY_POINT_GROUP)[name])
    if not isinstance(loaded, Measure):
        raise AegisError(f"{origin} is a {type(loaded).__name__}, not a Measure: the plugin must be repaired")
    if loaded.name != name:
        raise AegisError(f"{origin} calls itself {loaded.name!r}: both names must be the same")
    return loaded

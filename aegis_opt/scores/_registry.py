"""The scores by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

from aegis_opt.errors import InvalidOption, UnknownName
from aegis_opt.scores._base import Score
from aegis_opt.scores._r2 import R2, R2_CERTIFIED, R2_CV, R2_GCV
from aegis_opt.scores._race import Race

ScoreName = Literal["r2", "r2_certified", "r2_gcv", "r2_cv", "race"]
"""The scores that have a name."""

_NAMED: dict[str, Callable[[], Score]] = {
    **{score.name: lambda score=score: score for score in (R2, R2_CERTIFIED, R2_GCV, R2_CV)},  # type: ignore[misc]
    "race": Race,
}


def get_score(score: str | Score) -> Score:
    """Look a score up by name; a `Score` is returned as it is.

    Parameters
    ----------
    score : str or Score
        One of `available_scores()`, or the score itself, such as a `Model`.

    Examples
    --------
    >>> get_score("r2").monotone
    True
    """
    if isinstance(score, Score):
        return score
    if not isinstance(score, str) or score not in _NAMED:
        raise UnknownName("score", score, _NAMED, "Give a name, or a score such as aegis_opt.scores.Model().")
    return _NAMED[score]()


def available_scores() -> tuple[str, ...]:
    """Names that `get_score` knows.

    Examples
    --------
    >>> available_scores()
    ('r2', 'r2_certified', 'r2_gcv', 'r2_cv', 'race')
    """
    return tuple(_NAMED)


def get_scores(scores: Iterable[str | Score]) -> list[Score]:
    """Look up scores that are computed together: their names must differ."""
    if isinstance(scores, str | Score):
        scores = [scores]
    found = [get_score(score) for score in scores]
    names = [score.name for score in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InvalidOption(f"two scores are called {twice!r}: give one of them another name=")
    return found

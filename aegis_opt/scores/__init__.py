"""Scores of a configuration: how well all its masked attributes together predict the label."""

from aegis_opt.scores._base import Score, ScoreValues
from aegis_opt.scores._masked_records import MaskedRecords
from aegis_opt.scores._model import Model
from aegis_opt.scores._race import Race
from aegis_opt.scores._registry import ScoreName, available_scores, get_score

__all__ = [
    "MaskedRecords",
    "Model",
    "Race",
    "Score",
    "ScoreName",
    "ScoreValues",
    "available_scores",
    "get_score",
]

"""Summaries: all that a provider shares about a table that nobody else may see."""

from aegis_opt.summary._model import AttributeSummary, MaskedTable, Summary
from aegis_opt.summary._privacy import SharedPrivacy, SharedRule
from aegis_opt.summary._scores import MeasuredAttribute, ScoreSummary, SharedScore
from aegis_opt.summary._summarize import summarize

__all__ = [
    "AttributeSummary",
    "MaskedTable",
    "MeasuredAttribute",
    "ScoreSummary",
    "SharedPrivacy",
    "SharedRule",
    "SharedScore",
    "Summary",
    "summarize",
]

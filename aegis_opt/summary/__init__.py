"""Summaries: all that a provider shares about a table that nobody else may see."""

from aegis_opt.summary._label_masks import LabelMask
from aegis_opt.summary._model import AttributeSummary, MaskedTable, Summary
from aegis_opt.summary._privacy import SharedPrivacy, SharedRule
from aegis_opt.summary._protected import ProtectedAttribute, ProtectedSummary, ProtectedTable
from aegis_opt.summary._scores import MeasuredAttribute, ScoreSummary, SharedScore
from aegis_opt.summary._summaries import Summaries
from aegis_opt.summary._summarize import summarize

AnySummary = Summary | ScoreSummary | ProtectedSummary
"""All that a summary file may hold."""

__all__ = [
    "AttributeSummary",
    "LabelMask",
    "MaskedTable",
    "MeasuredAttribute",
    "ProtectedAttribute",
    "ProtectedSummary",
    "ProtectedTable",
    "ScoreSummary",
    "SharedPrivacy",
    "SharedRule",
    "SharedScore",
    "Summaries",
    "Summary",
    "summarize",
]

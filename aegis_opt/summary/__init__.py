"""Summaries: all that a provider shares about a table that nobody else may see."""

from aegis_opt.summary.model import AttributeSummary, MaskedTable, Summary
from aegis_opt.summary.summarize import summarize

__all__ = ["AttributeSummary", "MaskedTable", "Summary", "summarize"]

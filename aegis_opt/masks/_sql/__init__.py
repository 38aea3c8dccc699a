"""Masks as SQL: how a column is masked, and the SELECT of a whole configuration."""

from aegis_opt.masks._sql._column import SqlColumn, against
from aegis_opt.masks._sql._draw import Draw, drawn_column
from aegis_opt.masks._sql._literals import REAL, TEXT, label_texts, label_type
from aegis_opt.masks._sql._lookup import Lookup, masked_column
from aegis_opt.masks._sql._noise import noise_type, uniform_sql
from aegis_opt.masks._sql._rules import rule_sql
from aegis_opt.masks._sql._select import DIALECTS, Dialect, quasi_identifier_names, select_sql

__all__ = [
    "DIALECTS",
    "REAL",
    "TEXT",
    "Dialect",
    "Draw",
    "Lookup",
    "SqlColumn",
    "against",
    "drawn_column",
    "label_texts",
    "label_type",
    "masked_column",
    "noise_type",
    "quasi_identifier_names",
    "rule_sql",
    "select_sql",
    "uniform_sql",
]

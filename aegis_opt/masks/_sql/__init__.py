"""Masks as SQL: how a column is masked, and the SELECT of a whole configuration."""

from aegis_opt.masks._sql._column import SqlColumn
from aegis_opt.masks._sql._lookup import Lookup, listed_domain, masked_column
from aegis_opt.masks._sql._rules import rule_sql
from aegis_opt.masks._sql._select import DIALECTS, select_sql

__all__ = ["DIALECTS", "Lookup", "SqlColumn", "listed_domain", "masked_column", "rule_sql", "select_sql"]

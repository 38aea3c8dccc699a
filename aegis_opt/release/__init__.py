"""Releasing data: masked tables, the SQL that masks them, and a transformer for scikit-learn pipelines."""

from aegis_opt.errors import OutputError
from aegis_opt.masks._sql import DIALECTS, select_sql
from aegis_opt.release._apply import apply_configuration, source_domains

__all__ = ["DIALECTS", "OutputError", "apply_configuration", "select_sql", "source_domains"]

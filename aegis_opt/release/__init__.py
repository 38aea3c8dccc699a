"""Releasing data: masked tables, the SQL that masks them, and a transformer for scikit-learn pipelines."""

from aegis_opt.errors import OutputError
from aegis_opt.release.apply import apply_configuration, source_domains
from aegis_opt.release.select import DIALECTS, select_sql

__all__ = ["DIALECTS", "OutputError", "apply_configuration", "select_sql", "source_domains"]

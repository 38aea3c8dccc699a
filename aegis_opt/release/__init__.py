"""Releasing data: masked tables, the SQL that masks them, and a transformer for scikit-learn pipelines."""

from aegis_opt.release.apply import OutputError, apply_configuration, source_domains
from aegis_opt.release.select import DIALECTS, select_sql

__all__ = ["DIALECTS", "OutputError", "apply_configuration", "select_sql", "source_domains"]

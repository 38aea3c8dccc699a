"""Disclosure: what a summary tells about the raw joint tables, before it is shared."""

from aegis_opt.disclosure._attribute import TableBounds
from aegis_opt.disclosure._audit import Audit, audit

__all__ = ["Audit", "TableBounds", "audit"]

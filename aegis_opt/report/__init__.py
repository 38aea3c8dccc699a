"""The report: one self-contained page about a comparison, and its figures as PNG and SVG."""

from aegis_opt.report._page import write_report

__all__ = ["write_report"]

"""The report: a comparison as one self-contained page with figures, and the picture of an advice."""

from aegis_opt.report._advice_figure import plot_ranking
from aegis_opt.report._page import write_report

__all__ = ["plot_ranking", "write_report"]

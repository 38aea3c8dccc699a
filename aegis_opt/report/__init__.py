"""Figures, each described once and drawn by Vega-Lite, and the page of a comparison."""

from aegis_opt.report._page import write_report
from aegis_opt.report._plots import plot_ranking

__all__ = ["plot_ranking", "write_report"]

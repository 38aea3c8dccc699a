"""Whole numbers from fractional tables."""

from aegis_opt.rounding._base import ROUNDINGS, Rounding, RoundingName, round_table, round_tables

__all__ = ["ROUNDINGS", "Rounding", "RoundingName", "round_table", "round_tables"]

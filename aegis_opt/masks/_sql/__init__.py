"""Masks as SQL."""

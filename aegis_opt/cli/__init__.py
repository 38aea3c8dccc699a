"""The command line: the library's words, with tables for people and JSON for machines."""

from aegis_opt.cli._entry import main

__all__ = ["main"]

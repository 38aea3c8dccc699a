"""Texts that a spreadsheet would take for formulas, made harmless as OWASP advises ("CSV injection")."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from aegis_opt.sources._column import kind_of

if TYPE_CHECKING:
    import pandas as pd
    from duckdb import DuckDBPyRelation as Relation

# How formulas begin, and what such a text may be nevertheless: regular expressions that DuckDB reads, too
_BEGINS = r"[=+\-@\t\r\n\x{FF1D}\x{FF0B}\x{FF0D}\x{FF20}]"  # the last four: = + - @ in full width
_NUMBER = r"[+\-]?(\d+(\.\d*)?|\.\d+)([eE][+\-]?\d+)?"
_APOSTROPHE = "chr(39)"


def without_formulas(relation: Relation, names: Sequence[str]) -> tuple[Relation, list[str]]:
    """Put an apostrophe before texts of a relation with columns c0, c1, ..., and before names, that need it.

    A spreadsheet shows what follows the apostrophe as text. What reads as a number is no formula.
    """
    columns = []
    for i, sql_type in enumerate(relation.types):
        found = kind_of(str(sql_type))
        if found is not None and found[0] in ("integer", "real"):
            columns.append(f"c{i}")
            continue
        text = f"CAST(c{i} AS VARCHAR)"
        formula = f"regexp_matches({text}, '^{_BEGINS}') AND NOT regexp_full_match({text}, '{_NUMBER}')"
        columns.append(f"CASE WHEN {formula} THEN {_APOSTROPHE} || {text} ELSE {text} END AS c{i}")
    return relation.project(", ".join(columns)), [_harmless(name) for name in names]


def frame_without_formulas(frame: pd.DataFrame) -> pd.DataFrame:
    """Do the same to the texts and the column names of a frame."""
    harmless = frame.map(lambda value: _harmless(value) if isinstance(value, str) else value)
    return harmless.set_axis([_harmless(str(name)) for name in frame.columns], axis="columns")


def _harmless(text: str) -> str:
    """Put an apostrophe before a text that begins as a formula."""
    begins = re.sub(r"x\{(\w+)\}", r"u\1", _BEGINS)  # as Python writes it
    number = re.fullmatch(_NUMBER, text, re.ASCII)
    return f"'{text}" if re.match(begins, text) and not number else text

"""What no comparison writes: rows of a results folder that were changed by others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from aegis_opt._options import LARGEST_NUMBER
from aegis_opt._shown import shown
from aegis_opt.harness._schema import COLUMNS, FAILED, KEYS, NO_WINNER, OK, SKIPPED, TIMED_OUT, TableName
from aegis_opt.solvers.reconstruction import Status

if TYPE_CHECKING:
    from aegis_opt.harness._results import Results

LONGEST = 1e9  # seconds that a comparison may have taken

_NO_RESULT = (FAILED, TIMED_OUT, SKIPPED)
STATUSES: dict[TableName, tuple[str, ...]] = {
    "reconstructions": (*_NO_RESULT, *(status.name.lower().replace("_", " ") for status in Status)),
    "advice": (*_NO_RESULT, OK, NO_WINNER),
}
"""How runs end, by table."""


def damaged_rows(results: Results) -> Iterator[str]:
    """Name the columns that hold what no comparison writes."""
    for table, kinds in COLUMNS.items():
        frame: pd.DataFrame = getattr(results, table)
        always = {*KEYS[table], *{"status", "pud", "pud_true"}.intersection(kinds)}
        for name, kind in kinds.items():
            column = frame[name]
            if name in always and column.isna().any():
                yield f"{table}: {name!r} is missing in some row"
            if kind == "DOUBLE":
                largest = np.nanmax(np.abs(column.to_numpy(np.float64, na_value=np.nan)), initial=0.0)
                if largest > LARGEST_NUMBER:
                    size = "infinite" if np.isinf(largest) else f"beyond {LARGEST_NUMBER:g}"
                    yield f"{table}: {name!r} is {size} in some row"
        if table in STATUSES and not frame["status"].isin(STATUSES[table]).all():
            odd = frame.loc[~frame["status"].isin(STATUSES[table]), "status"].iloc[0]
            yield f"{table}: the status {shown(odd)} is none that a run ends with"
        if (frame.filter(like="seconds_") > LONGEST).to_numpy(dtype=bool, na_value=False).any():
            yield f"{table}: a time of more than {LONGEST:g} seconds"
    tables = results.reconstructions
    measured = tables.loc[~tables["status"].isin(_NO_RESULT), "tvd"]
    if not measured.between(0, 1).all():  # a gap is not between them
        yield "reconstructions: 'tvd' is not between 0 and 1 where there is a table"
    won = results.advice[results.advice["status"] == OK]
    if won[["pud_best_true", "pud_true_min"]].isna().any(axis=None):
        yield "advice: the true deviation is missing where there is a winner"
    keys = KEYS["advice"]
    ranked = set(results.rankings[[*keys, "configuration"]].itertuples(index=False, name=None))
    runs = {row[:-1] for row in ranked}
    named = results.advice.loc[results.advice["status"] == OK, [*keys, "best"]]
    for row in named.itertuples(index=False, name=None):
        if row[:-1] in runs and row not in ranked:
            yield f"advice: the winner {shown(row[-1])} is not in its ranking"

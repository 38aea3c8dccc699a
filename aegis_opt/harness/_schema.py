"""The tables of results: their columns, types, and the columns that identify a row."""

from __future__ import annotations

from typing import Any, Literal

TableName = Literal["reconstructions", "advice", "rankings"]

_RUN = {
    "dataset": "VARCHAR",
    "variant": "VARCHAR",  # solver, norm, rounding and options in one text
    "solver": "VARCHAR",
    "norm": "VARCHAR",  # "none" where no distance is minimised
    "rounding": "VARCHAR",  # "none" where there is none
    "scope": "VARCHAR",
    "histogram": "BOOLEAN",
    "seed": "BIGINT",
}
_OUTCOME = {
    "seconds_total": "DOUBLE",
    "peak_mb": "DOUBLE",  # growth of resident memory, MiB; null where the system cannot tell
    "status": "VARCHAR",
    "error": "VARCHAR",  # what went wrong, also in a run that ended well; null where nothing did
}

COLUMNS: dict[TableName, dict[str, str]] = {
    "reconstructions": _RUN
    | {
        "configuration": "VARCHAR",  # "*" for all of them together
        "attribute": "VARCHAR",
        "table": "BIGINT",  # number of the masked table; configurations that share it share the row's numbers
        "n_values": "BIGINT",
        "n_groups": "BIGINT",  # masked values; null for all views together
        "n_labels": "BIGINT",
        "n_records": "BIGINT",
        "tvd": "DOUBLE",  # to the raw joint table
        "objective": "DOUBLE",
        "residual": "DOUBLE",  # verified from the problem, in records
        "method": "VARCHAR",
        "optimal": "BOOLEAN",
        "gap": "DOUBLE",
        "seconds_build": "DOUBLE",
        "seconds_solve": "DOUBLE",
        "seconds_round": "DOUBLE",
    }
    | _OUTCOME,
    "advice": _RUN
    | {
        "measure": "VARCHAR",
        "n_configurations": "BIGINT",
        "n_records": "BIGINT",
        "n_labels": "BIGINT",
        "smallest_class": "BIGINT",  # records of the rarest class
        "best": "VARCHAR",
        "certified": "BOOLEAN",
        "regret": "DOUBLE",  # true PUD of the winner minus the least; of a random choice: its expectation
        "tau": "DOUBLE",  # Kendall's, estimated against true order; null where either is constant
        "pud_best_estimated": "DOUBLE",
        "pud_best_true": "DOUBLE",
        "pud_true_min": "DOUBLE",
        "pud_true_mean": "DOUBLE",  # what a random choice costs
        "pud_true_max": "DOUBLE",
        "pud_error": "DOUBLE",  # mean of abs(estimated - true) over the configurations
    }
    | _OUTCOME,
    "rankings": _RUN  # of each advisor run that has an estimate, whether it names a winner or not
    | {
        "measure": "VARCHAR",
        "configuration": "VARCHAR",
        "rank": "BIGINT",  # by the estimate: 1 is best, equal ones share a rank
        "pud": "DOUBLE",  # as estimated
        "pud_low": "DOUBLE",  # proved bounds of the true one; null where nothing is proved
        "pud_high": "DOUBLE",
        "pud_true": "DOUBLE",
    },
}

_RUN_KEYS = ("dataset", "variant", "scope", "histogram", "seed")
KEYS: dict[TableName, list[str]] = {
    "reconstructions": [*_RUN_KEYS, "attribute", "configuration"],
    "advice": [*_RUN_KEYS, "measure"],
    "rankings": [*_RUN_KEYS, "measure", "rank", "configuration"],
}
"""Columns that identify a row; results are sorted by them."""

FAILED, TIMED_OUT, SKIPPED = "failed", "timed out", "skipped"
"""How a run without a result ends. A skipped one was not tried: not installed, or not made for it."""

OK, NO_WINNER = "ok", "no winner"
"""How an advisor run with a result ends. Reconstructions give their `Status` in small letters."""

Row = dict[str, Any]

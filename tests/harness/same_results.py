"""Results compared but for what differs from run to run."""

from __future__ import annotations

import pandas as pd

from aegis_opt.harness import Results
from aegis_opt.harness._schema import COLUMNS

NOISE_COLUMNS = ["seconds_total", "seconds_build", "seconds_solve", "seconds_round", "peak_mb"]
"""Times and memory; all other columns are the same for the same seed."""


def assert_same(first: Results, second: Results) -> None:
    for table in COLUMNS:
        found = [getattr(one, table).drop(columns=NOISE_COLUMNS, errors="ignore") for one in (first, second)]
        pd.testing.assert_frame_equal(*found, check_exact=True)

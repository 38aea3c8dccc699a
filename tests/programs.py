"""Programs that a machine may lack: Java, chromium and PostgreSQL, which some tests drive for real."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def skip_or_fail(reason: str) -> NoReturn:
    """Skip the test for lack of a program; fail it where AEGIS_OPT_REQUIRE_ALL is set, as `.ci/run` does."""
    if os.environ.get("AEGIS_OPT_REQUIRE_ALL"):
        pytest.fail(reason)
    pytest.skip(reason)

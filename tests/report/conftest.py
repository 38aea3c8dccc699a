from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import CHROMIUM, Browser
from programs import skip_or_fail
from results_factory import changed, frames_of, make_results, save_results

from aegis_opt.harness import Results


@pytest.fixture(scope="session")
def results() -> Results:
    return make_results()


@pytest.fixture(scope="session")
def folder(results: Results, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A results folder."""
    return save_results(results, tmp_path_factory.mktemp("results") / "run")


@pytest.fixture(scope="session")
def small(results: Results) -> Results:
    """The part about one data set and one scope: quick to draw."""
    return changed(
        results,
        **{
            table: frame[(frame["dataset"] == "people") & (frame["scope"] == "pooled")].reset_index(drop=True)
            for table, frame in frames_of(results).items()
        },
    )


@pytest.fixture(scope="session")
def small_folder(small: Results, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_results(small, tmp_path_factory.mktemp("results") / "run")


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    if CHROMIUM is None:
        skip_or_fail("chromium is not installed (Debian: apt-get install chromium)")
    with Browser() as started:
        yield started

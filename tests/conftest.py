"""What several folders of tests share: a folder for what is kept between runs, and a Spark cluster."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile

import pytest
from programs import skip_or_fail
from spark_cluster import Cluster, end_driver, why_not

KEPT = pytest.StashKey[str]()


def pytest_configure(config):
    # A shell starts what runs in its background deaf to Ctrl-C, and children inherit that
    signal.signal(signal.SIGINT, signal.default_int_handler)
    config.addinivalue_line("markers", "spark: runs on a Spark cluster on loopback; needs pyspark and Java")
    if "AEGIS_OPT_CACHE" not in os.environ:  # in the first process, from which the others have it
        os.environ["AEGIS_OPT_CACHE"] = config.stash[KEPT] = tempfile.mkdtemp(prefix="aegis-opt-cache-")


def pytest_unconfigure(config):
    if KEPT in config.stash:
        shutil.rmtree(config.stash[KEPT], ignore_errors=True)


@pytest.fixture(scope="session")
def cluster():
    """A master and two workers."""
    if reason := why_not():
        skip_or_fail(reason)
    with Cluster() as started:
        yield started
    assert started.left_over() == []


@pytest.fixture(scope="session")
def spark(cluster):
    """A session on the cluster."""
    session = cluster.session()
    yield session
    session.stop()
    end_driver()

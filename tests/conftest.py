"""What several folders of tests share: a Spark cluster, started once, when first asked for."""

from __future__ import annotations

import os

import pytest
from spark_cluster import Cluster, end_driver, why_not


def pytest_configure(config):
    config.addinivalue_line("markers", "spark: runs on a Spark cluster on loopback; needs pyspark and Java")


@pytest.fixture(scope="session")
def cluster():
    """A master and two workers; where that cannot be, skip, or fail if AEGIS_OPT_REQUIRE_SPARK is set."""
    if reason := why_not():
        (pytest.fail if os.environ.get("AEGIS_OPT_REQUIRE_SPARK") else pytest.skip)(reason)
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

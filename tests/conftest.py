"""What several folders of tests share: a Spark cluster, started once, when first asked for."""

from __future__ import annotations

import signal

import pytest
from programs import skip_or_fail
from spark_cluster import Cluster, end_driver, why_not


def pytest_configure(config):
    # A shell starts what runs in its background deaf to Ctrl-C, and children inherit that
    signal.signal(signal.SIGINT, signal.default_int_handler)
    config.addinivalue_line("markers", "spark: runs on a Spark cluster on loopback; needs pyspark and Java")


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

"""A Spark cluster of two workers on loopback, the one of the tests, for benchmarks."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def spark_session() -> Iterator[Any]:
    """Start a cluster, give a session on it, and end both; None where it cannot run, after saying why."""
    location = Path(__file__).parents[1] / "tests" / "spark_cluster.py"
    spec = importlib.util.spec_from_file_location("spark_cluster", location)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if reason := module.why_not():
        print(reason)
        yield None
        return
    with module.Cluster() as cluster:
        session = cluster.session()
        try:
            yield session
        finally:
            session.stop()
            module.end_driver()

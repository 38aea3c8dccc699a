"""Long scans: within the memory allowed, with progress, stopped by Ctrl-C, nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import duckdb
import pytest

from aegis_opt.errors import InvalidOption, SourceError
from aegis_opt.sources import scan

# Prints the growth of the peak memory, in MB, from the imports on. (ru_maxrss would start at the parent's.)
MEASURED = """
import sys
import duckdb, pandas
from aegis_opt.sources import scan
def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))
before = peak()
counts = scan(sys.argv[1], "y", **eval(sys.argv[2])).attributes["x"]
print(len(counts.domain), int(counts.table.sum()), peak() - before)
"""


def measured(path, tmp_path, **options):
    environment = os.environ | {"TMPDIR": str(tmp_path / "temporary")}
    (tmp_path / "temporary").mkdir(exist_ok=True)
    command = [sys.executable, "-c", MEASURED, str(path), repr(options)]
    shown = subprocess.run(
        command, capture_output=True, text=True, env=environment, check=True
    ).stdout.split()
    assert os.listdir(tmp_path / "temporary") == []
    return int(shown[0]), int(shown[1]), float(shown[2])


@pytest.fixture(scope="module")
def million(tmp_path_factory):
    """A text column of 1,000,000 distinct values, three times each: 100 MB as DuckDB has it in memory."""
    path = tmp_path_factory.mktemp("million") / "million.parquet"
    duckdb.sql(
        "SELECT 'a long enough prefix ' || md5((i % 1000000)::VARCHAR) AS x, i % 2 AS y "
        "FROM range(3000000) AS r(i)"
    ).write_parquet(str(path))
    return path


def test_a_column_of_a_million_values_is_exact_or_coarse_in_bounded_memory(million, tmp_path):
    values, records, exact = measured(million, tmp_path)
    assert (values, records) == (1_000_000, 3_000_000)
    values, records, coarse = measured(million, tmp_path, max_values=1000, memory="150MB")
    assert (values, records) == (999, 3_000_000)  # 998 and "(other)": no value is missing
    assert coarse < 250
    assert coarse < 0.75 * exact


def test_a_csv_file_larger_than_the_memory_allowed(tmp_path):
    path = tmp_path / "large.csv"
    columns = ", ".join(f"'text of column {i} ' || hash(i + {i}) % 50 AS c{i}" for i in range(10))
    duckdb.sql(f"SELECT i % 7 AS x, {columns}, i % 2 AS y FROM range(500000) AS r(i)").write_csv(str(path))
    _, _, unlimited = measured(path, tmp_path)
    values, records, limited = measured(path, tmp_path, memory="100MB")
    assert (values, records) == (7, 500_000)
    assert limited < 220 < 270 < unlimited


def test_a_table_that_memory_cannot_hold_is_refused_before_it_is_counted(million):
    with pytest.raises(SourceError, match=r"values \(about\) of 'x' needs \d+ MB.*coarsen .* max_values"):
        scan(million, "y", memory="100MB")
    with pytest.raises(SourceError, match=r"memory allowed is too little.*raise memory"):
        scan(million, "y", max_values=1000, memory="1MB")
    with duckdb.connect() as connection, pytest.raises(InvalidOption, match="its own connection"):
        scan(connection.sql("SELECT 1 AS x, 2 AS y"), "y", memory="1GB")


def test_progress_names_every_column(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b,y\n1,2,0\n3,4,1\n")
    seen = []
    scan(path, "y", progress=lambda *step: seen.append(step))
    assert seen == [
        (f"reading {path}", 0, 3),
        ("counting y", 0, 3),
        ("counting a", 1, 3),
        ("counting b", 2, 3),
        (f"counted {path}", 3, 3),
    ]


INTERRUPTED = """
import sys
import aegis_opt as ao
def progress(what, done, of):
    print(what, flush=True)
try:
    summary = ao.summarize(sys.argv[1], "y", {"c": {"x": ao.Suppress()}}, progress=progress)
    summary.save(sys.argv[2])
except KeyboardInterrupt:
    print("stopped", flush=True)
"""


# A query without end, interrupted at moments before and after it begins; the connection must be free again
AT_ANY_MOMENT = """
import os, signal, threading, time
from aegis_opt._interrupts import interruptible
from aegis_opt.sources._duckdb_engine import connect
endless = "SELECT i % 7 AS x, count(*) AS n FROM range(1000000000000) AS r(i) GROUP BY x"
for delay in (0.0, 0.001, 0.01, 0.05, 0.3):
    with connect() as connection:
        def work():
            time.sleep(0.02)
            return connection.execute(endless).fetchnumpy()
        begun = threading.Timer(delay, os.kill, (os.getpid(), signal.SIGINT))
        try:
            begun.start()
            interruptible(work, connection.interrupt, stop_seconds=None)
        except KeyboardInterrupt:
            print(connection.execute("SELECT 1").fetchall()[0][0], end="")
"""


def test_an_interrupted_connection_is_free_when_ctrl_c_arrives():
    shown = subprocess.run(
        [sys.executable, "-c", AT_ANY_MOMENT], capture_output=True, text=True, timeout=120, check=False
    )
    assert (shown.returncode, shown.stdout, shown.stderr) == (0, "11111", "")


def test_ctrl_c_stops_a_query_and_leaves_nothing(tmp_path):
    path = tmp_path / "long.csv"
    duckdb.sql(
        "SELECT i % 7 AS x, repeat('text ', 40) || i AS t, i % 2 AS y FROM range(1500000) AS r(i)"
    ).write_csv(str(path))
    (tmp_path / "temporary").mkdir()
    environment = os.environ | {"TMPDIR": str(tmp_path / "temporary")}
    command = [sys.executable, "-c", INTERRUPTED, str(path), str(tmp_path / "summary.json")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout.readline().startswith("reading")
            process.send_signal(signal.SIGINT)
            rest, _ = process.communicate(timeout=60)
        finally:
            process.kill()
    assert rest == "stopped\n"
    assert process.returncode == 0
    # Python's own probe of the temporary folder may be cut short by the signal; ours must not be left behind
    assert not [name for name in os.listdir(tmp_path / "temporary") if name.startswith("aegis-opt-")]
    assert not (tmp_path / "summary.json").exists()

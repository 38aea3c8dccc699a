"""A command that is asked to terminate leaves nothing behind."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest

COMMAND = [sys.executable, "-c", "import sys; from aegis_opt.cli import main; sys.exit(main())"]


@pytest.mark.parametrize("command", ["mask", "summarize"])
def test_a_request_to_terminate_cleans_up(tmp_path: Path, command: str) -> None:
    duckdb.sql(
        "SELECT i AS x, repeat('text ', 40) || i AS t, i % 2 AS y FROM range(1000000) AS r(i)"
    ).write_csv(str(tmp_path / "long.csv"))
    masks = {"c": {"x": {"function": "bucketize", "width": 10}}}
    (tmp_path / "masks.json").write_text(json.dumps(masks))
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    output = tmp_path / ("masked.csv" if command == "mask" else "summary.json")
    words = [str(tmp_path / "long.csv"), "--configurations", str(tmp_path / "masks.json"), "-o", str(output)]
    words += ["--label", "y"] if command == "summarize" else []
    before = sorted(os.listdir(tmp_path))
    process = subprocess.Popen(
        [*COMMAND, command, *words],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"TMPDIR": str(temporary)},
    )
    until = time.monotonic() + 60
    while not list(temporary.glob("aegis-opt-*")):
        assert process.poll() is None, process.stderr
        assert time.monotonic() < until
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (143, "")
    assert list(temporary.glob("aegis-opt-*")) == []
    assert sorted(os.listdir(tmp_path)) == before

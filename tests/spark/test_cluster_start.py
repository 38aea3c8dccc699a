"""How the cluster of the tests starts, shown without one: its master is slow, ends, or never has workers."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
import spark_cluster
from programs import skip_or_fail
from spark_cluster import Cluster, ports_of_master

HTML = b"<!DOCTYPE html><html><body>Spark Master at ...</body></html>"


def status(*states: str) -> bytes:
    return json.dumps({"workers": [{"state": state} for state in states]}).encode()


@pytest.fixture
def answers() -> list[bytes]:
    """What the master's page answers, one after the other; the last one stays."""
    return []


@pytest.fixture
def waiting(answers: list[bytes], tmp_path: Path) -> Iterator[Cluster]:
    """No process, only the master's page, served on loopback."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = answers.pop(0) if len(answers) > 1 else answers[0]
            self.send_response(200)
            self.send_header(
                "Content-Length", str(len(body) + (body == b"{"))
            )  # "{" is cut off in the middle
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Page) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        started = Cluster()
        started.folder = str(tmp_path)
        started.web_port = server.server_port
        yield started
        server.shutdown()
        thread.join()


def test_a_page_that_is_not_yet_json_is_asked_again(waiting: Cluster, answers: list[bytes]) -> None:
    answers += [HTML, b"", b"{", status("ALIVE"), status("ALIVE", "DEAD"), status("ALIVE", "ALIVE")]
    waiting.wait_for_workers(2)
    assert len(answers) == 1


def test_workers_that_never_come_are_reported(
    waiting: Cluster, answers: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    answers += [HTML, status("ALIVE", "DEAD")]
    monkeypatch.setattr(spark_cluster, "TIMEOUT_SECONDS", 0.3)
    with pytest.raises(RuntimeError, match=r"waited for 2 living Spark workers; none after 0\.3 seconds"):
        waiting.wait_for_workers(2)


def test_a_process_that_ends_is_reported_at_once(waiting: Cluster, answers: list[bytes]) -> None:
    answers += [status()]
    ended = subprocess.Popen([sys.executable, "-c", "raise SystemExit(3)"])
    ended.wait()
    waiting.processes.append(ended)
    with pytest.raises(RuntimeError, match=r"ended: .*SystemExit"):
        waiting.wait_for_workers(2)


def test_the_master_chooses_its_ports_and_says_which() -> None:
    line = "26/11/16 17:00:00 INFO Utils: Successfully started service '{}' on port {}.\n"
    log = line.format("sparkMaster", 40001)
    assert ports_of_master(log) is None
    assert ports_of_master(log + line.format("MasterUI", 40002)) == (40001, 40002)


def test_a_missing_program_skips_or_where_all_are_required_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AEGIS_OPT_REQUIRE_ALL", raising=False)
    with pytest.raises(pytest.skip.Exception, match="no Java"):
        skip_or_fail("no Java")
    monkeypatch.setenv("AEGIS_OPT_REQUIRE_ALL", "1")
    with pytest.raises(pytest.fail.Exception, match="no Java"):
        skip_or_fail("no Java")

"""A real Spark cluster on loopback: a standalone master and two workers from the installed pyspark."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from typing import Any, TypeVar

Found = TypeVar("Found")

TIMEOUT_SECONDS = 120  # JVMs start slowly on a busy machine
SHORT_LIVED = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"  # halves what JVMs compute that live for a minute


def why_not() -> str | None:
    """Say what a cluster lacks on this machine; None if nothing."""
    if importlib.util.find_spec("pyspark") is None:
        return "Spark is not tested: pyspark is not installed (pip install aegis-opt[spark])"
    home = os.environ.get("JAVA_HOME")
    java = Path(home, "bin/java") if home else shutil.which("java")
    if java is None or not Path(java).exists():
        return "Spark is not tested: Java 17 or newer is not installed (no java on PATH, no JAVA_HOME)"
    return None


class Cluster:
    """Start with `with`; every process is gone at the end, whatever happens."""

    def __init__(self) -> None:
        self.folder = ""
        self.url = ""
        self.web_port = 0
        self.processes: list[subprocess.Popen[bytes]] = []
        self.workers: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Cluster:
        self.folder = tempfile.mkdtemp(prefix="aegis-opt-spark-")
        try:
            # Spark chooses the ports and says which: a port that was free a moment ago may be taken by now.
            self._start("master.Master", "--port", "0", "--webui-port", "0")
            port, self.web_port = self._wait_for(self._ports, "the ports of the Spark master")
            self.url = f"spark://127.0.0.1:{port}"
            # Not earlier: a worker that finds no master tries again only after 5 to 15 seconds.
            for _ in range(2):
                self.start_worker()
            self.wait_for_workers(2)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for process in reversed(self.processes):
            _kill(process)
        shutil.rmtree(self.folder, ignore_errors=True)

    def start_worker(self) -> None:
        """Start a worker with one core; its executors are in its process group."""
        memory = ("-c", "1", "-m", "1g", "-d", self.folder)
        self.workers.append(self._start("worker.Worker", *memory, "--webui-port", "0", self.url))

    def kill_worker(self) -> None:
        """End a worker and its executor at once, as a machine does that fails."""
        _kill(self.workers.pop())

    def wait_for_workers(self, n: int) -> None:
        """Wait until the master knows of `n` living workers."""
        self._wait_for(lambda: self.living_workers() == n or None, f"{n} living Spark workers")

    def living_workers(self) -> int:
        """Ask the master; while it starts, its page may be absent or hold something that is not JSON."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.web_port}/json/", timeout=10) as answer:
                workers = json.load(answer)["workers"]
        except (OSError, HTTPException, ValueError):
            return 0
        return sum(worker["state"] == "ALIVE" for worker in workers)

    def session(self) -> Any:
        """Connect; the session's zone is not UTC, so that what depends on it shows."""
        from pyspark.sql import SparkSession

        options = {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.driver.extraJavaOptions": SHORT_LIVED,
            "spark.executor.extraJavaOptions": SHORT_LIVED,
            "spark.executor.memory": "512m",
            "spark.scheduler.minRegisteredResourcesRatio": "1.0",
            "spark.scheduler.maxRegisteredResourcesWaitingTime": f"{TIMEOUT_SECONDS}s",
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.session.timeZone": "America/New_York",
            "spark.local.dir": self.folder,
            "spark.sql.warehouse.dir": f"{self.folder}/warehouse",
            "spark.log.level": "ERROR",
        }
        builder = SparkSession.builder.master(self.url).appName("aegis-opt tests")
        for key, value in options.items():
            builder = builder.config(key, value)
        return builder.getOrCreate()

    def log(self) -> str:
        """Return what the processes wrote."""
        path = Path(self.folder, "log")
        return path.read_text(errors="replace") if path.exists() else ""

    def left_over(self) -> list[str]:
        """List the processes of this cluster that still run."""
        return [str(p.args) for p in self.processes if p.poll() is None or _group_exists(p.pid)]

    def _ports(self) -> tuple[int, int] | None:
        return ports_of_master(self.log())

    def _wait_for(self, find: Callable[[], Found | None], what: str) -> Found:
        """Ask until there is an answer; give up when a process has ended or the time is over."""
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while (found := find()) is None:
            ended = [p.args for p in self.processes if p.poll() not in (None, -signal.SIGKILL)]
            if ended or time.monotonic() > deadline:
                why = f"ended: {ended}" if ended else f"none after {TIMEOUT_SECONDS} seconds"
                raise RuntimeError(f"waited for {what}; {why}; log:\n{self.log()[-2000:]}")
            time.sleep(0.1)
        return found

    def _start(self, name: str, *arguments: str) -> subprocess.Popen[bytes]:
        from pyspark.find_spark_home import _find_spark_home

        program = f"{_find_spark_home()}/bin/spark-class"
        command = [program, f"org.apache.spark.deploy.{name}", "--host", "127.0.0.1"]
        environment = os.environ | {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_MEMORY": "256m"}
        environment |= {"SPARK_LOCAL_DIRS": self.folder, "SPARK_WORKER_DIR": self.folder}
        environment |= {"SPARK_DAEMON_JAVA_OPTS": SHORT_LIVED, "SPARK_LAUNCHER_OPTS": SHORT_LIVED}
        environment |= {"SPARK_CONF_DIR": self.folder}  # no settings of this machine, such as its log level
        with open(f"{self.folder}/log", "ab") as log:
            process = subprocess.Popen(
                [*command, *arguments], env=environment, stdout=log, stderr=log, start_new_session=True
            )
        self.processes.append(process)
        return process


def ports_of_master(log: str) -> tuple[int, int] | None:
    """Read the ports of the master and of its page from its log; None as long as they are not both there."""
    found = dict(re.findall(r"Successfully started service '(sparkMaster|MasterUI)' on port (\d+)", log))
    return (int(found["sparkMaster"]), int(found["MasterUI"])) if len(found) == 2 else None


def end_driver() -> None:
    """End the JVM of this process's sessions: it would otherwise live until Python exits."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    if gateway is not None:
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait(TIMEOUT_SECONDS)
        SparkContext._gateway = SparkContext._jvm = None


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process group and wait until it is gone."""
    while _group_exists(process.pid):
        os.killpg(process.pid, signal.SIGKILL)
        process.poll()  # a child that nobody waited for would count as there
        time.sleep(0.02)
    process.wait()


def _group_exists(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True

"""A real Spark cluster on loopback: a standalone master and two workers from the installed pyspark."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

_PATIENCE = 120  # seconds; JVMs start slowly on a busy machine


def why_not() -> str | None:
    """Say what a cluster lacks on this machine; None if nothing."""
    if importlib.util.find_spec("pyspark") is None:
        return "Spark is not tested: pyspark is not installed (pip install aegis-opt[spark])"
    java = Path(os.environ["JAVA_HOME"], "bin/java") if "JAVA_HOME" in os.environ else shutil.which("java")
    if java is None or not Path(java).exists():
        return "Spark is not tested: Java 17 or newer is not installed (no java on PATH, no JAVA_HOME)"
    return None


class Cluster:
    """Start with `with`; every process is gone at the end, whatever happens."""

    def __enter__(self) -> Cluster:
        from pyspark.find_spark_home import _find_spark_home

        self.home = _find_spark_home()
        self.folder = tempfile.mkdtemp(prefix="aegis-opt-spark-")
        self.processes: list[subprocess.Popen] = []
        self.workers: list[subprocess.Popen] = []
        self.port, self.web_port = _free_port(), _free_port()
        self.url = f"spark://127.0.0.1:{self.port}"
        try:
            self._start("master.Master", "--port", str(self.port), "--webui-port", str(self.web_port))
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
        deadline = time.monotonic() + _PATIENCE
        while (alive := self.living_workers()) != n:
            dead = [
                process.args for process in self.processes if process.poll() not in (None, -signal.SIGKILL)
            ]
            if dead or time.monotonic() > deadline:
                raise RuntimeError(f"{alive} of {n} Spark workers; ended: {dead}; log:\n{self.log()}")
            time.sleep(0.2)

    def living_workers(self) -> int:
        """Ask the master."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.web_port}/json/", timeout=10) as answer:
                workers = json.load(answer)["workers"]
        except OSError:
            return 0  # the master is not there yet
        return sum(worker["state"] == "ALIVE" for worker in workers)

    def session(self):
        """Connect; the session's zone is not UTC, so that what depends on it shows."""
        from pyspark.sql import SparkSession

        options = {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.executor.memory": "512m",
            "spark.scheduler.minRegisteredResourcesRatio": "1.0",
            "spark.scheduler.maxRegisteredResourcesWaitingTime": f"{_PATIENCE}s",
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
        """Return the end of what the processes wrote."""
        return Path(self.folder, "log").read_text(errors="replace")[-2000:]

    def left_over(self) -> list[str]:
        """List the processes of this cluster that still run."""
        return [str(p.args) for p in self.processes if p.poll() is None or _group_exists(p.pid)]

    def _start(self, name: str, *arguments: str) -> subprocess.Popen:
        command = [f"{self.home}/bin/spark-class", f"org.apache.spark.deploy.{name}", "--host", "127.0.0.1"]
        environment = os.environ | {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_MEMORY": "256m"}
        environment |= {"SPARK_LOCAL_DIRS": self.folder, "SPARK_WORKER_DIR": self.folder}
        with open(f"{self.folder}/log", "ab") as log:
            process = subprocess.Popen(
                [*command, *arguments], env=environment, stdout=log, stderr=log, start_new_session=True
            )
        self.processes.append(process)
        return process


def end_driver() -> None:
    """End the JVM of this process's sessions: it would otherwise live until Python exits."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    if gateway is not None:
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait(_PATIENCE)
        SparkContext._gateway = SparkContext._jvm = None


def _kill(process: subprocess.Popen) -> None:
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


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])

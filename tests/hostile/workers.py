"""Processes that run hostile cases, so that one that crashes or never ends can be told."""

from __future__ import annotations

import multiprocessing
import os
import sys
import traceback
from importlib import import_module
from multiprocessing.connection import Connection

from families import families

# Loaded by the library when first used, which takes seconds where the cores are busy.
HEAVY = ["cvxpy", "clarabel", "highspy", "duckdb", "pyarrow.parquet", "polars", "scipy.optimize"]
HEAVY += ["ortools.sat.python.cp_model", "ortools.graph.python.min_cost_flow", "altair", "vl_convert"]
LONGEST_PREPARATION = 300.0  # seconds


def crowding() -> float:
    """How many processes there are for each core, at least 1."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


class Worker:
    """A process that runs one case at a time; a new one is started where it ended."""

    def __init__(self, modules: list[str], limit: float, memory: float | None = None) -> None:
        self.modules = modules
        self.limit = limit  # seconds per case
        self.memory = memory  # gigabytes of data
        self.process: multiprocessing.process.BaseProcess | None = None

    def run(self, name: str, seed: int) -> str | None:
        """Run a case; return what went wrong."""
        if self.process is None:
            context = multiprocessing.get_context("spawn")
            self.pipe, theirs = context.Pipe()
            self.process = context.Process(
                target=serve, args=(theirs, self.modules, self.memory), daemon=False
            )
            self.process.start()
            theirs.close()
            self.pipe.recv()  # the modules are loaded
        self.pipe.send((name, seed))
        # of what all cases share, then of the case alone; longer where others use the cores
        limits = [seconds * crowding() for seconds in (LONGEST_PREPARATION, self.limit)]
        try:
            for limit in limits:
                if not self.pipe.poll(limit):
                    self.process.kill()
                    text = f"no end within {limit:.3g} s"
                    break
                found: str | None = self.pipe.recv()
                if found is not None:
                    return found
            else:
                return None
        except EOFError:
            self.process.join()
            code = self.process.exitcode or 0
            text = f"the process ended by signal {-code}" if code < 0 else f"the process ended with {code}"
        self.process.join()
        self.process = None
        return text

    def stop(self) -> None:
        """End the process."""
        if self.process is not None:
            self.process.kill()
            self.process.join()


def serve(pipe: Connection, modules: list[str], memory: float | None) -> None:
    """Run cases in a worker process until the other end is closed."""
    if memory is not None:
        import resource  # not on Windows

        resource.setrlimit(resource.RLIMIT_DATA, (int(memory * 1e9),) * 2)
    known = families(modules)
    for module in HEAVY if "aegis_opt" in sys.modules else ():
        import_module(module)
    pipe.send(None)
    while True:
        try:
            name, seed = pipe.recv()
        except (EOFError, KeyboardInterrupt):
            return
        try:
            known[name].prepare()
            pipe.send(None)
            known[name].check(seed)
            found = None
        except KeyboardInterrupt:
            return
        except BaseException:  # whatever it is, it is the finding
            found = traceback.format_exc()
        pipe.send(found)

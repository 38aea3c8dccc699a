"""Run hostile cases for as long as asked: ``python tests/hostile --minutes 60``, or ``make hostile``.

Each family in turn gets a few seconds in one of the worker processes, so that a case that crashes its process
or never ends is a failure like any other. Every failure is told with its seed, and the exit code is then 1.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field

from families import Family, families
from workers import Worker

TURN = 5.0  # seconds that a family gets at a time


@dataclass
class Tally:
    """What came of a family's cases."""

    tried: int = 0
    seconds: float = 0.0
    failures: dict[int, str] = field(default_factory=dict)  # seed -> what went wrong


@dataclass(frozen=True)
class Plan:
    """How long families have their turns, and how many cases each may have."""

    end: float
    most: int
    stopped: threading.Event = field(default_factory=threading.Event)

    def goes_on(self) -> bool:
        """Whether there is time for another case."""
        return time.monotonic() < self.end and not self.stopped.is_set()

    def turn(self, worker: Worker, family: Family, seeds: Iterator[int], tally: Tally) -> Tally:
        """Run cases of a family for a few seconds."""
        begin = time.monotonic()
        while self.goes_on() and time.monotonic() < begin + TURN and tally.tried < self.most:
            seed = next(seeds)
            found = worker.run(family.name, seed)
            if self.stopped.is_set():  # what was found may be the stop itself
                break
            tally.tried += 1
            if found is not None:
                tally.failures[seed] = found
                print(f"{family.name} --seed {seed}: {last_line(found)}", flush=True)
        tally.seconds += time.monotonic() - begin
        return tally


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python tests/hostile", description=__doc__.splitlines()[0])
    parser.add_argument("families", nargs="*", metavar="FAMILY", help="run these only")
    parser.add_argument("--minutes", type=float, default=1.0, help="how long (default: %(default)s)")
    parser.add_argument("--cases", type=int, default=sys.maxsize, help="at most so many of each family")
    parser.add_argument("--seed", type=int, default=0, help="the first seed of each family")
    parser.add_argument(
        "--limit",
        type=float,
        default=60.0,
        help="seconds that a case may take on an idle machine; more where others use it",
    )
    parser.add_argument("--memory", type=float, help="gigabytes of data that a process may hold")
    parser.add_argument("--workers", type=int, default=2, help="processes (default: %(default)s)")
    parser.add_argument("--module", action="append", default=[], help="only the families of this module")
    options = parser.parse_args()
    known = families(options.module)
    for name in options.families:
        if name not in known:
            parser.error(f"there is no family {name!r}; there are {', '.join(known)}")
    chosen = [known[name] for name in options.families or known]
    tallies = {family.name: Tally() for family in chosen}
    try:
        run_all(chosen, tallies, options)
    except KeyboardInterrupt:
        print("Interrupted.")
        return 130
    finally:
        print_table(tallies)
    return int(any(tally.failures for tally in tallies.values()))


def run_all(chosen: list[Family], tallies: dict[str, Tally], options: argparse.Namespace) -> None:
    """Give each family its turns until the time is over or all cases have run."""
    begin = told = time.monotonic()
    plan = Plan(begin + 60 * options.minutes, options.cases)
    seeds = {family.name: itertools.count(options.seed) for family in chosen}
    idle = [
        Worker(options.module, options.limit, options.memory)
        for _ in range(min(options.workers, len(chosen)))
    ]
    workers, waiting = list(idle), list(chosen)
    running: dict[Future[Tally], tuple[Worker, Family]] = {}
    with ThreadPoolExecutor(len(workers)) as pool:
        try:
            while (waiting and plan.goes_on()) or running:
                while idle and waiting and plan.goes_on():
                    worker, family = idle.pop(), waiting.pop(0)
                    future = pool.submit(plan.turn, worker, family, seeds[family.name], tallies[family.name])
                    running[future] = worker, family
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    worker, family = running.pop(future)
                    idle.append(worker)
                    if future.result().tried < options.cases:
                        waiting.append(family)
                if time.monotonic() > told + 60:
                    told = time.monotonic()
                    print(f"{(told - begin) / 60:.0f} min: {counted(tallies)}", flush=True)
        finally:
            plan.stopped.set()
            for worker in workers:
                worker.stop()


def counted(tallies: dict[str, Tally]) -> str:
    """Say how many cases were tried and how many failed."""
    tried = sum(tally.tried for tally in tallies.values())
    return f"{tried:,} tried, {sum(len(tally.failures) for tally in tallies.values())} failed"


def last_line(found: str) -> str:
    """Return the line that says what went wrong, without the way there."""
    return found.strip().splitlines()[-1]


def print_table(tallies: dict[str, Tally]) -> None:
    """Print what was tried and what failed, and each failure with the command that repeats it."""
    width = max(len(name) for name in tallies)
    print(f"{'family':{width}}  {'tried':>8}  {'failed':>6}  {'ms each':>8}")
    for name, tally in tallies.items():
        each = 1000 * tally.seconds / max(tally.tried, 1)
        print(f"{name:{width}}  {tally.tried:8,}  {len(tally.failures):6}  {each:8.1f}")
    print(f"{counted(tallies)}.")
    for name, tally in tallies.items():
        for number, (seed, found) in enumerate(tally.failures.items()):
            if number == 0:
                print(f"\n{found.rstrip()}")
            print(f"python tests/hostile {name} --seed {seed} --cases 1: {last_line(found)}")


if __name__ == "__main__":
    sys.exit(main())

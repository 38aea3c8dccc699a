"""Concurrency and load: time, peak memory and growth where there is much of something.

Each case runs in a process of its own, at half its size and at its size. Growth is the quotient: 2 is
linear, 4 quadratic. That of the time is of processor time, which other work on the machine changes less than
wall time; that of the memory is of what the work adds to the memory before it.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass

from benchmarks.inputs import machine
from benchmarks.scale_data import in_a_process

STEEPEST = 3.0  # growth of the time: between linear and quadratic
LEAST_SECONDS = 1.0  # below, the growth of the time is noise


@dataclass(frozen=True)
class Limits:
    """The size of a case, and what it may take."""

    size: int
    peak: float  # MiB
    added: float | None = None  # MiB that the second half of the size may add to the peak


CASES = {
    "threads": Limits(8, 500),
    "processes": Limits(4, 500),
    "repeats": Limits(200, 500, added=5),
    "attributes": Limits(500, 500),
    "configurations": Limits(5000, 500),
    "masks": Limits(5000, 500),
    "classes": Limits(900, 500),
    "values": Limits(1_000_000, 1000),
}


def main(arguments: list[str] | None = None) -> int:
    """Print a row per case; return 1 where one is over its limits or has wrong answers."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(CASES)}; default: all")
    parser.add_argument("--share", type=float, default=1.0, help="of the sizes (default 1)")
    chosen = parser.parse_args(arguments)
    if unknown := [name for name in chosen.cases if name not in CASES]:
        parser.error(f"unknown case {unknown[0]!r}; known: {', '.join(CASES)}")
    print(machine())
    print(
        f"{'':15}{'size':>10}{'wall s':>8}{'cpu s':>8}{'growth':>8}{'peak MiB':>10}{'growth':>8}{'limit':>7}"
    )
    wrong = False
    for name in chosen.cases or CASES:
        limits = CASES[name]
        size = max(4, round(limits.size * chosen.share))
        half = in_a_process("benchmarks.load_cases", "run", case=name, size=size // 2)
        full = in_a_process("benchmarks.load_cases", "run", case=name, size=size)
        slower = full["cpu"] / max(half["cpu"], 0.01)
        more = max(full["peak"] - full["before"], 1) / max(half["peak"] - half["before"], 1)
        print(
            f"{name:15}{size:10,}{full['wall']:8.2f}{full['cpu']:8.2f}{slower:8.1f}"
            f"{full['peak']:10.0f}{more:8.1f}{limits.peak:7.0f}",
            flush=True,
        )
        found = [half["wrong"], full["wrong"]]
        if full["peak"] > limits.peak:
            found.append(f"more than {limits.peak:.0f} MiB")
        if limits.added is not None and full["peak"] - half["peak"] > limits.added:
            found.append(f"the second half added {full['peak'] - half['peak']:.0f} MiB")
        if slower > STEEPEST and full["cpu"] > LEAST_SECONDS:
            found.append("the time grows faster than the size")
        for what in filter(None, found):
            print(f"    wrong: {what}")
            wrong = True
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())

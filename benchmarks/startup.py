"""How long the command line and the imports take to start, as shares of `import pandas`.

The commands take turns, so that other work on the machine slows all of them alike; medians of processor time
(user + system) and of wall time.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from statistics import median

MAIN = "import sys; from aegis_opt.cli import main; sys.exit(main(sys.argv[1:]))"
BASE = "import pandas"
LIMITS = {  # what is measured: (program, arguments, largest share of the time of `import pandas`)
    "python": ("pass", (), None),
    BASE: (BASE, (), None),
    "aegis-opt --help": (MAIN, ("--help",), 0.25),
    "aegis-opt --version": (MAIN, ("--version",), 0.25),
    "aegis-opt advise --help": (MAIN, ("advise", "--help"), 0.25),
    "aegis-opt advice (wrong usage)": (MAIN, ("advice",), 0.25),
    "import aegis_opt": ("import aegis_opt", (), 1.15),
    "import aegis_opt; aegis_opt.advise": ("import aegis_opt; aegis_opt.advise", (), None),
}


def seconds(program: str, arguments: tuple[str, ...]) -> tuple[float, float]:
    """Run a fresh Python; return its processor time and its wall time."""
    before, start = os.times(), time.perf_counter()
    subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, check=False)
    wall, after = time.perf_counter() - start, os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return used, wall


def main() -> int:
    """Print the medians; return 1 where one is over its limit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--repeats", type=int, default=11, help="of each (default 11)")
    repeats = parser.parse_args().repeats
    for program, arguments, _ in LIMITS.values():
        seconds(program, arguments)  # the first run compiles and fills the cache of the disk
    runs: dict[str, list[tuple[float, float]]] = {name: [] for name in LIMITS}
    for _ in range(repeats):
        for name, (program, arguments, _) in LIMITS.items():
            runs[name].append(seconds(program, arguments))
    used = {name: median(cpu for cpu, _ in times) for name, times in runs.items()}
    wall = {name: median(elapsed for _, elapsed in times) for name, times in runs.items()}
    print(f"{'':36}{'cpu s':>8}{'wall s':>8}{'share of cpu':>14}{'of wall':>9}{'limit':>7}")
    over = False
    for name, (_, _, limit) in LIMITS.items():
        share = used[name] / used[BASE]
        over |= limit is not None and share > limit
        shares = f"{share:14.2f}{wall[name] / wall[BASE]:9.2f}"
        print(f"{name:36}{used[name]:8.3f}{wall[name]:8.3f}{shares}{limit or '-':>7}")
    return int(over)


if __name__ == "__main__":
    sys.exit(main())

"""The paper's evaluation again: `python -m benchmarks.paper NAME... --data DIR -o OUT`.

Without a name all of them run. Each experiment prints its tables with the paper's claims beside them and
writes CSV files and a figure.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from aegis_opt.errors import AegisError, MissingDependency, UnknownName
from benchmarks.inputs import machine
from benchmarks.paper.exhaustive import CLASSIFIERS
from benchmarks.paper.experiments import EXPERIMENTS, Settings, cases_in, run_experiment
from benchmarks.paper.research import run_research

RESEARCH = "research"


def main() -> int:
    """Run the experiments asked for; return 1 if one of them failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    names = ", ".join([*EXPERIMENTS, RESEARCH])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{names} (default: all)")
    parser.add_argument("--data", metavar="DIR", help="a data set, or a folder of several")
    parser.add_argument(
        "--hierarchies", type=Path, metavar="DIR", help="one CSV per attribute, for k-anonymity"
    )
    parser.add_argument("-o", "--output", type=Path, default=Path("out/paper"), metavar="DIR")
    parser.add_argument("--measure", action="append", help="of the advisor (default g3, mi, chi2)")
    parser.add_argument("--classifier", action="append", choices=list(CLASSIFIERS))
    parser.add_argument("--configurations", type=int, metavar="N", help="only the first N of each data set")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="processes to train on (times suffer)")
    parser.add_argument("--small", action="store_true", help="small synthetic data")
    arguments = parser.parse_args()
    try:
        chosen = arguments.names or [*EXPERIMENTS, RESEARCH]
        for name in chosen:
            if name not in (*EXPERIMENTS, RESEARCH):
                raise UnknownName("experiment", name, [*EXPERIMENTS, RESEARCH])
        settings = Settings(
            cases=cases_in(arguments.data) if arguments.data else (),
            seed=arguments.seed,
            measures=tuple(arguments.measure) if arguments.measure else Settings.measures,
            classifiers=tuple(arguments.classifier) if arguments.classifier else None,
            configurations=arguments.configurations,
            n_jobs=arguments.jobs,
            hierarchies=arguments.hierarchies,
            small=arguments.small,
        )
    except AegisError as error:
        parser.error(str(error))
    print(machine())
    failed = False
    for name in chosen:
        start = time.perf_counter()
        try:
            if name == RESEARCH:
                print(
                    f"\n{run_research(arguments.output, small=arguments.small, seed=arguments.seed).summary}"
                )
            else:
                print(f"\n{run_experiment(name, settings, arguments.output)}")
        except MissingDependency as error:
            print(f"\n{name}: SKIPPED: {error}")
        except AegisError as error:
            failed = True
            print(f"\n{name}: FAILED: {error}", file=sys.stderr)
        print(f"({name}: {time.perf_counter() - start:.1f}s, files in {arguments.output})", flush=True)
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())

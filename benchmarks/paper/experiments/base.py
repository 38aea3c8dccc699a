"""What an experiment is: a function from data sets to small tables, a figure, and what the paper claims."""

from __future__ import annotations

import dataclasses
import textwrap
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from aegis_opt._files import atomic_path
from aegis_opt._options import whole_number
from aegis_opt.advisor._estimate import Progress
from aegis_opt.errors import InvalidInput
from aegis_opt.harness import Case
from aegis_opt.measures import get_measure
from benchmarks.charts import save_png

if TYPE_CHECKING:
    import altair as alt

Tables = Mapping[str, pd.DataFrame]

NOT_RUN = "not run"


@dataclass(frozen=True)
class Claim:
    """A number that the paper states, and where to find ours.

    Parameters
    ----------
    dataset : str
        Folder name of the data set, or "*" for all or synthetic ones.
    what : str
        What is claimed, in words.
    low, high : float
        The range that the paper states; equal for a single number.
    measured : callable
        From the experiment's tables to our number; None where this run has none.
    """

    dataset: str
    what: str
    low: float
    high: float
    measured: Callable[[Tables], float | None]


@dataclass(frozen=True)
class Settings:
    """What an experiment runs on and how much of it.

    Parameters
    ----------
    cases : tuple of Case
        The data sets; experiments on synthetic data need none.
    seed : int
        Of everything that is random.
    measures : tuple of str
        Of the advisor.
    classifiers : tuple of str, optional
        Instead of the experiment's own.
    configurations : int, optional
        Use only the first so many of each data set.
    n_jobs : int
        Processes to train classifiers on; times are then those of a loaded machine.
    repeats : int
        How many times the records are split anew where accuracies are averaged.
    hierarchies : Path, optional
        Folder of generalisation hierarchies, one CSV file per attribute.
    small : bool
        Synthetic data of a size for tests.
    cache : Path, optional
        Folder where trained scores are kept, so that experiments share them and a killed run goes on.
    progress : callable, optional
        Called with (what, done, of how many).
    """

    cases: tuple[Case, ...] = ()
    seed: int = 0
    measures: tuple[str, ...] = ("g3", "mi", "chi2")
    classifiers: tuple[str, ...] | None = None
    configurations: int | None = None
    n_jobs: int = 1
    repeats: int = 3
    hierarchies: Path | None = None
    small: bool = False
    cache: Path | None = None
    progress: Progress | None = None

    def __post_init__(self) -> None:
        whole_number("seed", self.seed, least=0, most=2**32 - 1)
        whole_number("repeats", self.repeats, least=1)
        if self.configurations is not None:
            whole_number("configurations", self.configurations, least=1)
        if not self.measures:
            raise InvalidInput("an experiment needs at least one measure")
        names = {
            "measure": [get_measure(measure).name for measure in self.measures],
            "classifier": self.classifiers or (),
            "data set": [case.name for case in self.cases],
        }
        for what, given in names.items():
            twice = [name for name, times in Counter(given).items() if times > 1]
            if twice:
                raise InvalidInput(f"{what} {twice[0]!r} is given twice: give each once")


@dataclass(frozen=True)
class Experiment:
    """One experiment of the paper's evaluation.

    Parameters
    ----------
    name, title : str
        What it is called, and what it shows.
    section : str
        Of the paper.
    run : callable
        From settings to named tables.
    draw : callable
        From those tables to a figure.
    claims : tuple of Claim
        What the paper says.
    takes : tuple of str
        The fields of `Settings` that change what it does, beside the cases.
    needs_data : bool
        Whether it runs on data sets (else on synthetic data).
    needs_configurations : bool
        Whether it runs on the configurations of the data sets (else it makes its own).
    notes : str
        How this differs from the paper, printed with the results.
    page : callable, optional
        From the tables to a page in Markdown.
    """

    name: str
    title: str
    section: str
    run: Callable[[Settings], dict[str, pd.DataFrame]]
    draw: Callable[[Tables], alt.ConcatChart]
    claims: tuple[Claim, ...] = ()
    takes: tuple[str, ...] = ()
    needs_data: bool = True
    needs_configurations: bool = True
    notes: str = ""
    page: Callable[[Tables], str] | None = None


@dataclass(frozen=True, eq=False)
class ExperimentResult:
    """What an experiment found: its tables, and each claim of the paper beside our number."""

    experiment: Experiment
    tables: dict[str, pd.DataFrame]
    claims: pd.DataFrame
    files: tuple[Path, ...] = field(default=())

    def __str__(self) -> str:
        head = f"{self.experiment.name}: {self.experiment.title} (paper, {self.experiment.section})"
        parts = [head]
        if self.experiment.notes:
            parts.append(textwrap.fill(self.experiment.notes, 110))
        for name, table in self.tables.items():
            parts.append(f"[{name}]\n{as_text(table)}")
        run = self.claims[self.claims["verdict"] != NOT_RUN] if len(self.claims) else self.claims
        if len(run):
            parts.append(f"[the paper's claims beside this run]\n{as_text(run)}")
        if len(run) < len(self.claims):
            parts.append(f"{len(self.claims) - len(run)} claims are about what was not run.")
        return "\n\n".join(parts)

    def write(self, folder: Path) -> ExperimentResult:
        """Write tables as CSV, the page if any, and the figure as PNG; return the result with its files."""
        files = []
        for name, table in {**self.tables, "claims": self.claims}.items():
            if len(table.columns):
                files.append(folder / f"{self.experiment.name}-{name}.csv")
                with atomic_path(files[-1]) as path:
                    table.to_csv(path, index=False)
        if self.experiment.page is not None:
            files.append(folder / f"{self.experiment.name}.md")
            with atomic_path(files[-1]) as path:
                path.write_text(self.experiment.page(self.tables), encoding="utf-8")
        files.append(folder / f"{self.experiment.name}.png")
        save_png(self.experiment.draw(self.tables), files[-1])
        return dataclasses.replace(self, files=tuple(files))


def judge(experiment: Experiment, tables: Tables) -> pd.DataFrame:
    """Put the paper's numbers beside ours: one row per claim."""
    rows = []
    for claim in experiment.claims:
        ours = claim.measured(tables)
        rows.append(
            {
                "dataset": claim.dataset,
                "claim": claim.what,
                "paper": _range(claim.low, claim.high),
                "here": float("nan") if ours is None else ours,
                "verdict": _verdict(ours, claim.low, claim.high),
            }
        )
    return pd.DataFrame(rows)


def as_text(table: pd.DataFrame, most: int = 70) -> str:
    """Format a table for the terminal: the first rows of a long one, numbers with four significant digits."""
    shown = table if len(table) <= most else table.head(5)
    text = shown.to_string(index=False, float_format=lambda x: f"{x:.4g}", na_rep="-")
    return text if len(table) <= most else f"{text}\n... {len(table) - len(shown)} more rows"


def _range(low: float, high: float) -> str:
    if low == high:
        return f"{low:g}"
    if high == float("inf"):
        return f"at least {low:g}"
    return f"at most {high:g}" if low == -float("inf") else f"{low:g} to {high:g}"


def _verdict(ours: float | None, low: float, high: float) -> str:
    """Compare after rounding as the paper does: to 2 decimals from 0.1 to 1, else to about 2 digits."""
    if ours is None or ours != ours:
        return NOT_RUN
    if low - _slack(low) <= ours <= high + _slack(high):
        return "as the paper says"
    return "below the paper" if ours < low else "above the paper"


def _slack(end: float) -> float:
    if abs(end) == float("inf"):
        return 0.0
    return 0.005 if 0.1 <= abs(end) <= 1 else 0.05 * abs(end)

"""The experiments by name, and how one is run."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from aegis_opt._files import probe
from aegis_opt.errors import InvalidInput, UnknownName
from aegis_opt.harness import Case
from aegis_opt.report._plots import require_altair
from benchmarks.paper.experiments import (
    end_to_end,
    generalization,
    histograms,
    k_anonymity,
    k_anonymity_search,
    mlp,
    parameters,
    regret,
    scalability,
    tvd,
)
from benchmarks.paper.experiments.base import Experiment, ExperimentResult, Settings, judge

_MODULES = (
    end_to_end,
    mlp,
    regret,
    k_anonymity,
    k_anonymity_search,
    tvd,
    histograms,
    parameters,
    generalization,
    scalability,
)

EXPERIMENTS: dict[str, Experiment] = {module.EXPERIMENT.name: module.EXPERIMENT for module in _MODULES}
"""Every experiment, by name."""


def get_experiment(name: str) -> Experiment:
    """Return an experiment by its name.

    Examples
    --------
    >>> get_experiment("tvd").section
    'Quality of Joint Distribution Reconstruction'
    """
    if name not in EXPERIMENTS:
        raise UnknownName("experiment", name, EXPERIMENTS)
    return EXPERIMENTS[name]


def run_experiment(
    name: str, settings: Settings | None = None, output: str | Path | None = None
) -> ExperimentResult:
    """Run an experiment of the paper's evaluation.

    Parameters
    ----------
    name : str
        Of `EXPERIMENTS`.
    settings : Settings, optional
        Data sets and sizes.
    output : path, optional
        Folder for NAME-TABLE.csv, NAME.png and for some NAME.md; trained scores are kept in its folder
        `trained`, where other experiments find them.

    Returns
    -------
    ExperimentResult
        Tables, and each claim of the paper beside the number found; `print` shows both.

    Examples
    --------
    >>> found = run_experiment("generalization", Settings(small=True))
    >>> found.tables["reconstructions"]["varied"].unique().tolist()
    ['bucket size', 'domain size']
    """
    experiment = get_experiment(name)
    settings = settings or Settings()
    if experiment.needs_data and not settings.cases:
        raise InvalidInput(
            f"experiment {name!r} needs a data set: pass its folder (--data) or Settings(cases=)"
        )
    if output is not None:  # before the work, not after it
        require_altair()
        _require_folder(output)
    if output is not None and settings.cache is None:
        settings = dataclasses.replace(settings, cache=Path(output) / "trained")
    tables = experiment.run(settings)
    result = ExperimentResult(experiment, tables, judge(experiment, tables))
    return result if output is None else result.write(Path(output))


def _require_folder(output: str | Path) -> None:
    if not str(output):
        raise InvalidInput("output is an empty path: name a folder")
    try:
        probe(output)  # it is made when there is something to put into it
    except OSError as error:
        raise InvalidInput(f"cannot write to {output} ({error.strerror}): name another folder") from error


def cases_in(folder: str | Path) -> tuple[Case, ...]:
    """Return the data sets of a folder: itself or its subfolders, each data.csv with configurations.json.

    Raises
    ------
    InvalidInput
        Where there is none.
    """
    base = Path(folder)
    found = [base] if (base / "data.csv").exists() else sorted(p.parent for p in base.glob("*/data.csv"))
    found = [path for path in found if (path / "configurations.json").exists()]
    if not found:
        raise InvalidInput(f"no data.csv with configurations.json in {base} or in a folder of it")
    return tuple(
        Case(path.absolute().name, path / "data.csv", None, path / "configurations.json") for path in found
    )

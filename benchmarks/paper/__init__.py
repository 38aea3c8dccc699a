"""The paper's evaluation, run again: `python -m benchmarks.paper`, or from Python by the names below."""

from benchmarks.paper.experiments import EXPERIMENTS, ExperimentResult, Settings, run_experiment
from benchmarks.paper.research import run_research

__all__ = ["EXPERIMENTS", "ExperimentResult", "Settings", "run_experiment", "run_research"]

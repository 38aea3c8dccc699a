"""The experiments of the Aegis paper's evaluation, one module each, run again with this library."""

from benchmarks.paper.experiments.base import Claim, Experiment, ExperimentResult, Settings
from benchmarks.paper.experiments.registry import EXPERIMENTS, cases_in, get_experiment, run_experiment

__all__ = [
    "EXPERIMENTS",
    "Claim",
    "Experiment",
    "ExperimentResult",
    "Settings",
    "cases_in",
    "get_experiment",
    "run_experiment",
]

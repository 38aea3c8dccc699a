"""The experiments of the Aegis paper's evaluation, one module each, run again with this library."""

from aegis_opt.harness.experiments.base import Claim, Experiment, Outcome, Settings
from aegis_opt.harness.experiments.registry import EXPERIMENTS, cases_in, get_experiment, run_experiment

__all__ = [
    "EXPERIMENTS",
    "Claim",
    "Experiment",
    "Outcome",
    "Settings",
    "cases_in",
    "get_experiment",
    "run_experiment",
]

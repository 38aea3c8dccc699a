"""The same question with a neural network as the downstream task."""

from __future__ import annotations

import pandas as pd

from benchmarks.paper.experiments.base import Claim, Experiment, Settings
from benchmarks.paper.experiments.end_to_end import draw, loss_of, run_with


def run(settings: Settings) -> dict[str, pd.DataFrame]:
    """Train a 100-100 ReLU network on every configuration."""
    return run_with(settings, settings.classifiers or ("mlp",))


EXPERIMENT = Experiment(
    name="mlp",
    title="accuracy of a neural network on the configuration picked",
    section="End-to-end Effectiveness, neural network",
    run=run,
    draw=draw,
    takes=("measures", "classifiers", "configurations", "seed", "n_jobs"),
    claims=(
        Claim(
            "air_quality", "accuracy lost by advisor g3, points", 6, 6, loss_of("air_quality", "mlp", "g3")
        ),
        Claim("income", "accuracy lost by advisor g3, points", 2, 2, loss_of("income", "mlp", "g3")),
        Claim("hotel", "accuracy lost by advisor mi, points", 3, 3, loss_of("hotel", "mlp", "mi")),
        Claim("hotel", "accuracy lost by advisor chi2, points", 3, 3, loss_of("hotel", "mlp", "chi2")),
    ),
)

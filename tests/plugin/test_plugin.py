"""A third-party package, really installed, adds a solver and a measure by entry point."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import json
import aegis_opt as ao

problem = ao.Problem.from_table([[3, 0], [0, 1], [0, 2]], [0, 0, 1])
clinic = ao.datasets.clinic(300)
summary = ao.summarize(clinic.frame, clinic.label, clinic.configurations, histograms=True)
try:
    ao.reconstruct(problem, "broken")
except ao.AegisError as error:
    broken = str(error)
print(json.dumps({
    "solvers": list(ao.available_solvers()),
    "norms": list(ao.available_solvers()["halves"].norms),
    "first": ao.reconstruct(problem, "halves", weight=1.0).table[0].tolist(),
    "status": ao.reconstruct(problem, "halves").status.name,
    "broken": broken,
    "measures": list(ao.measures.available_measures()),
    "same": ao.advise(summary, measure="purity").best == ao.advise(summary, measure="g3").best,
    "single": ao.advise(summary, "mi", scope="single", solver="halves", weight=0.2).best,
}))
"""


@pytest.fixture(scope="module")
def answer(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    source = tmp_path_factory.mktemp("source") / "halves"
    shutil.copytree(Path(__file__).parent / "halves", source)
    target = tmp_path_factory.mktemp("site")
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*install, "--target", str(target), str(source)], check=True, capture_output=True)
    environment = os.environ | {"PYTHONPATH": str(target)}
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT], check=True, capture_output=True, text=True, env=environment
    )
    found: dict[str, object] = json.loads(run.stdout)
    return found


def test_the_solver_is_listed_configured_and_certified_like_any_other(answer: dict[str, object]) -> None:
    assert "halves" in answer["solvers"]  # type: ignore[operator]
    assert answer["norms"] == []
    assert answer["first"] == [1.5, 0.5]
    assert answer["status"] == "VIOLATED"
    assert answer["single"] is None  # its tables, too, are independent inside each group


def test_a_plugin_that_cannot_be_loaded_is_named_only_when_asked_for(answer: dict[str, object]) -> None:
    assert "broken" in answer["solvers"]  # type: ignore[operator]
    assert "'broken' is registered as 'aegis_opt_halves:Missing'" in str(answer["broken"])


def test_the_measure_takes_part_in_advice(answer: dict[str, object]) -> None:
    assert "purity" in answer["measures"]  # type: ignore[operator]
    assert answer["same"] is True

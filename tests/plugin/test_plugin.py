"""A third-party package, really installed, adds a solver, a measure and a distance by entry point."""

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
able = ("ipf", "convex", "integer")
closest = {solver: ao.reconstruct(problem, solver, norm="cressie_read") for solver in able}
compared = ao.compare(
    clinic.frame, clinic.label, clinic.configurations, solvers=["ipf:cressie_read=0.5"], measures=["mi"]
)
print(json.dumps({
    "distances": list(ao.distances.available_distances()),
    "norm": closest["ipf"].norm,
    "optimal": [result.optimal for result in closest.values()],
    "objectives": [result.objective for result in closest.values()],
    "compared": sorted(set(compared.norm)),
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
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder that the package is installed into."""
    source = tmp_path_factory.mktemp("source") / "halves"
    shutil.copytree(Path(__file__).parent / "halves", source)
    target = tmp_path_factory.mktemp("site")
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*install, "--target", str(target), str(source)], check=True, capture_output=True)
    return target


def _run(site: Path, script: str, *arguments: str) -> str:
    """What a script prints where the package is installed."""
    command = [sys.executable, "-c", script, *arguments]
    environment = os.environ | {"PYTHONPATH": str(site)}
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout


@pytest.fixture(scope="module")
def answer(site: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads(_run(site, SCRIPT))
    return found


def test_the_solver_is_listed_configured_and_certified_like_any_other(answer: dict[str, object]) -> None:
    assert "halves" in answer["solvers"]  # type: ignore[operator]
    assert answer["norms"] == []
    assert answer["first"] == [1.5, 0.5]
    assert answer["status"] == "VIOLATED"
    assert answer["single"] is None  # its tables, too, are independent inside each group


def test_a_plugin_that_cannot_be_loaded_is_named_only_when_asked_for(answer: dict[str, object]) -> None:
    assert "broken" in answer["solvers"]  # type: ignore[operator]
    assert "solver 'broken' of the plugin 'aegis_opt_halves:Missing' cannot be loaded" in str(
        answer["broken"]
    )


def test_the_measure_takes_part_in_advice(answer: dict[str, object]) -> None:
    assert "purity" in answer["measures"]  # type: ignore[operator]
    assert answer["same"] is True


def test_the_distance_works_in_every_solver_that_its_flags_admit_and_in_comparisons(
    answer: dict[str, object],
) -> None:
    assert "cressie_read" in answer["distances"]  # type: ignore[operator]
    assert answer["norm"] == "cressie_read=0.666667"
    assert answer["optimal"] == [True, True, True]
    objectives = answer["objectives"]
    assert isinstance(objectives, list)
    fitted, continuous, whole = objectives
    assert fitted == pytest.approx(continuous, rel=1e-6)
    assert fitted <= whole
    assert answer["compared"] == ["cressie_read=0.5"]


def test_the_distance_is_known_to_the_command_line(site: Path, tmp_path: Path) -> None:
    table = tmp_path / "people.csv"
    table.write_text("age,sick\n" + "".join(f"{20 + i % 7},{i % 3 // 2}\n" for i in range(60)))
    masks = tmp_path / "masks.json"
    masks.write_text('{"one": {"age": {"function": "bucketize", "width": 3}}, "two": {}}')
    main = "from aegis_opt.cli import main; main()"
    options = ["--label", "sick", "--configurations", str(masks), "--solver", "integer:cressie_read=1"]
    printed = _run(site, main, "compare", str(table), *options, "--json", "-o", str(tmp_path / "results"))
    assert '"integer:cressie_read=1"' in printed

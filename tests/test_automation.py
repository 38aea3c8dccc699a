"""What checks a change: the workflow, `.ci/run` and the Makefile agree, with each other and the project."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
GITHUB = ROOT / ".github"
WORKFLOW = (GITHUB / "workflows" / "tests.yml").read_text()
JOBS: dict[str, Any] = yaml.safe_load(WORKFLOW)["jobs"]
MATRIX = JOBS["tests"]["strategy"]["matrix"]


def make_targets() -> set[str]:
    declared = re.search(r"^\.PHONY:(.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert declared is not None
    return set(declared[1].split())


def commands() -> list[str]:
    """All that the workflow runs, for every target of the matrix."""
    targets = [*MATRIX["target"], *(case["target"] for case in MATRIX["include"])]
    steps = [step["run"] for job in JOBS.values() for step in job["steps"] if "run" in step]
    return [step.replace("${{ matrix.target }}", target) for step in steps for target in targets]


def test_the_workflow_runs_make_targets_that_exist_and_all_that_check() -> None:
    asked = {word for line in commands() if line.startswith("make ") for word in line.split()[1:]}
    assert asked == {"lint", "types", "unit", "spark", "coverage", "docs"}
    assert asked <= make_targets()


def test_the_workflow_tests_the_python_versions_that_the_project_names() -> None:
    named = [
        text.rpartition(" ")[2] for text in PROJECT["classifiers"] if re.search(r":: Python :: 3\.", text)
    ]
    assert MATRIX["python"] == named
    assert PROJECT["requires-python"] == f">={named[0]}"
    assert {case["python"] for case in MATRIX["include"]} <= set(named)


def test_the_workflow_may_only_read_and_uses_pinned_actions_of_the_host() -> None:
    assert yaml.safe_load(WORKFLOW)["permissions"] == {"contents": "read"}
    assert not any("permissions" in job for job in JOBS.values())
    actions = re.findall(r"uses: *(\S+)", WORKFLOW)
    assert actions
    assert [action for action in actions if not re.fullmatch(r"actions/[a-z-]+@v\d+", action)] == []
    assert "://" not in WORKFLOW


def test_nothing_in_the_workflow_passes_without_its_programs() -> None:
    assert yaml.safe_load(WORKFLOW)["env"]["AEGIS_OPT_REQUIRE_ALL"] == "1"
    assert "continue-on-error" not in WORKFLOW
    assert not any("||" in line for line in commands())


@pytest.mark.parametrize("name", ["bug", "feature"])
def test_an_issue_form_has_what_the_host_demands(name: str) -> None:
    form = yaml.safe_load((GITHUB / "ISSUE_TEMPLATE" / f"{name}.yml").read_text())
    assert set(form) == {"name", "description", "body"}
    questions = [part for part in form["body"] if part["type"] != "markdown"]
    assert len({part["id"] for part in questions}) == len(questions)
    assert all(part["attributes"]["label"] for part in questions)


def test_the_citation_names_the_version_and_the_authors_of_the_project() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert str(citation["version"]) == PROJECT["version"]
    assert citation["license"] == PROJECT["license"]
    assert [author["name"] for author in citation["authors"]] == [a["name"] for a in PROJECT["authors"]]
    assert PROJECT["urls"]["Paper"].endswith(citation["references"][0]["doi"])


def run_ci(tmp_path: Path, *programs: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `.ci/run` as a user who is not root, on a machine with only these programs, all of them fake."""
    for name in ("bash", "dirname"):
        (tmp_path / name).symlink_to(str(shutil.which(name)))
    for name, body in {
        "id": "echo 1000",
        "make": "echo make $@ $AEGIS_OPT_REQUIRE_ALL",
        **dict.fromkeys(programs, ""),
    }.items():
        (tmp_path / name).write_text(f"#!{tmp_path}/bash\n{body}\n")
        (tmp_path / name).chmod(0o755)
    return subprocess.run(
        [str(ROOT / ".ci" / "run")],
        env={"PATH": str(tmp_path), **environment},
        capture_output=True,
        text=True,
    )


def test_ci_requires_every_program_of_the_tests(tmp_path: Path) -> None:
    done = run_ci(tmp_path, "chromium", "java", "pg_ctl")
    assert (done.returncode, done.stdout) == (0, "make test 1\n"), done.stderr


@pytest.mark.parametrize(
    ("programs", "environment", "packages"),
    [
        (("java", "pg_ctl"), {}, "chromium"),
        (("pg_ctl", "google-chrome"), {}, "openjdk-17-jre-headless"),
        (("java", "pg_ctl", "chromium"), {"JAVA_HOME": "/nonexistent"}, "openjdk-17-jre-headless"),
        (("pg_ctl",), {}, "chromium openjdk-17-jre-headless"),
    ],
)
def test_ci_fails_and_says_what_is_missing(
    tmp_path: Path, programs: tuple[str, ...], environment: dict[str, str], packages: str
) -> None:
    done = run_ci(tmp_path, *programs, **environment)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.endswith(f"not installed here. On Debian: apt-get install {packages}\n")


def test_ci_fails_when_the_installation_does(tmp_path: Path) -> None:
    """Root with an apt-get that finds nothing: what is missing afterwards is named, not passed over."""
    (tmp_path / "id0").mkdir()
    root = tmp_path / "id0" / "id"
    root.write_text(f"#!{tmp_path}/bash\necho 0\n")
    root.chmod(0o755)
    done = run_ci(tmp_path, "java", "pg_ctl", "apt-get", PATH=f"{root.parent}:{tmp_path}")
    assert (done.returncode, done.stdout) == (1, "")
    assert "apt-get install chromium" in done.stderr

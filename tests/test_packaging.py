"""What a user gets: a whole wheel, a cheap import, solvers that share a process, no trace of a machine."""

import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
IGNORED = shutil.ignore_patterns("__pycache__", "*.pyc")


def run(*arguments: str, cwd: Path = ROOT) -> str:
    """Run a fresh Python, or whatever is named, and return what it prints; its errors fail the test."""
    done = subprocess.run(arguments, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def run_python(code: str, cwd: Path = ROOT) -> str:
    return run(sys.executable, "-c", code, cwd=cwd)


def package_folders() -> dict[str, Path]:
    """Every package by its import name: all under aegis_opt/, and solvers/ as aegis_opt.solvers."""
    folders = {}
    for top, prefix in ((ROOT / "aegis_opt", "aegis_opt"), (ROOT / "solvers", "aegis_opt.solvers")):
        for init in top.rglob("__init__.py"):
            inside = init.parent.relative_to(top).parts
            if prefix == "aegis_opt" and inside[:1] == ("solvers",):
                continue  # the link that editors follow
            folders[".".join((prefix, *inside))] = init.parent
    return folders


@pytest.fixture(scope="module")
def wheel_names(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Build the wheel from a copy (the build writes beside its source) and list what is in it."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for folder in ("aegis_opt", "solvers"):
        shutil.copytree(ROOT / folder, source / folder, symlinks=True, ignore=IGNORED)
    for file in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / file, source)
    run_python(f"from setuptools import build_meta; build_meta.build_wheel({str(out)!r})", cwd=source)
    (wheel,) = out.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_wheel_holds_every_module_and_the_type_marker(wheel_names: set[str]) -> None:
    expected = {"aegis_opt/py.typed"}
    for name, folder in package_folders().items():
        expected |= {f"{name.replace('.', '/')}/{file.name}" for file in folder.glob("*.py")}
    assert {"aegis_opt/__init__.py", "aegis_opt/solvers/__init__.py"} <= expected
    assert expected <= wheel_names, sorted(expected - wheel_names)


def test_wheel_holds_what_the_report_is_made_of(wheel_names: set[str]) -> None:
    """Its style, scripts and page are no modules: setuptools takes them only where it is told to."""
    assets = {path.name for path in (ROOT / "aegis_opt" / "report" / "assets").iterdir()}
    assert {"page.html", "style.css", "main.js", "tables.js"} <= assets
    assert {f"aegis_opt/report/assets/{name}" for name in assets} <= wheel_names


def test_wheel_installs_nothing_but_the_package_and_its_metadata(wheel_names: set[str]) -> None:
    tops = {name.split("/")[0] for name in wheel_names}
    assert tops == {"aegis_opt", f"aegis_opt-{PYPROJECT['project']['version']}.dist-info"}


def test_every_package_is_listed_in_pyproject() -> None:
    assert sorted(PYPROJECT["tool"]["setuptools"]["packages"]) == sorted(package_folders())


def loaded_by(code: str) -> set[str]:
    return set(run_python(f"import sys\n{code}\nprint(*sys.modules)").split())


def test_import_loads_nothing_but_the_package() -> None:
    assert {"numpy", "pandas", "scipy"}.isdisjoint(loaded_by("import aegis_opt"))


def test_no_name_loads_a_dependency_that_takes_long() -> None:
    """What pandas loads by itself (pyarrow, from its version 3 on) is not ours to prevent."""
    names = (
        "import aegis_opt\nfor name in [*aegis_opt.__all__, *aegis_opt._MODULES]: getattr(aegis_opt, name)"
    )
    ours = loaded_by(names) - loaded_by("import numpy, pandas")
    assert "aegis_opt.report" in ours
    heavy = {
        *("scipy.optimize", "scipy.sparse", "scipy.special", "cvxpy", "ortools", "highspy", "duckdb"),
        *("altair", "vl_convert", "pyspark", "sklearn", "polars", "pyarrow"),
    }
    assert heavy.isdisjoint(ours)


@pytest.mark.parametrize("order", [("ortools", "highspy"), ("highspy", "ortools")], ids=" then ".join)
def test_ortools_and_highspy_share_a_process(order: tuple[str, str]) -> None:
    """A newer highspy and the HiGHS that ortools bundles cannot be loaded together: hence the pin."""
    imports = {
        "ortools": "from ortools.linear_solver import pywraplp\nfrom ortools.sat.python import cp_model\n",
        "highspy": "import highspy\n",
    }
    solve = """
linear = pywraplp.Solver.CreateSolver("GLOP")
x = linear.NumVar(0, 3, "x")
linear.Maximize(x)
assert linear.Solve() == pywraplp.Solver.OPTIMAL

model = cp_model.CpModel()
y = model.new_int_var(0, 4, "y")
model.maximize(y)
solver = cp_model.CpSolver()
assert solver.solve(model) == cp_model.OPTIMAL

highs = highspy.Highs()
highs.silent()
z = highs.addVariable(0, 5)
highs.maximize(z)
print(round(x.solution_value()), solver.value(y), round(highs.val(z)))
"""
    assert run_python("".join(imports[name] for name in order) + solve).split() == ["3", "4", "5"]


def project_files() -> list[Path]:
    """The tracked files; in an unpacked archive, all that .gitignore does not name."""
    if (ROOT / ".git").exists():
        names = run("git", "ls-files", "-z").split("\0")
        return [ROOT / name for name in names if (ROOT / name).is_file()]
    patterns = [line.strip().strip("/") for line in (ROOT / ".gitignore").read_text().splitlines() if line]
    return [
        path
        for path in ROOT.rglob("*")
        if path.is_file()
        and not any(part.match(p) for part in map(Path, path.relative_to(ROOT).parts) for p in patterns)
    ]


def test_no_file_names_a_package_index_or_a_folder_of_somebodys_machine() -> None:
    machine = re.compile(
        r"(?<![\w.])/(?:home|root|Users|work)/[\w.]"  # an absolute path
        r"|https?://\S+/simple(?![\w-])"  # a package index
        r"|--(?:extra-)?index-url|files\.pythonhosted"
    )
    files = project_files()
    assert ROOT / "pyproject.toml" in files
    found = []
    for file in files:
        text = file.read_bytes().decode("utf-8", errors="replace")
        found += [f"{file.relative_to(ROOT)}: {hit.group()}" for hit in machine.finditer(text)]
    assert not found


def test_constraints_are_names_and_versions_only() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    wrong = [line for line in lines if not re.fullmatch(r"[a-z0-9][a-z0-9._-]*==[0-9][a-z0-9.!+]*", line)]
    assert lines
    assert not wrong
    names = [line.partition("==")[0] for line in lines]
    assert names == sorted(set(names))


REQUIREMENTS = {
    "core": PYPROJECT["project"]["dependencies"],
    **PYPROJECT["project"]["optional-dependencies"],
    **PYPROJECT["dependency-groups"],
    **{about["name"]: about["requires-dist"] for about in PYPROJECT["tool"]["uv"]["dependency-metadata"]},
}


@pytest.mark.parametrize("part", REQUIREMENTS)
def test_what_make_installs_is_pinned_within_its_range(part: str) -> None:
    pinned = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().splitlines())
    for text in REQUIREMENTS[part]:
        requirement = Requirement(text)
        version = pinned[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(version), f"{text}, but pinned to {version}"

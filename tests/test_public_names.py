"""What is public: a list of names that only changes on purpose, and old names that say where they are now."""

import importlib
import subprocess
import sys
import warnings
from operator import attrgetter
from pathlib import Path

import pytest

import aegis_opt as ao
from aegis_opt import _moved

LIST = Path(__file__).with_name("public_names.txt")
ROOMS = [f"aegis_opt.{module}" for module in ao._MODULES]
SOLVERS = [f"aegis_opt.solvers.{module}" for module in ao.solvers.__all__]
UPDATE = (
    "The public names have changed. Where that is wanted, write the new list with "
    "`python tests/test_public_names.py` and tell users in CHANGELOG.md; a name that leaves the top level "
    "also goes into aegis_opt/_moved.py (see docs/stability.md)."
)


def top_level(name: str) -> object:
    return getattr(ao, name)


def public_names() -> list[str]:
    names = [f"aegis_opt.{name}" for name in dir(ao) if f"aegis_opt.{name}" not in ROOMS]
    for module in (*ROOMS, *SOLVERS):
        names += [f"{module}.{name}" for name in importlib.import_module(module).__all__]
    return sorted(set(names) - set(SOLVERS))


def test_the_public_names_are_those_of_the_list() -> None:
    now, listed = set(public_names()), set(LIST.read_text().split())
    assert now == listed, f"{UPDATE}\nnew: {sorted(now - listed)}\ngone: {sorted(listed - now)}"


def test_every_public_name_exists() -> None:
    for name in LIST.read_text().split():
        module, _, attribute = name.rpartition(".")
        assert hasattr(importlib.import_module(module), attribute), name


def test_the_top_level_is_small_and_loads_what_it_lists() -> None:
    assert len(ao.__all__) <= 55
    assert set(ao.__all__) - {"datasets"} == set(ao._HOMES) - {"MaskingTransformer"}
    assert ao.__all__ == sorted(set(ao.__all__))
    for name, home in ao._HOMES.items():
        assert getattr(ao, name) is getattr(importlib.import_module(home), name)


def test_type_checkers_see_the_same_names() -> None:
    """The imports that only they read and the table that the program reads agree."""
    imports = _imports_for_type_checkers(Path(ao.__file__))
    expected = {name: (home, name) for name, home in ao._HOMES.items()}
    assert imports == expected | {module: ("aegis_opt", module) for module in ao._MODULES}


def _imports_for_type_checkers(file: Path) -> dict[str, tuple[str | None, str]]:
    import ast

    return {
        alias.asname or alias.name: (node.module, alias.name)
        for block in ast.parse(file.read_text()).body
        if isinstance(block, ast.If) and isinstance(block.test, ast.Name)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


@pytest.mark.parametrize("name", sorted(_moved._NEW_HOMES))
def test_a_name_that_moved_still_works_and_says_where_it_is(name: str) -> None:
    with pytest.warns(DeprecationWarning, match=rf"aegis_opt\.{name} is now .*\.{name}") as caught:
        found = attrgetter(name)(ao)
    assert caught[0].filename == __file__
    assert found is attrgetter(name)(importlib.import_module(_moved._NEW_HOMES[name]))
    assert name not in ao.__all__


def test_a_from_import_of_a_name_that_moved_warns_at_the_import() -> None:
    with pytest.warns(DeprecationWarning, match=r"is now aegis_opt\.measures\.cramers_v") as caught:
        exec(compile("from aegis_opt import cramers_v", __file__, "exec"))
    assert caught[0].filename == __file__


def test_the_paper_is_in_the_repository_only(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("benchmarks.paper", "benchmarks.paper.datasets"):
        monkeypatch.setitem(sys.modules, module, None)
    text = r"is now benchmarks\.paper\.run_research, in the repository and not in the package"
    with pytest.raises(AttributeError, match=text):
        top_level("run_research")
    with pytest.raises(ImportError, match=text):
        exec("from aegis_opt import run_research")
    with pytest.raises(ImportError, match=r"now benchmarks\.paper\.datasets\.scalability, in the repo"):
        exec("from aegis_opt.datasets import scalability")


@pytest.mark.parametrize(
    ("statement", "now"),
    [
        ("import aegis_opt.masking", "aegis_opt.masking is now aegis_opt.masks"),
        ("from aegis_opt import masking", "aegis_opt.masking is now aegis_opt.masks"),
        ("from aegis_opt.masking.steps import Bucketize", "aegis_opt.masking is now aegis_opt.masks"),
        ("import aegis_opt.plotting", "is now aegis_opt.plot_ranking"),
        ("from aegis_opt.reconstruction import Status", "is now aegis_opt.solvers.reconstruction"),
        ("from aegis_opt.problem.distance import NORMS", "is now aegis_opt.distances"),
        ("from aegis_opt.solvers import spread", "is now aegis_opt.analysis"),
        ("from aegis_opt.solvers.flow import solve", "is now aegis_opt.solvers.integer"),
        ("from aegis_opt.harness.experiments.tvd import x", "is now benchmarks.paper"),
        ("from aegis_opt.measures.chi_square import cramers_v", "use what aegis_opt.measures offers"),
        ("from aegis_opt.files import x", "is private now"),
    ],
)
def test_an_old_path_says_where_to_look(statement: str, now: str) -> None:
    with pytest.raises(ImportError, match=now.replace(".", r"\.")) as caught:
        exec(statement)
    assert not isinstance(caught.value, ModuleNotFoundError)  # which `from package import name` would hide


def test_every_new_place_exists() -> None:
    for place in (*_moved._MODULES, *(f"aegis_opt.{room}" for room in _moved._PRIVATE)):
        try:
            importlib.import_module(place)
        except ModuleNotFoundError:
            module, _, name = place.rpartition(".")
            assert hasattr(importlib.import_module(module), name), place


def test_old_modules_are_no_attributes_and_unknown_names_stay_unknown() -> None:
    with pytest.raises(AttributeError, match=r"aegis_opt\.masking is now aegis_opt\.masks"):
        top_level("masking")
    with pytest.raises(AttributeError, match="has no attribute 'summarise'"):
        top_level("summarise")
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("aegis_opt.summarise")
    with pytest.raises(ImportError, match="cannot import name 'summarise'"):
        exec("from aegis_opt import summarise")


def test_a_star_import_gives_all_and_warns_of_nothing() -> None:
    code = "from aegis_opt import *; print(*sorted(n for n in globals() if not n.startswith('__')))"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ao.__all__


if __name__ == "__main__":
    warnings.simplefilter("error")
    LIST.write_text("\n".join(public_names()) + "\n")

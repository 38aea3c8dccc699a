"""The order of the rooms: each uses only those that come before it."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from importlib import import_module
from pathlib import Path

import pytest

from aegis_opt import _later, _native
from benchmarks import house

LEVEL = {room: level for level, rooms in enumerate(house.ORDER) for room in rooms}


def test_every_room_has_a_place_in_the_order() -> None:
    assert set(house.modules()) == set(LEVEL)


@pytest.mark.parametrize("room", sorted(house.modules()))
def test_a_room_uses_only_rooms_before_it(room: str) -> None:
    wrong = [
        f"{path.relative_to(house.ROOT)}:{line} imports {used}"
        for path in house.modules()[room]
        for used, line in house.imported_rooms(path)
        if used != room and LEVEL[used] >= LEVEL[room]
    ]
    assert not wrong


def test_imports_are_found_wherever_they_stand(tmp_path: Path) -> None:
    """The check above is worth what this finds: imports in functions, for type checkers, and of modules."""
    file = tmp_path / "module.py"
    file.write_text(
        "from aegis_opt.problem._margin import Margin\n"
        "from aegis_opt import cli\n"
        "if TYPE_CHECKING:\n    import aegis_opt.report\n"
        "def late():\n    from aegis_opt.solvers.base import Reconstructor\n"
        "import aegis_opt as ao\n"
    )
    assert list(house.imported_rooms(file)) == [
        ("problem", 1),
        ("cli", 2),
        ("aegis_opt", 7),
        ("report", 4),
        ("solvers", 6),
    ]


def calls_of(tree: ast.AST, module: str, function: str) -> list[ast.Call]:
    """Every `module.function(...)` in a file."""
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and (node.func.attr, getattr(node.func.value, "id", "")) == (function, module)
    ]


def test_a_later_room_is_called_only_by_methods_that_are_known() -> None:
    """Calls through `_later` are exceptions to the order: each is listed here, and no other way is used."""
    found, by_name = {}, set()
    for room, paths in house.modules().items():
        for path in paths:
            tree = ast.parse(path.read_text(encoding="utf-8"))
            for method in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
                for call in calls_of(method, "_later", "call"):
                    assert isinstance(call.args[0], ast.Constant)
                    found[f"{room}: {method.name}"] = call.args[0].value
            if any(isinstance(node, ast.Name) and node.id == "import_module" for node in ast.walk(tree)):
                by_name.add(room)
    assert found == {
        "advisor: plot": "plot_ranking",
        "advisor: plot_attributes": "plot_attributes",
        "privacy: plot": "plot_search_curve",
        "advisor: report": "write_record",
        "harness: plot": "plot_results",
        "solvers: plot": "plot_reconstruction",
    }
    assert set(found.values()) == set(_later._PLACES)
    for name, module in _later._PLACES.items():
        assert callable(getattr(import_module(module), name))
    assert by_name == {
        *("_later", "_moved", "_native", "aegis_opt"),
        *("solvers", "harness", "cli"),  # of plugins, of other libraries, and of their own commands
    }


def test_libraries_that_ctrl_c_breaks_while_they_load_are_imported_from_one_place() -> None:
    fragile, wrong = {name.split(".")[0] for name in _native._PLACES.values()}, []
    for path in (path for room, paths in house.modules().items() if room != "_native" for path in paths):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
            for node in ast.walk(function):
                if isinstance(node, ast.Import):
                    names = [alias.name for alias in node.names]
                elif isinstance(node, ast.ImportFrom):
                    names = [node.module or ""]
                else:
                    continue
                wrong += [f"{path}:{node.lineno}" for name in names if name.split(".")[0] in fragile]
    assert not wrong


def test_cp_sat_solvers_come_from_one_place() -> None:
    """Which keeps them from taking Ctrl-C for themselves."""
    found = [
        str(path.relative_to(house.ROOT))
        for paths in house.modules().values()
        for path in paths
        if "CpSolver(" in path.read_text(encoding="utf-8")
    ]
    assert found == ["aegis_opt/_native.py"]


def test_a_class_name_stands_for_one_thing() -> None:
    places = defaultdict(list)
    for paths in house.modules().values():
        for path in paths:
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ClassDef):
                    places[node.name.lstrip("_")].append(str(path.relative_to(house.ROOT)))
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_the_walks_through_the_code_name_what_exists() -> None:
    """CONTRIBUTING lists hops such as: file.py: `function`, `Class.method`."""
    text = (house.ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    walks = text.partition("## Walks through the code")[2].partition("\n## ")[0]
    hops = [
        part for line in walks.splitlines() if line[:1].isdigit() for part in re.split(r"`(?=\S+\.py`)", line)
    ]
    named = 0
    for path, names in (hop.split("`", 1) for hop in hops if ".py`" in hop):
        tree = ast.parse((house.ROOT / path).read_text(encoding="utf-8"))
        defined = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef | ast.FunctionDef)}
        wanted = re.findall(r"`([\w.]+)`", names)
        assert wanted
        assert {part for name in wanted for part in name.split(".")} <= defined, path
        named += len(wanted)
    assert named > 25

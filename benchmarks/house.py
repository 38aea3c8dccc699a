"""The rooms of the library, their sizes and who uses whom: `python -m benchmarks.house`.

A room is a package or module directly below `aegis_opt`. `ORDER` lists them from the ground up: each may use
the rooms before it, never those after it, and rooms of one line do not use each other. `tests/test_house.py`
checks that, imports inside functions and for type checkers included.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

ORDER: tuple[tuple[str, ...], ...] = (
    ("_shown", "_moved", "_later", "_blas", "_interrupts", "_native"),
    ("errors", "_terminal", "_draws"),
    ("_options",),
    ("_child", "_files", "_nan", "_plugins", "_progress", "_display"),
    ("_flows", "_channels"),
    ("_json",),
    ("domain",),
    ("sources",),
    ("masks",),
    ("distances", "measures", "scores"),
    ("problem",),
    ("release",),
    ("privacy",),
    ("summary",),
    ("disclosure",),
    ("rounding",),
    ("solvers",),
    ("analysis",),
    ("advisor",),
    ("datasets",),
    ("harness",),
    ("report",),
    ("cli",),
    ("aegis_opt",),
)
CORE = ("summary", "problem", "distances", "rounding", "solvers", "measures", "advisor")


def modules() -> dict[str, list[Path]]:
    """Files of each room; `aegis_opt/__init__.py` is the room "aegis_opt"."""
    rooms: dict[str, list[Path]] = {}
    for path in sorted((ROOT / "aegis_opt").rglob("*.py")):
        parts = path.relative_to(ROOT / "aegis_opt").parts
        if parts[0] != "solvers":  # the link, which rglob may follow
            room = "aegis_opt" if parts == ("__init__.py",) else parts[0].removesuffix(".py")
            rooms.setdefault(room, []).append(path)
    rooms["solvers"] = sorted((ROOT / "solvers").rglob("*.py"))
    return rooms


def imported_rooms(path: Path) -> Iterator[tuple[str, int]]:
    """Room and line of every import of the library in a file, wherever in the file it stands."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        names = [alias.name for alias in node.names]
        if isinstance(node, ast.ImportFrom):
            whole = node.module == "aegis_opt"
            names = [f"aegis_opt.{name}" for name in names] if whole else [node.module or ""]
        for name in names:
            package, _, rest = name.partition(".")
            if package == "aegis_opt":
                yield rest.partition(".")[0] or "aegis_opt", node.lineno


def uses() -> dict[str, set[str]]:
    """For each room, the other rooms that it imports."""
    return {
        room: {used for path in paths for used, _ in imported_rooms(path)} - {room}
        for room, paths in modules().items()
    }


def lines(paths: list[Path]) -> int:
    """Number of lines of these files."""
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)


def main() -> None:
    """Print a line per room, and the share of the core."""
    rooms, used = modules(), uses()
    sizes = {room: lines(paths) for room, paths in rooms.items()}
    print(f"{'room':<12}{'files':>6}{'lines':>7}  uses")
    for room in (room for level in ORDER for room in level if room in rooms):
        names = ", ".join(sorted(used[room])) or "-"
        print(f"{room:<12}{len(rooms[room]):>6}{sizes[room]:>7}  {names}")
    total, core = sum(sizes.values()), sum(sizes.get(room, 0) for room in CORE)
    print(f"library {total:,} lines, core ({', '.join(CORE)}) {core:,}: {core / total:.1%}")


if __name__ == "__main__":
    main()

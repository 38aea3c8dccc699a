"""Data for benchmarks: a folder with data.csv and configurations.json, or synthetic data."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import pandas as pd

import aegis_opt as ao
from aegis_opt.harness import Case


@dataclass(frozen=True)
class Input:
    """A raw table with its configurations, and the file it comes from (if any)."""

    name: str
    frame: pd.DataFrame
    label: str
    configurations: ao.Configurations
    source: Path | pd.DataFrame

    @property
    def attributes(self) -> list[str]:
        """Every attribute that some configuration masks, in order of appearance."""
        return list(dict.fromkeys(name for masks in self.configurations.values() for name in masks))

    @property
    def case(self) -> Case:
        """The data set as the harness takes it."""
        return Case(self.name, self.source, self.label, self.configurations)


def load(folder: str | None, *, rows: int = 20_000) -> Input:
    """Read a folder, or make the synthetic clinic with 50 drawn configurations."""
    if folder is not None:
        configurations = ao.load_configurations(Path(folder) / "configurations.json")
        if configurations.label is None:
            raise SystemExit(f"{folder}/configurations.json names no label")
        path = Path(folder) / "data.csv"
        return Input(Path(folder).name, pd.read_csv(path), configurations.label, configurations, path)
    clinic = ao.datasets.clinic(rows)
    drawn = ao.generate_configurations(clinic.frame, label=clinic.label, n=50)
    return Input("clinic", clinic.frame, clinic.label, drawn, clinic.frame)


def folders(root: str | None) -> list[str | None]:
    """The data sets below a folder (itself, if it is one); [None] stands for synthetic data."""
    if root is None:
        return [None]
    base = Path(root)
    if (base / "data.csv").exists():
        return [root]
    found = sorted(str(p.parent) for p in base.glob("*/configurations.json"))
    if not found:
        raise SystemExit(f"no data.csv with configurations.json in or below {root}")
    return list(found)


def masked_rows(column: pd.Series, mask: ao.masks.Mask) -> pd.Series:
    """Mask a column row by row, as a tool without summaries would."""
    domain = ao.domain.Domain.of(column)
    grouping = mask.group(domain)
    return column.map(dict(zip(domain.to_list(), grouping.groups.tolist(), strict=True)))


def machine() -> str:
    """One line on what ran where."""
    packages = ("aegis-opt", "numpy", "scipy", "cvxpy", "ortools", "duckdb")
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    return f"Python {platform.python_version()} on {platform.machine()}; {versions}"

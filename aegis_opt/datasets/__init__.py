"""Data sets to try the library on: made here from a seed, or loaded from this machine or OpenML."""

from typing import TYPE_CHECKING, Any

from aegis_opt._moved import old_name
from aegis_opt.datasets._adult import adult
from aegis_opt.datasets._clinic import clinic
from aegis_opt.datasets._dataset import Dataset
from aegis_opt.datasets._worked_example import worked_example, worked_example_table

__all__ = ["Dataset", "adult", "clinic", "worked_example", "worked_example_table"]

if not TYPE_CHECKING:  # a type checker would take it as leave to use any name

    def __getattr__(name: str) -> Any:
        return old_name(__name__, name)

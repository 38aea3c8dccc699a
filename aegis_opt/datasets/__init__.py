"""Data sets to try the library on: made here from a seed, or loaded from this machine or OpenML."""

from aegis_opt.datasets._adult import adult
from aegis_opt.datasets._clinic import clinic
from aegis_opt.datasets._dataset import Dataset
from aegis_opt.datasets._scalability import scalability
from aegis_opt.datasets._worked_example import worked_example, worked_example_table

__all__ = ["Dataset", "adult", "clinic", "scalability", "worked_example", "worked_example_table"]

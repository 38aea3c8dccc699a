"""What every loader returns: a table with its label and perhaps configurations."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from aegis_opt._options import instance, known_name
from aegis_opt.errors import UnknownColumn
from aegis_opt.masks import Configurations


@dataclass(frozen=True, eq=False)
class Dataset:
    """A table with its class label and, where the data set has them, masking configurations to choose from.

    Parameters
    ----------
    name : str
        Short name.
    frame : DataFrame
        One row per record; every column but `label` is an attribute.
    label : str
        Column of the class label.
    configurations : Configurations or None
        Configurations that fit the attributes; None where the user brings or generates them.
    description : str
        Where the data come from and what is in them.

    Examples
    --------
    >>> frame = pd.DataFrame({"age": [10, 60], "health": ["G", "P"]})
    >>> Dataset("tiny", frame, "health", None, "Two people.").attributes
    ('age',)
    """

    name: str
    frame: pd.DataFrame
    label: str
    configurations: Configurations | None
    description: str

    def __post_init__(self) -> None:
        instance("frame", self.frame, pd.DataFrame, "give one row per record")
        known_name("label column", self.label, list(self.frame.columns), error=UnknownColumn)

    @property
    def attributes(self) -> tuple[str, ...]:
        """The columns other than the label, in order."""
        return tuple(str(column) for column in self.frame.columns if column != self.label)

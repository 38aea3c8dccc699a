"""The Age x Health example that the Aegis paper works through."""

from __future__ import annotations

import numpy as np
import pandas as pd

from aegis_opt.datasets._dataset import Dataset
from aegis_opt.masks import Configurations, Generalize

HEALTH = ("VP", "P", "M", "G", "VG")
"""Very poor, poor, moderate, good, very good."""

_COUNTS = {
    10: (0, 0, 0, 1, 3),
    17: (0, 0, 0, 4, 8),
    43: (0, 0, 1, 2, 1),
    55: (2, 8, 10, 8, 2),
    60: (4, 6, 9, 1, 0),
    65: (2, 3, 5, 0, 0),
    75: (2, 5, 3, 0, 0),
    80: (5, 3, 2, 0, 0),
}


def worked_example_table() -> pd.DataFrame:
    """Return the worked example as a table of counts, F(Age, Health).

    Returns
    -------
    DataFrame
        8 ages x 5 states of health, from very poor to very good; the counts add up to 100 people.

    References
    ----------
    "Aegis: A Correlation-Based Data Masking Advisor for Data-Sharing Ecosystems", Proc. ACM Manag. Data
    3(6), 2025, section 2.

    Examples
    --------
    >>> worked_example_table().loc[55].to_dict()
    {'VP': 2, 'P': 8, 'M': 10, 'G': 8, 'VG': 2}
    """
    table = pd.DataFrame.from_dict(_COUNTS, orient="index", columns=list(HEALTH))
    return table.rename_axis(index="age", columns="health")


def worked_example() -> Dataset:
    """Return the worked example as 100 people, with its one configuration ``young-old``.

    Returns
    -------
    Dataset
        Columns ``age`` and ``health``, sorted by age and then from very poor to very good health.

    References
    ----------
    As for `worked_example_table`.

    Examples
    --------
    >>> example = worked_example()
    >>> len(example.frame), example.label, list(example.configurations)
    (100, 'health', ['young-old'])
    """
    table = worked_example_table()
    counts = table.to_numpy().ravel()
    frame = pd.DataFrame(
        {
            "age": np.repeat(table.index.to_numpy(), len(HEALTH)).repeat(counts),
            "health": np.tile(np.array(HEALTH, dtype=object), len(table)).repeat(counts),
        }
    )
    young_old = Generalize({"Young": [10, 17, 43], "Old": [55, 60, 65, 75, 80]})
    return Dataset(
        name="worked-example",
        frame=frame,
        label="health",
        configurations=Configurations({"young-old": {"age": young_old}}, label="health"),
        description="The Aegis paper's example: the age and the state of health of 100 people.",
    )

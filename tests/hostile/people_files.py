"""The files that hostile cases change: a small table of people, its configurations and their hierarchy."""

from __future__ import annotations

import contextlib
import datetime as dt
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

import aegis_opt as ao
from aegis_opt.domain import Domain

PEOPLE = pd.DataFrame(
    {
        "age": [10, 17, 43, 55, 20, 17, 61, 10],
        "born": [
            dt.date(2010, 1, 1),
            None,
            dt.date(1977, 5, 6),
            None,
            dt.date(2000, 2, 29),
            None,
            None,
            None,
        ],
        "size": [1.5, None, 3.0, 0.0, 2.0, 2.0, 99.5, -4.25],
        "name": ["ü", "x", None, "日本", "x", "", "y", "a'b"],
        "health": ["good", None, "good", "poor", "poor", "good", "good", "poor"],
    }
)
_DAYS = ["1977-05-06", "2000-02-29", "2010-01-01"]
_NAMES = ["", "a'b", "x", "y", "ü", "日本", None]
SPECS: dict[str, dict[str, dict[str, Any]]] = {
    "ranges": {
        "age": {"function": "generalize", "ranges": 3},
        "born": {"function": "truncate", "unit": "quarter"},
        "size": {"function": "bucketize", "width": 0.5, "origin": 0.25},
        "name": {"function": "prefix", "length": 1},
    },
    "edges": {
        "age": {"function": "bucketize", "edges": [18, 40.5]},
        "born": {"function": "bucketize", "width": {"days": 400}, "origin": "1999-01-01"},
        "size": {"function": "blur", "width": 2},
        "name": {"function": "generalize", "mapping": {"a": ["ü", "x", None], "b": ["日本", "", "y", "a'b"]}},
    },
    "coarse": {
        "age": {"function": "erase_digits", "digits": 1},
        "born": {"function": "top_code", "top": "2005-06-07"},
        "size": {"function": "top_code", "top": 2, "bottom": 0.5},
        "name": {"function": "suppress"},
    },
    "levels": {"age": {"function": "generalize", "hierarchy": "age.csv", "level": 1}},
}
NOISE_SPECS: dict[str, dict[str, dict[str, Any]]] = {
    "scales": {
        "age": {"function": "add_noise", "distribution": "geometric", "scale": 4.5, "low": 0, "high": 99},
        "born": {"function": "randomized_response", "p": 0.9, "domain": [*_DAYS, None], "seed": 1},
        "name": {"function": "randomized_response", "epsilon": 2, "domain": _NAMES},
    },
    "epsilons": {
        "age": {
            "function": "add_noise",
            "distribution": "discrete_gaussian",
            "epsilon": 2.5,
            "low": 10,
            "high": 61,
        },
        "born": {"function": "suppress"},
        "name": {"function": "suppress"},
    },
    "matrix": {
        "age": {
            "function": "add_noise",
            "distribution": "discrete_gaussian",
            "scale": 2,
            "low": 9,
            "high": 61,
        },
        "born": {
            "function": "pram",
            "matrix": [[0.75, 0.125, 0, 0], [0.25, 0.5, 0.5, 0], [0, 0.375, 0.5, 0], [0, 0, 0, 1]],
            "values": [*_DAYS, None],
            "masked": ["early", "late", "new", "none"],
        },
        "name": {"function": "prefix", "length": 1},
    },
}
"""Masks that add noise, which not all calls take."""
HIERARCHY = "10,young,*\n17,young,*\n20,young,*\n43,old,*\n55,old,*\n61,old,*\n"
MASKED_DOMAINS = {
    "age": Domain.of(PEOPLE["age"]),
    "born": Domain.of(PEOPLE["born"]),
    "size": Domain.of(PEOPLE["size"]),
    "name": Domain.of(PEOPLE["name"]),
}


@contextlib.contextmanager
def only_library_errors() -> Iterator[None]:
    """Let pass what the library refuses, and nothing else; a warning of NumPy counts as an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        with contextlib.suppress(ao.AegisError):
            yield


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """Yield a new folder with the hierarchy that the configurations name."""
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "age.csv").write_text(HIERARCHY)
        yield Path(name)

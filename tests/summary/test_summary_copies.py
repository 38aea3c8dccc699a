"""Summaries and configurations can be copied and sent to other processes."""

import copy
import pickle

import pandas as pd
import pytest

from aegis_opt.masks import Bucketize, Configurations, Generalize, Suppress
from aegis_opt.summary import summarize

MASKS = Configurations(
    {
        "coarse": {"age": Bucketize(width=10)},
        "named": {"age": Generalize({"all": [1, 20]}), "zip": Suppress()},
    },
    label="y",
)
PEOPLE = pd.DataFrame({"age": [1, 20, 20], "zip": ["a", "b", "b"], "y": [0, 1, 0]})


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
@pytest.mark.parametrize(
    "original",
    [MASKS, MASKS["named"], summarize(PEOPLE, configurations=MASKS)],
    ids=lambda x: type(x).__name__,
)
def test_copies_are_equal(original, copied):
    assert copied(original) == original

"""The judge's view of a data set: results of other data are not taken for these."""

from __future__ import annotations

import pandas as pd

from aegis_opt.harness._truth import Case, prepare
from aegis_opt.masks import Bucketize, Configurations, Suppress


def test_the_fingerprint_changes_with_values_counts_masks_and_label() -> None:
    frame = pd.DataFrame({"x": [0, 1, 2, 3, 4, 5], "y": [0, 1, 0, 1, 0, 1]})
    masks = Configurations({"a": {"x": Bucketize(width=2)}, "b": {"x": Suppress()}})
    cases = [
        Case("d", frame, "y", masks),
        Case("d", frame.assign(x=frame["x"] + 1), "y", masks),  # the same counts of other values
        Case("d", frame.assign(y=[1, 1, 0, 1, 0, 1]), "y", masks),
        Case("d", frame, "y", Configurations({"a": {"x": Bucketize(width=3)}, "b": {"x": Suppress()}})),
        Case("d", frame.rename(columns={"y": "z"}), "z", masks),
    ]
    found = [prepare(case).fingerprint for case in cases]
    assert len(set(found)) == len(cases)
    assert prepare(cases[0]).fingerprint == found[0]

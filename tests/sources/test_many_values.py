"""Columns of many values: exact by default, else on a round grid or by their most frequent values."""

from __future__ import annotations

import datetime as dt
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aegis_opt.advisor import advise
from aegis_opt.errors import InvalidOption, SourceError, SummaryError
from aegis_opt.masks import Bucketize, Prefix, Suppress, Truncate
from aegis_opt.sources import scan
from aegis_opt.summary import Summary, summarize


def many(values, **options):
    frame = pl.DataFrame({"x": values, "y": [i % 2 for i in range(len(values))]}, strict=False)
    return scan(frame, "y", **options).attributes["x"]


def test_every_value_counts_by_default():
    counts = many(range(5000))
    assert (len(counts.domain), counts.coarsening) == (5000, None)


@pytest.mark.parametrize(
    ("values", "rule", "first"),
    [
        (list(range(-500, 500)), "multiples of 20", [-500, -480]),
        ([i / 100 for i in range(1000)], "multiples of 0.2", [0.0, 0.2]),
        ([i * 1e6 for i in range(1000)], "multiples of 20,000,000", [0.0, 2e7]),
        ([2**60 + i for i in range(1000)], "multiples of 20", [2**60 - 2**60 % 20, 2**60 - 2**60 % 20 + 20]),
        (
            [f"{i % 400:03d}" for i in range(900)],
            "its 58 most frequent values, all others as '(other)'",
            ["(other)", "000"],
        ),
        (
            [dt.datetime(2020, 1, 1) + dt.timedelta(seconds=7 * i) for i in range(400)],
            "whole minutes",
            [dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, 0, 1)],
        ),
        (
            [dt.datetime(1969, 12, 1, 5) + dt.timedelta(days=i) for i in range(400)],
            "whole months",
            [dt.datetime(1969, 12, 1), dt.datetime(1970, 1, 1)],
        ),
        (
            [dt.date(1960, 5, 5) + dt.timedelta(days=40 * i) for i in range(400)],
            "whole years",
            [dt.date(1960, 1, 1), dt.date(1961, 1, 1)],
        ),
        (
            [dt.date(1860, 5, 5) + dt.timedelta(days=140 * i) for i in range(400)],
            "whole decades",
            [dt.date(1860, 1, 1), dt.date(1870, 1, 1)],
        ),
    ],
    ids=[
        "integers",
        "hundredths",
        "large reals",
        "beyond 2**53",
        "texts",
        "seconds",
        "hours",
        "days",
        "long",
    ],
)
def test_the_finest_round_grid_that_fits(values, rule, first):
    counts = many(values, max_values=60)
    assert counts.coarsening is not None
    assert (counts.coarsening.distinct, counts.coarsening.rule) == (len(set(values)), rule)
    assert counts.domain.to_list()[:2] == first
    assert len(counts.domain) <= 60
    assert counts.table.sum() == len(values)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.floats(width=32) | st.floats(-1e-3, 1e-3) | st.none(), min_size=30, max_size=60, unique=True),
    st.integers(10, 25),
)
def test_a_coarsened_column_has_no_more_values_and_each_is_at_most_one_step_below(values, limit):
    counts = many(values, max_values=limit)
    assert len(counts.domain) <= limit
    present = counts.domain.values
    assert counts.table.sum() == len(values)
    finite = np.array([v for v in values if v is not None and math.isfinite(v)])
    grid = present[np.isfinite(present)]
    below = grid[np.searchsorted(grid, finite * (1 + 1e-12 * np.sign(finite)), side="right") - 1]
    assert (below <= finite + 1e-12 * np.abs(finite)).all()
    assert counts.domain.missing == any(v is None or math.isnan(v) for v in values)


def test_masks_on_the_grid_give_the_exact_tables():
    rng = np.random.default_rng(0)
    people = pd.DataFrame(
        {
            "income": rng.integers(0, 100_000, 4000),
            "height": rng.integers(0, 100_000, 4000) / 1000,
            "born": pd.Timestamp("1950-01-01") + pd.to_timedelta(rng.integers(0, 20_000, 4000), unit="D"),
            "y": rng.integers(0, 2, 4000),
        }
    )
    masks = {"income": Bucketize(width=10_000), "height": Bucketize(width=5), "born": Truncate("year")}
    exact = summarize(people, "y", {"c": masks})
    with pytest.warns(UserWarning, match="was read as "):
        coarse = summarize(people, "y", {"c": masks}, max_values=700)
    for name in masks:
        assert coarse.attributes[name].n_values <= 700 < exact.attributes[name].n_values
        np.testing.assert_array_equal(
            coarse.masked_table("c", name).joint, exact.masked_table("c", name).joint
        )


def test_the_most_frequent_texts_stay_and_ties_go_to_the_first():
    values = [f"rare{i:04d}" for i in range(100)] + ["common"] * 50 + [None] * 3
    counts = many(values, max_values=12)
    assert counts.domain.to_list() == ["(other)", "common", *(f"rare{i:04d}" for i in range(9)), None]
    assert counts.table.sum(axis=1).tolist() == [91, 50, *[1] * 9, 3]


def test_infinities_and_missing_values_stay_what_they_are():
    counts = many([*(i / 7 for i in range(100)), math.inf, -math.inf, math.nan, None], max_values=20)
    assert counts.domain.to_list()[0] == -math.inf
    assert counts.domain.to_list()[-2:] == [math.inf, None]
    assert counts.table.sum(axis=1)[[0, -2, -1]].tolist() == [1, 1, 2]
    assert counts.coarsening.distinct == 103


def test_the_ends_of_what_numbers_and_dates_can_hold():
    high = many([2**63 - 1 - i for i in range(100)], max_values=20)
    assert (high.coarsening.rule, high.domain.to_list()[-1]) == ("multiples of 10", 2**63 - 8)
    with pytest.raises(
        SourceError, match=r"'x' reaches down to -9223372036854775808, which cannot be rounded"
    ):
        many([-(2**63) + i for i in range(100)], max_values=20)
    assert many([i * 5e-324 for i in range(100)], max_values=20).domain.to_list() == [0.0]
    assert (
        many([-1e308, 1e308, *map(float, range(98))], max_values=20).coarsening.rule == "multiples of 2e+307"
    )
    days = [dt.date(1, 1, 1), dt.date(9999, 12, 31), *(dt.date(2020, 1, 1 + i) for i in range(30)), None] * 4
    counts = many([*days, *(dt.date(1900 + i, 5, 5) for i in range(99))], max_values=101)
    assert counts.coarsening.rule == "whole centuries"
    centuries = [1, 1900, 2000, 9900]
    assert counts.domain.to_list() == [*(dt.date(year, 1, 1) for year in centuries), None]


def test_a_column_at_the_limit_is_exact():
    assert many([*range(59), None] * 3, max_values=60).coarsening is None
    assert many([*range(60), None] * 3, max_values=60).coarsening is not None


def test_refusing_instead():
    for n, values in ((65, "65"), (5000, r"about \d,\d{3}")):  # told by counting, and by the estimate
        with pytest.raises(SourceError, match=f"'x' has {values} values, more than max_values=60.*'coarsen'"):
            many(range(n), max_values=60, on_many_values="error")
    assert many(range(60), max_values=60, on_many_values="error").coarsening is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_values": 5}, "max_values must be a whole number from 10 up, not 5"),
        ({"max_values": True}, "max_values must be a whole number"),
        ({"max_values": 50, "on_many_values": "bin"}, "must be 'coarsen' or 'error', not 'bin'"),
        ({"on_many_values": "error"}, "give max_values too"),
        ({"memory": "lots"}, "memory must be a size such as '500MB'"),
        ({"memory": 5}, "memory must be a size such as '500MB'"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(InvalidOption, match=message):
        many(range(5), **options)


def test_the_report_says_what_was_done_and_the_file_keeps_it(tmp_path):
    people = pd.DataFrame(
        {"id": [f"p{i}" for i in range(500)], "age": np.arange(500) % 40, "y": np.arange(500) % 2}
    )
    with pytest.warns(UserWarning, match="'id' was read as .* not to its raw values") as caught:
        summary = summarize(people, "y", {"c": {"id": Prefix(1), "age": Suppress()}}, max_values=100)
    assert len(caught) == 1
    assert [w for w in advise(summary).warnings if w.startswith("coarsened: 'id' was read as ")]
    report = summary.report().set_index("attribute")
    assert report["distinct"].to_dict() == {"id": 500, "age": 40}
    assert report["values"].to_dict() == {"id": 99, "age": 40}
    assert "98 most frequent values" in report["warning"]["id"]
    assert "bounds refer to the attribute so coarsened" in report["warning"]["id"]
    assert report["warning"]["age"] == ""
    summary.save(tmp_path / "s.json")
    assert Summary.load(tmp_path / "s.json") == summary
    text = (tmp_path / "s.json").read_text()
    (tmp_path / "bad.json").write_text(text.replace('"distinct":500', '"distinct":"many"'))
    with pytest.raises(SummaryError, match=r"'distinct' in .* attribute 'id' has the wrong type str"):
        Summary.load(tmp_path / "bad.json")

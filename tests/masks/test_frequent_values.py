"""`KeepTop` and `PoolRare`: which values are kept, on every path, and what files and summaries say."""

from collections import Counter

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import aegis_opt as ao
from aegis_opt.domain import Domain
from aegis_opt.errors import InvalidInput, MaskError, UnknownColumn
from aegis_opt.masks import KeepTop, PoolRare, mask_from_spec

TOWNS = ["Rome"] * 4 + ["Bern"] * 3 + ["Oslo"] * 3 + ["Lima", "Riga", None]
PEOPLE = pd.DataFrame({"town": TOWNS, "y": [0, 1] * 6 + [1]})
TOP2 = ["Rome"] * 4 + ["Bern"] * 3 + ["other"] * 5 + [None]


def plain(column):
    return [None if value is None or value != value else value for value in list(column)]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=40), st.integers(1, 7), st.booleans())
def test_masks_are_what_counting_by_hand_gives(values, number, top):
    domain = Domain.of(values)
    counts = Counter(values)
    mask = (KeepTop if top else PoolRare)(number)
    fitted = mask.fitted(domain, [counts[value] for value in domain.to_list()])
    if top:
        kept = sorted(counts, key=lambda value: (-counts[value], value))[:number]
    else:
        kept = [value for value in counts if counts[value] >= number]
    assert isinstance(fitted, KeepTop | PoolRare)
    assert sorted(fitted.listed()) == sorted(kept)
    grouping = fitted.group(domain)
    masked = [grouping.labels[group] for group in grouping.groups]
    assert masked == [value if value in kept else "other" for value in domain.to_list()]


@pytest.mark.parametrize("source", ["pandas", "polars", "arrow", "relation", "csv", "parquet"])
def test_every_source_is_counted_and_masked_alike(source, tmp_path):
    table = {
        "pandas": lambda: PEOPLE,
        "polars": lambda: pl.from_pandas(PEOPLE),
        "arrow": lambda: pl.from_pandas(PEOPLE).to_arrow(),
        "relation": lambda: duckdb.connect().from_df(PEOPLE),
        "csv": lambda: PEOPLE.to_csv(tmp_path / "t.csv", index=False) or tmp_path / "t.csv",
        "parquet": lambda: PEOPLE.to_parquet(tmp_path / "t.parquet") or tmp_path / "t.parquet",
    }[source]()
    masked = ao.apply_configuration(table, {"town": KeepTop(2)})
    frame = masked if isinstance(masked, pd.DataFrame) else masked.df() if source == "relation" else masked
    column = frame["town"].to_pylist() if source == "arrow" else frame["town"]
    assert plain(column) == TOP2
    assert ao.fit_configuration(table, {"town": KeepTop(2)})["town"] == KeepTop(2, values=["Bern", "Rome"])
    summary = ao.summarize(table, "y", {"c": {"town": KeepTop(2)}})
    assert summary.masked_table("c", "town").labels == ("Bern", "other", "Rome", None)


def test_numbers_and_dates_are_kept_as_text_beside_other():
    frame = pd.DataFrame({"n": [1, 1, 2, 3], "x": [0.5, 0.5, 1.0, 7.0], "b": [True, True, True, False]})
    frame["d"] = pd.to_datetime(["2020-01-01", "2020-01-01", "2021-01-01", "2022-01-01"])
    masked = ao.apply_configuration(frame, dict.fromkeys(frame.columns, KeepTop(1)))
    assert masked["n"].tolist() == ["1", "1", "other", "other"]
    assert masked["x"].tolist() == ["0.5", "0.5", "other", "other"]
    assert masked["b"].tolist() == ["true", "true", "true", "other"]
    assert masked["d"].tolist() == ["2020-01-01", "2020-01-01", "other", "other"]


def test_the_transformer_keeps_what_the_training_data_have():
    masking = ao.MaskingTransformer({"town": KeepTop(1)}).fit(PEOPLE)
    later = PEOPLE.assign(town=["Oslo"] * 12 + ["Rome"])
    assert masking.transform(later)["town"].tolist() == ["other"] * 12 + ["Rome"]
    assert masking.masks_ == {"town": KeepTop(1, values=["Rome"])}


def test_sql_needs_the_kept_values():
    unfitted = ao.Configuration({"town": PoolRare(3)})
    with pytest.raises(MaskError, match=r"attribute 'town': .* fit_configuration"):
        unfitted.to_sql("duckdb", "PEOPLE")
    sql = ao.fit_configuration(PEOPLE, unfitted).to_sql("duckdb", "PEOPLE")
    expected = ["other" if town in ("Lima", "Riga") else town for town in TOWNS]
    assert [row[0] for row in duckdb.sql(sql).fetchall()] == expected


def test_a_value_that_reads_other_counts_to_the_others():
    domain = Domain.of(["a", "b", "other"])
    grouping = KeepTop(2).fitted(domain, [1, 2, 3]).group(domain)
    assert grouping.labels == ("other", "b")


def test_a_shared_summary_names_kept_values_only_where_its_tables_do(tmp_path):
    tables = ao.summarize(PEOPLE, "y", {"c": {"town": PoolRare(3)}})
    spec = {"function": "pool_rare", "min_count": 3, "values": ["Bern", "Oslo", "Rome"]}
    assert tables.spec("c", "town") == spec
    scores = ao.summarize(PEOPLE, "y", {"c": {"town": PoolRare(3)}}, share="scores")
    scores.save(tmp_path / "scores.json")
    assert scores.spec("c", "town") == {"function": "pool_rare", "min_count": 3}
    text = (tmp_path / "scores.json").read_text()
    assert not any(town in text for town in ("Rome", "Bern", "Oslo", "Lima"))


def test_a_coarsened_column_keeps_no_value_that_stands_for_many():
    towns = [f"t{i}" for i in range(40)] + ["Rome"] * 5 + ["Bern"] * 4
    frame = pd.DataFrame({"town": towns, "y": np.arange(len(towns)) % 2})
    with pytest.warns(UserWarning, match="most frequent"):
        summary = ao.summarize(frame, "y", {"c": {"town": KeepTop(2)}}, max_values=12)
    table = summary.masked_table("c", "town")
    assert set(table.labels) == {"Rome", "Bern", "other"}
    assert table.spec == {"function": "keep_top", "n": 2}


def test_files_hold_the_rule_or_the_values(tmp_path):
    for mask in (KeepTop(3), KeepTop(3, values=["b", "a"]), PoolRare(5), PoolRare(5, values=[])):
        assert mask_from_spec(mask.to_spec()) == mask
        path = tmp_path / "masks.yaml"
        ao.save_configurations(ao.Configurations({"c": {"x": mask}}), path)
        assert ao.load_configurations(path)["c"]["x"] == mask
    assert KeepTop(2, values=["b", "a"]) == KeepTop(2, values=("a", "b"))


def test_fitting_keeps_labels_orders_and_other_masks():
    given_ = ao.Configurations(
        {"c": {"town": KeepTop(1)}, "d": {"town": ao.Suppress()}}, label="y", order={"town": "nominal"}
    )
    fitted = ao.fit_configuration(PEOPLE, given_)
    assert (fitted.label, dict(fitted.order)) == ("y", {"town": "nominal"})
    assert fitted["c"]["town"] == KeepTop(1, values=["Rome"])
    assert fitted["d"]["town"] == ao.Suppress()
    assert ao.fit_configuration(PEOPLE, fitted) == fitted


def test_long_lists_are_shown_in_short():
    assert repr(KeepTop(9, values=range(9))) == "KeepTop(n=9, values=(0, 1, 2, ... 9 in all))"


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: KeepTop(0), MaskError, "the n of KeepTop must be"),
        (lambda: PoolRare(1.5), MaskError, "the min_count of PoolRare must be"),
        (lambda: KeepTop(1, values=["a", "b"]), MaskError, "lists 2 values: raise n"),
        (lambda: KeepTop(3, values=["a", "a"]), MaskError, "lists 'a' more than once"),
        (lambda: KeepTop(3, values="abc"), MaskError, "must be a list"),
        (lambda: PoolRare(3, values=[None]), MaskError, "missing value"),
        (lambda: KeepTop(3).group(Domain.of(["a"])), MaskError, "fit it to the data"),
        (lambda: KeepTop(3).fitted(Domain.of(["a"]), [1, 2]), InvalidInput, "one \\(or one row\\) for each"),
        (lambda: KeepTop(3).fitted(Domain.of(["a"]), [-1]), InvalidInput, "from 0 up"),
        (lambda: ao.fit_configuration(PEOPLE, {"twon": KeepTop(3)}), UnknownColumn, "did you mean 'town'"),
        (lambda: ao.apply_configuration(PEOPLE, {"twon": KeepTop(3)}), UnknownColumn, "did you mean 'town'"),
    ],
)
def test_bad_input_is_refused_with_the_way_out(call, error, text):
    with pytest.raises(error, match=text):
        call()

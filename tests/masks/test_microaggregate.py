"""`Microaggregate`: the groups are optimal and large enough, and every path releases the same values."""

import datetime as dt
import itertools
import statistics

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import aegis_opt as ao
from aegis_opt.domain import Domain
from aegis_opt.errors import MaskError
from aegis_opt.masks import Microaggregate, _least_squares, all_configurations, mask_from_spec
from aegis_opt.masks._least_squares import least_squares_groups

AGES = [20, 21, 40, 40, 41, 90, None, 95, 20]
PEOPLE = pd.DataFrame({"age": pd.array(AGES, dtype="Int64"), "y": [0, 1] * 4 + [1]})
MASKED = [61 / 3, 61 / 3, 121 / 3, 121 / 3, 121 / 3, 92.5, None, 92.5, 61 / 3]


def plain(column):
    return [None if value is None or value is pd.NA or value != value else value for value in list(column)]


def sum_of_squares(records):
    mean = statistics.fmean(records)
    return sum((value - mean) ** 2 for value in records)


def least_by_enumeration(values, counts, k):
    """Try every way to cut the values."""
    found = float("inf")
    for cuts in itertools.product([False, True], repeat=len(values) - 1):
        groups = [[values[0]] * counts[0]]
        for cut, value, count in zip(cuts, values[1:], counts[1:], strict=True):
            if cut:
                groups.append([])
            groups[-1] += [value] * count
        if min(map(len, groups)) >= k:
            found = min(found, sum(map(sum_of_squares, groups)))
    return found


def records_of(values, counts, starts):
    """List the records of each group."""
    ends = [*starts[1:], len(values)]
    return [np.repeat(values[a:b], counts[a:b]).tolist() for a, b in zip(starts, ends, strict=True)]


@pytest.mark.parametrize("by_blocks", [False, True])
def test_groups_are_optimal_among_all_partitions(by_blocks, monkeypatch):
    if by_blocks:  # as for wide groups, with every round of the bisection
        monkeypatch.setattr(_least_squares, "_WIDE", 1)
        monkeypatch.setattr(_least_squares, "_AT_ONCE", 3)
    monkeypatch.setattr(_least_squares, "_CHUNK", 4)
    random = np.random.default_rng(3)
    for _ in range(120):
        n = int(random.integers(1, 9))
        values = np.sort(random.choice(40, n, replace=False)).astype(float)
        counts = random.integers(1, int(random.integers(2, 6)), n)
        k = int(random.integers(1, counts.sum() + 1))
        groups = records_of(values, counts, least_squares_groups(values, counts, k).tolist())
        assert min(map(len, groups)) >= k
        assert max(map(len, groups)) <= 2 * k - 2 + counts.max()
        found = sum(map(sum_of_squares, groups))
        assert found == pytest.approx(least_by_enumeration(values.tolist(), counts.tolist(), k), abs=1e-9)


def test_both_ways_to_find_wide_groups_agree(monkeypatch):
    random = np.random.default_rng(4)
    values = np.sort(random.lognormal(size=3000))
    counts = random.integers(1, 4, 3000)
    for k in (7, 90, 800):
        monkeypatch.setattr(_least_squares, "_WIDE", 24)
        blocks = least_squares_groups(values, counts, k)
        monkeypatch.setattr(_least_squares, "_WIDE", 10**6)
        one_by_one = least_squares_groups(values, counts, k)
        costs = [
            sum(map(sum_of_squares, records_of(values, counts, s.tolist()))) for s in (blocks, one_by_one)
        ]
        assert costs[0] == pytest.approx(costs[1], rel=1e-9)


KINDS = {
    "integer": st.integers(-(2**63), 2**63 - 1) | st.integers(-20, 20),
    "real": st.floats(allow_nan=False, allow_infinity=False) | st.integers(-20, 20).map(lambda i: i / 8),
    "date": st.dates(),
    "datetime": st.datetimes(),
}


@settings(max_examples=150, deadline=None)
@given(st.data(), st.sampled_from(sorted(KINDS)), st.sampled_from(["mean", "median"]))
def test_masked_values_are_the_centres_of_groups_of_k_records(data, kind, by):
    domain = Domain.of([*data.draw(st.lists(KINDS[kind], min_size=1, max_size=25)), None])
    counts = data.draw(st.lists(st.integers(1, 4), min_size=len(domain), max_size=len(domain)))
    records = sum(counts[:-1])
    k = data.draw(st.integers(1, records))
    mask = Microaggregate(k, by).fitted(domain, counts)
    assert not mask.needs_counts
    assert mask.fitted(domain, counts) is mask
    assert mask_from_spec(mask.to_spec()) == mask
    grouping = mask.group(domain)
    assert grouping.labels[-1] is None
    assert grouping.groups.tolist() == sorted(grouping.groups)  # contiguous, and the missing value apart
    values = domain.values.tolist()
    for group, label in enumerate(grouping.labels[:-1]):
        members = [value for value, own in zip(values, grouping.groups, strict=False) if own == group]
        own = np.bincount(grouping.groups, weights=counts)[group]
        assert own >= k
        centre = dt.datetime.fromisoformat(label) if isinstance(label, str) else label
        if kind == "date":
            assert members[0] <= centre.date() <= members[-1]
        else:
            assert members[0] <= centre <= members[-1]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-50, 50), min_size=3, max_size=30), st.integers(1, 3))
def test_centres_are_means_and_medians_of_the_records(values, k):
    domain = Domain.of(values)
    counts = [values.count(value) for value in domain.to_list()]
    for by, centre_of in (("mean", statistics.mean), ("median", statistics.median)):
        grouping = Microaggregate(k, by).fitted(domain, counts).group(domain)
        group_of = dict(zip(domain.to_list(), grouping.groups.tolist(), strict=True))
        for group, label in enumerate(grouping.labels):
            assert label == centre_of([value for value in values if group_of[value] == group])


def test_dates_become_whole_dates():
    days = Domain.of([dt.date(2020, 1, 1), dt.date(2020, 1, 2), dt.date(2021, 3, 1), dt.date(2021, 3, 4)])
    mask = Microaggregate(2).fitted(days, [1, 1, 1, 1])
    assert mask.group(days).labels == ("2020-01-02", "2021-03-03")  # halves upwards
    assert mask.to_spec() == {
        "function": "microaggregate",
        "k": 2,
        "edges": ["2020-08-01"],
        "centres": ["2020-01-02", "2021-03-03"],
    }


def test_values_that_do_not_occur_do_not_count():
    mask = Microaggregate(2).fitted(Domain.of([1, 2, 3, 50, 90, 91]), [1, 1, 0, 0, 1, 1])
    assert mask == Microaggregate(2, edges=[46], centres=[1.5, 90.5])


@pytest.mark.parametrize("source", ["pandas", "polars", "arrow", "relation", "csv", "parquet"])
def test_every_source_is_fitted_and_masked_alike(source, tmp_path):
    table = {
        "pandas": lambda: PEOPLE,
        "polars": lambda: pl.from_pandas(PEOPLE),
        "arrow": lambda: pl.from_pandas(PEOPLE).to_arrow(),
        "relation": lambda: duckdb.connect().from_df(PEOPLE),
        "csv": lambda: PEOPLE.to_csv(tmp_path / "t.csv", index=False) or tmp_path / "t.csv",
        "parquet": lambda: PEOPLE.to_parquet(tmp_path / "t.parquet") or tmp_path / "t.parquet",
    }[source]()
    masked = ao.apply_configuration(table, {"age": Microaggregate(2)})
    frame = masked.df() if source == "relation" else masked
    column = frame["age"].to_pylist() if source == "arrow" else frame["age"]
    assert plain(column) == MASKED
    fitted = ao.fit_configuration(table, {"age": Microaggregate(2)})
    assert fitted["age"] == Microaggregate(2, edges=[31, 66], centres=[61 / 3, 121 / 3, 92.5])
    summary = ao.summarize(table, "y", {"c": {"age": Microaggregate(2)}})
    assert summary.masked_table("c", "age").labels == (61 / 3, 121 / 3, 92.5, None)
    assert summary.spec("c", "age") == fitted["age"].to_spec()


def test_sql_transformer_and_groups_agree(tmp_path):
    random = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "n": random.integers(0, 900, 400),
            "x": np.round(random.normal(size=400), 3),
            "d": pd.Timestamp("2020-01-01") + pd.to_timedelta(random.integers(0, 10**7, 400), unit="s"),
        }
    )
    masks = {"n": Microaggregate(7, "median"), "x": Microaggregate(5), "d": Microaggregate(30)}
    with pytest.raises(MaskError, match=r"attribute 'n': .* fit_configuration"):
        ao.Configuration(masks).to_sql("duckdb", "frame")
    fitted = ao.fit_configuration(frame, masks)
    by_engine = duckdb.sql(fitted.to_sql("duckdb", "frame")).df()
    applied = ao.apply_configuration(frame, masks)
    transformed = ao.MaskingTransformer(masks).fit(frame).transform(frame)
    for name, mask in fitted.items():
        domain = Domain.of(frame[name])
        grouping = mask.group(domain)
        label_of = dict(
            zip(domain.to_list(), [grouping.labels[g] for g in grouping.groups.tolist()], strict=True)
        )
        expected = [label_of[value.to_pydatetime() if name == "d" else value] for value in frame[name]]
        for masked in (by_engine, applied, transformed):
            assert masked[name].tolist() == expected


def test_more_groups_than_cases_are_looked_up():
    frame = pd.DataFrame({"x": np.arange(12_000) * 1.5})
    masked = ao.apply_configuration(frame, {"x": Microaggregate(2)})["x"]
    assert masked.value_counts().min() == 2
    assert (masked - frame["x"]).abs().max() <= 1.5
    fitted = ao.fit_configuration(frame, {"x": Microaggregate(2)})
    pd.testing.assert_series_equal(ao.apply_configuration(frame, fitted)["x"], masked)
    assert ao.MaskingTransformer(fitted).fit(frame).transform(frame)["x"].tolist() == masked.tolist()


def test_the_transformer_keeps_the_groups_of_the_training_data():
    masking = ao.MaskingTransformer({"age": Microaggregate(2)}).fit(PEOPLE)
    later = PEOPLE.assign(age=pd.array([-5, 30, 31, 65, 66, 500, None, 40, 90], dtype="Int64"))
    first, second, third = 61 / 3, 121 / 3, 92.5
    expected = [first, first, second, second, third, third, None, second, third]
    assert plain(masking.transform(later)["age"]) == expected


def test_files_hold_the_rule_or_the_groups(tmp_path):
    moments = Microaggregate(3, "median", edges=["2020-01-01"], centres=["2019-05-06T07:08:09", "2021-01-01"])
    for mask in (Microaggregate(5), Microaggregate(1, edges=[], centres=[2.5]), moments):
        for name in ("masks.json", "masks.yaml"):
            ao.save_configurations(ao.Configurations({"c": {"x": mask}}), tmp_path / name)
            assert ao.load_configurations(tmp_path / name)["c"]["x"] == mask
    assert mask_from_spec({"function": "microaggregate", "k": 5}) == Microaggregate(5)
    assert repr(Microaggregate(1, edges=range(1, 9), centres=range(9))) == (
        "Microaggregate(k=1, edges=(1, 2, 3, ... 8 in all), centres=(0, 1, 2, ... 9 in all))"
    )


@pytest.mark.parametrize("seed", range(12))
def test_certified_advice_has_the_true_order(seed):
    random = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": random.integers(0, 40, 300), "b": np.round(random.exponential(3, 300), 1)})
    frame["y"] = (frame["a"] + 4 * frame["b"] + random.normal(0, 12, 300) > 30).astype(int)
    sizes = {"fine": (3, 5), "even": (20, 20), "coarse": (90, 60), "mixed": (4, 120)}
    masks = {name: {"a": Microaggregate(k), "b": Microaggregate(m)} for name, (k, m) in sizes.items()}
    advice = ao.advise(ao.summarize(frame, "y", masks), measure="mi")
    assert advice.certified
    lost = {}
    for name, configuration in masks.items():
        masked = ao.apply_configuration(frame, configuration)
        tables = [[pd.crosstab(t[c], t["y"]).to_numpy() for c in "ab"] for t in (frame, masked)]
        before, after = (np.mean([ao.mutual_information(table) for table in own]) for own in tables)
        lost[name] = before - after
    assert advice.ranking["configuration"].tolist() == sorted(lost, key=lost.__getitem__)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: Microaggregate(0), "the k of Microaggregate must be"),
        (lambda: Microaggregate(2.5), "the k of Microaggregate must be"),
        (lambda: Microaggregate(2, "mode"), "replace_by of Microaggregate"),
        (lambda: Microaggregate(2, edges=[1]), "both edges and centres"),
        (lambda: Microaggregate(2, edges=[1], centres=[1]), "one centre more"),
        (lambda: Microaggregate(2, edges=[5], centres=[6, 7]), "must lie above the centre 6"),
        (lambda: Microaggregate(2, edges=[5, 4], centres=[1, 5, 6]), "must lie above the centre 5"),
        (lambda: Microaggregate(2, edges=["2020-01-01"], centres=[1, 2]), "all numbers or all dates"),
        (lambda: Microaggregate(2, edges="15", centres=[1, 2]), "must be a list"),
        (lambda: Microaggregate(2, edges=[float("nan")], centres=[1, 2]), "one of the edges"),
        (lambda: Microaggregate(2).group(Domain.of([1])), "fit it to the data"),
        (
            lambda: Microaggregate(2, edges=[], centres=[1]).group(Domain.of([dt.date(2020, 1, 1)])),
            "give dates",
        ),
        (lambda: Microaggregate(1).fitted(Domain.of([1.0, float("inf")]), [1, 1]), "infinite values"),
        (
            lambda: ao.apply_configuration(PEOPLE, {"age": Microaggregate(9)}),
            r"attribute 'age': Microaggregate\(k=9\) .* only 8 have a value .* a k of at most 8",
        ),
        (
            lambda: ao.summarize(PEOPLE, "y", {"c": {"age": Microaggregate(9)}}),
            "configuration 'c', attribute 'age': .* a k of at most 8",
        ),
        (
            lambda: ao.apply_configuration(pd.DataFrame({"t": ["a", "b"]}), {"t": Microaggregate(1)}),
            r"attribute 't': Microaggregate\(k=1\) does not fit values of kind string.* use PoolRare",
        ),
        (
            lambda: all_configurations(
                {"t": Domain.of(["a"]), "y": Domain.of([0])}, "y", {"t": [Microaggregate(1)]}
            ),
            "attribute 't': .* does not fit values of kind string",
        ),
        (
            lambda: ao.MaskingTransformer({"age": Microaggregate(20)}).fit(PEOPLE),
            "attribute 'age': .* a k of at most 8",
        ),
        (
            lambda: ao.apply_configuration(pd.DataFrame({"t": [None, None]}), {"t": Microaggregate(1)}),
            "attribute 't': .* only 0 have a value .* leave the attribute out",
        ),
    ],
)
def test_bad_input_is_refused_with_the_way_out(call, text):
    with pytest.raises(MaskError, match=text):
        call()

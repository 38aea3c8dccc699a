"""The same job on a real cluster: the same counts, bit for bit, also when a worker is lost in the middle."""

from __future__ import annotations

import importlib
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

from aegis_opt.errors import InvalidOption, MaskError, SourceError, UnknownColumn
from aegis_opt.masks import (
    Blur,
    Bucketize,
    Generalize,
    Identity,
    KeepTop,
    Prefix,
    RandomizedResponse,
    Suppress,
    Truncate,
)
from aegis_opt.privacy import KAnonymity, TCloseness, check_privacy, search, verify_certificate
from aegis_opt.release import apply_configuration, source_domains
from aegis_opt.scores import Race
from aegis_opt.sources import columns, scan
from aegis_opt.summary import summarize

pytestmark = pytest.mark.spark

EVERY_TYPE = """
    SELECT
        CASE WHEN i % 11 > 0 THEN (hash(i) % 100)::TINYINT END AS tiny,
        (hash(i, 1) % 4000)::BIGINT - 2000 + (1::BIGINT << 60) AS whole,
        CASE i % 3 WHEN 0 THEN 18446744073709551615 % (i + 2) ELSE i END::UBIGINT AS unsigned,
        CASE i % 7 WHEN 0 THEN 'nan' WHEN 1 THEN -0.0 WHEN 2 THEN 0.0 WHEN 3 THEN '-inf'
            WHEN 4 THEN NULL ELSE (hash(i, 2) % 900)::DOUBLE / 7 - 50 END::DOUBLE AS real,
        ((hash(i, 3) % 50)::FLOAT / 10)::FLOAT AS narrow,
        ((hash(i, 4) % 3000)::DECIMAL(9, 2) / 100)::DECIMAL(9, 2) AS price,
        (1234567890123456789.0123456789 * (i % 40))::DECIMAL(38, 10) AS long,
        CASE WHEN i % 13 > 0 THEN i % 2 = 0 END AS flag,
        DATE '1890-01-01' + (hash(i, 5) % 60000)::INTEGER AS day,
        TIMESTAMP '1969-12-30' + to_microseconds((hash(i, 6) % 400)::BIGINT * 1234567890) AS stamp,
        TIMESTAMPTZ '2020-03-08 00:00:00+00' + to_minutes((hash(i, 7) % 900)::BIGINT) AS zoned,
        CASE WHEN i % 17 > 0 THEN chr((97 + hash(i, 8) % 26)::INTEGER) || 'ü日' || hash(i, 9) % 9 END AS text,
        CASE WHEN i % 19 > 0 THEN i % 4 END AS label
    FROM range(5000) AS r(i)
"""


@pytest.fixture(scope="module")
def parquet(tmp_path_factory):
    path = tmp_path_factory.mktemp("types") / "types.parquet"
    duckdb.sql(EVERY_TYPE).write_parquet(str(path))
    return str(path)


def assert_same(one, other):
    assert one.label_domain == other.label_domain
    np.testing.assert_array_equal(one.label_counts, other.label_counts)
    assert list(one.attributes) == list(other.attributes)
    for name, counts in one.attributes.items():
        assert counts.domain == other.attributes[name].domain, name
        assert counts.domain.values.dtype == other.attributes[name].domain.values.dtype
        np.testing.assert_array_equal(counts.table, other.attributes[name].table, err_msg=name)
        assert counts.coarsening == other.attributes[name].coarsening


def test_every_type_is_counted_as_duckdb_counts_it(spark, parquet):
    assert_same(scan(spark.read.parquet(parquet), "label"), scan(parquet, "label"))


def test_columns_of_many_values_are_coarsened_alike(spark, parquet):
    ours = scan(parquet, "label", max_values=60)
    assert sum(counts.coarsening is not None for counts in ours.attributes.values()) >= 8
    assert_same(scan(spark.read.parquet(parquet), "label", max_values=60), ours)


def test_the_saved_summary_is_the_same_file(spark, parquet, tmp_path):
    configurations = {
        "a": {"price": Bucketize(width=5), "zoned": Truncate("day"), "text": Suppress()},
        "b": {"price": Bucketize(width=10)},
    }
    for name, source in (("duckdb", parquet), ("spark", spark.read.parquet(parquet))):
        with pytest.warns(UserWarning, match="'price' was read as"):
            summary = summarize(source, "label", configurations, max_values=1000)
        summary.save(tmp_path / f"{name}.json")
    assert (tmp_path / "duckdb.json").read_bytes() == (tmp_path / "spark.json").read_bytes()


def test_masked_labels_on_the_cluster(spark, parquet, tmp_path):
    masks = {"price": Bucketize(width=5), "label": Generalize([["low", [0, 1]], ["high", [2, 3, None]]])}
    configurations = {"a": masks, "b": {"price": Bucketize(width=10), "label": KeepTop(2)}}
    for name, source in (("duckdb", parquet), ("spark", spark.read.parquet(parquet))):
        summary = summarize(source, "label", configurations, share="both", scores=["r2_gcv"])
        assert summary.label_values is None
        summary.save(tmp_path / f"{name}.json")
    assert (tmp_path / "duckdb.json").read_bytes() == (tmp_path / "spark.json").read_bytes()
    ours = apply_configuration(duckdb.read_parquet(parquet), masks).to_arrow_table()
    theirs = apply_configuration(spark.read.parquet(parquet), masks).toArrow()
    assert Counter(theirs.column("label").to_pylist()) == Counter(ours.column("label").to_pylist())


def test_a_million_values(spark):
    frame = spark.range(1_000_000).selectExpr("id * 1000 AS x", "id % 2 AS y")
    counts = scan(frame, "y").attributes["x"]
    np.testing.assert_array_equal(counts.domain.values, np.arange(1_000_000) * 1000)
    np.testing.assert_array_equal(counts.table, np.tile([[1, 0], [0, 1]], (500_000, 1)))


def test_bad_input_is_named(spark, parquet):
    frame = spark.sql("SELECT 1 AS x, array(1) AS items, 0 AS y UNION ALL SELECT 2, array(2), 1")
    assert columns(frame) == ("x", "items", "y")
    with pytest.raises(UnknownColumn, match=r"unknown column 'z'.*the Spark DataFrame"):
        scan(frame, "y", ["z"])
    with pytest.raises(SourceError, match=r"'items' is of type array<int>.*leave it out"):
        scan(frame, "y")
    with pytest.raises(InvalidOption, match=r"spark\.executor\.memory"):
        scan(frame, "y", memory="1GB")
    with pytest.raises(SourceError, match=r"several columns called 'x'"):
        columns(frame.selectExpr("x", "x", "y"))
    failing = frame.selectExpr("IF(x = 2, raise_error('the disk is on fire'), x) AS x", "y")
    with pytest.raises(SourceError, match=r"cannot be counted.*the disk is on fire"):
        scan(failing, "y")


def test_an_interrupted_scan_leaves_no_job_running(spark):
    slow = "aggregate(sequence(0L, 2000000L), 0L, (sum, x) -> sum + x % 3) % 5 AS slow"
    frame = spark.range(0, 4000, 1, 400).selectExpr(slow, "id % 2 AS y")
    tracker = spark.sparkContext.statusTracker()

    def stop(what, done, of):
        if done == 1:
            while not tracker.getActiveJobsIds():
                time.sleep(0.01)
            raise KeyboardInterrupt

    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        scan(frame, "y", progress=stop)
    assert time.monotonic() - start < 60  # to its end it would take minutes
    assert not tracker.getActiveJobsIds()


def test_the_sql_of_every_mask_on_spark(spark, monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "release")
    assert importlib.import_module("spark_check").check_on_spark(spark) > 100


def test_a_masked_frame_is_what_duckdb_masks(spark, parquet):
    masks = {
        "tiny": Suppress(),
        "whole": Bucketize(width=500),
        "unsigned": Identity(),
        "real": Bucketize(edges=[-10, 0, 33.3]),
        "narrow": Blur(4),
        "price": Bucketize(width=2.5),
        "long": Generalize(ranges=3),
        "flag": Generalize({"{yes}": [True], "no": [False]}),  # braces mean something to Spark
        "day": Truncate("month"),
        "stamp": Truncate("day"),
        "zoned": Generalize(ranges=3),
        "text": Prefix(2),
    }
    ours = apply_configuration(duckdb.read_parquet(parquet), masks).to_arrow_table()
    frame = spark.read.parquet(parquet)
    masked = apply_configuration(frame, masks)
    assert masked.columns == frame.columns
    theirs = masked.toArrow()
    for name in masks:
        column = theirs.column(name).to_pylist()
        assert Counter(column) == Counter(ours.column(name).to_pylist()), name
        assert len(set(column)) > 1 or name == "tiny"
    known = source_domains(parquet, masks)
    for name, domain in source_domains(frame, masks).items():
        assert (domain.kind, domain.to_list()) == (known[name].kind, known[name].to_list()), name


def test_noise_on_spark_has_the_distribution_of_the_channel(spark):
    """The same twice, also without a seed, as Spark may compute a frame twice; within 5 deviations."""
    frame = spark.sql("SELECT CASE WHEN id % 2 = 0 THEN 'a' ELSE 'b' END AS x, id AS i FROM range(20000)")
    for mask in (RandomizedResponse(p=0.7, seed=3), RandomizedResponse(p=0.7)):
        masked = apply_configuration(frame, {"x": mask})
        one, other = (sorted(masked.collect(), key=lambda row: row.i) for _ in range(2))
        assert one == other
        kept = sum(row.x == "ab"[row.i % 2] for row in one)
        assert abs(kept - 14_000) < 5 * (20_000 * 0.21) ** 0.5
    with pytest.raises(MaskError, match="what becomes of 'b'"):
        apply_configuration(frame, {"x": RandomizedResponse(p=0.7, domain=["a"])})


def test_a_column_of_many_masked_values_and_one_without_any(spark):
    frame = spark.range(50).selectExpr("id", "id % 25 AS `my x`", "CAST(NULL AS STRING) AS nothing")
    masks = {"my x": Generalize({f"v{i}": [i] for i in range(25)}), "nothing": Bucketize(width=5)}
    rows = sorted(apply_configuration(frame, masks).collect())
    assert [tuple(row) for row in rows] == [(i, f"v{i % 25}", None) for i in range(50)]


def test_masks_that_a_spark_frame_does_not_fit(spark, tmp_path):
    frame = spark.sql("SELECT 1 AS x, 'a' AS word, 2 AS y")
    with pytest.raises(UnknownColumn, match=r"'z'.*the Spark DataFrame"):
        apply_configuration(frame, {"z": Suppress()})
    with pytest.raises(MaskError, match=r"attribute 'word'"):
        apply_configuration(frame, {"word": Bucketize(width=5)})
    with pytest.raises(InvalidOption, match=r"\.write\.parquet"):
        apply_configuration(frame, {"x": Suppress()}, output=tmp_path / "x.parquet")
    with pytest.raises(SourceError, match=r"'x' and 'X'.*rename one"):
        apply_configuration(frame.selectExpr("x", "y AS X"), {"x": Suppress()})


def test_a_worker_lost_in_the_middle_changes_nothing(spark, cluster):
    n, parts = 14_400_000, 24
    frame = spark.range(0, n, 1, parts).selectExpr(
        *(f"(id * {prime} + xxhash64(id) * 0) % {prime - 1} AS a{prime}" for prime in (11, 13, 17)),
        "id % 2 AS y",
    )
    tracker = spark.sparkContext.statusTracker()
    lost = threading.Event()

    def lose_a_worker():
        while not lost.is_set():
            stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
            busy = sum(stage.numActiveTasks for stage in stages if stage)
            unfinished = any(stage and 2 <= stage.numCompletedTasks < parts // 2 for stage in stages)
            if busy >= 2 and unfinished:  # both executors work, and one has results to lose
                cluster.kill_worker()
                lost.set()
            time.sleep(0.01)

    killer = threading.Thread(target=lose_a_worker, daemon=True)
    killer.start()
    try:
        result = scan(frame, "y")
        assert lost.is_set()
        assert cluster.living_workers() == 1
    finally:
        lost.set()
        killer.join()
        cluster.start_worker()
        cluster.wait_for_workers(2)
    assert result.label_counts.tolist() == [n // 2, n // 2]
    for prime in (11, 13, 17):
        table = result.attributes[f"a{prime}"].table
        half = n // (prime - 1)  # id * prime and id are alike modulo the even prime - 1
        assert table.tolist() == [[half, 0], [0, half]] * ((prime - 1) // 2)


def test_scores_are_counted_on_the_cluster(spark, parquet):
    """Pairs of values are counted there; only the folds are other ones than here."""
    configurations = {
        "coarse": {
            "tiny": Bucketize(width=20),
            "real": Suppress(),
            "text": Prefix(1),
        },
        "fine": {
            "tiny": Bucketize(width=2),
            "real": Identity(),
            "text": Prefix(2),
        },
    }
    wanted = {"share": "scores", "scores": ["r2", "r2_gcv", "r2_cv", Race(rows=500, finalists=2)]}
    here = summarize(parquet, "label", configurations, **wanted)
    there = summarize(spark.read.parquet(parquet), "label", configurations, **wanted)
    for name in ("r2", "r2_gcv"):
        assert dict(there.scores[name].values) == pytest.approx(dict(here.scores[name].values), abs=1e-12)
    assert there.attributes == here.attributes
    again = summarize(spark.read.parquet(parquet), "label", configurations, **wanted)
    assert again == there
    for scored in (here, there):
        values = np.array([scored.scores["r2_cv"].values[name] for name in configurations])
        assert (abs(values) < 0.05).all()  # the label is independent of all attributes


@pytest.mark.parametrize("label", ["whole", "narrow"])
def test_labels_that_are_numbers_on_the_cluster(spark, parquet, label):
    configurations = {"coarse": {"tiny": Bucketize(width=20), "text": Prefix(1)}, "fine": {"tiny": Blur(5)}}
    frame = spark.read.parquet(parquet)
    race = Race(rows=500, finalists=2)
    wanted = {"label_kind": "number", "unmasked": True, "scores": ["r2", "r2_gcv", race]}
    here, there = (summarize(source, label, configurations, **wanted) for source in (parquet, frame))
    for name in ("r2", "r2_gcv"):
        assert dict(there.scores[name].values) == pytest.approx(dict(here.scores[name].values), abs=1e-12)
    for name, attribute in here.attributes.items():
        assert there.attributes[name].measures["eta2"] == pytest.approx(attribute.measures["eta2"], abs=1e-12)
    for bins in (4, [2] if label == "narrow" else [2**60 - 1000, 2**60]):
        tables = [summarize(source, label, configurations, label_bins=bins) for source in (parquet, frame)]
        assert tables[0] == tables[1]


def test_several_labels_are_counted_together_on_the_cluster(spark, parquet):
    configurations = {"coarse": {"tiny": Bucketize(width=20), "text": Prefix(1)}, "fine": {"tiny": Blur(5)}}
    wanted = {"label_kind": {"narrow": "number"}, "label_bins": {"whole": 3}, "scores": ["r2"]}
    labels = ["label", "flag", "narrow", "whole"]
    here = summarize(parquet, labels, configurations, **wanted)
    there = summarize(spark.read.parquet(parquet), labels, configurations, **wanted)
    for label in ("label", "flag", "whole"):
        assert there[label] == here[label]
    r2 = [dict(each["narrow"].scores["r2"].values) for each in (here, there)]
    assert r2[1] == pytest.approx(r2[0], abs=1e-12)


def test_privacy_is_checked_on_the_cluster(spark, parquet):
    masks = {
        "a": {"tiny": Bucketize(width=50), "text": Prefix(1), "day": Truncate("year")},
        "b": {"tiny": Suppress(), "flag": Identity(), "zoned": Truncate("month")},
    }
    rules = [KAnonymity(3), TCloseness(0.3, ordered=True)]
    named = {"quasi_identifiers": ["tiny", "flag", "narrow"], "sensitive": "real", "suppression": 0.01}
    ours = check_privacy(parquet, masks, rules, **named)
    theirs = check_privacy(spark.read.parquet(parquet), masks, rules, **named)
    witnesses = [f"{rule.column}_witness" for rule in rules]
    pd.testing.assert_frame_equal(theirs.drop(columns=witnesses), ours.drop(columns=witnesses))
    for one, other in zip(
        theirs[witnesses].to_numpy().ravel(), ours[witnesses].to_numpy().ravel(), strict=True
    ):
        assert (one is None) == (other is None)
        assert one is None or (one[1] == other[1] and one[0].keys() == other[0].keys())
    assert ours["k_anonymity_witness"].notna().any()


def test_small_classes_are_suppressed_on_the_cluster(spark, parquet):
    masks = {"tiny": Bucketize(width=50), "flag": Identity(), "price": Bucketize(width=5)}
    frame = spark.read.parquet(parquet)
    for how in ("drop", "blank"):
        counted: list[tuple[int, ...]] = []
        named: dict[str, Any] = {
            "suppress_below": 18,
            "suppressed": how,
            "quasi_identifiers": ["tiny", "flag", "narrow"],
        }
        named["on_suppressed"] = lambda *counts: counted.append(counts)  # noqa: B023
        keys = ["tiny", "flag", "narrow", "label"]
        theirs = apply_configuration(frame, masks, **named).select(keys).collect()
        relation: Any = apply_configuration(duckdb.read_parquet(parquet), masks, **named)
        ours = relation.select(", ".join(keys)).fetchall()
        assert counted[0] == counted[1]
        assert 0 < counted[0][0] < counted[0][1]
        assert Counter(map(repr, map(tuple, theirs))) == Counter(map(repr, ours))
    with pytest.raises(InvalidOption, match="all 5,000 records are in classes of fewer than 5,000"):
        apply_configuration(frame, masks, suppress_below=5000)


def test_a_search_finds_and_proves_the_same(spark, parquet):
    candidates = {
        "tiny": [Identity(), Bucketize(width=10), Suppress()],
        "real": [Identity(), Suppress()],
        "text": [Identity(), Prefix(1), Suppress()],
    }
    ours = search(parquet, "label", candidates, KAnonymity(5), 0.05)
    frame = spark.read.parquet(parquet)
    theirs = search(frame, "label", candidates, KAnonymity(5), 0.05)
    assert (theirs.choice, theirs.cost, theirs.suppressed) == (ours.choice, ours.cost, ours.suppressed)
    assert theirs.proved
    assert verify_certificate(theirs.certificate, frame).suppressed == ours.suppressed

"""Certificates: verified by SQL and an integer program, and refused when anything in them was changed."""

from __future__ import annotations

import copy
import json
import os
import random
import signal
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import aegis_opt as ao
from aegis_opt.errors import CertificateError
from aegis_opt.privacy import KAnonymity, verify_certificate
from aegis_opt.privacy._lattice._certificate import digest_of
from aegis_opt.privacy._proof._table import CertifiedTable
from aegis_opt.sources._duckdb_engine import connect
from benchmarks.search_certificates import certified, misjudged

CERTIFIED = [pair for seed in range(8) if (pair := certified(seed)) is not None]


@pytest.mark.parametrize("number", range(len(CERTIFIED)))
def test_certificates_of_random_lattices_verify(number: int, tmp_path: Path) -> None:
    case, document = CERTIFIED[number]
    ao.privacy.Certificate(document).save(tmp_path / "proof.json")
    case.frame.to_csv(tmp_path / "table.csv", index=False)
    found = verify_certificate(tmp_path / "proof.json", tmp_path / "table.csv")
    assert found.records == len(case.frame)
    assert found.clauses == len(document["clauses"])
    assert "verified" in str(found)


def test_tampering_is_caught_unless_what_remains_is_a_proof() -> None:
    rng = random.Random(0)
    found = [misjudged(rng, *CERTIFIED[i % len(CERTIFIED)]) for i in range(30)]
    judged = [pair for pair in found if pair is not None]
    assert not any(wrong for _, wrong in judged)
    assert 10 < sum(caught for caught, _ in judged) < len(judged)


def test_without_a_matching_digest_nothing_is_verified(tmp_path: Path) -> None:
    case, document = CERTIFIED[0]
    path = tmp_path / "proof.json"
    ao.privacy.Certificate(document).save(path)
    whole = json.loads(path.read_text())
    path.write_text(json.dumps({**whole, "cost": whole["cost"]}))
    verify_certificate(path, case.frame)
    path.write_text(json.dumps({**whole, "suppression": 0.5}))
    with pytest.raises(CertificateError, match="digest"):
        verify_certificate(path, case.frame)


def test_another_table_is_refused() -> None:
    case, document = CERTIFIED[0]
    proof = {**document, "digest": digest_of(document)}
    with pytest.raises(CertificateError, match="records"):
        verify_certificate(proof, case.frame.iloc[:-1])
    with pytest.raises(ao.errors.UnknownColumn, match="a0"):
        verify_certificate(proof, case.frame.drop(columns="a0"))
    shuffled = case.frame.assign(y=case.frame["y"].to_numpy()[::-1])
    with pytest.raises(CertificateError, match="no proof"):
        verify_certificate(proof, shuffled)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("{", "malformed JSON"),
        ("[]", "no JSON object"),
        ("{}", "format"),
        ('{"format": "aegis-opt certificate", "version": 2}', "version"),
        ('{"format": "aegis-opt certificate", "version": 1}', "lacks"),
        ('{"format": 1, "format": 1}', "twice"),
        ("[" * 100_000, "nested|malformed"),
    ],
)
def test_files_that_are_no_certificates_are_refused(text: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "proof.json"
    path.write_text(text)
    with pytest.raises(CertificateError, match=reason):
        verify_certificate(path, CERTIFIED[0][0].frame)


def test_a_certificate_reads_no_file_that_it_names(tmp_path: Path) -> None:
    case, document = CERTIFIED[0]
    changed = copy.deepcopy(document)
    (tmp_path / "h.csv").write_text("0,*\n")
    spec = {"function": "generalize", "hierarchy": str(tmp_path / "h.csv"), "level": 0}
    changed["attributes"][0]["candidates"] = {"masks": [spec] * len(changed["attributes"][0]["costs"])}
    with pytest.raises(CertificateError, match="must stand in it"):
        verify_certificate({**changed, "digest": digest_of(changed)}, case.frame)


def test_saving_is_whole_or_nothing(tmp_path: Path) -> None:
    certificate = ao.privacy.Certificate(CERTIFIED[0][1])
    with pytest.raises(ao.AegisError, match=r"\.json"):
        certificate.save(tmp_path / "proof.txt")
    assert not list(tmp_path.iterdir())
    assert certificate.digest[:12] in repr(certificate)


def test_every_kind_of_candidate_is_written(tmp_path: Path) -> None:
    clinic = ao.datasets.clinic(300, seed=1)
    ages = sorted(set(clinic.frame["age"].tolist()))
    hierarchy = ao.Hierarchy([[age, age // 10 * 10, age // 50 * 50, "*"] for age in ages])
    weights = [ao.Identity(), ao.Bucketize(width=20), ao.Generalize(ranges=3), ao.Suppress()]
    candidates: dict[str, Any] = {"age": hierarchy, "weight": weights}
    found = ao.search(clinic.frame, "health", candidates, ao.privacy.KAnonymity(10), 0.02)
    found.certificate.save(tmp_path / "proof.json")
    verified = verify_certificate(tmp_path / "proof.json", clinic.frame)
    assert verified.cost == pytest.approx(found.cost)
    assert verified.suppressed == found.suppressed


def test_candidates_that_depend_on_counts_are_fitted(tmp_path: Path) -> None:
    rng, n = np.random.default_rng(2), 300
    frame = pd.DataFrame({"age": rng.integers(18, 60, n), "city": rng.choice(list("abcdef"), n)})
    frame["ill"] = (frame["age"] + rng.integers(0, 60, n) > 70).astype(int)
    candidates: dict[str, list[ao.masks.Mask]] = {
        "age": [ao.Identity(), ao.Microaggregate(20), ao.Microaggregate(80, "median"), ao.Suppress()],
        "city": [ao.Identity(), ao.KeepTop(2), ao.PoolRare(50), ao.Suppress()],
    }
    found = ao.search(frame, "ill", candidates, KAnonymity(8), measure="mi")
    assert found.proved
    assert found.best is not None
    combinations = {
        f"{i} {j}": {"age": age, "city": city}
        for i, age in enumerate(candidates["age"])
        for j, city in enumerate(candidates["city"])
    }
    checked = ao.check_privacy(frame, combinations, KAnonymity(8), label="ill").set_index("configuration")
    costs = []
    for name in checked.index[checked["private"]]:
        masked = ao.apply_configuration(frame, combinations[name])
        tables = [[pd.crosstab(t[a], t["ill"]).to_numpy() for a in ("age", "city")] for t in (frame, masked)]
        whole, left = (np.mean([ao.mutual_information(table) for table in own]) for own in tables)
        costs.append(whole - left)
    assert 1 < len(costs) < len(combinations)
    assert found.cost == pytest.approx(min(costs))
    assert found.best == ao.fit_configuration(frame, found.best)  # says by itself what it does
    assert not any(mask.needs_counts for mask in found.best.values())
    assert found.certificate is not None
    found.certificate.save(tmp_path / "proof.json")
    verify_certificate(tmp_path / "proof.json", frame)


def test_ctrl_c_ends_a_query_of_a_verification() -> None:
    """DuckDB waited for its own threads, to the end of what they were doing."""
    pressed = threading.Timer(0.2, os.kill, [os.getpid(), signal.SIGINT])
    with connect() as connection:
        table = CertifiedTable(connection, [], 1)
        pressed.start()
        begin = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            table.rows("SELECT sum(a.range * b.range) FROM range(1000000) AS a, range(1000000) AS b")
        assert time.monotonic() - begin < 10
        assert table.rows("SELECT 1") == [(1,)]

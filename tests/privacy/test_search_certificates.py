"""Certificates: verified by counts and an integer program, and refused when anything in them was changed."""

from __future__ import annotations

import copy
import inspect
import json
import random
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import aegis_opt as ao
from aegis_opt.cli._parser import VERIFY_SECONDS
from aegis_opt.errors import CertificateError, InvalidOption
from aegis_opt.masks import Grouping
from aegis_opt.privacy import KAnonymity, verify_certificate
from aegis_opt.privacy._lattice._certificate import digest_of
from aegis_opt.privacy._proof import _verify
from aegis_opt.privacy._proof._program import least_cost
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
    found = [misjudged(rng, *CERTIFIED[i % len(CERTIFIED)]) for i in range(45)]
    judged = [pair for pair in found if pair is not None]
    assert not any(wrong for _, wrong in judged)
    assert 10 < sum(caught for caught, _ in judged) < len(judged)


def clinic_proof() -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return a table of 200 records and the certificate of a search in it."""
    frame = pd.DataFrame({"age": [i % 50 for i in range(200)], "sex": [i % 2 for i in range(200)]})
    frame["y"] = [(i * 7) % 3 for i in range(200)]
    ages = [ao.Identity(), ao.Bucketize(width=10), ao.Bucketize(width=25), ao.Suppress()]
    found = ao.search(frame, "y", {"age": ages, "sex": [ao.Identity(), ao.Suppress()]}, KAnonymity(5))
    return frame, json.loads(json.dumps(found.certificate.document))


def forged(document: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Return a changed certificate whose digest matches."""
    changed = {**copy.deepcopy(document), **changes}
    return {**changed, "digest": digest_of(changed)}


@pytest.mark.parametrize("digits", [-300, -2, 0, 1, 11])
def test_costs_in_a_unit_so_coarse_that_all_round_to_the_same_are_refused(digits: int) -> None:
    frame, document = clinic_proof()
    for own in document["attributes"]:
        own["costs"] = [round(cost * 10.0 ** (digits - 12)) for cost in own["costs"]]
    cost = sum(own["costs"][-1] for own in document["attributes"])
    lie = forged(document, digits=digits, winner=[3, 1], cost=cost, clauses=[], rejected=[])
    with pytest.raises(CertificateError, match="need 12"):
        verify_certificate(lie, frame)


def test_a_verification_says_what_was_asked_and_to_what_unit_the_cost_is_the_least() -> None:
    frame, document = clinic_proof()
    found = verify_certificate(forged(document), frame)
    assert found.rules == ("k=5",)
    assert found.measure == "mi"
    assert found.within == pytest.approx(3e-12, rel=0.05)
    assert "k=5, cost 0.042034 of mi (the least to within 3e-12)" in str(found)


def test_where_no_candidate_loses_anything_the_cost_is_nothing() -> None:
    frame = pd.DataFrame({"a": [1, 1, 2, 2], "y": [0, 1, 0, 1]})
    found = ao.search(frame, "y", {"a": [ao.Identity(), ao.Suppress()]}, KAnonymity(2))
    document = json.loads(json.dumps(found.certificate.document))
    assert verify_certificate(forged(document), frame).cost == 0
    with pytest.raises(CertificateError, match="need 12"):
        verify_certificate(forged(document, digits=3), frame)


def test_losses_that_are_large_are_compared_in_a_larger_unit() -> None:
    frame = pd.DataFrame({"a": [0, 1] * 3000, "y": [0, 1] * 3000})
    candidates = {"a": [ao.Identity(), ao.Suppress()]}
    found = ao.search(frame, "y", candidates, KAnonymity(4000), measure="chi2")
    document = json.loads(json.dumps(found.certificate.document))
    assert document["digits"] == 11
    verified = verify_certificate(forged(document), frame)
    assert verified.cost == pytest.approx(6000)
    assert verified.within == pytest.approx(3e-11 + 6000 * 2.0**-45)


def test_a_rule_that_needs_an_order_is_not_verified_without_one() -> None:
    frame = pd.DataFrame({"a": [0, 0, 1, 1] * 5, "y": [0, 1, 1, 2] * 5})
    rule = ao.privacy.TCloseness(0.4, ordered=True)
    found = ao.search(frame, "y", {"a": [ao.Identity(), ao.Suppress()]}, rule, sensitive="y")
    document = json.loads(json.dumps(found.certificate.document))
    verify_certificate(forged(document), frame)
    with pytest.raises(CertificateError, match="order"):
        verify_certificate(forged(document, order=None), frame)


def test_a_clause_that_is_repeated_is_refused() -> None:
    frame, document = clinic_proof()
    with pytest.raises(CertificateError, match="clause stands there twice"):
        verify_certificate(forged(document, clauses=document["clauses"] * 20_000), frame)
    document["clauses"][0]["point"][0] *= 20_000
    with pytest.raises(CertificateError, match="candidate twice"):
        verify_certificate(forged(document), frame)


def test_thousands_of_candidates_of_an_attribute_are_verified_in_little_memory() -> None:
    frame, document = clinic_proof()
    masks = [{"function": "identity"}] * 2_999 + [{"function": "suppress"}]
    own = document["attributes"][0]
    own.update(candidates={"masks": masks}, costs=[0] * 2_999 + [own["costs"][-1]])
    cost = own["costs"][-1]
    with pytest.raises(CertificateError, match="cheaper"):
        verify_certificate(forged(document, winner=[2_999, 0], cost=cost, clauses=[]), frame)


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


def test_the_last_digits_of_the_measure_are_not_counted_as_proved() -> None:
    """Losses are differences of values of 6e4, of which floating-point numbers have 11 decimals."""
    frame = pd.DataFrame({"a": np.arange(30_000) % 3, "y": np.arange(30_000) % 3})
    candidates = {"a": [ao.Identity(), ao.Generalize({"m": [0, 1, 2]})]}
    found = ao.search(frame, "y", candidates, KAnonymity(2), measure="chi2")
    assert found.certificate is not None
    assert verify_certificate(found.certificate, frame).within > 60_000 * 2.0**-45


def test_infinite_values_are_witnesses_like_others(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [np.inf, 1.0, 2.0, -np.inf] * 3, "y": [0, 1, 1] * 4}).iloc[:11]
    for coarsest in (ao.Suppress(), ao.KeepTop(1)):
        candidates = {"a": [ao.Identity(), ao.KeepTop(3), coarsest, ao.Suppress()]}
        found = ao.search(frame, "y", candidates, KAnonymity(4))
        assert found.certificate is not None
        found.certificate.save(tmp_path / "proof.json")
        verify_certificate(tmp_path / "proof.json", frame)


def test_a_loss_that_is_no_number_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    frame, document = clinic_proof()
    monkeypatch.setattr(_verify._Verifier, "_losses", lambda self, i: [0.0, float("nan"), 1.0, 1.0])
    with pytest.raises(CertificateError, match="is not finite for a candidate"):
        verify_certificate(forged(document), frame)


def test_a_verification_is_given_up_after_its_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clauses are confirmed until then; the integer program has what is left."""
    frame, document = clinic_proof()
    with pytest.raises(CertificateError, match=r"not decided within 1e-09 s: allow it more time"):
        verify_certificate(forged(document), frame, time_limit=1e-9)
    for wrong in (0, -1, float("nan"), "1", True):
        with pytest.raises(InvalidOption, match="time_limit must be a positive number of seconds"):
            verify_certificate(forged(document), frame, time_limit=wrong)  # type: ignore[arg-type]
    with pytest.raises(TimeoutError):
        least_cost([[0, 1]], [[np.array([1])]], end=time.monotonic() - 1)
    rng = np.random.default_rng(0)
    hard = [[np.flatnonzero(rng.random(25) < 0.1) for _ in range(40)] for _ in range(3000)]
    started = time.monotonic()
    with pytest.raises(TimeoutError):
        least_cost(rng.integers(0, 10**9, (40, 25)).tolist(), hard, end=started + 1)
    assert time.monotonic() - started < 5
    for unlimited in (None, 1e10, 1e300):
        assert verify_certificate(forged(document), frame, time_limit=unlimited).records == 200
    assert inspect.signature(verify_certificate).parameters["time_limit"].default == VERIFY_SECONDS


def test_clauses_of_too_many_candidates_are_refused_before_they_are_solved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each clause is true; for many more CP-SAT would end the process for lack of memory."""
    groups = np.random.default_rng(0).integers(0, 7, (60, 12))
    masks = [
        ao.Generalize({f"g{g}": np.flatnonzero(own == g).tolist() for g in set(own.tolist())})
        for own in groups
    ]
    frame = pd.DataFrame({"a": range(12), "y": [0, 1] * 6})
    found = ao.search(frame, "y", {"a": [*masks, ao.Suppress()]}, KAnonymity(12))
    document = json.loads(json.dumps(found.certificate.document))
    document["clauses"] = [{"point": [[c]], "witness": [f"g{own[0]}"]} for c, own in enumerate(groups)]
    assert verify_certificate(forged(document), frame).clauses == 60
    monkeypatch.setattr(_verify, "_MOST_WAYS", 3000)
    with pytest.raises(CertificateError, match="more than 3,000 candidates that satisfy"):
        verify_certificate(forged(document), frame)


def test_a_rejected_configuration_is_ruled_out_alone() -> None:
    costs = [[0, 3, 5], [0, 2], [0, 7]]
    every = [[a, b, None] for a in range(3) for b in range(2)]
    assert least_cost(costs, [], [[0, 0, None]]) == 2
    assert least_cost(costs, [], [[0, 0, None], [0, 1, None], [1, 0, 0]]) == 5
    assert least_cost(costs, [], every) is None


def test_joins_that_are_made_in_pieces_and_not_kept_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of all clauses were kept, and all candidates of a join linked at once, in many GB."""
    proofs = [(ao.privacy.Certificate(document), case.frame) for case, document in CERTIFIED]
    whole = [verify_certificate(proof, frame) for proof, frame in proofs]
    monkeypatch.setattr(_verify, "_MOST_JOINED", 0)
    monkeypatch.setattr(_verify, "_MOST_LINKED", 1)
    for (proof, frame), expected in zip(proofs, whole, strict=True):
        assert verify_certificate(proof, frame).cost == expected.cost
    rng = np.random.default_rng(0)
    for _ in range(50):
        own = [np.unique(rng.integers(0, 9, 12), return_inverse=True)[1] for _ in range(4)]
        first, *others = (Grouping(groups, tuple(map(str, range(groups.max() + 2)))) for groups in own)
        found = _verify._joined(first, others)[first.groups]
        linked = np.array([[any(g[a] == g[b] for g in own) for b in range(12)] for a in range(12)])
        reached = np.linalg.matrix_power(linked.astype(float), 12) > 0
        assert ((found[:, None] == found) == reached).all()

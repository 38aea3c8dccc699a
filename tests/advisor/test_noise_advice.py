"""Advice on noise: deviations of expected tables, with intervals; nothing is proved."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import aegis_opt as ao
from aegis_opt.advisor._noise import _filled, _randomised_response, _whole
from aegis_opt.errors import InvalidOption
from aegis_opt.report._record import _audited
from aegis_opt.solvers.ipf._em import most_likely


def table_frame(table: np.ndarray, name: str = "x") -> pd.DataFrame:
    rows = [(a, f"y{y}") for (a, y), count in np.ndenumerate(table) for _ in range(int(count))]
    return pd.DataFrame(rows, columns=[name, "y"])


def random_table(rng: np.random.Generator, n: int, k: int, records: int) -> np.ndarray:
    shares = rng.dirichlet(np.full(k, 1.0), size=n) * rng.dirichlet(np.full(n, 2.0))[:, None]
    return rng.multinomial(records, shares.ravel() / shares.sum()).reshape(n, k)


def true_deviation(table: np.ndarray, T: np.ndarray, measure: str) -> float:
    rho = ao.get_measure(measure)
    return abs(float(rho(table)) - float(rho(T @ table)))


def test_intervals_hold_the_true_deviation() -> None:
    """Of 25 random tables at least 20 (0.8), of a nominal level of 0.9."""
    rng, held = np.random.default_rng(1), {"mi": 0, "g3": 0}
    for seed in range(25):
        n, k = int(rng.integers(3, 9)), int(rng.integers(2, 4))
        table = random_table(rng, n, k, 4000)
        table[:, 0] += 1
        mask = ao.RandomizedResponse(epsilon=float(rng.choice([0.5, 1.0, 2.0])), seed=seed)
        advisor = ao.Advisor(ao.summarize(table_frame(table), "y", {"c": {"x": mask}}))
        for measure in held:
            row = advisor.advise(measure).ranking.iloc[0]
            truth = true_deviation(table, advisor.summary.masked_table("c", "x").channel, measure)
            assert row["pud_low"] <= row["pud"] <= row["pud_high"]
            held[measure] += bool(row["pud_low"] <= truth <= row["pud_high"])
    assert min(held.values()) >= 20


def test_the_estimate_does_not_take_noise_for_information() -> None:
    """The most likely table of many values is far too telling where value and label are independent."""
    rng, errors, plain = np.random.default_rng(2), [], []
    for seed in range(6):
        table = rng.multinomial(3000, np.outer(rng.dirichlet(np.ones(20)), [0.4, 0.6]).ravel()).reshape(20, 2)
        summary = ao.summarize(
            table_frame(table), "y", {"c": {"x": ao.RandomizedResponse(epsilon=1, seed=seed)}}
        )
        T = summary.masked_table("c", "x").channel
        truth = true_deviation(table, T, "mi")
        fitted = ao.reconstruct(summary.problem("x")).values
        errors.append(abs(ao.advise(summary, "mi").ranking["pud"][0] - truth))
        plain.append(abs(true_deviation(fitted, T, "mi") - truth))
    assert np.mean(errors) < 0.5 * np.mean(plain)


@pytest.fixture(scope="module")
def mixed() -> ao.Summary:
    clinic = ao.datasets.clinic(2500, seed=0)
    frame = clinic.frame.assign(decade=clinic.frame.age // 10)
    return ao.summarize(
        frame,
        "health",
        {
            "response": {"decade": ao.RandomizedResponse(epsilon=2, seed=3), "zip": ao.Prefix(2)},
            "added": {"decade": ao.AddNoise("geometric", epsilon=4, seed=3), "zip": ao.Suppress()},
            "groups": {"decade": ao.Generalize(ranges=3), "zip": ao.Prefix(2)},
            "open": {"decade": ao.Generalize(ranges=5), "zip": ao.Prefix(3)},
        },
    )


@pytest.mark.parametrize("scope", ["pooled", "single"])
def test_configurations_with_and_without_noise_are_ranked_together(mixed: ao.Summary, scope: str) -> None:
    advice = ao.advise(mixed, "mi", scope=scope)
    assert not advice.certified
    assert any("nothing is proved about the order" in warning for warning in advice.warnings)
    assert any("expected masked table" in warning for warning in advice.warnings)
    ranking = advice.ranking.set_index("configuration")
    assert ranking["epsilon"].to_dict() == {
        "response": pytest.approx(2),
        "added": pytest.approx(4),
        "groups": np.inf,
        "open": np.inf,
    }
    noisy = ranking.loc[["response", "added"]]
    assert (noisy["pud_low"] <= noisy["pud"]).all()
    assert np.isfinite(ranking[["pud", "pud_low", "pud_high"]]).all(axis=None)
    decade = advice.deviations["decade"]
    assert decade["response"] > decade["groups"]


def test_exact_tables_of_the_attribute_make_it_known(mixed: ao.Summary) -> None:
    """Where some configuration leaves the attribute open, the deviation of noise is known."""
    rng = np.random.default_rng(4)
    table = random_table(rng, 5, 2, 2000)
    mask = ao.RandomizedResponse(epsilon=1, seed=0)
    summary = ao.summarize(table_frame(table), "y", {"noise": {"x": mask}, "open": {"x": ao.Identity()}})
    row = ao.advise(summary, "mi").ranking.set_index("configuration").loc["noise"]
    truth = true_deviation(table, summary.masked_table("noise", "x").channel, "mi")
    assert row["pud"] == pytest.approx(truth, abs=1e-6)
    assert row["pud_high"] - row["pud_low"] < 1e-5


def test_the_histogram_stays_exact_beside_noise() -> None:
    rng = np.random.default_rng(5)
    table = random_table(rng, 4, 2, 20_000)
    mask = ao.RandomizedResponse(epsilon=1.5, seed=0)
    summary = ao.summarize(table_frame(table), "y", {"noise": {"x": mask}}, histograms=True)
    fitted = ao.reconstruct(summary.problem("x"))
    assert fitted.optimal
    np.testing.assert_allclose(fitted.values.sum(axis=1), table.sum(axis=1), atol=1e-6)
    row = ao.advise(summary, "mi").ranking.iloc[0]
    truth = true_deviation(table, summary.masked_table("noise", "x").channel, "mi")
    assert row["pud_low"] <= truth <= row["pud_high"]


def test_less_noise_ranks_first() -> None:
    rng = np.random.default_rng(6)
    frame = table_frame(random_table(rng, 6, 3, 20_000))
    masks = {f"e{e:g}": {"x": ao.RandomizedResponse(epsilon=e, seed=0)} for e in (0.3, 1, 3)}
    summary = ao.summarize(frame, "y", masks)
    for measure in ("mi", "chi2", "mi_loo"):
        assert ao.advise(summary, measure).ranking["configuration"].tolist() == ["e3", "e1", "e0.3"]
    automatic = ao.advise(summary)
    assert automatic.best == "e3"
    assert automatic.by_mi.best == "e3"


def test_advice_is_the_same_twice_and_kept(mixed: ao.Summary) -> None:
    advisor = ao.Advisor(mixed)
    one, other = advisor.advise("mi"), ao.advise(mixed, "mi")
    pd.testing.assert_frame_equal(one.ranking, other.ranking)
    advisor.advise("g3")


def test_what_advice_on_noise_does_not_take_is_refused(mixed: ao.Summary) -> None:
    with pytest.raises(InvalidOption, match="leave it out; the ranking has intervals"):
        ao.advise(mixed, "mi", rounding="controlled")
    with pytest.raises(InvalidOption, match="bootstrap resamples tables of masks without noise"):
        ao.advise(mixed, "mi", bootstrap=10)
    with pytest.raises(InvalidOption, match="attribute 'decade': solver 'smooth' takes no noisy views"):
        ao.advise(mixed, "mi", solver="smooth")


def test_advice_survives_its_file_and_its_record(mixed: ao.Summary, tmp_path) -> None:
    advice = ao.advise(mixed, "mi")
    assert "Noise was added to" in _audited(mixed)
    advice.save(tmp_path / "advice.json")
    assert ao.Advice.load(tmp_path / "advice.json").best == advice.best


def test_the_formula_of_randomised_response_is_the_most_likely_table() -> None:
    rng = np.random.default_rng(7)
    for n in (2, 5, 12):
        T = np.full((n, n), 0.3 / n) + 0.7 * np.eye(n)
        J = rng.multinomial(500, rng.dirichlet(np.full(n, 0.3)), size=20).astype(float)
        own, other = _randomised_response(T)
        exact = most_likely(T, J, J.sum(axis=1, keepdims=True)).x
        np.testing.assert_allclose(_filled(J, own, other), exact, atol=1e-3)  # flat where a cell is just 0
    assert _randomised_response(np.array([[0.9, 0.2], [0.1, 0.8]])) is None


def test_mixtures_are_rounded_within_their_label_totals() -> None:
    rng = np.random.default_rng(8)
    table = rng.random((7, 3)) * 10
    table *= np.array([30, 40, 50]) / table.sum(axis=0)
    whole = _whole(table)
    assert whole.sum(axis=0).tolist() == [30, 40, 50]
    assert np.abs(whole - table).max() < 1


def test_an_interval_is_never_called_proved() -> None:
    frame = table_frame(random_table(np.random.default_rng(0), 4, 2, 500))
    masks = {"noise": {"x": ao.RandomizedResponse(epsilon=3, seed=1)}, "coarse": {"x": ao.Suppress()}}
    advice = ao.advise(ao.summarize(frame, "y", masks), "mi")
    told = [str(advice), advice._repr_html_(), str(advice.plot().to_dict())]
    for text in told:
        assert "90% interval" in text
        assert "proved bounds" not in text
        assert "deviation, at least" not in text


def test_whole_tables_of_noisy_counts_take_any_seed() -> None:
    """CP-SAT's seeds have 31 bits, and those of replicates 32: it refused every other one."""
    frame = table_frame(np.array([[20, 5], [4, 9], [7, 7]]))
    masks = {"noise": {"x": ao.RandomizedResponse(p=0.8, seed=1)}, "closed": {"x": ao.Suppress()}}
    advice = ao.advise(ao.summarize(frame, "y", masks), "mi", solver="integer")
    assert set(advice.ranking["configuration"]) == {"noise", "closed"}


@pytest.mark.parametrize("how", ["repair", "relax"])
def test_contradictory_tables_beside_noise_are_repaired(how: str) -> None:
    """The noise was fitted again to the totals as they were given, and the error named this way out."""
    frame = table_frame(random_table(np.random.default_rng(0), 3, 2, 200))
    masks = [ao.RandomizedResponse(epsilon=1, seed=0), ao.Generalize({"a": [0, 1], "b": [2]})]
    made = ao.summarize(frame, "y", {"noise": {"x": masks[0]}, "exact": {"x": masks[1]}})
    attribute = made.attributes["x"]
    other = replace(attribute.tables[1], joint=np.roll(attribute.tables[1].joint, 1, axis=0))
    tables = (*attribute.tables, other)
    summary = replace(
        made,
        attributes={"x": replace(attribute, tables=tables)},
        configurations={**made.configurations, "other": {"x": 2}},
    )
    with pytest.raises(ao.InfeasibleProblem):
        ao.advise(summary, "mi")
    advice = ao.advise(summary, "mi", on_conflict=how)  # type: ignore[arg-type]
    assert not advice.certified
    assert any("contradict each other" in warning for warning in advice.warnings)

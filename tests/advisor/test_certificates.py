"""The reported status and residual are those of the very tables that were measured, after rounding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import aegis_opt as ao
from aegis_opt.advisor import Advisor
from aegis_opt.errors import RoundingImpossible
from aegis_opt.measures import mutual_information
from aegis_opt.solvers.base import Minimiser
from aegis_opt.solvers.registry import solver_class
from aegis_opt.summary import AttributeSummary, MaskedTable

REPLICATES = 3
SLACK = 1e-6  # records


@dataclass(frozen=True)
class Recording(ao.measures.Measure):
    """Mutual information that keeps every table it is asked to measure."""

    calls: list[list[np.ndarray]] = field(default_factory=list, compare=False)

    def many(self, tables: Sequence[Any]) -> np.ndarray:
        self.calls.append([np.array(table) for table in tables])
        return super().many(tables)


def _recording() -> Recording:
    return Recording("mi_recorded", "mutual information", mutual_information, True, True, True)


@pytest.fixture(scope="module", params=["nested, with histograms", "overlapping, without"])
def people(request: pytest.FixtureRequest) -> ao.Summary:
    """Views of either kind, and an attribute that some configuration leaves unmasked."""
    nested = request.param.startswith("nested")
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {"a": rng.integers(0, 9, 90), "open": rng.integers(0, 3, 90), "y": rng.integers(0, 3, 90)}
    )
    masks = {
        f"c{i}": {
            "a": ao.Bucketize(width=3 * (i + 1), origin=0) if nested else ao.Bucketize(width=3, origin=i),
            "open": ao.Suppress() if i else ao.Identity(),
        }
        for i in range(2)
    }
    return ao.summarize(frame, "y", masks, histograms=nested)


@pytest.fixture(scope="module")
def clinic() -> ao.Summary:
    data = ao.datasets.clinic(800, seed=1)
    return ao.summarize(data.frame, data.label, data.configurations)


def _contradictory() -> ao.Summary:
    """Two nested views of one attribute that no table meets together; each agrees with the label."""
    tables = (
        MaskedTable({"function": "suppress"}, [0, 0, 1, 1], ("low", "high"), [[8, 3], [2, 7]]),
        MaskedTable({"function": "suppress"}, [0, 1, 2, 2], ("0", "1", "rest"), [[5, 1], [4, 2], [1, 7]]),
    )
    return ao.Summary(
        label="y",
        label_kind="integer",
        label_values=(0, 1),
        label_counts=[10, 10],
        attributes={"a": AttributeSummary("integer", 4, None, None, tables)},
        configurations={"coarse": {"a": 0}, "fine": {"a": 1}},
    )


def _cases() -> Iterator[Any]:
    for name, able in ao.available_solvers().items():
        tried = [norm for norm in able.norms if norm in ("kl", "l1", "l2", "linf")]
        for norm in tried if issubclass(solver_class(name), Minimiser) else (None,):
            for rounding in (None, *({} if able.integer else ao.rounding.ROUNDINGS)):
                for scope in ("pooled", "single"):
                    words = [name, norm, rounding, scope]
                    options = {"norm": norm} if norm else {}
                    yield pytest.param(
                        ao.get_reconstructor(name, rounding=rounding, seed=7, **options),
                        scope,
                        id="-".join(filter(None, words)),
                    )


def _missed(attribute: AttributeSummary, table: np.ndarray, view: int | None) -> float:
    """Largest violation of any shared total, by plain sums."""
    worst = max(0.0, -table.min())
    for i, masked in enumerate(attribute.tables):
        if view in (None, i):
            sums = np.array([table[masked.groups == g].sum(axis=0) for g in range(masked.n_groups)])
            worst = max(worst, np.abs(sums - masked.joint).max())
    if attribute.histogram is not None:
        worst = max(worst, np.abs(table.sum(axis=1) - attribute.histogram).max())
    return float(worst)


@pytest.mark.parametrize(("solver", "scope"), list(_cases()))
def test_status_and_residual_are_those_of_the_tables_used(
    people: ao.Summary, solver: ao.solvers.base.Reconstructor, scope: Any
) -> None:
    able = solver.capabilities
    rounding = None if solver.rounding is None else ao.rounding.ROUNDINGS[solver.rounding]
    keeps = able.keeps_totals and (rounding is None or rounding.keeps_totals)
    replicates = REPLICATES if solver.is_random else 1
    measure = _recording()

    def ask() -> ao.Advice:
        return Advisor(people).advise(measure, solver, scope, replicates=replicates)

    if scope == "pooled" and not able.several_views:
        with pytest.raises(ao.errors.InvalidOption, match="one view"):
            ask()
        return
    try:
        advice = ask()
    except (ao.errors.RoundingImpossible, ao.errors.InvalidOption):
        if rounding is None or not rounding.keeps_totals:
            raise
        return  # only a rounding that promises something may find that it cannot keep the promise
    used = measure.calls[1 : 1 + len(people.attributes)]  # after the masked tables, before the bounds
    for (name, attribute), tables in zip(people.attributes.items(), used, strict=True):
        views = [None] if scope == "pooled" else list(range(len(attribute.tables)))
        assert len(tables) == replicates * len(views)
        missed = [_missed(attribute, t, views[i % len(views)]) for i, t in enumerate(tables)]
        row = advice.attributes.set_index("attribute").loc[name]
        assert row["residual"] == pytest.approx(max(missed), abs=1e-9)
        if max(missed) > SLACK:
            assert not keeps
            assert row["status"] == "VIOLATED"
            assert any(w.startswith("totals not kept") and repr(name) in w for w in advice.warnings)
        else:
            assert row["status"] in ("OPTIMAL", "FEASIBLE")
        if rounding is not None or able.integer:
            assert all((table == np.round(table)).all() for table in tables)
        if rounding is not None:
            assert row["status"] != "OPTIMAL"
    if max(advice.attributes["residual"]) <= SLACK:
        assert not any(w.startswith("totals not kept") for w in advice.warnings)


def test_independent_rounding_in_pooled_scope_is_not_called_optimal(clinic: ao.Summary) -> None:
    advice = ao.advise(clinic, "mi", rounding="independent")
    assert advice.certified  # the order rests on the shared tables alone
    assert advice.attributes["status"].tolist() == ["VIOLATED", "VIOLATED", "FEASIBLE"]  # "zip" is disclosed
    assert (advice.attributes["residual"][:2] >= 1).all()
    warning = next(w for w in advice.warnings if w.startswith("totals not kept"))
    assert f"'age', 'weight' miss known totals by up to {advice.attributes['residual'].max():.3g}" in warning
    assert "'controlled'" in warning


def test_a_table_that_rounding_leaves_without_records_is_told_with_the_attribute() -> None:
    frame = pd.DataFrame({"x": range(5), "y": list("abcab")})
    summary = ao.summarize(frame, "y", {"all": {"x": ao.Suppress()}})
    with pytest.raises(
        RoundingImpossible, match=r"attribute 'x': .*'independent' left a table without records"
    ):
        ao.advise(summary, "mi", rounding="independent", replicates=1000)
    assert ao.advise(summary, "mi", rounding="largest-remainder", replicates=1000).best == "all"


def test_what_is_proved_rests_on_the_tables_before_rounding(people: ao.Summary) -> None:
    plain, rounded = (ao.advise(people, "mi", rounding=rounding) for rounding in (None, "nearest"))
    columns = ["low", "high", "disclosed"]
    pd.testing.assert_frame_equal(plain.attributes[columns], rounded.attributes[columns])
    assert plain.ranking["pud_low"].equals(rounded.ranking["pud_low"])


@pytest.mark.parametrize("rounding", [None, *ao.rounding.ROUNDINGS])
@pytest.mark.parametrize("on_conflict", ["repair", "relax"])
def test_contradictory_totals_are_repaired_before_rounding_and_certify_nothing(
    on_conflict: str, rounding: str | None
) -> None:
    summary, measure = _contradictory(), _recording()
    with pytest.raises(ao.InfeasibleProblem, match="attribute 'a'"):
        ao.advise(summary, "mi")
    solver = ao.get_reconstructor("ipf", rounding=rounding, on_conflict=on_conflict)
    try:
        advice = ao.advise(summary, measure, solver)
    except (ao.errors.RoundingImpossible, ao.errors.InvalidOption):
        if on_conflict == "repair" or rounding is None:
            raise
        return  # relaxed totals are fractional, and no whole table meets them
    row = advice.attributes.loc[0]
    assert row["residual"] == pytest.approx(
        max(_missed(summary.attributes["a"], table, None) for table in measure.calls[1])
    )
    assert row["residual"] > 0.1
    keeps = rounding is None or ao.rounding.ROUNDINGS[rounding].keeps_totals
    assert row["status"] == "REPAIRED" if keeps else row["status"] in ("REPAIRED", "VIOLATED")
    assert not advice.certified
    assert advice.ranking[["pud_low", "pud_high"]].isna().all(axis=None)
    assert any(w.startswith("repaired") and "'a'" in w and "->" in w for w in advice.warnings)


def test_every_replicate_counts_not_the_first_alone(clinic: ao.Summary) -> None:
    """With more replicates of the same seed, the reported residual can only grow."""
    residuals = [
        ao.advise(clinic, "mi", rounding="independent", replicates=n).attributes["residual"]
        for n in (1, 5, 25)
    ]
    assert (residuals[0] <= residuals[1]).all()
    assert (residuals[1] <= residuals[2]).all()
    assert (residuals[0] < residuals[2]).any()


def test_tables_that_did_not_converge_are_named(clinic: ao.Summary) -> None:
    solver = ao.get_reconstructor("ipf", max_iterations=1, accelerate=False)
    advice = ao.advise(clinic, "mi", solver)
    failed = advice.attributes[advice.attributes["status"] == "NOT_CONVERGED"]
    assert list(failed["attribute"]) == ["age", "weight"]
    warning = next(w for w in advice.warnings if w.startswith("not converged"))
    assert "'age', 'weight'" in warning
    assert f"{failed['residual'].max():.3g} records" in warning
    rounded = ao.advise(clinic, "mi", replace(solver, rounding="independent"), replicates=2)
    assert rounded.attributes["status"].tolist()[:2] == ["VIOLATED", "VIOLATED"]


@pytest.mark.parametrize("how", ["repair", "relax"])
def test_equal_partitions_with_other_counts_are_a_contradiction_that_no_certificate_survives(
    how: Any,
) -> None:
    frame = pd.DataFrame({"a": [0, 1, 2, 3] * 6, "y": [0, 0, 1, 1, 0, 1] * 4})
    masks = {f"c{width}": {"a": ao.Bucketize(width=width, origin=0)} for width in (2, 4)}
    summary = ao.summarize(frame, "y", masks, histograms=False)
    attribute = summary.attributes["a"]
    other = attribute.tables[0].joint.copy()
    other[:, 0] += [1, -1]
    tables = (*attribute.tables, replace(attribute.tables[0], joint=other))
    configurations = dict(summary.configurations) | {"c3": {"a": 2}}
    changed = replace(
        summary, attributes={"a": replace(attribute, tables=tables)}, configurations=configurations
    )
    with pytest.raises(ao.errors.InfeasibleProblem):
        ao.advise(changed)
    advice = ao.advise(changed, on_conflict=how)
    assert not advice.certified
    assert advice.ranking[["pud_low", "pud_high"]].isna().all(axis=None)


@pytest.mark.parametrize("options", [{"scope": "single"}, {"solver": "convex", "time_limit": 1e-9}])
def test_nothing_is_proved_without_a_table_that_meets_all_views(options: dict[str, Any]) -> None:
    """Views taken apart from each other, and tables that miss totals, were taken for a common table."""
    advice = ao.advise(_contradictory(), "mi", on_conflict="repair", **options)
    assert not advice.certified
    assert advice.ranking[["pud_low", "pud_high"]].isna().all(axis=None)
    assert advice.attributes[["low", "high"]].isna().all(axis=None)
    assert any("contradict" in warning for warning in advice.warnings)


def test_a_histogram_that_is_left_out_still_contradicts() -> None:
    """Without the histogram, two views have a common table, which that histogram rules out."""
    spec = {"function": "suppress"}
    tables = tuple(MaskedTable(spec, g, ("x", "z"), [[5, 0], [0, 5]]) for g in ([0, 0, 1, 1], [0, 1, 0, 1]))
    summary = ao.Summary(
        label="y",
        label_kind="integer",
        label_values=(0, 1),
        label_counts=[5, 5],
        attributes={"a": AttributeSummary("integer", 4, range(4), [1, 4, 4, 1], tables)},
        configurations={"one": {"a": 0}, "two": {"a": 1}},
    )
    with pytest.raises(ao.InfeasibleProblem):
        ao.advise(summary, "mi")
    for options in ({}, {"on_conflict": "repair"}, {"scope": "single"}):
        advice = ao.advise(summary, "mi", histograms=False, **options)
        assert not advice.certified
        assert advice.ranking[["pud_low", "pud_high"]].isna().all(axis=None)
        assert any(warning.startswith("no common table") for warning in advice.warnings)


def test_tables_that_missed_totals_prove_what_a_common_table_proves(clinic: ao.Summary) -> None:
    late = ao.advise(clinic, "mi", ao.get_reconstructor("ipf", max_iterations=1, accelerate=False))
    assert late.certified
    whole = ao.advise(clinic, "mi", solver="ipf")
    assert list(late.ranking["configuration"]) == list(whole.ranking["configuration"])
    single = ao.advise(clinic, "mi", scope="single", rounding="independent", replicates=2)
    assert single.ranking[["pud_low", "pud_high"]].notna().all(axis=None)

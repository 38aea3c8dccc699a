"""What `test_wrong_kinds` hands over: odd values, and one sound call of each public function and method."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import aegis_opt as ao
from aegis_opt import (
    analysis,
    disclosure,
    distances,
    domain,
    harness,
    masks,
    measures,
    problem,
    release,
    report,
    rounding,
    scores,
    sources,
    summary,
)
from aegis_opt import privacy as privacy_room

ODD: dict[str, Any] = {
    "None": None,
    "3": 3,
    "-1": -1,
    "1.5": 1.5,
    "nan": math.nan,
    "x": "x",
    "empty text": "",
    "list": ["x"],
    "nested": [[1], [2]],
    "ragged": [[1, 2], [3]],
    "empty mapping": {},
    "mapping": {"a": 1},
    "object": object(),
    "frame": pd.DataFrame({"a": [1, 2]}),
    "array": np.ones((2, 2)),
    "huge": 10**400,
    "bytes": b"x",
    "function": lambda *given, **options: None,
    "path": Path("not there"),
}
FRAME = pd.DataFrame(
    {
        "age": [20, 21, 33, 34, 45, 46, 57, 58],
        "town": ["Bern", "Bern", "Rome", "Rome", "Oslo", "Oslo", "Bern", "Rome"],
        "y": ["yes", "no", "yes", "no", "yes", "yes", "no", "no"],
    }
)
CONFIGURATIONS = ao.Configurations(
    {"c1": {"age": ao.Bucketize(width=20), "town": ao.Suppress()}, "c2": {"age": ao.Suppress()}}, label="y"
)
SUMMARY = ao.summarize(FRAME, "y", CONFIGURATIONS)
SCORES = ao.summarize(FRAME, "y", CONFIGURATIONS, share="scores", measures=["mi"])
ADVISOR = ao.Advisor(SUMMARY)
ADVICE = ao.advise(SUMMARY, measure="mi")
PROBLEM = ao.Problem.from_table([[3, 0], [0, 1], [0, 2]], [0, 0, 1])
CANDIDATES: dict[str, Any] = {"age": [ao.Identity(), ao.Bucketize(width=20), ao.Suppress()]}
FOUND = ao.search(FRAME, "y", CANDIDATES, ao.privacy.KAnonymity(2))
CASES = [harness.Case("case", FRAME, "y", CONFIGURATIONS)]
SETTINGS = harness.ComparisonSettings(solvers=["ipf"], measures=["mi"], scopes=["pooled"], n_jobs=1)
RESULTS = harness.run_comparison(CASES, SETTINGS)
AGES = domain.Domain.of([20, 21, 33])
TABLE = [[3.0, 0.0], [0.0, 1.0], [0.0, 2.0]]
SOUND: dict[str, Any] = {
    "F": TABLE, "G": TABLE, "M": [[2, 3.0, 9.5]], "table": TABLE, "prior": TABLE,
    "counts": [[1, 2], [3, 0], [0, 1]],
    "advice": ADVICE, "certificate": FOUND.certificate, "configuration": CONFIGURATIONS["c1"],
    "configurations": CONFIGURATIONS, "candidates": CANDIDATES, "data_or_schema": FRAME, "domain": AGES,
    "label": "y", "mask": ao.Bucketize(width=20), "measure": "mi", "name": "age", "norm": "l1",
    "problem": PROBLEM, "results": RESULTS, "rules": [ao.privacy.KAnonymity(2)], "solver": "ipf",
    "source": FRAME, "summary": SUMMARY, "method": "nearest", "seed": 1, "seeds": [1], "n_jobs": 1,
}  # fmt: skip


class Call(NamedTuple):
    """A function, and arguments that it takes."""

    function: Callable[..., object]
    given: Mapping[str, Any]


def call(function: Callable[..., object], /, **given: Any) -> Call:
    """Add to the arguments given those that the function needs, by their names."""
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name not in given and parameter.default is parameter.empty and parameter.name in SOUND:
            given[parameter.name] = SOUND[parameter.name]
    return Call(function, given)


def calls() -> dict[str, Call]:
    """Return a sound call of each public function, of the methods, and of the classes that people make."""
    rooms: list[ModuleType] = [
        ao, analysis, disclosure, distances, harness, masks, measures, privacy_room, release, report,
        rounding, scores, sources,
    ]  # fmt: skip
    functions = {
        name: getattr(room, name)
        for room in rooms
        for name in room.__all__
        if inspect.isfunction(getattr(room, name)) and inspect.signature(getattr(room, name)).parameters
    }
    found = {name: call(function, **GIVEN.get(name, {})) for name, function in functions.items()}
    found = {name: one for name, one in found.items() if name not in LEFT_OUT}
    return found | METHODS | CLASSES


GIVEN: dict[str, dict[str, Any]] = {
    "advise": {"scope": "pooled", "rounding": "nearest", "replicates": 2},
    "candidate_masks": {"strength": 1},
    "clinic": {"n": 20},
    "compare": {"configurations": CONFIGURATIONS, "solvers": ["ipf"], "scopes": ["pooled"], "n_jobs": 1},
    "compare_reconstructions": {
        "configurations": CONFIGURATIONS,
        "solvers": ["ipf"],
        "scopes": ["pooled"],
        "n_jobs": 1,
    },
    "generate_configurations": {"n": 2},
    "get_distance": {"norm": "l1"},
    "get_score": {"score": "r2"},
    "information_loss": {"grouping": masks.group_attribute(ao.Bucketize(width=20), "age", AGES)},
    "learn_hierarchy": {"counts": [[1, 2], [3, 0], [0, 1]]},
    "load_configurations": {"path": "not there"},
    "load_results": {"folder": "not there"},
    "mask_from_spec": {"spec": {"function": "suppress"}},
    "optimal_range": {"cells": [(0, 0)]},
    "overview": {"frame": RESULTS.advice, "time_limit": 60},
    "penalised": {"frame": RESULTS.advice, "time_limit": 60, "longest": 60},
    "performance_profile": {"frame": RESULTS.advice},
    "register_distance": {"name": "of the tests", "distance": distances.L1()},
    "register_measure": {"measure": ao.get_measure("mi")},
    "risks": {"classes": [2, 3]},
    "round_tables": {"seeds": [1]},
    "run_comparison": {"cases": CASES, "settings": SETTINGS},
    "save_configurations": {"path": "masks.json"},
    "search_curve": {"k": [2, 3]},
    "select_sql": {"table": "people"},
    "shifted_geometric_mean": {"values": [1.0, 2.0], "shift": 1.0},
    "spread_over_seeds": {"solver": "integer", "measures": ["mi"], "seeds": 2},
    "summarize": {"configurations": CONFIGURATIONS},
    "true_deviation": {"configurations": CONFIGURATIONS},
    "write_report": {"path": "report.html"},
}
LEFT_OUT = {
    "adult": "would download data",
    "register_measure": "lasts as long as the process",
    "register_distance": "lasts as long as the process",
}
RIGHT = {
    "n_jobs": ("3", "-1"),
    "time_limit": ("3", "1.5"),
    "figures": ("x", "empty text", "path"),
}
"""Values that are right for a parameter of this name, and take long."""
COUNTED = SUMMARY.attributes["age"].tables
METHODS = {
    "Advice.explain": call(ADVICE.explain),
    "Advice.load": call(ao.Advice.load, path="not there"),
    "Advice.plot": call(ADVICE.plot),
    "Advice.plot_attributes": call(ADVICE.plot_attributes),
    "Advice.report": call(ADVICE.report, path="advice.html"),
    "Advice.save": call(ADVICE.save, path="advice.json"),
    "Advice.suggest": call(ADVICE.suggest),
    "Advisor.advise": call(ADVISOR.advise, measure="mi"),
    "Certificate.save": call(FOUND.certificate.save, path="certificate.json"),
    "Configuration.epsilons": call(CONFIGURATIONS["c1"].epsilons),
    "Configuration.to_sql": call(CONFIGURATIONS["c1"].to_sql),
    "Configurations.save": call(CONFIGURATIONS.save, path="masks.json"),
    "Domain": call(domain.Domain, kind="integer", values=[1, 2]),
    "Domain.of": call(domain.Domain.of, values=[1, 2]),
    "Hierarchy.from_csv": call(ao.Hierarchy.from_csv, path="not there"),
    "Problem.from_table": call(ao.Problem.from_table, groups=[0, 0, 1], label_groups=[0, 1]),
    "Problem.residual": call(PROBLEM.residual),
    "Problem.with_totals": call(PROBLEM.with_totals, joints=[[[3, 1], [0, 2]]], histogram=None),
    "Reconstruction.plot": call(ao.reconstruct(PROBLEM).plot),
    "ScoreSummary.label_spec": call(SCORES.label_spec, configuration="c1"),
    "ScoreSummary.save": call(SCORES.save, path="scores.json"),
    "ScoreSummary.spec": call(SCORES.spec, configuration="c1", attribute="age"),
    "SearchResult.alternatives": call(FOUND.alternatives),
    "Summaries.save": call(summary.Summaries({"y": SUMMARY}).save, path="summaries.json"),
    "Summary.is_raw": call(SUMMARY.is_raw, table=COUNTED[0]),
    "Summary.label_groups": call(SUMMARY.label_groups, table=COUNTED[0]),
    "Summary.label_spec": call(SUMMARY.label_spec, configuration="c1"),
    "Summary.load": call(ao.Summary.load, path="not there"),
    "Summary.masked_table": call(SUMMARY.masked_table, configuration="c1", attribute="age"),
    "Summary.problem": call(SUMMARY.problem, attribute="age"),
    "Summary.save": call(SUMMARY.save, path="summary.json"),
    "Summary.spec": call(SUMMARY.spec, configuration="c1", attribute="age"),
    "Summary.views": call(SUMMARY.views, tables=COUNTED),
    "View.with_joint": call(ao.View([0, 0, 1], [[3, 1], [0, 2]]).with_joint, joint=[[3, 1], [0, 2]]),
}
CLASSES = {
    "AddNoise": call(ao.AddNoise, distribution="geometric", scale=2.0),
    "Advices": call(ao.Advices, advices={"y": ADVICE}),
    "Advisor": call(ao.Advisor),
    "BetaLikeness": call(privacy_room.BetaLikeness, beta=1.0),
    "Blur": call(ao.Blur, width=2),
    "Bucketize": call(ao.Bucketize, width=2),
    "Case": call(harness.Case, name="case"),
    "Channel": call(masks.Channel, matrix=[[1.0, 0.0], [0.0, 1.0]], labels=("a", "b")),
    "ComparisonSettings": call(harness.ComparisonSettings, solvers=["ipf"]),
    "Configuration": call(ao.Configuration, masks={"age": ao.Suppress()}, name="c"),
    "Configurations": call(ao.Configurations, configurations={"c": {"age": ao.Suppress()}}),
    "ControlledRounding": call(privacy_room.ControlledRounding),
    "Dataset": call(ao.datasets.Dataset, name="d", frame=FRAME, description="of the tests"),
    "DeltaDisclosure": call(privacy_room.DeltaDisclosure, delta=1.0),
    "DifferentialPrivacy": call(privacy_room.DifferentialPrivacy, epsilon=1.0),
    "EraseDigits": call(ao.EraseDigits, digits=1),
    "Generalize": call(ao.Generalize, ranges=2),
    "Grouping": call(masks.Grouping, groups=[0, 0, 1], labels=("a", "b")),
    "Hierarchy": call(ao.Hierarchy, rows=[["a", "b"]]),
    "Huber": call(distances.Huber),
    "KAnonymity": call(privacy_room.KAnonymity, k=2),
    "KeepTop": call(ao.KeepTop, n=2),
    "LDiversity": call(privacy_room.LDiversity, l=2),
    "LinearConstraint": call(problem.LinearConstraint, coefficients=TABLE, upper=2.0),
    "Lp": call(distances.Lp),
    "Measure": call(measures.Measure, name="m", title="M", function=ao.mutual_information,
                    higher_is_better=True, monotone=False),
    "Microaggregate": call(ao.Microaggregate, k=2),
    "Model": call(scores.Model),
    "PoolRare": call(ao.PoolRare, min_count=2),
    "Pram": call(ao.Pram, matrix=[[0.9, 0.1], [0.1, 0.9]]),
    "Prefix": call(ao.Prefix, length=1),
    "Problem": call(ao.Problem, views=[ao.View([0, 0, 1], [[3, 1], [0, 2]])]),
    "Race": call(scores.Race),
    "RandomizedResponse": call(ao.RandomizedResponse, p=0.8),
    "Roughness": call(distances.Roughness),
    "Summaries": call(summary.Summaries, summaries={"y": SUMMARY}),
    "TCloseness": call(privacy_room.TCloseness, t=0.2),
    "TopCode": call(ao.TopCode, top=2),
    "Truncate": call(ao.Truncate, unit="month"),
    "Variant": call(harness.Variant, solver="ipf"),
    "View": call(ao.View, groups=[0, 0, 1], joint=[[3, 1], [0, 2]]),
    "View with a channel": call(ao.View, joint=[[3, 1], [0, 2]], channel=[[0.8, 0.1], [0.2, 0.9]]),
    "Weighted": call(distances.Weighted, distance="l1", weights=[[1.0, 2.0]]),
}  # fmt: skip
CALLS = calls()

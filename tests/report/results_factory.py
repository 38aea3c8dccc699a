"""Made-up results with all that a comparison can hold: successes, failures, time-outs, skipped runs, gaps."""

import zlib
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from aegis_opt.harness._results import Results, ResultsFolder, make_meta, write_parquet
from aegis_opt.harness._schema import COLUMNS, FAILED, NO_WINNER, OK, SKIPPED, TIMED_OUT

HOSTILE = 'odd</script><script>alert("x")</script>'
"""A variant's name that would break a page which does not escape."""

VARIANTS = ("ipf", "convex:l1", "integer:l2", "slow", "broken", "absent", "random", HOSTILE)
DATASETS = {"people": 3, "shops & <co>": 2}  # name: number of attributes
MEASURES = ("chi2", "mi")
TIME_LIMIT = 9.0
TRUE = {"c0": 0.1, "c1": 0.2, "c2": 0.6}  # deviations by configuration
_LEAST, _MEAN, _MOST = min(TRUE.values()), sum(TRUE.values()) / len(TRUE), max(TRUE.values())


def make_results() -> Results:
    """Return results of two data sets, eight variants, both scopes, with and without histograms."""
    reconstructions: list[dict[str, Any]] = []
    advice: list[dict[str, Any]] = []
    rankings: list[dict[str, Any]] = []
    for dataset, variant, scope, histogram in product(
        DATASETS, VARIANTS, ("pooled", "single"), (True, False)
    ):
        for seed in (0, 1) if variant == HOSTILE else (0,):
            run = {
                "dataset": dataset,
                "variant": variant,
                "solver": variant.split(":")[0],
                "norm": "none",
                "rounding": "none",
                "scope": scope,
                "histogram": histogram,
                "seed": seed,
                "n_labels": 3,
                "n_records": 500,
            }
            answers = [_advice(run, measure) for measure in MEASURES]
            advice += answers
            rankings += [place for row in answers for place in _ranking(run, row)]
            if variant != "random":
                reconstructions += _reconstructions(run)
    return Results(
        advice=pd.DataFrame(advice, columns=list(COLUMNS["advice"])),
        reconstructions=pd.DataFrame(reconstructions, columns=list(COLUMNS["reconstructions"])),
        rankings=pd.DataFrame(rankings, columns=list(COLUMNS["rankings"])),
        meta=make_test_meta(),
    )


def frames_of(results: Results) -> dict[str, pd.DataFrame]:
    return {table: getattr(results, table) for table in COLUMNS}


def changed(results: Results, **frames: pd.DataFrame) -> Results:
    """The same results but for the tables given."""
    return Results(**(frames_of(results) | frames), meta=results.meta)


def make_test_meta() -> dict[str, Any]:
    datasets = {
        name: {
            "fingerprint": name,
            "label": "income",
            "records": 500,
            "label_counts": [300, 150, 50],
            "attributes": {f"a{i}": 10 for i in range(n)},
            "configurations": list(TRUE),
        }
        for name, n in DATASETS.items()
    }
    plan = {
        "variants": list(VARIANTS),
        "measures": list(MEASURES),
        "scopes": ["pooled", "single"],
        "histograms": [True, False],
        "seeds": [0, 1],
    }
    return make_meta(datasets, {"replicates": 1, "time_limit": TIME_LIMIT}, plan) | {
        "started": "2025-03-01T10:00:00+00:00"
    }


def save_results(results: Results, folder: Path) -> Path:
    """Write a results folder as a comparison does."""
    ResultsFolder(folder, results.meta)
    for table, frame in frames_of(results).items():
        write_parquet(folder / table / "unit.parquet", table, frame.to_dict("records"))  # type: ignore[arg-type]
    return folder


def _reconstructions(run: dict[str, Any]) -> list[dict[str, Any]]:
    rows = []
    for attribute in range(DATASETS[run["dataset"]]):
        # the first and the last configuration mask alike: they share a table and its numbers
        places = {"*": None} if run["scope"] == "pooled" else {"c0": 0, "c1": 1, "c2": 0}
        for configuration, table in places.items():
            random = _random(run["dataset"], run["variant"], run["scope"], run["histogram"], attribute, table)
            row = run | {"configuration": configuration, "attribute": f"a{attribute}", "table": table}
            row |= {"n_values": 10, "n_groups": None if table is None else 4}
            end = _ending(run["variant"], "reconstructions", attribute)
            if end["status"] == OK:
                times = random.uniform(0.001, 0.05, 3)
                row |= {
                    "tvd": float(random.uniform(0.02, 0.3) * (0.6 if run["histogram"] else 1)),
                    "objective": float(random.uniform(1, 5)),
                    "residual": float(random.uniform(0, 1e-9)),
                    "method": "flow",
                    "optimal": run["variant"] != "ipf",
                    "gap": 0.0,
                    "seconds_build": times[0],
                    "seconds_solve": times[1],
                    "seconds_round": times[2],
                    "seconds_total": times.sum(),
                    "peak_mb": 1.5,
                }
                end["status"] = "optimal"
            rows.append(row | end)
    return rows


def _advice(run: dict[str, Any], measure: str) -> dict[str, Any]:
    random = _random(*(str(value) for value in run.values()), measure)
    row = run | {
        "measure": measure,
        "n_configurations": 3,
        "smallest_class": 50,
        "pud_true_min": _LEAST,
        "pud_true_mean": _MEAN,
        "pud_true_max": _MOST,
    }
    end = _ending(run["variant"], "advice", int(measure == "mi"))
    if run["variant"] == "ipf" and not run["histogram"]:
        end = {"status": NO_WINNER, "error": "every estimate is the same", "certified": False}
        return row | end | {"seconds_total": 0.02, "pud_error": 0.2}
    if end["status"] != OK:
        return row | end
    chosen = float(random.choice([_LEAST, _MEAN, _MOST]))
    row |= {
        "regret": chosen - _LEAST,
        "tau": float(random.uniform(0, 1)),
        "certified": run["variant"] == "ipf",
    }
    row |= {"pud_best_true": chosen, "seconds_total": float(random.uniform(0.01, 0.2)), "peak_mb": 2.0}
    if run["variant"] != "random":
        row |= {
            "best": "c0",
            "pud_best_estimated": chosen * float(random.uniform(0.5, 1.2)),
            "pud_error": 0.05,
        }
    return row | end


def _ending(variant: str, table: str, index: int) -> dict[str, Any]:
    if variant == "slow" and index == 0:
        return {"status": TIMED_OUT, "error": f"not done after {TIME_LIMIT:g} s"}
    if variant == "broken":
        return {"status": FAILED, "error": f"ZeroDivisionError: <i>{table}</i>"}
    if variant == "absent":
        return {"status": SKIPPED, "error": "'absent' is not installed: pip install absent"}
    return {"status": OK, "error": None}


def _ranking(run: dict[str, Any], advice: dict[str, Any]) -> list[dict[str, Any]]:
    """The configurations in order; none where nothing was estimated."""
    if run["variant"] == "random" or advice["status"] not in (OK, NO_WINNER):
        return []
    random = _random(*(str(value) for value in run.values()), advice["measure"], "ranking")
    proved = advice["measure"] == "mi"
    rows = []
    for name, true in TRUE.items():
        pud = 0.0 if advice["status"] == NO_WINNER else true * float(random.uniform(0.8, 1.3))
        low, high = (0.7 * true, None if name == "c2" else 1.4 * true) if proved else (None, None)
        row = run | {"measure": advice["measure"], "configuration": name, "pud": pud, "pud_true": true}
        rows.append(row | {"pud_low": low, "pud_high": high})
    rows.sort(key=lambda row: float(row["pud"]))
    return [row | {"rank": 1 if row["pud"] == 0 else place} for place, row in enumerate(rows, start=1)]


def _random(*parts: object) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(repr(parts).encode()))

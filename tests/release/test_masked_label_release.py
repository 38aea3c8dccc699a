"""The label masked where the data are: frames, files, SQL, the transformer and the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import aegis_opt as ao
from aegis_opt.cli import main
from aegis_opt.errors import ConfigurationError, InvalidInput, MaskError

ILL_WELL = ao.Generalize({"ill": ["VP", "P", "M"], "well": ["G", "VG"]})
THREE = ao.Generalize({"bad": ["VP", "P"], "fair": ["M"], "good": ["G", "VG"]})
MASKS = {"age": ao.Bucketize(width=20), "health": ILL_WELL}


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return ao.datasets.clinic(200, seed=3).frame[["age", "zip", "health"]]


def expected(frame: pd.DataFrame) -> list[str]:
    return ["well" if value in ("G", "VG") else "ill" for value in frame["health"]]


def test_the_label_is_masked_as_any_column(frame: pd.DataFrame, tmp_path: Path) -> None:
    assert ao.apply_configuration(frame, MASKS)["health"].tolist() == expected(frame)
    assert ao.apply_configuration(pl.from_pandas(frame), MASKS)["health"].to_list() == expected(frame)
    frame.to_csv(tmp_path / "data.csv", index=False)
    masked = ao.apply_configuration(tmp_path / "data.csv", MASKS, output=tmp_path / "masked.parquet")
    assert pd.read_parquet(masked)["health"].tolist() == expected(frame)
    configuration = ao.Configurations({"c": MASKS}, label="health")["c"]
    sql = configuration.to_sql("duckdb", "frame", domains=ao.source_domains(frame, configuration))
    assert duckdb.sql(sql).df()["health"].tolist() == expected(frame)


@pytest.mark.parametrize("kind", ["series", "array", "list", "polars"])
def test_the_transformer_masks_y(frame: pd.DataFrame, kind: str) -> None:
    X, labels = frame[["age", "zip"]], frame["health"]
    y: Any = {
        "series": labels.set_axis(range(5, 5 + len(labels))),
        "array": labels.to_numpy(dtype=object),
        "list": labels.tolist(),
        "polars": pl.Series("health", labels.tolist()),
    }[kind]
    masking = ao.MaskingTransformer(MASKS, label="health").fit(X, y).fit_label(y)
    masked = masking.transform_label(y)
    assert list(masked) == expected(frame)
    assert list(masking.transform(X).columns) == ["age", "zip"]
    assert set(masking.masks_) == {"age"}
    assert masking.label_mask_ == ILL_WELL
    if kind == "series":
        assert masked.name == "health"
        assert masked.index.equals(y.index)
    if kind == "polars":
        assert isinstance(masked, pl.Series)
        assert masked.name == "health"
    if kind in ("array", "list"):
        assert isinstance(masked, np.ndarray)


def test_the_transformer_looks_the_label_up(frame: pd.DataFrame) -> None:
    configurations = ao.Configurations({"c": MASKS, "open": {"age": ao.Blur(5)}}, label="health")
    X, y = frame[["age", "zip"]], frame["health"]
    named = ao.MaskingTransformer("c", configurations=configurations)
    assert clone(named).fit_label(y).transform_label(y).tolist() == expected(frame)
    unmasked = ao.MaskingTransformer("open", configurations=configurations).fit_label(y)
    assert unmasked.label_mask_ is None
    assert unmasked.transform_label(y) is y
    masked_y = named.fit_label(y).transform_label(y)
    pipeline = make_pipeline(clone(named), OneHotEncoder(handle_unknown="ignore"), DecisionTreeClassifier())
    assert np.isfinite(cross_val_score(pipeline, X[["age"]], masked_y, cv=3)).all()


def test_what_the_transformer_refuses(frame: pd.DataFrame) -> None:
    X, y = frame[["age", "zip"]], frame["health"]
    with pytest.raises(InvalidInput, match=r"call fit_label\(y\) first"):
        ao.MaskingTransformer(MASKS, label="health").fit(X, y).transform_label(y)
    with pytest.raises(ConfigurationError, match=r"'sick'.*masked: 'age', 'health'"):
        ao.MaskingTransformer(MASKS, label="sick").fit(X, y)
    with pytest.raises(ConfigurationError, match="drop it from X"):
        ao.MaskingTransformer(MASKS, label="health").fit(frame, y)
    frequent = ao.MaskingTransformer({"health": ao.KeepTop(2)}, label="health").fit_label(y)
    assert set(frequent.label_mask_.values) == set(y.value_counts().index[:2])  # type: ignore[union-attr]
    with pytest.raises(ConfigurationError, match="suppresses the label"):
        ao.MaskingTransformer({"health": ao.Suppress()}, label="health").fit(X, y)
    one = ao.Generalize({"all": ["VP", "P", "M", "G", "VG"]})
    with pytest.raises(MaskError, match="leaves one class of the label 'health'"):
        ao.MaskingTransformer({"health": one}, label="health").fit_label(y)
    with pytest.raises(MaskError, match=r"'health'.*'unheard'"):
        ao.MaskingTransformer(MASKS, label="health").fit_label(y).transform_label(["unheard"])
    with pytest.raises(InvalidInput, match="one for each record"):
        ao.MaskingTransformer(MASKS, label="health").fit_label(np.zeros((4, 2)))


def test_the_command_line_from_file_to_file(
    frame: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    frame.to_csv("data.csv", index=False)
    configurations = ao.Configurations(
        {"two": MASKS, "three": {"age": ao.Bucketize(width=30), "health": THREE}}, label="health"
    )
    configurations.save(tmp_path / "masks.yaml")
    text = (tmp_path / "masks.yaml").read_text()
    assert "health:" in text
    assert ao.load_configurations(tmp_path / "masks.yaml") == configurations
    assert main(["summarize", "data.csv", "--configurations", "masks.yaml", "-o", "s.json"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "2 configurations mask the label; its 5 classes and their counts are not shared" in told
    assert "the values of the label health" in told
    assert main(["advise", "s.json", "--measure", "mi"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "three: the label health generalize" in told
    assert "the order is proved" in told
    assert main(["advise", "s.json", "--measure", "mi", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["certified"] is True
    assert main(["audit", "s.json"]) == 0
    mask = ["mask", "data.csv", "--configurations", "masks.yaml", "--name", "two", "-o", "m.csv"]
    assert main(mask) == 0
    assert pd.read_csv("m.csv")["health"].tolist() == expected(frame)
    compare = ["compare", "data.csv", "--configurations", "masks.yaml", "--solver", "ipf", "--measure", "mi"]
    assert main([*compare, "-o", "results"]) == 0
    capsys.readouterr()
    removed = {"label": "health", "configurations": {"c": {"health": {"function": "suppress"}}}}
    Path("bad.json").write_text(json.dumps(removed))
    assert main(["summarize", "data.csv", "--configurations", "bad.json", "-o", "x.json"]) == 1
    assert "suppresses the label 'health'" in " ".join(capsys.readouterr().err.split())
    assert not Path("x.json").exists()


def test_the_harness_judges_by_the_masked_label(frame: pd.DataFrame) -> None:
    configurations = {
        "two": MASKS,
        "three": {"age": ao.Bucketize(width=30), "health": THREE},
        "open": {"age": ao.Bucketize(width=45)},
    }
    results = ao.compare(frame, "health", configurations, solvers=["ipf"], measures=["mi", "chi2", "g3"])
    pooled = results.query("scope == 'pooled'")
    certified = pooled[pooled["measure"].isin(["mi", "chi2"])]
    assert certified["certified"].all()
    assert (certified["regret"] == 0).all()
    assert (certified["tau"] == 1).all()
    assert not pooled[pooled["measure"] == "g3"]["certified"].any()
    truth = ao.harness.true_deviation(frame, "mi", "health", configurations)
    raw = pd.crosstab(frame["age"], frame["health"])
    for name, masks in configurations.items():
        released = ao.apply_configuration(frame, masks)
        masked = pd.crosstab(released["age"], released["health"])
        assert truth[name] == pytest.approx(ao.mutual_information(raw) - ao.mutual_information(masked))

"""CSV output that a spreadsheet would take for formulas, and the option that prevents it."""

import csv

import pandas as pd
import pytest

from aegis_opt.errors import InvalidOption
from aegis_opt.masks import Generalize, Suppress
from aegis_opt.release import apply_configuration

HARMFUL = ["=1+1", "+x", "-x", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1", "=", "-1-1", "+49 351 12"]  # noqa: RUF001
HARMLESS = ["a=1", "", "-1", "+1.5", "-.5e3", "'=1", " =1", "1-1", None, "[1, 2)"]


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.reader(file, delimiter="\t" if path.suffix == ".tsv" else ","))


@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_texts_and_names_that_begin_as_formulas_get_an_apostrophe(tmp_path, ending):
    texts = HARMFUL + HARMLESS
    frame = pd.DataFrame({"=x": texts, "n": range(-5, len(texts) - 5), "kind": pd.Categorical(texts)})
    kept = rows_of(apply_configuration(frame, {}, output=tmp_path / f"kept.{ending}"))
    assert kept[0] == ["=x", "n", "kind"]
    assert [row[0] for row in kept[1:]] == [text or "" for text in texts]
    path = apply_configuration(frame, {}, output=tmp_path / f"safe.{ending}", escape_formulas=True)
    header, *rows = rows_of(path)
    assert header == ["'=x", "n", "kind"]
    expected = [f"'{text}" for text in HARMFUL] + [text or "" for text in HARMLESS]
    assert [row[0] for row in rows] == [row[2] for row in rows] == expected
    assert [int(row[1]) for row in rows] == frame["n"].tolist()


def test_masked_values_are_escaped_too(tmp_path):
    mask = Generalize({"=low": [1], "high": [2]})
    path = apply_configuration(
        pd.DataFrame({"a": [1, 2]}), {"a": mask}, output=tmp_path / "t.csv", escape_formulas=True
    )
    assert rows_of(path) == [["a"], ["'=low"], ["high"]]


@pytest.mark.parametrize("output", [None, "t.parquet"])
def test_the_option_is_refused_where_it_would_do_nothing(tmp_path, output):
    with pytest.raises(InvalidOption, match="escape_formulas is for CSV and TSV files"):
        apply_configuration(
            pd.DataFrame({"a": [1]}),
            {"a": Suppress()},
            output=None if output is None else tmp_path / output,
            escape_formulas=True,
        )

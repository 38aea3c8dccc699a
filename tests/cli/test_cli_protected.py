"""Protected summaries on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

import aegis_opt as ao
from aegis_opt.cli import main
from aegis_opt.summary import ProtectedSummary


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = {"age": [10, 20, 30, 40] * 25, "sex": ["F", "M"] * 50, "y": ["a", "b", "b", "a"] * 25}
    pd.DataFrame(rows).to_csv("t.csv", index=False)
    masks = {"fine": {"age": ao.Bucketize(width=20)}, "closed": {"age": ao.Suppress(), "sex": ao.Suppress()}}
    ao.save_configurations(ao.Configurations(masks, label="y"), "c.json")
    return tmp_path


BASE = ["summarize", "t.csv", "--configurations", "c.json", "-o", "s.json"]
DOMAINS = ["--domain", "age=0..50", "--domain", "sex=F,M", "--domain", "y=a,b"]


@pytest.mark.usefixtures("table")
def test_noise_and_rounding(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*BASE, "--epsilon", "1", *DOMAINS, "--missing", "sex"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "two-sided geometric noise of scale 2" in out
    assert "epsilon 1 for adding or removing one record" in out
    summary = ao.Summary.load("s.json")
    assert isinstance(summary, ProtectedSummary)
    assert [a.n_values for a in summary.attributes.values()] == [51, 3]
    assert main(["advise", "s.json", "--measure", "mi"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "nothing is proved about the order" in out
    assert "about " in out
    assert main([*BASE, "--base", "5", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["protection"] == {"method": "rounding", "base": 5, "tables": 2, "seeded": False}


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize(
    ("options", "code", "named"),
    [
        (["--epsilon", "0", *DOMAINS], 1, "epsilon must be a positive number"),
        (["--epsilon", "x"], 2, "must be a number"),
        (["--epsilon", "1"], 1, "was not declared public"),
        (["--epsilon", "1", "--base", "5"], 2, "give one of them"),
        (["--base", "1"], 2, "from 2 up"),
        (["--delta", "1e-6"], 2, "it is about noise"),
        (["--domain", "age=0..50"], 2, "it is about protected counts"),
        (["--epsilon", "1", "--domain", "age=0..999999999999"], 2, "at most 100,000"),
        (["--epsilon", "1", "--domain", "age=9..1"], 2, "low..high"),
        (["--epsilon", "1", "--domain", "age"], 2, "size=S,M,L"),
        (["--epsilon", "1", *DOMAINS, *DOMAINS[:2]], 2, "declared twice"),
        (["--epsilon", "1", "--missing", "sex"], 2, "with --domain, too"),
        (["--epsilon", "1", *DOMAINS, "--histograms"], 1, "histograms would share"),
    ],
)
def test_wrong_usage(options: list[str], code: int, named: str, capsys: pytest.CaptureFixture[str]) -> None:
    if code == 2:
        with pytest.raises(SystemExit, match="2"):
            main([*BASE, *options])
    else:
        assert main([*BASE, *options]) == code
    assert named in " ".join(capsys.readouterr().err.split())
    assert not Path("s.json").exists()

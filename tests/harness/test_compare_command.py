"""The command `compare`: the same comparison from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import aegis_opt as ao
from aegis_opt.cli import main
from aegis_opt.harness import load_results
from aegis_opt.harness._other_libraries import Ipfn


@pytest.fixture
def words(tmp_path) -> list[str]:
    example = ao.datasets.worked_example()
    example.frame.to_csv(tmp_path / "people.csv", index=False)
    ao.save_configurations(example.configurations, tmp_path / "masks.yaml")
    source, masks = str(tmp_path / "people.csv"), str(tmp_path / "masks.yaml")
    return ["compare", source, "--configurations", masks, "-o", str(tmp_path / "results")]


def test_it_writes_a_folder_and_shows_it_in_brief(words, capsys) -> None:
    assert main([*words, "--solver", "ipf", "--solver", "sampling", "--measure", "mi"]) == 0
    shown = capsys.readouterr().out
    assert "people (100 records)" in shown
    assert "8 advisor runs and 8 reconstructions" in shown
    assert set(load_results(words[-1]).advice["variant"]) == {"ipf", "sampling"}


def test_json_has_the_overview_and_what_was_skipped(words, capsys) -> None:
    assert main([*words, "--json", "--solver", "humanleague-integerise", "--histograms", "without"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["overview"][0]["skipped"] == 3
    assert document["overview"][0]["regret"] is None
    assert document["problems"][0]["error"].endswith("share the histogram")


def test_a_run_whose_tables_miss_the_totals_is_told(words, capsys, tmp_path) -> None:
    clinic = ao.datasets.clinic(200)
    clinic.frame.to_csv(tmp_path / "people.csv", index=False)
    ao.save_configurations(clinic.configurations, tmp_path / "masks.yaml")
    solvers = ["--solver", "ipf[max_iterations=1]", "--solver", "ipf", "--measure", "mi"]
    solvers += ["--scope", "pooled", "--histograms", "with"]
    assert main([*words, *solvers, "--json"]) == 0
    [problem] = json.loads(capsys.readouterr().out)["problems"]
    assert problem["status"] == "ok"
    assert problem["error"].startswith("not converged: tables of '")
    assert main([*words, *solvers]) == 0
    assert "Inexact  ipf[max_iterations=1], " in capsys.readouterr().out
    advice = load_results(words[-1]).advice.set_index("variant")
    assert advice.loc[["ipf"], "error"].isna().all()


def test_a_solver_that_is_not_installed_is_skipped_visibly_here_and_in_the_report(
    words, monkeypatch, capsys, tmp_path
) -> None:
    monkeypatch.setattr(Ipfn, "module", "no_such_library")
    solvers = ["--solver", "ipf", "--solver", "ipfn", "--measure", "mi", "--scope", "single"]
    assert main([*words, *solvers]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "Skipped ipfn, single: peer 'ipfn' needs the package ipfn: pip install 'aegis-opt[bench]'" in shown
    rows = load_results(words[-1]).advice.set_index("variant")["status"]
    assert set(rows["ipfn"]) == {"skipped"}
    assert "skipped" not in set(rows["ipf"])
    assert main(["report", words[-1], "-o", str(tmp_path / "report.html")]) == 0
    head = (tmp_path / "report.html").read_text().partition("<script")[0]
    assert "<b>Skipped</b> ipfn: 4 rows. peer &#x27;ipfn&#x27; needs the package ipfn" in head
    monkeypatch.undo()
    assert main([*words, *solvers]) == 0  # now it is there, and is tried again
    assert "skipped" not in set(load_results(words[-1]).advice["status"])


def _older(folder: Path) -> str:
    path = folder / "meta.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"version": 1}))
    return "meta.json: results of version 1, while this aegis-opt reads version 2"


def _cut(folder: Path) -> str:
    path = min((folder / "rankings").iterdir())
    path.write_bytes(path.read_bytes()[:-50])
    return f"{path.name}: cut short or no results file"


def _half(folder: Path) -> str:
    path = folder / "meta.json"
    path.write_text(path.read_text()[:100])
    return "meta.json: cannot be read"


def _wrong(folder: Path) -> str:
    path = folder / "meta.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"datasets": {"mixed": None}}))
    return "meta.json: data set 'mixed' is missing or damaged"


@pytest.mark.parametrize(
    "damage",
    [_older, _cut, _half, _wrong],
    ids=["another version", "cut short", "half its facts", "a fact of the wrong type"],
)
def test_results_that_cannot_be_read_are_named_by_both_commands(words, damage, capsys, tmp_path) -> None:
    words += ["--solver", "ipf", "--measure", "mi", "--scope", "single"]
    assert main(words) == 0
    told = damage(tmp_path / "results")
    for command in (words, ["report", str(tmp_path / "results"), "-o", str(tmp_path / "report.html")]):
        capsys.readouterr()
        assert main(command) == 1
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith("aegis-opt: error: ")
        assert told in err
        assert len(err.splitlines()) == 1
    assert not (tmp_path / "report.html").exists()


def test_a_folder_that_cannot_be_written_is_told_before_the_scan(words, capsys, tmp_path) -> None:
    (tmp_path / "people.csv").unlink()  # a scan would miss it
    assert main([*words[:-1], str(tmp_path / "masks.yaml" / "results")]) == 1
    assert "masks.yaml/results cannot be written: Not a directory" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "text"),
    [
        (["--solver", "ipff"], "did you mean 'ipf'"),
        (["--measure", "nothing"], "unknown measure 'nothing'"),
        (["--norm", "l9"], "'l9'"),
        (["--time-limit", "-1"], "time_limit must be a positive number"),
        (["--time-limit", "1e12"], "at most 604800 (a week)"),
        (["--seed", str(2**63)], "seed must be a whole number from 0 to"),
        (["--measure", "mi", "--measure", "mi"], "a measure is listed twice: mi, mi"),
        (["--label", "nothing"], "unknown column 'nothing'"),
    ],
)
def test_bad_input_is_told_without_a_traceback_and_leaves_no_folder(
    words, more, text, capsys, tmp_path
) -> None:
    assert main([*words, *more]) == 1
    told = capsys.readouterr().err
    assert text in told
    assert "Traceback" not in told
    assert not (tmp_path / "results").exists()

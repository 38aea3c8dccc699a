"""The command `compare`: the same comparison from the command line."""

from __future__ import annotations

import json

import pytest

import aegis_opt as ao
from aegis_opt.cli import main
from aegis_opt.harness import load_results


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


@pytest.mark.parametrize(
    ("more", "text"),
    [
        (["--solver", "ipff"], "did you mean 'ipf'"),
        (["--measure", "nothing"], "unknown measure 'nothing'"),
        (["--norm", "l9"], "'l9'"),
        (["--time-limit", "-1"], "time_limit must be a positive number"),
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

"""`python -m benchmarks.load`: every case at its smallest, and the command."""

from __future__ import annotations

import pytest

from benchmarks import load, load_cases


def test_every_case_has_limits() -> None:
    assert list(load.CASES) == list(load_cases.CASES)


@pytest.mark.parametrize("case", load_cases.CASES)
def test_each_case_has_right_answers_and_is_measured(case: str) -> None:
    found = load_cases.run(case, 30 if case in ("classes", "values") else 2)
    assert found["wrong"] == ""
    assert found["wall"] > 0
    assert min(found["before"], found["peak"]) > 0


def test_the_command_prints_time_memory_and_growth(capsys) -> None:
    assert load.main(["configurations", "--share", "0.001"]) == 0
    head, row = capsys.readouterr().out.splitlines()[1:]
    assert head.split() == ["size", "wall", "s", "cpu", "s", "growth", "peak", "MiB", "growth", "limit"]
    assert row.split()[:2] == ["configurations", "5"]
    assert max(len(head), len(row)) <= 80


def test_what_is_over_its_limit_is_told_and_fails(capsys, monkeypatch) -> None:
    sizes = {2: (0.5, 150.0, ""), 4: (5.0, 600.0, "the answers changed")}

    def measured(module: str, experiment: str, *, case: str, size: int) -> dict[str, object]:
        cpu, peak, wrong = sizes[size]
        return {"wall": cpu, "cpu": cpu, "before": 100.0, "peak": peak, "wrong": wrong}

    monkeypatch.setattr(load, "in_a_process", measured)
    assert load.main(["repeats", "--share", "0.02"]) == 1
    assert [line.strip() for line in capsys.readouterr().out.splitlines()[3:]] == [
        "wrong: the answers changed",
        "wrong: more than 500 MiB",
        "wrong: the second half added 450 MiB",
        "wrong: the time grows faster than the size",
    ]


def test_an_unknown_case_is_refused(capsys) -> None:
    with pytest.raises(SystemExit):
        load.main(["thread"])
    assert "unknown case 'thread'; known: threads, processes" in capsys.readouterr().err

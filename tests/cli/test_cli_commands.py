"""Each command does what the library does, and shows it to people and to machines."""

import io
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import numpy as np
import pandas as pd
import pytest

import aegis_opt as ao
from aegis_opt.advisor._estimate import Scope
from aegis_opt.cli import main
from aegis_opt.cli._arguments import key_value
from aegis_opt.cli._output import bar, listing, make_console, make_table, progress, show_table
from aegis_opt.cli._parser import build_parser

Run = Callable[..., tuple[int, str, str]]
PNG = b"\x89PNG\r\n\x1a\n"


def printed_ranking(text: str) -> list[str]:
    """The configurations in the lines that hold a rank, a name and a deviation."""
    return re.findall(r"^ +\d+ +(\S+) +\d+\.\d+ ", text, flags=re.MULTILINE)


def test_worked_example_prints_the_numbers_of_the_paper(run: Run, tmp_path: Path) -> None:
    code, out, err = run("demo", "--data", "worked-example", "--output", tmp_path)
    assert (code, err) == (0, "")
    rows = {line.split("  ")[0].strip(): line.split()[-3:] for line in out.splitlines() if line.strip()}
    assert rows["mutual information (bits)"] == ["0.6396", "0.4176", "0.2220"]
    assert rows["g3 error"] == ["0.5300", "0.5900", "0.0600"]
    assert rows["chi-square"] == ["85.963", "58.635", "27.328"]
    assert "0.1730 with histogram" in out
    assert "0.2853 without histogram" in out
    assert ao.Summary.load(tmp_path / "summary.json").n_records == 100


def test_worked_example_as_json(run: Run, tmp_path: Path) -> None:
    _, out, _ = run("demo", "--data", "worked-example", "--output", tmp_path, "--json")
    found = json.loads(out)
    assert found["measures"]["chi2"]["raw"] == pytest.approx(85.963, abs=5e-4)
    assert found["tvd"] == pytest.approx({"with histogram": 0.1730, "without histogram": 0.2853}, abs=5e-5)


def test_demo_ranks_the_clinic_and_leaves_picture_and_summary(run: Run, tmp_path: Path) -> None:
    code, out, err = run("demo", "--rows", 300, "--seed", 3, "--output", tmp_path / "new")
    assert (code, err) == (0, "")
    data = ao.datasets.clinic(300, seed=3)
    summary = ao.Summary.load(tmp_path / "new" / "summary.json")
    assert summary == ao.summarize(data.frame, data.label, data.configurations, histograms=True)
    assert "3 histograms" in out
    expected = ao.advise(summary, "mi")
    assert printed_ranking(out) == [*expected.ranking["configuration"].head(8)]
    assert f"Best       {expected.best}" in out
    assert "truly the best" in out
    assert "disclosed" in out
    assert len(out.splitlines()) <= 45
    assert max(map(len, out.splitlines())) <= 100
    assert (tmp_path / "new" / "ranking.png").read_bytes().startswith(PNG)
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["ranking.png", "summary.json"]


def test_demo_as_json_has_the_true_deviation_within_the_bounds(run: Run, tmp_path: Path) -> None:
    _, out, _ = run("demo", "--rows", 300, "--output", tmp_path, "--measure", "g3", "--json")
    found = json.loads(out)
    ranking = pd.DataFrame(found["advice"]["ranking"])
    true = ranking["configuration"].map(found["true_pud"])
    assert (true >= ranking["pud_low"] - 1e-12).all()
    assert (true <= ranking["pud_high"] + 1e-12).all()
    assert true.is_monotonic_increasing
    assert found["true_random_choice_pud"] == pytest.approx(true.mean())


def test_demo_without_altair_says_how_to_get_the_picture(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    code, out, _ = run("demo", "--rows", 300, "--output", tmp_path)
    assert code == 0
    assert "pip install 'aegis-opt[plot]'" in out
    assert [path.name for path in tmp_path.iterdir()] == ["summary.json"]


def test_generate_summarize_advise_work_one_after_the_other(run: Run, files: Path) -> None:
    masks, summary = files / "new.yaml", files / "new.json.gz"
    code, out, _ = run(
        "generate", files / "people.csv", "--label", "health", "-n", 7, "--seed", 1, "-o", masks
    )
    assert code == 0
    assert f"7 configurations written to {masks}" in out
    drawn = ao.load_configurations(masks)
    assert drawn == ao.generate_configurations(str(files / "people.csv"), "health", n=7, seed=1)
    code, out, _ = run("summarize", files / "people.csv", "--configurations", masks, "-o", summary)
    assert code == 0
    assert all(name in out for name in ("age", "weight", "zip", "300 records, 7 configurations"))
    code, out, _ = run("advise", summary, "--top", "all")
    assert code == 0
    ranking = ao.advise(summary).ranking
    assert printed_ranking(out) == [*ranking["configuration"]]


def test_generate_writes_every_combination(run: Run, files: Path) -> None:
    words = ("generate", files / "people.csv", "--label", "health", "--all", "--attribute", "zip")
    code, out, _ = run(*words, "--json", "-o", files / "all.json")
    assert code == 0
    made = ao.load_configurations(files / "all.json")
    assert json.loads(out)["configurations"] == list(made)
    assert {tuple(configuration) for configuration in made.values()} == {("zip",)}
    assert len(set(made.values())) == len(made) > 1


def test_summarize_can_coarsen_columns_of_many_values(run: Run, files: Path) -> None:
    words = (
        "summarize",
        files / "people.csv",
        "--configurations",
        files / "masks.json",
        "-o",
        files / "coarse.json",
    )
    code, out, err = run(*words, "--max-values", "10", "--memory", "1GB")
    assert (code, err) == (0, "")
    assert "not to its raw values" in out
    code, _, err = run(*words, "--max-values", "10", "--on-many-values", "error")
    assert code == 1
    assert "more than max_values=10" in err
    assert run(*words, "--on-many-values", "error")[0] != 0


def test_summarize_names_what_it_releases_unmasked(run: Run, files: Path) -> None:
    words = ("summarize", files / "people.csv", "--configurations", files / "masks.json", "-o")
    _, out, _ = run(*words, files / "new.json")
    assert "Released as it is, because a configuration does not mask it: zip (young-old)." in out
    _, out, _ = run(*words, files / "new.json", "--no-histograms", "--json")
    found = json.loads(out)
    assert [row["histogram"] for row in found["attributes"]] == [False] * 3
    assert found["bytes"] == (files / "new.json").stat().st_size  # the file that was there is replaced


def test_advise_prints_the_ranking_of_the_library(run: Run, files: Path, summary: ao.Summary) -> None:
    advice = ao.advise(summary, measure="chi2")
    code, out, err = run("advise", files / "summary.json", "--measure", "chi2", "--top", 5, "--by-attribute")
    assert (code, err) == (0, "")
    assert printed_ranking(out) == [*advice.ranking["configuration"].head(5)]
    assert "7 more: --top all shows them" in out
    row = next(line for line in out.splitlines() if str(advice.best) in line)
    low, high = advice.ranking.loc[0, ["pud_low", "pud_high"]]
    assert f"{low:.1f} to {high:.1f}" in row
    assert all(f"{value:.1f}" in row for value in advice.deviations.loc[advice.best])
    assert "yes, the order is proved" in out


def test_advise_as_json_is_the_whole_advice(run: Run, files: Path, summary: ao.Summary) -> None:
    advice = ao.advise(summary, "mi", scope="single", rounding="hypergeometric", seed=4, replicates=3)
    words = (
        "--measure",
        "mi",
        "--scope",
        "single",
        "--rounding",
        "hypergeometric",
        "--seed",
        4,
        "--replicates",
        3,
        "--top",
        1,
    )
    code, out, err = run("advise", files / "summary.json", *words, "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["best"] == advice.best
    assert [row["configuration"] for row in found["ranking"]] == [*advice.ranking["configuration"]]
    assert [row["wins"] for row in found["ranking"]] == [*advice.ranking["wins"]]
    assert found["attributes"][0]["disclosed"] is None  # unknown, not NaN


def test_advise_shows_the_spread_of_drawn_tables(run: Run, files: Path, summary: ao.Summary) -> None:
    advice = ao.advise(summary, "mi", rounding="drawn", replicates=3)
    words = ("--measure", "mi", "--rounding", "drawn", "--replicates", 3)
    code, out, err = run("advise", files / "summary.json", *words, "--top", 2)
    assert (code, err) == (0, "")
    assert "5% to 95%" in out
    row = next(line for line in out.splitlines() if str(advice.best) in line and " to " in line)
    low, high = advice.ranking.loc[0, ["pud_5", "pud_95"]]
    assert f"{low:.4f} to {high:.4f}" in row


def test_advise_succeeds_where_it_cannot_tell(run: Run, files: Path) -> None:
    code, out, _ = run("advise", files / "summary.json", "--measure", "mi", "--scope", "single")
    assert code == 0
    assert "cannot tell" in out
    assert out.count("degenerate estimate") == 1
    _, out, _ = run("advise", files / "summary.json", "--measure", "mi", "--scope", "single", "--json")
    assert json.loads(out)["best"] is None


def test_advise_hands_options_to_the_solver(run: Run, files: Path) -> None:
    code, out, _ = run(
        "advise",
        files / "summary.json",
        "--json",
        "--option",
        "accelerate=false",
        "--option",
        "max-iterations=3",
    )
    assert code == 0
    assert any("not converged" in warning for warning in json.loads(out)["warnings"])


def test_advise_ignores_histograms_on_request(run: Run, files: Path, summary: ao.Summary) -> None:
    _, out, _ = run("advise", files / "summary.json", "--no-histograms", "--measure", "mi", "--json")
    without = ao.advise(summary, "mi", histograms=False)
    assert [row["pud_low"] for row in json.loads(out)["ranking"]] == [*without.ranking["pud_low"]]
    assert (without.ranking["pud_low"] < ao.advise(summary, "mi").ranking["pud_low"]).all()


@pytest.mark.parametrize(("ending", "start"), [("png", PNG), ("pdf", b"%PDF"), ("svg", b"<svg")])
def test_advise_draws_the_ranking(run: Run, files: Path, ending: str, start: bytes) -> None:
    code, out, _ = run("advise", files / "summary.json", "--plot", files / f"ranking.{ending}")
    assert code == 0
    assert f"ranking.{ending}" in out
    assert (files / f"ranking.{ending}").read_bytes().startswith(start)


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ("norm=l1", ("norm", "l1")),
        ("time-limit=2.5", ("time_limit", 2.5)),
        ("tolerance=1e-6", ("tolerance", 1e-6)),
        ("max_iterations=50", ("max_iterations", 50)),
        ("accelerate=False", ("accelerate", False)),
        ("time_limit=none", ("time_limit", None)),
        ("engine=a=b", ("engine", "a=b")),
    ],
)
def test_option_values_are_typed(text: str, pair: tuple[str, object]) -> None:
    assert key_value(text) == pair
    assert type(key_value(text)[1]) is type(pair[1])


def test_solvers_lists_all_that_can_be_chosen(run: Run) -> None:
    code, out, _ = run("solvers")
    assert code == 0
    measures = (*ao.measures.available_measures(), *ao.measures.available_measures("number"))
    for name in (*ao.available_solvers(), *ao.rounding.ROUNDINGS, *measures):
        assert any(line.split()[:1] == [name] for line in out.splitlines()), name
    _, out, _ = run("solvers", "--json")
    found = json.loads(out)
    ipf = found["solvers"][0]
    assert ipf["name"] == "ipf"
    assert ipf["capabilities"]["norms"] == ["kl", "reverse_kl", "chi2", "neyman", "hellinger", "l2", "lp"]
    takers = {entry["example"]: entry["solvers"] for entry in found["distances"]}
    assert takers["neyman"] == ["ipf", "convex"]
    assert takers["huber=1"] == ["convex", "integer"]
    assert ipf["options"]["max_iterations"] == 10_000
    assert {m["name"]: (m["higher_is_better"], m["monotone"]) for m in found["measures"]} == {
        name: (ao.get_measure(name).higher_is_better, ao.get_measure(name).monotone) for name in measures
    }


def test_names_with_brackets_are_shown_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    table = make_table("name", left=["name"])
    table.add_row("[red]zip[/red] :smile:")
    show_table(make_console(), table)
    assert "[red]zip[/red] :smile:" in capsys.readouterr().out


def test_a_wide_table_is_not_cut_where_no_terminal_limits_it(capsys: pytest.CaptureFixture[str]) -> None:
    columns = [f"a-long-column-name-{i}" for i in range(20)]
    table = make_table(*columns)
    table.add_row(*(["x"] * 20))
    show_table(make_console(), table)
    assert capsys.readouterr().out.splitlines()[1].split() == columns


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("words", "shown"), [((), True), (("--json",), False), (("--quiet",), False)])
def test_progress_is_for_people_at_a_terminal(
    words: tuple[str, ...], shown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    arguments = build_parser().parse_args(["advise", "s.json", *words])
    with progress(arguments, "reconstructing") as report:
        assert (report is not None) == shown
        if report is not None:
            report("reconstructing [zip]", 1, 3)
    written = sys.stderr.getvalue()  # type: ignore[attr-defined]
    assert ("reconstructing [zip]" in written) == shown


def test_the_parser_offers_the_scopes_of_the_library() -> None:
    for scope in get_args(Scope):
        assert build_parser().parse_args(["advise", "s.json", "--scope", scope]).scope == scope


def test_installed_script_runs_and_survives_a_reader_that_goes_away(files: Path) -> None:
    script = shutil.which("aegis-opt", path=Path(sys.executable).parent)
    assert script is not None
    reader, writer = os.pipe()
    os.close(reader)
    words = [script, "advise", str(files / "summary.json")]
    done = subprocess.run(words, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


def test_interrupting_ends_with_130(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], files: Path
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("aegis_opt.cli._advise.Advisor", interrupt)
    assert main(["advise", str(files / "summary.json")]) == 130
    assert capsys.readouterr().err == "aegis-opt: interrupted\n"


def test_version_is_that_of_the_package(run: Run) -> None:
    code, out, _ = run("--version")
    assert code == 0
    assert out.startswith("aegis-opt ")
    assert out.split()[1][0].isdigit()


def test_bars_and_lists_of_names_are_short() -> None:
    assert bar(0.5, 8, ascii_only=True) == "####"
    assert bar(0.3, 8, ascii_only=False) == "██▍"
    assert listing(["age", "weight", "zip"], most=2) == "age, weight and 1 more"
    assert listing(["age", "weight"], most=2) == "age, weight"


def test_many_attributes_are_rows_under_the_configurations_that_fit(run: Run, tmp_path: Path) -> None:
    names = [f"attribute{i}" for i in range(9)]
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 6, (60, 9)), columns=names).assign(y=rng.integers(0, 2, 60))
    masks = {f"config{w:02}": dict.fromkeys(names, ao.Bucketize(width=w)) for w in range(2, 14)}
    masks = {name: {**chosen, "attribute8": ao.Suppress()} for name, chosen in masks.items()}
    ao.summarize(frame, "y", masks).save(tmp_path / "s.json")
    _, out, _ = run("advise", tmp_path / "s.json", "--measure", "mi", "--by-attribute", "--top", "all")
    title = next(line for line in out.splitlines() if line.startswith("Deviation of each attribute"))
    assert re.search(r"first \d of 12 configurations", title)
    lines = out[out.index(title) :].splitlines()
    deviations = [line.split() for line in lines if line.strip().startswith("attribute") and "0." in line][:8]
    assert [line[0] for line in deviations] == names[:8]
    assert len({len(line) for line in deviations}) == 1
    unknown = [line for line in lines if line.strip().startswith("attribute8")]
    assert len(unknown) == 2  # among the deviations, and among the attributes
    assert all("unknown" in line for line in unknown)
    assert max(len(line) for line in lines[: 9 + 4]) <= 100


@pytest.mark.parametrize("width", [60, 80])
def test_help_texts_fit_the_terminal(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    [commands] = [action.choices for action in build_parser()._actions if action.dest == "command"]
    for command in ["", *(commands or ())]:
        with pytest.raises(SystemExit):
            main([*([command] if command else []), "--help"])
        lines = capsys.readouterr().out.splitlines()
        # a command to copy, and options that exclude each other, stay on one line
        whole = [line for line in lines if line.strip().startswith(("aegis-opt ", "[", "("))]
        assert max(len(line) for line in lines if line not in whole) <= width, command
        assert all(len(line) <= 80 for line in whole if line.strip().startswith("aegis-opt ")), command

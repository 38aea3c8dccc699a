"""The page as a file: whole, self-contained, reproducible, with clear errors for bad input."""

import json
import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from results_factory import HOSTILE, VARIANTS, changed, frames_of, save_results
from specifications import fetched_by

from aegis_opt.cli import main
from aegis_opt.datasets import worked_example
from aegis_opt.errors import AegisError, InvalidInput, MissingDependency
from aegis_opt.harness import Results, ResultsError, compare, load_results
from aegis_opt.report import write_report
from aegis_opt.report._comparison_figures import rankings_by_file
from aegis_opt.report._page_header import warnings
from aegis_opt.report._ranking_data import rankings_of
from aegis_opt.report.charts._figure import Figure

FIGURES = (
    *("tvd-pooled", "pareto-pooled", "profile-time-pooled", "profile-tvd-pooled", "regret-pooled"),
    *("estimate-pooled-mi", "estimate-pooled-chi2"),
    *("ranking-pooled-people-mi", "ranking-pooled-people-chi2"),
)


@pytest.fixture(scope="module")
def page(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    [path] = write_report(folder, tmp_path_factory.mktemp("page") / "report.html")
    return path.read_text(encoding="utf-8")


def data_of(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page)
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])
    return data


def test_page_fetches_nothing(page: str) -> None:
    assert fetched_by(page) == []
    assert "default-src 'none'" in page
    assert "unsafe-eval" not in page
    assert len(page) < 2_000_000


def test_page_opens_with_its_conclusion(page: str) -> None:
    head = page.partition("<main>")[0]
    assert '<p class="conclusion">Take ' in head
    assert "tiles" not in head.partition("</style>")[2]


def test_page_says_what_was_run_and_what_was_skipped(page: str, results: Results) -> None:
    said = page.partition('<section id="run"')[2].partition('<script type="application/json"')[0]
    for text in (
        "2025-03-01 10:00:00 UTC",
        "9 s per run",
        "0, 1",
        results.meta["machine"]["cpu"],
        "chi2, mi",
    ):
        assert text in said
    assert "absent: 56 rows. &#x27;absent&#x27; is not installed: pip install absent" in said
    assert f"<b>{len(results.advice)}</b>" in said
    for name in results.meta["software"]:
        assert f"<dt>{name}</dt>" in said


def test_names_cannot_break_out_of_the_data(page: str) -> None:
    assert HOSTILE not in page
    assert HOSTILE in [run["variant"] for run in data_of(page)["rankings"]["runs"]]


def test_results_in_memory_and_in_a_folder_give_the_same_page(
    results: Results, page: str, tmp_path: Path
) -> None:
    [again] = write_report(results, tmp_path / "again.html")
    assert again.read_text(encoding="utf-8") == page


def test_results_are_not_modified(small: Results, tmp_path: Path) -> None:
    before = {table: frame.copy() for table, frame in frames_of(small).items()}
    write_report(small, tmp_path / "report.html")
    for table, frame in frames_of(small).items():
        pd.testing.assert_frame_equal(frame, before[table])


def test_figures_are_saved_as_png_and_svg(small: Results, tmp_path: Path) -> None:
    page, *figures = write_report(small, tmp_path / "report.html", figures=tmp_path / "figures")
    assert page == tmp_path / "report.html"
    assert sorted(path.name for path in figures) == sorted(
        f"{n}.{e}" for n in FIGURES for e in ("png", "svg")
    )
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in figures if path.suffix == ".png")
    assert all("<svg" in path.read_text() for path in figures if path.suffix == ".svg")


def test_the_command_line_saves_the_same_figures(
    small: Results, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # a run without a winner: the fewest figures there can be, with a ranking among them
    few = {
        name: frame[(frame["variant"] == "ipf") & ~frame["histogram"] & (frame.get("measure") == "mi")]
        for name, frame in frames_of(small).items()
    }
    tiny = changed(small, **few)
    folder = save_results(tiny, tmp_path / "run")
    _, *figures = write_report(tiny, tmp_path / "report.html", figures=tmp_path / "figures")
    assert [path.stem for path in figures[::2]] == ["regret-pooled", "ranking-pooled-people-mi"]
    words = ["report", folder, "-o", tmp_path / "again.html", "--figures", tmp_path / "again", "--json"]
    assert main([str(word) for word in words]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["bytes"] == (tmp_path / "again.html").stat().st_size
    assert [Path(path).read_bytes() for path in document["figures"]] == [
        path.read_bytes() for path in figures
    ]
    written = {path.name for path in tmp_path.iterdir()}
    assert written == {"run", "again", "again.html", "figures", "report.html"}


def test_rankings_of_names_that_no_file_can_have_get_files_of_their_own(small: Results) -> None:
    names = ("a/b", "a b", "..")
    frames = {
        table: pd.concat([frame.assign(dataset=name) for name in names])
        for table, frame in frames_of(small).items()
    }
    named = changed(small, **frames)
    found = rankings_by_file(rankings_of(named, VARIANTS))
    assert [name for name in found if name.endswith("mi") or "mi-" in name] == [
        *("ranking-pooled-data-mi", "ranking-pooled-a-b-mi", "ranking-pooled-a-b-mi-2")
    ]


def test_a_real_comparison_makes_a_report(tmp_path: Path) -> None:
    compare(
        worked_example(), solvers=["ipf", "integer:l2", "random"], measures=["mi"], output=tmp_path / "run"
    )
    [page] = write_report(tmp_path / "run", tmp_path / "report.html")
    data = data_of(page.read_text(encoding="utf-8"))
    assert {run["variant"] for run in data["rankings"]["runs"]} == {"ipf", "integer:l2", "random"}
    assert [found["scope"] for found in data["selections"]] == ["pooled", "single"]
    assert all(len(found["charts"]) == 6 for found in data["selections"])
    assert "Incomplete" not in page.read_text(encoding="utf-8")


@pytest.fixture
def empty_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures without content, where only the number of files matters: drawing them takes seconds."""
    monkeypatch.setattr(Figure, "_write", lambda _, target, *__: Path(target).write_text(""))


@pytest.mark.usefixtures("empty_pictures")
@pytest.mark.parametrize("kept", ["advice", "reconstructions"])
def test_one_kind_of_rows_is_enough(small: Results, kept: str, tmp_path: Path) -> None:
    frames = {name: frame if name == kept else frame.iloc[:0] for name, frame in frames_of(small).items()}
    page, *figures = write_report(changed(small, **frames), tmp_path / "r.html", figures=tmp_path / "f")
    names = {"overview", "advice"} if kept == "advice" else {"reconstructions"}
    assert {table["id"] for table in data_of(page.read_text(encoding="utf-8"))["tables"]} == names | {
        "without-result"
    }
    assert len(figures) == 2 * (1 + 2 if kept == "advice" else 4)


@pytest.mark.usefixtures("empty_pictures")
def test_everything_skipped_is_a_report_too(results: Results, tmp_path: Path) -> None:
    frames = {name: frame[frame["variant"] == "absent"] for name, frame in frames_of(results).items()}
    page, *figures = write_report(changed(results, **frames), tmp_path / "r.html", figures=tmp_path / "f")
    assert "is not installed" in page.read_text(encoding="utf-8")
    assert [path.name for path in figures if path.suffix == ".png"] == [
        *("regret-pooled.png", "regret-single.png")  # grids of dashes
    ]
    assert "no variant can be named" in page.read_text(encoding="utf-8")


def test_a_comparison_that_was_stopped_is_called_incomplete(small: Results, tmp_path: Path) -> None:
    rest = small.advice[small.advice["variant"] != "slow"]
    stopped = changed(small, advice=rest, reconstructions=small.reconstructions.iloc[:0])
    [page] = write_report(stopped, tmp_path / "report.html")
    planned = 2 * (len(VARIANTS) + 2) * 2 * 2 * 2  # two variants have two seeds
    text = f"<b>Incomplete</b> {planned - len(rest)} of {planned} units of work"
    assert text in page.read_text(encoding="utf-8")


def test_a_seed_or_an_attribute_that_is_missing_makes_it_incomplete(results: Results) -> None:
    plan = results.meta["plan"] | {"variants": [name for name in VARIANTS if name != "integer:l2"]}
    results = replace(results, meta=results.meta | {"plan": plan})  # integer:l2 has one of its seeds only
    assert "ncomplete</b>" not in warnings(results)
    advice, tables = results.advice, results.reconstructions
    second = (advice["seed"] == 1) & (advice["dataset"] == "people")
    assert second.sum() == 8
    attribute = (tables["attribute"] == "a1") & (tables["variant"] == "ipf")
    lost = warnings(changed(results, advice=advice[~second], reconstructions=tables[~attribute]))
    assert "<b>Incomplete</b> 16 of " in lost
    assert "seed 1" in lost


def test_two_calls_into_one_folder_are_not_called_stopped(tmp_path: Path) -> None:
    for solver, scope in (("ipf", "single"), ("ipf+nearest", "pooled")):
        compare(worked_example(), solvers=[solver], measures=["mi"], scopes=[scope], output=tmp_path / "run")
    told = warnings(load_results(tmp_path / "run"))
    assert "<b>Incomplete</b>" not in told
    assert "<b>Perhaps incomplete</b> The folder was made by several calls." in told


class TestBadInput:
    def test_no_folder(self, tmp_path: Path) -> None:
        with pytest.raises(ResultsError, match="nowhere is not there: name the folder"):
            write_report(tmp_path / "nowhere", tmp_path / "report.html")

    def test_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "x.csv").write_text("a")
        with pytest.raises(ResultsError, match=r"x\.csv is a file, not a folder"):
            write_report(tmp_path / "x.csv", tmp_path / "report.html")

    def test_a_folder_of_something_else(self, tmp_path: Path) -> None:
        with pytest.raises(ResultsError, match="holds no results"):
            write_report(tmp_path, tmp_path / "report.html")

    def test_another_version(self, folder: Path, tmp_path: Path) -> None:
        copy = Path(shutil.copytree(folder, tmp_path / "run"))
        meta = json.loads((copy / "meta.json").read_text())
        (copy / "meta.json").write_text(json.dumps(meta | {"version": 99}))
        with pytest.raises(ResultsError, match="version 99"):
            write_report(copy, tmp_path / "report.html")
        assert not (tmp_path / "report.html").exists()

    def test_a_file_cut_short(self, folder: Path, tmp_path: Path) -> None:
        copy = Path(shutil.copytree(folder, tmp_path / "run"))
        unit = copy / "advice" / "unit.parquet"
        unit.write_bytes(unit.read_bytes()[:-100])
        with pytest.raises(ResultsError, match=r"unit\.parquet: cut short"):
            write_report(copy, tmp_path / "report.html")

    def test_no_rows_yet(self, folder: Path, tmp_path: Path) -> None:
        copy = tmp_path / "run"
        copy.mkdir()
        shutil.copy(folder / "meta.json", copy)
        with pytest.raises(ResultsError, match="no row yet"):
            write_report(copy, tmp_path / "report.html")

    def test_something_else_than_results(self, tmp_path: Path) -> None:
        with pytest.raises(InvalidInput, match="not DataFrame"):
            write_report(pd.DataFrame(), tmp_path / "report.html")  # type: ignore[arg-type]

    def test_a_folder_where_the_page_should_go(self, small_folder: Path, tmp_path: Path) -> None:
        with pytest.raises(InvalidInput, match=r"is a folder: name the page, such as .*report\.html"):
            write_report(small_folder, tmp_path)

    def test_a_file_where_the_figures_should_go(self, small_folder: Path, tmp_path: Path) -> None:
        (tmp_path / "figures").write_text("")
        with pytest.raises(InvalidInput, match="figures is a file"):
            write_report(small_folder, tmp_path / "report.html", figures=tmp_path / "figures")

    def test_an_old_page_survives_an_error(
        self, small: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        page = tmp_path / "report.html"
        page.write_text("old")

        def full(*_: object, **__: object) -> int:
            raise OSError("no space left")

        monkeypatch.setattr(Path, "write_text", full)
        with pytest.raises(OSError, match="no space left"):
            write_report(small, page)
        assert page.read_text() == "old"
        assert [path.name for path in tmp_path.iterdir()] == ["report.html"]

    def test_no_altair(self, small_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "altair", None)
        with pytest.raises(MissingDependency, match="pip install"):
            write_report(small_folder, tmp_path / "report.html")
        assert list(tmp_path.iterdir()) == []
        assert issubclass(MissingDependency, AegisError)


class TestCommand:
    def test_it_writes_the_page(
        self, small_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["report", str(small_folder), "-o", str(tmp_path / "r.html")]) == 0
        assert f"Report written to {tmp_path / 'r.html'}" in capsys.readouterr().out
        assert (tmp_path / "r.html").stat().st_size > 10_000

    def test_errors_go_to_stderr_with_code_1(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["report", str(tmp_path), "-o", str(tmp_path / "r.html")]) == 1
        assert "holds no results" in capsys.readouterr().err
        assert list(tmp_path.iterdir()) == []

    def test_a_wrong_ending_is_wrong_usage(
        self, small_folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with pytest.raises(SystemExit, match="2"):
            main(["report", str(small_folder), "-o", "r.pdf"])
        assert "must end in .html" in capsys.readouterr().err

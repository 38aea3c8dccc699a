"""`python -m benchmarks.paper`: the experiments by name, and clear words where an option makes no sense."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import benchmarks.paper
from aegis_opt.cli import main as aegis_opt
from aegis_opt.datasets import clinic
from aegis_opt.masks import Configurations, save_configurations
from benchmarks.paper import EXPERIMENTS, __main__, run_experiment, run_research
from benchmarks.paper.experiments import registry

ROOT = Path(__file__).parents[2]
Answer = tuple[int, str, str]  # exit code, stdout, stderr


class Run:
    """Runs the command in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *words: Any, main: Any = __main__.main) -> Answer:
        self._capsys.readouterr()
        try:
            code = main([str(word) for word in words])
        except SystemExit as leave:  # wrong usage
            code = int(leave.code or 0)
        return code, *self._capsys.readouterr()


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return Run(capsys)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with people.csv and masks.json, and the same as a data set of its own."""
    data = clinic(300)
    assert data.configurations is not None
    masks = Configurations(data.configurations, label=data.label)
    (tmp_path / "people").mkdir()
    for table, configurations in (
        ("people.csv", "masks.json"),
        ("people/data.csv", "people/configurations.json"),
    ):
        data.frame.to_csv(tmp_path / table, index=False)
        save_configurations(masks, tmp_path / configurations)
    return tmp_path


def words(files: Path, name: str, *more: object) -> list[object]:
    data = ["--source", files / "people.csv", "--configurations", files / "masks.json"]
    return [name, *data, "-o", files / "out", *more]


def test_it_prints_the_tables_and_writes_them_with_a_figure(run: Run, files: Path) -> None:
    code, out, err = run(*words(files, "tvd", "--name", "clinic"))
    assert (code, err) == (0, "")
    assert EXPERIMENTS["tvd"].title in out
    assert "pooled +1D" in out
    written = {path.name for path in (files / "out").iterdir()}
    assert written == {"tvd-tvd.csv", "tvd-configurations.csv", "tvd-claims.csv", "tvd.png"}
    assert set(pd.read_csv(files / "out" / "tvd-tvd.csv")["dataset"]) == {"clinic"}
    assert re.fullmatch(rf"\(tvd: \d+\.\ds, files in {files / 'out'}\)", out.splitlines()[-1])


def test_a_folder_of_data_sets_and_a_source_give_the_same_tables(run: Run, files: Path) -> None:
    one = json.loads(run(*words(files, "parameters", "--measure", "mi", "--first", 3, "--json"))[1])
    folder = ("--data", files / "people", "--measure", "mi", "--first", 3, "-o", files / "other")
    two = json.loads(run("--experiment", "parameters", *folder, "--json")[1])
    assert one["tables"]["changes"] == two["tables"]["changes"]


def test_json_has_the_tables_and_options_reach_the_experiment(run: Run, files: Path) -> None:
    options = ("--measure", "mi", "--classifier", "nb", "--seed", "3", "--json")
    code, out, err = run(*words(files, "histograms", *options))
    assert (code, err) == (0, "")
    document = json.loads(out)
    assert document["experiment"] == "histograms"
    assert {row["measure"] for row in document["tables"]["accuracy"]} == {"mi", "none"}
    assert {row["classifier"] for row in document["tables"]["accuracy"]} == {"nb"}
    assert all(Path(path).exists() for path in document["files"])
    [trained] = (files / "out" / "trained").iterdir()
    assert trained.name.startswith("people-nb-")


def test_it_runs_as_a_module_and_an_experiment_on_made_up_data_needs_no_source(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.paper", "scalability", "--small", "-o", tmp_path / "out"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    slow = r"n_configurations = \d+, \d+ of \d+ \(\d+ s\)\n"  # progress, where it takes its time
    assert (ended.returncode, re.sub(slow, "", ended.stderr)) == (0, "")
    assert "n_configurations" in ended.stdout
    assert (tmp_path / "out" / "scalability.png").read_bytes().startswith(b"\x89PNG")


def test_without_a_name_all_run_and_those_without_data_fail_one_by_one(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = {name: EXPERIMENTS[name] for name in ("tvd", "generalization")}
    monkeypatch.setattr(__main__, "NAMES", tuple(few))
    code, out, err = run("--small", "-o", tmp_path / "out")
    assert code == 1
    assert err.strip().startswith("tvd: FAILED: experiment 'tvd' needs a data set")
    assert EXPERIMENTS["generalization"].title in out


def test_the_research_is_one_of_them(run: Run, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks.paper.research import Research

    asked: dict[str, object] = {}

    def research(output: Path, **options: object) -> Research:
        asked.update(options, output=output)
        table = pd.DataFrame({"norm": ["l1"], "factor": [float("nan")]})
        return Research({"factors": table}, "# Which distance\n", (output / "norms.md",))

    monkeypatch.setattr(__main__, "run_research", research)
    command = ("research", "--seed", "2", "--time-limit", "9", "-o", files / "out")
    assert "\n# Which distance" in run(*command)[1]
    expected = {"seed": 2, "time_limit": 9.0, "n_jobs": 1, "small": False, "output": files / "out"}
    assert asked.items() >= (expected | {"cases": ()}).items()
    run(*command, "--data", files)
    assert [case.name for case in asked["cases"]] == ["people"]  # type: ignore[attr-defined]
    document = json.loads(run(*command, "--json")[1])
    assert document["tables"]["factors"] == [{"norm": "l1", "factor": None}]


def test_an_unknown_experiment_lists_what_exists(run: Run, files: Path) -> None:
    code, out, err = run(*words(files, "tdv"))
    assert (code, out) == (2, "")
    assert "error: unknown experiment 'tdv': did you mean 'tvd'? Known: " in err
    assert all(name in err for name in (*EXPERIMENTS, "research"))
    assert not (files / "out").exists()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["tvd", "--source", "p.csv"], "tvd needs data: give --data, or --source and --configurations"),
        (["--experiment", "tvd"], "tvd needs data: give --data, or --source and --configurations"),
        (["k-anonymity"], "k-anonymity needs data: give --data, or --source and --label"),
        (["scalability", "--source", "p.csv"], "--source: needs an experiment on data, which scalability"),
        (["research", "--source", "p.csv"], "research needs --configurations with --source"),
        (["research", "--label", "y"], "--label: given without --source"),
        (["tvd", "--data", "d", "--label", "y"], "--label: given with --data, which brings its own"),
        (
            ["k-anonymity", "--source", "p.csv", "--configurations", "m.json", "--label", "y"],
            "--configurations: made by k-anonymity itself",
        ),
        (["tvd", "--solver", "ipf"], "unrecognized arguments: --solver ipf"),
        (["tvd", "--measure", "mi"], "--measure: not an option of tvd"),
        (["mlp", "--repeats", "2"], "--repeats: not an option of mlp"),
        (["tvd", "mlp", "--small"], "--small: not an option of tvd, mlp"),
        (["mlp", "--time-limit", "1"], "--time-limit: not an option of mlp"),
        (["mlp", "--hierarchies", "d"], "--hierarchies: not an option of mlp"),
        (["parameters", "--seed", "1"], "--seed: not an option of parameters"),
        (["generalization", "scalability", "--json"], "--json: name one experiment"),
        (
            ["mlp", "--data", "d", "--classifier", "xgb"],
            "unknown classifier 'xgb': did you mean 'hgb'? Known: hgb, lr",
        ),
        (["tvd", "--data", "nowhere"], "no data.csv with configurations.json in nowhere"),
        (["generalization", "--seed", "-1"], "seed must be a whole number from 0"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_options_that_make_no_sense_are_wrong_usage(
    run: Run, tmp_path: Path, given: list[str], told: str
) -> None:
    code, out, err = run(*given, "-o", tmp_path / "out")
    assert (code, out) == (2, "")
    assert told in err.splitlines()[-1]
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "given", [["--experiment", "tvd"], ["--classifier", "nb"], ["--hierarchies", "d"], ["--small"]]
)
def test_the_command_for_comparisons_says_where_its_old_options_are(run: Run, given: list[str]) -> None:
    for more in ([], ["p.csv", "--configurations", "m.json", "-o", "out"]):
        code, out, err = run("compare", *more, *given, main=aegis_opt)
        assert (code, out) == (2, "")
        assert f"{given[0]}: the paper's experiments are run by python -m benchmarks.paper" in err


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ({"x": range(20), "health": ["a"] * 19 + ["rare"]}, "data set 'people': class 'rare' .* has 1 row"),
        ({"x": range(8), "health": list("aabbccdd")}, "data set 'people': 8 rows are too few"),
    ],
    ids=["a class with one row", "too small for the split"],
)
@pytest.mark.parametrize("name", ["end-to-end", "mlp", "histograms"])
def test_data_that_cannot_be_split_are_named(
    run: Run, tmp_path: Path, name: str, rows: dict[str, list[object]], told: str
) -> None:
    pd.DataFrame(rows).to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "masks.json").write_text('{"all": {"x": {"function": "suppress"}}}')
    code, out, err = run(*words(tmp_path, name, "--label", "health", "--json"))
    assert (code, out) == (1, "")
    assert re.match(f"{name}: FAILED: {told}", err.strip())
    assert not (tmp_path / "out").exists()


def test_without_altair_no_work_is_done(run: Run, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    code, _, err = run(*words(files, "tvd"))
    assert code == 1
    assert "pip install 'aegis-opt[plot]'" in err
    assert not (files / "out").exists()


def test_every_experiment_says_which_settings_it_takes() -> None:
    known = set(registry.Settings.__dataclass_fields__) - {"cases", "cache", "progress"}
    for experiment in EXPERIMENTS.values():
        assert experiment.takes
        assert set(experiment.takes) <= known


def test_the_names_of_the_paper_are_at_hand() -> None:
    assert run_experiment is registry.run_experiment
    assert callable(run_research)
    assert set(benchmarks.paper.__all__) <= set(vars(benchmarks.paper))


def test_the_library_does_not_import_the_evaluation() -> None:
    sources = [path for folder in ("aegis_opt", "solvers") for path in (ROOT / folder).rglob("*.py")]
    imports = re.compile(r"^\s*(from|import) benchmarks", re.M)
    assert [path for path in sources if imports.search(path.read_text())] == []

"""`compare --experiment`: the paper's experiments by name, and clear words where an option makes no sense."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from benchmarks.paper.experiments import EXPERIMENTS, registry

Run = Callable[..., tuple[int, str, str]]


def words(files: Path, name: str, *more: object) -> list[object]:
    masks = ["--configurations", files / "masks.json"]
    return ["compare", files / "people.csv", *masks, "--experiment", name, "-o", files / "out", *more]


def test_it_prints_the_tables_and_writes_them_with_a_figure(run: Run, files: Path) -> None:
    code, out, err = run(*words(files, "tvd", "--name", "clinic"))
    assert (code, err) == (0, "")
    assert EXPERIMENTS["tvd"].title in out
    assert "pooled +1D" in out
    written = {path.name for path in (files / "out").iterdir()}
    assert written == {"tvd-tvd.csv", "tvd-configurations.csv", "tvd-claims.csv", "tvd.png"}
    assert set(pd.read_csv(files / "out" / "tvd-tvd.csv")["dataset"]) == {"clinic"}
    assert out.splitlines()[-1] == f"4 files in {files / 'out'}"


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


def test_an_experiment_on_made_up_data_needs_no_source(run: Run, tmp_path: Path) -> None:
    code, out, err = run("compare", "--experiment", "scalability", "--small", "-o", tmp_path / "out")
    assert (code, err) == (0, "")
    assert "n_configurations" in out
    assert (tmp_path / "out" / "scalability.png").read_bytes().startswith(b"\x89PNG")


def test_the_norm_research_is_one_of_them(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from aegis_opt.cli import experiment
    from benchmarks.paper.research import Research

    asked = {}

    def research(output: str, **options: object) -> Research:
        asked.update(options, output=output)
        table = pd.DataFrame({"norm": ["l1"], "factor": [float("nan")]})
        return Research(table, table, table, "# Which norm\n", (Path(output) / "norms.md",))

    monkeypatch.setattr(experiment, "run_research", research)
    command = ("compare", "--experiment", "research", "--seed", "2", "--time-limit", "9", "-o", tmp_path)
    assert run(*command)[1].startswith("# Which norm")
    expected = {"seed": 2, "time_limit": 9.0, "n_jobs": 1, "small": False, "output": str(tmp_path)}
    assert asked.items() >= expected.items()
    document = json.loads(run(*command, "--json")[1])
    assert document["tables"]["factors"] == [{"norm": "l1", "factor": None}]


def test_an_unknown_experiment_lists_what_exists(run: Run, files: Path) -> None:
    code, out, err = run(*words(files, "tdv"))
    assert (code, out) == (1, "")
    assert err.startswith("aegis-opt: error: unknown experiment 'tdv': did you mean 'tvd'? Known: ")
    assert all(name in err for name in (*EXPERIMENTS, "research"))
    assert not (files / "out").exists()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["p.csv", "--experiment", "tvd"], "the following arguments are required: --configurations"),
        (["--experiment", "tvd"], "the following arguments are required: SOURCE, --configurations"),
        (["--experiment", "k-anonymity"], "the following arguments are required: SOURCE, --label"),
        ([], "the following arguments are required: SOURCE, --configurations"),
        (["p.csv", "--experiment", "scalability"], "SOURCE: experiment 'scalability' makes its own data"),
        (["--experiment", "research", "--label", "y"], "--label: experiment 'research' makes its own data"),
        (
            ["p.csv", "--experiment", "k-anonymity", "--configurations", "m.json", "--label", "y"],
            "--configurations: experiment 'k-anonymity' makes its own",
        ),
        (["p.csv", "--experiment", "tvd", "--solver", "ipf"], "--solver: experiment 'tvd' does not take it"),
        (["p.csv", "--experiment", "tvd", "--measure", "mi"], "--measure: experiment 'tvd' does not"),
        (["p.csv", "--experiment", "tvd", "--replicates", "1"], "--replicates: experiment 'tvd' does not"),
        (["p.csv", "--experiment", "mlp", "--time-limit", "1"], "--time-limit: experiment 'mlp' does not"),
        (["p.csv", "--experiment", "mlp", "--hierarchies", "d"], "--hierarchies: experiment 'mlp' does"),
        (["p.csv", "--experiment", "parameters", "--seed", "1"], "--seed: experiment 'parameters' does"),
        (
            ["p.csv", "--experiment", "tvd", "--configurations", "m.json", "--seed", "1", "--seed", "2"],
            "--seed: experiment 'tvd' takes one",
        ),
        (["p.csv", "--configurations", "m.json", "--small"], "--small: only with --experiment"),
        (["p.csv", "--configurations", "m.json", "--classifier", "nb"], "--classifier: only with"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_options_that_make_no_sense_are_wrong_usage(
    run: Run, tmp_path: Path, given: list[str], told: str
) -> None:
    code, out, err = run("compare", *given, "-o", tmp_path / "out")
    assert (code, out) == (2, "")
    assert told in err.splitlines()[-1]
    assert not (tmp_path / "out").exists()


def test_an_unknown_classifier_is_named_before_the_work(run: Run, files: Path) -> None:
    code, _, err = run(*words(files, "mlp", "--classifier", "xgb"))
    assert code == 1
    assert "unknown classifier 'xgb'; known: lr" in err


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
    code, out, err = run(*words(tmp_path, name, "--label", "health"))
    assert (code, out) == (1, "")
    assert pd.Series([err]).str.contains(f"^aegis-opt: error: {told}").all(), err
    assert not (tmp_path / "out").exists()


def test_without_matplotlib_no_work_is_done(run: Run, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("matplotlib", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, module, None)
    code, _, err = run(*words(files, "tvd"))
    assert code == 1
    assert "pip install 'aegis-opt[plot]'" in err
    assert not (files / "out").exists()


def test_every_experiment_says_which_settings_it_takes() -> None:
    known = set(registry.Settings.__dataclass_fields__) - {"cases", "cache", "progress"}
    for experiment in EXPERIMENTS.values():
        assert experiment.takes
        assert set(experiment.takes) <= known

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from aegis_opt import Summary, datasets, save_configurations, summarize
from aegis_opt.cli import main

Answer = tuple[int, str, str]  # exit code, stdout, stderr


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Answer]:
    """Run a command in this process."""

    def command(*words: Any) -> Answer:
        capsys.readouterr()
        try:
            code = main([str(word) for word in words])
        except SystemExit as leave:  # wrong usage, --help, --version
            code = int(leave.code or 0)
        out, err = capsys.readouterr()
        return code, out, err

    return command


@pytest.fixture(scope="session")
def clinic() -> datasets.Dataset:
    return datasets.clinic(300)


@pytest.fixture(scope="session")
def summary(clinic: datasets.Dataset) -> Summary:
    return summarize(clinic.frame, clinic.label, clinic.configurations, histograms=True)


@pytest.fixture
def files(tmp_path: Path, clinic: datasets.Dataset, summary: Summary) -> Path:
    """A folder with people.csv, masks.json and summary.json."""
    clinic.frame.to_csv(tmp_path / "people.csv", index=False)
    assert clinic.configurations is not None
    save_configurations(clinic.configurations, tmp_path / "masks.json")
    summary.save(tmp_path / "summary.json")
    return tmp_path

"""Progress: a bar in a terminal or a notebook, lines elsewhere, and a logger that is silent by default."""

from __future__ import annotations

import io
import logging
import subprocess
import sys
import time
import types
from typing import Any

import pytest

import aegis_opt as ao
from aegis_opt import _progress
from aegis_opt._progress import reporting
from aegis_opt.errors import InvalidOption


@pytest.fixture
def clinic() -> ao.datasets.Dataset:
    return ao.datasets.clinic(200)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_long_calls_take_true_a_function_or_nothing(
    clinic: ao.datasets.Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    about = (clinic.frame, clinic.label, clinic.configurations)
    summary = ao.summarize(*about, share="both", progress=True)
    ao.advise(summary, "mi", progress=True)
    ao.compare(clinic, scopes=["pooled"], histograms=[True], progress=True)
    ao.apply_configuration(clinic.frame, clinic.configurations["strictest"], progress=True)
    written = sys.stderr.getvalue()  # type: ignore[attr-defined]
    for words in ("reading", "done", "clinic: ipf", "masking"):
        assert words in written
    calls: list[tuple[str, int, int]] = []
    ao.advise(summary, "mi", progress=lambda *report: calls.append(report))
    assert calls[0][0].startswith("reconstructing")
    assert ao.advise(summary, "mi", progress=False).best == ao.advise(summary, "mi").best


@pytest.mark.parametrize("wrong", ["yes", 1, 0, [True]])
def test_anything_else_is_refused(clinic: ao.datasets.Dataset, wrong: Any) -> None:
    about = (clinic.frame, clinic.label, clinic.configurations)
    with pytest.raises(InvalidOption, match="progress must be True, False or a function"):
        ao.summarize(*about, progress=wrong)
    with pytest.raises(InvalidOption, match="progress must be"):
        ao.compare(clinic, progress=wrong)


def test_without_a_terminal_there_is_a_line_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(_progress, "SECONDS_BETWEEN_LINES", 0.01)
    with reporting(True, "starting") as report:
        assert report is not None
        report("counting \x1b[31mage", 2, 3000)
        time.sleep(0.2)  # the step goes on, and so do the lines
    lines = capsys.readouterr().err.splitlines()
    assert lines
    assert lines[-1] == r"counting \x1b[31mage, 2 of 3,000 (0 s)"
    with reporting(True, "quick"):
        pass
    time.sleep(0.05)
    assert "quick" not in capsys.readouterr().err


def test_a_notebook_shows_a_bar_without_widgets(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    class Handle:
        def update(self, bar: Any) -> None:
            shown.append(bar._repr_html_())

    def display(bar: Any, display_id: bool) -> Handle:
        assert display_id
        shown.append(bar._repr_html_())
        return Handle()

    notebook = types.SimpleNamespace(
        get_ipython=lambda: types.SimpleNamespace(kernel=object()),
        display=types.SimpleNamespace(display=display),
    )
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    with reporting(True, "starting") as report:
        assert report is not None
        for done in range(1, 101):
            report("<b>age</b>", done, 100)
    assert 'value="0.0000"' in shown[0]
    assert 'value="1.0000"' in shown[-1]
    assert "&lt;b&gt;age" in shown[-1]
    assert len(shown) < 20


def test_ipython_in_a_terminal_is_no_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    shell = types.SimpleNamespace(get_ipython=lambda: types.SimpleNamespace())
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setattr(sys, "stderr", Terminal())
    with reporting(True, "starting") as report:
        assert report is not None
        report("age", 1, 2)
    assert "age" in sys.stderr.getvalue()  # type: ignore[attr-defined]


def test_the_logger_tells_the_main_steps(
    clinic: ao.datasets.Dataset, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="aegis_opt")
    summary = ao.summarize(clinic.frame, clinic.label, clinic.configurations, share="both")
    advice = ao.advise(summary, "mi")
    ao.compare(clinic, scopes=["pooled"], histograms=[True])
    said = [record.getMessage() for record in caplog.records]
    assert "summarised 200 records: 3 attributes, 12 configurations" in said
    assert "scored 12 configurations by r2_gcv, r2_cv" in said
    assert f"ranked 12 configurations by mi: best {advice.best!r}" in said
    assert any(line.startswith("comparing on clinic") for line in said)
    assert {record.levelno for record in caplog.records} == {logging.INFO}


def test_the_logger_is_silent_until_the_application_listens() -> None:
    code = (
        "import logging, aegis_opt\n"
        "assert any(isinstance(h, logging.NullHandler) for h in logging.getLogger('aegis_opt').handlers)\n"
        "logging.getLogger('aegis_opt.advisor').error('heard by nobody')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")

"""The cases of `benchmarks.load`: each is a function of one size, run in a process of its own."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from itertools import count, islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import aegis_opt as ao
from aegis_opt.masks import Bucketize, Mask
from benchmarks.paper.datasets import scalability
from benchmarks.scale_data import MEASURES, peak_memory

Found = dict[str, Any]
"""Seconds (wall, cpu), MiB of memory before the work and at its peak, what is wrong with the answers."""
_WARM_UP = 10  # repeats after which everything is loaded and kept that will be


def run(case: str, size: int) -> Found:
    """Run one case; time and memory are those of its work, without making the data."""
    found: Found = CASES[case](size)
    return found


def threads(size: int) -> Found:
    """Ask one advisor from many threads at the same time; the answers are those of a thread alone."""
    summary = _clinic()
    alone = [answer(ao.advise(summary, measure)) for measure in MEASURES]
    advisor = ao.Advisor(summary)

    def work() -> Found:
        with ThreadPoolExecutor(size) as pool:
            futures = [pool.submit(lambda: _answers(advisor)) for _ in range(size)]
            different = sum(future.result() != alone for future in futures)
        return {"wrong": f"{different} of {size} threads had other answers" if different else ""}

    return _timed(work)


def processes(size: int) -> Found:
    """Load one summary file in several processes at the same time; the peak is that of the largest."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "summary.json"
        _clinic().save(path)
        alone = _answers(ao.Advisor(path))

        def work() -> Found:
            with ProcessPoolExecutor(size, mp_context=get_context("spawn")) as pool:
                found = list(pool.map(_ask_file, [path] * size))
            different = sum(answers != alone for answers, _ in found)
            wrong = f"{different} of {size} processes had other answers" if different else ""
            return {"wrong": wrong, "peak": max(peak for _, peak in found)}

        return _timed(work)


def repeats(size: int) -> Found:
    """Load one summary and advise, again and again: memory stays what it is after the first few."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "summary.json"
        _clinic().save(path)

        def ask(times: int) -> set[str]:
            return {answer(ao.advise(path, MEASURES[i % len(MEASURES)])) for i in range(times)}

        first = ask(_WARM_UP)

        def work() -> Found:
            different = ask(size) - first
            return {"wrong": "the answers changed" if different else ""}

        return _timed(work)


def attributes(size: int) -> Found:
    """Many attributes and 20 configurations."""
    data = scalability(2000, n_attributes=size, n_values=50, n_configurations=20)
    return _whole_way(data.frame, data.configurations or {})


def configurations(size: int) -> Found:
    """Many configurations of ten attributes, which share a few masks."""
    data = scalability(20_000, n_attributes=10, n_configurations=size)
    return _whole_way(data.frame, data.configurations or {})


def masks(size: int) -> Found:
    """As many configurations, each with a mask of its own."""
    drawn = islice(((width, origin) for width in count(2) for origin in range(width)), size)
    return _whole_way(
        _records(20_000, 200, 2),
        {f"{width} from {o}": {"a": Bucketize(width=width, origin=o)} for width, o in drawn},
    )


def classes(size: int) -> Found:
    """A label of many classes, three attributes of 100 values, five configurations."""
    frame = _records(100_000, 100, size)
    frame = frame.assign(b=frame["a"].to_numpy()[::-1], c=np.roll(frame["a"].to_numpy(), 1))
    return _whole_way(
        frame, {f"{width} wide": dict.fromkeys("abc", Bucketize(width=width)) for width in (2, 5, 10, 20, 50)}
    )


def values(size: int) -> Found:
    """An attribute of many distinct values, one per record."""
    frame = _records(size, size, 2).assign(a=np.arange(size))
    return _whole_way(
        frame, {f"{width} wide": {"a": Bucketize(width=width)} for width in (10, 25, 100, 1000)}
    )


CASES: dict[str, Callable[[int], Found]] = {
    case.__name__: case
    for case in (threads, processes, repeats, attributes, configurations, masks, classes, values)
}


def answer(advice: ao.Advice) -> str:
    """Everything that an advice says, but how long it took."""
    said = advice.to_dict()
    del said["seconds"]
    return json.dumps(said)


def _answers(advisor: ao.Advisor) -> list[str]:
    return [answer(advisor.advise(measure)) for measure in MEASURES]


def _ask_file(path: Path) -> tuple[list[str], float]:
    return _answers(ao.Advisor(path)), peak_memory()


def _clinic() -> ao.Summary:
    clinic = ao.datasets.clinic(2000)
    drawn = ao.generate_configurations(clinic.frame, label=clinic.label, n=50)
    return ao.summarize(clinic.frame, clinic.label, drawn, histograms=True)


def _records(n: int, n_values: int, n_classes: int) -> pd.DataFrame:
    """Draw an attribute and a label that depends on it."""
    rng = np.random.default_rng(0)
    value = rng.integers(n_values, size=n)
    label = (value * n_classes // n_values + rng.integers(n_classes, size=n) // 3) % n_classes
    return pd.DataFrame({"a": value, "label": label.astype(str)})


def _whole_way(frame: pd.DataFrame, chosen: Mapping[str, Mapping[str, Mask]]) -> Found:
    """Summarise, save, load and advise for three measures."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "summary.json"

        def work() -> Found:
            ao.summarize(frame, "label", chosen, histograms=True).save(path)
            advisor = ao.Advisor(path)
            uncertain = [measure for measure in MEASURES if not advisor.advise(measure).certified]
            return {"wrong": f"not certified: {', '.join(uncertain)}" if uncertain else ""}

        return _timed(work)


def _timed(work: Callable[[], Found]) -> Found:
    before = peak_memory()
    used, start = _processor_seconds(), time.perf_counter()
    found = work()
    wall = time.perf_counter() - start
    measured = {"wall": wall, "cpu": _processor_seconds() - used, "before": before, "peak": peak_memory()}
    return measured | found


def _processor_seconds() -> float:
    """Of this process and of its children that have ended."""
    return sum(os.times()[:4])

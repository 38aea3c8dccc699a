"""Many small linear systems: one thread each, because threads that wait for each other take longer."""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock

FEW_COLUMNS = 1000
"""Columns of a system below which a second thread gains little on an idle machine."""

_LINKED = ("numpy.linalg._umath_linalg", "scipy.linalg._flapack")  # modules that call OpenBLAS
_lock = Lock()
_inside = 0  # blocks that run now, in any thread
_before: list[int] = []  # threads that each library had before the first of them


@contextmanager
def one_blas_thread(columns: int = 0) -> Iterator[None]:
    """Let OpenBLAS use one thread in this process while the block runs, for systems of so many columns.

    OpenBLAS divides a system of some hundred columns among all cores, and its threads wait for each other
    actively. Where other programs use the cores, that takes ten times as long and more. Larger systems, and
    libraries other than OpenBLAS, are left as they are.
    """
    global _inside
    if columns >= FEW_COLUMNS:
        yield
        return
    with _lock:
        if _inside == 0:
            _before[:] = [get() for get, _ in _openblas()]
            _set([1] * len(_before))
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                _set(_before)


def _set(threads: list[int]) -> None:
    for (_, set_threads), number in zip(_openblas(), threads, strict=True):
        set_threads(number)


@cache
def _openblas() -> list[tuple[Callable[[], int], Callable[[int], None]]]:
    """Find the functions that tell and set the threads of each OpenBLAS of NumPy and SciPy."""
    found = []
    for name in _LINKED:
        try:
            library = ctypes.CDLL(importlib.import_module(name).__file__)
        except (ImportError, OSError):  # built in another way, with nothing to set
            continue
        for prefix in ("scipy_openblas", "openblas"):
            for suffix in ("", "64_"):
                get = getattr(library, f"{prefix}_get_num_threads{suffix}", None)
                set_threads = getattr(library, f"{prefix}_set_num_threads{suffix}", None)
                if get is not None and set_threads is not None:
                    found.append((get, set_threads))
    return found

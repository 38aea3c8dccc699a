"""Small linear systems are solved by one thread, and every library has its threads back afterwards."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from aegis_opt import _blas
from aegis_opt._blas import FEW_COLUMNS, one_blas_thread


@pytest.fixture
def threads(monkeypatch):
    """Two libraries with four and eight threads, in place of those of this machine."""
    numbers = {"one": 4, "other": 8}

    def functions(name: str):
        return lambda: numbers[name], lambda number: numbers.update({name: number})

    monkeypatch.setattr(_blas, "_openblas", lambda: [functions("one"), functions("other")])
    return numbers


def test_threads_come_back_whatever_happens(threads) -> None:
    def fail() -> None:
        with one_blas_thread():
            with one_blas_thread():
                assert threads == {"one": 1, "other": 1}
            assert threads == {"one": 1, "other": 1}
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert threads == {"one": 4, "other": 8}


def test_blocks_that_overlap_in_several_threads_give_them_back_once(threads) -> None:
    both_in, first_out = Barrier(2), Barrier(2)

    def block(leaves_first: bool) -> dict[str, int]:
        with one_blas_thread():
            both_in.wait(10)
            if not leaves_first:
                first_out.wait(10)
                return dict(threads)
        first_out.wait(10)
        return {}

    with ThreadPoolExecutor(2) as pool:
        last, _ = pool.map(block, [False, True])
    assert last == {"one": 1, "other": 1}
    assert threads == {"one": 4, "other": 8}


def test_large_systems_keep_all_threads(threads) -> None:
    with one_blas_thread(FEW_COLUMNS):
        assert threads == {"one": 4, "other": 8}


def test_the_libraries_of_numpy_and_scipy_obey_where_they_are_openblas() -> None:
    before = [get() for get, _ in _blas._openblas()]
    with one_blas_thread():
        assert all(get() == 1 for get, _ in _blas._openblas())
    assert [get() for get, _ in _blas._openblas()] == before


def test_another_library_has_nothing_to_set(monkeypatch) -> None:
    monkeypatch.setattr(_blas, "_LINKED", ("math", "no.such.module"))
    _blas._openblas.cache_clear()
    try:
        assert _blas._openblas() == []
        with one_blas_thread():
            pass
    finally:
        _blas._openblas.cache_clear()

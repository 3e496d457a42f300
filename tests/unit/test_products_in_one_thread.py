"""Small matrix products are made in one thread of BLAS, whatever the process allows; its threads come back."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from odtc.base import deadline, threads

SMALL = 1e7


def most() -> set[int]:
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.fixture
def two_threads():
    with threadpool_limits(2, "blas"):
        if most() != {2}:
            pytest.skip("no library of matrix products here takes two threads")
        yield


def test_inside_there_is_one_thread_and_behind_it_as_many_as_before(two_threads):
    with threads.for_product(SMALL):
        with threads.for_product(SMALL):
            assert most() == {1}
        assert most() == {1}
    assert most() == {2}
    with pytest.raises(ZeroDivisionError), threads.for_product(SMALL):
        1 / 0  # noqa: B018
    assert most() == {2}


@pytest.mark.parametrize("multiplications", [10.0, 1e12])
def test_other_products_are_left_to_the_library(two_threads, multiplications):
    with threads.for_product(multiplications):
        assert most() == {2}


def test_a_product_of_another_thread_is_left_to_the_library(two_threads):
    def work() -> set[int]:
        with threads.for_product(SMALL):
            return most()

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(work).result() == {2}


def test_a_product_of_the_searches_is_such_a_one(two_threads, monkeypatch):
    seen = []

    class Table(np.ndarray):
        def __array_ufunc__(self, ufunc, method, *inputs, **how):
            seen.append((ufunc.__name__, most()))
            return getattr(ufunc, method)(*(np.asarray(one) for one in inputs), **how)

    X = np.ones((300, 40)).view(Table)
    deadline.product(X, X, float)
    assert ("matmul", {1}) in seen and most() == {2}

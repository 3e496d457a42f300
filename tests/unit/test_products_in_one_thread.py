"""Small matrix products are made in one thread of BLAS, whatever the process allows; its threads come back."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from odtc import fit
from odtc.base import deadline, system, threads
from odtc.workflow import run as workflow_run
from tests.command_line import MONKS, environment

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


def test_of_a_run_large_products_alone_have_the_threads_that_it_may_use(two_threads):
    with threads.at_most(3), threads.in_one_thread():
        assert most() == {1}
        with threads.for_product(1e12):
            assert most() == {3}
        with threads.in_one_thread(), threads.for_product(SMALL):
            assert most() == {1}
        assert most() == {1}
    with threads.for_product(1e12):
        assert most() == {2}


def test_a_fit_in_python_has_one_and_gives_them_back(two_threads, monkeypatch):
    seen, searched = [], workflow_run.searched
    monkeypatch.setattr(workflow_run, "searched", lambda *given: seen.append(most()) or searched(*given))
    fit(MONKS / "monks-1.csv", "auto", depth=2, encoding="onehot")
    assert seen == [{1}] and most() == {2}


@pytest.mark.parametrize(("said", "number"), [({}, 1), ({"OMP_NUM_THREADS": "2"}, 2), ({"MKL_NUM_THREADS": "2"}, 2)])
def test_a_command_has_one_unless_the_environment_says_how_many(said, number, tmp_path):
    """Beside other programs, the check of a certificate of a second took fifty times as long by two threads."""
    if {library["internal_api"] for library in threadpool_info() if library["user_api"] == "blas"} != {"openblas"}:
        pytest.skip("numpy has no OpenBLAS here")
    code = (
        "import sys, json; sys.argv = ['odtc', 'list', 'models']; from odtc.cli.app import main\n"
        "try:\n    main()\nfinally:\n    import numpy, threadpoolctl\n"
        "    print(json.dumps([one['num_threads'] for one in threadpoolctl.threadpool_info()]))"
    )
    bare = {name: text for name, text in environment().items() if name not in threads.VARIABLES}
    ran = subprocess.run([sys.executable, "-c", code], env=bare | said, capture_output=True, text=True, check=True)
    most = max(json.loads(ran.stdout.splitlines()[-1]))
    assert most == number if number == 1 else most != 1 or system.cores() == 1


@pytest.mark.parametrize("said", [{}, {"OMP_NUM_THREADS": "1"}])
def test_a_command_that_has_one_by_its_environment_does_not_look_for_the_libraries(said, tmp_path):
    code = (
        f"import sys; sys.argv = ['odtc', 'fit', {str(MONKS / 'monks-1.csv')!r}, '--depth', '1', '-o', 'x']\n"
        "from odtc.cli.app import main\ntry:\n    main()\nfinally:\n    print('threadpoolctl' in sys.modules)"
    )
    bare = {name: text for name, text in environment().items() if name not in threads.VARIABLES}
    command = [sys.executable, "-c", code]
    ran = subprocess.run(command, env=bare | said, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert ran.stdout.splitlines()[-1] == "False"


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

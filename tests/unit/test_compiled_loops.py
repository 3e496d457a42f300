"""Compiled loops that numba keeps on disk."""

import _thread
import importlib
import importlib.util
import itertools
import subprocess
import sys
import threading
import time
import types
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from odtc.algorithms.thresholds import compiled as thresholds
from odtc.base import compile_apart, compiled_loops, deadline, threads
from odtc.errors import TimeLimitReached
from odtc.evaluation import compiled_ahead

ROOT = Path(__file__).parents[2]


def module(path, text: str):
    path.write_text(text)
    for stale in path.parent.glob(f"__pycache__/{path.stem}.*.pyc"):  # of a text as long, of the same second
        stale.unlink()
    spec = importlib.util.spec_from_file_location(path.stem, path)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def test_loops_are_compiled_anew_if_one_that_they_call_has_changed_in_another_file(tmp_path, monkeypatch):
    pytest.importorskip("numba", reason="numba is not installed")
    monkeypatch.setattr(compiled_loops, "_stamp", compiled_loops._stamp.__wrapped__)
    outer = module(tmp_path / "outer.py", "def outer(x):\n    return inner(x) + 1\n").outer
    for added, told in ((1, 7), (2, 8), (2, 8)):
        inner = module(tmp_path / "inner.py", f"def inner(x):\n    return x + {added}\n").inner
        compiled = compiled_loops.compile_loops(("inner", "outer"), {"inner": inner, "outer": outer})
        assert compiled(5) == told
    assert compiled.stats.cache_hits  # what has not changed is taken from disk


def of_loops(monkeypatch, on_disk=False, seconds=8.0, apart=lambda spent: False, wished="", crowd=1.0):
    """Loops that compiling would take so many seconds for, on a machine of so many programs a processor."""
    monkeypatch.setattr(compiled_loops.system, "crowd", lambda: crowd)
    monkeypatch.setattr(compiled_loops, "is_on_disk", lambda function: on_disk)
    monkeypatch.setattr(compiled_loops, "may_compile", lambda: True)
    monkeypatch.setenv(compiled_loops.VARIABLE, wished)
    monkeypatch.setattr(compiled_loops, "AGAIN", 0.0)
    return compiled_loops.Repaid(lambda: "compiled", seconds, apart)


def test_loops_are_compiled_once_as_long_was_spent_without(monkeypatch):
    loops = of_loops(monkeypatch)
    assert loops.loops(7.0) is None
    loops.spend(3.0)
    assert loops.loops(4.0) is None and loops.loops(6.0) == "compiled"
    assert loops.loops(0.0) == "compiled"  # they cost nothing more


def test_loops_on_disk_are_loaded_for_less(monkeypatch):
    loops = of_loops(monkeypatch, on_disk=True)
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    assert loops.loops(0.1) is None and loops.loops(1.0) == "compiled"


def test_loops_on_disk_are_loaded_for_still_less_once_numba_is_imported(monkeypatch):
    loops = of_loops(monkeypatch, on_disk=True)
    monkeypatch.setitem(sys.modules, "numba", types.ModuleType("numba"))
    assert loops.loops(0.001) is None and loops.loops(0.1) == "compiled"


def test_no_loops_are_compiled_that_a_limit_leaves_no_time_for_or_a_process_apart_compiles(monkeypatch):
    assert of_loops(monkeypatch, apart=lambda spent: spent > 5).loops(9.0) is None
    with deadline.within(10.0):
        assert of_loops(monkeypatch).loops(9.0) is None
    with deadline.within(100.0):
        assert of_loops(monkeypatch).loops(9.0) == "compiled"
        assert of_loops(monkeypatch, crowd=10.0).loops(9.0) is None  # 8 CPU seconds are 80 there


def test_a_call_is_made_plain_until_that_has_taken_as_long_as_compiling(monkeypatch):
    loops = of_loops(monkeypatch)
    monkeypatch.setattr(loops, "load", lambda: lambda *given: ("compiled", *given))
    monkeypatch.setattr(compiled_loops.time, "process_time", itertools.count(step=5.0).__next__)
    assert [loops.run(lambda *given: ("plain", *given), 1, 2)[0] for _ in range(4)] == ["plain"] * 2 + ["compiled"] * 2
    assert loops.run(max, 1, 2) == ("compiled", 1, 2)


def test_a_plain_call_that_is_ended_counts_too(monkeypatch):
    loops = of_loops(monkeypatch)
    monkeypatch.setattr(compiled_loops.time, "process_time", itertools.count(step=9.0).__next__)
    with pytest.raises(ZeroDivisionError):
        loops.run(lambda: 1 / 0)
    assert loops.loops(0.0) == "compiled"


def test_the_environment_settles_what_is_compiled(monkeypatch):
    assert of_loops(monkeypatch, wished="never").loops(99.0) is None
    assert of_loops(monkeypatch, wished="always").loops(0.0) == "compiled"
    loops = of_loops(monkeypatch)
    monkeypatch.setattr(compiled_loops, "may_compile", lambda: False)
    assert loops.loops(99.0) is None


def test_a_numba_that_cannot_be_imported_is_done_without(monkeypatch):
    loops = of_loops(monkeypatch)
    monkeypatch.setattr(loops, "load", lambda: importlib.import_module("odtc.no_such_module"))
    assert loops.loops(99.0) is None and loops.loops(99.0) is None


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
@pytest.mark.parametrize("size", [0, 20])
def test_a_file_on_disk_that_is_cut_short_is_written_anew(suffix, size, tmp_path, monkeypatch):
    """As a crash of the machine leaves it: each command ended with a fault until the file was taken away."""
    numba = pytest.importorskip("numba", reason="numba is not installed")
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")  # beside the file, in its own folder
    loop = module(tmp_path / "loop.py", "def twice(x):\n    return x + x\n").twice
    assert compiled_loops.compile_loops(("twice",), {"twice": loop})(4) == 8
    (kept,) = tmp_path.rglob(f"*.{suffix}")
    kept.write_bytes(kept.read_bytes()[:size])
    assert compiled_loops.compile_loops(("twice",), {"twice": loop})(4) == 8
    again = compiled_loops.compile_loops(("twice",), {"twice": loop})
    assert again(4) == 8 and again.stats.cache_hits


def test_ctrl_c_while_numba_is_at_work_leaves_nothing_half_done(tmp_path, monkeypatch):
    """numba was left with half of its tables, and whatever was compiled later ended in a KeyError."""
    numba = pytest.importorskip("numba", reason="numba is not installed")
    loop = module(tmp_path / "loop.py", "def twice(x):\n    return x + x\n").twice
    made, goes_on, ended = numba.njit, threading.Event(), []

    def halfway(**options):
        _thread.interrupt_main()  # what Ctrl-C does
        assert goes_on.wait(60)
        ended.append(True)
        return made(**options)

    with monkeypatch.context() as during:
        during.setattr(numba, "njit", halfway)
        with pytest.raises(KeyboardInterrupt):
            compiled_loops.compile_loops(("twice",), {"twice": loop})
        assert not ended  # nobody waits for it
        goes_on.set()
        threads.apart(int)  # the next work of the kind comes behind it
        assert ended
    twice = compiled_loops.compile_loops(("twice",), {"twice": loop})
    assert threading.current_thread() is threading.main_thread()
    compile_now, at_work = numba.core.dispatcher.Dispatcher.compile, []

    def seen(self, types):
        at_work.append(threading.current_thread())
        return compile_now(self, types)

    monkeypatch.setattr(numba.core.dispatcher.Dispatcher, "compile", seen)
    assert twice(3) == 6 and at_work and threading.main_thread() not in at_work


def test_a_time_limit_does_not_wait_for_numba(tmp_path, monkeypatch):
    """On a busy machine a fit came twenty seconds after its limit of sixty: nothing ends numba once it compiles."""
    numba = pytest.importorskip("numba", reason="numba is not installed")
    loop = module(tmp_path / "loop.py", "def twice(x):\n    return x + x\n").twice
    begun, goes_on, compile_now = threading.Event(), threading.Event(), numba.core.dispatcher.Dispatcher.compile

    def long(self, types):
        begun.set()
        assert goes_on.wait(60)
        return compile_now(self, types)

    monkeypatch.setattr(deadline, "is_over", begun.is_set)  # the limit passes as numba is at work
    monkeypatch.setattr(numba.core.dispatcher.Dispatcher, "compile", long)
    twice = compiled_loops.compile_loops(("twice",), {"twice": loop})
    loops = compiled_loops.Repaid(lambda: twice, 0.0)
    try:
        with pytest.raises(TimeLimitReached):
            twice(3)
        assert threads.is_left() and loops.run(loop, 4) == 8  # which waits for nothing
    finally:
        goes_on.set()
    threads.apart(int)  # the next work of the kind comes behind it
    assert not threads.is_left() and twice(3) == 6


def test_what_is_begun_after_a_limit_is_done(tmp_path):
    pytest.importorskip("numba", reason="numba is not installed")
    loop = module(tmp_path / "loop.py", "def twice(x):\n    return x + x\n").twice
    with deadline.within(-1.0):
        assert compiled_loops.compile_loops(("twice",), {"twice": loop})(3) == 6


def test_what_work_apart_raises_is_raised_here():
    with pytest.raises(ZeroDivisionError):
        threads.apart(lambda: 1 // 0)
    assert threads.apart(threads.apart, int, "7") == 7


APART = [
    "odtc.algorithms.bins.bin_bound",
    "odtc.algorithms.constrained.few_tests.subset_trees",
    "odtc.algorithms.constrained.sweeps.threshold_kernel",
    "odtc.algorithms.moments.kernels",
    "odtc.algorithms.moments.medians",
    "odtc.verification.compiled_pairs",
    "odtc.verification.constrained.sweep_kernel",
]


@pytest.mark.parametrize("name", APART)
def test_a_module_that_a_process_apart_compiles_calls_its_loops(name, monkeypatch):
    """All of them, on data of the types that they have in a search or a check."""
    monkeypatch.setenv(compiled_loops.VARIABLE, "never")
    kernels, called = importlib.import_module(name), []
    loops = compiled_loops.Repaid(lambda: called.append, 1.0)
    monkeypatch.setattr(loops, "loops", lambda ahead: called.append(ahead))  # none are there
    monkeypatch.setattr(kernels, "COMPILED", loops)
    kernels.compile_now()
    assert called


def test_those_are_all_modules_that_have_a_process_for_them():
    asking = [
        path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".")
        for path in (ROOT / "odtc").rglob("*.py")
        if "compile_apart.once_it_pays(__name__" in path.read_text(encoding="utf-8")
    ]
    assert sorted(asking) == APART


def test_no_two_modules_of_kernels_that_call_one_another_have_a_function_of_one_name():
    modules = (thresholds.binary_pairs, thresholds.binary_triples, thresholds.block_groups, thresholds.depth_two)
    names = Counter(
        name
        for module in (*modules, thresholds.pair_counts)
        for name, function in vars(module).items()
        if isinstance(function, types.FunctionType) and function.__module__ == module.__name__
    )
    assert names and [name for name, times in names.items() if times > 1] == []


def test_what_is_compiled_in_other_threads_can_be_ended(monkeypatch, tmp_path):
    pytest.importorskip("numba")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    with ThreadPoolExecutor(1) as thread:
        found = thread.submit(compile_apart.finish, "odtc.algorithms.moments.medians")
        while not compile_apart._waited_for and not found.done():
            time.sleep(0.01)
        compile_apart.end_all()
        assert found.result() is None
    assert not compile_apart._waited_for


def test_doctor_compiles_all_of_them():
    own = {"odtc.algorithms.thresholds.compiled"}  # which compiles its kernels one by one
    assert {module for module, _ in compiled_ahead.LOOPS} == {*APART, *own}
    names = {name for module, name in compiled_ahead.LOOPS if module in own}
    first = {thresholds.Kernels(binary).first for binary in (False, True)}
    assert names == first | {name + thresholds.WIDE for name in first}


FIRST_LOOP = """
import sys
import numpy as np
from odtc.base import compiled_loops

def add(x):
    return x + 1

assert compiled_loops.for_numba(add, True)(2) == 3
assert "scipy.linalg" not in sys.modules
import numba
from numba.np.linalg import ensure_blas

@numba.njit
def product(a):
    return np.dot(a, a)[0, 0]

assert product(np.eye(3)) == 1 and ensure_blas() is None and "scipy.linalg" in sys.modules
"""


def test_loops_are_loaded_without_the_linear_algebra_that_they_do_not_use():
    """scipy.linalg took a third of the time in which kernels are loaded; a user's own functions still find it."""
    pytest.importorskip("numba", reason="numba is not installed")
    done = subprocess.run([sys.executable, "-c", FIRST_LOOP], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr

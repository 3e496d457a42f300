"""Compiled loops that numba keeps on disk."""

import _thread
import importlib.util
import threading

import pytest

from odtc.base import compiled_loops, threads


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


def test_what_work_apart_raises_is_raised_here():
    with pytest.raises(ZeroDivisionError):
        threads.apart(lambda: 1 // 0)
    assert threads.apart(threads.apart, int, "7") == 7

"""Compiled loops that numba keeps on disk."""

import importlib.util

import pytest

from odtc.base import compiled_loops


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

"""Kernels: compiled once, kept on disk, and run without numba."""

import _thread
import gc
import importlib
import json
import os
import subprocess
import sys
import threading
import types
from pathlib import Path

import numba
import numpy as np
import pytest

from odtc.base import deadline, kernels, threads
from odtc.base.kernels import Kernel, kernel
from odtc.errors import TimeLimitReached
from odtc.evaluation import kernel_compilation

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder of its own for compiled code, and functions of any module as those of odtc."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kept"))
    monkeypatch.setattr(kernels, "__name__", "odtc_of_tests.base.kernels")
    yield tmp_path / "kept"
    kernels.report()


def module(path, text: str):
    """A module of this text; a file that is written twice within a second has no second compiled file of Python."""
    path.write_text(text)
    made = types.ModuleType("odtc_of_tests")
    made.__file__ = str(path)
    exec(compile(text, path, "exec"), made.__dict__)
    return made


def twice(x):
    return x + x


def compilations(monkeypatch) -> list:
    """A list that gets an entry whenever numba compiles a kernel."""
    made, compiled = [], kernels._compiled
    monkeypatch.setattr(kernels, "_compiled", lambda *given: made.append(given) or compiled(*given))
    return made


def test_a_kernel_is_compiled_once_for_arguments_of_some_types(folder, monkeypatch):
    made, one = compilations(monkeypatch), kernel(twice)
    assert one(4) == 8 and one(np.int32(5)) == 10 and len(made) == 1
    assert one(0.25) == 0.5 and len(made) == 2
    again = kernel(twice)
    assert again(4) == 8 and again(0.5) == 1.0 and len(made) == 2
    assert {path.suffix for path in folder.iterdir()} == {".kernel"}


def test_functions_of_others_are_compiled_as_before(monkeypatch):
    """A kernel is optimised once, as a whole, also if it cannot be compiled; other functions as numba does it."""
    done, library = [], numba.core.codegen.JITCodeLibrary
    each = library._optimize_functions
    monkeypatch.setattr(library, "_optimize_functions", lambda *given: done.append(given) or each(*given))
    assert kernel(twice)(4) == 8
    with pytest.raises(numba.core.errors.TypingError):
        kernel(lambda x: x.none_such)(4)
    assert not done
    assert numba.njit(twice)(4) == 8 and done


CALLS = """
import numpy as np

def largest(values):
    return max(np.sort(values)[-1], np.median(values) + 1)

def whole(values):
    return largest(values) + np.sum(values > 0)
"""


@pytest.mark.parametrize("are_loaded", [True, False])
def test_parts_that_a_kernel_shares_with_functions_of_others_run_in_both(tmp_path, monkeypatch, are_loaded):
    """numba keeps what it made of `np.sort`, which a kernel has as a part of its own and no way in from Python."""
    if not are_loaded:  # code that cannot be run from a file is run by numba
        monkeypatch.setattr(kernels, "_loaded", lambda *given: None)
    functions, values = module(tmp_path / "calls.py", CALLS), np.array([0.5, -2.0, 3.0])
    assert kernel(functions.whole)(values) == functions.whole(values) == 5.0
    assert numba.njit(functions.largest)(values) == 3.0
    assert numba.njit(lambda given: np.sort(given))(values).tolist() == [-2.0, 0.5, 3.0]


def test_arrays_that_cannot_be_written_are_of_the_same_type(monkeypatch):
    def total(table, part):
        whole = 0.0
        for row in table:
            for value in row[: part[1]]:
                whole += value
        return whole, table.shape[0]

    made, one, table = compilations(monkeypatch), kernel(total), np.arange(12.0).reshape(3, 4)
    assert one(table, (0, 2)) == (table[:, :2].sum(), 3)
    table.flags.writeable = False
    assert one(table, (0, 4)) == (66.0, 3) and len(made) == 1
    assert one(table[:, ::2], (0, 2)) == (table[:, ::2].sum(), 3) and len(made) == 2  # other places in memory
    assert one(table.astype(np.int32), (0, 4))[0] == 66


def test_arrays_that_a_kernel_returns_are_those_of_numpy():
    def made(n, wide):
        return np.arange(n).astype(np.uint32), np.zeros((n, 2)) if wide else np.ones((n, 2))

    first, second = kernel(made)(3, True)
    assert first.dtype == np.uint32 and first.tolist() == [0, 1, 2] and second.tolist() == [[0, 0]] * 3


def test_a_kernel_is_compiled_anew_if_a_function_or_a_constant_in_it_has_changed(tmp_path):
    for inner, more, told in ((1, 10, 17), (2, 10, 18), (2, 20, 28)):
        own = module(tmp_path / "inner.py", f"def inner(x):\n    return x + {inner}\n").inner
        outer = module(tmp_path / "outer.py", "def outer(x):\n    return inner(x) + 1 + MORE\n").outer
        outer.__globals__.update(inner=own, MORE=more)
        assert kernel(outer)(5) == told


def test_code_that_is_kept_is_that_of_the_process_not_of_a_file_that_has_changed_since(tmp_path):
    before = module(tmp_path / "own.py", "def own(x):\n    return x + 1\n").own
    after = module(tmp_path / "own.py", "def own(x):\n    return x + 2\n").own
    assert kernel(before)(5) == 6  # compiled while the file has the other function
    assert kernel(after)(5) == 7
    assert kernel(before)(5) == 6


def test_compiling_moves_the_end_of_a_budget_but_not_of_a_limit():
    """Without kernels on disk a solver's tree was never judged: compiling used up the seconds of the judge."""
    with deadline.budget(0.0):
        deadline.check_limit()
        deadline.pause(60.0)
        deadline.check()
    with deadline.within(0.0):
        deadline.pause(60.0)
        with pytest.raises(TimeLimitReached):
            deadline.check_limit()


@pytest.mark.parametrize("size", [0, 20, -5])
def test_a_file_on_disk_that_is_cut_short_is_written_anew(size, folder, monkeypatch):
    """As a crash of the machine leaves it: each command ended with a fault until the file was taken away."""
    assert kernel(twice)(4) == 8
    (kept,) = folder.glob("*.kernel")
    kept.write_bytes(kept.read_bytes()[:size])
    made = compilations(monkeypatch)
    assert kernel(twice)(4) == 8 and kernel(twice)(4) == 8 and len(made) == 1


def test_code_of_another_numba_is_not_run(folder, monkeypatch):
    """It would end the process if a function that it calls were missing."""
    assert kernel(twice)(4) == 8
    (kept,) = folder.glob("*.kernel")
    head, _, code = kept.read_bytes().partition(b"\n")
    kept.write_bytes(json.dumps(json.loads(head) | {"needs": ["numba_no_such_function"]}).encode() + b"\n" + code)
    made = compilations(monkeypatch)
    assert kernel(twice)(4) == 8 and len(made) == 1


def test_a_folder_that_cannot_be_written_leaves_compiled_code_in_memory(folder, monkeypatch):
    folder.write_text("a file where the folder should be")
    made, one = compilations(monkeypatch), kernel(twice)
    kernels.report()
    assert one(4) == one(4) == 8 and len(made) == 1 and kernels.folder_of(__file__) is None
    said = kernels.report()
    assert f"no file can be written in {folder}; set NUMBA_CACHE_DIR" in said and kernels.report() == ""


def test_kernels_stay_next_to_their_module_or_in_the_cache_of_the_user(tmp_path, monkeypatch):
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "__pycache__").touch()  # no folder, as in an installation that is read-only
    assert kernels.folder_of(str(tmp_path / "module.py")) == tmp_path / "cache" / "odtc"
    (tmp_path / "__pycache__").unlink()
    assert kernels.folder_of(str(tmp_path / "module.py")) == tmp_path / "__pycache__"


def test_what_cannot_be_run_from_a_file_is_run_by_numba(monkeypatch):
    monkeypatch.setattr(kernels, "_loaded", lambda *given: None)
    assert kernel(twice)(4) == 8


WITHOUT_NUMBA = """
import sys
import numpy as np
from odtc.algorithms.near_optimal.pair_counts import add_products

out = np.zeros((2, 3), np.int64)
add_products(np.ones((1, 2), np.int64), np.ones((1, 2), np.int64), out, 0, np.array([-1, 2]), 1)
print(out.tolist(), "numba" in sys.modules)
"""


def test_what_is_on_disk_runs_without_numba():
    """Importing it takes ten times as long as loading all kernels of a search."""
    said = [
        subprocess.run(
            [sys.executable, "-c", WITHOUT_NUMBA], capture_output=True, text=True, cwd=ROOT, env=dict(os.environ)
        )
        for _ in range(2)
    ]
    assert [one.stdout.split("]] ")[-1] for one in said] == ["True\n", "False\n"], said[1].stderr
    assert said[0].stdout.startswith("[[0, 0, 0], [1, 2, 1]]") and said[1].stdout.startswith("[[0, 0, 0], [1, 2, 1]]")


def ones(count):
    return np.ones(count)


def test_a_kernel_runs_no_code_of_python_in_which_ctrl_c_could_be_heard():
    """Where a kernel asked Python for the type of its result, Ctrl-C ended in `subtype is NULL`, without a tree."""
    one, called = kernel(ones), []
    one(3)
    (entry,) = one._entries.values()
    gc.disable()  # its callbacks are code of Python
    sys.setprofile(lambda frame, event, argument: called.append((event, frame.f_code.co_name)))
    try:
        found = entry(3)
    finally:
        sys.setprofile(None)
        gc.enable()
    assert found.tolist() == [1, 1, 1]
    assert [name for event, name in called if event == "call"] == []


COLORAMA = """
__version__ = "0.4.6"

class Style:
    BRIGHT = RESET_ALL = ""

class Fore:
    BLUE = YELLOW = WHITE = GREEN = RED = BLACK = MAGENTA = CYAN = ""

def init(): print("the streams are exchanged")

reinit = deinit = init
"""


def test_numba_leaves_the_streams_of_other_threads_alone(tmp_path):
    """It exchanged them thousands of times while it compiled, and a command printed to a stream that was gone."""
    (tmp_path / "colorama.py").write_text(COLORAMA)
    path = os.pathsep.join([str(tmp_path), str(ROOT)])
    compiles = [sys.executable, "-c", WITHOUT_NUMBA]
    said = subprocess.run(compiles, capture_output=True, text=True, env=dict(os.environ) | {"PYTHONPATH": path})
    assert said.stdout == "[[0, 0, 0], [1, 2, 1]] True\n", said.stderr


def test_ctrl_c_while_numba_is_at_work_leaves_nothing_half_done(monkeypatch):
    """numba was left with half of its tables, and whatever was compiled later ended in a KeyError."""
    made, goes_on, ended = numba.njit, threading.Event(), []

    def halfway(**options):
        _thread.interrupt_main()  # what Ctrl-C does
        assert goes_on.wait(60)
        ended.append(threading.current_thread())
        return made(**options)

    with monkeypatch.context() as during:
        during.setattr(numba, "njit", halfway)
        with pytest.raises(KeyboardInterrupt):
            kernel(twice)(3)
        assert not ended and "was not done when the run ended" in kernels.report()  # nobody waits for it
        goes_on.set()
        threads.apart(int)  # the next work of the kind comes behind it
        assert ended and threading.main_thread() not in ended
    assert kernel(twice)(3) == 6


@pytest.mark.parametrize("budget", [None, 0.0])
def test_a_time_limit_does_not_wait_for_numba_and_a_shorter_budget_does(budget, monkeypatch):
    """On a busy machine a fit came twenty seconds after its limit of sixty: nothing ends numba once it compiles."""
    goes_on, compiled = threading.Event(), kernels._compiled

    def long(*given):
        assert goes_on.wait(60)
        return compiled(*given)

    monkeypatch.setattr(kernels, "_compiled", long)
    one = kernel(twice)
    try:
        with deadline.within(0.1), deadline.within(budget), pytest.raises(TimeLimitReached):
            one(3)
        assert threads.is_apart()
        goes_on.set()
        with deadline.within(None), deadline.within(budget):
            assert one(3) == 6
    finally:
        goes_on.set()


def test_a_budget_begins_again_after_a_compilation():
    with deadline.within(100.0), deadline.within(0.2):
        kernel(twice)(3)
        assert deadline.seconds_left() > 0
    assert kernels.report().startswith("kernels were compiled in ") and kernels.report() == ""


def test_what_work_apart_raises_is_raised_here():
    with pytest.raises(ZeroDivisionError):
        threads.apart(lambda: 1 // 0)
    assert threads.apart(threads.apart, int, "7") == 7


def test_doctor_compiles_all_modules_that_can():
    found = [
        path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".")
        for path in (ROOT / "odtc").rglob("*.py")
        if "\ndef compile_now()" in path.read_text(encoding="utf-8")
    ]
    assert sorted(kernel_compilation.MODULES) == sorted(found)


def kernels_of_the_package() -> dict[str, Kernel]:
    """Every kernel of odtc, by module and name."""
    names = [
        path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".")
        for path in (ROOT / "odtc").rglob("*.py")
        if "\n@kernel" in path.read_text(encoding="utf-8")
    ]
    modules = [importlib.import_module(name) for name in names]
    return {
        f"{module.__name__}.{name}": one
        for module in modules
        for name, one in vars(module).items()
        if isinstance(one, Kernel) and one.function.__module__ == module.__name__
    }


@pytest.mark.slow
def test_every_kernel_is_compiled_ahead(monkeypatch):
    """Certificates of regression trees and near-optimal sets waited for kernels that had been left out."""
    monkeypatch.undo()  # the kernels are where all commands find them
    called, call = set(), Kernel.__call__
    monkeypatch.setattr(Kernel, "__call__", lambda self, *given: called.add(self) or call(self, *given))
    done = [one.name for one in kernel_compilation.compile_all()]
    assert [name for name, one in kernels_of_the_package().items() if one not in called] == []
    assert done == [*kernel_compilation.MODULES, *kernel_compilation.PROBLEMS]

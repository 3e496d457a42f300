"""Plain loops over arrays, compiled by numba, which keeps its compiled code on disk.

numba fills its tables when it is first used, and a table that Ctrl-C leaves half full breaks everything that is
compiled later; in calls back from LLVM an exception is lost. So numba's work before a loop runs is done in a separate
thread, which receives no signal, and for which a time limit does not wait.
"""

import functools
import hashlib
import importlib
import importlib.util
import os
import sys
import time
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from odtc.base import deadline, system, threads

VARIABLE = "ODTC_COMPILED"  # of the environment: "never" or "always" decides whether loops are compiled
LOADING = 0.4  # CPU seconds without compiled loops, after which they are loaded if they are on disk
READY = 0.02  # the same once numba is imported, which takes most of that time
CONFIG = ".numba_config.yaml"  # numba reads it where a command runs: it could name a folder of code to load
AGAIN = 0.5  # seconds until loops are looked for again on disk: another process may have compiled them


def wish() -> str:
    """ "never", "always", or "" if each user of loops is to choose."""
    return os.environ.get(VARIABLE, "")


def may_compile() -> bool:
    """Return whether numba is installed, and the environment does not say never."""
    return wish() != "never" and importlib.util.find_spec("numba") is not None


class Repaid:
    """Loops with a plain alternative, compiled once that pays: if they are on disk, after a moment of work, otherwise
    once this process has spent as long without them as numba takes to compile them.

    Parameters
    ----------
    load : called for the compiled loops
    seconds : CPU seconds in which numba compiles them, about
    apart : called with the CPU seconds spent, to let a separate process compile them if that pays; returns whether that
        process is running
    """

    def __init__(self, load: Callable[[], Any], seconds: float, apart: Callable[[float], bool] = lambda spent: False):
        self.load, self._seconds, self._apart = load, seconds, apart
        self._spent, self._early = 0.0, 0.0
        self._made: Any = None
        self._lacking = False

    def loops(self, ahead: float) -> Any:
        """The compiled loops; None if as many CPU seconds as lie `ahead` are to be spent without."""
        if (wished := wish()) == "never" or threads.is_left():  # it would wait for the thread that is left
            return None
        matters = wished == "always" or self._spent + ahead > (READY if "numba" in sys.modules else LOADING)
        if self._made is None and matters and not self._lacking and may_compile():
            try:
                self._made = self.load() if wished == "always" or self._pays(self._spent + ahead) else None
            except ImportError:  # a numba that this numpy is too new for
                self._lacking = True
        return self._made

    def run(self, plain: Callable[..., Any], *given: Any) -> Any:
        """Return the result of the compiled loops for `given`; until they pay, the result of `plain`, whose CPU
        seconds count."""
        if (loops := self.loops(0.0)) is not None:
            return loops(*given)
        began = time.process_time()
        try:
            return plain(*given)
        finally:
            self.spend(time.process_time() - began)

    def spend(self, seconds: float) -> None:
        """Count so many CPU seconds that were spent without compiled loops."""
        self._spent += seconds

    def _pays(self, spent: float) -> bool:
        if time.monotonic() < self._early:
            return False
        if is_on_disk(self.load()):
            return True
        self._early = time.monotonic() + AGAIN
        return not self._apart(spent) and spent > self._seconds and repays(2 * self._seconds)


def repays(seconds: float) -> bool:
    """Return whether a limit leaves so many CPU seconds, at the present load of this machine: nothing ends numba once
    it compiles."""
    left = deadline.seconds_left()
    return left is None or left > seconds * system.crowd()


def is_on_disk(function: Any, **dtypes: str) -> bool:
    """Return whether a function of `compile_loops` was compiled before, so that loading it takes a moment; for arrays
    of these types, by the names of its arguments. Other names are ignored."""
    names = function.py_func.__code__.co_varnames[: function.py_func.__code__.co_argcount]
    asked = [(names.index(name), dtype) for name, dtype in dtypes.items() if name in names]
    try:
        index = function._cache._cache_file._load_index()
        return any(all(str(types[at].dtype) == dtype for at, dtype in asked) for types, *_ in index)
    except (OSError, AttributeError):  # numba shows this in no other way; not knowing costs a few seconds
        return False


def place(function: Any) -> Path | None:
    """The folder in which a function of `compile_loops` stays on disk; None if no folder can be written."""
    cache = function._cache
    return Path(cache.cache_path) if hasattr(cache, "_cache_file") else None


def compile_loops(names: Sequence[str], among: dict[str, Any]) -> Any:
    """Functions that call one another by their names, compiled; their modules keep the plain ones.

    Parameters
    ----------
    names : of the functions, each behind those that it calls
    among : dict, the global names that they see, of which the compiled ones take the place

    Returns
    -------
    The last of them, compiled.

    Raises
    ------
    ImportError
        Without numba.
    """
    return threads.apart(_compile_loops, names, among, check=limit_of_wait())


def _compile_loops(names: Sequence[str], among: dict[str, Any]) -> Any:
    for name in names:
        plain = among[name]
        own = types.FunctionType(plain.__code__, among, name, plain.__defaults__)
        own.__module__, own.__qualname__ = plain.__module__, plain.__qualname__
        among[name] = for_numba(own, name == names[-1])
    for name in names:
        keep_on_disk(among[name], (among[other].py_func for other in names))
    return among[names[-1]]


def for_numba(function: types.FunctionType, called: bool, written_out: bool = False) -> Any:
    """A function that numba compiles when needed; with the way in from Python, which takes a part of that time, only if
    it is called from there. `written_out`: it is compiled as a part of each function that calls it, so that a call with
    many arrays costs nothing. To be called in a thread apart (`threads.apart`)."""
    if os.path.exists(CONFIG):
        raise ImportError(f"numba would take its settings, such as a folder of compiled code, from {CONFIG} here")
    import numba

    _load_array_functions()
    options: dict[str, Any] = {"nogil": True, "no_cfunc_wrapper": True, "no_cpython_wrapper": not called}
    options |= {"inline": "always"} if written_out else {}
    made = numba.njit(**options)(function)
    compile_now = made._compile_for_args  # what numba calls for types that are new to the function

    def compiled(*given: Any, **named: Any) -> Any:
        with _noted():
            return threads.apart(functools.partial(compile_now, *given, **named), check=limit_of_wait())

    made._compile_for_args = compiled
    return made


_begun: list[float] = []  # when each compilation of this process that goes on has begun, of time.monotonic()


@contextmanager
def _noted() -> Iterator[None]:
    _begun.append(began := time.monotonic())
    try:
        yield
    finally:
        _begun.remove(began)


def compiling_for() -> float:
    """The seconds for which this process has been compiling kernels; 0 if it compiles none."""
    begun = list(_begun)  # another thread may call this
    return time.monotonic() - begun[0] if begun else 0.0


def _load_array_functions() -> None:
    """Import numba's functions on arrays without scipy.linalg, which takes a third of the time in which kernels are
    loaded. numba only checks that it is there, and it is, because odtc requires scipy; functions that need it
    import it by themselves."""
    if "numba.np.arraymath" in sys.modules:
        return
    try:
        from numba.np import linalg

        look = linalg.ensure_blas
    except (ImportError, AttributeError):  # another numba looks elsewhere
        return
    linalg.ensure_blas = lambda: None
    try:
        importlib.import_module("numba.np.arraymath")
    finally:
        linalg.ensure_blas = look


def limit_of_wait() -> Callable[[], None] | None:
    """The `check` of `threads.apart` that ends the wait for numba, which nothing ends, if a limit passes then. What
    is begun after a limit is needed, however long it takes."""
    return None if deadline.is_over() else deadline.check


def keep_on_disk(function: Any, among: Iterable[types.FunctionType]) -> None:
    """Let numba store the compiled code of a function on disk, valid as long as nothing changes in the files of the
    functions `among` which it may call. numba itself checks only the file of the function, but the code of the
    functions that it calls is included."""
    try:
        function.enable_caching()
        file = function._cache._cache_file
    except (RuntimeError, OSError, AttributeError):  # no place can be written: it is compiled in each process
        return
    file._source_stamp = _stamp(frozenset(other.__code__.co_filename for other in among))
    file._load_index = _whole_or(file._load_index, lambda: {})
    file._load_data = _whole_or(file._load_data, _missing)


def _whole_or(load: Callable[..., Any], otherwise: Callable[[], Any]) -> Callable[..., Any]:
    """Return a function that loads a file on disk; a file that is cut short or damaged, as after a crash of the
    machine, counts as missing, so that numba writes it again."""

    def loaded(*given: Any) -> Any:
        try:
            return load(*given)
        except OSError:
            raise
        except Exception:  # any error of the reader of pickled objects
            return otherwise()

    return loaded


def _missing() -> Any:
    raise FileNotFoundError


@functools.cache
def _stamp(files: frozenset[str]) -> str:
    text = hashlib.sha256()
    for file in sorted(files):
        text.update(Path(file).read_bytes())
    return text.hexdigest()

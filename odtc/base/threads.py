"""Number of threads for the searches of this package and for matrix products, and the threads.

    with at_most(threads):
        ...

No function inside needs an argument for it. Kernels that numba compiles run in parallel in threads, because they
release Python's lock. Without a request, the cores that this process may use count, and at most OMP_NUM_THREADS,
because schedulers and joblib set it to the threads of each of their processes.

    apart(work)

does work that Ctrl-C must not leave half done.

    with for_product(multiplications):
        ...

multiplies small matrices in one thread. The libraries start further threads for each product, which wait for the next
one in a loop, so a search of many small products took several times its CPU seconds, and next to other programs up to
fifty times. A command has one such thread from its start (`one_thread`), except for large products.
"""

import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING, Any

from odtc.base import system

if TYPE_CHECKING:  # a command begins sooner without it, and few use threads
    from concurrent.futures import Future, ThreadPoolExecutor


SAID = "OMP_NUM_THREADS"
LOOK = 0.05  # seconds between two looks at the clock while others are at work

_most: ContextVar[int | None] = ContextVar("odtc threads", default=None)


@contextmanager
def at_most(threads: int | None) -> Iterator[None]:
    """Inside, `allowed` is this number; None leaves it as it is outside."""
    token = _most.set(_most.get() if threads is None else threads)
    try:
        yield
    finally:
        _most.reset(token)


def allowed() -> int:
    """Return the number of threads that a search may use, 1 or more."""
    asked = _most.get()
    if asked is not None:
        return asked
    cores, said = system.cores(), os.environ.get(SAID, "").partition(",")[0].strip()
    return min(cores, int(said)) if said.isdecimal() and int(said) else cores


@cache
def pool(threads: int) -> "ThreadPoolExecutor":
    """Return threads that wait for work; a process makes them once."""
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(threads, "odtc")


def results(waiting: "Sequence[Future[Any]]", check: Callable[[], None]) -> list[Any]:
    """Return the results of threads or processes, in the order of `waiting`; `check` is called repeatedly meanwhile,
    and may raise to end the wait."""
    from concurrent.futures import wait

    while wait(waiting, LOOK).not_done:
        check()
    return [future.result() for future in waiting]


APART = "odtc apart"  # the name of a thread


def apart(work: Callable[..., Any], *arguments: Any, check: Callable[[], None] | None = None) -> Any:
    """Return the result of `work(*arguments)`, or raise its exception.

    Ctrl-C and SIGTERM come only to the main thread: it lets another thread work, and waits. KeyboardInterrupt is
    raised here at once, and so are exceptions of `check`, which is called repeatedly; the work continues to its end,
    before which no other work of this kind begins.
    """
    from concurrent.futures import Future

    done: Future[Any] = Future()

    def run() -> None:
        try:
            with _one_at_a_time():
                found = work(*arguments)
        except BaseException as problem:
            done.set_exception(problem)
        else:
            done.set_result(found)

    if threading.current_thread() is not threading.main_thread():
        run()
        return done.result()
    threading.Thread(target=run, name=APART).start()
    return done.result() if check is None else results([done], check)[0]


def is_apart() -> bool:
    """Return whether work that Ctrl-C has left still runs (`apart`), so the end of the process would wait."""
    return any(thread.name == APART for thread in threading.enumerate())


@cache
def _one_at_a_time() -> Any:
    return threading.RLock()


system.forget_in_forks(pool.cache_clear)  # threads do not live on in a forked process
system.forget_in_forks(_one_at_a_time.cache_clear)  # nor does a thread that holds it


FEWEST, MOST = 2e5, 5e8  # multiplications that libraries share among threads, and that repay these
# The variables that say how many threads OpenBLAS, MKL, BLIS and Accelerate have; the first is for all but the last.
VARIABLES = (SAID, "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
_ours: list[bool] = []  # whether the libraries of this process have one thread by our wish


def one_thread() -> None:
    """Let the libraries of matrix products that this process and those that it starts will load have one thread each,
    unless the environment states another number, or numpy has loaded one. To be called before numpy is imported."""
    if "numpy" not in sys.modules and {os.environ.get(name) or "1" for name in VARIABLES} == {"1"}:
        os.environ.update(dict.fromkeys(VARIABLES[1:], "1"))
        _ours.append(True)


@contextmanager
def in_one_thread() -> Iterator[None]:
    """Inside, each product has one thread, except for large ones (`for_product`)."""
    if _ours or not _is_main():
        yield
        return
    with _threads(1):
        _ours.append(True)
        try:
            yield
        finally:
            _ours.pop()


@contextmanager
def for_product(multiplications: float) -> Iterator[None]:
    """Inside, run a product of this many multiplications in one thread if more threads do not pay off. If they do, and
    `one_thread` or `in_one_thread` allows only one, use as many as a search may have."""
    if FEWEST < multiplications < MOST:
        wanted = 1
    elif multiplications >= MOST and _ours:
        wanted = allowed()
    else:
        wanted = None
    with _threads(wanted):
        yield


@contextmanager
def _threads(wanted: int | None) -> Iterator[None]:
    """Inside, products have this number of threads; None leaves it unchanged. Only in the main thread, because the
    number belongs to the process."""
    told = [(library, int(library.get_num_threads())) for library in _libraries()] if wanted and _is_main() else []
    changed = [(library, number) for library, number in told if number != wanted]
    try:
        for library, _ in changed:
            library.set_num_threads(wanted)
        yield
    finally:
        for library, number in changed:
            library.set_num_threads(number)


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()


@cache
def _libraries() -> tuple[Any, ...]:
    """Return the libraries of matrix products that are loaded."""
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return tuple(ThreadpoolController().select(user_api="blas").lib_controllers)

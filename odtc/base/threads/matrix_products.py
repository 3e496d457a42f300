"""Number of threads of matrix products.

    with for_product(multiplications):
        ...

multiplies small matrices in one thread. The libraries start further threads for each product, which wait for the next
one in a loop, so a search of many small products took several times its CPU seconds, and next to other programs up to
fifty times. A command has one such thread from its start (`one_thread`), except for large products.
"""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from odtc.base.threads import SAID, allowed

FEWEST, MOST = 2e5, 5e8  # multiplications that libraries share among threads, and that repay these
# The variables that say how many threads OpenBLAS, MKL, BLIS and Accelerate have; the first is for all but the last.
VARIABLES = (
    SAID,
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
_ours: list[bool] = []  # whether the libraries of this process have one thread by our wish


def one_thread() -> None:
    """Lets the libraries of matrix products that this process and those that it starts will load have one thread each,
    unless the environment says how many, or numpy has loaded one. To be called before numpy is imported."""
    if "numpy" not in sys.modules and not any(os.environ.get(name) for name in VARIABLES):
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
    """Inside, a product of so many multiplications has one thread if others do not repay, and as many as a search may
    have if they do and it would have one by `one_thread` or `in_one_thread`."""
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
    """The libraries of matrix products that are loaded."""
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return tuple(ThreadpoolController().select(user_api="blas").lib_controllers)

"""Reads by polars without what its threads print.

A thread of polars that comes to its end prints its stack to file descriptor 2, beside the exception that reaches us.
"""

import errno
import os
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager


def without_stacks() -> AbstractContextManager[None]:
    """Inside, what is written to file descriptor 2 is dropped; Python's own messages of other threads are, too."""
    return _STDERR.away()


class _Stderr:
    """File descriptor 2, which several readers may turn away at once: the first does it, the last turns it back."""

    def __init__(self) -> None:
        self.lock, self.readers, self.kept = threading.Lock(), 0, -1

    @contextmanager
    def away(self) -> Iterator[None]:
        with self.lock:
            if self.readers == 0:
                self.kept = _turned_away()
            self.readers += 1
        try:
            yield
        finally:
            with self.lock:
                self.readers -= 1
                if self.readers == 0 and self.kept >= 0:
                    os.dup2(self.kept, 2)
                    os.close(self.kept)


_STDERR = _Stderr()


def _turned_away() -> int:
    """A copy of descriptor 2, which then leads nowhere; -1 if it is closed.

    Raises OSError if there are too few descriptors: over that polars would come to its end, too.
    """
    try:
        kept = os.dup(2)
    except OSError as problem:
        if problem.errno == errno.EBADF:
            return -1
        raise
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 2)
        os.close(nowhere)
    except OSError:
        os.close(kept)
        raise
    return kept

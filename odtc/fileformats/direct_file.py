"""Large files past the system's cache, in pieces that a thread writes while the next one is made.

To copy a gigabyte into the cache costs the system more than to make it (docs/performance.md). So the pieces of a large
file go straight to the disk if the system and the file system can do that, and if the disk keeps up; else into the
cache as before. The bytes of the file do not depend on the way.
"""

import errno
import mmap
import os
import stat
import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, BinaryIO

from odtc.base import system
from odtc.base.byte_stream import Closed

PIECE_BYTES = 1 << 21  # bytes written at once, a multiple of all sizes of blocks; memory for two of them is held
CACHED_BYTES = 1 << 24  # bytes of a file that go to the cache as ever
SLOW_BYTES_PER_SECOND = 100e6  # bytes a second: a disk that takes less is left to the cache
JUDGED_PIECES = 8  # pieces before a disk is judged


class DirectFile(Closed):
    """A stream that writes to a new file; `close` writes the rest. Errors of writing are OSErrors of a later `write`,
    or of `close`."""

    def __init__(self, stream: BinaryIO) -> None:
        self._handle = stream.fileno()
        self._filling = memoryview(mmap.mmap(-1, PIECE_BYTES))
        self._spare: memoryview | None = None
        self._filled, self._written = 0, 0
        self._waiting: Future[None] | None = None
        self._pool: ThreadPoolExecutor | None = None
        # Only a regular file: a pipe that is written to in this way keeps its pieces apart.
        self._direct, self._may = False, stat.S_ISREG(os.fstat(self._handle).st_mode)
        self._pieces, self._seconds = 0, 0.0

    def write(self, data: Any) -> int:
        """Take bytes, or a contiguous array."""
        view = memoryview(data).cast("B") if memoryview(data).nbytes else memoryview(b"")
        at = 0
        while at < len(view):
            taken = min(len(view) - at, PIECE_BYTES - self._filled)
            self._filling[self._filled : self._filled + taken] = view[at : at + taken]
            at, self._filled = at + taken, self._filled + taken
            if self._filled == PIECE_BYTES:
                self._send()
        return len(view)

    def close(self) -> None:
        """Write the last piece, which is not a multiple of a block, through the cache."""
        try:
            self._wait()
            self._turn(False)
            self._put(self._filling[: self._filled])
            self._filled = 0
        finally:
            self._end()

    def _send(self) -> None:
        """Hand the full piece to the thread, and take the other one to be filled."""
        full, size = self._filling, self._filled
        self._wait()
        self._filled = 0
        if self._written < CACHED_BYTES:
            self._put(full[:size])
            return
        # Memory in large pages is taken in place of the first piece: a small file would pay for all of it.
        self._filling = self._spare or system.memory_in_large_pages(PIECE_BYTES)
        if self._pool is None:
            self._pool = ThreadPoolExecutor(1)
            self._turn(True)
        else:
            self._spare = full
        self._waiting = self._pool.submit(self._judged, full[:size])

    def _wait(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting.result()

    def _judged(self, piece: memoryview) -> None:
        """Write a piece; if the disk does not keep up, later pieces go through the cache."""
        began = time.monotonic()
        self._put(piece)
        if self._direct:
            self._pieces, self._seconds = self._pieces + 1, self._seconds + time.monotonic() - began
            if self._pieces >= JUDGED_PIECES and self._seconds * SLOW_BYTES_PER_SECOND > self._pieces * PIECE_BYTES:
                self._turn(False)

    def _put(self, piece: memoryview) -> None:
        while len(piece):
            try:
                written = os.write(self._handle, piece)
            except OSError as problem:
                if not self._direct or problem.errno != errno.EINVAL:
                    raise
                written = 0
                self._turn(False)  # a file system that opens such files, but does not write to them
            piece, self._written = piece[written:], self._written + written
            if written % mmap.PAGESIZE:
                self._turn(False)

    def _turn(self, direct: bool) -> None:
        """Past the cache, or into it; once turned back it stays so."""
        if direct != self._direct and (self._may or not direct):
            self._direct = system.past_the_cache(self._handle, direct)
            self._may = self._may and direct

    def _end(self) -> None:
        if self._pool is not None:
            self._pool.shutdown()
        self._pool = None

"""Streams that writers of files write to: a file, a compressed file, or a stream that hashes or compares.

Gzip is written by members: the bytes are cut into pieces of one size, which threads pack side by side, each as a whole
member. Every reader of gzip takes several members for one content. isal packs them, some ten times as quickly as zlib.
"""

import zlib
from abc import ABC, abstractmethod
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Protocol, Self


class ByteStream(Protocol):
    """Takes bytes, or a contiguous array of them."""

    def write(self, data: Any, /) -> object:
        """Take the next piece."""
        ...


class Closed(ABC):
    """A stream whose last bytes are written when a `with` block ends well, and dropped if it does not."""

    @abstractmethod
    def close(self) -> None:
        """Write the rest, and end."""

    @abstractmethod
    def _end(self) -> None:
        """End the helpers that work in parallel."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type | None, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self._end()


MEMBER = 1 << 22  # bytes of a piece
THREADS = 2  # beyond them the writing of the file bounds the speed
AHEAD = 4  # members that wait at most


class ParallelGzip(Closed):
    """A stream that compresses everything written to it into another stream; `close` writes the last member."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream, self._pending, self._waiting = stream, bytearray(), deque[Future[bytes]]()
        self._pool: ThreadPoolExecutor | None = None
        self._written = False

    def write(self, data: Any) -> int:
        """Take bytes, or a contiguous array."""
        view = memoryview(data).cast("B")
        self._pending += view
        while len(self._pending) >= MEMBER:
            self._send(bytes(memoryview(self._pending)[:MEMBER]))
            del self._pending[:MEMBER]
        return len(view)

    def close(self) -> None:
        """Write the rest; a stream without a byte becomes one empty member."""
        if self._pending or not self._written:
            self._send(bytes(self._pending))
            self._pending.clear()
        try:
            while self._waiting:
                self._stream.write(self._waiting.popleft().result())
        finally:
            self._end()

    def _send(self, piece: bytes) -> None:
        self._written = True
        self._pool = self._pool or ThreadPoolExecutor(THREADS)
        self._waiting.append(self._pool.submit(packed, piece))
        if len(self._waiting) > AHEAD:
            self._stream.write(self._waiting.popleft().result())

    def _end(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)


def packed(piece: bytes) -> bytes:
    """Return a piece as one member of gzip, without a name and a time: the same bytes each time."""
    from isal import isal_zlib  # only files with this ending need it

    packing = isal_zlib.compressobj(1, zlib.DEFLATED, 31)
    whole: bytes = packing.compress(piece) + packing.flush()
    return whole

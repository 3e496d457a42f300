"""Streams that writers of files write to: a file, a compressed file, or a stream that hashes or compares."""

from abc import ABC, abstractmethod
from typing import Any, Protocol, Self


class ByteStream(Protocol):
    """Takes bytes, or a contiguous array of them."""

    def write(self, data: Any, /) -> object:
        """Takes the next piece."""
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

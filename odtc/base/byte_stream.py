"""What writers of files write to: a file, a compressed one, or a stream that hashes or compares."""

from typing import Any, Protocol


class ByteStream(Protocol):
    """Takes bytes, or a contiguous array of them."""

    def write(self, data: Any, /) -> object:
        """Takes the next piece."""
        ...

"""Bytes packed as text for JSON (zlib at level 6, then base64), and packed bytes, which are unpacked piece by piece and
no further than a file of their kind can be."""

import base64
import gzip
import io
import zlib

from odtc.base.memory import require_memory

GZIP = b"\x1f\x8b"  # the first bytes of gzip data
PIECE_BYTES = 1 << 20  # bytes that are unpacked at once
SMALL = 1 << 26  # bytes that any packed file may hold
RATIO = 250  # times its size that a larger one may hold: aligned model files pack to about a fiftieth


class TooLargeError(ValueError):
    """Error for packed bytes that contain more than any file of text does; the message states the sizes."""

    @classmethod
    def of(cls, packed: int, most: int | None = None) -> "TooLargeError":
        """Return the error for packed bytes that contain more than `most`, by default the limit of a file."""
        return cls(
            f"its {packed:,} bytes hold more than {most or most_unpacked(packed):,}, which no text does; unpack it, if "
            "it is meant"
        )


def most_unpacked(packed: int) -> int:
    """Return the number of bytes that this many packed bytes may contain."""
    return max(SMALL, RATIO * packed)


def unpacked(data: bytes) -> bytes:
    """Return the content of gzip data, and any other data as it is. Raises the exceptions of `gunzip`."""
    return gunzip(data) if data.startswith(GZIP) else data


def gunzip(data: bytes) -> bytes:
    """Return the content of gzip data of one or more members.

    Raises
    ------
    EOFError
        If the data end too early.
    zlib.error
        If they are damaged.
    TooLargeError
        If they contain more than `SMALL` bytes and more than `RATIO` times their own size, which no model, solution or
        data file does; the rest is not unpacked.
    """
    most, parts, size = most_unpacked(len(data)), [], 0
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
            while part := stream.read(PIECE_BYTES):
                parts.append(part)
                size += len(part)
                if size > most:
                    raise TooLargeError.of(len(data))
    except gzip.BadGzipFile as problem:
        raise zlib.error(str(problem)) from None
    return b"".join(parts)


LEAST = 1 << 20  # bytes that any packed text may hold
HIGHEST = 1032  # bytes that one byte of zlib can hold at most


def pack(data: bytes) -> str:
    """Return the text that holds these bytes."""
    return base64.b64encode(zlib.compress(data, 6)).decode("ascii")


def unpack(text: str, most: int) -> bytes:
    """Return the bytes that `pack` packed.

    Nothing is unpacked beyond `most` bytes, and nothing at all if neither that many bytes nor the most that the text
    can contain fit into half of the free memory.

    Raises
    ------
    ValueError
        If the text is not base64 (binascii.Error), ends too early, or holds more than `most` bytes (TooLargeError).
    zlib.error
        If the bytes are not of zlib.
    ModelError
        Without the memory.
    """
    packed = base64.b64decode(text)
    require_memory(2 * min(most, HIGHEST * len(packed)), "a packed part of the file", "is it a file of odtc?")
    rest = zlib.decompressobj()
    data = rest.decompress(packed, most + 1)
    if len(data) > most:
        raise TooLargeError.of(len(packed), most)
    if not rest.eof:
        raise ValueError("the packed bytes end too early")
    return data


def unpack_text(text: str) -> bytes:
    """Return the bytes of a text that was packed, such as JSON: at most `LEAST`, or `RATIO` times its size."""
    return unpack(text, max(LEAST, RATIO * (len(text) // 4 * 3)))

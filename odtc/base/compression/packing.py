"""Bytes packed as text for JSON: zlib at level 6, then base64. The same bytes give the same text."""

import base64
import zlib

from odtc.base.compression.unpack import RATIO, TooLargeError
from odtc.base.memory import require_memory

LEAST = 1 << 20  # bytes that any packed text may hold
HIGHEST = 1032  # bytes that one byte of zlib can hold at most


def pack(data: bytes) -> str:
    """The text that holds these bytes."""
    return base64.b64encode(zlib.compress(data, 6)).decode("ascii")


def unpack(text: str, most: int) -> bytes:
    """Return the bytes that `pack` packed.

    Nothing is unpacked beyond `most` bytes, and nothing at all if so many, or as many as the text can hold, do not fit
    into half of the free memory.

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

"""Bytes packed as text for JSON: zlib at level 6, then base64. The same bytes give the same text."""

import base64
import zlib

from odtc.base.compression.unpack import RATIO, TooLargeError

LEAST = 1 << 20  # bytes that any packed text may hold


def pack(data: bytes) -> str:
    """The text that holds these bytes."""
    return base64.b64encode(zlib.compress(data, 6)).decode("ascii")


def unpack(text: str, most: int | None = None) -> bytes:
    """The bytes that `pack` packed; of more than `most` bytes the first `most`.

    Raises
    ------
    ValueError
        If the text is not base64 (binascii.Error).
    zlib.error
        If the bytes are not of zlib.
    """
    packed = base64.b64decode(text)
    return zlib.decompress(packed) if most is None else zlib.decompressobj().decompress(packed, most)


def unpack_text(text: str) -> bytes:
    """The bytes of a text that was packed, as of JSON: at most `LEAST`, or `RATIO` times the size of what holds it.

    Raises
    ------
    ValueError
        As `unpack`, for bytes that end too early, and if they hold more (TooLargeError).
    zlib.error
        If the bytes are not of zlib.
    """
    packed = base64.b64decode(text)
    most, rest = max(LEAST, RATIO * len(packed)), zlib.decompressobj()
    data = rest.decompress(packed, most + 1)
    if len(data) > most:
        raise TooLargeError.of(len(packed), most)
    if not rest.eof:
        raise ValueError("the packed bytes end too early")
    return data

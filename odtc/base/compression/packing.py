"""Bytes packed as text for JSON: zlib at level 6, then base64. The same bytes give the same text."""

import base64
import zlib


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

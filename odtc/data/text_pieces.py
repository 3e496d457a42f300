"""A text file of any size in pieces, unpacked and decoded as it is read."""

import codecs
import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path

from odtc.base.compression.unpack import TooLargeError, most_unpacked
from odtc.errors import DataError


def text_pieces(path, size: int) -> Iterator[str]:
    """The text of a file, plain or .gz, in pieces of about `size` bytes, without a byte order mark.

    Raises
    ------
    DataError
        For broken gzip and for text that is not UTF-8.
    """
    path, done, lines = Path(path), 0, 0
    packed = path.stat().st_size if path.name.lower().endswith(".gz") else 0
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    with gzip.open(path, "rb") if packed else path.open("rb") as stream:
        while True:
            try:
                data = stream.read(size)
            except (EOFError, zlib.error, gzip.BadGzipFile) as problem:
                raise DataError(f"expected whole gzip data in {str(path)!r}, got broken data ({problem})") from None
            pending = decoder.getstate()[0]
            try:
                text = decoder.decode(data, final=not data)
            except UnicodeDecodeError as problem:
                place = done - len(pending) + problem.start
                line = lines + problem.object.count(b"\n", 0, problem.start) + 1
                raise not_utf8(path, problem.object[problem.start], line, place) from None
            done, lines = done + len(data), lines + data.count(b"\n")
            if packed and done > most_unpacked(packed):
                raise DataError(f"expected packed data in {str(path)!r}, but {TooLargeError.of(packed)}")
            if text:
                yield text
            if not data:
                return


def not_utf8(path, byte: int, line: int, place: int) -> DataError:
    """The error of a byte that is no UTF-8; `place` counts the bytes before it."""
    return DataError(
        f"expected UTF-8 text in {str(path)!r}, got the byte 0x{byte:02x} in line {line}, "
        f"byte {place + 1} of the file; save it as UTF-8"
    )

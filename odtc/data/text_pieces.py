"""A text file of any size in pieces, unpacked and decoded as it is read."""

import codecs
import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from odtc.base.compression.unpack import TooLargeError, most_unpacked
from odtc.errors import DataError


def text_pieces(path, size: int) -> Iterator[bytes]:
    """The text of a file, plain or .gz, in pieces of about `size` bytes of whole signs, without a byte order mark.

    Raises
    ------
    DataError
        For broken gzip and for text that is not UTF-8.
    """
    path, done = Path(path), 0
    packed = path.stat().st_size if path.name.lower().endswith(".gz") else 0
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    with _opened(path, packed) as stream:
        while True:
            try:
                data = stream.read(size)
            except (EOFError, zlib.error, gzip.BadGzipFile) as problem:
                raise DataError(f"expected whole gzip data in {str(path)!r}, got broken data ({problem})") from None
            pending = decoder.getstate()[0]
            if done and not pending and data.isascii():  # it is its own text, which need not be decoded
                text = data
            else:
                try:
                    text = decoder.decode(data, final=not data).encode()
                except UnicodeDecodeError as problem:
                    # What the decoder was at: what was pending and this piece, but for a mark that it left out.
                    place = done + len(data) - len(problem.object) + problem.start
                    line = _lines_before(path, packed, place) + 1
                    raise not_utf8(path, problem.object[problem.start], line, place) from None
            done += len(data)
            if packed and done > most_unpacked(packed):
                raise DataError(f"expected packed data in {str(path)!r}, but {TooLargeError.of(packed)}")
            if text:
                yield text
            if not data:
                return


def _opened(path: Path, packed: int) -> IO[bytes]:
    return gzip.open(path, "rb") if packed else path.open("rb")


def _lines_before(path: Path, packed: int, place: int) -> int:
    """The line ends in the first bytes of a file."""
    found = 0
    with _opened(path, packed) as stream:
        while place > 0 and (data := stream.read(min(place, 1 << 20))):
            found, place = found + data.count(b"\n"), place - len(data)
    return found


def not_utf8(path, byte: int, line: int, place: int) -> DataError:
    """The error of a byte that is no UTF-8; `place` counts the bytes before it."""
    return DataError(
        f"expected UTF-8 text in {str(path)!r}, got the byte 0x{byte:02x} in line {line}, "
        f"byte {place + 1} of the file; save it as UTF-8"
    )

"""A text file of any size in pieces, unpacked and decoded as it is read."""

import codecs
import gzip
import shlex
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from odtc.base.compression.unpack import TooLargeError, most_unpacked
from odtc.errors import DataError

WINDOWS = "CP1252"  # text without a mark that is no UTF-8 is most often this one, of which Latin-1 is nearly a part


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


def _opened(path: Path, packed: int | bool) -> IO[bytes]:
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
        f"expected UTF-8 text in {str(path)!r}, got the byte 0x{byte:02x} in line {line}, byte {place + 1} of the "
        f"file; {save_as_utf8(path)}"
    )


def save_as_utf8(path) -> str:
    """What to do with a file of text in another encoding, in words: a command that writes it anew.

    Parameters
    ----------
    path : path, of a text file, plain or .gz

    Returns
    -------
    str
    """
    name, packed = shlex.quote(str(path)), str(path).lower().endswith(".gz")
    encoding = _guessed(Path(path), packed)
    convert = f"gzip -dc {name} | iconv -f {encoding} -t UTF-8" if packed else f"iconv -f {encoding} -t UTF-8 {name}"
    suffix = Path(str(path)[:-3] if packed else path).suffix
    said = "text of Windows or Latin-1" if encoding == WINDOWS else "UTF-16"
    return f"save it as UTF-8 (`{convert} > NEW{suffix}`, if it is {said})"


def _guessed(path: Path, packed: bool) -> str:
    """The encoding that text which is no UTF-8 seems to have, by its first bytes."""
    with _opened(path, packed) as stream:
        head = stream.read(4096)
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "UTF-16"
    first, second = head[::2].count(0), head[1::2].count(0)
    if not first and not second:
        return WINDOWS
    return "UTF-16BE" if first > second else "UTF-16LE"

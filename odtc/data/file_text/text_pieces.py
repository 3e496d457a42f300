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

UTF_8, UTF_16 = "utf-8-sig", "utf-16"  # both without their mark
WINDOWS = "CP1252"  # text without a mark that is no UTF-8 is most often this one, of which Latin-1 is nearly a part


def text_pieces(path, size: int) -> Iterator[bytes]:
    """The text of a file, plain or .gz, in pieces of about `size` bytes of whole signs, without a byte order mark.

    Raises
    ------
    DataError
        For broken gzip and for text that is neither UTF-8 nor UTF-16 with a byte order mark.
    """
    path, done, decoder = Path(path), 0, None
    packed = path.stat().st_size if path.name.lower().endswith(".gz") else 0
    with _opened(path, packed) as stream:
        while True:
            try:
                data = stream.read(size)
            except (EOFError, zlib.error, gzip.BadGzipFile) as problem:
                raise DataError(f"expected whole gzip data in {str(path)!r}, got broken data ({problem})") from None
            if decoder is None:
                encoding = encoding_of(data)
                decoder = codecs.getincrementaldecoder(encoding)()
            pending = decoder.getstate()[0]
            # Text of ASCII alone is its own UTF-8, which need not be decoded.
            if encoding == UTF_8 and done and not pending and data.isascii():
                text = data
            else:
                try:
                    text = decoder.decode(data, final=not data).encode()
                except UnicodeDecodeError as problem:
                    # What the decoder was at: what was pending and this piece, but for a mark that it left out.
                    place = done + len(data) - len(problem.object) + problem.start
                    line = _lines_before(path, packed, place) + 1
                    raise not_text(path, encoding, problem, line, place) from None
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


def encoding_of(head: bytes) -> str:
    """The encoding of a text whose first bytes are `head`, as Python names it: UTF-16 by its mark, else UTF-8."""
    return UTF_16 if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else UTF_8


def not_text(path, encoding: str, problem: UnicodeDecodeError, line: int, place: int) -> DataError:
    """The error of bytes that are no text in the encoding of the file, which `encoding_of` gave.

    Parameters
    ----------
    path : path
    encoding : str
    problem : UnicodeDecodeError
    line : int
        Line of the fault, from 1; not told of UTF-16, where a byte of a line end may be a part of another sign.
    place : int
        Bytes of the text before the fault.

    Returns
    -------
    DataError
    """
    if encoding == UTF_16:
        return DataError(
            f"expected whole UTF-16 text in {str(path)!r}, as its byte order mark says, got {problem.reason!r} behind "
            f"byte {place} of the file; save it again, in Excel as 'CSV UTF-8'"
        )
    byte = problem.object[problem.start]
    return DataError(
        f"expected UTF-8 text in {str(path)!r}, got the byte 0x{byte:02x} in line {line}, byte {place + 1} of the "
        f"file; {save_as_utf8(path)}"
    )


def save_as_utf8(path) -> str:
    """What to do with a file of text in another encoding, in words: how Excel saves it, or a command.

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
    return f"save it as UTF-8, in Excel as 'CSV UTF-8', elsewhere by `{convert} > NEW{suffix}` if it is {said}"


def _guessed(path: Path, packed: bool) -> str:
    """The encoding that text which is no UTF-8 seems to have, by its first bytes."""
    with _opened(path, packed) as stream:
        head = stream.read(4096)
    first, second = head[::2].count(0), head[1::2].count(0)
    if not first and not second:
        return WINDOWS
    return "UTF-16BE" if first > second else "UTF-16LE"

"""Text files that may be packed: whole, or in pieces that are unpacked and decoded as they are read."""

import codecs
import gzip
import re
import shlex
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from odtc.base.wording import option
from odtc.errors import DataError

UTF_8, UTF_16 = "utf-8-sig", "utf-16"  # both without their mark
GZIP = b"\x1f\x8b"  # the first bytes of gzip data, as in odtc.base.compression, which few tables need
WHOLE = 1 << 20  # bytes of the pieces of a text that is read whole
WINDOWS = "cp1252"  # the most frequent encoding without a mark that is not UTF-8; Latin-1 is nearly a part of it

CYRILLIC = re.compile(rb"[\xc0-\xff]{3,}")  # letters of words in cp1251, which few words of Latin-1 have in a row

SAID = {
    WINDOWS: "Latin-1",
    "cp1251": "Cyrillic",
    "cp850": "text of DOS",
    "utf-16-le": "UTF-16",
    "utf-16-be": "UTF-16",
}


def text_pieces(path, size: int, text_encoding: str | None = None, has_option: bool = True) -> Iterator[bytes]:
    """Yield the text of a file, plain or packed by gzip, as UTF-8 in pieces of about `size` bytes of whole characters,
    without a byte order mark; `has_option` as of `read_text`.

    Raises
    ------
    DataError
        For broken gzip and for text that is not in the encoding, by default UTF-8, or UTF-16 with a byte order mark.
    """
    path, done, decoder = Path(path), 0, None
    packed = path.stat().st_size if is_packed(path) else 0
    with _opened(path, packed) as stream:
        while True:
            try:
                data = stream.read(size)
            except (EOFError, zlib.error, gzip.BadGzipFile) as problem:
                raise DataError(
                    f"expected whole gzip data in {str(path)!r}, got broken data ({problem}); write or download it "
                    "again, or, if it is not packed, rename it without .gz"
                ) from None
            if decoder is None:
                encoding = open_encoding(data, text_encoding)
                decoder = codecs.getincrementaldecoder(encoding)()
            pending = decoder.getstate()[0]
            # Text in ASCII is its own UTF-8 and need not be decoded.
            if encoding == UTF_8 and done and not pending and data.isascii():
                text = data
            else:
                try:
                    text = decoder.decode(data, final=not data).removeprefix("" if done else "\ufeff").encode()
                except UnicodeDecodeError as problem:
                    # The input of the decoder: the pending bytes and this piece, except for a mark that it left out.
                    place = done + len(data) - len(problem.object) + problem.start
                    line = _lines_before(path, packed, place) + 1
                    raise not_text(path, encoding, problem, line, place, has_option) from None
            done += len(data)
            if packed:
                _expect_unpacked(path, packed, done)
            if text:
                yield text
            if not data:
                return


def _expect_unpacked(path, packed: int, unpacked: int) -> None:
    """Raise DataError for packed data that becomes too many bytes."""
    from odtc.base.compression import TooLargeError, most_unpacked

    if unpacked > most_unpacked(packed):
        raise DataError(f"expected packed data in {str(path)!r}, but {TooLargeError.of(packed)}")


def read_text(path, text_encoding: str | None = None, has_option: bool = True) -> str:
    """Return the text of a file, unzipped if it is packed by gzip, without a byte order mark.

    Parameters
    ----------
    path : path
    text_encoding : str or None
        UTF-8 by default, or UTF-16 if the file has its byte order mark.
    has_option : bool
        Whether the encoding of this file can be set by an option, which messages then name.

    Returns
    -------
    str

    Raises
    ------
    DataError
        For broken gzip, an empty file, and text that is not in the encoding.
    OSError
        If the file cannot be read.
    """
    text = b"".join(text_pieces(path, WHOLE, text_encoding, has_option)).decode()
    if not text.strip():
        raise DataError(f"expected a header and rows of data in {str(path)!r}, got an empty file; is it the right one?")
    return text


def _opened(path: Path, packed: int | bool) -> IO[bytes]:
    return gzip.open(path, "rb") if packed else path.open("rb")


def _lines_before(path: Path, packed: int, place: int) -> int:
    """Return the line ends in the first bytes of a file."""
    found = 0
    with _opened(path, packed) as stream:
        while place > 0 and (data := stream.read(min(place, 1 << 20))):
            found, place = found + data.count(b"\n"), place - len(data)
    return found


def is_packed(path: str | Path) -> bool:
    """Return True for a file that is packed by gzip, by its name or its first bytes."""
    if str(path).lower().endswith(".gz"):
        return True
    with open(path, "rb") as stream:
        return stream.read(len(GZIP)) == GZIP


def head_of(path: Path, size: int = 1 << 12) -> bytes:
    """Return the first bytes of a file, unpacked if it is packed; none if it cannot be unpacked."""
    try:
        with _opened(path, is_packed(path)) as stream:
            return stream.read(size)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        return b""


def open_encoding(head: bytes, text_encoding: str | None) -> str:
    """Return the encoding to read a text with, as Python names it: the given one, else by its first bytes."""
    if text_encoding is None:
        return encoding_of(head)
    return UTF_8 if codecs.lookup(text_encoding).name == "utf-8" else text_encoding


def encoding_of(head: bytes) -> str:
    """Return the encoding of a text whose first bytes are `head`, as Python names it: UTF-16 by its mark, otherwise
    UTF-8."""
    return UTF_16 if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else UTF_8


def not_text(
    path, encoding: str, problem: UnicodeDecodeError, line: int, place: int, has_option: bool = True
) -> DataError:
    """Return the error for bytes that are not text in the encoding of the file, as returned by `encoding_of`.

    Parameters
    ----------
    path : path
    encoding : str
    problem : UnicodeDecodeError
    line : int
        Line of the error, from 1; not reported for UTF-16, where a byte of a line end may be a part of another sign.
    place : int
        Bytes of the text before the error.
    has_option : bool
        False if no option names the encoding of this file.

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
    likely = likely_encoding(Path(path)) if encoding == UTF_8 and has_option else None
    advice = f"; read it with {option('text_encoding', likely)} if it is {SAID[likely]}, or " if likely else "; "
    wanted = "UTF-8" if encoding == UTF_8 else encoding
    return DataError(
        f"expected {wanted} text in {str(path)!r}, got the byte 0x{byte:02x} in line {line}, byte {place + 1} of the "
        f"file{advice}{save_as_utf8(path)}"
    )


def save_as_utf8(path) -> str:
    """Return advice on a file of text in another encoding: how Excel saves it, or a command.

    Parameters
    ----------
    path : path, of a text file, plain or packed

    Returns
    -------
    str
    """
    name, packed = shlex.quote(str(path)), is_packed(path)
    encoding = (likely_encoding(Path(path)) or WINDOWS).upper().replace("UTF-16-", "UTF-16")
    convert = f"gzip -dc {name} | iconv -f {encoding} -t UTF-8" if packed else f"iconv -f {encoding} -t UTF-8 {name}"
    suffix = Path(str(path)[:-3] if str(path).lower().endswith(".gz") else path).suffix
    return f"save it as UTF-8, in Excel as 'CSV UTF-8', elsewhere by `{convert} > NEW{suffix}`"


def likely_encoding(path: Path) -> str | None:
    """Return the encoding that text which is not UTF-8 seems to have; None if it is none of SAID."""
    packed = is_packed(path)
    with _opened(path, packed) as stream:
        head = stream.read(4096)
    first, second = head[::2].count(0), head[1::2].count(0)
    likely = ["utf-16-be" if first > second else "utf-16-le"] if first or second else [WINDOWS, "cp850"]
    if 2 * sum(map(len, CYRILLIC.findall(head))) > sum(byte > 0x7F for byte in head):
        likely = ["cp1251", *likely]
    return next((name for name in likely if _decodes(path, packed, name)), None)


def first_in_utf8(path: Path) -> str | None:
    """Return the first word of a file in UTF-8, plain or packed, with a sign that is not in ASCII; None if it has no
    such word or is another file."""
    packed, first = is_packed(path), None
    try:
        with _opened(path, packed) as stream:
            for line in stream:
                text = line.decode().removeprefix("\ufeff")
                if "\0" in text:
                    return None
                if first is None and not text.isascii():
                    first = next(word for word in re.split(r"[\s,;|:]", text) if not word.isascii())
    except (UnicodeDecodeError, EOFError, zlib.error, gzip.BadGzipFile):
        return None
    return first


def _decodes(path: Path, packed: bool, encoding: str) -> bool:
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        with _opened(path, packed) as stream:
            while data := stream.read(1 << 20):
                decoder.decode(data)
        decoder.decode(b"", final=True)
        return True
    except (UnicodeDecodeError, EOFError, zlib.error, gzip.BadGzipFile):
        return False

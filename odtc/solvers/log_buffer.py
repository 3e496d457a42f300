"""Output of a running program, kept in bounded memory and in files of bounded size, whatever its length."""

from pathlib import Path
from typing import BinaryIO

PIECE = 1 << 16  # bytes; a longer line is heard in pieces
TALK = 4 << 20  # characters that are kept of a log, of its beginning and of its end each
SHEET = 1 << 30  # bytes that are kept of an output that is the solution itself


class Tail:
    """The last TALK characters of a text that grows, and at most as many before them."""

    def __init__(self) -> None:
        self.size = 0
        self._old: list[str] = []
        self._new: list[str] = []

    def add(self, text: str) -> None:
        if self.size // TALK != (self.size + len(text)) // TALK:  # the end is within these two
            self._old, self._new = self._new, []
        self.size += len(text)
        self._new.append(text)

    def text(self) -> str:
        return "".join([*self._old, *self._new])


class LogFile:
    """A log in a file that is followed while it grows: the first TALK characters as they come, and at the end the last
    ones; between them a line says how many there were.

    Parameters
    ----------
    stream : binary stream
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream, self._size, self._tail = stream, 0, Tail()

    def add(self, text: str) -> None:
        if self._size >= TALK:
            self._tail.add(text)
            return
        self._size += len(text)
        self._stream.write(text.encode("utf-8"))
        self._stream.flush()  # a reader of the log sees the current output

    def end(self) -> None:
        """Write the text that was held back."""
        kept = self._tail.text()
        if left_out := self._tail.size - len(kept):
            self._stream.write(f"\n[odtc: {left_out:,} characters of this log are left out here]\n".encode())
        self._stream.write(kept.encode("utf-8"))


class Transcript:
    """Output of one run. If `path` is given, the output is the solution and goes to that file completely.

    Otherwise only its first and last TALK characters are kept: the end of a log reports the outcome, its beginning the
    start.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self._stream = path.open("wb") if path is not None else None
        self._size = 0
        self._head: list[str] = []
        self._tail = Tail()

    def add(self, text: str) -> None:
        begun, self._size = self._size, self._size + len(text)
        if self._stream is not None:
            if self._size <= SHEET:
                self._stream.write(text.encode("utf-8"))
        elif begun < TALK:
            self._head.append(text)
        else:
            self._tail.add(text)

    def text(self) -> str:
        """Return the kept text."""
        if self._stream is None or self.path is None:
            return "".join([*self._head, self._tail.text()])
        self._stream.flush()
        return self.path.read_text(encoding="utf-8")

    def __enter__(self) -> "Transcript":
        return self

    def __exit__(self, *_: object) -> None:
        if self._stream is not None:
            self._stream.close()

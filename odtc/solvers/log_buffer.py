"""Keep the output of a running program, of any length, in bounded memory and in files of bounded size."""

from pathlib import Path
from typing import BinaryIO

PIECE_BYTES = 1 << 16  # bytes; a longer line is read in pieces
TALK = 4 << 20  # characters that are kept of the beginning and of the end of a log
SHEET = 1 << 30  # bytes that are kept of an output that is the solution itself


class Tail:
    """The last TALK characters of a text that grows, and at most as many before them."""

    def __init__(self) -> None:
        self.size = 0
        self._old: list[str] = []
        self._new: list[str] = []

    def add(self, text: str) -> None:
        if self.size // TALK != (self.size + len(text)) // TALK:  # the last TALK characters are in these two pieces
            self._old, self._new = self._new, []
        self.size += len(text)
        self._new.append(text)

    def text(self) -> str:
        return "".join([*self._old, *self._new])


class LogFile:
    """A log file that users may follow while it grows. The first TALK characters are written at once, the last TALK
    characters at the end; a line between them states how many were left out.

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
        """Write the last part, which was kept in memory."""
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

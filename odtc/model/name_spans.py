"""Words of a text as arrays of their start and end positions, without a Python string for each.

A solution file has millions of lines; making Python strings of them takes longer than the solver takes to read them.
"""

from collections.abc import Iterator, Sequence
from typing import NoReturn

import numpy as np

from odtc.base.value_class import value_class
from odtc.errors import SolutionError

CHUNK = 1 << 18  # words processed at once, so that their bytes stay in the cache

NEWLINE, BLANK, ZERO = ord("\n"), ord(" "), ord("0")
# The characters of a decimal number; Python's float accepts more ("1_0", digits of other scripts).
DECIMAL = np.zeros(256, bool)
DECIMAL[np.frombuffer(b"0123456789+-.eE\0", np.uint8)] = True
ENDLESS = {"inf": np.inf, "infinity": np.inf, "nan": np.nan}


@value_class
class Words:
    """Words of a text: `buffer` is uint8, the text; `starts` and `ends` are the positions of the words in it, int64
    of shape (words,)."""

    buffer: np.ndarray
    starts: np.ndarray
    ends: np.ndarray

    @classmethod
    def of(cls, texts: Sequence[str]) -> "Words":
        joined = "".join(texts)
        packed = texts if joined.isascii() else [text.encode("utf-8") for text in texts]
        lengths = np.fromiter(map(len, packed), np.int64, len(texts))
        ends = np.cumsum(lengths)
        return cls(np.frombuffer(joined.encode("utf-8"), np.uint8), ends - lengths, ends)

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, at: int) -> str:
        return bytes(self.buffer[self.starts[at] : self.ends[at]]).decode("utf-8", "replace")

    def __iter__(self) -> Iterator[str]:
        data = self.buffer.tobytes()
        for start, end in zip(self.starts.tolist(), self.ends.tolist()):
            yield data[start:end].decode("utf-8", "replace")

    def take(self, which: slice | np.ndarray) -> "Words":
        return Words(self.buffer, self.starts[which], self.ends[which])

    def line(self, at: int) -> int:
        """Return the number, from 1, of the line that contains a word."""
        return int(np.count_nonzero(self.buffer[: self.starts[at]] == NEWLINE)) + 1

    def numbers(self, what: str) -> np.ndarray:
        """Return each word as the nearest double, float64 of shape (words,).

        Raises SolutionError, with the line, for a word that is not a number.
        """
        values, rest = self._whole()
        lengths = self.ends - self.starts
        for begin in range(0, len(rest), CHUNK >> 3):
            part = rest[begin : begin + (CHUNK >> 3)]
            width = int(lengths[part].max())
            if width > 100:
                self._refuse(part[lengths[part].argmax()], what)
            cells = np.arange(width)
            table = self.buffer.take(self.starts[part][:, None] + cells, mode="clip")
            table[cells >= lengths[part][:, None]] = 0
            odd = ~DECIMAL[table].all(axis=1)
            for at in part[odd].tolist():
                word = self[at].lower()
                if word.lstrip("+-") not in ENDLESS or len(word) > 9:
                    self._refuse(at, what)
                values[at] = ENDLESS[word.lstrip("+-")] * (-1 if word[0] == "-" else 1)
            table, part = np.ascontiguousarray(table[~odd]), part[~odd]
            try:  # longer numbers: Python's float rounds them correctly
                values[part] = table.view(f"S{width}").ravel().astype(float)
            except ValueError:
                for at in part.tolist():
                    try:
                        float(self[at])
                    except ValueError:
                        self._refuse(at, what)
        return values

    def _whole(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (values, rest): the values of the words of up to 15 digits, which doubles represent exactly, and the
        positions of the other words."""
        lengths = self.ends - self.starts
        values, other = np.zeros(len(self)), (lengths == 0) | (lengths > 15)
        fitting, at = np.flatnonzero(~other), 0
        while len(fitting):
            digit = self.buffer[self.starts[fitting] + at] - np.uint8(ZERO)  # wraps around below 0
            good = digit < 10
            if not good.all():
                other[fitting[~good]] = True
                fitting, digit = fitting[good], digit[good]
            values[fitting] = values[fitting] * 10 + digit
            at += 1
            fitting = fitting[lengths[fitting] > at]
        return values, np.flatnonzero(other)

    def places(self, stem: str, axes: Sequence[tuple[int, int, int]], mark: str = "_") -> np.ndarray:
        """Return the position, in C order, of each name `<stem><mark><label><mark><label>...`, int64 (words,); -1 for
        a word that is not such a name. `axes` has (digits, first label, size) for each label."""
        width = len(stem) + sum(len(mark) + digits for digits, _, _ in axes)
        found = np.full(len(self), -1, np.int64)
        fitting = np.flatnonzero(self.ends - self.starts == width)
        if not len(fitting):
            return found
        windows = np.lib.stride_tricks.sliding_window_view(self.buffer, width)
        for begin in range(0, len(fitting), CHUNK):
            part = fitting[begin : begin + CHUNK]
            table = np.ascontiguousarray(windows[self.starts[part]].T)
            good = np.ones(len(part), bool)
            for at, letter in enumerate(stem.encode("ascii")):
                good &= table[at] == letter
            at, place = len(stem), np.zeros(len(part), np.int64)
            for digits, first, size in axes:
                for letter in mark.encode("ascii"):
                    good &= table[at] == letter
                    at += 1
                label = np.zeros(len(part), np.int64)
                for _ in range(digits):
                    digit = table[at] - np.uint8(ZERO)  # wraps around, so that one comparison is enough
                    good &= digit < 10
                    label = label * 10 + digit
                    at += 1
                good &= (label >= first) & (label < first + size)
                place = place * size + (label - first)
            found[part[good]] = place[good]
        return found

    def _refuse(self, at: int, what: str) -> NoReturn:
        word = self[at]
        raise SolutionError(
            f"expected a number as the value of each of {what}, got {word[:60]!r} in line {self.line(at)}; "
            "the file is damaged, write it again"
        )


def table(data: bytes, begin: int, end: int | None, width: int, what: str) -> list[Words]:
    """Return the columns of the text data[begin:end], in which each line that is not blank has `width` words.

    Raises SolutionError for the first line with another number of words, and for a last line without a line end,
    because a number that was cut off would still be read as a number.
    """
    words = split(data, begin, end)
    buffer, count = words.buffer, len(words)
    if count and data.find(b"\n", int(words.ends[-1]), len(data) if end is None else end) < 0:
        raise SolutionError(
            f"expected a line end behind the last line, got {words[count - 1][:60]!r} at the end; the file is cut off"
        )
    columns = [words.take(slice(at, None, width)) for at in range(width)]
    if count % width == 0 and _one_a_line(data, columns):
        return columns
    newlines = np.flatnonzero(buffer[begin:end] == NEWLINE) + begin
    line = np.searchsorted(newlines, words.starts)
    sizes = np.bincount(line)
    bad = np.flatnonzero((sizes != 0) & (sizes != width))
    if len(bad):
        at = int((line == bad[0]).argmax())
        text = " ".join(words[word] for word in range(at, min(at + sizes[bad[0]], at + 6)))
        raise SolutionError(
            f"expected {width} words on every line of {what}, got {text[:60]!r} in line {words.line(at)}; "
            "the file is cut off or damaged, write it again"
        )
    return columns


def split(data: bytes, begin: int = 0, end: int | None = None) -> Words:
    """Return all words of data[begin:end]; any byte up to the blank (32) separates them."""
    buffer = np.frombuffer(data, np.uint8)
    blank = buffer[begin:end] <= BLANK
    if not len(blank):
        return Words(buffer, np.zeros(0, np.int64), np.zeros(0, np.int64))
    edges = np.flatnonzero(blank[1:] != blank[:-1])
    edges += begin + 1
    if not blank[0]:
        edges = np.concatenate([[begin], edges])
    if not blank[-1]:
        edges = np.concatenate([edges, [begin + len(blank)]])
    return Words(buffer, edges[0::2], edges[1::2])


def _one_a_line(data: bytes, columns: list[Words]) -> bool:
    """Return whether each row of the table is exactly one line. This is the common case, and it is recognised without
    finding the line of every word."""
    last = columns[-1]
    if not len(last):
        return True
    lines = data.count(b"\n", int(columns[0].starts[0]), int(last.ends[-1]) + 1)
    return bool(lines == len(last) and (last.buffer[last.ends] == NEWLINE).all())

"""A model file's text as places in its bytes: all its numbers read at once, all its names found at once.

A word is (start, length); words are two arrays of these.
"""

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from odtc.errors import ModelError
from odtc.model.blocks import NamedBlock
from odtc.model.milp import Model

# Blanks to some readers and letters of a name to others.
CONTROL = bytes(code for code in (*range(32), 127) if code not in b"\t\n\r")
PAD = b"\n" * 16  # behind the text, so that a few bytes can be read at its last place
LONGEST = 4096  # bytes of a name or a number
CHUNK = 1 << 22  # bytes read at once: as much as stays in a cache
TOGETHER, WIDEST = 1 << 18, 64  # words that are laid out in one table, and its bytes for each
INFINITE = ("inf", "infinity")
NUMBER = re.compile(rb"[0-9+.eE-]+")
IN_NUMBER = np.zeros(256, bool)
IN_NUMBER[list(b"0123456789+-.eE")] = True

# The nonzeros of a file: columns, rows, values, and the places in the text; or rows first.
Entries = tuple[np.ndarray, ...]


class Text:
    """A file's bytes, also as `codes` (uint8)."""

    def __init__(self, data: bytes, name: str) -> None:
        if b"\0" in data:
            raise ModelError(f"{name}: expected text, got a file with zero bytes; it is damaged or no model file")
        if found := [place for code in CONTROL if (place := data.find(code)) >= 0]:
            line = data.count(b"\n", 0, min(found)) + 1
            raise ModelError(f"{name}, line {line}: expected text, got the control character {data[min(found)]}")
        self.size, self.name = len(data), name
        self.bytes = bytearray(data) + PAD
        self.codes = np.frombuffer(self.bytes, np.uint8)

    def word(self, start: int, length: int) -> str:
        return bytes(self.bytes[start : start + length]).decode("ascii", "backslashreplace")

    def word_at(self, start: int) -> str:
        """Return the word that begins here and ends before a blank."""
        return bytes(self.bytes[start : start + LONGEST]).split(None, 1)[0].decode("ascii", "backslashreplace")

    def words(self, starts: np.ndarray, lengths: np.ndarray) -> tuple[str, ...]:
        """Names as text. Raises ModelError for one that a model's tables of bytes cannot hold."""
        found = []
        for start, length in zip(starts.tolist(), lengths.tolist()):
            word = bytes(self.bytes[start : start + length])
            if not word.isascii():
                raise self.error(start, "expected a name of ASCII characters", self.word(start, length))
            found.append(word.decode("ascii"))
        return tuple(found)

    def texts(self, starts: np.ndarray, lengths: np.ndarray) -> Iterator[bytes]:
        """Yield words, of which at most LONGEST bytes matter."""
        for at in range(0, len(starts), TOGETHER):
            begin, size = starts[at : at + TOGETHER], lengths[at : at + TOGETHER]
            width = max(1, int(size.max()))
            if width > WIDEST:  # such a word is rare, and its table would be wide
                ends = begin + np.minimum(size, LONGEST + 1)
                yield from (bytes(self.bytes[b:e]) for b, e in zip(begin.tolist(), ends.tolist()))
                continue
            table = self.codes[np.minimum(begin[:, None] + np.arange(width), len(self.codes) - 1)]
            table[np.arange(width) >= size[:, None]] = 0
            yield from table.view(f"S{width}").ravel().tolist()

    def error(self, place: int, expected: str, came: str | None = None) -> ModelError:
        """Return the ModelError for a position in the text: its line, what was expected, what was found."""
        line = self.bytes.count(b"\n", 0, max(0, min(int(place), self.size))) + 1
        if came is not None and len(came) > 60:
            came = came[:57] + "..."
        return ModelError(f"{self.name}, line {line}: {expected}" + ("" if came is None else f", got {came!r}"))

    def equals(self, starts: np.ndarray, lengths: np.ndarray, word: bytes) -> np.ndarray:
        """Return whether each word is this word, which is in lower case, in upper or lower case: bool per word."""
        return np.fromiter((one.lower() == word for one in self.texts(starts, lengths)), bool, len(starts))

    def numbers(self, starts: np.ndarray, lengths: np.ndarray, infinite: bool = False) -> np.ndarray:
        """Return the words as decimal numbers, correctly rounded: float64 per word.

        [+-] digits [. digits] [e|E [+-] digits], as Python reads it; if `infinite`, also [+-] inf
        or infinity. Raises ModelError at the first word that is none, or too large for a double.
        """
        values, bad = self._numbers(starts, lengths, infinite)
        if bad is None and not infinite and not np.isfinite(values).all():
            bad = int(np.isfinite(values).argmin())
        if bad is not None:
            raise self.error(
                starts[bad],
                "expected a finite decimal number (1, -2.5, 3e-4)",
                self.word(starts[bad], int(lengths[bad])),
            )
        return values

    def _numbers(self, starts: np.ndarray, lengths: np.ndarray, infinite: bool) -> tuple[np.ndarray, int | None]:
        """Return (values, the first word that is not a number, or None)."""
        values = np.empty(len(starts))
        first = self.codes[starts]
        digit = self.codes[starts + lengths - 1] - np.uint8(ord("0"))  # most numbers are 1, -1 or another digit
        short = (digit < 10) & ((lengths == 1) | (lengths == 2) & (first == ord("-")))
        values[short] = np.where(lengths[short] == 1, 1.0, -1.0) * digit[short]
        rest = ~short
        if infinite:
            for place in np.flatnonzero(((first | 32) == ord("i")) | ((first < ord("0")) & rest)).tolist():
                word = self.word(starts[place], min(int(lengths[place]), 16)).lower()
                if word in INFINITE or (word[1:] in INFINITE and word[0] in "+-"):
                    values[place], rest[place] = -np.inf if word[0] == "-" else np.inf, False
        rest = np.flatnonzero(rest)
        for place, word in zip(rest.tolist(), self.texts(starts[rest], lengths[rest])):
            value = _number(word)
            if value is None:
                return values, place
            values[place] = value
        return values, None


class Names:
    """Distinct words of a text, in the order in which they first appear; `starts` and `lengths` are of the first
    one."""

    def __init__(self, text: Text) -> None:
        self.text = text
        self.starts = self.lengths = np.zeros(0, np.int64)
        self._places: dict[bytes, int] = {}

    def __len__(self) -> int:
        return len(self._places)

    def find(self, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """Return the place of each word among the names, int32; -1 if it is none."""
        words = self.text.texts(starts, lengths)
        return np.fromiter((self._places.get(word, -1) for word in words), np.int32, len(starts))

    def add(self, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """Do the same as `find`, with every unknown word made a name."""
        if len(starts) and lengths.max() > LONGEST:
            place = int(lengths.argmax())
            raise self.text.error(
                starts[place],
                f"expected a name of at most {LONGEST} characters",
                self.text.word(starts[place], int(lengths[place])),
            )
        known, places = len(self), self._places
        words = self.text.texts(starts, lengths)
        found = np.fromiter((places.setdefault(word, len(places)) for word in words), np.int32, len(starts))
        new = np.flatnonzero(found >= known)
        first = new[np.unique(found[new], return_index=True)[1]]
        self.starts = np.concatenate([self.starts, starts[first]])
        self.lengths = np.concatenate([self.lengths, lengths[first]])
        return found


def model_of(
    title: str,
    sign: float,
    objective: tuple[np.ndarray, float],
    sides: tuple[np.ndarray, np.ndarray],
    bounds: tuple[np.ndarray, np.ndarray, np.ndarray],
    columns: Names,
    blocks: tuple[NamedBlock, ...],
    matrix: Any,
) -> Model:
    """Return the model of a file.

    Parameters
    ----------
    title : str
    sign : float
        1, or -1 for a file that maximises.
    objective : float64 (columns,) and float
        The costs and the offset, as in the file.
    sides : float64 (rows,), lower and upper
    bounds : float64 (columns,), lower and upper, and uint8 (columns,), 1 for an integer column
    columns : Names
    blocks : tuple of NamedBlock
        The rows by the section that they were in.
    matrix : csc_array (rows, columns)

    Returns
    -------
    Model
    """
    costs, offset = objective
    names = (NamedBlock(columns.text.words(columns.starts, columns.lengths)),) if len(columns) else ()
    lazy, user = (tuple(block.name for block in blocks if block.name == name) for name in ("lazycons", "usercuts"))
    signed = sign * costs + 0.0, sign * offset + 0.0
    vectors = (*signed, *sides, *bounds)
    return Model(title, *vectors, names, blocks, lazy, user, matrix=matrix, maximised=sign < 0)


def _number(word: bytes) -> float | None:
    try:
        return float(word) if NUMBER.fullmatch(word) else None
    except ValueError:
        return None

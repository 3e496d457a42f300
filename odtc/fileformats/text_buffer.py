"""A model file's text as places in its bytes: all its numbers read at once, all its names found at once.

A word is (start, length); words are two arrays of these. Names are compared eight bytes at a time
through `windows`, every place of the text seen as the start of an integer, so that millions of
names cost a few passes of numpy and no Python object each.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from odtc.errors import ModelError
from odtc.model.blocks import NamedBlock
from odtc.model.milp import Model

# Blanks to some readers and letters of a name to others.
CONTROL = bytes(code for code in (*range(32), 127) if code not in b"\t\n\r")
PAD = b"\n" * 16  # behind the text, so that eight bytes can be read at its last place
LONGEST = 4096  # bytes of a name or a number
CHUNK = 1 << 22  # bytes read at once: as much as stays in a cache
MASK = np.array([(1 << (8 * n)) - 1 for n in range(9)], np.uint64)
MIX, SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(29)
INFINITE = ("inf", "infinity")
IN_NUMBER = np.zeros(256, bool)
IN_NUMBER[list(b"0123456789+-.eE")] = True

# The nonzeros of a file: columns, rows, values, and the places in the text; or rows first.
Entries = tuple[np.ndarray, ...]


class Text:
    """A file's bytes, with `codes` (uint8) and `windows` (the uint64 that begins at each place)."""

    def __init__(self, data: bytes, name: str) -> None:
        if b"\0" in data:
            raise ModelError(f"{name}: expected text, got a file with zero bytes; it is damaged or no model file")
        if found := [place for code in CONTROL if (place := data.find(code)) >= 0]:
            line = data.count(b"\n", 0, min(found)) + 1
            raise ModelError(f"{name}, line {line}: expected text, got the control character {data[min(found)]}")
        self.size, self.name = len(data), name
        self.bytes = bytearray(data) + PAD
        self.codes = np.frombuffer(self.bytes, np.uint8)
        self.windows = np.ndarray(len(self.bytes) - 7, "<u8", self.bytes, strides=(1,))

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

    def error(self, place: int, expected: str, came: str | None = None) -> ModelError:
        """Return the ModelError for a position in the text: its line, what was expected, what was found."""
        line = self.bytes.count(b"\n", 0, max(0, min(int(place), self.size))) + 1
        if came is not None and len(came) > 60:
            came = came[:57] + "..."
        return ModelError(f"{self.name}, line {line}: {expected}" + ("" if came is None else f", got {came!r}"))

    def same(self, starts: np.ndarray, others: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """Return whether the bytes at `starts` and at `others` agree for these lengths; bool per word."""
        equal = np.ones(len(starts), bool)
        for live, part, mask in _eights(lengths):
            equal[live] &= ((self.windows[starts[live] + part] ^ self.windows[others[live] + part]) & mask) == 0
        return equal

    def hashes(self, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """64 bits of each word."""
        h = lengths.astype(np.uint64) * MIX
        for live, part, mask in _eights(lengths):
            mixed = (h[live] ^ (self.windows[starts[live] + part] & mask)) * MIX
            h[live] = mixed ^ (mixed >> SHIFT)
        return h

    def equals(self, starts: np.ndarray, lengths: np.ndarray, word: bytes) -> np.ndarray:
        """Return whether each word is this word of at most eight bytes, in upper or lower case."""
        folded = self.windows[starts] & MASK[np.minimum(lengths, 8)]
        wanted = np.frombuffer(word.lower().ljust(8, b"\0"), "<u8")[0]
        letters = np.frombuffer(bytes(32 if chr(c).isalpha() else 0 for c in word).ljust(8, b"\0"), "<u8")[0]
        return (lengths == len(word)) & (folded | letters == wanted)

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
        for at in range(0, len(rest), 1 << 18):
            some = rest[at : at + (1 << 18)]
            begin, size = starts[some], lengths[some]
            width = int(size.max())
            if width > 64:  # a number of so many digits is rare, and its table would be wide
                texts = [
                    bytes(self.bytes[b : b + n]) for b, n in zip(begin.tolist(), np.minimum(size, LONGEST).tolist())
                ]
                fine = False
            else:
                within = np.arange(width) < size[:, None]
                table = self.codes[np.minimum(begin[:, None] + np.arange(width), len(self.codes) - 1)]
                fine = (IN_NUMBER[table] | ~within).all()
                table[~within] = 0
                texts = table.view(f"S{width}").ravel().tolist()
            try:
                if fine:
                    values[some] = list(map(float, texts))
                    continue
            except ValueError:
                pass
            for place, word in zip(some.tolist(), texts):
                value = _number(word)
                if value is None:
                    return values, place
                values[place] = value
        return values, None


class Names:
    """Distinct words of a text, in the order of their first coming; an open-addressed table."""

    def __init__(self, text: Text) -> None:
        self.text = text
        self.starts = self.lengths = np.zeros(0, np.int64)
        self._hashes = np.zeros(0, np.uint64)
        self._table, self._bits = np.full(1 << 10, -1, np.int32), 10

    def __len__(self) -> int:
        return len(self.starts)

    def find(self, starts: np.ndarray, lengths: np.ndarray, hashes: np.ndarray | None = None) -> np.ndarray:
        """Return the place of each word among the names, int32; -1 if it is none."""
        h = self.text.hashes(starts, lengths) if hashes is None else hashes
        slots = (h >> np.uint64(64 - self._bits)).astype(np.int64)
        found = self._table[slots]
        if not len(self):
            return found
        at = np.flatnonzero((found >= 0) & (self._hashes[found] != h))
        while at.size:
            slots[at] = (slots[at] + 1) & (len(self._table) - 1)
            met = found[at] = self._table[slots[at]]
            at = at[(met >= 0) & (self._hashes[met] != h[at])]
        known = found >= 0
        known = slice(None) if known.all() else np.flatnonzero(known)
        found[known] = np.where(self._equal(starts[known], lengths[known], found[known]), found[known], -1)
        return found

    def add(self, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """As `find`, with every unknown word made a name."""
        if len(starts) and lengths.max() > LONGEST:
            place = int(lengths.argmax())
            raise self.text.error(
                starts[place],
                f"expected a name of at most {LONGEST} characters",
                self.text.word(starts[place], int(lengths[place])),
            )
        h = self.text.hashes(starts, lengths)
        found = self.find(starts, lengths, h)
        new = np.flatnonzero(found < 0)
        if new.size:
            _, first, group = np.unique(h[new], return_index=True, return_inverse=True)
            order = np.argsort(first)  # by first coming, not by hash
            rank = np.empty(len(order), np.int32)
            rank[order] = np.arange(len(order), dtype=np.int32)
            heads = new[first[order]]
            found[new] = len(self) + rank[group]
            self._insert(starts[heads], lengths[heads], h[heads])
            equal = self._equal(starts[new], lengths[new], found[new])
            if not equal.all():  # two names with the same 64 bits: refused rather than confused
                place = new[equal.argmin()]
                raise self.text.error(
                    starts[place],
                    "expected a name whose hash differs from the hashes of all other names",
                    self.text.word(starts[place], int(lengths[place])),
                )
        return found

    def _equal(self, starts: np.ndarray, lengths: np.ndarray, places: np.ndarray) -> np.ndarray:
        equal = self.lengths[places] == lengths
        return equal & self.text.same(starts, self.starts[places], np.where(equal, lengths, 0))

    def _insert(self, starts: np.ndarray, lengths: np.ndarray, hashes: np.ndarray) -> None:
        begin = len(self)
        self.starts = np.concatenate([self.starts, starts])
        self.lengths = np.concatenate([self.lengths, lengths])
        self._hashes = np.concatenate([self._hashes, hashes])
        if 2 * len(self) > len(self._table):
            self._bits = int(2 * len(self)).bit_length() + 1
            self._table, begin = np.full(1 << self._bits, -1, np.int32), 0
        pending = np.arange(begin, len(self), dtype=np.int32)
        slots = (self._hashes[begin:] >> np.uint64(64 - self._bits)).astype(np.int64)
        while pending.size:
            # Of several names that want one empty slot the last written has it; the others move on.
            empty = self._table[slots] < 0
            self._table[slots[empty]] = pending[empty]
            left = self._table[slots] != pending
            pending, slots = pending[left], (slots[left] + 1) & (len(self._table) - 1)


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


def _eights(lengths: np.ndarray) -> Iterator[tuple[Any, int, np.ndarray]]:
    """Yield (which words, offset, mask): the words' bytes in steps of eight, while any word lasts."""
    longest = int(lengths.max()) if len(lengths) else 0
    shortest = int(lengths.min()) if len(lengths) else 0
    for part in range(0, longest, 8):
        live = slice(None) if shortest > part else np.flatnonzero(lengths > part)
        yield live, part, MASK[np.minimum(lengths[live] - part, 8)]


def _number(word: bytes) -> float | None:
    try:
        return float(word) if IN_NUMBER[np.frombuffer(word, np.uint8)].all() else None
    except ValueError:
        return None

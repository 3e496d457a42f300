"""The sections of an MPS file, and the cards of one as arrays of words, one array a field, free or
in fixed columns.

    field      1      2        3        4        5        6
    ROWS      kind   row
    COLUMNS          column   row      number  [row      number]
    RHS              set      row      number  [row      number]      (RANGES alike)
    BOUNDS    kind   set      column   number
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from odtc.fileformats.text_buffer import CHUNK, Text

# Number of words on a free card -> their fields, from 0. The set may be left out if the count decides.
_PAIRS = {3: (1, 2, 3), 5: (1, 2, 3, 4, 5)}
SHAPES = {
    "ROWS": {2: (0, 1)},
    "COLUMNS": _PAIRS,
    "RHS": {2: (2, 3), 4: (2, 3, 4, 5), **_PAIRS},
    "RANGES": {2: (2, 3), 4: (2, 3, 4, 5), **_PAIRS},
    "BOUNDS": {2: (0, 2), 3: (0, 2, 3), 4: (0, 1, 2, 3)},
}
CUTS = {"USERCUTS": "usercuts", "MODELCUTS": "usercuts", "LAZYCONS": "lazycons", "DELAYEDROWS": "lazycons"}
SENSES = {"MIN": 1, "MINIMIZE": 1, "MAX": -1, "MAXIMIZE": -1}
KNOWN = ("NAME", "OBJSENSE", "OBJNAME", "ROWS", *CUTS, "COLUMNS", "RHS", "RANGES", "BOUNDS", "ENDATA")
COLUMNS = ((1, 3), (4, 12), (14, 22), (24, 36), (39, 47), (49, 61))  # of the fields of a fixed card
NUMBERS = (COLUMNS[3], COLUMNS[5])
WIDER = 24  # columns behind the last field, which a number of full precision may need

Found = dict[str, tuple[int, int, list[str]]]  # section -> (begin, end, words behind it on its line)
Shapes = dict[int, tuple[int, ...]]  # words on a card -> their fields
Field = tuple[np.ndarray, np.ndarray]  # (starts, lengths) of one field on some cards


# A section is a word in column 1 and the cards under it, up to ENDATA; * in column 1 is a comment.
def sections(text: Text) -> Found:
    """Return {section: (begin, end, words after it on its line)} in file order. Raises ModelError."""
    found, heads = {}, []
    for at in range(0, text.size, CHUNK):
        stop = min(at + CHUNK, text.size)
        here, before = text.codes[at:stop], text.codes[max(at - 1, 0) : stop - 1]
        before = np.concatenate([[10], before]) if at == 0 else before
        heads += (np.flatnonzero((before == 10) & (here > 32) & (here != ord("*"))) + at).tolist()
        if len(heads) > 1000:
            break  # no file has so many sections, and the first unknown one is refused below
    for place, following in zip(heads, [*heads[1:], text.size]):
        stop = min(text.bytes.find(b"\n", place), text.size)
        word, *rest = bytes(text.bytes[place:stop]).decode("ascii", "replace").split()
        section = word.upper()
        if section not in KNOWN:
            raise text.error(place, f"expected a section that odtc reads ({', '.join(KNOWN)})", word)
        if section in found:
            raise text.error(place, f"expected one section {section}, got a second one")
        if rest and section not in ("NAME", "OBJSENSE", "OBJNAME"):
            raise text.error(
                place, f"expected only {section} on its line, and cards that begin with a blank", " ".join(rest)
            )
        begin = min(stop + 1, text.size)
        if section == "NAME" and (astray := _first_card(text, begin, following)) is not None:
            raise text.error(astray, "expected a section under NAME", text.word_at(astray))
        found[section] = (begin, following, rest)
        if section == "ENDATA":
            break
    for section in ("ROWS", "COLUMNS", "ENDATA"):
        if section not in found:
            cut = "; the file may be cut off" if section == "ENDATA" else ""
            raise text.error(text.size - 1, f"expected a section {section}, got none{cut}")
    return found


def _first_card(text, begin: int, end: int) -> int | None:
    """Return the place of the first word of these lines, comments aside; None if they are blank."""
    for line in bytes(text.bytes[begin:end]).splitlines(keepends=True):
        if line.strip() and not line.startswith(b"*"):
            return begin + len(line) - len(line.lstrip())
        begin += len(line)
    return None


# NAME title [FREE]
def title(text: Text, found: Found) -> str:
    """Return the model's name, else the file's."""
    words = list(found.get("NAME", (0, 0, []))[2])
    if len(words) > 1 and words[-1].upper() in ("FREE", "FREEMPS"):
        words.pop()
    name = " ".join(words)
    return name if name.isascii() and name.isprintable() and name else text.name


# OBJSENSE MAX, or MAX on the next card; likewise OBJNAME row
def section_word(text: Text, found: Found, section: str) -> tuple[str, int] | None:
    """Return (the only word of this section, its position), None if the section is missing."""
    if section not in found:
        return None
    begin, end, words = found[section]
    cards = bytes(text.bytes[begin:end]).decode("ascii", "replace").split("\n")
    words = words + " ".join(card for card in cards if not card.startswith("*")).split()
    if len(words) != 1:
        raise text.error(begin - 1, f"expected one word in the section {section}", " ".join(words))
    return words[0], begin - 1


def sense(text: Text, found: Found) -> int:
    """1 to minimise, -1 to maximise."""
    word, place = section_word(text, found, "OBJSENSE") or ("MIN", 0)
    if word.upper() not in SENSES:
        raise text.error(place, "expected MIN or MAX in the section OBJSENSE", word)
    return SENSES[word.upper()]


def cards(text: Text, section: str, begin: int, end: int, fixed: bool) -> Iterator[tuple[Any, ...]]:
    """Yield, for some cards at a time, six fields, each (starts, lengths) or None if no card
    has it; a field that one card lacks has length 0. Raises ModelError."""
    shapes, at = SHAPES.get(section, SHAPES["ROWS"]), begin  # USERCUTS and LAZYCONS hold rows
    while at < end:
        stop = min(at + CHUNK, end)
        if stop < end:
            stop = min(text.bytes.find(b"\n", stop) + 1, end) or end
        fields = (_fixed if fixed else _free)(text, section, shapes, at, stop)
        if fields is not None:
            yield fields
        at = stop


def _free(text: Text, section: str, shapes: Shapes, begin: int, end: int) -> tuple[Any, ...] | None:
    codes = text.codes[begin:end]
    solid = codes > 32
    edges = np.flatnonzero(solid[1:] != solid[:-1]) + (begin + 1)
    if solid[0]:
        edges = np.concatenate([[begin], edges])
    if solid[-1]:
        edges = np.concatenate([edges, [end]])
    starts, lengths = edges[0::2], edges[1::2] - edges[0::2]
    newlines = np.flatnonzero(codes == 10) + begin
    # Nearly always all lines have as many words as the first one.
    width = len(starts) // len(newlines) if len(newlines) else 0
    if (
        width in shapes
        and width * len(newlines) == len(starts)
        and (starts[width - 1 :: width] < newlines).all()
        and (starts[width::width] > newlines[:-1]).all()
        and not (codes[starts[::width] - begin] == ord("*")).any()
    ):
        fields = [None] * 6
        for word, field in enumerate(shapes[width]):
            fields[field] = (np.ascontiguousarray(starts[word::width]), np.ascontiguousarray(lengths[word::width]))
        return fields
    if not len(starts):
        return None
    line = np.searchsorted(newlines, starts)
    first = np.concatenate([[0], np.flatnonzero(np.diff(line)) + 1])
    count = np.diff(first, append=len(starts))
    head = starts[first]
    comment = (text.codes[head] == ord("*")) & (text.codes[head - 1] == 10)
    first, count = first[~comment], count[~comment]
    if not len(first):
        return None
    known = np.isin(count, list(shapes))
    if not known.all():
        at = int(known.argmin())
        raise text.error(starts[first[at]], f"expected {_either(shapes)} words on a card of {section}", str(count[at]))
    fields = [None] * 6
    for words, places in shapes.items():
        lines = np.flatnonzero(count == words)
        for word, field in enumerate(places if len(lines) else ()):
            if fields[field] is None:
                fields[field] = (starts[first], np.zeros(len(first), np.int64))
            fields[field][0][lines] = starts[first[lines] + word]
            fields[field][1][lines] = lengths[first[lines] + word]
    return fields


def _fixed(text: Text, section: str, shapes: Shapes, begin: int, end: int) -> tuple[Any, ...] | None:
    newlines = np.flatnonzero(text.codes[begin:end] == 10) + begin
    stops = np.concatenate([newlines, [end]]) if text.codes[end - 1] != 10 else newlines
    lines = np.concatenate([[begin], stops[:-1] + 1])
    width = COLUMNS[-1][1] + WIDER
    places = lines[:, None] + np.arange(width)
    table = text.codes[np.minimum(places, len(text.codes) - 1)]
    solid = (table > 32) & (places < stops[:, None])
    long = np.flatnonzero(stops - lines > width)
    further = np.zeros(len(lines), bool)  # whether a line goes on behind all fields
    further[long] = [bool((text.codes[lines[at] + width : stops[at]] > 32).any()) for at in long]
    used = (solid.any(axis=1) | further) & (table[:, 0] != ord("*"))
    lines, stops, table, solid, further = lines[used], stops[used], table[used], solid[used], further[used]
    if not len(lines):
        return None
    # A number of full precision is wider than its field: then it is the last word of its line.
    ends = np.where(solid.any(axis=1), width - solid[:, ::-1].argmax(axis=1), 0)
    beyond = {}
    for low, high in NUMBERS:
        begins = np.where(solid[:, low:high].any(axis=1), low + solid[:, low:high].argmax(axis=1), width)
        last = np.arange(width) >= begins[:, None]
        wide = (ends > high) & ((solid & last).sum(axis=1) == ends - begins)
        beyond[low] = np.where(wide, ends - high, 0)
        solid[wide, high:] = False
    gaps = np.ones(width, bool)
    for low, high in COLUMNS:
        gaps[low:high] = False
    astray = (solid & (gaps | (table == 9))).any(axis=1) | further
    if astray.any():
        raise text.error(
            lines[astray.argmax()],
            f"expected the fields of fixed MPS in their columns ({_columns()})",
            _line(text, lines, stops, astray),
        )
    fields, present = [], np.zeros(len(lines), np.int64)
    for field, (low, high) in enumerate(COLUMNS):
        part = solid[:, low:high]
        has = part.any(axis=1)
        first = np.where(has, part.argmax(axis=1), 0)
        last = np.where(has, high - low - part[:, ::-1].argmax(axis=1), 0)
        last = last + beyond[low] if low in beyond else last
        present |= has.astype(np.int64) << field
        fields.append((lines + low + first, last - first) if has.any() else None)
    known = np.isin(present, [sum(1 << field for field in shape) for shape in shapes.values()] + _numberless(section))
    if not known.all():
        raise text.error(
            lines[known.argmin()],
            f"expected a card of {section} in the columns of fixed MPS ({_columns()})",
            _line(text, lines, stops, ~known),
        )
    return fields


def _numberless(section: str) -> list[int]:
    """Return the cards without a number: in BOUNDS, type, set and variable may have none (FR, MI, PL, BV)."""
    return [0b111] if section == "BOUNDS" else []


def _line(text: Text, lines: np.ndarray, stops: np.ndarray, chosen: np.ndarray) -> str:
    at = int(chosen.argmax())
    return text.word(lines[at], int(min(stops[at] - lines[at], 80)))


def _columns() -> str:
    return ", ".join(f"{low + 1}-{high}" for low, high in COLUMNS)


def _either(shapes: Shapes) -> str:
    counts = [str(count) for count in sorted(shapes)]
    return " or ".join([", ".join(counts[:-1]), counts[-1]] if len(counts) > 1 else counts)


def interleaved(twice: np.ndarray, one: Field, two: Field | None) -> Field:
    """Return the words of the first and, if `twice` is 2, the second pair of each card, in order."""
    if two is None:
        return one
    second = np.cumsum(twice)[twice == 2] - 1
    joined = tuple(np.repeat(part, twice) for part in one)
    for part, other in zip(joined, two):
        part[second] = other[twice == 2]
    return joined

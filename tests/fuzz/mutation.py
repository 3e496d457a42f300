"""Mutations by plain random: for machines without atheris, and for the part that every run of the tests repeats."""

import random
import re

# Words that readers treat in a special way, or that are easily treated wrongly.
WORDS = (
    b"", b"0", b"-0", b"1", b"-1", b"1e400", b"-1e308", b"nan", b"inf", b"-inf", b"1_0", b"0x1p3", b"1d5", b"1e", b".",
    b"-", b"9" * 400, b"9" * 5000, b"%", b"#", b"\\", b'"', b"'", b"{", b"}", b"[", b"]", b",", b";", b"\r", b"\r\n",
    b"\n\n", b"\x00", b"\xff", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\xd9\xa3", b"null", b"true", b"NaN", b"1e999", b"[]",
    b"RANGES\n", b"ENDATA\n", b"BOUNDS\n", b"OBJSENSE MAX\n", b"Subject To\n", b"General\n", b"End\n", b"<=", b">=",
    b"{}", b"=",
)  # fmt: skip
NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
PIECE = re.compile(rb"\w+|[^\w\s]|\s+")
LONGEST_WORD = 40  # whose beginning is looked for


def mutated(data: bytes, others: list[bytes], rnd: random.Random) -> bytes:
    """A copy with one to four changes."""
    for _ in range(rnd.choice((1, 1, 1, 2, 4))):
        data = rnd.choice(CHANGES)(data, others, rnd)
    return data[: 1 << 16]


def _cut(data, others, rnd):
    return data[: rnd.randrange(len(data) + 1)]


def _flip(data, others, rnd):
    if not data:
        return data
    at = rnd.randrange(len(data))
    return data[:at] + bytes([rnd.choice((rnd.randrange(256), data[at] ^ (1 << rnd.randrange(8))))]) + data[at + 1 :]


def _word(data, others, rnd):
    at = rnd.randrange(len(data) + 1)
    return data[:at] + rnd.choice(WORDS) + data[at:]


def _drawn(pattern, data, rnd):
    """A match of a pattern from the word on that is at a place that is drawn, else the first one; None if there is
    none. Not all matches of a file are made: that takes longer than most readers."""
    at = rnd.randrange(len(data) + 1)
    for _ in range(LONGEST_WORD):
        if not data[at - 1 : at].isalnum():
            break
        at -= 1
    return pattern.search(data, at) or pattern.search(data)


def _number(data, others, rnd):
    one = _drawn(NUMBER, data, rnd)
    if one is None:
        return data
    value = rnd.choice((rnd.choice(WORDS), str(rnd.randrange(-3, 12)).encode(), _drawn(NUMBER, data, rnd)[0]))
    return data[: one.start()] + value + data[one.end() :]


def _piece(data, others, rnd):
    """A piece left out, doubled, or in place of another."""
    one = _drawn(PIECE, data, rnd)
    if one is None:
        return data
    value = rnd.choice((b"", one[0] * 2, _drawn(PIECE, data, rnd)[0]))
    return data[: one.start()] + value + data[one.end() :]


def _line(data, others, rnd):
    lines = data.splitlines(keepends=True)
    if not lines:
        return data
    at, to = rnd.randrange(len(lines)), rnd.randrange(len(lines))
    kind = rnd.randrange(3)
    if kind == 0:
        del lines[at]
    elif kind == 1:
        lines.insert(to, lines[at])
    else:
        lines[at], lines[to] = lines[to], lines[at]
    return b"".join(lines)


def _crossed(data, others, rnd):
    other = rnd.choice(others)
    return data[: rnd.randrange(len(data) + 1)] + other[rnd.randrange(len(other) + 1) :]


CHANGES = (_cut, _flip, _flip, _word, _number, _number, _piece, _piece, _line, _crossed)

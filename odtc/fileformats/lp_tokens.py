"""The sections of a CPLEX-LP file, the words of one as arrays (numbers, names, signs, relations, colons), and the
lines of Bounds."""

import re
from typing import Any

import numpy as np

from odtc.base.value_class import value_class
from odtc.errors import ModelError
from odtc.fileformats.model_files import LARGEST
from odtc.fileformats.text_buffer import IN_NUMBER, Text

NUMBER, NAME, SIGN, RELATION, COLON = 1, 2, 3, 4, 5
# The type of each byte: 0 a blank, else the type of its word; digits and letters are distinguished by word.
KIND = np.full(256, NAME, np.uint8)
KIND[:33] = 0
for _bytes, _kind in ((b"+-", SIGN), (b"<>=", RELATION), (b":", COLON)):
    KIND[list(_bytes)] = _kind
IN_DIGITS = np.zeros(256, bool)
IN_DIGITS[list(b"0123456789.")] = True
LESS, EQUAL, MORE = -1, 0, 1
RELATIONS = {b"<": LESS, b"<=": LESS, b"=<": LESS, b"=": EQUAL, b">": MORE, b">=": MORE, b"=>": MORE}

# Titles of sections, in any case, first on their line; followed by nothing or by a blank.
TITLES = {
    "minimize": rb"minimi[sz]e|minimum|min",
    "maximize": rb"maximi[sz]e|maximum|max",
    "rows": rb"subject[ \t]+to|such[ \t]+that|s\.t\.|st\.?",
    "lazycons": rb"lazy[ \t]+constraints|delayed[ \t]+rows",
    "usercuts": rb"user[ \t]+cuts|model[ \t]+cuts",
    "refused": rb"semi-?continuous|semi-?integers?|semis?|sec|sin|sos[12]?|general[ "
    rb"\t]+constraints?|pwlobj|scenario|indicators?",
    "bounds": rb"bounds?",
    "generals": rb"generals?|gen|integers?|int",
    "binaries": rb"binar(?:y|ies)|bin",
    "end": rb"end",
}
TITLE = re.compile(
    rb"\n[ \t\r]*(?:"
    + b"|".join(b"(?P<%s>%s)" % (kind.encode(), words) for kind, words in TITLES.items())
    + rb")(?:(?=[ \t\r]*\n)|(?=[ \t]+(?!free\b)[^\s<>=:+-]))",
    re.I,
)
SENSE = re.compile(
    rb"\s*(?:(?P<minimize>%s)|(?P<maximize>%s))(?=[\s+-])" % (TITLES["minimize"], TITLES["maximize"]), re.I
)
COEFFICIENT = re.compile(rb"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?=[^0-9.eE+-])")


@value_class
class Tokens:
    """Words in order: places, kinds, and the numbers' values (the signs' are 1 and -1, the relations' LESS …)."""

    starts: np.ndarray
    lengths: np.ndarray
    kinds: np.ndarray
    values: np.ndarray

    def __len__(self) -> int:
        return len(self.starts)

    def cut(self, keep: Any) -> "Tokens":
        return Tokens(self.starts[keep], self.lengths[keep], self.kinds[keep], self.values[keep])


def sections(text: Text) -> list[tuple[str, int, int]]:
    """[(kind, begin, end)] in file order, "minimize" or "maximize" first, without End. Comments,
    from a backslash to the end of the line, become blanks in the text. Raises ModelError."""
    at = -1
    while (at := text.bytes.find(b"\\", at + 1)) >= 0:
        stop = text.bytes.find(b"\n", at)
        text.codes[at:stop] = 32
    for sign, what in ((b"->", "indicator constraint"), (b"^", "power"), (b"*", "product")):
        if (at := text.bytes.find(sign)) >= 0:
            raise text.error(
                at, f"expected a linear model without special constraints, got {_article(what)} ({sign.decode()})"
            )
    if b"[" in text.bytes and (found := re.search(rb"[\s+\-<>=:]\[", text.bytes)):
        raise text.error(found.end() - 1, "expected a linear model, got a quadratic part in brackets")
    sense = SENSE.match(text.bytes)
    if sense is None:
        place = len(text.bytes) - len(text.bytes.lstrip())
        raise text.error(place, "expected Minimize or Maximize first", text.word(place, 20).split("\n")[0])
    found = [(sense.lastgroup, sense.start(sense.lastgroup), sense.end())]
    for match in TITLE.finditer(text.bytes, sense.end()):
        kind = match.lastgroup
        if kind == "end" and text.bytes[match.end() : text.bytes.find(b"\n", match.end())].strip():
            continue
        found.append((kind, match.start(kind), match.end()))
        if kind == "end":
            # Some solvers stop at End and some read on.
            if rest := text.bytes[match.end() :].strip():
                place = text.bytes.find(rest[:1], match.end())
                raise text.error(place, "expected nothing behind End", text.word(place, 40).split("\n")[0])
            break
    if found[-1][0] != "end":
        raise text.error(text.size - 1, "expected End, got the end of the file; it may be cut off")
    ranges = []
    for (kind, place, begin), (_, end, _) in zip(found, found[1:]):
        title = text.word(place, begin - place)
        if kind == "refused" or (kind in ("minimize", "maximize") and ranges):
            raise text.error(
                place,
                "expected the sections Subject To, User Cuts, Lazy Constraints, Bounds, Generals, "
                "Binaries and End behind the objective",
                title,
            )
        if kind in ("rows", "usercuts", "lazycons") and any(kind == other for other, _, _ in ranges):
            raise text.error(place, "expected each section of rows once, got a second one", title)
        ranges.append((kind, begin, end))
    return ranges


def tokens(text: Text, begin: int, end: int) -> Tokens:
    """Return all words between two places. Raises ModelError."""
    codes = text.codes[begin:end]
    kinds = KIND[codes]
    _join_exponents(codes, kinds)
    edge = np.ones(len(codes), bool)
    edge[1:] = (kinds[1:] != kinds[:-1]) | (kinds[1:] == SIGN) | (kinds[1:] == COLON)
    places = np.flatnonzero(edge)
    kinds = kinds[places]
    lengths = np.diff(places, append=len(codes))
    solid = kinds > 0
    starts, lengths, kinds = places[solid] + begin, lengths[solid], kinds[solid]
    first = text.codes[starts]
    numeric = (kinds == NAME) & ((first - np.uint8(48) < 10) | (first == ord(".")))
    kinds[numeric] = NUMBER
    starts, lengths, kinds = _split_coefficients(text, starts, lengths, kinds)
    values = np.zeros(len(starts))
    names = kinds == NAME
    endless = names & ((lengths == 3) | (lengths == 8))
    where = np.flatnonzero(endless)
    where = where[
        text.equals(starts[where], lengths[where], b"inf") | text.equals(starts[where], lengths[where], b"infinity")
    ]
    short = np.flatnonzero(names & (lengths == 3))
    if (bad := text.equals(starts[short], lengths[short], b"nan")).any():
        at = int(short[bad.argmax()])
        expected = "expected a number or a name that no solver reads as a number"
        raise text.error(starts[at], expected, text.word(starts[at], 3))
    number = np.flatnonzero(kinds == NUMBER)
    values[number] = text.numbers(starts[number], lengths[number])
    kinds[where], values[where] = NUMBER, np.inf
    signs = np.flatnonzero(kinds == SIGN)
    values[signs] = np.where(text.codes[starts[signs]] == ord("-"), -1.0, 1.0)
    relations = np.flatnonzero(kinds == RELATION)
    values[relations] = [RELATIONS.get(word, np.nan) for word in text.texts(starts[relations], lengths[relations])]
    if (bad := np.isnan(values)).any():
        at = int(bad.argmax())
        raise text.error(starts[at], "expected <=, >= or =", text.word(starts[at], int(lengths[at])))
    return Tokens(starts, lengths, kinds, values)


def _join_exponents(codes: np.ndarray, kinds: np.ndarray) -> None:
    """The sign in 1.5e-05 belongs to the number: digits, maybe a point, e, sign and digit without blanks."""
    at = np.flatnonzero(kinds[1:-1] == SIGN) + 1
    at = at[((codes[at - 1] | 32) == ord("e")) & (codes[at + 1] - np.uint8(48) < 10)]
    back, open_ = at - 2, np.ones(len(at), bool)
    for _ in range(64):  # back over the digits to the word's begin
        inside = open_ & (back >= 0)
        inside[inside] = IN_DIGITS[codes[back[inside]]]
        if not inside.any():
            break
        back[inside] -= 1
        open_ = inside
    starts = (back < 0) | (kinds[np.maximum(back, 0)] != NAME)
    kinds[at[starts & (back < at - 2)]] = NAME


def _split_coefficients(
    text: Text, starts: np.ndarray, lengths: np.ndarray, kinds: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Split 3x into 3 and x, as if there were a blank between them."""
    long = np.flatnonzero((kinds == NUMBER) & (lengths > 1))
    # A decimal ends in a digit or a point, and nearly every name behind a coefficient holds other letters.
    odd = np.zeros(len(long), bool)
    for part in range(1, int(min(lengths[long].max(), 64)) if len(long) else 0):
        live = np.flatnonzero(lengths[long] > part)
        odd[live] |= ~IN_NUMBER[text.codes[starts[long[live]] + part]]
    split, sizes = long[odd], []
    for start, length in zip(starts[split].tolist(), lengths[split].tolist()):
        match = COEFFICIENT.match(text.bytes, start, start + length)
        if match is None:
            raise text.error(start, "expected a number, a blank and a name", text.word(start, length))
        sizes.append(match.end() - start)
    if not sizes:
        return starts, lengths, kinds
    sizes = np.array(sizes)
    rest = lengths[split] - sizes
    lengths[split] = sizes
    return (
        np.insert(starts, split + 1, starts[split] + sizes),
        np.insert(lengths, split + 1, rest),
        np.insert(kinds, split + 1, NAME),
    )


# One bound a line:   column free | column relation number | number relation column [relation number]
def bound_lines(text: Text, begin: int, end: int) -> list[tuple[str, np.ndarray, Tokens, np.ndarray]]:
    """[(side, places of the columns, tokens, values)]."""
    found = tokens(text, begin, end)
    signs = found.kinds == SIGN
    behind = np.concatenate([found.kinds[1:], [0]])
    refuse(text, found, signs & (behind != NUMBER), "expected a number behind + or - in Bounds")
    values = found.values.copy()
    signed = np.flatnonzero(signs) + 1
    values[signed] *= found.values[signed - 1]
    found = Tokens(found.starts, found.lengths, found.kinds, values).cut(~signs)
    if not len(found):
        return []
    newlines = np.flatnonzero(text.codes[begin:end] == 10) + begin
    line = np.searchsorted(newlines, found.starts)
    first = np.concatenate([[0], np.flatnonzero(np.diff(line)) + 1])
    count = np.diff(first, append=len(found))
    padded = np.concatenate([found.kinds, np.zeros(5, np.uint8)]).astype(np.int64)
    shape = sum(padded[first + nth] * (nth < count) * 8**nth for nth in range(5))
    shape[count > 5] = -1
    code = lambda *kinds: sum(kind * 8**nth for nth, kind in enumerate(kinds))  # noqa: E731
    free = np.flatnonzero(shape == code(NAME, NAME))
    free = free[text.equals(found.starts[first[free] + 1], found.lengths[first[free] + 1], b"free")]
    known = mask(len(shape), free)
    parts = [("lower", first[free], np.full(len(free), -np.inf)), ("upper", first[free], np.full(len(free), np.inf))]
    # (shape, position of the variable, of the relation, of the number, whether the number is left)
    for kinds, column, relation, number, left in (
        ((NAME, RELATION, NUMBER), 0, 1, 2, False),
        ((NUMBER, RELATION, NAME), 2, 1, 0, True),
        ((NUMBER, RELATION, NAME, RELATION, NUMBER), 2, 1, 0, True),
        ((NUMBER, RELATION, NAME, RELATION, NUMBER), 2, 3, 4, False),
    ):
        lines = first[shape == code(*kinds)]
        known |= shape == code(*kinds)
        way = found.values[lines + relation] * (-1 if left else 1)
        if len(kinds) == 5:
            bad = (found.values[lines + 1] != found.values[lines + 3]) | (way == EQUAL)
            if bad.any():
                raise error(text, found, lines[bad.argmax()] + 3, "expected two relations alike, <= or >=")
        value = finite(found.values[lines + number])
        parts += [
            ("lower", lines[way != LESS] + column, value[way != LESS]),
            ("upper", lines[way != MORE] + column, value[way != MORE]),
        ]
    if not known.all():
        raise error(
            text, found, first[known.argmin()], "expected a bound on this line: x <= 1, 0 <= x <= 1, x = 1 or x free"
        )
    return [(side, at, found, value) for side, at, value in parts if len(at)]


def title(text: Text) -> str:
    """Return the name in a comment on the first line ("\\ name" as odtc writes it), else the file's."""
    line = bytes(text.bytes[: text.bytes.find(b"\n")]).strip()
    words = line[1:].split()
    if line[:1] == b"\\" and len(words) == 1 and line.isascii() and words[0].decode().isprintable():
        return words[0].decode()
    return text.name


def finite(values: np.ndarray) -> np.ndarray:
    """Return the values, those that solvers take for infinite made so."""
    return np.where(np.abs(values) >= LARGEST, np.copysign(np.inf, values), values)


def mask(size: int, places: Any) -> np.ndarray:
    chosen = np.zeros(size, bool)
    chosen[places] = True
    return chosen


def refuse(text: Text, found: Tokens, bad: np.ndarray, expected: str) -> None:
    """Raise ModelError at the first word that is bad."""
    if bad.any():
        raise error(text, found, int(bad.argmax()), expected)


def error(text: Text, found: Tokens, at: int, expected: str) -> ModelError:
    return text.error(found.starts[at], expected, text.word(found.starts[at], int(found.lengths[at])))


def _article(what: str) -> str:
    return ("an " if what[0] in "aeiou" else "a ") + what

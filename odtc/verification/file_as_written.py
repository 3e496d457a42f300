"""An independent reader of model files that keeps every number exactly as it is written in the file.

It shares no code with the compiler and the other readers. It supports free and fixed MPS and LP as far as odtc and
solvers use them for models with rows, bounds and integer columns; anything ambiguous is refused with a message.
"""

import re
from array import array
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from odtc.errors import ModelError

ENDLESS = Fraction(10) ** 20  # a bound of at least this size means no bound
MOST_DIGITS = 400  # maximum length and exponent of a number; as a fraction, 1e999999999 would fill the memory
TOKEN = re.compile(rb"<=|>=|=<|=>|[<>=:+\-]|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[^\s<>=:+\-]+")
NUMBER = re.compile(rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eEdD]([+-]?\d+))?")
ENDLESS_WORDS = {b"inf", b"infinity"}
SECTIONS = {  # sections of LP, by the word or words that begin them
    b"subject to": "rows",
    b"such that": "rows",
    b"st": "rows",
    b"s.t.": "rows",
    b"lazy constraints": "rows",
    b"user cuts": "rows",
    b"bounds": "bounds",
    b"bound": "bounds",
    b"generals": "whole",
    b"general": "whole",
    b"gen": "whole",
    b"integers": "whole",
    b"binaries": "binary",
    b"binary": "binary",
    b"bin": "binary",
    b"end": "end",
}
SENSES = {b"<=": "L", b"=<": "L", b"<": "L", b">=": "G", b"=>": "G", b">": "G", b"=": "E"}


@dataclass
class Written:
    """A model as it is written in its file.

    Attributes
    ----------
    columns, rows : dict of bytes to int
        Names with their places.
    numbers : list of Fraction
        The different numbers of the file; `data` are positions in it.
    row_of, column_of, data : array of int
        The entries of the matrix.
    cost : dict of int to Fraction
        Of columns, as a minimum.
    lower, upper : dict of int to Fraction or None
        Bounds of columns; None is infinite.
    sides : list of (Fraction or None, Fraction or None)
        Of rows.
    """

    columns: dict[bytes, int] = field(default_factory=dict)
    rows: dict[bytes, int] = field(default_factory=dict)
    numbers: list[Fraction] = field(default_factory=list)
    row_of: array = field(default_factory=lambda: array("q"))
    column_of: array = field(default_factory=lambda: array("q"))
    data: array = field(default_factory=lambda: array("q"))
    cost: dict[int, Fraction] = field(default_factory=dict)
    offset: Fraction = Fraction(0)
    lower: dict[int, Fraction | None] = field(default_factory=dict)
    upper: dict[int, Fraction | None] = field(default_factory=dict)
    sides: list[tuple[Fraction | None, Fraction | None]] = field(default_factory=list)
    whole: set[int] = field(default_factory=set)
    sign: int = 1  # -1 if the file maximises
    _known: dict[bytes, int] = field(default_factory=dict)

    def place(self, name: bytes) -> int:
        """Return the position of a column, a new one if it is new."""
        return self.columns.setdefault(name, len(self.columns))

    def number(self, text: bytes) -> int:
        """Return the position of a number in `numbers`."""
        at = self._known.get(text)
        if at is None:
            at = self._known[text] = len(self.numbers)
            self.numbers.append(exact(text))
        return at

    def entry(self, row: int, column: int, number: int) -> None:
        self.row_of.append(row)
        self.column_of.append(column)
        self.data.append(number)

    def bounds(self, column: int) -> tuple[Fraction | None, Fraction | None]:
        """Return the bounds of a column: 0 and infinity if the file states none."""
        return self.lower.get(column, Fraction(0)), self.upper.get(column)

    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return rows, columns and numbers of the entries, int64 each."""
        return tuple(np.frombuffer(part, np.int64) for part in (self.row_of, self.column_of, self.data))


def read_written(data: bytes) -> Written:
    """Read the model from the bytes of a file, MPS or LP, which its beginning decides.

    Raises
    ------
    ModelError
        If it is not a model, or is ambiguous.
    """
    heads = (line for line in data.split(b"\n", 200) if line.strip() and line[:1] not in b"*\\")
    first = next(heads, b"").split()
    try:
        if first and first[0] in (b"NAME", b"ROWS", b"OBJSENSE"):
            return _Mps(data).model
        return _Lp(data).model
    except (IndexError, KeyError, ValueError, StopIteration) as problem:
        raise ModelError(f"expected a model file in MPS or LP, got one that stops making sense ({problem!r})") from None


def exact(text: bytes) -> Fraction:
    """Return a number of a file exactly as it is written. Raises ModelError if it is not a number."""
    found = NUMBER.fullmatch(text)
    if not found or len(text) > MOST_DIGITS or abs(int(found[1] or 0)) > MOST_DIGITS:
        raise ModelError(f"expected a number of moderate length in the model file, got {text[:40]!r}")
    return Fraction(text.decode().replace("d", "e").replace("D", "e"))


def _endless(value: Fraction) -> Fraction | None:
    return None if abs(value) >= ENDLESS else value


def _both(kind: str, side: Fraction, span: Fraction | None = None) -> tuple[Fraction | None, Fraction | None]:
    """Return the sides of a row of kind L, G or E, with its range if it has one."""
    if span is None:
        return (None if kind == "L" else _endless(side), None if kind == "G" else _endless(side))
    if kind == "E":
        return (side, side + span) if span >= 0 else (side + span, side)
    return (side - abs(span), side) if kind == "L" else (side, side + abs(span))


class _Mps:
    """Cards between the words of sections; the objective is the first row of kind N."""

    def __init__(self, data: bytes):
        self.model, self.kinds, self.objective = Written(), [], None
        self.free, self.within, self.ranges, self.sides = set(), False, {}, {}
        section = b""
        for line in data.splitlines():
            if not line.strip() or line[:1] == b"*":
                continue
            words = line.split()
            if line[:1] not in b" \t":
                section = words[0]
                if section == b"OBJSENSE" and len(words) > 1:
                    self._sense(words[1])
                if section == b"ENDATA":
                    break
                continue
            card = self._cards.get(section)
            if card is None:
                raise ModelError(f"expected a section of MPS that is known, got {section[:40]!r}")
            card(self, words)
        else:
            raise ModelError("expected ENDATA at the end of the model file, got none: it is cut off")
        for at, kind in enumerate(self.kinds):
            self.model.sides.append(_both(kind, self.sides.get(at, Fraction(0)), self.ranges.get(at)))
        for at in self.model.whole:
            if at not in self.model.upper:
                raise ModelError(
                    "expected bounds of every whole column, got one without, which readers take for 0 or 1"
                )

    def _sense(self, word: bytes) -> None:
        self.model.sign = -1 if word.upper().startswith(b"MAX") else 1

    def _row(self, words: list[bytes]) -> None:
        kind, name = words
        if kind == b"N":
            if self.objective is None:
                self.objective = name
            self.free.add(name)
        elif name in self.model.rows or kind not in (b"L", b"G", b"E"):
            raise ModelError(f"expected new rows of a known kind, got {b' '.join(words)[:60]!r}")
        else:
            self.model.rows[name] = len(self.kinds)
            self.kinds.append(kind.decode())

    def _column(self, words: list[bytes]) -> None:
        if len(words) == 3 and words[1] == b"'MARKER'":
            self.within = words[2] == b"'INTORG'"
            return
        if len(words) not in (3, 5):
            raise ModelError(f"expected a column with one or two entries, got {b' '.join(words)[:60]!r}")
        model, at = self.model, self.model.place(words[0])
        if self.within:
            model.whole.add(at)
        for name, text in zip(words[1::2], words[2::2]):
            if name == self.objective:
                model.cost[at] = model.cost.get(at, Fraction(0)) + model.sign * exact(text)
            elif name not in self.free:
                model.entry(model.rows[name], at, model.number(text))

    def _pairs(self, words: list[bytes]):
        words = words[len(words) % 2 :]  # the name of the set may be left out
        return zip(words[::2], words[1::2])

    def _side(self, words: list[bytes]) -> None:
        for name, text in self._pairs(words):
            if name == self.objective:
                self.model.offset = -self.model.sign * exact(text)
            elif name not in self.free:
                self.sides[self.model.rows[name]] = exact(text)

    def _range(self, words: list[bytes]) -> None:
        for name, text in self._pairs(words):
            self.ranges[self.model.rows[name]] = exact(text)

    def _bound(self, words: list[bytes]) -> None:
        kind, model = words[0], self.model
        has_number = kind in (b"UP", b"LO", b"FX", b"UI", b"LI")
        if len(words) not in ((3, 4) if has_number else (2, 3, 4)):
            raise ModelError(f"expected a bound, got {b' '.join(words)[:60]!r}")
        name = words[-2] if has_number else words[1] if len(words) == 2 else words[2]
        at = model.columns[name]
        if not has_number:
            if kind not in (b"FR", b"MI", b"PL", b"BV"):
                raise ModelError(f"expected a bound of a known kind, got {kind[:20]!r}")
            if kind in (b"FR", b"MI"):
                model.lower[at] = None
            if kind in (b"FR", b"PL"):
                model.upper[at] = None
            if kind == b"BV":
                model.lower[at], model.upper[at] = Fraction(0), Fraction(1)
                model.whole.add(at)
            return
        value = _endless(exact(words[-1]))
        if kind in (b"UI", b"LI"):
            model.whole.add(at)
        if kind in (b"LO", b"LI", b"FX"):
            model.lower[at] = value
        if kind in (b"UP", b"UI", b"FX"):
            if value is not None and value < 0 and at not in model.lower:
                raise ModelError(
                    "expected a lower bound before a negative upper one, got none, which readers take differently"
                )
            model.upper[at] = value

    _cards = {
        b"NAME": lambda self, words: None,
        b"OBJSENSE": lambda self, words: self._sense(words[0]),
        b"ROWS": _row,
        b"USERCUTS": _row,
        b"LAZYCONS": _row,
        b"COLUMNS": _column,
        b"RHS": _side,
        b"RANGES": _range,
        b"BOUNDS": _bound,
    }


class _Lp:
    """Words of LP, section by section."""

    def __init__(self, data: bytes):
        self.model = Written()
        lines = [line.partition(b"\\")[0] for line in data.splitlines()]
        sections, section = [], None
        for line in lines:
            head = b" ".join(line.split()).lower()
            if head.split(b" ")[0] in (b"minimize", b"minimise", b"min", b"maximize", b"maximise", b"max"):
                self.model.sign = -1 if head.startswith(b"max") else 1
                section = ("objective", [b" ".join(line.split()[1:])])
                sections.append(section)
            elif head in SECTIONS:
                section = (SECTIONS[head], [])
                sections.append(section)
            elif head:
                if section is None:
                    raise ModelError(f"expected Minimize or Maximize in the model file, got {head[:40]!r}")
                section[1].append(line)
        if not sections or sections[-1][0] != "end" or sections[0][0] != "objective":
            raise ModelError("expected a model file from Minimize to End, got a part of one")
        for kind, part in sections[:-1]:
            getattr(self, f"_{kind}")(part)

    def _objective(self, lines: list[bytes]) -> None:
        tokens = TOKEN.findall(b"\n".join(lines))
        if len(tokens) > 1 and tokens[1] == b":":
            tokens = tokens[2:]
        entries, rest, at = self._sum(tokens, 0)
        if at != len(tokens):
            raise ModelError(f"expected a sum as the objective, got {tokens[at][:40]!r} in it")
        for column, number in entries:
            value = self.model.sign * self.model.numbers[number]
            self.model.cost[column] = self.model.cost.get(column, Fraction(0)) + value
        self.model.offset = self.model.sign * rest

    def _rows(self, lines: list[bytes]) -> None:
        model, tokens, at = self.model, TOKEN.findall(b"\n".join(lines)), 0
        while at < len(tokens):
            row = len(model.sides)
            named = tokens[at + 1 : at + 2] == [b":"]
            name = tokens[at] if named else b"R%d" % (row + 1)
            at += 2 * named
            if name in model.rows:
                raise ModelError(f"expected a row of a new name, got {name[:40]!r} again")
            model.rows[name] = row
            entries, before, at = self._sum(tokens, at)
            sense, at = SENSES[tokens[at]], at + 1
            if not entries:
                raise ModelError("expected a sum on the left of a row, got a number, which few readers take")
            side, at = self._side(tokens, at)
            model.sides.append(_both(sense, side - before))
            for column, number in entries:
                model.entry(row, column, number)

    def _side(self, tokens: list[bytes], at: int) -> tuple[Fraction, int]:
        sign = 1
        while tokens[at] in (b"+", b"-"):
            sign, at = (-sign if tokens[at] == b"-" else sign), at + 1
        if tokens[at].lower() in ENDLESS_WORDS:
            return sign * ENDLESS, at + 1
        return sign * exact(tokens[at]), at + 1

    def _sum(self, tokens: list[bytes], at: int) -> tuple[list[tuple[int, int]], Fraction, int]:
        """Return (entries as (column, number), the constant without a column, the position of the end)."""
        entries, rest, model = [], Fraction(0), self.model
        size = len(tokens)
        while at < size and tokens[at] not in SENSES:
            sign, began = b"", at
            while at < size and tokens[at] in (b"+", b"-"):
                sign, at = (b"" if sign else b"-") if tokens[at] == b"-" else sign, at + 1
            if at == size or (at == began and entries):
                raise ModelError("expected a sign before each term of a sum, got none")
            token = tokens[at]
            if token[:1].isdigit() or token[:1] == b".":
                at += 1
                follows = at < size and tokens[at] not in SENSES and tokens[at] not in (b"+", b"-", b":")
                if not follows or tokens[at + 1 : at + 2] == [b":"]:
                    rest += exact(sign + token)
                    continue
                number = model.number(sign + token)
            else:
                number = model.number(sign + b"1")
            if any(letter in tokens[at] for letter in b"[]*^") or tokens[at] == b":":
                raise ModelError(f"expected a linear sum, got {tokens[at][:40]!r} in it")
            entries.append((model.place(tokens[at]), number))
            at += 1
        return entries, rest, at

    def _bounds(self, lines: list[bytes]) -> None:
        model = self.model
        for line in lines:
            tokens = TOKEN.findall(line)
            if len(tokens) == 2 and tokens[1].lower() == b"free":
                at = model.columns[tokens[0]]
                model.lower[at] = model.upper[at] = None
                continue
            place = next(at for at, token in enumerate(tokens) if self._is_name(token))
            at = model.columns[tokens[place]]
            if place:
                low, end = self._side(tokens, 0)
                self._set(at, {"L": "G", "G": "L", "E": "E"}[SENSES[tokens[end]]], low)
            if place + 1 < len(tokens):
                high, end = self._side(tokens, place + 2)
                self._set(at, SENSES[tokens[place + 1]], high)
                if end != len(tokens):
                    raise ModelError(f"expected a bound of one column a line, got {line[:60]!r}")

    @staticmethod
    def _is_name(token: bytes) -> bool:
        return not (token in SENSES or token in (b"+", b"-") or NUMBER.fullmatch(token)) and (
            token.lower() not in ENDLESS_WORDS
        )

    def _set(self, column: int, sense: str, value: Fraction) -> None:
        if sense in "GE":
            self.model.lower[column] = _endless(value)
        if sense in "LE":
            self.model.upper[column] = _endless(value)

    def _whole(self, lines: list[bytes]) -> None:
        self.model.whole.update(self.model.columns[name] for line in lines for name in line.split())

    def _binary(self, lines: list[bytes]) -> None:
        for name in (name for line in lines for name in line.split()):
            at = self.model.columns[name]
            self.model.whole.add(at)
            self.model.lower[at], self.model.upper[at] = Fraction(0), Fraction(1)

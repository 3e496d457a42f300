"""Reader of MPS files: the cards of each section as arrays of words, then the model.

The format is described in the manuals of HiGHS, CPLEX and Gurobi ("MPS file format"). Constructs that solvers silently
read in different ways (docs/reference/file-formats.md) are refused with a message.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from odtc.errors import ModelError
from odtc.fileformats.model_files import LARGEST
from odtc.fileformats.mps_sections import CUTS, Field, cards, interleaved, section_word, sections, sense, title
from odtc.fileformats.text_buffer import Entries, Names, Text, model_of
from odtc.model.blocks import NamedBlock
from odtc.model.milp import Model

DROPPED, COST = -2, -1  # rows that are not constraints of the model
SET_LOWER, SET_UPPER = ("LO", "LI", "FX", "FR", "MI", "BV"), ("UP", "UI", "FX", "FR", "PL", "BV")
NUMBERLESS = ("FR", "MI", "PL", "BV")
KINDS = tuple(dict.fromkeys(SET_LOWER + SET_UPPER))


def read(data: bytes, name: str, fixed: bool = False) -> Model:
    """Return the model in these bytes, its fields between blanks or, if `fixed`, in the classic columns.

    `name` is the file's, for errors and for a model without a name. Raises ModelError.
    """
    return _Reader(Text(data, name), fixed).model()


class _Reader:
    def __init__(self, text: Text, fixed: bool) -> None:
        self.text, self.fixed = text, fixed
        self.sections = sections(text)

    def model(self) -> Model:
        kinds, blocks = self._rows()
        columns, whole, entries = self._columns()
        cost, matrix = self._matrix(len(columns), *entries)
        offset, lower, upper = self._sides(kinds)
        low, up, whole = self._bounds(columns, whole)
        sign = sense(self.text, self.sections)
        sides, bounds = (lower, upper), (low, up, whole)
        return model_of(title(self.text, self.sections), sign, (cost, offset), sides, bounds, columns, blocks, matrix)

    # N|L|G|E name. The first N row (or that of OBJNAME) is the objective, the others are dropped.
    def _rows(self) -> tuple[np.ndarray, tuple[NamedBlock, ...]]:
        """(kind of each row of the model as bytes, blocks of rows: plain ones without a name, "usercuts",
        "lazycons")."""
        self.rows, kinds, labels = Names(self.text), [], []
        for section in self.sections:
            if section != "ROWS" and section not in CUTS:
                continue
            for kind, name, *_ in self._cards(section):
                places = self.rows.add(*name)
                if (known := places != len(kinds) + np.arange(len(places))).any():
                    at = int(known.argmax())
                    raise self._error(name[0][at], name[1][at], "expected a row name that is new")
                letters = self.text.codes[kind[0]] & 0xDF
                bad = (kind[1] != 1) | ~np.isin(
                    letters, np.frombuffer(b"NLGE" if section == "ROWS" else b"LGE", np.uint8)
                )
                if bad.any():
                    at = int(bad.argmax())
                    raise self._error(
                        kind[0][at], kind[1][at], f"expected a kind of row ({'N, ' * (section == 'ROWS')}L, G or E)"
                    )
                kinds += letters.tolist()
                labels += [CUTS.get(section, "")] * len(letters)
        kinds, labels = np.array(kinds, np.uint8), np.array(labels, "U8")
        free, of_model = np.flatnonzero(kinds == ord("N")), kinds != ord("N")
        self.place = np.full(len(kinds), DROPPED, np.int32)
        self.place[of_model] = np.arange(of_model.sum(), dtype=np.int32)
        if (wanted := section_word(self.text, self.sections, "OBJNAME")) is not None:
            free = [at for at in free if self.text.word(self.rows.starts[at], self.rows.lengths[at]) == wanted[0]]
            if not len(free):
                raise self.text.error(wanted[1], "expected the name of an N row in the section OBJNAME", wanted[0])
        self.place[free[:1]] = COST
        names = self.text.words(self.rows.starts[of_model], self.rows.lengths[of_model])
        blocks, start, of_rows = [], 0, labels[of_model]
        for label in dict.fromkeys(of_rows.tolist()):
            stop = start + int((of_rows == label).sum())
            if not (of_rows[start:stop] == label).all():
                raise ModelError(f"{self.text.name}: expected the rows of one kind of cuts in one section")
            blocks.append(NamedBlock(names[start:stop], start, label))
            start = stop
        return kinds[of_model], tuple(blocks)

    # column row number [row number], with cards   x 'MARKER' 'INTORG' … x 'MARKER' 'INTEND'   between.
    def _columns(self) -> tuple[Names, np.ndarray, Entries]:
        """(names, integrality) of the columns, and their entries: (columns, rows, values, places)."""
        text, columns = self.text, Names(self.text)
        marks, states = self._take_markers()
        whole, entries, last = np.zeros(0, np.uint8), [], -1
        for _, (starts, lengths), row, number, row_2, number_2 in self._cards("COLUMNS"):
            flags = states[np.searchsorted(marks, starts)]
            places = columns.add(starts, lengths)
            steps = np.diff(places, prepend=last)
            whole, last = np.concatenate([whole, flags[steps > 0]]), places[-1]
            if (split := (steps < 0) | (whole[places] != flags)).any():
                at = int(split.argmax())
                raise self._error(starts[at], lengths[at], "expected all entries of a column together, once")
            twice = np.ones(len(starts), np.int64) if row_2 is None else 1 + (row_2[1] > 0)
            row, number = interleaved(twice, row, row_2), interleaved(twice, number, number_2)
            entries.append(
                (np.repeat(places, twice).astype(np.int32), self._find_rows(row), text.numbers(*number), row[0])
            )
        if not entries:
            none = np.zeros(0, np.int64)
            return columns, whole, (none, none, np.zeros(0), none)
        return columns, whole, tuple(map(np.concatenate, zip(*entries)))

    def _take_markers(self) -> tuple[np.ndarray, np.ndarray]:
        """(places of the marker cards, whether the columns before, between and behind them are whole);
        the cards become blanks, so that all that is left is entries. A missing INTEND is none."""
        text, marks, states = self.text, [], [0]
        at, end, _ = self.sections["COLUMNS"]
        while (at := text.bytes.find(b"'MARKER'", at, end)) >= 0:
            begin, stop = text.bytes.rfind(b"\n", 0, at) + 1, text.bytes.find(b"\n", at)
            words = bytes(text.bytes[begin:stop]).split()
            if (
                len(words) == 3
                and words[1] == b"'MARKER'"
                and words[2] in (b"'INTORG'", b"'INTEND'")
                and words[0][:1] != b"*"
            ):
                marks.append(begin)
                states.append(int(words[2] == b"'INTORG'"))
                text.codes[begin:stop] = 32
            at = stop
        return np.array(marks, np.int64), np.array(states, np.uint8)

    def _matrix(
        self, n_cols: int, columns: np.ndarray, rows: np.ndarray, values: np.ndarray, places: np.ndarray
    ) -> tuple[np.ndarray, Any]:
        """(cost of each column, csc_array). Raises ModelError for an entry that comes twice."""
        import scipy.sparse as sp

        def once(columns: np.ndarray, rows: np.ndarray, places: np.ndarray) -> None:
            if (again := (np.diff(columns) == 0) & (np.diff(rows) == 0)).any():
                at = places[again.argmax() + 1]
                raise self.text.error(at, "expected each row once in a column", self.text.word_at(at))

        costly = rows == COST
        once(columns[costly], rows[costly], places[costly])
        cost = np.zeros(n_cols)
        cost[columns[costly]] = values[costly]
        if (~(inner := rows >= 0)).any():
            columns, rows, values, places = columns[inner], rows[inner], values[inner], places[inner]
        if not ((np.diff(columns) > 0) | (np.diff(rows) > 0)).all():
            order = np.lexsort((rows, columns))
            columns, rows, values, places = columns[order], rows[order], values[order], places[order]
            once(columns, rows, places)
        if not values.all():  # a 0 only says that the column is there
            columns, rows, values = columns[values != 0], rows[values != 0], values[values != 0]
        indptr = np.concatenate([[0], np.cumsum(np.bincount(columns, minlength=n_cols))]).astype(np.int32)
        return cost, sp.csc_array((values, rows, indptr), shape=(int((self.place >= 0).sum()), n_cols))

    # set row number [row number]; minus the offset on the objective. RANGES: |number| is the width,
    # below the side of an L row, above that of a G row, on the number's side of an E row.
    def _sides(self, kinds: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """(offset, lower, upper) of the rows."""
        rows, rhs, places = self._vector("RHS")
        offset = -rhs[rows == COST].sum()
        side, at = np.zeros(len(kinds)), np.zeros(len(kinds), np.int64)
        side[rows[rows >= 0]], at[rows[rows >= 0]] = rhs[rows >= 0], places[rows >= 0]
        side = np.where(np.abs(side) >= LARGEST, np.copysign(np.inf, side), side)
        lower = np.where(kinds == ord("L"), -np.inf, side)
        upper = np.where(kinds == ord("G"), np.inf, side)
        if (bad := (lower == np.inf) | (upper == -np.inf)).any():
            raise self.text.error(
                at[bad.argmax()], f"expected a side of a row below {LARGEST:g}", repr(float(side[bad.argmax()]))
            )
        rows, width, places = self._vector("RANGES")
        if (rows == COST).any():
            raise self.text.error(places[(rows == COST).argmax()], "expected no range on the objective row")
        width, places, rows = width[rows >= 0], places[rows >= 0], rows[rows >= 0]
        if (bad := np.isinf(side[rows])).any():
            raise self.text.error(places[bad.argmax()], "expected a range only on a row with a finite side")
        size = np.where(np.abs(width) >= LARGEST, np.inf, np.abs(width))
        below = (kinds[rows] == ord("L")) | (kinds[rows] == ord("E")) & (width < 0)
        lower[rows[below]] = upper[rows[below]] - size[below]
        upper[rows[~below]] = lower[rows[~below]] + size[~below]
        return float(offset), lower, upper

    def _vector(self, section: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(rows, values, places) of RHS or RANGES: one set, each row once."""
        text, found, sets = self.text, [], Names(self.text)
        for _, label, row, number, row_2, number_2 in self._cards(section):
            label = label or (row[0], np.zeros(len(row[0]), np.int64))
            if (other := sets.add(*label) > 0).any():
                raise self._error(label[0][other.argmax()], label[1][other.argmax()], f"expected one set in {section}")
            twice = np.ones(len(row[0]), np.int64) if row_2 is None else 1 + (row_2[1] > 0)
            row, number = interleaved(twice, row, row_2), interleaved(twice, number, number_2)
            found.append((self._find_rows(row, unmapped=True), text.numbers(*number), row[0]))
        if not found:
            return np.zeros(0, np.int32), np.zeros(0), np.zeros(0, np.int64)
        rows, values, places = map(np.concatenate, zip(*found))
        order = np.argsort(rows, kind="stable")
        if (again := np.diff(rows[order]) == 0).any():
            at = places[order[again.argmax() + 1]]
            raise text.error(at, f"expected each row once in {section}", text.word_at(at))
        return self.place[rows], values, places

    # kind set column [number], over the defaults 0 and infinity, or 0 and 1 for a whole column with
    # no card at all. UP below 0 without a lower bound is read in two ways, so it is refused.
    def _bounds(self, columns: Names, whole: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(lower, upper, integrality) of the columns."""
        text, n = self.text, len(columns)
        lower, upper, whole = np.zeros(n), np.full(n, np.inf), whole.copy()
        said, has = np.zeros(n, bool), {side: np.zeros(n, np.int8) for side in ("lower", "upper")}
        negative = []
        for kind, label, column, number, _, _ in self._cards("BOUNDS"):
            words = np.array([word.upper() for word in text.texts(*kind)])
            codes = [words == word.encode() for word in KINDS]
            if (bad := ~np.any(codes, axis=0)).any():
                at = int(bad.argmax())
                raise self._error(kind[0][at], kind[1][at], f"expected a kind of bound ({', '.join(KINDS)})")
            of = dict(zip(KINDS, codes))
            bare = np.any([of[word] for word in NUMBERLESS], axis=0)
            number = number or (column[0], np.zeros(len(bare), np.int64))
            label = label or (column[0], np.zeros(len(bare), np.int64))
            if not self.fixed:  # three words: the last is the column of a bound without number
                moved = bare & (label[1] == 0) & (number[1] > 0)
                column = tuple(np.where(moved, one, two) for one, two in zip(number, column))
            places = columns.find(*column)
            if (bad := places < 0).any():
                at = int(bad.argmax())
                raise self._error(column[0][at], column[1][at], "expected a column of the section COLUMNS")
            if (bad := ~bare & (number[1] == 0)).any():
                raise text.error(kind[0][bad.argmax()], "expected a number on this card of BOUNDS")
            value = np.zeros(len(bare))
            value[~bare] = text.numbers(number[0][~bare], number[1][~bare], infinite=True)
            value = np.where(np.abs(value) >= LARGEST, np.copysign(np.inf, value), value)
            said[places] = True
            for side, words, bound, default in (
                ("lower", SET_LOWER, lower, {"BV": 0.0, "FR": -np.inf, "MI": -np.inf}),
                ("upper", SET_UPPER, upper, {"BV": 1.0, "FR": np.inf, "PL": np.inf}),
            ):
                for word in words:
                    bound[places[of[word]]] = default.get(word, value[of[word]])
                    np.add.at(has[side], places[of[word]], 1)
                    wrong = of[word] & (value == (np.inf if side == "lower" else -np.inf))
                    if (has[side][places] > 1).any() or wrong.any():
                        at = int(np.flatnonzero(wrong if wrong.any() else has[side][places] > 1)[-1])
                        expected = f"expected a finite {side} bound" if wrong.any() else f"expected one {side} bound"
                        raise self._error(column[0][at], column[1][at], f"{expected} of a column")
            whole[places[of["BV"] | of["LI"] | of["UI"]]] = 1
            below = (of["UP"] | of["UI"]) & (value < 0)
            negative.append((places[below], column[0][below], column[1][below]))
        for places, starts, lengths in negative:
            if (bad := has["lower"][places] == 0).any():
                at = int(bad.argmax())
                raise self._error(
                    starts[at], lengths[at], "expected a lower bound (LO or MI) with a negative upper bound"
                )
        upper[(whole == 1) & ~said] = 1.0
        return lower, upper, whole

    def _cards(self, section: str) -> Iterator[tuple[Any, ...]]:
        begin, end, _ = self.sections.get(section, (0, 0, None))
        return cards(self.text, section, begin, end, self.fixed)

    def _find_rows(self, row: Field, unmapped: bool = False) -> np.ndarray:
        found = self.rows.find(*row)
        if (bad := found < 0).any():
            at = int(bad.argmax())
            raise self._error(row[0][at], row[1][at], "expected a row of the section ROWS")
        return found if unmapped else self.place[found]

    def _error(self, start: int, length: int, expected: str) -> ModelError:
        return self.text.error(start, expected, self.text.word(start, int(length)))

"""Reader of CPLEX LP files: constraints, bounds and types of variables from arrays of words.

The format is described in the manuals of CPLEX, Gurobi and HiGHS ("LP file format"), which agree on everything that is
read here. Constructs that solvers silently read in different ways (docs/reference/file-formats.md) are refused.
"""

from typing import Any

import numpy as np

from odtc.errors import ModelError
from odtc.fileformats.lp_tokens import (
    COLON,
    EQUAL,
    LESS,
    MORE,
    NAME,
    NUMBER,
    RELATION,
    SIGN,
    Tokens,
    bound_lines,
    error,
    finite,
    mask,
    refuse,
    sections,
    title,
    tokens,
)
from odtc.fileformats.model_files import LARGEST
from odtc.fileformats.text_buffer import CHUNK, Entries, Names, Text, model_of
from odtc.model.blocks import NamedBlock
from odtc.model.milp import Model


def read(data: bytes, name: str) -> Model:
    """Return the model in these bytes; `name` is the file's, for errors and as the model's. Raises ModelError."""
    return _Reader(Text(data, name)).model()


class _Reader:
    def __init__(self, text: Text) -> None:
        self.title = title(text)
        self.text, self.columns = text, Names(text)
        self.sections = sections(text)

    def model(self) -> Model:
        sense, begin, end = self.sections[0]
        cost_of, cost, offset = self._objective(begin, end)
        blocks, lower, upper, entries = self._rows()
        matrix = self._matrix(len(lower), *entries)
        low, up, whole = self._bounds()
        c = np.zeros(len(self.columns))
        c[cost_of] = cost
        sign = 1.0 if sense == "minimize" else -1.0
        sides, bounds = (lower, upper), (low, up, whole)
        return model_of(self.title, sign, (c, offset), sides, bounds, self.columns, blocks, matrix)

    # [name:] [constant] {sign} [number] column … [constant]
    def _objective(self, begin: int, end: int) -> tuple[np.ndarray, np.ndarray, float]:
        """(columns, costs, offset)."""
        found = tokens(self.text, begin, end)
        if len(found) > 1 and found.kinds[0] == NAME and found.kinds[1] == COLON:
            found = found.cut(slice(2, None))
        kinds = np.concatenate([found.kinds, [0]])
        self._refuse(
            found,
            (found.kinds == RELATION) | (found.kinds == COLON),
            "expected a section Subject To before the first row",
        )
        constant = (found.kinds == NUMBER) & (kinds[1:] != NAME)
        expressions = np.zeros(len(found), bool)
        expressions[:1] = True
        at, columns, values = self._terms(found, expressions, constant)
        signs, heads = self._signs(found, np.flatnonzero(constant))
        self._refuse(
            found,
            constant & ~mask(len(found), np.flatnonzero(constant)[heads | expressions[constant]]),
            "expected + or - before a constant",
        )
        self._once(columns, np.zeros(len(columns), np.int64), found.starts[at])
        self._refuse(
            found,
            constant & ~(np.abs(found.values) < LARGEST),
            f"expected a constant below {LARGEST:g} in the objective",
        )
        return columns, values, float((signs * found.values[constant]).sum())

    # [name:] [number relation] {sign} [number] column … relation number
    def _rows(self) -> tuple[tuple[NamedBlock, ...], np.ndarray, np.ndarray, Entries]:
        """(blocks, lower, upper, (rows, columns, values, places))."""
        blocks, sides, entries, count, labels = [], [], [], 0, Names(self.text)
        for kind, begin, end in self.sections:
            if kind not in ("rows", "usercuts", "lazycons"):
                continue
            named, at, size = [], begin, CHUNK
            while at < end:
                stop = min(at + size, end)
                stop = end if stop == end else min(self.text.bytes.find(b"\n", stop) + 1, end)
                found, closers = self._whole_rows(tokens(self.text, at, stop), stop == end)
                if not len(closers):
                    at, size = (end, size) if stop == end else (at, 2 * size)
                    continue
                at = int(found.starts[-1] + found.lengths[-1])
                label, low, up, row, column, value, place = self._read_rows(found, closers)
                sides.append((low, up))
                entries.append((row + count, column, value, place))
                count += len(closers)
                known = len(labels)
                given = label[1] > 0
                places = labels.add(label[0][given], label[1][given])
                if (again := places != known + np.arange(len(places))).any():
                    start, length = label[0][given][again.argmax()], label[1][given][again.argmax()]
                    raise self.text.error(start, "expected a row name that is new", self.text.word(start, int(length)))
                named += [(int(s), int(n)) for s, n in zip(*label)]
            if named:
                blocks.append(("" if kind == "rows" else kind, named))
        if not sides:
            none = np.zeros(0, np.int64)
            return (), np.zeros(0), np.zeros(0), (none, none, np.zeros(0), none)
        return (
            self._blocks(blocks, labels),
            *map(np.concatenate, zip(*sides)),
            tuple(map(np.concatenate, zip(*entries))),
        )

    def _blocks(self, blocks: list[tuple[str, list[tuple[int, int]]]], labels: Names) -> tuple[NamedBlock, ...]:
        taken = set(self.text.words(labels.starts, labels.lengths))
        finished, start = [], 0
        for name, named in blocks:
            table = []
            for place, (at, length) in enumerate(named, start):
                label = self.text.word(at, length)
                while not length and (label in taken or not label):  # a row without a name gets one
                    label = f"R{place}" if not label else label + "_"
                table.append(label)
            finished.append(NamedBlock(tuple(table), start, name))
            start += len(named)
        return tuple(finished)

    def _whole_rows(self, found: Tokens, last: bool) -> tuple[Tokens, np.ndarray]:
        """(the words up to the last whole row's end, the place of each row's last word)."""
        kinds = np.concatenate([found.kinds, [0, 0]])
        # The relation before a constraint's side follows a variable, that of a range's left side follows a number.
        right = np.flatnonzero((found.kinds == RELATION) & (np.concatenate([[0], found.kinds[:-1]]) == NAME))
        closers = right + 1 + (kinds[right + 1] == SIGN)
        missing = kinds[closers] != NUMBER
        inside = closers < len(found)
        if (missing & (inside | last)).any():
            at = right[(missing & (inside | last)).argmax()]
            raise self._error(found, min(at + 1, len(found) - 1), "expected a number on the right side of a row")
        closers = closers[~missing]
        end = int(closers[-1]) + 1 if len(closers) else 0
        if last and end < len(found):
            raise self._error(
                found,
                end,
                "expected a row, with its relation and a number behind its last column "
                "(no column or sum on the right side)",
            )
        return found.cut(slice(0, end)), closers

    def _read_rows(self, found: Tokens, closers: np.ndarray) -> tuple[Any, ...]:
        kinds, n = found.kinds, len(found)
        heads = np.concatenate([[0], closers[:-1] + 1])
        labelled = (kinds[heads] == NAME) & (kinds[np.minimum(heads + 1, n - 1)] == COLON)
        body = heads + 2 * labelled
        # Without a name, only a new line tells a row from a sum on the right side of the one before.
        for at in heads[1:][~labelled[1:]].tolist():
            gap = self.text.bytes[found.starts[at - 1] + found.lengths[at - 1] : found.starts[at]]
            if b"\n" not in gap:
                raise self._error(found, at, "expected one number on the right side of a row")
        before = np.concatenate([[0], kinds[:-1]])
        self._refuse(
            found,
            (kinds == RELATION) & (before != NAME) & (before != NUMBER),
            "expected a column or a number before the relation",
        )
        row = np.zeros(n, np.int32)
        row[heads[1:]] = 1
        row = np.cumsum(row, dtype=np.int32)
        left = np.flatnonzero((kinds == RELATION) & (before == NUMBER))
        signed = kinds[np.maximum(left - 2, 0)] == SIGN
        begun = left - 1 - signed
        bad = begun != body[row[left]]
        if bad.any():
            raise self._error(found, left[bad.argmax()] - 1, "expected no constant next to the columns of a row")
        self._refuse(
            found,
            (kinds == COLON) & ~mask(n, heads[labelled] + 1),
            "expected the end of the row before the next one's name",
        )
        expressions = mask(n, body)
        expressions[begun] = False
        expressions[np.minimum(left + 1, n - 1)] = True
        closing = mask(n, closers)
        at, columns, values = self._terms(found, expressions, mask(n, left - 1) | closing, ~mask(n, heads[labelled]))
        # Sides: the right one of each row, then the left one of a range.
        side = found.values[closers] * np.where(kinds[closers - 1] == SIGN, found.values[closers - 1], 1.0)
        way = found.values[closers - 1 - (kinds[closers - 1] == SIGN)]
        side, way = finite(side), way.astype(int)
        lower, upper = np.where(way == LESS, -np.inf, side), np.where(way == MORE, np.inf, side)
        if len(left):
            of, other = row[left], found.values[left]
            bad = (other != way[of]) | (other == EQUAL)
            if bad.any():
                raise self._error(found, left[bad.argmax()], "expected the two relations of a range alike, <= or >=")
            bound = finite(found.values[left - 1] * np.where(signed, found.values[np.maximum(left - 2, 0)], 1.0))
            lower[of[other == LESS]] = bound[other == LESS]
            upper[of[other == MORE]] = bound[other == MORE]
        if (bad := (lower == np.inf) | (upper == -np.inf)).any():
            raise self._error(found, closers[bad.argmax()], f"expected a side of a row below {LARGEST:g}")
        label = np.where(labelled, found.starts[heads], 0), np.where(labelled, found.lengths[heads], 0)
        return label, lower, upper, row[at], columns, values, found.starts[at]

    def _terms(
        self, found: Tokens, expressions: np.ndarray, numbers: np.ndarray, names: np.ndarray | bool = True
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return (positions of the names of variables, variables, coefficients).

        `expressions` marks the first words of sums, `numbers` the numbers that are not coefficients, `names` the names
        of variables.
        """
        kinds = np.concatenate([found.kinds, [0]])
        at = np.flatnonzero((found.kinds == NAME) & names)
        coefficient = (found.kinds == NUMBER) & ~numbers
        self._refuse(found, coefficient & (kinds[1:] != NAME), "expected a column behind its coefficient")
        self._refuse(
            found,
            (found.kinds == SIGN) & ((kinds[1:] == 0) | (kinds[1:] == RELATION) | (kinds[1:] == COLON)),
            "expected a number or a column behind + or -",
        )
        has = coefficient[np.maximum(at - 1, 0)] & (at > 0)
        values = np.where(has, found.values[np.maximum(at - 1, 0)], 1.0)
        signs, headed = self._signs(found, at - has)
        bad = ~headed & ~expressions[at - has]
        if bad.any():
            raise self._error(found, at[bad.argmax()], "expected + or - between two columns")
        if not np.isfinite(values).all():
            raise self._error(found, at[np.isfinite(values).argmin()], "expected a finite coefficient of the column")
        return at, self.columns.add(found.starts[at], found.lengths[at]), signs * values

    def _signs(self, found: Tokens, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(product of the one or two signs before each word, whether there is one)."""
        kinds, values = (np.concatenate([[0, 0, 0], part]) for part in (found.kinds, found.values))
        one = kinds[at + 2] == SIGN
        two = one & (kinds[at + 1] == SIGN)
        if (three := two & (kinds[at] == SIGN)).any():
            raise self._error(found, at[three.argmax()], "expected at most two signs before a term")
        return np.where(one, values[at + 2], 1.0) * np.where(two, values[at + 1], 1.0), one

    def _matrix(
        self, n_rows: int, rows: np.ndarray, columns: np.ndarray, values: np.ndarray, places: np.ndarray
    ) -> Any:
        """csc_array; the entries come row by row."""
        import scipy.sparse as sp

        indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n_rows))]).astype(np.int32)
        matrix = sp.csr_array((values, columns.astype(np.int32), indptr), shape=(n_rows, len(self.columns))).tocsc()
        # The columns' rows are in order now, so that an entry given twice has a neighbour like itself.
        again = np.flatnonzero(np.diff(matrix.indices) == 0)
        column = np.searchsorted(matrix.indptr, again, "right") - 1
        if (column == np.searchsorted(matrix.indptr, again + 1, "right") - 1).any():
            self._once(columns, rows, places)
        matrix.eliminate_zeros()  # 0 x only says that the column is there
        return matrix

    def _once(self, columns: np.ndarray, rows: np.ndarray, places: np.ndarray) -> None:
        order = np.lexsort((rows, columns))
        if (again := (np.diff(columns[order]) == 0) & (np.diff(rows[order]) == 0)).any():
            at, place = places[order[again.argmax() + 1]], columns[order[again.argmax() + 1]]
            raise self.text.error(
                at, "expected each column once in a row", self.text.word(at, int(self.columns.lengths[place]))
            )

    # Bounds as in `bound_lines`; Generals, Binaries:   column …
    def _bounds(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(lower, upper, integrality) of the columns; defaults 0 and infinity, and 1 for a binary one."""
        n = len(self.columns)
        bounds = {"lower": np.zeros(n), "upper": np.full(n, np.inf)}
        said, whole = {side: np.zeros(n, bool) for side in bounds}, np.zeros(n, np.uint8)
        binary = np.zeros(n, bool)
        for kind, begin, end in self.sections:
            if kind == "bounds":
                for side, at, found, values in bound_lines(self.text, begin, end):
                    columns = self._find(found, at)
                    wrong = values == (np.inf if side == "lower" else -np.inf)
                    order = np.sort(columns)
                    twice = said[side][columns] | np.isin(columns, order[1:][np.diff(order) == 0])
                    if (wrong | twice).any():
                        place = int(np.flatnonzero(wrong | twice)[-1])
                        expected = (
                            f"expected a finite {side} bound of the column"
                            if wrong[place]
                            else f"expected one {side} bound of the column"
                        )
                        raise self._error(found, at[place], expected)
                    bounds[side][columns], said[side][columns] = values, True
            elif kind in ("generals", "binaries"):
                found = tokens(self.text, begin, end)
                self._refuse(found, found.kinds != NAME, f"expected only names of columns in {kind.capitalize()}")
                columns = self._find(found, np.arange(len(found)))
                whole[columns] = 1
                binary[columns] |= kind == "binaries"
        lower, upper = bounds["lower"], bounds["upper"]
        upper[binary & ~said["upper"]] = 1.0
        if (bad := binary & ((lower < 0) | (upper > 1))).any():
            at = self.columns.starts[bad.argmax()], int(self.columns.lengths[bad.argmax()])
            raise self.text.error(at[0], "expected bounds within 0 and 1 of the binary column", self.text.word(*at))
        return lower, upper, whole

    def _find(self, found: Tokens, at: np.ndarray) -> np.ndarray:
        columns = self.columns.find(found.starts[at], found.lengths[at])
        if (columns < 0).any():
            raise self._error(found, at[(columns < 0).argmax()], "expected a column of the objective or of a row")
        return columns

    def _refuse(self, found: Tokens, bad: np.ndarray, expected: str) -> None:
        refuse(self.text, found, bad, expected)

    def _error(self, found: Tokens, at: int, expected: str) -> ModelError:
        return error(self.text, found, at, expected)

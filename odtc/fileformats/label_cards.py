"""The cards of labels that repeat a pattern: laid out for the first label, and copied for the others with their names.

The columns of a row of the data and all leaves have as many entries for each row of the data, with the same numbers:
from one to the next only names change (odtc.model.entries).
"""

from collections.abc import Callable

import numpy as np

from odtc.base.byte_stream import ByteStream
from odtc.fileformats.model_files import SHEET, gather, lines, number_table
from odtc.model.entries import MovedEntries, Pattern

NAMED = 1 << 13  # columns that are named at once
BEFORE, BEHIND = "    ", "  "


class LabelCards:
    """Cards of one pattern, as rows of a table of bytes.

    Parameters
    ----------
    pattern : Pattern, of columns
    cost : float64 (lines,), of the columns of each label
    rows, width : names of all rows, each of `width` bytes, padded with blanks
    goal : the name of the objective, as wide as the names in `rows`
    """

    def __init__(self, pattern: Pattern, cost: np.ndarray, rows: np.ndarray, width: int, goal: np.ndarray) -> None:
        self._rows, self._width, self._goal = rows, width, goal
        counts = np.diff(pattern.starts)
        costly = (cost != 0) | (counts == 0)
        cards = counts + costly
        self._column = np.repeat(np.arange(len(counts)), cards)
        is_cost = np.zeros(len(self._column), bool)
        is_cost[(np.cumsum(cards) - cards)[costly]] = True  # where a column's cards start: its cost comes first
        self._costs = np.flatnonzero(is_cost)
        self._base = np.zeros(len(is_cost), np.int64)
        self._base[~is_cost] = pattern.places
        values = np.empty(len(is_cost))
        values[~is_cost], values[is_cost] = pattern.numbers(), cost[costly]
        table, code = number_table(values)
        self._numbers = gather(table, code)
        self._moves, self._family = pattern.moves(), pattern.family_of(self._base)
        self._begin = pattern.run.begin
        self._template = self._sheet = np.empty((0, 0), np.uint8)

    @property
    def are_narrow(self) -> bool:
        """Return whether all numbers have at most two characters; otherwise all are as wide as the widest."""
        return self._numbers.shape[1] <= len("-1")

    def write(
        self, stream: ByteStream, part: MovedEntries, begin: int, column_names: Callable[[int, int], np.ndarray]
    ) -> None:
        """All columns of a part, whose first one is at place `begin` of the model."""
        inner, count = part.lines[1], len(self._column)
        first, last = part.labels
        at_once, named = max(1, SHEET // count), max(1, NAMED // inner)
        for low in range(first, last, named):
            high = min(low + named, last)
            names = column_names(begin + (low - first) * inner, begin + (high - first) * inner)
            if not self._template.size:
                self._lay_out(names[:inner], at_once)
            texts = names.view(f"V{names.shape[1]}").reshape(high - low, inner)
            for at in range(low, high, at_once):
                end = min(at + at_once, high)
                self._fill(at, end, texts[at - low : end - low])
                stream.write(self._sheet[: end - at])

    def _lay_out(self, names: np.ndarray, at_once: int) -> None:
        blank = np.full((1, self._width), ord(" "), np.uint8)
        self._template = lines(BEFORE, names[self._column], BEHIND, blank, BEHIND, self._numbers, "\n")
        self._sheet = np.empty((at_once, *self._template.shape), np.uint8)

    def _fill(self, begin: int, end: int, names: np.ndarray) -> None:
        """Replace the first cards of the sheet by the cards of the labels begin .. end - 1."""
        sheet, template = self._sheet[: end - begin], self._template
        sheet[:] = template
        strides, at = sheet.strides[:2], len(BEFORE)
        np.ndarray(sheet.shape[:2], names.dtype, sheet, at, strides)[:] = names.take(self._column, axis=1)
        at += names.dtype.itemsize + len(BEHIND)
        moves = self._moves[begin - self._begin : end - self._begin]
        places = self._base + (moves if moves.shape[1] == 1 else moves.take(self._family, axis=1))
        places[:, self._costs] = 0
        wide = self._rows.shape[1]
        items = self._rows.view(f"V{wide}").reshape(-1)
        texts = items.take(places) if len(items) else np.empty(places.shape, items.dtype)
        if len(self._costs):
            texts[:, self._costs] = self._goal.view(items.dtype)[0, 0]
        np.ndarray(sheet.shape[:2], items.dtype, sheet, at, strides)[:] = texts
        for place in range(at + self._width, at + wide):  # blanks behind a name have come over these
            if (template[:, place] != ord(" ")).any():
                sheet[:, :, place] = template[:, place]


def label_cards(
    part: MovedEntries, cost: np.ndarray, rows: np.ndarray, width: int, goal: np.ndarray
) -> LabelCards | None:
    """Return the cards of a part of a pattern whose columns have the costs `cost`; None if the part has few labels, or
    they are large, or differ in their costs."""
    labels, inner = part.labels[1] - part.labels[0], len(part.pattern.starts) - 1
    by_label = cost.reshape(labels, -1)
    if labels < 2 or part.lines != (0, inner) or len(part.pattern.places) + inner > SHEET or not inner:
        return None
    if (by_label != by_label[0]).any():
        return None
    made = LabelCards(part.pattern, by_label[0], rows, width, goal)
    return made if made.are_narrow else None

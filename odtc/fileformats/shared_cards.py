"""The cards of columns that share their rows: each card is made once, and every column takes its own of them.

In a formulation of trees the columns of a node and all splits have entries in the same rows, with the same number in
each: from test to test only the name of the column changes, and which of the rows are there; from node to node the
rows move (odtc.model.entries). So the cards of one node are laid out once, and for each column a digit or two
are changed in them, and its cards copied to the file.
"""

import numpy as np

from odtc.base.byte_stream import ByteStream
from odtc.fileformats.model_files import SHEET, gather, lines, number_table
from odtc.model.entries import MovedEntries, Pattern

AVERAGE = 256  # entries a column, below which the work on each column outweighs that on its cards
BEFORE, BEHIND = "    ", "  "


class SharedCards:
    """The cards of one pattern.

    Parameters
    ----------
    pattern : Pattern, of columns
    shared : what `Pattern.shared` gave
    numbers : table of uint8, the number of each of these pairs
    rows, width : names of all rows, each of `width` bytes, padded with blanks
    """

    def __init__(
        self,
        pattern: Pattern,
        shared: tuple[np.ndarray, np.ndarray, np.ndarray],
        numbers: np.ndarray,
        rows: np.ndarray,
        width: int,
    ) -> None:
        self.pattern, self.rows, self.width = pattern, rows, width
        self._places, _, self._of = shared
        self._numbers = numbers
        self._label = -1
        self._cards = self._sheet = np.empty((0, 0), np.uint8)

    def write(self, stream: ByteStream, part: MovedEntries, names: np.ndarray, first: int, last: int) -> None:
        """The columns first .. last - 1 of a part with these names."""
        low, high = part.lines
        for column in range(first, last):
            label, line = part.labels[0] + column // (high - low), low + column % (high - low)
            self._set(label, names[column])
            begin, end = self.pattern.starts[line : line + 2].tolist()
            for at in range(begin, end, len(self._sheet)):
                of = self._of[at : min(at + len(self._sheet), end)]
                np.take(self._items, of, out=self._out[: len(of)], mode="clip")
                stream.write(self._sheet[: len(of)])

    def _set(self, label: int, name: np.ndarray) -> None:
        """Change the cards for a variable of this label with this name."""
        if label == self._label:
            cells = self._cards[:, len(BEFORE) : len(BEFORE) + len(name)]
            for place in np.flatnonzero(cells[0] != name).tolist():
                cells[:, place] = name[place]
            return
        texts = gather(self.rows, self.pattern.moved(label, self._places))
        self._cards = lines(BEFORE, name[None], BEHIND, (texts, self.width), BEHIND, self._numbers, "\n")
        self._label, wide = label, self._cards.shape[1]
        self._items = self._cards.view(f"V{wide}").reshape(-1)
        if self._sheet.shape[1] != wide:
            self._sheet = np.empty((SHEET, wide), np.uint8)
            self._out = self._sheet.view(f"V{wide}").reshape(-1)


def shared_cards(pattern: Pattern, rows: np.ndarray, width: int) -> SharedCards | None:
    """Return the cards of a pattern; None if its columns do not share their rows, or are short, or its numbers have
    more than two characters: such numbers are as wide as the widest number that is written with them."""
    if len(pattern.places) < AVERAGE * (len(pattern.starts) - 1) or (pattern.starts[1:] == pattern.starts[:-1]).any():
        return None
    table, _ = number_table(pattern.values)
    shared = pattern.shared() if table.shape[1] <= len("-1") else None
    if shared is None:
        return None
    table, code = number_table(shared[1])
    return SharedCards(pattern, shared, gather(table, code), rows, width)

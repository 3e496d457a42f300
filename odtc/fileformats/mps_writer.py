"""MPS as tables of bytes: the sections in file order, for the free and the fixed form.

Cards are aligned as in the fixed form (fields from columns 2, 5, 15 and 25), wider if names
are longer, so that readers that guess the form guess right (docs/reference/file-formats.md).
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from odtc.base.byte_stream import ByteStream
from odtc.base.text import show_number
from odtc.fileformats.label_cards import label_cards
from odtc.fileformats.model_files import (
    SHEET,
    block_comment,
    copy_first,
    finite_sides,
    gather,
    head_comments,
    lines,
    number_table,
    repeated,
    row_sections,
    text_table,
)
from odtc.fileformats.shared_cards import SharedCards, shared_cards
from odtc.model import vectors
from odtc.model.blocks import Block, NamedBlock
from odtc.model.entries import MovedEntries, Pattern
from odtc.model.milp import CountedModel, Model

# At columns 5, 15 and 40, where GLPK and lp_solve insist on it in the fixed form.
MARKER = b"    MARKER    'MARKER'                 '%s'\n"

CARDS = 1 << 15  # made at once: about a megabyte, which stays in the cache until the system has taken it

FEW_RUNS = 8  # of one number each in a column that is made a run at a time

SECTIONS = {"rows": b"", "user": b"USERCUTS\n", "lazy": b"LAZYCONS\n"}


def write(
    model: Model,
    stream: ByteStream,
    row_names: tuple[np.ndarray, int],
    column_names: Callable[[int, int], np.ndarray],
    title: str,
    cuts: bool = False,
) -> None:
    """Write all sections. `row_names` is a table of all rows, and the width of a name, which blanks may follow;
    `column_names(begin, end)` returns tables."""
    sides = _sides(model)  # it raises before anything is written
    rows, width = row_names
    width = max(width, len("obj"))
    rows = _padded(rows, cell_width(width))
    del row_names
    stream.write(title.encode("ascii"))
    _write_rows(model, stream, rows, width, cuts)
    _write_columns(model, stream, rows, width, column_names)
    _write_sides(stream, rows, width, *sides)
    # BOUNDS: at least one card for every column.
    stream.write(b"BOUNDS\n")
    for _, begin, end in _pieces(model.columns):
        _write_bounds(model, stream, column_names, begin, end)
    stream.write(b"ENDATA\n")


def _write_rows(model: Model, stream: ByteStream, rows: np.ndarray, width: int, cuts: bool) -> None:
    """Write the objective, and then a card for each row: its kind and its name. USERCUTS are before LAZYCONS, because
    CPLEX and Xpress refuse the other order (docs/reference/file-formats.md)."""
    stream.write(b"ROWS\n N  obj\n")
    for section, blocks in row_sections(model, cuts):
        stream.write(SECTIONS[section])
        for block, begin, end in _pieces(blocks):
            if begin == block.start:
                stream.write(block_comment(model, block, rows[begin : block.stop, :width], "*"))
            kind, _ = finite_sides(model, begin, end)
            stream.write(lines(" ", kind.view(np.uint8)[:, None], "  ", rows[begin:end, :width], "\n"))


def _write_columns(
    model: Model, stream: ByteStream, rows: np.ndarray, width: int, column_names: Callable[[int, int], np.ndarray]
) -> None:
    """Write the coefficients of each column, with a marker wherever integer and continuous columns meet."""
    stream.write(b"COLUMNS\n")
    cards, integer = Cards(model, stream, rows, width), False
    pattern: Pattern | None = None
    shared: SharedCards | None = None
    starts: dict[int, Any] = {block.start: block for block in model.columns if block.size}
    for begin, end, part in model.column_entries():
        if isinstance(part, MovedEntries) and part.pattern is not pattern:
            pattern = part.pattern
            shared = shared_cards(pattern, rows, width)
        if block := starts.pop(begin, None):
            ends = np.vstack([column_names(at, at + 1) for at in (begin, block.stop - 1)])
            stream.write(block_comment(model, block, ends, "*"))
        flags = vectors.part(model, "integrality", begin, end).astype(bool)
        changes = np.flatnonzero(np.diff(flags)) + 1
        if shared is None and isinstance(part, MovedEntries) and not changes.size and flags[0] == integer:
            by_label = label_cards(part, vectors.part(model, "c", begin, end), rows, width, cards.goal)
            if by_label is not None:
                by_label.write(stream, part, begin, column_names)
                continue
        names = column_names(begin, end) if end - begin <= CARDS else None
        for first, last in zip([0, *changes], [*changes, end - begin]):
            if flags[first] != integer:
                integer = not integer
                stream.write(MARKER % (b"INTORG" if integer else b"INTEND"))
            if shared is not None and isinstance(part, MovedEntries) and names is not None:
                if not vectors.part(model, "c", begin + first, begin + last).any():
                    shared.write(stream, part, names, first, last)
                    continue
            for low, high in _few_entries(part.indptr, first, last):
                some_names = column_names(begin + low, begin + high) if names is None else names[low:high]
                cards.write(begin + low, some_names, part.indptr[low : high + 1], part.indices, part.data)
    if integer:
        stream.write(MARKER % b"INTEND")


def _write_sides(stream: ByteStream, rows: np.ndarray, width: int, some: np.ndarray, sides: np.ndarray) -> None:
    """Write the sides that are not 0, of the rows at the places `some`."""
    stream.write(b"RHS\n")
    if some.size:
        table, code = number_table(sides)
        for at in range(0, len(some), CARDS):
            part = slice(at, at + CARDS)
            stream.write(
                lines("    RHS       ", (gather(rows, some[part]), width), "  ", gather(table, code[part]), "\n")
            )


def cell_width(width: int) -> int:
    """Return the bytes of a name padded with blanks to a power of two, if the rest of a card after a name (two blanks,
    a digit, the line end) is at least as long as the padding."""
    return next((size for size in (8, 16, 32) if 0 <= size - width <= len("  1\n")), width)


def size(model: CountedModel) -> int:
    """Return the approximate bytes of the file of a model that is only counted: its comments, and cards times their
    widths. Every name counts as wide as the widest, every number of a block as the widest among the first ones of its
    terms; a cost that was not computed counts as an entry of each column."""
    wide = max((block.width for block in model.columns), default=1)
    tall = max((block.width for block in model.rows), default=1)
    entry = len("    ") + wide + 2 + tall + 2 + 1
    total = len(head_comments(model, "*"))
    for block in (*model.columns, *model.rows):
        total += len(block_comment(model, block, np.full((2, block.width), ord("x"), np.uint8), "*"))
    total += model.n_rows * (tall + 5) + model.sides * (len("    RHS       ") + tall + 5)
    total += model.bounds * (len(" UP BND       ") + wide + 4) + model.costs * (entry + 2)
    widths: dict[str, int] = {}
    for term in model.terms:
        texts = [len(show_number(value)) for value in term.coefs[:99].tolist()]
        widths[term.columns.name] = max(2, *texts, widths.get(term.columns.name, 2))
    return total + sum(term.nnz * (entry + widths[term.columns.name]) for term in model.terms)


class Cards:
    """The cards of COLUMNS: one an entry, of column, row and number. A column without entries is written with cost 0.

    `rows` are names of `width` bytes, padded with blanks.
    """

    def __init__(self, model: Model, stream: ByteStream, rows: np.ndarray, width: int) -> None:
        self.model, self.stream, self.rows, self.width = model, stream, rows, width
        self.goal = _padded(text_table(["obj"]), rows.shape[1])
        # Memory of its own, which the system need not hand out anew for each column.
        self.sheet, self.texts = np.empty((SHEET, 0), np.uint8), np.empty(SHEET * rows.shape[1], np.uint8)

    def write(self, begin: int, names: np.ndarray, starts: np.ndarray, places: np.ndarray, data: np.ndarray) -> None:
        """Write the columns from `begin` on with these names; column j has the entries starts[j] to starts[j + 1]."""
        end = begin + len(names)
        cost, counts = vectors.part(self.model, "c", begin, end), np.diff(starts)
        rows, values = places[starts[0] : starts[-1]], data[starts[0] : starts[-1]]
        costly = (cost != 0) | (counts == 0)
        texts = None
        if costly.any():
            counts = counts + costly
            is_cost = np.zeros(counts.sum(), bool)
            is_cost[(np.cumsum(counts) - counts)[costly]] = True  # where a column's cards start: its cost comes first
            row, value = np.zeros(len(is_cost), np.intp), np.empty(len(is_cost))
            row[~is_cost], value[~is_cost], value[is_cost] = rows, values, cost[costly]
            texts, values = gather(self.rows, row) if len(self.rows) else self.goal.repeat(len(row), 0), value
            texts[is_cost] = self.goal
        begins = np.append(0, np.flatnonzero(values[1:] != values[:-1]) + 1)  # of runs of one number
        lengths = np.diff(begins, append=len(values))
        table, code = number_table(values[begins])
        if texts is None and len(names) == 1 and len(begins) <= FEW_RUNS:
            self._of_one_column(names, rows, begins.tolist(), table[code])
            return
        texts = gather(self.rows, rows) if texts is None else texts
        names = names if len(names) == 1 else repeated(names, counts)
        numbers = gather(table, code)
        numbers = numbers if len(numbers) in (1, len(values)) else repeated(numbers, lengths)
        self.stream.write(lines("    ", names, "  ", (texts, self.width), "  ", numbers, "\n"))

    def _of_one_column(self, name: np.ndarray, rows: np.ndarray, begins: list[int], numbers: np.ndarray) -> None:
        """Entries of one column, with runs of one number from these places on: from card to card of a run only the row
        changes."""
        card = lines("    ", name, "  ", " " * self.width, "  ", numbers[:1], "\n")
        if self.sheet.shape[1] != card.shape[1]:
            self.sheet = np.empty((SHEET, card.shape[1]), np.uint8)
        sheet = self.sheet[: len(rows)]
        sheet[0] = card
        copy_first(sheet)
        at, wide, behind = len("    ") + name.shape[1] + len("  "), self.rows.shape[1], numbers.shape[1] + 1
        items = self.rows.view(f"V{wide}").reshape(-1)
        cells = np.ndarray(len(sheet), items.dtype, sheet, at, (sheet.shape[1],))
        texts = self.texts.view(items.dtype)
        spilled = [place for place in range(at + self.width, at + wide) if place >= card.shape[1] - behind]
        for begin, end, number in zip(begins, [*begins[1:], len(rows)], numbers):
            changed = (np.flatnonzero(card[0, -behind:-1] != number) + card.shape[1] - behind).tolist()
            card[0, -behind:-1] = number
            for place in changed:  # in all lines: a later run may be longer than this one
                sheet[:, place] = card[0, place]
            for first in range(begin, end, SHEET):
                some = min(SHEET, end - first)
                np.take(items, rows[first : first + some], out=texts[:some], mode="clip")
                cells[:some] = texts[:some]
                for place in spilled:
                    sheet[:some, place] = card[0, place]
                self.stream.write(sheet[:some])


def _sides(model: Model) -> tuple[np.ndarray, np.ndarray]:
    """(places, values) of the sides that are not 0; ModelError for a row that has two sides or none."""
    places, values = [np.zeros(0, np.intp)], [np.zeros(0)]
    for _, begin, end in _pieces(model.rows):
        _, rhs = finite_sides(model, begin, end)
        places.append(np.flatnonzero(rhs) + begin)
        values.append(rhs[places[-1] - begin])
    return np.concatenate(places), np.concatenate(values)


def _write_bounds(
    model: Model, stream: ByteStream, column_names: Callable[[int, int], np.ndarray], begin: int, end: int
) -> None:
    """FX | UP (lower 0) | PL | FR | MI and UP | LO and UP | LO and PL: never a default."""
    lower, upper, whole = (vectors.part(model, name, begin, end) for name in ("col_lower", "col_upper", "integrality"))
    alike = all((side == side[0]).all() for side in (lower, upper, whole))  # as nearly all blocks are
    if alike:
        lower, upper, whole = lower[:1], upper[:1], whole[:1]
    low, up = np.isfinite(lower), np.isfinite(upper)
    fixed, free = low & (lower == upper), ~low & ~up
    # A negative upper bound needs a lower one before it; a whole column gets both (docs/reference/file-formats.md).
    needs_low = ~fixed & ~free & (~low | (lower != 0) | (whole == 1))
    needs_up = ~fixed & ~free
    first = np.where(fixed, b"FX", np.where(free, b"FR", np.where(low, b"LO", b"MI")))
    second = np.where(up, b"UP", b"PL")
    # The number of an FR, MI or PL card is blank.
    table, code = number_table(np.concatenate([np.where(low, lower, 0), np.where(up, upper, 0)]))
    table = np.vstack([table, np.full((1, table.shape[1]), ord(" "), np.uint8)])
    blank = len(table) - 1
    code_low, code_up = np.where(low, code[: len(low)], blank), np.where(up, code[len(low) :], blank)
    names = column_names(begin, end)
    cards = [
        lines(" ", _bytes(kind), " BND       ", names, "  ", gather(table, number), "\n")
        for kind, number, wanted in ((first, code_low, fixed | free | needs_low), (second, code_up, needs_up))
        if wanted.any()
    ]
    both = cards[0] if len(cards) == 1 else np.stack(cards, axis=1)
    if not alike and len(cards) == 2:
        both = both[np.stack([fixed | free | needs_low, needs_up], axis=1)]
    stream.write(np.ascontiguousarray(both))


def _few_entries(indptr: np.ndarray, first: int, last: int) -> Iterator[tuple[int, int]]:
    """Yield (low, high): the columns first .. last - 1 in pieces of few entries, or of one column."""
    while first < last:
        high = int(np.searchsorted(indptr, indptr[first] + CARDS, "right")) - 1
        high = min(max(high, first + 1), last)
        yield first, high
        first = high


def _pieces(blocks: Iterable[Block | NamedBlock]) -> Iterator[tuple[Block | NamedBlock, int, int]]:
    """Yield (block, begin, end): the places of these blocks, few at a time."""
    for block in blocks:
        for begin in range(block.start, block.stop, CARDS):
            yield block, begin, min(begin + CARDS, block.stop)


def _bytes(kinds: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(kinds.astype("S2")).view(np.uint8).reshape(-1, 2)


def _padded(table: np.ndarray, width: int) -> np.ndarray:
    short = max(0, width - table.shape[1])
    return np.pad(table, ((0, 0), (0, short)), constant_values=ord(" ")) if short else table

"""MPS as tables of bytes: the sections in file order, for the free and the fixed form.

Cards are aligned as in the fixed form (fields from columns 2, 5, 15 and 25), wider if names
are longer, so that readers that guess the form guess right (docs/background/file-formats.md).
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from odtc.base.byte_stream import ByteStream
from odtc.base.text import show_number
from odtc.fileformats.model_files import (
    finite_sides,
    gather,
    identity_words,
    lines,
    number_table,
    repeated,
    row_sections,
    text_table,
)
from odtc.model.blocks import Block, NamedBlock
from odtc.model.milp import CountedModel, Model

# At columns 5, 15 and 40, where GLPK and lp_solve insist on it in the fixed form.
MARKER = b"    MARKER    'MARKER'                 '%s'\n"

CARDS = 1 << 16  # made at once

SECTIONS = {"rows": b"", "user": b"USERCUTS\n", "lazy": b"LAZYCONS\n"}


def identity_card(model: Model) -> str:
    """A comment behind the NAME card, which every solver passes over; "" if the model has no identity."""
    words = identity_words(model)
    return f"* {words}\n" if words else ""


def write(
    model: Model,
    stream: ByteStream,
    row_names: np.ndarray,
    column_names: Callable[[int, int], np.ndarray],
    title: str,
    cuts: bool = False,
) -> None:
    """All sections. `row_names` is a table of all rows; `column_names(begin, end)` gives tables."""
    kind, rhs = finite_sides(model)
    rows = _padded(row_names, len("obj"))
    stream.write(title.encode("ascii"))
    # ROWS: the objective first, then one card a row: its kind and its name. USERCUTS stand before
    # LAZYCONS: in the other order CPLEX and Xpress refuse the file (docs/background/file-formats.md).
    stream.write(b"ROWS\n N  obj\n")
    for section, blocks in row_sections(model, cuts):
        stream.write(SECTIONS[section])
        for begin, end in _pieces(blocks):
            stream.write(lines(" ", kind[begin:end].view(np.uint8)[:, None], "  ", rows[begin:end], "\n"))
    stream.write(b"COLUMNS\n")
    integer = False
    for begin, end, part in model.column_chunks():
        # A marker stands wherever whole and continuous columns meet.
        flags = model.integrality[begin:end].astype(bool)
        cuts = np.flatnonzero(np.diff(flags)) + 1
        for first, last in zip([0, *cuts], [*cuts, end - begin]):
            if flags[first] != integer:
                integer = not integer
                stream.write(MARKER % (b"INTORG" if integer else b"INTEND"))
            for low, high in _few_entries(part.indptr, first, last):
                piece = part if high - low == end - begin else part[:, low:high]
                _write_columns(model, stream, rows, column_names, begin + low, begin + high, piece)
    if integer:
        stream.write(MARKER % b"INTEND")
    # RHS: the rows whose side is not 0.
    stream.write(b"RHS\n")
    if (some := np.flatnonzero(rhs)).size:
        table, code = number_table(rhs[some])
        for at in range(0, len(some), CARDS):
            part = slice(at, at + CARDS)
            stream.write(lines("    RHS       ", gather(rows, some[part]), "  ", gather(table, code[part]), "\n"))
    # BOUNDS: at least one card for every column.
    stream.write(b"BOUNDS\n")
    for begin, end in _pieces(model.columns):
        _write_bounds(model, stream, column_names, begin, end)
    stream.write(b"ENDATA\n")


def size(model: CountedModel) -> int:
    """About the bytes of the file of a model that is only counted: cards times their widths. Numbers of a block are
    taken as wide as the widest of those looked at; a cost that was not worked out counts as an entry of each column."""
    wide = max((block.width for block in model.columns), default=1)
    tall = max((block.width for block in model.rows), default=1)
    entry = len("    ") + wide + 2 + tall + 2 + 1
    total = model.n_rows * (tall + 5) + model.sides * (len("    RHS       ") + tall + 5)
    total += model.bounds * (len(" UP BND       ") + wide + 4) + model.costs * (entry + 2)
    widths: dict[str, int] = {}
    for term in model.terms:
        texts = [len(show_number(value)) for value in term.coefs[:99].tolist()]
        widths[term.columns.name] = max(2, *texts, widths.get(term.columns.name, 2))
    return total + sum(term.nnz * (entry + widths[term.columns.name]) for term in model.terms)


def _write_columns(
    model: Model,
    stream: ByteStream,
    rows: np.ndarray,
    column_names: Callable[[int, int], np.ndarray],
    begin: int,
    end: int,
    part: Any,
) -> None:
    """One card an entry: column, row, number. A column without entries is written with cost 0."""
    cost = model.c[begin:end]
    counts = np.diff(part.indptr)
    costly = (cost != 0) | (counts == 0)
    total = counts + costly
    first = np.cumsum(total) - total  # where each column's cards start; its cost comes first
    is_cost = np.zeros(total.sum(), bool)
    is_cost[first[costly]] = True
    row, value = np.zeros(len(is_cost), np.intp), np.empty(len(is_cost))
    row[~is_cost] = part.indices
    value[is_cost], value[~is_cost] = cost[costly], part.data
    table, code = number_table(value)
    names = gather(rows, row) if len(rows) else np.empty((len(row), rows.shape[1]), np.uint8)
    names[is_cost] = _padded(text_table(["obj"]), rows.shape[1])
    stream.write(lines("    ", repeated(column_names(begin, end), total), "  ", names, "  ", gather(table, code), "\n"))


def _write_bounds(
    model: Model, stream: ByteStream, column_names: Callable[[int, int], np.ndarray], begin: int, end: int
) -> None:
    """FX | UP (lower 0) | PL | FR | MI and UP | LO and UP | LO and PL: never a default."""
    lower, upper = model.col_lower[begin:end], model.col_upper[begin:end]
    low, up = np.isfinite(lower), np.isfinite(upper)
    fixed, free = low & (lower == upper), ~low & ~up
    # A negative upper bound needs a lower one before it; a whole column gets both (docs/background/file-formats.md).
    needs_low = ~fixed & ~free & (~low | (lower != 0) | (model.integrality[begin:end] == 1))
    needs_up = ~fixed & ~free
    first = np.where(fixed, b"FX", np.where(free, b"FR", np.where(low, b"LO", b"MI")))
    second = np.where(up, b"UP", b"PL")
    # The number of an FR, MI or PL card is blank.
    table, code = number_table(np.concatenate([np.where(low, lower, 0), np.where(up, upper, 0)]))
    table = np.vstack([table, np.full((1, table.shape[1]), ord(" "), np.uint8)])
    blank = len(table) - 1
    code_low, code_up = np.where(low, code[: end - begin], blank), np.where(up, code[end - begin :], blank)
    names = column_names(begin, end)
    cards = np.stack(
        [
            lines(" ", _bytes(kind), " BND       ", names, "  ", gather(table, number), "\n")
            for kind, number in ((first, code_low), (second, code_up))
        ],
        axis=1,
    )
    wanted = np.stack([fixed | free | needs_low, needs_up], axis=1)
    stream.write(np.ascontiguousarray(cards[wanted]))


def _few_entries(indptr: np.ndarray, first: int, last: int) -> Iterator[tuple[int, int]]:
    """(low, high): the columns first .. last - 1 in pieces of few entries, or of one column."""
    while first < last:
        high = int(np.searchsorted(indptr, indptr[first] + 2 * CARDS, "right")) - 1
        high = min(max(high, first + 1), last)
        yield first, high
        first = high


def _pieces(blocks: Iterable[Block | NamedBlock]) -> Iterator[tuple[int, int]]:
    """(begin, end): the places of these blocks, few at a time."""
    for block in blocks:
        for begin in range(block.start, block.stop, CARDS):
            yield begin, min(begin + CARDS, block.stop)


def _bytes(kinds: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(kinds.astype("S2")).view(np.uint8).reshape(-1, 2)


def _padded(table: np.ndarray, width: int) -> np.ndarray:
    short = max(0, width - table.shape[1])
    return np.pad(table, ((0, 0), (0, short)), constant_values=ord(" ")) if short else table

"""CPLEX LP in the subset that all solvers read alike (docs/reference/file-formats.md): blanks around everything,
<= and >= and = only, no constant, every column named in the objective so that the order of
columns is the model's."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from odtc.base.byte_stream import ByteStream
from odtc.base.text import show_number
from odtc.fileformats import lp_reader
from odtc.fileformats.model_files import (
    block_comment,
    finite_sides,
    gather,
    head_comments,
    lines,
    name_table,
    number_table,
    row_sections,
    text_table,
)
from odtc.model import vectors
from odtc.model.blocks import Block, NamedBlock
from odtc.model.milp import Model

NAME = "lp"
SUFFIX = ".lp"
SUMMARY = "CPLEX LP, the portable subset"

PER_LINE = 6  # entries a line
SECTIONS = {"rows": b"Subject To\n", "user": b"User Cuts\n", "lazy": b"Lazy Constraints\n"}


def write(model: Model, stream: ByteStream, cuts: bool = False) -> None:
    names = name_table(model.columns)
    comments = f"\\ {model.name}\n" + head_comments(model, "\\")
    stream.write(f"{comments}Minimize\n obj:".encode("ascii"))
    for begin, end, block in _blocks(model):
        if says := block_comment(model, block, names[begin:end], "\\"):
            stream.write(b"\n" + says.rstrip(b"\n"))
        _write_entries(
            stream,
            names[begin:end],
            np.arange(end - begin),
            vectors.part(model, "c", begin, end),
            np.arange(end - begin) % PER_LINE == 0,
        )
    stream.write(b"\n")
    # User cuts before lazy rows: in the other order SCIP leaves lazy rows unchecked (docs/reference/file-formats.md).
    for section, blocks in row_sections(model, cuts):
        stream.write(SECTIONS[section])
        _write_rows(model, stream, names, blocks)
    stream.write(b"Bounds\n")
    for begin, end, _ in _blocks(model):
        _write_bounds(model, stream, names, begin, end)
    whole = model.integrality.astype(bool)
    binary = whole & (model.col_lower == 0) & (model.col_upper == 1)
    for title, chosen in ((b"Binaries\n", binary), (b"Generals\n", whole & ~binary)):
        if chosen.any():
            stream.write(title)
            stream.write(lines(" ", names[chosen], "\n"))
    stream.write(b"End\n")


def read(data: bytes, name: str) -> Model:
    return lp_reader.read(data, name)


def _blocks(model: Model) -> Iterator[tuple[int, int, Any]]:
    for block in model.columns:
        yield block.start, block.stop, block


def _write_entries(
    stream: ByteStream, names: np.ndarray, columns: np.ndarray, values: np.ndarray, breaks: np.ndarray
) -> None:
    """+ 3 x_1 - x_2 …, a new line before the entries if `breaks` holds."""
    table, code = number_table(values, _signed)
    start = np.where(breaks, np.uint8(ord("\n")), np.uint8(ord(" ")))[:, None]
    stream.write(lines(start, " ", gather(table, code), " ", gather(names, columns)))


def _write_rows(model: Model, stream: ByteStream, names: np.ndarray, blocks: Sequence[Block | NamedBlock]) -> None:
    """name: entries, sense and side. A row is its label, its entries and its end, each a text of
    one width per kind; they are laid one behind the other by place."""
    kind, rhs = finite_sides(model)
    labels = name_table(model.rows, ":")
    senses = {b"L": "<=", b"G": ">=", b"E": "="}
    starts = {block.start: block for block in blocks if block.size}
    for begin, end, part in model.row_entries(blocks=blocks):
        if block := starts.pop(begin, None):
            stream.write(block_comment(model, block, labels[begin : block.stop], "\\"))
        counts = np.diff(part.indptr)
        ends, end_code = _ends([senses[k] for k in kind[begin:end].tolist()], rhs[begin:end])
        table, code = number_table(part.data, _signed)
        nth = np.arange(part.nnz) - np.repeat(part.indptr[:-1], counts)
        start = np.where(nth % PER_LINE == 0, np.uint8(ord("\n")), np.uint8(ord(" ")))[:, None]
        entries = lines(start, " ", gather(table, code), " ", gather(names, part.indices))
        heads = lines(" ", labels[begin:end])
        tails = lines(" ", ends[end_code], "\n")
        # An empty row still needs a column to be read by all: 0 of the first one.
        empty = counts == 0
        filler = lines(" 0 ", names[:1])
        width_head, width_entry, width_tail = heads.shape[1], entries.shape[1], tails.shape[1]
        size = width_head + np.where(empty, filler.shape[1], counts * width_entry) + width_tail
        at = np.cumsum(size) - size
        out = np.empty(int(size.sum()), np.uint8)
        _lay(out, at, heads)
        _lay(out, np.repeat(at + width_head, counts) + nth * width_entry, entries)
        _lay(out, (at + width_head)[empty], np.repeat(filler, int(empty.sum()), axis=0))
        _lay(out, at + size - width_tail, tails)
        stream.write(out)


def _lay(out: np.ndarray, places: np.ndarray, texts: np.ndarray) -> None:
    """Copy each text, of one width, to its place in `out`."""
    width = texts.shape[1]
    if len(places):
        # Every place of `out` seen as the start of an item: one assignment moves whole texts.
        windows = np.ndarray(len(out) - width + 1, f"V{width}", out, strides=(1,))
        windows[places] = np.ascontiguousarray(texts).view(f"V{width}").ravel()


def _ends(senses: list[str], rhs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    texts = [f"{sense} {show_number(side)}" for sense, side in zip(senses, rhs)]
    known = {text: at for at, text in enumerate(dict.fromkeys(texts))}
    return text_table(list(known)), np.array([known[text] for text in texts])


def _write_bounds(model: Model, stream: ByteStream, names: np.ndarray, begin: int, end: int) -> None:
    """l <= x <= u | x free | x = v, for every column."""
    lower, upper = (vectors.part(model, side, begin, end) for side in ("col_lower", "col_upper"))
    pairs, code = np.unique(np.stack([lower, upper], axis=1), axis=0, return_inverse=True)
    before, after = [], []
    for low, up in pairs:
        if low == up:
            before.append("")
            after.append(f"= {show_number(low)}")
        elif np.isinf(low) and np.isinf(up):
            before.append("")
            after.append("free")
        else:
            before.append("-inf <=" if np.isinf(low) else f"{show_number(low)} <=")
            after.append("" if np.isinf(up) else f"<= {show_number(up)}")
    code = code.reshape(-1)
    stream.write(
        lines(
            " ",
            gather(text_table(before + ["x"])[:-1], code),
            " ",
            names[begin:end],
            " ",
            gather(text_table(after + ["x"])[:-1], code),
            "\n",
        )
    )


def _signed(value: float) -> str:
    """ "+", "-", "+ 2.5": 1 is not written, and 0 keeps its place."""
    sign = "-" if value < 0 else "+"
    return sign if abs(value) == 1 else f"{sign} {show_number(abs(value))}"

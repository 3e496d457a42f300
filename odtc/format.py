"""What a model file format is: `write(model, stream)`, one module of `formats/` each.

    NAME, SUFFIX, SUMMARY
    write(model, stream)        bytes to a binary stream, the same bytes every time

All stay in the subset that every solver reads alike (FORMATS §5): minimise, bounds of every
column, the objective's constant as a fixed column, no ranges, names of letters, digits and _.

Lines are made as tables of bytes, one fixed width a table: gathering rows of a table is what
numpy does at memory speed, and it makes aligned files.
"""

import gzip
from pathlib import Path

import numpy as np

from odtc.dataset import show_number
from odtc.errors import ModelError
from odtc.output import new_file
from odtc.registry import Registry

FORMATS = Registry("format", "odtc.formats", ("mps", "lp", "fixed-mps"), ("NAME", "SUFFIX", "SUMMARY", "write"))

LARGEST = 1e20  # solvers take this and more for infinite


def write_model(model, path, format: str = "mps") -> Path:
    """Writes the model; a path that ends in .gz is compressed. Returns the path.

    Raises ModelError for what the format cannot say, OutputError where the file cannot be written.
    """
    module = FORMATS.get(format)
    with new_file(path) as stream:
        if str(path).endswith(".gz"):
            # No name and no time in the header: written twice, the same bytes.
            with gzip.GzipFile("", "wb", compresslevel=2, fileobj=stream, mtime=0) as packed:
                module.write(model, packed)
        else:
            module.write(model, stream)
    return Path(path)


def name_table(blocks, end: str = "") -> np.ndarray:
    """Names of all members of these blocks, each followed by `end`, blank-padded: uint8 of shape
    (members, widest)."""
    size = sum(block.size for block in blocks)
    widest = max((block.width for block in blocks), default=1)
    table = np.full((size, widest + len(end)), ord(" "), np.uint8)
    for block in blocks:
        table[block.start : block.stop, : block.width] = block.names()
        if end:
            table[block.start : block.stop, block.width] = ord(end)
    return table


def number_table(values: np.ndarray, show=show_number) -> tuple[np.ndarray, np.ndarray]:
    """(table, code): value i reads table[code[i]], by default the shortest text of that double.

    Raises ModelError for a number that no solver takes as finite.
    """
    values = np.asarray(values, float)
    code = np.zeros(len(values), np.intp)
    known = np.array([1.0, -1.0])  # nearly all coefficients, found without sorting
    rest = np.flatnonzero((values != 1) & (values != -1))
    code[values == -1] = 1
    if rest.size:
        if not (np.abs(values[rest]) < LARGEST).all():
            raise ModelError(f"expected finite numbers below {LARGEST:g} in a model, got {values[rest].max()!r}")
        others, places = np.unique(values[rest], return_inverse=True)
        code[rest] = places + 2
        known = np.concatenate([known, others])
    return text_table([show(value) for value in known]), code


def text_table(texts: list[str]) -> np.ndarray:
    """ASCII texts, blank-padded on the right: uint8 of shape (texts, longest)."""
    packed = np.array([text.encode("ascii") for text in texts])
    table = packed.view(np.uint8).reshape(len(texts), -1).copy()
    table[table == 0] = ord(" ")
    return table


def lines(*fields) -> np.ndarray:
    """Lines of one width: each field is a text for every line, or a table with one row a line;
    uint8 of shape (lines, width)."""
    parts = [np.frombuffer(f.encode("ascii"), np.uint8)[None, :] if isinstance(f, str) else f for f in fields]
    count = max(part.shape[0] for part in parts)
    out = np.empty((count, sum(part.shape[1] for part in parts)), np.uint8)
    at = 0
    for part in parts:
        out[:, at : at + part.shape[1]] = part
        at += part.shape[1]
    return out


def gather(table: np.ndarray, places: np.ndarray) -> np.ndarray:
    """table[places] for a table of bytes: rows are moved as single items, which numpy does fastest."""
    table = np.ascontiguousarray(table)
    items = table.view(f"V{table.shape[1]}").ravel()
    return items[places].view(np.uint8).reshape(-1, table.shape[1])


def finite_sides(model) -> tuple[np.ndarray, np.ndarray]:
    """(kind, rhs) of each row: kind is "L", "G" or "E" as bytes; raises ModelError for a range or a
    free row, which files say in too many ways."""
    lower, upper = model.row_lower, model.row_upper
    has_lower, has_upper = np.isfinite(lower), np.isfinite(upper)
    bad = (has_lower & has_upper & (lower != upper)) | ~(has_lower | has_upper)
    if bad.any():
        raise ModelError(
            f"row {int(bad.argmax())} has {'two different sides' if has_lower[bad.argmax()] else 'no side'}; "
            "the portable formats hold rows with one side: write a range as two rows"
        )
    kind = np.where(has_lower & has_upper, b"E", np.where(has_upper, b"L", b"G"))
    return kind, np.where(has_upper, upper, lower)

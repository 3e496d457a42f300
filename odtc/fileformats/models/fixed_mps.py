"""Fixed MPS: names of eight characters, C and R with the place counted from 0.

The manifest maps these names to columns: C0000041 is the 42nd (`fixed_names`).
"""

from dataclasses import replace

import numpy as np

from odtc.base.byte_stream import ByteStream
from odtc.errors import ModelError
from odtc.fileformats import mps_reader, mps_writer
from odtc.fileformats.model_files import head_comments
from odtc.model.blocks import Axis, Block, NamedBlock
from odtc.model.milp import Model

NAME = "fixed-mps"
SUFFIX = ".mps"
SUMMARY = "fixed MPS with eight-character names (C0000041: column 41, from 0)"

MAX_NAMES = 10**7  # columns, and rows: the names are a letter and seven digits


def write(model: Model, stream: ByteStream, cuts: bool = False) -> None:
    if max(model.n_cols, model.n_rows) > MAX_NAMES:
        raise ModelError(
            f"fixed MPS has names for {MAX_NAMES:,} columns and rows, the model has {model.n_cols:,} and "
            f"{model.n_rows:,}; use --format mps"
        )
    columns, rows = fixed_names(model.n_cols, "C"), fixed_names(model.n_rows, "R")
    title = f"NAME          {model.name}\n" + head_comments(model, "*")
    mps_writer.write(model, stream, (rows, rows.shape[1]), lambda a, b: columns[a:b], title, cuts)


def read(data: bytes, name: str) -> Model:
    """Fields in the classic columns only, so that names may hold blanks."""
    return mps_reader.read(data, name, fixed=True)


def renamed(model: Model) -> Model:
    """Return the model with the names of the file, in which a start for that file must be written."""

    def named(count: int, letter: str) -> tuple[NamedBlock, ...]:
        table = fixed_names(count, letter)
        return (NamedBlock(tuple(table.view("S8").ravel().astype(str).tolist())),)

    return replace(model, columns=named(model.n_cols, "C"), rows=named(model.n_rows, "R"), matrix=model.A)


def fixed_names(count: int, letter: str) -> np.ndarray:
    """Return uint8 of shape (count, 8)."""
    seven_digits = Block("", (Axis("place", MAX_NAMES),), 0)
    table = seven_digits.name_table(0, count)
    table[:, 0] = ord(letter)
    return table

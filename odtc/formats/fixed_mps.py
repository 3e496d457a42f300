"""Fixed MPS: names of eight characters, C and R with the place counted from 0.

The manifest says which column is which: C0000041 is the 42nd (`fixed_names`).
"""

import numpy as np

from odtc import cards
from odtc.errors import ModelError
from odtc.model import Axis, Block, Model

NAME = "fixed-mps"
SUFFIX = ".mps"
SUMMARY = "fixed MPS with eight-character names (C0000041: column 41, from 0)"

MOST = 10**7


def write(model: Model, stream) -> None:
    if max(model.n_cols, model.n_rows) > MOST:
        raise ModelError(
            f"fixed MPS has names for {MOST:,} columns and rows, the model has {model.n_cols:,} and {model.n_rows:,}; "
            "use --format mps"
        )
    columns, rows = fixed_names(model.n_cols, "C"), fixed_names(model.n_rows, "R")
    cards.write(model, stream, rows, lambda a, b: columns[a:b], f"NAME          {model.name}\n")


def fixed_names(count: int, letter: str) -> np.ndarray:
    """uint8 of shape (count, 8)."""
    seven_digits = Block("", (Axis("place", MOST),), 0)
    table = seven_digits.names(0, count)
    table[:, 0] = ord(letter)
    return table

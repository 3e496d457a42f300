"""Sizes before anything is built: estimates of formulations for `--model auto` (odtc.workflow.posing), and counts of
models (odtc.problem.counts)."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from odtc.base.value_class import frozen_class, value_class
from odtc.data.encoding import Encoded

if TYPE_CHECKING:  # most fits build no model
    from odtc.model.milp import Model

# Measured with benchmarks.estimates on models of 0.1 to 43 million nonzeros (docs/performance.md).
COLUMN_BYTES, ROW_BYTES = 10, 30  # while a model is built and written: its names, and sides that differ
TERM_BYTES = 3  # bytes per label or coefficient of a term
PIECE_BYTES, PIECE_ENTRY = 30 * 2**20, 95  # of one piece of a model of a search, at most; of an entry of a piece
# CPU seconds to write a nonzero, to lay out and write a column or a row, and to begin.
ENTRY_SECONDS, LABEL_SECONDS, BEGIN_SECONDS = 8e-8, 1e-7, 0.015


@value_class
class Counts:
    """Size of a model, or upper limits.

    Attributes
    ----------
    columns, rows, nonzeros : int or None
        None if only the search that comes first can tell.
    exact : bool
        Whether these are the numbers of the model, except for parts named in `words`; otherwise they are upper limits.
    memory : int or None
        About the bytes that are used while it is built and written, in addition to the data and the libraries.
    seconds : float or None
        About the CPU seconds to build and write it, with the search that comes first; None if unknown.
    words : str
        Further remarks: "its columns come from a search".
    file : int or None
        About the bytes of its file; None if it is not counted exactly.
    """

    columns: int | None = None
    rows: int | None = None
    nonzeros: int | None = None
    exact: bool = False
    memory: int | None = None
    seconds: float | None = None
    words: str = ""
    file: int | None = None

    @classmethod
    def at_most(cls, columns: int, rows: int, nonzeros: int, search: float = 0.0, words: str = "") -> Counts:
        """Return upper limits, for a formulation that knows them; `search` is the CPU seconds before the model."""
        seconds = search + BEGIN_SECONDS + LABEL_SECONDS * (columns + rows) + ENTRY_SECONDS * nonzeros
        held = COLUMN_BYTES * columns + ROW_BYTES * rows + 3 * TERM_BYTES * nonzeros
        memory = held + min(PIECE_BYTES, PIECE_ENTRY * nonzeros)
        return cls(columns, rows, nonzeros, False, memory, seconds, words)

    @classmethod
    def of_model(cls, model: Model, words: str = "") -> Counts:
        """Return the size of a model that is counted, or built."""
        held = sum(term.size for term in model.terms)
        memory = COLUMN_BYTES * model.n_cols + ROW_BYTES * model.n_rows + TERM_BYTES * held
        memory += PIECE_ENTRY * model.largest_piece()
        seconds = BEGIN_SECONDS + LABEL_SECONDS * (model.n_cols + model.n_rows) + ENTRY_SECONDS * model.nnz
        return cls(model.n_cols, model.n_rows, model.nnz, True, memory, seconds, words)


@frozen_class
class Sizes:
    """Known sizes of a problem before its formulation is chosen.

    Attributes
    ----------
    n_candidate_splits : int
        The splits of the encoding.
    depth : int
        The greatest depth of the tree.
    constraints : tuple of str
        The kinds of its constraints, by name.
    encoded : Encoded or None
        The rows; None if only the numbers above matter.
    fitting : bool
        Whether a tree is wanted, not a model file.
    """

    n_candidate_splits: int
    depth: int
    constraints: tuple[str, ...] = ()
    encoded: Encoded | None = None
    fitting: bool = False


@frozen_class
class Estimate:
    """Estimate of a formulation for a problem of these sizes.

    Attributes
    ----------
    fits : bool
        Whether it supports the problem, and its model can be built.
    words : str
        The reason, as a predicate of the formulation: "grows with the rows".
    sums : float
        About how many sums its proof takes; infinite if only a search can find out.
    """

    fits: bool
    words: str
    sums: float = inf


def rough(number: float) -> str:
    """Return two digits of a number, in a form that people read: 780, 24,000, 3.1e+12."""
    return f"{float(f'{number:.2g}'):,.0f}" if number < 1e9 else f"{number:.2g}"

"""Separation: add the rows of cut families that points of the root relaxation violate.

Some families have exponentially many rows, so not all can be added. Instead, each round solves the relaxation and adds
the rows that its point violates, until no row is violated or the rounds are over. Finally, rows that are slack at the
last point are removed, because the bound of the relaxation does not need them.

Another version of a solver finds other points, and therefore other rows. So the manifest contains the separated rows
themselves, and nothing is separated again when a solution is read.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np

from odtc.model.blocks import Axis, Cells
from odtc.model.feasibility import TOLERANCE
from odtc.model.milp import Model
from odtc.model.solution import Round, Solution, Termination
from odtc.problem.cuts import cut
from odtc.problem.cuts.cut import CutRows
from odtc.problem.roles import fresh_name


def separate_rows(
    model: Model,
    words: tuple[str, ...],
    solve: Callable[[Model], Solution],
    tell: Callable[[Round], None] | None = None,
) -> Model:
    """Return the model with the rows that these families ("paper4:rounds=10") separate.

    There is one block of rows for each family after the model's own rows, and no column is renumbered. `solve` solves
    a relaxation, `tell` receives each Round.
    """
    base, began, owner = model, time.monotonic(), []
    for number in count(1):
        found = solve(replace(model, integrality=np.zeros_like(model.integrality)))
        finished, before = found.termination == Termination.OPTIMAL and found.has_solution, model.n_rows
        point = model.split(found.x) if finished else None
        for word in words if finished else ():
            module, rounds = cut.family(word)
            if number <= rounds:
                blocks = len(model.rows)
                model = cut.append(model, word, module.rows(model.problem, model, point))
                owner += [word] * sum(block.size for block in model.rows[blocks:])
        if tell:
            tell(
                Round(
                    number,
                    "relaxation",
                    before - base.n_rows,
                    model.n_rows - before,
                    None,
                    found.objective if finished else None,
                    time.monotonic() - began,
                )
            )
        if model.n_rows == before:
            break
    rows = rows_of(model, len(base.rows), len(model.rows))
    low, high = model.row_lower[base.n_rows :], model.row_upper[base.n_rows :]
    needed = np.ones(len(owner), bool)
    if finished:
        activity = rows @ found.x
        needed = (activity > high - TOLERANCE) | (activity < low + TOLERANCE)
    named = {
        word: next(
            block.name for block in model.rows[len(base.rows) :] if block.start - base.n_rows == owner.index(word)
        )
        for word in words
        if word in owner
    }
    for word, name in named.items():
        mine = needed & (np.array(owner) == word)
        if mine.any():
            base = append(base, word, name, rows[mine], low[mine], high[mine])
    return replace(base, cuts=(*base.cuts, *(word for word in words if word not in base.cuts)))


def rows_of(model: Model, first: int, end: int) -> Any:
    """Return the matrix of the blocks of rows first .. end, a csr_array of shape (rows, columns)."""
    parts = [part for _, _, part in model.row_chunks(blocks=model.rows[first:end])]
    import scipy.sparse as sp

    return sp.vstack(parts, format="csr") if parts else sp.csr_array((0, model.n_cols))


def append(model: Model, word: str, name: str, A: Any, lower: np.ndarray, upper: np.ndarray) -> Model:
    """Return the model with the rows of a csr_array after its own, as separated rows of the family `word`."""
    A = A.tocoo()
    owners = np.searchsorted([block.stop for block in model.columns], A.col, side="right")
    entries = []
    for at in np.unique(owners).tolist():
        block, mine = model.columns[at], owners == at
        places = np.unravel_index(A.col[mine] - block.start, block.shape)
        entries.append(((A.row[mine],), Cells(block, places), A.data[mine]))
    block = CutRows(fresh_name(model, name), (Axis("cut", A.shape[0]),), tuple(entries), upper, lower)
    longer = cut.append(model, word, (block,))
    return replace(longer, separated=(*longer.separated, (block.name, word)))

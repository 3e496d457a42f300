"""Builder of models: a formulation adds blocks of variables and constraints, and terms between them.

The declarations determine the size, too: a block has as many variables as its axes have labels, a term as many
nonzeros as its labels broadcast to. Within `counting` of odtc.model.blocks only these numbers are computed, exactly,
and nothing is laid out: no vector, no name, no entry (odtc.problem.estimates).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from odtc.base import deadline
from odtc.base.memory import require_memory
from odtc.base.wording import option
from odtc.errors import ModelError
from odtc.model import vectors
from odtc.model.blocks import Axis, Block, Cells, NamedBlock, PickedBlock, is_counting, unused_name
from odtc.model.milp import UNCHECKED_SIZE, CountedModel, CountedTerm, Model, Term
from odtc.model.own_parts import PORTABLE, is_portable
from odtc.model.vectors import Joined, replaced

LABEL_BYTES = 80  # of a column or a row: cost, bounds, kind, name, and copies while they are joined
LOOKED_AT = 4096  # coefficients of a term whose texts are measured, if it is only counted


class ModelBuilder:
    """Collects blocks and terms; `finish` freezes them into a Model."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._columns: list[Block | NamedBlock] = []
        self._rows: list[Block | NamedBlock] = []
        self._terms: list[Term | CountedTerm] = []
        self._cost: list[np.ndarray] = []
        self._lower: list[np.ndarray] = []
        self._upper: list[np.ndarray] = []
        self._integer: list[np.ndarray] = []
        self._row_lower: list[np.ndarray] = []
        self._row_upper: list[np.ndarray] = []
        self._lazy: list[str] = []
        self._base: Model | None = None
        self._n_cols = self._n_rows = 0
        self._costs = self._sides = self._bounds = 0  # of a model that is only counted

    @classmethod
    def onto(cls, model: Model) -> "ModelBuilder":
        """Return a builder that begins with all columns and rows of a model; additions come after them."""
        m = cls(model.name)
        m._columns, m._rows, m._terms, m._base = [*model.columns], [*model.rows], [*model.terms], model
        m._cost, m._lower, m._upper = (vectors.parts(model, name) for name in ("c", "col_lower", "col_upper"))
        m._integer, m._lazy = vectors.parts(model, "integrality"), [*model.lazy]
        m._row_lower, m._row_upper = vectors.parts(model, "row_lower"), vectors.parts(model, "row_upper")
        m._n_cols, m._n_rows = model.n_cols, model.n_rows
        return m

    def columns(
        self,
        name: str,
        *axes: Axis,
        role: str = "",
        cost: ArrayLike | Callable[[], ArrayLike] = 0.0,
        lower: ArrayLike = 0.0,
        upper: ArrayLike = 1.0,
        integer: bool | np.ndarray = False,
        positions: np.ndarray | None = None,
    ) -> Block:
        """Add a block of columns.

        Parameters
        ----------
        name, *axes, role : as of Block
        cost, lower, upper, integer : they broadcast to the block's shape. A cost that is itself large is given as a
            function, which is called when memory for it is known to suffice
        positions : the positions in the grid that are variables, as in PickedBlock; None for all

        Returns
        -------
        The block, whose cells are the columns of `add`

        Raises
        ------
        ModelError
            If the model has more columns than an index or the memory can hold.
        """
        _expect_portable(name, axes)
        block = Block(name, axes, self._n_cols, role)
        if positions is not None:
            block = PickedBlock(name, axes, self._n_cols, role, positions)
        self._columns.append(block)
        self._n_cols = block.stop
        if is_counting():  # a cost that is itself large is not worked out: it counts as one of each column
            self._costs += block.size if callable(cost) else _some(cost, block.size)
            low = np.asarray(integer, bool) | (np.asarray(lower, float) != 0)
            self._bounds += block.size + _some(low & (np.asarray(lower) != np.asarray(upper)), block.size)
            return block
        self._require_memory(block.stop, self._n_rows)
        prices = cost() if callable(cost) else cost
        for store, value in ((self._cost, prices), (self._lower, lower), (self._upper, upper)):
            store.append(np.broadcast_to(np.asarray(value, float), block.shape))
        self._integer.append(np.broadcast_to(np.asarray(integer, np.uint8), block.shape))
        return block

    def rows(
        self, name: str, *axes: Axis, lower: ArrayLike = -np.inf, upper: ArrayLike = np.inf, lazy: bool = False
    ) -> Block:
        """Add a block of rows whose bounds broadcast to its shape; `lazy` as in Model, ModelError as in `columns`.

        If the model has a block of rows of this name, a number is appended: side constraints and cuts do not know the
        rows of a formulation, and no file may have two rows of one name.
        """
        _expect_portable(name, axes)
        name = unused_name(name, self._rows)
        block = Block(name, axes, self._n_rows)
        self._rows.append(block)
        self._lazy += [name] if lazy else []
        self._n_rows = block.stop
        if is_counting():
            self._sides += _some(np.where(np.isfinite(upper), upper, lower), block.size)
            return block
        self._require_memory(self._n_cols, block.stop)
        for store, value in ((self._row_lower, lower), (self._row_upper, upper)):
            store.append(np.broadcast_to(np.asarray(value, float), block.shape))
        return block

    def add(self, rows: Cells, columns: Cells, coef: ArrayLike = 1.0) -> None:
        """coef · columns in rows; no (row, column) pair may come twice in a model."""
        deadline.check()
        term = Term(rows, columns, np.asarray(coef, float))
        if not term.nnz:
            return
        if is_counting():
            some = np.abs(term.coef.reshape(-1)[:LOOKED_AT])
            self._terms.append(CountedTerm(rows.block, columns.block, term.nnz, term.size, np.unique(some)))
        else:
            self._terms.append(term)

    def constant(self, value: float) -> None:
        """Add a constant to the objective, as a column fixed to 1.

        Solvers read constants of a file in different ways (docs/reference/file-formats.md).
        """
        if value:
            self.columns("objconst", role="constant", cost=value, lower=1.0, upper=1.0)

    def _require_memory(self, n_cols: int, n_rows: int) -> None:
        """Raise ModelError for a model that is too large for the index type or the memory, before it is laid out."""
        if max(n_cols, n_rows) >= 2**31:
            raise ModelError(
                f"the model would have at least {n_cols:,} columns and {n_rows:,} rows, more than 2^31 - 1; "
                f"use a smaller {option('depth')}, or fewer splits (for instance {option('encoding', 'auto:bins=8')})"
            )
        if n_cols + n_rows > UNCHECKED_SIZE:
            require_memory(
                LABEL_BYTES * (n_cols + n_rows), f"a model of at least {n_cols:,} columns and {n_rows:,} rows"
            )

    def finish(self) -> Model:
        """Return the model of all that was added. Raises ModelError if it does not fit into memory."""
        if is_counting():
            return self._counted()
        parts: dict[str, Any] = dict(
            c=Joined(self._cost),
            row_lower=Joined(self._row_lower),
            row_upper=Joined(self._row_upper),
            col_lower=Joined(self._lower),
            col_upper=Joined(self._upper),
            integrality=Joined(self._integer),
            columns=tuple(self._columns),
            rows=tuple(self._rows),
            lazy=tuple(self._lazy),
            terms=tuple(self._terms),
        )
        return replaced(self._base, **parts) if self._base is not None else Model(self.name, offset=0.0, **parts)

    def _counted(self) -> Model:
        """Return the model without its numbers: every vector is one zero, seen as many times as it is long."""
        wide, tall = np.broadcast_to(0.0, self._n_cols), np.broadcast_to(0.0, self._n_rows)
        known = self._base if isinstance(self._base, CountedModel) else None
        parts: dict[str, Any] = dict(
            c=wide,
            row_lower=tall,
            row_upper=tall,
            col_lower=wide,
            col_upper=wide,
            integrality=np.broadcast_to(np.uint8(0), self._n_cols),
            columns=tuple(self._columns),
            rows=tuple(self._rows),
            lazy=tuple(self._lazy),
            terms=tuple(self._terms),
            costs=self._costs + (known.costs if known else 0),
            sides=self._sides + (known.sides if known else 0),
            bounds=self._bounds + (known.bounds if known else 0),
        )
        return replaced(known, **parts) if known else CountedModel(self.name, offset=0.0, **parts)


def _some(values: ArrayLike, size: int) -> int:
    """Return the number of nonzero values after broadcasting to `size`, which repeats all values equally often."""
    values = np.asarray(values)
    return int(np.count_nonzero(values)) * size // max(1, values.size)


def _expect_portable(name: str, axes: tuple[Axis, ...]) -> None:
    """Raise ModelError for a name of a block that some format cannot write; its labels follow behind `_`."""
    if not is_portable(f"{name}_0" if axes else name):
        raise ModelError(f"expected a name of a block of variables or constraints of {PORTABLE}, got {name!r:.80}")

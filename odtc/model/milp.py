"""A mixed-integer linear model as blocks of variables and constraints, and terms between them.

A formulation calls `m.add(left[i, t], z[i, 2 * t], 1)`: in every constraint left_i_t, the variable z_i_2t has
coefficient 1. The label arrays broadcast. They are stored unexpanded, and only the part of the matrix that is needed
is expanded, so a model larger than memory can still be written block by block. Names are computed, never stored.

    min c·x + offset   s.t.  row_lower <= A x <= row_upper,  col_lower <= x <= col_upper,
                             x_j integer where integrality_j = 1

The names are those of scipy.optimize.milp and HiGHS. A model is always a minimisation.
"""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from odtc.base.memory import require_memory
from odtc.base.value_class import value_class
from odtc.errors import ModelError
from odtc.model import in_packages, own_parts, vectors
from odtc.model.blocks import Block, Cells, NamedBlock
from odtc.model.entries import Entries, MovedEntries, Pattern, runs_of, sorted_entries
from odtc.model.points import name_list, split_point
from odtc.model.summary import summary_html, summary_lines

CHUNK_NONZEROS = 100_000  # nonzeros in memory at once while the matrix is streamed

UNCHECKED_SIZE = 1_000_000  # columns, rows or nonzeros; up to this size memory is not checked
ENTRY_BYTES = 40  # memory for one nonzero while the matrix is assembled


@dataclass(frozen=True)
class Term:
    """coef · columns in rows; the shapes of all three broadcast to one entry each."""

    rows: Cells
    columns: Cells
    coef: np.ndarray

    @property
    def shape(self) -> tuple[int, ...]:
        return np.broadcast_shapes(self.rows.shape, self.columns.shape, self.coef.shape)

    def part(
        self, begin: int, end: int, by_rows: bool = False, second: tuple[int, int] | None = None
    ) -> tuple[np.ndarray, ...] | None:
        """Return flat (rows, columns, coefs) of the entries whose column (or row) has a first label in begin .. end
        and, with `second`, a second label in that range.

        None if there are no such entries.
        """
        ndim, split = len(self.shape), len(self.rows.places)
        parts: list[np.ndarray] = [
            p.reshape((1,) * (ndim - p.ndim) + p.shape) for p in (*self.rows.places, *self.columns.places, self.coef)
        ]
        side, first = (self.rows, 0) if by_rows else (self.columns, split)
        for place, (low, high) in enumerate(((begin, end), second) if second else ((begin, end),)):
            if side.places:
                kept = _only(parts, first + place, low, high)
                if kept is None:
                    return None
                parts = kept
        rows = Cells(self.rows.block, tuple(parts[:split])).flat()
        columns = Cells(self.columns.block, tuple(parts[split:-1])).flat()
        shape = np.broadcast_shapes(rows.shape, columns.shape, parts[-1].shape)
        return tuple(np.broadcast_to(p, shape).reshape(-1) for p in (rows, columns, parts[-1]))

    def sides(self, by_rows: bool) -> tuple[Cells, Cells, np.ndarray, int]:
        """Return (columns, rows, coef, number of axes); `by_rows`, (rows, columns, coef, number of axes)."""
        mine, other = (self.rows, self.columns) if by_rows else (self.columns, self.rows)
        return mine, other, self.coef, len(self.shape)

    @property
    def nnz(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def size(self) -> int:
        """Count of stored numbers: labels and coefficients before they are expanded."""
        return sum(part.size for part in (*self.rows.places, *self.columns.places, self.coef))


def _only(parts: list[np.ndarray], which: int, begin: int, end: int) -> list[np.ndarray] | None:
    """Return the arrays, which broadcast together, cut down to the entries where begin <= parts[which] < end; None if
    there are no such entries."""
    varying = [axis for axis, size in enumerate(parts[which].shape) if size > 1]
    if len(varying) > 1:  # rare: no single axis to cut along, so expand first
        size = np.broadcast_shapes(*(p.shape for p in parts))
        parts = [np.broadcast_to(p, size).reshape(-1) for p in parts]
        varying = [0]
    inside = (parts[which] >= begin) & (parts[which] < end)
    if not inside.any():
        return None
    if not inside.all():
        axis, keep = varying[0], np.flatnonzero(inside)
        parts = [np.take(p, keep, axis) if p.shape[axis] > 1 else p for p in parts]
    return parts


@value_class
class CountedTerm:
    """A Term of a model that is only counted (odtc.model.blocks): its blocks, its number of nonzeros, the count of
    numbers that the Term would store, and the absolute values of some coefficients."""

    rows: Block | NamedBlock
    columns: Block | NamedBlock
    nnz: int
    size: int
    coefs: np.ndarray


# The fields that determine the solved problem.
ARRAYS = (
    *("c", "offset", "row_lower", "row_upper", "col_lower", "col_upper", "integrality"),
    *("columns", "rows", "terms", "matrix"),
)


@vectors.laid_out_when_asked
@dataclass(frozen=True)
class Model:
    """A mixed-integer linear model: min c·x + offset subject to sides and bounds, as in the module's docstring.

    Vectors are float64 of shape (columns,) or (rows,) and read-only; `integrality` is uint8. In a model that was built
    they are computed at their first use (odtc.model.vectors). `lazy` names the blocks of constraints that the model
    needs, but that a solver may leave out until they are violated. `user_cuts` names the blocks of constraints that
    no integer point violates: they only tighten the relaxation.
    """

    name: str
    c: np.ndarray
    offset: float
    row_lower: np.ndarray
    row_upper: np.ndarray
    col_lower: np.ndarray
    col_upper: np.ndarray
    integrality: np.ndarray
    columns: tuple[Block | NamedBlock, ...]
    rows: tuple[Block | NamedBlock, ...]
    lazy: tuple[str, ...] = ()
    user_cuts: tuple[str, ...] = ()
    cuts: tuple[str, ...] = ()  # the cut families whose rows were appended
    separated: tuple[
        tuple[str, str], ...
    ] = ()  # (name, family) of the blocks of cuts found by separation, which a new build does not produce
    terms: tuple[Any, ...] = field(default=(), repr=False)  # of Term, or of CountedTerm if the model is only counted
    matrix: Any = field(default=None, repr=False)  # the csc_array of a model read from a file
    problem: Any = field(default=None, repr=False, compare=False)  # the problem that it was built from
    # Its splits, classes and families in words (odtc.problem.described); None for a model that was read from a file.
    described: Any = field(default=None, repr=False, compare=False)
    maximised: bool = False  # whether the file it was read from maximises: `c` and `offset` are then negated
    # SHA-256 of what determines the model (odtc.problem.identity), "" if it is not known.
    identity: str = field(default="", repr=False, compare=False)
    # SHA-256 of the unpacked bytes of the file that it was read from or written to, "" if there is none.
    content: str = field(default="", repr=False, compare=False)
    # The edited model that was solved instead of this one: the same columns in the same order, then additional ones.
    edited: Any = field(default=None, repr=False, compare=False)
    # The model before the user added rows or columns (`add_rows`, `add_columns`); None if none were added.
    base: Any = field(default=None, repr=False, compare=False)
    # The model as its formulation built it, to detect arrays that were replaced; None if it was not built here.
    built: Any = field(default=None, repr=False, compare=False)
    # Why the model recorded in a manifest differs from the one that its formulation builds now; "" if it does not.
    recorded: str = field(default="", repr=False, compare=False)
    # The parts that were left out because no better tree needs them, in words; "" for none.
    left_out: str = field(default="", repr=False, compare=False)
    # Whether only its columns are known.
    rowless: bool = field(default=False, repr=False, compare=False)

    @property
    def as_built(self) -> "Model":
        """The model that its formulation built, before the user changed it; this model itself if nothing changed."""
        first: Model = self.base or self
        changed = first.built is not None and any(
            not vectors.same(first, first.built, name)
            if name in vectors.VECTORS
            else getattr(first, name) is not getattr(first.built, name)
            for name in ARRAYS
        )
        return first.built if changed else first

    @property
    def n_cols(self) -> int:
        return len(vectors.held(self, "c"))

    @property
    def n_rows(self) -> int:
        return len(vectors.held(self, "row_lower"))

    @cached_property
    def nnz(self) -> int:
        return self.matrix.nnz if self.matrix is not None else sum(term.nnz for term in self.terms)

    @cached_property
    def A(self) -> Any:
        """The constraint matrix, scipy.sparse.csc_array of shape (rows, columns)."""
        if self.matrix is not None:
            return self.matrix
        import scipy.sparse as sp

        if self.nnz > UNCHECKED_SIZE:
            require_memory(ENTRY_BYTES * self.nnz, f"the matrix of a model with {self.nnz:,} nonzeros")
        parts = [part for _, _, part in self.column_entries()]
        if len(parts) == 1:
            return _read_only(parts[0].sparse())
        starts = np.cumsum(np.array([0] + [part.nnz for part in parts]))
        indptr = np.concatenate([np.zeros(1, np.int64)] + [part.indptr[1:] + at for part, at in zip(parts, starts)])
        indices = np.concatenate([part.indices for part in parts])
        data = np.concatenate([part.data for part in parts])
        if starts[-1] < 2**31:  # scipy wants both index arrays of one type
            indptr = indptr.astype(np.int32)
        return _read_only(sp.csc_array((data, indices, indptr), shape=(self.n_rows, self.n_cols)))

    def largest_piece(self, most: int = CHUNK_NONZEROS) -> int:
        """Return about how many nonzeros `column_chunks` lays out at once.

        Parameters
        ----------
        most : int
            As of `column_chunks`.

        Returns
        -------
        int
            The nonzeros of some first labels, at least one, or of some second labels if one first label has very many.
        """
        entries: dict[int, int] = {}
        for term in self.terms:
            block = term.columns if isinstance(term, CountedTerm) else term.columns.block
            entries[block.start] = entries.get(block.start, 0) + term.nnz
        first = {block.start: max(1, block.shape[0] if block.shape else 1) for block in self.columns}
        second = {block.start: max(1, block.shape[1] if len(block.shape) > 1 else 1) for block in self.columns}
        pieces = [
            max(min(many, most), min(many // first[start], max(most, many // (first[start] * second[start]))))
            for start, many in entries.items()
        ]
        return max(pieces, default=self.nnz if self.matrix is not None else 0)

    def column_chunks(self, most: int = CHUNK_NONZEROS) -> Iterator[tuple[int, int, Any]]:
        """Return the matrix by columns, one part at a time.

        Parameters
        ----------
        most : int
            About how many nonzeros a part has. A part is within one block and has at least one first label; if it has
            more nonzeros, one second label.

        Returns
        -------
        iterator of (int, int, csc_array)
            Begin, end, and the columns begin .. end - 1, in order.
        """
        for begin, end, part in self.column_entries(most):
            yield begin, end, part.sparse() if isinstance(part, Entries) else part

    def column_entries(self, most: int = CHUNK_NONZEROS) -> Iterator[tuple[int, int, Any]]:
        """Yield the same by plain arrays, without scipy, whose import takes longer than to write a small model.

        Parameters
        ----------
        most : int
            As of `column_chunks`.

        Returns
        -------
        iterator of (int, int, Entries)
            Begin, end, and the columns begin .. end - 1; a csc_array in place of Entries if the model was read from a
            file. Both have `data`, `indices`, `indptr` and `nnz`.
        """
        for block in self.columns:
            if self.matrix is not None:
                yield block.start, block.stop, self.matrix[:, block.start : block.stop]
                continue
            terms = [term for term in self.terms if term.columns.block is block]
            yield from _parts(block, terms, most, self.n_rows, by_rows=False)

    def row_chunks(
        self, most: int = CHUNK_NONZEROS, blocks: Iterable[Block | NamedBlock] | None = None
    ) -> Iterator[tuple[int, int, Any]]:
        """Yield the matrix by rows, a part at a time.

        Parameters
        ----------
        most : int
            As of `column_chunks`.
        blocks : iterable of row blocks or None
            Only the rows of these.

        Returns
        -------
        iterator of (int, int, csr_array)
            Begin, end, and the rows begin .. end - 1, in order.
        """
        for begin, end, part in self.row_entries(most, blocks):
            yield begin, end, part.sparse() if isinstance(part, Entries) else part

    def row_entries(
        self, most: int = CHUNK_NONZEROS, blocks: Iterable[Block | NamedBlock] | None = None
    ) -> Iterator[tuple[int, int, Any]]:
        """Yield the same by plain arrays, without scipy.

        Parameters
        ----------
        most, blocks : as of `row_chunks`

        Returns
        -------
        iterator of (int, int, Entries)
            Begin, end, and the rows begin .. end - 1; a csr_array as of `column_entries`.
        """
        whole = self.matrix.tocsr() if self.matrix is not None else None
        for block in self.rows if blocks is None else blocks:
            if whole is not None:
                yield block.start, block.stop, whole[block.start : block.stop]
                continue
            terms = [term for term in self.terms if term.rows.block is block]
            yield from _parts(block, terms, most, self.n_cols, by_rows=True)

    @property
    def column_names(self) -> list[str]:
        """The names of all columns, in their order."""
        return name_list(self.columns)

    @property
    def row_names(self) -> list[str]:
        """The names of all rows, in their order."""
        return name_list(self.rows)

    @property
    def splits(self) -> list[str]:
        """The splits that its nodes may have, such as "physician-fee-freeze = y"; rows that satisfy split f of node t
        go to node 2t + 1. A model that was read from a file has none."""
        return list(self.described.splits) if self.described is not None else []

    def __getitem__(self, name: str) -> Block | NamedBlock:
        """Return a family of variables, or of constraints, by its name.

        `model["b"].names()` are texts, and `model["b"].start` is the place of the first. `model["b"]["colour"]` are the
        names of those whose split uses the feature, `model["b"][1, "colour = red"]` of node 1 with this split.

        Raises
        ------
        ModelError
            If there is none.
        """
        for block in (*self.columns, *self.rows):
            if block.name == name:
                return block.known_by(self.described.names) if self.described is not None else block
        families = ", ".join(block.name for block in (*self.columns, *self.rows))
        raise ModelError(f"expected a family of columns or rows of {families:.300}, got {str(name)!r:.80}")

    def __repr__(self) -> str:
        head, *lines = summary_lines(self)
        return "\n".join([head, *(f"  {line}" for line in lines)])

    def _repr_html_(self) -> str:
        return summary_html(self)

    def add_rows(
        self, rows: Any, lower: ArrayLike = -np.inf, upper: ArrayLike = np.inf, names: Sequence[str] | None = None
    ) -> "Model":
        """Return the model with additional constraints of your own. A proof is then about the edited model.

        Warns if the constraints may need something that was left out of the model (`left_out`).

        Parameters
        ----------
        rows : array or sparse (rows, columns), or list of dict
            Coefficients; the keys of a dict are names of variables, for example {"b_1_7": 1.0}.
        lower, upper : float or array (rows,)
            The sides of the constraints.
        names : sequence of str or None
            None names them own_row_0 and so on.

        Returns
        -------
        Model

        Raises
        ------
        ModelError
            If a name, a coefficient or a side is invalid.
        """
        if self.left_out:
            warnings.warn(self.left_out, UserWarning, stacklevel=2)
        return replace(self, **own_parts.with_rows(self, rows, lower, upper, names))

    def add_columns(
        self,
        names: Sequence[str] | str,
        cost: ArrayLike = 0.0,
        lower: ArrayLike = 0.0,
        upper: ArrayLike = np.inf,
        integer: ArrayLike = False,
    ) -> "Model":
        """Return the model with columns of your own behind its own; rows of your own may speak of them.

        Parameters
        ----------
        names : sequence of str
        cost, lower, upper, integer : float, bool or array (columns,)

        Returns
        -------
        Model

        Raises
        ------
        ModelError
            If a name, a cost or a bound is none.
        """
        return replace(self, **own_parts.with_columns(self, names, cost, lower, upper, integer))

    def relaxed(self) -> "Model":
        """Return the linear relaxation: `odtc.solve(model.relaxed()).objective` is its bound.

        Returns
        -------
        Model
            The same variables and constraints without integrality; a point of it is not a tree.
        """
        return replace(self, integrality=np.zeros_like(self.integrality))

    def to_scipy(self) -> dict[str, Any]:
        """Return the keywords of scipy.optimize.milp: `odtc.decode(model, milp(**model.to_scipy()))`.

        Returns
        -------
        dict
        """
        return in_packages.scipy_keywords(self)

    def to_highspy(self) -> Any:
        """Return a highspy.Highs that holds the model; `odtc.decode(model, highs)` once it has run.

        Returns
        -------
        highspy.Highs
        """
        return in_packages.highs_of(self)

    def to_gurobi(self, env: Any = None) -> Any:
        """Return a gurobipy.Model of this model; `odtc.decode(model, theirs)` once it is optimized.

        Parameters
        ----------
        env : gurobipy.Env or None

        Returns
        -------
        gurobipy.Model
        """
        return in_packages.gurobi_of(self, env)

    def split(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """Return the values of a point by block of columns.

        Parameters
        ----------
        x : float64 (columns,)

        Returns
        -------
        dict of str to float64
            Each in the shape of its block.
        """
        return split_point(self.columns, x)

    def join(self, values: dict[str, np.ndarray]) -> np.ndarray:
        """Return the point whose blocks of columns have these values.

        Parameters
        ----------
        values : dict of str to array
            Broadcast to the shapes of the blocks. A block of fixed columns may be absent.

        Returns
        -------
        float64 (columns,)

        Raises
        ------
        ModelError
            If a block is neither given nor fixed.
        """
        x = np.empty(self.n_cols)
        for block in self.columns:
            ends = block.start, block.stop
            place = slice(*ends)
            if block.name in values:
                x[place] = np.broadcast_to(values[block.name], block.shape).reshape(-1)
            elif (vectors.part(self, "col_lower", *ends) == vectors.part(self, "col_upper", *ends)).all():
                x[place] = vectors.part(self, "col_lower", *ends)
            else:
                raise ModelError(f"the point gives no values for the columns {block.name!r}")
        return x

    def objective(self, x: np.ndarray) -> float:
        """Return the objective of a point, its constant included.

        Parameters
        ----------
        x : float64 (columns,)

        Returns
        -------
        float
        """
        return float(self.c @ x + self.offset)


@dataclass(frozen=True)
class CountedModel(Model):
    """A model that is only counted (odtc.model.blocks): blocks and the sizes of terms, but no numbers.

    `costs` and `sides` are the numbers of nonzero costs and of nonzero row sides; `bounds` is the number of lines that
    an MPS file has for the bounds of columns.
    """

    costs: int = 0
    sides: int = 0
    bounds: int = 0


def _read_only(A: Any) -> Any:
    """Return the sparse array with read-only parts, so that the solved model stays as it was built."""
    for part in (A.data, A.indices, A.indptr):
        part.setflags(write=False)
    return A


def _parts(
    block: Block | NamedBlock, terms: list[Term], most: int, across: int, by_rows: bool
) -> Iterator[tuple[int, int, Entries]]:
    """Yield (begin, end, entries): the terms of one block, cut along its first axis, or its first two; `across` is
    how many rows the model has, or, `by_rows`, columns."""
    labels = block.shape[0] if block.shape else 1
    inner, counts = block.size // labels, _entries_of_labels(terms, labels, by_rows)
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    width = inner // max(block.shape[1], 1) if len(block.shape) > 1 else inner
    runs = iter(runs_of([term.sides(by_rows) for term in terms]))
    run, pattern = next(runs, None), None
    end = 0
    while end < labels:
        begin = end
        end = max(begin + 1, int(np.searchsorted(before, before[begin] + most, "right")) - 1)
        pairs: list[tuple[int, int] | None] = [None]
        if counts[begin] > most and len(block.shape) > 1:  # too many entries for one label: divide its second labels
            few = max(1, block.shape[1] * most // int(counts[begin]))
            pairs = [(low, min(low + few, block.shape[1])) for low in range(0, block.shape[1], few)]
        while run is not None and run.end <= begin:
            run, pattern = next(runs, None), None
        for second in pairs:
            low, high = (width * label for label in second) if second else (0, inner)
            if run is not None and run.begin <= begin and end <= run.end:
                if pattern is None:
                    mine, one = [terms[k] for k in run.which], (run.begin, run.begin + 1)
                    pattern = Pattern(run, (_sorted(block, mine, one, pair, across, by_rows) for pair in pairs))
                part: Entries = MovedEntries(pattern, (begin, end), (low, high), across, by_rows)
            else:
                part = _sorted(block, terms, (begin, end), second, across, by_rows)
            yield block.start + begin * inner + low, block.start + (end - 1) * inner + high, part


def _entries_of_labels(terms: list[Term], labels: int, by_rows: bool) -> np.ndarray:
    """Return the number of entries of each first label, int64 (labels,). They differ within a block: a split at the
    root is in the constraints of all leaves, a lower one in the constraints of few."""
    counts = np.zeros(labels, np.int64)
    for term in terms:
        places = (term.rows if by_rows else term.columns).places
        lead = places[0].reshape(-1) if places else np.zeros(1, np.intp)
        counts += np.bincount(lead, minlength=labels) * (term.nnz // max(1, lead.size))
    return counts


def _sorted(
    block: Block | NamedBlock,
    terms: Sequence[Term],
    first: tuple[int, int],
    second: tuple[int, int] | None,
    across: int,
    by_rows: bool,
) -> Entries:
    """Return the lines (columns or, `by_rows`, rows) of some first labels of a block, and of some second ones if they
    are given."""
    inner = block.size // (block.shape[0] if block.shape else 1)
    low, high = block.start + first[0] * inner, block.start + first[1] * inner
    if second:
        low, high = (low + label * (inner // block.shape[1]) for label in second)
    pieces = [piece for term in terms if (piece := term.part(*first, by_rows, second)) is not None]
    pieces = pieces or [(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0))]
    rows, columns, coefs = (part[0] if len(part) == 1 else np.concatenate(part) for part in zip(*pieces))
    pieces.clear()
    lines, places = (rows, columns) if by_rows else (columns, rows)
    return sorted_entries(lines - low, places, coefs, (high - low, across), by_rows)

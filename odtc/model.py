"""A mixed-integer linear model as blocks of columns and rows, and terms between them.

A formulation says `m.add(left[i, t], z[i, 2 * t], 1)`: in every row left_i_t the column
z_i_2t stands with coefficient 1. The label arrays broadcast, are kept as they are, and are
multiplied out only when a part of the matrix is asked for; so a model larger than memory
can still be written, column block by column block, and names are computed, never stored.

    min c·x + offset   s.t.  row_lower <= A x <= row_upper,  col_lower <= x <= col_upper,
                             x_j integer where integrality_j = 1

The names are those of scipy.optimize.milp and HiGHS. A model is always a minimisation.
"""

import base64
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from odtc import deadline
from odtc.errors import ModelError, SolutionError
from odtc.memory import expect_room
from odtc.words import Words

CHUNK = 100_000  # nonzeros held at once while the matrix is streamed

SMALL = 1_000_000  # columns and rows that need no thought about memory
LABEL_BYTES = 80  # of a column or a row: cost, bounds, kind, name, and copies while they are joined
ENTRY_BYTES = 40  # of a nonzero while the matrix is assembled

# The columns that Gurobi, CPLEX and COPT make of the ranges of rows: "Rgc4", "MPS_Rgc4".
SLACK = re.compile(r"(MPS_)?Rg")


@dataclass(frozen=True)
class Axis:
    """`size` labels from `first` on: nodes count from 1 (heap order), rows and tests from 0."""

    name: str
    size: int
    first: int = 0

    @property
    def digits(self) -> int:
        return len(str(self.first + self.size - 1))


@dataclass(frozen=True)
class Block:
    """A family of columns (or rows): `start` is the place of its first member, C order.

    Names are `<name>_<label>_<label>`, each label zero-padded to the width of its axis, so
    that all names of a block have one length.
    """

    name: str
    axes: tuple[Axis, ...]
    start: int
    role: str = ""

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(axis.size for axis in self.axes)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def stop(self) -> int:
        return self.start + self.size

    @property
    def width(self) -> int:
        """The length of each name."""
        return len(self.name) + sum(1 + axis.digits for axis in self.axes)

    def __getitem__(self, labels) -> "Cells":
        labels = labels if isinstance(labels, tuple) else (labels,)
        if len(labels) != len(self.axes):
            raise ModelError(f"block {self.name!r} has {len(self.axes)} axes, got {len(labels)} labels")
        places = []
        for axis, label in zip(self.axes, labels):
            place = np.asarray(label) - axis.first
            if place.size and (place.min() < 0 or place.max() >= axis.size):
                raise ModelError(f"block {self.name!r}: a label of axis {axis.name!r} is out of range")
            places.append(place)
        return Cells(self, tuple(places))

    def all(self) -> "Cells":
        """Every member, with one broadcast axis per block axis."""
        return self[np.ix_(*(axis.first + np.arange(axis.size) for axis in self.axes))]

    def names(self, begin: int = 0, end: int | None = None) -> np.ndarray:
        """Names of members begin .. end as ASCII, uint8 of shape (end - begin, width)."""
        return self._written(np.arange(begin, self.size if end is None else end))

    def _written(self, rest: np.ndarray) -> np.ndarray:
        """The names of the members at these places of the grid."""
        table = np.empty((len(rest), self.width), dtype=np.uint8)
        stem = np.frombuffer(self.name.encode("ascii"), dtype=np.uint8)
        table[:, : len(stem)] = stem
        at = self.width
        for axis in reversed(self.axes):
            rest, label = np.divmod(rest, axis.size)
            label = label + axis.first
            for _ in range(axis.digits):
                at -= 1
                label, digit = np.divmod(label, 10)
                table[:, at] = digit + ord("0")
            at -= 1
            table[:, at] = ord("_")
        return table

    def places(self, words: Words) -> np.ndarray:
        """The place within the block of each of these names, -1 for another's."""
        return words.places(self.name, [(axis.digits, axis.first, axis.size) for axis in self.axes])

    def to_json(self) -> dict:
        axes = [{"name": a.name, "size": a.size, "first": a.first} for a in self.axes]
        return {"name": self.name, "role": self.role, "axes": axes}


@dataclass(frozen=True, eq=False)
class PickedBlock(Block):
    """A Block that has only some members of its grid: `members` are their places in it, int64, ascending.

    It has one axis of labels, the members from 0 on; the names are those of the grid.
    """

    members: np.ndarray = None

    def __post_init__(self):
        self.members.setflags(write=False)

    def __eq__(self, other):
        return (isinstance(other, PickedBlock) and self.to_json() == other.to_json() and self.start == other.start)

    __hash__ = Block.__hash__

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.members),)

    @property
    def size(self) -> int:
        return len(self.members)

    def __getitem__(self, labels) -> "Cells":
        place = np.asarray(labels)
        if place.size and (place.min() < 0 or place.max() >= self.size):
            raise ModelError(f"block {self.name!r}: a label is out of range")
        return Cells(self, (place,))

    def all(self) -> "Cells":
        return self[np.arange(self.size)]

    def names(self, begin: int = 0, end: int | None = None) -> np.ndarray:
        return self._written(self.members[begin:end])

    def places(self, words: Words) -> np.ndarray:
        """As of Block."""
        grid = super().places(words)
        at = np.searchsorted(self.members, grid)
        found = (grid >= 0) & (at < self.size)
        found[found] = self.members[at[found]] == grid[found]
        return np.where(found, at, -1)

    def to_json(self) -> dict:
        mask = np.zeros(int(np.prod([axis.size for axis in self.axes], dtype=np.int64)), bool)
        mask[self.members] = True
        packed = zlib.compress(np.packbits(mask).tobytes(), 6)
        return super().to_json() | {"members": base64.b64encode(packed).decode("ascii")}


@dataclass(frozen=True)
class NamedBlock:
    """Columns or rows with names of their own: what a model file that odtc did not write holds."""

    table: tuple[str, ...]
    start: int = 0
    name: str = ""
    role: str = ""

    @property
    def size(self) -> int:
        return len(self.table)

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.table),)

    @property
    def stop(self) -> int:
        return self.start + len(self.table)

    @property
    def width(self) -> int:
        return max(map(len, self.table), default=1)

    def names(self, begin: int = 0, end: int | None = None) -> np.ndarray:
        part = self.table[begin:end]
        packed = np.array([name.encode() for name in part], dtype=f"S{self.width}")
        padded = np.frombuffer(packed.tobytes(), dtype=np.uint8).reshape(len(part), -1).copy()
        padded[padded == 0] = ord(" ")
        return padded

    def places(self, words: Words) -> np.ndarray:
        """As of Block."""
        known = {name: at for at, name in enumerate(self.table)}
        return np.fromiter((known.get(name, -1) for name in words), np.int64, len(words))


@dataclass(frozen=True)
class Cells:
    """Members of a block by label arrays (as places from 0) that broadcast together."""

    block: Block
    places: tuple[np.ndarray, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return np.broadcast_shapes(*(place.shape for place in self.places)) if self.places else ()

    def flat(self) -> np.ndarray:
        """Their places in the model, int32 of the broadcast shape."""
        index = np.int32(self.block.start)
        for place, stride in zip(self.places, _strides(self.block.shape)):
            index = index + place.astype(np.int32, copy=False) * np.int32(stride)
        return np.asarray(index)


@dataclass(frozen=True)
class Term:
    """coef · columns in rows; the shapes of all three broadcast to one entry each."""

    rows: Cells
    columns: Cells
    coef: np.ndarray

    @property
    def shape(self) -> tuple[int, ...]:
        return np.broadcast_shapes(self.rows.shape, self.columns.shape, self.coef.shape)

    def part(self, begin: int, end: int, by_rows: bool = False):
        """(rows, columns, coefs), flat, of the entries whose column (or row) has a first label in
        begin .. end; None where there are none."""
        size, ndim, split = self.shape, len(self.shape), len(self.rows.places)
        parts = [p.reshape((1,) * (ndim - p.ndim) + p.shape)
                 for p in (*self.rows.places, *self.columns.places, self.coef)]
        side, first = (self.rows, 0) if by_rows else (self.columns, split)
        if side.places:
            varying = [axis for axis in range(ndim) if parts[first].shape[axis] > 1]
            if len(varying) > 1:  # rare: no single axis to cut along, so multiply out first
                parts = [np.broadcast_to(p, size).reshape(-1) for p in parts]
                varying = [0]
            inside = (parts[first] >= begin) & (parts[first] < end)
            if not inside.any():
                return None
            if not inside.all():
                axis, keep = varying[0], np.flatnonzero(inside)
                parts = [np.take(p, keep, axis) if p.shape[axis] > 1 else p for p in parts]
        rows = Cells(self.rows.block, tuple(parts[:split])).flat()
        columns = Cells(self.columns.block, tuple(parts[split:-1])).flat()
        shape = np.broadcast_shapes(rows.shape, columns.shape, parts[-1].shape)
        return tuple(np.broadcast_to(p, shape).reshape(-1) for p in (rows, columns, parts[-1]))

    @property
    def nnz(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))


@dataclass(frozen=True)
class Model:
    """See the module's first lines. Vectors are float64 of shape (columns,) or (rows,), read-only;
    `integrality` is uint8. `lazy` names the row blocks that are needed, but may be left to the solver until they are
    violated, `user_cuts` those that no integer point breaks and that only tighten the relaxation."""

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
    separated: tuple[tuple[str, str], ...] = ()  # of these, the blocks of rows that no build makes again: (name, family)
    terms: tuple[Term, ...] = field(default=(), repr=False)
    matrix: object = field(default=None, repr=False)  # the csc_array of a model read from a file
    problem: object = field(default=None, repr=False, compare=False)  # what it was built from
    maximised: bool = False  # by the file it was read from: `c` and `offset` are then negated

    def __post_init__(self):
        for array in (self.c, self.row_lower, self.row_upper, self.col_lower, self.col_upper, self.integrality):
            array.setflags(write=False)

    @property
    def n_cols(self) -> int:
        return len(self.c)

    @property
    def n_rows(self) -> int:
        return len(self.row_lower)

    @cached_property
    def nnz(self) -> int:
        return self.matrix.nnz if self.matrix is not None else sum(term.nnz for term in self.terms)

    @cached_property
    def A(self):
        """The constraint matrix, scipy.sparse.csc_array of shape (rows, columns)."""
        if self.matrix is not None:
            return self.matrix
        import scipy.sparse as sp

        if self.nnz > SMALL:
            expect_room(ENTRY_BYTES * self.nnz, f"the matrix of a model with {self.nnz:,} nonzeros")
        parts = [part for _, _, part in self.column_chunks()]
        if len(parts) == 1:
            return parts[0]
        starts = np.cumsum([0] + [part.nnz for part in parts])
        indptr = np.concatenate([[0]] + [part.indptr[1:] + at for part, at in zip(parts, starts)])
        indices = np.concatenate([part.indices for part in parts])
        data = np.concatenate([part.data for part in parts])
        if starts[-1] < 2**31:  # scipy wants both index arrays of one type
            indptr = indptr.astype(np.int32)
        return sp.csc_array((data, indices, indptr), shape=(self.n_rows, self.n_cols))

    def column_chunks(self, most: int = CHUNK) -> Iterator[tuple[int, int, object]]:
        """(begin, end, csc_array of columns begin .. end) over all columns, in order.

        Each chunk lies within one block and holds about `most` nonzeros, or one first label.
        """
        for block in self.columns:
            if self.matrix is not None:
                yield block.start, block.stop, self.matrix[:, block.start : block.stop]
                continue
            terms = [term for term in self.terms if term.columns.block is block]
            for begin, end, (rows, columns, coefs) in _pieces(block, terms, most, by_rows=False):
                part = _sparse(coefs, rows, columns - begin, (self.n_rows, end - begin)).tocsc()
                part.sort_indices()
                yield begin, end, part

    def row_chunks(self, most: int = CHUNK, blocks=None) -> Iterator[tuple[int, int, object]]:
        """(begin, end, csr_array of rows begin .. end) over all rows, or those of `blocks`, in order, as
        `column_chunks`."""
        whole = self.matrix.tocsr() if self.matrix is not None else None
        for block in self.rows if blocks is None else blocks:
            if whole is not None:
                yield block.start, block.stop, whole[block.start : block.stop]
                continue
            terms = [term for term in self.terms if term.rows.block is block]
            for begin, end, (rows, columns, coefs) in _pieces(block, terms, most, by_rows=True):
                part = _sparse(coefs, rows - begin, columns, (end - begin, self.n_cols)).tocsr()
                part.sort_indices()
                yield begin, end, part

    def split(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """A point of shape (columns,) as one array per column block, in the block's shape."""
        return split_point(self.columns, x)

    def join(self, values: dict[str, np.ndarray]) -> np.ndarray:
        """The point whose blocks hold these values (broadcast to their shapes); fixed columns fill
        themselves. Raises ModelError for a block that is neither given nor fixed."""
        x = np.empty(self.n_cols)
        for block in self.columns:
            place = slice(block.start, block.stop)
            if block.name in values:
                x[place] = np.broadcast_to(values[block.name], block.shape).reshape(-1)
            elif (self.col_lower[place] == self.col_upper[place]).all():
                x[place] = self.col_lower[place]
            else:
                raise ModelError(f"the point gives no values for the columns {block.name!r}")
        return x

    def objective(self, x: np.ndarray) -> float:
        return float(self.c @ x + self.offset)


class ModelBuilder:
    """Collects blocks and terms; `finish` freezes them into a Model."""

    def __init__(self, name: str):
        self.name = name
        self._columns, self._rows, self._terms = [], [], []
        self._cost, self._lower, self._upper, self._integer = [], [], [], []
        self._row_lower, self._row_upper = [], []
        self._lazy, self._base = [], None
        self._n_cols = self._n_rows = 0

    @classmethod
    def onto(cls, model: Model) -> "ModelBuilder":
        """A builder that begins with all of a built model, so that no column and no row is renumbered:
        what it adds stands behind them."""
        m = cls(model.name)
        m._columns, m._rows, m._terms, m._base = [*model.columns], [*model.rows], [*model.terms], model
        m._cost, m._lower, m._upper, m._integer = [model.c], [model.col_lower], [model.col_upper], [model.integrality]
        m._row_lower, m._row_upper, m._lazy = [model.row_lower], [model.row_upper], [*model.lazy]
        m._n_cols, m._n_rows = model.n_cols, model.n_rows
        return m

    def columns(self, name: str, *axes: Axis, role: str = "", cost=0.0, lower=0.0, upper=1.0,
                integer: bool | np.ndarray = False, members: np.ndarray | None = None) -> Block:
        """A new block of columns; cost, bounds and kind broadcast to its shape. A cost that is itself
        large is given as a function, asked for when there is known to be room for it. `members`
        picks places of the grid, as in PickedBlock."""
        block = Block(name, axes, self._n_cols, role)
        if members is not None:
            block = PickedBlock(name, axes, self._n_cols, role, members)
        self._expect_room(block.stop, self._n_rows)
        cost = cost() if callable(cost) else cost
        self._columns.append(block)
        self._n_cols = block.stop
        for store, value in ((self._cost, cost), (self._lower, lower), (self._upper, upper)):
            store.append(np.broadcast_to(np.asarray(value, float), block.shape).reshape(-1))
        self._integer.append(np.broadcast_to(np.asarray(integer, np.uint8), block.shape).reshape(-1))
        return block

    def rows(self, name: str, *axes: Axis, lower=-np.inf, upper=np.inf, lazy: bool = False) -> Block:
        """A new block of rows; their bounds broadcast to its shape. `lazy` as in Model."""
        block = Block(name, axes, self._n_rows)
        self._expect_room(self._n_cols, block.stop)
        self._rows.append(block)
        self._lazy += [name] if lazy else []
        self._n_rows = block.stop
        for store, value in ((self._row_lower, lower), (self._row_upper, upper)):
            store.append(np.broadcast_to(np.asarray(value, float), block.shape).reshape(-1))
        return block

    def add(self, rows: Cells, columns: Cells, coef=1.0) -> None:
        """coef · columns in rows; no (row, column) pair may come twice in a model."""
        deadline.check()
        term = Term(rows, columns, np.asarray(coef, float))
        if term.nnz:
            self._terms.append(term)

    def constant(self, value: float) -> None:
        """A constant of the objective, as a column fixed to 1 (FORMATS §5: no constant in a file is
        read alike by all solvers)."""
        if value:
            self.columns("objconst", role="constant", cost=value, lower=1.0, upper=1.0)

    def _expect_room(self, n_cols: int, n_rows: int) -> None:
        """Raises ModelError before a model is laid out that no index or no memory can hold."""
        if max(n_cols, n_rows) >= 2**31:
            raise ModelError(
                f"the model would have at least {n_cols:,} columns and {n_rows:,} rows, more than 2^31 - 1; "
                "use a smaller --depth, or fewer tests (for instance --encoding auto:bins=8)"
            )
        if n_cols + n_rows > SMALL:
            expect_room(LABEL_BYTES * (n_cols + n_rows), f"a model of at least {n_cols:,} columns and {n_rows:,} rows")

    def finish(self) -> Model:
        joined = lambda parts: np.concatenate(parts) if parts else np.zeros(0)  # noqa: E731
        vectors = dict(
            c=joined(self._cost), row_lower=joined(self._row_lower), row_upper=joined(self._row_upper),
            col_lower=joined(self._lower), col_upper=joined(self._upper), integrality=joined(self._integer),
            columns=tuple(self._columns), rows=tuple(self._rows), lazy=tuple(self._lazy), terms=tuple(self._terms),
        )
        return replace(self._base, **vectors) if self._base is not None else Model(self.name, offset=0.0, **vectors)


def split_point(blocks, x: np.ndarray) -> dict[str, np.ndarray]:
    """A point as one array per block of columns, in the block's shape."""
    return {block.name: x[block.start : block.stop].reshape(block.shape) for block in blocks}


def blocks_from_json(facts: list[dict]) -> tuple[Block, ...]:
    """Blocks as `to_json` wrote them, in order, with their places computed anew."""
    blocks, start = [], 0
    for fact in facts:
        axes = tuple(Axis(a["name"], int(a["size"]), int(a["first"])) for a in fact["axes"])
        block = Block(fact["name"], axes, start, fact["role"])
        if "members" in fact:
            packed = np.frombuffer(zlib.decompress(base64.b64decode(fact["members"])), np.uint8)
            members = np.flatnonzero(np.unpackbits(packed, count=block.size))
            block = PickedBlock(block.name, axes, start, block.role, members)
        blocks.append(block)
        start = blocks[-1].stop
    return tuple(blocks)


def name_list(blocks) -> list[str]:
    """All names of these blocks, in order."""
    names = []
    for block in blocks:
        table = block.names()
        packed = np.ascontiguousarray(table).view(f"S{table.shape[1]}").ravel()
        names += [name.rstrip() for name in packed.astype(str).tolist()]
    return names


def align(blocks, names, values: np.ndarray) -> np.ndarray:
    """The point that these name-value pairs give, float64 of shape (columns,); absent names are 0.

    `names` are Words or texts; None where the values are those of all columns, in their order.
    Raises SolutionError for a name that is no column of the model, or that comes twice.
    """
    size = blocks[-1].stop if blocks else 0
    if names is None:
        return point_at(np.arange(len(values)), None, values, size)
    words = names if isinstance(names, Words) else Words.of(names)
    places = np.full(len(words), -1, np.int64)
    for block in blocks:
        rest = np.flatnonzero(places < 0)
        found = block.places(words if len(rest) == len(words) else words.take(rest))
        places[rest] = np.where(found < 0, -1, found + block.start)
    return point_at(places, words, values, size)


def point_at(places: np.ndarray, names: Words | None, values: np.ndarray, size: int) -> np.ndarray:
    """The point with these values at these places, 0 elsewhere; place -1 is a name that is no column.

    Raises SolutionError for such a name, unless it is of a slack that a solver added to a range, for
    a place that comes twice, and for another number of values where there are no names.
    """
    if names is None and len(values) != size:
        raise SolutionError(
            f"expected {size} values, one for each column of the model, got {len(values)}; the solution belongs to another model"
        )
    foreign = np.flatnonzero(places < 0)
    for at in foreign.tolist():
        if not SLACK.match(names[at]):
            raise SolutionError(f"column {names[at][:60]!r} of the solution is not in the model; it belongs to another one")
    if len(foreign):
        keep = places >= 0
        names, places, values = names.take(keep), places[keep], np.asarray(values)[keep]
    seen = np.zeros(size, bool)
    seen[places] = True
    if np.count_nonzero(seen) < len(places):
        order = np.argsort(places, kind="stable")
        at = int(order[1:][places[order[1:]] == places[order[:-1]]].min())
        raise SolutionError(f"column {names[at][:60]!r} comes twice in the solution, the second time in line {names.line(at)}")
    x = np.zeros(size)
    x[places] = values
    return x


def _pieces(block: Block, terms, most: int, by_rows: bool):
    """(begin, end, (rows, columns, coefs)): the terms of one block, cut along its first axis."""
    labels = block.shape[0] if block.axes else 1
    inner = block.size // labels
    step = max(1, int(labels * most / max(most, sum(term.nnz for term in terms))))
    for begin in range(0, labels, step):
        end = min(begin + step, labels)
        pieces = [piece for term in terms if (piece := term.part(begin, end, by_rows)) is not None]
        pieces = pieces or [(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0))]
        joined = tuple(part[0] if len(part) == 1 else np.concatenate(part) for part in zip(*pieces))
        yield block.start + begin * inner, block.start + end * inner, joined


def _sparse(coefs, rows, columns, shape):
    import scipy.sparse as sp

    entries = sp.coo_array((coefs, (rows, columns)), shape=shape)
    # A formulation writes each entry once (law 5 tests it), so scipy need not look.
    entries.has_canonical_format = True
    return entries


def _strides(shape) -> list[int]:
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return strides[::-1]

"""Entries of some lines of a matrix, columns or rows: enough to write a file without scipy, whose import takes longer
than writing a small model.

If all first labels of a family have the same pattern of entries, the pattern is computed and sorted once, and then
shifted. For a term r[f(t) + g(j)], c[t, h(j)] with first labels t and other labels j, the entries of t are the entries
of t₀, shifted by f(t) - f(t₀) positions. All rows of a family shift by the same distance, and families do not overlap,
so sorted entries stay sorted. Other terms do not form patterns, for example if a row depends on t and j together, or a
coefficient depends on t.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from odtc.base.value_class import value_class
from odtc.model.blocks import Cells, strides

FEW_VALUES = 256  # up to this many different coefficients of a pattern are stored once each, as a table of codes
# Different pairs of position and coefficient are stored once each if, on average, a pair occurs in at least SHARED
# lines and in at least the share OFTEN of all lines.
SHARED, OFTEN = 4, 0.05


@value_class
class Entries:
    """Lines of a matrix: line j has the entries indptr[j] .. indptr[j + 1] - 1, in ascending order of `indices`.

    Attributes
    ----------
    data : float64 (entries,)
    indices : int32 (entries,), their positions across the lines
    indptr : int32 (lines + 1,), the first entry of each line
    across : int, greater than all positions
    by_rows : bool, whether the lines are rows
    """

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    across: int
    by_rows: bool

    @property
    def nnz(self) -> int:
        return len(self.data)

    def sparse(self) -> Any:
        """Return the lines as a csr_array of scipy.sparse, or, of columns, a csc_array."""
        import scipy.sparse as sp

        lines = len(self.indptr) - 1
        made, shape = (sp.csr_array, (lines, self.across)) if self.by_rows else (sp.csc_array, (self.across, lines))
        return made((self.data, self.indices, self.indptr), shape)


def sorted_entries(
    line: np.ndarray, place: np.ndarray, data: np.ndarray, size: tuple[int, int], by_rows: bool
) -> Entries:
    """Return the Entries of unsorted entries, which must have no duplicates; `size` is (lines, across)."""
    lines, across = size
    indptr = np.zeros(lines + 1, np.int32)
    np.cumsum(np.bincount(line, minlength=lines), out=indptr[1:])
    key: np.ndarray = line.astype(np.uint32 if lines * across < 2**32 else np.int64)
    np.multiply(key, across, out=key, casting="unsafe")
    np.add(key, place, out=key, casting="unsafe")
    if (key[1:] < key[:-1]).any():
        order = np.argsort(key)
        del key
        place = place[order]
        data = data[order]
    return Entries(np.ascontiguousarray(data), place.astype(np.int32, copy=False), indptr, across, by_rows)


@value_class
class Move:
    """Distances by which the entries of a term shift from label to label: Σ stride · position over the axes of the
    other block whose position depends on t. `first` is the first label, `count` the number of labels."""

    first: int
    count: int
    parts: tuple[tuple[int, np.ndarray], ...]

    def of(self, begin: int, end: int) -> np.ndarray:
        """Return int64 (end - begin,): positions in the other block for these labels, up to a constant."""
        moved = np.zeros(end - begin, np.int64)
        for stride, place in self.parts:
            moved += stride * place[begin - self.first : end - self.first].astype(np.int64)
        return moved


@value_class
class Run:
    """Labels begin .. end - 1, each with the terms `which`, and the Move of each block that they refer to."""

    begin: int
    end: int
    which: tuple[int, ...]
    moves: tuple[tuple[Any, Move], ...]


def move_of(mine: Cells, other: Cells, coef: np.ndarray, ndim: int) -> Move | None:
    """Return the move from the entries of each first label of `mine` to the next; None if they differ otherwise."""
    if not mine.places:
        return Move(0, 1, ())
    lead, *rest = (place.reshape((1,) * (ndim - place.ndim) + place.shape) for place in mine.places)
    axes = [axis for axis, size in enumerate(lead.shape) if size > 1]
    labels = lead.reshape(-1)
    if len(axes) > 1 or (labels != labels[0] + np.arange(len(labels))).any():
        return None
    if not axes:
        return Move(int(labels[0]), 1, ())
    axis, parts = axes[0] - ndim, []
    if any(part.ndim >= -axis and part.shape[axis] > 1 for part in (*rest, coef)):
        return None
    for place, stride in zip(other.places, strides(other.block.shape)):
        if place.ndim >= -axis and place.shape[axis] > 1:
            if place.size > place.shape[axis]:
                return None
            parts.append((stride, place.reshape(-1)))
    return Move(int(labels[0]), len(labels), tuple(parts))


def runs_of(terms: Sequence[tuple[Cells, Cells, np.ndarray, int]]) -> list[Run]:
    """Return the runs of two or more labels with the same pattern; each term is (mine, other, coef, axes)."""
    moves = [move_of(*term) for term in terms]
    known = [move for move in moves if move is not None]
    if len(known) < len(moves):
        return []
    edges = sorted({edge for move in known for edge in (move.first, move.first + move.count)})
    found = []
    for begin, end in zip(edges, edges[1:]):
        which = tuple(k for k, move in enumerate(known) if move.first <= begin and end <= move.first + move.count)
        alike: dict[int, tuple[Any, Move]] = {}
        for k in which:
            block = terms[k][1].block
            first = alike.setdefault(block.start, (block, known[k]))[1].of(begin, end)
            mine = known[k].of(begin, end)
            if (mine - mine[0] != first - first[0]).any():
                break
        else:
            if end - begin > 1 and which:
                found.append(Run(begin, end, which, tuple(alike[start] for start in sorted(alike))))
    return found


class Pattern:
    """The sorted entries of the first label of a run: line j, of the `inner` lines of a label, has the entries
    starts[j] to starts[j + 1]."""

    def __init__(self, run: Run, pieces: Iterable[Any]) -> None:
        """`pieces` are the lines of the first label as parts of a sparse matrix, in their order."""
        self.run = run
        parts = [(part.indptr[1:], part.indices, *_coded(part.data)) for part in pieces]
        ends, places, codes, values = zip(*parts)
        sizes = np.cumsum([0] + [len(part) for part in places])
        self.starts = np.concatenate([[0], *(end + at for end, at in zip(ends, sizes))]).astype(np.int64)
        self.places = places[0] if len(places) == 1 else np.concatenate(places)
        self.values = np.unique(np.concatenate(values))
        if any(code is None for code in codes) or len(self.values) > FEW_VALUES:
            self.codes = None
            self.data = np.concatenate([value if code is None else value[code] for code, value in zip(codes, values)])
        else:
            inside = [np.searchsorted(self.values, value).astype(np.uint8)[code] for code, value in zip(codes, values)]
            self.codes = inside[0] if len(inside) == 1 else np.concatenate(inside)
        self.family: np.ndarray | None = None

    def part(self, begin: int, end: int, low: int, high: int) -> tuple[np.ndarray, np.ndarray]:
        """(data, places) of the lines low .. high - 1 of each of the labels begin .. end - 1."""
        first, last = int(self.starts[low]), int(self.starts[high])
        places = self.places[first:last]
        moves = self.moves(begin, end).astype(np.int32)
        placed = (places + (moves if moves.shape[1] == 1 else moves[:, self._families()[first:last]])).reshape(-1)
        data = self.numbers(first, last)
        if end - begin > 1:
            data = np.broadcast_to(data, (end - begin, len(data))).reshape(-1)
        return data, placed

    def shared(self) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """Return the different pairs of position and coefficient, in ascending order of position, as (places, values,
        of): entry k is pair of[k]. None if pairs repeat too rarely (`SHARED`, `OFTEN`), or there are many different
        coefficients."""
        codes = self.codes
        if codes is None or not len(self.places):
            return None
        low, kinds = int(self.places.min()), len(self.values)
        size = (int(self.places.max()) + 1 - low) * kinds
        if size > 4 * len(self.places):
            return None  # the search would take more memory than the entries
        met = np.zeros(size, bool)
        for key in self._keys(codes, low):
            met[key] = True
        pairs, lines = np.flatnonzero(met), len(self.starts) - 1
        if len(self.places) < max(SHARED * len(pairs), OFTEN * lines * len(pairs)):
            return None
        met[pairs] = False
        of, at = np.empty(len(self.places), np.min_scalar_type(len(pairs))), 0
        for key in self._keys(codes, low):
            met[key] = True
            of[at : at + len(key)] = np.flatnonzero(met[pairs])  # entries of a line are by rising place
            met[key] = False
            at += len(key)
        return (pairs // kinds + low).astype(np.int32), self.values[pairs % kinds], of

    def _keys(self, codes: np.ndarray, low: int) -> Iterator[np.ndarray]:
        """Yield int64: places, counted from `low`, and numbers of the entries, line by line."""
        for begin, end in zip(self.starts.tolist(), self.starts[1:].tolist()):
            yield (self.places[begin:end].astype(np.int64) - low) * len(self.values) + codes[begin:end]

    def moved(self, label: int, places: np.ndarray) -> np.ndarray:
        """Return the positions of these places of the pattern for a label, int64, of the same shape."""
        moves = self.moves(label, label + 1)[0]
        moved: np.ndarray = places + (moves[0] if len(moves) == 1 else moves[self.family_of(places)])
        return moved

    def moves(self, begin: int | None = None, end: int | None = None) -> np.ndarray:
        """Return the distances from the entries of the first label to the entries of these labels, by default of all;
        int64 (labels, families), or (labels, 1) if all families move alike."""
        base = self.run.begin
        begin, end = base if begin is None else begin, self.run.end if end is None else end
        moves = [move.of(begin, end) - move.of(base, base + 1) for _, move in self.run.moves]
        if all((other == moves[0]).all() for other in moves[1:]):
            moves = moves[:1]
        return np.stack(moves, axis=1)

    def family_of(self, places: np.ndarray) -> np.ndarray:
        """Return the number of the row (or column) family that contains each of these positions of the pattern."""
        stops = np.array([block.stop for block, _ in self.run.moves])
        return np.searchsorted(stops, places, "right").astype(np.min_scalar_type(len(stops)))

    def numbers(self, first: int = 0, last: int | None = None) -> np.ndarray:
        """Return float64: the coefficients of the entries first .. last - 1, of all by default."""
        return self.data[first:last] if self.codes is None else self.values[self.codes[first:last]]

    def _families(self) -> np.ndarray:
        """Integers (entries,): which family of the other side each entry is in."""
        if self.family is None:
            self.family = self.family_of(self.places)
        return self.family


class MovedEntries(Entries):
    """The lines low .. high - 1 of each of the labels begin .. end - 1 of a pattern, whose entries are laid out when
    they are needed."""

    def __init__(self, pattern: Pattern, labels: tuple[int, int], lines: tuple[int, int], across: int, by_rows: bool):
        starts = pattern.starts[lines[0] : lines[1] + 1] - pattern.starts[lines[0]]
        indptr = starts[:-1] + np.arange(labels[1] - labels[0])[:, None] * starts[-1]
        vars(self).update(pattern=pattern, labels=labels, lines=lines, across=across, by_rows=by_rows)
        vars(self)["indptr"] = np.append(indptr.reshape(-1), starts[-1] * len(indptr)).astype(np.int32)

    pattern: Pattern
    labels: tuple[int, int]
    lines: tuple[int, int]

    @property
    def nnz(self) -> int:
        return int(self.indptr[-1])

    def __getattr__(self, name: str) -> np.ndarray:
        if name not in ("data", "indices"):
            raise AttributeError(name)
        laid_out = self.pattern.part(*self.labels, *self.lines)
        vars(self).update(zip(("data", "indices"), laid_out))
        return laid_out[name == "indices"]


def _coded(data: np.ndarray) -> tuple[np.ndarray | None, np.ndarray]:
    """(codes, values) with data = values[codes]; (None, data) if there are many different values."""
    if not len(data):
        return np.zeros(0, np.uint8), np.zeros(0)
    if (data == data[0]).all():
        return np.zeros(len(data), np.uint8), data[:1].copy()
    if np.isin(data, data[:2]).all():
        values = np.unique(data[:2])
        return np.searchsorted(values, data).astype(np.uint8), values
    values, codes = np.unique(data, return_inverse=True)
    return (codes.astype(np.uint8), values) if len(values) <= FEW_VALUES else (None, data)

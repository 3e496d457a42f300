"""The entries of a family whose first labels all hold one pattern: it is laid out and sorted once, then moved.

Where a term says r[f(t) + g(j)], c[t, h(j)] for the labels t and all other labels j, the entries of t are those of t₀,
f(t) - f(t₀) places further on. The rows of one family move alike, and families do not overlap, so that sorted entries
stay sorted. Other terms (rows that depend on t and j together, coefficients that depend on t) are no patterns.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from odtc.model.blocks import Cells, strides

FEW_VALUES = 256  # different coefficients of a pattern, which are kept once each


@dataclass(frozen=True)
class Move:
    """How far the entries of a term move from label to label: Σ stride · place over the labels of the other side that
    follow t. `first` is its first label; it has `count` of them."""

    first: int
    count: int
    parts: tuple[tuple[int, np.ndarray], ...]

    def of(self, begin: int, end: int) -> np.ndarray:
        """int64 (end - begin,): places of the other side for these labels, but for a constant."""
        moved = np.zeros(end - begin, np.int64)
        for stride, place in self.parts:
            moved += stride * place[begin - self.first : end - self.first].astype(np.int64)
        return moved


@dataclass(frozen=True)
class Run:
    """Labels begin .. end - 1, each with the terms `which`, and how each family of the other side moves."""

    begin: int
    end: int
    which: tuple[int, ...]
    moves: tuple[tuple[Any, Move], ...]


def move_of(mine: Cells, other: Cells, coef: np.ndarray, ndim: int) -> Move | None:
    """How the entries of one first label of `mine` move; None if they are not those of the label before, moved."""
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
    """The runs of two labels and more that hold one pattern, of terms as (mine, other, coef, axes)."""
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

    def part(
        self, begin: int, end: int, low: int = 0, high: int | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(data, places, starts) of the lines low .. high - 1 of each of the labels begin .. end - 1."""
        starts = self.starts[low : None if high is None else high + 1]
        first, last = int(starts[0]), int(starts[-1])
        places = self.places[first:last]
        base = self.run.begin
        moved = [move.of(begin, end) - move.of(base, base + 1) for _, move in self.run.moves]
        if all((other == moved[0]).all() for other in moved[1:]):
            moves = moved[0].astype(np.int32)[:, None]
        else:
            moves = np.stack(moved, axis=1).astype(np.int32)[:, self._families()[first:last]]
        placed = (places + moves).reshape(-1)
        data = self.data[first:last] if self.codes is None else self.values[self.codes[first:last]]
        if end - begin > 1:
            data = np.broadcast_to(data, (end - begin, len(data))).reshape(-1)
        lines = (starts[:-1] - first) + np.arange(end - begin)[:, None] * (last - first)
        return data, placed, np.append(lines.reshape(-1), len(placed)).astype(np.int32)

    def _families(self) -> np.ndarray:
        """Integers (entries,): which family of the other side each entry is in."""
        if self.family is None:
            stops = np.array([block.stop for block, _ in self.run.moves])
            self.family = np.searchsorted(stops, self.places, "right").astype(np.min_scalar_type(len(stops)))
        return self.family


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

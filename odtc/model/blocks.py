"""Families of columns or rows of a model (blocks), from which names and positions are computed instead of stored.

In a model that is only counted (`counting`) blocks have their exact numbers of labels, but there are no entries.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from itertools import chain, count
from typing import Any, Self

import numpy as np

from odtc.base.compression import pack, unpack
from odtc.base.text import did_you_mean
from odtc.errors import ModelError
from odtc.model.name_spans import Words

# Names of the columns that Gurobi, CPLEX and COPT create for ranges of rows: "Rgc4", "MPS_Rgc4".
SLACK = re.compile(r"(MPS_)?Rg")
PIECE = 1 << 20  # bytes of packed bits that are unpacked at once
MANY_LABELS = 1 << 16  # longer arrays are stored in few bytes, and not inspected in a model that is only counted
_COUNTING: ContextVar[bool] = ContextVar("counting", default=False)


@contextmanager
def counting() -> Iterator[None]:
    """Build models inside this context with blocks and counts, but without vectors and entries."""
    token = _COUNTING.set(True)
    try:
        yield
    finally:
        _COUNTING.reset(token)


def is_counting() -> bool:
    """Return whether models are only counted here, so that only the shapes of labels are used."""
    return _COUNTING.get()


def labels_where(mask: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return `np.nonzero(mask)`: a formulation adds one entry for each nonzero cell.

    Parameters
    ----------
    mask : array of any shape

    Returns
    -------
    tuple of int arrays (entries,), one for each axis
        In a model that is only counted, zeros of the same shape that take no memory.
    """
    if is_counting():
        return (np.broadcast_to(np.intp(0), int(np.count_nonzero(mask))),) * mask.ndim
    return np.nonzero(mask)


@dataclass(frozen=True)
class Axis:
    """An axis of `size` labels, counted from `first`: nodes count from 1 (heap order), rows and splits from 0."""

    name: str
    size: int
    first: int = 0
    names: Sequence[frozenset[str]] = field(default=(), repr=False, compare=False)  # the texts that mean each label

    @property
    def digits(self) -> int:
        return len(str(self.first + self.size - 1))


@dataclass(frozen=True)
class Block:
    """A family of columns (or rows) in C order; `start` is the position of the first in the model.

    Names are `<name>_<label>_<label>`. Each label is zero-padded to the width of its axis, so all names of a block
    have the same length.
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

    def names(self) -> list[str]:
        """Return the names of its variables, in their order."""
        return _texts(self.name_table())

    def known_by(self, names: Callable[[Axis], Sequence[frozenset[str]]]) -> Self:
        """Return the block with the texts that mean the labels of each axis."""
        return replace(self, axes=tuple(replace(axis, names=names(axis)) for axis in self.axes))

    def named(self, labels: tuple[Any, ...]) -> list[str]:
        """Return the names of the variables with these labels: one label per axis, or only texts, in any order.

        Parameters
        ----------
        labels : tuple of int, str or slice(None)

        Raises
        ------
        ModelError
            If a label means none of the block.
        """
        grid = np.unravel_index(self.grid_places(), tuple(axis.size for axis in self.axes))
        kept = np.ones(self.size, bool)
        by_axis = len(labels) == len(self.axes)
        for at, label in enumerate(labels):
            if isinstance(label, slice) and label == slice(None):
                continue
            axes = [at] if by_axis else range(len(self.axes))
            found = [(axis, chosen) for axis in axes if len(chosen := self._labels(axis, label))]
            if not found:
                known = [name for axis in axes for one in self.axes[axis].names for name in sorted(one)]
                numbers = [f"{axis.first} to {axis.first + axis.size - 1} ({axis.name})" for axis in self.axes]
                raise ModelError(
                    f"expected a label of {self.name!r}: {'a text, or ' * bool(known)}a number {', '.join(numbers)}; "
                    f"got {str(label)!r:.80}{did_you_mean(str(label), known)}"
                )
            axis, chosen = found[0]
            kept &= np.isin(grid[axis], chosen)
        table = self.name_table()[kept]
        return _texts(table) if len(table) else []

    def grid_places(self) -> np.ndarray:
        """Return the position of each variable in the grid of all labels, int64 (variables,)."""
        return np.arange(self.size)

    def _labels(self, axis: int, label: Any) -> list[int]:
        """Return the places along an axis that a label means."""
        of = self.axes[axis]
        if isinstance(label, str):
            return [at for at, names in enumerate(of.names) if label in names]
        return [label - of.first] if isinstance(label, int) and 0 <= label - of.first < of.size else []

    def __getitem__(self, labels: Any) -> Any:
        labels = labels if isinstance(labels, tuple) else (labels,)
        if any(isinstance(label, str) for label in labels):
            return self.named(labels)
        if len(labels) != len(self.axes):
            raise ModelError(f"block {self.name!r} has {len(self.axes)} axes, got {len(labels)} labels")
        places = []
        for axis, label in zip(self.axes, labels):
            if (
                is_counting()
                and np.size(label) > MANY_LABELS
                and (not axis.first or not any(np.asarray(label).strides))
            ):
                places.append(np.asarray(label))
                continue
            place = np.asarray(label) - axis.first
            if place.size and (place.min() < 0 or place.max() >= axis.size):
                raise ModelError(f"block {self.name!r}: a label of axis {axis.name!r} is out of range")
            # The model stores these arrays: large ones in the smallest type that fits the axis.
            least = np.min_scalar_type(axis.size) if place.size > MANY_LABELS else np.dtype(np.int32)
            places.append(place.astype(least) if place.dtype.itemsize > least.itemsize else place)
        return Cells(self, tuple(places))

    def all(self) -> "Cells":
        """Return the cells of all its variables, with one broadcast axis per block axis."""
        cells: Cells = self[np.ix_(*(axis.first + np.arange(axis.size) for axis in self.axes))]
        return cells

    def name_table(self, begin: int = 0, end: int | None = None) -> np.ndarray:
        """Return the names of variables begin .. end - 1 as ASCII, uint8 of shape (end - begin, width)."""
        end = self.size if end is None else end
        inner = self.size // self.axes[0].size if self.axes and self.size else 0
        if end - begin < 2 * inner or not inner:
            return self._written(np.arange(begin, end))
        # A name begins with its first label; the rest repeats for every first label, so it is written once.
        low, high = begin // inner, -(-end // inner)
        table = np.empty((high - low, inner, self.width), np.uint8)
        head = self.width - sum(1 + axis.digits for axis in self.axes[1:])
        for part, at in (
            (self._written(np.arange(low, high) * inner)[:, None, :head], 0),
            (self._written(np.arange(inner))[None, :, head:], head),
        ):
            if width := part.shape[2]:
                cells = np.ndarray(table.shape[:2], f"V{width}", table, at, table.strides[:2])
                cells[...] = np.ascontiguousarray(part).view(f"V{width}")[..., 0]
        return table.reshape(-1, self.width)[begin - low * inner : end - low * inner]

    def _written(self, rest: np.ndarray) -> np.ndarray:
        """Return the names of the variables at these positions of the grid."""
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
        """Return int64 (words,): the place of each name within the block, -1 for a name of another block."""
        return words.places(self.name, [(axis.digits, axis.first, axis.size) for axis in self.axes])

    def to_json(self) -> dict[str, Any]:
        """Return the block as in manifests, without its place in the model."""
        axes = [{"name": a.name, "size": a.size, "first": a.first} for a in self.axes]
        return {"name": self.name, "role": self.role, "axes": axes}


@dataclass(frozen=True, eq=False)
class PickedBlock(Block):
    """A block with only some variables of a grid of labels: `positions` are their indices in it, int64, ascending.

    Its only axis numbers the variables from 0, but each variable keeps its name from the grid.
    """

    positions: np.ndarray = None  # type: ignore[assignment]  # behind the fields of Block, which have a default

    def __post_init__(self) -> None:
        self.positions.setflags(write=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PickedBlock) and self.to_json() == other.to_json() and self.start == other.start

    __hash__ = Block.__hash__

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.positions),)

    @property
    def size(self) -> int:
        return len(self.positions)

    def grid_places(self) -> np.ndarray:
        """As of Block."""
        return self.positions

    def __getitem__(self, labels: Any) -> Any:
        if any(isinstance(label, str) for label in (labels if isinstance(labels, tuple) else (labels,))):
            return self.named(labels if isinstance(labels, tuple) else (labels,))
        place = np.asarray(labels)
        if place.size and (place.min() < 0 or place.max() >= self.size):
            raise ModelError(f"block {self.name!r}: a label is out of range")
        return Cells(self, (place,))

    def all(self) -> "Cells":
        return Cells(self, (np.arange(self.size),))

    def name_table(self, begin: int = 0, end: int | None = None) -> np.ndarray:
        return self._written(self.positions[begin:end])

    def places(self, words: Words) -> np.ndarray:
        """As of Block."""
        grid = super().places(words)
        at = np.searchsorted(self.positions, grid)
        found = (grid >= 0) & (at < self.size)
        found[found] = self.positions[at[found]] == grid[found]
        return np.where(found, at, -1)

    def to_json(self) -> dict[str, Any]:
        mask = np.zeros(int(np.prod([axis.size for axis in self.axes], dtype=np.int64)), bool)
        mask[self.positions] = True
        return super().to_json() | {"positions": pack(np.packbits(mask).tobytes())}


@dataclass(frozen=True)
class NamedBlock:
    """Columns or rows with arbitrary names, as in a model file that odtc did not write."""

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

    def names(self) -> list[str]:
        """Return the names of its variables, in their order."""
        return list(self.table)

    def known_by(self, names: Callable[[Axis], Sequence[frozenset[str]]]) -> Self:
        """Return itself: its variables have no labels."""
        return self

    def name_table(self, begin: int = 0, end: int | None = None) -> np.ndarray:
        """Return the names of variables begin .. end - 1 as UTF-8, uint8 (end - begin, width), padded with blanks."""
        part = self.table[begin:end]
        packed = np.array([name.encode() for name in part], dtype=f"S{self.width}")
        padded = np.frombuffer(packed.tobytes(), dtype=np.uint8).reshape(len(part), self.width).copy()
        padded[padded == 0] = ord(" ")
        return padded

    def places(self, words: Words) -> np.ndarray:
        """As of Block."""
        known = {name: at for at, name in enumerate(self.table)}
        return np.fromiter((known.get(name, -1) for name in words), np.int64, len(words))


@dataclass(frozen=True)
class Cells:
    """Variables (or constraints) of a block, given by label arrays (positions from 0) that broadcast together."""

    block: Block
    places: tuple[np.ndarray, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return np.broadcast_shapes(*(place.shape for place in self.places)) if self.places else ()

    def flat(self) -> np.ndarray:
        """Return their positions in the model, int32 of the broadcast shape."""
        index: Any = np.int32(self.block.start)
        for place, stride in zip(self.places, strides(self.block.shape)):
            index = index + place.astype(np.int32, copy=False) * np.int32(stride)
        return np.asarray(index)


def blocks_from_json(facts: list[dict[str, Any]]) -> tuple[Block, ...]:
    """Return blocks as `to_json` wrote them, in order, with their positions computed again."""
    blocks, start = [], 0
    for fact in facts:
        axes = tuple(Axis(a["name"], int(a["size"]), int(a["first"])) for a in fact["axes"])
        block = Block(fact["name"], axes, start, fact["role"])
        if "positions" in fact:
            packed = np.frombuffer(unpack(fact["positions"], -(-block.size // 8)), np.uint8)
            positions = _places_of_bits(packed, block.size)
            block = PickedBlock(block.name, axes, start, block.role, positions)
        blocks.append(block)
        start = blocks[-1].stop
    return tuple(blocks)


def _places_of_bits(packed: np.ndarray, size: int) -> np.ndarray:
    """Return the positions of the ones among the first `size` bits. They are unpacked PIECE by PIECE, because an
    unpacked bit takes a byte."""
    found = [np.zeros(0, np.int64)]
    for begin in range(0, len(packed), PIECE):
        bits = np.unpackbits(packed[begin : begin + PIECE], count=min(8 * PIECE, size - 8 * begin))
        found.append(np.flatnonzero(bits) + 8 * begin)
    return np.concatenate(found)


def strides(shape: tuple[int, ...]) -> list[int]:
    """Return the distance in variables of a block between neighbouring labels of each axis."""
    found, step = [], 1
    for size in reversed(shape):
        found.append(step)
        step *= size
    return found[::-1]


def _texts(table: np.ndarray) -> list[str]:
    """Return the names of a table of bytes, one a row."""
    packed = np.ascontiguousarray(table).view(f"S{table.shape[1]}").ravel()
    return [name.rstrip() for name in packed.astype(str).tolist()]


def unused_name(stem: str, blocks: Iterable[Block | NamedBlock]) -> str:
    """Return `stem`, with a number behind it if one of the blocks has this name."""
    taken = {block.name for block in blocks}
    return next(name for name in chain([stem], (f"{stem}{number}" for number in count(2))) if name not in taken)

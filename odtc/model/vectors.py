"""Store the vectors of a model (costs, sides, bounds) in parts, which are joined to an array only if it is needed.

In nearly all blocks of a model all costs are equal, and so are all sides and bounds. As arrays these would be two
thirds of the memory of a model whose entries are not stored. So file writers read them piece by piece (`part`);
`model.row_lower` is the whole array, which is created once.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

VECTORS = ("c", "row_lower", "row_upper", "col_lower", "col_upper", "integrality")
M = TypeVar("M", bound=Any)
C = TypeVar("C", bound=type)


class Joined:
    """Concatenation of arrays, each flattened; an array that repeats a single number is stored as that number.

    Parameters
    ----------
    parts : arrays of any shapes, which are read in C order
    """

    def __init__(self, parts: Sequence[np.ndarray]) -> None:
        kept = [part for part in parts if part.size]
        self.dtype = np.result_type(*parts) if parts else np.dtype(float)
        self.parts = [part.flatten() if any(part.strides) else part.flat[:1] for part in kept]
        self.stops = np.cumsum([part.size for part in kept], dtype=np.int64)
        self._whole: np.ndarray | None = None

    def __len__(self) -> int:
        return int(self.stops[-1]) if len(self.stops) else 0

    @property
    def is_laid_out(self) -> bool:
        return self._whole is not None

    def part(self, begin: int, end: int) -> np.ndarray:
        """Return the numbers from `begin` to `end` - 1."""
        parts = self.parts  # read first, as in `whole`
        if self._whole is not None:
            return self._whole[begin:end]
        found, at = [], int(np.searchsorted(self.stops, begin, "right"))
        while begin < end:
            stop, part = int(self.stops[at]), parts[at]
            last, start = min(end, stop), stop - self._size(at)
            found.append(
                part[begin - start : last - start] if len(part) == stop - start else np.repeat(part, last - begin)
            )
            begin, at = last, at + 1
        return found[0] if len(found) == 1 else np.concatenate([np.zeros(0, self.dtype), *found])

    def whole(self) -> np.ndarray:
        """Return all numbers, read-only, and the same array each time.

        Solvers that run in parallel may call this for one model in several threads. `parts` is emptied only after
        `_whole` is set; so if `parts` is read first and `_whole` is then None, the parts are complete.
        """
        parts = self.parts
        if self._whole is None:
            # Pages of zeros that are never written take no physical memory.
            joined, at = np.zeros(len(self), self.dtype), 0
            for part, stop in zip(parts, self.stops.tolist(), strict=True):
                if len(part) > 1 or part[0] != 0 or np.signbit(part[0]):
                    joined[at:stop] = part
                at = stop
            joined.setflags(write=False)
            if self._whole is None:
                self._whole = joined
                self.parts = []
        return self._whole

    def _size(self, at: int) -> int:
        return int(self.stops[at] - (self.stops[at - 1] if at else 0))


class _LaidOut:
    """Descriptor of a field that is set to an array or to a Joined, and read as an array."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, model: Any, of: Any = None) -> Any:
        if model is None:
            raise AttributeError(self.name)  # the same as for a field without a default
        held = vars(model)[self.name]
        return held.whole() if isinstance(held, Joined) else held

    def __set__(self, model: Any, value: Any) -> None:
        if isinstance(value, np.ndarray):
            value.setflags(write=False)
        vars(model)[self.name] = value


def laid_out_when_asked(model: C) -> C:
    """Decorate a class so that its fields named in VECTORS also accept a Joined."""
    for name in VECTORS:
        setattr(model, name, _LaidOut(name))
    return model


def held(model: Any, name: str) -> Any:
    """Return a vector as the model stores it: an array, or a Joined."""
    return vars(model)[name]


def part(model: Any, name: str, begin: int = 0, end: int | None = None) -> np.ndarray:
    """Return the numbers `begin` to `end` - 1 of a vector of a model, without laying it out."""
    of = held(model, name)
    end = len(of) if end is None else end
    return of.part(begin, end) if isinstance(of, Joined) else of[begin:end]


def parts(model: Any, name: str) -> list[np.ndarray]:
    """Return the arrays whose concatenation is a vector of a model."""
    of = held(model, name)
    arrays = of.parts if isinstance(of, Joined) else []  # read first, as in `Joined.whole`
    if isinstance(of, Joined) and not of.is_laid_out:
        return [np.broadcast_to(array, of._size(at)) for at, array in enumerate(arrays)]
    return [of.whole() if isinstance(of, Joined) else of]


def replaced(model: M, **changes: Any) -> M:
    """Return `dataclasses.replace(model, **changes)`, but without creating the arrays of unchanged vectors."""
    return replace(model, **({name: held(model, name) for name in VECTORS} | changes))


def same(one: Any, other: Any, name: str) -> bool:
    """Return whether two models share the same array object, not only equal arrays."""
    return held(one, name) is held(other, name) or getattr(one, name) is getattr(other, name)

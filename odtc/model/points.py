"""Points of a model: values by name as a vector over its columns, and a vector as one array per block."""

import numpy as np

from odtc.errors import SolutionError
from odtc.model.blocks import SLACK
from odtc.model.name_spans import Words


def split_point(blocks, x: np.ndarray) -> dict[str, np.ndarray]:
    """A point as one array per block of columns, in the block's shape."""
    return {block.name: x[block.start : block.stop].reshape(block.shape) for block in blocks}


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
            f"expected {size} values, one for each column of the model, got {len(values)}; the solution belongs to "
            f"another model"
        )
    foreign = np.flatnonzero(places < 0)
    for at in foreign.tolist():
        if not SLACK.match(names[at]):
            raise SolutionError(
                f"column {names[at][:60]!r} of the solution is not in the model; it belongs to another one"
            )
    if len(foreign):
        keep = places >= 0
        names, places, values = names.take(keep), places[keep], np.asarray(values)[keep]
    seen = np.zeros(size, bool)
    seen[places] = True
    if np.count_nonzero(seen) < len(places):
        order = np.argsort(places, kind="stable")
        at = int(order[1:][places[order[1:]] == places[order[:-1]]].min())
        raise SolutionError(
            f"column {names[at][:60]!r} comes twice in the solution, the second time in line {names.line(at)}"
        )
    x = np.zeros(size)
    x[places] = values
    return x

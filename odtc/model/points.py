"""Points of a model: values by name as a vector over its columns, and a vector as one array per block."""

from collections.abc import Sequence

import numpy as np

from odtc.errors import SolutionError
from odtc.model.blocks import SLACK, Block, NamedBlock
from odtc.model.name_spans import Words


def split_point(blocks: Sequence[Block | NamedBlock], x: np.ndarray) -> dict[str, np.ndarray]:
    """Return a point as one array per block of columns, in the block's shape."""
    return {block.name: x[block.start : block.stop].reshape(block.shape) for block in blocks}


def name_list(blocks: Sequence[Block | NamedBlock]) -> list[str]:
    """Return all names of some blocks.

    Parameters
    ----------
    blocks : sequence of Block or NamedBlock

    Returns
    -------
    list of str
        In the order of the model.
    """
    names: list[str] = []
    for block in blocks:
        names += block.names()
    return names


def align(blocks: Sequence[Block | NamedBlock], names: Words | Sequence[str] | None, values: np.ndarray) -> np.ndarray:
    """Return the point that these pairs of names and values describe; absent names are 0.

    Parameters
    ----------
    blocks : the blocks of columns of the model, in order
    names : the name of each value; None for one value per column, in their order
    values : float64 of shape (names,)

    Returns
    -------
    float64 of shape (columns,)

    Raises
    ------
    SolutionError
        If a name is not a column of the model, or comes twice.
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
    """Return the point with these values at these places, 0 elsewhere.

    Parameters
    ----------
    places : int64 of shape (values,); -1 for a name that is not a column
    names : the name of each value, for messages; None if the file has no names
    values : float64 of shape (values,)
    size : the number of columns

    Returns
    -------
    float64 of shape (size,)

    Raises
    ------
    SolutionError
        If a name is not a column (nor a slack that a solver added to a range), if a place comes twice, or if `names` is
        None and there are not `size` values.
    """
    columns = Words.of([]) if names is None else names
    if names is None and len(values) != size:
        raise SolutionError(
            f"expected {size} values, one for each column of the model, got {len(values)}; the solution belongs to "
            f"another model"
        )
    foreign = np.flatnonzero(places < 0)
    for at in foreign.tolist():
        if not SLACK.match(columns[at]):
            rows_first = len(foreign) == len(places)
            raise SolutionError(
                f"column {columns[at][:60]!r} of the solution is not in the model; it belongs to another one"
                + ", or it is cut off before the columns, as CBC writes the rows first" * rows_first
            )
    if len(foreign):
        keep = places >= 0
        columns, places, values = columns.take(keep), places[keep], np.asarray(values)[keep]
    seen = np.zeros(size, bool)
    seen[places] = True
    if np.count_nonzero(seen) < len(places):
        order = np.argsort(places, kind="stable")
        at = int(order[1:][places[order[1:]] == places[order[:-1]]].min())
        raise SolutionError(
            f"column {columns[at][:60]!r} comes twice in the solution, the second time in line {columns.line(at)}"
        )
    x = np.zeros(size)
    x[places] = values
    return x

"""The columns of a file, whose parts the workers of a cluster read, code, and put together by twos.

What comes back is what one process reads: the same cells in the same order, the same codes. Whatever a worker cannot
read (a quote in a CSV file, a broken row, a file that it does not see) is left to one process, which reads the file
anew and tells what is wrong with it by its row.
"""

from collections.abc import Callable, Collection, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import polars as pl

from odtc.base.cluster import Cluster, lost
from odtc.data.coded_columns import narrowed
from odtc.data.column_coding import MOST_WORDS, Column, WordsNeeded, code_columns, exact_numbers
from odtc.errors import OdtcError

RETRIES = 3  # of a part whose worker was lost
EACH = 3  # runs of parts for a worker, at least: what is lost with one, and what the last one waits for
LONGEST = 16  # parts of a run
Made = TypeVar("Made")


class Unread(OdtcError):
    """One process has to read the file."""


def columns_of(
    cluster: Cluster, path: Path, reader: Any, words: Collection[str], size: int, names: Sequence[str] | None = None
) -> list[Column]:
    """The columns of a file.

    Parameters
    ----------
    cluster : Cluster, whose workers see the file under the same path
    path : path
    reader : module of odtc.data.readers
    words : collection of str, as `keep_words` of odtc.data.column_coding.code_columns
    size : int, bytes of a part
    names : sequence of str, the columns that are read; None for all

    Raises
    ------
    Unread
        If the file has one part only, or a worker could not read its part.
    WordsNeeded
        As odtc.data.column_coding.code_columns.
    """
    parts = reader.parts(path, size)
    if len(parts) < 2:
        raise Unread("it has one part only")
    place, full = repr(str(path)), path.absolute()
    try:
        with cluster.client() as client:
            once = {"pure": False, "retries": RETRIES}
            read = [
                client.submit(coded, reader.NAME, full, some, place, words, names, **once)
                for some in runs(parts, EACH * sum(client.nthreads().values()))
            ]
            found = reduced(read, lambda a, b: client.submit(joined, a, b, words, **once)).result()
    except lost() as problem:
        raise Unread(f"the cluster was lost: {problem}") from None
    return whole(found)


def runs(parts: Sequence[Made], many: int) -> list[Sequence[Made]]:
    """Neighbours in at least so many runs, if there are as many parts, of at most LONGEST each."""
    length = max(1, min(LONGEST, len(parts) // max(1, many)))
    return [parts[at : at + length] for at in range(0, len(parts), length)]


def reduced(parts: Sequence[Made], join: Callable[[Made, Made], Made]) -> Made:
    """Neighbours joined by twos until one is left."""
    while len(parts) > 1:
        last = [] if len(parts) % 2 == 0 else [parts[-1]]
        parts = [join(a, b) for a, b in zip(parts[::2], parts[1::2])] + last
    return parts[0]


def whole(found: "list[Column] | str | None") -> list[Column]:
    """What came of all parts; raises for a column that needs its words, or a part that was not read."""
    if isinstance(found, str):
        raise WordsNeeded(found)
    if not found:
        raise Unread("a part was not read")
    return found


def coded(
    reader: str,
    path: Path,
    parts: Sequence[Any],
    place: str,
    words: Collection[str],
    names: Sequence[str] | None = None,
) -> "list[Column] | str | None":
    """The columns of parts that follow one another, one part in memory at a time; the name of a column that needs its
    words; None if a part cannot be read here. `words` and `names` as of `columns_of`."""
    from odtc.data.reading import READERS  # it uses this module

    try:
        read = READERS.get(reader).part
        frames = chain.from_iterable(read(path, part) for part in parts)
        return code_columns((frame if names is None else frame.select(names) for frame in frames), place, words)
    except WordsNeeded as needed:
        return needed.name
    except (OdtcError, OSError, UnicodeDecodeError):
        return None


def joined(
    left: "list[Column] | str | None", right: "list[Column] | str | None", words: Collection[str]
) -> "list[Column] | str | None":
    """The columns of two parts, one above the other."""
    for one in (left, right):
        if one is None or isinstance(one, str):
            return one
    assert isinstance(left, list) and isinstance(right, list)
    if not left or not right:
        return left or right
    try:
        return [_column(a, b, a.name in words) for a, b in zip(left, right, strict=True)]
    except WordsNeeded as needed:
        return needed.name


def _column(above: Column, below: Column, keep_words: bool) -> Column:
    if above.values is None and below.values is None:
        place = {cell: number for number, cell in enumerate(above.cells.to_list(), 1)}
        seen = [place.setdefault(cell, len(place) + 1) for cell in below.cells.to_list()]
        code = np.append(0, np.array(seen, np.int64))[below.code]
        cells = pl.Series(above.name, list(place), dtype=above.cells.dtype)
        many = len(place) + 1
        codes = np.concatenate([narrowed(above.code, many), narrowed(code, many)])
        made = Column(above.name, above.dtype, cells, codes, None, above.place)
        if many <= MOST_WORDS + 1 or keep_words or isinstance(above.dtype, (pl.Categorical, pl.Enum)):
            return made
        try:
            return _held(made, _numbers_of(made))
        except WordsNeeded:
            return made
    return _held(above, np.concatenate([_numbers_of(above), _numbers_of(below)]))


def _held(column: Column, values: np.ndarray) -> Column:
    """The column held as numbers."""
    return Column(column.name, column.dtype, column.cells.head(0), np.zeros(0, np.uint8), values, column.place)


def _numbers_of(column: Column) -> np.ndarray:
    """float64 (rows,). Raises WordsNeeded if they are not all numbers that doubles tell apart."""
    if column.values is not None:
        return column.values
    return np.append(np.nan, exact_numbers(column.cells, column.name))[column.code]

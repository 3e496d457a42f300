"""Columns of a file whose parts the workers of a cluster read and code.

The different cells of the parts are merged in pairs, on the workers; the codes of the rows, which are most of the
data, stay there until the meaning of each is known, and are then fetched once.

The result equals that of one process: the same cells in the same order, the same codes. Anything that a worker cannot
read (a quote in a CSV file, a broken row, a file that it does not see) is left to one process, which reads the file
again and reports the error by its row.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import polars as pl

from odtc.base import deadline
from odtc.base.cluster import RETRIES, Cluster, lost
from odtc.base.value_class import frozen_class
from odtc.base.wording import as_here, option
from odtc.data.cells.missing_marks import Marks
from odtc.data.table.coded_columns import kind_for
from odtc.data.table.column_coding import (
    MOST_WORDS,
    Column,
    Seen,
    WordsNeeded,
    code_columns,
    exact_numbers,
    named_columns,
)
from odtc.errors import OdtcError, TimeLimitReached

EACH = 3  # least number of runs of parts for a worker: the work lost with one, and the last one waits for it
LONGEST = 16  # parts of a run
Made = TypeVar("Made")


class Unread(OdtcError):
    """One process has to read the file."""


def columns_of(
    cluster: Cluster,
    path: Path,
    reader: Any,
    words: Collection[str],
    size: int,
    names: Sequence[str] | None = None,
    decimal: str | None = None,
    marks: Marks | None = None,
) -> list[Column]:
    """Return the columns of a file.

    Parameters
    ----------
    cluster : Cluster, whose workers see the file under the same path
    path : path
    reader : module of odtc.data.cells.readers
    words : collection of str, as `keep_words` of odtc.data.table.column_coding.code_columns
    size : int, bytes of a part
    names : sequence of str, the columns that are read; None for all
    decimal : str or None, as of odtc.data.cells.column_types.finite_numbers
    marks : dict of str to sequence of str, or None, the marks of missing cells by column

    Raises
    ------
    Unread
        If the file has one part only, or a worker could not read its part.
    WordsNeeded
        As odtc.data.table.column_coding.code_columns.
    TimeLimitReached
        If the deadline comes before the columns are here.
    """
    parts = reader.parts(path, size)
    if len(parts) < 2:
        raise Unread("it has one part only")
    place, full = repr(str(path)), path.absolute()
    try:
        with cluster.client() as client:
            once = {"pure": False, "retries": RETRIES}
            read = [
                client.submit(as_here(coded), reader.NAME, full, some, place, words, names, decimal, marks, **once)
                for some in runs(parts, EACH * sum(client.nthreads().values()))
            ]
            known = [client.submit(cells_of, one, **once) for one in read]
            found = whole(
                in_time(reduced(known, lambda a, b: client.submit(as_here(joined), a, b, words, **once)), place)
            )
            return together(found, fetched(client, read, place), place)
    except lost() as problem:
        raise Unread(f"the cluster was lost: {problem}") from None


def in_time(future: Any, place: str) -> Any:
    """Return the result of a future. Raises TimeLimitReached if the deadline comes before it (odtc.base.deadline)."""
    left = deadline.seconds_left()
    if left is None:
        return future.result()
    try:
        return future.result(timeout=max(left, deadline.MOMENT))
    except TimeoutError:
        if not deadline.is_over():
            raise
        raise TimeLimitReached(
            f"{deadline.what_ends()} came while {place} was read by the cluster, so no tree was found; allow more time "
            f"({option('time_limit')}), more workers, or write fewer rows or columns to a file"
        ) from None


def fetched(client: Any, futures: list[Any], place: str) -> Iterator[Any]:
    """Return the results of futures, one after the other; each is released as soon as it has arrived."""
    while futures:
        future = futures.pop(0)
        yield in_time(future, place)
        future.release()


def runs(parts: Sequence[Made], many: int) -> list[Sequence[Made]]:
    """Return neighbours in at least this many runs, if there are as many parts, of at most LONGEST each."""
    length = max(1, min(LONGEST, len(parts) // max(1, many)))
    return [parts[at : at + length] for at in range(0, len(parts), length)]


def reduced(parts: Sequence[Made], join: Callable[[Made, Made], Made]) -> Made:
    """Return neighbours joined by twos until one remains."""
    while len(parts) > 1:
        last = [] if len(parts) % 2 == 0 else [parts[-1]]
        parts = [join(a, b) for a, b in zip(parts[::2], parts[1::2])] + last
    return parts[0]


def whole(found: "list[Cells] | str | None") -> "list[Cells]":
    """Return the merged results of all parts; raises for a column that needs its texts, or a part that was not read."""
    if isinstance(found, str):
        raise WordsNeeded(found)
    if not found:
        raise Unread("a part was not read")
    return found


@frozen_class
class Cells:
    """The different cells of a column in some parts, in the order in which they first appear.

    Attributes
    ----------
    name : str
    dtype : the type in the file
    cells : Series, as of odtc.data.table.column_coding.Column; none if the column is held as numbers
    rows : int
    held : bool, whether it is held as numbers
    decimal : str or None, as of odtc.data.cells.column_types.finite_numbers
    """

    name: str
    dtype: Any
    cells: pl.Series
    rows: int
    held: bool
    decimal: str | None = None


def coded(
    reader: str,
    path: Path,
    parts: Sequence[Any],
    place: str,
    words: Collection[str],
    names: Sequence[str] | None = None,
    decimal: str | None = None,
    marks: Marks | None = None,
) -> "list[Column] | str | None":
    """Return the columns of parts that follow one another, one part in memory at a time; the name of a column that
    needs its words; None if a part cannot be read here. `words`, `names`, `decimal` and `marks` as of `columns_of`."""
    from odtc.data.cells.data_files import READERS  # it uses this module

    try:
        read = READERS.get(reader).part
        frames = chain.from_iterable(read(path, part) for part in parts)
        met: dict[str, set[str]] = {}
        taken = (frame if names is None else named_columns(frame, names, marks, decimal, met) for frame in frames)
        columns = code_columns(taken, place, words, decimal)
        for column in columns:
            column.held |= Seen(met=frozenset(met.get(column.name, ())))
        return columns
    except WordsNeeded as needed:
        return needed.name
    except (OdtcError, OSError, UnicodeDecodeError):
        return None


def cells_of(found: "list[Column] | str | None") -> "list[Cells] | str | None":
    """Return the different cells of columns."""
    if not isinstance(found, list):
        return found
    return [
        Cells(
            one.name,
            one.dtype,
            one.cells,
            len(one.code if one.values is None else one.values),
            one.values is not None,
            one.decimal,
        )
        for one in found
    ]


def joined(
    left: "list[Cells] | str | None", right: "list[Cells] | str | None", words: Collection[str]
) -> "list[Cells] | str | None":
    """Return the cells of two parts, one above the other."""
    for one in (left, right):
        if one is None or isinstance(one, str):
            return one
    assert isinstance(left, list) and isinstance(right, list)
    if not left or not right:
        return left or right
    try:
        return [_cells(a, b, a.name in words) for a, b in zip(left, right, strict=True)]
    except WordsNeeded as needed:
        return needed.name


def _cells(above: Cells, below: Cells, keep_words: bool) -> Cells:
    rows, decimal = above.rows + below.rows, above.decimal
    held = Cells(above.name, above.dtype, above.cells.head(0), rows, True, decimal)
    if above.held or below.held:
        for one in (above, below):
            exact_numbers(one.cells, one.name, decimal)
        return held
    seen = dict.fromkeys(above.cells.to_list() + below.cells.to_list())
    cells = pl.Series(above.name, list(seen), dtype=above.cells.dtype)
    if len(cells) > MOST_WORDS and not keep_words and not isinstance(above.dtype, (pl.Categorical, pl.Enum)):
        try:
            exact_numbers(cells, above.name, decimal)
            return held
        except WordsNeeded:
            pass
    return Cells(above.name, above.dtype, cells, rows, False, decimal)


def together(found: list[Cells], parts: Iterable[list[Column]], place: str) -> list[Column]:
    """Return the columns of parts that follow one another; `found` are the cells of all of them."""
    numbers = [{cell: k for k, cell in enumerate(one.cells.to_list(), 1)} for one in found]
    arrays = [np.empty(one.rows, float if one.held else kind_for(len(one.cells) + 1)) for one in found]
    begin, seen = 0, [Seen()] * len(found)
    for part in filter(None, parts):
        end = begin
        for one, array, number, column in zip(found, arrays, numbers, part, strict=True):
            rows = _numbers_of(column) if one.held else _recoded(column, number, array.dtype)
            end = begin + len(rows)
            array[begin:end] = rows
        seen = [above | column.seen for above, column in zip(seen, part, strict=True)]
        begin = end
    none = np.zeros(0, np.uint8)
    columns = [
        Column(
            one.name, one.dtype, one.cells, none if one.held else array, array if one.held else None, place, one.decimal
        )
        for one, array in zip(found, arrays)
    ]
    for column, facts in zip(columns, seen):
        column.held = facts
    return columns


def _recoded(column: Column, number: dict, kind: np.dtype) -> np.ndarray:
    """Return the codes of a column by the numbers of cells in all parts."""
    seen = [0, *(number[cell] for cell in column.cells.to_list())]
    return column.code if seen == list(range(len(seen))) else np.array(seen, kind)[column.code]


def _numbers_of(column: Column) -> np.ndarray:
    """Return float64 (rows,). Raises WordsNeeded if they are not all numbers that doubles distinguish."""
    if column.values is not None:
        return column.values
    return np.append(np.nan, exact_numbers(column.cells, column.name, column.decimal))[column.code]

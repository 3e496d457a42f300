"""Code the columns of a table frame by frame: each different cell gets a number, so that decisions about a column need
only its different cells, not its rows.

A column of more than `MOST_WORDS` different numbers is stored as numbers (8 bytes a row) once only their values
matter. If a later cell shows that its texts matter after all, `WordsNeeded` is raised and the file is read again with
all the texts of this column.
"""

import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice

import numpy as np
import polars as pl

from odtc.algorithms.number_places import LEAST_CELLS, NumberPlaces, bits_of
from odtc.base import deadline, phases
from odtc.base.value_class import value_class
from odtc.base.whole_numbers import MAX_EXACT
from odtc.base.wording import option
from odtc.data.cells import column_types, written_numbers
from odtc.data.cells.data_files import WIDE
from odtc.data.cells.missing_marks import Marks, without_marks
from odtc.data.reading_spec import MISSING_CELLS, NUMERIC
from odtc.data.table.coded_columns import CodedColumn, narrowed, occurring
from odtc.errors import DataError, OdtcError, TimeLimitReached

PATIENCE = 5.0  # seconds that reading may take even after a limit, because without it there is no tree
MOST_WORDS = 2**16 - 2  # different cells whose codes fit into two bytes, together with 0 for a missing cell


class WordsNeeded(OdtcError):
    """A column is stored as numbers, but has a cell that is not a number, or one beyond 2^53."""

    def __init__(self, name: str):
        super().__init__(f"expected numbers that differ as doubles in column {name!r}")
        self.name = name


@value_class
class Seen:
    """Facts on the texts of the cells of a column, recorded because the column may be stored as numbers.

    Attributes
    ----------
    padded : str or None
        A cell with zeros before its number.
    merged : (str, str) or None
        Two cells whose numbers differ, but round to the same double.
    beside : set of str
        The currencies and signs next to its numbers.
    taken : set of str
        The built-in texts that were taken for missing cells, without the empty one.
    """

    padded: str | None = None
    merged: tuple[str, str] | None = None
    beside: frozenset[str] = frozenset()
    taken: frozenset[str] = frozenset()

    def __or__(self, below: "Seen") -> "Seen":
        """Return the combined facts of these cells and of the cells below them."""
        sets = self.beside | below.beside, self.taken | below.taken
        return Seen(self.padded or below.padded, self.merged or below.merged, *sets)


class Column:
    """A column of a file: its different known cells, and the number of the cell in each row.

    Attributes
    ----------
    name : str
    dtype : the type in the file
    cells : Series
        The different cells (odtc.data.cells.column_types.column_cells), nearly in the order in which they first appear.
    code : unsigned integers (rows,)
        0 for a missing cell, otherwise one more than the position in `cells`.
    values : float64 (rows,) or None
        The numbers, NaN if missing, if the column is stored as numbers; `cells` and `code` are then empty.
    held : Seen
        The facts on cells that are not in `cells`: on missing cells, or on all cells if it is stored as numbers.
    decimal : str or None
        As in odtc.data.cells.column_types.finite_numbers.
    as_written : bool
        Whether 1 and 1.0 are two labels, because the program that made the table means text.
    """

    as_written: bool = False
    held: Seen = Seen()

    def __init__(
        self,
        name: str,
        dtype,
        cells: pl.Series,
        code: np.ndarray,
        values: np.ndarray | None,
        place: str,
        decimal: str | None = None,
    ):
        self.name, self.dtype, self.cells, self.code, self.values, self.place = name, dtype, cells, code, values, place
        self.decimal = decimal

    @property
    def padded(self) -> str | None:
        """A cell that is written like a code, with zeros before its number; None without such a cell."""
        return self.held.padded if self.values is not None else column_types.padded_cell(self.cells)

    @property
    def merged(self) -> tuple[str, str] | None:
        """Two cells whose numbers differ, but round to the same double; None without such cells."""
        return self.held.merged if self.values is not None else column_types.merged_cells(self._plain_cells)

    @property
    def beside(self) -> frozenset[str]:
        """Return the currencies and signs next to its numbers: {"€"}."""
        return self.held.beside if self.values is not None else beside_cells(self.cells, self.decimal)

    @property
    def _plain_cells(self) -> pl.Series:
        return column_types.plain_cells(self.cells, self.decimal)

    @property
    def missing(self) -> np.ndarray:
        """bool (rows,)."""
        return np.isnan(self.values) if self.values is not None else self.code == 0

    def kind(self, categorical: bool, numeric: bool) -> str:
        """Return the kind of the column, as odtc.data.cells.column_types.kind_of."""
        if self.values is not None:
            return NUMERIC
        return column_types.kind_of(self.dtype, self.cells, categorical, numeric, self.decimal)

    def numbers(self, advice: str = "correct it, or name another column") -> CodedColumn:
        """Return the column as numbers. Raises DataError for a cell that is not a finite number, for two different
        numbers that round to the same double, and for numbers in several currencies."""
        if len(self.beside) > 1:
            raise DataError(
                f"expected one currency or unit in column {self.name!r} of {self.place}, got "
                f"{' and '.join(map(repr, sorted(self.beside)))}; write them in one, or leave the column out"
            )
        if self.values is not None:
            return CodedColumn(self.values)
        values = column_types.all_finite(self.cells, self.decimal)
        if values is None:
            finite = column_types.finite_numbers(self.cells, self.decimal)
            is_wrong = (finite.is_null() & self.cells.is_not_null()).to_numpy()
            wrong_rows = np.append(False, is_wrong)[self.code]
            if wrong_rows.any():
                row = int(wrong_rows.argmax())
                cell = self.cells[int(self.code[row]) - 1]
                wrong = pl.Series([cell])
                told = written_numbers.how_to_read([cell], cell) if wrong.dtype == pl.String else None
                if self.decimal is None and told is not None:
                    advice = f"{told[0]} or {advice}"
                column_types.numbers(wrong, self.name, self.place, advice, row + 1, self.decimal)
            values = finite.to_numpy() + 0.0  # cells without a number are only in rows that are left out
        large = np.flatnonzero(np.abs(values) >= MAX_EXACT)
        if large.size:
            first = np.array([int((self.code == at + 1).argmax()) for at in large.tolist()])
            order = np.argsort(first)
            rows, large = first[order], large[order]
            where = f"column {self.name!r} of {self.place}"
            column_types.expect_apart(self._plain_cells[large.tolist()], values[large], where, rows.tolist())
        return CodedColumn(np.append(np.nan, values), self.code)

    def kept(self, keep: np.ndarray | None) -> "Column":
        """Return the column restricted to some rows, bool (rows,); None for all."""
        if keep is None:
            return self
        values = None if self.values is None else self.values[keep]
        code = self.code[keep] if values is None else self.code
        kept = Column(self.name, self.dtype, self.cells, code, values, self.place, self.decimal)
        kept.held, kept.as_written = self.held, self.as_written
        return kept

    @property
    def words(self) -> pl.Series:
        """The different cells that occur in some row, as text."""
        used = occurring(self.code, len(self.cells) + 1)[1:].tolist()
        return self.cells.filter(pl.Series(used, dtype=pl.Boolean)).cast(pl.String)

    @property
    def levels(self) -> tuple[str, ...]:
        """The names of its levels, in order."""
        return column_types.levels_of(self.words, self.as_written)

    def level_codes(self, levels: tuple[str, ...], kind: str) -> CodedColumn:
        """Return the positions of the cells in `levels`; NaN if missing."""
        codes = column_types.level_codes(self.cells.cast(pl.String), levels, kind)
        return CodedColumn(np.append(np.nan, codes), self.code)


class Known:
    """The different cells of a column that were read so far, as they are in the file.

    Attributes
    ----------
    cells : Series, different ones
    number : unsigned integers (cells + 1,)
        Their codes in the column, after a 0 for a missing cell, in the smallest type that fits.
    """

    def __init__(self, cells: pl.Series, number: np.ndarray):
        self.cells, self.number = cells, narrowed(number, int(number.max()) + 1)
        self._in_order = bool((self.number == np.arange(len(number))).all())
        # polars' Enum finds the positions of words twice as fast.
        few = cells.dtype == pl.String and 0 < len(cells) <= MOST_WORDS
        self._type = pl.Enum(cells) if few else None
        self._places = NumberPlaces.of(bits_of(cells.to_numpy())) if _is_number(cells.dtype) else None

    def __len__(self) -> int:
        return len(self.cells)

    def more(self, cells: pl.Series, number: np.ndarray) -> "Known":
        """Return these cells with more cells."""
        return Known(pl.concat([self.cells, cells]), np.concatenate([self.number, number]))

    def codes(self, cells: pl.Series) -> tuple[np.ndarray, pl.Series]:
        """Return the codes of the cells of some rows.

        Returns
        -------
        code : unsigned integers (rows,), one more than the position of each cell; 0 if it is missing or not known yet
        fresh : Series, the different cells that are not known yet
        """
        if not len(self):
            return np.zeros(len(cells), np.uint8), cells.drop_nulls().unique(maintain_order=True)
        if self._places is not None and len(cells) >= LEAST_CELLS:
            return self._codes_of_numbers(self._places, cells)
        if self._type is not None:
            place = cells.cast(self._type, strict=False).to_physical()
        else:
            numbers = pl.int_range(len(self), dtype=pl.UInt32, eager=True)
            place = cells.replace_strict(self.cells, numbers, default=None, return_dtype=pl.UInt32)
        absent, fresh = place.null_count(), cells.head(0)
        if absent > cells.null_count():
            fresh = cells.filter(place.is_null() & cells.is_not_null()).unique(maintain_order=True)
        code = (place.fill_null(0) if absent else place).to_numpy().astype(np.min_scalar_type(len(self)))
        code += code.dtype.type(1)
        if absent:
            code[place.is_null().to_numpy()] = 0
        return code, fresh

    def _codes_of_numbers(self, places: NumberPlaces, cells: pl.Series) -> tuple[np.ndarray, pl.Series]:
        """Return the same as `codes`, by a table of numbers, which is faster."""
        is_missing = cells.is_null().to_numpy() if cells.null_count() else None
        code, absent = places.codes(bits_of((cells if is_missing is None else cells.fill_null(0)).to_numpy()))
        if is_missing is not None:
            code[is_missing] = 0
            absent = None if absent is None else absent & ~is_missing
        if absent is None or not absent.any():
            return code, cells.head(0)
        return code, cells.filter(pl.Series(absent)).unique(maintain_order=True)

    def numbered(self, code: np.ndarray) -> np.ndarray:
        """Return the numbers of `codes`, unsigned integers (rows,)."""
        return code if self._in_order else self.number[code]


class ColumnCoder:
    """Coder of a column that is read frame by frame."""

    def __init__(
        self, series: pl.Series, place: str, keep_words: bool = False, decimal: str | None = None, missing=MISSING_CELLS
    ):
        """Start with `series`, a first piece, of which only name and type are used.

        With `keep_words` the column is never stored only as numbers; `decimal` is as in
        odtc.data.cells.column_types.finite_numbers, `missing` as in `column_cells`. Raises DataError for a type that
        contains no words.
        """
        self.missing = missing
        self.name, self.dtype, self.place, self.decimal = series.name, series.dtype, place, decimal
        self._native = _is_number(series.dtype) or series.dtype == pl.Boolean
        plain = self._native or series.dtype == pl.String
        empty = (series if plain else column_types.column_cells(series.head(1), place)).head(0)
        self._known = Known((series if self._native else empty).head(0), np.zeros(1, np.uint32))
        self._cells, self._place_of, self._codes = pl.Series(self.name, [], dtype=empty.dtype), {}, []
        self._values: list[np.ndarray] | None = None
        self._seen = Seen()
        declared = isinstance(series.dtype, (pl.Categorical, pl.Enum))
        self._keep_words = keep_words or declared

    def add(self, series: pl.Series) -> None:
        """Process the next rows. Raises WordsNeeded as the module describes."""
        if self._values is not None:
            self._values.append(self._as_values(series))
            return
        plain = self._native or series.dtype == pl.String
        raw = series if plain else column_types.cells_as_text(series, self.place)
        raw = raw.fill_nan(None) if raw.dtype.is_float() else raw
        code, fresh = self._known.codes(raw)
        if len(fresh):
            self._known = self._known.more(fresh, self._numbered(fresh))
            code, _ = self._known.codes(raw)
        self._codes.append(self._known.numbered(code))
        if len(self._cells) > MOST_WORDS and not self._keep_words:
            self._drop_words()

    def column(self) -> Column:
        """Return the column of all rows so far."""
        empty = self._codes == []
        code = np.zeros(0, np.uint8) if empty else np.concatenate(self._codes)
        values = None if self._values is None else np.concatenate(self._values)
        self._codes, self._values = [], None
        column = Column(self.name, self.dtype, self._cells, code, values, self.place, self.decimal)
        column.held = replace(self._seen, taken=self._seen.taken - {""})
        return column

    def _numbered(self, fresh: pl.Series) -> np.ndarray:
        """Return the numbers of new cells: 0 if missing, equal for cells with the same text."""
        if not len(self._cells) and len(fresh) >= column_types.POLARS_CELLS:
            cells = column_types.column_cells(fresh, self.place, self.missing)
            if not cells.null_count() and cells.n_unique() == len(cells):  # true for nearly every column of numbers
                self._cells = cells
                return np.arange(1, len(cells) + 1, dtype=np.uint32)
        place = self._place_of = self._place_of or {cell: at for at, cell in enumerate(self._cells.to_list())}
        words = column_types.words_of(fresh, self.place, self.missing)
        if fresh.dtype == pl.String and words.count(None) > fresh.null_count():
            taken = {cell.strip() for cell, word in zip(fresh, words) if word is None and cell is not None}
            self._seen |= Seen(taken=frozenset(taken))
        code = np.array([0 if cell is None else place.setdefault(cell, len(place)) + 1 for cell in words], np.uint32)
        met = pl.Series(self.name, list(islice(place, len(self._cells), None)), dtype=self._cells.dtype)
        self._cells = pl.concat([self._cells, met])
        return code

    def _drop_words(self) -> None:
        """Store the column as numbers from now on, if its texts are numbers that doubles distinguish."""
        try:
            table = np.append(np.nan, self._as_values(self._cells))
        except WordsNeeded:
            self._keep_words = True
            return
        merged = column_types.merged_cells(column_types.plain_cells(self._cells, self.decimal))
        beside = beside_cells(self._cells, self.decimal)
        self._seen |= Seen(column_types.padded_cell(self._cells), merged, beside)
        self._values = [table[code] for code in self._codes]
        self._codes, self._place_of, self._cells = [], {}, self._cells.head(0)
        self._known = Known(self._known.cells.head(0), self._known.number[:1])

    def _as_values(self, series: pl.Series) -> np.ndarray:
        cells = column_types.column_cells(series, self.place, self.missing)
        if self._values is not None:
            is_taken = cells.null_count() > series.null_count()
            taken = frozenset(column_types.missing_words(series) if is_taken else ())
            self._seen |= Seen(beside=beside_cells(cells, self.decimal), taken=taken)
        numbers = column_types.finite_numbers(cells, self.decimal)
        if numbers.null_count() > cells.null_count() or not (numbers.abs() < MAX_EXACT).all():
            raise WordsNeeded(self.name)
        # Adding zero turns -0 into 0, so that both are the same value wherever bytes are compared.
        return numbers.to_numpy() + 0.0


def _is_number(dtype) -> bool:
    return dtype.is_float() or (dtype.is_integer() and not column_types.is_wide(dtype))


def beside_cells(cells: pl.Series, decimal: str | None) -> frozenset[str]:
    """Return the currencies and signs next to the numbers of some cells; none for numbers as programs write them."""
    if decimal is None or cells.dtype != pl.String:
        return frozenset()
    return frozenset(written_numbers.beside(cells, decimal))


def named_columns(
    frame: pl.DataFrame,
    names: Sequence[str],
    marks: Marks | None = None,
    decimal: str | None = None,
    met: dict[str, set[str]] | None = None,
) -> pl.DataFrame:
    """Return the columns with exactly these names, because `select` takes `*` for all columns, and `^b.*$` for a
    pattern. Cells that are `marks` (odtc.data.cells.missing_marks) of their column are missing; `met` receives
    them, by column."""
    columns = [frame.get_column(name) for name in names]
    if not marks:
        return pl.DataFrame(columns)
    for at, column in enumerate(columns):
        columns[at] = without_marks(column, marks.get(column.name, ()), decimal)
        if met is not None and columns[at] is not column:
            gone = column.filter(columns[at].is_null() & column.is_not_null()).cast(pl.String)
            met.setdefault(column.name, set()).update(gone.unique())
    return pl.DataFrame(columns)


def code_columns(
    frames: Iterable[pl.DataFrame],
    place: str,
    keep_words: Collection[str] = (),
    decimal: str | None = None,
    missing: Sequence[str] = MISSING_CELLS,
) -> list[Column]:
    """Return the columns of a table that comes in frames.

    Parameters
    ----------
    frames : iterable of DataFrame
        One or more, with the same columns.
    place : str
        The file, quoted, for messages.
    keep_words : collection of str
        Columns that are not stored only as numbers, because they are named as categories or contain the labels.
    decimal : str or None
        As in odtc.data.cells.column_types.finite_numbers.
    missing : sequence of str
        As in odtc.data.cells.column_types.column_cells.

    Raises
    ------
    WordsNeeded
        If `keep_words` has to contain another column.
    DataError
        For a column whose type contains no words.
    TimeLimitReached
        If the deadline has passed (odtc.base.deadline), and it took PATIENCE.
    """
    frames, began, rows = iter(frames), time.monotonic(), 0
    first = list(islice(frames, 1))
    if decimal is None and first and 0 < first[0].height < column_types.POLARS_CELLS and first[0].width >= WIDE:
        first += islice(frames, 1)
        if len(first) == 1:
            return _columns_at_once(first[0], place, keep_words, missing, began)
    coders: list[ColumnCoder] = []
    for frame in chain(first, frames):
        columns = frame.get_columns()
        coders = coders or [ColumnCoder(one, place, one.name in keep_words, decimal, missing) for one in columns]
        for coder, series in zip(coders, _in_time(columns, place, began, rows), strict=True):
            coder.add(series)
        rows += frame.height
    return [coder.column() for coder in coders]


def _columns_at_once(
    frame: pl.DataFrame, place: str, keep_words: Collection[str], missing: Sequence[str], began: float
) -> list[Column]:
    """Return the columns of a table of one frame; columns of numbers come from odtc.data.table.number_columns."""
    from odtc.data.table.number_columns import number_columns  # only for tables of many columns

    columns = frame.get_columns()
    found = number_columns([one for one in columns if one.name not in keep_words], place, missing)
    none, code = pl.Series([], dtype=pl.String), np.zeros(0, np.uint8)
    made = []
    for series in _in_time(columns, place, began):
        numbers = None if series.name in keep_words else next(found)
        if numbers is None:
            coder = ColumnCoder(series, place, series.name in keep_words, None, missing)
            coder.add(series)
            made.append(coder.column())
            continue
        values, is_plain = numbers
        made.append(Column(series.name, series.dtype, none, code, values, place))
        if not is_plain:
            cells = column_types.column_cells(series, place, missing)
            taken = set(series.filter(cells.is_null()).str.strip_chars().drop_nulls()) - {""}
            merged = column_types.merged_cells(cells.unique(maintain_order=True))
            made[-1].held = Seen(column_types.padded_cell(cells), merged, taken=frozenset(taken))
    return made


def _in_time(columns: Sequence[pl.Series], place: str, began: float, above: int = 0) -> Iterator[pl.Series]:
    """Yield the columns of a frame below `above` rows one by one. Raises TimeLimitReached if the deadline has passed,
    and reading took PATIENCE since it began."""
    for at, series in enumerate(phases.over(columns, f"reading columns of the rows from {above + 1:,}")):
        if deadline.has_waited(began, PATIENCE):
            raise TimeLimitReached(
                f"{deadline.what_ends()} came while {place} was read, after {at:,} of the {len(columns):,} columns of "
                f"its rows from {above + 1:,} to {above + len(series):,}, so no tree was found; allow more time "
                f"({option('time_limit')}), or write fewer rows or columns to a file"
            )
        yield series

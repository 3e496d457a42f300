"""Reader of text separated by commas, semicolons, tabs, | or white space, plain or gzipped, every cell as text.

Files of any other form are described by options (odtc.data.cells.text_records). A column without a name whose
cells are all missing, as spreadsheets write them next to the table, is left out.
"""

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import chain, islice

import numpy as np
import polars as pl

from odtc.base.system import STDERR
from odtc.base.wording import option
from odtc.data.cells.column_types import MISSING_CELLS
from odtc.data.cells.data_files import AGAIN, BATCH, check_names
from odtc.data.cells.text_pieces import (
    head_of,
    save_as_utf8,
    text_pieces,
)
from odtc.data.cells.text_records import (
    MAX_CELL_CHARACTERS,
    SEPARATOR_LINE,
    TextForm,
    cells_text,
    comment_sign,
    is_left_out,
    is_white_space,
    lines_below,
    text_records,
)
from odtc.data.reading_spec import SPACE
from odtc.errors import DataError

HEADER = 1 << 16  # bytes at the beginning of a file in which its header is searched for
QUOTED = re.compile(r'"[^"]*"')
HAS_DIGIT = re.compile(r"\d")
MAX_LINES_ABOVE = 20  # lines of a title above the names of the columns that are tried
SEPARATOR_BYTES = re.compile(SEPARATOR_LINE.pattern.encode(), re.IGNORECASE)
NAMELESS = "\0"  # before the number of a column without a name; no name has it
NAME = "csv"
TEXT = True
OPTIONS = ("header", "separator", "comment", "skip_lines", "on_bad_line", "text_encoding")
SUFFIXES = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".tab", ".tab.gz", ".txt", ".txt.gz")
SUMMARY = "text with a header, separated by commas, semicolons or | (.csv, .txt) or tabs (.tsv, .tab, .txt), also .gz"


def read(path, **options) -> pl.DataFrame:
    """Return all columns as pl.String, an empty cell as null; blank lines are skipped.

    Raises DataError for text that is neither UTF-8 nor UTF-16 with a mark, a repeated column name, cells of a column
    without a name, a row of another width than the header, and quotes that do not close.
    """
    return pl.concat(batches(path, BATCH, **options))


def batches(path, size: int, **options) -> Iterator[pl.DataFrame]:
    """Yield the frames of `read`, for about `size` bytes of text each, one at least.

    As long as lines have no quote, each line is a row, and polars parses it. From the first quote on, rows are read one
    by one, because a quoted cell may contain line ends. So are all rows of a file whose form is described by options.
    """
    if form := _form(path, options):
        yield from _frames_of_records(path, *_described(path, size, form), size)
        return
    pieces, text, header, above = text_pieces(path, size), b"", None, 0
    for piece in pieces:
        if header is None:
            piece, text = (text + piece).lstrip(b"\r\n"), b""
            named = SEPARATOR_BYTES.match(piece)
            piece = piece[named.end() :] if named else piece
        cut = 0 if b'"' in piece else _last_line_end(piece) + 1
        if cut and (header is not None or piece[:cut].strip()):
            block, text = _plain_ends(b"".join((text, memoryview(piece)[:cut]))), piece[cut:]
            if header is None:
                head, _, block = block.partition(b"\n")
                header = head.decode()
                delimiter = _delimiter(path, header)
                names = _names(path, header.split(delimiter))
            frame = _read_plain(path, names, block, delimiter, above)
            above += frame.height
            yield frame
            continue
        text += piece
        if b'"' in piece:
            break
    if header is None:
        if not text.strip():
            raise DataError(f"expected a header and rows of data in {str(path)!r}, got an empty file")
        delimiter = _delimiter(path, text.decode())
    if b'"' in text:
        records = _records(path, _lines(text, pieces), delimiter, header, above)
        yield from _frames_of_records(path, _names(path, next(records)), records, size, above)
    elif text.strip(b"\r\n"):
        text = _plain_ends(text)
        if header is None:
            head, _, text = text.partition(b"\n")
            names = _names(path, head.decode().split(delimiter))
        yield _read_plain(path, names, text, delimiter, above)


def nameless(path, **options) -> list[int]:
    """Return the numbers of the columns without a name, from the second on, counted from 1."""
    if form := _form(path, options):
        names = _described(path, HEADER, form)[0]
        return [at for at, name in enumerate(names, 1) if name.startswith(NAMELESS)]
    text = _without_separator_line(_head(path))
    names = next(csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(path, text)), [])
    return [at for at, name in enumerate(names, 1) if at > 1 and not name.strip()]


def skipped(path, **options) -> list[int]:
    """Return the numbers of the lines that are skipped because they are not rows, from 1."""
    form = _form(path, options)
    if form is None or not form.skips:
        return []
    for _ in _described(path, BATCH, form)[1]:
        pass
    return form.bad


def guesses(path) -> Iterator[dict]:
    """Yield options that leave out comments, or lines above the names of the columns."""
    lines = head_of(path, HEADER).decode(errors="replace").splitlines()
    if (sign := comment_sign(lines)) is not None:
        yield {"comment": sign}
    yield from ({"skip_lines": count} for count in range(1, min(MAX_LINES_ABOVE + 1, len(lines))))


def _form(path, options: dict) -> TextForm | None:
    """Return the form of a file if options describe it, or if white space separates its cells; otherwise None."""
    form = TextForm(**options)
    lines = [line for _, line in _kept_lines(path, form)]
    if form.separator is None and not SEPARATOR_LINE.match(lines[0] if lines else "") and not _names_tab(path):
        if is_white_space(lines):
            return replace(form, separator=SPACE)
    return form if options else None


def _head_lines(path, text_encoding: str | None = None) -> list[str]:
    """Return the first lines of a file, without the last one if it continues after the part that is read."""
    head = next(text_pieces(path, HEADER, text_encoding), b"").decode(errors="ignore")
    lines = list(io.StringIO(head, newline=""))
    return lines if len(lines) < 2 or len(head) < HEADER // 4 else lines[:-1]


def _described(path, size: int, form: TextForm) -> tuple[list[str], Iterator[list[str]]]:
    """Return the names of the columns and the records below them, of a file whose form is described."""
    given, lines = form, lines_below(_lines(b"", text_pieces(path, size, form.text_encoding)), form)
    first = next(((number, line) for number, line in lines if not is_left_out(line, form)), None)
    if first and (named := SEPARATOR_LINE.match(first[1])):
        form = form if form.separator is not None else replace(form, separator=named[1])
        first = next(((number, line) for number, line in lines if not is_left_out(line, form)), None)
    if first is None:
        raise DataError(
            f"expected a header and rows of data in {str(path)!r}, got no line except comments and those that are "
            "skipped"
        )
    if form.separator is None:
        form = replace(form, separator=_delimiter_of(path, first[1]))
    records = text_records(path, chain([first], lines), form, partial(_ragged, path, given))
    header = next(records, None)
    if header is None:
        raise DataError(f"expected rows of data in {str(path)!r}, got none that could be read")
    if form.header:
        return _names(path, header, given), records
    return [f"c{at}" for at in range(1, len(header) + 1)], chain([header], records)


def _frames_of_records(
    path, names: list[str], records: Iterator[list[str]], size: int, above: int = 0
) -> Iterator[pl.DataFrame]:
    """Yield frames of the records that follow `above` earlier rows; at least one frame."""
    of_frame, is_first = max(1, size // (16 * len(names))), True
    while (rows := list(islice(records, of_frame))) or is_first:
        yield _frame(path, names, rows, above)
        above, is_first = above + len(rows), False


def _last_line_end(text: bytes) -> int:
    """Return the position of the last line end; a carriage return at the very end does not count, because it may be
    the first half of a line end."""
    found = text.rfind(b"\n")
    return found if found >= 0 else text.rfind(b"\r", 0, max(0, len(text) - 1))


def _plain_ends(text: bytes) -> bytes:
    """Return the text with line ends of one kind."""
    return text.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in text else text


def _lines(text: bytes, pieces: Iterator[bytes]) -> Iterator[str]:
    """Yield the lines of a text and of the pieces after it, with line ends of any kind."""
    left = text.decode()
    for piece in pieces:
        *lines, left = io.StringIO(left + piece.decode(), newline="")
        yield from lines
    yield from io.StringIO(left, newline="")


def _without_separator_line(text: str) -> str:
    named = SEPARATOR_LINE.match(text)
    return text[named.end() :] if named else text


def _head(path) -> str:
    """Return the first lines of a file."""
    return next(text_pieces(path, HEADER), b"").lstrip(b"\r\n").decode(errors="ignore")


def _delimiter(path, text: str) -> str:
    """Return the separator of a file.

    A first line such as sep=; (written for Excel) names it, and the suffix may imply a tab. Otherwise it is the most
    frequent one of comma, semicolon and tab in the header (in a tie, the comma in .csv and the tab in .txt), or | if
    the header has none of them.
    """
    named = SEPARATOR_LINE.match(_head(path))
    return named[1] if named else _delimiter_of(path, text)


def _delimiter_of(path, text: str) -> str:
    """Return the separator of a file by its suffix and its header."""
    if _names_tab(path):
        return "\t"
    ending = re.search(r"\.txt(\.gz)?$", str(path).lower())
    header = re.split("[\r\n]", QUOTED.sub("", text[: 1 << 16]), maxsplit=1)[0]
    found = max("\t,;" if ending else ",;\t", key=header.count)
    return found if found in header or "|" not in header else "|"


def _names_tab(path) -> bool:
    return re.search(r"\.(tsv|tab)(\.gz)?$", str(path).lower()) is not None


def _read_plain(path, names: list[str], text: bytes, delimiter: str, above: int = 0) -> pl.DataFrame:
    """Return the rows of text without quotes, in which each line is a row. The text is below the header, after `above`
    other rows of the file."""
    if text.startswith(b"\n"):
        text = text.lstrip(b"\n")
    if not text:
        return _with_names(path, pl.DataFrame(schema=dict.fromkeys(names, pl.String)), above)
    data = text if text.endswith(b"\n") else text + b"\n"
    try:
        frame = _parsed(path, names, data, delimiter)
    except pl.exceptions.PolarsError:
        _expect_widths(path, _without_blank_lines(data), delimiter, len(names), above)
        raise
    # polars refuses a long row, but silently fills a short row or a blank line with nulls.
    if frame[names[-1]].has_nulls():
        rows = _without_blank_lines(data)
        _expect_widths(path, rows, delimiter, len(names), above)
        frame = frame if len(rows) == len(data) else _parsed(path, names, rows, delimiter)
    return _with_names(path, frame, above)


def _parsed(path, names: list[str], data: bytes, delimiter: str) -> pl.DataFrame:
    """Return the frame that polars reads from lines of cells, the last of which has a line end."""
    if data.startswith(codecs.BOM_UTF8):  # polars would remove this byte-order mark, which is part of the first cell
        data = codecs.BOM_UTF8 + data
    try:
        with STDERR.away():
            return pl.read_csv(
                data,
                has_header=False,
                schema=dict.fromkeys(names, pl.String),
                separator=delimiter,
                quote_char=None,
            )
    except pl.exceptions.PanicException as problem:  # an internal error of polars, not an error in the file
        raise DataError(
            f"expected that polars could read {str(path)!r}, got {str(problem).partition(chr(10))[0]!r} from it; end "
            "other programs, or allow more file handles (ulimit -n) or memory"
        ) from None


def _without_blank_lines(data: bytes) -> bytes:
    return re.sub(b"\n\n+", b"\n", data) if b"\n\n" in data else data


def _expect_widths(path, data: bytes, delimiter: str, width: int, above: int) -> None:
    """Raise DataError for a line with another number of cells."""
    signs = np.frombuffer(data, dtype=np.uint8)
    is_end = signs == ord("\n")
    marks = is_end[np.flatnonzero(is_end | (signs == ord(delimiter)))]  # one for each cell: whether a row ends there
    widths = np.diff(np.flatnonzero(marks), prepend=-1)
    wrong = np.flatnonzero(widths != width)
    if wrong.size:
        raise _ragged(path, TextForm(), _row_place(above + 1 + wrong[0]), width, widths[wrong[0]])


def _records(path, lines, delimiter: str, header: str | None = None, above: int = 0) -> Iterator[list[str]]:
    """Yield the header and the records of lines. With `header`, the lines begin after `above` rows below it."""
    first = next(csv.reader([header], delimiter=delimiter, strict=True)) if header is not None else None
    number = 0
    if first is not None:
        number = above + 1
        yield first
    before = csv.field_size_limit(MAX_CELL_CHARACTERS)
    try:
        for row in csv.reader(lines, delimiter=delimiter, strict=True):
            if not row:
                continue
            first = first or row
            if len(row) != len(first):
                raise _ragged(path, TextForm(), _row_place(number), len(first), len(row))
            number += 1
            yield row
    except csv.Error as problem:
        raise DataError(
            f"expected quoted cells that open and close with '\"' in {str(path)!r}, but row {number} "
            f"does not ({problem}); double the quotes inside a cell, or "
            f"leave out such lines ({option('on_bad_line', 'skip')})"
        ) from None
    finally:
        csv.field_size_limit(before)


def _frame(path, names: list[str], rows: list[list[str]], above: int = 0) -> pl.DataFrame:
    columns = list(zip(*rows)) or [()] * len(names)
    frame = pl.DataFrame({n: pl.Series(c, dtype=pl.String) for n, c in zip(names, columns)})  # a name may be blank
    return _with_names(path, frame.with_columns(pl.when(pl.all() != "").then(pl.all()).name.keep()), above)


def _with_names(path, frame: pl.DataFrame, above: int) -> pl.DataFrame:
    """Return the columns of a frame that have a name. Raises DataError if a column without a name has a cell that is
    not missing."""
    nameless = [column for column in frame.get_columns() if column.name.startswith(NAMELESS)]
    for column in nameless:
        cells = column.str.strip_chars()
        held = ~cells.is_in(MISSING_CELLS).fill_null(True)
        if held.any():
            row = held.arg_max()
            raise DataError(
                f"expected a name for every column with cells in {str(path)!r}, got a blank one for column "
                f"{column.name.removeprefix(NAMELESS)}, which has {cells[row]!r} in row {above + row + 1}; name it, "
                f"remove the column, or read a file without names with {option('header', False)}"
            )
    return frame.drop([column.name for column in nameless]) if nameless else frame


def _names(path, header: list[str], form: TextForm | None = None) -> list[str]:
    """Return the names of the columns. From the second on, a column without a name gets NAMELESS and its number."""
    if any("\0" in name for name in header):
        raise DataError(
            f"expected UTF-8 text in {str(path)!r}, got bytes of zero in its header, as UTF-16 has; "
            f"{save_as_utf8(path)}"
        )
    names = [name.strip() for name in header]
    if names[0] and len(names) > 1 and not any(names[1:]):
        raise DataError(
            f"expected the names of the {len(names)} columns in the first line of {str(path)!r}, got {names[0]!r} "
            f"and no others, as in a title; if it is one, leave out the lines above the names "
            f"({option('skip_lines', _lines_of_title(path, form or TextForm())[0])})"
        )
    names = [name if name or not at else f"{NAMELESS}{at + 1}" for at, name in enumerate(names)]
    first, found = set(), []
    for at, name in enumerate(names, 1):  # code that reads the columns refuses equal names, unless both are ignored
        found.append(f"{name}{AGAIN}{at}" if name in first else name)
        first.add(name)
    are_words = 2 * sum(re.fullmatch(r"[-+]?[\d.]+", name) is None for name in names) >= len(names)  # else check_names
    if len(first) < len(names) and are_words and _is_row(path, names, form or TextForm()):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(
            f"expected the names of the {len(names)} columns in the first line of {str(path)!r}, got {twice!r} twice "
            "and mostly words that rows below have in the same columns, which looks like data; if the file has no "
            f"names, read it with {option('header', False)}"
        )
    check_names(found, repr(str(path)))
    return found


def _is_row(path, names: list[str], form: TextForm) -> bool:
    """Return whether most of the names are cells of their columns in the first lines below them."""
    lines = [line.strip("\r\n") for _, line in _kept_lines(path, form)]
    sign = form.delimiter or (_delimiter_of(path, lines[0]) if lines else ",")
    rows = [[cell.strip() for cell in (line.split(sign) if sign in line else line.split())] for line in lines[1:]]
    below = zip(*(row for row in rows if len(row) == len(names)))
    return 2 * sum(name in cells for name, cells in zip(names, below)) > len(names)


def _row_place(row: int) -> str:
    return f"row {row} (counted below the header)"


def _ragged(path, form: TextForm, place: str, expected: int, got: int) -> DataError:
    """Return the error for the row at `place`, which has another number of cells than the first row."""
    lines = [line for _, line in _kept_lines(path, form)]
    sign = comment_sign(lines)
    above, width, names = _lines_of_title(path, form)
    one_more = form.header and _advice_on_names(path, lines, expected)
    is_title = expected == 1 or (expected == 2 and width > 3 and not any(map(HAS_DIGIT.search, names)))
    if form.header and sign is None and is_title:
        return DataError(
            f"expected the names of the {width} columns in the first line of {str(path)!r}, as most lines below have "
            f"this many cells, got {'one name' if expected == 1 else f'{expected} names'}; if it is a title, leave out "
            f"the lines above the names ({option('skip_lines', above)}), else quote cells that contain the separator"
        )
    comments = f"leave out comments ({option('comment', sign)}), " if sign is not None else ""
    advice = (
        f"{comments}complete the row, quote cells that contain the separator, or leave out such lines "
        f"({option('on_bad_line', 'skip')})"
    )
    return DataError(
        f"expected {cells_text(expected)} in every row of {str(path)!r}, as in its "
        f"{'header' if form.header else 'first row'}, got {got} in {place}; "
        f"{one_more or advice}"
    )


def _advice_on_names(path, lines: list[str], names: int) -> str:
    """Return advice on a file in which each row has one cell more than there are names; "" for any other file."""
    rows = [line.rstrip("\r\n") for line in lines[1:] if line.strip()]
    sign = _delimiter_of(path, lines[0]) if rows else ""
    if not rows or any(row.count(sign) != names for row in rows):
        return ""
    if all(row.endswith(sign) for row in rows):
        return f"write {sign!r} at the end of the first line, too"
    return (
        "add the missing name to the first line (in front of the others if the rows begin with their own names, as R "
        "writes them), quote cells that contain the separator, or read the file without names with "
        f"{option('skip_lines', 1)} {option('header', False)}"
    )


def _lines_of_title(path, form: TextForm) -> tuple[int, int, list[str]]:
    """Return (lines to skip, number of columns, names of the columns) of a file whose first line is a title.

    The names are in the first line, after the lines that are skipped already, that has as many cells as most of the
    lines below, of which several are not blank.
    """
    tables = []
    for sign in [form.delimiter] if form.delimiter else ",;\t|":
        rows = [
            (number, QUOTED.sub("q", line.strip("\r\n")).split(sign)) for number, line in _kept_lines(path, form)[1:]
        ]
        width, count = Counter(len(row) for _, row in rows).most_common(1)[0] if rows else (1, 0)
        tables.append((count if width > 1 else 0, width, rows))
    _, width, rows = max(tables, key=lambda table: table[:2])
    full = ((number - 1, row) for number, row in rows if len(row) == width and sum(bool(c.strip()) for c in row) > 1)
    above, names = next(full, (form.skip_lines + 1, []))
    return above, width, names


def _kept_lines(path, form: TextForm) -> list[tuple[int, str]]:
    """Return the first lines of a file with their numbers, without those that are skipped, blank or comments."""
    head = lines_below(_head_lines(path, form.text_encoding), form)
    return [(number, line) for number, line in head if not is_left_out(line, form)]


def sample(table: pl.DataFrame) -> bytes:
    """Return the table with commas and a header."""
    return table.write_csv().encode()

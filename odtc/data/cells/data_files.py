"""Data files: the reader of a file, the options of its layout, its table in frames, and the names of its columns."""

import atexit
import codecs
import contextlib
import math
import os
import re
import shutil
import sys
import tempfile
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote

import polars as pl

from odtc.base import deadline
from odtc.base.memory import available
from odtc.base.registry import Contract, Registry
from odtc.base.text import count_of, did_you_mean
from odtc.base.wording import option
from odtc.data.cells.text_pieces import UTF_16, encoding_of, first_in_utf8, head_of, is_packed, likely_encoding
from odtc.data.reading_spec import OF_ALL_FORMATS, ReadingSpec
from odtc.errors import ChoiceError, DataError, OdtcError, TimeLimitReached

Layout = Mapping[str, Any]  # options of odtc.data.reading_spec.LAYOUT
AGAIN = "\0"  # between a repeated column name and its number
INSTANCE_WEIGHT = "instance_weight"  # the column of weights of an ARFF file
BATCH = 1 << 23  # bytes of text that are read at once: 8 MB are processed while they are in the cache
WIDE = 1 << 8  # columns; from here on, in a frame of few rows, the overhead of a column outweighs its cells
LEAST_ROWS = 1 << 11  # frames of WIDE columns are joined up to this many rows, or up to MOST_CELLS
MOST_CELLS = 1 << 25  # cells, of some 16 bytes each
LEAST_MEMORY = 1 << 26  # bytes; with less memory polars ends the process before we can report it
# Options that often differ in another file with the same columns.
OF_ONE_FILE = ("header", "separator", "skip_lines", "comment", "sheet", "text_encoding")
FIRST_BYTES = 1 << 12  # bytes at the beginning of a file from which the names of its columns are read
STORED: list[Path] = []  # files with the bytes of the standard input; messages call them STANDARD_INPUT
STANDARD_INPUT = "standard input"  # the name of such a file in messages, and its path in files that record it
URL = re.compile(r"[a-z][a-z0-9+.-]+:/", re.IGNORECASE)
LOCAL = re.compile(r"file:(/(?!/).*)", re.IGNORECASE | re.DOTALL)
BEGINNINGS = {  # first bytes, in lower case, by which files without a known suffix are recognised
    "parquet": (b"par1",),
    "arrow": (b"arrow1", b"\xff\xff\xff\xff"),
    "excel": (b"pk\x03\x04",),
    "arff": (b"@relation",),
    "json_lines": (b"{",),
}


BINARY = ("parquet", "arrow", "excel")
OBJECTS = re.compile(rb"(\xef\xbb\xbf)?\s*\[\s*(\{|\]\s*$)")  # the beginning of a list of objects in JSON, or of none
FOREIGN = (  # beginnings of files that people take for tables: the format, and what to do
    (
        rb"\s*\[\s*\[",
        "a list of lists in JSON",
        "write objects with the names of the columns, or save the table as CSV",
    ),
    (rb"(?i)\s*<(!doctype|html|\?xml|table)", "HTML or XML", "save the table as CSV"),
    (rb"\xd0\xcf\x11\xe0", "a workbook of an old Excel or with a password", "save it without one as .xlsx or CSV"),
    (
        rb"BZh|\xfd7zXZ\0|\x28\xb5\x2f\xfd|7z\xbc\xaf|\x1f\x8b",  # a head of gzip is unpacked once
        "a packed file",
        "unpack it first, or pack it once with gzip",
    ),
    (
        rb"\x89PNG|\xff\xd8\xff|GIF8[79]a|%PDF-|SQLite format 3\0|\x80[\x02-\x05]|\x93NUMPY|\x89HDF|"
        rb"\$FL[23]@|RD[AX]\d\n|X\n\0\0\0",
        "the file of another program (an image, a PDF, a database, a pickle or the like)",
        "open it there, and save the table as CSV or Parquet",
    ),
    (
        rb"[-+]?[\d.]+( \d+:[-+\d.eE]+)+\s*\n",
        "sparse rows as LIBSVM writes them",
        "read them by sklearn.datasets.load_svmlight_file and fit in Python, or save a table as CSV",
    ),
)


class Reader(Protocol):
    """Parts that a reader of data files defines."""

    NAME: str
    SUMMARY: str
    SUFFIXES: tuple  # the endings of its files, ".csv"
    TEXT: bool = False  # whether its cells are text, so that numbers and truth values have to be recognised
    OPTIONS: tuple = ()  # the fields of odtc.data.reading_spec.LAYOUT that its functions take as keywords

    @abstractmethod
    def read(self, path, **options) -> pl.DataFrame:
        """Return the table of a file. Raises DataError for a file that it cannot read."""
        ...

    def batches(self, path, size: int, **options) -> Iterator[pl.DataFrame]:
        """Yield the same table in frames of about `size` bytes of text each; by default in one."""
        yield self.read(path, **options)

    def nameless(self, path, **options) -> list[int]:
        """Return the numbers, from 1, of columns that `read` leaves out because they have neither a name nor a cell."""
        return []

    def skipped(self, path, **options) -> list[int]:
        """Return the numbers, from 1, of the lines that `read` skips because of on_bad_line="skip"."""
        return []

    def guesses(self, path) -> Iterator[dict[str, Any]]:
        """Yield options that may give a file other columns than it has without options, the likeliest first."""
        yield from ()

    def sample(self, table: pl.DataFrame) -> bytes | None:
        """Return a file that contains a table of numbers (Float64), words (String) and missing cells, for the property
        splits; None: they try only damaged files."""
        return None


READERS = Registry(
    "reader",
    "odtc.data.cells.readers",
    ("csv", "parquet", "arff", "arrow", "excel", "json_lines"),
    Contract(always=(Reader,)),
    "odtc.readers",
)
# The SUFFIXES of the readers of odtc, so that a name chooses its reader without loading the others.
SUFFIXES = {
    "csv": (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".tab", ".tab.gz", ".txt", ".txt.gz"),
    "parquet": (".parquet", ".pq"),
    "arff": (".arff", ".arff.gz"),
    "arrow": (".arrow", ".feather", ".ipc"),
    "excel": (".xlsx", ".xlsm"),
    "json_lines": (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz"),
}


def frames_of(path, size: int = BATCH, layout: Layout | None = None) -> Iterator[pl.DataFrame]:
    """Yield the table of a file in frames of about `size` bytes of text, none of them empty, so that the table may be
    larger than memory.

    If the reader has no `batches`, there is one frame. `layout` has options of odtc.data.reading_spec.LAYOUT.
    Raises DataError as the readers do.
    """
    path, found, width = Path(path), False, 0
    reader, options = opened_by(path, layout)
    for frame in reader.batches(path, size, **options):
        width = frame.width
        if frame.height:
            found = True
            yield frame
    if not found:
        raise _without_rows(path, width)


def fitting_layout(path: str | Path, layout: Layout, names: Iterable[str]) -> Layout:
    """Return the layout with which a file has these columns.

    If the recorded layout fits, it is used, except that UTF-8 text is always read as UTF-8. Otherwise, layouts without
    some options of the training file, with skipped lines above the names, or with other sheets are tried. If none fits,
    the recorded layout is returned.

    Parameters
    ----------
    path : path
    layout : mapping
        The layout of the training file.
    names : iterable of str
        Columns that the file must have.
    """
    reader, wanted = reader_of(Path(path)), set(names)
    layout = {key: value for key, value in layout.items() if key in (*reader.OPTIONS, *OF_ALL_FORMATS)}
    if "text_encoding" in layout and first_in_utf8(Path(path)) is not None:
        del layout["text_encoding"]
    for candidate in _layouts(path, reader, layout):
        with contextlib.suppress(OdtcError), contextlib.closing(frames_of(path, FIRST_BYTES, candidate)) as frames:
            if wanted <= set(next(frames).columns):
                return candidate
    return layout


def _layouts(path: str | Path, reader, layout: Layout) -> Iterator[Layout]:
    """Yield possible layouts of a file of rows for a tree, the likeliest first."""
    own = [key for key in OF_ONE_FILE if key in layout]
    left_out = [set(keys) for count in range(len(own) + 1) for keys in combinations(own, count)]
    if layout.get("header") is False:
        # Without a header every file has the columns c1, c2, …, so first try whether its first line has these names.
        left_out.sort(key=lambda keys: "header" not in keys)
    for keys in left_out:
        yield {key: value for key, value in layout.items() if key not in keys}
    plain = {key: value for key, value in layout.items() if key not in own}
    yield from (plain | guess for guess in reader.guesses(path))


def in_time_of(frames: Iterator[pl.DataFrame], place: str) -> Iterator[pl.DataFrame]:
    """Return the frames of a file, joining frames of few rows and WIDE columns, and check the time limit between them:
    claims about a tree cover all rows, so no tree is returned if the limit comes before all of them are read."""
    rows, some = 0, []
    for frame in frames:
        if rows:
            expect_time(place, rows)
        rows += frame.height
        some.append(frame)
        height = sum(one.height for one in some)
        if frame.width < WIDE or height >= LEAST_ROWS or height * frame.width >= MOST_CELLS:
            yield pl.concat(some)
            some = []
    if some:
        yield pl.concat(some)


def expect_time(place: str, rows: int) -> None:
    """Raise TimeLimitReached if the deadline has passed when this many rows of a file were read."""
    if deadline.is_over():
        raise TimeLimitReached(
            f"{deadline.what_ends()} came while {place} was read, after {rows:,} of its rows, so no tree was found; "
            f"allow more time ({option('time_limit')}), or write fewer rows or columns to a file"
        )


def load(path: Path, in_time: bool = False, layout: Layout | None = None) -> pl.DataFrame:
    """Return the frame of a file that exists, can be read and has rows; `in_time` as of `in_time_of`."""
    if in_time and deadline.seconds_left() is not None:
        return pl.concat(in_time_of(frames_of(path, BATCH, layout), repr(str(path))))
    reader, options = opened_by(path, layout)
    frame = reader.read(path, **options)
    if not frame.height:
        raise _without_rows(path, frame.width)
    return frame


def _without_rows(path: Path, width: int) -> DataError:
    if not width:
        return DataError(f"expected a header and rows of data in {str(path)!r}, got an empty table")
    return DataError(f"expected rows of data in {str(path)!r}, got a header only; add rows below it")


def book_and_sheet(path: str | Path) -> tuple[Path, str | None]:
    """Return (path of a workbook, the sheet that FILE.xlsx#SHEET names); (path, None) for any other path."""
    text, parted = str(path), None
    if "#" in text and not Path(path).exists():
        ends = "|".join(map(re.escape, SUFFIXES["excel"]))
        parted = re.fullmatch(rf"(.*?(?:{ends}))#(.+)", text, re.IGNORECASE | re.DOTALL)
    return (Path(parted[1]), parted[2]) if parted else (Path(path), None)


def reader_of(path: Path):
    """Return the reader of a file that exists, can be read and is not empty."""
    path, _ = book_and_sheet(path)
    if path.exists() and not path.is_file() and not path.is_dir():
        raise DataError(
            f"expected a data file, got {str(path)!r}, which is a pipe or a device, and data are read more than once; "
            "write them to a file"
        )
    if URL.match(str(path)) and not path.exists():
        if (local := LOCAL.match(str(path))) is not None:
            raise DataError(
                f"expected a path, got the address of a file on this machine; write {unquote(local[1])!r} instead"
            )
        url = str(path).replace(":/", "://", 1)  # Path merges several slashes into one
        raise DataError(
            f"expected a data file on this machine, got the URL {url!r}; download it first, for example with "
            "`curl -L -o FILE URL`, and name the file"
        )
    try:
        with path.open("rb") as stream:
            empty = not stream.read(1)
    except OSError as problem:
        near = did_you_mean(path.name, _data_files_of(path.parent)) if not path.exists() else ""
        if path.is_dir():
            near = (
                f"; name a file in it{''.join(f', such as {str(path / name)!r}' for name in _data_files_of(path)[:1])}"
            )
        raise DataError(f"expected a data file, cannot read {str(path)!r}: {problem.strerror}{near}") from None
    if empty:
        raise DataError(f"expected a header and rows of data in {str(path)!r}, got an empty file")
    if (room := available()) is not None and room < LEAST_MEMORY:
        raise DataError(
            f"expected {LEAST_MEMORY >> 20} MB of free memory to read {str(path)!r} with, got {room >> 20} MB; end "
            "other programs, or allow more (ulimit -v)"
        )
    head = head_of(path).removeprefix(codecs.BOM_UTF8)
    for pattern, form, advice in FOREIGN:
        if re.match(pattern, head):
            raise DataError(f"expected a table in {str(path)!r}, got {form}; {advice}")
    return _match(path)[0]


def _data_files_of(folder: Path) -> list[str]:
    """Return the names of the data files of a folder; an empty list if it cannot be listed."""
    ends = tuple(suffix for suffix, _ in _known_suffixes())
    with contextlib.suppress(OSError):
        return sorted(entry.name for entry in folder.iterdir() if entry.name.lower().endswith(ends))
    return []


def opened_by(path, layout: Layout | None = None, strict: bool = False) -> tuple[Any, dict[str, Any]]:
    """Return the reader of a file and the options of a layout that it has.

    Raises
    ------
    DataError
        As `reader_of`.
    ChoiceError
        For a value that an option cannot have; if `strict`, also for an option that the reader does not have.
    """
    reader = reader_of(Path(path))
    layout = ReadingSpec(**dict(layout or {})).layout
    for name in layout if strict else ():
        if name not in (*reader.OPTIONS, *OF_ALL_FORMATS):
            has = [one.NAME for one in map(READERS.get, READERS.names()) if name in one.OPTIONS]
            raise ChoiceError(
                f"expected a file of the format {' or '.join(has)} for {option(name, layout[name])}, got "
                f"{str(path)!r}, which is read as {reader.NAME}; leave the option out"
            )
    return reader, {name: value for name, value in layout.items() if name in reader.OPTIONS}


def _known_suffixes() -> list[tuple[str, str]]:
    """Return (suffix, name of the reader) for all readers, in their order."""
    suffixes = ((name, SUFFIXES.get(name) or READERS.get(name).SUFFIXES) for name in READERS.names())
    return [(suffix, name) for name, of_reader in suffixes for suffix in of_reader]


def _match(path: Path) -> tuple[Any, str]:
    """Return (reader, suffix) of a file: by the longest known suffix of its name, otherwise by its content."""
    known = _known_suffixes()
    fitting = [pair for pair in known if path.name.lower().endswith(pair[0])]
    if fitting:
        suffix, name = max(fitting, key=lambda pair: len(pair[0]))
        module = READERS.get(name)
        head = head_of(path) if module.TEXT and path.is_file() else b""
        if OBJECTS.match(head):
            return READERS.get("json_lines"), suffix
        # A workbook or a Parquet file may be named .csv; it has such first bytes and zero bytes, which text has not.
        if (
            b"\0" in head
            and not is_packed(path)
            and (real := next((one for one in BINARY if head[:8].lower().startswith(BEGINNINGS[one])), None))
        ):
            return READERS.get(real), suffix
        return module, suffix
    return READERS.get(_format_of(path, [suffix for suffix, _ in known])), path.suffix


def is_list_of_objects(path: str | Path) -> bool:
    """Return whether a file, plain or packed, begins like a list of objects in JSON."""
    return Path(path).is_file() and OBJECTS.match(head_of(Path(path))) is not None


def _format_of(path: Path, known: Sequence[str]) -> str:
    """Return the name of the reader that fits the content of a file."""
    head = b"" if not path.is_file() else head_of(path)
    if OBJECTS.match(head):
        return "json_lines"
    start = head.lstrip()
    for name, begins in BEGINNINGS.items():
        if any((start if name in ("arff", "json_lines") else head)[: len(one)].lower() == one for one in begins):
            return name
    if head and (b"\0" not in head or encoding_of(head) == UTF_16 or likely_encoding(path) is not None):
        return "csv"
    raise DataError(
        f"expected a data file of text, or one that ends in one of {', '.join(known)}, got {str(path)!r}; "
        "save it as CSV"
    )


def standard_input() -> Path:
    """Return a file with the bytes of the standard input, which is read once; it is removed when the process ends.

    Raises DataError for a terminal and for bytes that cannot be stored.
    """
    if sys.stdin is None or sys.stdin.isatty():
        raise DataError(
            "expected a data file on the standard input, got a terminal; send one, for example by `odtc fit - < FILE`"
        )
    folder = tempfile.mkdtemp(prefix="odtc-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = Path(folder, STANDARD_INPUT)
    STORED.append(path)
    try:
        with path.open("wb") as stream:
            shutil.copyfileobj(sys.stdin.buffer, stream)
    except OSError as problem:
        raise DataError(f"expected a data file on the standard input, cannot store it: {problem.strerror}") from None
    return path


def stated_path(path: str | Path, folder: Path) -> str:
    """Return the path of a data file relative to the folder of the file that records it; STANDARD_INPUT for the
    standard input."""
    return STANDARD_INPUT if Path(path).name == STANDARD_INPUT else os.path.relpath(Path(path).resolve(), folder)


def recorded_data(record: Path, stated: str | Path, given: str | Path | None = None) -> Path:
    """Return where the data file of a record is: `given`, or else the stated path from the folder of the record, or, if
    no file is there, the file of that name next to the record, as after a delivery of both. The caller compares its
    content."""
    if given is not None:
        return Path(given)
    folder = record.resolve().parent
    where, beside = folder / stated, folder / Path(stated).name
    return beside if beside.is_file() and not where.exists() else where


def data_name(path: Path) -> str:
    """Return the name of the data of a file: monks-1 of monks-1.csv.gz."""
    path, _ = book_and_sheet(path)
    suffix = _match(path)[1]
    if path.name == STANDARD_INPUT:
        return STANDARD_INPUT.replace(" ", "_")
    return path.name[: -len(suffix)] or path.name if suffix else path.name


def check_names(names, place: str) -> None:
    """Raise DataError for a column name that is blank, repeated, or a pattern of polars; `place` is the file, quoted.
    Only column 1 may have no name, because `write.csv` of R and `to_csv` of pandas write the names of the rows in a
    first column without a name."""
    first = {}
    plain = [name.partition(AGAIN)[0] or name for name in names]
    if len(set(plain)) < len(plain) and 2 * sum(map(_is_number, plain)) > len(plain):
        twice = next(name for name in plain if plain.count(name) > 1)
        raise DataError(
            f"expected the names of the {count_of(len(plain), 'column', '')} in the first line of {place}, got "
            f"{twice!r} twice and "
            f"mostly numbers, which looks like data; if the file has no names, read it with {option('header', False)}"
        )
    for number, name in enumerate(names):
        if number and not name.strip():
            raise DataError(
                f"expected a name for every column in {place}, got a blank one for column {number + 1}; name it, "
                f"remove the column, or read a file without names with {option('header', False)}"
            )
        if first.setdefault(name, number) != number:
            raise DataError(
                f"expected different column names in {place}, got {name!r} for column {first[name] + 1} and "
                f"for column {number + 1}; rename one, leave both out ({option('ignore', name)}), or read a file "
                f"without names with {option('header', False)}"
            )
        if name.startswith("^") and name.endswith("$"):  # its functions on a series match this with the series' name
            raise DataError(
                f"expected column names in {place} that are not patterns between ^ and $, got {name!r} for column "
                f"{number + 1}; rename it"
            )


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False

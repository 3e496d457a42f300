"""Records of text tables whose form is described by options: header, separator, comments, skipped and bad lines.

A record is the list of the cells of a row. A quoted cell may contain separators and line ends. White space as separator
is any run of blanks and tabs. Files without such options take the quicker path of odtc.data.cells.readers.csv.
"""

import csv
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from odtc.base.wording import option
from odtc.data.reading_spec import BAD_LINES, SPACE, TAB
from odtc.errors import DataError

MAX_CELL_CHARACTERS = 2**31 - 1  # of a quoted cell: Python's own limit is 131,072
WORDS = re.compile(r'"(?:[^"]|"")*"(?!\S)|\S+')
SEPARATOR_LINE = re.compile(r"sep=([,;\t|])\r?\n?[\r\n]*", re.IGNORECASE)  # Excel's, before the header
COMMENT_SIGNS = ("#", "%", "//")


@dataclass
class TextForm:
    """The form of a text table; `bad` collects the numbers of its lines that were skipped, from 1."""

    header: bool = True
    separator: str | None = None
    comment: str | None = None
    skip_lines: int = 0
    on_bad_line: str = BAD_LINES[0]
    text_encoding: str | None = None
    bad: list[int] = field(default_factory=list)

    @property
    def delimiter(self) -> str | None:
        """The separator as one character, a tab also for white space; None if it must be detected."""
        return TAB if self.separator in (SPACE, "tab", "\\t") else self.separator

    @property
    def skips(self) -> bool:
        """True if bad lines are skipped."""
        return self.on_bad_line == BAD_LINES[1]


def lines_below(lines: Iterable[str], form: TextForm) -> Iterator[tuple[int, str]]:
    """Yield the numbered lines of a file after the skipped ones."""
    return ((number, line) for number, line in enumerate(lines, 1) if number > form.skip_lines)


def is_left_out(line: str, form: TextForm) -> bool:
    """Return True for a blank line and for a comment, where a record could begin."""
    return not line.strip("\r\n") or (form.comment is not None and line.startswith(form.comment))


def text_records(
    path, lines: Iterable[tuple[int, str]], form: TextForm, refuse: Callable[[str, int, int], DataError]
) -> Iterator[list[str]]:
    """Yield the records of numbered lines, all of the width of the first one.

    `refuse` returns the error for a place with another number of cells than the first one.

    Raises
    ------
    DataError
        For a record of another width and for quotes that do not close, unless bad lines are skipped.
    """
    begins, width, number, first = True, 0, 0, 0

    def feed() -> Iterator[str]:
        nonlocal begins, number, first
        for number, line in lines:
            if begins and (is_left_out(line, form) or (form.separator == SPACE and not line.strip())):
                continue
            if begins:
                first = number
                line = TAB.join(WORDS.findall(line)) + "\n" if form.separator == SPACE else line
            begins = False
            yield line

    before = csv.field_size_limit(MAX_CELL_CHARACTERS)
    reader = csv.reader(feed(), delimiter=form.delimiter or ",", strict=True)
    try:
        while True:
            begins = True
            try:
                record = next(reader)
            except StopIteration:
                return
            except csv.Error as problem:
                if not form.skips:
                    raise DataError(
                        f"expected quoted cells that open and close with '\"' in {str(path)!r}, got a cell in line "
                        f"{first} that does not ({problem}); double the quotes inside a cell, or leave out such lines "
                        f"({option('on_bad_line', BAD_LINES[1])})"
                    ) from None
                form.bad += range(first, number + 1)
                continue
            width = width or len(record)
            if len(record) == width:
                yield record
            elif form.skips:
                form.bad += range(first, number + 1)
            else:
                raise refuse(f"line {first}", width, len(record))
    finally:
        csv.field_size_limit(before)


def cells_text(count: int) -> str:
    """Return a number of cells in words."""
    return "1 cell" if count == 1 else f"{count} cells"


def skipped_text(lines: int) -> str:
    """Return how many lines of a file were skipped, as a sentence."""
    return "1 line that is not a row was skipped" if lines == 1 else f"{lines:,} lines that are not rows were skipped"


def is_white_space(lines: Iterable[str]) -> bool:
    """Return True if lines have the same number of words, two or more, and no other separator in the first one.

    Lines with the same number of tabs and single blanks are cells of words between tabs.
    """
    kept = [line for line in lines if line.strip()]
    tabs = {line.strip("\r\n").count(TAB) for line in kept}
    if len(tabs) == 1 and min(tabs) > 0 and not any("  " in line for line in kept):
        return False
    widths = {len(WORDS.findall(line)) for line in kept}
    return len(kept) > 1 and len(widths) == 1 and min(widths) > 1 and not set(kept[0]) & set(",;|")


def comment_sign(lines: Iterable[str]) -> str | None:
    """Return the sign that comments of a file seem to begin with; None if no line begins so."""
    return next((sign for line in lines for sign in COMMENT_SIGNS if line.startswith(sign)), None)

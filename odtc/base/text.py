"""Numbers and names as text."""

import difflib
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from itertools import islice

WARNING = "WARNING: "  # how a message begins that a reader or a caller must not miss

MAX_WHOLE = 2**53  # whole numbers below it are written as such: each is a double of its own

IRREGULAR = {"leaf": "leaves"}


def show_number(value: float) -> str:
    """Return the shortest text that reads back as the same double: 3 rather than 3.0."""
    value = float(value)
    return str(int(value)) if value.is_integer() and abs(value) < MAX_WHOLE else repr(value)


def show_figure(value: float, digits: int = 4) -> str:
    """Return a reached figure as text: a whole number with all its digits, a share or a sum to four digits, or to a
    tenth."""
    value = float(value)
    if value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return f"{value:.1f}" if 10 ** (digits - 1) <= abs(value) < 1e15 else f"{value:.{digits}g}"


# Characters that change the state of a terminal, or the order in which it shows text: C0, DEL and C1 except for the
# newline and the tab, separators of lines, and marks of bidirectional text. Other invisible ones are a part of words.
CONTROLS = [
    *range(32),
    *range(0x7F, 0xA0),
    0x61C,
    0x200E,
    0x200F,
    *range(0x2028, 0x202F),
    *range(0x2066, 0x206A),
    0xFEFF,
]
ESCAPES = {code: chr(code).encode("unicode_escape").decode() for code in CONTROLS if chr(code) not in "\n\t"}


def visible(text: str) -> str:
    """Return text for a reader: each control character as an escape such as `\\x1b`, which a terminal only shows."""
    return text if text.isprintable() else text.translate(ESCAPES)


def percent_text(share: float) -> str:
    """Return a share in percent: "87.50 %". "100.00 %" and "0.00 %" are exact: a share that is only rounded to them is
    "> 99.99 %" or "< 0.01 %"."""
    if 0.99995 <= share < 1:
        return "> 99.99 %"
    return "< 0.01 %" if 0 < share < 0.00005 else f"{100 * share:.2f} %"


def in_notebook(text: str) -> str:
    """Return text as HTML with characters of one width, as notebooks show it."""
    from html import escape  # few runs are in a notebook

    return f'<pre style="line-height: 1.2">{escape(text, quote=False)}</pre>'


def as_remark(text: str) -> str:
    """Return a message as a line of its own: a warning if it begins with WARNING, otherwise a note."""
    words = " ".join(text.split())
    return f"warning: {words.removeprefix(WARNING)}" if words.startswith(WARNING) else f"note: {words}"


def of_any_bytes(name: str) -> str:
    """Return a name as text that can be written as UTF-8: bytes of a file's name that are not text are escaped."""
    return name.encode("utf-8", "backslashreplace").decode()


def count_of(number: int, noun: str, form: str = ",") -> str:
    """Return a number in a format with its noun: "1 leaf", "1,200 leaves", "3 classes"."""
    plural = IRREGULAR.get(noun, f"{noun}es" if noun.endswith(("s", "x", "ch")) else f"{noun}s")
    return f"{number:{form}} {noun if number == 1 else plural}"


def verb(number: int, one: str, many: str) -> str:
    """Return the verb of a subject of this number: "is" and "are" for one row and for two."""
    return one if number == 1 else many


def all_rows(number: int) -> str:
    """Return this many rows, which are all, in words: "its one row", "all 1,200 rows"."""
    return "its one row" if number == 1 else f"all {number:,} rows"


def some(names: Sequence[str]) -> str:
    """Return these names in quotes, at most ten of them."""
    listed = [repr(name) for name in names[:10]]
    return ", ".join(listed + ["..."] if len(names) > 10 else listed)


def first_few(texts: Collection[str], most: int) -> str:
    """Return the first `most` of these texts, and ", …" if there are more."""
    return ", ".join([*islice(texts, most), *(["…"] if len(texts) > most else [])])


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return " (did you mean 'x'?)" when a known name is near, first of all in other capitals, otherwise ""."""
    names = list(known)
    near = [one for one in names if one.casefold() == name.casefold()]
    near = near or difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    return f" (did you mean {near[0]!r}?)" if near else ""


def one_line(text: str) -> str:
    """Return the text for a terminal: characters that are not printable are escaped as in Python, so a line stays a
    line."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text))


def in_list(text: str) -> str:
    """Return a text for a list between commas: in quotes if it contains a comma itself."""
    return repr(text) if "," in text else text


def of(count: int, thing: str, things: str = "") -> str:
    """Return a number with its noun: "3 leaves" for `3 | of("leaf", "leaves")`, and "no leaves" for 0."""
    return f"{count or 'no'} {thing if count == 1 else things or thing + 's'}"


def percent(part: float, whole: float) -> str:
    """Return a share such as "90.7 %"; "100 %" and "0 %" only if they are exact."""
    if part in (0, whole):
        return "100 %" if part else "0 %"
    return f"{min(max(100 * part / whole, 0.1), 99.9):.1f} %"


LISTED = 10  # classes of a leaf that are named


def tally(amounts: Iterable[float], classes: Iterable[str]) -> str:
    """Return "versicolor: 49, virginica: 5": the classes that occur, on one line; if there are many, those with most
    rows."""
    pairs = [(name, n) for name, n in zip(classes, amounts) if n]
    most = sorted(range(len(pairs)), key=lambda k: -pairs[k][1])[:LISTED]  # of equal ones the first
    shown = [pairs[k] for k in sorted(most)]
    words = [f"{one_line(in_list(name))}: {show_number(round(n, 3))}" for name, n in shown]
    if left := len(pairs) - len(shown):
        words.append(f"{left} more: {show_number(round(sum(n for _, n in pairs) - sum(n for _, n in shown), 3))}")
    return ", ".join(words)


def aligned(text: str, sides: str = "", widest: int = 72) -> str:
    """Return lines whose cells are separated by tabs as columns two spaces apart.

    `sides` has l (left) or r (right) for each column; further columns are l. The last cell of a line widens its column
    only if that is r; a line without a tab widens none, nor does a cell wider than `widest`.
    """
    lines = [line.split("\t") for line in text.split("\n")]
    widths: dict[int, int] = {}
    for cells in lines:
        for column, cell in enumerate(cells):
            widens = column < len(cells) - 1 or (column and sides[column : column + 1] == "r")
            if widens and _width(cell) <= widest:
                widths[column] = max(widths.get(column, 0), _width(cell))

    def padded(column: int, cell: str) -> str:
        space = " " * (widths.get(column, 0) - _width(cell))
        return space + cell if sides[column : column + 1] == "r" else cell + space

    return "\n".join("  ".join(padded(*pair) for pair in enumerate(cells)).rstrip() for cells in lines)


def table_text(rows: Iterable[Iterable[str]], sides: str, widest: int = 72) -> str:
    """Return rows of cells as `aligned` columns; each cell is one line."""
    return aligned("\n".join("\t".join(map(one_line, row)) for row in rows), sides, widest)


def _width(text: str) -> int:
    """Return how many columns of a terminal a text takes: two for a Chinese sign, none for an accent on a letter."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)

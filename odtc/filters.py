"""The filters of templates: one that quotes for each target, and those for the words of a report."""

import unicodedata

from odtc.dataset import show_number

# The quoting filters, one for each target.


def py_str(text: str) -> str:
    """A Python literal on one line; what cannot be printed is escaped, so it is safe in a comment too."""
    return repr(str(text))


def py_value(value) -> str:
    """A Python expression for exactly this text or double, or for a tuple of a sequence of them."""
    if isinstance(value, (tuple, list)):
        return "(" + ", ".join(map(py_value, value)) + ("," if len(value) == 1 else "") + ")"
    if isinstance(value, str):
        return py_str(value)
    text = repr(float(value))  # the shortest text that reads back as the same double
    return text if text.lstrip("-")[0].isdigit() else f'float("{text}")'


def dot_str(text: str) -> str:
    """A quoted label of Graphviz that shows this text; a newline in it stays one."""
    # Graphviz reads backslashes and HTML entities in labels, and knows no other control characters.
    text = str(text).replace("\r\n", "\n").replace("\r", "\n")
    text = "".join(c if c == "\n" or unicodedata.category(c) not in ("Cc", "Cs") else "\ufffd" for c in text)
    text = text.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;").replace("\n", "\\n")
    return f'"{text}"'


def one_line(text: str) -> str:
    """The text for a terminal: what is not printable is escaped as in Python, so a line stays a line."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text))


# The other filters, for the words of a report.


def of(count: int, thing: str, things: str = "") -> str:
    """`3 | of("leaf", "leaves")` is "3 leaves"; none is "no leaves"."""
    return f"{count or 'no'} {thing if count == 1 else things or thing + 's'}"


def percent(part: float, whole: float) -> str:
    """"90.7%"; "100%" and "0%" are only said where they are exact."""
    if part in (0, whole):
        return "100%" if part else "0%"
    return f"{min(max(100 * part / whole, 0.1), 99.9):.1f}%"


def tally(amounts, classes) -> str:
    """"versicolor: 49, virginica: 5": the classes that are there at all, on one line."""
    pairs = zip(classes, amounts)
    return ", ".join(f"{one_line(name)}: {show_number(round(n, 3))}" for name, n in pairs if n)


def aligned(text: str, sides: str = "", widest: int = 72) -> str:
    """Lines with cells between tabs, as columns two spaces apart.

    `sides` has l or r for each column (l beyond its end). The last cell of a line, a line without
    a tab, and a cell wider than `widest` do not widen a column.
    """
    lines = [line.split("\t") for line in text.split("\n")]
    widths = {}
    for cells in lines:
        for column, cell in enumerate(cells[:-1]):
            if _width(cell) <= widest:
                widths[column] = max(widths.get(column, 0), _width(cell))

    def padded(column, cell):
        space = " " * (widths.get(column, 0) - _width(cell))
        return space + cell if sides[column : column + 1] == "r" else cell + space

    return "\n".join("  ".join(padded(*pair) for pair in enumerate(cells)).rstrip() for cells in lines)


def _width(text: str) -> int:
    """Columns of a terminal: Chinese signs take two, accents that join a letter none."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text
    )


def tint(colour: str, strength: float) -> str:
    """`#rrggbb` mixed with white: strength 1 is the colour itself, 0 is white."""
    parts = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(255 - (255 - part) * strength):02x}" for part in parts)


FILTERS = (aligned, dot_str, of, one_line, percent, py_str, py_value, show_number, tally, tint)

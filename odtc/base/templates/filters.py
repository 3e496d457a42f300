"""The filters of templates: one that quotes for each target, and those for the words of a report."""

import json
import math
import re
import unicodedata
from collections.abc import Sequence
from fractions import Fraction
from html import escape
from itertools import zip_longest

from odtc.base.text import aligned, of, one_line, percent, show_number, tally
from odtc.errors import ChoiceError


class Share(float):
    """A share that code writes as its quotient, such as 71.0 / 108, if both numbers have at most 15 digits."""

    quotient: tuple[str, str] | None

    def __new__(cls, part: float, whole: float) -> "Share":
        """The share `part / whole`."""
        share = super().__new__(cls, part / whole)
        texts = repr(float(part)), show_number(whole)
        plain = 0 < part < whole and all(re.fullmatch(r"\d+(\.\d+)?", text) for text in texts)
        share.quotient = texts if plain and all(len(text.replace(".", "")) <= 15 for text in texts) else None
        return share


def quotient(value: object, double: str = "") -> str:
    """Return a share as its quotient, with `double` after the divisor; "" for any other number."""
    parts = value.quotient if isinstance(value, Share) else None
    return f"{parts[0]} / {parts[1]}{double}" if parts else ""


# The quoting filters, one for each target.


def py_str(text: str) -> str:
    """Return a Python literal on one line; unprintable characters are escaped, so it is safe in a comment too."""
    return repr(str(text))


def py_value(value: object) -> str:
    """Return a Python expression for exactly this text or double, or for a tuple of a sequence of them."""
    if isinstance(value, (tuple, list)):
        return "(" + ", ".join(map(py_value, value)) + ("," if len(value) == 1 else "") + ")"
    if isinstance(value, str):
        return py_str(value)
    if isinstance(value, (bool, int)):
        return repr(value)
    if text := quotient(value):
        return text
    text = repr(float(value))  # type: ignore[arg-type]  # the shortest text that reads back as the same double
    return text if text.lstrip("-")[0].isdigit() else f'float("{text}")'


def py_whole(values: Sequence[float]) -> str:
    """Return a tuple of whole numbers in Python."""
    return "(" + ", ".join(str(int(value)) for value in values) + ("," if len(values) == 1 else "") + ")"


def dot_str(text: str) -> str:
    """Return a quoted label of Graphviz that shows this text; a newline in it stays one."""
    # Graphviz reads backslashes and HTML entities in labels, and knows no other control characters.
    text = str(text).replace("\r\n", "\n").replace("\r", "\n")
    text = "".join(c if c == "\n" or unicodedata.category(c) not in ("Cc", "Cs") else "\ufffd" for c in text)
    text = text.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;").replace("\n", "\\n")
    return f'"{text}"'


def c_str(text: str) -> str:
    """Return a literal of C in UTF-8, on one line and in ASCII; it is safe in a comment too, and no trigraph."""
    plain = set(range(32, 127)) - set(b'"\\?')
    quoted = "".join(chr(b) if b in plain else f"\\{b:03o}" for b in str(text).encode("utf-8", "replace"))
    return '"' + quoted.replace("*/", "*\\057").replace("/*", "\\057*") + '"'


def c_number(value: float) -> str:
    """Return a constant of C that is exactly this double."""
    if text := quotient(value):
        return text
    return repr(float(value)) if math.isfinite(value) else ("INFINITY" if value > 0 else "-INFINITY")


def js_str(text: str) -> str:
    """Return a literal of JavaScript, in ASCII; it is safe inside a `script` of HTML too."""
    return json.dumps(str(text)).replace("<", "\\u003c").replace("*/", "*\\/")


def js_value(value: object) -> str:
    """Return an expression of JavaScript for exactly this text, double, or list of them."""
    if isinstance(value, (tuple, list)):
        return "[" + ", ".join(map(js_value, value)) + "]"
    if isinstance(value, str):
        return js_str(value)
    if isinstance(value, (bool, int)):
        return _truth(value) if isinstance(value, bool) else str(value)
    if text := quotient(value):
        return text
    number = float(value)  # type: ignore[arg-type]
    return repr(number) if math.isfinite(number) else ("Infinity" if number > 0 else "-Infinity")


def java_str(text: str) -> str:
    """Return a literal of Java, in ASCII; it is safe in a comment of one line too."""
    quoted = []
    for unit in str(text).encode("utf-16-be", "surrogatepass").hex(" ", 2).split():
        code = int(unit, 16)
        # A \\u escape is read before the literal is, so signs with a meaning in it are octal.
        plain = 32 <= code < 127 and chr(code) not in '"\\'
        quoted.append(chr(code) if plain else f"\\{code:03o}" if code < 128 else f"\\u{code:04x}")
    return '"' + "".join(quoted) + '"'


def java_number(value: float) -> str:
    """Return an expression of Java that is exactly this double."""
    if text := quotient(value):
        return text
    if math.isfinite(value):
        return repr(float(value))
    return "Double.POSITIVE_INFINITY" if value > 0 else "Double.NEGATIVE_INFINITY"


def r_str(text: str) -> str:
    """Return a literal of R, in ASCII; it is safe in a comment too."""
    return '"' + "".join(map(_r_sign, str(text))) + '"'


def _r_sign(c: str) -> str:
    if c in '"\\':
        return "\\" + c
    if c.isascii() and c.isprintable():
        return c
    return f"\\u{{{ord(c):x}}}" if ord(c) < 2**16 else f"\\U{{{ord(c):x}}}"


def r_number(value: float) -> str:
    """Return a constant of R that is exactly this double: its decimals are not always read to the nearest one, unlike
    whole numbers."""
    if (text := quotient(value)) and re.fullmatch(r"\d+\.0 / \d+", text):
        return text
    return float(value).hex() if math.isfinite(value) else ("Inf" if value > 0 else "-Inf")


def scip_str(text: str) -> str:
    """Return a word of SCIP's command line, in quotes in which a backslash escapes the next character."""
    return '"' + str(text).replace("\\", "\\\\").replace('"', '\\"') + '"'


PLAIN = re.compile(r"[\w./+-]+")  # a file name that no command language reads otherwise


def plain_name(text: str) -> str:
    """Return a file name that needs no quotes in the commands of a solver; raise ChoiceError for another."""
    if not PLAIN.fullmatch(str(text)):
        raise ChoiceError(
            f"expected a file name of letters, digits and . _ + - only, because the commands of this solver have no "
            f"quotes, got {str(text)!r}; rename the file"
        )
    return str(text)


def cplex_str(text: str) -> str:
    """Return a file name in the commands of CPLEX, in quotes if it needs them; raise ChoiceError for one with
    quotes."""
    if '"' in str(text):
        return plain_name(text)
    return str(text) if PLAIN.fullmatch(str(text)) else f'"{text}"'


def sql_ident(text: str) -> str:
    """Return a delimited identifier of standard SQL; raise ChoiceError for one that a backslash would end elsewhere.

    MySQL and ClickHouse treat a quote after a backslash as a part of the name, so the rest would be run as SQL.
    """
    if re.search(r'\\("|$)', str(text)):
        raise ChoiceError(
            f"expected names of columns and classes without a backslash at the end or before a quote, because some "
            f"databases take it for a part of the quote, got {text!r}; rename it, or export to another language"
        )
    return '"' + str(text).replace('"', '""') + '"'


def sql_str(text: str) -> str:
    """Return an expression of SQL for this text, the same whether a backslash escapes the next character or not.

    In MySQL, BigQuery, ClickHouse and Snowflake it does, in standard SQL it does not. `'\\\\'` is one backslash or two,
    so its first character is one in all of them; REPLACE puts it in the place of a character that is not in the text.
    """
    words = str(text).replace("'", "''")
    if "\\" not in words:
        return f"'{words}'"
    mark = next(sign for sign in map(chr, (*b"/|~^#@!", *range(0xA1, 0xD800))) if sign not in words)
    marked = words.replace("\\", mark)
    return f"REPLACE('{marked}', '{mark}', SUBSTRING('\\\\', 1, 1))"


EXACT_DECIMALS = 4  # decimals of a number of at most 15 digits that every database reads to the nearest double


def sql_number(value: float) -> str:
    """Return an expression of SQL for exactly this double.

    Not every database reads decimals to the nearest double: SQLite 3.40 divides their digits by a power of ten in 64
    bits, and rounds again to 53, which is exact for EXACT_DECIMALS (digits / 10^k is at least 1 / (2 * 5^k) of a last
    place away from where the second step errs). With more, it is a quotient of two whole numbers that are doubles, and
    with more than 15 digits a whole number scaled by powers of two, each step of which is exact. With an exponent they
    are doubles also if a quotient of decimals has few decimals (MySQL: four more than its first)."""
    if text := quotient(value, "E0"):
        return text
    text = repr(float(value))
    if value == 0 or 1e-7 <= abs(value) < 1e15:
        part, whole = Fraction(text).as_integer_ratio()
        decimals = next((k for k in range(16) if 10**k % whole == 0), None)
        digits = "" if decimals is None else str(part * 10**decimals // whole)
        if decimals is not None and len(digits.strip("-0")) <= 15:
            return text if decimals <= EXACT_DECIMALS else f"({digits}E0 / {10**decimals}E0)"
    mantissa, exponent = math.frexp(value)
    mantissa, exponent = int(math.ldexp(mantissa, 53)), exponent - 53
    while mantissa % 2 == 0:
        mantissa, exponent = mantissa // 2, exponent + 1
    sign, steps = (" / " if exponent < 0 else " * "), abs(exponent)
    powers = [2.0**49] * (steps // 49) + [2.0 ** (steps % 49)]
    return "(" + sign.join([f"{mantissa}E0", *(f"{power:.0f}E0" for power in powers)]) + ")"


def _truth(value: bool) -> str:
    return "true" if value else "false"


def c_label(label: str | float) -> str:
    """Return a constant of C for a label: a text, a number, or 1 or 0."""
    if isinstance(label, str):
        return c_str(label)
    return c_number(label) if isinstance(label, float) else str(int(label))


def java_label(label: str | float) -> str:
    """Return an expression of Java for a label: String, long, double or boolean."""
    if isinstance(label, str):
        return java_str(label)
    if isinstance(label, bool):
        return _truth(label)
    return java_number(label) if isinstance(label, float) else f"{label}L"


def r_label(label: str | float) -> str:
    """Return a constant of R for a label; whole numbers are integers if R's have room for them."""
    if isinstance(label, str):
        return r_str(label)
    if isinstance(label, bool):
        return _truth(label).upper()
    return f"{label}L" if isinstance(label, int) and abs(label) < 2**31 else r_number(label)


def sql_label(label: str | float) -> str:
    """Return a literal of standard SQL for a label."""
    if isinstance(label, str):
        return sql_str(label)
    if isinstance(label, bool):
        return _truth(label).upper()
    return str(label) if isinstance(label, int) else sql_number(label)


def xml(text: str) -> str:
    """Text or an attribute of XML; what XML cannot hold becomes U+FFFD, and newlines in it stay."""
    kept = "".join(
        c if c in "\t\n\r" or (c >= " " and not 0xD800 <= ord(c) < 0xE000 and c not in "\ufffe\uffff") else "\ufffd"
        for c in str(text)
    )
    return escape(kept).replace("\n", "&#10;").replace("\r", "&#13;").replace("\t", "&#9;")


def md(text: str) -> str:
    """Text in Markdown that shows itself, on one line, in a cell of a table too."""
    return "".join(f"&#{ord(c)};" if c in "\\`*_{}[]<>#|~&$!" else c for c in one_line(text))


def tex(text: str) -> str:
    """Text of LaTeX that shows itself, on one line: no command, no comment, and no ligature such as -- or ,,."""
    special = {
        "-": "{-}",
        ",": "{,}",
        "'": r"\textquotesingle{}",
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        '"': r"\textquotedbl{}",
        "`": r"\textasciigrave{}",
        "|": r"\textbar{}",
        "≤": r"$\leq$",
        "≥": r"$\geq$",
        "≠": r"$\neq$",
        "·": r"$\cdot$",
        "−": r"\textminus{}",
        "∞": r"$\infty$",
    }
    return "".join(
        special.get(c, "\\" + c if c in "#$%&_{}" else "{[}" if c == "[" else "{]}" if c == "]" else c)
        for c in unicodedata.normalize("NFC", one_line(text))  # pdflatex knows é, but no accent by itself
    )


# The other filters, for the words of a report.


def tint(colour: str, strength: float) -> str:
    """`#rrggbb` mixed with white: strength 1 is the colour itself, 0 is white."""
    parts = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(255 - (255 - part) * strength):02x}" for part in parts)


TABLE = re.compile(r"<table.*?</table>", re.DOTALL)
ROW = re.compile(r"<tr\b.*?</tr>", re.DOTALL)
CELL = re.compile(r"<(t[dh])\b([^>]*)>(.*?)</t[dh]>", re.DOTALL)
TAG = re.compile(r"<[^>]*>")
PHONE_WIDTH, PRINT_WIDTH = 360, 640  # pixels of a page
MAX_PRINTED_COLUMNS = 4  # whose texts may be long, as they are broken into lines
SIGN_WIDTH, PADDING = 8.5, 22  # pixels: a sign of a table, and the room around the text of a cell


def stacked(page: str) -> str:
    """Return the page, whose tables that are wider than a phone have the class "stacked" ("broad" if wider than paper)
    and, in each cell, the heading of its column (`data-label`): there each row is shown as a list."""

    def table(found: re.Match[str]) -> str:
        rows = [[TAG.sub("", cell[3]) for cell in CELL.finditer(row)] for row in ROW.findall(found[0])]
        columns = list(zip_longest(*rows, fillvalue=""))
        width = sum(SIGN_WIDTH * max(map(len, column)) + PADDING for column in columns)
        if width <= PHONE_WIDTH:
            return found[0]
        head, begin, body = found[0].partition("<tbody>")

        def labelled(row: re.Match[str]) -> str:
            labels = iter(rows[0])

            def cell(one: re.Match[str]) -> str:
                label = next(labels, "").replace('"', "&quot;")
                inside = f"<span>{one[3]}</span>" if "<" in one[3] else one[3]
                return f'<{one[1]}{one[2]} data-label="{label}">{inside}</{one[1]}>'

            return CELL.sub(cell, row[0])

        kind = "stacked broad" if width > PRINT_WIDTH and len(columns) > MAX_PRINTED_COLUMNS else "stacked"
        return head.replace("<table", f'<table class="{kind}"', 1) + begin + ROW.sub(labelled, body)

    return TABLE.sub(table, page)


FILTERS = (
    stacked,
    aligned,
    c_label,
    c_number,
    c_str,
    java_label,
    java_number,
    java_str,
    py_whole,
    r_label,
    r_number,
    r_str,
    cplex_str,
    dot_str,
    js_str,
    js_value,
    md,
    of,
    one_line,
    percent,
    plain_name,
    py_str,
    py_value,
    scip_str,
    show_number,
    sql_ident,
    sql_label,
    sql_number,
    sql_str,
    tally,
    tex,
    tint,
    xml,
)

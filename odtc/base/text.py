"""Numbers and names as text."""

import difflib
from collections.abc import Iterable, Sequence

WARNING = "WARNING: "  # how a message begins that a reader or a caller must not miss

IRREGULAR = {"leaf": "leaves"}


def show_number(value: float) -> str:
    """The shortest text that reads back as the same double: 3 rather than 3.0."""
    value = float(value)
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


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


def some(names: Sequence[str]) -> str:
    """Ten of these names at most, quoted."""
    listed = [repr(name) for name in names[:10]]
    return ", ".join(listed + ["..."] if len(names) > 10 else listed)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return " (did you mean 'x'?)" when a known name is near, first of all in other capitals, otherwise ""."""
    names = list(known)
    near = [one for one in names if one.casefold() == name.casefold()]
    near = near or difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    return f" (did you mean {near[0]!r}?)" if near else ""

"""Arguments of a constraint's text, separated by commas, and the readings that a text allows.

    a,b                       two arguments, as in CSV: "a,b" in quotes is one, and "" is a quote in it
    'a,b'   positive="a,b"    quotes of either kind, around an argument or after its "="
    a,b                       one argument, if a class or a column has this name
    True                      the label that tables have as true

The first reading that fits the data is used. A constraint writes its arguments in the first form only.
"""

import csv
import re
from collections.abc import Iterator
from itertools import islice

from odtc.data.encoding import Encoded

QUOTED = re.compile(
    r"""\s*(?P<key>\w+\s*=\s*)?(?P<quote>["'])(?P<text>(?:(?!(?P=quote)).|(?P=quote){2})*)(?P=quote)\s*"""
)
PYTHONIC = re.compile(r"(?<![^=:|])(True|False)(?![^|])")  # True or False as a complete argument, value or level
MOST_PIECES = 100  # maximum number of pieces between commas that may be joined to names
MOST_WAYS = 50  # maximum number of ways to join pieces to names; a text may have 2^commas of them


def readings(text: str, encoded: Encoded) -> Iterator[tuple[str, ...]]:
    """Yield the arguments that a text may mean, the plainest reading first.

    Parameters
    ----------
    text : str
        The text between the brackets.
    encoded : Encoded
        Its classes and columns may be named without quotes.

    Yields
    ------
    tuple of str
        No reading twice.

    Raises
    ------
    csv.Error
        If the text is not on one line.
    """
    plain = tuple(cell.strip() for cell in next(csv.reader([text], skipinitialspace=True), []))
    auxiliary = encoded.dataset.auxiliary if encoded.dataset is not None else ()
    columns = {feature.name for feature in (*encoded.features, *auxiliary)}
    pieces = text.split(",")
    whole = _whole(pieces, columns, columns | {*encoded.classes}) if len(pieces) <= MOST_PIECES else ()
    found = [plain, _quoted(text), *islice(whole, MOST_WAYS)]
    found += [tuple(PYTHONIC.sub(lambda word: word.group().lower(), cell) for cell in cells) for cells in found]
    yield from dict.fromkeys(found)


def _quoted(text: str) -> tuple[str, ...]:
    """Return the arguments, some of which may be in quotes of either kind, also after "="."""
    cells, place = [], 0
    while place <= len(text):
        found = QUOTED.match(text, place)
        if found and text[found.end() : found.end() + 1] in ("", ","):
            quote, end = found["quote"], found.end()
            cells.append((found["key"] or "") + found["text"].replace(2 * quote, quote))
        else:
            end = text.find(",", place) if "," in text[place:] else len(text)
            cells.append(text[place:end].strip())
        place = end + 1
    return tuple(cells)


def _whole(pieces: list[str], columns: set[str], names: set[str]) -> Iterator[tuple[str, ...]]:
    """Yield the ways to join neighbouring pieces to names of the data, or to KEY=NAME."""
    if not pieces:
        yield ()
    for n in range(1, len(pieces) + 1):
        cell = ",".join(pieces[:n]).strip()
        key, _, value = ("", "", cell) if cell in names else cell.partition("=")
        value = value.strip()
        grouped = key.strip() == "group" and any(value.startswith(column) for column in columns)
        if value in names or grouped:
            for others in _whole(pieces[n:], columns, names):
                yield (cell, *others)

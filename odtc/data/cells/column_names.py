"""Names of columns: those that a file may have, and those that readers give."""

import math

from odtc.base.text import count_of
from odtc.base.wording import option
from odtc.errors import DataError

AGAIN = "\0"  # behind the name of a column that another one has, too, and before its number
INSTANCE_WEIGHT = "instance_weight"  # the column of the weights that an ARFF file has


def check_names(names, place: str) -> None:
    """Raise DataError for a column name that is blank, repeated, or a pattern of polars; `place` is the file, quoted.
    Column 1 may be without one, because `write.csv` of R and `to_csv` of pandas write the names of the rows in this
    way."""
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

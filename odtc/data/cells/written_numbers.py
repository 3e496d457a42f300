"""Numbers as people write them: with a decimal comma, thousands separators, a currency, a percent sign.

`--decimal ,` reads 1.234,50 € and 5 %; `--decimal .` reads $1,234.50 and 5%. The other of the two signs, blanks and
apostrophes are thousands separators before groups of three digits. The text next to the number is left out: 5 % is 5.
Accountants write -1.20 as (1.20) or 1.20-, and 5.00 as 5.-. Without the option, a number is written as programs do:
1234.5.
"""

import functools
from collections.abc import Sequence

import polars as pl

from odtc.base.text import show_number
from odtc.base.wording import option
from odtc.data.reading_spec import SIGNS

BLANKS = " \u00a0\u202f\u2009"  # plain, unbreakable, narrow and thin
APOSTROPHES = "'\u2019"
MINUS = "\u2212"  # the sign of printed texts
DASHES = "-\u2013\u2014"  # in the place of decimals, as in 5.-
# A number whose point may separate thousands, and one that is too small for such a point.
PARTED, UNPARTED = r"^-?[1-9][0-9]{0,2}\.[0-9]{3}$", r"^-?[0-9]{1,3}$"
CODES = (
    "USD EUR GBP CHF JPY CNY AUD CAD NZD SEK NOK DKK ISK PLN CZK HUF RON BGN TRY UAH RUB INR BRL MXN ZAR KRW SGD HKD "
    "THB"
)
MAX_BYTES = 1000  # of a cell that is a number: a double has fewer digits, and patterns take long on longer texts
PARTS = tuple("open first before inner second whole decimals alone exponent end behind outer last".split())
BESIDE = rf"(?:\p{{Sc}}|%|‰|{'|'.join(CODES.split())}|kr\.?|zł|Kč|Ft|Fr\.)"


@functools.cache
def _pattern(decimal: str) -> str:
    """Return the pattern of a whole cell, whose groups are PARTS."""
    marks = [sign for sign in (*SIGNS, *BLANKS, *APOSTROPHES) if sign != decimal]
    grouped = "|".join(rf"[0-9]{{1,3}}(?:[{mark}][0-9]{{3}})+" for mark in marks)
    point, gap, sign = f"[{decimal}]", f"[{BLANKS}]?", f"([-+{MINUS}])?"
    digits = rf"(?:({grouped}|[0-9]+)(?:{point}(?:[{DASHES}]{{1,2}}|([0-9]*)))?|{point}([0-9]+))([eE][-+]?[0-9]+)?"
    before, behind = rf"(\()?{sign}{gap}({BESIDE})?{gap}(\()?{sign}", rf"(\))?{gap}({BESIDE})?(\))?([-{MINUS}])?"
    return rf"^{before}{digits}{behind}$"


def plain(cells: pl.Series, decimal: str) -> pl.Series:
    """Return cells of text as plain numbers, "1234.50" for "1.234,50 €"; null for other cells.

    Parameters
    ----------
    cells : Series of String
    decimal : {".", ","}
        The sign before the decimals.
    """
    parts = _parts(cells, decimal)
    whole = pl.col("whole").str.replace_all(r"[^0-9]", "").fill_null("0")
    minus = pl.concat_str("first", "second", "last", ignore_nulls=True).str.replace(MINUS, "-")
    minus = pl.when(_count("open", "inner") > 0).then(pl.lit("-")).otherwise(minus)
    decimals = pl.concat_str("decimals", "alone", ignore_nulls=True)
    number = pl.concat_str(minus, whole, pl.lit("."), decimals, pl.lit("0"), "exponent", ignore_nulls=True)
    return parts.select(pl.when(_is_number()).then(number)).to_series().alias(cells.name)


def beside(cells: pl.Series, decimal: str) -> set[str]:
    """Return the texts before or after the numbers among some cells: {"€"}."""
    parts = _parts(cells, decimal).filter(_is_number())
    return {word for name in ("before", "behind") for word in parts[name].unique().drop_nulls().to_list()}


def signs_of(words: Sequence[str]) -> tuple[str, ...]:
    """Return the signs before decimals by which all words are finite numbers of one currency at most, the more usual
    first; both of words such as "5 %"."""
    cells = pl.Series(words, dtype=pl.String)
    return tuple(sign for sign in SIGNS if _all_finite(plain(cells, sign)) and len(beside(cells, sign)) < 2)


def how_to_read(words: Sequence[str], example: str) -> tuple[str, str] | None:
    """Return advice about numbers that people wrote, for one column and for several: the option that reads all of them,
    with its result for the example if both signs read them, but differently; None if no sign reads them all."""
    signs = signs_of(words)
    if not signs:
        return None
    if len({tuple(values_of(words, sign)) for sign in signs}) > 1:
        reads = [show_number(value) for sign in signs for value in values_of([example], sign) if value is not None]
        told = " or ".join(f"{option('decimal', sign)} ({number})" for sign, number in zip(signs, reads))
        return f"read the file with {told}", f"read the file with {option('decimal', *signs)}"
    return (f"read the file with {option('decimal', signs[0])}",) * 2


def _all_finite(numbers: pl.Series) -> bool:
    """Return whether all are plain numbers that a double can represent: 1e400 is not."""
    return not numbers.has_nulls() and bool(numbers.cast(pl.Float64).is_finite().all())


def values_of(words: Sequence[str], decimal: str) -> list[float | None]:
    """Return the words as numbers; None for a word that is not one."""
    return plain(pl.Series(words, dtype=pl.String), decimal).cast(pl.Float64).to_list()


def _is_number() -> pl.Expr:
    """Return whether a cell matches, with at most one sign or pair of brackets, and nothing or one text next to it."""
    found = pl.col("whole").is_not_null() | pl.col("alone").is_not_null()
    closed = _count("open", "inner") == _count("end", "outer")
    one = closed & (_count("first", "second", "last", "open", "inner") <= 1) & (_count("before", "behind") <= 1)
    of_decimals = pl.col("last").is_null() | (_count("decimals", "alone") > 0)  # 2- is a grade
    return found & one & of_decimals


def _count(*parts: str) -> pl.Expr:
    """Return how many of these parts a cell has."""
    return pl.sum_horizontal(pl.col(part).is_not_null() for part in parts)


def _parts(cells: pl.Series, decimal: str) -> pl.DataFrame:
    return (
        pl.DataFrame({"cell": cells})
        .with_columns(pl.when(pl.col("cell").str.len_bytes() <= MAX_BYTES).then("cell"))
        .select(pl.col("cell").str.extract_groups(_pattern(decimal)).struct.rename_fields(PARTS).alias("parts"))
        .unnest("parts")
    )

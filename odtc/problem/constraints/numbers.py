"""Numbers of constraints, from texts and as texts, exactly."""

import math
import re
from decimal import Decimal, localcontext
from fractions import Fraction

from odtc.base.text import show_number

DECIMAL = r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?"
NUMBER = re.compile(rf"(?P<above>{DECIMAL})(/(?P<below>\d+\.?\d*)|(?P<percent>\s*%))?", re.ASCII)
LONGEST = 400  # signs of a number


def read_number(text: str) -> Fraction | None:
    """Return the number of a text such as 0.05, 1/20, 5% or 5 %, exactly; None if it is not a finite number."""
    found = NUMBER.fullmatch(text) if len(text) <= LONGEST else None
    if found is None or not (below := Fraction(found["below"] or (100 if found["percent"] else 1))):
        return None
    value = Fraction(found["above"]) / below
    return value if math.isfinite(_float(value)) else None


def show_exact(value: Fraction) -> str:
    """Return the shortest text that reads back as the same number: a decimal if there is one, else a fraction."""
    if math.isfinite(near := _float(value)) and Fraction(repr(near)) == value:
        return show_number(near)
    twos_and_fives = value.denominator
    for prime in (2, 5):
        while twos_and_fives % prime == 0:
            twos_and_fives //= prime
    if twos_and_fives > 1 or value.denominator == 1:
        return str(value)
    with localcontext() as context:
        context.prec = LONGEST + value.denominator.bit_length() + value.numerator.bit_length()
        return str(Decimal(value.numerator) / Decimal(value.denominator))


def _float(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf

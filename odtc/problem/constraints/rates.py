"""Shares of rows by weight, and the reading of their arguments: parts that constraints on predictions share.

A `ShareSum` is a constraint on shares of rows: Σ_j coef_j · (share of the rows `among` that are `counted`) ≤ upper. Its
value on a sample of rows is an estimate. For each share, a sample gives bounds that hold with a chosen probability
(odtc.workflow.constrained.assurance), and so for sums of shares. A share that is in several sums is one object.
"""

from dataclasses import replace
from fractions import Fraction
from itertools import permutations
from math import gcd

import numpy as np

from odtc.base.text import did_you_mean, in_list
from odtc.base.whole_numbers import next_fraction, product
from odtc.data.encoding import Encoded
from odtc.errors import ChoiceError
from odtc.problem.constraints.groups import groups, rarest
from odtc.problem.constraints.kind import Constraint, Share, ShareSum


def share(given: Constraint) -> Constraint:
    """Check a constraint whose bound is a share.

    Parameters
    ----------
    given : Constraint

    Returns
    -------
    Constraint
        The same.

    Raises
    ------
    ChoiceError
        If its bound is not a share of rows.
    """
    if not 0 <= given.bound <= 1:
        number = float(given.bound)
        percent = f"; write {number / 100:g} for {number:g} %" if 1 < number <= 100 else ""
        raise ChoiceError(f"expected a share of rows between 0 and 1, got {str(given)!r}{percent}")
    return given


def positive_of(encoded: Encoded, given: Constraint) -> int:
    """Return the class that a constraint on FEATURE,positive=CLASS names; raises ChoiceError for other arguments."""
    if len(given.args) != 2 or not given.args[1].startswith("positive="):
        raise ChoiceError(f"expected {given.name}[FEATURE,positive=CLASS], got {str(given)!r}")
    return klass(encoded, given.args[1].partition("=")[2].strip())


def klass(encoded: Encoded, name: str) -> int:
    """Return the class with this name.

    Parameters
    ----------
    encoded : Encoded
    name : str
        As in the target.

    Returns
    -------
    int
        Its position among the classes.

    Raises
    ------
    ChoiceError
        If the data has no such class.
    """
    if name not in encoded.classes:
        raise ChoiceError(
            f"expected a class of {encoded.target!r}, got {name!r}{did_you_mean(name, encoded.classes)}; "
            f"known: {', '.join(map(in_list, encoded.classes))}"
        )
    return encoded.classes.index(name)


def named_class(encoded: Encoded, given: Constraint) -> int:
    """Return the class that is the only argument; raises ChoiceError for other arguments."""
    if len(given.args) != 1:
        example = replace(given, args=(rarest(encoded),))
        raise ChoiceError(
            f"expected {given.name}[CLASS], one of {', '.join(map(in_list, encoded.classes))}, got {str(given)!r}; "
            f"write for example {str(example)!r}"
        )
    return klass(encoded, given.args[0])


def one_class(encoded: Encoded, given: Constraint, inside: bool) -> Constraint:
    """Check that the only argument is a class, and that the data has rows of this class (`inside`) or of other classes;
    return the constraint."""
    named_class(encoded, given)
    if not encoded.weight[of_class(encoded, given.args[0]) == inside].sum():
        raise ChoiceError(
            f"expected rows of {'the' if inside else 'other classes than the'} class {given.args[0]!r} to take "
            f"{str(given)!r} of, got none"
        )
    return share(given)


def of_class(encoded: Encoded, name: str) -> np.ndarray:
    """Return bool (rows,): the rows of a class."""
    return encoded.y == klass(encoded, name)


def part(encoded: Encoded, among: np.ndarray, said: np.ndarray) -> Fraction | float:
    """Return the exact share, by weight, of the rows `among` (bool) for which `said` (bool) is true; NaN if their
    weight is 0, for example among test rows."""
    weight = encoded.whole_weight
    whole = int(weight[among].sum())
    return Fraction(int(weight[among & said].sum()), whole) if whole else np.nan


def lacking(encoded: Encoded, given: Constraint, inside: np.ndarray) -> np.ndarray:
    """Return whole numbers (rows,): weight · (a - b [row is `inside`]) for a bound of a / b. Their sum over some rows
    is 0 or less if and only if the share of these rows that is inside is a / b or more."""
    weight, (a, b) = attainable(encoded, given, 1)
    return product(weight, np.array([a, a - b], object)[inside.astype(int)])


def attainable(encoded: Encoded, given: Constraint, times: int) -> tuple[np.ndarray, tuple[int, int]]:
    """Return (the weights in their largest unit, (a, b)): a / b is the least share at or above the bound that some rows
    can reach, if their weight is counted this many `times`. The same rows satisfy a / b and the bound, but a / b may
    have fewer digits."""
    weight = encoded.whole_weight
    weight = weight // max(1, gcd(*map(int, np.unique(weight))))
    reached = next_fraction(given.bound, max(1, times * int(weight.sum())))
    return weight, (reached.numerator, reached.denominator)


def counting(encoded: Encoded, weight: np.ndarray, k: int) -> np.ndarray:
    """Return whole numbers (rows, classes): the coefficients of Σ_i weight_i [row i is predicted k]."""
    coef = np.zeros((encoded.n_rows, len(encoded.classes)), weight.dtype)
    coef[:, k] = weight
    return coef


def class_words(encoded: Encoded, k: int, which: bool = True) -> str:
    """Describe the rows that have this class, or another, in words after "row"."""
    return f"of class {encoded.classes[k]!r}" if which else f"of another class than {encoded.classes[k]!r}"


def at_least(among: np.ndarray, counted: np.ndarray, least: Fraction, of: str) -> ShareSum:
    """Return one share that is at least a number."""
    return ShareSum((Share(-1.0, among, counted, of),), -float(least))


def at_most(among: np.ndarray, counted: np.ndarray, most: Fraction, of: str) -> ShareSum:
    """Return one share that is at most a number."""
    return ShareSum((Share(1.0, among, counted, of),), float(most))


def members_of(encoded: Encoded, text: str) -> dict[str, np.ndarray]:
    """Return {name: bool (rows,)} of the groups of a text, for an encoding whose rows are rows of the data."""
    found = groups(encoded, text)
    return {f"of {name}": weight > 0 for name, weight in zip(found.names, found.weight.T)}


def gaps(
    encoded: Encoded, text: str, among: dict[str, np.ndarray], counted: np.ndarray, most: Fraction
) -> list[ShareSum]:
    """Return the differences of the shares of every two groups, among each of these sets of rows, bool (rows,), by
    their descriptions."""
    found = []
    for words, which in among.items():
        masks = {f"{name}{words}": group & which for name, group in members_of(encoded, text).items()}
        above, below = ([Share(sign, mask, counted, of) for of, mask in masks.items()] for sign in (1.0, -1.0))
        found += [ShareSum((above[g], below[h]), float(most)) for g, h in permutations(range(len(masks)), 2)]
    return found

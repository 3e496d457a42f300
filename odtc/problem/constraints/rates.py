"""Rates of a tree's predictions, by weight: parts that constraints on them share.

A rate is Σ w_i [row i is predicted so] / Σ w_i over some rows, such as those of a class, or those of a group and a
class. Groups are compared in pairs: |rate_g - rate_h| ≤ δ for all pairs is, with W_g the weight of the counted rows of
g and w_ig that of row i, for both orders of g and h

    W_h Σ_i w_ig [row i is predicted positive] - W_g Σ_i w_ih [row i is predicted positive] ≤ δ W_g W_h
"""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import permutations
from math import ceil, floor, gcd
from typing import Any

import numpy as np

from odtc.base.registry import did_you_mean
from odtc.base.text import some
from odtc.base.whole_numbers import narrowed, next_fraction, product
from odtc.data.encoding import Encoded
from odtc.errors import ChoiceError
from odtc.problem.constraints.constraint import Constraint
from odtc.problem.constraints.groups import Groups, example_of, groups, rarest
from odtc.problem.constraints.on_predictions import predicted
from odtc.problem.constraints.proportions import ShareSum, at_least, at_most, gaps
from odtc.trees.heap_tree import HeapTree


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
            f"known: {', '.join(encoded.classes)}"
        )
    return encoded.classes.index(name)


def one_class(encoded: Encoded, given: Constraint, inside: bool) -> Constraint:
    """Return the constraint, whose argument is a class, of which (`inside`), or of others than which, there
    are rows."""
    if len(given.args) != 1:
        example = replace(given, args=(rarest(encoded),))
        raise ChoiceError(
            f"expected {given.name}[CLASS], one of {', '.join(encoded.classes)}, got {str(given)!r}; "
            f"write for example {str(example)!r}"
        )
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
    """Return the share, by weight, of the rows `among` (bool) that are `said` (bool), exactly; NaN if their weight is
    0, as for some test rows."""
    weight = encoded.whole_weight
    whole = int(weight[among].sum())
    return Fraction(int(weight[among & said].sum()), whole) if whole else np.nan


def rate_of_class(inside: bool, said: bool) -> tuple[Callable[..., Any], ...]:
    """Return read, value, answers and proportions of a kind whose argument is a class c, and which compares the share
    of the rows of c (`inside`), or of the others, that are predicted c (`said`), or another class.

    In the model Σ w_i [row i is predicted c] over these rows is compared, because the others among them are the rest.
    """

    def among(encoded: Encoded, given: Constraint) -> np.ndarray:
        return of_class(encoded, given.args[0]) == inside

    def counted(encoded: Encoded, given: Constraint, predicted: np.ndarray) -> np.ndarray:
        return (predicted == klass(encoded, given.args[0])) == said

    def read(encoded: Encoded, given: Constraint) -> Constraint:
        return one_class(encoded, given, inside)

    def value(encoded: Encoded, given: Constraint, heap: HeapTree) -> Fraction | float:
        return part(encoded, among(encoded, given), counted(encoded, given, predicted(encoded, heap)))

    def answers(encoded: Encoded, given: Constraint) -> list[tuple[np.ndarray, int]]:
        weight, k = encoded.whole_weight * among(encoded, given), klass(encoded, given.args[0])
        limit = (given.bound if said else 1 - given.bound) * int(weight.sum())
        if (given.op == ">=") == said:
            return [(counting(encoded, -weight, k), -ceil(limit))]
        return [(counting(encoded, weight, k), floor(limit))]

    def proportions(encoded: Encoded, given: Constraint, predicted: np.ndarray) -> list[ShareSum]:
        words = class_words(encoded, klass(encoded, given.args[0]), inside)
        compare = at_least if given.op == ">=" else at_most
        return [compare(among(encoded, given), counted(encoded, given, predicted), given.bound, words)]

    return read, value, answers, proportions


def lacking(encoded: Encoded, given: Constraint, inside: np.ndarray) -> np.ndarray:
    """Return whole numbers (rows,): weight · (a - b [row is `inside`]) for a bound of a / b, whose sum over some rows
    is 0 or less if and only if a share of a / b or more of them is inside."""
    weight, (a, b) = attainable(encoded, given, 1)
    return product(weight, np.array([a, a - b], object)[inside.astype(int)])


def attainable(encoded: Encoded, given: Constraint, times: int) -> tuple[np.ndarray, tuple[int, int]]:
    """Return (the weights in their largest unit, (a, b)): a / b is the least share from the bound on that rows can
    have whose weight is counted this many `times`; it has fewer digits than a bound of many, and no other rows keep
    it."""
    weight = encoded.whole_weight
    weight = weight // max(1, gcd(*map(int, np.unique(weight))))
    reached = next_fraction(given.bound, max(1, times * int(weight.sum())))
    return weight, (reached.numerator, reached.denominator)


def counting(encoded: Encoded, weight: np.ndarray, k: int) -> np.ndarray:
    """Return whole numbers (rows, classes): the coefficients of Σ_i weight_i [row i is predicted k]."""
    coef = np.zeros((encoded.n_rows, len(encoded.classes)), weight.dtype)
    coef[:, k] = weight
    return coef


def compared(given: Constraint) -> tuple[str, ...]:
    """Return the groups that a constraint of this kind compares, as a text."""
    return (given.keyed("group", "positive")[0],)


# The kinds that compare groups say AMONG which rows: of the positive class (True), of the others (False), or all
# (None); of several, each is compared. All else of them is here.


def read(encoded: Encoded, given: Constraint) -> Constraint:
    """Return the constraint on the differences between groups. Raises ChoiceError if it has no effect, because fewer
    than two groups have such rows."""
    try:
        text, positive = given.keyed("group", "positive")
    except ChoiceError as refused:
        example = replace(given, args=(f"group={example_of(encoded)}", f"positive={rarest(encoded)}"))
        raise ChoiceError(f"{refused}; write for example {str(example)!r}") from None
    k, of = klass(encoded, positive), groups(encoded, text)
    for which in given.module.AMONG:
        has = _mass(encoded, of, k, which).sum(axis=0) > 0
        if has.sum() < 2:
            rows = f"the class {positive!r}" if which else f"other classes than {positive!r}"
            only = f"only {some(np.array(of.names)[has].tolist())} has" if has.any() else "none has"
            raise ChoiceError(
                f"expected two groups with rows of {rows} in {str(given)!r}, but {only} such rows, and "
                f"{some(np.array(of.names)[~has].tolist())} none, so that there is nothing to compare; take another "
                f"group or class, or more rows"
            )
    return share(given)


def value(encoded: Encoded, given: Constraint, heap: HeapTree) -> Fraction:
    """Return the largest difference of two groups' rates of positive predictions."""
    text, positive = given.keyed("group", "positive")
    k, gaps = klass(encoded, positive), [Fraction(0)]
    said = predicted(encoded, heap) == k
    for which in given.module.AMONG:
        mass = _mass(encoded, groups(encoded, text), k, which)
        totals, counted = mass.sum(axis=0).tolist(), mass[said].sum(axis=0).tolist()
        rates = [Fraction(part, total) for part, total in zip(counted, totals) if total]
        gaps.append(max(rates) - min(rates))
    return max(gaps)


def answers(encoded: Encoded, given: Constraint) -> list[tuple[np.ndarray, int]]:
    """Return the lines of odtc.problem.constraints.on_predictions for these differences."""
    text, positive = given.keyed("group", "positive")
    k, found = klass(encoded, positive), []
    for which in given.module.AMONG:
        mass = _mass(encoded, groups(encoded, text), k, which)
        total = mass.sum(axis=0).tolist()
        for g, h in permutations(np.flatnonzero(total).tolist(), 2):
            shared = gcd(total[g], total[h])
            apart = narrowed(
                mass[:, g].astype(object) * (total[h] // shared) - mass[:, h].astype(object) * (total[g] // shared)
            )
            found.append((counting(encoded, apart, k), floor(given.bound * (total[g] * total[h] // shared))))
    return found


def _mass(encoded: Encoded, of: Groups, k: int, which: bool | None) -> np.ndarray:
    """Return whole numbers (rows, groups): the weights of the rows that count."""
    return of.whole if which is None else of.whole * ((encoded.y == k) == which)[:, None]


def class_words(encoded: Encoded, k: int, which: bool = True) -> str:
    """Describe the rows that have this class, or another, in words after "row"."""
    return f"of class {encoded.classes[k]!r}" if which else f"of another class than {encoded.classes[k]!r}"


def proportions(encoded: Encoded, given: Constraint, predicted: np.ndarray) -> list[ShareSum]:
    """Return the differences of the rates of every two groups (odtc.problem.constraints.proportions)."""
    text, positive = given.keyed("group", "positive")
    k = klass(encoded, positive)
    among = {
        "" if which is None else f" {class_words(encoded, k, which)}": np.ones(encoded.n_rows, bool)
        if which is None
        else (encoded.y == k) == which
        for which in given.module.AMONG
    }
    return gaps(encoded, text, among, predicted == k, given.bound)

"""The kinds of constraints on rates: one row each, with numerator, denominator and sense.

A rate is Σ w_i [row i is counted] / Σ w_i over some rows, such as all rows of a class, or of a group and a class.
Groups are compared in pairs: |rate_g - rate_h| ≤ δ for all pairs is, with W_g the weight of these rows in g and
w_ig the weight of row i among them, for both orders of g and h

    W_h Σ_i w_ig [row i is predicted positive] - W_g Σ_i w_ih [row i is predicted positive] ≤ δ W_g W_h

The docstring of a row is printed by `odtc info NAME`.
"""

import re
from dataclasses import replace
from fractions import Fraction
from inspect import cleandoc
from itertools import permutations
from math import ceil, floor, gcd, lcm
from textwrap import fill
from types import SimpleNamespace

import numpy as np

from odtc.base.text import some
from odtc.base.whole_numbers import narrowed, product, sums_of_whole
from odtc.data.encoding import Encoded
from odtc.errors import ChoiceError
from odtc.problem.constraints import on_predictions
from odtc.problem.constraints.by_definition import rate_reference
from odtc.problem.constraints.constraint import expect_no_arguments
from odtc.problem.constraints.groups import Groups, example_of, rarest
from odtc.problem.constraints.groups import groups as groups_of
from odtc.problem.constraints.kind import Constraint, Share, ShareSum, Subject
from odtc.problem.constraints.on_predictions import predicted
from odtc.problem.constraints.rates import (
    at_least,
    at_most,
    attainable,
    class_words,
    counting,
    gaps,
    klass,
    lacking,
    members_of,
    of_class,
    one_class,
    part,
    share,
)
from odtc.trees.heap_tree import HeapTree

Sums = list[tuple[np.ndarray, int]]
LINEAR = "KNOWS", "NEEDS", "early", "knows", "mend", "needs", "rows", "values"
WIDTH = 120  # width of a printed docstring, in characters


class Rate:
    """A row of the table; its summary states its name and its sense."""

    SUMMARY: str
    SUBJECT: str = Subject.RIGHT

    def __init__(self) -> None:
        self.NAME, self.op = re.split(r"\W", self.SUMMARY)[0], "<=" if " <= " in self.SUMMARY else ">="


class OfAll(Rate):
    """A rate without arguments."""

    def read(self, encoded: Encoded, given: Constraint) -> Constraint:
        expect_no_arguments(given)
        return share(given)


class OfClass(Rate):
    """A rate whose argument is a class of which there are rows (`INSIDE`), or others."""

    INSIDE = True

    def read(self, encoded: Encoded, given: Constraint) -> Constraint:
        return one_class(encoded, given, self.INSIDE)


class AmongClass(OfClass):
    """Of the rows of a class c (`INSIDE`), or of the others, the share that are predicted c (`SAID`), or another class.

    In the model Σ w_i [row i is predicted c] over these rows is compared, because the others among them are the rest.
    """

    SAID = True

    def among(self, encoded: Encoded, given: Constraint) -> np.ndarray:
        return of_class(encoded, given.args[0]) == self.INSIDE

    def counted(self, encoded: Encoded, given: Constraint, predicted: np.ndarray) -> np.ndarray:
        return (predicted == klass(encoded, given.args[0])) == self.SAID

    def value(self, encoded: Encoded, given: Constraint, heap: HeapTree) -> Fraction | float:
        return part(encoded, self.among(encoded, given), self.counted(encoded, given, predicted(encoded, heap)))

    def answers(self, encoded: Encoded, given: Constraint) -> Sums:
        weight, k = encoded.whole_weight * self.among(encoded, given), klass(encoded, given.args[0])
        limit = (given.bound if self.SAID else 1 - given.bound) * int(weight.sum())
        if (given.op == ">=") == self.SAID:
            return [(counting(encoded, -weight, k), -ceil(limit))]
        return [(counting(encoded, weight, k), floor(limit))]

    def proportions(self, encoded: Encoded, given: Constraint, predicted: np.ndarray) -> list[ShareSum]:
        words = class_words(encoded, klass(encoded, given.args[0]), self.INSIDE)
        compare = at_least if given.op == ">=" else at_most
        among, counted = self.among(encoded, given), self.counted(encoded, given, predicted)
        return [compare(among, counted, given.bound, words)]


class OfGroups(Rate):
    """w_ig is the weight of the rows of group g that encoded row i represents, W_g the sum of these. Each difference of
    two groups is compared in both orders. Groups are written `group=COLUMN`, `COLUMN:LEVEL|LEVEL` for these levels and
    all others, or `COLUMN<=NUMBER`; the column may be an auxiliary one (--auxiliary).
    """

    # The largest difference of two groups' rates of positive predictions, among the rows of the positive class (True),
    # the others (False), or all (None); of several, each is compared. Its docstring ends those of its rows.
    SUBJECT = Subject.PREDICTIONS
    AMONG: tuple[bool | None, ...]

    def compared(self, given: Constraint) -> tuple[str, ...]:
        return (given.keyed("group", "positive")[0],)

    def read(self, encoded: Encoded, given: Constraint) -> Constraint:
        try:
            text, positive = given.keyed("group", "positive")
        except ChoiceError as refused:
            named = {"group": example_of(encoded), "positive": rarest(encoded)}
            named |= {key: value for key, _, value in (cell.partition("=") for cell in given.args) if key in named}
            example = replace(given, args=tuple(f"{key}={value}" for key, value in named.items()))
            raise ChoiceError(f"{refused}; write for example {str(example)!r}") from None
        k, of = klass(encoded, positive), groups_of(encoded, text)
        for which in self.AMONG:
            has = _mass(encoded, of, k, which).sum(axis=0) > 0
            if has.sum() < 2:
                rows = f"the class {positive!r}" if which else f"other classes than {positive!r}"
                only = f"only {some(np.array(of.names)[has].tolist())} has" if has.any() else "none has"
                raise ChoiceError(
                    f"expected two groups with rows of {rows} in {str(given)!r}, but {only} such rows, and "
                    f"{some(np.array(of.names)[~has].tolist())} none, so that there is nothing to compare; take "
                    f"another group or class, or more rows"
                )
        return share(given)

    def value(self, encoded: Encoded, given: Constraint, heap: HeapTree) -> Fraction:
        k, masses = self._masses(encoded, given)
        found, said = [Fraction(0)], predicted(encoded, heap) == k
        for mass in masses:
            totals, counted = mass.sum(axis=0).tolist(), mass[said].sum(axis=0).tolist()
            rates = [Fraction(part, total) for part, total in zip(counted, totals) if total]
            found.append(max(rates) - min(rates))
        return max(found)

    def answers(self, encoded: Encoded, given: Constraint) -> Sums:
        k, masses = self._masses(encoded, given)
        found: Sums = []
        for mass in masses:
            total = mass.sum(axis=0).tolist()
            for g, h in permutations(np.flatnonzero(total).tolist(), 2):
                shared = gcd(total[g], total[h])
                apart = narrowed(
                    mass[:, g].astype(object) * (total[h] // shared) - mass[:, h].astype(object) * (total[g] // shared)
                )
                found.append((counting(encoded, apart, k), floor(given.bound * (total[g] * total[h] // shared))))
        return found

    def proportions(self, encoded: Encoded, given: Constraint, predicted: np.ndarray) -> list[ShareSum]:
        text, positive = given.keyed("group", "positive")
        k = klass(encoded, positive)
        among = {
            "" if which is None else f" {class_words(encoded, k, which)}": np.ones(encoded.n_rows, bool)
            if which is None
            else (encoded.y == k) == which
            for which in self.AMONG
        }
        return gaps(encoded, text, among, predicted == k, given.bound)

    def _masses(self, encoded: Encoded, given: Constraint) -> tuple[int, list[np.ndarray]]:
        """Return (the positive class, whole numbers (rows, groups) for each of AMONG: the weights that count)."""
        text, positive = given.keyed("group", "positive")
        k, of = klass(encoded, positive), groups_of(encoded, text)
        return k, [_mass(encoded, of, k, which) for which in self.AMONG]


def _mass(encoded: Encoded, of: Groups, k: int, which: bool | None) -> np.ndarray:
    """Return whole numbers (rows, groups): the weights of the rows that count."""
    return of.whole if which is None else of.whole * ((encoded.y == k) == which)[:, None]


def _right(encoded: Encoded) -> np.ndarray:
    """Return bool (rows, classes): the correct predictions."""
    return encoded.y[:, None] == np.arange(len(encoded.classes))


# The rows of the table.


class Accuracy(OfAll):
    """Accuracy constraint: at least this share of the rows is classified correctly: Σ_i w_i [row i is correct] ≥ r Σ_i
    w_i.

    Rows count by weight, as errors do; the costs of errors do not matter.
    """

    SUMMARY = "accuracy >= R: at least this share of the rows is correct"

    def value(self, encoded: Encoded, given: Constraint, heap: HeapTree) -> Fraction | float:
        return part(encoded, np.ones(encoded.n_rows, bool), predicted(encoded, heap) == encoded.y)

    def answers(self, encoded: Encoded, given: Constraint) -> Sums:
        weight = encoded.whole_weight
        return [(-weight[:, None] * _right(encoded), -ceil(given.bound * int(weight.sum())))]

    def proportions(self, encoded: Encoded, given: Constraint, predicted: np.ndarray) -> list[ShareSum]:
        return [at_least(np.ones(encoded.n_rows, bool), predicted == encoded.y, given.bound, "at all")]


class Recall(AmongClass):
    """Recall of a class is at least this share: Σ_{i: y_i = c} w_i [row i is predicted c] ≥ r W_c.

    W_c is the weight of the rows of c. This equals a false negative rate of at most 1 - r.
    """

    SUMMARY = "recall[CLASS] >= R: at least this share of the rows of a class is predicted as the class"


class FalseNegativeRate(AmongClass):
    """Limit on the false negative rate: at most this share of the rows of a class is predicted as another class:

    Σ_{i: y_i = c} w_i [row i is not predicted c] ≤ r W_c.
    """

    SUMMARY = "false_negative_rate[CLASS] <= R: at most this share of the rows of a class is predicted as another class"
    SAID = False


class FalsePositiveRate(AmongClass):
    """Limit on the false positive rate: at most this share of the rows of other classes is predicted as the class:

    Σ_{i: y_i ≠ c} w_i [row i is predicted c] ≤ r (W - W_c).
    """

    SUMMARY = (
        "false_positive_rate[CLASS] <= R: at most this share of the rows of other classes is predicted as the class"
    )
    SUBJECT, INSIDE = Subject.RIGHT_OF_TWO, False


class Precision(OfClass):
    """Precision of a class is at least this share: Σ_i w_i (r - [y_i = c]) [row i is predicted c] ≤ 0.

    A tree that never predicts the class satisfies it, with precision 1. For r = a / b the constraint is written with a
    and b, so that its coefficients are integers if the weights are.
    """

    SUMMARY = (
        "precision[CLASS] >= R: at least this share of the rows predicted as a class belongs to it, if there are any"
    )
    SUBJECT = Subject.RIGHT_OF_TWO

    def value(self, encoded: Encoded, given: Constraint, heap: HeapTree) -> Fraction | float:
        said = predicted(encoded, heap) == klass(encoded, given.args[0])
        found = part(encoded, said, of_class(encoded, given.args[0]))
        return Fraction(1) if found != found else found

    def answers(self, encoded: Encoded, given: Constraint) -> Sums:
        lacks = lacking(encoded, given, of_class(encoded, given.args[0]))
        return [(counting(encoded, lacks, klass(encoded, given.args[0])), 0)]

    def proportions(self, encoded: Encoded, given: Constraint, predicted: np.ndarray) -> list[ShareSum]:
        k = klass(encoded, given.args[0])
        return [at_least(predicted == k, encoded.y == k, given.bound, f"that is predicted {encoded.classes[k]!r}")]


class F1(OfClass):
    """The F1 score of a class is at least r: Σ_i w_i ((2 - r) [y_i = c] - r [y_i ≠ c]) [row i is predicted c] ≥ r W_c.

    F1 is 2 TP / (2 TP + FP + FN), and TP + FN is the weight W_c of the rows of c, so the inequality is linear in the
    predictions. A tree that never predicts the class has an F1 of 0.
    """

    SUMMARY = "f1[CLASS] >= R: the F1 score of a class, 2 TP / (2 TP + FP + FN), is at least R"
    SUBJECT = Subject.RIGHT_OF_TWO

    def value(self, encoded: Encoded, given: Constraint, heap: HeapTree) -> Fraction | float:
        weight, mine = encoded.whole_weight, of_class(encoded, given.args[0])
        said = predicted(encoded, heap) == klass(encoded, given.args[0])
        counted = int(weight[said].sum()) + int(weight[mine].sum())
        return Fraction(2 * int(weight[said & mine].sum()), counted) if counted else np.nan

    def answers(self, encoded: Encoded, given: Constraint) -> Sums:
        mine = of_class(encoded, given.args[0])
        weight, (a, b) = attainable(encoded, given, 2)
        coef = product(weight, np.array([a, a - 2 * b], object)[mine.astype(int)])
        return [(counting(encoded, coef, klass(encoded, given.args[0])), -a * int(weight[mine].sum()))]


class BalancedAccuracy(OfAll):
    """The mean recall of the K classes that have rows is at least R: Σ_i (w_i / W_{y_i}) [row i is right] ≥ R K."""

    SUMMARY = "balanced_accuracy >= R: the mean recall of the classes is at least R"

    def value(self, encoded: Encoded, given: Constraint, heap: HeapTree) -> Fraction:
        right = _totals(encoded, predicted(encoded, heap) == encoded.y)
        recalls = [Fraction(part, total) for part, total in zip(right, _totals(encoded)) if total]
        return sum(recalls, Fraction(0)) / len(recalls)

    def answers(self, encoded: Encoded, given: Constraint) -> Sums:
        total = _totals(encoded)
        heavy = [weight for weight in total if weight]
        scale = lcm(*heavy)
        each = np.array([scale // weight if weight else 0 for weight in total], object)
        coef = product(encoded.whole_weight, each[encoded.y])
        return [(-coef[:, None] * _right(encoded), -ceil(given.bound * scale * len(heavy)))]

    def proportions(self, encoded: Encoded, given: Constraint, predicted: np.ndarray) -> list[ShareSum]:
        K, right = len(encoded.classes), predicted == encoded.y  # a class without rows here may occur among new rows
        shares = (Share(-1.0 / K, encoded.y == k, right, class_words(encoded, k)) for k in range(K))
        return [ShareSum(tuple(shares), -float(given.bound))]


def _totals(encoded: Encoded, among: np.ndarray | bool = True) -> list[int]:
    """Return the weight of the rows of each class among `among`, bool (rows,), in the unit of `whole_weight`."""
    found: list[int] = sums_of_whole(encoded.y, encoded.whole_weight * among, len(encoded.classes)).tolist()
    return found


class GroupAccuracy(Rate):
    """In every group, at least this share of the rows is classified correctly: Σ_i w_ig [row i is correct] ≥ R W_g for
    each group g.

    w_ig is the weight of the rows of group g that encoded row i represents, W_g the sum of these. Groups are written
    `group=COLUMN`, `COLUMN:LEVEL|LEVEL` for these levels and all others, or `COLUMN<=NUMBER`; the column may be an
    auxiliary one (--auxiliary).
    """

    SUMMARY = "group_accuracy[group=G] >= R: at least this share of the rows of every group is correct"

    def compared(self, given: Constraint) -> tuple[str, ...]:
        return (given.keyed("group")[0],)

    def read(self, encoded: Encoded, given: Constraint) -> Constraint:
        groups_of(encoded, given.keyed("group")[0])
        return share(given)

    def value(self, encoded: Encoded, given: Constraint, heap: HeapTree) -> Fraction:
        mass = groups_of(encoded, given.keyed("group")[0]).whole
        right = predicted(encoded, heap) == encoded.y
        return min(map(Fraction, mass[right].sum(axis=0).tolist(), mass.sum(axis=0).tolist()))

    def answers(self, encoded: Encoded, given: Constraint) -> Sums:
        mass, right = groups_of(encoded, given.keyed("group")[0]).whole, _right(encoded)
        return [(-one[:, None] * right, -ceil(given.bound * int(one.sum()))) for one in mass.T]

    def proportions(self, encoded: Encoded, given: Constraint, predicted: np.ndarray) -> list[ShareSum]:
        every = members_of(encoded, given.keyed("group")[0])
        return [at_least(group, predicted == encoded.y, given.bound, of) for of, group in every.items()]


class StatisticalParity(OfGroups):
    """Groups are predicted positive with the same rate: |P(ŷ = c | g) - P(ŷ = c | h)| ≤ δ, with P(ŷ = c | g) = Σ_i w_ig
    [row i is predicted c] / W_g.
    """

    SUMMARY = "statistical_parity[group=G,positive=CLASS] <= D: groups are predicted positive alike, up to a share D"
    AMONG = (None,)


class EqualOpportunity(OfGroups):
    """Groups have the same recall: |P(ŷ = c | g, y = c) - P(ŷ = c | h, y = c)| ≤ δ, sums over the rows of class c."""

    SUMMARY = (
        "equal_opportunity[group=G,positive=CLASS] <= D: groups have the same recall of the class, up to a share D"
    )
    AMONG = (True,)


class PredictiveEquality(OfGroups):
    """Groups have the same false positive rate: |P(ŷ = c | g, y ≠ c) - P(ŷ = c | h, y ≠ c)| ≤ δ, sums over the rows of
    other classes than c.
    """

    SUMMARY = (
        "predictive_equality[group=G,positive=CLASS] <= D: groups have the same false positive rate, up to a share D"
    )
    AMONG = (False,)


class EqualisedOdds(OfGroups):
    """Groups have the same recall and the same false positive rate: equal_opportunity and predictive_equality together,
    each within δ.
    """

    SUMMARY = (
        "equalised_odds[group=G,positive=CLASS] <= D: groups have the same recall and the same false positive "
        "rate, each up to a share D"
    )
    AMONG = (True, False)


def _member(rate: Rate) -> SimpleNamespace:
    """Return a rate as a member of the registry: its own names, as in a module, and the names that every kind has that
    is linear in the predictions."""
    doc = cleandoc(rate.__doc__ or "")
    if isinstance(rate, OfGroups):
        doc += "\n\n" + fill(cleandoc(OfGroups.__doc__ or "").replace("\n", " "), WIDTH)
    names = {name: getattr(rate, name) for name in dir(rate) if not name.startswith("_")}
    names |= {name: getattr(on_predictions, name) for name in LINEAR}
    return SimpleNamespace(__name__=__name__, __doc__=doc, OPS=(rate.op,), reference=rate_reference, **names)


MEMBERS = {
    rate.NAME: _member(rate)
    for rate in (
        Accuracy(),
        Recall(),
        Precision(),
        FalsePositiveRate(),
        FalseNegativeRate(),
        StatisticalParity(),
        EqualOpportunity(),
        PredictiveEquality(),
        EqualisedOdds(),
        GroupAccuracy(),
        BalancedAccuracy(),
        F1(),
    )
}

"""Constraints of a certificate, read from their text and the raw data, with exact fractions.

Nothing of the compiler's constraints is used. A text "NAME[ARGUMENTS] OP NUMBER" becomes

    sums       Σ over rows of their uses by prediction, and of the uses of nodes  ≤  a whole bound
    leaves     in a leaf that predicts a class, a sum over its rows of the amounts they count is large enough
    places     which columns of the data a tree may use, where, and with which others (Places)
    orders     with which columns which class rises, for the rows of the data (stated_order)
    everywhere the same for all inputs (stated_boxes)

Weights are whole (the certificate's scale), and numbers are the decimals in the text: a share of at least ρ of the
weight W is a sum of at least ⌈ρ W⌉. A kind that is not read here is refused, so that a proof never leaves out a
constraint that it states.
"""

import csv
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import permutations
from math import inf
from typing import Protocol

import numpy as np

from odtc.base.value_class import value_class
from odtc.base.whole_numbers import MAX_DIFFERENCE
from odtc.base.wording import command
from odtc.data.dataset import Dataset
from odtc.errors import CertificateError
from odtc.verification.constrained.stated_order import Order, read_order

WORDS = re.compile(r"(?P<name>\w+)(\[(?P<args>.*)\])?( (?P<op><=|>=) (?P<bound>\S+))?", re.DOTALL)
NUMBER = re.compile(r"-?[0-9]{1,20}(/[1-9][0-9]{0,20}|(\.[0-9]{1,30})?(e[+-]?[0-9]{1,2})?)")


# Constraints of a certificate on the columns of a tree: their levels, positions, combinations and number.
#
# A certificate's constraints on the columns that a tree uses are read from their text only, without the compiler. A
# column that may be only at the levels a, …, b has a span (a, b); the root is at level 0.


class Text(Protocol):
    """A constraint in its parts."""

    name: str
    args: list[str]
    bound: Fraction
    text: str


@value_class
class Places:
    """The limits of all constraints on the positions of splits.

    Attributes
    ----------
    span : dict of str to (int, float)
        The first and the last level at which a column may be used; others may be at any level.
    never_below : tuple of (str, str)
        No node that splits on the first is below one that splits on the second.
    apart, together : tuple of frozenset of str
        Columns of which a tree uses at most one; all or none.
    most_columns, most_splits : int or None
        How many columns, and different splits, a tree may use.
    """

    span: dict[str, tuple[int, float]]
    never_below: tuple[tuple[str, str], ...] = ()
    apart: tuple[frozenset[str], ...] = ()
    together: tuple[frozenset[str], ...] = ()
    most_columns: int | None = None
    most_splits: int | None = None

    @property
    def of_columns(self) -> bool:
        """Return whether there is any limit on columns."""
        named = self.span or self.never_below or self.apart or self.together
        return bool(named) or self.most_columns is not None

    @property
    def settled(self) -> bool:
        """Return whether nodes that separate no rows matter, so that every leaf must have a row."""
        return bool(self.together) or any(first > 1 for first, _ in self.span.values())

    def levels(self, columns: Sequence[str], depth: int) -> np.ndarray:
        """Return bool (depth, splits): the levels at which splits of these columns, one per split, may be."""
        first, last = np.array([self.span.get(name, (0, inf)) for name in columns], float).T
        level = np.arange(depth)[:, None]
        return (first <= level) & (level <= last)

    def below(self, columns: Sequence[str]) -> np.ndarray:
        """Return bool (splits, splits): [f, g] is whether g may be somewhere below f."""
        names = np.array(columns)
        if not self.never_below:
            return np.broadcast_to(True, (len(columns), len(columns)))
        may = np.ones((len(columns), len(columns)), bool)
        for low, high in self.never_below:
            may &= ~((names == high)[:, None] & (names == low)[None, :])
        return may

    def violated(self, path: Sequence[str]) -> str:
        """Describe the limit that a node violates with these columns from the root to it; "" for none."""
        first, last = self.span.get(path[-1], (0, inf))
        if not first <= len(path) - 1 <= last:
            node = "the root" if len(path) == 1 else f"a node of depth {len(path) - 1}"
            return f"{node} of the tree of the certificate splits on {path[-1]!r}, which its constraints bar"
        above = next((high for low, high in self.never_below if low == path[-1] and high in path[:-1]), None)
        return "" if above is None else f"the tree of the certificate splits on {path[-1]!r} below {above!r}"

    def violated_by_all(self, columns: set[str], n_candidate_splits: int) -> str:
        """Describe the limit that a tree violates that uses these columns, with this many different splits; "" for
        none."""
        if self.most_columns is not None and len(columns) > self.most_columns:
            return f"the tree of the certificate splits on {len(columns)} columns"
        if self.most_splits is not None and n_candidate_splits > self.most_splits:
            return f"the tree of the certificate has {n_candidate_splits} different splits"
        if any(len(columns & apart) > 1 for apart in self.apart):
            return "the tree of the certificate splits on columns that are never to be together"
        if any(columns & both and not both <= columns for both in self.together):
            return "the tree of the certificate splits on some of columns that are to be together, not all"
        return ""


def _least(one: int | None, other: int) -> int:
    return other if one is None else min(one, other)


def with_place(places: Places, given: Text, names: Sequence[str]) -> Places:
    """Return the limits with one more constraint, on columns of the data with these names."""
    named = list(dict.fromkeys(given.args))
    if given.name in ("features", "splits"):
        limit = "most_columns" if given.name == "features" else "most_splits"
        return replace(places, **{limit: _least(getattr(places, limit), count_of(given))})
    if not named or not set(named) <= set(names):
        raise CertificateError(f"the certificate states {given.text!r}, which does not name a column of the data")
    if given.name == "not_below":
        if len(given.args) != 2:
            raise CertificateError(f"the certificate states {given.text!r}, which names two columns")
        return replace(places, never_below=(*places.never_below, (given.args[0], given.args[1])))
    if given.name in ("never_together", "together"):
        if len(named) < 2:
            raise CertificateError(f"the certificate states {given.text!r}, which names two columns or more")
        which = "apart" if given.name == "never_together" else "together"
        return replace(places, **{which: (*getattr(places, which), frozenset(named))})
    if given.name in ("deepest", "shallowest"):
        if len(given.args) != 1 or given.bound.denominator != 1 or given.bound < 0:
            raise CertificateError(f"the certificate states {given.text!r}, which is not a depth of one column")
        own = (0, float(given.bound)) if given.name == "deepest" else (int(given.bound), inf)
    else:
        own = (1, inf)
        named = [name for name in names if name not in named] if given.name == "require_root" else named
    span = dict(places.span)
    for name in named:
        first, last = span.get(name, (0, inf))
        span[name] = (max(first, own[0]), min(last, own[1]))
    return replace(places, span=span)


def count_of(given: Text) -> int:
    """Return the whole number of a constraint without arguments."""
    if given.bound.denominator != 1 or given.bound < 0 or given.args:
        raise CertificateError(f"the certificate states {given.text!r}, which counts no whole number")
    return int(given.bound)


@value_class
class Stated:
    """The requirements of all constraints of a certificate on a tree.

    Attributes
    ----------
    uses : int64 (sums, rows, classes)
    bound : list of int
    branch_uses : list of int
        The use of each sum by a branch node.
    leaf_uses : int64 (sums, classes)
        The use of each sum by a leaf that predicts a class, in addition to the use by its rows.
    measures : int64 (conditions, rows)
        The amount that a row of the data counts.
    least : float64 (conditions, classes)
        The rows of a leaf that predicts a class count at least this much; -inf for no condition.
    places : Places
    orders, everywhere : tuple of Order
    """

    uses: np.ndarray
    bound: list[int]
    branch_uses: list[int]
    leaf_uses: np.ndarray
    measures: np.ndarray
    least: np.ndarray
    places: Places
    orders: tuple[Order, ...]
    everywhere: tuple[Order, ...]


@value_class
class _Text:
    name: str
    args: list[str]
    op: str
    bound: Fraction
    text: str


class _Rows:
    """The rows to which constraints refer: weight int64 (rows,), classes, groups; `paid` int64 (rows, classes) are the
    costs of predictions, in units of which `unit` are 1."""

    def __init__(self, dataset: Dataset, weight: np.ndarray, paid: np.ndarray, unit: int):
        self.dataset, self.weight, self.paid, self.unit = dataset, weight, paid, unit
        self.right = dataset.y[:, None] == np.arange(len(dataset.classes))

    def of_class(self, name: str) -> tuple[int, np.ndarray]:
        """Return (index, bool (rows,)) of a class."""
        if name not in self.dataset.classes:
            raise CertificateError(
                f"the certificate states a constraint on the class {name!r}, which the data does not have"
            )
        k = self.dataset.classes.index(name)
        return k, self.dataset.y == k

    def predicted(self, weight: np.ndarray, k: int) -> np.ndarray:
        """Return the uses of rows that are predicted class k, int64 (rows, classes)."""
        line = np.zeros(self.right.shape, np.int64)
        line[:, k] = weight
        return line

    def groups(self, text: str) -> list[np.ndarray]:
        """Return bool (rows,) of each group of a text COLUMN, COLUMN<=NUMBER or COLUMN:LEVEL|LEVEL."""
        data = self.dataset
        columns = {
            feature.name: (feature, values)
            for features, cells in ((data.features, data.X), (data.auxiliary, data.auxiliary_X))
            for feature, values in zip(features, cells.T)
        }
        if text in columns:
            cells = columns[text][1]
            return [cells == value for value in np.unique(cells[~np.isnan(cells)])] + [np.isnan(cells)]
        name, sign, rest = text.rpartition("<=")
        if sign and name in columns:
            cells = columns[name][1]
            return [cells <= float(Fraction(rest)), cells > float(Fraction(rest)), np.isnan(cells)]
        for place in (at for at, letter in enumerate(text) if letter == ":"):
            if text[:place] in columns:
                feature, cells = columns[text[:place]]
                known = {feature.show(value): value for value in np.unique(cells[~np.isnan(cells)])}
                rest = text[place + 1 :]
                levels = [rest] if rest in known else [level.strip() for level in rest.split("|")]
                inside = np.isin(cells, [known[level] for level in levels])
                return [inside, ~inside & ~np.isnan(cells), np.isnan(cells)]
        raise CertificateError(f"the certificate states groups by {text!r}, which is not a column of the data")


def _at_least(line: np.ndarray, share: Fraction, total: int) -> list[tuple[np.ndarray, int]]:
    return [(-line, -math.ceil(share * total))]


def _accuracy(rows: _Rows, given: _Text):
    return _at_least(rows.right * rows.weight[:, None], given.bound, int(rows.weight.sum()))


def _recall(rows: _Rows, given: _Text):
    k, inside = rows.of_class(given.args[0])
    return _at_least(rows.predicted(rows.weight * inside, k), given.bound, int(rows.weight[inside].sum()))


def _false_negatives(rows: _Rows, given: _Text):
    k, inside = rows.of_class(given.args[0])
    return _at_least(rows.predicted(rows.weight * inside, k), 1 - given.bound, int(rows.weight[inside].sum()))


def _false_positives(rows: _Rows, given: _Text):
    k, inside = rows.of_class(given.args[0])
    return [(rows.predicted(rows.weight * ~inside, k), math.floor(given.bound * int(rows.weight[~inside].sum())))]


def _precision(rows: _Rows, given: _Text):
    k, inside = rows.of_class(given.args[0])
    p, q = given.bound.numerator, given.bound.denominator
    _expect_exact(max(abs(p), q) * int(rows.weight.sum()), given)
    return [(rows.predicted(rows.weight * (p - q * inside.astype(np.int64)), k), 0)]


def _f1(rows: _Rows, given: _Text):
    """Return the sums of 2 correct / (predicted + of the class) ≥ p / q, with the correct rows of the class."""
    k, inside = rows.of_class(given.args[0])
    p, q = given.bound.numerator, given.bound.denominator
    _expect_exact((abs(p) + 2 * q) * int(rows.weight.sum()), given)
    line = rows.predicted(rows.weight * (p - 2 * q * inside.astype(np.int64)), k)
    return [(line, -p * int(rows.weight[inside].sum()))]


def _balanced_accuracy(rows: _Rows, given: _Text):
    """Return the sum for the mean, over the classes with rows, of the correct shares: Σ_k correct_k L / W_k ≥ ρ L
    classes."""
    if given.args:
        raise CertificateError(f"the certificate states {given.text!r}, which takes no arguments")
    total = [int(rows.weight[rows.dataset.y == k].sum()) for k in range(rows.right.shape[1])]
    whole = math.lcm(*(weight for weight in total if weight))
    _expect_exact(whole * len(total), given)
    each = np.array([whole // weight if weight else 0 for weight in total], np.int64)
    return _at_least(
        rows.right * (rows.weight * each[rows.dataset.y])[:, None], given.bound, whole * sum(map(bool, total))
    )


def _cost(rows: _Rows, given: _Text):
    if given.args:
        raise CertificateError(f"the certificate states {given.text!r}, which takes no arguments")
    return [(rows.paid, math.floor(given.bound * rows.unit))]


def _group_accuracy(rows: _Rows, given: _Text):
    found = []
    for group in rows.groups(_keyed(given, "group")[0]):
        weight = rows.weight * group
        if weight.any():
            found += _at_least(rows.right * weight[:, None], given.bound, int(weight.sum()))
    return found


def _gaps(*among: bool | None) -> Callable:
    """Return the sums for differences of rates of positive predictions among the rows of the positive class, of the
    others, or all."""

    def read(rows: _Rows, given: _Text):
        text, positive = _keyed(given, "group", "positive")
        k, inside = rows.of_class(positive)
        found = []
        for which in among:
            counted = np.ones(len(inside), bool) if which is None else inside == which
            mine = [rows.weight * (group & counted) for group in rows.groups(text)]
            for g, h in permutations([weight for weight in mine if weight.any()], 2):
                n_g, n_h = int(g.sum()), int(h.sum())
                shared = math.gcd(n_g, n_h)
                _expect_exact(n_g * n_h // shared, given)
                line = rows.predicted(n_h // shared * g - n_g // shared * h, k)
                found.append((line, math.floor(given.bound * n_g * n_h / shared)))
        return found

    return read


def _leaf_rows(rows: _Rows, given: _Text):
    return [(rows.dataset.copies, np.full(rows.right.shape[1], float(count_of(given))))]


def _leaf_class_rows(rows: _Rows, given: _Text):
    """Return the condition on rows of the data, independent of their weights."""
    k, inside = rows.of_class(_one(given))
    return [(inside.astype(np.int64), _for_class(rows, k, count_of(replace(given, args=[]))))]


def _leaf_precision(rows: _Rows, given: _Text):
    """Return the condition on each leaf that predicts the class: Σ w (q [of the class] - p) ≥ 0 for a share of at
    least p / q."""
    p, q = given.bound.numerator, given.bound.denominator
    _expect_exact((abs(p) + q) * int(rows.weight.sum()), given)
    found = []
    for name in [_one(given)] if given.args else rows.dataset.classes:
        k, inside = rows.of_class(name)
        found.append((rows.weight * (q * inside.astype(np.int64) - p), _for_class(rows, k, 0)))
    return found


def _for_class(rows: _Rows, k: int, least: int) -> np.ndarray:
    return np.where(np.arange(rows.right.shape[1]) == k, float(least), -np.inf)


def _one(given: _Text) -> str:
    if len(given.args) != 1:
        raise CertificateError(f"the certificate states {given.text!r}, which names one class")
    return given.args[0]


def _expect_exact(size: int, given: _Text) -> None:
    if size >= MAX_DIFFERENCE:
        raise CertificateError(f"the numbers of {given.text!r} are too large to be added exactly")


def _keyed(given: _Text, *keys: str) -> list[str]:
    found = {key.strip(): value.strip() for key, _, value in (arg.partition("=") for arg in given.args)}
    if set(found) != set(keys) or len(given.args) != len(keys):
        raise CertificateError(f"the certificate states {given.text!r}, whose arguments must be {' and '.join(keys)}")
    return [found[key] for key in keys]


SUMS: dict[tuple[str, str | None], Callable] = {
    ("accuracy", ">="): _accuracy,
    ("recall", ">="): _recall,
    ("false_negative_rate", "<="): _false_negatives,
    ("false_positive_rate", "<="): _false_positives,
    ("precision", ">="): _precision,
    ("f1", ">="): _f1,
    ("balanced_accuracy", ">="): _balanced_accuracy,
    ("cost", "<="): _cost,
    ("group_accuracy", ">="): _group_accuracy,
    ("statistical_parity", "<="): _gaps(None),
    ("equal_opportunity", "<="): _gaps(True),
    ("predictive_equality", "<="): _gaps(False),
    ("equalised_odds", "<="): _gaps(True, False),
}
LEAVES: dict[tuple[str, str | None], Callable] = {
    ("leaf_rows", ">="): _leaf_rows,
    ("leaf_class_rows", ">="): _leaf_class_rows,
    ("leaf_precision", ">="): _leaf_precision,
}
COUNTS = {("branch_nodes", "<="), ("leaves", "<="), ("class_leaves", "<=")}
PLACES = {
    ("features", "<="),
    ("splits", "<="),
    ("forbid_root", None),
    ("require_root", None),
    ("not_below", None),
    ("never_together", None),
    ("together", None),
    ("deepest", "<="),
    ("shallowest", ">="),
}
ORDERS = {("monotone", None), ("monotone_everywhere", None)}
KNOWN = SUMS.keys() | LEAVES.keys() | COUNTS | PLACES | ORDERS


def readable(text: str) -> bool:
    """Return whether a certificate can contain a constraint of this kind."""
    found = WORDS.fullmatch(text)
    return found is not None and (found["name"], found["op"]) in KNOWN


def stated_constraints(texts: list[str], dataset: Dataset, weight: np.ndarray, paid: np.ndarray, unit: int) -> Stated:
    """Read all constraints of a certificate.

    Parameters
    ----------
    texts : list of str
    dataset : Dataset
        The rows as they were read.
    weight : int64 (rows,)
    paid : int64 (rows, classes)
        The costs of predictions.
    unit : int
        This many units of `paid` are a cost of 1.

    Raises
    ------
    CertificateError
        For a text that is not read here, or refers to something that the data does not have.
    """
    rows, lines, held = _Rows(dataset, weight, paid, unit), [], []
    orders: dict[str, list[Order]] = {name: [] for name, _ in ORDERS}
    names, K = [feature.name for feature in dataset.features], len(dataset.classes)
    none, places = np.zeros(K, np.int64), Places({})
    for given in map(_parsed, texts):
        key = given.name, given.op
        if key in SUMS:
            lines += [(line, bound, 0, none) for line, bound in SUMS[key](rows, given)]
        elif key in LEAVES:
            held += LEAVES[key](rows, given)
        elif key in PLACES:
            places = with_place(places, given, names)
        elif key in ORDERS:
            orders[given.name].append(read_order(given.name, given.text, given.args, dataset))
        else:
            lines.append((np.zeros(rows.right.shape, np.int64), *_nodes(rows, given)))
    if places.settled or orders["monotone_everywhere"]:
        held.append((np.ones(len(weight), np.int64), np.ones(K)))
    return Stated(
        uses=np.array([line for line, *_ in lines], np.int64).reshape(len(lines), *rows.right.shape),
        bound=[int(bound) for _, bound, _, _ in lines],
        branch_uses=[branch for _, _, branch, _ in lines],
        leaf_uses=np.array([leaf for *_, leaf in lines], np.int64).reshape(len(lines), K),
        measures=np.array([measure for measure, _ in held], np.int64).reshape(len(held), len(weight)),
        least=np.array([least for _, least in held], float).reshape(len(held), K),
        places=places,
        orders=tuple(orders["monotone"]),
        everywhere=tuple(orders["monotone_everywhere"]),
    )


def _nodes(rows: _Rows, given: _Text) -> tuple[int, int, np.ndarray]:
    """Return (bound, use of a branch node, uses of leaves by their class) for a limit on the number of nodes."""
    if given.name == "class_leaves":
        k = rows.of_class(_one(given))[0]
        return count_of(replace(given, args=[])), 0, np.eye(len(rows.dataset.classes), dtype=np.int64)[k]
    return count_of(given) - (given.name == "leaves"), 1, np.zeros(len(rows.dataset.classes), np.int64)


def _parsed(text: str) -> _Text:
    found = WORDS.fullmatch(text)
    if not found or (found["op"] and not NUMBER.fullmatch(found["bound"])):
        raise CertificateError(f"the certificate states {text!r}, which is not a constraint NAME OP NUMBER")
    if (found["name"], found["op"]) not in KNOWN:
        raise CertificateError(
            f"a certificate can hold the constraints {', '.join(sorted({name for name, _ in KNOWN}))}, "
            f"got {text!r}; {command('fit')} proves its tree without one"
        )
    args = next(csv.reader([found["args"]], skipinitialspace=True), []) if found["args"] else []
    return _Text(found["name"], [arg.strip() for arg in args], found["op"], Fraction(found["bound"] or 0), text)

"""References for constraints: their definitions, row by row in plain Python, for the property tests (tests/laws).

They share no code with the constraints of models and with `value`, so that they detect mistakes there. A Reference
decides which trees satisfy a constraint, by their splits, counts or predictions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations, product
from typing import Any

from odtc.base.value_class import frozen_class
from odtc.base.whole_numbers import as_written
from odtc.data.dataset import Dataset, Feature
from odtc.data.encoding import Encoded

# Shares that the property tests try; some are just below or just above a share that few rows can have.
BOUNDS = (
    "0",
    "0.25",
    "0.3333333333333333",
    "1/3",
    "0.5",
    "0.6",
    "2/3",
    "0.6666666666666667",
    "0.7142857142857",
    "0.9",
    "1",
)
# Numbers that the property tests try, by their letter in a kind's summary: counts, shares, differences and costs.
NUMBERS = {"N": range(4), "R": BOUNDS, "D": BOUNDS, "C": (*range(7), 0.5, 2.25)}
SHAPE = re.compile(r"\w+(?:\[(.*?)\])?(?: (<=|>=) (\w))?: ")


@frozen_class
class Reference:
    """Definition of the trees that satisfy a constraint: all attributes that are not None must be satisfied.

    Attributes
    ----------
    allowed : Callable or None
        allowed(split, above): whether a node may have this split below the splits `above`, the root's first.
    counts : Callable or None
        counts(branch nodes, splits): whether a tree may have this many branch nodes with these splits; a kind
        that ignores the splits gets None for them.
    predictions : Callable or None
        predictions(predicted): whether the rows of the data may be predicted as these classes, a sequence of int.
    least_rows : int
        The rows of the data that each leaf must have.
    leaf : Callable or None
        leaf(class, rows): whether a leaf may predict this class (int) for these rows of the data, a sequence of int.
    leaves : Callable or None
        leaves(counts): whether a tree may have this many leaves of each class, a sequence of int.
    tree : Callable or None
        tree(shape): whether the tree is allowed: a class (int), or (split, shape of its zeros, shape of its ones).
    """

    allowed: Callable[[int, tuple[Any, ...]], bool] | None = None
    counts: Callable[[int, Any], bool] | None = None
    predictions: Callable[[tuple[Any, ...]], bool] | None = None
    least_rows: int = 0
    leaf: Callable[[int, tuple[Any, ...]], bool] | None = None
    leaves: Callable[[tuple[Any, ...]], bool] | None = None
    tree: Callable[[Any], bool] | None = None


def exact(weight: Sequence[float]) -> list[Fraction]:
    """Return the decimals that weights are written as."""
    return list(map(as_written, weight))


def share(weight: Sequence[Fraction], counted: Sequence[bool], among: Sequence[bool]) -> Fraction | None:
    """Return the weight of the rows that are counted and among these, as a share of these; None if these have no
    weight."""
    total = sum(w for w, a in zip(weight, among) if a)
    return sum(w for w, c, a in zip(weight, counted, among) if c and a) / total if total else None


def rate(
    kind: str,
    truth: Sequence[int],
    predicted: Sequence[int],
    weight: Sequence[Fraction],
    klass: int | None = None,
    group: Sequence[int] | None = None,
) -> Fraction:
    """Return the value of a kind of constraint on predictions, for class and group of each row of the data."""
    every = [True] * len(truth)
    is_class, said = [t == klass for t in truth], [p == klass for p in predicted]
    others = [not t for t in is_class]
    if kind == "accuracy":
        return share(weight, [t == p for t, p in zip(truth, predicted)], every)
    if kind in ("recall", "false_negative_rate"):
        recall = share(weight, said, is_class)
        return recall if kind == "recall" else 1 - recall
    if kind == "precision":
        precise = share(weight, is_class, said)
        return Fraction(1) if precise is None else precise
    if kind == "false_positive_rate":
        return share(weight, said, others)
    if kind == "f1":
        counted = 2 * sum(w for w, c, s in zip(weight, is_class, said) if c and s)
        return counted / sum(w * (c + s) for w, c, s in zip(weight, is_class, said))
    right = [t == p for t, p in zip(truth, predicted)]
    if kind == "balanced_accuracy":
        recalls = [share(weight, right, [t == one for t in truth]) for one in set(truth)]
        recalls = [recall for recall in recalls if recall is not None]
        return sum(recalls) / len(recalls)
    if kind == "group_accuracy":
        shares = [share(weight, right, [g == one for g in group]) for one in set(group)]
        return min(value for value in shares if value is not None)
    gaps = []
    for among in {
        "statistical_parity": (every,),
        "equal_opportunity": (is_class,),
        "predictive_equality": (others,),
        "equalised_odds": (is_class, others),
    }[kind]:
        rates = [share(weight, said, [a and g == one for a, g in zip(among, group)]) for one in set(group)]
        gaps += [a - b for a in rates for b in rates if None not in (a, b)]
    return max(gaps)


def rate_reference(encoded: Encoded, given: Any) -> Reference:
    """Return the reference check for a rate of all rows, of a class, or between groups, of a Constraint."""
    data, klass, group = encoded.dataset, None, None
    if given.args and "=" in given.args[0]:
        group = groups_of_rows(data, given.args[0].partition("=")[2])
        klass = data.classes.index(given.args[1].partition("=")[2]) if len(given.args) > 1 else None
    elif given.args:
        klass = data.classes.index(given.args[0])
    truth, weight = data.y.tolist(), exact(data.weight.tolist())

    def holds(predicted: Sequence[int]) -> bool:
        figure = rate(given.name, truth, predicted, weight, klass, group)
        return figure >= given.bound if given.op == ">=" else figure <= given.bound

    return Reference(predictions=holds)


def tried(encoded: Encoded, name: str, summary: str) -> list[str]:
    """Return constraints of a kind by the first words of its summary, such as "recall[CLASS] >= R".

    Each class, column and group of the data occurs, with numbers of all sizes; some of them fit no tree of this data.
    """
    if (shape := SHAPE.match(summary)) is None:
        return []
    args, op, number = shape.groups()
    columns, some = [feature.name for feature in encoded.features], (args or "").split(",")
    if some[-1] == "…":  # these columns, or one more
        n = len(some) - 1
        found = [*combinations(columns, n), *combinations(columns, n + 1)] or [tuple(columns[:1] * n)]
    else:
        words = {
            "CLASS": list(encoded.classes),
            "positive=CLASS": [f"positive={klass}" for klass in encoded.classes],
            "group=G": [f"group={text}" for text in group_texts(encoded)] if "group=G" in some else [],
        }
        found = [*product(*(words.get(word, columns) for word in some if word))]
    heads = [f"{name}[{','.join(each)}]" if args else name for each in found]
    return [f"{head} {op} {bound}" if op else head for head in heads for bound in (NUMBERS[number] if op else ("",))]


def group_texts(encoded: Encoded) -> list[str]:
    """Return the groups of rows by each column of the data, and by some of its levels against the others."""
    data = encoded.dataset
    return [column for feature in (*data.auxiliary, *data.features) for column in (feature.name, *_parts(feature))]


def feature_name(encoded: Encoded, split: int) -> str:
    """Return the column of a split."""
    return encoded.features[encoded.splits[split].feature].name


def _parts(feature: Feature) -> list[str]:
    levels = feature.levels
    return [f"{feature.name}:{levels[0]}", f"{feature.name}:{'|'.join(levels[1:])}"] if len(levels) > 2 else []


def groups_of_rows(data: Dataset, text: str) -> list[Any]:
    """Return the group of each row of the data; None for rows with a missing cell, which are a group of their own."""
    name, _, levels = text.partition(":")
    for features, cells in ((data.features, data.X), (data.auxiliary, data.auxiliary_X)):
        for place, feature in enumerate(features):
            if feature.name == name:
                values = [None if cell != cell else cell for cell in cells[:, place].tolist()]
                chosen = [feature.levels.index(level) for level in levels.split("|")] if levels else []
                return [value if value is None else value in chosen for value in values] if levels else values
    raise KeyError(name)

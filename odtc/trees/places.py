"""Nodes of a tree and their positions, with the conditions on the way to them and the questions that programs ask.

A leaf predicts a label, a number computed from its sums, or an expression of the row such as a Line. This module has
everything that depends on the type of the expression: its values, its text, its JSON, and its multiples for other
units.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any, ClassVar

import numpy as np

from odtc.base.json_schema import NUMBER, TEXT, WHOLE, SchemaError, show_value, validate
from odtc.base.text import MAX_WHOLE, show_number
from odtc.base.value_class import frozen_class, value_class
from odtc.data.dataset import CATEGORICAL, NUMERIC, Feature
from odtc.data.splits import Missing, Oblique, Split, Subset, Threshold
from odtc.data.table.coded_columns import RowsOf


@frozen_class
class Line:
    """The line that a leaf predicts: intercept + slope x, of the numeric feature x at the position `feature`."""

    SHAPE: ClassVar = {"feature": TEXT, "slope": NUMBER, "intercept": NUMBER}  # the shape of its JSON

    feature: int
    slope: float
    intercept: float

    @classmethod
    def from_json(cls, facts: Mapping[str, Any], features: Sequence[Feature]) -> "Line":
        """Return the line from its JSON form; raises SchemaError if its feature is not numeric."""
        named = [at for at, one in enumerate(features) if one.name == facts["feature"] and one.kind == NUMERIC]
        if not named:
            raise SchemaError(f"expected a line in a numeric feature of the tree, got {show_value(facts['feature'])}")
        return cls(named[0], float(facts["slope"]), float(facts["intercept"]))

    def to_json(self, features: Sequence[Feature]) -> dict[str, Any]:
        """Return the line as in a tree's JSON, with its feature by name."""
        return {"feature": features[self.feature].name, "slope": self.slope, "intercept": self.intercept}

    def of_rows(self, X: np.ndarray | RowsOf) -> np.ndarray:
        """Return float64 (rows,): the number of each row, NaN for a missing cell."""
        with np.errstate(over="ignore"):
            return self.at(X[:, self.feature])

    def times(self, factor: float) -> "Line":
        """Return the line whose values are multiplied by a factor."""
        return replace(self, slope=self.slope * factor, intercept=self.intercept * factor)

    def at(self, x):
        """Return the number at x, a number or float64 (rows,)."""
        return self.intercept + self.slope * x

    def words(self, features: tuple[Feature, ...]) -> str:
        """Return the line as text, such as "2.5 + 0.3 age"."""
        sign = "-" if self.slope < 0 else "+"
        return f"{self.intercept:.6g} {sign} {abs(self.slope):.6g} {features[self.feature].name}"


@frozen_class
class Leaf:
    """A leaf, which predicts `classes[label]`.

    `counts` are the training weights in the leaf, by class; `rows` the numbers of training rows, by class (both of
    shape (classes,)); `sums` the sums of the task over them (odtc.data.task), and `curve` the points of the curve that
    the task draws for them, such as (time, survival). A leaf with a `line` predicts the value of the line; for rows
    with a missing cell in the line's feature, it predicts the mean of its training rows.
    """

    label: int
    counts: tuple[float, ...] = ()
    rows: tuple[int, ...] = ()
    sums: tuple[float, ...] = ()
    curve: tuple[tuple[float, float], ...] = ()
    line: Line | None = None

    @classmethod
    def from_json(cls, facts: Mapping[str, Any], classes: Sequence[str], features: Sequence[Feature]) -> "Leaf":
        """Return the leaf of its JSON form, which has the shape `leaf_shape`."""
        amounts = ((float, "counts"), (int, "rows"), (float, "sums"))
        counts, rows, sums = (tuple(map(kind, facts.get(key, ()))) for kind, key in amounts)
        points = tuple((float(x), float(y)) for x, y in facts.get("curve", ()))
        line = Line.from_json(facts["line"], features) if facts.get("line") is not None else None
        return cls(list(classes).index(facts["label"]), counts, rows, sums, points, line)

    def to_json(self, classes: Sequence[str], features: Sequence[Feature]) -> dict[str, Any]:
        """Return the leaf as in a tree's JSON, with label and features by name."""
        return {
            "label": classes[self.label],
            "counts": list(self.counts),
            "rows": list(self.rows),
            **({"sums": list(self.sums)} if self.sums else {}),
            **({"curve": [list(point) for point in self.curve]} if self.curve else {}),
            **({} if self.line is None else {"line": self.line.to_json(features)}),
        }

    @property
    def measured(self) -> tuple[int, ...]:
        """The positions of the features on whose numbers the prediction depends."""
        return () if self.line is None else (self.line.feature,)

    def shares(self, n_classes: int) -> tuple[float, ...]:
        """Return the share of each class in the training weight of this leaf, of shape (classes,).

        A leaf without training weight has 1 for the class that it predicts, and 0 for the others.
        """
        whole = sum(self.counts)
        if whole <= 0:
            return tuple(float(k == self.label) for k in range(n_classes))
        return tuple(count / whole for count in self.counts)


def leaf_shape(value: Mapping[str, Any], place: str, classes: Sequence[str]) -> dict[str, Any]:
    """Return the shape of a leaf in JSON (odtc.base.json_schema) of a tree with these classes, after checking the
    conditions that a shape cannot express; raises SchemaError."""
    validate(value.get("sums", []), [NUMBER], f"{place}.sums")
    validate(value.get("curve", []), [[NUMBER]], f"{place}.curve")
    if "line" in value:
        validate(value["line"], Line.SHAPE, f"{place}.line")
    if any(len(point) != 2 for point in value.get("curve", [])):
        raise SchemaError(f"expected points of two numbers at {place}.curve")
    for key in ("counts", "rows"):
        validate(value.get(key, []), [NUMBER if key == "counts" else WHOLE], f"{place}.{key}")
        if len(value.get(key, [])) not in (0, len(classes)):
            raise SchemaError(
                f"expected as many {key} as classes at {place}.{key}, {len(classes)}, got {len(value[key])}"
            )
    if value["label"] not in classes:
        raise SchemaError(f"expected a class of the tree at {place}.label, got {show_value(value['label'])}")
    return {"label": TEXT}


@frozen_class
class Branch:
    split: Split
    left: "Branch | Leaf"
    right: "Branch | Leaf"

    @property
    def counts(self) -> tuple[float, ...]:
        return tuple(a + b for a, b in zip(self.left.counts, self.right.counts))

    @property
    def rows(self) -> tuple[int, ...]:
        return tuple(a + b for a, b in zip(self.left.rows, self.right.rows))

    @property
    def sums(self) -> tuple[float, ...]:
        return tuple(a + b for a, b in zip(self.left.sums, self.right.sums))


Node = Branch | Leaf


@value_class
class Question:
    """A split in the form that an exported program evaluates on cells of the data file; levels are given by name.

    `kind` decides when a row goes left: "at most" (a number that is at most `values[0]`), "in" (one of `values`), "not
    in" (known, and none of `values`), "missing", or "sum": the sum of `terms`, added in their order, is at most
    `values[0]`. A term is a weight and its factor: a Question "number" (the cell) or "in" (1 if the cell is one of
    `values`, otherwise 0); the features of a sum are in its terms.
    """

    kind: str
    feature: Feature | None
    values: tuple[float | str, ...] = ()
    terms: tuple[tuple[float, "Question"], ...] = ()

    @property
    def parts(self) -> list["Question"]:
        """The questions on one feature each that it consists of."""
        return [part for _, part in self.terms] or [self]

    @property
    def cell(self) -> str:
        """The type as which the cell is read: "number", "boolean" (false or true, in upper or lower case), "numeral"
        (the levels are numbers, so 1.0 is the level "1") or "text"."""
        if self.feature.kind != CATEGORICAL:
            return "number" if self.feature.kind == NUMERIC else "boolean"
        return "numeral" if all(map(_is_numeral, self.feature.levels)) else "text"

    @property
    def marks(self) -> tuple[str, ...]:
        """The texts that mark a missing cell of the feature, in addition to the built-in ones."""
        return tuple(dict.fromkeys(mark.strip() for mark in self.feature.missing_marks))

    @property
    def mark_numbers(self) -> tuple[float, ...]:
        """The numbers that mark a missing cell of the feature."""
        if not self.marks:
            return ()
        from odtc.data.cells.missing_marks import marks_as_numbers  # with polars, which most trees do not need

        return marks_as_numbers(self.marks, self.feature.decimal)


@value_class
class LineOfCell:
    """The line that a leaf predicts: intercept + slope times the cell of `part`, a Question "number"."""

    part: Question
    slope: float
    intercept: float


OR_MISSING = " or missing"  # end of the condition of the branch that missing cells follow


@value_class
class Place:
    """A node of a tree, with its position."""

    number: int  # the position in pre-order, 0 for the root
    node: Node
    path: tuple[str, ...]  # the turns from the root: "left", "right"
    parent: int  # the number of the parent, -1 for the root
    words: str  # the condition under which the parent leads to this node, "" for the root
    question: Question | None  # the split of a branch, None for a leaf
    asks: str = ""  # the condition under which a branch node goes left, "" for a leaf
    way: tuple[int, ...] = ()  # the numbers of the nodes from below the root to this one
    x: float = 0.0  # horizontal position: leaves at 0, 1, 2, …, a branch midway between its children
    leaf: int = -1  # the number of a leaf in `Tree.leaves()`, as `Tree.apply` gives it; -1 for a branch
    conditions: tuple[str, ...] = ()  # on the way from the root, to be joined by "and"
    rule: str = ""  # the conditions in one text, "every row" for the root
    line: LineOfCell | None = None  # the line of a leaf that predicts one
    edge: str = ""  # whether the parent's condition is true: "yes" on the left, "no" or "no or missing" on the right

    @property
    def is_leaf(self) -> bool:
        return not isinstance(self.node, Branch)

    @property
    def side(self) -> str:
        """The last turn: "left" or "right", "" for the root."""
        return self.path[-1] if self.path else ""

    @property
    def closes(self) -> tuple[int, ...]:
        """The depths, from 1, of the branch nodes whose last leaf is this one, the deepest first."""
        first = next((at for at, turn in enumerate(reversed(self.path)) if turn == "left"), len(self.path))
        return tuple(range(len(self.path), len(self.path) - first, -1)) if self.question is None else ()

    @property
    def n_rows(self) -> int:
        return sum(self.node.rows)

    @property
    def n_correct(self) -> int:
        """Number of rows of a leaf that belong to the class it predicts."""
        return self.node.rows[self.node.label] if self.node.rows else 0


def places(root: Node, features: tuple[Feature, ...], missing: str) -> list[Place]:
    """Return every node below a root with its position, a parent before its children, left before right; `missing` is
    the policy for missing cells of the tree."""
    found = []
    stack = [(root, (), -1, "", "")]
    while stack:
        node, path, parent, words, edge = stack.pop()
        number = len(found)
        if not isinstance(node, Branch):
            found.append(Place(number, node, path, parent, words, None, edge=edge, line=_line_of(node, features)))
            continue
        left, right = branch_words(node.split, features, missing)
        no = "no or missing" if right != node.split.words(features)[1] else "no"
        found.append(Place(number, node, path, parent, words, _question(node.split, features), left, edge=edge))
        stack += [(node.right, (*path, "right"), number, right, no), (node.left, (*path, "left"), number, left, "yes")]
    return _laid_out(found)


def _line_of(leaf: Leaf, features: tuple[Feature, ...]) -> LineOfCell | None:
    if leaf.line is None:
        return None
    part = Question("number", features[leaf.line.feature])
    return LineOfCell(part, float(leaf.line.slope), float(leaf.line.intercept))


def branch_words(split: Split, features: tuple[Feature, ...], missing: str) -> tuple[str, str]:
    """Return the conditions of the left and of the right branch; "or missing" where rows with a missing cell go, if
    the tree was trained on such rows (`missing` is "separate"). They go right, except for a split on whether the cell
    is missing."""
    left, right = split.words(features)
    asked = split.measured if isinstance(split, Oblique) else split.features  # a level that is not there adds nothing
    lacks = missing == "separate" and any(features[place].has_missing for place in asked)
    return left, right + OR_MISSING if lacks and not isinstance(split, Missing) else right


def joinable(conditions: Sequence[str]) -> tuple[str, ...]:
    """Return the conditions in a form to be joined by "and": if there are several, those with "or missing" are put in
    brackets."""
    several = len(conditions) > 1
    return tuple(f"({words})" if several and words.endswith(OR_MISSING) else words for words in conditions)


def _laid_out(found: list[Place]) -> list[Place]:
    """Return the places with their `way`, `x`, `leaf`, `conditions` and `rule`."""
    x, way, children, leaves = [0.0] * len(found), [()] * len(found), [[] for _ in found], count()
    leaf, rule = [-1] * len(found), [()] * len(found)
    for place in found:
        if place.is_leaf:
            leaf[place.number] = next(leaves)
            x[place.number] = float(leaf[place.number])
        if place.parent >= 0:
            way[place.number] = (*way[place.parent], place.number)
            rule[place.number] = (*rule[place.parent], place.words)
            children[place.parent].append(place.number)
    for number in range(len(found) - 1, -1, -1):
        if children[number]:
            x[number] = sum(x[child] for child in children[number]) / 2
    return [
        replace(
            place,
            way=way[place.number],
            x=x[place.number],
            leaf=leaf[place.number],
            conditions=(conditions := joinable(rule[place.number])),
            rule=" and ".join(conditions) or "every row",
        )
        for place in found
    ]


def pieces(found: list[Place], most: int) -> list[tuple[Place, list[Place]]]:
    """Cut the tree into pieces of at most `most` levels; the piece of the root is the first.

    Parameters
    ----------
    found : list of Place
        As returned by `places`.
    most : int
        Levels of branch nodes.

    Returns
    -------
    list of (Place, list of Place)
        The root of each piece with its position in the tree, and the piece's places, whose `path` begins at that root.
        A branch node below the last level of a piece has no question there; it is the root of another piece.
    """
    inside: dict[int, list[Place]] = {0: []}
    for place in found:
        depth = len(place.path)
        if place.question and depth % most == 0:
            inside[place.number] = [replace(place, path=())]
        elif not depth:
            inside[0] = [place]
        if depth:
            start = (depth - 1) // most * most
            cut = depth % most == 0
            piece = inside[place.way[start - 1] if start else 0]
            piece.append(replace(place, path=place.path[start:], question=None if cut else place.question))
    return [(found[number], piece) for number, piece in inside.items()]


def _question(split: Split, features: tuple[Feature, ...]) -> Question:
    if isinstance(split, Oblique):
        terms = [
            (
                term.weight,
                Question("number", features[term.feature])
                if term.level is None
                else _question(Subset(term.feature, (term.level,)), features),
            )
            for term in split.terms
        ]
        return Question("sum", None, (float(split.bound),), tuple(terms))
    feature = features[split.feature]
    levels = feature.levels
    if isinstance(split, Threshold):
        if feature.kind == NUMERIC:
            return Question("at most", feature, (float(split.threshold),))
        # The code of an unseen level is -1: it goes left, so the levels on the right are listed.
        return Question("not in", feature, levels[max(0, int(split.threshold // 1) + 1) :])
    if isinstance(split, Subset):
        numbers = feature.kind == NUMERIC
        return Question("in", feature, tuple(float(v) if numbers else levels[int(v)] for v in split.values))
    return Question("missing", feature)


def _is_numeral(level: str) -> bool:
    """Return whether a level is a number as `show_number` writes it, and small enough for doubles to be exact."""
    try:
        return level == show_number(float(level)) and abs(float(level)) < MAX_WHOLE
    except (ValueError, OverflowError):
        return False

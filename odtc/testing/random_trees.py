"""Random trees and rows for hypothesis: every kind of split and column, hostile names, ties, missing cells.

tree = draw(trees())                 a Tree with counts in its leaves
X = draw(rows_for(tree))             rows coded like Dataset.X, near the edges of its splits
cells(tree, X[0])                    the same row as a dict of cells in the words of a data file
"""

from math import inf, isfinite, nextafter

import numpy as np
from hypothesis import strategies as st

from odtc.base.text import show_number
from odtc.data.cells.column_types import MISSING_CELLS
from odtc.data.dataset import BOOLEAN, CATEGORICAL, NUMERIC, Feature
from odtc.data.reading_spec import POLICIES
from odtc.data.splits import Missing, Oblique, Subset, Term, Threshold
from odtc.trees.tree import Branch, Leaf, Line, Tree

HOSTILE = (
    'say "no"', "it's", "back\\slash", "ends in \\", "two\nlines", "tab\there", "{{ braces }}", "{# no #}", "{% if",
    "*/ x", '"""', "'''", "# no", "9 lives", "1e5x", "naïve", "年齢", "🌳", "e\u0301", "a, b", "<b>&amp;",
    "%s %(x)d", "$x", "`x`", "return", "None", "row", "a\u2028b", "-", "x;y", "\\N", "--",
    "=cmd|' /C calc'!A0", "@SUM(1)", "\\' OR 1=1 --", "]]>", "<!-- -->", "${x}", "\\u000a", "*/ //", "a\rb", "#{x}",
    "\x1b[2J", "\x9b31m", "\u202eabc", "\\end{document}", "\\input{x}", "^^M", "%>",
)  # fmt: skip

# Doubles that a careless exporter rounds, writes as an integer or does not read back.
NUMBERS = (0.0, 0.1, 0.1 + 0.2, 1 / 3, -1.5, 1.0, 2.0, 3.0, 5e-324, 1e22, 123456789.123456789, -(2.0**53), 1e-7)

names = st.sampled_from(HOSTILE) | st.text(
    st.characters(exclude_categories=("Cs",), exclude_characters="\x00"), min_size=1, max_size=8
)
# A reader strips blanks, and takes some words for missing cells, so no name and no level is such.
names = names.map(str.strip).filter(lambda name: name and name not in MISSING_CELLS)
plain_names = st.text("abcdefgh", min_size=1, max_size=6)


@st.composite
def features(draw, name) -> Feature:
    kind = draw(st.sampled_from((NUMERIC, CATEGORICAL, BOOLEAN)))
    if kind == NUMERIC:
        return Feature(name, NUMERIC)
    if kind == BOOLEAN:
        return Feature(name, BOOLEAN, ("false", "true"))
    if draw(st.booleans()):
        numbers = draw(st.lists(st.integers(-3, 9) | st.just(2.5), min_size=1, max_size=8, unique=True))
        return Feature(name, CATEGORICAL, tuple(map(show_number, sorted(numbers))))
    return Feature(name, CATEGORICAL, tuple(sorted(draw(st.lists(names, min_size=1, max_size=8, unique=True)))))


@st.composite
def splits(draw, place: int, feature: Feature):
    kind = draw(st.sampled_from((Threshold, Subset, Missing)))
    if kind is Missing:
        return Missing(place)
    if feature.kind == NUMERIC:
        values = st.sampled_from(NUMBERS) | st.floats(allow_nan=False, allow_infinity=False)
        thresholds = values
    else:
        values = st.integers(0, len(feature.levels) - 1).map(float)
        thresholds = values.map(lambda code: code - 0.5)
    if kind is Threshold:
        return Threshold(place, draw(thresholds))
    return Subset(place, tuple(draw(st.lists(values, min_size=1, max_size=7, unique=True))))


@st.composite
def hyperplanes(draw, columns) -> Oblique:
    """Draw a weighted sum of numbers and levels of these columns."""
    terms = []
    for place in draw(st.lists(st.integers(0, len(columns) - 1), min_size=1, max_size=4)):
        feature = columns[place]
        level = None
        if feature.kind != NUMERIC:
            level = float(draw(st.integers(0, len(feature.levels) - 1)))
        terms.append(Term(place, draw(st.sampled_from(WEIGHTS)), level))
    return Oblique(tuple(terms), draw(st.sampled_from(WEIGHTS)))


WEIGHTS = (1.0, -1.0, 0.1, -0.7, 1 / 3, 2.5, 1e22, -5e-324)


@st.composite
def trees(draw, max_depth: int = 4, names=names, weighted: bool = True, oblique: bool = False) -> Tree:
    """Draw a Tree of at most this depth; `names=plain_names` for one without hostile names, `oblique` for one with
    hyperplanes, too."""
    columns = tuple(draw(features(name)) for name in draw(st.lists(names, min_size=1, max_size=4, unique=True)))
    classes = tuple(draw(st.lists(names, min_size=2, max_size=4, unique=True)))
    weights = st.sampled_from((1.0, 1.0, 0.5, 2.25)) if weighted else st.just(1.0)

    def node(depth):
        if depth == 0 or draw(st.integers(0, 3)) == 0:
            rows = draw(st.lists(st.integers(0, 9), min_size=len(classes), max_size=len(classes)))
            weight = draw(weights)
            label = draw(st.integers(0, len(classes) - 1))
            return Leaf(label, tuple(n * weight for n in rows), tuple(rows))
        place = draw(st.integers(0, len(columns) - 1))
        split = draw(hyperplanes(columns) if oblique and draw(st.booleans()) else splits(place, columns[place]))
        return Branch(split, node(depth - 1), node(depth - 1))

    root = node(draw(st.integers(0, max_depth)))
    return Tree(root, columns, classes, draw(names), draw(st.sampled_from(POLICIES)))


@st.composite
def rows_for(draw, tree: Tree, max_rows: int = 12) -> np.ndarray:
    """Draw float64 of shape (rows, features) for `tree.predict`: on and next to its thresholds, unseen, missing."""
    edges = {place: [] for place in range(len(tree.features))}
    for node, _ in tree.walk():
        if (
            isinstance(node, Branch)
            and node.split.kind != "oblique"
            and tree.features[node.split.feature].kind == NUMERIC
        ):
            split = node.split
            for value in getattr(split, "values", ()) or [getattr(split, "threshold", 0.0)]:
                near = (value, nextafter(value, -inf), nextafter(value, inf))
                edges[split.feature] += [number for number in near if isfinite(number)]

    def value(place, feature):
        if feature.kind != NUMERIC:
            return st.sampled_from((np.nan, -1.0, *map(float, range(len(feature.levels)))))
        others = st.sampled_from((np.nan, *NUMBERS)) | st.floats(allow_nan=False, allow_infinity=False)
        return st.sampled_from(edges[place]) | others if edges[place] else others

    row = st.tuples(*(value(place, feature) for place, feature in enumerate(tree.features)))
    rows = draw(st.lists(row, min_size=1, max_size=max_rows))
    return np.array(rows, dtype=np.float64).reshape(-1, len(tree.features))


def cells(tree: Tree, row: np.ndarray, spelling: int = 0) -> dict:
    """Return the row as a dict by column name; `spelling` chooses among the ways to write the same cell."""
    written = {}
    for place, (feature, value) in enumerate(zip(tree.features, row)):
        ways = _ways(feature, float(value))
        way = ways[(spelling + place) % len(ways)]
        if way is not ABSENT:
            written[feature.name] = way
    return written


ABSENT = object()


def _ways(feature: Feature, value: float) -> list:
    if np.isnan(value):
        return [None, float("nan"), ABSENT, *MISSING_CELLS, " NA "]
    if feature.kind == NUMERIC:
        return [value, repr(value), f" {value!r} ", np.float64(value)]
    if value < 0:
        unseen = "unseen"
        while unseen in feature.levels:
            unseen += "!"
        return [unseen, 10**6] if str(10**6) not in feature.levels else [unseen]
    level = feature.levels[int(value)]
    if feature.kind == BOOLEAN:
        return [level, level.upper(), level == "true"]
    ways = [level, f" {level} "]
    if set(feature.levels) <= NUMERALS:
        ways += [float(level), str(float(level))]
    return ways


NUMERALS = {show_number(number) for number in (*range(-3, 10), 2.5)}


# Numbers of at most six digits, so that a program that takes them for names of classes says all of them, too.
ANSWERS = (0.0, 0.1, -1.5, 2.0, 1e-7, 123456.0, -1e22, 0.333333)


@st.composite
def answering_numbers(draw, tree: Tree, lines: bool = True) -> Tree:
    """Return the same tree as a regression: each leaf predicts one of ANSWERS, or with `lines` a line in a column of
    numbers."""
    numeric = [at for at, feature in enumerate(tree.features) if feature.kind == NUMERIC]
    lines = lines and numeric and draw(st.booleans())

    def answering(leaf):
        # Of a leaf: rows, weight, w y, two sums around the median of all rows, which no prediction needs, and y.
        number = draw(st.sampled_from(ANSWERS))
        sums = 1.0, 1.0, number, 0.0, 0.0, number
        ends = st.sampled_from(ANSWERS)
        line = Line(draw(st.sampled_from(numeric)), draw(ends), draw(ends)) if lines and draw(st.booleans()) else None
        return Leaf(0, (1.0,), (1,), sums, (), line)

    task = "linear" if lines else "regression"
    return Tree(tree.with_leaves(answering).root, tree.features, ("mean",), tree.target, tree.missing, task)

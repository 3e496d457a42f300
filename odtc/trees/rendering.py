"""The one jinja2 environment: trees, commands and reports as text that people may change.

A template is looked for in the folder of `--templates DIR` first, then in the packaged `odtc/templates`, then in the
`templates/` of a checkout. The folder `tree/` is the registry of exporters: `tree/NAME.SUFFIX.jinja` provides `odtc
export --to NAME`, and its first line, a comment, describes it. The drawing for the terminal (odtc.trees.text_drawing)
is not a template, unless a folder has one of its name.

Every tree template receives:

    tree      the `Tree`
    shown     the same with the names of its codebook, for titles and comments
    places    its nodes as `Place`, a parent before its children, left before right: a template
              needs no recursion, so a tree may have any depth
    parts     all questions about one feature, including those of weighted sums
    cells     how the cell of each is read: Question.cell
    MISSING_WORDS  the texts that mean a missing cell: the built-in ones, unless the tree was trained with others
    separate  whether missing cells go their own way; otherwise rows with a missing cell in a comparison are refused
    counted   whether training rows are known in every leaf
    weighted  whether the weights of the leaves differ from their numbers of rows
    has_lines whether a leaf predicts a line (`place.line`)
    ends      the places of the leaves, in the order of their numbers
    shares    per leaf the share of each class in its training weight, which code writes as its quotient
    about     lines for a comment: the data, the date, the claim and the digest of the tree; none if they are not known
    numbers   if the leaves predict numbers, these numbers by label; otherwise (). If a leaf predicts a line
              (`place.line`), its number is for rows with a missing cell in the line's column. A template that reads
              `numbers` and no `place.line` is refused for such a tree
    answer    for such a tree, a description of the numbers
    word      the kind of prediction of a leaf: class, action or number
    share_name, share_words  the name of a share, and a description; for a policy they are not probabilities
    pieces    a function that cuts the tree into pieces of a limited number of levels, for languages that limit nesting
    fresh     a function that changes a name for a new column so that no column has it, ignoring case
    remarks   per leaf the description of its rows by the task, "" for a classification
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path

from odtc.base.registry import did_you_mean
from odtc.base.templates import render, template_folders
from odtc.base.templates.filters import Share, one_line
from odtc.base.text import show_number, some
from odtc.base.value_class import value_class
from odtc.data.dataset import CATEGORICAL, NUMERIC, Feature, decimal_of, layout_of
from odtc.data.reading_spec import missing_texts
from odtc.data.splits import Missing, Oblique, Split, Subset, Threshold
from odtc.data.task import TASKS
from odtc.errors import ChoiceError
from odtc.trees import text_drawing
from odtc.trees.tree import Branch, Leaf, Node, Tree, tree_of

# By whether leaves predict classes: the name of a share, and a description of the shares of a leaf.
SHARES = {
    True: ("probability", "share of each class in the training rows"),
    False: ("share of votes", "share of each action in the votes of the training rows"),
}


@value_class
class Question:
    """A split in the form that a program needs for a cell in the data file; a level is given by its name.

    `kind` decides when a row goes left: "at most" (a number that is at most `values[0]`), "in" (one of `values`), "not
    in" (known, and none of `values`), "missing", or "sum": the sum of `terms`, added in their order, is at most
    `values[0]`. A term is a weight and its factor: a Question "number" (its cell) or "in" (1 if the row is one of
    these, otherwise 0); a sum has no feature of its own.
    """

    kind: str
    feature: Feature | None
    values: tuple[float | str, ...] = ()
    terms: tuple[tuple[float, "Question"], ...] = ()

    @property
    def parts(self) -> list["Question"]:
        """The questions of one feature that it is made of."""
        return [part for _, part in self.terms] or [self]

    @property
    def cell(self) -> str:
        """How the cell is read: "number", "boolean" (false, true in any case), "numeral" (the levels are numbers, so
        1.0 is the level "1") or "text"."""
        if self.feature.kind != CATEGORICAL:
            return "number" if self.feature.kind == NUMERIC else "boolean"
        return "numeral" if all(map(_is_numeral, self.feature.levels)) else "text"


@value_class
class LineOfCell:
    """The line that a leaf predicts: intercept + slope times the cell of `part`, a Question "number"."""

    part: Question
    slope: float
    intercept: float


OR_MISSING = " or missing"  # at the end of the condition of the side where missing cells go


@value_class
class Place:
    """A node of a tree, with its position."""

    number: int  # the place in pre-order, 0 for the root
    node: Node
    path: tuple[str, ...]  # the turns from the root: "left", "right"
    parent: int  # the number of the parent, -1 for the root
    words: str  # the condition of the parent's split on this side, "" for the root
    question: Question | None  # the split of a branch, None for a leaf
    asks: str = ""  # the condition of a branch on its left, "" for a leaf
    way: tuple[int, ...] = ()  # the numbers of the nodes from below the root to this one
    x: float = 0.0  # across a drawing: leaves at 0, 1, 2, …, a branch midway between its children
    leaf: int = -1  # the number of a leaf in `Tree.leaves()`, as `Tree.apply` gives it; -1 for a branch
    conditions: tuple[str, ...] = ()  # on the way from the root, to be joined by "and"
    rule: str = ""  # the conditions in one text, "every row" for the root
    line: LineOfCell | None = None  # of a leaf that predicts a line
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
        """Behind a leaf, the branch nodes that end with it, the deepest first: by depth, counted from 1."""
        first = next((at for at, turn in enumerate(reversed(self.path)) if turn == "left"), len(self.path))
        return tuple(range(len(self.path), len(self.path) - first, -1)) if self.question is None else ()

    @property
    def n_rows(self) -> int:
        return sum(self.node.rows)

    @property
    def n_correct(self) -> int:
        """Rows of a leaf that are of the class it predicts."""
        return self.node.rows[self.node.label] if self.node.rows else 0


def exporters(templates: str | Path | None = None) -> dict[str, str]:
    """Return the description of every exporter by its name; raises ChoiceError if `templates` is not a folder."""
    described = {name: _description(path) for name, path in _exporter_files(templates).items()}
    return dict(sorted(({text_drawing.NAME: text_drawing.SUMMARY} | described).items()))


def suffix(to: str, templates: str | Path | None = None) -> str:
    """Return the file name ending of an exporter, without the dot; raises ChoiceError for an unknown one."""
    path = _exporter_file(to, templates)
    return text_drawing.SUFFIX if path is None else path.name.split(".", 1)[1].removesuffix(".jinja")


PLAIN_MARK = re.compile(r"[A-Za-z0-9+.-]+( [A-Za-z0-9+.-]+)*")  # one that ends no comment of any language


def render_tree(tree: Tree, to: str = "text", templates: str | Path | None = None, about: Sequence[str] = ()) -> str:
    """Write a tree as text or with a template.

    Parameters
    ----------
    tree : Tree or OptimalTreeClassifier
        An estimator must be fitted.
    to : str
        "text", or a template of templates/tree: "dot", "python", … (`odtc list exporters`).
    templates : path or None
        A folder whose templates replace odtc's templates of the same name.
    about : sequence of str
        Lines on the run for a comment at the top of code.

    Returns
    -------
    str

    Raises
    ------
    ChoiceError
        If the exporter is unknown.
    OutputError
        If the template fails.

    Examples
    --------
    >>> import odtc
    >>> tree = odtc.fit("examples/monks/monks-1.csv", depth=1, encoding="onehot").tree
    >>> "a5 = 1" in odtc.render_tree(tree, "markdown")
    True
    """
    path, tree = _exporter_file(to, templates), tree_of(tree)
    if path is not None and tree.has_lines and _writes_only_numbers(path.read_text(encoding="utf-8")):
        raise no_lines(to)
    own, task, (tree, numbers) = tree, TASKS.get(tree.task), with_answers(tree)
    leaves, shown, found = tree.leaves(), tree.shown, places(tree)
    if shown is not tree:  # code compares the cells of the data; words use the names of the codebook
        words = ({key: getattr(one, key) for key in ("words", "asks", "conditions", "rule")} for one in places(shown))
        found = [replace(place, **said) for place, said in zip(found, words)]
    counted = all(leaf.rows for leaf in leaves) and not numbers
    weighted = counted and any(leaf.counts and leaf.counts != leaf.rows for leaf in leaves)
    remarks = [own.shown.words_of(leaf) for leaf in own.leaves()]
    if path is None:
        answer = task.ANSWER if numbers else ""
        return text_drawing.drawn(shown, found, answer=answer, remarks=remarks, counted=counted, weighted=weighted)
    facts = {
        **_facts_of(tree, found, leaves),
        "shown": shown,
        "about": [_in_any_comment(line) for line in about],
        "counted": counted,
        "weighted": weighted,
        "remarks": remarks,
        "numbers": numbers,
        "answer": task.ANSWER,
        "word": "number" if task.NUMBERS else "class" if task.CLASSES else "action",
        "share_name": SHARES[task.CLASSES][0],
        "share_words": SHARES[task.CLASSES][1],
    }
    return render(f"tree/{path.name}", templates, **facts)


def _facts_of(tree: Tree, found: list[Place], leaves: list[Leaf]) -> dict:
    """Return the facts that every tree template receives about the tree and the places of its nodes."""
    parts = [part for place in found if place.question for part in place.question.parts]
    parts += [place.line.part for place in found if place.line]
    return {
        "tree": tree,
        "MISSING_WORDS": missing_texts(layout_of(tree.features)),
        "places": found,
        "parts": parts,
        "cells": [part.cell for part in parts],
        "separate": tree.missing == "separate",
        "ends": [place for place in found if place.is_leaf],
        "has_lines": tree.has_lines,
        "shares": [_shares(leaf, len(tree.classes)) for leaf in leaves],
        "labels": tree.labels,
        "label_type": tree.label_type,
        "plainly": _plainly(parts),
        "fresh": _fresh(tree),
        "pieces": partial(pieces, found),
    }


def _shares(leaf: Leaf, n_classes: int) -> tuple[float, ...]:
    whole = sum(leaf.counts)
    if whole <= 0:
        return leaf.shares(n_classes)
    return tuple(Share(count, whole) for count in leaf.counts)


def _in_any_comment(line: str) -> str:
    """Return a line that does not end a comment in any language, whatever names it contains."""
    return one_line(line).replace("\\", "/").replace("*/", "* /").replace("/*", "/ *").replace("--", "- -")


def _fresh(tree: Tree) -> Callable[[str], str]:
    """Return a function that changes a name for a new column until no column has it, the target included, ignoring
    case."""
    taken = {name.lower() for name in (*(feature.name for feature in tree.features), tree.target)}

    def fresh(name: str) -> str:
        while name.lower() in taken:
            name += "_"
        return name

    return fresh


def _plainly(parts: "list[Question]") -> str:
    """Return notes for a reader on numbers that are formatted in the data file as people write them, on dates that are
    numbers, and on its marks of missing cells; "" if there are none."""
    features = [part.feature for part in parts]
    said, decimal = [], decimal_of([feature for feature in features if feature.kind == NUMERIC])
    if decimal is not None:
        written = {",": "1.234,5 or 5 %", ".": "1,234.5 or 5%"}[decimal]
        said.append(
            f"Numbers are plain here (1234.5 and 5), also if the file that the tree was trained on has {written}."
        )
    if days := sorted({feature.name for feature in features if feature.is_date}):
        said.append(f"Dates are numbers here, such as 20190314: {some(days)}.")
    if marks := dict.fromkeys(mark for part in parts for mark in part.feature.missing_marks):
        known = [mark for mark in marks if PLAIN_MARK.fullmatch(mark)][:5]
        listed = f" ({', '.join(known)}{', …' if len(known) < len(marks) else ''})" if known else ""
        said.append(f"What the training file marks as missing{listed} is to be missing here, as no mark is known.")
    return " ".join(said)


def no_numbers(to: str) -> ChoiceError:
    """Return the error of an exporter that writes classes, for a tree whose leaves predict numbers."""
    return ChoiceError(f"--to {to} writes classes, and the leaves of this tree answer numbers; use --to sql or python")


def _writes_only_numbers(template: str) -> bool:
    """Return whether a template writes one number for a leaf, and not its line."""
    return re.search(r"\bnumbers\b", template) is not None and ".line" not in template


def no_lines(to: str) -> ChoiceError:
    """Return the error of an exporter that writes a number for each leaf, for a tree whose leaves predict lines."""
    return ChoiceError(
        f"--to {to} writes a number for each leaf, and the leaves of this tree predict lines; use --to python, sql, c, "
        "pmml or onnx"
    )


def with_answers(tree: Tree) -> tuple[Tree, tuple[float, ...]]:
    """Return (the tree with each prediction as a class of its own, these numbers) if its leaves predict numbers,
    otherwise (the tree, ())."""
    if not TASKS.get(tree.task).NUMBERS:
        return tree, ()

    def answer(leaf):
        return float(tree.answer(leaf)), leaf.line

    answers = list(dict.fromkeys(map(answer, tree.leaves())))
    words = [f"{one:.6g}" if line is None else line.words(tree.shown.features) for one, line in answers]

    def answering(node):
        if isinstance(node, Branch):
            return replace(node, left=answering(node.left), right=answering(node.right))
        label = answers.index(answer(node))
        spread = tuple(sum(node.counts) * (k == label) if node.counts else 0.0 for k in range(len(answers)))
        rows = tuple(sum(node.rows) * (k == label) for k in range(len(answers)))
        return replace(node, label=label, counts=spread, rows=rows)

    return replace(tree, root=answering(tree.root), classes=tuple(words)), tuple(one for one, _ in answers)


def places(tree: Tree) -> list[Place]:
    """Return every node with its position, a parent before its children, left before right."""
    found = []
    stack = [(tree.root, (), -1, "", "")]
    while stack:
        node, path, parent, words, edge = stack.pop()
        number = len(found)
        if not isinstance(node, Branch):
            found.append(Place(number, node, path, parent, words, None, edge=edge, line=_line_of(node, tree)))
            continue
        left, right = branch_words(node.split, tree)
        no = "no or missing" if right != node.split.words(tree.features)[1] else "no"
        found.append(Place(number, node, path, parent, words, _question(node.split, tree.features), left, edge=edge))
        stack += [(node.right, (*path, "right"), number, right, no), (node.left, (*path, "left"), number, left, "yes")]
    return _laid_out(found)


def _line_of(leaf: Leaf, tree: Tree) -> LineOfCell | None:
    if leaf.line is None:
        return None
    part = Question("number", tree.features[leaf.line.feature])
    return LineOfCell(part, float(leaf.line.slope), float(leaf.line.intercept))


def branch_words(split: Split, tree: Tree) -> tuple[str, str]:
    """Return the conditions of the left and of the right branch; "or missing" where rows with a missing cell go, if
    the tree was trained on such rows. They go right, except for a split on whether the cell is missing."""
    left, right = split.words(tree.features)
    asked = split.measured if isinstance(split, Oblique) else split.features  # a level that is not there adds nothing
    lacks = tree.missing == "separate" and any(tree.features[place].has_missing for place in asked)
    return left, right + OR_MISSING if lacks and not isinstance(split, Missing) else right


def joinable(conditions: Sequence[str]) -> tuple[str, ...]:
    """Return conditions that are to be joined by "and": of several, those with "or missing" are in brackets."""
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
        A branch node below the last level of a piece is an end there without a question, and the root of another piece.
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
        return level == show_number(float(level)) and abs(float(level)) < 2.0**53
    except (ValueError, OverflowError):
        return False


# The folders.


def _exporter_files(templates) -> dict[str, Path]:
    found = {}
    for folder in template_folders(templates):
        for path in sorted((folder / "tree").glob("[!_.]*.*.jinja")):
            found.setdefault(path.name.split(".", 1)[0], path)
    return dict(sorted(found.items()))


def _exporter_file(to: str, templates) -> Path | None:
    """Return the template; None for the drawing for the terminal, unless a folder has a template of its name."""
    files = _exporter_files(templates)
    if to not in files and to != text_drawing.NAME:
        known = exporters(templates)
        raise ChoiceError(f"unknown exporter {to!r}{did_you_mean(to, known)}; known: {', '.join(known)}")
    return files.get(to)


def _description(path: Path) -> str:
    with path.open(encoding="utf-8") as stream:
        comment = re.match(r"\{#-?\s*(.*?)\s*-?#\}", stream.readline())
    return comment[1] if comment else ""

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
    parts     all questions about one feature, including the parts of weighted sums
    cells     how the cell of each is read: Question.cell
    MISSING_WORDS  the texts that mean a missing cell: the built-in ones, unless the tree was trained with others
    marks     for each column with further marks of missing cells: its texts, and its numbers (Question.marks)
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
    twins     the columns of the data whose names differ only in upper and lower case, in quotes for a comment
    fresh     a function that changes a name for a new column so that no column has it, ignoring case
    remarks   per leaf the description of its rows by the task, "" for a classification
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from odtc.base.templates import render, template_folders
from odtc.base.templates.filters import Share
from odtc.base.text import did_you_mean, one_line, some
from odtc.data.dataset import NUMERIC, decimal_of, layout_of
from odtc.data.reading_spec import missing_texts
from odtc.data.task import TASKS
from odtc.errors import ChoiceError
from odtc.trees import text_drawing
from odtc.trees.places import Place, Question, pieces
from odtc.trees.tree import Leaf, Tree, tree_of

# By whether leaves predict classes: the name of a share, and a description of the shares of a leaf.
SHARES = {
    True: ("probability", "share of each class in the training rows"),
    False: ("share of votes", "share of each action in the votes of the training rows"),
}


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
    if path is None:
        return tree.drawing()
    if tree.has_lines and _writes_only_numbers(path.read_text(encoding="utf-8")):
        raise no_lines(to)
    own, task, (tree, numbers) = tree, TASKS.get(tree.task), tree.with_answers()
    leaves, shown, found = tree.leaves(), tree.shown, tree.places()
    if shown is not tree:  # code compares the cells of the data; words use the names of the codebook
        words = ({key: getattr(one, key) for key in ("words", "asks", "conditions", "rule")} for one in shown.places())
        found = [replace(place, **said) for place, said in zip(found, words)]
    ends = [place for place in found if place.is_leaf]
    counted = text_drawing.is_counted(ends) and not numbers
    facts = {
        **_facts_of(tree, found, leaves),
        "shown": shown,
        "about": [_in_any_comment(line) for line in about],
        "counted": counted,
        "weighted": counted and text_drawing.is_weighted(ends),
        "remarks": [own.shown.words_of(leaf) for leaf in own.leaves()],
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
        "marks": {part.feature.name: (part.marks, part.mark_numbers) for part in parts if part.feature and part.marks},
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
        "twins": _twins([feature.name for feature in tree.features]),
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


def _twins(names: Sequence[str]) -> list[str]:
    """Return the names that another name equals in lower case, in quotes for a comment."""
    folded = Counter(map(str.lower, names))
    return [_in_any_comment(repr(name)) for name in names if folded[name.lower()] > 1]


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
        said.append(f"What the training file marks as missing{listed} is missing here, too.")
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

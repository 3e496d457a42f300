"""A tree as a drawing for the terminal, with the rows and the purity of each leaf.

It is not a template, because every `odtc fit` prints it, and loading jinja2 takes longer than proving a small tree. A
folder of templates with its own `tree/text.txt.jinja` comes before it.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from odtc.base.templates.filters import aligned, of, one_line, percent, tally
from odtc.trees.tree import Tree

if TYPE_CHECKING:
    from odtc.trees.rendering import Place

NAME = "text"
SUMMARY = "a drawing for the terminal, with the rows and the purity of each leaf"
SUFFIX = "txt"

CLASSES = 10  # that the first line names
LONG = 60  # characters of a sum of columns that need not be read twice
INDENT = {"left": "│   ", "right": "    "}  # below a branch node, by its side
BRANCH = {"left": "├── ", "right": "└── ", "": ""}


def drawn(
    tree: Tree,
    places: "Sequence[Place]",
    *,
    answer: str = "",
    remarks: Sequence[str] = (),
    counted: bool = True,
    weighted: bool = False,
) -> str:
    """Return the drawing.

    Parameters
    ----------
    tree : Tree
        Its classes are the numbers if `answer` is not empty.
    places : sequence of Place
        Its nodes, a parent before its children.
    answer : str
        A description of the numbers that the leaves predict; empty if they predict classes.
    remarks : sequence of str
        The description of each leaf by the task, "" if there are only numbers of rows.
    counted : bool
        Whether the training rows are known in every leaf.
    weighted : bool
        Whether the weights of the leaves differ from their numbers of rows.

    Returns
    -------
    str
        Ends with a line feed.
    """
    leaves = [place for place in places if place.is_leaf]
    n_rows, n_correct = sum(place.n_rows for place in leaves), sum(place.n_correct for place in leaves)
    lines = [f"{one_line(tree.target)}: {answer or _named(tree.classes)}"]
    lines.append(f"{of(len(leaves), 'leaf', 'leaves')}, depth {max(len(place.path) for place in places)}")
    if counted or answer:
        lines[1] += f", {of(n_rows, 'row')}"
        if n_rows and tree.task == "classification":
            lines[1] += f", {n_correct} correct ({percent(n_correct, n_rows)}{_by_weight(leaves) * weighted})"

    nodes = []
    for place in places:
        if not (place.path or place.is_leaf):  # the root has no line: its conditions precede its children
            continue
        said = one_line(place.words) if place.path else "always"
        asked = places[place.parent].question
        if place.side == "right" and len(place.words) > LONG and asked is not None and asked.kind == "sum":
            said = "else"
        turns = "".join(INDENT[side] for side in place.path[:-1]) + BRANCH[place.side]
        cells = _ending(place, tree, remarks, counted, weighted) if place.is_leaf else []
        nodes.append("\t".join([turns + said, *cells]))
    return "\n".join([*lines, "", aligned("\n".join(nodes), "llrr"), ""])


def _ending(place: "Place", tree: Tree, remarks: Sequence[str], counted: bool, weighted: bool) -> list[str]:
    """Return the cells behind the condition of a leaf: its class, its rows and its purity."""
    cells = ["→ " + one_line(tree.classes[place.node.label])]
    rows = f"{place.n_rows} row{' ' if place.n_rows == 1 else 's'}"
    if counted and not place.n_rows:
        return [*cells, "no rows", ""]
    if remarks and remarks[place.leaf]:
        return [*cells, rows, one_line(remarks[place.leaf])]
    if counted:
        cells += [rows, percent(place.n_correct, place.n_rows), tally(place.node.rows, tree.classes)]
        if weighted and place.node.counts:
            share = percent(place.node.counts[place.node.label], sum(place.node.counts))
            cells.append(f"by weight {share:>6}  {tally(place.node.counts, tree.classes)}")
    return cells


def _by_weight(leaves: "Sequence[Place]") -> str:
    """Return the correct share of the weight of all rows."""
    right = sum(place.node.counts[place.node.label] for place in leaves if place.node.counts)
    return f"; by weight {percent(right, sum(sum(place.node.counts) for place in leaves))}"


def _named(classes: Sequence[str]) -> str:
    more = f", … ({len(classes)} classes)" if len(classes) > CLASSES else ""
    return ", ".join(map(one_line, classes[:CLASSES])) + more

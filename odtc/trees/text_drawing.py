"""A tree as a drawing for the terminal, with the rows and the purity of each leaf.

It is not a template, because every `odtc fit` prints it, and loading jinja2 takes longer than proving a small tree. A
folder of templates with its own `tree/text.txt.jinja` comes before it.
"""

from collections.abc import Sequence

from odtc.base.text import aligned, in_list, of, one_line, percent, tally
from odtc.trees.places import Place

NAME = "text"
SUMMARY = "a drawing for the terminal, with the rows and the purity of each leaf"
SUFFIX = "txt"

CLASSES = 10  # that the first line names
LONG = 60  # characters of a sum of columns that need not be read twice
INDENT = {"left": "│   ", "right": "    "}  # below a branch node, by its side
BRANCH = {"left": "├── ", "right": "└── ", "": ""}


def drawn(
    places: Sequence[Place], classes: Sequence[str], title: tuple[str, str], classified: bool, remarks: Sequence[str]
) -> str:
    """Return the drawing.

    Parameters
    ----------
    places : sequence of Place
        The nodes of the tree, a parent before its children.
    classes : sequence of str
        Its classes; the numbers that its leaves predict, if the title describes them.
    title : (str, str)
        The target, and a description of the numbers that the leaves predict; "" if they predict classes.
    classified : bool
        Whether a row of a leaf is correct or misclassified.
    remarks : sequence of str
        The description of each leaf by the task, "" if there are only numbers of rows.

    Returns
    -------
    str
        Ends with a line feed.
    """
    leaves = [place for place in places if place.is_leaf]
    n_rows, n_correct = sum(place.n_rows for place in leaves), sum(place.n_correct for place in leaves)
    target, answer = title
    counted = is_counted(leaves) and not answer
    weighted = counted and is_weighted(leaves)
    lines = [f"{one_line(target)}: {answer or _named(classes)}"]
    lines.append(f"{of(len(leaves), 'leaf', 'leaves')}, depth {max(len(place.path) for place in places)}")
    if counted or answer:
        lines[1] += f", {of(n_rows, 'row')}"
        if n_rows and classified:
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
        cells = _ending(place, classes, remarks, counted, weighted) if place.is_leaf else []
        nodes.append("\t".join([turns + said, *cells]))
    sides = "llr" if any(remarks) else "llrr"  # the condition, the answer, its rows; a remark, or the correct share
    return "\n".join([*lines, "", aligned("\n".join(nodes), sides), ""])


def is_counted(leaves: Sequence[Place]) -> bool:
    """Return whether the training rows are known in every leaf."""
    return all(place.node.rows for place in leaves)


def is_weighted(leaves: Sequence[Place]) -> bool:
    """Return whether the weights of some leaf differ from its numbers of rows."""
    return any(place.node.counts and place.node.counts != place.node.rows for place in leaves)


def _ending(place: Place, classes: Sequence[str], remarks: Sequence[str], counted: bool, weighted: bool) -> list[str]:
    """Return the cells after the condition of a leaf: its class, its rows and its purity."""
    cells = ["→ " + one_line(classes[place.node.label])]
    rows = f"{place.n_rows} row{' ' if place.n_rows == 1 else 's'}"
    if counted and not place.n_rows:
        return [*cells, "no rows", ""]
    if remarks and remarks[place.leaf]:
        return [*cells, rows, one_line(remarks[place.leaf])]
    if counted:
        cells += [rows, percent(place.n_correct, place.n_rows), tally(place.node.rows, classes)]
        if weighted and place.node.counts:
            share = percent(place.node.counts[place.node.label], sum(place.node.counts))
            cells.append(f"by weight {share:>6}  {tally(place.node.counts, classes)}")
    return cells


def _by_weight(leaves: Sequence[Place]) -> str:
    """Return the correct share of the weight of all rows."""
    right = sum(place.node.counts[place.node.label] for place in leaves if place.node.counts)
    return f"; by weight {percent(right, sum(sum(place.node.counts) for place in leaves))}"


def _named(classes: Sequence[str]) -> str:
    more = f", … ({len(classes)} classes)" if len(classes) > CLASSES else ""
    return one_line(", ".join(map(in_list, classes[:CLASSES]))) + more

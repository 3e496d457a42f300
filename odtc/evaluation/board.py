"""What a board asks of a tree: how sure is the figure, what does it have to satisfy, what does it rest on.

Each answer is a function of an opened run; the page (odtc.evaluation.html_report) sets them in order.
"""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from odtc.base.text import show_figure
from odtc.data.coded_columns import RowsOf
from odtc.data.dataset import Dataset
from odtc.errors import ChoiceError
from odtc.problem.constraints.constraint import broken
from odtc.problem.constraints.groups import members
from odtc.trees.rendering import Place
from odtc.trees.tree import Tree
from odtc.workflow.results import Fit

CONFIDENCE = 0.95
BINS = 12  # of a histogram
FEW_GROUPS = 12  # of a column set aside whose groups are compared unasked
SAME_ROWS = 0.5  # share of the test rows that are training rows, from which on there is a warning


def interval(correct: int, rows: int) -> tuple[float, float] | None:
    """The interval of Wilson (1927) for a share, at 95 %.

    Parameters
    ----------
    correct, rows : int
        So many of the rows are right.

    Returns
    -------
    tuple of float or None
        Its ends, between 0 and 1; None without rows.
    """
    if not rows:
        return None
    from scipy.stats import binomtest

    found = binomtest(correct, rows).proportion_ci(CONFIDENCE, method="wilson")
    return float(found.low), float(found.high)


def shared_rows(training: Dataset | None, test: Dataset) -> int:
    """How many of the test rows are training rows, too: equal in every column and in the label."""
    if training is None or training.X.shape[1] != test.X.shape[1]:
        return 0

    def keys(rows: Dataset) -> list[bytes]:
        table = np.ascontiguousarray(np.column_stack([rows.X, rows.y]) + 0.0)
        return [line.tobytes() for line in table]

    known = set(keys(training))
    return sum(key in known for key in keys(test))


@dataclass(frozen=True)
class Claim:
    """What is said of a tree's proof: its cost, and what no tree costs less than (None if nothing is known), and the
    names of the checks that contradict it."""

    proved: bool
    objective: float
    bound: float | None
    failed: tuple[str, ...] = ()


def warnings(claim: Claim | None, training: Dataset | None, test: Dataset | None) -> list[str]:
    """What must be read before the figures: no proof, test rows that are training rows."""
    said = []
    if claim is None:
        said.append("Not proved: nothing is known of how this tree was found.")
    elif claim.failed:
        checks = "this check" if len(claim.failed) == 1 else "these checks"
        said.append(f"Not proved: what the run says does not pass {checks}: {', '.join(claim.failed)}.")
    elif not claim.proved:
        bound = "no bound is known" if claim.bound is None else f"trees down to {claim.bound:.6g} are not excluded"
        said.append(f"Not proved: the tree costs {claim.objective:.6g}, and {bound}.")
    if test is not None and test.n_rows:
        shared = shared_rows(training, test)
        if shared >= SAME_ROWS * test.n_rows:
            said.append(
                f"{shared:,} of the {test.n_rows:,} test rows are equal to training rows: the test figures are no "
                "estimate for new rows."
            )
    return said


def compared_groups(tree: Tree, rows: Dataset, asked: tuple[str, ...], known: tuple[str, ...] = ()) -> list[dict]:
    """The figures of a tree in groups of rows, side by side.

    Parameters
    ----------
    tree : Tree
    rows : Dataset
        Labelled rows; columns set aside are known, too.
    asked : tuple of str
        COLUMN, COLUMN:LEVEL|LEVEL or COLUMN<=NUMBER, as constraints name groups.
    known : tuple of str
        Groups that constraints of the run compare. Columns set aside that have few values are compared unasked.

    Returns
    -------
    list of dict
        For each: `by`, and `groups` with `name`, `rows`, `right`, `interval`, `predicted` and `recall`: the shares of
        each class, None without a row of it.

    Raises
    ------
    ChoiceError
        For groups that the rows do not have.
    """
    few = [
        feature.name
        for feature, cells in zip(rows.aside, rows.aside_X.T)
        if 2 <= len(np.unique(cells[~np.isnan(cells)])) <= FEW_GROUPS
    ]
    labelled = rows.y >= 0
    predicted, true, K = tree.predict(rows.X[labelled]), rows.y[labelled], len(tree.classes)
    found = []
    for text in dict.fromkeys([*asked, *known, *few]):
        try:
            of, names = members(rows, text)
        except ChoiceError:
            if text in asked:
                raise
            continue  # these rows lack the column
        of = np.asarray(of)[labelled]
        groups = []
        for at, name in enumerate(names):
            inside = of == at
            if not inside.any():
                continue
            right = int((predicted[inside] == true[inside]).sum())
            table = np.bincount(true[inside] * K + predicted[inside], minlength=K * K).reshape(K, K)
            of_class = table.sum(axis=1)
            groups.append(
                {
                    "name": name,
                    "rows": int(inside.sum()),
                    "right": right,
                    "interval": interval(right, int(inside.sum())),
                    "predicted": (table.sum(axis=0) / inside.sum()).tolist(),
                    "recall": [table[k, k] / of_class[k] if of_class[k] else None for k in range(K)],
                }
            )
        if groups:
            found.append({"by": text, "groups": groups})
    return found


def constraints_of_cart(fit: Fit | None) -> str:
    """Whether CART satisfies the constraints of the tree that it stands beside; "" without constraints."""
    if fit is None or not fit.problem.constraints:
        return ""
    found = broken(fit.problem, fit.greedy)
    if not found:
        return "it satisfies the same constraints"
    return "it breaks " + "; ".join(f"{given} ({show_figure(value)})" for given, value in found)


def columns_that_matter(found: list[Place]) -> list[tuple[str, int, int]]:
    """(column, branch nodes that test it, training rows that meet such a node), the most rows first."""
    nodes: Counter[str] = Counter()
    rows: Counter[str] = Counter()
    for place in found:
        if place.question is None:
            continue
        for name in dict.fromkeys(part.feature.name for part in place.question.parts):
            nodes[name] += 1
            rows[name] += sum(place.node.rows)
    return [(name, nodes[name], rows[name]) for name, _ in rows.most_common()]


def rules(found: list[Place], tree: Tree) -> list[dict]:
    """A sentence a leaf: its rule, its class, its training rows and how many of them are right; most rows first."""
    leaves = [
        {
            "rule": place.rule,
            "label": tree.classes[place.node.label],
            "rows": sum(place.node.rows),
            "right": place.node.rows[place.node.label] if place.node.rows else 0,
        }
        for place in found
        if place.is_leaf
    ]
    return sorted(leaves, key=lambda leaf: -leaf["rows"])


def histograms(found: list[Place], training: Dataset | None) -> dict[int, dict]:
    """How the training rows of a branch node lie in the column that it tests, by class.

    Returns
    -------
    dict of int to dict
        For the number of each branch node that asks one column: `bars`, a list of (label, counts of each class);
        numbers, and levels in an order, fall into at most 12 ranges, one of whose ends is where the node parts them;
        of more than 12 other levels those that the node names and the most frequent ones have a bar.
    """
    if training is None:
        return {}
    K, reached, shown = len(training.classes), {0: np.arange(training.n_rows)}, {}
    for place in found:
        rows = reached.get(place.number)
        if rows is None or place.is_leaf:
            continue
        split = place.node.split
        left = split.left(RowsOf(training.X, rows))
        for child in found:
            if child.parent == place.number:
                reached[child.number] = rows[left if child.side == "left" else ~left]
        if len(split.features) == 1 and len(rows):
            feature, cells = training.features[split.features[0]], training.X[rows, split.features[0]]
            shown[place.number] = {"bars": _bars(feature, cells, training.y[rows], K, split)}
    return shown


def _bars(feature, cells: np.ndarray, y: np.ndarray, K: int, split) -> list[tuple[str, list[int]]]:
    known, threshold = ~np.isnan(cells), getattr(split, "threshold", None)
    values, classes = cells[known], y[known]
    bars = []
    if threshold is None or not len(values) or values.min() == values.max():
        for name, those in _bars_of_levels(
            feature, np.unique(values, return_counts=True), getattr(split, "values", ())
        ):
            bars.append((name, np.bincount(classes[np.isin(values, those)], minlength=K).tolist()))
    else:
        low, high = min(values.min(), threshold), max(values.max(), threshold)
        below = max(1, min(BINS - 1, round(BINS * (threshold - low) / (high - low))))
        ends = np.concatenate(
            [np.linspace(low, threshold, below + 1), np.linspace(threshold, high, BINS - below + 1)[1:]]
        )
        place = np.clip(np.searchsorted(ends, values, side="left") - 1, 0, len(ends) - 2)
        for at in range(len(ends) - 1):
            counts = np.bincount(classes[place == at], minlength=K).tolist()
            bars.append((f"{show_figure(ends[at])} to {show_figure(ends[at + 1])}", counts))
    if not known.all():
        bars.append(("missing", np.bincount(y[~known], minlength=K).tolist()))
    return bars


def _bars_of_levels(feature, counted, asked) -> list[tuple[str, np.ndarray]]:
    """The name and the values of each bar, given the different values with their rows, and those that a node names."""
    values, rows = counted
    show = [feature.show(value) if value >= 0 or not feature.levels else "other" for value in values.tolist()]
    if len(values) <= BINS:
        return [(name, values[at : at + 1]) for at, name in enumerate(show)]
    is_asked = np.isin(values, asked)
    n_asked = int(is_asked.sum())
    if feature.ordered and is_asked[:n_asked].all():
        below = min(max(1, round(BINS * n_asked / len(values))), BINS - 1) if 0 < n_asked < len(values) else 0
        ranges = [*np.array_split(np.arange(n_asked), below)] if below else []
        ranges += np.array_split(np.arange(n_asked if below else 0, len(values)), BINS - below)
        ends = [(at[0], at[-1]) for at in ranges if len(at)]
        return [
            (show[low] if low == high else f"{show[low]} to {show[high]}", values[low : high + 1]) for low, high in ends
        ]
    order = np.lexsort((-rows, ~is_asked))
    first, others = order[: BINS - 1], order[BINS - 1 :]
    first = first[np.argsort(-rows[first], kind="stable")]
    return [(show[at], values[at : at + 1]) for at in first] + [(f"{len(others)} others", values[others])]

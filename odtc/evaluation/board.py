"""Facts of a tree for people who decide about it: a verdict, figures with intervals, groups, rules, histograms.

Each is a function of an opened run; the page (odtc.evaluation.html_report) puts them in order.
"""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from odtc.base.text import show_figure
from odtc.base.value_class import value_class
from odtc.data.dataset import Dataset, Feature
from odtc.data.table.coded_columns import RowsOf
from odtc.errors import ChoiceError
from odtc.problem.constraints.constraint import broken
from odtc.problem.constraints.groups import members
from odtc.problem.constraints.kind import Constraint, OnProportions
from odtc.trees.places import Place
from odtc.trees.tree import Tree
from odtc.workflow.constrained.assurance import share_interval
from odtc.workflow.results.fit import Fit

BINS = 12  # ranges of a histogram
MAX_LEVELS = 40  # levels that have a bar each; the rarest of more share one
FEW_GROUPS = 12  # of an auxiliary column whose groups are compared unasked
SAME_ROWS = 0.5  # share of the test rows that are training rows, from which on there is a warning


def shared_rows(training: Dataset | None, test: Dataset) -> int:
    """Count the test rows that are training rows, too: equal in every column and in the label."""
    if training is None or training.X.shape[1] != test.X.shape[1]:
        return 0

    def keys(rows: Dataset) -> list[bytes]:
        table = np.ascontiguousarray(np.column_stack([rows.X, rows.y]) + 0.0)
        return [line.tobytes() for line in table]

    known = set(keys(training))
    return sum(key in known for key in keys(test))


@value_class
class StatedProof:
    """The proof of a tree as a page states it.

    Attributes
    ----------
    proved : bool
    objective : float
    bound : float or None
        No tree has a smaller objective; None if nothing is known.
    failed : tuple of str
        The names of the checks that contradict the proof.
    recorded : bool
        Whether the bound is only recorded, and was not recomputed.
    """

    proved: bool
    objective: float
    bound: float | None
    failed: tuple[str, ...] = ()
    recorded: bool = False


def warnings(stated: StatedProof | None, training: Dataset | None, test: Dataset | None) -> list[str]:
    """Return the warnings before the figures: no proof, test rows that are training rows."""
    said = []
    if stated is None:
        said.append("Not proved: nothing is known of how this tree was found.")
    elif stated.failed:
        checks = "this check" if len(stated.failed) == 1 else "these checks"
        said.append(f"Not proved: the record of the run fails {checks}: {', '.join(stated.failed)}.")
    elif not stated.proved:
        bound = "no bound is known" if stated.bound is None else f"trees down to {stated.bound:.6g} are not excluded"
        said.append(f"Not proved: the tree costs {stated.objective:.6g}, and {bound}.")
    if test is not None and test.n_rows:
        shared = shared_rows(training, test)
        if shared >= SAME_ROWS * test.n_rows:
            said.append(
                f"{shared:,} of the {test.n_rows:,} test rows are equal to training rows: the test figures are not "
                "estimates for new rows."
            )
    return said


@value_class
class Unseen:
    """Rows that a tree is tested on: the name of the rows in words, such as "200 unseen rows", and its figures on them
    in words, for a run without constraints on predictions."""

    rows: str
    figures: str


def verdict(
    stated: StatedProof | None,
    trained: str,
    kept: list[tuple[Constraint, dict]],
    test: Unseen | None,
    names: dict[str, str],
) -> list[str]:
    """Return the sentences on top of a page: the proof, its training rows, and the results on unseen rows.

    Parameters
    ----------
    stated : StatedProof or None
    trained : str
        The training rows in words, such as "800 training rows"; "" if they are not known.
    kept : list of (Constraint, dict)
        Each constraint with its entry of `kept_facts`.
    test : Unseen or None
    names : dict of str to str
        Each class in words, such as "class 2" or "bad customers".

    Returns
    -------
    list of str
        Two sentences.
    """
    on = f" on {trained}" if trained else ""
    if stated is not None and stated.proved:
        of = " of the trees that satisfy the constraints" if kept else ""
        first = f"By the record of the run, proved best{of}{on}." if stated.recorded else f"Proved best{of}{on}."
    elif stated is not None and stated.failed:
        first = f"Best tree found{on}, not proved: a check contradicts the record of the run."
    else:
        first = f"Best tree found{on}, not proved to be the best."
    if test is None:
        return [first, "Not tested on unseen rows."]
    reached = [_reached(given, entry, names) for given, entry in kept if entry["test"] is not None]
    return [first, f"On {test.rows}, {'; '.join(reached) or test.figures}."]


def _reached(given: Constraint, entry: dict, names: dict[str, str]) -> str:
    """Return the figure of a constraint on test rows, compared with the requested one."""
    if not given.op:
        return f"{given} is {'satisfied' if entry['satisfied_on_test'] else 'missed'}"
    figure, requested = (shown_figure(given, value) for value in (entry["test"], given.bound))
    if given.module.can(OnProportions):
        figure, requested = _apart(entry["test"], float(given.bound))
    words = f"{constraint_subject(given, names)} is {figure}"
    if entry["satisfied_on_test"]:
        return f"{words}, {'at least' if given.op == '>=' else 'at most'} {requested} as requested"
    return f"{words}, {'below' if given.op == '>=' else 'above'} the requested {requested}"


def constraint_subject(given: Constraint, names: dict[str, str]) -> str:
    """Return the figure of a constraint, in words: "recall of bad customers"."""
    kind = given.name.replace("_", " ")
    if len(given.args) == 1 and given.args[0] in names:
        return f"{kind} of {names[given.args[0]]}"
    words = []
    for arg in given.args:
        key, equals, value = (part.strip() for part in arg.partition("="))
        known = {"group": f"between groups of {value}", "positive": f"for {names.get(value, value)}"}
        words.append(known.get(key, arg) if equals else arg)
    return " ".join([kind, *words])


def shown_figure(given: Constraint, value: Fraction | float) -> str:
    """Return a figure of a constraint as text: a share of rows in percent, or a number."""
    return f"{100 * float(value):.1f} %" if given.module.can(OnProportions) else show_figure(value)


def _apart(share: float, bound: float) -> tuple[str, str]:
    """Return two shares in percent, with enough digits to show whether they differ."""
    for digits in (1, 2, 4, 8):
        shown = [f"{100 * one:.{digits}f}".rstrip("0").rstrip(".") for one in (share, bound)]
        if shown[0] != shown[1] or share == bound:
            break
    return f"{shown[0]} %", f"{shown[1]} %"


def class_rates(score: dict) -> list[tuple[str, int, int]]:
    """Return the shares of a confusion matrix, as (name, counted rows, all rows): correct rows, and for each class how
    many of its rows are found (recall) and how many of its predictions are correct (precision)."""
    table, names = np.array(score["confusion"]), score["classes"]
    found = [("accuracy", score["correct"], score["n_rows"])]
    for name, sums in (("recall", table.sum(axis=1)), ("precision", table.sum(axis=0))):
        found += [(f"{name} of {one}", int(table[k, k]), int(sums[k])) for k, one in enumerate(names)]
    return found


def compared_groups(tree: Tree, rows: Dataset, asked: tuple[str, ...], known: tuple[str, ...] = ()) -> list[dict]:
    """Return the figures of a tree in groups of rows, for comparison.

    Parameters
    ----------
    tree : Tree
    rows : Dataset
        Labelled rows; auxiliary columns are known, too.
    asked : tuple of str
        COLUMN, COLUMN:LEVEL|LEVEL or COLUMN<=NUMBER, as constraints name groups.
    known : tuple of str
        Groups that constraints of the run compare. Auxiliary columns that have few values are compared by default.

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
        for feature, cells in zip(rows.auxiliary, rows.auxiliary_X.T)
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
        groups = [
            {"name": name, **_group_figures(true[of == at], predicted[of == at], K)}
            for at, name in enumerate(names)
            if (of == at).any()
        ]
        if groups:
            found.append({"by": text, "groups": groups})
    return found


def _group_figures(true: np.ndarray, predicted: np.ndarray, K: int) -> dict:
    """Return the figures of the rows of a group, from their classes and their predicted classes, int (rows,)."""
    n_rows, right = len(true), int((predicted == true).sum())
    table = np.bincount(true * K + predicted, minlength=K * K).reshape(K, K)
    of_class = table.sum(axis=1)
    return {
        "rows": n_rows,
        "right": right,
        "interval": share_interval(right, n_rows),
        "predicted": (table.sum(axis=0) / n_rows).tolist(),
        "recall": [table[k, k] / of_class[k] if of_class[k] else None for k in range(K)],
    }


def constraints_of_cart(fit: Fit | None) -> str:
    """Report whether CART satisfies the constraints of the tree with which it is compared; "" without constraints."""
    if fit is None or not fit.problem.constraints:
        return ""
    found = broken(fit.problem, fit.greedy)
    if not found:
        return "it satisfies the same constraints"
    return "it breaks " + "; ".join(f"{given} ({show_figure(value)})" for given, value in found)


def columns_that_matter(found: list[Place]) -> list[tuple[str, int, int]]:
    """Return (column, branch nodes that split on it, training rows that reach such a node), the most rows first."""
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
    """Return a sentence for each leaf: its rule, its class, its training rows and how many of them are correct; most
    rows first."""
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


def histograms(
    found: list[Place], training: Dataset | None, features: Sequence[Feature] | None = None
) -> dict[int, dict]:
    """Return the training rows of each branch node by the column that it splits on, and by class; with the names of
    `features`, by default the features of the data.

    Returns
    -------
    dict of int to dict
        For the number of each branch node that splits on one column: `bars`, a list of (label, counts of each class);
        numbers are divided into at most 12 ranges, and so are more than 40 levels in an order; one end of a range is
        where the node splits. Every level has a bar; of more than 40 those that the node names and the most frequent
        ones.
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
            feature = (features or training.features)[split.features[0]]
            cells = training.X[rows, split.features[0]]
            bars = _bars(feature, cells, training.y[rows], K, split)
            shown[place.number] = {"bars": bars, "levels": not hasattr(split, "threshold")}
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
    """Return the name and the values of each bar, given the different values with their rows, and those that a node
    names."""
    values, rows = counted
    show = [feature.show(value) if value >= 0 or not feature.levels else "other" for value in values.tolist()]
    if len(values) <= MAX_LEVELS:
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
    first, others = order[: MAX_LEVELS - 1], order[MAX_LEVELS - 1 :]
    first = first[np.argsort(-rows[first], kind="stable")]
    return [(show[at], values[at : at + 1]) for at in first] + [(f"{len(others)} others", values[others])]

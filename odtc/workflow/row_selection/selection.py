"""Selections of the rows that a tree is trained on, for example the vertices of the convex hull of each cluster.

Zhu, Murali, Phan, Nguyen & Kalagnanam 2020 ("A scalable MIP-based method for learning optimal multivariate decision
trees", §3 and supplement B). The rows of one class in one leaf of a first tree are a cluster; a selection keeps some
rows of each cluster. If a row is inside the convex hull of the kept rows, it is on the same side of a hyperplane as
they are, whenever they are all on one side. A selection defines the members of the protocol `Selection`.

Rows with a missing number have no coordinates, so they are always kept; only a selection that draws rows treats them
like all others.
"""

import time
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import field, replace
from typing import Protocol

import numpy as np

from odtc.base import deadline
from odtc.base.registry import Contract, Registry
from odtc.base.text import count_of, show_number
from odtc.base.value_class import frozen_class
from odtc.data.dataset import NUMERIC, Dataset, Selected
from odtc.data.encoding import encode
from odtc.data.table.coded_columns import RowsOf
from odtc.errors import NoSolutionError, TimeLimitReached
from odtc.heuristics.heuristic import grow
from odtc.problem.constraints.constraint import on_answers
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import CompleteTree
from odtc.trees.tree import Branch, Leaf, Tree


class Selection(Protocol):
    """Definitions of a selection of rows."""

    NAME: str
    SUMMARY: str
    OPTIONS: dict  # name -> (type, help), of `--select NAME:KEY=VALUE`
    # Whether clusters have only the rows that the first tree classifies correctly; misclassified rows are then kept.
    SPLITS_RIGHT: bool = False
    # Whether it draws from all rows, which then form one cluster (without a tree in the first round). The rounds then
    # continue to the last one, unless no remaining row can change the tree.
    GROWS: bool = False

    @abstractmethod
    def select(self, cluster: "Cluster", **options) -> "KeptRows":
        """Return the kept rows of a cluster; clusters are independent and may be processed in parallel."""
        ...

    def allowances(self, rows: np.ndarray, classes: np.ndarray, **options) -> np.ndarray | None:
        """Return the largest number of rows that each cluster may keep, int64 (clusters,), given its number of rows and
        its class; None (the default) for no limit."""
        return None

    def expect(self, dimensions: int, **options) -> None:
        """Raise ChoiceError for options that fit no cluster."""

    def rounds(self, **options) -> int:
        """Return the maximum number of rounds, each of which selects rows by the last tree."""
        return 1

    def parts(self, **options) -> int:
        """Return the number of disjoint parts into which all rows are divided after the rounds, for a lower bound that
        is the sum of the bounds of the parts; 0 for no such bound."""
        return 0

    def enough(self, **options) -> float:
        """Return the gap that ends the rounds, as a share of the weight of all rows."""
        return 0.0


SELECTIONS = Registry(
    "selection",
    "odtc.workflow.row_selection",
    ("convex_hull", "printed", "balanced", "iterative", "coarse_to_fine"),
    Contract(always=(Selection,)),
    "odtc.selections",
)
LEVEL_ROWS = 3  # average rows per level from which on the levels of a category are coordinates
FEW_LEVELS = 20  # up to this many levels are always coordinates
FIRST_ENCODING = "auto:bins=32"  # for the first tree, which only has to separate clusters, not to be the best
TIME_SHARE = 0.5  # share of the time of a fit that its selection may use
FIRST_SECONDS = 1.0  # time that the first tree always has, because there are no clusters without it
UNDECIDED_SHARE = 0.1  # share of a cluster that is kept if its selection has no result when its time is over


@frozen_class
class Cluster:
    """Rows of one class in one leaf.

    `rows` int64 are their positions in the data set; `Z` float64 (rows, coordinates) numbers and indicators of levels,
    scaled to [0, 1] over all data; `near` float64 (rows,) the distance of each in these units from the nearest
    hyperplane above its leaf. `allowed` is the number of rows that may be kept, None for no limit. For a selection
    that GROWS the cluster has all rows; `label` and `leaf`, int64 (rows,), are then the class and the leaf of each row
    (None: the same for all), and `round` counts from 1.
    """

    rows: np.ndarray
    Z: np.ndarray
    near: np.ndarray
    allowed: int | None = None
    label: np.ndarray | None = None
    leaf: np.ndarray | None = None
    round: int = 1


@frozen_class
class KeptRows:
    """The kept rows of a cluster, as positions in it.

    `heavy`, bool, marks rows that must stay correct at any cost. `facts` are counts to report. `stands_for` is the
    number of rows that each kept row represents, None for 1. `undecided` is the number of points of the cluster that
    were undecided at the deadline.
    """

    places: np.ndarray
    heavy: np.ndarray
    facts: dict = field(default_factory=dict)
    stands_for: np.ndarray | None = None
    undecided: int = 0


def select_rows(
    dataset: Dataset,
    scheme: str,
    depth: int,
    tree: Tree | None = None,
    jobs: int | None = None,
    number: int | None = None,
    tell: Callable[[int, int], None] = lambda done, clusters: None,
    share: float = 1.0,
) -> Dataset:
    """Return the data set with the rows that `scheme` ("convex_hull", "convex_hull:beta1=0.9,beta2=0.1") keeps.

    `tree` is the tree whose leaves partition the rows into clusters, by default CART's tree of this depth. `jobs` is
    the number of processes (None: one for each core), `number` the number of the round, from 1 (None: the last).
    `tell` is called with the number of finished clusters and the number of all clusters. The clusters have this `share`
    of the time until the deadline; then the selections keep the rows found so far, and the fact `n_undecided` counts
    the undecided rows. Raises ChoiceError for an unknown selection or option, TimeLimitReached if the deadline comes
    before there are clusters. Without a deadline the same data gives the same rows.
    """
    from joblib import Parallel, delayed

    module, options = SELECTIONS.parse(scheme)
    Z, right, placed = coordinates(dataset), np.ones(dataset.n_rows, bool), np.ones(dataset.n_rows, bool)
    module.expect(Z.shape[1], **options)
    number = number or module.rounds(**options)
    if module.GROWS:
        clusters = [all_rows(dataset, tree, Z, number)]
    else:
        tree = tree or _first_tree_in_time(dataset, depth)
        right = tree.predict(dataset.X) == dataset.y if module.SPLITS_RIGHT else right
        placed = right & ~_unplaced(dataset)
        clusters = clusters_of(dataset, tree, Z, placed)
    sizes = np.array([len(cluster.rows) for cluster in clusters], np.int64)
    classes = np.array([dataset.y[cluster.rows[0]] for cluster in clusters], np.int64)
    allowed = module.allowances(sizes, classes, **options)
    if allowed is not None:
        clusters = [replace(cluster, allowed=int(most)) for cluster, most in zip(clusters, allowed)]
    several = len(clusters) > 1 and placed.sum() > 2000
    jobs = min(jobs or -1, len(clusters)) if several else 1
    left = deadline.seconds_left()
    ends = None if left is None else time.monotonic() + share * left
    kept = []
    work = (delayed(_selected)(module.select, cluster, options, ends) for cluster in clusters)
    for part in Parallel(jobs, batch_size=1, return_as="generator")(work):
        kept.append(part)
        tell(len(kept), len(clusters))
    # An error on a heavy row costs more than all errors of the first tree: w + Σ of their weights.
    rows, weight = _joined(dataset, clusters, kept, placed, more=dataset.weight[~right].sum())
    keys = dict.fromkeys(key for part in kept for key in part.facts)
    total = {key: sum(part.facts.get(key, 0) for part in kept) for key in keys}
    n_heavy = sum(int(part.heavy.sum()) for part in kept)
    counted = {"n_heavy": n_heavy, "n_undecided": sum(part.undecided for part in kept)}
    facts = {"scheme": scheme, "n_rows": dataset.n_rows, "n_clusters": len(clusters), **total}
    return take_rows(dataset, rows, weight, facts | {key: number for key, number in counted.items() if number})


def _joined(
    dataset: Dataset, clusters: list[Cluster], kept: list[KeptRows], placed: np.ndarray, more: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return (rows, weights) of the rows outside all clusters and the kept rows of the clusters, in the order of the
    data; the weight of a heavy row is increased by `more`."""
    rows = np.concatenate(
        [np.flatnonzero(~placed), *(cluster.rows[part.places] for cluster, part in zip(clusters, kept))]
    )
    heavy = np.concatenate([np.zeros((~placed).sum(), bool), *(part.heavy for part in kept)])
    stands_for = [np.ones(len(part.places)) if part.stands_for is None else part.stands_for for part in kept]
    copies = np.concatenate([np.ones((~placed).sum()), *stands_for])
    order = np.argsort(rows, kind="stable")
    rows, heavy, copies = rows[order], heavy[order], copies[order]
    return rows, dataset.weight[rows] * copies + np.where(heavy, more, 0.0)


def _selected(select: Callable, cluster: Cluster, options: dict, ends: float | None) -> KeptRows:
    """Return the kept rows of a cluster until the moment `ends` (time.monotonic(), which all processes of a machine
    share). If the selection raises TimeLimitReached, the rows nearest to a hyperplane are kept."""
    with deadline.within(None if ends is None else ends - time.monotonic()):
        try:
            return select(cluster, **options)
        except TimeLimitReached:
            if cluster.label is not None:
                raise
    n = len(cluster.rows)
    most = max(1, int(UNDECIDED_SHARE * n)) if cluster.allowed is None else cluster.allowed
    kept = np.sort(np.argsort(cluster.near, kind="stable")[:most])
    return KeptRows(kept, np.zeros(len(kept), bool), undecided=n)


def rounds_of(scheme: str | None) -> int:
    """Return the maximum number of rounds of a fit with this selection, 1 if it selects once; raises ChoiceError."""
    if scheme is None:
        return 1
    module, options = SELECTIONS.parse(scheme)
    return module.rounds(**options)


def parts_of(scheme: str | None) -> int:
    """Return the number of disjoint parts that a fit with this selection searches for a lower bound, 0 for no bound;
    raises ChoiceError."""
    if scheme is None:
        return 0
    module, options = SELECTIONS.parse(scheme)
    return module.parts(**options)


def select_in_rounds(
    dataset: Dataset,
    scheme: str,
    depth: int,
    once: Callable,
    tell: Callable[[str], None] = lambda text: None,
    time_limit: float | None = None,
    interrupted: Callable[[], bool] = lambda: False,
):
    """Return the best Fit of `once(selected data, seconds)` in rounds, each of which selects by the last tree.

    The rounds end as soon as a tree breaks no fewer constraints on all rows and has no lower loss on them, when the
    selection's rounds are complete, at the time limit, or if `interrupted()` is true because Ctrl-C or SIGTERM ended a
    round. Each round may use an equal part of the time that is left, so unused time is available to later rounds.
    """
    best, least, began, most, made = None, (np.inf, np.inf), time.monotonic(), rounds_of(scheme), 1
    module, options = SELECTIONS.parse(scheme)
    part, bound, enough = None, 0.0, module.enough(**options) * dataset.weight.sum()
    for number in range(most):
        before, left, share = part, deadline.limit_left(began, time_limit), 1 / (most - number)
        ends = None if left is None else time.monotonic() + share * left
        try:
            with deadline.within(left):
                tree = best.tree if best else None
                part = select_rows(dataset, scheme, depth, tree, None, number + 1, share=TIME_SHARE * share)
            if module.GROWS and before is not None and np.array_equal(before.selected.rows, part.selected.rows):
                continue  # a later round may have other rows
            if best is not None and deadline.limit_left(began, time_limit) == deadline.MOMENT:
                tell(f"the time limit came before round {made}: the tree of round {made - 1} is kept")
                break
            done = once(part, None if ends is None else max(deadline.MOMENT, ends - time.monotonic()))
        except (TimeLimitReached, NoSolutionError) as problem:
            if best is None:
                raise
            tell(f"round {made}: {problem}; the tree of round {made - 1} is kept")
            break
        found = len(done.all_rows.breaks), done.all_rows.loss
        tell(f"round {made}: {_round_text(done, part, dataset, found, least)}")
        if found < least:
            best, least = done, found
        elif not module.GROWS:
            break
        if interrupted():
            tell(f"round {made} was interrupted: no further round")
            break
        made += 1
        if not module.GROWS:
            continue
        bound = max(bound, done.all_rows.bound or 0.0)
        if not least[0] and least[1] - bound <= enough:
            if number + 1 < most:
                tell(f"no tree loses less than {bound:.10g} of all rows: the other rows can change only little")
            break
    return best


def _round_text(done, part: Dataset, dataset: Dataset, found: tuple, least: tuple) -> str:
    """Report the rows of a round and the broken constraints and loss of its tree, compared with the best before."""
    broken, lost = found
    texts = [f"{part.n_rows} of {count_of(dataset.n_rows, 'row', '')} selected; of all, {lost:.10g} "]
    texts.append("misclassified" if done.size.cost is None else "lost")
    texts.append(f" and {count_of(broken, 'constraint', '')} broken" if broken else "")
    if found >= least:
        texts.append(f", before {least[1]:.10g}" + (f" and {least[0]} broken" if least[0] else ""))
        texts.append(": that tree is kept")
    if open_text := undecided_text(part.selected.facts):
        texts.append(f"; {open_text}")
    return "".join(texts)


def undecided_text(facts: dict) -> str:
    """Report that the time limit ended a selection, from its facts; "" if it did not."""
    undecided = facts.get("n_undecided", 0)
    points = count_of(undecided, "point")
    return f"the time limit ended the selection, which left {points} undecided" if undecided else ""


def take_rows(dataset: Dataset, rows: np.ndarray, weight: np.ndarray, facts: dict) -> Dataset:
    """Return the data set with these rows (positions in ascending order) and weights. It refers to the whole data set,
    even if its rows were selected before."""
    before = dataset.selected
    of = Selected(dataset, rows, facts) if before is None else Selected(before.whole, before.rows[rows], facts)
    return dataset.taken(rows, weight=weight, selected=of)


def fill_leaves(tree: Tree, problem: Problem, whole: Dataset) -> Tree:
    """Return a tree of a problem of selected rows with all rows of `whole`, from which these were selected, in its
    leaves. Each leaf then predicts the label with the least loss on all its rows (in a tie, its previous one), because
    selected rows may represent many rows or few. If predictions are constrained, or have costs in addition to the loss
    of each row, leaves keep their predictions."""
    K = len(tree.classes)
    together = tree.n_leaves > 1 and problem.module.prices_answers(problem)
    relabel = not together and not on_answers(problem)
    at = tree.apply(whole.X) * K + whole.y
    counts, rows = (np.bincount(at, weight, tree.n_leaves * K).reshape(-1, K) for weight in (whole.weight, None))
    loss, places = counts @ problem.encoded.cost, iter(range(tree.n_leaves))

    def filled(leaf: Leaf) -> Leaf:
        place = next(places)
        better = relabel and loss[place, leaf.label] > loss[place].min()
        return Leaf(
            int(loss[place].argmin()) if better else leaf.label,
            tuple(counts[place].tolist()),
            tuple(rows[place].tolist()),
        )

    return tree.with_leaves(filled)


def as_csv(dataset: Dataset) -> tuple[str, str | None]:
    """Return (text, name): the rows as the text of a CSV file, with the label last, and the name of its column of
    weights, None without one; the column is written only if not all weights are 1."""
    import csv
    import io
    import itertools

    text, weigh = io.StringIO(), bool((dataset.weight != 1).any())
    taken_names = {feature.name for feature in dataset.features} | {dataset.target}
    names = itertools.chain(("weight", "weight_"), (f"weight{n}" for n in itertools.count(2)))
    name = next(name for name in names if name not in taken_names) if weigh else None
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*(feature.name for feature in dataset.features), *([name] if weigh else []), dataset.target])
    for cells, label, weight in zip(dataset.X.tolist(), dataset.y.tolist(), dataset.weight.tolist()):
        shown = ["" if np.isnan(value) else feature.show(value) for feature, value in zip(dataset.features, cells)]
        writer.writerow([*shown, *([show_number(weight)] if weigh else []), dataset.classes[label]])
    return text.getvalue(), name


def first_tree(dataset: Dataset, depth: int) -> Tree:
    """Return CART's tree of this depth, on quantiles of the numbers."""
    encoded = encode(dataset, FIRST_ENCODING)
    return grow("cart", encoded, CompleteTree(depth)).to_tree(encoded)


def _first_tree_in_time(dataset: Dataset, depth: int) -> Tree:
    left = deadline.seconds_left()
    with deadline.put_off(), deadline.within(None if left is None else max(left, FIRST_SECONDS)):
        return first_tree(dataset, depth)


def coordinates(dataset: Dataset) -> np.ndarray:
    """Return float64 (rows, coordinates), each in [0, 1]: numbers over their range, and one indicator per level that
    occurs (of two levels, only the second). A missing number is NaN. Constant columns are left out. So are categories
    with fewer than LEVEL_ROWS rows per level, such as names or dates, because they say nothing about which rows are
    similar."""
    columns = []
    for place, feature in enumerate(dataset.features):
        column = dataset.X[:, place]
        if feature.kind == NUMERIC:
            low, high = np.nanmin(column), np.nanmax(column)
            if high > low:
                columns.append((column / 2 - low / 2) / (high / 2 - low / 2))  # halves, as the range may overflow
        else:
            levels = np.unique(np.where(np.isnan(column), -2.0, column))
            if len(levels) > max(FEW_LEVELS, len(column) / LEVEL_ROWS):
                continue
            columns += [
                (np.where(np.isnan(column), -2.0, column) == level).astype(float)
                for level in (levels[1:] if len(levels) <= 2 else levels)
            ]
    return np.column_stack(columns) if columns else np.zeros((dataset.n_rows, 1))


def all_rows(dataset: Dataset, tree: Tree | None, Z: np.ndarray, number: int) -> Cluster:
    """Return all rows as one cluster, for round `number` of a selection that draws from all rows."""
    rows, label = np.arange(dataset.n_rows), dataset.y.astype(np.int64)
    if tree is None:
        return Cluster(rows, Z, np.full(dataset.n_rows, np.inf), label=label, round=number)
    return Cluster(rows, Z, nearest_split(dataset, tree), label=label, leaf=tree.apply(dataset.X), round=number)


def clusters_of(dataset: Dataset, tree: Tree, Z: np.ndarray, placed: np.ndarray) -> list[Cluster]:
    """Return the clusters of the rows for which `placed` (bool) is true, by leaf and then by class."""
    number, near = tree.apply(dataset.X) * len(dataset.classes) + dataset.y, nearest_split(dataset, tree)
    each = (np.flatnonzero(placed & (number == cluster)) for cluster in np.unique(number[placed]))
    return [Cluster(rows, Z[rows], near[rows]) for rows in each]


def clusters_of_tree(dataset: Dataset, depth: int) -> tuple[Tree, list[Cluster]]:
    """Return CART's tree of this depth, and the clusters of the rows without a missing number."""
    tree = first_tree(dataset, depth)
    return tree, clusters_of(dataset, tree, coordinates(dataset), ~_unplaced(dataset))


def nearest_split(dataset: Dataset, tree: Tree) -> np.ndarray:
    """Return float64 (rows,): the distance of each row from the nearest hyperplane on its path through the tree, in
    units scaled to [0, 1]; infinity if none of its splits compares numbers."""
    near = np.full(dataset.n_rows, np.inf)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        spread = np.array(
            [np.nanmax(column) - np.nanmin(column) if not np.isnan(column).all() else 0.0 for column in dataset.X.T]
        )
        stack = [(tree.root, np.arange(dataset.n_rows))]
        while stack:
            node, rows = stack.pop()
            if not isinstance(node, Branch):
                continue
            split = node.split
            if split.kind == "threshold":
                near[rows] = np.fmin(
                    near[rows], np.abs(dataset.X[rows, split.feature] - split.threshold) / spread[split.feature]
                )
            elif split.kind == "oblique":
                sums = sum((term.of(dataset.X[rows]) for term in split.terms), np.zeros(len(rows)))
                norm = np.sqrt(
                    sum(
                        (term.weight * (spread[term.feature] if term.level is None else 1.0)) ** 2
                        for term in split.terms
                    )
                )
                near[rows] = np.fmin(near[rows], np.abs(sums - split.bound) / norm)
            left = split.left(RowsOf(dataset.X, rows))
            stack += [(node.left, rows[left]), (node.right, rows[~left])]
    return near


def _unplaced(dataset: Dataset) -> np.ndarray:
    """Return bool (rows,): rows with a missing number."""
    numeric = [place for place, feature in enumerate(dataset.features) if feature.kind == NUMERIC]
    return np.isnan(dataset.X[:, numeric]).any(axis=1)

"""Refit a tree to new data: of the trees that are nearly the best, choose the closest to the old tree.

The distance of a tree to the old one is a pair, compared in this order:

    rows    the share of the weight of the new rows on which the predictions differ; for a task whose leaves predict
            numbers (odtc.data.task), the mean difference of the predictions on the new rows, in units of the target
    splits  the share of all splits that only one of the trees has: 1 - |A ∩ B| / |A ∪ B|, after the splits of the old
            tree were moved to the new data (odtc.problem.projection); splits that separate the new rows in the same
            way count as equal

The trees are those that the formulation lists, in which each leaf predicts its cheapest class, and the old tree; then
each of them again with the labels of the least distance that it can pay for (`_with_nearer_labels`).
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from odtc.base import deadline
from odtc.base.text import percent_text, some
from odtc.base.value_class import value_class
from odtc.base.wording import command, option
from odtc.data.cells.data_files import book_and_sheet, fitting_layout
from odtc.data.codebook import codebook_of, with_labels
from odtc.data.dataset import NUMERIC, Dataset, Feature, decimal_of, layout_of
from odtc.data.encoding import sums_over
from odtc.data.reading import read_as
from odtc.data.reading_spec import LAYOUT, ReadingSpec
from odtc.data.task import TASKS
from odtc.errors import ChoiceError, DataError, TreeError
from odtc.model.feasibility import ROUNDING
from odtc.model.solution import Solution, Termination, is_proved
from odtc.problem.constraints.constraint import broken
from odtc.problem.formulation import Compiled, NearOptimal
from odtc.problem.problem import Problem
from odtc.problem.projection import Projection, project_tree, translated
from odtc.trees.heap_tree import HeapTree, blank_arrays, settle
from odtc.trees.tree import Branch, Leaf, Tree
from odtc.workflow.constrained.assured_fit import fit_assured
from odtc.workflow.decoding import without_model
from odtc.workflow.near_optimal import near_optimal
from odtc.workflow.near_optimal_set import Within
from odtc.workflow.provenance.settings import reading_of_tree
from odtc.workflow.reporting import Reporter
from odtc.workflow.results.fit import Fit
from odtc.workflow.run import run
from odtc.workflow.specification import RunSpec

# How much worse than the best tree a tree may be by default: this share of the weight of the rows for classification,
# and of the cost of one leaf for all rows for another task.
SHARE = 0.01
SEARCH_SECONDS = 30.0  # seconds that the search for near-optimal trees may take, if there is no time limit
OTHER_CERTIFIED = (
    "the certificate of the search has another tree of this objective; `odtc certify STEM` makes one for this tree"
)


@value_class
class Distance:
    """Distance of a tree from the old one: shares from 0 to 1; with `numbers`, `rows` is in units of the target."""

    rows: float
    splits: float
    numbers: bool = False

    @property
    def order(self) -> tuple[float, float]:
        # Up to rounding: to 12 digits rather than decimals, because numbers have any unit.
        return float(f"{self.rows:.12g}"), float(f"{self.splits:.12g}")

    def to_json(self) -> dict:
        return {"answers" if self.numbers else "rows": self.rows, "splits": self.splits}

    @property
    def rows_words(self) -> str:
        """The distance of the predictions, in words."""
        return f"{self.rows:.6g}" if self.numbers else f"{percent_text(self.rows)}"


@dataclass(frozen=True)
class Refit:
    """Result of a refit.

    Attributes
    ----------
    old : Tree
    projection : Projection
        The old tree over the new splits, with the splits that were moved or dropped.
    best : Fit
        The run for the best tree.
    chosen : Fit
        Of the trees that were found and cost at most `within` more than the best, the closest to the old tree; may be
        `best` itself.
    distance, best_distance : Distance
        The distances of the chosen and of the best tree from the old tree.
    n_trees : int
        The number of trees that were compared.
    complete : bool
        Whether these are all trees within `within`, except for trees with a redundant split.
    unlisted : str
        Why near-optimal trees were not listed, so that only the best and the old tree were compared; "" if they were.
    within : float
        How much more than the best tree the chosen tree may cost.
    old_cost, projected_cost : float or None
        The costs of the old tree over the new splits: with its own labels, and with the cheapest labels. None if the
        problem does not allow this tree, or if it breaks a constraint. If the encoding lacks some splits of the old
        tree, the old tree may cost less with its own splits.
    """

    old: Tree
    projection: Projection
    best: Fit
    chosen: Fit
    distance: Distance
    best_distance: Distance
    n_trees: int
    complete: bool
    unlisted: str
    within: float
    old_cost: float | None
    projected_cost: float | None

    @property
    def dataset(self) -> Dataset:
        """The new rows."""
        return self.best.problem.encoded.dataset

    def to_json(self) -> dict:
        """Return the value of the key `refit` of `odtc refit --json`."""
        return {
            "distance": self.distance.to_json(),
            "best_distance": self.best_distance.to_json(),
            "best_objective": self.best.proof.objective,
            "within": self.within,
            "n_trees": self.n_trees,
            "complete": self.complete,
            "unlisted": self.unlisted or None,
            "old_objective": self.old_cost,
            "projected_objective": self.projected_cost,
            "changes": [
                {"before": one.before, "after": one.after or None, "why": one.why} for one in self.projection.changes
            ],
        }


def refit(
    spec: RunSpec,
    old: Tree,
    data: Dataset,
    within: float | str | None = None,
    most: int = 200,
    test=None,
    reporter: Reporter | None = None,
) -> Refit:
    """Find the tree for new rows that is closest to an old tree among the nearly best.

    Parameters
    ----------
    spec : RunSpec, whose start is the path of the old tree
    old : Tree
    data : Dataset, the new rows
    within : float, str or None
        How much more than the best a tree may cost, in the objective; "5%" is a share of the best. By default SHARE of
        the weight of the rows, for a task other than classification SHARE of the cost of one leaf for all rows.
    most : int
        How many near-optimal trees are compared at most, if the formulation can rank them. The old tree over the new
        splits is always among them, if it is near enough.
    test : path or None, of labelled rows to test on
    reporter : Reporter or None

    Returns
    -------
    Refit

    Raises
    ------
    ChoiceError, NoSolutionError, DataError
        As `odtc.fit` does, and for a bound below 0.
    """
    expect_nearness(within, most)
    began = time.monotonic()
    best = _best_fit(spec, data, test, reporter)
    problem = best.problem
    within = _share_of_cost(problem) if within is None else Within.of(within).above(best.proof.objective)
    projection = project_tree(old, problem)
    own = _with_own_labels(old, projection.heap, problem)
    seconds = min(deadline.limit_left(began, spec.solving.time_limit) or SEARCH_SECONDS, SEARCH_SECONDS)
    trees, complete, unlisted = _near(problem, most, within, seconds)
    known = [heap for heap in (projection.heap, own, *trees) if heap is not None]
    near = _near_enough(best, known, within)
    nearer = _near_enough(best, _with_nearer_labels(near, best.proof.objective + within, old, problem), within)
    compared = _by_distance(_different(near + nearer), old, projection.heap, problem)
    distance, cost, heap = _closest(compared, old, problem)
    return Refit(
        old=old,
        projection=projection,
        best=best,
        chosen=best if heap is best.decoded.heap else _completed(best, heap, cost, spec.simplify),
        distance=distance,
        best_distance=compared[0][0],
        n_trees=len(compared),
        complete=complete,
        unlisted=unlisted,
        within=within,
        old_cost=None if own is None else _cost(problem, own),
        projected_cost=_cost(problem, projection.heap),
    )


def _best_fit(spec: RunSpec, data: Dataset, test, reporter: Reporter | None) -> Fit:
    """Return the fit of the best tree for the new rows, assured on further ones if the specification has a
    confidence."""
    if spec.confidence is None:
        return run(spec, data, test, reporter=reporter)
    return fit_assured(spec, data, spec.confidence, test, reporter=reporter)


def _closest(compared: list[tuple], old: Tree, problem: Problem) -> tuple[Distance, float, HeapTree]:
    """Return the (distance, cost, tree) nearest to the old tree, of equally near ones the cheapest, then the
    smallest."""
    distance, cost, heap = min(compared, key=lambda one: (*one[0].order, one[1], one[2].n_branch_nodes))
    return distance, cost, _as_written(heap, cost, old, problem)


def _near_enough(best: Fit, others: list[HeapTree], within: float) -> list[tuple[float, HeapTree]]:
    """Return (cost, tree) of the best tree, which comes first, and of other trees that cost at most `within` more."""
    paid = best.proof.objective
    costs = [(paid, best.decoded.heap), *((_cost(best.problem, heap), heap) for heap in others)]
    most_paid = paid + within + ROUNDING * within
    return [(cost, heap) for cost, heap in costs if cost is not None and cost <= most_paid]


def _different(trees: list[tuple[float, HeapTree]]) -> list[tuple[float, HeapTree]]:
    """Return the first of all equal trees."""
    first: dict[tuple, tuple[float, HeapTree]] = {}
    for cost, heap in trees:
        beyond = () if heap.beyond is None else heap.beyond.splits
        first.setdefault((heap.split.tobytes(), heap.label.tobytes(), beyond), (cost, heap))
    return [*first.values()]


def _with_nearer_labels(
    trees: list[tuple[float, HeapTree]], limit: float, old: Tree, problem: Problem
) -> list[HeapTree]:
    """Return trees with the same splits whose leaves predict what differs least from the old tree at a total cost of at
    most `limit`; none for a task of numbers, or if the cost of a row depends on several leaves."""
    encoded = problem.encoded
    if TASKS.get(encoded.task).NUMBERS or any(encoded.radius):
        return []
    before, (told, weight) = old_answers(old, encoded.dataset), rows_told(encoded.dataset)
    # The weight of the rows of which the old tree does not predict each label.
    apart = weight[:, None] * (before[told, None] != np.arange(len(encoded.classes)))
    found = []
    for cost, heap in trees:
        end, label = heap.reach(encoded.X), heap.label.copy()
        loss, differ = (
            sums_over(ends, values, len(label))
            for ends, values in ((end, encoded.loss), (end[encoded.row_of][told], apart))
        )
        leaves, spare = np.unique(end), max(limit - cost, 0.0) + ROUNDING * limit
        more = loss - np.take_along_axis(loss, np.maximum(label, 0)[:, None], axis=1)
        label[leaves] = _nearest_labels(differ[leaves], more[leaves], spare)
        found.append(settle(heap.split, encoded, label, heap.beyond))
    return found


def _nearest_labels(differ: np.ndarray, more: np.ndarray, spare: float) -> tuple[int, ...]:
    """Return a label for each leaf: of all choices with Σ more <= spare the least Σ differ, then the least Σ more. The
    arguments are float64 (leaves, labels). Only choices that no other one beats in both sums are continued."""
    front: list[tuple[float, float, tuple[int, ...]]] = [(0.0, 0.0, ())]
    rest = np.append(more.min(axis=1)[::-1].cumsum()[::-1], 0.0)  # the least that this leaf and all later ones add
    for at, (apart, extra) in enumerate(zip(differ.tolist(), more.tolist())):
        longer = sorted(
            (far + apart[k], paid + extra[k], (*labels, k)) for far, paid, labels in front for k in range(len(apart))
        )
        front = []
        for far, paid, labels in longer:
            if paid + rest[at + 1] <= spare and (not front or paid < front[-1][1]):
                front.append((far, paid, labels))
    return front[0][2]


def _share_of_cost(problem: Problem) -> float:
    """Return how much more than the best tree a tree may cost by default, in units of the objective (`SHARE`)."""
    unit = problem.module.unit_costs(problem)[0] if problem.module.can(Compiled) else 1.0
    return SHARE * unit * _whole(problem)


def _by_distance(
    trees: list[tuple[float, HeapTree]], old: Tree, projected: HeapTree, problem: Problem
) -> list[tuple[Distance, float, HeapTree]]:
    """Return (distance from the old tree, cost, tree) of trees with their costs, in the same order; `projected` is the
    old tree over the splits of the problem."""
    before, kept = old_answers(old, problem.encoded.dataset), _splits(projected, problem)
    return [(_distance(heap, problem, before, kept), cost, heap) for cost, heap in trees]


def _completed(best: Fit, heap: HeapTree, cost: float, simplify: bool) -> Fit:
    """Return the fit of another tree for the same rows as the best one; it is proved if it costs as little."""
    paid = best.proof.objective
    as_good = best.proved and is_proved(cost, best.proof.bound)
    ended = Termination.OPTIMAL if as_good else Termination.UNKNOWN
    which = "the best tree of these rows costs" if best.proved else "the tree that the run found for these rows costs"
    message = f"{which} {paid:.10g}{', proved' * best.proved}"
    if as_good:
        message = OTHER_CERTIFIED if best.certified else best.uncertified
    seconds = best.proof.seconds or 0.0
    solution = Solution(None, ended, cost, best.proof.bound, seconds, "odtc", message=message)
    done = without_model(best.problem, heap, solution, best.labelled, simplify)
    return replace(done, requested=best.requested, confidence=best.confidence, closest=not as_good)


def expect_nearness(within: float | str | None, most: int) -> None:
    """Raise ChoiceError for a distance that is none, or a number of trees that is too small."""
    if within is not None:
        Within.of(within)
    if most < 1:
        raise ChoiceError(f"expected --pool of at least 1, got {most}")


def reading_of(old: Tree, given: ReadingSpec, path) -> ReadingSpec:
    """Return the specification for reading new rows for an old tree: its task and its target, and the target columns
    of the run recorded next to its file, unless `given` names them.

    Raises
    ------
    ChoiceError
        If `given` names another task.
    """
    plain = ReadingSpec()
    if given.labels is not None and not Path(given.labels).is_file() and codebook_of(old.features) is not None:
        given = replace(given, labels=None)  # the old tree's is used
    if given.task not in (plain.task, old.task):
        raise ChoiceError(
            f"expected new rows of the task of the old tree, {old.task}, got {option('task', given.task)}"
        )
    if old.task == plain.task:
        return given if given.target is not None else replace(given, target=old.target)
    fields, target = TASKS.get(old.task).FIELDS, given.target
    if not fields or TASKS.get(old.task).VARIANT_OF:
        target = target or old.target
    if not fields:
        return replace(given, task=old.task, target=target)
    said = {} if any(getattr(given, name) != getattr(plain, name) for name in fields) else reading_of_tree(path)
    return replace(given, task=old.task, target=target, **{name: said[name] for name in fields if name in said})


def for_tree(spec: RunSpec, old: Tree, path) -> RunSpec:
    """Return a specification whose rows are read as for an old tree, and whose search begins with that tree."""
    depth = spec.model.depth if spec.model.depth is not None else max(1, old.depth)
    spec = replace(spec, reading=reading_of(old, spec.reading, path))
    return spec.with_model(depth=depth, start=str(path))


def read_new(path: Path, reading: ReadingSpec, old: Tree) -> Dataset:
    """Read new rows, with the codebook of an old tree if none is named.

    Raises
    ------
    DataError
        As `read_as` does, and if the file has none of the columns that the old tree splits on.
    """
    dataset = read_as(path, reading)
    if old.used and not set(old.used_names) & {feature.name for feature in dataset.features}:
        raise DataError(
            f"expected new rows with the columns of the old tree, got {path} without any column that the tree splits "
            f"on ({some(old.used_names)}); name newer data of the same table, or fit a tree of its own by "
            f"{command('fit')}"
        )
    return dataset if reading.labels is not None else with_labels(dataset, codebook_of(old.features))


def read_before(path: Path, reading: ReadingSpec, old: Tree) -> Dataset:
    """Read the rows that an old tree was trained on, with the decimal sign that its file had."""
    reading = replace(reading, decimal=decimal_of(old.features))
    return read_as(book_and_sheet(path)[0], fitting_reading(path, reading, layout_of(old.features), old))


def fitting_reading(path: Path, reading: ReadingSpec, layout: dict, old: Tree) -> ReadingSpec:
    """Return the specification `reading`, with the file layout replaced by one that gives this file the columns of the
    old tree; `layout`, the layout of its training file, is tried first."""
    layout = fitting_layout(path, layout, [old.features[at].name for at in sorted(old.used)])
    sheet = book_and_sheet(path)[1]
    found = ReadingSpec(**layout | ({} if sheet is None else {"sheet": sheet}))
    return replace(reading, **{name: getattr(found, name) for name in LAYOUT})


def recoded(dataset: Dataset, features: Sequence[Feature]) -> np.ndarray:
    """Return the rows of a data set in the codes of other features, found by name: float64 (rows, features), NaN for a
    column that is missing or has another type, -1 for an unknown level."""
    places = {feature.name: place for place, feature in enumerate(dataset.features)}
    X = np.full((dataset.n_rows, len(features)), np.nan)
    for j, feature in enumerate(features):
        place = places.get(feature.name)
        if place is None or dataset.features[place].kind != feature.kind:
            continue
        cells = dataset.X[:, place]
        if feature.kind == NUMERIC:
            X[:, j] = cells
            continue
        codes = {level: float(code) for code, level in enumerate(feature.levels)}
        code = np.array([*(codes.get(level, -1.0) for level in dataset.features[place].levels), -1.0])
        X[:, j] = np.where(np.isnan(cells), np.nan, code[np.nan_to_num(cells, nan=-1).astype(int)])
    return X


def old_leaves(old: Tree, dataset: Dataset) -> np.ndarray:
    """Return the leaf of the old tree for each new row: int64 (rows,); -1 if the tree has no prediction for it. A row
    with a missing cell follows the majority, if the tree records the counts for this."""
    ways = "majority" if all(leaf.rows for leaf in old.leaves()) else "blank"
    return old.apply(recoded(dataset, old.features), on_missing=ways)


def _whole(problem: Problem) -> float:
    """Return the weight of the rows, or for a task other than classification the cost of one leaf for all rows."""
    encoded = problem.encoded
    if TASKS.get(encoded.task).CLASSES:
        return float(encoded.weight.sum())
    return settle(blank_arrays(problem.topology)[0], encoded).loss(encoded)


def rows_told(dataset: Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Return (bool (rows,): whether a row of the data set is a row of its file; the weights of these rows). For a
    policy, the other rows are votes for a second action."""
    known, task = dataset.copies > 0, TASKS.get(dataset.task)
    by_votes = not (task.CLASSES or task.NUMBERS)
    return known, dataset.sums[known, 1] if by_votes else dataset.weight[known]


def old_answers(old: Tree, dataset: Dataset) -> np.ndarray:
    """Return the prediction of the old tree for each new row: int64 (rows,), the position in the classes of the data
    set, -1 for an unknown class or without a prediction; for a task of numbers float64 (rows,), NaN without one."""
    leaf = old_leaves(old, dataset)
    if TASKS.get(old.task).NUMBERS:
        return old.numbers_at(recoded(dataset, old.features), leaf)
    codes = {name: code for code, name in enumerate(dataset.classes)}
    label = np.array([codes.get(old.classes[each.label], -1) for each in old.leaves()] + [-1])
    return label[leaf]


def _with_own_labels(old: Tree, heap: HeapTree, problem: Problem) -> HeapTree | None:
    """Return the projected tree, in which each leaf has the label that the old tree predicts for most of its weight.
    None if the old tree predicts classes that the new data does not have, or for a task of numbers, because these come
    from the new rows."""
    encoded = problem.encoded
    if TASKS.get(encoded.task).NUMBERS:
        return None
    said = old_answers(old, encoded.dataset)
    if (said < 0).any():
        return None
    end, K, label = heap.reach(encoded.X)[encoded.row_of], len(encoded.classes), heap.label.copy()
    for t in np.unique(end):
        label[t] = np.bincount(said[end == t], encoded.dataset.weight[end == t], K).argmax()
    return HeapTree(heap.split.copy(), label, heap.beyond)


def _near(problem: Problem, most: int, within: float, seconds: float) -> tuple[list[HeapTree], bool, str]:
    """Return near-optimal trees, if the formulation can rank trees, whether these are all of them, and why there are
    none."""
    if not problem.module.can(NearOptimal):
        return [], False, f"{option('model', problem.formulation)} does not list near-optimal trees"
    try:
        pool = near_optimal(problem, most, within, seconds)
    except ChoiceError as why:  # it cannot rank trees under these constraints
        return [], False, str(why)
    heaps = [HeapTree.from_tree(tree, problem.encoded, problem.topology, problem.module.BEYOND) for tree in pool.trees]
    return heaps, pool.complete, ""


def _cost(problem: Problem, heap: HeapTree) -> float | None:
    """Return the cost of a tree; None if the problem does not allow it, or if it breaks a constraint."""
    try:
        few = heap.fewest_rows(problem.encoded) < problem.module.least_rows(problem)
        return None if few or broken(problem, heap) else problem.module.objective(problem, heap)
    except TreeError:
        return None


def _splits(heap: HeapTree, problem: Problem) -> set:
    """Return the splits of a tree, each as the split of the encoding that separates the rows in the same way."""
    encoded, found = problem.encoded, set()
    for t in np.flatnonzero(heap.split >= 0).tolist():
        split, _ = heap.split_at(t, encoded)
        place = encoded.find(split) if heap.split[t] >= encoded.n_candidate_splits else None
        found.add(split if place is None else encoded.splits[place[0]])
    return found


def _as_written(heap: HeapTree, cost: float, old: Tree, problem: Problem) -> HeapTree:
    """Return the tree with splits on the columns of the old tree wherever these separate the new rows in the same way.
    Return `heap` itself if nothing changes, or if the new tree would have another cost or break a constraint."""
    encoded = problem.encoded
    X, tree = encoded.dataset.X, heap.to_tree(encoded)
    branches = (node for node, _ in old.walk() if isinstance(node, Branch))
    moved = (translated(branch.split, old.features, encoded.features)[0] for branch in branches)
    before = {split.left(X).tobytes(): split for split in moved if split is not None}

    def written(node):
        if isinstance(node, Leaf):
            return node
        left, children = node.split.left(X), (written(node.left), written(node.right))
        for rows, ordered in ((left, children), (~left, children[::-1])):
            split = before.get(rows.tobytes())
            if split is not None and split.features != node.split.features:
                return Branch(split, *ordered)
        return Branch(node.split, *children)

    root = written(tree.root)
    if root == tree.root or any(encoded.radius):  # the boxes of two such splits may differ
        return heap
    same = HeapTree.from_tree(replace(tree, root=root), encoded, problem.topology, beyond=True, as_written=True)
    return same if _cost(problem, same) == cost else heap


def _distance(heap: HeapTree, problem: Problem, before: np.ndarray, asked: set) -> Distance:
    encoded, numbers = problem.encoded, TASKS.get(problem.encoded.task).NUMBERS
    told, weight = rows_told(encoded.dataset)
    now, before = heap.row_answers(encoded)[told], before[told]
    apart = np.nan_to_num(np.abs(now - before)) if numbers else now != before
    splits = _splits(heap, problem)
    either = len(splits | asked)
    rows = float((weight * apart).sum() / weight.sum()) if weight.sum() else 0.0
    return Distance(rows, 1 - len(splits & asked) / either if either else 0.0, numbers)

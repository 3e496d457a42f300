"""The facts of a run under the keys that `--json` prints (docs/reference/json.md), each from one record; and the
requested and reached figures of each constraint."""

import math
import re
from dataclasses import field, fields
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from odtc.base.text import show_figure
from odtc.base.value_class import frozen_class
from odtc.base.wording import option
from odtc.data.cost_matrix import unit_cost
from odtc.data.dataset import Dataset
from odtc.errors import OdtcError
from odtc.heuristics.heuristic import HEURISTICS
from odtc.model.solution import EDITED, Solution, gap
from odtc.problem.constraints.constraint import broken
from odtc.problem.constraints.kind import Constraint, OnPredictions
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree
from odtc.trees.tree import Tree
from odtc.verification.verify import RowPredictions
from odtc.workflow.specification import specified

if TYPE_CHECKING:
    from odtc.model.milp import Model


ONLY_IF_KNOWN = {"only_if_known": True}  # a field whose key is left out of the JSON if it is None


class Facts:
    """Typed figures; `to_json` has them under the keys that `--json` prints, in their order."""

    def to_json(self) -> dict:
        values = {field.name: (getattr(self, field.name), field.metadata) for field in fields(self)}
        return {
            name: value for name, (value, about) in values.items() if value is not None or "only_if_known" not in about
        }


@frozen_class
class ProblemFacts(Facts):
    """A problem, and the size of its model; None without a model."""

    model: str
    depth: int
    data: str
    encoding: str
    n_rows: int
    n_rows_dropped: int
    n_rows_merged: int
    n_features: int
    n_features_encoded: int
    n_classes: int
    cost: list[list[float]] | None
    constraints: list[str]
    n_cols: int | None
    n_model_rows: int | None
    nnz: int | None

    @classmethod
    def of(cls, problem: Problem, size: tuple = (None, None, None), n_dropped: int = 0, **more):
        """Return the facts of a problem; `size` is (columns, rows, nonzeros) of its model, `n_dropped` the rows left
        out of its data."""
        encoded = problem.encoded
        n_cols, n_rows, nnz = size
        depth, constraints = specified(problem)
        return cls(
            model=problem.formulation,
            depth=depth,
            data=encoded.name,
            encoding=encoded.scheme,
            n_rows=int(encoded.copies.sum()),
            n_rows_dropped=n_dropped,
            n_rows_merged=encoded.n_rows,
            n_features=len(encoded.features),
            n_features_encoded=encoded.n_candidate_splits,
            n_classes=len(encoded.classes),
            cost=None if (encoded.cost == unit_cost(len(encoded.classes))).all() else encoded.cost.tolist(),
            constraints=[str(given) for given in constraints],
            n_cols=n_cols,
            n_model_rows=n_rows,
            nnz=nnz,
            **more,
        )


@frozen_class
class ModelFacts(ProblemFacts):
    """A problem and its model: with how its rows were selected, its cut families, and the rows that were separated."""

    selection: dict | None = field(default=None, metadata=ONLY_IF_KNOWN)
    cuts: list[str] = field(default_factory=list)
    n_rows_separated: int | None = field(default=None, metadata=ONLY_IF_KNOWN)
    # If another was chosen for it, as for "auto".
    model_requested: str | None = field(default=None, metadata=ONLY_IF_KNOWN)

    @classmethod
    def of_model(cls, problem: Problem, model: "Model | None" = None) -> "ModelFacts":
        """Return the facts of a problem, and of its model if there is one."""
        dataset = problem.encoded.dataset
        chosen = dataset.selected if dataset is not None else None
        n_dropped, selection = dataset.n_dropped if dataset else 0, chosen.facts if chosen is not None else None
        asked = problem.choice.requested if problem.choice is not None else None
        more = {"selection": selection, "model_requested": asked}
        if model is None:
            return cls.of(problem, n_dropped=n_dropped, **more)
        made = dict(model.separated)
        more |= {"n_rows_separated": sum(block.size for block in model.rows if block.name in made)}
        return cls.of(problem, (model.n_cols, model.n_rows, model.nnz), n_dropped, cuts=list(model.cuts), **more)


@frozen_class
class SolveFacts(Facts):
    """End of a run, and its proof."""

    solver: str
    termination: str
    has_solution: bool
    objective: float | None
    bound: float | None
    gap: float | None
    nodes: int | None
    seconds: float | None
    start: str
    race: list[dict] | None = field(default=None, metadata=ONLY_IF_KNOWN)
    # The proof for an edited model, and for nothing else: termination, bound and gap.
    edited: dict | None = field(default=None, metadata=ONLY_IF_KNOWN)
    # The proof for some trees only: which (scope), termination, bound and gap; the fields above are for all trees.
    restricted: dict | None = field(default=None, metadata=ONLY_IF_KNOWN)

    @classmethod
    def of(cls, solution: Solution) -> "SolveFacts":
        edited = restricted = None
        if solution.scope:
            proved = {"termination": str(solution.termination), "bound": solution.bound, "gap": solution.gap}
            if (paid := solution.scope_objective) is not None:
                proved |= {"objective": paid, "gap": gap(paid, solution.bound)}
            if solution.scope == EDITED:
                edited = proved
            else:
                restricted = {"scope": solution.scope} | proved
            solution = solution.of_all
        return cls(
            edited=edited,
            restricted=restricted,
            solver=solution.solver,
            termination=str(solution.termination),
            has_solution=solution.has_solution,
            objective=solution.objective,
            bound=solution.bound,
            gap=solution.gap,
            nodes=solution.nodes,
            seconds=round(solution.seconds, 3) if solution.seconds is not None else None,
            start=solution.start,
            race=[racer.to_json() for racer in solution.race] or None,
        )


@frozen_class
class TreeFacts(Facts):
    """A tree on its training rows, from the counts in its leaves: rows that are correct, their share, and the cost of
    the errors by weight (`Encoded.cost`). The share by weight is None if it equals the share of the rows."""

    train_correct: int
    train_accuracy: float
    train_balanced_accuracy: float
    loss: float
    n_branch_nodes: int
    n_leaves: int
    tree_depth: int
    train_weighted_accuracy: float | None = field(default=None, metadata=ONLY_IF_KNOWN)

    @classmethod
    def of(cls, tree: Tree, cost: np.ndarray) -> "TreeFacts":
        """Return the facts of a tree with counts in its leaves; `cost` is float64 (true class, predicted class)."""
        right = sum(leaf.rows[leaf.label] for leaf in tree.leaves())
        rows = sum(sum(leaf.rows) for leaf in tree.leaves())
        weight = sum(sum(leaf.counts) for leaf in tree.leaves())
        heavy = sum(leaf.counts[leaf.label] for leaf in tree.leaves())
        wrong = any(np.delete(leaf.counts, leaf.label).any() for leaf in tree.leaves())
        weighted = not np.isclose(weight, rows) or not np.isclose(heavy, right)
        return cls(
            train_correct=right,
            train_accuracy=right / rows,
            train_balanced_accuracy=_balanced(tree),
            loss=float(sum(np.dot(leaf.counts, cost[:, leaf.label]) for leaf in tree.leaves())),
            n_branch_nodes=tree.n_branch_nodes,
            n_leaves=tree.n_leaves,
            tree_depth=tree.depth,
            train_weighted_accuracy=_share_of_weight(heavy, weight, wrong) if weighted else None,
        )


def _share_of_weight(right: float, weight: float, some_wrong: bool) -> float:
    """Return the share of the weight that is correct: below 1 exactly if some weight is wrong, also if the sums of
    doubles do not show it."""
    return min(float(right / weight), math.nextafter(1.0, 0.0)) if some_wrong else 1.0


def _balanced(tree: Tree) -> float:
    """Return the mean over the classes of the share of their weight that is correct."""
    held = np.sum([leaf.counts for leaf in tree.leaves()], axis=0)
    right = np.zeros(len(held))
    for leaf in tree.leaves():
        right[leaf.label] += leaf.counts[leaf.label]
    return float((right[held > 0] / held[held > 0]).mean())


@frozen_class
class CartFacts(Facts):
    """CART over the same splits at the same depth."""

    cart_train_correct: int
    cart_train_accuracy: float
    cart_train_weighted_accuracy: float | None
    cart_loss: float

    @classmethod
    def of(cls, problem: Problem, cart: HeapTree) -> "CartFacts":
        encoded = problem.encoded
        hit = cart.label[cart.reach(encoded.X)] == encoded.y
        right, weight = int(encoded.copies[hit].sum()), encoded.weight.sum()
        return cls(
            right,
            right / int(encoded.copies.sum()),
            _share_of_weight(encoded.weight[hit].sum(), weight, bool(encoded.weight[~hit].any())) if weight else None,
            cart.loss(encoded),
        )


@frozen_class
class AllRowsFacts(Facts):
    """A tree of selected rows on all rows from which these were selected; `breaks` are the constraints that it
    violates there, `relabelled` counts the leaves that predict another class than on the selected rows (None for
    CART). No tree has less loss on all rows than `bound` (odtc.workflow.row_selection.rest_bound), if that is
    known."""

    n_rows: int
    correct: int
    accuracy: float
    weighted_accuracy: float | None
    balanced_accuracy: float
    loss: float
    breaks: list[str] | None = field(default=None, metadata=ONLY_IF_KNOWN)
    relabelled: int | None = field(default=None, metadata=ONLY_IF_KNOWN)
    bound: float | None = field(default=None, metadata=ONLY_IF_KNOWN)

    @classmethod
    def of(cls, tree: Tree, cost: np.ndarray, **more) -> "AllRowsFacts":
        """Return the facts of a tree with all rows in its leaves."""
        told = TreeFacts.of(tree, cost)
        return cls(
            sum(sum(leaf.rows) for leaf in tree.leaves()),
            told.train_correct,
            told.train_accuracy,
            told.train_weighted_accuracy,
            told.train_balanced_accuracy,
            told.loss,
            **more,
        )


@frozen_class
class RoundFacts(Facts):
    """A round of a selection: the rows that it selected, their share of all, and the accuracy of its tree on all rows
    and on the rows to test on. `loss` is the loss on all rows; no tree has less than `bound`, if that is known. The
    round that is `kept` has the rows of the returned tree. `model` is the formulation, if several were tried."""

    round: int
    n_selected: int
    share: float
    accuracy: float
    test_accuracy: float | None
    loss: float
    bound: float | None
    kept: bool
    model: str | None = field(default=None, metadata=ONLY_IF_KNOWN)


@frozen_class
class TestFacts(Facts):
    """The tree, and CART's, on labelled rows of another file; `test_majority_accuracy` is the share of these rows that
    are of the most frequent class of the training rows. The losses are known if errors have costs. All figures are of
    the `n_test_rows` whose label is a class of the training rows."""

    __test__ = False  # not a test of pytest

    test_accuracy: float | None
    cart_test_accuracy: float | None
    n_test_rows: int
    n_test_rows_dropped: int
    n_test_rows_without_known_label: int
    test_weighted_accuracy: float | None = field(default=None, metadata=ONLY_IF_KNOWN)
    cart_test_weighted_accuracy: float | None = field(default=None, metadata=ONLY_IF_KNOWN)
    test_majority_accuracy: float | None = field(default=None, metadata=ONLY_IF_KNOWN)
    test_loss: float | None = field(default=None, metadata=ONLY_IF_KNOWN)
    cart_test_loss: float | None = field(default=None, metadata=ONLY_IF_KNOWN)

    @classmethod
    def of(cls, tree: Tree, cart: Tree, labelled: Dataset, cost: np.ndarray | None = None) -> "TestFacts":
        """Return the facts of two trees; `cost` is float64 (true class, predicted class), if errors have costs."""
        known = labelled.where(labelled.y >= 0)
        right = [one.predict(known.X) == known.y for one in (tree, cart)]
        accuracies = [float(one.mean()) if len(one) else None for one in right]
        heavy = [None, None]
        if known.n_rows and np.ptp(known.weight) and (total := known.weight.sum()) > 0:
            heavy = [_share_of_weight(known.weight[one].sum(), total, bool(known.weight[~one].any())) for one in right]
        most = float((known.y == majority_of(tree)).mean()) if known.n_rows else None
        losses = (None, None) if cost is None else (_loss_on(one, known, cost) for one in (tree, cart))
        unknown = labelled.n_rows - known.n_rows
        return cls(*accuracies, known.n_rows, labelled.n_dropped, unknown, *heavy, most, *losses)


def _loss_on(tree: Tree, labelled: Dataset, cost: np.ndarray) -> float:
    """Return Σ w_i · cost[y_i, predicted_i]."""
    return float(labelled.weight @ cost[labelled.y, tree.predict(labelled.X)])


def majority_of(tree: Tree) -> int:
    """Return the class of most of the training weight, the first of several."""
    return int(np.sum([leaf.counts for leaf in tree.leaves()], axis=0).argmax())


def score(tree: Tree, labelled: Dataset) -> dict:
    """Accuracy and confusion matrix on rows whose label is known: `confusion[true][predicted]`. The classes of the rows
    begin with those of the tree."""
    known = labelled.y >= 0
    predicted, true = tree.predict(labelled.X[known]), labelled.y[known]
    K = len(labelled.classes)
    table = np.bincount(true * K + predicted, minlength=K * K).reshape(K, K)
    return score_of(table, int((~known).sum()), labelled.classes)


def score_of(table: np.ndarray, n_unlabelled: int, classes) -> dict:
    """Accuracy and confusion matrix of counts int (true class, predicted class), and of rows without a known label."""
    of_class, n_rows = table.sum(axis=1), int(table.sum())
    recalls = np.diagonal(table) / np.maximum(of_class, 1)
    return {
        "n_rows": n_rows,
        "n_rows_without_known_label": n_unlabelled,
        "correct": int(np.trace(table)),
        "accuracy": float(np.trace(table) / n_rows) if n_rows else None,
        "balanced_accuracy": float(recalls[of_class > 0].mean()) if n_rows else None,
        "classes": list(classes),
        "confusion": table.tolist(),
    }


def kept_facts(
    problem: Problem,
    heap: HeapTree,
    tree: Tree,
    labelled: Dataset | None,
    asked: tuple[Constraint, ...] | None = None,
    cart: HeapTree | None = None,
) -> list[dict]:
    """Return one entry for each requested constraint; None means the constraints of the problem.

    Returns
    -------
    list of dict
        `constraint` as typed, `requested` its number (None without one), `training` the figure of the tree, `test` its
        figure on test rows with known labels, `satisfied_on_test` whether it satisfies the constraint; both None if
        there are no such rows, if the constraint is not on predictions, or if the rows lack a column; `cart` the figure
        of CART's tree on training rows, and `satisfied_by_cart` whether it satisfies the constraint, if that tree is
        given.
    """
    labelled = None if labelled is None else labelled.with_known_labels()
    rows = None if labelled is None else RowPredictions(problem.encoded, labelled, tree.predict(labelled.X))
    found = []
    for given in problem.constraints if asked is None else asked:
        test = None
        if rows is not None and given.module.can(OnPredictions):
            try:
                test = rows.value(given)
            except (OdtcError, ZeroDivisionError):
                test = None
        test = None if test is None or test != test else test
        found.append(
            {
                "constraint": str(given),
                "requested": float(given.bound) if given.op else None,
                "training": float(given.module.value(problem.encoded, given, heap)),
                "test": None if test is None else float(test),
                "satisfied_on_test": None if test is None else bool(given.holds(test)),
            }
            | ({} if cart is None else _of_cart(given, given.module.value(problem.encoded, given, cart)))
        )
    return found


def _of_cart(given: Constraint, value: Fraction | float) -> dict:
    return {"cart": float(value), "satisfied_by_cart": bool(given.holds(value))}


def broken_text(kept: list[dict]) -> str:
    """Return the constraints that CART's tree breaks, with its figures (`kept_facts`); "" for none."""
    told = [entry for entry in kept if not entry.get("satisfied_by_cart", True)]
    return ", ".join(f"{entry['constraint']} ({show_figure(entry['cart'])})" for entry in told)


def kept_line(entry: dict, tree: Tree) -> str:
    """Return an entry as a line of a result: whether the constraint is satisfied, the figures of training and test
    rows, and the display names of its classes."""
    named = [
        f"{name}: {text}"
        for name, text in zip(tree.classes, tree.shown.classes)
        if name != text and re.search(rf"[\[=,]\s*{re.escape(name)}\s*[\],]", str(entry["constraint"]))
    ]
    words = f"{kept_text(entry)} ({', '.join(named)})" if named else kept_text(entry)
    return f"{'missed' if entry['satisfied_on_test'] is False else 'kept':<8}  {words}"


def kept_text(entry: dict) -> str:
    """Return an entry in words."""
    if entry.get("requested") is None and not entry["training"] and not entry["test"]:
        return str(entry["constraint"])  # a constraint without a number, which counts its violations
    figure = f"{entry['constraint']}: {show_figure(entry['training'])} on training rows"
    if entry["test"] is None:
        return figure
    if entry["satisfied_on_test"]:
        return f"{figure}, {show_figure(entry['test'])} on test rows"
    return f"{figure}, missed on test: {show_figure(entry['test'])}"


def no_worse_than_cart(problem: Problem, heap: HeapTree | None) -> HeapTree | None:
    """Return the tree, or CART's tree as printed next to it if that satisfies the constraints and costs less."""
    cart = _cart_of(problem)
    if broken(problem, cart):
        return heap
    if heap is None or problem.module.objective(problem, cart) < problem.module.objective(problem, heap):
        return cart
    return heap


def open_text(paid: float, bound: float | None) -> str:
    """Report that no better tree is known, and the known bound on better ones, after a search without a proof."""
    least = (
        "no bound excludes one" if bound is None or bound <= 0 else f"none can cost less than its bound, {bound:.10g}"
    )
    return f"it is open whether a better tree satisfies the constraints: none below {paid:.10g} was found, and {least}"


def unmet_text(problem: Problem, ended: str) -> str:
    """Report that a search which has `ended` in this way found no tree that satisfies the constraints, and the figures
    of CART's tree."""
    cart = _cart_of(problem)
    reached = ", ".join(f"{given} ({show_figure(value)})" for given, value in broken(problem, cart))
    which = "the constraint" if len(problem.constraints) == 1 else "one of them"
    return (
        f"no tree that satisfies {'; '.join(map(str, problem.constraints))} was found before {ended}, and it is open "
        f"whether there is one; CART violates {reached}: allow more time ({option('time_limit')}) or a greater "
        f"{option('depth')}, or relax {which}"
    )


def _cart_of(problem: Problem) -> HeapTree:
    """Return CART's tree as reported with every result, without any limit."""
    found: HeapTree = HEURISTICS.get("cart").tree(problem.encoded, problem.topology)
    return found

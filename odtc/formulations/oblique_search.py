"""Trees of hyperplanes without a solver and without a proof, chosen by held-out rows or for the training rows alone."""

import math
from dataclasses import dataclass, replace

import numpy as np

from odtc.algorithms.hyperplanes.held_out import FOLDS as PARTS
from odtc.algorithms.hyperplanes.held_out import REPEATS, Choice
from odtc.algorithms.hyperplanes.loss_unit import unit_of
from odtc.algorithms.hyperplanes.tree_alternating import RESTARTS
from odtc.base import deadline
from odtc.base.text import some
from odtc.data.linear_terms import raw_values
from odtc.data.splits import Oblique
from odtc.heuristics.heuristic import HEURISTICS
from odtc.heuristics.regularised import Candidate, candidates, choose
from odtc.problem.constraints.constraint import mended
from odtc.problem.parameters import parameter
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree

NAME = "oblique_search"
TITLE = "oblique_search: hyperplanes by alternating optimisation, chosen by held-out rows; a learner without a model"
PAPER = (
    "Carreira-Perpiñán & Tavallali (2018), Alternating optimization of decision trees, with application to "
    "learning sparse oblique trees"
)

ANY_COST = True
BEYOND = True
WEIGHS = True
CONSTRAINTS = ("leaf_rows", "branch_nodes", "leaves")
FOLDS, REST, TRAINING = "folds", "rest", "training"
SECONDS = 20.0
NEAR = 1e-6
AFTER = 3.0  # seconds for a tree after Ctrl-C
ALL_FOLDS = PARTS * REPEATS
ALONE = "this is the majority alone; -p choice=training fits the training rows as closely as the depth lets it"


@dataclass(frozen=True)
class Params:
    seconds: float = parameter(
        SECONDS,
        "how long it may search; with folds CPU seconds if there is no time limit, and with one 0.9 of that limit if "
        "this stands at its default",
        least=0,
    )
    choice: str = parameter(
        FOLDS,
        "what speaks for a tree: `folds`, repeated cross-validation over penalties and numbers of leaves; or "
        "`training`, the loss on the training rows, which it then follows as closely as the depth lets it",
        choices=(FOLDS, REST, TRAINING),
    )
    se: float = parameter(1.0, "with folds: standard errors that fewer leaves may be worse on held-out rows", least=0)
    sparse: bool = parameter(
        True,
        "with folds: hyperplanes of few columns, by a price of coefficients (1-norm); `false` is quicker if there are "
        "many columns",
    )
    restarts: int = parameter(RESTARTS, "with training: number of trees it optimises, if there is time", least=0)
    seed: int = parameter(
        0, "of all draws: if the time limit does not come first, the same seed and jobs give the same tree", least=0
    )
    jobs: int = parameter(1, "with training: processes side by side, which share the restarts", least=1)


def tree(problem: Problem) -> HeapTree:
    """The tree that held-out rows speak for, or the best on the training rows, which is never worse than CART's."""
    return learned(problem)[0]


def learned(problem: Problem) -> tuple[HeapTree, str]:
    """(`tree`, what was seen on held-out rows). Ctrl-C leaves no tree of all rows: one is found in a moment."""
    try:
        return _learned(problem, problem.params)
    except KeyboardInterrupt:
        deadline.end_soon(AFTER + deadline.GRACE)
        heap, words = _learned(problem, replace(problem.params, seconds=AFTER))
        return heap, "; ".join(filter(None, [words, f"interrupted, so that the tree was found in {AFTER:g} s"]))


def _learned(problem: Problem, p: Params) -> tuple[HeapTree, str]:
    if p.choice == FOLDS:
        limited = p.seconds == SECONDS and deadline.seconds_left() is not None
        heap, choice = choose(
            problem.encoded,
            problem.topology,
            seconds=math.inf if limited else p.seconds,
            se=p.se,
            seed=p.seed,
            sparse=p.sparse,
            part=0.9,
        )
        heap = mended(problem, heap)
        return heap, words(problem, choice, heap)
    if p.choice == REST:
        limited = p.seconds == SECONDS and deadline.seconds_left() is not None
        found = candidates(
            problem.encoded,
            problem.topology,
            seconds=math.inf if limited else p.seconds,
            seed=p.seed,
            sparse=p.sparse,
            part=0.9,
        )
        return _best_of_others(problem, found)
    heap = HEURISTICS.get("oblique").tree(
        problem.encoded,
        problem.topology,
        seconds=p.seconds,
        restarts=p.restarts,
        seed=p.seed,
        jobs=p.jobs,
        part=1.0,
    )
    return mended(problem, heap), ""


def _best_of_others(problem: Problem, found: list[Candidate]) -> tuple[HeapTree, str]:
    """The candidate that loses least of the rows that were not selected, of equals that with the fewest leaves."""
    selected, cost = problem.encoded.dataset.selected, problem.encoded.cost
    whole, K = selected.whole, len(problem.encoded.classes)
    others = whole.weight.copy()
    others[selected.rows] = 0.0
    heaps = [mended(problem, one.heap) for one in found]

    def lost(heap: HeapTree) -> float:
        tree = heap.to_tree(problem.encoded)
        at = tree.apply(whole.X) * K + whole.y
        counts, of_others = (
            np.bincount(at, weight, tree.n_leaves * K).reshape(-1, K) for weight in (whole.weight, others)
        )
        label = (counts @ cost).argmin(axis=1)  # as all rows say: odtc.workflow.row_selection.selection.fill_leaves
        return float((of_others * cost[:, label].T).sum())

    losses = [lost(heap) for heap in heaps]
    at = min(range(len(found)), key=lambda at: (losses[at], found[at].leaves))
    n = whole.n_rows - len(selected.rows)
    return heaps[at], f"{losses[at]:g} of {n}, {found[at].leaves} leaves, penalty {found[at].penalty}"


def objective(problem: Problem, heap: HeapTree) -> float:
    """The loss."""
    return heap.loss(problem.encoded)


def words(problem: Problem, choice: Choice, heap: HeapTree) -> str:
    """What the folds said, in a sentence or two: shares of rows that are right, or mean costs if errors are priced."""
    said, encoded = _said(problem, choice), problem.encoded
    gaps = np.isnan(raw_values(encoded)).any(axis=0)
    asked = [heap.split(t, encoded)[0] for t in np.flatnonzero(heap.test >= 0).tolist()]
    weighed = {place for split in asked if isinstance(split, Oblique) for place in split.measured if gaps[place]}
    if weighed:
        said += f"; a row with no {some([encoded.features[place].name for place in sorted(weighed)])} goes right there"
    if heap.loss(encoded) > choice.tree.loss + NEAR * unit_of(encoded.loss) and not problem.constraints:
        said += (
            f"; WARNING: that tree loses {choice.tree.loss:.6g} and this one {heap.loss(encoded):.6g}, as numbers of "
            f"this size leave no double between its sides: give the columns another unit"
        )
    return said


def _said(problem: Problem, choice: Choice) -> str:
    if not choice.folds:
        return "WARNING: there are too few rows to tell by held-out ones whether a tree beats the majority, so " + ALONE
    cost = problem.encoded.cost
    unit = bool((cost == (cost != 0)).all())

    def shown(loss: float) -> str:
        return f"{100 * (1 - loss):.1f} %" if unit else f"{loss:.4g}"

    measure = "right" if unit else "mean cost"
    beside = f"majority {shown(choice.majority)}"
    if not np.isnan(choice.linear):
        beside += f", a linear model without a tree {shown(choice.linear)}"
    folds = f"{choice.folds} folds" if choice.folds == ALL_FOLDS else f"{choice.folds} of {ALL_FOLDS} folds"
    if choice.over:
        folds += ", time over: single columns alone" if choice.alone else ", time over"
        folds += " (-p seconds=…)"
    if not choice.better:
        return f"WARNING: no tree surely beats the majority on held-out rows ({measure}: {beside}; {folds}), so {ALONE}"
    error = f" ± {100 * choice.error:.1f}" if unit else f" ± {choice.error:.2g}"
    kind = "single columns" if choice.penalty is None else f"hyperplanes of penalty C = {choice.penalty:g}"
    return (
        f"chosen by {folds}: {choice.tree.leaves} leaves, {kind}; {measure} on held-out rows "
        f"{shown(choice.held_out)}{error} (of the folds that chose it, so a little too good), {beside}"
    )

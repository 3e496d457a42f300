"""Trees of hyperplanes without a solver and without a proof, chosen by held-out rows or only for the training rows."""

import math
from dataclasses import replace

import numpy as np

from odtc.algorithms.hyperplanes.held_out import FOLDS as PARTS
from odtc.algorithms.hyperplanes.held_out import LEAST_ROWS, REPEATS, SURE, Choice
from odtc.algorithms.hyperplanes.tree_alternating import RESTARTS, unit_of
from odtc.base import deadline
from odtc.base.text import count_of, some
from odtc.base.value_class import value_class
from odtc.base.wording import option, param
from odtc.data.linear_terms import raw_values
from odtc.data.splits import Oblique
from odtc.errors import ChoiceError
from odtc.heuristics.heuristic import HEURISTICS
from odtc.heuristics.regularised import Candidate, candidates, choose
from odtc.problem.constraints.constraint import mended
from odtc.problem.parameters import merge_rows, parameter
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
HELD_OUT, FOLDS, REST, TRAINING = "held-out", "folds", "rest", "training"
JUDGES = 100_000  # maximum number of unselected rows that are used to choose a tree
SECONDS = 20.0  # duration of the search if there is no time limit
NEAR = 1e-6  # relative to the most expensive error: smaller differences are rounding errors
COMPLETION_SECONDS = 3.0  # seconds to complete a tree after Ctrl-C
ALL_FOLDS = PARTS * REPEATS


@value_class
class Params:
    seconds: float = parameter(
        SECONDS,
        "how long it may search; if held-out rows choose, CPU seconds if there is no time limit, and with one 0.9 of "
        "that limit if this stands at its default",
        least=0,
    )
    choice: str = parameter(
        HELD_OUT,
        "what speaks for a tree: `folds`, repeated cross-validation over penalties and numbers of leaves; `rest`, with "
        "--select, the rows that were not selected, over the same trees; `held-out`, the rest if they are as many as "
        "the selected at least, else folds; or `training`, the loss on the training rows, which it then follows as "
        "closely as the depth lets it",
        choices=(HELD_OUT, FOLDS, REST, TRAINING),
    )
    se: float = parameter(1.0, "with folds: standard errors that fewer leaves may be worse on held-out rows", least=0)
    sparse: bool = parameter(
        True,
        "if held-out rows choose: hyperplanes of few columns, by a penalty for coefficients (1-norm); `false` is "
        "quicker if there are many columns",
    )
    restarts: int = parameter(RESTARTS, "with training: number of trees it optimises, if there is time", least=0)
    seed: int = parameter(
        0, "of all draws: if the time limit does not come first, the same seed and jobs give the same tree", least=0
    )
    jobs: int = parameter(1, "with training: processes side by side, which share the restarts", least=1)
    merge: bool = merge_rows()


def tree(problem: Problem) -> HeapTree:
    """Return the tree that held-out rows favour, or the best on the training rows, which is never worse than CART's."""
    return learned(problem)[0]


def learned(problem: Problem) -> tuple[HeapTree, str]:
    """Return (`tree`, the results on held-out rows). If Ctrl-C comes before a tree of all rows is found, one is made
    in a moment."""
    try:
        return _learned(problem, problem.params)
    except KeyboardInterrupt:
        deadline.end_soon(COMPLETION_SECONDS + deadline.GRACE)
        heap, words = _learned(problem, replace(problem.params, seconds=COMPLETION_SECONDS))
        return heap, "; ".join(
            filter(None, [words, f"interrupted, so that the tree was found in {COMPLETION_SECONDS:g} s"])
        )


def _learned(problem: Problem, p: Params) -> tuple[HeapTree, str]:
    if p.choice != TRAINING:
        limited = p.seconds == SECONDS and deadline.seconds_left() is not None
        how = {"seconds": math.inf if limited else p.seconds, "seed": p.seed, "sparse": p.sparse, "part": 0.9}
        if (others := _rest(problem, p.choice)) is not None:
            return _best_of_others(problem, candidates(problem.encoded, problem.topology, **how), others)
        heap, choice = choose(problem.encoded, problem.topology, se=p.se, **how)
        heap = mended(problem, heap)
        return heap, words(problem, choice, heap)
    heap = HEURISTICS.get("oblique").tree(
        problem.encoded, problem.topology, seconds=p.seconds, restarts=p.restarts, seed=p.seed, jobs=p.jobs, part=1.0
    )
    return mended(problem, heap), ""


def _rest(problem: Problem, choice: str) -> np.ndarray | None:
    """Return the positions, in the whole data set, of the rows that choose a tree because they were not selected, at
    most JUDGES; None if folds choose. Raises ChoiceError if such rows are requested but all rows were selected."""
    dataset = problem.encoded.dataset
    selected = None if dataset is None else dataset.selected
    n_others = 0 if selected is None else selected.whole.n_rows - len(selected.rows)
    if choice == REST and not n_others:
        raise ChoiceError(
            f"{param('choice', REST)} has the rows choose that {option('select')} left out, and there are none; leave "
            "it out"
        )
    if choice == FOLDS or n_others < (1 if choice == REST else max(LEAST_ROWS, len(selected.rows) if selected else 0)):
        return None
    others = np.setdiff1d(np.arange(selected.whole.n_rows), selected.rows, assume_unique=True)
    if n_others <= JUDGES:
        return others
    return np.sort(np.random.default_rng(problem.params.seed).choice(others, JUDGES, replace=False))


def _best_of_others(problem: Problem, found: list[Candidate], others: np.ndarray) -> tuple[HeapTree | None, str]:
    """Return the candidate with the least loss on these rows of the whole data set, of equal ones the one with the
    fewest leaves, or a single leaf if no candidate is surely better; and a sentence on the results."""
    dataset, cost = problem.encoded.dataset, problem.encoded.cost
    whole, K = dataset.selected.whole, len(problem.encoded.classes)
    X, y, weight = whole.X[others], whole.y[others], whole.weight[others]

    def lost(heap: HeapTree) -> np.ndarray:
        """Return float64 (others,): the losses if each leaf predicts the label of least cost for the selected rows and
        these."""
        tree = heap.to_tree(problem.encoded)
        at, of_selected = tree.apply(X), tree.apply(dataset.X)
        counts = np.bincount(at * K + y, weight, tree.n_leaves * K)
        own = whole.weight[dataset.selected.rows]
        counts += np.bincount(of_selected * K + dataset.y, own, tree.n_leaves * K)
        label = (counts.reshape(-1, K) @ cost).argmin(axis=1)
        return weight * cost[y, label[at]]

    kept = [(heap, one) for one in found if (heap := mended(problem, one.heap)) is not None]
    if not kept:
        return None, ""
    losses = [lost(heap) for heap, _ in kept]
    paid = [float(each.sum()) for each in losses]
    best = min(range(len(kept)), key=lambda at: (paid[at], kept[at][1].leaves))
    fewest = min(range(len(kept)), key=lambda at: (kept[at][1].leaves, paid[at]))
    gain, unit = losses[fewest] - losses[best], bool((cost == (cost != 0)).all())
    right, least = (_shown(paid[at] / float(weight.sum()), unit) for at in (best, fewest))
    measure, those = "correct" if unit else "mean cost", f"the {count_of(len(others), 'row')} that were not selected"
    if kept[fewest][1].leaves == 1 and not gain.sum() > SURE * len(gain) ** 0.5 * gain.std() > 0:
        said = f"WARNING: no tree surely beats the majority on {those} ({measure}: majority {least}), so {_alone()}"
        return kept[fewest][0], said
    heap, chosen = kept[best]
    said = (
        f"chosen by {those}: {count_of(chosen.leaves, 'leaf', '')}, {_kind(chosen.penalty)}; {measure} on them {right}"
    )
    return heap, f"{said}, majority {least}{_gaps_note(problem, heap)}"


def _shown(loss: float, unit: bool) -> str:
    return f"{100 * (1 - loss):.1f} %" if unit else f"{loss:.4g}"


def _kind(penalty: float | None) -> str:
    return "single columns" if penalty is None else f"hyperplanes of penalty C = {penalty:g}"


def objective(problem: Problem, heap: HeapTree) -> float:
    """Return the loss."""
    return heap.loss(problem.encoded)


def words(problem: Problem, choice: Choice, heap: HeapTree) -> str:
    """Return the results of the folds in a sentence or two: shares of correct rows, or mean costs if errors have
    costs."""
    encoded = problem.encoded
    said = _said(problem, choice) + _gaps_note(problem, heap)
    if heap.loss(encoded) > choice.tree.loss + NEAR * unit_of(encoded.loss) and not problem.constraints:
        said += (
            f"; WARNING: that tree loses {choice.tree.loss:.6g} and this one {heap.loss(encoded):.6g}, as numbers of "
            f"this size leave no double between its sides: give the columns another unit"
        )
    return said


def _gaps_note(problem: Problem, heap: HeapTree) -> str:
    """Return a note on where a row goes if a number that the tree uses is missing; "" if none can be missing."""
    encoded = problem.encoded
    gaps = np.isnan(raw_values(encoded)).any(axis=0)
    asked = [heap.split_at(t, encoded)[0] for t in np.flatnonzero(heap.split >= 0).tolist()]
    weighed = {place for split in asked if isinstance(split, Oblique) for place in split.measured if gaps[place]}
    if not weighed:
        return ""
    return f"; a row with no {some([encoded.features[place].name for place in sorted(weighed)])} goes right there"


def _alone() -> str:
    way = param("choice", TRAINING)
    return f"this is only the most frequent class; {way} fits the training rows as closely as the depth allows"


def _said(problem: Problem, choice: Choice) -> str:
    alone = _alone()
    if not choice.folds:
        return (
            "WARNING: there are too few rows for held-out rows to show whether a tree is better than the most "
            "frequent class, so " + alone
        )
    cost = problem.encoded.cost
    unit = bool((cost == (cost != 0)).all())
    shown = lambda loss: _shown(loss, unit)
    measure = "correct" if unit else "mean cost"
    beside = f"majority {shown(choice.majority)}"
    if not np.isnan(choice.linear):
        beside += f", a linear model without a tree {shown(choice.linear)}"
    folds = (
        f"{count_of(choice.folds, 'fold', '')}"
        if choice.folds == ALL_FOLDS
        else f"{choice.folds} of {count_of(ALL_FOLDS, 'fold', '')}"
    )
    if choice.over:
        folds += ", time limit reached: only single columns" if choice.alone else ", time over"
        folds += f" ({param('seconds', ...)})"
    if not choice.better:
        return (
            "WARNING: no tree is surely better than the most frequent class on held-out rows "
            f"({measure}: {beside}; {folds}), so {alone}"
        )
    error = f" ± {100 * choice.error:.1f}" if unit else f" ± {choice.error:.2g}"
    return (
        f"chosen by {folds}: {count_of(choice.tree.leaves, 'leaf', '')}, {_kind(choice.penalty)}; {measure} on "
        f"held-out rows {shown(choice.held_out)}{error} (of the folds that chose it, so a little too good), {beside}"
    )

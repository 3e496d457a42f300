"""A problem with constraints in the form of the constrained search (odtc.algorithms.constrained).

A kind of constraint defines its form by `terms(encoded, given) -> Terms`. Without that function, its `answers` (sums
over the predictions) are used; a kind that has neither is relaxed, and its `value` is checked for every candidate tree.
"""

from collections.abc import Callable
from dataclasses import replace
from enum import IntEnum
from functools import reduce
from itertools import combinations
from math import ceil, comb
from operator import and_

import numpy as np

from odtc.algorithms.constrained.constrained_problem import ConstrainedProblem, TooLarge, fixed_point, padded
from odtc.base.value_class import value_class
from odtc.base.whole_numbers import MAX_DIFFERENCE, summed_weights
from odtc.data.encoding import Encoded
from odtc.data.ranked_answers import rows_of
from odtc.data.splits import SplitList, Splits
from odtc.problem.branch_penalty import exact_share
from odtc.problem.constraints.groups import members, regrouped
from odtc.problem.constraints.kind import Constraint, OnPredictions, Terms
from odtc.problem.constraints.on_predictions import lines
from odtc.problem.constraints.search_units import ROUNDED, fits, rounded_down, settled_price, whole_or_rounded
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree, settle

MOST_LINES = 60  # maximum number of additive constraints of a kind; with more (monotone) every tree is checked instead
MOST_SUBSETS = 20_000  # maximum number of subsets of columns


def terms_of(encoded: Encoded, given: Constraint) -> Terms:
    """Return the terms of one constraint."""
    module = given.module
    if (own := module.terms(encoded, given)) is not None:
        return own
    if module.can(OnPredictions):
        found = tuple((line.coef, line.upper) for line in lines(encoded, given))
        return Terms(lines=found) if len(found) <= MOST_LINES else Terms(checked=True)
    return Terms(checked=True)


@value_class
class SearchProblem:
    """A problem in the form of the search.

    Attributes
    ----------
    arrays : ConstrainedProblem
    unit : float
        The amount of the objective that one whole unit of cost represents.
    problem : Problem
    scale : int (splits,)
        Splits of one number are nested.
    encoded : Encoded
        Its rows are the rows of the arrays.
    off : float
        The largest error of the objective of a tree, because the penalty of branch nodes has too many digits.
    """

    arrays: ConstrainedProblem
    unit: float
    problem: Problem
    scale: np.ndarray
    encoded: Encoded
    off: float = 0.0

    def tree(self, split: np.ndarray, label: np.ndarray) -> HeapTree:
        """Return the settled tree of a heap of splits and labels."""
        split, label = padded(split, label, self.problem.topology.depth)
        return settle(split, self.problem.encoded, label)

    def heaps(self, heap: HeapTree) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the heaps of splits and labels of a tree; None for one that is deeper than the search."""
        size = 2 ** (self.arrays.depth + 1)
        deeper = heap.beyond is not None or (heap.split[size // 2 :] >= 0).any()
        return None if deeper else (heap.split[:size], heap.label[:size])

    def cost(self, heap: HeapTree) -> int:
        """Return the cost of a tree in whole units."""
        return round(self.problem.module.objective(self.problem, heap) / self.unit)


def search_problem(problem: Problem, encoded: Encoded | None = None) -> SearchProblem:
    """Return the problem in whole numbers.

    Parameters
    ----------
    problem : Problem
    encoded : Encoded or None
        `refined` for its constraints, if that was made before.

    Raises
    ------
    TooLarge
        If weights, costs or bounds are not fractions with small denominators.
    """
    encoded = refined(problem.encoded, problem.constraints) if encoded is None else encoded
    each = [(given, terms_of(encoded, given)) for given in problem.constraints]
    for coarse in Coarse:  # the first with which multipliers have room for the sums of all numbers
        posed = _search_problem(problem, encoded, each, coarse)
        try:
            fixed_point(posed.arrays)
            break
        except TooLarge:
            if coarse == Coarse.COSTS:
                raise
    return posed


class Coarse(IntEnum):
    """The large numbers that a search rounds: none; the numbers of constraints, so that every tree is then checked; or
    also the costs, so that the objective has the error `off`."""

    NOTHING = 0
    CONSTRAINTS = 1
    COSTS = 2


def _search_problem(
    problem: Problem, encoded: Encoded, each: list[tuple[Constraint, Terms]], coarse: Coarse
) -> SearchProblem:
    """Return the problem in whole numbers."""
    found = [terms for _, terms in each]
    depth, K = problem.topology.depth, len(encoded.classes)
    counted = [
        terms.groups[1] for terms in found if terms.groups and _by_count(*terms.groups, encoded.n_candidate_splits)
    ]
    depth = min([depth, *counted])  # no path repeats a split
    depth = min([depth, *(terms.nodes for terms in found if terms.nodes is not None)])  # branch nodes of a tree
    depth = min([depth, *(int(given.bound) for given, _ in each if given.name == "splits")])
    uses, bound, branch_uses, leaf_uses, rounded = _additive(encoded, found, coarse > Coarse.NOTHING)
    measures = [measure for terms in found for measure in terms.measures]
    levels = [terms.levels(problem.topology.depth)[:depth] for terms in found if terms.levels]
    below = [terms.below for terms in found if terms.below is not None]
    column, subsets, relaxed = subsets_of(found, depth)
    relaxed += rounded
    checked = [given for given, terms in each if terms.checked or any(terms is one for one in relaxed)]
    meant = exact_share(getattr(problem.params, "lambda_", 0.0))
    loss, scale, off = whole_or_rounded(encoded, coarse == Coarse.COSTS)
    most = sum(np.abs(loss).max(axis=1).tolist()) + ceil(scale * 2**depth)
    lam = settled_price(meant, most)
    price = 1 - lam
    off = float(off + abs(meant - lam) * most / scale)
    branch = scale * lam.numerator  # a whole number except for rounded costs
    arrays = ConstrainedProblem(
        X=encoded.X,
        cost=loss * price.numerator,  # in units of the denominator of lam
        depth=depth,
        uses=uses,
        bound=bound,
        branch_cost=round(branch),
        branch_uses=branch_uses,
        leaf_uses=leaf_uses,
        measures=np.array([measure for measure, _ in measures], np.int64).reshape(len(measures), encoded.n_rows),
        least=np.array([least for _, least in measures], float).reshape(len(measures), K),
        column=column,
        allowed=np.logical_and.reduce(levels) if levels else None,
        below=reduce(and_, below) if below else None,
        subsets=subsets,
        accepts=accepting(problem, checked) if checked else None,
        most_splits=min((most for most in counted if most < 2**depth - 1), default=None),
    )
    off += float(abs(branch - round(branch)) * 2**depth / (scale * lam.denominator))
    return SearchProblem(arrays, float(1 / (scale * lam.denominator)), problem, nested(encoded), encoded, off)


def nested(encoded: Encoded) -> np.ndarray:
    """Return int (splits,): one number for the thresholds of each numeric column, one for each other split."""
    return SplitList(Splits.of(encoded.splits), np.zeros(encoded.n_candidate_splits, bool)).scales


def _by_count(group: np.ndarray, most: int, n_candidate_splits: int) -> bool:
    """Return whether a limit on groups counts single splits, and these are too many to enumerate their sets."""
    return int(group.max()) + 1 == n_candidate_splits and comb(n_candidate_splits, most) > MOST_SUBSETS


def accepting(problem: Problem, checked: list[Constraint]) -> Callable[[np.ndarray, np.ndarray], bool]:
    """Return whether a tree, as heaps of splits and labels, satisfies these constraints."""

    def accepts(split: np.ndarray, label: np.ndarray) -> bool:
        heap = settle(split, problem.encoded, label)
        return all(given.holds(given.module.value(problem.encoded, given, heap)) for given in checked)

    return accepts


def refined(encoded: Encoded, constraints: tuple[Constraint, ...]) -> Encoded:
    """Return the encoding in which rows of data of different groups are different rows, so that few kinds of rows are
    left."""
    texts = [text for given in constraints for text in given.module.compared(given)]
    if not texts or encoded.dataset is None:
        return encoded
    of = [members(encoded.dataset, text)[0] for text in dict.fromkeys(texts)]
    _, first, row_of = np.unique(np.stack([encoded.row_of, *of]), axis=1, return_index=True, return_inverse=True)
    row_of, source = row_of.ravel(), encoded.row_of[first]
    finer = replace(
        encoded,
        X=rows_of(encoded.X, source),
        y=encoded.y[source],
        weight=summed_weights(row_of, encoded.dataset.weight, len(first)),
        copies=np.bincount(row_of, minlength=len(first)),
        row_of=row_of,
    )
    return regrouped(finer, texts)


def _additive(
    encoded: Encoded, found: list[Terms], coarse: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, list[Terms]]:
    """Return (uses, bound, branch uses, leaf uses) of all sums, whole, and the terms of which some sum is rounded so
    that no tree that satisfies them is lost; if `coarse`, every sum of large numbers."""
    n, K = encoded.n_rows, len(encoded.classes)
    uses, bound, branch, leaf, rounded = [], [], [], [], []
    for terms in found:
        for coef, upper in terms.lines:
            if coarse or not fits(coef) or abs(upper) >= MAX_DIFFERENCE:
                if np.abs(coef).max(initial=0) > ROUNDED or abs(upper) >= MAX_DIFFERENCE:
                    coef, upper = rounded_down(coef, upper)
                    rounded.append(terms)
            uses.append(coef)
            bound.append(max(-MAX_DIFFERENCE, min(MAX_DIFFERENCE, upper)))
            branch.append(0)
            leaf.append(np.zeros(K, np.int64))
        for most, nodes, labels in (
            *(((terms.nodes, 1, np.zeros(K, np.int64)),) if terms.nodes is not None else ()),
            *((most, 0, np.eye(K, dtype=np.int64)[k]) for k, most in terms.leaves),
        ):
            uses.append(np.zeros((n, K), np.int64))
            bound.append(most)
            branch.append(nodes)
            leaf.append(labels)
    R = len(bound)
    return (
        np.array(uses, np.int64).reshape(R, n, K),
        np.array(bound, np.int64),
        np.array(branch, np.int64),
        np.array(leaf, np.int64).reshape(R, K),
        rounded,
    )


def subsets_of(found: list[Terms], depth: int) -> tuple[np.ndarray | None, np.ndarray | None, list[Terms]]:
    """Return (column int (splits,), subsets bool (subsets, columns), the terms that no subset expresses).

    If several constraints limit groups, subsets are made from the first one that gives few of them. Sets that exclude
    each other then reduce these subsets further.
    """
    column, subsets, relaxed = None, None, []
    limits = [terms for terms in found if terms.groups]
    for terms in sorted(limits, key=lambda terms: (int(terms.groups[0].max()), terms.groups[1])):
        group, most = terms.groups
        m = int(group.max()) + 1
        if most >= min(m, 2**depth - 1) or np.array_equal(column, group):  # fewer of the same groups are allowed
            continue
        if column is None and comb(m, most) <= MOST_SUBSETS:
            column, subsets = group, _of_size(m, most)
        else:
            relaxed.append(terms)
    apart = [pair for terms in found for pair in terms.apart]
    if not apart:
        return column, subsets, relaxed
    if column is None:  # columns grouped by the sets that exclude them
        _, column = np.unique(np.array([side for pair in apart for side in pair]).T, axis=0, return_inverse=True)
        column = column.ravel()
        subsets = np.ones((1, int(column.max()) + 1), bool)
    for terms in found:
        # A set that divides a group of splits cannot be expressed by these subsets.
        if any((np.bincount(column, side) % np.bincount(column)).any() for pair in terms.apart for side in pair):
            relaxed.append(terms)
    for one, other in (pair for terms in found if not any(terms is late for late in relaxed) for pair in terms.apart):
        both = [np.bincount(column, side, subsets.shape[1]) > 0 for side in (one, other)]
        meet = (subsets & both[0]).any(axis=1) & (subsets & both[1]).any(axis=1)
        subsets = np.unique(np.concatenate([subsets[~meet], *(subsets[meet] & ~side for side in both)]), axis=0)
    return column, subsets, relaxed


def _of_size(m: int, most: int) -> np.ndarray:
    """Return bool (subsets, m): all subsets of this size."""
    chosen = np.array(list(combinations(range(m), most)), int).reshape(comb(m, most), most)
    subsets = np.zeros((len(chosen), m), bool)
    np.put_along_axis(subsets, chosen, True, axis=1)
    return subsets

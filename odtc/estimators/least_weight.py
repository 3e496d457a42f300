"""Trees whose leaves hold a share of the weight: the limit as numbers of rows, and trees that satisfy it.

With the weights in descending order, w_(1) ≥ w_(2) ≥ …, a leaf of weight W holds at least

    k(W) = min { k : w_(1) + … + w_(k) ≥ W }

rows. So the best tree with k(W) rows in every leaf costs no more than the best one with weight W in every leaf. If all
weights are equal the two limits are the same.
"""

from dataclasses import replace

import numpy as np

from odtc.estimators.cost_complexity import SAME
from odtc.heuristics.heuristic import HEURISTICS
from odtc.problem.constraints.constraint import broken, limits, mended
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree
from odtc.trees.simplifying import simplify_tree
from odtc.trees.tree import Branch, Leaf, Tree


def least_rows(weight: np.ndarray, share: float) -> int:
    """Return the fewest rows that can hold this share of the weight.

    Parameters
    ----------
    weight : float64 (rows,)
        Above 0.
    share : float
        From 0 to 0.5.

    Returns
    -------
    int
        0 for a share of 0.
    """
    if share <= 0:
        return 0
    held = np.cumsum(np.sort(weight)[::-1])
    return int(np.searchsorted(held, share * held[-1] * (1 - SAME))) + 1


def fits(tree: Tree, of_class: np.ndarray, least: float) -> bool:
    """Return whether every leaf has this weight; a unit of weight of a class has the factor float64 (classes,)."""
    return all(np.dot(leaf.counts, of_class) >= least * (1 - SAME) for leaf in tree.leaves())


def best_fitting(
    problem: Problem, tree: Tree, of_class: np.ndarray, cost: np.ndarray, least: float, simplify: bool
) -> tuple[Tree, float, list[str]]:
    """Return the better of two trees whose leaves have enough weight: this tree, cut back, and CART under the limit.

    Parameters
    ----------
    problem : Problem
    tree : Tree
        A tree of the problem, with leaves of too little weight.
    of_class : float64 (classes,)
        The factor of a unit of weight of each class.
    cost : float64 (classes, classes)
    least : float
        The least weight of a leaf.
    simplify : bool
        Whether branch nodes that change no prediction are dropped.

    Returns
    -------
    (Tree, float, list of str)
        The tree, its objective, and the constraints of the problem that it breaks, in words. A tree that breaks one is
        taken only if both do.
    """
    cut = replace(tree, root=_cut_back(tree.root, of_class, cost, least * (1 - SAME)))
    found = []
    for candidate in (cut, _cart(problem, of_class, least).to_tree(problem.encoded)):
        candidate = simplify_tree(candidate) if simplify and not problem.constraints else candidate
        heap = HeapTree.from_tree(candidate, problem.encoded, problem.topology, True)
        if fits(candidate, of_class, least):
            breaks = [given.told(value) for given, value in broken(problem, heap)]
            paid = problem.module.objective(problem, heap)
            found.append((bool(breaks), paid, len(found), candidate, breaks))
    _, paid, _, best, breaks = min(found)  # no two have the same place
    return best, paid, breaks


def _cart(problem: Problem, of_class: np.ndarray, least: float) -> HeapTree:
    """Grow CART with leaves of this weight: it counts rows, which are here parts of the least weight."""
    encoded = problem.encoded
    parts = encoded.weight * of_class[encoded.y] / least * (1 + SAME)
    given = {**limits(problem), "least_rows": 1}
    heap = HEURISTICS.get("cart").tree(replace(encoded, copies=parts), problem.topology, **given)
    repaired = mended(problem, heap)
    return heap if repaired is None else repaired


def _cut_back(node, of_class: np.ndarray, cost: np.ndarray, least: float):
    """Return the node without the branch nodes, from the bottom up, that have a leaf of less weight; the same object
    if there are none."""
    if isinstance(node, Leaf):
        return node
    left, right = (_cut_back(child, of_class, cost, least) for child in (node.left, node.right))
    if any(np.dot(child.counts, of_class) < least for child in (left, right)):  # no branch node that is left
        cut = Branch(node.split, left, right)
        return Leaf(int((np.array(cut.counts) @ cost).argmin()), cut.counts, cut.rows)
    return node if left is node.left and right is node.right else Branch(node.split, left, right)

"""Reconstruction of the tree that a Lagrangian pass found, and its cheapest feasible labels.

A tree is a heap of splits, int32 (2^(depth + 1),), -1 for none, and its leaves: the positions where it predicts, each
with the counts of its rows (odtc.algorithms.constrained.count_tensors). Its labels are then chosen again: the cheapest
labelling that satisfies the additive constraints, built up leaf by leaf. If two partial labellings use the same
amounts, only the cheaper one is kept.
"""

import numpy as np

from odtc.algorithms.constrained.constrained_problem import TooLarge, leaves_of
from odtc.algorithms.constrained.count_tensors import Counts
from odtc.algorithms.constrained.lagrangian_pass import Pass, Path, Weights
from odtc.base.value_class import value_class

MOST_LABELLINGS = 200_000  # maximum number of listed labellings of one tree


@value_class
class Structure:
    """A tree without labels."""

    split: np.ndarray  # int32 (2^(depth + 1),)
    places: tuple[int, ...]  # positions of its leaves on the heap
    counts: np.ndarray  # float64 (leaves, kinds)

    @property
    def n_branch_nodes(self) -> int:
        return int((self.split >= 0).sum())


def structure_of(counts: Counts, split: np.ndarray) -> Structure:
    """Return a tree with the counts of the rows that reach each leaf."""
    leaf = leaves_of(counts.problem, split)
    places = np.flatnonzero(np.bincount(leaf))
    held = [np.bincount(leaf, factor)[places] for factor in counts.factor.T]
    return Structure(split, tuple(places.tolist()), np.stack(held, axis=1))


@value_class
class Labelled:
    """A tree with its labels, its cost and its uses."""

    split: np.ndarray
    label: np.ndarray
    cost: int
    uses: np.ndarray  # int64 (constraints,)


def trace(tables: Pass, root: int, weights: Weights, splits: np.ndarray) -> tuple[Structure | None, float]:
    """Return (the cheapest tree by weighted cost with this root, and only these splits below it, its weighted cost);
    (None, inf) if no such tree is allowed."""
    problem = tables.problem
    split, leaves = np.full(2 ** (problem.depth + 1), -1, np.int32), {}
    split[1] = root
    value = weights.base
    for t in (0, 1):
        value += _below(tables, ((root, t),), problem.depth - 1, weights, splits, 2 + t, split, leaves)
    if np.isinf(value):
        return None, np.inf
    places = tuple(sorted(leaves))
    return Structure(split, places, np.array([leaves[place] for place in places])), value


def _below(tables: Pass, path: Path, depth: int, weights: Weights, splits, node: int, split, leaves) -> float:
    """Lay out the best subtree at a node; return its weighted cost."""
    ones, total = tables.singles(path, splits)
    least, value = tables.leaf(total, weights)[0], np.zeros(0)
    if depth == 1:
        value = weights.branch + tables.stumps(path, weights, splits)[1]
    elif depth > 1:
        value = weights.branch + tables.sides(path, depth - 1, weights, splits)[1].sum(axis=0)
    if not value.min(initial=np.inf) < least:
        leaves[node] = total
        return least
    g = int(value.argmin())
    split[node] = splits[g]
    if depth == 1:
        leaves[2 * node], leaves[2 * node + 1] = total - ones[:, g], ones[:, g]
    else:
        for t in (0, 1):
            _below(tables, (*path, (int(splits[g]), t)), depth - 1, weights, splits, 2 * node + t, split, leaves)
    return float(value[g])


def by_weight(tables: Pass, structure: Structure, weights: Weights) -> Labelled:
    """Return the tree with the labels that are cheapest by weighted cost."""
    labels = [tables.leaf(count, weights)[1] for count in structure.counts]
    return labelled(tables, structure, labels)


def labelled(tables: Pass, structure: Structure, labels) -> Labelled:
    """Return the tree with these labels, one for each of its leaves."""
    problem, counts = tables.problem, tables.counts
    at = np.asarray(labels, int)
    n = structure.n_branch_nodes
    cost = float((structure.counts * counts.cost[:, at].T).sum()) + n * problem.branch_cost
    uses = (
        (counts.uses[:, :, at] * structure.counts.T).sum(axis=(1, 2))
        + problem.leaf_uses[:, at].sum(axis=1)
        + n * problem.branch_uses
    )
    label = np.full(len(structure.split), -1, np.int32)
    label[list(structure.places)] = at
    return Labelled(structure.split, label, int(cost), np.rint(uses).astype(np.int64))


@value_class
class Labellings:
    """Labels of one tree: cost float64 (labellings,), uses float64 (labellings, constraints), choice int (labellings,
    leaves)."""

    cost: np.ndarray
    uses: np.ndarray
    choice: np.ndarray


def feasible(tables: Pass, structure: Structure, below: float) -> Labelled | None:
    """Return the tree with the cheapest labels that satisfy the constraints, if it then costs less than `below`; None
    if none do.

    Raises
    ------
    TooLarge
        If there are too many labellings that use different amounts.
    """
    problem, found = tables.problem, labellings(tables, structure, below)
    for place in np.argsort(found.cost, kind="stable"):
        tree = labelled(tables, structure, found.choice[place])
        if problem.accepts is None:
            return tree
        tables.tick()  # thousands of labellings may be refused one by one
        if problem.accepts(tree.split, tree.label):
            return tree
    return None


def cheapest(cost: np.ndarray, uses: np.ndarray, bound: np.ndarray, below: float) -> int | None:
    """Return the position of the cheapest labels that use at most `bound` and cost less than `below`, or None."""
    places = np.flatnonzero((uses <= bound).all(axis=1) & (cost < below))
    return int(places[cost[places].argmin()]) if len(places) else None


def labellings(tables: Pass, structure: Structure, below: float, most: int = MOST_LABELLINGS) -> Labellings:
    """Return all labels that satisfy the constraints with which the tree costs less than `below`; of several that use
    the same amounts the cheapest. At most `most` are kept.

    Raises
    ------
    TooLarge
        If there are too many labellings that use different amounts.
    """
    problem, counts = tables.problem, tables.counts
    R, n = problem.n_constraints, structure.n_branch_nodes
    cost = structure.counts @ counts.cost  # (leaves, labels)
    # (leaves, labels, R)
    uses = np.tensordot(structure.counts, counts.uses, (1, 1)).transpose(0, 2, 1) + problem.leaf_uses.T
    may = np.array([tables.labels_of(count) for count in structure.counts])
    cost = np.where(may, cost, np.inf)
    # The minimum costs and uses of the leaves after each one.
    rest_cost = np.append(np.cumsum(cost.min(axis=1)[::-1])[::-1], 0.0)
    least_uses = np.where(may[:, :, None], uses, np.inf).min(axis=1)
    rest_uses = (
        np.vstack([np.cumsum(least_uses[::-1], axis=0)[::-1], np.zeros(R)]) if R else np.zeros((len(cost) + 1, 0))
    )
    total, used = np.array([float(n * problem.branch_cost)]), (n * problem.branch_uses.astype(float))[None, :]
    choice = np.zeros((1, 0), int)
    for at in range(len(cost)):
        k = np.arange(problem.n_labels)
        total = (total[:, None] + cost[at]).reshape(-1)
        used = (used[:, None, :] + uses[at]).reshape(len(total), R)
        choice = np.concatenate([np.repeat(choice, len(k), axis=0), np.tile(k, len(choice))[:, None]], axis=1)
        kept = (total + rest_cost[at + 1] < below) & (used + rest_uses[at + 1] <= problem.bound).all(axis=1)
        kept = np.flatnonzero(kept)
        if len(kept) > 512 and problem.accepts is None:
            order = kept[np.lexsort((total[kept], *used[kept].T))]
            first = (
                np.append(True, (np.diff(used[order], axis=0) != 0).any(axis=1)) if R else np.arange(len(order)) == 0
            )
            kept = order[first]
        if len(kept) > most:
            raise TooLarge("too many labellings of one tree")
        total, used, choice = total[kept], used[kept], choice[kept]
    return Labellings(total, used, choice)

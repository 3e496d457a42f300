"""Greedy trees whose every cut leaves a gap: where a model that wants one can begin.

A tree that was grown without regard to a gap loses each node whose rows lie closer than that, which on thousands of
rows may be most of the tree. Here a node takes, of all cuts along given directions that leave the gap between its own
rows, the one after which these are the least mixed.
"""

import numpy as np

from odtc.base import deadline
from odtc.data.encoding import Encoded
from odtc.data.linear_terms import LinearTerms
from odtc.data.splits import Oblique, Split
from odtc.heuristics.separating_hyperplanes import TIGHT, build_tree
from odtc.trees.heap_tree import CompleteTree, HeapTree

PAIRS = 200  # directions of two terms at most


def grow_margin_tree(
    encoded: Encoded,
    topology: CompleteTree,
    weighed: LinearTerms,
    gap: float,
    directions: np.ndarray,
    gini: bool,
    *,
    limited: bool = True,
) -> HeapTree:
    """Return the tree whose cuts are along `directions` (float64 (directions, terms), of 1-norm 1), each the one with
    the least Gini impurity, or else the least loss, of both sides, and none if it lessens nothing. Raises
    TimeLimitReached if it is `limited`."""
    Z = weighed.Z
    price = np.eye(len(encoded.classes))[encoded.y] * encoded.loss.sum(axis=1)[:, None] if gini else encoded.loss

    def ask(t: int, rows: np.ndarray) -> Split | bool:
        least, best = _mixed(price[rows].sum(axis=0), gini) * (1 - 1e-12), True
        for along in directions:
            if limited:
                deadline.check()
            reach = Z[rows] @ along
            order = np.argsort(reach, kind="stable")
            cuts = np.flatnonzero(np.diff(reach[order]) >= gap * (1 + TIGHT))
            if not len(cuts):
                continue
            left = np.cumsum(price[rows[order]], axis=0)
            mixed = _mixed(left[cuts], gini) + _mixed(left[-1] - left[cuts], gini)
            cut = int(mixed.argmin())
            if mixed[cut] < least:
                split = weighed.split(along, rows, reach <= reach[order[cuts[cut]]])
                least, best = (mixed[cut], split) if split is not None else (least, best)
        return best

    return build_tree(encoded, topology, ask)


def directions(weighed: LinearTerms, heap: HeapTree, encoded: Encoded) -> np.ndarray:
    """Return candidate directions: single terms, the terms that the tree weighs, and sums and differences of two terms
    if these are few."""
    one = np.eye(weighed.n)
    place = {(term.feature, term.level): j for j, term in enumerate(weighed.terms)}
    found = [*one]
    for t in np.flatnonzero(heap.split >= 0).tolist():
        split = heap.split_at(t, encoded)[0]
        if isinstance(split, Oblique) and all((term.feature, term.level) in place for term in split.terms):
            along = np.zeros(weighed.n)
            for term in split.terms:
                j = place[term.feature, term.level]
                along[j] = term.weight * weighed.span[j]
            found.append(along / np.abs(along).sum())
    first, second = np.triu_indices(weighed.n, 1)
    if 2 * len(first) <= PAIRS:
        found += [*((one[first] + one[second]) / 2), *((one[first] - one[second]) / 2)]
    return np.array(found).reshape(-1, weighed.n)


def _mixed(price: np.ndarray, gini: bool) -> np.ndarray:
    """Return the impurity Σ_k p_k (1 - p_k / Σ p) of sums of costs by class, float64 (..., classes), or the least."""
    if not gini:
        return price.min(axis=-1)
    total = price.sum(axis=-1)
    return total - (price**2).sum(axis=-1) / np.where(total > 0, total, 1.0)

"""α1 and α2 of SVM1-ODT chosen by held-out rows, and the tree that its MIP begins with.

The candidates are the trees of odtc.heuristics.regularised: hyperplanes of several penalties, from one leaf to 2^D.
The objective of SVM1-ODT ranks them on the training rows of each fold, for each pair (α1, α2), and the pair whose
favourites do best on the other rows is taken (odtc.algorithms.hyperplanes.held_out.choose_prices). With h = ε h', the
penalties of one node form the objective of a support vector machine:

    α1 Σ_i max(0, ε - s_i (g - h·z_i)) + α2 |h|_1  =  α1 ε Σ_i max(0, 1 - s_i (g' - h'·z_i)) + α2 ε |h'|_1,

whose C is α1 / α2. α1 ε is at least the cost of an error: if it were less, a row on a hyperplane, which is common for
rows of whole numbers, would pay for its margin and go to either side, because that is cheaper than being
misclassified.
"""

import numpy as np

from odtc.algorithms.hyperplanes.held_out import PriceChoice, choose_prices
from odtc.algorithms.hyperplanes.penalised import PENALTIES, Grower, PrunedTree
from odtc.base import deadline
from odtc.base.value_class import value_class
from odtc.data.encoding import Encoded
from odtc.data.linear_terms import LinearTerms
from odtc.heuristics.separating_hyperplanes import build_tree, split_by_hyperplane
from odtc.trees.heap_tree import CompleteTree, HeapTree

FOLDS_SECONDS = 20.0  # time limit of the folds
FOLDS_SHARE = 0.4  # of the remaining time: what the folds may take at most, if there is a limit
ROW_PRICES = (1.0, 10.0)  # values of α1 ε that are tried, relative to the cost of an error


@value_class
class MarginPrices:
    """α1 and α2, the tree that they rank first, and the results on held-out rows; without folds the last two are
    None."""

    alpha1: float
    alpha2: float
    heap: HeapTree | None
    seen: PriceChoice | None


def choose_margin_prices(encoded: Encoded, topology: CompleteTree, epsilon: float) -> MarginPrices:
    """Return the pair (α1, α2) for margins ε of hyperplanes on columns scaled to [0, 1]. If there are too few rows for
    folds, or there is no time, α1 ε is the cost of an error and C is 1. Raises ChoiceError for missing cells."""
    weighed = LinearTerms.encoded(encoded, refuse_missing=True)
    near = weighed.by_quantiles()
    error = float(np.ptp(encoded.loss, axis=1).max())
    # Smooth ones first: of equal α1 ε the ones with small C.
    pairs = [(times * error / epsilon, times * error / epsilon / C) for C in sorted(PENALTIES) for times in ROW_PRICES]
    if not weighed.n:
        return MarginPrices(*pairs[0], None, None)
    alpha1, alpha2 = np.array(pairs).T
    of_copy = encoded.weight / np.maximum(encoded.copies, 1)

    def cost(tree: PrunedTree, rows: np.ndarray) -> np.ndarray:
        """Return the loss plus, for each node, the cost of the cheapest multiple of its hyperplane, for each pair."""
        total, arriving = np.full(len(pairs), tree.loss), {1: rows}
        for t in (t for t in tree.nodes() if not tree.ends[t]):
            here = arriving[t]
            h, g = tree.H[t], float(tree.g[t])
            right = near.Z[here] @ h > g
            arriving[2 * t], arriving[2 * t + 1] = here[~right], here[right]
            if right.all() or not right.any():
                continue
            # The same hyperplane on columns scaled to [0, 1], where no row is further away than 1.
            with np.errstate(all="ignore"):  # where a cell of 1e300 is all of a column's range
                along, at = weighed.same_plane(near, h, g)
                reach = np.abs(at - weighed.Z @ along).max()
                away = np.abs(at - weighed.Z[here] @ along) / reach
                norm = float(np.abs(along).sum()) / reach
            total = total + cheapest_multiple(away, of_copy[here], norm, epsilon, alpha1, alpha2)
        return np.where(np.isnan(total), np.inf, total)

    seen = choose_prices(
        near.Z,
        encoded.loss,
        encoded.weight,
        Grower(topology.depth, 0, False),
        cost,
        encoded.copies,
        seconds=deadline.time_share(FOLDS_SECONDS, FOLDS_SHARE),
    )
    if seen is None:
        return MarginPrices(*pairs[sorted(PENALTIES).index(1.0) * len(ROW_PRICES)], None, None)
    ends, H, g = seen.tree.ends, seen.tree.H, seen.tree.g
    inside = {t for t in seen.tree.nodes() if not ends[t]}
    heap = build_tree(
        encoded,
        topology,
        lambda t, rows: split_by_hyperplane(near, H[t], float(g[t]), rows, kept=True) if t in inside else True,
        kept=True,
    )
    return MarginPrices(*pairs[seen.place], heap, seen)


def cheapest_multiple(
    away: np.ndarray, weight: np.ndarray, norm: float, epsilon: float, alpha1: np.ndarray, alpha2: np.ndarray
) -> np.ndarray:
    """Return float64 (pairs,): the least value over 0 <= s <= 1 of

        α1 Σ_i w_i max(0, ε - s d_i) + α2 s |h|_1

    for the distances d_i >= 0 of `away` (float64 (rows,)) and |h|_1 = `norm`. It is convex and piecewise linear, so
    the minimum is at an end (0 is the limit of small s) or where a row exactly has its margin.
    """
    order = np.argsort(away)
    d, w = away[order], weight[order]
    s = np.concatenate([[0.0], epsilon / d[d > epsilon], [1.0]])
    # Row i misses its margin at s iff d_i < ε / s.
    count = np.append(len(d), np.searchsorted(d, epsilon / s[1:], side="left"))
    sum_w, sum_wd = (np.concatenate([[0.0], np.cumsum(of)]) for of in (w, w * d))
    missed = epsilon * sum_w[count] - s * sum_wd[count]
    return (alpha1[:, None] * missed + alpha2[:, None] * s * norm).min(axis=1)

"""CART (Breiman et al. 1984) on the encoded tests, by scikit-learn: the greedy tree everyone knows."""

import numpy as np

from odtc.data.encoding import Encoded
from odtc.data.threshold_scales import Scales
from odtc.heuristics.heuristic import tests_of
from odtc.trees.complete_tree import CompleteTree
from odtc.trees.heap_tree import HeapTree, blank, pruned, settle

NAME = "cart"
SUMMARY = "greedy Gini splits on the same tests (scikit-learn)"


LIMITS = ("least_rows", "most_leaves")


def tree(
    encoded: Encoded, topology: CompleteTree, price: float = 0.0, least_rows: int = 1, most_leaves: int | None = None
) -> HeapTree:
    """The greedy tree of this depth, its useless branch nodes dropped; those that save no more
    than `price` of loss are pruned bottom-up. A row weighs what an error on it costs, over all classes
    that it may be taken for (Breiman et al., section 4.4). Each leaf has `least_rows` rows of the data
    or more, and with `most_leaves` what saves most is split first. Deterministic (random_state 0)."""
    from sklearn.tree import DecisionTreeClassifier

    test, _ = blank(topology)
    scales = Scales.of(encoded)  # a feature with a thousand thresholds is one column to it
    weight = encoded.loss.sum(axis=1) / max(1, len(encoded.classes) - 1)
    used = weight > 0
    if not used.any() or most_leaves == 1:
        return settle(test, encoded)
    model = DecisionTreeClassifier(
        max_depth=topology.depth, max_leaf_nodes=most_leaves, min_samples_leaf=max(1, least_rows), random_state=0
    )
    rows = np.flatnonzero(used)
    if least_rows > 1:  # scikit-learn counts rows, so each row of the data is one
        rows, weight = np.repeat(rows, encoded.copies[rows]), weight / np.maximum(encoded.copies, 1)
    model.fit(scales.rank[rows].astype(np.float32), encoded.y[rows], sample_weight=weight[rows])
    heap = settle(tests_of(model, topology, scales), encoded)
    return pruned(heap, encoded, price) if price else heap

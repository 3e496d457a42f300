"""Trees of hyperplanes by multi-start alternating optimisation (odtc.alternating), never worse than CART.

Each hyperplane found is then the one of least 1-norm that parts the rows of its node so, and its
coefficients are rounded where no row of the node moves (odtc.oblique).
"""

import numpy as np

from odtc.alternating import search
from odtc.encoding import Encoded
from odtc.heap import Beyond, HeapTree, blank, pruned, settle
from odtc.heuristic import HEURISTICS
from odtc.oblique import Weighed, values, widest
from odtc.topology import Topology

NAME = "oblique"
SUMMARY = "hyperplanes by alternating optimisation from many starts (oblique:seconds=10,restarts=200,seed=0,jobs=1)"
OPTIONS = {
    "seconds": (float, "how long it may search (default 10)"),
    "restarts": (int, "how many trees it settles, if there is time (default 200)"),
    "seed": (int, "of all draws (default 0)"),
    "jobs": (int, "processes side by side, at most 4 (default 1)"),
}


def tree(encoded: Encoded, topology: Topology, price: float = 0.0, seconds: float = 10.0, restarts: int = 200, seed: int = 0,
         jobs: int = 1) -> HeapTree:
    """The best tree found, or CART's where that costs no more; a branch node costs `price`. Raises ChoiceError
    where the encoding holds rows for one whose numbers differ."""
    weighed = Weighed.encoded(encoded)
    best = HEURISTICS.get("cart").tree(encoded, topology, price)
    if weighed.n and restarts > 0:
        found = search(weighed.Z, encoded.loss, topology.depth, restarts=restarts, seconds=seconds, seed=seed, jobs=jobs)
        heap = laid(weighed, found.H, found.g, encoded, topology)
        heap = pruned(heap, encoded, price) if price else heap
        if heap.loss(encoded) + price * heap.n_branch_nodes < best.loss(encoded) + price * best.n_branch_nodes:
            best = heap
    return best


def laid(weighed: Weighed, H: np.ndarray, g: np.ndarray, encoded: Encoded, topology: Topology) -> HeapTree:
    """The settled tree that asks H[t]·z <= g[t] at node t, in original units and with the labels that cost least."""
    test, _ = blank(topology)
    splits: list = []
    stack = [(1, np.arange(encoded.n_rows))]
    while stack:
        t, rows = stack.pop()
        if t >= len(g):
            continue
        left = weighed.Z[rows] @ H[t] <= g[t]
        narrow = widest(weighed.Z[rows], left) if left.any() and not left.all() else None
        split = weighed.split(narrow, rows, left) if narrow is not None else None
        split = split or weighed.split(H[t], rows, left)
        if split is None:  # all rows go one way, so the node asks nothing and its child stands for it
            stack.append((2 * t + (not left.any()), rows))
            test[t] = -2 - (not left.any())
            continue
        test[t] = encoded.n_tests + len(splits)
        splits.append(split)
        left = split.left(values(encoded)[rows])
        stack += [(2 * t, rows[left]), (2 * t + 1, rows[~left])]
    return settle(_lifted(test), encoded, None, Beyond.of(splits, values(encoded)))


def _lifted(test: np.ndarray) -> np.ndarray:
    """The tests with the used child (marked -2: left, -3: right) in the place of each node that asks nothing."""
    lifted = np.full_like(test, -1)

    def lay(old, new):
        while old < len(test) and test[old] < -1:
            old = 2 * old + (test[old] == -3)
        if old < len(test) and test[old] >= 0:
            lifted[new] = test[old]
            lay(2 * old, 2 * new)
            lay(2 * old + 1, 2 * new + 1)

    lay(1, 1)
    return lifted

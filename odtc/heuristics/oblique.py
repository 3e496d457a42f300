"""Trees of hyperplanes by multi-start alternating optimisation (odtc.algorithms.hyperplanes.tree_alternating), never
worse than CART.

Each hyperplane found is then the one of least 1-norm that parts the rows of its node so, and its
coefficients are rounded as long as no row of the node moves (odtc.data.linear_terms).
"""

from odtc.algorithms.hyperplanes.tree_alternating import RESTARTS, search_hyperplanes, unit_of
from odtc.base import deadline
from odtc.data.encoding import Encoded
from odtc.data.linear_terms import LinearTerms
from odtc.errors import ChoiceError
from odtc.heuristics.heuristic import HEURISTICS
from odtc.heuristics.separating_hyperplanes import build_tree, split_by_hyperplane
from odtc.trees.heap_tree import CompleteTree, HeapTree, prune

NAME = "oblique"
SUMMARY = (
    f"hyperplanes by alternating optimisation from many starts (oblique:seconds=10,restarts={RESTARTS},seed=0,jobs=1)"
)
TRIES = ("restarts=2,seconds=600",)  # ends by its restarts: the clock is no part of a law
OPTIONS = {
    "seconds": (float, "how long it may search (default 10)"),
    "restarts": (int, f"number of trees it optimises, if there is time (default {RESTARTS})"),
    "seed": (int, "of all draws (default 0)"),
    "jobs": (int, "processes side by side, which share the restarts (default 1)"),
}


def tree(
    encoded: Encoded,
    topology: CompleteTree,
    price: float = 0.0,
    seconds: float = 10.0,
    restarts: int = RESTARTS,
    seed: int = 0,
    jobs: int = 1,
    part: float = 0.5,
) -> HeapTree:
    """Return the best tree found, or CART's if that costs no more; `price` is the penalty of a branch node.

    With a time limit, the search takes at most this share of the remaining time. Raises ChoiceError if the encoding
    merges rows whose numbers differ.
    """
    if min(restarts, seed) < 0 or jobs < 1 or not seconds >= 0:
        raise ChoiceError(
            f"expected seconds, restarts and seed of 0 or more and a job or more for the start 'oblique', got "
            f"{seconds:g}, {restarts}, {seed} and {jobs}"
        )
    weighed = LinearTerms.encoded(encoded)
    best = HEURISTICS.get("cart").tree(encoded, topology, price)
    if weighed.n and restarts > 0:
        found = search_hyperplanes(
            weighed.Z,
            encoded.loss / unit_of(encoded.loss),
            topology.depth,
            restarts=restarts,
            seconds=deadline.time_share(seconds, part),
            seed=seed,
            jobs=jobs,
        )
        heap = build_tree(
            encoded, topology, lambda t, rows: split_by_hyperplane(weighed, found.H[t], found.g[t], rows, narrow=True)
        )
        heap = prune(heap, encoded, price) if price else heap
        if heap.loss(encoded) + price * heap.n_branch_nodes < best.loss(encoded) + price * best.n_branch_nodes:
            best = heap
    return best

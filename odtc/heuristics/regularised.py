"""Trees of hyperplanes that are chosen by held-out rows (odtc.algorithms.hyperplanes.held_out), for data beyond the
training rows: any number of leaves, down to the prediction of the majority.

Columns are scaled by their quantiles, so that a few numbers far out leave the others as they are.
"""

from odtc.algorithms.hyperplanes.held_out import Choice, choose_tree
from odtc.base import deadline
from odtc.data.encoding import Encoded
from odtc.data.linear_terms import LinearTerms
from odtc.data.splits import Split
from odtc.errors import ChoiceError
from odtc.heuristics.heuristic import HEURISTICS
from odtc.heuristics.separating_hyperplanes import build_tree, split_by_hyperplane
from odtc.trees.complete_tree import CompleteTree
from odtc.trees.heap_tree import HeapTree, prune

NAME = "regularised"
SUMMARY = "hyperplanes with a penalty, as many as held-out rows speak for (regularised:seconds=10,se=1,seed=0,sparse=0)"
OPTIONS = {
    "seconds": (float, "how long it may take (default 10)"),
    "se": (float, "standard errors that fewer leaves may be worse on held-out rows (default 1)"),
    "seed": (int, "of the folds and draws (default 0)"),
    "sparse": (int, "1 for hyperplanes of few columns (default 0)"),
}


def tree(
    encoded: Encoded,
    topology: CompleteTree,
    price: float = 0.0,
    seconds: float = 10.0,
    se: float = 1.0,
    seed: int = 0,
    sparse: int = 0,
) -> HeapTree:
    """The chosen tree; a branch node that saves no more than `price` is left out. Raises ChoiceError for options out of
    range, or if the encoding holds rows for one whose numbers differ."""
    heap, _ = choose(encoded, topology, seconds=seconds, se=se, seed=seed, sparse=bool(sparse))
    return prune(heap, encoded, price) if price else heap


def choose(
    encoded: Encoded,
    topology: CompleteTree,
    *,
    seconds: float = 10.0,
    se: float = 1.0,
    seed: int = 0,
    sparse: bool = False,
    part: float = 0.5,
) -> tuple[HeapTree, Choice | None]:
    """(the chosen tree, what cross-validation saw); CART's and None if there is no column that a hyperplane can weigh.
    If there is a time limit it takes this part of what is left at most. Raises as `tree`."""
    if not (seconds >= 0 and se >= 0) or seed < 0:
        raise ChoiceError(
            f"expected seconds, se and seed of 0 or more for the start {NAME!r}, got {seconds:g}, {se:g} and {seed}"
        )
    weighed = LinearTerms.encoded(encoded).by_quantiles()
    if not weighed.n:
        return HEURISTICS.get("cart").tree(encoded, topology), None
    choice = choose_tree(
        weighed.Z,
        encoded.loss,
        encoded.weight,
        topology.depth,
        se=se,
        seconds=deadline.time_share(seconds, part),
        seed=seed,
        sparse=sparse,
    )
    chosen = choice.tree
    inside = [t for t in chosen.nodes() if not chosen.ends[t]]

    def ask(t: int, rows) -> Split | bool:
        return split_by_hyperplane(weighed, chosen.H[t], chosen.g[t], rows) if t in inside else True

    return build_tree(encoded, topology, ask), choice

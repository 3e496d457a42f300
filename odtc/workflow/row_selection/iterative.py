"""Selection in rounds, Algorithm 3 of Zhu et al. (2020, papers/003, supplement B.2). Each round keeps these rows:

    I  the rows that the last tree misclassifies
    J  of the correct rows of a leaf, those with a share in a mixture: an error on one costs |I| + 1
    K  of the correct rows of a leaf, those that are in no mixture and are not mixtures themselves

A tree that classifies all of J correctly in one leaf also classifies the mixtures correctly. However, rows of J may be
correct in different leaves, and then their mixtures need not be, so Proposition 2 does not hold as stated; `odtc fit`
keeps the better tree of two rounds. `odtc build` uses only the first round.
"""

import numpy as np

from odtc.algorithms.convex_hull import TOLERANCE, hull
from odtc.errors import ChoiceError
from odtc.workflow.row_selection.selection import Cluster, KeptRows

NAME = "iterative"
SUMMARY = (
    "misclassified rows of the last tree and the extreme points of its correct ones, in rounds (Zhu et al. 2020, "
    "Algorithm 3)"
)
OPTIONS = {
    "rounds": (
        int,
        "of `odtc fit` and `select`, at most (default 5), which share the time limit; it ends earlier if a "
        "round finds no better tree",
    ),
    "eps": (float, "how far a mixture may be off, in units of a column's range within the cluster (default 1e-9)"),
}
SPLITS_RIGHT = True
ROUNDS = 5  # by default


def expect(dimensions: int, rounds: int = ROUNDS, eps: float = TOLERANCE) -> None:
    if rounds < 1 or not TOLERANCE <= eps < 1:
        raise ChoiceError(
            f"expected rounds of 1 or more and eps in [{TOLERANCE:g}, 1), got rounds={rounds}, eps={eps:g}"
        )


def rounds(rounds: int = ROUNDS, eps: float = TOLERANCE) -> int:
    expect(1, rounds, eps)
    return rounds


def select(cluster: Cluster, rounds: int = ROUNDS, eps: float = TOLERANCE) -> KeptRows:
    found = hull(cluster.Z, tolerance=eps)
    kept = np.flatnonzero(found.extreme)
    J = np.unique(found.of[found.weight > 0])
    facts = {"n_inside": len(found.inner), "n_expressing": len(J)}
    return KeptRows(kept, np.isin(kept, J), facts, undecided=found.n_open)

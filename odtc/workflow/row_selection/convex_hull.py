"""Algorithm 1 (papers/000, Zhu et al. 2020, §3.2): the extreme points of each cluster, or a part of them.

    I  the points that are mixtures of others;  J  the points with a weight of 1/(d+1) or more in one of these mixtures
    |I| ≥ (1-β1) |N|     keep N \\ I, all extreme points
    else |J| > β2 |N|    keep J
    else                 keep J and the β2 |N| - |J| points of N \\ (I ∪ J) nearest to a hyperplane of the leaf, and
    one at least

With β1 = 1, the default, all extreme points are kept if they do not exceed the requested share, so that all dropped
rows are on the side of the kept ones of their cluster wherever these are on one side.

In many dimensions nearly every point is extreme, and J is as large: of 16,000 points in 8 columns 4,760 are extreme and
J has 2,750, whereas the paper's tables, made from another solver's mixtures, never have more than β2 |N|. So there is a
`share` that is never exceeded. If the algorithm keeps more points, they are reduced: half of the remaining points are
the ones with the largest weight in all mixtures together, half the nearest to a hyperplane. It is a share of all rows,
given to the clusters in proportion to their rows, by largest remainder (Hamilton); only the first row of the largest
cluster of each class comes before all others. So a small cluster may keep none.
"""

import numpy as np

from odtc.algorithms.convex_hull import TOLERANCE, Hull, hull
from odtc.errors import ChoiceError
from odtc.workflow.row_selection.programs import by_algorithm, heavy_points
from odtc.workflow.row_selection.selection import Cluster, KeptRows

NAME = "convex_hull"
SUMMARY = "the extreme points of the rows of one class in one leaf of CART (Zhu et al. 2020, Algorithm 1)"
OPTIONS = {
    "beta1": (float, "keep all extreme points if they are at most this share of the cluster; 1: always (default)"),
    "beta2": (
        float,
        "else keep the points that weigh in mixtures, filled up to this share of the cluster (default 0.1)",
    ),
    "share": (
        float,
        "of all rows that is kept at most, of each cluster in proportion, and a row of each class in any case; 1: all "
        "that the algorithm keeps (default: a tenth of each cluster, or 100 rows if that is more)",
    ),
    "eps": (float, "how far a mixture may be off, in units of a column's range within the cluster (default 1e-9)"),
}


SHARE, FEW = 0.1, 100  # of the rows of a cluster that may be kept, and rows that always may


def expect(
    dimensions: int, beta1: float = 1.0, beta2: float = 0.1, share: float | None = None, eps: float = TOLERANCE
) -> None:
    if not 0 < beta1 <= 1 or not 0 < beta2 < 1 or not TOLERANCE <= eps < 1:
        raise ChoiceError(
            f"expected beta1 in (0, 1], beta2 in (0, 1) and eps in [{TOLERANCE:g}, 1), got beta1={beta1:g}, "
            f"beta2={beta2:g}, eps={eps:g}"
        )
    if share is not None and not 0 < share <= 1:
        raise ChoiceError(f"expected share in (0, 1], got share={share:g}")
    if beta1 < 1 and beta2 >= (dimensions + 1) * (1 - beta1):
        raise ChoiceError(
            f"expected beta2 < (d + 1) (1 - beta1) = {(dimensions + 1) * (1 - beta1):.4g} for d = {dimensions} "
            f"columns, got beta2={beta2:g}"
        )


def allowances(
    rows: np.ndarray,
    classes: np.ndarray,
    beta1: float = 1.0,
    beta2: float = 0.1,
    share: float | None = None,
    eps: float = TOLERANCE,
) -> np.ndarray | None:
    if share is None:
        return None
    due = share * rows
    most = np.ceil(due).astype(np.int64)
    cluster = np.repeat(np.arange(len(rows)), most)
    number = np.arange(len(cluster)) - np.repeat(most.cumsum() - most, most) + 1  # of a row in its cluster
    beyond = number - due[cluster]
    largest = [int(np.flatnonzero(classes == k)[rows[classes == k].argmax()]) for k in np.unique(classes)]
    beyond[(number == 1) & np.isin(cluster, largest)] = -np.inf
    n = max(len(largest), int(share * rows.sum()))
    return np.bincount(cluster[np.argsort(beyond, kind="stable")[:n]], minlength=len(rows))


def select(
    cluster: Cluster, beta1: float = 1.0, beta2: float = 0.1, share: float | None = None, eps: float = TOLERANCE
) -> KeptRows:
    found = hull(cluster.Z, tolerance=eps)
    n = len(cluster.Z)
    facts = {"n_inside": n - int(found.extreme.sum()), "n_extreme": int(found.extreme.sum())}
    most = max(FEW, int(SHARE * n)) if share is None else max(1, int(share * n))
    most = most if cluster.allowed is None else cluster.allowed
    J = heavy_points(found, cluster.Z.shape[1])
    kept = held_to(by_algorithm(found.extreme, J, cluster.near, beta1, beta2), found, cluster.near, most)
    return KeptRows(kept, np.zeros(len(kept), bool), facts, undecided=found.n_open)


def held_to(kept: np.ndarray, found: Hull, near: np.ndarray, most: int) -> np.ndarray:
    """Return at most `most` of these positions, chosen in turns: the one of the largest weight in all mixtures, and
    the one nearest to a hyperplane."""
    if len(kept) <= most:
        return kept
    weighs = np.bincount(found.of.ravel(), found.weight.ravel(), minlength=len(near))[kept]
    turn = np.empty(len(kept))
    turn[np.argsort(-weighs, kind="stable")] = np.arange(len(kept))
    other = np.empty(len(kept))
    other[np.argsort(near[kept], kind="stable")] = np.arange(len(kept)) + 0.5
    return np.sort(kept[np.argsort(np.minimum(turn, other), kind="stable")[:most]])

"""The splits of `auto`, and hyperplanes: univariate models then prove the best tree over that pool.

A local search (odtc.algorithms.hyperplanes.tree_alternating) finds trees of depth 2 and 3 from many starts. The
hyperplanes of their nodes become splits, beginning with the better trees. Each comes with parallel ones: the cuts along
its normal that separate the classes best. A tree over the pool is as easy to prove as one over as many thresholds.
"""

from itertools import zip_longest

import numpy as np

from odtc.algorithms.hyperplanes.tree_alternating import search_hyperplanes, unit_of
from odtc.base import deadline
from odtc.data.binary_splits.column_splits import BINS, level_splits, threshold_splits
from odtc.data.dataset import NUMERIC
from odtc.data.linear_terms import LinearTerms
from odtc.errors import ChoiceError

NAME = "oblique"
SUMMARY = "the splits of auto, and hyperplanes found by a local search with parallel ones (oblique:pool=100)"
OPTIONS = {
    "pool": (int, "how many hyperplanes at most (default 100)"),
    "bins": BINS,
    "seconds": (float, "how long the search may take (default 10)"),
    "seed": (int, "of the search (default 0)"),
}
RESTARTS = 40  # trees of each depth
SHIFTS = 3  # cuts along each normal in addition to its own


def splits(dataset, pool=100, bins=None, seconds=10.0, seed=0):
    """Return (split, ones_left) of the numbers' thresholds, the levels, and then the hyperplanes, best first. Raises
    ChoiceError for a pool or a time below 0."""
    if pool < 0 or not seconds >= 0 or seed < 0:
        raise ChoiceError(
            f"expected pool, seconds and seed of 0 or more in the encoding 'oblique', got {pool}, {seconds:g} and "
            f"{seed}"
        )
    found = []
    for place, feature in enumerate(dataset.features):
        found += threshold_splits(dataset, place, bins) if feature.kind == NUMERIC else level_splits(dataset, place)
    values, of = np.unique(dataset.X, axis=0, return_inverse=True) if pool else (dataset.X[:0], None)
    weighed = LinearTerms.of(values, dataset.features)
    if pool and weighed.n:
        found += [
            (split, False)
            for split in _planes(
                weighed,
                _counts(dataset, of.reshape(-1), len(values)),
                pool,
                deadline.time_share(seconds, 0.5),
                seed,
                bins is None,
            )
        ]
    return found


def _counts(dataset, of, n) -> np.ndarray:
    """Return float64 (distinct rows, classes): the weight of each class there."""
    K = len(dataset.classes)
    return np.bincount(of * K + dataset.y, dataset.weight, n * K).reshape(n, K)


def _planes(weighed: LinearTerms, counts: np.ndarray, pool: int, seconds: float, seed: int, all_numbers: bool) -> list:
    """Return at most `pool` splits that separate the rows in different ways, none on a single feature if `all_numbers`
    of it are splits already."""
    loss = counts.sum(axis=1, keepdims=True) - counts
    unit = unit_of(loss)
    of_depth = []
    for depth in (2, 3):
        seen = search_hyperplanes(weighed.Z, loss / unit, depth, restarts=RESTARTS, seconds=seconds / 2, seed=seed).seen
        size = 2**depth - 1
        of_depth.append(sorted((seen[at : at + size] for at in range(0, len(seen), size)), key=lambda tree: tree[0][0]))
    # Deeper trees lose less, so the two depths take turns; tree by tree, as a part of one is worth little.
    planes = [plane for turn in zip_longest(*of_depth, fillvalue=()) for tree in turn for plane in tree]
    rows, known, own, parallel = np.arange(len(weighed.Z)), set(), [], []
    for _, h, g in planes:
        v = weighed.Z @ h
        lefts = [v <= cut for cut in (g, *_cuts(v, counts))]
        for place, (split, left) in enumerate(zip(weighed.splits(h, rows, lefts), lefts)):
            key = np.packbits(left ^ left[0]).tobytes()
            if split is not None and (len(split.features) > 1 or not all_numbers) and key not in known:
                known.add(key)
                (parallel if place else own).append(split)
        if len(own) >= pool:
            break
    half = pool - pool // 2
    return (own[:half] + parallel[: pool - half] + own[half:])[:pool]


def _cuts(v: np.ndarray, counts: np.ndarray) -> list[float]:
    """Return the cuts of these sums that leave the least Gini impurity, the best first."""
    order = np.argsort(v, kind="stable")
    left = np.cumsum(counts[order], axis=0)[:-1]
    right = counts.sum(axis=0) - left
    with np.errstate(divide="ignore", invalid="ignore"):
        pure = sum(np.nan_to_num((side**2).sum(axis=1) / side.sum(axis=1)) for side in (left, right))
    pure[v[order][1:] - v[order][:-1] <= 1e-9] = -np.inf
    best = np.argsort(-pure, kind="stable")[:SHIFTS]
    return [float(v[order][k] + v[order][k + 1]) / 2 for k in best.tolist() if pure[k] > -np.inf]

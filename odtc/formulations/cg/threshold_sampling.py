"""Threshold sampling: the splits that CART chooses on many random parts of the data, node by node.

Firat et al. (2020), section 5, Algorithm 1: CART is grown on random 90 % samples until there is no new root split for
a number of samples. All root splits are kept, and at every other node the q most frequent ones. CART uses the ordered
features of the encoding (odtc.data.threshold_scales) and not its 0/1 columns, so that it sees a feature with a thousand
thresholds as one column.
"""

from collections import Counter

import numpy as np

from odtc.base import deadline
from odtc.data.encoding import Encoded
from odtc.data.encodings.sampled import PORTION
from odtc.data.threshold_scales import Scales
from odtc.heuristics.heuristic import splits_of
from odtc.trees.heap_tree import CompleteTree, HeapTree

PATIENCE = 20  # sampling ends after this many samples without a new root split
MAX_SAMPLES = 200  # maximum number of samples


def sample_splits(
    encoded: Encoded, topology: CompleteTree, q: int, seed: int, known: HeapTree, whole: bool = True
) -> tuple[np.ndarray, ...]:
    """Return for each node of the heap the splits that it may use, int32, the most frequent first (position 0 and the
    leaves have none). The splits of the tree `known` are kept at their nodes, in addition to the q.
    Deterministic; `whole` is as in `count_splits`."""
    found = []
    for node, counted in enumerate(count_splits(encoded, topology, seed, whole)):
        first = _frequent(counted)
        first = first if node == 1 else first[:q]
        first += [int(known.split[node])] if known.split[node] >= 0 else []
        found.append(np.array(list(dict.fromkeys(first)), np.int32))
    return tuple(found)


def pool_splits(
    encoded: Encoded, topology: CompleteTree, q: int, seed: int, known: HeapTree, most: int, whole: bool = True
) -> np.ndarray:
    """Return the splits of all nodes together, as `sample_splits` keeps them, int32, ascending; if there are more than
    `most`, the splits of the tree `known` and the most frequent ones. `whole` is as in `count_splits`."""
    total: Counter = Counter()
    for node, counted in enumerate(count_splits(encoded, topology, seed, whole)):
        for split in _frequent(counted)[: len(counted) if node == 1 else q]:
            total[split] += counted[split]
    first = [*known.split[known.split >= 0].tolist(), *_frequent(total)]
    return np.sort(np.array(list(dict.fromkeys(first))[:most], np.int32))


def _frequent(counted: Counter) -> list[int]:
    """Return the counted splits, the most frequent first."""
    return [split for split, _ in sorted(counted.items(), key=lambda item: (-item[1], item[0]))]


def count_splits(encoded: Encoded, topology: CompleteTree, seed: int, whole: bool = True) -> list[Counter]:
    """Return for each node of the heap how often each split was used there.

    At the deadline the samples so far are used, or with `whole` TimeLimitReached is raised, because sampling again
    later must give the same splits.
    """
    from sklearn.tree import DecisionTreeClassifier

    scales, rng = Scales.of(encoded), np.random.default_rng(seed)
    X, weight = scales.rank.astype(np.float32), encoded.loss.sum(axis=1) / max(1, len(encoded.classes) - 1)
    chance = np.maximum(1, encoded.copies)
    found = [Counter() for _ in range(2 ** (topology.depth + 1))]
    since = samples = 0
    while since < PATIENCE and samples < MAX_SAMPLES:
        if samples and whole:
            deadline.check()
        elif samples and (left := deadline.seconds_left()) is not None and left <= 0:
            break
        # A merged row is several rows of the data, each of which is drawn independently.
        part = rng.binomial(chance, PORTION if samples else 1.0) / chance
        rows = np.flatnonzero(part * weight > 0)
        if not len(rows):
            break
        model = DecisionTreeClassifier(max_depth=topology.depth, random_state=samples)
        model.fit(X[rows], encoded.y[rows], sample_weight=(part * weight)[rows])
        split = splits_of(model, topology, scales)
        new = bool(split[1] >= 0 and int(split[1]) not in found[1])
        for node in np.flatnonzero(split >= 0).tolist():
            found[node][int(split[node])] += 1
        since, samples = 0 if new else since + 1, samples + 1
    return found

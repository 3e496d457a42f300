"""Constraints on the columns that nodes split on: parts that their kinds share.

A kind that states by `bars` which columns a node may not split on, and by `below` which not below others:

    Σ b_tf ≤ 0                              over all barred t and f
    Σ_{f under} b_sf + Σ_{f once} b_tf ≤ 1   for every node s and every ancestor t of s

If a constraint is about columns, the encoding keeps splits on two columns that separate the rows alike.
"""

import numpy as np

from odtc.algorithms.constrained.constrained_problem import Below
from odtc.base.text import did_you_mean
from odtc.data.encoding import Encoded
from odtc.data.splits import Splits
from odtc.data.threshold_scales import Scales
from odtc.errors import ChoiceError
from odtc.model.blocks import Axis
from odtc.model.builder import ModelBuilder
from odtc.model.milp import Model
from odtc.problem.constraints.constraint import least_missed
from odtc.problem.constraints.kind import Constraint, Knows, Terms
from odtc.problem.expressions import SPLITTING, split_variables
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree, settle

KNOWS, NEEDS = Knows.TESTS, SPLITTING
MOST_TRIED = 2_000_000  # maximum of rows times splits that are tried when the root of a tree needs another split
FEWEST_TRIED = 8  # minimum number of splits that are tried, for any number of rows


def single(encoded: Encoded, given: Constraint) -> None:
    """Raise ChoiceError for an encoding with splits on several columns."""
    if any(len(split.features) > 1 for split in Splits.of(encoded.splits).others.values()):
        raise ChoiceError(
            f"constraint {str(given)!r} is about columns of the data, so each split has to use one column; the "
            f"encoding {encoded.scheme!r} has splits that use several columns: leave out one of the two"
        )


def named(encoded: Encoded, given: Constraint, count: int | None = None) -> list[int]:
    """Return the features that the arguments name: this many, or at least one. Raises ChoiceError for other names, and
    for an encoding with splits on several columns."""
    single(encoded, given)
    if len(given.args) != count if count else not given.args:
        wanted = ",".join(["FEATURE"] * count) if count else "FEATURE,…"
        raise ChoiceError(
            f"expected {given.name}[{wanted}], got {str(given)!r}; known: "
            f"{', '.join(feature.name for feature in encoded.features)}"
        )
    return [feature_of(encoded, given, name) for name in given.args]


def feature_of(encoded: Encoded, given: Constraint, name: str) -> int:
    """Return the feature of this name; raises ChoiceError if there is none."""
    names = [feature.name for feature in encoded.features]
    if name not in names:
        raise ChoiceError(
            f"expected {str(given)!r} to name a feature, got {name!r}{did_you_mean(name, names)}; known: "
            f"{', '.join(names)}"
        )
    return names.index(name)


def asked(encoded: Encoded, heap: HeapTree) -> np.ndarray:
    """Return int64 (2^(D+1),): the feature that each node splits on, -1 if it does not split."""
    return np.array(
        [heap.split_at(t, encoded)[0].features[0] if heap.split[t] >= 0 else -1 for t in range(len(heap.split))]
    )


def of_columns(encoded: Encoded, features: list[int]) -> np.ndarray:
    """Return bool (splits,): the splits on these columns."""
    return np.isin(Splits.of(encoded.splits).first_feature, features)


def depths(encoded: Encoded, given: Constraint, heap: HeapTree) -> list[int]:
    """Return the depths of the nodes that split on the column of the constraint; the root is at depth 0."""
    t = np.flatnonzero(np.isin(asked(encoded, heap), named(encoded, given, 1)))
    return [int(node).bit_length() - 1 for node in t]


def depth_bound(encoded: Encoded, given: Constraint) -> Constraint:
    """Return the constraint, of one column and a depth; raises ChoiceError."""
    if len(given.args) != 1:
        raise ChoiceError(f"expected {given.name}[FEATURE] {given.op} N, got {str(given)!r}")
    named(encoded, given, 1)
    if given.bound != int(given.bound) or given.bound < 0:
        raise ChoiceError(f"expected a depth, a whole number of 0 or more (the root's is 0), got {str(given)!r}")
    return given


def two_columns(encoded: Encoded, given: Constraint) -> list[int]:
    """Return the features that the arguments name, at least two different ones. Raises ChoiceError."""
    found = list(dict.fromkeys(named(encoded, given)))
    if len(found) < 2:
        raise ChoiceError(f"expected two columns or more in {str(given)!r}")
    return found


def of_label(problem: Problem, model: Model) -> np.ndarray:
    """Return int64 (splits,) or (scales,): the feature of each label that a node may split on, of `split_variables`."""
    feature = Splits.of(problem.encoded.splits).first_feature
    if any(axis.name == "scale" for axis in split_variables(problem, model).axes):
        feature = feature[np.unique(Scales.of(problem.encoded).scale, return_index=True)[1]]
    return feature


def with_root(encoded: Encoded, heap: HeapTree, allowed: np.ndarray) -> HeapTree:
    """Return the tree with another split at the root, the cheapest among those that are allowed (bool (splits,)), or of
    one leaf if that does not cost more. Of very many splits some are tried, evenly spaced."""

    def rooted(split: int) -> HeapTree:
        return settle(np.append([-1, split], heap.split[2:]).astype(np.int32), encoded, None, heap.beyond)

    may = np.flatnonzero(allowed)
    most = max(FEWEST_TRIED, MOST_TRIED // encoded.n_rows)
    if len(may) > most:
        may = may[np.linspace(0, len(may) - 1, most).astype(int)]
    return min(map(rooted, [-1, *may]), key=lambda tree: tree.loss(encoded))


def early(given: Constraint) -> bool:
    """Return True: every split of a node may be barred."""
    return True


def value(encoded: Encoded, given: Constraint, heap: HeapTree) -> float:
    """Return the number of nodes that split on a column that is barred there."""
    return float(len(_misplaced(encoded, given, heap)))


def terms(encoded: Encoded, given: Constraint) -> Terms:
    """Return the splits that are allowed at each level, and below others."""
    feature = Splits.of(encoded.splits).first_feature
    below = given.module.below(encoded, given, feature)
    return Terms(
        levels=lambda depth: ~given.module.bars(encoded, given, np.arange(depth)[:, None], feature),
        below=Below(*(one[None, :] for one in below)) if below is not None and below[0].any() else None,
    )


def rows(problem: Problem, model: Model, given: Constraint, m: ModelBuilder, suffix: str) -> None:
    """Write the rows of a kind that states `bars`."""
    encoded, b, feature = problem.encoded, split_variables(problem, model), of_label(problem, model)
    t = problem.topology.branch_nodes
    at, labels = np.nonzero(given.module.bars(encoded, given, _levels(t)[:, None], feature))
    if len(at):
        b.add(m, m.rows(f"barred{suffix}", upper=0), (), (t[at], labels))
    if (below := given.module.below(encoded, given, feature)) is None:
        return
    high, low = map(np.flatnonzero, below)
    pairs = [(s >> up, s) for s in t.tolist() for up in range(1, s.bit_length())]
    if pairs and len(high) and len(low):
        row, pair = m.rows(f"below{suffix}", Axis("pair", len(pairs)), upper=1), np.arange(len(pairs))[:, None]
        for nodes, labels in zip(np.array(pairs).T, (high, low)):
            b.add(m, row, (pair,), (nodes[:, None], labels))


def mend(encoded: Encoded, given: Constraint, heap: HeapTree) -> HeapTree:
    """Return the tree with another split at the root if its column is barred there, and without the other nodes of
    barred columns: one subtree after another, the one whose removal costs least first."""
    while wrong := _misplaced(encoded, given, heap):
        if wrong[0] > 1:
            heap = least_missed(encoded, heap, [[t] for t in wrong])
        else:
            feature = Splits.of(encoded.splits).first_feature
            heap = with_root(encoded, heap, ~given.module.bars(encoded, given, np.zeros(1, int), feature))
    return heap


def _misplaced(encoded: Encoded, given: Constraint, heap: HeapTree) -> list[int]:
    """Return the nodes that split on a column that is barred there."""
    feature, t = asked(encoded, heap), np.arange(len(heap.split))
    wrong = (feature >= 0) & given.module.bars(encoded, given, _levels(t), feature)
    if (below := given.module.below(encoded, given, feature)) is not None:
        once, under = below
        wrong |= under & np.any([once[t >> up] for up in range(1, len(t).bit_length())], axis=0)
    return np.flatnonzero(wrong).tolist()


def _levels(t: np.ndarray) -> np.ndarray:
    """Return the levels of nodes, the root's is 0."""
    return np.log2(np.maximum(t, 1)).astype(int)

"""No node that splits on the first column is below a node that splits on the second: Σ_{q of f} b_sq + Σ_{q of g} b_tq
≤ 1.

For every node s and every ancestor t of s. not_below[f,f] forbids two splits on f on a path.
"""

import numpy as np

from odtc.data.encoding import Encoded
from odtc.model.blocks import Axis
from odtc.model.builder import ModelBuilder
from odtc.model.milp import Model
from odtc.problem.constraints.by_definition import Reference, feature_name
from odtc.problem.constraints.constraint import Constraint, least_missed, split_variables
from odtc.problem.constraints.kind import Subject
from odtc.problem.constraints.on_features import NEEDS, asked, named, of_columns, of_label
from odtc.problem.constraints.on_predictions import Knows
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree

NAME = "not_below"
SUMMARY = "not_below[F,G]: no node that splits on column F of the data is below a node that splits on column G"
OPS = ()
SUBJECT = Subject.PLACES
KNOWS = Knows.TESTS


def read(encoded: Encoded, given: Constraint) -> Constraint:
    named(encoded, given, 2)
    return given


def early(given: Constraint) -> bool:
    return given.args[0] == given.args[1]  # otherwise a tree can be filled up with the splits of its own nodes


def value(encoded: Encoded, given: Constraint, heap: HeapTree) -> float:
    return float(len(_wrong(encoded, given, heap)))


def rows(problem: Problem, model: Model, given: Constraint, m: ModelBuilder, suffix: str) -> None:
    b, label = split_variables(problem, model), of_label(problem, model)
    low, high = (np.flatnonzero(label == feature) for feature in named(problem.encoded, given, 2))
    pairs = [(s, s >> up) for s in problem.topology.branch_nodes.tolist() for up in range(1, s.bit_length())]
    if not (pairs and len(low) and len(high)):
        return
    s, t = (np.array(nodes)[:, None] for nodes in zip(*pairs))
    below, pair = m.rows(f"below{suffix}", Axis("pair", len(pairs)), upper=1), np.arange(len(pairs))[:, None]
    b.add(m, below, (pair,), (s, low))
    b.add(m, below, (pair,), (t, high))


def bars(encoded: Encoded, given: Constraint) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    low, high = named(encoded, given, 2)
    return np.zeros(encoded.n_candidate_splits, bool), of_columns(encoded, [high]), of_columns(encoded, [low])


def mend(encoded: Encoded, given: Constraint, heap: HeapTree) -> HeapTree:
    """Return the tree without those nodes, and their subtrees, whose removal costs least, one after another."""
    while wrong := _wrong(encoded, given, heap):
        heap = least_missed(encoded, heap, [[t] for t in wrong])
    return heap


def _wrong(encoded: Encoded, given: Constraint, heap: HeapTree) -> list[int]:
    """Return the nodes that split on the first column below a node that splits on the second."""
    low, high = named(encoded, given, 2)
    feature = asked(encoded, heap)
    return [
        t
        for t in np.flatnonzero(feature == low).tolist()
        if any(feature[t >> up] == high for up in range(1, t.bit_length()))
    ]


def tries(encoded: Encoded) -> list[str]:
    names = [feature.name for feature in encoded.features]
    return [f"{NAME}[{low},{high}]" for low in names for high in names]


def reference(encoded: Encoded, given: Constraint) -> Reference:
    low, high = given.args

    def allowed(split: int, above: tuple[int, ...]) -> bool:
        return feature_name(encoded, split) != low or high not in (feature_name(encoded, other) for other in above)

    return Reference(allowed=allowed)

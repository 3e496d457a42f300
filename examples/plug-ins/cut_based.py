"""A cut-based formulation without flows (Alston, Validi & Hicks 2022, "CUT1", with a leaf at every node).

    b_tf   node t splits on f                 w_tk   node t predicts class k
    s_it   row i ends at node t and is correct; 0 or 1 if b and w are, so solvers need not branch on it

    min Σ_i c_i (1 - Σ_t s_it)                            c_i is the cost of an error on row i
    Σ_f b_tf + Σ_k w_tk + Σ_{a above t} Σ_k w_ak = 1     every node t that can branch; below, without b
    s_it ≤ w_t,y_i                                        a row is correct where its class is predicted
    s_it ≤ Σ_{f: x_i goes to the side of t} b_af          every node a above t
    Σ_t s_it ≤ 1

Each row follows its splits: the third constraint is the cut between the root and t, one for each node on the path.
"""

from dataclasses import dataclass

import numpy as np

from odtc.extend import (
    Axis,
    ModelBuilder,
    Problem,
    Role,
    blank_arrays,
    error_cost,
    node_axis,
    settle,
)

TYPE = "formulation"
NAME = "cut_based"
TITLE = "CUT1: rows follow their splits, by cuts instead of flows"
PAPER = (
    "Alston, Validi & Hicks (2022), Mixed integer linear optimization formulations for learning optimal binary "
    "classification trees"
)


@dataclass(frozen=True)
class Params:
    pass


def build(problem: Problem):
    encoded, tree = problem.encoded, problem.topology
    n, F, K = encoded.n_rows, encoded.n_candidate_splits, len(encoded.classes)
    B, T = tree.branch_nodes, tree.nodes
    row, split, klass = Axis("row", n), Axis("split", F), Axis("class", K)
    m = ModelBuilder(f"{NAME}_d{tree.depth}")

    cost = error_cost(problem)
    b = m.columns("b", node_axis(B), split, role=Role.BRANCH, integer=True)
    w = m.columns("w", node_axis(T), klass, role=Role.LABEL, integer=True)
    s = m.columns("s", row, node_axis(T), role=Role.SINK, cost=-cost[:, None])
    m.columns("one", role=Role.CONSTANT, cost=cost.sum(), lower=1.0)

    i, f, k = np.arange(n), np.arange(F), np.arange(K)
    place = m.rows("place", node_axis(T), lower=1, upper=1)
    m.add(place[B[:, None]], b[B[:, None], f])
    for t in T.tolist():
        path = np.array([t >> level for level in range(t.bit_length())])  # t and the nodes above it
        m.add(place[np.array([[t]])], w[path[:, None], k])

    correct = m.rows("correct", row, node_axis(T), upper=0)
    m.add(correct[i[:, None], T], s[i[:, None], T])
    m.add(correct[i[:, None], T], w[T, encoded.y[:, None]], -1.0)

    once = m.rows("once", row, upper=1)
    m.add(once[i[:, None]], s[i[:, None], T])

    answers = np.asarray(encoded.X)
    for level in range(1, tree.depth + 1):
        below = T[T >= 1 << level]  # nodes with one above them by this many levels
        cut = m.rows(f"cut{level}", row, node_axis(below), upper=0)
        m.add(cut[i[:, None], below], s[i[:, None], below])
        for side in (0, 1):
            on = below[(below >> level - 1) % 2 == side]
            r, c = (found[:, None] for found in np.nonzero(answers == side))
            m.add(cut[r, on], b[on >> level, c], -1.0)
    return m.finish()


def start(problem: Problem, heap):
    encoded, tree = problem.encoded, problem.topology
    heap.expect_depth(tree.depth)
    B, T = tree.branch_nodes, tree.nodes
    end = heap.reach(encoded.X)
    label = np.where(heap.split[T] < 0, heap.label[T], -1)
    return {
        "b": heap.split[B][:, None] == np.arange(encoded.n_candidate_splits),
        "w": label[:, None] == np.arange(len(encoded.classes)),
        "s": (end[:, None] == T) & (heap.label[end] == encoded.y)[:, None],
        "one": np.ones(()),
    }


def decode(problem: Problem, point):
    split, label = blank_arrays(problem.topology)
    tree, b, w = problem.topology, point["b"], point["w"]
    split[tree.branch_nodes] = np.where(b.max(axis=1) > 0.5, b.argmax(axis=1), -1)
    label[tree.nodes] = np.where(w.max(axis=1) > 0.5, w.argmax(axis=1), -1)
    return settle(split, problem.encoded, label)


def objective(problem: Problem, heap) -> float:
    return heap.loss(problem.encoded)


def branch_penalty(problem: Problem) -> float:
    """A branch node costs nothing."""
    return 0.0

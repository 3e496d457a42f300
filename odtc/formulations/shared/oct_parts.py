"""Parts of the models that follow OCT: which nodes branch (d_t), and the loss of the leaves in a model that knows the
leaf t of each row i (z_it) and the label of each leaf (c_kt).

    d_t ≤ d_{parent(t)}                                                      t a branch node, not the root
    Σ_t z_it = 1                                                             i
    Σ_i z_it ≥ n_min l_t;   z_it ≤ l_t                                       over rows of the data
    N_kt = Σ_{i: y_i = k} w_i z_it;   Σ_k c_kt = 1, or l_t
    L_t ≥ Σ_j cost_jk N_jt - M_k (1 - c_kt),   M_k = Σ_i w_i cost_{y_i,k}

Bertsimas & Dunn 2017, corrected (docs/explanation/printed-models.md), with l_t for "a row ends in t". Errors have
costs: L_t is the cost of the label of t, and the big M is the largest loss, in which all rows have this label.
"""

import numpy as np

from odtc.base.text import count_of
from odtc.data.encoding import Encoded
from odtc.data.threshold_scales import whole_costs
from odtc.errors import ChoiceError
from odtc.model.blocks import Axis, Block
from odtc.model.builder import ModelBuilder
from odtc.problem.problem import Problem
from odtc.problem.roles import node_axis, nodes


def expect_n_min(problem: Problem) -> None:
    """Raise ChoiceError if n_min is more than all rows of the data, so that no tree has a leaf."""
    n_min, rows = problem.params.n_min, problem.encoded.copies.sum()
    if n_min > rows:
        raise ChoiceError(f"expected n_min of at most the {count_of(rows, 'row', '')} of the data, got {n_min}")


def require_parent_branches(m: ModelBuilder, d: Block, name: str) -> None:
    """Write d_t ≤ d_{parent(t)}: below a node that does not branch, no node does."""
    t = nodes(d)[1:]
    if len(t):
        rows = m.rows(name, node_axis(t), upper=0)
        m.add(rows[t], d[t])
        m.add(rows[t], d[t // 2], -1)


def place_rows(m: ModelBuilder, z: Block) -> None:
    """Write Σ_t z_it = 1: each row of the data ends in one leaf."""
    row, _ = z.axes
    place, i = m.rows("place", row, lower=1, upper=1), np.arange(row.size)[:, None]
    m.add(place[i], z[i, nodes(z)])


def columns(m: ModelBuilder, encoded: Encoded, leaf: Axis, klass: Axis) -> tuple[Block, Block]:
    """Add N, the weight of each class in each leaf, and L, the cost of the label of each leaf, which is minimised."""
    weight, cost, unit, whole = whole_costs(encoded)  # whole losses: a solver rounds its bound up
    of_class = _of_class(encoded, weight)
    count = m.columns("N", leaf, klass, upper=of_class)
    return count, m.columns("loss", leaf, cost=unit, upper=of_class @ cost.max(axis=1), integer=whole)


def reach(m: ModelBuilder, z: Block, used: Block) -> None:
    """z_it ≤ l_t                                                        i, t"""
    (row, leaf), t = z.axes, nodes(z)
    i = np.arange(row.size)[:, None]
    some = m.rows("reach", row, leaf, upper=0)
    m.add(some[i, t], z[i, t])
    m.add(some[i, t], used[t], -1)


def fill(m: ModelBuilder, z: Block, used: Block, copies: np.ndarray, n_min: int) -> None:
    """Σ_i copies_i z_it ≥ n_min l_t                                     t;  copies: the data rows of each row of z"""
    (row, leaf), t = z.axes, nodes(z)
    least = m.rows("fill", leaf, lower=0)
    m.add(least[t], z[np.arange(row.size)[:, None], t], copies[:, None])
    m.add(least[t], used[t], -n_min)


def rows(
    m: ModelBuilder,
    encoded: Encoded,
    z: Block,
    c: Block,
    count: Block,
    loss: Block,
    used: Block | None = None,
    of: np.ndarray | None = None,
) -> None:
    """Add the constraints of N, of the label of each leaf (none for a leaf that is not `used`) and of L; `of` is the
    row of z for each row of the encoding, if it is another."""
    (weight, cost, _, _), (leaf, klass) = whole_costs(encoded), c.axes
    L, k, of = nodes(z), np.arange(klass.size), np.arange(encoded.n_rows) if of is None else of
    t, heavy = L[:, None], np.flatnonzero(weight)[:, None]

    # N_kt = Σ_{i: y_i = k} w_i z_it;   Σ_k c_kt = 1, or l_t           k, t
    tally = m.rows("tally", leaf, klass, lower=0, upper=0)
    m.add(tally[t, k], count[t, k], -1)
    m.add(tally[L, encoded.y[heavy]], z[of[heavy], L], weight[heavy])
    one = float(used is None)
    label = m.rows("label", leaf, lower=one, upper=one)
    m.add(label[t], c[t, k])
    if used is not None:
        m.add(label[L], used[L], -1)

    # L_t ≥ Σ_j cost_jk N_jt - M_k (1 - c_kt),   M_k = Σ_i w_i cost_{y_i,k}    k, t
    M = _of_class(encoded, weight) @ cost
    wrong, (own, other), big = m.rows("wrong", leaf, klass, upper=M), np.nonzero(cost.T), np.flatnonzero(M)
    m.add(wrong[t, own], count[t, other], cost[other, own])
    m.add(wrong[t, k], loss[t], -1)
    m.add(wrong[t, big], c[t, big], M[big])


def values(encoded: Encoded, z: np.ndarray, label: np.ndarray) -> dict[str, np.ndarray]:
    """Return {block: values} of c, N and L if row i of the encoding ends in the leaves z[i], bool (rows, leaves), and
    these are labelled `label`, int (leaves,), -1 for no label."""
    (weight, cost, _, _), k = whole_costs(encoded), np.arange(len(encoded.classes))
    count, c = z.T @ (weight[:, None] * (encoded.y[:, None] == k)), label[:, None] == k
    return {"c": c, "N": count, "loss": (count @ cost * c).sum(axis=1)}


def _of_class(encoded: Encoded, weight: np.ndarray) -> np.ndarray:
    return np.bincount(encoded.y, weight, len(encoded.classes))

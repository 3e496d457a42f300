"""The correct weight below a branching is at most the correct weight of the best subtree on these rows.

For a branch node n with height h, side s (node m = 2n + s), V_{h-1}(f, s) the best value of a tree of depth h-1 on the
rows with x_f = s, v_i the value of row i in the objective and λ the penalty of a branch node:

    Σ_i v_i z_{i,m} - λ Σ_{t in subtree(m), f} b_tf ≤ Σ_f V_{h-1}(f, s) b_nf              with flows
    Σ_i v_i g_i - λ Σ_{t≠1, f} b_tf ≤ Σ_f (V(f, 0) + V(f, 1)) b_1f + Σ_k W_k w_1k         without flows

V ignores the splits of n's ancestors: fewer rows are never worth more. At the root these inequalities make the LP
bound equal to the optimum, because the compiler has then solved the problem itself (odtc.algorithms.dp.shallow_trees):
in milliseconds at depth 2 and 3 with tens of splits, in minutes at depth 5; and every command that rebuilds the model
solves it again.
"""

from collections.abc import Callable

import numpy as np

from odtc.algorithms.dp.shallow_trees import ShallowTreeSearch
from odtc.data.encoding import gains_of
from odtc.model.blocks import Axis
from odtc.model.milp import Model
from odtc.problem.cuts.cut import EVERY_TREE, CutRows, Entry
from odtc.problem.expressions import Expression, Need, Statement, needed, stated
from odtc.problem.problem import Problem
from odtc.problem.roles import fresh_name, node_axis

NAME = "subtree_value"
SUMMARY = "flows below a branching are at most the exact value of the best subtree (the compiler solves the subtrees)"
SPLITS = Need(Statement.SPLITS_ON, "branch_nodes")
NEEDS = ((SPLITS, Need(Statement.PASSES)), (SPLITS, Need(Statement.CORRECT)))
VALID = EVERY_TREE
SOLVES = True


def rows(problem: Problem, model: Model, point: dict[str, np.ndarray] | None = None) -> tuple[CutRows, ...]:
    encoded, depth, F = problem.encoded, problem.topology.depth, problem.encoded.n_candidate_splits
    b, z = needed(problem, model, Statement.SPLITS_ON, "branch_nodes"), stated(problem, model, Statement.PASSES)
    worth = _worth(problem, model)
    if worth is None:
        return ()
    price = max(0.0, min(float(model.c[places].min()) for places in b.places()))
    search, X = ShallowTreeSearch(encoded.X, gains_of(encoded, worth), price), np.asarray(encoded.X)
    row, f = np.arange(encoded.n_rows), np.arange(F)

    def values(side: int, height: int) -> np.ndarray:
        return np.array([search.best(np.flatnonzero(X[:, split] == side), height)[0] for split in range(F)])

    if z is None:
        return _whole(problem, model, b, price, worth, values)
    below = z.nodes[z.nodes > 1]
    level = np.floor(np.log2(below)).astype(int)
    table = {(side, h): values(side, h) for h in sorted({depth - at for at in level.tolist()}) for side in (0, 1)}
    entries: list[Entry] = z.entries((below,), (row[worth > 0][:, None], below), worth[worth > 0][:, None])
    for m, at in zip(below.tolist(), level.tolist()):
        value = table[m % 2, depth - at]
        entries += b.entries((np.array([m]),), (m // 2, f[value > 0]), -value[value > 0])
        inside = problem.topology.branch_nodes
        inside = inside[_under(inside, m)]
        if price and len(inside):
            entries += b.entries((np.array([m]),), (inside[:, None], f), -price)
    if not len(below):
        return ()
    return (CutRows(fresh_name(model, "worth"), (node_axis(below),), tuple(entries), upper=0.0),)


def _whole(
    problem: Problem,
    model: Model,
    b: Expression,
    price: float,
    worth: np.ndarray,
    values: Callable[[int, int], np.ndarray],
) -> tuple[CutRows, ...]:
    """Return the inequality for the whole tree, if flows do not express correctness below each node."""
    depth, B = problem.topology.depth, problem.topology.branch_nodes
    g, w = needed(problem, model, Statement.CORRECT), stated(problem, model, Statement.PREDICTS, "branch_nodes")
    f, i = np.arange(problem.encoded.n_candidate_splits), np.flatnonzero(worth > 0)
    one = (np.ones(1, int),)
    entries: list[Entry] = g.entries(one, (i,), worth[i])
    entries += b.entries(one, (1, f), -(values(0, depth - 1) + values(1, depth - 1)))
    if w is not None:
        alone = np.bincount(problem.encoded.y, worth, len(problem.encoded.classes))
        entries += w.entries(one, (1, np.flatnonzero(alone)), -alone[alone > 0])
    if price and len(B) > 1:
        entries += b.entries(one, (B[1:, None], f), -price)
    return (CutRows(fresh_name(model, "worth"), (Axis("node", 1, 1),), tuple(entries), upper=0.0),)


def _worth(problem: Problem, model: Model) -> np.ndarray | None:
    """Return the value of each correct row in the objective; None if the model does not express correct rows."""
    worth, right = np.zeros(problem.encoded.n_rows), stated(problem, model, Statement.CORRECT)
    for places in right.places() if right is not None else ():
        worth = np.maximum(worth, -model.c[places].reshape(len(worth), -1).min(axis=1))
    return worth if worth.any() else None


def _under(t: np.ndarray, m: int) -> np.ndarray:
    """Return bool: whether node t is in the subtree of m."""
    above = np.floor(np.log2(t)).astype(int) - (m.bit_length() - 1)
    return (above >= 0) & (t >> np.maximum(above, 0) == m)

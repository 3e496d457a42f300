"""BinOCT: thresholds by binary search over codes; rows of data are summed instead of handled one by one.

Verwer & Zhang 2019, "Learning optimal classification trees using a binary linear program formulation", in the variant
of docs/explanation/printed-models.md. Each node chooses a feature (f) and, in bits (tau), the code of one of its
thresholds, so the number of binary variables does not grow with the rows of data. All nodes branch: any tree of this
depth or less is represented, because a tree that predicts early can have any splits below that node. There is no
penalty for branch nodes and no least number of rows in a leaf, because the paper has neither.

Why the constraints below are enough (docs/explanation/printed-models.md walks the bins of the search; here each
threshold c is the middle of one bin): let s be the code of a node that splits on feature j, and ρ the rank of a row,
so that the row goes left iff ρ ≤ s. Write low(c) for the lowest one-bit of c.
* A code that has all one-bits of c is at least c. The ranks of constraint c are c - low(c) < ρ ≤ c, so
  constraints s, s - low(s), ... down to 0, whose one-bits s has all, cover 0 ≤ ρ ≤ s: none goes right.
* A code without any zero-bit of c is at most c. The ranks of constraint c are c < ρ < c + 1 + low(c + 1),
  so constraints s, s + low(s + 1), ..., whose zero-bits s lacks all, cover s < ρ < T; the constraint of the
  last threshold, T - 1, which no code exceeds, covers ρ = T: none goes left.
Hence for whole f and tau each row of data has exactly one leaf that it may go to, and l may be continuous.

Constraints: if a side constraint may require a tree to predict early (odtc.problem.constraints.constraint), a node may
choose no feature (d = 0) and then sends its rows right, as in OCT.

Costs: the costs of errors on class k rise in steps, from 0 to the lowest, to the next, and so on; a leaf pays a step
for all its rows of class k if the cost of its label for k is at least that high. If the cost does not depend on the
class predicted, there is one step for each class, and the model is the one of the paper.
"""

import itertools

import numpy as np

from odtc.base.value_class import value_class
from odtc.data.threshold_scales import Scales, whole_weights
from odtc.formulations.shared import oct_parts
from odtc.model.blocks import Axis, Block, labels_where
from odtc.model.builder import ModelBuilder
from odtc.model.milp import Model
from odtc.problem.constraints.constraint import early
from odtc.problem.constraints.kind import Subject
from odtc.problem.parameters import merge_rows
from odtc.problem.problem import Problem
from odtc.problem.roles import Role, nodes
from odtc.trees.heap_tree import HeapTree, blank_arrays, settle

NAME = "binoct"
TITLE = "BinOCT: thresholds by binary search, its binaries independent of the number of rows"
PAPER = "Verwer & Zhang (2019), Learning optimal classification trees using a binary linear program formulation"

ANY_COST = True
VARIANTS = ({},)


@value_class
class Params:
    merge: bool = merge_rows()


def build(problem: Problem) -> Model:
    encoded, tree, scales = problem.encoded, problem.topology, Scales.of(problem.encoded)
    y, n, K, D = encoded.y, encoded.n_rows, len(encoded.classes), tree.depth
    weight, unit, whole = whole_weights(encoded.weight)  # whole errors: a solver rounds its bound up
    p, Q = scales.n, _n_bits(scales)
    of_step, rise, dear = _steps(encoded.cost)
    B, L = tree.branch_nodes, tree.leaves
    row, node, leaf = Axis("row", n), Axis("node", len(B), 1), Axis("node", len(L), len(L))
    feature, klass = Axis("feature", p), Axis("class", K)
    step = Axis("class" if of_step.tolist() == list(range(K)) else "step", len(rise))
    of_class = np.bincount(y, weight, K)
    m = ModelBuilder(f"{NAME}_d{D}")

    # min Σ_ls rise_s e_ls
    f = m.columns("f", node, feature, role=Role.FEATURE, integer=True)
    d = m.columns("d", node, role=Role.SPLIT) if early(problem) else None
    if Q:
        tau = m.columns("tau", node, Axis("bit", Q, 1), integer=True)
    label = m.columns("p", leaf, klass, role=Role.LABEL, integer=True)
    l = m.columns("l", row, leaf, role=Role.ROUTE)
    wrong = m.columns("wrong", leaf, step, cost=unit * rise, upper=of_class[of_step], integer=whole)

    i, j, k, t, bit = np.arange(n)[:, None], np.arange(p), np.arange(K), B[:, None], np.arange(Q)

    # Σ_j f_tj = 1;   Σ_q 2^(Q-q) τ_tq ≤ Σ_j (T_j - 1) f_tj            t
    ask = m.rows("ask", node, lower=float(d is None), upper=float(d is None))
    m.add(ask[t], f[t, j])
    if Q:
        code = m.rows("code", node, upper=0)
        m.add(code[t], tau[t, 1 + bit], 2.0 ** (Q - 1 - bit))
        many = np.flatnonzero(scales.size > 1)
        m.add(code[t], f[t, many], 1.0 - scales.size[many])

    # Σ_j f_tj = d_t ≤ 1 instead;   Σ_r Σ_{l left of t} l_rl ≤ n d_t;   d_t ≤ d_{t // 2}
    if d is not None:
        m.add(ask[B], d[B], -1)
        stay = m.rows("stay", node, upper=0)
        m.add(stay[B], d[B], -n)
        for above, below in tree.sides(0):
            m.add(stay[above], l[i, below])
        oct_parts.require_parent_branches(m, d, "under")

    # Σ_l l_rl = 1;   Σ_k p_lk = 1
    oct_parts.place_rows(m, l)
    predict = m.rows("predict", leaf, lower=1, upper=1)
    m.add(predict[L[:, None]], label[L[:, None], k])

    _turns(m, scales, f, tau if Q else None, l)

    # Σ_{r: y_r = k} w_r l_rl - W_k Σ_{c: cost_kc below the step} p_lc ≤ e_ls      l, s a step of class k
    miss, s = m.rows("miss", leaf, step, upper=0), np.arange(len(rise))
    heavy, of = (found[:, None] for found in np.nonzero((y[:, None] == of_step) & (weight > 0)[:, None]))
    m.add(miss[L, of], l[heavy, L], weight[heavy])
    of, cheap = np.nonzero(~dear & (of_class[of_step] > 0)[:, None])
    m.add(miss[L[:, None], of], label[L[:, None], cheap], -of_class[of_step[of]])
    m.add(miss[L[:, None], s], wrong[L[:, None], s], -1)
    return m.finish()


def _turns(m: ModelBuilder, scales: Scales, f: Block, tau: Block | None, l: Block) -> None:
    """Add the constraints that a row goes to the side of each threshold on which it is:

        Σ_{r ∈ R_c} Σ_{l right of t} l_rl ≤ M (1 - f_tj + Σ_{q: c has bit q} (1 - τ_tq))      R_c: c - low(c) < ρ ≤ c
        Σ_{r ∈ R_c} Σ_{l left of t}  l_rl ≤ M (1 - f_tj + Σ_{q: c lacks bit q} τ_tq)          R_c: c < ρ < c + 1 +
                                                                                              low(c + 1), ρ < T

    t, threshold c of j, ρ the rank of the row, M = |R_c|. c = 0: R_c is ρ = 0. c = T - 1: R_c is ρ = T, and no bits are
    used. `tau` is None if no threshold has bits.
    """
    node, Q = f.axes[0], _n_bits(scales)
    B, D, F, bit = nodes(f), node.size.bit_length(), len(scales.scale), np.arange(Q)
    c, T = scales.place, scales.size[scales.scale]
    # A rank for each row and split, in the smallest type for twice the size of an ordered feature.
    least = np.min_scalar_type(-2 * int(scales.size.max(initial=1)) - 1)
    rank = scales.rank.astype(least)[:, scales.scale]
    bits = (c[:, None] >> Q - 1 - bit & 1).astype(bool)
    last = c == T - 1
    from_c, to_c = (c - (c & -c)).astype(least), np.minimum(T, c + 1 + (c + 1 & -c - 1)).astype(least)
    before = ((from_c < rank) & (rank <= c.astype(least))) | (rank == 0) & (c == 0)
    beyond = np.where(last, rank == T.astype(least), (c.astype(least) < rank) & (rank < to_c))
    for name, wrong_side, members, asked, sign in (
        ("left", 1, before, bits, 1.0),
        ("right", 0, beyond, ~bits & ~last[:, None], -1.0),
    ):
        M = members.sum(axis=0)
        turn = m.rows(name, node, Axis("split", F), upper=M * (1.0 + (asked.sum(axis=1) if sign > 0 else 0)))
        m.add(turn[B[:, None], np.arange(F)], f[B[:, None], scales.scale], M)
        has, q = np.nonzero(asked)
        if tau is not None:
            m.add(turn[B[:, None], has], tau[B[:, None], 1 + q], sign * M[has])
        r, cut = (found[:, None, None] for found in labels_where(members))
        for level in range(D):
            at = np.arange(1 << level, 2 << level)[:, None]
            leaves = (2 * at + wrong_side << D - 1 - level) + np.arange(1 << D - 1 - level)
            m.add(turn[at, cut], l[r, leaves])


def start(problem: Problem, heap: HeapTree) -> dict[str, np.ndarray]:
    """Return any tree of this depth over the splits as a complete feasible point: {block: values}."""
    encoded, tree, scales = problem.encoded, problem.topology, Scales.of(problem.encoded)
    heap.expect_depth(tree.depth)
    if not early(problem):
        heap = heap.filled(tree.depth, own=bool(problem.constraints))
    split, end, K, Q = heap.split[tree.branch_nodes], heap.reach(encoded.X), len(encoded.classes), _n_bits(scales)
    leaf, label = tree.rightmost(end), np.zeros(len(tree.leaves), int)
    label[leaf - len(label)] = heap.label[end]
    of_step, _, dear = _steps(encoded.cost)
    l = leaf[:, None] == tree.leaves
    count = l.T @ (whole_weights(encoded.weight)[0][:, None] * (encoded.y[:, None] == np.arange(K)))
    point = {
        "f": (scales.scale[split][:, None] == np.arange(scales.n)) & (split >= 0)[:, None],
        "p": label[:, None] == np.arange(K),
        "l": l,
        "wrong": np.where(dear[:, label].T, count[:, of_step], 0),
    }
    place = np.where(split >= 0, scales.place[split], 0)
    return point | {"d": split >= 0} | ({"tau": place[:, None] >> Q - 1 - np.arange(Q) & 1} if Q else {})


def decode(problem: Problem, point: dict[str, np.ndarray]) -> HeapTree:
    """Return the tree of a point, read only from f, tau and p."""
    tree, scales = problem.topology, Scales.of(problem.encoded)
    asked, Q = point["f"].argmax(axis=1), _n_bits(scales)
    code = (np.rint(point["tau"]).astype(int) << Q - 1 - np.arange(Q)).sum(axis=1) if Q else 0
    split, label = blank_arrays(tree)
    found = scales.split(asked, np.minimum(code, scales.size[asked] - 1))
    split[tree.branch_nodes] = np.where(point["f"].max(axis=1) > 0.5, found, -1)
    label[tree.nodes] = point["p"].argmax(axis=1)[tree.rightmost(tree.nodes) - len(tree.leaves)]
    return settle(split, problem.encoded, label)


def objective(problem: Problem, heap: HeapTree) -> float:
    """Return the loss."""
    return heap.loss(problem.encoded)


def branch_penalty(problem: Problem) -> float:
    """Return 0, because branch nodes have no penalty."""
    return 0.0


def _steps(cost: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (class, rise, dear) of each step of the costs; dear is bool (steps, classes), the labels that pay the
    step."""
    found = [
        (k, high - low, cost[k] >= high)
        for k in range(len(cost))
        for low, high in itertools.pairwise(np.unique([0.0, *cost[k]]))
    ]
    return tuple(np.array(part) for part in zip(*found))


def _n_bits(scales: Scales) -> int:
    """Return Q = ⌈log2 Tmax⌉."""
    return int(scales.size.max() - 1).bit_length()


def subjects(params) -> tuple[Subject, ...]:
    """Return the subjects of constraints that it supports: a node has variables for features and codes of thresholds,
    not for splits."""
    return tuple(subject for subject in Subject if subject not in (Subject.TESTS, Subject.LEAVES, Subject.SETTLED))

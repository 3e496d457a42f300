"""OCT: big-M constraints send each row to a leaf, and a leaf counts the errors of its label.

Bertsimas & Dunn 2017, "Optimal classification trees", as docs/explanation/printed-models.md corrects it. A node either
splits (d = 1) or sends every row right, and only a child of a node that splits may split. So every tree of this depth
or less is represented, if its leaves have n_min rows: a node that predicts early does so in its rightmost leaf. Left
means strictly below b. The differences from the paper lose no tree:

* a numeric feature is the rank of its value among the thresholds of the encoding, divided by
  their number: the trees are the same, and no ε is smaller than 1 / thresholds;
* errors have costs: L_t adds the cost of each class if the label of t is predicted, and so does L̂;
* the big M of a loss is its largest possible value, the loss if all rows get this prediction;
* `L_t ≤ N_t - N_kt + n c_kt` is left out: it requires each label to be the class of a majority, which minimising the
  loss does by itself;
* a split has b at or above the lowest cut (it cannot send every row right), and losses are whole
  numbers of units, if the costs have a unit.

If a feature has only one split, `b` adds nothing and is d (`binary`, FlowOCT §2.2): the constraint `turn` is then (3)
of that paper for all splits at once, and z may be continuous: a row is barred from each leaf but one by an ancestor
whose a is integer. `binary=printed` has one constraint per split.
"""

from fractions import Fraction

import numpy as np

from odtc.base.value_class import value_class
from odtc.base.whole_numbers import as_written
from odtc.data.threshold_scales import Scales
from odtc.formulations.shared import oct_parts
from odtc.model.blocks import Axis, Block, labels_where
from odtc.model.builder import ModelBuilder
from odtc.model.milp import Model
from odtc.problem.constraints.kind import Subject
from odtc.problem.parameters import merge_rows, parameter
from odtc.problem.problem import Problem
from odtc.problem.roles import Role, nodes
from odtc.trees.heap_tree import HeapTree, blank_arrays, settle, with_min_leaf_rows

NAME = "oct"
TITLE = "OCT: big-M formulation on numeric features, with a form for binary ones"
PAPER = "Bertsimas & Dunn (2017), Optimal classification trees"
ANY_COST = True
VARIANTS = (
    {},
    {"alpha": 0.1},
    {"n_min": 2},
    # The data of the property tests is all binary only by chance, so the variants for such data are requested.
    {"binary": "true"},
    {"binary": "printed"},
    {"binary": "true", "alpha": 0.1, "n_min": 2},
)


@value_class
class Params:
    alpha: float = parameter(
        0.0,
        "penalty for each branch node: min loss + α L̂ branch nodes, L̂ = the loss of always predicting the best class",
        least=0,
        below=float("inf"),
    )
    n_min: int = parameter(0, "least number of data rows in a leaf that is not empty", least=0)
    binary: str = parameter(
        "auto",
        "each split as a feature of its own; auto: if each feature has one split; printed: with one row per split",
        choices=("auto", "true", "false", "printed"),
    )
    merge: bool = merge_rows()


def build(problem: Problem) -> Model:
    encoded, tree, n_min = problem.encoded, problem.topology, problem.params.n_min
    oct_parts.expect_n_min(problem)
    n, scales = encoded.n_rows, _numeric(problem)
    x = encoded.X if scales is None else scales.rank / scales.size  # features in [0, 1]
    B, L = tree.branch_nodes, tree.leaves
    row, leaf, klass = Axis("row", n), Axis("node", len(L), len(L)), Axis("class", len(encoded.classes))
    node, feature = Axis("node", len(B), 1), Axis("feature" if scales else "split", x.shape[1])
    m = ModelBuilder(f"{NAME}_d{tree.depth}")

    # min Σ_t L_t + α L̂ Σ_t d_t
    a = m.columns("a", node, feature, role=Role.FEATURE if scales else Role.BRANCH, integer=True)
    d = m.columns("d", node, role=Role.SPLIT, cost=branch_penalty(problem), integer=True)
    b = m.columns("b", node) if scales else d
    c = m.columns("c", leaf, klass, role=Role.LABEL, integer=True)
    used = m.columns("l", leaf, role=Role.USED, integer=True)
    z = m.columns("z", row, leaf, role=Role.ROUTE, integer=bool(scales) or problem.params.binary == "printed")
    count, loss = oct_parts.columns(m, encoded, leaf, klass)

    i, j = np.arange(n)[:, None], np.arange(x.shape[1])

    # Σ_j a_jt = d_t;   d_t ≤ d_{parent(t)}                            t ∈ B
    split = m.rows("split", node, lower=0, upper=0)
    m.add(split[B[:, None]], a[B[:, None], j])
    m.add(split[B], d[B], -1)
    oct_parts.require_parent_branches(m, d, "after")

    # Σ_j ε_j a_jt ≤ b_t ≤ d_t                                         t ∈ B
    # The left half is our addition: without it a split could send every row right and separate nothing.
    if scales:
        above = m.rows("above", node, upper=0)
        m.add(above[B[:, None]], a[B[:, None], j], 1 / scales.size)
        m.add(above[B], b[B], -1)
        within = m.rows("within", node, upper=0)
        m.add(within[B], b[B])
        m.add(within[B], d[B], -1)

    if problem.params.binary == "printed":
        _printed_turns(m, encoded.X, tree, a, z)
    else:
        _turns(m, x, None if scales is None else 1 / scales.size, (a, b), z)

    # Σ_{t: m ∈ A_L(t)} z_it ≤ d_m                                     m ∈ B, i
    # At most one of these z is 1, so this implies z_it ≤ d_m for each of them.
    go = m.rows("go", row, node, upper=0)
    m.add(go[i, B], d[B], -1)
    for above, below in tree.sides(0):
        m.add(go[i, above], z[i, below])
    oct_parts.place_rows(m, z)
    # z_it ≤ l_t;   Σ_i z_it ≥ N_min l_t;   N_kt, Σ_k c_kt = l_t and L_t          (odtc.formulations.shared.oct_parts)
    oct_parts.reach(m, z, used)
    if n_min:
        oct_parts.fill(m, z, used, encoded.copies, n_min)
    oct_parts.rows(m, encoded, z, c, count, loss, used)
    return m.finish()


def _turns(m: ModelBuilder, x: np.ndarray, gap: np.ndarray | None, split: tuple[Block, Block], z: Block) -> None:
    """Add the constraint for each row, leaf and level that a row in the leaf is on its side of the ancestor's split:

        a_m·x_i ≥ b_m - (1 - z_it)                                       m ∈ A_R(t), i
        a_m·(x_i + ε - ε_min) + ε_min ≤ b_m + (1 + ε_max)(1 - z_it)      m ∈ A_L(t), i

    On binary features the second is z_it ≤ 1 - Σ_{j: x_ij = 1} a_jm.

    Parameters
    ----------
    m : ModelBuilder
    x : bool or float64 (rows, features), in [0, 1]
    gap : float64 (features,) or None
        ε; None for binary features.
    split : (Block, Block)
        The variables a and b.
    z : Block
    """
    (a, b), (row, leaf) = split, z.axes
    D = leaf.size.bit_length() - 1
    least, most = (0.0, 1.0) if gap is None else (gap.min(), 1 + gap.max())
    i, t, level = np.arange(row.size)[:, None], nodes(z)[:, None], np.arange(D)
    # Leaf t is on this side of its ancestor on level q, for all (t, q) of a side.
    side = t >> D - 1 - level & 1
    (left, q_left), (right, q_right) = ((at + leaf.size, q) for at, q in (np.nonzero(side == 0), np.nonzero(side)))
    turn = m.rows("turn", row, leaf, Axis("level", D), upper=np.where(side, 1.0, most - least))
    m.add(turn[i[:, None], t, level], z[i[:, None], t], np.where(side, 1.0, most))
    m.add(turn[i, right, q_right], b[right >> D - q_right])
    if gap is not None:
        m.add(turn[i, left, q_left], b[left >> D - q_left], -1)
    for sign, at, q, moved in ((-1.0, right, q_right, x), (1.0, left, q_left, x if gap is None else x + gap - least)):
        rows, asked = (found[:, None] for found in labels_where(moved))
        coef = 1.0 if moved.dtype == bool else moved[moved != 0][:, None]
        m.add(turn[rows, at, q], a[at >> D - q, asked], sign * coef)


def start(problem: Problem, heap: HeapTree) -> dict[str, np.ndarray]:
    """Return any tree of this depth over the splits with n_min rows in each leaf, as a complete feasible point:
    {block: values}. Raises TreeError for another tree."""
    encoded, tree, scales = problem.encoded, problem.topology, _numeric(problem)
    heap.expect_depth(tree.depth)
    heap.expect_rows(encoded, problem.params.n_min)
    end, split = heap.reach(encoded.X), heap.split[tree.branch_nodes]
    d = split >= 0
    asked = split if scales is None else scales.scale[split]
    a = d[:, None] & (asked[:, None] == np.arange(encoded.n_candidate_splits if scales is None else scales.n))
    last, label = tree.rightmost(end), np.full(len(tree.leaves), -1)
    z = last[:, None] == tree.leaves
    label[last - len(tree.leaves)] = heap.label[end]
    point = {"a": a, "d": d, "l": z.any(axis=0), "z": z} | oct_parts.values(encoded, z, label)
    return point if scales is None else point | {"b": np.where(d, (scales.place[split] + 1) / scales.size[asked], 0)}


def trimmed(problem: Problem, heap: HeapTree) -> HeapTree:
    """Return the tree without the branch nodes that leave a leaf with fewer than n_min rows."""
    return with_min_leaf_rows(heap, problem.encoded, problem.params.n_min)


def decode(problem: Problem, point: dict[str, np.ndarray]) -> HeapTree:
    """Return the tree of a point, read only from a, b and c: b is above the values that go left and not above those
    that go right, so the cut nearest to b separates the rows of the node in the same way."""
    tree, a, scales = problem.topology, point["a"], _numeric(problem)
    asked = a.argmax(axis=1)
    if scales:
        cut = np.rint(point["b"] * scales.size[asked]).astype(int) - 1
        asked = scales.split(asked, cut.clip(0, scales.size[asked] - 1))
    split, label = blank_arrays(tree)
    split[tree.branch_nodes] = np.where(a.max(axis=1) > 0.5, asked, -1)
    c = point["c"][tree.rightmost(tree.nodes) - len(tree.leaves)]
    label[tree.nodes] = np.where(c.max(axis=1) > 0.5, c.argmax(axis=1), -1)
    return settle(split, problem.encoded, label)


def objective(problem: Problem, heap: HeapTree) -> float:
    """Return loss + α L̂ · branch nodes."""
    return heap.loss(problem.encoded) + branch_penalty(problem) * heap.n_branch_nodes


def least_rows(problem: Problem) -> int:
    return problem.params.n_min


def branch_penalty(problem: Problem) -> float:
    """Return α L̂, with L̂ the loss of the class that is cheapest for all rows."""
    return problem.params.alpha * float(problem.encoded.loss.sum(axis=0).min())


def _numeric(problem: Problem) -> Scales | None:
    """Return the features of the numeric variant, None in a binary variant."""
    if problem.params.binary in ("true", "printed"):
        return None
    scales = Scales.of(problem.encoded)
    return None if problem.params.binary == "auto" and (scales.size == 1).all() else scales


def _printed_turns(m: ModelBuilder, X: np.ndarray, tree, a, z) -> None:
    """z_it ≤ 1 - a_jm for x_ij = 1, m ∈ A_L(t), mirrored for x_ij = 0, m ∈ A_R(t) (3)

    For a row, a split and a level these are half of the leaves: those on the side of their ancestor to which the split
    does not send the row.
    """
    D, half = tree.depth, len(tree.leaves) // 2
    turn = m.rows(
        "turn", Axis("row", X.shape[0]), Axis("split", X.shape[1]), Axis("level", D), Axis("half", half), upper=1
    )
    q, h = np.arange(D)[:, None], np.arange(half)
    under = D - 1 - q  # levels between a child of the ancestor and the leaves
    ancestor = (1 << q) + (h >> under)
    for value in (0, 1):
        i, f = (found[:, None, None] for found in labels_where(X == value))
        t = (2 * ancestor + 1 - value << under) + (h & (1 << under) - 1)
        m.add(turn[i, f, q, h], z[i, t])
        m.add(turn[i, f, q, h], a[ancestor, f])


def subjects(params) -> tuple[Subject, ...]:
    """Return the subjects of constraints that it supports: a node has variables for features, and for splits only in
    the binary variants."""
    without = (Subject.LEAVES, Subject.SETTLED)
    if params.binary not in ("true", "printed"):
        without += (Subject.TESTS,)
    return tuple(subject for subject in Subject if subject not in without)


def unit_costs(problem: Problem) -> tuple[float, float]:
    """Return (1, α L̂): L̂ is the loss of the class that costs least for all rows."""
    of_loss, of_node = exact_prices(problem)
    return float(of_loss), float(of_node)


def exact_prices(problem: Problem) -> tuple[Fraction, Fraction]:
    """Return the same in rationals, because a product of doubles has more digits than α and L̂."""
    loss, unit = problem.encoded.whole_loss
    least = min(sum(column.tolist()) for column in loss.T)
    return Fraction(1), as_written(problem.params.alpha) * least * unit

"""Fair: sets of levels and thresholds without one-hot columns, and a penalty for discrimination.

Aghaei, Azizi & Vayanos 2019, "Learning optimal and fair decision trees for non-discriminative decision-making", as in
docs/explanation/printed-models.md. A node splits on one feature: on a threshold q of a numeric feature, or on a set of
levels (s) of a categorical one, so that one node can do the work of several one-hot splits. The encoding determines
which features are sets of levels: all of three levels or more that it encodes by level, with `onehot` also numeric
ones. Every such tree of this depth or less is represented, if its leaves have n_min rows. The differences from the
paper lose no tree:

* rows of data with the same features are one row, whatever their classes;
* a numeric feature is the rank of its value among the thresholds of the encoding, divided by their
  number; one with a single threshold leaves no choice and needs no q;
* the first level of a feature goes left, because the two sides of a split are interchangeable;
* left and right are two constraints per row of data and node for all leaves below together, not one per
  leaf and type of feature, and the differences g⁺ and g⁻ are eliminated;
* a node may have no split (d = 0) and send every row left, as in OCT to the right;
* errors have costs: L_l adds the cost of each class if the label of l is predicted.

The index of discrimination, with ŷ the predicted class of a row and P by weight
(odtc.formulations.fair.discrimination): impact: Σ_k Σ_g |P(ŷ = k | g) - P(ŷ = k)| over the groups g of the protected
column; treatment: the same among the rows that are alike in all other columns, averaged over the rows. Both are
between 0 and 2 times the number of groups; ρ is the penalty of one unit, in errors.
"""

import numpy as np

from odtc.base.value_class import value_class
from odtc.base.whole_numbers import as_written, sums_of_whole, whole_losses
from odtc.base.wording import param
from odtc.data.original_features import Features
from odtc.errors import ChoiceError
from odtc.formulations.fair.discrimination import Contrast, index, price
from odtc.formulations.shared import oct_parts
from odtc.model.blocks import Axis, Block, labels_where
from odtc.model.builder import ModelBuilder
from odtc.model.milp import Model
from odtc.problem.constraints.kind import Subject
from odtc.problem.exact_objective import exact_objective
from odtc.problem.formulation import Charge
from odtc.problem.parameters import merge_rows, parameter
from odtc.problem.problem import Problem
from odtc.problem.roles import Role, nodes
from odtc.trees.heap_tree import Beyond, CompleteTree, HeapTree, blank_arrays, settle, with_min_leaf_rows

NAME = "fair"
TITLE = "Fair: thresholds and sets of levels without one-hot columns, with a penalty for discrimination"
PAPER = (
    "Aghaei, Azizi & Vayanos (2019), Learning optimal and fair decision trees for non-discriminative decision-making"
)
BEYOND = True
ANY_COST = True
VARIANTS = ({}, {"n_min": 2}, {"rho": 3.0, "group": "colour"}, {"rho": 3.0, "group": "colour", "index": "treatment"})


@value_class
class Params:
    rho: float = parameter(0.0, "penalty for discrimination: min loss + ρ index", least=0, below=float("inf"))
    group: str = parameter("", "the protected column: its levels, or intervals between thresholds, are the groups")
    index: str = parameter(
        "impact", "what ρ penalises: disparate impact or disparate treatment", choices=("impact", "treatment")
    )
    n_min: int = parameter(0, "least number of data rows in a leaf that is not empty", least=0)
    merge: bool = merge_rows()


def build(problem: Problem) -> Model:
    encoded, tree, n_min = problem.encoded, problem.topology, problem.params.n_min
    oct_parts.expect_n_min(problem)
    kind, first = _kinds(encoded)
    x, n, D = Features.of(encoded), len(first), tree.depth
    B, L = tree.branch_nodes, tree.leaves
    row, leaf, klass = Axis("row", n), Axis("node", len(L), len(L)), Axis("class", len(encoded.classes))
    node, feature, level = Axis("node", len(B), 1), Axis("feature", x.n), Axis("level", len(x.owner))
    profiles, profile = np.unique(x.rank[first], axis=0, return_inverse=True)  # of the numeric features
    numeric = len(x.size) > 0
    m = ModelBuilder(f"{NAME}_d{D}")

    # min Σ_l L_l + ρ index
    p = m.columns("p", node, feature, integer=True)
    d = m.columns("d", node, role=Role.SPLIT, integer=True)
    q = m.columns("q", node) if numeric else None
    v = m.columns("v", Axis("profile", len(profiles)), node, integer=True) if numeric else None
    s = m.columns("s", node, level, integer=True) if len(x.owner) else None
    w = m.columns("w", row, node, integer=True)  # whole if p, v and s are, but SCIP 10.0 gave points that are not
    z = m.columns("z", row, leaf, role=Role.ROUTE)
    c = m.columns("c", leaf, klass, role=Role.LABEL, integer=True)
    count, loss = oct_parts.columns(m, encoded, leaf, klass)

    t, j = B[:, None], np.arange(x.n)

    # Σ_j p_tj = d_t;   d_t ≤ d_{parent(t)}                            t ∈ B
    choose = m.rows("choose", node, lower=0, upper=0)
    m.add(choose[t], p[t, j])
    m.add(choose[B], d[B], -1)
    oct_parts.require_parent_branches(m, d, "after")

    if numeric:
        _threshold_rows(m, x.size, profiles, (p, q, v))

    # s_tjk ≤ p_tj                                                     t, k a level of j but the first
    if len(x.owner):
        of = m.rows("of", node, level, upper=0)
        m.add(of[t, np.arange(len(x.owner))], s[t, np.arange(len(x.owner))])
        m.add(of[t, np.arange(len(x.owner))], p[t, x.owner], -1)

    _side_rows(m, x, first, profile, (p, d, v, s, w))
    _route_rows(m, tree, w, z)

    # Σ_i z_il ≥ n_min u_l;   z_il ≤ u_l;   N_kl, Σ_k c_kl = 1 and L_l          (odtc.formulations.shared.oct_parts)
    if n_min:
        used = m.columns("u", leaf, role=Role.USED, integer=True)
        oct_parts.fill(m, z, used, np.bincount(kind, encoded.copies), n_min)
        oct_parts.reach(m, z, used)
    oct_parts.rows(m, encoded, z, c, count, loss, of=kind)
    if contrast := _contrast(problem, kind, first):
        price(m, contrast, problem.params.rho, z, c, L)
    return m.finish()


def _threshold_rows(m: ModelBuilder, size: np.ndarray, profiles: np.ndarray, split: tuple[Block, Block, Block]) -> None:
    """Add the constraints of the thresholds q_t, and of the sides v_it of rows with these values of numeric features:

        q_t ≤ Σ_j p_tj (1 - ε_j)                                         j numeric, ε_j = 1 / thresholds of j
        q_t - Σ_j p_tj (x_ij - ε_j) ≤ v_it ≤ q_t + Σ_j p_tj (1 - x_ij)

    Parameters
    ----------
    m : ModelBuilder
    size : int (features,)
        The number of thresholds of each.
    profiles : int (profiles, features)
        The ranks of rows that are different in these features.
    split : (Block, Block, Block)
        The variables p, q and v.
    """
    (p, q, v), B, a = split, nodes(split[1]), np.arange(len(size))
    profile, node = v.axes
    t, r = B[:, None], np.arange(len(profiles))[:, None]
    within = m.rows("within", node, upper=0)
    m.add(within[B], q[B])
    m.add(within[t], p[t, a], 1 / size - 1)
    below = m.rows("below", profile, node, upper=0)
    m.add(below[r, B], q[B])
    at, number = (found[:, None] for found in np.nonzero(profiles != 1))
    m.add(below[at, B], p[B, number], (1 - profiles[at, number]) / size[number])
    m.add(below[r, B], v[r, B], -1)
    above = m.rows("above", profile, node, upper=0)
    m.add(above[r, B], v[r, B])
    m.add(above[r, B], q[B], -1)
    at, number = (found[:, None] for found in np.nonzero(profiles < size))
    m.add(above[at, B], p[B, number], profiles[at, number] / size[number] - 1)


def _side_rows(
    m: ModelBuilder,
    x: Features,
    first: np.ndarray,
    profile: np.ndarray,
    split: tuple[Block, Block, Block | None, Block | None, Block],
) -> None:
    """Add the constraints of the side w_it of row i, 1 if it is left of t:

        w_it = v_it + Σ_j p_tj [x_ij is the first level] + Σ_jk s_tjk [x_ij = k] + 1 - d_t

    Parameters
    ----------
    m : ModelBuilder
    x : Features
    first : int (rows,)
        A row of the data for each row of the model.
    profile : int (rows,)
        The profile of each row of the model.
    split : (Block, Block, Block or None, Block or None, Block)
        The variables p, d, v, s and w; None without numbers, or without levels but the first.
    """
    (p, d, v, s, w), B = split, nodes(split[1])
    i = np.arange(len(first))[:, None]
    side = m.rows("side", *w.axes, lower=-1, upper=-1)
    m.add(side[i, B], w[i, B], -1)
    m.add(side[i, B], d[B], -1)
    if v is not None:
        m.add(side[i, B], v[profile.reshape(-1, 1), B])
    r, f = (found[:, None] for found in labels_where(x.fixed[first]))
    m.add(side[r, B], p[B, f])
    if s is not None:
        r, f = (found[:, None] for found in labels_where(x.free[first]))
        m.add(side[r, B], s[B, f])


def _route_rows(m: ModelBuilder, tree: CompleteTree, w: Block, z: Block) -> None:
    """Add Σ_{l left of t} z_il ≤ w_it;   Σ_{l right of t} z_il ≤ 1 - w_it;   Σ_l z_il = 1."""
    (row, node), B, i = w.axes, tree.branch_nodes, np.arange(w.axes[0].size)[:, None]
    left, right = m.rows("left", row, node, upper=0), m.rows("right", row, node, upper=1)
    m.add(left[i, B], w[i, B], -1)
    m.add(right[i, B], w[i, B])
    for rows, turn in ((left, 0), (right, 1)):
        for at, below in tree.sides(turn):
            m.add(rows[i, at], z[i, below])
    oct_parts.place_rows(m, z)


def start(problem: Problem, heap: HeapTree) -> dict[str, np.ndarray]:
    """Return any tree of this depth over the splits and sets of levels, with n_min rows in each leaf, as a complete
    feasible point: {block: values}. Raises TreeError for another tree."""
    encoded, tree = problem.encoded, problem.topology
    heap.expect_depth(tree.depth)
    heap.expect_rows(encoded, problem.params.n_min)
    kind, first = _kinds(encoded)
    x, K, B = Features.of(encoded), len(encoded.classes), len(tree.branch_nodes)
    p, cut, s, w = np.zeros((B, x.n)), np.zeros(B), np.zeros((B, len(x.owner))), np.ones((encoded.n_rows, B), bool)
    label = np.zeros(2 * len(tree.leaves), int)

    def lay(at, t):
        """Put node `at` of the tree, or the node that continues a leaf, at node t of the model."""
        label[t] = heap.label[at]
        zero, one = at, at
        if heap.split[at] >= 0:
            column = heap.column(at, encoded)
            feature, cut[t - 1], s[t - 1], w[:, t - 1] = x.ask(heap.split[at], heap.split_at(at, encoded)[0], column)
            p[t - 1, feature] = 1
            zero, one = (2 * at, 2 * at + 1) if w[0, t - 1] != column[0] else (2 * at + 1, 2 * at)
        if t < len(tree.leaves):
            lay(zero, 2 * t)
            lay(one, 2 * t + 1)

    lay(1, 1)
    w, end = w[first], np.ones(len(first), int)
    for _ in range(tree.depth):
        end = 2 * end + ~w[np.arange(len(end)), end - 1]
    z = end[:, None] == tree.leaves
    numbers = p[:, : len(x.size)]
    profiles = np.unique(x.rank[first], axis=0)[:, None]
    point = {
        "p": p,
        "d": p.any(axis=1),
        "q": (numbers / x.size).sum(axis=1) * cut,
        "s": s,
        "w": w,
        "z": z,
        "v": ((profiles <= cut[:, None]) & (numbers > 0)).any(axis=2),
        "u": z.any(axis=0),
    } | oct_parts.values(encoded, z[kind], label[tree.leaves])
    if contrast := _contrast(problem, kind, first):
        y = label[end][:, None] == np.arange(K)
        point |= {"y": y[contrast.rows], "gap": contrast.gaps(y)}
    return point


def trimmed(problem: Problem, heap: HeapTree) -> HeapTree:
    """Return the tree without the branch nodes that leave a leaf with fewer than n_min rows."""
    return with_min_leaf_rows(heap, problem.encoded, problem.params.n_min)


def decode(problem: Problem, point: dict[str, np.ndarray]) -> HeapTree:
    """Return the tree of a point, read only from p, d, q, s and c."""
    encoded, tree, x = problem.encoded, problem.topology, Features.of(problem.encoded)
    split, label = blank_arrays(tree)
    found = []
    for t in tree.branch_nodes[point["d"] > 0.5]:
        feature = int(point["p"][t - 1].argmax())
        cut = point["q"][t - 1] * x.size[feature] if feature < len(x.size) else 0
        asked = x.split(feature, round(cut), point["s"][t - 1] > 0.5 if len(x.owner) else None)
        if isinstance(asked, tuple):
            found.append(asked)
            asked = encoded.n_candidate_splits + len(found) - 1
        split[t] = asked
    label[tree.leaves] = point["c"].argmax(axis=1)
    for t in tree.branch_nodes[::-1]:
        label[t] = label[2 * t]  # a node without a split sends its rows left
    splits, columns = zip(*found) if found else ((), ())
    beyond = Beyond(splits, np.stack(columns, axis=1), np.ones(len(splits), bool)) if found else None
    return settle(split, encoded, label, beyond)


def objective(problem: Problem, heap: HeapTree) -> float:
    """Return the loss + ρ · index."""
    return float(exact_objective(problem).cost(heap))


def charge(problem: Problem) -> Charge | None:
    """Return ρ · index, in the unit of the index; None without a penalty for it."""
    encoded, (kind, first) = problem.encoded, _kinds(problem.encoded)
    if (contrast := _contrast(problem, kind, first)) is None:
        return None
    weight = sums_of_whole(kind, whole_losses(encoded).weight, len(first))
    unit, classes = contrast.unit(weight, len(encoded.classes)), np.arange(len(encoded.classes))

    def count(heap: HeapTree) -> int:
        label = heap.label[heap.reach(encoded.X)][first]
        return int(contrast.index(weight, label[:, None] == classes) / unit) if unit else 0

    return Charge(as_written(problem.params.rho) * unit, count)


def prices_answers(problem: Problem) -> bool:
    """Return whether discrimination has a penalty."""
    return problem.params.rho > 0


def least_rows(problem: Problem) -> int:
    return problem.params.n_min


def branch_penalty(problem: Problem) -> float:
    """Return 0, because branch nodes have no penalty."""
    return 0.0


def route_of(problem: Problem) -> np.ndarray:
    """Return the number of the features of each row: rows of data with the same features share the z of one row."""
    return _kinds(problem.encoded)[0]


def _kinds(encoded) -> tuple[np.ndarray, np.ndarray]:
    """Return (kind, first): the number of each row's features, int64 (rows,), and the first row of each number; each
    row has a number of its own if rows are not merged."""
    if not encoded.merge:
        return np.arange(encoded.n_rows), np.arange(encoded.n_rows)
    _, first, kind = np.unique(np.packbits(encoded.X, axis=1), axis=0, return_index=True, return_inverse=True)
    return kind.reshape(-1), first


def _contrast(problem: Problem, kind: np.ndarray, first: np.ndarray) -> Contrast | None:
    """Return the contrast that ρ penalises, or None if there is none. Raises ChoiceError if no column of groups is
    named, or if it does not separate groups."""
    rho, group, index = problem.params.rho, problem.params.group, problem.params.index
    if rho and not group:
        raise ChoiceError(f"expected group=COLUMN, the protected column, with rho={rho:g}; add {param('group')}")
    if not group:
        return None
    contrast = Contrast.of(
        problem.encoded, first, np.bincount(kind, problem.encoded.weight), group, index == "treatment"
    )
    return contrast if rho else None


def subjects(params) -> tuple[Subject, ...]:
    """Return the subjects of constraints that it supports; its splits are not the splits of the encoding."""
    on_splits = (Subject.TESTS, Subject.FEATURES, Subject.PLACES, Subject.DEPTHS)
    return tuple(subject for subject in Subject if subject not in (*on_splits, Subject.LEAVES, Subject.SETTLED))


def paid_for(problem: Problem, predicted) -> float:
    """Return ρ times the index of discrimination."""
    params, dataset = problem.params, problem.encoded.dataset
    if not params.rho:
        return 0.0
    place = [feature.name for feature in dataset.features].index(params.group)
    others = np.delete(dataset.X, place, axis=1) if params.index == "treatment" else dataset.X[:, :0]
    return params.rho * index(dataset.X[:, place], others, predicted, dataset.weight)

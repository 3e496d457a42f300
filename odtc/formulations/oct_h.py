"""OCT-H: OCT with a hyperplane at each node, and a penalty for each feature in it (Bertsimas & Dunn 2017).

    min  Σ_t L_t + α L̂ Σ_jt s_jt                    L̂ = the loss of the class that is cheapest for all rows

over a_t·x + μ <= b_t left and a_t·x >= b_t right, on features scaled to [0, 1] (docs/explanation/printed-models.md). A
node either splits (d = 1) or sends every row right, and only a child of a node that splits may split. Every tree is
represented whose leaves have n_min rows and whose nodes separate their rows by μ, with Σ_j |a_jt| <= 1. The
differences from the paper lose none of them:

* v_it = a_t·x_i - b_t, in [-2, 2], is a variable, and one constraint for all leaves on a side of a node replaces the
  paper's constraint for each leaf, because at most one of z_it over these leaves is 1;
* |a_jt| is a⁺ + a⁻, so that s_jt bounds their sum, and s is left out without α;
* errors have costs and are counted as in `oct`, which explains the rest.

Decoding reads only a, b and d. Because b is μ above the values that go left, the cut is in the middle of that gap, and
each leaf takes the label of least cost.
"""

from contextlib import suppress
from functools import partial

import numpy as np

from odtc.base import deadline
from odtc.base.value_class import value_class
from odtc.base.whole_numbers import as_written
from odtc.base.wording import param
from odtc.data.linear_terms import LinearTerms
from odtc.data.splits import Oblique
from odtc.errors import TimeLimitReached, TreeError
from odtc.formulations import oct
from odtc.formulations.shared import oct_parts
from odtc.formulations.shared.hyperplane_cache import cached_hyperplane
from odtc.heuristics.heuristic import HEURISTICS
from odtc.heuristics.margin_tree import directions, grow_margin_tree
from odtc.heuristics.separating_hyperplanes import (
    build_tree,
    drop_unfit_nodes,
    fewest_terms,
    rows_at_node,
    split_by_hyperplane,
    widest_gap,
)
from odtc.model.blocks import Axis, Block, labels_where
from odtc.model.builder import ModelBuilder
from odtc.model.milp import Model
from odtc.problem.constraints.kind import Subject
from odtc.problem.exact_objective import exact_objective
from odtc.problem.formulation import Charge
from odtc.problem.parameters import merge_rows, parameter
from odtc.problem.problem import Problem
from odtc.problem.roles import Role
from odtc.trees.heap_tree import HeapTree, with_min_leaf_rows

NAME = "oct_h"
TITLE = "OCT-H: hyperplanes by big-M rows, with a penalty for each feature in a node (start it from --start oblique)"
PAPER = "Bertsimas & Dunn (2017), Optimal classification trees"
BEYOND = True
START = "oblique:restarts=50"  # with 1,000 restarts a start takes seconds, and is seldom better
WEIGHS = True
ANY_COST = True
VARIANTS = (
    # The penalty of features is covered in tests/unit/test_oct_h.py: here trees pay by the branch node.
    {},
    {"n_min": 2},
)


NEAR = 1e-9  # relative: error of a linear program when it finds the widest gap


class Terms:
    """Terms of the hyperplanes of one problem."""

    def __init__(self, problem: Problem):
        self.weighed = LinearTerms.encoded(problem.encoded, refuse_missing=True)


@value_class
class Params:
    mu: float = parameter(0.005, "gap μ between the sides of a node", least=1e-5, below=1)
    alpha: float = parameter(
        0.0,
        "penalty for each feature in a node: min loss + α L̂ features, L̂ = the loss of always predicting the best class",
        least=0,
        below=float("inf"),
    )
    n_min: int = parameter(0, "least number of data rows in a leaf that is not empty", least=0)
    merge: bool = merge_rows()


def prepared(problem: Problem) -> Problem:
    """Return the problem itself; raises for columns that hyperplanes cannot use, before a search for a start."""
    _weighed(problem)
    return problem


def build(problem: Problem) -> Model:
    encoded, tree, params, price = problem.encoded, problem.topology, problem.params, branch_penalty(problem)
    n_min = params.n_min
    oct_parts.expect_n_min(problem)
    x, n, D = _weighed(problem).Z, encoded.n_rows, tree.depth
    B, L = tree.branch_nodes, tree.leaves
    row, leaf, klass = Axis("row", n), Axis("node", len(L), len(L)), Axis("class", len(encoded.classes))
    node, term = Axis("node", len(B), 1), Axis("term", x.shape[1])
    m = ModelBuilder(f"{NAME}_d{D}")

    # min Σ_t L_t + α L̂ Σ_jt s_jt
    up, down = m.columns("ap", node, term), m.columns("an", node, term)
    b = m.columns("b", node, lower=-1.0)
    d = m.columns("d", node, role=Role.SPLIT, integer=True)
    s = m.columns("s", node, term, cost=price, integer=True) if price else None
    c = m.columns("c", leaf, klass, integer=True)  # without a role, because decoding relabels the leaves
    used = m.columns("l", leaf, role=Role.USED, integer=True) if n_min else None
    z = m.columns("z", row, leaf, role=Role.ROUTE, integer=True)
    v = m.columns("v", row, node, lower=-2.0, upper=2.0)
    count, loss = oct_parts.columns(m, encoded, leaf, klass)
    j, at = np.arange(x.shape[1]), B[:, None]

    # Σ_j |a_jt| ≤ d_t;   |b_t| ≤ d_t;   d_t ≤ d_{parent(t)}                   t ∈ B
    norm = m.rows("norm", node, upper=0)
    m.add(norm[at], up[at, j])
    m.add(norm[at], down[at, j])
    m.add(norm[B], d[B], -1)
    for name, sign in (("above", -1), ("within", 1)):
        bound = m.rows(name, node, upper=0)
        m.add(bound[B], b[B], sign)
        m.add(bound[B], d[B], -1)
    oct_parts.require_parent_branches(m, d, "after")

    # |a_jt| ≤ s_jt ≤ d_t;   Σ_j s_jt ≥ d_t
    if s is not None:
        weigh, split = m.rows("weigh", node, term, upper=0), m.rows("split", node, term, upper=0)
        some = m.rows("some", node, lower=0)
        m.add(weigh[at, j], up[at, j])
        m.add(weigh[at, j], down[at, j])
        m.add(weigh[at, j], s[at, j], -1)
        m.add(split[at, j], s[at, j])
        m.add(split[at, j], d[at], -1)
        m.add(some[at], s[at, j])
        m.add(some[B], d[B], -1)

    _route_rows(m, problem, v, (up, down, b), z)

    # Σ_i z_it ≥ n_min l_t;   z_it ≤ l_t;   N_kt, Σ_k c_kt = 1 and L_t          (odtc.formulations.shared.oct_parts)
    if n_min:
        oct_parts.fill(m, z, used, encoded.copies, n_min)
        oct_parts.reach(m, z, used)
    oct_parts.rows(m, encoded, z, c, count, loss)
    return m.finish()


def _route_rows(m: ModelBuilder, problem: Problem, v: Block, hyperplane: tuple[Block, Block, Block], z: Block) -> None:
    """Add the constraints of the side v_it on which row i is of the hyperplane a_t·x = b_t, and of the leaf that it
    reaches by these sides. `hyperplane` has the variables of the positive and negative parts of a, and of b."""
    x, mu, (up, down, b) = _weighed(problem).Z, problem.params.mu, hyperplane
    (row, node), B, i = v.axes, problem.topology.branch_nodes, np.arange(len(x))[:, None]

    # v_it = Σ_j a_jt x_ij - b_t
    value = m.rows("value", row, node, lower=0, upper=0)
    m.add(value[i, B], v[i, B])
    m.add(value[i, B], b[B])
    r, f = (found[:, None] for found in labels_where(x))
    coef = x[x != 0][:, None]
    m.add(value[r, B], up[B, f], -coef)
    m.add(value[r, B], down[B, f], coef)

    # v_it ≥ -2 (1 - Σ_{l right of t} z_il);   v_it + μ ≤ (2 + μ)(1 - Σ_{l left of t} z_il)
    right, left = m.rows("right", row, node, lower=-2.0), m.rows("left", row, node, upper=2.0)
    m.add(right[i, B], v[i, B])
    m.add(left[i, B], v[i, B])
    for rows, turn, most in ((right, 1, -2.0), (left, 0, 2 + mu)):
        for above, below in problem.topology.sides(turn):
            m.add(rows[i, above], z[i, below], most)
    oct_parts.place_rows(m, z)


def start(problem: Problem, heap: HeapTree) -> dict[str, np.ndarray]:
    """Return a tree that μ and n_min allow as a complete feasible point: {block: values}. Raises TreeError for
    another."""
    encoded, tree, Z = problem.encoded, problem.topology, _weighed(problem).Z
    heap.expect_depth(tree.depth)
    heap.expect_rows(encoded, problem.params.n_min)
    end = heap.reach(encoded.X)
    a = np.zeros((len(tree.branch_nodes), Z.shape[1]))
    b = np.zeros(len(tree.branch_nodes))
    d = heap.split[tree.branch_nodes] >= 0
    for t in np.flatnonzero(d) + 1:
        a[t - 1], b[t - 1] = _plane(problem, heap, int(t))
    last = tree.rightmost(end)
    z, label = last[:, None] == tree.leaves, np.zeros(len(tree.leaves), int)
    label[last - len(tree.leaves)] = heap.label[end]
    return {
        "ap": np.maximum(a, 0),
        "an": np.maximum(-a, 0),
        "b": b,
        "d": d,
        "s": a != 0,
        "l": z.any(axis=0),
        "z": z,
        "v": Z @ a.T - b,
    } | oct_parts.values(encoded, z, label)


def trimmed(problem: Problem, heap: HeapTree) -> HeapTree:
    """Return the tree without the branch nodes that separate their rows by less than μ, or leave a leaf with fewer
    than n_min; or, if that costs more, CART's without them, or the better of two greedy trees of cuts that μ
    allows."""
    encoded, weighed = problem.encoded, _weighed(problem)

    def fits(rows, left):
        return _wide(problem, rows, left, np.arange(weighed.n)) is not None

    def least(tree):
        return with_min_leaf_rows(drop_unfit_nodes(tree, encoded, fits), encoded, problem.params.n_min)

    kept = least(heap)
    if kept.n_branch_nodes == heap.n_branch_nodes:
        return kept
    if deadline.is_over():  # cuts of single terms take a moment, as CART does
        single = np.eye(weighed.n)
        last = grow_margin_tree(encoded, problem.topology, weighed, problem.params.mu, single, True, limited=False)
        return min(kept, with_min_leaf_rows(last, encoded, problem.params.n_min), key=lambda tree: tree.loss(encoded))
    others, along = [HEURISTICS.get("cart").tree(encoded, problem.topology)], directions(weighed, heap, encoded)
    with suppress(TimeLimitReached):  # a tree of the model is known already
        for gini in (True, False):
            others.append(grow_margin_tree(encoded, problem.topology, weighed, problem.params.mu, along, gini))
    return min([kept, *map(least, others)], key=partial(objective, problem))


def decode(problem: Problem, point: dict[str, np.ndarray]) -> HeapTree:
    """Return the tree of a point, read only from a, b and d."""
    weighed, a, b = _weighed(problem), point["ap"] - point["an"], point["b"] - problem.params.mu / 2

    def ask(t, rows):
        return split_by_hyperplane(weighed, a[t - 1], float(b[t - 1]), rows) if point["d"][t - 1] > 0.5 else True

    return build_tree(problem.encoded, problem.topology, ask)


def misrouted(problem: Problem, point: dict[str, np.ndarray]) -> float:
    """Return the weight of the rows that the point's routes send to another leaf than its own hyperplanes do."""
    tree, a = problem.topology, point["ap"] - point["an"]
    right = (_weighed(problem).Z @ a.T > point["b"] - problem.params.mu / 2) | (point["d"] < 0.5)
    node = np.ones(len(right), int)
    for _ in range(tree.depth):
        node = 2 * node + right[np.arange(len(right)), node - 1]
    return float(problem.encoded.weight[tree.leaves[point["z"].argmax(axis=1)] != node].sum())


def represents(problem: Problem, heap: HeapTree) -> bool:
    """Return whether a hyperplane with a gap of μ separates the rows of each node like this."""
    try:
        return all(_plane(problem, heap, t) for t in np.flatnonzero(heap.split >= 0).tolist())
    except TreeError:
        return False


def objective(problem: Problem, heap: HeapTree) -> float:
    """Return loss + α L̂ · the fewest features with which hyperplanes separate the rows like this, node by node."""
    return float(exact_objective(problem).cost(heap))


def _features(problem: Problem, heap: HeapTree) -> int:
    """Return the number of features in all nodes; 0 if they have no penalty. Raises TreeError for a node that no
    hyperplane with a gap of μ represents."""
    nodes = np.flatnonzero(heap.split >= 0).tolist() if problem.params.alpha else []
    return sum(int(np.count_nonzero(_plane(problem, heap, t)[0])) for t in nodes)


def charge(problem: Problem) -> Charge:
    """Return α L̂ for each feature in a node."""
    most = len(problem.topology.branch_nodes) * _weighed(problem).n
    return Charge(oct.exact_prices(problem)[1], partial(_features, problem), most if problem.params.alpha else None)


def least_rows(problem: Problem) -> int:
    return problem.params.n_min


def branch_penalty(problem: Problem) -> float:
    """Return α L̂, because a branch node uses at least one feature."""
    return unit_costs(problem)[1]


def _weighed(problem: Problem) -> LinearTerms:
    return problem.derived(Terms).weighed


def _plane(problem: Problem, heap: HeapTree, t: int) -> tuple[np.ndarray, float]:
    """Return `_parting` for the rows of node t, as the tree separates them; raises TreeError if there is none."""
    split = heap.split_at(t, problem.encoded)[0]
    asked = {(term.feature, term.level) for term in split.terms} if isinstance(split, Oblique) else None
    own = [
        j
        for j, term in enumerate(_weighed(problem).terms)
        if ((term.feature, term.level) in asked if asked is not None else term.feature == split.feature)
    ]
    found = _parting(problem, *rows_at_node(heap, t, problem.encoded), np.array(own, int))
    if found is None:
        words = split.words(problem.encoded.features)[0]
        raise TreeError(
            f"the tree splits on {words[:100]!r}, and no hyperplane with a gap of mu = {problem.params.mu:g} separates "
            f"these rows in the same way; lower {param('mu')}, or give another tree"
        )
    return found


def _parting(problem: Problem, rows: np.ndarray, left: np.ndarray, own: np.ndarray) -> tuple[np.ndarray, float] | None:
    """Return the hyperplane (a, b) that separates these rows in this way. If features have a penalty, it uses the
    fewest features, or the features `own` if these are fewer; otherwise it has the widest gap. Return None if the gap
    is less than μ. The result of the search for the fewest features is cached, because that search may take long."""
    Z = _weighed(problem).Z
    if not branch_penalty(problem):
        return _wide(problem, rows, left, np.arange(Z.shape[1]))
    few = cached_hyperplane(problem, rows, left, lambda: fewest_terms(Z, rows, left, problem.params.mu), "fewest")
    found = None if few is None else _wide(problem, rows, left, few)
    if len(own) and (found is None or len(own) < np.count_nonzero(found[0])):
        found = _wide(problem, rows, left, own) or found
    return found


def _wide(problem: Problem, rows: np.ndarray, left: np.ndarray, of: np.ndarray) -> tuple[np.ndarray, float] | None:
    """Return the hyperplane (a, b) with the widest gap over the terms `of`, computed once; None if the gap is less than
    μ."""
    a, b, width = cached_hyperplane(
        problem, rows, left, lambda: widest_gap(_weighed(problem).Z, rows, left, of), of.tobytes()
    )
    near = width >= problem.params.mu * (1 - NEAR)
    return (a, b) if near and _keeps_gap(problem, a, rows, left) else None


def _keeps_gap(problem: Problem, a: np.ndarray, rows: np.ndarray, left: np.ndarray) -> bool:
    """Return whether the rows are separated by a gap of μ along `a`, scaled to Σ_j |a_j| = 1, in exact numbers."""
    if left.all() or not left.any():
        return True
    sums, sizes = _weighed(problem).exact_sums(a)
    gap = min(sums[rows[~left]]) - max(sums[rows[left]])
    return gap > 0 and gap >= as_written(problem.params.mu) * sum(sizes)


def subjects(params) -> tuple[Subject, ...]:
    return Subject.BRANCHES, Subject.LEAF_ROWS


def unit_costs(problem: Problem) -> tuple[float, float]:
    """Return (1, α L̂) for a tree whose hyperplanes use one feature each; L̂ is the loss of the class of least cost."""
    return oct.unit_costs(problem)

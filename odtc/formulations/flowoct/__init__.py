"""FlowOCT: every row is a unit of flow that reaches the sink if it is classified right.

Aghaei, Gomez & Vayanos 2020, "Learning Optimal Classification Trees: Strong Max-Flow
Formulations", equations (1.1)-(1.13); the numbers below are theirs. `literal=true` is the
printed model. The default is the same model with what an optimum does not need taken out:

* at lambda = 0 every branch node branches (a split costs nothing), so only leaves predict;
* the flow into the root and the flows from leaves to the sink are replaced by what they equal;
* `bottom=stump`: a bottom node with its two leaves is one choice, "ask f and predict k on side
  s", so its flows end there. For integer b its rows are those of (1.7)-(1.9), its relaxation is
  tighter, and labels may be continuous: given b, the best labels are a linear program over a
  simplex, whose vertices are integral (exact while no side constraint mentions labels). The same
  holds for its choices: given the b above, a bottom node's rows are known, and what it asks and predicts is
  one choice from a simplex. So only the b of inner nodes are integer (exact while no side
  constraint ties choices at the bottom).

If only rows that are right flow, flows say nothing of the others, and may be withheld. `rows=all`
is a form that routes every row: its flow is 1, and at the node where it ends goes to the sink of the
class predicted there; with `bottom=stump` the rows of stumps stand beside it, as they bound how many
rows are right. It is taken if a price depends on the class predicted, or a constraint must know
where rows end (odtc.problem.constraints.constraint). A constraint that may ask nodes above the last level to
predict takes the form with labels there, as lambda > 0 does.

With `robust` rows may be moved within boxes, and a tree has to predict them right wherever they are moved to: another
model (odtc.formulations.flowoct.robust).
"""

from dataclasses import dataclass

import numpy as np

from odtc.algorithms.tree_min_cut import walk_sets
from odtc.formulations.shared.feature_sums import BY, BranchSums, StumpSums
from odtc.formulations.shared.node_choices import choice_rows, fit_to_depth, point_of, tree_of
from odtc.model.blocks import Axis
from odtc.model.builder import ModelBuilder
from odtc.model.milp import Model
from odtc.problem import branch_penalty
from odtc.problem.branch_penalty import branch_price, prices  # noqa: F401
from odtc.problem.constraints.constraint import early, knows
from odtc.problem.constraints.kind import Subject
from odtc.problem.constraints.on_predictions import Knows
from odtc.problem.counts import counts_of
from odtc.problem.estimates import Estimate, Sizes
from odtc.problem.parameters import parameter
from odtc.problem.problem import Problem, price_of_errors
from odtc.problem.roles import Role, node_axis
from odtc.trees.boxes import Boxes
from odtc.trees.complete_tree import CompleteTree
from odtc.trees.heap_tree import HeapTree

NAME = "flowoct"
TITLE = "FlowOCT: max-flow formulation on binary tests"
PAPER = "Aghaei, Gomez & Vayanos (2020), Learning Optimal Classification Trees: Strong Max-Flow Formulations"

ANY_COST = True
FORMS = (
    {},
    {"bottom": "flow"},
    {"literal": True},
    {"lambda": 0.25},
    {"lambda": 0.25, "bottom": "flow"},
    {"lambda": 0.25, "literal": True},
    # Data that the laws draw is too small for `auto` to take it.
    {"sums": "features"},
    {"lambda": 0.25, "bottom": "flow", "sums": "features"},
    {"rows": "all"},
    {"lambda": 0.25, "rows": "all", "literal": True},
)


@dataclass(frozen=True)
class Params:
    lambda_: float = parameter(
        0.0,
        "price of a branch node: min (1-λ) loss + λ branch nodes; one has to save λ/(1-λ) units of loss",
        least=0,
        below=1,
    )
    literal: bool = parameter(False, "the printed model (1.1)-(1.13), term by term, with continuous flows")
    bottom: str = parameter("stump", "how the last branch level is written", choices=("stump", "flow"))
    rows: str = parameter(
        "auto",
        "all: every row flows, to the class it is predicted; auto: if costs or constraints need it",
        choices=("auto", "all"),
    )
    sums: str = parameter(
        "auto",
        "how sums over tests are written: an entry per test, about one per original feature "
        "with columns for partial sums, or (auto) as has fewer entries",
        choices=BY,
    )
    robust: str = parameter(
        "",
        "how far rows may be moved, and must be right wherever: age:2,income:5%,colour:free, or one radius for all "
        "numbers",
        silent=True,
        listed_by=":",
    )


@dataclass(frozen=True)
class Shape:
    """Which nodes have which columns; node numbers in heap order."""

    stump: bool  # bottom nodes with their leaves as one choice
    full: bool  # every branch node branches
    whole: np.ndarray  # branch nodes whose choice of a test is integer
    every: bool  # every row flows
    tight: bool  # and the rows of stumps stand beside its flows
    flow: np.ndarray  # nodes with a column for the edge into them
    label: np.ndarray  # nodes with label columns
    sink: np.ndarray  # nodes with columns for the edge to the sink
    paid: np.ndarray  # nodes whose edge in is the edge to the sink, too

    @classmethod
    def of(cls, problem: Problem) -> "Shape":
        tree, params = problem.topology, problem.params
        B, L, every, none = tree.branch_nodes, tree.leaves, tree.nodes, tree.nodes[:0]
        routed = (
            params.rows == "all" or problem.encoded.price is None or bool(knows(problem) & {Knows.CLASS, Knows.LEAF})
        )
        if params.literal:
            return cls(False, False, B, routed, False, every, every, every, none)
        full = params.lambda_ == 0 and not early(problem)
        if routed:
            label = L if full else every
            return cls(False, full, B, True, params.bottom == "stump", B[1:], label, label, none)
        if params.bottom == "stump":
            flow = B[1:] if tree.depth > 1 else B
            # A model without integers is another kind of problem to GLPK and its like: not at depth 1. Nor is a
            # bottom node free to mix its choices if a constraint ties them to those of other nodes.
            whole = tree.inner if tree.depth > 1 and not problem.constraints else B
            return cls(
                True, full, whole, False, False, flow, none if full else B, none if full else tree.inner, tree.bottom
            )
        return cls(False, full, B, False, False, every[1:], L if full else every, none if full else B, L)


def _robust():
    """The model of rows that may be moved, which most runs never need."""
    from odtc.formulations.flowoct import robust

    return robust


def prepared(problem: Problem) -> Problem:
    """With boxes: a row for each class and different cells. Raises ChoiceError for what has no robust form."""
    return _robust().prepared(problem) if problem.params.robust else problem


def holds_cells(problem: Problem) -> bool:
    """Boxes are told from the cells."""
    return bool(problem.params.robust)


def boxes(problem: Problem) -> Boxes | None:
    """The boxes that `robust` asks for."""
    return problem.derived(_robust().Reach).boxes if problem.params.robust else None


def objective(problem: Problem, heap: HeapTree) -> float:
    """(1 - λ) · loss + λ · branch nodes; the loss with boxes is what an adversary makes of it."""
    return (_robust() if problem.params.robust else branch_penalty).objective(problem, heap)


def trimmed(problem: Problem, heap: HeapTree) -> HeapTree:
    """With boxes a tree that an adversary gets wrong more seldom."""
    return _robust().trimmed(problem, heap) if problem.params.robust else heap


def build(problem: Problem) -> Model:
    if problem.params.robust:
        return _robust().build(problem)
    encoded, tree, params = problem.encoded, problem.topology, problem.params
    y, lam, whole = encoded.y, params.lambda_, params.literal or bool(knows(problem) & {Knows.RIGHT, Knows.CLASS})
    n, F, K = encoded.n_rows, encoded.n_tests, len(encoded.classes)
    shape = Shape.of(problem)
    B, L, bottom = tree.branch_nodes, tree.leaves, tree.bottom
    forks = tree.inner if shape.stump else B  # branch nodes whose children have flows
    row, test, klass, side = Axis("row", n), Axis("test", F), Axis("class", K), Axis("side", 2)
    m = ModelBuilder(f"{NAME}_d{tree.depth}")

    # min (1-λ) Σ_i w_i (1 - Σ_t z^i_{t,sink}) + λ Σ_tf b_tf,  w_i the price of an error  (1.1)
    # min (1-λ) Σ_i Σ_t Σ_k loss_ik z^i_{t,k} + λ Σ_tf b_tf                               with all rows
    gain = 0 if shape.every else -(1 - lam) * price_of_errors(problem)[:, None]
    b = m.columns("b", node_axis(B), test, role=Role.BRANCH, cost=lam, integer=np.isin(B, shape.whole)[:, None])
    w = m.columns("w", node_axis(shape.label), klass, role=Role.LABEL, integer=whole) if len(shape.label) else None
    sends, right = sums(problem)
    if len(forks):
        sends.add(m, b, node_axis(forks))
    if shape.stump or shape.tight:
        p = m.columns(
            "p",
            node_axis(bottom),
            test,
            side,
            klass,
            role=Role.STUMP if shape.stump else "",
            integer=whole and shape.stump,
        )
        right.add(m, p, node_axis(bottom))
    if len(shape.flow):
        pays = np.isin(shape.flow, shape.paid)
        z = m.columns("z", row, node_axis(shape.flow), role="" if shape.every else Role.FLOW, cost=lambda: gain * pays)
    if shape.every:
        zs = m.columns(
            "zs", row, node_axis(shape.sink), klass, role=Role.PREDICTED, cost=lambda: (1 - lam) * encoded.loss[:, None]
        )
    elif len(shape.sink):
        zs = m.columns("zs", row, node_axis(shape.sink), role=Role.SINK, cost=gain)
    if not shape.every:
        m.constant((1 - lam) * float(price_of_errors(problem).sum()))

    i, k, f = np.arange(n)[:, None], np.arange(K), np.arange(F)

    choice_rows(m, tree, b, w, shape.full, shape.stump)  # (1.2), (1.3)

    def ends(rows, at, t, coef=1.0):
        """coef · z_{t,sink} in rows[i, at], over the sinks of all classes if there are such."""
        if shape.every:
            m.add(rows[i[:, None], at[:, None]], zs[i[:, None], t[:, None], k], coef)
        else:
            m.add(rows[i, at], zs[i, t], coef)

    def into(rows, at, t, coef=1.0):
        """coef · z_{a(t),t} in rows[i, at]; without such columns into leaves it is what ends there."""
        there = np.isin(t, shape.flow)
        if there.any():
            m.add(rows[i, at[there]], z[i, t[there]], coef)
        if not there.all():
            ends(rows, at[~there], t[~there], coef)

    # z_{a(t),t} = z_{t,2t} + z_{t,2t+1} + z_{t,sink}  t ∈ B, i                         (1.4)
    # Without the flow into the root, (1.2), (1.7)-(1.9) already bound the sum there by 1.
    t = forks[np.isin(forks, shape.flow)]
    if len(t):
        keep = m.rows("keep", row, node_axis(t), lower=0, upper=0)
        m.add(keep[i, t], z[i, t])
        into(keep, t, 2 * t, -1)
        into(keep, t, 2 * t + 1, -1)
        if not shape.full:
            ends(keep, t, t, -1)

    # z_{a(t),t} = z_{t,sink}                          t ∈ L, i                         (1.5)
    # z_{s,1} ≤ 1                                      i   (= 1 with all rows)          (1.6)
    if params.literal:
        arrive = m.rows("arrive", row, node_axis(L), lower=0, upper=0)
        m.add(arrive[i, L], z[i, L])
        ends(arrive, L, L, -1)
        source = m.rows("source", row, lower=1 if shape.every else -np.inf, upper=1)
        m.add(source[i], z[i, 1])
    elif shape.every:
        source, root = m.rows("source", row, node_axis(B[:1]), lower=1, upper=1), B[:1]
        into(source, root, 2 * root)
        into(source, root, 2 * root + 1)
        if not shape.full:
            ends(source, root, root)

    # z_{t,2t}   ≤ Σ_{f: x_if = 0} b_tf                t ∈ B, i                         (1.7)
    # z_{t,2t+1} ≤ Σ_{f: x_if = 1} b_tf                t ∈ B, i                         (1.8)
    for value, name in enumerate(("left", "right") if len(forks) else ()):
        turn = m.rows(name, row, node_axis(forks), upper=0)
        into(turn, forks, 2 * forks + value)
        for at, cells, coef in sends.entries(value, forks):
            m.add(turn[at, forks], cells, -coef)

    # z_{t,sink} ≤ w_{t,y_i}                           t ∈ B ∪ L, i                     (1.9)
    # z_{t,k}    ≤ w_tk                                t ∈ B ∪ L, i, k                  with all rows
    if shape.every:
        t = shape.sink[:, None]
        hit = m.rows("sink", row, node_axis(shape.sink), klass, upper=0)
        m.add(hit[i[:, None], t, k], zs[i[:, None], t, k])
        m.add(hit[i[:, None], t, k], w[t, k], -1)
    for name, t, flow in (
        ("sink", () if shape.every else shape.sink, "zs"),
        ("hit", () if shape.stump else shape.paid, "z"),
    ):
        if len(t):
            hit = m.rows(name, row, node_axis(t), upper=0)
            m.add(hit[i, t], (zs if flow == "zs" else z)[i, t])
            m.add(hit[i, t], w[t, y[:, None]], -1)

    # Σ_k p_tfsk = b_tf                                t bottom, f, s
    # z_{a(t),t} ≤ Σ_f p_{t,f,x_if,y_i} + w_{t,y_i}    t bottom, i      instead of (1.7)-(1.9) there
    # z_{2t,y_i} + z_{2t+1,y_i} ≤ Σ_f p_{t,f,x_if,y_i}                  beside them, with all rows
    if shape.stump or shape.tight:
        t, s = bottom[:, None, None, None], np.arange(2)[:, None]
        pick = m.rows("pick", node_axis(bottom), test, side, lower=0, upper=0)
        m.add(pick[t, f[:, None, None], s], b[t, f[:, None, None]], -1)
        m.add(pick[t, f[:, None, None], s], p[t, f[:, None, None], s, k])
        stump = m.rows("stump", row, node_axis(bottom), upper=0)
        if shape.stump:
            m.add(stump[i, bottom], z[i, bottom])
        else:
            m.add(
                stump[i[:, None], bottom[:, None]], zs[i[:, None], 2 * bottom[:, None] + np.arange(2), y[:, None, None]]
            )
        if shape.stump and not shape.full:
            m.add(stump[i, bottom], w[bottom, y[:, None]], -1)
        for at, cells, coef in right.entries(bottom):
            m.add(stump[at, bottom], cells, -coef)
    return m.finish()


def sums(problem: Problem) -> tuple[BranchSums, StumpSums]:
    """The right sides of (1.7), (1.8), and of the rows of stumps."""
    by = "tests" if problem.params.literal else problem.params.sums
    return BranchSums(problem.encoded, by), StumpSums(problem.encoded, by)


def start(problem: Problem, heap: HeapTree) -> dict[str, np.ndarray]:
    """Any tree of this depth over the tests, as a complete feasible point: {block: values}."""
    if problem.params.robust:
        return _robust().start(problem, heap)
    encoded, tree, shape = problem.encoded, problem.topology, Shape.of(problem)
    heap = fit_to_depth(problem, heap, shape.full)
    point = point_of(problem, heap, shape.label, shape.stump or shape.tight)
    sends, right = sums(problem)
    point |= sends.values(point["b"][(tree.inner if shape.stump else tree.branch_nodes) - 1])
    point |= right.values(point["p"]) if "p" in point else {}
    end = heap.reach(encoded.X)
    correct = heap.label[end] == encoded.y
    # A row flows through all nodes from the root to its end, if it is classified right there.
    size = len(heap.test)
    on_path = walk_sets(np.arange(size), size)[end][:, shape.flow]
    flows = np.ones(len(end), bool) if shape.every else correct
    if len(shape.flow):
        point["z"] = (on_path & flows[:, None]).astype(float)
    if len(shape.sink):
        point["zs"] = ((end[:, None] == shape.sink) & flows[:, None]).astype(float)
    if shape.every:
        point["zs"] = point["zs"][:, :, None] * (heap.label[end][:, None, None] == np.arange(len(encoded.classes)))
    return point


def decode(problem: Problem, point: dict[str, np.ndarray]) -> HeapTree:
    """The tree of a point, from b, w and p alone; flows may be fractional."""
    if problem.params.robust:
        return _robust().decode(problem, point)
    shape = Shape.of(problem)
    return tree_of(problem, point, shape.label, shape.stump)


def estimate(sizes: Sizes) -> Estimate:
    """It takes every constraint, and has rows and columns for each row of the data and each test; they are counted if
    a model is wanted."""
    words = "grows with the rows"
    if sizes.encoded is None or sizes.fitting:
        return Estimate(True, words)
    size = counts_of(Problem(sizes.encoded, CompleteTree(sizes.depth), NAME, Params()))
    return Estimate(True, f"{words} ({size.columns:,} columns, {size.rows:,} rows)")


def subjects(params) -> tuple[Subject, ...]:
    if params.robust:
        return _robust().SUBJECTS
    return tuple(subject for subject in Subject if subject != Subject.SETTLED)

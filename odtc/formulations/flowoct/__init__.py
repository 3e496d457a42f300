"""FlowOCT: every row is a unit of flow that reaches the sink if the row is classified correctly.

Aghaei, Gomez & Vayanos 2020, "Learning Optimal Classification Trees: Strong Max-Flow Formulations", equations
(1.1)-(1.13); the numbers below refer to the paper. `literal=true` is the printed model. The default is the same
model without the parts that an optimum does not need:

* at lambda = 0 every branch node branches, because a split costs nothing, so only leaves predict;
* the flow into the root and the flows from leaves to the sink are replaced by equal expressions;
* `bottom=stump`: a bottom node with its two leaves is one choice, "split on f and predict k on side
  s", so its flows end there. For integer b its constraints are equivalent to (1.7)-(1.9), but the
  relaxation is tighter, and labels may be continuous: given b, the best labels are a linear program
  over a simplex, whose vertices are integral (exact if no side constraint refers to labels). The same
  is true of the splits: given the b above, the rows of a bottom node are known, and its split with its
  labels is one choice from a simplex. So only the b of inner nodes are integer (exact if no side
  constraint ties choices at the bottom).

If only correctly classified rows flow, flows contain no information on the others, and may be withheld. `rows=all` is
a variant that routes every row: its flow is 1, and at the node where it ends it goes to the sink of the class
predicted there. With `bottom=stump` the constraints of stumps are added to it, because they bound how many rows are
correct. This variant is used if a cost depends on the class predicted, or if a side constraint must know where rows
end (odtc.problem.constraints.constraint). For a side constraint that may require nodes above the last level to
predict, the variant has labels there, as for lambda > 0.

With `robust` rows may be moved within boxes, and a tree has to predict them correctly wherever they are moved to. This
is another model (odtc.formulations.flowoct.robust).
"""

import numpy as np

from odtc.algorithms.tree_min_cut import walk_sets
from odtc.base.text import count_of
from odtc.base.value_class import value_class
from odtc.formulations.shared import node_choices
from odtc.formulations.shared.feature_sums import BY, BranchSums, StumpSums
from odtc.model.blocks import Axis, Block
from odtc.model.builder import ModelBuilder
from odtc.model.milp import Model
from odtc.problem import branch_penalty as penalised
from odtc.problem.branch_penalty import branch_penalty, unit_costs  # noqa: F401
from odtc.problem.constraints.constraint import early, knows
from odtc.problem.constraints.kind import Knows, Subject
from odtc.problem.counts import counts_of
from odtc.problem.estimates import Estimate, Sizes
from odtc.problem.formulation import FORMULATIONS, MERGED, SAME, ModelChange, error_cost
from odtc.problem.parameters import merge_rows, parameter
from odtc.problem.problem import Problem
from odtc.problem.roles import Role, node_axis
from odtc.trees.boxes import Boxes
from odtc.trees.heap_tree import CompleteTree, HeapTree

NAME = "flowoct"
TITLE = "FlowOCT: max-flow formulation on binary splits"
PAPER = "Aghaei, Gomez & Vayanos (2020), Learning Optimal Classification Trees: Strong Max-Flow Formulations"

ANY_COST = True
CHANGES = (
    node_choices.FULL,
    ModelChange("flows from the root and from leaves to the sink are replaced by equal expressions", SAME, SAME),
    node_choices.STUMP,
    ModelChange(
        "sums=auto: partial sums over features get variables if that saves entries (undo: sums=splits)", SAME, SAME
    ),
    MERGED,
)
VARIANTS = (
    {},
    {"bottom": "flow"},
    {"literal": True},
    {"lambda": 0.25},
    {"lambda": 0.25, "bottom": "flow"},
    {"lambda": 0.25, "literal": True},
    # The data of the property tests is too small for `auto` to choose it.
    {"sums": "features"},
    {"lambda": 0.25, "bottom": "flow", "sums": "features"},
    {"rows": "all"},
    {"lambda": 0.25, "rows": "all", "literal": True},
)


@value_class
class Params:
    lambda_: float = parameter(
        0.0,
        "penalty for each branch node: min (1-λ) loss + λ branch nodes; a node has to save λ/(1-λ) units of loss",
        least=0,
        below=1,
    )
    literal: bool = parameter(False, "the printed model (1.1)-(1.13), term by term, with continuous flows")
    bottom: str = parameter("stump", "how the last branch level is written", choices=("stump", "flow"))
    rows: str = parameter(
        "auto",
        "all: every row flows, to the class predicted for it; auto: only if costs or constraints need this",
        choices=("auto", "all"),
    )
    sums: str = parameter(
        "auto",
        "how sums over splits are written: an entry per split, about one per original feature "
        "with columns for partial sums; auto: the way with fewer entries",
        choices=BY,
    )
    robust: str = parameter(
        "",
        "how far the cells of a row may move while its prediction must stay correct: age:2,income:5%,colour:free, or "
        "one radius for all numbers",
        silent=True,
        listed_by=":",
    )
    merge: bool = merge_rows()


@value_class
class Shape:
    """Nodes that have variables of each type; node numbers are in heap order."""

    stump: bool  # bottom nodes with their leaves as one choice
    full: bool  # every branch node branches
    whole: np.ndarray  # branch nodes whose choice of a split is integer
    every: bool  # every row flows
    tight: bool  # the constraints of stumps are added to its flows
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
            whole = node_choices.whole_with_stumps(problem)
            return cls(
                True, full, whole, False, False, flow, none if full else B, none if full else tree.inner, tree.bottom
            )
        return cls(False, full, B, False, False, every[1:], L if full else every, none if full else B, L)


def _robust():
    """Return the module of the model for rows that may be moved, which most runs never need."""
    from odtc.formulations.flowoct import robust

    return robust


def prepared(problem: Problem) -> Problem:
    """Return the problem with one row for each class and different cells, if there are boxes. Raises ChoiceError for a
    problem without a robust variant."""
    return _robust().prepared(problem) if problem.params.robust else problem


def holds_cells(problem: Problem) -> bool:
    """Return whether the cells are needed, because boxes follow from them."""
    return bool(problem.params.robust)


def boxes(problem: Problem) -> Boxes | None:
    """Return the boxes that `robust` requests."""
    return problem.derived(_robust().Reach).boxes if problem.params.robust else None


def objective(problem: Problem, heap: HeapTree) -> float:
    """Return (1 - λ) · loss + λ · branch nodes; with boxes the loss is the worst one that an adversary can cause."""
    return (_robust() if problem.params.robust else penalised).objective(problem, heap)


def trimmed(problem: Problem, heap: HeapTree) -> HeapTree:
    """Return the tree; with boxes a tree that an adversary can fool less often."""
    return _robust().trimmed(problem, heap) if problem.params.robust else heap


def build(problem: Problem) -> Model:
    if problem.params.robust:
        return _robust().build(problem)
    flow = _Flow(problem)
    # (1.2), (1.3)
    node_choices.choice_rows(flow.m, problem.topology, flow.b, flow.w, flow.shape.full, flow.shape.stump)
    flow.conserve()
    flow.enter_and_leave()
    flow.turn()
    flow.predict()
    if flow.shape.stump or flow.shape.tight:
        flow.end_at_stumps()
    return flow.m.finish()


class _Flow:
    """The model while it is written: its variables, and for each equation a method that adds its constraints.

    Attributes
    ----------
    m : ModelBuilder
    shape : Shape
    b, w : Block
        Of a split at a branch node, and of a label; w is None if no node has label variables.
    p : Block
        Of a bottom node with its two leaves, if the model has the constraints of stumps.
    z, zs : Block
        Of the edge into a node, and of the edge to the sink, by class if all rows flow; if the shape has such edges.
    """

    def __init__(self, problem: Problem):
        encoded, tree, params = problem.encoded, problem.topology, problem.params
        self.problem, self.shape = problem, Shape.of(problem)
        self.m = ModelBuilder(f"{NAME}_d{tree.depth}")
        # Branch nodes whose children have flows.
        self.forks = tree.inner if self.shape.stump else tree.branch_nodes
        self.row, self.split = Axis("row", encoded.n_rows), Axis("split", encoded.n_candidate_splits)
        self.klass, self.side = Axis("class", len(encoded.classes)), Axis("side", 2)
        self.i, self.k = np.arange(encoded.n_rows)[:, None], np.arange(len(encoded.classes))
        self.y, self.sums = encoded.y, sums(problem)
        self._choices(params.lambda_, params.literal or bool(knows(problem) & {Knows.RIGHT, Knows.CLASS}))
        self._edges(params.lambda_)

    def _choices(self, lam: float, whole: bool) -> None:
        """Add the variables of splits and labels; labels are integer if `whole`."""
        m, shape, tree = self.m, self.shape, self.problem.topology
        B, (sends, right) = tree.branch_nodes, self.sums
        self.b = m.columns(
            "b", node_axis(B), self.split, role=Role.BRANCH, cost=lam, integer=np.isin(B, shape.whole)[:, None]
        )
        self.w = None
        if len(shape.label):
            self.w = m.columns("w", node_axis(shape.label), self.klass, role=Role.LABEL, integer=whole)
        if len(self.forks):
            sends.add(m, self.b, node_axis(self.forks))
        if shape.stump or shape.tight:
            axes = node_axis(tree.bottom), self.split, self.side, self.klass
            role = Role.STUMP if shape.stump else ""
            self.p = m.columns("p", *axes, role=role, integer=whole and shape.stump)
            right.add(m, self.p, node_axis(tree.bottom))

    def _edges(self, lam: float) -> None:
        """Add the variables of flows, with the objective:

        min (1-λ) Σ_i w_i (1 - Σ_t z^i_{t,sink}) + λ Σ_tf b_tf, w_i the cost of an error (1.1) min (1-λ) Σ_i Σ_t Σ_k
        loss_ik z^i_{t,k} + λ Σ_tf b_tf with all rows
        """
        m, shape, encoded = self.m, self.shape, self.problem.encoded
        gain = 0 if shape.every else -(1 - lam) * error_cost(self.problem)[:, None]
        if len(shape.flow):
            pays, role = np.isin(shape.flow, shape.paid), "" if shape.every else Role.FLOW
            self.z = m.columns("z", self.row, node_axis(shape.flow), role=role, cost=lambda: gain * pays)
        if shape.every:
            axes, cost = (self.row, node_axis(shape.sink), self.klass), lambda: (1 - lam) * encoded.loss[:, None]
            self.zs = m.columns("zs", *axes, role=Role.PREDICTED, cost=cost)
        elif len(shape.sink):
            self.zs = m.columns("zs", self.row, node_axis(shape.sink), role=Role.SINK, cost=gain)
        if not shape.every:
            m.constant((1 - lam) * float(error_cost(self.problem).sum()))

    def conserve(self) -> None:
        """z_{a(t),t} = z_{t,2t} + z_{t,2t+1} + z_{t,sink}  t ∈ B, i                         (1.4)

        Without the flow into the root, (1.2), (1.7)-(1.9) already bound the sum there by 1.
        """
        t = self.forks[np.isin(self.forks, self.shape.flow)]
        if not len(t):
            return
        keep = self.m.rows("keep", self.row, node_axis(t), lower=0, upper=0)
        self.m.add(keep[self.i, t], self.z[self.i, t])
        self._into(keep, t, 2 * t, -1)
        self._into(keep, t, 2 * t + 1, -1)
        if not self.shape.full:
            self._ends(keep, t, t, -1)

    def enter_and_leave(self) -> None:
        """z_{a(t),t} = z_{t,sink}                          t ∈ L, i                         (1.5)
        z_{s,1} ≤ 1                                         i   (= 1 with all rows)          (1.6)
        """
        m, i, L, root = self.m, self.i, self.problem.topology.leaves, self.problem.topology.branch_nodes[:1]
        if self.problem.params.literal:
            arrive = m.rows("arrive", self.row, node_axis(L), lower=0, upper=0)
            m.add(arrive[i, L], self.z[i, L])
            self._ends(arrive, L, L, -1)
            source = m.rows("source", self.row, lower=1 if self.shape.every else -np.inf, upper=1)
            m.add(source[i], self.z[i, 1])
        elif self.shape.every:
            source = m.rows("source", self.row, node_axis(root), lower=1, upper=1)
            self._into(source, root, 2 * root)
            self._into(source, root, 2 * root + 1)
            if not self.shape.full:
                self._ends(source, root, root)

    def turn(self) -> None:
        """z_{t,2t}   ≤ Σ_{f: x_if = 0} b_tf                t ∈ B, i                         (1.7)
        z_{t,2t+1} ≤ Σ_{f: x_if = 1} b_tf                   t ∈ B, i                         (1.8)
        """
        forks, (sends, _) = self.forks, self.sums
        for value, name in enumerate(("left", "right") if len(forks) else ()):
            turn = self.m.rows(name, self.row, node_axis(forks), upper=0)
            self._into(turn, forks, 2 * forks + value)
            for at, cells, coef in sends.entries(value, forks):
                self.m.add(turn[at, forks], cells, -coef)

    def predict(self) -> None:
        """z_{t,sink} ≤ w_{t,y_i}                           t ∈ B ∪ L, i                     (1.9)
        z_{t,k}    ≤ w_tk                                   t ∈ B ∪ L, i, k                  with all rows
        """
        m, shape, i, k = self.m, self.shape, self.i, self.k
        if shape.every:
            t = shape.sink[:, None]
            hit = m.rows("sink", self.row, node_axis(shape.sink), self.klass, upper=0)
            m.add(hit[i[:, None], t, k], self.zs[i[:, None], t, k])
            m.add(hit[i[:, None], t, k], self.w[t, k], -1)
        elif len(shape.sink):
            self._predict_own("sink", shape.sink, self.zs)
        if len(shape.paid) and not shape.stump:
            self._predict_own("hit", shape.paid, self.z)

    def _predict_own(self, name: str, t: np.ndarray, edge: Block) -> None:
        """Require the label of a row's class at a node t where the row is classified correctly."""
        hit = self.m.rows(name, self.row, node_axis(t), upper=0)
        self.m.add(hit[self.i, t], edge[self.i, t])
        self.m.add(hit[self.i, t], self.w[t, self.y[:, None]], -1)

    def end_at_stumps(self) -> None:
        """Σ_k p_tfsk = b_tf                                t bottom, f, s
        z_{a(t),t} ≤ Σ_f p_{t,f,x_if,y_i} + w_{t,y_i}       t bottom, i      instead of (1.7)-(1.9) there
        z_{2t,y_i} + z_{2t+1,y_i} ≤ Σ_f p_{t,f,x_if,y_i}                     in addition to them, with all rows
        """
        m, i, y, bottom, (_, right) = self.m, self.i, self.y, self.problem.topology.bottom, self.sums
        t, s = bottom[:, None, None, None], np.arange(2)[:, None]
        f = np.arange(self.problem.encoded.n_candidate_splits)[:, None, None]
        pick = m.rows("pick", node_axis(bottom), self.split, self.side, lower=0, upper=0)
        m.add(pick[t, f, s], self.b[t, f], -1)
        m.add(pick[t, f, s], self.p[t, f, s, self.k])
        stump = m.rows("stump", self.row, node_axis(bottom), upper=0)
        if self.shape.stump:
            m.add(stump[i, bottom], self.z[i, bottom])
        else:
            leaves = 2 * bottom[:, None] + np.arange(2)
            m.add(stump[i[:, None], bottom[:, None]], self.zs[i[:, None], leaves, y[:, None, None]])
        if self.shape.stump and not self.shape.full:
            m.add(stump[i, bottom], self.w[bottom, y[:, None]], -1)
        for at, cells, coef in right.entries(bottom):
            m.add(stump[at, bottom], cells, -coef)

    def _ends(self, rows: Block, at: np.ndarray, t: np.ndarray, coef: float = 1.0) -> None:
        """Add coef · z_{t,sink} to rows[i, at], over the sinks of all classes if there are such."""
        i = self.i
        if self.shape.every:
            self.m.add(rows[i[:, None], at[:, None]], self.zs[i[:, None], t[:, None], self.k], coef)
        else:
            self.m.add(rows[i, at], self.zs[i, t], coef)

    def _into(self, rows: Block, at: np.ndarray, t: np.ndarray, coef: float = 1.0) -> None:
        """Add coef · z_{a(t),t} to rows[i, at]; for leaves without such variables, the flow that ends there."""
        there = np.isin(t, self.shape.flow)
        if there.any():
            self.m.add(rows[self.i, at[there]], self.z[self.i, t[there]], coef)
        if not there.all():
            self._ends(rows, at[~there], t[~there], coef)


def sums(problem: Problem) -> tuple[BranchSums, StumpSums]:
    """Return the right-hand sides of (1.7), (1.8), and of the constraints of stumps."""
    by = "splits" if problem.params.literal else problem.params.sums
    return BranchSums(problem.encoded, by), StumpSums(problem.encoded, by)


def start(problem: Problem, heap: HeapTree) -> dict[str, np.ndarray]:
    """Return any tree of this depth over the splits as a complete feasible point: {block: values}."""
    if problem.params.robust:
        return _robust().start(problem, heap)
    encoded, tree, shape = problem.encoded, problem.topology, Shape.of(problem)
    heap = node_choices.fit_to_depth(problem, heap, shape.full)
    point = node_choices.point_of(problem, heap, shape.label, shape.stump or shape.tight)
    sends, right = sums(problem)
    point |= sends.values(point["b"][(tree.inner if shape.stump else tree.branch_nodes) - 1])
    point |= right.values(point["p"]) if "p" in point else {}
    end = heap.reach(encoded.X)
    correct = heap.label[end] == encoded.y
    # A row flows through all nodes from the root to its end, if it is classified correctly there.
    size = len(heap.split)
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
    """Return the tree of a point, read only from b, w and p; flows may be fractional."""
    if problem.params.robust:
        return _robust().decode(problem, point)
    shape = Shape.of(problem)
    return node_choices.tree_of(problem, point, shape.label, shape.stump)


def estimate(sizes: Sizes) -> Estimate:
    """Return an estimate: it supports every constraint, and has constraints and variables for each row of the data and
    each split, which are counted if a model is requested."""
    words = "grows with the rows"
    if sizes.encoded is None or sizes.fitting:
        return Estimate(True, words)
    size = counts_of(Problem(sizes.encoded, CompleteTree(sizes.depth), FORMULATIONS.get(NAME), Params()))
    return Estimate(True, f"{words} ({count_of(size.columns, 'variable')}, {count_of(size.rows, 'constraint')})")


def subjects(params) -> tuple[Subject, ...]:
    if params.robust:
        return _robust().SUBJECTS
    return tuple(subject for subject in Subject if subject != Subject.SETTLED)

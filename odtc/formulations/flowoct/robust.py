"""The robust variant: a row is correct if every leaf that its box meets predicts its class (`-p robust=age:2`).

The boxes are defined in odtc.trees.boxes. For row i and split f let A_if, part of {0, 1}, be the outcomes of the points
of the box: both if the threshold cuts the box. The row may be sent from node t to every child that an outcome in A_if
leads to; it is correct at t, g_it = 1, if all leaves below t that it may reach predict its class:

    max Σ_i w_i g_i1                                             (less penalties of branch nodes, as in FlowOCT)
    g_it <= g_i,2t   + Σ_{f: 0 not in A_if} b_tf + w_t,y_i       t inner, i      the left child, unless it is not met
    g_it <= g_i,2t+1 + Σ_{f: 1 not in A_if} b_tf + w_t,y_i       t inner, i      the right child
    g_it <= g_i,2t + g_i,2t+1 + w_t,y_i                          t inner, i      one of them is met
    g_it <= Σ_f b_tf + w_t,y_i                                   t inner, i      if it may predict

No variables are multiplied, so no big M is needed. These are all inequalities of the best relaxation of one node:
divide g_it into the parts that splits send left, right and both ways, s_0 <= Σ_{A = {0}} b, s_1 <= Σ_{A = {1}} b, s_01
<= Σ_{A = {0, 1}} b with s_0 + s_01 <= g_i,2t and s_1 + s_01 <= g_i,2t+1; by duality the maximum of their sum is the
least of the right-hand sides above. Without boxes every A_if has one outcome, and the relaxation is equal to the
relaxation of FlowOCT's flows, by its minimum cuts. At the bottom nodes the leaves are part of the choice, as in
FlowOCT's `bottom=stump`:

    g_it <= Σ_{f: A_if = {s}} p_{t,f,s,y_i} + w_t,y_i            t bottom, i;    Σ_k p_tfsk = b_tf

A split that sends the box both ways has two leaves of different classes, because otherwise the node predicts (w); so
the row is misclassified. With `bottom=flow` leaves have labels w, and bottom nodes have the constraints of inner
nodes, too.

Why it is exact: outcomes are combined node by node, as if they were independent. Splits on one number are half-lines,
and the box is an interval: convex sets of a line of which each two meet all meet. So a leaf that is met node by node
but not by the box has an empty region of its own, which no box meets. A tree without such leaves (`Reach.settled`) is
counted exactly, and is as good. The same is true of a column that may take any level, because the box is all levels.
The labels of several leaves are tied together by the rows that meet them, so they are integer, too.
"""

from dataclasses import replace
from functools import cached_property

import numpy as np

from odtc.base import deadline
from odtc.base.wording import option, param
from odtc.data.encoding import Encoded
from odtc.data.task import expect_classes
from odtc.errors import ChoiceError, TimeLimitReached
from odtc.formulations.shared.feature_sums import BranchSums
from odtc.formulations.shared.node_choices import choices_of, point_of
from odtc.heuristics.heuristic import HEURISTICS
from odtc.model.blocks import Axis, Block
from odtc.model.builder import ModelBuilder
from odtc.model.milp import Model
from odtc.problem.constraints.constraint import early
from odtc.problem.constraints.kind import Subject
from odtc.problem.formulation import error_cost
from odtc.problem.problem import Problem
from odtc.problem.roles import Role, node_axis
from odtc.trees.attack import Part
from odtc.trees.boxes import Boxes
from odtc.trees.heap_tree import HeapTree, laid_out

SUBJECTS = (Subject.BRANCHES, Subject.TESTS, Subject.FEATURES, Subject.PLACES, Subject.DEPTHS)
CELLS = 4e6  # maximum of rows times splits times classes that are counted in one step of the start


def expect(problem: Problem) -> None:
    """Raise ChoiceError for parameters and costs that the variant does not support."""
    params = problem.params
    expect_classes(problem.encoded.task, param("robust"))
    for key, value, given in (("literal", True, params.literal), ("rows", "all", params.rows == "all")):
        if given:
            raise ChoiceError(
                f"{param('robust')}: no row has one way through the tree, which {param(key, value)} writes; leave it "
                "out"
            )
    if problem.encoded.class_cost is None:
        raise ChoiceError(
            f"{param('robust')} counts a row only as correct or misclassified, so it cannot take costs that depend on "
            f"the class predicted; use costs by true class only ({option('class_weight')})"
        )
    dataset = problem.encoded.dataset
    if dataset is not None and dataset.selected is not None:
        raise ChoiceError(
            f"{param('robust')} is about all rows, and {option('select')} leaves some out; leave out one of the two"
        )
    _ = problem.derived(Reach).boxes


def prepared(problem: Problem) -> Problem:
    """Return the problem with a row for each class and different cells, because rows with the same outcomes of all
    splits may have boxes with different ones."""
    expect(problem)
    encoded, dataset = problem.encoded, problem.encoded.dataset
    if dataset is None or encoded.values is not None:
        return problem
    cells = np.where(np.isnan(dataset.X), np.inf, dataset.X)
    _, first, of = np.unique(np.column_stack([encoded.row_of, cells]), axis=0, return_index=True, return_inverse=True)
    of, n = of.reshape(-1), len(first)
    merged = encoded.row_of[first]
    split = replace(
        encoded,
        X=np.ascontiguousarray(np.asarray(encoded.X)[merged]),
        y=dataset.y[first],
        weight=np.bincount(of, dataset.weight, n),
        copies=np.bincount(of, dataset.copies, n).astype(np.int64),
        row_of=of,
        sums=np.zeros((n, 0)),
        groups=(),
    )
    return replace(problem, encoded=split)


class Reach:
    """Possible outcomes of the splits on the rows of a problem. Rows of one class with the same possible outcomes of
    all splits are one row."""

    def __init__(self, problem: Problem):
        self.problem = problem
        encoded, dataset = problem.encoded, problem.encoded.dataset
        self._X = encoded.values if dataset is None or encoded.values is not None else dataset.X
        self._by_row = dataset is None or encoded.values is not None

    @cached_property
    def boxes(self) -> Boxes:
        return Boxes.parse(self.problem.params.robust, self.problem.encoded.features, self._X)

    @cached_property
    def _sides(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        encoded = self.problem.encoded
        zero = np.empty((len(self._X), encoded.n_candidate_splits), bool)
        one = np.empty_like(zero)
        for j, (split, ones_left) in enumerate(zip(encoded.splits, encoded.ones_left)):
            left, right = self.boxes.sides(split, self._X)
            zero[:, j], one[:, j] = (right, left) if ones_left else (left, right)
        deadline.check()
        y, price = self._rows
        packed = np.packbits(np.column_stack([zero, one]), axis=1)
        _, first, of = np.unique(np.column_stack([packed, y]), axis=0, return_index=True, return_inverse=True)
        of = of.reshape(-1)
        return zero[first], one[first], y[first], np.bincount(of, price, len(first))

    @cached_property
    def _rows(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (class, cost of an error) of each row of X."""
        encoded = self.problem.encoded
        if self._by_row:
            return encoded.y, error_cost(self.problem)
        y = encoded.dataset.y
        return y, encoded.dataset.weight * encoded.class_cost[y]

    def settled(self, split: np.ndarray, label: np.ndarray) -> HeapTree:
        """Return the tree of these splits and classes, int32 (2^(depth + 1),), without the branch nodes that no point
        of a box needs: nodes with a side that no box meets, or whose children predict the same class. A node
        without a class gets the class of most of the rows whose boxes meet it, weighted by their costs."""
        encoded, (y, price) = self.problem.encoded, self._rows

        def walk(t: int, part: Part, inherited: int):
            if not len(part.rows):
                return inherited
            most = int(np.bincount(y[part.rows], price[part.rows], len(encoded.classes)).argmax())
            f = int(split[t])
            if f < 0:
                return int(label[t]) if label[t] >= 0 else most
            sides = [part.side(encoded.splits[f], bool(answer) == bool(encoded.ones_left[f])) for answer in (0, 1)]
            for answer in (0, 1):
                if not len(sides[1 - answer].rows):
                    return walk(2 * t + answer, sides[answer], most)
            zero, one = (walk(2 * t + answer, side, most) for answer, side in enumerate(sides))
            return zero if zero == one and isinstance(zero, int) else (f, zero, one)

        return HeapTree(*laid_out(walk(1, Part.of(self._X, self.boxes), 0), len(split)))

    @property
    def zero(self) -> np.ndarray:
        """Return bool (rows, splits): whether some point of the box has outcome 0."""
        return self._sides[0]

    @property
    def one(self) -> np.ndarray:
        """Return bool (rows, splits): whether some point of the box has outcome 1."""
        return self._sides[1]

    @property
    def y(self) -> np.ndarray:
        return self._sides[2]

    @property
    def price(self) -> np.ndarray:
        """Return float64 (rows,): the cost of a row if some point of its box is misclassified."""
        return self._sides[3]

    @cached_property
    def stacked(self) -> Encoded:
        """Return the outcomes as rows of an encoding, for sums over splits: whether outcome 1 is the only one of the
        box, and after these rows whether outcome 1 is possible."""
        return replace(self.problem.encoded, X=np.vstack([~self.zero, self.one]), cells=None)

    def met(self, heap: HeapTree) -> list[np.ndarray]:
        """Return bool (rows,) of each node: which rows may reach it."""
        met = [np.zeros(len(self.y), bool) for _ in heap.split]
        met[1] = np.ones(len(self.y), bool)
        for t in np.flatnonzero(heap.split >= 0).tolist():
            met[2 * t], met[2 * t + 1] = met[t] & self.zero[:, heap.split[t]], met[t] & self.one[:, heap.split[t]]
        return met

    def right(self, heap: HeapTree) -> list[np.ndarray]:
        """Return bool (rows,) of each node: whether a row that reaches it is correct in all leaves that it may then
        reach."""
        right = [np.zeros(len(self.y), bool) for _ in heap.split]
        for t in range(len(heap.split) - 1, 0, -1):
            if heap.split[t] < 0:
                right[t] = heap.label[t] == self.y
            else:
                f = heap.split[t]
                right[t] = (right[2 * t] | ~self.zero[:, f]) & (right[2 * t + 1] | ~self.one[:, f])
        return right

    def loss(self, heap: HeapTree) -> float:
        """Return the cost of the rows that an adversary can have misclassified."""
        return float(self.price[~self.right(heap)[1]].sum())


def objective(problem: Problem, heap: HeapTree) -> float:
    """Return (1 - λ) · the largest loss that an adversary can cause + λ · branch nodes."""
    lam = problem.params.lambda_
    return (1 - lam) * problem.derived(Reach).loss(heap) + lam * heap.n_branch_nodes


class _Form:
    """Nodes that have variables of each type."""

    def __init__(self, problem: Problem):
        tree, self.stump = problem.topology, problem.params.bottom == "stump"
        full = problem.params.lambda_ == 0 and not early(problem)
        self.full = full
        self.inner = tree.inner if self.stump else tree.branch_nodes  # their children have columns of their own
        own = [] if full else self.inner
        self.label = np.concatenate([own, tree.bottom if self.stump else tree.leaves]).astype(int)


def build(problem: Problem) -> Model:
    reach, tree, lam, form = problem.derived(Reach), problem.topology, problem.params.lambda_, _Form(problem)
    n, F, K = len(reach.y), problem.encoded.n_candidate_splits, len(problem.encoded.classes)
    B, bottom, inner, y = tree.branch_nodes, tree.bottom, form.inner, reach.y
    row, split, klass = Axis("row", n), Axis("split", F), Axis("class", K)
    m = ModelBuilder(f"flowoct_robust_d{tree.depth}")
    sums = BranchSums(reach.stacked, problem.params.sums)

    b = m.columns("b", node_axis(B), split, role=Role.BRANCH, cost=lam, integer=True)
    w = m.columns("w", node_axis(form.label), klass, integer=True)
    if len(inner):
        sums.add(m, b, node_axis(inner))
    p = m.columns("p", node_axis(bottom), split, Axis("side", 2), klass, integer=True) if form.stump else None
    gain = -(1 - lam) * reach.price[:, None]
    g = m.columns("g", row, node_axis(B), cost=lambda: gain * (B == 1))
    m.constant((1 - lam) * float(reach.price.sum()))
    k, f = np.arange(K), np.arange(F)
    labelled = np.isin(B, form.label)

    # Σ_f b_tf + Σ_k w_tk = 1                      t ∈ B;    Σ_k w_tk = 1   t a leaf that has labels
    fork = m.rows("fork", node_axis(B), lower=1, upper=1)
    m.add(fork[B[:, None]], b[B[:, None], f])
    m.add(fork[B[labelled][:, None]], w[B[labelled][:, None], k])
    leaves = form.label[~np.isin(form.label, B)][:, None]
    if len(leaves):
        leaf = m.rows("leaf", node_axis(leaves[:, 0]), lower=1, upper=1)
        m.add(leaf[leaves], w[leaves, k])

    gains = _Gains(m, g, w, reach.y, form, leaves)
    if len(inner):
        gains.inner_rows(b, sums)

    # Σ_k p_tfsk = b_tf;   g_it <= Σ_{f: A_if = {s}} p_{t,f,s,y_i} + w_t,y_i             t bottom
    if form.stump:
        t, s = bottom[:, None, None, None], np.arange(2)[:, None]
        pick = m.rows("pick", node_axis(bottom), split, Axis("side", 2), lower=0, upper=0)
        m.add(pick[t, f[:, None, None], s], b[t, f[:, None, None]], -1)
        m.add(pick[t, f[:, None, None], s], p[t, f[:, None, None], s, k])
        stump = gains.begun("stump", bottom)
        for side, alone in enumerate((~reach.one, ~reach.zero)):
            at, ask = (labels[:, None] for labels in np.nonzero(alone))
            m.add(stump[at, bottom], p[bottom, ask, side, y[at]], -1)
    return m.finish()


class _Gains:
    """Constraints on g_it, whether row i is correct in all leaves below node t that it may reach.

    Parameters
    ----------
    m : ModelBuilder
    g, w : Block
    y : int (rows,)
    form : _Form
    leaves : int (leaves, 1)
        Leaves with labels, which have no g.
    """

    def __init__(self, m: ModelBuilder, g: Block, w: Block, y: np.ndarray, form: _Form, leaves: np.ndarray):
        self.m, self.g, self.w, self.form, self.leaves = m, g, w, form, leaves
        self.y, self.i = y[:, None], np.arange(len(y))[:, None]

    def begun(self, name: str, t: np.ndarray):
        """Return new constraints g_it - w_t,y_i ≤ 0, w only at nodes that may predict."""
        rows = self.m.rows(name, self.g.axes[0], node_axis(t), upper=0)
        self.m.add(rows[self.i, t], self.g[self.i, t])
        if len(t := t[np.isin(t, self.form.label)]):
            self.m.add(rows[self.i, t], self.w[t, self.y], -1)
        return rows

    def _subtract(self, rows, at: np.ndarray, t: np.ndarray) -> None:
        """Subtract g_it in the constraints of the nodes `at`, or for a leaf t its label of the row's class."""
        ends = np.isin(t, self.leaves)
        if (~ends).any():
            self.m.add(rows[self.i, at[~ends]], self.g[self.i, t[~ends]], -1)
        if ends.any():
            self.m.add(rows[self.i, at[ends]], self.w[t[ends], self.y], -1)

    def inner_rows(self, b: Block, sums: BranchSums) -> None:
        """Add the constraints of inner nodes (the docstring of the module)."""
        m, inner, n = self.m, self.form.inner, len(self.y)
        for side, name in enumerate(("left", "right")):
            turn = self.begun(name, inner)
            self._subtract(turn, inner, 2 * inner + side)
            # Σ of the splits whose box has only the outcome of the other side: only 1, or not 1
            some = slice(0, n) if side == 0 else slice(n, 2 * n)
            for at, cells, coef in sums.entries(1 - side, inner, some):
                m.add(turn[at - some.start, inner], cells, -coef)
        both = self.begun("both", inner)
        self._subtract(both, inner, 2 * inner)
        self._subtract(both, inner, 2 * inner + 1)
        if not self.form.full:
            asks, f = self.begun("asks", inner), np.arange(b.axes[1].size)
            m.add(asks[self.i[:, :, None], inner[:, None]], b[inner[:, None], f], -1)


def start(problem: Problem, heap: HeapTree) -> dict[str, np.ndarray]:
    """Return any tree of this depth over the splits as a complete feasible point: {block: values}."""
    reach, tree, form = problem.derived(Reach), problem.topology, _Form(problem)
    heap.expect_depth(tree.depth)
    if form.full:  # of stumps the bottom nodes may predict
        heap = _asking(heap, form.inner, bool(problem.constraints))
    point = point_of(problem, heap, form.label, form.stump)
    asked = heap.split[form.label] >= 0
    point["w"][asked] = 0
    if len(form.inner):
        point |= BranchSums(reach.stacked, problem.params.sums).values(point["b"][form.inner - 1])
    told = HeapTree(heap.split, np.where((heap.split < 0) & (heap.label < 0), 0, heap.label))  # as `point_of` has it
    point["g"] = np.stack(reach.right(told), axis=1)[:, tree.branch_nodes].astype(float)
    return point


def _asking(heap: HeapTree, inner: np.ndarray, own: bool) -> HeapTree:
    """Return the same predictions with a split at every inner node, as HeapTree.filled does."""
    if not len(inner):
        return heap
    return heap.filled(int(inner[-1]).bit_length(), own)


def decode(problem: Problem, point: dict[str, np.ndarray]) -> HeapTree:
    """Return the tree of a point, read only from b, w and p, without the branch nodes that no box needs. A node that
    no row of the data needs may still be reached by rows that are moved."""
    form = _Form(problem)
    return problem.derived(Reach).settled(*choices_of(problem, point, form.label, form.stump))


def trimmed(problem: Problem, heap: HeapTree) -> HeapTree:
    """Return a tree that an adversary can fool less often, made from the tree of a heuristic.

    Each node in turn gets the split, or the label, for which the fewest rows are misclassified while the other nodes
    stay the same. Only rows that are correct in all other leaves that they may reach are counted. It ends when no node
    improves. It begins with the given tree, with the tree of the local search and with one leaf.
    """
    reach = problem.derived(Reach)
    one = HeapTree(np.full_like(heap.split, -1), np.where(np.arange(len(heap.label)) == 1, 0, -1).astype(np.int32))
    begun = [heap]
    if not problem.constraints:
        try:
            begun.append(HEURISTICS.get("local_search").tree(problem.encoded, problem.topology))
        except TimeLimitReached:
            pass
        begun.append(one)
    found = [_polished(problem, reach, tree) for tree in begun if tree.beyond is None]
    return min(found, key=lambda tree: objective(problem, tree))


def _polished(problem: Problem, reach: Reach, heap: HeapTree) -> HeapTree:
    free = not problem.constraints
    best = objective(problem, heap)
    try:
        improved = True
        while improved:
            improved = False
            for t in range(1, len(heap.split)):
                if heap.split[t] < 0 and heap.label[t] < 0:
                    continue
                for tried in _changes(problem, reach, heap, t, free):
                    deadline.check()
                    tried = reach.settled(tried.split, tried.label)
                    cost = objective(problem, tried)
                    if cost < best - 1e-9 * max(1.0, abs(best)):
                        heap, best, improved = tried, cost, True
                        break
    except TimeLimitReached:
        pass
    return heap


def _changes(problem: Problem, reach: Reach, heap: HeapTree, t: int, free: bool):
    """Yield trees that differ at node t: another label there; with `free` a stump in place of the subtree there, or
    another split above its children."""
    K, n_candidate_splits = len(problem.encoded.classes), problem.encoded.n_candidate_splits
    met, right = reach.met(heap), reach.right(heap)
    # The rows that reach t and are correct in all leaves that are not below it.
    others = met[t].copy()
    node = t
    while node > 1:
        up, side = node // 2, node % 2
        across = right[node ^ 1] | ~(reach.zero if side else reach.one)[:, heap.split[up]]
        others &= across
        node = up
    worth = np.where(others, reach.price, 0.0)
    if heap.split[t] < 0 or free:
        label = int(np.bincount(reach.y, worth, K).argmax())
        yield _with(heap, t, -1, label)
    rows = np.flatnonzero(worth)
    if not free or not len(rows) or t >= len(heap.split) // 2 or len(rows) * n_candidate_splits * K > CELLS * 8:
        return
    zero, one, y = ~reach.one[rows], ~reach.zero[rows], reach.y[rows]
    saved = np.stack([np.where(y == k, worth[rows], 0.0) for k in range(K)])
    left, right_ = saved @ zero, saved @ one  # (classes, splits): rows that go only to one side
    f = int((left.max(axis=0) + right_.max(axis=0)).argmax())
    yield _with(heap, t, f, (int(left[:, f].argmax()), int(right_[:, f].argmax())))
    if heap.split[t] >= 0:
        bad = (~right[2 * t][rows], ~right[2 * t + 1][rows])
        lost = (reach.zero[rows] & bad[0][:, None]) | (reach.one[rows] & bad[1][:, None])
        f = int((worth[rows] @ lost).argmin())
        if f != heap.split[t]:
            split = heap.split.copy()
            split[t] = f
            yield HeapTree(split, heap.label)


def _with(heap: HeapTree, t: int, split: int, label) -> HeapTree:
    """Return the tree with a leaf, or a stump with two leaves, at node t."""
    splits, labels = heap.split.copy(), heap.label.copy()
    first, width = t, 1
    while first < len(splits):
        splits[first : first + width] = labels[first : first + width] = -1
        first, width = 2 * first, 2 * width
    splits[t] = split
    if split < 0:
        labels[t] = label
    else:
        labels[[2 * t, 2 * t + 1]] = label
    return HeapTree(splits, labels)

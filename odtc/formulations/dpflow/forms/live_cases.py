"""The model of the live cases: the part of a large program that the constrained search cannot exclude, with its
subtrees.

A search that has ended has a best tree, of cost UB. Every tree that could cost less belongs to a case, which is a root
split f with a set C of columns. Multipliers exclude most cases; for the others, the live cases, subtrees were listed
(close_gap). The model contains the known tree and, for each live case, all subtrees that could be part of a better
tree:

    min  c w + Σ_p c_p s_p + Σ_q c_q t_q + Σ_i price y_i     i the live cases, p and q their subtrees on either side
    w + Σ_i y_i = 1,   Σ_{p of i} s_p = y_i,   Σ_{q of i} t_q = y_i,   Σ uses ≤ bound,    all in {0, 1}

Its optimum is w = 1 unless some pair of subtrees satisfies all bounds and costs less, which a solver then finds.
Because the cases and subtrees are the result of a search, they are stored in the parameter `cases` of the problem, and
in its manifest.
"""

import json
import zlib
from itertools import pairwise

import numpy as np

from odtc.algorithms.constrained.subtree_options import lay
from odtc.base import compression
from odtc.base.json_schema import ANY, NUMBER, WHOLE, SchemaError, explain_error, show_value, validate
from odtc.base.value_class import value_class
from odtc.base.wording import param
from odtc.errors import ChoiceError, TreeError
from odtc.formulations.dpflow.resources import LARGEST
from odtc.model.blocks import Axis
from odtc.model.builder import ModelBuilder
from odtc.model.milp import Model
from odtc.problem.problem import Problem
from odtc.problem.roles import Role
from odtc.trees.heap_tree import HeapTree, blank_arrays, settle


def _side(value, place):
    """Return the schema of a subtree: a list of four."""
    _expect(isinstance(value, list) and len(value) == 4, f"expected a list of 4 at {place}, got {show_value(value)}")
    validate(value[:2], [WHOLE], place)
    validate(value[2], [WHOLE], place)
    validate(value[3], [NUMBER], place)
    return ANY


def _expect(fits: bool, wrong: str) -> None:
    if not fits:
        raise SchemaError(wrong)


def _expect_code(code: list, n_candidate_splits: int, n_classes: int, place: str) -> None:
    """Raise SchemaError if a code (odtc.algorithms.dp.pareto.Points) is not the code of a complete tree."""
    _expect(
        all(-n_classes <= one < n_candidate_splits for one in code), f"a node at {place} is neither a split nor a class"
    )
    _expect(all(one < 0 for one in code[len(code) // 2 :]), f"the last nodes at {place} are not leaves")


SHAPE = {
    "unit": NUMBER,
    **dict.fromkeys(("bound", "penalty"), [NUMBER]),
    "known": [WHOLE],
    "vector": [NUMBER],
    "n_cases": WHOLE,
    "root": [WHOLE],
    "sides": [_side],
}


@value_class
class Live:
    """Results of a search that has ended, as the model needs them.

    Attributes
    ----------
    unit : float
        The amount of the objective that one whole unit of cost represents.
    bound : list of int
    penalty : list of int
        The cost of a branch node, and its use of each bound.
    known : list of int
        The code of the best tree (odtc.algorithms.dp.pareto.Points).
    vector : list of int
        The cost and the uses of the best tree.
    n_cases : int
        Number of all roots with sets of columns.
    root : list of int
        The root split of each live case.
    sides : list of [case, side, code, vector]
        Subtrees, sorted by case and side.
    """

    unit: float
    bound: list
    penalty: list
    known: list
    vector: list
    n_cases: int
    root: list
    sides: list

    @classmethod
    def read(cls, text: str, depth: int, n_candidate_splits: int, n_classes: int) -> "Live":
        """Return the cases of a text that `packed` made, of trees of a depth over this many splits. Raises ChoiceError
        for one that is damaged, or that belongs to other trees."""
        try:
            facts = json.loads(compression.unpack_text(text))
            validate(facts, SHAPE)
            live = cls(**{name: facts[name] for name in SHAPE})
            live._expect_whole(depth, n_candidate_splits, n_classes)
        except (ValueError, zlib.error, RecursionError, SchemaError) as problem:
            raise ChoiceError(
                f"expected in {param('cases', ...)} what odtc has set there, got others: {explain_error(problem)}; "
                "leave it out"
            ) from None
        return live

    def _expect_whole(self, depth: int, n_candidate_splits: int, n_classes: int) -> None:
        """Raise SchemaError if these are not cases of trees of this depth."""
        sums, n = len(self.bound), len(self.root)
        for name, wanted in (("penalty", 1 + sums), ("vector", 1 + sums), ("known", 2 ** (depth + 1) - 1)):
            _expect(len(getattr(self, name)) == wanted, f"expected {wanted} numbers at {name}")
        _expect_code(self.known, n_candidate_splits, n_classes, "known")
        _expect(self.unit > 0, "expected a unit above 0")
        _expect(all(0 <= split < n_candidate_splits for split in self.root), "a root is not a candidate split")
        places = [tuple(entry[:2]) for entry in self.sides]
        _expect(all(one <= other for one, other in pairwise(places)), "the sides are not sorted by case and side")
        wanted = {(case, side) for case in range(n) for side in (0, 1)}
        _expect(set(places) == wanted, "expected subtrees for both sides of each case, and no others")
        for at, (_, _, code, vector) in enumerate(self.sides):
            _expect(len(vector) == 1 + sums, f"expected {1 + sums} numbers at sides[{at}]")
            _expect(len(code) == 2**depth - 1, f"expected {2**depth - 1} nodes at sides[{at}]")
            _expect_code(code, n_candidate_splits, n_classes, f"sides[{at}]")

    def packed(self) -> str:
        """Return the text that `read` reads."""
        return compression.pack(json.dumps(vars(self)).encode())


class LiveModel:
    """The model of one problem with `cases`, as arrays."""

    def __init__(self, problem: Problem):
        encoded = problem.encoded
        sizes = problem.topology.depth, encoded.n_candidate_splits, len(encoded.classes)
        self.live = live = Live.read(problem.params.cases, *sizes)
        size, r = 2**problem.topology.depth - 1, len(live.bound)
        self.case = np.array([entry[0] for entry in live.sides], np.int64)
        self.side = np.array([entry[1] for entry in live.sides], np.int64)
        self.code = np.array([entry[2] for entry in live.sides], np.int32).reshape(-1, size)
        self.vector = np.array([entry[3] for entry in live.sides], float).reshape(-1, 1 + r)

    def of(self, side: int) -> np.ndarray:
        """Return int (subtrees,): the subtrees of one side."""
        return np.flatnonzero(self.side == side)


def takes(problem: Problem) -> bool:
    return bool(problem.params.cases)


def keeps(problem: Problem) -> tuple[str, ...]:
    return tuple(given.name for given in problem.constraints)


def build(problem: Problem) -> Model:
    parts = problem.derived(LiveModel)
    live, whole = parts.live, bool(parts.live.bound)
    m = ModelBuilder(f"dpflow_d{problem.topology.depth}")
    vector, price = np.array(live.vector, float), np.array(live.penalty, float)
    w = m.columns("w", role=Role.STOP, integer=whole, cost=live.unit * vector[0])
    one = m.rows("one", lower=1, upper=1)
    m.add(one[()], w[()])
    n = len(live.root)
    uses = [(w, vector[None, 1:])]
    if n:
        case = Axis("case", n)
        y = m.columns("y", case, role=Role.ARC, integer=whole, cost=live.unit * price[0])
        m.add(one[()], y.all())
        uses.append((y, np.broadcast_to(price[1:], (n, len(price) - 1))))
        for side, name in enumerate("st"):
            mine = parts.of(side)
            of = parts.case[mine]
            place = np.arange(len(mine)) - np.searchsorted(of, of)
            ways = Axis("way", int(place.max()) + 1)
            cost = live.unit * parts.vector[mine, 0]
            members = of * ways.size + place
            block = m.columns(name, case, ways, role=Role.STOP, integer=whole, cost=cost, positions=members)
            rows = m.rows(f"side{side}", case, lower=0, upper=0)
            m.add(rows[of], block[np.arange(len(mine))])
            m.add(rows[np.arange(n)], y[np.arange(n)], -1)
            uses.append((block, parts.vector[mine, 1:]))
    if whole:
        largest = np.max([np.abs(use).max(axis=0, initial=0) for _, use in uses], axis=0)
        scale = 2.0 ** np.ceil(np.log2(np.maximum(1.0, largest / LARGEST)))
        bound = m.rows("bound", Axis("sum", len(live.bound)), upper=np.array(live.bound) / scale)
        for block, use in uses:
            for r in range(len(live.bound)):
                held = np.flatnonzero(use[:, r])
                if len(held):
                    m.add(bound[r], block[held] if block.axes else block[()], use[held, r] / scale[r])
    return m.finish()


def start(problem: Problem, heap: HeapTree) -> dict[str, np.ndarray]:
    """Return a tree as a point. Raises TreeError for a tree that the model does not contain."""
    parts = problem.derived(LiveModel)
    point = {"w": np.zeros(())}
    n = len(parts.live.root)
    if n:
        point |= {"y": np.zeros(n), "s": np.zeros(len(parts.of(0))), "t": np.zeros(len(parts.of(1)))}
    if _same(heap, _known(problem)):
        point["w"] = np.ones(())
        return point
    for case in np.flatnonzero(np.array(parts.live.root) == heap.split[1]).tolist():
        places = [_place(problem, parts, case, side, heap) for side in (0, 1)]
        if None not in places:
            point["y"][case] = 1
            for name, place in zip("st", places):
                point[name][place] = 1
            return point
    raise TreeError(
        "the model has no columns for this tree: a search excludes it, since one that costs no more is known; give the "
        f"tree that a heuristic makes, or set {param('fix', False)}"
    )


def _place(problem: Problem, parts: LiveModel, case: int, side: int, heap: HeapTree) -> int | None:
    """Return the position of the subtree on one side of the root among the variables of that side; None if there is
    none."""
    mine = parts.of(side)
    for place in np.flatnonzero(parts.case[mine] == case).tolist():
        split, label = blank_arrays(problem.topology)
        split[1] = heap.split[1]
        lay(parts.code[mine[place]], split, label, 2 + side)
        other = 3 - side
        stack = [other]
        while stack:  # the other side is taken from the tree
            node = stack.pop()
            split[node], label[node] = heap.split[node], heap.label[node]
            stack += [2 * node, 2 * node + 1] if heap.split[node] >= 0 else []
        if _same(settle(split, problem.encoded, label), heap):
            return place
    return None


def _same(one: HeapTree, other: HeapTree) -> bool:
    return np.array_equal(one.split, other.split) and np.array_equal(one.label, other.label)


def trimmed(problem: Problem, heap: HeapTree) -> HeapTree:
    return _known(problem)


def _known(problem: Problem) -> HeapTree:
    """Return the tree that the search found."""
    split, label = blank_arrays(problem.topology)
    lay(np.array(problem.derived(LiveModel).live.known), split, label, 1)
    return settle(split, problem.encoded, label)


def decode(problem: Problem, point: dict[str, np.ndarray]) -> HeapTree:
    """Return the tree of a point: the largest of w and y, and on either side of a case the largest variable."""
    parts = problem.derived(LiveModel)
    chosen = point.get("y", np.zeros(0))
    if not len(chosen) or float(np.max(point["w"])) >= chosen.max():
        return _known(problem)
    case = int(chosen.argmax())
    split, label = blank_arrays(problem.topology)
    split[1] = parts.live.root[case]
    for side, name in enumerate("st"):
        mine = parts.of(side)
        own = np.flatnonzero(parts.case[mine] == case)
        lay(parts.code[mine[own[int(point[name][own].argmax())]]], split, label, 2 + side)
    return settle(split, problem.encoded, label)


def notes(problem: Problem) -> dict:
    """Return the number of cases that are not in the model, and the bound and the tree that exclude them."""
    live = problem.derived(LiveModel).live
    paid = live.unit * live.vector[0]
    n_live = len(live.root)
    return {"fixed": {"cases": live.n_cases - n_live, "of": live.n_cases, "bound": paid, "incumbent": paid}}

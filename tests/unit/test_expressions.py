"""Meanings of sums of variables, by roles and by `says`, with which cuts and constraints are written."""

import re
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import odtc.problem.constraints
import odtc.problem.cuts
from odtc.model.blocks import Axis
from odtc.model.builder import ModelBuilder
from odtc.problem.constraints.constraint import able_models, takes
from odtc.problem.constraints.kind import CONSTRAINTS
from odtc.problem.cuts import cut
from odtc.problem.expressions import Expression, Need, Part, Statement, missing, stated
from odtc.problem.roles import Role, node_axis
from odtc.problem.support import small_problem
from odtc.testing.problems import COMPILED, kept_kinds
from odtc.trees.heap_tree import settle


@pytest.mark.parametrize("package", [odtc.problem.constraints, odtc.problem.cuts])
def test_cuts_and_constraints_know_no_role(package):
    files = sorted(Path(package.__file__).parent.rglob("*.py"))
    assert len(files) > 8
    assert [file.name for file in files if re.search(r"\bRole\b", file.read_text())] == []


class Split:
    """A formulation whose branch columns are two blocks, one for even splits and one for odd ones, without any role."""

    def __init__(self, problem):
        self.problem = problem

    def model(self):
        tree, F = self.problem.topology, self.problem.encoded.n_candidate_splits
        m = ModelBuilder("split")
        m.columns("fill", Axis("any", 2))
        for name, size in (("low", (F + 1) // 2), ("high", F // 2)):
            m.columns(name, node_axis(tree.branch_nodes), Axis("place", size), integer=True)
        return replace(m.finish(), problem=self.problem)

    def says(self, problem, model):
        low, high = (next(block for block in model.columns if block.name == name) for name in ("low", "high"))
        both = np.arange(2)[:, None], np.arange(2)
        axes = (node_axis(problem.topology.branch_nodes), Axis("split", 4))
        half = (
            Part(low, ("node", lambda at: at["split"] // 2), 1.0),
            Part(high, ("node", lambda at: at["split"] // 2), 2.0),
        )
        nodes = Expression(axes[:1], tuple(Part(block, ("node", both[1]), 3.0) for block in (low, high)))
        return {Statement.SPLITS_ON: Expression(axes, half), Statement.BRANCHES: nodes}


def test_an_expression_of_two_blocks_is_its_sum():
    problem = small_problem("flowoct", {})
    model = Split(problem).model()
    said = Split(problem).says(problem, model)
    point = model.split(np.arange(model.n_cols, dtype=float))
    asks = said[Statement.SPLITS_ON].value(point)
    place = np.arange(4) // 2
    np.testing.assert_array_equal(asks, point["low"][:, place] + 2 * point["high"][:, place])
    branches = said[Statement.BRANCHES]
    np.testing.assert_array_equal(
        branches.value(point), 3 * (point["low"][:, :2].sum(axis=1) + point["high"][:, :2].sum(axis=1))
    )
    m = ModelBuilder.onto(model)
    branches.add(m, m.rows("all", upper=1), (), branches.labels())
    said[Statement.SPLITS_ON].add(
        m, m.rows("one", node_axis(branches.nodes)), (branches.nodes,), (branches.nodes, 1), 5.0
    )
    longer = m.finish()
    x = np.arange(model.n_cols, dtype=float)
    assert (longer.A @ x)[0] == branches.value(point).sum()
    np.testing.assert_array_equal((longer.A @ x)[1:], 5 * asks[:, 1])


@pytest.mark.parametrize("params", [{}, {"rows": "all"}, {"bottom": "flow"}, {"literal": True}], ids=str)
def test_statements_are_true_of_a_tree(params):
    """Every statement of flowoct, at the point of a tree, against the tree itself."""
    problem = small_problem("flowoct", params)
    encoded = problem.encoded
    tests = product(range(encoded.n_candidate_splits), repeat=3)
    heaps = (settle(np.array([-1, *some, -1, -1, -1, -1], np.int32), encoded) for some in tests)
    heap = next(heap for heap in heaps if heap.n_branch_nodes == 3)  # else a form without early leaves fills it up
    model = replace(problem.module.build(problem), problem=problem)
    point = problem.module.start(problem, heap)
    end = heap.reach(encoded.X)
    right, label = heap.label[end] == encoded.y, heap.label
    below = lambda t: np.array([t in {e >> up for up in range(int(e).bit_length())} for e in end.tolist()])  # noqa: E731
    true = {
        Statement.CORRECT: lambda e: right,
        Statement.SPLITS_ON: lambda e: heap.split[e.nodes][:, None] == np.arange(encoded.n_candidate_splits),
        Statement.BRANCHES: lambda e: heap.split[e.nodes] >= 0,
        Statement.PASSES: lambda e: np.stack([below(t) & right for t in e.nodes.tolist()], axis=1),
        Statement.ENDS: lambda e: end[:, None] == e.nodes,
        Statement.PREDICTED: lambda e: (end[:, None] == e.nodes)[:, :, None] & (label[end][:, None, None] == [0, 1]),
    }
    said = {what: expression for what in true if (expression := stated(problem, model, what)) is not None}
    assert {
        Statement.SPLITS_ON,
        Statement.BRANCHES,
        Statement.CORRECT if not params.get("rows") else Statement.ENDS,
    } <= set(said)
    for what, expression in said.items():
        np.testing.assert_array_equal(expression.value(point), true[what](expression), err_msg=what)


def test_what_is_declared_is_what_is_supported():
    """Hints and support come from the models; the declaration that the laws read says the same."""
    for name in COMPILED:
        found = {kind for kind in CONSTRAINTS.names() if takes(small_problem(name, {}), CONSTRAINTS.get(kind))}
        assert found == kept_kinds((name, {})), name


def test_a_sentence_says_what_the_model_lacks():
    problem = small_problem("svm1_odt", {})
    model = replace(problem.module.build(problem), problem=problem)
    lacks = missing(problem, model, ((Need(Statement.SPLITS_ON, "branch_nodes"), Need(Role.CORRECT)),))
    assert lacks.startswith(
        "needs a model that says 'node t splits on f' at the branch nodes and columns of the role correct;"
    )
    assert "svm1_odt says 'row i is misclassified', 'row i ends at node t'" in lacks
    assert able_models(CONSTRAINTS.get("leaf_rows")).endswith("take it")
    assert "flowoct" in cut.hint(cut.CUTS.get("paper4"))

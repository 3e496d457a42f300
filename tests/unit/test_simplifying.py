"""Needless branch nodes: merged by `fit`, offered by `decode`, kept if a constraint needs them."""

import numpy as np
import pytest

import odtc
from odtc.model.points import name_list
from odtc.model.solution import Solution, Termination
from odtc.problem.constraints.constraint import complete
from odtc.trees.heap_tree import HeapTree
from odtc.trees.simplifying import needless_nodes, simplify_heap, simplify_tree
from odtc.trees.tree import Branch, Leaf, Tree
from odtc.workflow.compiling import compile_model
from odtc.workflow.decoding import finish
from odtc.workflow.files_of_models import write_build
from odtc.workflow.posing import pose
from tests.command_line import odtc as command

ROWS = "a,b,class\n" + "".join(f"{a},{b},{'yes' if b else 'no'}\n" for a in (0, 1) for b in (0, 1) for _ in range(2))


@pytest.fixture
def data(tmp_path):
    """A file whose class is column b; column a says nothing."""
    (tmp_path / "rows.csv").write_text(ROWS)
    return tmp_path / "rows.csv"


def posed(data, model="flowoct", **keywords):
    return pose(odtc.read(data), model, 2, **keywords)


def twins(problem) -> HeapTree:
    """Root asks a, and both sides ask b: three branch nodes of which one is needed."""
    asks = [test.features[0] for test in problem.encoded.splits]
    a, b = asks.index(0), asks.index(1)
    zero = int(problem.encoded.y[~problem.encoded.X[:, b]][0])
    test = np.array([-1, a, b, b, -1, -1, -1, -1], np.int32)
    return HeapTree(test, np.array([-1, -1, -1, -1, zero, 1 - zero, zero, 1 - zero], np.int32))


def point_of(model, heap, **said) -> Solution:
    """A solver's answer that is this tree."""
    x = complete(model.problem, model, heap)
    return Solution(x, Termination.OPTIMAL, model.objective(x), solver="another", model=model.identity, **said)


def test_without_needless_nodes_a_tree_predicts_the_same_and_no_such_node_is_left(data):
    encoded = posed(data).encoded
    draw = np.random.default_rng(5)
    for _ in range(200):
        test = np.full(16, -1, np.int32)
        for t in range(1, 8):
            if t == 1 or (test[t // 2] >= 0 and draw.random() < 0.8):
                test[t] = draw.integers(encoded.n_candidate_splits)
        label = np.where(test < 0, draw.integers(2, size=16), -1).astype(np.int32)
        heap = HeapTree(test, label)
        smaller = simplify_heap(heap, encoded)
        reached = [one.label[one.reach(encoded.X)] for one in (heap, smaller)]
        assert (reached[0] == reached[1]).all() and not needless_nodes(smaller, encoded)
        tree = simplify_tree(heap.to_tree(encoded))
        X = encoded.dataset.X
        assert (tree.predict(X) == heap.to_tree(encoded).predict(X)).all()
        leaves = tree.leaves()
        assert len(leaves) == 1 or all(sum(leaf.rows) for leaf in leaves)


def test_fit_merges_and_decode_shows_the_tree_of_the_point(data):
    model = compile_model(posed(data, lambda_=0.1))
    heap = twins(model.problem)
    solution = point_of(model, heap, bound=0.1)  # (1 - 0.1) · 0 errors + 0.1 · 1 branch node is the optimum
    shown, merged = finish(model, solution), finish(model, solution, simplify=True)
    assert (shown.tree.n_branch_nodes, shown.simplified, shown.verified) == (3, None, True)
    assert shown.proof.objective == pytest.approx(0.3) and not shown.proved
    assert (merged.tree.n_branch_nodes, merged.verified) == (1, True)
    assert merged.simplified == {"n_branch_nodes": 3, "objective": pytest.approx(0.3)}
    assert merged.proof.objective == pytest.approx(0.1) and merged.proof.bound == pytest.approx(0.1) and merged.proved
    assert any(check.name == "simplified" and check.passed for check in merged.decoded.checks)


def test_a_claim_that_the_smaller_tree_contradicts_is_refused(data):
    model = compile_model(posed(data, lambda_=0.1))
    done = finish(model, point_of(model, twins(model.problem), bound=0.3), simplify=True)
    assert [check.name for check in done.decoded.checks if not check.passed] == ["bound"]


def test_a_node_stays_if_a_constraint_needs_it(data):
    model = compile_model(posed(data, constraints=("require_root[a]",)))
    done = finish(model, point_of(model, twins(model.problem)), simplify=True)
    assert done.tree.n_branch_nodes == 3 and done.simplified is None and done.verified


def test_the_tree_of_a_start_is_simplified_unless_that_is_refused(data, tmp_path):
    problem = posed(data)
    start = tmp_path / "start.tree.json"
    odtc.workflow.artifacts.write_tree(twins(problem).to_tree(problem.encoded), start)
    words = ("fit", data, "--model", "flowoct", "--start", start, "--time-limit", "0.000001", "--json")
    said = command(*words, folder=tmp_path)
    assert said.facts["simplified"] == {"n_branch_nodes": 3, "objective": 0}
    assert said.facts["n_branch_nodes"] == 1 and said.facts["verified"]
    assert "2 branch nodes that no row needs are left out; --no-simplify keeps them" in said.err
    kept = command(*words, "--no-simplify", folder=tmp_path)
    assert kept.facts["n_branch_nodes"] == 3 and "simplified" not in kept.facts


def test_decode_writes_the_smaller_tree_as_fit_does(data, tmp_path):
    model = compile_model(posed(data))
    solution = point_of(model, twins(model.problem))
    write_build(model, tmp_path / "m")
    (tmp_path / "m.sol").write_text(
        "".join(f"{name} {value}\n" for name, value in zip(name_list(model.columns), solution.x))
    )
    said = command("decode", "m.sol", "--no-simplify", "--json", folder=tmp_path)
    assert said.facts["n_branch_nodes"] == 3 and said.err == ""
    said = command("decode", "m.sol", "--json", folder=tmp_path)
    assert said.facts["n_branch_nodes"] == 1
    assert "2 branch nodes that no row needs are left out; --no-simplify keeps them" in said.err
    assert odtc.read_tree(tmp_path / "m.tree.json").n_branch_nodes == 1
    verified = command("verify", "m.tree.json", folder=tmp_path)  # it is one of the solution, as that of its point is
    assert verified.code == 0, verified.err


@pytest.mark.parametrize("share", [0.1, 0.25])
def test_the_estimator_leaves_no_twins_behind_a_share_of_weight(share):
    draw = np.random.default_rng(3)
    for _ in range(6):
        X, y = draw.integers(0, 4, size=(30, 2)), draw.integers(0, 2, size=30)
        tree = odtc.OptimalTreeClassifier(3, min_weight_fraction_leaf=share).fit(X, y).tree_
        assert simplify_tree(tree) is tree


def test_leaves_of_a_tree_in_words_are_added():
    twin = [Leaf(0, (2.0, 1.0), (2, 1)), Leaf(0, (3.0, 0.0), (3, 0))]
    features = (odtc.data.dataset.Feature("a", "numeric"),)
    split = odtc.data.splits.Threshold(0, 0.5)
    tree = Tree(Branch(split, *twin), features, ("no", "yes"))
    assert simplify_tree(tree).root == Leaf(0, (5.0, 1.0), (5, 1))

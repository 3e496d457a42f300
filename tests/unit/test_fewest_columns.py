"""Of the best trees the one with the fewest leaves, of these with the fewest columns, then in a fixed order."""

import json
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from odtc.algorithms.near_optimal import fewest_columns
from odtc.algorithms.thresholds.ordered_nodes import OrderedNodes
from odtc.data.encoding import encode
from odtc.data.reading import read_arrays
from odtc.estimators.classifier import OptimalTreeClassifier
from odtc.formulations.dpflow import threshold_search
from odtc.problem.branch_penalty import objective
from odtc.problem.constraints.constraint import least_rows
from odtc.trees.heap_tree import HeapTree
from odtc.workflow.results.lines import smallest_text
from odtc.workflow.searching import searched
from tests import pipeline
from tests.command_line import MONKS
from tests.command_line import odtc as command
from tests.threshold_problems import draw


def every(problem):
    """(objective, branch nodes, columns) of every tree, by trying all tests everywhere."""
    encoded, price, least = problem.encoded, problem.params.lambda_, max(1, least_rows(problem))
    X = np.asarray(encoded.X)
    looks = [frozenset(split.features) for split in encoded.splits]
    known = {}

    def trees(rows, height):
        if (rows, height) not in known:
            inside = list(rows)
            found = {(encoded.loss[inside].sum(axis=0).min(), 0, frozenset())}
            for j in range(encoded.n_candidate_splits) if height else ():
                sides = [tuple(i for i in inside if X[i, j] == answer) for answer in (False, True)]
                if min(encoded.copies[list(side)].sum() if side else 0 for side in sides) >= least:
                    for one, two in product(*(trees(side, height - 1) for side in sides)):
                        found.add((round(one[0] + two[0], 9), one[1] + two[1] + 1, looks[j] | one[2] | two[2]))
            known[rows, height] = found
        return known[rows, height]

    whole = trees(tuple(range(encoded.n_rows)), problem.topology.depth)
    return [(round((1 - price) * paid + price * nodes, 9), nodes, columns) for paid, nodes, columns in whole]


def found_of(problem):
    return threshold_search.ThresholdSearch(problem).run()


def columns_of(problem, heap):
    return {column for test in heap.split[heap.split >= 0] for column in problem.encoded.splits[test].features}


def counted_afterwards(problem, monkeypatch):
    """The result of a search that counts no branch nodes, as of deep trees within a limit, and of one after it."""
    with monkeypatch.context() as plain:
        plain.setattr(threshold_search.ThresholdSearch, "_can_count", lambda search, ranked: False)
        search = threshold_search.ThresholdSearch(problem)
    assert search.search.solve(problem.topology.depth).exact and search.ranked.scale == 1
    return search.smallest(search._best()[0], search._exact_bound, None)


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("at_once", [True, False])
def test_no_tree_of_the_same_objective_has_fewer_leaves_or_then_fewer_columns(seed, at_once, monkeypatch):
    problem = draw(seed)
    found = found_of(problem) if at_once else counted_afterwards(problem, monkeypatch)
    best = min(every(problem), key=lambda tree: (tree[0], tree[1], len(tree[2]), sorted(tree[2])))
    assert found.fewest == threshold_search.Fewest(True, True)
    assert objective(problem, found.heap) == pytest.approx(best[0], abs=1e-8)
    assert (found.heap.n_branch_nodes, columns_of(problem, found.heap)) == best[1:]


def with_twins(seed):
    """A problem over numbers and columns that are made of them: flags, rounded, copied and mirrored ones."""
    random = np.random.default_rng(seed)
    n = int(random.integers(6, 20))
    numbers = random.integers(0, int(random.integers(3, 5)), (n, 2)).astype(float)
    numbers[:2] = 0, 1
    made = [numbers[:, :1] > 0, numbers // 2, numbers[:, :1], -numbers[:, 1:], numbers[:, :1] * numbers[:, 1:]]
    chosen = [made[at] for at in np.flatnonzero(random.random(len(made)) < 0.5)]
    X = np.hstack([*chosen, numbers]).astype(float)
    y = np.append([0, 1], random.integers(0, 2, n - 2)) if seed % 2 else (numbers[:, 0] == 1).astype(int)
    keywords = {"params": {"lambda": float(random.choice([0.0, 0.0, 0.02]))}}
    if random.random() < 0.3:
        keywords["constraints"] = ("leaf_rows >= 2",)
    return pipeline.pose(read_arrays(X[:, random.permutation(X.shape[1])], y), "dpflow", 2, **keywords)


@pytest.mark.parametrize("seed", range(30))
def test_tests_of_two_columns_that_part_the_rows_alike_are_of_both(seed):
    problem = with_twins(seed)
    encoded = encode(problem.encoded.dataset, problem.encoded.scheme, by_column=True)
    best = min(every(replace(problem, encoded=encoded)), key=lambda tree: (tree[0], tree[1], len(tree[2])))
    found = found_of(problem)
    assert found.fewest == threshold_search.Fewest(True, True)
    written = tree_of(problem, found)
    assert (written.n_leaves, len(written.used_names)) == (best[1] + 1, len(best[2]))
    assert objective(problem, HeapTree.from_tree(written, problem.encoded, problem.topology)) == pytest.approx(best[0])
    done = searched(problem)
    assert (done.tree.n_leaves, len(done.tree.used_names)) == (best[1] + 1, len(best[2]))
    assert done.fewest_leaves and done.fewest_columns and done.verified and done.problem is problem


def tree_of(problem, found):
    """The tree as it is written."""
    return found.written.to_tree(problem.encoded)


def test_a_run_over_the_column_of_fewest_is_read_back(tmp_path):
    rows = [(int(b > 0), b, "q" if b == 1 else "p") for b in (0, 1, 2) * 7]
    (tmp_path / "d.csv").write_text("a,b,y\n" + "".join(f"{a},{b},{y}\n" for a, b, y in rows))
    for more in ((), ("--certificate",), ("--model", "dpflow")):
        said = command("fit", "d.csv", "--depth", 2, "-o", "m", "--json", *more, folder=tmp_path)
        assert said.facts["fewest_columns"] and said.facts["objective"] == 0
        shown = command("show", "m.tree.json", folder=tmp_path).out
        assert "b ≤" in shown and "a ≤" not in shown
        checked = command("verify", "m.tree.json", "--json", folder=tmp_path)
        assert checked.code == 0 and all(check["passed"] for check in checked.facts["checks"])


def two_columns_or_one():
    """Rows for which two tests of x are as good as one of x and one of z, and z comes first."""
    x = np.repeat(np.arange(12.0), 5)
    z = np.where((x < 4) & (np.arange(60) % 2 > 0), 9.0, np.where(x < 8, 0.0, 9.0))
    return np.column_stack([z, x]), ((x >= 4) & (x < 8)).astype(int)


def test_one_column_is_taken_where_two_are_as_good():
    problem = pipeline.pose(read_arrays(*two_columns_or_one()), "dpflow", 2)
    found = found_of(problem)
    assert found.fewest.columns and columns_of(problem, found.heap) == {1} and found.heap.n_branch_nodes == 2


def test_a_tree_that_has_the_fewest_leaves_is_not_sought_again_for_its_columns(monkeypatch):
    random = np.random.default_rng(4)
    X = random.normal(size=(60, 3))
    y = np.where(X[:, 0] > 0, X[:, 1] > 0.3, X[:, 2] > -0.2) ^ (random.random(60) < 0.1)
    sought, pair = [], OrderedNodes.pair
    monkeypatch.setattr(
        OrderedNodes, "pair", lambda self, node, *rest: sought.append(node.n) or pair(self, node, *rest)
    )
    found = found_of(pipeline.pose(read_arrays(X, y.astype(int)), "dpflow", 2))
    assert found.fewest == threshold_search.Fewest(True, True) and found.heap.n_branch_nodes == 3
    assert sought.count(60) == 1  # for the objective and the leaves together


def test_too_many_best_trees_are_said_and_leave_a_best_tree(monkeypatch):
    monkeypatch.setattr(fewest_columns, "MOST_SETS", 1)
    problem = pipeline.pose(read_arrays(*two_columns_or_one()), "dpflow", 2)
    found = found_of(problem)
    assert found.proved and found.fewest == threshold_search.Fewest(True, False)
    assert objective(problem, found.heap) == found.bound == 0 and found.heap.n_branch_nodes == 2


def test_a_search_for_fewer_leaves_that_takes_too_much_is_ended_and_offered(monkeypatch):
    monkeypatch.setattr(threshold_search, "FEWEST_ENTRIES", -1)
    monkeypatch.setattr(threshold_search, "FEWEST", -1)
    random = np.random.default_rng(3)
    data = read_arrays(random.normal(size=(60, 3)), random.integers(0, 2, 60))
    stopped = searched(pipeline.pose(data, "dpflow", 3))
    assert stopped.fewest_stopped and not stopped.fewest_leaves and stopped.proved
    assert "`fewest`" not in smallest_text(stopped) and "fewest=true" in smallest_text(stopped).replace(" ", "").lower()
    found = searched(pipeline.pose(data, "dpflow", 3, params={"fewest": "true"}))
    assert found.fewest_leaves and found.fewest_columns and not found.fewest_stopped
    assert smallest_text(found).startswith("no tree with this objective has fewer leaves")


def test_the_keys_are_told(tmp_path):
    said = command("fit", MONKS / "monks-1.csv", "--encoding", "onehot", "-o", "a", "--json", folder=tmp_path)
    assert said.facts["fewest_leaves"] and said.facts["fewest_columns"]
    shown = command("fit", MONKS / "monks-1.csv", "--encoding", "onehot", "-o", "a", folder=tmp_path).out
    words = (
        "no tree with this objective has fewer leaves; among those with equally few leaves, none splits on fewer "
        "columns"
    )
    assert f"smallest  {words}" in shown
    record = json.loads((tmp_path / "a.run.json").read_text())["fit"]
    assert (record["fewest_leaves"], record["fewest_columns"]) == (True, True)
    assert command("report", "a", folder=tmp_path).code == 0
    assert words in (tmp_path / "a.html").read_text()


def test_the_estimator_tells_it():
    X, y = two_columns_or_one()
    ours = OptimalTreeClassifier(max_depth=2).fit(X, y)
    assert ours.fewest_leaves_ and ours.fewest_columns_
    assert OptimalTreeClassifier(max_depth=0).fit(X, y).fewest_columns_
    assert not OptimalTreeClassifier(max_depth=2, model="cart").fit(X, y).fewest_leaves_

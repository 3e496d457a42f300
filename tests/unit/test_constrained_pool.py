"""Pools under constraints: all trees that keep them, with any labels, in order and none twice, by trying every tree."""

import json

import numpy as np
import pandas as pd
import pytest

import odtc
from odtc.algorithms.near_optimal import constrained_list
from odtc.errors import ChoiceError
from odtc.problem.constraints.constraint import broken
from odtc.trees.heap_tree import HeapTree
from odtc.workflow.near_optimal import near_optimal
from odtc.workflow.near_optimal_set import near_optimal_set
from tests import pipeline
from tests.command_line import MONKS
from tests.command_line import odtc as command


def every_tree(encoded, rows, depth, node=1):
    """({node: test}, {node: label}) of all trees without empty sides and without two equal leaves of one test."""
    for label in range(len(encoded.classes)):
        yield {}, {node: label}
    for f in range(encoded.n_candidate_splits if depth else 0):
        ones = encoded.X[rows, f]
        if ones.all() or not ones.any():
            continue
        right = list(every_tree(encoded, rows[ones], depth - 1, 2 * node + 1))
        for test, label in every_tree(encoded, rows[~ones], depth - 1, 2 * node):
            for other, its in right:
                if test or other or label[2 * node] != its[2 * node + 1]:
                    yield {node: f, **test, **other}, {**label, **its}


def costs(problem):
    """What every tree that keeps the constraints costs, in order."""
    encoded, depth, found = problem.encoded, problem.topology.depth, []
    for tests, labels in every_tree(encoded, np.arange(encoded.n_rows), depth):
        test, label = (np.full(2 ** (depth + 1), -1, np.int32) for _ in range(2))
        for heap, given in ((test, tests), (label, labels)):
            heap[list(given)] = list(given.values())
        if not broken(problem, tree := HeapTree(test, label)):
            found.append(problem.module.objective(problem, tree))
    return sorted(found)


def posed(seed, constraints, depth, numbers=3, rows=14):
    draw = np.random.default_rng(seed)
    data = pd.DataFrame({name: draw.integers(0, numbers, rows) for name in "abc"})
    data["g"], data["w"] = draw.choice(["u", "v"], rows), draw.integers(1, 3, rows)
    data["y"] = draw.choice(["p", "q"], rows)
    data = odtc.read(data, target="y", auxiliary=["g"], weights="w")
    return pipeline.pose(data, "dpflow", depth, constraints=constraints)


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("constraints", "depth", "numbers"),
    [
        (["recall[p] >= 0.7"], 2, 2),
        (["statistical_parity[group=g,positive=p] <= 0.1", "features <= 2"], 2, 2),
        (["leaf_precision >= 0.55", "splits <= 1"], 2, 3),
        (["monotone[a,positive=p]"], 2, 2),
        (["together[a,b]", "class_leaves[p] <= 1"], 2, 2),
        (["precision[p] >= 0.7", "deepest[a] <= 1"], 3, 2),
    ],
)
@pytest.mark.parametrize("first", [2, 200])
def test_the_trees_that_keep_constraints_in_order(constraints, depth, numbers, first, monkeypatch):
    monkeypatch.setattr(constrained_list, "FIRST", first)  # so that lists are cut, too
    problem = posed(5, constraints, depth, numbers)
    truth = costs(problem)
    assert truth
    for most in (1, 7, len(truth), len(truth) + 1) if depth < 3 else (9,):
        pool = near_optimal(problem, most)
        assert list(pool.objectives) == pytest.approx(truth[:most]) and pool.complete == (len(truth) <= most)
        assert len({str(tree.to_json()["root"]) for tree in pool.trees}) == len(pool.trees)
    near = near_optimal(problem, len(truth) + 1, within=1.0) if depth < 3 else near_optimal(problem, 10**4, within=0)
    assert near.complete and len(near.trees) == sum(cost <= truth[0] + (depth < 3) + 1e-9 for cost in truth)


def test_what_has_no_pool_is_told_why():
    problem = posed(5, ["accuracy >= 1"], 1)
    pool = near_optimal(problem, 3)
    assert (pool.trees, pool.complete, costs(problem)) == ((), True, [])
    with pytest.raises(ChoiceError, match="add --pool K, which lists the best K that satisfy it"):
        near_optimal_set(problem, 1.0)
    with pytest.raises(
        ChoiceError,
        match="are listed over at most 600 splits, got 8.. splits; take fewer .encoding=.auto:bins=8",
    ):
        near_optimal(posed(5, ["recall[p] >= 0.5"], 2, numbers=10**6, rows=300), 3)


def test_within_alone_lists_the_trees_that_cannot_be_counted(tmp_path):
    words = ("fit", MONKS / "monks-2.csv", "--depth", 1, "--encoding", "onehot", "--within", "5%")
    kept = ("--constraint", "recall[1] >= 0.2")
    said = command(*words, *kept, "-o", tmp_path / "one")
    assert said.code == 0
    assert command(*words, *kept, "--pool", 1000, "-o", tmp_path / "two").code == 0
    listed, asked = (json.loads((tmp_path / f"{stem}.pool.json").read_text()) for stem in ("one", "two"))
    assert listed["trees"] == asked["trees"] and listed["complete"]
    best = f"at most {listed['limit']:.10g} (the best: {listed['trees'][0]['objective']:.10g})"
    assert f"the pool has {len(listed['trees'])} trees with an objective of {best}\n" in said.err
    assert command(*words, "-o", tmp_path / "free").code == 0 and (tmp_path / "free.near-optimal.json").is_file()


def test_a_pool_says_that_one_of_trees_alike_is_listed(tmp_path):
    """Column b orders the rows as a does: trees that ask it are not listed, and the text says so."""
    (tmp_path / "twin.csv").write_text("a,b,y\n0,5,n\n0,5,n\n1,7,p\n1,7,n\n2,9,p\n2,9,p\n")
    asked = ("--depth", 1, "--model", "dpflow", "--pool", 9, "--constraint", "recall[p] >= 0.5", "-o", "m")
    assert command("fit", "twin.csv", *asked, folder=tmp_path).code == 0
    shown = command("show", "m.pool.json", folder=tmp_path).out
    alike = "trees whose splits divide the training rows in the same way are listed once"
    assert f"{alike}, unless a constraint is on columns\n" in shown
    assert json.loads((tmp_path / "m.pool.json").read_text())["feature_use"] == {"a": 2}
    on_columns = ("--depth", 1, "--model", "dpflow", "--pool", 99, "--constraint", "features <= 1", "-o", "n")
    assert command("fit", "twin.csv", *on_columns, folder=tmp_path).code == 0
    use = json.loads((tmp_path / "n.pool.json").read_text())["feature_use"]
    assert use.keys() == {"a", "b"} and use["a"] == use["b"]

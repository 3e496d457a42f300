"""OCT: the same trees as exhaustive search, in numeric and binary form, with n_min and α, and what it refuses."""

from pathlib import Path

import numpy as np
import pytest

import odtc
from odtc.data.dataset import Dataset, Feature
from odtc.data.encoding import encode
from odtc.errors import ChoiceError, TreeError
from odtc.model.points import name_list
from odtc.problem.formulation import FORMULATIONS
from odtc.problem.parameters import parse_params
from odtc.problem.problem import Problem
from odtc.testing.exhaustive import cheapest
from odtc.testing.optima import assert_rows_kept
from odtc.trees.heap_tree import CompleteTree, blank_arrays, settle
from tests import pipeline

EXAMPLES = Path(__file__).parents[2] / "examples"
IRIS = EXAMPLES / "iris" / "iris.csv"


def line(values, labels, depth=1, **params) -> Problem:
    """One numeric feature."""
    dataset = Dataset(
        "line",
        np.array(values, float)[:, None],
        np.array(labels, np.int32),
        (Feature("x", "numeric"),),
        ("a", "b"),
        np.ones(len(values)),
    )
    return Problem(encode(dataset), CompleteTree(depth), FORMULATIONS.get("oct"), parse_params("oct", params))


@pytest.mark.parametrize(
    ("bins", "params"), [(3, {}), (3, {"binary": "true"}), (3, {"n_min": 30}), (3, {"alpha": 0.05})]
)
def test_iris_is_exhaustive_search(bins, params):
    fitted = odtc.fit(IRIS, "oct", 2, encoding=f"auto:bins={bins}", params=params, threads=1)
    encoded = fitted.model.problem.encoded
    best = cheapest(
        encoded.X,
        encoded.y,
        encoded.weight,
        2,
        params.get("alpha", 0) * 100,
        1.0,
        encoded.copies,
        params.get("n_min", 0),
    )
    assert fitted.facts["termination"] == "optimal" and fitted.facts["verified"]
    assert fitted.facts["objective"] == pytest.approx(best)
    assert min(sum(leaf.rows) for leaf in fitted.tree.leaves()) >= params.get("n_min", 0)


@pytest.mark.parametrize("binary", ["auto", "false", "printed"])
def test_one_hot_data(binary, shared_data):
    fitted = odtc.fit(
        shared_data / "soybean-small.csv", "oct", 1, encoding="onehot", params={"binary": binary}, threads=1
    )
    encoded = fitted.model.problem.encoded
    assert fitted.facts["objective"] == cheapest(encoded.X, encoded.y, encoded.weight, 1) and fitted.facts["verified"]
    assert ("b" in {block.name for block in fitted.model.columns}) == (binary == "false")


def test_auto_is_binary_where_each_feature_has_one_test():
    one, two = line([1, 2], [0, 1]), line([1, 2, 3], [0, 1, 0])
    assert "b" not in {block.name for block in one.module.build(one).columns}
    assert "b" in {block.name for block in two.module.build(two).columns}


def test_the_printed_rows_are_those_of_the_paper():
    """z_it ≤ 1 - a_fm, exactly for the leaves that the row cannot reach where m asks f."""
    problem = line([1, 2, 3], [0, 1, 0], depth=2, binary="printed")
    model = problem.module.build(problem)
    rows = next(block for block in model.rows if block.name == "turn")
    names, A = name_list(model.columns), model.A.tocsr()
    found = {
        frozenset(names[j] for j in A.indices[A.indptr[r] : A.indptr[r + 1]]) for r in range(rows.start, rows.stop)
    }
    expected = set()
    for i, answers in enumerate(problem.encoded.X.tolist()):
        for leaf in range(4, 8):
            for node, goes_right in ((1, leaf >= 6), (leaf // 2, leaf % 2 == 1)):
                expected |= {
                    frozenset({f"z_{i}_{leaf}", f"a_{node}_{f}"}) for f, one in enumerate(answers) if one != goes_right
                }
    assert found == expected
    assert rows.size == len(expected) and (A.data[A.indptr[rows.start] : A.indptr[rows.stop]] == 1).all()


@pytest.mark.parametrize("cut", [0, 1, 2, 3])
@pytest.mark.parametrize("between", [-0.49, 0.0, 0.49])
def test_b_is_read_as_the_nearest_cut(cut, between):
    problem = line([1, 2, 3, 4, 5], [0, 1, 0, 1, 0])
    test, label = blank_arrays(problem.topology)
    test[1], label[2:] = cut, (0, 1)
    point = problem.module.start(problem, settle(test, problem.encoded, label))
    assert point["b"][0] == (cut + 1) / 4
    point["b"] = point["b"] + between / 4
    assert problem.module.decode(problem, point).split[1] == cut


def test_a_node_that_does_not_split_sends_rows_right():
    problem = line([1, 2, 3], [0, 1, 0], depth=3)
    test, label = blank_arrays(problem.topology)
    test[1], label[2], label[3] = 0, 0, 1
    point = problem.module.start(problem, settle(test, problem.encoded, label))
    assert np.flatnonzero(point["l"]).tolist() == [3, 7]  # the rightmost leaves below nodes 2 and 3
    assert point["d"].tolist() == [True] + 6 * [False]


def test_n_min_counts_rows_of_the_data():
    values, labels = [1, 1, 2, 2, 2, 3], [0, 0, 1, 1, 1, 0]
    assert pipeline_objective(line(values, labels, 2, n_min=1)) == 0
    assert pipeline_objective(line(values, labels, 2, n_min=2)) == 1
    assert pipeline_objective(line(values, labels, 2, n_min=4)) == 3


def pipeline_objective(problem) -> float:
    model = pipeline.compile_model(problem)
    heap, point = pipeline.start(model, "cart")  # trimmed to n_min
    assert model.objective(point) == problem.module.objective(problem, heap)
    decoded = pipeline.decode(model, pipeline.solve(model, start=point, threads=1))
    assert decoded.verified
    return problem.module.objective(problem, decoded.heap)


def test_it_says_what_it_cannot():
    problem = line([1, 1, 2, 2, 2, 3], [0, 0, 1, 1, 1, 0], n_min=2)
    test, label = blank_arrays(problem.topology)
    test[1], label[2:] = 1, (1, 0)
    with pytest.raises(TreeError, match="n_min = 2 rows in each leaf, got a leaf with 1"):
        problem.module.start(problem, settle(test, problem.encoded, label))
    with pytest.raises(TreeError, match="laid out for depth 1"):
        problem.module.start(problem, settle(np.full(8, -1, np.int32), problem.encoded))
    with pytest.raises(ChoiceError, match="n_min of at most the 6 rows"):
        problem = line([1, 1, 2, 2, 2, 3], [0, 0, 1, 1, 1, 0], n_min=7)
        problem.module.build(problem)


def test_many_thresholds_keep_their_ranks_apart():
    """2,000 cuts: ε is 1 / 2000, still far from the 1e-6 that a solver may be off."""
    problem = line(np.arange(2001), (np.arange(2001) >= 1234).astype(int))
    model = pipeline.compile_model(problem)
    test, label = blank_arrays(problem.topology)
    test[1], label[2:] = 1233, (0, 1)
    x = model.join(problem.module.start(problem, settle(test, problem.encoded, label)))
    assert_rows_kept(model, x)
    assert model.objective(x) == 0
    wrong = next(block for block in model.columns if block.name == "b").start
    x[wrong] += 1e-4  # a fifth of a cut: row 1234 is no longer on the right side
    assert (model.A @ x - model.row_upper).max() > 9e-5

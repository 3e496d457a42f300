"""BinOCT: the same trees as exhaustive search, a tree part that rows do not enlarge, and codes that route as
thresholds do."""

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog

import odtc
from odtc.data.dataset import Dataset, Feature
from odtc.data.encoding import encode
from odtc.problem.formulation import FORMULATIONS
from odtc.problem.parameters import parse_params
from odtc.problem.problem import Problem
from odtc.testing.exhaustive import cheapest
from odtc.trees.heap_tree import CompleteTree, blank_arrays, settle
from tests import pipeline

EXAMPLES = Path(__file__).parents[2] / "examples"


def pose(X, y, depth=1) -> Problem:
    X = np.asarray(X, float)
    features = tuple(Feature(f"x{j}", "numeric") for j in range(X.shape[1]))
    return Problem(
        encode(Dataset("d", X, np.asarray(y, np.int32), features, ("a", "b"), np.ones(len(X)))),
        CompleteTree(depth),
        FORMULATIONS.get("binoct"),
        parse_params("binoct", {}),
    )


@pytest.mark.slow
def test_iris_in_four_bins_is_exhaustive_search():
    fitted = odtc.fit(EXAMPLES / "iris" / "iris.csv", "binoct", 2, encoding="auto:bins=4", threads=1)
    encoded = fitted.model.problem.encoded
    assert fitted.facts["termination"] == "optimal" and fitted.facts["verified"]
    assert fitted.facts["objective"] == cheapest(encoded.X, encoded.y, encoded.weight, 2)


@pytest.mark.slow
def test_one_hot_data(shared_data):
    fitted = odtc.fit(shared_data / "soybean-small.csv", "binoct", 2, encoding="onehot", threads=1)
    assert (fitted.facts["termination"], fitted.facts["objective"], fitted.facts["verified"]) == ("optimal", 0, True)
    assert "tau" not in {block.name for block in fitted.model.columns}  # one threshold needs no code


def test_the_whole_numbers_do_not_grow_with_the_rows():
    rng = np.random.default_rng(1)
    sizes = []
    for n in (50, 500, 5000):
        X = np.concatenate([np.stack([np.arange(13) % 13, np.arange(13) % 5], 1), rng.integers(0, [13, 5], (n, 2))])
        problem = pose(np.column_stack([X, rng.integers(0, 1000, len(X)) % 7]), rng.integers(0, 2, len(X)), depth=3)
        model = problem.module.build(problem)
        rows = {block.name: block.size for block in model.rows}
        sizes.append((int(model.integrality.sum()), {name: rows[name] for name in rows if name != "place"}))
    assert sizes[0] == sizes[1] == sizes[2]


@pytest.mark.parametrize("cuts", [1, 2, 3, 4, 5, 7, 8, 9, 16, 21])
def test_whole_codes_leave_each_row_its_leaf_alone(cuts):
    """For every code of every feature, l of the relaxation can only be the routing: it may be continuous."""
    X = np.array([(v, w) for v in range(cuts + 1) for w in range(min(cuts, 3) + 1)])
    problem = pose(X, X.sum(axis=1) % 2)
    model = problem.module.build(problem)
    A, blocks = model.A.tocsr(), {block.name: block for block in model.columns}
    equal = model.row_lower == model.row_upper
    for test in range(problem.encoded.n_candidate_splits):
        heap, label = blank_arrays(problem.topology)
        heap[1], label[2:] = test, (0, 1)
        point = problem.module.start(problem, settle(heap, problem.encoded, label))
        lower, upper = model.col_lower.copy(), model.col_upper.copy()
        for name in ("f", "tau", "p"):
            if name in blocks:
                place = slice(blocks[name].start, blocks[name].stop)
                lower[place] = upper[place] = np.asarray(point[name], float).ravel()
        routing = np.asarray(point["l"], float).ravel()
        wish = np.zeros(model.n_cols)
        wish[blocks["l"].start : blocks["l"].stop] = routing  # the point farthest from the routing is the routing
        found = linprog(
            wish, A[~equal], model.row_upper[~equal], A[equal], model.row_upper[equal], np.stack([lower, upper], 1)
        )
        assert found.status == 0, found.message
        assert found.fun == pytest.approx(problem.encoded.n_rows, abs=1e-7)


def test_codes_beyond_the_thresholds_of_a_feature_are_cut_off():
    problem = pose([(0, 0), (1, 1), (2, 2), (3, 0), (4, 1), (5, 2)], [0, 1, 0, 1, 0, 1])
    model = pipeline.compile_model(problem)
    test, label = blank_arrays(problem.topology)
    test[1], label[2:] = 6, (0, 1)  # the last cut of the second feature, code 1 of 5 in three bits
    point = problem.module.start(problem, settle(test, problem.encoded, label))
    assert point["tau"].tolist() == [[0, 0, 1]]
    rows = next(block for block in model.rows if block.name == "code")
    for code in range(8):
        point["tau"] = np.array([[code >> 2 & 1, code >> 1 & 1, code & 1]])
        assert ((model.A @ model.join(point))[rows.start] <= 0) == (code <= 1)


def test_missing_cells_lie_above_all_thresholds():
    dataset = Dataset(
        "d",
        np.array([[1.0], [2.0], [np.nan], [3.0]]),
        np.array([0, 1, 0, 1], np.int32),
        (Feature("x", "numeric"),),
        ("a", "b"),
        np.ones(4),
        missing="separate",
    )
    problem = Problem(encode(dataset), CompleteTree(2), FORMULATIONS.get("binoct"), parse_params("binoct", {}))
    model = pipeline.compile_model(problem)
    decoded = pipeline.decode(model, pipeline.solve(model, threads=1))
    assert decoded.verified and decoded.heap.errors(problem.encoded) == 0

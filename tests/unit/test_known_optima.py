"""Known optimal training errors, by HiGHS from the arrays: published data where it is at hand, else ours.

Data: one-hot of every column, λ = 0, incomplete rows dropped (three dynamic programs agree).
Complete enumerations stand for it everywhere, judged by exhaustive search.
"""

from pathlib import Path

import pytest

import odtc
from odtc.data.encoding import encode
from odtc.heuristics.heuristic import grow
from odtc.testing.exhaustive import cheapest
from odtc.trees.heap_tree import CompleteTree
from tests import pipeline

EXAMPLES = Path(__file__).parents[2] / "examples"

KNOWN = [
    ("monks-1", 2, 22),
    ("monks-2", 2, 57),
    ("monks-3", 2, 8),
    ("hayes-roth", 2, 52),
    ("house-votes-84", 2, 7),
    ("balance-scale", 2, 199),
    ("soybean-small", 2, 0),
    ("soybean-small", 3, 0),
]


@pytest.mark.every(2)
@pytest.mark.slow
@pytest.mark.parametrize(("name", "depth", "errors"), KNOWN)
def test_published_data(name, depth, errors, shared_data):
    fitted = odtc.fit(shared_data / f"{name}.csv", "flowoct", depth, encoding="onehot", threads=1)
    facts = fitted.facts
    assert facts["termination"] == "optimal" and facts["verified"] and facts["gap"] == 0
    assert facts["objective"] == errors
    assert facts["n_rows"] - facts["train_correct"] == errors


# Errors at depth 2, 3 and 4. At depth 4 kr-vs-kp takes this search two minutes; tests/unit/test_dpflow.py proves it.
OPTIMA = {
    "monks-1": (22, 10, 0),
    "monks-2": (57, 41, 30),
    "monks-3": (8, 6, 2),
    "hayes-roth": (52, 34, 21),
    "house-votes-84": (7, 5, 1),
    "balance-scale": (199, 163, 138),
    "tic-tac-toe": (282, 216, 137),
    "car-evaluation_papers": (384, 336, 288),
    "kr-vs-kp": (418, 198),
    "soybean-small": (0, 0, 0),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", OPTIMA)
def test_the_exact_search_finds_the_published_optima(name, shared_data):
    dataset = odtc.read(shared_data / f"{name}.csv")
    encoded = encode(dataset, "onehot")
    for depth, errors in zip((2, 3, 4), OPTIMA[name]):
        tree = grow("optimal:seconds=600", encoded, CompleteTree(depth)).to_tree(encoded)
        assert tree.depth <= depth
        assert (tree.predict(dataset.X) != dataset.y).sum() == errors, depth


@pytest.mark.parametrize("name", ["monks-3", "hayes-roth", "soybean-small"])
def test_published_optima_by_bendersoct(name, shared_data):
    model = odtc.build(shared_data / f"{name}.csv", "bendersoct", 2, encoding="onehot")
    solution = odtc.solve(model, threads=1)
    decoded = odtc.decode(model, solution)
    assert solution.termination == "optimal" and decoded.verified and solution.gap == 0
    assert solution.objective == pytest.approx(OPTIMA[name][0], abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["monks-1", "monks-2", "monks-3"])
def test_complete_enumerations(name):
    fitted = odtc.fit(EXAMPLES / "monks" / f"{name}_test.csv", "flowoct", 2, encoding="onehot", threads=1)
    encoded = fitted.model.problem.encoded
    assert fitted.facts["objective"] == cheapest(encoded.X, encoded.y, encoded.weight, 2)
    assert fitted.facts["verified"] and fitted.facts["n_rows"] == 432


@pytest.mark.parametrize("params", [{"literal": True}, {"bottom": "flow"}, {"lambda": 0.02}])
def test_other_forms_on_iris(params):
    fitted = odtc.fit(EXAMPLES / "iris" / "iris.csv", "flowoct", 2, encoding="auto:bins=4", params=params, threads=1)
    encoded, price = fitted.model.problem.encoded, params.get("lambda", 0)
    best = cheapest(encoded.X, encoded.y, encoded.weight, 2, price, 1 - price)
    assert fitted.facts["objective"] == pytest.approx(best)
    assert fitted.facts["verified"]


def test_the_start_reaches_the_solver():
    model = pipeline.build(EXAMPLES / "monks" / "monks-1.csv", "flowoct", 2, encoding="onehot")
    heap, point = pipeline.start(model, "cart")
    solution = pipeline.solve(model, start=point, threads=1)
    assert solution.start == "accepted"
    # The first incumbent that the solver reports is at least as good as the start it was given.
    first = next(incumbent for _, incumbent, _ in solution.history if incumbent is not None)
    assert first <= model.objective(point) + 1e-6

"""dpflow finds the optima of specialised packages, on the data sets that these can do (pip install odtc[peers])."""

from fractions import Fraction

import numpy as np
import pytest

from odtc.algorithms.moments.lines import ExactLines, LineCosts
from odtc.algorithms.moments.search import SearchByIntervals
from odtc.algorithms.near_optimal.tree_set import TreeSet
from odtc.formulations.dpflow import forms
from tests import pipeline
from tests.command_line import MONKS

BINARY = [
    ("monks-1", 2),
    ("monks-1", 3),
    ("monks-1", 4),
    ("monks-2", 2),
    ("monks-2", 3),
    ("monks-2", 4),
    ("monks-3", 3),
    ("hayes-roth", 3),
    ("hayes-roth", 4),
    ("balance-scale", 2),
    ("balance-scale", 3),
    ("balance-scale", 4),
    ("tic-tac-toe", 2),
    ("tic-tac-toe", 3),
    ("car-evaluation", 3),
]
NUMERIC = [("iris", 2), ("iris", 3), ("wine", 2), ("pima-diabetes", 2), ("haberman", 2), ("haberman", 3)]
BRING = "pip install odtc[peers] brings it, where there is a wheel for this Python"


def ours(path, depth, encoding):
    """(problem, optimum by the linear program, optimum by the compiler)."""
    problem = pipeline.pose(path, "dpflow", depth, encoding=encoding)
    model = pipeline.compile_model(problem)
    solved = pipeline.finish(model, pipeline.solve(model, threads=1))
    assert solved.facts["termination"] == "optimal" and solved.facts["verified"]
    return problem, solved.facts["objective"], problem.module.objective(problem, forms.form(problem).optimal(problem))


def rows(problem):
    """Every row of the data as its answers, and its class."""
    encoded = problem.encoded
    return encoded.X[encoded.row_of].astype(int), encoded.dataset.y


@pytest.mark.parametrize(("name", "depth"), BINARY)
def test_streed(name, depth, shared_data):
    pystreed = pytest.importorskip("pystreed", reason=BRING)
    problem, solved, found = ours(shared_data / f"{name}.csv", depth, "onehot")
    X, y = rows(problem)
    peer = pystreed.STreeDClassifier("accuracy", max_depth=depth, max_num_nodes=2**depth - 1, time_limit=60)
    peer.fit(X, y)
    assert solved == found == (peer.predict(X) != y).sum()


@pytest.mark.parametrize("number", [1, 2, 3])
def test_streed_with_a_price_of_branch_nodes(number):
    """Its cost_complexity is a share of the rows for each branch node."""
    pystreed = pytest.importorskip("pystreed", reason=BRING)
    problem = pipeline.pose(MONKS / f"monks-{number}.csv", "dpflow", 3, encoding="onehot", params={"lambda": 0.5})
    X, y = rows(problem)
    heap = forms.form(problem).optimal(problem)
    peer = pystreed.STreeDClassifier(
        "cost-complex-accuracy", max_depth=3, max_num_nodes=7, cost_complexity=1 / len(y), time_limit=60
    )
    peer.fit(X, y)
    # min errors + branch nodes, which λ = 1/2 prices at a half each.
    assert 2 * problem.module.objective(problem, heap) == (peer.predict(X) != y).sum() + peer.get_n_leaves() - 1


@pytest.mark.parametrize(("name", "depth"), NUMERIC)
def test_contree(name, depth, shared_data):
    pycontree = pytest.importorskip("pycontree", reason=BRING)
    problem, solved, found = ours(shared_data / f"{name}.csv", depth, "thresholds")
    data = problem.encoded.dataset
    peer = pycontree.ConTree(max_depth=depth, time_limit=60)
    peer.fit(data.X, data.y.astype(np.int32))
    assert solved == found == (peer.predict(data.X) != data.y).sum()


@pytest.mark.parametrize(("name", "depth"), [("monks-1", 3), ("tic-tac-toe", 3)])
def test_dl85(name, depth, shared_data):
    dl85 = pytest.importorskip("pydl85", reason="pip install pydl8.5 builds it")
    problem, solved, found = ours(shared_data / f"{name}.csv", depth, "onehot")
    X, y = rows(problem)
    peer = dl85.DL85Classifier(max_depth=depth, time_limit=60)
    peer.fit(X, y)
    assert solved == found == (peer.predict(X) != y).sum()


@pytest.mark.every(2)
@pytest.mark.parametrize(("name", "depth", "price", "share"), [("monks-1", 3, 1, 0.5), ("monks-2", 3, 2, 0.2)])
@pytest.mark.filterwarnings("ignore")
def test_as_many_trees_near_the_best_as_tree_praxis(name, depth, price, share):
    """That counts trees with twin leaves, too; both price a leaf."""
    praxis = pytest.importorskip("praxis", reason=BRING)
    problem = pipeline.pose(
        MONKS / f"{name}.csv", "dpflow", depth, encoding="onehot", params={"lambda": price / (1 + price)}
    )
    X, y = rows(problem)
    peer = praxis.PRAXIS()
    peer.fit(X.astype(np.uint8), y, price / len(y), depth, share, majority_leaf_only=True, lookahead_k=depth)
    best = peer.get_min_objective()
    limit = int(best * (1 + share) + 0.5)
    found = problem.module.near_optimal_trees(problem, (limit - best) / (1 + price), False, None)
    assert found.best * (1 + price) + price == pytest.approx(best)
    trees = found.trees
    twins = TreeSet(trees.rows, trees.search, depth, trees.budget, twins=True)
    assert twins.count() == peer.count_trees() >= found.count > 0


def test_streed_with_linear_leaves():
    """On the same binary features, its optimum of simple linear regression."""
    pystreed = pytest.importorskip("pystreed", reason=BRING)
    rng = np.random.default_rng(3)
    X = rng.integers(0, 100, (60, 2)).astype(float)
    y = np.round(np.where(X[:, 0] > 50, X[:, 1], 60 - X[:, 0]) + rng.normal(size=60) * 5, 1)
    cuts = np.stack([X[:, j] > q for j in range(2) for q in (25, 50, 75)], axis=1).astype(float)
    for depth in (1, 2):
        peer = pystreed.STreeDPiecewiseLinearRegressor(
            simple=True, max_depth=depth, max_num_nodes=2**depth - 1, min_leaf_node_size=5, cost_complexity=0.0
        )
        peer.fit(cuts.astype(int), y, continuous_columns=X)
        theirs = float(((peer.predict(cuts.astype(int), X) - y) ** 2).sum())
        levels = np.stack([np.searchsorted([25, 50, 75], X[:, j]) for j in range(2)], axis=1)
        found = best_of_levels(X, y, levels, depth)
        assert theirs == pytest.approx(found, rel=1e-6)


def best_of_levels(X, y, levels, depth) -> float:
    """The optimum of odtc's search over the cuts of these levels, for leaves of five rows or more."""
    costs = ExactLines(y, X, Fraction(0), np.ones(len(y)), np.arange(len(y)))
    table = costs.for_search()
    count = np.ones(len(y))
    search = SearchByIntervals(levels, LineCosts(table, count), count, 0.0, 5)
    search.solve(depth)
    return search.cost * float(table.unit)

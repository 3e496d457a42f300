"""The oblique local search: hyperplanes rounded where no row moves, never worse than CART."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import odtc
from odtc.algorithms.hyperplanes.tree_alternating import search_hyperplanes
from odtc.data.dataset import Dataset, Feature
from odtc.data.encoding import encode
from odtc.data.linear_terms import LinearTerms, shortest_between, sparsest_hyperplane
from odtc.data.splits import Oblique, Subset, Threshold
from odtc.errors import ChoiceError, DataError
from odtc.heuristics.heuristic import grow
from odtc.testing.problems import problems
from odtc.trees.heap_tree import CompleteTree, HeapTree
from tests import pipeline

EXAMPLES = Path(__file__).parents[2] / "examples"
SLOW = {"deadline": None, "suppress_health_check": list(HealthCheck), "derandomize": True}
QUICK = {"seconds": 30.0, "restarts": 6, "choice": "training"}


@given(data=st.data())
@settings(max_examples=15, **SLOW)
def test_the_search_is_settled_seeded_and_never_worse_than_cart(data):
    problem = data.draw(problems(("fair", {}), depths=(1, 2)))
    encoded, topology = problem.encoded, problem.topology
    price = data.draw(st.sampled_from([0.0, 0.25]))
    found = [grow("oblique:restarts=4", encoded, topology, price) for _ in range(2)]
    assert found[0].to_tree(encoded) == found[1].to_tree(encoded)
    cart = grow("cart", encoded, topology, price)
    cost = [heap.loss(encoded) + price * heap.n_branch_nodes for heap in (found[0], cart)]
    assert cost[0] <= cost[1] + 1e-9
    tree = found[0].to_tree(encoded)
    data_rows = encoded.dataset
    wrong = tree.predict(data_rows.X) != data_rows.y
    assert float(data_rows.weight[wrong].sum()) == pytest.approx(found[0].errors(encoded))
    back = HeapTree.from_tree(tree, encoded, topology, beyond=True)
    assert back.loss(encoded) == found[0].loss(encoded)


@given(data=st.data())
@settings(max_examples=60, **SLOW)
def test_rounding_moves_no_row(data):
    n, d = data.draw(st.integers(2, 12)), data.draw(st.integers(1, 4))
    X = np.array(
        data.draw(
            st.lists(
                st.lists(st.sampled_from([0.1, 0.30000000000000004, 0.3, 1e6, -7.25, 3.0]), min_size=d, max_size=d),
                min_size=n,
                max_size=n,
            )
        )
    )
    features = tuple(Feature(f"x{j}", "numeric") for j in range(d))
    weighed = LinearTerms.of(X, features)
    if not weighed.n:
        return
    h = np.array(data.draw(st.lists(st.floats(-1, 1), min_size=weighed.n, max_size=weighed.n)))
    v = weighed.Z @ h
    left = v <= np.median(v)
    split = weighed.split(h, np.arange(n), left)
    if split is not None:
        assert split.left(X).tolist() == left.tolist()
        assert isinstance(split, Oblique | Threshold)
    else:  # only where the sides are too near to be told apart, or one is empty
        assert left.all() or v[~left].min() - v[left].max() < 1e-6


def test_coefficients_are_short_and_in_the_units_of_the_data():
    X = np.array([[100.0, 0.01], [200, 0.01], [100, 0.05], [300, 0.09]])
    weighed = LinearTerms.of(X, (Feature("mass", "numeric"), Feature("share", "numeric")))
    split = weighed.split(np.array([1.0, 1.0]), np.arange(4), np.array([True, True, True, False]))
    # 1/200 mass + 1/0.08 share: the sums of the sides end at 0.09 and begin at 0.21, and 0.15 is in the middle.
    assert split.words((Feature("mass", "numeric"), Feature("share", "numeric")))[0] == "0.0004·mass + share ≤ 0.15"
    assert split.left(X).tolist() == [True, True, True, False]
    colour = LinearTerms.of(np.array([[0.0], [1.0], [2.0]]), (Feature("colour", "categorical", ("a", "b", "c")),))
    assert colour.split(np.array([1.0, 0, 1.0]), np.arange(3), np.array([False, True, False])) == Subset(0, (1.0,))
    assert shortest_between(0.1234, 0.1301) == 0.127 and shortest_between(0.1, 0.3) == 0.2
    assert shortest_between(1.0, np.nextafter(1.0, 2)) == 1.0


def test_the_widest_hyperplane_is_sparse_and_separates():
    rng = np.random.default_rng(0)
    Z = rng.random((40, 10))
    left = Z[:, 3] + Z[:, 5] <= 1
    h = sparsest_hyperplane(Z, left)
    v = Z @ h
    assert v[left].max() + 2 <= v[~left].min() + 1e-6 and np.abs(h[[0, 1, 2, 4, 6, 7, 8, 9]]).sum() < np.abs(h).sum()
    assert sparsest_hyperplane(np.array([[0.0], [0.5], [1.0]]), np.array([True, False, True])) is None


def test_an_exclusive_or_needs_one_hyperplane_more_than_a_stump_and_is_found():
    X = np.array([[a, b] for a in range(4) for b in range(4)], float)
    y = (np.abs(X[:, 0] - X[:, 1]) < 0.5).astype(np.int32)  # the diagonal: between two hyperplanes
    dataset = Dataset("diagonal", X, y, (Feature("a", "numeric"), Feature("b", "numeric")), ("off", "on"), np.ones(16))
    encoded = encode(dataset)
    assert grow("oblique:restarts=20", encoded, CompleteTree(2)).errors(encoded) == 0
    assert grow("optimal", encoded, CompleteTree(2)).errors(encoded) > 0


def test_processes_side_by_side_share_the_restarts_and_repeat_themselves():
    rng = np.random.default_rng(1)
    Z = rng.random((60, 3))
    loss = 1.0 - np.eye(3)[rng.integers(0, 3, 60)]
    found = [search_hyperplanes(Z, loss, 2, restarts=5, seconds=60, jobs=2) for _ in range(2)]
    assert found[0].loss == found[1].loss and (found[0].H == found[1].H).all() and len(found[0].seen) == 5 * 3
    assert found[0].loss <= min(kept for kept, _, _ in found[0].seen)
    assert (
        search_hyperplanes(Z, loss, 2, restarts=400, seconds=0).loss <= loss.sum(axis=0).min()
    )  # there is a tree in any case


def test_the_model_is_fitted_and_checked_and_keeps_constraints():
    fitted = odtc.fit(EXAMPLES / "iris" / "iris.csv", "oblique_search", 2, params=QUICK)
    cart = fitted.facts["cart_train_accuracy"]
    assert fitted.facts["verified"] and fitted.facts["train_accuracy"] >= max(cart, 0.98)
    kept = odtc.fit(EXAMPLES / "iris" / "iris.csv", "oblique_search", 2, params=QUICK, constraints=("leaves <= 2",))
    assert kept.tree.n_leaves == 2 and kept.facts["verified"]


def test_rows_that_differ_but_are_one_row_are_refused():
    with pytest.raises(ChoiceError, match="merges rows of 'iris' with different numbers"):
        odtc.fit(EXAMPLES / "iris" / "iris.csv", "oblique_search", 2, encoding="auto:bins=3", params=QUICK)


def test_bad_options_are_refused_in_a_sentence():
    encoded = encode(odtc.read(EXAMPLES / "iris" / "iris.csv"))
    with pytest.raises(ChoiceError, match="a job or more for the start 'oblique', got 10, 1000, 0 and 0"):
        grow("oblique:jobs=0", encoded, CompleteTree(2))


def test_a_start_of_hyperplanes_is_refused_where_only_tests_are_asked():
    model = pipeline.build(EXAMPLES / "iris" / "iris.csv", "flowoct", 2)
    with pytest.raises(ChoiceError, match="uses hyperplanes, but flowoct supports only the splits of the encoding"):
        pipeline.start(model, "oblique:restarts=4")


def test_missing_cells_are_not_weighed():
    X = np.array([[1.0, np.nan, 0], [2, 1, 0], [3, 2, 1], [4, 1, np.nan]])
    features = (Feature("a", "numeric"), Feature("b", "numeric"), Feature("c", "categorical", ("u", "v")))
    weighed = LinearTerms.of(X, features)
    assert [(term.feature, term.level) for term in weighed.terms] == [(0, None), (2, 0.0), (2, 1.0)]
    with pytest.raises(ChoiceError, match="cannot weigh the missing cells of 'b'"):
        LinearTerms.of(X, features, refuse_missing=True)
    with pytest.raises(DataError, match="range is a double"):
        LinearTerms.of(np.array([[-1e308], [1e308]]), features[:1])

"""CART's kernel against scikit-learn: the same decrease of impurity, with weights, leaf sizes, best-first growth."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odtc.algorithms.greedy_gini import Table, best_cut, grow

sklearn_datasets = pytest.importorskip("sklearn.datasets")


def table_of(X, y, weight=None):
    rank = np.stack([np.unique(column, return_inverse=True)[1].reshape(-1) for column in X.T], axis=1)
    weight = np.ones(len(y)) if weight is None else weight
    return Table(rank, rank.max(axis=0), y.astype(np.int64), weight, np.ones(len(y), np.int64))


def impurity(table, leaf):
    """The weighted Gini impurity of a partition of the rows."""
    lost = 0.0
    for number in np.unique(leaf):
        inside = leaf == number
        weights = np.bincount(table.y[inside], table.weight[inside])
        lost += weights.sum() - (weights**2).sum() / weights.sum()
    return lost


def leaves_of(table, found):
    leaf = np.ones(len(table.y), np.int64)
    for node in sorted(found):
        column, place = found[node]
        here = leaf == node
        leaf[here] = 2 * node + (table.rank[here, column] > place)
    return leaf


def by_sklearn(table, **limits):
    from sklearn.tree import DecisionTreeClassifier

    model = DecisionTreeClassifier(random_state=0, **limits)
    model.fit(table.rank.astype(np.float32), table.y, sample_weight=table.weight)
    return model.apply(table.rank.astype(np.float32))


@given(st.data())
def test_one_cut_saves_what_sklearns_saves(data):
    n = data.draw(st.integers(2, 30))
    columns = data.draw(st.integers(1, 4))
    X = np.array(data.draw(st.lists(st.integers(0, 4), min_size=n * columns, max_size=n * columns))).reshape(n, columns)
    y = np.array(data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)))
    weight = np.array(data.draw(st.lists(st.sampled_from([1.0, 0.5, 2.25]), min_size=n, max_size=n)))
    least = data.draw(st.integers(1, 5))
    table = table_of(X, y, weight)
    cut = best_cut(table, np.arange(n), least)
    reached = by_sklearn(table, max_depth=1, min_samples_leaf=least)
    ours = impurity(table, leaves_of(table, {1: (cut.column, cut.place)}) if cut else np.ones(n))
    assert ours == pytest.approx(impurity(table, reached), abs=1e-9)
    if cut is not None:
        assert cut.saved == pytest.approx(impurity(table, np.ones(n)) - ours, abs=1e-9)


@pytest.mark.parametrize("name", ["load_iris", "load_wine", "load_breast_cancer"])
@pytest.mark.parametrize("limits", [{}, {"least_rows": 8}, {"most_leaves": 5}])
def test_trees_of_bundled_data_save_what_sklearns_save(name, limits):
    X, y = getattr(sklearn_datasets, name)(return_X_y=True)
    table = table_of(X, y)
    words = {"least_rows": "min_samples_leaf", "most_leaves": "max_leaf_nodes"}
    theirs = by_sklearn(table, max_depth=3, **{words[key]: value for key, value in limits.items()})
    ours = leaves_of(table, grow(table, 3, **limits))
    assert impurity(table, ours) == pytest.approx(impurity(table, theirs))


def test_of_equal_cuts_the_first_is_taken_and_a_pure_node_has_none():
    X = np.array([[0, 0], [0, 0], [1, 1], [1, 1]])
    table = table_of(X, np.array([0, 0, 1, 1]))
    assert grow(table, 3) == {1: (0, 0)}
    assert best_cut(table, np.array([0, 1])) is None


def test_a_tree_that_a_limit_cuts_is_the_top_of_the_whole_one():
    X, y = sklearn_datasets.load_breast_cancer(return_X_y=True)
    table = table_of(X, y)
    whole, met = grow(table, 3), []

    def after(looks):
        met.append(None)
        return len(met) > looks

    sizes = []
    for looks in (0, 40, 100, 10_000):
        met.clear()
        found = grow(table, 3, is_over=lambda looks=looks: after(looks))
        assert found.items() <= whole.items()
        sizes.append(len(found))
    assert sizes[0] == 0 < sizes[1] < sizes[2] < sizes[3] == len(whole)

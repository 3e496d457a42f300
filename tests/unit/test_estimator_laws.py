"""The trees of the estimators against every tree of one test, by what a leaf of some rows loses by definition: of drawn
weights, costs of leaves, costs, class weights and limits on leaves."""

import warnings

import numpy as np
import pytest

import odtc
from odtc.errors import NoSolutionError

N = 14


def sides(cells: np.ndarray):
    """The rows of the leaves of every tree of at most one test."""
    yield (np.ones(len(cells), bool),)
    for column in cells.T:
        values = np.unique(column)
        for cut in (values[1:] + values[:-1]) / 2:
            yield column <= cut, column > cut


def squares(y, weight):
    return float(weight @ (y - np.average(y, weights=weight)) ** 2)


def distances(y, weight):
    return min(float(weight @ abs(y - middle)) for middle in y)


def actions(costs, weight):
    return float((weight @ costs).min())


def classes(y, weight, cost):
    return min(float(weight @ cost[y, k]) for k in range(len(cost)))


def least(loss, cells, y, weight, of_row, alpha, fewest, most):
    """min loss / weight of all + alpha · leaves, over all trees of at most one test that keep the limits."""
    found = []
    for parts in sides(cells):
        if len(parts) <= most and min(part.sum() for part in parts) >= fewest:
            paid = sum(loss(y[part], weight[part] * of_row[part]) for part in parts)
            found.append(paid / (weight * of_row).sum() + alpha * len(parts))
    return min(found, default=None)


def drawn(seed: int):
    random = np.random.default_rng(seed)
    cells = random.integers(0, 4, (N, 2)).astype(float)
    weight = random.choice([0.0, 1.0, 1.0, 2.0], N) if seed % 2 else np.ones(N)
    weight[:2] = 1.0
    words = {"ccp_alpha": float(random.choice([0.0, 0.05, 0.3])), "min_samples_leaf": [1, 3, 0.3, 5][seed % 4]}
    words["max_leaf_nodes"] = [None, None, 2][seed % 3]
    return random, cells, weight, words


def limits(words, weight):
    given, rows = words["min_samples_leaf"], int((weight > 0).sum())
    fewest = given if isinstance(given, int) else int(np.ceil(given * rows))
    return fewest, words["max_leaf_nodes"] or 2


def agrees(model, cells, y, weight):
    """What the methods of one tree say of its rows is one thing."""
    assert model.is_optimal_ and model.bound_ == pytest.approx(model.objective_) and model.status_ == "optimal"
    assert all(check.passed for check in model.verify(cells, y, sample_weight=weight))
    end, path = model.apply(cells), model.decision_path(cells)
    assert path.shape == (len(cells), 2 * model.get_n_leaves() - 1) and model.get_depth() == model.get_n_leaves() - 1
    assert np.array_equal(path.sum(axis=1), np.full(len(cells), model.get_depth() + 1))
    assert [explained.prediction is not None for explained in model.explain(cells)] == [True] * len(cells)
    return [end == leaf for leaf in model.leaf_nodes_]


@pytest.mark.parametrize("seed", range(12))
def test_a_classifier_is_the_best_tree_of_one_test(seed):
    random, cells, weight, words = drawn(seed)
    K = 2 + seed % 2
    y = np.concatenate([np.arange(K), random.integers(0, K, N - K)])
    weight[:K] = 1.0
    cost = 1 - np.eye(K)
    if seed % 3 == 1:
        cost[0, 1] = 3.0
        words["cost"] = {(0, 1): 3.0}
    share = np.ones(K)
    if seed % 4 == 2:
        share = np.array([1.0, 2.5, 0.5])[:K]
        words["class_weight"] = dict(enumerate(share.tolist()))
    elif seed % 4 == 3:
        held = np.bincount(y, weight, K)
        share, words["class_weight"] = held.sum() / (K * held), "balanced"
    of_row, (fewest, most) = share[y], limits(words, weight)
    kept = weight > 0
    best = least(
        lambda y, w: classes(y, w, cost),
        cells[kept],
        y[kept],
        weight[kept],
        of_row[kept],
        words["ccp_alpha"],
        fewest,
        most,
    )
    model = odtc.OptimalTreeClassifier(1, **words).fit(cells, y, weight)
    heavy, leaves = weight * of_row, agrees(model, cells, y, weight)
    lost, alpha, whole = float(heavy @ cost[y, model.predict(cells)]), words["ccp_alpha"], heavy.sum()
    assert lost / whole + alpha * len(leaves) == pytest.approx(best)
    price = alpha * whole / (1 + alpha * whole)
    assert model.objective_ == pytest.approx((1 - price) * lost + price * (len(leaves) - 1))
    for leaf, rows in enumerate(leaves):
        assert model.leaf_rows_[leaf].tolist() == np.bincount(y[rows & kept], minlength=K).tolist()
        assert model.leaf_weights_[leaf] == pytest.approx(np.bincount(y[rows], heavy[rows], K))
        assert (rows & kept).sum() >= fewest
        held = model.leaf_weights_[leaf] / model.leaf_weights_[leaf].sum()
        assert model.predict_proba(cells[rows]) == pytest.approx(np.tile(held, (rows.sum(), 1)))
    assert model.score(cells, y, weight) == pytest.approx((weight * (model.predict(cells) == y)).sum() / weight.sum())
    assert model.n_classes_ == K and model.classes_.tolist() == list(range(K))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("name", ["squares", "distances", "actions"])
def test_a_tree_of_numbers_is_the_best_tree_of_one_test(name, seed):
    random, cells, weight, words = drawn(seed)
    y = random.integers(0, 9, N).astype(float) if name != "actions" else random.integers(0, 9, (N, 3)).astype(float)
    loss = {"squares": squares, "distances": distances, "actions": actions}[name]
    words["ccp_alpha"] *= {"squares": 8.0, "distances": 3.0, "actions": 3.0}[name]
    if name == "distances":
        words["criterion"] = "absolute_error"
    make = odtc.OptimalPolicyTree if name == "actions" else odtc.OptimalTreeRegressor
    kept, (fewest, most) = weight > 0, limits(words, weight)
    best = least(loss, cells[kept], y[kept], weight[kept], np.ones(kept.sum()), words["ccp_alpha"], fewest, most)
    model = make(1, **words).fit(cells, y, sample_weight=weight)
    leaves, said = agrees(model, cells, y, weight), model.predict(cells)
    if name == "actions":
        lost = float(weight @ y[np.arange(N), said])
        assert model.cost_ == pytest.approx(lost)
        mean = np.average(y[np.arange(N), said], weights=weight)
        assert model.value(cells, y, weight)[0] == pytest.approx(mean) == -model.score(cells, y, weight)
    else:
        lost = float(weight @ abs(y - said) ** (2 if name == "squares" else 1))
        assert model.leaf_rows_.tolist() == [int((rows & kept).sum()) for rows in leaves]
        assert [said[rows][0] for rows in leaves] == model.leaf_values_.tolist()
    assert lost / weight.sum() + words["ccp_alpha"] * len(leaves) == pytest.approx(best)
    assert min((rows & kept).sum() for rows in leaves) >= fewest


@pytest.mark.parametrize("seed", range(6))
def test_a_constraint_is_kept_by_the_best_tree_that_keeps_it(seed):
    random, cells, _, _ = drawn(seed)
    y = np.concatenate([[0, 1], random.integers(0, 2, N - 2)])
    share, found = [0.5, 0.75, 1.0][seed % 3], []
    for parts in sides(cells):
        labels = [(k,) for k in (0, 1)] if len(parts) == 1 else [(i, j) for i in (0, 1) for j in (0, 1)]
        for told in labels:
            said = sum(part * k for part, k in zip(parts, told))
            if said[y == 1].mean() >= share:
                found.append(int((said != y).sum()))
    model = odtc.OptimalTreeClassifier(1, constraints=f"recall[1] >= {share}").fit(cells, y)
    assert model.objective_ == min(found) == (model.predict(cells) != y).sum() and model.is_optimal_
    with warnings.catch_warnings(), pytest.raises(NoSolutionError):
        warnings.simplefilter("ignore")
        odtc.OptimalTreeClassifier(1, constraints=("recall[1] >= 1", "recall[0] >= 1")).fit(cells * 0, y)

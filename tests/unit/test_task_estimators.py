"""Parameters of scikit-learn's trees at the estimators of other tasks, against all trees of tiny data, and what is left
to one leaf."""

from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest

import odtc
from odtc.errors import ChoiceError, DataError


def least_costs(X, cost, depth, least=1):
    """{leaves: least cost of a tree with so many leaves}, of `cost` of rows."""

    def of(rows, depth):
        found = {1: cost(rows)}
        for column in X.T if depth else ():
            for below, above in pairwise(np.unique(column[rows])):
                left = column[rows] < (below + above) / 2
                if min(left.sum(), (~left).sum()) < least:
                    continue
                sides = of(rows[left], depth - 1), of(rows[~left], depth - 1)
                for one, paid in sides[0].items():
                    for two, more in sides[1].items():
                        found[one + two] = min(found.get(one + two, np.inf), paid + more)
        return found

    return of(np.arange(len(X)), depth)


def tasks():
    """(estimator, arguments of fit, cost of rows, cost of a fitted tree) of each task, 24 rows."""
    random = np.random.default_rng(5)
    X = random.integers(0, 4, (24, 2)).astype(float)
    y, costs = np.round(random.normal(size=24), 2), random.integers(0, 9, (24, 3)).astype(float)

    def squared(rows):
        return ((y[rows] - y[rows].mean()) ** 2).sum()

    def absolute(rows):
        return np.abs(y[rows] - np.median(y[rows])).sum()

    def paid(rows):
        return costs[rows].sum(axis=0).min()

    def fitted(model, cost):
        leaves = model.apply(X)
        return sum(cost(np.flatnonzero(leaves == leaf)) for leaf in np.unique(leaves))

    yield odtc.OptimalTreeRegressor, {}, (X, y), squared, fitted
    yield odtc.OptimalTreeRegressor, {"criterion": "absolute_error"}, (X, y), absolute, fitted
    yield odtc.OptimalPolicyTree, {}, (X, costs), paid, fitted


@pytest.mark.parametrize("make, words, given, cost, fitted", list(tasks()))
def test_the_words_of_scikit_learn_limit_trees_of_all_tasks(make, words, given, cost, fitted):
    best = least_costs(given[0], cost, 2)
    model = make(2, max_leaf_nodes=3, **words).fit(*given)
    assert model.is_optimal_ and model.get_n_leaves() <= 3
    assert fitted(model, cost) == pytest.approx(min(paid for k, paid in best.items() if k <= 3))
    for alpha in (0.02, 0.3):
        model = make(2, ccp_alpha=alpha, **words).fit(*given)
        priced = min(paid / 24 + alpha * k for k, paid in best.items())
        assert fitted(model, cost) / 24 + alpha * model.get_n_leaves() == pytest.approx(priced)
    model = make(2, min_weight_fraction_leaf=0.25, **words).fit(*given)
    assert np.bincount(model.apply(given[0]))[model.leaf_nodes_].min() >= 6
    assert fitted(model, cost) == pytest.approx(min(least_costs(given[0], cost, 2, 6).values()))
    assert all(check.passed for check in model.verify(*given))
    with pytest.raises(ValueError, match="rows of one weight"):
        make(2, min_weight_fraction_leaf=0.1, **words).fit(*given, sample_weight=np.arange(1, 25))
    with pytest.raises(ValueError, match="ccp_alpha or the parameter lambda,"):
        make(2, ccp_alpha=0.1, params={"lambda_": 0.1}, **words).fit(*given)


def test_what_no_test_betters_is_one_leaf():
    rows = np.arange(6.0)
    X, costs, same = rows[:, None], np.c_[rows, 4 - rows], np.ones((6, 2))
    for model, given, said in (
        (odtc.OptimalPolicyTree(0), (X, costs), 1),
        (odtc.OptimalPolicyTree(2), (same, costs), 1),
        (odtc.OptimalPolicyTree(2), (X, same), 0),
        (odtc.OptimalTreeRegressor(2, criterion="absolute_error"), (X, np.full(6, 0.1)), 0.1),
    ):
        model.fit(*given)
        assert model.is_optimal_ and model.get_n_leaves() == 1 and (model.predict(given[0]) == said).all()
        assert all(check.passed for check in model.verify(*given))
    assert odtc.OptimalPolicyTree(0).fit(X, costs).cost_ == 4 * 6 - 15


@pytest.mark.parametrize("make, words, given, cost, fitted", list(tasks()))
@pytest.mark.parametrize("unit", [1e-7, 2.0**-40, 1e140])
def test_numbers_of_any_unit_have_the_same_tree(make, words, given, cost, fitted, unit):
    X, told = given
    plain, model = make(2, **words).fit(X, told), make(2, **words).fit(X, told * unit)
    assert (model.apply(X) == plain.apply(X)).all() and model.is_optimal_
    power = 2 if cost.__name__ == "squared" else 1
    assert model.objective_ == pytest.approx(plain.objective_ * unit**power)
    assert all(check.passed for check in model.verify(X, told * unit))
    if cost.__name__ != "paid":
        assert model.predict(X) == pytest.approx(plain.predict(X) * unit)
    priced = make(2, ccp_alpha=0.3 * unit**power, **words).fit(X, told * unit)
    plain = make(2, ccp_alpha=0.3, **words).fit(X, told)
    assert (priced.apply(X) == plain.apply(X)).all()
    # λ = p / (1 + p) for the price p, so the objective is (cost + p branch nodes) / (1 + p), and p is in units of cost.
    price = 0.3 * len(X)
    paid = plain.objective_ * (1 + price) * unit**power
    assert priced.objective_ == pytest.approx(paid / (1 + price * unit**power))
    assert all(check.passed for check in priced.verify(X, told * unit))


def test_numbers_whose_squares_vanish_are_refused():
    with pytest.raises(ValueError, match="scale them up"):
        odtc.OptimalTreeRegressor(1).fit(np.arange(6.0)[:, None], np.arange(6.0) * 1e-170)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_estimates_of_many_digits_pass_their_own_checks(seed):
    """Votes of estimates are rounded to six digits, each by itself."""
    random = np.random.default_rng(seed)
    X, treatment, chance = random.normal(size=(90, 1)), random.choice(["t", "c"], 90), np.full(90, 0.5)
    outcome = X[:, 0] ** 2 + random.normal(size=90) * 0.1
    given = X, treatment, outcome, chance, random.random(90) + 0.5
    model = odtc.OptimalPolicyTree(1, scores="ips").fit(*given)
    assert model.is_optimal_ and all(check.passed for check in model.verify(*given))


@pytest.mark.parametrize("make", [odtc.OptimalTreeClassifier, odtc.OptimalTreeRegressor])
def test_what_is_no_table_is_told(make):
    frame, y = pd.DataFrame({"d": np.arange(6.0)}), [0, 0, 1, 1, 1, 0]
    model = make(1).fit(frame, y)
    for wrong, said in (
        (frame["d"], r"a data frame, as frame\[\['NAME'\]\]"),
        (pl.Series([1.0] * 6), "a single column"),
        (pl.from_pandas(frame).lazy(), "X.collect"),
    ):
        with pytest.raises(ValueError, match=said):
            make(1).fit(wrong, y)
        with pytest.raises(ValueError, match=said):
            model.predict(wrong)


def test_too_few_rows_of_a_treatment_are_told():
    with pytest.raises(ValueError, match="expected 10 rows or more of each action .* got 3 of '0' in the treatments"):
        odtc.OptimalPolicyTree(1).fit(np.arange(6.0)[:, None], [0, 1, 0, 1, 1, 0], np.arange(6.0))


@pytest.mark.parametrize("size", (1e3, 1e6, 1e9))
def test_a_median_of_numbers_whose_certificate_would_have_too_many_digits(size):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(20, 2)), random.normal(size=20) * size
    fitted = odtc.OptimalTreeRegressor(1, criterion="absolute_error").fit(X, y)
    least = min(least_costs(X, lambda rows: np.abs(y[rows] - np.median(y[rows])).sum(), 1).values())
    assert fitted.is_optimal_ and fitted.objective_ == pytest.approx(least)


@pytest.mark.parametrize("criterion, power", (("squared_error", 2), ("absolute_error", 1)))
@pytest.mark.parametrize("size", (1e6, 1e30))
def test_a_price_of_leaves_keeps_its_digits_where_numbers_are_large(criterion, power, size):
    random = np.random.default_rng(1)
    X = np.round(random.normal(size=(40, 2)), 1)
    y = np.round(1000 * (X[:, 0] > 0) + random.normal(size=40) * 300)
    small, large = (
        odtc.OptimalTreeRegressor(2, criterion=criterion, ccp_alpha=alpha).fit(X, numbers)
        for alpha, numbers in ((40.0**power, y), ((40.0 * size) ** power, y * size))
    )
    assert small.is_optimal_ and large.is_optimal_ and len(small.leaf_values_) > 1
    assert large.predict(X) == pytest.approx(small.predict(X) * size)
    assert all(check.passed for check in large.verify(X, y * size))


@pytest.mark.parametrize("more", ({"max_leaf_nodes": 2}, {"constraints": ("features <= 1",)}), ids=str)
@pytest.mark.parametrize("size", (1e18, 1e30))
def test_medians_of_numbers_that_solvers_would_lose(more, size):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(10, 2)), random.normal(size=10)
    fitted, alike = (odtc.OptimalTreeRegressor(1, criterion="absolute_error", **more).fit(X, n) for n in (y * size, y))
    assert fitted.is_optimal_ and fitted.objective_ == pytest.approx(alike.objective_ * size)


def test_a_median_of_numbers_that_are_near_fractions_by_chance():
    """Whole numbers times 1e-100: their differences in the unit seem fractions of small numbers, but are not."""
    random = np.random.default_rng(18)
    X, y = np.round(random.normal(size=(18, 2)), 1), random.integers(-5, 5, 18).astype(float)
    fitted, plain = (odtc.OptimalTreeRegressor(1, criterion="absolute_error").fit(X, n) for n in (y * 1e-100, y))
    assert fitted.is_optimal_ and fitted.objective_ == pytest.approx(plain.objective_ * 1e-100)


def test_treatments_and_outcomes_that_tell_nothing_are_named():
    X, outcome = np.arange(8.0)[:, None], np.array([1.0, 2, np.nan, 4, np.inf, 6, 7, 8])
    with pytest.raises(ValueError, match="finite outcomes, got nan in row 2 and in 1 row more; leave"):
        odtc.OptimalPolicyTree(1).fit(X, np.arange(8) % 2, outcome)
    with pytest.raises(ValueError, match="two treatments or more, got 'a' in all 8 rows"):
        odtc.OptimalPolicyTree(1).fit(X, np.array(["a"] * 8), np.arange(8.0))


@pytest.mark.parametrize("offset", [1e8, 1e9, -1e9, 1e10])
def test_costs_that_differ_little_beside_what_all_actions_cost_keep_their_digits(offset):
    rng = np.random.default_rng(5)
    X, own = rng.integers(0, 4, (40, 1)).astype(float), rng.integers(0, 30000, (40, 3)) / 10000
    tree = odtc.OptimalPolicyTree(1).fit(X, offset + own)
    left = [X[:, 0] <= cut for cut in range(3)]
    best = min(own.sum(axis=0).min(), *(own[one].sum(axis=0).min() + own[~one].sum(axis=0).min() for one in left))
    taken = own[np.arange(40), tree.predict(X).astype(int)].sum()
    assert taken == pytest.approx(best, abs=40 * 1e-14 * abs(offset) + 1e-9)


@pytest.mark.parametrize("depth", [0, 1])
@pytest.mark.parametrize("goal", [None, "max", "min"])
def test_a_fitted_policy_tells_what_outcomes_bring_with_their_own_sign(goal, depth):
    rng = np.random.default_rng(6)
    X, taken = rng.integers(0, 4, (60, 1)).astype(float), np.arange(60) % 2
    outcome = 20 + 5 * np.where(X[:, 0] > 1, taken, -taken) + rng.random(60)
    tree = odtc.OptimalPolicyTree(depth, scores="ips", goal=goal).fit(X, taken, outcome)
    word = "cost" if goal == "min" else "value"
    assert str(tree.tree_).count(f"mean {word} 0 ") == 2**depth and "-" not in str(tree.tree_).replace("->", "")
    assert all(check.passed for check in tree.verify(X, taken, outcome=outcome))


@pytest.mark.filterwarnings("ignore:overflow")  # numpy says so, too
@pytest.mark.parametrize("scale", [1e153, 1e307, 1e-160, 5e-324])
def test_numbers_that_doubles_cannot_add_up_are_refused_in_a_sentence(scale):
    """They were a bare OverflowError."""
    X, y = np.arange(12.0)[:, None], np.round(np.random.default_rng(0).normal(size=12), 3)
    fits = {
        "numbers": lambda: odtc.OptimalTreeRegressor(1).fit(X, y * scale),
        "medians": lambda: odtc.OptimalTreeRegressor(1, criterion="absolute_error").fit(X, y * scale),
        "costs": lambda: odtc.OptimalPolicyTree(1).fit(X, np.column_stack([y, -y]) * scale),
        "weights": lambda: odtc.OptimalTreeClassifier(1).fit(X, y > 0, sample_weight=np.full(12, scale)),
    }
    for name, fit in fits.items():
        try:
            assert np.isfinite(fit().objective_), name
        except (DataError, ChoiceError) as refused:
            assert str(refused).startswith("expected "), name


@pytest.mark.parametrize("middle", [[0, 0], [0, 1], [1, 1]])
def test_savings_of_a_policy_keep_the_digits_below_those_of_the_largest(middle):
    """Two rows are heavy, and the others decide between the splits by less than a 10^14th of their savings."""
    X, taken = np.arange(4.0)[:, None], np.array([0, *middle, 1])
    weight = np.array([1e14, 0.25, 0.5, 2e14])
    policy = odtc.OptimalPolicyTree(1).fit(X, 1 - np.eye(2)[taken], sample_weight=weight)
    assert policy.is_optimal_ and (policy.predict(X) == taken).all()
    assert all(check.passed for check in policy.verify(X, 1 - np.eye(2)[taken], sample_weight=weight))


def test_actions_with_commas_are_in_quotes_in_lists():
    costs = pd.DataFrame({"call": [1.0, 2.0, 3.0], "write, then call": [2.0, 1.0, 1.0]})
    text = odtc.export_text(odtc.OptimalPolicyTree(max_depth=1).fit(np.arange(3.0)[:, None], costs))
    assert "action: call, 'write, then call'" in text and "mean cost call 1, 'write, then call' 2" in text

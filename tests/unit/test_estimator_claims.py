"""Claims and refusals of estimators: a small case for each that a single change of the code would alter."""

import warnings
from dataclasses import replace
from fractions import Fraction
from random import Random

import numpy as np
import pandas as pd
import pytest

import odtc
from odtc.cli.console import say_note
from odtc.errors import DataWarning
from odtc.estimators.least_weight import _cart, best_fitting, fits, least_rows
from odtc.model.solution import Solution, Termination
from odtc.trees.tree import Leaf
from tests import pipeline

X = np.arange(8.0)[:, None]
Y = np.array([0, 1, 0, 0, 1, 1, 0, 1])
NOISY, HEAVY = np.array([0, 0, 1, 0, 1, 1, 0, 1]), np.array([1.0, 4, 1, 4, 1, 4, 1, 4])  # the light rows tell otherwise


def quiet(make, *given, **words):
    """A fit that warns of nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return make.fit(*given, **words)


def test_no_leaf_weighs_less_than_its_share_if_rows_have_different_weights():
    free = odtc.OptimalTreeClassifier(3).fit(X, NOISY, HEAVY)
    assert free.leaf_weights_.sum(axis=1).min() < 5
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kept = odtc.OptimalTreeClassifier(3, min_weight_fraction_leaf=0.25).fit(X, NOISY, HEAVY)
        alone = odtc.OptimalTreeClassifier(0, min_weight_fraction_leaf=0.5).fit(X, NOISY, HEAVY)
    assert kept.leaf_weights_.sum(axis=1).min() >= 5 and kept.objective_ == 2
    assert alone.is_optimal_ and alone.get_n_leaves() == 1


@pytest.mark.parametrize("sign", [1, -1])
def test_an_order_of_a_column_is_kept_and_a_warning_comes_only_if_it_does_not_hold_for_all_inputs(sign):
    y = (X[:, 0] > 3).astype(int) if sign > 0 else (X[:, 0] < 4).astype(int)
    model = quiet(odtc.OptimalTreeClassifier(1, monotonic_cst=[sign]), X, y)
    assert model.predict(X).tolist() == y.tolist() and model.is_optimal_
    against = quiet(odtc.OptimalTreeClassifier(1, monotonic_cst=[-sign]), X, y)
    assert len(set(against.predict(X))) == 1 and against.is_optimal_
    # b parts the rows of a <= 1 as no a does, so that beyond the data the label falls, or rises, with a.
    a, b = np.array([0.0, 0, 1, 1, 2, 2]), np.array([0.0, 1, 1, 0, 0, 0])
    cells, labels = np.column_stack([a, b]), np.array([0, 1, 1, 0, 0, 0])
    model = odtc.OptimalTreeClassifier(2, monotonic_cst=[1, 1] if sign > 0 else [-1, -1])
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model.fit(cells, labels if sign > 0 else 1 - labels)
    grid = np.array([[p, q] for p in (-1.0, 0.5, 1.5, 3) for q in (-1.0, 0.5, 3)])
    said = model.predict(grid).reshape(4, 3) * sign
    holds = (np.diff(said, axis=0) >= 0).all() and (np.diff(said, axis=1) >= 0).all()
    assert holds == (not any("not for all inputs" in str(one.message) for one in told))


def test_neither_the_order_of_rows_nor_signs_of_zero_are_seen():
    rng = np.random.default_rng(4)
    cells, auxiliary = (rng.integers(0, 2, (12, k)).astype(float) for k in (3, 2))
    codes, order, model = rng.integers(0, 2, 12), rng.permutation(12), odtc.OptimalTreeClassifier(1)
    model.fit(cells, codes)
    features = tuple(replace(model.features_[0], name=name) for name in "pq")
    one = model._dataset(cells, codes, np.ones(12), (auxiliary, features))
    two = model._dataset(-cells[order] * -1.0, codes[order], np.ones(12), (auxiliary[order], features))
    for name in ("X", "y", "auxiliary_X"):
        assert np.array_equal(getattr(one, name), getattr(two, name)), name
    none = model._dataset(np.full((2, 3), -0.0), codes[:2], np.ones(2), (np.full((2, 2), -0.0), features))
    assert not np.signbit(none.X).any() and not np.signbit(none.auxiliary_X).any()


def test_rows_of_one_class_are_counted_as_they_are():
    for given in ("balanced", {7: 3.0}):
        model = odtc.OptimalTreeClassifier(1, class_weight=given).fit(X, np.full(8, 7))
        assert model.leaf_weights_.tolist() == [[8.0]] and model.objective_ == 0


def test_a_first_row_without_a_number_does_not_make_a_column_constant():
    cells = np.array([[np.nan], [1.0], [1.0]])
    model = odtc.OptimalTreeClassifier(1).fit(cells, [1, 0, 0])
    assert model.model_ is not None and model.predict(cells).tolist() == [1, 0, 0]
    numbers = odtc.OptimalTreeRegressor(1).fit(cells, [3.0, 1, 1])
    assert numbers.predict(cells).tolist() == [3, 1, 1]
    actions = odtc.OptimalPolicyTree(1).fit(cells, np.array([[0, 1.0], [1, 0], [1, 0]]))
    assert actions.predict(cells).tolist() == [0, 1, 1]


def test_frames_without_rows_and_words_for_numbers_are_refused():
    with pytest.raises(ValueError, match="Found array with 0 sample"):
        odtc.OptimalTreeClassifier(1).fit(pd.DataFrame({"a": pd.Series([], dtype=str)}), [])
    model = odtc.OptimalTreeClassifier(1).fit(pd.DataFrame({"a": X[:, 0]}), Y)
    with pytest.raises(ValueError, match="'a'"):
        model.predict(pd.DataFrame({"a": ["one", "two"]}))


def test_what_a_caller_must_not_miss_is_a_warning():
    model = odtc.OptimalTreeClassifier(1).fit(X, Y)
    ended = Solution(None, Termination.UNKNOWN, 3.0, 1.0, 0.0, "odtc", message="WARNING: it is noise")
    with pytest.warns(UserWarning, match="^it is noise"):
        model._ended(model.tree_, ended)
    assert (model.status_, model.objective_, model.bound_, model.is_optimal_) == ("unknown", 3.0, 1.0, False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model._ended(model.tree_, replace(ended, message="it is noise"))


def test_a_reader_is_warned_of_it_and_told_the_rest(capsys):
    for message, said in (("WARNING: it is\n noise", "warning: it is noise\n"), ("it is noise", "note: it is noise\n")):
        say_note(Solution(None, Termination.UNKNOWN, 3.0, 1.0, 0.0, "odtc", message=message))
        assert capsys.readouterr().err == said


def test_numbers_keep_their_unit_if_a_price_is_given_in_units_of_cost():
    for params, unit in (({"lambda": 0.1}, 1), ({"lambda_": 0.1}, 1), (None, 2.0**99), ({"bins": 3}, 2.0**99)):
        model = odtc.OptimalTreeRegressor(params=params, solver="highs")
        assert model._unit(1e30, 2, np.ones(3)) == unit


def test_times_have_no_unit():
    told = np.array([(True, 3.0), (False, 5), (True, 1), (True, 8)] * 2, dtype=[("event", bool), ("time", float)])
    model = odtc.OptimalSurvivalTree(1).fit(X, told)
    assert model._in_units(X, np.ones(8)) == (pytest.approx(X), 1.0)
    assert model.is_optimal_ and all(check.passed for check in model.verify(X, told))


def test_a_leaf_alone_has_the_rows_that_are_asked_for():
    for make, told in ((odtc.OptimalTreeRegressor, [1.0]), (odtc.OptimalPolicyTree, [[0, 1.0]])):
        with pytest.raises(odtc.errors.ChoiceError, match="at most the 1 row"):
            make(0, min_samples_leaf=2).fit(X[:1], told)
        assert make(0, min_samples_leaf=1).fit(X[:1], told).get_n_leaves() == 1
    for words in ({}, {"criterion": "absolute_error"}):  # numbers that are all the same were refused
        same = odtc.OptimalTreeRegressor(2, min_samples_leaf=2, **words).fit(X, np.ones(8))
        assert same.predict(X).tolist() == [1.0] * 8 and all(check.passed for check in same.verify(X, np.ones(8)))


def test_what_a_policy_costs_is_counted_again():
    costs = np.eye(2)[Y] * 3
    model = odtc.OptimalPolicyTree(1).fit(X, costs)
    assert all(check.passed for check in model.verify(X, costs))
    model.cost_ += 1
    assert [check.name for check in model.verify(X, costs) if not check.passed] == ["policy cost"]
    gains = odtc.OptimalPolicyTree(3, goal="max").fit(X, costs)
    assert gains.predict(X).tolist() == Y.tolist() and gains.cost_ == -24


def test_treatments_and_outcomes_that_tell_nothing_are_refused():
    taken, outcome = np.arange(8) % 2, np.arange(8.0)
    model = odtc.OptimalPolicyTree(1, scores="ips")
    certain = model.fit(X, taken, outcome, np.ones(8)).costs_.copy()
    assert certain.tolist() == [[-v if a == k else 0.0 for k in (0, 1)] for v, a in zip(outcome, taken)]
    assert model.fit(X, taken, outcome, np.full((8, 2), 0.5)).costs_.tolist() == (2 * certain).tolist()
    for given, words in (
        ((taken, np.where(taken, np.nan, outcome), np.ones(8)), "finite outcomes"),
        ((taken * 0, outcome, np.ones(8)), "two treatments or more"),
        ((taken, outcome, np.zeros(8)), "above 0 and at most 1"),
        ((taken, outcome, np.full(8, 1.5)), "above 0 and at most 1"),
        ((taken, outcome, np.ones((8, 3))), "above 0 and at most 1"),
        ((taken[:7], outcome, np.ones(8)), "for each of 8 rows"),
    ):
        with pytest.raises(ValueError, match=words):
            model.fit(X, *given)
    for wrong in (outcome, np.ones((7, 2)), np.ones((8, 1))):
        with pytest.raises(ValueError, match=r"expected costs of shape \(8, actions\)"):
            odtc.OptimalPolicyTree(1).fit(X, wrong)
    cells = np.arange(40.0)[:, None]
    chances = odtc.OptimalPolicyTree(1, scores="ips").fit(cells, np.arange(40) % 2, np.ones(40))
    assert -4 < chances.costs_.min() < -1.2 and (chances.costs_.max(axis=1) == 0).all()


def test_the_fewest_rows_of_a_share_and_a_tree_that_holds_it():
    weight = np.array([1.0, 4, 2, 1])
    assert [least_rows(weight, share) for share in (0, 0.25, 0.5, 0.51, 0.75, 0.76)] == [0, 1, 1, 2, 2, 3]
    dataset = odtc.OptimalTreeClassifier(1).fit(X, NOISY)._training_rows(X, NOISY, HEAVY)
    problem = pipeline.pose(dataset, "dpflow", 3)
    whole = odtc.OptimalTreeClassifier(3).fit(X, NOISY, HEAVY).tree_
    for least, cost in ((2.0, 2), (5.0, 2), (10.0, 2), (10.5, 10)):
        tree, paid, _ = best_fitting(problem, whole, np.ones(2), 1 - np.eye(2), least, True)
        assert fits(tree, np.ones(2), least) and not fits(whole, np.ones(2), least)
        assert _cart(problem, np.ones(2), least).to_tree(problem.encoded).n_leaves == (1 if cost > 2 else 2)
        held = [(leaf.label, np.array(leaf.counts)) for leaf in tree.leaves()]
        assert min(counts.sum() for _, counts in held) >= least
        assert paid == cost == pytest.approx(sum(counts.sum() - counts[label] for label, counts in held))


@pytest.mark.parametrize("weight", [1e-10, 1e-3, 1.0])
def test_the_objective_of_a_priced_tree_is_in_units_of_the_weights(weight):
    """(cost + p branch nodes) / (1 + p) for the price p of a branch node, which `ccp_alpha` is of the weight of all."""
    rng = np.random.default_rng(3)
    rows = rng.integers(0, 6, (40, 3)).astype(float)
    told = ((rows[:, 0] > 2) ^ (rng.random(40) < 0.2)).astype(int)
    weights = rng.integers(1, 5, 40) * weight
    model = odtc.OptimalTreeClassifier(2, ccp_alpha=0.03).fit(rows, told, sample_weight=weights)
    wrong, price = weights[model.predict(rows) != told].sum(), 0.03 * weights.sum()
    paid = wrong + price * (model.get_n_leaves() - 1)
    assert model.get_n_leaves() > 1 and model.objective_ == pytest.approx(paid / (1 + price), rel=1e-9, abs=0)
    assert all(check.passed for check in model.verify(rows, told, weights))


def least_sum(loss, rows, price) -> Fraction:
    """The least loss and price of a leaf, or of two leaves on the sides of a threshold, by trying all."""
    cuts = sorted({row[0] for row in rows})[:-1]
    sides = [([row for row in rows if row[0] <= cut], [row for row in rows if row[0] > cut]) for cut in cuts]
    return min([loss(rows), *(loss(left) + loss(right) + price for left, right in sides)])


def median_loss(rows) -> Fraction:
    return min(sum(weight * abs(target - other) for _, target, weight in rows) for _, other, _ in rows)


def square_loss(rows) -> Fraction:
    mean = sum(weight * target for _, target, weight in rows) / sum(weight for *_, weight in rows)
    return sum(weight * (target - mean) ** 2 for _, target, weight in rows)


@pytest.mark.parametrize("criterion, loss", [("absolute_error", median_loss), ("squared_error", square_loss)])
@pytest.mark.parametrize("offset", [0, 10**9, 10**15])
@pytest.mark.parametrize("alpha", ["0.001", "0.1"])
@pytest.mark.parametrize("seed", range(3))
def test_a_penalty_of_weights_of_all_sizes_is_exact_or_nothing_is_proved(criterion, loss, offset, alpha, seed):
    """λ of a large penalty is close to 1, and a unit took the decimals of targets far from 0: 0.3728 was proved where
    the optimum is 0.3556."""
    random = Random(seed)
    weights = [f"{random.randint(1, 9)}e{random.randint(-9, 15)}" for _ in range(7)]
    targets = [repr(float(offset + random.randint(0, 40) / 8)) for _ in range(7)]
    rows = list(zip(range(7), map(Fraction, targets), map(Fraction, weights)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = odtc.OptimalTreeRegressor(1, criterion=criterion, ccp_alpha=float(alpha)).fit(
            np.arange(7.0)[:, None], list(map(float, targets)), sample_weight=list(map(float, weights))
        )
    price = Fraction(alpha) * sum(weight for *_, weight in rows)
    best = least_sum(loss, rows, price) / (1 + price)
    if model.is_optimal_:
        assert model.objective_ == pytest.approx(float(best), rel=1e-10, abs=0)
    else:
        assert model.bound_ <= best * (1 + Fraction(1, 10**12))


NEXT = 1.0000000000000002e-07  # the double above 1e-7
CLOSE = [1e-07, NEXT, -1e-07, -1e-07, NEXT]
FAR = [1e-07, 3e-07, -1e-07, -2e-07, 5e-07]
UNLIKE = [1000000007.0, 10000000000.875, 1000000005.0, 1000000000000.5, 1e12]


@pytest.mark.parametrize("criterion, model", [("absolute_error", "cg"), ("squared_error", "dpflow")])
@pytest.mark.parametrize("numbers", [CLOSE, FAR])
@pytest.mark.parametrize("weight", [UNLIKE, [1.0] * 5])
def test_numbers_that_are_rounded_in_the_units_of_a_solver_prove_nothing(numbers, weight, criterion, model):
    """The decimals of a number and of its quotient by a power of two may differ in the last place, and a tree may cost
    little more than that."""
    places = [[8.0], [8e4], [5e14], [5e12], [-8e9]]

    def least(rows: list[int]) -> Fraction:
        y, w = [Fraction(str(numbers[row])) for row in rows], [Fraction(weight[row]) for row in rows]
        if not rows:
            return Fraction(0)
        if criterion == "absolute_error":
            return min(sum(b * abs(a - middle) for a, b in zip(y, w)) for middle in y)
        mean = sum(a * b for a, b in zip(y, w)) / sum(w)
        return sum(b * (a - mean) ** 2 for a, b in zip(y, w))

    order = sorted(range(5), key=lambda row: places[row])
    exact = min(least(order[:cut]) + least(order[cut:]) for cut in range(5))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = odtc.OptimalTreeRegressor(1, criterion=criterion, model=model, solver="highs")
        found.fit(places, numbers, sample_weight=weight)
    assert 0 <= found.bound_ <= float(exact) * (1 + 1e-9)
    if found.is_optimal_:
        assert found.objective_ == pytest.approx(float(exact), rel=1e-9)
    else:
        assert numbers is CLOSE and found.status_ == "unknown" and "best found" in found.message_


@pytest.mark.parametrize("scale", [1e-12, 1e-9, 1.0, 1e3])
@pytest.mark.parametrize("constraints", [(), ("leaf_rows >= 2",)], ids=["free", "constrained"])
def test_weights_keep_their_unit_unless_what_they_cost_would_count_as_rounding(scale, constraints):
    """Under constraints always, as they may speak of weights."""
    model = odtc.OptimalTreeClassifier(1, constraints=constraints).fit(X, NOISY, HEAVY)
    dataset = model._training_rows(X, NOISY, HEAVY)
    dataset = replace(dataset, weight=dataset.weight * scale)
    found, units = model._in_units(dataset)
    if constraints or scale >= 1:
        assert found is dataset and units == (1.0, 1.0)
    else:
        assert np.allclose(found.weight * units.number, dataset.weight, rtol=1e-12, atol=0)
        assert found.weight.max() > 0.25 and units.number < 1e-6


def test_of_a_tree_cut_back_and_one_grown_under_the_limit_the_better_is_taken():
    """The one is cut at the branch nodes alone that have a leaf below the least weight, from the bottom up."""
    better, between = 0, 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        rows, told = rng.integers(0, 4, (24, 3)).astype(float), rng.integers(0, 2, 24)
        weights = rng.choice([1.0, 2.0, 5.0], 24)
        model = odtc.OptimalTreeClassifier(2).fit(rows, told, weights)
        whole, problem = model.tree_, pipeline.pose(model._training_rows(rows, told, weights), "dpflow", 2)

        def held(node):
            return np.array(node.counts) if isinstance(node, Leaf) else held(node.left) + held(node.right)

        def cut(node, least):
            """The weights of the classes at each leaf that is left."""
            if isinstance(node, Leaf):
                return [held(node)]
            left, right = cut(node.left, least), cut(node.right, least)
            if any(len(side) == 1 and side[0].sum() < least for side in (left, right)):
                return [held(node)]
            return [*left, *right]

        for least in (4.0, 7.0):
            leaves = cut(whole.root, least)
            grown = _cart(problem, np.ones(2), least).to_tree(problem.encoded)
            paid = [sum(one.sum() - one.max() for one in leaves)]
            paid.append(sum(held(leaf).sum() - held(leaf).max() for leaf in grown.leaves()))
            assert fits(grown, np.ones(2), least)
            assert best_fitting(problem, whole, np.ones(2), 1 - np.eye(2), least, False)[1] == min(paid)
            better += paid[0] < paid[1]
            between += paid[0] < paid[1] and min(one.sum() for one in leaves) < 2 * least
    assert better and between


def test_weights_that_sums_lose_are_told():
    weight = np.ones(len(X))
    weight[0] = 1e-18
    y = (X[:, 0] > 3).astype(int)
    with pytest.warns(DataWarning, match="rounding loses 1 of"):
        odtc.OptimalTreeClassifier(1).fit(X, y, sample_weight=weight)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        odtc.OptimalTreeClassifier(1).fit(X, y, sample_weight=np.ones(len(X)))

"""The parts of the estimators alone, each at its edges: units, rows that count, limits, refusals, figures, checks."""

import inspect
import re
import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning

import odtc
from odtc.data.splits import Threshold
from odtc.data.task import TASKS
from odtc.errors import DataError, DataWarning, ModelError, SolverError
from odtc.estimators import units
from odtc.estimators.classifier import _impurity
from odtc.estimators.cost_complexity import Corner, envelope, penalty_of_branch_node
from odtc.estimators.leaf_alone import best_leaf, checks_alone, same
from odtc.estimators.least_weight import _cut_back
from odtc.estimators.monotone import directions
from odtc.estimators.parameters import TEXTS, section
from odtc.estimators.tree_estimator import _dense
from odtc.estimators.units import in_unit, unit_of
from odtc.model.feasibility import Check
from odtc.model.solution import Solution, Termination
from odtc.trees.tree import Branch, Leaf, Tree
from odtc.workflow.specification import SolvingSpec
from tests import pipeline

X = np.arange(8.0)[:, None]
Y = np.array([0.0, 0, 0, 2, 2, 8, 8, 8])
LABELS = np.array([0, 0, 0, 1, 1, 1, 1, 0])
TOLD = np.array([(True, 3.0), (False, 5), (True, 1), (True, 8)] * 2, dtype=[("event", bool), ("time", float)])
COSTS = np.column_stack([Y, 8 - Y])
TASK_CASES = (
    (odtc.OptimalTreeRegressor, {}, Y),
    (odtc.OptimalTreeRegressor, {"criterion": "absolute_error"}, Y),
    (odtc.OptimalPolicyTree, {}, COSTS),
    (odtc.OptimalSurvivalTree, {}, TOLD),
)


def test_the_unit_of_numbers_at_its_edges():
    for spread in (0.0, -1.0, np.inf, np.nan, *units.IN_SOLVERS, 1.0):
        assert unit_of(spread) == 1
    assert [unit_of(2.0**-7), unit_of(2.0**41), unit_of(1.5 * 2.0**41)] == [2.0**-7, 2.0**41, 2.0**41]
    assert [unit_of(2.0**e, 2) for e in (480, 481, -480, -481)] == [2.0**480, 1, 2.0**-480, 1]
    assert [unit_of(2.0**e, 1) for e in (960, 961, -960, -961)] == [2.0**960, 1, 2.0**-960, 1]
    # A price of more than 2^10 units of cost is told in larger units.
    assert [unit_of(1.0, 1, price) for price in (2.0**10, 2.0**11, 2.0**14, 3 * 2.0**10)] == [1, 2, 16, 4]
    assert [unit_of(1.0, 2, price) for price in (2.0**12, 2.0**14, np.inf)] == [2, 4, 1]
    assert unit_of(2.0**-7, 2, 2.0**-4) == 2.0**-7 and unit_of(2.0**-7, 2, 2.0**-2) == 2.0**-6


def test_a_tree_in_another_unit_is_the_tree_of_these_numbers():
    for make, words, y in TASK_CASES[:3]:
        small, large = (make(2, **words).fit(X, numbers).tree_ for numbers in (y / 4, y))
        assert in_unit(small, 4.0) == large and in_unit(large, 0.25) == small and in_unit(large, 1) is large


def test_the_unit_of_a_fit_is_that_of_the_spread_of_its_numbers():
    for make, words, of in (
        (odtc.OptimalTreeRegressor, {}, lambda model, y: model._in_units(y[:, None], np.ones(3))),
        (
            odtc.OptimalPolicyTree,
            {},
            lambda model, y: model._in_units(np.column_stack([y - y[0] + 3, 0 * y + 3]), np.ones(3)),
        ),
    ):
        for spread, unit in ((1.0, 1), (2.0**41, 2.0**41), (1.5 * 2.0**41, 2.0**41), (2.0**40, 1), (2.0**-7, 2.0**-7)):
            y = np.array([3.0, 3, 3 + spread]) if spread > 1e-3 else np.array([0, 0, spread])
            told, by = of(make(**words, solver="highs"), y)
            assert by == unit and np.ptp(told) * unit == np.ptp(y), (make, spread)
    alone = odtc.OptimalTreeRegressor()._in_units(np.array([[-1.5e308], [1.5e308]]), np.ones(2))
    assert alone[1] == 1 or np.isfinite(alone[0]).all()


@pytest.mark.parametrize("criterion, power", [("absolute_error", 1), ("squared_error", 2)])
def test_a_search_counts_numbers_as_they_were_written(criterion, power):
    """A quotient of 1000000000.00001 has lost the digits in which the numbers differ."""
    steps, X = np.array([1, 2, 4, 9, 3, 7]), np.array([[0.0], [1], [0], [1], [2], [2]])
    far = np.array([float(f"1000000000.0000{step}") for step in steps])
    for numbers, unit in ((far, 1e-5), (steps * 2e15, 2e15)):
        models = [odtc.OptimalTreeRegressor(1, criterion=criterion).fit(X, y) for y in (steps, numbers)]
        assert [model.is_optimal_ for model in models] == [True, True]
        assert models[1].objective_ == pytest.approx(models[0].objective_ * unit**power, rel=1e-15)


def test_the_price_of_a_branch_node_is_worth_alpha_of_the_weight():
    for alpha, weight in ((0.25, 8.0), (0.5, 2.0), (0.0, 3.0)):
        share = penalty_of_branch_node(alpha, weight)
        assert share / (1 - share) == pytest.approx(weight * alpha)


def test_the_envelope_of_drawn_lines():
    """Each α that is listed has the corner that is best just behind it, and the first of a pair of neighbours is as
    good as the second there."""
    for seed in range(30):
        random = np.random.default_rng(seed)
        losses = np.sort(random.integers(0, 12, 6))[::-1].tolist()
        corners = [Corner(leaves, lost / 20) for leaves, lost in enumerate(losses, 1)]

        def solve(alpha, corners=tuple(corners)):
            return min(corners, key=lambda each: (round(each.value(alpha), 12), -each.leaves))

        found = envelope(solve, 2.0)
        alphas = [alpha for alpha, _ in found]
        assert alphas == sorted(set(alphas)) and alphas[0] == 0
        for (alpha, corner), end in zip(found, [*alphas[1:], 2.0]):
            least = min(one.value((alpha + end) / 2) for one in corners)
            assert corner.value((alpha + end) / 2) == pytest.approx(least, abs=1e-9)
        for (_, more), (alpha, less) in zip(found, found[1:]):
            assert more.value(alpha) == pytest.approx(less.value(alpha)) and more.leaves > less.leaves
        assert found[0][1].leaves == min(one.leaves for one in corners if one.wrong == corners[-1].wrong)


@pytest.mark.parametrize("make, words, y", TASK_CASES, ids=str)
def test_rows_count_by_their_weight_in_any_order(make, words, y):
    model, order = make(1, **words), np.random.default_rng(1).permutation(8)
    with pytest.raises(ValueError, match="max_depth"):
        make(-1, **words).fit(X, y)
    if make is odtc.OptimalPolicyTree:
        assert not np.signbit(model.fit(X, y)._rows(X * -0.0, np.ones(8)).X).any()
        return
    with pytest.raises(ValueError, match=f"{make.__name__} requires y"):
        model.fit(X, None)
    with pytest.raises(ValueError, match="zero"):
        model.fit(X, y, np.zeros(8))
    cells = np.array([[0, 0], [0, 1], [0, 1], [1, 0], [1, 0], [1, 1], [1, 1], [0, 0]]) * -0.0 + [[0.0, -0.0]]
    weight = np.array([1.0, 2, 0, 1, 1, 0, 1, 1])
    model.fit(X, y, weight)
    assert model.leaf_rows_.sum() == 6
    for table in (cells, np.random.default_rng(2).integers(0, 2, (8, 3)).astype(float)):
        one, two = model._rows(table, y, weight), model._rows(table[order], y[order], weight[order])
        assert one[0].n_rows == 6 and np.array_equal(one[0].X, two[0].X) and np.array_equal(one[1], two[1])
        assert np.array_equal(one[0].weight, two[0].weight) and not np.signbit(one[0].X).any()
    assert one[0].task == TASKS.get(model.TASK.NAME).NAME and one[0].missing == "separate"


def test_two_trees_of_numbers_beside_each_other():
    one, two = odtc.OptimalTreeRegressor(1).fit(X, Y), odtc.OptimalTreeRegressor(0).fit(X, Y)
    found = one.compare([two], X, Y)
    assert found.names == ["this", "OptimalTreeRegressor"] and found.leaves == [2, 1]
    said = np.column_stack([one.predict(X), two.predict(X)])
    assert found.mean_squared_error == pytest.approx([np.mean((column - Y) ** 2) for column in said.T])
    assert found.mean_absolute_error == pytest.approx([np.mean(abs(column - Y)) for column in said.T])
    assert found.agreement.tolist() == [[1, 0], [0, 1]]
    bare = one.compare({"other": two}, X)
    assert bare.names == ["this", "other"] and bare.mean_squared_error is None and bare.mean_absolute_error is None
    twice = one.compare([two, two], X)
    assert twice.names == ["this", "OptimalTreeRegressor 1", "OptimalTreeRegressor 2"]


def test_two_survival_trees_beside_each_other():
    one, two = odtc.OptimalSurvivalTree(2).fit(X, TOLD), odtc.OptimalSurvivalTree(0).fit(X, TOLD)
    found = one.compare([two], X, TOLD)
    assert found.score.tolist() == [one.score(X, TOLD), two.score(X, TOLD)] and one.compare([two], X).score is None


def test_classifiers_and_others_beside_each_other():
    one, two = odtc.OptimalTreeClassifier(1).fit(X, LABELS), odtc.OptimalTreeClassifier(0).fit(X, LABELS)

    class Odd:
        def predict(self, cells):
            return np.arange(len(cells)) % 2

    found = one.compare([two, Odd()], X, LABELS)
    assert found.leaves == [2, 1, None] and found.names == ["this", "OptimalTreeClassifier", "Odd"]
    assert found.accuracy.tolist() == [7 / 8, 0.5, 0.5] and one.compare([two], X).accuracy is None


def test_a_page_is_written_and_an_unfitted_tree_has_none(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        odtc.OptimalTreeClassifier(1).report()
    for method in ("explain", "predict", "apply"):
        with pytest.raises(ValueError, match="not fitted"):
            getattr(odtc.OptimalTreeClassifier(1), method)(X)
    for call in (lambda new: new.verify(X, LABELS), lambda new: new.get_depth(), lambda new: new.get_n_leaves()):
        for make in (odtc.OptimalTreeClassifier, odtc.OptimalTreeRegressor, odtc.OptimalPolicyTree):
            with pytest.raises(ValueError, match="not fitted"):
                call(make(1))
    model = odtc.OptimalTreeClassifier(1).fit(X, LABELS)
    model.report(tmp_path / "p.html", "my page")
    assert (tmp_path / "p.html").read_text(encoding="utf-8") == model.report(name="my page")
    assert [path.prediction for path in model.explain(X)] == [str(label) for label in model.predict(X)]


def test_what_verify_says_of_a_tree_whose_claims_were_changed():
    for make, words, y in TASK_CASES:
        model = make(1, **words).fit(X, y)
        names = [check.name for check in model.verify(X, y)]
        assert "objective" in names and "bound" in names and all(check.passed for check in model.verify(X, y))
        paid = model.objective_
        for attribute, value, wrong in (
            ("objective_", paid + 1, {"objective"}),
            ("objective_", paid - 1, {"objective"}),
            ("bound_", paid + 1, {"bound"}),
            ("bound_", paid - 1, set()),
            ("bound_", paid + 1e-11 * paid, set()),
            ("bound_", None, set()),
        ):
            kept = getattr(model, attribute)
            setattr(model, attribute, value)
            said = {check.name for check in model.verify(X, y) if not check.passed}
            setattr(model, attribute, kept)
            assert said == wrong, (make, attribute, value)


def test_what_a_leaf_alone_says_is_checked_field_by_field():
    def tree(label=0, counts=(5.0, 3.0), rows=(5, 3), sums=()):
        return Tree(Leaf(label, counts, rows, sums), (), ("a", "b"), "y", "drop")

    def failed(said, costs=(3.0, 3.0, 3.0), only=True):
        return [check.name for check in checks_alone(only, said, tree(), costs) if not check.passed]

    assert not failed(tree()) and not failed(tree(), (3.0, 2.0, 3.0)) and not failed(tree(), (3.0, 3.0 + 1e-12, 3.0))
    assert failed(tree(), only=False) == ["only tree"] and failed(tree(label=1)) == ["answer"]
    for other in ({"counts": (5.0, 3.1)}, {"counts": (5.0,)}, {"rows": (4, 3)}, {"sums": (1.0,)}):
        assert failed(tree(**other)) == ["leaf counts"]
    assert not failed(tree(counts=(5.0, 3.0 + 1e-9)))
    for costs, wrong in (
        ((3.5, 3.0, 3.0), ["objective"]),
        ((None, 3.0, 3.0), ["objective"]),
        ((3.0, 3.5, 3.0), ["bound"]),
        ((3.0, None, 3.0), ["bound"]),
    ):
        assert failed(tree(), costs) == wrong
    large = checks_alone(True, tree(counts=(1e9, 3.5)), tree(counts=(1e9, 3.0)), (3.0, 3.0, 3.0))
    assert all(check.passed for check in large)  # beside so much the half is rounding
    for only, words in ((True, "and every tree is a leaf"), (False, "but the depth or a split allows other trees")):
        assert checks_alone(only, tree(), tree(), (3.0, 3.0, 3.0))[0].text == f"a single leaf, {words}"
    assert same("a", "a") and not same("a", "b") and same(1.0, 1 + 1e-10) and not same(1.0, 1 + 1e-8)
    assert same(1e12, 1e12 + 100) and not same(1e12, 1e12 + 1e4) and not same(0.0, 1e-8) and not same("1", 1.0)
    assert not same(1.0, "1")


def test_the_best_leaf_under_costs_and_constraints():
    dataset = odtc.OptimalTreeClassifier(1).fit(X, LABELS)._training_rows(X, LABELS, None)

    def found(texts=(), cost=None):
        tree, loss = best_leaf(dataset, "auto", texts, cost)
        assert tree.root.rows == (4, 4) and tree.root.counts == (4.0, 4.0)
        return tree.root.label, loss

    assert found() == (0, 4.0)
    assert found(cost=np.array([[0.0, 1.0], [3.0, 0.0]])) == (1, 4.0)
    assert found(cost=np.array([[0.0, 0.5], [0.25, 0.0]])) == (0, 1.0)
    assert found(("recall[1] >= 0.5",)) == (1, 4.0)
    assert found(("recall[0] >= 1", "leaf_rows >= 8"), np.array([[0.0, 1.0], [3.0, 0.0]])) == (0, 12.0)


def test_weights_and_labels_that_do_not_fit_are_refused():
    model = odtc.OptimalTreeClassifier(1)
    for y, words in (
        (LABELS[:7], "got 7 labels and 8 rows"),
        (None, "requires y"),
        (np.array([None, *"aabbbbb"], object), "got None in row 0; drop"),
        (np.array([None, *"aabbb", np.nan, None], object), "and 2 more rows have none"),
        (np.array([np.nan, *"aabbbbb"], object), "got nan in row 0; drop"),
    ):
        with pytest.raises(ValueError, match=words):
            model.fit(X, y)
    with pytest.raises(ValueError, match="egative"):
        model.fit(X, LABELS, -np.ones(8))
    with pytest.raises(ValueError, match="two classes for monotonic_cst, got 3"):
        odtc.OptimalTreeClassifier(1, monotonic_cst=[1]).fit(X, [0, 0, 1, 1, 2, 2, 2, 2])
    assert odtc.OptimalTreeClassifier(1, monotonic_cst=[0]).fit(X, [0, 0, 1, 1, 2, 2, 2, 2]).n_classes_ == 3
    model.fit(X, LABELS)
    for cells, y in ((X[:7], LABELS), (X, np.full(8, 5)), (X, np.full(8, -1))):
        with pytest.raises(ValueError, match="that the estimator was fitted on"):
            model.verify(cells, y)
    with pytest.raises(ValueError, match="got 7 labels and 8 rows"):
        model.robust_score(X, LABELS[:7])
    assert model.robust_score(X, LABELS) == 7 / 8
    assert model.robust_score(X, np.where(LABELS, 5, 0)) == 3 / 8  # a class that was never seen is right nowhere
    assert model.robust_score(X, LABELS, np.array([0, 0, 0, 0, 0, 0, 1, 3.0])) == 0.25


def test_a_tree_whose_rows_may_be_moved_is_scored_at_their_worst():
    model = odtc.OptimalTreeClassifier(1, model="flowoct", robust=1.0, threads=1).fit(X * 2, X[:, 0] > 3)
    assert model.boxes_ is not None and model.robust_score(X * 2, X[:, 0] > 3) == 1 - model.objective_ / 8
    plain = odtc.OptimalTreeClassifier(1).fit(X, X[:, 0] > 3)
    assert plain.boxes_ is None and plain.fewest_leaves_ is True


def test_paths_and_leaves_of_rows():
    model = odtc.OptimalTreeClassifier(2).fit(X, [0, 0, 1, 1, 0, 0, 1, 1])
    path, leaves = model.decision_path(X).toarray(), model.apply(X)
    nodes = [node for node, _ in model.tree_.walk()]
    for row, leaf in zip(path, leaves):
        told = [at for at in np.flatnonzero(row) if isinstance(nodes[at], Leaf)]
        assert row[0] and told == [leaf] == np.flatnonzero(row)[-1:].tolist()
    assert model.leaf_nodes_.tolist() == [at for at, node in enumerate(nodes) if isinstance(node, Leaf)]
    for most, leaves_ in ((2, 2), (3, 3), (4, 4), (5, 4)):
        assert (
            odtc.OptimalTreeClassifier(2, max_leaf_nodes=most).fit(X, [0, 0, 1, 1, 0, 0, 1, 1]).get_n_leaves()
            == leaves_
        )
    assert path.shape == (8, len(nodes)) and model.get_depth() == 2 and model.get_n_leaves() == len(set(leaves))


def test_shares_of_a_leaf_count_weights():
    model = odtc.OptimalTreeClassifier(1, class_weight={0: 1.0, 1: 3.0}).fit(X, LABELS, np.array([1.0] * 7 + [2]))
    assert model.predict_proba(X[[0, 7]]) == pytest.approx(np.array([[1, 0], [2 / 14, 12 / 14]]))
    with np.errstate(divide="ignore"):
        assert np.array_equal(model.predict_log_proba(X), np.log(model.predict_proba(X)))
    free = odtc.OptimalTreeClassifier(1, class_weight={0: 0.0, 1: 1.0}, simplify=False).fit(X[:6], [0, 0, 0, 1, 1, 1])
    assert np.array_equal(free.predict_proba(X[:6]), np.eye(2)[free.predict(X[:6])])  # a leaf of nothing has its label


def test_columns_that_are_set_aside_are_refused_if_they_do_not_fit():
    frame, side = pd.DataFrame({"a": X[:, 0]}), pd.DataFrame({"s": list("ppqqppqq")})
    model = odtc.OptimalTreeClassifier(1)
    assert model.fit(frame, LABELS, auxiliary=side["s"]).n_features_in_ == 1
    for given, words in (
        (side.to_numpy(), "data frame or a series"),
        (side[:7], "got 7 and 8 rows"),
        (frame, "'a' in both"),
        (pd.concat([side, side], axis=1), "'s'"),
    ):
        with pytest.raises(ValueError, match=words):
            model.fit(frame, LABELS, auxiliary=given)


def test_policies_beside_each_other_and_their_value():
    one, two = odtc.OptimalPolicyTree(1).fit(X, COSTS), odtc.OptimalPolicyTree(0).fit(X, COSTS)
    for model in (one, two):
        paid = COSTS[np.arange(8), model.predict(X)]
        assert model.cost_ == paid.sum() and model.score(X, COSTS) == -paid.mean()
        mean, error = model.value(X, COSTS)
        assert mean == paid.mean() and error == pytest.approx(paid.std(ddof=1) / np.sqrt(8))
    found = one.compare([two], X, COSTS)
    assert found.mean_cost.tolist() == [one.value(X, COSTS)[0], two.value(X, COSTS)[0]]
    assert found.standard_error.tolist() == [one.value(X, COSTS)[1], two.value(X, COSTS)[1]]
    alike = odtc.OptimalPolicyTree(2).fit(X, np.ones((8, 2)))
    assert alike.model_ is None and alike.cost_ == 8 and alike.tree_.goal == one.tree_.goal == ""
    bare = one.compare([two], X)
    assert bare.mean_cost is None and bare.standard_error is None
    with pytest.raises(ValueError, match="costs of 2 actions, got 3"):
        one.value(X, np.ones((8, 3)))
    with pytest.raises(ValueError, match="costs of 2 actions, got 3"):
        one.compare([two], X, np.ones((8, 3)))
    other = odtc.OptimalPolicyTree(0).fit(X, pd.DataFrame(COSTS, columns=["p", "q"]))
    with pytest.raises(ValueError, match="predict the actions"):
        one.compare([other], X, COSTS)
    with pytest.raises(ValueError, match="the actions of fit"):
        one.verify(X, np.ones((8, 3)))
    for words in ({"scores": "odd"}, {"goal": "odd"}):
        with pytest.raises(ValueError, match="got .*odd"):
            odtc.OptimalPolicyTree(1, **words).fit(X, COSTS)


def test_rows_without_weight_are_none_in_a_leaf_of_a_policy():
    rng = np.random.default_rng(5)
    cells, costs = rng.integers(0, 4, (24, 3)).astype(float), rng.integers(0, 20, (24, 3)).astype(float)
    weight = np.where(np.arange(24) % 3 == 0, 0.0, 1.0)
    model = odtc.OptimalPolicyTree(3, min_samples_leaf=3).fit(cells, costs, sample_weight=weight)
    held = np.bincount(model.apply(cells)[weight > 0], minlength=len(list(model.tree_.walk())))[model.leaf_nodes_]
    assert len(held) > 1 and held.min() >= 3
    alone = odtc.OptimalPolicyTree(3, min_samples_leaf=3).fit(cells[weight > 0], costs[weight > 0])
    assert model.cost_ == alone.cost_ and model.objective_ == alone.objective_
    assert all(check.passed for check in model.verify(cells, costs, sample_weight=weight))
    assert model.costs_.shape == (24, 3)


def test_a_policy_by_outcomes_is_as_good_as_its_costs_say():
    taken, chance = np.arange(8) % 2, np.full(8, 0.5)
    outcome = np.where(taken == (X[:, 0] > 3), 9.0, 1.0)
    side = (X > 3).astype(float)
    for goal, sign in (("max", 1), ("min", -1), (None, 1)):
        model = odtc.OptimalPolicyTree(1, goal=goal, scores="ips").fit(side, taken, outcome, chance)
        assert model.predict(side).tolist() == (side[:, 0] == (sign > 0)).astype(int).tolist()
        assert all(check.passed for check in model.verify(side, taken, outcome, chance))
        assert model.tree_.goal == ("max" if sign > 0 else "")
        told = model.value(side, taken, outcome=outcome, propensity=chance)
        assert told == model.value(side, model.costs_) and told[0] == pytest.approx(model.cost_ / 8)
        with pytest.raises(ValueError, match="the actions of fit"):
            model.value(side, taken + 3, outcome=outcome, propensity=chance)
        with pytest.raises(ValueError, match="the actions of fit"):
            model.verify(side, taken + 3, outcome, chance)


def test_tables_of_costs_that_are_none():
    model = odtc.OptimalPolicyTree(1)
    bad = COSTS.copy()
    bad[3, 1] = np.inf
    for costs, words in (
        (bad, "got inf in row 3 of the action 1"),
        (COSTS[:7], r"shape \(8, actions\) with two actions or more, got shape \(7, 2\)"),
        (COSTS[:, :1], r"got shape \(8, 1\)"),
        (Y, r"got shape \(8,\)"),
        (np.array(["a", "b"] * 4), "numbers, got 'a'"),
    ):
        with pytest.raises(ValueError, match=words):
            model.fit(X, costs)
    model.fit(X, pd.DataFrame(COSTS, columns=["p", "q"]))
    assert model.actions_.tolist() == ["p", "q"] and set(model.predict(X)) == {"p", "q"}


def test_what_survival_takes_and_answers():
    def told(names=("event", "time"), types=(bool, float), change=None):
        table = np.array(TOLD.tolist(), dtype=list(zip(names, types)))
        if change is not None:
            table["time"][2] = change
        return table

    model = odtc.OptimalSurvivalTree(1)
    for y, words in (
        (Y, "structured array of two fields.*got ndarray"),
        (np.array([(1, 2, 3)] * 8, dtype=[(c, float) for c in "abc"]), "two fields"),
        (told().reshape(2, 4), "structured array"),
        (told(types=(float, float))[:7], "expected a time for each row, got 7"),
        (np.array([(2.0, 1)] * 8, dtype=[("event", float), ("time", float)]), "'event' of type float64"),
        (np.array([(2.0, 1)] + [(1.0, 1)] * 7, dtype=[("event", float), ("time", float)]), "'event' of type float64"),
        (told(change=-1.0), "at least 0 in the field 'time'"),
        (told(change=np.nan), "at least 0 in the field 'time'"),
        (np.array([(False, 1.0)] * 8, dtype=TOLD.dtype), "event"),
    ):
        with pytest.raises(ValueError, match=words):
            model.fit(X, y)
    same_tree = model.fit(X, told(types=(float, float))).tree_
    assert model.fit(X, told(change=0.0)).unique_times_.tolist() == [0, 1, 3, 5, 8]
    assert model.fit(X, TOLD).tree_ == same_tree and model.unique_times_.tolist() == [1, 3, 5, 8]
    whole = odtc.OptimalSurvivalTree(0).fit(X, TOLD)
    # Of 8 rows 2 end at 1, 2 at 3, 2 are lost at 5, and 2 end at 8.
    curve, hazard = [6 / 8, 4 / 8, 4 / 8, 0.0], np.cumsum([2 / 8, 2 / 6, 0, 1])
    assert whole.predict_survival_function(X, return_array=True) == pytest.approx(np.tile(curve, (8, 1)))
    assert whole.predict_cumulative_hazard_function(X, True) == pytest.approx(np.tile(hazard, (8, 1)))
    step, more = whole.predict_survival_function(X)[0], whole.predict_cumulative_hazard_function(X)[0]
    assert step(np.array([0, 0.5, 1, 2.9, 3, 7, 8])) == pytest.approx([1, 1, 0.75, 0.75, 0.5, 0.5, 0])
    assert [more(at) for at in (0, 1, 8)] == pytest.approx([0, 0.25, hazard[-1]]) and type(more(1)) is float
    assert step.domain == (0, 8)
    assert repr(step) == "StepFunction(4 steps, from 1 to 8)"
    for at in (-0.1, 8.1, [1, 9]):
        with pytest.raises(ValueError, match="expected times from 0 to 8"):
            step(at)
    assert whole.score(X, TOLD) == 0.5
    with pytest.raises(ValueError, match="surely had its event first"):
        whole.score(X[:1], TOLD[:1])
    none_before = odtc.OptimalSurvivalTree(2).fit(X, TOLD)
    functions = none_before.predict_survival_function(X)
    table = none_before.predict_survival_function(X, return_array=True)
    assert all(np.array_equal(f.y, row) for f, row in zip(functions, table)) and table.max() == 1


def test_numbers_that_are_no_targets_and_importances_of_a_tree_of_numbers():
    for words in ({}, {"criterion": "absolute_error"}):
        model = odtc.OptimalTreeRegressor(2, **words)
        for y, said in ((Y[:7], "got 7 numbers and 8 rows"), (np.where(X[:, 0] == 2, np.nan, Y), "NaN")):
            with pytest.raises(ValueError, match=said):
                model.fit(X, y)
        cells = np.column_stack([X[:, 0] % 2, X[:, 0]])
        model.fit(cells, Y)
        assert model.feature_importances_.tolist() == [0, 1] and model.leaf_values_.tolist() == [0, 2, 8]
        assert odtc.OptimalTreeRegressor(0, **words).fit(cells, Y).feature_importances_.tolist() == [0, 0]
        with pytest.raises(ValueError, match="not fitted"):
            _ = odtc.OptimalTreeRegressor(1, **words).feature_importances_
        with pytest.warns(UserWarning, match="column-vector"):
            assert model.fit(X, Y[:, None]).predict(X).tolist() == Y.tolist()
        # The first column parts 0 from 6, the second 6 from 8: the error goes from one answer to two, to three.
        # Only in this order three leaves are enough: the second column has 0 on both sides.
        cells = np.array([[0.0, 0], [0, 0], [0, 1], [1, 0], [1, 0], [1, 1], [1, 1]])
        numbers = np.array([0.0, 0, 0, 6, 6, 8, 8])
        model = odtc.OptimalTreeRegressor(2, max_leaf_nodes=3, **words)
        parts = [numbers, numbers[:3], numbers[3:]]
        power = 1 if words else 2
        every, none, right = (
            (abs(part - (np.median(part) if words else part.mean())) ** power).sum() for part in parts
        )
        assert none == 0
        for sign in (1, -1):  # on either side
            found = model.fit(sign * cells, numbers).feature_importances_
            assert found == pytest.approx([1 - right / every, right / every])
    with pytest.raises(ValueError, match="criterion"):
        odtc.OptimalTreeRegressor(1, criterion="odd").fit(X, Y)
    weight = np.array([1.0, 1, 1, 1, 1, 1, 1, 9])
    one = odtc.OptimalTreeRegressor(0, criterion="absolute_error").fit(X, Y, weight)
    assert one.predict(X[:1]).tolist() == [8] and one.objective_ == 3 * 8 + 2 * 6
    mean = odtc.OptimalTreeRegressor(0).fit(X, Y, weight)
    middle = np.average(Y, weights=weight)
    assert mean.predict(X[:1]) == pytest.approx([middle]) and mean.objective_ == pytest.approx(
        weight @ (Y - middle) ** 2
    )
    assert (mean.gap_, mean.tree_.root.label, odtc.OptimalPolicyTree(0).fit(X, COSTS).gap_) == (0, 0, 0)
    assert mean.is_optimal_ and mean.bound_ == mean.objective_ and mean.status_ == "optimal"


def test_a_leaf_alone_is_claimed_as_a_search_that_ends_in_a_leaf_claims_it():
    """With a price that no test is worth, in numbers of any size, the trees of depth 0 and 1 are one leaf."""
    weight = np.array([1.0, 2, 1, 1, 1, 1, 1, 1])
    for make, words, y, power in (
        (odtc.OptimalTreeClassifier, {}, LABELS, 0),
        (odtc.OptimalTreeClassifier, {"class_weight": {0: 1.0, 1: 2.5}}, LABELS, 0),
        (odtc.OptimalTreeClassifier, {"params": {"lambda": 0.9}}, LABELS, None),
        (odtc.OptimalTreeRegressor, {}, Y, 2),
        (odtc.OptimalTreeRegressor, {"criterion": "absolute_error"}, Y, 1),
        (odtc.OptimalPolicyTree, {}, COSTS, 1),
    ):
        for size in (1.0, 2.0**60):
            price = {} if power is None else {"ccp_alpha": 60.0 * size**power}
            told = []
            for depth in (0, 1):
                model = make(depth, **words, **price).fit(X, y * size if power else y, sample_weight=weight)
                assert model.get_n_leaves() == 1 and (model.model_ is None) == (depth == 0)
                told.append((model.objective_, model.bound_, model.is_optimal_, model.status_, model.gap_))
            assert told[0] == pytest.approx(told[1]), (make, words, size)
            if not power:
                break


def test_rows_that_nothing_tells_apart_are_one_leaf():
    absent = np.full((8, 1), np.nan)
    for cells in (absent, np.column_stack([absent, np.ones(8)])):
        for make, words, y in (*TASK_CASES, (odtc.OptimalTreeClassifier, {}, LABELS)):
            model = make(2, **words).fit(cells, y)
            assert model.model_ is None and model.get_n_leaves() == 1 and model.is_optimal_
            assert all(check.passed for check in model.verify(cells, y))
    for make, words, y in (*TASK_CASES, (odtc.OptimalTreeClassifier, {}, LABELS)):
        assert make(1, **words).fit(X[:1], y[:1]).model_ is None  # of one row there is nothing to tell


def test_columns_are_named_by_their_names_and_places_alone():
    words = np.array([0.0, 1, 2, 0, 1, 2, 0, 1])
    cells, y = np.column_stack([words, X[:, 0]]), (words == 1).astype(int)
    for given in ([0], ["x0"], [np.int64(0)], {"x0"}):
        model = odtc.OptimalTreeClassifier(1, categorical_features=given).fit(cells, y)
        assert [feature.kind for feature in model.features_] == ["categorical", "numeric"]
        assert model.predict(cells).tolist() == y.tolist() and model.objective_ == 0
    for given in ([2], [-1], [True], [1.0], ["x2"], ["0"], [None], "x0"):
        with pytest.raises(ValueError, match="categorical_features"):
            odtc.OptimalTreeClassifier(1, categorical_features=given).fit(cells, y)


def test_a_share_of_few_rows_is_one_row_at_least():
    model = odtc.OptimalTreeClassifier(1, min_samples_leaf=0.01)
    assert [model._fewest(n) for n in (0, 1, 100, 101)] == [1, 1, 1, 2]
    assert odtc.OptimalTreeClassifier(1, min_samples_leaf=7)._fewest(3) == 7


def test_a_seed_is_drawn_of_the_random_state():
    for state in (5, np.random.RandomState(5)):
        model = odtc.OptimalTreeClassifier(1, random_state=state)
        assert model._seed() == np.random.RandomState(5).randint(2**31 - 1) > 0
    assert odtc.OptimalTreeClassifier(1)._seed() == 0


def test_whole_numbers_that_are_one_as_doubles_are_refused():
    large = np.array([[2**53], [2**53 + 1]] * 4)
    with pytest.raises(DataError, match="9007199254740993"):
        odtc.OptimalTreeClassifier(1).fit(large, LABELS)
    assert odtc.OptimalTreeClassifier(1).fit(large - 1 - 2**52, np.arange(8) % 2).objective_ == 0


def test_what_is_not_sparse_stays_as_it_is():
    frame = pd.DataFrame({"a": X[:, 0], "b": list("pqpqpqpq")})
    for given in (frame, frame["a"], X, X.tolist()):
        assert _dense(given) is given
    mixed = frame.assign(a=pd.arrays.SparseArray(X[:, 0]))
    assert str(_dense(mixed).dtypes["a"]) == "float64" and _dense(mixed)["b"] is not None
    with pytest.raises(
        ModelError, match=r"the sparse matrix of shape \(10000000, 1000000\) .*take fewer rows or columns"
    ):
        _dense(csr_array((10**7, 10**6)))
    assert _dense(csr_array(np.eye(2))).tolist() == [[1, 0], [0, 1]]


def test_a_leaf_alone_takes_the_parameters_of_its_model():
    """Those of dpflow, of another model that is named, and of one that rows may be moved in."""
    for words in (
        {"params": {"tail": "0"}},
        {"model": "flowoct", "params": {"lambda": 0.25}},
        {"params": {"robust": "1", "lambda": 0.25}},
    ):
        found = odtc.OptimalTreeClassifier(0, **words).fit(X, LABELS)
        assert found.objective_ == found.bound_ == 4 * (0.75 if "lambda" in words["params"] else 1)
    with pytest.raises(ValueError, match="tail"):
        odtc.OptimalTreeClassifier(0, model="flowoct", params={"tail": "0"}).fit(X, LABELS)


def test_a_run_that_a_limit_ended_warns_and_one_that_fails_a_check_is_refused(monkeypatch):
    plain = odtc.OptimalTreeClassifier(1).fit(X, LABELS)
    problem = pipeline.pose(plain._training_rows(X, LABELS, None), "dpflow", 1)
    ended = Solution(None, Termination.TIME_LIMIT, 3.0, 0.0, 1.0, "odtc")
    done = SimpleNamespace(
        problem=problem,
        tree=plain.tree_,
        solution=ended,
        proof=SimpleNamespace(objective=1.0, bound=0.5),
        verified=True,
        was_interrupted=False,
        claimed=SimpleNamespace(certified=False),
        fewest_leaves=None,
        fewest_columns=True,
    )
    monkeypatch.setattr("odtc.workflow.run.run", lambda spec, dataset, reporter: done)
    for limit, words in (
        (None, "the time limit of the model's own search came"),
        (2.5, "the time limit of 2.5 s came"),
    ):
        with pytest.warns(
            ConvergenceWarning, match=f"{words} before the proof: the tree costs 1, the best bound is 0.5"
        ):
            model = odtc.OptimalTreeClassifier(1, time_limit=limit).fit(X, LABELS)
        assert (model.objective_, model.bound_, model.status_, model.is_optimal_) == (1, 0.5, "time_limit", False)
        assert (model.fewest_leaves_, model.fewest_columns_, model.claim_) == (False, True, "best found")
    done.solution, done.verified = replace(ended, termination=Termination.OPTIMAL), False
    done.decoded = SimpleNamespace(checks=[Check("one", True, "fine"), Check("two", False, "3 is no 4")])
    with pytest.raises(SolverError, match=r"'odtc' gave a point that fails the check 'two' \(3 is no 4\); try another"):
        odtc.OptimalTreeClassifier(1).fit(X, LABELS)


def test_a_share_of_different_weights_is_proved_or_a_warning_says_that_it_is_not():
    seen = set()
    for seed in (0, 1, 2, 4, 5, 6, 20):
        random = np.random.default_rng(seed)
        cells, y = random.integers(0, 4, (10, 2)).astype(float), random.integers(0, 2, 10)
        weight = random.choice([1.0, 2, 5], 10)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            model = odtc.OptimalTreeClassifier(2, min_weight_fraction_leaf=0.2).fit(cells, y, weight)
        assert model.is_optimal_ == (model.status_ == "optimal") == (model.bound_ == model.objective_) == (not told)
        assert model.leaf_weights_.sum(axis=1).min() >= 0.2 * weight.sum()
        assert model.objective_ == weight[model.predict(cells) != y].sum() >= model.bound_
        assert model.fewest_leaves_ == model.fewest_columns_ and (model.is_optimal_ or not model.fewest_leaves_)
        seen.add((model.is_optimal_, model.fewest_leaves_))
    assert seen == {(True, True), (True, False), (False, False)}
    alone = odtc.OptimalTreeClassifier(0).fit(cells, y)
    assert (alone.fewest_leaves_, alone.fewest_columns_) == (True, True)


def test_prices_at_which_the_best_tree_changes_and_what_splits_take_away():
    for cost, alphas in ((None, [0, 0.125, 0.375]), ({(0, 1): 5.0}, [0, 0.25]), ([[0, 5], [1, 0]], [0, 0.25])):
        path = odtc.OptimalTreeClassifier(2, cost=cost).cost_complexity_pruning_path(X, LABELS)
        assert path.ccp_alphas == pytest.approx(alphas) and path.n_leaves.tolist()[-1] == 1
        assert path.impurities[-1] == 0.5 and path.impurities[0] == 0
    # Of 4 and 2 the first column parts 2 and 0, then the second 1, 1 (Gini: 8/3, then 4 rows in halves, 2).
    cells = np.array([[0.0, 0], [0, 0], [1, 0], [1, 0], [1, 1], [1, 1]])
    model = odtc.OptimalTreeClassifier(2).fit(cells, [0, 0, 1, 1, 0, 0])
    assert model.feature_importances_ == pytest.approx([(8 / 3 - 2) / (8 / 3), 2 / (8 / 3)])
    with pytest.warns(UserWarning, match="column-vector"):
        assert model.fit(X, LABELS[:, None]).n_classes_ == 2
    with pytest.raises(ValueError, match="y contains NaN"):
        model.fit(X, np.where(LABELS, np.nan, 1.0))


@pytest.mark.parametrize("cost", [[[0, 20], [20, 0]], [[0, 20], [30, 0]], {(0, 1): 20.0, (1, 0): 30.0}])
def test_the_last_tree_of_the_path_is_one_leaf_whatever_errors_cost(cost):
    """Of eight rows half are of each class: one leaf costs ten a row at least, and its price is above that of two
    leaves by less."""
    path = odtc.OptimalTreeClassifier(1, cost=cost).cost_complexity_pruning_path(X, X[:, 0] > 3)
    assert path.n_leaves.tolist() == [2, 1] and path.impurities == pytest.approx([0, 10])
    assert path.ccp_alphas == pytest.approx([0, 10])


def test_no_columns_are_set_aside_if_none_are_given():
    model = odtc.OptimalTreeClassifier(1).fit(X, LABELS)
    assert model._training_rows(X, LABELS, None).auxiliary_X.shape == (8, 0)


def test_labels_of_any_type_are_named_as_a_file_has_them():
    for y, text in (
        (LABELS.astype(float), "recall[1] >= 1"),
        (LABELS.astype(bool), "recall[true] >= 1"),
        (np.array(["no", "yes"])[LABELS], "recall[yes] >= 1"),
    ):
        model = odtc.OptimalTreeClassifier(1, constraints=text).fit(X, y)
        assert (model.predict(X) == y)[LABELS == 1].all() and model.predict(X).dtype == y.dtype
    for y in (LABELS.astype(bool), LABELS, LABELS.astype(float)):  # True is 1, as in scikit-learn
        for words in ({"class_weight": {0: 1.0, 1: 9.0}}, {"cost": {(1, 0): 9.0}}):
            assert odtc.OptimalTreeClassifier(0, **words).fit(X[:5], y[:5]).objective_ == 3
    with pytest.raises(ValueError, match="unknown class '2'"):
        odtc.OptimalTreeClassifier(1, cost={(2, 0): 9.0}).fit(X, LABELS)
    free = odtc.OptimalTreeClassifier(1, class_weight={0: 0.0, 1: 1.0}, simplify=False).fit(X, X[:, 0] > 3)
    assert free.feature_importances_.tolist() in ([0.0], [1.0])


def test_the_orders_that_are_asked_for_are_those_of_columns():
    for given, found in (
        (None, []),
        ([1, 0, -1], [("a", 1), ("c", -1)]),
        ({"b": -1.0}, [("b", -1)]),
        ({"b": 0}, []),
        (np.array([0, 1, 0]), [("b", 1)]),
    ):
        assert directions(given, list("abc")) == found
    for given, words in (
        ({"a": 1, "d": 1, "e": 1}, "columns a, b, c, got one of 'd'"),
        ([1, 0], "of 3 columns, got 2 values"),
        ([1, 0, 0, 0], "of 3 columns, got 4 values"),
        ([1, 2, 0], "-1, 0 or 1 in monotonic_cst, got 2"),
        ({"a": "up"}, "got 'up'"),
    ):
        with pytest.raises(ValueError, match=words):
            directions(given, list("abc"))


def test_weights_that_doubles_cannot_add_up_and_what_scikit_learn_is_told():
    for make, words, y in (*TASK_CASES, (odtc.OptimalTreeClassifier, {}, LABELS)):
        with pytest.raises(ValueError, match="expected weights that add up to less than 1e\\+150 in sample_weight"):
            make(1, **words).fit(X, y, sample_weight=np.full(8, 1e308))
        tags = make(1, **words).__sklearn_tags__().input_tags
        assert tags.allow_nan is True and tags.sparse is True


def test_frames_without_columns_and_words_for_numbers():
    with pytest.raises(ValueError, match="0 feature"):
        odtc.OptimalTreeClassifier(1).fit(pd.DataFrame(index=range(8)), LABELS)
    words = pd.DataFrame({"size": [f"{at % 9} kg" for at in range(40)]})
    with pytest.warns(DataWarning, match="size"):
        odtc.OptimalTreeClassifier(1).fit(words, np.arange(40) % 2)


def test_a_tree_cut_back_for_a_least_weight_says_which_constraint_it_breaks():
    X = np.array([[2, 3], [3, 2], [3, 2], [4, 2], [0, 1], [1, 2], [2, 2], [0, 0], [0, 2]], float)
    y, weight = [2, 2, 2, 0, 1, 0, 0, 0, 1], [0.5, 2, 3, 2, 0.5, 2, 1, 1, 3]
    given = odtc.OptimalTreeClassifier(2, min_weight_fraction_leaf=0.3, constraints="balanced_accuracy >= 0.75")
    with pytest.warns(ConvergenceWarning, match="with the constraints: balanced_accuracy >= 0.75: the tree has 0.66"):
        tree = given.fit(X, y, sample_weight=weight)
    assert not tree.is_optimal_


def test_a_tree_is_cut_back_where_a_leaf_has_too_little_weight_and_nowhere_else():
    """From the bottom up; the same object if there is no such leaf."""
    split = Threshold(0, 0.5)
    low = Branch(split, Leaf(0, (4.0, 0.0), (4, 0)), Leaf(1, (0.0, 1.0), (0, 1)))
    tree = Branch(split, Leaf(1, (0.0, 5.0), (0, 5)), low)
    cost, one = 1 - np.eye(2), np.ones(2)
    cut = _cut_back(tree, one, cost, 2.0)
    assert cut == Branch(split, tree.left, Leaf(0, (4.0, 1.0), (4, 1)))
    turned = Branch(split, low, tree.left)
    assert _cut_back(turned, one, cost, 2.0) == Branch(split, Leaf(0, (4.0, 1.0), (4, 1)), tree.left)
    assert _cut_back(turned, one, cost, 1.0) is turned
    assert _cut_back(tree, one, cost, 1.0) is tree and _cut_back(tree, np.array([1.0, 3.0]), cost, 3.0) is tree
    assert _cut_back(tree, one, cost, 5.5) == Leaf(1, (4.0, 6.0), (4, 6))
    dear = np.array([[0, 9.0], [1, 0]])  # what is of the first class and called the second costs nine times as much
    assert _cut_back(tree, one, dear, 5.5).label == 0


@pytest.mark.parametrize("size", [2.0**-40, 2.0**60, 1.0])
def test_curves_do_not_depend_on_the_unit_of_weights(size):
    weight = np.array([1.0, 2, 1, 1, 3, 1, 1, 1])
    plain, other = (odtc.OptimalSurvivalTree(1).fit(X, TOLD, weight * by) for by in (1.0, size))
    for name in ("predict_survival_function", "predict_cumulative_hazard_function"):
        assert np.array_equal(getattr(plain, name)(X, True), getattr(other, name)(X, True)), name
    assert np.array_equal(plain.predict(X), other.predict(X))
    for one, two in zip(plain.tree_.leaves(), other.tree_.leaves(), strict=True):
        assert one.curve == two.curve and [count * size for count in one.counts] == list(two.counts)
        assert len(one.sums) == len(two.sums) and sum(a == b for a, b in zip(one.sums, two.sums)) >= 2
        assert one.sums[0] == two.sums[0] and one.sums[-1] == two.sums[-1]  # which are of no weight


@pytest.mark.parametrize("scores", ["ips", "doubly-robust", "direct"])
@pytest.mark.parametrize("chance", [None, 0.5])
def test_too_few_rows_of_a_treatment_are_refused_unless_only_known_chances_count(scores, chance):
    taken, outcome = np.array([0] * 7 + [1]), np.arange(8.0)
    known = None if chance is None else np.full(8, chance)
    model = odtc.OptimalPolicyTree(1, scores=scores)
    if scores == "ips" and chance:
        assert model.fit(X, taken, outcome, known).tree_ is not None
        return
    with pytest.raises(ValueError, match="expected .* rows"):
        model.fit(X, taken, outcome, known)


@pytest.mark.parametrize("make", [make for make, words, _ in TASK_CASES if not words] + [odtc.OptimalTreeClassifier])
def test_the_page_of_an_estimator_names_each_parameter_with_its_type_and_default(make):
    told = section(make)
    assert told.startswith("Parameters\n----------\nmax_depth : int, default 2\n    ") and told in make.__doc__
    for name, given in inspect.signature(make).parameters.items():
        (line,) = [line for line in told.splitlines() if line.startswith(f"{name} : ")]
        assert line.endswith(f", default {given.default!r}") and " : None" not in line and "|" not in line
        for kind in (bool, int, float, str):
            if isinstance(given.default, kind) and not isinstance(given.default, (bool, str)):
                assert re.match(rf"{name} : (int|float|number)", line)
    assert all(len(line) <= 112 for line in told.splitlines() if line.startswith(" "))
    for word in (
        "constraints : str or sequence of str",
        "simplify : bool",
        "time_limit : float or None",
        "model : str",
    ):
        assert word in told
    assert TEXTS["min_samples_leaf"][:40] in " ".join(told.split())


@pytest.mark.parametrize("seed", range(6))
def test_curves_are_those_of_kaplan_and_meier_and_of_nelson_and_aalen(seed):
    """By their definitions, of the rows of each leaf, at all times, those before its first one, too."""
    random = np.random.default_rng(seed)
    cells, weight = random.integers(0, 3, (20, 2)).astype(float), random.choice([1.0, 2.0], 20)
    time = random.integers(1, 9, 20) + 3.0 * cells[:, 0]
    told = np.array(list(zip(random.random(20) < 0.7, time)), dtype=TOLD.dtype)
    model = odtc.OptimalSurvivalTree(2).fit(cells, told, weight)
    left, hazard = model.predict_survival_function(cells, True), model.predict_cumulative_hazard_function(cells, True)
    end, seen = model.apply(cells), set()
    for row in range(20):
        here = end == end[row]
        alive, lost = 1.0, 0.0
        for place, at in enumerate(model.unique_times_):
            there, gone = weight[here & (time >= at)].sum(), weight[here & (time == at) & told["event"]].sum()
            if there:
                alive, lost = alive * (1 - gone / there), lost + gone / there
            assert (left[row, place], hazard[row, place]) == pytest.approx((alive, lost))
            seen.add(bool(at < time[here].min()))
    assert seen == {True, False}


def test_a_price_of_leaves_stands_beside_the_other_parameters():
    for params in (None, {}, {"tail": "0"}):
        for alpha in (0.0, 0.25):
            told = odtc.OptimalTreeClassifier(1, params=params, ccp_alpha=alpha)._priced(8.0)
            assert told == ({**(params or {}), "lambda_": 2 / 3} if alpha else params)


@pytest.mark.parametrize("size", [2.0**-5, 1.0, 2.0**9])
def test_importances_do_not_depend_on_the_unit_of_weights(size):
    cells = np.array([[0.0, 0], [0, 0], [1, 0], [1, 0], [1, 1], [1, 1]])
    weight = np.full(6, size)
    model = odtc.OptimalTreeClassifier(2).fit(cells, [0, 0, 1, 1, 0, 0], weight)
    assert model.feature_importances_ == pytest.approx([(8 / 3 - 2) / (8 / 3), 2 / (8 / 3)])
    for words in ({}, {"criterion": "absolute_error"}):
        one, two = (odtc.OptimalTreeRegressor(2, **words).fit(cells, Y[[0, 0, 3, 3, 5, 5]], w) for w in (weight, None))
        assert one.feature_importances_ == pytest.approx(two.feature_importances_) and one.feature_importances_.all()
    for weights, told in (([0.0, 0], 0), ([1.0, 1], 1), ([0.25, 0.25], 0.25), ([3.0, 0], 0), ([2.0, 1, 1], 2.5)):
        assert _impurity(np.array(weights)) == told


def test_a_seed_is_below_what_solvers_take():
    class Greatest(np.random.RandomState):
        def randint(self, low, high=None, *more, **words):
            return (low if high is None else high) - 1

    seed = odtc.OptimalTreeClassifier(1, random_state=Greatest())._seed()
    assert seed == 2**31 - 2 and SolvingSpec(seed=seed).seed == seed


@pytest.mark.parametrize("size", [2.0**-40, 1.0, 2.0**60])
@pytest.mark.parametrize(("make", "words", "y"), TASK_CASES, ids=str)
def test_a_leaf_is_worth_its_price_in_any_unit_of_weights(make, words, y, size):
    """Just below what the one test saves of each unit of weight there are two leaves, just above it one."""
    weight = np.array([1.0, 2, 1, 1, 3, 1, 1, 1]) * size
    alone, tree = (make(depth, **words).fit(X, y, sample_weight=weight) for depth in (0, 1))
    saved = (alone.objective_ - tree.objective_) / weight.sum()
    assert saved > 0 and tree.get_n_leaves() == 2
    for share, leaves in ((0.99, 2), (1.01, 1)):
        assert make(1, **words, ccp_alpha=share * saved).fit(X, y, sample_weight=weight).get_n_leaves() == leaves


@pytest.mark.parametrize("words", [False, True])
def test_rows_of_other_columns_are_refused_by_a_fitted_tree(words):
    frame = pd.DataFrame({"a": X[:, 0], "c": list("uvuvuvuv") if words else X[:, 0] % 2})
    model = odtc.OptimalTreeClassifier(1).fit(frame, LABELS)
    for other in (frame[["a"]], frame[["c", "a"]], frame.rename(columns={"a": "b"}), frame.assign(more=1.0)):
        for method in (model.predict, model.apply, model.predict_proba, model.explain):
            with pytest.raises(ValueError, match="feature names"):
                method(other)
    assert model.n_features_in_ == 2 and model.feature_names_in_.tolist() == ["a", "c"]


@pytest.mark.parametrize("size", [0.125, 0.25, 1.0])
def test_shares_of_a_leaf_do_not_depend_on_the_unit_of_weights(size):
    """Of eight rows of an eighth a leaf weighs 1."""
    model = odtc.OptimalTreeClassifier(0).fit(X, LABELS, np.full(8, size))
    assert model.predict_proba(X) == pytest.approx(np.full((8, 2), 0.5))
    model = odtc.OptimalTreeClassifier(1).fit(X, LABELS, np.full(8, size))
    assert model.predict_proba(X[[0, 7]]) == pytest.approx(np.array([[1, 0], [0.2, 0.8]]))

"""What estimators refuse, remark and check where few users come: nothing fitted, nothing that weighs, odd tables,
prices beyond all errors, actions that only some policies know."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import odtc
from odtc.errors import ChoiceError, DataError, DataWarning
from odtc.estimators.cost_complexity import Corner, envelope
from odtc.trees.tree import Branch, Leaf

X = np.column_stack([np.arange(12) % 4, np.arange(12) // 3, np.arange(12) % 5]).astype(float)
Y = np.array([0, 0, 1, 1, 0, 1, 1, 1, 0, 0, 1, 0])
COSTS = np.column_stack([Y, 1 - Y, np.full(12, 0.6)]).astype(float)
TOLD = np.array([(k % 3 > 0, k % 5 + 1.0) for k in range(12)], dtype=[("event", bool), ("time", float)])
NUMBERS = np.array([0.0, 1, 5, 2, 2, 8, 9, 4, 4, 1, 0, 3])


@pytest.mark.parametrize(
    "asked",
    [
        lambda: odtc.OptimalTreeClassifier().feature_importances_,
        lambda: odtc.OptimalTreeRegressor().feature_importances_,
        lambda: odtc.OptimalTreeClassifier().verify(X, Y),
        lambda: odtc.OptimalPolicyTree().value(X, COSTS),
        lambda: odtc.OptimalSurvivalTree().predict_survival_function(X),
        lambda: odtc.OptimalSurvivalTree().score(X, TOLD),
        lambda: odtc.OptimalTreeClassifier().get_n_leaves(),
    ],
)
def test_what_is_not_fitted_says_so(asked):
    with pytest.raises(NotFittedError, match="not fitted"):
        asked()


def test_labels_that_are_measurements_are_refused_as_by_scikit_learn():
    with pytest.raises(ValueError, match="continuous"):
        odtc.OptimalTreeClassifier(1).fit(X, Y + 0.5 * (np.arange(12) == 3))


@pytest.mark.parametrize("make, y", [(odtc.OptimalTreeClassifier, Y), (odtc.OptimalTreeRegressor, NUMBERS)])
def test_rows_of_which_none_weighs_anything_are_refused(make, y):
    with pytest.raises(ValueError, match="zero"):
        make(1).fit(X, y, sample_weight=np.zeros(12))


@pytest.mark.parametrize(
    "words", [{}, {"class_weight": "balanced"}, {"cost": {(1, 0): 3.0}}, {"constraints": ("leaf_rows >= 1",)}]
)
def test_a_class_that_a_tree_may_do_without_is_remarked_unless_costs_or_constraints_speak(words):
    y = np.arange(200) < 4
    tree = odtc.OptimalTreeClassifier(1, **words).fit(np.arange(200.0)[:, None] % 7, y)
    assert any("98" in note or "2 %" in note or "rows" in note for note in tree.notes_) == (not words)


def test_an_order_that_only_the_search_keeps_is_refused_by_a_model():
    """With and without monotonic_cst, which is told of training rows then; neither may try for ever."""
    asked = ("monotone_everywhere[x0,positive=1]",)
    for order in (None, [1, 0, 0]):
        model = odtc.OptimalTreeClassifier(1, model="flowoct", constraints=asked, monotonic_cst=order)
        with warnings.catch_warnings(), pytest.raises(ChoiceError, match="own search"):
            warnings.simplefilter("ignore")  # no two rows differ in this column alone
            model.fit(X, Y)


def test_a_price_stands_beside_what_rows_may_be_moved_by():
    free, priced = (odtc.OptimalTreeClassifier(2, robust=0.25, ccp_alpha=alpha).fit(X, Y) for alpha in (0.0, 0.9))
    assert free.get_n_leaves() > 1 and priced.get_n_leaves() == 1


@pytest.mark.parametrize("leaves", [1, 3])
def test_a_path_on_which_nothing_changes_is_one_corner(leaves):
    corner = Corner(leaves, 0.25)
    assert envelope(lambda alpha: corner, 2.0) == [(0.0, corner)]


@pytest.mark.parametrize("unit", [1e-8, 1.0, 1e9])
@pytest.mark.parametrize("depth", [0, 2])
def test_a_fit_in_any_unit_passes_its_own_checks(depth, unit):
    """Of weights, and of the numbers that are predicted; a price of leaves is in these units, too."""
    weight = np.where(np.arange(12) % 2, 2.0, 1.0)
    numbers = odtc.OptimalTreeRegressor(depth, ccp_alpha=0.05 * unit**2)
    numbers.fit(X, NUMBERS * unit, sample_weight=weight)
    checks = numbers.verify(X, NUMBERS * unit, sample_weight=weight)
    classes = odtc.OptimalTreeClassifier(depth, ccp_alpha=0.01).fit(X, Y, sample_weight=weight * unit)
    checks += classes.verify(X, Y, sample_weight=weight * unit)
    told = odtc.OptimalSurvivalTree(depth).fit(X, TOLD, sample_weight=weight * unit)
    checks += told.verify(X, TOLD, sample_weight=weight * unit)
    assert checks and all(check.passed for check in checks), [check for check in checks if not check.passed]
    again = odtc.OptimalSurvivalTree(depth).fit(X, TOLD, sample_weight=weight)
    for one, two in zip(told.tree_.leaves(), again.tree_.leaves()):
        assert one.counts == pytest.approx(np.array(two.counts) * unit)
        assert one.sums[1:-1] == pytest.approx(np.array(two.sums[1:-1]) * unit)


@pytest.mark.parametrize("simplify", [True, False])
@pytest.mark.parametrize("seed", range(2))
def test_a_tree_of_a_least_weight_has_no_branch_node_that_changes_nothing(seed, simplify):
    rng = np.random.default_rng(seed)
    rows, y = rng.integers(0, 5, (30, 3)).astype(float), rng.integers(0, 2, 30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = odtc.OptimalTreeClassifier(3, min_weight_fraction_leaf=0.15, simplify=simplify)
        tree.fit(rows, y, sample_weight=rng.choice([1.0, 4.0], 30))

    def idle(node):
        if isinstance(node, Leaf):
            return False
        both = all(isinstance(child, Leaf) for child in (node.left, node.right))
        return (both and node.left.label == node.right.label) or idle(node.left) or idle(node.right)

    assert isinstance(tree.tree_.root, Branch | Leaf)
    assert not (simplify and idle(tree.tree_.root))


@pytest.mark.parametrize("name, value", [(n, v) for n in ("time_limit", "threads", "gap") for v in (True, "2", [1])])
def test_a_parameter_of_another_type_is_told_by_its_name(name, value):
    with pytest.raises(ValueError, match=f"expected {name} as"):
        odtc.OptimalTreeClassifier(1, **{name: value}).fit(X, Y)


class Always:
    """An estimator that predicts one answer."""

    def __init__(self, answer):
        self.answer = answer

    def predict(self, X):
        return np.array([self.answer] * len(X))


def test_policies_are_beside_others_of_their_own_actions():
    """An action that is 0 or "" is one, too."""
    named = pd.DataFrame(COSTS, columns=["stay", "go", "wait"])
    words = odtc.OptimalPolicyTree(1).fit(X, named)
    assert words.compare([Always("go")], X, named).mean_cost[1] == pytest.approx(COSTS[:, 1].mean())
    treated = np.arange(12) % 2 + 1
    numbers = odtc.OptimalPolicyTree(1, scores="ips").fit(X, treated, NUMBERS, np.full(12, 0.5))
    assert numbers.compare([Always(2)], X, COSTS[:, :2]).mean_cost[1] == pytest.approx(COSTS[:, 1].mean())
    for strange in (0, 3):
        with pytest.raises(ValueError, match=f"predict the actions .1, 2., got {strange}"):
            numbers.compare([Always(strange)], X, COSTS[:, :2])


def test_chances_are_those_of_every_row():
    treated = np.arange(12) % 2 + 1
    for strange in (0.0, 1.5, np.nan):
        with pytest.raises(ValueError, match="propensities above 0 and at most 1"):
            odtc.OptimalPolicyTree(1, scores="ips").fit(X, treated, NUMBERS, np.where(np.arange(12) == 5, strange, 0.5))


def test_actions_that_are_whole_numbers_are_named_so():
    tree = odtc.OptimalPolicyTree(1, scores="ips").fit(X, np.arange(12) % 2 + 1.0, NUMBERS, np.full(12, 0.5))
    assert tree.tree_.classes == ("1", "2")


def test_costs_of_one_dimension_are_told_by_their_shape():
    tree = odtc.OptimalPolicyTree(1).fit(X, COSTS)
    for costs in ([1.0] * 12, [np.nan] * 12):
        with pytest.raises(ValueError, match=r"expected costs of shape \(12, actions\)"):
            tree.value(X, costs)


def test_rows_of_three_lengths_are_refused_by_two_of_them():
    with pytest.raises(DataError, match="expected rows of one length, got 2 cells in row 0 and 1 in row 1"):
        odtc.OptimalTreeClassifier(1).fit([[1, 2], [3], [4, 5, 6]], [0, 1, 0])


def test_a_frame_without_columns_or_rows_is_refused_in_words():
    for frame, y in ((pd.DataFrame(index=range(3)), [0, 1, 0]), (pd.DataFrame({"a": pd.Series([], dtype=object)}), [])):
        with pytest.raises(ValueError, match="minimum of 1 is required"):
            odtc.OptimalTreeClassifier(1, categorical_features=[]).fit(frame, y)


def test_words_that_files_read_as_missing_cells_are_a_warning():
    frame = pd.DataFrame({"a": ["x", "NA", "y", "x", "y", "x"], "b": np.arange(6.0)})
    with pytest.warns(DataWarning, match="column 'a': .*NA.* read as missing"):
        odtc.OptimalTreeClassifier(1).fit(frame, [0, 1, 1, 0, 1, 0])


def test_a_price_beside_which_no_error_counts_is_refused_under_constraints():
    with pytest.raises(ValueError, match="below 1e16"):
        odtc.OptimalTreeClassifier(1, ccp_alpha=1e17, constraints=("leaf_rows >= 1",)).fit(X, Y)


@pytest.mark.parametrize("share", [0.25, 4.0])
def test_importances_of_a_hyperplane_are_shared_by_how_far_its_terms_range(share):
    rows = np.column_stack([X[:, 0], X[:, 1] * share])
    tree = odtc.OptimalTreeClassifier(1, model="oblique_search").fit(rows, (X[:, 0] + X[:, 1] > 3).astype(int))
    reach = np.zeros(2)
    for term in tree.tree_.root.split.terms:
        reach[term.feature] += abs(term.weight) * np.ptp(rows[:, term.feature])
    assert tree.feature_importances_ == pytest.approx(reach / reach.sum()) and (reach > 0).all()


def test_rows_of_which_one_has_a_strange_label_are_not_those_of_the_fit():
    tree = odtc.OptimalTreeClassifier(1).fit(X, Y)
    with pytest.raises(ValueError, match="that the estimator was fitted on"):
        tree.verify(X, np.where(np.arange(12) == 3, 7, Y))

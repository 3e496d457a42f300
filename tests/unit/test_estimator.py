"""`OptimalTreeClassifier`: the checks of scikit-learn, and in addition categories, missing cells and proofs."""

import pickle
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import odtc
from odtc.data.splits import Missing, Subset
from odtc.errors import ChoiceError, TreeError
from odtc.trees.tree import Branch, Tree
from tests.command_line import environment


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:min_weight_fraction_leaf")  # one check sets it beside class weights
@parametrize_with_checks([odtc.OptimalTreeClassifier()])
def test_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.slow
def test_the_check_that_needs_the_array_api_of_scipy():
    """Which is skipped above, as scipy reads its switch when it is loaded."""
    code = (
        "from sklearn.utils.estimator_checks import estimator_checks_generator as checks; import odtc\n"
        "for estimator, check in checks(odtc.OptimalTreeClassifier()):\n"
        "    if 'array_api' in check.func.__name__: check(estimator); print(check.func.__name__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(SCIPY_ARRAY_API="1"), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 and done.stdout.split(), done.stderr


def blobs(n=60, F=3, K=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 5, (n, F)).astype(float)
    return X, (X.sum(axis=1) + rng.integers(0, 3, n)).astype(int) % K


def test_a_stump_is_the_best_one_under_sample_and_class_weights():
    X, y = blobs()
    weights, of_class = np.random.default_rng(1).integers(0, 4, len(y)).astype(float), {0: 1, 1: 5, 2: 0.5}
    cost = (weights * np.array([of_class[k] for k in y]))[:, None] * (y[:, None] != np.arange(3))
    table = np.zeros((len(y), 3))
    table[:] = cost

    def leaf(rows):
        return table[rows].sum(axis=0).min()

    least = min(leaf(X[:, j] <= value) + leaf(X[:, j] > value) for j in range(3) for value in X[:, j])
    fitted = odtc.OptimalTreeClassifier(1, class_weight=of_class).fit(X, y, sample_weight=weights)
    assert (
        fitted.objective_ == pytest.approx(least)
        and fitted.is_optimal_
        and fitted.gap_ == 0
        and fitted.bound_ == pytest.approx(least)
    )
    assert cost[np.arange(len(y)), fitted.predict(X)].sum() == pytest.approx(least)


def test_never_more_training_errors_than_cart():
    X, y = blobs(80, 4, 3, seed=3)
    fitted = odtc.OptimalTreeClassifier(2).fit(X, y)
    assert (
        (fitted.predict(X) != y).sum()
        == fitted.objective_
        <= (DecisionTreeClassifier(max_depth=2).fit(X, y).predict(X) != y).sum()
    )
    assert (fitted.get_depth(), fitted.get_n_leaves()) == (fitted.tree_.depth, fitted.tree_.n_leaves)


@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_paths_and_importances_are_those_of_scikit_learn_for_the_same_tree(class_weight):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, size=(120, 3)).astype(float)
    y = np.where(X[:, 0] < 2, X[:, 1] > 3, 1 + (X[:, 2] > 1)) * (rng.random(120) < 0.9)
    weight = (
        None if class_weight else rng.integers(1, 4, len(y)).astype(float)
    )  # scikit-learn balances classes by their rows, not by weight
    theirs = DecisionTreeClassifier(max_depth=2, class_weight=class_weight).fit(X, y, weight)
    ours = odtc.OptimalTreeClassifier(2, model="cart", class_weight=class_weight).fit(X, y, weight)
    assert ours.predict_proba(X) == pytest.approx(theirs.predict_proba(X))  # it is the same tree
    assert (ours.decision_path(X).toarray() == theirs.decision_path(X).toarray()).all()
    assert ours.feature_importances_ == pytest.approx(theirs.feature_importances_) and ours.feature_importances_.any()


def test_a_hyperplane_shares_its_importance_out_and_a_leaf_alone_has_none():
    rng = np.random.default_rng(2)
    X = rng.random((60, 3)) * [1, 1, 0]
    X[:, 1] *= 3  # three times the range for a third of the weight
    fitted = odtc.OptimalTreeClassifier(1, model="oblique_search", params={"restarts": 4, "choice": "training"}).fit(
        X, (X[:, 0] + X[:, 1] / 3 > 1).astype(int)
    )
    weight = np.zeros(3)
    for term in fitted.tree_.root.split.terms:
        weight[term.feature] += abs(term.weight) * np.ptp(X[:, term.feature])
    assert (
        fitted.feature_importances_ == pytest.approx(weight / weight.sum())
        and (fitted.feature_importances_[:2] > 0.2).all()
    )
    alone = odtc.OptimalTreeClassifier(1).fit(X, np.zeros(60))
    assert (
        alone.feature_importances_.tolist() == [0, 0, 0] and alone.decision_path(X).toarray().tolist() == [[True]] * 60
    )


def test_leaves_keep_rows_and_weights_apart():
    X, y = blobs()
    fitted = odtc.OptimalTreeClassifier(2, class_weight="balanced").fit(X, y, sample_weight=np.full(len(y), 2.0))
    assert fitted.leaf_rows_.sum() == len(y) and fitted.leaf_rows_.dtype == np.int64
    leaves = np.searchsorted(fitted.leaf_nodes_, fitted.apply(X))
    for leaf in range(len(fitted.leaf_rows_)):
        assert fitted.leaf_rows_[leaf].tolist() == np.bincount(y[leaves == leaf], minlength=3).tolist()
    balanced = len(y) / (3 * np.bincount(y))
    assert fitted.leaf_weights_ == pytest.approx(2 * fitted.leaf_rows_ * balanced)
    shares = fitted.leaf_weights_ / fitted.leaf_weights_.sum(axis=1, keepdims=True)
    assert fitted.predict_proba(X) == pytest.approx(shares[leaves])


def test_fewest_rows_in_a_leaf_and_their_share_are_one_limit():
    X, y = blobs(40, 2, 2, seed=5)
    fitted = odtc.OptimalTreeClassifier(2, min_samples_leaf=9).fit(X, y)
    assert fitted.leaf_rows_.sum(axis=1).min() >= 9 and fitted.is_optimal_
    rows = odtc.OptimalTreeClassifier(3, min_samples_leaf=8).fit(X, y)
    share = odtc.OptimalTreeClassifier(3, min_weight_fraction_leaf=0.2).fit(X, y, sample_weight=np.full(40, 0.3))
    assert share.leaf_weights_.sum(axis=1).min() >= 0.2 * 12 - 1e-9
    assert share.is_optimal_ and share.tree_.n_leaves == rows.tree_.n_leaves
    assert share.objective_ == pytest.approx(0.3 * rows.objective_)


def test_a_share_of_different_weights_is_never_missed_nor_worse_than_cart():
    """Against every tree of depth 2, and CART of scikit-learn under the same limit."""
    random, proved, open_ = np.random.default_rng(11), 0, 0
    for _ in range(8):
        X, y, weight = random.integers(0, 4, (24, 2)).astype(float), random.integers(0, 2, 24), random.random(24) + 0.1
        least = 0.15 * weight.sum()
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            fitted = odtc.OptimalTreeClassifier(2, min_weight_fraction_leaf=0.15).fit(X, y, sample_weight=weight)
        best = _least_cost(X, y, weight, least, 2)
        cart = DecisionTreeClassifier(max_depth=2, min_weight_fraction_leaf=0.15, random_state=0)
        wrong = cart.fit(X, y, sample_weight=weight).predict(X) != y
        assert np.bincount(fitted.apply(X), weight)[fitted.leaf_nodes_].min() >= least - 1e-9
        assert fitted.bound_ <= best + 1e-9 <= fitted.objective_ + 2e-9 <= weight[wrong].sum() + 3e-9
        assert fitted.is_optimal_ == (not said) and all(check.passed for check in fitted.verify(X, y, weight))
        proved, open_ = proved + fitted.is_optimal_, open_ + (not fitted.is_optimal_)
    assert proved and open_


def _least_cost(X, y, weight, least, depth):
    """What the best tree costs whose leaves hold this weight, by trying every tree."""
    if weight.sum() < least:
        return np.inf
    best = min(weight[y == k].sum() for k in (0, 1))
    for left in (X[:, f] <= cut for f in range(X.shape[1]) for cut in np.unique(X[:, f])[:-1] if depth):
        sides = (_least_cost(X[side], y[side], weight[side], least, depth - 1) for side in (left, ~left))
        best = min(best, sum(sides))
    return best


def test_search_pipeline_pickle_and_clone():
    X, y = blobs()
    search = GridSearchCV(
        make_pipeline(StandardScaler(), odtc.OptimalTreeClassifier()),
        {"optimaltreeclassifier__max_depth": [1, 2]},
        cv=3,
    )
    search.fit(X, y)
    assert cross_val_score(odtc.OptimalTreeClassifier(1), X, y, cv=3).shape == (3,)
    fitted = search.best_estimator_
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.predict_proba(X), fitted.predict_proba(X))
    one = odtc.OptimalTreeClassifier(1, cost={(0, 1): 3.0}, params={"lambda": 0.1})
    assert clone(one).get_params() == one.get_params()


FRAME = {
    "colour": ["red", "blue", None, "green", "red", "blue", "green", None, "red", "blue"],
    "size": [1.0, 2.0, 3.0, float("nan"), 2.0, 1.0, 5.0, 2.5, 1.0, 4.0],
    "ok": [True, False, True, True, False, False, True, True, False, True],
    "code": [1, 2, 1, 3, 2, 1, 3, 1, 2, 2],
}
LABELS = ["yes", "no", "maybe", "yes", "yes", "no", "yes", "maybe", "yes", "no"]


@pytest.mark.parametrize(
    "make",
    [
        pd.DataFrame,
        lambda cells: pd.DataFrame(cells).convert_dtypes(),
        lambda cells: pd.DataFrame(cells).astype({"colour": "category"}),
        pl.DataFrame,
        lambda cells: pd.DataFrame(cells).to_numpy(dtype=object),
    ],
)
def test_categories_and_missing_cells_of_a_frame_are_asked_for(make):
    X = make(FRAME)
    fitted = odtc.OptimalTreeClassifier(2).fit(X, LABELS)
    assert fitted.predict(X).tolist() == LABELS and fitted.objective_ == 0 and fitted.is_optimal_
    asked = [node.split for node, _ in fitted.tree_.walk() if isinstance(node, Branch)]
    assert {type(split) for split in asked} == {Missing, Subset} and {split.feature for split in asked} == {0}
    assert fitted.tree_.features[0].levels == ("blue", "green", "red")
    assert [feature.kind for feature in fitted.features_] == ["categorical", "numeric", "boolean", "numeric"]
    assert Tree.from_json(fitted.tree_.to_json()) == fitted.tree_


def test_a_category_not_seen_before_is_in_no_set_and_a_code_can_be_a_category():
    X = pd.DataFrame({"code": [1, 2, 3] * 6, "x": [0.0] * 18})
    y = X["code"] == 2
    fitted = odtc.OptimalTreeClassifier(1, categorical_features=["code"]).fit(X, y)
    assert fitted.tree_.root.split == Subset(0, (1.0,)) and fitted.objective_ == 0
    other = pd.DataFrame({"code": [2, 7, 1], "x": [0.0, 1.0, 2.0]})
    assert fitted.predict(other).tolist() == [True, False, False] and fitted.predict(other).dtype == bool
    assert odtc.OptimalTreeClassifier(1, categorical_features=[0]).fit(X.to_numpy(), y).objective_ == 0
    with pytest.raises(ValueError, match="names or places of columns, got 'colour'"):
        odtc.OptimalTreeClassifier(categorical_features=["colour"]).fit(X, y)


def test_the_tree_is_that_of_the_command_line(tmp_path):
    frame = pd.DataFrame(FRAME | {"label": LABELS})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    fitted = odtc.OptimalTreeClassifier(2).fit(frame.drop(columns="label"), frame["label"])
    read = odtc.fit(tmp_path / "rows.csv", "dpflow", 2, reading={"missing": "separate"})
    assert read.tree.features == fitted.tree_.features and read.facts["objective"] == fitted.objective_


def test_when_the_time_is_over_the_start_is_the_tree():
    X, y = blobs(300, 6, 3, seed=7)
    with pytest.warns(ConvergenceWarning, match="the time limit of 0.01 s came before the proof"):
        fitted = odtc.OptimalTreeClassifier(3, model="flowoct", time_limit=0.01).fit(X, y)
    assert (fitted.status_, fitted.is_optimal_) == ("time_limit", False)
    assert (fitted.predict(X) != y).sum() == fitted.objective_ >= (fitted.bound_ or 0)


def test_neither_order_nor_repetition_of_rows_matters():
    X, y = blobs(30, 3, 2, seed=9)
    weights = np.random.default_rng(2).integers(0, 3, len(y))
    first = odtc.OptimalTreeClassifier(2).fit(X, y, sample_weight=weights)
    mixed = np.random.default_rng(4).permutation(np.repeat(np.arange(len(y)), weights))
    again = odtc.OptimalTreeClassifier(2).fit(X[mixed], y[mixed])
    assert [node.split for node, _ in first.tree_.walk() if isinstance(node, Branch)] == [
        node.split for node, _ in again.tree_.walk() if isinstance(node, Branch)
    ]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"max_depth": -1}, "max_depth as an integer of at least 0, got -1"),
        ({"max_depth": 2.0}, "max_depth"),
        ({"min_samples_leaf": 0}, "min_samples_leaf"),
        ({"min_weight_fraction_leaf": 0.7}, "from 0 to 0.5"),
        ({"model": "flowcot"}, "did you mean 'flowoct'"),
        ({"solver": "hihgs"}, "did you mean 'highs'"),
        ({"class_weight": {0: -1}}, "finite number of 0 or more"),
        ({"time_limit": 0}, "seconds above 0"),
        ({"categorical_features": "all"}, "from_dtype"),
    ],
)
def test_a_bad_parameter_is_a_value_error_in_a_sentence(given, words):
    X, y = blobs(20, 2, 2)
    with pytest.raises(ValueError, match=words):
        odtc.OptimalTreeClassifier(**given).fit(X, y)


def test_errors_of_choice_are_value_errors():
    assert (
        issubclass(ChoiceError, ValueError)
        and issubclass(odtc.OdtcError, Exception)
        and not issubclass(odtc.OdtcError, ValueError)
    )


def test_an_estimator_is_imported_without_what_only_a_fit_needs():
    code = "import sys, odtc; odtc.OptimalTreeClassifier; odtc.OptimalTreeRegressor; odtc.OptimalSurvivalTree; "
    code += "print([n for n in ('polars', 'numba', 'highspy', 'odtc.workflow.run') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment(), check=True)
    assert done.stdout.strip() == "[]"


def test_a_share_of_the_rows_is_the_least_of_a_leaf():
    X, y = load_iris(return_X_y=True)
    share, rows = (odtc.OptimalTreeClassifier(2, min_samples_leaf=least).fit(X, y) for least in (0.29, 44))
    assert share.objective_ == rows.objective_ and share.leaf_rows_.sum(axis=1).min() >= 44
    with pytest.raises(ValueError, match="a share of the rows, above 0 and below 1, got 1.0"):
        odtc.OptimalTreeClassifier(min_samples_leaf=1.0).fit(X, y)


@pytest.mark.parametrize("absent", [None, float("nan")])
def test_a_row_without_a_label_among_words_is_named(absent):
    with pytest.raises(ValueError, match="got (None|nan) in row 1, and 1 more rows have none; drop these rows"):
        odtc.OptimalTreeClassifier().fit(np.eye(4), np.array(["a", absent, "b", absent], object))


@pytest.mark.parametrize("name", ["lambda", "lambda_"])
def test_two_prices_of_a_branch_node_are_refused(name):
    with pytest.raises(ValueError, match="ccp_alpha or the parameter lambda, which both penalise"):
        odtc.OptimalTreeClassifier(params={name: 0.5}, ccp_alpha=0.02).fit(np.eye(4), [0, 1, 0, 1])


def test_treatments_in_the_place_of_costs_are_told_so():
    treated, X = np.array(["yes", "no"] * 12), np.arange(24.0)[:, None]
    with pytest.raises(ValueError, match="numbers, got 'yes'; give outcome=…, too"):
        odtc.OptimalPolicyTree(1).fit(X, treated)
    fitted = odtc.OptimalPolicyTree(1).fit(X, treated, np.arange(24.0))
    with pytest.raises(ValueError, match="numbers, got 'yes'; give outcome=…, too"):
        fitted.value(X, treated, np.arange(24.0) - 12)


def test_the_tree_of_a_pipeline_or_of_a_search_has_the_names_of_its_steps():
    """The tree is trained on arrays, whose columns have no names."""
    X, y = pd.DataFrame({"level": list("abab") * 2, "size": np.arange(8.0)}), [0, 1] * 4
    prepare = make_column_transformer((OneHotEncoder(), ["level"]), remainder="passthrough")
    fitted = make_pipeline(prepare, odtc.OptimalTreeClassifier(1)).fit(X, y)
    assert "x0 ≤ 0.5" in odtc.export_text(fitted[-1])
    assert "onehotencoder__level_a ≤ 0.5" in odtc.export_text(fitted)
    search = GridSearchCV(fitted, {"optimaltreeclassifier__max_depth": [1]}, cv=2).fit(X, y)
    assert odtc.export_text(search) == odtc.export_text(fitted)
    unnamed = make_pipeline(FunctionTransformer(np.asarray), odtc.OptimalTreeClassifier(1)).fit(
        X[["size"]], [0, *[1] * 7]
    )
    assert "x0 ≤ 0.5" in odtc.export_text(unnamed)
    alone = make_pipeline(odtc.OptimalTreeClassifier(1)).fit(X[["size"]], [0, *[1] * 7])
    assert "size ≤ 0.5" in odtc.export_text(alone)
    assert "size" in odtc.export(alone, "sql")  # a warning would be an error here
    with pytest.raises(TreeError, match="import_tree"):
        odtc.export_text(make_pipeline(StandardScaler(), DecisionTreeClassifier()).fit(np.eye(4), [0, 1, 0, 1]))


@pytest.mark.parametrize("to", ["sql", "onnx"])
def test_an_export_of_a_pipeline_says_that_it_lacks_the_other_steps(to):
    """The columns of a scaler have the names of its input, so the file looks as if it took the original values."""
    X, y = pd.DataFrame({"size": np.arange(8.0)}), [0, 1] * 4
    scaled = make_pipeline(StandardScaler().set_output(transform="pandas"), odtc.OptimalTreeClassifier(1)).fit(X, y)
    search = GridSearchCV(scaled, {"optimaltreeclassifier__max_depth": [1]}, cv=2).fit(X, y)
    for given in (scaled, search):
        with pytest.warns(UserWarning, match="only the tree, and its columns are the output of StandardScaler; apply"):
            made = odtc.export(given, to)
        assert made == odtc.export(scaled[-1], to)

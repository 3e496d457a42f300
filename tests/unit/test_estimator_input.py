"""Refusals of `OptimalTreeClassifier`: a ValueError (TypeError for cells) that names the parameter or the column."""

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from odtc import OptimalPolicyTree, OptimalTreeClassifier, OptimalTreeRegressor
from odtc.base import memory
from odtc.errors import DataError, DataWarning, ModelError
from tests import pipeline
from tests.command_line import MONKS


@pytest.mark.parametrize(
    "given, word",
    [
        ({"model": None}, "model"),
        ({"model": 3}, "model"),
        ({"solver": ["highs"]}, "solver"),
        ({"encoding": None}, "encoding"),
        ({"encoding": 3}, "encoding"),
        ({"cuts": 3}, "cuts"),
        ({"time_limit": "soon"}, "time_limit"),
        ({"time_limit": 0}, "time_limit"),
        ({"threads": "two"}, "threads"),
        ({"gap": "x"}, "gap"),
        ({"gap": -1}, "gap"),
        ({"params": "x"}, "params"),
        ({"constraints": 3}, "constraints"),
        ({"constraints": [3]}, "constraints"),
        ({"class_weight": "even"}, "class_weight"),
        ({"class_weight": 3}, "class_weight"),
        ({"class_weight": {"nosuch": 2}}, "class_weight"),
        ({"class_weight": {0: -2}}, "0 or more"),
        ({"categorical_features": 3}, "categorical_features"),
    ],
)
def test_a_parameter_that_does_not_fit_is_a_value_error_that_names_it(given, word):
    X, y = [[1.0], [2.0], [3.0], [4.0]], [0, 1, 0, 1]
    with pytest.raises(ValueError, match=word) as said:
        OptimalTreeClassifier(max_depth=1, **given).fit(X, y)
    assert "--" not in str(said.value)


def test_one_constraint_may_stand_without_brackets():
    X, y = [[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]], [0, 1, 1, 1, 1, 1]
    fitted = OptimalTreeClassifier(max_depth=1, constraints="leaf_rows >= 2").fit(X, y)
    assert fitted.leaf_rows_.sum(axis=1).min() >= 2
    assert (
        fitted.objective_
        == OptimalTreeClassifier(max_depth=1, constraints=["leaf_rows >= 2"]).fit(X, y).objective_
        == 1
    )
    problem = pipeline.pose(MONKS / "monks-1.csv", "flowoct", 2, constraints="leaf_rows >= 2")
    assert [str(kept) for kept in problem.constraints] == ["leaf_rows >= 2"]


def test_class_weights_of_classes_that_a_fold_lacks_are_left_out():
    X, y = [[1.0], [2.0], [3.0], [4.0]], ["a", "b", "a", "b"]
    assert OptimalTreeClassifier(max_depth=1, class_weight={"a": 2, "b": 1, "c": 5}).fit(X, y).is_optimal_


@pytest.mark.parametrize("cells", [[[1], [2], [3], [4]], [{1}, {2}, {3}, {4}]])
def test_cells_that_are_no_values_are_refused_by_their_column(cells):
    X = pd.DataFrame({"good": [1.0, 2.0, 3.0, 4.0], "odd": pd.Series(cells)})
    with pytest.raises(TypeError, match="'odd'.*not '(Period|list|set)'"):
        OptimalTreeClassifier(max_depth=1).fit(X, [0, 1, 0, 1])


def test_two_columns_of_one_name_and_none_at_all_are_refused_in_a_sentence():
    twice = pd.DataFrame([[1.0, 2.0], [2.0, 1.0]], columns=["a", "a"])
    with pytest.raises(ValueError, match="different column names, got 'a' twice"):
        OptimalTreeClassifier(max_depth=1).fit(twice, [0, 1])
    with pytest.raises(ValueError, match=r"0 feature\(s\)"):
        OptimalTreeClassifier(max_depth=1).fit(twice[[]], [0, 1])


def test_a_sparse_matrix_is_the_array_that_it_stands_for():
    """OneHotEncoder hands one to the next step of a pipeline."""
    X, y = np.eye(6)[[0, 1, 2, 3, 4, 5, 0, 1]], [0, 1, 0, 1, 0, 1, 0, 1]
    tree = OptimalTreeClassifier(max_depth=2).fit(sp.csr_array(X), y)
    assert tree.tree_.to_json() == OptimalTreeClassifier(max_depth=2).fit(X, y).tree_.to_json()
    for form in (sp.csr_array, sp.csc_matrix, sp.coo_array):
        np.testing.assert_array_equal(tree.predict_proba(form(X)), tree.predict_proba(X))


def test_a_frame_with_sparse_columns_and_intervals_is_read_as_what_it_holds():
    y, cells = [0, 1, 0, 1], [0.0, 0.0, 3.0, 0.0]
    plain = pd.DataFrame({"a": cells, "r": ["(0, 1]", "(1, 2]", "(0, 1]", "(1, 2]"]})
    given = plain.assign(a=pd.arrays.SparseArray(cells), r=pd.cut(pd.Series([1, 2, 1, 2]), [0, 1, 2]))
    tree = OptimalTreeClassifier(max_depth=2).fit(given, y)
    texts = plain.assign(r=pd.Categorical(plain["r"], ordered=True))  # intervals of `cut` have an order
    assert tree.tree_.to_json() == OptimalTreeClassifier(max_depth=2).fit(texts, y).tree_.to_json()
    np.testing.assert_array_equal(tree.predict(given), y)
    flags = pd.get_dummies(plain["r"], sparse=True)
    np.testing.assert_array_equal(OptimalTreeClassifier(max_depth=1).fit(flags, y).predict(flags), y)


def test_a_sparse_array_of_one_axis_is_refused_as_a_dense_one_is():
    with pytest.raises(ValueError, match="Expected 2D array, got 1D"):
        OptimalTreeClassifier(max_depth=1).fit(sp.coo_array(np.ones(4)), [0, 1, 0, 1])


def test_a_sparse_matrix_that_has_no_room_as_an_array_is_refused(monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: 2**20)
    with pytest.raises(ModelError, match=r"\(3000000, 40\) as an array would take about 0.9 GiB"):
        OptimalTreeClassifier(max_depth=1).fit(sp.csr_array((3_000_000, 40)), np.zeros(3_000_000))


def test_a_warning_names_the_line_that_called_fit():
    X = pl.DataFrame({"x": [f"{at} kg" for at in range(1, 41)], "z": ["a", "b"] * 20})
    with pytest.warns(DataWarning, match="'x' looks like numbers") as told:
        OptimalTreeClassifier(max_depth=1).fit(X, ["p", "q"] * 20)
    assert {Path(one.filename).name for one in told} == {Path(__file__).name}


def test_rows_in_plain_lists_may_hold_text():
    X, y = [["red", 1], ["red", 2], ["blue", 1], ["blue", 2]], [0, 0, 1, 1]
    fitted = OptimalTreeClassifier(max_depth=1).fit(X, y)
    assert [feature.kind for feature in fitted.features_] == ["categorical", "numeric"]
    assert fitted.predict([("blue", 2), ("red", 1)]).tolist() == [1, 0]
    numbers = OptimalTreeClassifier(max_depth=1).fit([["1", "20"], ["2", "9"], ["10", "9"]], [0, 0, 1])
    assert numbers.predict([["9", "9"], [11, 9]]).tolist() == [1, 1] and numbers.objective_ == 0


@pytest.mark.parametrize("X", [[["red", 1], ["blue"], ["red", 2]], [[1.0, 2.0], [3.0], [4.0, 5.0]]])
def test_rows_in_lists_of_different_lengths_are_told(X):
    with pytest.raises(ValueError, match="expected rows of one length, got 2 cells in row 0 and 1 in row 1 of X"):
        OptimalTreeClassifier(max_depth=1).fit(X, [0, 1, 0])


@pytest.mark.filterwarnings("ignore:A column-vector y")
@pytest.mark.parametrize("module", ["pandas", "polars"])
def test_a_tree_has_the_name_of_its_labels(module):
    frames = pytest.importorskip(module)
    rows = frames.DataFrame({"a": [1, 2, 3, 4], "b": [1, 0, 1, 0]})
    for y, name in (
        (frames.Series(name="status", **{"data" if module == "pandas" else "values": list("ppqq")}), "status"),
        (frames.Series(name="a", **{"data" if module == "pandas" else "values": list("ppqq")}), "y"),
        (frames.DataFrame({"status": list("ppqq")}), "status"),
        (["p", "p", "q", "q"], "y"),
    ):
        tree = OptimalTreeClassifier(max_depth=1).fit(rows, y)
        assert tree.tree_.target == name and all(check.passed for check in tree.verify(rows, y))
    numbers = frames.Series(name="price", **{"data" if module == "pandas" else "values": [1.0, 1.5, 7.0, 8.0]})
    tree = OptimalTreeRegressor(max_depth=1).fit(rows, numbers)
    assert tree.tree_.target == "price" and all(check.passed for check in tree.verify(rows, numbers))


def test_periods_are_read_as_words_with_a_remark_on_dates():
    pandas = pytest.importorskip("pandas")
    months = pandas.Series(pandas.period_range("2020-01", periods=40, freq="M"))
    with pytest.warns(DataWarning, match="looks like dates"):
        OptimalTreeClassifier(max_depth=1).fit(pandas.DataFrame({"month": months, "a": range(40)}), [0, 1] * 20)


WHOLE = [*range(2**40, 2**40 + 8)]


@pytest.mark.filterwarnings("ignore:A column-vector y")
@pytest.mark.parametrize("kind", [pl.Int128, pl.Decimal(20, 2)])
@pytest.mark.parametrize("framed", [False, True])
def test_labels_and_numbers_that_numpy_does_not_have_are_scored_as_the_same_ones_in_numpy(kind, framed):
    X = pl.DataFrame({"a": [1, 2, 3, 4, 5, 6, 7, 8]}).cast(kind)
    weight = pl.Series([1, 2, 1, 1, 1, 3, 1, 1]).cast(kind)
    for cls, y in ((OptimalTreeClassifier, [0, 1, 0, 0, 1, 1, 0, 1]), (OptimalTreeRegressor, WHOLE)):
        given, plain = pl.Series("y", y).cast(kind), np.array(y)
        given = pl.DataFrame(given) if framed else given
        tree, same = cls(max_depth=1).fit(X, given), cls(max_depth=1).fit(X, plain)
        assert tree.score(X, given) == same.score(X, plain)
        assert tree.score(X, given, weight) == same.score(X, plain, np.array([1.0, 2, 1, 1, 1, 3, 1, 1]))
        assert str(tree.compare({"same": same}, X, given)) == str(same.compare({"same": same}, X, plain))


@pytest.mark.parametrize("kind", [pl.Int128, pl.Decimal(20, 2)])
def test_costs_that_numpy_does_not_have_are_read(kind):
    X, costs = pl.DataFrame({"a": [1, 2, 3, 4]}), pl.DataFrame({"no": [0, 0, 3, 3], "yes": [1, 1, 1, 1]}).cast(kind)
    tree = OptimalPolicyTree(max_depth=1).fit(X, costs)
    assert tree.predict(X).tolist() == ["no", "no", "yes", "yes"] and tree.value(X, costs)[0] == 0.5


def test_labels_of_text_and_numbers_are_refused_with_the_way_to_make_them_one_type():
    X, y = [[1.0], [2.0], [3.0]], np.array([1, "a", "a"], dtype=object)
    with pytest.raises(ValueError, match=r"labels of one type, got 1 and 'a'; .* \[str\(label\) for label in y\]"):
        OptimalTreeClassifier(max_depth=1).fit(X, y)
    assert OptimalTreeClassifier(max_depth=1).fit(X, [str(label) for label in y]).classes_.tolist() == ["1", "a"]


@pytest.mark.parametrize("given", ["rows.csv", Path("rows.csv")])
def test_the_path_of_a_file_is_refused_with_what_reads_files(given):
    with pytest.raises(DataError, match=r"expected rows, got the path 'rows.csv'; .* odtc.fit\('rows.csv'\)"):
        OptimalTreeClassifier(max_depth=1).fit(given, [0, 1])

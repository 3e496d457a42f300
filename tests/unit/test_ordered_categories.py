"""Columns whose levels have an order, of pandas or of a file: tests cut it in two."""

import pickle
import warnings
from itertools import product

import numpy as np
import pandas
import pytest

import odtc
from odtc.data.dataset import Dataset
from odtc.data.frames import learn_features, orders_of, series_of
from odtc.data.table.level_orders import order_text, orders_of_texts
from odtc.errors import DataWarning, OdtcError
from odtc.trees.rendering import render_tree
from odtc.trees.tree import Tree
from tests.command_line import odtc as run_cli

SIZES = ["small", "medium", "large", "huge", "none"]  # neither sorted nor all in the rows


def drawn(seed: int, n: int = 24):
    """(table, place of each row's size, colour, random) with an ordered column, and one of colours."""
    rng = np.random.default_rng(seed)
    place, colour = rng.integers(0, 4, n), rng.integers(0, 3, n)
    size = pandas.Categorical([SIZES[at] for at in place], categories=SIZES, ordered=True)
    return pandas.DataFrame({"size": size, "colour": np.array(["red", "blue", "green"])[colour]}), place, colour, rng


def best(place, colour, leaf, depth: int) -> float:
    """Of all trees of this depth on the rows the least cost, by trying each: cuts of the order, and single colours."""
    tests = [place <= cut for cut in range(3)] + [colour == one for one in range(3)]

    def least(rows, left):
        found = leaf(rows)
        for test in tests if left else ():
            if 0 < (rows & test).sum() < rows.sum():
                found = min(found, least(rows & test, left - 1) + least(rows & ~test, left - 1))
        return found

    return least(np.ones(len(place), bool), depth)


@pytest.mark.parametrize(("seed", "depth"), list(product(range(3), (1, 2))))
def test_the_best_tree_over_cuts_of_the_order_is_found(seed, depth):
    table, place, colour, rng = drawn(seed)
    y = np.where(rng.random(24) < 0.8, (place > 1) ^ (colour == 0), rng.integers(0, 2, 24)).astype(int)
    number = place**2 + (colour == 1) + rng.normal(size=24).round(2)

    def errors(rows):
        return float(min(y[rows].sum(), (1 - y[rows]).sum()))

    def squares(rows):
        return float(((number[rows] - number[rows].mean()) ** 2).sum())

    tree = odtc.OptimalTreeClassifier(depth).fit(table, y)
    assert tree.is_optimal_ and (tree.predict(table) != y).sum() == best(place, colour, errors, depth)
    tree = odtc.OptimalTreeRegressor(depth).fit(table, number)
    expected = best(place, colour, squares, depth)
    assert tree.is_optimal_ and tree.objective_ == pytest.approx(expected, rel=1e-9)
    assert ((tree.predict(table) - number) ** 2).sum() == pytest.approx(expected, rel=1e-9)
    again = pickle.loads(pickle.dumps(tree))
    assert again.predict(table).tolist() == tree.predict(table).tolist()


def test_sets_of_an_order_are_said_exported_and_predicted():
    table, place, *_ = drawn(5)
    tree = odtc.OptimalTreeClassifier(1).fit(table[["size"]], place >= 2)
    assert (
        "size ≤ medium" in str(tree.tree_)
        and "size > medium" in str(tree.tree_)
        and (tree.predict(table[["size"]]) == (place >= 2)).all()
    )
    code: dict = {}
    exec(render_tree(tree.tree_, "python"), code)
    assert [code["predict"]({"size": size}) for size in SIZES] == [False, False, True, True, True]
    new = pandas.DataFrame({"size": pandas.Categorical(["medium", "huge", "none"], categories=SIZES)})
    assert tree.predict(new).tolist() == [False, True, True]  # a level that no row had is in no set


def test_missing_cells_and_numbers_keep_the_order():
    cells = pandas.Categorical([10, 9, None, 8, 10, 9, 8, None], categories=[10, 8, 9], ordered=True)
    table = pandas.DataFrame({"x": cells})
    _, (feature,) = learn_features(series_of(table), ["x"], set(), orders_of(table))
    assert feature.levels == ("10", "8", "9") and feature.ordered
    y = np.array([0, 1, 1, 0, 0, 1, 0, 1])
    tree = odtc.OptimalTreeClassifier(2).fit(table, y)
    assert (tree.predict(table) == y).all() and tree.is_optimal_


def test_without_an_order_each_level_is_a_test():
    table, place, *_ = drawn(5)
    plain = table.assign(size=table["size"].cat.as_unordered())
    assert orders_of(plain) == {} and orders_of(np.zeros((2, 2))) == {}
    tree = odtc.OptimalTreeClassifier(1).fit(plain[["size"]], place == 1)
    assert "size = medium" in str(tree.tree_) and (tree.predict(plain[["size"]]) == (place == 1)).all()


def test_a_tree_over_an_order_has_a_certificate():
    table, place, colour, _ = drawn(3)
    X, features = learn_features(series_of(table), list(table), set(), orders_of(table))
    y = ((place > 1) ^ (colour == 0)).astype(np.int32)
    y[:4] = 1 - y[:4]
    data = Dataset("d", X, y, features, ("no", "yes"), np.ones(len(y)))
    assert odtc.fit(data, depth=2).certified


ORDER = "size=small<medium<large<huge<none"


def as_file(folder, seed: int):
    """The table as a file with numbers to predict, with the places of its sizes and colours."""
    table, place, colour, rng = drawn(seed)
    table["y"] = place**2 + (colour == 1) + rng.normal(size=len(table)).round(2)
    path = folder / "sizes.csv"
    table.to_csv(path, index=False)
    return path, place, colour, table


@pytest.mark.parametrize("seed", range(3))
def test_a_column_of_a_file_has_the_order_that_is_told(tmp_path, seed):
    path, place, colour, table = as_file(tmp_path, seed)
    y = table["y"].to_numpy()

    def squares(rows):
        return float(((y[rows] - y[rows].mean()) ** 2).sum())

    expected = best(place, colour, squares, 2)
    words = {"depth": 2, "task": "regression", "target": "y"}
    told = odtc.fit(path, "dpflow", ordered=[ORDER], **words)
    declared = odtc.fit(table, "dpflow", **words)
    assert told.proved and told.certified and told.proof.objective == pytest.approx(expected, rel=1e-9)
    assert declared.tree.to_json() == told.tree.to_json()
    feature = told.dataset.features[0]
    assert feature.levels == tuple(SIZES[:4]) and feature.ordered
    kept = Tree.from_json(told.tree.to_json())
    assert str(kept) == str(told.tree) and kept.features[0].ordered


def test_an_order_goes_with_the_files_of_a_run(tmp_path):
    path, *_ = as_file(tmp_path, 1)
    words = ["--task", "regression", "--target", "y", "--depth", 2, "--ordered", ORDER]
    assert run_cli("fit", path, *words, "-o", tmp_path / "run").code == 0
    assert run_cli("verify", tmp_path / "run").code == 0
    certificate = tmp_path / "c.json"
    assert run_cli("certify", path, *words, "-o", certificate).code == 0
    checked = run_cli("verify", "--certificate", certificate)
    assert checked.code == 0 and ORDER in checked.out and "these include all" in checked.out
    forged = certificate.read_text().replace("small<medium", "medium<small")
    certificate.write_text(forged)
    assert run_cli("verify", "--certificate", certificate).code == 1
    model = ["build", path, "--model", "dpflow", *words, "-o", tmp_path / "m"]
    assert run_cli(*model).code == 0 and run_cli("solve", tmp_path / "m.mps").code == 0
    assert run_cli("decode", tmp_path / "m.sol").code == 0 and run_cli("verify", tmp_path / "m").code == 0


def test_a_column_without_levels_has_the_order_that_they_are_sorted_in(tmp_path):
    path = tmp_path / "days.csv"
    days = [f"2024-0{month}-0{day}" for month in (1, 2, 3) for day in (1, 5, 9)]
    path.write_text("day,y\n" + "".join(f"{day},{int(day > '2024-02-03')}\n" for day in reversed(days)))
    fitted = odtc.fit(path, depth=1, ordered=["day"])
    assert fitted.proof.objective == 0 and "day ≤ 2024-02-01" in str(fitted.tree)


def test_levels_in_quotes_hold_the_sign_between_them(tmp_path):
    path = tmp_path / "ages.csv"
    path.write_text("age,y\n" + "".join(f"{age},{y}\n" for age, y in (("<18", 0), ("18-65", 1), (">65", 0)) * 3))
    fitted = odtc.fit(path, depth=2, ordered=['age="<18"<18-65<>65'])
    assert fitted.dataset.features[0].levels == ("<18", "18-65", ">65") and fitted.proof.objective == 0
    assert order_text("age", ["<18", "old"]) == 'age="<18"<old'
    assert orders_of_texts(['a=b="<1"<2'], ["a=b"], "f") == {"a=b": ("<1", "2")}


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("siz=small<large", "expected `ordered` to name a column of .*, got 'siz' \\(did you mean 'size'"),
        (
            "size=small<medium<lage<huge",
            "every level of column 'size' of .*, got none for 'large' \\(did you mean 'lage'",
        ),
        ("size=small", "two different levels or more, got 'size=small'"),
        ("size=small<small<large", "two different levels or more"),
        ("y", "expected another column for `ordered`, got 'y', which is the target"),
    ],
)
def test_an_order_that_does_not_fit_is_refused_in_a_sentence(tmp_path, words, why):
    path, *_ = as_file(tmp_path, 1)
    with pytest.raises(OdtcError, match=why):
        odtc.fit(path, depth=1, task="regression", target="y", ordered=[words])
    with pytest.raises(OdtcError, match="in `ordered` or in `numeric`"):
        odtc.fit(path, depth=1, task="regression", target="y", ordered=[ORDER], numeric=["size"])


@pytest.mark.parametrize("declared", [False, True])
def test_texts_that_are_read_as_missing_cells_are_told(declared):
    """NA is Namibia, too: as in files it is a missing cell, and whoever meant a level hears of it."""
    cells = ["NA", "US", "null", "DE", "", None] * 5
    column = pandas.Categorical(cells, categories=["NA", "null", "US", "DE", ""], ordered=True) if declared else cells
    frame, y = pandas.DataFrame({"land": column, "x": range(30)}), [0, 1] * 15
    with pytest.warns(DataWarning, match="column 'land': 'NA', 'null' are read as missing cells"):
        odtc.OptimalTreeClassifier(1).fit(frame, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        known = pandas.DataFrame({"land": ["US", "DE"] * 5, "x": range(10)})
        odtc.OptimalTreeClassifier(1).fit(known, [0, 1] * 5)

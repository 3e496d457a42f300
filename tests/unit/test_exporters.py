"""Exporters that make no text: scikit-learn, ONNX and pictures, each loaded by what reads it."""

import io
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import odtc
from odtc.data.dataset import NUMERIC, Dataset, Feature
from odtc.data.reading import read
from odtc.data.splits import Missing, Oblique, Subset, Term, Threshold
from odtc.errors import ChoiceError, DataError
from odtc.testing.generated_code import unseen
from odtc.testing.random_trees import answering_numbers, rows_for, trees
from odtc.trees.exporting import EXPORTERS, export, suffix, summaries
from odtc.trees.importing import import_tree
from odtc.trees.tree import Branch, Leaf, Tree
from tests.command_line import odtc as command
from tests.laws.test_exports_run import CELLS, COLUMNS, SPLITS, expected

HEALTH = [HealthCheck.too_slow, HealthCheck.data_too_large]
X, Y = Feature("x", NUMERIC), Feature("y", NUMERIC)


def onnx_predict(tree, rows) -> tuple[list, np.ndarray]:
    runtime = pytest.importorskip("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    session = runtime.InferenceSession(export(tree, "onnx"), options, providers=["CPUExecutionProvider"])
    given = {}
    for name in [entry.name for entry in session.get_inputs()]:
        place = next(j for j, feature in enumerate(tree.features) if name in (feature.name, f"{feature.name}_in"))
        feature, column = tree.features[place], rows[:, place]
        if feature.kind != NUMERIC:
            column = np.array(
                ["" if np.isnan(v) else feature.levels[int(v)] if v >= 0 else unseen(feature) for v in column],
                dtype=object,
            )
        given[name] = column[:, None]
    label, shares = session.run(["label", "shares_of_votes" if tree.task == "policy" else "probabilities"], given)
    return [name or None for name in label], shares


def test_onnx_has_one_input_for_each_column_whatever_it_is_called():
    runtime = pytest.importorskip("onnxruntime")
    columns = tuple(Feature(name, NUMERIC) for name in ("label_in", "label", "probabilities"))
    root = Branch(Threshold(2, 1.0), Leaf(0), Leaf(1))
    for place in (1, 0):
        root = Branch(Threshold(place, 1.0), root, Leaf(place))
    tree = Tree(root, columns, ("a", "b"))
    session = runtime.InferenceSession(export(tree, "onnx"))
    names = ["label_in", "label_in_in", "probabilities_in"]
    assert sorted(entry.name for entry in session.get_inputs()) == names
    rows = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 5.0], [0.0, 5.0, 0.0], [5.0, 0.0, 5.0]])
    found = session.run(["label"], {name: rows[:, [place]] for place, name in enumerate(names)})[0]
    assert found.tolist() == ["a", "b", "b", "a"]


def test_onnx_calls_the_votes_of_a_policy_no_probabilities():
    leaves = Leaf(0, (3.0, 1.0), (2, 1)), Leaf(1, (1.0, 3.0), (1, 3))
    tree = Tree(Branch(Threshold(0, 0.5), *leaves), (X,), ("call", "mail"), task="policy")
    labels, shares = onnx_predict(tree, np.array([[0.0], [1.0]]))
    assert labels == ["call", "mail"] and shares.tolist() == [[0.75, 0.25], [0.25, 0.75]]


@pytest.mark.parametrize("missing", ["drop", "separate"])
def test_onnx_predicts_as_the_tree_for_each_split(missing):
    for split in SPLITS:
        tree = Tree(
            Branch(split, Leaf(0, (2.0, 1.0), (2, 1)), Branch(SPLITS[4], Leaf(1, (1.0, 3.0), (1, 3)), Leaf(0))),
            COLUMNS,
            ("it's", "*/ \\ ?>"),
            "--",
            missing,
        )
        labels, shares = onnx_predict(tree, CELLS)
        assert labels == expected(tree, CELLS), split
        for label, share in zip(labels, shares):
            assert (
                np.isnan(share).all()
                if label is None
                else tree.classes[share.argmax()] == label and share.sum() == pytest.approx(1)
            )


@settings(deadline=None, max_examples=40, suppress_health_check=HEALTH)
@given(data=st.data())
def test_onnx_predicts_as_any_tree(data):
    tree = data.draw(trees(oblique=True))
    rows = data.draw(rows_for(tree))
    assert onnx_predict(tree, rows)[0] == expected(tree, rows)


def numeric_tree(draw) -> Tree:
    """A tree over numbers with float32 cells in mind: thresholds of 64 bits, sets, missing cells."""
    numbers = st.sampled_from((0.1, 0.1 + 0.2, 1.0, 2.0, 2.5, 3.0, -1.5, 1e-7, 1e22))

    def node(depth):
        if depth == 0 or draw(st.integers(0, 3)) == 0:
            rows = draw(st.lists(st.integers(0, 9), min_size=3, max_size=3))
            return Leaf(draw(st.integers(0, 2)), tuple(map(float, rows)), tuple(rows))
        place = draw(st.integers(0, 1))
        split = draw(st.sampled_from((Threshold, Missing, Subset)))
        asked = (
            split(place)
            if split is Missing
            else Threshold(place, draw(numbers))
            if split is Threshold
            else Subset(place, tuple(draw(st.lists(numbers, min_size=1, max_size=3, unique=True))))
        )
        return Branch(asked, node(depth - 1), node(depth - 1))

    return Tree(node(3), (X, Y), ("a", "b", "c"), missing="separate")


CELLS_32 = np.array([0.1, 1, 2, 2.5, 3, -1.5, 0, 1e-7, 1e22, np.nan], dtype=np.float32).astype(float)


@settings(deadline=None, max_examples=60, suppress_health_check=HEALTH)
@given(data=st.data())
def test_scikit_learn_predicts_as_any_tree_over_numbers_of_32_bits(data):
    tree = numeric_tree(data.draw)
    fitted = pickle.loads(export(tree, "sklearn"))
    rows = np.array([[a, b] for a in CELLS_32 for b in CELLS_32])
    found = fitted.predict(import_frame(rows)).tolist()
    # A set is asked for exactly: a number of it that 32 bits do not hold is in the set for us, not for them.
    assert found == [tree.classes[k] for k in tree.predict(rows)]


@settings(deadline=None, max_examples=12, suppress_health_check=HEALTH)
@given(data=st.data())
def test_scikit_learn_answers_the_numbers_of_any_tree_over_numbers_of_32_bits(data):
    tree = data.draw(answering_numbers(numeric_tree(data.draw), lines=False))
    fitted = pickle.loads(export(tree, "sklearn"))
    rows = np.array([[a, b] for a in CELLS_32 for b in CELLS_32])
    assert fitted.predict(import_frame(rows)).tolist() == tree.answers(rows).tolist()
    assert type(fitted).__name__ == "DecisionTreeRegressor" and fitted.get_n_leaves() >= tree.n_leaves


def import_frame(rows):
    import pandas as pd

    return pd.DataFrame(rows, columns=["x", "y"])


def test_a_tree_goes_to_scikit_learn_and_back():
    tree = Tree(
        Branch(
            Threshold(0, 2.0),
            Leaf(0, (3.0, 1.0), (3, 1)),
            Branch(Threshold(1, 0.5), Leaf(1, (0.0, 2.0), (0, 2)), Leaf(0, (1.0, 0.0), (1, 0))),
        ),
        (X, Y),
        ("no", "yes"),
    )
    cells = np.array([[1, 0], [2, 0], [0, 0], [1, 1], [3, 0.5], [4, 0], [5, 1]], dtype=float)
    data = Dataset("d", cells, np.array([0, 0, 0, 1, 1, 1, 0], dtype=np.int32), (X, Y), ("no", "yes"), np.ones(7))
    fitted = pickle.loads(export(tree, "sklearn"))
    back = import_tree(fitted, data)
    assert back.leaves() == tree.leaves() and back.apply(cells).tolist() == tree.apply(cells).tolist()
    assert fitted.predict_proba(import_frame(cells))[0].tolist() == [0.75, 0.25]
    assert fitted.get_depth() == 2 and fitted.tree_.n_node_samples.tolist() == [7, 4, 3, 2, 1]


@pytest.mark.parametrize("weighs", [False, True])
def test_nodes_of_scikit_learn_have_the_impurity_of_its_own(weighs):
    """A tree of scikit-learn that was imported goes back with its impurities, and with the importance of columns that
    scikit-learn derives from them."""
    import pandas as pd
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    rng = np.random.default_rng(4)
    rows = import_frame(rng.integers(0, 9, (90, 2)).astype(float))
    weight = rng.integers(1, 4, 90) if weighs else np.ones(90)
    label, number = rng.choice(["no", "yes", "zero"], 90), rows["x"] * 3 + rng.normal(size=90)
    for kind, y in ((DecisionTreeClassifier, label), (DecisionTreeRegressor, number)):
        grown = kind(max_depth=3, random_state=0).fit(rows, y, weight)
        table = pd.DataFrame({"x": rows["x"], "y": rows["y"], "w": weight, "told": y})
        task = "classification" if kind is DecisionTreeClassifier else "regression"
        data = read(table, "told", weights="w", task=task)
        back = pickle.loads(export(import_tree(grown, data), "sklearn"))
        assert back.tree_.impurity == pytest.approx(grown.tree_.impurity)
        assert back.tree_.weighted_n_node_samples == pytest.approx(grown.tree_.weighted_n_node_samples)
        assert back.feature_importances_ == pytest.approx(grown.feature_importances_)


@pytest.mark.parametrize(
    ("split", "instead"),
    [(Subset(1, (1.0,)), "numbers alone"), (Oblique((Term(0, 1.0),), 2.0), "splits of one column each")],
)
def test_scikit_learn_cannot_have_categories_or_hyperplanes(split, instead):
    features = (X, Feature("colour", "categorical", ("blue", "red")))
    with pytest.raises(
        ChoiceError, match=f"compares numbers with thresholds, and this tree has the split .*; train on {instead}, or"
    ):
        export(Tree(Branch(split, Leaf(0), Leaf(1)), features, ("a", "b")), "sklearn")


@pytest.mark.parametrize("root", [Branch(Threshold(1, 0.5), Leaf(0), Leaf(1)), Leaf(1)])
@pytest.mark.parametrize("of_numbers", [False, True])
def test_scikit_learn_predicts_the_frame_with_text_that_no_test_asks(root, of_numbers):
    import pandas as pd
    import polars as pl

    cells = {"target": ["?"] * 3, "flag": ["True", "?", "False"], "x": [0.0, 1.0, 0.5], "colour": ["b'lue", "red", "?"]}
    features = (Feature("colour", "categorical", ("b'lue", "red")), X, Feature("flag", "boolean", ("false", "true")))
    tree = Tree(root, features, ("no", "yes"))
    if of_numbers:

        def leaf(mean):
            return Leaf(0, (1.0,), (1,), (1.0, 1.0, mean, 0.0, 0.0))

        tree = Tree(Branch(root.split, leaf(-2.0), leaf(3.0)) if root != Leaf(1) else leaf(3.0), features, ("mean",))
        tree = replace(tree, task="regression")
    fitted = pickle.loads(export(tree, "sklearn"))
    answers = tree.answers(np.array([[0, 0.0, 1], [1, 1.0, 0], [0, 0.5, 0]])).tolist()
    expected = answers if of_numbers else [tree.classes[k] for k in answers]
    frame = pd.DataFrame(cells)
    assert fitted.predict(frame[list(fitted.feature_names_in_)]).tolist() == expected
    # In another order, with the target.
    assert fitted.predict(frame).tolist() == fitted.predict(pl.DataFrame(cells)).tolist() == expected


def test_scikit_learn_takes_no_tree_without_a_column_of_numbers():
    tree = Tree(Leaf(0), (Feature("colour", "categorical", ("blue", "red")),), ("a", "b"))
    with pytest.raises(ChoiceError, match="a column of numbers"):
        export(tree, "sklearn")


def test_a_picture_shows_every_node():
    from matplotlib.figure import Figure

    tree = Tree(
        Branch(Threshold(0, 2.0), Leaf(0, (3.0, 1.0), (3, 1)), Branch(Subset(1, (1.0,)), Leaf(1), Leaf(0))),
        (X, Feature("c$_{", "categorical", ("a", "b$"))),
        ("$no", "yes"),
    )
    axes = Figure().add_subplot()
    shown = odtc.plot_tree(tree, ax=axes)
    assert [note.get_text() for note in shown] == ["x ≤ 2", "$no\n3 of 4", "c$_{ = b$", "yes", "$no"]
    assert len(odtc.plot_tree(tree, ax=axes, max_depth=1)) == 3
    made = export(tree, "png")
    assert made.startswith(b"\x89PNG\r\n") and made == export(tree, "png")
    import matplotlib.image

    pixels = matplotlib.image.imread(io.BytesIO(made))
    assert pixels.shape[0] > 200 and pixels.shape[1] > 400 and pixels[..., :3].min() < 0.2


def test_plot_and_text_take_an_estimator():
    from matplotlib.figure import Figure

    fitted = odtc.OptimalTreeClassifier(1).fit([[0.0], [1.0], [2.0]], ["a", "b", "b"])
    assert odtc.export_text(fitted) == odtc.render_tree(fitted.tree_)
    assert len(odtc.plot_tree(fitted, ax=Figure().add_subplot())) == 3
    numbers = odtc.OptimalTreeRegressor(1).fit([[0.0], [1.0], [2.0]], [1.5, 4.0, 4.5])
    shown = odtc.plot_tree(numbers, ax=Figure().add_subplot())
    assert [note.get_text() for note in shown][1:] == ["1.5\n1 row", "4.25\n2 rows"]


def test_every_exporter_is_listed_with_templates_first(tmp_path):
    assert set(EXPORTERS.names()) < set(summaries()) and {"c", "sql", "pmml"} < set(summaries())
    assert (suffix("onnx"), suffix("python")) == ("onnx", "py")
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "onnx.txt.jinja").write_text("{# my own #}\n{{ tree.n_leaves }}\n")
    assert export(Tree(Leaf(0), (X,), ("a", "b")), "onnx", tmp_path) == "1\n"
    with pytest.raises(ChoiceError, match="did you mean 'onnx'"):
        export(Tree(Leaf(0), (X,), ("a", "b")), "onxn")


def test_the_command_writes_bytes_to_a_file_or_to_a_pipe(tmp_path):
    import json

    tree = Tree(Branch(Threshold(0, 2.0), Leaf(0), Leaf(1)), (X,), ("a", "b"))
    (tmp_path / "tree.json").write_text(json.dumps(tree.to_json()))
    assert command("export", tmp_path / "tree.json", "--to", "sklearn", "-o", tmp_path / "tree.pkl").code == 0
    assert pickle.loads((tmp_path / "tree.pkl").read_bytes()).tree_.node_count == 3
    refused = command("show", tmp_path / "tree.json", "--to", "png")
    assert refused.code == 2 and "use `odtc export`" in refused.err


def test_a_refused_cell_is_refused_by_the_tree_itself():
    with pytest.raises(DataError):
        Tree(Branch(Threshold(0, 2.0), Leaf(0), Leaf(1)), (X,), ("a", "b")).predict(np.array([[np.nan]]))

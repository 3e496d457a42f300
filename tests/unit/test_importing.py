"""`odtc import`: trees of scikit-learn and of other runs predict as they did, at ties too, and start a solver."""

import json
import pickle
from dataclasses import replace
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, export_text

import odtc
from odtc.data.reading import from_frame, read, read_arrays
from odtc.data.reading_spec import ReadingSpec
from odtc.data.splits import Missing, Subset, Threshold
from odtc.errors import ChoiceError, TreeError
from odtc.trees.importing import import_tree, last_left, read_foreign
from odtc.trees.tree import Branch, Leaf
from tests.command_line import CHECKOUT, MONKS, refused
from tests.command_line import odtc as command

IRIS = CHECKOUT / "examples" / "iris" / "iris.csv"


def classes_of(tree, dataset):
    return np.array([tree.classes[k] for k in tree.predict(dataset.X)])


def frame_of(path):
    frame = pl.read_csv(path)
    return frame[:, :-1], frame[:, -1].to_numpy()


def assert_counted(tree, dataset):
    """The leaves' counts are those of the rows that end there, found one by one."""
    reached, K = tree.apply(dataset.X), len(dataset.classes)
    for number, leaf in enumerate(tree.leaves()):
        here = reached == number
        assert leaf.rows == tuple(np.bincount(dataset.y[here], minlength=K))
        assert leaf.counts == pytest.approx(np.bincount(dataset.y[here], dataset.weight[here], K))


@given(st.floats(-1e38, 1e38, width=64))
@settings(max_examples=300)
def test_the_last_number_that_goes_left(threshold):
    last = last_left(threshold)
    assert float(np.float32(last)) <= threshold < float(np.float32(np.nextafter(last, np.inf)))


def test_rows_with_labels_and_frames_stand_for_the_data_that_they_are_read_as():
    draw = np.random.default_rng(3)
    X, y = draw.normal(size=(40, 2)), draw.integers(0, 3, 40)
    fitted = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    of_rows = import_tree(fitted, X, y)
    assert (classes_of(of_rows, read_arrays(X, y)) == fitted.predict(X).astype(str)).all()
    frame = pl.DataFrame(X, schema=["x0", "x1"]).with_columns(label=y)
    assert import_tree(fitted, frame, target="label").root == of_rows.root
    for more in ({"y": y}, {"target": "label"}):
        with pytest.raises(ChoiceError, match="with a Dataset, which has its own"):
            import_tree(fitted, read_arrays(X, y), **more)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_predictions_agree_at_ties_of_32_bits(seed):
    """Cells that differ by less than 32 bits tell, and cells around every threshold."""
    draw = np.random.default_rng(seed)
    base = draw.choice([0.1, 0.3, 1e-30, 2.0**24, 1e9, -0.7], 40)[:, None] * draw.integers(1, 4, (40, 3))
    X = base * (1 + draw.integers(-3, 4, (40, 3)) * 2.0**-25)
    y = draw.choice(["u", "v", "w"], 40)
    frame = pl.DataFrame(X, schema=["a", "b <= c", "d|e"])
    fitted = DecisionTreeClassifier(random_state=seed).fit(frame, y)
    dataset = from_frame(frame.with_columns(y=y), "ties")
    tree = import_tree(fitted, dataset)
    assert (classes_of(tree, dataset) == fitted.predict(frame)).all()
    assert_counted(tree, dataset)
    around = []
    for t in fitted.tree_.threshold[fitted.tree_.feature >= 0]:
        ends = [
            np.float32(t),
            np.nextafter(np.float32(t), np.float32(np.inf)),
            np.nextafter(np.float32(t), np.float32(-np.inf)),
            last_left(t),
            t,
        ]
        around += [
            move(float(end))
            for end in ends
            for move in (float, lambda v: np.nextafter(v, np.inf), lambda v: np.nextafter(v, -np.inf))
        ]
    probes = np.array([[draw.choice(around) for _ in range(3)] for _ in range(2000)])
    said = fitted.predict(pl.DataFrame(probes, schema=frame.columns))
    assert (np.array(tree.classes)[tree.predict(probes)] == said).all()


def test_the_text_of_export_text_is_the_same_tree(tmp_path):
    X, y = frame_of(IRIS)
    fitted, dataset = DecisionTreeClassifier(random_state=0).fit(X, y), read(IRIS)
    for name, options in (
        ("plain", {"decimals": 17}),
        ("weights", {"decimals": 17, "show_weights": True}),
        ("narrow", {"decimals": 17, "spacing": 1}),
    ):
        (tmp_path / name).write_text(export_text(fitted, feature_names=list(X.columns), **options))
        assert import_tree(tmp_path / name, dataset) == import_tree(fitted, dataset)
    rounded = tmp_path / "rounded"
    rounded.write_text(
        "\ufeff" + export_text(fitted, feature_names=list(X.columns)).replace("\n", "\r\n"), encoding="utf-8"
    )
    assert (classes_of(import_tree(rounded, dataset), dataset) == fitted.predict(X)).all()


def test_a_rounded_threshold_among_the_cells_is_refused(tmp_path):
    frame = pl.DataFrame({"x": [0.43, 0.44, 0.2, 0.7]})
    fitted = DecisionTreeClassifier(random_state=0).fit(frame, list("abab"))
    dataset = from_frame(frame.with_columns(y=pl.Series(list("abab"))), "near")
    path = tmp_path / "tree"
    path.write_text(export_text(fitted, feature_names=["x"]))
    with pytest.raises(
        TreeError, match=r"rounds the threshold of 'x' to 0.4\d, so the cell 0.4\d may go either way.*decimals=17"
    ):
        import_tree(path, dataset)
    path.write_text(export_text(fitted, feature_names=["x"], decimals=17))
    assert (classes_of(import_tree(path, dataset), dataset) == list("abab")).all()


@pytest.mark.parametrize("mark", ["=", "_"])
@pytest.mark.parametrize("drop_first", [False, True])
def test_one_hot_columns_become_subsets(mark, drop_first):
    frame, y = frame_of(MONKS / "monks-2.csv")
    X = frame.to_dummies(separator=mark, drop_first=drop_first)
    fitted = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    for kinds in ({}, {"categorical": frame.columns}):
        dataset = read(MONKS / "monks-2.csv", **kinds)
        tree = import_tree(fitted, dataset)
        assert all(isinstance(node.split, Subset) for node, _ in tree.walk() if isinstance(node, Branch))
        assert (classes_of(tree, dataset) == fitted.predict(X).astype(str)).all()
        assert_counted(tree, dataset)


def test_words_booleans_and_labels_of_other_types():
    frame = pl.DataFrame({"colour": list("rgbrgbrg"), "on": [True, False] * 4, "n": [1, 2, 3, 4, 5, 6, 7, 8]})
    y = np.array([1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0])
    X = frame.to_dummies("colour", separator="=")
    for labels in (y, y.astype(bool)):
        fitted = DecisionTreeClassifier(random_state=0).fit(X, labels)
        dataset = from_frame(frame.with_columns(y=labels.astype(int) if labels is y else labels), "words")
        tree = import_tree(fitted, dataset)
        assert (tree.predict(dataset.X) == labels.astype(int)).all() and tree.classes == (
            ("0", "1") if labels is y else ("false", "true")
        )


def mixed(n: int = 80):
    """(frame, labels) of two numbers and a category."""
    random = np.random.default_rng(4)
    frame = pd.DataFrame({"size": random.integers(0, 9, n).astype(float), "colour": random.choice(list("rgb"), n)})
    frame["weight"] = random.integers(0, 9, n).astype(float)
    return frame, np.where((frame["size"] > 4) ^ (frame["colour"] == "r"), "yes", "no")


def test_a_tree_exported_with_its_choice_of_columns_comes_back(tmp_path):
    frame, y = mixed()
    data = tmp_path / "d.csv"
    frame.assign(y=y).to_csv(data, index=False)
    tree = odtc.fit(data, "cart", depth=2, encoding="auto").tree
    numbers = replace(tree, root=Branch(Threshold(2, 3.5), Leaf(0), Branch(Threshold(0, 4.5), Leaf(1), Leaf(0))))
    (tmp_path / "t.pkl").write_bytes(odtc.export(numbers, "sklearn"))
    found = import_tree(read_foreign(tmp_path / "t.pkl", trust=True), odtc.read(data))
    assert [node.split.feature for node, _ in found.walk() if isinstance(node, Branch)] == [2, 0]
    assert found.predict(odtc.read(data).X).tolist() == numbers.predict(odtc.read(data).X).tolist()


@pytest.mark.parametrize("verbose", [True, False])
def test_levels_that_a_pipeline_codes_are_subsets(tmp_path, verbose):
    frame, y = mixed()
    frame.assign(y=y).to_csv(tmp_path / "d.csv", index=False)
    chosen = [("levels", OneHotEncoder(), ["colour"]), ("others", "passthrough", ["weight", "size"])]
    columns = ColumnTransformer(chosen, verbose_feature_names_out=verbose)
    pipeline = Pipeline([("columns", columns), ("tree", DecisionTreeClassifier(max_depth=3, random_state=0))]).fit(
        frame, y
    )
    dataset = odtc.read(tmp_path / "d.csv")
    found = import_tree(pipeline, dataset)
    assert [dataset.classes[k] for k in found.predict(dataset.X)] == pipeline.predict(frame).tolist()
    scaled = Pipeline([("scale", StandardScaler()), ("tree", DecisionTreeClassifier(max_depth=1))])
    with pytest.raises(TreeError, match="got a Pipeline of StandardScaler, DecisionTreeClassifier"):
        import_tree(scaled.fit(frame[["size"]], y), dataset)


def test_columns_without_names_are_taken_by_place():
    X, y = frame_of(IRIS)
    fitted, dataset = DecisionTreeClassifier(random_state=0).fit(X.to_numpy(), y), read(IRIS)
    assert (classes_of(import_tree(fitted, dataset), dataset) == fitted.predict(X.to_numpy())).all()
    with pytest.raises(TreeError, match="4 of them, got a tree fitted on 3 columns without names"):
        import_tree(DecisionTreeClassifier().fit(X.to_numpy()[:, :3], y), dataset)


@pytest.mark.parametrize("seed", range(6))
def test_missing_cells_go_where_scikit_learn_sends_them(seed):
    draw = np.random.default_rng(seed)
    X = draw.integers(0, 6, (60, 2)).astype(float)
    X[draw.random((60, 2)) < 0.2] = np.nan
    frame, y = pl.DataFrame(X, schema=["a", "b"]), draw.choice(["u", "v"], 60)
    fitted = DecisionTreeClassifier(max_depth=4, random_state=0).fit(frame, y)
    dataset = from_frame(frame.fill_nan(None).with_columns(y=y), "gaps", ReadingSpec(missing="separate"))
    tree = import_tree(fitted, dataset)
    assert (classes_of(tree, dataset) == fitted.predict(frame)).all()
    assert_counted(tree, dataset)
    if fitted.tree_.missing_go_to_left[fitted.tree_.feature >= 0].any():
        assert any(isinstance(node.split, Missing) for node, _ in tree.walk() if isinstance(node, Branch))


def test_a_tree_of_another_run(tmp_path):
    """Columns in another order, numbers that are categories there, levels that this data lacks."""
    rows = "k,c,n,y\n1,red,5,a\n2,blue,7,b\n3,green,9,a\n1,green,2,b\n3,red,8,b\n"
    (tmp_path / "one.csv").write_text(rows)
    (tmp_path / "two.csv").write_text("n,c,k,y\n5,red,1,b\n7,blue,2,b\n9,red,3,a\n")
    one, two = read(tmp_path / "one.csv", categorical=["k"]), read(tmp_path / "two.csv")
    features, codes = one.features, {level: float(code) for code, level in enumerate(one.features[1].levels)}
    root = Branch(
        Subset(0, (0.0, 1.0)),
        Branch(Threshold(2, 6.0), odtc.trees.tree.Leaf(0), odtc.trees.tree.Leaf(1)),
        Branch(Subset(1, (codes["green"], codes["red"])), odtc.trees.tree.Leaf(0), odtc.trees.tree.Leaf(1)),
    )
    tree = import_tree(odtc.Tree(root, features, one.classes, "y"), two)
    assert tree.features == two.features and list(classes_of(tree, two)) == ["a", "b", "a"]
    assert_counted(tree, two)
    again = import_tree(tree, two)
    assert again == tree
    back = import_tree(tree, one)  # from numbers to categories
    assert list(classes_of(back, one)[[0, 1, 4]]) == ["a", "b", "a"]


def test_an_imported_tree_starts_a_solver_and_is_shown_and_predicts(tmp_path):
    X, y = frame_of(IRIS)
    fitted = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    joblib.dump(fitted, tmp_path / "cart.joblib", compress=3)
    said = command("import", "cart.joblib", "--data", IRIS, "--trust", "--json", folder=tmp_path)
    facts = said.facts
    assert (
        said.code == 0
        and facts["files"] == ["cart.tree.json"]
        and facts["train_correct"] == int((fitted.predict(X) == y).sum())
    )
    shown = command("show", "cart.tree.json", folder=tmp_path)
    assert shown.code == 0 and X.columns[fitted.tree_.feature[0]] in shown.out
    predicted = command("predict", "cart.tree.json", IRIS, folder=tmp_path).out.splitlines()[1:]
    assert predicted == list(fitted.predict(X))
    model = odtc.build(IRIS, "flowoct", 2, encoding="auto")
    heap, point = odtc.start(model, tmp_path / "cart.tree.json")
    assert model.objective(point) == pytest.approx(len(y) - facts["train_correct"])
    assert heap.to_tree(model.problem.encoded).leaves() == odtc.read_tree(tmp_path / "cart.tree.json").leaves()
    # A threshold of the estimator is no midpoint of ours, but it is the same test of these rows.
    assert command("build", IRIS, "--start", "cart.tree.json", folder=tmp_path).code == 0
    for name, file in (("again.json", "again.json"), ("stem", "stem.tree.json")):
        again = command("import", "cart.tree.json", "--data", IRIS, "-o", name, folder=tmp_path)
        assert again.code == 0 and (tmp_path / file).read_bytes() == (tmp_path / "cart.tree.json").read_bytes()
    through = command("import", "cart.tree.json", "--data", IRIS, "-o", "/dev/null", folder=tmp_path)
    assert through.code == 0 and Path("/dev/null").is_char_device() and not Path("/dev/null.tree.json").exists()
    (tmp_path / "cart.tree.json").rename(tmp_path / "mine.txt")
    assert command("build", IRIS, "--start", "mine.txt", folder=tmp_path).code == 0


def test_a_start_may_ask_what_no_row_needs():
    """A tree fitted on more rows asks what is the same for all of these."""
    X, y = frame_of(IRIS)
    fitted = DecisionTreeClassifier(random_state=0).fit(X, y)
    few = from_frame(pl.read_csv(IRIS).gather_every(10), "few")
    tree = import_tree(fitted, few)
    model = odtc.build(few, "flowoct", min(5, tree.depth), encoding="auto")
    heap = type(odtc.start(model)[0]).from_tree(tree, model.problem.encoded, model.problem.topology)
    assert heap.errors(model.problem.encoded) == (tree.predict(few.X) != few.y).sum()


class Traitor:
    def __reduce__(self):
        return (exec, ("open('ran', 'w').close()",))


def test_a_pickle_is_not_opened_without_trust(tmp_path):
    (tmp_path / "bad.pkl").write_bytes(pickle.dumps(Traitor()))
    sentence = refused(command("import", "bad.pkl", "--data", IRIS, folder=tmp_path))
    assert "opening a pickle runs the code in it: add --trust" in sentence and not (tmp_path / "ran").exists()
    assert "expected a fitted DecisionTreeClassifier or DecisionTreeRegressor of scikit-learn, got NoneType" in refused(
        command("import", "bad.pkl", "--data", IRIS, "--trust", folder=tmp_path)
    )


TEXT = "|--- n <= 2.50\n|   |--- class: a\n|--- n >  2.50\n|   |--- class: b\n"
BAD_TEXTS = [
    (
        TEXT.replace("class: b", "truncated branch of depth 2"),
        "line 4: expected .* got 'truncated branch of depth 2'; print it with a larger max_depth",
    ),
    (TEXT[:30], "line 2: expected"),
    (TEXT.replace(">  2.50", ">  2.60"), "line 3: expected the other side of 'n' <= 2.50"),
    (TEXT + "|   |--- class: b\n", "line 5: expected the end of the tree"),
    (TEXT + "hello\n", "line 5: expected a line of export_text, got 'hello'"),
    (TEXT.replace("n <", "m <").replace("n >", "m >"), "needs a column 'm', which 'a' does not have"),
    (
        TEXT.replace("n <", "c <").replace("n >", "c >"),
        "compares the column 'c' with a number, but its cells in 'a' are words.*'c=u'",
    ),
    (TEXT.replace("n <", "c=z <").replace("n >", "c=z >"), "needs a column 'c=z'"),
    (TEXT.replace("class: b", "class: z"), "predicts the class 'z', which the target 'y' of 'a' has not: a, b"),
    (TEXT.replace("2.50", "nan"), "line 1: expected 'COLUMN <= NUMBER'"),
    ("hello", "got none of them"),
    ("", "got none of them"),
    ("{}", "expected a tree of schema"),
]


@pytest.mark.parametrize(("text", "sentence"), BAD_TEXTS)
def test_bad_files_are_one_sentence(tmp_path, text, sentence):
    import re

    (tmp_path / "a.csv").write_text("n,c,y\n1,u,a\n2,v,b\n3,u,a\n4,v,b\n")
    (tmp_path / "t").write_text(text)
    assert re.search(sentence, refused(command("import", "t", "--data", "a.csv", folder=tmp_path)))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.csv", "t"]


def test_good_text_of_the_same_kind(tmp_path):
    (tmp_path / "a.csv").write_text("n,c,y\n1,u,a\n2,v,b\n3,u,a\n4,v,b\n")
    (tmp_path / "t.txt").write_text(TEXT)
    said = command("import", "t.txt", "--data", "a.csv", folder=tmp_path)
    assert said.code == 0 and "2 of 4 rows of a correct" in said.out and said.err == "wrote t.tree.json\n"
    assert json.loads((tmp_path / "t.tree.json").read_text())["root"]["left"]["rows"] == [1, 1]
    assert "another with -o" in refused(command("import", "t.tree.json", "--data", "a.csv", folder=tmp_path))


@pytest.mark.parametrize(
    ("estimator", "sentence"),
    [
        (DecisionTreeClassifier(), "got DecisionTreeClassifier"),
        (RandomForestClassifier(n_estimators=2), "got RandomForestClassifier"),
        (DecisionTreeRegressor(), 'a tree for task="classification", as .* got one for task="regression"'),
    ],
)
def test_other_estimators_are_refused(estimator, sentence):
    X, y = frame_of(IRIS)
    if not isinstance(estimator, DecisionTreeClassifier):
        estimator.fit(X, np.unique(y, return_inverse=True)[1])
    with pytest.raises(TreeError, match=sentence):
        import_tree(estimator, read(IRIS))


def test_two_targets_and_ambiguous_names_are_refused():
    X, y = frame_of(IRIS)
    with pytest.raises(TreeError, match="predicts one column, got one that predicts 2"):
        import_tree(DecisionTreeClassifier().fit(X, np.column_stack([y, y])), read(IRIS))
    frame = pl.DataFrame({"a": ["b_c", "x"], "a_b": ["c", "y"], "y": ["u", "v"]})
    with pytest.raises(TreeError, match="may be a level of 'a' or 'a_b'"):
        import_tree(
            DecisionTreeClassifier().fit(pl.DataFrame({"a_b_c": [1, 0]}), ["u", "v"]), from_frame(frame, "names")
        )
    with pytest.raises(TreeError, match="cannot read the tree"):
        read_foreign("nowhere.pkl")


@pytest.mark.parametrize("as_text", [False, True])
def test_a_regressor_keeps_its_numbers(as_text, tmp_path):
    """Also on other rows than it was fitted on, whose means are others; missing rows leave a leaf empty."""
    rng = np.random.default_rng(3)
    X, y = rng.integers(0, 9, (60, 2)).astype(float), rng.normal(size=60).round(3)
    names = ["a", "b"]
    fitted = DecisionTreeRegressor(max_depth=3).fit(pd.DataFrame(X, columns=names), y)
    lines = ["a,b,y", *(f"{a},{b},{c}" for (a, b), c in zip(X[:25].tolist(), y[:25].tolist()))]
    (tmp_path / "d.csv").write_text("\n".join(lines) + "\n")
    file = tmp_path / ("t.txt" if as_text else "t.pkl")
    if as_text:
        file.write_text(export_text(fitted, feature_names=names, decimals=17))
    else:
        joblib.dump(fitted, file)
    words = ("import", file.name, "--trust", "--data", "d.csv", "-o", "t.tree.json", "--json")
    facts = command(*words, folder=tmp_path).facts
    tree = odtc.read_tree(tmp_path / "t.tree.json")
    said = fitted.predict(pd.DataFrame(X, columns=names))
    assert tree.answers(X) == pytest.approx(said, rel=1e-12)
    assert facts["task"] == "regression" and facts["squared_error"] == pytest.approx(((y - said)[:25] ** 2).sum())
    assert sum(sum(leaf.rows) for leaf in tree.leaves()) == 25
    again = command("import", "t.tree.json", "--data", "d.csv", "-o", "u.tree.json", folder=tmp_path)
    assert again.code == 0 and odtc.read_tree(tmp_path / "u.tree.json").answers(X) == pytest.approx(said, rel=1e-12)
    started = command("fit", "d.csv", "--task", "regression", "--depth", 3, "--start", "t.tree.json", folder=tmp_path)
    assert started.code == 0, started.err


@pytest.mark.parametrize("goal", ["min", "max"])
def test_a_tree_of_classes_is_a_policy_whose_actions_they_are(tmp_path, goal):
    rng = np.random.default_rng(4)
    X, costs = rng.integers(0, 6, (40, 2)).astype(float), rng.integers(0, 30, (40, 3)) / 4
    names = np.array(["none", "letter", "visit"])
    lines = ["a,b,none,letter,visit", *(",".join(map(str, row)) for row in np.hstack([X, costs]).tolist())]
    (tmp_path / "d.csv").write_text("\n".join(lines) + "\n")
    fitted = DecisionTreeClassifier(max_depth=3, random_state=0).fit(
        pd.DataFrame(X, columns=["a", "b"]), names[costs.argmin(axis=1)]
    )
    (tmp_path / "t.txt").write_text(export_text(fitted, feature_names=["a", "b"], decimals=17))
    words = ("--data", "d.csv", "--task", "policy", "--actions", "none,letter,visit", "--goal", goal)
    facts = command("import", "t.txt", *words, "-o", "t.tree.json", "--json", folder=tmp_path).facts
    taken = np.searchsorted(np.sort(names), fitted.predict(pd.DataFrame(X, columns=["a", "b"])))
    paid = costs[np.arange(40), np.argsort(names)[taken]].sum()
    assert facts["task"] == "policy" and facts["cost"] == pytest.approx(paid if goal == "min" else -paid)
    tree = odtc.read_tree(tmp_path / "t.tree.json")
    assert tree.goal == ("max" if goal == "max" else "") and sum(sum(leaf.rows) for leaf in tree.leaves()) == 40
    assert sum(leaf.sums[1] for leaf in tree.leaves()) == 40
    said = command("import", "t.txt", *words, "-o", "t.tree.json", folder=tmp_path).out
    assert ("value" if goal == "max" else "cost") + f" {paid:.10g}" in said
    again = command("import", "t.tree.json", *words, "-o", "u.tree.json", folder=tmp_path)
    assert again.code == 0
    assert odtc.read_tree(tmp_path / "u.tree.json").predict(X).tolist() == tree.predict(X).tolist()
    started = command("fit", "d.csv", *words[2:], "--depth", 3, "--start", "t.tree.json", "-o", "f", folder=tmp_path)
    assert started.code == 0, started.err
    untold = command("import", "t.tree.json", "--data", "d.csv", "-o", "v.tree.json", folder=tmp_path)
    assert untold.code in (1, 2) and "expected --actions A,B" in untold.err


def drawn_numbers(folder, rows=60, seed=11):
    """Columns a and b, and numbers y of two digits, also in y.csv."""
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 9, (rows, 2)).astype(float), rng.integers(0, 90, rows) / 10
    lines = ["a,b,y", *(f"{a},{b},{c}" for (a, b), c in zip(X.tolist(), y.tolist()))]
    (folder / "y.csv").write_text("\n".join(lines) + "\n")
    return X, y


def test_a_regressor_of_medians_keeps_numbers_that_no_row_has(tmp_path):
    """scikit-learn answers the middle of two numbers; all stay as they are, and the errors are those of its answers."""
    X, y = drawn_numbers(tmp_path)
    frame = pd.DataFrame(X, columns=["a", "b"])
    fitted = DecisionTreeRegressor(criterion="absolute_error", max_depth=3, random_state=0).fit(frame, y)
    said = fitted.predict(frame)
    assert set(said) - set(y)
    (tmp_path / "t.txt").write_text(export_text(fitted, feature_names=["a", "b"], decimals=17))
    words = ("import", "t.txt", "--data", "y.csv", "--task", "median", "-o", "t.tree.json")
    facts = command(*words, "--json", folder=tmp_path).facts
    assert facts["task"] == "median" and facts["absolute_error"] == pytest.approx(np.abs(y - said).sum())
    tree = odtc.read_tree(tmp_path / "t.tree.json")
    assert tree.answers(X).tolist() == said.tolist()
    reached = tree.apply(X)
    for number, leaf in enumerate(tree.leaves()):
        here = y[reached == number]
        assert sum(leaf.rows) == len(here) and (leaf.curve[0][1], leaf.curve[-1][1]) == (here.min(), here.max())
    again = command("import", "t.tree.json", "--data", "y.csv", "-o", "u.tree.json", folder=tmp_path)
    assert again.code == 0 and odtc.read_tree(tmp_path / "u.tree.json") == tree
    assert command("predict", "u.tree.json", "y.csv", "-o", "p.csv", folder=tmp_path).code == 0
    assert pl.read_csv(tmp_path / "p.csv")["prediction"].to_list() == said.tolist()
    started = command("fit", "y.csv", "--task", "median", "--depth", 3, "--start", "t.tree.json", folder=tmp_path)
    assert started.code == 0, started.err


@pytest.mark.parametrize("task", ["regression", "median"])
def test_means_and_medians_are_imported_for_one_another(task, tmp_path):
    X, y = drawn_numbers(tmp_path)
    fit = command("fit", "y.csv", "--task", task, "--depth", 2, "-o", "own", folder=tmp_path)
    assert fit.code == 0, fit.err
    said = odtc.read_tree(tmp_path / "own.tree.json").answers(X)
    for other in ("regression", "median"):
        words = ("import", "own.tree.json", "--data", "y.csv", "--task", other, "-o", "other.tree.json", "--json")
        facts = command(*words, folder=tmp_path).facts
        assert facts["mean_absolute_error"] == pytest.approx(np.abs(y - said).mean())
        tree = odtc.read_tree(tmp_path / "other.tree.json")
        assert tree.task == other and tree.answers(X) == pytest.approx(said, rel=1e-12)


def test_a_survival_tree_keeps_its_risks_on_other_rows(tmp_path):
    """Of which one leaf has none, and another none with an event; events and curves are those of the new rows."""
    rng = np.random.default_rng(5)
    a, time = rng.integers(0, 12, 120), rng.integers(1, 40, 120)
    event = (rng.random(120) < 0.7).astype(int)
    time = np.where(a > 5, time, 2 * time)
    lines = [f"{x},{t},{e}" for x, t, e in zip(a, time, event)]
    (tmp_path / "old.csv").write_text("\n".join(["a,days,died", *lines]) + "\n")
    about = ("--task", "survival", "--time", "days", "--event", "died")
    assert command("fit", "old.csv", *about, "--depth", 2, "-o", "old", folder=tmp_path).code == 0
    old = odtc.read_tree(tmp_path / "old.tree.json")
    X = np.arange(12.0)[:, None]
    said, ends = old.answers(X), old.apply(X)
    none, quiet = ends[0], ends[11]
    assert none != quiet
    kept = [k for k in range(70) if ends[a[k]] != none]
    rows = [(a[k], time[k], 0 if ends[a[k]] == quiet else event[k]) for k in kept]
    (tmp_path / "new.csv").write_text("\n".join(["a,days,died", *(f"{x},{t},{e}" for x, t, e in rows)]) + "\n")
    words = ("import", "old.tree.json", "--data", "new.csv", "--time", "days", "--event", "died")
    facts = command(*words, "-o", "new.tree.json", "--json", folder=tmp_path).facts
    assert facts["task"] == "survival" and facts["events"] == sum(e for _, _, e in rows)
    tree = odtc.read_tree(tmp_path / "new.tree.json")
    assert tree.answers(X) == pytest.approx(said, rel=1e-12)
    assert [sum(leaf.rows) for leaf in tree.leaves()] == [
        sum(ends[x] == number for x, _, _ in rows) for number in range(tree.n_leaves)
    ]
    assert [leaf.sums[3] for leaf in tree.leaves()] == [
        sum(e for x, _, e in rows if ends[x] == number) for number in range(tree.n_leaves)
    ]
    shown = command("show", "new.tree.json", folder=tmp_path)
    assert shown.code == 0 and "0 events" in shown.out
    untold = command("import", "old.tree.json", "--data", "new.csv", "-o", "no.tree.json", folder=tmp_path)
    assert untold.code == 2 and "expected --time COL and --event COL" in untold.err


def test_numbers_are_risks_if_they_are_above_zero(tmp_path):
    lines = ["a,days,died", "1,5,1", "2,9,0", "3,2,1", "4,3,1"]
    (tmp_path / "d.csv").write_text("\n".join(lines) + "\n")
    about = ("--data", "d.csv", "--task", "survival", "--time", "days", "--event", "died", "-o", "t.tree.json")
    (tmp_path / "t.txt").write_text("|--- a <= 2.50\n|   |--- value: [0.25]\n|--- a >  2.50\n|   |--- value: [3.5]\n")
    assert command("import", "t.txt", *about, folder=tmp_path).code == 0
    tree = odtc.read_tree(tmp_path / "t.tree.json")
    assert tree.answers(np.array([[1.0], [4.0]])) == pytest.approx([0.25, 3.5], rel=1e-12)
    (tmp_path / "t.txt").write_text("|--- a <= 2.50\n|   |--- value: [0.25]\n|--- a >  2.50\n|   |--- value: [-1.0]\n")
    below = command("import", "t.txt", *about, folder=tmp_path)
    assert below.code == 1 and "a number above 0 in each leaf" in below.err and "got -1" in below.err


def test_numbers_and_classes_are_not_taken_for_one_another(tmp_path):
    (tmp_path / "c.csv").write_text("a,y\n1,no\n2,yes\n3,no\n")
    data = odtc.read(tmp_path / "c.csv")
    fitted = DecisionTreeRegressor(max_depth=1).fit([[1.0], [2.0], [3.0]], [1.0, 2.0, 5.0])
    with pytest.raises(TreeError, match="task=.classification., as 'c' was read for, got one for task=.regression."):
        import_tree(fitted, data)
    numbers = replace(data, task="regression", classes=("mean",), sums=np.ones((3, 5)))
    with pytest.raises(TreeError, match="task=.regression., as 'c' was read for, got one for task=.classification."):
        import_tree(DecisionTreeClassifier(max_depth=1).fit([[1.0], [2.0], [3.0]], ["no", "yes", "no"]), numbers)


def test_an_imported_tree_has_no_record_of_the_run_whose_tree_it_replaces(tmp_path):
    """The record stayed, and a note asked to restore the record of the imported tree, which never had one."""
    for depth, stem in ((1, "old"), (2, "run")):
        assert command("fit", IRIS, "--depth", depth, "-o", stem, folder=tmp_path).code == 0
    assert command("import", "old.tree.json", "--data", IRIS, "-o", "run", folder=tmp_path).code == 0
    assert [path.name for path in tmp_path.glob("run.*")] == ["run.tree.json"]
    assert "record" not in command("explain", "run", IRIS, folder=tmp_path).err

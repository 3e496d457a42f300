"""`odtc compare` and `odtc plot`: the numbers, the rows that differ, and pictures that can be opened."""

import io
import json
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from odtc.data import reading_rows
from odtc.data.dataset import NUMERIC, Dataset, Feature
from odtc.data.splits import Subset, Threshold
from odtc.errors import ChoiceError, DataError
from odtc.evaluation import plots
from odtc.evaluation.compare import compare
from odtc.trees.tree import Branch, Leaf, Tree, read_tree
from tests.command_line import MONKS, odtc


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for depth in (1, 2):
        said = odtc(
            "fit",
            MONKS / "monks-1.csv",
            "--model",
            "flowoct",
            "--depth",
            depth,
            "--encoding",
            "onehot",
            "-o",
            f"d{depth}",
            folder=folder,
        )
        assert said.code == 0, said.err
    return folder


def test_a_run_that_fails_a_check_is_named(tmp_path):
    """Its bound stood in the table as any other."""
    words = ("fit", MONKS / "monks-1.csv", "--depth", 1, "--encoding", "onehot", "-o", "m")
    assert odtc(*words, folder=tmp_path).code == 0
    assert "checks" not in odtc("compare", "m", "m", folder=tmp_path).err
    facts = json.loads((tmp_path / "m.run.json").read_text())
    facts |= {"bound": facts["objective"] + 1, "gap": 0.0}
    (tmp_path / "m.run.json").write_text(json.dumps(facts))
    said = odtc("compare", "m", "m", folder=tmp_path)
    assert "note: m does not pass these checks, so that its proof is none: bound" in said.err


def test_runs_side_by_side(runs):
    test = MONKS / "monks-1_test.csv"
    found = odtc("compare", "d1", "d2", "--data", test, "--json", "-o", "size.svg", folder=runs).facts
    first, second = found["trees"]
    assert (first["n_leaves"], second["n_leaves"], second["objective"], second["bound"], second["verified"]) == (
        2,
        4,
        27,
        27,
        True,
    )
    predictions = [odtc("predict", f"d{depth}.tree.json", test, folder=runs).out.split()[1:] for depth in (1, 2)]
    differing = [row for row, pair in enumerate(zip(*predictions), 1) if pair[0] != pair[1]]
    assert [entry["row"] for entry in found["differing"]] == differing
    assert found["agreement"][0][1] == pytest.approx(1 - len(differing) / 432) and found["agreement"][0][0] == 1
    scores = [
        odtc("predict", f"d{depth}.tree.json", test, "--score", "--json", folder=runs).facts["accuracy"]
        for depth in (1, 2)
    ]
    assert [entry["accuracy"] for entry in found["trees"]] == scores
    ET.parse(runs / "size.svg")
    said = odtc("compare", "d1", "d2", "--data", test, "--rows", "2", folder=runs)
    assert said.code == 0 and f"{len(differing)} rows differ, the first 2" in said.out and " columns\n" in said.out
    assert "predicted alike" not in odtc("compare", "d1", "d2.tree.json", folder=runs).out


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """A number with its trees A and B, a policy of treatments with P and Q, times with S and T."""
    folder, rng = tmp_path_factory.mktemp("tables"), np.random.default_rng(8)
    x, z = rng.integers(0, 9, (2, 40))
    drug = rng.random(40) < 0.5
    y, time = np.round(x + rng.normal(size=40), 2), np.round(rng.exponential(1 + x), 1)
    out = np.round(np.where(drug, x - 4, 0) + rng.normal(size=40), 2)
    event = rng.integers(0, 2, 40)
    rows = [*zip(x, z, ("drug" if one else "none" for one in drug), out, y, time, event)]
    for name, places, header in (
        ("y", (0, 1, 4), "x,z,y"),
        ("o", (0, 1, 2, 3), "x,z,got,out"),
        ("t", (0, 1, 5, 6), "x,z,t,e"),
    ):
        lines = [header + ",ps"] + [",".join(str(row[k]) for k in places) + ",0.5" for row in rows]
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
    number, treated, timed = (
        ("--task", "regression", "--target", "y"),
        ("--task", "policy", "--treatment", "got", "--outcome", "out"),
        ("--task", "survival", "--time", "t", "--event", "e"),
    )
    for stem, data, words in (
        ("A", "y.csv", (*number, "--depth", 1)),
        ("B", "y.csv", (*number, "--depth", 2)),
        ("P", "o.csv", (*treated, "--propensity", "ps", "--scores", "ips", "--depth", 1)),
        ("Q", "o.csv", (*treated, "--propensity", "ps", "--scores", "ips", "--goal", "min", "--depth", 1)),
        ("S", "t.csv", (*timed, "--depth", 1)),
        ("T", "t.csv", (*timed, "--depth", 2)),
    ):
        said = odtc("fit", data, *words, "-o", stem, folder=folder)
        assert said.code == 0, said.err
    return folder, rows


def predicted(folder, stem, data):
    return odtc("predict", f"{stem}.tree.json", data, folder=folder).out.split()[1:]


def test_rows_that_trained_a_tree_are_no_test_of_it(runs, tmp_path):
    """A file of which a part was set aside by --hold-out is for the most part training rows."""
    said = odtc("compare", "d1", "d2", "--data", MONKS / "monks-1.csv", folder=runs)
    assert said.err.count("124 of the 124 rows are equal to training rows of d") == 2
    lines = (MONKS / "monks-1_test.csv").read_text().splitlines()
    known = set((MONKS / "monks-1.csv").read_text().splitlines())
    (tmp_path / "new.csv").write_text("\n".join(line for line in lines if line not in known or line == lines[0]) + "\n")
    assert "training rows" not in odtc("compare", "d1", "d2", "--data", tmp_path / "new.csv", folder=runs).err


def test_runs_are_tested_on_the_rows_that_they_set_aside(tables, tmp_path):
    """The test figure of `compare` without --data is that of `fit`, and what `predict` says of those rows."""
    folder, _ = tables
    number = ("--task", "regression", "--target", "y")
    tested = {}
    for name, data, words in (("a", MONKS / "monks-1.csv", ()), ("b", folder / "y.csv", number)):
        for depth in (1, 2):
            words_of_one = ("--hold-out", 0.3, "--depth", depth, "-o", f"{name}{depth}", "--json")
            found = odtc("fit", data, *words, *words_of_one, folder=tmp_path).facts
            tested[name, depth] = found["metrics"]["test"]["mean_squared_error"] if words else found["test_accuracy"]
        said = odtc("compare", f"{name}1", f"{name}2", folder=tmp_path)
        assert f"each run is tested on its own held-out rows ({name}1 " in said.err
        trees = odtc("compare", f"{name}1", f"{name}2", "--json", folder=tmp_path).facts["trees"]
        key = "test_figure" if words else "accuracy"
        assert [tree[key] for tree in trees] == pytest.approx([tested[name, depth] for depth in (1, 2)])
        assert [tree["n_rows_set_aside"] for tree in trees] == [round(0.3 * (40 if words else 124))] * 2


def test_trees_of_other_training_rows_are_told_apart(tmp_path):
    """Parts of one table, of 60 and 64 rows and of 62 each; a tree apart from its run knows its numbers of rows."""
    header, *lines = (MONKS / "monks-1.csv").read_text().splitlines()
    for name, part in {"a": lines[:60], "b": lines[60:], "c": lines[:62], "d": lines[62:]}.items():
        (tmp_path / f"{name}.csv").write_text("\n".join([header, *part]) + "\n")
        assert odtc("fit", f"{name}.csv", "--depth", 1, "-o", name, folder=tmp_path).code == 0
    for names in (("a", "b"), ("c", "d"), ("a", "c", "a.tree.json")):
        assert "trained on other rows" in odtc("compare", *names, folder=tmp_path).err
    said = odtc("compare", "a", "b", "--data", MONKS / "monks-1_test.csv", folder=tmp_path)
    assert "trained on other rows (numbers of rows: a 60, b 64)" in said.err and "--data FILE" not in said.err
    (tmp_path / "twin.tree.json").write_bytes((tmp_path / "a.tree.json").read_bytes())
    assert odtc("fit", "a.csv", "--depth", 2, "-o", "deep", folder=tmp_path).code == 0
    for names in (("a", "deep"), ("a", "twin.tree.json")):
        assert "trained on other rows" not in odtc("compare", *names, folder=tmp_path).err


def test_all_trees_are_tested_on_the_same_rows(tmp_path):
    """A tree that never saw the class c was right on all rows of a and b, so it looked as good as one that knows c."""
    rows = [f"{x},{'aabbcc'[x]}" for x in range(6) for _ in range(3)]
    (tmp_path / "all.csv").write_text("\n".join(["x,y", *rows]) + "\n")
    (tmp_path / "two.csv").write_text("\n".join(["x,y", *rows[:12]]) + "\n")
    for name in ("all", "two"):
        assert odtc("fit", f"{name}.csv", "--depth", 2, "-o", name, folder=tmp_path).code == 0
    for names in (("all", "two"), ("two", "all")):
        said = odtc("compare", *names, "--data", "all.csv", "--json", folder=tmp_path).facts
        found = {one["name"]: (one["n_rows"], one["accuracy"], one["balanced_accuracy"]) for one in said["trees"]}
        assert found == {"all": (18, 1.0, 1.0), "two": (18, pytest.approx(12 / 18), pytest.approx(2 / 3))}
        assert {one["label"] for one in said["differing"]} == {"c"}


def test_numbers_side_by_side_differ_by_so_much(tables):
    folder, rows = tables
    found = odtc("compare", "A", "B", "--data", "y.csv", "--json", folder=folder).facts
    a, b = (np.array(predicted(folder, stem, "y.csv"), dtype=float) for stem in "AB")
    assert found["difference"][0][1] == pytest.approx(np.abs(a - b).mean()) and found["difference"][1][1] == 0
    assert found["differing"][0]["row"] == 1 + int(np.abs(a - b).argmax())
    assert all(one["label"] == f"{rows[one['row'] - 1][4]:.10g}" for one in found["differing"])
    said = odtc("compare", "A", "B", "--data", "y.csv", "--rows", 3, folder=folder).out
    assert "mean difference of the answers on 40 rows" in said and "predicted alike" not in said
    assert "the 3 furthest apart" in said and "label" not in said


def test_rows_without_a_target_are_compared_but_not_judged(tables):
    folder, rows = tables
    lines = (folder / "y.csv").read_text().splitlines()
    (folder / "some.csv").write_text("\n".join([lines[0], "1,1,,0.5", *lines[1:]]) + "\n")
    found = odtc("compare", "A", "B", "--data", "some.csv", "--json", folder=folder).facts
    whole = odtc("compare", "A", "B", "--data", "y.csv", "--json", folder=folder).facts
    assert found["n_rows"] == 41
    assert [one["test_figure"] for one in found["trees"]] == [one["test_figure"] for one in whole["trees"]]
    label = {one["row"]: one["label"] for one in found["differing"]}
    assert all(said == (None if row == 1 else f"{rows[row - 2][4]:.10g}") for row, said in label.items())


def test_times_side_by_side_show_time_and_censoring(tables):
    folder, rows = tables
    found = odtc("compare", "S", "T", "--data", "t.csv", "--json", folder=folder).facts
    assert found["differing"] and all(
        one["label"] == f"{rows[one['row'] - 1][5]:.10g}" + ("" if rows[one["row"] - 1][6] else "+")
        for one in found["differing"]
    )


def test_policies_are_judged_by_one_score(tables):
    folder, rows = tables
    found = odtc("compare", "P", "Q", "--data", "o.csv", "--json", folder=folder).facts
    for stem, tree in zip("PQ", found["trees"]):
        advised = predicted(folder, stem, "o.csv")
        paid = [-row[3] / 0.5 if row[2] == action else 0.0 for row, action in zip(rows, advised)]
        assert tree["test_figure"] == pytest.approx(np.mean(paid))
    first = found["differing"][0]
    drug, none = (  # the outcome is to be large: it is told with its own sign
        rows[first["row"] - 1][3] / 0.5 if rows[first["row"] - 1][2] == one else 0 for one in ("drug", "none")
    )
    assert first["label"] == f"drug {drug:.4g}, none {none:.4g}"
    said = odtc("compare", "P", "Q", "--data", "o.csv", folder=folder)
    assert "test cost: ips scores of 'out' (max), propensity of 'ps', for all trees" in said.err
    assert "the training costs use different scores: P ips scores of 'out' (max)" in said.err
    assert "different scores" not in odtc("compare", "P", "P.tree.json", "--data", "o.csv", folder=folder).err


def test_one_tree_is_nothing_to_compare(runs):
    said = odtc("compare", "d1", folder=runs)
    assert said.code == 2 and "expected two trees or runs" in said.err
    with pytest.raises(ChoiceError):
        compare(["d1"])


def test_pictures_are_written_in_the_form_of_their_name(runs):
    assert odtc("plot", "progress", "d2", "-o", "progress.png", folder=runs).code == 0
    assert (runs / "progress.png").read_bytes().startswith(b"\x89PNG")
    assert odtc("plot", "size", "d1", "d2", "-o", "size.pdf", folder=runs).code == 0
    assert (runs / "size.pdf").read_bytes().startswith(b"%PDF")
    assert (
        odtc(
            "plot regions d2.tree.json",
            MONKS / "monks-1.csv",
            "--x",
            "a1",
            "--y",
            "a2",
            "-o",
            "regions.svg",
            folder=runs,
        ).code
        == 0
    )
    ET.parse(runs / "regions.svg")
    wrong = odtc("plot", "size", "d1", "d2", "-o", "size.gif", folder=runs)
    assert wrong.code == 2 and ".png, .svg, .pdf" in wrong.err and not (runs / "size.gif").exists()
    alone = odtc("plot", "progress", "nothing", "-o", "x.png", folder=runs)
    assert alone.code == 1 and not (runs / "x.png").exists()


def test_the_front_holds_what_nothing_dominates():
    points = [(2, 0.7), (4, 0.9), (4, 0.8), (6, 0.9), (1, 0.5), (8, 0.95), (2, 0.7)]
    brute = [
        i
        for i, (size, good) in enumerate(points)
        if not [1 for s, g in points if (s <= size and g > good) or (s < size and g >= good)]
    ]
    assert plots.on_front(points) == brute == [0, 1, 4, 5, 6]


def test_regions_are_coloured_as_the_tree_predicts():
    from matplotlib.figure import Figure

    tree = Tree(
        Branch(Threshold(0, 0.0), Leaf(0), Branch(Subset(2, (1.0,)), Leaf(1), Leaf(0))),
        (Feature("x", NUMERIC), Feature("y", NUMERIC), Feature("c", "categorical", ("a", "b"))),
        ("no", "$yes_{"),
        missing="separate",
    )
    rows = Dataset(
        "r",
        np.array([[-1, 0, 1], [1, 1, 1], [2, np.nan, 0]], dtype=float),
        np.array([0, 1, -1], dtype=np.int32),
        tree.features,
        tree.classes,
        np.ones(3),
    )
    axes = Figure().add_subplot()
    plots.regions(tree, rows, "x", "y", axes)
    shown = np.asarray(axes.collections[0].get_array()).reshape(plots.POINTS, plots.POINTS)
    assert shown[0, 0] == 0 and shown[-1, -1] == 1 and (shown == shown[0]).all()
    own = Tree(Branch(Subset(0, (1.0, 2.0)), Leaf(1), Leaf(0)), tree.features, tree.classes)
    plots.regions(own, rows, "x", "y", other := Figure().add_subplot())
    assert np.asarray(other.collections[0].get_array()).reshape(plots.POINTS, 3)[0].tolist() == [0, 1, 1]
    assert axes.get_title() == "c as in a typical row"
    with pytest.raises(ChoiceError, match="expected a column of numbers, got 'c'"):
        plots.regions(tree, rows, "c", "y", axes)


def test_regions_of_numbers_have_shades_and_rows_their_own(tmp_path):
    from matplotlib.figure import Figure

    rows = [(a, b, 10 * (a > 2) + b / 8) for a in range(6) for b in range(4)]
    (tmp_path / "t.csv").write_text("a,b,y\n" + "".join(f"{a},{b},{y}\n" for a, b, y in rows))
    done = odtc("fit", "t.csv", "--task", "regression", "--depth", 1, "-o", "m", folder=tmp_path)
    said = odtc("plot", "regions", "m.tree.json", "t.csv", "--x", "a", "--y", "b", "-o", "r.png", folder=tmp_path)
    assert done.code == said.code == 0 and (tmp_path / "r.png").is_file()
    tree = read_tree(tmp_path / "m.tree.json")
    held = reading_rows.read_rows(tmp_path / "t.csv", tree.features, tree.classes, tree.target)
    values = reading_rows.read_numbers(tmp_path / "t.csv", "y")
    plots.regions(tree, held, "a", "b", axes := Figure().add_subplot(), values)
    mesh, points = axes.collections
    shown = np.asarray(mesh.get_array()).reshape(plots.POINTS, plots.POINTS)
    assert {round(value, 9) for value in np.unique(shown).tolist()} == {0.1875, 10.1875}
    assert np.asarray(points.get_array()).tolist() == [y for _, _, y in rows]
    assert reading_rows.read_numbers(tmp_path / "t.csv", "z") is None


def test_progress_needs_something_told():
    with pytest.raises(DataError, match="got one without them"):
        plots.save(lambda ax: plots.progress((), ax))
    made = plots.save(lambda ax: plots.progress(((0.1, 4.0, None), (0.5, 2.0, -7.0), (1.0, 2.0, 2.0)), ax), "svg")
    ET.parse(io.BytesIO(made))


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_rows_that_lack_a_number_of_a_tree_are_left_out_and_counted_and_the_others_keep_their_numbers(tmp_path, task):
    """`odtc fit --test` leaves such rows out, and `odtc compare --data` refused the file."""
    (tmp_path / "d.csv").write_text("x,z,y\n" + "".join(f"{i},{i * 7 % 10},{int(i > 4)}\n" for i in range(10)))
    (tmp_path / "new.csv").write_text("x,z,y\n,1,1\n9,,1\n2,5,0\n8,0,1\n")
    for name, without in (("a", "z"), ("b", "x")):
        words = ("d.csv", "--task", task, "--ignore", without, "--depth", 1, "-o", name)
        assert odtc("fit", *words, folder=tmp_path).code == 0
    said = odtc("compare", "a", "b", "--data", "new.csv", "--json", folder=tmp_path)
    assert said.code == 0, said.err
    assert (said.facts["n_rows"], said.facts["n_rows_missing"]) == (2, 2)
    b = read_tree(tmp_path / "b.tree.json")
    differ = [row for row, x, z in ((3, 2.0, 5.0), (4, 8.0, 0.0)) if b.answers(np.array([[z]]))[0] != float(x > 4)]
    assert task == "regression" or [one["row"] for one in said.facts["differing"]] == differ
    assert said.facts["trees"][0]["accuracy" if task == "classification" else "test_figure"] in (1.0, 0.0)
    assert "note: 2 of 4 rows are left out" in odtc("compare", "a", "b", "--data", "new.csv", folder=tmp_path).err
    (tmp_path / "none.csv").write_text("x,z,y\n,1,1\n")
    said = odtc("compare", "a", "b", "--data", "none.csv", folder=tmp_path)
    assert said.code == 1 and "fit the trees with --missing separate" in said.err

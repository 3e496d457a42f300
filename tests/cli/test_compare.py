"""`odtc compare` and `odtc plot`: the numbers, the rows that differ, and pictures that can be opened."""

import io
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from odtc.data.dataset import NUMERIC, Dataset, Feature
from odtc.data.splits import Subset, Threshold
from odtc.errors import ChoiceError
from odtc.evaluation import plots
from odtc.evaluation.compare import compare
from odtc.trees.tree import Branch, Leaf, Tree
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
    assert said.code == 0 and f"{len(differing)} rows differ, the first 2" in said.out and "columns asked" in said.out
    assert "predicted alike" not in odtc("compare", "d1", "d2.tree.json", folder=runs).out


def test_one_tree_is_nothing_to_compare(runs):
    said = odtc("compare", "d1", folder=runs)
    assert said.code == 1 and "expected two trees or runs" in said.err
    with pytest.raises(ChoiceError):
        compare(["d1"])


def test_pictures_are_written_in_the_form_of_their_name(runs):
    assert odtc("plot", "progress", "d2", "-o", "progress.png", folder=runs).code == 0
    assert (runs / "progress.png").read_bytes().startswith(b"\x89PNG")
    assert odtc("plot", "size", "d1", "d2", "-o", "size.pdf", folder=runs).code == 0
    assert (runs / "size.pdf").read_bytes().startswith(b"%PDF")
    assert (
        odtc(
            "plot",
            "regions",
            "d2.tree.json",
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
    assert wrong.code == 1 and ".png, .svg, .pdf" in wrong.err and not (runs / "size.gif").exists()
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
    shown = np.asarray(axes.collections[0].get_array()).reshape(plots.STEPS, plots.STEPS)
    assert shown[0, 0] == 0 and shown[-1, -1] == 1 and (shown == shown[0]).all()
    own = Tree(Branch(Subset(0, (1.0, 2.0)), Leaf(1), Leaf(0)), tree.features, tree.classes)
    plots.regions(own, rows, "x", "y", other := Figure().add_subplot())
    assert np.asarray(other.collections[0].get_array()).reshape(plots.STEPS, 3)[0].tolist() == [0, 1, 1]
    assert axes.get_title() == "c as in a typical row"
    with pytest.raises(ChoiceError, match="expected a column of numbers, got 'c'"):
        plots.regions(tree, rows, "c", "y", axes)


def test_progress_needs_something_told():
    with pytest.raises(ChoiceError, match="told none"):
        plots.save(lambda ax: plots.progress((), ax))
    made = plots.save(lambda ax: plots.progress(((0.1, 4.0, None), (0.5, 2.0, -7.0), (1.0, 2.0, 2.0)), ax), "svg")
    ET.parse(io.BytesIO(made))

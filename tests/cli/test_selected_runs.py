"""Runs on selected rows: messages, files and figures agree on the tree and on the rows that they describe."""

import hashlib
import json
from dataclasses import replace

import numpy as np
import pytest

import odtc
from odtc.evaluation import html_report
from odtc.workflow.row_selection.selection import select_rows
from tests.command_line import odtc as run
from tests.unit.test_row_selection import data

BINS = "--model", "dpflow", "--encoding", "auto:bins=6"


@pytest.fixture
def noisy(tmp_path):
    """400 rows, of which the rarer class cannot be told from the other by much; some cells are missing, and some
    weights are not 1."""
    rng = np.random.default_rng(6)
    X = rng.random((400, 3)).round(2)
    y = (X[:, 0] + X[:, 1] + rng.normal(size=400) * 0.5 > 1.5).astype(int)
    lines = [
        ",".join([*map(str, row), str(weight), "ab"[label]])
        for row, weight, label in zip(X.tolist(), rng.integers(1, 4, 400).tolist(), y.tolist())
    ]
    lines[3] = "," + lines[3].split(",", 1)[1]
    (tmp_path / "d.csv").write_text("x0,x1,x2,w,y\n" + "\n".join(lines) + "\n")
    return tmp_path


def of_rows(folder, tree, cost=((0, 1), (1, 0)), weights="w"):
    """(weight lost, weight right by class over that of the class) of the rows of the file, row by row."""
    rows = odtc.read(folder / "d.csv", weights=weights, categorical=())
    said = tree.predict(rows.X)
    lost = sum(weight * cost[label][got] for label, got, weight in zip(rows.y, said, rows.weight))
    return lost, [rows.weight[(rows.y == k) & (said == k)].sum() / rows.weight[rows.y == k].sum() for k in (0, 1)]


def test_the_rounds_end_under_the_stem_and_no_older_run_is_left(noisy):
    assert run("fit", "d.csv", *BINS, "--solver", "highs", "--weights", "w", "-o", "it", folder=noisy).code == 0
    said = run(
        "fit",
        "d.csv",
        *BINS,
        "--solver",
        "highs",
        "--weights",
        "w",
        "--cost",
        "b:a=4",
        "--select",
        "iterative",
        "-o",
        "it",
        "--json",
        folder=noisy,
    )
    assert said.code == 0 and {"it.sol", "it.run.json", "it.odt.json", "it.tree.json"} <= set(said.facts["files"])
    assert all((noisy / file).exists() for file in said.facts["files"])
    assert not [path.name for path in noisy.iterdir() if ".select" in path.name], "rounds that lost leave no files"
    tree = odtc.trees.tree.read_tree(noisy / "it.tree.json")
    checked = run("verify", "it.sol", "--json", folder=noisy)
    assert (
        checked.code == 0
        and checked.facts["objective"] == said.facts["objective"]
        and checked.facts["termination"] == "optimal"
    )
    assert checked.facts["all_rows"] == said.facts["all_rows"] and html_report.open_run(noisy / "it").tree == tree
    assert (
        run("decode", "it.sol", "-o", "again.json", folder=noisy).code == 0
        and odtc.trees.tree.read_tree(noisy / "again.json") == tree
    )
    # The learner has no solution: that of the run before would pass for one.
    assert (
        run("fit", "d.csv", "--model", "cart", "--weights", "w", "--select", "iterative", "-o", "it", folder=noisy).code
        == 0
    )
    record = json.loads((noisy / "it.run.json").read_text())
    assert not (noisy / "it.sol").exists() and record.keys() == {"schema", "specification"}
    assert record["specification"]["tree"] == hashlib.sha256((noisy / "it.tree.json").read_bytes()).hexdigest()


def test_the_best_round_is_the_one_that_loses_least_of_all_rows(noisy):
    said = run(
        "fit",
        "d.csv",
        *BINS,
        "--weights",
        "w",
        "--cost",
        "b:a=4",
        "--select",
        "iterative:rounds=5",
        "-o",
        "it",
        "--json",
        folder=noisy,
    )
    lost = [
        float(line.split("of all, ")[1].split(" lost")[0])
        for line in said.err.splitlines()
        if " selected; of all" in line
    ]
    assert len(lost) > 1 and said.facts["all_rows"]["loss"] == min(lost)
    tree = odtc.trees.tree.read_tree(noisy / "it.tree.json")
    loss, right = of_rows(noisy, tree, ((0, 1), (4, 0)))
    assert said.facts["all_rows"]["loss"] == pytest.approx(loss) and said.facts["all_rows"][
        "balanced_accuracy"
    ] == pytest.approx(np.mean(right))
    weighted = np.dot(right, [weight := sum(leaf.counts[k] for leaf in tree.leaves()) for k in (0, 1)]) / sum(
        sum(leaf.counts) for leaf in tree.leaves()
    )
    assert said.facts["all_rows"]["weighted_accuracy"] == pytest.approx(weighted) and weight > 0
    assert (
        "weigh as much as all errors of the first tree"
        in run("fit", "d.csv", *BINS, "--select", "iterative:rounds=2", "-o", "it", folder=noisy).err
    )


def test_a_round_that_keeps_a_constraint_on_all_rows_is_better_than_one_that_does_not():
    from types import SimpleNamespace

    from odtc.workflow.row_selection.selection import select_in_rounds

    dataset = data(np.arange(20.0)[:, None], np.arange(20) > 9)
    tree = odtc.fit(dataset, "cart", 1).tree
    fits = [
        SimpleNamespace(tree=tree, size=SimpleNamespace(cost=None), all_rows=SimpleNamespace(loss=loss, breaks=breaks))
        for loss, breaks in ((3.0, ["recall"]), (4.0, []), (2.0, ["recall"]))
    ]
    given, told = iter(fits), []
    assert select_in_rounds(dataset, "iterative:rounds=4", 1, lambda part, seconds: next(given), told.append) is fits[1]
    assert "1 constraint broken" in told[0] and told[2].endswith(
        "2 misclassified and 1 constraint broken, before 4: that tree is kept"
    )


def test_one_object_is_printed_whatever_becomes_of_later_rounds(noisy, monkeypatch):
    from odtc.model.solution import Termination
    from odtc.workflow import solving

    solved = []

    def first_alone(model, *words, **options):
        last, solution = whole(model, *words, **options)
        solved.append(1)
        return last, solution if len(solved) == 1 else type(solution)(
            None, Termination.INFEASIBLE, None, None, 0.1, "fake"
        )

    whole = solving.solve_or_loop
    monkeypatch.setattr(solving, "solve_or_loop", first_alone)
    said = run(
        "fit", "d.csv", *BINS, "--solver", "highs", "--select", "iterative:rounds=3", "-o", "it", "--json", folder=noisy
    )
    assert (
        said.code == 0
        and len(solved) == 2
        and json.loads(said.out)["verified"]
        and "the tree of round 1 is kept" in said.err
    )


def test_dropped_rows_are_those_of_the_file_and_said_once(noisy):
    for scheme in ("convex_hull", "iterative:rounds=3"):
        said = run("fit", "d.csv", *BINS, "--weights", "w", "--select", scheme, "-o", "m", folder=noisy)
        assert said.code == 0 and said.err.count("dropped") == said.err.count("dropped 1 row of 400") == 1


def test_a_run_without_its_data_says_whose_the_leaves_are(noisy):
    assert (
        run("build", "d.csv", *BINS, "--select", "convex_hull", "-o", "m", folder=noisy).code
        == run("solve", "m.mps", folder=noisy).code
        == 0
    )
    here = run("decode", "m.sol", "--json", folder=noisy)
    assert (
        here.facts["selection"]["scheme"] == "convex_hull"
        and here.facts["all_rows"]["n_rows"] == 399
        and here.err == ""
    )
    html = html_report.render_page(html_report.open_run(noisy / "m"))
    of_all, cart = here.facts["all_rows"], here.facts["cart_all_rows"]
    assert (
        "<span>all rows accuracy</span>" in html
        and f"{of_all['correct']} of 399 correct" in html
        and f"{100 * cart['accuracy']:.1f} %</strong><small>accuracy on all rows" in html
    )
    (noisy / "d.csv").rename(noisy / "moved.csv")
    away = run("decode", "m.sol", "-o", "away.json", "--json", folder=noisy)
    assert away.code == 0 and away.err.count("\n") == 1 and "predict only the selected rows" in away.err
    assert away.facts["selection"] == here.facts["selection"] and "all_rows" not in away.facts
    assert "<span>selected rows accuracy</span>" in html_report.render_page(html_report.open_run(noisy / "m"))
    assert run("compare", "m", "away.json", folder=noisy).err.count("predict only the selected rows") == 1
    (noisy / "d.csv").write_text("x0,y\n1,a\n2,b\n")
    other = run("decode", "m.sol", "-o", "away.json", folder=noisy)
    assert other.code == 0 and "SHA-256" in other.err and "predict only the selected rows" in other.err


def test_that_no_tree_keeps_a_constraint_is_of_the_selected_rows(noisy):
    said = run(
        "fit d.csv --model flowoct --encoding auto:bins=3 --depth 1 --select convex_hull --constraint",
        "accuracy >= 0.999",
        folder=noisy,
    )
    assert said.code == 3 and "satisfies the constraint accuracy >= 0.999 on the selected rows: relax" in said.err


def test_a_data_set_read_anew_is_that_of_the_selected_rows(noisy):
    model = odtc.build(noisy / "d.csv", "dpflow", 2, encoding="auto:bins=6", select="convex_hull")
    solution = odtc.solve(model)
    ours, again = odtc.decode(model, solution), odtc.decode(model, solution, odtc.read(noisy / "d.csv"))
    assert (
        ours.verified
        and again.verified
        and again.tree == ours.tree
        and sum(sum(leaf.rows) for leaf in again.tree.leaves()) == 399
    )


def test_rows_selected_twice_are_still_of_the_whole():
    rng = np.random.default_rng(2)
    X = rng.random((200, 2))
    dataset = data(X, (X.sum(axis=1) > 1).astype(int))
    twice = select_rows(select_rows(dataset, "convex_hull", 1), "balanced", 1)
    assert twice.selected.whole is dataset and np.array_equal(dataset.X[twice.selected.rows], twice.X)


def test_a_tree_of_one_leaf_predicts_most_of_all_rows_whatever_discrimination_costs():
    """300 rows of class 1 lie within a circle of 30 of class 0, of which all are selected, and fewer of the others."""
    rng = np.random.default_rng(2)
    angle = rng.random(30) * 2 * np.pi
    X = np.vstack([rng.random((300, 2)) * 0.5 + 0.25, 0.5 + 0.45 * np.column_stack([np.cos(angle), np.sin(angle)])])
    dataset = data(
        np.column_stack([X, rng.integers(0, 2, 330)]),
        np.repeat([1, 0], [300, 30]),
        ["numeric", "numeric", "categorical"],
    )
    fitted = odtc.fit(
        dataset, "fair", 1, encoding="auto:bins=4", select="convex_hull", params={"group": "x2", "rho": 2000.0}
    )
    assert fitted.facts["verified"] and fitted.facts["train_correct"] == 30 > fitted.facts["n_rows"] / 2
    assert fitted.tree.n_leaves == 1 and fitted.tree.root.label == 1 and fitted.tree.root.rows == (30, 300)


def test_rows_that_a_selection_does_not_make_are_the_word_of_the_run(noisy):
    """They are selected again; nothing told apart the rows that a selection keeps and any others."""
    assert run("build", "d.csv", *BINS, "--depth", 1, "--select", "convex_hull", "-o", "w", folder=noisy).code == 0
    assert run("solve", "w.mps", folder=noisy).code == 0
    said = run("verify", "w.sol", folder=noisy)
    assert said.code == 0 and "rows were selected is stated by the run" not in said.err
    manifest = noisy / "w.odt.json"
    facts = json.loads(manifest.read_text())
    for scheme, why in (("balanced", "balanced selects others here"), ("iterative", "iterative selects in rounds")):
        facts["data"]["selection"]["scheme"] = scheme
        manifest.write_text(json.dumps(facts))
        said = run("verify", "w.sol", "--time-limit", 300, folder=noisy)  # however busy the machine is
        assert f"rows were selected is stated by the run: {why}" in said.err, said.err


def test_an_interruption_of_a_round_ends_all_rounds_and_the_bound_by_parts(tmp_path, monkeypatch):
    from odtc.workflow import run as module

    rng = np.random.default_rng(4)
    a, b, noise = rng.normal(size=(3, 400))
    rows = [f"{x:.3f},{y:.3f},{int(x * y + z > 0)}" for x, y, z in zip(a, b, noise)]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,y", *rows]) + "\n")
    once, begun = module._run_once, []

    def fit(*given):
        begun.append(given)
        done = once(*given)
        return done if len(begun) < 2 else replace(done, interrupted=True)

    monkeypatch.setattr(module, "_run_once", fit)
    said = run("fit", "t.csv", "--select", "coarse_to_fine", "-o", "m", folder=tmp_path)
    assert said.code == 0 and len(begun) == 2, said.err
    assert "round 2 was interrupted: no further round" in said.out + said.err

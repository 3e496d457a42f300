"""Row selections: dropped rows are combinations of kept rows, and figures are reported for all rows."""

import csv
import dataclasses
import json
import math
import os
import time
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import odtc
from odtc.base import deadline
from odtc.base.system import STDOUT
from odtc.data.dataset import Dataset, Feature
from odtc.errors import ChoiceError, TimeLimitReached
from odtc.trees.simplifying import simplify_tree
from odtc.workflow.near_optimal import read_pool
from odtc.workflow.row_selection import balanced, iterative
from odtc.workflow.row_selection.selection import (
    SELECTIONS,
    clusters_of,
    coordinates,
    first_tree,
    select_in_rounds,
    select_rows,
)
from tests.command_line import MONKS
from tests.command_line import odtc as run

SLOW = {"deadline": None, "derandomize": True}


def data(X, y, kinds=None, weight=None):
    X, y = np.asarray(X, float), np.asarray(y, np.int32)
    kinds = kinds or ["numeric"] * X.shape[1]
    features = tuple(
        Feature(
            f"x{j}", kind, () if kind == "numeric" else tuple(f"level {v}" for v in range(int(np.nanmax(X[:, j])) + 1))
        )
        for j, kind in enumerate(kinds)
    )
    return Dataset(
        "made",
        X,
        y,
        features,
        tuple(map(str, range(y.max() + 1))),
        np.ones(len(y)) if weight is None else np.asarray(weight, float),
    )


@st.composite
def datasets(draw):
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, d = draw(st.integers(8, 60)), draw(st.integers(1, 4))
    kinds = [draw(st.sampled_from(("numeric", "numeric", "categorical"))) for _ in range(d)]
    X = np.column_stack(
        [random.integers(0, 3, n) if kind == "categorical" else random.integers(0, 12, n) for kind in kinds]
    ).astype(float)
    X[0], X[1] = 0.0, 1.0
    y = (X.sum(axis=1) + random.integers(0, 3, n) > 2 + 4 * d * 0.5).astype(int)
    y[0], y[1] = 0, 1
    return data(X, y, kinds, random.integers(1, 4, n))


def test_names_of_rows_are_no_coordinates():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.arange(90), rng.integers(0, 3, 90), rng.random(90)])
    named = data(X, X[:, 2] > 0.5, ["categorical", "categorical", "numeric"])
    assert coordinates(named).shape == (90, 4)
    assert select_rows(named, "convex_hull:share=1", 1).n_rows < 45  # every row was extreme in its own name


def test_that_cart_of_all_rows_is_better_is_said(tmp_path):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(600, 6)).round(3)
    y = (X[:, 0] * X[:, 1] + X[:, 2] + rng.normal(size=600) > 0).astype(int)
    rows = ["a,b,c,d,e,f,y", *(",".join(map(str, [*cells, k])) for cells, k in zip(X.tolist(), y.tolist()))]
    (tmp_path / "rows.csv").write_text("\n".join(rows) + "\n")
    said = run("fit", "rows.csv", "--depth", 2, "--select", "coarse_to_fine:share=0.03", folder=tmp_path)
    all_rows = int(said.out.split("all rows  ")[1].split(" of")[0])
    assert said.code == 0 and "CART of all rows has" in said.err + said.out
    assert int((said.err + said.out).split("CART of all rows has ")[1].split(" of")[0]) > all_rows
    whole = run("fit", "rows.csv", "--depth", 2, "--select", "coarse_to_fine:share=1", folder=tmp_path)
    assert "CART of all rows has" not in whole.err + whole.out


@given(dataset=datasets(), depth=st.integers(1, 3))
@settings(max_examples=60, **SLOW)
def test_every_dropped_row_is_a_mixture_of_kept_rows_of_its_cluster(dataset, depth):
    from scipy.optimize import linprog

    part = select_rows(dataset, "convex_hull:share=1", depth)
    kept = np.zeros(dataset.n_rows, bool)
    kept[part.selected.rows] = True
    assert (
        np.array_equal(part.X, dataset.X[kept])
        and np.array_equal(part.y, dataset.y[kept])
        and np.array_equal(part.weight, dataset.weight[kept])
    )
    tree = first_tree(dataset, depth)
    clusters = clusters_of(dataset, tree, coordinates(dataset), np.ones(dataset.n_rows, bool))
    assert sorted(row for cluster in clusters for row in cluster.rows) == list(range(dataset.n_rows))
    for cluster in clusters:
        assert len(set(dataset.y[cluster.rows])) == 1 and len(set(tree.apply(dataset.X[cluster.rows]))) == 1
        hold = cluster.Z[kept[cluster.rows]]
        for z in cluster.Z[~kept[cluster.rows]]:
            found = linprog(np.zeros(len(hold)), A_eq=np.vstack([hold.T, np.ones(len(hold))]), b_eq=np.append(z, 1.0))
            assert found.status == 0


@given(
    dataset=datasets(),
    depth=st.integers(1, 2),
    part=st.sampled_from(
        (
            "convex_hull:beta1=0.2,beta2=0.1",
            "convex_hull:eps=0.3",
            "convex_hull:share=0.3",
            "balanced:part=12",
            "iterative",
            "coarse_to_fine",
        )
    ),
)
@settings(max_examples=60, **SLOW)
def test_a_selection_keeps_rows_of_every_class_and_is_the_same_again(dataset, depth, part):
    found, again = select_rows(dataset, part, depth), select_rows(dataset, part, depth)
    assert np.array_equal(found.selected.rows, again.selected.rows) and np.array_equal(found.weight, again.weight)
    assert set(found.y) == set(dataset.y) and 0 < found.n_rows <= dataset.n_rows


@given(dataset=datasets(), depth=st.integers(1, 2))
@settings(max_examples=40, **SLOW)
def test_iterative_keeps_what_is_wrong_and_weighs_what_expresses_others_above_all_errors(dataset, depth):
    found, tree = select_rows(dataset, "iterative", depth), first_tree(dataset, depth)
    wrong = np.flatnonzero(tree.predict(dataset.X) != dataset.y)
    assert set(wrong) <= set(found.selected.rows)
    extra = found.weight - dataset.weight[found.selected.rows]
    assert set(extra) <= {0.0, dataset.weight[wrong].sum()} and not extra[np.isin(found.selected.rows, wrong)].any()
    # The first tree costs no more there than its errors: none of the heavy rows is wrong.
    assert found.weight[tree.predict(found.X) != found.y].sum() == dataset.weight[wrong].sum()


@given(seed=st.integers(0, 2**32), n=st.integers(3, 7), d=st.integers(1, 2))
@settings(max_examples=25, **SLOW)
def test_balanced_expresses_what_it_says_and_no_less_than_its_program_can(seed, n, d):
    from scipy.optimize import linprog

    points = np.unique(np.random.default_rng(seed).integers(0, 4, (n, d)).astype(float), axis=0)
    a, b = balanced.balance(points, 10.0)
    assert a.any() and not (a & b).any()
    for z in points[b]:
        hold = points[a]
        assert (
            linprog(np.zeros(len(hold)), A_eq=np.vstack([hold.T, np.ones(len(hold))]), b_eq=np.append(z, 1.0)).status
            == 0
        )


def test_rows_with_a_missing_number_are_kept():
    X = np.random.default_rng(0).random((50, 2))
    X[7, 1] = np.nan
    dataset = dataclasses.replace(data(X, X[:, 0] > 0.5), missing="separate")
    found = select_rows(dataset, "convex_hull", 2)
    assert 7 in found.selected.rows and found.n_rows < 50


def test_the_rounds_keep_the_better_tree_where_proposition_2_fails():
    """Class A at 0, 1, 1, 1, 2 and B at 1, with weights that make the second tree of the rounds the worse one: the
    claim that each round's tree is at least as good (Proposition 2) is false, so the better of both is kept."""
    dataset = data([[0.0], [1.0], [1.0], [1.0], [2.0], [1.0]], [0, 0, 0, 0, 0, 1])
    one = odtc.fit(dataset, "dpflow", 2, encoding="thresholds", solver="highs")
    part = select_rows(dataset, "iterative", 2, one.tree)
    # The rows at 1 of class A are mixtures of those at 0 and 2, and these may be right in different leaves.
    alone = odtc.fit(part, "dpflow", 2, encoding="thresholds", solver="highs")
    of_all = lambda tree: int((tree.predict(dataset.X) != dataset.y).sum())
    as_stated = alone.decoded.heap.to_tree(alone.model.problem.encoded)
    assert of_all(one.tree) == 1 and alone.facts["train_correct"] == alone.facts["n_rows"] and of_all(as_stated) == 3
    assert (
        of_all(alone.tree) == 1
    )  # its leaves predict what most of all their rows are, which is more than the paper asks
    told = []
    trees = iter(
        [
            SimpleNamespace(
                tree=tree, size=SimpleNamespace(cost=None), all_rows=SimpleNamespace(loss=of_all(tree), breaks=[])
            )
            for tree in (one.tree, as_stated)
        ]
    )
    best = select_in_rounds(dataset, "iterative:rounds=2", 2, lambda part, seconds: next(trees), told.append)
    assert best.tree is one.tree and "kept" in told[-1]


@pytest.mark.parametrize(
    "text",
    [
        "hull",
        "convex_hull:beta3=1",
        "convex_hull:beta1=0",
        "convex_hull:beta1=2",
        "convex_hull:beta1=0.9,beta2=0.9",
        "convex_hull:eps=-1",
        "iterative:rounds=0",
        "balanced:part=1",
        "convex_hull:beta1=x",
    ],
)
def test_a_bad_choice_is_refused(text):
    with pytest.raises(ChoiceError):
        select_rows(data(np.arange(40.0).reshape(-1, 1), np.arange(40) > 20), text, 1)


@pytest.fixture(scope="module")
def cloud(tmp_path_factory):
    file = tmp_path_factory.mktemp("cloud") / "cloud.csv"
    random = np.random.default_rng(3)
    X = np.round(random.random((300, 2)), 3)
    label = np.where(X[:, 0] + 0.4 * X[:, 1] > 0.7, "yes", "no")
    file.write_text("a,b,label\n" + "".join(f"{a},{b},{c}\n" for (a, b), c in zip(X.tolist(), label)))
    return file


def test_the_command_writes_rows_that_can_be_read_again(cloud, tmp_path):
    said = run("select", cloud, "--depth", 1, "--json", folder=tmp_path)
    facts = said.facts
    found, every = (
        {(float(a), float(b), label) for a, b, label in list(csv.reader(file.read_text().splitlines()))[1:]}
        for file in (tmp_path / "cloud_selected.csv", cloud)
    )
    assert len(found) == facts["n_selected"] < facts["n_rows"] == 300 and found <= every
    weighted = run("select", cloud, "--depth", 1, "--select", "iterative", "-o", "i.csv", folder=tmp_path)
    assert weighted.code == 0
    assert (
        odtc.read(
            tmp_path / "i.csv",
            weights="weight" if "weight" in (tmp_path / "i.csv").read_text().split("\n")[0] else None,
        ).n_rows
        > 0
    )


def test_a_selection_in_rounds_makes_them_and_tells_accuracy_per_share(cloud, tmp_path):
    rounds = "coarse_to_fine:rounds=5,share=0.5"
    given = cloud, "--depth", 1, "--model", "dpflow", "--select", rounds, "--hold-out", 0.3, "--json"
    facts = run("select", *given, "-o", "rows.csv", folder=tmp_path).facts
    curve = facts["selection_rounds"]
    assert [one["round"] for one in curve] == [1, 2, 3, 4, 5] and facts["n_rows"] == 210
    assert [one["n_selected"] for one in curve] == [26, 52, 105, 105, 105]
    assert [one["kept"] for one in curve].count(True) == 1
    kept = next(one for one in curve if one["kept"])
    assert kept["round"] == facts["round"] and kept["loss"] == min(one["loss"] for one in curve) == facts["loss"]
    assert len((tmp_path / "rows.csv").read_text().splitlines()) - 1 == kept["n_selected"] == facts["n_selected"]
    fitted = run("fit", *given, "-o", "tree", folder=tmp_path).facts
    assert fitted["selection_rounds"] == curve and fitted["test_accuracy"] == kept["test_accuracy"]
    whole = run("fit", cloud, "--depth", 1, "--model", "dpflow", "--hold-out", 0.3, "--json", folder=tmp_path).facts
    assert facts["bound"] <= whole["loss"] <= kept["loss"]


def test_rounds_of_the_same_rows_are_made_once():
    rng = np.random.default_rng(3)
    rows = data(rng.random((60, 3)), rng.integers(0, 2, 60))
    for share, rounds in ((0.5, 3), (1, 1)):
        done = odtc.fit(rows, "cart", 2, select=f"coarse_to_fine:rounds=3,share={share}")
        assert [one.n_selected for one in done.rounds] == [share * 60] * rounds


def test_a_selection_without_trees_refuses_what_only_trees_need(cloud, tmp_path):
    said = run("select", cloud, "--test", cloud, "-p", "seconds=1", "-o", "rows.csv", folder=tmp_path)
    assert said.code == 2 and "--test and -p with a selection in rounds" in said.err
    assert not (tmp_path / "rows.csv").exists()
    assert "round" not in run("select", cloud, "--depth", 1, folder=tmp_path).out


def test_a_selection_ends_with_the_limit_in_a_sentence_and_writes_nothing(cloud, tmp_path):
    said = run("select", cloud, "--select", "balanced", "--time-limit", "0.001", "-o", "late.csv", folder=tmp_path)
    assert said.code == 1 and "the time limit came" in said.err and not (tmp_path / "late.csv").exists()


def test_what_a_library_prints_past_python_is_not_on_screen(capfd):
    with STDOUT.away():
        os.write(1, b"lines of HiGHS")
    os.write(1, b"ours")
    assert capfd.readouterr().out == "ours"


def test_fit_on_selected_rows_reports_on_all_rows_and_verifies(cloud, tmp_path):
    said = run(
        "fit",
        cloud,
        "--model",
        "dpflow",
        "--encoding",
        "auto:bins=6",
        "--select",
        "convex_hull",
        "--json",
        folder=tmp_path,
    )
    facts = said.facts
    assert (
        facts["verified"]
        and facts["n_rows"] == facts["selection"]["n_extreme"] < 300
        and facts["all_rows"]["n_rows"] == 300
    )
    tree = odtc.trees.tree.read_tree(tmp_path / facts["tree"])
    whole = odtc.read(cloud)
    assert facts["all_rows"]["correct"] == int((tree.predict(whole.X) == whole.y).sum())
    assert (
        run("build", cloud, "--encoding", "auto:bins=6", "--select", "convex_hull", "-o", "m", folder=tmp_path).code
        == 0
    )
    assert run("solve", "m.mps", folder=tmp_path).code == 0
    checked = run("verify", "m.sol", folder=tmp_path)
    assert checked.code == 0 and f"{facts['n_rows']} rows of the data file" in checked.out
    manifest = json.loads((tmp_path / "m.odt.json").read_text())
    manifest["data"]["selection"]["rows"] = "nonsense"
    (tmp_path / "m.odt.json").write_text(json.dumps(manifest))
    broken = run("verify", "m.sol", folder=tmp_path)
    assert broken.code == 1 and broken.err.count("\n") == 1 and "m.odt.json" in broken.err


def test_iterative_rounds_end_with_the_best_tree(cloud, tmp_path):
    said = run(
        "fit",
        cloud,
        "--model",
        "dpflow",
        "--encoding",
        "auto:bins=6",
        "--select",
        "iterative:rounds=3",
        "-o",
        "it",
        "--json",
        folder=tmp_path,
    )
    assert said.code == 0 and "round 1:" in said.err
    assert said.facts["tree"] == "it.tree.json" and said.facts["all_rows"]["n_rows"] == 300


@given(dataset=datasets(), depth=st.integers(1, 2), cost=st.booleans())
@settings(max_examples=40, **SLOW)
def test_leaves_hold_all_rows_and_predict_what_loses_least_of_them(dataset, depth, cost):
    price = {("0", "1"): 3.0} if cost else None
    fitted = odtc.fit(
        dataset,
        "dpflow",
        depth,
        encoding="auto:bins=4",
        select="convex_hull",
        cost=price,
        solver="highs",
        simplify=False,  # leaf by leaf, as it was trained
    )
    trained, tree = fitted.decoded.heap.to_tree(fitted.model.problem.encoded), fitted.tree
    price = {(0, 1): 3.0 if cost else 1.0, (1, 0): 1.0, (0, 0): 0.0, (1, 1): 0.0}
    rows = list(zip(tree.apply(dataset.X).tolist(), dataset.y.tolist(), dataset.weight.tolist()))
    for place, (leaf, other) in enumerate(zip(tree.leaves(), trained.leaves())):
        here = [(label, weight) for at, label, weight in rows if at == place]
        assert leaf.rows == tuple(sum(label == k for label, _ in here) for k in (0, 1)) and sum(leaf.rows) >= sum(
            other.rows
        )
        paid = [sum(weight * price[label, k] for label, weight in here) for k in (0, 1)]
        assert paid[leaf.label] == min(paid) and (leaf.label == other.label or paid[other.label] > paid[leaf.label])
    right = sum(weight for at, label, weight in rows if tree.leaves()[at].label == label)
    told = next(check for check in fitted.decoded.checks if check.name == "all rows")
    assert told.passed and f"weight {right:.10g} correct" in told.text
    assert fitted.facts["train_correct"] == sum(
        leaf.rows[leaf.label] for leaf in trained.leaves()
    )  # of the selected, as the objective
    assert fitted.facts["all_rows"]["correct"] == int((tree.predict(dataset.X) == dataset.y).sum())


@pytest.mark.parametrize("words", [{"constraints": ("recall[1] >= 0.9",)}, {"params": {"group": "x1", "rho": 300.0}}])
def test_answers_that_are_constrained_or_priced_stay(words):
    rng = np.random.default_rng(1)
    x = np.concatenate([np.linspace(0, 1, 200), np.linspace(0.4, 0.6, 6)])
    dataset = data(
        np.column_stack([x, rng.integers(0, 2, 206)]), np.repeat([0, 1], [200, 6]), ["numeric", "categorical"]
    )
    fitted = odtc.fit(dataset, "fair", 1, encoding="auto:bins=4", select="convex_hull", **words)
    trained = fitted.decoded.heap.to_tree(fitted.model.problem.encoded)
    assert fitted.facts["verified"] and fitted.facts["all_rows"]["relabelled"] == 0
    assert [leaf.label for leaf in fitted.tree.leaves()] == [leaf.label for leaf in trained.leaves()]
    assert sum(sum(leaf.rows) for leaf in fitted.tree.leaves()) == 206


def test_balanced_is_of_all_rows():
    """Of 400 rows of class 0 nine tenths lie within others; of 20 of class 1 all are kept: of the selected both are
    about as many."""
    rng = np.random.default_rng(4)
    X = np.vstack([rng.random((400, 2)), rng.random((20, 2)) * [0.6, 1.0] + [0.4, 0]])
    dataset = data(X, np.repeat([0, 1], [400, 20]))
    fitted = odtc.fit(dataset, "dpflow", 1, encoding="auto:bins=8", select="convex_hull", class_weight="balanced")
    assert np.allclose(fitted.facts["cost"], [[0, 420 / 800], [420 / 40, 0]])
    paid = np.array(
        [np.dot(leaf.counts, np.array(fitted.facts["cost"])[:, leaf.label]) for leaf in fitted.tree.leaves()]
    ).sum()
    assert 420 * (1 - fitted.facts["all_rows"]["balanced_accuracy"]) == pytest.approx(paid)
    assert fitted.facts["all_rows"]["balanced_accuracy"] >= 0.5


def test_a_leaf_of_few_selected_rows_of_many_predicts_the_many(tmp_path):
    """200 rows of class a from 0 to 1, of which the ends are selected, and all of six of b between them: one leaf
    holds most of a and all of b."""
    rows = [f"{x:.4f},a" for x in np.linspace(0, 1, 200)] + [
        f"{x},{'b' if at % 2 else 'c'}" for at, x in enumerate((0.4012, 0.4512, 0.4912, 0.5012, 0.5512, 0.6012))
    ]
    (tmp_path / "d.csv").write_text("x,y\n" + "\n".join(rows) + "\n")
    words = "--model", "dpflow", "--depth", 1, "--encoding", "thresholds", "--select", "convex_hull"
    said = run("fit", "d.csv", *words, "--pool", 3, "-o", "fitted", folder=tmp_path)
    assert said.code == 0 and "of 2 leaves predict what loses least of all their rows, not of the selected" in said.out
    tree = odtc.trees.tree.read_tree(tmp_path / "fitted.tree.json")
    assert {tree.classes[leaf.label] for leaf in tree.leaves()} == {"a"} and sum(
        sum(leaf.rows) for leaf in tree.leaves()
    ) == 206
    best = read_pool(tmp_path / "fitted.pool.json").trees[0]  # as it was ranked, with its twin leaves
    assert best.n_leaves == 2 and simplify_tree(best) == tree
    # The solution of the same model decodes to the same tree, where the data file is there.
    assert (
        run("build", "d.csv", *words, "-o", "built", folder=tmp_path).code
        == run("solve", "built.mps", folder=tmp_path).code
        == 0
    )
    assert (
        run("decode", "built.sol", "--no-simplify", folder=tmp_path).code == 0
        and (twins := odtc.trees.tree.read_tree(tmp_path / "built.tree.json")).n_leaves == 2
        and simplify_tree(twins) == tree  # the solver may take another of the thresholds that cost the same
        and run("decode", "built.sol", folder=tmp_path).code == 0
        and odtc.trees.tree.read_tree(tmp_path / "built.tree.json") == tree
    )
    checked = run("verify", "built.sol", folder=tmp_path)
    assert (
        checked.code == 0
        and "206 rows that these were selected from: weight 200 correct, 200 in the leaves" in checked.out
    )
    (tmp_path / "d.csv").rename(tmp_path / "moved.csv")
    alone = run("decode", "built.sol", folder=tmp_path)
    assert (
        alone.code == 0
        and alone.err.count("count and predict only the selected rows") == 1
        and "all rows" not in alone.out
    )
    assert sum(sum(leaf.rows) for leaf in odtc.trees.tree.read_tree(tmp_path / "built.tree.json").leaves()) < 206
    again = run("decode", "built.sol", "--data", "moved.csv", folder=tmp_path)
    assert (
        again.code == 0
        and not again.err.count("only the selected rows")
        and odtc.trees.tree.read_tree(tmp_path / "built.tree.json") == tree
    )
    (tmp_path / "moved.csv").write_text("x,y\n1,a\n")
    other = run("decode", "built.sol", "--data", "moved.csv", folder=tmp_path)
    assert other.code == 1 and "SHA-256" in other.err


def test_that_more_of_all_rows_are_wrong_than_of_the_selected_is_told(tmp_path):
    """200 rows of class a from 0 to 1 and 150 of b in their midst, of which the ends are selected: a tree of one
    node has more than a third wrong."""
    rows = [f"{x:.4f},a" for x in np.linspace(0, 1, 200)] + [f"{x:.4f},b" for x in np.linspace(0.3, 0.7, 150)]
    (tmp_path / "d.csv").write_text("x,y\n" + "\n".join(rows) + "\n")
    said = run("fit d.csv --model dpflow --depth 1 --encoding thresholds --select convex_hull", folder=tmp_path)
    whole = run("fit", "d.csv", "--model", "dpflow", "--depth", 1, "--encoding", "thresholds", folder=tmp_path)
    assert said.code == 0 and "of the selected rows are misclassified, but" in said.err and "note" not in whole.err


def test_the_rounds_share_the_time_limit_and_what_comes_too_late_is_not_lost():
    rng = np.random.default_rng(5)
    X = rng.random((300, 2))
    dataset = data(X, (X.sum(axis=1) + rng.normal(size=300) * 0.2 > 1).astype(int))
    given, late = [], TimeLimitReached("too late")
    bad, good = (odtc.fit(dataset, "cart", depth) for depth in (1, 2))
    for done in (bad, good):
        vars(done)["all_rows"] = SimpleNamespace(loss=done.facts["loss"], breaks=[])
    assert bad.facts["train_correct"] < good.facts["train_correct"]
    trees = iter([bad, good, late])

    def once(part, seconds):
        given.append(seconds)
        found = next(trees)
        if found is late:
            raise late
        return found

    told = []
    assert (
        select_in_rounds(dataset, "iterative:rounds=4", 2, once, told.append, 100.0) is good
        and "too late; the tree of round 2 is kept" in told[-1]
    )
    assert [20 < seconds <= 100 / most for seconds, most in zip(given, (4, 3, 2))] == [True] * 3
    trees = iter([bad, good])
    assert (
        select_in_rounds(dataset, "iterative:rounds=4", 2, once, told.append, 1e-9) is bad
        and "before round 2: the tree of round 1" in told[-1]
    )
    fitted = odtc.fit(dataset, "dpflow", 2, encoding="auto:bins=8", select="iterative:rounds=2", time_limit=60)
    assert fitted.facts["verified"]


def test_monks_are_their_own_hull():
    """Indicators have no point within another: each distinct row of a class is kept once."""
    dataset = odtc.read(MONKS / "monks-1.csv", categorical=tuple(f"a{j}" for j in range(1, 7)))
    assert select_rows(dataset, "convex_hull", 2).n_rows == len(
        np.unique(np.column_stack([dataset.X, dataset.y]), axis=0)
    )


def test_a_constraint_that_only_the_selected_rows_keep_is_told(tmp_path):
    """200 rows of class yes lie within a circle of no; of all of these, those on the rim are few and those on the
    circle all."""
    inner = np.random.default_rng(0).random((200, 2)) * 0.2 + 0.3
    angle = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    rows = [(*point, "yes") for point in inner]
    rows += [(0.4 + 0.4 * np.cos(t), 0.4 + 0.4 * np.sin(t), "no") for t in angle]
    rows += [(0.95 + 0.05 * b * b, b, "yes") for b in np.linspace(0, 1, 30)]
    (tmp_path / "d.csv").write_text("a,b,y\n" + "".join(f"{a:.3f},{b:.3f},{c}\n" for a, b, c in rows))
    words = [
        "fit",
        "d.csv",
        "--model",
        "dpflow",
        "--depth",
        1,
        "--encoding",
        "thresholds:bins=5",
        "--select",
        "convex_hull",
        "--constraint",
        "recall[yes] >= 0.3",
        "--format",
        "mps",
        "-o",
        "m",
    ]
    said = run(*words, folder=tmp_path)
    assert said.code == 0, said.err
    whole, tree = odtc.read(tmp_path / "d.csv"), odtc.trees.tree.read_tree(tmp_path / "m.tree.json")
    yes = whole.classes.index("yes")
    recall = (tree.predict(whole.X) == yes)[whole.y == yes].mean()
    assert recall < 0.3 and f"{recall:.10g} on all 290 rows, where it is broken" in said.err
    assert f"on the selected rows, {recall:.10g} on all 290 rows" in run("verify", "m.sol", folder=tmp_path).out


@pytest.mark.parametrize("scheme", ["convex_hull", "printed", "printed:eps=0.05", "balanced:part=20", "iterative"])
def test_a_selection_that_the_limit_ends_keeps_what_it_has(scheme, monkeypatch):
    """The clock is past the time of the selection from one of its looks on, as a real one would be at any of them."""
    rng = np.random.default_rng(11)
    X = rng.random((400, 3))
    dataset = data(X, (X.sum(axis=1) + rng.normal(size=400) * 0.2 > 1.5).astype(int))
    clock, tree, module = time.monotonic, first_tree(dataset, 1), SELECTIONS.parse(scheme)[0]
    looks = iter(range(10**9))

    def selected(end: float):
        nonlocal looks
        looks = iter(range(10**9))
        monkeypatch.setattr(time, "monotonic", lambda: clock() + (1e6 if next(looks) >= end else 0.0))
        try:
            with deadline.within(1e5):
                return select_rows(dataset, scheme, 1, tree, jobs=1)
        finally:
            monkeypatch.setattr(time, "monotonic", clock)

    whole, cut, undecided = selected(math.inf), 0, []
    many = next(looks)
    assert "n_undecided" not in whole.selected.facts
    for end in (3, many // 3, 2 * many // 3):
        part = selected(end)
        undecided.append(part.selected.facts.get("n_undecided", 0))
        cut += undecided[-1] > 0
        assert set(part.y) == {0, 1} and part.n_rows == len(np.unique(part.selected.rows)) <= dataset.n_rows
        if module.NAME == "iterative":  # what was not decided is kept
            assert set(whole.selected.rows) <= set(part.selected.rows)
    assert cut and undecided == sorted(undecided, reverse=True)


def test_a_selection_without_an_answer_of_its_own_keeps_the_rows_nearest_to_a_split(monkeypatch):
    def never(cluster, **options):
        raise TimeLimitReached("too late")

    rng = np.random.default_rng(2)
    X = rng.random((200, 2))
    dataset = data(X, (X[:, 0] > 0.5).astype(int))
    monkeypatch.setattr(balanced, "select", never)
    part = select_rows(dataset, "balanced", 1, jobs=1)
    threshold = first_tree(dataset, 1).root.split.threshold
    cluster = 2 * (X[:, 0] > threshold) + dataset.y
    assert part.selected.facts["n_undecided"] == 200
    for number in np.unique(cluster):
        rows = np.flatnonzero(cluster == number)
        nearest = rows[np.argsort(np.abs(X[rows, 0] - threshold))[: max(1, len(rows) // 10)]]
        assert set(part.selected.rows[cluster[part.selected.rows] == number]) == set(nearest)


def test_a_fit_gives_its_selection_half_of_the_limit_and_states_what_was_left(cloud, tmp_path, monkeypatch):
    given = []

    def late(cluster, **options):
        given.append(deadline.seconds_left())
        raise TimeLimitReached("too late")

    monkeypatch.setattr(balanced, "select", late)
    dataset = odtc.read(cloud)
    done = odtc.fit(dataset, "cart", 1, select="balanced", time_limit=1000)
    assert all(0 < seconds <= 500 for seconds in given) and len(given) == done.selection["n_clusters"]
    assert done.selection["n_undecided"] == 300 and done.verified
    assert "the time limit ended the selection, which left 300 points undecided" in str(done)
    built = odtc.build(dataset, "dpflow", 1, encoding="auto:bins=4", select="balanced", time_limit=1000)
    assert built.problem.encoded.dataset.selected.facts["n_undecided"] == 300
    given.clear()
    monkeypatch.setattr(iterative, "select", late)
    rounds = odtc.fit(dataset, "cart", 1, select="iterative:rounds=4", time_limit=1000)
    assert given[0] <= 125 and rounds.selection["n_undecided"] > 0

"""All near-optimal trees: their number is that of an enumeration, and the file and `odtc show` have what was found."""

import dataclasses
import itertools
import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import odtc
from odtc.algorithms.near_optimal.tree_set import TreeSet
from odtc.algorithms.thresholds.rank_search import RankSearch
from odtc.base import deadline
from odtc.data.encoding import of_each_column
from odtc.data.reading import read_arrays
from odtc.errors import ChoiceError, TreeError
from odtc.formulations.dpflow.near_optimal_set import DpflowNearOptimalTrees
from odtc.heuristics.heuristic import grow
from odtc.testing.problems import problems
from odtc.trees.heap_tree import blank_arrays, settle
from odtc.workflow import near_optimal
from odtc.workflow.near_optimal_set import Within, near_optimal_set, read_near_optimal_set, reliance
from tests import pipeline
from tests.command_line import MONKS
from tests.command_line import odtc as command


def every_tree(encoded, rows, depth, price, share):
    """(objective, leaves, tests as nested tuples) of all trees without twin leaves."""
    loss = share * encoded.loss[rows].sum(axis=0)
    yield float(loss.min()), 1, None
    if not depth:
        return
    for f in range(encoded.n_candidate_splits):
        ones = encoded.X[rows, f]
        if ones.all() or not ones.any():
            continue
        sides = [list(every_tree(encoded, rows[side], depth - 1, price, share)) for side in (~ones, ones)]
        for (a, m, left), (b, n, right) in itertools.product(*sides):
            if left is None and right is None and a + b >= loss.min() - 1e-9:
                continue
            yield a + b + price, m + n, (f, left, right)


def saves(encoded, tree, name, share):
    """The loss that goes at the tests of a column, by definition."""
    paid, stack = 0.0, [(tree, np.arange(encoded.n_rows))]
    while stack:
        here, rows = stack.pop()
        if here is None:
            continue
        f, *below = here
        sides = [rows[~encoded.X[rows, f]], rows[encoded.X[rows, f]]]
        whole, *parts = (encoded.loss[part].sum(axis=0).min() for part in (rows, *sides))
        if name in {encoded.features[j].name for j in encoded.splits[f].features}:
            paid += share * (whole - sum(parts))
        stack += zip(below, sides)
    return paid


@pytest.mark.parametrize("form", [{}, {"lambda": 0.25}], ids=str)
@given(data=st.data(), within=st.sampled_from([0, 1, 2.5, "20%"]))
@settings(max_examples=25, deadline=None)
def test_the_count_is_that_of_an_enumeration(form, data, within):
    problem = data.draw(problems(("dpflow", form), depths=(1, 2), most_rows=9))
    problem = dataclasses.replace(problem, encoded=of_each_column(problem.encoded))
    encoded, price = problem.encoded, form.get("lambda", 0)
    truth = list(every_tree(encoded, np.arange(encoded.n_rows), problem.topology.depth, price, 1 - price))
    best = min(cost for cost, _, _ in truth)
    near = [tree for tree in truth if tree[0] <= best + Within.of(within).above(best) + 1e-9]
    found = near_optimal_set(problem, within)
    facts = found.facts
    assert facts["proved"] and found.complete and facts["best"] == pytest.approx(best)
    assert found.count == len(near) and dict(facts["leaves"]) == Counter(leaves for _, leaves, _ in near)
    assert min(100, len(near)) == len(found.trees) and facts["sample"]["whole"] == (len(near) <= 100)
    for column in facts["columns"]:
        drawn = [tree for tree in found.trees if column["name"] in tree.used_names]
        assert not drawn or column["trees"] > 0
        if facts["sample"]["whole"]:
            saved = [saves(encoded, tree, column["name"], 1 - price) for _, _, tree in near]
            assert column["saved"]["least"] == pytest.approx(min(saved), abs=1e-8)
            assert column["saved"]["greatest"] == pytest.approx(max(saved), abs=1e-8)
            assert column["trees"] == len(drawn) == sum(t for *_, t in found.cells(using=[column["name"]]))
            assert len(near) - len(drawn) == sum(t for *_, t in found.cells(without=[column["name"]]))
    if facts["sample"]["whole"]:
        assert facts["fewest_columns"]["columns"] == min(len(tree.used_names) for tree in found.trees)
    listed = near_optimal.near_optimal(problem, 10_000, within)  # trees whose every branch node pays: a part of the set
    assert len(listed.trees) <= found.count


@pytest.mark.parametrize("keywords", [{"class_weight": "balanced"}, {"class_weight": "0=0.1,1=0.3"}, {}], ids=str)
def test_weights_whose_unit_is_no_binary_fraction_are_counted(keywords):
    rng = np.random.default_rng(1)
    X, y = rng.integers(0, 3, (11, 2)), np.array([0] * 7 + [1] * 4)
    weights = rng.choice([0.1, 0.7, 1.3], 11) if not keywords else None
    dataset = read_arrays(X, y)
    if weights is not None:
        dataset = dataclasses.replace(dataset, weight=weights)
    problem = pipeline.pose(dataset, "dpflow", 2, **keywords)
    encoded = problem.encoded
    truth = list(every_tree(encoded, np.arange(encoded.n_rows), 2, 0, 1))
    best = min(cost for cost, _, _ in truth)
    near = [tree for tree in truth if tree[0] <= 1.4 * best + 1e-9]
    found = near_optimal_set(problem, "40%")
    assert found.complete and found.count == len(near) > 1
    assert found.facts["best"] == pytest.approx(best) and found.objectives[0] == pytest.approx(best)
    assert sum(trees for _, trees in found.facts["objectives"]) == len(near)
    assert sorted(found.objectives) == pytest.approx(sorted(cost for cost, _, _ in near)[: len(found.objectives)])


@given(data=st.data())
@settings(max_examples=15, deadline=None)
def test_reliance_is_the_mean_over_all_exchanges(data):
    problem = data.draw(problems(("dpflow", {}), most_rows=7))
    encoded = problem.encoded
    heap = problem.module.near_optimal_trees(problem, 1, False, None).sample(3, 0)[-1][1]
    for feature in range(len(encoded.features)):
        mine = [j for j, split in enumerate(encoded.splits) if feature in split.features]
        paid = 0.0
        for other, copies in enumerate(encoded.copies):
            mixed = np.array(encoded.X)
            mixed[:, mine] = encoded.X[other, mine]
            label = heap.label[heap.reach(mixed)]
            paid += copies * encoded.loss[np.arange(encoded.n_rows), label].sum() / encoded.copies.sum()
        most = encoded.loss.max(axis=1).sum()
        assert reliance(problem, heap, feature) * most == pytest.approx(paid - heap.loss(encoded), abs=1e-9)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a set, and what the command said."""
    folder = tmp_path_factory.mktemp("near")
    words = ("--encoding", "onehot", "--depth", 3, "--within", "50%", "-o", "m", "--json")
    said = command("fit", MONKS / "monks-1.csv", *words, folder=folder)
    assert said.code == 0 and "trees of depth 3 or less with an objective of at most 16.5 (the best: 11)" in said.err
    assert "m.near-optimal.json" in str(said.facts["files"])
    return folder


def test_the_file_is_browsed(folder):
    found = read_near_optimal_set(folder / "m.near-optimal.json")
    assert found.count == sum(trees for _, trees in found.facts["leaves"]) > 100 and found.graph is not None
    whole = command("show", "m.near-optimal.json", folder=folder)
    assert whole.code == 0 and f"{found.count:,} trees" in whole.out and "fewest columns" in whole.out
    assert command("show", "m.near-optimal.json", "--tree", 1, folder=folder).out.startswith("class: 0, 1")
    assert (
        "the trees of the sample, got 999" in command("show", "m.near-optimal.json", "--tree", 999, folder=folder).err
    )
    with_a1 = command("show", "m.near-optimal.json", "--using", "a1", "--without", "a2", "--leaves", 6, folder=folder)
    trees = sum(t for *_, t in found.cells(["a1"], ["a2"], 6))
    assert with_a1.out.startswith(
        f"{trees:,} of {found.count:,} trees split on a1 and do not split on a2 and have at most 6"
    )
    both = sum(t for *_, t in found.cells(["a1"])) + sum(t for *_, t in found.cells((), ["a1"]))
    assert both == found.count and found.cells(["a1"], ["a1"]) == []
    unknown = command("show", "m.near-optimal.json", "--using", "b", folder=folder)
    assert unknown.code == 2 and "a1" in unknown.err and "'b'" in unknown.err
    tree = command("show", "m.tree.json", "--using", "a1", folder=folder)
    assert tree.code == 2 and "STEM.near-optimal.json" in tree.err


def test_the_page_shows_it(folder):
    said = command("report", "m", folder=folder)
    found, page = read_near_optimal_set(folder / "m.near-optimal.json"), (folder / "m.html").read_text()
    assert said.code == 0 and f"{found.count:,} trees of depth" in page and "Trees that are nearly as good" in page
    assert all(f"{trees:,}</td>" in page for _, trees in found.facts["leaves"])


@pytest.mark.parametrize(
    "place, value",
    [
        (("count",), "many"),
        (("columns", 0, "share"), "x"),
        (("graph", "states", -1, 4, 0), [0]),
        (("graph", "states", -1, 4, 0, 2), 10**6),
        (("graph", "states", 0, 0), 9),
        (("graph", "states", -1, 3), 10**30),
        (("sample", "trees", 0, "tree"), 7),
        (("leaves", 0), [3]),
        (("objectives", 0), [1.0, 2.0, 3.0]),
    ],
    ids=str,
)
def test_a_damaged_file_is_refused_in_a_sentence(folder, tmp_path, place, value):
    facts = json.loads((folder / "m.near-optimal.json").read_text())
    inner = facts
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    (tmp_path / "m.near-optimal.json").write_text(json.dumps(facts))
    with pytest.raises(TreeError, match="is damaged: .*; make it again with --within"):
        read_near_optimal_set(tmp_path / "m.near-optimal.json")


def test_a_limit_leaves_what_was_found(tmp_path):
    words = ("--encoding", "onehot", "--depth", 6, "--within", 5, "--time-limit", 0.001, "-o", "m")
    said = command("fit", MONKS / "monks-2.csv", *words, folder=tmp_path)
    assert said.code == 0 and (tmp_path / "m.tree.json").exists()
    shown = command("show", "m.near-optimal.json", folder=tmp_path)
    assert shown.code == 0 and shown.out.startswith("at least") and "time limit came first" in shown.out


def test_the_same_in_python(folder):
    found = odtc.near_optimal(MONKS / "monks-1.csv", within="50%", depth=3, encoding="onehot")
    assert found.facts == json.loads((folder / "m.near-optimal.json").read_text())
    assert f"{found}\n" == command("show", "m.near-optimal.json", folder=folder).out == found.text()
    assert repr(found) == f"<NearOptimalSet: {found.words}>"
    assert found.text(without=["a1"]) == command("show", "m.near-optimal.json", "--without", "a1", folder=folder).out


def test_a_column_that_another_stands_for_is_counted_by_itself(tmp_path):
    rows = [(score, "high" if score > 2 else "low", "p" if score > 2 else "q") for score in (0, 1, 2, 3, 4, 5)]
    lines = [f"{score},{level},{'q' if at == 3 else y}" for at, (score, level, y) in enumerate(rows * 3)]
    (tmp_path / "d.csv").write_text("\n".join(["score,level,y", *lines]) + "\n")
    found = odtc.near_optimal(tmp_path / "d.csv", depth=1)
    assert found.count == 2 and {column["name"]: column["trees"] for column in found.facts["columns"]} == {
        "score": 1,
        "level": 1,
    }
    assert {column["best_without"] for column in found.facts["columns"]} == {found.facts["best"]} == {1}
    assert found.cells(without=["score"]) == found.cells(using=["level"]) == [(1, 2, 1)]
    said = command("fit", "d.csv", "--depth", 1, "--within", 0, "-o", "m", "--json", folder=tmp_path)
    assert said.code == 0 and read_near_optimal_set(tmp_path / "m.near-optimal.json").facts == found.facts


def test_what_ends_the_count_is_said(monkeypatch):
    problem = pipeline.pose(MONKS / "monks-1.csv", "dpflow", 3, encoding="onehot")
    short = near_optimal_set(problem, 5, seconds=0.0)
    assert not short.complete and short.words.startswith("at least") and "the time limit came first" in short.words
    from odtc.algorithms.near_optimal import tree_set

    monkeypatch.setattr(tree_set, "available", lambda: 10_000)
    small = near_optimal_set(problem, 5)
    assert small.facts["stopped"] == "the memory" and small.facts["columns"][0]["trees"] is None
    assert small.graph is None
    with pytest.raises(ChoiceError, match="graph"):
        small.cells(["a1"])


@pytest.mark.parametrize("moment", ["proof", "count"])
def test_one_interruption_ends_the_whole_set(moment, monkeypatch):
    """Ctrl-C or SIGTERM in one part used to be followed by all other parts, without an end."""
    monkeypatch.setattr(deadline, "GRACE", 0.1)
    X = np.arange(24.0).reshape(12, 2) % 5
    problem = pipeline.pose(read_arrays(X, [0, 1] * 6), "dpflow", 2)

    def interrupted(*given):
        raise KeyboardInterrupt

    def endless(*given):
        while True:
            deadline.check()

    if moment == "proof":
        monkeypatch.setattr(RankSearch, "dive", interrupted)
        monkeypatch.setattr(TreeSet, "_fill", endless)
    else:
        monkeypatch.setattr(TreeSet, "_fill", interrupted)
        monkeypatch.setattr(DpflowNearOptimalTrees, "graph", endless)
    found = near_optimal_set(problem, 1)
    assert not found.complete and found.facts["stopped"] == "an interruption"
    assert deadline.seconds_left() is None


@given(data=st.data(), form=st.sampled_from([{}, {"lambda": 0.25}]), calls=st.integers(0, 12))
@settings(max_examples=12, deadline=None)
def test_a_count_that_was_ended_has_the_trees_in_hand_and_none_beyond_the_set(data, form, calls):
    """At a limit the tree of the run used to be missing in the set around itself."""
    problem = data.draw(problems(("dpflow", form), depths=(1, 2, 3), most_rows=9))
    test, _ = blank_arrays(problem.topology)
    inner = len(test) // 2
    test[1:inner] = data.draw(
        st.lists(st.integers(-1, problem.encoded.n_candidate_splits - 1), min_size=inner - 1, max_size=inner - 1)
    )
    known = data.draw(
        st.sampled_from([None, settle(test, problem.encoded), grow("cart", problem.encoded, problem.topology)])
    )
    whole, fill = near_optimal_set(problem, "50%"), TreeSet._fill

    def ends(self, *given):
        nonlocal calls
        calls -= 1
        if calls < 0:
            raise KeyboardInterrupt
        fill(self, *given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TreeSet, "_fill", ends)
        found = near_optimal_set(problem, "50%", known=known)
    every = dict(whole.facts["objectives"])
    for cost, trees in found.facts["objectives"]:
        assert trees <= next(many for value, many in every.items() if value == pytest.approx(cost, abs=1e-8))
    assert found.complete or found.facts["objectives"][0][0] == pytest.approx(found.facts["best"], abs=1e-8)
    drawn = {json.dumps(tree.to_json()) for tree in found.trees}
    if whole.facts["sample"]["whole"]:
        assert drawn <= {json.dumps(tree.to_json()) for tree in whole.trees}


def test_what_cannot_be_counted_is_refused(tmp_path):
    assert Within.of("5%") == Within(0.05, True) and Within.of(2) == Within(2.0)
    for given_within in ("x", "-1", "nan", "inf%"):
        with pytest.raises(ChoiceError, match="--within"):
            Within.of(given_within)
    said = command("fit", MONKS / "monks-1.csv", "--model", "flowoct", "--within", 1, "-o", "n", folder=tmp_path)
    assert said.code == 2 and "dpflow" in said.err and not list(tmp_path.glob("n.*"))


def test_trees_of_an_earlier_run_do_not_pass_for_those_of_this_one(tmp_path):
    words = ("fit", MONKS / "monks-1.csv", "--depth", 1, "--encoding", "onehot", "-o", "m")
    command(*words, "--within", "2", folder=tmp_path)
    assert (tmp_path / "m.near-optimal.json").is_file()
    command(*words, "--class-weight", "0=2,1=1", folder=tmp_path)
    assert not (tmp_path / "m.near-optimal.json").exists() and (tmp_path / "m.tree.json").is_file()

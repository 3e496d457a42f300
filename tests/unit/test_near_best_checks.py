"""The check of near-optimal trees: each single wrong figure is reported, and so is each one without a proof."""

import copy
import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import odtc
from odtc.errors import TreeError
from odtc.problem.constraints.constraint import broken, parse
from odtc.trees.heap_tree import HeapTree, settle
from odtc.workflow.near_optimal import near_optimal
from odtc.workflow.near_optimal_set import near_optimal_set
from odtc.workflow.provenance import near_best
from odtc.workflow.provenance.near_best import (
    _columns_differ,
    _heap,
    _wrong_best,
    _wrong_pool,
    _wrong_set,
    _wrong_sums,
    _wrong_trees,
    check_near_best,
)
from tests import pipeline

OTHERS = "that no other tree is as good as one of these is stated by the run, and was not recomputed"


@pytest.fixture(scope="module")
def done():
    random = np.random.default_rng(4)
    X = random.integers(0, 2, (24, 3)).astype(float)
    y = (X[:, 0] + X[:, 1] == 1) ^ (random.random(24) < 0.25)
    return odtc.fit(X, y.astype(int), "dpflow", depth=2, encoding="onehot")


@pytest.fixture(scope="module")
def pool(done):
    return near_optimal(done.problem, 7)


def with_trees(pool, at):
    return replace(pool, trees=tuple(pool.trees[i] for i in at), objectives=tuple(pool.objectives[i] for i in at))


def test_a_true_pool_is_true_and_without_a_search_its_word(done, pool):
    assert len(set(pool.objectives)) > 1 and not pool.complete
    assert _wrong_pool(done, pool, 5) == ("", "") and _wrong_pool(done, pool, 0) == ("", OTHERS)
    assert _wrong_pool(done, with_trees(pool, [0]), 5) == ("", "")
    whole = near_optimal(done.problem, 10**4)
    assert whole.complete and _wrong_pool(done, whole, 5) == ("", "")
    near = near_optimal(done.problem, 10**4, pool.objectives[3] - pool.objectives[0])
    assert near.complete and near.limit == pool.objectives[3] and _wrong_pool(done, near, 5) == ("", "")
    word = "the run claims that these are all trees within the requested bound, but it states no bound"
    assert _wrong_pool(done, replace(near, limit=None), 5) == ("", word)
    assert _wrong_pool(done, replace(near, limit=None), 0) == ("", OTHERS)
    low, high = (_wrong_pool(done, replace(near, limit=near.limit + more), 5)[0] for more in (-0.5, 50))
    assert low.startswith(f"it holds a tree of {near.limit:g}, and its limit is ") and high.startswith("a further tree")


def test_a_pool_with_one_false_figure_is_false(done, pool):
    n, unequal = len(pool.trees), next(at for at in range(1, 6) if pool.objectives[at] != pool.objectives[at + 1])
    order = [*range(n)]
    order[unequal], order[unequal + 1] = unequal + 1, unequal
    told = pool.objectives
    for forged, words in (
        (replace(pool, objectives=(told[0] - 1, *told[1:])), "its tree 1 costs"),
        (replace(pool, objectives=(*told[:-1], told[-1] + 1)), f"its tree {n} costs"),
        (with_trees(pool, [0, 0, *range(2, n)]), "it holds a tree twice"),
        (with_trees(pool, order), "its trees are not in the order of their objectives"),
        (with_trees(pool, []), "it holds no tree"),
        (replace(pool, at_least=n - 1), f"it states {n - 1} trees, complete: False, and holds {n}"),
        (replace(pool, at_least=n + 1, complete=True), f"it states {n + 1} trees, complete: True, and holds {n}"),
    ):
        assert _wrong_pool(done, forged, 0)[0].startswith(words), words
    assert _wrong_pool(done, replace(pool, at_least=n + 1), 0) == ("", OTHERS)
    without = [at for at in range(n) if at != unequal]
    wrong, word = _wrong_pool(done, with_trees(replace(pool, at_least=n), without), 5)
    assert wrong.startswith("its tree ") and "-th best costs" in wrong and not word
    whole = near_optimal(done.problem, 10**4)
    fewer = replace(done.problem, topology=type(done.problem.topology)(1))
    shallow = near_optimal(fewer, 10**4)
    beside = SimpleNamespace(problem=fewer, proof=SimpleNamespace(objective=None, bound=None))
    assert _wrong_pool(beside, whole, 5)[0].startswith("its tree ")  # deeper than those of the run
    assert _wrong_pool(beside, shallow, 5) == ("", "")


def test_a_best_tree_is_held_against_the_run(done):
    for objective, bound, best, words in (
        (None, None, 3.0, ""),
        (5.0, 4.0, 5.0, ""),
        (5.0, 5.0, 5.0, ""),
        (5.0, 4.0, 4.0, ""),
        (5.0, 4.5, 4.0, "its best tree costs 4, and the run says that none costs less than 4.5"),
        (5.0, None, 6.0, "its best tree costs 6, and the tree of the run 5"),
        (None, 4.5, 4.0, "its best tree costs 4, and the run says that none costs less than 4.5"),
    ):
        run = SimpleNamespace(problem=done.problem, proof=SimpleNamespace(objective=objective, bound=bound))
        assert _wrong_best(run, best) == words


def test_a_set_with_one_false_sum_is_false(done):
    near = near_optimal_set(done.problem, 3.0)
    assert _wrong_set(done, near, 5) == ("", "") and _wrong_sums(near, done.problem) == ""
    assert _wrong_set(done, near, 0)[1] == "how many trees there are is stated by the run, and was not recomputed"

    def forged(**words):
        facts = copy.deepcopy(near.facts)
        for key, change in words.items():
            facts[key] = change(facts[key])
        return replace(near, facts=facts)

    def more(pairs):
        return [[pairs[0][0], pairs[0][1] + 1], *pairs[1:]]

    for other, words in (
        (forged(best=lambda best: best + 1), "it holds a tree of"),
        (forged(limit=lambda limit: limit - 2), "it holds a tree of"),
        (forged(count=lambda count: count + 1), "it states"),
        (forged(leaves=more), "it states"),
        (forged(objectives=more), "it states"),
        (forged(objectives=lambda pairs: [[pairs[0][0] + 1, pairs[0][1]], *pairs[1:]]), "it lists a tree of"),
        (forged(count=lambda n: n + 1, leaves=more, objectives=more), "its graph has"),
    ):
        assert _wrong_sums(other, done.problem).startswith(words), words
    assert _wrong_sums(forged(graph=lambda graph: None), done.problem) == ""
    best = near.facts["best"]
    for kept in ([one > best for one in near.objectives], [False] * len(near.objectives)):  # a sample of some trees
        some = [at for at, there in enumerate(kept) if there]
        sample = replace(
            near, trees=tuple(near.trees[i] for i in some), objectives=tuple(near.objectives[i] for i in some)
        )
        assert _wrong_sums(sample, done.problem) == ""
    assert _wrong_set(done, forged(depth=lambda depth: depth + 1), 5)[0].startswith("counted again, depth differ")
    assert _wrong_set(done, forged(graph=lambda graph: None), 5) == ("", "")  # whether there is one is a matter of time
    assert _wrong_set(done, forged(complete=lambda told: False), 5)[1].startswith(
        "the number of trees is claimed by the run"
    )


def test_a_tree_of_a_problem_without_its_data_set_is_found_by_its_tests(done, pool):
    bare = replace(done.problem, encoded=replace(done.problem.encoded, dataset=None))
    for tree in pool.trees:
        one, two = _heap(done.problem, tree), _heap(bare, tree)
        assert np.array_equal(one.split[one.split >= 0], two.split[two.split >= 0])
        reached = one.reach(done.problem.encoded.X)
        assert np.array_equal(one.label[reached], two.label[two.reach(bare.encoded.X)])
    tree = next(tree for tree in pool.trees if tree.depth == 2)
    features = tuple(replace(one, name=f"other {one.name}") for one in tree.features)
    shallow = replace(bare, topology=type(bare.topology)(1))
    for problem, other, words in (
        (bare, replace(tree, features=features), "other columns or classes, or is deeper"),
        (bare, replace(tree, classes=("a", "b")), "other columns or classes, or is deeper"),
        (shallow, tree, "other columns or classes, or is deeper"),
        (
            replace(bare, encoded=replace(bare.encoded, splits=bare.encoded.splits[:0])),
            tree,
            "which is not a split of this run",
        ),
    ):
        with pytest.raises(TreeError, match=words):
            _heap(problem, other)


@pytest.mark.parametrize("scheme", ["onehot", "auto"])
def test_such_a_tree_is_found_whichever_side_its_tests_call_the_left_one(scheme):
    random = np.random.default_rng(6)
    frame = pd.DataFrame({"n": random.integers(0, 5, 30), "c": random.choice(list("uvw"), 30)})
    frame["y"] = np.where((frame.n > 2) ^ (frame.c == "u") ^ (random.random(30) < 0.2), "p", "q")
    posed = pipeline.pose(odtc.read(frame), "dpflow", 2, encoding=scheme)
    bare = replace(posed, encoded=replace(posed.encoded, dataset=None))
    for tree in near_optimal(posed, 12).trees:
        one, two = _heap(posed, tree), _heap(bare, tree)
        said = one.label[one.reach(posed.encoded.X)]
        assert np.array_equal(said, two.label[two.reach(posed.encoded.X)])
        assert np.array_equal(said[posed.encoded.row_of], tree.predict(posed.encoded.dataset.X))


def test_a_file_without_trees_is_refused(done, tmp_path):
    (tmp_path / "m.pool.json").write_text("{}")
    with pytest.raises(TreeError):
        check_near_best(done, tmp_path / "m.pool.json", 0)


def write(folder, name, found):
    (folder / name).write_text(json.dumps(found.facts if name.endswith(".near-optimal.json") else found.to_json()))
    return folder / name


def test_a_file_is_named_in_what_is_held_and_in_what_is_the_word_of_the_run(done, pool, tmp_path):
    near = near_optimal_set(done.problem, 2.0)
    for found, kind, word in (
        (pool, "pool", OTHERS),
        (near, "near-optimal", "how many trees there are is stated by the run, and was not recomputed"),
    ):
        path = write(tmp_path, f"m.{kind}.json", found)
        text = f"m.{kind}.json: its {len(found.trees)} trees have the counts and the costs that it states"
        for seconds, said in ((0, f"m.{kind}.json: {word}"), (-1, f"m.{kind}.json: {word}"), (5, ""), (None, "")):
            check, told = check_near_best(done, path, seconds)
            assert (check.name, check.passed, check.text, told) == (kind, True, text, said)
        facts = json.loads(path.read_text())
        (facts["trees"] if kind == "pool" else facts["sample"]["trees"])[0]["objective"] -= 1
        path.write_text(json.dumps(facts))
        check, told = check_near_best(done, path, 0)
        assert not check.passed and check.text.startswith(f"m.{kind}.json: its tree 1 costs ") and told == ""


@pytest.mark.parametrize("where", ["problem", "run", "neither", "the rows that are posed, not those of the run"])
def test_what_trees_of_selected_rows_cost_is_the_word_of_the_run(done, pool, where, tmp_path):
    rows = done.problem.encoded.dataset
    some = replace(rows, selected=SimpleNamespace(whole=rows, rows=np.arange(rows.n_rows)))
    posed = {"problem": some, "run": None, "neither": None}.get(where, rows)
    problem = replace(done.problem, encoded=replace(done.problem.encoded, dataset=posed))
    of_run = {"problem": rows, "neither": None}.get(where, some)
    run = SimpleNamespace(problem=problem, dataset=of_run, proof=done.proof)
    trees = pool.trees if posed is not None else tuple(tree.with_curves([()] * tree.n_leaves) for tree in pool.trees)
    path = write(tmp_path, "m.pool.json", replace(pool, trees=trees))
    check, told = check_near_best(run, path, 0)
    assert check.passed and check.name == "pool"
    if where in ("problem", "run"):
        assert check.text == f"m.pool.json: a list of {len(trees)} trees"
        assert told == (
            "m.pool.json: the costs of its trees on the selected rows are stated by the run, and were not recomputed"
        )
    else:
        assert check.text.endswith("have the counts and the costs that it states") and told.endswith(OTHERS)


def test_a_pool_that_holds_more_trees_than_there_are_is_false(done):
    """A tree whose last test says the same on both sides is none of the ranked ones."""
    problem, whole = done.problem, near_optimal(done.problem, 10**4)
    told = {json.dumps(tree.to_json(), sort_keys=True) for tree in whole.trees}
    test = np.full(8, -1, np.int32)
    test[1] = 0
    settled = settle(test, problem.encoded, None)
    heap = HeapTree(settled.split, np.where(settled.label >= 0, 0, -1).astype(np.int32))
    more, paid = heap.to_tree(problem.encoded), problem.module.objective(problem, heap)
    assert json.dumps(more.to_json(), sort_keys=True) not in told
    at = sum(cost <= paid for cost in whole.objectives)
    trees = (*whole.trees[:at], more, *whole.trees[at:])
    costs = (*whole.objectives[:at], paid, *whole.objectives[at:])
    forged = replace(whole, trees=trees, objectives=costs, at_least=len(trees))
    wrong = f"there are {len(told)} such trees, and it holds {len(trees)}"
    assert _wrong_pool(done, forged, 5) == (wrong, "") and _wrong_pool(done, forged, 0) == ("", OTHERS)


def test_a_search_that_is_not_through_derives_nothing(done, pool, monkeypatch):
    whole = near_optimal(done.problem, 10**4)
    half = replace(whole, trees=whole.trees[:3], objectives=whole.objectives[:3], complete=False)
    for again in (half, replace(half, trees=(), objectives=())):
        monkeypatch.setattr(near_best, "near_optimal", lambda *words, again=again: again)
        assert _wrong_pool(done, whole, 5) == ("", OTHERS)
    near, within = near_optimal_set(done.problem, 3.0), near_optimal(done.problem, 10**4, 3.0)
    stopped = replace(whole, trees=within.trees, objectives=within.objectives, complete=False)
    monkeypatch.setattr(near_best, "near_optimal", lambda *words: stopped)
    word = f"that no further tree costs at most {within.limit:.10g} is stated by the run, and was not recomputed"
    assert _wrong_pool(done, within, 5) == ("", word)
    fewer = replace(near, facts=near.facts | {"complete": False, "count": near.facts["count"] - 1})
    monkeypatch.setattr(near_best, "near_optimal_set", lambda *words: fewer)
    word = "how many trees there are is stated by the run, and was not recomputed"
    assert _wrong_set(done, near, 5) == ("", word)
    for other in (odtc.errors.ChoiceError("no"), odtc.errors.TimeLimitReached()):

        def ended(*words, other=other):
            raise other

        monkeypatch.setattr(near_best, "near_optimal", ended)
        monkeypatch.setattr(near_best, "near_optimal_set", ended)
        assert _wrong_set(done, near, 5) == ("", word) and _wrong_pool(done, pool, 5) == ("", OTHERS)


@pytest.mark.parametrize("within", [0.0, 0.5, 2.0])
def test_a_set_is_counted_again_within_what_it_states_and_with_its_seed(done, within, monkeypatch):
    near, asked = near_optimal_set(done.problem, within, seed=3), []
    monkeypatch.setattr(near_best, "near_optimal_set", lambda *words: asked.append(words) or near)
    assert _wrong_set(done, near, 4) == ("", "") == _wrong_set(done, near, 0.5)
    assert [words[1:] for words in asked] == [(within, 4, None, 3), (within, 0.5, None, 3)]
    assert [words[0] is done.problem for words in asked] == [True, True]


def test_what_is_false_without_a_search_is_false_of_a_set(done):
    near = near_optimal_set(done.problem, 3.0)
    for words, start in (
        ({"count": near.facts["count"] + 1}, "it states "),
        ({"best": near.facts["best"] + 1, "limit": near.facts["limit"] + 1}, "its best tree costs "),
    ):
        wrong, word = _wrong_set(done, replace(near, facts=near.facts | words), 0)
        assert wrong.startswith(start) and word == ""


def test_a_set_of_no_trees_has_no_false_sum(done):
    near = near_optimal_set(done.problem, 3.0)
    facts = near.facts | {"objectives": [], "leaves": [], "count": 0, "graph": None}
    none = replace(near, facts=facts, trees=(), objectives=())
    assert none.graph is None and _wrong_sums(none, done.problem) == ""
    assert _wrong_sums(replace(none, facts=facts | {"count": 1}), done.problem).startswith(
        "it states 1 tree, and lists 0 by"
    )


def test_a_list_of_costs_that_is_cut_short_need_not_hold_all_trees(done, monkeypatch):
    near = near_optimal_set(done.problem, 3.0)
    listed = near.facts["objectives"]
    short = replace(near, facts=near.facts | {"objectives": listed[:2]})
    assert len(listed) > 2
    for most, wrong in ((1, False), (2, False), (3, True)):
        monkeypatch.setattr(near_best, "MAX_FILE_LINES", most)
        assert bool(_wrong_sums(short, done.problem)) == wrong


def test_a_tree_of_a_list_that_breaks_a_constraint_is_named(done, pool):
    given = parse("features <= 1", done.problem.encoded)
    problem = replace(done.problem, constraints=(given,))
    breaks = [
        bool(broken(problem, HeapTree.from_tree(tree, problem.encoded, problem.topology, True, True)))
        for tree in pool.trees
    ]
    assert True in breaks
    wrong = _wrong_trees(problem, pool.trees, pool.objectives)
    assert wrong == f"its tree {breaks.index(True) + 1} does not satisfy features <= 1"
    kept = [at for at, one in enumerate(breaks) if not one]
    some = with_trees(pool, kept)
    assert _wrong_trees(problem, some.trees, some.objectives) == ""


def test_a_file_of_another_name_and_schema_holds_no_trees(done, tmp_path):
    (tmp_path / "m.json").write_text('{"schema": "another"}')
    with pytest.raises(TreeError, match="expected near-optimal trees in .*, found none"):
        check_near_best(done, tmp_path / "m.json", 0)


def test_figures_that_differ_by_rounding_contradict_nothing(done, pool):
    at = next(at for at in range(6) if pool.objectives[at] == pool.objectives[at + 1])
    costs = list(pool.objectives)
    costs[at] = np.nextafter(costs[at], np.inf)
    assert costs[at] > costs[at + 1] and _wrong_pool(done, replace(pool, objectives=tuple(costs)), 5) == ("", "")
    near = near_optimal_set(done.problem, 3.0)
    least, most = min(near.objectives), max(near.objectives)
    for words in ({"best": np.nextafter(least, np.inf)}, {"limit": np.nextafter(most, 0)}):
        assert _wrong_sums(replace(near, facts=near.facts | words), done.problem) == ""
    for words in ({"best": least + 1e-9}, {"limit": most - 1e-9}):
        assert _wrong_sums(replace(near, facts=near.facts | words), done.problem).startswith("it holds a tree of ")


def test_less_than_a_second_is_enough_to_search(done, pool):
    assert _wrong_pool(done, pool, 0.9) == ("", "")
    assert _wrong_set(done, near_optimal_set(done.problem, 2.0), 0.9) == ("", "")


def test_other_columns_are_other_ones_whatever_is_known_of_them():
    nothing = {"trees": None, "reliance": None}
    names = [[nothing | {"name": name} for name in columns] for columns in ("ab", "ac", "a")]
    for there in names:
        for here in names:
            assert _columns_differ(there, here, False) == (there is not here)


def test_the_tree_that_is_not_the_best_of_its_place_is_named(done, pool):
    """Left out is the last tree before the costs rise, so the one in its place costs more than it may."""
    at = next(at for at in range(6) if pool.objectives[at] < pool.objectives[at + 1])
    rest = [one for one in range(len(pool.trees)) if one != at]
    wrong, _ = _wrong_pool(done, with_trees(replace(pool, at_least=len(rest)), rest), 5)
    assert wrong.startswith(f"its tree {at + 1} costs {pool.objectives[at + 1]:.10g}, and the {at + 1}-th best costs")


def test_without_the_data_the_tests_of_columns_that_part_rows_alike_are_not_known():
    frame = pd.DataFrame({"a": [0, 0, 1, 1] * 3, "b": [1, 1, 0, 0] * 3, "c": [0, 1, 0, 1] * 3, "y": [0, 1, 1, 0] * 3})
    problem = pipeline.pose(odtc.read(frame), "dpflow", 1, encoding="onehot")
    near = near_optimal_set(problem, 2.0)
    run = SimpleNamespace(problem=problem, proof=SimpleNamespace(objective=None, bound=None))
    assert _wrong_set(run, near, 0)[0] == ""
    bare = SimpleNamespace(problem=replace(problem, encoded=replace(problem.encoded, dataset=None)), proof=run.proof)
    word = "its trees are claimed by the run: the data is not there to check their splits"
    assert _wrong_set(bare, near, 5) == ("", word)


def test_trees_over_tests_that_the_encoding_holds_as_those_of_another_column_are_of_their_own(tmp_path):
    """b asks what a asks: a tree of b holds the counts of the data as well, and costs as much."""
    frame = pd.DataFrame({"a": [0, 0, 1, 1] * 3, "b": [1, 1, 0, 0] * 3, "c": [0, 1, 0, 1] * 3, "y": [0, 0, 1, 1] * 3})
    problem = pipeline.pose(odtc.read(frame), "dpflow", 1, encoding="onehot")
    near = near_optimal_set(problem, 0.0)
    asked = {tree.features[tree.root.split.features[0]].name for tree in near.trees}
    assert asked == {"a", "b"}
    assert _wrong_trees(problem, near.trees, near.objectives) == ""


def test_trees_of_a_manifest_are_compared_without_the_curves_that_need_each_row(tmp_path):
    random = np.random.default_rng(2)
    frame = pd.DataFrame({"a": random.integers(0, 2, 20), "b": random.integers(0, 2, 20)})
    frame["t"], frame["e"] = random.integers(1, 9, 20), random.integers(0, 2, 20)
    problem = pipeline.pose(odtc.read(frame, time="t", event="e", task="survival"), "dpflow", 1)
    heap = settle(np.array([-1, 0, -1, -1], np.int32), problem.encoded)
    tree, paid = heap.to_tree(problem.encoded), problem.module.objective(problem, heap)
    assert all(leaf.curve for leaf in tree.leaves())
    for dataset in (problem.encoded.dataset, None):
        posed = replace(problem, encoded=replace(problem.encoded, dataset=dataset))
        assert _wrong_trees(posed, [tree], [paid]) == ""
    bent = tree.with_curves([((1.0, 0.5),)] * tree.n_leaves)
    assert _wrong_trees(problem, [bent], [paid]) == "its tree 1 has counts that differ from the data"


def test_trees_that_cost_a_little_more_are_not_among_the_best():
    """A tree that costs 1e-10 more counted as equally good, in the set and in the pool."""
    table = pd.DataFrame({"a": [0, 0, 1, 1], "b": [0, 1, 1, 0], "y": [0, 0, 1, 1], "w": [2, 1.0000000001, 2, 1.0]})
    table.loc[1, "y"] = 1  # a is wrong on the second row, b on the last one
    run = odtc.fit(table, "dpflow", depth=1, target="y", weights="w")
    assert run.proof.objective == 1.0
    for within, count in ((0.0, 1), (9e-11, 1), (1e-10, 2), (1.1e-10, 2)):
        assert near_optimal_set(run.problem, within).count == count
        assert len(near_optimal(run.problem, 9, within).trees) == count

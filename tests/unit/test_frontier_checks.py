"""The check of a frontier, against the definition over drawn trees: its points, bounds and header."""

import copy
import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import odtc
from odtc.base import deadline
from odtc.errors import ChoiceError, TimeLimitReached, TreeError
from odtc.problem.constraints.constraint import broken, parse
from odtc.trees.heap_tree import settle
from odtc.workflow.constrained.frontier import Point, frontier, frontier_facts, loosest_first, tightening, varied
from odtc.workflow.provenance import frontier_file
from odtc.workflow.provenance.frontier_file import (
    MET,
    _contradicted,
    _not_derived,
    _note,
    _points,
    _same,
    _searched_again,
    _shown,
    _trees,
    read_frontier,
    recheck_frontier,
)
from odtc.workflow.provenance.searched_again import least_objective
from tests import pipeline

VARIED = {"rising": "recall[1] >= 0.3:0.9:0.3", "falling": "false_positive_rate[1] <= 0:0.6:0.2"}


def rows(seed=3, n=30):
    random = np.random.default_rng(seed)
    X = random.integers(0, 2, (n, 3))
    y = (X[:, 0] + X[:, 1] == 1) ^ (random.random(n) < 0.3)
    return pd.DataFrame(X, columns=list("abc")).assign(y=y.astype(int))


def posed(*constraints):
    return pipeline.pose(odtc.read(rows()), "dpflow", 2, encoding="onehot", constraints=constraints)


@pytest.fixture(scope="module", params=VARIED)
def curve(request):
    problem, texts = posed("features <= 2"), varied(VARIED[request.param])
    points = frontier(problem, texts, None)
    rising = [parse(text, problem.encoded) for text in texts]
    given = tightening(rising, rising[0].op)
    return SimpleNamespace(
        problem=problem, texts=texts, given=given, points=loosest_first(points), stated=stated(problem, points)
    )


def stated(problem, points):
    """What a file says of the points, the loosest first."""
    return [
        facts | {"tree": None if point.heap is None else point.heap.to_tree(problem.encoded).to_json()}
        for facts, point in zip(frontier_facts(problem, points), loosest_first(points))
    ]


def drawn_trees(problem, count, seed=0):
    random = np.random.default_rng(seed)
    for at in range(count):
        test = np.full(8, -1, np.int32)
        test[1:4] = random.integers(-1, problem.encoded.n_candidate_splits, 3)
        if test[1] < 0:
            test[2:4] = -1
        tree = settle(test, problem.encoded, None)
        label = np.where(tree.label >= 0, random.integers(0, 2, 8), -1).astype(np.int32)
        yield f"tree {at}", replace(tree, label=label)


def test_the_points_of_a_search_are_true(curve):
    points, wrong = _points(curve.problem, curve.given, curve.stated)
    assert wrong == "" and [str(one.constraint) for one in points] == [str(one) for one in curve.given]
    for one, own in zip(points, curve.points):
        assert (one.objective, one.bound, one.searched) == (own.objective, own.bound, own.searched)
    assert any(one.heap is not None for one in points)
    loose = [one.objective for one in points if one.heap is not None]
    assert loose == sorted(loose)


@pytest.mark.parametrize("key", ["requested", "reached", "ended", "objective", "price"])
def test_each_figure_of_each_point_is_held_against_its_tree(curve, key):
    for at, one in enumerate(curve.stated):
        if one["tree"] is None and key != "ended":
            continue
        for other in ("open" if key == "ended" else (one[key] or 0.0) + 0.25, None):
            if other == one[key]:
                continue
            forged = copy.deepcopy(curve.stated)
            forged[at][key] = other
            points, wrong = _points(curve.problem, curve.given, forged)
            assert points == [] and wrong.startswith(f"of {curve.given[at]} it states the {key} "), wrong
        if isinstance(one[key], float):
            forged = copy.deepcopy(curve.stated)
            forged[at][key] = one[key] * (1 + 2**-51)
            assert _points(curve.problem, curve.given, forged)[1] == ""


def test_a_tree_that_is_of_another_point_or_of_other_rows_is_refused(curve):
    problem, given = curve.problem, curve.given
    whole = [at for at, one in enumerate(curve.stated) if one["tree"] is not None]
    for at in whole:
        for name, tree in drawn_trees(problem, 12, at):
            forged = copy.deepcopy(curve.stated)
            forged[at]["tree"] = tree.to_tree(problem.encoded).to_json()
            wrong = _points(problem, given, forged)[1]
            value = given[at].module.value(problem.encoded, given[at], tree)
            if broken(problem, tree):
                assert "does not satisfy features <= 2" in wrong
            elif not given[at].holds(value):
                assert wrong == f"the tree of {given[at]} has {given[at].shown(value)} of it"
            elif problem.module.objective(problem, tree) != curve.stated[at]["objective"]:
                assert wrong.startswith(f"of {given[at]} it states the "), name
        forged = copy.deepcopy(curve.stated)
        node = forged[at]["tree"]["root"]
        while "left" in node:
            node = node["right"]
        node["rows"][1] += 1
        assert _points(problem, given, forged)[1].endswith("has counts that differ from the data")


def test_a_looser_number_costs_no_more_and_has_a_tree_if_a_tighter_one_has(curve):
    """Of points that are true of their trees: that of a looser number is swapped for another one, or left out."""
    problem, points = curve.problem, [replace(one, searched=True) for one in curve.points]
    costs = [one.objective for one in points]
    for at in range(len(points) - 1):
        if points[at + 1].heap is None:
            continue
        none = replace(points[at], heap=None, objective=None, bound=None)
        kept = [
            tree
            for _, tree in drawn_trees(problem, 60, at)
            if not broken(problem, tree) and held(points[at], problem, tree)
        ]
        dear = max(kept, key=lambda tree: problem.module.objective(problem, tree))
        paid = problem.module.objective(problem, dear)
        for other in (none, replace(points[at], heap=dear, objective=paid, bound=paid)):
            forged = [*points[:at], other, *points[at + 1 :]]
            in_order = forged if points[0].constraint.op == ">=" else forged[::-1]
            wrong = _points(problem, curve.given, stated(problem, in_order))[1]
            if other.heap is None:
                pairs = zip(forged, forged[1:])
                tight = next(two for one, two in pairs if one.heap is None and two.heap is not None)
                assert (
                    wrong
                    == f"it has no tree for {none.constraint}, although the tree of {tight.constraint} satisfies it"
                )
            else:
                assert ("costs less than the tree of" in wrong) == (paid > costs[at + 1] + 1e-6)


def held(point, problem, tree):
    return point.constraint.holds(point.constraint.module.value(problem.encoded, point.constraint, tree))


@pytest.mark.parametrize("words", [(), ("leaf_rows >= 6",), ("features <= 1",)], ids=str)
@pytest.mark.parametrize("kind", VARIED)
def test_a_bound_is_contradicted_exactly_by_a_tree_that_keeps_all_and_costs_less(kind, words):
    problem = posed(*words)
    rising = [parse(text, problem.encoded) for text in varied(VARIED[kind])]
    given = tightening(rising, rising[0].op)
    random, seen, least = np.random.default_rng(7), set(), problem.module.least_rows(problem)
    trees = list(drawn_trees(problem, 60))
    for name, tree in trees:
        paid = problem.module.objective(problem, tree)
        for more in (-1.0, 0.0, 1e-10, 1.0, None):
            at = int(random.integers(len(given)))
            # The others have a bound of nothing, which no tree is below.
            points = [Point(one, None, None, 0.0, True) for one in given]
            points[at] = replace(points[at], bound=None if more is None else paid + more)
            counts = not broken(problem, tree) and tree.fewest_rows(problem.encoded) >= least
            contradicts = counts and held(points[at], problem, tree) and more in (1.0, None)
            said = _contradicted(problem, points, [(name, tree)])
            assert bool(said) == contradicts
            if contradicts:
                lead = "it states that no tree satisfies" if more is None else "it states that no tree that satisfies"
                assert said.startswith(f"{lead} {given[at]}") and name in said
            seen.add((contradicts, more))
    assert (True, 1.0) in seen and (True, None) in seen and (False, 1.0) in seen
    # The first tree that counts is named, whatever stands before it.
    points = [Point(one, None, None, 1e6, True) for one in given]
    first = next(
        name
        for name, tree in trees
        if not broken(problem, tree) and tree.fewest_rows(problem.encoded) >= least and held(points[0], problem, tree)
    )
    assert f" and {first} costs " in _contradicted(problem, points, trees)


def test_a_bound_is_derived_if_a_search_or_the_equivalent_points_reach_it(curve):
    problem, floor = curve.problem, least_objective(curve.problem)
    for own in (None, 0.0, floor, floor + 2, floor + 5):
        for said in (None, floor - 1, floor, floor + 1e-10, floor + 2, floor + 3, floor + 5, floor + 6):
            for again in (True, False):
                points = [Point(one, None, None, said, True) for one in curve.given]
                found = [replace(one, bound=own) for one in points] if again else []
                reached = max(own, floor) if again and own is not None else floor
                none_left = again and own is None  # no tree keeps it, so a tree would have contradicted any bound
                derived = none_left or (said is not None and said <= reached + 1e-9)
                assert _not_derived(problem, points, found) == (() if derived else tuple(map(str, curve.given)))
    points = [Point(one, None, None, floor + at, True) for at, one in enumerate(curve.given)]
    assert _not_derived(problem, points, []) == tuple(map(str, curve.given[1:]))
    assert _not_derived(problem, points, points) == ()


def test_trees_are_named_by_their_numbers(curve):
    named = _trees(curve.points, "the tree of {}")
    assert named == [(f"the tree of {one.constraint}", one.heap) for one in curve.points if one.heap is not None]
    assert {name for name, _ in _trees(curve.points, MET)} == {MET}


def test_a_search_again_has_the_loosest_first_and_none_without_time(curve):
    assert _searched_again(curve.problem, curve.texts, 0) == [] == _searched_again(curve.problem, curve.texts, -1.0)
    found = _searched_again(curve.problem, curve.texts, 5.0)
    assert [(str(one.constraint), one.objective) for one in found] == [
        (str(one.constraint), one.objective) for one in curve.points
    ]


@pytest.mark.parametrize(
    ("here", "told", "same"),
    [
        (1.0, 1.0 + 2**-51, True),
        (1.0, 1.0 + 1e-12, False),
        (1.0, 1, True),
        (1.0, 1.01, False),
        (0.0, 1e-4, False),
        (1.0, None, False),
        (None, 1.0, False),
        (None, None, True),
        (True, True, True),
        (False, 0.0, True),
        ("open", "open", True),
        ("open", "optimal", False),
        ("1", 1, False),
        (True, 1 + 2**-51, False),
    ],
)
def test_figures_are_the_same_up_to_rounding_and_words_as_they_are(curve, here, told, same):
    assert _same(curve.problem, here, told) == same
    assert [_shown(one) for one in (None, 0.1 + 0.2, "open", True, 3)] == ["none", "0.3", "open", "True", "3"]


def test_the_note_names_the_numbers_and_is_none_for_none(tmp_path):
    assert _note(tmp_path / "m.frontier.json", []) == ""
    said = _note(tmp_path / "m.frontier.json", ["recall[1] >= 0.5"])
    assert said.startswith("m.frontier.json: that no tree costs less") and "for 'recall[1] >= 0.5' (" in said


@pytest.mark.parametrize("kind", VARIED)
def test_a_file_is_checked_by_its_data_beside_a_run_of_the_same_data_alone(kind, tmp_path):
    rows().to_csv(tmp_path / "d.csv", index=False)
    rows(4).to_csv(tmp_path / "other.csv", index=False)
    data, other = odtc.read(tmp_path / "d.csv"), odtc.read(tmp_path / "other.csv")
    odtc.frontier(data, vary=VARIED[kind], depth=1).write(tmp_path / "m")
    path = tmp_path / "m.frontier.json"
    for beside in (None, data, replace(data, source={})):
        done = recheck_frontier(path, None, 0, beside)
        assert [(one.name, one.passed) for one in done.checks] == [
            ("frontier", True),
            ("trees", True),
            ("bounds", True),
        ]
        assert bool(done.claimed) == bool(done.note) and done.vary == VARIED[kind]
        assert f": {len(varied(VARIED[kind]))} numbers, trees of depth 1 over the " in done.checks[0].text
        assert " on 30 rows of d" in done.checks[0].text
    assert recheck_frontier(path).claimed == () == recheck_frontier(path, None, 5.0).claimed
    done = recheck_frontier(path, None, 0, other)
    assert [(one.name, one.passed) for one in done.checks] == [("frontier", False)]
    assert done.checks[0].text.endswith(f"and this run from one with {other.source['sha256'][:12]}…")
    moved = tmp_path / "there" / "d.csv"
    moved.parent.mkdir()
    (tmp_path / "d.csv").rename(moved)
    with pytest.raises(TreeError, match="is not there"):
        recheck_frontier(path, None, 0)
    assert all(one.passed for one in recheck_frontier(path, moved, 0).checks)
    with pytest.raises(TreeError, match="its SHA-256 is another"):
        recheck_frontier(path, tmp_path / "other.csv", 0)
    with pytest.raises(TreeError, match="cannot read the frontier"):
        read_frontier(tmp_path / "none.frontier.json")


def test_what_is_false_without_a_search_is_refused_without_one(tmp_path):
    rows().to_csv(tmp_path / "d.csv", index=False)
    odtc.frontier(odtc.read(tmp_path / "d.csv"), vary=VARIED["rising"], depth=1).write(tmp_path / "m")
    path = tmp_path / "m.frontier.json"
    facts = json.loads(path.read_text())
    first, last = facts["points"][0], facts["points"][-1]
    lower = [one | {"bound": None if one["bound"] is None else one["bound"] - 1} for one in facts["points"]]
    for words, check, said in (
        ({"points": facts["points"][1:]}, "frontier", "its points are not the points of "),
        ({"points": facts["points"][::-1]}, "frontier", "its points are not the points of "),
        ({"points": [*facts["points"], last]}, "frontier", "its points are not the points of "),
        ({"points": [first | {"constraint": last["constraint"]}, *facts["points"][1:]]}, "frontier", "its points are"),
        ({"depth": 2}, "frontier", "its 'depth' differs from its data"),
        ({"data": "no"}, "frontier", "its 'data' differs from its data"),
        ({"constraints": ["leaves <= 2"]}, "frontier", "its 'constraints' differs from its data"),
        ({"source": facts["source"] | {"n_rows": 7}}, "frontier", "of its data it states another 'n_rows' than the"),
        ({"source": facts["source"] | {"more": 7}}, "frontier", "of its data it states another 'more' than the"),
        ({"points": lower}, "trees", f"of {first['constraint']} it states the ended optimal, and it is open"),
    ):
        path.write_text(json.dumps(facts | words))
        done = recheck_frontier(path, None, 0)
        assert (done.checks[-1].name, done.checks[-1].passed) == (check, False), words
        assert done.checks[-1].text.startswith(f"m.frontier.json: {said}"), done.checks[-1].text
        assert done.claimed == () and done.note == ""
    bare = {key: facts[key] for key in facts if key != "source"}, {key: facts[key] for key in facts if key != "model"}
    for other in bare:
        path.write_text(json.dumps(other))
        with pytest.raises(TreeError, match="names no data file by its SHA-256"):
            recheck_frontier(path, None, 0)
    for words in ({"source": facts["source"] | {"name": "no"}, "data": "no"}, {}):
        path.write_text(json.dumps(facts | words))
        assert all(one.passed for one in recheck_frontier(path, None, 0).checks)


def test_a_frontier_of_one_number_is_checked_as_one_of_many(curve):
    problem = curve.problem
    for at, one in enumerate(curve.given):
        assert tightening([one], one.op) == [one]
        points, wrong = _points(problem, [one], stated(problem, [curve.points[at]]))
        assert wrong == "" and [point.objective for point in points] == [curve.points[at].objective]
        told = _contradicted(problem, [replace(points[0], bound=1e6)], _trees(curve.points, MET))
        assert told.startswith("it states that no tree that satisfies") == any(
            held(points[0], problem, point.heap) for point in curve.points if point.heap is not None
        )
        assert _not_derived(problem, points, [curve.points[at]]) == ()


def test_a_search_that_is_interrupted_is_none_and_one_that_is_over_finds_nothing(curve, monkeypatch):
    for said, told in (([], True), (["interrupted"], False), (["interrupted"], True), ([], False)):
        monkeypatch.setattr(deadline, "is_interrupted", lambda told=told: told)

        def found(problem, texts, seconds, say, said=said):
            for text in said:
                say(text)
            return [curve.points[0]]

        monkeypatch.setattr(frontier_file, "frontier", found)
        if said or told:
            with pytest.raises(KeyboardInterrupt):
                _searched_again(curve.problem, curve.texts, 5.0)
        else:
            assert [one.objective for one in _searched_again(curve.problem, curve.texts, 5.0)] == [
                curve.points[0].objective
            ]
    for other in (ChoiceError("no"), TimeLimitReached()):

        def ended(*words, other=other):
            raise other

        monkeypatch.setattr(frontier_file, "frontier", ended)
        assert _searched_again(curve.problem, curve.texts, 5.0) == []


def test_a_search_of_less_than_a_second_is_one(curve):
    assert len(_searched_again(curve.problem, curve.texts, 0.9)) == len(curve.texts)


def test_what_cannot_be_posed_again_is_refused(tmp_path):
    """A formulation that searches no frontier, and a number that its constraint does not take."""
    rows().to_csv(tmp_path / "d.csv", index=False)
    odtc.frontier(odtc.read(tmp_path / "d.csv"), vary=VARIED["rising"], depth=1).write(tmp_path / "m")
    path = tmp_path / "m.frontier.json"
    facts = json.loads(path.read_text())
    for words, said in (
        ({"model": facts["model"] | {"model": "flowoct"}}, "flowoct searches no frontier"),
        ({"vary": "recall[1] >= 0.5:1.5:0.5"}, "its problem cannot be built again"),
    ):
        path.write_text(json.dumps(facts | words))
        with pytest.raises(TreeError, match=said):
            recheck_frontier(path, None, 0)


def test_a_tree_of_leaves_that_are_too_small_contradicts_nothing():
    """One row fewer than each leaf has to hold; as many are enough."""
    plain = posed()
    trees = [(name, heap) for name, heap in drawn_trees(plain, 40) if heap.n_branch_nodes]
    fewest = [heap.fewest_rows(plain.encoded) for _, heap in trees]
    least = max(fewest)
    assert min(fewest) < least

    class Strict:
        def __getattr__(self, name):
            return getattr(plain.module, name)

        def least_rows(self, problem):
            return least

    strict = replace(plain, module=Strict())
    given = parse("recall[1] >= 0", strict.encoded)
    point = Point(given, None, None, 1e6, True)
    for (name, heap), rows_of in zip(trees, fewest):
        assert bool(_contradicted(strict, [point], [(name, heap)])) == (rows_of >= least)


def test_a_file_that_is_no_frontier_is_refused(tmp_path):
    (tmp_path / "m.json").write_text('{"schema": "another"}')
    with pytest.raises(TreeError, match="expected the points of a frontier in .*, found none"):
        read_frontier(tmp_path / "m.json")


def test_the_file_of_a_frontier_of_one_number_is_checked(tmp_path):
    rows().to_csv(tmp_path / "d.csv", index=False)
    odtc.frontier(odtc.read(tmp_path / "d.csv"), vary="recall[1] >= 0.5:0.5:0.5", depth=1).write(tmp_path / "m")
    done = recheck_frontier(tmp_path / "m.frontier.json", None, 0)
    assert [one.name for one in done.checks] == ["frontier", "trees", "bounds"] and all(
        one.passed for one in done.checks
    )

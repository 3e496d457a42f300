"""Frontiers of a constraint: the same optima as one run for each number, by fewer searches."""

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import odtc
from odtc.algorithms.constrained import engines
from odtc.algorithms.constrained.lagrangian_pass import Pass
from odtc.data.dataset import Dataset, Feature
from odtc.errors import ChoiceError
from odtc.formulations import dpflow
from odtc.formulations.dpflow import constrained
from odtc.formulations.dpflow.searched import Searched
from odtc.problem.constraints.constraint import parse
from odtc.trees.tree import Tree
from odtc.workflow.constrained.frontier import Point, _shared, frontier, frontier_facts, varied
from tests import pipeline
from tests.command_line import MONKS, refused
from tests.command_line import odtc as command

MONKS_1 = MONKS / "monks-1.csv"


def test_numbers_are_exact_decimals():
    assert varied("recall[1] >= 0.1:0.3:0.1") == ["recall[1] >= 0.1", "recall[1] >= 0.2", "recall[1] >= 0.3"]
    with pytest.raises(ChoiceError, match="STEP at most 0.18, the distance"):  # 4 is no number of values
        varied("recall[1] >= 0.02:0.2:4")
    assert varied("recall[1] >= 0.5:0.5:0.1") == ["recall[1] >= 0.5"]
    assert varied("recall[1] >= 10%:30 %:10 %") == varied("recall[1] >= 0.1:0.3:0.1")
    assert varied("leaves <= 2:4") == ["leaves <= 2", "leaves <= 3", "leaves <= 4"]
    for text in (
        "recall[1] >= 0.5",
        "recall[1] >= 0.5:0.9",
        "recall[1] >= 0:0.9",
        "recall[1] >= a:b:c",
        "recall[1] >= 0:1:0",
        "recall[1] >= 0:1:0.001",
    ):
        with pytest.raises(ChoiceError):
            varied(text)


@pytest.mark.parametrize("text", ["leaf_rows >= 25%:100%:25%", "leaf_rows >= 0.5:1:0.25", "leaf_rows >= 0.5:2:0.5"])
def test_shares_of_the_rows_do_not_run_into_numbers_of_rows(text):
    """1 is one row, so that the last number would be the loosest."""
    problem = pipeline.pose(MONKS_1, "dpflow", 1, encoding="onehot")
    with pytest.raises(ChoiceError, match="a whole number of rows|'leaf_rows >= 93' and 'leaf_rows >= 1'"):
        frontier(problem, varied(text))


@pytest.mark.parametrize(
    "text", ["splits <= 1:2", "splits <= 1:3", "splits <= 0:3:3", "features <= 1:3", "branch_nodes <= 0:3"]
)
def test_a_number_that_makes_trees_less_deep_limits_them(text):
    """Two splits, so that 2 and 3 limit nothing: one search for all numbers had the depth of the loosest one."""
    rows = pl.DataFrame({"a": [1, 0, 1, 0, 1], "b": [1, 1, 0, 1, 1], "y": list("BAAAB")})
    texts = varied(text)
    problem = pipeline.pose(odtc.read(rows), "dpflow", 2, fitting=True)
    for one, point in zip(texts, frontier(problem, texts)):
        assert point.constraint.holds(point.constraint.module.value(problem.encoded, point.constraint, point.heap))
        assert point.objective == odtc.fit(rows, depth=2, constraints=[one]).facts["objective"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["recall[1] >= 0.4:1.0:0.1", "branch_nodes <= 0:3:1", "false_positive_rate[1] <= 0:0.5:0.1"]
)
def test_every_point_is_the_optimum_of_its_own_run(text):
    """Leaves of 30 rows, so that some numbers have no tree."""
    kept = ("leaf_rows >= 30",)
    problem = pipeline.pose(MONKS_1, "dpflow", 2, encoding="onehot", constraints=kept, fitting=True)
    points = frontier(problem, varied(text))
    for one, given in zip(points, varied(text)):
        try:
            alone = odtc.fit(MONKS_1, "dpflow", 2, encoding="onehot", constraints=(*kept, given)).facts["objective"]
        except odtc.OdtcError:
            alone = None
        assert one.ended == ("infeasible" if alone is None else "optimal") and one.objective == alone
    facts = frontier_facts(problem, points)
    rising = points[0].constraint.op == ">="
    for one in facts:
        slack = 0 if one["reached"] is None else one["reached"] - one["requested"]
        assert slack >= -1e-9 if rising else slack <= 1e-9


@pytest.mark.parametrize(
    "text",
    [
        "recall[1] >= 0.5:0.9:0.1",
        "statistical_parity[group=a3,positive=1] <= 0:0.2:0.1",
        "precision[1] >= 0.6:0.9:0.1",
        "f1[1] >= 0.6:0.9:0.1",
    ],
)
def test_one_search_finds_what_a_search_for_each_number_finds(text, monkeypatch):
    problem = pipeline.pose(MONKS_1, "dpflow", 2, encoding="onehot", constraints=("leaf_rows >= 20",), fitting=True)
    assert problem.module.frontier(problem, [parse(one, problem.encoded) for one in varied(text)][:1]) is not None
    together = frontier(problem, varied(text))
    monkeypatch.setattr(dpflow, "frontier", lambda *of: None)
    again = pipeline.pose(MONKS_1, "dpflow", 2, encoding="onehot", constraints=("leaf_rows >= 20",), fitting=True)
    each = frontier(again, varied(text))
    assert [(point.ended, point.objective, point.bound) for point in together] == [
        (point.ended, point.objective, point.bound) for point in each
    ]


def test_medians_of_many_numbers_are_searched_among_sorted_rows(monkeypatch):
    """One search for all numbers counts a class for each of 60 values: of 600 it had nothing after a minute."""
    draw = np.random.default_rng(3)
    rows = pl.DataFrame({"a": draw.integers(0, 6, 80), "b": draw.integers(0, 4, 80), "y": draw.permutation(80) % 60})
    reading = {"task": "median", "target": "y"}
    texts = ("leaves <= 2", "leaves <= 3", "leaves <= 4")
    alone = {text: odtc.fit(rows, depth=2, constraints=[text], **reading).facts["objective"] for text in texts}

    def refused(*of):
        raise AssertionError("a search over classes was begun")

    monkeypatch.setattr(constrained, "frontier", refused)
    monkeypatch.setattr(constrained, "frontier_starts", refused)
    for limit in (None, 30.0):
        problem = pipeline.pose(odtc.read(rows, **reading), "dpflow", 2, fitting=True)
        for text, point in zip(texts, frontier(problem, varied("leaves <= 2:4:1"), limit)):
            assert point.ended == "optimal"
            assert point.objective == pytest.approx(alone[text])


def test_no_number_is_begun_after_the_limit(monkeypatch):
    """Numbers between the ends have the tree of a tighter one; on a large table each took a second after the limit."""
    problem = pipeline.pose(MONKS_1, "dpflow", 2, encoding="onehot", constraints=("leaf_rows >= 20",), fitting=True)
    begun, search = [], dpflow.search

    def counted(posed, *given):
        begun.append(posed)
        return search(posed, *given)

    monkeypatch.setattr(dpflow, "frontier", lambda *of: None)
    monkeypatch.setattr(dpflow, "search", counted)
    points = frontier(problem, varied("recall[1] >= 0.5:0.9:0.05"), 1e-9)
    assert len(begun) <= 3  # without the constraint, and the two ends
    for point in points:
        given = point.constraint
        assert point.heap is not None and given.holds(given.module.value(problem.encoded, given, point.heap))


def test_the_limit_of_a_frontier_holds_for_reading_too(monkeypatch):
    given = []

    def noted(problem, texts, time_limit, *others):
        given.append(time_limit)
        return frontier(problem, texts, time_limit, *others)

    monkeypatch.setattr("odtc.workflow.pipeline.points_of", noted)
    odtc.frontier(MONKS_1, vary="recall[1] >= 0.5:0.6:0.05", depth=1, time_limit=20)
    assert given[0] < 20


@pytest.mark.parametrize("text", ["leaf_precision >= 0.5:0.95:0.05", "leaf_rows >= 10:100:15"])
def test_numbers_of_leaves_have_the_optima_of_their_own_searches(text):
    """Some are told by the tree of a looser number, the others by searches that share their bounds."""
    problem = pipeline.pose(MONKS_1, "dpflow", 2, encoding="onehot", fitting=True)
    points, given = frontier(problem, varied(text)), [parse(one, problem.encoded) for one in varied(text)]
    assert sum(point.searched for point in points) < len(points)
    for point, one in zip(points, given):
        alone = replace(problem, constraints=(one,))
        found = alone.module.search(alone, None, lambda *told: None)
        want = None if found.heap is None else alone.module.objective(alone, found.heap)
        assert (point.objective, point.ended) == (want, "infeasible" if found.infeasible else "optimal")
        assert point.heap is None or one.holds(one.module.value(problem.encoded, one, point.heap))


@pytest.mark.parametrize("text", ["recall[yes] >= 0.5:0.9:0.1", "precision[yes] >= 0.6:0.9:0.1"])
def test_one_search_over_few_tests_finds_trees_for_all_numbers(text, monkeypatch):
    """Where the tests are too many for one search of all; no number gets a worse tree."""
    draw = np.random.default_rng(4)
    X = draw.normal(size=(60, 3))
    y = (X[:, 0] * X[:, 1] + 0.5 * draw.normal(size=60) > 0).astype(np.int32)
    features = tuple(Feature(name, "numeric") for name in "abc")
    data = Dataset("many", X, y, features, ("no", "yes"), np.ones(60))
    problem = pipeline.pose(data, "dpflow", 2, fitting=True)
    given = [parse(one, problem.encoded) for one in varied(text)]
    exact = [point.objective for point in frontier(problem, varied(text))]
    monkeypatch.setattr(engines, "FEW_TESTS", 10)
    monkeypatch.setattr(engines, "MOST_TESTS", 10)
    monkeypatch.setattr(constrained, "takes", lambda *of: True)
    again = pipeline.pose(data, "dpflow", 2, fitting=True)
    starts = again.module.frontier_starts(again, given)
    paid = [again.module.objective(again, heap) for heap in starts]
    assert paid == sorted(paid) and all(own >= best for own, best in zip(paid, exact))
    for one, heap in zip(given, starts):
        assert one.holds(one.module.value(again.encoded, one, heap))
    for point, own in zip(frontier(again, varied(text), time_limit=30.0), paid):
        assert point.objective <= own and point.bound <= point.objective


@pytest.mark.parametrize(
    ("weight", "words", "why"),
    [
        (np.ones(12), {"params": {"proof": True}}, "proof=True needs a model: leave it out$"),
        (np.ones(12), {}, "2 columns and levels are too many at depth 2: take fewer splits"),
    ],
)
def test_a_refusal_names_its_reason(weight, words, why, monkeypatch):
    """Whatever the reason was, fewer tests were asked for."""
    draw = np.random.default_rng(4)
    features, names = (Feature("a", "numeric"), Feature("b", "numeric")), ("no", "yes")
    data = Dataset("refused", draw.normal(size=(12, 2)), np.arange(12, dtype=np.int32) % 2, features, names, weight)
    if not words and (weight == 1).all():
        monkeypatch.setattr(engines, "MOST_SUMS", 0)
        monkeypatch.setattr(engines, "few_of_each", lambda scale, depth: 0)
    with pytest.raises(
        ChoiceError, match=f"^a frontier needs the compiler's own search, which does not take this: {why}"
    ):
        odtc.frontier(data, vary="recall[yes] >= 0.5:0.7:0.1", depth=2, **words)


@pytest.mark.parametrize("text", ["leaves <= 2:6:1", "branch_nodes <= 0:3:1"])
def test_one_search_takes_numbers_of_branch_nodes_that_allow_less_depth(text):
    """A tree of one branch node is searched at depth 1 by itself, and to the depth of the others beside them."""
    draw = np.random.default_rng(4)
    X, features = draw.integers(0, 4, (50, 2)).astype(float), (Feature("a", "numeric"), Feature("b", "numeric"))
    data = Dataset("sizes", X, draw.integers(0, 2, 50).astype(np.int32), features, ("no", "yes"), np.ones(50))
    problem = pipeline.pose(data, "dpflow", 3, fitting=True)
    given = [parse(one, problem.encoded) for one in varied(text)[::-1]]
    assert problem.module.frontier(problem, given) is not None
    for point, one in zip(odtc.frontier(data, vary=text, depth=3), varied(text)[::-1]):
        assert point.objective == odtc.fit(data, "dpflow", 3, constraints=(one,)).proof.objective


def test_the_command_prints_a_table_and_json():
    words = ("frontier", MONKS_1, "--vary", "recall[1] >= 0.4:0.8:0.2", "--encoding", "onehot")
    assert command(*words).out.splitlines()[0].split() == ["requested", "reached", "objective", "price", "ended"]
    facts = json.loads(command(*words, "--json").out)
    assert [point["requested"] for point in facts["points"]] == [0.4, 0.6, 0.8]


@pytest.mark.parametrize("ending", ["svg", "html"])
def test_the_curve_is_drawn_or_put_on_a_page(tmp_path, ending):
    pytest.importorskip("matplotlib")
    file = tmp_path / f"curve.{ending}"
    words = ("frontier", MONKS_1, "--vary", "recall[1] >= 0.4:1:0.2", "--encoding", "onehot", "--depth", 1, "-o", file)
    facts = command(*words, "--constraint", "precision[1] >= 0.9", "--json").facts
    assert facts["files"] == [str(file)]
    text = file.read_text()
    assert {point["ended"] for point in facts["points"]} == {"optimal", "infeasible"}
    if ending == "html":
        assert "precision[1] &gt;= 0.9" in text and "data:image/svg+xml;base64," in text and "<script" not in text
        assert all(f">{point['requested']:.6g}</td>" in text for point in facts["points"])
    else:
        assert text.lstrip().startswith("<?xml") and "<svg" in text


@pytest.mark.parametrize("given", ["curve", "curve.json", "curve.frontier.json"])
def test_points_and_trees_are_written_under_a_stem(tmp_path, given):
    """Every tree of the file is one that `odtc` reads, and misses as many rows as the file says."""
    words = ("frontier", MONKS_1, "--vary", "recall[1] >= 0.4:1:0.2", "--encoding", "onehot", "--depth", 2)
    facts = command(*words, "--constraint", "precision[1] >= 0.9", "-o", tmp_path / given, "--json").facts
    file = tmp_path / "curve.frontier.json"
    assert facts["files"] == [str(file)] and [path.name for path in tmp_path.iterdir()] == [file.name]
    told = json.loads(file.read_text())
    assert told["vary"] == words[3] and told["constraints"] == ["precision[1] >= 0.9"] and told["depth"] == 2
    assert [{key: one[key] for key in one if key != "tree"} for one in told["points"]] == facts["points"]
    data = odtc.read(MONKS_1)
    for one in told["points"]:
        assert (one["tree"] is None) == (one["ended"] == "infeasible")
        if one["tree"] is not None:
            tree = Tree.from_json(one["tree"])
            assert (tree.predict(data.X) != data.y).sum() == one["objective"]
    assert any(one["tree"] is not None for one in told["points"])


@pytest.mark.parametrize("given", ["curve.gif", "curve.v2"])
def test_another_ending_is_refused_before_the_search_with_all_that_are_allowed(tmp_path, given):
    words = ("frontier", MONKS_1, "--vary", "recall[1] >= 0.4:0.8:0.2", "-o", tmp_path / given)
    said = refused(command(*words))
    assert all(part in said for part in (given, "STEM.frontier.json", ".html", ".png", ".svg", ".pdf"))


VARIED = (
    "leaf_precision >= 0.5:0.8:0.05",
    "leaf_class_rows[b] >= 1:19:3",
    "leaf_rows >= 1:16:3",
    "class_leaves[a] <= 0:3:1",
    "together[x0,x1]",
)


def random_table(seed: int) -> Dataset:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (60, 3)).astype(float)
    y = ((X[:, 0] > 1) ^ (X[:, 1] > rng.integers(0, 3)) ^ (rng.random(60) < 0.25)).astype(np.int32)
    return Dataset("t", X, y, tuple(Feature(f"x{j}", "numeric") for j in range(3)), ("a", "b"), np.ones(60))


@pytest.mark.parametrize("seed", range(4))
def test_bounds_of_looser_numbers_lose_no_optimum(seed):
    """Searches that are told the bounds of a looser one, with sums beside them or not, against a search alone."""
    data, varying = random_table(seed), VARIED[seed % 4]
    others = [(), ("recall[b] >= 0.6",), (VARIED[4],)][seed % 3]
    problem = pipeline.pose(data, "dpflow", 2, constraints=others, fitting=True)
    for one, given in zip(frontier(problem, varied(varying)), varied(varying)):
        alone = pipeline.pose(data, "dpflow", 2, constraints=(*others, given), fitting=True)
        found = alone.module.search(alone, None, lambda *told: None)
        assert (one.ended == "infeasible") == found.infeasible, given
        assert found.infeasible or one.ended == "optimal"
        paid = None if found.infeasible else alone.module.objective(alone, found.heap)
        assert one.objective == paid, given


def test_what_a_looser_number_excludes_is_not_searched_again(monkeypatch):
    asked = []
    roots = Pass.roots

    def counted(self, root, weights, segments):
        asked.append(root)
        return roots(self, root, weights, segments)

    def curve() -> list:
        asked.clear()
        problem = pipeline.pose(random_table(2), "dpflow", 2, fitting=True)
        return [(point.ended, point.objective) for point in frontier(problem, varied("leaf_precision >= 0.5:0.7:0.02"))]

    monkeypatch.setattr(Pass, "roots", counted)
    told, passes = curve(), len(asked)
    monkeypatch.setattr(dpflow, "inherit", lambda *of: None)
    assert curve() == told and passes < 0.8 * len(asked)


def test_at_a_limit_the_best_tree_of_all_is_that_of_the_numbers_it_keeps(monkeypatch):
    """Every search of a single number ends at once: the tree without the number is the proved best of those that it
    keeps, and its bound holds for the others."""
    searched = dpflow.search

    def ended(problem, start, progress, floor=0.0):
        if not problem.constraints:
            return searched(problem, start, progress, floor)
        return Searched(start, floor, False, 1, 1)

    monkeypatch.setattr(dpflow, "search", ended)
    monkeypatch.setattr(dpflow, "frontier", lambda problem, varied: None)
    problem = pipeline.pose(MONKS / "monks-2.csv", "dpflow", 2, fitting=True)
    free = odtc.fit(MONKS / "monks-2.csv", "dpflow", 2).facts["objective"]
    points = frontier(problem, varied("recall[1] >= 0:1:0.25"), time_limit=60)
    ended_as = [point.ended for point in points]
    kept = ended_as.index("open")
    assert 0 < kept < len(points) and ended_as[:kept] == ["optimal"] * kept
    assert [point.objective for point in points[:kept]] == [free] * kept
    assert all(point.bound == free for point in points[kept:])


def test_points_tell_each_other_trees_and_bounds():
    """A tree of a tighter number keeps a looser one; no bound of a looser number is above that of a tighter."""
    given = [parse(f"recall[1] >= 0.{place}", pipeline.pose(MONKS_1, "dpflow", 1).encoded) for place in (2, 4, 6)]
    tree = object()
    points = [
        Point(given[0], None, None, 3.0, True),
        Point(given[1], tree, 9.0, 1.0, True),
        Point(given[2], None, None, None, True),
    ]
    loose, middle, tight = _shared(points)
    assert (loose.heap, loose.objective, loose.bound) == (tree, 9.0, 3.0)
    assert (middle.objective, middle.bound) == (9.0, 3.0) and tight.ended == "infeasible"


def test_numbers_that_fall_are_told_apart_from_no_numbers():
    with pytest.raises(ChoiceError, match="FIRST no more than LAST"):
        varied("recall[1] >= 0.9:0.5:0.1")


def test_a_frontier_in_python_has_the_points_of_the_command(tmp_path):
    """The table, the numbers and the trees, from a path and from a data frame with its labels beside."""
    vary = "recall[1] >= 0.25:0.75:0.25"
    curve = odtc.frontier(MONKS_1, vary=vary, depth=1, encoding="onehot", constraints=["leaf_rows >= 5"])
    said = command(
        "frontier", MONKS_1, "--depth", "1", "--encoding", "onehot", "--constraint", "leaf_rows >= 5", "--vary", vary
    )
    assert str(curve) == said.out.rstrip("\n") and [point.requested for point in curve] == [0.25, 0.5, 0.75]
    for point in curve:
        alone = odtc.fit(MONKS_1, depth=1, encoding="onehot", constraints=[point.constraint, "leaf_rows >= 5"])
        assert point.ended == "optimal" and point.objective == alone.facts["objective"]
        predicted = point.tree.predict(alone.problem.encoded.dataset.X)
        assert (predicted != alone.problem.encoded.dataset.y).sum() == point.objective
    written = json.loads(curve.write(tmp_path / "curve").read_text())
    assert [point["requested"] for point in written["points"]] == [0.25, 0.5, 0.75]
    data = odtc.read(MONKS_1)
    again = odtc.frontier(data.X, data.y, vary, 1, constraints=["leaf_rows >= 5"])
    assert len(again) == 3 and again[0].tree is not None
    with pytest.raises(ChoiceError):
        odtc.frontier(MONKS_1, vary="recall[1] >= 0.5")

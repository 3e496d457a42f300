"""BendersOCT: its cuts against all cuts of small trees and against a max-flow code, its loop against exhaustive
search."""

from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

import odtc
from odtc.algorithms.tree_min_cut import are_walks, min_cuts, walk_sets, walk_values, walks
from odtc.data.dataset import Dataset, Feature
from odtc.fileformats.model_files import write_model
from odtc.formulations import bendersoct
from odtc.heuristics.heuristic import HEURISTICS
from odtc.model.feasibility import check_point
from odtc.model.solution import Progress, Solution, Termination
from odtc.problem.formulation import WEAKER
from odtc.solvers.solver import find_solver, version
from odtc.testing.optima import exhaustive_cost, relaxed
from odtc.testing.problems import VARIANTS, form_id, heaps, problems
from odtc.trees.heap_tree import settle
from tests import pipeline
from tests.command_line import odtc as command

SLOW = dict(deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
LOOPS = [("bendersoct", params | {"cuts": "none"}) for params in VARIANTS["bendersoct"]]


def by(solver):
    """A `solve` as the pipeline hands it in, and the models that it was given."""
    asked = []

    def solve(model, start=None, seconds=None):
        if start is not None:
            assert all(check.passed for check in check_point(model, start))
        asked.append(model)
        return pipeline.solve(model, solver, start=start, threads=1)

    return solve, asked


# --- cuts ----------------------------------------------------------------------------------------


@st.composite
def capacities(draw, whole=False):
    """(sink, cap, forks) of random rows on a tree of up to 15 nodes; whole numbers, or many fractions and ties."""
    depth = draw(st.integers(0, 3))
    size = 2 ** (depth + 1)
    seed = np.random.default_rng(draw(st.integers(0, 10**6)))
    most = draw(st.sampled_from([1, 2, 4, 1000]))
    sink, cap = (seed.integers(0, most + 1, (5, size)) / (1 if whole else most) for _ in range(2))
    return sink, cap, np.arange(1, 2**depth)


def cut_value(sink, cap, S) -> float:
    """What leaves S in one row's graph, arc by arc."""
    inside = np.flatnonzero(S)
    children = [child for t in inside for child in (2 * t, 2 * t + 1) if child < len(S) and not S[child]]
    return sum(sink[inside]) + sum(cap[children])


@given(capacities())
@settings(max_examples=60, deadline=None)
def test_min_cuts_are_the_least_of_all_cuts(graph):
    sink, cap, forks = graph
    value, S = min_cuts(sink, cap, forks)
    size = sink.shape[1]
    every = [np.array([False, True, *rest]) for rest in product((False, True), repeat=size - 2)] if size <= 8 else []
    for i in range(len(sink)):
        assert S[i, 1] and not S[i, 0]
        assert cut_value(sink[i], cap[i], S[i]) == pytest.approx(value[i])
        if every:
            assert value[i] == pytest.approx(min(cut_value(sink[i], cap[i], T) for T in every))


@given(capacities(whole=True))
@settings(max_examples=60, deadline=None)
def test_min_cuts_are_maximum_flows(graph):
    sink, cap, forks = graph
    value, _ = min_cuts(sink, cap, forks)
    size = sink.shape[1]
    for i in range(len(sink)):
        arcs = np.zeros((size + 1, size + 1), np.int32)  # place 0 is the source, the last the sink
        arcs[0, 1], arcs[1:size, size] = 10**7, sink[i, 1:]
        for t in forks:
            arcs[t, 2 * t : 2 * t + 2] = cap[i, 2 * t : 2 * t + 2]
        assert maximum_flow(csr_array(arcs), 0, size).flow_value == value[i]


@given(capacities())
@settings(max_examples=60, deadline=None)
def test_walk_values_are_those_of_their_cuts(graph):
    sink, cap, forks = graph
    nodes = np.arange(1, sink.shape[1])
    sets, values = walk_sets(nodes, sink.shape[1]), walk_values(sink, cap, forks)
    for t, S in zip(nodes, sets):
        assert np.flatnonzero(S).tolist() == sorted(t >> up for up in range(int(t).bit_length()))
        assert are_walks(S[None])[0]
        np.testing.assert_allclose(values[:, t], [cut_value(sink[i], cap[i], S) for i in range(len(sink))])


def test_a_set_that_forks_is_no_walk():
    sets = [np.array([False, True, *rest]) for rest in product((False, True), repeat=6)]
    whole = [S for S in sets if all(not S[t] or S[t // 2] for t in range(2, 8))]  # with every node its parent
    walks = {tuple(S) for S in walk_sets(np.arange(1, 8), 8)}
    assert [tuple(S) in walks for S in whole] == are_walks(np.array(whole)).tolist()


def broken_rows(problem, point):
    """The rows with a broken cut, by all cuts of their graph: min(1, value) below g."""
    sink, cap = bendersoct.capacities(problem, point)
    graph = bendersoct.Graph.of(problem)
    n_nodes = graph.last[-1]
    sets = [np.array([False, True, *rest]) for rest in product((False, True), repeat=n_nodes - 1)]
    least = [min(cut_value(sink[i, : n_nodes + 1], cap[i, : n_nodes + 1], S) for S in sets) for i in range(len(sink))]
    return set(np.flatnonzero(point["g"] > np.array(least) + 1e-6).tolist())


def check_separation(problem, point, model):
    rows, S = bendersoct.separate(problem, point)
    assert set(rows.tolist()) == broken_rows(problem, point)
    with_rows = bendersoct.with_cuts(model, problem, rows, S)
    assert with_rows.columns == model.columns and with_rows.rows[: len(model.rows)] == model.rows
    x = model.join(point)
    over = (with_rows.A @ x - with_rows.row_upper)[model.n_rows :] > 5e-7
    assert set(rows[over].tolist()) == set(rows.tolist())


@pytest.mark.parametrize("form", LOOPS, ids=form_id)
@given(data=st.data())
@settings(max_examples=40, **SLOW)
def test_separation_finds_every_row_that_a_fractional_point_breaks(form, data):
    problem = data.draw(problems(form, depths=(1, 2) if form[1].get("bottom") == "flow" else (1, 2, 3)))
    model = problem.module.build(problem)
    # Between trees: every row of the master but the cuts holds there, and labels and tests are fractional.
    ends = [model.join(problem.module.start(problem, data.draw(heaps(problem)))) for _ in range(3)]
    shares = np.array([data.draw(st.integers(1, 4)) for _ in ends], float)
    point = model.split(shares / shares.sum() @ ends)
    point["g"] = np.array(data.draw(st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=problem.encoded.n_rows,
                                             max_size=problem.encoded.n_rows)))  # fmt: skip
    check_separation(problem, point, model)


@pytest.mark.parametrize("form", LOOPS, ids=form_id)
@given(data=st.data())
@settings(max_examples=40, **SLOW)
def test_at_a_tree_the_rows_it_gets_wrong_are_caught(form, data):
    problem = data.draw(problems(form, depths=(1, 2)))
    heap = data.draw(heaps(problem))
    model = problem.module.build(problem)
    point = model.split(model.join(problem.module.start(problem, heap)))
    assert not len(bendersoct.separate(problem, point)[0])
    point["g"] = np.ones(problem.encoded.n_rows)
    wrong = heap.label[heap.reach(problem.encoded.X)] != problem.encoded.y
    assert set(bendersoct.separate(problem, point)[0].tolist()) == set(np.flatnonzero(wrong).tolist())
    check_separation(problem, point, model)


@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_walks_end_where_the_tree_sends_the_rows(data):
    problem = data.draw(problems(LOOPS[0], depths=(1, 2, 3)))
    heap = data.draw(heaps(problem))
    np.testing.assert_array_equal(walks(heap.split, problem.encoded.X), heap.reach(problem.encoded.X))


@pytest.mark.parametrize("params", VARIANTS["bendersoct"], ids=str)
@given(data=st.data())
@settings(max_examples=20, **SLOW)
def test_the_path_rows_are_the_cuts_of_the_walks(params, data):
    problem = data.draw(problems(("bendersoct", params), depths=(1, 2, 3)))
    model = problem.module.build(problem)
    graph, n = bendersoct.Graph.of(problem), problem.encoded.n_rows
    path = model.rows[-1]
    assert path.name == "path" and model.lazy == ("path",)
    sets = walk_sets(graph.ends, 2 ** (problem.topology.depth + 1))
    rows = np.repeat(np.arange(n), len(sets))
    again = bendersoct.with_cuts(model, problem, rows, np.tile(sets, (n, 1)))
    assert again.lazy == model.lazy
    A = again.A.toarray()
    np.testing.assert_array_equal(A[path.start : path.stop], A[path.stop :])
    np.testing.assert_array_equal(A[: path.stop], model.A.toarray())


# --- the loop ------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", LOOPS, ids=form_id)
@given(data=st.data())
@settings(max_examples=25, **SLOW)
def test_the_loop_has_the_optimum_of_exhaustive_search(form, data):
    problem = data.draw(problems(form))
    best = exhaustive_cost(problem)
    solve, asked = by("highs")
    begun = None
    if data.draw(st.booleans()):
        heap = data.draw(heaps(problem))
        begun = problem.module.build(problem).join(problem.module.start(problem, heap))
    lines = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            bendersoct, "MANY", data.draw(st.sampled_from([0, bendersoct.MANY]))
        )  # 0: never all walks at once
        model, solution = problem.module.fit(pipeline.compile_model(problem), solve, begun, lines.append)
    assert solution.termination == "optimal" and len(lines) == len(solution.history)
    assert solution.objective == pytest.approx(best, abs=1e-6)
    assert solution.bound == pytest.approx(best, abs=1e-5)
    assert all(bound is None or bound <= best + 1e-5 for _, _, bound in solution.history)
    # The printed separation knows integer points only; else the relaxation comes first.
    assert [line.phase for line in lines].count("whole") == len(asked)
    assert all(model.columns == master.columns and master.integrality.any() for master in asked)
    assert (lines[0].phase == "whole") == problem.params.literal
    decoded = pipeline.decode(model, solution)
    assert decoded.verified, decoded.checks
    # The file with all walks says the same.
    alone = replace(problem, params=replace(problem.params, cuts="path"))
    whole = pipeline.solve(problem.module.build(alone), threads=1)
    assert whole.objective == pytest.approx(best, abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["highs", "highs-cli", "cbc", "scip", "glpk", "symphony"])
def test_any_solver_can_carry_the_loop(solver):
    if version(find_solver(solver)) is None:
        pytest.skip(f"{solver} is not on this machine")
    X = np.array(list(product((0.0, 1.0), repeat=4)))
    y = (X[:, 0] != X[:, 1]) | (X[:, 2] * X[:, 3] == 1)
    features = tuple(Feature(f"f{j}", "numeric") for j in range(4))
    data = Dataset("xor", X, y.astype(np.int32), features, ("a", "b"), np.ones(16))
    fitted = pipeline.fit(data, "bendersoct", 2, solver=solver, threads=1)
    assert fitted.facts["termination"] == "optimal" and fitted.facts["verified"]
    assert fitted.facts["objective"] == pipeline.fit(data, "flowoct", 2, threads=1).facts["objective"]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "errors"), [("monks-1", 22), ("monks-2", 57), ("hayes-roth", 52)])
def test_published_data(name, errors, shared_data):
    facts = odtc.fit(shared_data / f"{name}.csv", "bendersoct", 2, encoding="onehot", threads=1).facts
    assert facts["termination"] == "optimal" and facts["verified"] and facts["gap"] == 0
    assert facts["objective"] == errors


@given(data=st.data())
@settings(max_examples=20, deadline=None)
def test_when_time_is_over_the_best_tree_is_the_answer(data):
    problem = data.draw(problems(("bendersoct", {"cuts": "none", "literal": True})))
    exact, _ = by("highs")
    rounds = data.draw(st.integers(0, 2))
    count = iter(range(100))

    def solve(model, start=None, seconds=None):
        return exact(model, start) if next(count) < rounds else Solution(None, Termination.TIME_LIMIT, seconds=1.0)

    heap = data.draw(heaps(problem))
    begun = problem.module.build(problem).join(problem.module.start(problem, heap))
    # `left` is over, or a solver that stopped at the limit of its round would be called again.
    model, solution = problem.module.fit(pipeline.compile_model(problem), solve, begun, left=lambda: 0.0)
    assume(solution.termination != "optimal")
    assert solution.termination == "time_limit"
    assert solution.objective <= problem.module.objective(problem, heap) + 1e-9
    assert all(check.passed for check in check_point(model, solution.x))
    assert pipeline.decode(model, solution).verified


def test_a_solver_that_fails_says_so():
    problem = monks()
    failed = Solution(None, Termination.ERROR, seconds=0.1, message="no licence")
    _, solution = problem.module.fit(pipeline.compile_model(problem), lambda model, start=None, seconds=None: failed)
    assert not solution.has_solution and solution.message == "no licence"


def test_a_package_that_fails_is_replaced_by_rounds():
    problem, (solve, asked) = monks(cuts="none"), by("highs")
    failed = Solution(None, Termination.ERROR, seconds=0.1, message="the model is too large for this licence")
    _, solution = problem.module.fit(pipeline.compile_model(problem), solve, in_tree=lambda model, cuts, start: failed)
    assert solution.termination == Termination.OPTIMAL and asked
    assert solution.objective == odtc.fit(MONKS / "monks-3.csv", "dpflow", 2).facts["objective"]


def test_the_next_tree_begins_with_all_walks_once_a_quarter_of_them_was_violated():
    problem, models, calls = monks(cuts="none", literal="true"), [], []
    random, size = np.random.default_rng(3), 2 ** (problem.topology.depth + 1)

    def in_tree(model, cuts, start):
        models.append(model)
        try:
            for _ in range(300 if len(models) == 1 else 3):  # at integer points that call every row correct
                tests = np.append(-1, random.integers(0, problem.encoded.n_candidate_splits, 3))
                heap = settle(np.append(tests, [-1] * 4).astype(np.int32), problem.encoded)
                heap = replace(heap, label=random.integers(0, 2, size).astype(heap.label.dtype))
                point = problem.module.start(problem, heap) | {"g": np.ones(problem.encoded.n_rows)}
                calls.append(cuts(model.join(point), True)[0].shape[0])
        except Exception:
            return Solution(None, Termination.ERROR, seconds=0.0)
        return pipeline.solve(model, "highs", start=start, threads=1)

    _, solution = problem.module.fit(pipeline.compile_model(problem), None, in_tree=in_tree)
    n_walks = problem.encoded.n_rows * (size - 1)
    first, second = (model.n_rows for model in models)
    assert second - first == n_walks and bendersoct.MANY * sum(calls) >= n_walks / 2 and len(calls) < 100
    assert solution.termination == Termination.OPTIMAL
    assert solution.objective == odtc.fit(MONKS / "monks-3.csv", "dpflow", 2).facts["objective"]


MONKS = Path(__file__).parents[2] / "examples" / "monks"


def monks(**params):
    return pipeline.build(MONKS / "monks-3.csv", "bendersoct", 2, params=params).problem


def test_lazy_rows_stand_in_their_section_where_the_dialect_has_one(tmp_path):
    problem = monks()
    model = problem.module.build(problem)
    plain = write_model(model, tmp_path / "plain.mps").read_text()
    marked = write_model(model, tmp_path / "lazy.mps", cuts=True).read_text()
    assert "LAZYCONS" not in plain and marked.index("LAZYCONS") < marked.index("path_")
    bare = monks(cuts="none")
    assert bare.module.build(bare).lazy == ()


@pytest.mark.parametrize(
    ("dialect", "format", "word"),
    [("gurobi", "mps", "LAZYCONS"), ("gurobi", "lp", "Lazy Constraints"), ("copt", "mps", "LAZYCONS")],
)
def test_build_marks_the_path_rows_where_the_dialect_reads_lazy_rows(dialect, format, word, tmp_path):
    words = ["build", MONKS / "monks-3.csv", "--model", "bendersoct", "--encoding", "onehot", "--format", format]
    said = command(*words, "--dialect", dialect, "-o", "m", folder=tmp_path)
    assert (
        said.err == f"constraints path are in LAZYCONS, as {dialect} reads them\n"
        and word in (tmp_path / f"m.{format}").read_text()
    )
    plain = "constraints path are written like all others, because {} sections for cuts\n"
    for other, said in (("cbc", plain.format("cbc has no")), (None, ""), ("all", plain.format("not every solver has"))):
        done = command(*words, *(["--dialect", other] if other else []), "-o", "n", folder=tmp_path)
        assert done.err == said and word not in (tmp_path / f"n.{format}").read_text()


def test_the_loop_is_what_fit_runs_and_the_file_what_build_writes():
    problem = monks()
    assert problem.params.cuts == "path" and not pipeline.loop_of(problem)
    assert bendersoct.FIT_DEFAULTS == {"cuts": "none"}
    problem = monks(cuts="none")
    cart = HEURISTICS.get("cart").tree(problem.encoded, problem.topology)
    cost = problem.module.objective(problem, cart)
    rounds = []
    _, solution = pipeline.loop_of(problem)(pipeline.compile_model(problem), by("highs")[0], None, rounds.append)
    assert solution.objective <= cost and solution.termination == "optimal"
    assert [one.number for one in rounds] == list(range(1, len(rounds) + 1)) and rounds[0].rows == 0 < rounds[0].added
    assert [one.phase for one in rounds] == sorted(one.phase for one in rounds) and rounds[-1].phase == "whole"
    grows = [
        after.rows == before.rows + before.added for before, after in pairwise(rounds) if after.phase == before.phase
    ]
    assert grows and all(grows)
    assert rounds[-1].incumbent == pytest.approx(rounds[-1].bound) == pytest.approx(solution.objective)


def test_the_rounds_stand_in_the_log_and_progress_gets_records():
    lines, records = [], []
    fitted = odtc.fit(
        MONKS / "monks-3.csv", "bendersoct", 2, encoding="onehot", log=lines.append, progress=records.append, threads=1
    )
    assert fitted.facts["verified"] and all(isinstance(record, Progress) for record in records)
    ended = [record.round for record in records if record.round]
    assert [str(one) + "\n" for one in ended] == [line for line in lines if line.startswith("round")]
    # A master's incumbent is no tree's cost, and the loop's bound never falls.
    best, costs = fitted.facts["objective"], [record.incumbent for record in records if record.incumbent is not None]
    bounds = [record.bound for record in records if record.bound is not None]
    assert min(costs) == pytest.approx(best) and max(bounds) == pytest.approx(best)
    assert all(after >= before - 1e-6 for before, after in pairwise(bounds))


@pytest.mark.slow
def test_the_command_shows_the_rounds_and_keeps_their_files(tmp_path):
    words = [
        "fit",
        MONKS / "monks-3.csv",
        "--model",
        "bendersoct",
        "--encoding",
        "onehot",
        "--threads",
        "1",
        "--json",
        "-o",
        "m",
    ]
    (tmp_path / "m.round77.sol").write_text("of an earlier run")
    said = command(*words, "--keep", folder=tmp_path)
    shown = [line for line in said.err.splitlines() if line.startswith("round")]
    assert shown and all(line + "\n" in (tmp_path / "m.log").read_text() for line in shown)
    kept = sorted(path.name for path in tmp_path.glob("m.round*.mps"))
    solved = [line for line in shown if "(whole)" in line]  # the relaxations before are solved in memory
    assert kept == [f"m.round{number:02}.mps" for number in range(1, len(solved) + 1)]
    assert {path.name for path in tmp_path.iterdir()} == set(said.facts["files"])
    assert not (tmp_path / "m.round77.sol").exists()
    # Each is a model of its own: any solver reads it, and the last one's optimum is the tree's cost.
    for path in (tmp_path / kept[0], tmp_path / kept[-1]):
        again = command("solve", path, "--threads", "1", "--json", "-o", tmp_path / "again.sol", folder=tmp_path).facts
        assert again["termination"] == "optimal"
    assert again["objective"] == pytest.approx(said.facts["objective"], abs=1e-6) and again["start"] == "accepted"
    assert not command(*words, folder=tmp_path).err.startswith("odtc") and len(
        list(tmp_path.glob("m.round*.mps"))
    ) == len(kept)


def test_what_no_loop_can_keep_is_refused(tmp_path):
    data = MONKS / "monks-3.csv"
    once = command("fit", data, "--model", "flowoct", "--keep", folder=tmp_path)
    assert once.code == 2 and "flowoct is solved once" in once.err
    assert command("fit", data, "--model", "bendersoct", "-p", "cuts=path", "--keep", folder=tmp_path).code == 2
    many = command("fit", data, "--model", "bendersoct", "--format", "mps", folder=tmp_path)
    assert many.code == 2 and "--keep keeps them all" in many.err and not list(tmp_path.iterdir())


def test_the_relaxation_of_the_walks_is_weaker_than_that_of_all_cuts():
    """At depth 1 the source set {1, 2, 3} forks, so it is no walk; with it the bound is that of FlowOCT's flows."""
    rows = "raaA sbbB raaC sbbC raaC raaB tbaC sabC sabC sbaB sabB sabB tabA taaC".split()
    data = pl.DataFrame(rows, schema=["row"]).select(
        pl.col("row").str.slice(place, 1).alias(name) for place, name in enumerate("abcy")
    )
    flows, walked = (
        pipeline.pose(data, name, 1, encoding="onehot", params={"literal": True}) for name in ("flowoct", "bendersoct")
    )
    bound = relaxed(flows.module.build(flows))
    model = bendersoct.build(walked)
    assert relaxed(model) < bound - 0.1
    every_row = np.arange(walked.encoded.n_rows)
    fork = np.tile([False, True, True, True], (len(every_row), 1))
    assert relaxed(bendersoct.with_cuts(model, walked, every_row, fork)) == pytest.approx(bound, abs=1e-6)
    assert any(change.what.startswith("cuts=path") and change.relaxation == WEAKER for change in bendersoct.CHANGES)

"""Law 4: cut families hold for every tree, or keep an optimum where they say so, alone and in pairs;
the bound of the relaxation never falls."""

from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from odtc.data.dataset import Dataset, Feature
from odtc.data.encoding import encode
from odtc.errors import ChoiceError
from odtc.fileformats.solution_files import write_point
from odtc.model.blocks import Axis
from odtc.model.builder import ModelBuilder
from odtc.problem.cuts import cut
from odtc.problem.cuts.cut import AN_OPTIMUM, CUTS, EVERY_TREE
from odtc.problem.formulation import FORMULATIONS
from odtc.problem.parameters import parse_params
from odtc.problem.problem import Problem
from odtc.problem.roles import Role
from odtc.testing.optima import exhaustive_cost, optimum, relaxed, solved
from odtc.testing.problems import ALL_VARIANTS, form_id, heaps, problems
from odtc.trees.heap_tree import CompleteTree, settle
from odtc.workflow import files_of_models
from tests import pipeline
from tests.command_line import MONKS, odtc

FAMILIES = CUTS.names()
TOGETHER = [(name,) for name in FAMILIES] + list(combinations(FAMILIES, 2))
SLOW = {
    "deadline": None,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.filter_too_much],
    "derandomize": True,
}


def compiled(problem):
    return replace(problem.module.build(problem), problem=problem)


def fitting(problem, model, names):
    """Those of the families that this form offers the columns for."""
    return tuple(name for name in names if not cut.why_unfit(name, problem, model))


def offered(form) -> set[str]:
    """The families that this form has the columns for, at depth 2 and a price for every error alike."""
    problem = data_problem(dict(form[1]), formulation=form[0])
    return set(fitting(problem, compiled(problem), FAMILIES))


def data_problem(params, depth=2, formulation="flowoct"):
    X = np.array([[0.0, 0], [0, 0], [1, 0], [2, 1], [2, 2], [1, 2]])
    features = (Feature("size", "numeric"), Feature("colour", "categorical", ("blue", "red", "white")))
    dataset = Dataset("small", X, np.array([0, 1, 1, 0, 1, 0], np.int32), features, ("no", "yes"), np.ones(6))
    return Problem(
        encode(dataset), CompleteTree(depth), FORMULATIONS.get(formulation), parse_params(formulation, params)
    )


OFFERED = [(form, offered(form)) for form in ALL_VARIANTS]
TAKING = [form for form, families in OFFERED if families]
# (names, forms of one formulation that have the columns for all of them), singly and in pairs.
CASES = [
    pytest.param(names, forms, id=f"{'+'.join(names)}-{formulation}")
    for names in TOGETHER
    for formulation in dict.fromkeys(form[0] for form in TAKING)
    if (forms := [form for form, families in OFFERED if form[0] == formulation and families >= set(names)])
]


@pytest.mark.parametrize("form", TAKING, ids=form_id)
@given(data=st.data())
@settings(max_examples=30, **SLOW)
def test_every_tree_keeps_the_rows_once_arranged(form, data):
    problem = data.draw(problems(form, depths=(1, 2, 3)))
    heap = data.draw(heaps(problem))
    plain = compiled(problem)
    model = cut.add(problem, plain, fitting(problem, plain, FAMILIES))
    module, own = problem.module, compiled(problem)
    every = {block.name for name in model.cuts if CUTS.get(name).VALID == EVERY_TREE for block in added(problem, name)}
    whole = np.concatenate(
        [
            np.arange(block.start, block.stop)
            for block in model.rows
            if block.start < own.n_rows or block.name in {*every, *model.user_cuts}
        ]
    )
    assert_kept(model, model.join(module.start(problem, heap)), whole)
    arranged = cut.arrange_tree(problem, model, heap)
    assert_kept(model, model.join(module.start(problem, arranged)), np.arange(model.n_rows))
    assert module.objective(problem, arranged) <= module.objective(problem, heap) + 1e-9
    assert (arranged.label[arranged.reach(problem.encoded.X)] == heap.label[heap.reach(problem.encoded.X)]).all()


def added(problem, name) -> list:
    """The blocks of rows of a family alone."""
    plain = compiled(problem)
    return cut.add(problem, plain, (name,)).rows[len(plain.rows) :]


@pytest.mark.parametrize("cuts", ["none", "path"])
def test_what_a_master_does_not_imply_is_no_user_cut_of_it(cuts):
    """Without the cuts of the loop a whole point of the master breaks rows that hold for every tree."""
    problem = pipeline.pose(
        MONKS / "monks-1.csv", "bendersoct", 1, encoding="onehot", params={"cuts": cuts, "lambda": 0.05}
    )
    plain = compiled(problem)
    model = cut.add(problem, plain, ("subtree_value",))
    (worth,) = model.rows[len(plain.rows) :]
    assert model.user_cuts == (("worth",) if cuts == "path" else ())
    found = solved(plain)
    assert ((model.A @ found.x)[worth.start : worth.stop] > 1e-6).any() == (cuts == "none")


def assert_kept(model, x, rows):
    activity = (model.A @ x)[rows]
    assert (activity <= model.row_upper[rows] + 1e-9).all() and (activity >= model.row_lower[rows] - 1e-9).all()


@pytest.mark.every(3)
@pytest.mark.slow
@pytest.mark.parametrize(("names", "forms"), CASES)
@given(data=st.data())
@settings(max_examples=10, **SLOW)
def test_the_optimum_stays_and_the_bound_never_falls(names, forms, data):
    form = data.draw(st.sampled_from(forms))
    problem = data.draw(problems(form, depths=(1, 2, 2, 3), most_rows=10))
    plain = compiled(problem)
    assume(fitting(problem, plain, names) == names)
    model = cut.add(problem, plain, names)
    assert model.columns == plain.columns and model.rows[: len(plain.rows)] == plain.rows
    if problem.topology.depth < 3:
        value, point = optimum(model)
        assert value == pytest.approx(exhaustive_cost(problem), abs=1e-6)
        assert problem.module.objective(problem, problem.module.decode(problem, point)) == pytest.approx(
            value, abs=1e-6
        )
    assert relaxed(model) >= relaxed(plain) - 1e-6


@pytest.mark.every(2)
@pytest.mark.slow
@pytest.mark.parametrize("form", TAKING, ids=form_id)
@given(data=st.data())
@settings(max_examples=8, **SLOW)
def test_all_families_at_once_keep_the_optimum(form, data):
    problem = data.draw(problems(form))
    model = compiled(problem)
    model = cut.add(problem, model, cut.choose(problem, model, "all"))
    solution = pipeline.solve(model, threads=1, start=pipeline.start(model)[1])
    assert solution.start in ("accepted", "none")
    assert solution.objective == pytest.approx(exhaustive_cost(problem), abs=1e-5)
    assert pipeline.decode(model, solution).verified


@pytest.mark.every(2)
@pytest.mark.parametrize("form", TAKING, ids=form_id)
@given(data=st.data())
@settings(max_examples=10, **SLOW)
def test_each_entry_stands_once_and_streams(form, data):
    problem = data.draw(problems(form, depths=(1, 2, 3)))
    model = compiled(problem)
    model = cut.add(problem, model, cut.choose(problem, model, "all"))
    A = model.A
    assert A.nnz == model.nnz and A.has_canonical_format and (A.data != 0).all()
    by_rows = np.zeros(A.shape)
    for begin, end, part in model.row_chunks(data.draw(st.integers(1, 50))):
        by_rows[begin:end] += part.toarray()
    np.testing.assert_array_equal(by_rows, A.toarray())
    for name in (block.name for block in model.rows):
        assert name.isalnum() and name[0] not in "eE" and not name.startswith("inf")


@given(data=st.data())
@settings(max_examples=60, **SLOW)
def test_paper4_separates_exactly_the_broken_rows(data):
    """At the root point: what is found is broken and holds for every tree, and what is not, is not there."""
    problem = data.draw(problems(("flowoct", {"bottom": "flow"}), depths=(1, 2)))
    model = compiled(problem)
    assume(not cut.why_unfit("paper4", problem, model))  # costs by pair take a form without these flows
    x = solved(model, whole=False).x
    if data.draw(st.booleans()):  # any point will do, and most are broken
        x = np.array(data.draw(st.lists(st.sampled_from([0, 0.25, 0.5, 1]), min_size=len(x), max_size=len(x))), float)
    point = model.split(x)
    found = CUTS.get("paper4").rows(problem, model, point)
    assert sum(block.axes[0].size for block in found) == broken_sets(problem, point)
    if found:
        more = cut.append(model, "paper4", found)
        rows = np.arange(model.n_rows, more.n_rows)
        assert ((more.A @ x)[rows] > more.row_upper[rows] + 1e-9).all()
        assert_kept(more, more.join(problem.module.start(problem, data.draw(heaps(problem)))), rows)
        assert set(more.user_cuts) == {part.name for part in found}


@given(data=st.data())
@settings(max_examples=40, **SLOW)
def test_the_static_cover_of_paper4_parts_the_rows_of_either_side(data):
    """For every bottom node and test: rows of pairwise different classes, on the side where the test does
    not send them, and every row that another class can stand beside in exactly one of the sets."""
    problem = data.draw(problems(("flowoct", {"bottom": "flow"}), depths=(1, 2)))
    encoded, model = problem.encoded, compiled(problem)
    assume(fitting(problem, model, ("paper4",)))
    b, z = (next(block for block in model.columns if block.role == role) for role in (Role.BRANCH, Role.FLOW))
    rows = [
        dict(zip(part.indices[a:e].tolist(), part.data[a:e].tolist()))
        for _, _, part in cut.append(model, "paper4", CUTS.get("paper4").rows(problem, model)).row_chunks()
        for a, e in pairwise(part.indptr.tolist())
    ][model.n_rows :]
    held = {}
    for row in rows:
        assert set(row.values()) == {1.0}
        (asked,) = [divmod(at - b.start, encoded.n_candidate_splits) for at in row if b.start <= at < b.stop]
        t, f = asked[0] + b.axes[0].first, asked[1]
        flows = [divmod(at - z.start, z.axes[1].size) for at in row if z.start <= at < z.stop]
        (leaf,) = {node + z.axes[1].first for _, node in flows}
        members = [i for i, _ in flows]
        assert leaf // 2 == t and len(members) > 1 and (encoded.X[members, f] != leaf % 2).all()
        assert len({encoded.y[i] for i in members}) == len(members)
        held.setdefault((t, f, leaf % 2), []).extend(members)
    for t in problem.topology.bottom.tolist():
        for f in range(encoded.n_candidate_splits):
            for side in (0, 1):
                counts = sorted(np.bincount(encoded.y[encoded.X[:, f] != side], minlength=len(encoded.classes)))
                mine = held.get((t, f, side), [])
                # The largest class has rows that no other class is left for; a set of one is implied.
                assert len(set(mine)) == len(mine) == sum(counts[:-1]) + (counts[-2] if len(counts) > 1 else 0)


def broken_sets(problem, point) -> int:
    """How many (node, test, side) have a set H whose row is broken, one by one."""
    encoded, count = problem.encoded, 0
    z, first = point["z"], 1 if problem.params.literal else 2
    for t in problem.topology.bottom:
        for f in range(encoded.n_candidate_splits):
            for value in (0, 1):
                most = {}
                for i in np.flatnonzero(encoded.X[:, f] == value):
                    k = encoded.y[i]
                    most[k] = max(most.get(k, 0), z[i, 2 * t + 1 - value - first])
                count += sum(most.values()) + point["b"][t - 1, f] > 1 + 2e-6
    return count


def test_rows_that_only_an_optimum_keeps_are_no_user_cuts():
    problem = data_problem({"lambda": 0.1, "bottom": "flow"})
    plain = compiled(problem)
    model = cut.add(problem, plain, fitting(problem, plain, FAMILIES))
    stems = {"paper4": "cover", "equivalent_points": "same", "subtree_value": "worth"}
    assert {CUTS.get(name).VALID for name in FAMILIES} == {EVERY_TREE, AN_OPTIMUM}
    assert all(CUTS.get(name).VALID == EVERY_TREE for name in stems) and set(model.user_cuts) >= set(stems.values())
    assert set(model.cuts) == set(fitting(problem, plain, FAMILIES)) >= set(stems)
    assert not set(model.user_cuts) & {"once", "differ", "order"}
    for name in model.cuts:  # of any family, each block of rows or none
        alone = cut.add(problem, plain, (name,))
        added = {block.name for block in alone.rows[len(plain.rows) :]}
        assert set(alone.user_cuts) == (added if CUTS.get(name).VALID == EVERY_TREE else set())


@pytest.mark.parametrize(
    ("formulation", "params"),
    [
        ("flowoct", {"literal": True}),
        ("flowoct", {"merge": False}),
        ("flowoct", {"merge": False, "bottom": "flow"}),
        ("bendersoct", {"merge": False}),
    ],
)
def test_equal_rows_of_one_class_may_all_be_correct(formulation, params):
    """Rows that no split separates, not merged: two of class a are correct together, those of class b are not then."""
    rows = [(0, "a"), (0, "a"), (0, "b"), (1, "b"), (1, "a"), (1, "b"), (1, "b")]
    data = pl.DataFrame({"x": [x for x, _ in rows], "y": [y for _, y in rows]})
    for weight in ([1] * 7, [3, 1, 2, 1, 2, 1, 1]):
        problem = pipeline.pose(
            data.with_columns(weight=pl.Series(weight)), formulation, 1, params=params, target="y", weights="weight"
        )
        model = cut.add(problem, compiled(problem), ("equivalent_points",))
        assert model.n_rows > compiled(problem).n_rows
        wrong = [min(sum(w for w, row in zip(weight, rows) if row == (x, y)) for y in "ab") for x in (0, 1)]
        assert optimum(model)[0] == pytest.approx(sum(wrong), abs=1e-6)


def test_a_family_without_its_columns_is_refused_in_a_sentence():
    problem = data_problem({})
    with pytest.raises(
        ChoiceError,
        match="'paper4' is not for this model of flowoct; the stumps of the default model .*bottom=.flow.",
    ):
        pipeline.compile_model(problem, "paper4")
    with pytest.raises(ChoiceError, match="did you mean 'paper4'"):
        pipeline.compile_model(problem, "paper")
    assert "paper4" not in pipeline.compile_model(problem, "all").cuts
    assert pipeline.compile_model(problem, "none").cuts == ()
    assert pipeline.compile_model(problem, "commutation, no_feature_reuse").cuts == ("no_feature_reuse", "commutation")


def test_a_family_that_fits_only_without_a_constraint_names_the_constraint(tmp_path):
    words = ("build", MONKS / "monks-1.csv", "--cuts", "equivalent_points", "-o", "m")
    said = odtc(*words, "--constraint", "leaf_class_rows[1] >= 3", folder=tmp_path)
    assert said.code == 2 and "for 'leaf_class_rows[1] >= 3' does not take it" in said.err
    assert odtc(*words, "--constraint", "recall[1] >= 0.6", folder=tmp_path).code == 0
    assert odtc(*words[:2], *words[4:], "--constraint", "leaf_class_rows[1] >= 3", folder=tmp_path).code == 0


@pytest.mark.parametrize("cuts", ["none", "all", "paper4"])
def test_the_manifest_rebuilds_the_model_with_its_cuts(cuts, tmp_path):
    model = pipeline.compile_model(data_problem({"bottom": "flow"}), cuts)
    solution = pipeline.solve(model, threads=1)
    files_of_models.write_build(model, tmp_path / "m", "mps")
    write_point(model, solution.x, tmp_path / "m.sol", "highs", solution.termination)
    again, back, manifest = files_of_models.open_solution(tmp_path / "m.sol")
    assert manifest.cuts == model.cuts == again.cuts
    assert again.rows == model.rows and again.user_cuts == model.user_cuts and again.nnz == model.nnz
    assert pipeline.decode(again, back).verified


def test_the_command_line_adds_the_rows_and_decodes_elsewhere(tmp_path):
    built = odtc(
        "build",
        MONKS / "monks-1.csv",
        "--encoding",
        "onehot",
        "--cuts",
        "all",
        "--start",
        "local_search",
        "--json",
        "-o",
        "m",
        folder=tmp_path,
    ).facts
    plain = odtc("build", MONKS / "monks-1.csv", "--encoding", "onehot", "--json", "-o", "plain", folder=tmp_path).facts
    assert plain["cuts"] == [] and "commutation" in built["cuts"] and built["n_model_rows"] > plain["n_model_rows"]
    assert odtc("solve", "m.mps", "--threads", "1", "--json", folder=tmp_path).facts["start"] == "accepted"
    decoded = odtc("decode", "m.sol", "--json", folder=tmp_path).facts
    assert decoded["verified"] and decoded["cuts"] == built["cuts"]
    assert odtc("verify", "m.sol", folder=tmp_path).code == 0
    refused = odtc("build", MONKS / "monks-1.csv", "--cuts", "paper4", "-o", "n", folder=tmp_path)
    assert refused.code == 2 and "bottom=flow" in refused.err and not list(tmp_path.glob("n.*"))


def test_a_loop_solves_with_the_rows_too():
    fits = [
        pipeline.fit(MONKS / "monks-1.csv", "bendersoct", 2, encoding="onehot", cuts=cuts, threads=1)
        for cuts in ("none", "all")
    ]
    assert fits[0].facts["objective"] == fits[1].facts["objective"] and fits[1].facts["verified"]
    assert "no_feature_reuse" in fits[1].facts["cuts"]


def test_rows_with_a_column_each():
    """The families that also speak of one column per row, on a small model that has such columns."""
    problem = data_problem({})
    encoded, tree = problem.encoded, problem.topology
    m = ModelBuilder("rows")
    m.columns("b", Axis("node", 3, 1), Axis("split", encoded.n_candidate_splits), role=Role.BRANCH, integer=True)
    m.columns("g", Axis("row", encoded.n_rows), role=Role.CORRECT, cost=-encoded.weight)
    model = cut.add(problem, m.finish(), ("equivalent_points", "subtree_value"))
    assert model.user_cuts == ("same", "worth")
    for f in range(encoded.n_candidate_splits):
        for g in range(encoded.n_candidate_splits):
            test = np.array([-1, f, g, (g + 1) % encoded.n_candidate_splits, -1, -1, -1, -1], np.int32)
            heap = settle(test, encoded)
            x = np.zeros(model.n_cols)
            for t in tree.branch_nodes:
                x[(t - 1) * encoded.n_candidate_splits + max(0, test[t])] = 1
            x[3 * encoded.n_candidate_splits :] = heap.label[heap.reach(encoded.X)] == encoded.y
            assert_kept(model, x, np.arange(model.n_rows))

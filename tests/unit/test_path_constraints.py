"""dpflow under constraints on splits: known optima, several solvers, and arcs that an incumbent excludes."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import odtc
from odtc.algorithms.dp import lattice
from odtc.algorithms.dp.state_expansion import generate
from odtc.algorithms.dp.state_graph import Rows
from odtc.errors import ChoiceError
from odtc.formulations.dpflow import path_constraints
from odtc.formulations.dpflow.program import Program
from odtc.formulations.dpflow.threshold_search import certify
from odtc.problem.constraints.constraint import built, posed
from odtc.problem.formulation import FORMULATIONS
from odtc.solvers.solver import find_solver, version
from odtc.testing.exhaustive import least_losses
from odtc.testing.problems import problems
from odtc.workflow.near_optimal import near_optimal
from odtc.workflow.posing import choose
from tests import pipeline
from tests.by_a_solver import by_a_solver
from tests.command_line import MONKS

dpflow = FORMULATIONS.get("dpflow")


@pytest.mark.parametrize(
    ("name", "text", "right"), [("balance-scale", "splits <= 3", 443), ("tic-tac-toe", "splits <= 3", 718)]
)
def test_budgets_of_published_data(name, text, right, shared_data):
    """One-hot, depth 3 (issue 5)."""
    fitted = by_a_solver(shared_data / f"{name}.csv", "dpflow", 3, encoding="onehot", threads=1, constraints=(text,))
    assert (
        fitted.facts["termination"] == "optimal" and fitted.facts["verified"] and fitted.facts["train_correct"] == right
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "params"), [("features <= 1", {}), ("splits <= 2", {}), ("splits <= 1", {"fix": "false"})]
)
@pytest.mark.parametrize("solver", ["highs-cli", "cbc", "scip"])
def test_the_same_file_in_several_solvers(solver, text, params):
    if version(find_solver(solver)) is None:
        pytest.skip(f"{solver} is not on this machine")
    fitted = by_a_solver(
        MONKS / "monks-3.csv", "dpflow", 2, encoding="onehot", solver=solver, constraints=(text,), params=params
    )
    encoded = fitted.model.problem.encoded
    losses = least_losses(encoded.X, encoded.y, encoded.weight, 2, [[0, 1], [1, 0]], encoded.copies)
    name, most = text.split(" <= ")
    count = {
        "splits": lambda n, asked: len(asked),
        "branch_nodes": lambda n, asked: n,
        "features": lambda n, asked: len({encoded.splits[f].features for f in asked}),
    }[name]
    best = min(loss for (n, asked), loss in losses.items() if count(n, asked) <= int(most))
    assert fitted.facts["termination"] == "optimal" and fitted.facts["verified"] and fitted.facts["objective"] == best


@given(data=st.data(), more=st.integers(0, 5))
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
def test_every_tree_as_cheap_as_the_bound_is_left(data, more):
    """`arcs_within` a number: the arcs of the trees that cost no more are left, and no others. Costs are whole."""
    problem = data.draw(problems(("dpflow", {"tail": "0", "lambda": 0.25}), depths=(2, 3), most_rows=8))
    program = problem.derived(Program)
    graph = generate(program.rows, problem.topology.depth, program.price)
    bound = graph.values[0][0] + more
    cheap = [arcs for cost, arcs in _trees(graph) if cost <= bound]
    left = lattice.reached(graph.levels, path_constraints.arcs_within(graph, bound))
    assert _arcs(left) == {arc for tree in cheap for arc in tree}


@given(data=st.data(), more=st.integers(0, 5), size=st.integers(1, 2))
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
def test_choices_of_few_tests_leave_their_trees(data, more, size):
    """The trees over few groups that cost no more are all left, and every arc that is left is in one of them."""
    problem = data.draw(problems(("dpflow", {"tail": "0", "lambda": 0.25}), depths=(2, 3), most_rows=8))
    program = problem.derived(Program)
    graph = generate(program.rows, problem.topology.depth, program.price)
    group = np.arange(problem.encoded.n_candidate_splits) % 3
    few = [(cost, arcs) for cost, arcs in _trees(graph) if len({group[test] for _, _, test in arcs}) <= size]
    bound = min(cost for cost, _ in few) + more
    cheap = [arcs for cost, arcs in few if cost <= bound]
    if group.max() + 1 > size:

        def alive(levels):
            return path_constraints.arcs_within(replace(graph, levels=levels), bound)

        left = path_constraints.within_few(graph.levels, group, size, alive)
        assert _arcs(left) == {arc for tree in cheap for arc in tree}


def _trees(graph, j=0, state=0):
    """(cost, arcs) of each tree."""
    level = graph.levels[j]
    yield float(level.stop[state]), ()
    for arc in range(*level.first[state : state + 2]):
        sides = [list(_trees(graph, j + 1, int(s))) if s >= 0 else [(0.0, ())] for s in level.below[arc]]
        for left, asked in sides[0]:
            for right, others in sides[1]:
                yield (
                    float(level.cost[arc] + left + right),
                    ((j, tuple(level.path[state]), int(level.split[arc])), *asked, *others),
                )


def _arcs(levels):
    return {
        (j, tuple(level.path[s]), int(f)) for j, level in enumerate(levels) for s, f in zip(level.state, level.split)
    }


@given(n_candidate_splits=st.integers(2, 6), depth=st.integers(1, 4), seed=st.integers(0, 999))
@settings(max_examples=30)
def test_the_size_it_names_is_never_less_than_the_model(n_candidate_splits, depth, seed):
    random = np.random.default_rng(seed)
    X, y = random.random((60, n_candidate_splits)) < 0.5, random.integers(0, 2, 60)
    graph = generate(Rows.of(X, (np.arange(2) != y[:, None]) * 1.0, np.ones(60)), depth, fold=False)
    columns = sum(level.n_states + len(level.state) for level in lattice.placed(graph.levels))
    assert columns <= path_constraints.most_columns(n_candidate_splits, depth)
    assert (
        f"{path_constraints.most_columns(n_candidate_splits, depth):,} variables"
        in choose(n_candidate_splits, depth, ("features",)).why
    )


def test_only_what_is_counted_is_whole():
    """A budget has an integer column for each thing counted, a cap on nodes one for each node and test."""
    few = pipeline.build(
        MONKS / "monks-1.csv", "dpflow", 3, encoding="onehot", constraints=("features <= 2", "leaf_rows >= 3")
    )
    assert [block.name for block in few.columns if few.integrality[block.start : block.stop].any()] == ["held"]
    both = pipeline.build(
        MONKS / "monks-1.csv", "dpflow", 3, encoding="onehot", constraints=("features <= 2", "leaves <= 4")
    )
    assert [block.name for block in both.columns if both.integrality[block.start : block.stop].any()] == ["b"]


@pytest.mark.slow
def test_paths_that_are_barred_leave_a_linear_program():
    """Of where a column may be asked too: no whole number, and no column says which node asks."""
    for text in ("forbid_root[a5]", "require_root[a1,a2]", "not_below[a1,a2]", "not_below[a4,a4]"):
        free, bound = (
            by_a_solver(MONKS / "monks-1.csv", "dpflow", 3, encoding="onehot", threads=1, constraints=texts)
            for texts in ((), (text, "leaf_rows >= 2"))
        )
        assert not bound.model.integrality.any() and {block.role for block in bound.model.columns} == {"stop", "arc"}
        assert (
            bound.facts["verified"]
            and bound.facts["termination"] == "optimal"
            and bound.facts["objective"] >= free.facts["objective"]
        )
        whole = by_a_solver(
            MONKS / "monks-1.csv",
            "dpflow",
            3,
            encoding="onehot",
            threads=1,
            tail="0",
            constraints=(text, "leaf_rows >= 2"),
        )
        assert whole.facts["objective"] == bound.facts["objective"] and whole.model.nnz > 2 * bound.model.nnz


def test_an_incumbent_makes_the_file_smaller_not_the_optimum():
    sizes, values = [], []
    for fix in (True, False):
        fitted = by_a_solver(
            MONKS / "monks-2.csv", "dpflow", 3, encoding="onehot", threads=1, constraints=("splits <= 4",), fix=fix
        )
        assert fitted.facts["termination"] == "optimal" and fitted.facts["verified"]
        sizes.append(fitted.model.nnz)
        said = dpflow.notes(fitted.model.problem).get("fixed")
        assert (
            said["bound"] <= fitted.facts["objective"] <= said["incumbent"] and 0 < said["arcs"] < said["of"]
            if fix
            else said is None
        )
        values.append(fitted.facts["objective"])
    assert values[0] == values[1] and sizes[0] < sizes[1]


def test_what_it_cannot_say_is_refused_in_a_sentence():
    problem = pipeline.pose(MONKS / "monks-1.csv", "dpflow", 3, constraints=("features <= 2",), tail="1")
    with pytest.raises(
        ChoiceError, match="'features <= 2' needs a model that says 'node t splits on f'.*drop tail=1, with which"
    ):
        built(problem)
    with pytest.raises(ChoiceError, match="leave out 'features <= 2'"):
        near_optimal(posed(problem, ["features <= 2"]), 3)
    with pytest.raises(ChoiceError, match="leave out the constraint 'features <= 2'"):
        certify(problem)


def test_all_pairs_of_columns_by_hand():
    """The budget of two columns is the best of the trees over each two columns."""
    data = odtc.read(MONKS / "monks-1.csv")
    fitted = by_a_solver(data, "dpflow", 3, encoding="onehot", threads=1, constraints=("features <= 2",))
    best = []
    for two in combinations(range(len(data.features)), 2):
        part = odtc.Dataset(
            "part", data.X[:, two], data.y, tuple(data.features[j] for j in two), data.classes, data.weight
        )
        best.append(by_a_solver(part, "dpflow", 3, encoding="onehot", threads=1).facts["objective"])
    assert fitted.facts["objective"] == min(best)

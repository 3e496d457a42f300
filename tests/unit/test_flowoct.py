"""FlowOCT beyond the property tests: its integer variables, and trees of points with fractional values."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp

from odtc.data.dataset import Dataset, Feature
from odtc.data.encoding import encode
from odtc.problem.formulation import FORMULATIONS
from odtc.problem.parameters import parse_params
from odtc.problem.problem import Problem
from odtc.problem.roles import Role
from odtc.testing.optima import exhaustive_cost
from odtc.testing.problems import heaps, problems
from odtc.trees.heap_tree import CompleteTree, HeapTree
from tests.files.test_golden import small
from tests.laws.test_cuts import SLOW

FORMS = [("flowoct", {}), ("flowoct", {"lambda": 0.25})]


def test_only_the_tests_of_inner_nodes_are_whole():
    def whole(form):
        model = (problem := small(form)).module.build(problem)
        b = next(block for block in model.columns if block.role == Role.BRANCH)
        kinds = model.integrality[b.start : b.stop].reshape(b.shape).astype(bool)
        assert not model.integrality[b.stop :].any() or form[1].get("literal")
        return [bool(line.all()) for line in kinds if line.all() == line.any()]

    assert whole(("flowoct", {})) == whole(("flowoct", {"lambda": 0.25})) == [True, False, False]
    assert whole(("flowoct", {"bottom": "flow"})) == whole(("flowoct", {"literal": True})) == [True] * 3


def _is_whole(test, label) -> bool:
    """Whether every way from the root ends at a label."""
    ways = [1]
    while ways:
        node = ways.pop()
        if test[node] >= 0:
            ways += [2 * node, 2 * node + 1]
        elif label[node] < 0:
            return False
    return True


@pytest.mark.parametrize("form", FORMS, ids=str)
@given(data=st.data())
@settings(max_examples=60, **SLOW)
def test_a_mix_of_bottom_nodes_decodes_to_a_tree_as_good_as_any_of_them(form, data):
    """Of two trees with the same inner nodes, any point between their points has a tree no worse than both."""
    problem = data.draw(problems(form, depths=(1, 2, 3)))
    one, two = data.draw(heaps(problem)), data.draw(heaps(problem))
    inner, test, label = problem.topology.inner, two.split.copy(), two.label.copy()
    test[inner], label[inner] = one.split[inner], one.label[inner]
    assume(_is_whole(test, label))  # where `two` ended sooner, nodes below it have neither test nor label
    two = type(one)(test, label)
    model, share = problem.module.build(problem), data.draw(st.floats(0.01, 0.99))
    x = [model.join(problem.module.start(problem, heap)) for heap in (one, two)]
    between = share * x[0] + (1 - share) * x[1]
    heap = problem.module.decode(problem, model.split(between))
    assert problem.module.objective(problem, heap) <= model.objective(between) + 1e-9


@pytest.mark.parametrize("blue", [0, 1])
@pytest.mark.parametrize("form", [*FORMS, ("flowoct", {"bottom": "flow"})], ids=str)
def test_leaves_of_mixed_tests_are_labelled_anew(form, blue):
    """A leaf with the same label in both trees kept it, although the rows of another test came to it."""
    colours = Feature("colour", "categorical", ("blue", "red", "white"))
    X, y = np.array([[0.0], [0], [0], [1], [2], [2]]), np.array([blue] * 3 + [1 - blue] * 3, np.int32)
    data = Dataset("colours", X, y, (colours,), ("no", "yes"), np.ones(6))
    problem = Problem(encode(data), CompleteTree(1), FORMULATIONS.get(form[0]), parse_params(*form))
    model = problem.module.build(problem)
    trees = [
        HeapTree(np.array([-1, test, -1, -1], np.int32), np.array([-1, -1, *labels], np.int32))
        for test in range(problem.encoded.n_candidate_splits)
        for labels in [(0, 0), (0, 1), (1, 0), (1, 1)]
    ]
    points = [model.join(problem.module.start(problem, tree)) for tree in trees]
    for one, two in itertools.combinations(points, 2):
        between = 0.3 * one + 0.7 * two
        heap = problem.module.decode(problem, model.split(between))
        assert problem.module.objective(problem, heap) <= model.objective(between) + 1e-9


@pytest.mark.parametrize("form", FORMS, ids=str)
@given(data=st.data())
@settings(max_examples=40, **SLOW)
def test_a_vertex_in_the_middle_of_ties_decodes_to_an_optimum(form, data):
    """Any point of the optimal face will do: one that a random objective picks, and the mean of two such."""
    problem = data.draw(problems(form, depths=(1, 2)))
    m = problem.module.build(problem)
    rows, bounds = LinearConstraint(m.A, m.row_lower, m.row_upper), Bounds(m.col_lower, m.col_upper)
    found = milp(m.c, constraints=rows, bounds=bounds, integrality=m.integrality)
    best = exhaustive_cost(problem)
    assert found.fun + m.offset == pytest.approx(best, abs=1e-6)
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    face = LinearConstraint(m.c[None, :], -np.inf, found.fun + 1e-7)
    fixed = np.where(m.integrality == 1, np.round(found.x), np.nan)
    low, high = (np.where(np.isnan(fixed), side, fixed) for side in (m.col_lower, m.col_upper))
    points = [milp(rng.normal(size=m.n_cols), constraints=[rows, face], bounds=Bounds(low, high)).x for _ in range(2)]
    for x in (*points, (points[0] + points[1]) / 2):
        heap = problem.module.decode(problem, m.split(x))
        assert problem.module.objective(problem, heap) == pytest.approx(best, abs=1e-5)

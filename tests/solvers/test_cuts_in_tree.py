"""Solvers that add cuts inside one branch-and-bound tree: the optimum with all cuts, errors of cuts, BendersOCT."""

from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from odtc.model.blocks import Axis
from odtc.model.builder import ModelBuilder
from odtc.model.solution import Options, Termination
from odtc.solvers.protocols import SOLVERS, CutSolver
from odtc.solvers.solve import solve_with_cuts, takes_cuts
from odtc.testing.optima import exhaustive_cost
from odtc.testing.problems import VARIANTS, form_id, problems
from tests import pipeline
from tests.command_line import MONKS

ABLE = [name for name in SOLVERS.names() if SOLVERS.get(name).can(CutSolver)]
LOOPS = [("bendersoct", params | {"cuts": "none"}) for params in VARIANTS["bendersoct"]]
pytestmark = pytest.mark.slow


@pytest.fixture(params=ABLE)
def solver(request):
    if not takes_cuts(request.param):
        pytest.skip(f"the Python package of {request.param} is not installed")
    return request.param


def knapsack(values):
    """max Σ v_j x_j, x binary, as a minimum; one row that does not bind."""
    n = len(values)
    m = ModelBuilder("knapsack")
    x = m.columns("x", Axis("item", n), cost=-np.asarray(values, float), integer=True)
    loose = m.rows("loose", Axis("one", 1), upper=n)
    m.add(loose[np.zeros(n, int)], x[np.arange(n)])
    return m.finish()


def pairs_apart(n, pairs):
    """Cuts x_i + x_j <= 1 for these pairs, and the points that were given."""
    seen = []

    def cuts(x, whole):
        seen.append((x, whole))
        broken = [(i, j) for i, j in pairs if x[i] + x[j] > 1 + 1e-5]
        A = np.zeros((len(broken), n))
        for row, pair in enumerate(broken):
            A[row, list(pair)] = 1
        return csr_array(A), np.ones(len(broken))

    return cuts, seen


def best_of(values, pairs):
    """The best value of a set without such a pair, by trying all sets."""
    sets = product((0, 1), repeat=len(values))
    return max(np.dot(values, x) for x in sets if not any(x[i] and x[j] for i, j in pairs))


@settings(max_examples=8, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_the_optimum_satisfies_all_cuts(solver, data):
    n = data.draw(st.integers(2, 6))
    # Equal values: symmetries and dual reductions that ignore the cuts would be wrong.
    values = data.draw(st.lists(st.sampled_from([1, 1, 1, 2, 3]), min_size=n, max_size=n))
    every = [(i, j) for i in range(n) for j in range(i)]
    pairs = data.draw(st.lists(st.sampled_from(every), unique=True))
    cuts, seen = pairs_apart(n, pairs)
    start = np.zeros(n) if data.draw(st.booleans()) else None
    found = solve_with_cuts(knapsack(values), solver, cuts, Options(threads=1), start)
    assert found.termination == Termination.OPTIMAL
    assert found.objective == pytest.approx(-best_of(values, pairs), abs=1e-6)
    assert found.bound == pytest.approx(found.objective, abs=1e-5)
    assert not any(found.x[i] + found.x[j] > 1.5 for i, j in pairs)
    assert all(len(x) == n for x, _ in seen)
    assert all(np.abs(x - np.round(x)).max() < 1e-5 for x, whole in seen if whole)


def test_an_error_of_the_cuts_is_the_end_in_one_sentence(solver):
    def cuts(x, whole):
        raise ValueError("no cut today")

    found = solve_with_cuts(knapsack([1, 2, 3]), solver, cuts, Options(threads=1))
    assert found.termination == Termination.ERROR and "no cut today" in found.message and found.x is None


@pytest.mark.parametrize("form", LOOPS, ids=form_id)
@settings(max_examples=4, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_bendersoct_has_the_optimum_of_exhaustive_search(solver, form, data):
    problem = data.draw(problems(form))
    model, found = pipeline.solve_or_loop(pipeline.compile_model(problem), pipeline.SolvingSpec(solver=solver))
    assert found.termination == Termination.OPTIMAL
    assert found.objective == pytest.approx(exhaustive_cost(problem), abs=1e-6)
    assert pipeline.decode(model, found).verified and len(found.history) == 1


@pytest.mark.parametrize("one_tree", [True, False])
def test_one_tree_false_solves_masters_one_after_another(solver, one_tree):
    params = {"cuts": "none", "one_tree": one_tree}
    model = pipeline.build(MONKS / "monks-3.csv", "bendersoct", 2, params=params)
    last, found = pipeline.solve_or_loop(model, pipeline.SolvingSpec(solver=solver))
    assert (len(found.history) == 1) == one_tree
    assert found.termination == Termination.OPTIMAL and pipeline.decode(last, found).verified

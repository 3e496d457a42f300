"""Solver x formulation x form x start x cuts, drawn so that each two of them meet: one optimum, checked.

Every solver meets every formulation. The form, the start and the cuts of a pair are those that meet what they have not
met yet. The optimum is HiGHS's without a start and without cuts; that this is the best of all trees is held by
tests/laws/test_optimum.py.
"""

from functools import cache
from itertools import combinations, product

import numpy as np
import pytest

from odtc.data.dataset import CATEGORICAL, NUMERIC, Dataset, Feature
from odtc.problem.exact_objective import exact_objective
from odtc.problem.formulation import FORMULATIONS
from odtc.solvers.solver import SOLVERS, find_solver, version
from odtc.testing.problems import COMPILED, VARIANTS, form_id
from odtc.workflow.results.fit import tree_cost
from tests import pipeline

STARTS = ("none", "cart", "optimal", "oblique:seconds=1,restarts=8")
CUTS = (None, "none", "all")


def rows(n: int) -> Dataset:
    """Rows that contradict each other, of two classes, with two levels and a number."""
    rng = np.random.default_rng(17)
    X = np.column_stack([rng.integers(0, 2, n), rng.integers(0, 3, n), rng.integers(0, 3, n) / 2]).astype(float)
    y = np.concatenate([[0, 1], (X[2:, 0] + X[2:, 2] + rng.random(n - 2) > 1.2)]).astype(np.int32)
    kinds = (
        Feature("colour", CATEGORICAL, ("p", "q")),
        Feature("c", CATEGORICAL, ("u", "v", "w")),
        Feature("x", NUMERIC),
    )
    return Dataset("matrix", X, y, kinds, ("no", "yes"), np.ones(n))


def covered(case) -> set:
    return set(combinations(enumerate(case), 2))


def matrix() -> list[tuple]:
    """(solver, formulation, number of the form, start, cuts) for every solver and formulation."""
    met, cases = set(), []
    for solver, name in product(SOLVERS.names(), COMPILED):
        starts = [start for start in STARTS if not start.startswith("oblique") or FORMULATIONS.get(name).BEYOND]
        # A form is one of its formulation: its number alone meets nothing.
        ways = [
            (solver, name, (name, form), start, cuts)
            for form, start, cuts in product(range(len(VARIANTS[name])), starts, CUTS)
        ]
        best = max(ways, key=lambda way: len(covered(way) - met))
        met |= covered(best)
        cases.append((*best[:2], best[2][1], *best[3:]))
    return cases


@cache
def fitted(name, form, solver, start, cuts):
    params = dict(VARIANTS[name][form])
    params |= {"group": "colour"} if "group" in params else {}
    slow = FORMULATIONS.get(name).WEIGHS
    found = pipeline.fit(
        rows(6 if slow else 9),
        model=name,
        depth=1 if slow else 2,
        params=params,
        solver=solver,
        start_from=start,
        cuts=cuts,
        time_limit=60,
    )
    assert found.verified, [check for check in found.decoded.checks if not check.passed]
    # No tolerance of a solver supports a proof where trees may differ by any amount, as by their margins.
    provable = exact_objective(found.problem) is not None
    return tree_cost(found.problem, found.decoded.heap), str(found.solution.termination), provable


def case_id(case) -> str:
    solver, name, form, start, cuts = case
    return f"{solver}-{form_id((name, VARIANTS[name][form]))}-{start.partition(':')[0]}-{cuts or 'default'}"


@pytest.mark.every(6)
@pytest.mark.parametrize("case", matrix(), ids=case_id)
def test_every_way_to_a_tree_has_one_optimum(case):
    solver, name, form, start, cuts = case
    if not version(find_solver(solver)):
        pytest.skip(f"{solver} is not installed")
    cost, ended, provable = fitted(name, form, solver, start, cuts)
    assert cost == pytest.approx(fitted(name, form, "highs", "none", "none")[0], abs=1e-5)
    assert ended == "optimal" or (not provable and ended == "unknown")

"""Law 2: the optimum is that of an exhaustive search, which the decoded tree attains (odtc.testing)."""

import pytest

from odtc.problem.formulation import FORMULATIONS
from odtc.solvers.solver import SOLVERS, find_solver, version
from odtc.testing import Trial, cases
from odtc.testing.problems import COMPILED
from odtc.testing.properties.formulations import by_solver, forms, optimum_by
from odtc.testing.property import Property, cases_of


@pytest.mark.every(5)
@pytest.mark.parametrize(
    "case",
    [case for name in COMPILED for word in ("optimum", "run") for case in cases("formulation", name, property=word)],
    ids=str,
)
def test_the_optimum_is_that_of_exhaustive_search(case):
    case.expect(min(case.property.examples, 4))  # `odtc check` draws more


# The others read the same model from a file: a problem each, in the default form and, if all seeds are asked for, the
# printed one. The matrix of tests/solvers has one more of each, and `odtc check solver NAME` draws more.
def of_solver(solver):
    def holds(member, form, trial: Trial):
        optimum_by(lambda *asked: by_solver(solver, *asked), member, form, trial)

    property = Property(solver, "The solver finds and proves the optimum.", holds, forms, 1)
    found = [case for name in COMPILED for case in cases_of("formulation", name, FORMULATIONS.get(name), (property,))]
    printed = [case for case in found if case.value[1] == {"lambda": 0.25, "literal": True}]
    plain = [case for case in found if case.value[1] == {}]
    return [*plain, *(pytest.param(case, marks=pytest.mark.long) for case in printed)]


@pytest.mark.every(5)
@pytest.mark.parametrize(
    "case", [case for name in SOLVERS.names() if name != "highs" for case in of_solver(name)], ids=str
)
def test_every_solver_finds_it(case):
    if version(find_solver(case.property.name)) is None:
        pytest.skip(f"{case.property.name} is not on this machine")
    case.expect()

"""The compiler's own search satisfies each type of constraint exactly: its optimum is that of exhaustive search."""

import contextlib
from dataclasses import replace
from fractions import Fraction
from itertools import count
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from odtc.algorithms.constrained import engines
from odtc.errors import ChoiceError, TimeLimitReached
from odtc.formulations.dpflow.constrained import Posed
from odtc.problem.constraints import search_terms
from odtc.problem.constraints.constraint import broken, posed
from odtc.problem.constraints.kind import CONSTRAINTS
from odtc.problem.formulation import FORMULATIONS
from odtc.testing.optima import least_of_every_tree
from odtc.testing.problems import KINDS, heaps, problems

SLOW = {"deadline": None, "suppress_health_check": list(HealthCheck), "derandomize": True}
MOST_TESTS = 5
# Of all tests; as of very many: one of each scale first, then all; and a root with two stumps by ranks.
NEXT = Fraction(1, 10**9)
ENGINES = ({}, {"FEW_TESTS": 1, "FEW": 1}, {"FEW_TESTS": 1, "FEW": 1, "MOST_TESTS": 0})


@pytest.mark.parametrize("kind", CONSTRAINTS.names())
@given(data=st.data())
@settings(max_examples=6, **SLOW)
def test_the_optimum_of_the_search_is_that_of_trying_every_tree(kind, data):
    form = ("dpflow", data.draw(st.sampled_from([{}, {"lambda": 0.25}])))
    problem = data.draw(problems(form, depths=(1, 2, 2), most_rows=7, auxiliary=True))
    assume(problem.encoded.n_candidate_splits <= MOST_TESTS)
    kinds = [kind, *data.draw(st.lists(st.sampled_from(CONSTRAINTS.names()), max_size=1))]
    try:
        problem = posed(problem, [text_of(name, problem, data) for name in kinds])
    except ChoiceError:  # what this data has no rows, columns or levels for
        assume(False)
    with contextlib.ExitStack() as stack:
        # `splits` makes sets of tests, which the last of them does not take, or counts tests as of very many.
        counted = "splits" in kinds and data.draw(st.booleans())
        stack.enter_context(mock.patch.object(search_terms, "MOST_SUBSETS", 0 if counted else 20_000))
        for name, number in data.draw(st.sampled_from(ENGINES[: 2 if "splits" in kinds else 3])).items():
            stack.enter_context(mock.patch.object(engines, name, number))
        assume(problem.module.searches(problem))  # weights with thirds have no small unit
        least = least_of_every_tree(problem)
        expect_valid_results_when_stopped(problem, least, data.draw(st.integers(0, 30)))
        found = problem.module.search(problem, None, lambda *told: None)
    assert found.infeasible == (least == np.inf)
    if not found.infeasible:
        assert not broken(problem, found.heap)
        assert problem.module.objective(problem, found.heap) == pytest.approx(least, abs=1e-9)
        assert found.bound == pytest.approx(least, abs=1e-9)


def text_of(kind, problem, data) -> str:
    """Draw a constraint of a kind; its number may be what a tree has, or next to that."""
    text = data.draw(st.sampled_from(KINDS[kind].tries(problem.encoded)))
    if data.draw(st.booleans()):
        problem = posed(problem, [text])
        (given,) = problem.constraints
        value = given.module.value(problem.encoded, given, data.draw(heaps(problem))) if given.op else np.nan
        if np.isfinite(float(value)):
            return str(replace(given, bound=Fraction(value) + data.draw(st.sampled_from([0, 0, NEXT, -NEXT]))))
    return text


def expect_valid_results_when_stopped(problem, least, ticks):
    """A search that ends after so many ticks has a bound that holds, and no tree that breaks a constraint."""
    mine, left, told = Posed(problem), count(ticks, -1), []
    mine.search.watch(lambda: next(left) <= 0, lambda *results: told.append(results))
    with contextlib.suppress(TimeLimitReached):
        mine.search.run()
    found, unit = mine.search.found, mine.problem.unit
    for bound, cost in [*told, (found.bound, found.cost)]:
        assert bound * unit <= least + mine.problem.off + 1e-9 and (cost is None or cost * unit >= least - 1e-9)
    assert least == np.inf or not found.infeasible
    if found.split is not None:
        assert not broken(problem, mine.problem.tree(found.split, found.label))


@pytest.mark.parametrize("kind", CONSTRAINTS.names())
def test_an_argument_that_is_missing_is_answered_with_a_sentence(kind):
    from odtc.data.dataset import Dataset, Feature
    from odtc.data.encoding import encode
    from odtc.problem.parameters import parse_params
    from odtc.problem.problem import Problem
    from odtc.trees.heap_tree import CompleteTree

    X = np.array([[0.0, 0], [0, 1], [1, 0], [2, 1], [2, 2], [1, 2]])
    features = (Feature("size", "numeric"), Feature("colour", "categorical", ("blue", "red", "white")))
    data = Dataset("small", X, np.array([0, 1, 1, 0, 1, 0], np.int32), features, ("no", "yes"), np.ones(6))
    problem = Problem(encode(data), CompleteTree(2), FORMULATIONS.get("dpflow"), parse_params("dpflow", {}))
    module = CONSTRAINTS.get(kind)
    bare = f"{kind} {module.OPS[0]} 0" if module.OPS else kind
    if "[" in module.tries(problem.encoded)[1 if kind == "leaf_precision" else 0] and kind != "leaf_precision":
        with pytest.raises(ChoiceError, match=kind):
            posed(problem, [bare])
    else:
        posed(problem, [bare.replace(" 0", " 1")])

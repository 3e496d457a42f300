"""Penalties of branch nodes with so many digits that costs under constraints cannot be whole numbers."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from odtc.algorithms.constrained.constrained_problem import TooLarge
from odtc.data.reading import read_arrays
from odtc.errors import ChoiceError
from odtc.estimators.regressor import OptimalTreeRegressor
from odtc.formulations.dpflow.constrained import certify_in_time
from odtc.problem.branch_penalty import exact_share
from odtc.problem.constraints.search_units import settled_price
from odtc.problem.exact_objective import exact_objective
from odtc.workflow.searching import searched
from tests import pipeline

LONG, NEAR = 0.5652173913043479, 0.5652173913043478
DIGITS = 0.0123456789012345678  # of no fraction of small numbers
WRITTEN = Fraction(str(DIGITS))


# Rows of three numbers, a weight and a target.
ROWS = np.array(
    [
        [0.2, 0.1, 0.3, 0.5, -0.6],
        [2.4, -1.2, 0.7, 0.5, 0.42],
        [0.5, 0.6, 0.9, 2.0, -0.63],
        [1.5, 1.7, -1.4, 1.0, 0.37],
        [0.2, 0.0, 1.9, 0.5, -2.47],
        [0.6, -0.3, -0.9, 0.5, 0.47],
        [0.1, 1.3, 1.1, 1.0, -1.35],
        [-0.9, -0.7, 1.3, 0.5, -1.2],
    ]
)
X, WEIGHT, Y = ROWS[:, :3], ROWS[:, 3], ROWS[:, 4]


@pytest.mark.parametrize("more", [{"min_samples_leaf": 2}, {"constraints": ["features <= 1"]}])
def test_a_long_price_has_the_tree_of_its_neighbour(more):
    """The sums overflowed: a leaf that was not even the median, "unknown" after 0.1 s."""
    long, near = (
        OptimalTreeRegressor(2, criterion="absolute_error", params={"lambda": price}, **more).fit(
            X, Y, sample_weight=WEIGHT
        )
        for price in (LONG, NEAR)
    )
    assert long.status_ == near.status_ == "optimal"
    assert long.objective_ == pytest.approx(near.objective_, rel=1e-9)


def _searched(price, weight):
    data = replace(read_arrays(X, Y > 0), weight=weight)
    problem = pipeline.pose(
        data, "dpflow", 2, constraints=("leaf_rows >= 2", "features <= 2"), params={"lambda": price}
    )
    return problem, searched(problem)


def test_of_a_long_price_there_is_a_proof_and_a_sentence_in_place_of_a_certificate():
    problem, done = _searched(LONG, WEIGHT / 64)
    assert done.solution.termination == "optimal" and done.verified and done.certified is None
    assert "too many digits" in done.uncertified
    with pytest.raises(ChoiceError, match="too many digits"):
        certify_in_time(problem)


def test_a_long_price_that_is_a_quotient_of_small_numbers_has_a_certificate_of_the_same_objective():
    """The simplest quotient that rounds to the price is the price."""
    problem, done = _searched(DIGITS, np.ones(len(Y)))
    share = exact_share(DIGITS)
    assert float(share) == DIGITS and share.denominator < 10**10
    assert done.solution.termination == "optimal" and done.verified and done.certified is True
    facts = certify_in_time(problem)
    assert Fraction(facts["penalty"], facts["scale"]) == share
    assert Fraction(facts["claim"], facts["scale"]) == exact_objective(problem).cost(done.decoded.heap)


@pytest.mark.parametrize("price", ["0.3", "0.5652173913043479", "0.9"])
def test_the_least_objective_above_a_bound_is_that_of_losses_and_branch_nodes(price):
    """Among all sums of a loss in whole units and of branch nodes, and of the leaf there is."""
    problem = pipeline.pose(read_arrays(X, Y > 0), "dpflow", 2, params={"lambda": float(price)})
    exact, share = exact_objective(problem), exact_share(float(price))
    leaf = (1 - share) * min((Y > 0).sum(), (Y <= 0).sum())
    sums = [(1 - share) * loss + share * nodes for nodes in range(1, 4) for loss in range(200)]
    for bound in [Fraction(n, 7) for n in range(1, 60)]:
        alone = [leaf] if leaf >= bound else [(1 - share) * loss for loss in range(200)]
        assert exact.least(bound) == min(value for value in [*sums, *alone] if value >= bound)


def test_a_price_is_rounded_only_if_it_has_to_be():
    assert settled_price(Fraction(1, 80), 10**6) == Fraction(1, 80)
    rounded = settled_price(WRITTEN, 10**8)
    assert abs(rounded - WRITTEN) < Fraction(1, 10**8) and rounded.denominator * 10**8 < 2**52
    with pytest.raises(TooLarge, match="round them"):
        settled_price(WRITTEN, 10**15)

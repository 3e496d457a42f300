"""`--model auto`: the formulation that proves the tree soonest on this data, and why.

dpflow needs no integers and any LP solver proves it, but its states grow with F^(depth-1), where F is
the number of tests; flowoct grows with the rows and only linearly with F. So the sizes decide.
"""

from contextlib import suppress
from dataclasses import dataclass
from math import comb

from odtc.data.encoding import Encoded
from odtc.data.threshold_scales import Scales
from odtc.errors import TimeLimitReached
from odtc.formulations.dpflow import (
    constrained,
    interval_model,
    path_constraints,
    paths_and_resources,
    resources,
    size_estimate,
)
from odtc.problem.constraints.constraint import CONSTRAINTS
from odtc.problem.constraints.on_predictions import Knows
from odtc.problem.formulation import FORMULATIONS

MOST_CELLS = 3_000_000_000  # sums of the search over intervals: about half a minute
MOST_POINTS = 12_000_000  # subtrees that the compiler holds, nearly all of which it leaves out


@dataclass(frozen=True)
class Choice:
    """A formulation, and the reason in words."""

    formulation: str
    why: str


def rounded_count(number: float) -> str:
    """Two figures of a number, in words that people read: 780, 24,000, 3.1e+12."""
    return f"{float(f'{number:.2g}'):,.0f}" if number < 1e9 else f"{number:.2g}"


def choose(
    n_tests: int,
    depth: int,
    constraints: tuple[str, ...] = (),
    encoded: Encoded | None = None,
    fitting: bool = False,
) -> Choice:
    """Where a tree is fitted and no model is wanted, the search of dpflow: always without constraints, as it has a tree
    and a bound at every moment; under constraints if it is not too long.

    Else by the greatest sizes that dpflow can have on so many tests at this depth; flowoct, which takes
    every constraint, where there are kinds of them (by name) that dpflow does not take. On
    data (`encoded`) with many thresholds by the search over intervals of them."""
    dpflow = FORMULATIONS.get("dpflow")
    if fitting and not constraints:
        return Choice(
            "dpflow",
            f"dpflow searches all trees of depth {depth} over {n_tests:,} tests, and has the best tree so far and a "
            f"bound at every moment",
        )
    if fitting and constraints and (work := constrained.sums(n_tests, depth)) <= constrained.MOST_SUMS:
        return Choice(
            "dpflow",
            f"dpflow searches for the tree under constraints itself, with about {rounded_count(work)} sums a pass "
            f"at depth {depth} over {n_tests} tests; --model flowoct grows with the rows instead",
        )
    remembers = any(CONSTRAINTS.get(name).KNOWS == Knows.TESTS and name not in dpflow.KEEPS for name in constraints)
    asked = {name for name in constraints if CONSTRAINTS.get(name).KNOWS == Knows.TESTS} if remembers else set()
    if others := [name for name in constraints if name not in (*dpflow.KEEPS, *asked)]:
        return Choice("flowoct", f"flowoct takes every constraint; dpflow does not take {others[0]!r}")
    if encoded is not None and depth > 1 and not constraints and interval_model.worth(encoded):
        scales = Scales.of(encoded)
        sums = interval_model.work(scales, depth)
        size = f"about {rounded_count(sums)} sums at depth {depth} over {n_tests} thresholds"
        if sums <= MOST_CELLS:
            return Choice(
                "dpflow",
                f"dpflow is a linear program of intervals, found by {size}; --model flowoct grows with the rows "
                f"instead",
            )
        with suppress(TimeLimitReached):
            if interval_model.ends_at_once(encoded, scales, depth):
                return Choice(
                    "dpflow",
                    f"dpflow over intervals ends at once, as a tree of less than depth {depth} errs only where every "
                    f"tree does; "
                    "--model flowoct grows with the rows instead",
                )
        return Choice(
            "flowoct",
            f"flowoct grows with the rows; dpflow over intervals would take {size}, more than half a minute: "
            "fewer tests (--encoding auto:bins=8) or a smaller --depth would shorten it",
        )
    tail, most = size_estimate.short_tail(n_tests, depth), size_estimate.MOST_COLUMNS
    if remembers and set(constraints) & set(resources.answering()):
        columns, what = paths_and_resources.most_columns(n_tests, depth), "a flow of labels and tests"
    elif remembers:
        columns, what = path_constraints.most_columns(n_tests, depth), "a flow over the nodes"
    elif set(constraints) <= {"leaf_rows"}:
        tail = (
            min(1, depth - 2) if constraints and depth > 1 else tail
        )  # odtc.formulations.dpflow.resources folds one level where depth is above 2
        folded = (
            2 ** (depth - tail) * comb(n_tests, depth - tail) if constraints and tail else 0
        )  # their states have columns, too
        columns, what = size_estimate.most_columns(n_tests, depth - tail) + folded, "a linear program"
    else:
        columns, what, most = size_estimate.most_points(n_tests, depth), "a flow of subtrees", MOST_POINTS
    sums = size_estimate.sums(n_tests, depth)
    size = f"at most {columns:,} columns and {rounded_count(sums)} sums at depth {depth} over {n_tests} tests"
    if columns <= most and sums <= size_estimate.MOST_SUMS:
        return Choice("dpflow", f"dpflow is {what} of {size}; --model flowoct grows with the rows instead")
    return Choice(
        "flowoct",
        f"flowoct grows with the rows; dpflow could have {size}, more than fit: "
        "fewer tests (--encoding auto:bins=8) or a smaller --depth would let it",
    )

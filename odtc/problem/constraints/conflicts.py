"""Explanation why no tree satisfies all constraints: a minimal conflicting set, and the nearest values that are
feasible.

The search leaves out one constraint after another. If there is still no tree without it, the constraint is not part of
the conflict. The remaining constraints conflict, but leaving out any one of them makes a tree possible. For each of
them that has a number, the nearest feasible number is found, while all other requested constraints stay, also those
that are not part of the conflict.

Most constraints with a number v limit one sum over the rows: S_v(tree) <= u_v. The tree with the least S_v reaches a
number, which is the next v, until no tree has less than u_v (Dinkelbach 1967, for ratios). If S does not depend on v,
such as for a recall, one search is enough. For every other constraint, a bisection goes from the requested number to
one that a tree reaches.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields, replace
from fractions import Fraction
from math import ceil, floor, log10
from typing import NamedTuple

import numpy as np

from odtc.algorithms.constrained.constrained_problem import TooLarge
from odtc.algorithms.constrained.constrained_search import Found
from odtc.algorithms.constrained.engines import engine_of
from odtc.base.value_class import value_class
from odtc.errors import ChoiceError
from odtc.problem.constraints.kind import Constraint
from odtc.problem.constraints.search_terms import SearchProblem, search_problem, terms_of
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree

FINE = 0.002  # relative distance of two numbers below which the next number is tried instead of the middle
MOST_STEPS = 12  # maximum number of searches for the nearest number


class Nearest(NamedTuple):
    """A number that a tree satisfies together with all other requested constraints.

    Attributes
    ----------
    given : Constraint
    value : Fraction or float
    settled : bool
        Whether no number nearer to the requested one can be satisfied, in the digits of a message.
    """

    given: Constraint
    value: Fraction | float
    settled: bool


@value_class
class Conflict:
    """A set of constraints that no tree satisfies together.

    Attributes
    ----------
    constraints : tuple of Constraint
    smallest : bool
        Whether every one of them was proved to be needed.
    nearest : tuple of Nearest
    alone : bool
        Whether no other constraint was requested.
    """

    constraints: tuple[Constraint, ...]
    smallest: bool
    nearest: tuple[Nearest, ...]
    alone: bool = False

    @property
    def text(self) -> str:
        """The conflict in words, and which constraint to relax: another one than these would not help."""
        names = "; ".join(map(str, self.constraints))
        if len(self.constraints) == 1:
            said = f"no tree of this depth over these splits satisfies {names}"
        else:
            said = f"no tree of this depth over these splits satisfies all of: {names}"
            said += " (without any one of them a tree exists)" if self.smallest else ""
        best = [near for near in self.nearest if near.settled]
        open_ = [
            near for near in self.nearest if not near.settled and near.value > 0
        ]  # 0 need not be reported, because every tree satisfies it
        others = "" if self.alone else ", with the others as requested"
        if best:
            said += f"; the best possible value{' is' if len(best) == 1 else 's are'} {_any_of(best)}{others}"
        if open_:
            said += (
                f"; {_any_of(open_)} {'is' if len(open_) == 1 else 'are'} possible{others} (the time ended before it "
            )
            said += "was decided whether a nearer value is, too)"
        return f"{said}; relax {'it' if len(self.constraints) == 1 else 'one of them'}"


def _any_of(nearest: list[Nearest]) -> str:
    """Return the constraints with the numbers that a tree reaches, of few decimals."""
    return ", or ".join(str(replace(given, bound=_eased(value, given.op))) for given, value, _ in nearest)


def conflict(problem: Problem, tick: Callable[[], bool]) -> Conflict:
    """Return the conflict of a problem without a tree; as small as could be proved before `tick` stopped it."""
    needed, sure = list(problem.constraints), True
    for given in problem.constraints:
        rest = [one for one in needed if one is not given]
        if not rest:
            break
        found = a_tree(replace(problem, constraints=tuple(rest)), tick)
        if found is False:
            needed = rest
        elif found is None:
            sure = False
    numbers = [given for given in needed if given.op]
    nearest = [near for given in numbers if (near := nearest_number(problem, given, tick)) is not None]
    return Conflict(tuple(needed), sure, tuple(nearest), len(problem.constraints) == 1)


def a_tree(problem: Problem, tick: Callable[[], bool]) -> HeapTree | bool | None:
    """Return a tree that satisfies the constraints, False if there is none, None if that was not decided in time."""
    try:
        posed = search_problem(problem)
        found = _searched(posed, np.zeros_like(posed.arrays.cost), tick)
    except TooLarge:
        return None
    return False if found.infeasible else _tree(posed, found)


def _searched(posed: SearchProblem, cost: np.ndarray, tick: Callable[[], bool]) -> Found:
    """Return the result of a search for the tree with the least sum of these costs, int64 (rows, labels)."""
    engine = engine_of(replace(posed.arrays, cost=cost, branch_cost=0), posed.scale)
    engine.watch(tick, lambda bound, cost: None)
    return engine.run()


def _tree(posed: SearchProblem, found: Found) -> HeapTree | None:
    return None if found.split is None or found.label is None else posed.tree(found.split, found.label)


def nearest_number(problem: Problem, asked: Constraint, tick: Callable[[], bool]) -> Nearest | None:
    """Return the nearest number that a tree satisfies with all other requested constraints; None if there is no such
    tree, so that the others conflict, or if none was found in time."""
    try:
        return _by_least_sums(problem, asked, tick)
    except TooLarge:
        return _by_bisection(problem, asked, tick)


def _by_least_sums(problem: Problem, asked: Constraint, tick: Callable[[], bool]) -> Nearest | None:
    """Return the nearest number of a constraint that limits one sum over the rows.

    Raises
    ------
    TooLarge
        If it does not, or if the numbers are too large for the search.
    """
    others = tuple(one for one in problem.constraints if one is not asked)
    given, nearest, before = asked, None, None
    while not tick():
        posed, cost, allowed = _with_sum_as_cost(replace(problem, constraints=(*others, given)))
        if before is not None and np.array_equal(cost, before):
            return nearest and nearest._replace(settled=True)
        found = _searched(posed, cost, tick)
        heap = _tree(posed, found)
        if found.infeasible or found.cost is None or heap is None:
            break
        value = asked.module.value(problem.encoded, asked, heap)
        is_nearer = nearest is None or (value > nearest.value if asked.op == ">=" else value < nearest.value)
        if nearest is not None and found.proved and (found.cost >= allowed or not is_nearer):
            return nearest._replace(settled=True)
        nearest = Nearest(asked, value, False) if is_nearer else nearest
        if not found.proved:
            break
        given, before = replace(asked, bound=value), cost
    return nearest


def _with_sum_as_cost(problem: Problem) -> tuple[SearchProblem, np.ndarray, Fraction]:
    """Return the problem without its last constraint, and the sum that this constraint limits, as costs of rows.

    Returns
    -------
    (SearchProblem, cost int64 (rows, labels) of at least 0 without a common divisor, the largest cost that the
    constraint permits)

    Raises
    ------
    TooLarge
        If the constraint limits anything else, or its sum is rounded.
    """
    posed = search_problem(problem)
    arrays, terms = posed.arrays, terms_of(posed.encoded, problem.constraints[-1])
    more = [one.name for one in fields(terms) if one.name != "lines" and getattr(terms, one.name) is not one.default]
    uses, bound = arrays.uses, arrays.bound
    assert uses is not None and bound is not None  # one of them is this constraint's
    if len(terms.lines) != 1 or more or not np.array_equal(uses[-1], terms.lines[0][0]):
        raise TooLarge("the constraint does not limit one sum of whole numbers")
    least = uses[-1].min(axis=1, keepdims=True)
    cost = uses[-1] - least
    unit = max(1, int(np.gcd.reduce(cost, axis=None)))
    kept = {name: getattr(arrays, name)[:-1] for name in ("uses", "bound", "branch_uses", "leaf_uses")}
    without = replace(posed, arrays=replace(arrays, **kept))
    return without, cost // unit, Fraction(int(bound[-1]) - int(least.sum()), unit)


def _by_bisection(problem: Problem, asked: Constraint, tick: Callable[[], bool]) -> Nearest | None:
    """Return the nearest number of any constraint; settled if no number that is nearer in the digits of a message can
    be satisfied."""
    others = tuple(one for one in problem.constraints if one is not asked)
    free = a_tree(replace(problem, constraints=others), tick)
    if not isinstance(free, HeapTree):
        return None
    given, reached = asked, asked.module.value(problem.encoded, asked, free)
    fine = FINE * max(abs(asked.bound), abs(reached))
    for _ in range(MOST_STEPS):
        close = abs(reached - given.bound) <= fine
        tried = (_stricter if close else _between)(problem, given, reached)
        if tried is None:
            return Nearest(asked, reached, True)
        found = None if tick() else a_tree(replace(problem, constraints=(*others, tried)), tick)
        if isinstance(found, HeapTree):
            reached = given.module.value(problem.encoded, given, found)
        elif found is False and close:
            return Nearest(asked, reached, True)
        elif found is False:
            given = replace(given, bound=tried.bound)
        else:
            break
    return Nearest(asked, reached, False)


def _places(size: float) -> int:
    """Return the number of decimals for a number of this size: four, more below a tenth."""
    return 4 + max(0, -floor(log10(size)) - 1) if size else 4


def _eased(value: Fraction | float, op: str) -> Fraction:
    """Return a number of few decimals that is satisfied whenever this value is reached."""
    digits = Fraction(10) ** _places(abs(float(value)))
    exact = value if isinstance(value, Fraction) else Fraction(repr(float(value)))
    return (floor if op == ">=" else ceil)(exact * digits) / digits


def _between(problem: Problem, given: Constraint, reached: Fraction | float) -> Constraint | None:
    """Return the constraint with a number halfway between the requested one and one that a tree satisfies; an integer
    for counts. None if no such number is between them."""
    low, high = sorted([Fraction(reached), given.bound])
    middle = (low + high) / 2
    return _with_number(problem, given, reached, round(middle, _places(float(high))), Fraction(floor(middle)))


def _stricter(problem: Problem, given: Constraint, reached: Fraction | float) -> Constraint | None:
    """Return the constraint with the next number, in the digits of a message, that is stricter than one that a tree
    satisfies; None if there is none up to the requested number."""
    steps = Fraction(1, 10 ** _places(abs(float(reached)))), Fraction(1)
    sign = 1 if given.op == ">=" else -1
    return _with_number(problem, given, reached, *(Fraction(reached) + sign * step for step in steps))


def _with_number(
    problem: Problem, given: Constraint, reached: Fraction | float, *numbers: Fraction
) -> Constraint | None:
    """Return the constraint with the first valid number among these, between the requested one and one that a tree
    satisfies; None if there is none."""
    low, high = sorted([Fraction(reached), given.bound])
    for tried in numbers:
        if low < tried < high:
            with suppress(ChoiceError):
                return given.module.read(problem.encoded, replace(given, bound=tried))
    return None

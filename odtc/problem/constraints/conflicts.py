"""Why no tree keeps all constraints: a smallest set that conflicts, and the nearest values that can be kept.

Constraints are left out one after another; one without which there is still no tree is not needed for the conflict.
What is left conflicts, and without any one of it there is a tree. Of each that has a number, the nearest number is
sought between the one asked and one that a tree keeps, while all others that were asked stay, those outside of the
conflict, too: every tree met moves it to the figure it reaches.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from math import ceil, floor

import numpy as np

from odtc.algorithms.constrained.constrained_problem import TooLarge
from odtc.algorithms.constrained.engines import engine_of
from odtc.errors import ChoiceError
from odtc.problem.constraints.constraint import Constraint
from odtc.problem.constraints.search_terms import search_problem
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree

FINE = 0.002  # of the asked number: a nearest value is told this closely
MOST_STEPS = 12


@dataclass(frozen=True)
class Conflict:
    """A set of constraints that no tree keeps together.

    Attributes
    ----------
    constraints : tuple of Constraint
    smallest : bool
        Whether every one of them was proved to be needed.
    nearest : tuple of (Constraint, float)
        A number that a tree keeps together with all others that were asked.
    alone : bool
        Whether no other constraint was asked.
    """

    constraints: tuple[Constraint, ...]
    smallest: bool
    nearest: tuple[tuple[Constraint, float], ...]
    alone: bool = False

    @property
    def text(self) -> str:
        """In words."""
        names = "; ".join(map(str, self.constraints))
        if len(self.constraints) == 1:
            said = f"no tree of this depth over these tests keeps {names}"
        else:
            said = f"no tree of this depth over these tests keeps together: {names}"
            said += " (without any one of them there is a tree)" if self.smallest else ""
        for given, value in self.nearest:
            with_others = "" if self.alone else ", with the others as asked"
            safe = (floor(value * 1e4) if given.op == ">=" else ceil(value * 1e4)) / 1e4
            said += f"; {replace(given, bound=safe)} can be kept{with_others}"
        return said


def conflict(problem: Problem, tick: Callable[[], bool]) -> Conflict:
    """The conflict of a problem without a tree; as small as it could be shown before `tick` says stop."""
    needed, sure = list(problem.constraints), True
    for given in problem.constraints:
        rest = [one for one in needed if one is not given]
        found = a_tree(replace(problem, constraints=tuple(rest)), tick) if rest else None
        if rest and found is False:
            needed = rest
        elif rest and found is None:
            sure = False
    nearest = [(given, value) for given in needed if given.op and (value := _nearest(problem, given, tick)) is not None]
    return Conflict(tuple(needed), sure, tuple(nearest), len(problem.constraints) == 1)


def a_tree(problem: Problem, tick: Callable[[], bool]) -> HeapTree | bool | None:
    """A tree that keeps the constraints, False if there is none, None if that was not settled in time."""
    try:
        posed = search_problem(problem)
    except TooLarge:
        return None
    arrays = replace(posed.arrays, cost=np.zeros_like(posed.arrays.cost), branch_cost=0)
    try:
        engine = engine_of(arrays, posed.scale)
    except TooLarge:
        return None
    engine.watch(tick, lambda bound, cost: None)
    found = engine.run()
    if found.test is not None and found.label is not None:
        return posed.tree(found.test, found.label)
    return False if found.infeasible else None


def _nearest(problem: Problem, given: Constraint, tick: Callable[[], bool]) -> float | None:
    """The nearest number to the one asked that a tree keeps with all others that were asked; None if that was not
    settled, or if they conflict without it, too."""
    others = tuple(one for one in problem.constraints if one is not given)
    free = a_tree(replace(problem, constraints=others), tick)
    if not isinstance(free, HeapTree):
        return None
    reached = given.module.value(problem.encoded, given, free)
    for _ in range(MOST_STEPS):
        if tick() or abs(reached - given.bound) <= FINE * max(1.0, abs(given.bound)):
            break
        tried = _between(problem, given, reached)
        if tried is None:
            break
        found = a_tree(replace(problem, constraints=(*others, tried)), tick)
        if isinstance(found, HeapTree):
            reached = given.module.value(problem.encoded, given, found)
        elif found is False:
            given = replace(given, bound=tried.bound)
        else:
            break
    return float(reached)


def _between(problem: Problem, given: Constraint, reached: float) -> Constraint | None:
    """The constraint with a number halfway from the one asked to one that a tree keeps; a whole one if it counts. None
    if there is no such number between them."""
    low, high = sorted((reached, given.bound))
    for middle in (round((low + high) / 2, 4), (low + high) // 2):
        if low < middle < high:
            with suppress(ChoiceError):
                return given.module.read(problem.encoded, replace(given, bound=middle))
    return None

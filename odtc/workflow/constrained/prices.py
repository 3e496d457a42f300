"""Cost of one more percent of a constraint: the best tree for a number that is tighter by 0.01.

Only shares have such a price: constraints with a number between 0 and 1 on predictions. The price is known if both
searches ended with a proof.
"""

import time
from dataclasses import dataclass, replace
from fractions import Fraction

from odtc.base import deadline
from odtc.errors import ChoiceError
from odtc.model.solution import is_proved
from odtc.problem.constraints.kind import Constraint, OnPredictions
from odtc.problem.formulation import searches
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree

STEP = Fraction(1, 100)


@dataclass(frozen=True)
class Price:
    """Cost of a tighter number.

    Attributes
    ----------
    constraint : Constraint
        With the tighter number.
    price : float or None
        The increase of the objective; None if no tree satisfies the constraint, or this is not settled.
    ended : str
        optimal, infeasible, or open.
    """

    constraint: Constraint
    price: float | None
    ended: str

    def to_json(self) -> dict:
        """Return the entry as JSON."""
        return {"constraint": str(self.constraint), "price": self.price, "ended": self.ended}


def prices(problem: Problem, heap: HeapTree, objective: float, time_limit: float | None = None) -> list[Price]:
    """Return the price of one more percent of each share that constraints bound.

    Parameters
    ----------
    problem : Problem
        One that its formulation searches by itself.
    heap : HeapTree
        The best tree, proved.
    objective : float
        The cost of this tree.
    time_limit : float or None
        Seconds for all together.

    Raises
    ------
    ChoiceError
        If the formulation does not search the problem by itself.
    """
    began = time.monotonic()
    found = []
    for place, given in enumerate(problem.constraints):
        if not (given.module.can(OnPredictions) and 0 <= given.bound <= 1 and given.op):
            continue
        bound = given.bound + (STEP if given.op == ">=" else -STEP)
        try:
            tighter = given.module.read(problem.encoded, replace(given, bound=bound))
        except ChoiceError:  # no share
            continue
        if tighter.holds(given.module.value(problem.encoded, tighter, heap)):
            found.append(Price(tighter, 0.0, "optimal"))
            continue
        others = (*problem.constraints[:place], tighter, *problem.constraints[place + 1 :])
        posed = replace(problem, constraints=others)
        if not searches(posed):
            raise ChoiceError(
                f"a price needs the compiler's own search, which does not take this: {posed.module.refusal(posed)}"
            )
        with deadline.within(deadline.limit_left(began, time_limit)):
            done = posed.module.search(posed, None, lambda *told: None, objective)
        if done.interrupted:
            raise KeyboardInterrupt
        paid = None if done.heap is None else problem.module.objective(problem, done.heap)
        if done.infeasible:
            found.append(Price(tighter, None, "infeasible"))
        elif is_proved(paid, done.bound):
            found.append(Price(tighter, paid - objective, "optimal"))
        else:
            found.append(Price(tighter, None, "open"))
    return found


def price_text(entry: Price) -> str:
    """Return an entry in words."""
    if entry.ended == "optimal":
        return f"{entry.constraint} would cost {entry.price:.6g} more"
    return f"{entry.constraint}: {'no tree satisfies it' if entry.ended == 'infeasible' else 'not settled in time'}"

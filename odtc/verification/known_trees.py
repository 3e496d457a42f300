"""Check of a claimed bound against known trees: none of them may cost less."""

from collections.abc import Sequence

from odtc.data.task import leaf_cost
from odtc.errors import ModelError, TreeError
from odtc.model.feasibility import is_close
from odtc.model.milp import Model
from odtc.model.own_parts import completed
from odtc.problem.constraints.constraint import broken, complete
from odtc.problem.cuts.cut import arrange_tree
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree


def against_known(
    problem: Problem, model: Model | None, bound: float, trees: Sequence[tuple[str, HeapTree]]
) -> tuple[bool, str]:
    """Return (whether a feasible tree costs less than a bound, a text on the costs of the trees).

    Parameters
    ----------
    problem : Problem
    model : Model or None
        The model of the problem; with `edited`, the bound is of the edited model, and only trees whose point satisfies
        its rows count. With None the bound covers all trees that satisfy the problem's constraints, not only those that
        the model represents.
    bound : float
        Claimed lower bound on the cost of any tree, in the model's objective.
    trees : sequence of (str, HeapTree)
        Available trees, each with its name.
    """
    words = ""
    for name, heap in trees:
        paid = _cost(problem, model, heap, bound)
        if paid is None:
            continue
        if is_below(problem, paid, bound):
            return True, f", but {name} costs {paid:.10g}"
        words += f", {name} {paid:.10g}"
    return False, words


def _cost(problem: Problem, model: Model | None, heap: HeapTree, bound: float) -> float | None:
    """Return the cost of a tree, or None if it is not feasible. A tree that costs no less than the bound contradicts
    nothing and is not turned into a point, which takes time, unless the objective may be edited."""
    try:
        paid = problem.module.objective(problem, heap)
        if (model is None or model.edited is None) and not is_below(problem, paid, bound):
            return paid
        if broken(problem, heap) or heap.fewest_rows(problem.encoded) < problem.module.least_rows(problem):
            return None
        if model is None:
            return paid
        point = complete(problem, model, arrange_tree(problem, model, heap))
    except (TreeError, ModelError):
        return None
    solved = model.edited or model
    point = completed(solved, point)
    return None if point is None else solved.objective(point)


def is_below(problem: Problem, paid: float, bound: float) -> bool:
    """Return whether a tree that costs `paid` costs less than a bound, by more than rounding of the cost of one leaf:
    with costs far below 1, numbers that solvers take for equal may be far apart."""
    return paid < bound and not is_close(paid, bound, unit=min(1.0, leaf_cost(problem.encoded)))

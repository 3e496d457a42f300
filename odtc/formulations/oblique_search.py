"""The oblique local search as a model among the others: no solver, no proof, and the start of those that have one."""

from dataclasses import dataclass

from odtc.algorithms.hyperplanes.tree_alternating import RESTARTS
from odtc.heuristics.heuristic import HEURISTICS
from odtc.problem.constraints.constraint import mended
from odtc.problem.parameters import parameter
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree

NAME = "oblique_search"
TITLE = "oblique_search: hyperplanes by alternating optimisation from many starts; a learner without a model"
PAPER = (
    "Carreira-Perpiñán & Tavallali (2018), Alternating optimization of decision trees, with application to "
    "learning sparse oblique trees"
)

ANY_COST = True
BEYOND = True
WEIGHS = True
CONSTRAINTS = ("leaf_rows", "branch_nodes", "leaves")


@dataclass(frozen=True)
class Params:
    seconds: float = parameter(10.0, "how long it may search", least=0)
    restarts: int = parameter(RESTARTS, "number of trees it optimises, if there is time", least=0)
    seed: int = parameter(
        0, "of all draws: if the time limit does not come first, the same seed and jobs give the same tree", least=0
    )
    jobs: int = parameter(1, "processes side by side, which share the restarts", least=1)


def tree(problem: Problem) -> HeapTree:
    """The best tree found, never worse than CART's of the same depth on the training rows."""
    p = problem.params
    return mended(
        problem,
        HEURISTICS.get("oblique").tree(
            problem.encoded,
            problem.topology,
            seconds=p.seconds,
            restarts=p.restarts,
            seed=p.seed,
            jobs=p.jobs,
            part=1.0,
        ),
    )


def objective(problem: Problem, heap: HeapTree) -> float:
    """The loss."""
    return heap.loss(problem.encoded)

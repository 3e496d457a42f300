"""The plain variant if the cost of a leaf is a function of sums over its rows, such as a squared error.

The program is the same; no table folds levels, so every variable is a label or a split. `odtc fit` uses the search
over all cuts instead (odtc.formulations.dpflow.search_by_sums).
"""

from odtc.base.wording import command, option, param
from odtc.data.task import TASKS
from odtc.errors import ChoiceError
from odtc.formulations.dpflow.forms import beyond_rows, states
from odtc.formulations.dpflow.forms.states import decode, keeps, notes, start, trimmed  # noqa: F401
from odtc.model.milp import Model
from odtc.problem.problem import Problem


def by_moments(problem: Problem) -> bool:
    """Return whether the cost of the leaves of a problem is a function of sums over their rows."""
    return TASKS.get(problem.encoded.task).MOMENTS


def takes(problem: Problem) -> bool:
    """Return whether this variant is used. Raises ChoiceError for parameters that need a cost of each row."""
    if not by_moments(problem):
        return False
    params, task = problem.params, problem.encoded.task
    if params.intervals == "true" or params.tail in ("1", "2"):
        asked = ("intervals", True) if params.intervals == "true" else ("tail", params.tail)
        raise ChoiceError(
            f"{param(*asked)} folds costs of rows, which {option('task', task)} does not have; leave it out"
        )
    return not params.proof


def build(problem: Problem) -> Model:
    _expect_leaf_rows(problem)
    return states.build(problem)


def _expect_leaf_rows(problem: Problem) -> None:
    """Raise ChoiceError for other constraints, which no variable of the program respects."""
    if (given := beyond_rows(problem)) is not None:
        raise ChoiceError(
            f"the linear program of {option('task', problem.encoded.task)} supports only the constraint leaf_rows; "
            f"{command('fit')} without a solver and without --format finds the best tree under {str(given)!r}"
        )

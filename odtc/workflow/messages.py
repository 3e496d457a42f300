"""Why a run has no tree, and what to do."""

from collections.abc import Sequence

from odtc.model.solution import Solution, Termination

COMPILER = "odtc"  # in the place of a solver, where none ran


def no_solution_text(
    solution: Solution, ours: bool = True, constraints: Sequence[str] = (), selected: bool = False
) -> str:
    """Why there is no tree, and what to do; `ours` is False for a model file that odtc did not make, `constraints`
    are those of the model, and whether they are of `selected` rows alone."""
    if solution.termination == Termination.INFEASIBLE and constraints:
        return (
            f"{solution.solver or 'the solver'} found no solution: it says the model is infeasible, so no tree of "
            f"this depth over these tests keeps "
            f"{'the constraint' if len(constraints) == 1 else 'all the constraints'} "
            f"{'; '.join(constraints)}{' on the selected rows' if selected else ''}: relax one, allow a greater "
            f"--depth or more tests, "
            "or look at the rows that were added to the file, if any were (docs/files.md)"
        )
    if solution.solver == COMPILER:
        return (
            "the time limit came in the compile, before there was a model, and there is no start; allow more time "
            "(--time-limit), "
            "give a start (--start cart), or make it smaller: fewer tests (--encoding auto:bins=8), a smaller --depth"
        )
    more = "the time limit came first; allow more time (--time-limit)"
    why = {
        Termination.TIME_LIMIT: {
            "none": f"{more}, or give a start (--start cart) to a solver that takes one (odtc list solvers)",
            "accepted": more,
        }.get(solution.start, f"{more}; it did not take the start that it was given"),
        Termination.INFEASIBLE: "it says the model is infeasible"
        + (
            "; every model of odtc has a solution, unless no tree keeps the constraints, or rows were added to a "
            "file from which the compiler left columns out (docs/files.md), so check these and the file"
            if ours
            else ""
        ),
        Termination.INTERRUPTED: "it was interrupted before it had one",
    }.get(solution.termination, f"it ended as {solution.termination}")
    return (
        f"{solution.solver or 'the solver'} found no solution: "
        f"{why}{': ' + solution.message if solution.message else ''}"
    )

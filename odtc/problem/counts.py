"""Size of a model before it is built: columns, rows, nonzeros, memory and CPU seconds.

The blocks and terms of a formulation determine these numbers (odtc.model.blocks): they are counted exactly, with cut
families and side constraints, and nothing is laid out. A formulation whose `build` searches first (`Counted`) gives
upper limits, or reports that only the search can determine the size.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from odtc.base.memory import available, smaller
from odtc.base.wording import command, option
from odtc.errors import ChoiceError, ModelError
from odtc.model.blocks import counting
from odtc.model.milp import CountedModel
from odtc.problem.constraints import constraint
from odtc.problem.cuts import cut
from odtc.problem.cuts.cut import CUTS
from odtc.problem.estimates import Counts
from odtc.problem.formulation import Compiled, Counted, Iterative
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import CompleteTree


def counted(problem: Problem, cuts: str | tuple[str, ...] | None = None) -> CountedModel:
    """Return the model of a problem, only counted, with its constraints and the static rows of cut families.

    Raises
    ------
    ChoiceError
        If a constraint or a family does not fit.
    """
    with counting():
        model = constraint.built(problem)
        model = cut.add(problem, model, cut.choose(problem, model, cuts))
    if not isinstance(model, CountedModel):
        raise ModelError(f"{problem.formulation} builds its model without a ModelBuilder, so it cannot be counted")
    return model


def counts_of(
    problem: Problem,
    cuts: str | tuple[str, ...] | None = None,
    measure: Callable[[CountedModel], int] | None = None,
) -> Counts:
    """Return the size of the model of a problem, or upper limits.

    Parameters
    ----------
    problem : Problem
    cuts : str, tuple of str or None
        Cut families, as in odtc.problem.cuts.cut.choose.
    measure : function or None
        The bytes of the file of a counted model; None leaves `Counts.file` out.

    Returns
    -------
    Counts

    Raises
    ------
    ChoiceError
        If the formulation learns without a model; also as in `counted`.
    """
    module = problem.module
    if not module.can(Compiled):
        raise ChoiceError(f"{problem.formulation} learns its tree without a model")
    if module.can(Counted) and (found := module.counts(problem)) is not None:
        return found
    grows = module.can(Iterative) and module.loops(problem)
    model = counted(problem, cuts)
    words = [f"{command('fit')} adds constraints or variables to it"] if grows else []
    if solved := [name for name in model.cuts if CUTS.get(name).SOLVES]:
        words.append(f"without the constraints of {', '.join(solved)}, which the compiler solves subtrees for")
    found = Counts.of_model(model, "; ".join(words))
    return replace(found, file=measure(model) if measure else None)


def require_room(problem: Problem, cuts: str | tuple[str, ...] | None = None) -> None:
    """Refuse a model before it is built for which the memory is too small, and state what would fit.

    Raises
    ------
    ModelError
    """
    room = available()
    if room is None or _surely_small(problem):
        return
    known = counts_of(problem, cuts)
    if not known.exact or known.memory is None or known.memory <= room:
        return
    raise ModelError(
        f"the model of {problem.formulation} has {known.columns:,} columns, {known.rows:,} rows and "
        f"{known.nonzeros:,} nonzeros, and would take about {known.memory / 2**30:,.1f} GiB of memory, "
        f"{max(room, 0) / 2**30:,.1f} GiB are free; {_advice(problem, cuts, room)}"
    )


def _surely_small(problem: Problem) -> bool:
    """Return whether there are few outcomes of rows over all nodes: no formulation then has a large model."""
    encoded = problem.encoded
    return encoded.n_rows * max(1, encoded.n_candidate_splits) << problem.topology.depth <= 10**7


def _advice(problem: Problem, cuts: str | tuple[str, ...] | None, room: int) -> str:
    """Return the greatest depth whose model fits, counted in the same way as the refused one."""
    for depth in range(problem.topology.depth - 1, 0, -1):
        less = counts_of(replace(problem, topology=CompleteTree(depth)), cuts)
        if less.memory is not None and less.memory <= room:
            return f"{option('depth', depth)} takes about {less.memory / 2**30:,.1f} GiB; {_others()}"
    return f"{smaller()}; {_others()}"


def _others() -> str:
    return "`odtc build --estimate` shows the size of every other model"

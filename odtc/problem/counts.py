"""Size of a model before it is built: columns, rows, nonzeros, memory and CPU seconds.

The blocks and terms of a formulation determine these numbers (odtc.model.counting): they are counted exactly, with cut
families and side constraints, and nothing is laid out. A formulation whose `build` searches first (`Counted`) states
upper limits, or that only the search can tell.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from odtc.base.memory import available, smaller
from odtc.base.value_class import value_class
from odtc.base.wording import command, option
from odtc.errors import ChoiceError, ModelError
from odtc.model.counting import counting
from odtc.model.milp import CountedModel, Model, largest_piece

if TYPE_CHECKING:
    from odtc.problem.problem import Problem

# Measured with benchmarks.estimates on models of 0.1 to 43 million nonzeros (docs/performance.md).
COLUMN_BYTES, ROW_BYTES = 10, 30  # while a model is built and written: its names, and sides that differ
TERM_BYTES = 3  # of a label or a coefficient that a term holds
PIECE_BYTES, PIECE_ENTRY = 30 * 2**20, 95  # of one piece of a model of a search, at most; of an entry of a piece
# To write a nonzero; to lay out and write a column or a row; to begin.
ENTRY_SECONDS, LABEL_SECONDS, BEGIN_SECONDS = 8e-8, 1e-7, 0.015


@value_class
class Counts:
    """Size of a model, or upper limits.

    Attributes
    ----------
    columns, rows, nonzeros : int or None
        None if only the search that comes first can tell.
    exact : bool
        Whether these are the numbers of the model, except for parts named in `words`; otherwise they are upper limits.
    memory : int or None
        About the bytes that are used while it is built and written, in addition to the data and the libraries.
    seconds : float or None
        About the CPU seconds to build and write it, with the search that comes first; None if unknown.
    words : str
        Further remarks: "its columns come from a search".
    file : int or None
        About the bytes of its file; None if it is not counted exactly.
    """

    columns: int | None = None
    rows: int | None = None
    nonzeros: int | None = None
    exact: bool = False
    memory: int | None = None
    seconds: float | None = None
    words: str = ""
    file: int | None = None

    @classmethod
    def at_most(cls, columns: int, rows: int, nonzeros: int, search: float = 0.0, words: str = "") -> Counts:
        """Return upper limits, for a formulation that knows them; `search` is the CPU seconds before the model."""
        seconds = search + BEGIN_SECONDS + LABEL_SECONDS * (columns + rows) + ENTRY_SECONDS * nonzeros
        held = COLUMN_BYTES * columns + ROW_BYTES * rows + 3 * TERM_BYTES * nonzeros
        memory = held + min(PIECE_BYTES, PIECE_ENTRY * nonzeros)
        return cls(columns, rows, nonzeros, False, memory, seconds, words)

    @classmethod
    def of_model(cls, model: Model, words: str = "") -> Counts:
        """Return the size of a model that is counted, or built."""
        held = sum(term.size for term in model.terms)
        memory = COLUMN_BYTES * model.n_cols + ROW_BYTES * model.n_rows + TERM_BYTES * held
        memory += PIECE_ENTRY * largest_piece(model)
        seconds = BEGIN_SECONDS + LABEL_SECONDS * (model.n_cols + model.n_rows) + ENTRY_SECONDS * model.nnz
        return cls(model.n_cols, model.n_rows, model.nnz, True, memory, seconds, words)


def counted(problem: Problem, cuts: str | tuple[str, ...] | None = None) -> CountedModel:
    """Return the model of a problem, only counted, with its constraints and the static rows of cut families.

    Raises
    ------
    ChoiceError
        If a constraint or a family does not fit.
    """
    from odtc.problem.constraints import constraint
    from odtc.problem.cuts import cut

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
    from odtc.problem.cuts.cut import CUTS
    from odtc.problem.formulation import Compiled, Counted, Iterative

    module = problem.module
    if not module.can(Compiled):
        raise ChoiceError(f"{problem.formulation} learns its tree without a model")
    if module.can(Counted) and (found := module.counts(problem)) is not None:
        return found
    grows = module.can(Iterative) and module.loops(problem)
    model = counted(problem, cuts)
    words = [f"{command('fit')} adds rows or columns to it"] if grows else []
    if solved := [name for name in model.cuts if CUTS.get(name).SOLVES]:
        words.append(f"without the rows of {', '.join(solved)}, which the compiler solves subtrees for")
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
    from odtc.trees.complete_tree import CompleteTree

    for depth in range(problem.topology.depth - 1, 0, -1):
        less = counts_of(replace(problem, topology=CompleteTree(depth)), cuts)
        if less.memory is not None and less.memory <= room:
            return f"{option('depth', depth)} takes about {less.memory / 2**30:,.1f} GiB; {_others()}"
    return f"{smaller()}; {_others()}"


def _others() -> str:
    return "`odtc build --estimate` shows the size of every other model"

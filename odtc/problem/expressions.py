"""What the columns of a model say of a tree, as sums of columns, whatever its formulation calls them.

    row i is right                 Σ g_i          columns of CORRECT
                                   Σ_t z_it       flows that go no further, and sinks beside them
                                   Σ_t s_it       sinks alone
    row i is predicted k           Σ_t z_itk      columns of PREDICTED

Constraints on predictions are written on these only, so a formulation need not repeat a column under another role.
"""

from dataclasses import dataclass

import numpy as np

from odtc.model.blocks import Block
from odtc.model.milp import Model
from odtc.problem.problem import Problem
from odtc.problem.roles import Need, Needs, Role, columns, nodes

# Alternatives of columns by which a model says it.
PREDICTED: Needs = ((Need(Role.PREDICTED),),)
RIGHT: Needs = ((Need(Role.CORRECT),), (Need(Role.FLOW),), (Need(Role.SINK),))


@dataclass(frozen=True)
class Expression:
    """A sum of columns for each row (and class): of each block over these nodes; None if it has no nodes."""

    terms: tuple[tuple[Block, np.ndarray | None], ...]


def predicted(problem: Problem, model: Model) -> Expression | None:
    """Row i is predicted k.

    Parameters
    ----------
    problem : Problem
    model : Model

    Returns
    -------
    Expression or None
        Over blocks [row, node, class]; None if the model does not say it by columns of its own.
    """
    block = columns(problem, model, Role.PREDICTED)
    return None if block is None else Expression(((block, nodes(block)),))


def right(problem: Problem, model: Model) -> Expression | None:
    """Row i is right.

    Parameters
    ----------
    problem : Problem
    model : Model

    Returns
    -------
    Expression or None
        Over blocks [row] or [row, node]; None if the model does not say it.
    """
    if (block := columns(problem, model, Role.CORRECT)) is not None:
        return Expression(((block, None),))
    flow, sink = columns(problem, model, Role.FLOW), columns(problem, model, Role.SINK)
    into, out = (nodes(block) if block is not None else np.zeros(0, int) for block in (flow, sink))
    # A flow counts if it goes no further: into a node without flows below it, or a sink of its own.
    last = into[~np.isin(2 * into, into) & ~np.isin(into, out)]
    terms = tuple((block, t) for block, t in ((flow, last), (sink, out)) if block is not None and len(t))
    return Expression(terms) if terms else None

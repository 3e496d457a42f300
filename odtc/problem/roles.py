"""Roles: the meaning of the columns of a model, by which code outside of the formulation finds them.

A formulation gives its blocks roles. odtc.problem.expressions translates roles into statements about the tree, and cut
families and constraints are written only with these.
"""

from enum import StrEnum

import numpy as np

from odtc.model.blocks import Axis, Block, unused_name
from odtc.model.milp import Model
from odtc.problem.problem import Problem


class Role(StrEnum):
    """The meaning of a block of columns, whatever its paper calls it."""

    BRANCH = "branch"  # [node, split] 1: this node has this split
    LABEL = "label"  # [node, class] 1: this node predicts this class
    STUMP = (
        "stump"  # [node, split, side, class] 1: bottom node has the split, its child on that side predicts the class
    )
    FLOW = "flow"  # [row, node] 1: the row passes through the edge into this node, and is correct
    SINK = "sink"  # [row, node] 1: the row ends at this node, and is correct
    CORRECT = "correct"  # [row] 1: the row is correct
    MISCLASSIFIED = "misclassified"  # [row] at least 1 if the row is misclassified
    SPLIT = "split"  # [node] 1: this node branches
    FEATURE = "feature"  # [node, scale] 1: this node has a threshold of this scale (odtc.data.threshold_scales)
    ROUTE = "route"  # [row, node] 1: the row ends at this node, correct or misclassified; exactly one for each row
    PREDICTED = "predicted"  # [row, node, class] 1: the row ends at this node, and is predicted as this class
    USED = "used"  # [node] 1: a row ends at this node
    STOP = "stop"  # [state] the flow into a state of the dynamic program that ends there
    PATH = "path"  # [path] 1: the tree has this path, with the nodes below its end
    ARC = "arc"  # [state, split] the flow that uses this split at this state
    # [state, split] the flow that uses an ordered split from this one to the next of the block; it costs no more
    # than any of them
    BOUND = "bound"
    # a sum of other columns, which its own rows define (odtc.formulations.shared.feature_sums); nobody reads it
    SUM = "sum"
    CONSTANT = "constant"  # fixed to 1; its cost is the constant of the objective


def columns(problem: Problem, model: Model, role: Role, at: str | None = None) -> "Block | None":
    """Return the block of columns of a role.

    Parameters
    ----------
    problem : Problem
    model : Model
    role : Role
    at : str or None
        The name of a set of nodes of the CompleteTree ("branch_nodes", "leaves") that the block must be for; None: any.

    Returns
    -------
    Block or None
        None if the model has none.
    """
    for block in model.columns:
        if block.role != role or not isinstance(block, Block):  # blocks of files by others have no role
            continue
        if role == Role.BRANCH and [axis.name for axis in block.axes] != ["node", "split"]:
            continue
        if at is None or np.isin(getattr(problem.topology, at), nodes(block)).all():
            return block
    return None


def nodes(block: "Block") -> np.ndarray:
    """Return the nodes for which a block has columns.

    Parameters
    ----------
    block : Block

    Returns
    -------
    int (nodes,)
    """
    for axis in block.axes:
        if axis.name == "node":
            return axis.first + np.arange(axis.size)
    return np.zeros(0, int)


def node_axis(t: np.ndarray) -> "Axis":
    """Return the axis of some nodes.

    Parameters
    ----------
    t : int (nodes,)
        Numbers of nodes, without gaps.

    Returns
    -------
    Axis
    """
    return Axis("node", t.size, int(t.flat[0]))


def route_of(problem: Problem) -> np.ndarray:
    """Return int64 (rows,): for each encoded row, its row in the columns of the role ROUTE."""
    return problem.module.route_of(problem)


def fresh_name(model: Model, stem: str) -> str:
    """Return a name for a block of rows that the model does not have yet.

    Parameters
    ----------
    model : Model
    stem : str

    Returns
    -------
    str
        `stem`, with a number behind it if the name is taken.
    """
    return unused_name(stem, model.rows)

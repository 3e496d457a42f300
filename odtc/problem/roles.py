"""The columns of a model by what they mean (odtc.problem.roles.Role), for all that speaks of them from outside.

Cut families and constraints know no formulation: they ask for a role, perhaps at certain nodes, and
write rows over the block of columns that has it.
"""

from dataclasses import dataclass
from enum import StrEnum
from itertools import chain, count
from typing import Any

import numpy as np

from odtc.errors import ModelError
from odtc.model.blocks import Axis, Block
from odtc.model.milp import Model
from odtc.problem.parameters import params_to_json
from odtc.problem.problem import Problem

LONGEST = 40  # characters of a parameter that is said


class Role(StrEnum):
    """What a block of columns means, whatever its paper calls it; cut families ask for roles."""

    BRANCH = "branch"  # [node, test] 1: this node asks this test
    LABEL = "label"  # [node, class] 1: this node predicts this class
    STUMP = "stump"  # [node, test, side, class] 1: bottom node asks the test, its child on that side predicts the class
    FLOW = "flow"  # [row, node] 1: the row passes through the edge into this node, and is classified right
    SINK = "sink"  # [row, node] 1: the row ends at this node, classified right
    CORRECT = "correct"  # [row] 1: the row is classified right
    WRONG = "wrong"  # [row] at least 1 if the row is classified wrong
    SPLIT = "split"  # [node] 1: this node branches
    FEATURE = "feature"  # [node, scale] 1: this node asks a threshold of this scale (odtc.data.threshold_scales)
    ROUTE = "route"  # [row, node] 1: the row ends at this node, right or wrong; of every row exactly one
    PREDICTED = "predicted"  # [row, node, class] 1: the row ends at this node, and is predicted as this class
    USED = "used"  # [node] 1: a row ends at this node
    STOP = "stop"  # [state] the flow into a state of the dynamic program that ends there
    PATH = "path"  # [path] 1: the tree has this path, with what is below its end
    ARC = "arc"  # [state, test] the flow that asks this test at this state
    # [state, test] the flow that asks an ordered test from this one to the next of the block; it costs no more than
    # any does
    BOUND = "bound"
    # a sum of other columns, which its own rows define (odtc.formulations.shared.feature_sums); nobody reads it
    SUM = "sum"
    CONSTANT = "constant"  # fixed to 1; its cost is the constant of the objective


@dataclass(frozen=True)
class Need:
    """Columns of a role; `at` names nodes of the CompleteTree ("leaves", "branch_nodes", …) that must have them."""

    role: Role
    at: str | None = None

    def words(self) -> str:
        """The role and its nodes, for a message."""
        return f"{self.role}{' at the ' + self.at.replace('_', ' ') if self.at else ''}"


Needs = tuple[tuple[Need, ...], ...]  # alternatives, in each of which all are needed


def columns(problem: Problem, model: Model, role: Role, at: str | None = None) -> Block | None:
    """The block of columns of a role.

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
        if block.role != role:
            continue
        if role == Role.BRANCH and [axis.name for axis in block.axes] != ["node", "test"]:
            continue
        if at is None or np.isin(getattr(problem.topology, at), nodes(block)).all():
            return block
    return None


def needed_columns(problem: Problem, model: Model, role: Role, at: str | None = None) -> Block:
    """`columns` of a role that a family or kind names in its NEEDS, so that the model has them.

    Parameters
    ----------
    problem, model, role, at
        As of `columns`.

    Returns
    -------
    Block

    Raises
    ------
    ModelError
        If the model has none all the same.
    """
    block = columns(problem, model, role, at)
    if block is None:
        raise ModelError(f"expected columns of the role {role} in {model.name}; name the role in NEEDS")
    return block


def nodes(block: Block) -> np.ndarray:
    """The nodes that a block has columns for.

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


def node_axis(t: np.ndarray) -> Axis:
    """The axis of some nodes.

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
    """int64 (rows,): which row of the columns of the role ROUTE each encoded row is."""
    return problem.module.route_of(problem)


def missing_roles(problem: Problem, model: Model, needs: Needs) -> str:
    """What is wanted of the model that it has not, as a part of a sentence; "" if one of the alternatives is
    there."""
    if any(all(columns(problem, model, need.role, need.at) is not None for need in each) for each in needs):
        return ""
    has = ", ".join(f"{block.role} ({block.name})" for block in model.columns if block.role not in ("", Role.CONSTANT))
    usual = params_to_json(type(problem.params)())
    chosen = {key: _word(value) for key, value in params_to_json(problem.params).items() if value != usual.get(key)}
    how = " ".join(f"-p {key}={word}" for key, word in chosen.items() if len(word) <= LONGEST)
    return (
        f"needs columns of the roles {words(needs)}; {problem.formulation}{f' ({how})' if how else ''} has "
        f"{has or 'none'}"
    )


def words(needs: Needs) -> str:
    """The alternatives in words, for a message."""
    return ", or ".join(" and ".join(need.words() for need in each) for each in needs)


def fresh_name(model: Model, stem: str) -> str:
    """A name for a block of rows that the model does not have yet.

    Parameters
    ----------
    model : Model
    stem : str

    Returns
    -------
    str
        `stem`, with a number behind it if the name is taken.
    """
    taken = {block.name for block in model.rows}
    return next(name for name in chain([stem], (f"{stem}{number}" for number in count(2))) if name not in taken)


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)

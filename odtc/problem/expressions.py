"""Statements about a tree as sums of model variables, independent of their names in a formulation.

    row i is correct                  Σ g_i          variables of CORRECT
                                    Σ_t z_it       flows that go no further, and sinks next to them
                                    Σ_t s_it       sinks only
    row i ends at t                 z_it           variables of ROUTE
                                    Σ_k z_itk      if the model expresses the prediction there
    row i is predicted k at t       z_itk          variables of PREDICTED
    node t splits on f              b_tf           variables of BRANCH
    node t branches                 d_t            variables of SPLIT
                                    Σ_f b_tf       if the model expresses the split of the node
    node t predicts k               w_tk           variables of LABEL

Cut families and side constraints are written only with such statements; they know neither a formulation nor a role. A
formulation makes a statement by giving a block a role or, if no single block expresses it, by `says(problem, model)`.
The constraints that the formulation supports, and the formulations that a message names, follow from these statements.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any

import numpy as np

from odtc.base.value_class import frozen_class
from odtc.base.wording import params
from odtc.errors import ModelError
from odtc.model.blocks import Axis, Block, Cells
from odtc.model.builder import ModelBuilder
from odtc.model.milp import Model
from odtc.problem.parameters import params_to_json
from odtc.problem.problem import Problem
from odtc.problem.roles import Role, columns, nodes

LONGEST = 40  # maximum number of characters of a parameter in a message


class Statement(StrEnum):
    """Meaning of an expression, and its axes."""

    CORRECT = "row i is correct"  # [row]
    MISCLASSIFIED = "row i is misclassified"  # [row]: at least 1 if it is
    ENDS = "row i ends at node t"  # [row, node], correct or misclassified; rows as `route_of` numbers them
    PREDICTED = "row i is predicted k at node t"  # [row, node, class]
    PASSES = "row i is correct below node t"  # [row, node]: it passes t, and is correct where it ends
    USED = "a row ends at node t"  # [node]
    SPLITS_ON = "node t splits on f"  # [node, split]
    SPLITS_ON_SCALE = "node t splits on a threshold of column s"  # [node, scale] (odtc.data.threshold_scales)
    BRANCHES = "node t branches"  # [node]
    PREDICTS = "node t predicts k"  # [node, class]: its label, if rows end there
    STUMP = "node t splits on f, and its child on side s predicts k"  # [node, split, side, class]


# The role of a block that is a statement by itself, and the names of the axes of the statement.
SAID_BY = {
    Statement.CORRECT: (Role.CORRECT, ("row",)),
    Statement.MISCLASSIFIED: (Role.MISCLASSIFIED, ("row",)),
    Statement.ENDS: (Role.ROUTE, ("row", "node")),
    Statement.PREDICTED: (Role.PREDICTED, ("row", "node", "class")),
    Statement.PASSES: (Role.FLOW, ("row", "node")),
    Statement.USED: (Role.USED, ("node",)),
    Statement.SPLITS_ON: (Role.BRANCH, ("node", "split")),
    Statement.SPLITS_ON_SCALE: (Role.FEATURE, ("node", "scale")),
    Statement.BRANCHES: (Role.SPLIT, ("node",)),
    Statement.PREDICTS: (Role.LABEL, ("node", "class")),
    Statement.STUMP: (Role.STUMP, ("node", "split", "side", "class")),
}

Label = str | np.ndarray | Callable[[dict[str, np.ndarray]], np.ndarray]


@frozen_class
class Part:
    """A sum of columns of one block, multiplied by coef.

    For each axis of the block, `labels` contains one of three things: the name of an axis of the expression; labels int
    (n,) to sum over; or a function that converts the labels of the expression, {axis: int}, to a label of the block.
    """

    block: Block
    labels: tuple[Label, ...]
    coef: float = 1.0

    def cells(self, at: dict[str, np.ndarray]) -> tuple[Cells, int]:
        """Return the variables at these labels, and the number of further axes that are summed over."""
        summed = [label for label in self.labels if isinstance(label, np.ndarray)]
        places, number = [], 0
        for label in self.labels:
            if isinstance(label, np.ndarray):
                shape = [1] * len(summed)
                shape[number] = len(label)
                places.append(label.reshape(shape))
                number += 1
            else:
                places.append(_widened(at[label] if isinstance(label, str) else label(at), len(summed)))
        return self.block[tuple(places) if len(places) != 1 else places[0]], len(summed)


@frozen_class
class Expression:
    """A sum of columns for each member of its axes.

    Parameters
    ----------
    axes : tuple of Axis
        As Statement says, by name. The node axis has exactly the nodes for which the statement is made, without gaps in
        their numbers.
    parts : tuple of Part
    """

    axes: tuple[Axis, ...]
    parts: tuple[Part, ...]

    @classmethod
    def of(cls, block: Block, *names: str) -> Expression:
        """Return the columns of a block as they are, with these names of its axes."""
        axes = tuple(Axis(name, axis.size, axis.first) for name, axis in zip(names, block.axes, strict=True))
        return cls(axes, (Part(block, names),))

    @property
    def nodes(self) -> np.ndarray:
        """int (nodes,): the nodes that it speaks of."""
        return next((axis.first + np.arange(axis.size) for axis in self.axes if axis.name == "node"), np.zeros(0, int))

    def axis(self, name: str) -> Axis:
        """Return the axis of this name. Raises ModelError if there is none, as a plug-in may call it otherwise."""
        for axis in self.axes:
            if axis.name == name:
                return axis
        names = ", ".join(repr(axis.name) for axis in self.axes)
        raise ModelError(f"expected an axis {name!r} of an expression, got {names}; call its axes as `Statement` does")

    def labels(self) -> tuple[np.ndarray, ...]:
        """Return all labels, one array an axis, that broadcast together."""
        return np.ix_(*(axis.first + np.arange(axis.size) for axis in self.axes))

    def entries(
        self, rows: tuple[Any, ...], labels: tuple[Any, ...], coef: Any = 1.0
    ) -> list[tuple[tuple[Any, ...], Cells, Any]]:
        """Return coef times the expression at these labels, in these rows, as entries of CutRows.

        Parameters
        ----------
        rows : tuple of int arrays
            The labels of the rows, one array an axis of their block.
        labels : tuple of int arrays
            One array an axis of the expression; rows, labels and coef broadcast together.
        coef : float or float64 array

        Returns
        -------
        list of (rows, Cells, coef)
        """
        found = []
        for part in self.parts:
            cells, summed = part.cells(dict(zip((axis.name for axis in self.axes), labels)))
            times = coef if part.coef == 1.0 else np.asarray(coef) * part.coef
            found.append((tuple(_widened(row, summed) for row in rows), cells, _widened(times, summed)))
        return found

    def add(
        self, m: ModelBuilder, into: Block, rows: tuple[Any, ...], labels: tuple[Any, ...], coef: Any = 1.0
    ) -> None:
        """Add coef times the expression at these labels to the rows of a block of `m`; as in `entries`."""
        for at, cells, times in self.entries(rows, labels, coef):
            m.add(into[at], cells, times)

    def value(self, point: dict[str, np.ndarray]) -> np.ndarray:
        """Return float64 of the shape of the axes: its values at a point {block: values}."""
        total = np.zeros(tuple(axis.size for axis in self.axes))
        for part in self.parts:
            cells, summed = part.cells(dict(zip((axis.name for axis in self.axes), self.labels())))
            values = np.asarray(point[part.block.name], float).reshape(part.block.shape)[cells.places]
            total += part.coef * values.sum(axis=tuple(range(values.ndim - summed, values.ndim)))
        return total

    def places(self) -> list[np.ndarray]:
        """Return for each part the positions of its columns in the model, int; the axes of the expression
        come first."""
        named = dict(zip((axis.name for axis in self.axes), self.labels()))
        return [part.cells(named)[0].flat() for part in self.parts]


@frozen_class
class Need:
    """A statement that the model must make; `at` names nodes of the CompleteTree ("leaves", "branch_nodes", …) of which
    it must."""

    what: Statement | Role
    at: str | None = None

    def words(self) -> str:
        """Return the statement and its nodes, for a message."""
        said = f"{self.what.value!r}" if isinstance(self.what, Statement) else f"columns of the role {self.what}"
        return f"{said}{' at the ' + self.at.replace('_', ' ') if self.at else ''}"


Needs = tuple[tuple[Need, ...], ...]  # alternatives, in each of which all are needed
SPLITTING: Needs = ((Need(Statement.SPLITS_ON, "branch_nodes"),), (Need(Statement.SPLITS_ON_SCALE, "branch_nodes"),))
BRANCHING: Needs = ((Need(Statement.BRANCHES, "branch_nodes"),),)


def stated(problem: Problem, model: Model, what: Statement, at: str | None = None) -> Expression | None:
    """Return the expression by which a model states a fact about the tree.

    Parameters
    ----------
    problem : Problem
    model : Model
    what : Statement
    at : str or None
        The name of a set of nodes of the CompleteTree ("branch_nodes", "leaves") that it must be said of; None: any.

    Returns
    -------
    Expression or None
        None if the model does not say it.
    """
    own = problem.module.says(problem, model).get(what)
    if own is not None and (at is None or np.isin(getattr(problem.topology, at), own.nodes).all()):
        return own
    role, names = SAID_BY[what]
    block = columns(problem, model, role, at)
    if block is not None and len(block.axes) == len(names):
        return Expression.of(block, *names)
    if what == Statement.CORRECT:
        return _ending_right(problem, model)
    if what == Statement.ENDS:
        return _summed(stated(problem, model, Statement.PREDICTED, at), "class")
    if what == Statement.BRANCHES:
        splits = stated(problem, model, Statement.SPLITS_ON, at)
        if splits is not None:
            return _summed(splits, "split")
        return _summed(stated(problem, model, Statement.SPLITS_ON_SCALE, at), "scale")
    return None


def needed(problem: Problem, model: Model, what: Statement, at: str | None = None) -> Expression:
    """Return `stated` for a statement that a family or kind names in its NEEDS, so that the model has it.

    Parameters
    ----------
    problem, model, what, at
        As in `stated`.

    Returns
    -------
    Expression

    Raises
    ------
    ModelError
        If the model does not make it all the same.
    """
    found = stated(problem, model, what, at)
    if found is None:
        raise ModelError(f"expected the statement {what.value!r} of {model.name}; name it in NEEDS")
    return found


def statements(problem: Problem, model: Model) -> list[Statement]:
    """Return all statements of a model."""
    return [what for what in Statement if stated(problem, model, what) is not None]


def missing(problem: Problem, model: Model, needs: Needs) -> str:
    """Return the required statement that the model lacks, as a part of a sentence; "" if one of the alternatives
    exists."""
    if any(all(_has(problem, model, need) for need in each) for each in needs):
        return ""
    says = ", ".join(f"{what.value!r}" for what in statements(problem, model))
    usual = params_to_json(type(problem.params)())
    chosen = {key: value for key, value in params_to_json(problem.params).items() if value != usual.get(key)}
    how = params({key: value for key, value in chosen.items() if len(str(value)) <= LONGEST})
    return (
        f"needs a model that says {words(needs)}; {problem.formulation}{f' ({how})' if how else ''} says "
        f"{says or 'nothing of single rows and nodes'}"
    )


def words(needs: Needs) -> str:
    """Return the alternatives in words, for a message."""
    return ", or ".join(" and ".join(need.words() for need in each) for each in needs)


def _has(problem: Problem, model: Model, need: Need) -> bool:
    if isinstance(need.what, Statement):
        return stated(problem, model, need.what, need.at) is not None
    return columns(problem, model, need.what, need.at) is not None


def split_variables(problem: Problem, model: Model) -> Expression:
    """Return the statement "node t splits on f", with which constraints on splits are written.

    Parameters
    ----------
    problem : Problem
    model : Model

    Returns
    -------
    Expression
        [node, split]. If thresholds have variables of their own: [node, scale], one of which is 1 if the node branches.
    """
    splits = stated(problem, model, Statement.SPLITS_ON, "branch_nodes")
    return splits if splits is not None else needed(problem, model, Statement.SPLITS_ON_SCALE, "branch_nodes")


def _ending_right(problem: Problem, model: Model) -> Expression | None:
    """Return the expression for "row i is correct": the sum over the nodes where it ends correctly classified."""
    flow, sink = columns(problem, model, Role.FLOW), columns(problem, model, Role.SINK)
    into, out = (nodes(block) if block is not None else np.zeros(0, int) for block in (flow, sink))
    # A flow counts if it goes no further: into a node without flows below it, or a sink of its own.
    last = into[~np.isin(2 * into, into) & ~np.isin(into, out)]
    parts = tuple(Part(block, ("row", t)) for block, t in ((flow, last), (sink, out)) if block is not None and len(t))
    return Expression(parts[0].block.axes[:1], parts) if parts else None


def _summed(expression: Expression | None, name: str) -> Expression | None:
    """Return the expression summed over one of its axes; None if there is none, or its labels are functions of each
    other."""
    if expression is None or any(callable(label) for part in expression.parts for label in part.labels):
        return None
    axis = expression.axis(name)
    over = axis.first + np.arange(axis.size)
    parts = tuple(
        Part(part.block, tuple(over if isinstance(l, str) and l == name else l for l in part.labels), part.coef)
        for part in expression.parts
    )
    return Expression(tuple(a for a in expression.axes if a.name != name), parts)


def _widened(labels: Any, by: int) -> Any:
    """Return the array with this many axes of length 1 after its own."""
    return labels if not by else np.asarray(labels).reshape(np.shape(labels) + (1,) * by)

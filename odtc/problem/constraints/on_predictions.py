"""Constraints that are linear in the predicted classes of the encoded rows.

    Σ_{i,k} coef_ik [row i is predicted k] ≤ upper          i an encoded row, k a class

A kind states this by `answers(encoded, given) -> [(coef, upper)]`, in whole numbers: coef (rows, classes), int64 or
Python's own (odtc.base.whole_numbers), and a whole upper. This module provides the parts that are the same for all
such kinds: the required variables, the model constraints, and the repair of a tree. Rows of data count by their
weight, as errors do, and an encoded row has the weight of all its copies.

If a formulation only counts which rows are correct (and may withhold some of these), the constraint is written over
`right_i`: exact if all wrong classes of a row have one coefficient, and a correct row never violates it. If it states
in which leaf a row ends (z_it) and the prediction of the leaf (c_tk), the product has variables v:

    v_tk ≥ Σ_i coef_ik z_it - U_k (1 - c_tk),   v_tk ≥ -D_k c_tk,   Σ_tk v_tk ≤ upper
    U_k = Σ_i max(coef_ik, 0),   D_k = Σ_i max(-coef_ik, 0)

For integer z and c the least v is the product, so these variables need not be integer; but labels must be.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from math import ceil, gcd, log2
from typing import Any

import numpy as np

from odtc.base.value_class import value_class
from odtc.base.whole_numbers import narrowed, nearest_floats
from odtc.data.encoding import Encoded
from odtc.errors import OdtcError
from odtc.model.blocks import Axis
from odtc.model.builder import ModelBuilder
from odtc.model.milp import Model
from odtc.problem.constraints.kind import Constraint, Knows, OnPredictions
from odtc.problem.expressions import Expression, Need, Needs, Statement, needed, stated
from odtc.problem.problem import Problem
from odtc.problem.roles import node_axis, route_of
from odtc.trees.heap_tree import HeapTree, settle

# Largest coefficient in a file, reached by powers of two, because a solver's tolerance is the same for all rows.
LARGEST = 1024.0


PREDICTING: Needs = ((Need(Statement.PREDICTED),), (Need(Statement.ENDS), Need(Statement.PREDICTS, "leaves")))
NEEDS: Needs = (*PREDICTING, (Need(Statement.CORRECT),))
KNOWS = Knows.CLASS  # the most that a constraint may need; `knows` states the actual need of one


@value_class
class Line:
    """Σ_{i,k} coef_ik [row i is predicted k] ≤ upper, in whole numbers without a common divisor, so that no tree
    passes that breaks it."""

    coef: np.ndarray  # whole numbers (rows, classes); floats as a row of a file
    upper: float
    y: np.ndarray  # int32 (rows,): the true classes

    @cached_property
    def right(self) -> tuple[float, np.ndarray] | None:
        """(constant, whole numbers (rows,)): the same sum as constant + Σ_i right_i [row i is right]; None if it
        matters which wrong class a row is predicted."""
        n, K = self.coef.shape
        wrong = self.coef[np.arange(K) != self.y[:, None]].reshape(n, K - 1)
        if K < 2 or (wrong != wrong[:, :1]).any():
            return None
        return sum(wrong[:, 0].tolist()), self.coef[np.arange(n), self.y] - wrong[:, 0]

    @property
    def monotone(self) -> bool:
        """Return whether the constraint only requires rows to be correct: a tree with more correct rows satisfies it,
        too."""
        return self.right is not None and bool((self.right[1] <= 0).all())


def lines(encoded: Encoded, given: Constraint) -> list[Line]:
    """Return the lines of a constraint whose kind has `answers`; [] for another kind."""
    if not given.module.can(OnPredictions):
        return []
    found, shape = given.module.answers(encoded, given), (encoded.n_rows, len(encoded.classes))
    if not isinstance(found, (list, tuple)) or not all(_is_sum(line, shape) for line in found):
        raise OdtcError(  # no ChoiceError: another constraint of the kind would not be better
            f"expected [(coef, upper)] from answers() of the constraint {given.name!r}, coef of shape {shape}, with a "
            f"row for each encoded row and a column for each class; got {_told(found)}"
        )
    return [_line(coef, upper, encoded.y) for coef, upper in found]


def _is_sum(line: Any, shape: tuple[int, int]) -> bool:
    return isinstance(line, tuple) and len(line) == 2 and np.shape(line[0]) == shape and np.ndim(line[1]) == 0


def _told(found: Any) -> str:
    """Describe a value by its types and the shapes of its arrays."""
    if isinstance(found, (list, tuple)):
        inside = ", ".join(map(_told, found[:3]))
        return f"[{inside}]" if isinstance(found, list) else f"({inside})"
    return f"{type(found).__name__}{f' of shape {found.shape}' if isinstance(found, np.ndarray) else ''}"


def lines_of(problem: Problem) -> list[Line]:
    """Return the lines of all constraints of a problem that have some."""
    return [line for given in problem.constraints for line in lines(problem.encoded, given)]


def knows(encoded: Encoded, given: Constraint) -> Knows:
    """Return RIGHT if every constraint only requires rows to be correct, else CLASS."""
    return Knows.RIGHT if all(line.monotone for line in lines(encoded, given)) else Knows.CLASS


def needs(encoded: Encoded, given: Constraint) -> Needs:
    """Return the columns that the lines of this constraint can be written over."""
    return NEEDS if knows(encoded, given) == Knows.RIGHT else PREDICTING


def early(given: Constraint) -> bool:
    """Return False: a tree that is filled up has the same predictions."""
    return False


def predicted(encoded: Encoded, heap: HeapTree) -> np.ndarray:
    """Return the class that a tree predicts for each row.

    Parameters
    ----------
    encoded : Encoded
    heap : HeapTree

    Returns
    -------
    int (rows,)
    """
    return heap.label[heap.reach(encoded.X)]


def rows(problem: Problem, model: Model, given: Constraint, m: ModelBuilder, suffix: str) -> None:
    """Write the lines of a constraint over the columns that the model has."""
    mine, (what, said) = _written(problem, given), _said(problem, model, given)
    if said is None:
        return _products(problem, model, mine, m, suffix)
    over_right, axis = what == Statement.CORRECT, Axis("line", len(mine))
    answer = m.rows(f"answer{suffix}", axis, upper=[line.upper - (line.right[0] if over_right else 0) for line in mine])
    for number, line in enumerate(mine):
        i, k = (found[:, None] for found in np.nonzero(line.right[1][:, None] if over_right else line.coef))
        if over_right:
            said.add(m, answer, (number,), (i,), line.right[1][i])
        else:
            said.add(m, answer, (number,), (i, said.nodes, k), line.coef[i, k])


def values(problem: Problem, model: Model, given: Constraint, point: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the own columns v at a point of the formulation's columns."""
    if _said(problem, model, given)[1] is not None:
        return {}
    z, c = needed(problem, model, Statement.ENDS), needed(problem, model, Statement.PREDICTS, "leaves")
    coef, _, klass, _ = _terms(problem, _written(problem, given))
    return {"product": (coef @ z.value(point)) * c.value(point).T[klass]}


def mend(encoded: Encoded, given: Constraint, heap: HeapTree) -> HeapTree:
    """Return the tree with other labels at its leaves.

    One label after another is changed, the cheapest for its effect first; if that is not enough, the best tree of one
    leaf that satisfies the constraints; otherwise the tree itself.
    """
    mine, K = lines(encoded, given), len(encoded.classes)
    end, label = heap.reach(encoded.X), heap.label.copy()
    leaf, of = np.unique(end, return_inverse=True)
    sums = np.stack([_summed(of, line.coef) for line in mine], axis=-1)  # (leaves, classes, lines)
    loss, at = _summed(of, encoded.loss), np.arange(len(leaf))
    upper = narrowed(np.array([line.upper for line in mine], object))

    def excess(total: np.ndarray) -> Any:
        return np.maximum(total - upper, 0).sum(axis=-1)

    now = label[leaf]
    for _ in range(len(leaf) * K):
        total = sums[at, now].sum(axis=0)
        if (over := excess(total)) == 0:
            return settle(heap.split, encoded, label, heap.beyond)
        less = over - excess(total - sums[at, now][:, None] + sums)
        helps = less > 0
        if not helps.any():
            break
        dearer, size = loss - loss[at, now][:, None], less.astype(float)
        price = np.divide(dearer, size, out=np.full(less.shape, np.inf), where=helps)
        t, k = np.unravel_index(price.argmin(), less.shape)
        now[t] = label[leaf[t]] = k
    alone = excess(sums.sum(axis=0)) == 0
    if not alone.any():
        return heap
    leaf_alone = np.where(alone, loss.sum(axis=0), np.inf).argmin()
    return settle(np.full_like(heap.split, -1), encoded, np.full_like(heap.label, leaf_alone))


def _line(coef: np.ndarray, upper: int, y: np.ndarray) -> Line:
    """Return the constraint in the largest unit of which every coefficient is a whole multiple, with its right-hand
    side rounded down. If all coefficients are 0, the bound is 0 if every tree satisfies it, and -1 if none does."""
    unit = gcd(*map(int, np.unique(coef)))
    if not unit:
        return Line(np.zeros(coef.shape, np.int64), min(0, max(-1, int(upper))), y)
    return Line(narrowed(coef // unit), int(upper) // unit, y)


def _said(problem: Problem, model: Model, given: Constraint) -> tuple[Statement, Expression | None]:
    """Return the expression for the prediction of a row, or for its correctness if the constraint needs only that;
    None if a product expresses it."""
    said = stated(problem, model, Statement.PREDICTED)
    if said is None and knows(problem.encoded, given) == Knows.RIGHT:
        return Statement.CORRECT, stated(problem, model, Statement.CORRECT)
    return Statement.PREDICTED, said


def _written(problem: Problem, given: Constraint) -> list[Line]:
    """Return the lines of a constraint as rows of a file, divided by powers of 2 so that no coefficient is large."""
    mine = lines(problem.encoded, given)
    return [Line(in_file(line.coef), line.upper / scale_in_file(line.coef), line.y) for line in mine]


def scale_in_file(coef: np.ndarray) -> int:
    """Return the power of 2 by which the whole numbers of a row are divided, so that no coefficient is large."""
    return 2 ** max(0, ceil(log2(max(1, int(np.abs(coef).max(initial=0))) / LARGEST)))


def in_file(coef: np.ndarray) -> np.ndarray:
    """Return the whole numbers of a row with upper bound 0 as the floats of a file."""
    return nearest_floats(coef, Fraction(1, scale_in_file(coef)))


def _terms(problem: Problem, mine: list[Line]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return (coef (terms, rows of z), line (terms,), class (terms,), constant (lines,)): the lines as sums of terms
    coef · z c, one for each class of a line that has a coefficient, minus the amount that a row counts for any
    prediction."""
    of, found, constant = route_of(problem), [], []
    for number, line in enumerate(mine):
        # The amount of one class, or 0, is subtracted from all classes of a row, so that fewest of them remain.
        shift = min(
            [np.zeros(len(line.coef)), *line.coef.T], key=lambda shift: (line.coef != shift[:, None]).any(axis=0).sum()
        )
        coef = line.coef - shift[:, None]
        coef = _summed(of, coef)
        constant.append(shift.sum())
        found += [(coef[:, k], number, k) for k in np.flatnonzero(coef.any(axis=0))]
    return (
        np.array([coef for coef, _, _ in found]).reshape(len(found), of.max() + 1),
        np.array([number for _, number, _ in found], int),
        np.array([klass for _, _, klass in found], int),
        np.array(constant),
    )


def _products(problem: Problem, model: Model, mine: list[Line], m: ModelBuilder, suffix: str) -> None:
    """Write the rows over z and c, with the own columns v."""
    z, c = needed(problem, model, Statement.ENDS), needed(problem, model, Statement.PREDICTS, "leaves")
    coef, line, klass, constant = _terms(problem, mine)
    answer = m.rows(
        f"answer{suffix}", Axis("line", len(mine)), upper=np.array([line.upper for line in mine]) - constant
    )
    if not len(line):
        return
    up, down = np.maximum(coef, 0).sum(axis=1), np.maximum(-coef, 0).sum(axis=1)
    t, term = z.nodes, np.arange(len(line))
    axes = Axis("term", len(line)), node_axis(t)
    v = m.columns(f"product{suffix}", *axes, lower=-down[:, None], upper=up[:, None])
    m.add(answer[line[:, None]], v[term[:, None], t])
    # Σ_i coef_ik z_it + U_k c_tk - v_tk ≤ U_k;   v_tk + D_k c_tk ≥ 0
    over, under = m.rows(f"over{suffix}", *axes, upper=up[:, None]), m.rows(f"under{suffix}", *axes, lower=0)
    s, i = (found[:, None] for found in np.nonzero(coef))
    z.add(m, over, (s, t), (i, t), coef[s, i])
    for block, most, sign in ((over, up, -1.0), (under, down, 1.0)):
        m.add(block[term[:, None], t], v[term[:, None], t], sign)
        s = np.flatnonzero(most)[:, None]
        c.add(m, block, (s, t), (t, klass[s]), most[s])


def _summed(of: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the sums of rows of `values` with the same number in `of`."""
    sums = np.zeros((of.max() + 1, values.shape[1]), values.dtype)
    np.add.at(sums, of, values)
    return sums

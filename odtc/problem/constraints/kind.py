"""Protocols of the kinds of constraints, one for each ability, and their registry. Rates are rows of one table
(odtc.problem.constraints.rate_table); every other kind is a module.

A text is "NAME[ARGUMENTS] OP NUMBER"; the arguments are separated by commas as in CSV, some of them as KEY=VALUE, and
a kind that forbids something has no OP and no NUMBER: "forbid_root[age]" (odtc.problem.constraints.constraint).

A kind with the subject SETTLED has no model constraints, because a model does not distinguish a branch node that
separates rows from one that does not. Only the constrained search (odtc.algorithms.constrained) supports such a kind.

A formulation knows no kinds: it looks at the facts that the constraints of a problem `know` together, and whether one
is `early`, and uses the variant that can express them. Side constraints are model constraints like all others, never
cuts. Only a formulation whose columns are subtrees knows kinds by name: those of its `keeps(problem)`, which its own
`build` satisfies.
"""

from __future__ import annotations

from abc import abstractmethod
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from odtc.base.registry import Contract, Registry

if TYPE_CHECKING:
    from odtc.data.encoding import Encoded
    from odtc.model.builder import ModelBuilder
    from odtc.model.milp import Model
    from odtc.problem.constraints.by_definition import Reference
    from odtc.problem.constraints.constraint import Constraint
    from odtc.problem.constraints.proportions import ShareSum
    from odtc.problem.constraints.terms import Terms
    from odtc.problem.problem import Problem
    from odtc.trees.heap_tree import HeapTree


class Subject(StrEnum):
    """Subject of a kind. A formulation states which of these its models can satisfy (Compiled.subjects), so that
    neither knows the other by name."""

    BRANCHES = "which nodes branch"
    TESTS = "which splits occur"
    FEATURES = "which columns of the data occur"
    PLACES = "which node splits on which column"
    LEAF_ROWS = "where each row ends"
    RIGHT = "which rows are correct"
    RIGHT_OF_TWO = "which rows are correct, if there are two classes"
    PREDICTIONS = "which class each row is predicted"
    DEPTHS = "how deep a column of the data is used"
    LEAVES = "the rows and the prediction of each leaf"
    SETTLED = "the tree without branch nodes that separate no rows"


class ConstraintType(Protocol):
    """Parts that every kind of constraints defines; `given` is a Constraint of the kind."""

    NAME: str
    SUMMARY: str  # for `odtc list constraints`
    OPS: tuple[Any, ...]  # the operators it takes, of "<=" and ">="; () for a kind without a number
    KNOWS: str  # what its rows must know of a tree: one of odtc.problem.constraints.on_predictions.Knows
    NEEDS: tuple[Any, ...]  # alternatives of statements that its rows are written on, as of a cut family
    SUBJECT: str = ""  # its Subject, which determines the models that support it
    HINT: str = ""  # further advice if a model does not support it

    @abstractmethod
    def read(self, encoded: Encoded, given: Constraint) -> Constraint:
        """Return the Constraint with its arguments and number as in the data. Raises ChoiceError if they fit no tree
        of this data."""
        ...

    @abstractmethod
    def early(self, given: Constraint) -> bool:
        """Return whether a tree that satisfies it may have to predict above the last level, and above the root's
        children.

        Otherwise every tree can be filled up with branch nodes that separate no rows.
        """
        ...

    @abstractmethod
    def value(self, encoded: Encoded, given: Constraint, heap: HeapTree) -> float:
        """Return the exact value of a settled tree, which `verify` compares; for a kind without a number how often the
        tree violates it."""
        ...

    @abstractmethod
    def rows(self, problem: Problem, model: Model, given: Constraint, m: ModelBuilder, suffix: str) -> None:
        """Write rows, and columns if it needs its own, by `m`, the ModelBuilder on `model`; the names of all its
        blocks end in `suffix`."""
        ...

    def tries(self, encoded: Encoded) -> list[str]:
        """Return constraints of this kind on some data, as texts, from which the property tests draw; some may be
        refused by `read`."""
        return []

    def reference(self, encoded: Encoded, given: Constraint) -> Reference:
        """Return the reference: which trees satisfy it by definition, row by row, without using `value` and `rows`.
        Property tests compare it on every tree."""
        from odtc.problem.constraints.by_definition import Reference

        return Reference()

    def values(
        self, problem: Problem, model: Model, given: Constraint, point: dict[str, np.ndarray]
    ) -> dict[str, np.ndarray]:
        """Return {block without suffix: values of its own columns} at a point of the formulation's columns."""
        return {}

    def knows(self, encoded: Encoded, given: Constraint) -> str:
        """Return the facts that this constraint needs, if they are fewer than KNOWS."""
        return self.KNOWS

    def needs(self, encoded: Encoded, given: Constraint) -> tuple[Any, ...]:
        """Return the columns that this constraint needs, if they are fewer than NEEDS."""
        return self.NEEDS

    def terms(self, encoded: Encoded, given: Constraint) -> Terms | None:
        """Return the form for the constrained search (odtc.problem.constraints.terms.Terms); None if its `answers` or
        `bars` are enough, or if every tree is to be checked."""
        return None

    def compared(self, given: Constraint) -> tuple[str, ...]:
        """Return the texts of the groups of rows that it compares (odtc.problem.constraints.groups)."""
        return ()


class OnPredictions(Protocol):
    """A kind that is linear in the predictions; everything except `read` and `value` is then provided by
    odtc.problem.constraints.on_predictions."""

    @abstractmethod
    def answers(self, encoded: Encoded, given: Constraint) -> list[Any]:
        """Return [(coef float64 (rows, classes), upper)]: Σ coef_ik [row i is predicted k] ≤ upper."""
        ...


class OnProportions(Protocol):
    """A kind that compares shares of rows, so that a sample of rows shows how surely new rows satisfy it."""

    @abstractmethod
    def proportions(self, encoded: Encoded, given: Constraint, predicted: np.ndarray) -> list[ShareSum]:
        """Return sums of shares, each of which is at most a number if the constraint is satisfied
        (odtc.problem.constraints.proportions.ShareSum), for the class predicted of each row, int (rows,)."""
        ...


class OnLeafProportions(Protocol):
    """A kind that compares shares of the rows of each leaf, as OnProportions does."""

    @abstractmethod
    def leaf_proportions(
        self, encoded: Encoded, given: Constraint, predicted: np.ndarray, leaf: np.ndarray, labels: np.ndarray
    ) -> list[ShareSum]:
        """Return the shares of OnProportions, for the leaf of each row, int (rows,), and the class of each leaf, int
        (leaves,)."""
        ...


class CountsSplits(Protocol):
    """A kind that depends only on which splits occur in a tree."""

    @abstractmethod
    def groups(self, encoded: Encoded) -> np.ndarray:
        """Return int (splits,), from 0: the counted group of each split."""
        ...


class BarsPaths(Protocol):
    """A kind that only determines which splits the root may not have, and which may not be below others."""

    @abstractmethod
    def bars(self, encoded: Encoded, given: Constraint) -> tuple[Any, ...]:
        """Return (root, once, below), bool (splits,) each: splits that the root may not have, and `below` those that no
        node may have below one with a split of `once`."""
        ...


class Repairs(Protocol):
    """A kind that can repair a tree."""

    @abstractmethod
    def mend(self, encoded: Encoded, given: Constraint, heap: HeapTree) -> HeapTree:
        """Return a HeapTree that satisfies it, made from one that does not."""
        ...


RATES = (
    "accuracy",
    "recall",
    "precision",
    "false_positive_rate",
    "false_negative_rate",
    "statistical_parity",
    "equal_opportunity",
    "predictive_equality",
    "equalised_odds",
    "group_accuracy",
    "balanced_accuracy",
    "f1",
)
# Kinds whose value is a function of the predictions of the rows.
SHARES = (*RATES, "cost")
# Kinds on the predictions of the rows.
ON_PREDICTIONS = (*SHARES, "monotone")
CONSTRAINTS = Registry(
    "constraint",
    "odtc.problem.constraints.kinds",
    (
        "leaf_rows",
        "branch_nodes",
        "leaves",
        "features",
        "splits",
        *SHARES,
        "leaf_class_rows",
        "leaf_precision",
        "class_leaves",
        "forbid_root",
        "require_root",
        "not_below",
        "deepest",
        "shallowest",
        "never_together",
        "together",
        "monotone",
        "monotone_everywhere",
    ),
    Contract(
        always=(ConstraintType,),
        may=(OnPredictions, OnProportions, OnLeafProportions, CountsSplits, BarsPaths, Repairs),
    ),
    "odtc.constraints",
    abilities=(("OnPredictions", ON_PREDICTIONS),),
    tabled=(RATES, "odtc.problem.constraints.rate_table"),
)

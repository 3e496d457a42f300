"""Constraints, the protocols that a kind of constraint implements (one per ability), and the registry of kinds. Rates
are rows of one table (odtc.problem.constraints.rate_table); every other kind is a module.

A kind states its requirement on a tree once. A module shared by all kinds of that sort derives the model constraints,
the terms of the search and the repair of trees:

    answers     sums over the predictions of the rows                     odtc.problem.constraints.on_predictions
    bars        columns that nodes of a depth may not split on            odtc.problem.constraints.on_features
    groups      groups of splits, few of which may occur                  odtc.problem.constraints.on_groups
    leaf_sums   sums over the rows of each leaf                           odtc.problem.constraints.on_leaves
    terms       the number of branch nodes                                odtc.problem.constraints.on_nodes

A text is "NAME[ARGUMENTS] OP NUMBER"; the arguments are separated by commas as in CSV, some of them as KEY=VALUE, and
a kind that forbids something has no OP and no NUMBER: "forbid_root[age]" (odtc.problem.constraints.constraint).

A kind with the subject SETTLED has no model constraints, because a model does not distinguish a branch node that
separates rows from one that does not. Only the constrained search (odtc.algorithms.constrained) supports such a kind.

A formulation does not depend on single kinds. It checks which facts the constraints of a problem need (`knows`) and
whether one is `early`, and uses a variant that can express them. Side constraints are ordinary model constraints, never
cuts. Only a formulation whose columns are subtrees knows kinds by name: its `keeps(problem)` lists the kinds that its
own `build` satisfies.
"""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, localcontext
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from odtc.base.registry import Contract, Member, Registry
from odtc.base.spec_fields import quoted
from odtc.base.text import show_number
from odtc.base.value_class import frozen_class, value_class
from odtc.errors import ChoiceError

if TYPE_CHECKING:
    from odtc.algorithms.constrained.constrained_problem import Below
    from odtc.data.encoding import Encoded
    from odtc.model.builder import ModelBuilder
    from odtc.model.milp import Model
    from odtc.problem.constraints.by_definition import Reference
    from odtc.problem.problem import Problem
    from odtc.trees.heap_tree import HeapTree

DECIMAL = r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?"
NUMBER = re.compile(rf"(?P<above>{DECIMAL})(/(?P<below>\d+\.?\d*)|(?P<percent>\s*%))?", re.ASCII)
LONGEST = 400  # maximum number of characters of a number


@frozen_class
class Constraint:
    """value of the kind `name` for these arguments, compared by `op` with `bound`; `op` is "" and `bound` 0 of a
    kind without a number. A float as bound is the decimal that it is written as."""

    name: str
    args: tuple[str, ...]
    op: str
    bound: Fraction

    def __post_init__(self) -> None:
        if not isinstance(self.bound, Fraction):
            exact = Fraction(repr(float(self.bound)) if isinstance(self.bound, float) else self.bound)
            object.__setattr__(self, "bound", exact)

    @property
    def module(self) -> Member:
        return CONSTRAINTS.get(self.name)

    def __str__(self) -> str:
        args = ",".join(map(quoted, self.args))
        return f"{self.name}{f'[{args}]' if args else ''}" + (f" {self.op} {show_exact(self.bound)}" if self.op else "")

    def holds(self, value: Fraction | float) -> bool:
        """Return whether a value satisfies it, compared without any tolerance."""
        return value >= self.bound if self.op == ">=" else value <= self.bound

    def told(self, value: Fraction | float) -> str:
        """Return the constraint and the value of a tree, in words."""
        if not self.op:
            return f"{self}: broken {float(value):.10g} times"
        return f"{self}: the tree has {self.shown(value)}"

    def shown(self, value: Fraction | float) -> str:
        """Return a value in ten digits, or as a fraction if it is too close to the bound for these."""
        near = value != self.bound and f"{float(value):.10g}" == f"{float(self.bound):.10g}"
        return str(value) if near else f"{float(value):.10g}"

    def keyed(self, *keys: str) -> list[str]:
        """Return the values of the arguments KEY=VALUE, one for each of these keys; raises ChoiceError if they are
        others."""
        found = dict(arg.partition("=")[::2] for arg in self.args)
        found = {key.strip(): value.strip() for key, value in found.items()}
        if set(found) != set(keys) or len(self.args) != len(keys):
            raise ChoiceError(f"expected {self.name}[{','.join(f'{key}=…' for key in keys)}], got {str(self)!r}")
        return [found[key] for key in keys]


class Knows(StrEnum):
    """Facts that a constraint needs, and that a formulation must therefore express exactly."""

    TESTS = "splits"  # the splits of the nodes: labels and flows may be relaxed as before
    RIGHT = "right"  # the rows that are classified correctly: labels must be whole
    CLASS = "class"  # the class predicted for each row: every row must be routed, and labels be whole
    LEAF = "leaf"  # the leaf in which each row ends: every row must be routed


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
    KNOWS: str  # the fact about a tree that its rows need: one of `Knows`
    NEEDS: tuple[Any, ...]  # alternatives: statements that its rows need, as for a cut family
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
        """Return constraints of this kind on some data, as texts, from which the property tests draw, by the first
        words of its SUMMARY; some may be refused by `read`."""
        from odtc.problem.constraints.by_definition import tried

        return tried(encoded, self.NAME, self.SUMMARY)

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
        """Return the form for the constrained search (`Terms`); None if its
        `answers` are enough, or if every tree is to be checked."""
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
        (odtc.problem.constraints.rates.ShareSum), for the class predicted of each row, int (rows,)."""
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


class OnPlaces(Protocol):
    """A kind that only forbids columns at nodes, by the depth of the node or by the columns of the nodes above it;
    odtc.problem.constraints.on_features provides everything except `read`."""

    @abstractmethod
    def bars(self, encoded: Encoded, given: Constraint, level: np.ndarray, feature: np.ndarray) -> np.ndarray:
        """Return bool: whether a node of this level may not split on this column of the data, for two arrays of int
        that broadcast. The root has level 0; column -1 means no split."""
        ...

    def below(self, encoded: Encoded, given: Constraint, feature: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Return (once, under), bool as `feature`: no node below one that splits on a column of `once` may split on one
        of `under`; None if there are none."""
        return None


class OnGroups(Protocol):
    """A kind that limits how many groups of splits occur in a tree: to the number of the constraint, or to one.
    Everything except `read` is then provided by odtc.problem.constraints.on_groups."""

    @abstractmethod
    def groups(self, encoded: Encoded, given: Constraint, split: np.ndarray, feature: np.ndarray) -> np.ndarray:
        """Return int: the group of each split, for the numbers of splits and their columns; -1 if it is not counted. A
        node without split has -1 in both."""
        ...


class OnLeaves(Protocol):
    """A kind that requires large sums over the rows of each leaf; everything except `read` and `value` is then provided
    by odtc.problem.constraints.on_leaves."""

    @abstractmethod
    def leaf_sums(self, encoded: Encoded, given: Constraint) -> list[tuple[np.ndarray, int, int]]:
        """Return [(measure whole (rows,), class, least)]: the measures of the rows of each leaf that predicts the class
        sum to `least` or more."""
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


def _unfit(module: Any) -> str:
    """Return why the values of a kind are invalid, as a part of a sentence; "" if they are valid."""
    if not isinstance(module.OPS, tuple) or not set(module.OPS) <= {"<=", ">="}:
        return f'expected OPS as a tuple of "<=" and ">=", got {module.OPS!r}'
    return ""


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
        may=(OnPredictions, OnProportions, OnLeafProportions, OnPlaces, OnGroups, OnLeaves, Repairs),
        unfit=_unfit,
    ),
    "odtc.constraints",
    abilities=(("OnPredictions", ON_PREDICTIONS),),
    tabled=(RATES, "odtc.problem.constraints.rate_table"),
)


@value_class
class Terms:
    """The forms of one constraint; omitted forms impose nothing.

    Attributes
    ----------
    lines : tuple of (whole numbers (rows, classes), whole upper)
        The sum over rows of their uses by their predictions is at most `upper`.
    nodes : int or None
        The largest number of branch nodes.
    leaves : tuple of (class, most)
        The largest number of leaves that predict a class.
    measures : tuple of (int64 (rows,), float64 (classes,))
        The measure of each row, and the least sum for a leaf that predicts a class; -inf for none.
    levels : Callable[[int], bool (depth, splits)] or None
        For a depth, the splits that are allowed at each level.
    below : Below or None
        Splits that may be below one.
    groups : (int (splits,), most) or None
        The group of each split, and the largest number of different groups in a tree.
    apart : tuple of (bool (splits,), bool (splits,))
        Splits of the first set never occur in a tree with splits of the second.
    all_or_none : tuple of bool (splits,)
        A tree with a split of one of these sets has one of each of them; the constrained search checks it.
    checked : bool
        Whether none of these is enough, so that every tree is checked.
    """

    lines: tuple[Any, ...] = ()
    nodes: int | None = None
    leaves: tuple[Any, ...] = ()
    measures: tuple[Any, ...] = ()
    levels: Callable[[int], np.ndarray] | None = None
    below: Below | None = None
    groups: tuple[Any, ...] | None = None
    apart: tuple[Any, ...] = ()
    all_or_none: tuple[Any, ...] = ()
    checked: bool = False


@dataclass(frozen=True, eq=False)
class Share:
    """The share of the rows `among`, bool (rows,), that are `counted`, bool (rows,), times `coef`; `of` names these
    rows in words, as after "row"."""

    coef: float
    among: np.ndarray
    counted: np.ndarray
    of: str

    @property
    def value(self) -> float:
        """The share; 0 among no rows."""
        return float((self.among & self.counted).sum() / max(1, self.among.sum()))


@value_class
class ShareSum:
    """Σ of some shares ≤ upper."""

    shares: tuple[Share, ...]
    upper: float


def read_number(text: str) -> Fraction | None:
    """Return the number of a text such as 0.05, 1/20, 5% or 5 %, exactly; None if it is not a finite number."""
    found = NUMBER.fullmatch(text) if len(text) <= LONGEST else None
    if found is None or not (below := Fraction(found["below"] or (100 if found["percent"] else 1))):
        return None
    value = Fraction(found["above"]) / below
    return value if math.isfinite(_float(value)) else None


def show_exact(value: Fraction) -> str:
    """Return the shortest text that reads back as the same number: a decimal if there is one, else a fraction."""
    if math.isfinite(near := _float(value)) and Fraction(repr(near)) == value:
        return show_number(near)
    twos_and_fives = value.denominator
    for prime in (2, 5):
        while twos_and_fives % prime == 0:
            twos_and_fives //= prime
    if twos_and_fives > 1 or value.denominator == 1:
        return str(value)
    with localcontext() as context:
        context.prec = LONGEST + value.denominator.bit_length() + value.numerator.bit_length()
        return str(Decimal(value.numerator) / Decimal(value.denominator))


def _float(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf

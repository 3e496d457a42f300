"""The variants of dpflow: the model of the dynamic program for a problem, and the interface of each variant.

A variant is a module of this package with the functions of `Form`. The first one in FORMS that supports a problem is
used; dpflow delegates everything else to it. A new variant is one module, and its position in FORMS.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

import numpy as np

from odtc.problem.constraints.kind import CONSTRAINTS, Constraint, OnPredictions
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree

if TYPE_CHECKING:
    from odtc.model.milp import Model


class Form(Protocol):
    """Interface of a variant, with the functions of a formulation (odtc.problem.formulation), unless stated
    otherwise."""

    def takes(self, problem: Problem) -> bool:
        """Return whether the variant is used for this problem, if none before it is. Raises ChoiceError if parameters
        request the variant together with something that it does not support."""
        ...

    def keeps(self, problem: Problem) -> tuple[str, ...]:
        """Return the types of constraints that determine which variables exist."""
        ...

    def build(self, problem: Problem) -> "Model": ...

    def start(self, problem: Problem, heap: HeapTree) -> dict[str, np.ndarray]:
        """Return a tree that `trimmed` made, as a point. Raises TreeError for another tree."""
        ...

    def trimmed(self, problem: Problem, heap: HeapTree) -> HeapTree:
        """Return a tree that the model contains: one that costs no more than this one, unless that breaks a
        constraint."""
        ...

    def decode(self, problem: Problem, point: dict[str, np.ndarray]) -> HeapTree: ...

    def notes(self, problem: Problem) -> dict: ...


ROWS = ("leaf_rows",)  # types of constraints that every variant keeps by the arcs that are left out
COUNTING = ("branch_nodes", "leaves")


def beyond_rows(problem: Problem) -> Constraint | None:
    """Return the first constraint on more than the rows of leaves; None if there is none."""
    return next((given for given in problem.constraints if given.name not in ROWS), None)


def is_plain(problem: Problem) -> bool:
    """Return whether no parameter requests a special variant of the program."""
    params = problem.params
    return params.tail == params.intervals == "auto" and params.fold and not params.proof


def kinds() -> tuple[str, ...]:
    """Return the types of constraints that bound sums over the tree."""
    return *COUNTING, *answering()


def answering() -> tuple[str, ...]:
    """Return the types of constraints whose sums are over the predictions of rows."""
    return CONSTRAINTS.able(OnPredictions)


FORMS = ("moments", "live_cases", "intervals", "proof", "resources", "paths", "states")


def form(problem: Problem) -> Form:
    """Return the variant for this problem; those after it are not loaded."""
    forms = (cast(Form, import_module(f"{__name__}.{name}")) for name in FORMS)
    return next(each for each in forms if each.takes(problem))

"""The input of the compiler: encoded rows, a shape of tree, a formulation and its parameters."""

import dataclasses
from typing import Any, TypeVar

import numpy as np

from odtc.base.registry import Member
from odtc.base.value_class import frozen_class, value_class
from odtc.base.wording import option
from odtc.data.encoding import Encoded
from odtc.data.task import TASKS
from odtc.errors import ChoiceError
from odtc.problem.formulation import FORMULATIONS
from odtc.trees.complete_tree import CompleteTree

Derived = TypeVar("Derived")


@value_class
class Choice:
    """A formulation that was chosen for a problem, and the reason in words."""

    formulation: str
    why: str
    requested: str = "auto"


@frozen_class
class Problem:
    """The input of the compiler: encoded rows, a shape of tree, a formulation and its parameters."""

    encoded: Encoded
    topology: CompleteTree
    module: Member  # the formulation (odtc.problem.formulation); a name is looked up
    params: Any  # the formulation's own Params
    constraints: tuple[Any, ...] = ()  # constraints on the tree (odtc.problem.constraints.constraint)
    choice: Choice | None = dataclasses.field(default=None, compare=False)  # if `--model auto` chose the formulation
    # Objects computed from this problem, one of each class (`derived`); never carried to another problem.
    _derived: dict[str, Any] = dataclasses.field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if isinstance(self.module, str):
            object.__setattr__(self, "module", FORMULATIONS.get(self.module))

    @property
    def formulation(self) -> str:
        """The name of the formulation."""
        return self.module.name

    def derived(self, kind: type[Derived]) -> Derived:
        """Return the object of a class that is made once from this problem, as `kind(problem)`.

        A formulation stores the facts that it computes in such an object, as cached properties; a problem that is made
        from this one (`dataclasses.replace`) begins without them.
        """
        if kind not in self._derived:
            self._derived[kind] = kind(self)
        return self._derived[kind]


def error_cost(problem: Problem) -> np.ndarray:
    """Return the cost of an error on each row.

    Parameters
    ----------
    problem : Problem

    Returns
    -------
    float64 (rows,)

    Raises
    ------
    ChoiceError
        If the cost depends on the class predicted: a formulation that counts a row only as correct or misclassified
        cannot express it.
    """
    price = problem.encoded.price
    if price is None:
        able = [name for name in FORMULATIONS.names() if FORMULATIONS.get(name).ANY_COST]
        classes = TASKS.get(problem.encoded.task).CLASSES
        raise ChoiceError(
            f"{problem.formulation} counts a row only as correct or misclassified, so it cannot take costs that depend "
            f"on {'the class predicted' if classes else 'the answer'}; use {option('model', *able)}"
            + (f", or costs by true class only ({option('class_weight')})" if classes else "")
        )
    return price

"""The input of the compiler: encoded rows, a shape of tree, a formulation and its parameters."""

import dataclasses
from typing import Any, TypeVar

from odtc.base.registry import Member
from odtc.base.value_class import frozen_class, value_class
from odtc.data.encoding import Encoded
from odtc.trees.heap_tree import CompleteTree

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
    module: Member  # the formulation (odtc.problem.formulation)
    params: Any  # the formulation's own Params
    constraints: tuple[Any, ...] = ()  # constraints on the tree (odtc.problem.constraints.constraint)
    choice: Choice | None = dataclasses.field(default=None, compare=False)  # if `--model auto` chose the formulation
    # Objects computed from this problem, one of each class (`derived`); never carried to another problem.
    _derived: dict[str, Any] = dataclasses.field(default_factory=dict, init=False, repr=False, compare=False)

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

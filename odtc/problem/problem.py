"""What is compiled: encoded rows, a shape of tree, a formulation and its parameters."""

import dataclasses
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from odtc.data.encoding import Encoded
from odtc.errors import ChoiceError
from odtc.problem.formulation import FORMULATIONS
from odtc.trees.complete_tree import CompleteTree

Derived = TypeVar("Derived")


@dataclass(frozen=True)
class Problem:
    """What is compiled: encoded rows, a shape of tree, a formulation and its parameters."""

    encoded: Encoded
    topology: CompleteTree
    formulation: str
    params: object  # the formulation's own Params
    constraints: tuple = ()  # what a tree must keep (odtc.problem.constraints.constraint)
    # What the formulation worked out of this problem once, by name; never carried to another one.
    memo: dict = dataclasses.field(default_factory=dict, init=False, repr=False, compare=False)
    # The same as objects, one of each class (`derived`).
    _derived: dict = dataclasses.field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def module(self):
        return FORMULATIONS.get(self.formulation)

    def derived(self, kind: type[Derived]) -> Derived:
        """The object of a class that is made of this problem once, as `kind(problem)`.

        A formulation keeps what it works out in such an object, as cached properties; a problem that is made
        of this one (`dataclasses.replace`) begins without them.
        """
        if kind not in self._derived:
            self._derived[kind] = kind(self)
        return self._derived[kind]


def price_of_errors(problem: Problem) -> np.ndarray:
    """float64 (rows,): what an error on each row costs. Raises ChoiceError where that depends on the class
    predicted, which a formulation that counts a row only as right or wrong cannot say."""
    price = problem.encoded.price
    if price is None:
        able = [name for name in FORMULATIONS.names() if getattr(FORMULATIONS.get(name), "ANY_COST", False)]
        raise ChoiceError(
            f"{problem.formulation} counts a row only as right or wrong, so it cannot take costs that depend on the "
            f"class "
            f"predicted; use --model {' or '.join(able)}, or costs by true class alone (--class-weight)"
        )
    return price

"""The forms of dpflow: which model of the dynamic program a problem takes, and what each form must offer.

A form is a module of this package with the functions of `Form`. The first of FORMS that takes a problem is meant; all
else that dpflow does is asked of it. A new form is one module, and its place in FORMS.
"""

from importlib import import_module
from typing import Protocol, cast

import numpy as np

from odtc.model.milp import Model
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree


class Form(Protocol):
    """What each form offers; as a formulation does, if not said otherwise (odtc.problem.formulation)."""

    def takes(self, problem: Problem) -> bool:
        """Whether the form is meant for this problem, if none before it is. Raises ChoiceError if parameters ask for
        the form and for what it cannot."""
        ...

    def keeps(self, problem: Problem) -> tuple[str, ...]:
        """The kinds of constraints that decide which columns there are."""
        ...

    def build(self, problem: Problem) -> Model: ...

    def start(self, problem: Problem, heap: HeapTree) -> dict[str, np.ndarray]:
        """A tree that `trimmed` made, as a point. Raises TreeError for another."""
        ...

    def trimmed(self, problem: Problem, heap: HeapTree) -> HeapTree:
        """A tree that the model has: one that costs no more than this one, unless that breaks a constraint."""
        ...

    def decode(self, problem: Problem, point: dict[str, np.ndarray]) -> HeapTree: ...

    def notes(self, problem: Problem) -> dict: ...


class Proves(Form, Protocol):
    """A form whose bounds are those of all trees: it can state them for a certificate (odtc.verification)."""

    def optimal(self, problem: Problem) -> HeapTree:
        """The best tree, which the compiler finds."""
        ...

    def targets(self, problem: Problem, unit: float):
        """Per level (bounds, paths): what trees cost at least at some states, float64 (states,) of whole numbers, of
        which a loss of 1 is `unit`, and their literals, int64 (states, level): 2f for the rows whose column f is 0,
        2f + 1 for the others."""
        ...


FORMS = ("moments", "live_cases", "intervals", "proof", "paths_and_resources", "paths", "resources", "states")


def form(problem: Problem) -> Form:
    """The form that is meant for this problem; those behind it are not loaded."""
    forms = (cast(Form, import_module(f"{__name__}.{name}")) for name in FORMS)
    return next(each for each in forms if each.takes(problem))

"""Constraints on the final tree, without branch nodes that separate no rows: parts that their kinds share.

No constraint of a model can express which branch nodes separate rows, so only the built-in search supports them.
"""

from odtc.model.builder import ModelBuilder
from odtc.model.milp import Model
from odtc.problem.constraints.kind import Constraint, Knows, Subject
from odtc.problem.problem import Problem

SUBJECT, KNOWS, NEEDS = Subject.SETTLED, Knows.TESTS, ()


def early(given: Constraint) -> bool:
    """Return True: a tree cannot be filled up with nodes that separate no rows."""
    return True


def rows(problem: Problem, model: Model, given: Constraint, m: ModelBuilder, suffix: str) -> None:
    """Raise NotImplementedError."""
    raise NotImplementedError("odtc.problem.constraints.constraint.built refuses this kind")

"""How the constrained search heeds a constraint: what a kind declares of itself.

lines       Σ over rows of what they use by their predictions  ≤  upper
nodes       at most so many branch nodes; leaves: at most so many leaves that predict a class
measures    rows in a leaf that predicts a class sum to at least so much
levels      tests that may be asked at each level; below: tests that may stand below one
groups      at most so many different groups of tests are asked; apart: groups never asked by one tree
all_or_none a tree that asks a test of one of these sets asks one of each of them
checked     none of these: the constraint is relaxed, and every tree that the search would take is checked
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from odtc.algorithms.constrained.constrained_problem import Below


@dataclass(frozen=True)
class Terms:
    """How the search heeds one constraint; what is left out says nothing.

    Attributes
    ----------
    lines : tuple of (whole numbers (rows, classes), whole upper)
    nodes : int or None
        At most so many branch nodes.
    leaves : tuple of (class, most)
    measures : tuple of (int64 (rows,), float64 (classes,))
        The measure of each row, and what a leaf that predicts a class needs at least; -inf for nothing.
    levels : Callable[[int], bool (depth, tests)] or None
        Of a depth, the tests that may be asked at each level.
    below : Below or None
    groups : (int (tests,), most) or None
    apart : tuple of (bool (tests,), bool (tests,))
        Tests of the one kind are never asked in a tree that asks those of the other.
    all_or_none : tuple of bool (tests,)
        A tree that asks a test of one of these sets asks one of each of them; the constrained search checks it.
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

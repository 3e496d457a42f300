"""Forms in which the constrained search handles a constraint.

lines Σ over rows of their uses by their predictions ≤ upper nodes at most this many branch nodes; leaves: at most this
many leaves that predict a class measures rows in a leaf that predicts a class sum to at least this much levels splits
that are allowed at each level; below: splits that may be below one groups splits of at most this many different
groups; apart: groups that never occur in one tree all_or_none a tree with a split of one of these sets has one of each
of them checked none of these: the constraint is relaxed, and every candidate tree is checked
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from odtc.algorithms.constrained.constrained_problem import Below
from odtc.base.value_class import value_class


@value_class
class Terms:
    """The forms of one constraint; omitted forms impose nothing.

    Attributes
    ----------
    lines : tuple of (whole numbers (rows, classes), whole upper)
    nodes : int or None
        The largest number of branch nodes.
    leaves : tuple of (class, most)
    measures : tuple of (int64 (rows,), float64 (classes,))
        The measure of each row, and the least sum for a leaf that predicts a class; -inf for none.
    levels : Callable[[int], bool (depth, splits)] or None
        For a depth, the splits that are allowed at each level.
    below : Below or None
    groups : (int (splits,), most) or None
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

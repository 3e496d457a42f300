"""Protocol of heuristics: functions from encoded rows and a depth to a tree, without a solver.

They provide MIP starts and trees for comparison.
"""

from abc import abstractmethod
from typing import Protocol

import numpy as np

from odtc.base.registry import Contract, Registry
from odtc.base.text import did_you_mean
from odtc.data.encoding import Encoded
from odtc.data.threshold_scales import Scales
from odtc.errors import ChoiceError
from odtc.trees.heap_tree import CompleteTree, HeapTree, blank_arrays


class Heuristic(Protocol):
    """Functions and constants that a heuristic defines."""

    NAME: str
    SUMMARY: str
    LIMITS: tuple = ()  # those of odtc.problem.constraints.constraint.limits that are keywords of `tree`
    OPTIONS: dict = {}  # name -> (type, help): more keywords of `tree`
    TRIES: tuple = ("",)  # options, as behind the colon of `--start`, under which the laws try it

    @abstractmethod
    def tree(self, encoded: Encoded, topology: CompleteTree, price: float, **options) -> HeapTree:
        """Return a tree for these rows; `price` is the loss that a branch node must save to be worth it."""
        ...


HEURISTICS = Registry(
    "start",
    "odtc.heuristics",
    ("cart", "local_search", "optimal", "oblique", "regularised"),
    Contract(always=(Heuristic,)),
    "odtc.heuristics",
)


def grow(text: str, encoded: Encoded, topology: CompleteTree, price: float = 0.0, **limits) -> HeapTree:
    """Return the tree of a heuristic.

    Parameters
    ----------
    text : str
        "NAME" or "NAME:KEY=VALUE,KEY=VALUE", of `odtc list starts`.
    encoded : Encoded
    topology : CompleteTree
    price : float
        The loss that a branch node must save.
    **limits
        Limits of constraints (odtc.problem.constraints.constraint.limits); a heuristic takes those it has in LIMITS.

    Returns
    -------
    HeapTree

    Raises
    ------
    ChoiceError
        If the heuristic or an option is unknown, or the heuristic finds no tree.
    """
    name, colon, rest = text.partition(":")
    module, given = HEURISTICS.get(name.strip()), {}
    options = module.OPTIONS
    for part in rest.split(",") if colon else ():
        key, _, value = (piece.strip() for piece in part.partition("="))
        if key not in options:
            raise ChoiceError(
                f"unknown option {key!r} of the start {name!r}{did_you_mean(key, options)}; known: "
                f"{', '.join(options) or 'it has none'}"
            )
        try:
            given[key] = options[key][0](value)
        except ValueError:
            raise ChoiceError(
                f"expected {key}=VALUE with a value of type {options[key][0].__name__} in the start {text!r}, got "
                f"{value!r}"
            ) from None
    return module.tree(
        encoded, topology, price, **given, **{name: limits[name] for name in module.LIMITS if name in limits}
    )


def splits_of(model, topology: CompleteTree, scales: Scales | None = None) -> np.ndarray:
    """Return the split of each branch node of a fitted DecisionTreeClassifier, int32 in heap order, -1 if it does not
    branch; of one on 0/1 columns, or on the ranks of `scales`."""
    fitted = model.tree_
    split, _ = blank_arrays(topology)

    def place(node, t):
        if fitted.children_left[node] >= 0:
            # rank <= c: the row lies above c cuts at most, so above number c, from 0, it does not.
            split[t] = (
                fitted.feature[node]
                if scales is None
                else scales.split(fitted.feature[node], int(fitted.threshold[node]))
            )
            place(fitted.children_left[node], 2 * t)  # left in scikit-learn: column <= 0.5, that is 0
            place(fitted.children_right[node], 2 * t + 1)

    place(0, 1)
    return split

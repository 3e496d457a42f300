"""The formulations that support a cut family or a kind of constraints: each of their variants is built on a few rows.

No formulation declares its support: a model that has the required expressions (odtc.problem.expressions) supports
them.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from odtc.data.dataset import CATEGORICAL, NUMERIC, Dataset, Feature
from odtc.data.encoding import Encoded, encode
from odtc.problem.formulation import FORMULATIONS, Compiled
from odtc.problem.parameters import parse_params
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import CompleteTree


@cache
def few_rows(classes: int = 2) -> Encoded:
    """Return six rows of numbers and levels, of two or three classes."""
    X = np.array([[0.0, 0], [0, 1], [1, 0], [2, 1], [2, 2], [1, 2]])
    features = (Feature("size", NUMERIC), Feature("colour", CATEGORICAL, ("blue", "red", "white")))
    y = np.array([0, 1, 1, 0, 1, 0] if classes == 2 else [0, 1, 2, 0, 2, 1], np.int32)
    return encode(Dataset("few", X, y, features, ("no", "yes", "perhaps")[:classes], np.ones(6)))


def small_problem(name: str, form: dict[str, Any], classes: int = 2) -> Problem:
    """Return a problem on `few_rows` for a formulation with these parameters."""
    return Problem(few_rows(classes), CompleteTree(2), FORMULATIONS.get(name), parse_params(name, form))


def able(fits: Callable[[Problem], bool]) -> list[tuple[str, dict[str, Any]]]:
    """Return (formulation, its parameters) of each whose model fits by default, or otherwise in the first of its
    VARIANTS that does.

    Parameters
    ----------
    fits : function of a Problem
        Returns whether the model of this small problem has the required support.

    Returns
    -------
    list of (str, dict)
    """
    found = []
    for name in FORMULATIONS.able(Compiled):
        for form in ({}, *filter(None, FORMULATIONS.get(name).VARIANTS)):
            if fits(small_problem(name, form)):
                found.append((name, form))
                break
    return found

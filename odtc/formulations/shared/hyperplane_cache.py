"""Hyperplanes that a formulation has found for a problem, so that each is computed once."""

from collections.abc import Callable

import numpy as np

from odtc.problem.problem import Problem


class Hyperplanes:
    """The hyperplanes of one problem, by the rows and sides that they separate."""

    def __init__(self, problem: Problem):
        self.known = {}


def cached_hyperplane(problem: Problem, rows: np.ndarray, left: np.ndarray, find: Callable, *more):
    """Return the value of `find()` for these rows and the side of each, computed once for a problem and for each of
    `more`.

    Starts, objectives and checks need the same hyperplanes, and each takes a linear program.
    """
    known, key = problem.derived(Hyperplanes).known, (rows.tobytes(), left.tobytes(), *more)
    if key not in known:
        known[key] = find()
    return known[key]

"""Messages between a solver and the process that started it."""

from dataclasses import field
from typing import Any

import numpy as np

from odtc.base.value_class import frozen_class
from odtc.model.solution import Options, Termination


@frozen_class
class Job:
    """A model as arrays, which can be sent to another process. `A` is a csc_array, `start` a point."""

    c: np.ndarray
    offset: float
    A: Any
    row_lower: np.ndarray
    row_upper: np.ndarray
    col_lower: np.ndarray
    col_upper: np.ndarray
    integrality: np.ndarray
    options: Options
    start: np.ndarray | None = None


@frozen_class
class Incumbent:
    """A point that a running solver has found: float64 of shape (columns,)."""

    x: np.ndarray


@frozen_class
class Log:
    """A piece of a running solver's log."""

    text: str


@frozen_class
class Outcome:
    """Report of a solver at its end; `objective` and `bound` are its own claims."""

    x: np.ndarray | None = field(repr=False)
    termination: Termination
    objective: float | None = None
    bound: float | None = None
    nodes: int | None = None
    start: str = "none"
    message: str = ""
    cpu_seconds: float | None = None

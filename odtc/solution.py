"""Why a solver stopped, apart from whether it left a point."""

from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np


class Termination(StrEnum):
    OPTIMAL = "optimal"
    TIME_LIMIT = "time_limit"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    INFEASIBLE_OR_UNBOUNDED = "infeasible_or_unbounded"
    INTERRUPTED = "interrupted"
    UNKNOWN = "unknown"
    ERROR = "error"


@dataclass(frozen=True)
class Progress:
    """What a running solver last said; None where it said nothing. Seconds are wall time."""

    seconds: float
    incumbent: float | None
    bound: float | None
    nodes: int | None

    @property
    def gap(self) -> float | None:
        return gap(self.incumbent, self.bound)


@dataclass(frozen=True)
class Solution:
    """`x` is float64 of shape (columns,), or None; `objective` is c·x + offset computed from it,
    `claimed` what the solver said it is; `bound` is a lower bound (minimisation). `history` holds
    (seconds, incumbent, bound) at every change; `start` says what became of a MIP start."""

    x: np.ndarray | None = field(repr=False)
    termination: Termination
    objective: float | None = None
    bound: float | None = None
    seconds: float | None = None
    solver: str = ""
    nodes: int | None = None
    claimed: float | None = None
    start: str = "none"  # none, accepted, rejected
    history: tuple[tuple[float, float | None, float | None], ...] = field(default=(), repr=False)
    message: str = ""  # what the solver said, where the termination is `error`

    @property
    def has_solution(self) -> bool:
        return self.x is not None

    @property
    def gap(self) -> float | None:
        return gap(self.objective, self.bound)


def gap(objective: float | None, bound: float | None) -> float | None:
    """|objective - bound| / max(1, |objective|); None where either is unknown."""
    if objective is None or bound is None:
        return None
    return abs(objective - bound) / max(1.0, abs(objective))

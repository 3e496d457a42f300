"""Results and progress of a solver; why it stopped is separate from whether it returned a point."""

import math
from dataclasses import asdict, field, replace
from enum import StrEnum
from typing import Any

import numpy as np

from odtc.base.value_class import frozen_class, value_class
from odtc.model.options import Options

__all__ = [
    "EDITED",
    "NO_POINT",
    "Options",
    "Progress",
    "Racer",
    "Round",
    "Solution",
    "Termination",
    "gap",
    "is_proved",
    "proof",
]


class Termination(StrEnum):
    OPTIMAL = "optimal"
    TIME_LIMIT = "time_limit"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    INFEASIBLE_OR_UNBOUNDED = "infeasible_or_unbounded"
    INTERRUPTED = "interrupted"
    UNKNOWN = "unknown"
    ERROR = "error"

    @property
    def words(self) -> str:
        """The end in words, for a sentence: "time limit"."""
        return self.value.replace("_", " ")


NOISE = 1e-12  # a smaller objective is 0, except for the rounding of the solver's float64 values

EDITED = "the edited model"  # scope of a model file that was edited after it was built

# With these terminations a point of the solver is ignored.
NO_POINT = (Termination.INFEASIBLE, Termination.UNBOUNDED, Termination.INFEASIBLE_OR_UNBOUNDED)
STOPPED = (Termination.TIME_LIMIT, Termination.INTERRUPTED)  # after these a start replaces a point


@frozen_class
class Round:
    """Result of one round of a loop. In a loop over rows, the master has `rows` rows from earlier rounds, and its point
    violates `added` more. In a loop over columns (`what` is then not "rows"), the master has `rows` columns, and
    `added` columns with negative reduced cost were found. `incumbent` is the cost of the best tree so far, `bound` the
    best lower bound; seconds are wall time since the loop began."""

    number: int
    phase: (
        str  # "relaxation" or "whole": whether the master asked for whole numbers; "columns" or "branch": at which node
    )
    rows: int
    added: int
    incumbent: float | None
    bound: float | None
    seconds: float
    what: str = "rows"
    chosen: float | None = None  # lower bound for trees over the chosen splits only; `bound` is for all trees

    def __str__(self) -> str:
        more = "broken" if self.what == "rows" else "added"
        bound = "-" if self.bound is None else f"{round(self.bound, 6) + 0.0:.6g}"  # no -0
        chosen = "" if self.chosen is None else f" ({self.chosen:.6g} over the chosen splits)"
        tree = "" if self.incumbent is None else f"best tree {self.incumbent:.6g}, "
        return (
            f"round {self.number:>2} ({self.phase}): {self.rows:,} {self.what}, {self.added:,} more {more}, "
            f"bound {bound}{chosen}, {tree}{self.seconds:.1f} s"
        )


TRIVIAL_GAP = 10.0  # a gap this large means that no relaxation has been solved yet


@value_class
class Progress:
    """Last progress that a running solver reported; figures that it did not report are None. Seconds are wall time.
    `round` is the round of a loop that has just ended; if `rounded`, the figures are for display only; `phase` names
    the current work."""

    seconds: float
    incumbent: float | None
    bound: float | None
    nodes: int | None
    round: Round | None = None
    rounded: bool = False
    phase: str = ""

    @property
    def gap(self) -> float | None:
        return gap(self.incumbent, self.bound)

    @property
    def shown_gap(self) -> float | None:
        """The gap, or None before a solver's first relaxation is solved, because its bound is trivial until then."""
        return None if self.gap is None or self.gap >= TRIVIAL_GAP else self.gap


@value_class
class Racer:
    """One solver's part in a race: its termination, objective, bound and seconds.

    `gave` lists its contributions to the result: "proof", or "incumbent" and "bound", or nothing. If a solver was
    stopped before it returned a result, `objective` and `bound` are the last values that its log reported.
    """

    name: str
    solver: str
    termination: Termination
    objective: float | None = None
    bound: float | None = None
    seconds: float | None = None
    gave: tuple[str, ...] = ()
    message: str = ""

    @property
    def won(self) -> bool:
        return bool(self.gave)

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"termination": str(self.termination), "won": self.won, "gave": list(self.gave)}

    @classmethod
    def from_json(cls, facts: dict[str, Any]) -> "Racer":
        """Return the record of a solver from JSON; raises KeyError, TypeError or ValueError for facts of another
        kind."""
        facts = {key: value for key, value in facts.items() if key != "won"}
        return cls(**facts | {"termination": Termination(facts["termination"]), "gave": tuple(facts["gave"])})


@frozen_class
class Solution:
    """The result of a solver, whose objective was computed again from its point.

    `x` is float64 of shape (columns,), or None. `objective` is c·x + offset of `x`; `claimed` is the objective that the
    solver reported; `bound` is a lower bound (every model is a minimisation). `history` holds (seconds, incumbent,
    bound) at every change. `start` is the outcome of a MIP start. `seconds` is wall time. `cpu_seconds` is the time
    of the solver itself without the start of its process; None if it was not measured (a program, a thread of this
    process, or a process that had to be ended).
    """

    x: np.ndarray | None = field(repr=False)
    termination: Termination
    objective: float | None = None
    bound: float | None = None
    seconds: float | None = None
    solver: str = ""
    nodes: int | None = None
    claimed: float | None = None
    start: str = "none"  # none, accepted, rejected, not confirmed
    history: tuple[tuple[float, float | None, float | None], ...] = field(default=(), repr=False)
    message: str = ""  # an error message of the solver, or a doubt about its claims
    cpu_seconds: float | None = None
    race: tuple[Racer, ...] = ()  # one record for each solver, if several ran in parallel
    model: str = ""  # the identity of the model that was solved (Model.identity), "" if it is not known
    content: str = ""  # the content of the model file that was solved (Model.content), "" without a file
    scope: str = ""  # the problem that the bound is for, if not the problem as stated: "the edited model"
    # With a scope: the objective that the bound is for, if it is not the objective of the problem.
    scope_objective: float | None = None
    overall: float | None = None  # with a scope: a lower bound for the problem as stated, if one is known
    proved_by: str = ""  # the source of the proof, if not the solver
    found_by: str = ""  # the source of the tree, if not the solver
    is_unsupported: bool = False  # whether the solver's proof does not count, because its tolerances are too wide

    @property
    def has_solution(self) -> bool:
        return self.x is not None

    @property
    def gap(self) -> float | None:
        return gap(self.objective, self.bound)

    @property
    def of_all(self) -> "Solution":
        """The claims about the problem as stated: with a scope the bound is `overall`, and the termination is optimal
        only if this bound proves the objective."""
        if not self.scope:
            return self
        ended: Termination = Termination.UNKNOWN if self.termination == Termination.OPTIMAL else self.termination
        if self.scope == EDITED:
            ended = Termination.UNKNOWN
        elif is_proved(self.objective, self.overall):
            ended = Termination.OPTIMAL
        return replace(self, scope="", scope_objective=None, termination=ended, bound=self.overall, overall=None)


def gap(objective: float | None, bound: float | None) -> float | None:
    """|objective - bound| / max(1, |objective|); None if either is unknown."""
    if objective is None or bound is None:
        return None
    return abs(objective - bound) / max(1.0, abs(objective))


def gap_in_words(objective: float, bound: float) -> str:
    """Return the gap in per cent, of the objective itself if that is so small that the gap would be printed as 0."""
    off = 100 * abs(objective - bound)
    told, share = off / max(1.0, abs(objective)), off / abs(objective) if objective else 0.0
    if round(told, 2) or not round(share, 2):
        return f"gap {told:.2f} %"
    return f"gap {share:.2f} % of the objective"


def figure_text(value: float) -> str:
    """Return an objective or a bound with ten digits; a sum of a solver's values that is 0 up to rounding becomes 0."""
    return f"{0.0 if abs(value) < NOISE else value:.10g}"


def bound_text(objective: float, bound: float | None) -> str:
    """Return ", bound B, gap G" for the end of a sentence on an objective; "" without a bound."""
    return "" if bound is None else f", bound {figure_text(bound)}, {gap_in_words(objective, bound)}"


def is_proved(objective: float | None, bound: float | None) -> bool:
    """Return whether a bound proves an objective. The bound must be settled (odtc.problem.exact_objective): it equals
    the objective only if exact numbers prove that."""
    if objective is None or bound is None:
        return False
    return math.isfinite(bound) and bound >= objective


def proof(
    termination: Termination, objective: float, bound: float | None, within_gap: bool
) -> tuple[Termination, float | None, str]:
    """Return (termination, bound, doubt) of a run with a point. A solver that reports "optimal" without a bound proves
    that its objective is the bound, unless a gap was allowed: then nothing is proved, and `doubt` is a sentence on
    this."""
    if termination != Termination.OPTIMAL or bound is not None:
        return termination, bound, ""
    if not within_gap:
        return termination, objective, ""
    return Termination.UNKNOWN, None, "the solver calls it optimal within a gap, and states no bound"

"""Facts of a run from a solver's log, by the words and patterns of its module (odtc.solvers.protocols.Solver).

A driver (odtc.solvers.drivers) ends its log with one line for odtc, which is the same for every package.
"""

import re

from odtc.base.registry import Member
from odtc.base.value_class import value_class
from odtc.model.solution import Termination

DRIVEN = re.compile(rf"^odtc driver: status=({'|'.join(Termination)}) bound=(\S+)$", re.M)
NO_BOUND = 1e20  # solvers print infinity as this number or a larger one

# HiGHS writes the same log as a program and in this process.
HIGHS_BOUND = re.compile(r"^  Dual bound +(\S+)", re.M)
HIGHS_NODES = re.compile(r"^  Nodes +(\d+)", re.M)
# A model that presolve solves has no line on its start but the check of its feasibility: a line, or a table up to 1.15.
HIGHS_STARTED = re.compile(
    r"MIP start solution is feasible"
    r"|^Assessing feasibility of MIP solution .*: feasible$"
    r"|^Assessing feasibility of MIP .*\n.*\nCol .* 0 +0 +0\nInteger .* 0 +0 +0\nRow +infeasibilities +0 +0 +0$",
    re.M,
)


@value_class
class LogFacts:
    """Facts of a log; None if the log does not contain one. `bound` is a lower bound (minimisation); with
    `within_gap`, the solver calls a solution optimal although it proved it only within its gap."""

    termination: Termination | None = None
    has_point: bool | None = None
    bound: float | None = None
    within_gap: bool = False
    nodes: int | None = None
    started: bool = False


def read_log_text(module: Member, text: str) -> LogFacts:
    """Return the facts in the log `text` of this solver."""
    driven = DRIVEN.findall(text)
    nodes = _last_number(module.NODES, text)
    return LogFacts(
        Termination(driven[-1][0]) if driven else module.read_log(text),
        module.has_point(text),
        _number(driven[-1][1]) if driven else bound(module, text),
        _found(module.WITHIN_GAP, text),
        None if nodes is None else int(nodes),
        _found(module.STARTED, text),
    )


def bound(module: Member, text: str) -> float | None:
    """Return the last lower bound in a piece of a log."""
    found = _last_number(module.BOUND, text)
    return None if found is None else found - module.BOUND_ERROR


def progress_of_line(module: Member, line: str) -> tuple[float | None, float | None]:
    """Return (incumbent, bound) of a line of a running solver, rounded as printed. They are only for display, because
    a bound that was rounded up is not a bound."""
    found = module.LIVE.search(line.rstrip()) if module.LIVE is not None else None
    said = found.groupdict() if found else {}
    return _number(said.get("incumbent") or said.get("found") or ""), _number(said.get("bound") or "")


def last_words(text: str) -> str:
    """Return the last line that reports an error, otherwise the last line."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("odtc driver:")]
    cross = [
        line
        for line in lines
        if re.search(r"error|fail|cannot|unable|licen[cs]e|invalid|not found|Traceback", line, re.I)
    ]
    return (cross or lines or ["it printed nothing"])[-1].removeprefix("error: ")[:300]


def _found(pattern: re.Pattern[str] | None, text: str) -> bool:
    return pattern is not None and pattern.search(text) is not None


def _last_number(pattern: re.Pattern[str] | None, text: str) -> float | None:
    found = pattern.findall(text) if pattern is not None else []
    return _number(found[-1]) if found else None


def _number(word: str) -> float | None:
    try:
        value = float(word)
    except ValueError:
        return None
    return value if abs(value) < NO_BOUND else None

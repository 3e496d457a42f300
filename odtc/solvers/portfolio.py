"""Race of several solvers on one model; the first proof ends it.

The objective of a point is a fact, because `solve` has checked the point. A bound is a claim, and counts only if its
solver ended regularly. If a bound equals the objective of a point, the point is proved optimal, even if they are from
different solvers. If a bound is above the objective of a point, one solver is wrong, and an error is raised.
"""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from odtc.base.registry import Member
from odtc.errors import ContradictionError
from odtc.model.feasibility import ROUNDING
from odtc.model.milp import Model
from odtc.model.solution import NO_POINT, Options, Progress, Racer, Solution, Termination
from odtc.solvers import child_process
from odtc.solvers.log_buffer import Transcript
from odtc.solvers.portfolio_members import Lineup, line_up
from odtc.solvers.solve import solve_until

# Least and largest number of seconds that the other solvers have to return their results after a proof; between these,
# as long as the race took.
PARTING = (0.2, 2.0)
CROSSED = 1e-5  # relative; a bound above an objective by more than this is not a matter of rounding
PROOFS = (Termination.OPTIMAL, Termination.INFEASIBLE, Termination.UNBOUNDED)


@dataclass
class _Entrant:
    """A solver in the race, with its latest reports, and at last its Solution or the reason why it has none."""

    name: str
    solver: str
    module: Member
    options: Options
    transcript: Transcript = field(default_factory=Transcript, repr=False)
    said: Progress = field(default_factory=lambda: Progress(0.0, None, None, None))
    solution: Solution | None = None
    seconds: float | None = None
    problem: str = ""
    done: bool = False
    thread: threading.Thread | None = field(default=None, repr=False)

    @property
    def in_order(self) -> bool:
        """Return whether the solver ended regularly; only then are its claims used."""
        found = self.solution
        return (
            found is not None
            and found.termination != Termination.ERROR
            and (found.termination != Termination.OPTIMAL or found.has_solution)
        )

    @property
    def proves(self) -> bool:
        return self.in_order and self.solution.termination in PROOFS

    @property
    def objective(self) -> float | None:
        return self.solution.objective if self.solution is not None else None

    @property
    def bound(self) -> float | None:
        return self.solution.bound if self.in_order else None


def run(
    model: Model,
    solver: str,
    options: Options | None = None,
    start: np.ndarray | None = None,
    progress: Callable[[Progress], None] | None = None,
    log: Callable[[str], None] | None = None,
    logs: Callable[[str, str], None] | None = None,
    path: str | Path | None = None,
) -> Solution:
    """Return the Solution of the first proof, otherwise the best point with the best bound; its `race` has a record of
    each solver.

    `progress` gets the best incumbent and the best bound of all solvers; `logs` is called with the name of a solver
    and a piece of its log, from a thread of its own; `log` gets the whole log of the winner at the end. The other
    parameters are as in `odtc.solvers.solve.solve`. Ctrl-C gives all solvers time to return their results, a second
    Ctrl-C does not. Raises ContradictionError if a bound is above the objective of a point, SolverError if no solver is
    installed, ChoiceError for an unknown solver.
    """
    options = options or Options()
    lineup = line_up(solver, options.threads)
    began = time.monotonic()
    entrants = [
        _Entrant(name, given, module, replace(options, threads=threads))
        for name, given, module, threads in lineup.found
    ]
    heat = _Heat(model, start, path, entrants, logs)
    history = heat.run(progress, began)
    found = _verdict(heat, lineup, time.monotonic() - began, history, options)
    if log is not None:
        winner = next((racer.name for racer in found.race if racer.won), entrants[0].name)
        log(next(entrant for entrant in entrants if entrant.name == winner).transcript.text())
    _refuse_crossed(entrants, model.maximised)
    return found


class _Heat:
    """The solvers while they run, each in a thread that waits for its process."""

    def __init__(
        self,
        model: Model,
        start: np.ndarray | None,
        path: str | Path | None,
        entrants: list[_Entrant],
        logs: Callable[[str, str], None] | None,
    ) -> None:
        self.model, self.start, self.path, self.entrants, self.logs = model, start, path, entrants, logs
        self.left: float | None = None  # seconds that the solvers still have
        self.interrupted = False
        self.news = threading.Event()

    def run(self, progress: Callable[[Progress], None] | None, began: float) -> list[tuple[Any, ...]]:
        """Wait until all solvers have ended; return the history of (seconds, incumbent, bound)."""
        history, last = [], None
        for entrant in self.entrants:
            entrant.thread = threading.Thread(target=self._solve, args=(entrant,), daemon=True)
            entrant.thread.start()
        try:
            while not all(entrant.done for entrant in self.entrants):
                try:
                    self.news.wait(child_process.POLL)
                    self.news.clear()
                    said = self._said(time.monotonic() - began)
                    if replace(said, seconds=0.0) != last:
                        last = replace(said, seconds=0.0)
                        if not history or history[-1][1:] != (said.incumbent, said.bound):
                            history.append((round(said.seconds, 3), said.incumbent, said.bound))
                        if progress:
                            progress(said)
                    if self.left is None and any(entrant.proves for entrant in self.entrants):
                        self.left = min(max(PARTING[0], time.monotonic() - began), PARTING[1])
                except KeyboardInterrupt:
                    self.left = child_process.GRACE if not self.interrupted else 0.0
                    self.interrupted = True
        finally:
            self.left = 0.0
            for entrant in self.entrants:
                entrant.thread.join()
        return history

    def _solve(self, entrant: _Entrant) -> None:
        began = time.monotonic()

        def hear(progress: Progress) -> None:
            entrant.said = progress
            self.news.set()

        def listen(text: str) -> None:
            entrant.transcript.add(text)
            if self.logs:
                self.logs(entrant.name, text)

        try:
            entrant.solution = solve_until(
                lambda: self.left, self.model, entrant.solver, entrant.options, self.start, hear, listen, self.path
            )
        except Exception as problem:  # if one solver fails, the others continue
            entrant.problem = str(problem) or type(problem).__name__
        finally:
            entrant.seconds = time.monotonic() - began
            entrant.done = True
            self.news.set()

    def _said(self, seconds: float) -> Progress:
        """Return the best figures that any solver has reported."""
        said = [entrant.said for entrant in self.entrants]
        incumbents, bounds, nodes = (
            [value for one in said if (value := getattr(one, what)) is not None]
            for what in ("incumbent", "bound", "nodes")
        )
        return Progress(
            seconds, min(incumbents, default=None), max(bounds, default=None), sum(nodes) if nodes else None
        )


def _refuse_crossed(entrants: list[_Entrant], maximised: bool) -> None:
    """Raise ContradictionError if a claim of one solver contradicts a point or a bound of another."""
    own = lambda value: f"{-value if maximised else value:.10g}"  # noqa: E731 - with the sign of the model file
    beyond = "above" if maximised else "below"
    pointed = [entrant for entrant in entrants if entrant.objective is not None]
    bounded = [entrant for entrant in entrants if entrant.bound is not None]
    crossed = ""
    if pointed:
        best = min(pointed, key=lambda entrant: entrant.objective)
        has = f"{best.name} has a solution of {own(best.objective)}"
        if denied := [e for e in entrants if e.in_order and e.solution.termination == Termination.INFEASIBLE]:
            crossed = f"{denied[0].name} reports that no solution exists, but {has}"
        elif bounded:
            highest = max(bounded, key=lambda entrant: entrant.bound)
            if highest.bound > best.objective + _within(CROSSED, best.objective):
                crossed = f"{highest.name} says that nothing is {beyond} {own(highest.bound)}, but {has}"
    if not crossed and bounded:
        endless = [e for e in entrants if e.in_order and e.solution.termination == Termination.UNBOUNDED]
        if endless:
            crossed = (
                f"{endless[0].name} says that the model is unbounded, but {bounded[0].name} that nothing is "
                f"{beyond} {own(bounded[0].bound)}"
            )
    if crossed:
        raise ContradictionError(
            f"{crossed}: one of them is wrong, so this race has no result; solve with each separately and compare"
        )


def _within(tolerance: float, value: float) -> float:
    return tolerance * max(1.0, abs(value))


def _verdict(heat: _Heat, lineup: Lineup, seconds: float, history: list[tuple[Any, ...]], options: Options) -> Solution:
    """Return the common result: the proof of a solver, if there is one, otherwise the best point and the best bound."""
    entrants = sorted(heat.entrants, key=lambda entrant: (not entrant.proves, entrant.seconds))
    prover = entrants[0] if entrants[0].proves else None
    # In a tie, take the point of the solver with the proof, then the point of the fastest solver.
    pointed = min((e for e in entrants if e.objective is not None), key=lambda e: e.objective, default=None)
    if (
        prover
        and prover.objective is not None
        and prover.objective <= pointed.objective + _within(CROSSED, pointed.objective)
    ):
        pointed = prover
    bounded = max((e for e in entrants if e.bound is not None), key=lambda e: e.bound, default=None)
    if prover and prover.bound is not None and prover.bound >= bounded.bound - _within(CROSSED, bounded.bound):
        bounded = prover
    if prover and prover.solution.termination in NO_POINT:
        pointed = bounded = None  # incumbents of the others contradict this termination
    objective, bound = pointed and pointed.objective, bounded and bounded.bound
    met = None not in (objective, bound) and objective - bound <= _within(max(ROUNDING, options.gap), objective)
    if prover:
        termination = prover.solution.termination
    elif met:
        termination = Termination.OPTIMAL
    else:
        termination = _ending(heat)
    owners = {"proof": prover, "incumbent": pointed, "bound": bounded}
    gave = {e.name: tuple(what for what, owner in owners.items() if owner is e) for e in entrants}
    if prover:  # a proof includes the prover's point and bound
        gave[prover.name] = ("proof",)
    absent = [Racer(name, "", Termination.ERROR, message=why) for name, why in lineup.absent.items()]
    whose = prover or pointed or bounded
    messages = [
        f"{e.name}: {e.problem or e.solution.message}" for e in heat.entrants if e.problem or e.solution.message
    ]
    return Solution(
        pointed.solution.x if pointed else None,
        termination,
        objective,
        bound,
        seconds,
        _named(prover, pointed, bounded, heat.entrants),
        sum(e.said.nodes or 0 for e in entrants) or None,
        pointed.solution.claimed if pointed else None,
        whose.solution.start if whose else "none",
        tuple(history),
        "; ".join(messages) if termination == Termination.ERROR else "",
        race=(*(_record(e, gave[e.name]) for e in heat.entrants), *absent),
    )


def _ending(heat: _Heat) -> Termination:
    """Return why a race without a proof ended."""
    endings = [
        entrant.solution.termination if entrant.solution is not None else Termination.ERROR for entrant in heat.entrants
    ]
    if heat.interrupted:
        return Termination.INTERRUPTED
    for termination in (
        Termination.TIME_LIMIT,
        Termination.INFEASIBLE_OR_UNBOUNDED,
        Termination.INTERRUPTED,
        Termination.UNKNOWN,
    ):
        if termination in endings:
            return termination
    return Termination.ERROR


def _record(entrant: _Entrant, gave: tuple[str, ...]) -> Racer:
    found = entrant.solution
    if found is None:
        return Racer(
            entrant.name, entrant.module.NAME, Termination.ERROR, seconds=entrant.seconds, message=entrant.problem
        )
    message = "" if found.termination == Termination.INTERRUPTED else found.message  # being stopped needs no message
    objective, bound = found.objective, found.bound
    if found.termination == Termination.INTERRUPTED:  # without a result, use the last values of its log
        objective = entrant.said.incumbent if objective is None else objective
        bound = entrant.said.bound if bound is None else bound
    return Racer(entrant.name, found.solver, found.termination, objective, bound, entrant.seconds, gave, message)


def _named(
    prover: _Entrant | None, pointed: _Entrant | None, bounded: _Entrant | None, entrants: Sequence[_Entrant]
) -> str:
    if prover or (pointed is bounded and pointed):
        return (prover or pointed).solution.solver
    parts = [
        f"{owner.solution.solver} ({what})" for what, owner in (("incumbent", pointed), ("bound", bounded)) if owner
    ]
    return " and ".join(parts) or ", ".join(entrant.name for entrant in entrants)

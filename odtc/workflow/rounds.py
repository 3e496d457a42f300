"""Rounds: masters that a loop gives to any solver, one after another, as a person can follow them.

A loop (odtc.problem.formulation) solves a master, adds the constraints that its point breaks, and solves it again. The
progress of the solver on one master is shown as progress of the loop: its bound is a bound of the loop, but its
incumbent is not the cost of a tree, so the best tree of the rounds before is shown instead.
"""

import time
from glob import escape
from pathlib import Path

from odtc.base.commit import MODELS
from odtc.fileformats.model_files import FORMATS, write_model
from odtc.fileformats.solution_files import write_point
from odtc.model.milp import Model
from odtc.model.solution import Progress, Round, Solution


class Rounds:
    """Rounds of a loop. `solve(model, start=, progress=, time_limit=, path=)` is a solver with all other options set.
    The time limit, in seconds, is for all rounds together. `progress` is called with Progress records and `log`
    with text; `keep` is a Keeper, or None."""

    def __init__(self, solve, time_limit: float | None = None, progress=None, log=None, keep=None):
        self._solve, self.time_limit, self._progress, self._log, self._keep = solve, time_limit, progress, log, keep
        self._began, self._last = time.monotonic(), None

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began

    @property
    def left(self) -> float | None:
        """Seconds of the time limit that are left, at least a moment; None without a limit."""
        return None if self.time_limit is None else max(0.1, self.time_limit - self.seconds)

    def remaining(self) -> float | None:
        """Return the seconds of the time limit that are left, 0 or less when it is over; None without one."""
        return None if self.time_limit is None else self.time_limit - self.seconds

    def solve(self, model: Model, start=None, seconds: float | None = None, **how) -> Solution:
        """Return the solution of one master, within the time that is left and these seconds."""
        path = self._keep.model(model, start) if self._keep else None
        limit = min((each for each in (self.left, seconds) if each is not None), default=None)
        solution = self._solve(
            model, start=start, time_limit=limit, path=path, progress=self._progress and self._hear, **how
        )
        if self._keep:
            self._keep.solution(model, solution)
        return solution

    def in_tree(self, model: Model, cuts, start=None) -> Solution:
        """Return the same for a master whose cuts are added inside its branch-and-bound tree (`solve_with_cuts`)."""
        return self.solve(model, start, cuts=cuts)

    def tell(self, ended: Round) -> None:
        """Show a round that has ended."""
        self._last = ended
        if self._log:
            self._log(f"{ended}\n")
        if self._progress:
            self._progress(Progress(self.seconds, ended.incumbent, ended.bound, None, ended))

    def _hear(self, said: Progress) -> None:
        incumbent, bound = (self._last.incumbent, self._last.bound) if self._last else (None, None)
        bound = max((value for value in (bound, said.bound) if value is not None), default=None)
        self._progress(Progress(self.seconds, incumbent, bound, said.nodes))


class Keeper:
    """Writes every master: STEM.round01.mps, its start (STEM.round01.start.sol) and its solution
    (STEM.round01.sol); `files` are the paths. Earlier rounds of the same stem are removed first, as
    they would pass for later ones of this run."""

    def __init__(self, stem, format: str = "mps", gzip: bool = False):
        self.stem, self.format, self.files = Path(stem), format, []
        self.suffix = FORMATS.get(format).SUFFIX + (".gz" if gzip else "")
        self._number = 0
        for suffix in (*MODELS, ".sol"):
            for old in self.stem.parent.glob(f"{escape(self.stem.name)}.round[0-9][0-9]*{suffix}"):
                old.unlink()

    def model(self, model: Model, start) -> Path | None:
        """Write the model of the next round, and its start; return its path for a solver that is a program, None if
        its format renames the columns."""
        self._number += 1
        renamed = FORMATS.get(self.format).renamed(model)
        path = write_model(model, self._path(self.suffix), self.format)
        self.files.append(path)
        if start is not None:
            self.files.append(write_point(renamed, start, self._path(".start.sol"), "highs"))
        return path if renamed is model else None

    def solution(self, model: Model, solution: Solution) -> None:
        if solution.has_solution:
            self.files.append(write_point(model, solution.x, self._path(".sol"), "highs", solution.termination))

    def _path(self, suffix: str) -> Path:
        return self.stem.with_name(f"{self.stem.name}.round{self._number:02}{suffix}")

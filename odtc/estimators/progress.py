"""The progress of `fit` for a person (`verbose=1`): one line in a terminal, a bar in a notebook, and the last line only
where neither is, such as in the log of a job."""

import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from html import escape
from typing import Any

from odtc.base import phases
from odtc.base.text import count_of, show_figure, visible
from odtc.model.solution import Progress
from odtc.workflow.reporting import ChosenSolver, Hearing, Reporter

# Seconds between two changes of the line: a terminal shows few more, and a notebook sends each to a browser.
EVERY_SECONDS = 0.2
CLEARED = "\r\x1b[K"  # the line of a terminal, empty again


class ShownProgress(Reporter):
    """Reporter that shows the progress of one `fit`, and passes it on.

    Parameters
    ----------
    name : str
        The estimator.
    verbose : int
        0 shows nothing, 1 the line or the bar, 2 also the log of the solver.
    progress : callable or None
        Takes Progress records.
    limit : float or None
        The time limit in seconds.
    unit : float
        The cost of one unit of the sums of the search, as `Units.cost`.
    """

    def __init__(
        self, name: str, verbose: int, progress: Callable[[Progress], None] | None, limit: float | None, unit: float
    ) -> None:
        self.name, self.verbose, self.progress, self.limit, self.unit = name, int(verbose), progress, limit, unit
        self.began, self._shown_at, self._phase = time.monotonic(), 0.0, ""
        self._said: Progress | None = None
        self._display: Any = _notebook() if self.verbose else None
        self._in_terminal = bool(self.verbose) and self._display is None and sys.stderr.isatty()

    @contextmanager
    def solving(self, solver: ChosenSolver) -> Iterator[Hearing]:
        yield Hearing(self._hear if self.verbose or self.progress else None, self._log if self.verbose > 1 else None)

    @contextmanager
    def showing(self) -> Iterator["ShownProgress"]:
        """Inside, the phases of the work are shown, too."""
        if not self.verbose:
            yield self
            return
        try:
            with phases.heard(self._begin, beside=True):
                yield self
        except BaseException:
            self._put(CLEARED * self._in_terminal)
            raise

    def end(self, claim: str, objective: float | None, bound: float | None, leaves: int) -> None:
        """Show the last line, which stays."""
        costs = (("objective", objective), ("bound", bound))
        figures = [f"{name} {show_figure(cost * self.unit)}" for name, cost in costs if cost is not None]
        figures += [
            count_of(leaves, "leaf", ""),
            f"{time.monotonic() - self.began:.1f} s",
        ]
        text = f"{self.name}: {claim} · {' · '.join(figures)}"
        if self._display is not None:
            self._display(_html(1.0, text))
        else:
            self._put(f"{CLEARED * self._in_terminal}{visible(text)}\n")

    def line(self) -> str:
        """Return the line of this moment, such as "14/30 s · best 2886 · bound 360 · gap 87 %"."""
        seconds = time.monotonic() - self.began
        words = [f"{seconds:.0f}{f'/{self.limit:g}' if self.limit is not None else ''} s"]
        said = self._said
        if said is None:
            return " · ".join(filter(None, [*words, self._phase]))
        words += [f"best {show_figure(said.incumbent)}"] if said.incumbent is not None else []
        if said.shown_gap is not None and said.bound is not None:
            words += [f"bound {show_figure(said.bound)}", f"gap {100 * said.shown_gap:.0f} %"]
        return " · ".join(filter(None, [*words, said.phase]))

    def _hear(self, said: Progress) -> None:
        scaled = lambda value: None if value is None else value * self.unit  # noqa: E731
        self._said = replace(said, incumbent=scaled(said.incumbent), bound=scaled(said.bound))
        if self.progress is not None:
            self.progress(self._said)
        self._show()

    def _begin(self, phase: phases.Phase) -> None:
        self._phase = str(phase)
        self._show()

    def _log(self, text: str) -> None:
        self._put(CLEARED * self._in_terminal + text)

    def _show(self) -> None:
        now = time.monotonic()
        if now - self._shown_at < EVERY_SECONDS:
            return
        self._shown_at = now
        if self._display is not None:
            share = None if self.limit is None else min(1.0, (now - self.began) / max(self.limit, EVERY_SECONDS))
            self._display(_html(share, f"{self.name}: {self.line()}"))
        elif self._in_terminal:
            width = shutil.get_terminal_size().columns - 1
            self._put(CLEARED + visible(f"{self.name}: {self.line()}")[:width])

    @staticmethod
    def _put(text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()


def _notebook() -> Callable[[str], None] | None:
    """Return a function that shows HTML in the output of a notebook's cell, in place of its previous output; None
    outside a notebook."""
    interactive = sys.modules.get("IPython")
    shell = interactive.get_ipython() if interactive is not None else None
    if getattr(shell, "kernel", None) is None:
        return None
    from IPython.display import HTML, display

    place = display(HTML(""), display_id=True)
    return None if place is None else lambda page: place.update(HTML(page))


def _html(share: float | None, text: str) -> str:
    """Return a bar that is filled to a share, or for work without a known end, and a text after it."""
    value = "" if share is None else f' value="{share:.3f}"'
    return f'<progress max="1"{value}></progress> <span>{escape(visible(text))}</span>'

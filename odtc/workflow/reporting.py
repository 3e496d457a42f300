"""Those who listen to a run: a reporter receives its progress and its remarks, and may listen to a solver."""

from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import field

from odtc.base.value_class import value_class
from odtc.model.solution import Progress


@value_class
class ChosenSolver:
    """The chosen solver: the name in words, the names of those in a race (none without one), and remarks on those left
    out."""

    label: str
    racers: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@value_class
class Hearing:
    """Listeners to a solver while it runs: `progress` takes Progress records, `log` pieces of its log, and `logs`
    pieces of the logs of a race after the solver's name; None for no listener."""

    progress: Callable[[Progress], None] | None = None
    log: Callable[[str], None] | None = None
    logs: Callable[[str, str], None] | None = None


class Reporter:
    """Reporter that ignores everything; the base of all others."""

    def say(self, sentence: str) -> None:
        """Take a sentence about the run."""

    @contextmanager
    def reading(self):
        """Within it the data is read and encoded."""
        yield

    @contextmanager
    def solving(self, solver: ChosenSolver):
        """Yield the listener to the compilation and the solution of the model, which happen inside."""
        yield Hearing()


@value_class
class CallbackReporter(Reporter):
    """Reporter that calls `progress` with Progress records, and `log` with pieces of the solver's log; it stores the
    sentences about the run in `said`."""

    progress: Callable[[Progress], None] | None = None
    log: Callable[[str], None] | None = None
    said: list[str] = field(default_factory=list)

    def say(self, sentence: str) -> None:
        self.said.append(sentence)

    @contextmanager
    def solving(self, solver: ChosenSolver):
        yield Hearing(self.progress, self.log)


@contextmanager
def listening(progress, logs):
    """Combine two contexts that yield a Hearing each: a reporter's, which shows the progress, and a sink's."""
    with progress as one, logs as other:
        yield Hearing(one.progress, _both(one.log, other.log), _both(one.logs, other.logs))


def _both(*hearers):
    hearers = [hearer for hearer in hearers if hearer is not None]
    if not hearers:
        return None

    def hear(*words) -> None:
        for hearer in hearers:
            hearer(*words)

    return hear

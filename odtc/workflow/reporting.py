"""Who hears of a run while it goes on."""

from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field

from odtc.model.solution import Progress
from odtc.workflow.solving import ChosenSolver, Hearing


class Reporter:
    """Hears nothing, and says nothing; the base of those that do."""

    def say(self, sentence: str) -> None:
        """Takes a sentence about the run."""

    @contextmanager
    def reading(self):
        """Within it the data is read and encoded."""
        yield

    @contextmanager
    def solving(self, solver: ChosenSolver):
        """Within it the model is compiled and solved; yields who hears of that."""
        yield Hearing()


@dataclass(frozen=True)
class CallbackReporter(Reporter):
    """Calls `progress` with Progress records, and `log` with pieces of the solver's log; keeps the sentences about the
    run as `said`."""

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
    """Hearing of two contexts that yield Hearing each: a reporter's, which shows the progress, and a sink's."""
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

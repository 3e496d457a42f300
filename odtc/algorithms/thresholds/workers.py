"""Processes that work on one task together, if the run was given some: a search hands them parts of its work.

    with team(workers):
        ...

No function inside takes an argument for it. A team keeps what all parts of one piece of work need (`Team.begin`), so
that it is sent once to each process and not with every part.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from odtc.base import threads
from odtc.errors import OdtcError

_team: ContextVar["Team | None"] = ContextVar("odtc workers", default=None)


class Team:
    """Processes of this machine, which are started when the first work is begun.

    Parameters
    ----------
    size : int, 2 or more
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._pool: Any = None
        self._work: object = None

    def begin(self, work: object, ready: Callable[[Any], None], what: Any) -> None:
        """Each process calls `ready(what)`, before its first part of this work; nothing is done if that was the last
        work begun."""
        if self._work is work:
            return
        self.end()
        from joblib.externals.loky import ProcessPoolExecutor

        # Not forked: threads of libraries, which a forked process would wait for, do not live on in one.
        self._pool = ProcessPoolExecutor(self.size, initializer=ready, initargs=(what,))
        self._work = work

    def results(self, part: Callable[[Any], Any], tasks: Sequence[Any], check: Callable[[], None]) -> list[Any]:
        """`part(task)` of each task, in their order.

        Parameters
        ----------
        part : function that can be pickled by its name
        tasks : sequence
        check : called again and again meanwhile; if it raises, the processes are ended

        Returns
        -------
        list

        Raises
        ------
        OdtcError
            If a process was killed; and what `check` and `part` raise.
        """
        from joblib.externals.loky.process_executor import BrokenProcessPool

        try:
            waiting = [self._pool.submit(part, task) for task in tasks]
            return threads.results(waiting, check)
        except BrokenProcessPool:
            self.end()
            raise OdtcError(
                "a process of --workers was killed, or had too little memory: use fewer workers, or none"
            ) from None
        except BaseException:
            self.end()
            raise

    def end(self) -> None:
        """Ends the processes, whatever they do."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, kill_workers=True)
        self._pool = self._work = None


@contextmanager
def team(workers: int) -> Iterator[None]:
    """Inside, `present` is a team of so many processes, which end with the block; none for 1."""
    made = Team(workers) if workers > 1 else None
    token = _team.set(made)
    try:
        yield
    finally:
        _team.reset(token)
        if made is not None:
            made.end()


def present() -> Team | None:
    """The team that a search may hand parts of its work to."""
    return _team.get()

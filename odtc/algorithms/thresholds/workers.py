"""Team of processes for one task: a search hands them parts of its work.

    with team(workers, cluster):
        ...

Functions inside the block get the team from `present`, so they need no argument for it. The team consists of processes
of this machine, or of the workers of a Dask cluster. The input that all parts of a task share is sent to each process
once (`Team.begin`), not with every part.
"""

import contextlib
import itertools
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from odtc.base import cluster as clusters
from odtc.base import deadline, system, threads
from odtc.base.cluster import ATTEMPTS, RETRIES
from odtc.base.wording import option
from odtc.errors import ChoiceError, OdtcError

GIVEN_UP = "lost again and again, the proof continues in this process only"
LOOK = 2.0  # seconds between two checks by a cluster worker whether its part is still wanted

_team: ContextVar["Team | None"] = ContextVar("odtc workers", default=None)
_numbers = itertools.count()
_here = threading.local()  # per thread: the result of `ready`, and the `work` that it belongs to
_sent: list[Any] = []  # the input shared by all parts, which a process of this machine receives at its start


class TeamLost(OdtcError):
    """Processes ended before their parts did: they were killed, or their machine was lost."""


class Team:
    """Team of processes of this machine, which start when the first task begins.

    Parameters
    ----------
    size : int, 2 or more
    say : function, called with a sentence if processes were lost

    Attributes
    ----------
    cells : int, minimum entries times columns of a node for which sending a part pays, if the part is one split with
        trees of depth 2 below it
    given_up : bool, True after too many losses in a row: no more work may be handed to the team
    """

    cells = 100_000  # about 10 ms of compiled kernels; sending a part and its result takes 2 ms

    def __init__(self, size: int, say: Callable[[str], None] = lambda sentence: None) -> None:
        self.size, self.given_up = size, False
        self._say, self._losses = say, 0
        self._pool: Any = None
        self._work: object = None

    def begin(self, work: object, ready: Callable[[Any], Any], what: Any) -> None:
        """Begin a task: each process calls `ready(what)` before its first part. If this task was the last one begun, do
        nothing.

        Parameters
        ----------
        work : object that identifies the task
        ready : function that can be pickled by its name; its return value is the first argument of each part
        what : its argument

        Raises
        ------
        TeamLost
        """
        if self._work is work:
            return
        self.end()
        try:
            self._start((f"{os.getpid()}-{next(_numbers)}", ready, what))
        except self._lost() as problem:
            raise self._said(problem) from None
        self._work = work

    def submit(self, part: Callable[[Any, Any], Any], task: Any) -> "Future[Any]":
        """Start `part(prepared, task)` in some process, with `prepared` the result of `ready`; `part` must be picklable
        by its name. If processes were lost, `done` reports it."""
        try:
            return self._submit(part, task)
        except self._lost() as problem:
            failed: Future[Any] = Future()
            failed.set_exception(problem)
            return failed

    def done(self, waiting: Mapping["Future[Any]", Any], check: Callable[[], None]) -> list["Future[Any]"]:
        """Wait until at least one part has ended, and return all that have, in the order in which they were given.

        Raises
        ------
        TeamLost
            If a process was killed.
        OdtcError
            Raised by a part, or by `check`, which is called repeatedly during the wait. The processes are ended then.
        """
        try:
            while not (ended := wait(waiting, threads.LOOK, FIRST_COMPLETED).done):
                check()
            try:
                for future in ended:
                    future.result()
            except self._lost() as problem:
                raise self._said(problem) from None
        except BaseException:
            self.end()
            raise
        self._losses = 0
        return [future for future in waiting if future in ended]

    def lose(self, problem: TeamLost) -> None:
        """Record that processes were lost. The task may begin again afterwards, unless the team is given up."""
        self.end()
        self._losses += 1
        self.given_up = self._losses > ATTEMPTS
        self._say(f"{problem}: {GIVEN_UP if self.given_up else 'its parts are handed out again'}")

    def end(self) -> None:
        """End the processes, even in the middle of a part."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, kill_workers=True)
        self._pool = self._work = None

    def _start(self, what):
        from joblib.externals.loky import ProcessPoolExecutor

        # Not forked, because a forked process may wait for threads of libraries, which a fork does not copy.
        self._pool = ProcessPoolExecutor(self.size, initializer=_keep, initargs=(what,))

    def _submit(self, part, task):
        return self._pool.submit(_run, part, task)

    def _lost(self) -> tuple:
        from joblib.externals.loky.process_executor import BrokenProcessPool

        return (BrokenProcessPool,)

    def _said(self, problem) -> TeamLost:
        return TeamLost(f"a process of {option('workers')} was killed, or had too little memory")


class ClusterTeam(Team):
    """Team of the workers of a Dask cluster.

    Parameters
    ----------
    cluster : Cluster
    say : function, as in Team

    Raises
    ------
    ChoiceError
        If the cluster has no workers.
    """

    cells = 500_000  # sending a part through the scheduler takes 10 ms and more

    def __init__(self, cluster: clusters.Cluster, say: Callable[[str], None] = lambda sentence: None) -> None:
        self._cluster, self._client = cluster, None
        super().__init__(0, say)
        try:
            self._connect()
        except TimeoutError:
            self.close()
            raise ChoiceError(
                f"{option('cluster')}: expected workers at {cluster.address}, got none within {clusters.PATIENCE} "
                f"seconds; start some: dask worker {cluster.address}"
            ) from None

    def _connect(self) -> None:
        left = deadline.seconds_left()
        patience = clusters.RETURN_SECONDS if left is None else max(0.1, min(clusters.RETURN_SECONDS, left))
        self._client = self._cluster.client(patience)
        self._client.wait_for_workers(1, timeout=patience)
        self.size = sum(self._client.nthreads().values())

    def _start(self, what):
        if self._client is None:
            self._connect()
        # Each worker fetches the input once, including workers that join later.
        self._what = self._client.scatter(what, broadcast=True, hash=False)
        self._name = what[0]
        self._pool = self._client.get_executor(pure=False, retries=RETRIES)

    def _submit(self, part, task):
        return self._pool.submit(_run_if_wanted, part, task, self._what)

    def end(self) -> None:
        """Cancel the parts that have not begun; running parts end at their next check."""
        if self._pool is not None:
            with contextlib.suppress(*self._lost()):
                clusters.flag(self._name, self._client).set()
                self._pool.shutdown(wait=False)
        self._pool = self._work = None

    def lose(self, problem: TeamLost) -> None:
        """Record that workers were lost, and disconnect. The next task connects again, for example to a restarted
        scheduler."""
        super().lose(problem)
        self._leave()

    def close(self) -> None:
        """Leave the cluster."""
        self.end()
        self._leave()

    def _leave(self):
        if self._client is not None:
            with contextlib.suppress(*self._lost()):
                self._client.close()
            self._client = None

    def _lost(self) -> tuple:
        return clusters.lost()

    def _said(self, problem) -> TeamLost:
        return TeamLost(f"the cluster at {self._cluster.address} was lost during a proof ({type(problem).__name__})")


class _Unwanted(Exception):
    """No process waits for this part any longer."""


def _made_ready(what):
    """Return the result of `ready` for the common input of all parts, once in each thread."""
    work, ready, argument = what
    if getattr(_here, "work", None) != work:
        _here.ready, _here.work = ready(argument), work
    return _here.ready


def _keep(what):
    system.end_with_parent()
    _sent[:] = [what]


def _run(part, task):
    return part(_made_ready(_sent[-1]), task)


def _run_if_wanted(part, task, what):
    ended, seen = clusters.flag(what[0]), [time.monotonic()]

    def look():
        if time.monotonic() > seen[0] + LOOK:
            seen[0] = time.monotonic()
            if ended.is_set():
                raise _Unwanted("the proof has ended")

    with looking(look):
        return part(_made_ready(what), task)


_look: ContextVar[Callable[[], None] | None] = ContextVar("odtc part", default=None)


@contextmanager
def looking(look: Callable[[], None]) -> Iterator[None]:
    """Make `wanted` call `look` inside the block; `look` raises to end the part."""
    token = _look.set(look)
    try:
        yield
    finally:
        _look.reset(token)


def wanted() -> None:
    """Raise the exception of `look` if no process waits any longer for the part of this thread."""
    look = _look.get()
    if look is not None:
        look()


@contextmanager
def team(
    workers: int, cluster: str | None = None, say: Callable[[str], None] = lambda sentence: None
) -> Iterator[None]:
    """Provide a team as `present` inside the block: `workers` processes, which end with the block, or the workers of a
    cluster. With one worker and no cluster, `present` returns None.

    Parameters
    ----------
    workers : int
    cluster : str or None, as in odtc.base.cluster.connected
    say : function, as in Team

    Raises
    ------
    ChoiceError
        As odtc.base.cluster.connected.
    """
    with contextlib.ExitStack() as stack:
        made: Team | None = None
        if cluster is not None:
            made = ClusterTeam(stack.enter_context(clusters.connected(cluster, workers, say)), say)
            stack.callback(made.close)
        elif workers > 1:
            made = Team(workers, say)
            stack.callback(made.end)
        token = _team.set(made)
        try:
            yield
        finally:
            _team.reset(token)


def present() -> Team | None:
    """Return the team of the enclosing `team` block; None without a team."""
    return _team.get()

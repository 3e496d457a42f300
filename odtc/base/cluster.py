"""A Dask cluster (the extra `cluster`): one that runs somewhere, or one that is started on this machine."""

import contextlib
import os
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from odtc.base.wording import option
from odtc.errors import ChoiceError

LOCAL = "local"  # in place of an address
FIRST = 10  # seconds in which a scheduler has to answer at first
PATIENCE = 30  # seconds in which one that is lost may come back
HELP = "A Dask scheduler; local starts one with {} workers."  # of the option in commands
METAVAR = "ADDRESS|local"

_present: ContextVar["Cluster | None"] = ContextVar("odtc cluster", default=None)


@dataclass(frozen=True)
class Cluster:
    """A scheduler that has answered.

    Attributes
    ----------
    address : str
    dashboard : str, the address of its pages
    direct : bool, whether results come from the workers themselves, not by way of the scheduler; they are all here
    """

    address: str
    dashboard: str
    direct: bool = False

    def client(self, patience: float = PATIENCE) -> Any:
        """A new distributed.Client, a context manager. Raises OSError if the scheduler does not answer within so many
        seconds of `patience`."""
        from distributed import Client

        direct = self.direct or None
        return Client(  # type: ignore[no-untyped-call]
            self.address, timeout=patience, set_as_default=False, direct_to_workers=direct
        )


@contextlib.contextmanager
def connected(address: str, workers: int) -> Iterator[Cluster]:
    """The cluster at an address, which is `present` inside; one that was started here ends with the block.

    Parameters
    ----------
    address : str
        Of a scheduler, such as tcp://host:8786; "local" starts one on this machine.
    workers : int
        Worker processes of a local cluster, one thread each; -1 for one a core.

    Raises
    ------
    ChoiceError
        Without the package, or if nothing answers at the address.
    """
    if find_spec("distributed") is None:
        raise ChoiceError(
            f"{option('cluster')}: expected the package dask[distributed]; install it: pip install 'odtc[cluster]'"
        )
    direct = False
    with contextlib.ExitStack() as stack:
        if address == LOCAL:
            started = stack.enter_context(_started(workers))
            address, direct = started.scheduler_address, True
        try:
            with Cluster(address, "").client(FIRST) as client:
                found = Cluster(address, client.dashboard_link, direct)
        except (OSError, ValueError) as problem:
            raise ChoiceError(
                f"{option('cluster')}: expected the address of a Dask scheduler, as tcp://host:8786, got {address!r}: "
                f"{problem}"
            ) from None
        token = _present.set(found)
        try:
            yield found
        finally:
            _present.reset(token)


def _started(workers: int) -> Any:
    """A cluster of worker processes on this machine, a context manager; -1 for one a core."""
    import dask
    from distributed import LocalCluster

    cores = os.cpu_count() or 1
    several = cores if workers < 0 else workers
    own = {
        # Together the workers have as many threads of polars as there are cores.
        "nanny.pre-spawn-environ.POLARS_MAX_THREADS": max(1, cores // several),
        # Dask's own order to give memory back at once has each array taken from the system anew: that costs more than
        # to fill it.
        "nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": None,
        # Every 10 ms it looks at what a worker does, for a page of its dashboard: an eighth of the seconds of a read.
        "worker.profile.interval": "1s",
        # It looks 50 times a second whether it still answers, and 10 times at its memory: 11 % of a core, in all
        # processes of a cluster that does nothing, as long as they run.
        "admin.tick.interval": "500ms",
        "worker.memory.monitor-interval": "500ms",
        "admin.system-monitor.interval": "2s",
    }
    with dask.config.set({f"distributed.{name}": value for name, value in own.items()}):
        return LocalCluster(n_workers=several, threads_per_worker=1, dashboard_address=":0")  # type: ignore[no-untyped-call]


def lost() -> tuple[type[BaseException], ...]:
    """What is raised if the scheduler, or a worker again and again, is lost."""
    from concurrent.futures import CancelledError

    from distributed.scheduler import KilledWorker

    return OSError, CancelledError, KilledWorker


def as_they_end(client: Any, futures: Iterable[Any]) -> Iterator[Any]:
    """Futures of a client, as they end."""
    from distributed import as_completed

    yield from as_completed(list(futures), loop=client.loop)  # type: ignore[no-untyped-call]


def flag(name: str, client: Any = None) -> Any:
    """An event that all of a cluster see, `set` and `is_set`; in a task of a worker without `client`."""
    from distributed import Event, get_client

    return Event(name, client=client or get_client())  # type: ignore[no-untyped-call]


def present() -> Cluster | None:
    """The cluster whose workers may read a file, if the run was given one."""
    return _present.get()

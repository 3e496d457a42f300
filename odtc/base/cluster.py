"""A Dask cluster (the extra `cluster`): one that runs somewhere, or one that is started on this machine."""

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from typing import Any

from odtc.base.value_class import frozen_class
from odtc.base.wording import option
from odtc.errors import ChoiceError

LOCAL = "local"  # in place of an address
HERE = "127.0.0.1"  # where one that is started here listens
OPEN = (
    "note: until this ends, every user of this machine can connect to its workers and run code as you, because the "
    "package cryptography, which makes keys, is not installed; on a machine that you share leave out {}"
)
ANSWER_SECONDS = 10  # seconds in which a scheduler has to answer at first
RETURN_SECONDS = 30  # seconds in which one that is lost may come back
HELP = "Address of the scheduler; local starts a cluster with {} workers."  # of the option in commands
METAVAR = "ADDRESS|local"

RETRIES = 3  # of a task whose worker was lost
ATTEMPTS = 3  # losses of processes in a row, with no task finished in between, after which one more ends the work


@frozen_class
class Cluster:
    """A scheduler that has answered.

    Attributes
    ----------
    address : str
    dashboard : str, the address of its pages; "" without any
    direct : bool, whether results come from the workers themselves, not by way of the scheduler; they are all here
    keys : distributed.Security or None, the keys that everybody needs who connects to it
    """

    address: str
    dashboard: str
    direct: bool = False
    keys: Any = None

    def client(self, patience: float = RETURN_SECONDS) -> Any:
        """Return a new distributed.Client, a context manager. Raises OSError if the scheduler does not answer within
        `patience` seconds."""
        from distributed import Client

        client, direct = Client.__new__(Client), self.direct or None
        try:
            client.__init__(  # type: ignore[misc]
                self.address, timeout=patience, set_as_default=False, direct_to_workers=direct, security=self.keys
            )
        except BaseException:
            # Otherwise the collector closes it at some time, for example while another client starts, and both then
            # wait forever for one lock of distributed.
            client.__del__()  # type: ignore[no-untyped-call]
            raise
        return client


@contextlib.contextmanager
def connected(address: str, workers: int, say: Callable[[str], object] = lambda sentence: None) -> Iterator[Cluster]:
    """Enter the cluster at an address; one that was started here ends with the block.

    Parameters
    ----------
    address : str
        Of a scheduler, such as tcp://host:8786; "local" starts one on this machine.
    workers : int
        Worker processes of a local cluster, one thread each; -1 for one a core.
    say : function
        Receives a sentence if others can connect to a cluster that is started here.

    Raises
    ------
    ChoiceError
        Without the package, or if nothing answers at the address.
    """
    if find_spec("distributed") is None:
        raise ChoiceError(
            f"{option('cluster')}: expected the package dask[distributed]; install it: pip install 'dask[distributed]' "
            "cryptography"
        )
    found = Cluster(address, "")
    with contextlib.ExitStack() as stack:
        if address == LOCAL:
            started = stack.enter_context(_started(workers))
            found = Cluster(started.scheduler_address, "", True, started.security)
            if not started.security.require_encryption:
                say(OPEN.format(option("cluster")))
        try:
            with found.client(ANSWER_SECONDS) as client:
                if address != LOCAL:
                    found = Cluster(address, client.dashboard_link)
        except (OSError, ValueError, TypeError) as problem:  # the last for tls:// without keys
            raise ChoiceError(
                f"{option('cluster')}: expected the address of a Dask scheduler, as tcp://host:8786, got {address!r}: "
                f"{problem}"
            ) from None
        yield found


def _started(workers: int) -> Any:
    """Return a cluster of worker processes on this machine, a context manager; -1 for one a core.

    It listens on 127.0.0.1 only, without any pages, and lets in who has the keys made for this run; without the package
    `cryptography` there are none.
    """
    import dask
    from distributed import LocalCluster
    from distributed.security import Security

    cores = os.cpu_count() or 1
    several = cores if workers < 0 else workers
    own: dict[str, Any] = {
        # Together the workers have as many threads of polars as there are cores.
        "nanny.pre-spawn-environ.POLARS_MAX_THREADS": max(1, cores // several),
        # Dask's own setting to return memory at once makes each array request it from the system again: that costs
        # more than to fill it.
        "nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": None,
        # Every 10 ms it samples a worker's stack, for a page of its dashboard: an eighth of the seconds of a read.
        "worker.profile.interval": "1s",
        # It looks 50 times a second whether it still answers, and 10 times at its memory: 11 % of a core, in all
        # processes of a cluster that does nothing, as long as they run.
        "admin.tick.interval": "500ms",
        "worker.memory.monitor-interval": "500ms",
        "admin.system-monitor.interval": "2s",
        "scheduler.http.routes": [],
        "worker.http.routes": [],
    }
    keys = Security.temporary() if find_spec("cryptography") else None  # type: ignore[no-untyped-call]
    here: dict[str, Any] = {"host": HERE, "security": keys, "worker_dashboard_address": f"{HERE}:0"}
    here["scheduler_kwargs"] = {"dashboard": False, "dashboard_address": f"{HERE}:0"}
    with dask.config.set({f"distributed.{name}": value for name, value in own.items()}):
        return LocalCluster(n_workers=several, threads_per_worker=1, dashboard_address=None, **here)  # type: ignore[no-untyped-call]


def lost() -> tuple[type[BaseException], ...]:
    """Return the exception for a scheduler that is lost, or for workers that are lost again and again."""
    from concurrent.futures import CancelledError

    from distributed.scheduler import KilledWorker

    return OSError, CancelledError, KilledWorker


def as_they_end(client: Any, futures: Iterable[Any]) -> Iterator[Any]:
    """Yield the futures of a client as they end."""
    from distributed import as_completed

    yield from as_completed(list(futures), loop=client.loop)  # type: ignore[no-untyped-call]


def flag(name: str, client: Any = None) -> Any:
    """Return an event, with `set` and `is_set`, that a whole cluster shares; a task of a worker needs no `client`."""
    from distributed import Event, get_client

    return Event(name, client=client or get_client())  # type: ignore[no-untyped-call]

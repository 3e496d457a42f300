"""Tasks of a study on the workers of a Dask cluster (the extra `cluster`): one that runs, or one started here."""

import contextlib
import time
from collections.abc import Iterator, Sequence
from importlib.util import find_spec

from odtc.errors import ChoiceError
from odtc.evaluation.studies.engine import Pool, Store, Task, WorkersLost, finish

PATIENCE = 30  # seconds in which a scheduler that is lost may come back
RETRIES = 3  # of a task whose worker was lost


@contextlib.contextmanager
def dask(address: str, workers: int) -> Iterator[tuple[Pool, str]]:
    """A pool on a Dask cluster, and the address of its dashboard.

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
        raise ChoiceError("--cluster: expected the package dask[distributed]; install it: pip install 'odtc[cluster]'")
    from distributed import Client, LocalCluster

    with contextlib.ExitStack() as stack:
        if address == "local":
            several = None if workers < 0 else workers
            cluster = LocalCluster(n_workers=several, threads_per_worker=1, dashboard_address=":0")
            stack.enter_context(cluster)
            address = cluster.scheduler_address
        try:
            with Client(address, timeout=PATIENCE, set_as_default=False) as client:
                dashboard = client.dashboard_link
        except (OSError, ValueError) as problem:
            raise ChoiceError(
                f"--cluster: expected the address of a Dask scheduler, as tcp://host:8786, got {address!r}: {problem}"
            ) from None
        yield lambda tasks, store: _on(address, tasks, store), dashboard


def _on(address: str, tasks: Sequence[Task], store: Store | None) -> Iterator[tuple[int, dict]]:
    from concurrent.futures import CancelledError

    from distributed import Client, as_completed
    from distributed.scheduler import KilledWorker

    lost = (OSError, CancelledError, KilledWorker)
    try:
        with Client(address, timeout=PATIENCE, set_as_default=False) as client:
            sent = {
                client.submit(finish, task, store, pure=False, retries=RETRIES): at for at, task in enumerate(tasks)
            }
            for future in as_completed(list(sent), loop=client.loop):
                yield sent[future], future.result()
    except lost as problem:
        time.sleep(1)  # a scheduler that is started again needs a moment
        raise WorkersLost(f"the cluster at {address} was lost ({type(problem).__name__})") from None

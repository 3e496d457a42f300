"""Tasks of a study on the workers of a Dask cluster (the extra `cluster`): one that runs, or one started here."""

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence

from odtc.base.cluster import RETRIES, Cluster, as_they_end, connected, lost
from odtc.base.wording import as_here
from odtc.errors import ChoiceError
from odtc.evaluation.studies.engine import (
    BUNDLES_PER_PROCESS,
    Pool,
    Store,
    Task,
    WorkersLost,
    bundles,
    finish_in_turn,
    local,
)


@contextlib.contextmanager
def dask(address: str, workers: int, say: Callable[[str], None] = lambda sentence: None) -> Iterator[tuple[Pool, str]]:
    """Yield a pool on a Dask cluster, and the address of its dashboard; parameters and errors as in
    odtc.base.cluster.connected."""
    with connected(address, workers, say) as cluster:
        yield lambda tasks, store: _on(cluster, tasks, store), cluster.dashboard


def expect_jobs(jobs: int) -> None:
    """Raise ChoiceError for no process at all."""
    if not jobs:
        raise ChoiceError("expected --jobs as a number of fits at once, or -1 for all cores, got 0")


@contextlib.contextmanager
def pool_of(jobs: int, address: str | None, say: Callable[[str], None]) -> Iterator[Pool]:
    """Yield the pool that the options of a command request: `jobs` processes, or a cluster, whose dashboard is printed
    if it has one.

    Raises
    ------
    ChoiceError
        As `expect_jobs` and `dask`.
    """
    expect_jobs(jobs)
    if address is None:
        yield local(jobs)
        return
    with dask(address, jobs, say) as (pool, dashboard):
        if dashboard:
            say(f"dashboard: {dashboard}")
        yield pool


def _on(cluster: Cluster, tasks: Sequence[Task], store: Store | None) -> Iterator[tuple[int, dict]]:
    try:
        with cluster.client() as client:
            together = bundles(tasks, BUNDLES_PER_PROCESS * sum(client.nthreads().values()))
            sent = {
                client.submit(
                    as_here(finish_in_turn), [tasks[at] for at in places], store, pure=False, retries=RETRIES
                ): places
                for places in together
            }
            for future in as_they_end(client, sent):
                yield from zip(sent[future], future.result())
    except lost() as problem:
        time.sleep(1)  # a scheduler that is started again needs a moment
        raise WorkersLost(f"the cluster at {cluster.address} was lost ({type(problem).__name__})") from None

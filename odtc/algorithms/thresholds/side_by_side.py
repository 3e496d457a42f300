"""Intervals of cuts that are halved in parallel, in threads: trees of depth 2 on the sides of several cuts at once.

The cuts of one round are evaluated against the same best tree and the same memory, and their results are merged in
their order. So a search takes the same way with any number of threads. A round pays if the kernels, which do not need
Python's lock, take far longer than the Python around them: on nodes with many entries and columns.
"""

from collections.abc import Callable
from copy import copy

from odtc.base import threads

ROUND = 8  # cuts that are evaluated at once, whatever the number of threads
CELLS = 10_000  # entries times columns of a node, from which on there are rounds


class _Over:
    """Memory with the additions and improvements of one task; the memory below stays unchanged."""

    def __init__(self, below: dict):
        self.below, self.own = below, {}

    def get(self, key):
        known = self.own.get(key)
        if known is None and (there := self.below.get(key)) is not None:
            known = self.own[key] = copy(there)
        return known

    def __setitem__(self, key, known):
        self.own[key] = known


def pays(search, node, height: int) -> bool:
    """Return whether the intervals of a node are halved in rounds: trees of depth 2 over many ranks, by compiled
    kernels."""
    ranked = search.ranked
    if height != 3 or ranked.by_splits or search.relaxed is not None:
        return False
    return node.n * len(ranked.columns) >= CELLS


def evaluated(search, tasks: list[tuple]) -> list[tuple]:
    """Return the results of `search._evaluate` for tasks, which are its arguments.

    Parameters
    ----------
    search : RankSearch, whose memory receives the results
    tasks : of (node, height, known, target, column, cut, ends, last)

    Returns
    -------
    (End, Known) of each task : the points and the best tree that it adds

    Raises
    ------
    the exceptions of `search.check` : then nothing of the round is remembered
    """
    count = min(threads.allowed(), len(tasks))
    jobs = [job_of(search, task) for task in tasks]
    done = _in_turn(search, jobs) if count < 2 else _in_threads(search, jobs, count)
    for _, _, beside in done:
        search.take(beside.memo.own, beside.evaluated, beside.effort)
    return [(end, known) for end, known, _ in done]


def job_of(search, task) -> Callable[[], tuple]:
    """Return a function that evaluates one task on a copy of the search with room and memory of its own."""
    beside = copy(search)
    beside.memo, beside.nodes = _Over(search.memo), search.nodes.beside()
    beside.evaluated = beside.held = 0
    beside.effort, beside.room = 0.0, float("inf")

    def job():
        node, height, known, *rest = task
        end = beside._evaluate(node, height, known, *rest)
        return end, known, beside

    return job


def _in_turn(search, jobs):
    done = []
    for job in jobs:
        if done:
            search.check()
        done.append(job())
    return done


def _in_threads(search, jobs, count):
    waiting = [threads.pool(count).submit(job) for job in jobs]
    try:
        return threads.results(waiting, search.check)
    except BaseException:
        for future in waiting:
            future.cancel()
        raise

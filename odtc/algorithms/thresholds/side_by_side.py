"""Parallel evaluation of cuts in threads: trees of depth 2 on the sides of several cuts at once.

The cuts of one round are evaluated with the same best tree and the same memory, and their results are merged in the
order of the cuts. So the search is the same with any number of threads. Rounds pay on nodes with many entries and
columns, because there the kernels, which run without Python's lock, take much longer than the Python code around them.
"""

from collections.abc import Callable
from copy import copy

from odtc.base import threads

ROUND = 8  # cuts in one round, for any number of threads
CELLS = 10_000  # minimum entries times columns of a node for rounds


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
    """Return the results of `search._evaluate` for several tasks.

    Parameters
    ----------
    search : RankSearch, whose memory receives the results
    tasks : the arguments (node, height, known, target, column, cut, ends, last) of each call

    Returns
    -------
    (End, Known) of each task : Known has the points and the best tree that the task adds

    Raises
    ------
    the exceptions of `search.check` : no result of the round is stored then
    """
    count = min(threads.allowed(), len(tasks))
    jobs = [job_of(search, task) for task in tasks]
    done = _in_turn(search, jobs) if count < 2 else _in_threads(search, jobs, count)
    for _, _, beside in done:
        search.take(beside.memo.own, beside.evaluated, beside.effort)
    return [(end, known) for end, known, _ in done]


def job_of(search, task) -> Callable[[], tuple]:
    """Return a function that evaluates one task on a copy of the search with its own arrays and memory."""
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

"""Proof of a tree by several processes, each of which evaluates single cuts (odtc.algorithms.thresholds.workers).

A part is one cut of the root in its interval, or of a side of the root if the root has few cuts. Each process has
AT_ONCE parts at a time. As soon as a part ends, its bounds and trees are used for the next parts: the best tree is
shared, and intervals that the bounds close are never handed out. The bound on all trees and the certificate follow from
these bounds as if this process had computed them. Each process searches the same ranked rows with its own memory, which
it keeps from part to part. It returns only states of height 3 and more, because a certificate does not name lower ones.

If processes are lost, their intervals are open again and handed out once more, so a kill costs only the parts in
progress.
"""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from odtc.algorithms.thresholds import side_by_side, workers
from odtc.base import deadline

ALONE = 3.0  # CPU seconds of a search before other processes are started: about as much as starting them takes
AT_ONCE = 2  # parts of each process at a time: the one that it works on, and the next
MIN_CUTS = 16  # cuts of the root per process; if there are fewer, cuts of the sides of the root are handed out instead
MIN_HEIGHT = 3  # minimum height of a node whose cuts are handed out, and of a state that is returned


@dataclass(frozen=True)
class Part:
    """One cut of a node to be evaluated.

    Attributes
    ----------
    height : int
    inside : bytes or None, the key of the node; None for the root
    known : Known, of the trees of that height, with nothing but the cost of the best one
    raising, fall : bool, float, as in RankSearch
    seconds : float or None, the time limit of the process; None for no limit
    terms : tuple, the other arguments of RankSearch._evaluate
    """

    height: int
    inside: bytes | None
    known: Any
    raising: bool
    fall: float
    seconds: float | None
    terms: tuple[Any, ...]


def pays(search: Any, node: Any, height: int) -> bool:
    """Return whether the cuts of a node are evaluated by other processes."""
    team = workers.present()
    if team is None or search.relaxed is not None or search.ranked.by_splits:
        return False
    below = search.height > MIN_HEIGHT and int((search.nodes.cuts(search.root)[0] - 1).sum()) < MIN_CUTS * team.size
    if height != search.height - below or height < MIN_HEIGHT or (node is search.root) == below:
        return False
    return height > MIN_HEIGHT or node.n * len(search.ranked.columns) >= team.cells


def halve(search: Any, node: Any, height: int, need: int, known: Any, intervals: Any) -> None:
    """Halve the open intervals of a node until no bound is below the cutoff, as RankSearch does without a team. The
    first ALONE seconds of the search are spent in this process, and so is the rest of the work if a team is given up.

    Parameters
    ----------
    search : RankSearch
    node : of `search.nodes`
    height, need : int
    known : Known, of the trees of this height on the node; receives the results
    intervals : OpenIntervals

    Raises
    ------
    the exceptions of `search.check`
    """
    team = workers.present()
    assert team is not None
    asked = (search, node, height, need, known, intervals)
    if _halve_here(*asked, until=search.began + ALONE):
        return
    while not team.given_up:
        try:
            _hand_out(team, *asked)
            return
        except workers.TeamLost as problem:  # results received before are kept
            team.lose(problem)
    _halve_here(*asked, until=np.inf)


def _halve_here(search, node, height, need, known, intervals, until):
    """Return whether this process halved all intervals before it had used this many CPU seconds."""
    while time.process_time() < until:
        cutoff = search.cutoff(node, height, need, known)
        known.lower = max(known.lower, min(cutoff, intervals.least(cutoff)))
        search.tell(node, height, known)
        if (interval := intervals.take(cutoff)) is None:
            return True
        search.check()
        for half in search.halved(node, height, need, known, [interval]):
            intervals.add(half)
    return False


def _hand_out(team, search, node, height, need, known, intervals):
    """Halve the open intervals with the processes of a team. If processes are lost, raise TeamLost; the intervals of
    their parts are then open again."""
    team.begin(search, _ready, (type(search), search.ranked, search.room // (team.size + 1)))
    inside = None if node is search.root else node.key
    waiting: dict[Any, Any] = {}  # for each part in progress, the rest of its interval
    try:
        while True:
            cutoff = search.cutoff(node, height, need, known)
            while len(waiting) < AT_ONCE * team.size and (interval := intervals.take(cutoff)) is not None:
                narrowed = search.narrowed(node, height, need, known, interval)
                if narrowed is not None:
                    part = Part(
                        height,
                        inside,
                        type(known)(0, known.upper),
                        search.raising,
                        search.fall,
                        deadline.seconds_left(),
                        narrowed.terms,
                    )
                    waiting[team.submit(_evaluate, part)] = narrowed
            handed_out = min((narrowed.interval[0] for narrowed in waiting.values()), default=cutoff)
            known.lower = max(known.lower, min(cutoff, intervals.least(cutoff), handed_out))
            search.tell(node, height, known)
            if not waiting:
                break
            search.check()
            for future in team.done(waiting, search.check):
                end, found, memo, evaluated, effort, looked_at, dropped = future.result()
                narrowed = waiting.pop(future)
                search.take(memo, evaluated, effort)
                search.serial += looked_at
                search.learn(known, found)
                search.tallest_dropped = max(search.tallest_dropped, dropped)
                for half in search.halves(narrowed, end, search.cutoff(node, height, need, known)):
                    intervals.add(half)
    except workers.TeamLost:
        for narrowed in waiting.values():
            intervals.add(search.given_back(narrowed.interval))
        raise


def _ready(what: tuple[Any, Any, int]) -> Any:
    kind, ranked, room = what
    return kind(ranked, _check, room=room)


def _check() -> None:
    deadline.check()
    workers.wanted()


def _evaluate(search: Any, part: Part) -> tuple[Any, ...]:
    """Evaluate a part in this process. Return (End, Known with the new points and the best tree, new states, number of
    sets evaluated, effort, number of intervals made, greatest height of a state dropped from the memory)."""
    node = search.root
    if part.inside is not None:
        bits = np.frombuffer(part.inside, np.uint8)
        node = search.node_of(np.unpackbits(bits, count=search.ranked.n).astype(bool))
    search.height, search.raising = part.height + (node is not search.root), part.raising
    search.fall = part.fall
    with deadline.within(part.seconds):
        task = (node, part.height, part.known, *part.terms)
        end, known, beside = side_by_side.job_of(search, task)()
    search.take(beside.memo.own, 0, 0.0)
    memo = {key: state for key, state in beside.memo.own.items() if key[0] >= MIN_HEIGHT and key[1] != node.key}
    looked_at = beside.serial - search.serial
    return end, known, memo, beside.evaluated, beside.effort, looked_at, search.tallest_dropped

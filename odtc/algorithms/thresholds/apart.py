"""Root tests of one proof as subproblems of processes apart (odtc.algorithms.thresholds.workers).

A round is a number of cuts of the root, each in its own interval; all are evaluated against one best tree (the shared
incumbent), and the bounds and trees that the processes find come back: of them follow the bound of all trees, and the
certificate, as if this process had found them. Each process searches the same ranked rows with a memory of its own,
which it keeps from round to round; of that it hands back only states of height 3 and more, as those of less a
certificate does not name.
"""

from dataclasses import dataclass
from typing import Any

from odtc.algorithms.thresholds import side_by_side, workers
from odtc.base import deadline

ROUND = 4  # cuts of one round for each process
LEAST = 3  # height of a root whose tests are handed out, and of a state that is handed back
CELLS = 3_000  # entries times columns, from which on one test of a root of height LEAST is work enough


@dataclass(frozen=True)
class Part:
    """One cut of the root to be evaluated: the height, what the best tree costs, what the process may take, in seconds
    (None: no limit), and the other arguments of RankSearch._evaluate."""

    height: int
    upper: int
    seconds: float | None
    rest: tuple[Any, ...]


def pays(search: Any, node: Any, height: int) -> bool:
    """Whether the cuts of a node are evaluated by other processes."""
    if workers.present() is None or node is not search.root or height != search.height or height < LEAST:
        return False
    if search.relaxed is not None or search.coarse is not None or search.ranked.binary:
        return False
    return height > LEAST or node.n * len(search.ranked.columns) >= CELLS


def cuts_of_a_round() -> int:
    """The cuts that one round has."""
    team = workers.present()
    return ROUND * team.size if team is not None else 1


def evaluated(search: Any, tasks: list[tuple[Any, ...]]) -> list[tuple[Any, Any]]:
    """As of odtc.algorithms.thresholds.side_by_side.evaluated, by the processes of the team."""
    team = workers.present()
    assert team is not None
    team.begin(search, _ready, (search.ranked, search.room // (team.size + 1)))
    left = deadline.seconds_left()
    parts = [Part(height, known.upper, left, tuple(rest)) for _, height, known, *rest in tasks]
    found = []
    for end, known, memo, evaluated, effort, dropped in team.results(_evaluate, parts, search.check):
        search.take(memo, evaluated, effort)
        search.tallest_dropped = max(search.tallest_dropped, dropped)
        found.append((end, known))
    return found


_search: list[Any] = []  # of this process


def _ready(what: tuple[Any, int]) -> None:
    from odtc.algorithms.thresholds.rank_search import NONE, RankSearch  # it uses this module

    ranked, room = what
    search = RankSearch(ranked, deadline.check, room=room)
    search.chosen.expect(min(NONE, 1e6))  # the work is long, or it would not be handed out
    _search[:] = [search]


def _evaluate(part: Part) -> tuple[Any, ...]:
    """(end, what is known beside it, states, sets evaluated, effort, the greatest height that was forgotten)."""
    from odtc.algorithms.thresholds.rank_search import Known

    search = _search[0]
    search.height = part.height
    with deadline.within(part.seconds):
        task = (search.root, part.height, Known(0, part.upper), *part.rest)
        end, known, beside = side_by_side.job_of(search, task)()
    search.take(beside.memo.own, 0, 0.0)
    memo = {key: state for key, state in beside.memo.own.items() if key[0] >= LEAST and key[1] != search.root.key}
    return end, known, memo, beside.evaluated, beside.effort, search.tallest_dropped

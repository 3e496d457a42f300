"""The trees that are nearly as good: the best K, in order, as a formulation ranks them."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count

from odtc.algorithms.dp.k_best import OutOfMemory
from odtc.base import deadline
from odtc.base.json_schema import ANY, FLAG, NUMBER, TEXT, WHOLE, SchemaError, read_if_of, validate
from odtc.base.text import count_of
from odtc.errors import ChoiceError, ModelError, TimeLimitReached, TreeError
from odtc.problem.exact_objective import same_objective
from odtc.problem.formulation import CountsNearOptimal, NearOptimal
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree
from odtc.trees.tree import Tree
from odtc.workflow.near_optimal_set import Within, expect_able, expect_within, listed_trees
from odtc.workflow.row_selection.selection import fill_leaves

SCHEMA = "odtc.pool/1"
SUFFIX = ".pool.json"
MAX_LISTED = 1000  # trees within a bound, where they are listed since they cannot be counted
# The causes that end a list before it is complete, as users read them.
CAUSES = {
    TimeLimitReached: "the time limit",
    OutOfMemory: "the memory",
    MemoryError: "the memory",
    ModelError: "the size of the dynamic program",  # the model has intervals in place of states, which are too many
    KeyboardInterrupt: "an interruption",
}


@dataclass(frozen=True)
class Pool:
    """Trees by ascending objective; `complete` if no further tree costs at most `limit` (None: if these are all trees).
    Otherwise at least `at_least` trees exist, and `stopped` names the cause of the end of the search. Trees with a
    split that saves at most `rounding` may be missing."""

    trees: tuple[Tree, ...]
    objectives: tuple[float, ...]
    complete: bool
    at_least: int
    stopped: str = ""
    limit: float | None = None
    rounding: float = 0.0

    @property
    def words(self) -> str:
        """The number of trees, in words."""
        if not self.trees:
            return f"no trees yet: {self.stopped} came first"
        of = count_of(len(self.trees) if self.complete else self.at_least, "tree", "")
        if self.limit is not None:
            of += f" with an objective of at most {self.limit:.10g} (the best: {self.objectives[0]:.10g})"
        if not self.complete:
            of = f"{len(self.trees)} of at least {of}: {self.stopped} ended the list"
        stated = f"{self.rounding * 1.01:.3g}"  # rounded up
        left_out = f"; splits that save at most {stated}, which may be rounding, are left out"
        return of + left_out * (self.rounding > 0)

    def feature_use(self) -> dict[str, int]:
        """Return the number of trees that use each feature, the most used first."""
        used = Counter()
        for tree in self.trees:
            used.update(tree.used_names)
        return dict(used.most_common())

    def to_json(self) -> dict:
        return {
            "schema": SCHEMA,
            "complete": self.complete,
            "at_least": self.at_least,
            "stopped": self.stopped,
            "limit": self.limit,
            "rounding": self.rounding,
            "feature_use": self.feature_use(),
            "trees": [{"objective": value, "tree": tree.to_json()} for value, tree in zip(self.objectives, self.trees)],
        }


def expect_pool(problem: Problem, most: int, within: float | str | None = None) -> None:
    """Raise ChoiceError for an invalid size or bound of a pool, for a model that cannot rank trees, and under
    constraints."""
    expect_able(problem, NearOptimal, "rank")
    if most < 1 or (isinstance(within, (int, float)) and not within >= 0):
        raise ChoiceError(
            f"expected a pool of at least 1 tree within at least 0, got {most} within {within:g}"
            if isinstance(within, (int, float))
            else f"expected a pool of at least 1 tree, got {most}"
        )
    if within is not None:
        Within.of(within)


def pool_size(problem: Problem, most: int | None, within: float | str | None) -> int | None:
    """Return how many trees a pool contains: MAX_LISTED for trees within a bound that cannot be counted without a list,
    None if no pool is requested."""
    counted = most is not None or within is None or not problem.module.can(CountsNearOptimal)
    return most if counted or not problem.module.lists_only(problem) else MAX_LISTED


def expect_pool_options(problem: Problem, most: int | None, within: float | str | None) -> None:
    """Raise ChoiceError if the options request a pool, or a count of the near-optimal trees, that is not possible;
    `most` is None if they request no pool."""
    if most is not None:
        expect_pool(problem, most, within)
    elif within is not None:
        expect_within(problem, within)


def pool_text(problem: Problem, most: int, within: float | str | None, left: float | None) -> tuple[str | None, str]:
    """Find the best trees in the seconds that are left; return the text of STEM.pool.json, None without a tree, and the
    number of trees in a sentence."""
    found = near_optimal(problem, most, within, left)
    note = f"the pool has {found.words}"
    return json.dumps(found.to_json(), ensure_ascii=False, indent=1) + "\n" if found.trees else None, note


def near_optimal(
    problem: Problem,
    most: int,
    within: float | str | None = None,
    seconds: float | None = None,
    until: Callable[[Tree], bool] | None = None,
) -> Pool:
    """Find the best trees of a problem, as its formulation ranks them.

    Parameters
    ----------
    problem : Problem
        A problem of a formulation with the ability NearOptimal.
    most : int
        How many trees at most.
    within : float, str or None
        Only trees whose objective is at most this much above the best; "5%" is a share of the best.
    seconds : float or None
        How long the search may take; half of the free memory and Ctrl-C end it, too.
    until : callable or None
        The search ends with the first tree of which it is true.

    Returns
    -------
    Pool
        The trees that were found, and the cause of the end of the search.

    Raises
    ------
    ChoiceError
        As in `expect_pool`.
    """
    expect_pool(problem, most, within)
    trees, values, least, stopped, limit, rounding = [], [], 0, "", None, 0.0
    chosen = problem.encoded.dataset.selected if problem.encoded.dataset is not None else None
    try:
        with deadline.within(seconds):
            ranking = problem.module.ranking(problem)
            rounding = ranking.rounding
            for value, heap in _in_order(ranking, problem):
                if within is not None and not trees:
                    within = Within.of(within).above(value)
                    limit = value + within
                if trees and is_beyond(problem, value, limit):
                    break
                least = max(least, len(trees) + 1)
                if not trees:
                    least = max(least, ranking.at_least(within))
                if len(trees) == most:
                    stopped = f"--pool {most}"
                    break
                tree = heap.to_tree(problem.encoded)
                trees.append(tree if chosen is None else fill_leaves(tree, problem, chosen.whole))
                values.append(value)
                if until is not None and until(trees[-1]):
                    stopped = "the tree that was looked for"
                    break
    except tuple(CAUSES) as end:
        stopped = next(words for cause, words in CAUSES.items() if isinstance(end, cause))
    return Pool(tuple(trees), tuple(values), not stopped, max(least, len(trees)), stopped, limit, rounding)


def _in_order(ranking, problem: Problem) -> Iterator[tuple[float, HeapTree]]:
    """Yield (objective, tree) in the order of the objectives. The ranking may have trees in another order if these
    differ by at most its `rounding`, so a tree waits until all later ones cost more, unless very many wait."""
    waiting: list[tuple[float, int, HeapTree]] = []
    for number in count():
        try:
            heap = ranking.tree(number)
        except BaseException:  # the limit or an interruption ends the list with the trees that were found
            yield from ((value, tree) for value, _, tree in sorted(waiting))
            raise
        if heap is None:
            break
        heappush(waiting, (value := problem.module.objective(problem, heap), number, heap))
        while waiting and (waiting[0][0] + ranking.rounding <= value or len(waiting) > MAX_LISTED):
            first, _, tree = heappop(waiting)
            yield first, tree
    yield from ((value, tree) for value, _, tree in sorted(waiting))


def is_beyond(problem: Problem, value: float, limit: float | None) -> bool:
    """Return whether a tree costs more than a limit above the best one, if there is a limit, by more than rounding."""
    return limit is not None and value > limit and not same_objective(problem, value, limit)


def read_pool(path) -> Pool | None:
    """Read the pool of a file, None if it is not a pool; raises TreeError for one that is not whole."""
    facts = read_if_of(path, SCHEMA, SUFFIX, "pool", "make it again with --pool", TreeError)
    if facts is None:
        return None
    try:
        validate(
            facts,
            {"trees": [{"tree": ANY, "objective": NUMBER}], "complete": FLAG, "at_least?": WHOLE, "stopped?": TEXT}
            | {"limit?": (NUMBER, None), "rounding?": NUMBER},
        )
        trees, values = listed_trees(facts["trees"], "trees")
    except (SchemaError, TreeError) as problem:
        raise TreeError(f"the pool {str(path)!r} is damaged: {problem}; make it again with --pool") from None
    least, stopped = facts.get("at_least", len(trees)), facts.get("stopped", "")
    return Pool(trees, values, facts["complete"], least, stopped, facts.get("limit"), facts.get("rounding", 0.0))

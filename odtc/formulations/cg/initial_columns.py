"""The splits and the first columns of a problem of column generation, according to its parameters.

Splits: all splits of the encoding, or a threshold sample (odtc.formulations.cg.threshold_sampling), per node or for all
nodes together. Columns: all paths if they are few, the paths of a first tree and some rounds of generation, the columns
of a file, or the text in a manifest. Firat et al. (2020), section 5.
"""

import time
from dataclasses import replace
from functools import partial

import numpy as np

from odtc.base import deadline
from odtc.errors import TimeLimitReached
from odtc.formulations.cg.branch_and_price import BranchAndPrice
from odtc.formulations.cg.column_pool import MARK, ColumnPool, Columns, columns_asked, read_pool
from odtc.formulations.cg.decision_paths import Paths
from odtc.formulations.cg.over_all_splits import OverAllSplits
from odtc.formulations.cg.printed_paths import PrintedPaths
from odtc.formulations.cg.threshold_sampling import pool_splits, sample_splits
from odtc.heuristics.heuristic import HEURISTICS
from odtc.problem.exact_objective import plain_costs
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree, with_min_leaf_rows

MAX_INITIAL_PATHS = 3000  # up to this many paths, all of them are columns from the start
MAX_PATHS = 1_000_000  # maximum number of paths over pooled splits
MOST_BITS = 2**32  # maximum number of paths times rows
POLISHED = 100_000_000  # maximum of rows times splits for which the local search runs
POLISH = 0.2  # fraction of the remaining time for the local search over all splits
GENERATING = 0.8  # fraction of the remaining time for generating columns; the rest is for writing their model
MAX_PRICED_PATHS = 60_000  # maximum number of paths over all splits for which all of them are priced


def is_printed(params) -> bool:
    """Return whether the paths and the method are as in the paper (odtc.formulations.cg.printed_paths)."""
    return params.literal or not params.search


def tail_of(problem: Problem) -> int:
    """Return the number of levels below the ends of the paths."""
    depth, tail = problem.topology.depth, "0" if is_printed(problem.params) else problem.params.tail
    return min(2, depth - 1) if tail == "auto" else min(int(tail), depth)


def prepared(problem: Problem) -> Problem:
    """Return the problem with its columns in its parameters, if they come from a file or require a search, so that the
    manifest contains them and no search is repeated."""
    params, given = problem.params, problem.params.columns
    if given.startswith(MARK) or given == "all" or (given == "auto" and is_small(problem)):
        return problem
    first, began = None, time.monotonic()
    if given in ("auto", "start"):
        if given == "start" and (_kind(problem) != "all" or not _are_few(problem)):
            first, held = OverAllSplits(problem), problem.derived(Held)
            held.over_all = first
            known = [first.run(), first_tree(problem)]
            if not first.proved and not first.interrupted:
                known += _polished(problem)
            held.first = min(known, key=partial(problem.module.objective, problem))
        paths = paths_of(problem, splits_of(problem))
        columns = Columns(paths)
        columns.add_tree(columns_asked(paths, first_tree(problem).split))
        if given == "auto":
            with deadline.within(deadline.time_share(float("inf"), GENERATING)):
                BranchAndPrice(paths, columns, False, left=deadline.seconds_left, rounds=params.rounds).run()
        pool = columns.to_pool()
    else:
        # The file determines the paths. Their best subtrees and their costs are computed here, because the file may
        # be for another objective or other rows, or edited.
        pool = read_pool(given, problem.encoded, problem.topology.depth, tail_of(problem))
        columns = Columns(paths_of(problem, pool.splits if params.splits == "auto" else splits_of(problem)), pool)
        columns.settle()
        pool = columns.to_pool()
    before, problem = problem, replace(problem, params=replace(params, columns=pool.to_text()))
    known, held = before.derived(Held).first, problem.derived(Held)
    held.columns, held.over_all, held.first, held.seconds = columns, first, known, time.monotonic() - began
    return problem


class Held:
    """The columns of one problem, the tree that they start from, and the search over all splits, once they are made;
    `seconds` is the time that this took when the problem was built."""

    def __init__(self, problem: Problem):
        self.columns: Columns | None = None
        self.printed: PrintedPaths | None = None
        self.first: HeapTree | None = None
        self.over_all: OverAllSplits | None = None
        self.seconds = 0.0


def columns_of(problem: Problem) -> Columns:
    """Return the columns that the parameters name, over their paths."""
    held = problem.derived(Held)
    if held.columns is None:
        given = prepared(problem).params.columns
        if given.startswith(MARK):
            pool = ColumnPool.from_text(given, problem.topology.depth, tail_of(problem), problem.encoded)
            columns = Columns(paths_of(problem, pool.splits), pool)
        else:
            columns = Columns(paths_of(problem, splits_of(problem)))
            columns.add_all()
        held.columns = columns
    return held.columns


def is_small(problem: Problem) -> bool:
    """Return whether all paths over all splits, or those that are sampled, are few."""
    params, F, depth = problem.params, problem.encoded.n_candidate_splits, problem.topology.depth
    if params.splits not in (("auto", "all") if params.search or params.literal else ("all",)):
        return False
    return (2 * F) ** (depth - tail_of(problem)) <= MAX_INITIAL_PATHS


def splits_of(problem: Problem) -> tuple[np.ndarray, ...]:
    """Return the splits that each node of the heap may use."""
    params, encoded, topology = problem.params, problem.encoded, problem.topology
    n, F = 2 ** (topology.depth + 1), encoded.n_candidate_splits
    height = topology.depth - tail_of(problem)
    asks = np.arange(n) // 2**topology.depth == 0
    asks[0] = False
    none = np.zeros(0, np.int32)
    over = problem.derived(Held).over_all
    if over is not None and over.interrupted:  # after Ctrl-C, only the splits of its tree are used
        tree = np.unique(first_tree(problem).split)
        return tuple(tree[tree >= 0].astype(np.int32) if ask else none for ask in asks)
    kind = _kind(problem)
    if kind == "all":
        return tuple(np.arange(F, dtype=np.int32) if ask else none for ask in asks)
    whole = params.columns == "all"  # otherwise the manifest contains the columns, and nothing is sampled again
    if kind == "sampled":
        return sample_splits(encoded, topology, params.q, params.seed, first_tree(problem), whole)
    # As many as allow all paths, each as long as the rows, to be stored.
    most = max(1, int(min(MAX_PATHS, MOST_BITS / encoded.n_rows) ** (1 / max(1, height)) / 2))
    pool = pool_splits(encoded, topology, params.q, params.seed, first_tree(problem), most, whole)
    return tuple(pool if ask else none for ask in asks)


def _kind(problem: Problem) -> str:
    """Return the set of splits that the nodes may use: "all", "sampled" or "pooled"."""
    if problem.params.splits != "auto":
        return problem.params.splits
    if is_printed(problem.params):
        return "all" if is_small(problem) else "sampled"
    return "all" if _are_few(problem) else "pooled"


def _are_few(problem: Problem) -> bool:
    """Return whether the paths over all splits are so few that pricing all of them takes less time than an additional
    search."""
    F, tail = problem.encoded.n_candidate_splits, tail_of(problem)
    return (2 * F) ** (problem.topology.depth - tail) * max(1, F / 100) ** tail <= MAX_PRICED_PATHS


def first_tree(problem: Problem) -> HeapTree:
    """Return the tree of the search over all splits, if that ran, otherwise CART's, with which the paper starts."""
    held = problem.derived(Held)
    if held.first is None:
        held.first = HEURISTICS.get("cart").tree(
            problem.encoded, problem.topology, problem.params.reward, max(1, problem.params.n_min)
        )
    return held.first


def _polished(problem: Problem) -> list[HeapTree]:
    """Return the tree of the local search over all splits; [] if they are too many, or if there was no time for it."""
    encoded, least = problem.encoded, problem.params.n_min
    if encoded.n_rows * encoded.n_candidate_splits > POLISHED:
        return []
    try:
        with deadline.within(deadline.time_share(float("inf"), POLISH)):
            heap = HEURISTICS.get("local_search").tree(encoded, problem.topology, problem.params.reward)
    except TimeLimitReached:
        return []
    return [with_min_leaf_rows(heap, encoded, least) if least > 1 else heap]


def searched_tree(problem: Problem, paths: Paths) -> np.ndarray:
    """Return a tree of the local search over the splits of all nodes, as columns of paths.X."""
    encoded, used = problem.encoded, paths.candidates
    few = replace(
        encoded,
        X=np.ascontiguousarray(encoded.X[:, used]),
        splits=tuple(encoded.splits[j] for j in used),
        ones_left=encoded.ones_left[used],
        stands_for=tuple(encoded.stands_for[j] for j in used),
    )
    return HEURISTICS.get("local_search").tree(few, problem.topology, problem.params.reward).split


def paths_of(problem: Problem, splits) -> Paths:
    """Return all paths over these splits, with their costs under the problem's objective."""
    return Paths(
        problem.encoded,
        problem.topology,
        splits,
        tail_of(problem),
        plain_costs(problem),
        problem.params.n_min,
        problem.params.threads,
    )

"""The method of the paper on a Problem: its splits, its first columns, and its result as a Solution.

`-p search=false` runs it, and `-p literal=true` also keeps rows apart that no split separates. Its parts are switched
by the parameters `splits`, `initial`, `heuristic`, `pricing_mip` and `final`, and seeded by `seed`.
"""

import contextlib
import time
from dataclasses import replace

import numpy as np

from odtc.base import deadline
from odtc.base.text import count_of
from odtc.base.wording import param
from odtc.errors import ChoiceError, SolverError, TimeLimitReached, TreeError
from odtc.formulations.cg.column_pool import MARK, ColumnPool, read_pool
from odtc.formulations.cg.initial_columns import GENERATING, Held, first_tree, is_small, splits_of
from odtc.formulations.cg.printed_method import PrintedMethod, Settings
from odtc.formulations.cg.printed_paths import PrintedPaths
from odtc.model.milp import Model
from odtc.model.solution import Round, Solution, Termination, is_proved
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree, settle


def prepared(problem: Problem) -> Problem:
    """Return the problem with its paths in its parameters, as odtc.formulations.cg.initial_columns.prepared."""
    params, given, began = problem.params, problem.params.columns, time.monotonic()
    if params.reward:
        raise ChoiceError(
            f"expected {param('reward', 0)} with {param('search', False)} or {param('literal', True)}, because the "
            f"printed model counts both children of a needless split as leaves; got {params.reward:g}"
        )
    if given.startswith(MARK) or given == "all" or (given == "auto" and is_small(problem)):
        return problem
    if given in ("auto", "start"):
        paths = PrintedPaths(problem, _splits(problem))
    else:
        pool = read_pool(given, problem.encoded, problem.topology.depth, 0)
        paths = PrintedPaths(problem, pool.splits, pool)
    _add_first(problem, paths)
    if given == "auto":
        with contextlib.suppress(TimeLimitReached), deadline.within(deadline.time_share(float("inf"), GENERATING)):
            settings = replace(_settings(params), rounds=params.rounds, programs=False)
            PrintedMethod(paths, settings, params.seed, deadline.seconds_left).run()
    return _with_paths(problem, paths, time.monotonic() - began)


def _with_paths(problem: Problem, paths: PrintedPaths, seconds: float) -> Problem:
    problem = replace(problem, params=replace(problem.params, columns=paths.to_pool().to_text()))
    held = problem.derived(Held)
    held.printed, held.seconds = paths, seconds
    return problem


def paths_of(problem: Problem) -> PrintedPaths:
    """Return the paths that the parameters name."""
    held = problem.derived(Held)
    if held.printed is None:
        given = prepared(problem).params.columns
        if given.startswith(MARK):
            pool = ColumnPool.from_text(given, problem.topology.depth, 0, problem.encoded)
            held.printed = PrintedPaths(problem, pool.splits, pool)
        else:
            held.printed = PrintedPaths(problem, _splits(problem))
            _add_first(problem, held.printed)  # raises ChoiceError if the splits cannot form a complete tree
            held.printed.add_all()
    return held.printed


def _splits(problem: Problem) -> tuple[np.ndarray, ...]:
    """Return the splits S_j of each node, at least as many as there are levels. A complete tree splits at every node,
    so a node at which CART seldom splits gets the most frequent splits of other nodes, too, then any others."""
    depth, found = problem.topology.depth, list(splits_of(problem))
    own_splits, often = np.unique(np.concatenate([np.zeros(0, np.int32), *found]), return_counts=True)
    common = own_splits[np.argsort(-often, kind="stable")]
    common = np.append(common, np.setdiff1d(np.arange(problem.encoded.n_candidate_splits), common))
    for node in problem.topology.branch_nodes.tolist():
        more = np.setdiff1d(common, found[node], assume_unique=True)[: max(0, depth - len(found[node]))]
        found[node] = np.append(found[node], more).astype(np.int32)
    return tuple(found)


def _add_first(problem: Problem, paths: PrintedPaths) -> None:
    """Add the paths of the first tree: CART's, or a random one."""
    heap, rng = first_tree(problem), None
    if problem.params.initial == "random":
        heap, rng = settle(np.full_like(heap.split, -1), problem.encoded), np.random.default_rng(problem.params.seed)
    paths.add_tree(heap, rng)


def _settings(params) -> Settings:
    return Settings(
        params.pool_size,
        params.pool_leaves,
        params.pool_columns,
        params.pool_tries,
        params.max_rounds,
        params.heuristic,
        params.pricing_mip,
    )


def build(problem: Problem) -> Model:
    """Return the master over the paths so far, as printed."""
    return paths_of(problem).master()


def start(problem: Problem, heap: HeapTree) -> dict[str, np.ndarray]:
    """Return a tree as a point. Raises TreeError if one of its paths is not a column."""
    paths = paths_of(problem)
    if (chosen := paths.of_tree(heap)) is None:
        raise TreeError(
            f"a path of the tree is not among the {count_of(len(paths), 'path')} of the model; give the start of a "
            f"heuristic, or all paths ({param('columns', 'all')})"
        )
    return paths.point(chosen)


def decode(problem: Problem, point: dict[str, np.ndarray]) -> HeapTree:
    """Return the tree of a point."""
    return settle(paths_of(problem).tree_at(point["x"]), problem.encoded)


def trimmed(problem: Problem, heap: HeapTree) -> HeapTree:
    """Return the tree if its paths are there, else the best tree of the paths."""
    heap, paths = settle(heap.split, problem.encoded), paths_of(problem)
    return heap if paths.of_tree(heap) is not None else settle(paths.best(), problem.encoded)


def pricing(problem: Problem, leaf: int, label: int) -> Model:
    """Return the pricing problem of a leaf and a class at the dual values of the relaxation over the paths so far."""
    paths = paths_of(problem)
    method = PrintedMethod(paths, _settings(problem.params), problem.params.seed, lambda: None)
    return paths.pricing(method.master.solve(None)[2], leaf, label)


def scope(problem: Problem) -> str:
    """Return the trees that the model represents, in words; "" if these are all."""
    paths = paths_of(problem)
    some = problem.params.columns.startswith(MARK) or _scope_words(problem, paths)
    return f"trees over the {count_of(len(paths), 'path')} of the model" if some else ""


def _scope_words(problem: Problem, paths: PrintedPaths) -> str:
    """Return the splits that the proof is about, "" if these are all."""
    asked = [len(paths.splits[t]) for t in problem.topology.branch_nodes.tolist()]
    if min(asked, default=0) == problem.encoded.n_candidate_splits:
        return ""
    return f"the splits that were chosen for each node, {len(paths.candidates)} of {problem.encoded.n_candidate_splits}"


def fit(base: Model, solve, start=None, tell=None, left=None) -> tuple[Model, Solution]:
    """Run the method from the paths of `base` on, as odtc.formulations.cg.fit."""
    problem, history, left = base.problem, [], left or (lambda: None)
    paths, termination, message = paths_of(problem), None, ""
    began = time.monotonic() - problem.derived(Held).seconds
    method = PrintedMethod(paths, _settings(problem.params), problem.params.seed, left)

    def say(added: int, value: float) -> None:
        seconds, unit = time.monotonic() - began, paths.unit
        facts = method.upper * unit, min(method.bound, method.upper) * unit
        history.append((round(seconds, 3), *facts))
        if tell:
            tell(Round(len(history), "columns", len(paths), added, *facts, seconds, "columns", value * unit))

    try:
        method.run(say)
        if problem.params.final == "paths":
            method.take(paths.best(), "the master over the generated paths (dynamic program)")
        else:
            _solve_final(method, paths, solve)
    except SolverError as failed:
        termination, message = Termination.UNKNOWN, str(failed)
    except KeyboardInterrupt:
        termination = Termination.INTERRUPTED
        paths = method.paths = PrintedPaths(problem, paths.splits, paths.to_pool())  # consistent again
        method.take(paths.best(), "the master over the generated paths (dynamic program)")
    problem = _with_paths(problem, paths, 0.0)
    model = replace(build(problem), problem=problem)
    x = model.join(paths.point(paths.numbers(method.best)))
    paid, bound = model.objective(x), min(method.bound, method.upper) * paths.unit
    some = _scope_words(problem, paths)
    overall = float(problem.encoded.loss.min(axis=1).sum()) if some else bound
    if is_proved(paid, bound):
        termination = Termination.OPTIMAL
    elif termination is None:
        seconds = left()
        timed = seconds is not None and seconds <= method.reserve
        termination = Termination.TIME_LIMIT if timed and not method.finished else Termination.UNKNOWN
    ended = "no path is promising" if method.finished else "not proved that no path is promising"
    words = (
        f"found by {method.found_by} ({count_of(len(paths), 'path')}, {count_of(method.rounds, 'round')}, "
        f"{count_of(method.programs, 'pricing problem')}); {ended}"
    )
    found = Solution(
        x,
        termination,
        paid,
        bound,
        time.monotonic() - began,
        "HiGHS (column generation as printed)",
        0,
        start="accepted" if start is not None else "none",
        history=tuple(history),
        message="; ".join(filter(None, [message, words])),
        scope=some and f"trees over {some} ({param('splits', ...)})",
        overall=overall,
    )
    return model, found


def _solve_final(method: PrintedMethod, paths: PrintedPaths, solve) -> None:
    """Give the master over the generated paths to the solver, beginning from the best tree."""
    model = paths.master()
    found = solve(model, start=model.join(paths.point(paths.numbers(method.best))))
    if found.has_solution:
        split = paths.tree_at(model.split(found.x)["x"])
        if (split[1 : 1 << paths.depth] >= 0).all():
            method.take(split, f"the master over the generated paths ({found.solver})")

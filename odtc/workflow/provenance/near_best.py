"""Near-optimal trees next to a run, STEM.pool.json and STEM.near-optimal.json: check that they belong to this run, and
are true.

Each tree is counted again on the data of the run, with its cost. The claims of a list or a graph about all trees (that
no further one is as good, how many there are) are counted by a search of some seconds. If it does not end in time,
they are only claimed by the run, and a sentence reports this.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from odtc.base.text import count_of
from odtc.data.encoding import of_each_column
from odtc.errors import ChoiceError, TimeLimitReached, TreeError
from odtc.model.feasibility import Check
from odtc.problem.constraints.constraint import broken
from odtc.problem.exact_objective import same_objective
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree, blank_arrays
from odtc.trees.tree import Leaf, Node, Tree
from odtc.verification.known_trees import is_below
from odtc.workflow.near_optimal import SUFFIX as POOL
from odtc.workflow.near_optimal import Pool, is_beyond, near_optimal, read_pool
from odtc.workflow.near_optimal_set import MAX_FILE_LINES, NearOptimalSet, near_optimal_set, read_near_optimal_set
from odtc.workflow.near_optimal_set import SUFFIX as NEAR
from odtc.workflow.provenance.searched_again import SECONDS
from odtc.workflow.results.fit import Fit

# Claims of a set on all its trees: the same if it is counted again. Derived figures may be absent if time had ended.
OF_ALL = ("count", "depth", "proved", "leaves", "objectives")
OF_COLUMN = ("trees", "share", "best_with", "best_without")  # all None if the trees with it were not counted


def check_near_best(done: Fit, path: Path, seconds: float | None = None) -> tuple[Check, str]:
    """Check that a file of near-optimal trees belongs to a run, and is true.

    Parameters
    ----------
    done : Fit
        The run, computed again.
    path : Path
        STEM.pool.json or STEM.near-optimal.json.
    seconds : float or None
        Limit for counting them again; None for the default of such a search, 0 for no search.

    Returns
    -------
    (Check, str)
        The result of the check; the claims of the run that it does not check, "" for none.

    Raises
    ------
    TreeError
        If the file is not whole.
    """
    seconds = SECONDS if seconds is None else seconds
    near = read_near_optimal_set(path)
    found = near or read_pool(path)
    if found is None:
        raise TreeError(f"expected near-optimal trees in {str(path)!r}, found none")
    name = (NEAR if near is not None else POOL).split(".")[1]
    rows = done.problem.encoded.dataset or done.dataset
    if rows is not None and rows.selected is not None:
        word = "the costs of its trees on the selected rows are stated by the run, and were not recomputed"
        return Check(
            name, True, f"{path.name}: a list of {count_of(len(found.trees), 'tree', '')}"
        ), f"{path.name}: {word}"
    wrong, word = (_wrong_set if near is not None else _wrong_pool)(done, found, seconds)
    if wrong:
        return Check(name, False, f"{path.name}: {wrong}"), ""
    held = f"{path.name}: its {count_of(len(found.trees), 'tree', '')} have the counts and the costs that it states"
    return Check(name, True, held), word and f"{path.name}: {word}"


def _wrong_pool(done: Fit, pool: Pool, seconds: float) -> tuple[str, str]:
    """Return (the first false statement of a pool, the claim that was not recomputed), in words, "" for none."""
    problem = done.problem
    wrong = _wrong_trees(problem, pool.trees, pool.objectives)
    wrong = wrong or (_wrong_best(done, pool.objectives[0]) if pool.trees else "it holds no tree")
    if wrong:
        return wrong, ""
    told = {json.dumps(tree.to_json(), sort_keys=True) for tree in pool.trees}
    if len(told) < len(pool.trees):
        return "it holds a tree twice", ""
    if any(is_beyond(problem, a, b) for a, b in pairwise(pool.objectives)):
        return "its trees are not in the order of their objectives", ""
    if pool.at_least < len(told) or (pool.complete and pool.at_least != len(told)):
        return f"it states {count_of(pool.at_least, 'tree', '')}, complete: {pool.complete}, and holds {len(told)}", ""
    if is_beyond(problem, pool.objectives[-1], pool.limit):
        return f"it holds a tree of {pool.objectives[-1]:.10g}, and its limit is {pool.limit:.10g}", ""
    try:
        again = near_optimal(problem, len(told) + 1, None, seconds) if seconds > 0 else None
    except (ChoiceError, TimeLimitReached):
        again = None
    if again is None or len(again.trees) < len(told):
        if again is not None and again.complete:
            return f"there are {len(again.trees)} such trees, and it holds {len(told)}", ""
        return "", "that no other tree is as good as one of these is stated by the run, and was not recomputed"
    for at, (here, there) in enumerate(zip(pool.objectives, again.objectives), 1):  # again has one more
        if not same_objective(problem, here, there):
            return f"its tree {at} costs {here:.10g}, and the {at}-th best costs {there:.10g}", ""
    if not pool.complete or again.complete:
        return "", ""
    if pool.limit is None:
        return "", "the run claims that these are all trees within the requested bound, but it states no bound"
    if len(again.trees) == len(told):
        return (
            "",
            f"that no further tree costs at most {pool.limit:.10g} is stated by the run, and was not recomputed",
        )
    following = again.objectives[len(told)]
    if not is_beyond(problem, following, pool.limit):
        return f"a further tree costs {following:.10g}, and its limit is {pool.limit:.10g}", ""
    return "", ""


def _wrong_set(done: Fit, near: NearOptimalSet, seconds: float) -> tuple[str, str]:
    """Return (the first false statement of a set, the claim that was not recomputed), in words, "" for none."""
    problem, facts = done.problem, near.facts
    each = of_each_column(problem.encoded)
    if each is None:
        return "", "its trees are claimed by the run: the data is not there to check their splits"
    posed = replace(problem, encoded=each)
    wrong = _wrong_trees(posed, near.trees, near.objectives)
    wrong = wrong or _wrong_best(done, facts["best"]) or _wrong_sums(near, problem)
    if wrong:
        return wrong, ""
    if not facts["complete"]:
        return "", "the number of trees is claimed by the run and not recomputed"
    again = None
    try:
        if seconds > 0:
            within = max(0.0, facts["limit"] - facts["best"])
            again = near_optimal_set(problem, within, seconds, None, facts["sample"]["seed"])
    except (ChoiceError, TimeLimitReached):
        again = None
    if again is None or not again.complete:
        return "", "how many trees there are is stated by the run, and was not recomputed"
    there = json.loads(json.dumps(again.facts))
    differ = [key for key in OF_ALL if there[key] != facts[key]]
    # Whether there is a graph, or time to count columns, is a matter of time.
    maybe = ("fewest_columns", "graph")
    differ += [key for key in maybe if None not in (there[key], facts[key]) and there[key] != facts[key]]
    drawn = [len(of["sample"]["trees"]) for of in (there, facts)]
    differ += ["columns"] if _columns_differ(there["columns"], facts["columns"], drawn[0] == drawn[1]) else []
    differ += ["sample"] if _samples_differ(there["sample"], facts["sample"], facts["count"]) else []
    if differ:
        return f"counted again, {', '.join(differ).replace('_', ' ')} differ: {again.words}", ""
    if 0 < drawn[1] != drawn[0]:
        return (
            "",
            "the columns of its sample are stated by the run, because time ended before the sample was whole",
        )
    return "", ""


def _columns_differ(there: list[dict], here: list[dict], alike: bool) -> bool:
    """Return whether the columns differ when they are counted again, or the statements about them; `alike` is whether
    as many trees were drawn."""
    if [one["name"] for one in there] != [one["name"] for one in here]:
        return True
    return any(
        (None not in (again["trees"], one["trees"]) and any(again[key] != one[key] for key in OF_COLUMN))
        or (None not in (again.get("saved"), one.get("saved")) and again.get("saved") != one.get("saved"))
        or (alike and again["reliance"] != one["reliance"])
        for again, one in zip(there, here)
    )


def _samples_differ(there: dict, here: dict, count: int) -> bool:
    """Return whether a sample is not of this seed, or is falsely called whole; time may have ended it early."""
    drawn = min(len(there["trees"]), len(here["trees"]))
    whole = len(here["trees"]) == count
    return there["trees"][:drawn] != here["trees"][:drawn] or here["whole"] != whole


def _wrong_trees(problem: Problem, trees: Sequence[Tree], objectives: Sequence[float]) -> str:
    """Return the first false statement of a list of trees with their costs, in words; "" for none."""
    for at, (tree, said) in enumerate(zip(trees, objectives), 1):
        try:
            heap = _heap(problem, tree)
        except TreeError as other:
            return f"its tree {at} is none of this run: {other}"
        if against := broken(problem, heap):
            return f"its tree {at} does not satisfy {against[0][0]}"
        paid = problem.module.objective(problem, heap)
        if not same_objective(problem, paid, said):
            return f"its tree {at} costs {paid:.10g}, and {said:.10g} is stated"
        if problem.encoded.dataset is None:  # a manifest holds equal rows together, and a curve needs each row
            tree = tree.with_curves([()] * tree.n_leaves)
        if heap.to_tree(problem.encoded).to_json() != tree.to_json():
            return f"its tree {at} has counts that differ from the data"
    return ""


def _heap(problem: Problem, tree: Tree) -> HeapTree:
    """Return the tree over the splits of a problem; if a manifest does not have its data set, its splits are found by
    themselves. Raises TreeError if it is not a tree of the problem."""
    encoded, topology = problem.encoded, problem.topology
    if encoded.dataset is not None:
        return HeapTree.from_tree(tree, encoded, topology, True, True)
    if (tree.features, tree.classes) != (encoded.features, encoded.classes) or tree.depth > topology.depth:
        raise TreeError("it has other columns or classes, or is deeper")
    place, (chosen, label) = {split: at for at, split in enumerate(encoded.splits)}, blank_arrays(topology)
    stack: list[tuple[Node, int]] = [(tree.root, 1)]
    while stack:
        node, t = stack.pop()
        if isinstance(node, Leaf):
            label[t] = node.label
            continue
        if node.split not in place:
            raise TreeError(f"it splits on {node.split.words(encoded.features)[0]!r}, which is not a split of this run")
        chosen[t] = at = place[node.split]
        sides = (node.right, node.left) if encoded.ones_left[at] else (node.left, node.right)
        stack += [(sides[0], 2 * t), (sides[1], 2 * t + 1)]
    return HeapTree(chosen, label)


def _wrong_best(done: Fit, best: float) -> str:
    """Return why this is not the best objective of a run, in words; "" if it is."""
    problem, paid, bound = done.problem, done.proof.objective, done.proof.bound
    if bound is not None and is_below(problem, best, bound):
        return f"its best tree costs {best:.10g}, and the run says that none costs less than {bound:.10g}"
    if paid is not None and is_below(problem, paid, best):
        return f"its best tree costs {best:.10g}, and the tree of the run {paid:.10g}"
    return ""


def _wrong_sums(near: NearOptimalSet, problem: Problem) -> str:
    """Return the first statement of a set that contradicts its graph, or another of its figures; "" for none."""
    facts = near.facts
    least, most = min(near.objectives, default=facts["best"]), max(near.objectives, default=facts["best"])
    if is_beyond(problem, facts["best"], least):
        return f"it holds a tree of {least:.10g}, and its best is {facts['best']:.10g}"
    if is_beyond(problem, most, facts["limit"]):
        return f"it holds a tree of {most:.10g}, and its limit is {facts['limit']:.10g}"
    sums = {name: sum(trees for _, trees in facts[name]) for name in ("leaves", "objectives")}
    short = len(facts["objectives"]) >= MAX_FILE_LINES
    if sums["leaves"] != facts["count"] or (sums["objectives"] != facts["count"] and not short):
        listed = f"lists {sums['leaves']:,} by leaves and {sums['objectives']:,} by objective"
        return f"it states {count_of(facts['count'], 'tree')}, and {listed}"
    if facts["objectives"] and not same_objective(problem, facts["objectives"][0][0], facts["best"]):
        return f"it lists a tree of {facts['objectives'][0][0]:.10g}, and its best is {facts['best']:.10g}"
    if near.graph is not None:
        by_leaves: dict[int, int] = {}
        for _, leaves, trees in near.cells():
            by_leaves[leaves] = by_leaves.get(leaves, 0) + trees
        if sorted(by_leaves.items()) != sorted(map(tuple, facts["leaves"])):
            return f"its graph has {count_of(sum(by_leaves.values()), 'tree')}, and it states {facts['count']:,}"
    return ""

"""The model over paths that end `tail` levels above the leaves: its linear program, and its points as trees.

The formula is in odtc.formulations.cg; the paths are defined in odtc.formulations.cg.decision_paths.
"""

import numpy as np

from odtc.algorithms.dp.shallow_trees import graft_subtree
from odtc.base.text import count_of
from odtc.base.whole_numbers import as_written
from odtc.base.wording import param
from odtc.errors import TreeError
from odtc.formulations.cg.column_pool import MARK, Columns, columns_asked, follow_tree
from odtc.formulations.cg.decision_paths import Paths
from odtc.formulations.cg.initial_columns import (
    Held,
    columns_of,
)
from odtc.formulations.cg.pricing_mip import pricing_model
from odtc.formulations.cg.restricted_master import RestrictedMaster
from odtc.model.blocks import Axis
from odtc.model.builder import ModelBuilder
from odtc.model.milp import Model
from odtc.problem.problem import Problem
from odtc.problem.roles import Role
from odtc.trees.heap_tree import HeapTree, settle, with_min_leaf_rows


def build(problem: Problem) -> Model:
    columns, over = columns_of(problem), problem.derived(Held).over_all
    if over is not None and over.interrupted:
        raise KeyboardInterrupt  # as soon as a caller can return its tree
    paths, m = columns.paths, ModelBuilder(f"cg_d{problem.topology.depth}")
    ends, n, width = len(paths.ends), len(columns), len(paths.candidates) + 1
    end, members, place = _asked(columns)
    x = m.columns("x", Axis("path", n), role=Role.PATH, cost=columns.cost() * paths.unit, integer=True)
    p = np.arange(n)
    pick = m.rows("pick", Axis("end", ends, int(paths.ends[0])), lower=1, upper=1)  # (4)
    m.add(pick[end], x[p])
    if paths.depth:
        rho = m.columns("rho", Axis("node", len(paths.upper), 1), Axis("split", width), integer=True, positions=members)
        # One constraint for each end, level and split that is used there or by another end below the node.
        links: dict = {}
        for rank, cell in enumerate(members.tolist()):
            j = cell // width + 1
            up = paths.depth - j.bit_length() + 1
            for e in range(j << up, (j + 1) << up):
                links[e, rank] = len(links)
        link = m.rows("link", Axis("link", len(links)), lower=0, upper=0)  # (6)
        row = np.array([[links[e, rank] for rank in ranks] for e, ranks in zip(end.tolist(), place.tolist())])
        m.add(link[row], x[p[:, None]])
        m.add(link[np.arange(len(links))], rho[np.array([rank for _, rank in links])], -1)
    if columns.cover:
        cover = m.rows("cover", Axis("group", len(columns.cover)), lower=1, upper=1)  # (5)
        at, group = np.nonzero(paths.bits(columns.rows())[:, columns.cover])
        m.add(cover[group], x[at])
    m.constant(-problem.params.reward)
    return m.finish()


def start(problem: Problem, heap: HeapTree) -> dict[str, np.ndarray]:
    """Return a tree that `trimmed` made, as a point. Raises TreeError for a tree whose paths are not columns, or whose
    leaves or subtrees below the ends are not the best."""
    columns = columns_of(problem)
    paths, x = columns.paths, np.zeros(len(columns))
    chosen = columns.of_tree(columns_asked(paths, heap.split))
    if chosen is None:
        raise TreeError(
            f"a path of the tree is none of the {count_of(len(columns), 'column')} of the model; give the start of a "
            f"heuristic, or columns that hold it ({param('columns', 'all')}, or a file of odtc fit --model cg)"
        )
    x[chosen] = 1
    cost, paid = float(columns.cost()[chosen].sum()) * paths.unit - problem.params.reward, objective(problem, heap)
    if abs(cost - paid) > paths.near * paths.unit:
        raise TreeError(
            f"the tree costs {paid:.10g}, its columns {cost:.10g}: it has leaves, or subtrees below the ends of the "
            f"paths, that are not the best; give the tree that a heuristic makes, or set {param('tail', 0)}"
        )
    if not paths.depth:
        return {"x": x}
    cells, place = _asked(columns)[1:]
    rho = np.zeros(len(cells))
    rho[place[chosen]] = 1
    return {"x": x, "rho": rho}


def _asked(columns: Columns) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (ends (columns,); the cells of the grid node x split that some column uses, ascending; for each column and
    level, the position of its cell among these). The last split of the grid means "no split"."""
    paths, width = columns.paths, len(columns.paths.candidates) + 1
    split = np.full((len(columns), paths.depth), width - 1)
    for at, (_, t, number) in enumerate(columns.keys):
        way = paths.way(t, number)
        split[at, : len(way)] = way
    end = np.array([e for e, _, _ in columns.keys])
    cells, place = np.unique(
        ((end[:, None] >> paths.depth - np.arange(paths.depth)) - 1) * width + split, return_inverse=True
    )
    return end, cells, place.reshape(split.shape)


def trimmed(problem: Problem, heap: HeapTree) -> HeapTree:
    """Return a tree over the columns: this tree without nodes that no row needs, and with the best subtrees below the
    ends, which costs no more. If its paths are not columns, return the best tree over the columns."""
    columns, encoded, least = columns_of(problem), problem.encoded, problem.params.n_min
    paths, heap = columns.paths, settle(heap.split, encoded)
    tree = columns_asked(paths, (with_min_leaf_rows(heap, encoded, least) if least > 1 else heap).split)
    if columns.of_tree(tree) is None:
        return heap_of(problem, paths, columns.best())
    for t, number, _ in list(follow_tree(paths, tree)):
        if t >> paths.depth:
            graft_subtree(tree, t, paths.below[t][number])
    return heap_of(problem, paths, tree)


def heap_of(problem: Problem, paths: Paths, tree: np.ndarray) -> HeapTree:
    """Return the tree whose splits are given as columns of paths.X."""
    return settle(np.append(paths.candidates, -1)[tree].astype(np.int32), problem.encoded)


def decode(problem: Problem, point: dict[str, np.ndarray]) -> HeapTree:
    """Return the tree of a point: at each node the split that most of its columns use, and below each end the subtree
    of its column."""
    columns = columns_of(problem)
    paths, weight = columns.paths, {}
    for at in np.flatnonzero(point["x"] > 1e-9).tolist():
        _, t, number = columns.keys[at]
        way = [*paths.way(t, number), *([-1] if t < 1 << paths.depth else [])]
        for level, split in enumerate(way):
            node = t >> (t.bit_length() - 1 - level)
            share = weight.setdefault((node, tuple(way[:level])), {})
            share[split] = share.get(split, 0.0) + point["x"][at]
    tree, stack = np.full(2 ** (problem.topology.depth + 1), -1, np.int32), [(1, 0, ())]
    while stack:
        t, number, way = stack.pop()
        if t >> paths.depth:
            graft_subtree(tree, t, paths.below[t][number])
            continue
        share = weight.get((t, way), {})
        split = max(share, key=share.get, default=-1)
        if split < 0:
            continue
        place = int(np.flatnonzero(paths.splits[t] == split)[0])
        tree[t] = split
        stack += [(2 * t + side, int(paths.child[t][number, place, side]), (*way, split)) for side in (0, 1)]
    return heap_of(problem, paths, tree)


def objective(problem: Problem, heap: HeapTree) -> float:
    """Return loss + reward · (used leaves - 1): the paper's reward for empty leaves, relative to a tree with one used
    leaf."""
    return float(heap.exact_loss(problem.encoded) + as_written(problem.params.reward) * heap.n_branch_nodes)


def pricing(problem: Problem, leaf: int) -> Model:
    """Return the pricing problem of the end above a leaf, at the duals of the relaxation over the current columns."""
    columns = columns_of(problem)
    return pricing_model(columns.paths, RestrictedMaster(columns).solve().duals, leaf >> columns.paths.tail)


def scope(problem: Problem) -> str:
    """Return the trees that the model represents, in words; "" if these are all."""
    columns = columns_of(problem)
    if not problem.params.columns.startswith(MARK) and not some_splits(problem, columns.paths):
        return ""
    return f"trees over the {count_of(len(columns), 'column')} of the model"


def some_splits(problem: Problem, paths: Paths) -> str:
    """Return a text that names the splits that the nodes may use; "" if these are all."""
    asked = [len(paths.splits[t]) for t in problem.topology.branch_nodes.tolist()]
    F = problem.encoded.n_candidate_splits
    if min(asked, default=F) == F:
        return ""
    if min(asked) < len(paths.candidates):
        return f"the splits that were chosen for each node, {len(paths.candidates)} of {F}"
    return f"the {len(paths.candidates)} of {count_of(F, 'split', '')} that were chosen"

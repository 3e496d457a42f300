"""All near-optimal trees, as figures and a file: their number by objective and leaves, important columns, a sample.

Importance of a column is model reliance (Fisher, Rudin & Dominici 2019, "All Models are Wrong, but Many are Useful"):
by how much the loss of a tree rises if the column's cells are exchanged among the rows, on average over all
permutations, as a share of the largest possible loss of all rows. Over the trees of a sample its range is an interval
inside of the model class reliance, and equal to it if the sample is the whole set. The savings of the splits on a
column (`saved`) are given as the least and the greatest over the whole set, by its graph: the loss of the rows of each
such split as one leaf, less the loss of both children as leaves, summed over a tree's splits on the column.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from odtc.algorithms.near_optimal.stored_graph import StoredGraph, count_using, fewest_columns
from odtc.base import deadline
from odtc.base.json_schema import ANY, FLAG, NUMBER, TEXT, WHOLE, SchemaError, list_of, read_if_of, validate
from odtc.base.text import count_of
from odtc.base.value_class import value_class
from odtc.base.wording import option
from odtc.data.encoding import of_each_column
from odtc.errors import ChoiceError, TreeError
from odtc.problem.branch_penalty import without_noise
from odtc.problem.formulation import FORMULATIONS, CountsNearOptimal
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree
from odtc.trees.tree import Tree

SCHEMA = "odtc.near-optimal/1"
SUFFIX = ".near-optimal.json"
SAMPLED = 100  # trees of the sample in a file
MAX_FILE_LINES = 1000  # lines of a table in a file
GRAPH = 0.5  # of the time that is left, for the graph
ROUNDING = 1e-12  # of the largest possible loss of all rows: less is not reliance
MOST_SAVED = 300_000  # arcs times columns, up to which the savings of a column's splits are counted
MOST_CELLS = 50_000_000  # of a table that a file may require
SHOWN = 12  # lines of a table in a text
MOST_USING = 10  # required columns of a tree, because each doubles the work


@value_class
class Within:
    """Largest distance from the best: `value` in units of the objective, or as a part of the best objective."""

    value: float
    relative: bool = False

    @classmethod
    def of(cls, given: "float | str | Within") -> "Within":
        """Return the distance for a number, or for a text such as "5%". Raises ChoiceError for another."""
        if isinstance(given, Within):
            return given
        text = str(given).strip()
        try:
            value = float(text.removesuffix("%"))
        except ValueError:
            value = -1.0
        if not 0 <= value < float("inf"):
            raise ChoiceError(f"--within: expected a number of at least 0, or a share such as 5%, got {text!r}")
        return cls(value / 100, True) if text.endswith("%") else cls(value)

    def above(self, best: float) -> float:
        """Return the greatest distance from a best objective."""
        return self.value * abs(best) if self.relative else self.value


@dataclass(frozen=True, repr=False)
class NearOptimalSet:
    """All near-optimal trees.

    Attributes
    ----------
    facts : dict, the content of the file: `count`, exact if `complete`, otherwise the number of trees that were
        found; `best`, proved if `proved`; `limit`, the greatest objective; `leaves` and `objectives` as lists of
        [value, trees]; `columns` with trees, share, the best objectives with and without the column, the savings of
        its splits, in units of the objective, and reliance; `fewest_columns`; `sample`
    trees, objectives : of the sample
    """

    facts: dict
    trees: tuple[Tree, ...] = ()
    objectives: tuple[float, ...] = ()
    _counts: dict = field(default_factory=dict, repr=False, compare=False)

    @property
    def count(self) -> int:
        """The number of trees."""
        return self.facts["count"]

    @property
    def complete(self) -> bool:
        """Return whether these are all trees within the limit."""
        return self.facts["complete"]

    @property
    def words(self) -> str:
        """The number of trees, in words."""
        facts = self.facts
        best = f"{'the best' if facts['proved'] else 'the best found'}: {facts['best']:.10g}"
        said = (
            f"{count_of(facts['count'], 'tree')} of depth {facts['depth']} or less with an objective of at most "
            f"{facts['limit']:.10g} ({best})"
        )
        return said if facts["complete"] else f"at least {said}: {facts['stopped']} came first"

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns that splits use."""
        return tuple(column["name"] for column in self.facts["columns"])

    @cached_property
    def graph(self) -> StoredGraph | None:
        """The AND/OR graph; None if it is too large for a file."""
        stored = self.facts["graph"]
        return None if stored is None else StoredGraph(stored["unit"], stored["penalty"], stored["states"])

    def __str__(self) -> str:
        return self.text().rstrip("\n")

    def __repr__(self) -> str:
        return f"<NearOptimalSet: {self.words}>"

    def text(self, using=(), without=(), leaves: int | None = None) -> str:
        """Return the text of `odtc show`: the whole set, or the trees of some columns and leaves (see `cells`)."""
        if using or without or leaves is not None:
            return _constrained(self, using, without, leaves)
        return _text(self)

    def cells(self, using=(), without=(), leaves: int | None = None) -> list[tuple[float, int, int]]:
        """Return (objective, leaves, trees) of the trees that split on all columns of `using` and none of `without`,
        with at most `leaves` leaves, the best first.

        Parameters
        ----------
        using, without : names of columns
        leaves : int or None

        Raises
        ------
        ChoiceError
            If a column is unknown, or the graph is not there.
        """
        wanted, refused = (self._numbers(names) for names in (using, without))
        if len(wanted) > MOST_USING:
            raise ChoiceError(f"--using: expected at most {count_of(MOST_USING, 'column', '')}, got {len(wanted)}")
        if self.graph is None:
            raise ChoiceError(
                "the file has no graph to count such trees by, as it would be too large; give a smaller --within, "
                f"fewer splits or a smaller {option('depth')}"
            )
        found: dict[tuple[int, int], int] = {}
        for b, x in self._counted(frozenset(range(len(self.names))) - set(refused)):
            found[b, x] = count_using(
                lambda columns, cell=(b, x): self._counted(frozenset(columns)).get(cell, 0),
                range(len(self.names)),
                wanted,
                refused,
            )
        unit, price = self.graph.unit, self.graph.price
        base, scale = self.facts["graph"]["objective"]
        rest = price - price // unit * unit
        listed = [
            (without_noise(base + scale * (unit * x + rest * b)), b + 1, trees)
            for (b, x), trees in found.items()
            if trees and (leaves is None or b < leaves)
        ]
        return sorted(listed)

    def _counted(self, columns: frozenset) -> dict:
        """{(branch nodes, cost in the graph's units): trees} of the trees that split on only these columns."""
        if columns not in self._counts:
            self._counts[columns] = {(b, x): trees for b, x, trees in self.graph.count(columns).cells()}
        return self._counts[columns]

    def _numbers(self, names) -> list[int]:
        for name in names:
            if name not in self.names:
                raise ChoiceError(f"expected a column that splits use ({', '.join(self.names)}), got {name!r}")
        return sorted({self.names.index(name) for name in names})


def expect_within(problem: Problem, within) -> Within:
    """Return `within`, parsed; raises ChoiceError if the near-optimal trees of a problem cannot be counted."""
    expect_able(problem, CountsNearOptimal, "count")
    problem.module.expect_counting(problem)
    return Within.of(within)


def expect_able(problem: Problem, ability: type, verb: str) -> None:
    """Raise ChoiceError if the formulation, or its model under the constraints, cannot rank or count near-optimal
    trees."""
    if not problem.module.can(ability):
        raise ChoiceError(
            f"{problem.formulation} cannot {verb} the near-optimal trees; use "
            f"{option('model', *FORMULATIONS.able(ability))}"
        )
    problem.module.expect_ranking(problem)


def near_optimal_set(
    problem: Problem, within: float | str, seconds: float | None = None, known: HeapTree | None = None, seed: int = 0
) -> NearOptimalSet:
    """Count all near-optimal trees of a problem without listing them.

    Parameters
    ----------
    problem : Problem
        Of a formulation with the ability CountsNearOptimal.
    within : float or str
        How far above the best objective: a number, or a share of it such as "5%".
    seconds : float or None
        How long it may take; half of the free memory and Ctrl-C end the count, too.
    known : HeapTree or None
        A good tree.
    seed : int
        Of the sample.

    Returns
    -------
    NearOptimalSet
        The exact number of trees, or the number that was found, and the cause of the end of the count.

    Raises
    ------
    ChoiceError
        If the formulation or a constraint does not allow it.
    """
    wanted = expect_within(problem, within)
    with deadline.within(seconds):
        problem, known = _of_each_column(problem, known)
        found = problem.module.near_optimal_trees(problem, wanted.value, wanted.relative, known)
        drawn = found.sample(SAMPLED, seed)
        graph = None
        with deadline.cut_short(), deadline.within(deadline.time_share(float("inf"), GRAPH)):
            graph = found.graph()
        cells = found.cells()
        facts = {
            "schema": SCHEMA,
            "count": found.count,
            "complete": found.complete,
            "stopped": found.stopped,
            "depth": problem.topology.depth,
            "best": found.best,
            "proved": found.proved,
            "limit": found.limit,
            "leaves": _summed((leaves, trees) for _, leaves, trees in cells),
            "objectives": _summed((value, trees) for value, _, trees in cells)[:MAX_FILE_LINES],
            "columns": _columns(problem, found, drawn, graph),
            "fewest_columns": _fewest(found),
            "sample": {"seed": seed, "whole": found.complete and len(drawn) == found.count, "trees": []},
            "graph": graph,
        }
        trees = tuple(heap.to_tree(problem.encoded) for _, heap in drawn)
    values = tuple(value for value, _ in drawn)
    facts["sample"]["trees"] = [{"objective": v, "tree": tree.to_json()} for v, tree in zip(values, trees)]
    return NearOptimalSet(facts, trees, values)


def _of_each_column(problem: Problem, known: HeapTree | None) -> tuple[Problem, HeapTree | None]:
    """Return the problem with the splits of each column separately, because they distinguish trees, and the tree over
    these."""
    each = of_each_column(problem.encoded)
    if each is None:
        raise ChoiceError(
            "the splits of two columns separate the rows in the same way, and the data is not there to distinguish them"
        )
    if each is problem.encoded:
        return problem, known
    if known is not None:
        known = HeapTree.from_tree(known.to_tree(problem.encoded), each, problem.topology, True)
    return replace(problem, encoded=each), known


def _summed(pairs) -> list:
    found: dict = {}
    for value, trees in pairs:
        found[value] = found.get(value, 0) + trees
    return [[value, found[value]] for value in sorted(found)]


def _columns(problem, found, drawn, graph) -> list[dict]:
    """Return the importance of each column; `trees` and the figures derived from it are None if the time or the count
    ended before."""
    every = frozenset(range(len(found.columns)))
    listed = []
    with_all, saved = found.cells(), _saved(found, graph)
    for number, name in enumerate(found.columns):
        facts = {"name": name, "trees": None, "share": None, "best_with": None, "best_without": None}
        with deadline.cut_short():
            if found.complete:
                without = found.cells(every - {number})
                trees = found.count - sum(cell[2] for cell in without)
                left = {cell[:2]: cell[2] for cell in without}
                own = [value for value, leaves, many in with_all if many > left.get((value, leaves), 0)]
                facts |= {
                    "trees": trees,
                    "share": trees / found.count,
                    "best_with": own[0] if own else None,
                    "best_without": without[0][0] if without else None,
                }
        facts |= {"saved": saved.get(number)}
        listed.append(facts | {"reliance": _reliances(problem, name, [heap for _, heap in drawn])})
    return listed


def _saved(found, graph) -> dict[int, dict]:
    """Return for each column the least and the greatest saving of its splits in a tree, as far as there is a graph and
    time."""
    saved: dict[int, dict] = {}
    if graph is None:
        return saved
    stored = StoredGraph(graph["unit"], graph["penalty"], graph["states"])
    if stored.n_arcs * len(found.columns) > MOST_SAVED:
        return saved
    with deadline.cut_short():
        for number in range(len(found.columns)):
            least, greatest = (
                without_noise(graph["objective"][1] * stored.unit * x) for x in stored.saved(number) or (0, 0)
            )
            saved[number] = {"least": least, "greatest": greatest}
    return saved


def _fewest(found) -> dict | None:
    """Return the fewest distinct columns of a tree, and the first such columns."""
    if not found.complete:
        return None
    fewest = None
    with deadline.cut_short():
        fewest = fewest_columns(lambda allowed: len(found.cells(frozenset(allowed))), range(len(found.columns)))
    return fewest and {"columns": fewest[0], "names": [found.columns[j] for j in fewest[1]]}


def _reliances(problem: Problem, name: str, heaps: list[HeapTree]) -> dict | None:
    """Return the least, mean and greatest model reliance of trees on a column."""
    places = [j for j, feature in enumerate(problem.encoded.features) if feature.name == name]
    if not places or not heaps:
        return None
    found = [reliance(problem, heap, places[0]) for heap in heaps]
    return {"least": min(found), "mean": sum(found) / len(found), "greatest": max(found)}


def reliance(problem: Problem, heap: HeapTree, feature: int) -> float:
    """Return the rise of the loss if the cells of a column are exchanged among the rows, on average over all
    permutations, as a share of the greatest loss that all rows can have.

        Σ_i Σ_j loss(i, tree(row i with the column of row j)) / n - Σ_i loss(i, tree(row i))

    A leaf is reached by row i with the cell of row j if i passes all splits on the path that do not look at the column,
    and j those that do. It is 0 for a tree that does not split on the column.

    Parameters
    ----------
    problem : Problem
    heap : HeapTree
    feature : int
    """
    encoded = problem.encoded
    if not any(feature in encoded.splits[split].features for split in heap.split.tolist() if split >= 0):
        return 0.0
    rows, paid = encoded.copies.sum(), 0.0
    everyone = np.ones(encoded.n_rows, bool)
    stack = [(1, everyone, everyone)]
    while stack:
        node, others, own = stack.pop()
        if heap.split[node] < 0:
            paid += encoded.copies[own].sum() / rows * encoded.loss[others, heap.label[node]].sum()
            continue
        ones = encoded.X[:, int(heap.split[node])]
        mine = feature in encoded.splits[heap.split[node]].features
        for side, answer in enumerate((~ones, ones)):
            stack.append((2 * node + side, others if mine else others & answer, own & answer if mine else own))
    share = (paid - heap.loss(encoded)) / max(encoded.loss.max(axis=1).sum(), 1e-300)
    return float(share) if abs(share) > ROUNDING else 0.0


def _text(found: NearOptimalSet) -> str:
    """Return the whole set, as `odtc show` prints it."""
    facts = found.facts
    lines = [found.words, ""]
    lines += ["leaves  trees", *(f"{value:6}  {trees:,}" for value, trees in facts["leaves"]), ""]
    lines += ["objective  trees", *(f"{value:9.10g}  {trees:,}" for value, trees in facts["objectives"][:SHOWN])]
    if len(facts["objectives"]) > SHOWN:
        lines.append(f"… up to {facts['limit']:.10g}")
    drawn, whole = len(found.trees), facts["sample"]["whole"]
    over = "all trees" if whole else f"{count_of(drawn, 'tree', '')} drawn"
    lines += [
        "",
        "column: trees that split on it, best objective with and without it, what its splits save (least to greatest "
        f"of all trees), reliance (least to greatest of {over})",
    ]
    lines += [_column_line(column) for column in sorted(facts["columns"], key=lambda one: -(one["share"] or 0))]
    if facts["fewest_columns"]:
        fewest = facts["fewest_columns"]
        lines += ["", f"fewest columns: {fewest['columns']} ({', '.join(fewest['names']) or 'none'})"]
    if not drawn:
        return "\n".join([*lines, "", "no tree was drawn in the time that was left"]) + "\n"
    seed = "" if whole else f" with seed {facts['sample']['seed']}"
    lines += ["", f"{over}{seed}; --tree N shows one"]
    lines += tree_lines(found.trees[:SHOWN], found.objectives)
    if drawn > SHOWN:
        lines.append("…")
    return "\n".join(lines) + "\n"


def tree_lines(trees: Iterable[Tree], objectives: Iterable[float]) -> list[str]:
    """Return the table of a list of trees: the head, and a line for each."""
    return ["tree  objective  leaves  depth  features"] + [
        f"{at:4}  {value:9.10g}  {tree.n_leaves:6}  {tree.depth:5}  {', '.join(tree.used_names)}"
        for at, (tree, value) in enumerate(zip(trees, objectives), 1)
    ]


def _column_line(column: dict) -> str:
    reliance = column["reliance"]
    spread = f", {100 * reliance['least']:.3g} % to {100 * reliance['greatest']:.3g} %" if reliance else ""
    if saved := column.get("saved"):
        spread = f", {saved['least']:.6g} to {saved['greatest']:.6g}{spread}"
    if column["trees"] is None:
        return f"{column['name']}: not counted{spread}"
    best = ["–" if column[key] is None else f"{column[key]:.10g}" for key in ("best_with", "best_without")]
    return f"{column['name']}: {column['trees']:,} ({100 * column['share']:.3g} %), {best[0]} and {best[1]}{spread}"


def _constrained(found: NearOptimalSet, using, without, leaves: int | None) -> str:
    cells = found.cells(using, without, leaves)
    trees = sum(many for _, _, many in cells)
    conditions = [f"split on {name}" for name in using] + [f"do not split on {name}" for name in without]
    conditions += [] if leaves is None else [f"have at most {count_of(leaves, 'leaf', '')}"]
    lines = [f"{trees:,} of {count_of(found.count, 'tree')} {' and '.join(conditions)}"]
    by_leaves: dict = {}
    for value, many_leaves, many in cells:
        best, before = by_leaves.get(many_leaves, (value, 0))
        by_leaves[many_leaves] = min(best, value), before + many
    if by_leaves:
        lines += ["", "leaves  best objective  trees"]
        lines += [f"{at:6}  {best:14.10g}  {many:,}" for at, (best, many) in sorted(by_leaves.items())]
    return "\n".join(lines) + "\n"


def near_optimal_text(problem: Problem, within, left: float | None, known: HeapTree | None = None) -> tuple[str, str]:
    """Count the near-optimal trees in the seconds that are left; return the text of STEM.near-optimal.json, and the
    result in a sentence."""
    found = near_optimal_set(problem, within, left, known)
    return json.dumps(found.facts, ensure_ascii=False) + "\n", found.words


def read_near_optimal_set(path) -> NearOptimalSet | None:
    """Read the set of a file, None if it has none; raises TreeError for one that is not whole."""
    facts = read_if_of(path, SCHEMA, SUFFIX, "set of trees", "make it again with --within", TreeError)
    if facts is None:
        return None
    try:
        validate(facts, SHAPE)
        if facts["graph"] is not None:
            _expect_graph(facts)
        return NearOptimalSet(facts, *listed_trees(facts["sample"]["trees"], "sample.trees"))
    except (SchemaError, TreeError) as problem:
        raise TreeError(f"the set {str(path)!r} is damaged: {problem}; make it again with --within") from None


def listed_trees(entries: list[dict], place: str) -> tuple[tuple[Tree, ...], tuple[float, ...]]:
    """Return (trees, objectives) of a list of both at this place of a file. Raises TreeError."""
    trees = tuple(Tree.from_json(one["tree"], f"{place}[{at}].tree") for at, one in enumerate(entries))
    return trees, tuple(float(one["objective"]) for one in entries)


MAYBE = (None, NUMBER)
SHAPE = {
    "count": WHOLE,
    "complete": FLAG,
    "stopped": TEXT,
    "depth": WHOLE,
    "best": NUMBER,
    "proved": FLAG,
    "limit": NUMBER,
    "leaves": [list_of(2, WHOLE)],  # of a tree, and the number of such trees
    "objectives": [list_of(2, NUMBER)],
    "columns": [
        {
            "name": TEXT,
            "trees": (None, WHOLE),
            **dict.fromkeys(("share", "best_with", "best_without"), MAYBE),
            "saved?": (None, {"least": NUMBER, "greatest": NUMBER}),
            "reliance": (None, {"least": NUMBER, "mean": NUMBER, "greatest": NUMBER}),
        }
    ],
    "fewest_columns": (None, {"columns": WHOLE, "names": [TEXT]}),
    "sample": {"seed": WHOLE, "whole": FLAG, "trees": [{"objective": NUMBER, "tree": ANY}]},
    "graph": (None, {"unit": WHOLE, "penalty": WHOLE, "objective": [NUMBER], "states": [[ANY]]}),
}


def _expect_graph(facts: dict) -> None:
    """Raise SchemaError if the states of a graph are inconsistent."""
    graph, columns = facts["graph"], len(facts["columns"])
    whole = graph["unit"] >= 1 and graph["penalty"] >= 0 and len(graph["objective"]) == 2 and graph["states"]
    if not whole:
        raise SchemaError("expected units of at least 1 and some states at graph")
    for at, state in enumerate(graph["states"]):
        place = f"graph.states[{at}]"
        if len(state) != 5:
            raise SchemaError(f"expected 5 entries at {place}, got {len(state)}")
        validate(state[:4], [WHOLE], place)
        validate(state[4], [[WHOLE]], f"{place}[4]")
        height, leaf, lower, budget, arcs = state
        if not (0 <= height <= facts["depth"] and 0 <= leaf and 0 <= lower <= budget + 1):
            raise SchemaError(f"expected a height, costs and a budget that fit at {place}")
        if (budget - lower) // graph["unit"] * 2**height > MOST_CELLS:
            raise SchemaError(f"expected costs near each other at {place}")
        for arc in arcs:
            fits = len(arc) == (3 if height == 1 else 5) and height and 0 <= arc[0] < columns and arc[1] >= 0
            if fits and height > 1:
                fits = all(0 <= side < at and graph["states"][side][0] == height - 1 for side in arc[2:4])
            if not fits:
                raise SchemaError(f"expected arcs to columns and to states before it at {place}[4]")

"""cg: a tree is one path for each end, and a path is a column; for data too large for a constraint per row.

Firat, Crognier, Gabor, Hurkens & Zhang (2020), section 4.1, as costs; the paths are defined in
odtc.formulations.cg.decision_paths:

    min  Σ_e Σ_{p∈P(e)} c_p x_p                                                           (3)
         Σ_{p∈P(e)} x_p = 1                                   e                           (4)
         Σ_e Σ_{p∈P(e): r∈R_p} x_p = 1                        r covered                   (5)
         Σ_{p∈P(e): s_j(p)=a} x_p = ρ_ja                      e, j above e, a             (6)
         x_p, ρ_ja ∈ {0, 1}                                                               (7, 8)

The ends e are the nodes `tail` levels above the leaves, and a column includes the best subtree below its end; with
tail=0 they are the leaves, as printed. A path may stop at a node that does not branch. A file contains the columns
generated so far: all if they are few, otherwise those that `odtc build` generates in some rounds or that `odtc fit`
left in STEM.columns.json. Its optimum is the optimum over its columns. `odtc fit` generates columns until none
improves the relaxation, and reports over which splits its tree is the best.
"""

import json
from dataclasses import replace
from types import ModuleType

import numpy as np

from odtc.base.value_class import value_class
from odtc.base.wording import param
from odtc.errors import ChoiceError
from odtc.formulations.cg import initial_columns, path_model, path_search, printed_fit
from odtc.formulations.cg.column_pool import ColumnPool
from odtc.formulations.cg.initial_columns import Held, is_printed, is_small, tail_of
from odtc.formulations.cg.over_all_splits import Stopped
from odtc.formulations.cg.path_model import objective as objective
from odtc.model.milp import Model
from odtc.model.solution import Solution
from odtc.problem.constraints.kind import Subject
from odtc.problem.estimates import Counts
from odtc.problem.formulation import MERGED, OTHER, SAME, TIGHTER, ModelChange
from odtc.problem.parameters import merge_rows, parameter
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree

NAME = "cg"
TITLE = "Column generation: a column is a path with its subtree; proves the best tree over chosen splits"
PAPER = (
    "Firat, Crognier, Gabor, Hurkens & Zhang (2020), Column generation based heuristic for learning "
    "classification trees"
)
ANY_COST = True
TIMED = True  # `fit` receives the remaining time in seconds
GROWS = True  # the last model has other columns than the first one
FIT_DEFAULTS = {"columns": "start"}
CHANGES = (
    ModelChange("search=true: a search over all splits finds the first tree (undo: search=false)", SAME, SAME),
    ModelChange(
        "tail=auto: a path ends above the leaves, with its best subtree (undo: tail=0, literal=true)", SAME, TIGHTER
    ),
    ModelChange(
        "a path may stop above its end, and each of its splits separates rows (undo: literal=true)", SAME, OTHER
    ),
    ModelChange("(5) has only rows that a relaxation has violated (undo: literal=true)", SAME, OTHER),
    MERGED,
)
VARIANTS = (
    {"tail": "0"},
    {},
    {"tail": "2"},
    {"reward": 0.25},
    {"n_min": 2, "tail": "0"},
    {"n_min": 2, "reward": 0.25},
    {"search": False, "splits": "all"},
    {"literal": True},
)


@value_class
class Params:
    splits: str = parameter(
        "auto",
        "the splits of the nodes: all; those that threshold sampling finds for each node, or for any (pooled); "
        "auto: all if they are few, else pooled, and sampled with search=false",
        choices=("auto", "all", "sampled", "pooled"),
    )
    q: int = parameter(100, "threshold sampling keeps the q most frequent splits of a node, of the root all", least=1)
    seed: int = parameter(0, "of the threshold sampling and the random paths", least=0)
    tail: str = parameter(
        "auto",
        "levels above the leaves at which paths end (0: at the leaves, as printed; auto: 2, at depth 2 one)",
        choices=("auto", "0", "1", "2"),
    )
    exact: bool = parameter(False, "fit: branch and price, if the relaxation leaves a gap")
    reward: float = parameter(
        0.0, "reward of an empty leaf: min errors + reward (used leaves - 1)", least=0, below=float("inf")
    )
    n_min: int = parameter(0, "least number of rows in a leaf that is not empty", least=0)
    columns: str = parameter(
        "auto", "auto (all if they are few, else generated), all, start (of a first tree), or a file STEM.columns.json"
    )
    rounds: int = parameter(20, "of column generation, for a file", least=0)
    final: str = parameter(
        "auto",
        "fit: how the best tree of the last master is found: by a dynamic program over its paths, or by the solver "
        "(mip); auto: mip with search=false, else paths",
        choices=("auto", "paths", "mip"),
    )
    threads: int = parameter(1, "ends whose paths are evaluated side by side", least=1, below=65)
    merge: bool = merge_rows()
    search: bool = parameter(
        True,
        "fit: search over all splits, then generate columns; false: the method of the paper (threshold sampling, "
        "CART's paths, random paths, pricing problems, master) with the parameters below",
    )
    literal: bool = parameter(
        False, "master and pricing problem as printed, with a row (5) for every row; implies search=false and tail=0"
    )
    initial: str = parameter("cart", "the tree that gives the first columns", choices=("cart", "random"))
    heuristic: bool = parameter(True, "price by random paths first")
    pricing_mip: bool = parameter(
        True, "solve the pricing problems (11)-(18) of all leaves and classes when random paths find nothing"
    )
    pool_size: int = parameter(400, "random paths of a draw, and those that are kept for the next", least=1)
    pool_leaves: int = parameter(4, "leaves to which the first draw of a round goes, the most promising ones", least=1)
    pool_columns: int = parameter(40, "most columns that a draw adds", least=1)
    pool_tries: int = parameter(10, "draws without a promising path before pricing problems are solved", least=1)
    max_rounds: int = parameter(10_000, "fit: rounds after which the method ends", least=0)


def limited(problem: Problem, start: HeapTree | None = None) -> tuple[Problem, Stopped | None]:
    """Return the problem, and the result of the search over all splits if Ctrl-C ended it, because then there is no
    model."""
    over = problem.derived(Held).over_all
    return problem, over.stopped if over is not None and over.interrupted else None


def so_far(problem: Problem) -> Stopped | None:
    """Return the result so far of the search over all splits."""
    over = problem.derived(Held).over_all
    return None if over is None else replace(over.stopped, interrupted=False)


def prepared(problem: Problem) -> Problem:
    """Return the problem with the columns that its model begins with in its parameters."""
    return (printed_fit if is_printed(problem.params) else initial_columns).prepared(problem)


def _variant(problem: Problem) -> ModuleType:
    """Return the module of the model that the parameters choose."""
    return printed_fit if is_printed(problem.params) else path_model


def build(problem: Problem) -> Model:
    return _variant(problem).build(problem)


def counts(problem: Problem) -> Counts | None:
    """Return None if all paths are columns, because otherwise the columns come from a search."""
    if problem.params.columns == "all" or (problem.params.columns == "auto" and is_small(problem)):
        return None
    return Counts(words="its columns are the paths that a search finds")


def start(problem: Problem, heap: HeapTree) -> dict[str, np.ndarray]:
    """Return a tree that `trimmed` made, as a point. Raises TreeError for a tree whose paths are not columns, or whose
    leaves or subtrees below the ends are not the best."""
    return _variant(problem).start(problem, heap)


def trimmed(problem: Problem, heap: HeapTree) -> HeapTree:
    """Return a tree over the columns that costs no more than this tree if its paths are columns, otherwise the best
    tree over the columns."""
    return _variant(problem).trimmed(problem, heap)


def decode(problem: Problem, point: dict[str, np.ndarray]) -> HeapTree:
    return _variant(problem).decode(problem, point)


def least_rows(problem: Problem) -> int:
    return problem.params.n_min


def branch_penalty(problem: Problem) -> float:
    """Return the loss that a branch node must save, because it uses one more leaf."""
    return problem.params.reward


def loops(problem: Problem) -> bool:
    """Return True, because it is not known in advance which columns are needed."""
    return True


def instead(problem: Problem, given) -> str:
    """Return the parameter that replaces a side constraint, which this model does not contain."""
    return param("n_min", int(given.bound)) if given.name == "leaf_rows" else ""


def pricing(problem: Problem, leaf: int, label: int | None = None) -> Model:
    """Return the pricing problem of the end above a leaf, at the duals of the relaxation over the current columns;
    with search=false of a leaf and a class, as printed."""
    if is_printed(problem.params) != (label is not None):
        raise ChoiceError(
            f"--pricing: expected leaf=N,class=LABEL with {param('search', False)} or {param('literal', True)}, "
            f"because the printed pricing problem has a leaf and a class, and leaf=N without them"
        )
    if label is not None:
        return printed_fit.pricing(problem, leaf, label)
    return path_model.pricing(problem, leaf)


def scope(problem: Problem) -> str:
    """Return the trees that the model represents: over the chosen splits, or over the current columns, if others are
    left out."""
    return _variant(problem).scope(problem)


def fit(base: Model, solve, start=None, tell=None, left=None) -> tuple[Model, Solution]:
    """Generate columns, beginning with the model `base`; return the last master, and the best tree as a point of it.
    `left()` returns the seconds of the time limit that are left. Ctrl-C keeps the best tree."""
    fit_by = printed_fit if is_printed(base.problem.params) else path_search
    return fit_by.fit(base, solve, start, tell, left)


def beside(problem: Problem) -> dict[str, str]:
    """Return the additional files of `odtc fit`, by suffix: the columns, from which another run can continue."""
    depth, tail, encoded = problem.topology.depth, tail_of(problem), problem.encoded
    facts = ColumnPool.from_text(problem.params.columns, depth, tail, encoded).to_json(encoded, depth, tail)
    return {".columns.json": json.dumps(facts, ensure_ascii=False, separators=(",", ":")) + "\n"}


def subjects(params) -> tuple[Subject, ...]:
    """Return no subjects, because no side constraint becomes a model constraint. The least rows of a leaf are the
    parameter n_min, because the pricing respects it."""
    return ()


def unit_costs(problem: Problem) -> tuple[float, float]:
    return 1.0, problem.params.reward

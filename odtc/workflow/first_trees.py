"""Trees that are known at once: of the start, of CART, and of a search that takes a moment; none needs a model."""

from pathlib import Path

from odtc.base import deadline
from odtc.base.text import show_figure
from odtc.base.wording import option
from odtc.data.reading_spec import CLASSIFICATION
from odtc.errors import ChoiceError, TimeLimitReached, TreeError
from odtc.heuristics.heuristic import HEURISTICS, grow
from odtc.model.feasibility import is_close
from odtc.problem.constraints import constraint
from odtc.problem.formulation import searches
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree
from odtc.trees.tree import Tree, read_tree
from odtc.verification.verify import one_leaf

AUTO = "auto"  # the start that suits the formulation
UNCHANGED = "other columns or levels of the data differ, but none of its splits"
MOMENT_WORK = 20_000_000  # rows · splits^depth of a search that takes a tenth of a second
MOMENT_SECONDS = 2.0  # seconds that a search of a moment may take, if it has taken itself for shorter than it is


def start_name(problem: Problem, name: str | Path | None) -> str | Path | None:
    """Return the name of a start; "auto" is the heuristic that suits the formulation."""
    return problem.module.START if name == AUTO else name


def known_tree(problem: Problem, name: str | Path | None, say=None) -> HeapTree | None:
    """Return the tree that a start begins from, which needs no model; parameters as in `start`. With `say` the tree of
    a file that does not fit is projected (odtc.problem.projection), or dropped, and a sentence reports this."""
    if name in (None, "none"):
        return None
    if not is_tree_file(name):
        heap = grow(
            str(start_name(problem, name)),
            problem.encoded,
            problem.topology,
            problem.module.branch_penalty(problem),
            **constraint.limits(problem),
        )
        if heap.beyond is not None and not problem.module.BEYOND:
            raise ChoiceError(
                f"the start {name!r} uses hyperplanes, but {problem.formulation} supports only the splits of the "
                f"encoding; use {option('start', 'cart')}, or provide hyperplanes ({option('encoding', 'oblique')})"
            )
        return heap
    tree = read_tree(name)
    try:
        heap = HeapTree.from_tree(tree, problem.encoded, problem.topology, problem.module.BEYOND)
        constraint.expect(problem, heap)
        return heap
    except TreeError as refused:
        if say is None:
            raise
        return _projected(problem, tree, name, refused, say)


def _projected(problem: Problem, tree: Tree, name, refused: TreeError, say) -> HeapTree | None:
    """Return the tree as one of the problem that satisfies the constraints, None if this is not possible, and report
    it."""
    from odtc.problem.projection import project_tree

    found = project_tree(tree, problem)
    try:
        heap = own_tree(problem, found.heap)
    except TreeError:
        heap = None
    violated = ", ".join(f"{given} ({show_figure(value)})" for given, value in constraint.broken(problem, found.heap))
    broken = f"with the best predictions for these rows it violates {violated}" if violated else str(refused)
    why = [] if heap is not None else [broken]
    changes = "; ".join([*map(str, found.changes), *why])
    told = "is left out" if heap is None else "is adapted to these data" if changes else "is used without a change"
    say(f"the start {str(name)!r} {told}: {changes or UNCHANGED}")
    return heap


def is_tree_file(name: str | Path | None) -> bool:
    """Return whether a start is the file of a tree, not the name of a heuristic."""
    known = str(name).partition(":")[0] in (*HEURISTICS.names(), AUTO, "none", "None")
    return str(name).endswith(".json") or (not known and Path(str(name)).is_file())


def greedy(problem: Problem) -> list[tuple[str, HeapTree]]:
    """Return CART's tree, converted to one of the formulation's, by name; [] if it cannot be made to satisfy the
    constraints. If the formulation searches by itself, all trees over the candidate splits are its own, and
    `trimmed` would search for the best one. A tree whose loss differs from CART's was changed by the conversion, and
    its name states this."""
    try:
        cart = known_tree(problem, "cart")
        heap = own_tree(problem, cart)
    except (ChoiceError, TreeError):
        return []
    if cart is None or heap is None:
        return []
    same = is_close(cart.loss(problem.encoded), heap.loss(problem.encoded))
    return [("CART" if same else "a tree made of CART's", heap)]


def own_tree(problem: Problem, heap: HeapTree | None) -> HeapTree | None:
    """Return a tree over the splits of the encoding as one of the formulation's that satisfies the constraints; None
    if there is none. Raises TreeError if the formulation has no such tree."""
    return constraint.mended(problem, heap) if searches(problem) else kept_tree(problem, heap, "cart")


def quickly_searched(problem: Problem, bound: float) -> list[tuple[str, HeapTree]]:
    """Return the best tree by a short search, converted to one of the formulation's, by name; [] if it costs no less
    than the bound, if the search would be longer, or if the tree cannot be made to satisfy the constraints."""
    encoded = problem.encoded
    if encoded.n_rows * encoded.n_candidate_splits**problem.topology.depth > MOMENT_WORK:
        return []
    try:
        with deadline.budget(MOMENT_SECONDS):  # many classes, or loops that are not compiled, make the same work longer
            heap = kept_tree(problem, known_tree(problem, "optimal"), "optimal")
            less = heap is not None and problem.module.objective(problem, heap) < bound
    except (ChoiceError, TreeError, TimeLimitReached):
        return []
    return [("the tree of a short search", heap)] if less else []


def quick_floor(problem: Problem) -> float | None:
    """Return a lower bound on the objective of all trees of the formulation, from the best of all trees over the
    candidate splits, by a short search; None if the search would be longer, or if the trees use other splits.

    As in odtc.verification.verify.objective_floor, an objective is a factor times the loss, plus the costs of branch
    nodes and the like.
    """
    encoded, module = problem.encoded, problem.module
    small = encoded.n_rows * encoded.n_candidate_splits**problem.topology.depth <= MOMENT_WORK
    if not small or module.BEYOND or encoded.task != CLASSIFICATION:
        return None
    leaf = one_leaf(problem)
    loss = leaf.loss(encoded)
    best = grow("optimal", encoded, problem.topology).loss(encoded)
    return module.objective(problem, leaf) / loss * best if loss else None


def kept_tree(problem: Problem, heap: HeapTree | None, name: str | Path | None) -> HeapTree | None:
    """Return the tree as one of the formulation's that satisfies the constraints; None if there is none."""
    if heap is None or is_tree_file(name):
        return heap
    try:
        heap = problem.module.trimmed(problem, heap)
    except TimeLimitReached:  # the formulation has to compile for that
        pass
    return constraint.mended(problem, heap)

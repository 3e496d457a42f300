"""Decode a solution to its tree and check it; also for trees that were found without a solver."""

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from odtc.base import deadline, interrupts, phases
from odtc.base.text import count_of
from odtc.data.dataset import Dataset
from odtc.data.encoding import with_rows
from odtc.data.task import TASKS
from odtc.errors import ChoiceError, ManifestError, NoSolutionError, OdtcError, SolutionError, TreeError
from odtc.model.feasibility import Check, check_point, is_close
from odtc.model.solution import EDITED, Solution, Termination, is_proved
from odtc.problem.constraints.constraint import broken, complete
from odtc.problem.exact_objective import comparable_cost, costs_no_more, settled_bound
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree
from odtc.trees.simplifying import simplify_heap, simplify_tree
from odtc.verification.verify import (
    one_leaf,
    proves,
    raise_bound_to_floor,
    supported,
    verify_filled,
    verify_point,
    verify_tree,
)
from odtc.workflow.first_trees import greedy, quick_floor, quickly_searched
from odtc.workflow.messages import (
    COMPILER,
    CONTRADICTED,
    INTERRUPTED_FIRST,
    LOWERED,
    NO_SOLVER_RAN,
    OWN_TREE,
    SEARCH_AGREES,
    SEARCH_INSTEAD,
    SEARCH_PROVED,
    SEARCH_PROVES,
    START_INSTEAD,
    no_solution_text,
)
from odtc.workflow.results.facts import SolveFacts
from odtc.workflow.results.fit import Decoded, Fit, Unsolved, settled, tree_cost

if TYPE_CHECKING:
    from odtc.model.milp import Model
    from odtc.workflow.compiling import Prepared


COSTS_OF_POINT = "objective", "tree in model", "tree objective"  # checks that compare the costs of a point
A_MOMENT = 1.0  # seconds for a search under constraints, which takes longer than a search without constraints


def decode(
    model: "Model",
    solution: Solution,
    dataset: Dataset | None = None,
    known: Sequence[tuple[str, HeapTree]] = (),
    simplify: bool = False,
) -> Decoded:
    """Return the checked tree of a solution.

    Parameters
    ----------
    model : Model
        A model of `odtc.build`.
    solution : Solution, array (columns,), dict, OptimizeResult, highspy.Highs or gurobipy.Model
        A solution of this model, of `odtc.solve`; or a point, as a vector or {name of a column: value}, or the
        result of scipy.optimize.milp, highspy or gurobipy. Proofs about the model need the first or one of the last
        two, which contain the model that they solved.
    dataset : Dataset or None
        The data file read again: the tree is then checked on it, too.
    known : sequence of (str, HeapTree)
        Trees with their names. The bound of the solution is compared with their costs and the cost of CART's tree.
    simplify : bool
        Whether needless branch nodes of the tree are removed (odtc.workflow.decoding); otherwise it is the tree of
        the point.

    Returns
    -------
    Decoded

    Raises
    ------
    NoSolutionError
        If the solver found no point.
    SolutionError
        If the solution is of another model.
    ChoiceError
        If the arguments are not a model of `odtc.build` and its solution.
    """
    model, solution, is_nameless = _matched(model, solution)
    model = with_rows_of(model, dataset)
    problem = model.problem
    if not solution.has_solution:
        raise no_solution(Unsolved(problem, model, solution))
    solution = supported(model, by_own_splits(model, solution))
    point_heap = heap = tree_of(model, solution.x)
    if solution.is_unsupported:
        solution, heap = _by_own_search(model, solution, point_heap)
    solution = _with_scope(problem, solution)
    dataset = _read_anew(problem, dataset)
    selected = dataset is not None and dataset.selected is not None  # rows that were not selected may need its nodes
    smaller = simplified(problem, heap) if simplify and not selected else heap
    known = [*known, *_known_here(problem, solution)]
    known += [("the tree without needless branch nodes", smaller)] * (smaller is not heap)
    checks = verify_point(problem, model, solution, point_heap, known)
    if solution.is_unsupported:
        checks = _without_costs_of_point(checks)
    if _costs_less_than_bound(problem, smaller, solution):  # so the model does not represent it
        smaller = heap
    solution = _with_own_proof(problem, solution, tree_cost(problem, smaller), checks, is_nameless)
    return _decoded(problem, heap, smaller, checks, raise_bound_to_floor(problem, solution), dataset, simplify)


def _with_scope(problem: Problem, solution: Solution) -> Solution:
    """Return the solution with the trees that its claim is about, as far as it does not name them itself."""
    named = solution.scope or solution.overall is not None
    return solution if named else replace(solution, scope=problem.module.scope(problem))


def _matched(model: "Model", solution) -> "tuple[Model, Solution, bool]":
    """Return (the model as `odtc.build` made it, the solution as a record, whether it is nameless). Only the caller
    claims that a nameless solution belongs to this model, so its bound proves nothing.

    Raises ChoiceError or SolutionError if they are not a model of `odtc.build` and its solution.
    """
    from odtc.problem.identity import short, stamp_of
    from odtc.workflow.provenance.in_memory import NAMELESS, in_memory, of_edited, unproved

    if getattr(model, "problem", None) is None or isinstance(solution, str | Path):
        raise ChoiceError(
            f"expected a model of odtc.build and its solution, got {type(model).__name__} and "
            f'{type(solution).__name__}; a solution file by itself is odtc.decode("FILE.sol")'
        )
    if not isinstance(solution, Solution):
        model, solution = in_memory(model, solution)
    stamp = stamp_of(model)
    if solution.model and stamp and solution.model != stamp:
        raise SolutionError(
            f"the solution belongs to the model {short(solution.model)}…, but this model is {short(stamp)}…; solve "
            "this model, or decode with the model that was solved"
        )
    is_nameless = bool(stamp and not solution.model and model.edited is None)
    if is_nameless:
        solution = unproved(solution, NAMELESS)
    built = model.as_built
    if built is not model:  # the user added rows or columns, or replaced arrays
        model, solution = replace(built, edited=model), of_edited(built, model, solution)
    return model, solution, is_nameless


def _by_own_search(model: "Model", solution: Solution, point_heap: HeapTree) -> tuple[Solution, HeapTree]:
    """Check a solution whose proof was withdrawn by a short search. Return (solution, best tree known); raises
    NoSolutionError if the search proves that no tree satisfies the constraints."""
    solution, heap = by_own_search(model.problem, solution, point_heap)
    if solution.termination == Termination.INFEASIBLE:
        raise no_solution(Unsolved(model.problem, model, solution))
    return solution, point_heap if heap is None else heap


def _known_here(problem: Problem, solution: Solution) -> list[tuple[str, HeapTree]]:
    """Return (name, tree) of trees that the compiler finds in a moment, because no tree may cost less than the bound of
    the solution; an empty list if the solution has no bound."""
    if solution.bound is None and solution.overall is None:
        return []
    is_of_solver = solution.bound is not None and not solution.scope
    return [*greedy(problem), *(quickly_searched(problem, solution.bound) if is_of_solver else [])]


def _costs_less_than_bound(problem: Problem, heap: HeapTree, solution: Solution) -> bool:
    """Return whether a tree costs less than the bound of a solution, by more than rounding explains."""
    paid = tree_cost(problem, heap)
    return None not in (solution.bound, paid) and paid < solution.bound and not is_close(paid, solution.bound)


def _with_own_proof(
    problem: Problem, solution: Solution, paid: float | None, checks: list[Check], is_nameless: bool
) -> Solution:
    """Return the solution with the compiler's own proof that no tree costs less than `paid`, if there is one. If a
    solution has no bound, and is nameless or of unknown termination, a short search tries to prove one. The bound of an
    edited model is rounded to a cost that trees can have."""
    if paid is None:
        return solution
    if proves(problem, paid):  # whatever the solver's status is
        by_solver = solution.termination == Termination.OPTIMAL and is_proved(paid, solution.bound)
        own = solution.proved_by if by_solver else COMPILER
        ended = replace(solution, termination=Termination.OPTIMAL, objective=paid, bound=paid, proved_by=own)
        return replace(ended, scope="", overall=None, scope_objective=None)
    claims_nothing = solution.bound is None and (is_nameless or solution.termination == Termination.UNKNOWN)
    if claims_nothing and all(check.passed for check in checks):  # a point that fails its checks needs no bound
        return _searched(problem, solution, paid)
    if solution.scope == EDITED and solution.scope_objective is None and solution.bound is not None:
        return replace(solution, bound=settled_bound(problem, solution.bound, paid))
    return solution


def _without_costs_of_point(checks: list[Check]) -> list[Check]:
    """Return the checks without failed comparisons of costs, for a point whose costs are rounded by more than the costs
    of trees differ. The cost of the tree is then counted on the rows."""
    failed = [check for check in checks if not check.passed and check.name in COSTS_OF_POINT]
    words = "; ".join(f"{check.name}: {check.text}" for check in failed)
    told = f"its costs are rounded, and the cost of the tree is counted on the rows ({words})"
    return [check for check in checks if check not in failed] + [Check("point", True, told)] * bool(failed)


def _searched(problem: Problem, solution: Solution, paid: float) -> Solution:
    """Return the solution with the bound that a short search proves, if only its tree, which costs `paid`, is known."""
    from odtc.workflow.provenance.searched_again import search_again

    other = solution.model or solution.scope or solution.overall is not None  # more than its tree is known
    least = None if other else quick_floor(problem)
    if least is None:
        return solution
    least = settled_bound(problem, least, paid)
    if problem.constraints and not is_proved(paid, least):  # constraints leave fewer trees, so the bound may rise
        least = settled_bound(problem, max(least, search_again(problem, None, A_MOMENT, in_hand=True).bound), paid)
    if not is_proved(paid, least):
        return replace(solution, bound=least)
    ended = replace(solution, termination=Termination.OPTIMAL, objective=paid, bound=paid)
    return replace(ended, message=SEARCH_AGREES, proved_by=COMPILER)


def _cheapest_point(model: "Model", trees: Sequence[HeapTree]) -> tuple[float, np.ndarray] | None:
    """Return (objective, point) of the cheapest tree that has a feasible point of the model; None if no tree has
    one."""
    from odtc.problem.cuts.cut import arrange_tree

    found = []
    for tree in trees:
        try:
            x = complete(model.problem, model, arrange_tree(model.problem, model, tree))
        except TreeError:
            continue
        if all(check.passed for check in check_point(model, x)):
            found.append((model.objective(x), x))
    return min(found, key=lambda one: one[0], default=None)


def by_own_splits(model: "Model", solution: Solution, start: HeapTree | None = None) -> Solution:
    """Replace the point of a solution by the point of a tree if it does not follow its own splits, or if these splits
    are not the model's in exact numbers.

    Soft margins let a point send rows to another child than its splits do, so it may cost less than the tree of its
    splits. A point may also use the solver's tolerance to separate rows by less than the model requires.

    Parameters
    ----------
    model : Model
    solution : Solution
    start : HeapTree or None
        A tree that is known; CART's is then tried, too.

    Returns
    -------
    Solution
        With the point of the tree of its splits, or of the start or CART's tree if that costs less. Unchanged if its
        point agrees with its tree, or if the model represents none of these trees. The bound stays; if it does not
        prove the new point, the solution is no longer optimal.
    """
    problem = model.problem
    if not solution.has_solution or model.recorded or model.edited is not None:
        return solution
    weight = problem.module.misrouted(problem, model.split(solution.x[: model.n_cols]))
    if weight is None:
        return solution
    heap, claimed = tree_of(model, solution.x), model.objective(solution.x[: model.n_cols])
    paid, is_own = tree_cost(problem, heap), problem.module.represents(problem, heap)
    if is_own and (not weight or (paid is not None and (paid <= claimed or is_close(paid, claimed)))):
        return solution
    others = [] if start is None and is_own else [tree for _, tree in greedy(problem)]
    others += ([] if start is None else [start]) + ([] if is_own else [one_leaf(problem)])
    if (best := _cheapest_point(model, (heap, *others))) is None:
        return solution
    cost, x = best
    bound = solution.bound
    open_end = solution.termination == Termination.OPTIMAL and (
        bound is None or (bound < cost and not is_close(bound, cost))
    )
    words = f"the solver's point costs {claimed:.6g} " + (
        f"by sending rows of weight {weight:.6g} elsewhere than its own splits do, as soft margins let it, and no tree "
        "does"
        if is_own
        else "within its tolerance, but its splits separate rows by less than the model requires"
    )
    words += f": the tree that is handed in costs {cost:.6g}"
    return replace(
        solution,
        x=x,
        objective=cost,
        claimed=None,
        termination=Termination.UNKNOWN if open_end else solution.termination,
        message="; ".join(filter(None, [solution.message, words])),
    )


def by_own_search(problem: Problem, solution: Solution, own: HeapTree | None) -> tuple[Solution, HeapTree | None]:
    """Check a solver's solution that proves nothing by a short search.

    Parameters
    ----------
    problem : Problem
    solution : Solution
    own : HeapTree or None
        The tree of its point, or another tree that is known.

    Returns
    -------
    Solution
        With the cost of the best tree known. It is optimal if the search proves that; otherwise its bound is the
        greater one of the bound of the search and the supported part of the solver's bound
        (odtc.verification.verify.supported), which does not count if that tree costs less.
    HeapTree or None
        The best known tree that satisfies the constraints: `own`, the tree of the search, or CART's. The model may have
        no point for it, because its numbers are rounded.
    """
    from odtc.verification.known_trees import is_below  # it loads the modules of models, which a search does not need
    from odtc.workflow.provenance.searched_again import SECONDS, search_again

    withdrawn = solution.termination == Termination.UNKNOWN
    seconds = max(A_MOMENT, min(SECONDS, solution.seconds or 0.0)) if withdrawn else A_MOMENT
    again = search_again(problem, None, seconds, in_hand=True)
    trees = [own, *(tree for _, tree in again.trees), again.heap, *(tree for _, tree in greedy(problem))]
    ranked = _cheapest_first(problem, [tree for tree in trees if tree is not None])
    if not ranked and again.infeasible:
        return replace(solution, termination=Termination.INFEASIBLE, bound=None, solver=COMPILER, message=""), None
    if not ranked:
        return solution, None
    best = ranked[0]
    paid = tree_cost(problem, best)
    is_least = again.least is not None and comparable_cost(problem, best) <= again.least
    bound = paid if is_least else settled_bound(problem, again.bound, paid)
    said = [solution.message]
    if solution.bound is not None and is_below(problem, paid, solution.bound):
        said.append(CONTRADICTED.format(solution.solver))
    elif solution.bound is not None and bound < min(solution.bound, paid):
        bound = min(solution.bound, float(np.nextafter(paid, -np.inf)))
        said.append(LOWERED.format(solution.solver))
    if best is not own:
        said.append(OWN_TREE)
        solution = replace(solution, found_by=COMPILER)
    if is_proved(paid, bound):
        said.append(SEARCH_PROVES)
        solution = replace(solution, termination=Termination.OPTIMAL, proved_by=COMPILER)
    elif solution.termination == Termination.OPTIMAL:
        solution = replace(solution, termination=Termination.UNKNOWN)
    return replace(solution, objective=paid, bound=bound, message="; ".join(filter(None, said))), best


def _cheapest_first(problem: Problem, trees: Sequence[HeapTree]) -> list[HeapTree]:
    """Return the trees of the formulation that satisfy the constraints, sorted by their exact costs; in a tie, or if
    costs cannot be compared, they stay in the order of `trees`."""
    least = problem.module.least_rows(problem)
    kept = [tree for tree in trees if tree.fewest_rows(problem.encoded) >= least and not broken(problem, tree)]
    kept = [tree for tree in kept if tree_cost(problem, tree) is not None]
    with suppress(ArithmeticError):
        return sorted(kept, key=partial(comparable_cost, problem))
    return kept


def tree_of(model: "Model", x: np.ndarray) -> HeapTree:
    """Return the tree of a point of a model.

    Parameters
    ----------
    model : Model
        One of `odtc.build`, or as its manifest records it.
    x : float64 (columns,)

    Returns
    -------
    HeapTree

    Raises
    ------
    ManifestError
        If the formulation has changed since the model was built, and needs other columns.
    """
    problem = model.problem
    try:
        return problem.module.decode(problem, model.split(x))
    except Exception as fault:
        if not model.recorded or isinstance(fault, OdtcError):
            raise
        raise ManifestError(
            f"the model was {model.recorded.partition(':')[0]}, which reads other columns than the manifest records "
            f"({type(fault).__name__}: {fault}); decode it with the version that built it"
        ) from None


def with_rows_of(model: "Model", dataset: Dataset | None) -> "Model":
    """Return the model of a manifest with the rows of its data file added to its problem (odtc.data.encoding)."""
    encoded = with_rows(model.problem.encoded, dataset)
    return (
        model if encoded is model.problem.encoded else replace(model, problem=replace(model.problem, encoded=encoded))
    )


def _read_anew(problem: Problem, dataset: Dataset | None) -> Dataset | None:
    """Return the given data set with the same rows selected as in the problem; without one, the problem's data set."""
    own = problem.encoded.dataset
    if (
        dataset is None
        or own is None
        or own.selected is None
        or dataset.selected is not None
        or dataset.n_rows != own.selected.whole.n_rows
    ):
        return dataset or own
    from odtc.workflow.row_selection.selection import take_rows

    return take_rows(dataset, own.selected.rows, own.weight, own.selected.facts)


def _decoded(
    problem: Problem,
    point_heap: HeapTree,
    heap: HeapTree,
    checks: list[Check],
    solution: Solution,
    dataset: Dataset | None,
    simplify: bool,
) -> Decoded:
    """Return the tree `heap`, which was derived from the tree of the point, with its checks. A tree that was trained on
    selected rows gets all rows in its leaves. With `simplify`, sibling leaves that then predict the same are merged,
    unless there are constraints, because constraints are on the selected rows."""
    if heap is not point_heap:
        checks = [*checks, simplified_check(problem, point_heap, heap)]
    tree = heap.to_tree(problem.encoded)
    checks = [*checks, *verify_tree(problem, heap, tree, dataset)]
    if dataset is not None and dataset.selected is not None:
        from odtc.workflow.row_selection.selection import fill_leaves

        tree = fill_leaves(tree, problem, dataset.selected.whole)
        tree = simplify_tree(tree) if simplify and not problem.constraints else tree
        checks = [*checks, verify_filled(problem, tree, dataset.selected.whole)]
    task = TASKS.get(tree.task)
    if dataset is not None and problem.encoded.dataset is None and not task.CLASSES:
        at = tree.apply(dataset.X)  # a recorded model has equal rows merged, but a curve needs each row
        tree = tree.with_curves(task.curve(dataset.sums[at == leaf]) for leaf in range(tree.n_leaves))
    return Decoded(heap, tree, checks, solution, point_heap)


def learn(
    problem: Problem, labelled: Dataset | None = None, time_limit: float | None = None, simplify: bool = False
) -> Fit:
    """Find the tree of a formulation that has no model (CART): it is checked, and nothing is proved. A search ends at
    the time limit."""
    began = time.monotonic()
    with deadline.within(time_limit):
        heap, words = problem.module.learned(problem)
        ended = Termination.INTERRUPTED if deadline.is_interrupted() else Termination.UNKNOWN
    paid = problem.module.objective(problem, heap)
    seconds = time.monotonic() - began
    solution = Solution(None, ended, paid, None, seconds, problem.module.NAME, message=words)
    done = without_model(problem, heap, solution, labelled, simplify)
    return replace(done, interrupted=ended == Termination.INTERRUPTED)


def unfinished(
    ready: "Prepared", labelled: Dataset | None = None, found: Solution | None = None, simplify: bool = False
) -> Fit:
    """Return the best tree known if the time limit came before a solver found one, with the best lower bound known.

    `found` is the result of the solver, which has no point; None if the limit came before there was a model. Raises
    NoSolutionError if no tree was known.
    """
    solution = found or out_of_time(ready)
    heap = ready.best_known
    if heap is None:
        raise no_solution(Unsolved(ready.problem, ready.model, solution))
    paid = ready.problem.module.objective(ready.problem, heap)
    if found is None and ready.searched is not None:
        note = SEARCH_PROVED if ready.proved else SEARCH_INSTEAD
        ended = Termination.OPTIMAL if ready.proved else solution.termination
        solution = replace(solution, termination=ended, bound=settled_bound(ready.problem, ready.bound, paid))
    else:
        note = START_INSTEAD if found else INTERRUPTED_FIRST if ready.interrupted else NO_SOLVER_RAN
    message = f"{note}{': ' * bool(solution.message)}{solution.message}"
    known = replace(solution, objective=paid, claimed=None, message=message)
    return without_model(ready.problem, heap, raise_bound_to_floor(ready.problem, known), labelled, simplify)


def no_solution(outcome: Unsolved, in_hand: str = "", from_file: bool = False) -> NoSolutionError:
    """Return the error of a run without a tree: `outcome` has the known facts, `in_hand` is the file with the tree of a
    start, and `from_file` is whether the solver read a model file."""
    problem, dataset = outcome.problem, outcome.problem.encoded.dataset
    selected = dataset is not None and dataset.selected is not None
    constraints = tuple(map(str, problem.constraints))
    model = outcome.model
    edited = model.edited if model is not None else None
    own_rows = [] if edited is None else edited.row_names[model.n_rows :]
    text = no_solution_text(outcome.solution, True, constraints, selected, own_rows, from_file)
    checked = "; the proof was checked on the data in whole numbers" if outcome.certified else ""
    checked = f"; {outcome.uncertified}" if outcome.uncertified else checked
    error = NoSolutionError(text + checked + (in_hand and f"; {in_hand}"))
    error.outcome = outcome
    return error


def out_of_time(ready: "Prepared") -> Solution:
    """Return the Solution of a run that ended at its time limit, or by Ctrl-C, before there was a model."""
    ended = Termination.INTERRUPTED if ready.interrupted else Termination.TIME_LIMIT
    return Solution(None, ended, seconds=time.monotonic() - ready.began, solver=COMPILER)


def proved(
    problem: Problem, heap: HeapTree, bound: float, seconds: float, ended: Termination = Termination.UNKNOWN
) -> Fit:
    """Return the Fit of a tree that the compiler found, with the bound that it proved; `ended` is the termination if
    the bound is less than the cost of the tree."""
    paid = problem.module.objective(problem, heap)
    bound = settled_bound(problem, bound, paid)
    solution = Solution(None, Termination.OPTIMAL if is_proved(paid, bound) else ended, paid, bound, seconds, COMPILER)
    return without_model(problem, heap, solution, None)


@interrupts.held()  # so that Ctrl-C during the checks does not lose the tree
def without_model(
    problem: Problem, point_heap: HeapTree, solution: Solution, labelled: Dataset | None, simplify: bool = False
) -> Fit:
    """Return the Fit of a tree that was found without a model; `solution` has its cost and its proof."""
    phases.begin("checking the tree")
    heap = simplified(problem, point_heap) if simplify else point_heap
    if heap is not point_heap:
        solution = replace(solution, objective=problem.module.objective(problem, heap))
    if not problem.module.represents(problem, heap):
        if is_proved(solution.objective, solution.bound):  # the proof is for larger gaps than this tree's
            solution = replace(solution, bound=None)
    elif proves(problem, solution.objective):
        solution = replace(solution, termination=Termination.OPTIMAL, bound=solution.objective)
    dataset = problem.encoded.dataset
    decoded = _decoded(problem, point_heap, heap, [], solution, dataset, simplify)
    return Fit(problem, None, decoded, replace(SolveFacts.of(solution), has_solution=True), dataset, labelled)


@interrupts.held()
def finish(
    model: "Model",
    solution: Solution,
    labelled: Dataset | None = None,
    dataset: Dataset | None = None,
    known: Sequence[tuple[str, HeapTree]] = (),
    simplify: bool = False,
) -> Fit:
    """Finish a `fit`: decode and verify a solution, and add the figures of CART and of the rows `labelled`. `dataset`,
    `known` and `simplify` are as in `decode`."""
    phases.begin("checking the point and the tree")
    dataset = _read_anew(model.problem, dataset)
    model = with_rows_of(model, dataset)
    decoded = decode(model, solution, dataset, known, simplify)
    return Fit(model.problem, model, decoded, SolveFacts.of(settled(model, decoded)), dataset, labelled)


def simplified(problem: Problem, heap: HeapTree) -> HeapTree:
    """Return the tree without the branch nodes that no row needs (odtc.trees.simplifying).

    A node stays if the tree without it would violate a constraint, have a leaf with fewer rows than the parameters
    require, or cost more. A tree that the model does not represent is returned unchanged, and so is a tree of selected
    rows, because the rows that were not selected may need its nodes.

    Returns
    -------
    HeapTree
        The same object if no node is removed.
    """
    dataset = problem.encoded.dataset
    if dataset is not None and dataset.selected is not None:
        return heap
    try:
        problem.module.objective(problem, heap)
    except TreeError:
        return heap
    least, keeps = problem.module.least_rows(problem), not broken(problem, heap)

    def accepts(smaller: HeapTree) -> bool:
        try:
            dear = not costs_no_more(problem, smaller, heap)
        except TreeError:
            return False
        return not dear and smaller.fewest_rows(problem.encoded) >= least and not (keeps and broken(problem, smaller))

    return simplify_heap(heap, problem.encoded, accepts)


def simplified_check(problem: Problem, before: HeapTree, after: HeapTree) -> Check:
    """Return the check that a smaller tree has the same predictions as the larger one, and costs no more."""
    encoded = problem.encoded
    was, now = (heap.label[heap.reach(encoded.X)] for heap in (before, after))
    other = int(encoded.copies[was != now].sum())
    paid, costs = (problem.module.objective(problem, heap) for heap in (before, after))
    return Check(
        "simplified",
        bool(np.array_equal(was, now)) and costs_no_more(problem, after, before),
        f"{before.n_branch_nodes - after.n_branch_nodes} of {count_of(before.n_branch_nodes, 'branch node', '')} were "
        f"needless; {count_of(other, 'row', '')} are predicted otherwise without them, and the tree costs "
        f"{costs:.10g}, with them {paid:.10g}",
    )

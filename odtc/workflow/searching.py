"""From a problem to its proved tree without a model: the own search of a formulation (odtc.problem.formulation)."""

import time
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from odtc.base import deadline
from odtc.base.value_class import value_class
from odtc.base.wording import option
from odtc.data.dataset import Dataset
from odtc.data.encoding import ENCODINGS
from odtc.errors import NoSolutionError, TimeLimitReached, TreeError
from odtc.model.solution import Progress, Solution, Termination, is_proved
from odtc.problem.constraints import constraint
from odtc.problem.exact_objective import exact_objective, settled_bound
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree
from odtc.trees.tree import Tree
from odtc.verification.verify import proves, raise_bound_to_floor
from odtc.workflow.decoding import by_own_search, no_solution, without_model
from odtc.workflow.first_trees import is_tree_file, known_tree
from odtc.workflow.messages import COMPILER
from odtc.workflow.provenance.certificates import Certified, certify_run
from odtc.workflow.results.facts import no_worse_than_cart, open_text, unmet_text
from odtc.workflow.results.fit import Fit, Unsolved

if TYPE_CHECKING:
    from odtc.model.milp import Model
    from odtc.workflow.compiling import Prepared


ROUGHLY = 1e-6  # of the cost of a tree: a search that is off by more proves nothing
ROUNDED = "the numbers differ so much in size that the search, by rounded sums, may miss a tree that costs {:.3g} less"
UNDECIDED = (
    "several trees cost the same to within the rounding of the search, and too many to compare their exact costs; "
    "the bound is below all of them"
)
WEAK = "exact costs prove the tree, the certificate only that no tree costs less than {:.10g}"
PATIENCE = 3  # times the seconds of a search under constraints, to make and check its certificate
EXPLAINED = 20.0  # seconds that the explanation of "infeasible" may take
FEWER = 16, 8, 4  # bins of a column that are advised, the first that are fewer than those there are


@value_class
class Start:
    """Start of a search: the tree of a heuristic or of a file by its name, and trees that were found before."""

    name: str | Path | None = "cart"
    met: tuple[Tree, ...] = ()


FROM_CART = Start()


def searched(
    problem: Problem,
    labelled: Dataset | None = None,
    time_limit: float | None = None,
    start: Start = FROM_CART,
    progress=None,
    simplify: bool = False,
    say=None,
) -> Fit:
    """Find the tree by the formulation's own search: proved, or the best one and a bound at the time limit or after
    Ctrl-C.

    Raises
    ------
    NoSolutionError
        If no tree satisfies the constraints, or none was found in time.
    """
    began, at = time.monotonic(), time.process_time()
    history = _History(began, progress)
    known = _known(problem, start, deadline.limit_left(began, time_limit), say)
    with deadline.within(deadline.limit_left(began, time_limit)):
        found = problem.module.search(problem, known, history.tell)
        late = time_limit is not None and time.monotonic() >= began + time_limit
        with deadline.put_off():
            heap = found.heap if found.heap is not None else known
            # By then CART may have been cut, but the report compares the tree with the whole one.
            if not found.proved and (problem.constraints or late):
                heap = no_worse_than_cart(problem, heap)
            paid = None if heap is None else problem.module.objective(problem, heap)
        late = time_limit is not None and time.monotonic() - began >= time_limit
        claim = _claimed(problem, found, heap, paid, time.process_time() - at, late)
        seconds = time.monotonic() - began
        interrupted = found.interrupted or deadline.is_interrupted()
    history.add(seconds, paid, claim.bound, last=True)
    told, why = tuple(history.changes), claim.certified.why
    solution = Solution(None, claim.ended, paid, claim.bound, seconds, COMPILER, message=why, history=told)
    if found.infeasible or heap is None:
        raise _no_tree(problem, found, solution, claim.certified, interrupted, time_limit)
    best_bound = raise_bound_to_floor(problem, replace(solution, message=_message(problem, found, solution, claim)))
    written = found.written if found.written is not None and heap is found.heap else heap
    done = without_model(problem, written, best_bound, labelled, simplify)
    best, smallest = claim.ended == Termination.OPTIMAL, found.fewest
    # With fewer splits the tree is over the encoding's own.
    over_own = written is not heap and done.decoded.heap is not written
    unproved = found.certificate if claim.ended not in (Termination.OPTIMAL, Termination.UNKNOWN) else None
    is_leaf = done.tree.n_leaves == 1  # no tree is smaller
    return replace(
        done,
        certified=claim.certified.accepted,
        certificate=claim.certified.facts,
        unproved=unproved,
        interrupted=interrupted,
        fewest_leaves=best and (smallest.leaves or is_leaf),
        fewest_columns=best and ((smallest.columns and not over_own) or is_leaf),
        fewest_stopped=best and smallest.stopped,
    )


def _known(problem: Problem, start: Start, limit: float | None, say) -> HeapTree | None:
    """Return the best tree that is known before the search, within this many seconds."""
    with deadline.within(limit):
        try:
            begun = start_of(problem, start.name, say)
        except TimeLimitReached:  # a heuristic that takes long gives way to the one that takes a moment
            begun = start_of(problem, "cart")
    return best_met(problem, start.met, begun)


@value_class
class _Conclusion:
    """The conclusion of a search about its tree, once exact costs and its certificate have been consulted.

    Attributes
    ----------
    ended : Termination
        OPTIMAL only if whole numbers, rationals or an accepted certificate support it.
    bound : float or None
        No tree has a smaller objective; None if the problem is infeasible.
    certified : Certified
        The certificate and its check.
    rounded : str
        Why rounding leaves a tree unproved that the search itself takes for the best; empty if it does not.
    """

    ended: Termination
    bound: float | None
    certified: Certified
    rounded: str = ""


def _claimed(
    problem: Problem, found, heap: HeapTree | None, paid: float | None, seconds: float, late: bool
) -> _Conclusion:
    """Return the claim that a search with `seconds` of work supports; it was `late` if its limit ended it."""
    ended, bound = _ended(problem, found, paid, late)
    certified = _certified(problem, found, ended, paid, seconds)
    if found.undecided and certified.accepted and certified.exact:
        return _Conclusion(Termination.OPTIMAL, paid, certified)
    if found.undecided:
        return _Conclusion(ended, bound, certified, found.rounded or UNDECIDED)
    if certified.accepted is False:
        return _Conclusion(certified.ended, certified.bound, certified)
    if ended != Termination.OPTIMAL or certified.accepted:
        return _Conclusion(ended, bound, certified)
    if tells_apart(problem, found.off, heap, paid) or proves(problem, paid):
        return _Conclusion(ended, bound, certified)
    rounded = "; ".join(filter(None, [ROUNDED.format(found.off), certified.why]))
    return _Conclusion(Termination.UNKNOWN, paid - 2 * found.off, certified, rounded)


def _certified(problem: Problem, found, ended: Termination, paid: float | None, seconds: float) -> Certified:
    """Make and check the certificate of a search that ended like this, if it has one."""
    if ended not in (Termination.OPTIMAL, Termination.INFEASIBLE) and not found.undecided:
        return Certified(None)
    least = np.inf if ended == Termination.INFEASIBLE else paid
    patience = PATIENCE if problem.constraints else 1
    certified = certify_run(problem, found.certificate, least, patience * seconds)
    certified = replace(certified, why=certified.why or found.uncertified)
    if found.exact and certified.accepted is False and certified.bound is not None:
        return Certified(None, why=WEAK.format(certified.bound))
    return certified


def _no_tree(
    problem: Problem, found, solution: Solution, certified: Certified, interrupted: bool, time_limit: float | None
) -> NoSolutionError:
    """Return the error of a search that proved infeasibility, or found no tree; with the reason."""
    if solution.termination == Termination.INFEASIBLE:
        solution = explained(problem, solution, time_limit)
    if not found.infeasible and problem.constraints:
        late = solution.termination == Termination.TIME_LIMIT
        how = "Ctrl-C" if interrupted else "the time limit" if late else "the search ended"
        solution = replace(solution, message=unmet_text(problem, how))
    why = certified.why if found.infeasible and certified.accepted is None else ""
    return no_solution(Unsolved(problem, None, solution, certified.accepted, why))


def _message(problem: Problem, found, solution: Solution, claim: _Conclusion) -> str:
    """Return why the tree of a search is not proved or not certified, with advice; empty if it is."""
    if claim.rounded:
        return claim.rounded
    paid, ended = solution.objective, claim.ended
    still_open = open_text(paid, raise_bound_to_floor(problem, solution).bound) if problem.constraints else ""
    is_open = ended != Termination.OPTIMAL and not proves(problem, paid)
    if not (found.phases or still_open) or claim.certified.accepted is not None or not is_open:
        return solution.message
    advice = _easier(problem, ended != Termination.UNKNOWN)  # otherwise it has ended before the limit
    return "; ".join(filter(None, [still_open, found.phases, advice]))


class _History:
    """The incumbents and bounds of a search over time: each better tree, and the bounds now and then.

    `began` is the time of time.monotonic() at which the search began; `progress` takes each change, too.
    """

    OFTEN = 0.05  # seconds between two bounds with one tree

    def __init__(self, began: float, progress=None):
        self.changes: list[tuple[float, float | None, float | None]] = []
        self._began, self._progress = began, progress

    def tell(self, bound: float, objective: float | None, phase: str = "") -> None:
        seconds = time.monotonic() - self._began
        self.add(seconds, objective, bound)
        if self._progress is not None:
            self._progress(Progress(seconds, objective, bound, None, phase=phase))

    def add(self, seconds: float, objective: float | None, bound: float | None, last: bool = False) -> None:
        before, known, proved = self.changes[-1] if self.changes else (-np.inf, None, None)
        if (objective, bound) == (known, proved) or not (last or objective != known or seconds > before + self.OFTEN):
            return
        self.changes.append((round(seconds, 3), objective, bound))


def _easier(problem: Problem, timed: bool) -> str:
    """Return the changes with which a search could end, in words; with `timed` more time is one of them."""
    given = ENCODINGS.parse(problem.encoded.scheme)[1].get("bins", np.inf)
    bins = next((few for few in FEWER if few < given), None)
    ways = [f"more time ({option('time_limit')})"] if timed else []
    ways += [f"a smaller {option('depth')}"] + (
        [] if bins is None else [f"fewer splits ({option('encoding', f'auto:bins={bins}')})"]
    )
    return f"{', '.join(ways[:-1])}{' or ' if ways[1:] else ''}{ways[-1]} would let the search finish"


def _ended(problem: Problem, found, paid: float | None, limit_came: bool) -> tuple[Termination, float | None]:
    """Return how a search has ended, and its bound next to the objective of the tree."""
    if found.infeasible:
        return Termination.INFEASIBLE, None
    bound = found.bound
    if paid is not None and not (found.proved and paid <= bound + found.off):
        bound = settled_bound(problem, bound, paid)
    elif paid is not None:
        return Termination.OPTIMAL, paid
    if is_proved(paid, bound):
        return Termination.OPTIMAL, paid
    if found.interrupted:
        return Termination.INTERRUPTED, bound
    # Without either, lists of subtrees were too long.
    return Termination.TIME_LIMIT if limit_came else Termination.UNKNOWN, bound


def tells_apart(problem: Problem, off: float, heap: HeapTree, paid: float) -> bool:
    """Return whether a search by costs that are off by this much proves its tree: if no tree can have an objective that
    is less and so near; roughly, if the problem has no exact objectives."""
    exact = exact_objective(problem)
    if exact is None:
        return off <= ROUGHLY * abs(paid)
    cost = exact.cost(heap)
    return 2 * off < exact.unit or exact.least(cost - 2 * Fraction(off)) >= cost


def explained(problem: Problem, solution: Solution, time_limit: float | None) -> Solution:
    """Return an "infeasible" solution with the constraints that conflict."""
    from odtc.problem.constraints.conflicts import conflict  # most runs never need it

    until = time.monotonic() + min(EXPLAINED, max(0.0, (time_limit or np.inf) - solution.seconds))
    return replace(solution, message=conflict(problem, lambda: time.monotonic() > until).text)


def without_point(
    ready: "Prepared", model: "Model", solution: Solution, labelled: Dataset | None = None, simplify: bool = False
) -> Fit:
    """Complete the run of a solver that ended without a point and an explanation, such as with large and small numbers
    together: with the tree that a short search finds, and its bound.

    Raises
    ------
    NoSolutionError
        If no tree satisfies the constraints, or none was found.
    """
    problem = model.problem
    solution, heap = by_own_search(problem, replace(solution, found_by=COMPILER), ready.best_known)
    if solution.termination == Termination.INFEASIBLE:
        solution = explained(problem, solution, ready.time_limit)
    if heap is None:
        raise no_solution(Unsolved(problem, model, solution))
    done = without_model(problem, heap, raise_bound_to_floor(problem, solution), labelled, simplify)
    return replace(done, model=model)


def best_met(problem: Problem, met: Sequence[Tree], known: HeapTree | None) -> HeapTree | None:
    """Return the cheapest of some trees over the columns of the data that satisfies the constraints; `known` if none
    costs less. A tree that uses splits outside of the encoding is skipped."""
    for tree in met:
        try:
            heap = HeapTree.from_tree(tree, problem.encoded, problem.topology, problem.module.BEYOND)
        except TreeError:
            continue
        if (kept := constraint.mended(problem, heap)) is None:
            continue
        if known is None or problem.module.objective(problem, kept) < problem.module.objective(problem, known):
            known = kept
    return known


def expect_feasible(ready: "Prepared") -> None:
    """Raise NoSolutionError if the search before the model proved that no tree satisfies the constraints."""
    if ready.searched is not None and ready.searched.infeasible:
        seconds = time.monotonic() - ready.began
        solution = Solution(None, Termination.INFEASIBLE, None, None, seconds, COMPILER)
        raise no_solution(Unsolved(ready.problem, None, explained(ready.problem, solution, ready.time_limit)))


def raised(ready: "Prepared", solution: Solution) -> Solution:
    """Return the solution of a solver with the bound of the search before the model, if that is greater."""
    if ready.bound is None or solution.objective is None or (solution.bound or -np.inf) >= ready.bound:
        return solution
    paid = solution.objective
    bound = settled_bound(ready.problem, ready.bound, paid)
    ended = Termination.OPTIMAL if is_proved(paid, bound) else solution.termination
    by = COMPILER if is_proved(paid, bound) else solution.proved_by
    return replace(solution, bound=bound, termination=ended, proved_by=by)


def start_of(problem: Problem, name, say=None) -> HeapTree | None:
    """Return a tree that satisfies the constraints, of the heuristic or the file of this name; None if it cannot be
    repaired."""
    if name in (None, "none"):
        return None
    heap = known_tree(problem, name, say)
    return heap if is_tree_file(name) else constraint.mended(problem, heap)

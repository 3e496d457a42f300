"""Repeat the search of a run for some seconds, to prove its claims again, or to find a tree that contradicts them.

Anybody can write a record that claims a bound, a finished proof, a checked certificate, or that no tree is smaller. So
`odtc verify` searches again, and labels the claims that it has not derived itself as claims of the run.
"""

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

from odtc.base import deadline, phases
from odtc.base.value_class import value_class
from odtc.base.whole_numbers import MAX_EXACT
from odtc.base.wording import command, option
from odtc.data.task import TASKS
from odtc.errors import ChoiceError, TimeLimitReached, TreeError
from odtc.model.milp import Model
from odtc.model.solution import Solution, is_proved
from odtc.problem.exact_objective import ULPS, exact_cost, exact_objective, rounded_down, settled_bound
from odtc.problem.formulation import FORMULATIONS, Compiled, searches
from odtc.problem.parameters import parse_params
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree
from odtc.trees.tree import Branch
from odtc.verification.known_trees import is_below
from odtc.verification.verify import objective_floor, one_leaf
from odtc.workflow.first_trees import greedy, own_tree
from odtc.workflow.provenance.certificates import certify_run
from odtc.workflow.results.fit import Fit

SECONDS = 5.0  # time for the search, unless another limit is given
CHECKED = 0.5  # additional time for making and checking its certificate, as a share of the time for the search
SEARCH = "dpflow"  # formulation whose search also bounds the trees of other formulations
MET = "the tree of a repeated search"

# Keys of `--json`: claims that are never derived again, derived from our own bound, and derived from a search.
NEVER = "solver", "start", "nodes", "seconds", "race", "uncertified", "restricted", "edited"
OF_BOUND = "bound", "gap", "termination"
OF_SEARCH = "certified", "fewest_leaves", "fewest_columns"
LEAF = 1, 0  # numbers of leaves and columns of the smallest tree, a leaf


@value_class
class SearchedAgain:
    """Result of a search of some seconds.

    Attributes
    ----------
    problem : Problem
        The problem of the run.
    bound : float
        Lower bound on the objective of all trees of the run, from the search or from equivalent points.
    trees : tuple of (str, HeapTree)
        The best tree that it found, with its name in messages; empty if it found no tree that the run allows.
    certified : bool
        Whether the certificate that it made was checked and accepted.
    size : tuple of int
        (leaves, columns) of its tree as written, if these are proved to be the fewest.
    infeasible : bool
        Whether it proved that no tree satisfies the constraints.
    least : Fraction, LogSum or None
        Lower bound on the cost of all trees of the run, as in `comparable_cost`, if the search ended with an exact
        proof.
    heap : HeapTree or None
        The best tree that it found, which may have fewer rows in a leaf than the run allows.
    """

    problem: Problem
    bound: float
    trees: tuple[tuple[str, HeapTree], ...] = ()
    certified: bool = False
    size: tuple[int, ...] = ()
    infeasible: bool = False
    least: Any = None
    heap: HeapTree | None = None

    def derived(self, done: Fit) -> list[str]:
        """Return the keys of the run's claims that this search derives again."""
        paid, bound = done.proof.objective, done.proof.bound
        found = ["certified"] * self.certified
        if bound is not None and math.isfinite(bound) and not is_below(self.problem, self.bound, bound):
            found += ["bound", "gap"]
        if done.proof.termination == "optimal" and is_proved(paid, settled_bound(self.problem, self.bound, paid)):
            found += ["termination"]
        own = tree_size(self.problem, done.decoded.heap)
        size = LEAF if own == LEAF else self.size  # a leaf is the smallest tree
        fewest = ("fewest_leaves", "fewest_columns")[: len(size)]
        return found + [key for count, key in enumerate(fewest, 1) if size[:count] == own[:count]]


def claimed_facts(facts: dict, derived: list[str]) -> list[str]:
    """Return the keys of a run's figures, as in `--json`, that are not recomputed, but only claimed by the run.

    Parameters
    ----------
    facts : dict
    derived : list of str
        Keys that were recomputed.

    Returns
    -------
    list of str
        In the order of `facts`. A key without a value, or whose value is false, claims nothing.
    """
    told = {*NEVER, *OF_BOUND, *OF_SEARCH} - set(derived)
    return [
        key for key, value in facts.items() if key in told and value is not None and value is not False and value != ""
    ]


def claimed_text(words: list[str], bound: float) -> str:
    """Return a sentence on the claims of `claimed_facts` and on the bound that was derived again; "" without claims."""
    claims = [key.replace("_", " ") for key in words if key in (*OF_BOUND, *OF_SEARCH)]
    if not claims:
        return ""
    return (
        f"{', '.join(claims)}: claimed by the run and not recomputed; recomputed: no tree costs less than "
        f"{bound:.10g} ({option('time_limit')} allows a longer search, {command('certify')} writes a proof to check)"
    )


def search_again(
    problem: Problem, heap: HeapTree | None, seconds: float | None = None, in_hand: bool = False
) -> SearchedAgain:
    """Search again, for some seconds, the problem that a run has searched, or that its solver has solved.

    Parameters
    ----------
    problem : Problem
        The problem of the run.
    heap : HeapTree or None
        The tree of the run. The search does not start from it, because that would only repeat the claim. None: make no
        certificate.
    seconds : float or None
        Time for the search; None for SECONDS, 0 for no search.
    in_hand : bool
        Whether there is already a result, so that Ctrl-C or SIGTERM ends only the search.

    Returns
    -------
    SearchedAgain

    Raises
    ------
    KeyboardInterrupt
        If it is interrupted before a result is known.
    """
    # Time for compiling kernels counts only if the user has set a limit.
    ends = deadline.budget if in_hand or seconds is None else deadline.within
    seconds = SECONDS if seconds is None else seconds
    posed = _searched_problem(problem) if seconds > 0 else None
    if posed is None:
        return SearchedAgain(problem, least_objective(problem))
    phases.begin("searching again")
    try:
        with ends(seconds):
            start = next((tree for _, tree in greedy(posed)), None)
            found = posed.module.search(posed, start, lambda *_: None)
            _expect_uninterrupted(in_hand)
    except (ChoiceError, TimeLimitReached):
        return SearchedAgain(problem, least_objective(problem))
    if found.infeasible:
        return SearchedAgain(problem, least_objective(problem), infeasible=True)
    bound, least = _bounds_in(problem, posed, found)
    again = SearchedAgain(problem, max(least_objective(problem), bound), least=least)
    written = found.heap if found.written is None or posed is not problem else found.written  # with fewer columns
    again = replace(again, heap=found.heap, trees=_met_trees(problem, written))
    if posed is not problem or heap is None:
        return again
    paid = problem.module.objective(problem, heap)
    if not is_proved(paid, settled_bound(problem, again.bound, paid)):
        return again
    phases.begin("certifying again")
    with ends(CHECKED * seconds):
        certified = certify_run(problem, found.certificate, paid).accepted is True
        _expect_uninterrupted(in_hand)
    proved = found.fewest.leaves + (found.fewest.leaves and found.fewest.columns)
    return replace(again, certified=certified, size=tree_size(problem, written)[:proved])


def _met_trees(problem: Problem, written: HeapTree | None) -> tuple[tuple[str, HeapTree], ...]:
    """Return the tree of the search as one of the problem with its name; none if it is not one of the problem."""
    try:
        met = None if written is None else own_tree(problem, written)
    except (ChoiceError, TreeError):
        met = None
    return () if met is None else ((MET, met),)


def _expect_uninterrupted(in_hand: bool) -> None:
    """Raise KeyboardInterrupt if one has ended a part of the work quietly before a result was known."""
    if deadline.is_interrupted() and not in_hand:
        raise KeyboardInterrupt


def search_solved(model: Model, solution: Solution, seconds: float | None = None) -> SearchedAgain:
    """Apply `search_again` to the model of a solver, as far as the solution file and its record claim a bound.

    Parameters
    ----------
    model : Model
        As its manifest describes it.
    solution : Solution
        As its file and its record state it.
    seconds : float or None
        As there.

    Returns
    -------
    SearchedAgain
    """
    claims = solution.bound is not None and model.edited is None and not solution.scope
    return search_again(model.problem, None, seconds if claims else 0.0)


def tree_size(problem: Problem, heap: HeapTree) -> tuple[int, int]:
    """Return (leaves, used columns) of a tree."""
    tree = heap.to_tree(problem.encoded)
    asked = {feature for node, _ in tree.walk() if isinstance(node, Branch) for feature in node.split.features}
    return tree.n_leaves, len(asked)


def least_objective(problem: Problem) -> float:
    """Return the lower bound of equivalent points on all trees of the run; 0 for hyperplanes, which separate rows that
    no candidate split does."""
    return 0.0 if problem.module.BEYOND else objective_floor(problem)


def least_prices(problem: Problem) -> tuple[float, float]:
    """Return the least cost of a unit of loss and of a branch node in the objective of the run; 0 if not known."""
    leaf = one_leaf(problem)
    lost, paid = leaf.loss(problem.encoded), problem.module.objective(problem, leaf)
    loss, branch = (
        problem.module.unit_costs(problem) if problem.module.can(Compiled) else (paid / lost if lost else 0.0, 0.0)
    )
    return (loss, branch) if math.isclose(paid, loss * lost, rel_tol=1e-9) else (0.0, 0.0)


def _bounds_in(problem: Problem, posed: Problem, found: Any) -> tuple[float, Any]:
    """Return the bound of a search of `posed` on the objectives of a problem: as a float, and as an exact cost if the
    search ended with an exact proof, otherwise None."""
    bound = found.bound - found.off if math.isfinite(found.bound) else 0.0
    proved = found.proved and not found.off and found.heap is not None
    least = exact_cost(posed, found.heap) if proved else None
    if posed is problem:
        return bound, least
    exact, other = exact_objective(problem), exact_objective(posed)
    if exact is None or other is None:
        return sum(least_prices(problem)) * bound, None
    ratio = exact.of_loss / other.of_loss
    off = (exact.of_node - ratio * other.of_node) * len(problem.topology.branch_nodes)  # λ of the search is a double
    rounded = Fraction(bound) * (1 - Fraction(ULPS, MAX_EXACT)) if least is None else least
    lower = ratio * rounded + min(0, off)
    return rounded_down(lower), exact.least(lower) if proved else None


def _searched_problem(problem: Problem) -> Problem | None:
    """Return the problem whose search bounds the trees of a run: its own, or one with all trees over the candidate
    splits, with the same costs; None if there is none, as for hyperplanes."""
    if searches(problem):
        return problem
    module, encoded = problem.module, problem.encoded
    if module.BEYOND or TASKS.get(encoded.task).MOMENTS:
        return None
    loss, branch = least_prices(problem)
    if not loss:
        return None
    share = getattr(problem.params, "lambda_", branch / (loss + branch))
    params = parse_params(SEARCH, {"lambda": share})
    plain = Problem(encoded, problem.topology, FORMULATIONS.get(SEARCH), params)
    kept = replace(plain, constraints=problem.constraints)
    return next((one for one in (kept, plain) if searches(one)), None)

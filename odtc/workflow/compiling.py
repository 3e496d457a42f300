"""Build the Model of a Problem and the point of its start, within a time limit that includes the solver."""

import contextlib
import time
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from odtc.base import deadline
from odtc.base.text import some
from odtc.base.value_class import value_class
from odtc.base.wording import command, option, param
from odtc.data.cost_matrix import expect_telling_prices
from odtc.data.reading_spec import CLASSIFICATION
from odtc.data.task import expect_solvers_tell_apart
from odtc.errors import ChoiceError, TimeLimitReached, TreeError
from odtc.model.feasibility import OFF
from odtc.model.milp import Model
from odtc.model.own_parts import broken_rows, completed
from odtc.model.vectors import replaced
from odtc.problem.constraints import constraint
from odtc.problem.counts import require_room
from odtc.problem.cuts import cut
from odtc.problem.cuts.separation import separate_rows
from odtc.problem.formulation import Compiled, Pricing, SearchesItself
from odtc.problem.identity import identified
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree
from odtc.workflow.first_trees import is_tree_file, kept_tree, known_tree, start_name
from odtc.workflow.rounds import Rounds
from odtc.workflow.solving import relaxations

LEFT_OUT = "cases", "columns", "arcs"  # what notes of a model count


def _expect_model(problem: Problem) -> None:
    """Raise ChoiceError for a learner, which has no model."""
    if not problem.module.can(Compiled):
        raise ChoiceError(
            f"{problem.formulation!r} learns its tree without a model: use {command('fit')}, or another "
            f"{option('model')}"
        )


def compile_model(problem: Problem, cuts: str | tuple[str, ...] | None = None, rounds: Rounds | None = None) -> Model:
    """Build the Model of a Problem, with the rows of cut families.

    `cuts` are their names, as a tuple or separated by commas; "all" for the families that fit, "none", or None for the
    families that the formulation chooses. "paper4:rounds=10" adds only rows that the root relaxation violates, in at
    most 10 rounds; `rounds` solves the relaxations, and shows the progress. Raises ChoiceError for a learner, which has
    no model, and for a family that is unknown or does not fit.
    """

    _expect_model(problem)
    if problem.encoded.task == CLASSIFICATION:
        expect_telling_prices(problem.encoded.weight, problem.encoded.cost, OFF)
    else:
        expect_solvers_tell_apart(problem.encoded)
    problem, _ = problem.module.limited(problem)
    names = choose_cuts(cuts) if isinstance(cuts, str) else cuts
    require_room(problem, names)
    built = constraint.built(problem)
    names = cut.choose(problem, built, names)
    model = cut.add(problem, built, names)
    broken = tuple(name for name in names if separates(name))
    if broken:
        rounds = rounds or relaxations()
        model = separate_rows(model, broken, rounds.solve, rounds.tell)
    return identified(replaced(model, left_out=left_out_text(model.problem)))


def left_out_text(problem: Problem) -> str:
    """Report the part of a model that was left out because of an earlier search, and the bound that was used; ""
    without such a search."""
    fixed = problem.module.notes(problem).get("fixed", {})
    of = next((name for name in LEFT_OUT if fixed.get(name)), None)
    if of is None:
        return ""
    return (
        f"{fixed[of]:,} of {fixed['of']:,} {of} are left out of the model, since the compiler's own search proves that "
        f"no better tree needs them (bound {fixed['bound']:.10g}); a row of your own could: {param('fix', False)} "
        "writes all"
    )


def pricing(problem: Problem, text: str) -> Model:
    """Return the pricing problem of "leaf=N" or "leaf=N,class=LABEL", at the dual values of the relaxation over the
    columns so far. Raises ChoiceError for a model that has none, and for another leaf or class."""
    if not problem.module.can(Pricing):
        raise ChoiceError(f"--pricing: {problem.formulation!r} has no pricing problems; use {option('model', 'cg')}")
    place, _, labelled = text.partition(",")
    key, _, number = (part.strip() for part in place.partition("="))
    leaves, classes = problem.topology.leaves, [str(one) for one in problem.encoded.classes]
    word, _, name = (part.strip() for part in labelled.partition("="))
    if key != "leaf" or not number.isdigit() or int(number) not in leaves:
        raise ChoiceError(f"--pricing: expected leaf=N with a leaf from {leaves[0]} to {leaves[-1]}, got {text!r}")
    if labelled and (word != "class" or name not in classes):
        raise ChoiceError(f"--pricing: expected leaf=N,class=LABEL with a class of {some(classes)}, got {text!r}")
    return problem.module.pricing(problem, int(number), *([classes.index(name)] if labelled else []))


def separates(cuts: str | tuple[str, ...] | None) -> bool:
    """Return whether a choice of cut families needs rounds of separation."""

    names = choose_cuts(cuts) if isinstance(cuts, str) else cuts
    return isinstance(names, tuple) and any(cut.family(name)[1] for name in names)


def start(
    model: Model, name: str | Path | None = "cart", heap: HeapTree | None = None, say=None
) -> tuple[HeapTree, np.ndarray] | None:
    """Find a first tree for a model, with the point of the model that represents it (a MIP start).

    Parameters
    ----------
    model : Model
        A model of `odtc.build`.
    name : str, path or None
        A heuristic of `odtc list starts`, a TREE.json, "auto" for the heuristic that suits the formulation, or "none".
    heap : HeapTree or None
        The tree that `known_tree` has already found for this name.
    say : callable or None
        Called with a sentence if the model has no point for the tree of a file, so that it cannot be a start (None:
        raise an error), and if the tree of a heuristic violates rows that the user added (None: warn).

    Returns
    -------
    (HeapTree, float64 (columns,)) or None
        None for "none", if a heuristic's tree cannot be changed to satisfy the constraints, or if it violates rows that
        the user added for any values of the columns that the user added.

    Raises
    ------
    ChoiceError
        If the heuristic is unknown.
    TreeError
        If the model does not represent the tree of the file.

    Examples
    --------
    >>> import odtc
    >>> model = odtc.build("examples/monks/monks-1.csv", "flowoct", depth=1, encoding="onehot")
    >>> tree, point = odtc.start(model, "cart")
    >>> point.shape == model.c.shape
    True
    """
    problem, name = model.problem, start_name(model.problem, name)
    heap = known_tree(problem, name, say) if heap is None else heap
    if heap is not None and not is_tree_file(name):
        heap = problem.module.trimmed(problem, heap)
        heap = constraint.mended(problem, heap)
    if heap is None:
        return None
    try:
        return _arranged(problem, model, heap)
    except TreeError as refused:
        if model.as_built is not model and not is_tree_file(name):
            told = f"no start is given: the tree of {str(name)!r}: {refused}"
            warnings.warn(told, stacklevel=2) if say is None else say(told)
            return None
        if say is None or not is_tree_file(name):
            raise
        begun = _trimmed(problem, model, heap)
        say(f"{'no start is given' if begun is None else 'the start is trimmed'}: {str(name)!r}: {refused}")
        return begun


def _trimmed(problem: Problem, model: Model, heap: HeapTree) -> tuple[HeapTree, np.ndarray] | None:
    """Change a tree until the model has a point for it, and return both; None if that is not possible."""
    try:
        heap = constraint.mended(problem, problem.module.trimmed(problem, heap))
        return None if heap is None else _arranged(problem, model, heap)
    except TreeError:
        return None


def _arranged(problem: Problem, model: Model, heap: HeapTree) -> tuple[HeapTree, np.ndarray]:

    if (built := model.as_built) is model:
        heap = cut.arrange_tree(problem, model, heap)
        return heap, constraint.complete(problem, model, heap)
    heap, point = _arranged(problem, built, heap)
    longer = completed(model, point)
    if longer is None:
        broken = broken_rows(model, point)
        rows = f"a row that was added to the model: {broken[0]!r}" if len(broken) == 1 else "rows added to the model"
        raise TreeError(f"it breaks {rows}{f': {some(broken)}' if len(broken) > 1 else ''}")
    return heap, longer


@value_class
class Prepared:
    """A problem ready to be solved, and its deadline. `model` is None if the time limit, or Ctrl-C (`interrupted`),
    came before it was complete; `known` is then the best tree known, if any. `began` is a time.monotonic()."""

    problem: Problem
    model: Model | None
    begun: tuple[HeapTree, np.ndarray] | None
    known: HeapTree | None
    began: float
    time_limit: float | None
    interrupted: bool = False
    searched: Any = None  # result of the formulation's own search before the model was built; None without one

    @property
    def bound(self) -> float | None:
        """The lower bound on all trees from this earlier search; None without one."""
        return None if self.searched is None else self.searched.bound

    @property
    def proved(self) -> bool:
        """Return whether this earlier search proved that its tree is optimal, or that no tree is feasible."""
        return self.searched is not None and self.searched.proved

    @property
    def point(self) -> np.ndarray | None:
        return self.begun[1] if self.begun else None

    @property
    def best_known(self) -> HeapTree | None:
        """The tree to use if no solution is found; None if no known tree satisfies the constraints."""
        if self.model is None:
            return self.known
        return self.begun[0] if self.begun else None

    @property
    def left(self) -> float | None:
        """The seconds that the solver may use, at least a moment; None without a limit."""
        return deadline.limit_left(self.began, self.time_limit)


def prepare(
    problem: Problem,
    cuts=None,
    start_from="cart",
    rounds: Rounds | None = None,
    time_limit: float | None = None,
    say=None,
    began: float | None = None,
    writes: bool = False,
) -> Prepared:
    """Build the model and the start of a problem within a time limit. The limit includes the solver, which may use the
    time that is left.

    Parameters
    ----------
    problem : Problem
    cuts, rounds
        As in `compile_model`.
    start_from, say
        As `name` and `say` in `start`.
    time_limit : float or None
        Seconds.
    began : float or None
        When the limit began, as time.monotonic(); None for now.
    writes : bool
        Whether the model is needed even if an earlier search has proved its tree.
    """
    _expect_model(problem)
    began = time.monotonic() if began is None else began
    without_model = partial(Prepared, problem, None, None, began=began, time_limit=time_limit)
    heap, is_grown, before = None, False, None
    with deadline.within(deadline.limit_left(began, time_limit)):
        try:
            heap, is_grown = known_tree(problem, start_from, say), True
            deadline.check()
            compiled, before = problem.module.limited(problem, _start_of_search(problem, heap, start_from))
            if before is not None:
                stopped = before.interrupted and before.heap is not None
                needless = before.proved and compiled is problem and time_limit and not writes
                if stopped or before.infeasible or needless:
                    return without_model(before.heap, interrupted=stopped, searched=before)
            if before is not None and before.heap is not None:
                heap, start_from = before.heap, "search"
            model = compile_model(compiled, cuts, rounds)
            begun = start(model, start_from, heap, say) if heap is not None else None
            if not writes:
                deadline.check()
            return Prepared(problem, model, begun, heap, began, time_limit, searched=before)
        except (TimeLimitReached, KeyboardInterrupt) as end:
            interrupted = isinstance(end, KeyboardInterrupt)
            if before is not None and before.heap is not None:
                return without_model(before.heap, interrupted=interrupted, searched=before)
            # If a heuristic takes too long, CART replaces it.
            heap = heap if is_grown else known_tree(problem, "cart")
            if not interrupted:
                kept, before = _best_at_limit(problem, heap, start_from, before, say)
                return without_model(kept, searched=before)
            if (heap := _kept_at_once(problem, heap, start_from)) is None:
                raise
            return without_model(heap, interrupted=True)


def _best_at_limit(problem: Problem, heap: HeapTree | None, name, before, say) -> tuple[HeapTree | None, Any]:
    """Return the tree to use if the limit ended before there was a model, and the search that states the bound, both
    None if there is none: the best of the start and of what the interrupted search `before`, or None, has found."""
    kept = _handed_in(problem, _grown_whole(problem, heap, name), name, say)
    before = before or problem.module.so_far(problem)
    if before is not None and before.heap is not None:
        trees = [tree for tree in (before.heap, kept) if tree is not None]
        kept = min(trees, key=partial(problem.module.objective, problem))
    return kept, before


def _start_of_search(problem: Problem, heap: HeapTree | None, name) -> HeapTree | None:
    """Return the tree, repaired if it breaks constraints, for a search before the model; None if it cannot be
    repaired."""
    if heap is None or not problem.constraints or not problem.module.can(SearchesItself):
        return None
    return heap if is_tree_file(name) else constraint.mended(problem, heap)


def _grown_whole(problem: Problem, heap: HeapTree | None, name) -> HeapTree | None:
    """Return the tree of a start by name, or CART's grown to its end if that costs less: the limit may have cut it,
    and the report compares the result with the whole one."""
    if heap is None or is_tree_file(name):
        return heap
    with deadline.put_off():
        cart = known_tree(problem, "cart")
    price = problem.module.branch_penalty(problem)
    return min((heap, cart), key=lambda tree: tree.loss(problem.encoded) + price * tree.n_branch_nodes)


def _kept_at_once(problem: Problem, heap: HeapTree | None, name) -> HeapTree | None:
    """Return the same as `_handed_in`, without steps for which the formulation would have to compile; None if
    constraints take longer."""
    with contextlib.suppress(TimeLimitReached), deadline.within(0.0):
        return _handed_in(problem, heap, name, None)
    return None


def _handed_in(problem: Problem, heap: HeapTree | None, name, say) -> HeapTree | None:
    """Return the tree that is used if the time ended before the model was built: as `kept_tree`; or the tree itself, or
    CART's, with a note, if the formulation can only represent a worse one because each of its hyperplanes leaves a
    gap."""
    kept = kept_tree(problem, heap, name)
    if kept is None or not problem.module.WEIGHS or problem.constraints or is_tree_file(name):
        return kept
    paid = problem.module.objective(problem, kept)
    found, costs = kept, paid
    for other in (heap, known_tree(problem, "cart")):
        with contextlib.suppress(TreeError):  # with a penalty of features, which is not defined for a tree without gaps
            if other is not None and other.fewest_rows(problem.encoded) >= problem.module.least_rows(problem):
                own = problem.module.objective(problem, other)
                found, costs = (other, own) if own < costs else (found, costs)
    if found is not kept and say is not None:
        say(
            f"the tree separates some rows by less than the gap that {problem.formulation} requires: it costs "
            f"{costs:.10g}, the best tree known with such gaps {paid:.10g}"
        )
    return found


def choose_cuts(text: str | tuple[str, ...] | None) -> tuple[str, ...] | str | None:
    """Return the cut families that `--cuts` names, None (the formulation's own) and "all" unchanged; raises
    ChoiceError for an unknown one."""
    if text is None or text == "all":
        return text
    if text == "none":
        return ()

    names = tuple(name.strip() for name in (text.split(",") if isinstance(text, str) else text) if name.strip())
    for name in names:
        cut.family(name)
    return names

"""Requested and reached figures of a tree, for each constraint, on training and on test rows."""

import re
from fractions import Fraction

from odtc.base.text import show_figure
from odtc.base.wording import option
from odtc.data.dataset import Dataset
from odtc.errors import OdtcError
from odtc.heuristics.heuristic import HEURISTICS
from odtc.problem.constraints.constraint import Constraint, broken
from odtc.problem.constraints.kind import OnPredictions
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree
from odtc.trees.tree import Tree
from odtc.verification.verify import RowPredictions


def kept_facts(
    problem: Problem,
    heap: HeapTree,
    tree: Tree,
    labelled: Dataset | None,
    asked: tuple[Constraint, ...] | None = None,
    cart: HeapTree | None = None,
) -> list[dict]:
    """Return one entry for each requested constraint; None means the constraints of the problem.

    Returns
    -------
    list of dict
        `constraint` as typed, `requested` its number (None without one), `training` the figure of the tree, `test` its
        figure on test rows with known labels, `satisfied_on_test` whether it satisfies the constraint; both None if
        there are no such rows, if the constraint is not on predictions, or if the rows lack a column; `cart` the figure
        of CART's tree on training rows, and `satisfied_by_cart` whether it satisfies the constraint, if that tree is
        given.
    """
    labelled = None if labelled is None else labelled.with_known_labels()
    rows = None if labelled is None else RowPredictions(problem.encoded, labelled, tree.predict(labelled.X))
    found = []
    for given in problem.constraints if asked is None else asked:
        test = None
        if rows is not None and given.module.can(OnPredictions):
            try:
                test = rows.value(given)
            except (OdtcError, ZeroDivisionError):
                test = None
        test = None if test is None or test != test else test
        found.append(
            {
                "constraint": str(given),
                "requested": float(given.bound) if given.op else None,
                "training": float(given.module.value(problem.encoded, given, heap)),
                "test": None if test is None else float(test),
                "satisfied_on_test": None if test is None else bool(given.holds(test)),
            }
            | ({} if cart is None else _of_cart(given, given.module.value(problem.encoded, given, cart)))
        )
    return found


def _of_cart(given: Constraint, value: Fraction | float) -> dict:
    return {"cart": float(value), "satisfied_by_cart": bool(given.holds(value))}


def broken_text(kept: list[dict]) -> str:
    """Return the constraints that CART's tree breaks, with its figures (`kept_facts`); "" for none."""
    told = [entry for entry in kept if not entry.get("satisfied_by_cart", True)]
    return ", ".join(f"{entry['constraint']} ({show_figure(entry['cart'])})" for entry in told)


def kept_line(entry: dict, tree: Tree) -> str:
    """Return an entry as a line of a result: whether the constraint is satisfied, the figures of training and test
    rows, and the display names of its classes."""
    named = [
        f"{name}: {text}"
        for name, text in zip(tree.classes, tree.shown.classes)
        if name != text and re.search(rf"[\[=,]\s*{re.escape(name)}\s*[\],]", str(entry["constraint"]))
    ]
    words = f"{kept_text(entry)} ({', '.join(named)})" if named else kept_text(entry)
    return f"{'missed' if entry['satisfied_on_test'] is False else 'kept':<8}  {words}"


def kept_text(entry: dict) -> str:
    """Return an entry in words."""
    if entry.get("requested") is None and not entry["training"] and not entry["test"]:
        return str(entry["constraint"])  # a constraint without a number, which counts its violations
    figure = f"{entry['constraint']}: {show_figure(entry['training'])} on training rows"
    if entry["test"] is None:
        return figure
    if entry["satisfied_on_test"]:
        return f"{figure}, {show_figure(entry['test'])} on test rows"
    return f"{figure}, missed on test: {show_figure(entry['test'])}"


def no_worse_than_cart(problem: Problem, heap: HeapTree | None) -> HeapTree | None:
    """Return the tree, or CART's tree as printed next to it if that satisfies the constraints and costs less."""
    cart = _cart_of(problem)
    if broken(problem, cart):
        return heap
    if heap is None or problem.module.objective(problem, cart) < problem.module.objective(problem, heap):
        return cart
    return heap


def open_text(paid: float, bound: float | None) -> str:
    """Report that no better tree is known, and the known bound on better ones, after a search without a proof."""
    least = (
        "no bound excludes one" if bound is None or bound <= 0 else f"none can cost less than its bound, {bound:.10g}"
    )
    return f"it is open whether a better tree satisfies the constraints: none below {paid:.10g} was found, and {least}"


def unmet_text(problem: Problem, ended: str) -> str:
    """Report that a search which has `ended` in this way found no tree that satisfies the constraints, and the figures
    of CART's tree."""
    cart = _cart_of(problem)
    reached = ", ".join(f"{given} ({show_figure(value)})" for given, value in broken(problem, cart))
    which = "the constraint" if len(problem.constraints) == 1 else "one of them"
    return (
        f"no tree that satisfies {'; '.join(map(str, problem.constraints))} was found before {ended}, and it is open "
        f"whether there is one; CART violates {reached}: allow more time ({option('time_limit')}) or a greater "
        f"{option('depth')}, or relax {which}"
    )


def _cart_of(problem: Problem) -> HeapTree:
    """Return CART's tree as reported with every result, without any limit."""
    found: HeapTree = HEURISTICS.get("cart").tree(problem.encoded, problem.topology)
    return found

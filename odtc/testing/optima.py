"""The cost of the cheapest tree of a problem, by trying every tree, with the penalties that its formulation declares;
and the optimum of its model by scipy."""

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, OptimizeResult, milp

from odtc.model.milp import Model
from odtc.model.points import name_list
from odtc.testing.exhaustive import (
    cheapest,
    every_hyperplane,
    every_split,
    every_tree,
    fewest_branch_nodes,
    least_losses,
)


def terms(problem) -> tuple[float, float, int]:
    """Return (penalty of a unit of loss, penalty of a branch node, least number of data rows in a leaf), as the
    formulation of a problem declares them."""
    return *problem.module.unit_costs(problem), problem.module.least_rows(problem)


def exhaustive_cost(problem) -> float:
    """Return the cost of the cheapest of all trees that the formulation represents."""
    encoded, depth, (per_error, per_branch_node, least) = problem.encoded, problem.topology.depth, terms(problem)
    cost, data = encoded.cost.tolist(), encoded.dataset
    X = splits_of(problem)
    if problem.module.prices_answers(problem):
        rows = X if problem.module.BEYOND else X[encoded.row_of]
        trees = fewest_branch_nodes(rows, len(data.classes), depth, least)
        return min(
            per_branch_node * n
            + per_error * (data.weight * encoded.cost[data.y, predicted]).sum()
            + problem.module.paid_for(problem, predicted)
            for predicted, n in ((np.array(predicted), n) for predicted, n in trees.items())
        )
    if not problem.module.BEYOND:
        return cheapest(X, encoded.y, encoded.weight, depth, per_branch_node, per_error, encoded.copies, least, cost)
    copies = np.ones(data.n_rows, int)
    return cheapest(X, data.y, data.weight, depth, per_branch_node, per_error, copies, least, cost)


def splits_of(problem) -> np.ndarray:
    """Return the possible splits of a node, bool (rows, splits); the rows are the rows of the data if the formulation
    has splits beyond its encoding."""
    data = problem.encoded.dataset
    if not problem.module.BEYOND:
        return problem.encoded.X
    if not problem.module.WEIGHS:
        return every_split(data)
    return every_hyperplane(
        data, problem.params.categories == "sets" if hasattr(problem.params, "categories") else False
    )


def least_kept(problem) -> float:
    """Return the cost of the cheapest tree that satisfies the problem's constraints, by trying every tree with the
    reference check of each kind; infinite if there is none."""
    references = [given.module.reference(problem.encoded, given) for given in problem.constraints]
    if any(reference.leaf or reference.leaves or reference.tree for reference in references):
        return least_of_every_tree(problem)
    if any(reference.predictions for reference in references):
        return _least_answering(problem, references)
    encoded, depth = problem.encoded, problem.topology.depth
    per_loss, per_branch_node, least = terms(problem)
    X, y, weight, copies, cost = encoded.X, encoded.y, encoded.weight, encoded.copies, encoded.cost.tolist()
    if problem.module.BEYOND:
        data = encoded.dataset
        X, y, weight, copies = splits_of(problem), data.y, data.weight, np.ones(data.n_rows, int)
    found = least_losses(
        X,
        y,
        weight,
        depth,
        cost,
        copies,
        max([least, *(reference.least_rows for reference in references)]),
        lambda test, above: all(reference.allowed(test, above) for reference in references if reference.allowed),
    )
    return min(
        (
            per_loss * loss + per_branch_node * n
            for (n, asked), loss in found.items()
            if all(reference.counts(n, asked) for reference in references if reference.counts)
        ),
        default=float("inf"),
    )


def _least_answering(problem, references) -> float:
    """Return the same with constraints on predictions: by all possible predictions of trees for the rows of
    the data."""
    encoded, data = problem.encoded, problem.encoded.dataset
    per_loss, per_branch_node, least = terms(problem)
    X = every_split(data) if problem.module.BEYOND else encoded.X[encoded.row_of]
    least = max([least, *(reference.least_rows for reference in references)])
    trees = fewest_branch_nodes(X, len(encoded.classes), problem.topology.depth, least)
    truth, weight = data.y.tolist(), data.weight.tolist()
    best = float("inf")
    for predicted, n in trees.items():
        paid = per_branch_node * n + per_loss * sum(w * encoded.cost[t, p] for w, t, p in zip(weight, truth, predicted))
        if (
            paid < best
            and all(reference.counts(n, None) for reference in references if reference.counts)
            and all(reference.predictions(predicted) for reference in references if reference.predictions)
        ):
            best = paid
    return best


def least_of_every_tree(problem) -> float:
    """Return the same for constraints of any kinds together: by all trees, one after another."""
    references = [given.module.reference(problem.encoded, given) for given in problem.constraints]
    encoded, data = problem.encoded, problem.encoded.dataset
    per_loss, per_branch_node, least = terms(problem)
    least = max([least, *(reference.least_rows for reference in references)])

    def may(test, above) -> bool:
        return all(reference.allowed(test, above) for reference in references if reference.allowed)

    def leaf(label, rows) -> bool:
        return len(rows) >= least and all(reference.leaf(label, rows) for reference in references if reference.leaf)

    best, cost, truth, weight = float("inf"), encoded.cost.tolist(), data.y.tolist(), data.weight.tolist()
    trees = every_tree(encoded.X[encoded.row_of], len(encoded.classes), problem.topology.depth, may, leaf)
    for n, tests, counts, predicted, shape in trees:
        paid = per_branch_node * n + per_loss * sum(w * cost[t][p] for w, t, p in zip(weight, truth, predicted))
        if (
            paid < best
            and all(reference.counts(n, tests) for reference in references if reference.counts)
            and all(reference.leaves(counts) for reference in references if reference.leaves)
            and all(reference.tree(shape) for reference in references if reference.tree)
            and all(reference.predictions(predicted) for reference in references if reference.predictions)
        ):
            best = paid
    return best


def solved(model: Model, whole: bool = True) -> OptimizeResult:
    """Return the result of scipy for a model; with `whole` False for its relaxation."""
    return milp(
        model.c,
        constraints=LinearConstraint(model.A, model.row_lower, model.row_upper),
        bounds=Bounds(model.col_lower, model.col_upper),
        integrality=model.integrality if whole else None,
    )


def optimum(model: Model) -> tuple[float, dict | None]:
    """Return (objective, {block: values}) of an optimum; (inf, None) where the model has no solution."""
    found = solved(model)
    if found.status == 2:  # infeasible
        return float("inf"), None
    return found.fun + model.offset, model.split(found.x)


def relaxed(model: Model) -> float:
    """Return the objective of the relaxation."""
    return solved(model, whole=False).fun + model.offset


def assert_rows_kept(model: Model, x: np.ndarray, slack: float = 1e-9) -> None:
    """Raise AssertionError, with the name of a row, if a point violates the rows of the model."""
    activity = model.A @ x
    beyond = np.maximum(model.row_lower - activity, activity - model.row_upper)
    worst = int(beyond.argmax()) if len(beyond) else 0
    assert not len(beyond) or beyond[worst] <= slack, (
        f"the row {name_list(model.rows)[worst]} is violated by {beyond[worst]:.10g}"
    )


def assert_point_of(problem, model: Model, heap, x: np.ndarray) -> None:
    """Raise AssertionError unless the point is a solution of the model with the cost of the tree."""
    outside = np.flatnonzero((x < model.col_lower) | (x > model.col_upper))
    assert not len(outside), (
        f"the column {name_list(model.columns)[outside[0]]} = {x[outside[0]]!r} is outside its bounds"
    )
    assert_rows_kept(model, x)
    stated, costs = model.objective(x), problem.module.objective(problem, heap)
    assert np.isclose(stated, costs, rtol=1e-6, atol=1e-9), f"the point states {stated!r}, its tree costs {costs!r}"

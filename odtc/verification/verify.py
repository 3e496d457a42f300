"""Check every claim of a solver: the point against the model, and the tree against the data.

Each check reports one line with its numbers. No check uses a solver. The last check routes every row of the data file
through the tree with its own short code, independent of all other code.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from odtc.base.text import count_of
from odtc.base.whole_numbers import MAX_EXACT, whole_numbers
from odtc.base.wording import param
from odtc.data.dataset import Dataset
from odtc.data.encoding import Encoded, answers_of
from odtc.data.task import TASKS, exact_costs, leaf_cost, part_costs
from odtc.errors import TreeError
from odtc.model.feasibility import (
    OFF,
    TOLERANCE,
    Check,
    check_claim,
    check_point,
    is_close,
    printed_objective,
    printing_error,
)
from odtc.model.solution import EDITED, NO_POINT, Solution, Termination
from odtc.problem.constraints.constraint import complete, on_answers
from odtc.problem.constraints.kind import Constraint
from odtc.problem.exact_objective import (
    ULPS,
    exact_objective,
    least_difference,
    rounded_down,
    search_costs,
    settled_bound,
)
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree, blank_arrays
from odtc.trees.tree import Branch, Leaf, Tree

if TYPE_CHECKING:
    from odtc.model.milp import Model
    from odtc.trees.boxes import Boxes


LINES = 1e-4  # maximum extra cost of rounded slopes and intercepts, relative to the cost of one leaf
SQUARES = 1e-12  # relative tolerance for squared errors of leaves, which are rounded once
# Of a model with rows of its user's own.
HALF = (
    "; the point is not a whole tree, as rows over continuous columns may leave it: declare these columns integer, or "
    "write the rows over columns of the tree"
)

SEVERAL = 4  # a solver's proof counts only if two trees differ by this multiple of its tolerance
UNSUPPORTED = "the solver's proof does not count"
FAILED = (Termination.ERROR, Termination.UNKNOWN)  # terminations that say nothing about the model


def verify(
    problem: Problem,
    model: "Model",
    solution: Solution,
    heap: HeapTree,
    tree: Tree,
    dataset: Dataset | None = None,
    known: Sequence[tuple[str, HeapTree]] = (),
) -> list[Check]:
    """Return all checks of a solved and decoded model.

    Parameters
    ----------
    dataset : Dataset, optional
        The data file read again, if it is available.
    known : sequence of (str, HeapTree)
        Available trees by name, which are compared with a claimed bound.
    """
    return verify_point(problem, model, solution, heap, known) + verify_tree(problem, heap, tree, dataset)


def verify_point(
    problem: Problem, model: "Model", solution: Solution, heap: HeapTree, known: Sequence[tuple[str, HeapTree]] = ()
) -> list[Check]:
    """Return the checks of a solution and its tree against the model; `known` is as in `verify`."""
    from odtc.problem.cuts.cut import arrange_tree
    from odtc.verification.known_trees import against_known, is_below

    solved = model.edited or model
    module, objective = problem.module, printed_objective(model, solution.x[: model.n_cols], solution.claimed)
    if model.recorded:
        return _against_recorded(problem, model, solution, heap, known)
    checks = _checks_of_point(solved, solution)
    # The tree as a point of the model has whole values, so its rows need no tolerance. If the model has rows that only
    # some optimum satisfies, the arranged tree is used, which satisfies them at no greater cost.
    kept = arrange_tree(problem, model, heap)
    try:
        exact = complete(problem, model, kept)
        counted, paid = module.objective(problem, kept), module.objective(problem, heap)
    except TreeError as refused:  # within a solver's tolerance, the tree may narrowly miss the model
        return [*checks, Check("tree in model", False, str(refused))]
    wrong = [check for check in check_point(model, exact) if not check.passed]
    costs = model.objective(exact)
    text = f"feasible, costs {costs:.10g}; counted on the rows {counted:.10g}"
    fits = not wrong and is_close(costs, counted)
    checks.append(Check("tree in model", fits, "; ".join(check.text for check in wrong) or text))
    # better than the solver's objective is a note, worse is an error.
    worse = paid > objective and not is_close(paid, objective, OFF)
    note = (
        " (better: the incumbent withheld flow, or the model that was solved has rows of its own)"
        if paid < objective and not is_close(paid, objective)
        else ""
    )
    half = HALF if model.edited is not None else ""
    note = half if worse else note
    checks.append(Check("tree objective", not worse, f"the tree costs {paid:.10g}, the point {objective:.10g}{note}"))
    if (weight := module.misrouted(problem, model.split(solution.x))) is not None:
        note = "; the tree's own count is given, not the solver's" if weight else ""
        text = f"rows of weight {weight:.10g} go elsewhere in the solver's point than its splits send them{note}"
        checks.append(Check("routes", True, text))
    if solution.bound is not None:
        contradiction, others = against_known(problem, model, solution.bound, known)
        costs = paid if solution.scope_objective is None else solution.scope_objective
        if is_below(problem, costs, solution.bound) and not contradiction and not is_close(objective, paid):
            others += half
        checks.append(_against_bound(problem, "bound", solution.bound, costs, contradiction, others))
    if solution.overall is not None:
        contradiction, others = against_known(problem, None, solution.overall, known)
        checks.append(_against_bound(problem, "bound of all trees", solution.overall, paid, contradiction, others))
    return checks


def _checks_of_point(solved: "Model", solution: Solution) -> list[Check]:
    """Return the checks of a point and its objective. Values that a solver printed with six digits may violate a
    constraint by their rounding, too."""
    tolerance = TOLERANCE + printing_error(solution.x)
    return check_point(solved, solution.x, tolerance) + check_claim(solved, solution.x, solution.claimed)


def _against_recorded(
    problem: Problem, model: "Model", solution: Solution, heap: HeapTree, known: Sequence[tuple[str, HeapTree]]
) -> list[Check]:
    """Return the checks of a point of a model that its formulation no longer builds, against the recorded facts."""
    from odtc.verification.known_trees import against_known

    solved, paid = model.edited or model, problem.module.objective(problem, heap)
    checks = [] if model.rowless else _checks_of_point(solved, solution)
    checks.append(Check("formulation", True, model.recorded))
    if not model.rowless:
        objective = model.objective(solution.x[: model.n_cols])
        same = paid <= objective or is_close(paid, objective, OFF)
        checks.append(Check("tree objective", same, f"the tree costs {paid:.10g}, the point {objective:.10g}"))
    if solution.bound is not None:
        # Trees cannot be turned into points of this model, so all trees of the problem count, unless the file was
        # edited.
        told = (False, "") if model.edited is not None else against_known(problem, None, solution.bound, known)
        checks.append(_against_bound(problem, "bound", solution.bound, paid, *told))
    return checks


def _against_bound(problem: Problem, name: str, bound: float, paid: float, contradiction: bool, others: str) -> Check:
    """Check whether a claimed bound is above a tree that costs `paid`, or contradicted by other trees."""
    from odtc.verification.known_trees import is_below

    holds = not is_below(problem, paid, bound) and not contradiction
    return Check(name, holds, f"no tree below {bound:.10g} is claimed, this one costs {paid:.10g}{others}")


def verify_tree(problem: Problem, heap: HeapTree, tree: Tree, dataset: Dataset | None = None) -> list[Check]:
    """Return the checks that need no model: for any tree, also a learner's."""
    encoded = problem.encoded
    floor = equivalent_points(encoded)
    errors, loss = heap.errors(encoded), heap.loss(encoded)
    counted = np.array([leaf.counts for leaf in tree.leaves()]).sum(axis=0)
    labelled = np.bincount(encoded.y, encoded.weight, len(encoded.classes))
    same = bool(np.allclose(counted, labelled, rtol=1e-9, atol=1e-9))
    text = f"the leaves contain weight {counted.sum():.10g} of {labelled.sum():.10g}"
    checks = [Check("leaf counts", same, text)]
    text = f"rows that every split sends the same way cost any tree at least {floor:.10g}; this tree costs {loss:.10g}"
    checks.append(Check("equal rows", loss >= floor - TOLERANCE * max(1, floor), text))
    if least := problem.module.least_rows(problem):
        fewest = heap.fewest_rows(encoded)
        text = f"{param('n_min', least)}: the leaf with the fewest rows has {fewest}"
        checks.append(Check("least rows", fewest >= least, text))
    rows = None if dataset is None else _routed(encoded, tree, dataset)
    checks += _constraints_kept(problem, heap, tree, rows)
    if rows is None:
        return checks
    if (boxes := problem.module.boxes(problem)) is not None:
        checks.append(_attacked(problem, heap, tree, rows.dataset, boxes))
    if not TASKS.get(encoded.task).MOMENTS:
        checks.append(_against_data(rows, encoded.cost.tolist(), errors, loss))
    return checks + _loss_again(encoded, tree, rows, loss)


def _constraints_kept(problem: Problem, heap: HeapTree, tree: Tree, rows: "RowPredictions | None") -> list[Check]:
    """Return the check of each constraint: on the encoded rows, and with `rows` also on the rows of the data file."""
    answering, encoded, checks = on_answers(problem), problem.encoded, []
    selected = None if rows is None or not answering else rows.dataset.selected
    whole = None if selected is None else _routed(encoded, tree, selected.whole)
    for given in problem.constraints:
        value = given.module.value(encoded, given, heap)
        checks.append(Check("constraint", given.holds(value), given.told(value)))
        if rows is not None and given in answering:
            again = rows.value(given)
            # If rows were selected, the constraint refers only to the selected rows, on which the tree was trained.
            where = "on the rows of the data file" if whole is None else f"on the selected rows, {whole.told(given)}"
            holds = given.holds(value) and (whole is not None or given.holds(again)) and is_close(value, again)
            checks[-1] = Check("constraint", holds, f"{given.told(value)}, {given.shown(again)} {where}")
    return checks


def _loss_again(encoded: Encoded, tree: Tree, rows: "RowPredictions", loss: float) -> list[Check]:
    """Return the check of the loss against the figures of the task on the rows of the data file; none for a task that
    does not compute it from these."""
    task, sums, weight = TASKS.get(encoded.task), rows.dataset.sums, rows.dataset.weight
    slopes, largest = np.zeros(0), 0.0
    if task.NUMBERS:
        leaves, leaf_of = _sent(tree, rows.dataset.X)
        answers = np.array([tree.answer(leaf) for leaf in leaves])[leaf_of]
        slopes = np.array([leaf.line.slope for leaf in leaves if leaf.line])
        for number, line in enumerate(leaf.line for leaf in leaves):
            if line is not None:
                here = np.flatnonzero(leaf_of == number)
                rises = line.slope * rows.dataset.X[here, line.feature]
                answers[here] = line.intercept + rises
                largest = max(largest, abs(line.intercept) + float(np.abs(rises).max(initial=0.0)))
    else:
        answers = rows.predicted
    again = task.loss_again(sums, answers)
    if again is None:
        return []
    again += task.penalty(rows.dataset.source, slopes)
    text = f"by its answers for the rows of the file the tree loses {again:.10g}, {loss:.10g} on the encoded rows"
    # The error of sums of decimals: a part of the cost of one leaf.
    near = 1e-9 if task.MOMENTS else 1e-6  # estimated costs are rounded
    off = near * leaf_cost(encoded) + task.rounding(sums, weight)
    if (numbers := task.numbers(sums)) is not None:  # predictions are rounded to their own digits
        step, total = 2.0**-51 * max(largest, float(np.abs(numbers).max())), float(weight.sum())
        of_squares = 2 * step * math.sqrt(total * abs(loss)) + step * step * total
        if slopes.size:
            of_squares = min(of_squares, LINES * leaf_cost(encoded))
        off += of_squares if task.SQUARES else step * total
        off += math.ulp(0.0) * (total + len(numbers))  # products below the smallest normal double
    same = math.isclose(again, loss, rel_tol=near, abs_tol=off)
    if not same and slopes.size:
        text += (
            "; doubles have too few digits for these lines: subtract a constant from the target and from columns of "
        )
        text += "large numbers, or round them to fewer digits"
    if task.SQUARES and not task.LINES and exact_costs(encoded) is not None:
        same = same and math.isclose(_squared_error(rows.dataset, leaf_of), loss, rel_tol=SQUARES)
    return [Check(encoded.task, same, text)]


def verify_filled(problem: Problem, tree: Tree, whole: Dataset) -> Check:
    """Return the check of a tree whose leaves count all rows from which its own were selected: each of these rows is
    checked by itself."""
    said, label = _routed(problem.encoded, tree, whole).predicted, whole.y
    told = sum(leaf.counts[leaf.label] for leaf in tree.leaves())
    right = float(whole.weight[said == label].sum())
    rows = f"{count_of(whole.n_rows, 'row', '')} that these were selected from"
    text = f"{rows}: weight {right:.10g} correct, {told:.10g} in the leaves"
    return Check("all rows", is_close(right, told), text)


class RowPredictions:
    """The rows of a data file, each by itself, with the class that a tree predicts of each: int (rows,)."""

    def __init__(self, encoded: Encoded, dataset: Dataset, predicted: np.ndarray):
        self.dataset, self.predicted, self._encoded = dataset, predicted, encoded

    def value(self, given: Constraint) -> Fraction | float:
        """Return the value of a constraint on predictions, on the rows themselves, with the groups of the data file."""
        return given.module.value(self.rowwise, given, _Labels(self.predicted))

    def told(self, given: Constraint) -> str:
        """Return the value as text, on all rows from which the rows of the tree were selected."""
        value = self.value(given)
        broken = "" if given.holds(value) else ", where it is broken"
        return f"{given.shown(value)} on all {count_of(self.dataset.n_rows, 'row', '')}{broken}"

    @cached_property
    def rowwise(self) -> Encoded:
        """The encoding with a row for each row of the file."""
        encoded, dataset, n = self._encoded, self.dataset, self.dataset.n_rows
        return replace(
            encoded,
            X=answers_of(encoded, dataset),
            y=dataset.y,
            weight=dataset.weight,
            copies=np.ones(n, np.int64),
            row_of=np.arange(n),
            dataset=dataset,
            groups=(),
        )


class _Labels:
    """A tree of which only the class that each row is predicted is known."""

    def __init__(self, label):
        self.label = np.array(label)

    def reach(self, X):
        return np.arange(len(self.label))


def equivalent_points(encoded: Encoded) -> float:
    """Return a lower bound on the loss of every tree over these splits: rows that agree on every split are predicted
    the same, so each such group costs as much as its cheapest class."""
    found: float = encoded.derived("equivalent points", lambda: _lost_by_equivalent_points(encoded))
    return found


def _lost_by_equivalent_points(encoded: Encoded) -> float:
    group = encoded.alike
    if TASKS.get(encoded.task).MOMENTS:
        return float(sum(part_costs(encoded, group, int(group.max()) + 1)))
    K = len(encoded.classes)
    weights = np.bincount(group * K + encoded.y, encoded.weight, (group.max() + 1) * K).reshape(-1, K)
    least, mixed = np.zeros(len(weights)), np.count_nonzero(weights, axis=1) > 1  # rows of one class lose nothing
    least[mixed] = (weights[mixed] @ encoded.cost).min(axis=1)
    return float(least.sum())


def objective_floor(problem: Problem) -> float:
    """Return the lower bound on the objective that equivalent points imply.

    An objective is a factor times the loss, plus terms that only branch nodes or different predictions can cause. A
    tree of one leaf has neither, so it gives the factor.
    """
    if exact_objective(problem) is not None:
        return rounded_down(exact_floor(problem))
    leaf = one_leaf(problem)
    loss = leaf.loss(problem.encoded)
    floor = problem.module.objective(problem, leaf) / loss * equivalent_points(problem.encoded) if loss else 0.0
    # Costs of leaves that are not sums over rows are rounded, so the floor is lowered by more than that.
    return floor - SQUARES * abs(floor) if TASKS.get(problem.encoded.task).MOMENTS else floor


def exact_floor(problem: Problem) -> Fraction:
    """Return the same as an exact number, of a problem with exact objectives."""
    costs, group = search_costs(problem), problem.encoded.alike
    sums = np.stack([np.bincount(group, column) for column in costs.loss.T], axis=1)
    return Fraction(float(sums.min(axis=1).sum())) * costs.step


def one_leaf(problem: Problem) -> HeapTree:
    """Return the tree of one leaf with the largest loss, which is not 0 unless no loss is possible."""
    split, label = blank_arrays(problem.topology)
    label[1] = int(problem.encoded.loss.sum(axis=0).argmax())
    return HeapTree(split, label)


def proves(problem: Problem, paid: float) -> bool:
    """Return whether a tree that costs `paid` is optimal whatever the solver claims, because it costs as little as
    equivalent points allow."""
    if exact_objective(problem) is not None:
        return settled_bound(problem, objective_floor(problem), paid) >= paid
    least = objective_floor(problem)
    if TASKS.get(problem.encoded.task).MOMENTS:  # searches compare them by exact costs
        return paid <= least
    # Margins and norms may cost any small number; sums of weights are off by units in the last place.
    return math.isclose(paid, least, rel_tol=1e-12 if least_difference(problem) else ULPS / MAX_EXACT) or paid <= least


def raise_bound_to_floor(problem: Problem, solution: Solution) -> Solution:
    """Return the solution with no bound below the floor, because early in a search a solver's own bound is weaker."""
    if solution.termination in NO_POINT or (solution.termination == Termination.ERROR and not solution.has_solution):
        return solution
    if solution.scope_objective is not None:
        return solution  # the bound is of another objective
    least = (
        objective_floor(problem) if solution.objective is None else min(objective_floor(problem), solution.objective)
    )
    if solution.scope and solution.scope != EDITED:
        solution = replace(solution, overall=max(least, solution.overall or 0.0))
    return solution if solution.bound is not None and solution.bound >= least else replace(solution, bound=least)


def supported(model: "Model", solution: Solution) -> Solution:
    """Return a solver's solution without a claim that its tolerances do not support.

    A solver may be off by its tolerances for rows, integrality and the gap, times the largest number of the model.
    Its proof counts only if two trees, or two sums of a constraint, that differ do so by several times as much.

    Parameters
    ----------
    model : Model
        The model that was solved, with its problem.
    solution : Solution

    Returns
    -------
    Solution
        The same if its claim is supported, or claims nothing; otherwise with an open end, the bound minus the
        tolerance (without it if the solver may cut off trees that satisfy a constraint), and a sentence with the
        reason.
    """
    problem, claims = model.problem, (Termination.OPTIMAL, Termination.INFEASIBLE)
    if solution.scope or solution.scope_objective is not None or model.edited is not None:
        return solution
    failed = not solution.has_solution and solution.termination in FAILED
    if not (solution.termination in claims or solution.bound is not None or failed):
        return solution
    if solution.is_unsupported or solution.proved_by:  # by the compiler's own search
        return solution
    slack = TOLERANCE * max(1.0, _largest_cost(model), abs(solution.bound or 0.0))
    near = "" if solution.termination == Termination.INFEASIBLE else _too_near(problem, slack)
    wide = _too_wide(problem)
    if not (why := near or wide):
        return solution
    lowered = None if solution.bound is None else -np.inf if wide else solution.bound - slack
    ended = Termination.UNKNOWN if solution.termination in claims else solution.termination
    return replace(
        solution,
        termination=ended,
        bound=None if lowered is None else max(objective_floor(problem), lowered),
        message="; ".join(filter(None, [solution.message, f"{UNSUPPORTED}: {why}"])),
        is_unsupported=True,
    )


def _largest_cost(model: "Model") -> float:
    """Return the largest number of the model by which a violation of a tolerance changes the objective: of the
    objective, or of a row that determines a cost which is a variable."""
    c, A = np.abs(model.c), model.A.tocsc()
    costs = np.flatnonzero((c > 0) & ~model.integrality.astype(bool))
    rows = np.unique(A[:, costs].indices)
    wide = float(np.abs(A.tocsr()[rows].data).max(initial=0.0)) if len(rows) else 0.0
    return max(float(c.max(initial=0.0)), wide * float(c[costs].max(initial=0.0)))


def _too_near(problem: Problem, slack: float) -> str:
    """Return why a solver that may be off by `slack` cannot distinguish two trees; "" if it can."""
    least = least_difference(problem)
    if least > SEVERAL * slack:
        return ""
    by = f"{float(least):.3g}" if least else "any small number"
    return f"two trees may differ by {by}, and a solver may be off by {slack:.3g}"


def _too_wide(problem: Problem) -> str:
    """Return why a solver cannot distinguish two sums of a constraint; "" if it can."""
    widest = max((_widest(problem.encoded, given) for given in problem.constraints), default=0)
    if SEVERAL * TOLERANCE * widest < 1:
        return ""
    return f"the numbers of a constraint have {len(str(widest))} digits, too many for a solver's tolerance"


def _widest(encoded: Encoded, given: Constraint) -> int:
    """Return the largest coefficient of the sums of a constraint, in their unit."""
    from odtc.problem.constraints.search_terms import terms_of

    terms = terms_of(encoded, given)
    numbers = [coef for coef, _ in terms.lines] + [measure for measure, _ in terms.measures]
    return max((int(np.abs(one).max(initial=0)) for one in numbers), default=0)


def _routed(encoded: Encoded, tree: Tree, dataset: Dataset) -> RowPredictions:
    leaves, leaf_of = _sent(tree, dataset.X)
    return RowPredictions(encoded, dataset, np.array([leaf.label for leaf in leaves])[leaf_of])


def _sent(tree: Tree, X) -> tuple[list[Leaf], np.ndarray]:
    """Return (the leaves of a tree, int64 (rows,): the leaf that each row of X reaches), by the splits in words."""
    leaves: list[Leaf] = []
    leaf_of = np.zeros(len(X), np.int64)
    waiting: list[tuple[Branch | Leaf, np.ndarray]] = [(tree.root, np.arange(len(X)))]
    while waiting:
        node, rows = waiting.pop()
        if not isinstance(node, Branch):
            leaf_of[rows] = len(leaves)
            leaves.append(node)
            continue
        left = _goes_left(node.split, {feature: X[rows, feature] for feature in node.split.features})
        waiting += [(node.left, rows[left]), (node.right, rows[~left])]
    return leaves, leaf_of


def _squared_error(dataset: Dataset, leaf_of: np.ndarray) -> float:
    """Return the squared error of leaves, Σ (Σ w y² - (Σ w y)² / Σ w), of whole numbers that are added exactly."""
    (weight, of_weight), (number, of_number) = whole_numbers(dataset.weight), whole_numbers(dataset.sums[:, -1])
    total = Fraction(0)
    for leaf in range(int(leaf_of.max()) + 1):
        rows = np.flatnonzero(leaf_of == leaf)
        if not len(rows):
            continue
        w, y = weight[rows].astype(object), number[rows].astype(object)
        total += w @ (y * y) - Fraction((w @ y) ** 2, w.sum())
    return float(total * of_weight * of_number**2)


def _against_data(rows: RowPredictions, cost: list[list[float]], errors: float, loss: float) -> Check:
    dataset = rows.dataset
    off = rows.predicted != dataset.y
    prices = np.array(cost, float)[dataset.y[off], rows.predicted[off]]
    wrong, lost = float(dataset.weight[off].sum()), float((dataset.weight[off] * prices).sum())
    if TASKS.get(dataset.task).CLASSES:
        more = f"; they cost {lost:.10g}, {loss:.10g} on the encoded rows" if lost != wrong else ""
        said = f"{wrong:.10g} misclassified, {errors:.10g} on the encoded rows{more}"
    else:
        said = f"row by row the tree loses {lost:.10g}, {loss:.10g} on the encoded rows"
    features = count_of(len(dataset.features), "feature", "")
    text = f"{count_of(dataset.n_file_rows, 'row', '')} of the data file, {features}: {said}"
    return Check("data", is_close(wrong, errors) and is_close(lost, loss), text)


def _attacked(problem: Problem, heap: HeapTree, tree: Tree, dataset: Dataset, boxes: "Boxes") -> Check:
    """Check whether the formulation counts the loss that an adversary causes; boxes are followed through the tree as
    intervals, row by row."""
    from odtc.trees.attack import is_robust

    hit = ~is_robust(tree, dataset.X, dataset.y, boxes)
    lost = float((dataset.weight * problem.encoded.class_cost[dataset.y])[hit].sum())
    per_loss, per_node = problem.module.unit_costs(problem)
    costs, stated = per_loss * lost + per_node * heap.n_branch_nodes, problem.module.objective(problem, heap)
    moved = f"{int(hit.sum())} of {count_of(dataset.n_rows, 'row', '')} of the data file can be moved to a wrong leaf"
    text = f"{moved} ({boxes.words()}): the tree costs {costs:.10g}, {stated:.10g} on the encoded rows"
    return Check("attack", is_close(costs, stated), text)


def _goes_left(split, cells):
    """Return whether rows go left: `cells` are the numbers of one row by feature, or arrays of the numbers of many
    rows."""
    if split.kind == "oblique":
        total = 0.0
        for term in split.terms:
            total = total + term.weight * (
                cells[term.feature] if term.level is None else cells[term.feature] == term.level
            )
        return total <= split.bound
    value = cells[split.feature]
    if split.kind == "missing":
        return np.isnan(value)
    if split.kind == "subset":
        return np.isin(value, split.values)
    return value <= split.threshold

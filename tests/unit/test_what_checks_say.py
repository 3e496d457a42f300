"""Each check of verify at its edge cases: verdict, message, and rounding on both sides."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import odtc
from odtc.data.dataset import Dataset, Feature
from odtc.data.splits import Missing, Oblique, Subset, Term, Threshold
from odtc.model.solution import EDITED, Solution, Termination
from odtc.trees.heap_tree import HeapTree, settle
from odtc.verification.known_trees import against_known, is_below
from odtc.verification.verify import (
    HALF,
    RowPredictions,
    _goes_left,
    equivalent_points,
    objective_floor,
    one_leaf,
    proves,
    raise_bound_to_floor,
    verify,
    verify_tree,
)
from odtc.workflow.row_selection.selection import take_rows
from tests import pipeline
from tests.unit.test_refusals import built, checked, refusing  # noqa: F401  a fixture


def leaf(problem, label: int = 0) -> HeapTree:
    size = 2 << problem.topology.depth
    return settle(np.full(size, -1, np.int32), problem.encoded, np.array([-1, label, *[-1] * (size - 2)], np.int32))


def told(model, solution, heap, known=()) -> dict:
    """The checks of a tree by their names."""
    checks = verify(model.problem, model, solution, heap, heap.to_tree(model.problem.encoded), None, known)
    return {check.name: check for check in checks}


def test_the_rows_that_a_tree_breaks_are_named(built):  # noqa: F811
    model, found, cart, _ = built
    assert told(model, found, cart)["tree in model"].text.startswith(f"feasible, costs {found.objective:.10g};")
    lower, upper = model.row_lower.copy(), model.row_upper.copy()
    lower[0], upper[0] = -np.inf, (model.A @ found.x)[0] - 1
    narrow = replace(model, row_upper=upper, row_lower=lower, edited=model, matrix=model.A)
    check = told(narrow, found, cart)["tree in model"]
    assert not check.passed and "broken by 1 at " in check.text and "feasible" not in check.text


def test_only_a_tree_that_is_better_than_its_point_is_called_so(built):  # noqa: F811
    model, found, cart, _ = built
    x, at = found.x.copy(), int(np.flatnonzero((found.x > 0.5) & (model.c != 0) & ~model.integrality.astype(bool))[0])
    for off in (-1e-8, 1e-8):
        x[at] = found.x[at] + off
        assert "better" not in told(model, replace(found, x=x), cart)["tree objective"].text
    check = told(model, found, leaf(model.problem))["tree objective"]
    assert not check.passed and "better" not in check.text


def test_a_bound_may_be_above_a_tree_by_rounding(built):  # noqa: F811
    found = built[1]
    for name in ("bound", "overall"):
        for factor, refused in ((1 + 1e-8, []), (1 + 1e-4, ["bound" if name == "bound" else "bound of all trees"])):
            assert checked(built, solution=replace(found, **{name: found.objective * factor})) == refused


@pytest.mark.parametrize(("of_edited", "refused"), [(None, ["bound"]), (0.5, ["bound"]), (2.0, [])])
def test_the_bound_of_an_edited_model_is_held_against_its_own_objective(of_edited, refused, built):  # noqa: F811
    """The tree costs less than the bound in the objective of the problem, which is not what the bound is of."""
    model, found, *_ = built
    theirs = None if of_edited is None else found.objective + of_edited
    edited = replace(found, bound=found.objective + 1, scope=EDITED, scope_objective=theirs)
    assert checked(built, solution=edited) == refused


def test_what_cuts_of_a_solved_file_may_be_is_said_only_of_an_edited_model(built):  # noqa: F811
    """Where the tree costs more than its point, or less than a bound that the point of it reached."""
    model, found, cart, _ = built
    poor, worse = leaf(model.problem), replace(found, bound=found.objective + 1)
    for edited in (None, model):
        given = replace(model, edited=edited)
        assert (HALF in told(given, found, poor)["tree objective"].text) == (edited is not None)
        assert HALF not in told(given, found, cart)["tree objective"].text
        assert HALF not in told(given, worse, cart)["bound"].text  # what the point costs is what the tree does
        assert HALF not in told(given, replace(found, bound=found.objective), cart)["bound"].text


# Of a model that its formulation does not build any more.


def test_a_recorded_model_is_checked_as_far_as_it_is_known(built):  # noqa: F811
    model, found, cart, _ = built
    recorded = replace(model, recorded="of another version", matrix=model.A)
    checks = told(recorded, replace(found, claimed=found.objective), cart)
    assert checks["formulation"].passed and checks["formulation"].text == "of another version"
    assert {"bounds", "rows", "integrality", "objective", "tree objective"} <= set(checks)
    assert not told(recorded, replace(found, claimed=found.objective + 1), cart)["objective"].passed
    without_rows = replace(recorded, rowless=True)
    checks = told(without_rows, replace(found, claimed=found.objective + 1), cart)
    assert not {"bounds", "rows", "integrality", "objective", "tree objective"} & set(checks)
    upper = model.col_upper.copy()
    upper[np.flatnonzero(found.x > 0.5)[0]] = 0.5
    changed = replace(recorded, edited=replace(model, col_upper=upper, matrix=model.A), matrix=model.A)
    assert not told(changed, found, cart)["bounds"].passed


def test_the_tree_of_a_recorded_model_may_be_better_and_off_by_rounding(built):  # noqa: F811
    model, found, cart, _ = built
    recorded, worst = replace(model, recorded="of another version", matrix=model.A), leaf(model.problem)
    assert not told(recorded, found, worst)["tree objective"].passed
    point = model.join(model.problem.module.start(model.problem, worst))
    assert told(recorded, Solution(point, Termination.TIME_LIMIT, model.objective(point)), cart)[
        "tree objective"
    ].passed
    x, at = found.x.copy(), int(np.flatnonzero((found.x > 0.5) & (model.c != 0) & ~model.integrality.astype(bool))[0])
    for off in (-1e-8, 0, 1e-8):
        x[at] = found.x[at] + off
        assert told(recorded, replace(found, x=x), cart)["tree objective"].passed


# The tree and its rows.


@pytest.mark.parametrize("weight", [1, 40])
def test_equivalent_points_are_compared_relatively(weight, tmp_path):
    """The floor is 0 or 2 x weight: what is allowed is a part of it, and of one at least."""
    (tmp_path / "d.csv").write_text("a,w,y\n" + f"0,{weight},n\n0,{weight},y\n1,{weight},n\n1,{weight},y\n")
    problem = pipeline.pose(odtc.read(tmp_path / "d.csv", weights="w"), "flowoct", 1)
    floor = equivalent_points(problem.encoded)
    assert floor == 2 * weight

    def refuses(loss: float) -> bool:
        class Lying(HeapTree):
            def loss(self, encoded):
                return loss

        heap = leaf(problem)
        checks = verify_tree(problem, Lying(heap.split, heap.label), heap.to_tree(problem.encoded))
        return "equal rows" in refusing(checks)

    assert not refuses(floor) and not refuses(floor - 0.5e-6 * floor) and refuses(floor - 1.5e-6 * floor)


def test_a_floor_of_nothing_allows_no_more_than_rounding(tmp_path):
    (tmp_path / "d.csv").write_text("a,y\n0,n\n1,y\n")
    problem = pipeline.pose(tmp_path / "d.csv", "flowoct", 1)
    heap = leaf(problem)

    class Lying(HeapTree):
        def loss(self, encoded):
            return -1.5e-6

    checks = verify_tree(problem, Lying(heap.split, heap.label), heap.to_tree(problem.encoded))
    assert "equal rows" in refusing(checks)
    some = replace(Solution(np.zeros(1), Termination.TIME_LIMIT, 1.0), scope="some columns")
    assert raise_bound_to_floor(problem, some).overall == 0.0


def test_costs_are_told_if_they_are_no_counts(built):  # noqa: F811
    model, found, cart, data = built
    checks = verify_tree(model.problem, cart, cart.to_tree(model.problem.encoded), data)
    assert "; they cost " in next(check.text for check in checks if check.name == "data")
    plain = pipeline.pose(data, "flowoct", 2)
    checks = verify_tree(plain, cart, cart.to_tree(plain.encoded), data)
    assert "they cost" not in next(check.text for check in checks if check.name == "data")


def test_a_constraint_is_computed_again_on_the_rows_of_the_file(built):  # noqa: F811
    _, _, cart, data = built
    problem = pipeline.pose(data, "flowoct", 2, constraints=("recall[n] >= 0.01",))
    tree = cart.to_tree(problem.encoded)
    (check,) = [check for check in verify_tree(problem, cart, tree, data) if check.name == "constraint"]
    assert check.passed and check.text.endswith("on the rows of the data file")
    (check,) = [check for check in verify_tree(problem, cart, tree) if check.name == "constraint"]
    assert check.passed and "data file" not in check.text
    other = replace(data, y=np.roll(data.y, 1))
    assert {"data", "constraint"} <= set(refusing(verify_tree(problem, cart, tree, other)))


# The floor of an objective.


@pytest.mark.parametrize("seed", range(4))
def test_the_leaf_that_tells_the_price_of_a_loss_loses_most(seed):
    """And so something, unless nothing can be lost: with an answer that costs nothing, too."""
    random = np.random.default_rng(seed)
    y, cells = random.integers(0, 3, 20).astype(np.int32), random.integers(0, 2, (20, 1)).astype(float)
    classes = ("n", "o", "p")
    problem = pipeline.pose(Dataset("d", cells, y, (Feature("a", "numeric"),), classes, np.ones(20)), "flowoct", 1)
    cost = random.integers(0, 5, (3, 3)) * (1.0 - np.eye(3))
    cost[:, seed % 3] = 0
    problem = replace(problem, encoded=replace(problem.encoded, cost=cost))
    lost = [sum(cost[k, answer] for k in y) for answer in range(3)]
    assert one_leaf(problem).loss(problem.encoded) == max(lost) > 0


def test_one_class_costs_nothing():
    y, cells = np.zeros(2, np.int32), np.array([[0.0], [1.0]])
    problem = pipeline.pose(Dataset("d", cells, y, (Feature("a", "numeric"),), ("n",), np.ones(2)), "flowoct", 1)
    assert objective_floor(problem) == 0.0 and proves(problem, 0.0) and not proves(problem, 1.0)


def test_less_than_the_floor_is_optimal_too(tmp_path):
    (tmp_path / "d.csv").write_text("a,y\n0,n\n0,y\n1,n\n1,y\n")
    problem = pipeline.pose(tmp_path / "d.csv", "flowoct", 1)
    assert objective_floor(problem) == 2.0 and proves(problem, 1.9) and not proves(problem, 2.1)


@pytest.mark.parametrize(
    ("termination", "point", "raised"),
    [
        (Termination.INFEASIBLE, False, False),
        (Termination.INFEASIBLE, True, False),
        (Termination.UNBOUNDED, False, False),
        (Termination.ERROR, False, False),
        (Termination.ERROR, True, True),
        (Termination.TIME_LIMIT, False, True),
        (Termination.OPTIMAL, True, True),
    ],
)
def test_the_floor_bounds_what_has_an_answer(termination, point, raised, built):  # noqa: F811
    model, found, *_ = built
    given = Solution(found.x if point else None, termination, found.objective if point else None)
    assert (raise_bound_to_floor(model.problem, given) is not given) == raised


def test_the_floor_of_all_trees_is_none_of_an_edited_model(built):  # noqa: F811
    model, found, *_ = built
    assert raise_bound_to_floor(model.problem, replace(found, scope=EDITED, bound=None)).overall is None
    kept = raise_bound_to_floor(model.problem, replace(found, scope="some columns", overall=found.objective))
    assert kept.overall == found.objective


# Where a row of the file goes.

LEVEL, NUMBER, BOTH = Term(1, 2.0, 3.0), Term(0, 2.0), (Term(0, 2.0), Term(1, 2.0, 3.0))


@pytest.mark.parametrize(
    ("split", "cells", "left"),
    [
        (Oblique((NUMBER,), 3.0), (1.5, 0.0), True),
        (Oblique((NUMBER,), 3.0), (1.6, 0.0), False),
        (Oblique((NUMBER,), -3.0), (-1.5, 0.0), True),
        (Oblique((NUMBER,), -3.0), (1.5, 0.0), False),
        (Oblique((LEVEL,), 1.0), (0.0, 3.0), False),
        (Oblique((LEVEL,), 1.0), (0.0, 2.0), True),
        (Oblique((LEVEL,), 0.0), (9.0, 2.0), True),
        (Oblique(BOTH, 4.0), (1.5, 3.0), False),
        (Oblique(BOTH, 5.0), (1.5, 3.0), True),
        (Oblique((NUMBER,), 3.0), (np.nan, 0.0), False),
        (Missing(1), (0.0, np.nan), True),
        (Missing(1), (np.nan, 0.0), False),
        (Threshold(0, 1.5), (1.5, 0.0), True),
        (Threshold(0, 1.5), (1.6, 0.0), False),
        (Threshold(0, 1.5), (np.nan, 0.0), False),
        (Subset(1, (2.0, 3.0)), (0.0, 3.0), True),
        (Subset(1, (2.0, 3.0)), (3.0, 1.0), False),
    ],
    ids=str,
)
def test_a_row_goes_where_its_split_sends_it(split, cells, left):
    """By the plain routing of the check, and by that of the tree."""
    assert bool(_goes_left(split, cells)) is left
    assert split.left(np.array([cells])).tolist() == [left]


def test_an_attack_is_computed_again_on_the_rows(tmp_path):
    """Of the rows 1 to 4, right under 2.5, those within 1 of it can be moved: weight 2 + 3, at prices 1 and 4."""
    (tmp_path / "d.csv").write_text("a,w,y\n1,1,n\n2,2,n\n3,3,p\n4,1,p\n")
    data = odtc.read(tmp_path / "d.csv", weights="w")
    problem = pipeline.pose(data, "flowoct", 1, params={"robust": "a:1", "lambda": 0.25}, class_weight="n=1,p=4")
    at = next(f for f, test in enumerate(problem.encoded.splits) if test.threshold == 2.5)
    heap = settle(np.array([-1, at, -1, -1], np.int32), problem.encoded)
    tree = heap.to_tree(problem.encoded)
    (check,) = [check for check in verify_tree(problem, heap, tree, data) if check.name == "attack"]
    per_loss, per_node = problem.module.unit_costs(problem)
    costs = per_loss * (2 * 1 + 3 * 4) + per_node
    assert check.passed and "2 of 4 rows" in check.text and f"the tree costs {costs:.10g}, " in check.text
    assert "attack" not in {check.name for check in verify_tree(problem, heap, tree)}


def test_figures_of_another_task_are_computed_again_to_their_rounding(tmp_path):
    """Sums of a regression are exact to a part of 1e-9 of what one leaf would cost."""
    (tmp_path / "d.csv").write_text("a,y\n" + "".join(f"{i % 4},{i * 1.5 + 0.25}\n" for i in range(24)))
    data = odtc.read(tmp_path / "d.csv", task="regression")
    problem = pipeline.pose(data, "dpflow", 1)
    heap = settle(np.array([-1, 0, -1, -1], np.int32), problem.encoded)
    tree = heap.to_tree(problem.encoded)
    assert refusing(verify_tree(problem, heap, tree, data)) == []

    class Off(HeapTree):
        def loss(self, encoded):
            return super().loss(encoded) * (1 + self.off)

    for off, refused in ((0.0, []), (1e-11, ["regression"]), (1e-3, ["regression"])):  # decimals are added exactly
        lying = Off(heap.split, heap.label)
        object.__setattr__(lying, "off", off)
        assert refusing(verify_tree(problem, lying, tree, data)) == refused


def test_equivalent_points_of_numbers(tmp_path):
    """Rows that agree on every test: what their own mean leaves, 0.5 and 8 of squares."""
    (tmp_path / "d.csv").write_text("a,y\n0,1\n0,2\n1,5\n1,9\n")
    encoded = pipeline.pose(odtc.read(tmp_path / "d.csv", task="regression"), "dpflow", 1).encoded
    assert equivalent_points(encoded) == pytest.approx(8.5, abs=1e-9)


def test_a_bound_of_figures_far_below_one_is_held_against_trees_by_their_own_size(tmp_path):
    """Solvers take costs that differ by 1e-6 for equal: of such costs a bound may be far above a tree in hand."""
    rows = "".join(f"{x},{y}e-3\n" for x, y in enumerate([1, 2, 1, 5, 6, 5]))
    (tmp_path / "d.csv").write_text("x,y\n" + rows)
    problem = pipeline.pose(odtc.read(tmp_path / "d.csv", task="regression"), "dpflow", 1)
    best = settle(np.array([-1, 2, -1, -1], np.int32), problem.encoded)
    paid = problem.module.objective(problem, best)
    assert 0 < paid < 1e-5
    for above, contradiction in ((0.0, False), (1e-9, False), (0.1, True), (1.0, True)):
        bound = paid * (1 + above)
        assert against_known(problem, None, bound, [("CART", best)])[0] == contradiction
        assert is_below(problem, paid, bound) == contradiction


class Off(HeapTree):
    """A tree that says that it loses `more` than it does."""

    def loss(self, encoded):
        return super().loss(encoded) + self.more

    @staticmethod
    def by(heap: HeapTree, more: float) -> "Off":
        lying = Off(heap.split, heap.label)
        object.__setattr__(lying, "more", more)
        return lying


def test_what_a_policy_loses_is_computed_again_to_the_rounding_of_estimates(tmp_path):
    """Estimated costs are rounded: a part of 1e-6 of what a leaf would lose is no contradiction, 1e-4 is one."""
    rows = "".join(f"{i % 4},{(i * 7) % 5}.25,{(i * 3) % 7}.5\n" for i in range(28))
    (tmp_path / "p.csv").write_text("a,u,v\n" + rows)
    data = odtc.read(tmp_path / "p.csv", task="policy", actions=("u", "v"))
    problem = pipeline.pose(data, "dpflow", 1)
    heap = settle(np.array([-1, 0, -1, -1], np.int32), problem.encoded)
    tree, loss = heap.to_tree(problem.encoded), heap.loss(problem.encoded)
    assert loss > 0
    (told,) = [check.text for check in verify_tree(problem, heap, tree, data) if check.name == "data"]
    assert f": row by row the tree loses {loss:.10g}, " in told and "wrong" not in told
    for part, refused in ((0.0, []), (1e-8, []), (5e-7, []), (1e-4, ["policy"])):
        assert set(refusing(verify_tree(problem, Off.by(heap, part * loss), tree, data))) >= set(refused)
        assert ("policy" in refusing(verify_tree(problem, Off.by(heap, part * loss), tree, data))) == bool(refused)


def test_a_loss_of_nothing_is_compared_with_what_a_leaf_would_lose(tmp_path):
    (tmp_path / "d.csv").write_text("a,y\n" + "".join(f"{i % 2},{3.1 * (i % 2) + 0.7}\n" for i in range(24)))
    data = odtc.read(tmp_path / "d.csv", task="regression")
    problem = pipeline.pose(data, "dpflow", 1)
    heap = settle(np.array([-1, 0, -1, -1], np.int32), problem.encoded)
    tree, whole = heap.to_tree(problem.encoded), leaf(problem).loss(problem.encoded)
    assert abs(heap.loss(problem.encoded)) < 1e-12 * whole
    for part, refused in ((0.0, False), (1e-11, True), (1e-6, True)):
        said = refusing(verify_tree(problem, Off.by(heap, part * whole), tree, data))
        assert ("regression" in said) == refused


def test_an_attack_is_computed_again_with_every_branch_node(tmp_path):
    (tmp_path / "d.csv").write_text("a,b,y\n1,0,n\n2,0,n\n3,0,p\n4,0,p\n1,9,p\n2,9,p\n3,9,n\n4,9,n\n")
    data = odtc.read(tmp_path / "d.csv")
    problem = pipeline.pose(data, "flowoct", 2, params={"robust": "a:1", "lambda": 0.25})
    b, a = (
        next(f for f, test in enumerate(problem.encoded.splits) if (test.feature, test.threshold) == at)
        for at in ((1, 4.5), (0, 2.5))
    )
    heap = settle(np.array([-1, b, a, a, *[-1] * 4], np.int32), problem.encoded)
    assert heap.n_branch_nodes == 3
    (check,) = [c for c in verify_tree(problem, heap, heap.to_tree(problem.encoded), data) if c.name == "attack"]
    per_loss, per_node = problem.module.unit_costs(problem)  # 2 and 3 can be moved across 2.5, under both
    assert check.passed and f"the tree costs {per_loss * 4 + 3 * per_node:.10g}, " in check.text


def test_a_constraint_on_answers_of_selected_rows_is_told_of_all_rows(built):  # noqa: F811
    _, _, cart, data = built
    places = np.arange(0, data.n_rows, 2)
    selected = take_rows(data, places, data.weight[places], {})
    some = replace(selected, selected=None)
    for text, kind in (("recall[n] >= 0.01", "answers"), ("branch_nodes <= 3", "the tree")):
        problem = pipeline.pose(some, "flowoct", 2, constraints=(text,))
        heap = settle(cart.split, problem.encoded)
        tree = heap.to_tree(problem.encoded)
        (bare,) = [c for c in verify_tree(problem, heap, tree) if c.name == "constraint"]
        (plain,) = [c for c in verify_tree(problem, heap, tree, some) if c.name == "constraint"]
        (told_,) = [c for c in verify_tree(problem, heap, tree, selected) if c.name == "constraint"]
        assert plain.passed and told_.passed
        if kind == "the tree":
            assert plain.text == told_.text == bare.text
            continue
        assert plain.text.endswith("on the rows of the data file") and "selected" not in plain.text
        right = np.array([tree.predict(data.X[i : i + 1])[0] == data.y[i] for i in range(data.n_rows)])
        of_class = data.y == data.classes.index("n")
        recall = data.weight[right & of_class].sum() / data.weight[of_class].sum()
        assert told_.text.endswith(f"on the selected rows, {recall:.10g} on all {data.n_rows} rows")


@pytest.mark.parametrize(("bound", "broken"), [(0.0, False), (1.0, True)])
def test_all_rows_may_break_what_the_selected_ones_keep(bound, broken):
    """What is told of all rows, beside the check of those that were selected."""
    given = SimpleNamespace(
        module=SimpleNamespace(value=lambda rowwise, given, labels: 0.5),
        holds=lambda value: value >= bound,
        shown=str,
    )
    rows = RowPredictions.__new__(RowPredictions)
    rows.dataset, rows.predicted = SimpleNamespace(n_rows=9), [0] * 9
    rows.__dict__["rowwise"] = None
    assert rows.told(given) == "0.5 on all 9 rows" + (", where it is broken" if broken else "")


def test_answers_of_large_numbers_are_rounded_to_their_own_digits(tmp_path):
    """Numbers near 1e9 that differ by units: an answer is off by a part of 2^-52 of them, not of their differences."""
    rows = "".join(f"{i % 3},{10**9 + (i * 7) % 5}\n" for i in range(24))
    (tmp_path / "d.csv").write_text("a,y\n" + rows)
    data = odtc.read(tmp_path / "d.csv", task="regression")
    problem = pipeline.pose(data, "dpflow", 1)
    heap = settle(np.array([-1, 0, -1, -1], np.int32), problem.encoded)
    tree, loss = heap.to_tree(problem.encoded), heap.loss(problem.encoded)
    rounding = 2 * 2.0**-52 * 1e9 * np.sqrt(24 * loss)  # of squares that sum to the loss, each number off by that
    assert 1e-9 * leaf(problem).loss(problem.encoded) < rounding / 20
    for part, refused in ((0.0, False), (0.9, True), (1.3, True)):  # decimals are added exactly
        said = refusing(verify_tree(problem, Off.by(heap, part * rounding), tree, data))
        assert ("regression" in said) == refused


def test_equivalent_points_of_which_the_last_are_of_the_first_class(tmp_path):
    (tmp_path / "d.csv").write_text("a,y\n0,n\n0,p\n1,n\n1,p\n1,p\n2,n\n2,n\n")
    encoded = pipeline.pose(tmp_path / "d.csv", "flowoct", 1).encoded
    assert equivalent_points(encoded) == 2.0  # one of the first two, and one of the next three


def test_a_bound_below_the_floor_is_raised_to_it(tmp_path):
    (tmp_path / "d.csv").write_text("a,y\n0,n\n0,y\n1,n\n1,y\n")
    problem = pipeline.pose(tmp_path / "d.csv", "flowoct", 1)
    given = Solution(np.zeros(1), Termination.TIME_LIMIT, 3.0, 1.0)
    assert raise_bound_to_floor(problem, given).bound == 2.0
    assert raise_bound_to_floor(problem, replace(given, bound=2.5)).bound == 2.5


def test_figures_below_one_are_close_by_what_one_is_rounded_by(built):  # noqa: F811
    """Though a leaf costs more: the unit of a comparison is 1 then, and no larger."""
    problem = built[0].problem
    for off, below in ((0.9e-6, False), (1.1e-6, True), (1.9e-6, True)):
        assert is_below(problem, 0.25, 0.25 + off) == below

"""Each check of verify can say no: one forgery that breaks it alone, and the check that refuses is named."""

from dataclasses import replace

import numpy as np
import pytest

import odtc
from odtc.errors import SolutionError
from odtc.model.milp import Model
from odtc.model.solution import Solution, Termination
from odtc.trees.heap_tree import HeapTree, settle
from odtc.trees.tree import Branch, Leaf
from odtc.verification.known_trees import against_known
from odtc.verification.verify import (
    objective_floor,
    proves,
    raise_bound_to_floor,
    verify,
    verify_filled,
    verify_tree,
)
from tests import pipeline

# Numbers, levels, two levels and missing cells, three classes, weights; no tree of depth 2 is right everywhere.
ROWS = "size,kind,on,w,y\n" + "".join(
    f"{i % 5 + i % 3 / 4},{'abc'[i % 3]},{'' if i % 7 == 3 else 'uv'[i % 4 > 1]},{1 + i % 2},"
    f"{'npq'[(i * i + i // 4) % 3]}\n"
    for i in range(36)
)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """(model, the solution that is CART's tree, the tree, the data)."""
    file = tmp_path_factory.mktemp("refusals") / "d.csv"
    file.write_text(ROWS)
    reading = {"target": "y", "weights": "w", "missing": "separate"}
    model = odtc.build(file, "flowoct", 2, reading=reading, cost="n:p=3,p:n=0")
    heap, point = pipeline.start(model)
    return model, Solution(point, Termination.TIME_LIMIT, model.objective(point)), heap, odtc.read(file, **reading)


def refusing(checks) -> list[str]:
    return [check.name for check in checks if not check.passed]


def checked(built, *, solution=None, heap=None, tree=None, dataset=None, model: Model | None = None, known=()):
    """The names of the checks that refuse what was built, with some of it replaced."""
    own, found, cart, data = built
    heap = heap or cart
    model = model or own
    tree = tree or heap.to_tree(own.problem.encoded)
    return refusing(verify(own.problem, model, solution or found, heap, tree, dataset or data, known))


def test_nothing_refuses_what_is_so(built):
    assert checked(built) == []


def edited(model: Model, **changed) -> Model:
    """The model with an edited twin, against which the point is checked."""
    return replace(model, edited=replace(model, matrix=model.A, **changed), matrix=model.A)


def test_a_point_beyond_a_bound(built):
    model, found, *_ = built
    upper = model.col_upper.copy()
    upper[np.flatnonzero(found.x > 0.5)[0]] = 0.5
    assert checked(built, model=edited(model, col_upper=upper)) == ["bounds"]
    lower = model.col_lower.copy()
    lower[np.flatnonzero(found.x < 0.5)[0]] = 0.5
    assert checked(built, model=edited(model, col_lower=lower)) == ["bounds"]


def test_a_point_that_breaks_a_row(built):
    model, found, *_ = built
    activity = model.A @ found.x
    upper, lower = model.row_upper.copy(), model.row_lower.copy()
    upper[0], lower[0] = activity[0] - 1, -np.inf
    assert checked(built, model=edited(model, row_upper=upper, row_lower=lower)) == ["rows"]
    below = model.row_lower.copy()
    below[0] = activity[0] + 1
    free = np.full(model.n_rows, np.inf)
    assert checked(built, model=edited(model, row_upper=free, row_lower=below)) == ["rows"]


def test_a_point_that_is_not_whole(built):
    model, found, *_ = built
    free = edited(model, row_lower=np.full(model.n_rows, -np.inf), row_upper=np.full(model.n_rows, np.inf))
    at = int(np.flatnonzero(model.integrality & (model.c == 0))[0])
    x = found.x.copy()
    x[at] = 0.25
    assert checked(built, model=free, solution=replace(found, x=x)) == ["integrality"]


def test_an_objective_that_the_point_has_not(built):
    found = built[1]
    assert checked(built, solution=replace(found, claimed=found.objective + 1)) == ["objective"]
    assert checked(built, solution=replace(found, claimed=found.objective)) == []


def test_a_tree_that_is_no_point_of_the_model(built):
    model, found, *_ = built
    upper, lower = model.row_upper.copy(), model.row_lower.copy()
    upper[0] = (model.A @ found.x)[0] - 1
    lower[0] = -np.inf
    narrow = replace(model, row_upper=upper, row_lower=lower, edited=model, matrix=model.A)
    assert checked(built, model=narrow) == ["tree in model"]


def test_a_model_that_counts_otherwise_than_the_rows(built):
    model, found, *_ = built
    more = replace(model, offset=model.offset + 1, matrix=model.A)
    assert checked(built, model=more) == ["tree in model"]


def test_a_tree_that_costs_more_than_the_point(built):
    encoded = built[0].problem.encoded
    leaf = settle(np.full(8, -1, np.int32), encoded, np.array([-1, 0, *[-1] * 6], np.int32))
    assert checked(built, heap=leaf) == ["tree objective"]


def test_a_tree_and_its_point_may_differ_by_rounding_and_a_better_tree_is_a_note(built):
    model, found, cart, data = built
    worst = settle(np.full(8, -1, np.int32), model.problem.encoded, np.array([-1, 0, *[-1] * 6], np.int32))
    x, at = found.x.copy(), int(np.flatnonzero((found.x > 0.5) & (model.c != 0) & ~model.integrality.astype(bool))[0])
    for off in (-1e-8, 1e-8):
        x[at] = found.x[at] + off
        assert checked(built, solution=replace(found, x=x)) == []
    point = model.join(model.problem.module.start(model.problem, worst))
    for x, better in ((found.x, False), (point, True)):
        given = Solution(x, Termination.TIME_LIMIT, model.objective(x))
        told = {
            check.name: check.text
            for check in verify(model.problem, model, given, cart, cart.to_tree(model.problem.encoded))
        }
        assert ("(better: " in told["tree objective"]) == better


@pytest.mark.parametrize("weight", [2.0, 0.0])
def test_rows_that_a_point_sends_elsewhere_are_told_and_refuse_nothing(weight, built, monkeypatch):
    model, found, cart, _ = built
    monkeypatch.setattr(type(model.problem.module), "misrouted", lambda *_: weight, raising=False)
    checks = verify(model.problem, model, found, cart, cart.to_tree(model.problem.encoded))
    (told,) = [check for check in checks if check.name == "routes"]
    assert told.passed and f"weight {weight:g} go elsewhere" in told.text
    assert ("own count is given" in told.text) == bool(weight)


def test_a_bound_of_an_edited_objective_is_held_against_that(built):
    found = built[1]
    given = replace(found, bound=found.objective + 3, scope="the edited model", scope_objective=found.objective + 5)
    assert checked(built, solution=given) == []
    assert checked(built, solution=replace(given, scope_objective=found.objective + 1)) == ["bound"]
    assert checked(built, solution=replace(given, scope_objective=None)) == ["bound"]


def test_a_bound_above_the_tree_in_hand_and_above_a_known_one(built):
    model, found, cart, _ = built
    worst = settle(np.full(8, -1, np.int32), model.problem.encoded, np.array([-1, 0, *[-1] * 6], np.int32))
    assert checked(built, solution=replace(found, bound=found.objective)) == []
    assert checked(built, solution=replace(found, bound=found.objective + 1)) == ["bound"]
    point = model.join(model.problem.module.start(model.problem, worst))
    poor = Solution(point, Termination.TIME_LIMIT, model.objective(point), found.objective + 1)
    assert checked(built, heap=worst, solution=poor) == []
    assert checked(built, heap=worst, solution=poor, known=[("another", cart)]) == ["bound"]


def test_a_tree_that_loses_less_than_equivalent_points_leave(built):
    problem, cart = built[0].problem, built[2]

    class Lying(HeapTree):
        def loss(self, encoded):
            return -1.0

    tree = cart.to_tree(problem.encoded)
    assert refusing(verify_tree(problem, Lying(cart.split, cart.label), tree)) == ["equal rows"]


def with_counts(tree, change):
    """The tree with other counts in its first leaf."""

    def first(node):
        if isinstance(node, Leaf):
            return replace(node, counts=change(node.counts))
        return Branch(node.split, first(node.left), node.right)

    return replace(tree, root=first(tree.root))


@pytest.mark.parametrize(
    "change",
    [
        lambda counts: (counts[0] + 1, *counts[1:]),
        lambda counts: (counts[0] - 1e-3, *counts[1:]),
        lambda counts: (counts[0] + 1, counts[1] - 1, *counts[2:]),  # as much in all, of other classes
    ],
)
def test_leaves_that_hold_other_rows(built, change):
    tree = built[2].to_tree(built[0].problem.encoded)
    assert checked(built, tree=with_counts(tree, change)) == ["leaf counts"]


def test_a_leaf_of_too_few_rows(built):
    data = built[3]
    problem = pipeline.pose(data, "oct", 2, params={"n_min": 4})
    encoded = problem.encoded
    few = next(
        heap
        for f in range(encoded.n_candidate_splits)
        if (heap := settle(np.array([-1, f, *[-1] * 6], np.int32), encoded)).fewest_rows(encoded) < 18
    )
    n = few.fewest_rows(encoded)
    for least, refused in ((n, []), (n + 1, ["least rows"])):
        problem = pipeline.pose(data, "oct", 2, params={"n_min": least})
        assert refusing(verify_tree(problem, few, few.to_tree(encoded), data)) == refused


@pytest.mark.parametrize("text", ["branch_nodes <= {0}", "accuracy >= {1}"])
def test_a_constraint_that_the_tree_breaks(built, text):
    data, heap = built[3], built[2]
    encoded = built[0].problem.encoded
    right = 1 - heap.errors(encoded) / encoded.weight.sum()
    kept, broken = (text.format(heap.n_branch_nodes - less, right + less / 50 - 1e-6) for less in (0, 1))
    for given, refused in ((kept, []), (broken, ["constraint"])):
        problem = pipeline.pose(data, "flowoct", 2, constraints=(given,))
        assert refusing(verify_tree(problem, heap, heap.to_tree(encoded), data)) == refused
        assert refusing(verify_tree(problem, heap, heap.to_tree(encoded))) == refused


def test_rows_of_the_file_that_the_tree_predicts_otherwise(built):
    model, _, heap, data = built
    encoded = model.problem.encoded
    said = heap.label[heap.reach(encoded.X)][encoded.row_of]
    y = data.y.copy()
    at = int(np.flatnonzero(said == data.y)[0])
    y[at] = (y[at] + 1) % 3
    assert checked(built, dataset=replace(data, y=y)) == ["data"]


def test_rows_of_the_file_that_cost_otherwise_and_rows_that_count_otherwise(built):
    """As many errors at another price, and other errors at the same price: each is seen by itself."""
    model, _, _, data = built
    encoded = model.problem.encoded
    leaf = settle(np.full(8, -1, np.int32), encoded, np.array([-1, 0, *[-1] * 6], np.int32))
    free = settle(np.full(8, -1, np.int32), encoded, np.array([-1, 1, *[-1] * 6], np.int32))
    # All are predicted n: p costs nothing, q costs 1.
    p, q, n = (int(np.flatnonzero(data.y == k)[0]) for k in (1, 2, 0))
    weight = data.weight.copy()
    weight[p], weight[q] = weight[p] - 0.5, weight[q] + 0.5  # as many errors, which cost more
    tree = leaf.to_tree(encoded)
    assert refusing(verify_tree(model.problem, leaf, tree, data)) == []
    assert refusing(verify_tree(model.problem, leaf, tree, replace(data, weight=weight))) == ["data"]
    weight = data.weight.copy()
    weight[p] += 0.5  # one error more, which costs nothing
    assert refusing(verify_tree(model.problem, leaf, tree, replace(data, weight=weight))) == ["data"]
    weight = data.weight.copy()
    weight[n] += 0.5  # predicted right
    assert refusing(verify_tree(model.problem, leaf, tree, replace(data, weight=weight))) == []
    assert refusing(verify_tree(model.problem, free, free.to_tree(encoded), replace(data, weight=weight))) == ["data"]


def test_leaves_that_hold_other_rows_than_those_selected_from(built):
    problem, heap, data = built[0].problem, built[2], built[3]
    tree = heap.to_tree(problem.encoded)
    assert verify_filled(problem, tree, data).passed
    label = next(leaf.label for leaf in tree.leaves())
    add = with_counts(tree, lambda counts: tuple(c + (k == label) for k, c in enumerate(counts)))
    assert verify_filled(problem, add, data).name == "all rows" and not verify_filled(problem, add, data).passed


def test_a_tree_is_proved_by_the_floor_alone_at_the_floor(tmp_path):
    (tmp_path / "d.csv").write_text("a,y\n0,n\n0,n\n0,y\n1,n\n1,n\n1,n\n1,n\n1,y\n")
    problem = pipeline.pose(tmp_path / "d.csv", "flowoct", 1)
    assert proves(problem, 2.0) and not proves(problem, 2.0 + 1e-13) and not proves(problem, 2.0 + 1e-6)


def test_a_known_tree_counts_only_if_it_is_feasible(built):
    """One that breaks a row of the edited model, or a constraint, contradicts no bound."""
    model, found, cart, _ = built
    encoded = model.problem.encoded
    worst = settle(np.full(8, -1, np.int32), encoded, np.array([-1, 0, *[-1] * 6], np.int32))
    point = model.join(model.problem.module.start(model.problem, worst))
    bound = found.objective + 1
    poor = Solution(point, Termination.TIME_LIMIT, model.objective(point), bound)
    contradicted, words = against_known(model.problem, model, bound, [("CART", cart)])
    assert contradicted and f"CART costs {found.objective:.10g}" in words
    at = int(np.flatnonzero((found.x > 0.5) & (point < 0.5))[0])
    upper = model.col_upper.copy()
    upper[at] = 0.5
    barred = edited(model, col_upper=upper)
    assert against_known(model.problem, barred, bound, [("CART", cart)]) == (False, "")
    assert checked(built, model=barred, heap=worst, solution=poor, known=[("CART", cart)]) == []
    few = pipeline.pose(built[3], "flowoct", 2, cost="n:p=3,p:n=0", constraints=("branch_nodes <= 0",))
    assert against_known(few, model, bound, [("CART", cart)]) == (False, "")
    assert against_known(model.problem, model, found.objective, [("CART", cart)])[0] is False
    assert against_known(model.problem, model, found.objective * (1 + 1e-9), [("CART", cart)])[0] is False


def test_a_known_tree_above_the_bound_contradicts_nothing(built, monkeypatch):
    """It is named with its cost and is not made a point; a cheaper one behind it is still seen."""
    model, found, cart, _ = built
    worst = settle(np.full(8, -1, np.int32), model.problem.encoded, np.array([-1, 0, *[-1] * 6], np.int32))
    dear = model.problem.module.objective(model.problem, worst)
    both, bound = [("a leaf", worst), ("CART", cart)], found.objective + 1
    assert dear > bound
    told = f", but CART costs {found.objective:.10g}"
    assert against_known(model.problem, model, bound, both) == (True, told)

    def made(*_):
        raise AssertionError("no point is needed")

    monkeypatch.setattr("odtc.verification.known_trees.complete", made)
    for own in (model, None):
        for least in (found.objective - 5, found.objective, found.objective * (1 + 1e-9)):
            assert against_known(model.problem, own, least, both) == (
                False,
                f", a leaf {dear:.10g}, CART {found.objective:.10g}",
            )


def test_a_bound_of_an_edited_objective_is_held_against_what_trees_cost_there(built):
    model, found, cart, _ = built
    half = edited(model, c=model.c / 2, offset=model.offset / 2)
    told = f"{found.objective / 2:.10g}"
    known = [("CART", cart)]
    assert against_known(model.problem, half, found.objective - 1, known) == (True, f", but CART costs {told}")
    assert against_known(model.problem, half, found.objective / 2, known) == (False, f", CART {told}")


def test_a_row_at_the_threshold_goes_left(tmp_path):
    """Two neighbouring doubles have no number between them, so that the threshold is one of them."""
    low = 1.0
    high = float(np.nextafter(low, 2))
    (tmp_path / "d.csv").write_text(f"a,y\n{low!r},n\n{high!r},p\n{low!r},n\n{high!r},p\n")
    problem = pipeline.pose(tmp_path / "d.csv", "flowoct", 1)
    heap = settle(np.array([-1, 0, -1, -1], np.int32), problem.encoded)
    tree = heap.to_tree(problem.encoded)
    assert tree.root.split.threshold == low and heap.errors(problem.encoded) == 0
    assert refusing(verify_tree(problem, heap, tree, problem.encoded.dataset)) == []


@pytest.mark.parametrize("floor_is", ["objective", "bound"])
def test_the_floor_never_passes_what_the_point_costs(floor_is, built):
    """A point of a solver may cost less than any tree: no bound is put above it."""
    model, found, *_ = built
    least = objective_floor(model.problem)
    assert 0 < least < found.objective
    cheap = replace(found, objective=least - 1, bound=None)
    assert raise_bound_to_floor(model.problem, cheap).bound == least - 1
    assert raise_bound_to_floor(model.problem, replace(found, objective=None)).bound == least
    kept = replace(found, bound=least if floor_is == "bound" else found.objective)
    assert raise_bound_to_floor(model.problem, kept) is kept


def test_a_solution_of_another_model_is_refused(built):
    model, found, *_ = built
    assert len(model.identity) == 64 and not found.model
    assert pipeline.decode(model, found).verified
    assert pipeline.decode(model, replace(found, model=model.identity)).verified
    with pytest.raises(SolutionError, match="the solution belongs to the model ffffffffffff"):
        pipeline.decode(model, replace(found, model="f" * 64))


def test_a_bound_of_all_trees_is_held_against_each_of_them(built):
    """The search of a restricted model may state one: of trees that the model has not, too."""
    model, found, cart, _ = built
    worst = settle(np.full(8, -1, np.int32), model.problem.encoded, np.array([-1, 0, *[-1] * 6], np.int32))
    point = model.join(model.problem.module.start(model.problem, worst))
    assert checked(built, solution=replace(found, overall=found.objective)) == []
    assert checked(built, solution=replace(found, overall=found.objective + 1)) == ["bound of all trees"]
    poor = Solution(point, Termination.TIME_LIMIT, model.objective(point), None, overall=found.objective + 1)
    assert checked(built, heap=worst, solution=poor) == []
    assert checked(built, heap=worst, solution=poor, known=[("CART", cart)]) == ["bound of all trees"]
    at = int(np.flatnonzero((found.x > 0.5) & (point < 0.5))[0])
    upper = model.col_upper.copy()
    upper[at] = 0.5  # the edited model has not this tree, but it is one of all
    barred = edited(model, col_upper=upper)
    assert checked(built, model=barred, heap=worst, solution=poor, known=[("CART", cart)]) == ["bound of all trees"]


def test_a_known_tree_with_a_leaf_of_too_few_rows_contradicts_nothing(built):
    data, cart = built[3], built[2]
    n = cart.fewest_rows(built[0].problem.encoded)
    for least, contradicts in ((n, True), (n + 1, False)):
        problem = pipeline.pose(data, "oct", 2, params={"n_min": least})
        bound = problem.module.objective(problem, cart) + 1
        assert against_known(problem, None, bound, [("CART", cart)])[0] == contradicts


def test_the_floor_is_of_the_objective_that_the_bound_is_of(built):
    """A bound of an edited objective is left alone; one of some trees stands beside a floor of all."""
    model, found, *_ = built
    least = objective_floor(model.problem)
    edited_ = replace(found, bound=None, scope_objective=1.0)
    assert raise_bound_to_floor(model.problem, edited_) is edited_
    some = raise_bound_to_floor(model.problem, replace(found, bound=None, scope="some columns"))
    assert some.overall == some.bound == least
    plain = raise_bound_to_floor(model.problem, replace(found, bound=None))
    assert plain.overall is None and plain.bound == least

"""Parts of the checker of leaf sums by themselves: sides of tried cuts, what rows are taken, and ends that are told."""

import json
import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from odtc.data.dataset import Dataset, Feature
from odtc.data.tasks import survival
from odtc.errors import CertificateError
from odtc.verification.certificate import check, stated
from odtc.verification.leaf_sums import (
    LeafSumsProof,
    _less,
    every_tree,
    squares,
)
from odtc.verification.leaf_sums.bound import ALL, LeafSumsBound
from odtc.verification.leaf_sums.likelihood import Likelihood
from odtc.verification.leaf_sums.limits import NO_LIMIT, Limit
from odtc.verification.leaf_sums.squares import Squares
from odtc.verification.leaf_sums.whole_trees import MOST_TESTS, WholeTrees
from odtc.verification.threshold_columns import left_of
from tests import pipeline
from tests.plain_kernels import bound_one_by_one, run_plain
from tests.unit.test_forged_leaf_sums import CELLS, NUMBERS, leaves, numbers, retold, times, true


@pytest.fixture(autouse=True)
def plain(monkeypatch):
    """Kernels as plain functions; hashes overflow in them, without a warning."""
    run_plain(monkeypatch)
    with np.errstate(over="ignore"):
        yield


def mirrored(rng, n: int, widest: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """(ranks of three columns, of which the second is the first one turned round; the cuts that are alike)."""
    first = rng.integers(0, widest + 1, n)
    first[:2] = 0, widest
    rank = np.column_stack([first, widest - first, rng.integers(0, 3, n)])
    cuts = [(column, cut, 1 + (cut if column == 0 else widest - 1 - cut)) for column in (0, 1) for cut in range(widest)]
    return rank, np.array(cuts, np.int64).T.copy()


def tried_of(rng, rank, rows) -> list:
    """Some cuts of these rows, with sides that are bounded or not."""
    cuts = [(g, int(cut)) for g in range(rank.shape[1]) for cut in np.unique(rank[rows, g])[:-1]]
    kept = rng.permutation(len(cuts))[: int(rng.integers(1, len(cuts) + 1))]
    return [[*cuts[at], *((0, None)[int(rng.random() < 0.2)] for _ in range(2))] for at in kept]


def least_of(rank, rows, tried, found, shared) -> float:
    """The least that a cut costs: by the tried ones of its column on its left and right, and by those alike."""
    group = {(column, cut): name for column, cut, name in shared.T.tolist()}
    by_group: dict = {}
    for g in range(rank.shape[1]):
        for cut in np.unique(rank[rows, g])[:-1].tolist():
            before = [sides[0] for (column, at, *_), sides in zip(tried, found) if column == g and at <= cut]
            behind = [sides[1] for (column, at, *_), sides in zip(tried, found) if column == g and at >= cut]
            bound = max([0.0, *before]) + max([0.0, *behind])
            # All cuts from this rank to the next one that rows have are this one.
            after = rank[rows, g][rank[rows, g] > cut].min()
            names = [group[g, at] for at in range(cut, after) if (g, at) in group] or [(g, cut)]
            for name in names:
                by_group.setdefault(name, []).append(bound)
    return min(map(max, by_group.values()))


@pytest.mark.parametrize("seed", range(6))
def test_a_cut_between_two_ranks_is_that_of_the_lower_one(seed):
    """A state's rows need not have the rank that is named."""
    rng = np.random.default_rng(seed)
    rank = 3 * rng.integers(0, 4, (12, 2))
    bound, rows = (
        LeafSumsBound(rank, Squares(true(), numbers()), Fraction(1, 2), False),
        np.sort(rng.permutation(12)[:9]),
    )
    tried = tried_of(rng, rank, rows)
    wanted = bound.least(rows, 3, tried, Fraction(0), exact=False)
    for more in (1, 2):
        found = [[column, cut + more, *sides] for column, cut, *sides in tried]
        assert bound.least(rows, 3, found, Fraction(0), exact=False) == wanted
    with pytest.raises(ValueError, match="a cut twice"):
        bound.least(rows, 3, [*tried, [tried[0][0], tried[0][1] + 1, *tried[0][2:]]], Fraction(0), exact=False)


@pytest.mark.parametrize("seed", range(40))
def test_tried_cuts_of_a_part_of_the_rows_bound_those_that_part_it_alike(seed):
    """Cuts that part all rows alike may part these at another rank, or not at all."""
    rng = np.random.default_rng(seed)
    rank = mirrored(rng, 12)[0]
    kind = np.unique(rank, axis=0, return_inverse=True)[1].reshape(-1)
    rows = np.flatnonzero(np.isin(kind, rng.permutation(kind.max() + 1)[: int(rng.integers(2, 9))]))  # kinds as a whole
    bound = LeafSumsBound(rank, Squares(true(), numbers()), Fraction(1, 2), False)
    tried = tried_of(rng, rank, rows)
    if not tried:
        return
    found = []
    for column, cut, *asked in tried:
        left = rank[rows, column] <= cut
        sides = [bound._rounded(part, 2, NO_LIMIT) - bound.floor(part, False) for part in (rows[left], rows[~left])]
        found.append([0.0 if one is None else max(0.0, side) for one, side in zip(asked, sides)])
    marks = [(column, cut, abs(group)) for column, own in enumerate(bound.alike) for cut, group in own.items()]
    cheapest = 0.5 + least_of(rank, rows, tried, found, np.array(marks, np.int64).reshape(-1, 3).T)
    leaf = bound._leaf(rows, False) - bound.floor(rows, False)
    assert bound.least(rows, 3, tried, Fraction(0), exact=False) == pytest.approx(min(leaf, cheapest), abs=1e-9)


@pytest.mark.parametrize("at_once", [every_tree.KERNEL_STEPS, 1.0])
@pytest.mark.parametrize("labels", [2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_sides_of_all_tests_cost_what_their_best_trees_do(seed, labels, at_once, monkeypatch):
    """However many rows are counted between two looks at the clock."""
    monkeypatch.setattr(every_tree, "KERNEL_STEPS", at_once)
    rng = np.random.default_rng(seed)
    true_ = rng.random((4, 13)) < (0.2, 0.5, 0.8, 0.5)[seed]
    loss, price = rng.integers(0, 6, (13, labels)).astype(float), (0.0, 1.0, 2.0, 0.5)[seed]
    loss[0] += 3

    def tree(rows, levels) -> float:
        found = loss[rows].sum(axis=0).min() if len(rows) else 0.0
        if levels:
            for test in true_:
                found = min(found, price + tree(rows[test[rows]], levels - 1) + tree(rows[~test[rows]], levels - 1))
        return found

    every = np.arange(13)
    wanted = [[tree(every[~test], 2), tree(every[test], 2)] for test in true_]
    assert every_tree.least_sides(true_, loss, price) == pytest.approx(np.array(wanted))


@pytest.mark.parametrize("many", [3, 4, 5])
@pytest.mark.parametrize("levels", [2, 3])
def test_sides_of_tests_gain_what_their_best_trees_do(levels, many):
    """By squares, of as many tests as a tree has levels and of more: a leaf gains S^2 / W."""
    rng = np.random.default_rng(10 * levels + many)
    true_, price = rng.random((many, 14)) < 0.3, 1.5
    true_[:, :2] = True  # rows that all tests have apart from the others
    true_[:, :2] = True
    moments = np.stack([rng.integers(1, 4, 14), rng.integers(-9, 10, 14)])

    def gain(rows, left) -> float:
        w, s = moments[:, rows].sum(axis=1)
        found = s * s / w if w else 0.0
        if left:
            for test in true_:
                found = max(found, gain(rows[test[rows]], left - 1) + gain(rows[~test[rows]], left - 1) - price)
        return found

    found = every_tree.side_gains(true_, moments, (0, 1.0), price, levels)
    if many <= levels:
        assert found is None
        return
    rows = np.arange(14)
    wanted = [[gain(rows[~test], levels), gain(rows[test], levels)] for test in true_]
    assert found == pytest.approx(np.array(wanted))


@pytest.mark.parametrize("leaves", [-1, -5])
def test_a_number_of_leaves_below_0_is_none(leaves):
    facts = true() | {"leaves": leaves}
    facts["of"] = facts["of"] | {"constraints": [f"leaves <= {leaves}"]}
    with pytest.raises(CertificateError, match=f"trees {leaves} leaves|expected a whole number"):
        check(facts, numbers())


@pytest.mark.parametrize("task", ["regression", "survival"])
@pytest.mark.parametrize("key", ["counts", "rows", "sums"])
def test_what_a_leaf_tells_of_its_sums_is_that_of_its_rows(task, key):
    """To nine digits, each number for itself; numbers of rows are whole."""
    facts, data = true(task), numbers() if task == "regression" else times()
    leaf = facts["tree"]["root"]
    while "split" in leaf:
        leaf = leaf["left"]
    told = list(leaf[key])
    for place, number in enumerate(told):
        for other, taken in (
            (number * (1 + 1e-12), key != "rows"),
            (number * (1 + 1e-7) + 1e-7, False),
            (2 * number + 1, False),
        ):
            leaf[key] = [*told[:place], other, *told[place + 1 :]]
            if taken:
                assert check(facts, data).optimal
                continue
            with pytest.raises(CertificateError, match=f"has the {key} |not whole|damaged"):
                check(facts, data)
    leaf[key] = [*told, 1.0]
    with pytest.raises(CertificateError, match=f"has the {key} "):
        check(facts, data)


@pytest.mark.parametrize("price", [0.0, 0.2])
@pytest.mark.parametrize("scale", [1, 100])
def test_a_proof_tells_its_objective_and_the_unit_of_rounding(scale, price):
    """The unit is 1, or what one leaf costs if that is less; a weighted sum of both is what nodes and leaves cost."""
    data = numbers(np.array(NUMBERS) / scale)
    problem = pipeline.pose(data, "dpflow", 2, params={"lambda": price})
    facts = json.loads(json.dumps(problem.module.certificate(problem)))
    proof = check(facts, data)
    mean = Fraction(sum(NUMBERS), 12)
    alone = sum((value - mean) ** 2 for value in NUMBERS) / scale**2 * (1 - Fraction(price))
    assert proof.unit == pytest.approx(min(1.0, float(alone)), rel=1e-12)
    assert proof.exact and proof.optimal and proof.bound == proof.objective
    assert 0 < proof.off < 1e-9 * float(alone) + 1e-12
    assert proof.terms == (f"lambda {price:g}" if price else "")
    cost, nodes = 0, 0

    def count(node, rows):
        nonlocal cost, nodes
        if "split" not in node:
            own = Fraction(sum(NUMBERS[row] for row in rows), len(rows))
            cost += sum((NUMBERS[row] - own) ** 2 for row in rows)
            return
        nodes += 1
        goes = left_of(node["split"], data)
        count(node["left"], [row for row in rows if goes[row]])
        count(node["right"], [row for row in rows if not goes[row]])

    count(facts["tree"]["root"], range(12))
    assert proof.objective == pytest.approx(float(cost) / scale**2 * (1 - price) + price * nodes, rel=1e-12)
    assert (
        proof.n_rows == 12
        and proof.depth == 2
        and proof.n_candidate_splits == 5
        and proof.n_possible_splits == 5
        and not proof.left_out
    )


def test_a_leaf_alone_is_the_best_tree_where_a_node_costs_more_without_a_cut_that_was_tried():
    """All cuts cost a node at least; a proof of all rows alone counts one state."""
    data = numbers()
    problem = pipeline.pose(data, "dpflow", 3, params={"lambda": 0.99})
    facts = json.loads(json.dumps(problem.module.certificate(problem)))
    assert "split" not in facts["tree"]["root"]
    proof = check(facts | {"tried": []}, data)
    assert proof.optimal and proof.steps["n_targets"] == 1


def test_a_survival_is_proved_between_two_ends():
    facts, data = true("survival"), times()
    proof = check(facts, data)
    low, high = map(Fraction, facts["claim"])
    unit = Likelihood(facts, data).unit
    assert not proof.exact and proof.optimal and low < high
    assert proof.bound < proof.objective and Fraction(proof.objective) >= high / unit >= low / unit >= Fraction(
        proof.bound
    )
    assert proof.objective - proof.bound < 1e-9 * proof.objective
    told = [float(word) for word in proof.terms.removeprefix("the tree costs ").split(" to ")]
    assert (
        told[1] == proof.objective and Fraction(told[0]) <= low / unit and told[0] == pytest.approx(float(low / unit))
    )
    for place, other in ((0, low - 1), (1, high + 1), (0, high), (1, low)):
        claim = [str(low), str(high)]
        claim[place] = str(other)
        with pytest.raises(CertificateError, match="the certificate claims"):
            check(facts | {"claim": claim}, data)


@pytest.mark.parametrize(
    ("bound", "objective", "exact", "unit", "optimal"),
    [
        (2.0, 2.0, True, 1.0, True),
        (2.0 - 1e-12, 2.0, True, 1.0, False),
        (2.0 - 1e-12, 2.0, False, 1.0, True),
        (2.0 - 1e-9, 2.0, False, 1.0, False),
        (0.5 - 0.9e-10, 0.5, False, 1.0, True),
        (0.5 - 0.9e-10, 0.5, False, 0.1, False),
        (-2.0 - 1e-10, -2.0, False, 0.1, True),
    ],
)
def test_trees_nearer_than_rounding_are_not_told_apart(bound, objective, exact, unit, optimal):
    proof = LeafSumsProof(objective, bound, {}, "", {}, 1, {}, exact, 0.0, unit)
    assert proof.optimal == optimal


def regression(y, weight: float = 1.0, **changed):
    """The numbers of rows as a certificate of these scales counts them."""
    facts = {"weight_scale": 1, "number_scale": 1, "number_bits": None} | changed
    return Squares(facts, numbers(np.array(y, float), weight))


TEN = [*range(10), 3, 5]
# What is taken: numbers, weight, scales.
TAKEN = [
    (TEN, 3.0, {}),
    (np.array(TEN) / 10, 0.25, {"weight_scale": 4, "number_scale": 10}),
    (np.array(TEN) / 8, 0.25, {"weight_scale": 4, "number_scale": None, "number_bits": 3}),
    (np.array(TEN) + 2.0**49, 1.0, {}),
    (np.array([*TEN[:-1], 0.29]), 1.0, {"number_scale": 100}),  # 28.999999999999996 hundredths
    (TEN, 3.0, {"number_scale": None, "number_bits": 3}),
]
REFUSED = [
    (np.array(TEN) + 0.00005, 1.0, {}),
    (np.array(TEN) + 0.00015, 1.0, {}),
    ([0, 0.00005] * 6, 1.0, {}),  # all of one whole number, but apart
    ([0.00005, *[0] * 11], 1.0, {}),
    (TEN, 1.0, {"number_bits": 0}),
    (TEN, 1.0, {"number_scale": None}),
    (TEN, 0.25, {}),
]


@pytest.mark.parametrize(("y", "weight", "scales"), TAKEN)
def test_numbers_that_are_whole_at_their_scales_are_counted(y, weight, scales):
    found = regression(y, weight, **scales)
    number = scales.get("number_scale", 1) or 2 ** scales["number_bits"]
    assert found.unit == scales.get("weight_scale", 1) * number**2
    # What all rows cost as one leaf, by the definition.
    exact = [Fraction(round(value * number), number) for value in np.array(y).tolist()]
    mean = sum(exact) / len(exact)
    cost_of_all = Fraction(weight) * sum((value - mean) ** 2 for value in exact)
    assert found.low(found.moments.sum(axis=1)) / found.unit == cost_of_all


@pytest.mark.parametrize(("y", "weight", "scales"), REFUSED)
def test_numbers_that_are_none_at_these_scales_are_refused(y, weight, scales):
    with pytest.raises((CertificateError, ValueError)):
        regression(y, weight, **scales)


def test_the_ends_of_numbers_that_are_cut_off_hold_what_they_cost():
    """By numbers that are rounded down each is off by less than 1 unit, in the middle by less than a half."""
    y = np.array(NUMBERS) + np.linspace(0, 0.9, 12)
    found = regression(y, number_scale=None, number_bits=0)
    exact = [Fraction(value) for value in y.tolist()]
    mean = sum(exact) / 12
    costs = sum((value - mean) ** 2 for value in exact)
    low, high, bound = found.ends(*[found.low(found.moments.sum(axis=1))] * 3)
    assert low <= costs <= high and bound == low
    for counted in (0.0, 1.0, 2.9, 3.1, 17.0, 1000.0):
        ends = found.ends(Fraction(counted), Fraction(counted), Fraction(counted))
        least = max(0.0, math.sqrt(counted) - math.sqrt(12) / 2) ** 2
        most = (math.sqrt(counted) + math.sqrt(12) / 2) ** 2
        assert [float(end) for end in ends] == pytest.approx([least, most, least], abs=1e-8)
        assert ends[0] <= least + 1e-12 and ends[1] >= most - 1e-12
    whole = regression(TEN, number_scale=None, number_bits=0)
    assert whole.ends(Fraction(4), Fraction(5), Fraction(3)) == (4, 5, 3)


@pytest.mark.parametrize("weight", [1.0, [3, 1, 2, 1, 1, 4, 1, 2, 2, 1, 5, 1]])
def test_leaves_of_a_survival_cost_what_their_hazards_say(weight):
    data = times(weight)
    found = Likelihood(true("survival") | {"weight_scale": 1}, data)
    w, time, event = data.weight.tolist(), data.sums[:, 4].tolist(), (data.sums[:, 3] > 0).tolist()
    hazard = []
    for row in range(12):  # Nelson and Aalen's, over the times up to that of the row
        steps = {t for t in time if t <= time[row]}
        died = {t: sum(int(w[i]) for i in range(12) if time[i] == t and event[i]) for t in steps}
        at_risk = {t: sum(int(w[i]) for i in range(12) if time[i] >= t) for t in steps}
        hazard.append(sum((Fraction(died[t], at_risk[t]) for t in steps), Fraction(0)))
    unit = 2**found.bits
    for row in range(12):
        ends = int(found.moments[0, row]), int(found.moments[0, row]) + 2
        assert ends[0] <= int(w[row]) * hazard[row] * unit <= ends[1]
    assert found.root_unit == unit
    for rows in ([0, 1, 2], [4, 7, 9, 10], list(range(12)), [0]):
        events = sum(int(w[row]) for row in rows if event[row])
        total = float(sum(int(w[row]) * hazard[row] for row in rows))
        cost_of = events * (1 - math.log(events / total)) if events else 0.0
        low, high = (end(found.moments[:, rows].sum(axis=1)) for end in (found.low, found.high))
        assert float(low) == pytest.approx(cost_of, abs=1e-9) and low < high
        assert low <= Fraction(cost_of) + Fraction(1, 10**9) and high >= Fraction(cost_of) - Fraction(1, 10**9)
        assert found.costs(*found.rounded[:, rows].sum(axis=1)[:, None])[0] == pytest.approx(cost_of, abs=1e-9)


@pytest.mark.parametrize(
    ("weight", "scale", "taken"),
    [
        (1.0, 1, True),
        (0.5, 2, True),
        (0.5, 1, False),
        (2.0, 1, True),
        ([1] * 11 + [1e-5], 1, False),
        ([1] * 11 + [0.5], 1, False),
        ([1] * 11 + [1.5], 1, False),
    ],
)
def test_weights_of_a_survival_are_whole_at_their_scale(weight, scale, taken):
    facts, data = true("survival"), times(weight)
    if not taken:
        with pytest.raises(CertificateError, match="not whole numbers at the scale"):
            Likelihood(facts | {"weight_scale": scale}, data)
        return
    found = Likelihood(facts | {"weight_scale": scale}, data)
    assert found.moments[1].sum() == scale * np.dot(np.broadcast_to(weight, 12), data.sums[:, 3] > 0)


@pytest.mark.parametrize("number", [Fraction(2, 3), Fraction(1, 3), Fraction(1, 10), Fraction(7), Fraction(-2, 3)])
def test_a_bound_that_is_told_is_no_more(number):
    assert number * (1 - Fraction(1, 2**40) * (1 if number > 0 else -1)) < Fraction(_less(number)) < number


@pytest.mark.parametrize("task", ["regression", "survival"])
@pytest.mark.parametrize("depth", [3, 4])
@pytest.mark.parametrize("price", [Fraction(1, 3), Fraction(100)])
def test_all_cuts_at_once_cost_no_more_than_the_best_tree(price, depth, task, monkeypatch):
    """And hardly less: by sums of whole numbers, of all trees, and of the sides of each cut beyond their floors."""
    data, law = (numbers(), Squares) if task == "regression" else (times(), Likelihood)
    rank, every = np.array(CELLS, np.int64), np.arange(12)
    bound = LeafSumsBound(rank, law(true(task), data), price, law is Likelihood)

    def best(rows, left) -> Fraction:
        found = bound.measure.low(bound.moments[:, rows].sum(axis=1))
        for column in range(3) if left else ():
            for cut in np.unique(rank[rows, column])[:-1]:
                goes = rank[rows, column] <= cut
                found = min(found, price + best(rows[goes], left - 1) + best(rows[~goes], left - 1))
        return found

    least = best(every, depth)
    exact = bound.floor(every) + Fraction(bound.least(every, depth, ALL, least - bound.floor(every)))
    assert 0 <= least - exact < 1e-8
    tried = bound._all_cuts(every, depth, NO_LIMIT)
    sides = bound._all_sides(every, tried, depth - 1)
    assert sides.shape == (len(tried), 2)
    for (column, cut, *_), found in zip(tried, sides.tolist()):
        goes = rank[:, column] <= cut
        for side, rows in zip(found, (every[goes], every[~goes])):
            assert 0 <= best(rows, depth - 1) - bound.floor(rows) - Fraction(side) < 1e-6
    few = LeafSumsBound(rank[:, 2:], bound.measure, price, law is Likelihood)
    tried = few._all_cuts(every, depth, NO_LIMIT)
    assert few._all_sides(every, tried, depth - 1) is None  # fewer cuts than a tree has tests
    assert few._all_sides(every, [], depth - 1) is None


@pytest.mark.parametrize("depth", [3, 4])
@pytest.mark.parametrize("task", ["regression", "survival"])
def test_all_cuts_prove_what_is_so(task, depth):
    data = numbers() if task == "regression" else times()
    problem = pipeline.pose(data, "dpflow", depth, params={"lambda": 0.2})
    facts = json.loads(json.dumps(problem.module.certificate(problem))) | {"tried": ALL}
    assert check(facts, data).optimal


@pytest.mark.parametrize("at_once", [False, True])
def test_an_event_whose_hazard_is_too_small_is_refused(at_once, monkeypatch):
    """Loops take such an event, alone in a leaf, to cost 1; it costs far less. So they bound no tree by that."""
    cells = np.column_stack([np.arange(8.0), np.arange(8.0) * 5 % 8])
    features = Feature("a", "numeric"), Feature("b", "numeric")

    def rows(weight: float) -> Dataset:
        """One event of weight 1, the first one; then rows of this weight without events."""
        weights = np.array([1.0] + [weight] * 7)
        plain = Dataset("d", cells, np.zeros(8, np.int32), features, (), weights, "y", task="survival")
        return survival.timed(plain, np.arange(1.0, 9.0), np.eye(8)[0], "y")

    problem, data = pipeline.pose(rows(16.0), "dpflow", 3), rows(2.0**34)
    facts = json.loads(json.dumps(problem.module.certificate(problem))) | {"weight_scale": 1, "tried": ALL}
    first = {"kind": "threshold", "feature": "a", "threshold": 1.5}  # the event and one more row: the best but one
    label = facts["classes"][0]
    facts["tree"]["root"] = {"split": first, "left": {"label": label}, "right": {"label": label}}
    facts = retold(facts, data)
    measure = Likelihood(facts, data)
    sums = [measure.moments[:, part].sum(axis=1) for _, part in leaves(facts["tree"]["root"], data, np.arange(8))]
    facts["claim"] = [str(sum(map(end, sums))) for end in (measure.low, measure.high)]
    if not at_once:
        bound_one_by_one(monkeypatch)
    with pytest.raises(CertificateError, match="too small to differ from 0"):
        check(facts, data)


def test_all_cuts_are_tried_without_limits_alone():
    facts = true("regression", 3, "leaf_rows >= 4")
    with pytest.raises(CertificateError, match="under a limit"):
        check(facts | {"tried": ALL}, numbers())


@pytest.mark.parametrize("task", ["regression", "survival"])
def test_what_is_stated_is_told_without_a_bound_that_proves_it(task):
    """Of who was stopped before: a certificate without its tried cuts."""
    facts, data = true(task, 3), numbers() if task == "regression" else times()
    checked = check(facts, data)
    told = stated(facts | {"tried": []}, data)
    assert (told.objective, told.bound) == pytest.approx((checked.objective, checked.bound), rel=1e-9)
    assert told.optimal and told.steps["n_targets"] == 1
    assert checked.off < 1e-9


def test_a_price_below_0_or_that_is_no_text_is_none():
    facts = true()
    nodes = json.dumps(facts["tree"]).count('"split"')
    cheaper = facts | {"penalty": "-1", "claim": str(Fraction(facts["claim"]) - nodes)}
    with pytest.raises(CertificateError, match="its penalty -1"):
        check(cheaper, numbers())
    with pytest.raises(CertificateError, match="is damaged"):
        check(facts | {"penalty": 0}, numbers())


@pytest.mark.parametrize("single", [False, True])
def test_floors_are_what_rows_cost_that_no_column_tells_apart(single):
    """Of two rows as of more; of regression one row costs nothing alone."""
    data, law = (times(), Likelihood) if single else (numbers(), Squares)
    rank = np.array([[0, 1], [0, 1], [1, 1], [1, 1], [1, 1], [2, 0], [3, 0], [4, 0], [4, 0], [5, 2], [6, 2], [6, 2]])
    bound = LeafSumsBound(rank, law(true("survival" if single else "regression"), data), Fraction(1), single)
    kinds = [[0, 1], [2, 3, 4], [5], [6], [7, 8], [9], [10, 11]]
    wanted = [bound.measure.low(bound.moments[:, rows].sum(axis=1)) for rows in kinds]
    for rows, own in zip(kinds, wanted):
        assert 0 <= own - bound.floor(np.array(rows)) < (1e-12 if single else Fraction(1, 10**30))
    assert bound.cuts.tolist() == [6, 2]
    exact, rounded = bound.floor(np.arange(12)), bound.floor(np.arange(12), False)
    assert exact == pytest.approx(sum(wanted), abs=1e-12) and rounded == pytest.approx(float(exact))


@pytest.mark.parametrize("depth", [2, 3])
def test_a_leaf_alone_costs_what_it_does_beyond_its_floor(depth):
    """Where nodes cost more than all else; a side of one leaf tries nothing, whatever it lists."""
    rank, every = np.array(CELLS, np.int64)[:, :2] // 2, np.arange(12)
    bound = LeafSumsBound(rank, Squares(true(), numbers()), Fraction(10**4), False)
    floor, leaf = bound.floor(every), bound.measure.low(bound.moments.sum(axis=1))
    assert floor > 0
    assert bound.least(every, depth, [[0, 0, 0, 0]], Fraction(0), exact=False) == pytest.approx(float(leaf - floor))
    assert bound.least(every, depth, [[0, 0, 0, 0]], leaf - floor) == leaf - floor
    cheap = LeafSumsBound(rank, bound.measure, Fraction(0), False)
    assert cheap.least(every, depth, [], leaf - floor, Limit(1, 1)) == leaf - floor


def table(y, weight=1.0) -> SimpleNamespace:
    """Rows of numbers, as the law of squares reads them."""
    y, weight = np.asarray(y, float), np.broadcast_to(np.asarray(weight, float), len(y))
    return SimpleNamespace(
        weight=weight, sums=np.stack([np.ones(len(y)), weight, weight * y, np.asarray(y, float)], axis=1)
    )


FEW, LIGHT = [0, 0, 0, 1], 2.0**-20
SCALES = [
    (FEW, 1, {"number_scale": 0}, "its scales"),
    (FEW, 1, {"number_scale": 1, "weight_scale": 0}, "its scales"),
    (FEW, 1, {"number_scale": 2**40}, "its scales"),
    (FEW, 1, {"number_scale": 2**40 - 1}, ""),
    (FEW, 1, {"number_scale": 1, "weight_scale": 2**40}, "its scales"),
    (FEW, 1, {"number_scale": 1, "weight_scale": 2**40 - 1}, ""),
    (np.array(FEW) * 1e-301, 1, {"number_bits": 1000}, ""),
    (np.ldexp(FEW, -1001), 1, {"number_bits": 1001}, "its scales"),
    (FEW, [1, 1, 3, 1], {"number_bits": 0}, ""),
    (FEW, [1, 1, 1.5, 1], {"number_scale": 1}, "not whole numbers"),
    (FEW, [1, 1, 1e-5, 1], {"number_scale": 1}, "not whole numbers"),
    ([3, 3, 3, 3], 1, {"number_scale": 1}, ""),
    ([0, 0, 0, 2**53], 1, {"number_scale": 1}, "too large"),
    ([0, 0, 0, 2**22], 1, {"number_scale": 1, "weight_scale": 2**39}, "too large"),
    ([0, 0, 0, 2**22 - 1], 1, {"number_scale": 1, "weight_scale": 2**39}, ""),
    ([0, 0, 0, 2**48], 2, {"number_scale": 1}, "too large"),
    ([0, 0, 0, 2**48], 1, {"number_scale": 1}, ""),
    (FEW, 2**12, {"number_scale": 1, "weight_scale": 2**39}, "too large"),
    (FEW, [2**12, 2**12, 2**12, 2**11], {"number_scale": 1, "weight_scale": 2**39}, ""),
]


@pytest.mark.parametrize(("y", "weight", "scales", "refused"), SCALES)
def test_numbers_are_added_as_whole_numbers_or_refused(y, weight, scales, refused):
    """Up to 2^40 of a scale, 2^1000 of bits, 2^53 of a number and of all weights, 2^61 and 2^97 of sums of products."""
    data, facts = table(y, weight), {"weight_scale": 1} | scales
    if refused:
        with pytest.raises((ValueError, CertificateError), match=refused):
            Squares(facts, data)
        return
    found = Squares(facts, data)
    scale = scales.get("number_scale") or 2 ** scales["number_bits"]
    w, t = [int(x * facts["weight_scale"]) for x in data.weight], [int(Fraction(x) * scale) for x in y]
    mean = Fraction(sum(a * b for a, b in zip(w, t)), sum(w))
    assert found.low(found.moments.sum(axis=1)) == sum(a * (b - mean) ** 2 for a, b in zip(w, t))
    assert found.low([0, 0, 0, 0]) == 0


@pytest.mark.parametrize(("n", "refused"), [(16, True), (15, False)])
def test_so_many_rows_are_added_as_there_is_room_for_the_lower_parts(n, refused, monkeypatch):
    """2^62 is the sum of 2^4 parts of 58 bits."""
    monkeypatch.setattr(squares, "LOW", 58)
    facts, data = {"weight_scale": 1, "number_scale": 1}, table(range(n))
    if not refused:
        assert Squares(facts, data).moments.shape == (4, n)
        return
    with pytest.raises(CertificateError, match="too many to be added"):
        Squares(facts, data)


def test_numbers_of_more_bits_are_rounded_down():
    found = Squares({"weight_scale": 1, "number_bits": 0}, table([0.7, 0.2, 3.9, -0.1]))
    assert np.diff(found.moments[1]).tolist() == [0, 3, -4]


@pytest.mark.parametrize("square", [0, 4, Fraction(7, 3), Fraction(7, 2**65), Fraction(17, 2**65), Fraction(10**20, 7)])
def test_a_square_root_is_rounded_up_by_little(square):
    found, square = squares._root_above(Fraction(square)), Fraction(square)
    assert found >= 0 and (found - Fraction(1, 2**32)) ** 2 <= square <= found**2


def timed(weight, n=4, **rows) -> SimpleNamespace:
    """Rows of a survival, an event at each time."""
    sums = np.stack([np.ones(n), np.ones(n), np.ones(n), np.ones(n), np.arange(1.0, n + 1)], axis=1)
    if "twice" in rows:
        sums[rows["twice"], 0] = 2
    return SimpleNamespace(weight=np.broadcast_to(np.asarray(weight, float), n), sums=sums)


@pytest.mark.parametrize(
    ("weight", "scale", "rows", "refused"),
    [
        (LIGHT, 2**40, {}, "its scale is not a whole number"),
        (LIGHT, 2**40 - 2**20, {}, ""),
        (2.0**38, 1, {}, "cannot be added up"),
        (2.0**38 - 1, 1, {}, ""),
        (1.0, 1, {"twice": 2}, "cannot be added up"),
        (1.0, 1, {}, ""),
    ],
)
def test_weights_of_a_survival_are_added_as_whole_numbers_or_refused(weight, scale, rows, refused):
    """Up to 2^40 of a scale and of all weights. What floats make of a leaf is off by `near` at most."""
    if refused:
        with pytest.raises((ValueError, CertificateError), match=refused):
            Likelihood({"weight_scale": scale}, timed(weight, **rows))
        return
    found = Likelihood({"weight_scale": scale}, timed(weight, **rows))
    for part in ([0, 1, 2, 3], [1, 3], [3]):
        rounded = float(found.costs(*found.rounded[:, part].sum(axis=1)[:, None])[0])
        assert abs(Fraction(rounded) - found.low(found.moments[:, part].sum(axis=1))) <= found.near
    assert float(found.costs(*np.array([[1.0], [1.0], [1.0]]))[0]) == pytest.approx(1 - found.bits * math.log(2))


def test_a_hazard_between_two_units_is_as_narrow_as_it_may_be(monkeypatch):
    """1/6 + 1/3 are a half, of which the ends lie on either side of a whole number of units."""
    data = timed(1.0, 6)
    data.sums[:, 3] = [1, 0, 0, 1, 0, 0]
    assert Likelihood({"weight_scale": 1}, data).bits == 57
    monkeypatch.setattr("odtc.verification.leaf_sums.likelihood.ROUNDED", 1)
    with pytest.raises(CertificateError, match="cannot be rounded as narrowly"):
        Likelihood({"weight_scale": 1}, data)


def test_limits_are_told_and_certified_up_to_their_edge():
    assert Limit(2, 0).words == ["leaf_rows >= 2"] and Limit(1, 3).words == ["leaves <= 3"] and not Limit().words
    for tests in range(MOST_TESTS + 3):
        assert (WholeTrees(tests).why_not(3, 0, 9) == "") == (tests <= MOST_TESTS)
    assert WholeTrees(9).why_not(3, 0, MOST_TESTS) == ""  # there are no more
    assert WholeTrees(2).why_not(3, 0, 50_000) == "" and "at most 50,000" in WholeTrees(2).why_not(3, 0, 50_001)


def test_a_tree_of_more_leaves_or_another_label_is_refused():
    facts = true() | {"leaves": 3}
    facts["of"] = facts["of"] | {"constraints": ["leaves <= 3"]}
    found = [leaf for leaf, _ in leaves(facts["tree"]["root"], numbers(), np.arange(12))]
    assert len(found) == 4
    with pytest.raises(CertificateError, match="has 4 leaves .* does not satisfy leaves <= 3"):
        check(facts, numbers())
    facts = true()
    next(leaves(facts["tree"]["root"], numbers(), np.arange(12)))[0]["label"] = "other"
    with pytest.raises(CertificateError, match="'other' is not in list|expected"):
        check(facts, numbers())

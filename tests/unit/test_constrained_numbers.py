"""The numbers of a certificate under constraints: which cannot be, which are at an edge, and how deep trees need be."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from odtc.errors import CertificateError
from odtc.verification.certificate import check
from odtc.verification.constrained.constrained_certificate import _height, _places
from odtc.verification.constrained.stated_constraints import stated_constraints
from tests.unit.test_each_constraint import table
from tests.unit.test_forged_certificates import HARD, added, alone, rows, true

LAST = 2**52 - 1  # the greatest number that is added exactly
EVEN = [0, 1] * 6


def refused(given, words: str) -> None:
    with pytest.raises(CertificateError, match=words):
        given("")


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"weight_scale": 0}, "its scales or its penalty are not valid"),
        ({"weight_scale": -1}, "expected weight_scale from 0|expected a whole number"),
        ({"scale": 0}, "its scales or its penalty are not valid"),
        ({"weight_scale": 2, "scale": 3}, "its depth, its scales or its penalty are not valid"),
        ({"penalty": 1}, "its depth, its scales or its penalty are not valid"),  # as much as the scale
        ({"penalty": -1}, "expected penalty from 0|expected a whole number"),
        ({"scale": LAST + 1}, "its numbers are too large to be added exactly"),
        ({"loss": [[0, 1]]}, "its losses are not a square table"),
        ({"loss": [[0, 1], [1, 0], [1, 1]]}, "its losses are not a square table"),
        ({"loss": [[0, 1], [1]]}, "its losses are not a square table"),
        ({"loss": [[0, -1], [1, 0]]}, "expected a loss from 0|expected a whole number"),
        ({"loss": [[0, 1], [1, 1]]}, "zeros only where the label is correct"),
        ({"loss": [[1, 1], [1, 0]]}, "zeros only where the label is correct"),
        ({"loss": [[0, 0], [0, 0]]}, "zeros only where the label is correct"),
        ({"loss": [[0, LAST + 1], [1, 0]]}, "its numbers are too large to be added exactly"),
        (
            {"loss": [[0, 2**62], [1, 0]], "weight_scale": 4, "scale": 4},
            "expected a loss from 0 to below 2",
        ),  # 2^64 is 0
        ({"loss": [[0, 2**50], [1, 0]]}, "its numbers are too large to be added exactly"),
        ({"claim": LAST + 1}, "its claim, its bound or the scale of its multipliers is not valid"),
        ({"claim": -1}, "its claim, its bound or the scale|expected a whole number"),
        ({"bound": 6}, "its claim, its bound or the scale of its multipliers is not valid"),
        ({"bound": -1}, "its claim, its bound or the scale|expected a whole number"),
        ({"multiplier_scale": 0}, "its claim, its bound or the scale of its multipliers is not valid"),
        ({"multiplier_scale": LAST + 1}, "its claim, its bound or the scale of its multipliers is not valid"),
        ({"weight_scale": 2**49, "scale": 2**49, "loss": [[0, 0], [1, 0]]}, "its numbers are too large"),
    ],
    ids=str,
)
def test_numbers_that_cannot_be_are_refused(changed, words):
    refused(alone("p", **changed), words)


@pytest.mark.parametrize(
    ("changed", "objective"),
    [
        ({}, 5.0),
        ({"scale": LAST}, 5.0 / LAST),
        ({"multiplier_scale": LAST}, 5.0),
        ({"scale": 4, "weight_scale": 2, "claim": 10, "bound": 10}, 2.5),
        ({"scale": 7, "penalty": 6}, 5 / 7),
        ({"loss": [[0, 1], [3, 0]]}, 5.0),
        ({"loss": [[0, 0], [1, 0]], "claim": 0, "bound": 0}, 0.0),
    ],
    ids=str,
)
def test_numbers_at_an_edge_are_taken(changed, objective):
    proof = alone("p", **changed)("")
    assert proof.objective == objective and proof.bound == objective and not proof.infeasible
    assert proof.steps == {"n_cases": 0, "n_listed": 0} and proof.n_rows == 12 and proof.n_candidate_splits == 5


def test_a_bound_may_be_less_than_the_cost_of_the_tree():
    """Then it is proved, and not the tree; the bound of a tree that costs less than another one is none of all."""
    facts = true("constraints", HARD, 2, 0.0, ("recall[p] >= 0.6",))
    assert facts["claim"] == facts["bound"] == 2
    for bound in (0, 1):
        proof = check(facts | {"bound": bound}, rows(HARD))
        assert (proof.objective, proof.bound, proof.optimal, proof.infeasible) == (2.0, bound, False, False)
    dearer = facts | {"tree": {"root": {"label": "p"}}, "claim": 5}
    assert check(dearer, rows(HARD)).bound == 2.0
    refused(lambda _: check(dearer | {"bound": 3}, rows(HARD)), "costs less than 3|nor listed")


@pytest.mark.parametrize(
    ("weight", "scale", "taken"),
    [
        ([1.0] * 12, 1, True),
        ([0.5] * 12, 2, True),
        ([1 + 2e-6] + [1] * 11, 1, False),
        ([1 + 5e-7] + [1] * 11, 1, False),
        ([1.25] + [1] * 11, 1, False),
        ([1.25] + [1] * 11, 4, True),
        ([1e-9] + [1] * 11, 1, False),  # would count as nothing
        ([0.0] + [1] * 11, 1, True),
    ],
    ids=str,
)
def test_weights_are_whole_at_their_scale(weight, scale, taken):
    cost = sum(round(one * scale) for one, y in zip(weight, HARD) if y == 0)
    given = alone("p", weight=weight, weight_scale=scale, scale=scale, claim=cost, bound=cost)
    if taken:
        assert given("").objective == cost / scale
    else:
        refused(given, "the weights of the data are not whole numbers")


@pytest.mark.parametrize(
    ("text", "barred"),
    [
        ("class_leaves[p] <= 1", False),
        ("class_leaves[p] <= 0", True),
        ("leaf_class_rows[p] >= 7", False),
        ("leaf_class_rows[p] >= 8", True),
        ("false_positive_rate[p] <= 1", False),
        ("false_positive_rate[p] <= 0.99", True),
        ("leaf_rows >= 12", False),
    ],
)
def test_a_leaf_alone_that_just_satisfies_all_and_costs_less_is_found(text, barred):
    """The leaf of the other class costs 7, that of this one 5."""
    if barred:
        assert alone("n", text)("").objective == 7
    else:
        refused(alone("n", text), "a single leaf of the class 'p' satisfies all and costs less")
    assert alone("n", text, labels=EVEN)("").objective == 6  # as much is not less


@pytest.mark.parametrize(
    "test",
    [{"kind": "other", "feature": "a"}, {"kind": ["missing"], "feature": "a"}, {"feature": "a"}, 7, None],
    ids=str,
)
def test_a_test_that_is_none_is_refused_at_its_place(test):
    refused(alone("p", columns=[test]), r"the certificate is damaged: (expected|'kind' is missing) .*columns\[0\]")


@pytest.mark.parametrize(("totals", "exact"), [((2**25 + 1, 2**24 + 1), True), ((2**26 + 1, 2**25 + 1), False)])
def test_shares_of_classes_are_added_if_their_common_unit_is_exact(totals, exact):
    data = table(2, True, False)
    weight, first = np.zeros(data.n_rows, np.int64), [int(np.flatnonzero(data.y == k)[0]) for k in (0, 1)]
    weight[first] = totals
    words = ["balanced_accuracy >= 0.5"], data, weight, np.zeros((data.n_rows, 2), np.int64), 1
    if not exact:
        with pytest.raises(CertificateError, match="too large to be added exactly"):
            stated_constraints(*words)
        return
    found = stated_constraints(*words)
    both = totals[0] * totals[1]
    assert [-int(found.uses[0, row, k]) for k, row in enumerate(first)] == [both, both] and found.bound == [-both]


@pytest.mark.parametrize(("root", "columns"), [(5, ["a"]), (99, ["a"]), (0, ["a", "b"]), (0, [])])
def test_a_case_of_no_test_or_of_no_set_of_columns_is_none(root, columns):
    """There are five tests, and trees over one column each."""
    case = {"root": root, "columns": columns, "multipliers": []}
    refused(added("features <= 1", key="cases", value=case), "lists an invalid case")
    assert added("features <= 1", key="cases", value=case | {"root": 4, "columns": ["a"]})("").optimal


def test_columns_that_no_test_is_of_have_numbers_of_their_own():
    """Else what is said of them would be said of a column that is tested."""
    names = {"a": 0, "b": 1, "c": 2}
    assert _places(frozenset("ab"), names) == {0, 1} and _places(frozenset(), names) == frozenset()
    for columns in ("az", "zy", "zyxc", "bzc"):
        found = _places(frozenset(columns), names)
        assert len(found) == len(columns) and {number for number in found if number >= 0} == {
            names[name] for name in columns if name in names
        }


@pytest.mark.parametrize("seed", range(200))
def test_no_tree_that_may_satisfy_its_sums_is_deeper_than_it_is_looked_for(seed):
    """What a tree with so many branch nodes on a path uses at least: its rows, its nodes, its leaves by themselves."""
    rng = np.random.default_rng(seed)
    sums, rows, K, depth = int(rng.integers(0, 3)), int(rng.integers(1, 4)), 2, int(rng.integers(1, 6))
    low = -1 if seed % 2 else 0
    uses, leaf = rng.integers(low, 3, (sums, rows, K)), rng.integers(low if seed % 4 == 1 else 0, 2, (sums, K))
    node, bound = rng.integers(low if seed % 8 == 3 else 0, 3, sums), rng.integers(0, 9, sums)
    most = [None, 0, 1, 2, 4][seed % 5]
    stated = SimpleNamespace(uses=uses, bound=bound.tolist(), branch_uses=node.tolist(), leaf_uses=leaf)
    stated.places = SimpleNamespace(most_splits=most)
    height, gives = _height(depth, stated), bool((node < 0).any() or (leaf < 0).any())
    assert 1 <= height <= depth
    for nodes in range(height + 1, depth + 1):
        least = uses.min(axis=2).sum(axis=1) + nodes * node + (nodes + 1) * leaf.min(axis=1)
        assert (least > bound).any() or (most is not None and nodes > most and not gives), nodes
    if (uses >= 0).all() and not gives:
        counted = [bound[r] // node[r] for r in range(sums) if node[r]]
        assert height == max(1, min([depth, *counted, *([] if most is None else [most])]))


@pytest.mark.parametrize("name", ["statistical_parity", "equal_opportunity", "predictive_equality", "equalised_odds"])
@pytest.mark.parametrize("large", [False, True])
def test_rates_of_groups_are_compared_if_their_products_are_exact(name, large):
    data = table(2, True, False)
    data = replace(data, y=(np.arange(data.n_rows) // 2 % 2).astype(np.int32))  # both classes in each group
    weight = np.full(data.n_rows, 2**26 if large else 2**13, np.int64)
    weight[::3] += 1
    words = [f"{name}[group=side,positive=x] <= 0.25"], data, weight, np.zeros((data.n_rows, 2), np.int64), 1
    if large:
        with pytest.raises(CertificateError, match="too large to be added exactly"):
            stated_constraints(*words)
        return
    found = stated_constraints(*words)
    assert len(found.bound) >= 2
    for line, bound in zip(found.uses[:, :, data.classes.index("x")], found.bound):
        # The gap of the rates of all rows at once is 0, that of one group alone is 1: the bound is 0.25 of that.
        assert line.sum() == 0 and bound == int(0.25 * line[line > 0].sum())

"""The bounds of trees under `splits <= N` and `together[…]`, against trying all trees in rationals."""

from fractions import Fraction
from functools import cache
from itertools import combinations, product

import numpy as np
import pytest

from odtc.errors import CertificateError
from odtc.verification.leaf_sums.bound import LeafSumsBound
from odtc.verification.leaf_sums.likelihood import Likelihood
from odtc.verification.leaf_sums.limits import Limit
from odtc.verification.leaf_sums.sets_of_splits import SetsOfSplits
from odtc.verification.leaf_sums.squares import Squares
from odtc.verification.leaf_sums.whole_trees import MOST_NEEDED, MOST_TESTS, WholeTrees
from tests.unit.test_forged_leaf_sums import NUMBERS, numbers, times, true

NAMES = "aabc"  # two columns of the certificate are of one column of the data


def table(seed: int):
    """(ranks of rows, the columns of the data): four columns of two or three ranks, of which some part rows alike."""
    rng = np.random.default_rng(seed)
    rank = rng.integers(0, (2, 2, 3, 2), (len(NUMBERS), 4))
    if seed % 2:
        rank[:, 3] = 1 - rank[:, 1]  # "c" parts the rows as "a" does
    rank[:4] = np.array([[0, 0, 0, 0], [1, 1, 1, 1], [0, 1, 2, 0], [1, 0, 0, 1]])
    return rank.astype(np.int64), [{"feature": name} for name in NAMES]


def squares_of(rows) -> Fraction:
    """What a leaf costs by its definition: the squares of what its numbers are off by."""
    mean = Fraction(sum(NUMBERS[row] for row in rows), len(rows))
    return sum(((NUMBERS[row] - mean) ** 2 for row in rows), Fraction(0))


def trees(rank, leaf, price, depth: int, least: int) -> dict:
    """{(the tests by how they part all rows, the columns that are asked, leaves): the least cost of such a tree}."""
    parts = {}
    for name, column in zip(NAMES, rank.T):
        for cut in np.unique(column)[:-1]:
            left = column <= cut
            parts[name, tuple(left ^ left[0])] = left

    @cache
    def of(rows: tuple, depth: int) -> dict:
        found = {(frozenset(), frozenset(), 1): leaf(rows)} if len(rows) >= least else {}
        for (name, key), left in parts.items() if depth else ():
            sides = (tuple(row for row in rows if left[row]), tuple(row for row in rows if not left[row]))
            if min(map(len, sides)) < least:
                continue
            for (one, a), (two, b) in product(*(of(side, depth - 1).items() for side in sides)):
                kind = one[0] | two[0] | {key}, one[1] | two[1] | {name}, one[2] + two[2]
                found[kind] = min(found.get(kind, np.inf), price + a + b)
        return found

    return of(tuple(range(len(rank))), depth)


@cache
def all_trees(
    seed: int, depth: int, least: int, task: str, price: Fraction | None = None
) -> tuple[LeafSumsBound, dict]:
    """(the bound of a table, its trees)."""
    rank, price = table(seed)[0], Fraction(seed, 3) if price is None else price
    bound = bound_of(rank, task, price)

    def leaf(rows) -> Fraction:
        return squares_of(rows) if task == "regression" else bound.measure.low(bound.moments[:, rows].sum(axis=1))

    return bound, trees(rank, leaf, price, depth, least)


def bound_of(rank, task: str, price: Fraction) -> LeafSumsBound:
    data, law = (numbers(), Squares) if task == "regression" else (times(), Likelihood)
    return LeafSumsBound(rank, law(true(task), data), price, task == "survival")


def expect_bound(whole: WholeTrees, seed: int, depth: int, limit: Limit, task: str = "regression") -> None:
    """What just misses the best tree is what it costs, and no bound is more."""
    bound, every = all_trees(seed, depth, limit.rows, task)
    best = min(
        cost
        for (tests, asked, leaves), cost in every.items()
        if (whole.splits is None or len(tests) <= whole.splits)
        and (whole.columns is None or len(asked) <= whole.columns)
        and all(asked & set(group) in (set(), set(group)) for group in whole.together)
        and all(len(asked & set(group)) < 2 for group in whole.apart)
        and leaves <= (limit.leaves or leaves)
    )
    near, columns = Fraction(bound.near), table(seed)[1]
    for need in (best - 1, best):
        assert need <= whole.least(bound, columns, depth, limit, need) <= best, need
    for need in (best + near, best + 16 * near):
        assert whole.least(bound, columns, depth, limit, need) == best
    assert best - Fraction(bound.slack) <= whole.least(bound, columns, depth, limit, best + 100) <= best


@pytest.mark.parametrize("limit", [Limit(), Limit(2), Limit(1, 3), Limit(3, 3)])
@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("most", [0, 1, 2, 3])
def test_few_different_tests(most, depth, limit):
    expect_bound(WholeTrees(most), most + depth, depth, limit)


@pytest.mark.parametrize("least", [1, 2, 4])
@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize(
    "groups", [("ab",), ("bc",), ("abc",), ("ab", "bc"), ("ac", "bc"), ("az",), ("yz",)], ids="+".join
)
def test_columns_that_are_tested_together(groups, depth, least):
    expect_bound(WholeTrees(None, tuple(map(tuple, groups))), depth, depth, Limit(least))


@pytest.mark.parametrize("least", [1, 3])
@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize(
    ("together", "most", "apart"),
    [
        ((), 0, ()),
        ((), 1, ()),
        ((), 2, ()),
        ((), 7, ()),
        ((), None, ("ab",)),
        ((), None, ("abc",)),
        ((), None, ("ab", "bc")),
        ((), None, ("az",)),
        ((), 1, ("bc",)),
        (("ab",), 1, ()),
        (("ab",), 2, ()),
        (("ab",), None, ("bc",)),
        (("ab",), None, ("ab",)),
        (("ab", "bc"), 2, ("ac",)),
    ],
)
def test_few_columns_and_columns_apart(together, most, apart, depth, least):
    groups, others = (tuple(map(tuple, one)) for one in (together, apart))
    expect_bound(WholeTrees(None, groups, most, others), depth, depth, Limit(least))


@pytest.mark.parametrize("tests", [1, 2, 5])
@pytest.mark.parametrize("most", [1, 2, 3, 4])
def test_each_set_of_tests_is_told_once(tests, most):
    rng = np.random.default_rng(tests)
    rank = np.stack([np.arange(12) == row for row in rng.permutation(12)[:tests]], axis=1).astype(np.int64)
    own = SetsOfSplits(bound_of(rank, "regression", Fraction(0)), Limit())
    told = [(*held, first + at) for held, first, costs in own._costs(min(most, tests), 3) for at in range(len(costs))]
    assert sorted(told) == list(combinations(range(tests), min(most, tests)))


@pytest.mark.parametrize("groups", [("ab",), ("bc",), ("yz",)], ids="+".join)
@pytest.mark.parametrize("seed", [0, 4, 5, 6])
def test_no_deeper_tree_is_taken_where_nodes_cost_little(seed, groups):
    whole = WholeTrees(None, tuple(map(tuple, groups)))
    for depth in (1, 2, 3):
        bound, every = all_trees(seed, depth, 1, "regression", Fraction(1, 10**6))
        best = min(
            cost for (_, asked, _), cost in every.items() if all(asked & {*one} in (set(), {*one}) for one in groups)
        )
        assert whole.least(bound, table(seed)[1], depth, Limit(), best + Fraction(bound.near)) == best


@pytest.mark.parametrize(
    "whole", [WholeTrees(2), WholeTrees(None, (("a", "b"),)), WholeTrees(None, (), 1), WholeTrees(apart=(("a", "c"),))]
)
@pytest.mark.parametrize("depth", [1, 2])
def test_survival(whole, depth):
    expect_bound(whole, 1, depth, Limit(), "survival")


def test_tests_that_part_the_rows_alike_are_one_and_those_that_part_none_are_none():
    rank = np.array([[0, 1, 0, 5]] * 6 + [[1, 0, 0, 5]] * 6)
    own = SetsOfSplits(bound_of(rank, "regression", Fraction(0)), Limit())
    assert own.answers.tolist() == [[0] * 6 + [1] * 6]
    first, last = range(6), range(6, 12)
    assert own.least(7, 3, Fraction(0)) <= squares_of(first) + squares_of(last)
    assert WholeTrees(1).least(own.bound, [], 3, Limit(), Fraction(10**6)) == squares_of(first) + squares_of(last)


# Limits, (depth, leaves, tests) -> whether a certificate holds them.
HELD = [
    (WholeTrees(MOST_TESTS), (3, 0, 30), True),
    (WholeTrees(6), (3, 0, 30), False),
    (WholeTrees(6), (3, 0, 20), False),  # of 15,504 sets of five
    (WholeTrees(6), (3, 0, 5), True),  # there are no more than five
    (WholeTrees(5), (3, 0, 34), True),  # 46,376 sets of four
    (WholeTrees(5), (3, 0, 35), False),  # 52,360
    (WholeTrees(1), (9, 4, 10**6), True),
    (WholeTrees(0), (9, 4, 10**6), True),
    (WholeTrees(3), (3, 0, 317), False),  # 50,086 sets of two
    (WholeTrees(3), (3, 0, 316), True),
    (WholeTrees(None, (tuple("abcdef"),)), (3, 0, 10), True),
    (WholeTrees(None, (tuple("abcdefg"),)), (3, 0, 10), False),
    (WholeTrees(None, (tuple("abcd"), tuple("efg"))), (3, 0, 10), False),
    (WholeTrees(None, (tuple("abcd"), tuple("abcdef"))), (3, 0, 10), True),
    (WholeTrees(None, (("a", "b"),)), (4, 0, 10), False),
    (WholeTrees(None, (("a", "b"),)), (3, 5, 10), False),
    (WholeTrees(2, (("a", "b"),)), (2, 0, 10), False),
    (WholeTrees(), (9, 7, 10**6), True),
    (WholeTrees(columns=2), (3, 0, 10, 45), True),  # 990 sets of columns
    (WholeTrees(columns=2), (3, 0, 10, 46), False),  # 1,035
    (WholeTrees(columns=7), (3, 0, 10, 5), True),
    (WholeTrees(columns=2), (4, 0, 10, 5), False),
    (WholeTrees(columns=2), (3, 5, 10, 5), False),
    (WholeTrees(3, columns=2), (3, 0, 10, 5), False),
    (WholeTrees(apart=(tuple("abcdefghij"),) * 3), (3, 0, 10, 12), True),
    (WholeTrees(apart=(tuple("abcdefghij"),) * 3 + (("a", "b"),)), (3, 0, 10, 12), False),
]


@pytest.mark.parametrize(("whole", "size", "held"), HELD)
def test_what_a_certificate_of_whole_trees_is_of(whole, size, held):
    assert (whole.why_not(*size) == "") == held
    assert MOST_NEEDED == 6


SPLITS = {name: {"kind": "threshold", "feature": name, "threshold": 0.5} for name in "abc"}


@pytest.mark.parametrize(
    ("whole", "asked", "kept"),
    [
        (WholeTrees(None, (("a", "b"),)), "ab", True),
        (WholeTrees(None, (("a", "b"),)), "c", True),
        (WholeTrees(None, (("a", "b"),)), "", True),
        (WholeTrees(None, (("a", "b"),)), "a", False),
        (WholeTrees(None, (("a", "b"),)), "cb", False),
        (WholeTrees(None, (("a", "b"), ("b", "c"))), "abc", True),
        (WholeTrees(None, (("a", "b"), ("b", "c"))), "ab", False),
        (WholeTrees(2), "ab", True),
        (WholeTrees(2), "aba", True),  # a test that is asked twice is one
        (WholeTrees(2), "abc", False),
        (WholeTrees(0), "", True),
        (WholeTrees(0), "a", False),
        (WholeTrees(), "abc", True),
        (WholeTrees(columns=1), "aa", True),
        (WholeTrees(columns=1), "ab", False),
        (WholeTrees(columns=0), "a", False),
        (WholeTrees(apart=(("a", "b"),)), "ac", True),
        (WholeTrees(apart=(("a", "b"),)), "ab", False),
    ],
)
def test_a_tree_that_does_not_keep_its_limits_is_refused(whole, asked, kept):
    splits = [SPLITS[name] for name in asked]
    if kept:
        whole.expect_kept(splits)
    else:
        with pytest.raises(CertificateError, match="does not satisfy") as refusal:
            whole.expect_kept(splits)
        assert all(word in str(refusal.value) for word in whole.words)


def test_limits_are_told_as_constraints_are_written():
    assert (
        WholeTrees(3).words == ["splits <= 3"] and WholeTrees(0).words == ["splits <= 0"] and WholeTrees().words == []
    )
    named = WholeTrees(None, (("a", "b c"), ("d,e", " f", 'g"h')))
    assert named.words == ["together[a,b c]", 'together["d,e"," f","g""h"]']
    assert named.features([{"feature": "a"}, {"splits": [{"feature": "b c"}]}]) == ["a", "b c"]
    with pytest.raises(ValueError, match="splits on several features"):
        named.features([{"splits": [{"feature": "a"}, {"feature": "b c"}]}])
    assert WholeTrees(2).features([{"feature": "a"}]) is None


def test_limits_that_are_none_are_refused():
    assert WholeTrees.of({"splits": 0}) == WholeTrees(0) and WholeTrees.of({}).nothing
    for wrong in ({"splits": -1}, {"together": [["a"]]}, {"together": [["a", "b"], ["c", "c"]]}, {"together": [[]]}):
        with pytest.raises(ValueError):
            WholeTrees.of(wrong)

"""Parts of constraints one by one: sets of splits, whole numbers, groups, shares and repairs, by definition."""

from dataclasses import replace
from fractions import Fraction
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn import metrics

from odtc.algorithms.constrained.constrained_problem import TooLarge
from odtc.data.dataset import Dataset, Feature
from odtc.errors import ChoiceError
from odtc.problem.constraints.arguments import MOST_PIECES, readings
from odtc.problem.constraints.by_definition import rate
from odtc.problem.constraints.constraint import (
    broken,
    built,
    complete,
    mended,
    parse,
    posed,
    takes,
)
from odtc.problem.constraints.groups import MAX_GROUPS, carrying, example_of, groups, members, rarest, regrouped
from odtc.problem.constraints.kind import CONSTRAINTS, Knows, Terms
from odtc.problem.constraints.on_groups import _chooses
from odtc.problem.constraints.on_nodes import above_leaves
from odtc.problem.constraints.on_predictions import Line, _line, knows, mend
from odtc.problem.constraints.rates import at_least, at_most, gaps, lacking, part
from odtc.problem.constraints.search_terms import search_problem, subsets_of
from odtc.problem.constraints.search_units import rounded_down, settled_price, whole
from odtc.trees.heap_tree import HeapTree, settle
from tests import pipeline
from tests.unit.test_each_constraint import trees


def people(**words) -> Dataset:
    """Twelve rows: a number, a level, a number that is always 1, and a column that is no feature."""
    number, level = np.array([0, 0, 1, 1, 2, 2, 3, 3, np.nan, 0, 1, 2]), np.array([0, 1, 2] * 4)
    side = np.array([0, 1, 0, 1, 0, 1, 0, 1, 0, 1, np.nan, np.nan])
    return Dataset(
        "d",
        np.column_stack([number, level, np.ones(12)]).astype(float),
        np.array([0, 0, 0, 1, 1, 1, 1, 0, 0, 1, 0, 0], np.int32),
        (Feature("n", "numeric"), Feature("c", "categorical", ("u", "v", "w")), Feature("one", "numeric")),
        ("no", "yes"),
        np.where(np.arange(12) < 6, 1.0, 2.0),
        missing="separate",
        auxiliary=(Feature("side", "categorical", ("p", "q")),),
        auxiliary_X=side[:, None],
        **words,
    )


def test_the_sets_of_tests_are_those_that_the_constraints_allow():
    """Of drawn limits on groups of tests and columns that are apart: a set of tests lies in one of the subsets if and
    only if it keeps all that is not left to be checked."""
    kept = 0
    for seed in range(250):
        random = np.random.default_rng(seed)
        n = int(random.integers(2, 6))
        kinds = [random.permutation(n), random.integers(0, 3, n), np.zeros(n, int)]
        kinds = [np.unique(kind, return_inverse=True)[1].reshape(-1) for kind in kinds]
        found = [
            Terms(groups=(kinds[random.integers(3)], int(random.integers(1, 4)))) for _ in range(random.integers(0, 3))
        ]
        for _ in range(random.integers(0, 3)):
            side = random.integers(-1, 2, n)  # of the one kind, of none, of the other
            if (side > 0).any() and (side < 0).any():
                found.append(Terms(apart=((side > 0, side < 0),)))
        column, subsets, relaxed = subsets_of(found, 3)
        heeded = [terms for terms in found if not any(terms is late for late in relaxed)]
        kept += len(heeded)

        def keeps(some, heeded=heeded):
            return all(
                (not terms.groups or len(set(terms.groups[0][some].tolist())) <= terms.groups[1])
                and not any(one[some].any() and other[some].any() for one, other in terms.apart)
                for terms in heeded
            )

        for chosen in product([False, True], repeat=n):
            some = np.array(chosen)
            held = True if column is None else any(subset[column[some]].all() for subset in subsets)
            assert held == keeps(some), (seed, chosen)
    assert kept > 200


def test_numbers_are_whole_at_the_least_scale_or_refused():
    for values, found, scale in (
        ([1.0, -3.0], [1, -3], 1),
        ([0.5, 1.0], [1, 2], 2),
        ([1 / 3, 0.25], [4, 3], 12),
        ([0.100000000001, 1.0], [10**11 + 1, 10**12], 10**12),
        ([1e-7], [1], 10**7),
        ([], [], 1),
        ([1e-6], [1], 10**6),
        ([2.0**51], [2**51], 1),
    ):
        got, by = whole(np.array(values))
        assert (got.tolist(), by, got.dtype) == (found, scale, np.int64)
    scaled, by = whole(np.array([327.335, 2.031]))  # 2.031 thousand times is 2031.0000000000002
    assert (scaled.tolist(), by) == ([327335, 2031], 1000)
    for values in ([2**0.5], [0.1 + 1e-12, 1.0]):
        with pytest.raises(TooLarge, match="not fractions of numbers up to a million"):
            whole(np.array(values))
    for values in ([2.0**52], [1.0, -(2.0**52)], [1e20, 1.0], [2.0**51, 0.5], [1e300]):  # some are no int64 at all
        with pytest.raises(TooLarge, match="2\\^52 or more"):
            whole(np.array(values))
    least = int(2.0**50) // 1000
    assert settled_price(Fraction(1, 3), least) == Fraction(1, 3) and settled_price(Fraction(1, 1009), 0) > 0
    assert settled_price(Fraction(333333, 10**6), least) == Fraction(1, 3)
    with pytest.raises(TooLarge, match="too many digits"):
        settled_price(Fraction(333333, 10**6), least * 2)


def test_a_repair_by_labels_changes_no_leaf_that_holds_enough():
    """Leaves of 1, 2 and 3 rows of "yes": of at least 2 the first alone is told otherwise."""
    cells, y = np.repeat([0.0, 1, 2], [2, 4, 5]), np.array([0, 1, 0, 1, 1, 1, 1, 1, 1, 0, 0], np.int32)
    y[5] = 0
    dataset = Dataset("d", cells[:, None], y, (Feature("n", "numeric"),), ("no", "yes"), np.ones(11))
    for least, labels in ((0, [1, 1, 1]), (1, [1, 1, 1]), (2, [0, 1, 1]), (3, [0, 0, 1]), (4, [0, 0, 0])):
        problem = pipeline.pose(dataset, "flowoct", 2, constraints=(f"leaf_class_rows[yes] >= {least}",))
        test, label = np.full(8, -1, np.int32), np.full(8, -1, np.int32)
        cuts = np.argsort([split.threshold for split in problem.encoded.splits])
        test[1], test[3], label[2], label[6], label[7] = cuts[0], cuts[1], 1, 1, 1
        found = mended(problem, HeapTree(test, label))
        assert not broken(problem, found)
        said = found.label[found.reach(problem.encoded.X)][problem.encoded.row_of]
        assert [int(said[cells == c][0]) for c in (0, 1, 2)] == labels
        (given,) = problem.constraints
        assert given.holds(given.module.value(problem.encoded, given, found))


def test_a_repair_of_answers_takes_the_cheapest_label():
    """A tree of three leaves that recalls nothing: of the leaves that mend it the cheapest is told otherwise, and one
    leaf is left if no leaf does."""
    cells = np.repeat([0.0, 1, 2], [6, 6, 6])
    y = np.array([1, 1, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0], np.int32)
    dataset = Dataset("d", cells[:, None], y, (Feature("n", "numeric"),), ("no", "yes"), np.ones(18))
    for text, labels in (
        ("recall[yes] >= 0.1", [0, 1, 0]),  # three rows more, and none is lost
        ("recall[yes] >= 0.5", [0, 1, 0]),
        ("recall[yes] >= 0.6", [1, 1, 0]),
        ("recall[yes] >= 0.9", [1, 1, 1]),
        ("recall[no] >= 0.9", [0, 0, 0]),
    ):
        problem = pipeline.pose(dataset, "flowoct", 2, constraints=(text,))
        test, label = np.full(8, -1, np.int32), np.full(8, -1, np.int32)
        cuts = np.argsort([split.threshold for split in problem.encoded.splits])
        test[1], test[3], label[2], label[6], label[7] = cuts[0], cuts[1], 0, 0, 0
        found = mended(problem, HeapTree(test, label))
        assert not broken(problem, found)
        said = found.label[found.reach(problem.encoded.X)][problem.encoded.row_of]
        assert [int(said[cells == c][0]) for c in (0, 1, 2)] == labels, text


@pytest.mark.parametrize("form", ["flowoct", "binoct", "dpflow", "oct"])
def test_a_column_without_tests_is_apart_from_nothing(form):
    dataset = replace(people(), y=people().y)
    for text in ("never_together[n,one]", "never_together[one,n]", "never_together[n,c,one]", "features <= 1"):
        problem = pipeline.pose(dataset, form, 2, constraints=(text,))
        assert not any(2 in test.features for test in problem.encoded.splits)
        model = built(problem)
        test, label = np.full(8, -1, np.int32), np.full(8, -1, np.int32)
        of = [split.features[0] for split in problem.encoded.splits]
        test[1], label[2], label[3] = of.index(0), 0, 1
        heap = settle(test, problem.encoded, label)
        heap = problem.module.trimmed(problem, heap)
        point = complete(problem, model, heap)
        assert len(point) == model.n_cols and not broken(problem, heap)
        rows = model.A @ point
        assert (rows <= model.row_upper + 1e-9).all() and (rows >= model.row_lower - 1e-9).all()
        sums = [block for block in model.rows if block.name.startswith("distinct")]
        for block in sums:  # whole columns are an equation: all that may be held are
            at = slice(block.start, block.stop)
            assert (model.row_upper[at] >= model.row_lower[at]).all() and model.row_upper[at].max() <= 2


def test_groups_of_rows_by_their_words():
    encoded = pipeline.pose(people(), "flowoct", 1).encoded
    told = people()
    for text, names, sizes in (
        ("side", ["p", "q", "missing"], [5, 5, 2]),
        ("c", ["u", "v", "w"], [4, 4, 4]),
        ("c:u", ["u", "the others", "missing"], [4, 8, 0]),
        ("c:u| w", ["u|w", "the others", "missing"], [8, 4, 0]),
        ("n<=1", ["n<=1", "n>1", "missing"], [6, 5, 1]),
        ("n<=0.5", ["n<=0.5", "n>0.5", "missing"], [3, 8, 1]),
        ("side:p", ["p", "the others", "missing"], [5, 5, 2]),
    ):
        of, called = members(told, text)
        assert called == names and np.bincount(of, minlength=3).tolist() == sizes, text
        found = groups(encoded, text)
        weight = [told.weight[of == g].sum() for g in range(3)]
        assert found.weight.sum(axis=0).tolist() == [w for w in weight if w]
        assert found.names == tuple(name for name, w in zip(names, weight) if w)
        assert groups(carrying(encoded, [text]), text) == found and regrouped(encoded, [text]).groups == (found,)
    for text, words in (
        ("sid", "no column 'sid'.*side"),
        ("c:x", "levels of the column 'c', got 'x'"),
        ("c<=1", "a column of numbers"),
        ("sid<=1", "no column 'sid'"),
        ("n<=x", "a column of numbers"),
        ("one", "two groups of rows or more"),
        ("n<=9", None),
    ):
        if words is None:
            assert groups(encoded, text).names == ("n<=9", "missing")
            continue
        with pytest.raises(ChoiceError, match=words):
            groups(encoded, text)
    bare = replace(encoded, dataset=None)
    with pytest.raises(ChoiceError, match=r"the manifest knows \(none\), got 'side'"):
        groups(bare, "side")
    with pytest.raises(ChoiceError, match=r"the manifest knows \(c\), got 'side'"):
        groups(replace(carrying(encoded, ["c"]), dataset=None), "side")
    assert example_of(encoded) == "side" and example_of(bare) == "COLUMN" and rarest(encoded) == "yes"
    assert example_of(replace(carrying(encoded, ["c"]), dataset=None)) == "c"
    numbers = np.arange(60.0)
    for n, text in ((MAX_GROUPS, "x"), (MAX_GROUPS + 1, "x<=25")):
        plain = Dataset(
            "d", numbers[:n, None], (numbers[:n] > 5).astype(np.int32), (Feature("x", "numeric"),), "ab", np.ones(n)
        )
        many = pipeline.pose(plain, "flowoct", 1).encoded
        assert example_of(many) == text
        if n > MAX_GROUPS:
            with pytest.raises(ChoiceError, match="at most 50 groups.*51 different numbers"):
                groups(many, "x")
        else:
            assert len(groups(many, "x").names) == MAX_GROUPS
    assert rarest(replace(encoded, weight=np.where(encoded.y == 1, 0.0, encoded.weight))) == "no"
    assert rarest(replace(encoded, weight=encoded.weight / 10**6)) == "yes"  # each class weighs less than 1
    found = groups(encoded, "c")
    assert found != "c" and found != replace(found, text="d") and found != replace(found, names=("a", "b", "c"))
    assert found != replace(found, weight=found.weight * 2) and not found.weight.flags.writeable


def test_shares_of_rows():
    encoded = pipeline.pose(people(), "flowoct", 1).encoded
    given = parse("recall[yes] >= 0.3", encoded)
    assert given.bound == Fraction(3, 10) and replace(given, bound=0.1).bound == Fraction(1, 10)
    assert parse("recall[yes] >= 1/3", encoded).bound == Fraction(1, 3)
    inside, weight = np.arange(encoded.n_rows) == 0, encoded.whole_weight
    assert lacking(encoded, given, inside).tolist() == [w * (3 - 10 * one) for w, one in zip(weight, inside)]
    yes, none = encoded.y == 1, np.zeros(encoded.n_rows, bool)
    assert part(encoded, yes, yes) == 1 and part(encoded, yes, none) == 0
    with np.errstate(invalid="raise"):
        assert np.isnan(part(encoded, none, yes))
    assert part(encoded, ~none, yes) == Fraction(int(encoded.weight[yes].sum()), int(encoded.weight.sum()))
    quarter = Fraction(1, 4)
    (above,), (below,) = at_least(yes, ~yes, quarter, "x").shares, at_most(yes, yes, quarter, "x").shares
    assert (at_least(yes, yes, quarter, "x").upper, at_most(yes, yes, quarter, "x").upper) == (-0.25, 0.25)
    assert (above.coef, above.value, below.coef, below.value) == (-1, 0, 1, 1)
    assert at_most(none, yes, quarter, "x").shares[0].value == 0
    for text, words in (
        ("recall[yes] >= 40", "write 0.4 for 40 %"),
        ("recall[yes] >= 1.5", "write 0.015 for 1.5 %"),
        ("recall[yes] >= 100", "write 1 for 100 %"),
        ("recall[yes] >= 101", r"between 0 and 1, got 'recall\[yes\] >= 101'; write for example 'recall\[yes\] >= "),
        ("recall[yes] >= -1", r"between 0 and 1, got 'recall\[yes\] >= -1'; write for example 'recall\[yes\] >= "),
        ("recall[yess] >= 0.5", "yes"),
        ("recall >= 0.5", r"write for example 'recall\[yes\] >= 0.5'"),
        ("recall[yes,no] >= 0.5", r"expected recall\[CLASS\]"),
        ("equal_opportunity[group=c:u,positive=oui] <= 0.1", "expected a class of"),
        ("equal_opportunity[positive=yes] <= 0.1", "write for example"),
    ):
        with pytest.raises(ChoiceError, match=words):
            parse(text, encoded)
    assert parse("recall[yes] >= 0", encoded).bound == 0 and parse("recall[yes] >= 1", encoded).bound == 1
    lone = pipeline.pose(replace(people(), y=(people().X[:, 1] == 0).astype(np.int32)), "flowoct", 1).encoded
    with pytest.raises(ChoiceError, match="two groups with rows of the class 'yes'.*only 'u' has such rows, and"):
        parse("equal_opportunity[group=c,positive=yes] <= 0.1", lone)
    with pytest.raises(ChoiceError, match="two groups with rows of other classes than 'no'.*only 'u' has such rows"):
        parse("predictive_equality[group=c,positive=no] <= 0.1", lone)


def test_the_readings_of_arguments():
    encoded = pipeline.pose(people(), "flowoct", 1).encoded
    names = tuple(replace(f, name=name) for f, name in zip(encoded.features, ("a,b", "c", "d")))
    odd = replace(encoded, features=names, classes=("x,y", "k=v,w", "no"), dataset=None)

    def read(text):
        return list(readings(text, odd))

    assert read("") == [()] or read("")[0] == ()
    assert read("a,b")[:2] == [("a", "b"), ("a,b",)] and read("a, c ")[0] == ("a", "c")
    assert ("k=v,w",) in read("k=v,w") and ("c", "k=v,w") in read("c,k=v,w")
    assert read('c, "a,b"')[0] == ("c", "a,b") and read("'a'b,c") == [("'a'b", "c")]
    assert read('"a,b",c')[0] == ("a,b", "c") and ("a,b", "c") in read("'a,b',c") and ("c", "a,b") in read("c,'a,b'")
    assert ("positive=x,y",) in read("positive='x,y'") and ("positive=x,y",) in read("positive=x,y")
    assert ("group=a,b", "positive=x,y") in read("group=a,b,positive=x,y")
    assert ("group=a,b<=2", "positive=no") in read("group=a,b<=2,positive=no")
    assert ("x", "") in read("'x',") and ("x",) not in read("'x',")
    assert ("it's",) in read("'it''s'") and ("true",) in read("True") and ("c", "false") in read("c,False")
    assert ("Trueish",) == read("Trueish")[0] and len(read("Trueish")) == 1
    assert ("a,b", "a,b") in read("a,b,a,b") and len(read("a,b,a,b")) == len(set(read("a,b,a,b")))
    assert len(read(",".join(["c"] * MOST_PIECES))) == 1 and len(read(",".join(["c"] * (MOST_PIECES + 1)))) == 1
    long = ",".join(["a", "b"] * (MOST_PIECES // 2))
    assert len(read(long)) == 2 and len(read(long + ",c")) == 1
    odd = replace(encoded, dataset=replace(people(), auxiliary=(replace(people().auxiliary[0], name="p,q"),)))
    assert ("group=p,q", "positive=no") in read("group=p,q,positive=no")  # a column that is no feature


def row_by_row(dataset: Dataset):
    """An encoding whose rows are those of the data."""
    encoded, n = pipeline.pose(dataset, "flowoct", 1).encoded, dataset.n_rows
    return replace(
        encoded,
        X=encoded.X[encoded.row_of],
        y=dataset.y,
        weight=dataset.weight,
        copies=np.ones(n, np.int64),
        row_of=np.arange(n),
    )


def test_the_gaps_of_every_two_groups_are_differences_of_their_shares():
    dataset = people()
    each = row_by_row(dataset)
    counted = np.arange(12) % 3 > 0
    among = {"": np.ones(12, bool), " of yes": dataset.y == 1}
    found = gaps(each, "c", among, counted, 0.25)
    assert len(found) == 12 and {one.upper for one in found} == {0.25}
    for (words, which), some in zip(among.items(), (found[:6], found[6:])):
        rate = {f"of {name}{words}": counted[which & (dataset.X[:, 1] == k)].mean() for k, name in enumerate("uvw")}
        told = {
            (one.of, two.of): one.coef * one.value + two.coef * two.value for one, two in (sum_.shares for sum_ in some)
        }
        assert told == pytest.approx({(g, h): rate[g] - rate[h] for g in rate for h in rate if g != h})


def test_rates_of_groups_are_compared_as_their_definitions_say():
    """The figure, the lines of the search and the shares of rows, of drawn predictions."""
    dataset, random = people(), np.random.default_rng(3)
    group, seen = dataset.X[:, 1], set()
    yes, no = " of class 'yes'", " of another class than 'yes'"
    for name, rows, among in (
        ("statistical_parity", [""], [np.ones(12, bool)]),
        ("equal_opportunity", [yes], [dataset.y == 1]),
        ("predictive_equality", [no], [dataset.y == 0]),
        ("equalised_odds", [yes, no], [dataset.y == 1, dataset.y == 0]),
    ):
        for weighted in (False, True):
            each = row_by_row(dataset if weighted else replace(dataset, weight=np.ones(12)))
            given = parse(f"{name}[group=c,positive=yes] <= 0.4", each)
            assert given.module.compared(given) == ("c",)
            for _ in range(20):
                said = random.integers(0, 2, 12)
                heap = SimpleNamespace(label=said, reach=lambda X: np.arange(len(X)))
                apart = 0.0
                for which in among:
                    rates = [
                        np.average(said[which & (group == k)], weights=each.weight[which & (group == k)])
                        for k in range(3)
                    ]
                    apart = max(apart, max(rates) - min(rates))
                assert given.module.value(each, given, heap) == pytest.approx(apart)
                lines = given.module.answers(each, given)
                assert len(lines) == 6 * len(among)
                kept = all(coef[np.arange(12), said].sum() <= upper + 1e-9 for coef, upper in lines)
                assert kept == (apart <= 0.4)
                if not weighted:
                    sums = given.module.proportions(each, given, said)
                    told = [sum(one.coef * one.value for one in some.shares) for some in sums]
                    assert max(told) == pytest.approx(apart) and {some.upper for some in sums} == {0.4}
                    words = {one.of for some in sums for one in some.shares}
                    assert words == {f"of {level}{of}" for level in "uvw" for of in rows}
                seen.add(kept)
    assert seen == {True, False}


def test_columns_and_levels_that_hold_signs_are_named_as_they_are():
    dataset = people()
    features = (
        replace(dataset.features[0], name="n<=1"),
        replace(dataset.features[1], name="c:d", levels=("u:1", "p|q", "w")),
    )
    odd = replace(dataset, features=(*features, dataset.features[2]))
    for text, names in (
        ("c:d:u:1", ["u:1", "the others", "missing"]),
        ("c:d:p|q", ["p|q", "the others", "missing"]),
        ("c:d:w|u:1", ["w|u:1", "the others", "missing"]),
        ("n<=1<=1", ["n<=1<=1", "n<=1>1", "missing"]),
    ):
        assert members(odd, text)[1] == names
    for text in ("nosuch:x", "c:e:u:1", "c:", ":"):
        with pytest.raises(ChoiceError, match="the data has no column"):
            members(odd, text)


def test_coefficients_are_rounded_to_what_is_no_more():
    """So that what keeps a sum keeps the rounded one, too, whatever is summed."""
    rng = np.random.default_rng(0)
    for size in (3, 2**24, 2**25, 10**12, 10**30):
        coef = np.array([int(share * size) for share in rng.uniform(-1, 1, 6)] + [size], object)
        for upper in (-size, 0, size // 3):
            found, bound = rounded_down(coef, upper)
            assert found.dtype == np.int64 and np.abs(found).max() <= 2**24
            for which in product([0, 1], repeat=7):
                if sum(coef * which) <= upper:
                    assert sum(found * which) <= bound
    assert [part.tolist() if np.ndim(part) else part for part in rounded_down(np.zeros(2, int), 3)] == [[0, 0], 3]
    assert rounded_down(np.array([2**25, -(2**24)]), -3)[0].tolist() == [2**24, -(2**23)]


@pytest.mark.parametrize(("sides", "n_groups"), [("aabb", 2), ("aabc", 2), ("aaac", 1)])
def test_differences_need_two_groups_with_such_rows_and_no_more(sides, n_groups):
    """Of "abc" the group c has no row of the class that is asked about."""
    y = np.array([0, 1, 0, 1, 0, 1, 0, 0][: 2 * len(sides)], np.int32)
    cells = np.array(["abc".index(side) for side in sides for _ in range(2)], float)
    features = Feature("side", "categorical", ("a", "b", "c")), Feature("n", "numeric")
    rows = Dataset("d", np.column_stack([cells, np.arange(8.0)]), y, features, ("no", "yes"), np.ones(8), "y")
    encoded = pipeline.pose(rows, "flowoct", 1).encoded
    text = "equal_opportunity[group=side,positive=yes] <= 0.5"
    if n_groups < 2:
        with pytest.raises(ChoiceError, match="expected two groups with rows of the class 'yes'"):
            parse(text, encoded)
    else:
        assert parse(text, encoded).bound == 0.5


def test_the_nodes_above_leaves_have_no_test_below_them():
    """Test 0 is a test, on either side."""
    for side in (2, 3):
        test, label = np.full(8, -1, np.int32), np.full(8, -1, np.int32)
        test[1], test[side] = 1, 0
        label[[5 - side, 2 * side, 2 * side + 1]] = 0
        assert above_leaves(HeapTree(test, label)) == [side]


@pytest.mark.parametrize("model", ["flowoct", "dpflow", "oct", "binoct", "bendersoct"])
def test_the_models_that_take_a_kind_are_those_that_are_built_with_it(model):
    problem, told, able = pipeline.pose(people(), model, 1, encoding="auto"), {}, {}
    for text in ("recall[yes] >= 0.5", "leaf_rows >= 2", "features <= 1", "leaf_precision >= 0.5", "splits <= 1"):
        kind = CONSTRAINTS.get(text.split("[")[0].split(" ")[0])
        told[text] = takes(problem, kind)
        try:
            built(posed(problem, [text]))
            able[text] = True
        except ChoiceError:
            able[text] = False
    assert told == able and any(able.values())


def test_a_kind_without_texts_is_taken_by_what_it_needs():
    for model, name, able in (("flowoct", "recall", True), ("bendersoct", "leaf_precision", False)):
        problem = pipeline.pose(people(), model, 1, encoding="auto")
        needs = CONSTRAINTS.get(name).NEEDS
        kind = SimpleNamespace(SUBJECT=None, NEEDS=needs, tries=lambda encoded: [])
        assert takes(problem, kind) == able


@pytest.mark.parametrize("seed", range(12))
def test_a_line_asks_for_right_rows_alone_just_if_one_more_never_adds_to_it(seed):
    """By trying every prediction of four rows; where wrong classes count alike the sum is one of the right rows."""
    rng = np.random.default_rng(seed)
    K, y = 2 + seed % 2, rng.integers(0, 2 + seed % 2, 4).astype(np.int32)
    coef = rng.integers(-2, 3, (4, K))
    if seed % 4 < 2:  # every wrong class alike, and the right one cheaper in some draws
        wrong = rng.integers(-1, 3, 4)
        coef = np.repeat(wrong[:, None], K, axis=1)
        coef[np.arange(4), y] = wrong - rng.integers(0 if seed % 3 else -1, 3, 4)
    line, grows, alike = Line(coef, 0, y), False, True
    sums = {}
    for said in product(range(K), repeat=4):
        value = sum(coef[i, k] for i, k in enumerate(said))
        for i in range(4):
            right = (*said[:i], int(y[i]), *said[i + 1 :])
            grows |= sum(coef[j, k] for j, k in enumerate(right)) > value
        alike &= sums.setdefault(tuple(np.array(said) == y), value) == value
    assert (line.right is not None) == alike
    assert line.monotone == (alike and not grows)
    if line.right is not None:
        constant, each = line.right
        assert all(constant + sum(each[list(which)]) == value for which, value in sums.items())


def saying(*answers):
    """A constraint of a kind that has these lines, as (coefficients of its rows and classes, upper end)."""
    return SimpleNamespace(module=SimpleNamespace(can=lambda ability: True, answers=lambda *_: list(answers)))


@pytest.mark.parametrize("seed", range(8))
def test_only_lines_that_all_ask_for_right_rows_need_no_more_than_these(seed):
    """By trying each change of one row's prediction: none but to a right one may change a sum, nor add to it."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, 4).astype(np.int32)
    alone = SimpleNamespace(y=y, n_rows=len(y), classes=("a", "b", "c"))
    coefs = [np.where(np.arange(3) == y[:, None], -1, 0) * rng.integers(0, 3, (4, 1)) for _ in range(2)]
    if seed % 2:
        coefs[seed % 4 // 2][1, rng.integers(0, 3)] += rng.choice([-1, 1])

    def changes_for_right_alone(coef):
        wrong = [{coef[i, k] for k in range(3) if k != y[i]} for i in range(4)]
        return all(len(each) == 1 and coef[i, y[i]] <= max(each) for i, each in enumerate(wrong))

    asks = all(map(changes_for_right_alone, coefs))
    assert knows(alone, saying(*((coef, 1) for coef in coefs))) == (Knows.RIGHT if asks else Knows.CLASS)
    assert asks >= (seed % 2 == 0)


@pytest.mark.parametrize("upper", [10**15, 10**30, 1, 0])
@pytest.mark.parametrize("beyond", [0, 1])
def test_a_repair_by_labels_forgives_nothing(upper, beyond):
    """Of two rows in a leaf each; the first just keeps a line, or breaks it by one unit."""
    problem = pipeline.pose(
        Dataset(
            "d", np.array([[0.0], [1]]), np.array([0, 1], np.int32), (Feature("n", "numeric"),), ("a", "b"), np.ones(2)
        ),
        "flowoct",
        1,
    )
    heap = HeapTree(np.array([-1, 0, -1, -1], np.int32), np.array([-1, -1, 0, 1], np.int32))
    right = heap if (heap.label[heap.reach(problem.encoded.X)] == problem.encoded.y).all() else None
    if right is None:
        right = HeapTree(heap.split, np.array([-1, -1, 1, 0], np.int32))
    coef = np.array([[upper + beyond, 0], [0, -1], [0, 0]][:2], object)
    coef[1, 1] = 0
    found = mend(problem.encoded, saying((coef, upper)), right)
    said = found.label[found.reach(problem.encoded.X)]
    assert said.tolist() == ([1, 1] if beyond and upper else [0, 1] if not beyond else said.tolist())


@pytest.mark.parametrize("marks", list(product([False, True], repeat=4)))
def test_what_may_be_asked_is_chosen_by_whole_numbers_if_no_column_of_a_node_is_whole(marks):
    """The columns of what a node asks may be of several blocks."""
    model = SimpleNamespace(integrality=np.array(marks))
    both = SimpleNamespace(places=lambda: [np.array([0, 1]), np.array([2, 3])])
    assert _chooses(model, both) == (not any(marks))


@pytest.mark.parametrize("unit", [1.0, 0.25, 5.0])
def test_what_a_price_is_rounded_by_is_told_of_every_tree(unit):
    """Against the objective at the price itself, in rationals; weights may be no whole numbers."""
    rng, price = np.random.default_rng(3), 0.12345678912345
    weight = rng.integers(10**7, 3 * 10**7, 30) * unit
    dataset = Dataset(
        "d",
        rng.integers(0, 4, (30, 2)).astype(float),
        rng.integers(0, 2, 30).astype(np.int32),
        (Feature("f", "numeric"), Feature("g", "numeric")),
        ("x", "y"),
        weight.astype(float),
    )
    problem = pipeline.pose(dataset, "dpflow", 2, params={"lambda": price}, constraints=("leaves <= 3",))
    found, encoded, exact = search_problem(problem), problem.encoded, Fraction("0.12345678912345")
    seen = 0
    for heap in trees(problem, 40):
        test, label = found.heaps(heap)
        end = heap.label[heap.reach(encoded.X)]
        cost = int(found.arrays.cost[np.arange(len(end)), end].sum()) + found.arrays.branch_cost * int(
            (test >= 0).sum()
        )
        meant = (1 - exact) * Fraction(heap.loss(encoded)) + exact * int((test >= 0).sum())
        rounded = abs(cost * Fraction(found.unit) - meant)
        assert rounded <= found.off * (1 + 1e-6) + 1e-9 * float(meant) * 1e-6
        seen = max(seen, float(rounded))
    # No tree loses more than all rows weigh.
    assert found.off / 8 <= seen <= found.off and found.off > 0.1 * unit


def test_limits_of_too_many_sets_are_left_to_be_checked():
    """Of two kinds of groups one is told by sets; so is none of which there would be very many, unless of tests."""
    tests = np.arange(60)
    pairs, few = tests // 2, tests // 30
    for limit, told in (((pairs, 2), True), ((pairs, 14), False), ((few, 1), True), ((tests, 3), False)):
        terms = Terms(groups=limit)
        column, subsets, relaxed = subsets_of([terms], 4)
        assert (column is not None) == told == (not relaxed) and (subsets is not None) == told
    one, other = Terms(groups=(few, 1)), Terms(groups=(pairs, 2))
    column, subsets, relaxed = subsets_of([one, other], 4)
    assert relaxed == [other] and np.array_equal(column, few) and sorted(subsets.sum(axis=1)) == [1, 1]


@pytest.mark.parametrize("unit", [1, 3, 2**30, 10**25])
@pytest.mark.parametrize("size", [1, 2**20, 2**53, 10**20])
def test_a_line_is_in_its_largest_unit(unit, size):
    coef = np.array([[0, unit], [-unit * size, 0]], object)
    for upper, found in ((unit + unit // 2, 1), (2 * unit, 2), (-1, -1), (0, 0)):
        line = _line(coef, upper, np.zeros(2, np.int32))
        assert line.coef.tolist() == [[0, 1], [-size, 0]] and line.upper == found
    nothing = np.zeros((2, 2), int)
    assert [_line(nothing, upper, np.zeros(2, np.int32)).upper for upper in (10**40, 0, -(10**40))] == [0, 0, -1]


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("name", ["branch_nodes", "splits", "features"])
def test_no_more_levels_are_searched_than_a_limit_leaves(name, depth):
    """No path has more branch nodes than the tree, nor tests one twice; so fewer levels lose no tree that is kept."""
    plain = pipeline.pose(people(), "dpflow", depth)
    for most in range(1, 6):
        problem = posed(plain, [f"{name} <= {most}"])
        levels = search_problem(problem).arrays.depth
        assert levels == (depth if name == "features" else min(depth, most))


@pytest.mark.parametrize("seed", range(6))
def test_the_figures_by_definition_are_those_of_scikit_learn(seed):
    """Of three classes and three groups, weighted; those between groups are the largest difference of two."""
    rng = np.random.default_rng(seed)
    truth, said, group = (rng.permutation(np.arange(60) % 3) for _ in range(3))
    weight = rng.choice([1.0, 2.0, 0.5], 60)

    def mean(which, among):
        return np.average(which[among], weights=weight[among])

    with_class = {"labels": [1], "average": None, "sample_weight": weight}
    others = truth != 1
    of_class = {
        "recall": metrics.recall_score(truth, said, **with_class)[0],
        "false_negative_rate": 1 - metrics.recall_score(truth, said, **with_class)[0],
        "precision": metrics.precision_score(truth, said, **with_class)[0],
        "f1": metrics.f1_score(truth, said, **with_class)[0],
        "false_positive_rate": mean(said == 1, others),
    }
    each = [group == one for one in range(3)]
    of_groups = {
        "statistical_parity": np.ptp([mean(said == 1, own) for own in each]),
        "equal_opportunity": np.ptp([mean(said == 1, own & ~others) for own in each]),
        "predictive_equality": np.ptp([mean(said == 1, own & others) for own in each]),
    }
    of_groups["equalised_odds"] = max(of_groups["equal_opportunity"], of_groups["predictive_equality"])
    whole = {
        "accuracy": metrics.accuracy_score(truth, said, sample_weight=weight),
        "balanced_accuracy": metrics.balanced_accuracy_score(truth, said, sample_weight=weight),
        "group_accuracy": min(mean(truth == said, own) for own in each),
    }
    for kind, figure in {**whole, **of_class, **of_groups}.items():
        assert rate(kind, truth.tolist(), said.tolist(), weight.tolist(), 1, group.tolist()) == pytest.approx(figure)


def test_groups_that_an_encoding_carries_stay_if_no_others_are_asked_for():
    """A manifest cannot count them anew."""
    encoded = posed(pipeline.pose(people(), "dpflow", 1), ["statistical_parity[group=c,positive=yes] <= 0.5"]).encoded
    assert encoded.groups and carrying(encoded, ()).groups == encoded.groups


def test_the_leaves_of_the_only_class_have_no_other_label():
    dataset = Dataset(
        "d", np.arange(4.0)[:, None], np.zeros(4, np.int32), (Feature("n", "numeric"),), ("x",), np.ones(4)
    )
    problem = posed(pipeline.pose(dataset, "dpflow", 1), ["class_leaves[x] <= 0"])
    heap = settle(np.array([-1, 0, -1, -1], np.int32), problem.encoded, np.array([-1, -1, 0, 0], np.int32))
    (given,) = problem.constraints
    assert given.module.value(problem.encoded, given, heap) == 1
    assert given.module.mend(problem.encoded, given, heap) is heap


def test_a_class_without_weight_has_no_recall():
    for weight, mean in (((1.0, 1.0, 0.0, 0.0), 0.5), ((1.0, 1.0, 1.0, 1.0), 0.75)):
        assert rate("balanced_accuracy", [0, 0, 1, 1], [0, 1, 1, 1], weight) == mean


def test_shares_of_right_rows_in_groups_are_those_of_the_rows_that_are_right():
    encoded = posed(pipeline.pose(people(), "dpflow", 1), ["group_accuracy[group=c] >= 0.5"]).encoded
    (given,) = posed(pipeline.pose(people(), "dpflow", 1), ["group_accuracy[group=c] >= 0.5"]).constraints
    each = replace(encoded, X=encoded.X[encoded.row_of], y=people().y, weight=np.ones(12), row_of=np.arange(12))
    each = replace(each, groups=())
    said = np.array([0, 1, 0, 1, 1, 1, 1, 0, 1, 1, 0, 0])
    told = {share.of: share.value for one in given.module.proportions(each, given, said) for share in one.shares}
    for at, level in enumerate("uvw"):
        own = people().X[:, 1] == at
        assert told[f"of {level}"] == pytest.approx((said == people().y)[own].mean())

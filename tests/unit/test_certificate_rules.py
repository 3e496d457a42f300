"""Each rule of the checker can say no: one forgery that breaks it alone, and the sentence that refuses is that rule's.

The certificates here are of few rows and written by hand, so that each target is known.
"""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odtc.data.dataset import Dataset, Feature
from odtc.errors import CertificateError
from odtc.formulations.dpflow import interval_states
from odtc.formulations.dpflow.threshold_search import certify
from odtc.formulations.dpflow.write_constrained_certificate import certify_constrained
from odtc.testing.exhaustive import cheapest
from odtc.verification.certificate import check, read_certificate, stated
from odtc.verification.claim import claim_of, expect
from odtc.verification.claim import words as in_words
from odtc.verification.constrained.constrained_certificate import read_problem
from odtc.verification.interval_bound import IntervalBound, PairCheck
from odtc.verification.labels import terms_of
from odtc.verification.leaf_sums import every_tree
from odtc.verification.node_cuts import Rows
from odtc.verification.threshold_columns import distinct_columns, left_of
from tests import pipeline
from tests.plain_kernels import run_plain
from tests.threshold_problems import certificate as of_thresholds
from tests.threshold_problems import interrupted, splits_of

# Two numbers of three values and a column of two levels; 12 rows of weight 1.
CELLS = [(a, b, (a + b) % 2) for a in (0, 1, 2) for b in (0, 1, 2)] + [(0, 0, 1), (1, 1, 1), (2, 2, 1)]
LABELS = [0, 1, 0, 1, 1, 0, 0, 1, 1, 1, 0, 1]


def numbers(weight=None, labels=LABELS) -> Dataset:
    features = Feature("a", "numeric"), Feature("b", "numeric"), Feature("c", "categorical", ("u", "v"))
    weight = np.ones(len(CELLS)) if weight is None else np.array(weight, float)
    return Dataset("d", np.array(CELLS, float), np.array(labels, np.int32), features, ("n", "p"), weight)


def certificate(depth=2, params=None, dataset=None):
    dataset = dataset or numbers()
    problem = pipeline.pose(dataset, "dpflow", depth, params=params or {})
    return json.loads(json.dumps(certify(problem))), dataset


def refused(facts, dataset, words):
    with pytest.raises(CertificateError, match=words):
        check(facts, dataset)


def test_what_is_so_is_accepted():
    for depth in (1, 2, 3):
        facts, dataset = certificate(depth)
        assert check(facts, dataset).objective == cheapest(splits_of(facts, dataset), dataset.y, dataset.weight, depth)


def test_of_tests_that_part_the_rows_alike_the_first_is_looked_at():
    """Of one feature, or of any where no constraint distinguishes them; a root is a place among those that are left."""
    for text, left in (("recall[p] >= 0.6", 5), ("features <= 2", 6)):
        dataset = numbers()
        facts = json.loads(json.dumps(certify_constrained(pipeline.pose(dataset, "dpflow", 2, constraints=(text,)))[0]))
        extra = [{"kind": "threshold", "feature": "c"}, {"kind": "subset", "feature": "c", "values": ["v"]}]
        other = [{"kind": "threshold", "feature": "d"}]
        cells = np.column_stack([dataset.X, -dataset.X[:, 0] * (dataset.X[:, 0] > 1)])
        wide = replace(dataset, X=cells, features=(*dataset.features, Feature("d", "numeric")))
        changed = facts | {"columns": [*facts["columns"], *extra, *other]}
        changed["of"] = claim_of(wide, 2, 8, True, [text])
        changed["tree"] = {"root": facts["tree"]["root"]}
        found = read_problem(changed, wide)
        assert len(found.kept) == left and found.of == changed["of"]
        columns = (
            [["a", "b", "c"]] if left == 5 else [["a", "b"], ["a", "c"], ["b", "c"], ["a", "d"], ["b", "d"], ["c", "d"]]
        )
        every = [{"root": f, "columns": own, "multipliers": [0] * (left == 5)} for own in columns for f in range(left)]
        assert check(changed | {"passes": [], "cases": every}, wide).optimal
        none = [case | {"root": left} for case in every]
        with pytest.raises(CertificateError, match="lists an invalid case"):
            check(changed | {"passes": [], "cases": none}, wide)


def test_a_certificate_that_states_no_terms_is_refused():
    facts, dataset = certificate()
    del facts["of"]
    refused(facts, dataset, "the certificate is damaged: 'of' is missing")


@pytest.mark.parametrize(
    "column",
    [
        {"kind": "subset", "feature": "c", "values": "u"},
        {"kind": "subset", "feature": "c"},
        {"kind": "missing"},
        {"kind": "threshold", "feature": "a", "thresholds": 0.5},
        {"kind": "threshold"},
        {"kind": "other", "feature": "a"},
        {"feature": "a"},
        "a",
        None,
    ],
    ids=str,
)
def test_a_column_that_is_none_is_refused_at_its_place(column):
    problem = pipeline.pose(numbers(), "dpflow", 2)
    facts = of_thresholds(interrupted(problem, None))
    assert check(facts, problem.encoded.dataset)
    facts["columns"][0] = column
    refused(facts, problem.encoded.dataset, r"the certificate is damaged: .* at columns\[0\]")


@pytest.mark.parametrize("node", ["label", "a", 5, None, [], ["label"], {}], ids=repr)
def test_a_node_that_is_none_is_refused_at_its_place(node):
    facts, dataset = certificate()
    constrained = json.loads(json.dumps(certify_constrained(pipeline.pose(dataset, "dpflow", 2))[0]))
    for own in (facts, constrained):
        assert check(own, dataset)
        for at, place in (({"root": node}, r"tree\.root"), ({"root": facts["tree"]["root"] | {"left": node}}, r"left")):
            with pytest.raises(CertificateError, match=rf"the certificate is damaged: .* at [a-z.]*{place}"):
                check(own | {"tree": at}, dataset)
        for kind in (5, None, [], "other"):
            split = {"split": {"feature": "a", "kind": kind}, "left": {"label": "n"}, "right": {"label": "p"}}
            with pytest.raises(CertificateError, match=r"the certificate is damaged: .* at tree\.root\.split\.kind"):
                check(own | {"tree": {"root": split}}, dataset)
        with pytest.raises(CertificateError, match=r"the certificate is damaged: .* at tree\.root\.split"):
            check(own | {"tree": {"root": split | {"split": "a"}}}, dataset)


def test_a_tree_of_other_tests_than_those_of_the_bound_is_none_of_them():
    """The first column tells all labels, the third leaves four errors: a tree below the bound is not of its tests."""
    labels = [int(a > 0) for a, _, _ in CELLS]
    dataset = numbers(labels=labels)
    facts = of_thresholds(interrupted(pipeline.pose(dataset, "dpflow", 1), None))
    assert check(facts, dataset).objective == 0
    only = {"feature": "c", "kind": "subset", "values": ["u"]}
    facts |= {"columns": [only], "states": ["0"], "bound": 4}
    facts["of"] |= {"n_candidate_splits": 1, "all_splits": False}
    refused(facts, dataset, "bounds all trees by 4, it states 4, and its own tree costs 0")
    by_third = {"split": only, "left": {"label": "p"}, "right": {"label": "p"}}
    assert check(facts | {"claim": 4, "tree": {"root": by_third}}, dataset).optimal


def test_a_certificate_over_thresholds_states_its_terms():
    facts = of_thresholds(interrupted(pipeline.pose(numbers(), "dpflow", 2), None))
    for changed in (
        {"n_candidate_splits": 4},
        {"rows_of_class": [7, 5]},
        {"constraints": ["leaf_rows >= 2"]},
        {"task": "median"},
    ):
        refused(facts | {"of": facts["of"] | changed}, numbers(), "the certificate states .*, but of this data it is")


def test_a_tree_that_costs_otherwise_than_claimed():
    facts, dataset = certificate()
    assert facts["claim"] == 2
    for other in (1, 3):
        refused(
            facts | {"claim": other}, dataset, f"the tree of the certificate costs 2 on the data, .* claims {other}"
        )


def test_a_tree_that_is_deeper_than_stated():
    facts, dataset = certificate(3)
    shallow = certificate(2)[0]
    assert facts["claim"] < shallow["claim"]
    refused(shallow | {"tree": facts["tree"]}, dataset, "deeper than 2")


def raised(facts, entry, by=1):
    """A certificate whose bound is raised, with this entry as its root."""
    return facts | {"states": [entry, *facts["states"][1:]], "bound": facts["bound"] + by}


def test_a_bound_that_is_not_the_one_of_the_root():
    facts, dataset = certificate()
    refused(
        facts | {"states": ["0"]},
        dataset,
        "the certificate bounds all trees by 0, it states 2, and its own tree costs 2",
    )
    refused(facts | {"states": [""]}, dataset, "one state of all rows at level 0")
    refused(facts | {"states": []}, dataset, "expected states of the levels from the root to the last but one")


def test_a_bound_that_one_label_alone_is_below():
    """A branch node is so dear that every split keeps the bound, and only the labels do not."""
    facts, dataset = certificate(1, {"lambda": 0.9})
    assert "split" not in facts["tree"]["root"]
    (entry,) = facts["states"]
    for more in (1, 2):
        refused(raised(facts, f"{int(entry) + more}", more), dataset, "entry 1 of .* a single label costs")


def test_a_bound_that_one_split_is_below():
    facts, dataset = certificate(1)
    refused(
        raised(facts, f"{int(facts['states'][0]) + 1}"), dataset, "entry 1 of .* one split costs less than the target"
    )
    facts, dataset = certificate(2)
    refused(raised(facts, f"{int(facts['states'][0]) + 1}"), dataset, "a tree of two splits after each other costs")


def test_a_bound_that_the_states_below_do_not_carry(monkeypatch):
    monkeypatch.setattr(interval_states, "is_quick", lambda *size: False)
    facts, dataset = certificate(3, {"lambda": 0.05})
    assert len(facts["states"]) == 2 and facts["states"][1]
    for at, entry in enumerate(entries := facts["states"][1].split(";")):
        forged = ";".join([*entries[:at], str(int(entry) + 1), *entries[at + 1 :]])
        try:  # what is refused is the state that was raised, by a rule for it
            check(facts | {"states": [facts["states"][0], forged]}, dataset)
        except CertificateError as problem:
            assert str(problem).startswith(f"entry {at + 1} of states[1]: ")
    nothing = ";".join("0" for _ in entries)
    refused(
        facts | {"states": [facts["states"][0], nothing]},
        dataset,
        r"entry 1 of states\[0\]: by its own numbers a split",
    )


@pytest.mark.parametrize(
    "states, words",
    [
        (["3", "1", "1"], "expected states of the levels from the root to the last but one"),
        (["3,0"], "four whole numbers for each cut"),
        (["0", "1"], r"nothing leads to entry 1 of states\[1\]"),
        (["0,0,0,2,0", "1"], "it names state 2 of a level that has 1"),
        (["0,9,0,1,0", "1"], "it evaluates column 9 of 3"),
        (["0,3,0,1,0", "1"], "without a split all rows are on the right"),
        (["0,0,2,1,0", "1"], "it evaluates a split that separates no rows"),
        (["3", "x"], "four whole numbers for each cut in entry 1 of states"),
    ],
)
def test_states_that_are_none(states, words):
    facts, dataset = certificate(3)
    assert len(facts["columns"]) == 3
    refused(facts | {"states": states}, dataset, words)


def test_a_state_of_no_rows():
    """No row is at most the lower threshold and above the higher one."""
    facts, dataset = certificate(4, {"lambda": 0.05})
    refused(facts | {"states": ["0,0,0,1,0", "0,0,1,0,1", "0"]}, dataset, "it evaluates a split that separates no rows")


@pytest.mark.parametrize(
    "forged, words",
    [
        ({"depth": 0}, "not valid"),
        ({"depth": 21}, "not valid"),
        ({"scale": 0}, "not valid"),
        ({"weight_scale": 0}, "not valid"),
        ({"scale": 3, "weight_scale": 2}, "not valid"),
        ({"penalty": 1}, "not valid"),  # as much as the scale
        ({"penalty": -1}, "expected penalty from 0"),
        ({"claim": 2**53}, "expected claim from 0 to below"),
        ({"bound": 2**53}, "expected bound from 0 to below"),
        ({"bound": -1}, "expected bound from 0 to below"),
        ({"loss": [[0, 1], [1, 1]]}, "square table"),
        ({"loss": [[1, 1], [1, 0]]}, "square table"),
        ({"loss": [[0, 0], [0, 0]]}, "square table"),
        ({"loss": [[0, 1, 1], [1, 0, 1]]}, "square table"),
        ({"loss": [[0, 2**52], [2**52, 0]]}, "too large to be added exactly"),
        ({"loss": [[0, -1], [1, 0]]}, "expected a loss from 0"),
    ],
)
def test_numbers_that_cannot_be(forged, words):
    facts, dataset = certificate()
    assert facts["scale"] == facts["weight_scale"] == 1
    refused(facts | forged, dataset, words)


def test_depth_20_is_one():
    dataset = numbers()
    facts, _ = certificate(2)
    deep = facts | {"depth": 20, "of": facts["of"] | {"depth": 20}, "states": ["0"]}
    refused(deep, dataset, "the certificate bounds all trees by 0, it states 2")


def test_data_of_one_class_have_a_certificate_of_no_losses():
    dataset = replace(numbers(labels=[0] * len(CELLS)), classes=("n",))
    facts, _ = certificate(1, dataset=dataset)
    assert facts["loss"] == [[0]] and check(facts, dataset).objective == 0


def test_weights_that_are_not_whole_at_the_scale():
    facts, dataset = certificate()
    light = [1.0] * len(CELLS)
    light[3] = 1.25
    refused(facts, numbers(light), "not whole numbers at the scale of the certificate")
    light[3] = 1e-9  # would count as nothing
    refused(facts, numbers(light), "not whole numbers at the scale of the certificate")


@pytest.mark.parametrize(
    "column, words",
    [
        ({"kind": "threshold", "feature": "z"}, "splits on the column 'z', which the data does not have"),
        ({"kind": "missing", "feature": "z"}, "splits on the column 'z', which the data does not have"),
        ({"kind": "threshold", "feature": "a", "thresholds": [float("inf")]}, "expected a finite number at columns"),
        ({"kind": "threshold", "feature": "a", "thresholds": [float("nan")]}, "expected a finite number at columns"),
    ],
)
def test_columns_that_cannot_be(column, words):
    facts, dataset = certificate()
    facts["columns"][0] = column
    refused(facts, dataset, words)


def test_a_level_that_the_data_has_not_is_in_no_row():
    facts, dataset = certificate()
    at = next(at for at, test in enumerate(facts["columns"]) if test["kind"] == "subset")
    facts["columns"][at] = facts["columns"][at] | {"values": [*facts["columns"][at]["values"], "w"]}
    assert check(facts, dataset)


# Every bound, and every tree that is counted from the data, against brute force at its state.


def least(X, loss, rows, height, price) -> float:
    """What the best tree costs on these rows, by trying every one."""
    best = float(loss[rows].sum(axis=0).min())
    for test in X if height else ():
        left, right = rows & test, rows & ~test
        if left.any() and right.any():
            best = min(best, price + sum(least(X, loss, side, height - 1, price) for side in (left, right)))
    return best


@pytest.mark.parametrize("unit", [1, 2**22, 2**40], ids=["small", "about 30 bits", "beyond 40 bits"])
@given(seed=st.integers(0, 10**6), labels=st.integers(2, 4))
@settings(max_examples=40, deadline=None)
def test_trees_of_two_levels_are_counted_exactly(unit, seed, labels):
    """In sums of 32 or 64 bits, of tests that are one cut of a column each."""
    rng = np.random.default_rng(seed)
    X = rng.random((rng.integers(1, 6), rng.integers(2, 10))) < rng.random()
    X[0, :2] = True, False
    loss = rng.integers(0, 60, (X.shape[1], labels)).astype(float) * unit + rng.integers(0, 2, (X.shape[1], labels))
    loss -= loss.min(axis=1, keepdims=True)
    price = float(rng.choice([0, 1, unit, 2**24 + 1]))
    sides = [(side, ~side) for side in X if side.any() and not side.all()]
    best = min(price + sum(least(X, loss, side, 1, price) for side in both) for both in sides)
    rows = Rows(distinct_columns(X.T.astype(np.int64)), loss, np.ones(X.shape[1], np.int64), price, 1)
    every = np.arange(X.shape[1])
    PairCheck().require(rows, every, best)
    with pytest.raises(CertificateError, match=f"after each other costs {best:.0f} there"):
        PairCheck().require(rows, every, best + 1)


@given(seed=st.integers(0, 10**6), labels=st.integers(2, 3), price=st.sampled_from([0, 1, 3]))
@settings(max_examples=12, deadline=None)
def test_the_best_trees_on_either_side_of_each_test_are_those_of_trying_all(seed, labels, price):
    """Two levels at once."""
    rng = np.random.default_rng(seed)
    X = rng.random((rng.integers(3, 6), rng.integers(3, 12))) < 0.5
    X[:, 0] ^= (X == X[:, :1]).all(axis=1)
    loss = rng.integers(0, 6, (X.shape[1], labels)).astype(float)
    exact = [sorted(least(X, loss, side, 2, price) for side in (~x, x)) for x in X]
    with pytest.MonkeyPatch.context() as patch:
        run_plain(patch)
        assert np.sort(every_tree.least_sides(X, loss, price), axis=1).tolist() == exact


@given(data=st.data(), depth=st.sampled_from([1, 2, 3]), price=st.sampled_from([0.0, 0.05]))
@settings(max_examples=40, deadline=None)
def test_every_bound_is_one_at_its_state_and_one_above_the_best_tree_is_refused(data, depth, price):
    n = data.draw(st.integers(4, 12))
    cells = data.draw(st.lists(st.tuples(*[st.integers(0, 4)] * 2), min_size=n, max_size=n))
    y = np.array(data.draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)), np.int32)
    features = Feature("a", "numeric"), Feature("b", "numeric")
    if len(set(cells)) == 1:
        return
    dataset = Dataset("d", np.array(cells, float), y, features, ("n", "p"), np.ones(n))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(interval_states, "is_quick", lambda *size: False)
        facts, _ = certificate(depth, {"lambda": price}, dataset)
    X = splits_of(facts, dataset).T
    names = [name for name, column in zip("ab", dataset.X.T) for _ in np.unique(column)[:-1]]
    of = {
        column["feature"]: [at for at, name in enumerate(names) if name == column["feature"]]
        for column in facts["columns"]
    }
    loss = np.array(facts["loss"], float)[y] * facts["weight_scale"]
    kind = np.unique(X.T, axis=0, return_inverse=True)[1].reshape(-1)
    merged = np.stack([np.bincount(kind, line) for line in loss.T], axis=1)
    floor = (merged.min(axis=1) / np.bincount(kind))[kind]  # of each row, of the cost that no tree can avoid
    states = [[np.ones(n, bool)]]
    for level, text in enumerate(facts["states"]):
        entries = [entry.split(",") for entry in text.split(";") if entry]
        below: dict[int, np.ndarray] = {}
        for at, (target, *points) in enumerate(entries):
            rows = states[level][at]
            best = least(X, loss, rows, depth - level, facts["penalty"]) - floor[rows].sum()
            assert int(target) <= best + 1e-9
            other = [*entries[:at], [str(round(best) + 1), *points], *entries[at + 1 :]]
            levels = list(facts["states"])
            levels[level] = ";".join(",".join(entry) for entry in other)
            refused(facts | {"states": levels}, dataset, rf"entry {at + 1} of states\[{level}\]")
            for column, cut, *sides in zip(*[iter(map(int, points))] * 4):
                if column == len(facts["columns"]):
                    halves = [rows, rows]
                else:
                    goes = X[of[facts["columns"][column]["feature"]][cut]]
                    halves = [rows & goes, rows & ~goes]
                for number, half in zip(sides, halves):
                    below[number - 1] = below.get(number - 1, half) & half
        states.append([below[at] for at in sorted(below) if at >= 0])


def test_many_thresholds_are_all_tried_in_the_end():
    """Of a feature with 39 thresholds a few are tried first; the only one that leaves less is none of them."""
    n = 40
    y = np.array([10 <= at < 23 or at >= 30 for at in range(n)], np.int32)
    dataset = Dataset("d", np.arange(n, dtype=float)[:, None], y, (Feature("a", "numeric"),), ("n", "p"), np.ones(n))
    facts = certificate(2, {"intervals": "false"}, dataset)[0]
    assert check(facts, dataset).objective == 0
    refused(raised(facts, "1"), dataset, "a tree of two splits after each other costs 0 there")


# The bound by itself, of columns of two levels, and states by hand.


def bound_of(loss, states, depth=1, X=((True, True, False, False),)) -> float:
    loss = np.array(loss, float)
    rows = Rows(distinct_columns(1 - np.array(X, int).T), loss, np.ones(len(loss), np.int64), 0.0, 1)
    return IntervalBound(states, rows, depth).of_root()


@pytest.mark.parametrize("depth", [1, 2])
def test_sums_past_24_bits_are_exact(depth):
    """2^24 + 3 is none of float32: a side that costs 4 would cost 5."""
    loss = [[2**24 - 1, 0], [0, 2], [4, 0], [0, 10]]
    assert bound_of(loss, ["6"], depth) == 6
    with pytest.raises(CertificateError, match="one split costs less" if depth == 1 else "costs 6 there"):
        bound_of(loss, ["7"], depth)


def test_a_state_below_that_claims_nothing_carries_nothing():
    loss = [[1, 0], [1, 0], [0, 1], [0, 1]]
    assert bound_of(loss, ["0,0,0,1,2", "0;0"], 3) == 0
    with pytest.raises(CertificateError, match=r"^entry 1 of states\[0\]: by its own numbers a split"):
        bound_of(loss, ["1,0,0,1,2", "0;0"], 3)


def test_what_refuses_names_the_entry():
    loss = [[1, 0], [1, 0], [0, 1], [0, 1]]
    for side in (0, 1):
        with pytest.raises(CertificateError, match=r"^entry 1 of states\[1\]: a single label costs 0"):
            bound_of(loss, [f"0,0,0,{1 - side},{side}", "1"], 3)
    crossed = ((True, True, False, False), (True, False, True, False))
    with pytest.raises(CertificateError, match=r"^entry 1 of states\[2\]: a single label costs 0"):
        bound_of(loss, ["0,0,0,1,0", "0,1,0,0,1", "9"], 4, crossed)
    with pytest.raises(ValueError, match=r"in entry 2 of states\[1\], got 'x'"):
        bound_of(loss, ["0,0,0,1,0", "0;x"], 3)


def test_a_cell_at_the_threshold_goes_left():
    """The midpoint of neighbours among the floats is one of them."""
    low, high = 1.0, float(np.nextafter(1.0, 2.0))
    cells = np.array([[low], [low], [high], [high]])
    dataset = Dataset("d", cells, np.array([0, 0, 1, 1], np.int32), (Feature("a", "numeric"),), ("n", "p"), np.ones(4))
    test = {"kind": "threshold", "feature": "a", "threshold": low}
    assert left_of(test, dataset).tolist() == [True, True, False, False]


# What a proof says beside the bound.


def test_what_is_priced_is_told_at_the_scale_of_weights():
    """Weights of halves and a price: what an error costs is told in units of weight, whatever the scale."""
    dataset = numbers([0.5] * 6 + [1.5] * 6)
    problem = pipeline.pose(dataset, "dpflow", 1, params={"lambda": 0.25}, cost="n:p=3")
    facts = json.loads(json.dumps(certify(problem)))
    assert facts["weight_scale"] > 1
    assert check(facts, dataset).terms == "lambda 0.25 and costs n:p=3, p:n=1"
    plain = json.loads(json.dumps(certify(pipeline.pose(dataset, "dpflow", 1))))
    assert check(plain, dataset).terms == ""


@pytest.mark.parametrize("n_classes", [4, 5])
def test_only_some_of_many_costs_are_told(n_classes):
    names = "abcde"[:n_classes]
    pairs = n_classes * (n_classes - 1)
    loss = [[0 if a == b else 2 for b in range(n_classes)] for a in range(n_classes)]
    told = terms_of({"classes": list(names), "loss": loss, "penalty": 0, "scale": 1, "weight_scale": 1})
    assert told.startswith("costs a:b=2, a:c=2") and told.count("=") == 12
    assert told.endswith("and 8 more pairs") == (pairs > 12)


def test_the_states_of_a_certificate_that_is_not_checked_are_counted(monkeypatch):
    monkeypatch.setattr(interval_states, "is_quick", lambda *size: False)
    problem = pipeline.pose(numbers(), "dpflow", 3)
    facts = of_thresholds(interrupted(problem, None))
    entries = [entry for text in facts["states"] for entry in text.split(";")]
    proof = stated(facts, problem.encoded.dataset)
    assert stated(facts, problem.encoded.dataset) == check(facts, problem.encoded.dataset)
    assert stated(facts | {"states": ["0"]}, problem.encoded.dataset).bound == proof.bound  # it is believed
    assert proof.steps == {"n_targets": len(entries)} and len(entries) > len(facts["states"]) == 2
    assert proof.optimal == (facts["bound"] == facts["claim"])


def test_a_certificate_of_another_task_states_what_was_asked():
    source = {"actions": ("a", "b"), "treatment": "t", "outcome": "", "weights": None}
    terms = claim_of(replace(numbers(), task="policy", source=source), 2, 3, True)
    assert terms["task"] == "policy" and terms["requested"] == {"actions": ["a", "b"], "treatment": "t"}
    assert not {"task", "requested"} & claim_of(numbers(), 2, 3, True).keys()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{}", "expected a certificate of schema 'odtc.proof/1' in"),
        ('{"schema": "odtc.proof/1"}', "is of no known kind: 'kind' is missing"),
        ('{"schema": "odtc.proof/1", "kind": "other"}', "is of no known kind: expected"),
        ('{"schema": "odtc.proof/1", "kind": "labels"}', "does not say how its data was read"),
        (
            '{"schema": "odtc.proof/1", "kind": "labels", "data": {"target": "y", "missing": "guess"}}',
            "does not say how its data",
        ),
        (
            '{"schema": "odtc.proof/1", "kind": "labels", "data": {"target": 1, "missing": "drop"}}',
            "does not say how its data",
        ),
    ],
)
def test_a_file_that_is_no_certificate_is_refused_before_the_data_are_read(text, words, tmp_path):
    (tmp_path / "c.json").write_text(text)
    with pytest.raises(CertificateError, match=words):
        read_certificate(tmp_path / "c.json")


TERMS = {
    "target": "y",
    "classes": ["n", "p"],
    "weights": None,
    "auxiliary": [],
    "n_dropped_missing": 0,
    "n_dropped_unlabelled": 0,
    "missing": "drop",
    "constraints": [],
}


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({}, "target 'y' (n, p); every row counts 1; rows left out: none"),
        (
            {"weights": "w", "auxiliary": ["a", "b"], "missing": "separate", "constraints": ["features <= 2"]},
            "target 'y' (n, p); weights in column 'w'; no split uses a, b; rows left out: none; "
            "splits may separate missing cells; all trees satisfy features <= 2",
        ),
        (
            {"n_dropped_missing": 1200, "n_dropped_unlabelled": 3},
            "target 'y' (n, p); every row counts 1; "
            "rows left out: 1,200 with missing cells, 3 without a label or a weight",
        ),
        (
            {"task": "median", "requested": {"scores": "s", "actions": ["u", "v"]}},
            "task median, of which the cost is the absolute error around the median of each leaf; scores s; "
            "actions u, v; target 'y' (n, p); every row counts 1; rows left out: none",
        ),
        (
            {"classes": list("abcdefghij")},
            "target 'y' (a, b, c, d, e, f, g, h, i, j); every row counts 1; rows left out: none",
        ),
        (
            {"classes": list("abcdefghijkl")},
            "target 'y' (a, b, c, d, e, f, g, h, i, j and 2 more); every row counts 1; rows left out: none",
        ),
    ],
)
def test_the_terms_in_words(changed, words):
    assert in_words(TERMS | changed) == words


@pytest.mark.parametrize(("length", "cut"), [(78, False), (79, True)])
def test_a_long_term_is_told_by_its_beginning(length, cut):
    """A text of 80 letters with its quotes is told whole."""
    with pytest.raises(CertificateError) as refusal:
        expect({"of": {"target": "x" * length}}, {"target": "y", "n_rows": 3})
    told = "'" + "x" * 76 + "…" if cut else "'" + "x" * 78 + "'"
    assert str(refusal.value) == f"the certificate states the target as {told}, but of this data it is 'y'"


def test_a_term_of_many_parts_is_told_by_the_part_that_differs():
    """The beginnings of two lists of columns are the same, so the message cut off the difference."""
    columns = [f"column {at}" for at in range(20)]
    with pytest.raises(CertificateError) as refusal:
        expect({"of": {"columns": [*columns[:-1], "colunn 19"]}}, {"columns": columns, "n_rows": 3})
    told = "states item 20 of the columns that splits may use as 'colunn 19', but of this data it is 'column 19'"
    assert str(refusal.value) == f"the certificate {told}"
    with pytest.raises(CertificateError, match="states 'b' of item 2 of the x as nothing, but of this data it is 3"):
        expect({"of": {"x": [{}, {"a": columns}]}}, {"x": [{}, {"a": columns, "b": 3}], "n_rows": 3})

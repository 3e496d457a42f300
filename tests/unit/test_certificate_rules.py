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
from odtc.formulations.dpflow.threshold_search import certify
from odtc.formulations.dpflow.write_constrained_certificate import certify_constrained
from odtc.testing.exhaustive import cheapest
from odtc.verification.certificate import _terms, check, left_of, read_certificate, stated
from odtc.verification.claim import claim_of, expect
from odtc.verification.claim import words as in_words
from odtc.verification.constrained.constrained_certificate import check_constrained
from odtc.verification.leaf_sums import every_tree
from odtc.verification.lower_bound import Blocks, LowerBound, read_split
from odtc.workflow import pipeline
from tests.plain_kernels import run_plain
from tests.threshold_problems import certificate as of_thresholds
from tests.threshold_problems import interrupted

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
        assert check(facts, dataset).objective == cheapest(_asked(facts, dataset), dataset.y, dataset.weight, depth)


def _asked(facts, dataset) -> np.ndarray:
    """bool (rows, tests), as the texts of the tests say."""
    place = {feature.name: at for at, feature in enumerate(dataset.features)}
    columns = [
        dataset.X[:, place[test["feature"]]] <= test["threshold"]
        if test["kind"] == "threshold"
        else np.isin(dataset.X[:, place[test["feature"]]], ["uv".index(value) for value in test["values"]])
        for test in facts["splits"]
    ]
    return np.stack(columns, axis=1)


@pytest.mark.parametrize("key", ["same", "complement"])
def test_a_test_that_is_left_out_and_separates_otherwise(key):
    facts, dataset = certificate()
    one, other = ({k: v for k, v in test.items() if k not in ("same", "complement")} for test in facts["splits"][:2])
    facts["splits"][0][key] = [other]
    refused(facts, dataset, "leaves out the split")
    for alike in ([], [one], [one, one]):
        facts["splits"][0][key] = alike
        assert check(facts, dataset)


def test_a_test_that_asks_the_other_way_round_is_the_same_one():
    facts, dataset = certificate()
    at = next(at for at, test in enumerate(facts["splits"]) if test["kind"] == "subset")
    (level,) = facts["splits"][at]["values"]
    turned = {"kind": "subset", "feature": "c", "values": [{"u": "v", "v": "u"}[level]]}
    facts["splits"][at]["complement"] = [turned]
    assert check(facts, dataset)
    # Which rows go left decides, not how many.
    facts["splits"][at]["complement"] = [{"kind": "threshold", "feature": "a", "threshold": 0.5}]
    refused(facts, dataset, "leaves out the split")


def test_a_certificate_of_before_that_states_no_terms_proves_what_is_found():
    facts, dataset = certificate()
    terms = facts.pop("of")
    proof = check(facts, dataset)
    assert proof.of == terms and proof.optimal


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
    refused(facts, problem.encoded.dataset, r"the certificate is not whole: .* at columns\[0\]")


@pytest.mark.parametrize("node", ["label", "a", 5, None, [], ["label"], {}], ids=repr)
def test_a_node_that_is_none_is_refused_at_its_place(node):
    facts, dataset = certificate()
    constrained = json.loads(json.dumps(certify_constrained(pipeline.pose(dataset, "dpflow", 2))[0]))
    for own, look in ((facts, check), (constrained, check_constrained)):
        assert look(own, dataset)
        for at, place in (({"root": node}, r"tree\.root"), ({"root": facts["tree"]["root"] | {"left": node}}, r"left")):
            with pytest.raises(CertificateError, match=rf"the certificate is not whole: .* at [a-z.]*{place}"):
                look(own | {"tree": at}, dataset)
        for kind in (5, None, [], "other"):
            split = {"split": {"feature": "a", "kind": kind}, "left": {"label": "n"}, "right": {"label": "p"}}
            with pytest.raises(CertificateError, match=r"the certificate is not whole: .* at tree\.root\.split\.kind"):
                look(own | {"tree": {"root": split}}, dataset)
        with pytest.raises(CertificateError, match=r"the certificate is not whole: .* at tree\.root\.split"):
            look(own | {"tree": {"root": split | {"split": "a"}}}, dataset)


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


def test_a_root_without_the_target_that_is_claimed():
    facts, dataset = certificate()
    refused(facts | {"targets": [""]}, dataset, "the root has no such target")
    refused(facts | {"targets": []}, dataset, "the root has no such target")


def test_a_target_that_one_label_alone_is_below():
    """A branch node is so dear that every test keeps the target, and only the labels do not."""
    facts, dataset = certificate(1, {"lambda": 0.9})
    alone = facts["claim"]
    assert "split" not in facts["tree"]["root"] and facts["targets"] == [str(alone)]
    for more in (1, 2):
        refused(facts | {"targets": [str(alone + more)]}, dataset, "at the root .* but a single label costs")


def test_a_target_that_one_test_is_below():
    facts, dataset = certificate(1)
    refused(facts | {"targets": [str(facts["claim"] + 1)]}, dataset, "but by its own numbers asking .* leaves 4$")
    facts, dataset = certificate(2)
    refused(facts | {"targets": [str(facts["claim"] + 1)]}, dataset, "but by its own numbers asking .* leaves 2$")


def test_a_target_that_the_targets_below_do_not_carry():
    facts, dataset = certificate(3, {"lambda": 0.05})
    assert len(facts["targets"]) == 2 and facts["targets"][1]
    for at, entry in enumerate(entries := facts["targets"][1].split(";")):
        words = entry.split(",")
        raised = ",".join([str(int(words[0]) + 1), *words[1:]])
        forged = ";".join([*entries[:at], raised, *entries[at + 1 :]])
        try:  # what is refused is the state that was raised, by a rule for it
            check(facts | {"targets": [facts["targets"][0], forged]}, dataset)
        except CertificateError as problem:
            assert str(problem).startswith("where ") and ("a single label" in str(problem) or "asking" in str(problem))
    refused(facts | {"targets": [facts["targets"][0], ""]}, dataset, "at the root .* asking")


@pytest.mark.parametrize(
    "targets, words",
    [
        (["", "", ""], "targets below the last level but one"),
        (["3,0"], "a state of level 0 has other than 0 literals"),
        (["3", "1"], "a state of level 1 has other than 1 literals"),
        (["3", "1,0,2"], "a state of level 1 has other than 1 literals"),
        (["3", "1,99"], "a state of level 1 has other than 1 literals"),
        (["3", "1,10"], "a state of level 1 has other than 1 literals"),  # of 5 tests the last literal is 9
        (["3", "x"], "expected whole numbers"),
    ],
)
def test_targets_that_are_none(targets, words):
    facts, dataset = certificate(3 if len(targets) < 3 else 2)
    assert len(facts["splits"]) == 5
    refused(facts | {"targets": targets}, dataset, words)


def test_a_state_of_no_rows_and_one_that_asks_a_test_twice():
    facts, dataset = certificate(4, {"lambda": 0.05})
    feature = [test["feature"] for test in facts["splits"]]
    low, high = [at for at, name in enumerate(feature) if name == "a"]
    rows = _asked(facts, dataset)
    # No row is at most the lower threshold and above the higher one; literal 2f is the right side of test f.
    empty = f"0,{2 * low + 1},{2 * high}"
    assert not (rows[:, low] & ~rows[:, high]).any()
    refused(facts | {"targets": ["", "", empty]}, dataset, "a state holds no rows")
    refused(facts | {"targets": ["", "", f"0,{2 * low},{2 * low + 1}"]}, dataset, "2 literals of different splits")


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
    deep = facts | {"depth": 20, "of": facts["of"] | {"depth": 20}, "targets": [""]}
    refused(deep, dataset, "the root has no such target")


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
    "test, words",
    [
        (
            {"kind": "threshold", "feature": "z", "threshold": 0.5},
            "splits on the column 'z', which the data does not have",
        ),
        ({"kind": "threshold", "feature": "a", "threshold": float("inf")}, "expected a finite number at splits"),
        ({"kind": "threshold", "feature": "a", "threshold": float("nan")}, "expected a finite number at splits"),
    ],
)
def test_tests_that_cannot_be(test, words):
    facts, dataset = certificate()
    facts["splits"][0] = test
    refused(facts, dataset, words)


def test_a_level_that_the_data_has_not_is_in_no_row():
    facts, dataset = certificate()
    at = next(at for at, test in enumerate(facts["splits"]) if test["kind"] == "subset")
    facts["splits"][at] = facts["splits"][at] | {"values": [*facts["splits"][at]["values"], "w"]}
    assert check(facts, dataset)


# Every target, and every bound that is carried over, against brute force at its state.


@st.composite
def chained(draw):
    """(X bool (tests, rows), loss (rows, classes) of whole numbers, tests): two numbers with all their thresholds."""
    n, K = draw(st.integers(3, 8)), draw(st.integers(2, 3))
    columns, tests = [], []
    for name in "ab":
        cells = np.array(draw(st.lists(st.integers(0, 4), min_size=n, max_size=n)))
        for cut in range(4):
            columns.append(cells <= cut)
            tests.append({"kind": "threshold", "feature": name, "threshold": cut + 0.5})
    order = draw(st.permutations(range(len(tests))))  # the checker sorts them itself
    y = np.array(draw(st.lists(st.integers(0, K - 1), min_size=n, max_size=n)))
    weight = np.array(draw(st.lists(st.integers(1, 3), min_size=n, max_size=n)), float)
    price = np.array(draw(st.lists(st.integers(1, 3), min_size=K * K, max_size=K * K))).reshape(K, K) * (1 - np.eye(K))
    X = np.stack([columns[at] for at in order])
    return X, weight[:, None] * price[y], [tests[at] for at in order], draw(st.integers(0, 2))


def least(X, loss, rows, height, price) -> float:
    """What the best tree costs on these rows, by trying every one."""
    best = float(loss[rows].sum(axis=0).min())
    for test in X if height else ():
        left, right = rows & test, rows & ~test
        if left.any() and right.any():
            best = min(best, price + sum(least(X, loss, side, height - 1, price) for side in (left, right)))
    return best


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_no_bound_that_is_carried_is_above_the_best_tree_of_its_side(data):
    X, loss, tests, price = data.draw(chained())
    bound = LowerBound({"splits": tests, "targets": [""]}, X, loss, price, 3)
    every = np.ones(X.shape[1], bool)
    exact = np.array([[least(X, bound.loss, side, 1, price) if side.any() else 0.0 for side in (x, ~x)] for x in X]).T
    known = np.array(data.draw(st.lists(st.booleans(), min_size=exact.size, max_size=exact.size))).reshape(exact.shape)
    moved = bound.answers[every].T.astype(float) @ bound.most[every]
    carried = bound._carried(np.where(known, exact, 0.0), moved)
    assert (carried <= exact + 1e-6).all() and (carried >= np.where(known, exact, 0.0)).all()
    full = bound._carried(exact, moved)
    assert full == pytest.approx(exact)


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_one_more_test_on_a_side_is_tried_out_exactly(data):
    X, loss, tests, price = data.draw(chained())
    bound = LowerBound({"splits": tests, "targets": [""]}, X, loss, price, 3)
    parts = np.array([at for at, x in enumerate(X) if x.any() and not x.all()], int)
    if len(parts):
        every = np.arange(X.shape[1])
        exact = np.array([[least(X, bound.loss, side, 1, price) for side in (X[at], ~X[at])] for at in parts]).T
        assert np.array(
            bound._stumps(Blocks(bound.answers, every, bound.loss.dtype), bound.loss, parts)
        ) == pytest.approx(exact)


@given(seed=st.integers(0, 10**6), labels=st.integers(2, 3), price=st.sampled_from([0, 1, 3]))
@settings(max_examples=12, deadline=None)
def test_the_best_trees_on_either_side_of_each_test_are_those_of_trying_all(seed, labels, price):
    """Two levels at once, by loops; and targets by them are accepted just if they are those of one state at a time."""
    rng = np.random.default_rng(seed)
    X = rng.random((rng.integers(3, 6), rng.integers(3, 12))) < 0.5
    X[:, 0] ^= (X == X[:, :1]).all(axis=1)
    loss = rng.integers(0, 6, (X.shape[1], labels)).astype(float)
    tests = [{"kind": "missing", "feature": f"c{at}"} for at in range(len(X))]
    sides = [side for x in X for side in (~x, x)]
    floor = [loss[side].min(axis=1).sum() for side in sides]
    dearer = loss - loss.min(axis=1, keepdims=True)
    exact = [least(X, dearer, side, 2, price) + low for side, low in zip(sides, floor)]
    targets = [int(rng.integers(max(0, int(one) - 1), int(one) + 2)) for one in exact]
    texts = ["0", ";".join(f"{target},{at}" for at, target in enumerate(targets))]
    accepted = []
    for loops in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(every_tree, "repays", lambda work, loops=loops: loops)
            run_plain(patch)
            bound = LowerBound({"splits": tests, "targets": texts}, X, loss, price, 3)
            assert not loops or bound._sides_of_splits() == pytest.approx(np.array(exact))
            try:
                accepted.append(bound.of_root())
            except CertificateError as refused:
                accepted.append(str(refused))
    assert accepted[0] == accepted[1]
    assert isinstance(accepted[0], str) == any(target > one for target, one in zip(targets, exact))


@given(data=st.data(), depth=st.sampled_from([1, 2, 3]), price=st.sampled_from([0.0, 0.05]))
@settings(max_examples=40, deadline=None)
def test_every_target_is_a_bound_at_its_state_and_one_above_the_best_tree_is_refused(data, depth, price):
    n = data.draw(st.integers(4, 12))
    cells = data.draw(st.lists(st.tuples(*[st.integers(0, 4)] * 2), min_size=n, max_size=n))
    y = np.array(data.draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)), np.int32)
    features = Feature("a", "numeric"), Feature("b", "numeric")
    if len(set(cells)) == 1:
        return
    dataset = Dataset("d", np.array(cells, float), y, features, ("n", "p"), np.ones(n))
    facts, _ = certificate(depth, {"lambda": price}, dataset)
    X = _asked(facts, dataset).T
    loss = np.array(facts["loss"], float)[y] * facts["weight_scale"]
    for level, text in enumerate(facts["targets"]):
        entries = [list(map(int, entry.split(","))) for entry in text.split(";") if entry]
        for at, (target, *literals) in enumerate(entries):
            rows = np.ones(n, bool)
            for literal in literals:
                rows &= X[literal >> 1] == bool(literal & 1)
            best = least(X, loss, rows, depth - level, facts["penalty"])
            assert target <= best
            raised = [*entries[:at], [int(best) + 1, *literals], *entries[at + 1 :]]
            levels = list(facts["targets"])
            levels[level] = ";".join(",".join(map(str, entry)) for entry in raised)
            refused(facts | {"targets": levels}, dataset, "the certificate claims a cost of at least")


def test_states_of_one_level_keep_the_higher_of_two_targets():
    """Two entries of one state: the bound is the higher, and each is checked."""
    facts, dataset = certificate(1)
    best = facts["claim"]
    for targets in (f"{best};0", f"0;{best}", f";{best};;0"):
        assert check(facts | {"targets": [targets]}, dataset).objective == best
    for targets in (f"{best};{best + 1}", f"{best + 1};{best}"):
        refused(facts | {"targets": [targets]}, dataset, "asking")


def test_many_thresholds_are_all_tried_in_the_end():
    """Of a feature with 39 thresholds a few are tried first; the only one that leaves less is none of them."""
    n = 40
    y = np.array([10 <= at < 23 or at >= 30 for at in range(n)], np.int32)
    dataset = Dataset("d", np.arange(n, dtype=float)[:, None], y, (Feature("a", "numeric"),), ("n", "p"), np.ones(n))
    facts = certificate(2, {"intervals": "false"}, dataset)[0]
    assert check(facts, dataset).objective == 0
    refused(facts | {"targets": ["1"]}, dataset, "at the root .* asking a <= 22.5 leaves 0$")


# The bound by itself, of one column of two levels (rows, classes) and targets by hand.

HALVES = [{"kind": "subset", "feature": "c", "values": ["u"]}]


def bound_of(loss, targets, depth=1, X=((True, True, False, False),)) -> float:
    asked, loss = np.array(X), np.array(loss, float)
    tests = HALVES if len(asked) == 1 else [{"kind": "subset", "feature": f"c{at}", "values": ["u"]} for at in range(2)]
    return LowerBound({"splits": tests, "targets": targets}, asked, loss, 0, depth).of_root()


def test_sums_past_24_bits_are_exact():
    """2^24 + 3 is none of float32: a side that costs 4 would cost 5."""
    loss = [[2**24 - 1, 0], [0, 2], [4, 0], [0, 10]]
    assert bound_of(loss, ["6"]) == 6
    with pytest.raises(CertificateError, match="asking c in {u} leaves 6$"):
        bound_of(loss, ["7"])


def test_a_state_below_that_claims_nothing_carries_nothing():
    loss = [[1, 0], [1, 0], [0, 1], [0, 1]]
    assert bound_of(loss, ["0", "0,0;0,1"], 3) == 0
    with pytest.raises(CertificateError, match="at the root .* asking c in {u} leaves 0$"):
        bound_of(loss, ["1", "0,0;0,1"], 3)


def test_the_literals_of_a_state_are_written_once():
    loss = [[1, 0], [1, 0], [0, 1], [0, 1]]
    with pytest.raises(ValueError, match="has other than 1 literals"):
        bound_of(loss, ["0", "0,1,1"], 3)


def test_what_refuses_names_the_place_and_the_entry():
    loss = [[1, 0], [1, 0], [0, 1], [0, 1]]
    for literal, side in ((0, "not c in {u}"), (1, "c in {u}")):
        with pytest.raises(CertificateError, match=f"^where {side}, .* a single label costs 0$"):
            bound_of(loss, ["0", f"1,{literal}"], 3)
    crossed = ((True, True, False, False), (True, False, True, False))
    with pytest.raises(CertificateError, match="^where not c0 in {u} and c1 in {u}, "):
        bound_of(loss, ["", "", "9,0,3"], 4, crossed)
    with pytest.raises(ValueError, match=r"in entry 2 of targets\[1\], got 'x'"):
        bound_of(loss, ["0", "0,1;x"], 3)


def test_a_cell_at_the_threshold_goes_left():
    """The midpoint of neighbours among the floats is one of them."""
    low, high = 1.0, float(np.nextafter(1.0, 2.0))
    cells = np.array([[low], [low], [high], [high]])
    dataset = Dataset("d", cells, np.array([0, 0, 1, 1], np.int32), (Feature("a", "numeric"),), ("n", "p"), np.ones(4))
    test = {"kind": "threshold", "feature": "a", "threshold": low}
    assert left_of(test, dataset).tolist() == [True, True, False, False]


def test_a_missing_cell_is_read_in_words():
    assert read_split({"kind": "missing", "feature": "a"}) == "a is missing"
    assert read_split({"kind": "subset", "feature": "a", "values": ["u", "v"]}) == "a in {u, v}"


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
    told = _terms({"classes": list(names), "loss": loss}, 0, 1, 1)
    assert told.startswith("costs a:b=2, a:c=2") and told.count("=") == 12
    assert told.endswith("and 8 more pairs") == (pairs > 12)


def test_the_states_of_a_certificate_that_is_not_checked_are_counted():
    problem = pipeline.pose(numbers(), "dpflow", 3)
    facts = of_thresholds(interrupted(problem, None))
    entries = [entry for text in facts["states"] for entry in text.split(";")]
    proof = stated(facts, problem.encoded.dataset)
    of_tests, dataset = certificate()
    assert stated(of_tests, dataset) == check(of_tests, dataset)
    assert stated(of_tests | {"targets": [""]}, dataset).bound == check(of_tests, dataset).bound  # it is believed
    assert proof.steps == {"n_targets": len(entries)} and len(entries) > len(facts["states"])
    assert proof.optimal == (facts["bound"] == facts["claim"])


def test_a_certificate_of_another_task_states_what_was_asked():
    source = {"actions": ("a", "b"), "treatment": "t", "outcome": "", "weights": None}
    terms = claim_of(replace(numbers(), task="policy", source=source), 2, 3, True)
    assert terms["task"] == "policy" and terms["requested"] == {"actions": ["a", "b"], "treatment": "t"}
    assert not {"task", "requested"} & claim_of(numbers(), 2, 3, True).keys()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{}", "expected a certificate of schema 'odtc.certificate/1' or"),
        ('{"schema": "odtc.certificate/1"}', "does not say how its data was read"),
        ('{"schema": "odtc.certificate/1", "data": {"target": "y", "missing": "guess"}}', "does not say how its data"),
        ('{"schema": "odtc.certificate/1", "data": {"target": 1, "missing": "drop"}}', "does not say how its data"),
    ],
)
def test_a_file_that_is_no_certificate_is_refused_before_the_data_are_read(text, words, tmp_path):
    (tmp_path / "c.json").write_text(text)
    with pytest.raises(CertificateError, match=words):
        read_certificate(tmp_path / "c.json")


def test_a_test_of_a_certificate_that_is_no_test_is_refused_at_its_place():
    facts, dataset = certificate()
    for wrong in (7, None, [], {"kind": ["threshold"], "feature": "a"}, {"kind": "other", "feature": "a"}):
        refused(facts | {"splits": [wrong]}, dataset, r"the certificate is not whole: expected .* splits\[0\]")


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

"""The terms of a certificate in addition to its bound: figures of its leaves, its losses, and its conditions."""

from dataclasses import replace

import numpy as np
import pytest

from odtc.data.dataset import Dataset, Feature
from odtc.errors import CertificateError
from odtc.verification import claim
from tests.unit.test_certificate_rules import TERMS

Y, WEIGHT = np.array([3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0]), np.array([1.0, 2.0, 1.0, 3.0, 1.0, 0.5, 2.0])
VALUES = (1.0, 2.0, 3.0, 4.0, 5.0, 9.0)


def medians() -> Dataset:
    """Seven weighted numbers, of which a median is asked."""
    features = (Feature("x", "numeric"),)
    names = tuple(f"{value:g}" for value in VALUES)
    code = np.array([VALUES.index(y) for y in Y], np.int32)
    sums = np.stack([np.ones(7), WEIGHT, WEIGHT * Y, Y], axis=1)
    return Dataset("d", np.arange(7.0)[:, None], code, features, names, WEIGHT, task="median", sums=sums)


ROWS = np.array([0, 1, 2, 4, 5, 6])  # their numbers in order 1 2 3 4 5 9 weigh 2 2 1 1 1 0.5: 7.5 in all
CURVE = [[0.0, 1.0], [0.25, 1.0], [0.5, 2.0], [0.75, 4.0], [1.0, 9.0]]
LEAF = {"counts": [2.0, 2.0, 1.0, 1.0, 1.0, 0.5], "rows": [1] * 6, "sums": [6.0, 7.5, 2 + 4 + 3 + 4 + 5 + 4.5, 24.0]}


def test_what_a_leaf_of_a_median_tells_is_that_of_its_rows():
    claim.expect_leaf(LEAF | {"curve": CURVE}, medians(), ROWS)
    for more in ({}, {"curve": []}):  # what it does not tell is not asked for
        claim.expect_leaf(LEAF | more, medians(), ROWS)


@pytest.mark.parametrize(
    ("key", "told"),
    [
        ("curve", [*CURVE[:2], [0.5, 3.0], *CURVE[3:]]),
        ("curve", [*CURVE[:-1], [1.0, 5.0]]),
        ("curve", [[0.0, 2.0], *CURVE[1:]]),
        ("curve", CURVE[:-1]),
        ("curve", [*CURVE[:3], [0.8, 4.0], CURVE[4]]),
        ("counts", [2.0, 2.0, 1.0, 1.0, 1.0, 0.5 + 1e-7]),
        ("counts", [2.0, 2.0, 1.0, 1.0, 1.0]),
        ("rows", [1, 1, 1, 1, 1, 2]),
        ("sums", [6.0, 7.5, 22.5 + 1e-6]),
        ("sums", [6.0, 7.5]),
        ("sums", []),
    ],
    ids=str,
)
def test_another_figure_of_a_leaf_is_refused_by_its_name(key, told):
    with pytest.raises(CertificateError, match=f"a leaf of the tree of the certificate has the {key} "):
        claim.expect_leaf(LEAF | {"curve": CURVE} | {key: told}, medians(), ROWS)


def test_no_rows_have_no_points_of_a_curve():
    nothing = {"counts": [0.0] * 6, "rows": [0] * 6, "sums": [0.0] * 4}
    claim.expect_leaf(nothing, medians(), ROWS[:0])
    with pytest.raises(CertificateError, match="has the curve "):
        claim.expect_leaf(nothing | {"curve": CURVE[:1]}, medians(), ROWS[:0])


def test_a_curve_of_another_task_has_no_points():
    classes = Dataset(
        "d", np.zeros((2, 1)), np.array([0, 1], np.int32), (Feature("x", "numeric"),), ("p", "q"), np.ones(2)
    )
    leaf = {"counts": [1.0, 1.0], "rows": [1, 1]}
    claim.expect_leaf(leaf, classes, np.arange(2))
    with pytest.raises(CertificateError, match="has the curve "):
        claim.expect_leaf(leaf | {"curve": [[0.0, 1.0]]}, classes, np.arange(2))


@pytest.mark.parametrize(("scale", "price", "weight_scale"), [(1, 0, 1), (7, 3, 2), (6, 0, 3)])
def test_the_losses_of_a_median_are_how_far_two_numbers_are_apart(scale, price, weight_scale):
    """In units of the certificate, of which a price of nodes takes its part of the scale."""
    apart = np.abs(np.subtract.outer(VALUES, VALUES)) * (scale - price) / weight_scale
    facts = {"scale": scale, "penalty": price, "weight_scale": weight_scale, "loss": apart.tolist()}
    claim.expect_losses(facts, medians())
    for place in ((0, 1), (5, 0), (2, 2)):
        other = apart.copy()
        other[place] += 1e-6
        with pytest.raises(CertificateError, match="states other losses than task=.median. has"):
            claim.expect_losses(facts | {"loss": other.tolist()}, medians())
    with pytest.raises(CertificateError, match="states other losses than task=.median. has"):
        claim.expect_losses(facts | {"loss": (2 * apart).tolist()}, medians())


@pytest.mark.parametrize(("scale", "price", "weight_scale"), [(1, 0, 1), (7, 3, 2)])
def test_each_action_but_the_best_loses_the_votes_of_a_row(scale, price, weight_scale):
    lost = (1 - np.eye(3)) * (scale - price) / weight_scale
    facts, data = {"scale": scale, "penalty": price, "weight_scale": weight_scale}, read(task="policy")
    claim.expect_losses(facts | {"loss": lost.tolist()}, data)
    for other in (2 * lost, lost + 1e-6 * np.eye(3), np.where(np.arange(3) == 1, 2 * lost, lost)):
        with pytest.raises(CertificateError, match="states other losses than task=.policy. has"):
            claim.expect_losses(facts | {"loss": other.tolist()}, data)
        claim.expect_losses(facts | {"loss": other.tolist()}, read())  # of classes any costs can be asked


OF = {"n_rows": 7, "target": "y", "depth": 2}


@pytest.mark.parametrize(
    "more", [{}, {"ignore": ["id"]}, {"categorical": ["x"], "hold_out": 0.2, "n_set_aside": 2}], ids=str
)
def test_what_is_stated_beyond_what_was_found_is_refused(more):
    claim.expect({"of": OF | more}, OF | more)
    for key, value in more.items():
        with pytest.raises(CertificateError, match=claim.NAMES[key]):
            claim.expect({"of": OF | more}, {name: told for name, told in (OF | more).items() if name != key})
        with pytest.raises(CertificateError, match=claim.NAMES[key]):
            claim.expect({"of": {name: told for name, told in (OF | more).items() if name != key}}, OF | more)
        with pytest.raises(CertificateError, match=claim.NAMES[key]):
            claim.expect({"of": OF | more | {key: [value]}}, OF | more)
    with pytest.raises(CertificateError, match="covers 8 rows, but the data file has 7"):
        claim.expect({"of": OF, "data": {"n_rows": 8}}, OF)
    for key, value in (("task", "median"), ("requested", {"goal": "least"}), ("other", 1)):
        with pytest.raises(CertificateError, match=claim.NAMES.get(key, f"states the {key} as")):
            claim.expect({"of": OF | more | {key: value}}, OF | more)


def read(**words) -> Dataset:
    """Three rows of two of three classes."""
    y = np.array([0, 2, 2], np.int32)
    data = Dataset("d", np.zeros((3, 1)), y, (Feature("x", "numeric"),), ("p", "q", "r"), np.ones(3), "y")
    return replace(data, **words)


def test_what_was_told_of_the_reading_and_of_the_rows_is_stated():
    plain = claim.claim_of(read(), 2, 3, True)
    assert plain["rows_of_class"] == [1, 0, 2] and plain["classes"] == ["p", "q", "r"] and plain["columns"] == ["x"]
    assert not {*claim.TOLD, *claim.OF_ROWS, "task", "requested"} & plain.keys()
    told = {"categorical": ("a", "b"), "ignore": ("c",), "decimal": ",", "hold_out": 0.25}
    source = {"numeric": (), "ordered": None, "missing_mark": [], "weights": "w"} | told
    found = claim.claim_of(read(source=source, held_out=np.arange(5), n_dropped=7, n_unlabelled=2), 2, 3, False, ("t",))
    stated = {"categorical": ["a", "b"], "ignore": ["c"], "decimal": ",", "hold_out": 0.25, "n_set_aside": 5}
    stated |= {"weights": "w", "n_dropped_missing": 5, "n_dropped_unlabelled": 2, "all_splits": False}
    assert found == plain | stated | {"constraints": ["t"]}
    assert claim.claim_of(read(source={"hold_out": 0.5}), 1, 1, True)["n_set_aside"] == 0


BEFORE, BEHIND = "target 'y' (n, p); every row counts 1", "rows left out: none"


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"categorical": ["a", "b"]}, f"{BEFORE}; a is read as a category; b is read as a category; {BEHIND}"),
        ({"numeric": ["c"]}, f"{BEFORE}; c is read as numbers; {BEHIND}"),
        ({"ignore": ["", "id"]}, f"{BEFORE}; ignored columns: column 1 (no name), id; {BEHIND}"),
        ({"decimal": ","}, f"{BEFORE}; numbers have the decimal sign ','; {BEHIND}"),
        ({"missing_mark": ["-", "s=?"]}, f"{BEFORE}; also missing: -, s=?; {BEHIND}"),
        ({"ordered": ["s: u < v"]}, f"{BEFORE}; the levels of a column have an order, s: u < v; {BEHIND}"),
        ({"task": "other"}, f"task other, of which the cost is its own; {BEFORE}; {BEHIND}"),
        (
            {"n_dropped_missing": 2, "hold_out": 0.25, "n_set_aside": 1500},
            f"{BEFORE}; rows left out: 2 with missing cells, 1,500 set aside at random (hold_out=0.25)",
        ),
    ],
    ids=str,
)
def test_each_term_of_the_reading_is_told_in_words(changed, words):
    assert claim.words(TERMS | changed) == words

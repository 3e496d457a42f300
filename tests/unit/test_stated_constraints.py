"""What a certificate's checker reads of a constraint, from its words alone, is what it is by definition.

Of drawn trees, those that satisfy it are taken, and are trees of the problem that is bounded; the others are neither.
"""

import re
from dataclasses import replace

import numpy as np
import pytest

from odtc.data.dataset import CATEGORICAL, NUMERIC, Dataset, Feature
from odtc.errors import CertificateError
from odtc.formulations.dpflow.write_certificate import tree_facts
from odtc.formulations.dpflow.write_constrained_certificate import _head as head_of
from odtc.formulations.dpflow.write_constrained_certificate import _ones_left as ones_left_of
from odtc.problem.constraints.constraint import posed
from odtc.problem.constraints.kind import CONSTRAINTS
from odtc.verification.constrained.constrained_certificate import read_problem, tree_cost
from odtc.verification.constrained.multiplier_bound import Problem
from odtc.verification.constrained.stated_constraints import Places, _Rows, readable, stated_constraints
from tests import pipeline
from tests.unit.test_each_constraint import TABLES, allowed, of_kind, table, trees

SEVERAL = (
    ("never_together[f0,f1]", "never_together[f1,f2]", "features <= 2"),
    ("features <= 3", "features <= 1"),
    ("splits <= 1", "splits <= 2"),
    ("forbid_root[f0]", "deepest[f1] <= 0", "not_below[f0,f2]", "not_below[f2,f2]"),
    ("shallowest[f0] >= 1", "shallowest[f0] >= 2", "deepest[f0] <= 2", "deepest[f0] <= 3"),
    ("together[f0,f1]", "class_leaves[x] <= 2"),
    ("require_root[f0,f1]", "forbid_root[f1]", "leaves <= 3"),
    ("monotone[f0,positive=x]", "leaf_class_rows[y] >= 2"),
    ("leaf_precision >= 0.4", "leaf_precision[x] >= 0.6"),
)


def check_of(problem, n: int, depth: int) -> set:
    """Compares the two on trees of a problem; which answers there were."""
    encoded, data, seen = problem.encoded, problem.encoded.dataset, set()
    if not all(readable(str(given)) for given in problem.constraints):
        return seen
    facts, source = head_of(problem)
    read = read_problem(facts, data)
    order = source[read.kept]
    place = np.argsort(order)
    assert sorted(order.tolist()) == list(range(len(encoded.splits)))
    for heap in trees(problem, n, depth):
        wanted = all(allowed(problem, given, heap) for given in problem.constraints)
        if read.stated.places.settled and wastes(heap):
            continue  # a smaller tree does the same
        try:
            paid = tree_cost(tree_facts(heap.to_tree(encoded)), data, read)
            taken = True
        except CertificateError:
            taken = False
        seen.add(wanted)
        if (heap.split[2**read.problem.depth :] >= 0).any():  # it asks a test again below itself, or too many of them
            assert taken == wanted, (list(map(str, problem.constraints)), heap)
            continue
        asked = np.where(heap.split >= 0, place[heap.split], -1)
        found = in_problem(read.problem, asked, ones_left_of(encoded, read, order), heap.label, 1, ())
        held = keeps_all(read.problem, found)
        if read.problem.boxes is not None:
            tree = in_levels(asked, ones_left_of(encoded, read, order), heap.label)
            held = held and read.problem.boxes.rise(tree).all()
        assert (taken, held) == (wanted, wanted), (list(map(str, problem.constraints)), heap)
        if taken:
            assert paid == found[0] == pytest.approx(problem.module.objective(problem, heap) * facts["scale"])
    return seen


def wastes(heap) -> bool:
    """Whether two leaves below one node have one label."""
    nodes = np.flatnonzero(heap.split[: len(heap.split) // 2] >= 0)
    return any(heap.label[2 * t] == heap.label[2 * t + 1] >= 0 for t in nodes)


def in_problem(p: Problem, test, ones_left, label, t: int, path: tuple, rows=None):
    """(cost, uses, tests, [(rows, label)]) of a subtree in a checker's problem; None if it may not stand there."""
    rows = np.ones(len(p.X), bool) if rows is None else rows
    if test[t] < 0:
        k, count = label[t], p.members[rows].sum(axis=0)
        if any(count @ one < least for one, least in zip(p.measures, p.least[:, k])):
            return None
        return count @ p.cost[:, k], p.uses[:, :, k] @ count + p.leaf_uses[:, k], set(), [(rows, k)]
    f = int(test[t])
    if not p.levels[len(path), f] or not all(p.below[above, f] for above in path):
        return None
    ones = p.X[:, f] == ones_left[f]
    sides = ((2 * t, rows & ~ones), (2 * t + 1, rows & ones))
    both = [in_problem(p, test, ones_left, label, child, (*path, f), here) for child, here in sides]
    if None in both:
        return None
    (cost, uses, tests, ends), (price, others, more, behind) = both
    return cost + price + p.price, uses + others + np.array(p.branch_uses, int), tests | more | {f}, ends + behind


def in_levels(test, ones_left, label) -> np.ndarray:
    """A tree as the checker lists it: the first child of a node has the rows on the right."""
    tree, stack = np.zeros((1, len(test) - 1), np.int64), [(0, 1)]
    while stack:
        place, t = stack.pop()
        if test[t] < 0:
            tree[0, place] = -1 - label[t]
            continue
        tree[0, place], left = 1 + test[t], int(ones_left[test[t]])
        stack += [(2 * place + 1, 2 * t + 1 - left), (2 * place + 2, 2 * t + left)]
    return tree


def keeps_all(p: Problem, found) -> bool:
    """Whether a whole tree is one of those that a checker's problem is about."""
    if found is None:
        return False
    _, uses, tests, ends = found
    columns, said = {int(p.column[f]) for f in tests}, np.zeros(len(p.X), int)
    for rows, k in ends:
        said[rows] = k
    return bool(
        (not columns if p.most_columns == 0 else any(columns <= set(one) for one in p.column_sets.tolist()))
        and (uses <= p.bound).all()
        and (p.most_splits is None or len(tests) <= p.most_splits)
        and all(not columns & both or both <= columns for both in p.together)
        and not any(said[low] == k != said[high] for low, high, k in p.follows.tolist())
    )


@pytest.mark.parametrize("kind", CONSTRAINTS.names())
def test_a_constraint_is_read_as_what_it_is(kind):
    seen = set()
    for of_table in TABLES:
        for problem in of_kind(kind, of_table, most=4):
            text = re.sub(r"(\.[0-9]{2})[0-9]+", r"\1", str(problem.constraints[0]))  # 2/3 is no decimal
            seen |= check_of(posed(replace(problem, constraints=()), [text]), 10, 2)
    assert seen in ({True, False}, set())  # some kinds no certificate holds


@pytest.mark.parametrize("texts", SEVERAL, ids=" and ".join)
def test_several_are_read_as_what_they_are(texts):
    problem = pipeline.pose(table(2, True, False), "dpflow", 3, constraints=texts, params={"lambda": 0.25})
    assert check_of(problem, 60, 3) == {True, False}


@pytest.mark.parametrize(
    ("text", "of_columns", "settled"),
    [
        ("recall[x] >= 0.5", False, False),
        ("splits <= 2", False, False),
        ("features <= 2", True, False),
        ("forbid_root[f0]", True, False),
        ("shallowest[f0] >= 1", True, False),
        ("shallowest[f0] >= 2", True, True),
        ("deepest[f0] <= 0", True, False),
        ("not_below[f0,f1]", True, False),
        ("never_together[f0,f1]", True, False),
        ("together[f0,f1]", True, True),
    ],
)
def test_what_speaks_of_columns_is_known_by_its_words(text, of_columns, settled):
    """If columns count, so do tests alike of two of them; if a wasted node counts, every leaf is to hold a row."""
    data = table(2, False, False)
    one = np.ones(data.n_rows, np.int64)
    stated = stated_constraints([text], data, one, np.zeros((data.n_rows, 2), np.int64), 1)
    assert (stated.places.of_columns, stated.places.settled) == (of_columns, settled)
    assert stated.measures.tolist() == [one.tolist()] * settled and stated.least.tolist() == [[1.0, 1.0]] * settled


def test_what_a_path_violates_is_told_with_its_place():
    span, below = {"a": (1, np.inf), "b": (0, 1)}, (("c", "b"), ("c", "c"))
    places = Places(span, below, (frozenset("ad"),), (frozenset("bd"),), 2, 3)
    barred = "which its constraints bar"
    for path, said in {
        "a": f"the root of the tree of the certificate splits on 'a', {barred}",
        "b": "",
        "ba": "",
        "ab": "",
        "aab": f"a node of depth 2 of the tree of the certificate splits on 'b', {barred}",
        "ddb": f"a node of depth 2 of the tree of the certificate splits on 'b', {barred}",
        "bc": "the tree of the certificate splits on 'c' below 'b'",
        "dbc": "the tree of the certificate splits on 'c' below 'b'",
        "dbdc": "the tree of the certificate splits on 'c' below 'b'",
        "cdc": "the tree of the certificate splits on 'c' below 'c'",
        "cb": "",
        "bd": "",
    }.items():
        assert places.violated(path) == said, path
    for columns, tests, said in [
        ("ac", 3, ""),
        ("abc", 3, "splits on 3 columns"),
        ("a", 4, "has 4 different splits"),
        ("ad", 2, "splits on columns that are never to be together"),
        ("ab", 2, "splits on some of columns that are to be together, not all"),
        ("bd", 2, ""),
    ]:
        told = places.violated_by_all(set(columns), tests)
        assert told == (f"the tree of the certificate {said}" if said else ""), columns


def test_groups_are_those_of_their_words():
    """Names of columns may hold signs of the words; cells that are missing are a group of their own."""
    cells = np.array([[0, 1, 0], [1, 0, 1], [2, np.nan, 2], [np.nan, 1, 1]])
    auxiliary = {
        "auxiliary": (Feature("s<=t", CATEGORICAL, ("p|q", "q")),),
        "auxiliary_X": np.array([[0.0], [1], [0], [1]]),
    }
    features = Feature("n", NUMERIC), Feature("c:d", CATEGORICAL, ("u", "v:w")), Feature("e", CATEGORICAL, tuple("xyz"))
    data = Dataset("groups", cells, np.array([0, 1, 0, 1]), features, ("k", "l"), np.ones(4), **auxiliary)
    rows = _Rows(data, np.ones(4, np.int64), np.zeros((4, 2), np.int64), 1)
    for text, wanted in {
        "n": ({0}, {1}, {2}, {3}),
        "n<=1": ({0, 1}, {2}, {3}),
        "n<=0.5": ({0}, {1, 2}, {3}),
        "e": ({0}, {1, 3}, {2}),
        "e:x|z": ({0, 2}, {1, 3}),
        "e:y": ({1, 3}, {0, 2}),
        "c:d": ({1}, {0, 3}, {2}),
        "c:d:v:w": ({0, 3}, {1}, {2}),
        "c:d: u | v:w": ({0, 1, 3}, {2}),
        "s<=t": ({0, 2}, {1, 3}),
        "s<=t:p|q": ({0, 2}, {1, 3}),
    }.items():
        found = [set(np.flatnonzero(group).tolist()) for group in rows.groups(text)]
        assert [group for group in found if group] == list(wanted), text
    for text in ("m<=1", "m:x", ":x", "<=1"):
        with pytest.raises(CertificateError, match="not a column of the data"):
            rows.groups(text)


LONG = "0.333333333333333333333333333333"


@pytest.mark.parametrize(
    ("text", "said"),
    [(f"{name} >= {LONG}", "too large") for name in ("precision[x]", "f1[x]", "leaf_precision", "leaf_precision[y]")]
    + [(f"{name} >= 0.{'5':0>13}", "") for name in ("precision[x]", "f1[x]", "leaf_precision", "leaf_precision[y]")]
    + [
        ("group_accuracy[group=side,positive=x] >= 0.5", "arguments must be group$"),
        ("group_accuracy[of=side] >= 0.5", "arguments must be group$"),
        ("statistical_parity[group=side] <= 0.5", "arguments must be group and positive"),
        ("statistical_parity[group=side,group=f0,positive=x] <= 0.5", "arguments must be group and positive"),
        ("statistical_parity[group=side,positive=z] <= 0.5", "which the data does not have"),
        ("monotone[f9,positive=x]", "not name a column or a class"),
        ("monotone[f0,positive=z]", "not name a column or a class"),
        ("monotone[f0,negative=x]", "is not monotone"),
        ("deepest[f0,f1] <= 1", "not a depth of one column"),
        ("deepest[f0] <= -1", "not a depth of one column"),
        ("deepest[f0] <= 0.5", "not a depth of one column"),
        ("features <= -1", "no whole number"),
        ("features <= 1.5", "no whole number"),
        ("features[f0] <= 1", "no whole number"),
        ("leaves[x] <= 1", "no whole number"),
        ("class_leaves <= 1", "names one class"),
        ("leaf_class_rows[x,y] >= 1", "names one class"),
        ("forbid_root[]", "not name a column of the data"),
        ("forbid_root", "not name a column of the data"),
        ("together[f0]", "names two columns or more"),
        ("together[f0,f0]", "names two columns or more"),
        ("not_below[f0]", "names two columns"),
        ("not_below[f0,f1,f2]", "names two columns"),
        ("not a text", "not a constraint NAME OP NUMBER"),
        ("recall[x] >= 1/0", "not a constraint NAME OP NUMBER"),
        ("recall[x] >= many", "not a constraint NAME OP NUMBER"),
        ("recall[x] <= 0.5", "can hold the constraints"),
        ("accurate >= 0.5", "can hold the constraints"),
    ],
)
def test_a_text_that_says_nothing_exact_is_refused(text, said):
    data = table(2, True, False)
    weight = np.rint(2 * data.weight).astype(np.int64)
    words = [text], data, weight, np.zeros((data.n_rows, 2), np.int64), 1
    assert readable(text) == (
        said not in ("not a constraint NAME OP NUMBER", "can hold the constraints") or "[x] >=" in text
    )
    if not said:
        assert stated_constraints(*words)
        return
    with pytest.raises(CertificateError, match=said):
        stated_constraints(*words)

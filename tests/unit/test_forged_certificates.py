"""Each rule of the checkers of certificates has a forgery that breaks this rule alone.

The forgery is refused by the rule, as the place tells that raised the error; with the rule switched off it is taken. A
rule without a forgery fails the suite.
"""

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from unittest import mock

import numpy as np
import pytest

from odtc.data.dataset import Dataset, Feature
from odtc.data.reading import read
from odtc.errors import CertificateError
from odtc.formulations.dpflow.threshold_search import certify
from odtc.formulations.dpflow.write_constrained_certificate import certify_constrained
from odtc.verification import pair_kernel, three_levels
from odtc.verification.certificate import check, read_certificate
from odtc.verification.constrained import constrained_certificate, listed_cases, multiplier_bound, one_column
from odtc.verification.threshold_columns import left_of
from odtc.workflow.posing import pose_run
from odtc.workflow.specification import ModelSpec, RunSpec
from tests import pipeline
from tests.refusal_sites import expect_refused_alone, sites
from tests.threshold_problems import certificate as of_thresholds
from tests.threshold_problems import interrupted

CHECKERS = (
    *("certificate", "labels", "claim", "interval_bound", "pair_bound", "threshold_columns"),
    *("node_cuts", "three_levels", "coverage", "constrained.constrained_certificate", "constrained.stated_constraints"),
    *("constrained.multiplier_bound", "constrained.listed_cases", "constrained.one_column"),
)
RULES = {key: site for name in CHECKERS for key, site in sites(f"odtc.verification.{name}", checks=False).items()}
# Rules that say in words what the next line would stop at: nothing is taken without them, and why.
WORDED = {
    "threshold_columns._place: the certificate splits on the column": "the column is looked up by its name",
    "threshold_columns.features_of: a column has splits on several": "there are more names than columns",
    "interval_bound.of_root: nothing leads to entry": "there are no rows to look at",
    "interval_bound._hold: a state holds no rows": "a label costs nothing on no rows",
    "interval_bound._named_bounds: it evaluates column": "the column is looked up by its number",
    "interval_bound._child: it names state": "the state is looked up by its number",
    "threshold_columns.rank_columns: it has no columns of splits": "there is nothing to stack",
    "constrained_certificate._check_cases: the certificate lists an invalid case:": "not one of the sets",
    "constrained_certificate.read_problem: a certificate under constraints is checked": "the next rule asks it, too",
    "stated_constraints.of_class: the certificate states a constraint on": "the class is looked up by name",
    "stated_constraints.groups: the certificate states groups by": "there are no groups",
}
# A rule that ends a search: without it there is no end.
ENDLESS = {"pair_bound.require_pair: a tree of two splits after"}

# Two numbers of three values and a column of two levels; 12 rows. Of the second labels one test tells all.
CELLS = [(a, b, (a + b) % 2) for a in (0, 1, 2) for b in (0, 1, 2)] + [(0, 0, 1), (1, 1, 1), (2, 2, 1)]
HARD = [0, 1, 0, 1, 1, 0, 0, 1, 1, 1, 0, 1]
EASY = [int(a > 0) for a, _, _ in CELLS]
A, B = ({"kind": "threshold", "feature": name, "threshold": 0.5} for name in "ab")


def rows(labels, weight=None) -> Dataset:
    features = Feature("a", "numeric"), Feature("b", "numeric"), Feature("c", "categorical", ("u", "v"))
    weight = np.ones(len(CELLS)) if weight is None else np.array(weight, float)
    auxiliary = {
        "auxiliary": (Feature("side", "categorical", ("p", "q")),),
        "auxiliary_X": np.arange(12.0)[:, None] % 2,
    }
    return Dataset("d", np.array(CELLS, float), np.array(labels, np.int32), features, ("n", "p"), weight, **auxiliary)


@cache
def _certified(kind: str, labels: tuple, depth: int, price: float, texts: tuple) -> str:
    problem = pipeline.pose(rows(labels), "dpflow", depth, params={"lambda": price}, constraints=texts)
    if kind == "labels":
        return json.dumps(of_thresholds(interrupted(problem, None)))
    return json.dumps(certify_constrained(problem)[0])


def true(kind: str, labels=HARD, depth: int = 2, price: float = 0.0, texts=()) -> dict:
    """A certificate of what is so."""
    return json.loads(_certified(kind, tuple(labels), depth, price, tuple(texts)))


def ranked(labels=HARD, depth=2, price=0.0, least=1, weight=None, **changed) -> Callable:
    """The check of a certificate of labels, changed."""
    texts = (f"leaf_rows >= {least}",) if least > 1 else ()
    return lambda _: check(true("labels", labels, depth, price, texts) | changed, rows(labels, weight))


def with_terms(facts: dict, **changed) -> dict:
    """A certificate whose stated terms are changed."""
    return facts | {"of": facts["of"] | changed}


def of_tree(kind: str, **changed) -> Callable:
    """The check of a certificate whose tree says something else of the data."""
    facts = true(kind, texts=("features <= 2",) if kind == "constraints" else ())
    facts["tree"] |= changed
    return lambda _: check(facts, rows(HARD))


def of_leaf(kind: str, key: str, changed: Callable) -> Callable:
    """The same where the first count of its last leaf is another."""
    facts = true(kind, texts=("features <= 2",) if kind == "constraints" else ())
    leaf = facts["tree"]["root"]
    while "split" in leaf:
        leaf = leaf["right"]
    leaf[key][0] = changed(leaf[key][0])
    return lambda _: check(facts, rows(HARD))


def with_a_line() -> Callable:
    """The check of a certificate of labels of which the first leaf predicts a line."""
    facts = true("labels")
    leaf = facts["tree"]["root"]
    while "split" in leaf:
        leaf = leaf["left"]
    leaf["line"] = {"feature": "a", "slope": 1.0, "intercept": 0.0}
    return lambda _: check(facts, rows(HARD))


def untold(node: dict) -> dict:
    """A tree whose leaves tell their labels alone."""
    if "label" in node:
        return {"label": node["label"]}
    return node | {side: untold(node[side]) for side in ("left", "right")}


def below_a_leaf(node: dict) -> dict:
    """A tree with one more branch node, whose right side is as the left one."""
    if "label" in node:
        return {"split": B, "left": untold(node), "right": untold(node)}
    return node | {"left": below_a_leaf(node["left"])}


def alone(label: str, *texts: str, labels=HARD, depth: int = 1, weight=None, **changed) -> Callable:
    """The check of a certificate under constraints whose tree is one leaf, as no column may be tested."""
    cost = sum(y != "np".index(label) for y in labels)
    facts = true("constraints", labels, 1, 0.0, ("features <= 0",))
    texts = ["features <= 0", *texts]
    facts |= {"constraints": texts, "of": facts["of"] | {"constraints": texts, "depth": depth}}
    facts |= {"claim": cost, "bound": cost, "tree": {"root": {"label": label}}, "depth": depth} | changed
    return lambda _: check(facts, rows(labels, weight))


def constrained(*texts: str, depth: int = 2, labels=HARD, **changed) -> Callable:
    return lambda _: check(true("constraints", labels, depth, 0.0, texts) | changed, rows(labels))


def added(*texts: str, key: str, value) -> Callable:
    """One more entry in a list of a certificate under constraints."""
    facts = true("constraints", HARD, 2, 0.0, texts)
    return lambda _: check(facts | {key: [*facts[key], value]}, rows(HARD))


def patched(module, name: str, value, given: Callable) -> Callable:
    """The same where an amount that a check may take is another."""

    def run(folder):
        with mock.patch.object(module, name, value):
            return given(folder)

    return run


def other_schema(folder):
    (folder / "c.json").write_text(json.dumps(true("labels") | {"schema": "odtc.certificate/9", "data": SOURCE}))
    return read_certificate(folder / "c.json")


def compiled(given: Callable) -> Callable:
    """The check of pairs by the function that numba compiles, as it is written."""
    return patched(pair_kernel, "least_pair", pair_kernel.least_pair.function, given)


def without_rows(_):
    """A state with points, where rows that are alike are of both classes, so that no row costs anything."""
    cells, y = np.array([[0.0], [0], [1], [1]]), np.array([0, 1, 0, 1], np.int32)
    data = Dataset("d", cells, y, (Feature("a", "numeric"),), ("n", "p"), np.ones(4))
    facts = json.loads(json.dumps(of_thresholds(interrupted(pipeline.pose(data, "dpflow", 3), None))))
    return check(facts | {"states": ["0,1,0,0,1", "0"]}, data)


def barred_root():
    """The tree of the free problem, whose root is barred, at its own cost."""
    free = true("constraints", HARD, 1, 0.0, ("leaf_rows >= 1",))
    text = f"forbid_root[{free['tree']['root']['split']['feature']}]"
    return constrained(text, depth=1, tree=free["tree"], claim=free["claim"], bound=free["claim"])


def dearer_tree():
    """A leaf, where one test costs less: of every case it is said that its trees were looked at."""
    facts = true("constraints", HARD, 1, 0.0, ("leaf_rows >= 1",))
    cases = [{"root": f, "columns": ["a", "b", "c"], "multipliers": []} for f in range(5)]
    leaf, cost = {"root": {"label": "p"}}, HARD.count(0)
    assert facts["of"]["n_candidate_splits"] == 5
    return constrained("leaf_rows >= 1", depth=1, passes=[], cases=cases, tree=leaf, claim=cost, bound=cost)


def a_column_tested():
    """One test, where no column may be tested."""
    tree = {"root": {"split": A, "left": {"label": "n"}, "right": {"label": "p"}}}
    return alone("p", labels=EASY, tree=tree, claim=0, bound=0)


def two_leaves_of_one_class():
    """A column that goes with the one that tells all is tested where it changes nothing."""
    below = {"split": B, "left": {"label": "p"}, "right": {"label": "p"}}
    tree = {"root": {"split": A, "left": {"label": "n"}, "right": below}}
    return constrained("together[a,b]", labels=EASY, tree=tree, claim=0, bound=0)


def with_a_missing_column():
    """A column that is the same in all rows, and a cut of it."""
    facts = true("labels", EASY, 3)
    columns = [*facts["columns"], {"kind": "missing", "feature": "a"}]
    facts = with_terms(facts | {"columns": columns, "states": ["0,3,1,0,0"]}, n_candidate_splits=6)
    return lambda _: check(facts, rows(EASY))


def written_as(kind: str, key: str, place: int, text: str) -> Callable:
    facts = true(kind)
    texts = [*facts[key][:place], text, *facts[key][place + 1 :]]
    return lambda _: check(facts | {key: texts}, rows(HARD))


def with_tests_that_are_not_nested():
    """Of a tree of numbers: the other side of one of two tests whose right sides lie within one another."""

    def run(folder):
        lines = [f"{'uv'[i > 3]},{'uv'[i > 5]},{'uv'[i % 2]},{int(i > 3)}\n" for i in range(9)]
        (folder / "d.csv").write_text("c,d,e,y\n" + "".join(lines))
        data = read(folder / "d.csv", task="regression")
        problem = pose_run(RunSpec(model=ModelSpec("dpflow", 3)), data)
        facts = json.loads(json.dumps(problem.module.certificate(problem)))
        facts["columns"][0]["turned"][0] = 0
        return check(with_terms(facts, all_splits=False), data)

    return run


def with_doubled_losses():
    """Of a policy: each vote counts twice, the bound with it, and the units of an objective stay."""

    def run(folder):
        (folder / "d.csv").write_text("x,a,b\n0,1,2\n0,1,3\n1,3,1\n1,1,2\n")
        data = read(folder / "d.csv", task="policy", actions=("a", "b"))
        facts = certify(pipeline.pose(data, "dpflow", 1))
        doubled = [[2 * price for price in line] for line in facts["loss"]]
        twice = {key: 2 * facts[key] for key in ("claim", "bound")}  # all of it is in its floor
        return check(facts | {"loss": doubled} | twice, data)

    return run


def of_two_features():
    """A column of two tests on different features, of which one is the first that a constraint bars."""
    a = {"kind": "nested", "splits": [A, B], "turned": [0, 0]}  # what is above 0.5 in b is so in a

    def run(folder):
        nested = np.sort(np.array(CELLS, float)[:, :2], axis=1)[:, ::-1]  # b <= a
        data = replace(rows(HARD), X=np.column_stack([nested, rows(HARD).X[:, 2]]))
        facts = json.loads(
            json.dumps(certify_constrained(pipeline.pose(data, "dpflow", 2, constraints=("features <= 2",)))[0])
        )
        facts = with_terms(facts | {"columns": [a]}, n_candidate_splits=2, all_splits=False)
        return check(facts, data)

    return run


def falling_tree(kind: str = "monotone"):
    """The best tree of labels that fall with a number, where they must rise."""
    falling = [1 - y for y in EASY]
    free = true("constraints", falling, 1, 0.0, ("leaf_rows >= 1",))
    text = f"{kind}[a,positive=p]"
    return constrained(text, depth=1, labels=falling, tree=free["tree"], claim=0, bound=0)


def with_repeated_threshold():
    facts = true("labels")
    columns = [facts["columns"][0] | {"thresholds": [0.5, 0.5, 1.5]}, *facts["columns"][1:]]
    return lambda _: check(with_terms(facts | {"columns": columns}, n_candidate_splits=6), rows(HARD))


def joined(_):
    """Two lists of one subtree each, below a branch node."""
    facts = true("constraints", HARD, 2, 0.0, ("features <= 2",))
    problem = constrained_certificate.read_problem(facts, rows(HARD)).problem
    one = np.zeros(1), np.zeros((1, 1))
    return lists_of(problem)._above(0, one, one, 9.0)


def lists_of(problem) -> listed_cases.Lists:
    marks = listed_cases.Marks(problem, np.arange(3))
    return listed_cases.Lists(multiplier_bound.Weighted(problem, 1, [0] * len(problem.bound)), marks, 9)


def paired(_):
    """Two lists of subtrees, of which a pair keeps both sums."""
    facts = true("constraints", HARD, 2, 0.0, ("features <= 2", "accuracy >= 0.5"))
    lists, one = lists_of(constrained_certificate.read_problem(facts, rows(HARD)).problem), np.array([[0.0, 2], [2, 0]])
    return lists._some_pair(0, one, one, np.array([2.0, 2.0]))


def weighing_less(_):
    """Multipliers of a sum that a branch node gives back to, which no constraint has."""
    facts = true("constraints", HARD, 2, 0.0, ("features <= 2", "leaves <= 3"))
    problem = constrained_certificate.read_problem(facts, rows(HARD)).problem
    return multiplier_bound.Weighted(replace(problem, branch_uses=[-1]), 1, [1])


def walked(_):
    """The walks over one column, of which one costs less than 9."""
    facts = true("constraints", HARD, 4, 0.0, ("features <= 1",))
    found = constrained_certificate.read_problem(facts, rows(HARD))
    return one_column.holds_one(multiplier_bound.Weighted(found.problem, 1, []), found.walked[0], 9)


def unsatisfied_with_a_tree():
    return constrained("accuracy >= 0.99", "features <= 1", tree={"root": {"label": "p"}})


NO = {"label": "n"}
LEAF_P = {"root": {"label": "p"}}
WORSE = {"tree": LEAF_P, "claim": HARD.count(0), "bound": HARD.count(0), "states": [str(HARD.count(0))]}
SOURCE = {"target": "y", "missing": "drop"}
EXTREME = {"kind": "threshold", "feature": "a", "threshold": float("inf")}

FORGERIES = {
    "certificate.read_certificate: expected a certificate of schema": lambda: other_schema,
    "labels.scales_of: its depth, its scales or its": lambda: ranked(
        weight_scale=2, scale=3, claim=4, bound=4, states=["4"]
    ),
    "labels.check: the certificate bounds all trees by": lambda: ranked(bound=1),
    "labels.expect_cost: the tree of the certificate costs": lambda: ranked(claim=3),
    "labels._whole: expected": lambda: ranked(
        depth=1, loss=[[0, -1], [1, 0]], tree=LEAF_P, claim=-5, bound=-5, states=["0"]
    ),
    "certificate._checked: the certificate has the classes": lambda: ranked(classes=["p", "n"]),
    "labels.whole_loss: its losses are not a square": lambda: ranked(loss=[[0, 1, 1], [1, 0, 1]]),
    "labels.whole_weights: the weights of the data are": lambda: ranked(
        weight=[1.25] + [1] * 11, tree={"root": untold(true("labels")["tree"]["root"])}
    ),
    "labels.whole_loss: its numbers are too large to": lambda: ranked(EASY, 1, loss=[[0, 2**52], [2**52, 0]]),
    "threshold_columns._place: the certificate splits on the column": lambda: ranked(
        columns=[{"kind": "missing", "feature": "z"}, *true("labels")["columns"][1:]]
    ),
    "threshold_columns.left_of: a split has an unknown kind:": lambda: (
        lambda _: left_of({"kind": "odd", "feature": "a", "values": [1]}, rows(HARD))
    ),
    "threshold_columns.left_of: a threshold is not a finite": lambda: lambda _: left_of(EXTREME, rows(HARD)),
    "claim.walk: the tree of the certificate is": lambda: ranked(
        tree={"root": below_a_leaf(true("labels")["tree"]["root"])}
    ),
    "labels._tree_cost: a leaf of the tree of": lambda: ranked(
        EASY,
        least=2,
        tree={
            "root": {
                "split": A,
                "left": {"split": A, "left": {"label": "n"}, "right": {"label": "n"}},
                "right": {"label": "p"},
            }
        },
    ),
    "claim.expect: the certificate states": lambda: lambda _: check(with_terms(true("labels"), n_rows=13), rows(HARD)),
    "claim.expect: the certificate covers": lambda: ranked(data={"n_rows": 13}),
    "claim.expect_tree: the tree of the certificate states": lambda: of_tree("labels", target="z"),
    "claim.expect_leaf: a leaf of the tree of": with_a_line,
    "claim.expect_leaf: a leaf of the tree of (again)": lambda: of_leaf("labels", "counts", lambda value: value + 1),
    "claim.expect_losses: the certificate states other losses than": with_doubled_losses,
    "interval_bound.__init__: expected states of the levels from": lambda: ranked(states=["2", ""]),
    "interval_bound.of_root: expected one state of all rows": lambda: ranked(states=["2;0"]),
    "interval_bound.of_root: nothing leads to entry": lambda: ranked(EASY, 3, states=["0", "0"]),
    "interval_bound._hold: a state holds no rows": lambda: without_rows,
    "interval_bound._hold: a single label costs": lambda: ranked(
        depth=3, price=0.9, states=["5,0,0,1,0", "9"], bound=5
    ),
    "interval_bound._hold_by_cuts: by its own numbers a split": lambda: ranked(depth=3, states=["1,0,0,0,0"]),
    "interval_bound._hold_three_levels: a tree of three levels costs": lambda: ranked(
        depth=3, states=["2"], bound=2, claim=2, tree=true("labels")["tree"]
    ),
    "interval_bound._hold_last_levels: a state of the last levels": lambda: ranked(states=["2,0,0,0,0"]),
    "interval_bound._named_bounds: it evaluates column": lambda: ranked(EASY, 3, states=["0,9,0,0,0"]),
    "interval_bound._named_bounds: it evaluates a split that separates": lambda: ranked(
        EASY, 4, states=["0,0,0,1,0", "0,0,1,0,0"]
    ),
    "interval_bound._hold_last_levels: one split costs less than the": lambda: ranked(depth=1, **WORSE),
    "interval_bound._named_bounds: without a split all rows are": lambda: ranked(EASY, 3, states=["0,3,0,1,1", "0"]),
    "interval_bound._child: it names state": lambda: ranked(EASY, 3, states=["0,0,0,5,0", ""]),
    "interval_bound._child: a bound without a least number": lambda: ranked(
        EASY, 4, least=2, states=["0,0,0,1,0", "f0,1,0,1,0", "0"]
    ),
    "interval_bound._note: different cuts lead to state": lambda: ranked(
        EASY, 3, least=2, states=["0,0,0,1,0,0,1,1,0", "0"]
    ),
    "interval_bound._entries: expected a bound and four whole": lambda: written_as("labels", "states", 0, "+2"),
    "pair_bound.require_pair: a tree of two splits after": lambda: ranked(least=2, **WORSE),
    "interval_bound.require: a tree of two splits after": lambda: compiled(ranked(**WORSE)),
    "three_levels.least_cost: it leaves": lambda: patched(three_levels, "SETS", 0, ranked(depth=3, states=["1"])),
    "threshold_columns.rank_columns: it has no columns of splits": lambda: ranked(columns=[]),
    "threshold_columns.rank_columns: its thresholds are not finite numbers": with_repeated_threshold,
    "threshold_columns._nested_rank: a column has splits that are": with_tests_that_are_not_nested,
    "threshold_columns.cut: it evaluates a split that separates": with_a_missing_column,
    "constrained_certificate.read_problem: a certificate under constraints is checked": lambda: patched(
        constrained_certificate, "MOST_CELLS", 0, of_tree("constraints")
    ),
    "constrained_certificate._expect_size: a certificate under constraints has depth": lambda: alone("p", depth=5),
    "constrained_certificate.read_problem: its numbers are too large to": lambda: alone(
        "p", loss=[[0, 2**49], [2**49, 0]], claim=5 * 2**49, bound=5 * 2**49
    ),
    "constrained_certificate._columns_of: its columns are not in groups": lambda: alone(
        "p",
        columns=[
            {"kind": "threshold", "feature": name, "thresholds": [cut]}
            for name, cut in (("a", 0.5), ("b", 0.5), ("a", 1.5), ("b", 1.5), ("c", 0.5))
        ],
    ),
    "constrained_certificate.check: the certificate has only some of": unsatisfied_with_a_tree,
    "constrained_certificate.check: its claim, its bound or the": lambda: alone("p", multiplier_scale=0),
    "constrained_certificate.check: a single leaf of the class": lambda: alone("n"),
    "constrained_certificate._check_cases: cases are neither excluded by multipliers": lambda: constrained(
        "recall[p] >= 0.6", "features <= 2", cases=[], passes=[]
    ),
    "constrained_certificate._check_cases: the certificate lists an invalid case:": lambda: added(
        "features <= 2", key="cases", value={"root": 0, "columns": ["a"], "multipliers": []}
    ),
    "constrained_certificate._check_cases: the certificate lists all trees over": lambda: added(
        "features <= 1", key="cases", value={"columns": ["a"], "multipliers": []}
    ),
    "constrained_certificate._expect_none: a tree over": dearer_tree,
    "constrained_certificate.tree_cost: the tree of the certificate does": lambda: alone("p", "recall[n] >= 0.1"),
    "constrained_certificate.tree_cost: wrong (again)": a_column_tested,
    "constrained_certificate.tree_cost: a node of the tree of": two_leaves_of_one_class,
    "threshold_columns.features_of: a column has splits on several": of_two_features,
    "constrained_certificate.tree_cost: the tree of the certificate does (again)": falling_tree,
    "constrained_certificate.tree_cost: the tree of the certificate does (again) (again)": lambda: falling_tree(
        "monotone_everywhere"
    ),
    "constrained_certificate.tree_cost: wrong": barred_root,
    "constrained_certificate.tree_cost: a leaf of the tree of": lambda: alone("p", "leaf_rows >= 13"),
    "stated_constraints.of_class: the certificate states a constraint on": lambda: alone("p", "recall[q] >= 0"),
    "stated_constraints.groups: the certificate states groups by": lambda: alone("p", "group_accuracy[group=z] >= 0"),
    "stated_constraints._balanced_accuracy: the certificate states": lambda: alone("p", "balanced_accuracy[p] >= 0.1"),
    "stated_constraints._cost: the certificate states": lambda: alone("p", "cost[p] <= 99"),
    "stated_constraints._expect_exact: the numbers of": lambda: alone("p", "precision[p] >= 0.0000000000000001"),
    "stated_constraints._keyed: the certificate states": lambda: alone("p", "group_accuracy[group=side,more=c] >= 0"),
    "stated_constraints._parsed: the certificate states": lambda: alone("p", "recall[p] >= +0.1"),
    "stated_constraints._parsed: a certificate can hold the constraints": lambda: alone("p", "nodes <= 1"),
    "stated_constraints._one: the certificate states": lambda: alone("p", "leaf_class_rows[p,n] >= 1"),
    "stated_constraints.with_place: the certificate states": lambda: alone("p", "forbid_root[z]"),
    "stated_constraints.with_place: the certificate states (again)": lambda: alone("p", "not_below[a,b,c]"),
    "stated_constraints.with_place: the certificate states (again) (again)": lambda: alone("p", "together[a]"),
    "stated_constraints.with_place: the certificate states (again) (again) (again)": lambda: alone(
        "p", "deepest[a] <= 0.5"
    ),
    "stated_constraints.count_of: the certificate states": lambda: alone("p", "leaf_rows >= 1.5"),
    "multiplier_bound.column_sets: a certificate looks at up to": lambda: patched(
        multiplier_bound, "MOST_SETS", 0, constrained("features <= 2")
    ),
    "multiplier_bound.column_sets: a certificate looks at up to (again)": lambda: patched(
        multiplier_bound, "MOST_SETS", 0, constrained("never_together[a,b]")
    ),
    "multiplier_bound.__init__: its multipliers are not one number": lambda: added(
        "recall[p] >= 0.6", "features <= 2", key="passes", value=[-1]
    ),
    "multiplier_bound.__init__: its branch nodes or leaves weigh": lambda: weighing_less,
    "multiplier_bound.__init__: its multipliers are too large to": lambda: added(
        "recall[p] >= 0.6", "features <= 2", key="passes", value=[2**50]
    ),
    "one_column.__init__: the splits of a column are": lambda: patched(
        one_column, "MOST_HELD", 0, constrained("features <= 1", depth=4)
    ),
    "one_column.one_ends: the walks over the splits of": lambda: patched(one_column, "MOST_WALKS", 0, walked),
    "listed_cases._above: the lists of subtrees of a": lambda: patched(listed_cases, "MOST_PAIRS", 0, joined),
    "listed_cases._some_pair: the lists of subtrees of a": lambda: patched(listed_cases, "MOST_PAIRS", 0, paired),
}


def test_each_rule_has_a_forgery():
    assert sorted(FORGERIES) == sorted(RULES) and WORDED.keys() | ENDLESS <= RULES.keys()


def test_a_tree_under_constraints_that_is_too_deep_is_refused(tmp_path):
    forgery = constrained(
        "features <= 2",
        depth=1,
        tree={"root": below_a_leaf(true("constraints", HARD, 1, 0.0, ("features <= 2",))["tree"]["root"])},
    )
    expect_refused_alone(forgery, RULES["claim.walk: the tree of the certificate is"], tmp_path)


@pytest.mark.parametrize("kind", ["labels", "constraints"])
def test_what_is_so_is_taken(kind):
    facts = true(kind, texts=("features <= 2",) if kind == "constraints" else ())
    assert check(copy.deepcopy(facts), rows(HARD)).optimal


@pytest.mark.parametrize("rule", FORGERIES)
def test_a_forgery_breaks_one_rule_alone(rule, tmp_path):
    taken = None if rule in ENDLESS else rule not in WORDED
    expect_refused_alone(FORGERIES[rule](), RULES[rule], tmp_path, taken)


WORDS = {
    "schema": "odtc.tree/2",
    "task": "regression",
    "target": "z",
    "classes": ["p", "n"],
    "features": [Feature("a", "numeric").to_json()] * 3,
    "missing": "error",
    "goal": "max",
}


@pytest.mark.parametrize("kind", ["labels", "constraints"])
def test_all_that_the_tree_says_of_the_data_is_bound(kind):
    for key, value in WORDS.items():
        with pytest.raises(CertificateError, match=f"the tree of the certificate states (item 2 of )?its {key} as"):
            of_tree(kind, **{key: value})("")
    for key in ("counts", "rows"):
        with pytest.raises(CertificateError, match=f"a leaf of the tree of the certificate has the {key} "):
            of_leaf(kind, key, lambda value: value + 1)("")
        assert of_leaf(kind, key, lambda value: value)("").optimal


def test_a_leaf_of_other_classes_tells_nothing():
    facts = true("labels")
    leaf = facts["tree"]["root"]
    while "split" in leaf:
        leaf = leaf["right"]
    for counts in ([], [*leaf["counts"], 0]):
        leaf["counts"] = counts
        with pytest.raises(CertificateError, match="has the counts"):
            check(facts, rows(HARD))
    del leaf["counts"]  # what says nothing says nothing false
    assert check(facts, rows(HARD)).optimal

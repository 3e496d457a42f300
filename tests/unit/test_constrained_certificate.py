"""Certificates of constrained optima: their claim is the optimum, and no corruption makes them prove another."""

import copy
import json
import os
import random
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import odtc
from odtc.algorithms.constrained import all_thresholds, engines
from odtc.algorithms.constrained.constrained_problem import ConstrainedProblem
from odtc.algorithms.constrained.constrained_search import ConstrainedSearch
from odtc.algorithms.constrained.subtree_options import Options
from odtc.base import deadline
from odtc.data.dataset import NUMERIC, Dataset, Feature
from odtc.errors import CertificateError, ChoiceError, NoSolutionError, NotProvedError, TimeLimitReached
from odtc.formulations.dpflow import write_constrained_certificate
from odtc.formulations.dpflow.constrained import Posed
from odtc.formulations.dpflow.write_constrained_certificate import _arrays, certify_constrained
from odtc.formulations.dpflow.write_constrained_certificate import _head as head_of
from odtc.testing.optima import least_of_every_tree
from odtc.verification.certificate import check
from odtc.verification.constrained import constrained_certificate
from odtc.verification.constrained.constrained_certificate import read_problem
from odtc.verification.constrained.listed_cases import excluded
from odtc.verification.constrained.multiplier_bound import surviving
from odtc.verification.labels import terms_of
from odtc.workflow.provenance.certifying import certify
from tests import pipeline
from tests.command_line import MONKS, refused
from tests.command_line import odtc as odtc_run
from tests.unit.algorithms.every_tree import cheapest_feasible
from tests.unit.test_stated_constraints import in_levels, in_problem, keeps_all

CORRUPTIONS = 1000 if os.environ.get("ODTC_ALL_CELLS") else 100
SETS = (
    ("recall[yes] >= 0.6", "features <= 2"),
    ("statistical_parity[group=side:p,positive=yes] <= 0.1", "leaf_rows >= 2"),
    ("precision[yes] >= 0.75", "branch_nodes <= 2"),
    ("equalised_odds[group=side,positive=no] <= 0.5", "accuracy >= 0.5"),
    ("group_accuracy[group=side] >= 0.6", "leaves <= 3"),
    ("false_negative_rate[yes] <= 0.3", "false_positive_rate[yes] <= 0.4", "features <= 1"),
    ("equal_opportunity[group=f0,positive=yes] <= 0.2", "predictive_equality[group=side:p|q,positive=yes] <= 0.4"),
    ("features <= 0",),
    ("f1[yes] >= 0.7", "features <= 2"),
    ("balanced_accuracy >= 0.7", "branch_nodes <= 2"),
    ("cost <= 4.5", "recall[yes] >= 0.5"),
    ("forbid_root[f0,f2]", "recall[yes] >= 0.7"),
    ("require_root[f1]", "precision[yes] >= 0.6", "features <= 2"),
    ("leaf_precision >= 0.7",),
    ("leaf_precision[yes] >= 0.8", "recall[yes] >= 0.5"),
    ("leaf_class_rows[yes] >= 3", "leaf_class_rows[no] >= 2", "features <= 2"),
    ("class_leaves[yes] <= 1", "leaf_rows >= 2"),
    ("not_below[f0,f1]", "not_below[f2,f2]"),
    ("never_together[f0,f1]", "recall[yes] >= 0.6"),
    ("never_together[f0,f1,f2]", "features <= 2"),
    ("together[f0,f1]", "class_leaves[no] <= 1"),
    ("together[f1,f2]", "recall[no] >= 0.8"),
    ("deepest[f0] <= 0", "deepest[f1] <= 1"),
    ("shallowest[f0] >= 1", "shallowest[f1] >= 2", "leaf_precision[no] >= 0.6"),
    ("splits <= 2", "recall[yes] >= 0.5"),
    ("monotone[f0,positive=no]",),
    ("monotone[f1,positive=yes]", "recall[yes] >= 0.9"),
    ("monotone[f0,positive=no]", "monotone[f1,positive=no]", "features <= 2"),
    ("monotone[f1,positive=no]", "splits <= 2", "together[f0,f1]"),
    ("monotone_everywhere[f0,positive=no]",),
    ("monotone_everywhere[f1,positive=yes]", "recall[yes] >= 0.9"),
    ("monotone_everywhere[f0,positive=no]", "monotone_everywhere[f1,positive=no]", "features <= 2"),
    ("monotone_everywhere[f1,positive=no]", "splits <= 2", "monotone[f0,positive=no]"),
    ("recall[yes] >= 2/3", "false_positive_rate[yes] <= 1/3", "leaf_precision[no] >= 4/7"),
)
NO_TREE = dict.fromkeys(("claim", "bound", "tree"))
UNSATISFIED = (
    ("recall[yes] >= 0.95", "precision[yes] >= 0.99", "branch_nodes <= 1"),
    ("accuracy >= 0.99", "features <= 1"),
    ("cost <= 0.25", "leaf_rows >= 5"),
    ("f1[yes] >= 0.99", "require_root[f2]", "branch_nodes <= 1"),
    ("monotone[f0,positive=no]", "monotone[f1,positive=no]", "recall[no] >= 0.9", "recall[yes] >= 0.9"),
)


def small(seed: int, n: int = 14, values: int = 3) -> Dataset:
    """Rows of three columns, two classes, and an auxiliary column."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, values, (n, 3)).astype(float)
    X[0], X[1] = 0, values - 1
    y = ((X.sum(axis=1) + rng.integers(0, 3, n)) > 3).astype(np.int32)
    y[0], y[1] = 0, 1
    features = (Feature("f0", "numeric"), Feature("f1", "numeric"), Feature("f2", "categorical", ("a", "b", "c")))
    weight = rng.choice([1.0, 1.0, 2.0, 0.5], n)
    auxiliary = (Feature("side", "categorical", ("p", "q", "r")),)
    side = rng.integers(0, 3, (n, 1)).astype(float)
    return Dataset("small", X, y, features, ("no", "yes"), weight, auxiliary=auxiliary, auxiliary_X=side)


def posed(seed: int, depth: int, constraints, **words):
    return pipeline.pose(small(seed), "dpflow", depth, encoding="auto", constraints=constraints, **words)


@pytest.mark.parametrize(
    ("depth", "words", "constraints"),
    [(2, words, texts) for texts in SETS for words in ({}, {"params": {"lambda": 0.2}})]
    + [(1, {}, texts) for texts in SETS[:4]]
    + [(3, {}, texts) for texts in (*SETS[:2], SETS[23])],
)
def test_the_claim_is_the_optimum_of_trying_every_tree(depth, words, constraints):
    problem = posed(hash_of(constraints), depth, constraints, **words)
    facts, heap = certify_constrained(problem)
    if heap is None:
        assert check(json.loads(json.dumps(facts)), problem.encoded.dataset).infeasible
        if depth < 3:
            assert least_of_every_tree(problem) == np.inf
        return
    proof = check(json.loads(json.dumps(facts)), problem.encoded.dataset)
    assert proof.objective == pytest.approx(problem.module.objective(problem, heap))
    if depth < 3:
        assert proof.objective == pytest.approx(least_of_every_tree(problem))
    else:
        assert facts["claim"] == cheapest_by_trying(facts, problem.encoded.dataset)


def hash_of(constraints) -> int:
    return sum(map(ord, "".join(constraints)))


@pytest.mark.parametrize(
    "constraints",
    [SETS[0], ("together[f0,f1]",), ("shallowest[f0] >= 2",), ("class_leaves[no] <= 1", "leaf_precision >= 0.7")],
)
def test_a_certificate_of_depth_4(constraints):
    data = small(hash_of(constraints), values=2)
    facts, heap = certify_constrained(pipeline.pose(data, "dpflow", 4, encoding="auto", constraints=constraints))
    assert check(json.loads(json.dumps(facts)), data).infeasible == (heap is None)
    assert facts["claim"] == cheapest_by_trying(facts, data)


@pytest.mark.parametrize(
    ("depth", "texts"), [(2, ()), (4, ()), (2, ("require_root[f1]", "leaf_rows >= 3")), (3, ("require_root[f2]",))]
)
def test_two_tests_of_more_than_800_have_a_certificate(depth, texts):
    """Of a number of tests there was one over 800 tests at most, and of depth 4 over a hundred."""
    rng = np.random.default_rng(7)
    X = np.argsort(rng.random((290, 3)), axis=0).astype(float)
    y = ((X[:, 0] > 150) ^ (X[:, 1] > 90) ^ (rng.random(290) < 0.1)).astype(np.int32)
    data = Dataset("wide", X, y, tuple(Feature(f"f{j}", NUMERIC) for j in range(3)), ("no", "yes"), np.ones(290))
    done = odtc.fit(data, None, "dpflow", depth, constraints=("splits <= 2", *texts))
    assert done.problem.encoded.n_candidate_splits == 867 and done.certified
    assert done.facts["objective"] == least_of_two_tests(X, y, texts)


def least_of_two_tests(X: np.ndarray, y: np.ndarray, texts: tuple[str, ...]) -> float:
    """By trying each pair of thresholds, either of them at the root, and every choice of leaves that are parted."""
    n, least = len(y), 3 if "leaf_rows >= 3" in texts else 0
    cuts = [(j, x <= value) for j, x in enumerate(X.T) for value in np.sort(x)[:-1]]
    left = np.array([below for _, below in cuts]).astype(float)
    root = np.array([f"require_root[f{j}]" in texts or not any("root" in text for text in texts) for j, _ in cuts])
    best = float(min(y.sum(), n - y.sum()))

    def cost(ones, rows):
        return np.where(rows >= least, np.minimum(ones, rows - ones), np.inf)

    for t in np.flatnonzero(root):
        sides = []
        for side in (left[t], 1 - left[t]):
            rows, ones = left @ side, left @ (side * y)
            all_rows, all_ones = side.sum(), side @ y
            sides.append((cost(all_ones, all_rows), cost(ones, rows) + cost(all_ones - ones, all_rows - rows)))
        (one, parted), (other, apart) = sides
        best = min(best, float((np.minimum(one, parted) + np.minimum(other, apart)).min()))
    return best


def test_a_thousand_corruptions_are_refused_or_still_true():
    """One value of a certificate is changed; what is accepted then holds by trying every tree. A tenth is tried;
    ODTC_ALL_CELLS=1 tries all."""
    made = []
    each = [(SETS[0], 2), (SETS[1], 2), (SETS[2], 2), (SETS[5], 2), (SETS[3], 1)]
    for seed, (constraints, depth) in enumerate([*each, *((texts, 2) for texts in (*SETS[8:], *UNSATISFIED))]):
        problem = posed(hash_of(constraints) + seed, depth, constraints)
        made.append((certify_constrained(problem)[0], problem.encoded.dataset))
    draw, seen = random.Random(5), 0
    for _ in range(CORRUPTIONS):
        facts, dataset = draw.choice(made)
        corrupt = corrupted(draw, facts)
        try:
            check(corrupt, dataset)
        except CertificateError:
            seen += 1
            continue
        assert is_true(corrupt, cheapest_by_trying(corrupt, dataset))
    assert seen > CORRUPTIONS // 4


def is_true(facts: dict, least: int | None) -> bool:
    """Whether an accepted certificate states a bound of all trees, of which the cheapest costs this much."""
    return facts["bound"] == least if None in (facts["bound"], least) else facts["bound"] <= least <= facts["claim"]


def cheapest_by_trying(facts: dict, dataset: Dataset) -> int | None:
    """What the cheapest tree costs that satisfies what a certificate states, by every tree over its tests."""
    read = read_problem(facts, dataset)
    if read.problem.boxes is not None:
        return cheapest_rising(read.problem)
    column, together, most = (getattr(read.problem, name) for name in ("column", "together", "most_splits"))

    def accepts(tests: frozenset) -> bool:
        columns = {int(column[test]) for test in tests}
        return (most is None or len(tests) <= most) and all(not columns & both or both <= columns for both in together)

    arrays = _arrays(read, np.ones(len(read.problem.column), bool))
    of = np.nonzero(read.problem.members)[0]  # a row of the arrays is of one kind
    pairs = [
        (int(one), int(other), label)
        for low, high, label in read.problem.follows.tolist()
        for one in np.flatnonzero(of == low)
        for other in np.flatnonzero(of == high)
    ]
    return cheapest_feasible(arrays, accepts, settled=bool(together), pairs=pairs)


def cheapest_rising(p) -> int | None:
    """The same if a class rises on all inputs: by every tree as a whole."""
    ones_left, size, found = np.ones(len(p.column), bool), 2 ** (p.depth + 1), []

    def shapes(height: int) -> list:
        labels = list(range(p.cost.shape[1]))
        below = shapes(height - 1) if height else []
        return labels + list(product(range(len(p.column)), below, below))

    def place(shape, t: int, split: np.ndarray, label: np.ndarray) -> None:
        if isinstance(shape, int):
            label[t] = shape
            return
        split[t] = shape[0]
        place(shape[1], 2 * t, split, label)
        place(shape[2], 2 * t + 1, split, label)

    for shape in shapes(p.depth):
        split, label = np.full(size, -1), np.full(size, -1)
        place(shape, 1, split, label)
        kept = in_problem(p, split, ones_left, label, 1, ())
        if keeps_all(p, kept) and p.boxes.rise(in_levels(split, ones_left, label)).all():
            found.append(int(kept[0]))
    return min(found, default=None)


def corrupted(draw: random.Random, facts: dict) -> dict:
    """A certificate with one to three values changed, taken out or put elsewhere."""
    facts = copy.deepcopy(facts)
    for _ in range(draw.choice([1, 1, 2, 3])):
        places = list(leaves_of(facts))
        holder, key = draw.choice(places)
        value = holder[key]
        if isinstance(value, bool):
            holder[key] = not value
        elif isinstance(value, (int, float)):
            holder[key] = draw.choice([value + 1, value - 1, 0, -value, 2 * value, value + 0.5, 2**60, None])
        elif isinstance(value, str):
            others = [at[spot] for at, spot in places if isinstance(at[spot], str)]
            holder[key] = draw.choice([draw.choice(others), value + "0", value.replace("0.", "0.9"), "", 3])
        elif isinstance(value, (list, dict)) and isinstance(holder, list):
            change = draw.choice([list.pop, list.append, list.reverse])
            change(holder, *{list.pop: (key,), list.append: (value,)}.get(change, ()))
        else:
            holder[key] = draw.choice([[], {}, None, [value]])
    return facts


def leaves_of(facts):
    """(holder, key) of every value; numbers and texts, and the members of lists."""
    for key, value in facts.items() if isinstance(facts, dict) else enumerate(facts):
        yield facts, key
        if isinstance(value, (dict, list)):
            yield from leaves_of(value)


@pytest.mark.parametrize("constraints", SETS, ids=" and ".join)
def test_a_fit_checks_the_certificate_of_its_own_search(constraints):
    """Made from the multipliers of the search, in other units than the checker's."""
    data = small(hash_of(constraints))
    words = {"encoding": "auto", "constraints": constraints, "class_weight": {"yes": 1, "no": 2.5}, "lambda_": 0.1}
    try:
        facts = odtc.fit(data, "dpflow", 2, **words).facts
    except NoSolutionError:
        return
    assert facts["termination"] == "optimal" and facts["certified"] is True


def test_numbers_too_large_for_a_certificate_leave_the_proof_of_the_search(tmp_path):
    """The sums of the certificate are in finer units than those of the search: a million times 1,000 and 0.001."""
    rows = "b,1000,y c,0.001,x a,1000,x b,1,x a,1,x".split()
    (tmp_path / "t.csv").write_text("\n".join(["f,w,y", *rows]) + "\n")
    done = pipeline.fit(
        tmp_path / "t.csv",
        depth=1,
        weights="w",
        cost="x:y=1e6,y:x=1e6",
        params={"lambda": "0.001"},
        constraints=["leaves <= 2", "leaf_rows >= 2"],
    )
    assert done.proved and done.facts["objective"] == 999000.001 and done.verified
    assert done.certified is None and "round weights, costs and the penalty lambda" in done.uncertified


def test_a_class_rises_with_numbers_and_over_splits_that_have_boxes():
    data = small(1)
    facts = certify_constrained(posed(1, 2, ("monotone_everywhere[f0,positive=no]",)))[0]
    one = {"kind": "threshold", "feature": "f0", "threshold": 0.0}
    nested = {"kind": "nested", "splits": [one], "turned": [0]}
    number = {"kind": "subset", "feature": "f1", "values": [1.0]}
    for changed, said in (
        ({"constraints": ["monotone_everywhere[f2,positive=no]"]}, "rises with 'f2', which has no numbers"),
        ({"columns": [nested, *facts["columns"]]}, "nested splits of the certificate have no boxes"),
        ({"columns": [number, *facts["columns"]]}, "uses numbers of 'f1' one by one"),
    ):
        with pytest.raises(CertificateError, match=said):
            check(json.loads(json.dumps(facts | changed)), data)


@pytest.mark.parametrize("depth, recall", [(1, 0.6), (2, 0.7), (1, 0.999)])
def test_a_search_over_some_tests_first_has_a_certificate_too(depth, recall, monkeypatch):
    monkeypatch.setattr(engines, "FEW_TESTS", 5)
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(20, 2)).round(1), rng.integers(0, 2, 20).astype(np.int32)
    data = Dataset("some", X, y, tuple(Feature(name, NUMERIC) for name in "ab"), ("k", "l"), np.ones(20))
    constraints = (f"recall[{data.classes[0]}] >= {recall}", f"precision[{data.classes[0]}] >= {recall}")
    engine = pipeline.pose(data, "dpflow", depth, constraints=constraints).derived(Posed)
    assert not isinstance(engine.search, ConstrainedSearch) and engine.search is not None
    try:
        found = odtc.fit(data, "dpflow", depth, constraints=constraints).facts
    except NoSolutionError as error:
        found = error.outcome.to_json()
    assert found["certified"] is True and "uncertified" not in found


@pytest.mark.parametrize("seed", range(6))
def test_sweeps_leave_the_cases_that_counts_of_pairs_leave(seed, monkeypatch):
    """Of any multipliers, and any claim; and their lists say the same."""
    rng, depth = np.random.default_rng(seed), 2 + seed % 2
    for constraints in [SETS[place] for place in rng.permutation(len(SETS))[: 4 if depth == 2 else 2]]:
        data = small(int(rng.integers(1000)), n=18 if depth == 2 else 8)
        try:
            problem = pipeline.pose(data, "dpflow", depth, constraints=constraints)
        except ChoiceError:  # a class that is to rise, and no two rows that could tell
            continue
        facts = head_of(problem)[0]
        paired = read_problem(facts, data).problem
        swept = replace(paired, swept=True)
        for _ in range(3):
            drawn = (rng.integers(0, 3000, len(paired.bound)) * (rng.random(len(paired.bound)) < 0.7)).tolist()
            claim = int(rng.integers(0, paired.members.sum() * paired.cost.max() / 3 + 2))
            if paired.most_columns == 0:
                continue
            left = surviving(paired, 1024, [drawn], claim)
            assert (surviving(swept, 1024, [drawn], claim) == left).all()
            for root, subset in np.argwhere(left)[:2].tolist():
                columns = np.unique(paired.column_sets[subset])
                both = [excluded(one, 1024, root, columns, drawn, claim) for one in (paired, swept)]
                assert both[0] == both[1]


def test_a_search_by_sweeps_has_a_certificate(monkeypatch):
    """Depth 3 over thresholds of two columns, and a table that no tree satisfies."""
    monkeypatch.setattr(all_thresholds, "MANY_SPLITS", 20)
    monkeypatch.setattr(constrained_certificate, "WIDE", 20)
    monkeypatch.setattr(write_constrained_certificate, "swept", constrained_certificate.swept)
    rng = np.random.default_rng(4)
    X = rng.normal(size=(26, 2)).round(1)
    y = (X.prod(axis=1) + 0.3 * rng.normal(size=26) > 0).astype(np.int32)
    data = Dataset("two", X, y, (Feature("a", NUMERIC), Feature("b", NUMERIC)), ("no", "yes"), np.ones(26))
    for texts in (("recall[yes] >= 0.8",), ("recall[yes] >= 1.0", "precision[yes] >= 0.99", "leaf_rows >= 5")):
        problem = pipeline.pose(data, "dpflow", 3, constraints=texts)
        assert isinstance(problem.derived(Posed).search, all_thresholds.ThresholdSearch)
        facts, _ = certify_constrained(problem)
        proof = check(json.loads(json.dumps(facts)), data)
        try:
            found = odtc.fit(data, "dpflow", 3, constraints=texts).facts
            assert found["objective"] == proof.objective
        except NoSolutionError as error:
            found = error.outcome.to_json()
            assert proof.infeasible
        assert found["certified"] is True and "uncertified" not in found


def test_multipliers_of_cases_are_found_by_the_columns_of_the_checker(monkeypatch):
    """A search whose constraints do not distinguish columns has one for all splits."""
    seen, listed = [], write_constrained_certificate._listed
    monkeypatch.setattr(
        write_constrained_certificate, "_listed", lambda *given: [seen.append(given[::2]), listed(*given)][1]
    )
    problem = pipeline.pose(MONKS / "monks-1.csv", "dpflow", 3, constraints=("balanced_accuracy >= 0.5",), fitting=True)
    facts = problem.module.search(problem, None, lambda *told: None).certificate()
    ((read, known, _),) = seen
    assert len(read.names) > 1 and frozenset(range(len(read.names))) in known.subset
    assert check(json.loads(json.dumps(facts)), problem.encoded.dataset).optimal


def test_what_stands_in_for_a_certificate_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(write_constrained_certificate, "small_enough", lambda *size: False)
    rng = np.random.default_rng(1)
    X, path = rng.normal(size=(24, 2)).round(1), tmp_path / "t.csv"
    rows = [f"{a},{b},{'yes' if a * b > 0 else 'no'}" for a, b in X]
    path.write_text("\n".join(["a,b,y", *rows]) + "\n")
    monkeypatch.setattr(all_thresholds, "MANY_SPLITS", 20)
    ran = odtc_run("fit", path, "--depth", 3, "--constraint", "recall[yes] >= 0.8", "--json", folder=tmp_path)
    facts = json.loads(ran.out)
    assert facts["termination"] == "optimal" and "certified" not in facts
    assert facts["uncertified"].startswith("the search is the only proof") and facts["uncertified"] in ran.err
    report = odtc_run("report", "t_dpflow_d3", folder=tmp_path)
    page = next(tmp_path.glob("*.html")).read_text()
    assert report.code == 0 and "No certificate was checked: the search is the only proof" in page
    with pytest.raises(NoSolutionError, match="the search is the only proof") as told:
        constraints = ("recall[yes] >= 0.99", "recall[no] >= 0.99", "leaf_rows >= 11")
        odtc.fit(path, "dpflow", 3, constraints=constraints)
    assert told.value.outcome.to_json()["uncertified"].startswith("the search is the only proof")


@pytest.mark.parametrize("at_once", [600, 1])
def test_a_decimal_near_a_third_is_not_a_third(at_once, monkeypatch):
    """A third is more than the decimal 0.3333333333333333, so a tree that reaches a third breaks it."""
    monkeypatch.setattr(engines, "FEW_TESTS", at_once)
    X, y = np.array([[0.0], [1], [2], [3]]), np.array([0, 0, 0, 1], np.int32)
    data = Dataset("thirds", X, y, (Feature("f0", "numeric"),), ("no", "yes"), np.ones(4))
    words = {"encoding": "auto", "class_weight": {"no": 1, "yes": 9}}
    for bound, objective in (("0.3333333333333333", 9), ("1/3", 1)):
        texts = (f"false_positive_rate[yes] <= {bound}", "leaf_rows >= 2")
        facts = odtc.fit(data, "dpflow", 1, constraints=texts, **words).facts
        assert (facts["termination"], facts["objective"]) == ("optimal", objective)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda facts: facts.update(claim=facts["claim"] - 1, bound=facts["claim"] - 1), "costs"),
        (lambda facts: facts["of"]["constraints"].pop(), "the certificate states the constraints"),
        (lambda facts: facts["cases"].clear() or facts["passes"].clear(), "neither excluded by multipliers nor listed"),
        (lambda facts: facts["constraints"].append("monotone[f0] <= 1"), "can hold the constraints"),
        (lambda facts: facts["constraints"].append("monotone[f0]"), "which is not monotone"),
        (
            lambda facts: facts["constraints"].append("monotone[f9,positive=yes]"),
            "does not name a column or a class of the data",
        ),
        (
            lambda facts: facts["constraints"].append("monotone[f1,positive=no]"),
            "does not rise as its constraints require",
        ),
        (lambda facts: facts["constraints"].append("recall[maybe] >= 0.1"), "which the data does not have"),
        (lambda facts: facts["constraints"].append("f1[yes] >= 1.0"), "does not satisfy its constraints"),
        (lambda facts: facts["constraints"].append("balanced_accuracy >= 1.0"), "does not satisfy its constraints"),
        (lambda facts: facts["constraints"].append("balanced_accuracy[yes] >= 0.1"), "takes no arguments"),
        (lambda facts: facts["constraints"].append("cost <= 0.1"), "does not satisfy its constraints"),
        (lambda facts: facts["constraints"].append("cost[yes] <= 9"), "takes no arguments"),
        (lambda facts: facts["constraints"].append("forbid_root[f0,f1,f2]"), "which its constraints bar"),
        (lambda facts: facts["constraints"].append("require_root[f9]"), "not name a column of the data"),
        (lambda facts: facts.update(claim=None), "only some of a tree, a claim and a bound"),
        (lambda facts: facts.update(tree=None), "only some of a tree, a claim and a bound"),
        (lambda facts: facts.update(bound=None), "only some of a tree, a claim and a bound"),
        (lambda facts: facts.update(NO_TREE), "neither excluded|and costs less|satisfies"),
        (lambda facts: facts.update(bound=facts["claim"] + 1), "its claim, its bound or the scale"),
    ],
)
def test_what_is_refused_is_told(change, said):
    problem = posed(3, 2, SETS[0])
    facts = certify_constrained(problem)[0]
    change(facts)
    with pytest.raises(CertificateError, match=said):
        check(facts, problem.encoded.dataset)


def test_that_there_is_no_tree_is_not_proved_by_what_its_nodes_would_cost():
    """No leaf alone satisfies these, some tree does; and of all rows in a leaf a leaf alone holds just enough."""
    problem = posed(3, 2, ("recall[yes] >= 0.6", "recall[no] >= 0.6"), params={"lambda": 0.2})
    facts = certify_constrained(problem)[0] | NO_TREE | {"cases": [], "passes": [[0, 0]]}
    with pytest.raises(CertificateError, match="neither excluded by multipliers nor listed"):
        check(facts, problem.encoded.dataset)
    facts = certify_constrained(posed(3, 1, ("leaf_rows >= 14",)))[0]
    assert facts["tree"]["root"].keys() >= {"label"}
    with pytest.raises(CertificateError, match="a single leaf of the class 'no' satisfies all$"):
        check(facts | NO_TREE, problem.encoded.dataset)


def test_rows_of_hardly_any_weight_are_no_rows_without_weight():
    """A weight of less than the rounding of a whole number would be lost; one of nothing is not."""
    problem = posed(3, 2, SETS[0])
    facts, data = certify_constrained(problem)[0], problem.encoded.dataset
    error = facts["loss"][data.y[0]][1 - data.y[0]]
    for first, fine in ((0.0, True), (1e-7, False), (1.0, True), (1 + 1e-5, False)):
        changed = replace(data, weight=np.append(first, data.weight[1:]))
        if fine:
            assert read_problem(facts, changed).loss[0].max() == first * facts["weight_scale"] * error
            continue
        with pytest.raises(CertificateError, match="are not whole numbers"):
            read_problem(facts, changed)


def test_a_bound_on_the_cost_is_of_errors_alone():
    """Of a leaf of all rows the sum is to its bound what the weight of its errors is to 4.5, whatever a node costs."""
    problem = posed(3, 2, ("cost <= 4.5",), params={"lambda": 0.2})
    data = problem.encoded.dataset
    stated = read_problem(certify_constrained(problem)[0], data).stated
    for k in (0, 1):
        wrong = data.weight[data.y != k].sum()
        assert stated.uses[0, :, k].sum() / stated.bound[0] == pytest.approx(wrong / 4.5, rel=1e-3)


def test_a_needless_branch_node_is_no_error():
    """But where columns go together: a tree of two leaves of one class below a node says that it has tested one."""
    X = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]])
    features = tuple(Feature(name, NUMERIC) for name in ("f0", "f1"))
    data = Dataset("plain", X, np.array([0, 0, 1, 1], np.int32), features, ("no", "yes"), np.ones(4))
    facts = certify_constrained(pipeline.pose(data, "dpflow", 2, encoding="auto", constraints=("recall[yes] >= 0.5",)))[
        0
    ]
    root = facts["tree"]["root"]
    leaf, split = {"label": root["left"]["label"]}, {"kind": "threshold", "feature": "f1", "threshold": 0.5}
    root["left"] = {"split": split, "left": leaf, "right": leaf}
    assert root["split"]["feature"] == "f0" and check(facts, data).objective == 0


@pytest.mark.parametrize(
    ("depth", "n_candidate_splits", "n_rows", "fits"),
    [
        (0, 1, 1, False),
        (1, 0, 1, False),
        (1, 1, 0, True),
        (1, 60_000, 100, True),  # every tree is looked at
        (2, 50_000, 10_000, True),
        (2, 50_000, 10_001, False),
        (3, 50_000, 1, True),
        (3, 50_001, 1, False),
        (4, 125, 1, True),
        (4, 126, 1, False),
        (5, 1, 1, False),
    ],
)
def test_sizes_of_which_a_certificate_can_be(depth, n_candidate_splits, n_rows, fits):
    """Up to 500 million answers, 2 billion sums of a pass (2^(D - 1) tests^D), or 50,000 tests that are swept."""
    assert constrained_certificate.small_enough(depth, n_candidate_splits, n_rows) == fits


@pytest.mark.parametrize(
    ("depth", "apart", "fits"),
    [
        (4, [], True),
        (8, [], True),
        (9, [], False),
        (4, [80] * 6, True),
        (4, [80] * 7, False),
        (4, [81], False),
        (5, [2], False),
    ],
)
def test_sets_of_columns_that_are_looked_at_by_themselves(depth, apart, fits):
    """8 tests^4 of a set each, up to 80 tests in it; at any depth up to 8 where all trees are walks over one column."""
    assert constrained_certificate.small_enough(depth, 1000, 100, apart) == fits


def test_many_tests_are_swept_but_at_depth_4():
    for depth, n_candidate_splits, swept in ((1, 300, True), (3, 299, False), (3, 300, True), (4, 5000, False)):
        assert constrained_certificate.swept(depth, n_candidate_splits) == swept


def test_the_objective_is_told_in_words():
    """In units of a weight of 1 / 2, of which 10 of 12 are the price of an error and 2 that of a branch node."""
    facts = {"classes": ["a", "b"], "scale": 12, "weight_scale": 2, "penalty": 2, "loss": [[0, 5], [5, 0]]}
    words = terms_of
    assert words(facts) == "lambda 0.1666666667"
    assert words(facts | {"loss": [[0, 5], [15, 0]]}) == "lambda 0.1666666667 and costs a:b=1, b:a=3"
    assert words(facts | {"penalty": 0, "loss": [[0, 6], [6, 0]]}) == ""
    assert words(facts | {"penalty": 0, "loss": [[0, 3], [6, 0]]}) == "costs a:b=0.5, b:a=1"


@pytest.mark.parametrize("constraints", UNSATISFIED, ids=" and ".join)
def test_that_no_tree_satisfies_them_is_certified(constraints):
    problem = posed(hash_of(constraints), 2, constraints)
    facts, heap = certify_constrained(problem)
    proof = check(json.loads(json.dumps(facts)), problem.encoded.dataset)
    assert heap is None and proof.infeasible and least_of_every_tree(problem) == np.inf
    facts["constraints"] = facts["of"]["constraints"] = [constraints[0].replace("0.9", "0.0").replace("0.25", "99")]
    with pytest.raises(CertificateError, match="satisfies"):
        check(facts, problem.encoded.dataset)


def no_other_search(*_):
    raise AssertionError("the certificate was made by another search, not by the multipliers of the first one")


@pytest.mark.parametrize("constraints", [*UNSATISFIED, ("leaf_precision >= 1.0", "leaf_rows >= 4")], ids=" and ".join)
def test_a_fit_checks_the_certificate_that_no_tree_satisfies_them(constraints, monkeypatch):
    monkeypatch.setattr(write_constrained_certificate, "_searched", no_other_search)
    with pytest.raises(NoSolutionError, match="^proved: .* checked on the data in whole numbers$") as told:
        odtc.fit(small(hash_of(constraints)), "dpflow", 2, encoding="auto", constraints=constraints)
    assert told.value.outcome.to_json()["certified"] is True


def test_that_there_is_no_tree_stays_proved_if_the_limit_comes_before_its_certificate(monkeypatch):
    """The certificate may take another search, which a limit may end."""
    late = NotProvedError("the time limit came before the proof")

    def no_time(*_):
        raise late

    monkeypatch.setattr(write_constrained_certificate, "_infeasible", no_time)
    with pytest.raises(NoSolutionError, match="^proved: no tree .*") as told:
        odtc.fit(small(hash_of(UNSATISFIED[0])), "dpflow", 2, encoding="auto", constraints=UNSATISFIED[0])
    facts = told.value.outcome.to_json()
    assert facts["termination"] == "infeasible" and "certified" not in facts
    assert facts["uncertified"].startswith("the search proved that there is none, but a check would take longer")


@pytest.mark.parametrize("constraints", [SETS[0], UNSATISFIED[0]], ids=" and ".join)
def test_a_check_after_the_limit_ends_too(constraints, monkeypatch):
    """With what the certificate states, and as unchecked."""
    problem, left = posed(hash_of(constraints), 2, constraints), []

    def long(*given):
        left.append(deadline.seconds_left())
        if left[-1] is not None:
            raise TimeLimitReached("the check takes long")
        return 0

    monkeypatch.setattr(constrained_certificate, "_check_cases", long)
    late, whole = certify(problem, 30.0), certify(problem, None)
    assert not late.checked and not late.optimal and whole.checked and left[0] is not None and left[-1] is None
    assert str(late).startswith("by the search") and late.infeasible == whole.infeasible
    assert (late.objective, late.bound) == (whole.objective, whole.bound)


def test_command_line_of_what_no_tree_satisfies(tmp_path):
    file = tmp_path / "m.certificate.json"
    words = ["--depth", 1, "--encoding", "onehot", "--constraint", "accuracy >= 0.99", "-o", file]
    made = odtc_run("certify", MONKS / "monks-2.csv", *words)
    assert made.code == 0 and "proved: no tree of depth 1" in made.out, made.err
    checked = odtc_run("verify", "--certificate", file, "--json")
    assert checked.facts["infeasible"] and checked.facts["verified"] and not checked.facts["optimal"]
    assert "satisfies the constraints on" in odtc_run("verify", "--certificate", file).out


@pytest.mark.parametrize("seed", range(6))
def test_what_rises_rises_in_the_best_tree_of_trying_every_tree(seed):
    """Numbers with twins, missing cells, a class that rises by one or two columns; the judge is of the rows' words."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (16, 2)).astype(float)
    X = np.column_stack([X, X[:, 0] > 0])  # two columns that part the rows alike
    X[rng.random(X.shape) < (0.15 if seed % 2 else 0)] = np.nan
    y = rng.integers(0, 2, 16).astype(np.int32)
    names = tuple(Feature(name, "numeric") for name in "abc")
    data = Dataset("rises", X, y, names, ("no", "yes"), np.ones(16), missing="separate")
    texts = [("monotone[a,positive=yes]",), ("monotone[b,positive=no]", "recall[yes] >= 0.5")][seed % 2]
    try:
        problem = pipeline.pose(data, "dpflow", 2, encoding="auto", constraints=texts)
    except ChoiceError as nothing:
        assert "two rows" in str(nothing)
        return
    facts, heap = certify_constrained(problem)
    proof = check(json.loads(json.dumps(facts)), data)
    assert proof.infeasible == (heap is None)
    assert proof.objective == pytest.approx(least_of_every_tree(problem))


def test_few_neighbours_are_sums_of_the_search_and_asked_of_every_tree_by_the_checker():
    """13 rows, where the trees below the best one that are to be refused one by one are many."""
    cells = "aa1 ba0 aC1 ba2 cC2 ca2 da2 ab0 cb1 ab0 bb0 aa0 Cc1".replace("C", "c").split()
    X = np.array([[ord(one[0]), ord(one[1])] for one in cells], float)
    features = (Feature("n0", NUMERIC), Feature("n1", NUMERIC))
    data = Dataset("few", X, np.array([int(one[2]) for one in cells]), features, ("k0", "k1", "k2"), np.ones(13))
    problem = pipeline.pose(data, "dpflow", 3, encoding="auto", constraints=("monotone[n1,positive=k1]",))
    posed = problem.derived(Posed)
    assert posed.problem.arrays.accepts is None and posed.problem.arrays.n_constraints
    found = problem.module.search(problem, None, lambda *told: None)
    assert found.proved and found.bound == least_of_every_tree(problem)
    proof = check(json.loads(json.dumps(found.certificate())), data)
    assert proof.objective == found.bound


def test_a_clock_is_asked_between_trees_that_are_refused():
    """Of two lists of 60 subtrees all 3,600 pairs are refused; the clock is looked at before each."""
    asked = []
    options = Options(np.zeros(60), np.zeros((60, 1)), np.full((60, 3), -1, np.int32))
    rows = np.array([[True], [False]])
    problem = ConstrainedProblem(rows, np.ones((2, 2), np.int64), 2, accepts=lambda test, label: False)
    search = ConstrainedSearch(problem)
    search.run(exactly=False)
    closer = search.by_tables.closer(np.zeros(0, np.int64), 0, 0, lambda: asked.append(1))[0]
    assert closer.join(0, [options, options], 10, lambda test, label: False) == 10
    assert len(asked) >= 3600


def test_command_line(tmp_path):
    file = tmp_path / "m.certificate.json"
    words = ["--depth", 2, "--encoding", "onehot", "--constraint", "recall[1] >= 0.75"]
    words += ["--constraint", "features <= 2"]
    made = odtc_run("certify", MONKS / "monks-2.csv", *words, "-o", file, "--json")
    assert made.code == 0, made.err
    facts = made.facts
    fitted = odtc.fit(
        MONKS / "monks-2.csv", "dpflow", 2, encoding="onehot", constraints=("recall[1] >= 0.75", "features <= 2")
    )
    assert facts["objective"] == fitted.facts["objective"] and facts["n_cases"] > 0
    checked = odtc_run("verify", "--certificate", file)
    assert "that satisfies the constraints costs less than" in checked.out
    assert "all trees satisfy recall[1] >= 0.75" in checked.out
    broken = json.loads(file.read_text())
    broken["constraints"][0] = "recall[1] >= 0.5"
    file.write_text(json.dumps(broken))
    assert "satisfies the constraints and costs less than" in refused(odtc_run("verify", "--certificate", file))


def rising(columns: dict, labels: str, missing: str = "drop") -> Dataset:
    """Columns of numbers, and rows of the classes n and y."""
    X = np.array(list(columns.values()), float).T.copy()
    features = tuple(Feature(name, "numeric") for name in columns)
    y = np.array([label == "y" for label in labels], np.int32)
    return Dataset("rising", X, y, features, ("n", "y"), np.ones(len(y)), missing=missing)


def of_rising(data: Dataset) -> dict:
    texts = ("monotone[c,positive=y]",)
    return json.loads(json.dumps(certify_constrained(pipeline.pose(data, "dpflow", 2, constraints=texts))[0]))


def without_another_column() -> tuple[dict, Dataset]:
    """The proof of c alone where d, which parts the rows as c does, tells them apart: n may follow upon y there."""
    data = rising({"c": [0, 1, 2, 2], "d": [0, 1, 1, 1]}, "ynnn")
    honest, alone = of_rising(data), of_rising(rising({"c": [0, 1, 2, 2]}, "ynnn"))
    assert (honest["claim"], alone["claim"]) == (0, 1)
    alone["of"]["columns"], alone["tree"]["features"] = honest["of"]["columns"], honest["tree"]["features"]
    return alone, data


def with_missing_cells_as_the_greatest() -> tuple[dict, Dataset]:
    """The proof where a row without c is compared as if it had the greatest number."""
    data = rising({"c": [0, 1, np.nan, np.nan]}, "nynn", "separate")
    honest, other = of_rising(data), of_rising(rising({"c": [0, 1, 2, 2]}, "nynn"))
    assert (honest["claim"], other["claim"]) == (0, 1)
    other["of"], other["tree"]["missing"] = honest["of"], "separate"
    other["columns"][0]["thresholds"] = [0.5, 1.5]  # of which the second separates the rows without c
    return other, data


def with_numbers_as_levels() -> tuple[dict, Dataset]:
    """A tree that falls, of whose rows one has c in {0}, as if it had no number there."""
    data = rising({"c": [0, 1, 1]}, "ynn")
    facts = of_rising(data)
    assert facts["claim"] == 1
    level = {"kind": "subset", "feature": "c", "values": [0]}
    changed = {"columns": [level], "claim": 0, "bound": 0, "cases": [], "passes": [[]]}
    node = {"split": level, "left": {"label": "y"}, "right": {"label": "n"}}
    return facts | changed | {
        "tree": facts["tree"] | {"root": node},
        "of": facts["of"] | {"n_candidate_splits": 1},
    }, data


FORGED_ORDERS = {
    without_another_column: "states whether its splits are all as True, but of this data it is False",
    with_missing_cells_as_the_greatest: "satisfies the constraints and costs less than 1",
    with_numbers_as_levels: "uses numbers of 'c' one by one",
}


@pytest.mark.parametrize("forged", FORGED_ORDERS)
def test_an_order_is_that_of_the_data(forged):
    """Which rows follow upon each other is a matter of the data: of all its columns, its missing cells, its numbers."""
    facts, data = forged()
    with pytest.raises(CertificateError, match=FORGED_ORDERS[forged]):
        check(facts, data)

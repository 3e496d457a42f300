"""Each rule of the checker of regression and survival certificates has a forgery that breaks this rule alone."""

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from odtc.data.dataset import Dataset, Feature
from odtc.data.reading import read
from odtc.data.tasks import regression, survival
from odtc.errors import CertificateError
from odtc.verification.certificate import check
from odtc.verification.leaf_sums import likelihood, squares
from odtc.verification.leaf_sums.bound import LeafSumsBound
from odtc.verification.threshold_columns import left_of
from odtc.workflow.posing import pose_run
from odtc.workflow.specification import ModelSpec, RunSpec
from tests import pipeline
from tests.refusal_sites import expect_refused_alone, sites, switched_off
from tests.unit.test_forged_certificates import CELLS, patched

MODULES = (
    "leaf_sums",
    *(f"leaf_sums.{name}" for name in ("bound", "squares", "likelihood", "two_levels")),
)
RULES = {
    key: site
    for name in (*MODULES, "leaf_sums.every_tree", "leaf_sums.whole_trees")
    for key, site in sites(f"odtc.verification.{name}", checks=False).items()
}
# Rules that say in words what a later one would stop at: nothing is taken without them, and why.
WORDED = {
    "bound._cut: it tries a cut that separates": "a state without rows is refused, too",
    "likelihood.__init__: its scale is not a whole": "the weights would be no whole numbers above 0",
    "likelihood._cost: the hazard of a leaf with": "it is divided by",
    "leaf_sums.check: limits on all splits of a": "the loops over all trees have no formula of lines",
    "whole_trees.of: its trees have": "no set has so few tests",
    "whole_trees.least: a column of it holds splits": "it is looked up of which column of the data it is",
}
NUMBERS = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8]
TIMES = [5, 1, 4, 2, 2, 9, 7, 6, 3, 8, 5, 1]
EVENTS = [1, 1, 0, 1, 1, 0, 1, 0, 1, 1, 0, 1]
SMALL, FAR = [0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0], 2**49


def numbers(y=NUMBERS, weight: float = 1.0) -> Dataset:
    """Rows of a regression."""
    return regression.measured(_cells(regression, np.full(len(y), weight)), np.array(y, float), "y")


def times(weight=1.0, event=EVENTS) -> Dataset:
    """Rows of a survival."""
    weight = np.broadcast_to(weight, len(TIMES)).astype(float)
    return survival.timed(_cells(survival, weight), np.array(TIMES, float), np.array(event, float), "y")


def _cells(task, weight) -> Dataset:
    features = Feature("a", "numeric"), Feature("b", "numeric"), Feature("c", "categorical", ("u", "v"))
    labels = np.zeros(len(weight), np.int32)
    return Dataset("d", np.array(CELLS, float), labels, features, (), weight, "y", task=task.NAME)


@cache
def _certified(task: str, depth: int, texts: tuple, labels: tuple) -> str:
    data = numbers(labels or NUMBERS) if task == "regression" else times()
    problem = pipeline.pose(data, "dpflow", depth, constraints=texts)
    return json.dumps(problem.module.certificate(problem))


def true(task: str = "regression", depth: int = 2, *texts: str, labels=()) -> dict:
    """A certificate of what is so."""
    return json.loads(_certified(task, depth, texts, tuple(labels)))


def leaves(node: dict, data: Dataset, rows: np.ndarray):
    """(leaf, its rows) of a tree."""
    if "split" not in node:
        yield node, rows
        return
    goes = left_of(node["split"], data)[rows]
    yield from leaves(node["left"], data, rows[goes])
    yield from leaves(node["right"], data, rows[~goes])


def retold(facts: dict, data: Dataset) -> dict:
    """A certificate whose leaves tell the sums of these rows."""
    for leaf, rows in leaves(facts["tree"]["root"], data, np.arange(data.n_rows)):
        sums = data.sums[rows].sum(axis=0)
        leaf.update(counts=[sums[1]], rows=[int(data.copies[rows].sum())], sums=sums.tolist())
    return facts


def with_terms(facts: dict, **changed) -> dict:
    return facts | {"of": facts["of"] | changed}


def forged(facts: dict, data: Dataset | None = None, **changed) -> Callable:
    """The check of a certificate of which some entries are others."""
    return lambda _: check(facts | changed, numbers() if data is None else data)


def with_leaf(**changed) -> Callable:
    """The last leaf of the tree tells something else."""
    facts = true()
    leaf = facts["tree"]["root"]
    while "split" in leaf:
        leaf = leaf["right"]
    leaf.update({key: change(leaf[key]) if callable(change) else change for key, change in changed.items()})
    return forged(facts)


def tried(*cuts, depth: int = 3, texts=()) -> Callable:
    return forged(true("regression", depth, *texts), tried=list(cuts))


def of_another_task():
    """The certificate of rows that are said to be of another task."""
    data, facts = replace(numbers(), task="other"), true()
    facts["tree"]["task"] = "other"
    return forged(with_terms(facts, task="other"), data)


def of_limited_lines():
    """A limit on the splits of trees whose leaves predict lines."""

    def run(folder):
        (folder / "d.csv").write_text("x,y\n" + "".join(f"{x},{x * x % 7}\n" for x in range(12)))
        data = read(folder / "d.csv", task="linear")
        problem = pose_run(RunSpec(model=ModelSpec("dpflow", 1)), data)
        facts = json.loads(json.dumps(problem.module.certificate(problem)))
        return check(with_terms(facts, constraints=["splits <= 2"]) | {"splits": 2}, data)

    return run


def of_unlimited_trees():
    """The best tree of all, of which a leaf has fewer rows than the limit."""
    texts = ["leaf_rows >= 4"]
    return forged(with_terms(true(), constraints=texts), least=4)


def without_rows(_):
    """The bound of a state of no rows."""
    data = numbers()
    measure = squares.Squares(true(), data)
    bound = LeafSumsBound(np.array(CELLS, np.int64), measure, Fraction(0), squares.SINGLE)
    return bound.least(np.arange(0), 0, 0, Fraction(0), exact=False)


def shifted(offset: float, scale: float = 1.0, labels=NUMBERS, **changed) -> Callable:
    """Rows whose numbers are others, in leaves that tell so, with the claim of the numbers before."""
    data = numbers(np.array(labels) * scale + offset)
    return forged(retold(true(labels=labels), data) | changed, data)


def far_apart():
    """The one number that is not 0 costs more than is added up as whole numbers."""
    claim = Fraction(true(labels=SMALL)["claim"]) * FAR**2
    return shifted(0.0, FAR, SMALL, claim=f"{claim.numerator}/{claim.denominator}")


def heavier():
    """Each row weighs a quarter more than the weight that its certificate counts."""
    data = times(1.25)
    return forged(retold(true("survival"), data) | {"weight_scale": 1}, data)


def doubled():
    """Each row stands for two rows of the file."""
    data = times()
    data = replace(data, sums=data.sums * [2, 1, 1, 1, 1])
    return forged(retold(true("survival"), data), data)


def coarse(folder):
    """Hazards whose ends are farther apart than is counted on, with the claim that follows from them."""
    facts, data = true("survival"), times()
    with switched_off(RULES["likelihood.__init__: the hazards of the data cannot"]):
        measure = likelihood.Likelihood(facts, data)
    sums = [measure.moments[:, rows].sum(axis=1) for _, rows in leaves(facts["tree"]["root"], data, np.arange(12))]
    ends = [sum(map(end, sums)) for end in (measure.low, measure.high)]
    return check(facts | {"claim": [f"{end.numerator}/{end.denominator}" for end in ends]}, data)


def of_a_light_event():
    """One event of so little weight that its hazard is 0 in the units of the certificate, alone in a leaf."""
    weight, event = [2.0**36] * len(TIMES), [0] * len(TIMES)
    weight[6] = event[6] = 1
    data, facts = times(weight, event), true("survival")
    low = {"split": {"kind": "threshold", "feature": "b", "threshold": 0.5}, "left": _alone(), "right": _alone()}
    facts["tree"]["root"] = {"split": {"kind": "threshold", "feature": "a", "threshold": 1.5}, "left": _alone()}
    facts["tree"]["root"]["right"] = low
    return forged(retold(facts, data), data, weight_scale=1)


def of_more_tests():
    """The best tree of all, which asks three tests."""
    return forged(with_terms(true(), constraints=["splits <= 2"]), splits=2)


def of_columns_together():
    """The thresholds of a column as tests that lie within one another."""
    facts = true("regression", 2, "together[a,b]")
    at = next(at for at, column in enumerate(facts["columns"]) if column["feature"] == "a")
    values = sorted({row[0] for row in CELLS})
    tests = [{"kind": "threshold", "feature": "a", "threshold": float(value)} for value in values[:-1]]
    facts["columns"][at] = {"kind": "nested", "splits": tests, "turned": [0] * len(tests)}
    return forged(facts)


def _alone() -> dict:
    return {"label": survival.LABEL}


FORGERIES = {
    "leaf_sums.check: the certificate is for": of_another_task,
    "leaf_sums.check: limits on all splits of a": of_limited_lines,
    "leaf_sums.check: its depth is": lambda: forged(with_terms(true(), depth=9), depth=9, tried=[]),
    "leaf_sums.check: its leaves have": lambda: forged(true(), least=0),
    "leaf_sums._cost_of_tree: the tree of the certificate has": of_unlimited_trees,
    "leaf_sums.check: the tree of the certificate costs": lambda: forged(true(), claim="1"),
    "bound.least: it bounds a state without rows": lambda: without_rows,
    "bound.least: the tried cuts of a state": lambda: tried([0, 0, {}, None]),
    "bound.least: a cut that it tries is": lambda: tried([0, 0.5, 0, 0]),
    "bound._bounds_of_cuts: it tries a cut twice": lambda: tried([0, 0, 0, 0], [0, 0, 0, 0]),
    "bound.least: it tries cuts of columns that": lambda: tried([0, 0, 7, 0, 0], texts=("leaves <= 5",)),
    "bound._all_cuts: it tries all cuts of trees": lambda: forged(with_terms(true(), depth=5), depth=5, tried="all"),
    "bound._cut: a cut that it tries has": lambda: tried([0, 0, 0, 0, 0]),
    "bound._cut: it tries a cut that separates": lambda: tried([0, 99, 0, 0]),
    "whole_trees.of: its trees have": lambda: forged(with_terms(true(), constraints=["splits <= -1"]), splits=-1),
    "whole_trees.of: its trees split on fewer than": lambda: forged(
        with_terms(true(), constraints=["together[a]"]), together=[["a"]]
    ),
    "whole_trees.expect_kept: the tree of the certificate does": of_more_tests,
    "whole_trees.least: its limits are not supported:": lambda: forged(
        with_terms(true("regression", 4), constraints=["together[a,b]"]), together=[["a", "b"]], tried=[]
    ),
    "whole_trees.least: a column of it holds splits": of_columns_together,
    "squares.__init__: its scales are not whole numbers": lambda: forged(true(), number_scale=-1),
    "squares.__init__: the numbers of the data are": lambda: shifted(0.25),
    "squares.__init__: the numbers of the data are (again)": far_apart,
    "squares.__init__: the rows of the data are": lambda: patched(squares, "LOW", 60, forged(true())),
    "likelihood.__init__: its scale is not a whole": lambda: forged(true("survival"), times(), weight_scale=0),
    "likelihood.__init__: the weights of the data are": heavier,
    "likelihood.__init__: the rows of the data cannot": doubled,
    "likelihood.__init__: the hazards of the data cannot": lambda: patched(likelihood, "ROUNDED", 0, coarse),
    "likelihood._cost: the hazard of a leaf with": of_a_light_event,
}


def test_each_rule_has_a_forgery():
    assert sorted(FORGERIES) == sorted(RULES) and WORDED.keys() <= RULES.keys()


def test_a_tree_that_is_too_deep_is_refused(tmp_path):
    rule = sites("odtc.verification.claim", checks=False)["claim.walk: the tree of the certificate is"]
    expect_refused_alone(forged(with_terms(true(), depth=1), depth=1), rule, tmp_path)


@pytest.mark.parametrize("task", ["regression", "survival"])
@pytest.mark.parametrize("given", [(2,), (3,), (2, "leaf_rows >= 4"), (3, "leaves <= 5"), (3, "splits <= 2")])
def test_what_is_so_is_taken(task, given):
    assert check(true(task, *given), numbers() if task == "regression" else times()).optimal


@pytest.mark.parametrize("rule", FORGERIES)
def test_a_forgery_breaks_one_rule_alone(rule, tmp_path):
    expect_refused_alone(FORGERIES[rule](), RULES[rule], tmp_path, taken=rule not in WORDED)


def without_the_copy() -> tuple[dict, Dataset]:
    """A certificate over the tests of a and b where b and a copy of a are tested together or not at all: the tests of
    a part the rows as those of its copy do."""
    rows = np.array([[0, 5, 0], [0, 5, 1], [1, 6, 0], [1, 6, 1]] * 3, float)
    y = 10 * rows[:, 0] * rows[:, 2] + [1, 2, 0] * 4
    features = tuple(Feature(name, "numeric") for name in ("a", "copy", "b"))
    plain = Dataset("d", rows, np.zeros(12, np.int32), features, (), np.ones(12), "y", task="regression")
    data = regression.measured(plain, y, "y")
    alone = regression.measured(replace(plain, X=rows[:, :1], features=features[:1]), y, "y")
    problems = pipeline.pose(data, "dpflow", 2, constraints=("together[copy,b]",)), pipeline.pose(alone, "dpflow", 2)
    facts, other = (json.loads(json.dumps(problem.module.certificate(problem))) for problem in problems)
    assert check(facts, data).optimal
    forged = facts | {"columns": [one for one in facts["columns"] if one["feature"] != "copy"]}
    forged |= {"claim": other["claim"], "tree": facts["tree"] | {"root": other["tree"]["root"]}}
    return forged | {"of": facts["of"] | {"n_candidate_splits": 2}}, data


def test_tests_of_a_column_that_another_one_stands_for_are_missed_under_together():
    facts, data = without_the_copy()
    with pytest.raises(CertificateError, match="whether its splits are all as True, but of this data it is False"):
        check(facts, data)


@pytest.mark.parametrize(
    "states",
    [{"curve": [[0.5, 1.0]]}, {"sums": lambda sums: [*sums[:-1], 0]}, {"rows": [0]}, {"counts": [0.5]}, {"label": "0"}],
    ids=["curve", "sums", "rows", "counts", "label"],
)
def test_a_leaf_that_states_what_its_rows_are_not_is_refused(states):
    with pytest.raises(CertificateError):
        with_leaf(**states)("")

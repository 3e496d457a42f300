"""Each `Check` of the package that can fail has a forgery that this check alone refuses, by its name.

With the check switched off nothing refuses the forgery. A check without a forgery fails the suite.
"""

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import odtc
from odtc.cli.commands.certify import verify_certificate
from odtc.data.dataset import NUMERIC, Dataset, Feature
from odtc.data.splits import Threshold
from odtc.model.solution import Solution, Termination, gap
from odtc.trees.heap_tree import HeapTree, settle
from odtc.trees.tree import Branch
from odtc.verification.against_file import check_against_file
from odtc.verification.encoding_again import check_encoding
from odtc.verification.file_as_written import read_written
from odtc.verification.verify import verify_filled, verify_tree
from odtc.workflow.decoding import simplified_check
from odtc.workflow.near_optimal import Pool
from odtc.workflow.provenance.frontier_file import recheck_frontier
from odtc.workflow.provenance.near_best import check_near_best
from odtc.workflow.provenance.rechecking import _check_rows, _confirmed, check_record, file_checks
from odtc.workflow.provenance.tree_file import check_certified_tree, check_of_certificate, recheck_tree
from odtc.workflow.provenance.without_model import open_record
from tests import pipeline
from tests.command_line import odtc as command
from tests.refusal_sites import sites, switched_off
from tests.unit.test_against_file import LP, RECORD
from tests.unit.test_refusals import built as rows_of_all_kinds  # noqa: F401  a fixture
from tests.unit.test_refusals import checked, edited, refusing, with_counts

PACKAGE = Path(odtc.__file__).parent
MODULES = [
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    for path in sorted(PACKAGE.rglob("*.py"))
    if " Check(" in (text := path.read_text(encoding="utf-8")) or "(Check(" in text or "[Check(" in text
]
CHECKS = {key: site for name in MODULES for key, site in sites(name, checks=True).items()}
FORGERIES = {}


def refused_by(name: str, site: str):
    """Enters a function as the forgery that the check of this name refuses at a site."""

    def entered(forgery):
        FORGERIES[site] = name, forgery
        return forgery

    return entered


@refused_by("objective", "feasibility.check_claim: objective")
def another_objective(built, _):
    found = built[1]
    return checked(built, solution=replace(found, claimed=found.objective + 1))


@refused_by("bounds", "feasibility._largest: name")
def beyond_a_bound(built, _):
    model, found, *_ = built
    upper = model.col_upper.copy()
    upper[np.flatnonzero(found.x > 0.5)[0]] = 0.5
    return checked(built, model=edited(model, col_upper=upper))


@refused_by("tree in model", "verify.verify_point: tree in model (again)")
def counted_otherwise(built, _):
    model = built[0]
    return checked(built, model=replace(model, offset=model.offset + 1, matrix=model.A))


@refused_by("tree in model", "verify.verify_point: tree in model")
def no_point_of_the_model(built, monkeypatch):
    """A tree that the compiled levels do not hold, at a point of which all else is right."""
    from odtc.errors import TreeError
    from odtc.verification import verify

    def refuse(*_):
        raise TreeError("none of the model's")

    monkeypatch.setattr(verify, "complete", refuse)
    return checked(built)


@refused_by("tree objective", "verify.verify_point: tree objective")
def dearer_than_the_point(built, _):
    return checked(built, heap=leaf_of(built))


def leaf_of(built, label: int = 0) -> HeapTree:
    return settle(np.full(8, -1, np.int32), built[0].problem.encoded, np.array([-1, label, *[-1] * 6], np.int32))


@refused_by("tree objective", "verify._against_recorded: tree objective")
def dearer_than_the_point_of_a_recorded_model(built, _):
    return checked(built, model=recorded(built), heap=leaf_of(built))


def recorded(built):
    """The model as one that its formulation does not build any more."""
    return replace(built[0], recorded="of another version", matrix=built[0].A)


@refused_by("bound", "verify._against_bound: name")
def bound_above_the_tree(built, _):
    found = built[1]
    return checked(built, solution=replace(found, bound=found.objective + 1))


@refused_by("equal rows", "verify.verify_tree: equal rows")
def less_than_equivalent_points(built, _):
    class Lying(HeapTree):
        def loss(self, encoded):
            return -1.0

    problem, cart = built[0].problem, built[2]
    return refusing(verify_tree(problem, Lying(cart.split, cart.label), cart.to_tree(problem.encoded)))


@refused_by("leaf counts", "verify.verify_tree: leaf counts")
def other_counts(built, _):
    tree = built[2].to_tree(built[0].problem.encoded)
    return checked(built, tree=with_counts(tree, lambda counts: (counts[0] + 1, *counts[1:])))


@refused_by("least rows", "verify.verify_tree: least rows")
def too_few_rows(built, _):
    problem = pipeline.pose(built[3], "oct", 2, params={"n_min": 18})
    few = next(
        heap
        for f in range(problem.encoded.n_candidate_splits)
        if (heap := settle(np.array([-1, f, *[-1] * 6], np.int32), problem.encoded)).fewest_rows(problem.encoded) < 18
    )
    return refusing(verify_tree(problem, few, few.to_tree(problem.encoded), built[3]))


def of_constraint(built, text: str, data):
    problem = pipeline.pose(built[3], "flowoct", 2, cost="n:p=3,p:n=0", constraints=(text,))
    return refusing(verify_tree(problem, built[2], built[2].to_tree(problem.encoded), data))


@refused_by("constraint", "verify._constraints_kept: constraint")
def too_many_nodes(built, _):
    return of_constraint(built, "branch_nodes <= 0", None)


@refused_by("constraint", "verify._constraints_kept: constraint (again)")
def too_inaccurate_on_the_rows(built, _):
    return of_constraint(built, "accuracy >= 0.999", built[3])


@refused_by("attack", "verify._attacked: attack")
def a_threshold_between_the_same_rows(built, _):
    """All rows go where they went, but other ones can be moved across it."""
    features = (Feature("a", NUMERIC),)
    data = Dataset("d", X, (X[:, 0] > 5.5).astype(np.int32), features, ("n", "p"), np.ones(12))
    problem = pipeline.pose(data, "flowoct", 1, params={"robust": "a:0.6"})
    heap = settle(np.array([-1, 4, -1, -1], np.int32), problem.encoded)
    tree = heap.to_tree(problem.encoded)
    moved = replace(tree, root=replace(tree.root, split=Threshold(0, 5.45)))
    return refusing(verify_tree(problem, heap, moved, data))


@refused_by("regression", "verify._loss_again: encoded.task")
def another_mean_of_a_leaf(built, _):
    fitted = odtc.OptimalTreeRegressor(1).fit(X, Y)
    root = fitted.tree_.root
    sums = list(root.left.sums)
    sums[2] += 1.0  # the weighted sum of the numbers
    left = replace(root.left, sums=tuple(sums))
    return said_otherwise(fitted, tree_=replace(fitted.tree_, root=Branch(root.split, left, root.right)))


@refused_by("all rows", "verify.verify_filled: all rows")
def other_rows_selected_from(built, _):
    problem, heap, data = built[0].problem, built[2], built[3]
    tree = heap.to_tree(problem.encoded)
    label = next(leaf.label for leaf in tree.leaves())
    forged = with_counts(tree, lambda counts: tuple(c + (k == label) for k, c in enumerate(counts)))
    return refusing([verify_filled(problem, forged, data)])


@refused_by("data", "verify._against_data: data")
def other_labels(built, _):
    model, _, heap, data = built
    said = heap.label[heap.reach(model.problem.encoded.X)][model.problem.encoded.row_of]
    y = data.y.copy()
    at = int(np.flatnonzero(said == data.y)[0])
    y[at] = (y[at] + 1) % 3
    return checked(built, dataset=replace(data, y=y))


def against_lp(x, counted=None, names=(b"x", b"y", b"z")):
    return refusing(check_against_file(read_written(LP), list(names), np.array(x), counted))


@refused_by("file columns", "against_file.check_against_file: file columns")
def columns_of_another_file(built, _):
    return against_lp([0.0, 0, 0], names=(b"x", b"y", b"w"))


@refused_by("file rows", "against_file.told: name")
def a_row_of_the_file(built, _):
    return against_lp([1.0, 1.0, 1e-6])


@refused_by("file objective", "against_file._objective: file objective")
def the_objective_of_the_file(built, _):
    return against_lp([1.0, 1.0, 0.0], counted=-5.0)


@refused_by("encoding", "encoding_again.check_encoding: encoding (again)")
def another_weight(built, _):
    encoded = built[0].problem.encoded
    weight = encoded.weight.copy()
    weight[0] += 1
    return refusing([check_encoding(replace(encoded, weight=weight), built[3])])


@refused_by("encoding", "encoding_again.check_encoding: encoding")
def no_tests_in_the_data(built, _):
    data = built[3]
    return refusing([check_encoding(built[0].problem.encoded, replace(data, X=np.zeros_like(data.X)))])


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """A run without a model: the record and the tree, as text."""
    folder = tmp_path_factory.mktemp("learned")
    (folder / "d.csv").write_text("a,b,y\n" + "".join(f"{i},{i * 7 % 5},{'np'[i % 3 > 1]}\n" for i in range(20)))
    said = command("fit", "d.csv", "--depth", 1, "-o", "m", folder=folder)
    assert said.code == 0, said.err
    return folder


def opened(folder, record=None, tree=None):
    """The checks that refuse the run when some of its figures are changed; the digest of the tree is made anew."""
    texts = [(folder / f"m.{kind}.json").read_text() for kind in ("run", "tree")]
    facts, told = map(json.loads, texts)
    if tree is not None:
        tree(told)
        text = json.dumps(told)
        (folder / "m.tree.json").write_text(text)
        facts["fit"]["tree"]["sha256"] = hashlib.sha256(text.encode()).hexdigest()
    (folder / "m.run.json").write_text(json.dumps(facts | (record or {})))
    try:
        done = open_record(str(folder / "m"), folder / "m.tree.json")
        assert done.note == "" and done.fit is not None, done.note
        return refusing(done.fit.decoded.checks)
    finally:
        for kind, text in zip(("run", "tree"), texts):
            (folder / f"m.{kind}.json").write_text(text)


def one_more_row(tree: dict) -> None:
    """In the first leaf."""
    node = tree["root"]
    while "label" not in node:
        node = node["left"]
    node["counts"][0] += 1


@refused_by("tree file", "without_model._again: tree file")
def other_counts_in_the_tree_file(learned, _):
    return opened(learned, tree=one_more_row)


@pytest.fixture(scope="module")
def solved(tmp_path_factory):
    """A run with a model: its files."""
    folder = tmp_path_factory.mktemp("solved")
    (folder / "d.csv").write_text("a,b,y\n" + "".join(f"{i % 4},{i * 7 % 5},{'np'[i % 3 > 1]}\n" for i in range(20)))
    said = command("fit", "d.csv", "--model", "flowoct", "--depth", 1, "-o", "m", folder=folder)
    assert said.code == 0, said.err
    return folder


@refused_by("tree file", "tree_file.check_of_tree: tree file")
def other_counts_in_the_tree_file_of_a_solution(solved, _, change=one_more_row):
    tree = json.loads((solved / "m.tree.json").read_text())
    change(tree)
    (solved / "m2.tree.json").write_text(json.dumps(tree))
    for suffix in ("sol", "odt.json"):
        (solved / f"m2.{suffix}").write_bytes((solved / f"m.{suffix}").read_bytes())
    return refusing(recheck_tree(solved / "m2.tree.json")[0].decoded.checks)


@refused_by("certificate", "tree_file.check_of_certificate: certificate")
def a_certificate_of_trees_of_another_depth(solved, _):
    path = solved / "deeper.certificate.json"
    if not path.exists():
        assert command("certify", "d.csv", "--depth", 2, "-o", path.name, folder=solved).code == 0
    proved, _ = verify_certificate(path, None)
    return refusing([check_of_certificate(recheck_tree(solved / "m.tree.json")[0], path, proved)])


@refused_by("tree file", "tree_file.check_certified_tree: tree file")
def a_tree_of_other_counts_next_to_its_certificate(solved, _):
    path, tree = solved / "own.certificate.json", solved / "own.tree.json"
    if not path.exists():
        assert command("certify", "d.csv", "--depth", 1, "-o", path.name, folder=solved).code == 0
        facts = json.loads(tree.read_text())
        leaf = facts["root"]
        while "split" in leaf:
            leaf = leaf["left"]
        leaf["counts"][0] += 1
        tree.write_text(json.dumps(facts))
    return refusing([check_certified_tree(path, tree)])


@refused_by("pool", "near_best.check_near_best: name")
def a_cheaper_tree_in_a_list(solved, _):
    done = recheck_tree(solved / "m.tree.json")[0]
    errors = float(sum(sum(leaf.counts) - max(leaf.counts) for leaf in done.decoded.tree.leaves()))

    def checks(cost: float) -> list[str]:
        listed = Pool((done.decoded.tree,), (cost,), complete=False, at_least=1, stopped="the limit")
        (solved / "m3.pool.json").write_text(json.dumps(listed.to_json()))
        return refusing([check_near_best(done, solved / "m3.pool.json", 0)[0]])

    assert checks(errors) == []
    return checks(errors - 1)


def frontier(solved, change=lambda facts: None, beside=None):
    """The checks of a frontier that fail, after a change of its file."""
    path = solved / "m4.frontier.json"
    odtc.frontier(solved / "d.csv", vary="leaves <= 2:3", depth=1).write(path)
    facts = json.loads(path.read_text())
    change(facts)
    path.write_text(json.dumps(facts))
    return refusing(recheck_frontier(path, None, 0, beside).checks)


@refused_by("frontier", "frontier_file.recheck_frontier: frontier")
def a_frontier_of_other_data_than_its_run(solved, _):
    own = odtc.read(solved / "d.csv")
    assert frontier(solved, beside=own) == []
    return frontier(solved, beside=replace(own, source=own.source | {"sha256": "0" * 64}))


@refused_by("frontier", "frontier_file.recheck_frontier: frontier (again)")
def a_frontier_of_another_depth(solved, _):
    return frontier(solved, lambda facts: facts.update(depth=2))


@refused_by("trees", "frontier_file.recheck_frontier: trees")
def a_price_that_no_two_trees_have(solved, _):
    return frontier(solved, lambda facts: facts["points"][1].update(price=5.0))


@refused_by("bounds", "frontier_file.recheck_frontier: bounds")
def a_number_without_a_tree_that_a_tree_satisfies(solved, _):
    none = dict.fromkeys(("tree", "reached", "objective", "bound", "price")) | {"ended": "infeasible"}
    return frontier(solved, lambda facts: [point.update(none) for point in facts["points"]])


@refused_by("objective", "without_model._again: objective")
def another_objective_in_the_record(learned, _):
    facts = json.loads((learned / "m.run.json").read_text())
    more = facts["objective"] + 1
    return opened(learned, {"termination": "time_limit", "objective": more, "gap": gap(more, facts["bound"])})


@refused_by("bound", "without_model._again: bound")
def another_bound_in_the_record(learned, _):
    facts = json.loads((learned / "m.run.json").read_text())
    more = facts["objective"] + 1
    return opened(learned, {"bound": more, "gap": gap(facts["objective"], more)})


@refused_by("run record", "rechecking.check_record: run record")
def a_gap_that_is_none(built, _):
    return refusing([check_record(RECORD | {"gap": 0.1}, 5.0)])


def of_file(built, monkeypatch, x=None):
    """The checks of a point and its tree against the file that was written."""
    from odtc.workflow.provenance import rechecking

    written = read_written(LP)
    monkeypatch.setattr(rechecking, "read_written", lambda _: written)
    monkeypatch.setattr(rechecking, "_names", lambda *_: [b"x", b"y", b"z"])
    solution = replace(built[1], x=None if x is None else np.array(x))
    model = replace(built[0], edited=built[0], matrix=built[0].A)
    return refusing(file_checks(model, solution, built[2], (rechecking.Path("m.lp"), b""))[0])


@refused_by("file and point", "rechecking._point_check: file and point (again)")
def a_point_off_the_file(built, monkeypatch):
    return of_file(built, monkeypatch, [1.0, 1.0, 0.5])


@refused_by("file and point", "rechecking._point_check: file and point")
def a_point_that_is_not_finite(built, monkeypatch):
    return of_file(built, monkeypatch, [1.0, np.nan, 0.0])


@refused_by("file rows", "rechecking.file_checks: file rows")
def a_tree_that_is_no_point_of_the_file(built, monkeypatch):
    from odtc.errors import TreeError
    from odtc.workflow.provenance import rechecking

    def refuse(*_):
        raise TreeError("none of the model's")

    monkeypatch.setattr(rechecking, "complete", refuse)
    monkeypatch.setattr(rechecking, "read_written", lambda _: read_written(LP))
    monkeypatch.setattr(rechecking, "_names", lambda *_: [])
    return refusing(file_checks(built[0], built[1], built[2], (rechecking.Path("m.lp"), b""))[0])


@refused_by("model file", "rechecking.same_model: model file")
def a_file_of_another_model(built, monkeypatch):
    from odtc.workflow.provenance import rechecking

    monkeypatch.setattr(rechecking, "read_model", lambda _: built[0])
    monkeypatch.setattr(rechecking, "under_columns", lambda *_: built[0])
    named = SimpleNamespace(content="0")
    return refusing(rechecking.same_model(named, built[0], replace(built[1], content="0"), rechecking.Path("m.lp")))


@refused_by("rows read", "rechecking._check_rows: rows read")
def a_row_that_nobody_left_out(built, _):
    told = {"n_rows": built[3].n_rows, "n_rows_dropped": built[3].n_dropped + 1}
    return refusing([_check_rows(SimpleNamespace(facts={"data": told}), built[3])])


@refused_by("confirm other", "rechecking._confirmed: confirm")
def a_solver_that_finds_less(built, _):
    claimed = Solution(np.zeros(1), Termination.OPTIMAL, 5.0, 5.0, 1.0, "X 1.0")
    return refusing([_confirmed(claimed, 5.0, "other", Solution(None, Termination.OPTIMAL, 4.0, 4.0, 1.0, "Other 2"))])


@refused_by("simplified", "decoding.simplified_check: simplified")
def a_smaller_tree_that_predicts_otherwise(built, _):
    return refusing([simplified_check(built[0].problem, built[2], leaf_of(built))])


X, Y = np.arange(12.0)[:, None], np.array([0, 0, 1, 1, 0, 1] * 2)


def said_otherwise(fitted, **changed):
    for name, value in changed.items():
        setattr(fitted, name, value)
    return refusing(fitted.verify(X, Y))


@refused_by("objective", "inspection._checks: objective")
def another_objective_of_a_classifier(built, _):
    fitted = odtc.OptimalTreeClassifier(1).fit(X, Y)
    return said_otherwise(fitted, objective_=fitted.objective_ + 1)


@refused_by("bound", "inspection._checks: bound")
def another_bound_of_a_classifier(built, _):
    fitted = odtc.OptimalTreeClassifier(1).fit(X, Y)
    return said_otherwise(fitted, bound_=fitted.objective_ + 1)


def leaf_alone(**words):
    return odtc.OptimalTreeClassifier(0, **words).fit(X, Y)


def with_root(fitted, **changed):
    fitted.tree_ = replace(fitted.tree_, root=replace(fitted.tree_.root, **changed))
    return refusing(fitted.verify(X, Y))


@refused_by("only tree", "leaf_alone.checks_alone: only tree")
def a_leaf_where_a_test_tells_rows_apart(built, _):
    return refusing(odtc.OptimalTreeClassifier(1).fit(np.ones((12, 1)), Y).verify(X, Y))


@refused_by("leaf counts", "leaf_alone.checks_alone: leaf counts")
def other_rows_of_a_leaf(built, _):
    return with_root(leaf_alone(), rows=(5, 7))


@refused_by("answer", "leaf_alone.checks_alone: answer")
def the_other_label_of_a_leaf(built, _):
    fitted = leaf_alone()
    return with_root(fitted, label=1 - fitted.tree_.root.label)


@refused_by("objective", "leaf_alone.checks_alone: objective")
def another_objective_of_a_leaf(built, _):
    fitted = leaf_alone()
    return said_otherwise(fitted, objective_=fitted.objective_ + 1)


@refused_by("bound", "leaf_alone.checks_alone: bound")
def a_bound_above_a_leaf(built, _):
    fitted = leaf_alone()
    return said_otherwise(fitted, bound_=fitted.bound_ + 1)


@refused_by("constraints", "tree_estimator._checks_alone: constraints")
def a_leaf_that_breaks_a_constraint(built, _):
    return said_otherwise(leaf_alone(constraints="accuracy >= 0.5"), constraints="accuracy >= 0.9")


@refused_by("smallest", "without_model._again: smallest")
def a_tree_with_a_needless_test(learned, _):
    """Its two leaves answer alike, and it costs what one leaf costs."""
    folder = learned / "even"
    folder.mkdir(exist_ok=True)
    rows = "".join(f"{i % 2},{'nnnp'[i // 2 % 4]}\n" for i in range(16))
    (folder / "d.csv").write_text("a,y\n" + rows)
    assert command("fit", "d.csv", "--depth", 1, "-o", "m", folder=folder).code == 0

    def parted(tree):
        leaf = tree["root"] | {"counts": [6.0, 2.0], "rows": [6, 2]}
        split = {"kind": "threshold", "feature": "a", "threshold": 0.5}
        tree["root"] = {"split": split, "left": leaf, "right": leaf}

    return opened(folder, tree=parted)


def test_a_bound_of_a_recorded_model_is_held_against_known_trees(rows_of_all_kinds):  # noqa: F811
    built = rows_of_all_kinds
    model, found, cart, _ = built
    leaf = leaf_of(built)
    point = model.join(model.problem.module.start(model.problem, leaf))
    poor = Solution(point, Termination.TIME_LIMIT, model.objective(point), found.objective + 1)
    known = [("CART", cart)]
    assert checked(built, model=recorded(built), heap=leaf, solution=poor) == []
    assert checked(built, model=recorded(built), heap=leaf, solution=poor, known=known) == ["bound"]
    other = replace(recorded(built), edited=model, matrix=model.A)
    assert checked(built, model=other, heap=leaf, solution=poor, known=known) == []


@refused_by("policy cost", "policy.verify: policy cost")
def another_cost_of_a_policy(built, _):
    costs = np.column_stack([Y, 1 - Y]).astype(float)
    fitted = odtc.OptimalPolicyTree(1).fit(X, costs)
    fitted.cost_ += 1
    return refusing(fitted.verify(X, costs))


def test_each_check_has_a_forgery():
    assert sorted(FORGERIES) == sorted(CHECKS)


@pytest.mark.parametrize("site", FORGERIES)
def test_a_forgery_is_refused_by_one_check_alone(site, rows_of_all_kinds, learned, solved, monkeypatch):  # noqa: F811
    name, forgery = FORGERIES[site]
    made = {"without_model": learned, **dict.fromkeys(("tree_file", "near_best", "frontier_file"), solved)}.get(
        site.partition(".")[0], rows_of_all_kinds
    )
    assert forgery(made, monkeypatch) == [name]
    with switched_off(CHECKS[site]):
        assert forgery(made, monkeypatch) == []


def test_nothing_refuses_what_is_so(rows_of_all_kinds, learned, solved):  # noqa: F811
    built = rows_of_all_kinds
    assert other_counts_in_the_tree_file_of_a_solution(solved, None, change=lambda tree: None) == []
    assert checked(built) == opened(learned) == against_lp([1.0, 1.0, 0.0], counted=-6.0) == []
    assert refusing([check_record(RECORD, 5.0), check_encoding(built[0].problem.encoded, built[3])]) == []
    for fitted in (odtc.OptimalTreeRegressor(1), odtc.OptimalTreeRegressor(0), odtc.OptimalTreeClassifier(0)):
        assert refusing(fitted.fit(X, Y).verify(X, Y)) == []

"""Records of runs without a model, read back: each wrong figure fails the check of that figure."""

import json
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import odtc
from odtc.data.reading import fingerprint
from odtc.model.solution import NO_POINT, Solution, Termination
from odtc.trees.heap_tree import settle
from odtc.trees.tree import Leaf
from odtc.workflow.artifacts import write_tree
from odtc.workflow.manifest import describe_data
from odtc.workflow.provenance import without_model
from odtc.workflow.provenance.rechecking import _confirmed
from odtc.workflow.provenance.searched_again import SearchedAgain
from odtc.workflow.provenance.settings import data_of_tree, reading_of_tree
from odtc.workflow.provenance.without_model import open_record
from odtc.workflow.run_record import write_record
from odtc.workflow.specification import ModelSpec, ReadingSpec, RunSpec, SolvingSpec
from tests import pipeline


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    random = np.random.default_rng(5)
    frame = pd.DataFrame(random.integers(0, 3, (30, 3)), columns=list("abc"))
    frame["y"] = np.where((frame.a > 0) ^ (random.random(30) < 0.3), "p", "q")
    frame.to_csv(folder / "d.csv", index=False)
    return folder


SPEC = RunSpec(model=ModelSpec("dpflow", depth=1, encoding="onehot"), solving=SolvingSpec(seed=3))


@pytest.fixture(scope="module")
def done(folder):
    return odtc.fit(odtc.read(folder / "d.csv"), None, "dpflow", depth=1, encoding="onehot")


@pytest.fixture
def run(folder, done, tmp_path):
    """(the stem, the tree file, the facts of the record) of a run in a folder of its own."""
    (tmp_path / "d.csv").write_bytes((folder / "d.csv").read_bytes())
    tree = write_tree(done.tree, tmp_path / "m.tree.json")
    stem = str(tmp_path / "m")
    path = write_record(done, SPEC, stem, tree)
    facts = json.loads(Path(path).read_text())
    facts["fit"]["data"]["path"] = "d.csv"
    Path(path).write_text(json.dumps(facts))
    return stem, Path(tree), facts


def opened(run, data=None, seconds=0.0, **words):
    stem, tree, facts = run
    forged = json.loads(json.dumps(facts))
    for key, value in words.items():
        part, *inner = key.split("__")
        if inner:
            forged["fit"][inner[0]] = {**forged["fit"][inner[0]], **value} if isinstance(value, dict) else value
        else:
            forged[part] = value
    Path(f"{stem}.run.json").write_text(json.dumps(forged))
    return open_record(stem, tree, data, seconds)


def failed(found):
    assert not found.note, found.note
    return {one.name for one in found.fit.decoded.checks if not one.passed}


def test_a_true_record_passes_each_check_and_holds_what_was_asked(run, done):
    stem, tree, facts = run
    found = opened(run)
    assert failed(found) == set() and found.fit.tree == done.tree and found.repeats and found.fit.verified
    assert {"tree file", "objective", "bound"} <= {one.name for one in found.fit.decoded.checks}
    assert (found.spec.model.depth, found.spec.solving.seed) == (1, 3)
    assert Path(found.data_path).resolve() == tree.parent / "d.csv"
    for name in ("termination", "bound", "objective", "message"):
        assert getattr(found.fit.solution, name) == getattr(done.solution, name)
    for name in ("certified", "fewest_leaves", "fewest_columns"):
        assert getattr(found.fit, name) == facts["fit"][name] == getattr(done, name)
    assert not opened(run, fit__repeats=False).repeats


def test_a_figure_that_is_false_fails_its_check(run):
    paid, bound = run[2]["objective"], run[2]["bound"]
    assert paid == bound > 2
    for more in (-1.0, 1.0):
        assert "objective" in failed(opened(run, objective=paid + more))
    assert "objective" in failed(opened(run, objective=paid + 1e-9, bound=bound + 1e-9))
    assert "bound" in failed(opened(run, bound=bound + 1))
    assert "bound" not in failed(opened(run, bound=bound - 1))
    none = opened(run, bound=None, gap=None, termination="time_limit")
    assert "bound" not in {one.name for one in none.fit.decoded.checks}


def test_a_bound_above_the_tree_of_the_record_fails_though_no_other_tree_is_in_hand(run, monkeypatch):
    monkeypatch.setattr(without_model, "_known_trees", lambda *_: [])
    monkeypatch.setattr(without_model, "search_again", lambda problem, *_: SearchedAgain(problem, 0.0))
    assert "bound" not in failed(opened(run)) and "bound" in failed(opened(run, bound=run[2]["objective"] + 1))


def test_options_that_a_record_does_not_name_are_those_of_a_run_that_names_none(run):
    found = opened(run, options={"seed": 3})
    assert failed(found) == set() and found.spec.solving == replace(SolvingSpec(), seed=3)


def test_what_is_derived_again_is_of_a_bound_alone(run):
    assert opened(run, seconds=5.0).again.bound == run[2]["bound"]
    assert opened(run, seconds=0.0).again.bound < run[2]["bound"]
    assert opened(run, None, 5.0, bound=None, gap=None, termination="time_limit").again.bound < run[2]["bound"]


def test_a_record_that_is_not_of_the_run_is_no_run(run, tmp_path):
    stem, tree, facts = run
    for words, said in (
        ({"schema": "odtc.run/9"}, "m.run.json has the schema 'odtc.run/9', expected "),
        ({"fit__tree": {"sha256": "0" * 64}}, "m.run.json is the record of another tree than m.tree.json"),
        ({"fit__data": {"path": "no.csv"}}, "no.csv' is not there; name it with --data"),
        ({"fit__data": {"sha256": "0" * 64}}, "is not the one of the run: its SHA-256 is another"),
        ({"fit__model": {"model": "none"}}, "m.run.json could not be read as the record of this run: "),
        ({"termination": "over"}, "m.run.json could not be read as the record of this run: "),
        ({"bound": "much"}, "m.run.json could not be read as the record of this run: "),
        ({"fit__reading": {"no": 1}}, "m.run.json could not be read as the record of this run: "),
    ):
        found = opened(run, **words)
        assert found.fit is None and said in found.note, words
    assert open_record(str(tmp_path / "none"), tree) == type(opened(run))()
    Path(f"{stem}.run.json").write_text("[1")
    assert "this run: expected a record of a run in JSON in " in open_record(stem, tree).note
    Path(f"{stem}.run.json").write_text(json.dumps({key: facts[key] for key in facts if key != "fit"}))
    found = open_record(stem, tree)
    assert found.fit is None and found.note == ""


def test_the_data_that_is_named_is_taken_if_it_is_that_of_the_run(run, tmp_path):
    (tmp_path / "moved.csv").write_bytes((tmp_path / "d.csv").read_bytes())
    (tmp_path / "d.csv").unlink()
    assert "is not there" in opened(run).note
    found = opened(run, tmp_path / "moved.csv")
    assert failed(found) == set() and Path(found.data_path).resolve() == tmp_path / "moved.csv"


def test_there_is_no_record_of_data_in_memory_or_of_rounds_of_a_selection(done, tmp_path):
    tree = write_tree(done.tree, tmp_path / "m.tree.json")
    memory = odtc.fit(done.dataset.X, done.dataset.y, "dpflow", depth=1, encoding="onehot")
    rounds = replace(SPEC, model=replace(SPEC.model, select="iterative:rounds=2"))
    for one, spec in ((memory, SPEC), (done, rounds)):
        assert write_record(one, spec, str(tmp_path / "m"), tree) is None
        assert not (tmp_path / "m.run.json").exists()
    assert write_record(done, SPEC, str(tmp_path / "m"), tree, False).exists()
    assert json.loads((tmp_path / "m.run.json").read_text())["fit"]["repeats"] is False


def test_the_record_of_a_tree_comes_before_the_manifest_of_its_stem(tmp_path):
    tree, digest = tmp_path / "m.tree.json", "0" * 64
    tree.write_text("{}")
    for name in ("d.csv", "e.csv"):
        (tmp_path / name).write_text(f"{name}\n1\n")
    own, model = fingerprint(tree), {"params": {}, "constraints": []}

    def told(data, ignore=()):
        sha = fingerprint(tmp_path / data) if (tmp_path / data).is_file() else digest
        return {
            "data": {"name": "d", "path": data, "sha256": sha},
            "model": model,
            "reading": {"ignore": list(ignore)},
        }

    def record(data, of, ignore=()):
        return {"fit": told(data, ignore) | {"tree": {"file": "m.tree.json", "sha256": of}}}

    def taken(manifest=None, record=None):
        for name, facts in (("m.odt.json", manifest), ("m.run.json", record)):
            (tmp_path / name).unlink(missing_ok=True)
            if facts is not None:
                (tmp_path / name).write_text(json.dumps(facts))
        found = data_of_tree(tree)
        return None if found is None else found.name, reading_of_tree(tree).get("ignore")

    d, e = told("d.csv", ["b"]), record("e.csv", own, ["c"])
    assert taken() == (None, None)
    assert taken(d) == ("d.csv", ("b",)) and taken(None, e) == ("e.csv", ("c",)) and taken(d, e) == ("e.csv", ("c",))
    assert taken(d, record("e.csv", digest, ["c"])) == ("d.csv", ("b",))  # the record of another tree
    assert taken(None, record("e.csv", digest)) == (None, None)
    assert taken(d, record("no.csv", own, ["c"])) == (None, ("c",))  # not the data of a model that left another tree
    changed = d | {"data": d["data"] | {"sha256": digest}}
    assert taken(changed) == (None, ("b",))


@pytest.mark.parametrize("termination", list(Termination))
def test_another_solver_contradicts_a_tree_exactly_by_its_figures(termination):
    """Over all figures of a small grid; 5 + 1e-12 is 5 up to rounding."""
    paid, figures = 5.0, (None, 3.0, 5.0 - 1e-12, 5.0, 5.0 + 1e-12, 7.0)
    optimal = termination == Termination.OPTIMAL
    for objective, bound, claimed in product(figures, figures, figures):
        said = Solution(None, termination, objective, bound, 1.0, "Other 2", message="no memory")
        check = _confirmed(Solution(None, Termination.OPTIMAL, paid, claimed, 1.0, "own"), paid, "other", said)
        near = bound if bound is not None else objective if optimal else None
        above = near == 7.0
        below = objective is not None and claimed is not None and objective < claimed - 1
        point, error = termination in NO_POINT, termination == Termination.ERROR
        assert check.name == "confirm other"
        assert check.passed == (not (above or below or point or error)), (objective, bound, claimed)
        assert ("but the tree costs 5" in check.text) == above
        assert (f"but no tree below {claimed or 0:.10g} is claimed" in check.text) == below
        assert ("but the tree is a point of the model" in check.text) == point
        assert ("so it confirms nothing: no memory" in check.text) == error
        assert check.text.startswith(f"Other 2 ended as {termination.replace('_', ' ')} with ")
        assert ("with nothing" in check.text) == (objective is None and near is None)
        if check.passed:
            agrees = optimal and claimed is not None and abs(claimed - paid) < 1
            best = optimal and not agrees and objective == 3.0
            assert check.text.endswith("it agrees that the tree is optimal") == agrees
            assert check.text.endswith("so it is not the best, which nothing claimed") == best
            assert check.text.endswith("nothing in that contradicts the tree or its bound") == (not agrees and not best)


def test_a_tree_of_the_certificate_beside_a_record_contradicts_its_bound(run, done, monkeypatch, tmp_path):
    stem, _, facts = run
    of = without_model.__name__
    monkeypatch.setattr(f"{of}.greedy", lambda problem: [])
    monkeypatch.setattr(f"{of}.quickly_searched", lambda problem, paid: [])
    paid = facts["objective"]
    leaf = replace(done.tree, root=Leaf(0, tuple(map(float, done.tree.root.counts)), done.tree.root.rows))
    worse = write_tree(leaf, tmp_path / "m.tree.json")
    found = opened((stem, worse, facts), fit__tree={"sha256": fingerprint(worse)})
    high = float(found.fit.decoded.heap.loss(found.fit.problem.encoded))
    assert high > paid
    words = {"objective": high, "bound": high, "fit__tree": {"sha256": fingerprint(worse)}}
    for text, contradicts in (
        (None, False),
        (json.dumps({"tree": done.tree.to_json()}), True),
        (json.dumps({"tree": leaf.to_json()}), False),
        (json.dumps({"tree": {"no": 1}}), False),
        (json.dumps({"no": 1}), False),
        ("[]", False),
        ("no JSON", False),
    ):
        (tmp_path / "m.certificate.json").unlink(missing_ok=True)
        if text is not None:
            (tmp_path / "m.certificate.json").write_text(text)
        found = opened((stem, worse, facts), **words)
        assert ("bound" in failed(found)) == contradicts, text
        told = next(one.text for one in found.fit.decoded.checks if one.name == "bound")
        assert told.startswith(f"the run recorded {high:.10g}; this tree costs {high:.10g}")
        assert ("m.certificate.json" in told) == (text is not None and "root" in text)
    (tmp_path / "m.certificate.json").write_text(json.dumps({"tree": leaf.to_json()}))
    for leaves, columns, smaller in ((False, False, None), (True, False, True), (False, True, True)):
        found = opened((stem, worse, facts), fit__fewest_leaves=leaves, fit__fewest_columns=columns, **words)
        told = [one for one in found.fit.decoded.checks if one.name == "smallest"]
        assert len(told) == bool(smaller) and all(one.passed for one in told)


def test_a_run_of_no_data_set_has_no_record_and_one_that_says_nothing_of_it_repeats(run, done):
    stem, tree, facts = run
    assert write_record(replace(done, dataset=None), SPEC, f"{stem}_other", tree) is None
    del facts["fit"]["repeats"]
    assert opened(run).repeats


def test_the_reading_that_a_manifest_tells_is_the_one_of_its_data(folder, done, tmp_path):
    """A manifest has no words of a reading, but those of its data."""
    data = odtc.read(folder / "d.csv", target="a")
    tree = Path(write_tree(done.tree, tmp_path / "m.tree.json"))
    said = describe_data(pipeline.pose(data, "dpflow", 1).encoded, tmp_path)
    (tmp_path / "m.odt.json").write_text(json.dumps({"data": said, "model": {"params": {}}}))
    told = reading_of_tree(tree)
    assert told == ReadingSpec.from_manifest(said).keywords and told["target"] == "a"


def test_fewer_columns_are_smaller_only_if_columns_are_told(folder, monkeypatch):
    """Two trees of three leaves, one of which asks one column and the other two; what they cost is left out."""
    monkeypatch.setattr(without_model, "costs_no_more", lambda *_: True)
    problem = pipeline.pose(odtc.read(folder / "d.csv"), "dpflow", 2, encoding="onehot")
    of = [problem.encoded.splits[at].features for at in range(problem.encoded.n_candidate_splits)]
    first = [at for at, one in enumerate(of) if one == of[0]][:2]
    second = next(at for at, one in enumerate(of) if one != of[0])
    label = np.array([-1, -1, -1, 0, 0, 1, -1, -1], np.int32)
    narrow, wide = (
        settle(np.array([-1, first[0], at, -1, -1, -1, -1, -1], np.int32), problem.encoded, label)
        for at in (first[1], second)
    )
    for columns, heap, other, smaller in (
        (True, wide, narrow, True),
        (False, wide, narrow, False),
        (True, narrow, wide, False),
        (False, narrow, wide, False),
    ):
        assert (without_model._smaller(problem, heap, [("other", other)], columns) is not None) == smaller


@pytest.mark.parametrize("shift", [1e-12, -1e-12, 1e-9])
@pytest.mark.parametrize("names", [("objective",), ("bound",), ("objective", "bound")])
def test_figures_that_are_off_by_a_share_of_a_million_millionth_are_refused(run, names, shift):
    if names == ("bound",) and shift < 0:
        return  # a lower bound holds, too
    forged = {name: run[2][name] * (1 + shift) for name in names}
    assert {*names} & failed(opened(run, **forged))

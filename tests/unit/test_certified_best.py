"""A best tree with its certificate in Python: each way in which the search can end claims exactly what was proved."""

from dataclasses import replace
from itertools import chain, repeat
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import odtc
from odtc.base import deadline
from odtc.errors import CertificateError, OutputError
from odtc.verification import certificate
from odtc.verification.constrained import multiplier_bound
from odtc.workflow.provenance import certifying
from odtc.workflow.provenance.certifying import Certificate, _proof, certified_rows, certify, tree_beside
from tests import pipeline

random = np.random.default_rng(2)
ROWS = pd.DataFrame({name: random.integers(0, 3, 24) for name in "abc"})
ROWS["y"] = np.where((ROWS.a > 0) ^ (random.random(24) < 0.3), "yes", "no")
CONFLICT = ("recall[yes] >= 1", "recall[no] >= 1")


def problem(depth=1, task=None, constraints=(), **words):
    rows = ROWS if task is None else ROWS.assign(y=ROWS.a * 2.0 + ROWS.b)
    return pipeline.pose(
        odtc.read(rows, task=task or "classification"), "dpflow", depth, constraints=constraints, **words
    )


def least(given) -> float:
    """What the best tree of one test costs, by trying each."""
    encoded, found = given.encoded, []
    for answers in [np.ones(encoded.n_rows, bool), *encoded.X.T]:
        found.append(sum(encoded.loss[side].sum(axis=0).min() for side in (answers, ~answers)))
    return min(found)


def test_what_is_proved_is_the_best_of_all_trees_of_one_test():
    given = problem()
    found = certify(given, None)
    assert found.objective == found.bound == least(given) > 0 and found.optimal and found.checked
    assert not found.infeasible and found.fit.verified and found.tree is found.fit.tree and found.source is None
    assert found.fit.solution.termination == "optimal" and found.fit.proof.bound == found.bound
    assert str(found).startswith(
        f"no tree of depth 1 over these {given.encoded.n_candidate_splits} splits costs less than "
    )
    assert "these include all" in str(found) and "\n" not in str(found) and "constraints" not in str(found)


@pytest.mark.parametrize("infeasible", [False, True])
def test_what_was_not_checked_is_the_word_of_the_search(infeasible):
    given = problem(constraints=CONFLICT if infeasible else ("leaf_rows >= 5",))
    found = certify(given, None)
    unchecked = replace(found, checked=False)
    if infeasible:
        assert found.infeasible and (found.tree, found.objective, found.bound, found.fit) == (None,) * 4
        assert not found.optimal and not unchecked.optimal
        words = f"no tree of depth 1 over these {given.encoded.n_candidate_splits} splits satisfies the constraints; "
        assert str(found).startswith(f"proved: {words}") and str(unchecked).startswith(f"by the search: {words}")
        return
    words = f"over these {given.encoded.n_candidate_splits} splits that satisfies the constraints costs less than"
    words = f"no tree of depth 1 {words}"
    assert str(found).startswith(words) and str(unchecked).startswith(f"by the search, {words}")
    assert found.optimal and not unchecked.optimal and unchecked.objective == found.objective


def test_a_tree_above_its_bound_is_not_called_the_best():
    found = certify(problem(), None)
    proof = replace(found.proof, bound=found.proof.bound - 1)
    open_end = replace(found, proof=proof)
    assert not open_end.optimal and (open_end.objective, open_end.bound) == (found.objective, found.bound - 1)
    first, *others = str(open_end).split("\n")
    assert f"costs less than {found.bound - 1:g}; " in first
    assert others == [
        f"the best tree found costs {found.objective:g}: the bound is proved, not the tree; allow more time"
    ]
    assert str(replace(open_end, checked=False)).endswith(f"found costs {found.objective:g}; allow more time")
    asked = problem(constraints=("leaf_rows >= 1",))
    bound_of_all = replace(open_end, fit=replace(open_end.fit, problem=asked))
    assert str(bound_of_all).endswith(
        "it satisfies the constraints; the bound applies to all trees, with or without the constraints"
    )


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"task": "regression"},
        {"constraints": ("leaf_rows >= 5",)},
        {"constraints": CONFLICT},
        {"params": {"lambda": 0.25}},
    ],
    ids=str,
)
def test_without_time_a_check_leaves_what_the_certificate_states(given):
    posed = problem(**given)
    facts, dataset = posed.module.certificate(posed), posed.encoded.dataset
    proof, checked = _proof(facts, dataset, None)
    multiplier_bound._last_answer.clear()  # what the check has just found would be its answer again, at once
    stated, unchecked = _proof(facts, dataset, -1.0)
    assert checked and not unchecked
    for name in ("objective", "bound", "depth", "n_candidate_splits"):
        assert getattr(stated, name) == getattr(proof, name), name
    forged = {**facts, "depth": 2}
    with pytest.raises(CertificateError):  # what a check refuses is not written
        _proof(forged, dataset, None)


def test_a_search_that_the_limit_ends_says_so(monkeypatch):
    """The clock says that the search took ten seconds."""

    def below(*given):
        proof, checked = _proof(*given)
        return replace(proof, bound=proof.bound - 1), checked

    for limit, ended in ((None, "unknown"), (10.5, "unknown"), (10.0, "time_limit"), (9.5, "time_limit")):
        ticks = chain([5.0], repeat(15.0))
        monkeypatch.setattr(certifying, "time", SimpleNamespace(monotonic=ticks.__next__, process_time=lambda: 0.0))
        assert certify(problem(), limit).fit.solution.termination == "optimal"
        with monkeypatch.context() as patched:
            ticks = chain([5.0], repeat(15.0))
            patched.setattr(certifying, "time", SimpleNamespace(monotonic=ticks.__next__, process_time=lambda: 0.0))
            patched.setattr(certifying, "_proof", below)
            found = certify(problem(), limit).fit.solution
        assert (found.termination, found.seconds) == (ended, 10.0)


@pytest.mark.parametrize("limit", [None, 1e9])
def test_a_search_that_was_interrupted_is_never_called_optimal_beyond_its_proof(monkeypatch, limit):
    patience = []

    def below(facts, dataset, seconds):
        patience.append(seconds)
        proof, checked = _proof(facts, dataset, None)
        return replace(proof, bound=proof.bound - 1), checked

    monkeypatch.setattr(certifying, "_proof", below)
    monkeypatch.setattr(deadline, "is_interrupted", lambda: True)
    assert certify(problem(), limit).fit.solution.termination == "interrupted" and patience == [deadline.IN_HAND]
    monkeypatch.setattr(certifying, "_proof", _proof)
    assert certify(problem(), limit).fit.solution.termination == "optimal"


@pytest.mark.parametrize(
    ("limit", "worked", "patience"), [(None, 3.0, None), (100.0, 3.0, 97.0), (9.0, 8.0, 8.0), (3.0, 3.0, 6.0)]
)
def test_the_check_may_work_until_the_limit_or_as_long_as_the_search(monkeypatch, limit, worked, patience):
    """A check that took longer than its search ended after as long, whatever limit was left."""
    found = []
    wall, cpu = chain([0.0], repeat(worked)), chain([0.0], repeat(worked))
    monkeypatch.setattr(certifying, "time", SimpleNamespace(monotonic=wall.__next__, process_time=cpu.__next__))
    monkeypatch.setattr(certifying, "_proof", lambda *given: found.append(given[2]) or _proof(*given))
    certify(problem(), limit)
    assert found == [patience]


def test_the_files_of_a_certificate_stand_beside_each_other(tmp_path):
    found, none = certify(problem(), None), certify(problem(constraints=CONFLICT), None)
    for name in ("m", "m.json", "m.certificate.json"):
        assert found.write(tmp_path / name) == tmp_path / "m.certificate.json"
    assert none.write(tmp_path / "none") == tmp_path / "none.certificate.json"
    assert {path.name for path in tmp_path.iterdir()} == {
        "m.certificate.json",
        "m.tree.json",
        "none.certificate.json",
    }
    assert tree_beside(Path("a/own.txt")) == Path("a/own.txt.tree.json")
    assert tree_beside(Path("a/b.json")) == tree_beside(Path("a/b.certificate.json")) == Path("a/b.tree.json")
    assert odtc.read_tree(tmp_path / "m.tree.json") == found.tree


def test_the_rows_of_a_certificate_are_those_of_its_file_and_of_no_other(tmp_path):
    file = tmp_path / "d.csv"
    ROWS.to_csv(file, index=False)
    found = odtc.certify(file, depth=1)
    path = found.write(tmp_path / "m")
    facts = certificate.read_certificate(path)
    where, rows = certified_rows(path, facts)
    assert where.samefile(file) and np.array_equal(rows.X, odtc.read(file).X) and rows.classes == ("no", "yes")
    (tmp_path / "moved").mkdir()
    file.rename(tmp_path / "moved" / "d.csv")
    with pytest.raises(CertificateError, match="the certificate .*d.csv. is not there; name it with --data"):
        certified_rows(path, facts)
    where, rows = certified_rows(path, facts, tmp_path / "moved" / "d.csv")
    assert where == tmp_path / "moved" / "d.csv" and rows.n_rows == 24
    (tmp_path / "other.csv").write_text("a,b\n1,2\n2,1\n")
    with pytest.raises(CertificateError, match="other.csv' is not the data of .*target 'y'.*name its data with --data"):
        certified_rows(path, facts, tmp_path / "other.csv")
    nameless = {**facts, "data": {key: value for key, value in facts["data"].items() if key != "path"}}
    with pytest.raises(CertificateError, match="does not say of which data file it is; name it with --data"):
        certified_rows(path, nameless)
    assert certified_rows(path, nameless, tmp_path / "moved" / "d.csv")[1].n_rows == 24
    assert isinstance(found, Certificate) and found.source == file


def test_a_certificate_is_written_beside_nothing_that_it_would_overwrite(tmp_path):
    """Neither in a folder that is not there, nor in the place of the data file, be it that of its tree."""
    written = []
    for source in ("m.certificate.json", "m.tree.json"):
        (tmp_path / source).write_text("rows")
        one = SimpleNamespace(source=tmp_path / source, write_to=written.append)
        with pytest.raises(OutputError):
            Certificate.write(one, tmp_path / "m")
    for place in (tmp_path / "none" / "m", tmp_path / "m.tree.json" / "m"):
        with pytest.raises(OutputError):
            Certificate.write(SimpleNamespace(source=None, write_to=written.append), place)
    assert written == []
    Certificate.write(SimpleNamespace(source=None, write_to=written.append), tmp_path / "m")
    assert written == [tmp_path / "m.certificate.json"]

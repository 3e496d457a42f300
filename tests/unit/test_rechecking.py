"""What `odtc verify` adds, call by call: which checks there are of which files, and whose figures they compare; and the
model of a manifest whose makers changed."""

import gzip
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import odtc as package
from odtc.errors import ManifestError, TimeLimitReached
from odtc.fileformats.model_files import read_model
from odtc.model.solution import EDITED, Solution, Termination
from odtc.workflow import files_of_models
from odtc.workflow.decoding import finish
from odtc.workflow.provenance import claims, described_model, rechecking
from odtc.workflow.provenance.described_model import described
from tests import pipeline
from tests.command_line import MONKS, odtc

OF_FILE = ["model file", "file bounds", "file rows", "file integrality", "file objective", "file and point"]
OF_DATA = ["encoding", "rows read"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("solved")
    words = ("--model", "flowoct", "--depth", 1, "--encoding", "onehot", "-o", "m")
    for said in (
        odtc("build", MONKS / "monks-1.csv", *words, folder=folder),
        odtc("solve", "m.mps", "--solver", "highs", folder=folder),
    ):
        assert said.code == 0, said.err
    return folder


@pytest.fixture(scope="module")
def opened(folder):
    """(model, solution, manifest, data set, run) of the solved folder."""
    model, solution, manifest = files_of_models.open_solution(folder / "m.sol")
    dataset, _ = files_of_models.original_data(manifest, None)
    return model, solution, manifest, dataset, finish(model, solution, dataset=dataset)


def rechecked(opened, path, given=None, **changes):
    """(the names of the checks that are added, those of them that fail, the remark)."""
    model, solution, manifest, dataset, done = opened
    solution = replace(solution, **changes.pop("solution", {}))
    done = changes.pop("done", done)
    manifest = changes.pop("manifest", manifest)
    after, remark = rechecking.recheck(done, dataset if given is None else None, manifest, path, solution, **changes)
    before = done.decoded.checks
    assert after.decoded.checks[: len(before)] == before
    added = after.decoded.checks[len(before) :]
    return [check.name for check in added], [check.name for check in added if not check.passed], remark


def test_all_that_is_at_hand_is_checked(opened, folder):
    names, wrong, remark = rechecked(opened, folder / "m.sol")
    assert sorted(names) == sorted([*OF_DATA, *OF_FILE, "run record"]) and wrong == [] and remark == ""


def test_without_the_data_file_the_encoding_is_not_derived_again(opened, folder):
    assert sorted(rechecked(opened, folder / "m.sol", given="none")[0]) == sorted([*OF_FILE, "run record"])


def test_without_the_model_file_that_is_said(opened, folder, tmp_path):
    manifest = replace(opened[2], path=tmp_path / "m.odt.json")
    names, _, remark = rechecked(opened, tmp_path / "m.sol", manifest=manifest)
    assert names == OF_DATA and "no model file of the content that was solved" in remark
    before = replace(manifest, facts={key: value for key, value in manifest.facts.items() if key != "content"})
    of_none = {"content": ""}
    assert rechecked(opened, tmp_path / "m.sol", manifest=before, solution=of_none) == (OF_DATA, [], "")
    # A solution that names no content is held against the file of the manifest.
    assert set(OF_FILE) <= set(rechecked(opened, folder / "m.sol", solution=of_none)[0])
    other = {"content": "0" * 64}
    names, _, remark = rechecked(opened, folder / "m.sol", solution=other)
    assert not set(OF_FILE) & set(names) and "no model file" in remark


def test_a_record_is_held_against_the_point_and_of_an_edited_model_against_its_objective(opened, folder):
    paid = opened[1].objective
    assert rechecked(opened, folder / "m.sol", solution={"objective": paid + 1})[1] == ["run record"]
    both = {"objective": paid + 1, "scope": EDITED, "scope_objective": paid}
    assert rechecked(opened, folder / "m.sol", solution=both)[1] == []
    both = {"objective": paid, "scope": EDITED, "scope_objective": paid + 1}
    assert rechecked(opened, folder / "m.sol", solution=both)[1] == ["run record"]


def test_other_solvers_are_asked_about_the_tree(opened, folder, monkeypatch):
    asked = []
    monkeypatch.setattr(rechecking, "confirm", lambda *words: asked.append(words) or [])
    model, solution, manifest, _, done = opened
    found = claims.model_file(manifest, manifest.content, folder / "m.sol")
    rechecked(opened, folder / "m.sol")
    assert asked == []
    rechecked(opened, folder / "m.sol", solvers=("cbc",), time_limit=7.0)
    (words,) = asked
    assert words[0] is model and words[1].x.tolist() == solution.x.tolist()  # arrays have no ==, from Python 3.13 on
    assert words[2:] == (solution.objective, ("cbc",), found, 7.0)
    of_edited = {"scope": EDITED, "scope_objective": 3.0}
    rechecked(opened, folder / "m.sol", solution=of_edited, solvers=("cbc",))
    assert asked[1][2] == 3.0
    monkeypatch.setattr(rechecking, "tree_cost", lambda *_: None)  # a tree that is none of the model's
    rechecked(opened, folder / "m.sol", solvers=("cbc",))
    assert len(asked) == 2


def test_it_is_the_tree_of_the_point_that_the_file_is_asked_about(opened, folder, monkeypatch):
    seen = []
    monkeypatch.setattr(rechecking, "file_checks", lambda *words: seen.append(words[2]) or ([], "told"))
    done = opened[4]
    one, other = SimpleNamespace(name="of the point"), done.decoded.heap
    for before, expected in ((one, one), (None, other)):
        run = replace(done, decoded=replace(done.decoded, point_heap=before))
        assert rechecked(opened, folder / "m.sol", done=run)[2] == "told" and seen.pop() is expected


# The model file.


def test_the_file_of_a_content_is_found_packed_or_not_and_no_other(opened, folder, tmp_path):
    manifest, data = replace(opened[2], path=tmp_path / "m.odt.json"), (folder / "m.mps").read_bytes()
    content = manifest.content
    assert claims.model_file(manifest, content, tmp_path / "m.sol") is None
    for name, written in (("m.lp", b""), ("m.mps", data + b"* more\n")):
        (tmp_path / name).write_bytes(written)
    assert claims.model_file(manifest, content, tmp_path / "m.sol") is None
    assert claims.model_file(manifest, "", tmp_path / "m.sol") is None
    (tmp_path / "m.lp").unlink()
    (tmp_path / "m.lp").mkdir()  # a folder is no file
    (tmp_path / "m.mps.gz").write_bytes(gzip.compress(data))
    assert claims.model_file(manifest, content, tmp_path / "m.sol") == (tmp_path / "m.mps.gz", data)
    (tmp_path / "m.mps.gz").write_bytes(gzip.compress(data)[:-9])  # damaged
    assert claims.model_file(manifest, content, tmp_path / "m.sol") is None
    (tmp_path / "m.mps").write_bytes(data)
    # Beside the solution, or beside the manifest.
    assert claims.model_file(manifest, content, tmp_path / "other.sol") == (tmp_path / "m.mps", data)
    elsewhere = replace(manifest, path=tmp_path / "none" / "m.odt.json")
    assert claims.model_file(elsewhere, content, tmp_path / "m.sol") == (tmp_path / "m.mps", data)


def test_a_file_that_the_second_reader_does_not_know_is_said(opened):
    model, solution, _, _, done = opened
    checks, why = rechecking.file_checks(model, solution, done.decoded.heap, (rechecking.Path("m.mps"), b"text"))
    assert checks == [] and why.startswith("m.mps is not checked number by number: expected")


def test_without_a_point_of_a_solver_the_tree_is_held_against_the_file(opened, folder):
    model, solution, manifest, _, done = opened
    found = claims.model_file(manifest, manifest.content, folder / "m.sol")
    checks, why = rechecking.file_checks(model, replace(solution, x=None), done.decoded.heap, found)
    assert [check.name for check in checks] == OF_FILE[1:-1] and why == ""
    (check,) = rechecking.file_checks(model, solution, done.decoded.heap, found)[0][4:]
    assert check.passed and check.text.startswith("the solver's point, tolerance 1e-06: bounds ")
    off = solution.x.copy()
    off[np.flatnonzero(model.integrality)[0]] += 0.25
    (check,) = rechecking.file_checks(model, replace(solution, x=off), done.decoded.heap, found)[0][4:]
    assert not check.passed and "integrality " in check.text and "bounds" not in check.text


def test_who_is_asked_solves_the_file_or_the_model_if_there_is_none(opened, folder, monkeypatch):
    model, solution, manifest, _, _ = opened
    found, asked = claims.model_file(manifest, manifest.content, folder / "m.sol"), []

    def answered(given, name, time_limit):
        asked.append((given, name, time_limit))
        return Solution(None, Termination.OPTIMAL, solution.objective, solution.bound)

    monkeypatch.setattr(rechecking, "solve", answered)
    for file in (found, None):
        checks = rechecking.confirm(model, solution, solution.objective, ("a", "b"), file, 3.0)
        assert [(check.name, check.passed) for check in checks] == [("confirm a", True), ("confirm b", True)]
    of_file, again, of_model, _ = (given for given, *_ in asked)
    assert of_file.content == again.content == manifest.content and of_file.n_rows == model.n_rows
    assert of_model.problem is None and of_model.columns == model.columns != of_file.columns
    assert [(name, limit) for _, name, limit in asked] == [("a", 3.0), ("b", 3.0)] * 2


# The model of a manifest.


def with_facts(manifest, **changes):
    facts = dict(manifest.facts)
    facts["model"] = dict(facts["model"]) | changes.pop("model", {})
    return replace(manifest, facts=facts | changes)


def rows_of(model):
    return sorted(map(tuple, np.column_stack([model.A.toarray(), model.row_lower, model.row_upper]).tolist()))


def test_the_same_makers_build_the_model_again(opened, folder, tmp_path):
    model = described(opened[2], tmp_path / "m.sol")
    assert model.recorded == "" and not model.rowless and rows_of(model) == rows_of(opened[0])


def test_another_version_of_odtc_that_builds_the_same_needs_no_file(opened, tmp_path):
    manifest = replace(with_facts(opened[2], odtc="0.0.1"), path=tmp_path / "m.odt.json")
    model = described(manifest, tmp_path / "m.sol")
    assert model.recorded == "" and not model.rowless and rows_of(model) == rows_of(opened[0])


@pytest.mark.parametrize("change", [{"odtc": "0.0.1"}, {"model": {"version": "1.5"}}], ids=str)
def test_other_makers_of_another_model_leave_its_file_or_its_columns(change, opened, folder, tmp_path):
    model = dict(change.get("model", {})) | {"n_rows": opened[0].n_rows + 1}
    manifest = with_facts(opened[2], **change | {"model": model})
    found = described(manifest, folder / "m.sol")
    who = "flowoct of odtc 0.0.1" if "odtc" in change else "flowoct 1.5 of odtc"
    here = f"odtc {package.__version__}" if "odtc" in change else "flowoct of odtc"
    begins = f"built by {who}, here is {here}: the tree is read from the columns that the manifest records"
    assert found.recorded == f"{begins}, and the rows from the model file" and not found.rowless
    assert rows_of(found) == rows_of(read_model(folder / "m.mps"))
    assert found.problem is manifest.problem and found.cuts == manifest.cuts
    assert found.columns == manifest.columns
    alone = described(replace(manifest, path=tmp_path / "m.odt.json"), tmp_path / "m.sol")
    assert (
        alone.rowless and alone.recorded == f"{begins}; the rows are not known, because the model file is not available"
    )
    # A model without a file was never written.
    none = with_facts(manifest, content=None)
    assert described(none, folder / "m.sol").rowless


def test_columns_alone_allow_every_point(opened, tmp_path):
    manifest = replace(with_facts(opened[2], model={"version": "1.5"}), path=tmp_path / "m.odt.json")
    alone = described(manifest, tmp_path / "m.sol")
    assert alone.rowless and alone.n_cols == opened[0].n_cols and alone.n_rows == 0 and alone.offset == 0.0
    assert alone.name == opened[0].name and alone.problem is manifest.problem and alone.columns == manifest.columns
    assert np.isneginf(alone.col_lower).all() and np.isposinf(alone.col_upper).all()
    assert not alone.c.any() and not alone.integrality.any() and alone.cuts == manifest.cuts
    nameless = with_facts(manifest)
    del nameless.facts["model"]["name"]
    assert described(nameless, tmp_path / "m.sol").name == "flowoct"


def test_members_of_others_that_have_not_changed_need_no_file(opened, tmp_path, monkeypatch):
    monkeypatch.setattr(described_model, "_makers", lambda _: ("", "flowoct 1.5 of a.py"))
    model = described(replace(opened[2], path=tmp_path / "m.odt.json"), tmp_path / "m.sol")
    assert model.recorded == "" and not model.rowless


def test_another_version_with_the_file_of_the_same_rows_is_the_model(opened, folder):
    """Of members that are others now nobody believes that they build the same: the file says so, row by row."""
    found = described(with_facts(opened[2], model={"version": "1.5"}), folder / "m.sol")
    assert found.recorded == "" and not found.rowless and rows_of(found) == rows_of(opened[0])


def test_other_makers_of_a_model_of_the_same_size_have_the_rows_of_its_file(opened, folder, monkeypatch):
    """The sizes are those that the manifest records, and one side of a row is another."""
    model = opened[0]
    upper = np.where(np.isfinite(model.row_upper), model.row_upper + 1, model.row_upper)
    monkeypatch.setattr(described_model, "_built", lambda _: replace(model, row_upper=upper, matrix=model.A))
    found = described(with_facts(opened[2], model={"version": "1.5"}), folder / "m.sol")
    assert "the rows from the model file" in found.recorded and rows_of(found) == rows_of(model)


def test_no_other_makers_and_another_model_is_an_edited_manifest(opened, folder):
    with pytest.raises(ManifestError, match=f"records n_rows = .*, odtc {package.__version__} builds"):
        described(with_facts(opened[2], model={"n_rows": 1}), folder / "m.sol")


def fails_with(problem, monkeypatch):
    def built(_):
        raise problem

    monkeypatch.setattr(described_model, "_built", built)


def test_a_build_that_fails_is_told_unless_its_maker_changed(opened, folder, monkeypatch):
    manifest, changed = opened[2], with_facts(opened[2], odtc="0.0.1")
    fails_with(KeyError("z"), monkeypatch)
    with pytest.raises(ManifestError, match="cannot be built again by flowoct: KeyError: 'z'"):
        described(manifest, folder / "m.sol")
    assert "the rows from the model file" in described(changed, folder / "m.sol").recorded
    fails_with(ManifestError("its own words"), monkeypatch)
    with pytest.raises(ManifestError, match="^its own words$"):
        described(manifest, folder / "m.sol")
    assert described(changed, folder / "m.sol").recorded
    fails_with(TimeLimitReached("too late"), monkeypatch)
    for one in (manifest, changed):
        with pytest.raises(TimeLimitReached):
            described(one, folder / "m.sol")


# Rows that were selected.


def test_rows_that_are_selected_again_are_no_word_of_the_run():
    """In the seconds that are given, or in those of a search again; not of rounds, nor of other rows or weights."""
    problem = pipeline.pose(MONKS / "monks-2.csv", "flowoct", 1, encoding="onehot", select="balanced:part=3")
    dataset = problem.encoded.dataset
    chosen = dataset.selected
    for seconds in (None, 60.0):
        assert rechecking._selected_again(problem, dataset, seconds) == ""
    word = f"which {dataset.n_rows:,} of the {chosen.whole.n_rows:,} rows were selected is stated by the run"
    others = np.setdiff1d(np.arange(chosen.whole.n_rows), chosen.rows)[: len(chosen.rows)]
    for other in (
        replace(dataset, selected=replace(chosen, rows=np.sort(np.append(chosen.rows[1:], others[0])))),
        replace(dataset, weight=dataset.weight + 1),
    ):
        assert rechecking._selected_again(problem, other, None) == f"{word}: balanced:part=3 selects others here"
    assert rechecking._selected_again(problem, dataset, -1.0).startswith(f"{word}, not recomputed (")


def test_a_bound_that_was_derived_again_is_not_called_the_word_of_a_solver(opened, folder):
    record = rechecking.record_of(folder / "m.sol")
    for derived, again in ((("bound",), True), ((), False)):
        told = rechecking.check_record(record, opened[1].objective, derived).text
        assert ("objective, bound and gap are recomputed" in told) == again


def test_an_objective_of_a_record_that_is_off_by_more_than_rounding_is_refused(opened, folder):
    paid = opened[1].objective
    assert rechecked(opened, folder / "m.sol", solution={"objective": paid * (1 + 1e-12)})[1] == ["run record"]
    assert rechecked(opened, folder / "m.sol", solution={"objective": paid * (1 + 1e-15)})[1] == []

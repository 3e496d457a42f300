"""The predicted size of a model is the size of the model that is built (odtc.problem.counts)."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odtc.errors import ModelError
from odtc.evaluation import size_table
from odtc.evaluation.size_table import SizeTable
from odtc.model import blocks
from odtc.model.blocks import counting, labels_where
from odtc.problem import counts
from odtc.problem.estimates import Counts
from odtc.problem.formulation import FORMULATIONS
from odtc.testing import cases
from odtc.testing.problems import COMPILED
from odtc.workflow.compiling import compile_model
from odtc.workflow.posing import pose
from tests import pipeline
from tests.command_line import MONKS, odtc

MONKS_1 = MONKS / "monks-1.csv"


@pytest.mark.parametrize(
    "case", [case for name in COMPILED for case in cases("formulation", name, property="counts")], ids=str
)
def test_what_is_counted_before_is_what_is_built(case):
    case.expect(2)  # `odtc check` draws more


@pytest.mark.parametrize("name", ["flowoct", "oct"])
@pytest.mark.parametrize("cuts", ["none", "all"])
@given(seed=st.integers(0, 999))
@settings(max_examples=3, deadline=None)
def test_constraints_and_cut_families_are_counted_too(name, cuts, seed):
    random = np.random.default_rng(seed)
    data = random.integers(0, 2, (9, 3)).astype(float), np.arange(9) % 2
    posed = pose(*pipeline.labelled(*data, name, 2, {}), constraints=("leaf_rows >= 2", "branch_nodes <= 2"))
    families = () if cuts == "none" else "all"
    said, model = counts.counts_of(posed, families), compile_model(posed, families)
    assert (said.columns, said.rows, said.nonzeros) == (model.n_cols, model.n_rows, model.nnz)
    assert len(model.columns) and said.exact


@pytest.mark.parametrize("name", COMPILED)
def test_labels_that_are_not_looked_at_are_counted_all_the_same(name, monkeypatch):
    random = np.random.default_rng(7)
    data = random.integers(0, 2, (30, 4)).astype(float), random.permutation(30) % 2
    posed = pose(*pipeline.labelled(*data, name, 2, {}))
    looked_at = [counts.counts_of(posed, cuts) for cuts in ((), "all")]
    monkeypatch.setattr(blocks, "MANY_LABELS", 0)
    assert [counts.counts_of(posed, cuts) for cuts in ((), "all")] == looked_at
    if (said := looked_at[0]).exact:
        model = compile_model(posed, ())
        assert (said.columns, said.rows, said.nonzeros) == (model.n_cols, model.n_rows, model.nnz)


@pytest.mark.parametrize("name", ["flowoct", "bendersoct"])
def test_rows_that_only_solved_subtrees_tell_are_said_to_be_left_out(name):
    """They were left out of figures that were called exact."""
    random = np.random.default_rng(7)
    data = random.integers(0, 2, (30, 4)).astype(float), random.permutation(30) % 2
    posed = pose(*pipeline.labelled(*data, name, 2, {}))
    said, model = counts.counts_of(posed, ("subtree_value",)), compile_model(posed, ("subtree_value",))
    assert said.rows < model.n_rows and "without the constraints of subtree_value" in said.words
    said, model = counts.counts_of(posed, ()), compile_model(posed, ())
    assert said.rows == model.n_rows and "without" not in said.words


def test_entries_of_a_counted_model_take_no_memory():
    mask = np.random.default_rng(3).random((50, 4)) < 0.3
    rows, columns = labels_where(mask)
    assert (mask[rows, columns]).all() and len(rows) == mask.sum()
    with counting():
        counted = labels_where(mask)
    assert [labels.shape for labels in counted] == [rows.shape] * 2 and counted[0].strides == (0,)


def test_a_model_that_memory_cannot_hold_is_refused_before_it_is_built(monkeypatch):
    random = np.random.default_rng(1)
    posed = pose(*pipeline.labelled(random.integers(0, 2, (2000, 20)).astype(float), np.arange(2000) % 2, "oct", 9, {}))
    need = counts.counts_of(posed)
    monkeypatch.setattr(counts, "available", lambda: need.memory // 3)
    with pytest.raises(ModelError, match=rf"has {need.columns:,} columns, {need.rows:,} rows.*depth=7 takes about"):
        compile_model(posed)
    assert counts.counts_of(pose(*_same(posed, 7))).memory <= need.memory // 3


def _same(posed, depth):
    return posed.encoded.dataset, posed.formulation, depth


def test_the_table_has_every_formulation(tmp_path):
    done = odtc("build", MONKS_1, "--estimate", "--depth", "3", "--json", folder=tmp_path).facts
    assert set(done["models"]) == set(FORMULATIONS.names()) and not list(tmp_path.iterdir())
    model = pipeline.build(MONKS_1, "binoct", 3)
    said = done["models"]["binoct"]
    assert (said["columns"], said["rows"], said["nonzeros"]) == (model.n_cols, model.n_rows, model.nnz)
    assert done["models"]["cart"]["columns"] is None and "learns" in done["models"]["cart"]["words"]
    screen = odtc("build", MONKS_1, "--estimate", "--depth", "3", folder=tmp_path).out
    assert screen.splitlines()[1].split()[:4] == ["model", "variables", "constraints", "nonzeros"]


def test_seconds_are_those_of_this_machine_at_this_moment(tmp_path, monkeypatch):
    """They were those of the machine and the hour in which their constants were measured."""
    seconds = []
    for slower in (1, 10):
        clock = iter(np.arange(100) * slower)
        monkeypatch.setattr(size_table, "time", SimpleNamespace(process_time=lambda clock=clock: next(clock)))
        done = odtc("build", MONKS_1, "--estimate", "--depth", "3", "--json", folder=tmp_path).facts
        seconds.append({name: one["seconds"] for name, one in done["models"].items() if one["seconds"]})
    assert len(seconds[0]) > 5 and seconds[0].keys() == seconds[1].keys()
    for name, one in seconds[0].items():
        assert seconds[1][name] == pytest.approx(10 * one)


def test_what_does_not_fit_is_said_with_advice():
    small, large = Counts(1, 2, 3, True, 10, 0.1), Counts(10, 20, 30, True, 4_000, 0.1)
    table = SizeTable({"oct": small, "flowoct": large, "cg": Counts(words="a search")}, "cg", "why", 2_000, "2 rows")
    text = table.to_text()
    assert "flowoct: more than the 2 KB of memory that are free; use a smaller `depth`" in text
    assert "oct: more" not in text.replace("flowoct: more", "") and "does not fit" in text and "cg*" in text

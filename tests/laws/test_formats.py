"""Law 5: each file, read back by odtc and by HiGHS, is the model; written twice it is the same bytes."""

import gzip

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from odtc.data.dataset import Dataset, Feature
from odtc.data.encoding import encode
from odtc.fileformats import mps_writer
from odtc.fileformats.model_files import FORMATS, read_model, write_model
from odtc.fileformats.models.fixed_mps import fixed_names
from odtc.model.points import name_list
from odtc.problem.formulation import FORMULATIONS
from odtc.problem.parameters import parse_params
from odtc.problem.problem import Problem
from odtc.testing.problems import ALL_VARIANTS, form_id, problems
from odtc.trees.heap_tree import CompleteTree
from tests import highs_reader

# A folder made once serves all examples of a test: every example writes its files anew.
EACH = dict(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


def assert_file_is_the_model(path, model, format):
    """Written once more it has the same bytes, and both readers find the model in it."""
    first = path.read_bytes()
    write_model(model, path, format)
    assert path.read_bytes() == first
    again = read_model(path)
    assert again.name == model.name
    assert_same_model(model, again, format)
    assert_same_model(model, highs_reader.read_model(path), format)


@pytest.mark.every(4)
@pytest.mark.parametrize("form", ALL_VARIANTS, ids=form_id)
@given(data=st.data())
@settings(max_examples=4, **EACH)
def test_a_file_read_back_is_the_model(form, data, tmp_path):
    problem = data.draw(problems(form))
    model = problem.module.build(problem)
    for format in FORMATS.names():
        path = write_model(model, tmp_path / f"model{FORMATS.get(format).SUFFIX}", format)
        assert_same_model(model, FORMATS.get(format).read(path.read_bytes(), "x"), format)
        assert_file_is_the_model(path, model, format)


@pytest.mark.parametrize("format", FORMATS.names())
@given(data=st.data())
@settings(max_examples=12, **EACH)
def test_a_packed_file_read_back_is_the_model(format, data, tmp_path):
    problem = data.draw(problems(data.draw(st.sampled_from(ALL_VARIANTS))))
    model = problem.module.build(problem)
    plain = write_model(model, tmp_path / f"model{FORMATS.get(format).SUFFIX}", format)
    path = write_model(model, tmp_path / f"{plain.name}.gz", format)
    assert gzip.decompress(path.read_bytes()) == plain.read_bytes()
    assert_file_is_the_model(path, model, format)


@pytest.mark.parametrize("form", [("flowoct", {"literal": True}), ("svm1_odt", {})], ids=form_id)
@given(data=st.data(), cards=st.integers(1, 9))
@settings(max_examples=6, **EACH)
def test_a_file_written_in_small_pieces_is_the_model(form, data, cards, tmp_path, monkeypatch):
    problem = data.draw(problems(form))
    model = problem.module.build(problem)
    whole = write_model(model, tmp_path / "whole.mps").read_bytes()
    monkeypatch.setattr(mps_writer, "CARDS", cards)
    path = write_model(model, tmp_path / "pieces.mps")
    monkeypatch.undo()
    assert_same_model(model, read_model(path), "mps")
    # Only how wide the numbers are padded depends on the piece.
    assert [line.split() for line in path.read_bytes().split(b"\n")] == [line.split() for line in whole.split(b"\n")]


@pytest.mark.every(2)
@pytest.mark.parametrize("form", ALL_VARIANTS, ids=form_id)
@given(data=st.data())
@settings(max_examples=20, deadline=None)
def test_the_matrix_holds_each_entry_once_in_any_chunks(form, data):
    problem = data.draw(problems(form, depths=(1, 2, 3)))
    model = problem.module.build(problem)
    A = model.A
    assert A.nnz == model.nnz and A.has_canonical_format and (A.data != 0).all()
    most = data.draw(st.integers(1, 50))
    by_columns = np.zeros(A.shape)
    for begin, end, part in model.column_chunks(most):
        by_columns[:, begin:end] += part.toarray()
    by_rows = np.zeros(A.shape)
    for begin, end, part in model.row_chunks(most):
        by_rows[begin:end] += part.toarray()
    np.testing.assert_array_equal(by_columns, A.toarray())
    np.testing.assert_array_equal(by_rows, A.toarray())


@pytest.mark.parametrize("form", ALL_VARIANTS, ids=form_id)
@given(data=st.data())
@settings(max_examples=10, deadline=None)
def test_names_are_safe_and_distinct(form, data):
    problem = data.draw(problems(form, depths=(1, 2, 3)))
    model = problem.module.build(problem)
    for blocks in (model.columns, model.rows):
        names = name_list(blocks)
        assert len(set(names)) == len(names)
        for name in names:
            assert name.isascii() and name.isidentifier() and len(name) <= 60, name
            assert name[0] not in "eE", f"{name}: an LP file would read a name that begins with e as a number"


def test_gzip_says_nothing_of_name_or_time(tmp_path):
    dataset = Dataset(
        "d", np.array([[0.0], [1.0]]), np.array([0, 1], np.int32), (Feature("f", "numeric"),), ("a", "b"), np.ones(2)
    )
    problem = Problem(encode(dataset), CompleteTree(1), FORMULATIONS.get("flowoct"), parse_params("flowoct", {}))
    model = problem.module.build(problem)
    one, two = write_model(model, tmp_path / "one.mps.gz"), write_model(model, tmp_path / "two.mps.gz")
    assert one.read_bytes() == two.read_bytes()
    assert gzip.decompress(one.read_bytes()) == write_model(model, tmp_path / "one.mps").read_bytes()


def assert_same_model(model, read, format):
    """Names, order, costs, bounds, kinds, sides and every nonzero, exactly."""
    if format == "fixed-mps":
        names = [bytes(row).decode() for row in fixed_names(model.n_cols, "C")]
        rows = [bytes(row).decode() for row in fixed_names(model.n_rows, "R")]
    else:
        names, rows = name_list(model.columns), name_list(model.rows)
    assert name_list(read.columns) == names
    assert name_list(read.rows) == rows
    for one, two in (
        (model.c, read.c),
        (model.col_lower, read.col_lower),
        (model.col_upper, read.col_upper),
        (model.row_lower, read.row_lower),
        (model.row_upper, read.row_upper),
        (model.integrality, read.integrality),
    ):
        np.testing.assert_array_equal(one, two)
    assert read.offset == model.offset
    assert model.A.nnz == read.A.nnz
    np.testing.assert_array_equal(model.A.toarray(), read.A.toarray())

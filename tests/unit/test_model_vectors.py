"""The vectors of a model are stored in parts, which are joined at the first use of the whole."""

import pickle
from dataclasses import replace

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import odtc
from odtc.fileformats.model_files import write_model
from odtc.model import vectors
from odtc.model.blocks import Axis, Block
from odtc.model.builder import ModelBuilder
from odtc.model.vectors import VECTORS, Joined

NUMBERS = [0.0, -0.0, 1.0, -np.inf, 2.5]


@st.composite
def parts(draw):
    """Arrays of one or two axes, laid out, or of one number that is broadcast along all or one of them."""
    shape = draw(st.sampled_from([(0,), (1,), (5,), (2, 3), (3, 1)]))
    kind = draw(st.sampled_from(["one number", "a row", "laid out"]))
    if kind == "one number":
        return np.broadcast_to(draw(st.sampled_from(NUMBERS)), shape)
    width = shape if kind == "laid out" else shape[-1:]
    drawn = draw(st.lists(st.sampled_from(NUMBERS), min_size=int(np.prod(width)), max_size=int(np.prod(width))))
    return np.broadcast_to(np.array(drawn).reshape(width), shape)


def bits(array):
    """Numbers as bits, so that -0 is not 0."""
    return np.asarray(array, float).view(np.int64).tolist()


@given(st.lists(parts(), max_size=5), st.data())
def test_any_piece_is_that_of_the_parts_in_a_line(drawn, data):
    flat = np.concatenate([np.zeros(0), *(part.reshape(-1) for part in drawn)])
    joined = Joined(drawn)
    begin = data.draw(st.integers(0, len(flat)))
    end = data.draw(st.integers(begin, len(flat)))
    assert len(joined) == len(flat)
    assert bits(joined.part(begin, end)) == bits(flat[begin:end])
    assert bits(joined.whole()) == bits(flat)
    assert bits(joined.part(begin, end)) == bits(flat[begin:end])


def test_the_whole_is_one_array_that_nobody_can_write_to():
    joined = Joined([np.ones(3), np.broadcast_to(2.0, 2)])
    assert joined.whole() is joined.whole()
    with pytest.raises(ValueError, match="read-only"):
        joined.whole()[0] = 5.0


def test_a_part_is_what_it_was_when_the_model_was_built():
    given_by_its_caller = np.array([1.0, 2.0])
    joined = Joined([given_by_its_caller])
    given_by_its_caller[0] = 9.0
    assert joined.whole().tolist() == [1.0, 2.0]


def compiled():
    X = np.random.default_rng(3).integers(0, 2, (40, 4))
    return odtc.build(X, X[:, 0] ^ X[:, 1], model="flowoct", depth=2)


def laid_out(model):
    return {name for name in VECTORS if vectors.held(model, name).is_laid_out}


def test_a_model_is_compiled_and_written_without_its_vectors(tmp_path):
    model = compiled()
    write_model(model, tmp_path / "m.mps")
    assert laid_out(model) == set()
    assert len(model.row_lower) == model.n_rows and laid_out(model) == {"row_lower"}


def test_the_file_is_the_same_once_they_are_laid_out(tmp_path):
    model = compiled()
    first = write_model(model, tmp_path / "a.mps").read_bytes()
    for name in VECTORS:
        getattr(model, name)
    assert write_model(model, tmp_path / "b.mps").read_bytes() == first


def test_a_copy_through_pickle_has_the_same_numbers():
    m = ModelBuilder("m")
    m.columns("x", Axis("i", 3), cost=[1.0, 2.0, 3.0], upper=7.0)
    m.rows("r", Axis("i", 2), upper=1.0)
    again = pickle.loads(pickle.dumps(m.finish()))
    assert again.c.tolist() == [1.0, 2.0, 3.0]
    assert again.col_upper.tolist() == [7.0] * 3 and again.row_upper.tolist() == [1.0] * 2


def test_an_array_in_the_place_of_the_models_own_is_seen_and_the_same_one_is_not():
    model = compiled()
    kept = replace(model, c=model.c, name="other")
    assert kept.as_built is kept
    changed = replace(model, c=model.c + 1)
    assert changed.as_built is model.built


def test_many_labels_are_kept_by_as_few_bytes_as_their_axis_needs():
    block = Block("z", (Axis("row", 300), Axis("split", 200, 1)), 7)
    rows, tests = np.divmod(np.arange(300 * 200, dtype=np.int64).repeat(2), 200)
    cells = block[rows, tests + 1]
    assert [place.dtype for place in cells.places] == [np.uint16, np.uint8]
    assert cells.flat().tolist() == (7 + np.arange(300 * 200).repeat(2)).tolist()


class _Interleaved(Joined):
    """Parts whose first reading lets another thread lay out the whole array."""

    ready = False

    @property
    def parts(self):
        if self.ready:
            self.ready = False
            self.whole()
        return self._parts

    @parts.setter
    def parts(self, parts):
        self._parts = parts


@pytest.mark.parametrize("read", [Joined.whole, lambda joined: joined.part(0, 4)])
def test_an_array_that_another_thread_lays_out_meanwhile_is_the_same(read):
    joined = _Interleaved([np.ones(3), np.array([2.0])])
    joined.ready = True
    assert read(joined).tolist() == [1, 1, 1, 2] and joined.whole().tolist() == [1, 1, 1, 2]

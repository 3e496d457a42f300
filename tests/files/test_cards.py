"""The cards of an MPS file against plain f-strings, over names of all widths, and the names of blocks."""

import io
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odtc.fileformats import label_cards, mps_writer, shared_cards
from odtc.fileformats.model_files import FORMATS, lines
from odtc.model.blocks import Axis, Block
from odtc.model.builder import ModelBuilder
from odtc.model.milp import Model

AXES = st.lists(st.tuples(st.integers(1, 23), st.integers(0, 99)), max_size=3)


def named(block: Block) -> list[str]:
    """The names of a block by its definition."""
    names = []
    for place in np.ndindex(*block.shape):
        labels = [f"{axis.first + at:0{axis.digits}d}" for axis, at in zip(block.axes, place)]
        names.append("_".join([block.name, *labels]))
    return names


@settings(max_examples=12, deadline=None)
@given(axes=AXES, cut=st.tuples(st.floats(0, 1), st.floats(0, 1)))
def test_names_of_a_part_of_a_block_are_those_of_its_definition(axes, cut):
    block = Block("xy", tuple(Axis("a", size, first) for size, first in axes), 7)
    begin, end = sorted(int(share * block.size) for share in cut)
    written = [bytes(name).decode() for name in block.name_table(begin, end)]
    assert written == named(block)[begin:end]


@settings(max_examples=12, deadline=None)
@given(stem=st.integers(1, 18), seed=st.integers(0, 999), costs=st.sampled_from([(0.0,), (0.0, 2.5), (1.0, -0.25)]))
def test_cards_are_those_of_plain_text(stem, seed, costs):
    random = np.random.default_rng(seed)
    m = ModelBuilder("m")
    x = m.columns("x", Axis("i", 12), cost=random.choice(costs, 12), upper=random.choice([1.0, 3.0], 12))
    y = m.columns("y" * stem, lower=-1.0, upper=np.inf, cost=costs[0])
    r = m.rows("r" * stem, Axis("i", 15), upper=random.choice([0.0, 1.5], 15))
    s = m.rows("s", upper=0)
    rows, columns = np.nonzero(random.random((15, 12)) < 0.3)
    m.add(r[rows], x[columns], random.choice([1.0, -1.0, 0.125], len(rows)))
    m.add(s[()], y[()], 1 / 3)
    model = m.finish()
    stream = io.BytesIO()
    FORMATS.get("mps").write(model, stream, False)
    text = stream.getvalue().decode()
    cards = [line.split() for line in text.split("COLUMNS\n")[1].split("RHS\n")[0].splitlines()]
    expected = []
    for j, column in enumerate(model.column_names):
        of_column = model.A[:, [j]].tocoo()
        if model.c[j] or not of_column.nnz:
            expected.append([column, "obj", model.c[j]])
        for i in sorted(of_column.row):
            expected.append([column, model.row_names[i], model.A[i, j]])
    assert [[column, row, float(number)] for column, row, number in cards] == expected
    sides = [line.split()[1:] for line in text.split("RHS\n")[1].split("BOUNDS\n")[0].splitlines()]
    assert sides == [[name, "1.5"] for name, side in zip(model.row_names, model.row_upper) if side]
    bounds = [line.split() for line in text.split("BOUNDS\n")[1].splitlines()[:-1]]
    assert bounds == [["UP", "BND", name, f"{up:g}"] for name, up in zip(model.column_names[:12], model.col_upper)] + [
        ["LO", "BND", "y" * stem, "-1"],
        ["PL", "BND", "y" * stem],
    ]


@settings(max_examples=60, deadline=None)
@given(
    runs=st.lists(
        st.tuples(st.sampled_from([11.0, -1.0, -2.0, 0.125, 12.5]), st.integers(1, 6)), min_size=1, max_size=8
    ),
    sheet=st.integers(1, 12),
    stem=st.integers(1, 9),
)
def test_a_column_of_runs_is_written_as_it_is(runs, sheet, stem):
    """Runs of one number, of which later ones are longer or shorter than those before."""
    numbers = [number for number, count in runs for _ in range(count)]
    m = ModelBuilder("m")
    x, r = m.columns("x"), m.rows("r" * stem, Axis("i", len(numbers)), upper=1)
    m.add(r[np.arange(len(numbers))], x[()], np.array(numbers))
    model, stream = m.finish(), io.BytesIO()
    with mock.patch.object(mps_writer, "SHEET", sheet):
        FORMATS.get("mps").write(model, stream, False)
    cards = stream.getvalue().decode().split("COLUMNS\n")[1].split("RHS\n")[0].splitlines()
    assert [float(card.split()[2]) for card in cards] == numbers
    assert [card.split()[1] for card in cards] == model.row_names


@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 9999),
    most=st.sampled_from([1, 40, 10**6, 10**6]),
    sheet=st.integers(1, 40),
    average=st.sampled_from([1, 10**6]),
)
def test_columns_that_share_their_rows_are_written_as_each_by_itself(seed, most, sheet, average):
    """Nodes t and tests f: rows of which each test has its own, a row of all, costs of some tests, and rows that move
    each in their way from node to node; numbers of one to three characters."""
    random = np.random.default_rng(seed)
    n, tests, nodes = int(random.integers(6, 15)), int(random.integers(3, 13)), int(random.integers(1, 12))
    m = ModelBuilder("m")
    kinds = [0.0, random.choice([0.0, -2.0, 3.0]), random.choice([0.0, 0.0, 0.0, 2.5])]
    costs = np.tile(random.choice(kinds, (random.choice([1, 1, nodes]), tests)), (nodes, 1))[:nodes]
    x = m.columns("x", Axis("t", nodes, 1), Axis("f", tests), cost=costs)
    left, right = (
        m.rows("left", Axis("i", n), Axis("t", nodes, 1), upper=1),
        m.rows("r", Axis("t", nodes, 1), Axis("i", n), upper=1),
    )
    one, t = m.rows("one", Axis("t", nodes, 1), lower=1, upper=1), np.arange(1, nodes + 1)
    answers = random.random((n, tests)) < random.choice([0.2, 0.5, 0.9])
    number = random.choice([2.0, -1.0, -1.0, -12.0])
    m.add(one[t[:, None]], x[t[:, None], np.arange(tests)], 1.0)
    for rows, (i, f), coef in ((left, np.nonzero(answers), number), (right, np.nonzero(~answers), -1.0)):
        labels = (i[:, None], t) if rows is left else (t, i[:, None])
        m.add(rows[labels], x[t, f[:, None]], coef)
    model, stream, whole = m.finish(), io.BytesIO(), Model.column_entries
    expected = []
    matrix, row_names = model.A.tocsc(), model.row_names
    for j, column in enumerate(model.column_names):
        expected += [(column, "obj", model.c[j])] * bool(model.c[j])
        begin, end = matrix.indptr[j : j + 2]
        entries = zip(matrix.indices[begin:end].tolist(), matrix.data[begin:end].tolist())
        expected += [(column, row_names[i], value) for i, value in sorted(entries)]
    with (
        mock.patch.object(shared_cards, "AVERAGE", average),
        mock.patch.object(label_cards, "NAMED", sheet),
        mock.patch.object(shared_cards, "SHEET", sheet),
        mock.patch.object(Model, "column_entries", lambda model: whole(model, most)),
    ):
        FORMATS.get("mps").write(model, stream, False)
    lines_of = stream.getvalue().decode().split("COLUMNS\n")[1].split("RHS\n")[0].splitlines()
    assert [(column, row, float(value)) for column, row, value in map(str.split, lines_of)] == expected


def test_cards_of_labels_that_repeat_a_pattern_are_not_made_for_each():
    m = ModelBuilder("m")
    x, y = m.columns("x", Axis("i", 50), Axis("t", 3), cost=[0.0, -1.0, 0.0]), m.columns("y")
    r, s = m.rows("r", Axis("i", 50), Axis("t", 3), upper=1), m.rows("all", Axis("t", 3), upper=1)
    i, t = np.arange(50)[:, None], np.arange(2)
    m.add(r[i, t], x[i, t], -1.0)
    m.add(s[t], x[i, t], 2.0)
    m.add(s[2], y[()], 1.0)
    with mock.patch.object(mps_writer.Cards, "write", autospec=True) as plain:
        stream = io.BytesIO()
        FORMATS.get("mps").write(m.finish(), stream, False)
    assert plain.call_count == 1  # for y
    cards = stream.getvalue().decode().split("COLUMNS\n")[1].split("RHS\n")[0].splitlines()
    expected = [[f"r_{i:02d}_0 -1", "all_0 2", "obj -1", f"r_{i:02d}_1 -1", "all_1 2", "obj 0"] for i in range(50)]
    assert [card.split()[1:] for card in cards] == [entry.split() for of_label in expected for entry in of_label]
    names = [f"x_{i:02d}_{t}" for i in range(50) for t in (0, 0, 1, 1, 1, 2)]
    assert [card.split()[0] for card in cards] == names
    assert len(set(map(len, cards))) == 1


def test_cards_that_columns_share_are_not_made_for_each():
    m = ModelBuilder("m")
    x, r = m.columns("x", Axis("t", 3), Axis("f", 8)), m.rows("r", Axis("i", 400), Axis("t", 3), upper=1)
    t, i = np.arange(3), np.arange(400)
    m.add(r[i, t[:, None, None]], x[t[:, None, None], np.arange(8)[:, None]], -1.0)
    with mock.patch.object(mps_writer.Cards, "write", autospec=True) as plain:
        stream = io.BytesIO()
        FORMATS.get("mps").write(m.finish(), stream, False)
    assert not plain.called
    cards = stream.getvalue().decode().split("COLUMNS\n")[1].split("RHS\n")[0].splitlines()
    assert cards == [f"    x_{t}_{f}  r_{i:03d}_{t}  -1" for t in range(3) for f in range(8) for i in range(400)]


def test_blanks_behind_a_field_give_way_to_what_follows():
    names = np.frombuffer(b"one two six ", np.uint8).reshape(3, 4)
    plain = lines("a", names[:, :3], "long enough", names[:1, :3], "\n")
    assert (lines("a", (names, 3), "long enough", names[:1, :3], "\n") == plain).all()
    assert plain.tobytes() == b"aonelong enoughone\natwolong enoughone\nasixlong enoughone\n"


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 999), most=st.integers(1, 6))
def test_a_matrix_in_small_parts_is_the_whole_one(seed, most):
    random = np.random.default_rng(seed)
    m = ModelBuilder("m")
    x = m.columns("x", Axis("i", 2), Axis("j", int(random.integers(1, 9))), Axis("k", 3, 1))
    y = m.columns("y", Axis("i", 4), positions=np.array([1, 3]))
    r = m.rows("r", Axis("a", 3), Axis("b", 70))
    s = m.rows("s", upper=0)
    i, j, k = (np.arange(size) for size in x.shape)
    m.add(r[i[:, None, None], np.arange(70)[:, None]], x[i[:, None, None], j[:1], k + 1], 2.0)
    rows, columns = np.nonzero(random.random((70, x.size)) < 0.5)
    m.add(r[2, rows], x[columns // (3 * len(j)), columns // 3 % len(j), columns % 3 + 1], random.random(len(rows)))
    m.add(s[()], x.all(), np.arange(1.0, x.size + 1).reshape(x.shape))
    m.add(s[()], y[np.arange(2)], -1.0)
    model = m.finish()
    whole = model.A.toarray()
    for chunks, name in ((model.column_chunks, "columns"), (model.row_chunks, "rows")):
        parts = list(chunks(most))
        assert [begin for begin, _, _ in parts[1:]] == [end for _, end, _ in parts[:-1]]
        found = np.concatenate([part.toarray() for _, _, part in parts], axis=1 if name == "columns" else 0)
        assert (found == whole).all()
    sizes = [end - begin for begin, end, _ in model.column_chunks(1)]
    assert max(sizes) <= 3  # 70 rows of each label of the first axis: parts hold one label of the second


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 9999), most=st.sampled_from([1, 7, 60, 10**6]))
def test_labels_that_repeat_a_pattern_are_laid_out_as_each_by_itself(seed, most):
    """Families that move alike, families that move each in their way, terms that begin at some labels only, and terms
    that are no patterns, against the places of all entries."""
    random = np.random.default_rng(seed)
    n, inner = int(random.integers(1, 9)), int(random.integers(1, 5))
    m = ModelBuilder("m")
    x = m.columns("x", Axis("t", n, 1), Axis("j", inner))
    t, j = np.arange(1, n + 1), np.arange(inner)
    by_label, across = m.rows("r", Axis("i", 6), Axis("t", n, 1)), m.rows("s", Axis("t", n), Axis("j", inner))
    some, back = m.rows("u", Axis("t", n, 1)), m.rows("v", Axis("t", n))
    i, f = np.nonzero(random.random((6, inner)) < 0.6)
    coefs = random.random(len(i)) if random.random() < 0.5 else random.choice([1.0, -1.0], len(i))
    m.add(by_label[i[:, None], t], x[t, f[:, None]], coefs[:, None])
    m.add(across[t[:, None] - 1, j], x[t[:, None], j], 2.0)
    first = int(random.integers(0, n))
    steady = np.arange(1.0, n - first + 1)[:, None] if random.random() < 0.5 else -1.0
    m.add(some[t[first:, None]], x[t[first:, None], j], steady)
    m.add(back[n - t[:, None]], x[t[:, None], j], 3.0)
    mixed = m.rows("w", Axis("k", n * inner))
    m.add(mixed[random.permutation(n * inner).reshape(n, inner)], x[t[:, None], j], 5.0)
    model = m.finish()
    whole = np.zeros((model.n_rows, model.n_cols))
    for term in model.terms:
        rows, columns, values = np.broadcast_arrays(term.rows.flat(), term.columns.flat(), term.coef)
        whole[rows.ravel(), columns.ravel()] = values.ravel()
    for begin, end, part in model.column_chunks(most):
        assert (part.toarray() == whole[:, begin:end]).all() and part.has_sorted_indices
    for begin, end, part in model.row_chunks(most):
        assert (part.toarray() == whole[begin:end]).all() and part.has_sorted_indices


@pytest.mark.parametrize("most", [1, 5, 40, 10**6])
def test_no_part_is_larger_than_it_is_said_to_be(most):
    m = ModelBuilder("m")
    x, r = m.columns("x", Axis("i", 6), Axis("j", 4)), m.rows("r", Axis("k", 9))
    m.add(r[np.arange(9)[:, None, None]], x.all())
    model = m.finish()
    said = model.largest_piece(most)
    assert max(part.nnz for _, _, part in model.column_chunks(most)) <= said <= max(9 * 4, most)


@pytest.mark.parametrize("by_rows", [False, True])
@pytest.mark.parametrize("most", [40, 100, 300])
def test_a_part_holds_no_more_entries_where_some_labels_have_most_of_them(most, by_rows):
    m = ModelBuilder("m")
    x, y = m.columns("x", Axis("i", 6), Axis("j", 4)), m.columns("y", Axis("k", 39))
    r, s = m.rows("r", Axis("k", 39)), m.rows("s", Axis("i", 6), Axis("j", 4))
    m.add(r[np.arange(9)[:, None, None]], x.all())
    m.add(r[np.arange(9, 39)[:, None]], x[0, np.arange(4)])  # 39 entries in each column of the label 0, 9 in others
    m.add(s.all(), y[np.arange(9)[:, None, None]])
    m.add(s[0, np.arange(4)], y[np.arange(9, 39)[:, None]])
    model = m.finish()
    parts = [part.nnz for _, _, part in (model.row_chunks if by_rows else model.column_chunks)(most)]
    assert max(parts) <= most and sum(parts) == model.nnz

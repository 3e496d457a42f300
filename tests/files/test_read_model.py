"""Model files read by odtc: what it wrote comes back exactly, what others wrote as HiGHS reads it, and
what solvers read in different ways is refused in a sentence (docs/reference/file-formats.md)."""

import gzip
import os
import random
import textwrap
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from odtc.errors import ModelError
from odtc.fileformats import lp_reader, mps_sections
from odtc.fileformats.model_files import FORMATS, read_model, write_model
from odtc.model.blocks import NamedBlock
from odtc.model.milp import Model
from odtc.model.points import name_list
from tests import highs_reader
from tests.laws.test_formats import assert_same_model

EACH = dict(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
SHARED = Path(__file__).resolve().parents[3] / "shared"


@pytest.fixture(scope="session")
def cases() -> Path:
    """The folder of model files with one trap each."""
    folder = Path(os.environ.get("ODTC_SAMPLES") or SHARED / "samples") / "cases"
    if not folder.is_dir():
        pytest.skip(f"no sample files in {folder}; set ODTC_SAMPLES to a folder that has cases/")
    return folder


@pytest.fixture(scope="session")
def peers() -> list[Path]:
    """Models of other packages."""
    folder = Path(os.environ.get("ODTC_PEERS") or SHARED / "peers")
    found = sorted(folder.glob("*.lp.gz")) if folder.is_dir() else []
    if not found:
        pytest.skip(f"no models of other packages in {folder}; set ODTC_PEERS to a folder of .lp.gz files")
    return found


def text(lines: str) -> bytes:
    return textwrap.dedent(lines).lstrip("\n").encode()


def read(data: bytes, folder: Path, name: str = "model") -> Model:
    path = folder / name
    path.write_bytes(data)
    return read_model(path)


# What odtc writes of its own models: law 5 (tests/laws/test_formats.py).


numbers = st.floats(-1e19, 1e19, allow_subnormal=False).map(lambda v: v + 0.0)


@st.composite
def models(draw) -> Model:
    """Any model that the portable formats can say: numbers of all sizes, all kinds of bounds."""
    n, m = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    entries = st.one_of(st.just(0.0), st.just(1.0), st.just(-1.0), numbers)
    A = np.array(draw(st.lists(entries, min_size=n * m, max_size=n * m))).reshape(m, n)
    side = np.array(draw(st.lists(numbers, min_size=m, max_size=m)))
    kind = np.array(draw(st.lists(st.sampled_from("LGE"), min_size=m, max_size=m)))
    bounds = []
    for _ in range(n):
        low, up = sorted(draw(st.tuples(numbers, numbers)))
        bounds.append(
            draw(
                st.sampled_from(
                    [(0, 1), (0, np.inf), (-np.inf, np.inf), (low, up), (low, np.inf), (-np.inf, up), (up, up)]
                )
            )
        )
    low, up = (np.array(part, float) for part in zip(*bounds))
    cost = np.array(draw(st.lists(entries, min_size=n, max_size=n)))
    whole = np.array(draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)), np.uint8)
    return Model(
        "any",
        cost,
        0.0,
        np.where(kind == "L", -np.inf, side),
        np.where(kind == "G", np.inf, side),
        low,
        up,
        whole,
        (NamedBlock(tuple(f"x_{'y' * draw(st.integers(0, 20))}{j}" for j in range(n))),),
        (NamedBlock(tuple(f"r{i}" for i in range(m))),),
        matrix=sp.csc_array(A),
    )


@pytest.mark.parametrize("format", FORMATS.names())
@given(model=models())
@settings(max_examples=60, **EACH)
def test_any_portable_model_comes_back(format, model, tmp_path):
    assert_same_model(model, read_model(write_model(model, tmp_path / "model", format)), format)


@pytest.mark.parametrize("format", FORMATS.names())
@given(model=models(), data=st.data())
@settings(max_examples=20, **EACH)
def test_cuts_come_back_as_cuts(format, model, data, tmp_path):
    names, cuts = name_list(model.rows), sorted(data.draw(st.tuples(*[st.integers(0, model.n_rows)] * 2)))
    parts = [("", 0, cuts[0]), ("usercuts", *cuts), ("lazycons", cuts[1], model.n_rows)]
    blocks = tuple(NamedBlock(tuple(names[a:b]), a, name) for name, a, b in parts if a < b)
    given = [block.name for block in blocks]
    model = replace(model, rows=blocks, user_cuts=tuple({"usercuts"} & {*given}), lazy=tuple({"lazycons"} & {*given}))
    again = read_model(write_model(model, tmp_path / "model", format, cuts=True))
    assert_same_model(model, again, format)
    assert (again.user_cuts, again.lazy) == (model.user_cuts, model.lazy)
    assert [(block.name, block.start, block.size) for block in again.rows if block.size] == [
        (block.name, block.start, block.size) for block in blocks
    ]


def test_the_content_says_what_a_file_is_not_its_name(tmp_path):
    mps = text("""
        * a comment
        NAME a
        ROWS
         N obj
         G c1
        COLUMNS
         x obj 1 c1 1
        RHS
         RHS c1 2
        ENDATA
        """)
    lp = b"\\ a comment\n\nMinimize\n obj: x\nSubject To\n c1: x >= 2\nEnd\n"
    for data in (mps, lp):
        for packed in (data, gzip.compress(data), gzip.compress(data[:30]) + gzip.compress(data[30:])):
            for name in ("model.mps", "model.lp", "model.gz", "model"):
                model = read(packed, tmp_path, name)
                assert name_list(model.columns) == ["x"] and model.row_lower.tolist() == [2.0]


def test_names_with_blanks_need_the_columns_of_fixed_mps(tmp_path):
    data = text("""
        NAME          A
        ROWS
         N  obj
         L  c 1
        COLUMNS
            x y       obj                2.5   c 1                 1.
        RHS
            RHS       c 1                10.
        BOUNDS
         UP BND       x y                 4.
        ENDATA
        """)
    model = read(data, tmp_path)
    assert name_list(model.columns) == ["x y"] and name_list(model.rows) == ["c 1"]
    assert (model.c[0], model.A[0, 0], model.row_upper[0], model.col_upper[0]) == (2.5, 1, 10, 4)
    with pytest.raises(ModelError, match="line 4: expected 2 words"):
        read(data.replace(b"   c 1    ", b"  c 1     ", 1), tmp_path)


@given(st.floats(allow_nan=False, allow_infinity=False).filter(bool), st.floats(-1e6, 1e6).filter(bool))
def test_a_number_of_full_precision_is_read_whole_at_the_end_of_a_fixed_card(number, other):
    """The second number of a card was cut off at column 61: 1.2345678901234567e-05 was read as 1.23456789."""
    for cells in (f"{number!r}", f"{float(f'{other:.4e}'):<15}c 1       {number!r}"):
        data = f"NAME\nROWS\n N  obj\n G  c 1\nCOLUMNS\n    x y       obj       {cells}\nENDATA\n".encode()
        model = FORMATS.get("fixed-mps").read(data, "m.mps")
        read = model.A[0, 0] if "c 1 " in cells else model.c[0]
        assert read == number, cells


@pytest.mark.parametrize("behind", [64, 90, 200])
@pytest.mark.parametrize(
    "card", ["", "    x y       obj       1.", "    x y       obj       1.             c 1       2."]
)
def test_what_stands_behind_the_fields_of_a_fixed_card_is_refused(card, behind):
    """Found by fuzzing: a card was passed over if all of it stood there."""
    data = f"NAME\nROWS\n N  obj\n G  c 1\nCOLUMNS\n{card:<{behind}}c 1\nENDATA\n".encode()
    with pytest.raises(ModelError, match="line 6: expected the fields of fixed MPS in their columns"):
        FORMATS.get("fixed-mps").read(data, "m.mps")


# What others write.

# Read otherwise by HiGHS, for a reason of its own.
NOT_AS_HIGHS = {
    "nm_bnd.mps": "a column named as the bound set loses its bound",
    "nums.mps": "a cost of 1.8e30 becomes infinite",
    "lp_expo.lp": "a cost of 2e30 becomes infinite",
    "lazyonly.mps": "the section LAZYCONS is taken for a row AZYCONS",
    "nl_st.lp": "a row that begins with a column `st` begins a section there, since HiGHS 1.16",
    "lp_unnamed.lp": "rows without a name get one, HiGHS_R0 there and R0 here",
}
# A word of the sentence that refuses each file.
REFUSED = {
    "dupentry.mps": "once",
    "emptycol_bnd.mps": "nocol",
    "fixed_ok.mps": "words",
    "ind.lp": "indicator",
    "ind.mps": "INDICATORS",
    "intorg.mps": "lower bound",
    "lp_rhsvar.lp": "right side",
    "lp_semi.lp": "Semi-continuous",
    "noendata.mps": "ENDATA",
    "numsD.mps": "1.5D2",
    "scattercol.mps": "together",
    "semicont.mps": "SC",
    "sos.lp": "SOS",
    "sos.mps": "SOS",
    "sos_lpsolve.mps": "SOS1",
    "sos_setsec.mps": "SETS",
    "nl_back.lp": "row",
    "nl_caret.lp": "power",
    "nl_colon.lp": ":",
    "nl_digit0.lp": "bound",
    "nl_dot0.lp": "number",
    "nl_eq.lp": "=",
    "nl_inf.lp": "inf",
    "nl_lbr0.lp": "quadratic",
    "nl_lt.lp": "<",
    "nl_minus.lp": "row",
    "nl_neg.lp": "row",
    "nl_num.lp": "column",
    "nl_plus.lp": "once",
    "nl_star.lp": "product",
    "nl_star0.lp": "product",
    "nl_utf.lp": "ASCII",
    "nm_utf.mps": "ASCII",
}


def same_as_highs(path: Path) -> bool:
    """Whether HiGHS reads the file at all; then it must read the same."""
    ours = read_model(path)
    try:
        theirs = highs_reader.read_model(path)
    except ModelError:
        return False
    # HiGHS keeps what it takes for infinite as it stands in the file.
    endless = lambda v: np.where(np.abs(v) >= 1e20, np.copysign(np.inf, v), v)  # noqa: E731
    assert name_list(ours.columns) == name_list(theirs.columns)
    assert name_list(ours.rows) == name_list(theirs.rows)
    for side in ("row_lower", "row_upper", "col_lower", "col_upper", "c", "integrality"):
        np.testing.assert_array_equal(getattr(ours, side), endless(getattr(theirs, side)), side)
    assert ours.offset == theirs.offset
    difference = ours.A - theirs.A
    difference.eliminate_zeros()
    assert difference.nnz == 0
    return True


def test_sample_files_are_refused_or_read_as_highs_reads_them(cases):
    both = 0
    for path in sorted(cases.iterdir()):
        if path.name in REFUSED:
            with pytest.raises(ModelError, match=r"line \d+: expected ") as caught:
                read_model(path)
            assert REFUSED[path.name] in str(caught.value) and str(caught.value).count("\n") == 0
        elif path.name in NOT_AS_HIGHS:
            read_model(path)
        else:
            both += same_as_highs(path)
    assert both > 100


def test_models_of_other_packages_are_read_as_highs_reads_them(peers):
    for path in peers:
        assert same_as_highs(path), path


MPS = """
    NAME a
    {sense}ROWS
     N obj
     N other
     L c1
     G c2
     E c3
    {rows}COLUMNS
     M 'MARKER' 'INTORG'
     x obj 1 c1 1
     x c2 1 other 7
     y obj 2 c3 1
     M 'MARKER' 'INTEND'
     z c1 1
    {columns}RHS
     RHS c1 10 c2 -1
     RHS c3 4
    {rhs}BOUNDS
     UP BND y 4
    {bounds}ENDATA
    """


def mps(**parts) -> bytes:
    filled = {key: parts.get(key, "") for key in ("sense", "rows", "columns", "rhs", "bounds")}
    return text(textwrap.dedent(MPS).format(**filled))


def test_a_card_under_name_is_no_comment(tmp_path):
    """The right side under it would otherwise vanish."""
    data = mps().replace(b"NAME a\n", b"").replace(b" RHS c3 4\n", b"NAME a\n RHS c3 4\n")
    with pytest.raises(ModelError, match=r"line \d+: expected a section under NAME, got 'RHS'"):
        read(data, tmp_path)
    assert name_list(read(mps().replace(b"NAME a\n", b"NAME a\n* note\n\n"), tmp_path).rows) == ["c1", "c2", "c3"]


@pytest.mark.parametrize("data", [mps(), b"Minimize\n obj: x\nSubject To\n c1: x + y >= 1\nEnd\n"], ids=["mps", "lp"])
@pytest.mark.parametrize("code", [b"\x01", b"\x0b", b"\x0c", b"\x1a", b"\x7f"], ids=repr)
def test_control_characters_are_refused(data, code, tmp_path):
    """Blanks to us, letters of a name to HiGHS: the same file would be two models."""
    at = data.index(b"c1")
    with pytest.raises(ModelError, match=r"line \d+: expected text, got the control character"):
        read(data[:at] + b"c" + code + data[at + 1 :], tmp_path)


@pytest.mark.parametrize(
    "sense", ["OBJSENSE\n    MAX\n", "OBJSENSE\n MAXIMIZE\n", "OBJSENSE MAX\n", "OBJSENSE maximize\nOBJNAME obj\n"]
)
def test_a_maximisation_becomes_a_minimisation(sense, tmp_path):
    least, most = read(mps(rhs=" RHS obj -100\n"), tmp_path), read(mps(rhs=" RHS obj -100\n", sense=sense), tmp_path)
    assert (least.c.tolist(), least.offset) == ([1, 2, 0], 100)
    assert (most.c.tolist(), most.offset) == ([-1, -2, 0], -100)
    lp = b"Maximize\n obj: 3 x - y + 100\nSubject To\n c1: x + y <= 6\nEnd\n"
    model = read(lp, tmp_path)
    assert (model.c.tolist(), model.offset) == ([-3, 1], -100)


def test_objname_chooses_among_the_n_rows(tmp_path):
    model = read(mps(sense="OBJNAME\n other\n"), tmp_path)
    assert model.c.tolist() == [7, 0, 0] and name_list(model.rows) == ["c1", "c2", "c3"]


def test_a_whole_column_of_mps_without_bounds_is_binary(tmp_path):
    model = read(mps(), tmp_path)
    assert model.integrality.tolist() == [1, 1, 0]
    assert list(zip(model.col_lower, model.col_upper)) == [(0, 1), (0, 4), (0, np.inf)]
    free = read(mps(bounds=" LO BND x 2\n MI BND z\n UP BND z -3\n"), tmp_path)
    assert list(zip(free.col_lower, free.col_upper)) == [(2, np.inf), (0, 4), (-np.inf, -3)]


def test_ranges_are_the_other_side_of_a_row(tmp_path):
    model = read(mps(rhs="RANGES\n RNG c1 3 c2 -4\n RNG c3 -2\n"), tmp_path)
    assert list(zip(model.row_lower, model.row_upper)) == [(7, 10), (-1, 3), (2, 4)]
    model = read(mps(rhs="RANGES\n RNG c3 2\n"), tmp_path)
    assert (model.row_lower[2], model.row_upper[2]) == (4, 6)


def test_cuts_are_blocks_of_rows_in_file_order(tmp_path):
    entries = " z u1 2 l1 3\n"
    for sections, blocks in (
        ("USERCUTS\n L u1\nLAZYCONS\n G l1\n", ("usercuts", "lazycons")),
        ("DELAYEDROWS\n G l1\nMODELCUTS\n L u1\n", ("lazycons", "usercuts")),
    ):
        model = read(mps(rows=sections, columns=entries, rhs=" RHS u1 5\n"), tmp_path)
        assert [block.name for block in model.rows] == ["", *blocks]
        assert (model.lazy, model.user_cuts) == (("lazycons",), ("usercuts",))
        names = name_list(model.rows)
        assert names == ["c1", "c2", "c3", *("u1" if word == "usercuts" else "l1" for word in blocks)]
        assert [block.start for block in model.rows] == [0, 3, 4]
        at = names.index("u1"), names.index("l1")
        assert [model.A[at[0], 2], model.A[at[1], 2], model.row_upper[at[0]], model.row_lower[at[1]]] == [2, 3, 5, 0]
    lp = b"min\n obj: x + y\nst\n c1: x + y <= 9\nUser Cuts\n uc: x <= 12\nLazy Constraints\n lz: x + 2 y <= 8\nEnd\n"
    model = read(lp, tmp_path)
    assert (model.lazy, model.user_cuts) == (("lazycons",), ("usercuts",)) and name_list(model.rows) == [
        "c1",
        "uc",
        "lz",
    ]


@pytest.mark.parametrize("data", [
    b"min\n obj:\nst\nUser "
    b"Cuts\nBounds\nGenerals\nEnd\n", b"min\nend", b"NAME\nROWS\nCOLUMNS\nUSERCUTS\nRHS\nBOUNDS\nENDATA\n",
])  # fmt: skip
def test_sections_may_be_empty(data, tmp_path):
    model = read(data, tmp_path)
    assert model.A.shape == (0, 0) and name_list(model.rows) == name_list(model.columns) == []


def test_lp_in_many_spellings_is_one_model(tmp_path):
    plain = read(
        text("""
        Minimize
         obj: 3 x - 2.5e-05 y + 1 z + 7
        Subject To
         c1: - 5 <= x - 2 y <= 6
         c2: x + 30 z >= -1
        Bounds
         -inf <= x <= 4
         y free
         z = 2
        Generals
         y
        Binaries
         b
        End
        """).replace(b" c2: x", b" c2: b + x"),
        tmp_path,
    )
    dense = read(
        text("""
        \\ Problem: -> not a rule
        minimum
        obj:3x-2.5e-05 y \\ and more
        ++z + 3
        + 4
        such that
        c1:-5<=x-2y<=+6 c2:b + x - -3e1 z=>-1
        BOUND
        x>=-1e30
        x<4
        y >= -Infinity
        y <= +INF
        2 = z
        integer
        y
        bin
        b
        END
        """),
        tmp_path,
    )
    assert plain.offset == 7 and plain.c.tolist() == [3, -2.5e-05, 1, 0]
    assert list(zip(plain.row_lower, plain.row_upper)) == [(-5, 6), (-1, np.inf)]
    assert list(zip(plain.col_lower, plain.col_upper)) == [(-np.inf, 4), (-np.inf, np.inf), (2, 2), (0, 1)]
    assert plain.integrality.tolist() == [0, 1, 0, 1]
    np.testing.assert_array_equal(plain.A.toarray(), [[1, -2, 0, 0], [1, 0, 30, 1]])
    assert name_list(plain.columns) == ["x", "y", "z", "b"]
    assert_same_model(plain, dense, "lp")


LP = "Minimize\n obj: x + y\nSubject To\n{rows} c9: x + y >= 1\nBounds\n{bounds}{rest}End\n"


def lp(**parts) -> bytes:
    return LP.format(**{key: parts.get(key, "") for key in ("rows", "bounds", "rest")}).encode()


@pytest.mark.parametrize("data, line, words", [
    (mps(bounds=" UP BND z -3\n"), 20, "lower bound"),
    (mps(bounds=" UP BND w 3\n"), 20, "column of the section COLUMNS, got 'w'"),
    (mps(bounds=" UP BND y 3\n"), 20, "one upper bound of a column, got 'y'"),
    (mps(bounds=" SC BND z 3\n"), 20, "'SC'"),
    (mps(bounds=" XX BND z 3\n"), 20, "'XX'"),
    (mps(bounds=" UP BND z\n"), 20, "got 'BND'"),
    (mps(bounds=" FX BND z inf\n"), 20, "finite lower bound"),
    (mps(columns=" z c1 2\n"), 15, "expected each row once in a column, got 'c1'"),
    (mps(columns=" x c3 2\n"), 15, "together, once, got 'x'"),
    (mps(columns=" w c77 2\n"), 15, "row of the section ROWS, got 'c77'"),
    (mps(columns=" w c1 2x\n"), 15, "number (1, -2.5, 3e-4), got '2x'"),
    (mps(columns=" w c1 1e999\n"), 15, "finite"),
    (mps(columns=" w c1\n"), 15, "3 or 5 words"),
    (mps(rhs=" RHS c1 3\n"), 18, "each row once in RHS, got 'c1'"),
    (mps(rhs=" OTHER c1 3\n"), 18, "one set in RHS, got 'OTHER'"),
    (mps(rhs=" RHS c77 3\n"), 18, "'c77'"),
    (mps(rhs="RANGES\n RNG obj 3\n"), 19, "objective"),
    (mps(rhs="QUADOBJ\n x x 3\n"), 18, "'QUADOBJ'"),
    (mps(rhs="SOS\n S1 s1\n"), 18, "'SOS'"),
    (mps(rows=" E c1\n"), 8, "new, got 'c1'"),
    (mps(rows=" Q c4\n"), 8, "kind of row"),
    (mps(rows="LAZYCONS\n N c4\n"), 9, "kind of row"),
    (mps(sense="OBJSENSE\n UP\n"), 2, "MIN or MAX"),
    (mps(sense="OBJNAME\n c1\n"), 2, "N row"),
    (mps().replace(b"ENDATA\n", b""), 19, "ENDATA"),
    (mps().replace(b"ENDATA\n", b"ENDATA x y 4\nENDATA\n"), 20, "expected only ENDATA on its line"),
    (mps(rhs="RHS\n"), 18, "second"),
    (lp(rows=" c1: x + y >= 2 + z\n"), 4, "right side"),
    (lp(rows=" c1: x + y >= 2 z\n"), 4, "right side"),
    (lp(rows=" c1: x + 3 >= 2\n"), 4, "constant"),
    (lp(rows=" c1: x + x >= 2\n"), 4, "once in a row, got 'x'"),
    (lp(rows=" c1: x y >= 2\n"), 4, "+ or -"),
    (lp(rows=" c1: x + >= 2\n"), 4, "before the relation"),
    (lp(rows=" c1: x + y >= z\n"), 4, "number on the right side"),
    (lp(rows=" c1: 1 <= x >= 2\n"), 4, "alike"),
    (lp(rows=" c1: x <> 2\n"), 4, "'<>'"),
    (lp(rows=" c1: >= 2\n"), 4, "before the relation"),
    (lp(rows=" c9: x >= 2\n"), 5, "new, got 'c9'"),
    (lp(rows=" c1: inf x >= 2\n"), 4, "finite coefficient"),
    (lp(rows=" c1: x + 1.2.3 y >= 2\n"), 4, "number"),
    (lp(rows=" c1: x + [ x ^2 ] >= 2\n"), 4, "power"),
    (lp(rows=" c1: x = 1 -> y >= 2\n"), 4, "indicator"),
    (lp(bounds=" w <= 3\n"), 6, "column of the objective or of a row, got 'w'"),
    (lp(bounds=" x <= 3\n x <= 4\n"), 7, "one upper bound"),
    (lp(bounds=" x <= 3 y <= 4\n"), 6, "a bound on this line"),
    (lp(bounds=" x <= -inf\n"), 6, "finite upper bound"),
    (lp(bounds=" -1 <= x <= 1\n", rest="Binary\n x\n"), 2, "0 and 1"),
    (lp(rest="Generals\n w\n"), 7, "'w'"),
    (lp(rest="SOS\n s1: S1:: x:1 y:2\n"), 6, "'SOS'"),
    (lp(rest="Semi-Continuous\n x\n"), 6, "Semi-Continuous"),
    (lp(rest="Subject To\n c1: x >= 1\n"), 6, "second"),
    (lp().replace(b"End\n", b""), 5, "End"),
    (lp() + b"\nBounds\n x <= 3\n", 8, "behind End"),
])  # fmt: skip
def test_what_has_no_one_meaning_is_refused_in_a_sentence(data, line, words, tmp_path):
    with pytest.raises(ModelError) as caught:
        read(data, tmp_path)
    said = str(caught.value)
    assert words in said and said.startswith(f"model, line {line}: expected ") and "\n" not in said


@pytest.mark.parametrize("data, words", [
    (b"", "empty"), (b"hello\n", "'hello'"), (b"BZh91AY", "bzip2"), (b"\x1f\x8b\x08\x00nonsense", "damaged"),
    (gzip.compress(b"NAME a\n" * 100, mtime=0)[:-9], "damaged"), (b"NAME a\0\n", "zero bytes"),
])  # fmt: skip
def test_what_is_no_model_file_is_refused(data, words, tmp_path):
    with pytest.raises(ModelError, match=words):
        read(data, tmp_path)
    with pytest.raises(ModelError, match="No such file"):
        read_model(tmp_path / "nothing.mps")


SMALL_LP = lp(
    rows=" c1: - 5 <= x - 2 y <= 6\n c2: 3 x + 2.5e-3 y >= -1\n",
    bounds=" -inf <= x <= 4\n y free\n",
    rest="Generals\n x\nBinaries\n y\n",
).replace(b" y free\n", b" y <= 1\n")
SMALL_MPS = mps(sense="OBJSENSE MAX\n", rhs="RANGES\n RNG c1 3\n", bounds=" FX BND z 2.5\n")


@pytest.mark.parametrize("format, data", [("mps", SMALL_MPS), ("lp", SMALL_LP), ("fixed-mps", None)])
def test_a_damaged_file_is_read_or_refused(format, data, tmp_path):
    if data is None:
        data = write_model(
            read(SMALL_MPS.replace(b"RANGES\n RNG c1 3\n", b""), tmp_path), tmp_path / "m", format
        ).read_bytes()
    dice = random.Random(2024)
    outcomes = []
    for _ in range(500):
        damaged = bytearray(data)
        for _ in range(dice.randint(1, 3)):
            at = dice.randrange(len(damaged))
            how = dice.randrange(4)
            if how == 0:
                damaged[at] = (
                    dice.choice(b" \n\t+-<>=:.eE019xyzNLGR*\\'$[\xc3\x00")
                    if dice.random() < 0.8
                    else dice.randrange(256)
                )
            elif how == 1:
                del damaged[at : at + dice.choice([1, 1, 2, 9, 60])]
            elif how == 2:
                damaged[at:at] = damaged[dice.randrange(len(damaged)) :][: dice.choice([1, 3, 20, 80])]
            else:
                damaged = damaged[: max(1, at)] if dice.random() < 0.1 else damaged
        try:
            model = FORMATS.get(format).read(bytes(damaged), "damaged")
        except ModelError as error:
            assert "\n" not in str(error) and "expected " in str(error)
            outcomes.append("refused")
        else:
            assert (
                model.A.shape
                == (model.n_rows, model.n_cols)
                == (len(name_list(model.rows)), len(name_list(model.columns)))
            )
            assert np.isfinite(model.A.data).all() and np.isfinite(model.c).all()
            assert not any(
                np.isnan(side).any() for side in (model.row_lower, model.row_upper, model.col_lower, model.col_upper)
            )
            outcomes.append("read")
    assert {"read", "refused"} == set(outcomes)


@pytest.mark.parametrize("size", [1, 7, 40, 300])
def test_pieces_of_a_file_join_where_they_were_cut(size, tmp_path, monkeypatch):
    """Sections are read in pieces of a few megabytes; with pieces of a few bytes nothing changes."""
    whole = [read(data, tmp_path) for data in (SMALL_MPS, SMALL_LP)]
    assert_same_model(whole[0], read(SMALL_MPS.replace(b" x c2 1 other 7\n", b"* note\n x c2 1\n\n"), tmp_path), "mps")
    for module in (mps_sections, lp_reader):
        monkeypatch.setattr(module, "CHUNK", size)
    assert_same_model(whole[0], read(SMALL_MPS, tmp_path), "mps")
    assert_same_model(whole[1], read(SMALL_LP, tmp_path), "lp")


def test_an_empty_block_has_no_names():
    """Found by fuzzing: the names of no rows could not be laid out as a table."""
    assert name_list((NamedBlock(()),)) == []

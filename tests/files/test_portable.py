"""The portable subset of model files: files outside of it are recognised, and models outside of it are converted."""

import gzip
import json
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from odtc.fileformats.model_files import FORMATS, form_of, read_model, write_model
from odtc.fileformats.portable_subset import compare, portable
from odtc.fileformats.solution_files import read_point
from odtc.model.blocks import NamedBlock
from odtc.model.milp import Model
from odtc.model.points import name_list
from odtc.solvers.solver import SOLVERS, find_solver, version
from odtc.testing.problems import ALL_VARIANTS, form_id, problems
from tests.command_line import odtc

EACH = dict(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@pytest.mark.every(3)
@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS.names())
@pytest.mark.parametrize("form", ALL_VARIANTS, ids=form_id)
@given(data=st.data())
@settings(max_examples=3, **EACH)
def test_what_odtc_writes_is_as_odtc_writes_it(form, format, data, tmp_path):
    problem = data.draw(problems(form))
    model = problem.module.build(problem)
    packed = data.draw(st.booleans())
    path = write_model(model, tmp_path / f"model{FORMATS.get(format).SUFFIX}{'.gz' * packed}", format)
    assert portable(model) is model
    for same in (model, read_model(path)):
        file = compare(path, same)
        assert (file.form, file.packed, file.cuts, file.astray) == (format, packed, False, "")


def test_bounds_of_whole_columns_are_the_whole_numbers_between_them():
    """Not the nearest ones: from 0.4 to 1.6 there is only 1, and from -1.6 to -0.4 only -1."""
    bounds = [(0.4, 1.6), (-1.6, -0.4), (0.0, 0.9), (-0.9, 5.5), (2.0, 3.0)]
    lower, upper = np.array(bounds).T
    model = Model(
        "m",
        np.ones(5),
        0.0,
        np.zeros(1),
        np.ones(1),
        lower,
        upper,
        np.ones(5, np.uint8),
        (NamedBlock(tuple("abcde"), 0),),
        (NamedBlock(("r",), 0),),
        matrix=sp.csc_array(np.ones((1, 5))),
    )
    made = portable(model)
    assert made.col_lower.tolist() == [1, -1, 0, 0, 2] and made.col_upper.tolist() == [1, -1, 0, 5, 3]
    loose = portable(replace(model, integrality=np.zeros(5, np.uint8), matrix=model.A))
    assert loose.col_lower.tolist() == lower.tolist() and loose.col_upper.tolist() == upper.tolist()


MPS = """NAME          m  FREE
ROWS
 N  obj
 L  c1
 G  c2
COLUMNS
    MARKER    'MARKER'                 'INTORG'
    x         obj       1
    x         c1        2
    MARKER    'MARKER'                 'INTEND'
    y         obj       -1
    y         c1        1
    y         c2        1
RHS
    RHS       c1        9
    RHS       c2        -4
BOUNDS
 LO BND       x         0
 PL BND       x
 LO BND       y         -1
 UP BND       y         5
ENDATA
"""
FIXED = """NAME          m
ROWS
 N  obj
 L  R0000000
COLUMNS
    C0000000  obj       1
    C0000000  R0000000  2
RHS
    RHS       R0000000  9
BOUNDS
 UP BND       C0000000  5
ENDATA
"""
LP = (
    "\\ m\nMinimize\n obj: + x - y\nSubject To\n c1: + 2 x + y <= 9\n c2: + y >= -4\nBounds\n 0 <= x\n -1 <= y <= "
    "5\nGenerals\n x\nEnd\n"
)


def written(tmp_path, text: str):
    path = tmp_path / "model"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    "text",
    [
        *(MPS, LP, MPS.replace("    ", " "), MPS + "\n \n", LP.replace(" - y", "\n - y")),
        *(
            MPS.replace("ROWS", "* a note\nROWS").replace("RHS\n", "RHS\n* another\n"),
            LP.replace("Bounds", "\\ a note\nBounds"),
        ),
    ],
)
def test_blanks_and_comments_are_not_looked_at(tmp_path, text):
    path = written(tmp_path, text)
    assert compare(path, read_model(path)).astray == ""
    path.write_bytes(gzip.compress(path.read_bytes()))
    file = compare(path, read_model(path))
    assert file.packed and file.astray == "" and file.form == form_of(text.encode(), "x")


@pytest.mark.parametrize(("text", "old", "new", "words"), [
    (MPS, "ROWS", "OBJSENSE\n    MAX\nROWS", "it maximises"),
    (MPS, "m  FREE", "m", "line 1: 'NAME m'"),
    (MPS, "ROWS", f"*{'-' * 200}\nROWS", f"line 2: '*{'-' * 59}'"),  # longer than some readers take
    (MPS, "    RHS       c1        9\n", "    RHS       c1        9\n    RHS       obj       "
                                         "-100\n", "a constant in the objective"),
    (MPS, " LO BND       x         0\n PL BND       x\n", "", "line 18: 'LO BND y -1'"),
    (MPS, "BOUNDS", "RANGES\n    RNG       c1        3\nBOUNDS", "a row with two sides"),
    (MPS, " G  c2", " N  c2", "line 5: 'N c2'"),
    (MPS, "c1        2", "c1        2.0", "line 9: 'x c1 2.0'"),
    (MPS, "    y         obj       -1\n    y         c1        "
          "1\n", "    y         obj       -1   c1        1\n", "line 11: 'y obj -1 c1 1'"),
    (MPS, "    y", "\ty", "line 11: 'y obj -1'"),
    (MPS, "y", "e1", "a name that not all solvers take"),
    (MPS, "x", "$x", "a name that not all solvers take"),
    (MPS, " 5\n", " 1e30\n", "line 21: 'UP BND y 1e30'"),
    (MPS, "\n", "\r\n", "line 1: 'NAME m FREE'"),
    (LP, "Minimize", "Maximize", "it maximises"),
    (LP, "- y\n", "- y + 100\n", "a constant in the objective"),
    (LP, "\\ m\n", "", "line 1: 'Minimize'"),
    (LP, " 0 <= x\n", "", "line 8: '-1 <= y <= 5'"),
    (LP, "c1: + 2 x + y <= 9", "c1: 1 <= 2 x + y <= 9", "a row with two sides"),
    (LP, "+ 2 x", "+ 2x", "line 5: 'c1: + 2x + y <= 9'"),
    (LP, "<=", "<", "line 5: 'c1: + 2 x + y < 9'"),
    (LP, "\\ m", "\\ my model", "line 1: '\\\\ my model'"),
    (MPS, "BND       x         0", "BND       x         0.5", "a whole column with a bound that is not"),
    (LP, "End\n", "End", ""),
    (FIXED, "    C0000000  obj       1\n", "    C0000000 obj 1\n", "line 1: 'NAME m'"),
    (FIXED, "C0000000", "x       ", "line 1: 'NAME m'"),
    (FIXED, "obj       1\n", "obj       1   \n", ""),
])  # fmt: skip
def test_what_else_there_is_is_named(tmp_path, text, old, new, words):
    path = written(tmp_path, text.replace(old, new))
    assert compare(path, read_model(path)).astray == words


def test_another_model_s_file_is_no_file_of_this_model(tmp_path):
    path = written(tmp_path, MPS)
    other = replace(read_model(path), c=np.array([2.0, -1]))
    assert compare(path, other).astray == "line 8: 'x obj 1'"


NUMBER = st.integers(-3, 3).map(float)


@st.composite
def foreign(draw) -> Model:
    """Models with rows of all kinds in up to three blocks, a constant, and names that not all solvers read."""
    n, m = draw(st.integers(1, 3)), draw(st.integers(0, 6))
    A = np.array(draw(st.lists(NUMBER, min_size=n * m, max_size=n * m))).reshape(m, n)
    sides = [
        draw(st.sampled_from([(-np.inf, b), (b, np.inf), (b, b), (b - 1, b + 1), (-np.inf, np.inf)]))
        for b in draw(st.lists(NUMBER, min_size=m, max_size=m))
    ]
    lower, upper = np.array(sides).reshape(m, 2).T.copy()
    cuts = sorted(draw(st.lists(st.integers(0, m), min_size=2, max_size=2)))
    names = [draw(st.sampled_from(["r{}", "r[{}]", "obj{}"])).format(i) for i in range(m)]
    if m and draw(st.booleans()):
        names[0] = "obj"
    parts = [("", 0, cuts[0]), ("usercuts", *cuts), ("lazycons", cuts[1], m)]
    blocks = tuple(NamedBlock(tuple(names[a:b]), a, name) for name, a, b in parts if a < b)
    given = {block.name for block in blocks}
    columns = tuple(draw(st.sampled_from(["x{}", "e{}", "x[{}]", "_{}"])).format(j) for j in range(n))
    return Model(
        draw(st.sampled_from(["m", "a name", "inf"])),
        np.array(draw(st.lists(NUMBER, min_size=n, max_size=n))),
        draw(st.sampled_from([0.0, 2.5])),
        lower,
        upper,
        np.full(n, draw(st.sampled_from([-3.0, -2.5]))),
        np.full(n, 3.0),
        np.ones(n, np.uint8),
        (NamedBlock(columns),),
        blocks,
        lazy=tuple({"lazycons"} & given),
        user_cuts=tuple({"usercuts"} & given),
        matrix=sp.csc_array(A),
    )


def feasible(model, points) -> np.ndarray:
    activity = (model.A @ points.T).T
    return ((activity >= model.row_lower) & (activity <= model.row_upper)).all(axis=1) & (
        (points >= model.col_lower) & (points <= model.col_upper)
    ).all(axis=1)


@given(model=foreign())
@settings(max_examples=150, **EACH)
def test_a_model_in_the_subset_has_the_same_points(model, tmp_path):
    same = portable(model)
    points = np.array(np.meshgrid(*[np.arange(-3.0, 4)] * model.n_cols)).reshape(model.n_cols, -1).T
    np.testing.assert_array_equal(feasible(model, points), feasible(same, points))
    np.testing.assert_array_equal(model.c, same.c)
    assert same.offset == 0 and portable(same) is same
    # Rows that are lazy stay so, and those that are not do not become so.
    for kind in ("lazy", "user_cuts"):
        marked, before = getattr(same, kind), getattr(model, kind)
        count = sum(block.size for block in same.rows if block.name in marked)
        places = np.concatenate(
            [np.zeros(0, int), *(np.arange(b.start, b.stop) for b in model.rows if b.name in before)]
        )
        low, up = np.isfinite(model.row_lower[places]), np.isfinite(model.row_upper[places])
        assert count == (low | up).sum() + (low & up & (model.row_lower[places] != model.row_upper[places])).sum()
    for format in FORMATS.names():
        path = write_model(same, tmp_path / "m", format, cuts=True)
        again = read_model(path)
        np.testing.assert_array_equal(feasible(model, points), feasible(again, points))
        if format != "fixed-mps":
            assert name_list(again.columns) == name_list(same.columns)
        assert compare(path, same).astray == ""


# max 3x + 2.25y + z + 100, x and y whole: 2x + 3y <= 12, 1 <= x + z <= 5.5, x <= 4.5, y <= 10, z <= 3. For x = 0 ..
# 4 the
# best y and z are (4, 3), (3, 3), (2, 3), (2, 2.5), (1, 1.5), at 112, 112.75, 113.5, 116, 115.75.
FOREIGN = """NAME foreign
OBJSENSE
    MAX
ROWS
 N cost
 L r[1]
 G r[2]
COLUMNS
 M1 'MARKER' 'INTORG'
 x cost 3 r[1] 2
 x r[2] 1
 y cost 2.25 r[1] 3
 M2 'MARKER' 'INTEND'
 z cost 1 r[2] 1
RHS
 RHS r[1] 12 r[2] 1
 RHS cost -100
RANGES
 RNG r[2] 4.5
BOUNDS
 UP BND x 4.5
 UP BND y 10
 UP BND z 3
ENDATA
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", SOLVERS.names())
def test_a_foreign_file_means_to_every_solver_what_it_says(name, tmp_path):
    """It maximises, with a constant, a range, names that LP cannot say, and whole columns with a bound that
    is not: all the same objective, bound and point, in the sense of the file."""
    if version(find_solver(name)) is None:
        pytest.skip(f"{name} is not on this machine")
    (tmp_path / "foreign.mps").write_text(FOREIGN)
    done = odtc("solve", "foreign.mps", "--solver", name, "--json", folder=tmp_path)
    facts = done.facts
    assert (facts["sense"], facts["termination"]) == ("maximize", "optimal")
    assert facts["objective"] == pytest.approx(116, abs=1e-6) and facts["bound"] == pytest.approx(116, abs=1e-6)
    assert ("written again" in done.err) == (name != "highs")
    raw = read_point(tmp_path / "foreign.sol")
    assert raw.objective == pytest.approx(116, abs=1e-6)
    assert dict(zip(raw.names, raw.values)) == pytest.approx({"x": 3, "y": 2, "z": 2.5}, abs=1e-6)
    record = json.loads((tmp_path / "foreign.run.json").read_text())
    assert (record["objective"], record["bound"]) == pytest.approx((116, 116), abs=1e-6)
    # A bound in the history is in the file's sense as well: an upper one.
    assert all(bound is None or bound >= 116 - 1e-6 for _, _, bound in record["history"])

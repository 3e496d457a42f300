"""Each rule of the second reader of model files, and of the checks of a point against such a file: one file and one
number for each, so that what a rule decides is seen alone."""

from fractions import Fraction

import numpy as np
import pytest

from odtc.errors import ModelError
from odtc.verification.against_file import _Worst, check_against_file
from odtc.verification.file_as_written import exact, read_written

ENDLESS = b"1e20"


def mps(
    columns=b" x a 1\n", rows=b" L a\n", sides=b"", ranges=b"", bounds=b" UP B x 9\n", head=b"NAME m\n", end=b"ENDATA\n"
):
    """An MPS file of one column x and one row a, with other lines in the place of its own."""
    return (
        head + b"ROWS\n N o\n" + rows + b"COLUMNS\n" + columns + b"RHS\n" + sides + b"RANGES\n" + ranges + b"BOUNDS\n"
    ) + (bounds + end)


def lp(rows=b" c: x + y <= 3\n", objective=b" obj: x", sense=b"Minimize", bounds=b"", more=b"", end=b"End\n"):
    """An LP file of two columns x and y and one row c, with other lines in the place of its own."""
    return sense + b"\n" + objective + b"\nSubject To\n" + rows + b"Bounds\n" + bounds + more + end


def failed(data, x, counted=None):
    """(names of the checks that refuse, texts by name) of a point in the order of the file's columns."""
    written = read_written(data)
    checks = check_against_file(written, list(written.columns), np.array(x, float), counted)
    return [check.name for check in checks if not check.passed], {check.name: check.text for check in checks}


def entries(written):
    """The matrix as {(row, column): number}."""
    rows, columns, data = written.arrays()
    return {(int(i), int(j)): written.numbers[k] for i, j, k in zip(rows, columns, data)}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b" UP B x 9\n", (0, 9)),
        (b" UP x 9\n", (0, 9)),
        (b" UP B x 0\n", (0, 0)),
        (b" LO B x -3\n UP B x -1\n", (-3, -1)),
        (b" LO B x 2\n", (2, None)),
        (b" FX B x 2.5\n", (Fraction(5, 2), Fraction(5, 2))),
        (b" FR B x\n", (None, None)),
        (b" FR x\n", (None, None)),
        (b" MI B x 0\n", (None, None)),
        (b" UP B x 9\n MI B x\n", (None, 9)),
        (b" UP B x 9\n PL B x\n", (0, None)),
        (b" LO B x 4\n PL B x\n", (4, None)),
        (b" UP B x 1e20\n LO B x -1e20\n", (None, None)),
        (b" UP B x 99999999999999999999\n", (0, 10**20 - 1)),
        (b" UP B x 1d1\n", (0, 10)),
    ],
)
def test_bounds_of_mps(line, expected):
    written = read_written(mps(bounds=line))
    assert written.bounds(0) == expected and not written.whole


@pytest.mark.parametrize(
    ("line", "expected"), [(b" BV B x\n", (0, 1)), (b" UI B x 4\n", (0, 4)), (b" LI B x 2\n UP B x 5\n", (2, 5))]
)
def test_bounds_of_mps_that_make_a_column_whole(line, expected):
    written = read_written(mps(bounds=line))
    assert written.bounds(0) == expected and written.whole == {0}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"bounds": b" UP B x -1\n"}, "a lower bound before a negative upper one"),
        ({"bounds": b" UI B x -1\n"}, "a lower bound before a negative upper one"),
        ({"bounds": b" UP B x 1 2\n"}, "expected a bound, got"),
        ({"bounds": b" UP x\n"}, "expected a bound, got"),
        ({"bounds": b" FR\n"}, "expected a bound, got"),
        ({"bounds": b" FR B x 0 0\n"}, "expected a bound, got"),
        ({"bounds": b" SC B x 1\n"}, "a bound of a known kind"),
        ({"bounds": b" LI B x 2\n"}, "bounds of every whole column"),
        ({"bounds": b" UP B w 2\n"}, "stops making sense"),
        ({"rows": b" L a\n L a\n"}, "new rows of a known kind"),
        ({"rows": b" X a\n"}, "new rows of a known kind"),
        ({"columns": b" x a 1 a\n"}, "a column with one or two entries"),
        ({"columns": b" x b 1\n"}, "stops making sense"),
        ({"columns": b" x a one\n"}, "a number of moderate length"),
        ({"sides": b" R b 1\n"}, "stops making sense"),
        ({"ranges": b" R b 1\n"}, "stops making sense"),
        ({"ranges": b" R o 1\n"}, "stops making sense"),
        ({"end": b""}, "it is cut off"),
        ({"end": b"SOS\n S1 a\nENDATA\n"}, "a section of MPS that is known"),
    ],
)
def test_what_mps_may_not_say(changes, words):
    with pytest.raises(ModelError, match=words):
        read_written(mps(**changes))


def test_sections_and_comments_of_mps():
    written = read_written(b"  \n" + mps(columns=b" x a 1\n* a comment\n\n y a 1\n"))
    assert list(written.columns) == [b"x", b"y"] and written.numbers == [1] and len(entries(written)) == 2
    assert read_written(b"* made by hand\n\n" + mps(end=b"* done\n\nENDATA\nSOS\n nothing here\n")).columns == {b"x": 0}
    assert read_written(mps(head=b"ROWS\n")[5:].replace(b"ROWS\nROWS", b"ROWS")).rows == {b"a": 0}


@pytest.mark.parametrize(
    ("head", "sign"),
    [
        (b"NAME m\n", 1),
        (b"NAME MAX\n", 1),
        (b"OBJSENSE MAX\n", -1),
        (b"OBJSENSE\n  MAXIMIZE\n", -1),
        (b"OBJSENSE\n max\n", -1),
    ]
    + [(b"NAME m\nOBJSENSE MIN\n", 1), (b"OBJSENSE\n MIN\n", 1)],
)
def test_the_sense_of_mps(head, sign):
    """The costs are those of a minimum; the right side of the objective is what is taken off."""
    written = read_written(mps(head=head, columns=b" x o 3 a 1\n x o 1\n", sides=b" R o 5 a 2\n"))
    assert (written.sign, written.cost, written.offset) == (sign, {0: 4 * sign}, -5 * sign)
    assert written.sides == [(None, 2)] and entries(written) == {(0, 0): 1}


@pytest.mark.parametrize(
    ("kind", "range_", "expected"),
    [
        (b"L", None, (None, 4)),
        (b"G", None, (4, None)),
        (b"E", None, (4, 4)),
        (b"L", b"3", (1, 4)),
        (b"L", b"-3", (1, 4)),
        (b"G", b"3", (4, 7)),
        (b"G", b"-3", (4, 7)),
        (b"E", b"3", (4, 7)),
        (b"E", b"-3", (1, 4)),
        (b"E", b"0", (4, 4)),
        (b"E", b"0.5", (4, Fraction(9, 2))),
    ],
)
def test_sides_of_mps(kind, range_, expected):
    ranges = b" R a " + range_ + b"\n" if range_ else b""
    for set_ in (b" R", b""):  # the name of the set may be left out
        sides = set_ + b" a 4\n"
        assert read_written(mps(rows=b" " + kind + b" a\n", sides=sides, ranges=ranges)).sides == [expected]


def test_sides_that_are_endless():
    for kind, side, expected in [
        ("L", "1e20", (None, None)),
        ("G", "-1e20", (None, None)),
        ("L", "1e19", (None, 10**19)),
    ]:
        data = mps(rows=f" {kind} a\n".encode(), sides=f" R a {side}\n".encode())
        assert read_written(data).sides == [expected]
    assert read_written(mps()).sides == [(None, 0)]


def test_rows_that_count_nothing_are_left_out():
    """A second row of kind N is no objective, and no row."""
    rows = b" N free\n G a\n"
    written = read_written(mps(rows=rows, columns=b" x free 7 o 2\n x a 1\n", sides=b" R free 3 a 1\n"))
    assert (written.rows, written.cost, written.offset, entries(written)) == ({b"a": 0}, {0: 2}, 0, {(0, 0): 1})


def test_whole_columns_of_mps():
    columns = b" x a 1\n M 'MARKER' 'INTORG'\n y a 2\n M 'MARKER' 'INTEND'\n z a 3\n"
    written = read_written(mps(columns=columns, bounds=b" UP B y 2\n"))
    assert written.whole == {1} and entries(written) == {(0, 0): 1, (0, 1): 2, (0, 2): 3}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"", (0, None)),
        (b" x <= 4\n", (0, 4)),
        (b" x >= -2\n", (-2, None)),
        (b" x = 3\n", (3, 3)),
        (b" 4 >= x\n", (0, 4)),
        (b" -2 <= x\n", (-2, None)),
        (b" 3 = x\n", (3, 3)),
        (b" -2 <= x <= 4\n", (-2, 4)),
        (b" x free\n", (None, None)),
        (b" x FREE\n", (None, None)),
        (b" -inf <= x <= 4\n", (None, 4)),
        (b" - Infinity <= x <= + inf\n", (None, None)),
        (b" x <= 4\n x <= +infinity\n", (0, None)),
        (b" x >= - - 2\n", (2, None)),
        (b" x <= + 4\n", (0, 4)),
        (b" x <= 1e20\n", (0, None)),
        (b" x <= 1e+2\n", (0, 100)),
    ],
)
def test_bounds_of_lp(line, expected):
    assert read_written(lp(bounds=line)).bounds(0) == expected


@pytest.mark.parametrize(
    ("row", "sides", "numbers"),
    [
        (b" c: x + y <= 3\n", (None, 3), [1, 1]),
        (b" c: x - y >= 3\n", (3, None), [1, -1]),
        (b" c: - x + 2.5 y = - 3\n", (-3, -3), [-1, Fraction(5, 2)]),
        (b" c: - - 2 x + - y =< 3\n", (None, 3), [2, -1]),
        (b" c: x + 1 + y < 3\n", (None, 2), [1, 1]),
        (b" c: 2 x\n + 3 y\n => - 1\n", (-1, None), [2, 3]),
        (b" c: x + y - 1 > 3\n", (4, None), [1, 1]),
        (b" c: x + .5 y <= 1e20\n", (None, None), [1, Fraction(1, 2)]),
        (b" c: 1e-2 x + 1E2 y = inf\n", (None, None), [Fraction(1, 100), 100]),
    ],
)
def test_rows_of_lp(row, sides, numbers):
    written = read_written(lp(row))
    assert written.sides == [sides] and entries(written) == {(0, 0): numbers[0], (0, 1): numbers[1]}
    assert written.rows == {b"c": 0} and list(written.columns) == [b"x", b"y"]


def test_blank_lines_and_comments_of_lp():
    data = b"\n\\ by hand\n\n" + lp(b" c: x \\ + 9 z\n\n + y <= 3\n\\ d: x <= 0\n")
    assert entries(read_written(data)) == {(0, 0): 1, (0, 1): 1} and read_written(data).sides == [(None, 3)]


def test_rows_of_lp_without_names():
    written = read_written(
        lp(b" x <= 1\n y >= 2\n d: x - y <= 3\n 2 y <= 4 x + y <= 5\n".replace(b" x + y", b"\n x + y"))
    )
    assert list(written.rows) == [b"R1", b"R2", b"d", b"R4", b"R5"]
    assert written.sides == [(None, 1), (2, None), (None, 3), (None, 4), (None, 5)]
    assert entries(written) == {(0, 0): 1, (1, 1): 1, (2, 0): 1, (2, 1): -1, (3, 1): 2, (4, 0): 1, (4, 1): 1}


@pytest.mark.parametrize(
    ("sense", "objective", "cost", "offset"),
    [
        (b"Minimize", b" obj: 2 x - y + 7", {0: 2, 1: -1}, 7),
        (b"MIN", b" 2 x - 3 + x", {0: 3}, -3),
        (b"minimise", b" 5", {}, 5),
        (b"Maximize", b" obj: 2 x - 7", {0: -2}, 7),
        (b"maximise", b" x", {0: -1}, 0),
        (b"max", b" - x + 0.5", {0: 1}, Fraction(-1, 2)),
        (b"minimize x + y\n", b"", {0: 1, 1: 1}, 0),
        (b"Min", b" obj:", {}, 0),
    ],
)
def test_the_objective_of_lp(sense, objective, cost, offset):
    written = read_written(lp(sense=sense, objective=objective))
    assert (written.cost, written.offset) == (cost, offset)


def test_whole_columns_of_lp():
    for word in (b"Generals", b"general", b"Gen", b"Integers"):
        written = read_written(lp(more=word + b"\n y\n x\n", bounds=b" x <= 4\n"))
        assert written.whole == {0, 1} and written.bounds(0) == (0, 4) and written.bounds(1) == (0, None)
    for word in (b"Binaries", b"Binary", b"bin"):
        written = read_written(lp(more=word + b"\n x\n", bounds=b" x <= 4\n"))
        assert written.whole == {0} and written.bounds(0) == (0, 1)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "a part of one"),
        (lp(end=b""), "a part of one"),
        (lp()[9:], "Minimize or Maximize"),
        (b"Subject To\n c: x <= 1\nEnd\n", "a part of one"),
        (lp(b" c: x <= 1\n c: y <= 1\n"), "a row of a new name"),
        (lp(b" c: 1 <= x\n"), "a sum on the left"),
        (lp(b" c: x y <= 1\n"), "a sign before each term"),
        (lp(b" c: x + : <= 1\n"), "a linear sum"),
        (lp(b" c: x + <= 1\n"), "a sign before each term"),
        (lp(b" c: 2 x 3 y <= 1\n"), "a sign before each term"),
        (lp(b" c: [ x ] <= 1\n"), "a linear sum"),
        (lp(b" c: x ^ 2 <= 1\n"), "a sign"),
        (lp(b" c: x * y <= 1\n"), "a sign"),
        (lp(b" c: 3 x * y <= 1\n"), "a sign"),
        (lp(b" c: x +\n"), "a sign before each term"),
        (lp(b" c: x\n"), "stops making sense"),
        (lp(b" c: x <=\n"), "stops making sense"),
        (lp(b" c: x <= 1.2.3\n"), "expected"),
        (lp(objective=b" obj: x <= 3"), "a sum as the objective"),
        (lp(bounds=b" x <= 4 5\n"), "a bound of one column a line"),
        (lp(bounds=b" x free 3\n"), "stops making sense"),
        (lp(bounds=b" x 4\n"), "stops making sense"),
        (lp(bounds=b" x <=\n"), "stops making sense"),
        (lp(bounds=b" w <= 4\n"), "stops making sense"),
        (lp(bounds=b" 4 <= 5\n"), "stops making sense"),
        (lp(more=b"Generals\n w\n"), "stops making sense"),
        (lp(more=b"Binaries\n w\n"), "stops making sense"),
    ],
)
def test_what_lp_may_not_say(data, words):
    with pytest.raises(ModelError, match=words):
        read_written(data)


def test_numbers_of_moderate_length():
    assert (
        exact(b"1" + b"0" * 399) == 10**399 and exact(b"1e400") == 10**400 and exact(b"1e-400") == Fraction(1, 10**400)
    )
    assert exact(b"+.5") == exact(b"5d-1") == exact(b"5D-1") == Fraction(1, 2)
    for text in (b"1" + b"0" * 400, b"1e401", b"1e-401", b"", b"e5", b"0x1", b"1_0", b"nan", b"inf", b"1e", b"--1"):
        with pytest.raises(ModelError, match="moderate length"):
            exact(text)


FREE = lp(b" c: x + y <= 1\n", bounds=b" x free\n y free\n")


@pytest.mark.parametrize(
    ("data", "x", "names", "words"),
    [
        # A thousand-millionth of the value, and of 1 at least.
        (lp(bounds=b" x <= 1\n"), [1 + 5e-10, 0], [], "kept within 5e-10 (most at x)"),
        (lp(bounds=b" x <= 1\n"), [1 + 15e-10, 0], ["file bounds"], "broken by 1.5e-09 at x, more than 1e-09"),
        (lp(b" c: y <= 9\n", bounds=b" x <= 0.1\n"), [0, 0.1 + 5e-10], [], "kept within 5e-10"),
        (lp(b" c: y <= 9\n", bounds=b" x <= 0.1\n"), [0, 0.1 + 15e-10], ["file bounds"], "broken by 1.5e-09"),
        (lp(b" c: y <= 9\n", bounds=b" x <= 1e6\n"), [0, 1e6 + 5e-4], [], "kept within 0.0005"),
        (lp(b" c: y <= 9\n", bounds=b" x <= 1e6\n"), [0, 1e6 + 15e-4], ["file bounds"], "more than 0.001"),
        (lp(bounds=b" x >= 0.5\n"), [0.5 - 15e-10, 0], ["file bounds"], "broken by 1.5e-09 at x"),
        (lp(bounds=b" x >= 0.5\n"), [0.5, 0], [], "2 kept exactly"),
        (lp(bounds=b" x <= 0.5\n"), [0.5, 0], [], "2 kept exactly"),
        (lp(bounds=b" x <= 1\n y <= 1\n"), [1 + 5e-9, 1 + 5e-9], ["file bounds"], "at x, more"),
        (lp(bounds=b" x <= 1\n y <= 1\n"), [1 + 5e-9, 1 + 9e-9], ["file bounds"], "at y, more"),
        # What is beyond what is allowed is told before what is further off, but allowed.
        (
            lp(b" c: x >= 0\n d: y >= 0\n", bounds=b" x <= 1e9\n y <= 1\n"),
            [1e9 + 0.5, 1 + 5e-9],
            ["file bounds"],
            "at y",
        ),
    ],
)
def test_what_a_bound_may_be_broken_by(data, x, names, words):
    if data.count(b" c: y <= 9"):
        data = data.replace(b" obj: x", b" obj: 0 y + x")  # y is the first column then
    found, texts = failed(data.replace(b"<= 3", b"<= 1e15"), x)
    assert found == names and words in texts["file bounds"]


@pytest.mark.parametrize(
    ("row", "x", "names", "words"),
    [
        (b"x + y <= 1", [0.5, 0.5 + 5e-10], [], "kept within 5e-10 (most at c), 1 of them added"),
        (b"x + y <= 1", [0.5, 0.5 + 15e-10], ["file rows"], "broken by 1.5e-09 at c, more than 1e-09"),
        (b"0.1 x + 0 y <= 0.01", [0.1 + 5e-9, 0], [], "kept within 5e-10"),
        (b"0.1 x + 0 y <= 0.01", [0.1 + 15e-9, 0], ["file rows"], "broken by 1.5e-09"),
        (b"x + y <= 2000000", [1e6, 1e6 + 15e-4], [], "kept within 0.0015"),
        (b"x - y <= 0", [1e6 + 15e-4, 1e6], [], "kept within 0.0015"),
        (b"x + y <= 2000000", [1e6, 1e6 + 25e-4], ["file rows"], "more than 0.002"),
        (b"x + y >= 1", [0.5, 0.5 - 15e-10], ["file rows"], "broken by 1.5e-09"),
        (b"x + y >= 1", [0.25, 0.5], ["file rows"], "broken by 0.25"),
        (b"x + y >= 1", [0.5, 0.75], [], "1 kept exactly, 0 of them added"),
        # Whole numbers at a side that is whole: nothing is rounded.
        (b"x + y <= 2", [1, 1], [], "1 kept exactly, 0 of them added"),
        (b"x + y >= 2", [1, 1], [], "1 kept exactly, 0 of them added"),
        (b"x + y = 2", [1, 1], [], "1 kept exactly, 0 of them added"),
        (b"x + y = 2", [1, 2], ["file rows"], "broken by 1 at c"),
        (b"x + y <= 2", [1, 2], ["file rows"], "broken by 1 at c"),
        (b"x + y <= 3", [1, 1], [], "1 kept exactly, 0 of them added"),
        (b"x + y <= 2.5", [1, 1], [], "1 kept exactly, 0 of them added"),
        # What is lost between large numbers, which float64 says to be 0.25.
        (b"1e15 x + 0.3 y - 1e15 z <= 0.26", [1, 1, 1], [], "kept within 0.04 "),
        # A side that is no whole number, though float64 has none beside it.
        (b"x + y <= 1.99999999999999999999", [1, 1], [], "1 kept within 1e-20 (most at c), 1 of them added"),
        (b"x + y >= 2.00000000000000000001", [1, 1], [], "1 kept within 1e-20 (most at c), 1 of them added"),
        # Numbers past 2^53 are not those of float64, alone or as a sum.
        (b"9007199254740993 x + 0 y <= 9007199254740992", [1, 0], [], "kept within 1 "),
        (b"9007199254740992 x + y <= 9007199254740992", [1, 1], [], "kept within 1 "),
        (b"4503599627370496 x + 4503599627370496 y <= 9007199254740991", [1, 1], [], "kept within 1 "),
        (b"0.5 x + y <= 1", [1, 0.5], [], "1 kept exactly, 1 of them added"),
        (b"0.1 x + y <= 0.3", [1, 0.2], [], "kept within 1.1e-17"),
    ],
)
def test_what_a_row_may_be_broken_by(row, x, names, words):
    found, texts = failed(FREE.replace(b"x + y <= 1", row), x)
    assert found == names and words in texts["file rows"], texts["file rows"]


def test_a_row_of_many_decimals_is_added_in_rationals():
    """A tenth a hundred times is 10; float64 says 9.99999999999998."""
    names = [f"x{at}" for at in range(100)]
    row = f" c: {' + '.join(f'0.1 {name}' for name in names)} <= 9.99999999999999\n"
    found, texts = failed(lp(row.encode(), b" obj: x0"), np.ones(100))
    assert found == [] and texts["file rows"] == "1 kept within 1e-14 (most at c), 1 of them added in rationals"


def test_rows_are_added_with_their_own_terms_alone():
    """Rows whose entries come in another order than the rows of the file, and one without entries."""
    columns = b" x a 0.1 b 1\n y c 0.1 b 0.1\n z a 0.2 c 0.2\n"
    data = mps(rows=b" L a\n L b\n E e\n G c\n", columns=columns, sides=b" R a 0.3 c 0.3\n R b 1.1\n", bounds=b"")
    found, texts = failed(data, [1, 1, 1])
    assert found == [] and texts["file rows"] == "4 kept exactly, 3 of them added in rationals"
    found, texts = failed(data.replace(b"c 0.3", b"c 0.4"), [1, 1, 1])
    assert found == ["file rows"] and texts["file rows"] == "broken by 0.1 at c, more than 1e-09"


@pytest.mark.parametrize(
    ("objective", "x", "counted", "names", "words"),
    [
        (b" 2 x + 3 y + 1", [1, 1], 6, [], "of the file is 6, counted on the rows 6"),
        (b" 2 x + 3 y + 1", [1, 0], 6, ["file objective"], "of the file is 3, counted"),
        (b" 2 x + 3 y + 1", [0.5, 0], 2, [], "of the file is 2, counted"),
        (b" x", [1, 0], 1 + 5e-10, [], "is 1, counted"),
        (b" x", [1, 0], 1 + 15e-10, ["file objective"], "is 1, counted"),
        (b" 0.1 x", [1, 0], 0.1 + 5e-10, [], "is 1/10, counted"),
        (b" 1000000 x", [1, 0], 1e6 + 5e-4, [], "is 1000000, counted"),
        (b" 1000000 x", [1, 0], 1e6 + 15e-4, ["file objective"], "is 1000000, counted"),
        (b" 0.12345678 x", [1, 0], 0.12345678, [], "is 6172839/50000000, counted"),
        (b" 0.61728395 x", [1, 0], 0.61728395, [], "is 0.61728395"),
        (b" 0.123456789012345678 x", [1, 0], 0.123456789012345678, [], "is 0.12345678901234568, counted"),
    ],
)
def test_what_the_objective_may_be_off_by(objective, x, counted, names, words):
    data = lp(b" c: 0 x + y >= 0\n", objective)
    found, texts = failed(data, x, counted)
    assert found == names and words in texts["file objective"], texts["file objective"]


def test_whole_columns_may_be_off_by_little():
    data = lp(b" c: x + y >= 0\n", more=b"Generals\n x\n")
    for x, names, words in [
        (3.0, [], "1 kept exactly"),
        (3 + 5e-10, [], "kept within 5e-10"),
        (3 - 15e-10, ["file integrality"], "broken by 1.5e-09 at x, more than 1e-09"),
        (2.75, ["file integrality"], "broken by 0.25"),
    ]:
        found, texts = failed(data, [x, 0.5])
        assert found == names and words in texts["file integrality"]


@pytest.mark.parametrize("names", [[b"x", b"w"], [b"w", b"y"], [b"x"], [b"x", b"x"], [b"x", b"y", b"w"], []])
def test_a_point_of_other_columns(names):
    (check,) = check_against_file(read_written(lp()), names, np.zeros(len(names)), 0.0)
    assert (check.name, check.passed) == ("file columns", False)
    assert f"has 2 columns, the point {len(names)} " in check.text


def test_columns_in_another_order_are_the_same_ones():
    checks = check_against_file(read_written(lp(bounds=b" x <= 1\n")), [b"y", b"x"], np.array([2.0, 1.0]), 1.0)
    assert [check.passed for check in checks] == [True] * 4


def test_a_row_may_have_the_name_that_markers_have():
    """A line of two entries is a column, whatever its rows are called."""
    written = read_written(mps(columns=b" x 'MARKER' 1 a 2\n", rows=b" L 'MARKER'\n L a\n"))
    assert entries(written) == {(0, 0): 1, (1, 0): 2} and not written.whole


def test_rows_without_an_entry_are_sums_of_nothing():
    data = mps(columns=b" x o 1\n", rows=b" L a\n G b\n", sides=b" RHS b -1\n")
    assert failed(data, [1])[0] == [] and "2 kept exactly" in failed(data, [1])[1]["file rows"]
    assert failed(mps(columns=b" x o 1\n", sides=b" RHS a -1\n"), [1])[0] == ["file rows"]


def test_what_is_just_as_far_off_as_it_may_be_is_kept():
    """Fractions have no rounding: a violation is allowed up to its tolerance and with it."""
    for off, kept in ((Fraction(1, 3), True), (Fraction(1, 3) + Fraction(1, 10**30), False)):
        worst = _Worst()
        worst.meet(off, Fraction(1, 3), b"x")
        assert worst.told("rows", 1).passed == kept

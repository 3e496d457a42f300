"""The model file read by the second reader: it is the model that was written, and each wrong number of a point is
refused by the check of its name."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import odtc
from odtc.errors import ModelError
from odtc.fileformats.model_files import FORMATS, read_model, write_model
from odtc.model.points import name_list
from odtc.model.solution import Solution, Termination
from odtc.testing.problems import ALL_VARIANTS, form_id, problems
from odtc.verification.against_file import check_against_file
from odtc.verification.file_as_written import exact, read_written
from odtc.workflow.provenance.rechecking import _confirmed, check_record
from tests import pipeline
from tests.command_line import CHECKOUT

GOLDEN = sorted((CHECKOUT / "tests" / "files" / "golden").glob("*.[lm]p*"))
LP = b"""\\ a comment
Maximize
 obj: 2 x - 3 y + 0.1 z + 7
Subject To
 c1: x + y + z <= 2.5
 c2: 3 x - y >= -1
 c3: 0.1 x + 0.2 y + 0.7 z = 0.3
Bounds
 -2 <= x <= 4
 y free
 z <= 1
Generals
 x
End
"""


def same(written, model):
    """The model as the other reader has it, number by number."""
    assert [name.decode() for name in written.columns] == name_list(model.columns)
    assert [name.decode() for name in written.rows] == name_list(model.rows)
    number = lambda value, end: end if value is None else float(value)  # noqa: E731
    bounds = [written.bounds(at) for at in range(model.n_cols)]
    assert [number(low, -np.inf) for low, _ in bounds] == model.col_lower.tolist()
    assert [number(high, np.inf) for _, high in bounds] == model.col_upper.tolist()
    assert [number(low, -np.inf) for low, _ in written.sides] == model.row_lower.tolist()
    assert [number(high, np.inf) for _, high in written.sides] == model.row_upper.tolist()
    assert sorted(written.whole) == np.flatnonzero(model.integrality).tolist()
    assert [float(written.cost.get(at, 0)) for at in range(model.n_cols)] == model.c.tolist()
    assert float(written.offset) == model.offset
    rows, columns, data = written.arrays()
    values = np.array([float(number) for number in written.numbers])[data]
    table = np.zeros((model.n_rows, model.n_cols))
    np.add.at(table, (rows, columns), values)
    np.testing.assert_array_equal(table, model.A.toarray())


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.name)
def test_both_readers_read_one_model(path):
    same(read_written(path.read_bytes()), read_model(path))


@pytest.mark.every(3)
@pytest.mark.parametrize("format", FORMATS.names())
@pytest.mark.parametrize("form", ALL_VARIANTS, ids=form_id)
@given(data=st.data())
@settings(max_examples=2, deadline=None, suppress_health_check=list(HealthCheck))
def test_what_is_written_is_the_model(form, format, data, tmp_path):
    model = data.draw(problems(form))
    model = model.module.build(model)
    path = write_model(model, tmp_path / "m", format)
    same(read_written(path.read_bytes()), FORMATS.get(format).renamed(model))


def test_what_others_write_is_read_to_the_last_digit(tmp_path):
    written = read_written(LP)
    (tmp_path / "m.lp").write_bytes(LP)
    same(written, read_model(tmp_path / "m.lp"))
    assert written.numbers[written.data[-1]] == Fraction(7, 10) and written.cost[2] == Fraction(-1, 10)
    assert exact(b"-1.5e-3") == Fraction(-3, 2000)
    mps = b"NAME x\nOBJSENSE\n  MAX\nROWS\n N o\n G a\n L b\n E c\nCOLUMNS\n  x o 1 a 2\n  x b 1 c 1\n"
    mps += b"RHS\n  R a 1 b 4\n  R c 2 o -3\nRANGES\n  R a 5\n  R c -1\n  b 3\nBOUNDS\n UP B x 9\n LI B x 1\nENDATA\n"
    written = read_written(mps)
    assert written.sides == [(1, 6), (1, 4), (1, 2)] and written.bounds(0) == (1, 9) and written.whole == {0}
    assert (written.cost[0], written.offset) == (-1, -3)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"text",
        LP.replace(b"End\n", b""),
        LP.replace(b"2.5", b"2.5.5"),
        LP.replace(b"2 x - 3 y", b"2 x 3 y"),
        LP.replace(b"3 x - y", b"[ x ^ 2 ]"),
        LP.replace(b"c2:", b"c1:"),
        LP.replace(b"2.5", b"1e999999999"),
        LP.replace(b" c1: x", b" c1: 1 <= x"),
        b"NAME\nROWS\n N o\nCOLUMNS\nRHS\nBOUNDS\n",
        b"NAME\nROWS\n N o\n L a\nCOLUMNS\n x b 1\nENDATA\n",
        b"NAME\nROWS\n N o\n L a\nCOLUMNS\n x a 1\nBOUNDS\n UP B x -1\nENDATA\n",
        b"NAME\nROWS\n N o\n L a\nCOLUMNS\n x a 1\nBOUNDS\n SC B x 1\nENDATA\n",
    ],
)
def test_what_has_no_one_meaning_is_refused(data):
    with pytest.raises(ModelError, match="expected"):
        read_written(data)


def refused(x, **changes):
    """The names of the checks that refuse a point of LP with the objective -1.6: x = (0, 0, 0) or so."""
    written = read_written(LP)
    counted = changes.pop("counted", None)
    return [
        check.name
        for check in check_against_file(written, [b"x", b"y", b"z"], np.array(x), counted)
        if not check.passed
    ]


def test_each_wrong_number_is_refused_by_its_check():
    good = [1.0, 1.0, 0.0]  # 0.1 + 0.2 is 0.3 in decimals, not in float64: 0.1 + 0.2 > 0.3
    cost = -(2 - 3 + 7)
    assert refused(good, counted=cost) == []
    assert refused(good, counted=cost + 1e-6) == ["file objective"]
    assert refused([1.0, 1.0, 1e-6]) == ["file rows"]
    assert refused([-3.0, 3.0, 0.0]) == ["file bounds", "file rows"]
    assert refused([0.5, 1.25, 0.0]) == ["file integrality"]
    assert check_against_file(read_written(LP), [b"x", b"y"], np.zeros(2), None)[0].name == "file columns"
    assert not check_against_file(read_written(LP), [b"x", b"y", b"w"], np.zeros(3), None)[0].passed


def test_rows_near_a_side_are_added_in_rationals():
    """A tenth ten times is 1 in decimals; float64 says 0.9999999999999999."""
    names = [b"x%d" % at for at in range(10)]
    text = b"Minimize\n obj: x0\nSubject To\n c: " + b" + ".join(b"0.1 " + name for name in names) + b" >= 1\n"
    text += b"Bounds\n" + b"".join(b" %s <= 1\n" % name for name in names) + b"End\n"
    checks = check_against_file(read_written(text), names, np.ones(10), 1.0)
    assert all(check.passed for check in checks)
    assert checks[1].text == "1 kept exactly, 1 of them added in rationals"
    tighter = read_written(text.replace(b">= 1\n", b">= 1.0000000000000000000000001\n"))
    told = check_against_file(tighter, names, np.ones(10), 1.0)[1].text
    assert told.startswith("1 kept within 1e-25")


def test_an_edited_number_of_the_file_is_refused_by_its_check():
    """Single numbers of a written file changed: what the tree's point then breaks is named."""
    model = pipeline.build(odtc.read(CHECKOUT / "examples" / "monks" / "monks-1.csv"), "flowoct", 1, encoding="onehot")
    _, point = pipeline.start(model)
    names = [name.encode() for name in name_list(model.columns)]
    text, paid = _text(model), model.objective(point)
    assert all(check.passed for check in check_against_file(read_written(text), names, point, paid))
    ones = [name for name, value in zip(names, point) if value == 1 and name.startswith(b"z_")]
    for old, new, check in [
        (b" 0 <= %s" % ones[0], b" 2 <= %s" % ones[0], "file bounds"),
        (b"- %s " % ones[0], b"- 2 %s " % ones[0], "file objective"),
    ]:
        assert any(line.split() == old.split() or old in line for line in text.splitlines()), old
        begin = text.index(b"Bounds") if check == "file bounds" else 0
        changed = text[:begin] + text[begin:].replace(old, new, 1)
        found = check_against_file(read_written(changed), names, point, paid)
        assert [one.name for one in found if not one.passed] == [check]


def _text(model):
    import io

    stream = io.BytesIO()
    FORMATS.get("lp").write(model, stream)
    return stream.getvalue()


def claimed(bound):
    return Solution(np.zeros(1), Termination.OPTIMAL, 5.0, bound, 1.0, "X 1.0")


@pytest.mark.parametrize(
    ("end", "objective", "bound", "words"),
    [
        ("optimal", 5.0, 5.0, "agrees"),
        ("optimal", 5.0, None, "agrees"),
        ("time_limit", 7.0, 2.0, "nothing in that contradicts"),
        ("time_limit", 7.0, None, "nothing in that contradicts"),
        ("optimal", 5.0 - 1e-8, 5.0 + 1e-8, "agrees"),
        ("time_limit", None, None, "with nothing"),
        ("optimal", 4.0, 4.0, "no tree below 5 is claimed"),
        ("time_limit", 4.0, 1.0, "no tree below 5 is claimed"),
        ("optimal", 6.0, 6.0, "but the tree costs 5"),
        ("optimal", 6.0, None, "but the tree costs 5"),
        ("time_limit", 9.0, 6.0, "but the tree costs 5"),
        ("infeasible", None, None, "but the tree is a point"),
        ("error", None, None, "so it confirms nothing"),
    ],
)
def test_another_solver_agrees_or_contradicts(end, objective, bound, words):
    said = Solution(None, Termination(end), objective, bound, 1.0, "Other 2")
    check = _confirmed(claimed(5.0), 5.0, "other", said)
    assert check.name == "confirm other" and words in check.text and "Other 2" in check.text
    assert check.passed == (not any(word in words for word in ("but", "below", "confirms nothing")))
    assert "agrees" not in _confirmed(claimed(3.0), 5.0, "other", said).text
    assert "agrees" not in _confirmed(claimed(None), 5.0, "other", said).text


def test_a_tree_that_is_not_the_best_and_of_which_nobody_claimed_it_is_told_so():
    said = Solution(None, Termination.OPTIMAL, 4.0, 4.0, 1.0, "Other 2")
    check = _confirmed(claimed(None), 5.0, "other", said)
    assert check.passed and "the tree costs 5, so it is not the best" in check.text
    assert "not the best" not in _confirmed(claimed(None), 4.0, "other", said).text


def test_who_was_asked_is_named_if_it_does_not_say_who_it_is():
    nameless = Solution(None, Termination.OPTIMAL, 5.0, 5.0, 1.0, "")
    assert _confirmed(claimed(5.0), 5.0, "other", nameless).text.startswith("other ended as optimal")


RECORD = {"objective": 5.0, "bound": 4.0, "gap": 0.2, "nodes": 1, "seconds": 1.0, "solver": "X"}
RECORD |= {"termination": "optimal"}
RECORD |= {"history": [[0.1, 7.0, 1.0], [0.2, 5.0, 4.0]], "options": {"gap": 0.2}}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, "as X reported them"),
        ({"objective": 4.5}, "the point costs 5"),
        ({"gap": 0.1}, "its gap is 0.1"),
        ({"gap": None}, "its gap is None"),
        ({"bound": float("inf"), "gap": 0.0}, "its gap is 0.0"),
        ({"termination": "infeasible"}, "ended as infeasible"),
        ({"nodes": -1}, "its nodes are -1"),
        ({"seconds": float("nan")}, "its seconds are nan"),
        ({"history": [[0.2, 7.0, 1.0], [0.1, 5.0, 4.0]]}, "do not rise"),
        ({"history": [[None, 7.0, 1.0]]}, "do not rise"),
        ({"history": [[0.2, 7.0, 6.0]]}, "history has the bound 6"),
        ({"options": {"gap": 0.1}, "fit": {}}, "it calls a cost of 5 optimal, but its bound is 4"),
        ({"options": {}, "fit": {}}, "it calls a cost of 5 optimal"),
    ],
)
def test_a_record_whose_figures_contradict_each_other_is_refused(change, words):
    check = check_record(RECORD | change, 5.0)
    assert check.name == "run record" and words in check.text and check.passed == (not change)


def test_what_a_record_leaves_to_the_solver_is_told():
    whose = check_record(RECORD, 5.0).text
    assert whose.endswith("are as X reported them, and so is the bound, which no check contradicts")
    nobody = check_record(RECORD | {"solver": None, "bound": None, "gap": None, "history": []}, 5.0)
    assert nobody.passed and nobody.text.endswith("are as the solver reported them")
    rounded = RECORD | {"history": [[0.1, 7.0, 5.0004]]}  # five digits of a log
    assert check_record(rounded, 5.0).passed and check_record(rounded, None).passed
    assert not check_record(RECORD | {"history": [[0.1, 7.0, 5.01]]}, 5.0).passed


def test_a_record_of_an_optimum_has_no_gap_but_that_which_was_allowed():
    """ "Optimal" beside a bound that proves nothing passed, and was repeated in `--json`."""
    exact = RECORD | {"options": {"gap": 0.0}, "fit": {}}
    solver = check_record(RECORD | {"options": {"gap": 0.0}}, 5.0)  # with a gap of its own
    assert solver.passed and solver.text.endswith("it calls a cost of 5 optimal, but its bound is 4")
    assert "it calls" not in check_record(RECORD, 5.0).text
    assert not check_record(exact, 5.0).passed
    assert check_record(exact, 5.0, rounded=5.0).passed  # no tree costs what lies between
    assert not check_record(exact, 5.0, rounded=4.5).passed
    for change in ({"termination": "time_limit"}, {"bound": None, "gap": None}, {"scope": "some trees"}):
        assert check_record(exact | change, 5.0).passed, change
    near = {"bound": 5.0 - 4e-4, "gap": 8e-5}  # as solvers end that are told of no gap
    assert (
        check_record(exact | near, 5.0).passed and not check_record(exact | {"bound": 4.99, "gap": 0.002}, 5.0).passed
    )


def test_figures_of_a_record_at_their_edges_are_no_contradiction():
    for change in (
        {"gap": 0.2 * (1 + 1e-12)},
        {"nodes": None, "seconds": 0.0},
        {"nodes": 0, "seconds": None},
        {"history": [[0.0, 7.0, 1.0], [0.0, 6.0, 5.0], [0.3, 5.0, 5.0]]},
    ):
        assert check_record(RECORD | change, 5.0).passed, change


NUMBERS = st.sampled_from(["0", "1", "2", "3", "-1", "0.1", "0.2", "0.3", "-0.7", "1e-9", "9007199254740993", "1e16"])
SIDES = st.sampled_from(["0", "1", "0.3", "0.30000000000000004", "2.5", "9007199254740993", "1.000000001", "-0.6"])
VALUES = st.sampled_from([0.0, 1.0, 2.0, 0.5, 0.1, 3.0, -1.0, 1 + 1e-9, 1 - 3e-9, 1e-12, 9007199254740992.0])


@given(data=st.data())
@settings(max_examples=300, deadline=None)
def test_a_point_is_judged_as_plain_fractions_say(data):
    """Rows, bounds and whole columns of random decimals near their sides, each judged by itself."""
    n, m = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 3))
    coefs = [[data.draw(NUMBERS) for _ in range(n)] for _ in range(m)]
    sides = [(data.draw(st.sampled_from(["<=", ">=", "="])), data.draw(SIDES)) for _ in range(m)]
    bounds = [sorted([data.draw(SIDES), data.draw(SIDES)], key=Fraction) for _ in range(n)]
    x = [data.draw(VALUES) for _ in range(n)]
    signed = lambda text: f"- {text[1:]}" if text.startswith("-") else f"+ {text}"  # noqa: E731
    text = "Minimize\n obj: 0 x0\nSubject To\n"
    for i in range(m):
        terms = " ".join(f"{signed(coefs[i][j])} x{j}" for j in range(n))
        text += f" c{i}: {terms} {sides[i][0]} {sides[i][1]}\n"
    text += "Bounds\n" + "".join(f" {low} <= x{j} <= {high}\n" for j, (low, high) in enumerate(bounds))
    text += "Generals\n x0\nEnd\n"
    written = read_written(text.encode())
    names = [b"x%d" % j for j in range(n)]
    found = {check.name: check for check in check_against_file(written, names, np.array(x), 0.0)}
    point = [Fraction(value) for value in x]
    eps = Fraction(1, 10**9)
    broken = []
    for i, (sense, side) in enumerate(sides):
        parts = [Fraction(coefs[i][j]) * point[j] for j in range(n)]
        over = sum(parts) - Fraction(side)
        off = {"<=": over, ">=": -over, "=": abs(over)}[sense]
        broken.append((off, off > eps * max(1, sum(map(abs, parts)))))
    assert found["file rows"].passed == (not any(wrong for _, wrong in broken))
    assert ("kept exactly" in found["file rows"].text) == all(off <= 0 for off, _ in broken)
    beyond = [max(Fraction(low) - v, v - Fraction(high)) for v, (low, high) in zip(point, bounds)]
    assert found["file bounds"].passed == all(b <= eps * max(1, abs(v)) for b, v in zip(beyond, point))
    assert ("kept exactly" in found["file bounds"].text) == all(b <= 0 for b in beyond)
    assert found["file integrality"].passed == (abs(point[0] - round(point[0])) <= eps)
    assert found["file objective"].passed

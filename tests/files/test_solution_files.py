"""Solution files: each format reads what it wrote, is recognised by its content, and refuses others in one sentence."""

import gzip
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from odtc.base import memory
from odtc.errors import ChoiceError, ModelError, SolutionError
from odtc.fileformats.model_files import write_model
from odtc.fileformats.solution_files import HEAD, POINTS, RawPoint, read_point, write_point
from odtc.model.blocks import Axis, NamedBlock
from odtc.model.builder import ModelBuilder
from odtc.model.milp import Model
from odtc.model.name_spans import Words, split
from odtc.model.points import align, name_list
from odtc.model.solution import NO_POINT, Termination
from odtc.workflow.manifest import Manifest
from tests.point_texts import text

FORMATS = POINTS.names()
WRITTEN = [name for name in FORMATS if hasattr(POINTS.get(name), "write")]
READ = [name for name in FORMATS if hasattr(POINTS.get(name), "read")]


def blocks() -> Model:
    """Columns as a formulation makes them: three axes, one axis from 1, none; 24 + 12 + 1."""
    builder = ModelBuilder("m")
    z = builder.columns("z", Axis("i", 4), Axis("t", 3, first=9), Axis("k", 2), cost=-1.0, integer=True)
    builder.columns("zz", Axis("i", 12, first=1), cost=0.25)
    builder.constant(2.0)
    rows = builder.rows("cover", Axis("i", 4), lower=0.0)
    builder.add(rows[np.arange(4)[:, None, None]], z.all(), 1.0)
    return builder.finish()


def named(names=("x[1,2]", "b2", "a<&>'b", "quite_a_long_name_of_a_column", "C")) -> Model:
    n = len(names)
    ones = lambda value, size: np.full(size, float(value))  # noqa: E731
    return Model(
        "named",
        ones(1, n),
        0.0,
        ones(0, 1),
        ones(np.inf, 1),
        ones(0, n),
        ones(9, n),
        np.ones(n, np.uint8),
        (NamedBlock(tuple(names)),),
        (NamedBlock(("r1",)),),
        matrix=sp.csc_array(np.ones((1, n))),
    )


MODELS = {"blocks": blocks(), "named": named()}
NUMBERS = st.one_of(
    st.sampled_from([0.0, 1.0]),
    st.integers(-20, 20).map(float),
    st.floats(-1e15, 1e15, allow_subnormal=False),
    st.floats(0, 1),
)


@pytest.mark.parametrize("model", [*MODELS.values(), named(('a"b', "'\"'", "&"))], ids=[*MODELS, "quotes"])
@pytest.mark.parametrize("format", WRITTEN)
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_what_is_written_is_read_back_to_the_last_bit(tmp_path_factory, format, model, data):
    x = np.array(data.draw(st.lists(NUMBERS, min_size=model.n_cols, max_size=model.n_cols)))
    path = tmp_path_factory.getbasetemp() / "point"
    write_point(model, x, path, format, Termination.OPTIMAL)
    first = path.read_bytes()
    raw = read_point(path)
    assert raw.format == {"highs-sparse": "highs"}.get(format, format)
    np.testing.assert_array_equal(raw.on(model.columns), x)
    assert raw.objective is None or raw.objective == model.objective(x)
    assert raw.termination in (Termination.OPTIMAL, None)
    write_point(model, x, path, format, Termination.OPTIMAL)
    assert path.read_bytes() == first


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("format", FORMATS)
def test_a_format_is_known_by_its_content_and_by_no_other(tmp_path, format, model):
    x = np.arange(model.n_cols) % 3 / 3
    path = tmp_path / "misleading.json"
    path.write_bytes(text(model, x, format))
    raw = read_point(path)
    assert raw.format == {"highs-sparse": "highs"}.get(format, format)
    assert [name for name in READ if POINTS.get(name).matches(path.read_bytes()[:HEAD])] == [raw.format]
    np.testing.assert_allclose(raw.on(model.columns), x, atol=0.0 if format in WRITTEN else 1e-6)


@pytest.mark.parametrize("format", FORMATS)
def test_line_ends_marks_and_packing_do_not_matter(tmp_path, format):
    model, path = MODELS["blocks"], tmp_path / "x"
    x = np.arange(model.n_cols) % 2 / 1.0
    data = text(model, x, format)
    for form in (data.replace(b"\n", b"\r\n"), data.replace(b"\n", b"\r"), b"\xef\xbb\xbf" + data, gzip.compress(data)):
        path.write_bytes(form)
        np.testing.assert_array_equal(read_point(path).on(model.columns), x)


def test_every_module_reads_or_writes():
    for name in FORMATS:
        module = POINTS.get(name)
        assert hasattr(module, "write") or hasattr(module, "read")
        assert hasattr(module, "read") == hasattr(module, "matches")
    with pytest.raises(ChoiceError, match="only read"):
        write_point(MODELS["named"], np.zeros(5), "never", "symphony")


def read_text(tmp_path, words: str):
    (tmp_path / "x.sol").write_text(words, encoding="utf-8")
    return read_point(tmp_path / "x.sol")


def test_padded_columns_comments_and_empty_lines(tmp_path):
    raw = read_text(tmp_path, "# Solution for model M\n# Objective value = 3\n\nb   1  \n# between\n\tc\t 2e0 \n\n")
    assert dict(zip(raw.names, raw.values)) == {"b": 1, "c": 2} and raw.objective == 3


def test_the_slacks_that_solvers_add_to_ranges_are_left_out():
    columns = (NamedBlock(("a", "Rgb")),)
    np.testing.assert_array_equal(align(columns, ["MPS_Rgc4", "Rgb", "Rgc1", "a"], np.array([5.0, 1, 5, 2])), [2, 1])


@pytest.mark.parametrize("names", [["a", "c"], ["a", "b", "a"], ["aRg"]])
def test_foreign_and_repeated_names_are_refused(names):
    with pytest.raises(SolutionError, match="not in the model|twice"):
        align((NamedBlock(("a", "b")),), names, np.ones(len(names)))


def test_names_that_look_like_those_of_a_block_are_foreign():
    model = MODELS["blocks"]
    for name in (
        "z_0_09",
        "z_4_09_0",
        "z_0_08_0",
        "z_0_12_0",
        "z_0_09_2",
        "z_0009_0",
        "z_0_0x_0",
        "zz_00",
        "zz_13",
        "objcons",
        "Z_0_09_0",
        "z_0_ 9_0",
    ):
        assert all((block.places(Words.of([name])) < 0).all() for block in model.columns), name
    names = name_list(model.columns)
    order = np.random.default_rng(0).permutation(len(names))
    back = align(model.columns, [names[at] for at in order], order.astype(float))
    np.testing.assert_array_equal(back, np.arange(len(names)))


def test_the_names_of_fixed_mps(tmp_path):
    manifest = Manifest({}, None, MODELS["blocks"].columns)
    x = manifest.point(read_text(tmp_path, "C0000036 0.5\nC0000002 1\n"))
    assert np.flatnonzero(x).tolist() == [2, 36] and x[36] == 0.5
    for words in ("C0000037 1\n", "C0000001 1\nC0000001 1\n", "C0000001 1\nz_0_09_0 1\n"):
        with pytest.raises(SolutionError, match="not in the model|twice"):
            manifest.point(read_text(tmp_path, words))


def test_a_file_of_values_without_names_goes_by_place(tmp_path):
    words = "c made by hand\ns mip 0 3 f 1.5\nj 3 0.5\nj 1 1\nj 2 0\ne o f\n"
    raw = read_text(tmp_path, words)
    assert raw.names is None and raw.on((NamedBlock(("a", "b", "c")),)).tolist() == [1, 0, 0.5]
    with pytest.raises(SolutionError, match="3 columns"):
        raw.on((NamedBlock(("a", "b")),))


@pytest.mark.parametrize(
    "head,columns,end,values",
    [
        ("s bas 1 2 f f -2.5\ni 1 u 1.5 -1\n", "j 1 b 0.5 0\nj 2 u 1 -1\n", "optimal", [0.5, 1]),
        ("s bas 1 2 f i -2.5\ni 1 u 1.5 -1\n", "j 1 b 0.5 0\nj 2 u 1 -1\n", None, [0.5, 1]),
        ("s bas 1 2 f n -2.5\ni 1 u 1.5 -1\n", "j 1 b 0.5 0\nj 2 u 1 -1\n", "unbounded", None),
        ("s bas 1 2 n i 1\ni 1 b 1 0\n", "j 1 u 1 1\nj 2 u 1 1\n", "infeasible", None),
        ("s bas 1 2 u u 0\ni 1 b 0 0\n", "j 1 l 0 0\nj 2 l 0 0\n", None, None),
        ("s ipt 1 2 o -2.5\ni 1 1.5 -1\n", "j 1 0.5 0\nj 2 1 -1\n", "optimal", [0.5, 1]),
        ("s ipt 1 2 i -2.5\ni 1 1.5 -1\n", "j 1 0.5 0\nj 2 1 -1\n", None, None),
        ("s mip 1 2 o -2.5\ni 1 1.5\n", "j 1 0.5\nj 2 1\n", "optimal", [0.5, 1]),
    ],
)
def test_the_three_kinds_of_solution_of_glpk(tmp_path, head, columns, end, values):
    raw = read_text(tmp_path, f"c Problem:    m\n{head}{columns}e o f\n")
    assert raw.format == "glpk" and raw.termination == end
    assert (None if raw.values is None else raw.values.tolist()) == values
    if values is not None:
        with pytest.raises(SolutionError, match="cut off"):
            read_text(tmp_path, f"c Problem:    m\n{head}{columns[: columns.index(chr(10)) + 1]}e o f\n")


def lp_table_of_glpk(status: str, marks: tuple[str, str]) -> str:
    """What glpsol -o writes of a model without integer columns: with a status of each column, or by interior points
    without."""
    line = "------ ------------ -- ------------- ------------- ------------- -------------\n"
    return (
        f"Problem:    m\nRows:       1\nColumns:    2\nNon-zeros:  2\nStatus:     {status}\n"
        f"Objective:  obj = -2.5 (MINimum)\n\n"
        f"   No.   Row name   St   Activity     Lower bound   Upper bound    Marginal\n{line}"
        f"     1 r            {marks[0]:2}           1.5                         1.5            -1 \n\n"
        f"   No. Column name  St   Activity     Lower bound   Upper bound    Marginal\n{line}"
        f"     1 Bx           {marks[0]:2}           0.5             0             1 \n"
        f"     2 a_name_of_many_letters\n"
        f"                    {marks[1]:2}             1             0             1         < eps\n"
        "\nKarush-Kuhn-Tucker optimality conditions:\n\nEnd of output\n"
    )


@pytest.mark.parametrize("marks", [("B", "NU"), ("", ""), ("NL", "NF")])
@pytest.mark.parametrize(
    ("status", "end"),
    [
        ("OPTIMAL", "optimal"),
        ("FEASIBLE", None),
        ("INFEASIBLE (INTERMEDIATE)", None),
        ("INFEASIBLE (FINAL)", "infeasible"),
        ("UNBOUNDED", "unbounded"),
        ("UNDEFINED", None),
    ],
)
def test_the_table_of_glpk_may_be_of_an_lp(tmp_path, status, end, marks):
    raw = read_text(tmp_path, lp_table_of_glpk(status, marks))
    assert raw.format == "glpk-table" and raw.termination == end
    if status in ("OPTIMAL", "FEASIBLE"):
        assert raw.values.tolist() == [0.5, 1.0] and [*raw.names] == ["Bx", "a_name_of_many_letters"]
    else:
        assert raw.values is None


SYMPHONY = "\n==  Welcome to the SYMPHONY MILP Solver \n\nReading input file...\n\n"
ONE = '<variable name="a" index="0" value="1"/>'


def xml(variables: str, status: str = "") -> str:
    status = f'solutionStatusValue="{status}"' if status else ""
    return f'<CPLEXSolution><header objectiveValue="1" {status}/><variables>{variables}</variables></CPLEXSolution>'


@pytest.mark.parametrize(
    "words,end,point",
    [
        (
            "Stopped on time (no integer solution - continuous used) - objective value 0.5\n 0 b1 0.5 0\n",
            "time_limit",
            None,
        ),
        ("Optimal - objective value 2\n** 0 b1 1 0\n  1 b2 1 0\n", "optimal", {"b1": 1, "b2": 1}),
        (
            "Optimal - objective value 2\n 0 r 2 0\n 1 s 2 0\n 0 b1 1 0\n 1 b2 1 0\n 2 b3 0 0\n",
            "optimal",
            {"b1": 1, "b2": 1, "b3": 0},
        ),
        ("Optimal - objective value 2\n 7 b1 1 0\n 9 b2 1 0\n", "optimal", {"b1": 1, "b2": 1}),
        ("Unbounded - objective value -3\n 0 b1 3 0\n", "unbounded", None),
        ("solution status: unbounded\nobjective value: -infinity\nb1 +infinity \t(obj:-1)\n", "unbounded", None),
        ("solution status: optimal solution found\nobjective value: 0\n", "optimal", {}),
        ("objective value: 1\nb1 1 \t(obj:1)\n", None, {"b1": 1}),
        ("no solution available\n", None, None),
        ("# Status: Optimal\n# Objective value: 2\nb1 1\nb2 1\n", "optimal", {"b1": 1, "b2": 1}),
        ("# Status: Infeasible\n", "infeasible", None),
        ("NAME M\n C b1 1\n C C 0.5\nENDATA\n", None, {"b1": 1, "C": 0.5}),
        ("NAME M\nENDATA\n", None, None),
        (
            xml('<variable value="1" index="0" name="a&lt;b&amp;&apos;&quot;&#99;"/>', "107"),
            "time_limit",
            {"a<b&'\"c": 1},
        ),
        (f"<CPLEXSolutions>{xml(ONE)}{xml(ONE.replace('1', '2'))}</CPLEXSolutions>", None, {"a": 1}),
        (
            xml(ONE).replace(
                "<variables>", "<linearConstraints>\n<constraint name='r'/></linearConstraints><variables>"
            ),
            None,
            {"a": 1},
        ),
        (xml(ONE, "108"), "time_limit", None),
        (
            SYMPHONY + "Solution Cost: 0.0000000000\n+++++++\nAll columns are zero in the solution!\n+++++++\n"
            "* Optimal Solution Found    *\n",
            "optimal",
            {},
        ),
        (
            SYMPHONY + "Solution Cost: 0.0000000000\n+++++++\nAll columns are zero in the solution!\n+++++++\n"
            "Solution Cost: -1.00\n++++++\nColumn names and values of nonzeros in the solution\n++++++\nx    1.0\n\n"
            "* Optimal Solution Found    *\n",
            "optimal",
            {"x": 1},
        ),
        (
            SYMPHONY
            + "Preprocessing found the optimum:\nSolution Cost: -1.25\n:++++++\nColumn names and values of nonzeros "
            "in the solution\n"
            "++++++\nx    1.0\ny    0.25\n\n\n* Optimal Solution Found in Preprocessing  *\n\nThe problem is "
            "infeasible!\nNo Solution Found\n",
            "optimal",
            {"x": 1, "y": 0.25},
        ),
        (
            "c Status: OPTIMAL\ns bas 1 2 f f -7.5\ni 1 u 7.5 -1\nj 1 b 7.5 0\nj 2 l 0 1\ne o f\n",
            "optimal",
            {0: 7.5, 1: 0},
        ),
        ("s bas 1 2 f n -7.5\ni 1 u 7.5 -1\nj 1 b 7.5 0\nj 2 l 0 1\ne o f\n", "unbounded", None),
        ("s bas 1 2 n f 0\ni 1 u 0 0\nj 1 b 0 0\nj 2 l 0 0\ne o f\n", "infeasible", None),
        ("s bas 1 2 u u 0\ni 1 u 0 0\nj 1 b 0 0\nj 2 l 0 0\ne o f\n", None, None),
    ],
)
def test_what_solvers_say(tmp_path, words, end, point):
    raw = read_text(tmp_path, words)
    assert raw.termination == end
    names = raw.names if raw.names is not None else range(0 if raw.values is None else len(raw.values))
    assert (None if raw.values is None else dict(zip(names, raw.values))) == point


BOX = (
    "==  Welcome to the SYMPHONY MILP Solver \n\n* {words:48} *\n\nSolution Cost: 2.0\n+++++\nColumn names and "
    "values of nonzeros in the solution\n+++++\nb1 1.0\nb2 1.0\n\n"
)


HIGHS = "Model status\nOptimal\n\n# Primal solution values\nFeasible\nObjective 2\n{facts}# Columns {columns}\n"


@pytest.mark.parametrize("style", range(8))
def test_what_the_installed_highs_writes_of_a_mip_is_read(tmp_path, style):
    """1.16 wrote two lines more than 1.15: whatever the next one writes is to fail here first."""
    import highspy

    model, path = MODELS["blocks"], str(tmp_path / "m.mps")
    write_model(model, path)
    solver = highspy.Highs()
    solver.setOptionValue("log_to_console", False)
    solver.setOptionValue("threads", 1)  # HiGHS keeps for a whole process what its first run was given
    solver.readModel(path)
    solver.run()
    best = np.array(solver.getSolution().col_value)
    solver.writeSolution(str(tmp_path / "m.sol"), style)
    raw = read_point(tmp_path / "m.sol")
    np.testing.assert_array_equal(raw.on(model.columns), best)
    assert raw.termination in ("optimal", None) and not raw.within_gap


@pytest.mark.parametrize(
    "words,within",
    [
        (HIGHS.format(facts="Objective_bound 2\nMIP_rel_gap 0\n", columns="1") + "b1 2\n# Rows 0\n", False),
        (HIGHS.format(facts="Objective_bound 1.5\nMIP_rel_gap 0.25\n", columns="1") + "b1 2\n# Rows 0\n", True),
        (HIGHS.format(facts="Objective_bound 1.9\nMIP_rel_gap 0.05\n", columns="-1 sparse") + "b1 2 0\n", True),
        ("Optimal - objective value 2\n 0 b1 1 0\n 1 b2 1 0\n", False),
        ("Optimal (within gap tolerance) - objective value 2\n 0 b1 1 0\n 1 b2 1 0\n", True),
        (xml(ONE, "101"), False),
        (xml(ONE, "102"), True),
        (xml(ONE, "129"), False),
        (xml(ONE, "130"), True),
        ("solution status: optimal solution found\nobjective value: 0\n", False),
        ("solution status: gap limit reached\nobjective value: 0\n", True),
        (BOX.format(words="Optimal Solution Found"), False),
        (BOX.format(words="Target gap achieved"), True),
    ],
)
def test_optimal_within_a_gap_is_told_from_optimal(tmp_path, words, within):
    raw = read_text(tmp_path, words)
    assert (raw.termination, raw.within_gap) == ("optimal", within)


@pytest.mark.parametrize(
    "word", ["nan", "inf", "-Infinity", "1e400", "1_0", "0x10", "１", "1e", "--1", "1.2.3", "1" * 200, "+", "1d5"]
)
def test_what_is_no_finite_number_is_refused(tmp_path, word):
    with pytest.raises(SolutionError, match="expected (a number|finite numbers)|cannot detect"):
        read_text(tmp_path, f"a 1\nb {word}\nc 0\n")


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1),
    st.sampled_from(["r", ".17g", ".15g", "f", "e"]),
)
@settings(deadline=None)
def test_numbers_are_rounded_correctly(values, form):
    texts = [repr(value) if form == "r" else format(value, form) for value in values]
    texts = [word for word in texts if len(word) <= 100] or ["0"]
    found = split(" ".join(texts).encode("ascii")).numbers("the test")
    np.testing.assert_array_equal(found, [float(word) for word in texts])


def test_xml_with_entities_of_its_own_is_refused(tmp_path):
    bomb = f'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>{xml(ONE.replace("1", "&b;"))}'
    with pytest.raises(SolutionError, match="DOCTYPE"):
        read_text(tmp_path, bomb)


@pytest.mark.parametrize(
    "words",
    [
        "Model status\nOptimal\n\n# Primal solution values\nNone\n\n# Dual solution values\nNone\n",
        "solution status: optimal solution found\nno solution available\n",
    ],
)
def test_an_optimal_solution_has_values(tmp_path, words):
    with pytest.raises(SolutionError, match="values of an optimal solution, got none"):
        read_text(tmp_path, words)


def test_a_solution_of_xpress_names_every_column(tmp_path):
    raw = read_text(tmp_path, "NAME M\n C a 1\nENDATA\n")
    with pytest.raises(SolutionError, match="has 1 column, the model 2"):
        raw.on((NamedBlock(("a", "b")),))


def test_a_solution_that_does_not_fit_into_memory_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "UNCHECKED_BYTES", 0)
    monkeypatch.setattr(memory, "available", lambda: 10_000)
    (tmp_path / "m.sol").write_text("a_1 1\n" * 1000)
    with pytest.raises(ModelError, match="a solution of 6,000 bytes would take about .* is it of this model"):
        read_point(tmp_path / "m.sol")


def test_a_file_of_highs_without_some_of_its_rows_is_cut_off(tmp_path):
    model = MODELS["blocks"]
    data = text(model, np.zeros(model.n_cols), "highs")
    begin = data.index(b"# Rows 4\n") + len(b"# Rows 4\n")
    ends = [begin, *(begin + at + 1 for at, byte in enumerate(data[begin:]) if byte == ord("\n"))]
    for n_rows, end in enumerate(ends[:5]):
        (tmp_path / "m.sol").write_bytes(data[:end])
        if n_rows < 4:
            with pytest.raises(SolutionError, match="every row that the file announces"):
                read_point(tmp_path / "m.sol")
        else:
            assert read_point(tmp_path / "m.sol").n_columns == model.n_cols
    (tmp_path / "m.sol").write_bytes(data[: data.index(b"# Rows 4\n")])
    with pytest.raises(SolutionError, match="every row that the file announces"):
        read_point(tmp_path / "m.sol")


def test_a_quote_that_moved_to_another_line_damages_a_table_of_xpress(tmp_path):
    model = MODELS["named"]
    first, second, *others = text(model, np.ones(5), "xpress-ascii").split(b"\n")
    for one, two in ((b'"' + first, second.replace(b'"', b"", 1)), (first.replace(b'"', b"", 1), b'"' + second)):
        (tmp_path / "m.asc").write_bytes(b"\n".join([one, two, *others]))
        with pytest.raises(SolutionError, match="damaged|cannot detect"):
            read_point(tmp_path / "m.asc")
        with pytest.raises(SolutionError, match="damaged"):
            POINTS.get("xpress-ascii").read(b"\n".join([one, two, *others]))


@pytest.mark.parametrize(
    "kept", ["     2", "     2 a_name_of_many_letters", f"     2 a_name_of_many_letters\n{'':20}NU"]
)
def test_a_table_of_glpk_whose_last_column_has_no_value_is_cut_off(tmp_path, kept):
    whole = lp_table_of_glpk("OPTIMAL", ("B", "NU"))
    begin, end = whole.index("     2 a_name"), whole.index("\nKarush")
    with pytest.raises(SolutionError, match="cut off"):
        read_text(tmp_path, f"{whole[:begin]}{kept}\n{whole[end:]}")


@pytest.mark.parametrize("format", WRITTEN)
@pytest.mark.parametrize("n_rows", [0, 2])
def test_a_model_without_rows_or_of_one_column_is_written_and_read_back(tmp_path, format, n_rows):
    ones = np.ones(1)
    rows = (NamedBlock(tuple(f"r{i}" for i in range(n_rows))),)
    matrix, side = sp.csc_array(np.ones((n_rows, 1))), np.zeros(n_rows)
    model = Model(
        "m",
        ones,
        0.0,
        side,
        side + 9,
        ones * 0,
        ones * 9,
        np.ones(1, np.uint8),
        (NamedBlock(("x",)),),
        rows,
        matrix=matrix,
    )
    for x in (np.array([2.0]), np.zeros(1)):
        write_point(model, x, tmp_path / "m.sol", format, Termination.OPTIMAL)
        assert read_point(tmp_path / "m.sol").on(model.columns).tolist() == x.tolist()


def test_a_file_of_cbc_with_rows_has_each_place_where_it_belongs(tmp_path):
    """Rows 0, 1, 2 and then columns 0, 1, 2, 3: any one place that is another is a damage."""

    def file(places):
        lines = [f"{place} {'rc'[at > 2]}{at} 1 0\n" for at, place in enumerate(places)]
        (tmp_path / "m.sol").write_text("Optimal - objective value 4\n" + "".join(lines))
        return read_point(tmp_path / "m.sol")

    right = [0, 1, 2, 0, 1, 2, 3]
    assert [*file(right).names] == ["c3", "c4", "c5", "c6"] and file(right).n_columns == 4
    for at, place in [(at, place) for at in range(1, 7) for place in range(5) if place != right[at]]:
        if at != 3:  # whose 0 says where the columns begin
            with pytest.raises(SolutionError, match="in this order|each place once"):
                file([*right[:at], place, *right[at + 1 :]])
    with pytest.raises(SolutionError, match="each place once"):
        file([0, 1, 2, 5, 1, 2, 3])
    assert file([0, 4, 2]).n_columns is None and [*file([3, 4, 2]).names] == ["r0", "r1", "r2"]


@pytest.mark.parametrize("format", WRITTEN)
@pytest.mark.parametrize("ended", [end for end in Termination if end not in NO_POINT])
def test_no_file_calls_a_point_optimal_that_was_not_proved(tmp_path, format, ended):
    model = MODELS["named"]
    write_point(model, np.ones(5), tmp_path / "m.sol", format, ended)
    raw = read_point(tmp_path / "m.sol")
    assert (raw.termination == Termination.OPTIMAL) <= (ended == Termination.OPTIMAL) and raw.values is not None
    if ended == Termination.OPTIMAL:
        assert raw.termination in (Termination.OPTIMAL, None)


@pytest.mark.parametrize("format", WRITTEN)
def test_a_file_names_the_model_that_it_is_of_if_that_is_known(tmp_path, format):
    model = replace(MODELS["named"], identity="a" * 64, content="b" * 64)
    for one in (model, MODELS["named"]):
        write_point(one, np.ones(5), tmp_path / "m.sol", format)
        data = (tmp_path / "m.sol").read_bytes()
        raw = read_point(tmp_path / "m.sol")
        assert (raw.model, raw.content) in ((one.identity, one.content), ("", ""))
        assert (b"odtc model" in data) == (raw.model != "")
        if one is not model:  # no comment about nothing
            assert b"<!--" not in data and b"# \n" not in data and b"* \n" not in data and b"odtc model" not in data


@pytest.mark.parametrize(
    ("words", "end"),
    [
        ("\nThis problem is infeasible\n", "infeasible"),
        ("\nThis problem is unbounded\n", "unbounded"),
        ("This problem is infeasible\n", "infeasible"),
        ("\nset_XXXX: nothing\n\nThis problem is infeasible\n", "infeasible"),
    ],
)
def test_lp_solve_without_a_point_says_why(tmp_path, words, end):
    raw = read_text(tmp_path, words)
    assert (raw.format, raw.termination, raw.values, raw.objective) == ("lp-solve", end, None, None)


def test_a_table_of_highs_with_more_words_on_each_line_is_refused(tmp_path):
    model = MODELS["named"]
    lines = text(model, np.ones(5), "highs-table").decode().split("\n")
    wider = [f"{line} more" if line[:9].strip().isdigit() else line for line in lines]
    with pytest.raises(SolutionError, match="expected 6 words on the first line of the columns, got 7"):
        read_text(tmp_path, "\n".join(wider))


def test_a_table_of_xpress_may_begin_without_blanks_and_holds_a_word_for_each_place(tmp_path):
    model = MODELS["named"]
    data = text(model, np.arange(5.0), "xpress-ascii").decode()
    assert read_text(tmp_path, data.lstrip()).on(model.columns).tolist() == [0, 1, 2, 3, 4]
    assert read_text(tmp_path, data.replace(" ", "")).on(model.columns).tolist() == [0, 1, 2, 3, 4]


def test_each_line_of_an_xpress_solution_is_of_a_column(tmp_path):
    model = MODELS["named"]
    lines = text(model, np.ones(5), "xpress").decode().split("\n")
    for at in [at for at, line in enumerate(lines) if line.startswith(" C ")][1:]:  # by the first it is known
        for letter in ("R", "CC"):
            other = [*lines[:at], lines[at].replace(" C ", f" {letter} ", 1), *lines[at + 1 :]]
            with pytest.raises(
                SolutionError, match=f"expected lines 'C name value', got '{letter}' first in line {at + 1}"
            ):
                read_text(tmp_path, "\n".join(other))


@pytest.mark.parametrize("cut", [1, 2, 3])
def test_a_file_whose_last_line_has_no_end_is_cut_off(tmp_path, cut):
    """Of what may end anywhere a last digit may be missing."""
    model = MODELS["named"]
    for format in ("highs", "highs-sparse", "cbc", "scip", "name-value", "xpress-ascii", "highs-table"):
        data = text(model, np.arange(5) + 10.0, format)
        end = data.rindex(b"\n# Dual") - 1 if format == "highs" else len(data) - 1
        (tmp_path / "m.sol").write_bytes(data[: end - cut + 1])
        with pytest.raises(SolutionError, match="cut off|damaged|expected"):
            read_point(tmp_path / "m.sol")


def test_a_solution_of_scip_has_costs_or_has_none(tmp_path):
    for words, point in (
        ("a 1 \t(obj:2)\nb 2 \t(obj:0)\n", {"a": 1, "b": 2}),
        ("a 1\nb 2\n", {"a": 1, "b": 2}),
        ("a 1", None),
        ("", {}),
    ):
        given = f"solution status: optimal solution found\nobjective value: 2\n{words}"
        if point is None:
            with pytest.raises(SolutionError, match="cut off"):
                read_text(tmp_path, given)
        else:
            raw = read_text(tmp_path, given)
            assert dict(zip(raw.names, raw.values)) == point


@pytest.mark.parametrize("own", [None, *Termination])
@pytest.mark.parametrize("end", [None, *Termination])
@pytest.mark.parametrize("has_point", [None, True, False])
def test_a_point_stands_unless_its_file_or_its_log_says_that_there_is_none(own, end, has_point):
    raw = RawPoint("x", ["a"], np.ones(1), own, 2.0).under(end, has_point)
    ended = own or end
    none = ended in (*NO_POINT, Termination.ERROR) or has_point is False
    assert raw.termination == ended and (raw.values is None) == (raw.names is None) == (raw.objective is None) == none


@pytest.mark.parametrize(
    "order", ["name index value", "name value index", "index name value", "value index name", "name value"]
)
def test_a_variable_of_cplex_is_read_in_any_order_of_its_attributes(tmp_path, order):
    words = {"name": 'name="a"', "index": 'index="7"', "value": 'value="2"'}
    variable = " ".join(words[word] for word in order.split())
    raw = read_text(tmp_path, xml(f"<variable {variable}/>"))
    assert dict(zip(raw.names, raw.values)) == {"a": 2}
    for lacking in ("name", "value"):
        if lacking in order:
            with pytest.raises(SolutionError, match="expected <variable name=... value=...>, got"):
                other = variable.replace(words[lacking], 'b="1"')
                read_text(tmp_path, xml(f"<variable {other}/>"))


@pytest.mark.parametrize("at", range(5))
@pytest.mark.parametrize(
    "change", [('"C"', '"CC"'), ('"C"', '""'), (",3,0,1,0", ""), ('"SB",', '"SB"'), ('  1,"', '"')]
)
def test_a_line_of_an_xpress_table_that_is_none_is_a_damage(tmp_path, at, change):
    model = MODELS["named"]
    lines = text(model, np.ones(5), "xpress-ascii").decode().splitlines()
    first = len(lines) - 5 + at
    old, new = change if change[0] != '  1,"' else (f'{first + 1:6d},"', '"')
    assert old in lines[first]
    lines[first] = lines[first].replace(old, new, 1)
    with pytest.raises(SolutionError, match="the file is damaged"):
        POINTS.get("xpress-ascii").read(("\n".join(lines) + "\n").encode())


def test_devices_and_blank_files_are_no_solutions(tmp_path):
    with pytest.raises(SolutionError, match="expected a solution in a file, got the device '/dev/null'"):
        read_point("/dev/null")
    for blank in ("", " ", "\n \n", "\ufeff\n"):
        with pytest.raises(SolutionError, match="is empty; the solver wrote no solution"):
            read_text(tmp_path, blank)


def test_files_of_glpk_without_columns_or_rows(tmp_path):
    raw = read_text(tmp_path, "s mip 1 0 o 0\ni 1 0\ne o f\n")
    assert raw.values.tolist() == [] and raw.n_columns == 0
    assert read_text(tmp_path, "s mip 0 1 f 2\nj 1 2\ne o f\n").values.tolist() == [2]
    for place in ("0", "3", "1.5", "-1", "1"):
        with pytest.raises(SolutionError, match="expected each place from 1 to 2 once"):
            read_text(tmp_path, f"s mip 0 2 f 2\nj 1 2\nj {place} 2\ne o f\n")


HEADS = {
    "highs": b"Model status\nOptimal\n\n# Primal solution values\nFeasible\nObjective 5\n# Columns 5\n",
    "highs-sparse": b"Model status\nOptimal\n\n# Primal solution values\nFeasible\nObjective 5\n# Columns -5\n",
    "cplex": b'<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n<CPLEXSolutions',
    "scip": b"solution status: optimal solution found\nobjective value: 5\n",
    "cbc": b"Optimal - objective value 5\n0 ",
    "glpk": b"s mip 1 5 o 5\ni 1 5 \nj 1 1 \n",
    "xpress": b"NAME named\n C ",
    "name-value": b"# Objective value = 5\n",
}


@pytest.mark.parametrize("format", WRITTEN)
def test_what_stands_first_in_a_file(tmp_path, format):
    write_point(MODELS["named"], np.ones(5), tmp_path / "m.sol", format, Termination.OPTIMAL)
    assert (tmp_path / "m.sol").read_bytes().startswith(HEADS[format])


@pytest.mark.parametrize(
    "word", ["", "\nSUBOPTIMAL SOLUTION\n", "\nThe model is sub-optimal. Only a faster solution was found.\n"]
)
def test_a_point_of_lp_solve_is_optimal_unless_its_words_say_otherwise(tmp_path, word):
    text = "\nValue of objective function: -3.50000\n\nActual values of the variables:\nx   1\nb[1,2]   2.5\n"
    raw = read_text(tmp_path, f"{word}{text}\nActual values of the constraints:\nr   4\n")
    assert raw.termination == ("time_limit" if word else "optimal")
    assert dict(zip(raw.names, raw.values)) == {"x": 1, "b[1,2]": 2.5} and raw.objective == -3.5


@pytest.mark.parametrize("format", WRITTEN)
def test_a_file_with_bytes_that_are_no_text_is_refused(tmp_path, format):
    model = named(("x[1,2]", "b2", "c", "d", "ZZZZZ"))
    write_point(model, np.ones(5), tmp_path / "m.sol", format, Termination.OPTIMAL)
    data = (tmp_path / "m.sol").read_bytes()
    for other, refused in ((b"Z\xe9ZZZ", True), (b"Z\xc3\xa9ZZ", False)):
        if b"ZZZZZ" not in data:  # a file without names
            continue
        (tmp_path / "m.sol").write_bytes(data.replace(b"ZZZZZ", other))
        if refused:
            with pytest.raises(SolutionError, match="in text, got .* which is neither UTF-8 nor UTF-16"):
                read_point(tmp_path / "m.sol")
        else:
            assert "Z\u00e9ZZ" in [*read_point(tmp_path / "m.sol").names]


@pytest.mark.parametrize("blanks", range(7))
def test_a_place_of_a_table_of_glpk_has_any_of_its_first_columns(tmp_path, blanks):
    """glpsol writes it to the right of six; of seven digits it begins the line."""
    told = lp_table_of_glpk("OPTIMAL", ("B", "NU"))
    for place in ("1 Bx", "2 a_name"):
        told = told.replace(f"     {place}", f"{' ' * blanks}{place}")
    raw = read_text(tmp_path, told)
    assert raw.values.tolist() == [0.5, 1.0] and [*raw.names] == ["Bx", "a_name_of_many_letters"]


@pytest.mark.parametrize("at", [0, 1, 2])
def test_each_line_of_the_columns_of_glpk_is_of_a_column(tmp_path, at):
    lines = [f"j {place} 1\n" for place in (1, 2, 3)]
    assert read_text(tmp_path, "s mip 0 3 o 3\n" + "".join(lines) + "e o f\n").values.tolist() == [1, 1, 1]
    lines[at] = lines[at].replace("j", "i")
    with pytest.raises(SolutionError, match="cut off"):
        read_text(tmp_path, "s mip 0 3 o 3\n" + "".join(lines) + "e o f\n")


@pytest.mark.parametrize("blank", ["", "\n"])
def test_an_output_of_lp_solve_may_have_no_variables(tmp_path, blank):
    text = f"\nValue of objective function: 0\n\nActual values of the variables:\n{blank}"
    assert [*read_text(tmp_path, f"{text}Actual values of the constraints:\n").names] == []


def test_words_of_lp_solve_behind_its_values_say_nothing_of_the_end(tmp_path):
    text = "\nValue of objective function: 1\n\nActual values of the variables:\nx 1\n"
    text += "\nActual values of the constraints:\n"
    for words, end in (("", "optimal"), ("\nThis problem is infeasible\n", "optimal")):
        raw = read_text(tmp_path, f"{text}r 1\n{words}")
        assert raw.termination == end and dict(zip(raw.names, raw.values)) == {"x": 1}


@pytest.mark.parametrize("value", [0.0, 0.25, 1.0, 1e3, -1e6])
@pytest.mark.parametrize(("share", "unproved"), [(0.5, False), (2.0, True)])
def test_a_bound_of_highs_proves_a_point_within_a_share_of_its_objective(tmp_path, value, share, unproved):
    bound = value - share * 1e-6 * max(1.0, abs(value))
    facts = f"Objective_bound {bound!r}\nMIP_rel_gap 0\n"
    text = HIGHS.format(facts=facts, columns="1").replace("Objective 2\n", f"Objective {value!r}\n")
    assert read_text(tmp_path, f"{text}b1 2\n# Rows 0\n").within_gap == unproved


# Of each format with words or a code for its end: what says that it is optimal, and what no manual names.
ENDS = {
    "cplex": (' solutionIndex="0"', ' solutionStatusValue="999"'),
    "highs": ("Optimal", "Nearly optimal"),
    "highs-table": ("Model status: Optimal", "Model status: Nearly optimal"),
    "scip": ("optimal solution found", "nearly optimal"),
    "name-value": ("# Objective value", "# Status: NearlyOptimal\n# Objective value"),
}
X = np.array([1.0, 0, 2, 0, 3])


def told(tmp_path, form: str, old: str, new: str) -> RawPoint:
    said = text(MODELS["named"], X, form).decode()
    assert old in said
    (tmp_path / "m.sol").write_text(said.replace(old, new, 1))
    return read_point(tmp_path / "m.sol")


@pytest.mark.parametrize("form", ENDS)
def test_an_end_that_no_manual_names_is_unknown(form, tmp_path):
    found = told(tmp_path, form, *ENDS[form])
    assert found.termination == Termination.UNKNOWN
    assert np.array_equal(found.on(MODELS["named"].columns), X)


@pytest.mark.parametrize(
    ("form", "old", "new"),
    [
        ("glpk", "s mip 1 5", "s mip 2 5"),
        ("glpk", "s mip 1 5", "s mip 1 6"),
        ("glpk-table", "End of output\n", ""),
        ("glpk-table", "Columns:    5", "Columns:    6"),
        ("glpk", "j 2 ", "i 2 "),
        ("highs", "# Columns 5", "# Columns 4"),
        ("highs", "# Rows 1", "# Rows 99"),
        ("xpress-ascii", '"C","SB",1.0,', '"C","SB",1.0;'),
        ("xpress", "ENDATA", "ENDING"),
        ("cplex", "</CPLEXSolution>", ""),
        ("highs-table", "\nRows\n", "\n"),
        ("symphony", "Column names and values", "Names and values"),
    ],
)
def test_a_file_with_less_than_it_announces_is_refused(form, old, new, tmp_path):
    with pytest.raises(SolutionError):
        told(tmp_path, form, old, new)


@pytest.mark.parametrize("code", ["101", "108"])
def test_of_several_solutions_of_cplex_the_first_counts_in_its_own_words(code, tmp_path):
    one = text(MODELS["named"], X, "cplex").decode().replace(' solutionIndex="0"', f' solutionStatusValue="{code}"')
    begin, end = one.index("<CPLEXSolution "), one.index("</CPLEXSolution>") + len("</CPLEXSolution>")
    other = one[begin:end].replace(f'"{code}"', '"107"').replace('value="1"', 'value="7"').replace("odtc", "second")
    (tmp_path / "m.sol").write_text(one[:end] + other + one[end:])
    found = read_point(tmp_path / "m.sol")
    if code == "108":  # it ended without a solution
        assert found.values is None and found.termination == Termination.TIME_LIMIT
    else:
        assert found.termination == Termination.OPTIMAL and np.array_equal(found.on(MODELS["named"].columns), X)


def test_variables_of_cplex_are_known_by_their_attributes_in_any_order(tmp_path):
    for old, new in (
        ('name="C" value="3"', 'value="3" name="C"'),
        ('name="C" value="3"', 'value="3" index="4" name="C"'),
        ('name="C" value="3"', 'index="4" name="C" status="x" value="3"'),
    ):
        assert np.array_equal(told(tmp_path, "cplex", old, new).on(MODELS["named"].columns), X)
    for new in ('name="C"', 'value="3"', 'label="C" value="3"', 'name="C" number="3"'):
        with pytest.raises(SolutionError, match="expected <variable name=... value=...>"):
            told(tmp_path, "cplex", 'name="C" value="3"', new)


def test_an_output_of_symphony_that_ends_before_its_values_is_no_point(tmp_path):
    said = text(MODELS["named"], X, "symphony").decode()
    at = said.index("Solution Cost")
    path = tmp_path / "m.sol"
    for cut in (said[: said.index("\n", at) + 1], said[:at], said.rstrip("\n") + "\n"):
        path.write_text(cut)
        with pytest.raises(SolutionError):
            read_point(path)
    ending = f"* {'Time Limit Reached':48} *\n\nNo Solution Found\n"
    path.write_text(said[: said.index("* Optimal")] + ending)
    found = read_point(path)
    assert found.values is None and found.termination == Termination.TIME_LIMIT


@pytest.mark.parametrize("form", ["highs", "glpk", "name-value"])
def test_a_number_that_is_none_is_told_by_its_column(form, tmp_path):
    last = {"highs": f"{'C':30}3", "glpk": "j 5 3", "name-value": f"{'C':30}3"}[form]
    with pytest.raises(SolutionError, match="got nan for column " + ("5" if form == "glpk" else "'C'")):
        told(tmp_path, form, last, last[:-1] + "nan")


def test_a_bound_as_far_from_the_value_as_a_proof_allows(tmp_path):
    """HiGHS 1.16 writes a bound; a value without one, or with one near it, is what it calls optimal."""
    for bound, unproved in (("", False), ("Objective_bound 6\n", False), ("Objective_bound 5\n", True)):
        found = told(tmp_path, "highs", "# Columns 5", f"{bound}# Columns 5")
        assert found.within_gap == unproved and found.objective == 6


def test_a_file_of_names_and_values_is_known_with_and_without_comments(tmp_path):
    path = tmp_path / "m.sol"
    for before in ("", "# any words\n", "\n\n# Objective value = 6\n"):
        path.write_text(
            before + "C 3\nb2 0\n# a comment between\na<&>'b 2\nx[1,2] 1\nquite_a_long_name_of_a_column 0\n"
        )
        assert np.array_equal(read_point(path).on(MODELS["named"].columns), X)
    path.write_text("# Status: TimeLimit\n")
    assert read_point(path).values is None and read_point(path).termination == Termination.TIME_LIMIT


@pytest.mark.parametrize("names", [("c", "s"), ("s", "c"), ("c", "x"), ("C", "s"), ("e", "j")])
def test_columns_that_are_named_as_lines_of_glpk_begin_are_columns(names, tmp_path):
    """A file of "c 1" and "s 2" was taken for one of GLPK, and refused."""
    (tmp_path / "m.sol").write_text("".join(f"{name} {value}\n" for value, name in enumerate(names, 1)))
    found = read_point(tmp_path / "m.sol")
    assert found.format == "name-value" and found.on(named(names).columns).tolist() == [1, 2]


@pytest.mark.parametrize(
    "form", ["cplex", "highs", "highs-table", "scip", "name-value", "cbc", "glpk", "glpk-table", "symphony"]
)
def test_the_objective_is_the_one_that_the_file_tells(form, tmp_path):
    (tmp_path / "m.sol").write_bytes(text(MODELS["named"], X, form))
    assert read_point(tmp_path / "m.sol").objective == MODELS["named"].objective(X) == 6


def test_an_output_of_symphony_without_a_word_for_its_end_is_unknown(tmp_path):
    found = told(tmp_path, "symphony", "Optimal Solution Found", "Nearly Optimal Found  ")
    assert found.termination == Termination.UNKNOWN and np.array_equal(found.on(MODELS["named"].columns), X)


def test_a_file_of_cplex_without_variables_is_no_solution(tmp_path):
    said = text(MODELS["named"], X, "cplex").decode()
    begin, end = said.index("<variables>") + 11, said.index("</variables>")
    (tmp_path / "m.sol").write_text(said[:begin] + said[end:])
    with pytest.raises(SolutionError, match="holds no solution"):
        read_point(tmp_path / "m.sol")


@pytest.mark.parametrize("style", [0, 4])
def test_a_solution_of_zeros_is_read_as_highs_writes_it(style, tmp_path):
    """Its sparse file was refused: 1.16 announces "# Columns 0 sparse", and not a negative number."""
    highspy = pytest.importorskip("highspy")
    model = MODELS["named"]
    write_model(model, str(tmp_path / "m.mps"))
    solver = highspy.Highs()
    solver.setOptionValue("log_to_console", False)
    solver.setOptionValue("threads", 1)
    solver.readModel(str(tmp_path / "m.mps"))
    solver.run()
    solver.writeSolution(str(tmp_path / "m.sol"), style)
    found = read_point(tmp_path / "m.sol")
    assert found.termination == Termination.OPTIMAL and found.objective == 0
    assert not found.on(model.columns).any()


@pytest.mark.parametrize("form", READ)
def test_a_point_of_zeros_is_read_in_each_format(form, tmp_path):
    (tmp_path / "m.sol").write_bytes(text(MODELS["named"], 0 * X, form))
    found = read_point(tmp_path / "m.sol")
    assert not found.on(MODELS["named"].columns).any() and found.objective in (0, None)


# What a solver writes that ends without a solution, and in the place of its values what is no line of them.
NOTHING = {
    "cbc": "{word} - objective value 0\n      0 x[1,2]",
    "symphony": f"==  Welcome to the SYMPHONY MILP Solver \n{'*' * 52}\n* {{word:48}} *\n{'*' * 52}\n",
    "cplex": '<CPLEXSolution version="1.2">\n <header solutionStatusValue="{word}"/>\n</CPLEXSolution>',
    "scip": "solution status: {word}\nobjective value: +infinity\nx[1,2]",
    "highs": "Model status\n{word}\n\n# Primal solution values\nNone\n\n# Dual",
    "glpk": "s mip 1 5 {word} 0\nj 1\ne o f\n",
}


@pytest.mark.parametrize(
    ("form", "word", "end"),
    [
        ("cbc", "Infeasible", Termination.INFEASIBLE),
        ("cbc", "Unbounded", Termination.UNBOUNDED),
        ("symphony", "Problem Infeasible", Termination.INFEASIBLE),
        ("symphony", "Problem Unbounded", Termination.UNBOUNDED),
        ("cplex", "103", Termination.INFEASIBLE),
        ("cplex", "118", Termination.UNBOUNDED),
        ("scip", "infeasible", Termination.INFEASIBLE),
        ("scip", "unbounded", Termination.UNBOUNDED),
        ("highs", "Infeasible", Termination.INFEASIBLE),
        ("glpk", "n", Termination.INFEASIBLE),
    ],
)
def test_of_an_end_without_a_solution_no_values_are_read(form, word, end, tmp_path):
    found = read_text(tmp_path, NOTHING[form].format(word=word))
    assert found.format == form and found.values is None and found.termination == end and found.objective is None


@pytest.mark.parametrize(
    ("form", "end"),
    [
        ("cbc", "      0 c1  7  0\n      0 x  0  0\n      1 y  2  0\n      "),
        ("xpress-ascii", '     1,"x","C","SB",2.0,0\n    '),
    ],
)
def test_blanks_that_begin_a_line_and_end_the_file_tell_that_it_is_cut_off(form, end, tmp_path):
    (tmp_path / "m.sol").write_text(("Optimal - objective value 2\n" if form == "cbc" else "") + end)
    with pytest.raises(SolutionError, match="cut off"):
        read_point(tmp_path / "m.sol")
    (tmp_path / "m.sol").write_text((tmp_path / "m.sol").read_text().rstrip(" "))
    assert read_point(tmp_path / "m.sol").values.tolist()[-1] == 2


def test_a_table_of_glpk_with_few_lines_or_words(tmp_path):
    said = text(MODELS["named"], X, "glpk-table").decode()
    at = said.index("-\n", said.index("Column name")) + 2
    end, path = said.index("\n\nInteger feasibility") + 1, tmp_path / "m.sol"
    lines = said[at:end].splitlines(keepends=True)
    for table in [
        "",
        *("".join(lines[:many]) for many in range(1, len(lines))),
        "     1\n",
        "     1 x[1,2]\n",
        "     1 C *\n",
    ]:
        path.write_text(said[:at] + table + said[end:])
        with pytest.raises(SolutionError):
            read_point(path)
    # A number that is not whole has no star, and one without bounds nothing behind it.
    path.write_text(said[:at] + "".join(lines[:-1]) + "     5 C                        3\n" + said[end:])
    assert np.array_equal(read_point(path).on(MODELS["named"].columns), X)


@pytest.mark.parametrize("said", ["# no words of a solver\n", "# Columns 0\n\n", "\n# one\n# two\n"])
def test_comments_alone_are_no_solution(said, tmp_path):
    """They would be a point of zeros, as a file of names and values may leave out what is 0."""
    (tmp_path / "m.sol").write_text(said)
    with pytest.raises(SolutionError, match="cannot detect the format of"):
        read_point(tmp_path / "m.sol")


@pytest.mark.parametrize("said", ["ENDATA", "ENDATA\n", "NAME m\nENDATA\n"])
def test_a_file_of_xpress_without_values_holds_no_point(said, tmp_path):
    (tmp_path / "m.slx").write_text(said)
    assert read_point(tmp_path / "m.slx").format == "xpress" and read_point(tmp_path / "m.slx").values is None


def test_a_bound_without_an_objective_proves_nothing_and_hides_nothing(tmp_path):
    found = told(tmp_path, "highs", "Objective 6\n", "Objective_bound 6\n")
    assert found.objective is None and not found.within_gap and np.array_equal(found.on(MODELS["named"].columns), X)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 9])
def test_a_start_of_cplex_is_written_in_parts_of_any_size(size, monkeypatch, tmp_path):
    whole = text(MODELS["named"], X, "cplex")
    monkeypatch.setattr("odtc.fileformats.solutions.cplex.PART", size)
    assert text(MODELS["named"], X, "cplex") == whole


@pytest.mark.parametrize("places", [(0, 1, 0, 2), (0, 2, 0, 1), (0, 1, 0, 0), (0, 1, 0, 1, 0), (0, 1, 2, 0, 2)])
def test_rows_and_columns_of_cbc_are_counted_one_by_one(places, tmp_path):
    """Of as many columns as rows the places were not looked at."""
    lines = [f"{at:7d} {name} 1 0\n" for at, name in zip(places, "abcde")]
    with pytest.raises(SolutionError, match="in this order"):
        read_text(tmp_path, "Optimal - objective value 2\n" + "".join(lines))


def test_a_file_of_highs_that_ends_within_a_line_is_refused(tmp_path):
    said = text(MODELS["named"], X, "highs").decode()
    at = said.index("# Basis")
    assert np.array_equal(read_text(tmp_path, said[:at]).on(MODELS["named"].columns), X)
    with pytest.raises(SolutionError, match="whole lines to the end"):
        read_text(tmp_path, said[: at + 4])


def test_an_objective_that_is_no_number_is_told_as_it_stands(tmp_path):
    with pytest.raises(SolutionError, match="as the objective, got 'six'"):
        told(tmp_path, "highs", "Objective 6", "Objective six")


def test_a_table_of_highs_without_values_holds_no_point(tmp_path):
    said = text(MODELS["named"], X, "highs-table").decode().splitlines(keepends=True)
    rows = said.index("Rows\n")
    lines = [" ".join(line.split()[:3] + line.split()[4:]) + "\n" for line in said[2:rows]]
    ended = "\nModel status: Infeasible\n"
    found = read_text(tmp_path, "".join([*said[:2], *lines, *said[rows : rows + 2], ended]))
    assert found.format == "highs-table" and found.on(MODELS["named"].columns) is None
    assert found.termination == Termination.INFEASIBLE


def test_the_output_of_lp_solve_without_its_constraints_is_read(tmp_path):
    """Without -S4, lp_solve prints no constraints."""
    path = tmp_path / "m.out"
    path.write_text("\nValue of objective function: 3.00000000\n\nActual values of the variables:\nx  1\ny  2\n")
    raw = read_point(path)
    assert (list(raw.names), raw.values.tolist(), raw.objective, raw.n_columns) == (["x", "y"], [1.0, 2.0], 3.0, 2)
    path.write_text("\nValue of objective function: 3.00000000\n\nActual values of the variables:\nx  1\ny  2")
    with pytest.raises(SolutionError, match="cut off"):
        read_point(path)


@pytest.mark.parametrize("ending", [".json", ".prt", ".sol"])
def test_a_file_of_no_known_format_leads_to_a_command_that_writes_one(ending, tmp_path):
    path = tmp_path / f"m{ending}"
    path.write_text('{"Vars": []}\n')
    with pytest.raises(SolutionError, match="name-value; have the solver write one of these .*--dry-run"):
        read_point(path)

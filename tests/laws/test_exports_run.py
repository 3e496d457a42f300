"""Law 3 in other languages: exports, run by their own interpreters and compilers, predict as `tree.predict` does."""

import csv
import io
import math
import os
import shutil
import sqlite3
import subprocess
import xml.etree.ElementTree as ET
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from odtc.base.templates.filters import md, sql_number, sql_str, tex, xml
from odtc.data.dataset import Feature
from odtc.data.splits import Missing, Oblique, Subset, Term, Threshold
from odtc.errors import ChoiceError, DataError
from odtc.evaluation.predicting import predict_file
from odtc.testing.generated_code import how_to_run, run_export, unseen
from odtc.testing.properties import exporters
from odtc.testing.property import NotTestedError
from odtc.testing.random_trees import HOSTILE, answering_numbers, cells, rows_for, trees
from odtc.trees.exporting import export
from odtc.trees.rendering import render_tree
from odtc.trees.rendering import suffix as suffix_of
from odtc.trees.tree import Branch, Leaf, Line, Tree
from tests import exported

HEALTH = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture]


def expected(tree, X) -> list:
    """The class of each row, None where the tree refuses it."""
    found = []
    for row in X:
        try:
            found.append(tree.classes[tree.predict(row[None, :])[0]])
        except DataError:
            found.append(None)
    return found


def needs(program: str, everywhere: bool = True):
    """Skips without the program; where CI says that nothing may be missing, only what it installs `everywhere`."""
    missing = shutil.which(program) is None and not (everywhere and os.environ.get("ODTC_REQUIRE_SOLVERS"))
    return pytest.mark.skipif(missing, reason=f"{program} is not installed")


@pytest.fixture(scope="module")
def node():
    process = exported.Node()
    yield process
    process.close()


def plain(row: dict) -> dict:
    """Cells that JSON can hold: NaN is null, numbers of numpy are Python's."""
    return {
        name: None
        if isinstance(cell, float) and math.isnan(cell)
        else cell.item()
        if isinstance(cell, np.generic)
        else cell
        for name, cell in row.items()
    }


@needs("node")
@settings(deadline=None, max_examples=70, suppress_health_check=HEALTH)
@given(data=st.data())
def test_javascript_predicts_as_the_tree(node, data):
    tree = data.draw(trees(oblique=True))
    X = data.draw(rows_for(tree))
    spelling = data.draw(st.integers(0, 20))
    assert node.run(render_tree(tree, "javascript"), [plain(cells(tree, row, spelling)) for row in X]) == expected(
        tree, X
    )


@settings(deadline=None, max_examples=70, suppress_health_check=HEALTH)
@given(data=st.data())
def test_sql_predicts_as_the_tree(data):
    tree = data.draw(trees(oblique=True))
    assume(len({feature.name.lower() for feature in tree.features}) == len(tree.features))  # as SQLite names columns
    assume(all(feature.name.isascii() or feature.name == feature.name.lower() for feature in tree.features))
    assume(exported.sql_names(tree))
    X = data.draw(rows_for(tree))
    assert exported.run_sql(tree, render_tree(tree, "sql"), X) == expected(tree, X)


@needs("gcc")
@settings(deadline=None, max_examples=15, suppress_health_check=HEALTH)
@given(data=st.data())
def test_c_compiles_without_a_warning_and_predicts_as_the_tree(tmp_path, data):
    tree = data.draw(trees(oblique=True))
    X = data.draw(rows_for(tree))
    assert exported.run_c(tree, render_tree(tree, "c"), X, tmp_path) == expected(tree, X)


COLUMNS = (Feature("size", "numeric"), Feature('SELECT "x"', "categorical", ("a'b", 'c"d', "e\nf")),
           Feature("code", "categorical", ("1", "2.5")), Feature("ok", "boolean", ("false", "true")))  # fmt: skip
CELLS = np.array(
    [
        (size, name, code, ok)
        for size in (0.3, 0.1 + 0.2, 1e22, np.nan)
        for name in (0, 1, 2, -1, np.nan)
        for code in (0, 1, -1, np.nan)
        for ok in (0, 1, -1, np.nan)
    ]
)
SPLITS = (
    Threshold(0, 0.3),
    Threshold(0, 0.1 + 0.2),
    Subset(1, (0.0, 2.0)),
    Threshold(1, 0.5),
    Missing(1),
    Subset(2, (1.0,)),
    Threshold(2, 0.5),
    Missing(0),
    Subset(3, (1.0,)),
    Threshold(3, 0.5),
    Subset(0, (1e22, 0.3)),
    Oblique((Term(0, 0.1), Term(1, -0.7, 0.0), Term(2, 1 / 3, 1.0)), 0.03),
)


@pytest.mark.parametrize("missing", ["drop", "separate"])
@pytest.mark.parametrize("split", SPLITS, ids=lambda split: type(split).__name__)
def test_each_split_in_each_language_on_ties_missing_and_unseen_cells(split, missing, node, tmp_path):
    tree = Tree(Branch(split, Leaf(0, (2.0, 1.0), (2, 1)), Leaf(1)), COLUMNS, ("it's", "*/ \\ ?>"), "--", missing)
    wanted = expected(tree, CELLS)
    assert exported.run_c(tree, render_tree(tree, "c"), CELLS, tmp_path) == wanted
    assert exported.run_sql(tree, render_tree(tree, "sql"), CELLS) == wanted
    assert node.run(render_tree(tree, "javascript"), [plain(cells(tree, row)) for row in CELLS]) == wanted


def test_a_row_that_has_no_own_cell_of_a_name_of_objects_is_missing_there(node):
    tree = Tree(
        Branch(Missing(0), Leaf(0), Leaf(1)),
        (Feature("constructor", "categorical", ("a",)),),
        ("gone", "there"),
        missing="separate",
    )
    assert node.run(render_tree(tree, "javascript"), [{}, {"constructor": "a"}]) == ["gone", "there"]


@settings(deadline=None, max_examples=300)
@given(value=st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_in_sql_is_the_double_itself(value):
    with closing(sqlite3.connect(":memory:")) as base:
        assert base.execute(f"SELECT 1.0 * {sql_number(value)}").fetchone()[0] == value
    base.close()


def test_a_decimal_in_sql_is_the_double_itself():
    """SQLite 3.40 divides its digits by a power of ten in more bits and rounds twice: 93.440334 is another double."""
    rng = np.random.default_rng(0)
    values = [93.440334, 525.336634716172, 1e-5, 1.2e-7, 0.00390625, -2.000000001, 123456789012.345, 1e14]
    for decimals in range(1, 15):
        values += [round(value, decimals) for value in rng.uniform(-1000, 1000, 1500).tolist()]
    with closing(sqlite3.connect(":memory:")) as base:
        found = [base.execute(f"SELECT 1.0 * {sql_number(value)}").fetchone()[0] for value in values]
    base.close()
    assert [pair for pair in zip(found, values) if pair[0] != pair[1]] == []
    assert [sql_number(value) for value in (2.5, -0.125, 4.9)] == ["2.5", "-0.125", "4.9"]


@settings(deadline=None, max_examples=30, suppress_health_check=HEALTH)
@given(tree=trees(oblique=True))
def test_drawings_and_pmml_are_well_formed_with_any_names(tree):
    ET.fromstring(render_tree(tree, "svg"))
    root = ET.fromstring(render_tree(tree, "pmml"))
    assert (
        len([node for node in root.findall(".//{*}Node") if "_" not in node.get("id")])
        == tree.n_leaves + tree.n_branch_nodes
    )
    lines = render_tree(tree, "markdown").splitlines()
    assert len(lines) == tree.n_leaves + 6 and len({line.count("|") for line in lines[4:]}) == 1
    body = render_tree(tree, "latex")
    bare = body.replace("\\{", "").replace("\\}", "")
    assert bare.count("{") == bare.count("}") and not {c for c in body.partition("tikzpicture")[2] if c in "\x00\x07"}


def test_special_signs_are_quoted_in_markdown_and_latex():
    assert md("a|b *c* <d>\n") == "a&#124;b &#42;c&#42; &#60;d&#62;&#92;n"
    assert tex("50% of $x_1$ & {a} #\\ ≤ [b]") == r"50\% of \$x\_1\$ \& \{a\} \#\textbackslash{} $\leq$ {[}b{]}"


@needs("pdflatex", everywhere=False)  # Debian's is a gigabyte
def test_the_picture_in_latex_compiles(tmp_path):
    tree = Tree(
        Branch(
            Threshold(0, 0.3),
            Branch(Subset(1, (0.0, 2.0)), Leaf(0, (2.0, 1.0), (2, 1)), Leaf(1, (0.0, 0.0), (0, 0))),
            Leaf(1, (0.0, 3.0), (0, 3)),
        ),
        COLUMNS,
        ("it's 50%", "*/ \\ ?>"),
        "--",
    )
    (tmp_path / "tree.tex").write_text(render_tree(tree, "latex"), encoding="utf-8")
    names = [
        name for name in HOSTILE if all(sign.isascii() or sign in "ï\u2028" for sign in name)
    ]  # what its fonts have
    branches = [
        Tree(
            Branch(Subset(0, (0.0,)), Leaf(0), Leaf(1)), (Feature(name, "categorical", ("a\\b{}", "$x")),), (name, "b")
        )
        for name in names
    ]
    pictures = [
        text[text.index("\\begin{tikzpicture}") : text.index("\\end{document}")]
        for text in (render_tree(one, "latex") for one in branches)
    ]
    text = (
        (tmp_path / "tree.tex")
        .read_text(encoding="utf-8")
        .replace("\\end{document}", "\n".join(pictures) + "\\end{document}")
    )
    (tmp_path / "tree.tex").write_text(text, encoding="utf-8")
    run = subprocess.run(
        ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "tree.tex"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout.decode("utf-8", "replace")[-2000:]


# PMML by PMML4S, where Java and the package are there.


@pytest.fixture(scope="module")
def java():
    pytest.importorskip("pypmml", reason="pypmml is not installed")
    if shutil.which("java") is None:
        pytest.skip("java is not installed")
    from pypmml.base import PMMLContext

    yield PMMLContext.getOrCreate()
    PMMLContext.shutdown()


def run_pmml(tree, text, X) -> list:
    from pypmml import Model

    model = Model.fromString(text)
    name = model.targetNames[0]
    found = []
    for row in X:
        values = {feature.name: pmml_cell(feature, value) for feature, value in zip(tree.features, row)}
        found.append(
            model.predict({name: value for name, value in values.items() if value is not None}).get(f"predicted_{name}")
        )
    return found


def pmml_cell(feature, value):
    if math.isnan(value):
        return None
    return float(value) if feature.kind == "numeric" else feature.levels[int(value)] if value >= 0 else unseen(feature)


@pytest.mark.parametrize("task", ["regression", "linear"])
@pytest.mark.parametrize("missing", ["drop", "separate"])
def test_pmml_answers_the_numbers_of_a_tree(java, missing, task):
    answers = (0.1, -1e22, 1 / 3)
    leaves = [Leaf(0, (1.0,), (1,), (1.0, 1.0, answer, 0.0, 0.0, answer)) for answer in answers]
    if task == "linear":
        numeric = [at for at, feature in enumerate(COLUMNS) if feature.kind == "numeric"]
        leaves[1:] = [replace(leaf, line=Line(numeric[0], 1 / 3, 0.1)) for leaf in leaves[1:]]
    root = Branch(SPLITS[0], leaves[0], Branch(SPLITS[1], *leaves[1:]))
    tree = Tree(root, COLUMNS, ("mean",), "target", missing, task)
    wanted = []
    for row in CELLS[::3]:
        try:
            wanted.append(float(tree.answers(row[None, :])[0]))
        except DataError:
            wanted.append(None)
    found = run_pmml(tree, render_tree(tree, "pmml"), CELLS[::3])  # no result of a regression is NaN there
    assert [None if answer != answer else answer for answer in found] == wanted and len(set(wanted) - {None}) > 1


@pytest.mark.parametrize("name", ["python", "javascript", "r", "java", "sql", "c", "onnx"])
@pytest.mark.parametrize("missing", ["drop", "separate"])
def test_lines_below_sets_of_levels_are_exported_as_the_tree_answers(tmp_path, name, missing):
    plain = (COLUMNS[0], replace(COLUMNS[1], name="name", levels=("ab", "cd", "ef")), *COLUMNS[2:])
    leaves = [Leaf(0, (1.0,), (1,), (1.0, 1.0, one, 0.0, 0.0, one)) for one in (0.1, -1e22, 1 / 3)]
    leaves[1:] = [replace(leaf, line=Line(0, 1 / 3, 0.1)) for leaf in leaves[1:]]
    tree = Tree(Branch(SPLITS[2], leaves[0], Branch(SPLITS[1], *leaves[1:])), plain, ("mean",), "y", missing, "linear")
    wanted = [exporters.expected(tree, row) for row in CELLS[::3]]
    X, exporter = CELLS[::3][[one is not None for one in wanted]], exporters.find(name)
    try:
        if exporter.how is None:
            found = exporter.predict(exporter.write(tree), tree, X)
        else:
            found = run_export(exporter.how, exporter.write(tree), exporter.ending, tree, X, tmp_path)
    except (NotTestedError, ChoiceError) as absent:
        pytest.skip(str(absent))
    assert [float(one) for one in found] == [one for one in wanted if one is not None] and len(set(wanted)) > 3


@settings(deadline=None, max_examples=12, suppress_health_check=HEALTH)
@given(data=st.data())
def test_pmml_of_numbers_is_a_regression_with_the_answers_as_scores(data):
    tree = data.draw(answering_numbers(data.draw(trees(oblique=True)), lines=False))
    root = ET.fromstring(render_tree(tree, "pmml"))
    scores = [float(node.get("score")) for node in root.findall(".//{*}Node") if node.get("score") is not None]
    assert scores == [tree.answer(leaf) for leaf in tree.leaves()]
    assert root.find("{*}TreeModel").get("functionName") == "regression"
    assert not root.findall(".//{*}ScoreDistribution")
    target = root.findall(".//{*}DataField")[-1]
    assert target.get("optype") == "continuous" and len(target) == 0


MARKED = (Feature("x", "numeric", missing_marks=("-999", "n.a.")),
          Feature("w", "categorical", ("a", "b"), missing_marks=("unknown",)),
          Feature("k", "categorical", ("1", "2"), missing_marks=("9",)))  # fmt: skip
# The same columns for a program that is given the marks, which are numbers and levels there.
AS_WRITTEN = (Feature("x", "numeric"), Feature("w", "categorical", ("a", "b", "unknown")),
              Feature("k", "categorical", ("1", "2", "9")))  # fmt: skip
MARKED_CELLS = np.array([(x, w, k) for x in (-999, 0, 5, np.nan) for w in (0, 1, 2, -1) for k in (0, 1, 2, np.nan)])
MARKED_SPLITS = (
    Threshold(0, -1.0),
    Oblique((Term(0, 1.0), Term(1, 2.0, 0.0)), 0.5),
    Subset(2, (0.0,)),
    Threshold(2, 0.5),
    Missing(1),
    Subset(1, (0.0,)),
    Threshold(1, 0.5),
    Missing(0),
)


@pytest.fixture(params=["separate", "drop"])
def on_marks(request):
    """Trees, each with one whose levels are its cells as they are written, and the predictions for MARKED_CELLS."""
    coded, found = MARKED_CELLS.copy(), []
    for column, mark in enumerate((-999, 2, 2)):
        coded[coded[:, column] == mark, column] = np.nan
    for splits in (MARKED_SPLITS, MARKED_SPLITS[::-1]):
        node = Leaf(len(splits))
        for label, split in reversed(list(enumerate(splits))):
            node = Branch(split, Leaf(label), node)
        classes = tuple(f"leaf {label}" for label in range(len(splits) + 1))
        tree = Tree(node, MARKED, classes, "y", request.param)
        found.append((tree, replace(tree, features=AS_WRITTEN), expected(tree, coded)))
    return found


def test_a_mark_of_missing_cells_is_missing_in_sql_onnx_and_javascript(on_marks, node):
    for tree, as_written, wanted in on_marks:
        assert len(set(wanted)) > 4
        assert exported.run_sql(as_written, render_tree(tree, "sql"), MARKED_CELLS) == wanted
        rows = [plain(cells(as_written, row)) for row in MARKED_CELLS]
        assert node.run(render_tree(tree, "javascript"), rows) == wanted
        pytest.importorskip("onnxruntime")
        assert exporters.find("onnx").predict(export(tree, "onnx"), as_written, MARKED_CELLS) == wanted


@needs("gcc")
def test_a_mark_of_missing_cells_is_missing_in_c(on_marks, tmp_path):
    for tree, as_written, wanted in on_marks:
        assert exported.run_c(as_written, render_tree(tree, "c"), MARKED_CELLS, tmp_path) == wanted


def test_a_mark_of_missing_cells_is_missing_in_pmml(java, on_marks):
    for tree, as_written, wanted in on_marks:
        assert run_pmml(as_written, render_tree(tree, "pmml"), MARKED_CELLS) == wanted


@pytest.mark.parametrize("name", ["python", "java", "r", "javascript", "sql"])
def test_a_mark_of_missing_cells_is_missing_where_a_program_reads_text(on_marks, name, tmp_path):
    for tree, as_written, wanted in on_marks:
        if tree.missing == "drop":
            continue  # such a program ends at the first row that it refuses
        try:
            how, text, ending = how_to_run(name), export(tree, name).encode(), suffix_of(name)
            assert run_export(how, text, ending, as_written, MARKED_CELLS, tmp_path) == wanted
        except NotTestedError as reason:
            pytest.skip(str(reason))


WORDS = ("a", "b", "c d", "", "?", "NA", "N/A", "NaN", "nan", "null", "NULL", "Null", "c", "a b", "c  d", "z")
BLANK = (" a", "a ", " c d ", "NaN ", "  ?", "   ")  # cells that ONNX and PMML get without their blanks


@pytest.fixture(params=["drop", "separate"])
def on_words(request, tmp_path):
    """For each split on a text: a tree, one whose levels are the cells of ROWS, and what `odtc predict` answers."""
    path, found = tmp_path / "rows.csv", []
    with path.open("w", newline="") as stream:
        csv.writer(stream, quoting=csv.QUOTE_ALL).writerows([["w"], *([cell] for cell in WORDS + BLANK)])
    for split in (Threshold(0, 0.5), Threshold(0, 1.5), Threshold(0, 9.0), Subset(0, (0.0, 2.0)), Missing(0)):
        leaves = Leaf(0, (2.0, 1.0), (2, 1)), Leaf(1, (1.0, 2.0), (1, 2))
        word = Feature("w", "categorical", ("a", "b", "c d"))
        tree = Tree(Branch(split, *leaves), (word,), ("p", "q"), "y", request.param)
        as_written = replace(tree, features=(replace(word, levels=WORDS + BLANK),))
        found.append((tree, as_written, predict_file(tree, path, "blank", keep=True).predictions))
    return found


ROWS = np.arange(float(len(WORDS + BLANK)))[:, None]


def test_a_text_that_means_a_missing_cell_is_missing_in_sql_with_and_without_blanks(on_words):
    for tree, as_written, wanted in on_words:
        assert exported.run_sql(as_written, render_tree(tree, "sql"), ROWS) == wanted, tree.root.split


@needs("gcc")
def test_a_text_that_means_a_missing_cell_is_missing_in_c_with_and_without_blanks(on_words, tmp_path):
    for tree, as_written, wanted in on_words:
        assert exported.run_c(as_written, render_tree(tree, "c"), ROWS, tmp_path) == wanted, tree.root.split


def test_a_text_that_means_a_missing_cell_is_missing_in_onnx(on_words):
    pytest.importorskip("onnxruntime")
    for tree, as_written, wanted in on_words:
        rows = ROWS[: len(WORDS)]
        assert exporters.find("onnx").predict(export(tree, "onnx"), as_written, rows) == wanted[: len(rows)]


def test_a_text_that_means_a_missing_cell_is_missing_in_pmml(java, on_words):
    for tree, as_written, wanted in on_words:
        rows = ROWS[: len(WORDS)]
        assert run_pmml(as_written, render_tree(tree, "pmml"), rows) == wanted[: len(rows)]


@needs("gcc")
@pytest.mark.parametrize("missing", ["drop", "separate"])
def test_c_of_lines_compiles_without_a_warning_of_the_optimiser(tmp_path, missing):
    """GCC finds an index beyond the answers if each leaf returns before it."""
    leaves = [Leaf(0, (1.0,), (1,), (1.0, 1.0, one, 0.0, 0.0, one), (), Line(0, 0.5, one)) for one in range(4)]
    root = Branch(Threshold(0, 1.0), Branch(Threshold(0, 0.0), *leaves[:2]), Branch(Threshold(0, 2.0), *leaves[2:]))
    tree = Tree(root, (Feature("x", "numeric"),), ("mean",), "y", missing, "linear")
    (tmp_path / "tree.c").write_text(render_tree(tree, "c"), encoding="utf-8")
    words = "gcc -std=c99 -O2 -Wall -Wextra -Werror -pedantic -shared -fPIC tree.c -o tree.so -lm"
    said = subprocess.run(words.split(), cwd=tmp_path, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr


@pytest.mark.every(2)
@pytest.mark.parametrize("missing", ["drop", "separate"])
def test_pmml_predicts_as_the_tree_for_each_split(java, missing):
    for split in SPLITS:
        tree = Tree(
            Branch(split, Leaf(0, (2.0, 1.0), (2, 1)), Leaf(1)), COLUMNS, ("it's", "*/ \\ ?>"), "target", missing
        )
        assert run_pmml(tree, render_tree(tree, "pmml"), CELLS[::3]) == expected(tree, CELLS[::3]), split


@settings(deadline=None, max_examples=15, suppress_health_check=HEALTH)
@given(data=st.data())
def test_pmml_predicts_as_any_tree(java, data):
    tree = data.draw(trees(oblique=True))
    words = [
        tree.target,
        *tree.classes,
        *(word for feature in tree.features for word in (feature.name, *feature.levels)),
    ]
    assume(
        tree.target not in [feature.name for feature in tree.features]
        and not any(xml(word) != xml(word).replace("\ufffd", "") for word in words)
    )
    X = data.draw(rows_for(tree))
    assert run_pmml(tree, render_tree(tree, "pmml"), X) == expected(tree, X)


@pytest.mark.parametrize("name", ["FALSE", "true", "x"])
def test_a_column_of_the_name_of_a_truth_value_does_not_take_its_place_in_sql(name):
    """SQLite reads TRUE among several values as the column of that name."""
    columns = (Feature("ok", "boolean", ("false", "true")), Feature(name, "numeric"))
    leaf = {label: Leaf(label, (1.0, 1.0), (1, 1)) for label in (0, 1)}
    tree = Tree(Branch(Subset(0, (0.0, 1.0)), leaf[0], leaf[1]), columns, ("yes", "no"), "y", "drop")
    X = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 5.0], [-1.0, 0.0]])
    assert exported.run_sql(tree, render_tree(tree, "sql"), X) == expected(tree, X) == ["yes", "yes", "yes", "no"]


@pytest.mark.parametrize(
    "names", [("odtc_leaf", "x"), ("x", "ODTC_Leaf"), ("odtc_leaf", "odtc_leaf_"), ("reason", "prediction")]
)
def test_a_column_of_the_name_of_a_new_one_stays_what_it_is_in_sql(names):
    columns = tuple(Feature(name, "numeric") for name in names)
    leaf = {label: Leaf(label, (1.0, 1.0), (1, 1)) for label in (0, 1)}
    tree = Tree(Branch(Threshold(0, 1.0), leaf[0], Branch(Threshold(1, 1.0), leaf[1], leaf[0])), columns, ("a", "b"))
    X = np.array([[0.0, 0.0], [5.0, 0.0], [0.0, 5.0], [5.0, 5.0]])
    assert exported.run_sql(tree, render_tree(tree, "sql"), X) == expected(tree, X) == ["a", "b", "a", "a"]


def test_no_two_columns_of_a_select_have_one_name():
    tree = Tree(
        Branch(Threshold(0, 1.0), Leaf(0, (1.0, 1.0), (1, 1)), Leaf(1, (1.0, 1.0), (1, 1))),
        (Feature("Prediction", "numeric"), Feature("probability a", "numeric"), Feature("reason", "numeric")),
        ("a", "b"),
    )
    with closing(sqlite3.connect(":memory:")) as base:
        base.execute('CREATE TABLE data ("Prediction" REAL, "probability a" REAL, "reason" REAL)')
        names = [column[0].lower() for column in base.execute(render_tree(tree, "sql")).description]
    base.close()
    assert len(set(names)) == len(names) == 8


def test_names_that_differ_only_in_case_are_listed_in_sql():
    """A database that ignores case would read the other column after one of them was renamed."""
    columns = [Feature(name, "numeric") for name in ("Age", "age", "b--\nx", "B--\nX", "other")]
    tree = Tree(Branch(Threshold(1, 1.0), Leaf(0, (1.0, 1.0), (1, 1)), Leaf(1)), tuple(columns), ("a", "b"))
    lines = render_tree(tree, "sql").splitlines()
    (remark,) = [line for line in lines if "upper and lower case" in line]
    assert remark.startswith("-- The names 'Age', 'age', ") and "'other'" not in remark
    assert not any(line.startswith(("x", "X")) for line in lines)
    alone = replace(tree, features=(Feature("Other", "numeric"), *columns[1:2]))
    assert "upper and lower case" not in render_tree(alone, "sql")


def read_with_backslashes(sql: str) -> tuple[list[str], list[str]]:
    """(The literals, the names) of SQL as a database reads it in which a backslash escapes the next character."""
    found, rest = {"'": [], '"': []}, []
    at = 0
    while at < len(sql):
        sign, at = sql[at], at + 1
        if sql.startswith("-- ", at - 1):
            at = sql.index("\n", at)
        elif sign not in found:
            rest.append(sign)
        if sign not in found:
            continue
        words = ""
        while sql[at] != sign or sql[at : at + 2] == 2 * sign:
            at += sql[at] == "\\" or sql[at : at + 2] == 2 * sign
            words, at = words + sql[at], at + 1
        found[sign].append(words)
        at += 1
    assert "DROP" not in "".join(rest)
    return found["'"], found['"']


EVIL = [
    "\\'; DROP TABLE data; --", "'; DROP TABLE data; --", "ends in \\", "C:\\new\\", "\\\\", "/\\|", "*/ DROP TABLE x",
    "a\n; DROP TABLE data; --",
]  # fmt: skip


@pytest.mark.parametrize("name", EVIL)
def test_a_text_in_sql_is_itself_whether_or_not_a_backslash_escapes(name):
    columns = (Feature("cell", "categorical", (name,)),)
    tree = Tree(Branch(Subset(0, (0.0,)), Leaf(0), Leaf(1)), columns, ("DROP TABLE", "b"))
    sql = render_tree(tree, "sql")
    literals, _ = read_with_backslashes(sql)
    replaced = "\\" in name
    assert any(words == name for words in literals) != replaced
    if replaced:  # the only backslashes are in the literal of which SUBSTRING takes the first character
        assert sql.count("\\") == 2 * sql.count("SUBSTRING('\\\\', 1, 1)")
    X = np.array([[0.0], [-1.0]])
    assert exported.run_sql(tree, sql, X) == expected(tree, X) == ["DROP TABLE", "b"]
    with closing(sqlite3.connect(":memory:")) as base:
        assert base.execute(f"SELECT {sql_str(name)}").fetchone() == (name,)
    base.close()


@pytest.mark.parametrize("name", ["ends in \\", 'a\\" DROP TABLE', '\\\\"'])
def test_a_name_that_ends_its_quote_for_some_databases_is_refused_in_sql(name):
    column, plain = Feature(name, "numeric"), Feature("x", "numeric")
    for columns, classes in (((column,), ("a", "b")), ((plain,), (name, "b"))):
        tree = Tree(Branch(Threshold(0, 1.0), Leaf(0), Leaf(1)), columns, classes)
        with pytest.raises(ChoiceError, match="without a backslash"):
            render_tree(tree, "sql")


@pytest.mark.parametrize("sign", list("=+-@\t\r\n＝＋－＠"))
def test_no_name_is_computed_in_the_header_of_a_spreadsheet(sign):
    name = f"{sign}cmd|' /C calc'!A0\"x\""
    tree = Tree(
        Branch(Threshold(0, 1.0), Leaf(0, (1.0, 1.0), (1, 1)), Leaf(1, (0.0, 1.0), (0, 1))),
        (Feature(name, "numeric"), Feature("plain", "numeric")),
        (name, "b"),
    )
    header, row = csv.reader(io.StringIO(export(tree, "excel").decode("utf-8-sig"), newline=""))
    assert header[0] == '="' + name.replace('"', '""') + '"' and header[1] == "plain"
    assert not [cell for cell in header[1:] if cell[:1] in set("=+-@\t\r\n")]
    assert name.replace('"', '""') in row[3]

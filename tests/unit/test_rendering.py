"""Views of a tree: the drawing, the picture, and templates of your own."""

import re
import shutil
import subprocess
import sys
from textwrap import dedent

import pytest
from hypothesis import given, settings

from odtc.base.templates import filters as template_filters
from odtc.data.dataset import Feature
from odtc.data.splits import Missing, Subset, Threshold
from odtc.errors import ChoiceError, OutputError
from odtc.testing.random_trees import HOSTILE, trees
from odtc.trees.exporting import named
from odtc.trees.rendering import exporters, render_tree, suffix
from odtc.trees.tree import Branch, Leaf, Tree

LENGTH, WIDTH = Feature("petal length (cm)", "numeric"), Feature("petal width (cm)", "numeric")
COLOUR = Feature("colour", "categorical", ("blue", "red", "white"))
IRIS = ("setosa", "versicolor", "virginica")


def leaf(label: int, *rows: int, weight: float = 1.0) -> Leaf:
    return Leaf(label, tuple(n * weight for n in rows), rows)


def iris_tree(right) -> Tree:
    root = Branch(Threshold(0, 2.45), leaf(0, 50, 0, 0), right)
    return Tree(root, (LENGTH, WIDTH, COLOUR), IRIS, "species")


def drawn(tree: Tree) -> str:
    return "\n" + render_tree(tree, "text")


def test_text_draws_branches_with_questions_rows_and_purity():
    tree = iris_tree(Branch(Threshold(1, 1.75), leaf(1, 0, 49, 5), leaf(2, 0, 1, 45)))
    assert drawn(tree) == dedent("""
        species: setosa, versicolor, virginica
        3 leaves, depth 2, 150 rows, 144 correct (96.0 %)

        ├── petal length (cm) ≤ 2.45     → setosa      50 rows   100 %  setosa: 50
        └── petal length (cm) > 2.45
            ├── petal width (cm) ≤ 1.75  → versicolor  54 rows  90.7 %  versicolor: 49, virginica: 5
            └── petal width (cm) > 1.75  → virginica   46 rows  97.8 %  versicolor: 1, virginica: 45
        """)


def test_text_draws_subsets_missing_cells_single_rows_and_empty_leaves():
    red = Branch(Subset(2, (1.0,)), leaf(2, 0, 0, 0), leaf(2, 0, 9, 3))
    colours = Branch(Subset(2, (0.0, 2.0)), leaf(1, 0, 1, 0), red)
    assert drawn(iris_tree(Branch(Missing(1), colours, leaf(1, 0, 40, 0)))) == dedent("""
        species: setosa, versicolor, virginica
        5 leaves, depth 4, 103 rows, 94 correct (91.3 %)

        ├── petal length (cm) ≤ 2.45         → setosa      50 rows   100 %  setosa: 50
        └── petal length (cm) > 2.45
            ├── petal width (cm) is missing
            │   ├── colour in {blue, white}  → versicolor   1 row    100 %  versicolor: 1
            │   └── colour not in {blue, white}
            │       ├── colour = red         → virginica   no rows
            │       └── colour ≠ red         → virginica   12 rows  25.0 %  versicolor: 9, virginica: 3
            └── petal width (cm) is known    → versicolor  40 rows   100 %  versicolor: 40
        """)


def test_names_with_commas_are_in_quotes_in_lists():
    """As they are, "clerk, public, driver" may be two levels or three."""
    work = Feature("work", "categorical", ("clerk, public", "driver", "nurse"))
    root = Branch(Subset(0, (0.0, 1.0)), leaf(0, 9, 1, 0), leaf(1, 0, 5, 2))
    assert drawn(Tree(root, (work,), ("yes, sure", "no", "?"), "y")) == dedent("""
        y: 'yes, sure', no, ?
        2 leaves, depth 1, 17 rows, 14 correct (82.4 %)

        ├── work in {'clerk, public', driver}      → yes, sure  10 rows  90.0 %  'yes, sure': 9, no: 1
        └── work not in {'clerk, public', driver}  → no          7 rows  71.4 %  no: 5, ?: 2
        """)


def test_text_of_a_leaf_alone():
    assert drawn(Tree(leaf(0, 62, 62), (LENGTH,), ("0", "1"))) == dedent("""
        class: 0, 1
        1 leaf, depth 0, 124 rows, 62 correct (50.0 %)

        always  → 0  124 rows  50.0 %  0: 62, 1: 62
        """)


def test_text_shows_weights_only_where_they_differ_from_rows():
    tree = Tree(Branch(Threshold(0, 3.0), leaf(0, 8, 2, weight=0.5), leaf(1, 0, 5)), (LENGTH,), ("no", "yes"))
    assert drawn(tree) == dedent("""
        class: no, yes
        2 leaves, depth 1, 15 rows, 13 correct (86.7 %; by weight 90.0 %)

        ├── petal length (cm) ≤ 3  → no   10 rows  80.0 %  no: 8, yes: 2  by weight 80.0 %  no: 4, yes: 1
        └── petal length (cm) > 3  → yes   5 rows   100 %  yes: 5         by weight  100 %  yes: 5
        """)


def test_text_tells_the_share_by_weight_of_each_leaf():
    """The leaf answers what weighs most: of its rows alone it seems to be wrong."""
    told = drawn(Tree(Leaf(1, counts=(3.0, 9.0), rows=(3, 1)), (LENGTH,), ("no", "yes"))).splitlines()[-1]
    assert told == "always  → yes  4 rows  25.0 %  no: 3, yes: 1  by weight 75.0 %  no: 3, yes: 9"


def test_text_of_a_tree_without_counts_shows_its_classes():
    assert drawn(Tree(Branch(Threshold(0, 3.0), Leaf(0), Leaf(1)), (LENGTH,), ("no", "yes"))) == dedent("""
        class: no, yes
        2 leaves, depth 1

        ├── petal length (cm) ≤ 3  → no
        └── petal length (cm) > 3  → yes
        """)


def test_text_keeps_hostile_and_wide_names_on_their_line():
    features = (Feature("two\nlines\x1b[31m", "numeric"), Feature("年齢", "numeric"))
    tree = Tree(Branch(Threshold(0, 1.0), Branch(Threshold(1, 30.0), leaf(0, 1, 0), leaf(1, 0, 1)), leaf(1, 0, 2)),
                features, ("a\tb", "{{ b }}"))  # fmt: skip
    assert drawn(tree) == dedent(r"""
        class: a\tb, {{ b }}
        3 leaves, depth 2, 4 rows, 4 correct (100 %)

        ├── two\nlines\x1b[31m ≤ 1
        │   ├── 年齢 ≤ 30           → a\tb     1 row   100 %  a\tb: 1
        │   └── 年齢 > 30           → {{ b }}  1 row   100 %  {{ b }}: 1
        └── two\nlines\x1b[31m > 1  → {{ b }}  2 rows  100 %  {{ b }}: 2
        """)


def test_text_names_ten_classes_at_most():
    classes = tuple("ABCDEFGHIJKL")
    first = render_tree(Tree(Leaf(0), (LENGTH,), classes, "letter")).split("\n")[0]
    assert first == "letter: A, B, C, D, E, F, G, H, I, J, … (12 classes)"


def test_percent_says_100_and_0_only_where_exact():
    shares = [template_filters.percent(part, 100000) for part in (100000, 99999, 50000, 1, 0)]
    assert shares == ["100 %", "99.9 %", "50.0 %", "0.1 %", "0 %"]


def test_dot_of_a_tree():
    tree = iris_tree(Branch(Threshold(1, 1.75), leaf(1, 0, 49, 5), leaf(2, 0, 0, 0)))
    text = render_tree(tree, "dot")
    assert text.startswith("digraph tree {\n") and text.endswith("}\n")
    assert 'n0 [label="petal length (cm) ≤ 2.45"]' in text
    assert re.search(r'n3 \[label="versicolor\\n49 of 54 rows", fillcolor="#[0-9a-f]{6}", color="#e69f00"\]', text)
    assert re.search(r'n4 \[label="virginica\\nno rows", style="rounded,dashed"', text)
    edges = re.findall(r'(n\d) -> (n\d) \[label="(\w+)"\]', text)
    assert edges == [("n0", "n1", "yes"), ("n0", "n2", "no"), ("n2", "n3", "yes"), ("n2", "n4", "no")]


def test_a_purer_leaf_is_more_strongly_coloured():
    assert template_filters.tint("#0072b2", 1) == "#0072b2"
    assert template_filters.tint("#0072b2", 0) == "#ffffff"
    tree = Tree(Branch(Threshold(0, 1.0), leaf(0, 9, 1), leaf(0, 6, 4)), (LENGTH,), ("a", "b"))
    pure, mixed = (int(red, 16) for red in re.findall(r'rows", fillcolor="#(..)', render_tree(tree, "dot")))
    assert pure < mixed


def check_dot(text: str) -> None:
    """Graphviz takes the text where it is installed; else every line is a statement with closed quotes."""
    if shutil.which("dot"):
        subprocess.run(["dot", "-Tsvg"], input=text.encode(), check=True, capture_output=True)
    lines = text.split("\n")
    assert (lines[0], lines[-2:]) == ("digraph tree {", ["}", ""])
    bare = re.sub(r'"(?:[^"\\\n]|\\.)*"', "_", "\n".join(lines[1:-2]))
    value = r"(?:_|[\w.]+)"
    statement = rf"  (?:\w+|n\d+ -> n\d+) \[\w+={value}(?:, \w+={value})*\]"
    for line in filter(None, bare.split("\n")):
        assert re.fullmatch(statement, line), line


@settings(deadline=None, max_examples=60)
@given(tree=trees())
def test_dot_is_well_formed_with_any_names(tree):
    check_dot(render_tree(tree, "dot"))


@pytest.mark.parametrize(
    ("name", "quoted"),
    [
        ('say "no"', r'"say \"no\""'),
        ("ends in \\", r'"ends in \\"'),
        ("two\nlines", r'"two\nlines"'),
        ("\\N and \\n", r'"\\N and \\n"'),
        ("&amp; <b>", '"&amp;amp; <b>"'),
        ("nul\0", '"nul\ufffd"'),
    ],
)
def test_dot_str_shows_the_name_itself(name, quoted):
    assert template_filters.dot_str(name) == quoted


@pytest.mark.parametrize("name", [*HOSTILE, "\ud800", "\x00", "\u202e"])
def test_py_str_is_one_line_that_reads_back(name):
    quoted = template_filters.py_str(name)
    assert eval(quoted) == name
    assert len(quoted.splitlines()) == 1 and quoted.isprintable()


@pytest.mark.parametrize("value", [0.1 + 0.2, -0.0, 1e22, float("inf"), float("-inf"), 3, (), (1.0,), ["a", 2.5]])
def test_py_value_reads_back(value):
    back = eval(template_filters.py_value(value))
    assert back == (tuple(value) if isinstance(value, list) else value)


def test_exporters_are_the_files_and_their_first_lines():
    known = exporters()
    assert {"text", "dot", "python"} <= set(known)
    assert known["text"] == "a drawing for the terminal, with the rows and the purity of each leaf"
    assert all(known.values())
    assert [suffix(name) for name in ("text", "dot", "python")] == ["txt", "dot", "py"]


def test_an_unknown_exporter_is_a_sentence_with_the_nearest_name():
    with pytest.raises(ChoiceError, match=r"^unknown exporter 'pyhton' \(did you mean 'python'\?\); known: .*text"):
        render_tree(Tree(Leaf(0), (LENGTH,), IRIS), "pyhton")
    with pytest.raises(ChoiceError, match="unknown exporter 'pdf'"):
        suffix("pdf")


@pytest.mark.parametrize(
    ("to", "name"),
    [("js", "javascript"), (".JS", "javascript"), ("xyz", "xyz"), ("r", "r"), ("R", "r"), ("md", "markdown")],
)
def test_an_exporter_is_found_by_the_ending_of_its_files(to, name):
    assert named(to) == name


def test_the_ending_of_a_template_of_ones_own_names_it(tmp_path):
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "prolog.pl.jinja").write_text("{# rules -#}\n", encoding="utf-8")
    assert named("pl", tmp_path) == "prolog" and named("pl") == "pl"


def test_a_folder_of_templates_adds_exporters_and_goes_first(tmp_path):
    tree = iris_tree(leaf(1, 0, 50, 50))
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "count.md.jinja").write_text("{# how many leaves #}\n**{{ tree.n_leaves }}**\n")
    (tmp_path / "tree" / "text.rst.jinja").write_text("{{ tree.classes | join('/') }}\n")
    (tmp_path / "tree" / "_part.txt.jinja").write_text("not an exporter\n")
    known = exporters(tmp_path)
    assert known["count"] == "how many leaves" and known["text"] == "" and "dot" in known and "_part" not in known
    assert (render_tree(tree, "count", tmp_path), suffix("count", tmp_path)) == ("**2**\n", "md")
    assert render_tree(tree, "text", str(tmp_path)) == "setosa/versicolor/virginica\n"
    assert suffix("text", tmp_path) == "rst"
    assert render_tree(tree, "dot", tmp_path) == render_tree(tree, "dot")
    assert "count" not in exporters()


@pytest.mark.parametrize(
    ("template", "words"),
    [
        ("{{ tree.leafs }}\n", "has no attribute 'leafs'"),
        ("\n{% if %}\n", "line 2: Expected an expression"),
        ("{{ 1 / 0 }}\n", "division by zero"),
        ("{% include 'tree/gone.txt' %}\n", "tree/gone.txt"),
    ],
)
def test_a_template_that_fails_is_named(tmp_path, template, words):
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "mine.txt.jinja").write_text(template)
    with pytest.raises((OutputError, ChoiceError), match=re.escape(words)):
        render_tree(iris_tree(leaf(1, 0, 1, 0)), "mine", tmp_path)


def test_a_folder_of_templates_must_be_one(tmp_path):
    with pytest.raises(ChoiceError, match="expected a folder of templates, got .*nowhere"):
        exporters(tmp_path / "nowhere")


def test_a_deep_tree_needs_no_recursion():
    root = leaf(0, 1, 0)
    for depth in range(300):
        root = Branch(Threshold(0, float(depth)), leaf(1, 0, 1), root)
    tree = Tree(root, (LENGTH,), ("a", "b"))
    limit = sys.getrecursionlimit()
    try:
        # Enough for jinja itself, far less than a recursion over the tree would take.
        sys.setrecursionlimit(limit // 2)
        texts = [render_tree(tree, name) for name in ("text", "dot", "python")]
    finally:
        sys.setrecursionlimit(limit)
    assert "301 leaves, depth 300" in texts[0]


def test_a_leaf_of_many_classes_names_those_of_most_rows():
    names = [f"c{at}" for at in range(14)]
    few = template_filters.tally([0, 3, *[0] * 11, 1], names)
    assert few == "c1: 3, c13: 1"
    rows = [1, 9, 1, 8, 7, 2, 6, 5, 2, 4, 3, 2, 1, 0]
    assert template_filters.tally(rows, names) == (
        "c1: 9, c3: 8, c4: 7, c5: 2, c6: 6, c7: 5, c8: 2, c9: 4, c10: 3, c11: 2, 3 more: 3"
    )
    # The class of most rows is named also if it is the last, behind classes that tie for the tenth place.
    assert template_filters.tally([1, 1, 1, *[2] * 8, 0, 0, 26], names) == (
        "c0: 1, c3: 2, c4: 2, c5: 2, c6: 2, c7: 2, c8: 2, c9: 2, c10: 2, c13: 26, 2 more: 2"
    )

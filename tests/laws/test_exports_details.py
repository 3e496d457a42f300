"""Law 3 for the other outputs of an export: the leaf, the shares of the classes in it, and the rule."""

import csv
import ctypes
import io
import math
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from odtc.data.dataset import CATEGORICAL, NUMERIC, Feature
from odtc.data.splits import Missing, Oblique, Subset, Term, Threshold
from odtc.errors import ChoiceError, DataError
from odtc.testing.random_trees import cells, rows_for, trees
from odtc.trees.exporting import export
from odtc.trees.places import pieces
from odtc.trees.rendering import render_tree
from odtc.trees.tree import Branch, Leaf, Tree
from tests import exported

HEALTH = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture]
FIELD, RECORD = "\x1f", "\x1e"  # none of the names holds these


def told(tree, X) -> list:
    """(leaf, class, rule, shares) of each row, None if the tree refuses it."""
    leaves, ends = tree.leaves(), [place for place in tree.places() if place.is_leaf]
    found = []
    for row in X:
        try:
            at = int(tree.apply(row[None, :])[0])
        except DataError:
            found.append(None)
            continue
        rule, node = [], tree.root
        while isinstance(node, Branch):
            left = bool(node.split.left(row[None, :])[0])
            rule.append(node.split.words(tree.features)[0 if left else 1])
            node = node.left if left else node.right
        assert node is leaves[at] and ends[at].node is node
        whole = sum(node.counts)
        shares = (
            [c / whole for c in node.counts] if whole else [float(k == node.label) for k in range(len(tree.classes))]
        )
        found.append((at, tree.classes[node.label], " and ".join(rule) or "every row", shares))
    return found


@settings(deadline=None, max_examples=60, suppress_health_check=HEALTH)
@given(data=st.data())
def test_python_tells_leaf_rule_and_shares(data):
    tree = data.draw(trees(oblique=True))
    names = {"__name__": "exported"}
    exec(compile(render_tree(tree, "python"), "exported.py", "exec"), names)
    X = data.draw(rows_for(tree))
    for row, wanted in zip(X, told(tree, X)):
        try:
            cell = cells(tree, row)
            got = names["leaf"](cell), names["predict"](cell), names["reason"](cell), names["predict_proba"](cell)
        except ValueError:
            got = None
        assert got == (wanted and (*wanted[:3], dict(zip(tree.classes, wanted[3]))))


@settings(deadline=None, max_examples=40, suppress_health_check=HEALTH)
@given(data=st.data())
def test_sql_tells_leaf_rule_and_shares(data):
    tree = data.draw(trees(oblique=True))
    assume(len({feature.name.lower() for feature in tree.features}) == len(tree.features))
    assume(all(feature.name.isascii() or feature.name == feature.name.lower() for feature in tree.features))
    assume(exported.sql_names(tree))
    X = data.draw(rows_for(tree))
    quoted = ['"' + feature.name.replace('"', '""') + '"' for feature in tree.features]
    with closing(sqlite3.connect(":memory:")) as base:
        types = ["TEXT" if exported.kind_of_cell(feature) == "text" else "REAL" for feature in tree.features]
        base.execute(f"CREATE TABLE data ({', '.join(f'{name} {kind}' for name, kind in zip(quoted, types))})")
        rows = [[exported.typed(feature, value) for feature, value in zip(tree.features, row)] for row in X]
        base.executemany(f"INSERT INTO data VALUES ({', '.join('?' * len(quoted))})", rows)
        found = [row[len(quoted) :] for row in base.execute(render_tree(tree, "sql"))]
    base.close()
    for (leaf, reason, *shares, prediction), wanted in zip(found, told(tree, X), strict=True):
        assert (leaf, prediction, reason, shares) == (wanted or (None, None, None, [None] * len(tree.classes)))


def test_c_tells_leaf_rule_and_shares(tmp_path):
    features = (Feature("size", NUMERIC), Feature("né", CATEGORICAL, ("red", "?!")))
    root = Branch(
        Threshold(0, 0.3), Leaf(0, (1.0, 2.0), (1, 2)), Branch(Subset(1, (0.0,)), Leaf(1, (0.0, 0.0)), Leaf(0))
    )
    tree = Tree(root, features, ("a", "b"))
    (tmp_path / "tree.c").write_text(render_tree(tree, "c"), encoding="utf-8")
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-shared", "-fPIC"]
    subprocess.run(["gcc", *flags, "-o", tmp_path / "tree.so", tmp_path / "tree.c", "-lm"], check=True)
    library = ctypes.CDLL(str(tmp_path / "tree.so"))
    library.probabilities.restype, library.reason.restype = ctypes.POINTER(ctypes.c_double), ctypes.c_char_p
    row_type = type("Row", (ctypes.Structure,), {"_fields_": [("x0", ctypes.c_double), ("x1", ctypes.c_char_p)]})
    X = np.array([[0.3, 1.0], [0.4, 0.0], [0.4, 1.0], [np.nan, 0.0]])
    for row, wanted in zip(X, told(tree, X)):
        given = row_type(row[0], features[1].levels[int(row[1])].encode())
        shares = library.probabilities(ctypes.byref(given))
        got = library.leaf(ctypes.byref(given)), library.reason(ctypes.byref(given)), shares[:2] if shares else None
        assert got == ((wanted[0], wanted[2].encode(), wanted[3]) if wanted else (-1, None, None))


NODE = r"""
const rows = JSON.parse(require("fs").readFileSync(0, "utf8"));
const module_ = { exports: {} };
new Function("module", rows.source)(module_);
const t = module_.exports;
console.log(JSON.stringify(rows.rows.map(row => {
  try { return [t.leaf(row), t.predict(row), t.reason(row), t.probabilities(row)]; } catch (problem) { return null; }
})));
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
@settings(deadline=None, max_examples=10, suppress_health_check=HEALTH)
@given(data=st.data())
def test_javascript_tells_leaf_rule_and_shares(data):
    import json

    tree = data.draw(trees(oblique=True))
    X = data.draw(rows_for(tree))
    rows = [{name: plain(cell) for name, cell in cells(tree, row).items()} for row in X]
    text = json.dumps({"source": render_tree(tree, "javascript"), "rows": rows})
    run = subprocess.run(["node", "-e", NODE], input=text, capture_output=True, text=True, encoding="utf-8", check=True)
    assert [row and tuple(row) for row in json.loads(run.stdout)] == told(tree, X)


def plain(cell):
    if isinstance(cell, float) and math.isnan(cell):
        return None
    return cell.item() if isinstance(cell, np.generic) else cell


# Java and R: rows and answers go through a file, so that the quoting under test quotes no expectation.


def as_records(tree, X) -> str:
    words = [word for feature in tree.features for word in (feature.name, *feature.levels)]
    assume(not any(sign in word for word in (*words, *tree.classes) for sign in (FIELD, RECORD)))
    records = []
    for row in X:
        fields = []
        for feature, value in zip(tree.features, row):
            cell = exported.typed(feature, value)
            if cell is not None:
                boolean = exported.kind_of_cell(feature) == "boolean"
                cell = {1: "true", 0: "false"}.get(cell, "other") if boolean else cell
                fields += [feature.name, "number" if isinstance(cell, float) else "text"]
                fields.append(cell.hex() if isinstance(cell, float) else cell)
        records.append(FIELD.join(fields))
    return RECORD.join(records)


def from_records(text: str) -> list:
    found = []
    for record in text.split(RECORD):
        fields = record.split(FIELD)
        shares = [float(part) for part in fields[3:]]
        found.append(None if fields[0] == "refused" else (int(fields[0]), fields[1], fields[2], shares))
    return found


def told_in_decimals(tree, X) -> list:
    return [one and (*one[:3], [float(repr(share)) for share in one[3]]) for one in told(tree, X)]


SHORT = "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"  # for programs that run less than a second


def run_java(folder, name: str, text: str) -> list[str]:
    """The lines that a class prints, compiled with all packages of the folder and the tree in it, if there is one."""
    (folder / f"{name}.java").write_text(text, encoding="utf-8")
    sources = sorted(str(path.relative_to(folder)) for path in folder.rglob("*.java"))
    words = ["javac", *(f"-J{option}" for option in SHORT), "-encoding", "UTF-8", "-Werror", *sources]
    subprocess.run(words, cwd=folder, check=True)
    words = ["java", *SHORT, "-cp", ".", name]
    return subprocess.run(words, cwd=folder, check=True, capture_output=True, text=True).stdout.splitlines()


MAIN = r"""
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.util.*;

public class Main {
    public static void main(String[] words) throws Exception {
        String text = new String(Files.readAllBytes(Paths.get(words[0])), StandardCharsets.UTF_8);
        List<String> found = new ArrayList<>();
        for (String record : text.split("\u001e", -1)) {
            String[] fields = record.split("\u001f", -1);
            Map<String, Object> row = new HashMap<>();
            for (int k = 0; k + 2 < fields.length; k += 3)
                row.put(fields[k], fields[k + 1].equals("number") ? (Object) Double.valueOf(fields[k + 2])
                        : fields[k + 2]);
            try {
                StringBuilder line = new StringBuilder();
                line.append(DecisionTree.leaf(row)).append('\u001f').append(DecisionTree.predict(row));
                line.append('\u001f').append(DecisionTree.reason(row));
                for (double share : DecisionTree.probabilities(row)) line.append('\u001f').append(share);
                found.add(line.toString());
            } catch (IllegalArgumentException problem) {
                if (!problem.getMessage().startsWith("the row has no value for")) throw problem;
                found.add("refused");
            }
        }
        Files.write(Paths.get(words[1]), String.join("\u001e", found).getBytes(StandardCharsets.UTF_8));
    }
}
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("javac") is None, reason="javac is not installed")
@settings(deadline=None, max_examples=3, suppress_health_check=HEALTH)
@given(data=st.data())
def test_java_tells_class_leaf_rule_and_shares(data, tmp_path):
    """Three trees at a time, each in its package, as the compiler takes a second to start."""
    drawn, calls = [], ""
    for at in range(3):
        tree = data.draw(trees(oblique=True))
        X = data.draw(rows_for(tree))
        folder = tmp_path / f"p{at}"
        folder.mkdir(exist_ok=True)
        for name, text in {"DecisionTree.java": render_tree(tree, "java"), "Main.java": MAIN}.items():
            (folder / name).write_text(f"package p{at};\n{text}", encoding="utf-8")
        (folder / "rows").write_text(as_records(tree, X), encoding="utf-8", newline="")
        calls += f'p{at}.Main.main(new String[] {{ "p{at}/rows", "p{at}/found" }});'
        drawn.append((folder / "found", told_in_decimals(tree, X)))
    run_java(
        tmp_path, "All", f"public class All {{ public static void main(String[] a) throws Exception {{ {calls} }} }}"
    )
    for found, expected in drawn:
        assert from_records(found.read_bytes().decode("utf-8")) == expected


SCRIPT = r"""
words <- commandArgs(trailingOnly = TRUE)
source("tree.R", encoding = "UTF-8")
text_of <- function(path) { t <- rawToChar(readBin(path, "raw", file.size(path))); Encoding(t) <- "UTF-8"; t }
pieces <- function(t, by) { p <- strsplit(paste0(t, by), by, fixed = TRUE)[[1]]; Encoding(p) <- "UTF-8"; p }
found <- character(0)
for (record in pieces(text_of("rows"), "\x1e")) {
  fields <- pieces(record, "\x1f")
  row <- list()
  k <- 1
  while (k + 2 <= length(fields)) {
    row[[fields[k]]] <- if (fields[k + 1] == "number") as.numeric(fields[k + 2]) else fields[k + 2]
    k <- k + 3
  }
  line <- tryCatch(
    paste(c(leaf(row), predict_class(row), reason(row), sprintf("%.17g", probabilities(row))), collapse = "\x1f"),
    error = function(problem) {
      if (!startsWith(conditionMessage(problem), "the row has no value for")) stop(problem)
      "refused"
    })
  found <- c(found, enc2utf8(line))
}
writeBin(charToRaw(paste(found, collapse = "\x1e")), "found")
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
@settings(deadline=None, max_examples=10, suppress_health_check=HEALTH)
@given(data=st.data())
def test_r_tells_class_leaf_rule_and_shares(data, tmp_path):
    tree = data.draw(trees(oblique=True))
    X = data.draw(rows_for(tree))
    records = as_records(tree, X)
    (tmp_path / "tree.R").write_text(render_tree(tree, "r"), encoding="utf-8")
    (tmp_path / "run.R").write_text(SCRIPT, encoding="utf-8")
    (tmp_path / "rows").write_text(records, encoding="utf-8", newline="")
    environment = {"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin:/usr/local/bin"}
    subprocess.run(["Rscript", "--vanilla", "run.R"], cwd=tmp_path, check=True, env=environment)
    assert from_records((tmp_path / "found").read_bytes().decode("utf-8")) == told(tree, X)


# Words that some language reads as a number, and odtc does not: each as the size, and as a level that it is none of.

NO_NUMBERS = ("1_0", "١٠", "0x10", "inf", "Infinity", "1D3", "1 0", "True", "1e", "--1", "16L")
WORDS_TREE = Tree(
    Branch(Threshold(0, 5.0), Branch(Subset(1, (0.0, 1.0, 2.0)), Leaf(0), Leaf(1)), Leaf(2)),
    (Feature("size", NUMERIC), Feature("code", CATEGORICAL, ("10", "16", "1000"))),
    ("level", "other", "large"),
    missing="separate",
)
WORDS = [{"size": word, "code": "10"} for word in NO_NUMBERS] + [{"size": "1", "code": word} for word in NO_NUMBERS]
WORDS += [{"size": size, "code": code} for size in (" +1.e0 ", ".5", "7E2") for code in ("1e1", "16.", "010")]
OF_WORDS = ["expected a number"] * len(NO_NUMBERS) + ["other"] * len(NO_NUMBERS)
OF_WORDS += ["level", "level", "other"] * 2 + ["large"] * 3


def test_no_word_is_a_number_that_is_none_for_odtc_in_python():
    names = {"__name__": "exported"}
    exec(compile(render_tree(WORDS_TREE, "python"), "exported.py", "exec"), names)
    found = []
    for row in WORDS:
        try:
            found.append(names["predict"](row))
        except ValueError as problem:
            found.append(str(problem)[: len("expected a number")])
    assert found == OF_WORDS


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
def test_no_word_is_a_number_that_is_none_for_odtc_in_r(tmp_path):
    (tmp_path / "tree.R").write_text(render_tree(WORDS_TREE, "r"), encoding="utf-8")
    rows = ", ".join(f'list(size = "{row["size"]}", code = "{row["code"]}")' for row in WORDS)
    (tmp_path / "run.R").write_text(
        f'source("tree.R", encoding = "UTF-8")\nfor (row in list({rows})) cat(tryCatch(predict_class(row), '
        'error = function(problem) substr(conditionMessage(problem), 1, 17)), "\\n", sep = "")\n',
        encoding="utf-8",
    )
    environment = {"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin:/usr/local/bin"}
    done = subprocess.run(
        ["Rscript", "--vanilla", "run.R"], cwd=tmp_path, check=True, env=environment, capture_output=True, text=True
    )
    assert done.stdout.split("\n")[:-1] == OF_WORDS


# A number that no double holds is no cell for `odtc predict`, and for no program that reads text.

BEYOND = ("1e400", "-1e400", "9" * 400, "1" + "0" * 309, "-1.8e308")
WITHIN = {"1e308": "large", "-1e308": "level", "1e-400": "level", "-1e-400": "level", "0." + "0" * 400 + "1": "level"}
BEYOND_ROWS = [{"size": word, "code": "10"} for word in (*BEYOND, *WITHIN)]
OF_BEYOND = ["expected a finite number"] * len(BEYOND) + list(WITHIN.values())


def test_a_number_that_no_double_holds_is_refused_by_predict(tmp_path):
    import json

    from tests.command_line import odtc

    (tmp_path / "t.tree.json").write_text(json.dumps(WORDS_TREE.to_json()))
    for row, wanted in zip(BEYOND_ROWS, OF_BEYOND):
        (tmp_path / "r.csv").write_text(f"size,code\n{row['size']},{row['code']}\n")
        said = odtc("predict", "t.tree.json", "r.csv", folder=tmp_path)
        assert wanted in (said.err if said.code else said.out.splitlines())


def test_a_number_that_no_double_holds_is_refused_in_python():
    names = {"__name__": "exported"}
    exec(compile(render_tree(WORDS_TREE, "python"), "exported.py", "exec"), names)
    found = []
    for row in [*BEYOND_ROWS, {"size": math.inf, "code": "10"}, {"size": -math.inf, "code": "10"}]:
        try:
            found.append(names["predict"](row))
        except ValueError as problem:
            found.append(str(problem)[: len("expected a finite number")])
    assert found == [*OF_BEYOND, *["expected a finite number"] * 2]


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_a_number_that_no_double_holds_is_refused_in_javascript():
    import json

    code = NODE.replace("return null;", "return [0, problem.message.slice(0, 24)];")
    source = render_tree(WORDS_TREE, "javascript")
    text = json.dumps({"source": source, "rows": BEYOND_ROWS})
    run = subprocess.run(["node", "-e", code], input=text, capture_output=True, text=True, check=True)
    assert [row[1] for row in json.loads(run.stdout)] == OF_BEYOND
    ask = "try { predict({size: -Infinity, code: 10}); } catch (problem) { console.log(problem.message); }"
    run = subprocess.run(["node", "-e", source + ask], capture_output=True, text=True, check=True)
    assert run.stdout == 'expected a finite number for "size", got "-Infinity"\n'


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
def test_a_number_that_no_double_holds_is_refused_in_r(tmp_path):
    (tmp_path / "tree.R").write_text(render_tree(WORDS_TREE, "r"), encoding="utf-8")
    cells = [*(f'"{row["size"]}"' for row in BEYOND_ROWS), "-Inf"]
    rows = ", ".join(f'list(size = {cell}, code = "10")' for cell in cells)
    (tmp_path / "run.R").write_text(
        f'source("tree.R", encoding = "UTF-8")\nfor (row in list({rows})) cat(tryCatch(predict_class(row), '
        'error = function(problem) substr(conditionMessage(problem), 1, 24)), "\\n", sep = "")\n',
        encoding="utf-8",
    )
    done = subprocess.run(["Rscript", "--vanilla", "run.R"], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert done.stdout.split("\n")[:-1] == [*OF_BEYOND, "expected a finite number"]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("javac") is None, reason="javac is not installed")
def test_a_number_that_no_double_holds_is_refused_in_java(tmp_path):
    (tmp_path / "DecisionTree.java").write_text(render_tree(WORDS_TREE, "java"), encoding="utf-8")
    cells = ", ".join([*(f'"{row["size"]}"' for row in BEYOND_ROWS), "Double.NEGATIVE_INFINITY"])
    said = run_java(
        tmp_path,
        "Ask",
        f"""
public class Ask {{
    public static void main(String[] words) {{
        for (Object cell : new Object[] {{ {cells} }}) {{
            java.util.Map<String, Object> row = new java.util.HashMap<>();
            row.put("size", cell);
            row.put("code", "10");
            try {{
                System.out.println(DecisionTree.predict(row));
            }} catch (IllegalArgumentException problem) {{
                System.out.println(problem.getMessage().substring(0, 24));
            }}
        }}
    }}
}}
""",
    )
    assert said == [*OF_BEYOND, "expected a finite number"]


# What stands around a text and is no part of it: white space as Unicode has it, and no other sign.

BLANKS = [*range(9, 14), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000]
NO_BLANKS = [1, 8, 14, *range(0x1C, 0x20), 0x180E, 0x200B, 0x200D, 0x2060, 0xFEFF]
BLANK_TREE = Tree(
    Branch(Subset(0, (0.0,)), Leaf(0), Leaf(1)),
    (Feature("word", CATEGORICAL, ("red",)),),
    ("red", "other"),
    "y",
    "separate",
)
AROUND = [text for sign in map(chr, BLANKS + NO_BLANKS) for text in (f"{sign}red", f"red{sign}{sign}")]
OF_AROUND = ["red"] * 2 * len(BLANKS) + ["other"] * 2 * len(NO_BLANKS)


def test_blanks_around_a_text_are_those_of_predict(tmp_path):
    import json

    from tests.command_line import odtc

    (tmp_path / "t.tree.json").write_text(json.dumps(BLANK_TREE.to_json()))
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows([["word"], *([word] for word in AROUND)])
    (tmp_path / "r.csv").write_text(text.getvalue(), encoding="utf-8", newline="")
    said = odtc("predict", "t.tree.json", "r.csv", folder=tmp_path)
    assert said.out.split("\n")[1:-1] == OF_AROUND, said.err


def test_blanks_around_a_text_in_python():
    names = {"__name__": "exported"}
    exec(compile(render_tree(BLANK_TREE, "python"), "exported.py", "exec"), names)
    assert [names["predict"]({"word": word}) for word in AROUND] == OF_AROUND
    exec(compile(render_tree(WORDS_TREE, "python"), "exported.py", "exec"), names)
    for word, wanted in zip(AROUND, OF_AROUND):
        row = {"size": word.replace("red", "3"), "code": "10"}
        if wanted == "red":
            assert names["predict"](row) == "level"
        else:
            with pytest.raises(ValueError, match="expected a number"):
                names["predict"](row)


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_blanks_around_a_text_in_javascript():
    import json

    text = json.dumps({"source": render_tree(BLANK_TREE, "javascript"), "rows": [{"word": word} for word in AROUND]})
    run = subprocess.run(["node", "-e", NODE], input=text, capture_output=True, text=True, encoding="utf-8", check=True)
    assert [row[1] for row in json.loads(run.stdout)] == OF_AROUND


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
def test_blanks_around_a_text_in_r(tmp_path):
    (tmp_path / "tree.R").write_text(render_tree(BLANK_TREE, "r"), encoding="utf-8")
    codes = ", ".join(map(str, BLANKS + NO_BLANKS))
    (tmp_path / "run.R").write_text(
        f'source("tree.R", encoding = "UTF-8")\nfor (sign in intToUtf8(c({codes}), multiple = TRUE)) '
        'for (word in c(paste0(sign, "red"), paste0("red", sign, sign))) '
        'cat(predict_class(list(word = word)), "\\n", sep = "")\n',
        encoding="utf-8",
    )
    environment = {"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin:/usr/local/bin"}
    done = subprocess.run(
        ["Rscript", "--vanilla", "run.R"], cwd=tmp_path, check=True, env=environment, capture_output=True, text=True
    )
    assert done.stdout.split("\n")[:-1] == OF_AROUND


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("javac") is None, reason="javac is not installed")
def test_blanks_around_a_text_in_java(tmp_path):
    (tmp_path / "DecisionTree.java").write_text(render_tree(BLANK_TREE, "java"), encoding="utf-8")
    codes = ", ".join(map(str, BLANKS + NO_BLANKS))
    said = run_java(
        tmp_path,
        "Ask",
        f"""
public class Ask {{
    public static void main(String[] words) {{
        for (int code : new int[] {{ {codes} }}) {{
            String sign = String.valueOf((char) code);
            System.out.println(DecisionTree.predict(java.util.Map.of("word", sign + "red")));
            System.out.println(DecisionTree.predict(java.util.Map.of("word", "red" + sign + sign)));
        }}
    }}
}}
""",
    )
    assert said == OF_AROUND


# The spreadsheet, by the package `formulas`, which knows the arithmetic of doubles and not Excel's 15 digits.

COLUMNS = (
    Feature("size", NUMERIC),
    Feature('colour "x"', CATEGORICAL, ('a "b"', "red", "blue")),
    Feature("code", CATEGORICAL, ("1", "2.5")),
    Feature("ok", "boolean", ("false", "true")),
)
SPLITS = (
    Threshold(0, 0.1 + 0.2),
    Threshold(0, -1 / 3),
    Subset(1, (0.0, 2.0)),
    Subset(2, (1.0,)),
    Subset(3, (1.0,)),
    Threshold(1, 0.5),
    Missing(0),
    Missing(1),
    Oblique((Term(0, 0.7, None), Term(1, -1.5, 1.0)), 0.25),
)
SIZES = (np.nan, -1 / 3, np.nextafter(-1 / 3, 0), 0.1 + 0.2, np.nextafter(0.3, 1), 0.3, 2.0, 5e-324)
CELLS = np.array([[s, c, k, b] for s in SIZES for c, k, b in ((np.nan, 0, 1), (0, 1, 0), (1, -1, np.nan), (-1, 1, -1))])


@pytest.mark.slow
@pytest.mark.parametrize("missing", ["drop", "separate"])
@pytest.mark.parametrize("split", SPLITS, ids=lambda split: split.kind)
def test_the_spreadsheet_tells_class_leaf_rule_and_shares(split, missing):
    formulas = pytest.importorskip("formulas", reason="the package formulas is not installed")
    empty = pytest.importorskip("schedula").EMPTY
    node = Branch(split, Leaf(0, (2.0, 1.0), (2, 1)), Branch(Subset(1, (1.0,)), Leaf(1), Leaf(0, (1.0, 5.0), (1, 5))))
    tree = Tree(node, COLUMNS, ("it's", 'say "no"'), "y", missing)
    header, row = csv.reader(io.StringIO(export(tree, "excel").decode("utf-8-sig")))
    assert header[:4] == [feature.name for feature in COLUMNS] and row[:4] == [""] * 4
    compiled = [formulas.Parser().ast(formula)[1].compile() for formula in row[4:]]
    for values, wanted in zip(CELLS, told(tree, CELLS)):
        sheet = {}
        for place, (feature, value) in enumerate(zip(COLUMNS, values)):
            cell = exported.typed(feature, value)
            if feature.kind == "boolean" and cell is not None:
                cell = {1: True, 0: False}.get(cell, "other")
            sheet["ABCD"[place] + "2"] = empty if cell is None else cell
        sheet["E2"] = compute(compiled[0], sheet)
        got = [sheet["E2"], *(compute(formula, sheet) for formula in compiled[1:])]
        if wanted is None:
            assert str(got[0]) == "#N/A"
        else:
            assert (got[0], got[1], got[2], got[3:]) == wanted


def trim(text: str) -> str:
    """TRIM as Excel has it: "removes all spaces from text except for single spaces between words"."""
    return " ".join(word for word in text.split(" ") if word)


def test_the_spreadsheet_tells_levels_apart_by_the_blanks_within(monkeypatch):
    formulas = pytest.importorskip("formulas", reason="the package formulas is not installed")
    from formulas.functions import wrap_ufunc

    as_excel = wrap_ufunc(trim, input_parser=lambda *given: map(str, given))  # the package strips only
    monkeypatch.setitem(formulas.get_functions(), "TRIM", as_excel)
    levels = ("a  b", "a b", "ab")
    for code, level in enumerate(levels):
        root = Branch(Subset(0, (float(code),)), Leaf(0, (1.0, 1.0), (1, 1)), Leaf(1, (1.0, 1.0), (1, 1)))
        tree = Tree(root, (Feature("word", CATEGORICAL, levels),), ("yes", "no"), "y", "separate")
        _, row = csv.reader(io.StringIO(export(tree, "excel").decode("utf-8-sig")))
        formula = formulas.Parser().ast(row[1])[1].compile()
        cells = [*levels, *(f" {one}  " for one in levels), "a   b", "b a b"]
        found = [compute(formula, {"A2": cell}) for cell in cells]
        assert found == [1 - (cell.strip() == level) for cell in cells], level


def compute(formula, sheet):
    given = [np.array([[sheet[name]]], dtype=object) for name in formula.inputs]
    return np.asarray(formula(*given), dtype=object).reshape(-1)[0]


def test_a_tree_too_large_for_a_spreadsheet_is_refused():
    root = Leaf(0)
    for depth in range(400):
        root = Branch(Threshold(0, float(depth)), root, Leaf(1))
    tree = Tree(root, (Feature("x", NUMERIC),), ("a", "b"))
    with pytest.raises(ChoiceError, match="expected a tree of at most 253 leaves"):
        export(tree, "excel")


def tree_of_numbers(missing: str) -> tuple[Tree, np.ndarray]:
    """(a regression tree whose leaves answer numbers that need all their digits, rows)."""
    features = (Feature("x", "numeric"), Feature("colour", "categorical", ("blue", "red")))
    # Of a leaf: rows, weight, w y, and two sums around the mean of all rows, which no answer needs.
    leaves = [Leaf(0, (3.0,), (2,), (2.0, 3.0, total, 0.0, 0.0)) for total in (1.0, -1e22, 0.5)]
    root = Branch(Threshold(0, 0.1), Branch(Subset(1, (1.0,)), *leaves[:2]), leaves[2])
    X = np.array([[0.0, 1.0], [0.1, 0.0], [0.2, 1.0], [0.1, -1.0]] + [[np.nan, 0.0]] * (missing == "separate"))
    return Tree(root, features, ("mean",), "y", missing, "regression"), X


@pytest.mark.parametrize("missing", ["drop", "separate"])
@pytest.mark.parametrize("to", ["c", "java", "r", "python", "javascript", "sql"])
def test_programs_of_trees_answer_their_numbers_to_the_last_digit(to, missing, tmp_path):
    from odtc.testing.generated_code import how_to_run, run_export
    from odtc.testing.property import NotTestedError
    from odtc.trees.exporting import suffix

    tree, X = tree_of_numbers(missing)
    try:
        said = run_export(how_to_run(to), export(tree, to).encode(), suffix(to), tree, X, tmp_path)
    except NotTestedError as missing_program:
        pytest.skip(str(missing_program))
    assert list(map(float, said)) == tree.answers(X).tolist()


@pytest.mark.parametrize("missing", ["drop", "separate"])
def test_an_onnx_file_answers_the_numbers_of_a_tree(missing):
    onnxruntime = pytest.importorskip("onnxruntime")
    tree, X = tree_of_numbers(missing)
    session = onnxruntime.InferenceSession(export(tree, "onnx"))
    colours = np.array([["blue"], ["red"], ["unseen"]])[X[:, 1].astype(int)]
    given = {"x": X[:, :1], "colour": colours}
    assert session.run(["prediction"], given)[0].tolist() == tree.answers(X).tolist()
    if missing == "drop":
        given["x"] = np.full_like(given["x"], np.nan)
        assert np.isnan(session.run(["prediction"], given)[0]).all()


def test_a_spreadsheet_of_numbers_has_them_in_its_formula_and_no_probabilities():
    header, line = export(tree_of_numbers("drop")[0], "excel").decode("utf-8-sig").splitlines()
    assert header == "x,colour,odtc_leaf,prediction,reason"
    assert "0.16666666666666666" not in line and "=CHOOSE(C2+1," in line
    (cells,) = csv.reader([line])
    answers = cells[3].removeprefix("=CHOOSE(C2+1,").removesuffix(")").split(",")
    assert [eval(answer) for answer in answers] == [1 / 3, -1e22 / 3, 0.5 / 3]


def deep_tree(turn: str, missing: str) -> tuple[Tree, np.ndarray]:
    """(a tree of 110 levels that go on at this side, where trees of scikit-learn have some 40; rows)."""
    columns = (Feature("x", NUMERIC), Feature("colour", CATEGORICAL, ("blue", "red")))
    whole = Leaf(0, (1.0, 1.0), (1, 1))
    for level in range(110):
        at = level if turn == "left" else -level
        split = Subset(1, (level % 2.0,)) if level % 7 == 0 else Threshold(0, float(at))
        other = Leaf(level % 3 % 2, (1.0, 1.0), (1, 1))
        whole = Branch(split, whole, other) if turn == "left" else Branch(split, other, whole)
    values = [(x, colour) for x in (-120.0, -30.5, -1.0, 0.0, 2.0, 44.0, 97.5, 108.0, 300.0) for colour in (0, 1, -1)]
    if missing == "separate":
        values.append((np.nan, 0))
    return Tree(whole, columns, ("no", "yes"), "y", missing), np.array(values, dtype=float)


@pytest.mark.every(3)
@pytest.mark.parametrize("missing", ["drop", "separate"])
@pytest.mark.parametrize("turn", ["left", "right"])
@pytest.mark.parametrize("to", ["sql", "r", "python"])
def test_a_deep_tree_is_cut_where_a_language_nests_no_deeper(to, turn, missing, tmp_path):
    from odtc.testing.generated_code import how_to_run, run_export
    from odtc.testing.property import NotTestedError
    from odtc.trees.exporting import suffix

    tree, X = deep_tree(turn, missing)
    try:
        said = run_export(how_to_run(to), export(tree, to).encode(), suffix(to), tree, X, tmp_path)
    except NotTestedError as missing_program:
        pytest.skip(str(missing_program))
    wanted = [tree.classes[k] for k in tree.predict(X)]
    assert said == wanted and len(set(wanted)) == 2


def test_a_missing_cell_is_refused_in_each_piece_of_a_deep_tree_in_sql():
    tree, X = deep_tree("left", "drop")
    X[:, 0] = np.nan
    assert exported.run_sql(tree, export(tree, "sql"), X) == [None] * len(X)


@pytest.mark.parametrize("most", [1, 3, 110, 200])
def test_pieces_hold_each_node_once_and_each_cut_twice(most):
    found = deep_tree("right", "drop")[0].places()
    cut = pieces(found, most)
    assert [root.number for root, _ in cut] == sorted(
        {0, *(p.number for p in found if len(p.path) % most == 0 and p.question)}
    )
    assert max(len(place.path) for _, piece in cut for place in piece) == min(most, 110)
    inside = [place.number for _, piece in cut for place in piece if place.question or place.is_leaf]
    assert sorted(inside) == list(range(len(found)))


@pytest.mark.parametrize("sign", [",", ";", "\t", "|"])
@pytest.mark.parametrize("above", ["", "\n\r\n"], ids=["", "below blank lines"])
def test_the_python_program_reads_what_stands_between_these_signs(sign, above, tmp_path):
    """As `odtc predict` does; it read commas alone, and asked for a column that was there."""
    features = (Feature("net; in, EUR", NUMERIC), Feature("colour", CATEGORICAL, ("red", "blue")))
    low = Branch(Subset(1, (0.0,)), Leaf(0), Leaf(1))
    tree = Tree(Branch(Threshold(0, 2.5), low, Leaf(1)), features, ("no", "yes"), "y")
    text = io.StringIO(newline="")
    rows = [["id", "colour", "net; in, EUR"], ["1|,;", "red", "2"], ["2", "blue", "2"], ["3", "red", "3.5"]]
    csv.writer(text, delimiter=sign).writerows(rows)
    (tmp_path / "tree.py").write_text(render_tree(tree, "python"), encoding="utf-8")
    given = (above + text.getvalue()).encode()
    said = subprocess.run([sys.executable, tmp_path / "tree.py"], input=given, capture_output=True, check=False)
    assert said.stdout.decode().split() == ["no", "yes", "yes"], said.stderr
    said = subprocess.run([sys.executable, tmp_path / "tree.py"], input=b"a;b\n1;2\n", capture_output=True, check=False)
    assert said.returncode == 1 and b"expected a column 'net; in, EUR' in the header, got a" in said.stderr


def test_a_row_of_pandas_with_its_own_missing_value_is_answered_by_the_python_program():
    pandas = pytest.importorskip("pandas")
    columns = (
        Feature("n", "numeric"),
        Feature("w", "categorical", ("a", "b")),
        Feature("k", "categorical", ("1", "2")),
    )
    rows = pandas.DataFrame({"n": [1, None, 1], "w": ["a", "a", None], "k": [1, 1, None]})
    rows = rows.astype({"n": "Int64", "w": "string", "k": "Int64"})
    for place, wanted in ((0, ["q", "p", "q"]), (1, ["q", "q", "p"]), (2, ["q", "q", "p"])):
        tree = Tree(Branch(Missing(place), Leaf(0), Leaf(1)), columns, ("p", "q"), "y", "separate")
        program: dict = {}
        exec(render_tree(tree, "python"), program)
        assert [program["predict"](row) for row in rows.astype(object).to_dict("records")] == wanted
        assert rows.apply(program["predict"], axis=1).tolist() == wanted

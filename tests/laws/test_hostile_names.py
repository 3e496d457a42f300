"""Names that would be commands of R or LaTeX: run by R, and read by a parser of TeX's rules."""

import re
import shutil
import subprocess
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odtc.base.templates.filters import r_str, tex
from odtc.base.text import one_line
from odtc.data.dataset import CATEGORICAL, NUMERIC, Feature
from odtc.data.splits import Subset, Threshold
from odtc.trees.rendering import render_tree
from odtc.trees.tree import Branch, Leaf, Tree

HOSTILE = (
    "'); file.create('pwned'); ('",
    '"); system("touch pwned"); ("',
    "x\\\n`file.create('pwned')`",
    "\\u{22}); file.create('pwned') #",
    "%in% }; file.create('pwned'); {",
    "R\"(x)\"; file.create('pwned')",
    "\\input{/etc/passwd}",
    "\\immediate\\write18{touch pwned}",
    "^^5cinput{x} ^^M~^_%$&#{}",
    "\\end{tikzpicture}\\end{document}",
    "a}; \\draw (0,0); {b",
    "-- --- ,, '' `` ?` !` << >>",
    "]{[\\\\[99cm]*",
    "größe 長い名前 😀 \u202e\u200b",
    "e\u0301 ≥ −5 ∞",
    "a\t\r\n\x0b\x1b[31m\x7f\x85b",
    "TRUE",
    "if",
    "...",
)
# What a text of ours may have besides signs that mean themselves.
COMMANDS = {
    "textbackslash": "\\",
    "textasciitilde": "~",
    "textasciicircum": "^",
    "textless": "<",
    "textgreater": ">",
    "textquotedbl": '"',
    "textquotesingle": "'",
    "textasciigrave": "`",
    "textbar": "|",
    "textminus": "−",
}
MATHS = {"\\leq": "≤", "\\geq": "≥", "\\neq": "≠", "\\cdot": "·", "\\infty": "∞"}
TOKEN = re.compile(
    r"\\(?P<command>[A-Za-z]+)\{\}|\\(?P<sign>[#$%&_{}])|\{(?P<kept>[-,\[\]])\}|\$(?P<maths>\\[a-z]+)\$|(?P<plain>[^\\{}$%^~#&_])"
)
LIGATURES = ("--", ",,", "''", "``", "?`", "!`", "<<", ">>")


def shown(text: str) -> str:
    """What TeX prints of a text; AssertionError for anything that is more than a text."""
    found, at, plain = [], 0, ""
    while at < len(text):
        token = TOKEN.match(text, at)
        assert token, f"TeX would take {text[at : at + 20]!r} for more than a text"
        plain = plain + token["plain"] if token["plain"] else ""
        assert not plain.endswith(LIGATURES), plain
        named = COMMANDS[token["command"]] if token["command"] else MATHS[token["maths"]] if token["maths"] else ""
        found.append(named or token["sign"] or token["kept"] or token["plain"])
        at = token.end()
    return "".join(found)


def tree_of(name: str, other: str = "b") -> Tree:
    """A tree with this name for a column, a level and a class."""
    features = (Feature(name, CATEGORICAL, (name, "other level")), Feature("n" + name, NUMERIC))
    root = Branch(Subset(0, (0.0,)), Branch(Threshold(1, 0.5), Leaf(0, (2.0, 1.0), (2, 1)), Leaf(1)), Leaf(1))
    return Tree(root, features, (name, other), target="t" + name)


@given(text=st.text() | st.lists(st.sampled_from(HOSTILE)).map("".join))
def test_tex_prints_a_text_as_it_is(text):
    assert shown(tex(text)) == unicodedata.normalize("NFC", one_line(text))


@pytest.mark.parametrize("name", HOSTILE)
def test_a_picture_in_latex_has_no_command_of_a_name(name):
    lines = [line for line in render_tree(tree_of(name), "latex").splitlines() if not line.startswith("%")]
    nodes = [re.fullmatch(r"  \\node\[\w+\] \(n\d+\) at \([\d., -]+\) \{(.*)\};", line) for line in lines]
    texts = [part for node in nodes if node for part in node[1].split("\\\\")]
    assert len([node for node in nodes if node]) == 5
    assert [shown(text) for text in texts][0].startswith(unicodedata.normalize("NFC", one_line(name)))
    others = [line for line, node in zip(lines, nodes) if not node]
    assert others == [
        line
        for line in render_tree(tree_of("x"), "latex").splitlines()
        if not line.startswith("%") and "\\node" not in line
    ]


@pytest.mark.slow
@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
def test_r_predicts_names_and_runs_none(locale, tmp_path):
    calls = []
    for at, name in enumerate(HOSTILE):
        about = (f"Data: {name}",)
        (tmp_path / f"t{at}.R").write_text(render_tree(tree_of(name), "r", about=about), encoding="utf-8")
        row = f"setNames(list({r_str(name)}, 0), c({r_str(name)}, {r_str('n' + name)}))"
        calls.append(
            f'source("t{at}.R", encoding = "UTF-8")\nstopifnot(identical(predict_class({row}), {r_str(name)}))'
        )
        other = f"setNames(list('elsewhere', 0), c({r_str(name)}, {r_str('n' + name)}))"
        calls.append(f'stopifnot(identical(predict_class({other}), "b"))')
    (tmp_path / "run.R").write_text("\n".join(calls) + "\n", encoding="utf-8")
    before = {path.name for path in tmp_path.iterdir()}
    environment = {"LC_ALL": locale, "PATH": "/usr/bin:/bin:/usr/local/bin"}
    done = subprocess.run(["Rscript", "--vanilla", "run.R"], cwd=tmp_path, env=environment, capture_output=True)
    assert done.returncode == 0, done.stderr.decode("utf-8", "replace")[-800:]
    assert {path.name for path in tmp_path.iterdir()} == before

"""Words that a stranger stumbled over: the name of a decoded tree, a proof without targets, intervals of means."""

import re

import numpy as np
import pytest

from odtc.data.reading import read
from odtc.data.tasks import survival
from odtc.trees.tree import read_tree
from tests.command_line import MONKS, odtc


@pytest.fixture
def alike(tmp_path):
    """Rows of which two are alike and of two classes, so that no tree is right on all."""
    (tmp_path / "alike.csv").write_text("x,y\n" + "1,a\n1,a\n1,b\n2,b\n" * 3)
    return tmp_path


def test_a_stem_for_decode_is_that_of_the_tree(alike):
    assert (
        odtc(
            "fit", "alike.csv", "--depth", "1", "--model", "flowoct", "--solver", "highs", "-o", "m", folder=alike
        ).code
        == 0
    )
    for named, written in (("again", "again.tree.json"), ("other.json", "other.json")):
        assert odtc("decode", "m.sol", "-o", named, folder=alike).code == 0
        assert (alike / written).is_file() and not (alike / "again").exists()


def test_a_proof_without_targets_says_what_it_rests_on(alike):
    said = odtc("certify", "alike.csv", "--depth", "2", folder=alike)
    assert said.code == 0 and "0 targets" not in said.out
    assert "no targets, as rows alike in every split cost as much" in said.out


def test_equal_numbers_have_no_interval_of_their_mean(tmp_path):
    (tmp_path / "n.csv").write_text("x,y\n1,10.4\n1,10.4\n2,3\n2,4\n2,5\n")
    said = odtc("fit", "n.csv", "--task", "regression", "--depth", "1", "-o", "n", folder=tmp_path)
    assert said.code == 0
    shown = odtc("show", "n.tree.json", folder=tmp_path).out
    assert "10.4 to 10.4" not in shown and "sd 0" in shown and "sd 1, mean 1.51586 to 6.48414 (95 %)" in shown


def test_figures_of_thousands_have_no_exponent(tmp_path):
    rows = [f"{at % 2},{20000 + 1.5 * (at % 4) * 1e4}" for at in range(40)]
    (tmp_path / "sums.csv").write_text("\n".join(["x,y", *rows]) + "\n")
    said = odtc("fit", "sums.csv", "--task", "regression", "--depth", "1", "-o", "n", folder=tmp_path)
    assert said.code == 0
    shown = odtc("show", "n.tree.json", folder=tmp_path).out
    assert "sd 15389.7, mean 27797.4 to 42202.6 (95 %)" in shown and "e+0" not in shown  # 20,000 and 50,000, ten each


def test_rows_that_go_right_as_they_lack_a_number_are_told_by_column(tmp_path):
    """x > 4 holds the rows without x under --missing separate; z, whose rows all have their number, is not told."""
    rows = [("" if at % 4 == 0 else at % 5, at % 3, "p" if at % 4 == 0 or at % 5 > 2 else "q") for at in range(48)]
    table = "x,z,y\n" + "".join(f"{x},{z},{y}\n" for x, z, y in rows)
    (tmp_path / "t.csv").write_text(table)
    said = odtc("fit", "t.csv", "--missing", "separate", "--depth", 2, "-o", "t", folder=tmp_path)
    tree = read_tree(tmp_path / "t.tree.json")
    assert "missing   a row without the number goes right at its threshold (>): 'x' (" in said.out
    told = int(re.search(r"'x' \((\d+) rows?\)", said.out)[1])
    data = read(tmp_path / "t.csv", missing="separate")

    def met(node, held):
        """The rows that meet a threshold on x without it, by their places."""
        if not hasattr(node, "split"):
            return set()
        split = node.split
        own = {at for at in held if split.kind == "threshold" and np.isnan(data.X[at, split.feature])}
        left = {at for at in held if split.left(data.X[at : at + 1])[0]}
        return own | met(node.left, left) | met(node.right, held - left)

    assert told == len(met(tree.root, set(range(48)))) > 0 and "'z'" not in said.out
    said = odtc("fit", "t.csv", "--depth", 2, "-o", "d", folder=tmp_path)
    assert "without the number" not in said.out


def test_a_score_on_the_training_file_says_so(tmp_path):
    for name, words in (("part", ("--hold-out", 0.25)), ("whole", ()), ("model", ("--model", "flowoct"))):
        words = (*words, "--encoding", "onehot", "--depth", 1, "-o", name)
        assert odtc("fit", MONKS / "monks-1.csv", *words, folder=tmp_path).code == 0
        said = odtc("predict", f"{name}.tree.json", MONKS / "monks-1.csv", "--score", folder=tmp_path)
        assert (
            said.code == 0 and "that the tree was trained on, so its score is not an estimate for new rows" in said.err
        )
        said = odtc("predict", f"{name}.tree.json", MONKS / "monks-1_test.csv", "--score", folder=tmp_path)
        assert said.code == 0 and "trained on" not in said.err
        said = odtc("predict", f"{name}.tree.json", MONKS / "monks-1.csv", folder=tmp_path)
        assert said.code == 0 and "trained on" not in said.err
    (tmp_path / "whole.tree.json").rename(tmp_path / "alone.tree.json")
    said = odtc("predict", "alone.tree.json", MONKS / "monks-1.csv", "--score", folder=tmp_path)
    assert said.code == 0 and "trained on" not in said.err


@pytest.mark.parametrize(
    ("columns", "advice"),
    [
        ({"age": 1, "time": 2, "cens": 0}, "--task survival --time time --event cens"),
        ({"Days": 2, "age": 1, "status": 0}, "--task survival --time Days --event status"),
        ({"age": 1, "time": 2, "died": 3}, "--task survival --time time --event died=yes"),
        ({"age": 1, "time": 2, "sold": 0}, ""),
        ({"age": 1, "size": 2, "event": 0}, ""),
    ],
)
def test_times_beside_an_event_are_told_of_survival(columns, advice, tmp_path):
    lines = [",".join(columns)]
    for at in range(40):
        lines.append(
            ",".join(
                str((at % 2, at % 7 + 30, at * 37 % 401 + 1, ("no", "yes")[at % 2])[kind]) for kind in columns.values()
            )
        )
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    notes = [note["text"] for note in odtc("inspect", "t.csv", "--json", folder=tmp_path).facts["notes"]]
    told = [text for text in notes if "--task survival" in text]
    assert bool(told) == bool(advice) and advice in "".join(told)
    if advice:
        said = odtc("fit", "t.csv", *advice.split(), "--depth", 1, folder=tmp_path)
        assert said.code == 0 and "--task survival" not in said.err


def test_a_quartile_that_is_not_reached_is_told_by_the_last_time():
    curve = ((0.0, 1.0), (3.0, 0.7), (5.0, 0.45), (8.0, 0.3))
    assert survival.leaf_words((10, 10.0, 8.0, 7.0), (), curve).endswith("median 5, quartiles 3 to above 8")
    assert survival.leaf_words((10, 10.0, 8.0, 7.0), (), (*curve, (9.0, 0.2))).endswith("quartiles 3 to 9")


@pytest.mark.parametrize(("option", "words"), [("--hold-out", ("25%", "0.25")), ("--gap", ("5%", "0.05"))])
def test_a_share_may_be_written_in_percent(option, words, tmp_path):
    (tmp_path / "t.csv").write_text("a,y\n" + "".join(f"{at},{'pq'[at > 9]}\n" for at in range(20)))
    said = [odtc("fit", "t.csv", option, word, "--depth", 1, "-o", "t", folder=tmp_path) for word in words]
    assert said[0].code == said[1].code == 0 and said[0].err == said[1].err
    assert said[0].out.partition("proved")[0] == said[1].out.partition("proved")[0]


def test_a_stem_for_solve_is_that_of_the_solution(alike):
    assert odtc("build", "alike.csv", "--depth", "1", "--model", "flowoct", "-o", "m", folder=alike).code == 0
    assert odtc("solve", "m.mps", "-o", "again", folder=alike).code == 0
    assert (alike / "again.sol").is_file() and not (alike / "again").exists()
    assert odtc("decode", "again.sol", folder=alike).code == 0


def test_the_progress_of_a_selection_names_its_pieces_once(alike):
    said = odtc("select", "alike.csv", "-o", "part.csv", folder=alike)
    assert said.code == 0 and re.search(r"clusters: (\d+) of \1\n", said.err), said.err

"""Shares in percent: 100 % and 0 % are exact."""

import pytest

from odtc.base.text import count_of, percent_text
from tests.command_line import odtc as command


@pytest.mark.parametrize(
    ("share", "text"),
    [(1.0, "100.00 %"), (0.0, "0.00 %"), (0.875, "87.50 %"), (0.99999999, "> 99.99 %"), (0.99994, "99.99 %"),
     (1e-9, "< 0.01 %"), (0.0001, "0.01 %"), (0.99995, "> 99.99 %"), (5e-324, "< 0.01 %")],
)  # fmt: skip
def test_nothing_rounds_to_all_or_nothing(share, text):
    assert percent_text(share) == text


@pytest.mark.parametrize("light", ["0.001", "1e-9"])
def test_misclassified_rows_of_little_weight_do_not_vanish(light, tmp_path):
    """Two equal rows of two classes: one of them is always wrong."""
    rows = [(0, "a", 1000), (0, "b", light), (1, "b", 1000)]
    (tmp_path / "d.csv").write_text("x,y,w\n" + "".join(f"{x},{y},{w}\n" for x, y, w in rows))
    (tmp_path / "t.csv").write_text((tmp_path / "d.csv").read_text())
    words = ("fit", "d.csv", "--target", "y", "--weights", "w", "--depth", 1, "--test", "t.csv", "-o", "m")
    said = command(*words, folder=tmp_path)
    assert said.code == 0, said.err
    assert "2 of 3" in said.out and "100.00 %" not in said.out and "by weight > 99.99 %" in said.out


def test_misclassified_test_rows_without_weight_do_not_count(tmp_path):
    """The tree has an error only on a test row of weight 0, so by weight all is correct."""
    rows = [(0, "a", 3), (0, "b", 0), (1, "b", 2)]
    (tmp_path / "d.csv").write_text("x,y,w\n" + "".join(f"{x},{y},{w}\n" for x, y, w in rows))
    (tmp_path / "t.csv").write_text((tmp_path / "d.csv").read_text())
    words = ("fit", "d.csv", "--target", "y", "--weights", "w", "--depth", 1, "--test", "t.csv", "-o", "m")
    said = command(*words, folder=tmp_path)
    assert said.code == 0, said.err
    assert "2 of 2" in said.out and said.out.count("by weight 100.00 %") >= 2, "ours and CART's"


@pytest.mark.parametrize(
    ("number", "noun", "form", "words"),
    [
        (1, "leaf", ",", "1 leaf"),
        (2, "leaf", ",", "2 leaves"),
        (0, "row", ",", "0 rows"),
        (3, "class", ",", "3 classes"),
        (1200, "split", ",", "1,200 splits"),
        (1200, "split", "", "1200 splits"),
    ],
)
def test_a_number_has_its_noun_in_the_singular_or_the_plural(number, noun, form, words):
    assert count_of(number, noun, form) == words

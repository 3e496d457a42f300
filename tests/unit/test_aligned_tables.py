"""Tables on the screen: each column is as wide as its widest cell, and numbers end under each other."""

import pytest

from odtc.base.text import aligned, table_text


@pytest.mark.parametrize("sides", ["lr", "rr"])
def test_numbers_of_the_last_column_end_under_each_other(sides):
    lines = table_text([["name", "rows"], ["a", "7"], ["b", "1234567"]], sides).split("\n")
    assert len({len(line) for line in lines}) == 1
    assert [line.split() for line in lines] == [["name", "rows"], ["a", "7"], ["b", "1234567"]]


def test_words_at_the_end_of_a_line_and_lines_without_cells_widen_nothing():
    assert (
        aligned("a\ta long sentence\nb\tc\td\na title of its own") == "a  a long sentence\nb  c  d\na title of its own"
    )
    assert aligned("a title of its own\n1\t2", "rr") == "a title of its own\n1  2"

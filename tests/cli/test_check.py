"""`odtc check`: it reports the properties that it tried, the one that failed, and the smallest example."""

import pytest

from tests.command_line import odtc

RIGHT = '''"""One threshold."""
from odtc.extend import Threshold
TYPE, NAME, SUMMARY, OPTIONS = "encoding", "right", "one threshold", {}
def splits(dataset, **options):
    return [(Threshold(0, 0.25), False)]
'''
WRONG = RIGHT.replace("right", "wrong").replace("0.25", "1 / (dataset.n_rows < 5)")


@pytest.fixture(autouse=True)
def own(tmp_path, monkeypatch):
    monkeypatch.setenv("ODTC_PLUGINS", "")
    (tmp_path / "wrong.py").write_text(WRONG)
    (tmp_path / "right.py").write_text(RIGHT)
    return tmp_path


def test_a_failed_property_is_reported_with_the_smallest_example(own):
    said = odtc("check", "wrong", "--property", "splits", "--plugin", "wrong.py", folder=own)
    assert said.code == 1 and "Traceback" not in said.err
    told = ("splits: failed at case", "property: Each column", "found: ZeroDivisionError: ", "(wrong.py:5)")
    assert all(words in said.out for words in told), said.out
    data = said.out.partition("data:\n")[2].split("encoding wrong")[0]
    assert data.split()[0] == "f0,class" and len(data.split()) == 6  # five rows, as few as break it
    assert said.out.endswith("encoding wrong: 0 of 1 passed, 1 failed\n")
    facts = odtc("check", "wrong", "--property", "splits", "--json", "--plugin", "wrong.py", folder=own).facts
    assert not facts["ok"] and "data" in facts["properties"][0]["example"]


def test_a_plug_in_of_a_stranger_passes(own):
    facts = odtc("check", "right", "--examples", 5, "--json", "--plugin", "right.py", folder=own).facts
    assert facts["ok"] and facts["type"] == "encoding" and [one["passed"] for one in facts["properties"]] == [True] * 3


def test_a_plug_in_of_which_nothing_was_tested_does_not_pass(own):
    (own / "none.py").write_text(RIGHT.replace("right", "none").replace("[(Threshold(0, 0.25), False)]", "[]"))
    said = odtc("check", "none", "--examples", 3, "--plugin", "none.py", folder=own)
    assert said.code == 1 and said.out.endswith("encoding none: 0 of 3 passed, 3 not tested\n")
    assert "got none from the encoding 'none'; use another encoding" in said.out  # the columns are not constant
    assert not odtc("check", "none", "--examples", 3, "--json", "--plugin", "none.py", folder=own).facts["ok"]


def test_names_of_two_kinds_and_of_none_are_answered_in_a_sentence(own):
    assert "is the name of a formulation and of a heuristic: choose one with --type" in odtc("check", "cart").err
    assert "did you mean 'flowoct'" in odtc("check", "flowct").err
    assert odtc("check", "name-value", "--examples", 1).out.endswith("point name-value: 2 of 2 passed\n")

"""A guess that is close gets the suggestion that works: signs and names of constraints, and options of commands."""

import re

import pytest

import odtc
from odtc.cli.app import MEANT_OPTIONS
from odtc.errors import ChoiceError
from odtc.problem.constraints.constraint import MEANT, SHORT
from odtc.problem.constraints.kind import CONSTRAINTS
from tests.command_line import MONKS, refused
from tests.command_line import odtc as command

ROWS = MONKS / "monks-1.csv"


def advice(text):
    """The constraint that a refusal proposes, which must be one that works."""
    with pytest.raises(ChoiceError) as refused:
        odtc.build(ROWS, "flowoct", 2, constraints=[text])
    found = re.search(r"(?:use [<>]=: |write (?:for example )?)'([^']*)'$", str(refused.value))
    assert found, str(refused.value)
    odtc.build(ROWS, "flowoct", 2, constraints=[found[1]])
    return found[1]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("recall[1] > 0.7", "recall[1] >= 0.7"),
        ("recall[1]≥0.7", "recall[1] >= 0.7"),
        ("recall[1] => 70%", "recall[1] >= 70%"),
        ("false_positive_rate[1] < 0.25", "false_positive_rate[1] <= 0.25"),
        ("splits < 3", "splits <= 2"),
        ("leaf_rows > 4", "leaf_rows >= 5"),
        ("leaf_rows == 5", "leaf_rows >= 5"),
        ("leaf_rows=5", "leaf_rows >= 5"),
        ("leaves =< 3", "leaves <= 3"),
        ("min_leaf >= 5", "leaf_rows >= 5"),
        ("min_samples_leaf >= 5", "leaf_rows >= 5"),
        ("leaf_row >= 5", "leaf_rows >= 5"),
        ("LEAVES <= 3", "leaves <= 3"),
        ("n_leaves <= 3", "leaves <= 3"),
        ("recal[1] >= 0.5", "recall[1] >= 0.5"),
        ("sensitivity[1] >= 0.5", "recall[1] >= 0.5"),
    ],
)
def test_a_constraint_that_is_close_is_answered_by_the_one_that_is_meant(text, meant):
    assert advice(text) == meant


@pytest.mark.parametrize(
    "text", ["precision > 0.5", "specificity[1] >= 0.9", "error <= 0.1", "fnr >= 0.1", "parity <= 0.1", "odds <= 0.1"]
)
def test_a_guess_whose_arguments_do_not_fit_is_answered_by_an_example(text):
    advice(text)


def test_the_depth_is_an_option_and_what_is_near_nothing_lists_all():
    for text, words in (("max_depth <= 3", "is `depth`"), ("zzz <= 1", "known: leaf_rows, ")):
        with pytest.raises(ChoiceError, match=words):
            odtc.build(ROWS, "flowoct", 2, constraints=[text])
    with pytest.raises(ChoiceError, match="leaf_rows', or `min_leaf_rows`"):
        odtc.build(ROWS, "flowoct", 2, constraints=["min_leaf >= 5"])


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("--min-leaf", "--min-leaf-rows"),
        ("--min_leaf_rows", "--min-leaf-rows"),
        ("--min-samples-leaf", "--min-leaf-rows"),
        ("--timelimit", "--time-limit"),
        ("--class_weights", "--class-weight"),
        ("--dept", "--depth"),
        ("--seperator", "--separator"),
        ("--sep", "--separator"),
        ("--output", "-o"),
        ("--max-leaves", "--constraint 'leaves <= N'"),
        ("--test-size", "--hold-out"),
    ],
)
def test_an_unknown_option_is_answered_by_the_nearest_one(given, meant):
    assert f"No such option: {given} (did you mean {meant}?)" in refused(command("fit", ROWS, given, "5"), code=2)


def test_an_option_that_is_near_nothing_is_answered_by_the_help():
    said = refused(command("fit", ROWS, "--criterion", "gini"), code=2)
    assert "No such option: --criterion; see `odtc fit --help`" in said


def test_what_is_proposed_exists():
    assert set(MEANT.values()) | set(SHORT) <= set(CONSTRAINTS.names())
    text = command("fit", "--help").out + command("tune", "--help").out + command("bench", "models", "--help").out
    for option in set(MEANT_OPTIONS.values()):
        assert option.partition(" ")[0] in text, option

"""Messages that name options of the command line, in the words of Python."""

import dataclasses
import inspect

import pytest

import odtc
from odtc.base.python_words import LISTS, NAMES, OTHERS, TEXTS, VALUES, in_python
from odtc.base.spec_fields import NAMES as OF_NAMES
from odtc.base.spec_fields import PAIRS, REPEATED, flag_of
from odtc.workflow.specification import ModelSpec, ReadingSpec, SolvingSpec


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (
            "allow more time (--time-limit), or a smaller --depth",
            "allow more time (`time_limit`), or a smaller `depth`",
        ),
        ("fewer tests (--encoding auto:bins=8), --depth 2", 'fewer tests (encoding="auto:bins=8"), depth=2'),
        (
            "1 with missing cells (--missing separate keeps them)",
            '1 with missing cells (missing="separate" keeps them)',
        ),
        ("leave it out with --ignore, since it is one", "leave it out with `ignore`, since it is one"),
        ("expected --ignore to name a column", "expected `ignore` to name a column"),
        ("name it with --missing-mark 'age=-999'", 'name it with missing_mark=["age=-999"]'),
        ("--missing-mark unknown takes it for missing", 'missing_mark=["unknown"] takes it for missing'),
        ("--weights Freq counts them", 'weights="Freq" counts them'),
        ("--target names the column to predict", "`target` names the column to predict"),
        ("(--task regression)", '(task="regression")'),
        ("a leaf of --task policy costs", 'a leaf of task="policy" costs'),
        ("--decimal , reads 1040", 'decimal="," reads 1040'),
        ("with --decimal . (1070.85)", 'with decimal="." (1070.85)'),
        ("--constraint 'recall[yes] >= 0.8' asks for it", 'constraints="recall[yes] >= 0.8" asks for it'),
        ("--class-weight balanced or --constraint x", 'class_weight="balanced" or constraints="x"'),
        ("--task survival --time t --event 'died=x y' predicts", 'task="survival" time="t" event="died=x y" predicts'),
        ("give a start (--start cart)", 'give a start (start_from="cart")'),
        ("`--model auto` chose it", 'model="auto" chose it'),
        ("--model auto: 12 tests", 'model="auto": 12 tests'),
        ("with -p proof=true, or -p lambda=0.1;", "with proof=True, or lambda_=0.1;"),
        ("`odtc verify FILE.sol --confirm cbc`", "`odtc verify FILE.sol --confirm cbc`"),
        ("2 more remarks: `odtc inspect` shows them", "2 more remarks: `odtc.inspect` shows them"),
        ("add --pool K, which lists them", "add --pool K, which lists them"),
        ("--time-limit: expected seconds above 0, got -1", "`time_limit`: expected seconds above 0, got -1"),
        ("keep them with --categorical code", 'keep them with categorical=["code"]'),
        ("in --ordered or in --numeric", "in `ordered` or in `numeric`"),
        ("with --ordered 'size=small<large'", 'with ordered=["size=small<large"]'),
        ("12 % of -pages are 3 -- 4, - p=3", "12 % of -pages are 3 -- 4, - p=3"),
    ],
)
def test_an_option_is_the_keyword_with_its_value(text, wanted):
    assert in_python(text) == wanted
    assert in_python(wanted) == wanted


def test_every_option_of_a_run_is_known_by_its_keyword():
    for spec in (ReadingSpec, ModelSpec, SolvingSpec):
        for field in dataclasses.fields(spec):
            flag, form = flag_of(field).removeprefix("--"), field.metadata.get("form")
            if form == PAIRS:
                continue
            assert flag in VALUES or flag in NAMES, flag
            keyword = "start_from" if flag == "start" else field.name
            assert OTHERS.get(flag, flag.replace("-", "_")) == keyword
            assert (form == OF_NAMES) == (flag in LISTS) and (form == REPEATED) == (flag in TEXTS | {"constraint"})
    assert {"start_from", "test"} <= set(inspect.signature(odtc.fit).parameters)

"""Numbers in our JSON files: every double, and nothing else."""

import json
import sys
from dataclasses import asdict

import pytest

from odtc.base.json_schema import ANY, NOT_WHOLE, NUMBER, REAL, SchemaError, explain_error, schema_of, validate
from odtc.data.reading_spec import ReadingSpec
from odtc.workflow.specification import ModelSpec, SolvingSpec


@pytest.mark.parametrize("value", [0, -1, 5e-324, 1e308, -sys.float_info.max, int(sys.float_info.max)])
def test_every_finite_double_is_a_number(value):
    validate(value, NUMBER)
    validate(value, REAL)


@pytest.mark.parametrize("value", [10**309, -(10**400), float("inf"), float("nan"), True, "1", None])
def test_what_is_no_finite_double_is_none(value):
    with pytest.raises(SchemaError, match="expected a finite number at bound, got"):
        validate(value, NUMBER, "bound")


@pytest.mark.parametrize("record", [ReadingSpec(), ModelSpec(), ModelSpec(cuts=("a",), start=None), SolvingSpec()])
def test_a_specification_satisfies_the_schema_of_its_annotations(record):
    schema = schema_of(type(record))
    facts = json.loads(json.dumps(asdict(record)))
    validate(facts, schema)
    for name in facts:
        if schema[name] != ANY:
            with pytest.raises(SchemaError, match="expected .*, got "):
                validate(facts | {name: [7]}, schema)


@pytest.mark.parametrize("fault", ["None[0]", "(1).a", "[][0]", "float(10**400)"])
def test_a_fault_of_python_is_explained_without_its_objects(fault):
    with pytest.raises(NOT_WHOLE) as caught:
        eval(fault)
    assert explain_error(caught.value).endswith(("in a file of odtc", "is too large"))

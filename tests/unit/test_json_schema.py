"""What a number in a file of ours may be: every double, and nothing else."""

import sys

import pytest

from odtc.base.json_schema import NUMBER, REAL, SchemaError, validate


@pytest.mark.parametrize("value", [0, -1, 5e-324, 1e308, -sys.float_info.max, int(sys.float_info.max)])
def test_every_finite_double_is_a_number(value):
    validate(value, NUMBER)
    validate(value, REAL)


@pytest.mark.parametrize("value", [10**309, -(10**400), float("inf"), float("nan"), True, "1", None])
def test_what_is_no_finite_double_is_none(value):
    with pytest.raises(SchemaError, match="expected a finite number at bound, got"):
        validate(value, NUMBER, "bound")

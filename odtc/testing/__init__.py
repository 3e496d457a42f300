"""Property tests of plug-ins: the plug-ins of odtc and your own (`odtc check NAME`).

In a test of your package:

    import pytest
    from odtc.testing import cases

    @pytest.mark.parametrize("case", cases("cut", "my_cut"), ids=str)
    def test_property(case):
        case.expect()

The property tests need the package hypothesis: `pip install hypothesis`.
"""

try:
    import hypothesis as _hypothesis  # noqa: F401
except ImportError:
    from odtc.errors import ChoiceError

    raise ChoiceError(
        "the property tests need the package 'hypothesis', which is not installed: pip install hypothesis"
    ) from None

from odtc.testing.property import Case, Outcome, Property, PropertyFailedError, Trial
from odtc.testing.suite import cases, properties, types

__all__ = ["Case", "Property", "PropertyFailedError", "Outcome", "Trial", "cases", "properties", "types"]

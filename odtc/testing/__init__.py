"""The laws that every member obeys, in the wheel: for members of odtc and for your own (`odtc check NAME`).

In a test of your package:

    import pytest
    from odtc.testing import cases

    @pytest.mark.parametrize("case", cases("cut", "my_cut"), ids=str)
    def test_law(case):
        case.expect()

The laws need the package hypothesis: `pip install hypothesis`.
"""

try:
    import hypothesis as _hypothesis  # noqa: F401
except ImportError:
    from odtc.errors import ChoiceError

    raise ChoiceError(
        "the laws need the package 'hypothesis', which is not installed: pip install hypothesis"
    ) from None

from odtc.testing.law import Case, Law, LawBrokenError, Outcome, Trial
from odtc.testing.suite import cases, kinds, laws

__all__ = ["Case", "Law", "LawBrokenError", "Outcome", "Trial", "cases", "kinds", "laws"]

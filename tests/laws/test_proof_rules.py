"""No corruption of any rule of a certificate proves something false, and wild numbers are proved exactly or not at all.

The same as `python -m benchmarks.proof_rules`, of few files.
"""

import shutil

import pytest

from benchmarks.proof_rules import RULES, numbers, tried


@pytest.mark.parametrize("rule", RULES)
def test_changed_certificates_are_refused_or_true_and_both_checkers_say_the_same(rule):
    ends = tried(rule, 40, 2, bool(shutil.which("node")))
    assert set(ends) <= {"refused", "true"} and sum(ends.values()) == 40, ends


def test_numbers_of_all_sizes_are_proved_exactly_or_not_at_all():
    ends = numbers(40, 2)
    assert not any("FALSE" in end for end in ends) and any("certified" in end for end in ends), ends

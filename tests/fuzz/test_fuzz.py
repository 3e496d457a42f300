"""The corpus and mutations of it from fixed seeds: seconds of a long run (`python -m tests.fuzz`)."""

import random

import pytest

from tests.fuzz.mutation import mutated
from tests.fuzz.targets import TARGETS, attempt, seeds, show

MUTATIONS = 40


@pytest.mark.parametrize("target", TARGETS)
def test_any_bytes_are_read_or_refused_in_a_sentence(target):
    known, rnd, taken = seeds(target), random.Random(target), 0
    few = target.endswith("-highs")  # which takes a second for each file of which HiGHS never comes back
    for number in range(len(known) + (MUTATIONS // 4 if few else MUTATIONS)):
        data = known[number] if number < len(known) else mutated(rnd.choice(known), known, rnd)
        try:
            taken += attempt(target, data)
        except Exception as problem:
            raise AssertionError(f"{type(problem).__name__}: {problem} for {show(data)}") from problem
    assert taken

"""A seeded part of benchmarks/corruptions.py: no change of one file of a run makes `verify` claim more or other."""

from benchmarks.corruptions import KINDS, tried


def test_no_corruption_of_a_file_is_believed():
    seen = tried(2, seed=7, depth=1)
    assert not any(end == "SURVIVES" for _, end in seen), seen
    assert {kind for kind, _ in seen} == set(KINDS)
    assert any(end == "refused" for _, end in seen)

"""Whether a certificate is over all tests of a run, against the sets of rows themselves."""

from functools import cache

import numpy as np
import polars as pl
import pytest

from odtc import read
from odtc.data.reading import from_frame
from odtc.data.splits import Missing, Oblique, Subset, Term, Threshold
from odtc.verification.threshold_columns import left_of
from odtc.workflow.provenance.split_coverage import _is_covered, uncovered_splits
from tests import pipeline

EVERY = dict.fromkeys("abc", (1, 1))  # features of which some splits are left out


@cache
def table():
    rng = np.random.default_rng(6)
    a, b, c, y = rng.integers(0, [5, 4, 3, 2], (40, 4)).T.tolist()
    return from_frame(pl.DataFrame({"a": a, "b": b, "c": ["xyz"[k] for k in c], "y": y}), "d")


def problem_of(rows, constraints=()):
    return pipeline.build(rows, "flowoct", 1, encoding="auto", constraints=constraints).problem


def threshold(name, at):
    return {"feature": name, "kind": "threshold", "threshold": at}


def sides(tests, rows):
    return {frozenset({left_of(test, rows).tobytes(), (~left_of(test, rows)).tobytes()}) for test in tests}


@pytest.mark.parametrize("seed", range(6))
def test_tests_are_counted_that_part_the_rows_as_none_of_the_certificate_does(seed):
    rows = table()
    rng, problem = np.random.default_rng(seed), problem_of(rows)
    known = [threshold("a", at + 0.5) for at in range(4)] + [threshold("b", at + 0.25) for at in range(3)]
    known += [{"feature": "c", "kind": "subset", "values": [value]} for value in "xyz"]
    known = [test for test in known if rng.random() < 0.6] or known[:1]
    told = sides(known, rows)
    lacking = sum(
        frozenset({test.left(rows.X).tobytes(), (~test.left(rows.X)).tobytes()}) not in told
        for test in problem.encoded.splits
    )
    columns = [test for test in known if test["kind"] != "threshold"]
    for name in "ab":
        cuts = sorted(test["threshold"] for test in known if test["feature"] == name)
        columns += [{"feature": name, "kind": "threshold", "thresholds": cuts}] if cuts else []
    assert uncovered_splits(problem, rows, {"columns": columns}, EVERY) == lacking


def test_whole_columns_and_what_the_check_has_counted_need_no_look():
    rows = table()
    problem = problem_of(rows)
    numbers = [{"feature": name, "kind": "threshold"} for name in "ab"]
    levels = sum(not isinstance(test, Threshold) for test in problem.encoded.splits)
    assert levels == 3 and uncovered_splits(problem, rows, {"columns": numbers}, EVERY) == levels
    assert uncovered_splits(problem, rows, {"columns": numbers}, {"c": (3, 3)}) == levels
    assert uncovered_splits(problem, rows, {"columns": numbers}, {}) == 0
    assert uncovered_splits(problem, rows, {"columns": numbers[:1]}, {"b": (3, 3)}) == 3


def test_under_constraints_a_test_of_another_column_is_another_test(tmp_path):
    path = tmp_path / "d.csv"
    path.write_text("a,b,y\n" + "".join(f"{i % 4},{i % 4},{i % 2}\n" for i in range(20)))
    rows = read(path)
    for constraints, lacking in (((), 0), (("features <= 1",), 3)):
        problem = problem_of(rows, constraints)
        facts = {"columns": [{"feature": "b", "kind": "threshold"}]}
        assert len(problem.encoded.splits) == 3 + lacking
        for left_out in ({"a": (3, 3)}, {"a": (3, 3), "b": (3, 3)}):
            assert uncovered_splits(problem, rows, facts, left_out) == lacking


def test_nested_splits_of_a_certificate_are_on_their_own_column():
    rows = table()
    problem = problem_of(rows, ("features <= 2",))
    numbers = [{"feature": name, "kind": "threshold"} for name in "ab"]
    of_levels = [{"feature": "c", "kind": "subset", "values": values} for values in (["x"], ["x", "y"])]
    nested = {"kind": "nested", "splits": of_levels, "turned": [False, False]}  # y or z is right of x, and z of both
    assert uncovered_splits(problem, rows, {"columns": [*numbers, nested]}, {"c": (3, 3)}) == 1  # c = y
    other = nested | {"splits": [threshold("a", 0.5), threshold("a", 1.5)]}
    assert uncovered_splits(problem, rows, {"columns": [*numbers, other]}, {"c": (3, 3)}) == 3


def test_what_the_check_counts_is_single_levels_thresholds_and_missing_cells():
    rows = table()
    for test in (Threshold(0, 1.5), Missing(0), Subset(0, (1.0,))):
        assert _is_covered(test, rows, {}) and _is_covered(test, rows, {"b": (1, 1)})
        assert not _is_covered(test, rows, {"a": (1, 1)})
    assert not _is_covered(Subset(2, (0.0, 1.0)), rows, {})
    assert not _is_covered(Oblique((Term(0, 1.0), Term(1, 1.0)), 2.0), rows, {})

"""The net (benchmarks.net) can fail: planted faults are reported, in real runs and in altered records."""

import sys
from fractions import Fraction
from pathlib import Path

import pytest

from benchmarks.net import reference
from benchmarks.net.cells import cells
from benchmarks.net.measure import Tree, run
from benchmarks.net.names import Names
from benchmarks.net.tables import ROOT, table_file
from benchmarks.net.verdict import Verdict, judge_answers, judge_limits, judge_times, read_answers

CELL, CERTIFIED = "task policy: fit small-8 --depth 2", "task policy: certify small-8 --depth 2"
SEARCH = """
from dataclasses import replace
import odtc.formulations.dpflow as dpflow
search = dpflow.search
def planted(problem, start, *given):
    found = search(problem, start, *given)
    return {}
dpflow.search = planted
"""
PLANTED = {
    "bound": (CELL, SEARCH.format("replace(found, bound=found.bound - 1, proved=False, certificate=None)"), "bound"),
    "tree": (
        CELL,
        SEARCH.format("replace(found, heap=start, written=None, proved=True, certificate=None)"),
        "objective",
    ),
    "certificate": (
        CELL,
        SEARCH.format(
            "replace(found, certificate=lambda: (made := found.certificate()) | {'claim': made['claim'] + 1})"
        ),
        "certificate",
    ),
    "certificate file": (
        CERTIFIED,
        """
import atexit, json, pathlib
def planted():
    path = pathlib.Path("net.certificate.json")
    facts = json.loads(path.read_text())
    path.write_text(json.dumps(facts | {"claim": facts["claim"] + 1}))
atexit.register(planted)
""",
        "certificate",
    ),
}
NUMBERS = "bundled: fit iris --depth 3"
SLOWER = """
import time
from odtc.algorithms.thresholds.rank_search import RankSearch
solve = RankSearch.solve
def planted(*given, **more):
    end = time.process_time() + 0.3
    while time.process_time() < end:
        pass
    return solve(*given, **more)
RankSearch.solve = planted
"""


def measured(name: str, folder: Path, patch: str = ""):
    """One run of a cell from this checkout, with a fault planted by a piece of Python."""
    cell = next(cell for cell in cells() if cell.name == name)
    planted = folder / "planted.py"
    planted.write_text(patch)
    tree = Tree(ROOT, Names.of(ROOT, sys.executable))
    return run(tree, cell.words(table_file(cell.table, folder)), cpu_clock=True, patch=planted)


def reasons(name: str, answer: dict) -> str:
    verdict = Verdict()
    judge_answers(read_answers(), {name: answer}, verdict)
    return "\n".join(verdict.reasons)


@pytest.mark.slow
@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_in_a_real_run_is_reported(fault, tmp_path):
    name, patch, word = PLANTED[fault]
    assert word in reasons(name, measured(name, tmp_path, patch).answer)


@pytest.mark.slow
def test_a_planted_slower_kernel_is_reported_and_equal_runs_are_not(tmp_path):
    before, after = measured(NUMBERS, tmp_path), measured(NUMBERS, tmp_path, SLOWER)
    assert reasons(NUMBERS, before.answer) == "" == reasons(NUMBERS, after.answer)
    verdict = Verdict()
    judge_times({CELL: {"cpu": ([before.cpu], [before.cpu]), "search": ([before.search], [after.search])}}, verdict)
    assert any("search" in reason and "times as slow" in reason for reason in verdict.reasons)
    assert not any("command" in reason for reason in verdict.reasons)


ANSWER = {
    "exit": 0,
    "ended": "optimal",
    "objective": 7.0,
    "bound": 7.0,
    "leaves": 4,
    "certified": True,
    "verified": True,
}


@pytest.mark.parametrize(
    "change, word",
    [
        ({"bound": 6.0}, "bound 6.0, expected 7.0"),
        ({"bound": 8.0}, "above the optimum"),
        ({"objective": 8.0, "bound": 8.0}, "objective 8.0, expected 7.0"),
        ({"objective": 6.0, "bound": 6.0}, "below the optimum"),
        ({"ended": "time_limit"}, "ended 'time_limit'"),
        ({"exit": 1, "ended": "error", "message": "no"}, "exit code 1"),
        ({"certified": None}, "certificate"),
        ({"leaves": 5}, "5 leaves, expected 4"),
        ({"verified": False}, "verified"),
        ({"more": "certificate refused"}, "certificate refused"),
    ],
)
def test_an_altered_answer_is_reported(change, word):
    stored = ANSWER | {"exhaustive": 7.0, "more": "certificate accepted"}
    answer = ANSWER | {"more": "certificate accepted"}
    verdict = Verdict()
    judge_answers({"a": stored}, {"a": answer}, verdict)
    assert not verdict.red
    judge_answers({"a": stored}, {"a": answer | change}, verdict)
    assert any(word in reason for reason in verdict.reasons)


@pytest.mark.parametrize("bound, red", [(6.9999, False), (6.99995, False), (7.0, False), (6.999, True), (7.1, True)])
def test_a_bound_may_only_come_nearer_to_the_optimum(bound, red):
    stored = ANSWER | {"exhaustive": 7.0, "bound": 6.9999}
    verdict = Verdict()
    judge_answers({"a": stored}, {"a": ANSWER | {"bound": bound}}, verdict)
    assert verdict.red == red


def test_a_known_bug_passes_as_it_is_and_repaired_but_not_otherwise():
    stored = ANSWER | {"exhaustive": 5.0, "bug": "contradicts exhaustive search"}
    for answer, red in (
        (ANSWER, False),
        (ANSWER | {"objective": 5.0, "bound": 5.0}, False),
        (ANSWER | {"bound": 6.0}, True),
    ):
        verdict = Verdict()
        judge_answers({"a": stored}, {"a": answer}, verdict)
        assert verdict.red == red
        assert red or len(verdict.notes) == 1


def test_times_are_judged_by_cell_and_by_geometric_mean():
    def judged(before, after):
        verdict = Verdict()
        both = {f"cell {at}": (one, two) for at, (one, two) in enumerate(zip(before, after))}
        judge_times(
            {name: {"cpu": ([one] * 5, [two] * 5), "search": ([0.0], [0.0])} for name, (one, two) in both.items()},
            verdict,
        )
        return verdict

    assert not judged([1, 1, 1], [1.2, 0.8, 1]).red
    assert "cell 1: command 1.30 times as slow" in str(judged([1, 1, 1], [0.5, 1.3, 1]))
    assert "geometric mean" in str(judged([1, 1, 1], [1.1, 1.1, 1.1]).reasons)
    assert not judged([0.01], [0.04]).red


def test_a_search_that_is_not_measured_is_no_quick_one():
    verdict = Verdict()
    judge_times({"a": {"cpu": ([1.0], [1.0]), "search": ([0.5], [0.0])}}, verdict)
    assert any("no search was measured" in reason for reason in verdict.reasons)


def test_trees_and_bounds_at_a_limit_are_judged_by_their_means():
    before = {"objective": 100.0, "bound": 50.0}
    for after, red in (
        ({}, False),
        ({"objective": 99.0}, False),
        ({"objective": 103.0}, True),
        ({"bound": 40.0}, True),
    ):
        verdict = Verdict()
        judge_limits({"table": (before, before | after)}, verdict)
        assert verdict.red == red


def test_the_reference_finds_what_a_count_by_hand_finds(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,b,w,y\n1,u,0.1,p\n2,u,0.2,n\n3,v,0.3,p\n4,v,1e-20,n\n")
    assert reference.least(path, ("--weights", "w", "--depth", "1")) == Fraction("0.1") + Fraction("1e-20")
    assert reference.least(path, ("--weights", "w", "--depth", "2", "--constraint", "leaves <= 3")) == Fraction("1e-20")
    assert reference.least(path, ("--weights", "w", "--depth", "1", "--constraint", "recall[n] >= 1")) == Fraction(
        "0.3"
    )
    assert reference.least(path, ("--weights", "w", "--depth", "1", "--constraint", "accuracy >= 1")) is None


def test_every_cell_has_an_answer():
    stored = read_answers()
    assert [cell.name for cell in cells() if cell.name not in stored and not cell.table.startswith("data:")] == []
    assert set(stored) <= {cell.name for cell in cells()}

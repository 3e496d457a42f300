"""The exact judge finds no false claim in twenty drawn problems, and sees one that is made."""

import random
from dataclasses import replace
from fractions import Fraction

import pytest

from benchmarks import exact_judge
from benchmarks.exact_reference import Case, Reference

TABLE = [{"x0": x, "y": y, "w": w} for x, y, w in (("1", "c0", "0.1"), ("1", "c1", "0.2"), ("2", "c1", "0.3"))]


def case() -> Case:
    return Case("classification", TABLE, 1, {"task": "classification", "weights": "w"}, {"model": "auto"})


@pytest.mark.parametrize("number", range(20))
def test_no_claim_of_a_drawn_problem_is_false(number, tmp_path):
    drawn = exact_judge.drawn(random.Random(f"test/{number}"), ["classification", "median"], ["auto", "flowoct"])
    _, found = exact_judge.judged(replace(drawn, way="memory"), tmp_path)
    assert not found


def test_the_reference_is_the_optimum_by_hand():
    assert Reference(case()).optimum() == Fraction(1, 10)


def test_missing_cells_are_on_the_other_side_of_a_set_of_levels(tmp_path):
    """r and the missing cells against b and g; without the set {b, g} one row is wrong."""
    table = [{"x0": x, "y": y} for x, y in (("b", "c0"), ("g", "c0"), ("r", "c1"), ("", "c1"))]
    sets = Case("classification", table, 1, {"task": "classification", "missing": "separate"}, {"model": "auto"})
    outcome, found = exact_judge.judged(sets, tmp_path)
    assert outcome.claim == "optimal" and not found and Reference(sets).optimum() == 0


@pytest.mark.parametrize(
    "forged", [{"objective": 0.2}, {"bound": 0.1000000000001}, {"claim": "infeasible"}, {"objective": 0.1 + 1e-13}]
)
def test_a_false_claim_is_seen(forged, tmp_path):
    outcome, found = exact_judge.judged(case(), tmp_path)
    assert outcome.claim == "optimal" and not found
    assert exact_judge.faults(case(), replace(outcome, **forged))


@pytest.mark.parametrize("seed", [7, 39, 62])
def test_a_heavy_row_hides_no_better_tree_of_medians(seed, tmp_path):
    draw = random.Random(seed)
    n = draw.choice([5, 6, 7, 8])
    light = [repr(float(f"{draw.randint(1, 9)}e{draw.randint(-6, 2)}")) for _ in range(n)]
    weights = ["6e15", draw.choice(["6e13", "1", "1e9"]), *light[2:]]
    numbers = ["-0.17", draw.choice(["1e9", "1.0", "0"]), *(repr(draw.randint(1, 999) / 1000) for _ in light[2:])]
    table = [{"x0": repr(draw.random()), "w": w, "y": y} for w, y in zip(weights, numbers)]
    heavy = Case("median", table, 2, {"task": "median", "weights": "w", "missing": "drop"}, {"model": "dpflow"})
    outcome, found = exact_judge.judged(heavy, tmp_path)
    assert outcome.claim == "optimal" and not found


@pytest.mark.parametrize("seed", [0, 16])
def test_savings_of_a_policy_are_compared_with_all_digits(seed, tmp_path):
    """6e13 - 0.0006 and 6e13 - 0.0003, times 0.3, are one double."""
    draw = random.Random(seed)
    cells = ["0.0006", "0.0003", "60000000000000.0", "7.0", "0.0001", "30000000000000.0"]
    table = [
        {
            "x0": str(draw.randint(0, 2)),
            "w": draw.choice(["0.3", "0.7", "0.1"]),
            **{a: draw.choice(cells) for a in "abc"},
        }
        for _ in range(5)
    ]
    reading = {"task": "policy", "weights": "w", "actions": ("a", "b", "c"), "missing": "drop"}
    outcome, found = exact_judge.judged(Case("policy", table, 1, reading, {"model": "auto"}), tmp_path)
    assert outcome.claim == "optimal" and not found


def test_a_claim_that_a_start_contradicts_is_none():
    said = (
        "CBC 2.10.8 found no solution: it ended as error: it says infeasible, but its start is a solution of the model"
    )
    assert exact_judge.without_tree(said) == "best"
    assert exact_judge.without_tree("the model is infeasible") == "infeasible"

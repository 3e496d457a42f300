"""Tolerances accept a difference of half their size and refuse twice their size, for figures of all sizes."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp

import odtc
from odtc.errors import ChoiceError
from odtc.estimators.cost_complexity import SAME
from odtc.estimators.least_weight import fits, least_rows
from odtc.model.blocks import NamedBlock
from odtc.model.feasibility import TOLERANCE, check_claim, check_point, is_close
from odtc.model.milp import Model
from odtc.model.solution import gap, gap_in_words, is_proved
from odtc.problem.constraints.constraint import broken, parse, posed
from odtc.problem.constraints.kind import CONSTRAINTS, SHARES
from odtc.problem.constraints.on_predictions import lines, predicted
from odtc.solvers.solver import find_solver, version
from odtc.trees.tree import Branch, Leaf, Tree
from odtc.workflow.files_of_models import open_solution
from tests import pipeline
from tests.unit.test_each_constraint import TABLES, table, trees

SIZES = [0.0, 1e-3, 1.0, 7.0, 1e6]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("unit", [1e-9, 1.0, 50.0])
def test_figures_are_close_within_a_share_of_the_larger_one_or_of_the_unit(size, unit):
    for sign in (1, -1):
        for part, close in ((0.0, True), (0.5, True), (2.0, False)):
            off = part * TOLERANCE * max(unit, size)
            assert is_close(sign * size, sign * (size - off), unit=unit) == close
            assert is_close(sign * (size - off), sign * size, unit=unit) == close
    assert is_proved(size, size) and is_proved(size, np.nextafter(size, np.inf))
    assert not is_proved(size, np.nextafter(size, -np.inf))
    assert not is_proved(None, size) and not is_proved(size, None) and not is_proved(size, np.inf)
    for other in (np.inf, -np.inf, np.nan):
        assert not is_close(size, other) and not is_close(other, size) and not is_close(other, other)


def test_a_tolerance_itself_is_forgiven():
    """With figures that binary fractions tell exactly."""
    assert is_close(3.0, 4.0, 0.25) and not is_close(3.0, 4.0, 0.249) and is_close(0.0, 0.25, 0.25)
    assert [gap(*two) for two in ((0.5, 0.25), (4.0, 3.0), (-4.0, -5.0), (None, 1.0), (1.0, None))] == [
        0.25,
        0.25,
        0.25,
        None,
        None,
    ]
    assert gap_in_words(0.0, 0.0) == "gap 0.00 %" and gap_in_words(4.0, 3.0) == "gap 25.00 %"
    assert gap_in_words(1e-6, 5e-7) == "gap 50.00 % of the objective" and gap_in_words(1e-6, 1e-6) == "gap 0.00 %"


def model(integral=False):
    """0 <= a <= 2, 0 <= b <= 8, 1 <= a + 4 b <= 16."""
    columns, rows = (NamedBlock(("a", "b"), 0, "columns"),), (NamedBlock(("r",), 0, "rows"),)
    return Model(
        "m",
        np.array([1.0, 2.0]),
        0.5,
        np.array([1.0]),
        np.array([16.0]),
        np.zeros(2),
        np.array([2.0, 8.0]),
        np.full(2, int(integral), np.uint8),
        columns,
        rows,
        matrix=sp.csc_array(np.array([[1.0, 4.0]])),
    )


@pytest.mark.parametrize(
    ("point", "beyond"),
    [
        ((2.0, 1.0), {}),
        ((2.25, 1.0), {"bounds": 0.25 / 2.25}),
        ((-0.25, 1.0), {"bounds": 0.25}),
        ((-0.5, 3.0), {"bounds": 0.5}),
        ((0.0, 0.0), {"rows": 1.0}),
        ((0.0, 0.125), {"rows": 0.5}),
        ((0.75, 0.0), {"rows": 0.25}),
        ((0.0, 8.0), {"rows": 0.5}),
        ((2.0, 4.5), {"rows": 0.2}),
        ((np.nan, 1.0), {"bounds": np.inf, "rows": np.inf}),
    ],
)
def test_a_point_is_off_by_a_share_of_what_is_added_up(point, beyond):
    for tolerance in (TOLERANCE, 0.125, 0.25, 0.5, 1.0):
        checks = {check.name: check for check in check_point(model(), np.array(point), tolerance)}
        assert list(checks) == ["bounds", "rows", "integrality"]
        for name, check in checks.items():
            assert check.passed == (beyond.get(name, 0.0) <= tolerance), (name, tolerance)
            assert ("kept exactly" in check.text) == (name not in beyond)
            if name in beyond:
                assert (" at r" if name == "rows" else " at ") in check.text


def test_whole_columns_are_off_by_their_distance_from_a_whole_number():
    for value, off in ((1.0, 0.0), (1.25, 0.25), (0.75, 0.25), (1.5, 0.5)):
        for tolerance in (0.125, 0.25, 0.5):
            check = check_point(model(True), np.array([value, 1.0]), tolerance)[2]
            assert check.passed == (off <= tolerance) and check.text.startswith("2 kept") == check.passed
        assert check_point(model(), np.array([value, 1.0]))[2].text == "0 kept exactly"
    (check,) = check_claim(model(), np.array([1.0, 2.0]), 5.5)
    assert check.passed and check.text == "c·x is 5.5, the solver says 5.5"
    assert not check_claim(model(), np.array([1.0, 2.0]), 5.6)[0].passed
    assert check_claim(model(), np.array([1.0, 2.0]), None) == []
    (turned,) = check_claim(model(), np.array([1.0, 2.0]), -5.5)  # of a file that maximises the negative
    assert not turned.passed and turned.text.endswith("solve the model file as odtc wrote it, which minimises")


@pytest.mark.parametrize("least", [0.5, 3.0, 1e6])
def test_a_leaf_holds_a_weight_up_to_the_rounding_of_a_sum(least):
    def tree(*weights):
        leaves = [Leaf(0, (weight / 2, weight / 4), (1, 1)) for weight in weights]
        root = leaves[0] if len(leaves) == 1 else Branch(None, leaves[0], leaves[1])
        return Tree(root, (), ("p", "q"))

    of_class = np.array([1.0, 2.0])
    for part, held in ((-2.0, False), (-0.5, True), (0.0, True), (2.0, True)):
        weight = least * (1 + part * SAME)
        assert fits(tree(weight), of_class, least) == held
        assert fits(tree(weight, 2 * least), of_class, least) == fits(tree(2 * least, weight), of_class, least) == held
    for n in (1, 2, 5, 12):
        weight = np.full(n, least)
        assert [least_rows(weight, share / n) for share in range(n + 1)] == list(range(n + 1))
        assert least_rows(weight, (1 + 1e-6) / (2 * n)) == 1


@pytest.mark.parametrize("bound", [0.0, 0.25, 1.0, 40.0, 1e5])
@pytest.mark.parametrize("op", [">=", "<="])
def test_a_number_of_a_constraint_is_kept_without_a_tolerance(op, bound):
    encoded = pipeline.pose(table(*TABLES[2]), "dpflow", 2, constraints=("features <= 3",)).encoded
    given = replace(parse("features <= 3", encoded), op=op, bound=bound)
    sign = 1 if op == ">=" else -1
    for part, holds in ((1, True), (0, True), (-1, False)):
        assert given.holds(given.bound + sign * part * Fraction(1, 10**30)) == holds


@pytest.mark.parametrize("kind", [kind for kind in SHARES if kind != "cost"])
@pytest.mark.parametrize("factor", [1.0, 1e5])
def test_the_lines_of_a_share_say_what_the_share_says(kind, factor):
    """Of the numbers that a tree just keeps or just misses, at any unit of weight."""
    dataset = table(*TABLES[2])
    dataset = replace(dataset, weight=dataset.weight * factor)
    plain = replace(pipeline.pose(dataset, "dpflow", 2, constraints=("features <= 3",)), constraints=())
    texts, seen = CONSTRAINTS.get(kind).tries(plain.encoded), set()
    for text in [texts[at] for at in np.unique(np.linspace(0, len(texts) - 1, 4).round().astype(int))]:
        try:
            problem = posed(plain, [text])
        except ChoiceError:  # what this data has no rows, columns or levels for
            continue
        (given,) = problem.constraints
        for heap in trees(problem, 8):
            value = given.module.value(problem.encoded, given, heap)
            for part in (-1, 0, 1):
                number = value + part * Fraction(1, 10**20)
                if not 0 < number < 1:
                    continue
                at = replace(problem, constraints=(replace(given, bound=number),))
                said = predicted(problem.encoded, heap)
                rows = np.arange(len(said))
                kept = all(line.coef[rows, said].sum() <= line.upper for line in lines(at.encoded, at.constraints[0]))
                assert kept == (not broken(at, heap)), (str(given), number)
                seen.add(kept)
    assert seen


WEIGHTS = (226.9583, 446.4634, 1046.3317, 1115.1862, 2237.7128, 333.3333, 71.0009, 812.4449)


def printed(tmp_path, digits):
    """A model with losses of seven digits, and the output of a solver that prints fewer."""
    table = pl.DataFrame({"a": [0, 0, 1, 1, 2, 2, 2, 0], "w": WEIGHTS, "y": list("xyxyxyxx")})
    built = pipeline.build(table, "oct", 1, encoding="onehot", weights="w", target="y")
    point = odtc.solve(built)
    odtc.write_build(built, tmp_path / "m")
    values = "".join(f"{name:<20} {value:.{digits}g}\n" for name, value in zip(built.column_names, point.x))
    text = f"\nValue of objective function: {point.objective:.8f}\n\nActual values of the variables:\n{values}"
    (tmp_path / "m.out").write_text(text + "\nActual values of the constraints:\n")
    return built, point


def test_values_of_six_digits_are_off_by_their_rounding(tmp_path):
    """Each loss differs by up to half a unit of its last digit, and so do the constraints that compute it."""
    built, point = printed(tmp_path, 6)
    _, read, _ = open_solution(tmp_path / "m.out")
    assert not all(check.passed for check in check_point(built, read.x))
    decoded = odtc.decode(built, tmp_path / "m.out")
    assert decoded.verified, [check.text for check in decoded.checks if not check.passed]
    # The objective has more digits than the values, from which it would be off.
    assert read.objective == pytest.approx(point.objective, abs=1e-8) != built.objective(read.x)


def test_values_of_five_digits_are_not(tmp_path):
    built, _ = printed(tmp_path, 5)
    decoded = odtc.decode(built, tmp_path / "m.out")
    assert [check.name for check in decoded.checks if not check.passed] == ["rows", "objective", "tree objective"]


def test_a_solver_that_prints_six_digits_solves_costs_of_seven(tmp_path):
    if version(find_solver("lp_solve")) is None:
        pytest.skip("lp_solve is not on this machine")
    built, point = printed(tmp_path, 6)
    found = odtc.solve(built, "lp_solve")
    assert (found.objective, found.bound) == pytest.approx((point.objective,) * 2, abs=1e-6)
    assert odtc.decode(built, found).verified


def test_a_solver_may_use_all_of_its_tolerance():
    """The difference of 1 and 1 - 1e-6 is a little more than 1e-6."""
    assert 1 - (1 - TOLERANCE) > TOLERANCE
    assert all(check.passed for check in check_point(model(), np.array([1 - TOLERANCE, 0.0])))

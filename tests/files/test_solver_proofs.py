"""A solver's proof counts only where two trees differ by more than the solver may be off; else the compiler judges."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import odtc
from odtc.problem.exact_objective import exact_cost
from odtc.solvers.solver import find_solver, version
from odtc.verification.verify import one_leaf
from odtc.workflow.provenance.searched_again import search_again
from tests import pipeline
from tests.command_line import odtc as command

OUTLIER = "x0,w,y\nb,8,0.081\nb,7,0.322\n,1,0.077\ng,6,0.732\ng,6,1000000000.0\nr,7,0.306\nr,9,0.851\n"
SQUARES = {"depth": 2, "task": "regression", "missing": "separate", "weights": "w", "model": "dpflow"}


def squared_error(lines: list[list[str]], rows) -> Fraction:
    """Σ w (y - mean)² of the rows of a leaf, in rationals."""
    w, y = ([Fraction(lines[row][at]) for row in rows] for at in (1, 2))
    mean = sum(a * b for a, b in zip(w, y)) / sum(w)
    return sum(a * (b - mean) ** 2 for a, b in zip(w, y))


def least_error(lines: list[list[str]], answers: np.ndarray, rows: np.ndarray, depth: int) -> Fraction:
    """The least squared error of a tree over these answers, by trying every one."""
    best = squared_error(lines, rows)
    for test in range(answers.shape[1] if depth else 0):
        sides = rows[answers[rows, test]], rows[~answers[rows, test]]
        if all(len(side) for side in sides):
            best = min(best, sum(least_error(lines, answers, side, depth - 1) for side in sides))
    return best


def of_leaves(done, lines: list[list[str]]) -> Fraction:
    leaf = done.tree.apply(done.problem.encoded.dataset.X)
    return sum(squared_error(lines, np.flatnonzero(leaf == one)) for one in np.unique(leaf))


def drawn(seed: int) -> str:
    """Six rows of three levels with one number that dwarfs the others."""
    rng = np.random.default_rng(seed)
    numbers = [f"{number:.3f}" for number in rng.random(6)]
    numbers[rng.integers(6)] = f"{10.0 ** rng.integers(7, 12)}"
    levels = rng.permutation([*"bgrbgr"])
    return "x0,w,y\n" + "".join(f"{x},{rng.integers(1, 10)},{y}\n" for x, y in zip(levels, numbers))


def expect_solver(solver: str) -> None:
    if version(find_solver(solver)) is None:
        pytest.skip(f"{solver} is not on this machine")


@pytest.mark.parametrize(
    ("solver", "text"),
    [*product(("highs", "cbc", "scip", "glpk"), [OUTLIER]), *(("highs", drawn(seed)) for seed in range(6))],
)
def test_squared_errors_are_proved_by_the_compiler(tmp_path, solver, text):
    """Exhaustive search in fractions finds the optimum; sums in doubles hide all but the largest number."""
    expect_solver(solver)
    (tmp_path / "data.csv").write_text(text)
    lines = [line.split(",") for line in text.splitlines()[1:]]
    done = odtc.fit(tmp_path / "data.csv", solver=solver, **SQUARES)
    encoded = done.problem.encoded
    best = least_error(lines, encoded.X[encoded.row_of], np.arange(len(lines)), 2)
    assert done.verified and done.proved and of_leaves(done, lines) == best
    assert done.claimed.to_json()["proved_by"] == "odtc"


def test_a_tree_that_the_model_has_no_point_for_is_verified_and_decoded(tmp_path):
    # With 1e9 the oldest HiGHS that is allowed ends in an error, so it leaves no solution file to decode.
    (tmp_path / "data.csv").write_text(OUTLIER.replace("1000000000.0", "1e8"))
    words = "--depth", 2, "--task", "regression", "--missing", "separate", "--weights", "w", "--model", "dpflow"
    said = command("fit", "data.csv", *words, "--solver", "highs", "-o", "m", folder=tmp_path)
    assert "proved optimal" in said.out and said.err.count("the solver's proof does not count") == 1
    assert "the tree is not the solver's" in said.err
    tree = (tmp_path / "m.tree.json").read_text()
    assert command("verify", "m", folder=tmp_path).code == 0
    again = command("decode", "m.sol", folder=tmp_path)
    assert "proved optimal" in again.out and (tmp_path / "m.tree.json").read_text() == tree
    assert again.err.count("the solver's proof does not count") == 1  # the record of the run states it in a field


MIXED = {
    "flowoct": ({"params": {"lambda": "0.1"}}, "1e15"),
    "bendersoct": ({"class_weight": "p=0.30000000000000004,n=0.7"}, "2"),
    "binoct": ({"cost": "p:n=0.009908500224996643,n:p=586.2068298986092"}, "1"),
    "dpflow": ({"params": {"lambda": "1e-9"}}, "10000000000.375"),
    "cg": ({}, "1e14"),
}


@pytest.mark.parametrize("model", MIXED)
def test_weights_of_any_size_are_proved_by_the_compiler(tmp_path, model):
    """The tree of dpflow without a solver has a proof of its own, in exact numbers."""
    more, huge = MIXED[model]
    cells = zip([3, 1, 2, 2, 0, 1, 3], [1, 1, 0, 2, 2, 0, 2], ["0.1", huge, "0.2", repr(0.1 + 0.2), "7", "3", "0.5"])
    text = "a,b,w,y\n" + "".join(f"{a},{b},{w},{'pnppnpn'[at]}\n" for at, (a, b, w) in enumerate(cells))
    (tmp_path / "data.csv").write_text(text)
    how = {"depth": 2, "weights": "w", "target": "y"} | more
    done = odtc.fit(tmp_path / "data.csv", model=model, solver="highs", **how)
    alone = odtc.fit(tmp_path / "data.csv", model="dpflow", **how)
    assert done.verified and done.proved and alone.proved, done.claim
    assert len({exact_cost(alone.problem, one.decoded.heap) for one in (done, alone)}) == 1


FALSE = {  # table, options, the optimum by exhaustive search in fractions, whether the compiler proves it
    "ties of costs beside a weight of 1e15": (
        "x0,w,g,y\n0,3,b,c0\n1,1,a,c0\n0,1000000000000000,b,c1\n2,2,a,c1\n2,1,b,c0\n,2,a,c0\n",
        {
            "model": "dpflow",
            "missing": "separate",
            "auxiliary": "g",
            "constraints": "equal_opportunity[group=g,positive=c1] <= 0",
        },
        4.0,
        None,
    ),
    "a row of the model with a coefficient of 1e15": (
        "x0,w,y\n2e-7,1,c1\n1e-7,1,c1\n1.0000000000000002e-7,0.5,c2\n1.0000000000000002e-7,1,c0\n"
        "1.0000000000000002e-7,1000000000000000,c2\n1.0000000000000002e-7,3,c1\n",
        {"model": "fair", "solver": "cbc"},
        4.0,
        None,
    ),
    "sums of logarithms beside a weight of 3e15": (
        "x0,w,t,e\n1,40000000000000.0,7000.0,0\n1,3000000000000000.0,1000000000000.0,1\n2,3.0,6.0,1\n3,0.8,0.03,1\n"
        "2,5000.0,70.0,0\n0,4000000000.0,10000000.0,0\n",
        {"model": "dpflow", "task": "survival", "time": "t", "event": "e", "target": None},
        2999999999999898.0,
        None,
    ),
    "costs above the 1e20 of solvers": (
        "x0,w,y\n0,10000000000,1000000000000\n1,10000000000,2000000000000\n2,10000000001,1000000000000\n",
        {"model": "dpflow", "task": "median", "depth": 1},
        1e22,
        True,
    ),
}

ROUNDED = {  # tables whose models round the cost of a tree
    "a penalty of 1e-9": (
        "x0,y\n1,0.1\n2,0.3\n3,0.3\n4,0.7\n5,0.9\n",
        {"task": "regression", "params": {"lambda": "1e-9"}},
    ),
    "likelihoods of large and small weights": (
        "x0,w,t,e\n-0.03,0.02,0.3,1\n-723.6,0.0009,0.7000000000000001,0\n14,0.0004,0.2,1\n0.008,3e-08,0.7,1\n"
        "-0.73,1e-09,0.7,0\n5.3,40000000.0,0.6,0\n0.3,7e-06,0.30000000000000004,1\n0.07,3000000.0,0.30000000000000004,1\n",
        {"task": "survival", "time": "t", "event": "e", "weights": "w"},
    ),
}


@pytest.mark.parametrize("case", ROUNDED)
def test_a_model_that_rounds_the_cost_of_its_start_is_solved(tmp_path, case):
    text, how = ROUNDED[case]
    (tmp_path / "data.csv").write_text(text)
    done = odtc.fit(tmp_path / "data.csv", depth=2, model="dpflow", solver="highs", **how)
    alone = odtc.fit(tmp_path / "data.csv", depth=2, **how)
    assert done.verified and done.proved and alone.proved
    assert exact_cost(done.problem, done.decoded.heap) == exact_cost(alone.problem, alone.decoded.heap)


@pytest.mark.parametrize("case", FALSE)
def test_what_a_tolerance_hides_is_not_proved(tmp_path, case):
    text, how, optimum, proved = FALSE[case]
    expect_solver(how.get("solver", "highs"))
    (tmp_path / "data.csv").write_text(text)
    done = odtc.fit(tmp_path / "data.csv", **{"depth": 2, "weights": "w", "target": "y", "solver": "highs"} | how)
    assert done.verified
    assert not done.proved or done.proof.objective == optimum
    assert done.proof.bound <= optimum * (1 + 1e-15)
    assert proved is None or done.proved == proved


def test_the_bound_of_a_search_with_another_penalty_holds(tmp_path):
    """α L̂ is 1e11 beside a loss of 1, so λ of the search that judges oct is 1 less a few units in the last place."""
    (tmp_path / "data.csv").write_text("a,w,y\n0,1,p\n1,1000000000000.125,p\n2,1000000000007,n\n3,1,n\n")
    problem = pipeline.pose(odtc.read(tmp_path / "data.csv", weights="w"), "oct", 1, params={"alpha": 0.1})
    again = search_again(problem, None, 5.0)
    costs = [exact_cost(problem, tree) for tree in (again.heap, one_leaf(problem))]
    assert again.least == min(costs) and again.bound <= min(costs)


def test_a_run_whose_solver_failed_is_verified_as_one_of_the_search(tmp_path):
    (tmp_path / "data.csv").write_text(FALSE["costs above the 1e20 of solvers"][0])
    words = "--depth", 1, "--task", "median", "--weights", "w", "--model", "dpflow", "--solver", "highs"
    said = command("fit", "data.csv", *words, "-o", "m", folder=tmp_path)
    assert said.code == 0 and "proved optimal" in said.out and "1e+20" in said.err
    assert not (tmp_path / "m.sol").exists()
    assert command("verify", "m", folder=tmp_path).code == 0

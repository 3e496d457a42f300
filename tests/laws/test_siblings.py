"""Law 2 side by side: on each of forty data sets (ten without ODTC_ALL_CELLS) all formulations of one objective have
the optimum of exhaustive search, with HiGHS; on five of them with CBC, SCIP and GLPK, too, from files."""

import os
from dataclasses import replace

import numpy as np
import pytest

from odtc.data.dataset import CATEGORICAL, NUMERIC, Dataset, Feature
from odtc.data.encoding import encode
from odtc.errors import DataError
from odtc.problem.formulation import FORMULATIONS
from odtc.problem.parameters import parse_params
from odtc.problem.problem import Problem
from odtc.solvers.solver import find_solver, version
from odtc.testing.exhaustive import cheapest
from odtc.testing.problems import COMPILED
from odtc.trees.heap_tree import CompleteTree
from odtc.workflow import files_of_models
from tests import pipeline

# What a tree costs (share of an error, price of a branch node), what a leaf must hold, and who can say so.
# No column here has more than three levels, so a set of levels is one of them, or all but one.
OBJECTIVES = {
    "errors": ((1.0, 0.0, 0), {}),  # all that count errors alone by default (`siblings`)
    "branch price": (
        (0.75, 0.25, 0),
        {name: {"lambda": 0.25} for name in ("flowoct", "bendersoct", "dpflow")} | {"oct": {"alpha": 1 / 3}},
    ),
    "least leaf": ((1.0, 0.0, 2), {name: {"n_min": 2} for name in ("oct", "fair", "cg")}),
}
FILES = {"cbc": "fixed-mps", "scip": "lp", "glpk": "mps"}


def siblings(objective, encoded, depth) -> dict:
    """{name: params} of the formulations of an objective; for errors alone, what formulations declare decides.
    Hyperplanes separate more than tests do, and have optima of their own."""
    forms = dict(OBJECTIVES[objective][1])
    for name in COMPILED if objective == "errors" else ():
        problem = Problem(encoded, CompleteTree(depth), FORMULATIONS.get(name), parse_params(name, {}))
        module = problem.module
        if not module.WEIGHS and (*module.unit_costs(problem), module.least_rows(problem)) == OBJECTIVES[objective][0]:
            forms[name] = {}
    return forms


def test_most_formulations_have_siblings():
    known = {"flowoct", "bendersoct", "oct", "binoct", "fair", "dpflow", "cg"}
    assert known <= set(siblings("errors", drawn(1), 2)) <= set(COMPILED) - {"svm1_odt", "oct_h"}


@pytest.mark.slow
@pytest.mark.every(4)
@pytest.mark.parametrize("seed", range(40))
def test_one_optimum(seed):
    encoded, depth = drawn(seed), 1 + seed % 2
    for objective, ((share, price, least), _) in OBJECTIVES.items():
        best = cheapest(encoded.X, encoded.y, encoded.weight, depth, price, share, encoded.copies, least)
        for name, params in siblings(objective, encoded, depth).items():
            model, unit = compiled(encoded, depth, name, params, share)
            check(model, pipeline.solve(model, threads=1), best * unit)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("solver", FILES)
def test_one_optimum_from_files(solver, seed, tmp_path):
    if version(find_solver(solver)) is None:
        if os.environ.get("ODTC_REQUIRE_SOLVERS"):
            pytest.fail(f"the open solver {solver} is not on this machine")
        pytest.skip(f"{solver} is not on this machine")
    encoded, depth = drawn(seed), 1 + seed % 2
    (share, price, least), forms = OBJECTIVES["errors"]
    best = cheapest(encoded.X, encoded.y, encoded.weight, depth)
    for name, params in forms.items():
        model, unit = compiled(encoded, depth, name, params, share)
        written = files_of_models.write_build(model, tmp_path / name, FILES[solver])
        check(model, pipeline.solve(model, solver, path=written[0], threads=1), best * unit)


def check(model, solution, best):
    assert solution.termination == "optimal", model.name
    assert solution.objective == pytest.approx(best, abs=1e-5), model.name
    decoded = pipeline.decode(model, solution)
    assert decoded.verified, (model.name, decoded.checks)
    assert model.problem.module.objective(model.problem, decoded.heap) == pytest.approx(best, abs=1e-6), model.name


def compiled(encoded, depth, name, params, share):
    """The model, and what an error costs in it; `alpha` is here in errors, not in those of the heaviest class."""
    if "alpha" in params:
        counts = np.bincount(encoded.y, encoded.weight)
        params = {"alpha": params["alpha"] / (counts.sum() - counts.max())}
    problem = Problem(encoded, CompleteTree(depth), FORMULATIONS.get(name), parse_params(name, params))
    return replace(problem.module.build(problem), problem=problem), 1 / share if "alpha" in params else 1.0


def drawn(seed):
    """A data set of up to 10 rows and 3 columns, on which some test tells rows apart, of two classes at least."""
    rng = np.random.default_rng(seed)
    while True:
        n, kinds = rng.integers(5, 11), rng.choice([NUMERIC, CATEGORICAL], rng.integers(1, 4))
        X = np.column_stack([rng.integers(0, 5, n) / 2 if kind == NUMERIC else rng.integers(0, 3, n) for kind in kinds])
        y, K = rng.integers(0, rng.integers(2, 4), n).astype(np.int32), 3
        features = tuple(
            Feature(f"f{place}", str(kind), () if kind == NUMERIC else ("a", "b", "c"))
            for place, kind in enumerate(kinds)
        )
        weight = rng.choice([1.0, 1.0, 2.0, 0.5], n)
        try:
            encoded = encode(Dataset(f"d{seed}", X.astype(float), y, features, tuple("xyz"[:K]), weight))
        except DataError:
            continue
        if len(set(y)) > 1:
            return encoded

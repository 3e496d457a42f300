"""dpflow's optimum is that of exhaustive search, with every option beside every other: each combination of its
parameters
once, and what else a problem can say drawn beside it: 200 data sets, with and without constraints."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from odtc.data.cost_matrix import cost_matrix
from odtc.data.dataset import CATEGORICAL, NUMERIC, Dataset, Feature
from odtc.data.encoding import encode
from odtc.errors import ChoiceError, DataError
from odtc.model.solution import Solution, Termination
from odtc.problem.constraints.constraint import posed
from odtc.problem.formulation import FORMULATIONS
from odtc.problem.parameters import parse_params
from odtc.problem.problem import Problem
from odtc.testing.exhaustive import cheapest
from odtc.testing.optima import least_kept, solved
from odtc.trees.heap_tree import CompleteTree
from tests import pipeline

GRID = {
    "tail": ("auto", "0", "1", "2"),
    "fold": ("true", "false"),
    "lambda": ("0", "0.25"),
    "proof": ("false", "true"),
    "intervals": ("auto", "false", "true"),
    "fix": ("true", "false"),
}
# Intervals cost what the best subtrees below them do: without folding there are none.
FORMS = [
    form
    for values in product(*GRID.values())
    if (form := dict(zip(GRID, values)))["intervals"] != "true" or (form["fold"], form["tail"] != "0") == ("true", True)
]
CASES = [(seed, FORMS[seed % len(FORMS)]) for seed in range(200)]
OF_BRANCHES = ("branch_nodes <= {n}", "leaves <= {m}")
OF_ANSWERS = (
    "recall[{k}] >= {s}",
    "precision[{k}] >= {s}",
    "false_positive_rate[{k}] <= {s}",
    "accuracy >= {s}",
    "statistical_parity[group=side,positive={k}] <= {s}",
    "equal_opportunity[group=side,positive={k}] <= {s}",
)
OF_TESTS = ("features <= {n}", "splits <= {n}", "forbid_root[f0]", "require_root[f0]", "not_below[f0,f1]")


def dataset(rng, missing: bool) -> Dataset:
    """Few rows with few values, so that they repeat, tie and contradict; a column "side" is no feature."""
    n, kinds, K = rng.integers(5, 11), rng.choice([NUMERIC, CATEGORICAL], 2), rng.integers(2, 4)
    X = np.column_stack(
        [rng.integers(0, 4 if kind == NUMERIC else 3, n) * (1.5 if kind == NUMERIC else 1.0) for kind in kinds]
    )
    if missing:
        X[rng.integers(n), kinds == NUMERIC] = np.nan
    y = np.append(np.arange(K), rng.integers(0, K, n - K)).astype(np.int32)
    features = tuple(
        Feature(f"f{at}", str(kind), () if kind == NUMERIC else tuple("abc")) for at, kind in enumerate(kinds)
    )
    weight = rng.choice([1.0, 1.0, 2.0, 0.5], n) if rng.random() < 0.5 else np.ones(n)
    return Dataset(
        "random",
        X,
        y,
        features,
        tuple("xyz"[:K]),
        weight,
        missing="separate" if missing else "drop",
        auxiliary=(Feature("side", CATEGORICAL, ("p", "q")),),
        auxiliary_X=np.append([0.0, 1.0], rng.integers(0, 2, n - 2))[:, None],
    )


def constraints(rng, form, classes) -> list[str]:
    """One that this form keeps, or two."""
    picked = ["leaf_rows >= {n}"]
    if form["proof"] == "false":
        picked = list(rng.permutation([rng.choice(OF_BRANCHES), rng.choice(OF_ANSWERS), *picked]))[: rng.integers(1, 3)]
    if form["proof"] == "false" and form["tail"] in ("auto", "0") and rng.random() < 0.5:
        picked = [rng.choice(OF_TESTS)]
    return [
        text.format(n=rng.integers(1, 4), m=rng.integers(1, 5), k=rng.choice(classes), s=rng.choice([0.25, 0.5, 0.8]))
        for text in picked
    ]


def drawn(seed: int, form: dict) -> Problem:
    """The problem of a case; another one where the data tells no rows apart or has no rows for a constraint."""
    for attempt in range(50):
        rng = np.random.default_rng([seed, attempt])
        bound = form["intervals"] != "true" and rng.random() < (0.5 if form["proof"] == "true" else 0.9)
        try:
            encoded = encode(
                data := dataset(rng, not bound and rng.random() < 0.3),
                str(rng.choice(["auto", "onehot", "auto:bins=2"])),
            )
            price = [
                None,
                "balanced",
                {(a, b): float(rng.integers(1, 4)) for a in data.classes for b in data.classes if a != b},
            ][rng.integers(3)]
            if price is not None:
                of_class = np.bincount(encoded.y, encoded.weight, len(data.classes))
                weighted = {"class_weight": price} if price == "balanced" else {"cost": price}
                encoded = replace(encoded, cost=cost_matrix(encoded.classes, of_class, **weighted))
            depth = int(rng.integers(1, 3 if bound else 4))
            return posed(
                Problem(encoded, CompleteTree(depth), FORMULATIONS.get("dpflow"), parse_params("dpflow", form)),
                constraints(rng, form, data.classes) if bound else [],
            )
        except (ChoiceError, DataError) as refused:
            assert any(
                word in str(refused)
                for word in (
                    "two groups",
                    "rows of",
                    "can be split on",
                    "two rows that differ only in",
                    "separates rows",
                    "cannot",
                    "no split",
                )
            ), refused
    raise AssertionError("no such problem was drawn")


def truth(problem: Problem) -> float:
    if problem.constraints:
        return least_kept(problem)
    encoded, price = problem.encoded, problem.params.lambda_
    return cheapest(
        encoded.X, encoded.y, encoded.weight, problem.topology.depth, price, 1 - price, cost=encoded.cost.tolist()
    )


@pytest.mark.slow
@pytest.mark.parametrize("part", range(8))
def test_the_optimum_with_every_option(part):
    counted = {"constrained": 0, "infeasible": 0, "linear": 0}
    for seed, form in CASES[part::8]:
        problem = drawn(seed, form)
        told = (
            f"case {seed}: {form}, depth {problem.topology.depth}, {list(map(str, problem.constraints))}, "
            f"{problem.encoded.scheme}"
        )
        model = pipeline.compile_model(problem, "none")
        found = solved(model)
        wanted = truth(problem)
        counted["constrained"] += bool(problem.constraints)
        counted["linear"] += not model.integrality.any()
        if wanted == float("inf"):
            counted["infeasible"] += 1
            assert found.status == 2, told
            continue
        assert found.status == 0 and found.fun + model.offset == pytest.approx(wanted, abs=1e-6), told
        value = model.objective(found.x)
        decoded = pipeline.decode(model, Solution(found.x, Termination.OPTIMAL, value, value, 0.0, "scipy"))
        assert decoded.verified, (told, [check for check in decoded.checks if not check.passed])
        assert problem.module.objective(problem, decoded.heap) == pytest.approx(wanted, abs=1e-6), told
    assert min(counted["constrained"], counted["linear"]) >= 5

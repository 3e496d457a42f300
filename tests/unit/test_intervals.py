"""Intervals of thresholds: the optimum over all of them, by search, in the file, and as a flow that is a tree."""

import functools
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import odtc
from odtc.algorithms.thresholds import interval_search
from odtc.algorithms.thresholds.interval_search import IntervalSearch
from odtc.algorithms.thresholds.prefix_sums import Part, Ranked
from odtc.data.dataset import NUMERIC, Dataset, Feature
from odtc.data.encoding import encode
from odtc.data.threshold_scales import Scales
from odtc.errors import ChoiceError, DataError, TreeError
from odtc.formulations.dpflow import forms
from odtc.heuristics.heuristic import grow
from odtc.problem.formulation import FORMULATIONS
from odtc.problem.parameters import parse_params
from odtc.problem.problem import Problem
from odtc.solvers.solver import find_solver, version
from odtc.testing.exhaustive import cheapest
from odtc.testing.problems import costs
from odtc.trees.heap_tree import CompleteTree
from tests import pipeline
from tests.command_line import CHECKOUT, MONKS
from tests.command_line import odtc as command


@st.composite
def numbers(draw, most_rows=11, most_values=7, by_pair=True):
    """Encoded numeric columns of many values, with ties, contradictions, weights and costs."""
    n = draw(st.integers(3, most_rows))
    p, K = draw(st.integers(1, 3)), draw(st.integers(2, 3))
    X = np.array(
        draw(st.lists(st.lists(st.integers(0, most_values), min_size=p, max_size=p), min_size=n, max_size=n)), float
    )
    y = np.array(draw(st.lists(st.integers(0, K - 1), min_size=n, max_size=n)), np.int32)
    weight = np.array(
        draw(
            st.lists(
                st.sampled_from(draw(st.sampled_from([[1.0], [1.0, 2.0, 0.5], [0.1, 0.3, 1.7]]))),
                min_size=n,
                max_size=n,
            )
        )
    )
    try:
        encoded = encode(
            Dataset("random", X, y, tuple(Feature(f"f{j}", NUMERIC) for j in range(p)), tuple("xyz"[:K]), weight)
        )
    except DataError:
        return None
    return replace(encoded, cost=draw(costs(K, by_pair)))


def best(encoded, depth, lam=0.0):
    return cheapest(encoded.X, encoded.y, encoded.weight, depth, lam, 1 - lam, cost=encoded.cost.tolist())


@given(numbers().filter(lambda encoded: encoded), st.sampled_from([1, 2, 3]), st.sampled_from([0.0, 0.05, 0.25]))
@settings(max_examples=60, deadline=None)
def test_the_search_finds_what_trying_every_tree_does(encoded, depth, lam):
    with (
        patch.object(interval_search, "FIRST", 1),
        patch.object(interval_search, "NEXT", 1),
    ):
        ranked = Ranked.of(Scales.of(encoded).rank, encoded.loss, lam / (1 - lam))
        found = IntervalSearch(ranked).value(np.arange(len(ranked.rank)), depth)
    assert (1 - lam) * (ranked.floor + found.cost) == pytest.approx(best(encoded, depth, lam), abs=1e-9)


@given(numbers().filter(lambda encoded: encoded), st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_stumps_are_counted_right(encoded, rnd):
    """On some of the rows, left and right of some thresholds."""
    ranked = Ranked.of(Scales.of(encoded).rank, encoded.loss, 0.1)
    members = np.array(sorted(rnd.sample(range(len(ranked.rank)), rnd.randint(1, len(ranked.rank)))))
    part = Part(ranked, members)
    places = np.array([place for place in np.flatnonzero(part.parting) if rnd.random() < 0.7], int)
    if not len(places):
        return
    for place, left, right in zip(places, *part.stumps(places)):
        for rows, value in zip(part.sides(place), (left, right)):
            assert IntervalSearch(ranked).value(rows, 1).cost == pytest.approx(value, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    "form", [{}, {"tail": "2"}, {"proof": "true"}, {"lambda": 0.05}, {"lambda": 0.25, "tail": "1"}], ids=str
)
@given(encoded=numbers(most_rows=9, most_values=5).filter(lambda encoded: encoded), depth=st.sampled_from([2, 3]))
@settings(max_examples=15, deadline=None)
def test_the_file_is_the_optimum_and_its_flow_the_tree(form, encoded, depth):
    problem = Problem(
        encoded, CompleteTree(depth), FORMULATIONS.get("dpflow"), parse_params("dpflow", {"intervals": "true"} | form)
    )
    model = pipeline.compile_model(problem)
    assert not model.integrality.any()
    solution = pipeline.solve(model, threads=1)
    decoded = pipeline.decode(model, solution)
    lam = form.get("lambda", 0.0)
    assert solution.objective == pytest.approx(best(encoded, depth, lam), abs=1e-6) and decoded.verified
    assert problem.module.objective(problem, decoded.heap) == pytest.approx(best(encoded, depth, lam), abs=1e-9)
    if not (encoded.loss * 2 % 1).any():  # then the columns of intervals cost more than the tree
        assert not any(
            block.name[0] == "v" and solution.x[block.start : block.stop].max() > 1e-6 for block in model.columns
        )


@given(
    encoded=numbers(most_rows=30, most_values=30, by_pair=False).filter(lambda encoded: encoded),
    depth=st.sampled_from([2, 3, 4]),
)
@settings(max_examples=15, deadline=None)
def test_intervals_and_single_thresholds_are_one_optimum(encoded, depth):
    paid = set()
    for form in ("true", "false"):
        problem = Problem(
            encoded, CompleteTree(depth), FORMULATIONS.get("dpflow"), parse_params("dpflow", {"intervals": form})
        )
        paid.add(round(problem.module.objective(problem, forms.form(problem).optimal(problem)), 9))
    assert len(paid) == 1


def test_when_they_are_taken():
    """By themselves where scales have many thresholds; refused where every tree must be in the file."""
    few = pipeline.build(MONKS / "monks-1.csv", "dpflow", 2, intervals="auto")
    assert not any(block.role == "bound" for block in few.columns)
    random = np.random.default_rng(1)
    features = tuple(Feature(f"f{j}", NUMERIC) for j in range(3))
    data = Dataset(
        "many",
        random.normal(size=(50, 3)),
        random.integers(0, 2, 50).astype(np.int32),
        features,
        ("x", "y"),
        np.ones(50),
    )
    assert any(block.role == "bound" for block in pipeline.build(data, "dpflow", 2).columns)
    for params in ({"tail": "0"}, {"fold": "false"}):
        assert not any(block.role == "bound" for block in pipeline.build(data, "dpflow", 2, params=params).columns)
        with pytest.raises(ChoiceError, match="intervals=True"):
            pipeline.build(data, "dpflow", 2, params=params | {"intervals": "true"})
    assert not any(
        block.role == "bound" for block in pipeline.build(data, "dpflow", 2, constraints=("leaf_rows >= 3",)).columns
    )
    with pytest.raises(ChoiceError, match="leaf_rows"):
        pipeline.build(data, "dpflow", 2, intervals="true", constraints=("leaf_rows >= 3",))
    model = pipeline.build(data, "dpflow", 3)
    with pytest.raises(TreeError, match="intervals=False"):
        model.problem.module.start(model.problem, grow("cart", model.problem.encoded, model.problem.topology))


@functools.cache
def normal_rows():
    """A data set of numbers, and the optimum of depth 3 by the dynamic program over all thresholds."""
    random = np.random.default_rng(3)
    X, y = random.normal(size=(60, 3)).round(2), random.integers(0, 3, 60).astype(np.int32)
    data = Dataset("normal", X, y, tuple(Feature(f"f{j}", NUMERIC) for j in range(3)), ("x", "y", "z"), np.ones(60))
    plain = pipeline.pose(data, "dpflow", 3, params={"intervals": "false"})
    return data, plain.module.objective(plain, forms.form(plain).optimal(plain))


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["highs-cli", "cbc", "scip", "glpk"])
def test_any_solver_proves_the_file(solver):
    if version(find_solver(solver)) is None:
        pytest.skip(f"{solver} is not on this machine")
    data, best = normal_rows()
    fitted = odtc.fit(data, "dpflow", 3, solver=solver, start_from="none")
    assert fitted.facts["termination"] == "optimal" and fitted.facts["verified"] and fitted.facts["objective"] == best


# All midpoints (docs/explanation/strength.md; pima-diabetes at depth 3 by pycontree): rows right.
KNOWN = [
    ("iris", 2, 144),
    ("iris", 3, 149),
    ("iris", 4, 150),
    ("wine", 2, 172),
    ("wine", 3, 178),
    ("pima-diabetes", 2, 597),
    ("pima-diabetes", 3, 617),
    ("balance-scale", 2, 448),
    ("balance-scale", 3, 484),
    ("balance-scale", 4, 524),
    ("monks-1", 2, 102),
    ("monks-1", 3, 113),
    ("monks-1", 4, 122),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "depth", "right"), KNOWN)
def test_known_optima(name, depth, right, shared_data):
    fitted = odtc.fit(
        shared_data / f"{name}.csv",
        "dpflow",
        depth,
        encoding="thresholds",
        threads=1,
        start_from="none",
        intervals="true",
    )
    assert (
        fitted.facts["termination"] == "optimal" and fitted.facts["verified"] and fitted.facts["train_correct"] == right
    )


@pytest.mark.parametrize("depth", [2, 3])
def test_pycontree_finds_the_same(depth):
    pycontree = pytest.importorskip("pycontree", reason="pip install odtc[peers] brings pycontree")
    random = np.random.default_rng(depth)
    X, y = random.normal(size=(120, 4)).round(2), random.integers(0, 3, 120).astype(np.int32)
    data = Dataset("normal", X, y, tuple(Feature(f"f{j}", NUMERIC) for j in range(4)), ("x", "y", "z"), np.ones(120))
    peer = pycontree.ConTree(max_depth=depth, time_limit=60)
    peer.fit(X, y)
    assert odtc.fit(data, "dpflow", depth, start_from="none").facts["objective"] == (peer.predict(X) != y).sum()


def test_a_tree_of_less_depth_without_avoidable_error_proves_any_depth(tmp_path):
    """Iris has such a tree of depth 4; the estimate for depth 7 is of searches that must exclude something."""
    said = command(
        "fit",
        CHECKOUT / "examples" / "iris" / "iris.csv",
        "--model",
        "dpflow",
        "--depth",
        7,
        "--json",
        "-o",
        "m",
        folder=tmp_path,
    )
    assert said.code == 0, said.err
    assert (said.facts["termination"], said.facts["objective"], said.facts["verified"]) == ("optimal", 0, True)

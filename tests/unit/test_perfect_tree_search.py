"""A tree that costs what no tree can avoid is found where rules of few tests made the labels, and is never claimed
falsely."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odtc.algorithms.dp import perfect_tree_search
from odtc.algorithms.dp.state_expansion import build_graph
from odtc.algorithms.dp.state_graph import Rows
from odtc.formulations.dpflow.threshold_search import certify
from odtc.verification.certificate import check
from odtc.workflow import pipeline
from tests.command_line import MONKS


def rows_of(X, y, weight):
    return Rows.of(X, (np.arange(y.max() + 1) != y[:, None]) * weight[:, None], np.ones(len(y)))


@given(st.integers(0, 10**6), st.integers(1, 5), st.sampled_from([1.0, 1e-10, 1e9, 0.1]))
@settings(max_examples=60, deadline=None)
def test_what_is_found_costs_what_no_tree_avoids(seed, depth, scale):
    """Contradictory rows, noise and weights of every size among them."""
    random = np.random.default_rng(seed)
    X = random.random((40, 6)) < 0.4
    y = (X[:, 0] & X[:, 1] ^ (random.random(40) < random.choice([0, 0.1]))).astype(int)
    weight = scale * random.choice([1.0, 1.0, 3.0], 40)
    rows = rows_of(X, y, weight)
    tests = perfect_tree_search.find_perfect_tree(rows, depth)
    least = build_graph(rows, depth).values[0][0]
    if tests is not None:
        assert len(tests) <= 2**depth and least == pytest.approx(rows.floor.sum(), rel=1e-9)
    elif depth == 1:
        assert least > rows.floor.sum() + rows.near


@pytest.mark.parametrize(
    "made",
    [lambda X: X[:, 2], lambda X: X[:, 0] ^ X[:, 1], lambda X: X[:, 0] & X[:, 1] & X[:, 3]],
    ids=["one", "two", "three"],
)
def test_rules_are_found(made):
    X = np.random.default_rng(1).random((200, 8)) < 0.5
    tests = perfect_tree_search.find_perfect_tree(rows_of(X, made(X).astype(int), np.ones(200)), 4)
    assert tests is not None and len(tests) <= 8


def test_its_certificate_needs_no_target():
    problem = pipeline.pose(MONKS / "monks-1.csv", "dpflow", 4, encoding="onehot")
    facts = json.loads(json.dumps(certify(problem)))
    assert not any(facts["targets"]) and check(facts, problem.encoded.dataset).objective == 0

"""`--encoding oblique`: hyperplanes in addition to univariate splits; each univariate model proves the best tree."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import odtc
from odtc.algorithms.hyperplanes.tree_alternating import search_hyperplanes
from odtc.data.dataset import Dataset, Feature
from odtc.data.encoding import encode
from odtc.data.encodings.oblique import RESTARTS
from odtc.data.linear_terms import LinearTerms
from odtc.data.splits import Oblique
from odtc.data.threshold_scales import Scales
from odtc.errors import ChoiceError, DataError
from odtc.problem.formulation import FORMULATIONS
from odtc.problem.parameters import parse_params
from odtc.problem.problem import Problem
from odtc.testing.exhaustive import cheapest
from odtc.testing.problems import _can_be_encoded, datasets
from odtc.trees.heap_tree import CompleteTree
from tests import pipeline
from tests.command_line import odtc as run

EXAMPLES = Path(__file__).parents[2] / "examples"
SLOW = {"deadline": None, "suppress_health_check": list(HealthCheck), "derandomize": True}


@given(data=st.data())
@settings(max_examples=8, **SLOW)
def test_each_test_answers_its_split_and_the_pool_is_kept(data):
    dataset = data.draw(datasets(most_rows=12).filter(_can_be_encoded))
    plain, more = encode(dataset), encode(dataset, "oblique:pool=7")
    assert (
        more.splits[: plain.n_candidate_splits] == plain.splits
        and more.n_candidate_splits <= plain.n_candidate_splits + 7
    )
    assert more.n_rows == plain.n_rows
    for j, split in enumerate(more.splits):
        np.testing.assert_array_equal(more.X[more.row_of, j], split.left(dataset.X) == more.ones_left[j])
    again = encode(dataset, "oblique:pool=7")
    assert again.splits == more.splits
    scales = Scales.of(more)  # parallel hyperplanes are one scale
    for j, split in enumerate(more.splits):
        if isinstance(split, Oblique):
            assert (more.X[:, scales.split(scales.scale[j], 0)] >= more.X[:, j]).all()


def diagonal() -> Dataset:
    X = np.array([[a, b] for a in range(4) for b in range(4)], float)
    y = (np.abs(X[:, 0] - X[:, 1]) < 0.5).astype(np.int32)
    return Dataset("diagonal", X, y, (Feature("a", "numeric"), Feature("b", "numeric")), ("off", "on"), np.ones(16))


@pytest.mark.parametrize("seed", [0, 1, 56])
def test_a_pool_of_six_holds_the_best_tree_of_depth_2_that_the_search_settles(seed):
    """Nodes of trees of depth 2 and 3 took turns, so that a small pool held parts of trees."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, (14, 2)).astype(float)
    points, of = np.unique(X, axis=0, return_inverse=True)
    y = ((points[of.reshape(-1)] @ rng.normal(size=2) > 0.3) ^ (X[:, 0] > X[:, 1] + rng.normal())).astype(np.int32)
    dataset = Dataset("points", X, y, (Feature("a", "numeric"), Feature("b", "numeric")), ("off", "on"), np.ones(14))
    encoded = encode(dataset, "oblique:pool=6")
    loss = np.stack([np.bincount(of.reshape(-1), y == k, len(points)) for k in (1, 0)], axis=1)
    settled = search_hyperplanes(LinearTerms.of(points, dataset.features).Z, loss, 2, restarts=RESTARTS, seconds=5.0)
    assert cheapest(encoded.X, encoded.y, encoded.weight, 2) <= settled.loss


@pytest.mark.slow
@pytest.mark.parametrize("name", ["flowoct", "bendersoct", "oct", "binoct", "fair", "dpflow"])
def test_every_univariate_model_proves_the_best_tree_over_the_pool(name):
    dataset = diagonal()
    encoded = encode(dataset, "oblique:pool=6")
    assert (
        cheapest(encoded.X, encoded.y, encoded.weight, 2)
        == 0
        < cheapest(encode(dataset).X, dataset.y, dataset.weight, 2)
    )
    problem = Problem(encoded, CompleteTree(2), FORMULATIONS.get(name), parse_params(name, {}))
    model, solution = pipeline.solve_or_loop(pipeline.compile_model(problem), pipeline.SolvingSpec(threads=1))
    decoded = pipeline.decode(model, solution)
    assert decoded.verified and solution.objective == pytest.approx(0, abs=1e-6)
    assert decoded.tree.predict(dataset.X).tolist() == dataset.y.tolist()


def test_the_command_line_decodes_elsewhere(tmp_path):
    built = run(
        "build",
        EXAMPLES / "iris" / "iris.csv",
        "--model",
        "dpflow",
        "--encoding",
        "oblique:pool=20,bins=4",
        "--json",
        "-o",
        "m",
        folder=tmp_path,
    )
    assert built.code == 0, built.err
    assert run("solve", "m.mps", "--threads", "1", "--json", folder=tmp_path).code == 0
    facts = run("decode", "m.sol", "--json", folder=tmp_path).facts
    assert facts["verified"] and facts["termination"] == "optimal" and facts["train_correct"] >= 148
    assert 'kind": "oblique' in (tmp_path / facts["tree"]).read_text()


def test_a_bad_pool_is_refused_in_a_sentence():
    with pytest.raises(
        ChoiceError, match="expected pool, seconds and seed of 0 or more in the encoding 'oblique', got -1"
    ):
        encode(diagonal(), "oblique:pool=-1")
    with pytest.raises(ChoiceError, match="is about columns of the data, so each split has to use one column"):
        odtc.fit(
            EXAMPLES / "iris" / "iris.csv", "oct", 1, encoding="oblique:pool=5,bins=2", constraints=("features <= 1",)
        )
    assert not any(isinstance(split, Oblique) for split in encode(diagonal(), "oblique:pool=0").splits)
    with pytest.raises(DataError, match="every feature column is constant"):
        encode(
            Dataset(
                "flat",
                np.zeros((3, 1)),
                np.array([0, 1, 0], np.int32),
                (Feature("a", "numeric"),),
                ("u", "v"),
                np.ones(3),
            ),
            "oblique",
        )

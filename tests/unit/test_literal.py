"""Models as printed (`literal=true`), and models with a row for each data row (`merge=false`)."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import odtc
from odtc.problem.formulation import FORMULATIONS, OTHER, Compiled
from odtc.problem.parameters import has_parameter, keeps_rows, parse_params
from odtc.testing.optima import solved
from odtc.testing.problems import datasets
from odtc.workflow.manifest import read_manifest
from odtc.workflow.posing import pose
from tests import pipeline
from tests.command_line import odtc as run

COMPILED = FORMULATIONS.able(Compiled)
PRINTED = [name for name in COMPILED if has_parameter(name, "literal")]
# What a default changes beyond the optimum is undone, so that both models state the same problem.
ALIKE = {"svm1_odt": {"margin": "soft", "alpha1": 1e5, "epsilon": 0.01}}
SLOW = {"deadline": None, "suppress_health_check": list(HealthCheck), "derandomize": True}

# PAPERS.md, D3: (8e) forbids the hyperplane that separates 0.5 from 0.515 by a margin of 0.01.
STEEP = "x1,col,y\n0,r,a\n0.5,r,a\n0.515,r,b\n1,r,b\n0.2,g,a\n0.8,g,b\n"


def tables():
    """Draw small tables in which a column varies."""
    return datasets(most_rows=8, odd=()).filter(lambda dataset: len(np.unique(dataset.X, axis=0)) > 1)


def built(data, model, depth=1, **params):
    return pipeline.compile_model(pose(data, model, depth, **params))


@pytest.mark.parametrize("name", FORMULATIONS.module_names)
def test_every_formulation_can_keep_a_row_for_each_data_row(name, tmp_path):
    (tmp_path / "two.csv").write_text("x,y\n" + "0,a\n0,a\n1,b\n1,b\n1,a\n", encoding="utf-8")
    problem = pose(tmp_path / "two.csv", name, 1, merge=False)
    assert problem.encoded.n_rows == 5 and problem.encoded.copies.tolist() == [1] * 5
    assert pose(tmp_path / "two.csv", name, 1).encoded.n_rows == 3


@pytest.mark.slow
@pytest.mark.parametrize("name", COMPILED)
@settings(max_examples=3, **SLOW)
@given(data=st.data())
def test_rows_that_are_not_merged_have_the_same_optimum(name, data):
    dataset = data.draw(tables())
    params = {"epsilon": 0.01} if name == "svm1_odt" else {}
    assert np.isclose(
        optimum(built(dataset, name, merge=False, **params)), optimum(built(dataset, name, **params)), atol=1e-6
    )


@pytest.mark.parametrize("name", PRINTED)
def test_a_printed_model_merges_no_rows_and_has_no_cuts(name):
    assert keeps_rows(parse_params(name, {"literal": True}))
    rows = np.array([[0.0], [0.0], [1.0], [1.0], [1.0]])
    model = built(_table(rows), name, literal=True)
    assert model.problem.encoded.n_rows == 5 and model.cuts == ()


def optimum(model) -> float:
    """Return the optimal objective of a model."""
    return solved(model).fun + model.offset


def _table(X, y=(0, 0, 1, 1, 0)):
    from odtc.data.dataset import Dataset, Feature

    features = tuple(Feature(f"x{j}", "numeric") for j in range(X.shape[1]))
    return Dataset("five", X, np.array(y, np.int32), features, ("a", "b"), np.ones(len(X)))


@pytest.mark.slow
@pytest.mark.parametrize("name", PRINTED)
@settings(max_examples=6, **SLOW)
@given(data=st.data())
def test_the_default_has_the_optimum_of_the_printed_model_or_info_says_otherwise(name, data):
    dataset = data.draw(tables())
    changed = [one for one in FORMULATIONS.get(name).CHANGES if one.optimum == OTHER]
    assert bool(changed) == (name in ALIKE)
    params = ALIKE.get(name, {})
    assert np.isclose(
        optimum(built(dataset, name, literal=True, **params)), optimum(built(dataset, name, **params)), atol=1e-5
    )


@pytest.mark.slow
@pytest.mark.parametrize("literal", (True, False))
def test_sets_of_levels_bound_hyperplanes_as_printed(literal, tmp_path):
    path = tmp_path / "steep.csv"
    path.write_text(STEEP, encoding="utf-8")
    given = {"categories": "sets", "epsilon": 0.01, "alpha1": 1000, "alpha2": 0, "literal": literal}
    assert odtc.fit(path, "svm1_odt", depth=1, **given).proof.objective == 1


def test_sets_of_levels_are_said_to_be_weaker(tmp_path):
    """PAPERS.md, D7."""
    path = tmp_path / "steep.csv"
    path.write_text(STEEP, encoding="utf-8")
    advice = FORMULATIONS.get("svm1_odt").advice
    given = {"epsilon": 0.01, "margin": "hard"}
    assert any("onehot" in note for note in advice(pose(odtc.read(path), "svm1_odt", 1, categories="sets", **given)))
    assert not any("onehot" in note for note in advice(pose(odtc.read(path), "svm1_odt", 1, **given)))


def test_info_lists_the_changes_of_a_default():
    done = run("info", "flowoct")
    assert "bottom=stump" in done.out and "relaxation: tighter" in done.out


def test_a_manifest_knows_that_rows_are_not_merged(tmp_path):
    (tmp_path / "two.csv").write_text("x,y\n0,a\n0,a\n1,b\n1,b\n1,a\n", encoding="utf-8")
    done = run(
        "build", "two.csv", "--model", "flowoct", "--depth", "1", "-p", "merge=false", "-o", "m", folder=tmp_path
    )
    assert done.code == 0, done.err
    assert not read_manifest(tmp_path / "m.odt.json").problem.encoded.merge
    assert run("solve", "m.mps", "--solver", "highs", folder=tmp_path).code == 0
    assert run("decode", "m.sol", folder=tmp_path).code == 0
    assert run("verify", "m.sol", folder=tmp_path).code == 0


def test_scaling_can_be_switched_off():
    X = np.array([[0.0], [10.0], [20.0], [30.0], [40.0]])
    scaled = built(_table(X), "svm1_odt", epsilon=0.01)
    plain = built(_table(X), "svm1_odt", epsilon=0.01, scale=False)
    assert sorted(set(np.abs(scaled.A.data))) != sorted(set(np.abs(plain.A.data)))
    assert 40.0 in np.abs(plain.A.data) and 40.0 not in np.abs(scaled.A.data)
    assert np.isclose(optimum(scaled), optimum(plain))
    assert any(
        "scale" in note for note in FORMULATIONS.get("svm1_odt").advice(pose(_table(X), "svm1_odt", 1, literal=True))
    )


def test_hyperplanes_start_from_hyperplanes():
    assert FORMULATIONS.get("svm1_odt").START.startswith("oblique") and FORMULATIONS.get("flowoct").START == "cart"
    X = np.array([[0.0, 1.0], [1.0, 2.0], [2.0, 3.5], [1.0, 0.0], [2.0, 1.0], [3.0, 2.5]])
    problem = pose(_table(X, (0, 0, 0, 1, 1, 1)), "svm1_odt", 1)
    assert pipeline.start(pipeline.compile_model(problem), "auto")[0].loss(problem.encoded) == 0

"""Law 7: decoding in a new process, from only the manifest and the solution file, equals decoding in memory."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import odtc
from odtc.base.whole_numbers import exact_weights
from odtc.data.task import exact_costs
from odtc.errors import ManifestError
from odtc.fileformats.solution_files import write_point
from odtc.problem.identity import identity_of
from odtc.testing import cases
from odtc.testing.problems import COMPILED
from odtc.workflow import files_of_models
from odtc.workflow.manifest import read_manifest, write_manifest
from tests import pipeline

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.every(2)
@pytest.mark.parametrize(
    "case", [case for name in COMPILED for case in cases("formulation", name, property="manifest")], ids=str
)
def test_manifest_and_point_hold_all_that_decoding_needs(case):
    case.expect(min(case.property.examples, 6))  # `odtc check` draws more


@pytest.mark.every(2)
@pytest.mark.parametrize("format", ["mps", "lp", "fixed-mps"])
def test_decoding_elsewhere_later(format, tmp_path):
    model = pipeline.build(EXAMPLES / "monks" / "monks-3.csv", "flowoct", 2)
    solution = pipeline.solve(model, threads=1)
    in_memory = pipeline.decode(model, solution).tree
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir(), there.mkdir()
    files_of_models.write_build(model, here / "m", format)
    write_point(model, solution.x, here / "m.sol", "highs", solution.termination)
    for name in ("m.sol", "m.odt.json"):
        shutil.copy(here / name, there / name)
    shutil.rmtree(here)
    package = str(Path(odtc.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-m", "odtc", "decode", "m.sol", "--json"],
        cwd=there,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": package},
    )
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["verified"] and facts["termination"] == "optimal"
    assert json.loads((there / facts["tree"]).read_text()) == in_memory.to_json()


@pytest.mark.parametrize("key", ["n_cols", "n_rows", "nnz"])
@pytest.mark.parametrize("by", [-1, 1])
def test_a_model_of_another_size_is_refused(key, by, tmp_path):
    """Each of the three sizes by itself, of a model built again and of one read from a file."""
    model = pipeline.build(EXAMPLES / "monks" / "monks-3.csv", "flowoct", 1)
    manifest = read_manifest(write_manifest(model.problem, model, tmp_path / "m.odt.json"))
    manifest.expect(model)
    other = replace(
        manifest, facts=manifest.facts | {"model": manifest.facts["model"] | {key: getattr(model, key) + by}}
    )
    for compared in (model, replace(model, problem=None, matrix=model.A)):
        with pytest.raises(ManifestError, match=f"records {key} = "):
            other.expect(compared)


def test_a_model_of_other_columns_is_refused(tmp_path):
    model = pipeline.build(EXAMPLES / "monks" / "monks-3.csv", "flowoct", 1)
    manifest = read_manifest(write_manifest(model.problem, model, tmp_path / "m.odt.json"))
    first, *rest = model.columns
    renamed = replace(model, columns=(replace(first, name="other"), *rest), matrix=model.A)
    with pytest.raises(ManifestError, match="records other columns than"):
        manifest.expect(renamed)


def _of_weights(tmp_path, text):
    (tmp_path / "w.csv").write_text(text)
    constraints = ["precision[b] >= 2/3", "statistical_parity[group=x,positive=b] <= 1"]
    how = {"model": "oct", "depth": 1, "weights": "w", "constraints": constraints}
    return pipeline.build(tmp_path / "w.csv", **how)


LONG = "x,w,y\n0,0.06641211406022762,b\n0,31.33621410826022,b\n1,0.6573015465763679,a\n1,0.008236467850498828,a\n"


@pytest.mark.parametrize("text", [LONG, "x,w,y\n0,1e-09,b\n0,30000000,b\n1,4000000000,a\n1,1000,b\n"])
def test_weights_that_doubles_round_are_exact_in_a_manifest(text, tmp_path):
    model = _of_weights(tmp_path, text)
    manifest = read_manifest(write_manifest(model.problem, model, tmp_path / "w.odt.json"))
    ours, theirs = model.problem.encoded, manifest.problem.encoded
    (whole, unit), (again, of) = exact_weights(ours), exact_weights(theirs)
    assert (whole == again).all() and unit == of
    assert (ours.groups[0].whole * unit == theirs.groups[0].whole * unit).all()


@pytest.mark.parametrize("forged", [{"unit": "1/1"}, {"unit": "1"}, {"unit": "x/2"}, {"unit": "-1/2"}, {"weight": "?"}])
def test_exact_weights_that_are_not_the_weights_are_refused(forged, tmp_path):
    path = tmp_path / "w.odt.json"
    model = _of_weights(tmp_path, LONG)
    write_manifest(model.problem, model, path)
    facts = json.loads(path.read_text())
    facts["rows"]["exact"] |= forged
    path.write_text(json.dumps(facts))
    with pytest.raises(ManifestError):
        read_manifest(path)


def _of_lines(tmp_path, ridge=0.0, cell="0.5"):
    rows = "".join(f"{a / 4},{a % 3},{a * a % 7}\n" for a in range(12))
    (tmp_path / "r.csv").write_text(f"a,b,y\n{rows}{cell},1,2.5\n")
    how = {"task": "regression", "leaf": "linear", "ridge": ridge, "encoding": "auto:bins=2", "depth": 1}
    return pipeline.build(tmp_path / "r.csv", "dpflow", **how)


def test_a_manifest_has_the_exact_costs_of_linear_leaves(tmp_path):
    model = _of_lines(tmp_path, 0.5)
    manifest = read_manifest(write_manifest(model.problem, model, tmp_path / "r.odt.json"))
    ours, theirs = (exact_costs(problem.encoded) for problem in (model.problem, manifest.problem))
    rows = np.arange(model.problem.encoded.n_rows)
    for some in (rows, rows[::2], rows[:3]):
        assert ours.leaf(some) * ours.unit == theirs.leaf(some) * theirs.unit
        assert ours.line(some) == theirs.line(some)


def test_models_of_other_lines_have_another_identity(tmp_path):
    """Equal splits and sums, but another penalty of slopes, or another cell between the same thresholds."""
    models = [_of_lines(tmp_path), _of_lines(tmp_path, 0.5), _of_lines(tmp_path, cell="0.51")]
    assert len({identity_of(model.problem) for model in models}) == 3


@pytest.mark.parametrize("forged", [{"columns": [0]}, {"columns": [0, 7]}, {"row_of": ""}, {"cells": ""}])
def test_other_rows_of_linear_leaves_are_refused(forged, tmp_path):
    model, path = _of_lines(tmp_path), tmp_path / "r.odt.json"
    write_manifest(model.problem, model, path)
    facts = json.loads(path.read_text())
    facts["rows"]["lines"] |= forged
    path.write_text(json.dumps(facts))
    with pytest.raises(ManifestError):
        read_manifest(path)

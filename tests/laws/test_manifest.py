"""Law 7: decoding in a fresh process, from the manifest and the solution file alone, is decoding in memory."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from odtc.errors import ManifestError
from odtc.fileformats.solution_files import write_point
from odtc.testing import cases
from odtc.testing.problems import COMPILED
from odtc.workflow import artifacts, pipeline
from odtc.workflow.manifest import read_manifest, write_manifest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.every(2)
@pytest.mark.parametrize(
    "case", [case for name in COMPILED for case in cases("formulation", name, law="manifest")], ids=str
)
def test_manifest_and_point_hold_all_that_decoding_needs(case):
    case.expect(min(case.law.examples, 6))  # `odtc check` draws more


@pytest.mark.every(2)
@pytest.mark.parametrize("format", ["mps", "lp", "fixed-mps"])
def test_decoding_elsewhere_later(format, tmp_path):
    model = pipeline.build(EXAMPLES / "monks" / "monks-3.csv", "flowoct", 2)
    solution = pipeline.solve(model, threads=1)
    in_memory = pipeline.decode(model, solution).tree
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir(), there.mkdir()
    artifacts.write_build(model, here / "m", format)
    write_point(model, solution.x, here / "m.sol", "highs", solution.termination)
    for name in ("m.sol", "m.odt.json"):
        shutil.copy(here / name, there / name)
    shutil.rmtree(here)
    package = str(Path(pipeline.__file__).parents[1])
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

"""Law 7: decoding in a fresh process, from the manifest and the solution file alone, is decoding in memory."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from odtc.errors import ManifestError
from odtc.fileformats.solution_files import read_point, write_point
from odtc.workflow import artifacts, pipeline
from odtc.workflow.manifest import read_manifest, write_manifest
from tests.laws.problems import ALL_FORMS, form_id, heaps, problems

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("form", ALL_FORMS, ids=form_id)
@given(data=st.data())
@settings(
    max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
def test_manifest_and_point_hold_all_that_decoding_needs(form, data, tmp_path):
    problem = data.draw(problems(form))
    model = replace(problem.module.build(problem), problem=problem)
    x = model.join(problem.module.start(problem, data.draw(heaps(problem))))
    write_manifest(problem, model, tmp_path / "m.odt.json")
    first = (tmp_path / "m.odt.json").read_bytes()
    write_manifest(problem, model, tmp_path / "m.odt.json")
    assert (tmp_path / "m.odt.json").read_bytes() == first
    in_memory = problem.module.decode(problem, model.split(x)).to_tree(problem.encoded)
    for format in ("highs", "name-value"):
        write_point(model, x, tmp_path / "m.sol", format)
        manifest = read_manifest(tmp_path / "m.odt.json")
        back = manifest.point(read_point(tmp_path / "m.sol"))
        assert back.tolist() == x.tolist()
        again = manifest.problem
        tree = again.module.decode(again, model.split(back)).to_tree(again.encoded)
        assert tree == in_memory


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

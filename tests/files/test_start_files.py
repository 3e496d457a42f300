"""The files that one command leaves for the next: starts of the right model, in the form of its solver."""

import json

import numpy as np
import pytest

from odtc.solvers.solver import SOLVERS, find_solver, version
from odtc.workflow import files_of_models
from tests import pipeline
from tests.command_line import odtc, refused

XOR = "a,b,class\n0,0,0\n0,1,1\n1,0,1\n1,1,0\n"


@pytest.fixture
def xor(tmp_path):
    (tmp_path / "xor.csv").write_text(XOR)
    return tmp_path


STARTED = [name for name in SOLVERS.names() if find_solver(name).DIALECT.start]


@pytest.mark.parametrize("solver", STARTED)
def test_the_start_that_a_dialect_wrote_is_found_again(xor, solver):
    assert odtc("build", "xor.csv", "--dialect", solver, "-o", "m", folder=xor).code == 0
    opened = files_of_models.open_model(xor / "m.mps", None, [solver])
    compiled = pipeline.build(xor / "xor.csv", "flowoct", 2)
    assert opened.start is not None and np.array_equal(opened.start, pipeline.start(compiled)[1])
    assert files_of_models.open_model(xor / "m.mps", "none", [solver]).start is None


def test_of_several_dialects_the_solver_has_its_own(xor):
    assert odtc("build", "xor.csv", "--dialect", "all", "-o", "m", folder=xor).code == 0
    for solver in STARTED:
        assert f".start.{solver}." in files_of_models.start_beside(xor / "m.mps", [solver]).name
    assert files_of_models.start_beside(xor / "m.mps", ["glpk"]) is None
    assert files_of_models.start_beside(xor / "m.mps", ["glpk", "cbc"]).name == "m.start.cbc.sol"


@pytest.mark.parametrize("solver", ["highs", "cbc", "scip"])
def test_a_solver_takes_the_start_that_its_dialect_wrote(xor, solver):
    if version(find_solver(solver)) is None:
        pytest.skip(f"{solver} is not on this machine")
    assert odtc("build", "xor.csv", "--dialect", solver, "-o", "m", folder=xor).code == 0
    assert odtc("solve", "m.mps", "--solver", solver, "--json", folder=xor).facts["start"] == "accepted"


def test_a_rebuild_leaves_no_start_of_the_older_model(xor):
    (xor / "m.start.notes.txt").write_text("mine")
    (xor / "m2.start.cbc.sol").write_text("of another stem")
    assert odtc("build", "xor.csv", "--dialect", "all", "-o", "m", folder=xor).code == 0
    starts = {path.name for path in xor.glob("m.start.*")}
    assert len(starts) == len(STARTED) + 1
    assert odtc("build", "xor.csv", "--depth", 1, "--dialect", "cbc", "-o", "m", folder=xor).code == 0
    assert {path.name for path in xor.glob("m*.start.*")} == {
        "m.start.cbc.sol",
        "m.start.notes.txt",
        "m2.start.cbc.sol",
    }
    assert odtc("build", "xor.csv", "--start", "none", "-o", "m", folder=xor).code == 0
    assert {path.name for path in xor.glob("m*.start.*")} == {"m.start.notes.txt", "m2.start.cbc.sol"}


def test_the_start_of_a_described_solver_has_its_name(xor):
    (xor / "sub").mkdir()
    (xor / "sub" / "mine.toml").write_text("command = ['true']\nstart = 'name-value'")
    done = odtc("build", "xor.csv", "--dialect", "sub/mine.toml", "-o", "m", "--json", folder=xor)
    assert "m.start.mine.sol" in json.loads(done.out)["files"]
    assert files_of_models.start_beside(xor / "m.mps", [str(xor / "sub" / "mine.toml")]).name == "m.start.mine.sol"


@pytest.mark.parametrize("solver", ["lp_solve", "symphony"])
def test_gzip_for_a_solver_that_reads_none_is_refused(xor, solver):
    said = odtc("build", "xor.csv", "--dialect", solver, "--gzip", "-o", "m", folder=xor)
    assert refused(said) == f"--gzip: {solver} reads no .gz; leave --gzip out, or --dialect"
    assert not list(xor.glob("m.*"))


def test_gzip_for_all_says_who_reads_none(xor):
    said = odtc("build", "xor.csv", "--dialect", "all", "--gzip", "-o", "m", folder=xor)
    assert said.code == 0 and said.err.startswith("lp_solve, symphony read no .gz")
    assert odtc("build", "xor.csv", "--dialect", "cbc", "--gzip", "-o", "m", folder=xor).err == ""

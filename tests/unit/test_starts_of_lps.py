"""Starts are for MIPs: most solvers get none for an LP, and a message reports it."""

from dataclasses import replace

import numpy as np
import pytest

from odtc.solvers.external import lay_out
from odtc.solvers.protocols import Dialect
from odtc.solvers.solver import SOLVERS, find_solver, version
from tests import pipeline
from tests.command_line import MONKS
from tests.command_line import odtc as command

TAKES = [name for name in SOLVERS.names() if getattr(SOLVERS.get(name), "DIALECT", Dialect()).start]


@pytest.fixture(scope="module")
def small():
    model = pipeline.build(MONKS / "monks-1.csv", "flowoct", 1, encoding="onehot")
    return model, pipeline.start(model)[1]


@pytest.mark.parametrize("name", TAKES)
def test_no_start_is_laid_out_for_an_lp(name, small, tmp_path):
    model, point = small
    module = SOLVERS.get(name)
    names, _, note = lay_out(module, model, point, None, tmp_path)
    assert (tmp_path / names["start"]).is_file() and not note
    (tmp_path / names["start"]).unlink()
    plain = replace(model, integrality=np.zeros(model.n_cols, np.uint8), matrix=model.A)
    names, _, note = lay_out(module, plain, point, None, tmp_path)
    assert bool(names["start"]) == module.DIALECT.lp_start == (tmp_path / "start.mst").exists()
    assert note == (
        ""
        if module.DIALECT.lp_start
        else f"no start is given, because the model is an LP, and {module.NAME} takes a start only for a MIP"
    )
    assert not lay_out(module, plain, None, None, tmp_path)[2]


@pytest.mark.slow
@pytest.mark.parametrize("name", TAKES)
def test_an_lp_with_its_default_start_is_solved(name, tmp_path):
    """dpflow at depth 1 is an LP; CPLEX ended with "Not a mixed-integer problem"."""
    if not version(find_solver(name)):
        pytest.skip(f"{name} is not installed")
    words = ("fit", MONKS / "monks-1.csv", "--model", "dpflow", "--depth", 1, "--solver", name, "--start", "cart")
    said = command(*words, "--json", folder=tmp_path)
    assert said.code == 0 and said.facts["termination"] == "optimal" and said.facts["verified"], said.err
    assert said.facts["start"] in ("none", "accepted")

"""Cut sections in model files: solvers that support them read them as cuts, the others get plain constraints."""

import os
import re

import numpy as np
import pytest
import scipy.sparse as sp

from odtc.fileformats.model_files import FORMATS, read_model, write_model
from odtc.fileformats.solution_files import POINTS
from odtc.model.blocks import NamedBlock
from odtc.model.milp import Model
from odtc.model.points import name_list
from odtc.model.solution import Options
from odtc.solvers.solve import solve
from odtc.solvers.solver import SOLVERS, find_solver, version

LIMIT = Options(time_limit=60, threads=1)


def with_cuts() -> Model:
    """max x + y, whole in [0, 5]: x + y <= 9, lazily x + 2y <= 8, and a user cut x + y <= 12 that none breaks.
    The optimum is 6 (x 5, y 1); without the lazy row it would be 9."""
    A = sp.csc_array(np.array([[1.0, 1], [1, 2], [1, 1]]))
    blocks = tuple(NamedBlock((name,), at, name) for at, name in enumerate(("c1", "lz", "uc")))
    return Model(
        "cuts",
        -np.ones(2),
        0.0,
        np.full(3, -np.inf),
        np.array([9.0, 8, 12]),
        np.zeros(2),
        np.full(2, 5.0),
        np.ones(2, np.uint8),
        (NamedBlock(("x", "y")),),
        blocks,
        lazy=("lz",),
        user_cuts=("uc",),
        matrix=A,
    )


@pytest.mark.parametrize("name", SOLVERS.names())
def test_the_optimum_is_that_with_the_lazy_row(name):
    if version(find_solver(name)) is None:
        if os.environ.get("ODTC_REQUIRE_SOLVERS") and not find_solver(name).DIALECT.limit and name != "cuopt":
            pytest.fail(f"the open solver {name} is not on this machine")
        pytest.skip(f"{name} is not on this machine")
    found = solve(with_cuts(), name, LIMIT)
    assert found.termination == "optimal" and found.objective == pytest.approx(-6)


@pytest.mark.every(2)
@pytest.mark.parametrize("format", ["mps", "lp"])
@pytest.mark.parametrize("name", SOLVERS.names())
def test_a_file_with_sections_is_read_or_written_anew(name, format, tmp_path):
    if version(find_solver(name)) is None:
        pytest.skip(f"{name} is not on this machine")
    path = write_model(with_cuts(), tmp_path / f"cuts.{format}", format, cuts=True)
    found = solve(read_model(path), name, LIMIT, path=path)
    assert found.termination == "optimal" and found.objective == pytest.approx(-6)


@pytest.mark.parametrize("format", FORMATS.names())
def test_sections_stand_in_the_order_that_all_take(format, tmp_path):
    path = write_model(with_cuts(), tmp_path / "cuts", format, cuts=True)
    text = path.read_text()
    user, lazy = ("User Cuts", "Lazy Constraints") if format == "lp" else ("USERCUTS", "LAZYCONS")
    assert text.index(user) < text.index(lazy)
    plain = write_model(with_cuts(), tmp_path / "plain", format).read_text()
    assert user not in plain and lazy not in plain


@pytest.mark.parametrize("format", ["mps", "lp"])
def test_sections_are_read_back(format, tmp_path):
    read = read_model(write_model(with_cuts(), tmp_path / f"cuts.{format}", format, cuts=True))
    marks = {
        name: kind
        for kind in ("lazy", "user_cuts")
        for block in read.rows
        if block.name in getattr(read, kind)
        for name in name_list([block])
    }
    assert marks == {"lz": "lazy", "uc": "user_cuts"}
    sides = dict(zip([name for block in read.rows for name in name_list([block])], read.row_upper))
    assert sides == {"c1": 9, "lz": 8, "uc": 12}


def test_every_dialect_speaks_of_formats_that_there_are():
    for name in SOLVERS.names():
        dialect = find_solver(name).DIALECT
        assert set(dialect.reads) <= set(FORMATS.names())
        assert dialect.start is None or dialect.start in POINTS.names()
        assert re.fullmatch(r"\.\w+", dialect.start_suffix)

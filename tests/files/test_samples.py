"""The recorded outputs of twelve solvers in five situations, and the right outcome and point (docs/reference).

$ODTC_SAMPLES names their folder, ../shared/samples beside the repository by default.
"""

import importlib
import os
from pathlib import Path

import numpy as np
import pytest

from odtc.fileformats.solution_files import RawPoint, read_point
from odtc.model.solution import Termination
from tests import highs_reader

SAMPLES = Path(os.environ.get("ODTC_SAMPLES") or Path(__file__).resolve().parents[3] / "shared" / "samples")

MODULES = (
    "highs",
    "cbc",
    "scip",
    "glpk",
    "lp_solve",
    "symphony",
    "ortools",
    "gurobi",
    "cplex",
    "xpress",
    "copt",
    "cuopt",
)
# Folder of the samples: the module of the solver, and the kinds of file it leaves.
SOLVERS = {
    "cbc": ("cbc", (".sol",)),
    "cbcdev": ("cbc", (".sol",)),
    "copt": ("copt", (".sol",)),
    "cplex": ("cplex", (".sol",)),
    "glpk": ("glpk", (".sol", ".out")),
    "gurobi": ("gurobi", (".sol",)),
    "highs": ("highs", (".sol",)),
    "highspy": ("highs", (".sol", "_style1.sol", "_style2.sol", "_style3.sol", "_style4.sol")),
    "lp_solve": ("lp_solve", (".sol",)),
    "scip": ("scip", (".sol",)),
    "symphony": ("symphony", (".sol",)),
    "xpress": ("xpress", (".slx", ".asc")),
}
UNBOUNDED = {Termination.UNBOUNDED, Termination.INFEASIBLE_OR_UNBOUNDED}
CASES = {  # the model, how a solver may end on it, and whether there is a point
    "optimal": ("opt.mps", {Termination.OPTIMAL}, True),
    "infeasible": ("infeas.mps", {Termination.INFEASIBLE}, False),
    "unbounded": ("unbd.mps", UNBOUNDED, False),
    "tl_incumbent": ("hard.mps", {Termination.TIME_LIMIT}, True),
    "tl_noincumbent": ("noinc.mps", {Termination.TIME_LIMIT}, False),
}
# CBC 2.10 says it in its file and less in its log.
VAGUE = {
    ("cbc", "infeasible"): {Termination.INFEASIBLE, Termination.INFEASIBLE_OR_UNBOUNDED},
    ("cplex", "unbounded"): UNBOUNDED,
}

pytestmark = pytest.mark.skipif(
    not (SAMPLES / "opt.mps").is_file(),
    reason=f"no recorded solver outputs in {SAMPLES}; set ODTC_SAMPLES to their folder",
)


def logs(folder: str, case: str) -> list[str]:
    kinds = (".sol",) if folder in ("lp_solve", "symphony") else (".log", ".stdout")
    paths = [SAMPLES / folder / f"{case}{kind}" for kind in kinds]
    return [text for path in paths if path.exists() and (text := path.read_text(encoding="utf-8", errors="replace"))]


@pytest.mark.parametrize("folder,case", [(folder, case) for folder in SOLVERS for case in CASES if logs(folder, case)])
def test_the_log_says_how_it_ended_and_no_other_solver_takes_it_for_its_own(folder, case):
    texts = logs(folder, case)
    heard = {
        name: module.read_log(text)
        for name in MODULES
        for text in texts
        if (module := importlib.import_module(f"odtc.solvers.adapters.{name}")).read_log(text) is not None
    }
    assert list(heard) == [SOLVERS[folder][0]]
    assert set(heard.values()) <= VAGUE.get((folder, case), CASES[case][1])


# Every solver in every case, with a file or without, and the other forms that were recorded.
FILES = [
    (folder, kind, case)
    for folder, (_, kinds) in SOLVERS.items()
    for kind in kinds
    for case in CASES
    if kind == kinds[0] or (SAMPLES / folder / f"{case}{kind}").exists()
]


@pytest.mark.parametrize("folder,kind,case", FILES)
def test_the_end_and_the_point(folder, kind, case):
    path = SAMPLES / folder / f"{case}{kind}"
    assert (SAMPLES / folder / f"{case}.cmd").is_file()
    solver = importlib.import_module(f"odtc.solvers.adapters.{SOLVERS[folder][0]}")
    texts = logs(folder, case)
    said = next((end for text in texts if (end := solver.read_log(text)) is not None), None)
    found = [solver.has_point(text) for text in texts] if hasattr(solver, "has_point") else [None]
    raw = (read_point(path) if path.exists() else RawPoint("none", None, None)).under(said, found[0])
    model_file, ends, has_point = CASES[case]
    assert raw.termination in ends
    assert (raw.values is not None) == has_point
    if not has_point:
        return
    model = highs_reader.read_model(SAMPLES / model_file)
    assert model_file in (SAMPLES / folder / f"{case}.cmd").read_text(encoding="utf-8")
    x = raw.on(model.columns)
    whole = x[model.integrality == 1]
    assert np.abs(whole - whole.round()).max() <= 1e-5
    assert (model.A @ x >= model.row_lower - 1e-4).all() and (model.A @ x <= model.row_upper + 1e-4).all()
    assert (x >= model.col_lower - 1e-6).all() and (x <= model.col_upper + 1e-6).all()
    if raw.objective is not None:
        assert model.objective(x) == pytest.approx(raw.objective, rel=1e-6)
    if case == "optimal":
        known = read_point(SAMPLES / "highs" / "optimal.sol").on(model.columns)
        np.testing.assert_allclose(x, known, atol=1e-6)
        assert model.objective(x) == pytest.approx(-22.1666666666667, rel=1e-6)


def test_without_its_log_the_relaxation_that_xpress_leaves_is_seen_to_be_fractional():
    model = highs_reader.read_model(SAMPLES / "noinc.mps")
    x = read_point(SAMPLES / "xpress" / "tl_noincumbent.slx").on(model.columns)
    assert np.abs(x - x.round()).max() > 0.01


def test_without_its_log_the_point_of_gurobi_on_an_unbounded_model_has_values_of_1e8():
    raw = read_point(SAMPLES / "gurobi" / "unbounded.sol")
    assert raw.termination is None and raw.values.max() >= 1e8
    assert raw.under(Termination.UNBOUNDED).values is None

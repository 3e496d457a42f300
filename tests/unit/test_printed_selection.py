"""Algorithm 1 of Zhu et al. as printed: LPs (6), (7), (9) term by term and by several solvers, T(λ), β1, β2 and ε′."""

import os
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from odtc.data.dataset import Dataset, Feature
from odtc.errors import ChoiceError
from odtc.fileformats.model_files import read_model
from odtc.solvers.solve import solve
from odtc.solvers.solver import find_solver, version
from odtc.workflow.row_selection import printed, programs
from odtc.workflow.row_selection.programs import NINE, SEVEN, SIX, program
from odtc.workflow.row_selection.selection import Cluster, select_rows
from tests.by_hand import BY_HAND
from tests.command_line import odtc, refused

IRIS = Path(__file__).parents[2] / "examples" / "iris" / "iris.csv"
THREE = np.array([[0.0, 0.0], [0.5, 0.25], [1.0, 0.5]])


def terms_of(model):
    """({row: (terms, low, high)}, {variable: (cost, low, high, whether it is whole)})."""
    names, A = list(model.column_names), model.A.tocsr()
    rows = {}
    for at, name in enumerate(model.row_names):
        part = slice(A.indptr[at], A.indptr[at + 1])
        terms = {names[j]: float(value) for j, value in zip(A.indices[part], A.data[part])}
        rows[name] = terms, float(model.row_lower[at]), float(model.row_upper[at])
    facts = zip(model.c, model.col_lower, model.col_upper, model.integrality)
    return rows, {name: tuple(map(float, fact)) for name, fact in zip(names, facts)}


def cluster_of(points, near=None):
    Z = np.asarray(points, float)
    return Cluster(np.arange(len(Z)), Z, np.zeros(len(Z)) if near is None else np.asarray(near, float))


def test_the_programs_are_those_that_were_typed_from_the_paper():
    assert terms_of(program(THREE, SEVEN, eps=0.1)) == terms_of(read_model(BY_HAND / "selection_7.lp"))
    assert terms_of(program(THREE, SIX, f=1.0)) == terms_of(read_model(BY_HAND / "selection_6.lp"))
    rows, variables = terms_of(read_model(BY_HAND / "selection_6.lp"))
    relaxed = {name: (*fact[:3], 0.0) for name, fact in variables.items()}
    assert terms_of(program(THREE, NINE)) == (rows, relaxed)


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["highs", "glpk", "cbc", "scip"])
def test_written_programs_have_one_optimum_whatever_solver_reads_them(tmp_path, solver):
    if version(find_solver(solver)) is None and not os.environ.get("ODTC_REQUIRE_SOLVERS"):
        pytest.skip(f"{solver} is not on this machine")
    random = np.random.default_rng(5)
    points = np.unique(random.integers(0, 9, (24, 2)) / 8, axis=0)
    inside = len(points) - len(ConvexHull(points).vertices)
    assert solve(program(points, SEVEN), solver).objective == pytest.approx(-inside)
    # Theorem 4: with f = 0 the 0-1 program has the optimum of (7).
    assert solve(program(points[:12], SIX), solver).objective == pytest.approx(
        solve(program(points[:12], SEVEN), "highs").objective
    )


@pytest.mark.parametrize("seed", range(4))
def test_the_points_inside_are_those_of_the_convex_hull(seed):
    points = np.unique(np.random.default_rng(seed).integers(0, 7, (40, 2)) / 6, axis=0)
    hull = ConvexHull(points)
    # Points on an edge are mixtures, too: only corners are extreme.
    b, mix = printed.solved(points, 0.0, "highs")
    assert np.flatnonzero(b < 1 - printed.SURE).tolist() == sorted(hull.vertices)
    inside = b >= 1 - printed.SURE
    over = printed.transformed(mix, inside)
    assert not over.toarray()[:, inside].any() and over.toarray().min() >= -1e-9
    assert over @ points == pytest.approx(points[inside], abs=1e-7)
    assert np.asarray(over.sum(axis=1)) == pytest.approx(1.0)


def test_a_vertex_may_use_points_inside_so_the_transformation_is_needed():
    """The paper says that T(λ) = λ for a vertex; on a line 1 = (0 + 2) / 2 is one, although 2 is between 0 and 3."""
    mix = printed.sp.csr_array([[0, 0, 0, 0], [0.5, 0, 0.5, 0], [0, 0.5, 0, 0.5], [0, 0, 0, 0]])
    over = printed.transformed(mix, np.array([False, True, True, False])).toarray()
    assert over == pytest.approx(np.array([[2 / 3, 0, 0, 1 / 3], [1 / 3, 0, 0, 2 / 3]]))


def test_theorem_4_does_not_hold_for_near_points():
    """Two points within ε′ are mixtures of each other in (7); in (6) one of them is selected and has b = 0."""
    points = np.array([[0.0], [0.05]])
    assert solve(program(points, SEVEN, eps=0.1), "highs").objective == pytest.approx(-2)
    assert solve(program(points, SIX, eps=0.1), "highs").objective == pytest.approx(-1)


# On a line λ is unique: 0.1 and 0.2 weigh 0.9 and 0.8 on 0, so J = {0}.
@pytest.mark.parametrize("solver", ["", "highs"])
@pytest.mark.parametrize(
    ("beta1", "beta2", "kept"),
    [
        (0.5, 0.3, [0, 3]),  # |I| = 2 >= (1 - 0.5) 4: all extreme points
        (0.1, 0.1, [0]),  # |J| = 1 > 0.1 · 4
        (0.1, 0.5, [0, 3]),  # J and one of K = {3}
        (0.1, 0.25, [0]),  # |J| = 0.25 · 4, so nothing of K
    ],
)
def test_beta_1_and_beta_2_choose_what_the_paper_says(beta1, beta2, kept, solver):
    cluster = cluster_of([[0.0], [0.1], [0.2], [1.0]], [9, 1, 1, 2])
    assert printed.select(cluster, beta1, beta2, solver=solver).places.tolist() == kept


def test_the_nearest_points_of_k_come_first():
    corners = [[0, 0], [0, 1], [1, 0], [1, 1]]
    kept = printed.select(cluster_of(corners, [4, 1, 2, 3]), 0.1, 0.5).places
    assert kept.tolist() == [1, 2]


def test_eps_is_in_units_of_columns_scaled_over_all_rows():
    """All rows have x from 0 to 10, those of class a from 0 to 1: 0.4 is within 0.05 of 0 and 1 if 1 is 0.1."""
    x = np.array([0.0, 0.4, 1.0, 9.0, 10.0])
    features = (Feature("x", "numeric", ()),)
    dataset = Dataset("made", x[:, None], np.array([0, 0, 0, 1, 1], np.int32), features, ("a", "b"), np.ones(5))
    chosen = select_rows(dataset, "printed:eps=0.05,beta1=0.5", 1).selected
    # Of class a all points are within 0.05 of another; of class b, 0.1 apart, none is.
    assert chosen.facts["n_inside"] == 2 and chosen.facts["n_extreme"] == 3
    assert select_rows(dataset, "printed:eps=0.2,beta1=0.5", 1).selected.facts["n_extreme"] == 0


def test_the_defaults_are_those_of_the_paper():
    wanted = select_rows(odtc_data(), "printed:beta1=0.1,beta2=0.1,eps=0", 2).selected
    assert select_rows(odtc_data(), "printed", 2).selected.rows.tolist() == wanted.rows.tolist()


def odtc_data():
    from odtc import read

    return read(IRIS)


def test_select_writes_a_program_for_each_cluster(tmp_path):
    said = odtc("select", IRIS, "--select", "printed", "--format", "mps", "-o", tmp_path / "iris", "--json")
    assert said.code == 0, said.err
    clusters = said.facts["clusters"]
    assert said.facts["program"] == 7 and len(clusters) >= 3
    for cluster in clusters:
        n = len(cluster["rows"])
        assert cluster["n_cols"] == n * n and cluster["n_model_rows"] == 5 * n
        assert len(read_model(cluster["file"]).c) == n * n
    balanced = odtc("select", IRIS, "--select", "balanced", "--format", "lp", "-o", tmp_path / "b", "--json").facts
    assert balanced["program"] == 9 and not read_model(balanced["clusters"][0]["file"]).integrality.any()
    six = odtc("select", IRIS, "--format", "lp", "--program", "6", "-o", tmp_path / "c")
    assert six.code == 0 and "points" in six.out and read_model(tmp_path / "c_1.lp").integrality.any()


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--program", "7"], "--program: expected --format mps"),
        (["--format", "mps", "--program", "8"], "--program: expected 6, 7 or 9, got 8"),
        (["--format", "xls"], "unknown format 'xls'"),
        (["--format", "mps", "--select", "coarse_to_fine"], "expected --select printed, convex_hull or balanced"),
        (["--select", "printed:beta1=0"], "expected beta1 in (0, 1)"),
        (["--select", "printed:beta1=0.9,beta2=0.9"], "expected beta2 < (d + 1) (1 - beta1) = 0.5"),
    ],
)
def test_wrong_words_are_refused_in_a_sentence(tmp_path, words, text):
    assert text in refused(odtc("select", IRIS, *words, folder=tmp_path))


def test_a_program_that_is_too_large_is_refused(monkeypatch):
    monkeypatch.setattr(programs, "MAX_ENTRIES", 10)
    with pytest.raises(ChoiceError, match="expected clusters whose programs have at most 10 nonzeros, got one of 3"):
        program(THREE, SEVEN)

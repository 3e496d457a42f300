"""dpflow: known optima to depth 5, folding, and points that are no vertices."""

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import odtc
from odtc.algorithms.dp import itemset_sums
from odtc.algorithms.dp.state_expansion import build_graph
from odtc.algorithms.dp.state_graph import Rows
from odtc.errors import ChoiceError, TreeError
from odtc.fileformats.model_files import read_model, write_model
from odtc.formulations.dpflow.threshold_search import certify
from odtc.heuristics.heuristic import grow
from odtc.model.blocks import Axis, blocks_from_json
from odtc.model.builder import ModelBuilder
from odtc.model.name_spans import Words
from odtc.model.points import name_list
from odtc.solvers.solver import find_solver, version
from odtc.testing.problems import problems
from odtc.verification.certificate import check
from odtc.workflow.near_optimal import near_optimal
from tests import pipeline


def test_a_grid_of_columns_may_have_holes():
    """Names, places and JSON of a block that has some members of its grid."""
    m = ModelBuilder("holes")
    u = m.columns("u", Axis("state", 3), Axis("split", 11), positions=np.array([0, 12, 32]))
    row = m.rows("row", upper=1)
    m.add(row[()], u[np.array([0, 2])])
    model = m.finish()
    assert name_list(model.columns) == ["u_0_00", "u_1_01", "u_2_10"]
    assert u.places(Words.of(["u_2_10", "u_0_01", "u_1_01", "v_0_00"])).tolist() == [2, -1, 1, -1]
    assert model.A.toarray().tolist() == [[1, 0, 1]]
    (back,) = blocks_from_json([u.to_json()])
    assert back == u and back.names() == u.names()


@pytest.mark.parametrize("form", [{"tail": "0", "fold": "false"}, {}, {"lambda": 0.25, "tail": "1"}], ids=str)
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_a_point_between_optimal_trees_decodes_to_one(form, data):
    """An interior-point solver without crossover ends within the optimal face."""
    problem = data.draw(problems(("dpflow", form), depths=(2, 3)))
    model = problem.module.build(problem)
    bounds = np.stack([model.col_lower, model.col_upper], axis=1)
    vertex = linprog(model.c, A_eq=model.A, b_eq=model.row_lower, bounds=bounds, method="highs-ds")
    points = [vertex.x]
    for sign in (-1, 1):  # other optima, by a small preference for early or late columns
        pull = sign * np.linspace(0, 1e-7, model.n_cols)
        points.append(linprog(model.c + pull, A_eq=model.A, b_eq=model.row_lower, bounds=bounds, method="highs-ds").x)
    heap = problem.module.decode(problem, model.split(np.mean(points, axis=0)))
    assert problem.module.objective(problem, heap) == pytest.approx(vertex.fun, abs=1e-6)


@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_folding_and_leaving_out_change_no_value(data):
    """The linear program's value, every tail and the values counted bottom-up are one number."""
    problem = data.draw(problems(("dpflow", {"lambda": 0.25}), depths=(2, 3, 4)))
    encoded = problem.encoded
    rows = Rows.of(encoded.X, encoded.loss, encoded.copies)
    values = []
    for room in (itemset_sums.MOST_BYTES, 0):  # with tables of all itemsets, and state by state
        with patch.object(itemset_sums, "MOST_BYTES", room):
            values += [
                build_graph(replace(rows), problem.topology.depth, 0.3, fold, tail).values[0][0]
                for fold in (True, False)
                for tail in range(problem.topology.depth)
            ]
    assert np.ptp(values) < 1e-9


@pytest.mark.parametrize("scale", [1, 3_000, 1e6, 0.1], ids=str)
@pytest.mark.parametrize("classes", [2, 3])
def test_numbers_of_every_size_count_alike(scale, classes):
    """Short and long integers and fractions: the tables hold what the rows weigh."""
    random = np.random.default_rng(7)
    X = random.random((60, 7)) < 0.4
    y, weight = random.integers(0, classes, 60), random.integers(1, 4, 60)
    loss = (np.arange(classes) != y[:, None]) * weight[:, None].astype(float)
    small = build_graph(Rows.of(X, loss, np.ones(60)), 4, 0.0, tail=2).values[0][0]
    with patch.object(itemset_sums, "MOST_BYTES", 0):
        assert build_graph(Rows.of(X, loss, np.ones(60)), 4, 0.0, tail=2).values[0][0] == small
    assert build_graph(Rows.of(X, scale * loss, np.ones(60)), 4, 0.0, tail=2).values[0][0] == pytest.approx(
        scale * small
    )


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("digits", [1, 3, 9])
def test_decimals_are_counted_like_whole_numbers(classes, digits):
    """Costs of few decimals are whole numbers times a power of ten, of more digits than are scaled floats."""
    random = np.random.default_rng(digits)
    X = random.random((50, 6)) < 0.4
    loss = np.round(random.random((50, classes)) * 5, digits)
    found = build_graph(Rows.of(X, loss, np.ones(50)), 3, 0.25, tail=2).values[0][0]
    assert found == pytest.approx(_least_cost(X, loss, 3, 0.25), abs=1e-9)


def _least_cost(X, loss, depth, price):
    """The cost of the best tree, one test after another."""
    leaf = loss.sum(axis=0).min()
    below = [
        price + sum(_least_cost(X[side], loss[side], depth - 1, price) for side in (f, ~f))
        for f in (X.T if depth else ())
        if 0 < f.sum() < len(f)
    ]
    return min([leaf, *below])


def test_what_the_model_cannot_say_is_refused():
    """A start whose folded part is not the best is another tree than the model's; trimmed makes it so."""
    model = pipeline.build("examples/monks/monks-1.csv", "dpflow", 4)
    problem = model.problem
    heap = grow("cart", problem.encoded, problem.topology)
    with pytest.raises(TreeError, match="folded|leaves"):
        problem.module.start(problem, heap)
    better = problem.module.trimmed(problem, heap)
    assert better.errors(problem.encoded) <= heap.errors(problem.encoded)
    model.join(problem.module.start(problem, better))


def test_the_file_has_no_integer_column(tmp_path):
    model = pipeline.build("examples/monks/monks-1.csv", "dpflow", 3, tail="0")
    write_model(model, tmp_path / "m.mps", "mps")
    assert "MARKER" not in (tmp_path / "m.mps").read_text()
    assert not read_model(tmp_path / "m.mps").integrality.any()


# One-hot, λ = 0, training errors at depth 2, 3, 4, 5 (docs/explanation/strength.md; three dynamic programs agree).
KNOWN = {
    "monks-1": (22, 10, 0),
    "monks-2": (57, 41, 30, 14),
    "monks-3": (8, 6, 2),
    "hayes-roth": (52, 34, 21, 14),
    "house-votes-84": (7, 5, 1),
    "balance-scale": (199, 163, 138, 112),
    "tic-tac-toe": (282, 216, 137, 63),
    "car-evaluation_papers": (384, 336, 288, 212),
    "kr-vs-kp": (418, 198, 144, 81),
    "soybean-small": (0, 0, 0),
}
LONG = {("kr-vs-kp", 5), ("tic-tac-toe", 5)}  # linear programs of some ten seconds


@pytest.mark.every(4)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "depth"),
    [
        pytest.param(name, depth, marks=[pytest.mark.long] if (name, depth) in LONG else [])
        for name, errors in KNOWN.items()
        for depth in range(2, 2 + len(errors))
    ],
)
def test_published_data(name, depth, shared_data):
    fitted = odtc.fit(shared_data / f"{name}.csv", "dpflow", depth, encoding="onehot", threads=1, start_from="none")
    assert fitted.facts["termination"] == "optimal" and fitted.facts["verified"] and fitted.facts["gap"] == 0
    assert fitted.facts["objective"] == KNOWN[name][depth - 2]


@pytest.mark.parametrize(
    ("name", "depth", "right"),
    [
        ("iris", 2, 144),
        ("iris", 3, 149),
        ("wine", 2, 172),
        ("pima-diabetes", 2, 597),
    ],
)
def test_all_midpoints_of_numeric_columns(name, depth, right, shared_data):
    """96.00 and 99.33, 96.63, 77.73 % (docs/explanation/strength.md)."""
    fitted = odtc.fit(shared_data / f"{name}.csv", "dpflow", depth, encoding="thresholds", threads=1, start_from="none")
    assert (
        fitted.facts["termination"] == "optimal" and fitted.facts["verified"] and fitted.facts["train_correct"] == right
    )


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["highs-cli", "cbc", "scip", "glpk"])
def test_linear_programs_of_files(solver, shared_data):
    """The same file gives the same optimum in every solver."""
    if version(find_solver(solver)) is None:
        pytest.skip(f"{solver} is not on this machine")
    fitted = odtc.fit(shared_data / "balance-scale.csv", "dpflow", 3, encoding="onehot", solver=solver, tail="0")
    assert fitted.facts["termination"] == "optimal" and fitted.facts["verified"]
    assert fitted.facts["objective"] == 163


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "depth", "tail"),
    [
        ("kr-vs-kp", 4, "1"),
        ("kr-vs-kp", 4, "2"),
        ("tic-tac-toe", 3, "0"),
        ("car-evaluation_papers", 4, "2"),
        ("soybean-small", 3, "1"),
    ],
)
def test_the_proof_file_is_smaller_and_as_good(name, depth, tail, shared_data):
    whole = odtc.build(shared_data / f"{name}.csv", "dpflow", depth, encoding="onehot", tail=tail)
    fitted = odtc.fit(
        shared_data / f"{name}.csv", "dpflow", depth, encoding="onehot", threads=1, proof="true", params={"tail": tail}
    )
    assert fitted.facts["objective"] == fitted.facts["bound"] == KNOWN[name][depth - 2] and fitted.facts["verified"]
    assert fitted.model.nnz < whole.nnz or whole.nnz < 100


def test_least_rows_of_a_leaf_keep_the_program_linear(shared_data):
    """balance-scale, depth 3, 40 rows in every leaf: 443 of 625 right (issue 5)."""
    fitted = odtc.fit(
        shared_data / "balance-scale.csv",
        "dpflow",
        3,
        encoding="onehot",
        solver="highs",
        threads=1,
        constraints=("leaf_rows >= 40",),
    )
    assert not fitted.model.integrality.any() and fitted.facts["verified"] and fitted.facts["termination"] == "optimal"
    assert fitted.facts["train_correct"] == 443 and min(sum(leaf.rows) for leaf in fitted.tree.leaves()) >= 40


def test_the_pool_and_the_certificate_say_what_they_leave_out(tmp_path):
    def pose(text):
        return pipeline.pose("examples/monks/monks-1.csv", "dpflow", 2, encoding="onehot", constraints=(text,))

    pool = near_optimal(pose("leaf_rows >= 30"), 5)
    assert len(pool.trees) == 5 and all(min(sum(leaf.rows) for leaf in tree.leaves()) >= 30 for tree in pool.trees)
    few = near_optimal(pose("splits <= 2"), 5)  # by the constrained search
    assert len(few.trees) == 5
    assert all(len({node.split for node, _ in tree.walk() if hasattr(node, "split")}) <= 2 for tree in few.trees)
    with pytest.raises(ChoiceError, match="leave out the constraint 'splits <= 2'"):
        certify(pose("splits <= 2"))
    rows = pose("leaf_rows >= 30")
    assert check(certify(rows), rows.encoded.dataset).bound == pytest.approx(pool.objectives[0])

"""dpflow under bounds on sums over the tree: the columns that it leaves out, and the meaning of the model."""

import json

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import odtc
from odtc.algorithms.constrained.subtree_options import join_codes
from odtc.algorithms.dp import reduced_cost_fixing
from odtc.algorithms.dp.pareto import Points, drop_dominated
from odtc.errors import NoSolutionError, TreeError
from odtc.fileformats.model_files import write_model
from odtc.problem.constraints.constraint import broken, posed
from odtc.problem.formulation import FORMULATIONS
from odtc.solvers.solver import find_solver, version
from odtc.testing.exhaustive import cheapest, least_losses
from odtc.testing.optima import least_kept
from odtc.testing.problems import constrained, problems
from odtc.trees.heap_tree import blank_arrays, settle
from odtc.workflow.manifest import read_manifest, write_manifest
from tests import pipeline
from tests.by_a_solver import by_a_solver
from tests.command_line import MONKS, refused
from tests.command_line import odtc as command

SLOW = {"deadline": None, "suppress_health_check": list(HealthCheck), "derandomize": True}


@given(st.lists(st.tuples(st.integers(0, 2), *[st.integers(0, 3)] * 3), min_size=1, max_size=60), st.integers(0, 3))
@settings(max_examples=200, **SLOW)
def test_what_is_left_are_the_vectors_that_none_dominates(drawn, two_sided):
    """By comparing each with each."""
    state, values = np.array(drawn)[:, 0].astype(np.int32), np.array(drawn)[:, 1:].astype(float)
    both = np.arange(3) >= 3 - two_sided if two_sided < 3 else np.array([False, True, False])
    found = drop_dominated(Points(state, values, np.arange(len(state))[:, None]), both, np.full(3, 1e-9))

    def over(a, b):
        return state[a] == state[b] and (values[a] <= values[b]).all() and (values[a][both] == values[b][both]).all()

    wanted = {
        (int(state[b]), *values[b])
        for b in range(len(state))
        if not any(over(a, b) and not over(b, a) for a in range(len(state)))
    }
    assert len(found) == len(wanted) and {(int(s), *v) for s, v in zip(found.state, found.vector)} == wanted


def test_a_code_is_a_subtree_in_heap_order():
    left, right = np.array([[5, -1, -2]]), np.array([[-3, -3, -3]])
    assert join_codes(np.array([7]), left, right).tolist() == [[7, 5, -3, -1, -2, -3, -3]]


@pytest.mark.slow
@given(data=st.data())
@settings(max_examples=15, **SLOW)
def test_leaving_out_columns_changes_no_optimum(data):
    """With and without, with every tail; what the manifest says of it holds."""
    drawn = data.draw(
        problems(("dpflow", {"lambda": data.draw(st.sampled_from([0.0, 0.1]))}), depths=(2, 3), most_rows=10)
    )
    text = f"branch_nodes <= {data.draw(st.integers(0, 4))}"
    values, lam = [], drawn.params.lambda_
    for fix in ("true", "false"):
        for tail in ("0", "1", "2"):
            params = odtc.problem.parameters.parse_params("dpflow", {"lambda": lam, "fix": fix, "tail": tail})
            problem = posed(
                odtc.problem.problem.Problem(drawn.encoded, drawn.topology, FORMULATIONS.get("dpflow"), params), [text]
            )
            model = pipeline.compile_model(problem)
            solution = pipeline.solve(model, threads=1)
            decoded = pipeline.decode(model, solution)
            assert decoded.verified, decoded.checks
            values.append(problem.module.objective(problem, decoded.heap))
            if fix == "true":
                said = problem.module.notes(problem)["fixed"]
                assert (said["bound"] <= values[-1] + 1e-6 and said["incumbent"] is None) or said[
                    "incumbent"
                ] >= values[-1] - 1e-9
                assert said["of"] - said["columns"] == model.n_cols
    encoded = drawn.encoded
    found = least_losses(
        encoded.X, encoded.y, encoded.weight, drawn.topology.depth, encoded.cost.tolist(), encoded.copies
    )
    best = min((1 - lam) * loss + lam * n for (n, _), loss in found.items() if n <= int(text[-1]))
    assert values == pytest.approx([best] * len(values), abs=1e-6)


@given(data=st.data())
@settings(max_examples=25, **SLOW)
def test_folded_leaves_have_enough_rows(data):
    """A linear program in every tail, whose optimum is that of exhaustive search."""
    drawn = data.draw(problems(("dpflow", {"lambda": 0.25}), depths=(2, 3), most_rows=12))
    encoded, least = drawn.encoded, data.draw(st.integers(1, 4))
    best = cheapest(
        encoded.X,
        encoded.y,
        encoded.weight,
        drawn.topology.depth,
        0.25,
        0.75,
        encoded.copies,
        least,
        encoded.cost.tolist(),
    )
    for tail in ("0", "1", "2"):
        params = odtc.problem.parameters.parse_params("dpflow", {"lambda": 0.25, "tail": tail})
        problem = odtc.problem.problem.Problem(encoded, drawn.topology, FORMULATIONS.get("dpflow"), params)
        assume(least <= encoded.copies.sum())
        model = pipeline.compile_model(posed(problem, [f"leaf_rows >= {least}"]))
        assert not model.integrality.any()
        found = linprog(
            model.c, A_eq=model.A, b_eq=model.row_lower, bounds=np.stack([model.col_lower, model.col_upper], axis=1)
        )
        assert found.fun + model.offset == pytest.approx(best, abs=1e-6)
        heap = model.problem.module.decode(model.problem, model.split(found.x))
        assert not broken(model.problem, heap) and model.problem.module.objective(model.problem, heap) == pytest.approx(
            best, abs=1e-6
        )


def test_branch_nodes_of_real_data(tmp_path, shared_data):
    """balance-scale, depth 3: fewer branch nodes than 7; the file from the manifest alone."""
    data = shared_data / "balance-scale.csv"
    fitted = [
        by_a_solver(data, "dpflow", 3, encoding="onehot", threads=1, constraints=(f"branch_nodes <= {most}",))
        for most in (2, 3, 5)
    ]
    assert all(one.facts["verified"] and one.facts["termination"] == "optimal" for one in fitted)
    assert [one.tree.n_branch_nodes for one in fitted] == [2, 3, 5]
    path = tmp_path / "m.odt.json"
    write_manifest(fitted[1].model.problem, fitted[1].model, path)
    manifest = read_manifest(path)
    model = pipeline.compile_model(manifest.problem)
    manifest.expect(model)
    again = pipeline.decode(model, fitted[1].solution)
    assert again.verified and again.tree == fitted[1].tree and manifest.facts["model"]["fixed"]["columns"] > 0


def test_known_optimum_under_recall(shared_data):
    """balance-scale, depth 3: 12 of the 49 rows of class B right, and 433 in all (issue 5)."""
    fitted = by_a_solver(
        shared_data / "balance-scale.csv", "auto", 3, encoding="onehot", threads=1, constraints=("recall[B] >= 0.2448",)
    )
    assert fitted.facts["model"] == "dpflow" and fitted.facts["verified"] and fitted.facts["termination"] == "optimal"
    assert fitted.facts["train_correct"] == 433 and "flow of subtrees" in fitted.model.problem.choice.why


@pytest.mark.parametrize("solver", ["cbc", "scip", "glpk"])
def test_the_file_means_the_same_to_others(solver, shared_data):
    if version(find_solver(solver)) is None:
        pytest.skip(f"{solver} is not on this machine")
    fitted = by_a_solver(
        shared_data / "balance-scale.csv",
        "dpflow",
        3,
        encoding="onehot",
        solver=solver,
        constraints=("recall[B] >= 0.2448",),
    )
    assert fitted.facts["objective"] == 192 and fitted.facts["termination"] == "optimal" and fitted.facts["verified"]


def test_a_fair_tree_of_real_data_is_proved():
    """The two models know nothing of each other, but for the data."""
    words = {"depth": 2, "encoding": "thresholds:bins=2", "threads": 1}
    words["constraints"] = ("statistical_parity[group=a2,positive=1] <= 0.1", "recall[1] >= 0.4")
    fitted = [by_a_solver("examples/monks/monks-1.csv", model, **words) for model in ("dpflow", "flowoct")]
    assert all(one.facts["verified"] and one.facts["termination"] == "optimal" for one in fitted)
    assert fitted[0].facts["objective"] == pytest.approx(fitted[1].facts["objective"])


def test_what_no_tree_keeps_is_said():
    model = odtc.build(
        "examples/monks/monks-1.csv", "dpflow", 2, encoding="onehot", constraints=("recall[0] >= 1", "recall[1] >= 1")
    )
    assert model.n_cols <= 2 and pipeline.start(model, "cart") is None
    with pytest.raises(NoSolutionError, match="infeasible"):
        pipeline.decode(model, pipeline.solve(model, threads=1))


def test_a_tree_that_is_left_out_is_no_start(tmp_path):
    constraints = ("recall[1] >= 0.1",)
    model = odtc.build("examples/monks/monks-1.csv", "dpflow", 2, encoding="onehot", constraints=constraints)
    worst = None
    for f in range(model.problem.encoded.n_candidate_splits):
        for swap in (0, 1):
            test, label = blank_arrays(model.problem.topology)
            test[1], label[2], label[3] = f, swap, 1 - swap
            heap = settle(test, model.problem.encoded, label)
            if not broken(model.problem, heap) and (
                worst is None or heap.loss(model.problem.encoded) > worst.loss(model.problem.encoded)
            ):
                worst = heap
    (tmp_path / "own.json").write_text(json.dumps(worst.to_tree(model.problem.encoded).to_json()))
    with pytest.raises(TreeError, match="fix=False"):
        pipeline.start(model, tmp_path / "own.json")
    whole = odtc.build(
        "examples/monks/monks-1.csv", "dpflow", 2, encoding="onehot", constraints=constraints, fix="false"
    )
    with pytest.raises(TreeError, match="and satisfies the constraints"):
        pipeline.start(whole, tmp_path / "own.json")
    better = whole.problem.module.trimmed(whole.problem, worst)
    assert better.loss(whole.problem.encoded) < worst.loss(whole.problem.encoded) and not broken(whole.problem, better)
    assert whole.objective(whole.join(whole.problem.module.start(whole.problem, better))) == better.loss(
        whole.problem.encoded
    )


def test_what_cannot_be_proved_is_refused(tmp_path):
    words = ("build", MONKS / "monks-1.csv", "--model", "dpflow", "--constraint", "recall[1] >= 0.9", "-o", "m")
    assert "needs a model that says" in refused(command(*words, "-p", "proof=true", folder=tmp_path))
    said = command(*words, "--json", folder=tmp_path)
    assert said.code == 0 and json.loads((tmp_path / "m.odt.json").read_text())["model"]["fixed"]["columns"] > 0


@given(data=st.data())
@settings(max_examples=40, **SLOW)
def test_the_incumbent_of_a_bound_that_holds_is_the_optimum(data):
    """All trees near the bound are gone through: what is said to be the best is, on data with weights and ties."""
    problem = data.draw(
        constrained(("dpflow", data.draw(st.sampled_from([{}, {"lambda": 0.25}]))), "answers", depths=(1, 2, 3))
    )
    said, best = problem.module.notes(problem)["fixed"], least_kept(problem)
    assert said["bound"] <= best + 1e-6
    if said["incumbent"] is not None and said["bound"] >= said["incumbent"] - 1e-9:
        assert said["incumbent"] == pytest.approx(best, abs=1e-6)
    assert (said["incumbent"] is None) == (best == np.inf)


@given(data=st.data())
@settings(max_examples=15, **SLOW)
def test_too_many_trees_near_the_bound_leave_the_tree_of_the_search(data):
    """The bound and the tree of the search under constraints hold, too."""
    problem = data.draw(constrained(("dpflow", {}), "answers", depths=(2, 3)))
    with pytest.MonkeyPatch.context() as few:
        few.setattr(reduced_cost_fixing, "MAX_PAIRS_OF_SUBTREES", -1)
        said, best = problem.module.notes(problem)["fixed"], least_kept(problem)
    assert said["bound"] <= best + 1e-6
    assert said["incumbent"] is None or said["incumbent"] >= best - 1e-6


@pytest.mark.parametrize("fix", ["true", "false"])
def test_a_sum_that_is_bounded_on_both_sides_is_two_rows_of_a_file(tmp_path, fix):
    """The difference of two groups' rates is at least -D and at most D."""
    rows = "a,b,g,y\n" + "".join(
        f"{i % 2},{i // 2 % 2},{'u' if i % 3 else 'v'},{'yes' if i % 5 < 2 else 'no'}\n" for i in range(24)
    )
    (tmp_path / "d.csv").write_text(rows)
    model = odtc.build(
        tmp_path / "d.csv",
        "dpflow",
        2,
        encoding="onehot",
        reading={"auxiliary": ("g",)},
        params={"fix": fix},
        constraints=("statistical_parity[group=g:u,positive=yes] <= 0.1",),
    )
    ends = np.isfinite(model.row_lower) & np.isfinite(model.row_upper)
    assert (model.row_lower[ends] == model.row_upper[ends]).all()
    write_model(model, tmp_path / "d.mps", "mps")
    heap = model.problem.module.decode(model.problem, model.split(odtc.solve(model).x))
    peer = by_a_solver(
        tmp_path / "d.csv",
        "flowoct",
        2,
        encoding="onehot",
        reading={"auxiliary": ("g",)},
        constraints=("statistical_parity[group=g:u,positive=yes] <= 0.1",),
    )
    assert model.problem.module.objective(model.problem, heap) == peer.facts["objective"]


@pytest.mark.parametrize("words", ["proof=true", "intervals=true"])
def test_a_parameter_that_hinders_a_constraint_is_named(tmp_path, words):
    said = command(
        "build",
        MONKS / "monks-1.csv",
        "--model",
        "dpflow",
        "--encoding",
        "onehot",
        "-p",
        words,
        "--constraint",
        "accuracy >= 0.5",
        folder=tmp_path,
    )
    assert refused(said).endswith(f"drop -p {words}, with which it is not kept, or the constraint")

"""The command line as a user meets it: every command, its JSON, its exit codes, its files (docs/reference)."""

import csv
import gzip
import hashlib
import io
import json
import os
import pty
import re
import shlex
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse
from scipy.optimize import linprog

import odtc as package
from odtc.base import deadline
from odtc.data.dataset import NUMERIC
from odtc.data.reading import read
from odtc.data.reading_rows import read_rows
from odtc.model.solution import Options, bound_text, figure_text
from odtc.solvers.solver import find_solver, version
from odtc.trees.tree import read_tree
from tests.command_line import MONKS, command, contents, environment, hearing, odtc, refused, signalled, started

BUILT = {"model", "depth", "n_rows", "n_rows_merged", "n_features_encoded", "n_cols", "n_model_rows", "nnz", "files"}
SOLVED = BUILT | {"solver", "termination", "has_solution", "objective", "bound", "gap", "seconds"}
DECODED = SOLVED | {"tree", "train_correct", "train_accuracy", "n_branch_nodes", "n_leaves", "verified"}
FORMATS = [(form, packed) for form in ("mps", "lp", "fixed-mps") for packed in (False, True)]

# An exclusive or of two columns, with a third that says nothing: depth 1 errs twice, depth 2 never.
XOR = "colour,size,noise,class\n" + "".join(
    f"{colour},{size},{noise},{'yes' if (colour == 'red') != (size == 2) else 'no'}\n"
    for colour in ("red", "blue")
    for size in (1, 2)
    for noise in "pq"
)


@pytest.fixture(scope="module")
def xor(tmp_path_factory):
    """A folder with xor.csv, fitted at depth 2 as xor_flowoct_d2.*."""
    folder = tmp_path_factory.mktemp("xor")
    (folder / "xor.csv").write_text(XOR)
    said = odtc("fit", "--model", "flowoct", "xor.csv", "--json", folder=folder)
    assert said.code == 0, said.err
    (folder / "fit.json").write_text(said.out)
    return folder


@pytest.fixture
def work(xor, tmp_path):
    """A copy of that folder, to be spoilt."""
    return shutil.copytree(xor, tmp_path / "work")


# fit


def test_fit_says_every_key_of_the_contract_and_the_right_numbers(xor):
    facts = json.loads((xor / "fit.json").read_text())
    assert DECODED <= set(facts)
    right = {
        "model": "flowoct",
        "depth": 2,
        "n_rows": 8,
        "n_rows_merged": 8,
        "n_features_encoded": 3,
        "termination": "optimal",
        "has_solution": True,
        "objective": 0,
        "bound": 0,
        "gap": 0,
        "train_correct": 8,
        "train_accuracy": 1.0,
        "n_branch_nodes": 3,
        "n_leaves": 4,
        "verified": True,
        "tree": "xor_flowoct_d2.tree.json",
    }
    assert {key: facts[key] for key in right} == right
    assert all((xor / name).is_file() for name in facts["files"]) and facts["tree"] in facts["files"]


def test_fit_prints_the_tree_and_beside_it_the_proof_cart_and_the_checks(xor, tmp_path):
    said = odtc("fit", "--model", "flowoct", xor / "xor.csv", folder=tmp_path)
    assert said.code == 0
    for words in ("colour = ", "proved optimal: objective 0", "training  8 of 8 correct", "CART", "checks passed"):
        assert words in said.out
    assert said.err.startswith("wrote ")


def test_fit_on_a_benchmark_prints_the_published_optimum(shared_data, tmp_path):
    facts = odtc(
        "fit",
        shared_data / "monks-1.csv",
        "--model",
        "flowoct",
        "--depth",
        "2",
        "--encoding",
        "onehot",
        "--json",
        folder=tmp_path,
    ).facts
    assert (facts["train_correct"], facts["termination"], facts["verified"]) == (102, "optimal", True)


def test_fit_without_o_writes_into_the_current_folder_under_the_usual_name(xor, tmp_path):
    assert odtc("fit", "--model", "flowoct", xor / "xor.csv", "--depth", "1", folder=tmp_path).code == 0
    assert {name.split(".")[0] for name in contents(tmp_path)} == {"xor_flowoct_d1"}


@pytest.mark.parametrize("place", ["out/", "out"])
def test_o_that_is_a_folder_takes_the_usual_name_in_it(xor, tmp_path, place):
    (tmp_path / "out").mkdir()
    assert odtc("build", xor / "xor.csv", "-o", place, folder=tmp_path).code == 0
    assert (tmp_path / "out" / "xor_flowoct_d2.mps").is_file()


@pytest.mark.parametrize("o, form, packed", [("m.mps", "mps", []), ("m.lp", "lp", []), ("m.mps.gz", "mps", ["--gzip"])])
def test_o_may_name_the_model_file(xor, tmp_path, o, form, packed):
    assert odtc("build", xor / "xor.csv", "--format", form, *packed, "-o", o, folder=tmp_path).code == 0
    assert set(contents(tmp_path)) == {o, "m.odt.json", "m.start.sol", "m.mst"}


@pytest.mark.parametrize("model", ["flowoct", "cg", "dpflow"])
def test_build_takes_a_time_limit(model, xor, tmp_path, monkeypatch):
    words = ("build", xor / "xor.csv", "--model", model, "--time-limit")
    assert odtc(*words, "1000", "-o", "m", folder=tmp_path).code == 0
    assert (tmp_path / "m.mps").exists()
    monkeypatch.setattr(deadline, "MOMENT", 0.0)  # in a moment a quick machine makes so small a model
    said = odtc(*words, "1e-9", "-o", "n", folder=tmp_path)
    assert said.code == 1 and "the time limit" in said.err and "--time-limit" in said.err
    assert said.err.count("\n") == 1 and not (tmp_path / "n.mps").exists()
    assert "seconds above 0" in refused(odtc(*words, "0", folder=tmp_path))


def test_fit_writes_the_model_too_when_a_format_is_named(xor, tmp_path):
    facts = odtc(
        "fit", "--model", "flowoct", xor / "xor.csv", "--format", "lp", "--gzip", "-o", "m", "--json", folder=tmp_path
    ).facts
    assert "m.lp.gz" in facts["files"] and gzip.decompress((tmp_path / "m.lp.gz").read_bytes()).startswith(
        b"\\ flowoct"
    )


def test_fit_test_scores_other_rows(xor, tmp_path):
    (tmp_path / "test.csv").write_text("class,noise,size,colour\nyes,p,1,red\nno,p,1,red\n")
    facts = odtc("fit", "--model", "flowoct", xor / "xor.csv", "--test", "test.csv", "--json", folder=tmp_path).facts
    assert (facts["test_accuracy"], facts["n_test_rows"]) == (0.5, 2)


def test_fit_test_tells_shares_by_weight_too_if_rows_have_weights(tmp_path):
    (tmp_path / "a.csv").write_text("x,w,y\n1,2,a\n2,1,a\n3,1,b\n4,1,b\n")
    (tmp_path / "t.csv").write_text("x,w,y\n1,3,a\n4,1,a\n")
    asked = ("fit", "--model", "cart", "a.csv", "--depth", "1", "--weights", "w", "--test", "t.csv")
    facts = odtc(*asked, "--json", folder=tmp_path).facts
    assert (facts["test_accuracy"], facts["test_weighted_accuracy"]) == (0.5, 0.75)
    assert "50.00 % of 2 rows correct, by weight 75.00 %" in odtc(*asked, folder=tmp_path).out


def test_fit_test_tells_the_loss_of_test_rows_if_errors_have_costs(tmp_path):
    """x > 2.5 is predicted b: the row of x = 4 costs its weight 2 times 5, the row of x = 1 costs 3 times 1."""
    (tmp_path / "a.csv").write_text("x,w,y\n1,1,a\n2,1,a\n3,1,b\n4,1,b\n")
    (tmp_path / "t.csv").write_text("x,w,y\n1,3,b\n4,2,a\n2,1,a\n")
    asked = ("fit", "a.csv", "--depth", "1", "--weights", "w", "--test", "t.csv")
    costs = ("--cost", "a:b=5", "-o", "m")
    facts = odtc(*asked, *costs, "--json", folder=tmp_path).facts
    assert facts["test_loss"] == facts["cart_test_loss"] == 2 * 5 + 3 * 1
    assert "loss 13, CART 13" in odtc(*asked, *costs, folder=tmp_path).out
    assert "test_loss" not in odtc(*asked, "--json", folder=tmp_path).facts


def test_fit_test_leaves_out_incomplete_rows_as_the_training_does(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,a\n2,a\n3,b\n4,b\n,b\n")
    (tmp_path / "t.csv").write_text("x,y\n1,a\n,b\n4,b\n")
    facts = odtc(
        "fit", "--model", "flowoct", "a.csv", "--depth", "1", "--test", "t.csv", "--json", folder=tmp_path
    ).facts
    assert (facts["n_rows_dropped"], facts["n_test_rows"], facts["n_test_rows_dropped"], facts["test_accuracy"]) == (
        1,
        2,
        1,
        1.0,
    )


def test_fit_test_counts_only_rows_whose_label_is_known(tmp_path):
    (tmp_path / "a.csv").write_text("x,w,y\n1,1,a\n2,1,a\n3,1,b\n4,1,b\n")
    (tmp_path / "t.csv").write_text("x,w,y\n1,1,a\n2,1,b\n4,2,b\n4,5,\n4,5,c\n")
    asked = ["fit", "a.csv", "--depth", "1", "--weights", "w", "--test", "t.csv"]
    facts = odtc(*asked, "--json", folder=tmp_path).facts
    assert (facts["n_test_rows"], facts["n_test_rows_without_known_label"]) == (3, 2)
    assert (facts["test_accuracy"], facts["test_weighted_accuracy"]) == (2 / 3, 3 / 4)
    said = odtc(*asked, folder=tmp_path).out
    assert "66.67 % of 3 rows correct, by weight 75.00 %, CART" in said and "(2 more without a known label)" in said


def test_missing_rows_are_dropped_aloud_kept_or_refused(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,a\n2,a\n,b\n,b\n3,a\n4,b\n")
    dropped, kept = (
        odtc("fit", "--model", "flowoct", "a.csv", "--depth", "1", "--missing", policy, "--json", folder=tmp_path)
        for policy in ("drop", "separate")
    )
    assert (
        dropped.facts["n_rows"] == 4
        and dropped.err == "dropped 2 rows of 6: 2 with missing cells (--missing separate keeps them)\n"
    )
    assert kept.facts["n_rows"] == 6 and kept.err == "" and kept.facts["train_correct"] == 6
    assert odtc("fit", "--model", "flowoct", "a.csv", "--missing", "error", folder=tmp_path).code == 1


def test_weights_decide_which_rows_matter(tmp_path):
    (tmp_path / "a.csv").write_text("x,w,y\n1,1,a\n1,5,b\n2,1,b\n")
    facts = odtc(
        "fit", "--model", "flowoct", "a.csv", "--depth", "1", "--weights", "w", "--json", folder=tmp_path
    ).facts
    assert (facts["objective"], facts["train_correct"], facts["n_features_encoded"]) == (1, 2, 1)


def test_lambda_prices_branch_nodes(xor, tmp_path):
    facts = odtc("fit", "--model", "flowoct", xor / "xor.csv", "-p", "lambda=0.9", "--json", folder=tmp_path).facts
    # 0.1 for each of 4 errors of one leaf is less than 0.9 for each of 3 branch nodes.
    assert facts["n_branch_nodes"] == 0 and facts["objective"] == pytest.approx(0.4)


def test_a_column_with_a_comma_is_named_in_quotes(tmp_path):
    (tmp_path / "a.csv").write_text('"p,q",r,y\n1,1,a\n2,2,b\n3,1,a\n')
    features = read_tree_of(tmp_path, "a.csv", "--categorical", '"p,q",r')
    assert [f.kind for f in features] == ["categorical", "categorical"]


def read_tree_of(folder, *words):
    facts = odtc("fit", *words, "--json", folder=folder).facts
    return read_tree(folder / facts["tree"]).features


# build -> solve -> decode -> verify


@pytest.mark.parametrize("form, packed", FORMATS, ids=lambda value: str(value))
def test_every_format_makes_the_whole_way(xor, tmp_path, form, packed):
    built = odtc(
        "build",
        xor / "xor.csv",
        "--format",
        form,
        *(["--gzip"] if packed else []),
        "-o",
        "m",
        "--json",
        folder=tmp_path,
    )
    model_file = "m" + (".lp" if form == "lp" else ".mps") + (".gz" if packed else "")
    assert BUILT <= set(built.facts) and built.facts["files"][0] == model_file and built.err == ""
    solved = odtc("solve", model_file, "--json", folder=tmp_path)
    assert SOLVED <= set(solved.facts) and solved.facts["objective"] == 0 and solved.facts["start"] == "accepted"
    decoded = odtc("decode", "m.sol", "--json", folder=tmp_path)
    assert (
        DECODED <= set(decoded.facts)
        and decoded.facts["train_correct"] == 8
        and decoded.facts["termination"] == "optimal"
    )
    verified = odtc("verify", "m.sol", "--json", folder=tmp_path)
    assert DECODED <= set(verified.facts) and verified.facts["verified"] is True
    assert "data" in {check["check"] for check in verified.facts["checks"]}
    for said in (built, solved, decoded, verified):
        assert all(said.facts[key] == built.facts[key] for key in BUILT - {"files"})
    assert read_tree(tmp_path / "m.tree.json") == read_tree(xor / "xor_flowoct_d2.tree.json")


@pytest.mark.slow
def test_a_process_for_each_command_says_the_same_in_words(xor, tmp_path):
    said = [
        started(*words, folder=tmp_path)
        for words in (
            ("build", xor / "xor.csv", "-o", "m"),
            ("solve", "m.mps"),
            ("decode", "m.sol"),
            ("verify", "m.sol"),
        )
    ]
    assert [s.code for s in said] == [0, 0, 0, 0]
    assert "3 splits" in said[0].out and "optimal: objective 0" in said[1].out and "proved optimal" in said[2].out
    assert "all" in said[3].out and "FAIL" not in said[3].out
    assert not said[0].err + said[1].err + said[3].err


@pytest.mark.parametrize("form, packed", FORMATS, ids=lambda value: str(value))
def test_written_twice_is_the_same_bytes(xor, tmp_path, form, packed):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        words = ("build", xor / "xor.csv", "--format", form, *(["--gzip"] if packed else []), "-o", "m")
        assert odtc(*words, folder=tmp_path / name).code == 0
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_start_none_writes_no_start_and_a_tree_is_a_start(xor, tmp_path):
    assert odtc("build", xor / "xor.csv", "--start", "none", "-o", "m", folder=tmp_path).code == 0
    assert set(contents(tmp_path)) == {"m.mps", "m.odt.json"}
    tree = xor / "xor_flowoct_d2.tree.json"
    assert (
        odtc("fit", "--model", "flowoct", xor / "xor.csv", "--start", tree, "-o", "n", "--json", folder=tmp_path).facts[
            "start"
        ]
        == "accepted"
    )


def test_a_model_of_another_program_is_solved_without_a_manifest(tmp_path):
    (tmp_path / "other.lp").write_text(
        "Maximize\n obj: x + y\nSubject To\n c: x + 2 y <= 3\nBounds\n x <= 2\nGeneral\n x y\nEnd\n"
    )
    said = odtc("solve", "other.lp", "--json", folder=tmp_path)
    assert SOLVED <= set(said.facts) and said.facts["model"] is None and said.facts["objective"] == 2


def test_dry_run_writes_nothing(work):
    odtc("build", "xor.csv", "-o", "m", folder=work)
    before = contents(work)
    assert "m.sol" in odtc("solve", "m.mps", "--dry-run", folder=work).out and contents(work) == before


@pytest.mark.parametrize("solver", ["highs", "cbc", "glpk"])
def test_the_bound_of_the_linear_relaxation_is_told_and_nothing_is_written(work, solver):
    """An OR researcher asks for it first, and had to edit the file or the arrays."""
    if version(find_solver(solver)) is None:
        pytest.skip(f"{solver} is not installed")
    odtc("build", "xor.csv", "-o", "m", folder=work)
    model, before = package.build(work / "xor.csv", "flowoct", 2), contents(work)
    A, inside = model.A.tocsr(), list(zip(model.col_lower, model.col_upper))
    above, below = np.isfinite(model.row_upper), np.isfinite(model.row_lower)
    least = linprog(
        model.c,
        A_ub=scipy.sparse.vstack([A[above], -A[below]]),
        b_ub=np.concatenate([model.row_upper[above], -model.row_lower[below]]),
        bounds=inside,
    )
    said = odtc("solve", "m.mps", "--relax", "--solver", solver, "--json", folder=work)
    assert said.facts["relaxation"] == pytest.approx(least.fun + model.offset, abs=1e-6) and said.facts["files"] == []
    assert package.solve(model.relaxed(), threads=1).objective == pytest.approx(said.facts["relaxation"], abs=1e-6)
    assert contents(work) == before
    assert "--relax writes no solution" in refused(odtc("solve", "m.mps", "--relax", "-o", "x.sol", folder=work))


def test_the_relaxation_of_a_model_that_maximises_is_an_upper_bound(work):
    (work / "up.lp").write_text("Maximize\n obj: x + y\nSubject To\n c: 2 x + 2 y <= 3\nGenerals\n x y\nEnd\n")
    assert odtc("solve", "up.lp", "--relax", folder=work).out.startswith("linear relaxation: 1.5, ")
    (work / "none.lp").write_text("Minimize\n obj: x\nSubject To\n c: x <= -1\nEnd\n")
    said = odtc("solve", "none.lp", "--relax", folder=work)
    assert said.code == 3 and "the linear relaxation was not solved: HiGHS" in said.err and "infeasible" in said.err


@pytest.mark.parametrize("limit", [("--depth", 0), ("--depth", 1, "--max-branch-nodes", 0)])
def test_a_tree_without_branch_nodes_is_decoded(limit, tmp_path):
    (tmp_path / "xor.csv").write_text(XOR)
    for words in (("build", "xor.csv", *limit, "-o", "m"), ("solve", "m.mps")):
        assert odtc(*words, folder=tmp_path).code == 0
    decoded = odtc("decode", "m.sol", "--json", folder=tmp_path).facts
    assert decoded["verified"] and (decoded["loss"], decoded["cart_loss"]) == (4, 4)


@pytest.mark.parametrize("head", ["", "solution status: optimal solution found\nobjective value: 34\n"])
def test_a_solution_that_lacks_a_variable_which_is_not_0_is_refused(head, tmp_path):
    """SCIP leaves zeros out, so a file that is cut off between two lines only lacks a constant of the objective."""
    (tmp_path / "xor.csv").write_text(XOR)
    for words in (("build", "xor.csv", "--depth", 1, "-o", "m"), ("solve", "m.mps")):
        assert odtc(*words, folder=tmp_path).code == 0
    values = [line for line in (tmp_path / "m.mst").read_text().splitlines() if not line.startswith("#")]
    assert any(line.startswith("objconst ") for line in values)
    for kept in (values[:5], [line for line in values if not line.startswith("objconst ")]):
        (tmp_path / "cut.txt").write_text(head + "\n".join(kept) + "\n")
        said = refused(odtc("decode", "cut.txt", "--manifest", "m.odt.json", folder=tmp_path), code=1)
        assert said.startswith("expected a value of 'objconst', which is not 0 in any solution") and "cut off" in said


# decode finds its manifest


def test_a_manifest_of_the_same_stem_is_found(work):
    shutil.copy(work / "xor_flowoct_d2.sol", work / "xor_flowoct_d2.gurobi.sol")
    assert odtc("decode", "xor_flowoct_d2.gurobi.sol", folder=work).code == 0


def test_the_only_manifest_with_these_columns_is_found(work):
    odtc("build", "xor.csv", "--depth", "1", "-o", "other", folder=work)
    shutil.move(work / "xor_flowoct_d2.sol", work / "solution.txt")
    assert odtc("decode", "solution.txt", "--json", folder=work).facts["depth"] == 2
    assert (work / "solution.txt.tree.json").is_file()


def test_two_fitting_manifests_are_a_question(work):
    """Of other rows with the same columns; a copy is the same model, and so is the model built again as LP."""
    odtc("build", "xor.csv", "--format", "lp", "-o", "again", folder=work)
    shutil.copy(work / "xor_flowoct_d2.odt.json", work / "twin.odt.json")
    shutil.move(work / "xor_flowoct_d2.sol", work / "solution.txt")
    assert odtc("decode", "solution.txt", "--json", folder=work).facts["train_correct"] == 8
    rows = (work / "xor.csv").read_text().splitlines()
    (work / "fewer.csv").write_text("\n".join([*rows, rows[-1]]) + "\n")
    odtc("build", "fewer.csv", "-o", "other", folder=work)
    said = odtc("decode", "solution.txt", folder=work)
    assert said.code == 1 and "other.odt.json" in said.err and "twin.odt.json" in said.err and "--manifest" in said.err
    assert odtc("decode", "solution.txt", "--manifest", "twin.odt.json", folder=work).code == 0


def test_a_solution_with_its_columns_in_another_order_is_the_same_solution(work):
    text = (work / "xor_flowoct_d2.sol").read_text()
    head, rest = text.split("# Columns", 1)
    body, tail = rest.split("# Rows", 1)
    count, *columns = body.splitlines()
    (work / "turned.sol").write_text(f"{head}# Columns{count}\n" + "\n".join(reversed(columns)) + f"\n# Rows{tail}")
    decoded = odtc("decode", "turned.sol", "--manifest", "xor_flowoct_d2.odt.json", "--json", folder=work)
    assert decoded.facts["train_correct"] == 8


def test_a_start_file_decodes_as_a_solution_of_unknown_standing_or_proved_by_its_errors(work):
    odtc("build", "xor.csv", "-o", "m", folder=work)
    facts = odtc("decode", "m.mst", "--json", folder=work).facts
    assert facts["solver"] == "name-value" and facts["verified"]
    # No tree errs less than never, so a tree without errors proves itself.
    assert facts["termination"] == ("optimal" if facts["train_correct"] == 8 else "unknown")


# time limits, interruptions, progress


@pytest.fixture
def slow(tmp_path):
    """Rows of noise: a model whose proof takes far longer than any test."""
    bits = np.random.default_rng(0).integers(0, 2, (600, 13))
    lines = [",".join(f"x{j}" for j in range(12)) + ",y", *(",".join(map(str, row)) for row in bits.tolist())]
    (tmp_path / "noise.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_a_time_limit_keeps_and_decodes_the_incumbent(slow):
    facts = odtc(
        "fit", "--model", "flowoct", "noise.csv", "--depth", "4", "--time-limit", "1", "--json", folder=slow
    ).facts
    assert (facts["termination"], facts["has_solution"], facts["verified"]) == ("time_limit", True, True)
    assert facts["train_correct"] >= facts["cart_train_correct"] and facts["objective"] == 600 - facts["train_correct"]


def test_no_solution_in_time_is_exit_code_3_and_still_one_json_object(slow):
    said = odtc("fit --model flowoct noise.csv --depth 4 --start none --time-limit 0.001 --json", folder=slow)
    assert said.code == 3 and said.err.startswith("odtc: error: ") and said.err.count("\n") == 1
    assert SOLVED <= set(said.facts) and said.facts["has_solution"] is False and said.facts["objective"] is None
    assert not [name for name in contents(slow) if name.endswith((".sol", ".tree.json", ".part"))]


def test_a_solution_file_without_a_point_is_exit_code_3(work):
    (work / "xor_flowoct_d2.sol").write_text("Model status\nTime limit reached\n\n# Primal solution values\nNone\n")
    for name in ("decode", "verify"):
        assert odtc(name, "xor_flowoct_d2.sol", folder=work).code == 3


@pytest.mark.every(2)
@pytest.mark.slow
@pytest.mark.parametrize("number, limit", [(signal.SIGINT, []), (signal.SIGTERM, ["--time-limit", "100"])])
def test_ctrl_c_and_a_friendly_kill_keep_and_decode_the_incumbent(slow, number, limit):
    words = hearing("fit", "noise.csv", "--model", "flowoct", "--depth", 3, *limit, "-o", "m", "--json")

    def solves() -> bool:
        """The log is written while the solver runs."""
        return any(b"MIP start solution is feasible" in log.read_bytes() for log in slow.glob(".m.log.*"))

    said = signalled(words, slow, solves, number, rest=1)
    facts = said.facts
    assert (said.code, facts["termination"]) == (128 + number, "interrupted"), said.err
    assert facts["has_solution"] is True and facts["verified"] is True
    assert (slow / "m.tree.json").is_file() and not list(slow.glob(".*"))


def test_progress_is_quiet_without_a_terminal(xor, tmp_path):
    assert started("fit", "--model", "flowoct", xor / "xor.csv", "--json", folder=tmp_path).err == ""


LIVE = b"HiGHS", b"best ", b"bound", b"gap", b"nodes", b" s"


@pytest.mark.slow
def test_progress_is_a_live_line_on_a_terminal(slow):
    ours, theirs = pty.openpty()
    with open(slow / "out.json", "wb") as out:
        process = subprocess.Popen(
            hearing("fit", "--model", "flowoct", "noise.csv", "--depth", "3", "--time-limit", "60", "--json"),
            cwd=slow,
            env=environment(TERM="xterm", COLUMNS="120"),
            stdout=out,
            stderr=theirs,
        )
        os.close(theirs)
        seen, asked = b"", False
        try:
            while piece := os.read(ours, 4096):
                seen += piece
                if not asked and all(word in seen for word in LIVE):  # all that is looked for
                    asked = True
                    process.send_signal(signal.SIGINT)
        except OSError:  # Linux says EIO where the other side has closed
            pass
        finally:
            os.close(ours)
        assert process.wait(60) == 130
    assert all(word in seen for word in LIVE)
    assert json.loads((slow / "out.json").read_text())["has_solution"]


# show, export, predict


def test_the_ending_of_its_file_names_an_exporter(xor, tmp_path):
    tree = xor / "xor_flowoct_d2.tree.json"
    odtc("export", tree, "-o", tmp_path / "tree.js")
    odtc("export", tree, "--to", "javascript", "-o", tmp_path / "named.js")
    assert (tmp_path / "tree.js").read_bytes() == (tmp_path / "named.js").read_bytes() != b""
    assert odtc("export", tree, "--to", "js").out == (tmp_path / "named.js").read_text(encoding="utf-8")
    assert odtc("show", tree, "--to", "md").out == odtc("show", tree, "--to", "markdown").out


def test_show_and_export_print_the_same_tree_as_the_exporter_writes(xor, tmp_path):
    tree = xor / "xor_flowoct_d2.tree.json"
    assert odtc("show", tree).out == odtc("export", tree, "--to", "text").out
    said = odtc("export", tree, "--to", "dot", "-o", tmp_path / "t.dot")
    assert said.out == "" and (tmp_path / "t.dot").read_text() == odtc("show", tree, "--to", "dot").out


def test_the_exported_python_predicts_as_predict_does(xor, tmp_path):
    tree = xor / "xor_flowoct_d2.tree.json"
    odtc("export", tree, "--to", "python", "-o", tmp_path / "tree.py")
    names = {}
    exec((tmp_path / "tree.py").read_text(), names)
    rows = list(csv.DictReader(io.StringIO(XOR)))
    assert [names["predict"](row) for row in rows] == odtc("predict", tree, xor / "xor.csv", "--json").facts[
        "predictions"
    ]


def test_templates_of_ones_own(xor, tmp_path):
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "mine.txt.jinja").write_text("{# my own #}\n{{ tree.target }}!\n")
    assert (
        odtc("show", xor / "xor_flowoct_d2.tree.json", "--to", "mine", "--templates", tmp_path).out.strip() == "class!"
    )


def test_predict_finds_columns_by_name_and_ignores_others(xor, tmp_path):
    (tmp_path / "new.csv").write_text("extra,size,noise,colour\n9,2,p,blue\n9,1,q,blue\n9,2,p,red\n")
    said = odtc("predict", xor / "xor_flowoct_d2.tree.json", tmp_path / "new.csv")
    assert said.out == "prediction\nyes\nno\nno\n" and said.err == ""
    odtc("predict", xor / "xor_flowoct_d2.tree.json", tmp_path / "new.csv", "-o", tmp_path / "p.csv")
    assert (tmp_path / "p.csv").read_text() == said.out


def test_a_row_without_a_label_is_kept_by_no_policy(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,a\n2,a\n,b\n4,\n,\n3,b\n")
    dropped, kept = (
        odtc("fit", "--model", "flowoct", "a.csv", "--depth", "1", "--missing", policy, "--json", folder=tmp_path)
        for policy in ("drop", "separate")
    )
    assert (
        dropped.err == "dropped 3 rows of 6: 1 with missing cells (--missing separate keeps them), 2 without a label\n"
    )
    assert kept.err == "dropped 2 rows of 6: 2 without a label\n"


def test_the_stem_of_a_run_names_its_tree(tmp_path):
    data = tmp_path / "d.csv"
    data.write_text(XOR)
    assert odtc("fit", data, "--depth", 2, "-o", "m", folder=tmp_path).code == 0
    (tmp_path / "m").mkdir()  # a folder of this name is no tree
    for before, after in (
        (("show",), ()),
        (("explain",), (data,)),
        (("predict",), (data, "-o", "-")),
        (("export",), ("--to", "sql")),
    ):
        by_stem, by_file = (odtc(*before, name, *after, folder=tmp_path) for name in ("m", "m.tree.json"))
        assert by_stem.code == 0 and by_stem.out == by_file.out != "", by_stem.err
    assert "cannot read the tree 'n'" in odtc("show", "n", folder=tmp_path).err


@pytest.mark.parametrize("form, ending", [("mps", ".mps"), ("lp", ".lp.gz")])
def test_the_stem_of_a_build_names_its_model_and_its_solution(form, ending, tmp_path):
    (tmp_path / "d.csv").write_text(XOR)
    gzip = ["--gzip"] if ending.endswith(".gz") else []
    assert odtc("build", "d.csv", "--depth", 1, "--format", form, *gzip, "-o", "m", folder=tmp_path).code == 0
    assert (tmp_path / f"m{ending}").is_file()
    assert odtc("solve", "m", folder=tmp_path).code == 0 and (tmp_path / "m.sol").is_file()
    said = odtc("decode", "m", folder=tmp_path)
    assert said.code == 0 and "wrote m.tree.json" in said.err
    (tmp_path / "m.mps.gz").write_bytes(b"")  # which of two is meant?
    assert f"did you mean 'm{'.mps' if form == 'mps' else '.mps.gz'}'?" in refused(odtc("solve", "m", folder=tmp_path))


def test_predict_asks_only_for_the_columns_that_the_tree_uses(tmp_path):
    (tmp_path / "a.csv").write_text("n,x,y\n1,1,a\n1,2,a\n2,3,b\n1,4,b\n")
    odtc("fit", "--model", "flowoct", "a.csv", "--depth", "1", "-o", "m", folder=tmp_path)
    (tmp_path / "new.csv").write_text("x\n1\n9\n")
    assert odtc("predict", "m.tree.json", "new.csv", folder=tmp_path).out == "prediction\na\nb\n"
    (tmp_path / "none.csv").write_text("n\n1\n")
    assert "feature column 'x'" in refused(odtc("predict", "m.tree.json", "none.csv", folder=tmp_path))


def test_a_class_of_two_lines_stays_in_its_cell_of_the_table(tmp_path):
    (tmp_path / "a.csv").write_text('x,y\n1,"no\nway"\n2,"no\nway"\n3,b\n4,b\n')
    odtc("fit", "--model", "flowoct", "a.csv", "--depth", "1", "-o", "m", folder=tmp_path)
    said = odtc("predict", "m.tree.json", "a.csv", "--score", folder=tmp_path)
    # The accuracy, a line of titles, and one line a class.
    assert len(said.out.splitlines()) == 4 and said.out.count("no\\nway") == 2


@pytest.mark.parametrize("solver", ["highs", "cbc", "glpk"])
def test_a_model_file_is_known_by_what_it_holds(tmp_path, solver):
    if version(find_solver(solver)) is None:
        pytest.skip(f"{solver} is not on this machine")
    (tmp_path / "a.csv").write_text("x,y\n1,a\n2,a\n3,b\n4,a\n")
    odtc("build", "a.csv", "--depth", "1", "-o", "m", folder=tmp_path)
    shutil.move(tmp_path / "m.mps", tmp_path / "m.txt")
    facts = odtc("solve", "m.txt", "--solver", solver, "-o", "m.sol", "--json", folder=tmp_path).facts
    assert (facts["termination"], facts["objective"]) == ("optimal", 1)


def test_predict_takes_an_unseen_category_for_none_of_those_it_knows(tmp_path):
    (tmp_path / "a.csv").write_text("c,y\nu,a\nv,b\nw,b\n")
    (tmp_path / "new.csv").write_text('c\nu\nunseen\n""\n')
    odtc("fit", "--model", "flowoct", "a.csv", "--depth", "1", "-o", "m", folder=tmp_path)
    # u is the one level that is told from the others, so what is not u is with them.
    assert odtc("predict", "m.tree.json", "new.csv", "--json", folder=tmp_path).facts["predictions"] == ["a", "b", "b"]


def test_predict_refuses_a_missing_number_unless_trained_with_separate(tmp_path):
    (tmp_path / "a.csv").write_text("x,z,y\n1,0,a\n2,0,a\n3,0,b\n4,1,b\n,1,b\n")
    (tmp_path / "new.csv").write_text("x,z\n1,0\n,0\n")
    for policy in ("drop", "separate"):
        odtc("fit", "--model", "flowoct", "a.csv", "--depth", "1", "--missing", policy, "-o", policy, folder=tmp_path)
    said = odtc("predict", "drop.tree.json", "new.csv", folder=tmp_path)
    assert said.code == 1 and "row 2" in said.err and "'x'" in said.err and said.out == ""
    assert odtc("predict", "separate.tree.json", "new.csv", folder=tmp_path).out == "prediction\na\nb\n"


def test_predict_score_counts_by_class(xor, tmp_path):
    (tmp_path / "new.csv").write_text(
        "colour,size,noise,class\nred,1,p,yes\nred,1,p,no\nblue,1,p,no\nred,2,q,?\nred,2,q,maybe\n"
    )
    facts = odtc("predict", xor / "xor_flowoct_d2.tree.json", tmp_path / "new.csv", "--score", "--json").facts
    assert (facts["n_rows"], facts["correct"], facts["n_rows_without_known_label"]) == (3, 2, 2)
    assert facts["classes"] == ["no", "yes"] and facts["confusion"] == [[1, 1], [0, 1]]
    said = odtc("predict", xor / "xor_flowoct_d2.tree.json", tmp_path / "new.csv", "--score")
    assert "66.67 %" in said.out and "prediction\n" not in said.out


# where results go


@pytest.mark.slow
def test_results_go_to_dev_stdout_and_through_pipes(xor, tmp_path):
    tree, data = xor / "xor_flowoct_d2.tree.json", xor / "xor.csv"
    plain = started("predict", tree, data).out
    assert started("predict", tree, data, "-o", "/dev/stdout").out == plain
    assert odtc("predict", tree, data, "-o", "-", folder=tmp_path).out == plain
    assert odtc("export", tree, "--to", "text", "-o", "-", folder=tmp_path).out == odtc("show", tree).out
    assert not (tmp_path / "-").exists()
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen(command("predict", tree, data, "-o", tmp_path / "pipe"), env=environment()) as process:
        assert (tmp_path / "pipe").read_text() == plain
    assert process.returncode == 0 and (tmp_path / "pipe").is_fifo()


def test_a_solution_goes_to_dev_stdout_without_a_record_beside_it(xor, tmp_path):
    odtc("build", xor / "xor.csv", "-o", "m", folder=tmp_path)
    said = started("solve", "m.mps", "-o", "/dev/stdout", folder=tmp_path)
    assert said.out.startswith("Model status\nOptimal\n") and said.code == 0


def test_a_link_stays_a_link(work):
    (work / "real.dot").write_text("old")
    (work / "link.dot").symlink_to("real.dot")
    odtc("export", "xor_flowoct_d2.tree.json", "--to", "dot", "-o", "link.dot", folder=work)
    assert (work / "link.dot").is_symlink() and "digraph" in (work / "real.dot").read_text()


def test_a_reader_that_has_had_enough_ends_us_quietly(xor):
    with subprocess.Popen(
        command("show", xor / "xor_flowoct_d2.tree.json"),
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1


def test_paths_with_blanks_and_signs_of_all_kinds(tmp_path):
    folder = tmp_path / "Bäume und 木 'quoted'"
    folder.mkdir()
    (folder / "größe 1.csv").write_text(XOR)
    facts = odtc(
        "fit", "--model", "flowoct", folder / "größe 1.csv", "-o", folder / "m 1", "--format", "mps", "--json"
    ).facts
    assert facts["data"] == "größe 1" and facts["verified"]
    assert (
        odtc("solve", folder / "m 1.mps").code
        == odtc("decode", folder / "m 1.sol").code
        == odtc("verify", folder / "m 1.sol").code
        == 0
    )


def test_a_file_name_that_is_not_utf_8(tmp_path):
    name = os.fsencode(tmp_path) + b"/x\xff.csv"
    with open(name, "w") as stream:
        stream.write(XOR)
    said = started("fit", "--model", "flowoct", os.fsdecode(name), "--json", folder=tmp_path)
    assert said.code == 0 and said.facts["verified"]
    assert started("verify", os.fsdecode(b"x\xff_flowoct_d2.sol"), folder=tmp_path).code == 0


def test_a_terminal_without_unicode_gets_escapes_instead_of_a_traceback(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,a\n2,b\n")
    odtc("fit", "--model", "flowoct", "a.csv", "--depth", "1", "-o", "m", folder=tmp_path)
    said = started("show", "m.tree.json", folder=tmp_path, env=environment(PYTHONIOENCODING="ascii"))
    assert said.code == 0 and "\\u2264" in said.out


# verify


def test_verify_goes_on_where_the_data_has_moved_and_takes_its_new_place(work):
    (work / "sub").mkdir()
    shutil.move(work / "xor.csv", work / "sub" / "moved.csv")
    said = odtc("verify", "xor_flowoct_d2.sol", folder=work)
    assert said.code == 0 and "not there" in said.err and "--data" in said.err
    said = odtc("verify", "xor_flowoct_d2.sol", "--data", "sub/moved.csv", folder=work)
    assert said.code == 0 and said.err == "" and "8 rows of the data file" in said.out


def test_verify_says_how_many_rows_were_dropped(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,a\n2,b\n,b\n")
    odtc("fit", "--model", "flowoct", "a.csv", "-o", "m", folder=tmp_path)
    assert odtc("verify", "m.sol", "--json", folder=tmp_path).facts["n_rows_dropped"] == 1


def test_a_folder_that_moved_as_a_whole_still_verifies(work, tmp_path):
    shutil.move(work, tmp_path / "elsewhere")
    assert odtc("verify", tmp_path / "elsewhere" / "xor_flowoct_d2.sol").err == ""


def test_what_is_delivered_with_its_data_in_one_folder_verifies(tmp_path):
    """The data stood in another folder when the files were made."""
    (tmp_path / "data").mkdir()
    rows = "\n".join(f"{a},{b},{a ^ b}" for a in (0, 1) for b in (0, 1) for _ in range(2))
    (tmp_path / "data" / "xor.csv").write_text(f"a,b,y\n{rows}\n")
    table = "data/xor.csv"
    for words in (
        ("fit", table, "--depth", "2", "-o", "own"),
        ("fit", table, "--depth", "1", "--model", "flowoct", "-o", "other"),
        ("certify", table, "--depth", "2", "-o", "proof"),
        ("frontier", table, "--vary", "recall[1] >= 0.4:0.6:0.2", "--depth", "2", "-o", "front.frontier.json"),
    ):
        assert odtc(*words, folder=tmp_path).code == 0
    delivered = tmp_path / "delivered"
    delivered.mkdir()
    for file in (*tmp_path.glob("*.*"), tmp_path / table):
        shutil.move(file, delivered)
    for file in ("own", "other.sol", "proof.certificate.json", "front.frontier.json"):
        said = odtc("verify", file, folder=delivered)
        assert said.code == 0 and "not there" not in said.err + said.out, (file, said)
    (delivered / "xor.csv").write_text("a,b,y\n0,1,0\n1,1,1\n")  # other rows under the same name
    for file in ("other.sol", "proof.certificate.json", "front.frontier.json"):
        assert odtc("verify", file, folder=delivered).code == 1, file


# list, info, help


def test_list_alone_names_the_kinds():
    """It was a usage error that named seven of the twelve."""
    kinds = odtc("list", "--json").facts["types"]
    assert {"models", "constraints", "tasks"} <= set(kinds) and odtc("list").out.split() == kinds
    assert all(odtc("list", kind).code == 0 for kind in ("models", "constraints", "tasks"))


@pytest.mark.parametrize(
    "kind",
    ["models", "cuts", "encodings", "solvers", "formats", "exporters", "selections", "starts", "points", "readers"],
)
def test_list_and_info_know_every_kind_and_name(kind):
    listed = odtc("list", kind, "--json").facts[kind]
    said = odtc("list", kind)
    assert said.code == 0 and len(said.out.splitlines()) == len(listed)
    assert said.err == "" if listed else kind in said.err
    for entry in listed:
        about = odtc("info", entry["name"])
        assert about.code == 0 and about.out.startswith(entry["name"]) and entry["summary"] in about.out


def test_info_of_a_model_tells_its_parameters():
    out = odtc("info", "flowoct").out
    assert "-p lambda=" in out and "-p literal=" in out and "Aghaei" in out


def test_help_loads_nothing_heavy():
    code = (
        "import sys; sys.argv = ['odtc', '--help']\nfrom odtc.cli.app import main\ntry: main()\nexcept SystemExit as "
        "end: assert not end.code\n"
        "heavy = {'numpy', 'scipy', 'polars', 'highspy', 'sklearn', 'jinja2'} & set(sys.modules); assert not heavy, "
        "heavy"
    )
    done = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "name", ["build", "solve", "decode", "fit", "verify", "show", "export", "predict", "list", "info"]
)
def test_every_command_has_help(name):
    said = odtc(name, "--help")
    assert said.code == 0 and said.err == "" and name in odtc("--help").out


def test_version():
    assert odtc("--version").out == f"odtc {package.__version__}\n"


# the same words in Python


def test_the_same_words_in_python(xor):
    import scipy.sparse

    data = package.read(xor / "xor.csv")
    model = package.build(data, "flowoct", depth=2, lambda_=0.01)
    assert isinstance(model.A, scipy.sparse.sparray) and model.A.shape == (model.n_rows, model.n_cols)
    solution = package.solve(model, time_limit=60)
    decoded = package.decode(model, solution)
    assert decoded.verified and solution.termination == "optimal"
    np.testing.assert_array_equal(decoded.tree.predict(data.X), data.y)
    assert solution.objective == pytest.approx(0.01 * decoded.tree.n_branch_nodes)


def test_fit_in_python_says_what_the_command_says(xor):
    facts, printed = package.fit(xor / "xor.csv", "flowoct", depth=2).facts, json.loads((xor / "fit.json").read_text())
    same = DECODED - {"files", "tree", "seconds"}
    assert {key: facts[key] for key in same} == {key: printed[key] for key in same}


def test_a_dataset_from_memory_makes_a_manifest_that_verifies(tmp_path):
    import polars

    from odtc.data.reading import from_frame
    from odtc.workflow import files_of_models

    fitted = package.fit(
        from_frame(polars.DataFrame({"x": [1, 2, 3], "y": ["a", "b", "b"]}), "memory"), "flowoct", depth=1
    )
    files_of_models.write_build(fitted.model, tmp_path / "m", None)
    files_of_models.write_solution(fitted.model, fitted.solution, Options(), tmp_path / "m.sol")
    said = odtc("verify", tmp_path / "m.sol")
    assert said.code == 0 and "in memory" in said.err


def test_the_manifest_holds_the_fingerprint_of_the_data(xor):
    facts = json.loads((xor / "xor_flowoct_d2.odt.json").read_text())["data"]
    assert facts["sha256"] == hashlib.sha256((xor / "xor.csv").read_bytes()).hexdigest() and facts["path"] == "xor.csv"
    assert (facts["target"], facts["missing"], facts["n_rows"]) == ("class", "drop", 8)


def test_read_rows_codes_as_read_does(xor):
    tree, data = read_tree(xor / "xor_flowoct_d2.tree.json"), read(xor / "xor.csv")
    rows = read_rows(xor / "xor.csv", tree.features, tree.classes, tree.target)
    np.testing.assert_array_equal(rows.X, data.X)
    assert {f.kind for f in tree.features} > {NUMERIC}


def test_the_examples_are_fitted_and_scored(tmp_path):
    facts = odtc(
        "fit --model flowoct",
        MONKS / "monks-1.csv",
        "--test",
        MONKS / "monks-1_test.csv",
        "-p",
        "literal=true",
        "--depth",
        "1",
        "--json",
        folder=tmp_path,
    ).facts
    assert facts["verified"] and facts["n_test_rows"] == 432 and facts["train_correct"] >= facts["cart_train_correct"]


def test_a_solve_without_a_solution_leaves_no_older_one(tmp_path):
    from odtc.model.solution import Options, Solution, Termination
    from odtc.workflow import files_of_models
    from tests import pipeline

    model = (
        pipeline.build(MONKS / "monks-1.csv", depth=1)
        if (MONKS / "monks-1.csv").exists()
        else pipeline.build(MONKS, depth=1)
    )
    (tmp_path / "m.sol").write_text("of an earlier run")
    files_of_models.write_solution(model, Solution(None, Termination.TIME_LIMIT), Options(), tmp_path / "m.sol")
    assert not (tmp_path / "m.sol").exists() and (tmp_path / "m.run.json").exists()


@pytest.mark.every(2)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "last", "expected"),
    [
        ("odtc fit --model fl", 3, "flowoct"),
        ("odtc fit --solver highs,gl", 3, "highs,glpk"),
        ("odtc export --to pm", 3, "pmml"),
        ("odtc doc", 1, "doctor"),
        ("odtc list mo", 2, "models"),
        ("odtc info dpf", 2, "dpflow"),
        ("odtc fit --missing s", 3, "separate"),
        ("odtc build --format fix", 3, "fixed-mps"),
        ("odtc fit --constraint leaf_r", 3, "leaf_rows"),
        ("odtc fit --select conv", 3, "convex_hull"),
        ("odtc tune --model dp", 3, "dpflow"),
        ("odtc tune --rule 1", 3, "1se"),
        ("odtc doctor --solver gl", 3, "glpk"),
        ("odtc solve --script sl", 3, "slurm"),
    ],
)
def test_the_shell_completes_commands_and_names(line, last, expected):
    words = {"_ODTC_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(last)}
    code = "import sys; sys.argv = ['odtc']; from odtc.cli.app import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(**words), capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == [expected], done.stderr


def test_solve_prints_a_command_that_decodes_its_solution(tmp_path):
    """From the folder of the model, from another one, and for a name that begins as an option does."""
    for folder in ("models", "solutions"):
        (tmp_path / folder).mkdir()
    (tmp_path / "xor.csv").write_text(XOR)
    for stem, target in [("models/m", "models/m.sol"), ("models/m", "solutions/m.sol"), ("./-m", "./-m.sol")]:
        odtc("build", "xor.csv", "--depth", 1, "-o", stem, folder=tmp_path)
        said = odtc("solve", f"{stem}.mps", "-o", target, folder=tmp_path)
        printed = re.search(r"\((odtc decode .*)\)$", said.out, re.M)[1]
        assert odtc(*shlex.split(printed)[1:], folder=tmp_path).code == 0, printed


def test_solve_prints_no_command_for_a_model_of_another_program(tmp_path):
    (tmp_path / "other.lp").write_text("Minimize\n obj: x\nSubject To\n c: x >= 2\nBounds\n x <= 9\nGeneral\n x\nEnd\n")
    said = odtc("solve", "other.lp", folder=tmp_path)
    assert said.code == 0 and said.out.splitlines()[-1] == "other.sol"


@pytest.mark.parametrize("noise", [2.8e-14, -7e-15, 0.0])
def test_an_objective_of_rounding_only_is_printed_as_0(noise):
    assert figure_text(noise) == "0" and bound_text(noise, noise) == ", bound 0, gap 0.00 %"
    assert figure_text(-0.0005) == "-0.0005"


def test_a_file_with_some_of_the_variables_states_how_many(work):
    """A MIP start of some solvers has values for the integer variables only."""
    odtc("build", "xor.csv", "-o", "m", "--depth", 1, folder=work)
    lines = [line for line in (work / "m.mst").read_text().splitlines() if not line.startswith("#")]
    kept = [line for line in lines if line.startswith("b_")]
    (work / "m.sol").write_text("\n".join(kept) + "\n")
    said = odtc("decode", "m.sol", folder=work)
    assert f"values of {len(kept)} of {len(lines)} variables without it" in refused(said, code=1)


def test_a_solution_of_the_linear_relaxation_is_refused_with_what_to_do(work):
    odtc("build", "xor.csv", "-o", "m", "-p", "literal=true", folder=work)
    model = package.build(work / "xor.csv", "flowoct", 2, literal=True)
    x = package.solve(model.relaxed()).x
    lines = (f"{name} {value:.17g}\n" for name, value in zip(model.column_names, x))
    (work / "m.sol").write_text("".join(lines))
    said = odtc("decode", "m.sol", folder=work)
    assert said.code == 1 and "integrality (broken by" in said.err
    assert said.err.strip().endswith("solve the model with its integer variables")


def test_decode_of_a_device_needs_the_name_of_the_tree(work):
    odtc("build", "xor.csv", "-o", "m", "--depth", 1, folder=work)
    odtc("solve", "m.mps", folder=work)
    words = command("decode", "/dev/stdin", "--manifest", "m.odt.json")
    given = {"cwd": work, "env": environment(), "input": (work / "m.sol").read_bytes(), "capture_output": True}
    said = subprocess.run(words, **given)
    assert said.returncode == 1 and b"cannot write files next to '/dev/stdin': it is a device; name a file with -o" in (
        said.stderr
    )
    assert subprocess.run([*words, "-o", "t.tree.json"], **given).returncode == 0 and (work / "t.tree.json").exists()


def test_a_model_of_the_standard_input_has_no_data_file_that_is_missing(work):
    words = command("build", "-", "--depth", "1", "-o", "m")
    with (work / "xor.csv").open("rb") as table:
        assert subprocess.run(words, cwd=work, env=environment(), stdin=table, capture_output=True).returncode == 0
    odtc("solve", "m.mps", folder=work)
    said = odtc("decode", "m.sol", folder=work)
    assert said.code == 0 and "note: the model was built from the standard input: " in said.err
    assert "not there" not in said.err and odtc("decode", "m.sol", "--data", "xor.csv", folder=work).code == 0

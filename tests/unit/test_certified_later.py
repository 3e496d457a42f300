"""`odtc certify STEM`: the certificate of a run that was proved, made from its files."""

import errno
import json
import random
import time

import pytest

import odtc
from odtc.base import commit, deadline
from odtc.formulations import dpflow
from odtc.verification.certificate import stated
from odtc.workflow.provenance import certifying
from tests.command_line import odtc as command


@pytest.fixture
def folder(tmp_path):
    draw, lines = random.Random(5), ["x,z,town,y"]
    for _ in range(80):
        x, z, town = draw.randrange(30), draw.randrange(20), draw.choice("abc")
        lines.append(f"{x},{z},{town},{'bad' if (x > 17) != (town == 'a') or draw.random() < 0.1 else 'good'}")
    (tmp_path / "d.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


RUNS = {
    "plain": (),
    "constraints": ("--constraint", "recall[bad] >= 0.8", "--min-leaf-rows", 5),
    "costs": ("--cost", "bad:good=3,good:bad=1.5"),
    "penalty": ("--model", "dpflow", "-p", "lambda=0.02"),
    "a solver": ("--model", "flowoct", "--solver", "highs", "--encoding", "auto:bins=3"),
    "held out": ("--hold-out", 0.25, "--ignore", "z"),
}


@pytest.mark.parametrize("words", RUNS.values(), ids=RUNS)
@pytest.mark.parametrize("ending", ["", ".run.json", ".tree.json"])
def test_a_proved_run_is_certified_from_its_files(folder, words, ending):
    fitted = command("fit", "d.csv", "--depth", 1, *words, "-o", "m", "--json", folder=folder)
    assert fitted.code == 0, fitted.err
    before = (folder / "m.tree.json").read_bytes()
    said = command("certify", f"m{ending}", "--json", folder=folder)
    assert said.code == 0, said.err
    assert said.facts["objective"] == fitted.facts["objective"] and said.facts["optimal"] and said.facts["checked"]
    assert (folder / "m.tree.json").read_bytes() == before
    assert command("verify", "--certificate", "m.certificate.json", folder=folder).code == 0
    assert command("verify", "m", folder=folder).code == 0
    facts = json.loads((folder / "m.certificate.json").read_text())
    assert odtc.Tree.from_json(facts["tree"]).root == odtc.read_tree(folder / "m.tree.json").root


@pytest.mark.parametrize("model", ["flowoct", "oct", "binoct"])
def test_a_model_that_was_solved_as_a_file_is_certified(folder, model):
    """Its manifest has all parameters of the model, also those that nobody set."""
    words = ("build", "d.csv", "--model", model, "--depth", 1, "--encoding", "auto:bins=3", "-o", "m")
    for step in (words, ("solve", "m.mps"), ("decode", "m.sol")):
        assert command(*step, folder=folder).code == 0
    said = command("certify", "m", "--json", folder=folder)
    assert said.code == 0 and said.facts["checked"], said.err


def test_a_parameter_that_changes_the_model_is_not_certified(folder):
    words = ("--model", "oct", "--depth", 1, "--encoding", "auto:bins=3", "-p", "n_min=9", "-o", "m")
    assert command("fit", "d.csv", *words, folder=folder).code == 0
    said = command("certify", "m", folder=folder)
    assert said.code == 2 and "does not support n_min of --model oct" in said.err


def test_a_run_is_certified_though_its_solver_rounded_the_objective(folder):
    said = command("fit", "d.csv", "--depth", 1, *RUNS["a solver"], "-o", "m", "--json", folder=folder)
    record = json.loads((folder / "m.run.json").read_text())
    rounded = said.facts["objective"] * (1 - 3e-13)  # as HiGHS states 98.9999999999722 for a tree with 99 errors
    (folder / "m.run.json").write_text(json.dumps(record | {"objective": rounded, "bound": rounded}))
    certified = command("certify", "m", "--json", folder=folder)
    assert certified.code == 0, certified.err
    assert certified.facts["objective"] == said.facts["objective"] and certified.facts["checked"]


def test_a_regression_is_certified_later_too(folder):
    (folder / "n.csv").write_text("x,y\n" + "".join(f"{i},{i * i % 17}\n" for i in range(40)))
    words = ("n.csv", "--task", "regression", "--depth", 1, "-o", "m")
    assert command("fit", *words, folder=folder).code == 0
    said = command("certify", "m", folder=folder)
    assert said.code == 0 and "proved optimal, certified" in said.out, said.err
    assert command("verify", "m", folder=folder).code == 0


def test_a_bound_that_a_solver_rounded_is_answered_by_a_fit_without_the_solver(folder):
    """The advice was a longer --time-limit, with which the solver rounds its bound again."""
    (folder / "n.csv").write_text("a,b,y\n1,2,1.5\n2,1,2.5\n3,4,1.25\n4,3,8\n5,6,9\n6,5,3\n7,8,2\n8,7,1\n")
    words = ("n.csv", "--task", "regression", "--model", "dpflow", "-o", "m")
    assert command("fit", *words, "--solver", "highs", folder=folder).code == 0
    record = json.loads((folder / "m.run.json").read_text())
    (folder / "m.run.json").write_text(json.dumps(record | {"bound": record["objective"] * (1 - 4e-5)}))
    said = command("certify", "m", folder=folder)
    assert said.code == 1 and "or without --solver" in said.err
    assert command("fit", *words, folder=folder).code == 0 and command("certify", "m", folder=folder).code == 0


@pytest.mark.parametrize("seed", range(6))
def test_a_survival_tree_is_certified_later_though_logarithms_round(folder, seed):
    """The objectives of the run and of the checker were compared to the last digit, and the advice was more time."""
    draw = random.Random(seed)
    rows = [f"{draw.randrange(9)},{draw.choice([0.5, 1, 2])},{draw.randrange(1, 50)},{i % 3 > 0:d}" for i in range(25)]
    (folder / "s.csv").write_text("\n".join(["x,w,t,e", *rows]) + "\n")
    words = ("--task", "survival", "--time", "t", "--event", "e", "--weights", "w", "-o", "m")
    assert "proved optimal" in command("fit", "s.csv", *words, folder=folder).out
    said = command("certify", "m", folder=folder)
    assert said.code == 0 and "proved optimal, certified" in said.out, said.err
    assert command("verify", "m", folder=folder).code == 0


@pytest.mark.parametrize("solver", [(), ("--model", "flowoct", "--solver", "highs", "--encoding", "auto:bins=3")])
def test_a_run_with_a_confidence_is_certified_with_the_constraints_of_its_search(folder, solver):
    """The certificate was made for the requested constraint and all rows, and the tree of the run costs less there."""
    words = ("fit", "d.csv", "--depth", 1, *solver, "--constraint", "recall[bad] >= 0.5", "--confidence", 0.9)
    fitted = command(*words, "-o", "m", "--json", folder=folder)
    assert fitted.code == 0 and fitted.facts["claim"].startswith("proved optimal"), fitted.err
    said = command("certify", "m", "--json", folder=folder)
    assert said.code == 0 and said.facts["objective"] == fitted.facts["objective"], said.err
    assert command("verify", "--certificate", "m.certificate.json", folder=folder).code == 0
    assert command("verify", "m", folder=folder).code == 0


def test_certifying_the_data_does_not_replace_the_tree_of_a_run(folder):
    words = ("certify", "d.csv", "--depth", 1, "-o")
    assert command("fit", "d.csv", "--depth", 1, "--hold-out", 0.25, "-o", "m", folder=folder).code == 0
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for name in ("m", "m.certificate.json", "m.json"):
        said = command(*words, name, folder=folder)
        assert said.code in (1, 2) and "another file with -o" in said.err and "`odtc certify m`" in said.err
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert command("verify", "m", folder=folder).code == 0
    for _ in range(2):  # a tree of a certificate may be replaced
        assert command(*words, "all-rows", folder=folder).code == 0


@pytest.fixture
def slow_compiler(monkeypatch):
    """Let the search for a certificate begin with 1,000 seconds in which kernels are compiled."""
    passed, clock, make = [0.0], time.monotonic, dpflow.certificate

    def after_compiling(problem):
        passed[0] += 1000.0
        deadline.pause(1000.0)
        deadline.check_limit()
        return make(problem)

    monkeypatch.setattr(time, "monotonic", lambda: clock() + passed[0])
    monkeypatch.setattr(dpflow, "certificate", after_compiling)


def test_a_limit_of_a_certificate_does_not_count_compiling(folder, slow_compiler):
    """With kernels to compile, certify of a run that was proved in 0.1 s failed after 20 s: it proved the bound 0."""
    assert command("fit", "d.csv", "--depth", 1, "-o", "m", folder=folder).code == 0
    for given in ("m", "d.csv"):
        said = command("certify", given, *(() if given == "m" else ("--depth", 1)), "--time-limit", 500, folder=folder)
        assert said.code == 0 and "allow more time" not in said.out, said.err


def test_a_certificate_whose_check_did_not_end_says_so(folder, monkeypatch):
    """It reported that the bound and the tree cost the same, and that more time was needed."""
    assert command("fit", "d.csv", "--depth", 1, "-o", "m", folder=folder).code == 0
    monkeypatch.setattr(certifying, "_proof", lambda facts, dataset, seconds: (stated(facts, dataset), False))
    said = command("certify", "m", folder=folder)
    assert said.code == 1 and "check of the certificate did not end in time; allow more time (--time-limit)" in said.err


def test_on_a_full_disk_no_tree_is_left_without_its_certificate(folder, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(commit, "_commit", full)
    said = command("certify", "d.csv", "--depth", 1, "-o", "m", folder=folder)
    assert said.code == 1 and "No space left on device" in said.err
    assert [path.name for path in folder.iterdir()] == ["d.csv"]


def edited(path, **fields):
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))


def test_what_cannot_be_certified_is_a_sentence_that_says_what_to_do(folder):
    assert command("fit", "d.csv", "--depth", 1, "-o", "m", folder=folder).code == 0
    record = (folder / "m.run.json").read_text()
    facts = json.loads(record)

    def refused(*words, **fields):
        edited(folder / "m.run.json", **fields)
        said = command("certify", "m", *words, folder=folder)
        (folder / "m.run.json").write_text(record)
        assert said.code in (1, 2) and "Traceback" not in said.err and not (folder / "m.certificate.json").exists()
        return said.err

    assert "leave --depth out" in refused("--depth", 2)
    assert "proved" in refused(bound=facts["objective"] - 1) and "with --model auto" in refused(bound=None)
    for name in ("objective", "bound", "seconds"):
        assert f"is damaged: expected a number or None at {name}, got an object of 0" in refused(**{name: {}})
    assert "took 4,000 seconds" in (long := refused(seconds=4000.0)) and "--time-limit 8000" in long
    lower = facts["objective"] - 1  # a record that claims a better tree than there is
    assert "its record says" in refused(objective=lower, bound=lower)
    (folder / "d.csv").rename(folder / "e.csv")
    assert "--data" in refused()
    said = command("certify", "m", "--data", "e.csv", folder=folder)
    assert said.code == 0, said.err
    (folder / "m.run.json").unlink()
    said = command("certify", "m.tree.json", folder=folder)
    assert said.code == 1 and "expected a record m.run.json" in said.err


def test_with_a_limit_a_long_run_is_certified(folder):
    assert command("fit", "d.csv", "--depth", 1, "-o", "m", folder=folder).code == 0
    edited(folder / "m.run.json", seconds=4000.0)
    said = command("certify", "m", "--time-limit", 60, folder=folder)
    assert said.code == 0 and "took 4000.0 s" in said.err, said.err

"""Solvers of strangers: one described by a TOML file whose raw files are decoded, and one that lies."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.command_line import CHECKOUT, MONKS, odtc, refused

TOML = CHECKOUT / "examples" / "my-solver" / "my_solver.toml"
# It hands in a tree of one leaf, and claims that it is optimal: the objective is the tree's, the bound is a lie.
LIAR = '''
"""A solver that calls the first integer point optimal that it meets."""

from odtc.extend import Dialect, Outcome, Termination

TYPE = "solver"
NAME = "liar"
SUMMARY = "claims too much"
DIALECT = Dialect(reads=("mps",))


def version():
    return "1"


def read_log(text):
    return None


def run(job, emit, cancelled):
    import numpy as np
    from scipy.optimize import Bounds, LinearConstraint, milp

    # The dearest feasible point.
    found = milp(
        -job.c,
        constraints=LinearConstraint(job.A, job.row_lower, job.row_upper),
        bounds=Bounds(job.col_lower, job.col_upper),
        integrality=np.ones_like(job.integrality),
    )
    cost = float(job.c @ found.x) + job.offset
    return Outcome(found.x, Termination.OPTIMAL, cost, cost)
'''


@pytest.fixture
def built(tmp_path):
    words = ("--model", "flowoct", "--depth", 1, "--encoding", "onehot", "--format", "lp", "-o", "m")
    said = odtc("build", MONKS / "monks-1.csv", *words, folder=tmp_path)
    assert said.code == 0, said.err
    return tmp_path


def test_the_raw_file_of_a_described_solver_is_decoded(built, monkeypatch):
    monkeypatch.setattr("odtc.workflow.first_trees.MOMENT_WORK", 0)
    solved = odtc("solve", "m.lp", "--solver-template", TOML, "-o", "m.sol", folder=built)
    assert solved.code == 0, solved.err
    best = odtc("decode", "m.sol", "--json", folder=built).facts
    # Somebody runs it by hand.
    script = [sys.executable, TOML.parent / "scipy_solver.py", "m.lp", "theirs.txt", "60"]
    (built / "theirs.log").write_text(subprocess.check_output(script, cwd=built, text=True))
    words = ("theirs.txt", "--manifest", "m.odt.json", "-o", "t.tree.json", "--json")
    alone = odtc("decode", *words, folder=built)
    assert alone.code == 1 and "Traceback" not in alone.err
    said = odtc("decode", *words, "--solver-template", TOML, "--log", "theirs.log", folder=built)
    assert said.code == 0, said.err
    assert said.facts["train_correct"] == best["train_correct"] and said.facts["objective"] == best["objective"]
    # The file does not say which model it is of, so its claim is not taken for proved.
    assert said.facts["termination"] == "unknown"
    (built / "theirs.txt").write_text("nothing\n")
    said = odtc("decode", *words, "--solver-template", TOML, folder=built)
    assert said.code == 1 and "that fit `pattern`" in said.err
    (built / "theirs.txt").write_text("b_1_00 := many\n")
    said = odtc("decode", *words, "--solver-template", TOML, folder=built)
    assert said.code == 1 and "expected numbers" in said.err


@pytest.mark.parametrize(
    ("pattern", "text", "words"),
    [
        (None, "b_1_00 := nan\n", "expected finite numbers, got nan for column 'b_1_00'"),
        (None, "b_1_00 := -1e400\n", "expected finite numbers, got -inf for column 'b_1_00'"),
        (None, f"b_1_00 := {'9' * 5000}\n", "expected finite numbers, got inf for column 'b_1_00'"),
        (None, "b_1_00 := 1_0\n", "expected numbers where the pattern says"),
        (None, "b_1_00 := \u0661\n", "expected numbers where the pattern says"),
        (None, "b_1_00 := 1\nb_1_00 := 0\n", "column 'b_1_00' comes twice"),
        (None, "unknown := 1\n", "column 'unknown' of the solution is not in the model"),
        (r"^(?P<name>\w+)(?: := (?P<value>x))?", "b_1_00 := 1\n", "a match without one, number 1 of 1"),
        (r"^(?P<name>z)?(?P<value>1)", "z1\n1\n", "a match without one, number 2 of 2"),
    ],
)
def test_a_raw_file_that_tells_no_point_is_refused_in_a_sentence(pattern, text, words, built):
    template = TOML.read_text().splitlines()
    if pattern:
        template = [f"pattern = '{pattern}'" if line.startswith("pattern = ") else line for line in template]
    (built / "t.toml").write_text("\n".join(template) + "\n")
    (built / "theirs.txt").write_text(text)
    said = odtc("decode", "theirs.txt", "--manifest", "m.odt.json", "--solver-template", "t.toml", folder=built)
    assert words in refused(said) and not (built / "theirs.tree.json").exists()


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there is no such device")
@pytest.mark.parametrize("more", [[], ["--solver-template", TOML]], ids=["own form", "template"])
def test_a_device_is_no_solution(more, built):
    said = odtc("decode", "/dev/zero", "--manifest", "m.odt.json", *more, folder=built)
    assert "expected a solution in a file, got the device '/dev/zero'" in refused(said)


def test_a_solver_that_lies_of_its_bound_proves_nothing(tmp_path):
    Path(tmp_path / "liar.py").write_text(LIAR)
    words = ("--model", "flowoct", "--depth", 1, "--encoding", "onehot", "--solver", "liar")
    said = odtc("fit", MONKS / "monks-1.csv", *words, "--plugin", "liar.py", "-o", "m", "--json", folder=tmp_path)
    # Its tree is a true one, its objective that of the tree, its bound as high: a tree in hand costs less.
    assert said.code == 1, said.out
    assert "proved optimal" not in said.out + said.err
    assert not (tmp_path / "m.tree.json").exists() or '"verified": true' not in said.out


def test_a_solver_that_fails_leaves_the_tree_of_the_start(tmp_path):
    """At a time limit the tree of the start was handed in, after an error it was lost. Nothing is called solved."""
    (tmp_path / "fails.py").write_text("print('all done')\n")
    (tmp_path / "fails.toml").write_text(
        'name = "fails"\ncommand = ["{{ python }}", "{{ here }}/fails.py", "{{ model }}", "{{ solution }}"]\n'
        'model = "lp"\nsolution = "file"\npattern = "^(?P<name>\\\\w+) := (?P<value>\\\\S+)$"\n'
        '[status]\n"all done" = "optimal"\n'
    )
    words = (MONKS / "monks-1.csv", "--model", "flowoct", "--depth", 1, "--encoding", "onehot", "-o", "m", "--json")
    said = odtc("fit", *words, "--solver-template", "fails.toml", folder=tmp_path)
    assert said.code == 3 and said.facts["termination"] == "error" and not said.facts["has_solution"]
    assert "the tree of the start, of which nothing is proved, is in m.start.tree.json (objective " in said.err
    assert "m.start.tree.json" in said.facts["files"] and not (tmp_path / "m.tree.json").exists()
    assert odtc("predict", "m.start.tree.json", MONKS / "monks-1.csv", folder=tmp_path).code == 0
    again = odtc("fit", *words, "--start", "m.start.tree.json", "--solver", "highs", folder=tmp_path)
    assert again.code == 0 and again.facts["termination"] == "optimal"
    none = odtc("fit", *words, "--start", "none", "--solver-template", "fails.toml", folder=tmp_path)
    assert none.code == 3 and "the tree of the start" not in none.err

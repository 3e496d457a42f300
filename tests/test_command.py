"""How programs are called: the command lines of every solver, job scripts, and cuOpt as documented."""

import shlex
import stat
import subprocess
from pathlib import Path

import numpy as np
import pytest

from odtc import command
from odtc.errors import ChoiceError, SolverError
from odtc.format import write_model
from odtc.script import SCRIPTS, write_script
from odtc.solver import SOLVERS, Options, find_solver, solve
from tests.test_solver import model

PROGRAMS = [name for name in SOLVERS.names() if getattr(find_solver(name), "PROGRAMS", ())]
SMALL = model([1, 1, 1], [[1, 1, 0], [0, 1, 1], [1, 0, 1]], 1, np.inf)
NAMES = {"model": "a model.mps", "form": "mps", "solution": "its solution.sol", "start": "a start.mst", "options": "its.options"}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_command_holds_what_is_asked(name):
    module = find_solver(name)
    program = command.Program(("program",), module.COMMAND, "here")
    names = NAMES | {"start": NAMES["start"] if module.DIALECT.start else ""}
    words = command.command_line(module, program, names, Options(time_limit=77, threads=3, seed=5, gap=0.25))
    text = "\n".join(words) + command.option_text(module, names, Options(time_limit=77, threads=3, seed=5, gap=0.25))
    assert words[0] == "program"
    assert "a model.mps" in text and "77" in text and "0.25" in text
    assert ("its solution.sol" in text) == (module.SOLUTION == "file")
    assert ("a start.mst" in text) == bool(module.DIALECT.start)
    assert ("3" in text.replace("2.3", "")) or name in ("glpk", "lp_solve")  # these have one thread
    # Without a limit nothing is said of one, and no argument is empty.
    bare = command.command_line(module, program, names | {"start": ""}, Options())
    assert all(word.strip() for word in bare) and "None" not in " ".join(bare)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("kind", SCRIPTS)
def test_a_script_is_one_that_a_shell_reads(name, kind, tmp_path):
    path = write_model(SMALL, tmp_path / "it's a model.mps")
    module = find_solver(name)
    text = write_script(kind, module, path, Options(time_limit=90, threads=2), None, tmp_path / "x.sol", "true")
    script = tmp_path / "job"
    script.write_text(text)
    assert subprocess.run(["bash", "-n", script], capture_output=True, check=False).returncode == 0
    assert text.startswith("#!/") and shlex.quote(str(tmp_path / "x.sol")) in text
    assert ("#SBATCH" in text) == (kind == "slurm")


@pytest.mark.parametrize("name", ["cbc", "glpk", "highs-cli"])
def test_a_script_solves(name, tmp_path):
    module = find_solver(name)
    if command.locate(module) is None:
        pytest.skip(f"{name} is not on this machine")
    path = write_model(SMALL, tmp_path / "model.mps")
    script = tmp_path / "job.sh"
    script.write_text(write_script("sh", module, path, Options(time_limit=30), None, tmp_path / "model.sol"))
    found = command.locate(module)
    done = subprocess.run(["sh", script], cwd=tmp_path, env=None if not found.environment else found.environment | {"PATH": "/usr/bin:/bin"},
                          capture_output=True, text=True, check=False)
    assert (tmp_path / "model.sol").exists(), done.stdout + done.stderr
    assert (tmp_path / "model.log").exists()


def test_an_unknown_kind_of_script():
    with pytest.raises(ChoiceError, match="did you mean 'slurm'"):
        write_script("slrm", find_solver("cbc"), "m.mps", Options(), None, "m.sol")


# cuOpt, whose command line is documented and needs a GPU: a program that checks what it is given and writes
# what the documentation (and its source, FORMATS §9) shows.
CUOPT = """#!/bin/bash
[ "$1" = --version ] && { echo "cuopt_cli 25.10"; exit; }
while [ $# -gt 0 ]; do case $1 in
  --solution-file) out=$2; shift;; --initial-solution) start=$2; shift;; --time-limit) limit=$2; shift;; esac; shift; done
[ "$limit" = 30 ] && [ "$(wc -l < "$start")" -ge 3 ] || exit 1
printf '# Status: Optimal\\n# Objective value: 2\\nx0 1\\nx1 1\\nx2 0\\n' > "$out"
"""


def test_cuopt_as_documented(tmp_path, monkeypatch):
    program = tmp_path / "cuopt_cli"
    program.write_text(CUOPT)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    found = solve(SMALL, "cuopt", Options(time_limit=30), start=np.ones(3))
    assert (found.termination, found.objective, found.solver) == ("optimal", 2, "cuOpt 25.10")


@pytest.mark.parametrize(("text", "words"), [
    ("", "command"),
    ("command = 'solve'", "list of arguments"),
    ("command = ['x']\nmodle = 'lp'", "did you mean 'model'"),
    ("command = ['x']\nmodel = 'xls'", "mps"),
    ("command = ['x']\nsolution = 'somewhere'", "stdout"),
    ("command = ['x']\npattern = '('", "regular expression"),
    ("command = ['x']\npattern = '(a) (b)'", "P<name>"),
    ("command = ['x']\n[status]\nyes = 'fine'", "optimal"),
    ("command = [", "TOML"),
])
def test_a_template_that_does_not_fit(text, words, tmp_path):
    path = tmp_path / "my.toml"
    path.write_text(text)
    with pytest.raises(ChoiceError) as refusal:
        find_solver(str(path))
    assert words in str(refusal.value)


def test_a_template_that_is_not_there():
    with pytest.raises(ChoiceError, match="cannot read"):
        find_solver("nowhere.toml")


def test_a_program_that_cannot_be_started(tmp_path):
    program = tmp_path / "not-a-program"
    program.write_text("\x00\x01")
    program.chmod(0o755)
    with pytest.raises(SolverError, match="cannot start|not on this machine"):
        solve(SMALL, "cbc", program=str(program))


def test_the_example_of_a_solver_of_ones_own():
    described = Path(__file__).parents[1] / "examples" / "my-solver" / "my_solver.toml"
    found = solve(SMALL, str(described), Options(time_limit=30))
    assert (found.termination, found.objective) == ("optimal", 2), found.message

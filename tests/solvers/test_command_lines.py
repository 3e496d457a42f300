"""How programs are called: the command lines of every solver, job scripts, and cuOpt as documented."""

import json
import os
import shlex
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from odtc.errors import ChoiceError, SolverError
from odtc.fileformats.model_files import write_model
from odtc.fileformats.solution_files import read_point
from odtc.model.solution import Options
from odtc.solvers import external, job_script
from odtc.solvers.executables import Program, locate
from odtc.solvers.solve import solve
from odtc.solvers.solver import SOLVERS, find_solver, version
from tests.command_line import CHECKOUT, odtc, refused
from tests.solvers.test_solver import model

PROGRAMS = [name for name in SOLVERS.names() if getattr(find_solver(name), "PROGRAMS", ())]
SMALL = model([1, 1, 1], [[1, 1, 0], [0, 1, 1], [1, 0, 1]], 1, np.inf)
NAMES = {
    "model": "a model.mps",
    "form": "mps",
    "solution": "its solution.sol",
    "start": "a start.mst",
    "options": "its.options",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_command_holds_what_is_asked(name):
    module = find_solver(name)
    program = Program(("program",), module.COMMAND, "here")
    plain = name in ("copt", "xpress")  # their commands have no quotes
    known = {what: word.replace(" ", "_") if plain else word for what, word in NAMES.items()}
    names = known | {"start": known["start"] if module.DIALECT.start else ""}
    planned = external.plan(module, program, names, Options(time_limit=77, threads=3, seed=5, gap=0.25))
    text = "\n".join(planned.argv) + planned.option_text
    assert planned.argv[0] == "program"
    assert known["model"] in text and "77" in text and "0.25" in text
    assert (known["solution"] in text) == (module.SOLUTION == "file")
    assert (known["start"] in text) == bool(module.DIALECT.start)
    assert ("3" in text.replace("2.3", "")) or name in ("glpk", "lp_solve")  # these have one thread
    # Without a limit nothing is said of one, and no argument is empty.
    bare = external.plan(module, program, names | {"start": ""}, Options())
    assert all(word.strip() for word in bare.argv) and "None" not in " ".join(bare.argv) + bare.option_text


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("kind", job_script.KINDS)
def test_a_script_is_one_that_a_shell_reads(name, kind, tmp_path):
    unquoted = name in ("copt", "xpress")
    path = write_model(SMALL, tmp_path / ("a_model.mps" if unquoted else "it's a model.mps"))
    module = find_solver(name)
    options = Options(time_limit=90, threads=2)
    planned, notes = job_script.plan_beside(
        module,
        SMALL,
        np.ones(3),
        path,
        tmp_path / ("its_x.sol" if unquoted else "its x.sol"),
        options,
        "true",
        write=True,
    )
    text = job_script.write_script(kind, module, planned, path, options)
    job = tmp_path / "job"
    job.write_text(text)
    assert subprocess.run(["bash", "-n", job], capture_output=True, check=False).returncode == 0
    assert text.startswith("#!/") and ("its_x.sol" if unquoted else "'its x.sol'") in text and not notes
    assert str(tmp_path) not in text  # all by bare names
    assert ("#SBATCH" in text) == (kind == "slurm")


STRANGE = [
    "sp ace", "-r", "$HOME", "q'uo\"te", "back\\slash", "end\\", "per%cent", "ünï", "a;b", "`touch x`", "$(touch x)", "&x",
    "#h", "~t", "(p)", "*", "--help", "!x",
]  # fmt: skip


@pytest.mark.parametrize("stem", STRANGE)
@pytest.mark.parametrize("name", ["cbc", "glpk", "scip", "symphony", "lp_solve", "highs-cli"])
def test_a_script_solves_a_model_of_any_name(name, stem, tmp_path, vendors):
    module = find_solver(name)
    if locate(module) is None:
        pytest.skip(f"{name} is not on this machine")
    path = write_model(SMALL, tmp_path / f"{stem}.mps")
    options = Options(time_limit=60)
    if name == "cbc" and "%" in stem:  # which it reads as the names of two files
        with pytest.raises(ChoiceError, match="rename the file"):
            job_script.plan_beside(module, SMALL, None, path, tmp_path / f"{stem}.sol", options, write=True)
        return
    planned, _ = job_script.plan_beside(module, SMALL, None, path, tmp_path / f"{stem}.sol", options, write=True)
    (tmp_path / "job").write_text(job_script.write_script("sh", module, planned, path, options))
    before = {one.name for one in tmp_path.iterdir()}
    ran = subprocess.run(["sh", "job"], cwd=tmp_path, env=vendors, capture_output=True, text=True, check=False)
    made = {one.name for one in tmp_path.iterdir()} - before
    assert f"{stem}.sol" in made, ran.stdout + ran.stderr
    assert made <= {f"{stem}.sol", f"{stem}.log", f"{stem}.{module.COMMAND}.options", "Highs.log"}
    assert sum(read_point(tmp_path / f"{stem}.sol").values) == 2


@pytest.mark.parametrize("name", ["copt", "xpress", "cplex"])
def test_a_name_that_a_solver_cannot_quote_is_refused(name, tmp_path):
    path = write_model(SMALL, tmp_path / 'a "b" c.mps')
    with pytest.raises(ChoiceError, match="rename the file"):
        job_script.plan_beside(find_solver(name), SMALL, None, path, tmp_path / "x.sol", Options(), write=True)


XOR = "a,b,class\n0,0,0\n0,1,1\n1,0,1\n1,1,0\n0,0,1\n"
# The vendors' programs as their manuals describe them, by the Python packages that are here.
GUROBI_CL = """
import sys, gurobipy
model = gurobipy.read(sys.argv[-1])
for word in sys.argv[1:-1]:
    name, _, value = word.partition("=")
    if name == "InputFile":
        model.read(value)
    else:
        model.setParam(name, value if name == "ResultFile" else float(value) if "." in value else int(value))
model.optimize()
"""
CPLEX = """
import sys, cplex
assert sys.argv[1] == "-f"
solver = cplex.Cplex()
for line in filter(None, open(sys.argv[2]).read().splitlines()):
    command, _, rest = line.partition(" ")
    if command == "read":
        (solver.MIP_starts.read if rest.endswith(".mst") else solver.read)(rest.strip('"'))
    elif command == "set" and rest.startswith("timelimit "):
        solver.parameters.timelimit.set(float(rest.split()[1]))
    elif command == "optimize":
        solver.solve()
    elif command == "write":
        solver.solution.write(rest.strip('"'))
    else:
        assert command == "quit" or rest.split()[0] in ("threads", "mip", "randomseed"), line
"""


@pytest.fixture(scope="module")
def vendors(tmp_path_factory):
    """A machine with the programs of vendors on PATH, and nothing of a virtual environment."""
    folder = tmp_path_factory.mktemp("vendors")
    for name, text in (("gurobi_cl", GUROBI_CL), ("cplex", CPLEX), ("scip", ""), ("highs", "")):
        if locate(find_solver("highs-cli" if name == "highs" else name.removesuffix("_cl"))) is None:
            continue
        if name == "highs":
            program = locate(find_solver("highs-cli"))
            exports = "".join(f"export {key}={shlex.quote(value)}\n" for key, value in program.environment.items())
            line = f'{exports}exec {shlex.quote(program.argv[0])} "$@"'
        elif name == "scip":
            line = f'PYTHONPATH={shlex.quote(os.fspath(CHECKOUT))} exec {sys.executable} -P -m odtc.solvers.drivers scip "$@"'
        else:
            (folder / f"{name}.py").write_text(text)
            line = f'exec {sys.executable} -P {shlex.quote(os.fspath(folder / name))}.py "$@"'
        (folder / name).write_text(f"#!/bin/sh\n{line}\n")
        (folder / name).chmod(0o755)
    return {"PATH": f"{folder}:/usr/bin:/bin", "HOME": "/tmp"}


WORDS = {
    "gurobi": "ResultFile=m.sol m.mps",
    "cplex": "\ncplex -f m.cplex.options",
    "highs-cli": "\nhighs --options_file",
    "highs": "\nhighs --options_file",
}


@pytest.mark.parametrize(
    "name", ["highs-cli", "cbc", "scip", "glpk", "lp_solve", "symphony", "gurobi", "cplex", "highs"]
)
def test_a_script_in_a_copied_folder_solves_and_decode_reads_what_it_leaves(name, tmp_path, vendors):
    module = find_solver({"highs": "highs-cli"}.get(name, name))
    if locate(module) is None:
        pytest.skip(f"{name} is not on this machine")
    here = tmp_path / "here"
    here.mkdir()
    (here / "xor.csv").write_text(XOR)
    assert odtc("build", "xor.csv", "-o", "m", folder=here).code == 0
    done = odtc(
        "solve", "here/m.mps", "--solver", name, "--time-limit", 60, "--threads", 1, "--script", "sh", folder=tmp_path
    )
    assert (done.code, done.out) == (0, "here/m.sh\n"), done.err
    job = (here / "m.sh").read_text()
    assert WORDS.get(name, f"\n{module.PROGRAMS[0]} ") in job
    assert str(CHECKOUT) not in job and sys.prefix not in job and "python" not in job.lower()
    there = here.rename(tmp_path / "there, elsewhere")
    (there / "m.sol").write_text("stale")
    ran = subprocess.run(["sh", there / "m.sh"], cwd="/", env=vendors, capture_output=True, text=True, check=False)
    assert (there / "m.log").exists() and not here.exists()
    decoded = odtc("decode", "m.sol", "--log", "m.log", "--json", folder=there)
    assert decoded.code == 0, ran.stdout + ran.stderr + decoded.err
    assert (decoded.facts["objective"], decoded.facts["termination"], decoded.facts["verified"]) == (1, "optimal", True)


def test_a_script_says_what_is_missing_where_it_runs(tmp_path):
    write_model(SMALL, tmp_path / "m.mps")
    assert odtc("solve", "m.mps", "--solver", "cuopt", "--script", "sh", folder=tmp_path).code == 0
    ran = subprocess.run(["sh", tmp_path / "m.sh"], env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (127, "cuopt_cli is not on PATH here\n")


NO_BOUND = "a,b,class\n0,0,0\n0,1,1\n1,0,1\n1,1,0\n"  # no two rows are alike, so nothing but a solver proves 2 errors


@pytest.mark.parametrize("name", ["highs-cli", "cbc", "scip", "glpk", "lp_solve", "symphony", "gurobi"])
def test_a_script_names_the_model_that_it_solved(name, tmp_path, vendors, monkeypatch):
    """So decode believes the end and the bound; of a model file that was edited meanwhile, it does not."""
    monkeypatch.setattr("odtc.workflow.first_trees.MOMENT_WORK", 0)
    if locate(find_solver(name)) is None:
        pytest.skip(f"{name} is not on this machine")
    (tmp_path / "xor.csv").write_text(NO_BOUND)
    assert odtc("build", "xor.csv", "--depth", 1, "-o", "m", folder=tmp_path).code == 0
    manifest = json.loads((tmp_path / "m.odt.json").read_text())
    assert odtc("solve", "m.mps", "--solver", name, "--script", "sh", folder=tmp_path).code == 0

    def run_and_decode(expected: str) -> str:
        subprocess.run(["sh", tmp_path / "m.sh"], cwd="/", env=vendors, capture_output=True, check=False)
        decoded = odtc("decode", "m.sol", "--log", "m.log", "--json", folder=tmp_path)
        assert decoded.code == 0, decoded.err
        assert (decoded.facts["objective"], decoded.facts["termination"]) == (2, expected), decoded.err
        return (tmp_path / "m.sol").read_text()

    text = run_and_decode("optimal")
    assert text.endswith(f"# odtc model {manifest['identity']} file {manifest['content']}\n")
    file = next(path for path in [tmp_path / f"m.{find_solver(name).COMMAND}.mps", tmp_path / "m.mps"] if path.exists())
    file.write_text(file.read_text().replace("ENDATA", "* edited\nENDATA"))
    assert "odtc model" not in run_and_decode("unknown")


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_dry_run_shows_the_run(name, tmp_path, monkeypatch):
    """What --dry-run prints is what is started, but for the names of the files."""
    module = find_solver(name)
    if locate(module) is None:
        pytest.skip(f"{name} is not on this machine")
    path = write_model(SMALL, tmp_path / "m.mps")
    started = []

    class Stop(Exception):
        pass

    def child(argv, listen, cwd, env, input, merge_stderr, *more):
        texts = {file.name: file.read_text() for file in cwd.iterdir()}
        started.append(
            (argv, {key: env[key] for key in env if env[key] != os.environ.get(key)}, texts, Path(input).read_text())
        )
        raise Stop

    monkeypatch.setattr(external, "Child", child)
    with pytest.raises(Stop):
        solve(SMALL, name, Options(time_limit=9), start=np.ones(3), path=path)
    argv, environment, texts, given = started[0]
    planned, notes = job_script.plan_beside(module, SMALL, np.ones(3), path, tmp_path / "m.sol", Options(time_limit=9))
    assert list(tmp_path.iterdir()) == [path]  # it writes nothing
    ours = {
        "m.mps": "model.mps",
        planned.names["start"]: "start" + module.DIALECT.start_suffix,
        "m.sol": "solution.sol",
        planned.names["options"]: "solver.options",
    }

    def as_run(text: str) -> str:
        for mine, its in ours.items():
            text = text.replace(mine, its) if mine else text
        return text

    assert [as_run(word) for word in planned.argv] == list(argv)
    assert environment.items() <= planned.environment.items()
    assert as_run(planned.option_text) == texts.get("solver.options", "") and (
        given == "" or given == texts["solver.options"]
    )
    assert bool(notes) == bool(module.DIALECT.start)  # the start in this solver's form is not there yet
    assert list(job_script.shell_lines(planned))[: len(planned.environment)] == [
        f"export {key}={shlex.quote(value)}" for key, value in planned.environment.items()
    ]


def test_a_script_for_a_solver_that_does_not_read_the_file_brings_one_that_it_reads(tmp_path):
    path = write_model(SMALL, tmp_path / "m.mps.gz")
    module = find_solver("lp_solve")
    planned, notes = job_script.plan_beside(module, SMALL, None, path, tmp_path / "m.sol", Options(), "true")
    assert "cannot read it" in notes[0] and "m.lp_solve.mps is not there yet" in notes[1]
    planned, notes = job_script.plan_beside(
        module, SMALL, None, path, tmp_path / "m.sol", Options(), "true", write=True
    )
    assert len(notes) == 1 and planned.names["model"] == "m.lp_solve.mps"
    assert (tmp_path / "m.lp_solve.mps").read_text() == write_model(SMALL, tmp_path / "plain.mps").read_text()


def test_a_script_is_of_one_solver_and_a_dry_run_of_all(tmp_path):
    write_model(SMALL, tmp_path / "m.mps")
    assert "write a job for each" in refused(
        odtc("solve", "m.mps", "--solver", "highs,cbc", "--script", "sh", folder=tmp_path)
    )
    said = odtc("solve", "m.mps", "--solver", "highs,glpk", "--dry-run", folder=tmp_path)
    assert said.code == 0 and "HiGHS" in said.out and "m.mps" in said.out.splitlines()[-1]
    assert [file.name for file in tmp_path.iterdir()] == ["m.mps"]


def test_an_unknown_kind_of_script():
    with pytest.raises(ChoiceError, match="did you mean 'slurm'"):
        job_script.check_kind("slrm")


# cuOpt, whose command line is documented and needs a GPU: a program that checks what it is given and writes
# what the documentation (and its source, docs/reference/file-formats.md) shows.
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


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "command"),
        ("command = 'solve'", "list of arguments"),
        ("command = ['x']\nmodle = 'lp'", "did you mean 'model'"),
        ("command = ['x']\nmodel = 'xls'", "mps"),
        ("command = ['x']\nsolution = 'somewhere'", "stdout"),
        ("command = ['x']\npattern = '('", "regular expression"),
        ("command = ['x']\npattern = '(a) (b)'", "P<name>"),
        ("command = ['x']\n[status]\nyes = 'fine'", "optimal"),
        ("command = [", "TOML"),
    ],
)
def test_a_template_that_does_not_fit(text, words, tmp_path):
    path = tmp_path / "my.toml"
    path.write_text(text)
    with pytest.raises(SolverError) as refusal:
        find_solver(str(path))
    assert words in str(refusal.value)


def test_a_template_that_is_not_there():
    with pytest.raises(SolverError, match="cannot read"):
        find_solver("nowhere.toml")


def test_a_program_that_cannot_be_started(tmp_path):
    program = tmp_path / "not-a-program"
    program.write_text("\x00\x01")
    program.chmod(0o755)
    with pytest.raises(SolverError, match="cannot start|not on this machine"):
        solve(SMALL, "cbc", program=str(program))


def test_the_example_of_a_solver_of_ones_own():
    described = Path(__file__).parents[2] / "examples" / "my-solver" / "my_solver.toml"
    found = solve(SMALL, str(described), Options(time_limit=30))
    assert (found.termination, found.objective) == ("optimal", 2), found.message


def test_the_version_of_scip_is_not_that_of_its_package():
    pyscipopt = pytest.importorskip("pyscipopt")
    inside = pyscipopt.Model()
    parts = (inside.getMajorVersion(), inside.getMinorVersion(), inside.getTechVersion())
    assert version(find_solver("scip")) == ".".join(map(str, parts))

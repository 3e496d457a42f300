"""The live line shows the incumbent and the bound from a solver's log; the logs are of real runs on monks-1."""

import contextlib
import io
import re
import sys
import time

import pytest
from rich.cells import cell_len

from odtc.base import kernels, phases
from odtc.cli import console
from odtc.model.solution import Options, Progress
from odtc.solvers import log_parser
from odtc.solvers.solve import solve
from odtc.solvers.solver import find_solver, version
from odtc.verification.constrained import multiplier_bound
from tests.command_line import MONKS, odtc
from tests.solvers.test_solver import COVER

LINES = [
    (
        "cbc",
        "Cbc0012I Integer solution of 33 found by DiveCoefficient after 0 iterations and 0 nodes (0.05 seconds)",
        33,
        None,
    ),
    (
        "cbc",
        "Cbc0010I After 0 nodes, 1 on tree, 27 best solution, best possible 8.7666789 (1.42 seconds)",
        27,
        8.7666789,
    ),
    ("cbc", "Cbc0010I After 0 nodes, 1 on tree, 1e+50 best solution, best possible 0 (1.42 seconds)", None, 0),
    ("cbc", "Cbc0038I Full problem 559 rows 411 columns, reduced to 509 rows 278 columns", None, None),
    (
        "scip",
        "  0.1s|     1 |     0 |  1151 |     - |    11M |   0 | 409 | 558 | 566 |   9 |  6 |   0 |   0 | "
        "6.952506e+00 | 3.400000e+01 | "
        "389.03%| unknown",
        34,
        6.952506,
    ),
    (
        "scip",
        " time | node  | left  |LP iter|LP it/n|mem/heur|mdpt |vars |cons |rows |cuts |sepa|confs|strbr|  dualbound  "
        " | primalbound  "
        "|  gap   | compl. ",
        None,
        None,
    ),
    (
        "scip",
        "d 0.1s|     1 |     0 |   569 |     - |  9575k |   0 | 409 | 558 | 557 |   0 |  0 |   0 |   0 | "
        "6.500000e+00 |      --      | "
        "   Inf | unknown",
        None,
        6.5,
    ),
    (
        "highs-cli",
        " L       0       0         0   0.00%   7.476190476     28                73.30%      517     20      0      "
        " 721     0.3s",
        28,
        7.476190476,
    ),
    (
        "highs-cli",
        "         0       0         0   0.00%   -inf            inf                  inf        0      0      0      "
        "   0     0.0s",
        None,
        None,
    ),
    ("glpk", "+  1775: >>>>>   2.800000000e+01 >=   1.200000000e+01  57.1% (17; 5)", 28, 12),
    ("glpk", "+   488: mip =     not found yet >=              -inf        (1; 0)", None, None),
    ("glpk", "+  3582: mip =   2.700000000e+01 >=     tree is empty   0.0% (0; 65)", 27, None),
    ("gurobi", "     0     0    6.98913    0    9   34.00000    6.98913  79.4%     -    0s", 34, 6.98913),
    ("gurobi", "*    6     4               4      32.0000000    7.51303  76.5%   121    0s", 32, 7.51303),
    ("cplex", "      0     0        7.0982     9       34.0000      Fract: 1      714   79.12%", 34, None),
    ("cplex", "*    20     6      integral     0       28.0000        9.9091     2693   64.61%", 28, 9.9091),
    ("cplex", "*     0+    0                           34.0000     -124.0000           464.71%", 34, -124),
    ("xpress", "k      2    32.000000    10.543608      3      2      3   67.05%       0      4", 32, 10.543608),
    ("xpress", "   1  K     34.000000     7.714241      1     10      0   77.31%      10      0", 34, 7.714241),
    ("copt", "*        4         3   131.0       0  9.090909e+00  2.700000e+01  66.33%  0.47s", 27, 9.090909),
]


@pytest.mark.parametrize(("solver", "line", "incumbent", "bound"), LINES)
def test_a_line_of_a_table(solver, line, incumbent, bound):
    assert log_parser.progress_of_line(find_solver(solver), line + "\n") == (incumbent, bound)


@pytest.mark.parametrize("solver", ["highs-cli", "glpk"])
def test_progress_is_heard_while_it_runs_and_a_rounded_bound_is_none(solver):
    if version(find_solver(solver)) is None:
        pytest.skip(f"{solver} is not on this machine")
    heard = []
    found = solve(COVER, solver, Options(time_limit=60, threads=1), progress=heard.append)
    assert found.termination == "optimal" and found.bound == 2
    assert any(said.incumbent == 2 for said in heard), heard


def test_a_rounded_bound_is_no_bound(tmp_path):
    program = tmp_path / "cbc"
    program.write_text(
        "#!/bin/bash\n[ \"$1\" = -quit ] && exit\necho 'Welcome to the CBC MILP Solver'\n"
        "echo 'Cbc0010I After 0 nodes, 1 on tree, 3 best solution, best possible 1.6 (1.42 seconds)'\nsleep 1\n"
    )
    program.chmod(0o755)
    heard = []
    found = solve(COVER, "cbc", progress=heard.append, program=str(program))
    assert [(said.incumbent, said.bound) for said in heard] == [(3, 1.6)] and found.bound is None


CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")  # colours and movements of the cursor


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("words", [("fit",), ("certify",), ("frontier", "--vary", "recall[1] >= 0.5:0.7:0.1")])
def test_a_terminal_shows_that_the_data_is_read_and_that_a_search_goes_on(words, monkeypatch, tmp_path):
    """50,000 rows of 100 columns were read for seconds, and `certify` and `frontier` searched to their limit, without a
    sign of life."""
    shown, command = Terminal(), words[0]
    monkeypatch.setattr(contextlib, "redirect_stderr", lambda stream: contextlib.nullcontext())
    monkeypatch.setattr(sys, "stderr", shown)
    assert odtc(command, MONKS / "monks-1.csv", "--depth", 1, *words[1:], folder=tmp_path).code == 0
    text = CODES.sub("", shown.getvalue())
    assert 0 <= text.find("reading 0.") < max(text.find("odtc 0."), text.find(" s · best "))


# Command -> phases that it tells of, in this order.
OF_COMMANDS = {
    ("inspect", MONKS / "monks-1.csv"): [
        "reading columns of the rows from 1, 6 of 7",
        "types of the columns",
        "encoding",
        "remarks on the columns, 1 of",
    ],
    ("verify", "tree"): [
        "reading columns",
        "encoding",
        "searching again",
        "certifying again",
        "checking the certificate",
        "checking states of level 0, 0 of 1",
    ],
    ("verify", "model.sol", "--confirm", "highs"): [
        "reading the solution and the model",
        "searching again",
        "checking the point and the tree",
        "deriving the encoding again",
        "checking the model file",
        "having highs solve the model, 0 of 1",
    ],
    ("verify", "--certificate", "numbers.certificate.json"): ["checking the certificate", "checking states of level 0"],
    ("verify", "--certificate", "fair.certificate.json"): [
        "checking the certificate",
        "bounding all trees at multipliers, 0 of",
    ],
    ("report", "tree"): ["encoding", "searching again", "drawing the page"],
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder, data = tmp_path_factory.mktemp("runs"), MONKS / "monks-1.csv"
    assert odtc("fit", data, "--depth", 2, "-o", "tree", folder=folder).code == 0
    assert odtc("build", data, "--depth", 1, "--model", "flowoct", "-o", "model", folder=folder).code == 0
    assert odtc("solve", "model.mps", folder=folder).code == 0
    numbers = [f"{a},{b},{int((a > 30) ^ (b > 40))}" for a in range(0, 60, 7) for b in range(0, 80, 9)]
    (folder / "numbers.csv").write_text("\n".join(["a,b,y", *numbers]))
    certify = ("certify", data, "--depth", 2)
    assert odtc(*certify, "-o", "tree", folder=folder).code == 0
    assert odtc("certify", "numbers.csv", "--depth", 2, "-o", "numbers", folder=folder).code == 0
    assert odtc(*certify, "--constraint", "recall[1] >= 0.7", "-o", "fair", folder=folder).code == 0
    return folder


@pytest.mark.parametrize("words", OF_COMMANDS, ids=lambda words: " ".join(map(str, words[:1] + words[-1:])))
def test_a_long_command_tells_its_phases(words, runs):
    """`verify`, `report` and `inspect` of large tables said nothing for half a minute."""
    told = []
    multiplier_bound._last_answer.clear()  # of `certify`, which is another process for a user
    with phases.heard(lambda phase: told.append(str(phase))):
        said = odtc(*words, folder=runs)
    assert said.code == 0, said.err
    left = iter(told)
    for phase in OF_COMMANDS[words]:
        assert any(one.startswith(phase) for one in left), (phase, told)
    assert not re.search(rf"{words[0]} [0-9.]+ s", said.out + said.err)  # no terminal


@pytest.mark.parametrize("words", [("inspect", MONKS / "monks-1.csv"), ("verify", "tree"), ("report", "tree")])
@pytest.mark.parametrize("as_json", [False, True])
def test_a_terminal_shows_the_phase_and_json_shows_none(words, as_json, runs, monkeypatch):
    shown = Terminal()
    monkeypatch.setattr(contextlib, "redirect_stderr", lambda stream: contextlib.nullcontext())
    monkeypatch.setattr(sys, "stderr", shown)
    said = odtc(*words, *["--json"] * as_json, folder=runs)
    assert said.code == 0
    phase = re.search(rf"{words[0]} [0-9.]+ s · [a-z ]+", shown.getvalue())
    assert (phase is None) == as_json, shown.getvalue()
    assert not as_json or said.facts
    assert not re.search(rf"{words[0]} [0-9.]+ s", said.out)


class Narrow(Terminal):
    encoding = "utf-8"


def shown_by(monkeypatch, progress, *, columns=200, limit=None, **environment) -> str:
    """What a terminal of so many columns shows of a search."""
    stream = Narrow()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "xterm-256color")
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with console.live("odtc", limit, time.monotonic() - 14.2) as take:
        phases.begin("encoding")
        take(progress)
    return stream.getvalue()


SAID = Progress(14.0, 2886.0, 360.0, None, phase="depth 2 proved, depth 3: objective 2886, bound 360")


def lines_of(text: str) -> list[str]:
    return [line for line in re.split(r"[\r\n]+", CODES.sub("", text)) if "best" in line]


def test_the_line_has_time_limit_best_bound_gap_and_what_is_proved(monkeypatch):
    line = lines_of(shown_by(monkeypatch, SAID, limit=30.0))[-1].strip()
    assert line.startswith("14/30 s · best 2886 · bound 360 · gap 88 % · depth 2 proved"), line
    assert "encoding" not in line


@pytest.mark.parametrize("columns", [20, 40, 60, 80, 120, 200])
def test_the_line_fits_the_terminal(columns, monkeypatch):
    long = Progress(14.0, 123456.0, 100000.0, 5_000_000, phase="depth 12 proved, " + "界" * 60)
    for said in (SAID, long):
        for line in lines_of(shown_by(monkeypatch, said, columns=columns, limit=3600)):
            assert cell_len(line) < columns, line
            assert line.startswith("14/3600 s")
    parts = console.line_parts("odtc", 14.2, 30.0, SAID, None, False)
    kept = [words for words, _ in console.fitted(parts, 34)]
    assert kept[:2] == ["14/30 s", "best 2886"] and "odtc" not in kept, "the least important parts go first"


def test_colour_is_for_terminals_that_want_it(monkeypatch):
    coloured, plain = shown_by(monkeypatch, SAID), shown_by(monkeypatch, SAID, NO_COLOR="1")
    assert re.search(r"\x1b\[[0-9;]*3[0-9]m", coloured) and not re.search(r"\x1b\[[0-9;]*[34][0-9]m", plain)
    monkeypatch.setenv("FORCE_COLOR", "1")
    pipe = io.StringIO()
    monkeypatch.setattr(sys, "stderr", pipe)
    with console.live("odtc") as take:
        take(SAID)
    assert pipe.getvalue() == ""


def test_the_line_says_that_kernels_are_compiled(monkeypatch):
    assert "compiling" not in shown_by(monkeypatch, SAID)
    monkeypatch.setattr(kernels, "is_compiling", lambda: True)
    assert "compiling kernels" in lines_of(shown_by(monkeypatch, SAID))[-1]
    words = [words for words, *_ in console.line_parts("verify", 1.0, None, None, phases.Phase("encoding"), True)]
    assert words == ["verify 1.0 s", "encoding", "compiling kernels"]


def test_phases_are_told_to_who_listens_and_to_nobody_else():
    told = []
    phases.begin("before")
    with phases.heard(told.append):
        assert list(phases.over("ab", "letters")) == ["a", "b"]
        phases.begin("words")
    assert list(phases.over(range(3), "behind")) == [0, 1, 2]
    assert list(map(str, told)) == ["letters, 0 of 2", "letters, 1 of 2", "words"]


def test_forests_of_a_policy_are_told_of_where_there_is_no_live_line(tmp_path):
    """They take seconds of few rows, and were estimated in silence."""
    lines = [f"{i % 7},{'ab'[i % 2]},{i % 5}" for i in range(30)]
    (tmp_path / "p.csv").write_text("x,t,y\n" + "\n".join(lines) + "\n")
    words = ("p.csv", "--task", "policy", "--treatment", "t", "--outcome", "y", "--depth", "1")
    said = odtc("fit", *words, "--json", folder=tmp_path)
    assert said.code == 0 and said.err.count("estimating the outcomes of each action: 10 forests of 200 trees") == 1
    known = odtc("fit", *words, "--scores", "ips", folder=tmp_path)
    assert known.code == 0 and "forests" not in known.err

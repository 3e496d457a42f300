"""How a solver says that it ended, in its own words, and what odtc takes them for: each by itself."""

import pytest

from odtc.fileformats.solution_files import read_point
from odtc.solvers.solver import SOLVERS

CBC = "Welcome to the CBC MILP Solver \nVersion: 2.10.8\n\n{}\n\nObjective value: 12\n"
# The lines of the solvers' own programs.
LOGS = [
    ("cbc", CBC, "Result - Optimal solution found", "optimal"),
    ("cbc", CBC, "Result - Optimal solution found (within gap tolerance)", "optimal"),
    ("cbc", CBC, "Result - Stopped on time limit", "time_limit"),
    ("cbc", CBC, "Result - User ctrl-c", "interrupted"),
    ("cbc", CBC, "Result - Problem proven infeasible", "infeasible"),
    ("cbc", CBC, "Result - Linear relaxation infeasible", "infeasible"),
    ("cbc", CBC, "Result - Linear relaxation unbounded", "unbounded"),
    ("cbc", CBC, "Result - Stopped on node limit", "unknown"),
    ("cbc", CBC, "Result - Stopped on iterations limit", "unknown"),
    ("cbc", CBC, "Pre-processing says infeasible or unbounded", "infeasible_or_unbounded"),
    ("scip", "SCIP version 9.2.0\nSCIP Status        : {}\n", "problem is solved [optimal solution found]", "optimal"),
    (
        "scip",
        "SCIP version 9.2.0\nSCIP Status        : {}\n",
        "solving was interrupted [time limit reached]",
        "time_limit",
    ),
    (
        "scip",
        "SCIP version 9.2.0\nSCIP Status        : {}\n",
        "solving was interrupted [user interrupt]",
        "interrupted",
    ),
    ("scip", "SCIP version 9.2.0\nSCIP Status        : {}\n", "problem is solved [infeasible]", "infeasible"),
]
FILES = [
    ("Optimal - objective value 5.00000000", "optimal"),
    ("Stopped on time - objective value 5.00000000", "time_limit"),
    ("Stopped on ctrl-c - objective value 5.00000000", "interrupted"),
    ("Stopped on iterations - objective value 5.00000000", "unknown"),
    ("Stopped on difficulties - objective value 5.00000000", "unknown"),
    ("Infeasible - objective value 5.00000000", "infeasible"),
    ("Integer infeasible - objective value 5.00000000", "infeasible"),
    ("Unbounded - objective value 5.00000000", "unbounded"),
    ("Status unknown - objective value 5.00000000", "unknown"),
]


@pytest.mark.parametrize(("solver", "log", "line", "end"), LOGS, ids=[f"{who}: {line}" for who, _, line, _ in LOGS])
def test_a_line_of_a_log_is_the_end_that_it_says(solver, log, line, end):
    assert SOLVERS.get(solver).read_log(log.format(line)) == end


@pytest.mark.parametrize(("line", "end"), FILES)
def test_the_first_line_of_a_file_of_cbc_is_the_end_that_it_says(line, end, tmp_path):
    (tmp_path / "m.sol").write_text(f"{line}\n      0 x      1      1\n")
    assert read_point(tmp_path / "m.sol").termination == end


def test_the_last_line_of_a_log_holds():
    two = CBC.format("Result - Optimal solution found\n\nResult - Stopped on time limit")
    assert SOLVERS.get("cbc").read_log(two) == "time_limit"
